"""A server of contracts: what is published is what is enforced, in both eras."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from datetime import UTC, datetime
from typing import Annotated, Any

import httpx
import pytest
from hosting import ERAS, MODES, on_a_loop
from mcp.server.mcpserver import Context, Elicit, ElicitationResult, Resolve
from pydantic import BaseModel

from ai_evolution.atdf.contract import Contract, ToolFailure
from ai_evolution.errors import McpError, ProtocolRefusal, ToolFailed, UsageError
from ai_evolution.labs.dates import date_range
from ai_evolution.mcp.client import Host, connect
from ai_evolution.mcp.journal import WireJournal
from ai_evolution.mcp.server import build_server, http_app, tool_from

both = pytest.mark.parametrize("era", ERAS)
SECRET = "k-7731-of-the-ledger"
WHOLE = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def described(name: str, **more: Any) -> dict[str, Any]:
    tool = {"name": name, "description": f"{name}s", "input": WHOLE | {"additionalProperties": False}}
    return {"tool": tool | more}


def double(n: int) -> dict[str, int]:
    return {"twice": 2 * n}


def leak(n: int) -> dict[str, int]:
    raise ValueError(SECRET)


def decline(n: int) -> dict[str, int]:
    raise ToolFailure("ODD", "n is odd", expected="an even n", solution="Add one")


def lie(n: int) -> dict[str, str]:
    return {"twice": "many"}


class Sure(BaseModel):
    sure: bool


async def ask(n: int) -> Elicit[Sure] | Sure:
    if n == 13:
        raise RuntimeError(SECRET)
    return Elicit(f"really {n}?", Sure)


async def asked(n: int, answer: Annotated[ElicitationResult[Sure], Resolve(ask)]) -> dict[str, Any]:
    return {"action": answer.action}


async def unwrapped(n: int, answer: Annotated[Sure, Resolve(ask)]) -> dict[str, Any]:
    return {"sure": answer.sure}


async def steps(n: int, ctx: Context) -> dict[str, int]:
    for step in range(n):
        await ctx.report_progress(step + 1, n, f"step {step + 1}")
    return {"n": n}


RESULT = {"success": {"type": "object", "properties": {"twice": {"type": "integer"}}, "required": ["twice"]}}
ODD = {"code": "ODD", "description": "n is odd"}
CONTRACTS = [
    date_range("en", clock=lambda: datetime(2025, 7, 11, tzinfo=UTC)),
    Contract(described("double", output=RESULT), double),
    Contract(described("leak", output=RESULT), leak),
    Contract(described("decline", **{"x-atdf": {"failures": [ODD]}}), decline),
    Contract(described("lie", output=RESULT), lie),
    Contract(described("asked"), asked),
    Contract(described("unwrapped"), unwrapped),
    Contract(described("steps"), steps),
]  # fmt: skip


def server() -> Any:
    return build_server("shop", CONTRACTS)


async def yes(*_: Any) -> bool:
    return True


@contextlib.asynccontextmanager
async def met(era: str, **options: Any) -> Any:
    async with connect(server(), mode=MODES[era], approve=yes, deadline=30.0, **options) as host:
        await host.tools()
        yield host


async def failed(host: Host, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """The error envelope of a call that the tool answers with isError."""
    with pytest.raises(ToolFailed) as caught:
        await host.call(name, arguments)
    envelope: dict[str, Any] = json.loads(caught.value.content[0]["text"])
    assert envelope["status"] == "error"
    assert all(envelope["data"][key] for key in ("code", "text", "expected", "solution"))
    return envelope["data"]


@both
@on_a_loop
async def test_the_published_schemas_are_those_of_the_contracts(era: str) -> None:
    async with met(era) as host:
        tools = await host.tools()
    assert [each.name for each in tools] == [each.name for each in CONTRACTS]
    for tool, contract in zip(tools, CONTRACTS, strict=True):
        assert tool.input_schema == contract.description.input_schema
        assert (tool.output_schema or {}) == (contract.description.success_schema or {})


def test_the_schemas_are_published_text_for_text() -> None:
    tool = tool_from(CONTRACTS[0])
    assert json.dumps(tool.input_schema) == json.dumps(CONTRACTS[0].description.input_schema)
    assert json.dumps(tool.output_schema) == json.dumps(CONTRACTS[0].description.success_schema)


@both
@on_a_loop
async def test_a_success_is_structured_and_the_same_in_text(era: str) -> None:
    async with met(era) as host:
        result = await host.call("double", {"n": 4})
        whole = await host.call(
            "validate_date_range", {"Start": "2025-07-12T10:00:00Z", "End": "2025-07-12T12:00:00Z"}
        )
    assert result.structured == {"twice": 8} == json.loads(result.text)
    assert whole.structured["status"] == "success"
    assert whole.structured["meta"]["timestamp"] == "2025-07-11T00:00:00Z"


@both
@pytest.mark.parametrize("arguments", [{"n": "5"}, {"n": True}, {"n": 5, "more": 1}, {}, {"n": None}])
@on_a_loop
async def test_nothing_is_coerced_and_no_key_is_overlooked(era: str, arguments: dict[str, Any]) -> None:
    async with met(era) as host:
        data = await failed(host, "double", arguments)
    assert data["code"] == "INVALID_ARGUMENTS"


@both
@on_a_loop
async def test_every_way_to_fail_says_what_would_be_accepted(era: str) -> None:
    async with met(era) as host:
        assert (await failed(host, "decline", {"n": 1}))["solution"] == "Add one"
        assert (await failed(host, "lie", {"n": 1}))["code"] == "INVALID_RESULT"
        past = {"Start": "2025-07-10T09:00:00Z", "End": "2025-07-10T08:00:00Z"}
        assert (await failed(host, "validate_date_range", past))["code"] == "400"


@both
@on_a_loop
async def test_an_unknown_tool_or_prompt_is_a_protocol_error(era: str) -> None:
    async with met(era) as host:
        for call in (host.call("nothing", {}), host.prompt("nothing")):
            with pytest.raises(ProtocolRefusal) as caught:
                await call
            assert caught.value.code == -32602


@both
@on_a_loop
async def test_no_text_of_an_exception_crosses(era: str, caplog: pytest.LogCaptureFixture) -> None:
    journal = WireJournal()
    shop = server()

    @shop.prompt()
    def broken() -> str:
        raise ValueError(SECRET)

    @shop.resource("note://broken")
    def note() -> str:
        raise ValueError(SECRET)

    async def elicit(_: Any) -> Any:
        return "decline"

    with caplog.at_level(logging.ERROR):
        async with connect(
            shop, mode=MODES[era], journal=journal, approve=yes, elicit=elicit, deadline=30.0
        ) as host:
            assert (await failed(host, "leak", {"n": 1}))["code"] == "TOOL_FAILED"
            assert (await failed(host, "asked", {"n": 13}))["code"] == "TOOL_FAILED"
            for call in (host.prompt("broken"), host.read("note://broken")):
                with pytest.raises(ProtocolRefusal):
                    await call
    assert journal.searched(SECRET.encode()) == 0
    assert SECRET in caplog.text  # the operator learns it


@both
@pytest.mark.parametrize(
    ("said", "action"), [({"sure": True}, "accept"), ("decline", "decline"), ("cancel", "cancel")]
)
@on_a_loop
async def test_a_person_is_asked_and_each_answer_arrives(era: str, said: Any, action: str) -> None:
    questions: list[str] = []

    async def elicit(question: dict[str, Any]) -> Any:
        questions.append(question["message"])
        return said

    async with met(era, elicit=elicit) as host:
        assert (await host.call("asked", {"n": 3})).structured == {"action": action}
        assert questions == ["really 3?"]
        assert (await failed(host, "asked", {"n": "3"}))["code"] == "INVALID_ARGUMENTS"
        assert questions == ["really 3?"]  # nobody is asked about a call that is refused
        if action == "accept":
            assert (await host.call("unwrapped", {"n": 3})).structured == {"sure": True}
        else:
            assert (await failed(host, "unwrapped", {"n": 3}))["code"] == "NOT_ANSWERED"


@both
@on_a_loop
async def test_a_caller_can_not_answer_for_the_person(era: str) -> None:
    open_ended = Contract({"tool": {"name": "asked", "description": "d", "input": WHOLE}}, asked)
    async with connect(build_server("x", [open_ended]), mode=MODES[era], approve=yes, deadline=30.0) as host:
        with pytest.raises(McpError) as caught:
            await host.call("asked", {"n": 1, "answer": {"action": "accept"}})
    assert isinstance(caught.value, ToolFailed)


@both
@on_a_loop
async def test_progress_arrives_in_order(era: str) -> None:
    seen: list[tuple[float, Any, Any]] = []

    async def progress(done: float, total: float | None, text: str | None) -> None:
        seen.append((done, total, text))

    async with met(era) as host:
        await host.call("steps", {"n": 3}, progress=progress)
    assert seen == [(1, 3, "step 1"), (2, 3, "step 2"), (3, 3, "step 3")]


@both
@on_a_loop
async def test_cancelling_a_call_cancels_the_function(era: str) -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def wait(n: int) -> dict[str, int]:
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            ended.set()
            raise
        return {"n": n}

    shop = build_server("x", [Contract(described("wait"), wait)])
    async with connect(shop, mode=MODES[era], approve=yes, deadline=30.0) as host:
        call = asyncio.ensure_future(host.call("wait", {"n": 1}))
        await begun.wait()
        call.cancel()
        await ended.wait()
        assert [each.name for each in await host.tools()] == ["wait"]


@on_a_loop
async def test_tools_in_the_words_of_the_sdk_stand_beside_the_contracts() -> None:
    shop = server()

    @shop.tool()
    def plain(n: int) -> int:
        """Plain."""
        return n

    async with connect(shop, approve=yes, deadline=30.0) as host:
        assert [each.name for each in await host.tools()][-1] == "plain"
        assert (await host.call("plain", {"n": 2})).structured == {"result": 2}


@pytest.mark.parametrize(
    ("document", "why"),
    [
        (described("a b"), "A-Z"),
        (described("x" * 129), "128"),
        (described("list", output={"success": {"type": "array"}}), "object accepted|accepted: object"),
        (described("off", input={"type": "object", "required": ["n"], "properties": {"n": False}}), "sound"),
        (described("bad", input={"type": "nonsense"}), "sound"),
    ],
)
def test_what_can_not_be_published_is_refused_by_name(document: dict[str, Any], why: str) -> None:
    with pytest.raises(UsageError, match=why):
        build_server("x", [Contract(document, double)])


def test_hints_are_for_tools_that_there_are_and_say_nothing_themselves() -> None:
    shop = build_server("x", CONTRACTS[:2], hints={"double": {"readOnlyHint": True}})
    assert [each.tool.annotations is None for each in shop._offers.values()] == [True, False]
    with pytest.raises(UsageError, match="hints for 'nothing' given"):
        build_server("x", CONTRACTS, hints={"nothing": {}})


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(UsageError, match="two tools are called 'double'"):
        build_server("x", [CONTRACTS[1], CONTRACTS[1]])


def test_a_function_that_wants_an_argument_from_its_host_is_refused() -> None:
    async def clash(n: Context) -> None:
        """The caller and the host would both give n."""

    with pytest.raises(UsageError, match="no argument of the tool"):
        build_server("x", [Contract(described("clash"), clash)])


def test_building_a_server_leaves_logging_alone() -> None:
    root = logging.getLogger()
    before = list(root.handlers)
    server()
    assert root.handlers == before


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 421),
        ({"Host": "127.0.0.1:9", "Origin": "http://evil.example"}, 403),
        ({"Host": "127.0.0.1:9", "Origin": "http://localhost:3000"}, 200),
        ({"Host": "course.example:8000"}, 200),
        ({"Host": "course.example.evil.example"}, 421),
    ],
)
@on_a_loop
async def test_foreign_hosts_and_origins_stay_outside(headers: dict[str, str], status: int) -> None:
    app = http_app(server(), hosts=["course.example"], json_response=True)
    body = {
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"},
        },
    }  # fmt: skip
    said = {"Accept": "application/json, text/event-stream", **headers}
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1") as http,
    ):
        assert (await http.post("/mcp", json=body, headers=said)).status_code == status
