"""The nouns of an examination: who is examined, with which inputs, and what was seen."""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import httpx

if TYPE_CHECKING:
    from ai_evolution.a2a.behaviours.wire import Wire

Part = Mapping[str, Any]


@dataclass(frozen=True)
class Probe:
    """One input for the agent. ``parts`` are the wire's own parts.

    ``answer`` are the parts that answer the agent's question (for the ``ask`` probe), ``schema``
    is the JSON Schema that the artifact's data must satisfy, ``artifact`` its name when the name
    matters.
    """

    parts: Sequence[Part]
    answer: Sequence[Part] | None = None
    schema: Mapping[str, Any] | None = None
    artifact: str | None = None


def _uuid() -> str:
    return str(uuid.uuid4())


@dataclass(frozen=True)
class Subject:
    """The agent to examine. A probe that is None leaves out the behaviours that need it.

    ``url`` is the agent's base URL; ``http`` any httpx client that reaches it; ``token`` and
    ``other_token`` are bearer tokens of two different callers. The probes: ``complete`` runs to
    its artifact at once, ``ask`` needs an answer first, ``reject`` is refused by the agent,
    ``slow`` works for longer than ``deadline``, ``crash`` breaks the agent's own code.
    ``secrets`` are texts that must never leave the agent. ``deadline`` is seconds per check.
    """

    url: str
    http: httpx.AsyncClient
    token: str | None = None
    other_token: str | None = None
    complete: Probe | None = None
    ask: Probe | None = None
    reject: Probe | None = None
    slow: Probe | None = None
    crash: Probe | None = None
    secrets: Sequence[str] = ()
    deadline: float = 5.0
    new_id: Callable[[], str] = _uuid


@dataclass(frozen=True)
class Exchange:
    """One request and its answer, trimmed, tokens replaced."""

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
    """One thing an agent does or does not. ``source`` is the section of the specification.

    ``needs`` names the fields of ``Subject`` without which it cannot be examined.
    """

    id: str
    en: str
    es: str
    source: str
    needs: tuple[str, ...]
    expected: Any
    check: Check = field(repr=False)
