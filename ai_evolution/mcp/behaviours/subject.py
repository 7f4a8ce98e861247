"""The nouns of an examination: which server, with which calls, and what was seen."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import httpx

if TYPE_CHECKING:
    from ai_evolution.mcp.behaviours.wire import Wire

MODERN, HANDSHAKE = "2026-07-28", "2025-11-25"


@dataclass(frozen=True)
class Call:
    """A tool and the arguments to call it with."""

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Ask(Call):
    """A call about which the server asks the user back.

    ``answer`` fills its form so that the tool does its work, ``nonsense`` breaks the form's schema (an
    empty form does, where a field is required).
    """

    answer: Mapping[str, Any] = field(default_factory=dict)
    nonsense: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Subject:
    """The server to examine. A field that is None leaves out the behaviours that need it.

    ``target`` is an ``http(s)://`` URL of a streamable HTTP endpoint, or a command with its arguments
    that serves on stdin and stdout. ``tools`` are names that must be offered. The calls: ``call``
    succeeds (the more typed arguments it has, the more is asked of them), ``fail`` is refused by the
    tool itself, ``crash`` breaks the tool's own code, ``slow`` works for longer than ``deadline``,
    ``traces`` answers with structured content whose ``cancelled`` counts the slow calls that were
    cancelled, ``progress`` reports its progress, ``ask`` asks the user. ``secrets`` are texts that must
    never leave the server. ``revision`` is the one to speak, ``deadline`` seconds for each check.
    ``http`` is any httpx client that reaches the URL (a new one by default); ``environment`` is what a
    command finds besides PATH and HOME.
    """

    target: str | Sequence[str]
    tools: Sequence[str] = ()
    call: Call | None = None
    fail: Call | None = None
    crash: Call | None = None
    slow: Call | None = None
    traces: Call | None = None
    progress: Call | None = None
    ask: Ask | None = None
    secrets: Sequence[str] = ()
    revision: str = MODERN
    deadline: float = 10.0
    http: httpx.AsyncClient | None = None
    environment: Mapping[str, str] | None = None

    @property
    def url(self) -> str | None:
        return self.target if isinstance(self.target, str) else None

    @property
    def command(self) -> Sequence[str] | None:
        return None if isinstance(self.target, str) else self.target


@dataclass(frozen=True)
class Exchange:
    """One message and what came back, trimmed."""

    request: str
    response: str


@dataclass(frozen=True)
class Observation:
    """What one check saw; ``holds`` says whether observed is expected. Exchanges only when not."""

    id: str
    expected: Any
    observed: Any
    exchange: tuple[Exchange, ...] = ()

    @property
    def holds(self) -> bool:
        return bool(self.expected == self.observed)

    def as_dict(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "holds": self.holds,
            "expected": self.expected,
            "observed": self.observed,
            "exchange": [{"request": e.request, "response": e.response} for e in self.exchange],
        }


Check = Callable[["Wire"], Awaitable[Any]]


@dataclass(frozen=True)
class Behaviour:
    """One thing a server does or does not. ``source`` is the place in the specification.

    ``needs`` names the fields of ``Subject`` without which it cannot be examined.
    """

    id: str
    en: str
    es: str
    source: str
    needs: tuple[str, ...]
    expected: Any
    check: Check = field(repr=False)
