"""Streamable HTTP under limits: what a server answers is bounded before the SDK gets to see it.

The SDK's HTTP transport reads a JSON body of any size, and an exception of the connection tears its tasks
down. ``Bounded`` stands beneath it: it reads no more than agreed, takes no compressed bodies (a few bytes can
hold gigabytes), and turns every end of a connection into an answer that names it.

It refuses to follow a proxy from the environment, and to wait for a goodbye (DELETE) longer than two seconds.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
from mcp.client.streamable_http import streamable_http_client

from ai_evolution.errors import McpError, ProtocolRefusal, ResultRefused, ServerLost
from ai_evolution.mcp.wire import Wire

_GOODBYE = 2.0
_CONNECT = 30.0
_BROKEN = (httpx2.TransportError, httpx2.StreamError, OSError, anyio.ClosedResourceError)


@asynccontextmanager
async def streamable(
    url: str,
    wire: Wire,
    *,
    headers: Mapping[str, str] | None = None,
    through: httpx2.AsyncBaseTransport | None = None,
) -> AsyncIterator[tuple[Any, Any]]:
    """The streams to the server at ``url``; ``through`` carries the requests (a network by default)."""
    bounded = Bounded(wire, through or httpx2.AsyncHTTPTransport())
    client = httpx2.AsyncClient(
        transport=bounded,
        headers={**(headers or {}), "accept-encoding": "identity"},
        timeout=httpx2.Timeout(None, connect=_CONNECT),
    )
    async with client, streamable_http_client(url, http_client=client, max_sse_event_size=None) as streams:
        yield streams


class Bounded(httpx2.AsyncBaseTransport):
    """An HTTP transport that never raises for what a server does, and never reads more than agreed."""

    def __init__(self, wire: Wire, inner: httpx2.AsyncBaseTransport) -> None:
        self._wire, self._inner = wire, inner

    async def aclose(self) -> None:
        """Close the transport beneath."""
        await self._inner.aclose()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The server's answer, or one in its place that stands for the error."""
        if request.method == "DELETE":
            with anyio.move_on_after(_GOODBYE), contextlib.suppress(*_BROKEN):
                return await self._inner.handle_async_request(request)
            return httpx2.Response(405)
        if request.method != "POST":
            response = await self._inner.handle_async_request(request)
            return self._streamed(request, response) if _is_stream(response) else response
        try:
            return await self._answered(request, await self._inner.handle_async_request(request))
        except _BROKEN as error:
            said = " ".join(str(error).split())[:200] or type(error).__name__
            return self._instead(request, ServerLost(f"{request.url}: the connection failed: {said}"))

    async def _answered(self, request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
        encoding = response.headers.get("content-encoding", "identity").strip().lower()
        if encoding not in ("", "identity"):
            await response.aclose()
            text = f"the answer is compressed ({encoding[:20]}), only an uncompressed one is accepted"
            return self._instead(request, ResultRefused(text))
        if response.status_code < 400 and _is_stream(response):
            return self._streamed(request, response)
        body = bytearray()
        async for chunk in _raw(response):
            body += chunk
            if len(body) > self._wire.limits.message:
                await response.aclose()
                return self._instead(request, self._wire.too_big(_method(request)))
        await response.aclose()
        if response.status_code >= 400 and not _is_error(bytes(body)):
            return self._instead(request, _status(response))
        headers = {k: v for k, v in response.headers.items() if k.lower() not in ("transfer-encoding",)}
        return httpx2.Response(response.status_code, headers=headers, content=bytes(body))

    def _streamed(self, request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
        events = _Events(self, request, response)
        return httpx2.Response(response.status_code, headers=response.headers, stream=events)

    def _instead(self, request: httpx2.Request, error: McpError) -> httpx2.Response:
        body = self.refusal(request, error)
        return httpx2.Response(500, headers={"content-type": "application/json"}, content=body)

    def refusal(self, request: httpx2.Request, error: McpError) -> bytes:
        """The JSON-RPC error that stands for ``error``, to the id of ``request``."""
        message = self._wire.refusal(_member(request, "id") or 0, error).message
        return bytes(message.model_dump_json(by_alias=True, exclude_unset=True).encode("utf-8"))

    @property
    def most(self) -> int:
        """Bytes of one message."""
        return self._wire.limits.message


class _Events(httpx2.AsyncByteStream):
    """Server-sent events, passed on whole; one that grows too long ends the stream with an error."""

    def __init__(self, bounded: Bounded, request: httpx2.Request, response: httpx2.Response) -> None:
        self._bounded, self._request, self._response = bounded, request, response
        self._post = request.method == "POST"

    async def __aiter__(self) -> AsyncIterator[bytes]:
        buffer, resumable = bytearray(), False
        try:
            async for chunk in _raw(self._response):
                start = max(0, len(buffer) - 3)
                buffer += chunk
                end = max(_after(buffer, blank, start) for blank in (b"\n\n", b"\r\n\r\n", b"\r\r"))
                if end:
                    whole = bytes(buffer[:end])
                    resumable = resumable or whole.startswith(b"id:") or b"\nid:" in whole
                    yield whole
                    del buffer[:end]
                if len(buffer) > self._bounded.most:
                    most = self._bounded.most
                    text = f"an event of the stream has over {most} bytes, at most {most} are accepted"
                    if self._post:
                        yield self._event(ResultRefused(text))
                    return
        except _BROKEN:
            pass
        if self._post and not resumable:
            yield self._event(ServerLost("the stream of events ended without an answer"))

    def _event(self, error: McpError) -> bytes:
        return b"event: message\ndata: " + self._bounded.refusal(self._request, error) + b"\n\n"

    async def aclose(self) -> None:
        await self._response.aclose()


def _raw(response: httpx2.Response) -> AsyncIterator[bytes]:
    """The body as it comes, also of a response that was made with its content."""
    stream = response.stream
    assert isinstance(stream, httpx2.AsyncByteStream)
    return aiter(stream)


def _after(buffer: bytearray, blank: bytes, start: int) -> int:
    found = buffer.rfind(blank, start)
    return 0 if found < 0 else found + len(blank)


def _is_stream(response: httpx2.Response) -> bool:
    return bool(response.headers.get("content-type", "").lower().startswith("text/event-stream"))


def _is_error(body: bytes) -> bool:
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        return False
    return isinstance(message, dict) and isinstance(message.get("error"), dict)


def _status(response: httpx2.Response) -> ProtocolRefusal:
    challenge = response.headers.get("www-authenticate")
    data = {"www-authenticate": challenge} if challenge else None
    text = f"the server answered HTTP {response.status_code} {response.reason_phrase}".rstrip()
    return ProtocolRefusal(text, response.status_code, data)


def _member(request: httpx2.Request, name: str) -> Any:
    try:
        message = json.loads(request.content)
    except (ValueError, httpx2.RequestNotRead):
        return None
    return message.get(name) if isinstance(message, dict) else None


def _method(request: httpx2.Request) -> str:
    return str(_member(request, "method") or "")
