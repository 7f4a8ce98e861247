"""A proof of containment is never contradicted by a value, and a break is always shown by one."""

# ruff: noqa: E501  # tables of schemas read best with one pair on a line

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, note, settings
from hypothesis import strategies as st
from schema_changes import VALUES, changed, inputs, narrower, schemas, wider

from ai_evolution.atdf.containment import Part, Side, _Comparison, containment
from ai_evolution.atdf.schemas import problems
from ai_evolution.atdf.witnesses import formatted, matching, numbers_near

DRAFT_7 = "http://json-schema.org/draft-07/schema#"


def thing(required: tuple[str, ...] = (), closed: bool = False, /, **properties: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"type": "object", "properties": properties, "required": list(required)}
    return {**found, "additionalProperties": False} if closed else found


def node(value: Any) -> dict[str, Any]:
    return {"$ref": "#/$defs/n", "$defs": {"n": thing(value=value, next={"$ref": "#/$defs/n"})}}


KIND = [thing(("k",), k={"const": name}) for name in "abc"]

PROVEN = [
    ({"type": "integer"}, {"type": "number"}),
    ({"type": "integer", "minimum": 1}, {"type": "integer", "exclusiveMinimum": 0}),
    ({"type": "integer", "multipleOf": 4}, {"type": "integer", "multipleOf": 2}),
    ({"anyOf": [{"type": "string"}, {"type": "null"}]}, {"type": ["string", "null"]}),
    ({"type": ["string", "null"]}, {"anyOf": [{"type": "string"}, {"type": "null"}]}),
    ({"oneOf": KIND[:2]}, {"oneOf": KIND}),
    (thing(("k",), k={"enum": ["a", "b"]}), {"anyOf": KIND}),
    (node({"type": "integer"}), node({"type": "number"})),
    (False, {"type": "string"}),
    ({"enum": [1, 2]}, {"enum": [2, 1, 3]}),
    ({"type": "string", "pattern": "^a", "format": "date"}, {"pattern": "^a"}),
    ({"patternProperties": {"^x": {"type": "integer"}}, "additionalProperties": False, "type": "object"},
     {"additionalProperties": {"type": "number"}}),
    ({"type": "integer"}, {"not": {"type": "string"}}),
    ({"type": "string", "title": "T", "description": "d", "default": "x"}, {"type": "string"}),
    ({"$schema": DRAFT_7, "type": "array", "items": [{"type": "integer"}], "additionalItems": False},
     {"type": "array", "prefixItems": [{"type": "number"}], "maxItems": 1}),
    ({"$schema": DRAFT_7, "$ref": "#/definitions/s", "minLength": 9, "definitions": {"s": {"type": "string"}}},
     {"type": "string"}),
    ({"if": {"required": ["a"]}, "then": {"required": ["b", "c"]}}, {"if": {"required": ["a"]}, "then": {"required": ["b"]}}),
    ({"allOf": [{"minimum": 3}, {"maximum": 5}], "type": "integer"}, {"enum": [3, 4, 5, "x"], "type": "integer"}),
]  # fmt: skip

BROKEN = [
    ({"type": "number"}, {"type": "integer"}, "/type"),
    ({"type": "string", "maxLength": 5}, {"type": "string", "maxLength": 4}, "/maxLength"),
    (thing(a={}), thing(("a",), a={}), "/required/0"),
    (thing(a={}), thing((), True, a={}), "/additionalProperties"),
    (thing(a={"enum": ["x", "y"]}), thing(a={"enum": ["x"]}), "/properties/a/enum"),
    (thing(**{"a/b": {}}), thing(**{"a/b": {"type": "null"}}), "/properties/a~1b/type"),
    ({"type": "array", "items": {"type": "string"}}, {"type": "array", "items": {"minLength": 1}}, "/items/minLength"),
    ({"type": "string", "pattern": "^[a-z]+$"}, {"type": "string", "pattern": "^[a-z]{2,}$"}, "/pattern"),
    ({"type": "string"}, {"type": "string", "format": "date-time"}, "/format"),
    (node({"type": "number"}), node({"type": "integer"}), "/$defs/n/properties/value/type"),
    ({"oneOf": KIND}, {"oneOf": KIND[:2]}, "/oneOf"),
    ({"type": "integer"}, {"not": {"minimum": 5}}, "/not"),
    ({"type": "object"}, {"dependentRequired": {"a": ["b"]}}, "/dependentRequired/a"),
    ({"type": "object", "propertyNames": {"pattern": "^[a-z]+$"}}, {"propertyNames": {"maxLength": 3}},
     "/propertyNames/maxLength"),
    ({"type": "array"}, {"type": "array", "uniqueItems": True}, "/uniqueItems"),
    ({}, {"type": "array", "prefixItems": [{}], "uniqueItems": True}, ["/type", "/uniqueItems"]),
    ({"type": "array"}, {"type": "array", "contains": {"type": "string"}}, "/contains"),
    ({"type": "string", "maxLength": 50_000}, {"type": "string", "maxLength": 49_999}, "/maxLength"),
    ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, {"oneOf": [{"type": "number"}, {"type": "integer"}, {"type": "string"}]},
     "/oneOf"),
    ({}, False, ""),
    ({"if": {"required": ["a"]}, "then": {"required": ["b"]}}, {"if": {"required": ["a"]}, "then": {"required": ["b", "c"]}},
     "/then/required/1"),
]  # fmt: skip


@pytest.mark.parametrize(("left", "right"), PROVEN, ids=str)
def test_what_is_contained_is_proven(left: Any, right: Any) -> None:
    assert containment(left, right).contained


@pytest.mark.parametrize(("left", "right", "pointer"), BROKEN, ids=str)
def test_what_is_not_contained_is_shown_by_a_value_at_its_place(
    left: Any, right: Any, pointer: str | list[str]
) -> None:
    verdict = containment(left, right)
    assert [one.pointer for one in verdict.breaks] == (pointer if isinstance(pointer, list) else [pointer])
    witness = verdict.breaks[0].witness
    assert problems(witness, left) == []
    assert problems(witness, right) != []
    assert verdict.undecided == ()


@pytest.mark.parametrize(
    ("left", "right", "says"),
    [
        ({"type": "string", "pattern": "^[a-z]{3}$"}, {"type": "string", "pattern": "^[a-z]+$"}, "/pattern (pattern)"),
        ({"type": "string", "pattern": "^(?=a)a$"}, {"type": "string", "maxLength": 1, "pattern": "^a$"}, "pattern"),
        ({"type": "string"}, {"$ref": "https://example.org/s"}, "never fetched"),
        ({"type": "nonsense"}, {"type": "string"}, "the first schema itself is wrong"),
        ({"type": "string", "$defs": {"a": {"$anchor": "a"}}}, {"type": "string", "maxLength": 3}, "$anchor"),
    ],
)  # fmt: skip
def test_what_cannot_be_decided_is_said_to_be_so(left: Any, right: Any, says: str) -> None:
    verdict = containment(left, right)
    assert verdict.breaks == ()
    assert not verdict.contained
    assert says in " ".join(verdict.undecided)


def test_two_breaks_are_told_apart_and_each_has_a_value_of_its_own() -> None:
    old = thing(("a",), a={"type": "string", "enum": ["x", "y"]}, n={"type": "integer", "maximum": 9})
    new = thing(("a", "b"), a={"type": "string", "enum": ["x"]}, n={"type": "integer", "maximum": 8})
    found = {one.pointer: one.witness for one in containment(old, new).breaks}
    assert found == {
        "/properties/a/enum": {"a": "y"},
        "/properties/n/maximum": {"a": "x", "n": 9},
        "/required/1": {"a": "x"},
    }


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(schemas(), schemas(), st.lists(VALUES, max_size=12))
def test_no_value_contradicts_a_proof_and_every_break_is_real(
    left: Any, right: Any, values: list[Any]
) -> None:
    verdict = containment(left, right)
    for one in verdict.breaks:
        assert problems(one.witness, left) == []
        assert problems(one.witness, right) != []
    if verdict.contained:
        note("contained")
        for value in [*values, *_drawn(left, right)]:
            assert problems(value, left) or not problems(value, right)


def _drawn(left: Any, right: Any) -> list[Any]:
    side = Side(left)
    comparison = _Comparison(side, Side(right))
    try:
        return [value for value, _ in zip(comparison.drawn((Part(side, left, ""),)), range(40), strict=False)]
    except Exception:
        return []


@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(schemas())
def test_every_schema_contains_itself_and_is_contained_in_everything(schema: Any) -> None:
    assert containment(schema, dict(schema)).contained
    assert containment(schema, True).contained
    assert not containment(schema, {**schema, "title": "T", "description": "d"}).breaks


@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(st.data(), inputs())
def test_a_widened_schema_is_proven_to_contain_the_old_one(data: Any, schema: Any) -> None:
    assert containment(schema, changed(data.draw, schema, wider)).contained


@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(st.data(), inputs())
def test_a_narrowed_schema_is_broken_by_a_value(data: Any, schema: Any) -> None:
    new = changed(data.draw, schema, narrower)
    assume(new != schema)
    verdict = containment(schema, new)
    assert verdict.breaks, verdict
    assert problems(verdict.breaks[0].witness, schema) == []
    assert problems(verdict.breaks[0].witness, new) != []


@pytest.mark.parametrize(
    "pattern", ["^[a-z]+$", "^\\d{4}-\\d\\d$", "a|b", "^(x|yy)[^/]*\\.txt$", "\\S", "^.{3,}$"]
)
def test_texts_are_made_that_match_a_pattern(pattern: str) -> None:
    import re

    assert matching(pattern)
    assert all(re.search(pattern, one) for one in matching(pattern))


def test_a_pattern_that_is_none_or_too_long_gives_nothing() -> None:
    assert matching("(") == matching("a{999999999}") == matching(None) == ()
    assert formatted("no-such-format") == formatted(3) == ()
    assert list(numbers_near([], [])) == [0, 1, -1, 2, 0.5, 7, 1000003, -1000003]


def test_references_that_multiply_are_not_followed_while_a_witness_is_looked_for() -> None:
    """``atdf diff`` of such a description never came back: 2 to the 40th evaluations of one value."""
    steps: dict[str, Any] = {
        f"d{n}": {"type": "object", "allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(40)
    }
    bomb = {"type": "object", "$ref": "#/$defs/d0", "$defs": steps | {"d40": {"type": "object"}}}
    plain = {"type": "object", "properties": {"a": {"type": "string"}}}
    named = {**bomb, "$schema": "https://json-schema.org/draft/2020-12/schema"}
    for left, right in ((bomb, plain), (plain, bomb), (named, plain), (plain, named)):
        verdict = containment(left, right)
        assert verdict.breaks or "too large" in " ".join(verdict.undecided)


def test_the_work_is_bounded_and_what_is_left_is_said() -> None:
    def wall(depth: int) -> Any:
        if not depth:
            return {"type": "string"}
        return {"anyOf": [thing((f"p{depth}{i}",), **{f"p{depth}{i}": wall(depth - 1)}) for i in range(6)]}

    left, right = wall(4), wall(4)
    right["anyOf"][0]["properties"]["p40"]["anyOf"].pop()
    verdict = containment(left, right)
    assert verdict.breaks or "too large" in " ".join(verdict.undecided)
