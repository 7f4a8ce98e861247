"""JSON Schema: the right draft, formats asserted, nothing fetched, and no schema that hangs or raises."""

from __future__ import annotations

import copy
import json
import socket
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft7Validator, Draft201909Validator, Draft202012Validator

from ai_evolution.atdf import schemas
from ai_evolution.atdf.glance import compiled
from ai_evolution.atdf.schemas import Problem, check_schema, dialect, own, problems
from ai_evolution.atdf.sight import Sight

DRAFTS = {
    "http://json-schema.org/draft-07/schema#": Draft7Validator,
    "https://json-schema.org/draft/2019-09/schema": Draft201909Validator,
    "https://json-schema.org/draft/2020-12/schema": Draft202012Validator,
}
D7 = "http://json-schema.org/draft-07/schema#"
OWN = sorted(path.stem for path in (Path(schemas.__file__).parent / "schemas").glob("*.json"))
FORMS = Path(__file__).parent / "forms"


def pairs(found: list[Problem]) -> list[tuple[str, str]]:
    return [(problem.pointer, problem.keyword) for problem in found]


@pytest.mark.parametrize(("named", "draft"), DRAFTS.items())
def test_the_dialect_is_what_the_schema_names(named: str, draft: Any) -> None:
    assert dialect({"$schema": named}) is draft
    assert dialect({"$schema": named.rstrip("#") + "#"}) is draft
    assert check_schema({"$schema": named, "type": "object"}) == []


def test_the_dialect_decides_what_a_reference_has_beside_it() -> None:
    schema = {"$ref": "#/$defs/text", "maxLength": 1, "$defs": {"text": {"type": "string"}}}
    assert pairs(problems("abc", schema)) == [("", "maxLength")]
    old = {"$schema": "http://json-schema.org/draft-07/schema#", **schema}
    assert problems("abc", old) == []  # draft-07 does not look beside $ref


@pytest.mark.parametrize("schema", [{}, True, False, {"type": "object"}])
def test_without_a_name_it_is_2020_12(schema: Any) -> None:
    assert dialect(schema) is Draft202012Validator
    assert check_schema(schema) == []


@pytest.mark.parametrize(
    "named", ["http://json-schema.org/draft-04/schema#", "https://x.example/mine", 7, None]
)
def test_a_dialect_that_is_not_known_is_a_problem_and_nothing_is_guessed(named: Any) -> None:
    schema = {"$schema": named}
    assert dialect(schema) is None
    (problem,) = check_schema(schema)
    assert (problem.pointer, problem.keyword) == ("/$schema", "$schema")
    assert "accepted: draft-07, 2019-09 and 2020-12" in problem.message
    assert problems(1, schema)[0].message.startswith("the schema itself is wrong at /$schema")


@pytest.mark.parametrize(
    ("format_", "value"),
    [
        ("date-time", "not a date"),
        ("date-time", "tomorrow"),
        ("date-time", "2025-07-12T10:00:00"),
        ("date-time", "2025-13-12T10:00:00Z"),
        ("date", "2025-02-30"),
        ("email", "nobody"),
        ("uri", "not a uri"),
        ("ipv4", "999.1.1.1"),
        ("uuid", "123"),
    ],
)
def test_a_format_is_an_assertion(format_: str, value: str) -> None:
    for named in DRAFTS:
        found = problems({"at": value}, {"$schema": named, "properties": {"at": {"format": format_}}})
        if not (format_ == "uuid" and "07" in named):  # draft-07 does not know it
            assert pairs(found) == [("/at", "format")], named


@pytest.mark.parametrize(
    ("pattern", "accepted", "refused"),
    [
        ("^97[89]$", ["978"], ["978\n", "9781", "978\n\n"]),
        (r"\$$", ["5$"], ["5$\n", "$5"]),
        ("[$]", ["a$b", "$\n"], ["a"]),
        (r"^a$|^b$", ["a", "b"], ["a\n", "b\n"]),
    ],
)
def test_the_end_of_a_pattern_is_the_end_of_the_text(
    pattern: str, accepted: list[str], refused: list[str]
) -> None:
    """As ECMA-262 has it; Python's ``$`` also matches before a last line break."""
    for named in DRAFTS:
        schema = {"$schema": named, "pattern": pattern}
        assert [text for text in (*accepted, *refused) if not problems(text, schema)] == accepted, named
    assert pairs(problems({"a": "b\n"}, {"properties": {"a": {"pattern": "^b$"}}})) == [("/a", "pattern")]


def test_a_format_that_nobody_knows_passes() -> None:
    assert problems("x", {"format": "colour-of-the-sky"}) == []


@pytest.mark.parametrize(
    ("value", "schema", "said"),
    [
        (5, {"type": "string"}, "5 is not accepted; accepted: string"),
        (True, {"type": ["integer", "null"]}, "true is not accepted; accepted: integer, null"),
        ("c", {"enum": ["a", "b", 1, None]}, '"c" is not accepted; accepted: a, b, 1, null'),
        ("c", {"const": "success"}, '"c" is not accepted; accepted: "success"'),
        ({}, {"required": ["Start"]}, "'Start' is missing"),
        (
            {"a": 1},
            {"properties": {"b": {}}, "additionalProperties": False},
            'the key "a" is not allowed; accepted: b',
        ),
        ({"a": 1}, {"additionalProperties": False}, 'the key "a" is not allowed'),
        ("tomorrow", {"format": "date-time"}, '"tomorrow" is no date-time'),
        ("a", {"pattern": "^[0-9]$"}, '"a" does not match "^[0-9]$"'),
        ("", {"minLength": 1}, '"" is too short; accepted: 1 or more'),
        ([1], {"maxItems": 0}, "an array is too long; accepted: 0 or fewer"),
        (1, {"minimum": 2}, "1 is too small; accepted: 2 or more"),
        (3, {"maximum": 2}, "3 is too large; accepted: 2 or less"),
        (2, {"exclusiveMinimum": 2}, "2 is too small; accepted: more than 2"),
        (2, {"exclusiveMaximum": 2}, "2 is too large; accepted: less than 2"),
        (3, {"multipleOf": 2}, "3 is no multiple of 2"),
        ([1, 1], {"uniqueItems": True}, "an item stands twice; each is accepted once"),
        (1, False, "nothing is accepted here"),
        (1, {"not": {}}, "1 is what is not accepted here"),
        (1, {"oneOf": [{}, {}]}, "fits several of the shapes accepted here, of which exactly one may fit"),
        (
            5,
            {"anyOf": [{"type": "string"}, {"type": "array"}]},
            "5 is not accepted; accepted: string, or array",
        ),
        ({"kind": "a"}, {"oneOf": [{"type": "string"}, {"required": ["id"]}]}, "'id' is missing"),
        ("x" * 500, {"maxLength": 3}, "too long"),
        ([1, 2], {"items": False}, "it holds items that are not accepted"),
        (
            [1],
            {"contains": {"type": "string"}},
            "it holds too few or too many of the items that are asked for",
        ),
    ],
)
def test_a_problem_says_what_was_given_and_what_is_accepted(value: Any, schema: Any, said: str) -> None:
    (problem,) = problems(value, schema)
    assert said in problem.message
    assert len(problem.message) < 250
    assert "\n" not in problem.message


def test_each_key_that_is_not_allowed_has_its_own_pointer() -> None:
    schema = {"properties": {"a": True}, "patternProperties": {"^x-": True}, "additionalProperties": False}
    found = problems([{"a": 1, "x-b": 2, "c/d": 3, "e": 4}], {"items": schema})
    assert pairs(found) == [("/0/c~1d", "additionalProperties"), ("/0/e", "additionalProperties")]


def test_no_more_problems_than_asked_for() -> None:
    assert len(problems([0] * 500, {"items": {"type": "string"}})) == 50
    assert len(problems([0] * 500, {"items": {"type": "string"}}, limit=3)) == 3


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ([], [("", "type")]),
        ("x", [("", "type")]),
        ({"type": "strin"}, [("/type", "anyOf")]),
        ({"properties": []}, [("/properties", "type")]),
        ({"properties": {"a": {"minimum": "3"}}}, [("/properties/a/minimum", "type")]),
        ({"required": ["a", "a"]}, [("/required", "uniqueItems")]),
        ({"pattern": "("}, [("/pattern", "format")]),
        ({"allOf": []}, [("/allOf", "minItems")]),
        ({"multipleOf": 0}, [("/multipleOf", "exclusiveMinimum")]),
        ({"items": [{"type": "string"}]}, [("/items", "type")]),
        ({"$schema": D7, "items": [{"type": "string"}]}, []),
        ({"$schema": D7, "items": [{"type": 1}]}, [("/items", "anyOf")]),
        ({"$ref": "https://x.example/a.json"}, [("/$ref", "$ref")]),
        ({"properties": {"a": {"$ref": "other.json#/b"}}}, [("/properties/a/$ref", "$ref")]),
        ({"$ref": "#/$defs/gone"}, [("/$ref", "$ref")]),
        ({"$ref": "#anchor"}, [("/$ref", "$ref")]),
        ({"$ref": "#/const", "const": 5}, [("/$ref", "$ref")]),
        ({"$ref": "#here", "$defs": {"a": {"$anchor": "here"}}}, []),
        ({"$ref": "http://json-schema.org/draft-07/schema#"}, []),
        ({"$dynamicRef": "https://x.example/d"}, [("/$dynamicRef", "$dynamicRef")]),
        ({"properties": {"const": {"const": {"$ref": "gone"}}}, "enum": [{"$ref": "gone"}]}, []),
        ({"$ref": "#/x-parts/a", "x-parts": {"a": {"type": "strin"}}}, [("/x-parts/a/type", "anyOf")]),
        ({"$ref": "#"}, [("/$ref", "$ref")]),
        ({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}, [("/$defs/a/$ref", "$ref")]),
        ({"anyOf": [{"type": "string"}, {"$ref": "#"}]}, [("/anyOf/1/$ref", "$ref")]),
        ({"properties": {"next": {"$ref": "#"}}}, []),
        ({"items": {"anyOf": [{"type": "string"}, {"$ref": "#"}]}}, []),
        ({"$defs": {"a": {"$schema": D7}}}, [("/$defs/a/$schema", "$schema")]),
    ],
)  # fmt: skip
def test_a_schema_is_held_against_its_meta_schema_and_its_references(
    schema: Any, expected: list[tuple[str, str]]
) -> None:
    assert pairs(check_schema(schema)) == expected


def test_references_between_embedded_schemas_with_names_are_found() -> None:
    schema = {
        "$id": "https://a.example/root",
        "$defs": {
            "x": {
                "$id": "part",
                "$anchor": "top",
                "$defs": {"y": {"type": "string"}},
                "items": {"$ref": "#/$defs/y"},
            }
        },
        "allOf": [{"$ref": "part"}, {"$ref": "https://a.example/part#top"}, {"$ref": "missing"}],
    }
    assert pairs(check_schema(schema)) == [("/allOf/2/$ref", "$ref")]
    del schema["allOf"][2]  # type: ignore[attr-defined]
    assert pairs(problems([5], schema)) == [("/0", "type")] * 2


def test_nothing_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(socket, "getaddrinfo", lambda *arguments, **_: asked.append(arguments) or [])
    schema = {"$ref": "https://x.example/a.json", "$id": "https://x.example/root"}
    assert "never fetched" in check_schema(schema)[0].message
    assert "never fetched" in problems({}, schema)[0].message
    assert asked == []


def nested(times: int, word: str = "properties") -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for _ in range(times):
        schema = {word: {"a": schema} if word == "properties" else [schema], "unevaluatedProperties": True}
    return schema


DOUBLING: dict[str, Any] = {
    "$ref": "#/$defs/a0",
    "$defs": {"a40": {}, **{f"a{i}": {"allOf": [{"$ref": f"#/$defs/a{i + 1}"}] * 2} for i in range(40)}},
}


@pytest.mark.parametrize(
    ("value", "schema"),
    [
        (1, DOUBLING),
        ({"x": 1}, nested(60, "allOf")),
        (1, {"$dynamicRef": "#top", "$dynamicAnchor": "top"}),
        ({"a": {}}, {"$schema": "https://json-schema.org/draft/2019-09/schema", "$recursiveRef": "#"}),
        ("x", {"$ref": "#/$defs/a", "$defs": {"a": {"$id": "b", "$ref": "b"}}}),
    ],
    ids=["doubling", "unevaluated", "dynamic", "recursive", "named"],
)
def test_a_schema_that_would_never_end_is_one_problem(value: Any, schema: Any) -> None:
    (problem,) = problems(value, schema)
    assert problem.keyword == "$ref"
    assert problem.pointer == ""


def test_a_schema_cannot_get_out_of_the_bound_by_naming_a_dialect_inside() -> None:
    named = "https://json-schema.org/draft/2020-12/schema"
    schema = copy.deepcopy(DOUBLING)
    for part in schema["$defs"].values():
        part["$schema"] = named
    (problem,) = problems(1, schema)
    assert problem.keyword == "$ref"


def test_the_bound_grows_with_the_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schemas, "MAX_STEPS", 1000)
    many = [1] * (2 * schemas.MAX_STEPS)
    assert problems(many, {"items": {"$ref": "#/$defs/n"}, "$defs": {"n": {"type": "integer"}}}) == []


def test_a_recursive_schema_judges_a_tree_at_any_depth_it_is_given() -> None:
    schema = {"type": "object", "properties": {"next": {"$ref": "#"}}, "additionalProperties": False}
    tree: dict[str, Any] = {"oops": 1}
    for _ in range(50):
        tree = {"next": tree}
    assert [problem.pointer for problem in problems(tree, schema)] == ["/next" * 50 + "/oops"]


def test_the_deepest_schema_that_is_read_is_examined_without_recursion() -> None:
    schema = nested(127)
    assert check_schema(schema) == []
    here = schema
    while here.get("properties"):
        here = here["properties"]["a"]
    here["$ref"] = "#/gone"
    assert len(check_schema(schema)) == 1


@pytest.mark.parametrize("schema", [{"a": {1, 2}}, {"a": object()}])
def test_a_schema_that_is_no_json_is_one_problem(schema: Any) -> None:
    assert [problem.message for problem in check_schema(schema)] == ["the schema is no JSON value"]
    assert problems(1, schema)[0].keyword == "$schema"


def test_a_schema_that_holds_itself_is_one_problem() -> None:
    schema: dict[str, Any] = {}
    schema["not"] = schema
    assert [problem.message for problem in check_schema(schema)] == ["the schema is no JSON value"]


def test_a_schema_may_be_changed_between_two_calls() -> None:
    schema: dict[str, Any] = {"type": "strin"}
    assert check_schema(schema)
    schema["type"] = "string"
    assert check_schema(schema) == []
    assert problems("x", schema) == []
    schema["type"] = "integer"
    assert pairs(problems("x", schema)) == [("", "type")]
    assert schema == {"type": "integer"}


JUNK = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.floats(0, 1)
    | st.sampled_from(["", "string", "#", "a", "(", "#/$defs/a", "[", D7])
)
KEYWORDS = [
    "$ref", "$id", "$anchor", "$defs", "$comment", "$schema", "type", "const", "enum", "required",
    "properties", "patternProperties", "items", "prefixItems", "additionalProperties",
    "additionalItems", "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas",
    "dependentRequired", "dependencies", "x-own", "definitions", "contains", "minContains", "minimum",
    "exclusiveMaximum", "multipleOf", "maxLength", "minItems", "pattern", "format", "title",
    "description", "default", "examples", "deprecated", "readOnly", "uniqueItems", "propertyNames",
    "unevaluatedItems", "contentSchema", "contentEncoding", "$vocabulary", "$dynamicRef",
]  # fmt: skip
WORDS = st.sampled_from(KEYWORDS)
PARTS = st.recursive(
    JUNK,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(WORDS, inner, max_size=4)
        | st.dictionaries(st.sampled_from(["a", "b", "^a", "("]), inner, max_size=2)
    ),
    max_leaves=8,
)


@settings(max_examples=200)
@given(st.dictionaries(WORDS, PARTS, max_size=5), st.sampled_from(sorted(DRAFTS)), st.integers(-2, 2) | PARTS)
def test_what_is_seen_to_be_well_formed_the_meta_schema_accepts(schema: Any, named: str, value: Any) -> None:
    schema["$schema"] = named
    draft = DRAFTS[named]
    meta = draft(draft.META_SCHEMA, format_checker=draft.FORMAT_CHECKER)
    if Sight(schema).sure:
        assert meta.is_valid(schema)
    if not meta.is_valid(schema):
        assert check_schema(schema) != []
    assert isinstance(problems(value, schema), list)  # whatever it is: no exception


@pytest.mark.parametrize("name", OWN)
def test_our_own_schemas_are_well_formed_and_named_after_their_file(name: str) -> None:
    schema = dict(own(name))
    assert check_schema(schema) == []
    assert schema["$id"] == f"urn:ai-evolution:atdf:{name}"
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["title"]
    assert schema["description"]


DOCUMENTS = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(FORMS.glob("*.json"))]


@st.composite
def damaged(draw: st.DrawFn) -> Any:
    """A golden document of some form with one place in it changed."""
    value = copy.deepcopy(draw(st.sampled_from(DOCUMENTS)))
    here = value
    while True:
        key = draw(st.sampled_from(sorted(here) if isinstance(here, dict) else range(len(here))))
        below = here[key]
        if isinstance(below, dict | list) and below and draw(st.integers(0, 3)):
            here = below
            continue
        change = draw(st.sampled_from(["nothing", "remove", "replace", "add"]))
        if change == "remove":
            del here[key]
        elif change == "replace":
            here[key] = draw(JUNK | st.just({}) | st.just([]) | st.just("x"))
        elif change == "add" and isinstance(here, dict):
            here[draw(st.sampled_from(["x", "required", "id", "tool_id", "zh-Hant", "es-CO"]))] = draw(JUNK)
        return value


@settings(max_examples=200)
@given(damaged(), st.sampled_from(OWN))
def test_the_quick_yes_and_jsonschema_agree_on_every_document(value: Any, name: str) -> None:
    judge = Draft202012Validator(dict(own(name)), format_checker=Draft202012Validator.FORMAT_CHECKER)
    assert compiled(own(name))(value) == judge.is_valid(value)


def test_the_quick_yes_refuses_a_keyword_it_does_not_know() -> None:
    with pytest.raises(KeyError, match="propertyNames"):
        compiled({"propertyNames": True})
