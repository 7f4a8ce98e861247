"""The host over Streamable HTTP: the same promises when bodies, streams and connections are bad."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx2
import pytest
from hostile_servers import KINDS, good
from hosting import BOUNDS, BRIEF, ERAS, MODES, SMALL, on_a_loop, refused

from ai_evolution.errors import (
    DeadlinePassed,
    McpError,
    ProtocolRefusal,
    ResultRefused,
    ServerLost,
    UsageError,
)
from ai_evolution.mcp.client import connect
from ai_evolution.mcp.journal import WireJournal

URL = "http://tools.example/mcp"
both = pytest.mark.parametrize("era", ERAS)
Reply = Callable[[dict[str, Any]], Any]


class Scripted(httpx2.AsyncBaseTransport):
    """An HTTP server without a network: honest, except for what ``call`` answers to a call."""

    def __init__(self, call: Reply | None = None, kind: str = "Honest") -> None:
        self._call = call
        self._server = KINDS[kind]()
        self.requests: list[httpx2.Request] = []

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(request)
        if request.method != "POST":
            return httpx2.Response(405)
        message = json.loads(request.content)
        if "id" not in message or "method" not in message:
            return httpx2.Response(202)
        if self._call is not None and message["method"] == "tools/call":
            reply = self._call(message)
            return await reply if asyncio.iscoroutine(reply) else reply
        answer = next(self._server.hear(message))
        return httpx2.Response(200, json=answer)


class Stream(httpx2.AsyncByteStream):
    def __init__(self, parts: AsyncIterator[bytes]) -> None:
        self._parts = parts

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._parts:
            yield part

    async def aclose(self) -> None: ...


def meet(call: Reply | None = None, era: str = ERAS[0], *, kind: str = "Honest", **options: Any) -> Any:
    given = {"deadline": 20.0, "max_bytes": SMALL, "limits": BOUNDS, **options}
    return connect(URL, mode=MODES[era], through=Scripted(call, kind), **given)


def events(parts: AsyncIterator[bytes]) -> httpx2.Response:
    return httpx2.Response(200, headers={"content-type": "text/event-stream"}, stream=Stream(parts))


async def endless(part: bytes) -> AsyncIterator[bytes]:
    while True:
        await asyncio.sleep(0)
        yield part


async def once(*parts: bytes) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


async def broken(part: bytes) -> AsyncIterator[bytes]:
    yield part
    raise httpx2.ReadError("connection reset")


def unreachable(_message: Any) -> Any:
    raise httpx2.ConnectError("all connection attempts failed")


def event(message: dict[str, Any]) -> bytes:
    return b"event: message\r\ndata: " + json.dumps(message).encode() + b"\r\n\r\n"


NOTE = event({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x"}})
JSON = {"content-type": "application/json"}
ZIPPED = gzip.compress(b" " * 10_000_000)

BAD: dict[str, tuple[Reply, type[McpError], str]] = {
    "a body that is too big": (
        lambda m: httpx2.Response(200, headers=JSON, stream=Stream(endless(b" " * 65_536))),
        ResultRefused,
        "tools/call has too many bytes, at most 100000",
    ),
    "a body that grows when it is unpacked": (
        lambda m: httpx2.Response(
            200, headers={**JSON, "content-encoding": "gzip"}, stream=Stream(once(ZIPPED))
        ),
        ResultRefused,
        r"compressed \(gzip\)",
    ),
    "a body that breaks off": (
        lambda m: httpx2.Response(200, headers=JSON, stream=Stream(broken(b'{"jsonrpc"'))),
        ServerLost,
        "connection reset",
    ),
    "an event without end": (
        lambda m: events(endless(b"data: xxxx\n")),
        ResultRefused,
        "an event of the stream",
    ),
    "events without end": (lambda m: events(endless(NOTE)), ResultRefused, "over 200 messages"),
    "a stream that breaks off": (lambda m: events(broken(NOTE)), ServerLost, "ended without an answer"),
    "a stream that ends": (lambda m: events(once(NOTE)), ServerLost, "ended without an answer"),
    "nobody there": (unreachable, ServerLost, "all connection attempts failed"),
    "a page of HTML": (
        lambda m: httpx2.Response(
            502, headers={"content-type": "text/html"}, content=b"<h1>Bad gateway</h1>"
        ),
        ProtocolRefusal,
        "HTTP 502",
    ),
    "a page of HTML that says 200": (
        lambda m: httpx2.Response(200, headers={"content-type": "text/html"}, content=b"<h1>Welcome</h1>"),
        ProtocolRefusal,
        "Unexpected content type",
    ),
}


@both
@pytest.mark.parametrize("case", BAD)
@on_a_loop
async def test_a_bad_answer_costs_the_call_and_names_itself(case: str, era: str) -> None:
    reply, error, match = BAD[case]
    async with meet(reply, era) as host:
        await host.tools()
        with pytest.raises(error, match=match):
            await host.call("count")
        if case != "events without end":
            assert await host.tools()


@both
@on_a_loop
async def test_garbage_in_a_body_is_no_answer(era: str) -> None:
    caught = await refused(meet(lambda m: httpx2.Response(200, headers=JSON, content=b"Hi!"), era), McpError)
    assert "JSON" in str(caught)


@both
@on_a_loop
async def test_a_stall_ends_with_the_deadline(era: str) -> None:
    async def never(_message: Any) -> Any:
        await asyncio.Event().wait()

    async with meet(never, era) as host:
        await host.tools()
        with pytest.raises(DeadlinePassed):
            await host.call("count", deadline=BRIEF)
        assert await host.tools()


@both
@on_a_loop
async def test_an_answer_in_a_stream_is_heard_with_what_came_before_it(era: str) -> None:
    journal = WireJournal()

    def reply(message: Any) -> Any:
        result = {"resultType": "complete", **good()} if era == ERAS[0] else good()
        answer = event({"jsonrpc": "2.0", "id": message["id"], "result": result})
        return events(once(b": hello\n\n", NOTE[:10], NOTE[10:] + answer[:5], answer[5:]))

    async with meet(reply, era, journal=journal) as host:
        assert (await host.call("count")).structured == {"n": 7}
    assert "notifications/message" in [frame.method for frame in journal.frames]


@on_a_loop
async def test_a_server_that_wants_to_know_who_asks_is_quoted() -> None:
    challenge = {"www-authenticate": 'Bearer resource_metadata="https://tools.example/.well-known/x"'}
    caught = await refused(meet(lambda m: httpx2.Response(401, headers=challenge)), ProtocolRefusal)
    assert (caught.code, caught.data) == (401, challenge)


@on_a_loop
async def test_headers_of_the_host_reach_the_server_and_nothing_compressed_is_asked_for() -> None:
    through = Scripted()
    async with connect(URL, through=through, headers={"authorization": "Bearer t"}) as host:
        await host.call("count")
    assert {request.headers["authorization"] for request in through.requests} == {"Bearer t"}
    assert {request.headers["accept-encoding"] for request in through.requests} == {"identity"}


@on_a_loop
async def test_a_server_that_is_not_there_is_lost_when_it_is_to_be_met() -> None:
    class Nobody(httpx2.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            raise httpx2.ConnectError("connection refused")

    for mode in ("auto", "legacy"):
        with pytest.raises(ServerLost, match="connection refused"):
            async with connect(URL, mode=mode, through=Nobody()):
                pass


@on_a_loop
async def test_what_is_no_url_is_refused_with_what_is_one() -> None:
    with pytest.raises(UsageError, match="a command is accepted as a list"):
        async with connect("python server.py"):
            pass
    with pytest.raises(UsageError, match="mode"):
        async with connect(URL, mode="1999-01-01"):
            pass
    with pytest.raises(UsageError, match="no server"):
        async with connect(5):
            pass


@both
@on_a_loop
async def test_the_sdks_own_server_is_spoken_to_over_http(era: str) -> None:
    from mcp.server import MCPServer
    from mcp.types import ToolAnnotations

    served = MCPServer("shop")

    @served.tool(annotations=ToolAnnotations(read_only_hint=True))
    async def double(n: int) -> int:
        return 2 * n

    app = served.streamable_http_app(host="127.0.0.1")
    async with app.router.lifespan_context(app):
        through = httpx2.ASGITransport(app)
        url = "http://127.0.0.1:8000/mcp"
        if era == ERAS[1]:  # the standing GET stream of that era can't be carried by this transport
            through = _WithoutGet(through)  # type: ignore[assignment]
        async with connect(url, mode=MODES[era], through=through) as host:
            assert host.revision == era
            assert (await host.call("double", {"n": 4})).structured == {"result": 8}


class _WithoutGet(httpx2.AsyncBaseTransport):
    def __init__(self, inner: httpx2.AsyncBaseTransport) -> None:
        self._inner = inner

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.method == "GET":
            return httpx2.Response(405)
        return await self._inner.handle_async_request(request)
