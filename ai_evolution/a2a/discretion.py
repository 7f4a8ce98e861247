"""What of an error is said aloud: the protocol's words and the place in the request, nothing of the
interpreter.

The SDK answers a message that it cannot read with the text of the exception it met. The place in the request
that this text names (``Failed to parse metadata field: ...``) helps the caller and is said in words of our
own; the rest speaks of Python and protobuf, and goes.
"""

from __future__ import annotations

import json
import re
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

UNREADABLE = "The request does not have the form that the protocol asks for"
_FIELD = re.compile(r"Failed to parse (\w+) field: ", re.ASCII)
_INTERNAL = -32603


def spoken(text: str) -> str:
    """Return a neutral sentence for protobuf's text, with the field that it names, from the outside in."""
    fields, at = [], 0
    while found := _FIELD.match(text, at):
        fields.append(found[1])
        at = found.end()
    return f"{UNREADABLE}: see {'.'.join(fields)}" if fields else UNREADABLE


def discreet(answer: dict[str, Any]) -> dict[str, Any]:
    """Return an answer (JSON-RPC or HTTP+JSON) whose error says only what a peer may know."""
    error = answer.get("error")
    if not isinstance(error, dict):
        return answer
    message = str(error.get("message", ""))
    if message.startswith("Failed to "):  # protobuf's; every other message was written for the peer
        message = spoken(message)
    told = {**error, "message": "Internal error" if error.get("code") == _INTERNAL else message}
    for key in ("data", "details"):
        details = told.pop(key, None)
        if isinstance(details, list) and all(isinstance(one, dict) and "@type" in one for one in details):
            told[key] = [_discreet_detail(one) for one in details]
    return {**answer, "error": told}


def _discreet_detail(detail: dict[str, Any]) -> dict[str, Any]:
    metadata = detail.get("metadata")
    if not isinstance(metadata, dict) or "parseError" not in metadata:
        return detail
    return {**detail, "metadata": {"parseError": spoken(str(metadata["parseError"]))}}


class DiscreetErrors:
    """ASGI middleware: answers of 400 and more in JSON pass through ``discreet``; everything else goes by."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start: Message | None = None
        body = b""

        async def told(message: Message) -> None:
            nonlocal start, body
            if message["type"] == "http.response.start" and message["status"] >= 400:
                kind = Headers(raw=message["headers"]).get("content-type", "")
                if kind.partition(";")[0].endswith("json"):
                    start = message
                    return
            if start is None:
                await send(message)
                return
            body += message.get("body", b"")
            if not message.get("more_body", False):
                text = json.dumps(discreet(json.loads(body)), ensure_ascii=False, separators=(",", ":"))
                final = text.encode("utf-8")
                MutableHeaders(scope=start)["Content-Length"] = str(len(final))
                await send(start)
                await send({"type": "http.response.body", "body": final})

        await self.app(scope, receive, told)
