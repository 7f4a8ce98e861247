"""The recorded tools of real servers: every one of them survives ATDF and back, byte for byte."""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest

from ai_evolution.atdf.convert import TARGETS, convert, tools_losing
from ai_evolution.atdf.documents import dumps, load
from ai_evolution.atdf.losses import missing, reported
from ai_evolution.atdf.shapes import validate
from ai_evolution.atdf.translation import text_of

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "sources" / "mcp_tools"
FILES = sorted(FOLDER.glob("*.json"))
LISTS: dict[str, list[dict[str, Any]]] = {
    path.stem: json.loads(path.read_text(encoding="utf-8"))["tools"] for path in FILES
}
ALL = [tool for tools in LISTS.values() for tool in tools]
CASES = [pytest.param(tool, id=f"{name}-{tool['name']}") for name, tools in LISTS.items() for tool in tools]


def test_the_six_servers_are_there_with_their_licence_and_their_versions() -> None:
    counts = {"everything": 13, "fetch": 1, "filesystem": 14, "git": 12, "memory": 9, "time": 2}
    assert {name: len(tools) for name, tools in LISTS.items()} == counts
    assert "Permission is hereby granted" in (FOLDER / "LICENSE-MIT.txt").read_text(encoding="utf-8")
    told = (FOLDER / "README.md").read_text(encoding="utf-8")
    for name, tools in LISTS.items():
        row = next(line for line in told.splitlines() if line.startswith(f"| `{name}.json`"))
        assert f"| {len(tools)} | MIT |" in row


def test_the_recorder_pins_the_versions_that_the_page_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["record_tools.py"])
    servers = runpy.run_path(str(ROOT / "scripts" / "record_tools.py"))["SERVERS"]
    told = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert sorted(servers) == sorted(LISTS)
    for server in servers.values():
        assert f"`{server.package}` | {server.version} |" in told


@pytest.mark.parametrize("tool", CASES)
def test_a_real_tool_comes_back_from_atdf_2_byte_for_byte(tool: dict[str, Any]) -> None:
    there = convert(tool, "atdf-2")
    assert there.losses == ()
    assert validate(there.document, "atdf-2") == []
    assert text_of(convert(there.document, "mcp").document) == text_of(tool)


@pytest.mark.parametrize("tool", CASES)
def test_a_real_tool_comes_back_from_atdf_2_written_as_yaml(tool: dict[str, Any]) -> None:
    written = dumps(convert(tool, "atdf-2").document, "yaml").encode()
    document = load(written, "tool.yaml").value
    assert text_of(convert(document, "mcp").document) == text_of(tool)


@pytest.mark.parametrize("name", LISTS)
def test_a_whole_list_survives_as_a_list(name: str) -> None:
    listing = {"tools": LISTS[name]}
    for to in ("atdf-2", "atdf-tool", "atdf-tools"):
        there = convert(listing, to)
        assert there.lossless
        back = convert(there.document, "mcp").document
        assert missing(listing, back if to == "atdf-tools" else {"tools": back}) == {}
        if to == "atdf-2":
            assert text_of(back) == text_of(LISTS[name])


@pytest.mark.parametrize("to", TARGETS)
def test_what_a_real_tool_loses_on_the_way_to_any_form_is_what_was_reported(to: str) -> None:
    there = convert(ALL, to, source="mcp")
    documents = there.document["tools"] if to == "atdf-tools" else there.document
    back = [convert(one, "mcp", source=to).document for one in documents]
    back = [one[0] if isinstance(one, list) else one for one in back]
    assert missing(ALL, back) == reported(there.losses)


def test_the_flat_forms_lose_these_keywords_of_the_real_tools() -> None:
    flat = {
        "annotations": 51, "title": 51, "required": 41, "$schema": 36, "execution": 36, "outputSchema": 26,
        "default": 17, "type": 15, "items": 12, "properties": 6, "description": 6, "enum": 5, "anyOf": 3,
        "format": 2, "maximum": 2, "minItems": 2, "minimum": 2, "minLength": 1,
    }  # fmt: skip
    assert tools_losing(ALL, "atdf-1") == flat
    assert tools_losing(ALL, "openai") == {
        "annotations": 51, "execution": 36, "title": 36, "outputSchema": 26
    }  # fmt: skip
    for to in ("atdf-2", "atdf-tools", "atdf-tool"):
        assert tools_losing(ALL, to) == {}


def test_a_script_without_a_way_to_the_registry_says_so_in_one_line(tmp_path: Path) -> None:
    script = runpy.run_path(str(ROOT / "scripts" / "record_tools.py"))
    with pytest.raises(Exception, match=r"it can't be installed|can't be started") as caught:
        script["_run"]([sys.executable, "-c", "raise SystemExit('no such package')"], tmp_path)
    assert "no such package" in str(caught.value)
    assert "\n" not in str(caught.value)
