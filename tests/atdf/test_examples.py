"""Examples run as tests, at their own clock; a tool that drifts from its description is caught by them."""

from __future__ import annotations

import asyncio
import copy
import json
import random
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from date_range import WORDS, date_range, document
from hypothesis import given, settings
from hypothesis import strategies as st

from ai_evolution.atdf import examples
from ai_evolution.atdf.contract import Contract, ToolFailure
from ai_evolution.atdf.description import Example, Failure, ToolDescription, read
from ai_evolution.atdf.envelope import problems_of
from ai_evolution.atdf.examples import Match
from ai_evolution.atdf.samples import contradiction, samples, strays
from ai_evolution.atdf.schemas import check_schema, problems
from ai_evolution.errors import UsageError

PARAPHRASED = Match(prose=("/data/expected", "/data/solution"))
ANYTHING = ToolDescription("x", "x")


def shown(output: Any, result: Any, match: Match | None = None, **options: Any) -> examples.ExampleResult:
    """The result of one example whose output is ``output`` for a tool that gives ``result``."""
    described = replace(ANYTHING, examples=(Example({}, output),))
    return examples.run(Contract(described, lambda: result, **options), match)[0]


# the article's tool


@pytest.mark.parametrize("lang", ["es", "en"])
def test_both_examples_of_the_article_hold_at_their_own_clock(lang: str) -> None:
    results = examples.run(date_range(lang, codes={"arguments": "400"}), PARAPHRASED)
    assert [result.holds for result in results] == [True, True]
    assert [result.at for result in results] == [
        datetime(2025, 7, 11, 14, 25, tzinfo=UTC), datetime(2025, 7, 11, 14, 23, 45, tzinfo=UTC),
    ]  # fmt: skip
    assert dict(results[0].loosened) == {}
    assert dict(results[1].loosened) == {
        "/data/text": "ellipsis", "/data/details/field": "ellipsis",
        "/data/expected": "prose", "/data/solution": "prose",
    }  # fmt: skip


def test_without_the_rule_for_prose_the_paraphrase_in_the_article_is_a_difference() -> None:
    results = examples.run(date_range())
    assert [result.holds for result in results] == [True, False]
    assert (results[1].pointer, results[1].difference) == ("/data/expected", "different")
    assert "/data/expected" in results[1].says("es")


def test_at_today_s_clock_the_success_of_the_article_is_false() -> None:
    tool = date_range(clock=lambda: datetime(2026, 1, 1, tzinfo=UTC))
    first = tool.description.examples[0]
    assert tool.call(first.input)["status"] == "error"
    assert examples.run(tool, PARAPHRASED)[0].holds


def test_every_declared_failure_code_of_the_article_is_reached() -> None:
    assert examples.declared_codes(date_range()) == ("400",)
    assert examples.unreached_codes(date_range()) == ()


def test_a_code_that_no_example_reaches_is_named() -> None:
    one_sided = read(document())[0]
    one_sided = replace(one_sided, examples=one_sided.examples[:1])
    tool = Contract(one_sided, lambda **_: {"text": "ok"}, pre=date_range().pre)
    assert examples.unreached_codes(tool) == ("400",)


def test_codes_are_found_wherever_they_are_declared() -> None:
    described = replace(
        ANYTHING,
        failures=(Failure("A", "a"), Failure("B", "b")),
        error_schema={"properties": {"code": {"enum": ["B", "C"]}}},
        examples=(Example({"which": "A"}),),
    )

    def fail(which: str) -> Any:
        raise ToolFailure(which, "x", expected="x", solution="x")

    tool = Contract(described, fail)
    assert examples.declared_codes(tool) == ("A", "B", "C")


def test_codes_of_the_contract_that_the_error_schema_does_not_provide_for_are_named() -> None:
    assert examples.uncovered_codes(date_range()) == ()
    closed = replace(
        ANYTHING, error_schema={"properties": {"code": {"enum": ["TOOL_FAILED", "INVALID_RESULT"]}}}
    )
    tool = Contract(closed, dict, codes={"arguments": "TOOL_FAILED"})
    assert examples.uncovered_codes(tool) == (
        "PRECONDITION_BROKEN", "DEADLINE_EXCEEDED", "POSTCONDITION_BROKEN", "UNDECLARED_FAILURE",
        "INVALID_DESCRIPTION",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("drifted", "pointer"),
    [
        (lambda Start, End: {"text": "ok"}, "/data/text"),
        (lambda Start, End: {"text": WORDS["es"]["success"], "more": 1}, "/data/more"),
        (lambda Start, End: {}, "/data/text"),
        (lambda Start, End: None, ""),
    ],
)  # fmt: skip
def test_a_tool_that_drifts_from_its_description_is_caught(drifted: Callable[..., Any], pointer: str) -> None:
    result = examples.run(Contract(document(), drifted, pre=date_range().pre), PARAPHRASED)[0]
    assert not result.holds
    assert result.pointer == pointer


def test_a_tool_that_lets_every_range_pass_is_caught_by_the_second_example() -> None:
    tool = Contract(document(), lambda **_: {"text": WORDS["es"]["success"]})
    assert [result.holds for result in examples.run(tool, PARAPHRASED)] == [True, False]


# matching


@pytest.mark.parametrize(
    ("output", "result", "holds"),
    [
        ({"a": "be..."}, {"a": "begins"}, True),
        ({"a": "be…"}, {"a": "be"}, True),
        ({"a": "be…"}, {"a": "to be"}, False),
        ({"a": "a…b…"}, {"a": "a, then b, then c"}, True),
        ({"a": "a…b…"}, {"a": "a, then c"}, False),
        ({"a": "a…b"}, {"a": "a, then b"}, False),  # an ellipsis inside alone is a character
        ({"a": "…"}, {"a": ""}, True),
        ({"a": "…"}, {"a": 1}, False),
        ({"a": 1}, {"a": 1.0}, True),
        ({"a": 1}, {"a": True}, False),
        ({"a": 0}, {"a": False}, False),
        ({"a": None}, {"a": None}, True),
        ({"a": None}, {}, False),
        ({}, {"a": None}, False),
        ({"a": [1, 2]}, {"a": [1, 2]}, True),
        ({"a": [1, 2]}, {"a": [1]}, False),
        ({"a": [1]}, {"a": [1, 2]}, False),
        ({"a": {"b/c": 1}}, {"a": {"b/c": 2}}, False),
        (4, 4, True),
        (4, 5, False),
    ],
)
def test_what_matches_and_what_does_not(output: Any, result: Any, holds: bool) -> None:
    assert shown(output, result).holds is holds


def test_an_ellipsis_can_be_taken_to_the_letter() -> None:
    assert not shown({"a": "be…"}, {"a": "begins"}, Match(ellipsis=False)).holds


def test_the_first_difference_is_named_with_its_pointer() -> None:
    result = shown({"a": 1, "b/c": [1, {"d": 2}]}, {"a": 1, "b/c": [1, {"d": 3}]})
    assert (result.pointer, result.difference) == ("/b~1c/1/d", "different")
    assert result.says("en") == "example 0: at /b~1c/1/d, 2 expected, 3 observed"
    assert "se esperaba 2" in result.says("es")


def test_volatile_values_may_differ_and_keep_their_type() -> None:
    output = {"items": [{"id": "a", "n": 1}]}
    match = Match(volatile=("/items/*/id",))
    assert shown(output, {"items": [{"id": "zzz", "n": 1}]}, match).loosened == (("/items/0/id", "volatile"),)
    assert not shown(output, {"items": [{"id": 5, "n": 1}]}, match).holds
    assert not shown(output, {"items": [{"n": 1}]}, match).holds
    assert not shown(output, {"items": [{"id": "zzz", "n": 2}]}, match).holds


def test_prose_may_be_any_words_and_not_none() -> None:
    assert shown({"a": "x"}, {"a": "y"}, Match(prose=("/a",))).holds
    assert not shown({"a": "x"}, {"a": " "}, Match(prose=("/a",))).holds
    assert not shown({"a": "x"}, {"a": 5}, Match(prose=("/a",))).holds


def test_an_example_in_prose_is_marked_as_not_compared() -> None:
    prose = Example({}, "It works", vocabulary="goal/input_values/expected_result")
    for tool, holds in ((lambda: {"a": 1}, True), (lambda: 1 / 0, False)):
        result = examples.run(Contract(replace(ANYTHING, examples=(prose,)), tool))[0]
        assert (result.holds, result.compared) == (holds, False)
    assert "prosa" in examples.run(Contract(replace(ANYTHING, examples=(prose,)), lambda: {}))[0].says("es")


def test_an_example_without_a_time_runs_at_the_contract_s_clock() -> None:
    now = datetime(2026, 1, 5, tzinfo=UTC)
    assert shown({}, {}, clock=lambda: now).at == now
    odd = {"status": "success", "data": {}, "meta": {"timestamp": "yesterday"}}
    assert shown(odd, {}, clock=lambda: now).at == now


def test_a_tool_with_a_wrong_description_fails_every_example() -> None:
    described = replace(ANYTHING, input_schema=False, examples=(Example({}, {}),))
    result = examples.run(Contract(described, lambda: {}))[0]
    assert (result.holds, result.difference) == (False, "blame")
    assert "description" in result.says("en")
    assert "la descripción" in result.says("es")


def test_async_tools_have_examples_too() -> None:
    async def tool() -> dict[str, int]:
        return {"a": 1}

    described = replace(ANYTHING, examples=(Example({}, {"a": 1}), Example({}, {"a": 2})))
    results = asyncio.run(examples.arun(Contract(described, tool)))
    assert [result.holds for result in results] == [True, False]


# generated calls


def test_generated_calls_find_no_fault_in_a_right_tool() -> None:
    found = examples.trials(date_range().at(datetime(2025, 7, 11, tzinfo=UTC)), 60)
    assert [trial for trial in found if trial.fault] == []
    assert {trial.acceptable for trial in found} == {True, False}
    assert {trial.outcome.succeeded for trial in found} == {True, False}


def test_generated_calls_find_a_tool_that_fails_for_some_inputs() -> None:
    described = replace(
        ANYTHING, input_schema={"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    )
    found = examples.trials(Contract(described, lambda n, **_: {"inverse": 1 // n}), 100)
    faulty = [trial for trial in found if trial.fault]
    assert faulty
    assert all(trial.arguments["n"] == 0 and trial.fault == "tool" for trial in faulty)


def test_generated_calls_find_a_tool_that_takes_fewer_names_than_its_open_schema() -> None:
    found = examples.trials(Contract(document(), lambda Start, End: {"text": "ok"}), 60)
    assert {tuple(set(trial.arguments) - {"Start", "End"}) != () for trial in found if trial.fault} == {True}


def test_the_same_seed_makes_the_same_calls() -> None:
    def drawn(seed: int) -> list[Any]:
        return [trial.arguments for trial in examples.trials(date_range(), 40, seed)]

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)


def test_generated_calls_run_async_tools_too() -> None:
    async def tool(**_: Any) -> dict[str, int]:
        return {}

    assert all(trial.fault is None for trial in asyncio.run(examples.atrials(Contract(ANYTHING, tool), 10)))


def test_a_count_below_one_is_refused() -> None:
    with pytest.raises(UsageError, match="accepted"):
        examples.trials(date_range(), 0)


# with Hypothesis, from the schema

NODE = {
    "type": "object",
    "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/node"}, "maxItems": 2}},
    "required": ["kids"],
}
PAIR = [{"type": "number", "exclusiveMinimum": 0}, {"type": "boolean"}]
DRAFT_07 = "http://json-schema.org/draft-07/schema#"
SCHEMAS: list[dict[str, Any]] = [
    {
        "type": "object",
        "properties": {
            "q": {"type": "string", "minLength": 2, "maxLength": 5},
            "n": {"type": "integer", "minimum": 1, "maximum": 9},
        },
        "required": ["q"],
        "additionalProperties": False,
    },
    {
        "type": "object",
        "properties": {
            "mode": {"enum": ["a", "b", 3]},
            "to": {"anyOf": [{"type": "string", "format": "date-time"}, {"type": "null"}]},
        },
        "required": ["mode", "to"],
    },
    {
        "type": "object",
        "$defs": {"node": NODE},
        "properties": {"a": {"$ref": "#/$defs/node"}},
        "required": ["a"],
    },
    {
        "$schema": DRAFT_07,
        "type": "object",
        "properties": {"p": {"type": "array", "items": PAIR, "minItems": 2}},
        "required": ["p"],
    },
    {
        "type": "object",
        "properties": {"c": {"type": "string", "pattern": "^[A-Z]{3}-[0-9]+$"}},
        "required": ["c"],
    },
    {
        "type": "object",
        "allOf": [{"required": ["a"]}, {"properties": {"a": {"const": "x"}}}],
        "minProperties": 2,
    },
]
ACCEPTED = st.tuples(st.sampled_from(SCHEMAS), st.randoms(use_true_random=False))


@settings(max_examples=60)
@given(ACCEPTED, st.booleans())
def test_generated_arguments_always_end_in_a_valid_envelope(drawn: Any, honest: bool) -> None:
    schema, chance = drawn
    described = replace(ANYTHING, input_schema=schema)
    tool = Contract(described, (lambda **a: a) if honest else (lambda **a: a[chance.choice("abc")]))
    for arguments in [*samples(schema, chance, 2), *strays(schema, chance, 2)]:
        before = copy.deepcopy(arguments)
        outcome = tool.outcome(arguments)
        assert problems_of(outcome.envelope) == []
        json.dumps(outcome.envelope, allow_nan=False)
        assert arguments == before
        assert (outcome.blame == "caller") == bool(problems(arguments, schema))


@pytest.mark.parametrize("schema", [*SCHEMAS, {}, True, {"type": ["string", "null"]}, {"multipleOf": 0.5}])
def test_samples_fit_and_strays_do_not(schema: Any) -> None:
    fitting = list(samples(schema, random.Random("s"), 20))
    assert len(fitting) >= 10
    assert not any(problems(value, schema) for value in fitting)
    others = list(strays(schema, random.Random("s"), 20))
    assert all(problems(value, schema) for value in others)
    assert bool(others) == (schema not in ({}, True))


@pytest.mark.parametrize(
    "schema",
    [
        False,
        {"enum": []},
        {"not": {}},
        {"not": True},
        {"type": "string", "enum": [1, 2]},
        {"const": 1, "minimum": 2},
        {"type": "integer", "minimum": 2, "exclusiveMaximum": 2},
        {"type": "string", "minLength": 2, "maxLength": 1},
        {"type": "object", "required": ["a"], "additionalProperties": False},
        {"type": "object", "required": ["a", "b"], "maxProperties": 1},
        {"type": "object", "required": ["a"], "properties": {"a": False}},
        {"type": "array", "minItems": 1, "items": {"type": "array", "minItems": 1, "items": False}},
        {"type": "string", "allOf": [{"type": ["integer", "null"]}]},
        {"anyOf": [False, {"type": "string", "const": 1}]},
        {"$defs": {"never": False}, "$ref": "#/$defs/never"},
    ],
)
def test_a_schema_that_accepts_nothing_is_recognised(schema: Any) -> None:
    assert check_schema(schema) == [] or schema == {"enum": []}
    assert contradiction(schema)
    assert list(samples(schema, random.Random("s"), 3)) == []


@pytest.mark.parametrize(
    "schema",
    [
        {"minLength": 2, "maxLength": 1},  # a number fits
        {"required": ["a"], "additionalProperties": False},  # a text fits
        {"type": "array", "items": False},  # the empty list
        {"$schema": DRAFT_07, "$ref": "#/definitions/a", "enum": [], "definitions": {"a": {}}},
        {"type": "integer", "minimum": 2, "maximum": 2},
        {"type": "object", "properties": {"a": {"$ref": "#"}}},
        {"type": "object", "required": ["a"], "additionalProperties": False, "patternProperties": {"a": {}}},
    ],
)  # fmt: skip
def test_a_schema_that_accepts_something_is_not_accused(schema: Any) -> None:
    assert contradiction(schema) is None


SMALL = st.recursive(
    st.sampled_from([True, False, {}, {"type": "string"}, {"type": "integer"}, {"const": 1}]),
    lambda each: st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(["object", "array", "string", "number", ["integer", "null"]]),
            "properties": st.dictionaries(st.sampled_from("ab"), each, max_size=2),
            "required": st.lists(st.sampled_from("ab"), unique=True, max_size=2),
            "additionalProperties": each, "items": each,
            "minItems": st.integers(0, 2), "maxItems": st.integers(0, 2),
            "anyOf": st.lists(each, min_size=1, max_size=2), "allOf": st.lists(each, min_size=1, max_size=2),
            "minimum": st.integers(0, 3), "exclusiveMaximum": st.integers(0, 3),
            "maxLength": st.integers(0, 2),
            "minProperties": st.integers(0, 2), "maxProperties": st.integers(0, 2),
        },
    ),
    max_leaves=6,
)  # fmt: skip
VALUES: list[Any] = [
    None,
    True,
    0,
    1,
    2,
    1.5,
    "",
    "a",
    "abc",
    [],
    [1],
    ["a", None],
    {},
    {"a": 1},
    {"a": "a", "b": {}},
]


@settings(max_examples=150)
@given(SMALL, st.randoms(use_true_random=False))
def test_what_is_said_to_accept_nothing_accepts_nothing(schema: Any, chance: random.Random) -> None:
    if contradiction(schema):
        assert all(problems(value, schema) for value in VALUES)
    for value in samples(schema, chance, 3):
        assert problems(value, schema) == []
        assert contradiction(schema) is None
