"""Each rule finds what it is for and nothing beside it; a fix changes no meaning and needs no second time."""

# ruff: noqa: E501

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schema_changes import VALUES, inputs, schemas

from ai_evolution.atdf.compatibility import diff
from ai_evolution.atdf.description import ToolDescription, read
from ai_evolution.atdf.documents import at, load, load_file
from ai_evolution.atdf.lint import RULES, SEVERITIES, Finding, exit_code, fix, lint, lint_document, sarif
from ai_evolution.atdf.schemas import problems
from ai_evolution.errors import DocumentError, UsageError

ROOT = Path(__file__).resolve().parents[2]
FORMS = sorted((Path(__file__).parent / "forms").glob("[am]*"))
RECORDED = sorted((ROOT / "sources" / "mcp_tools").glob("*.json"))
quick = settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


def good() -> dict[str, Any]:
    """A tool of the article's form that no rule objects to."""
    envelope = {"type": "object", "required": ["status", "data"]}
    data = {
        "type": "object",
        "properties": {"code": {"enum": ["404"], "type": "string"}},
        "required": ["code"],
    }
    return {
        "tool": {
            "name": "find_book",
            "description": "Finds one book in the catalogue by its number.",
            "when_to_use": "Use it when the number of a book is known.",
            "when_not_to_use": "Do not use it to search by title.",
            "input": {
                "type": "object",
                "properties": {
                    "number": {
                        "type": "string",
                        "description": "The number of the book.",
                        "pattern": "^[0-9]+$",
                    }
                },
                "required": ["number"],
                "additionalProperties": False,
            },
            "output": {
                "success": {**envelope, "properties": {"status": {"const": "success"}}},
                "error": {**envelope, "properties": {"status": {"const": "error"}, "data": data}},
            },
            "examples": [
                {"input": {"number": "1"}, "output": {"status": "success", "data": {"title": "Emma"}}},
                {"input": {"number": "2"}, "output": {"status": "error", "data": {"code": "404"}}},
            ],
            "localization": {
                "es": {"description": "Busca un libro.", "when_to_use": "Cuando se conoce su número."},
                "en": {"description": "Finds a book.", "when_to_use": "When its number is known."},
            },
        }
    }


def found(document: Any) -> list[tuple[str, str]]:
    return [(one.rule, one.pointer) for one in lint_document(document)]


def changed(path: str, value: Any) -> dict[str, Any]:
    """The good tool with one place changed (``...`` takes it out)."""
    document = good()
    home, _, key = f"/tool{path}".rpartition("/")
    here = at(document, home)
    if value is ...:
        del here[key]
    else:
        here[int(key) if isinstance(here, list) else key] = value
    return document


def parameter(**schema: Any) -> dict[str, Any]:
    return changed("/input/properties/number", {"type": "string", "description": "The number.", **schema})


NUMBER = "/tool/input/properties/number"
CASES: list[tuple[str, dict[str, Any], str]] = [
    ("name-charset", changed("/name", "find book"), "/tool/name"),
    ("short-description", changed("/description", "Finds one."), "/tool/description"),
    ("long-description", changed("/description", "Finds a book. " * 80), "/tool/description"),
    ("no-when-to-use", changed("/when_to_use", ...), "/tool"),
    ("no-when-not-to-use", changed("/when_not_to_use", ...), "/tool"),
    ("no-translation", changed("/localization", ...), "/tool"),
    ("unequal-languages", changed("/localization/es", {"description": "Busca."}), "/tool/localization/es"),
    ("language-tag", changed("/localization", {"spanish": good()["tool"]["localization"]["es"]}), "/tool/localization/spanish"),
    ("no-output-schema", changed("/output/success", ...), "/tool/output"),
    ("empty-error-data", changed("/output/error/properties/data", {"type": "object", "properties": {"code": {"enum": ["404"]}}}), "/tool/output/error"),
    ("unreached-code", changed("/output/error/properties/data/properties/code", {"enum": ["404", "500"]}), "/tool/output/error/properties/data/properties/code"),
    ("example-invalid", changed("/examples/0/input", {"number": "x"}), "/tool/examples/0/input/number"),
    ("example-invalid", changed("/examples/0/output", {"status": "success"}), "/tool/examples/0/output"),
    ("open-object", changed("/input/additionalProperties", ...), "/tool/input"),
    ("root-combinator", changed("/input/anyOf", [{"required": ["number"]}]), "/tool/input/anyOf"),
    ("undocumented-parameter", parameter(description=" "), NUMBER),
    ("no-type", changed("/input/properties/number", {"description": "The number."}), NUMBER),
    ("no-type", changed("/input/properties/number", {"description": "The number.", "enum": ["1", "2"]}), NUMBER),
    ("limit-in-prose", parameter(description="The number, at most 9 digits."), f"{NUMBER}/description"),
    ("limit-in-prose", parameter(description="El número, como mucho 9 cifras."), f"{NUMBER}/description"),
    ("values-in-prose", parameter(description="One of: first, last."), f"{NUMBER}/description"),
    ("values-in-prose", parameter(description="Either 'first' or 'last'."), f"{NUMBER}/description"),
    ("format-in-prose", parameter(description="The day, as YYYY-MM-DD."), f"{NUMBER}/description"),
    ("required-with-default", parameter(default="1"), f"{NUMBER}/default"),
    ("unused-defs", changed("/input/$defs", {"x": {"type": "string"}}), "/tool/input/$defs/x"),
    ("duplicate-required", changed("/input/required", ["number", "number"]), "/tool/input/required/1"),
    ("schema-wrong", changed("/input/properties/number/minLength", "two"), f"{NUMBER}/minLength"),
]  # fmt: skip


def test_a_good_tool_has_no_finding() -> None:
    assert found(good()) == []


def test_an_example_may_show_how_bad_arguments_are_refused() -> None:
    document = good()
    shown = {"input": {"number": 5}, "output": {"status": "error", "data": {"code": "404"}}}
    document["tool"]["examples"].append(shown)
    assert found(document) == []


@pytest.mark.parametrize(
    ("rule", "document", "pointer"), CASES, ids=[f"{n}-{rule}" for n, (rule, _, _) in enumerate(CASES)]
)
def test_a_rule_finds_what_it_is_for_where_it_stands(rule: str, document: Any, pointer: str) -> None:
    assert (rule, pointer) in found(document)
    beside = {one for one, _ in found(document)} - {rule, "example-invalid", "schema-wrong"}
    assert beside == set()


@pytest.mark.parametrize(
    ("tool", "rule"),
    [
        ({"name": "t", "inputSchema": {"type": "object"}}, "no-example"),
        ({"name": "t", "inputSchema": {"type": "object"}}, "no-error-contract"),
        ({"name": "t", "inputSchema": {"type": "object"}}, "no-read-only-hint"),
        (
            {"name": "deleteFile", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}},
            "mutating-read-only",
        ),
        (
            {
                "name": "borrar_archivo",
                "inputSchema": {"type": "object"},
                "annotations": {"readOnlyHint": True},
            },
            "mutating-read-only",
        ),
        (
            {
                "name": "t",
                "inputSchema": {"type": "object", "properties": {"a": {"type": "integer", "default": "x"}}},
            },
            "default-invalid",
        ),
        ({"name": "t", "inputSchema": {"type": "object"}, "x-derived": ["/description"]}, "derived"),
    ],
)
def test_rules_about_tools_of_mcp(tool: dict[str, Any], rule: str) -> None:
    assert rule in [one for one, _ in found(tool)]


def test_what_is_not_wrong_is_left_alone() -> None:
    for name, hint in (("read_file", True), ("delete_file", False), ("address_book", True), ("settle", True)):
        tool = {"name": name, "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": hint}}
        assert "mutating-read-only" not in [one for one, _ in found(tool)]
    for more in ({"maximum": 9, "type": "integer"}, {"pattern": "^.$"}, {"enum": ["1"]}):
        assert "limit-in-prose" not in [r for r, _ in found(parameter(description="At most 9.", **more))]
    assert "no-when-to-use" not in [
        r for r, _ in found({"name": "t", "description": "Use this when lost in town.", "inputSchema": {}})
    ]


def tool(name: str, **more: Any) -> ToolDescription:
    return ToolDescription(name=name, description="d", form="atdf-2", **more)


def around(*tools: ToolDescription) -> list[tuple[str, str]]:
    return [(one.rule, one.tool) for one in lint(tools) if RULES[one.rule].catalogue]


def test_names_that_collide_or_nearly_do_are_found_in_a_catalogue() -> None:
    assert around(tool("a"), tool("a")) == [("name-collision", "a")]
    assert around(tool("search_documents"), tool("search_document")) == [
        ("near-twin-names", "search_document")
    ]
    assert around(tool("getUser"), tool("get_user")) == [("near-twin-names", "get_user")]
    assert around(tool("list_repository_issue_comments"), tool("list_repository_issues_comments")) != []
    assert around(tool("read_file"), tool("write_file"), tool("read_dir")) == []


def test_prerequisites_that_are_unknown_or_go_round_are_found() -> None:
    def needs(*names: str) -> dict[str, Any]:
        return {"prerequisites": {"tools": list(names)}}

    assert around(tool("pay", **needs("log_in")), tool("search")) == [("prerequisite-unknown", "pay")]
    circle = lint([tool("a", **needs("b")), tool("b", **needs("c")), tool("c", **needs("a")), tool("d")])
    said = [one.message["en"] for one in circle if one.rule == "prerequisite-cycle"]
    assert said[0] == "it needs itself first: a -> b -> c -> a"
    assert len(said) == 3
    assert around(tool("a", **needs("b")), tool("b", **needs("c")), tool("c")) == []


def test_thousands_of_similar_names_are_compared_without_comparing_all_pairs() -> None:
    names = [tool(f"catalogue_tool_number_{n:05d}") for n in range(5_000)]
    assert sum(rule == "near-twin-names" for rule, _ in around(*names)) > 4_900


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_the_recorded_servers_have_the_findings_that_they_are_known_for(path: Path) -> None:
    value = {"tools": load_file(path).value["tools"]}
    findings = lint_document(value)
    assert not [one for one in findings if one.severity == "error"]
    assert {one.rule for one in findings} >= {"no-example", "no-error-contract", "no-when-not-to-use"}
    if path.stem == "filesystem":  # modelcontextprotocol/servers issue 3669 counts the same
        assert sum(one.rule == "undocumented-parameter" for one in findings) == 18


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.name)
def test_every_finding_points_at_something_that_stands_in_the_document(path: Path) -> None:
    document = load_file(path)
    for one in lint_document(document):
        at(document.value, one.pointer)
        assert document.position(one.pointer) is not None
        assert set(one.message) == {"en", "es"}
        assert "{" not in one.message["en"].replace("{1,128}", "")


def test_the_parameters_of_a_flat_form_are_pointed_at_by_their_place_in_the_list() -> None:
    outputs = {"success": "ok", "failure": [{"code": "E", "description": "d"}]}
    rows = [
        {"name": "a", "type": "string", "description": "d"},
        {"name": "b/c", "type": "string", "schema": {"default": 3}},
    ]
    document = {
        "tool_id": "x y",
        "description": "d",
        "when_to_use": "w",
        "how_to_use": {"inputs": rows, "outputs": outputs},
    }
    places = dict(found(document))
    assert places["undocumented-parameter"] == "/how_to_use/inputs/1"
    assert places["default-invalid"] == "/how_to_use/inputs/1/schema/default"
    assert places["unreached-code"] == "/how_to_use/outputs/failure/0"
    assert places["name-charset"] == "/tool_id"


def test_the_exit_code_goes_by_the_severity() -> None:
    note, warning = (Finding("r", s, "", {}, "t") for s in ("note", "warning"))
    assert exit_code([]) == exit_code([note]) == 0
    assert exit_code([note, warning]) == exit_code([note], "note") == 1
    assert exit_code([warning], "error") == 0
    with pytest.raises(UsageError, match="accepted: note, warning, error"):
        exit_code([], "fatal")


# ------------------------------------------------------------------------ fixes


def test_the_safe_fixes_are_made_and_nothing_else_is_touched() -> None:
    document = changed("/input/properties/number", {"description": "n", "enum": ["1", "2"], "default": "1"})
    document["tool"]["input"] |= {
        "required": ["number", "number"],
        "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {}},
    }
    before = copy.deepcopy(document)
    fixed = fix(document)
    assert document == before
    assert [(pointer, rule) for pointer, rule, _ in fixed.applied] == [
        ("/tool/input/$defs/a", "unused-defs"),
        ("/tool/input/$defs/b", "unused-defs"),
        ("/tool/input/required", "duplicate-required"),
        ("/tool/input/properties/number", "no-type"),
    ]
    expected = copy.deepcopy(before)
    del expected["tool"]["input"]["$defs"]
    expected["tool"]["input"]["required"] = ["number"]
    expected["tool"]["input"]["properties"]["number"]["type"] = "string"
    assert fixed.document == expected
    assert fix(fixed.document).applied == ()


@pytest.mark.parametrize(
    "more",
    [
        {"properties": {"a": {"$ref": "#/$defs/x"}}, "$defs": {"x": {}}},
        {"properties": {"a": {"$ref": "#/$defs/x~1y/properties/b"}}, "$defs": {"x/y": {"properties": {"b": {}}}}},
        {"properties": {"a": {"$ref": "#"}}, "$defs": {"x": {}}},
        {"properties": {"a": {"$ref": "#here"}}, "$defs": {"x": {"$anchor": "here"}}},
        {"properties": {"a": {"$dynamicRef": "#here"}}, "$defs": {"x": {"$dynamicAnchor": "here"}}},
        {"properties": {"a": {"$ref": "#/%24defs/x"}}, "$defs": {"x": {}}},
        {"properties": {"a": {"enum": []}}},
        {"properties": {"a": {"enum": ["x"], "not": {}}}},
        {"properties": {"a": {"const": 1, "type": "integer"}}},
        {"default": {"required": ["a", "a"], "properties": {"b": {"const": 1}}}},
        {"properties": {"required": {"type": "array"}, "enum": {"type": "string"}}},
    ],
)  # fmt: skip
def test_what_might_mean_something_is_not_fixed(more: dict[str, Any]) -> None:
    document = {"name": "t", "inputSchema": {"type": "object", **more}}
    assert fix(document).applied == ()


@quick
@given(schemas() | inputs(), st.lists(VALUES, max_size=8))
def test_a_fix_never_changes_what_is_accepted_nor_any_other_word(schema: Any, values: list[Any]) -> None:
    schema = {**schema, "properties": {**schema.get("properties", {}), "mode": {"enum": ["a", 1]}}}
    schema["$defs"] = {**schema.get("$defs", {}), "left": {"type": "null"}}
    if schema.get("required"):
        schema["required"] = [*schema["required"], schema["required"][0]]
    document = {"name": "t", "description": "d", "inputSchema": schema, "_meta": {"required": ["a", "a"]}}
    fixed = fix(document).document
    assert {k: v for k, v in fixed.items() if k != "inputSchema"} == {
        k: v for k, v in document.items() if k != "inputSchema"
    }
    once = {**schema, "required": list(dict.fromkeys(schema.get("required", [])))}  # duplicates are no schema
    for value in [*values, {"mode": "a"}, {"mode": 1.0}, {"mode": True}, {}]:
        assert bool(problems(value, once)) == bool(problems(value, fixed["inputSchema"]))
    change = diff(*(read({"name": "t", "inputSchema": one})[0] for one in (once, fixed["inputSchema"])))
    assert [reason for reason in change.reasons if reason.level != "patch"] == []
    assert fix(fixed).applied == ()


# ------------------------------------------------------------------------ SARIF

TEXT = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string", "minLength": 1}}}
LEVEL = {"enum": ["none", "note", "warning", "error"]}
SARIF = {  # what sarif-schema-2.1.0 asks of the parts that are used here
    "type": "object",
    "required": ["version", "runs"],
    "properties": {
        "$schema": {"type": "string", "format": "uri"},
        "version": {"const": "2.1.0"},
        "runs": {"type": "array", "items": {
            "type": "object", "required": ["tool"], "additionalProperties": False,
            "properties": {
                "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
                "tool": {"type": "object", "required": ["driver"], "properties": {"driver": {
                    "type": "object", "required": ["name"], "additionalProperties": False,
                    "properties": {
                        "name": {"type": "string"}, "version": {"type": "string"},
                        "language": {"type": "string", "pattern": "^[a-zA-Z]{2}(-[a-zA-Z]{2})?$"},
                        "rules": {"type": "array", "uniqueItems": True, "items": {
                            "type": "object", "required": ["id"], "additionalProperties": False,
                            "properties": {
                                "id": {"type": "string"}, "shortDescription": TEXT, "properties": {"type": "object"},
                                "defaultConfiguration": {"type": "object", "properties": {"level": LEVEL}},
                            }}},
                    }}}},
                "results": {"type": "array", "items": {
                    "type": "object", "required": ["message"], "additionalProperties": False,
                    "properties": {
                        "ruleId": {"type": "string"}, "ruleIndex": {"type": "integer", "minimum": 0},
                        "level": LEVEL, "message": TEXT,
                        "locations": {"type": "array", "items": {
                            "type": "object", "additionalProperties": False,
                            "properties": {
                                "logicalLocations": {"type": "array", "uniqueItems": True, "items": {
                                    "type": "object", "additionalProperties": False,
                                    "properties": {"name": {"type": "string"}, "fullyQualifiedName": {"type": "string"}}}},
                                "physicalLocation": {
                                    "type": "object", "required": ["artifactLocation"], "additionalProperties": False,
                                    "properties": {
                                        "artifactLocation": {"type": "object", "properties": {"uri": {"type": "string", "format": "uri-reference"}}},
                                        "region": {"type": "object", "properties": {
                                            "startLine": {"type": "integer", "minimum": 1},
                                            "startColumn": {"type": "integer", "minimum": 1}}},
                                    }},
                            }}},
                    }}},
            }}},
    },
}  # fmt: skip


@pytest.mark.parametrize("lang", ["en", "es"])
def test_the_sarif_log_has_the_structure_of_2_1_0_and_points_at_lines(lang: str) -> None:
    name = "tools/with space/ñ.yaml"
    document = load(
        b"tool:\n  name: find book\n  description: Finds.\n  input: {type: object}\n  output: {}\n", name
    )
    findings = lint_document(document)
    log = sarif([(name, document, findings), ("-", None, findings)], lang=lang, version="1.0.0")
    jsonschema.Draft202012Validator(
        SARIF, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER
    ).validate(log)
    run = log["runs"][0]
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == list(RULES)
    assert len(run["results"]) == 2 * len(findings)
    for row, one in zip(run["results"], findings * 2, strict=True):
        assert rules[row["ruleIndex"]]["id"] == row["ruleId"] == one.rule
        assert one.message[lang] in row["message"]["text"]
    first = run["results"][0]["locations"][0]
    assert first["physicalLocation"]["artifactLocation"]["uri"] == "tools/with%20space/%C3%B1.yaml"
    assert first["physicalLocation"]["region"] == {"startLine": 2, "startColumn": 9}
    assert json.loads(json.dumps(log)) == log


def test_the_table_speaks_both_languages_and_knows_three_severities() -> None:
    for rule in RULES.values():
        assert rule.severity in SEVERITIES
        assert rule.en != rule.es
    assert {rule.id for rule in RULES.values() if rule.fixable} == {
        "no-type",
        "unused-defs",
        "duplicate-required",
    }


def test_what_is_no_tool_is_refused_with_its_place() -> None:
    with pytest.raises(DocumentError, match="name"):
        lint_document({"description": "d", "inputSchema": {}})
    with pytest.raises(UsageError, match="form can't be told"):
        lint_document({"a": 1})
