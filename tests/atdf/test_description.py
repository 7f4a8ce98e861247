"""One model of a tool: what each form says is found in it, and what none says is absent, never guessed."""

from __future__ import annotations

import contextlib
import copy
import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_evolution.atdf.convert import convert
from ai_evolution.atdf.description import (
    ABSENT,
    TYPES,
    VOCABULARIES,
    Example,
    Failure,
    ToolDescription,
    read,
)
from ai_evolution.atdf.documents import load, load_file
from ai_evolution.atdf.schemas import check_schema
from ai_evolution.atdf.shapes import FORMS
from ai_evolution.errors import DocumentError, UsageError

FOLDER = Path(__file__).parent / "forms"
GOLDEN = sorted(path for path in FOLDER.iterdir() if not path.name.startswith("envelope"))


def golden(start: str) -> list[ToolDescription]:
    (path,) = (path for path in GOLDEN if f"{path.name}.".startswith(f"{start}."))
    return read(load_file(path))


def test_the_article_is_read_whole() -> None:
    (tool,) = golden("atdf-tool")
    assert tool.name == "validar_rango_de_fechas"
    assert tool.description == "Valida que Start y End sean posteriores a ahora, y que Start < End."
    assert tool.input_schema["required"] == ["Start", "End"]
    assert tool.success_schema["properties"]["status"] == {"const": "success"}
    assert list(tool.error_schema["properties"]["data"]["properties"]) == [
        "code", "text", "details", "expected", "solution",
    ]  # fmt: skip
    first, second = tool.examples
    assert first.input == {"Start": "2025-07-12T10:00:00Z", "End": "2025-07-12T12:00:00Z"}
    assert first.output["meta"]["timestamp"] == "2025-07-11T14:25:00Z"
    assert second.output["data"]["details"] == {"field": "start:…, end:…"}
    assert {example.vocabulary for example in tool.examples} == {"input/output"}
    assert tool.when_to_use is None
    assert (tool.extra, tool.derived, tool.form) == ({}, frozenset(), "atdf-tool")


def test_the_fetch_of_the_article_says_nothing_of_what_is_required() -> None:
    (tool,) = golden("atdf-1")
    assert tool.input_schema == {
        "type": "object",
        "properties": {
            "url": {"type": "string", "description": "The URL of the page to retrieve"},
            "raw": {"type": "boolean", "description": "If true, returns raw HTML (default: false)"},
        },
    }
    assert tool.derived == {"/input_schema/required"}
    assert tool.success_schema is ABSENT
    assert tool.success_text == "Web content retrieved successfully"
    assert tool.failures == (
        Failure("invalid_url", "The provided URL is invalid or inaccessible"),
        Failure("fetch_error", "Error retrieving content"),
    )


def test_the_enhanced_form_is_read_whole() -> None:
    (tool,) = golden("atdf-2")
    assert tool.input_schema["required"] == ["room", "from", "people"]
    assert tool.input_schema["properties"]["people"] == {
        "type": "integer", "description": "How many people come.", "minimum": 1, "maximum": 120,
    }  # fmt: skip
    assert tool.when_not_to_use == "The group only asks which rooms are free."
    assert (tool.version, tool.tags) == ("1.2.0", ("rooms", "calendar"))
    assert tool.localization["es"]["description"].startswith("Reserva una sala")
    assert tool.prerequisites["tools"] == ["list_rooms"]
    assert tool.feedback["completion_signals"] == ["reservation number given"]
    assert tool.metadata["author"] == "Casa de la Cultura"
    assert tool.examples == (
        Example(
            {"room": "A1", "from": "2025-07-18T19:00:00-05:00", "people": 24},
            "Reservation 2025-118",
            "The choir rehearses on Friday",
            "goal/input_values/expected_result",
        ),
    )
    assert tool.extra == {"schema_version": "2.0.0"}
    assert tool.derived == frozenset()


def test_a_catalogue_gives_several_tools_in_its_order() -> None:
    assert [tool.name for tool in golden("atdf-tools")] == ["list_rooms", "cancel_reservation"]
    assert golden("atdf-tools")[0].examples[0].vocabulary == "name/input"
    dice, coin = golden("mcp.listing")
    assert (dice.name, dice.form, dice.extra) == ("roll_dice", "mcp", {"annotations": {"readOnlyHint": True}})
    assert (coin.description, coin.input_schema) == ("", {"type": "object"})


def test_the_parameters_of_the_sdk_become_a_schema_and_foreign_words_are_marked() -> None:
    (tool,) = golden("atdf-sdk")
    assert tool.input_schema == {
        "type": "object",
        "properties": {
            "from": {"type": "string", "description": "Currency that is given.", "pattern": "^[A-Z]{3}$"},
            "to": {
                "type": "string",
                "description": "Currency that is wanted.",
                "enum": ["COP", "EUR", "USD"],
            },
            "amount": {
                "type": "number",
                "description": "How much of it.",
                "default": 1,
                "minimum": 0,
                "maximum": 1000000,
            },
            "rounding": {"type": "object", "properties": {"digits": {"type": "integer"}}},
        },
        "required": ["from", "to"],
    }
    assert tool.derived == {"/input_schema/properties/to/type"}  # it was written "str"
    assert tool.extra == {"id": "exchange_rate", "category": "money"}


def test_the_successor_is_read_when_it_describes_a_tool() -> None:
    (tool,) = golden("ardf-1")
    assert (tool.name, tool.version, tool.tags) == ("water_level", "2.1.0", ("river",))
    assert tool.input_schema["required"] == ["station"]
    assert tool.input_schema["properties"]["at"]["format"] == "date-time"
    assert tool.failures == (Failure("NO_READING", "The station sent nothing at that time."),)
    assert tool.examples == (
        Example({"station": "R-12"}, {"metres": 2.4}, None, "input/output", {"name": "Level now"}),
    )
    prompt = {"resource_id": "p", "resource_type": "prompt", "description": "d"}
    with pytest.raises(DocumentError, match="at /resource_type: a tool is expected, not a prompt"):
        read(prompt)


def test_a_tool_of_mcp_keeps_what_the_model_has_no_place_for() -> None:
    (tool,) = golden("mcp.find_route")
    assert (tool.title, tool.success_schema["required"]) == ("Find a route", ["km"])
    assert list(tool.extra) == ["annotations", "icons", "_meta"]
    assert tool.error_schema is ABSENT
    only_hint = {"name": "a", "inputSchema": {"type": "object"}, "annotations": {"title": "A"}}
    assert read(only_hint)[0].title == "A"


@pytest.mark.parametrize(
    ("example", "expected"),
    [
        ({"goal": "g", "input_values": {"a": 1}, "expected_result": "r"}, ("g", {"a": 1}, "r")),
        ({"title": "g", "inputs": {"a": 1}, "expected_output": [2]}, ("g", {"a": 1}, [2])),
        ({"name": "g", "input": {"a": 1}}, ("g", {"a": 1}, None)),
        ({"input": {"a": 1}, "output": {"b": 2}}, (None, {"a": 1}, {"b": 2})),
    ],
)
def test_examples_are_read_in_each_of_the_words_in_use(example: Any, expected: Any) -> None:
    value = {
        "tool_id": "t",
        "description": "d",
        "when_to_use": "w",
        "how_to_use": {"inputs": [], "outputs": {"success": "s", "failure": []}},
        "examples": [example],
    }
    (found,) = read(value)[0].examples  # though 2.x itself knows the first words alone
    assert (found.goal, found.input, found.output) == expected
    assert list(VOCABULARIES).index(found.vocabulary) >= 0
    assert found.extra == {}


def test_examples_in_two_vocabularies_at_once_lose_nothing() -> None:
    both = {"goal": "g", "input_values": {"a": 1}, "expected_result": "r", "title": "t", "inputs": {"a": 2}}
    value = {"name": "t", "inputSchema": {"type": "object"}, "examples": [both]}
    (found,) = read(value)[0].examples
    assert found.input == {"a": 1}
    assert found.extra == {"title": "t", "inputs": {"a": 2}}


def test_examples_that_show_no_input_stay_where_they_were() -> None:
    value = {
        "name": "t",
        "inputSchema": {"type": "object"},
        "examples": [{"input": {}}, {"narrative": "a story"}],
    }
    tool = read(value)[0]
    assert tool.examples == ()
    assert tool.extra == {"examples": value["examples"]}


@pytest.mark.parametrize(
    "word", ["string", "int", "float", "bool", "list", "dict", "file", "datetime", "unknown"]
)
def test_a_type_word_becomes_a_json_schema_or_is_kept_beside_it(word: str) -> None:
    value = {"name": "t", "description": "d", "parameters": [{"name": "a", "type": word}]}
    (tool,) = read(value)
    (schema,) = tool.input_schema["properties"].values()
    assert schema == ({"type": TYPES[word]} if word in TYPES else {"x-atdf-type": word})
    assert check_schema(tool.input_schema) == []
    assert bool(tool.derived) == (TYPES.get(word) != word)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "tool:\n  description: d\n  input: {}",
            "line 2, column 3: at /tool/name: name must be there, and be a text",
        ),
        (
            "tool:\n  name: [a]\n  input: {}",
            "line 2, column 9: at /tool/name: name must",
        ),
        ("how_to_use: []", "tool.yaml: line 1, column 13: at /how_to_use: an object is expected"),
        (
            "name: a\ndescription: d\nparameters: [1]",
            "line 3, column 14: at /parameters/0: an object is expected",
        ),
        (
            "name: a\ndescription: d\nparameters:\n- {name: b, type: string}\n- {name: b, type: string}",
            "line 5, column 10: at /parameters/1/name: a second input is named 'b'",
        ),
        (
            "- name: a\n  inputSchema: {}\n- inputSchema: {}",
            "line 3, column 3: at /1/name: name must be there",
        ),
    ],
)
def test_what_makes_no_tool_is_one_line_with_its_place(text: str, said: str) -> None:
    with pytest.raises(DocumentError) as caught:
        read(load(text.encode(), "tool.yaml"))
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_is_of_no_form_is_refused() -> None:
    with pytest.raises(UsageError, match="the form can't be told: it has none of resource_id"):
        read({"a": 1})
    with pytest.raises(UsageError, match="form 'x' is not known; accepted: atdf-1"):
        read({}, "x")


def test_a_wrong_schema_is_read_as_it_stands_for_others_to_judge() -> None:
    value = {
        "tool": {"name": "t", "description": "d", "input": {"type": "strin"}, "output": 7, "metadata": []}
    }
    (tool,) = read(value)
    assert tool.input_schema == {"type": "strin"}
    assert tool.success_schema is ABSENT
    assert tool.extra == {"output": 7, "metadata": []}


def test_absent_is_one_thing_that_is_false_and_survives_copies() -> None:
    assert not ABSENT
    assert repr(ABSENT) == "ABSENT"
    assert copy.deepcopy({"a": ABSENT})["a"] is ABSENT
    assert copy.copy(ABSENT) is ABSENT
    assert pickle.loads(pickle.dumps(ABSENT)) is ABSENT


RECORDED = sorted((Path(__file__).parents[2] / "sources" / "mcp_tools").glob("*.json"))


def test_a_tool_that_was_converted_has_the_same_schemas_in_every_form_that_carries_them() -> None:
    tools = [tool for path in RECORDED for tool in load_file(path).value["tools"]]
    assert len(tools) > 40
    for tool in [*tools, load_file(FOLDER / "mcp.find_route.json").value]:
        for form in ("atdf-2", "atdf-tool", "atdf-tools"):
            (found,) = read(convert(tool, form).document)
            assert json.dumps(found.input_schema) == json.dumps(tool["inputSchema"]), (tool["name"], form)
            if "outputSchema" in tool:
                assert json.dumps(found.success_schema) == json.dumps(tool["outputSchema"]), (
                    tool["name"],
                    form,
                )


@pytest.mark.parametrize("form", ["atdf-2", "atdf-tools", "mcp"])
def test_the_article_says_the_same_after_a_conversion(form: str) -> None:
    (before,) = golden("atdf-tool")
    document = convert(load_file(FOLDER / "atdf-tool.validar_rango_de_fechas.yaml").value, form).document
    (after,) = read(document)
    for field in ("input_schema", "success_schema", "error_schema"):
        assert json.dumps(getattr(after, field)) == json.dumps(getattr(before, field))
    assert [(each.input, each.output) for each in after.examples] == [
        (each.input, each.output) for each in before.examples
    ]


def test_what_a_tool_of_mcp_carries_in_its_meta_is_read() -> None:
    (room,) = golden("atdf-2")
    document = convert(load_file(FOLDER / "atdf-2.reserve_room.json").value, "mcp").document
    (found,) = read(document)
    assert found.form == "mcp"
    for field in (
        "when_to_use",
        "when_not_to_use",
        "version",
        "tags",
        "failures",
        "success_text",
        "localization",
    ):
        assert getattr(found, field) == getattr(room, field)
    assert found.examples[0].goal == "The choir rehearses on Friday"
    assert found.examples[0].output == "Reservation 2025-118"


KEYS = [
    "name", "description", "tool", "input", "output", "inputSchema", "how_to_use", "inputs", "outputs",
    "failure", "success", "type", "schema", "required", "parameters", "tool_id", "examples", "metadata",
    "tags", "content", "data", "resource_id", "resource_type", "annotations", "title",
]  # fmt: skip
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["a", "tool", "string"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=6),
    max_leaves=15,
)


@given(ANYTHING, st.sampled_from(sorted(FORMS)))
def test_whatever_is_read_gives_tools_or_one_line(value: Any, form: str) -> None:
    before = copy.deepcopy(value)
    with contextlib.suppress(DocumentError):
        assert all(isinstance(tool, ToolDescription) for tool in read(value, form))
    assert value == before
