"""Whether an output schema is one: JSON Schema 2020-12, judged once however often it is met.

The same card is read by every delegation, and checking a schema against its meta-schema costs
more than a whole exchange. Verdicts are kept for the last few schemas, by their canonical text.
It refuses to fetch anything: ``schema_fault`` looks at the schema alone, wherever its references lead.

``foreign_fault`` is for a schema that came with a card, so from a stranger: it refuses what could
keep a validator busy for ever (``bounded`` counts what is left).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import unquote

KEPT = 64
LONGEST = 65_536
"""Characters of a schema whose verdict is worth keeping, and all that a card's schema may have."""
DEEPEST = 64
"""Levels of objects and lists in the schema of a card, and of schemas met along its references."""
EXPANSIONS = 10_000
"""Schemas that the schema of a card may come to when each reference is replaced by what it names."""
KEYWORDS = 100
"""Members of one schema in a card."""
NOT_FROM_A_CARD = (
    "pattern",
    "patternProperties",
    "unevaluatedItems",
    "unevaluatedProperties",
    "$anchor",
    "$dynamicAnchor",
    "$dynamicRef",
)
"""Keywords that run a stranger's regular expression, or whose cost cannot be told beforehand."""

_ONE = (
    *("additionalProperties", "contains", "contentSchema", "else", "if", "items", "not"),
    *("propertyNames", "then", "unevaluatedItems", "unevaluatedProperties"),
)
_LIST = ("allOf", "anyOf", "oneOf", "prefixItems")
_NAMED = ("dependentSchemas", "patternProperties", "properties")
_KEPT_ASIDE = ("$defs", "definitions")


def schema_fault(schema: Any) -> str | None:
    """``pointer: why`` when ``schema`` is no JSON Schema 2020-12, in a few words; None when it is one."""
    try:
        text = json.dumps(schema, sort_keys=True)
    except RecursionError:
        return "nested too deeply"
    except (TypeError, ValueError):
        return _judge(schema)
    return _remembered(text) if len(text) <= LONGEST else _judge(schema)


@lru_cache(maxsize=KEPT)
def _remembered(text: str) -> str | None:
    return _judge(json.loads(text))


def _judge(schema: Any) -> str | None:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        said = " ".join(error.message.split())
        return f"{_pointer(error.absolute_path) or '/'}: {said[:120]}"
    except RecursionError:
        return "nested too deeply"
    return None


def _pointer(path: Iterable[str | int]) -> str:
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)


# --- a stranger's schema ----------------------------------------------------------------------


def foreign_fault(schema: Any) -> str | None:
    """Why the schema of a card is not used, in a few words; None when it may be.

    At most 64 KiB of JSON and 64 levels; none of ``NOT_FROM_A_CARD``, no ``format: regex``; ``$id``
    and ``$schema`` at the top only; every ``$ref`` names a schema inside (``#/...``), none leads back
    to itself, and written out they come to at most 10,000 schemas.
    """
    if _deeper(schema):
        return "is nested too deeply"
    try:
        if len(json.dumps(schema)) > LONGEST:
            return f"is over {LONGEST} characters of JSON"
    except (TypeError, ValueError):
        return "is no JSON"
    places = list(_within(schema))
    for each in places:
        if fault := _foreign_keyword(each, each is schema):
            return fault
    return _expanded(schema, schema, {id(each) for each in places}, (), [EXPANSIONS])


def _foreign_keyword(schema: Any, top: bool) -> str | None:
    if not isinstance(schema, Mapping):
        return None
    nested = () if top else ("$id", "$schema")
    if found := next((word for word in (*NOT_FROM_A_CARD, *nested) if word in schema), None):
        where = " below the top" if found in nested else ""
        return f"uses {found}{where}, not accepted from a card"
    if schema.get("format") == "regex":
        return "uses the format regex, not accepted from a card"
    return f"has over {KEYWORDS} keywords in one schema" if len(schema) > KEYWORDS else None


def _deeper(value: Any) -> bool:
    level = [value]
    for _ in range(DEEPEST + 1):
        inner: list[Any] = []
        for each in level:
            children = each.values() if isinstance(each, Mapping) else each
            if isinstance(each, (Mapping, list, tuple)):
                inner.extend(child for child in children if isinstance(child, (Mapping, list, tuple)))
        if not inner:
            return False
        level = inner
    return True


def _within(schema: Any) -> Iterator[Any]:
    yield schema
    for child in _parts(schema, (*_NAMED, *_KEPT_ASIDE)):
        yield from _within(child)


def _parts(schema: Any, named: tuple[str, ...]) -> Iterator[Any]:
    """The schemas right inside a schema."""
    if not isinstance(schema, Mapping):
        return
    yield from (schema[word] for word in _ONE if word in schema)
    for word in _LIST:
        yield from schema[word] if isinstance(schema.get(word), (list, tuple)) else ()
    for word in named:
        yield from schema[word].values() if isinstance(schema.get(word), Mapping) else ()


def _expanded(
    schema: Any, root: Any, places: set[int], above: tuple[int, ...], left: list[int]
) -> str | None:
    left[0] -= 1
    if left[0] < 0:
        return f"comes to more than {EXPANSIONS} schemas with its references written out"
    if id(schema) in above:
        return "refers to itself"
    if len(above) > DEEPEST:
        return "is nested too deeply"
    inner = list(_parts(schema, _NAMED))
    if isinstance(schema, Mapping) and "$ref" in schema:
        target = _target(schema["$ref"], root)
        if not isinstance(target, (Mapping, bool)) or (
            isinstance(target, Mapping) and id(target) not in places
        ):
            return f"refers to {str(schema['$ref'])[:60]!r}, where no schema is"
        inner.append(target)
    here = (*above, id(schema)) if isinstance(schema, Mapping) else above
    return next(filter(None, (_expanded(each, root, places, here, left) for each in inner)), None)


def _target(reference: Any, root: Any) -> Any:
    pointer = unquote(reference[1:]) if isinstance(reference, str) and reference.startswith("#") else None
    if pointer is None or (pointer and not pointer.startswith("/")):
        return None
    target = root
    for step in pointer.split("/")[1:]:
        if isinstance(target, Mapping):
            target = target.get(step.replace("~1", "/").replace("~0", "~"))
        elif isinstance(target, (list, tuple)) and step.isascii() and step.isdecimal():
            target = target[int(step)] if len(step) < 6 and int(step) < len(target) else None
        else:
            return None
    return target
