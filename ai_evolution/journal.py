"""What crossed the wire, frame by frame.

A ``Journal`` keeps every HTTP exchange between named parties: ``raw()`` is each byte as it
crossed (for finding a planted secret), ``frames`` are the exchanges in order, ``canonical``
is a copy fit for evidence and for a page.

Real stacks name things with random UUIDs and stamp them with the clock of the machine; a
timestamp even changes its *length* from run to run (protobuf prints 0, 3, 6 or 9 digits of
a fraction), and MCP seals the state of a question under a key of its own. The canonical copy
replaces identifiers by their order of appearance (``id-1``), times and sealed states by theirs
(``time-1``, ``state-1``). Wherever bytes are counted, they are counted there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

SHOWN_HEADERS = (
    "a2a-version",
    "accept",
    "authorization",
    "content-type",
    "www-authenticate",
    "x-a2a-notification-token",
)
_UUID = r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"
_TIME = r"\b\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:\d{2})"
_SEALED = r"\bv1\.[A-Za-z0-9_\-]{64,}"
_VOLATILE = re.compile(f"(?P<id>{_UUID})|(?P<time>{_TIME})|(?P<state>{_SEALED})")


@dataclass
class Frame:
    """One HTTP exchange. ``answer`` grows while a stream is open; ``status`` is 0 when none came."""

    speaker: str
    listener: str
    method: str
    path: str
    headers: list[tuple[str, str]]
    body: bytes = b""
    status: int = 0
    answer_headers: list[tuple[str, str]] = field(default_factory=list)
    answer: bytes = b""

    @property
    def streamed(self) -> bool:
        """Whether the answer is a stream of server-sent events."""
        return any(k == "content-type" and v.startswith("text/event-stream") for k, v in self.answer_headers)

    def messages(self) -> list[str]:
        """The message bodies of the exchange: the request's, if any, then each of the answer."""
        sent = [self.body.decode("utf-8", "replace")] if self.body else []
        text = self.answer.decode("utf-8", "replace")
        if not self.streamed:
            return sent + ([text] if text else [])
        return sent + list(events_of(text))

    def raw(self) -> bytes:
        """Every byte of the exchange that we know of, headers included."""
        head = [f"{self.method} {self.path}", *(f"{k}: {v}" for k, v in self.headers)]
        tail = [str(self.status), *(f"{k}: {v}" for k, v in self.answer_headers)]
        return b"\n".join(["\n".join(head).encode(), self.body, "\n".join(tail).encode(), self.answer])


def events_of(text: str) -> Iterable[str]:
    """The data of each server-sent event in ``text``, comments and keep-alives left out."""
    for block in re.split(r"\r?\n\r?\n", text):
        data = [line[5:].removeprefix(" ") for line in block.splitlines() if line.startswith("data:")]
        if data:
            yield "\n".join(data)


class Journal:
    """The exchanges of one conversation, in the order in which they began."""

    def __init__(self) -> None:
        self.frames: list[Frame] = []

    def mark(self) -> int:
        """A place in the journal, to be given to ``since``."""
        return len(self.frames)

    def since(self, mark: int) -> list[Frame]:
        """The exchanges that began after ``mark``."""
        return self.frames[mark:]

    def raw(self) -> bytes:
        """Every byte that crossed, for searching what must not be there."""
        return b"\n".join(frame.raw() for frame in self.frames)


def canonical(frames: Sequence[Frame]) -> list[dict[str, Any]]:
    """The frames as JSON values with identifiers and times replaced by their order of appearance.

    Each has ``from``, ``to``, ``request`` (method and path), ``headers``, ``sent``, ``status``
    and ``received`` (a list: one body, or each event of a stream). Bodies that are JSON are
    shown as values, others as text; an empty body is ``None``.
    """
    naming = Naming()
    return [
        {
            "from": frame.speaker,
            "to": frame.listener,
            "request": naming.text(f"{frame.method} {frame.path}"),
            "headers": naming.value(_shown(frame.headers)),
            "sent": naming.value(_parsed(frame.body.decode("utf-8", "replace"))),
            "status": frame.status,
            "answer_headers": naming.value(_shown(frame.answer_headers)),
            "received": [naming.value(_parsed(text)) for text in frame.messages()[1 if frame.body else 0 :]],
        }
        for frame in frames
    ]


@dataclass(frozen=True)
class Traffic:
    """How much crossed: exchanges (round trips), messages and canonical bytes of message bodies."""

    round_trips: int
    messages: int
    bytes: int


def traffic(frames: Sequence[Frame]) -> Traffic:
    """Count what crossed, in canonical bytes (identifiers and times at their canonical length)."""
    naming = Naming()
    bodies = [naming.text(text) for frame in frames for text in frame.messages()]
    return Traffic(len(frames), len(bodies), sum(len(text.encode("utf-8")) for text in bodies))


class Naming:
    """Replaces random identifiers and times by the order in which they were first seen."""

    def __init__(self) -> None:
        self._seen: dict[str, str] = {}
        self._counts = {"id": 0, "time": 0, "state": 0}

    def text(self, text: str) -> str:
        """``text`` with each identifier and time under its canonical name."""
        return _VOLATILE.sub(self._name, text)

    def value(self, value: Any) -> Any:
        """A JSON value with every string in it renamed, keys too, and its members in order.

        Protobuf keeps the members of a Struct in a map without one, so that they change places
        from process to process.
        """
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.value(item) for item in value]
        if isinstance(value, dict):
            return {self.text(key): self.value(item) for key, item in sorted(value.items())}
        return value

    def _name(self, found: re.Match[str]) -> str:
        kind, text = str(found.lastgroup), found.group()
        if text not in self._seen:
            self._counts[kind] += 1
            self._seen[text] = f"{kind}-{self._counts[kind]}"
        return self._seen[text]


def _shown(headers: Sequence[tuple[str, str]]) -> dict[str, str]:
    kept = {key.lower(): value for key, value in headers if key.lower() in SHOWN_HEADERS}
    return dict(sorted(kept.items()))


def _parsed(text: str) -> Any:
    if not text:
        return None
    try:
        return json.loads(text)
    except ValueError:
        return text
