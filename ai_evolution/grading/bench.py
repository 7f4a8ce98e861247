"""The bench on which a student's tool is tried: it answers the judge's lines, inside the student's process.

One line of JSON comes in, one goes out. ``{"id": 1, "do": "call", "arguments": {...}, "now": "..."}`` is
answered by ``{"id": 1, "value": ...}`` or ``{"id": 1, "raised": "..."}``; in between the tool may ask the
library, which is the judge: ``{"id": 1, "ask": "renew", "given": {...}}``, answered by ``{"value": ...}`` or
``{"fails": "..."}``. So whatever reaches the library is seen outside, and what it answers is decided there.

Nothing here is trusted by the judge: it runs beside the student's code.
"""

from __future__ import annotations

import json
import socket
import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

Ask = Callable[[str, dict[str, Any]], Any]


class LibraryError(Exception):
    """What the library raises when something on its side is broken."""


class Library:
    """The library that a tool gets: two questions, each of which goes to the judge."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    def reserved(self, isbn: str) -> bool:
        """Whether another reader waits for the book. Raises LibraryError when its record is broken."""
        return bool(self._ask("reserved", {"isbn": isbn}))

    def renew(self, isbn: str, until: str) -> dict[str, Any]:
        """Put down the new date; returns ``{"until": ..., "left": ...}`` as it stands in the books now."""
        answer: dict[str, Any] = self._ask("renew", {"isbn": isbn, "until": until})
        return answer


class Bench:
    """A student's module, its tool, and the clock that stands where the judge puts it."""

    def __init__(self, module: Any, ask: Ask | None = None) -> None:
        self.module = module
        self.tool: Any = None
        self._now = datetime(2026, 1, 5, 9, tzinfo=UTC)
        self._ask = ask or self._nobody

    @staticmethod
    def _nobody(name: str, _given: dict[str, Any]) -> Any:
        raise LibraryError(f"{name}: no call is being made")

    def build(self) -> None:
        """Let the module build its tool."""
        self.tool = self.module.build(Library(lambda name, given: self._ask(name, given)), lambda: self._now)

    def respond(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Do one thing that the judge asks; what the student's code raises is an answer too."""
        try:
            value = self._do(asked)
            json.dumps(value, allow_nan=False)
        except (Exception, SystemExit, KeyboardInterrupt) as error:
            traceback.print_exc()
            return {"raised": f"{type(error).__name__}: {error}"[:300]}
        return {"value": value}

    def _do(self, asked: dict[str, Any]) -> Any:
        if asked["do"] == "document":
            return self.module.DOCUMENT
        if asked["do"] == "shorten":
            return self.module.shorten(asked["schema"])
        if asked["do"] == "restore":
            return self.module.restore(asked["short"])
        self._now = datetime.fromisoformat(asked["now"])
        return self.tool(asked["arguments"])

    def serve(self, door: socket.socket) -> None:
        """Answer line after line until the judge hangs up."""
        door.settimeout(None)
        lines = door.makefile("rwb")

        def say(line: dict[str, Any]) -> None:
            lines.write(json.dumps(line).encode() + b"\n")
            lines.flush()

        for line in lines:
            asked = json.loads(line)

            def ask(name: str, given: dict[str, Any], number: int = asked["id"]) -> Any:
                say({"id": number, "ask": name, "given": given})
                answer = json.loads(lines.readline())
                if "fails" in answer:
                    raise LibraryError(answer["fails"])
                return answer["value"]

            self._ask = ask
            say({"id": asked["id"], **self.respond(asked)})
