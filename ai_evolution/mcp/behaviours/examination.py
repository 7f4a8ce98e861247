"""Walking through the behaviours, each with its deadline; nothing that a server does gets out as an error."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import httpx

from ai_evolution.errors import UsageError
from ai_evolution.mcp.behaviours.catalogue import BEHAVIOURS
from ai_evolution.mcp.behaviours.checks import WITHOUT_USER
from ai_evolution.mcp.behaviours.subject import HANDSHAKE, MODERN, Behaviour, Observation, Subject
from ai_evolution.mcp.behaviours.wire import (
    EVERYTHING,
    SHOWN_EXCHANGES,
    SILENCE,
    HttpTransport,
    StdioTransport,
    Stop,
    Transport,
    Wire,
    plain,
)


def applicable(subject: Subject, behaviours: Mapping[str, Behaviour] = BEHAVIOURS) -> tuple[str, ...]:
    """The ids of the behaviours that this subject's calls and its transport allow to examine."""
    return tuple(b.id for b in behaviours.values() if all(getattr(subject, n) is not None for n in b.needs))


async def examine(
    subject: Subject,
    only: Iterable[str] | None = None,
    *,
    deadline: float | None = None,
    behaviours: Mapping[str, Behaviour] = BEHAVIOURS,
    seen: Callable[[Observation], None] = lambda _: None,
) -> list[Observation]:
    """Observe the subject's behaviours, one after the other, and return one observation for each.

    ``only`` restricts to some ids; behaviours whose call is absent are left out unless ``only`` names
    them, which is a ``UsageError``, as are an unknown id and a revision that is not one of two.
    ``deadline`` (seconds) is for the whole examination: what was not reached is observed as not
    reached. ``behaviours`` are others than ours, by their ids. ``seen`` is told each observation as it is
    made, and what it raises ends the examination. Nothing that the server does raises. After three checks in
    a row without a single answer the rest is not tried.
    """
    if subject.revision not in (MODERN, HANDSHAKE):
        raise UsageError(f"revision {subject.revision!r} is not examined; accepted: {MODERN}, {HANDSHAKE}")
    ids = _chosen(subject, only, behaviours)
    ends = None if deadline is None else time.monotonic() + deadline
    silent = 0
    observations: list[Observation] = []
    door = _Door(subject)
    try:
        for each in ids:
            if observations:
                seen(observations[-1])
            behaviour = behaviours[each]
            if ends is not None and time.monotonic() >= ends:
                observations.append(Observation(each, behaviour.expected, "not reached: the time was up"))
                continue
            if silent >= SILENCE:
                observations.append(Observation(each, behaviour.expected, "not tried: the server is silent"))
                continue
            observation, answered = await _observe(behaviour, door, _left(subject.deadline, ends))
            silent = 0 if answered else silent + 1
            observations.append(observation)
        if observations:
            seen(observations[-1])
    finally:
        await door.aclose()
    return observations


def _left(deadline: float, ends: float | None) -> float:
    return deadline if ends is None else max(0.0, min(deadline, ends - time.monotonic()))


class _Door:
    """Where a check gets its way to the server: a POST of its own, or the process that is there already."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self._own = None if subject.http is not None else httpx.AsyncClient(trust_env=False)
        self._process: StdioTransport | None = None

    async def transport(self) -> Transport:
        subject = self.subject
        if subject.url is not None:
            http = subject.http or self._own
            assert http is not None
            return HttpTransport(subject.url, http, subject.revision == MODERN, subject.deadline)
        if self._process is not None and not self._process.alive:
            await self.forget()
        if self._process is None:
            self._process = await StdioTransport.start(subject.command or (), subject.environment)
        self._process.heard.clear()
        return self._process

    async def forget(self) -> None:
        """End the process; the next check gets a new one, and a new handshake."""
        if self._process is not None:
            await self._process.aclose()
            self._process = None

    async def aclose(self) -> None:
        await self.forget()
        if self._own is not None:
            await self._own.aclose()


async def _observe(behaviour: Behaviour, door: _Door, deadline: float) -> tuple[Observation, bool]:
    # A handshake says once what the client can do: who says something else needs a handshake of its own.
    other = behaviour.id == "ask.undeclared"
    wire: Wire | None = None
    observed: Any
    if other:
        await door.forget()
    try:
        async with asyncio.timeout(deadline):
            wire = Wire(door.subject, await door.transport())
            await wire.begin(WITHOUT_USER if other else EVERYTHING)
            observed = plain(await behaviour.check(wire))
    except TimeoutError:
        observed = f"not settled within {deadline:g} s"
    except Stop as stop:
        observed = plain(stop.args[0])
    except Exception as error:  # a server may always think of something that we did not
        observed = f"an answer that cannot be understood ({type(error).__name__})"
    if other:
        await door.forget()
    log = wire.log if wire is not None else []
    wrong = () if observed == behaviour.expected else tuple(log[-SHOWN_EXCHANGES:])
    return Observation(behaviour.id, behaviour.expected, observed, wrong), wire is not None and wire.answered


def _chosen(subject: Subject, only: Iterable[str] | None, behaviours: Mapping[str, Behaviour]) -> list[str]:
    possible = applicable(subject, behaviours)
    if only is None:
        return list(possible)
    wanted = list(only)
    if unknown := [i for i in wanted if i not in behaviours]:
        raise UsageError(f"{unknown[0]!r} is no behaviour; there are: {', '.join(behaviours)}")
    if absent := [i for i in wanted if i not in possible]:
        raise UsageError(f"{absent[0]!r} needs {', '.join(behaviours[absent[0]].needs)} in the subject")
    return [i for i in behaviours if i in wanted]
