"""What an exercise is: what is handed in, in which room of ``host.py`` it runs, and who judges it.

One module per exercise fills this in (``trips`` for class 134, ``blood_bank`` for class 132, ``renewals`` for
class 131); ``exercise.py`` has the table of them and knows nothing of what they ask.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from ai_evolution.a2a.behaviours import Observation
from ai_evolution.grading.child import Host

Words = Mapping[str, str]
Room = Literal["agent", "tool", "server"]


class Told(Protocol):
    """A behaviour as far as a report needs it: one sentence in two languages, and where it is demanded."""

    @property
    def en(self) -> str: ...

    @property
    def es(self) -> str: ...

    @property
    def source(self) -> str: ...


@dataclass(frozen=True)
class Sitting:
    """One examination: the child that serves, how to get a fresh one, and the limits.

    ``only`` restricts to some ids (all: None), ``seed`` draws the inputs, ``patience`` is seconds for one
    behaviour, ``ends`` the monotonic time at which everything ends. ``again`` ends the child and gives
    another one that serves, or None where that one did not start. ``seen`` is told each observation as it is
    made; what it raises ends the examination.
    """

    host: Host
    again: Callable[[], Host | None]
    only: Iterable[str] | None
    seed: int
    patience: float
    ends: float
    seen: Callable[[Observation], None] = lambda _: None


@dataclass(frozen=True)
class Exercise:
    """An exercise that a machine can check.

    ``file`` is what it is called in a submission, ``entry`` the function that it must define, ``wanted``
    what that returns. ``names`` calls what was built as the sentences need it (``of``, ``to``, ``your``).
    ``settings`` makes what the child is told at its start, from the seed; what stands in ``tokens`` there is
    cut out of what it prints. ``behaviours`` are in the order in which they are judged.
    """

    class_slug: str
    file: str
    room: Room
    entry: str
    wanted: Words
    names: Mapping[str, Words]
    behaviours: Mapping[str, Told]
    settings: Callable[[int], Mapping[str, Any]]
    judge: Callable[[Sitting], tuple[Observation, ...]]


def run_anywhere(work: Coroutine[Any, Any, list[Observation]]) -> list[Observation]:
    """Run to the end, also where an event loop is running already (a notebook)."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    found: list[list[Observation]] = []
    thread = threading.Thread(target=lambda: found.append(asyncio.run(work)), daemon=True)
    thread.start()
    thread.join()
    return found[0]
