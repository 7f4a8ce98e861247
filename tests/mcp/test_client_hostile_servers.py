"""The host among servers that die, stall, flood, lie and print garbage: one clear error, in both eras."""

from __future__ import annotations

import asyncio
import contextlib
import http.server
import json
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hostile_servers as hostile
import pytest
from hostile_servers import good, tool, with_schema
from hosting import BRIEF, ERAS, SMALL, children, meet, on_a_loop, refused, started
from hypothesis import given, settings
from hypothesis import strategies as st

from ai_evolution.errors import (
    DeadlinePassed,
    EnvironmentProblem,
    McpError,
    ProtocolRefusal,
    ResultRefused,
    ServerLost,
    ToolFailed,
    UsageError,
)
from ai_evolution.mcp import results
from ai_evolution.mcp.client import Limits, connect
from ai_evolution.mcp.results import OutputSchema

both = pytest.mark.parametrize("era", ERAS)
needs_proc = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="children are read from /proc")

# --- in memory: what is said

REFUSED: dict[str, tuple[type[McpError], str, str]] = {
    "Floods": (ResultRefused, "over 200 messages that answer nothing", ""),
    "AnswersNobody": (ResultRefused, "over 200 messages that answer nothing", ""),
    "HugeResult": (ResultRefused, "tools/call has 300.* bytes, at most 100000", ""),
    "HugeResultIdLast": (ResultRefused, "at most 100000", ""),
    "Garbage": (ResultRefused, "no JSON-RPC", ""),
    "Bottomless": (ResultRefused, "no JSON-RPC", ""),
    "EndlessPages": (ResultRefused, "more than 100 pages", "/nextCursor"),
    "SameCursor": (ResultRefused, "a cursor that it gave before", "/nextCursor"),
    "SameName": (ResultRefused, "two tools are named 'count'", "/tools/1/name"),
    "NoTool": (ResultRefused, "none of the protocol", "/tools/1/inputSchema"),
    "WrongResult": (ResultRefused, '"seven" is not accepted', "/structuredContent/n"),
    "NoResult": (ResultRefused, "gave no structuredContent", "/structuredContent"),
    "Nonsense": (ResultRefused, "none of the protocol", "/content"),
}


@both
@pytest.mark.parametrize("kind", REFUSED)
@on_a_loop
async def test_an_answer_that_is_none_is_refused_by_name(kind: str, era: str) -> None:
    error, match, pointer = REFUSED[kind]
    caught = await refused(meet(kind, era), error)
    with pytest.raises(error, match=match):
        raise caught
    assert caught.pointer == pointer


@both
@on_a_loop
async def test_more_tools_than_anybody_has_are_refused(era: str) -> None:
    caught = await refused(meet("TooManyTools", era, max_bytes=4_000_000), ResultRefused)
    assert "over 1000 items" in str(caught)


@both
@on_a_loop
async def test_an_honest_server_in_either_era_is_heard(era: str) -> None:
    async with meet("TwoPages", era) as host:
        assert [each.name for each in await host.tools()] == ["count", "second"]
        result = await host.call("second")
        assert (host.revision, result.structured, json.loads(result.text)) == (era, {"n": 7}, {"n": 7})
        assert host.server == {"name": "hostile", "version": "1"}


@on_a_loop
async def test_a_server_of_the_old_era_is_found_out() -> None:
    async with meet("Old") as host:
        assert host.revision == "2025-11-25"


@both
@on_a_loop
async def test_a_stall_ends_with_the_deadline_and_the_server_is_told(era: str) -> None:
    heard: list[str] = []

    class Listens(hostile.Stalls):
        def hear(self, message: Any) -> Iterator[Any]:
            heard.append(message["method"])
            yield from super().hear(message)

    async with meet(Listens, era) as host:
        await host.tools()
        with pytest.raises(DeadlinePassed, match=r"tools/call count within 0\.4 s") as caught:
            await host.call("count", deadline=BRIEF)
        assert (caught.value.method, caught.value.seconds) == ("tools/call", BRIEF)
        assert [each.name for each in await host.tools()] == ["count"]
    assert "notifications/cancelled" in heard


@both
@on_a_loop
async def test_a_call_given_up_by_its_caller_leaves_the_host_at_work(era: str) -> None:
    async with meet("Stalls", era) as host:
        await host.tools()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(BRIEF):
                await host.call("count")
        assert await host.tools()


@both
@on_a_loop
async def test_after_a_result_that_was_too_big_the_next_call_is_answered(era: str) -> None:
    async with meet("HugeResult", era) as host:
        with pytest.raises(ResultRefused, match="at most"):
            await host.call("count")
        assert (await host.call("count")).structured == {"n": 7}


@both
@on_a_loop
async def test_structured_content_beside_an_error_does_not_hide_the_error(era: str) -> None:
    caught = await refused(meet("FailsWithStructure", era), ToolFailed)
    assert str(caught) == "count failed: no⟨U+200B⟩ numbers left"
    assert caught.content == ({"type": "text", "text": "no\u200b numbers left"},)
    assert caught.structured == {"secret": True}


@both
@on_a_loop
async def test_a_server_cannot_borrow_the_words_of_the_connection_or_of_the_host(era: str) -> None:
    caught = await refused(meet("Refuses", era), ProtocolRefusal)
    assert (caught.code, caught.data) == (-32000, {"why": "mood"})
    caught = await refused(meet("Forges", era), ProtocolRefusal)
    assert caught.code == -32603


@on_a_loop
async def test_questions_without_end_are_ended() -> None:
    asked = []

    async def elicit(question: dict[str, Any]) -> dict[str, Any]:
        asked.append(question["message"])
        return {}

    caught = await refused(meet("Asks", elicit=elicit), ResultRefused)
    assert "more than 10 times" in str(caught)
    assert asked == ["More?"] * 10


@on_a_loop
async def test_what_the_hosts_own_callback_raises_comes_out_as_it_is() -> None:
    async def elicit(question: dict[str, Any]) -> dict[str, Any]:
        raise KeyError("the form is lost")

    with pytest.raises(KeyError, match="the form is lost"):
        async with meet("Asks", elicit=elicit) as host:
            await host.call("count")


# --- output schemas of a stranger


@both
@on_a_loop
async def test_a_schema_that_points_out_of_itself_is_never_fetched_and_its_results_are_refused(
    era: str,
) -> None:
    fetched = []

    class Schemas(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            fetched.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *args: Any) -> None: ...

    with http.server.HTTPServer(("127.0.0.1", 0), Schemas) as listening:
        threading.Thread(target=listening.serve_forever, args=(0.02,), daemon=True).start()
        try:
            address = f"http://127.0.0.1:{listening.server_port}/schema.json"
            for schema in (
                {"type": "object", "$ref": address},
                {"type": "object", "$ref": "file:///etc/hostname"},
            ):
                caught = await refused(meet(with_schema(schema), era), ResultRefused)
                assert "its output schema is none" in str(caught)
        finally:
            listening.shutdown()
    assert fetched == []


@on_a_loop
async def test_a_schema_that_is_none_is_no_excuse() -> None:
    caught = await refused(meet(with_schema({"type": "object", "properties": 5})), ResultRefused)
    assert "its output schema is none at /properties" in str(caught)


EVIL = {"type": "object", "properties": {"n": {"type": "string", "pattern": "^(a+)+$"}}}
EVIL_CHOICE = {"type": "object", "properties": {"n": {"type": "string", "pattern": "a?" * 40 + "a" * 40}}}


@pytest.mark.parametrize("schema", [EVIL, EVIL_CHOICE], ids=["repeats", "choices"])
@on_a_loop
async def test_a_pattern_that_would_never_end_is_ended_and_the_loop_goes_on(
    schema: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(results, "SECONDS", 0.5)
    server = with_schema(schema, {"n": "a" * 39 + "!"})
    turns = 0

    async def turning() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0.05)
            turns += 1

    task = asyncio.create_task(turning())
    caught = await refused(meet(server), ResultRefused)
    task.cancel()
    assert "patterns take over 0.5 s" in str(caught)
    assert turns > 3


def test_patterns_in_a_process_of_their_own_are_judged_as_here() -> None:
    schema = {
        "type": "object",
        "properties": {"id": {"type": "string", "pattern": "^[a-z]+$"}, "at": {"pattern": r"^(\d+)-(\d+)?$"}},
        "anyOf": [{"properties": {"at": {"pattern": "^(1|2)"}}}, {"required": ["never"]}],
    }
    judge = OutputSchema(schema)
    assert judge.slow
    assert judge.problem({"id": "abc", "at": "1-2"}) is None
    assert judge.problem({"id": "ABC", "at": "1-2"}).pointer == "/id"  # type: ignore[union-attr]
    assert judge.problem({"id": "abc", "at": "x"}).pointer == "/at"  # type: ignore[union-attr]
    assert judge.problem({"id": "abc", "at": "3-4"}).keyword == "anyOf"  # type: ignore[union-attr]


def test_patterns_of_names_are_plain_or_nothing_is_judged_by_them() -> None:
    plain = OutputSchema({"patternProperties": {"^x-": {"type": "integer"}}, "additionalProperties": False})
    assert plain.problem({"x-a": 1}) is None
    assert plain.problem({"x-a": "1"}).pointer == "/x-a"  # type: ignore[union-attr]
    assert plain.problem({"y": 1}).keyword == "additionalProperties"  # type: ignore[union-attr]
    evil = OutputSchema({"patternProperties": {"^(a+)+$": {}}, "additionalProperties": False})
    assert "not plain" in evil.problem({"a" * 40 + "!": 1}).message  # type: ignore[union-attr]


def test_references_that_multiply_are_not_followed_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "MOST", 1_000)
    levels: dict[str, Any] = {
        f"l{n}": {"allOf": [{"$ref": f"#/$defs/l{n + 1}"}, {"$ref": f"#/$defs/l{n + 1}"}]} for n in range(40)
    }
    levels["l40"] = {"pattern": "^x$"}
    judge = OutputSchema({"$ref": "#/$defs/l0", "$defs": levels})
    assert "multiply" in judge.problem("x").message  # type: ignore[union-attr]


# --- as processes: what is done


@both
@needs_proc
@on_a_loop
async def test_a_server_killed_within_a_call_is_reported_at_once_and_for_good(era: str) -> None:
    before = children()
    async with started("Dies", era) as host:
        await host.tools()
        with pytest.raises(ServerLost, match="signal 9"):
            await host.call("count")
        with pytest.raises(ServerLost):
            await host.call("count")
    assert children() == before


@needs_proc
@on_a_loop
async def test_a_killed_server_whose_child_keeps_the_pipe_open_is_reported_and_the_child_is_ended() -> None:
    before = children()
    heirs: list[int] = []
    async with started("DiesWithAHeir") as host:
        await host.tools()
        group = (children() - before).pop()
        with pytest.raises(ServerLost, match="signal 9"):
            await host.call("count")
        heirs = [pid for pid in _group(group) if pid != group]
        assert heirs
    assert children() == before
    for pid in heirs:
        await _gone(pid)


def _group(pgid: int) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(ProcessLookupError, ValueError):
            if os.getpgid(int(entry.name)) == pgid:
                found.append(int(entry.name))
    return found


def _ended(pid: int) -> bool:
    """Gone, or dead and waiting for whoever inherited it (it is no child of ours)."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return True
    return stat.rpartition(")")[2].split()[0] in "ZX"


async def _gone(pid: int) -> None:
    async with asyncio.timeout(10):
        while not _ended(pid):  # noqa: ASYNC110  (nobody tells us of the end of a stranger)
            await asyncio.sleep(0.01)


async def _fails_with(meeting: Any) -> None:
    async with meeting as host:
        await host.call("count")
        raise ZeroDivisionError


@on_a_loop
async def test_a_server_that_cannot_start_says_why() -> None:
    with pytest.raises(ServerLost, match=r"code 3; its last words: .*No module named 'wisdom'"):
        async with started("Crashes"):
            pass
    with pytest.raises(EnvironmentProblem, match="'no-such-server' cannot be started"):
        async with connect(["no-such-server"]):
            pass
    with pytest.raises(UsageError, match="no command"):
        async with connect([]):
            pass


@needs_proc
@on_a_loop
async def test_a_server_that_hears_nothing_is_left_at_the_deadline_and_killed() -> None:
    before = children()
    with pytest.raises(DeadlinePassed, match="no answer to server/discover"):
        async with started("Mute", deadline=BRIEF):
            pass
    assert children() == before


PROCESSES = {
    "HugeLine": "a line of over .* at most 100000",
    "HugeResult": "at most 100000",
    "HugeResultIdLast": "at most 100000",
    "Floods": "over 200 messages",
    "Garbage": r"no JSON-RPC message: 'Starting up\.\.\. ⟨U\+001B⟩",
    "NotUtf8": "no JSON-RPC message",
    "Bottomless": "no JSON-RPC message",
}


@needs_proc
@pytest.mark.parametrize("kind", PROCESSES)
@on_a_loop
async def test_what_a_process_prints_is_bounded(kind: str) -> None:
    before = children()
    caught = await refused(started(kind), ResultRefused)
    with pytest.raises(ResultRefused, match=PROCESSES[kind]):
        raise caught
    assert children() == before


@on_a_loop
async def test_noise_is_taken_when_the_limits_say_so() -> None:
    async with started("GarbageFirst", limits=Limits(noise=3)) as host:
        assert (await host.call("count")).structured == {"n": 7}


@on_a_loop
async def test_a_process_goes_on_after_a_line_that_was_too_long() -> None:
    async with started("HugeResult") as host:
        with pytest.raises(ResultRefused):
            await host.call("count")
        assert (await host.call("count")).structured == {"n": 7}


@needs_proc
@on_a_loop
async def test_an_error_of_the_application_passes_as_it_is_and_leaves_nobody_behind() -> None:
    before = children()
    with pytest.raises(ZeroDivisionError):
        await _fails_with(started("Honest"))
    assert children() == before


@needs_proc
@on_a_loop
async def test_a_task_that_is_cancelled_leaves_nobody_behind() -> None:
    before = children()
    reached = asyncio.Event()

    async def work() -> None:
        async with started("Stalls") as host:
            await host.tools()
            reached.set()
            await host.call("count")

    task = asyncio.create_task(work())
    await reached.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert children() == before


# --- whatever is said

WORDS = st.sampled_from(["text", "complete", "input_required", "2026-07-28", "n", "count"])
MEMBERS = st.sampled_from(
    [
        *("content", "structuredContent", "isError", "_meta", "resultType", "inputRequests", "requestState"),
        *("tools", "name", "inputSchema", "outputSchema", "annotations", "nextCursor", "type", "text", "n"),
        *("supportedVersions", "capabilities", "protocolVersion", "serverInfo", "method", "params", "id"),
        *("code", "message", "jsonrpc"),
    ]
)
ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(MEMBERS, inner, max_size=4),
    max_leaves=15,
)
RESULT = st.fixed_dictionaries({"content": ANY}, optional={"structuredContent": ANY, "isError": ANY})
LISTED = st.fixed_dictionaries(
    {"name": st.just("count") | st.text(max_size=3), "inputSchema": ANY | st.just({"type": "object"})},
    optional={"outputSchema": ANY | st.fixed_dictionaries({"type": st.just("object"), "properties": ANY})},
)
SAID = (
    st.tuples(st.sampled_from(["tools/call", "tools/list", "server/discover", "initialize"]), ANY)
    | st.tuples(st.just("tools/call"), RESULT)
    | st.tuples(st.just("tools/list"), st.fixed_dictionaries({"tools": st.lists(LISTED, max_size=3)}))
)


@settings(max_examples=60)
@given(SAID, st.sampled_from(["result", "error", "line"]), st.sampled_from(ERAS))
def test_whatever_a_server_says_ends_in_a_result_or_in_an_error_of_ours(
    said: Any, where: str, era: str
) -> None:
    method, value = said

    class Says(hostile.Server):
        def hear(self, message: Any) -> Iterator[Any]:
            if message.get("method") != method:
                yield from super().hear(message)
            elif where == "line":
                yield json.dumps(value)
            else:
                yield {"jsonrpc": "2.0", "id": message["id"], where: value}

    @on_a_loop
    async def talk() -> None:
        with contextlib.suppress(McpError):
            async with meet(Says, era, deadline=0.1) as host:
                await host.call("count")

    talk()


def test_the_small_limit_is_small() -> None:
    assert len(json.dumps(good())) < SMALL < 300_000
    assert tool(name="x")["name"] == "x"
