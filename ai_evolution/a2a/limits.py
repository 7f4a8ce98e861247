"""How much of a stranger's request is read: bytes, depth of nesting, and nothing that is not JSON.

A body is refused at the first byte over the limit, whether its length was announced or not. What passes is
strict JSON (RFC 8259): no NaN or Infinity, no number that a double cannot hold, no half of a surrogate pair;
each of those would come back later as an error of ours while the answer is written.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, NoReturn

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_BODY = 1_048_576
"""Bytes of a request body that are read."""
MAX_DEPTH = 64
"""Levels of nesting that are accepted; protobuf's own parser stops at 100."""
PARSED = "ai_evolution.json"
"""Key in the ASGI scope under which the parsed body travels on."""

_TOO_LARGE, _NOT_JSON = 413, 400
_HALF_PAIR = re.compile(rb"\\u[dD][89a-fA-F]")


class NotAccepted(ValueError):
    """A body that is refused; the text is for the peer and says nothing of ours."""


class BodyLimit:
    """ASGI middleware: reads a request body up to ``max_body`` bytes and checks that it is JSON.

    ``refuse(scope, status, message)`` makes the answer for a body that is not accepted (413 or 400).
    """

    def __init__(
        self,
        app: ASGIApp,
        max_body: int,
        refuse: Callable[[Scope, int, str], Response],
        depth: int = MAX_DEPTH,
    ) -> None:
        self.app = app
        self._max_body = max_body
        self._refuse = refuse
        self._depth = depth

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] not in ("POST", "PUT", "PATCH"):
            await self.app(scope, receive, send)
            return
        body = await self._read(Headers(scope=scope), receive)
        if body is None:
            refusal = self._refuse(scope, _TOO_LARGE, f"Request body larger than {self._max_body} bytes")
            refusal.headers["Connection"] = "close"  # the rest of the body is not read
            await refusal(scope, receive, send)
            return
        if body:
            try:
                scope[PARSED] = parse(body, self._depth)
            except NotAccepted as error:
                await self._refuse(scope, _NOT_JSON, str(error))(scope, receive, send)
                return
        await self.app(scope, _replayed(body, receive), send)

    async def _read(self, headers: Headers, receive: Receive) -> bytes | None:
        """Return the whole body, or None as soon as it is known to be too large."""
        announced = headers.get("content-length", "")
        if announced.isdecimal() and int(announced[:19]) > self._max_body:
            return None
        chunks, size, more = [], 0, True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                break
            chunk = message.get("body", b"")
            size += len(chunk)
            if size > self._max_body:
                return None
            chunks.append(chunk)
            more = message.get("more_body", False)
        return b"".join(chunks)


def parse(body: bytes, depth: int = MAX_DEPTH) -> Any:
    """Return the JSON value in ``body``. Raises NotAccepted, whose text may be shown to the peer."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise NotAccepted(f"Invalid JSON: byte {error.start} is not UTF-8") from None
    try:
        value = json.loads(text, parse_constant=_no_constant, parse_float=_number, parse_int=_integer)
    except RecursionError:
        raise NotAccepted(f"JSON nested deeper than {depth} levels") from None
    except json.JSONDecodeError as error:
        raise NotAccepted(f"Invalid JSON: {error.msg} at character {error.pos}") from None
    if body.count(b"[") + body.count(b"{") > depth and _deeper(value, depth):
        raise NotAccepted(f"JSON nested deeper than {depth} levels")
    if _HALF_PAIR.search(body):
        try:
            json.dumps(value, ensure_ascii=False).encode("utf-8")
        except UnicodeEncodeError:
            raise NotAccepted("Invalid JSON: half of a surrogate pair in a string") from None
    return value


def _no_constant(name: str) -> NoReturn:
    raise NotAccepted(f"Invalid JSON: {name} is not a JSON number")


def _number(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise NotAccepted("Invalid JSON: a number is too large")
    return value


def _integer(text: str) -> int:
    if len(text) > 300:  # more digits than a double reaches, which is what protobuf keeps a number in
        raise NotAccepted("Invalid JSON: a number is too large")
    return int(text)


def _deeper(value: Any, depth: int) -> bool:
    level = [value]
    for _ in range(depth):
        level = [
            child
            for container in level
            if isinstance(container, dict | list)
            for child in (container.values() if isinstance(container, dict) else container)
        ]
        if not level:
            return False
    return any(isinstance(child, dict | list) for child in level)


def _replayed(body: bytes, receive: Receive) -> Receive:
    """Give the body that was read once, and then whatever the connection says."""
    given = False

    async def replay() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay
