"""From form to form: what comes out, what is made up, what is refused, and how several tools travel."""

from __future__ import annotations

from typing import Any

import pytest

from ai_evolution.atdf.convert import TARGETS, convert, count_losses, source_of, tools_losing
from ai_evolution.atdf.losses import Loss, by_keyword, keyword_of, leaves, missing, reported
from ai_evolution.atdf.shapes import validate
from ai_evolution.atdf.translation import META
from ai_evolution.errors import DocumentError, UsageError

TOOL: dict[str, Any] = {
    "name": "search",
    "description": "Searches the shelf.",
    "inputSchema": {
        "type": "object",
        "properties": {
            "query": {"type": "string", "minLength": 1, "description": "What to look for."},
            "limit": {"type": ["integer", "null"], "default": 5},
            "order": {"enum": ["asc", "desc"]},
        },
        "required": ["query"],
        "additionalProperties": False,
    },
    "outputSchema": {"type": "object", "properties": {"hits": {"type": "array"}}},
    "annotations": {"readOnlyHint": True},
}
BASIC: dict[str, Any] = {
    "tool_id": "drill",
    "description": "Drills a hole.",
    "when_to_use": "When a hole is missing.",
    "how_to_use": {
        "inputs": [{"name": "depth", "type": "float"}, {"name": "where", "type": "string"}],
        "outputs": {"success": "There is a hole.", "failure": [{"code": "E1", "description": "Too deep."}]},
    },
}
ARTICLE: dict[str, Any] = {
    "tool": {
        "name": "add",
        "description": "Adds.",
        "input": {"type": "object", "properties": {"a": {"type": "integer"}}},
        "output": {"success": {"type": "object"}, "error": {"type": "object", "required": ["data"]}},
        "examples": [{"input": {"a": 1}, "output": {"status": "success"}}],
    }
}


def lost(value: Any, to: str) -> dict[str, Any]:
    return {loss.pointer: loss.value for loss in convert(value, to).losses}


def test_a_keyword_of_a_parameter_stands_beside_its_type_in_atdf_2() -> None:
    document = convert(TOOL, "atdf-2").document
    assert document["how_to_use"]["inputs"][0] == {
        "name": "query",
        "type": "string",
        "description": "What to look for.",
        "required": True,
        "schema": {"minLength": 1},
    }
    assert document["how_to_use"]["inputs"][1]["type"] == "integer|null"
    assert document["x-mcp"]["inputSchema"] == {"additionalProperties": False}


def test_what_atdf_2_demands_and_the_tool_does_not_say_is_marked_as_made_up() -> None:
    conversion = convert(TOOL, "atdf-2")
    assert conversion.derived == ("/when_to_use", "/how_to_use/outputs/success")
    assert conversion.document["x-derived"] == list(conversion.derived)
    assert conversion.document["when_to_use"] == TOOL["description"]
    assert conversion.document["how_to_use"]["outputs"]["failure"] == []  # no error code is invented


def test_what_was_made_up_does_not_come_back_as_knowledge_and_what_was_written_since_does() -> None:
    document = convert(TOOL, "atdf-2").document
    assert META not in convert(document, "mcp").document.get("_meta", {})
    document["when_to_use"] = "To find a book."
    tool = convert(document, "mcp").document
    assert tool["_meta"][META] == {"when_to_use": "To find a book."}


def test_an_edit_of_the_list_of_inputs_reaches_the_schema() -> None:
    document = convert(TOOL, "atdf-2").document
    inputs = document["how_to_use"]["inputs"]
    inputs[0]["required"], inputs[2]["required"] = False, True
    inputs.append({"name": "shelf", "type": "boolean", "required": False})
    schema = convert(document, "mcp").document["inputSchema"]
    assert schema["required"] == ["order"]
    assert schema["properties"]["shelf"] == {"type": "boolean"}
    assert list(schema)[-1] == "additionalProperties"


def test_the_flat_form_loses_exactly_these_pieces_of_a_tool() -> None:
    assert lost(TOOL, "atdf-1") == {
        "/inputSchema/properties/query/minLength": 1,
        "/inputSchema/properties/limit/default": 5,
        "/inputSchema/properties/order/enum": ["asc", "desc"],
        "/inputSchema/required": ["query"],
        "/inputSchema/additionalProperties": False,
        "/outputSchema": TOOL["outputSchema"],
        "/annotations": {"readOnlyHint": True},
    }


def test_a_provider_gets_the_whole_schema_of_arguments_and_loses_the_rest() -> None:
    for to, key in (("openai", "parameters"), ("anthropic", "input_schema")):
        conversion = convert(TOOL, to)
        inner = conversion.document.get("function", conversion.document)
        assert inner[key] == TOOL["inputSchema"]
        assert [loss.pointer for loss in conversion.losses] == ["/outputSchema", "/annotations"]


def test_a_model_behind_a_provider_reads_when_to_use_a_tool() -> None:
    function = convert(BASIC, "openai").document["function"]
    assert function["description"] == "Drills a hole.\n\nWhen to use: When a hole is missing."
    again = convert({"type": "function", "function": function}, "atdf-1").document
    assert (again["description"], again["when_to_use"]) == (BASIC["description"], BASIC["when_to_use"])


def test_a_foreign_type_word_is_kept_beside_the_type_of_json_schema() -> None:
    schema = convert(BASIC, "mcp").document["inputSchema"]
    assert schema["properties"]["depth"] == {"type": "number", "x-atdf-type": "float"}
    assert lost(BASIC, "mcp") == {}


def test_failures_and_texts_of_atdf_travel_in_meta_of_mcp_and_come_back() -> None:
    tool = convert(BASIC, "mcp").document
    assert tool["_meta"][META]["failures"] == BASIC["how_to_use"]["outputs"]["failure"]
    assert missing(BASIC, convert(tool, "atdf-1").document) == {}


def test_the_error_schema_and_the_examples_of_the_article_survive_every_open_form() -> None:
    for to in ("mcp", "atdf-2", "atdf-tools"):
        conversion = convert(ARTICLE, to)
        assert conversion.lossless
        assert validate(conversion.document, to) == []
        again = convert(conversion.document, "atdf-tool").document
        assert (again[0] if to == "atdf-tools" else again) == ARTICLE


def test_a_schema_that_refers_to_its_root_stays_with_it() -> None:
    tree = {"type": "object", "properties": {"next": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"type": "null"}}}
    document = convert({"name": "t", "inputSchema": tree}, "atdf-2").document
    assert document["how_to_use"]["inputs"] == [{"name": "next", "type": "any", "required": False}]
    assert validate(document, "atdf-2") == []
    assert convert(document, "mcp").document["inputSchema"] == tree


def test_a_tools_list_stays_a_list_and_what_stands_around_it_is_not_forgotten() -> None:
    listing = {"nextCursor": "2", "tools": [TOOL, TOOL | {"name": "find"}]}
    conversion = convert(listing, "atdf-2")
    assert [one["tool_id"] for one in conversion.document] == ["search", "find"]
    assert conversion.losses == (Loss("/nextCursor", "2", "atdf-2 has no list around its tools"),)
    assert conversion.derived[0] == "/0/when_to_use"
    catalogue = convert(listing, "atdf-tools")
    assert catalogue.lossless
    assert list(catalogue.document) == ["nextCursor", "tools"]
    assert [loss.pointer for loss in convert([TOOL], "openai").losses] == [
        "/0/outputSchema",
        "/0/annotations",
    ]


def test_one_form_to_itself_is_the_same_document() -> None:
    assert convert(BASIC, "atdf-1").document == BASIC


@pytest.mark.parametrize(
    ("value", "form"),
    [
        (TOOL, "mcp"),
        (BASIC, "atdf-1"),
        (ARTICLE, "atdf-tool"),
        ({"type": "function", "function": {"name": "f"}}, "openai"),
        ({"type": "function", "name": "f", "parameters": {}}, "openai"),
        ({"name": "f", "input_schema": {"type": "object"}}, "anthropic"),
    ],
)
def test_the_source_is_told_by_its_keys(value: Any, form: str) -> None:
    assert source_of(value) == form


@pytest.mark.parametrize(
    ("value", "source", "says"),
    [
        ({"name": 5, "inputSchema": {}}, "mcp", "/name: a text is accepted, got a number"),
        ({"inputSchema": {}}, "mcp", "/name: a text is accepted, got nothing"),
        (
            [{"tool_id": "t", "how_to_use": {"inputs": 3}}],
            "atdf-1",
            "/0/how_to_use/inputs: an array of param",
        ),
        ({"tool_id": "t"}, "atdf-2", "/how_to_use: an object is accepted, got null"),
        ({"resource_id": "r", "resource_type": "prompt"}, "ardf-1", "/resource_type: 'tool' is accepted"),
        (
            {"name": "t", "parameters": [{"name": "a", "type": "x"}, {"name": "a", "type": "y"}]},
            "atdf-sdk",
            "/parameters/1/name: a second parameter 'a'; each name is accepted once",
        ),
        ({"colour": "red"}, None, "of no known form"),
        (None, "mcp", "(root): an object is accepted, got null"),
    ],
)
def test_a_document_too_far_from_its_form_is_refused_in_one_line(value: Any, source: Any, says: str) -> None:
    with pytest.raises(DocumentError) as caught:
        convert(value, "openai", source=source)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("arguments", [{"to": "yaml"}, {"to": "mcp", "source": "yaml"}])
def test_an_unknown_form_is_refused_with_those_that_are_known(arguments: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="accepted: mcp, atdf-1"):
        convert(TOOL, **arguments)


def test_a_schema_that_is_nested_without_end_is_refused() -> None:
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(20_000):
        schema = {"type": "object", "properties": {"a": schema}}
    for to in ("atdf-2", "atdf-1", "openai"):
        with pytest.raises(DocumentError, match="nested too deep"):
            convert({"name": "deep", "inputSchema": schema}, to, source="mcp")


def test_every_form_can_be_a_target() -> None:
    assert set(TARGETS) == {
        "mcp", "atdf-1", "atdf-2", "atdf-tools", "atdf-sdk", "ardf-1", "atdf-tool", "openai", "anthropic"
    }  # fmt: skip
    for to in TARGETS:
        document = convert(TOOL, to).document
        if to not in ("openai", "anthropic"):
            assert validate(document, to) == []


def test_losses_are_counted_by_keyword_not_by_leaf() -> None:
    assert count_losses(TOOL, "atdf-1") == {
        "additionalProperties": 1, "annotations": 1, "default": 1, "enum": 1, "minLength": 1,
        "outputSchema": 1, "required": 1,
    }  # fmt: skip
    assert tools_losing([TOOL, TOOL], "openai") == {"annotations": 2, "outputSchema": 2}
    nested = Loss("/inputSchema/properties/a/items", {"anyOf": [{"enum": [1, 2]}, {"enum": [3]}]}, "")
    assert by_keyword([nested]) == {"enum": 2, "anyOf": 1, "items": 1}


@pytest.mark.parametrize(
    ("pointer", "keyword"),
    [
        ("/inputSchema/properties/url/format", "format"),
        ("/inputSchema/required/0", "required"),
        ("/annotations/readOnlyHint", "annotations"),
        ("/inputSchema/properties/any", "properties"),
        ("/inputSchema/properties/enum/enum/3", "enum"),
        ("/inputSchema/anyOf/1/const/deep/er", "const"),
        ("/how_to_use/inputs/0/schema/minimum", "minimum"),
        ("/tools/3/_meta/x", "_meta"),
        ("", ""),
    ],
)
def test_the_keyword_of_a_pointer_is_no_name_and_no_position(pointer: str, keyword: str) -> None:
    assert keyword_of(pointer) == keyword


def test_leaves_are_told_apart_as_their_texts_are() -> None:
    assert missing({"a": 1, "b": True, "c": {}}, {"a": 1.0, "b": 1, "c": []}) == {
        "/a": 1,
        "/b": True,
        "/c": {},
    }
    assert dict(leaves({"a/b": [1, {"~": []}]})) == {"/a~1b/0": 1, "/a~1b/1/~0": []}
    assert reported([Loss("/a", {"b": [1]}, "")]) == {"/a/b/0": 1}
