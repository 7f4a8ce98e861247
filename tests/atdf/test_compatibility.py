"""A break that is claimed is a call or a result that shows it; a change that breaks nothing is never major."""

# ruff: noqa: E501

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from schema_changes import changed, inputs, narrower, schemas, wider

from ai_evolution.atdf.compatibility import LEVELS, diff, diff_catalogues
from ai_evolution.atdf.description import ABSENT, Failure, ToolDescription, read
from ai_evolution.atdf.schemas import problems
from ai_evolution.errors import UsageError

quick = settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))

SEARCH = ToolDescription(
    name="search",
    description="Find books.",
    input_schema={
        "type": "object",
        "properties": {"q": {"type": "string"}, "limit": {"type": "integer", "maximum": 50, "default": 10}},
        "required": ["q"],
    },
    success_schema={"type": "object", "properties": {"found": {"type": "integer"}}, "required": ["found"]},
    failures=(Failure("none", "Nothing found."),),
    form="mcp",
)


def with_input(**keywords: Any) -> ToolDescription:
    return replace(SEARCH, input_schema={**SEARCH.input_schema, **keywords})


def with_output(**keywords: Any) -> ToolDescription:
    return replace(SEARCH, success_schema={**SEARCH.success_schema, **keywords})


CHANGES = {
    "nothing": (SEARCH, "patch"),
    "other words": (replace(SEARCH, description="Find any book."), "patch"),
    "an optional parameter with a type": (
        with_input(properties={**SEARCH.input_schema["properties"], "lang": {"type": "string"}}),
        "major",  # the old schema is open: {"q": "", "lang": 3} was accepted
    ),
    "no longer required": (with_input(required=[]), "minor"),
    "one more required": (with_input(required=["q", "limit"]), "major"),
    "a closed object": (with_input(additionalProperties=False), "major"),
    "no input schema": (replace(SEARCH, input_schema=ABSENT), "minor"),
    "a promise more": (with_output(additionalProperties=False), "minor"),
    "a promise less": (with_output(required=[]), "major"),
    "no output schema": (replace(SEARCH, success_schema=ABSENT), "major"),
    "an error schema": (replace(SEARCH, error_schema={"type": "object"}), "minor"),
    "another name": (replace(SEARCH, name="find"), "major"),
    "a new failure code": (replace(SEARCH, failures=(*SEARCH.failures, Failure("busy", "Later."))), "major"),
    "no failure codes": (replace(SEARCH, failures=()), "major"),
    "other words for a code": (replace(SEARCH, failures=(Failure("none", "No book."),)), "patch"),
    "a permission needed": (replace(SEARCH, prerequisites={"permissions": ["read"]}), "major"),
    "not read-only any more": (replace(SEARCH, extra={"annotations": {"readOnlyHint": True}}), "minor"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_has_the_level_of_its_direction(name: str) -> None:
    new, level = CHANGES[name]
    change = diff(SEARCH, new)
    assert change.level == level
    assert change.decided
    assert (change.breaking_example is not None) == (level == "major")


def test_the_same_schema_change_is_read_in_opposite_directions_for_inputs_and_outputs() -> None:
    tight, loose = {"type": "integer", "maximum": 5}, {"type": "integer", "maximum": 9}
    for field, wide, narrow in (("input_schema", "minor", "major"), ("success_schema", "major", "minor")):
        one, other = (replace(SEARCH, **{field: schema}) for schema in (tight, loose))
        assert diff(one, other).level == wide
        assert diff(other, one).level == narrow


def test_the_breaking_call_was_accepted_and_is_refused() -> None:
    new = with_input(properties={"q": {"type": "string"}, "limit": {"type": "integer", "maximum": 20}})
    change = diff(SEARCH, new)
    example = change.breaking_example
    assert example is not None
    assert (example.kind, example.value) == ("call", {"q": "", "limit": 50})
    assert example.problem == "50 is too large; accepted: 20 or less"
    assert change.reasons[0].pointer == "/input_schema/properties/limit/maximum"
    assert problems(example.value, SEARCH.input_schema) == []
    assert problems(example.value, new.input_schema) != []


def test_a_withdrawn_hint_is_major_and_a_given_one_is_minor() -> None:
    plain, safe = (
        SEARCH,
        replace(SEARCH, extra={"annotations": {"readOnlyHint": True, "idempotentHint": True}}),
    )
    assert diff(plain, safe).level == "minor"
    assert diff(safe, plain).level == "major"
    assert diff(plain, replace(SEARCH, extra={"annotations": {"readOnlyHint": False}})).level == "patch"


@pytest.mark.parametrize(
    ("new", "says"),
    [
        (with_input(properties={"q": {"type": "string"}, "limit": {"type": "integer", "maximum": 50, "default": 5}}),
         "/input_schema/properties/limit/default: it was 10 and is 5"),
        (replace(SEARCH, prerequisites={"conditions": ["the shop is open"]}), "/prerequisites/conditions"),
        (replace(SEARCH, extra={"execution": {"taskSupport": "required"}}), "/extra/execution"),
    ],
    ids=["default", "condition", "extra"],
)  # fmt: skip
def test_what_no_schema_can_tell_is_undecided_and_not_counted(new: ToolDescription, says: str) -> None:
    change = diff(SEARCH, new)
    assert (change.level, change.decided) == ("patch", False)
    assert change.undecided[0].startswith(says)


def test_a_form_that_does_not_say_what_is_required_is_not_blamed_for_it() -> None:
    inputs_ = [{"name": "url", "type": "string"}]
    outputs = {"success": "ok", "failure": []}
    basic = {
        "tool_id": "t",
        "description": "d",
        "when_to_use": "w",
        "how_to_use": {"inputs": inputs_, "outputs": outputs},
    }
    enhanced = {**basic, "how_to_use": {"inputs": [{**inputs_[0], "required": True}], "outputs": outputs}}
    change = diff(read(basic)[0], read(enhanced)[0])
    assert change.level != "major"
    assert "does not say what is required" in change.undecided[0]


def test_tools_of_a_catalogue_are_matched_by_name() -> None:
    other = replace(SEARCH, name="order")
    changes = diff_catalogues([SEARCH, other], [replace(other, description="x"), replace(SEARCH, name="pay")])
    assert [(one.name, one.level) for one in changes] == [
        ("search", "major"),
        ("order", "patch"),
        ("pay", "minor"),
    ]
    with pytest.raises(UsageError, match="two tools are called 'search'"):
        diff_catalogues([SEARCH, SEARCH], [SEARCH])


@quick
@given(st.data(), inputs())
def test_a_widened_input_is_never_major(data: Any, schema: Any) -> None:
    new = changed(data.draw, schema, wider)
    change = diff(replace(SEARCH, input_schema=schema), replace(SEARCH, input_schema=new))
    assert change.level in ("patch", "minor")
    assert change.decided


@quick
@given(st.data(), inputs())
def test_a_narrowed_input_is_major_with_a_call_that_shows_it(data: Any, schema: Any) -> None:
    new = changed(data.draw, schema, narrower)
    assume(new != schema)
    change = diff(replace(SEARCH, input_schema=schema), replace(SEARCH, input_schema=new))
    assert change.level == "major"
    assert change.breaking_example is not None
    assert problems(change.breaking_example.value, schema) == []
    assert problems(change.breaking_example.value, new) != []


@quick
@given(st.data(), inputs())
def test_a_widened_output_is_major_and_a_narrowed_one_is_not(data: Any, schema: Any) -> None:
    new = changed(data.draw, schema, narrower)
    assume(new != schema)
    old, tight = replace(SEARCH, success_schema=schema), replace(SEARCH, success_schema=new)
    assert diff(tight, old).level == "major"
    assert diff(old, tight).level != "major" or any(
        problems(reason.example.value, schema) and not problems(reason.example.value, new)
        for reason in diff(old, tight).reasons
        if reason.example
    )


@quick
@given(schemas(), schemas())
def test_whatever_the_schemas_are_every_claim_is_real(one: Any, other: Any) -> None:
    change = diff(replace(SEARCH, input_schema=one), replace(SEARCH, input_schema=other))
    assert change.level in LEVELS
    for reason in change.reasons:
        assert reason.example is not None
        before, after = (one, other) if reason.level == "major" else (other, one)
        assert problems(reason.example.value, before) == []
        assert problems(reason.example.value, after) != []
