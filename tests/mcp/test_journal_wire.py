"""The wire journal: what it keeps on any transport, its canonical copy, its file, and replaying it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hostile_servers import TOOL, command, in_memory, with_tools
from hosting import ERAS, MODES, on_a_loop, started
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp import Client
from test_client_host import at, shop

from ai_evolution.errors import DeadlinePassed, DocumentError, ProtocolRefusal, ResultRefused
from ai_evolution.mcp.client import connect
from ai_evolution.mcp.journal import RECEIVED, SENT, WireJournal, replay

both = pytest.mark.parametrize("era", ERAS)


async def recording(era: str, served: Any = None, name: str = "add", **arguments: Any) -> WireJournal:
    journal = WireJournal()
    async with at(served or shop(), era, journal=journal) as host:
        await host.call(name, arguments)
    return journal


ONE_CALL = {
    "2026-07-28": {"2026-07-28": {"server/discover": 2, "tools/call": 2, "tools/list": 2}},
    "2025-11-25": {
        "2025-11-25": {"initialize": 2, "notifications/initialized": 1, "tools/call": 2, "tools/list": 2}
    },
}


@both
@on_a_loop
async def test_the_messages_that_one_call_takes_are_counted_by_era(era: str) -> None:
    journal = await recording(era, a=1, b=2)
    assert journal.counts() == ONE_CALL[era]


@both
@on_a_loop
async def test_each_message_has_its_direction_kind_method_and_bytes(era: str) -> None:
    journal = await recording(era, a=1, b=2)
    called, answered = journal.frames[-2:]
    assert (called.direction, called.kind, called.method) == (SENT, "request", "tools/call")
    assert (answered.direction, answered.kind, answered.method) == (RECEIVED, "response", "tools/call")
    assert answered.message["result"]["structuredContent"] == {"total": 3}
    for frame in journal.frames:
        assert json.loads(frame.raw) == frame.message
        assert frame.size == len(frame.raw)
        assert frame.era == era


@on_a_loop
async def test_an_old_server_asked_in_the_new_way_first_shows_both_eras() -> None:
    journal = WireJournal()
    async with connect(in_memory("Old"), journal=journal) as host:
        await host.call("count")
    assert journal.counts()["2026-07-28"] == {"server/discover": 2}
    assert journal.counts()["2025-11-25"]["initialize"] == 2


@both
@on_a_loop
async def test_two_conversations_have_the_same_canonical_messages_and_no_id_of_their_own(era: str) -> None:
    first, second = await recording(era, a=1, b=2), await recording(era, a=1, b=2)
    assert first.canonical() == second.canonical()
    ids = [each["message"]["id"] for each in first.canonical() if "id" in each["message"]]
    assert ids == [f"request-{n}" for n in (1, 1, 2, 2, 3, 3)]
    assert (await recording(era, a=1, b=3)).canonical() != first.canonical()


@both
@on_a_loop
async def test_a_pipe_shows_the_same_canonical_messages_as_memory(era: str) -> None:
    memory, pipe = WireJournal(), WireJournal()
    async with connect(in_memory("Honest"), mode=MODES[era], journal=memory) as host:
        await host.call("count")
    async with started("Honest", era, journal=pipe) as host:
        await host.call("count")
    assert memory.canonical() == pipe.canonical()
    raw = pipe.frames[-1].raw
    assert raw == json.dumps(json.loads(raw)).encode()  # as Python's json wrote it, blanks and all
    assert raw != memory.frames[-1].raw


@both
@on_a_loop
async def test_tokens_questions_and_states_are_named_by_their_order(era: str) -> None:
    async def elicit(question: Any) -> Any:
        return {"size": 1}

    async def progress(done: float, total: float | None, message: str | None) -> None: ...

    shown = []
    for _ in range(2):
        journal = WireJournal()
        async with at(shop(), era, journal=journal, elicit=elicit) as host:
            await host.call("walk", progress=progress)
            await host.call("fit")
        shown.append(journal.canonical())
    assert shown[0] == shown[1]
    assert {each["era"] for each in shown[0]} == {era}
    text = json.dumps(shown[0])
    assert '"progressToken": "token-1"' in text
    assert "question-1" in text if era == ERAS[1] else "state-1" in text


@both
@on_a_loop
async def test_a_cancellation_names_the_request_that_it_ends(era: str) -> None:
    journal = WireJournal()
    async with connect(in_memory("Stalls"), mode=MODES[era], journal=journal) as host:
        await host.tools()
        with pytest.raises(DeadlinePassed):
            await host.call("count", deadline=0.1)
    shown = {each["method"]: each["message"] for each in journal.canonical()}
    assert shown["notifications/cancelled"]["params"]["requestId"] == shown["tools/call"]["id"] == "request-3"


@both
@on_a_loop
async def test_a_planted_secret_is_found_wherever_it_crossed_and_only_there(era: str) -> None:
    journal = await recording(era, name="fail", served=_telling(), how="tell")
    assert journal.searched(b"4711") == 1
    assert journal.searched('caf\u00e9 "au lait"'.encode()) == 1
    assert journal.searched(b"0815") == journal.searched(b"") == 0


def _telling() -> Any:
    from mcp.server import MCPServer
    from mcp.types import ToolAnnotations

    served = MCPServer("teller")

    @served.tool(annotations=ToolAnnotations(read_only_hint=True))
    async def fail(how: str) -> list[Any]:
        from mcp.types import TextContent

        return [TextContent(type="text", text=f'{how} 4711, caf\u00e9 "au lait"')]

    return served


@on_a_loop
async def test_the_sdks_own_client_can_be_recorded() -> None:
    journal = WireJournal()
    async with Client(journal.record(in_memory("Honest"))) as client:
        await client.call_tool("count")
    assert journal.counts()["2026-07-28"]["tools/call"] == 2


@on_a_loop
async def test_what_is_no_message_is_kept_as_noise_and_what_is_broken_as_it_is() -> None:
    journal = WireJournal()
    with pytest.raises(ResultRefused):
        async with started("Garbage", journal=journal) as host:
            await host.call("count")
    noise = journal.add(RECEIVED, b"\xff not JSON")
    assert (noise.kind, noise.method, noise.message) == ("noise", "", {})
    assert journal.add(RECEIVED, b'{"id": 77, "result": 5}').kind == "response"
    assert journal.canonical()[-2]["message"] == "\ufffd not JSON"


@both
@on_a_loop
async def test_a_journal_is_shown_to_a_reader_in_both_languages(era: str) -> None:
    journal = await recording(era, a=1, b=2)
    english, spanish = journal.show(), journal.show("es")
    assert f"→ client to server · request tools/call · {era} · " in english
    assert f"← del servidor al cliente · respuesta a tools/call · {era} · " in spanish
    assert '"total": 3' in english


@both
@on_a_loop
async def test_a_journal_is_the_same_after_a_file(era: str, tmp_path: Path) -> None:
    journal = await recording(era, a=1, b=2)
    journal.add(RECEIVED, b"\xff\x00 noise")
    path = tmp_path / "wire.json"
    journal.dump(path)
    assert WireJournal.load(path).frames == journal.frames


SCHEMA = '"schema": "ai-evolution/mcp-journal/1"'
NO_JOURNALS = [
    "",
    "[]",
    "{}",
    '{"schema": "x", "frames": []}',
    f"{{{SCHEMA}}}",
    f'{{{SCHEMA}, "frames": [{{"direction": "up", "raw": ""}}]}}',
    f'{{{SCHEMA}, "frames": [{{"direction": "client->server", "base64": "?"}}]}}',
]


@pytest.mark.parametrize("text", NO_JOURNALS)
def test_a_file_that_is_none_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "wire.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DocumentError, match=r"wire\.json"):
        WireJournal.load(path)


@both
@on_a_loop
async def test_a_replayed_conversation_is_the_recorded_one(era: str) -> None:
    told: list[Any] = []

    async def elicit(question: Any) -> Any:
        return {"size": 5}

    async def progress(done: float, total: float | None, message: str | None) -> None:
        told.append(done)

    async def talk(target: Any, journal: WireJournal) -> list[Any]:
        async with connect(target, mode=MODES[era], journal=journal, elicit=elicit, deadline=20) as host:
            return [
                (await host.call("add", {"a": 1, "b": 2})).structured,
                (await host.call("walk", progress=progress)).text,
                (await host.call("fit")).text,
                (await host.call("add", {"a": 5, "b": 2})).structured,
            ]

    live, again = WireJournal(), WireJournal()
    assert await talk(shop(), live) == await talk(replay(live), again)
    assert again.canonical() == live.canonical()
    assert told == [1, 2, 3] * 2


@both
@on_a_loop
async def test_what_was_not_recorded_is_refused_by_the_replay(era: str) -> None:
    journal = await recording(era, a=1, b=2)
    async with connect(replay(journal), mode=MODES[era], deadline=20) as host:
        with pytest.raises(ProtocolRefusal, match="not in the recording"):
            await host.call("add", {"a": 2, "b": 1})
        assert (await host.call("add", {"b": 2, "a": 1})).structured == {"total": 3}
        with pytest.raises(ProtocolRefusal, match="or not so often"):
            await host.call("add", {"a": 1, "b": 2})


NAMES = st.sampled_from(["id", "method", "params", "result", "_meta", "progressToken", "requestId", "x"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner),
    max_leaves=12,
)


@settings(max_examples=60)
@given(st.binary(max_size=60) | JSON.map(lambda value: json.dumps(value).encode()))
def test_anything_can_be_kept_and_shown(raw: bytes) -> None:
    journal = WireJournal()
    for direction in (SENT, RECEIVED):
        journal.add(direction, raw)
    assert len(journal.canonical()) == 2
    assert journal.show()
    assert journal.counts()
    assert journal.searched(b"x") in (0, 1, 2)


def test_the_commands_of_the_tests_are_those_of_this_python() -> None:
    assert command("Honest")[-1] == "Honest"
    assert with_tools(TOOL).tools == (TOOL,)
