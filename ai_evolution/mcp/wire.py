"""The wire between the host and a server that may be anything: bounded, and honest about how it ended.

A ``Wire`` stands between a transport and the SDK's session. It counts what the server says without being
asked, keeps the first fault, and remembers how the connection ended; the client turns that into one error.

It refuses to mend: a message is passed on as it is, replaced by an error of its own, or it ends the wire.
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
from mcp.shared.message import SessionMessage
from mcp.types import INTERNAL_ERROR, ErrorData, JSONRPCError, JSONRPCNotification, JSONRPCRequest

from ai_evolution.errors import McpError, ResultRefused
from ai_evolution.mcp.journal import raw_of

REFUSAL = "ai-evolution/refusal"


@dataclass(frozen=True)
class Limits:
    """What is taken from a server.

    ``message``: bytes of one message. ``unasked``: messages between two answers that answer nothing.
    ``noise``: lines on stdout that are no JSON-RPC. ``pages`` and ``tools`` (items) of one list. ``rounds``
    of questions within one call. ``grace``: seconds that a process gets to leave by itself.
    """

    message: int = 4_194_304
    unasked: int = 10_000
    noise: int = 0
    pages: int = 100
    tools: int = 1_000
    rounds: int = 10
    grace: float = 2.0


@dataclass
class RawMessage(SessionMessage):
    """A message with its bytes as they crossed."""

    raw: bytes = b""


@dataclass
class Wire:
    """What is known of one connection while it lasts, and after."""

    limits: Limits
    fault: McpError | None = None
    ended: bool = False
    words: str = ""
    """How the process ended and what it said last, for a message; the text is the server's."""
    waiting: dict[Any, str] = field(default_factory=dict)
    """The method of each request that has no answer yet, by its id."""
    _refusals: dict[str, McpError] = field(default_factory=dict)
    _unasked: int = 0

    def refusal(self, request_id: Any, error: McpError) -> SessionMessage:
        """An error in the place of an answer; ``refused`` finds ``error`` again, no server can forge it."""
        token = secrets.token_hex(16)
        self._refusals[token] = error
        data = ErrorData(code=INTERNAL_ERROR, message="refused by the host", data={REFUSAL: token})
        return SessionMessage(JSONRPCError(jsonrpc="2.0", id=request_id, error=data))

    def refused(self, data: Any) -> McpError | None:
        """What ``refusal`` was given, when ``data`` is that of such an answer."""
        token = data.get(REFUSAL) if isinstance(data, dict) else None
        return self._refusals.pop(token, None) if isinstance(token, str) else None

    def too_big(self, method: str, size: int | None = None) -> ResultRefused:
        """The error for a message beyond the limit."""
        seen = f"{size} bytes" if size is not None else "too many bytes"
        most = self.limits.message
        text = f"the answer to {method or 'nothing'} has {seen}, at most {most} bytes are accepted"
        return ResultRefused(text)

    def sent(self, message: Any) -> None:
        """Note a message of the host."""
        if isinstance(message, JSONRPCRequest):
            self.waiting[message.id] = message.method

    def heard(self, message: Any) -> None:
        """Note a message of the server; too many in a row that answer nothing are a fault."""
        unasked = isinstance(message, (JSONRPCRequest, JSONRPCNotification))
        if not unasked and self.waiting.pop(message.id, None) is not None:
            self._unasked = 0
            return
        self._unasked += 1
        if self._unasked > self.limits.unasked:
            self.fail(
                ResultRefused(f"the server sent over {self.limits.unasked} messages that answer nothing")
            )

    def fail(self, error: McpError) -> None:
        """Keep the first fault."""
        self.fault = self.fault or error


@asynccontextmanager
async def metered(wire: Wire, transport: Any, *, measured: bool) -> AsyncIterator[tuple[Any, Any]]:
    """``transport`` under the eyes of ``wire``; with ``measured`` each message is weighed here."""
    async with transport as (read, write):
        yield _Reading(wire, read, measured), _Writing(wire, write)


class _Reading:
    def __init__(self, wire: Wire, inner: Any, measured: bool) -> None:
        self._wire, self._inner, self._measured = wire, inner, measured

    @property
    def last_context(self) -> Any:
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> Any:
        if self._wire.fault is None:
            try:
                item = await self._inner.receive()
            except (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
                self._wire.ended = True
                raise anyio.EndOfStream from None
            item = self._judged(item)
            if self._wire.fault is None:
                return item
        self._wire.ended = True
        raise anyio.EndOfStream

    def _judged(self, item: Any) -> Any:
        if isinstance(item, Exception):
            self._wire.fail(ResultRefused(f"the server sent what is no JSON-RPC: {type(item).__name__}"))
            return item
        message = item.message
        method = self._wire.waiting.get(getattr(message, "id", None), "")
        self._wire.heard(message)
        if self._measured:
            size = len(raw_of(item) or b"")
            if size > self._wire.limits.message:
                error = self._wire.too_big(method, size)
                if isinstance(message, (JSONRPCRequest, JSONRPCNotification)):
                    self._wire.fail(error)
                else:
                    return self._wire.refusal(message.id, error)
        return item

    def __aiter__(self) -> _Reading:
        return self

    async def __anext__(self) -> Any:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def __aenter__(self) -> _Reading:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()


class _Writing:
    def __init__(self, wire: Wire, inner: Any) -> None:
        self._wire, self._inner = wire, inner

    async def send(self, item: Any) -> None:
        self._wire.sent(item.message)
        await self._inner.send(item)

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def __aenter__(self) -> _Writing:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()
