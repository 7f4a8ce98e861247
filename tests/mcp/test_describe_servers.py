"""Any server's tools as ATDF documents, from the wire and without loss; bad servers end in one error."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hostile_servers import Server as Scripted
from hostile_servers import command, in_memory, tool
from hosting import ERAS, MODES, on_a_loop

from ai_evolution.atdf.shapes import validate
from ai_evolution.errors import McpError, UsageError
from ai_evolution.labs.dates import date_range
from ai_evolution.mcp.describe import FORMS, describe, described
from ai_evolution.mcp.server import build_server

RECORDED = sorted((Path(__file__).parents[2] / "sources" / "mcp_tools").glob("*.json"))


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_the_tools_of_real_servers_come_back_as_the_same_text(path: Path) -> None:
    tools = json.loads(path.read_text(encoding="utf-8"))["tools"]
    assert tools
    for each in tools:
        found = described(each)
        assert found.same
        assert found.losses == ()
        assert not validate(found.document)
        assert set(found.document["x-derived"]) == set(found.derived)


@pytest.mark.parametrize("era", ERAS)
@on_a_loop
async def test_a_live_server_is_described_from_the_wire(era: str) -> None:
    found = await describe(build_server("dates", [date_range("en")], version="3.1"), mode=MODES[era])
    assert (found.server, found.revision) == ({"name": "dates", "version": "3.1"}, era)
    assert [each["tool_id"] for each in found.documents] == ["validate_date_range"]
    assert found.lossless
    assert found.losses == ()
    assert "/0/how_to_use/outputs/success" in found.derived


class Paged(Scripted):
    """Two pages, members that no SDK knows, and keys in an order of its own."""

    def tools_list(self, message: Any, params: Any) -> Any:
        second = params.get("cursor") == "2"
        one = {"x-unknown": {"b": 1, "a": None}, **dict(reversed(tool(name="b" if second else "a").items()))}
        yield self.result(message, {"tools": [one], **({} if second else {"nextCursor": "2"})})


@on_a_loop
async def test_every_page_is_joined_with_what_no_sdk_knows() -> None:
    found = await describe(in_memory(Paged()))
    assert [each["name"] for each in found.tools] == ["a", "b"]
    assert [next(iter(each)) for each in found.tools] == ["x-unknown", "x-unknown"]
    assert found.lossless


@on_a_loop
async def test_a_form_with_less_room_says_what_it_loses() -> None:
    found = await describe(build_server("dates", [date_range("en")]), form="atdf-1")
    assert not found.lossless
    assert found.losses
    assert all(loss.pointer.startswith("/0/") for loss in found.losses)


@pytest.mark.parametrize("kind", ["Mute", "GarbageFirst", "Crashes"])
@on_a_loop
async def test_a_bad_server_ends_in_one_clear_error(kind: str) -> None:
    with pytest.raises(McpError):
        await describe(command(kind), deadline=2.0)


@on_a_loop
async def test_a_form_that_is_none_is_refused_before_anybody_is_spoken_to() -> None:
    with pytest.raises(UsageError, match=", ".join(FORMS)):
        await describe("http://127.0.0.1:9/mcp", form="mcp")
