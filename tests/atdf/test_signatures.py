"""Functions and pydantic models as tool descriptions and back: what is read, what is lost."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given, settings
from pydantic import BaseModel, Field, ValidationError
from strategies import tools

from ai_evolution.atdf.convert import convert
from ai_evolution.atdf.losses import missing, reported
from ai_evolution.atdf.shapes import validate
from ai_evolution.atdf.signatures import describe, from_model, read_docstring, stub, to_model
from ai_evolution.atdf.translation import META
from ai_evolution.errors import UsageError

FOLDER = Path(__file__).resolve().parents[2] / "sources" / "mcp_tools"
RECORDED = [
    tool for path in sorted(FOLDER.glob("*.json")) for tool in json.loads(path.read_text("utf-8"))["tools"]
]


def search(
    query: Annotated[str, Field(min_length=1)],
    limit: int | None = 5,
    order: Literal["asc", "desc"] = "asc",
    since: datetime | None = None,
) -> list[str]:
    """Searches the shelf.

    It looks at titles only.

    Args:
        query: What to look for,
            in words.
        limit (int): How many.

    Returns:
        The hits.

    Raises:
        KeyError: There is no shelf.

    When to use:
        To find a book.
    """
    raise NotImplementedError((query, limit, order, since))


def test_a_function_is_described_as_it_is_written() -> None:
    conversion = describe(search)
    assert conversion.losses == ()
    assert conversion.document == {
        "name": "search",
        "description": "Searches the shelf.\n\nIt looks at titles only.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "query": {"minLength": 1, "type": "string", "description": "What to look for, in words."},
                "limit": {
                    "anyOf": [{"type": "integer"}, {"type": "null"}],
                    "description": "How many.",
                    "default": 5,
                },
                "order": {"enum": ["asc", "desc"], "type": "string", "default": "asc"},
                "since": {
                    "anyOf": [{"format": "date-time", "type": "string"}, {"type": "null"}],
                    "default": None,
                },
            },
            "required": ["query"],
        },
        "outputSchema": {"items": {"type": "string"}, "type": "array", "description": "The hits."},
        "_meta": {
            META: {
                "when_to_use": "To find a book.",
                "success_text": "The hits.",
                "failures": [{"code": "KeyError", "description": "There is no shelf."}],
            }
        },
    }


@pytest.mark.parametrize("to", ["atdf-1", "atdf-2", "atdf-tool", "atdf-sdk", "ardf-1"])
def test_a_function_becomes_a_valid_description_in_every_form(to: str) -> None:
    document = describe(search, to).document
    assert validate(document, to) == []


def test_when_to_use_a_function_and_how_it_fails_reach_atdf() -> None:
    document = describe(search, "atdf-2").document
    assert document["when_to_use"] == "To find a book."
    assert document["how_to_use"]["outputs"] == {
        "success": "The hits.",
        "failure": [{"code": "KeyError", "description": "There is no shelf."}],
    }


def test_what_a_call_by_name_cannot_carry_is_reported_and_nothing_else() -> None:
    def odd(
        first: int, /, *rest: int, hook: Callable[[], None] = print, mark: object = ..., **more: str
    ) -> None:
        raise NotImplementedError((first, rest, hook, mark, more))

    conversion = describe(odd)
    assert {loss.pointer for loss in conversion.losses} == {
        "/parameters/first/kind",
        "/parameters/rest/kind",
        "/parameters/hook/annotation",
        "/parameters/hook/default",
        "/parameters/more/kind",
    }
    assert list(conversion.document["inputSchema"]["properties"]) == ["first", "hook", "mark"]
    assert conversion.document["outputSchema"] == {"type": "null"}
    assert "description" not in conversion.document  # there is no docstring, and none is made up


def test_a_method_and_a_callable_object_are_described_without_self() -> None:
    class Shelf:
        def __call__(self, title: str) -> bool:
            return bool(title)

        def find(self, title: str) -> bool:
            return bool(title)

    for callable_ in (Shelf(), Shelf().find, Shelf.find):
        assert list(describe(callable_).document["inputSchema"]["properties"]) == ["title"]
    with pytest.raises(UsageError, match="has no signature"):
        describe(int)


@pytest.mark.parametrize(
    "docstring",
    [
        "Adds.\n\nArgs:\n    a: One.\n    b (int): Two\n        and more.\n\nReturns:\n    Sum.\n",
        "Adds.\n\nParameters\n----------\na : int\n    One.\nb : int\n    Two\n    and more.\n\n"
        "Returns\n-------\nSum.",
        "Adds.\n\n:param a: One.\n:param int b: Two\n    and more.\n:returns: Sum.\n",
    ],
)
def test_three_styles_of_docstring_say_the_same(docstring: str) -> None:
    said = read_docstring(docstring)
    assert (said.text, said.parameters, said.returns) == (
        "Adds.",
        {"a": "One.", "b": "Two and more."},
        "Sum.",
    )


def test_prose_that_only_looks_like_a_section_stays_prose() -> None:
    assert (
        read_docstring("Returns the sum.\n\nNote: it is exact.").text
        == "Returns the sum.\n\nNote: it is exact."
    )
    assert read_docstring(None).text == ""


@pytest.mark.parametrize("tool", [pytest.param(tool, id=tool["name"]) for tool in RECORDED])
def test_the_stub_of_a_real_tool_is_python_and_says_what_it_does_not_carry(tool: dict[str, Any]) -> None:
    conversion = stub(tool)
    room: dict[str, Any] = {}
    exec(compile(conversion.document, tool["name"], "exec"), room)  # our own output, in a test
    function = next(value for key, value in room.items() if key not in ("Any", "Literal", "__builtins__"))
    again = describe(function).document
    gone = reported(conversion.losses)
    assert missing(tool, again) | gone == gone
    assert gone == missing(tool, again) | {at: gone[at] for at in gone if at == "/name"}


@settings(max_examples=300)
@given(tools)
def test_the_stub_of_any_tool_is_python_that_does_nothing(tool: dict[str, Any]) -> None:
    text = stub(tool, source="mcp").document
    room: dict[str, Any] = {}
    exec(compile(text, "stub", "exec"), room)
    assert len(room) == 4


def test_a_description_cannot_write_code_into_a_stub() -> None:
    evil = {
        "name": 'x"); import os #',
        "description": '"""\nimport os\nos.abort()\n"""\\',
        "inputSchema": {
            "type": "object",
            "properties": {"a=1); import os; (b": {}, "c": {"enum": ['"""', "\\"], "description": '"""\\'}},
        },
    }
    text = stub(evil, source="mcp").document
    room: dict[str, Any] = {}
    exec(compile(text, "stub", "exec"), room)
    assert "os" not in room
    function = next(value for key, value in room.items() if key.startswith("x"))
    assert inspect.cleandoc(function.__doc__).startswith('"""\nimport os')
    assert list(inspect.signature(function).parameters) == ["c"]


class Shelf(BaseModel):
    """A shelf of books."""

    name: str = Field(max_length=3, description="Its name.")
    rows: list[int] = []
    built: datetime
    above: Shelf | None = None


def test_a_model_is_a_tool_whose_arguments_are_its_fields() -> None:
    tool = from_model(Shelf).document
    assert tool["name"] == "Shelf"
    assert tool["description"] == "A shelf of books."
    assert tool["inputSchema"]["required"] == ["name", "built"]
    assert tool["inputSchema"]["properties"]["name"] == {
        "description": "Its name.",
        "maxLength": 3,
        "type": "string",
    }
    assert validate(tool, "mcp") == []


def test_a_schema_becomes_a_model_that_validates_and_says_what_it_does_not_check() -> None:
    schema = {
        "type": "object",
        "properties": {
            "url": {"type": "string", "minLength": 1, "description": "Where."},
            "class": {"type": "integer", "minimum": 1},
            "spot": {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]},
            "when": {"type": "string", "format": "date-time"},
            "odd": {"not": {"type": "string"}},
        },
        "required": ["url", "spot"],
        "additionalProperties": False,
    }
    conversion = to_model(schema)
    assert {loss.pointer: loss.value for loss in conversion.losses} == {
        "/properties/odd/not": {"type": "string"}
    }
    model = conversion.document
    assert model.model_validate({"url": "u", "spot": {"x": 1}, "class": 2}).spot.x == 1
    for bad in ({"url": "", "spot": {"x": 1}}, {"url": "u"}, {"url": "u", "spot": {"x": 1}, "more": 1}):
        with pytest.raises(ValidationError):
            model.model_validate(bad)
    with pytest.raises(UsageError):
        to_model({"properties": []})


@settings(max_examples=200)
@given(tools)
def test_what_a_model_does_not_say_of_any_schema_is_reported(tool: dict[str, Any]) -> None:
    schema = convert(tool, "openai", source="mcp").document["function"]["parameters"]
    conversion = to_model(schema)
    flat = missing(
        {"p": schema.get("required", [])}, {"p": conversion.document.model_json_schema().get("required", [])}
    )
    gone = reported(conversion.losses)
    assert {at.replace("/p", "/required") for at in flat} <= set(gone)
