"""The seven forms: each golden file is told by its keys, and each damage is named with its place."""

from __future__ import annotations

import copy
import importlib.util
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_evolution import atdf
from ai_evolution.atdf.documents import Document, at, dumps, load, load_file
from ai_evolution.atdf.shapes import FORMS, Detection, detect, embedded, tools, validate
from ai_evolution.errors import UsageError

FOLDER = Path(__file__).parent / "forms"
GOLDEN = sorted(path for path in FOLDER.iterdir() if not path.name.startswith("envelope"))
ARTICLE = FOLDER / "atdf-tool.validar_rango_de_fechas.yaml"


def golden(start: str) -> Any:
    (path,) = (path for path in GOLDEN if f"{path.name}.".startswith(f"{start}."))
    return load_file(path).value


def form_of(path: Path) -> str:
    return path.name.partition(".")[0]


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.name)
def test_a_golden_file_is_of_its_form_and_valid(path: Path) -> None:
    document = load_file(path)
    assert detect(document.value).form == form_of(path)
    assert detect(document) == detect(document.value)
    assert validate(document) == []
    assert validate(document.value, form_of(path)) == []


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.name)
def test_a_golden_file_survives_both_formats(path: Path) -> None:
    value = load_file(path).value
    for form in ("json", "yaml"):
        again = load(dumps(value, form).encode(), "x", format=form).value  # type: ignore[arg-type]
        assert json.dumps(again) == json.dumps(value)


def test_every_form_has_a_golden_file_and_says_what_it_is_in_both_languages() -> None:
    assert {form_of(path) for path in GOLDEN} == set(FORMS)
    for name, form in FORMS.items():
        assert form.name == name
        assert set(form.says) == {"en", "es"}


def test_the_article_in_yaml_keeps_its_dates_as_texts() -> None:
    example = load_file(ARTICLE).value["tool"]["examples"][0]
    assert example["input"] == {"Start": "2025-07-12T10:00:00Z", "End": "2025-07-12T12:00:00Z"}
    unquoted = ARTICLE.read_text(encoding="utf-8").replace('"2025-07-12T10:00:00Z"', "2025-07-12T10:00:00Z")
    assert load(unquoted.encode(), "a.yaml").value["tool"]["examples"][0] == example


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"tool_id": "a", "how_to_use": {}}, "atdf-1"),
        ({"how_to_use": {"inputs": [{"name": "a", "type": "string", "required": True}]}}, "atdf-2"),
        ({"how_to_use": {"inputs": [{"name": "a"}, {"name": "b", "schema": {}}]}}, "atdf-2"),
        ({"how_to_use": {}, "examples": []}, "atdf-2"),
        ({"how_to_use": {}, "x-mcp": {}}, "atdf-2"),
        ({"how_to_use": None}, "atdf-1"),
        ({"how_to_use": {}, "schema_version": "2.0.0"}, "atdf-1"),
        ({"tool": {"input": {}}}, "atdf-tool"),
        ({"tool": {"name": "a"}}, None),
        ({"tools": [{"name": "a", "inputSchema": {}}]}, "atdf-tools"),
        ({"tools": [{"name": "a", "inputSchema": {}, "title": "A"}]}, "mcp"),
        ({"tools": [{"name": "a", "inputSchema": {}}], "nextCursor": "2"}, "mcp"),
        ({"tools": [{"name": "a", "inputSchema": {}, "title": "A"}], "version": "1"}, "atdf-tools"),
        ({"tools": []}, "atdf-tools"),
        ({"tools": [], "resultType": "complete"}, "mcp"),
        ({"name": "a", "inputSchema": {}}, "mcp"),
        ({"name": "a", "parameters": []}, "atdf-sdk"),
        ({"name": "a", "parameters": {}}, None),
        ({"resource_id": "a", "inputSchema": {}}, "ardf-1"),
        ([{"name": "a", "inputSchema": {}}, {"name": "b", "inputSchema": {}}], "mcp"),
        ([{"how_to_use": {}}, {"how_to_use": {}, "metadata": {}}], "atdf-2"),
        ([{"how_to_use": {}}, {"name": "b", "inputSchema": {}}], None),
        ([{"how_to_use": {}}, 7], None),
        ({"tools": [{"how_to_use": {}}]}, "atdf-1"),
        ([], None),
        ({}, None),
        (7, None),
        (None, None),
        ("tool", None),
    ],
)
def test_a_form_is_told_by_its_keys(value: Any, expected: str | None) -> None:
    found = detect(value)
    assert found.form == expected
    assert found.why
    if expected is None:
        assert [problem.keyword for problem in validate(value)] == ["form"]


def test_why_names_the_keys_that_told() -> None:
    assert detect(golden("atdf-1")) == Detection(
        "atdf-1", ("it has how_to_use", "and nothing that only 2.x knows"), ("atdf-2",)
    )
    assert detect(golden("atdf-2")).why == (
        "it has how_to_use",
        "and metadata, when_not_to_use, localization, prerequisites, feedback, examples,"
        " how_to_use.inputs[0].required, which 1.x does not know",
    )
    mixed = detect([{"how_to_use": {}}, {"inputSchema": {}}])
    assert mixed.why == ("the document is a list of different forms: atdf-1 (item 0), mcp (item 1)",)


def test_what_else_a_document_would_pass_as_is_true() -> None:
    assert (
        detect(golden("mcp.listing")).also == ()
    )  # one tool has no description, which the catalogue asks for
    for path in GOLDEN:
        value = load_file(path).value
        for other in detect(value).also:
            assert validate(value, other) == []


ANYTHING = st.recursive(
    st.none() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["tool", "tools", "how_to_use", "inputs", "inputSchema", "parameters", "name", "input"]
            ),
            inner,
            max_size=4,
        )
    ),
)


@given(ANYTHING)
def test_whatever_a_document_is_it_is_told_and_validated_without_an_exception(value: Any) -> None:
    assert isinstance(detect(value), Detection)
    assert isinstance(validate(value), list)
    for form in FORMS:
        assert isinstance(validate(value, form), list)


HERE = "where the damage is"


def damage(start: str, pointer: str, change: Any) -> Any:
    """A golden document with the value at ``pointer`` changed; ``...`` removes it."""
    value = copy.deepcopy(golden(start))
    above, _, key = pointer.rpartition("/")
    holder = at(value, above)
    place: Any = int(key) if isinstance(holder, list) else key
    if change is ...:
        del holder[place]
    else:
        holder[place] = change
    return value


@pytest.mark.parametrize(
    ("start", "pointer", "change", "where", "keyword"),
    [
        ("atdf-1", "/tool_id", ..., "", "oneOf"),
        ("atdf-1", "/id", "fetch", "", "oneOf"),
        ("atdf-1", "/when_to_use", "", HERE, "minLength"),
        ("atdf-1", "/how_to_use/inputs/0/required", True, HERE, "additionalProperties"),
        ("atdf-1", "/how_to_use/inputs/0/type", ["string", "null"], "/how_to_use/inputs/0/type", "type"),
        ("atdf-1", "/how_to_use/outputs/failure", ..., "/how_to_use/outputs", "required"),
        ("atdf-1", "/how_to_use/__comment", "x", HERE, "additionalProperties"),
        ("atdf-1", "/metadata", {}, HERE, "additionalProperties"),
        ("atdf-2", "/how_to_use/inputs/0/required", "yes", HERE, "type"),
        ("atdf-2", "/how_to_use/inputs/3/schema/required", "chairs", HERE, "type"),
        ("atdf-2", "/how_to_use/inputs/1/schema/format", 7, HERE, "type"),
        ("atdf-2", "/examples/0/goal", ..., "/examples/0", "required"),
        ("atdf-2", "/localization/es/when_to_use", ..., "/localization/es", "required"),
        ("atdf-2", "/prerequisites/tools", "list_rooms", HERE, "type"),
        ("atdf-tools", "/tools/1/inputSchema", ..., "/tools/1", "required"),
        ("atdf-tools", "/tools/0/inputSchema/type", "array", HERE, "const"),
        ("atdf-tools", "/tools/0/inputSchema/required", "day", HERE, "type"),
        ("atdf-sdk", "/parameters/0/type", ..., "/parameters/0", "required"),
        ("atdf-sdk", "/description", ..., "", "required"),
        ("ardf-1", "/schema_version", "2.0.0", HERE, "const"),
        ("ardf-1", "/resource_type", "toll", HERE, "enum"),
        ("ardf-1", "/content/type", "tool", HERE, "const"),
        ("ardf-1", "/content/data/inputs/0/description", ..., "/content/data/inputs/0", "required"),
        ("ardf-1", "/feedback/success_rate", 2, HERE, "maximum"),
        ("ardf-1", "/feedback/last_updated", "yesterday", HERE, "format"),
        ("atdf-tool", "/tool/output/error", ..., "/tool/output", "required"),
        ("atdf-tool", "/tool/input/properties/Start/type", "date", HERE, "anyOf"),
        ("atdf-tool", "/tool/output/success/required", ["a", "a"], HERE, "uniqueItems"),
        ("atdf-tool", "/tool/input/$ref", "https://x.example/s", HERE, "$ref"),
        ("atdf-tool", "/tool/examples/0/input", [], HERE, "type"),
        ("mcp.find_route", "/inputSchema/type", ..., "/inputSchema", "required"),
        ("mcp.find_route", "/inputSchema/definitions/place/required", "lat", HERE, "type"),
        ("mcp.find_route", "/inputSchema/properties/to/$ref", "#/$defs/place", HERE, "$ref"),
        ("mcp.find_route", "/annotations/readOnlyHint", "yes", HERE, "type"),
        ("mcp.find_route", "/icons/0/src", ..., "/icons/0", "required"),
        ("mcp.listing", "/tools/1/name", ..., "/tools/1", "required"),
    ],
)  # fmt: skip
def test_one_damage_is_one_problem_at_its_place(
    start: str, pointer: str, change: Any, where: str, keyword: str
) -> None:
    where = pointer if where is HERE else where
    value = damage(start, pointer, change)
    form = start.partition(".")[0]
    problems = validate(value, form)
    assert (where, keyword) in [(problem.pointer, problem.keyword) for problem in problems]
    assert len({problem.pointer for problem in problems}) == 1
    at(value, where)  # the pointer leads somewhere


def test_a_problem_has_a_line_and_a_column_in_both_formats() -> None:
    text = ARTICLE.read_text(encoding="utf-8").replace("format: date-time", "format: [date-time]", 1)
    document = load(text.encode(), "tool.yaml")
    (problem,) = validate(document)
    assert problem.pointer == "/tool/input/properties/Start/format"
    assert document.locate(problem.pointer) == "tool.yaml: line 9, column 17"
    again = load(dumps(document.value).encode(), "tool.json")
    assert again.locate(validate(again)[0].pointer) == "tool.json: line 10, column 21"


def test_the_gaps_of_the_originals_are_kept_and_not_mended_in_silence() -> None:
    # 2.x: a language tag outside ll-CC is not validated, any string is a type, any key may stand at the root
    value = damage("atdf-2", "/localization/zh-Hant", {"nothing": "of what is asked for"})
    value["how_to_use"]["inputs"][0]["type"] = "unknown"
    value["x-mcp"] = {"anything": True}
    assert validate(value) == []
    assert validate(damage("ardf-1", "/localization/zh-Hant", {}))  # the successor closed that gap


def test_a_2_x_document_with_new_fields_is_no_1_x_document_and_the_other_way_is() -> None:
    assert validate(golden("atdf-1"), "atdf-2") == []
    assert {problem.keyword for problem in validate(golden("atdf-2"), "atdf-1")} == {"additionalProperties"}


def test_one_tool_of_a_catalogue_in_another_dialect_is_judged_by_its_own() -> None:
    draft_07 = {"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "items": [True]}
    value = [
        {"name": "a", "inputSchema": draft_07},
        {"name": "b", "inputSchema": {**draft_07, "$schema": "x"}},
    ]
    (problem,) = validate(value)
    assert (problem.pointer, problem.keyword) == ("/1/inputSchema/$schema", "$schema")


def test_a_catalogue_is_walked_tool_by_tool_with_its_pointers() -> None:
    listing = golden("mcp.listing")
    assert [path for path, _ in tools(listing, "mcp")] == [("tools", 0), ("tools", 1)]
    assert [path for path, _ in tools(listing, "atdf-tools")] == [()]
    assert [path for path, _ in tools([{}, {}], "atdf-1")] == [(0,), (1,)]
    catalogue = golden("atdf-tools")
    assert [pointer for pointer, _ in embedded(catalogue, "atdf-tools")] == [
        "/tools/0/inputSchema",
        "/tools/1/inputSchema",
    ]


def test_a_form_that_is_not_known_is_refused_with_the_names_that_are() -> None:
    with pytest.raises(UsageError, match="form 'atdf' is not known; accepted: atdf-1, atdf-2, atdf-tools"):
        validate({}, "atdf")


def test_a_document_of_no_form_has_one_problem() -> None:
    (problem,) = validate(Document({"x" * 10_000: 1}, "x", "json"))
    assert problem.pointer == ""
    assert problem.message.startswith("of no known form: it has none of resource_id, how_to_use")
    assert len(problem.message) < 300


def test_every_name_of_the_package_is_found_in_its_room_and_hides_none() -> None:
    for name in atdf.__all__:
        assert callable(getattr(atdf, name)) or isinstance(getattr(atdf, name), Mapping)
        assert importlib.util.find_spec(f"ai_evolution.atdf.{name}") is None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = atdf.nothing
