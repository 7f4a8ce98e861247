"""Values drawn from a schema: what it accepts, what it just refuses, and whether it accepts anything at all.

A generator that only needs the standard library, for the runs that a user starts (`examples.trials`,
bids in `allocation`); property tests have Hypothesis besides. Every value is judged by
``schemas.problems`` before it leaves, so a poor guess costs tries and never tells a lie. The same
``random.Random`` gives the same values everywhere.

What it refuses to do: promise to find something. A schema for which nothing was found may accept values
all the same (an odd pattern, a ``not``); only ``contradiction`` says that there are none, and only when it
can be shown.
"""

from __future__ import annotations

import contextlib
import json
import math
import random
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ai_evolution.atdf.schemas import problems
from ai_evolution.atdf.witnesses import matching

DEPTH = 6
"""Levels of nesting that are drawn; below, only what is required."""
TRIES = 30
"""Draws for each value before giving it up."""

TYPES = ("object", "array", "string", "number", "integer", "boolean", "null")
_Schema = Mapping[str, Any]

_FORMATS: Mapping[str, tuple[str, ...]] = {
    "date-time": (
        "2025-07-12T10:00:00Z", "2025-07-12T12:00:00+02:00", "1999-12-31T23:59:59.999Z",
        "2099-01-01T00:00:00Z", "2024-02-29T00:00:00-12:00",
    ),
    "date": ("2025-07-12", "2024-02-29", "1999-12-31"),
    "time": ("10:00:00Z", "23:59:59+02:00"),
    "duration": ("P1D", "PT36H", "P2W"),
    "email": ("someone@example.org", "a.b+c@example.com"),
    "uri": ("https://example.org/a?b=c#d", "urn:isbn:0451450523"),
    "uuid": ("123e4567-e89b-42d3-a456-426614174000",),
    "ipv4": ("192.0.2.1",),
    "ipv6": ("2001:db8::1",),
    "hostname": ("example.org",),
    "json-pointer": ("", "/a/0"),
    "regex": ("^a+$",),
}  # fmt: skip
_TEXTS = (
    "", "a", "A", "0", "7", "abc", "ABC", "a-b", "a_b", "A1", "a1b2", "0123", "2026-01-05", "año", "日本",
    "a b", "a/b", "a.b", "a@b.c", "😀", "'; --", "line\nbreak", "x" * 64,
)  # fmt: skip
_STRANGE: tuple[Any, ...] = (
    None, True, False, 0, -1, 0.1, 10**20, "", "not a date", "2025-07-12T10:00:00", [], [None], {},
    {"": None},
)  # fmt: skip


_BOUNDS = tuple(
    (least, most) for least in ("minimum", "exclusiveMinimum") for most in ("maximum", "exclusiveMaximum")
)
_SPANS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "object": (("minProperties", "maxProperties"),),
    "array": (("minItems", "maxItems"),),
    "string": (("minLength", "maxLength"),),
    "number": _BOUNDS,
    "integer": _BOUNDS,
}


class _Nothing(Exception):
    """No value can be drawn here."""


def samples(schema: Any, chance: random.Random, count: int = 20) -> Iterator[Any]:
    """Up to ``count`` values that ``schema`` accepts; fewer when it is hard to please."""
    yield from _sift(
        lambda: _draw(schema, schema, chance, 0), lambda value: not problems(value, schema, limit=1), count
    )


def strays(schema: Any, chance: random.Random, count: int = 20) -> Iterator[Any]:
    """Up to ``count`` values that ``schema`` refuses, most of them one step away from one it accepts."""

    def draw() -> Any:
        try:
            value = _draw(schema, schema, chance, 0)
        except _Nothing:
            value = {}
        for _ in range(chance.choice((1, 1, 1, 2))):
            value = _disturbed(value, chance)
        return value

    yield from _sift(draw, lambda value: bool(problems(value, schema, limit=1)), count)


def _sift(draw: Callable[[], Any], fits: Callable[[Any], bool], count: int) -> Iterator[Any]:
    for _ in range(count):
        for _ in range(TRIES):
            try:
                value = draw()
            except (_Nothing, RecursionError):
                continue
            if fits(value):
                yield value
                break
        else:
            return


# drawing


def _draw(schema: Any, root: Any, chance: random.Random, depth: int) -> Any:
    if schema is False:
        raise _Nothing
    if not isinstance(schema, Mapping) or not schema:
        return _anything(chance, depth)
    schema = _flat(schema, root, chance, 0)
    if "const" in schema:
        return _copy(schema["const"])
    if isinstance(schema.get("enum"), list):
        if not schema["enum"]:
            raise _Nothing
        return _copy(chance.choice(schema["enum"]))
    known = [schema["default"]] if "default" in schema else []
    if isinstance(schema.get("examples"), list):
        known += schema["examples"]
    if known and chance.random() < 0.3:
        return _copy(chance.choice(known))
    return _DRAWS[_type(schema, chance)](schema, root, chance, depth)


def _flat(schema: _Schema, root: Any, chance: random.Random, level: int) -> dict[str, Any]:
    """One choice of the schema without ``$ref`` and combinations, as far as merging keywords can say it."""
    if level > 20:
        raise _Nothing
    rest = {
        word: each
        for word, each in schema.items()
        if word not in ("$ref", "allOf", "anyOf", "oneOf", "if", "then", "else")
    }
    parts: list[Any] = []
    if "$ref" in schema:
        parts.append(resolve(schema["$ref"], root))
    if isinstance(schema.get("allOf"), list):
        parts.extend(schema["allOf"])
    for word in ("anyOf", "oneOf"):
        if isinstance(schema.get(word), list) and schema[word]:
            parts.append(chance.choice(schema[word]))
    if "if" in schema:
        if chance.random() < 0.5:
            parts += [schema["if"], schema.get("then", True)]
        else:
            parts.append(schema.get("else", True))
    for part in parts:
        if part is False:
            raise _Nothing
        if isinstance(part, Mapping):
            rest = _merged(rest, _flat(part, root, chance, level + 1))
    return rest


def _merged(one: dict[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    result = dict(one)
    for word, each in other.items():
        if word not in result:
            result[word] = each
        elif word == "properties":
            result[word] = {**result[word], **each}
        elif word == "required":
            result[word] = [*result[word], *each]
        elif word in ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"):
            result[word] = max(result[word], each)
        elif word in ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"):
            result[word] = min(result[word], each)
        elif word == "type":
            result[word] = sorted(types(result) & types(other))
        elif word == "enum":
            result[word] = [value for value in result[word] if value in each]
    return result


def types(schema: Any) -> frozenset[str]:
    """The types that ``type`` lets through; all of them where it is not said. A number may be an integer."""
    said = schema.get("type") if isinstance(schema, Mapping) else None
    names = {said} if isinstance(said, str) else set(said) if isinstance(said, list) else set(TYPES)
    return frozenset(names | ({"integer"} if "number" in names else set()))


def _type(schema: _Schema, chance: random.Random) -> str:
    if "type" in schema:
        found = sorted(types(schema))
        if not found:
            raise _Nothing
        return chance.choice(found)
    for kind, words in (
        ("object", ("properties", "required", "additionalProperties", "minProperties", "patternProperties")),
        ("array", ("items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains")),
        ("string", ("pattern", "format", "minLength", "maxLength")),
        ("number", ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")),
    ):
        if any(word in schema for word in words):
            return kind
    return chance.choice(TYPES)


def _object(schema: _Schema, root: Any, chance: random.Random, depth: int) -> dict[str, Any]:
    properties = schema.get("properties", {})
    required = list(dict.fromkeys(schema.get("required", ())))
    more = schema.get("additionalProperties", True)
    result: dict[str, Any] = {}
    for name in [*required, *properties]:
        if name in result or (name not in required and (depth >= DEPTH or chance.random() < 0.5)):
            continue
        try:
            result[name] = _draw(properties.get(name, more), root, chance, depth + 1)
        except _Nothing:
            if name in required:
                raise
    wanted = schema.get("minProperties", 0)
    extra = 0 if more is False else max(wanted - len(result), int(chance.random() < 0.2))
    for number in range(extra):
        name = chance.choice(_TEXTS) + (str(number) if number else "")
        if name not in properties:
            result[name] = _draw(more, root, chance, depth + 1)
    return result


def _array(schema: _Schema, root: Any, chance: random.Random, depth: int) -> list[Any]:
    first = schema.get("prefixItems", [])
    rest = schema.get("items", True)
    if isinstance(rest, list):  # draft-07
        first, rest = rest, schema.get("additionalItems", True)
    least = schema.get("minItems", 0)
    most = schema.get("maxItems", least + 4)
    if depth >= DEPTH:
        most = least
    length = chance.randint(min(least, most), most)
    result = [_draw(first[i] if i < len(first) else rest, root, chance, depth + 1) for i in range(length)]
    if "contains" in schema and length:
        result[chance.randrange(length)] = _draw(schema["contains"], root, chance, depth + 1)
    if schema.get("uniqueItems"):
        result = list({json.dumps(each, sort_keys=True): each for each in result}.values())
    return result


def _string(schema: _Schema, _root: Any, chance: random.Random, _depth: int) -> str:
    least, most = schema.get("minLength", 0), schema.get("maxLength", math.inf)
    known = _FORMATS.get(schema.get("format", ""))
    if known:
        return chance.choice(known)
    pattern = schema.get("pattern")
    if isinstance(pattern, str):
        return _patterned(pattern, least, most, chance)
    text = chance.choice(_TEXTS)
    while len(text) < least:
        text += chance.choice(_TEXTS) or "a"
        if least > 100_000:
            raise _Nothing
    return text if len(text) <= most else text[: int(most)]


def _patterned(pattern: str, least: float, most: float, chance: random.Random) -> str:
    """A text in which the pattern is found, long enough if one of the few that are known is."""
    found = [text for text in matching(pattern) if least <= len(text) <= most] or list(matching(pattern))
    if not found:
        with contextlib.suppress(re.error):
            found = [text for text in (*_TEXTS, *sum(_FORMATS.values(), ())) if re.search(pattern, text)]
    if not found:
        raise _Nothing
    return chance.choice(found)


def _number(schema: _Schema, _root: Any, chance: random.Random, _depth: int) -> Any:
    return _bounded(schema, chance, whole=False)


def _integer(schema: _Schema, _root: Any, chance: random.Random, _depth: int) -> int:
    return int(_bounded(schema, chance, whole=True))


def _bounded(schema: _Schema, chance: random.Random, *, whole: bool) -> Any:
    low = schema.get("minimum", schema.get("exclusiveMinimum", -1000))
    high = schema.get("maximum", schema.get("exclusiveMaximum", max(low, 0) + 1000))
    low = min(low, high - 1000) if "minimum" not in schema and "exclusiveMinimum" not in schema else low
    if low > high:
        raise _Nothing
    step = schema.get("multipleOf")
    if step:
        return math.ceil(low / step + chance.randint(0, min(int((high - low) / step), 100))) * step
    edges = [low, high, low + 1, high - 1, *(near for near in (0, 1, -1) if low <= near <= high)]
    if whole:
        inside = chance.randint(math.ceil(low), max(math.floor(high), math.ceil(low)))
        return chance.choice([inside, inside, *(math.ceil(edge) for edge in edges)])
    return chance.choice([*edges, low + (high - low) * chance.random()])


_DRAWS: Mapping[str, Callable[[_Schema, Any, random.Random, int], Any]] = {
    "object": _object,
    "array": _array,
    "string": _string,
    "number": _number,
    "integer": _integer,
    "boolean": lambda _schema, _root, chance, _depth: chance.random() < 0.5,
    "null": lambda _schema, _root, _chance, _depth: None,
}


def _anything(chance: random.Random, depth: int) -> Any:
    if depth < DEPTH and chance.random() < 0.2:
        return {chance.choice(_TEXTS): _anything(chance, depth + 2)}
    return _copy(chance.choice((*_STRANGE, *_TEXTS)))


def _copy(value: Any) -> Any:
    return json.loads(json.dumps(value)) if isinstance(value, dict | list) else value


# disturbing


def _disturbed(value: Any, chance: random.Random) -> Any:
    """The value with one thing changed somewhere: dropped, added, or replaced by something else."""
    if isinstance(value, dict) and chance.random() < 0.8:
        result = dict(value)
        if result and (name := chance.choice([None, *sorted(result)])) is not None:
            if chance.random() < 0.4:
                del result[name]
            else:
                result[name] = _disturbed(result[name], chance)
        else:
            result[chance.choice(_TEXTS)] = _copy(chance.choice(_STRANGE))
        return result
    if isinstance(value, list) and value and chance.random() < 0.7:
        place = chance.randrange(len(value))
        return [*value[:place], _disturbed(value[place], chance), *value[place + 1 :]]
    return _copy(chance.choice(_STRANGE))


# proving that there is nothing


def resolve(reference: Any, root: Any) -> Any:
    """What a reference inside the document (``#/$defs/a``) leads to; True where it cannot be followed."""
    if not isinstance(reference, str) or not (reference == "#" or reference.startswith("#/")):
        return True
    here = root
    for step in reference[1:].split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(here, Mapping) and name in here:
            here = here[name]
        elif isinstance(here, list) and name.isdigit() and int(name) < len(here):
            here = here[int(name)]
        else:
            return True
    return here


def contradiction(schema: Any, *, of: frozenset[str] = frozenset(TYPES)) -> str | None:
    """Why no value of the types ``of`` fits ``schema``: a pointer and a reason; None where that is not shown.

    Sound and not complete: what it says is so, and it does not see every contradiction.
    """
    return _contradiction(schema, schema, of, "", frozenset())


def _contradiction(schema: Any, root: Any, of: frozenset[str], at: str, seen: frozenset[int]) -> str | None:
    if schema is False:
        return f"{at or '/'}: false accepts nothing"
    if not isinstance(schema, Mapping) or id(schema) in seen or len(seen) > 40:
        return None
    seen = seen | {id(schema)}
    if "$ref" in schema:
        if reason := _contradiction(resolve(schema["$ref"], root), root, of, f"{at}/$ref", seen):
            return reason
        if "draft-07" in str(root.get("$schema", "")):
            return None  # there, the neighbours of $ref say nothing
    possible = of & types(schema)
    for number, part in enumerate(schema.get("allOf") or ()):
        if reason := _contradiction(part, root, possible, f"{at}/allOf/{number}", seen):
            return reason
        possible &= types(part)
    if not possible:
        return f"{at or '/'}: the types asked for here exclude each other"
    for word in ("anyOf", "oneOf"):
        parts = schema.get(word)
        if isinstance(parts, list) and parts:
            reasons = [
                _contradiction(each, root, possible, f"{at}/{word}/{n}", seen) for n, each in enumerate(parts)
            ]
            if all(reasons):
                return reasons[0]
    if schema.get("not") is True or schema.get("not") == {}:
        return f"{at or '/'}: not of everything accepts nothing"
    for word in ("const", "enum"):
        if word in schema:
            values = [schema[word]] if word == "const" else schema[word]
            if not any(_type_of(value) & possible and not _breaks(value, schema) for value in values):
                return f"{at}/{word}: no value of {word} fits the rest of the schema"
            return None
    reasons = [_impossible(kind, schema, root, at, seen) for kind in sorted(possible)]
    return reasons[0] if all(reasons) else None


def _breaks(value: Any, schema: _Schema) -> bool:
    """Whether the value breaks what stands beside const and enum; what refers elsewhere is left out."""
    plain = {
        word: each
        for word, each in schema.items()
        if word in ("type", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
        or word in ("minLength", "maxLength", "pattern", "format", "minItems", "maxItems", "enum", "required")
    }
    return bool(problems(value, plain, limit=1))


def _type_of(value: Any) -> frozenset[str]:
    kinds: list[tuple[type | tuple[type, ...], str]] = [
        (bool, "boolean"), (dict, "object"), (list, "array"), (str, "string"), (int, "integer"),
        (float, "number"),
    ]  # fmt: skip
    name = next((name for kind, name in kinds if isinstance(value, kind)), "null")
    if isinstance(value, float) and value.is_integer():
        return frozenset({"number", "integer"})
    return frozenset({name, "number"} if name == "integer" else {name})


def _impossible(kind: str, schema: _Schema, root: Any, at: str, seen: frozenset[int]) -> str | None:
    """Why no value of this one type fits, or None."""
    for least, most in _SPANS.get(kind, ()):
        if least not in schema or most not in schema:
            continue
        low, high = schema[least], schema[most]
        if low > high or (low == high and (least.startswith("excl") or most.startswith("excl"))):
            return f"{at}/{least}: nothing lies between {low} and {most} {high}"
    if kind == "object":
        return _no_object(schema, root, at, seen)
    if kind == "array" and schema.get("minItems", 0) > 0 and "prefixItems" not in schema:
        items = schema.get("items", True)
        if not isinstance(items, list):
            return _contradiction(items, root, frozenset(TYPES), f"{at}/items", seen)
    return None


def _no_object(schema: _Schema, root: Any, at: str, seen: frozenset[int]) -> str | None:
    required = set(schema.get("required", ()))
    properties = schema.get("properties", {})
    if len(required) > schema.get("maxProperties", math.inf):
        return f"{at}/maxProperties: {schema['maxProperties']} given, {len(required)} are required"
    for name in sorted(required):
        if name in properties:
            if reason := _contradiction(
                properties[name], root, frozenset(TYPES), f"{at}/properties/{name}", seen
            ):
                return reason
        elif schema.get("additionalProperties") is False and not schema.get("patternProperties"):
            return f"{at}/required: {name!r} is required, and additionalProperties forbids it"
    return None
