"""Walking through the behaviours, each with its deadline; nothing that an agent does gets out as an error."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from typing import Any

from ai_evolution.a2a.behaviours.card import endpoint_of, fetch_card
from ai_evolution.a2a.behaviours.catalogue import BEHAVIOURS
from ai_evolution.a2a.behaviours.subject import Behaviour, Observation, Subject
from ai_evolution.a2a.behaviours.wire import SHOWN_EXCHANGES, SILENCE, Stop, Wire, plain
from ai_evolution.errors import UsageError


def applicable(subject: Subject) -> tuple[str, ...]:
    """The ids of the behaviours that this subject's probes and tokens allow to examine."""
    return tuple(b.id for b in BEHAVIOURS.values() if all(getattr(subject, n) is not None for n in b.needs))


async def examine(
    subject: Subject,
    only: Iterable[str] | None = None,
    *,
    deadline: float | None = None,
    seen: Callable[[Observation], None] = lambda _: None,
) -> list[Observation]:
    """Observe the subject's behaviours, one after the other, and return one observation for each.

    ``only`` restricts to some ids; behaviours whose probe is absent are left out unless ``only``
    names them, which is a ``UsageError``, as is an unknown id. ``deadline`` (seconds) is for the
    whole examination: what was not reached is observed as not reached. ``seen`` is told each
    observation as it is made; what it raises ends the examination. Nothing that the agent does
    raises. After three checks in a row without a single answer the rest is not tried.
    """
    ids = _chosen(subject, only)
    ends = None if deadline is None else time.monotonic() + deadline
    wire = Wire(subject, None, subject.url)
    silent = 0
    try:
        async with asyncio.timeout(_left(subject.deadline, ends)):
            wire.card = await fetch_card(wire)
    except Exception:  # no card, no endpoint: card.published will say what is wrong
        wire.card = None
    endpoint = endpoint_of(wire.card, subject.url) or subject.url
    observations = []
    for each in ids:
        behaviour = BEHAVIOURS[each]
        if ends is not None and time.monotonic() >= ends:
            found = Observation(each, behaviour.expected, "not reached: the time was up")
        elif silent >= SILENCE:
            found = Observation(each, behaviour.expected, "not tried: the agent is silent")
        else:
            talk = Wire(subject, wire.card, endpoint)
            observed = await _observe(behaviour, talk, _left(subject.deadline, ends))
            silent = 0 if talk.answered else silent + 1
            wrong = () if observed == behaviour.expected else tuple(talk.log[-SHOWN_EXCHANGES:])
            found = Observation(each, behaviour.expected, observed, wrong)
        observations.append(found)
        seen(found)
    return observations


def _left(deadline: float, ends: float | None) -> float:
    return deadline if ends is None else max(0.0, min(deadline, ends - time.monotonic()))


async def _observe(behaviour: Behaviour, wire: Wire, deadline: float) -> Any:
    try:
        async with asyncio.timeout(deadline):
            return plain(await behaviour.check(wire))
    except TimeoutError:
        return f"not settled within {deadline:g} s"
    except Stop as stop:
        return plain(stop.args[0])
    except Exception as error:  # an agent may always think of something that we did not
        return f"an answer that cannot be understood ({type(error).__name__})"


def _chosen(subject: Subject, only: Iterable[str] | None) -> list[str]:
    possible = applicable(subject)
    if only is None:
        return list(possible)
    wanted = list(only)
    if unknown := [i for i in wanted if i not in BEHAVIOURS]:
        raise UsageError(f"{unknown[0]!r} is no behaviour; there are: {', '.join(BEHAVIOURS)}")
    if absent := [i for i in wanted if i not in possible]:
        raise UsageError(f"{absent[0]!r} needs {', '.join(BEHAVIOURS[absent[0]].needs)} in the subject")
    return [i for i in BEHAVIOURS if i in wanted]
