"""JSON Schemas, and steps that make one accept more or less, for the property tests of comparisons."""

# tables of schemas read best with one pair on a line

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from ai_evolution.atdf.schemas import check_schema

NAMES = st.sampled_from(["a", "b", "c", "x1", "ñ", "a/b", "~"])
TEXTS = st.sampled_from(["", "a", "abc", "2026-01-05", "x", "ñandú"])
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-3, 9), TEXTS, st.sampled_from([0.5, 2.0, -1.5]))
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)
PATTERNS = st.sampled_from(["^a", "^[a-z]+$", "1$", "^x", "."])


def _some(**keywords: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=keywords)


def _leaf() -> st.SearchStrategy[Any]:
    number = _some(
        type=st.sampled_from(["number", "integer"]),
        minimum=st.integers(-3, 5),
        maximum=st.integers(0, 9),
        exclusiveMinimum=st.integers(-3, 5),
        multipleOf=st.sampled_from([1, 2, 3, 0.5]),
    )
    text = _some(
        type=st.just("string"),
        minLength=st.integers(0, 3),
        maxLength=st.integers(0, 6),
        pattern=PATTERNS,
        format=st.sampled_from(["date", "date-time"]),
    )
    listed = st.lists(SCALARS, min_size=1, max_size=4, unique_by=repr).map(lambda many: {"enum": many})
    types = st.lists(
        st.sampled_from(["object", "array", "string", "number", "integer", "boolean", "null"]),
        min_size=1, max_size=3, unique=True,
    ).map(lambda many: {"type": many})  # fmt: skip
    return st.one_of(number, text, listed, types, SCALARS.map(lambda one: {"const": one}), st.booleans())


def _branch(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    thing = _some(
        type=st.just("object"),
        properties=st.dictionaries(NAMES, inner, max_size=3),
        required=st.lists(NAMES, max_size=2, unique=True),
        additionalProperties=inner,
        patternProperties=st.dictionaries(PATTERNS, inner, max_size=2),
        propertyNames=inner,
        minProperties=st.integers(0, 2),
        maxProperties=st.integers(0, 3),
        dependentRequired=st.dictionaries(NAMES, st.lists(NAMES, max_size=2, unique=True), max_size=2),
        dependentSchemas=st.dictionaries(NAMES, inner, max_size=1),
    )
    many = _some(
        type=st.just("array"),
        items=inner,
        prefixItems=st.lists(inner, min_size=1, max_size=2),
        minItems=st.integers(0, 3),
        maxItems=st.integers(0, 4),
        uniqueItems=st.booleans(),
        contains=inner,
    )
    several = st.lists(inner, min_size=1, max_size=3)
    combined = _some(allOf=several, anyOf=several, oneOf=several)
    conditional = st.fixed_dictionaries({"if": inner}, optional={"then": inner, "else": inner})
    negated = st.fixed_dictionaries({"not": inner})
    refers = st.just({"$ref": "#/$defs/d"}) | st.just({"$ref": "#"})
    both = st.tuples(thing, combined).map(lambda two: two[0] | two[1])
    return st.one_of(thing, many, combined, conditional, negated, both, refers)


def schemas() -> st.SearchStrategy[dict[str, Any]]:
    """Valid schemas of 2020-12, most of the keywords, references into ``$defs`` and to the root."""
    inner = st.recursive(_leaf(), _branch, max_leaves=8)
    return (
        st.tuples(inner.filter(lambda one: isinstance(one, dict)), inner)
        .map(lambda two: {**two[0], "$defs": {"d": two[1]}})
        .filter(lambda one: not check_schema(one))
    )


def inputs() -> st.SearchStrategy[dict[str, Any]]:
    """Schemas as tools have them: an object whose members have a type, nested, each of them satisfiable."""
    number = st.tuples(st.sampled_from(["integer", "number"]), st.integers(-5, 5), st.integers(6, 20)).map(
        lambda t: {"type": t[0], "minimum": t[1], "maximum": t[2]}
    )
    text = st.tuples(st.integers(0, 3), st.integers(4, 12)).map(
        lambda t: {"type": "string", "minLength": t[0], "maxLength": t[1]}
    )
    choice = st.lists(st.sampled_from(["r", "w", "x", "rw", "all"]), min_size=2, max_size=4, unique=True).map(
        lambda many: {"type": "string", "enum": many}
    )
    leaf = st.one_of(number, text, choice, st.just({"type": "boolean"}))

    def deeper(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        items = st.tuples(inner, st.integers(0, 2), st.integers(3, 5)).map(
            lambda t: {"type": "array", "items": t[0], "minItems": t[1], "maxItems": t[2]}
        )
        either = st.tuples(leaf).map(lambda t: {"anyOf": [t[0], {"type": "null"}]})
        return st.one_of(items, _thing(inner), either)

    return _thing(st.recursive(leaf, deeper, max_leaves=6))


def _thing(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    names = st.sampled_from(["path", "limit", "mode", "deep", "url"])

    def build(properties: dict[str, Any], wanted: list[bool], closed: bool) -> dict[str, Any]:
        required = [name for name, yes in zip(properties, wanted, strict=False) if yes]
        found = {"type": "object", "properties": properties, "required": required}
        return {**found, "additionalProperties": False} if closed else found

    members = st.dictionaries(names, inner, min_size=1, max_size=3)
    return st.builds(build, members, st.lists(st.booleans(), min_size=3, max_size=3), st.booleans())


Step = Callable[[dict[str, Any]], None]


def wider(schema: dict[str, Any]) -> list[Step]:
    """Return the steps that make this one object of ``inputs`` accept more and lose nothing."""
    steps: list[Step] = []
    if schema.get("required"):
        steps.append(lambda s: s["required"].pop())
    if schema.get("additionalProperties") is False:
        steps.append(lambda s: s.update(additionalProperties={"type": "string"}))
    for low in ("minimum", "minLength", "minItems"):
        if low in schema and (low == "minimum" or schema[low] > 0):
            steps.append(lambda s, low=low: s.update({low: s[low] - 1}))
    for high in ("maximum", "maxLength", "maxItems"):
        if high in schema:
            steps += [lambda s, high=high: s.update({high: s[high] + 1}), lambda s, high=high: s.pop(high)]
    if "enum" in schema:
        steps += [lambda s: s["enum"].append("new"), lambda s: s.pop("enum")]
    if "anyOf" in schema:
        steps.append(lambda s: s["anyOf"].append({"const": 77777}))
    if schema.get("type") == "integer":
        steps.append(lambda s: s.update(type="number"))
    if schema.get("type") in ("string", "boolean", "array"):
        steps.append(lambda s: s.update(type=[s["type"], "null"]) if "enum" not in s else None)
    return steps


def narrower(schema: dict[str, Any]) -> list[Step]:
    """Return the steps that make this one object of ``inputs`` refuse something that it accepted."""
    steps: list[Step] = []
    optional = [n for n in schema.get("properties", {}) if n not in schema.get("required", [])]
    if optional:
        steps.append(lambda s: s["required"].append(optional[0]))
    if "properties" in schema:
        if "additionalProperties" not in schema:
            steps.append(lambda s: s.update(additionalProperties=False))
            steps.append(lambda s: s["properties"].update(fresh={"type": "string"}))
            steps.append(lambda s: s.update(propertyNames={"pattern": "^[a-z]{1,4}$"}))
        steps.append(lambda s: s["required"].append("token"))
    for low in ("minimum", "minLength", "minItems"):
        if low in schema:
            steps.append(lambda s, low=low: s.update({low: s[low] + 1}))
    for high in ("maximum", "maxLength", "maxItems"):
        if high in schema:
            steps.append(lambda s, high=high: s.update({high: s[high] - 1}))
    if "enum" in schema:
        steps += [
            lambda s: s["enum"].pop(),
            lambda s: s.update(pattern="^[a-q]") if "enum" not in s else s["enum"].pop(0),
        ]
    elif schema.get("type") == "string":
        steps += [lambda s: s.update(pattern="^[b-z]+$"), lambda s: s.update(format="date")]
    if schema.get("type") == "number":
        steps.append(lambda s: s.update(type="integer"))
    if schema.get("type") == "integer":
        steps.append(lambda s: s.update(multipleOf=2))
    if schema.get("type") == "boolean":
        steps.append(lambda s: s.update(const=True))
    if "anyOf" in schema:
        steps.append(lambda s: s["anyOf"].pop())
    return steps


def changed(
    draw: Any, schema: dict[str, Any], steps_of: Callable[[dict[str, Any]], list[Step]]
) -> dict[str, Any]:
    """Return ``schema`` with one such step taken somewhere in it."""
    new = copy.deepcopy(schema)
    places, todo = [], [new]
    while todo:
        here = todo.pop()
        if steps := steps_of(here):
            places.append((here, steps))
        todo += [one for one in here.get("properties", {}).values() if isinstance(one, dict)]
        todo += [here["items"]] if "items" in here else []
        todo += here["anyOf"][:1] if "anyOf" in here else []
    place, steps = draw(st.sampled_from(places)) if places else (new, [lambda s: None])
    draw(st.sampled_from(steps))(place)
    return new
