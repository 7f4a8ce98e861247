"""The managed rung, through boto3, against a local endpoint that speaks AWS's own encoding."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import rungs
from agentcore_endpoint import Endpoint
from bridge_tools import INTEGER, tool

from ai_evolution.errors import SandboxUnavailable, UsageError
from ai_evolution.ptc.bridge import Bridge
from ai_evolution.ptc.limits import Limits
from ai_evolution.ptc.sandbox import Answer, Call
from ai_evolution.ptc.sandboxes import agentcore
from ai_evolution.ptc.sandboxes.agentcore import AgentCoreSandbox

pytest.importorskip("boto3", reason="boto3 is not installed: pip install boto3")
pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform == "win32", reason="the endpoint's sessions are POSIX processes"),
]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def shared() -> Iterator[tuple[Endpoint, Any]]:
    with Endpoint() as endpoint:
        yield endpoint, endpoint.client()


@pytest.fixture
def endpoint(shared: tuple[Endpoint, Any]) -> Endpoint:
    endpoint, _ = shared
    endpoint.asked.clear()
    assert not endpoint.sessions
    assert not any(endpoint._refusals.values())
    return endpoint


@pytest.fixture
def sandbox(shared: tuple[Endpoint, Any]) -> AgentCoreSandbox:
    return AgentCoreSandbox(client=shared[1], poll=0.2)


async def test_a_session_is_started_used_and_stopped(endpoint: Endpoint, sandbox: AgentCoreSandbox) -> None:
    async with await sandbox.open(rungs.TOOLS) as session:
        assert list(endpoint.sessions) == [session.session_id]
        outcome = await session.run("print('hi')\nx = (await get_budget('E1'))['cents']", rungs.answer)
        assert (outcome.ok, outcome.output) == (True, "hi\n")
        assert (await session.run("x + 1", rungs.answer)).value == 500_001
        assert endpoint.headers[-1]["x-amzn-code-interpreter-session-id"] == session.session_id
    assert endpoint.sessions == {}
    assert endpoint.asked[0][0] == "start"
    assert endpoint.asked[-1][0] == "stop"
    assert endpoint.started[-1]["sessionTimeoutSeconds"] == 900


async def test_errors_and_calls_are_told_as_on_any_rung(
    endpoint: Endpoint, sandbox: AgentCoreSandbox
) -> None:
    async with await sandbox.open(rungs.TOOLS) as session:
        outcome = await session.run("a = 1\nawait get_budget('E9')", rungs.answer)
    assert (outcome.ended, [call.ended for call in outcome.calls]) == ("error", ["error"])
    assert outcome.error is not None
    assert outcome.error.type == "ToolError"
    assert [(each.line, each.code) for each in outcome.error.frames] == [(2, "await get_budget('E9')")]


async def test_calls_made_together_are_answered_together(
    endpoint: Endpoint, sandbox: AgentCoreSandbox
) -> None:
    arrived, everybody = 0, asyncio.Event()

    async def wait(n: int) -> int:
        nonlocal arrived
        arrived += 1
        if arrived == 20:
            everybody.set()
        await everybody.wait()
        return n

    bridge = Bridge([tool("wait", wait, {"n": INTEGER}, INTEGER, reads=True)])
    async with await sandbox.open(bridge.stubs()) as session:
        endpoint.asked.clear()
        code = "import asyncio\nsum(await asyncio.gather(*[wait(n) for n in range(20)]))"
        assert (await bridge.run(session, code)).value == 190
        assert len([each for each in endpoint.asked if each[0] == "invoke"]) < 10


async def test_a_large_result_passes(endpoint: Endpoint, sandbox: AgentCoreSandbox) -> None:
    async def large(call: Call) -> Answer:
        return Answer("x" * 5_000_000)

    async with await sandbox.open(rungs.TOOLS) as session:
        outcome = await session.run("text = await echo(1)\nprint('y' * 500_000)\nlen(text)", large)
    assert (outcome.value, len(outcome.output)) == (5_000_000, 500_001)


async def test_at_the_deadline_the_managed_session_is_stopped(
    endpoint: Endpoint, sandbox: AgentCoreSandbox
) -> None:
    async with await sandbox.open((), Limits(seconds=1.0)) as session:
        first = session.session_id
        outcome = await session.run("print('so far', flush=True)\nwhile True: pass", rungs.answer)
        assert (outcome.ended, outcome.output) == ("timeout", "so far\n")
        assert endpoint.sessions == {}
        assert (await session.run("1 + 1", rungs.answer)).value == 2
        assert session.session_id != first
    assert endpoint.sessions == {}


async def test_the_memory_of_a_program_is_limited(endpoint: Endpoint, sandbox: AgentCoreSandbox) -> None:
    async with await sandbox.open((), Limits(memory=200_000_000)) as session:
        outcome = await session.run("len(bytearray(10**9))", rungs.answer)
    assert outcome.error is not None
    assert outcome.error.type == "MemoryError"


async def test_a_step_is_repeated_and_done_once(endpoint: Endpoint, sandbox: AgentCoreSandbox) -> None:
    async with await sandbox.open(rungs.TOOLS) as session:
        for how, code in (
            ("http", "ThrottlingException"),
            ("stream", "throttlingException"),
            ("lost", "internalServerException"),
            ("cut", ""),
        ):
            endpoint.refuse("invoke", how, code)
            outcome = await session.run("print('once')\nawait echo(7)", rungs.answer)
            assert (outcome.value, outcome.output, len(outcome.calls)) == (7, "once\n", 1), how


async def test_what_can_not_be_repeated_ends_the_run_and_the_session(
    endpoint: Endpoint, sandbox: AgentCoreSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agentcore, "PAUSE", 0.0)
    async with await sandbox.open(()) as session:
        for how, code, times, told in (
            ("stream", "accessDeniedException", 1, "AgentCore (accessdenied)"),
            ("stream", "validationException", 1, "AgentCore (validation)"),
            ("http", "AccessDeniedException", 1, "AgentCore (accessdenied)"),
            ("http", "ThrottlingException", 4, "AgentCore (throttling)"),
            ("error", "", 1, "AgentCore (execution)"),
            ("mute", "", 4, "AgentCore (protocol)"),
        ):
            assert (await session.run("1", rungs.answer)).value == 1
            endpoint.refuse("invoke", how, code, times)
            outcome = await session.run("1", rungs.answer)
            assert outcome.ended == "crash"
            assert outcome.error is not None
            assert outcome.error.message.startswith(told)
            assert endpoint.sessions == {}


async def test_a_session_that_aws_ended_by_itself_is_told_as_lost(
    endpoint: Endpoint, sandbox: AgentCoreSandbox
) -> None:
    async with await sandbox.open(()) as session:
        endpoint.sessions.pop(session.session_id).stop()
        outcome = await session.run("1", rungs.answer)
        assert outcome.error is not None
        assert "resourcenotfound" in outcome.error.message
        assert (await session.run("1", rungs.answer)).value == 1


@pytest.mark.parametrize("how", ["http", "stream"])
async def test_without_permission_the_rung_is_unavailable(
    endpoint: Endpoint, sandbox: AgentCoreSandbox, how: str
) -> None:
    operation = "start" if how == "http" else "invoke"
    endpoint.refuse(operation, how, "AccessDeniedException" if how == "http" else "accessDeniedException")
    with pytest.raises(SandboxUnavailable, match="accessdenied"):
        await sandbox.open(())
    assert endpoint.sessions == {}


async def test_a_session_that_may_go_on_is_never_passed_over_in_silence(
    endpoint: Endpoint, sandbox: AgentCoreSandbox
) -> None:
    session = await sandbox.open(())
    name = session.session_id
    endpoint.refuse("stop", "http", "InternalServerException")
    with pytest.raises(SandboxUnavailable, match=f"session {name} may go on for up to 900 s"):
        await session.close()
    endpoint.sessions.pop(name).stop()


async def test_preloaded_tools_run_inside_and_hide_the_bridged_ones(
    endpoint: Endpoint, shared: tuple[Endpoint, Any]
) -> None:
    source = "async def echo(value):\n    return f'inside {value}'"
    sandbox = AgentCoreSandbox(client=shared[1], preload=source, poll=0.2)
    async with await sandbox.open(rungs.TOOLS, Limits(seconds=2)) as session:
        outcome = await session.run("await echo(1)", rungs.answer)
        assert (outcome.value, outcome.calls) == ("inside 1", ())
        assert (await session.run("while True: pass", rungs.answer)).ended == "timeout"
        assert (await session.run("await echo(2)", rungs.answer)).value == "inside 2"


async def test_a_preload_that_fails_is_told_when_it_is_opened(
    endpoint: Endpoint, shared: tuple[Endpoint, Any]
) -> None:
    with pytest.raises(SandboxUnavailable, match="ZeroDivisionError"):
        await AgentCoreSandbox(client=shared[1], preload="1 / 0").open(())
    assert endpoint.sessions == {}


async def test_without_a_region_nothing_is_looked_for_on_the_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")
    monkeypatch.delenv("AWS_DEFAULT_REGION", raising=False)
    with pytest.raises(SandboxUnavailable, match="region"):
        await AgentCoreSandbox().open(())


@pytest.mark.parametrize("options", [{"session_seconds": 0}, {"session_seconds": 30_000}, {"poll": 0.0}])
def test_numbers_that_mean_nothing_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        AgentCoreSandbox(**options)
