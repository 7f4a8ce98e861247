"""Looking at a tool: one look after the other until something differs from what was expected.

A check yields looks (what, expected, seen). The first that differs is told, with its exchange; ``Broken``
(a silence, a flood, a hang-up) ends the behaviour, and the next one gets a fresh child, three times at most.
Schemas and patterns that a student wrote are evaluated here, in our own process; an alarm ends that.
"""

from __future__ import annotations

import json
import random
import re
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from ai_evolution.a2a.behaviours import Exchange, Observation
from ai_evolution.atdf.description import ToolDescription, read
from ai_evolution.atdf.documents import load
from ai_evolution.atdf.shapes import detect
from ai_evolution.errors import AiEvolutionError
from ai_evolution.grading.library import Library, written
from ai_evolution.grading.talk import Broken, Raised, Talk

SILENCES = 3
"""Children that are given up before the rest is not tried."""
SHOWN = 1
"""Exchanges that are told with what does not hold: the last ones."""
MAX_DOCUMENT = 64 << 10
LONGEST_PATTERN, REPEATED, OPTIONAL = 200, 2, 4
"""Characters, repetitions of no fixed number, and question marks in one pattern of a document."""
GRACE = 1.0
"""Seconds after the end of a behaviour's time at which our own work on it is interrupted."""


class Look(NamedTuple):
    what: str
    expected: Any
    observed: Any


class Examiner:
    """What the checks stand on: chance, the tool, its document, and the talk so far."""

    def __init__(self, talk: Talk, chance: random.Random, ends: float) -> None:
        self.talk, self.chance, self.ends = talk, chance, ends
        self.log: list[Exchange] = []

    def ask(self, asked: dict[str, Any], library: Library | None = None) -> Any:
        """The value of the answer, or ``{"raised": ...}`` where the tool raised. Raises ``Broken``."""
        library = library or Library()
        try:
            value = self.talk.exchange(asked, library, self.ends)
        except Raised as raised:
            value = {"raised": raised.args[0]}
        except Broken as broken:
            self.log.append(Exchange(shown(asked), broken.args[0]))
            raise
        if asked["do"] == "document":
            return value  # the student has it, and it is long
        through = "".join(f"\nlibrary.{name}({shown(given)})" for name, given in library.asked)
        self.log.append(Exchange(shown(asked) + through, shown(value)))
        return value

    def call(self, arguments: Any, now: datetime, library: Library | None = None) -> Any:
        return self.ask({"do": "call", "arguments": arguments, "now": written(now)}, library)

    def document(self) -> Any:
        """The document as a value, or a line that says why there is none."""
        text = self.ask({"do": "document"})
        if not isinstance(text, str):
            return text if isinstance(text, dict) and "raised" in text else {"raised": "DOCUMENT is no text"}
        if len(text) > MAX_DOCUMENT:
            return {"raised": f"DOCUMENT has {len(text)} characters; at most {MAX_DOCUMENT} are read"}
        try:
            return load(text.encode("utf-8", "replace"), "DOCUMENT").value
        except AiEvolutionError as error:
            return {"raised": str(error)}

    def described(self) -> ToolDescription | str:
        """The description, or a line that says why there is none to read."""
        document = self.document()
        if isinstance(document, dict) and "raised" in document:
            return str(document["raised"])
        if slow := next(_slow_patterns(document), None):
            return (
                f"the pattern {slow[:60]!r}: at most {LONGEST_PATTERN} characters, {REPEATED} of * + {{n,m}} "
                f"and {OPTIONAL} of ?, no repeated group"
            )
        form = detect(document).form
        if form != "atdf-tool":
            known = f"the form {form}" if form else "no known form"
            return f"a document of {known}; tool: {{name, description, input, output}} is wanted"
        try:
            (found,) = read(document, "atdf-tool")
        except (AiEvolutionError, ValueError) as error:
            return str(error)
        return found


def _slow_patterns(value: Any) -> Iterator[str]:
    """The regular expressions of a document that a hostile text could keep busy for ever.

    It is a first sieve, and says what to change; what gets through it is met by ``_alarm``.
    """
    waiting = [value]
    while waiting:
        here = waiting.pop()
        if isinstance(here, dict):
            waiting += here.values()
            named = here.get("patternProperties")
            patterns = [here.get("pattern"), *(named if isinstance(named, dict) else ())]
            for pattern in patterns:
                if isinstance(pattern, str) and _is_slow(pattern):
                    yield pattern
        elif isinstance(here, list):
            waiting += here


def _is_slow(pattern: str) -> bool:
    repeated = len(re.findall(r"[*+]|\{\d*,\d*\}", pattern))
    return (
        len(pattern) > LONGEST_PATTERN
        or repeated > REPEATED
        or len(re.findall(r"(?<!\()\?", pattern)) > OPTIONAL
        or bool(re.search(r"\)[*+{]|\\\d", pattern))
    )


def shown(value: Any) -> str:
    """The value as JSON on one line, printable and not too long."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    text = text.encode("utf-8", "replace").decode("utf-8")
    text = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
    return text if len(text) <= 1500 else text[:1500] + "…"


def _plain(value: Any) -> Any:
    """The value as a report can hold it: printable, and JSON."""
    text = shown(value)
    if text.endswith("…"):
        return text
    return json.loads(text, parse_constant=str)


class TooSlow(BaseException):
    """Our own work on what a student wrote takes too long. No ``except Exception`` holds it up."""


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    """Raise ``TooSlow`` in here after so many seconds. Only where there are alarms: POSIX, the main thread.

    Regular expressions look for signals while they work, so this ends one that would never come back.
    """
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(*_: object) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGALRM, ring)
    began = time.monotonic()
    theirs = signal.setitimer(signal.ITIMER_REAL, max(seconds, 0.01), 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before or signal.SIG_DFL)
        if theirs[0]:  # somebody else waits for an alarm, pytest for example
            left = max(theirs[0] - (time.monotonic() - began), 0.01)
            signal.setitimer(signal.ITIMER_REAL, left, theirs[1])


Looks = Iterator[Look]


@dataclass(frozen=True)
class Behaviour:
    """One thing a tool or a converter does. ``source`` is where it is demanded."""

    id: str
    en: str
    es: str
    source: str
    check: Callable[[Examiner], Looks] = field(repr=False)


def observe(behaviour: Behaviour, examiner: Examiner) -> Observation:
    """Look until something differs. ``Broken`` gets out; nothing else that the tool does."""
    count = 0
    for look in behaviour.check(examiner):
        count += 1
        if json.dumps(look.expected, sort_keys=True) != json.dumps(look.observed, sort_keys=True):
            expected, observed = {look.what: _plain(look.expected)}, {look.what: _plain(look.observed)}
            if expected == observed:  # 1, 1.0 and true are the same to Python
                observed = {look.what: f"{shown(look.observed)}, which is another value"}
            return Observation(behaviour.id, expected, observed, tuple(examiner.log[-SHOWN:]))
    return Observation(behaviour.id, f"{count} as expected", f"{count} as expected")


def examine(
    behaviours: Mapping[str, Behaviour],
    name: str,
    talk: Talk | None,
    fresh: Callable[[], Talk | None],
    only: Iterable[str] | None = None,
    seed: int = 0,
    patience: float = 5.0,
    ends: float | None = None,
    seen: Callable[[Observation], None] = lambda _: None,
) -> tuple[Observation, ...]:
    """One observation for each behaviour (of ``only``), whatever the tool does.

    ``name`` and ``seed`` draw the inputs, the same for one behaviour alone as among all; ``fresh`` gives
    another talk after one that broke. ``patience`` is seconds for one behaviour, ``ends`` a monotonic time.
    ``seen`` is told each observation as it is made.
    """
    wanted = list(behaviours) if only is None else [i for i in behaviours if i in set(only)]
    found: list[Observation] = []
    silences = 0
    for each in wanted:
        if found:
            seen(found[-1])
        behaviour = behaviours[each]
        if ends is not None and time.monotonic() >= ends:
            found.append(Observation(each, "an answer", "not reached: the time was up"))
            continue
        if talk is None:
            found.append(Observation(each, "an answer", "not tried: the tool is silent"))
            continue
        until = time.monotonic() + patience
        chance = random.Random(f"{name}:{seed}:{each}")
        examiner = Examiner(talk, chance, until if ends is None else min(until, ends))
        try:
            with _alarm(examiner.ends - time.monotonic() + GRACE):
                found.append(observe(behaviour, examiner))
        except TooSlow:
            last = tuple(examiner.log[-SHOWN:])
            slow = "a schema or a text that takes too long to judge"
            found.append(Observation(each, "an answer", slow, last))
        except Broken as broken:
            last = tuple(examiner.log[-SHOWN:])
            found.append(Observation(each, "an answer", broken.args[0], last))
            silences += 1
            talk = fresh() if silences < SILENCES and each != wanted[-1] else None
    if found:
        seen(found[-1])
    return tuple(found)
