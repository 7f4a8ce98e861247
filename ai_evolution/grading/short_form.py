"""Cases for the converter of class 131: a schema, its short form, what the way back gives, drawn together.

There is no converter in here (a student's file can read this package): the three are built side by side.
The short form of a schema is a *row*. It keeps ``type``, ``description`` and ``enum`` as they are; the
properties of an object are its ``inputs``, each a row with its ``name`` and whether it is ``required``;
``items`` is a row; a schema that is true or false is ``{"accepts": true}`` or ``{"accepts": false}``; and
what is said of all other names (``additionalProperties``) is the row ``others``. Nothing else has a place.
"""

from __future__ import annotations

import random
from typing import Any, NamedTuple

NAMES = ("isbn", "until", "from", "note", "a/b", "~", "año", "items", "type", "required", "日本", "x y")
LOST: tuple[tuple[str, Any], ...] = (
    ("format", "date-time"), ("minimum", 0), ("maxLength", 0), ("default", False), ("default", None),
    ("title", ""), ("pattern", "^a~/"), ("const", []), ("anyOf", [{"type": "null"}, True]),
    ("examples", ["", 0]), ("minItems", 1.0), ("$comment", "a/b~c"), ("not", {}),
    ("dependentRequired", {"a/b": ["~"]}),
)  # fmt: skip


class Triple(NamedTuple):
    """``back`` is ``schema`` without what the short form has no place for."""

    schema: Any
    row: Any
    back: Any


def draw(chance: random.Random, *, others: bool = False, lost: bool = False) -> Triple:
    """An object with properties; with ``others`` somewhere in it, with something that is lost."""
    return _object(chance, 3, others, lost)


def _any(chance: random.Random, depth: int, others: bool, lost: bool) -> Triple:
    kind = chance.choice(("plain", "plain", "boolean", "empty", "list", "object", "object"))
    if depth == 0 and kind in ("list", "object"):
        kind = "plain"
    if kind == "boolean":
        value = chance.random() < 0.5
        return Triple(value, {"accepts": value}, value)
    if kind == "empty":
        return Triple({}, {}, {})
    if kind == "list":
        below = _any(chance, depth - 1, others, lost)
        base = {"type": "array"} if chance.random() < 0.7 else {}
        return _with(
            chance, lost, {**base, "items": below.schema}, {**base, "items": below.row},
            {**base, "items": below.back},
        )  # fmt: skip
    if kind == "object":
        return _object(chance, depth - 1, others, lost)
    kept = {
        "type": chance.choice(("string", "integer", ["string", "null"])),
        "description": chance.choice(("", "En palabras.", "In words.")),
        "enum": chance.choice((["a", None], [0, False, ""], [{"a": 1}])),
    }
    kept = {word: kept[word] for word in chance.sample(list(kept), chance.randint(1, 3))}
    return _with(chance, lost, dict(kept), dict(kept), dict(kept))


def _object(chance: random.Random, depth: int, others: bool, lost: bool) -> Triple:
    names = chance.sample(NAMES, chance.randint(1 if depth == 3 else 0, 4))
    below = {name: _any(chance, depth, others, lost) for name in names}
    needed = [name for name in names if chance.random() < 0.5]
    schema: dict[str, Any] = {"type": "object"} if depth == 3 or chance.random() < 0.6 else {}
    row, back = dict(schema), {}
    rows = [{"name": n, "required": n in needed, **each.row} for n, each in below.items()]
    row |= {"inputs": rows}
    back = {**schema, "properties": {n: each.back for n, each in below.items()}}
    schema |= {"properties": {n: each.schema for n, each in below.items()}}
    if needed:
        schema["required"], back["required"] = list(needed), list(needed)
    if lost and chance.random() < 0.2:
        schema["required"] = [*needed, "ghost"]  # required, and described nowhere
    if others and (depth == 3 or chance.random() < 0.5):
        more = _any(chance, depth - 1 if depth else 0, others, lost)
        schema["additionalProperties"], row["others"], back["additionalProperties"] = more
    return _with(chance, lost, schema, row, back)


def _with(chance: random.Random, lost: bool, schema: Any, row: Any, back: Any) -> Triple:
    if lost and chance.random() < 0.4:
        schema |= dict(chance.sample(LOST, chance.randint(1, 2)))
    return Triple(schema, row, back)


def edges() -> list[Triple]:
    """Each sort of ``additionalProperties`` once, in each sort of place."""
    found = []
    for value, row in ((False, {"accepts": False}), (True, {"accepts": True}), ({}, {}),
                       ({"type": "string"}, {"type": "string"})):  # fmt: skip
        schema = {"type": "object", "properties": {}, "additionalProperties": value}
        short: dict[str, Any] = {"type": "object", "inputs": [], "others": row}
        found.append(Triple(schema, short, schema))
        deep = {"type": "object", "properties": {"a": {"type": "array", "items": schema}},
                "additionalProperties": schema}  # fmt: skip
        low = {"type": "array", "items": short}
        found.append(
            Triple(
                deep,
                {"type": "object", "inputs": [{"name": "a", "required": False, **low}], "others": short},
                deep,
            )
        )
    return found
