"""Pins: what counts as a change, what does not, and the file they are kept in."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp.types import Tool

from ai_evolution.errors import DocumentError, ResultRefused
from ai_evolution.mcp.trust import Change, Pins, differences, fingerprint

LISTS = sorted((Path(__file__).resolve().parents[2] / "sources" / "mcp_tools").glob("*.json"))
REAL = [tool for path in LISTS for tool in json.loads(path.read_text(encoding="utf-8"))["tools"]]
TOOL: dict[str, Any] = {
    "name": "pay",
    "title": "Pay",
    "description": "Pays.",
    "inputSchema": {"type": "object", "properties": {"to": {"type": "string"}, "sum": {"type": "number"}}},
    "outputSchema": {"type": "object"},
    "annotations": {"destructiveHint": True},
}


def pins(*tools: Any) -> Pins:
    made = Pins()
    made.approve("bank", tools or [TOOL])
    return made


CHANGES: dict[str, Any] = {
    "/title": {"title": "Pay!"},
    "/description": {"description": "Pays. "},
    "/inputSchema/properties/to/type": {"inputSchema": {**TOOL["inputSchema"], "properties": {
        "to": {"type": "integer"}, "sum": {"type": "number"}}}},
    "/inputSchema/properties/bcc": {"inputSchema": {**TOOL["inputSchema"], "properties": {
        **TOOL["inputSchema"]["properties"], "bcc": {"type": "string"}}}},
    "/outputSchema/type": {"outputSchema": {"type": "string"}},
    "/outputSchema": {"outputSchema": None},
    "/annotations/destructiveHint": {"annotations": {"destructiveHint": False}},
    "/annotations/readOnlyHint": {"annotations": {"destructiveHint": True, "readOnlyHint": True}},
}  # fmt: skip


@pytest.mark.parametrize("where", CHANGES)
def test_a_change_of_any_of_it_is_one_and_is_pointed_at(where: str) -> None:
    changed = {**TOOL, **CHANGES[where]}
    assert fingerprint(changed) != fingerprint(TOOL)
    assert pins().check("bank", [changed]) == [Change("pay", "changed", (where,))]


def test_a_name_is_another_tool() -> None:
    assert pins().check("bank", [{**TOOL, "name": "Pay"}]) == [
        Change("Pay", "added"),
        Change("pay", "removed"),
    ]


def test_every_tool_of_a_server_that_is_not_known_is_new() -> None:
    assert pins().check("other bank", [TOOL]) == [Change("pay", "added")]


def _turned(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _turned(inner) for key, inner in reversed(value.items())}
    return [_turned(inner) for inner in value] if isinstance(value, list) else value


@pytest.mark.parametrize("tool", REAL, ids=lambda tool: tool["name"])
def test_a_real_tool_is_the_same_in_any_order_and_through_the_sdks_model(tool: dict[str, Any]) -> None:
    assert fingerprint(_turned(tool)) == fingerprint(tool) == fingerprint(Tool.model_validate(tool))


def test_icons_and_meta_and_what_is_null_are_not_in_it() -> None:
    dressed = {**TOOL, "icons": [{"src": "data:,"}], "_meta": {"a": 1}, "execution": {}}
    assert fingerprint(dressed) == fingerprint(TOOL)
    bare = {key: value for key, value in TOOL.items() if key != "title"}
    assert fingerprint({**TOOL, "title": None}) == fingerprint(bare)


def test_one_and_true_are_not_the_same() -> None:
    one, true = ({**TOOL, "inputSchema": {"const": value}} for value in (1, True))
    assert fingerprint(one) != fingerprint(true)
    assert pins(one).check("bank", [true]) == [Change("pay", "changed", ("/inputSchema/const",))]


def test_the_fingerprint_is_the_one_of_rfc_8785() -> None:
    tool = {"name": "é", "description": "\u20ac", "inputSchema": {"b": 1e2, "a": [1.0, 0.5]}}
    text = '{"description":"€","inputSchema":{"a":[1,0.5],"b":100},"name":"é"}'
    import hashlib

    assert fingerprint(tool) == "sha256:" + hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize(
    "value", [2**53 + 1, float("nan"), "\ud800"], ids=["too large an integer", "NaN", "half a surrogate pair"]
)
def test_what_two_readers_would_read_differently_cannot_be_pinned(value: Any) -> None:
    odd = {**TOOL, "inputSchema": {"const": value}}
    with pytest.raises(ResultRefused, match="can't be pinned"):
        fingerprint(odd)
    made = Pins()
    with pytest.raises(ResultRefused):
        made.approve("bank", [{**TOOL, "name": "first"}, odd])
    assert made.check("bank", []) == []


def test_bottomless_nesting_cannot_be_pinned() -> None:
    deep: Any = {}
    for _ in range(20_000):
        deep = {"not": deep}
    with pytest.raises(ResultRefused):
        fingerprint({**TOOL, "inputSchema": deep})


def test_what_was_approved_is_a_copy() -> None:
    tool = copy.deepcopy(TOOL)
    made = pins(tool)
    tool["inputSchema"]["properties"]["to"]["type"] = "integer"
    assert [each.where for each in made.check("bank", [tool])] == [("/inputSchema/properties/to/type",)]


def test_approval_can_be_taken_back() -> None:
    made = pins(TOOL, {**TOOL, "name": "ask"})
    made.withdraw("bank", "pay")
    assert made.check("bank", [TOOL]) == [Change("pay", "added"), Change("ask", "removed")]
    made.withdraw("bank")
    assert made.servers() == []


def test_a_mark_outlives_a_new_approval() -> None:
    made = Pins()
    made.approve("bank", [TOOL], destructive=["pay"])
    made.approve("bank", [{**TOOL, "annotations": {"readOnlyHint": True}}])
    assert made.destructive("bank", "pay")
    assert not made.destructive("bank", "ask")


def test_pins_are_the_same_after_a_file(tmp_path: Path) -> None:
    made = Pins()
    made.approve("bank", [TOOL], destructive=["pay"])
    made.approve("réal", REAL[:3])
    path = tmp_path / "pins.json"
    made.save(path)
    loaded = Pins.load(path)
    assert loaded.servers() == ["bank", "réal"]
    assert loaded.check("réal", REAL[:3]) == []
    assert loaded.destructive("bank", "pay")
    loaded.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    "edit",
    [
        lambda text: text.replace("Pays.", "Pays twice."),
        lambda text: text.replace("sha256:", "sha256:0"),
        lambda text: text.replace("mcp-pins/1", "mcp-pins/2"),
        lambda text: text[:-20],
        lambda text: "[]",
        lambda text: '{"schema": "ai-evolution/mcp-pins/1", "servers": {"bank": 5}}',
    ],
)
def test_a_file_that_was_edited_is_no_pins(edit: Any, tmp_path: Path) -> None:
    path = tmp_path / "pins.json"
    pins().save(path)
    path.write_text(edit(path.read_text(encoding="utf-8")), encoding="utf-8")
    with pytest.raises(DocumentError, match=r"pins\.json"):
        Pins.load(path)


def test_a_file_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="cannot be read"):
        Pins.load(tmp_path / "none.json")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-10, 10) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=60)
@given(JSON, JSON)
def test_there_are_differences_exactly_where_the_fingerprints_differ(old: Any, new: Any) -> None:
    schemas = ({"name": "a", "inputSchema": {"x": value}} for value in (old, new))
    same = len({fingerprint(each) for each in schemas}) == 1
    assert (list(differences(old, new)) == []) is same
