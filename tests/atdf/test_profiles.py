"""What a provider refuses is taken out by name, reported, and put back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from strategies import arguments

from ai_evolution.atdf.losses import missing
from ai_evolution.atdf.profiles import COMBINATORS, PROFILES, STRICT_REFUSED, apply, restore, schemas_in
from ai_evolution.atdf.schemas import problems
from ai_evolution.atdf.translation import text_of
from ai_evolution.errors import DocumentError, UsageError

RANGE: dict[str, Any] = {
    "type": "object",
    "oneOf": [{"required": ["start"]}, {"required": ["end"]}],
    "properties": {
        "start": {"type": "string", "default": "now"},
        "end": {"oneOf": [{"const": 1}, {"type": "string"}]},
    },
}


@pytest.mark.parametrize("profile", PROFILES)
@settings(max_examples=300)
@given(arguments)
def test_restoring_gives_the_very_text_that_was_downgraded(profile: str, schema: dict[str, Any]) -> None:
    before = text_of(schema)
    downgraded = apply(schema, profile)
    assert text_of(schema) == before  # the original is left alone
    assert text_of(restore(downgraded)) == before
    assert text_of(restore(downgraded, json.loads(text_of(downgraded.document)))) == before


@pytest.mark.parametrize("profile", PROFILES)
@settings(max_examples=150)
@given(arguments)
def test_the_result_has_nothing_left_that_the_provider_refuses(profile: str, schema: dict[str, Any]) -> None:
    document = apply(schema, profile).document
    assert not set(COMBINATORS) & set(document)
    assert document["type"] == "object"
    if profile == "openai-strict":
        for _, part in schemas_in(document):
            assert not {*STRICT_REFUSED, "oneOf", "const", "default"} & set(part)
            if "properties" in part:
                assert part["required"] == list(part["properties"])
                assert part["additionalProperties"] is False


@pytest.mark.parametrize("profile", PROFILES)
@settings(max_examples=300)
@given(arguments)
def test_whatever_is_missing_lies_below_a_place_that_was_reported(
    profile: str, schema: dict[str, Any]
) -> None:
    downgraded = apply(schema, profile)
    told = {loss.pointer for loss in downgraded.losses} | set(downgraded.derived)
    told |= {pointer.replace("/anyOf", "/oneOf") for pointer in told}  # a step may have renamed what is above
    for pointer in missing(schema, downgraded.document):
        parts = pointer.split("/")
        assert any("/".join(parts[:end]) in told for end in range(1, len(parts) + 1)), pointer


def test_each_thing_taken_out_is_reported_with_its_value_and_its_direction() -> None:
    losses = {
        loss.pointer: (loss.value, loss.why.partition(":")[0]) for loss in apply(RANGE, "openai").losses
    }
    assert losses == {"/oneOf": (RANGE["oneOf"], "wider")}
    strict = {loss.pointer: loss.why.partition(":")[0] for loss in apply(RANGE, "openai-strict").losses}
    assert strict == {
        "/oneOf": "wider",
        "/properties/start/default": "same",
        "/properties/end/oneOf/0/const": "same",
        "/properties/end/oneOf": "wider",
    }


def test_an_optional_parameter_may_be_null_in_strict_mode() -> None:
    document = apply(RANGE, "openai-strict").document
    assert document["properties"]["start"]["type"] == ["string", "null"]
    assert problems({"start": None, "end": "x"}, document) == []
    assert problems({"start": "x"}, document) != []


def test_a_wider_schema_accepts_what_the_whole_one_refuses() -> None:
    both = {"start": "a", "end": "b"}
    assert problems(both, RANGE) != []
    assert problems(both, apply(RANGE, "anthropic").document) == []


def test_an_edit_outside_the_touched_places_survives_the_restoration() -> None:
    downgraded = apply(RANGE, "anthropic")
    edited = downgraded.document | {"title": "Range"}
    assert restore(downgraded, edited) == RANGE | {"title": "Range"}


def test_a_touched_place_that_is_gone_is_named() -> None:
    downgraded = apply(RANGE, "openai-strict")
    broken = downgraded.document | {"properties": {}}
    with pytest.raises(DocumentError, match="/properties/"):
        restore(downgraded, broken)


def test_an_unknown_profile_and_a_boolean_are_refused() -> None:
    with pytest.raises(UsageError, match="accepted: anthropic, openai, openai-strict"):
        apply(RANGE, "gemini")
    with pytest.raises(DocumentError):
        apply(True, "openai")
