"""The guarded wire between our client and one agent.

The SDK's client speaks through ``Guard``, an httpx transport over the connection that the
caller gave. It keeps four promises that the SDK does not make: nothing is sent to another
origin, the bearer token goes to that origin only, no redirect is followed, and no answer,
event or stream grows past its limit. JSON-RPC ids, which the SDK draws at random and offers no
way to choose, are replaced by ``new_id()`` on their way out (HTTP pairs the answer with its request).

``translated`` turns whatever the SDK, protobuf or httpx may raise into ``CallRefused``.
It refuses to guess: an answer that is no A2A answer is ``INVALID_AGENT_RESPONSE`` (-32006,
the specification's own word), whoever noticed it first.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import httpx
from a2a.client.errors import A2AClientTimeoutError
from a2a.utils.errors import A2A_ERROR_REASONS, JSON_RPC_ERROR_CODE_MAP
from a2a.utils.errors import A2AError as SdkError
from google.protobuf import json_format

from ai_evolution.a2a.addresses import origin
from ai_evolution.errors import AiEvolutionError, CallRefused

INVALID_AGENT_RESPONSE = -32006
TRY_AGAIN = frozenset({429, 502, 503, 504})
"""HTTP statuses that say "not now": treated like a lost reply."""

OPEN: ContextVar[list[httpx.Response] | None] = ContextVar("open_replies", default=None)
"""Replies opened by the call in progress, so that leaving a stream closes it at once.
The SDK nests generators, and Python closes the inner ones whenever it gets round to it."""


@dataclass(frozen=True)
class Limits:
    """How much of a stranger we bear. Sizes in bytes, times in seconds."""

    card: int = 262_144
    event: int = 1_048_576
    reply: int = 16_777_216
    events: int = 10_000
    idle: float = 30.0
    """A stream silent for so long is given up, and the task is looked up instead."""
    grace: float = 2.0
    """How long a last, best-effort cancel may take once the deadline has passed."""


class Lost(CallRefused):
    """No answer came, or it broke off: whether the agent acted is not known."""

    def __init__(self, message: str, code: int = 0) -> None:
        super().__init__(message, code=code, reason="CONNECTION_LOST")


def garbled(message: str) -> CallRefused:
    """The error for an answer that the protocol does not allow."""
    return CallRefused(message, code=INVALID_AGENT_RESPONSE, reason="INVALID_AGENT_RESPONSE")


def plain(text: object, limit: int = 300) -> str:
    """A stranger's text made fit for one line: no control or format characters, ``limit`` at most."""
    raw = str(text)[: limit * 8]
    kept = "".join(c if unicodedata.category(c)[0] != "C" else " " for c in raw)
    line = " ".join(kept.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def origin_of(url: str | httpx.URL) -> str:
    """``addresses.origin`` of a URL as httpx would call it (names in Punycode); ``""`` when it has none.

    Addresses with a user name in them have no origin that we would trust.
    """
    try:
        text = str(httpx.URL(url))
    except (httpx.InvalidURL, TypeError, ValueError):
        return ""
    return origin(text) or ""


class Guard(httpx.AsyncBaseTransport):
    """Carries the SDK's requests over ``http``, to ``origin`` and nowhere else. Never closes ``http``."""

    def __init__(
        self,
        http: httpx.AsyncClient,
        origin: str,
        token: str | None,
        limits: Limits,
        new_id: Callable[[], str],
    ) -> None:
        self._http, self._origin, self._token = http, origin, token
        self._limits, self._new_id = limits, new_id

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if origin_of(request.url) != self._origin:
            raise CallRefused(f"a request to {request.url} was held back: only {self._origin} is agreed")
        reply = await self._http.send(
            self._onward(request, await request.aread()), stream=True, follow_redirects=False
        )
        opened = OPEN.get()
        if opened is not None:
            opened.append(reply)
        if reply.headers.get("content-encoding", "identity") != "identity":
            await reply.aclose()
            raise garbled("the agent compressed an answer that was asked for as it is")
        stream = _Bounded(reply, self._limits)
        return httpx.Response(reply.status_code, headers=reply.headers, stream=stream, request=request)

    def _onward(self, request: httpx.Request, body: bytes) -> httpx.Request:
        headers = httpx.Headers(request.headers)
        for name in ("host", "content-length"):
            headers.pop(name, None)
        headers["Accept-Encoding"] = "identity"
        if self._token is not None:
            headers["Authorization"] = f"Bearer {self._token}"
        return self._http.build_request(
            request.method,
            request.url,
            headers=headers,
            content=self._with_our_id(body) if body else None,
            extensions=request.extensions,
        )

    def _with_our_id(self, body: bytes) -> bytes:
        try:
            call = json.loads(body)
        except ValueError:
            return body
        if not isinstance(call, dict) or "jsonrpc" not in call:
            return body
        call["id"] = self._new_id()
        return json.dumps(call, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode("utf-8")


SEPARATORS = {b"\xe2\x80\xa8": b"\\u2028", b"\xe2\x80\xa9": b"\\u2029", b"\xc2\x85": b"\\u0085"}
"""Characters that JSON allows in a string and that httpx takes for the end of a line; and their escapes."""


class _Bounded(httpx.AsyncByteStream):
    """Passes an answer on and stops it at the first limit: size, size of one event, number of events."""

    def __init__(self, reply: httpx.Response, limits: Limits) -> None:
        self._reply, self._limits = reply, limits
        self._is_stream = "text/event-stream" in reply.headers.get("content-type", "")
        self._total = self._line = self._event = self._events = 0
        self._kept = b""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._reply.aiter_raw():
            self._total += len(chunk)
            self._check("an answer", self._total, self._limits.reply)
            if self._is_stream:
                self._measure(chunk)
                chunk = self._escaped(chunk)
            yield chunk
        yield self._kept

    def _escaped(self, chunk: bytes) -> bytes:
        chunk = self._kept + chunk
        for character, escape in SEPARATORS.items():
            chunk = chunk.replace(character, escape)
        cut = next((n for n in (2, 1) if chunk[-n:] in (b"\xe2\x80", b"\xe2", b"\xc2")), 0)
        self._kept = chunk[len(chunk) - cut :]
        return chunk[: len(chunk) - cut]

    def _measure(self, chunk: bytes) -> None:
        *ended, rest = chunk.replace(b"\r", b"").split(b"\n")
        for line in ended:
            self._grow(len(line))
            if self._line == 0 and self._event:
                self._event = 0
                self._events += 1
                self._check("a stream", self._events, self._limits.events, "events")
            self._line = 0
        self._grow(len(rest))

    def _grow(self, size: int) -> None:
        self._line += size
        self._event += size
        self._check("one event", self._event, self._limits.event)

    @staticmethod
    def _check(what: str, size: int, limit: int, unit: str = "bytes") -> None:
        if size > limit:
            raise garbled(f"{what} of the agent went past {limit} {unit} and was cut off")

    async def aclose(self) -> None:
        await self._reply.aclose()


@contextmanager
def translated(doing: str) -> Iterator[None]:
    """Run one SDK call; what it raises comes out as ``CallRefused`` (``Lost`` when no answer came)."""
    try:
        yield
    except AiEvolutionError:
        raise
    except SdkError as error:
        raise _of_sdk(error, doing) from error
    except httpx.HTTPError as error:
        raise Lost(f"{doing}: the connection failed ({plain(error) or type(error).__name__})") from error
    except (json_format.Error, ValueError, TypeError, LookupError, AttributeError, ArithmeticError) as error:
        raise garbled(f"{doing}: the answer is no A2A 1.0 answer ({plain(error, 120)})") from error
    except RecursionError as error:
        raise garbled(f"{doing}: the answer is nested too deeply") from error


def _of_sdk(error: SdkError, doing: str) -> CallRefused:
    cause = error.__cause__
    code = JSON_RPC_ERROR_CODE_MAP.get(type(error))
    if code is not None:
        reason = A2A_ERROR_REASONS.get(type(error), "")
        return CallRefused(f"{doing}: refused with {code} {reason} ({plain(error)})", code, reason)
    if isinstance(cause, httpx.HTTPStatusError):
        return _of_status(cause.response, doing)
    if isinstance(error, A2AClientTimeoutError) or isinstance(cause, httpx.RequestError):
        return Lost(f"{doing}: the connection failed ({plain(cause) or type(cause).__name__})")
    unlisted = re.match(r"JSON-RPC Error (-?\d{1,9}): (.*)", str(error), re.DOTALL)
    if unlisted:
        number = int(unlisted[1])
        return CallRefused(f"{doing}: refused with {number} ({plain(unlisted[2])})", number)
    return garbled(f"{doing}: the answer is no A2A 1.0 answer ({plain(error, 120)})")


def _of_status(response: httpx.Response, doing: str) -> CallRefused:
    status = response.status_code
    message = f"{doing}: HTTP {status} {plain(response.reason_phrase, 60)}"
    challenge = plain(response.headers.get("www-authenticate", ""), 120)
    if status == 401 and challenge:
        message += f"; it asks for {challenge}"
    return Lost(message, status) if status in TRY_AGAIN else CallRefused(message, status)


def strict_json(text: bytes | str) -> Any:
    """Parse JSON as RFC 8785 needs it: no repeated names, no NaN or Infinity. Raises ``ValueError``."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise ValueError("a name occurs twice in one object")
        return found

    def never(word: str) -> Any:
        raise ValueError(f"{word} is no JSON number")

    try:
        return json.loads(text, object_pairs_hook=once, parse_constant=never)
    except RecursionError:
        raise ValueError("nested too deeply") from None
