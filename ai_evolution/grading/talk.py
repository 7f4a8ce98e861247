"""The judge's side of a talk with a tool: one request, one answer, and the library in between.

Whatever comes back is foreign. A silence, a hang-up, a flood or a line that is no JSON ends the talk
(``Broken``, with the reason in words); what the tool raised is told apart (``Raised``). Lines that belong to
no question of ours are passed over, within the same bounds.
"""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable
from typing import Any, Protocol

from ai_evolution.grading.bench import Bench, LibraryError

MAX_HEARD = 1 << 20
"""Bytes that a tool may say about one request."""
MAX_ASKED = 50
"""Questions to the library in one call."""

Answering = Callable[[str, dict[str, Any]], dict[str, Any]]
"""How the library answers: ``{"value": ...}`` or ``{"fails": "..."}``."""


class Broken(Exception):
    """There is nothing more to be heard from this child; ``args[0]`` says why."""


class Raised(Exception):
    """The student's code raised; ``args[0]`` is what it said of it."""


class Talk(Protocol):
    """A way to ask a student's module something."""

    def exchange(self, asked: dict[str, Any], library: Answering, ends: float) -> Any:
        """The value of the answer. Raises ``Broken`` and ``Raised``. ``ends`` is a monotonic time."""


class Nearby:
    """A module in this process, for trusted code only: nothing holds it back."""

    def __init__(self, module: Any) -> None:
        self._library: Answering = lambda _name, _given: {"fails": "closed"}
        self._bench = Bench(module, self._ask)
        self._bench.build()

    def _ask(self, name: str, given: dict[str, Any]) -> Any:
        answer = self._library(name, given)
        if "fails" in answer:
            raise LibraryError(answer["fails"])
        return answer["value"]

    def exchange(self, asked: dict[str, Any], library: Answering, ends: float) -> Any:  # noqa: ARG002
        self._library = library
        return _value(json.loads(json.dumps(self._bench.respond(json.loads(json.dumps(asked))))))


class Wire:
    """A module behind a socket."""

    def __init__(self, door: socket.socket) -> None:
        self._door = door
        self._kept = b""
        self._number = 0

    def exchange(self, asked: dict[str, Any], library: Answering, ends: float) -> Any:
        self._number += 1
        self._say({"id": self._number, **asked}, ends)
        left, questions = MAX_HEARD, 0
        while True:
            line = self._line(ends, left)
            left -= len(line) + 1
            said = _parsed(line)
            if said.get("id") != self._number:
                continue
            if "ask" not in said:
                return _value(said)
            questions += 1
            if questions > MAX_ASKED:
                raise Broken(f"more than {MAX_ASKED} questions to the library in one call")
            given = said.get("given")
            self._say(library(str(said["ask"]), given if isinstance(given, dict) else {}), ends)

    def _say(self, line: dict[str, Any], ends: float) -> None:
        try:
            self._door.settimeout(_left(ends))
            self._door.sendall(json.dumps(line).encode() + b"\n")
        except TimeoutError:
            raise Broken("it does not listen") from None
        except OSError:
            raise Broken("it hung up") from None

    def _line(self, ends: float, most: int) -> bytes:
        while b"\n" not in self._kept:
            if len(self._kept) > most:
                raise Broken(f"more than {MAX_HEARD} bytes for one answer")
            try:
                self._door.settimeout(_left(ends))
                heard = self._door.recv(65536)
            except TimeoutError:
                raise Broken("no answer in time") from None
            except OSError:
                heard = b""
            if not heard:
                raise Broken("it hung up")
            self._kept += heard
        line, _, self._kept = self._kept.partition(b"\n")
        if len(line) > most:
            raise Broken(f"more than {MAX_HEARD} bytes for one answer")
        return line


def _left(ends: float) -> float:
    left = ends - time.monotonic()
    if left <= 0:
        raise Broken("no answer in time")
    return left


def _parsed(line: bytes) -> dict[str, Any]:
    try:
        said = json.loads(line)
    except (ValueError, RecursionError):
        raise Broken("a line that is no JSON") from None
    if not isinstance(said, dict):
        raise Broken("a line that is no JSON object")
    return said


def _value(said: dict[str, Any]) -> Any:
    if "value" in said:
        return said["value"]
    raised = said.get("raised")
    raise Raised(raised[:300] if isinstance(raised, str) else "an answer without a value")
