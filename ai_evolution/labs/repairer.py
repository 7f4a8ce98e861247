"""Somebody who corrects a failed call: scripted, and so a ruler for errors and no language model.

A repairer knows a menu of small corrections and what the tool said. How much of what it said it gets to
see is the only thing that differs between its three lives:

* ``opaque``: that the call failed. It works through the menu, one correction, then two, then three;
* ``code``: the code as well. It leaves out the part of the menu that the code rules out;
* ``structured``: the whole error. It looks up each problem in the menu, and reads the tool's own clock
  from ``expected``.

All three begin with the same call, have the same menu and stop after ``PATIENCE`` tries.
"""

from __future__ import annotations

import itertools
import json
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

Arguments = dict[str, Any]
Call = Callable[[Arguments], Mapping[str, Any]]

PATIENCE = 60
"""Tries after which a repairer gives up. The first call is the first try."""
FIELDS = ("Start", "End")
LEVELS = ("opaque", "code", "structured")
_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z")
_NAIVE = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}")


@dataclass(frozen=True)
class Case:
    """A call that fails, and the names of what is wrong with it."""

    arguments: Arguments
    flaws: tuple[str, ...]


def written(moment: datetime) -> str:
    """A moment as RFC 3339 writes it."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


# ----------------------------------------------------------------------------------- what can be wrong

SHAPE_FLAWS = ("missing", "number", "naive")
MEANING_FLAWS = ("past", "backwards", "equal")


def draw(chance: random.Random, now: datetime) -> Case:
    """A call with a flaw of meaning, or of shape, or one of each."""
    start = now + timedelta(hours=chance.randint(1, 700))
    end = start + timedelta(hours=chance.randint(1, 90))
    flaws = []
    kind = chance.choice(("shape", "meaning", "both"))
    if kind != "shape":
        flaw = chance.choice(MEANING_FLAWS)
        flaws.append(flaw)
        if flaw == "past":
            start, end = start - timedelta(days=60), end - timedelta(days=60)
        elif flaw == "backwards":
            start, end = end, start
        else:
            end = start
    arguments: Arguments = {"Start": written(start), "End": written(end)}
    if kind != "meaning":
        flaw, name = chance.choice(SHAPE_FLAWS), chance.choice(FIELDS)
        flaws.append(f"{flaw} {name}")
        if flaw == "missing":
            del arguments[name]
        elif flaw == "number":
            arguments[name] = int(datetime.fromisoformat(arguments[name]).timestamp())
        else:
            arguments[name] = arguments[name].removesuffix("Z")
    return Case(arguments, tuple(flaws))


# ------------------------------------------------------------------------------------------- the menu


def _spell(arguments: Arguments, name: str) -> Arguments:
    """Write the value as RFC 3339 does: a number is seconds since 1970, a time without offset is UTC."""
    value = arguments.get(name)
    if isinstance(value, int):
        return {**arguments, name: written(datetime.fromtimestamp(value, UTC))}
    if isinstance(value, str) and _NAIVE.fullmatch(value):
        return {**arguments, name: f"{value}Z"}
    return arguments


def _fill(arguments: Arguments, name: str) -> Arguments:
    """Add the field: the other one's time, two hours off."""
    if name in arguments:
        return arguments
    other = _read(arguments.get("End" if name == "Start" else "Start"))
    if other is None:
        return arguments
    hours = -2 if name == "Start" else 2
    return {**arguments, name: written(other + timedelta(hours=hours))}


def _swap(arguments: Arguments) -> Arguments:
    if set(FIELDS) - set(arguments):
        return arguments
    return {**arguments, "Start": arguments["End"], "End": arguments["Start"]}


def _lengthen(arguments: Arguments) -> Arguments:
    end = _read(arguments.get("End"))
    return arguments if end is None else {**arguments, "End": written(end + timedelta(hours=2))}


def _later(days: int) -> Callable[[Arguments], Arguments]:
    def move(arguments: Arguments) -> Arguments:
        moved = {name: _read(arguments.get(name)) for name in FIELDS}
        there = {name: written(when + timedelta(days=days)) for name, when in moved.items() if when}
        return {**arguments, **there}

    return move


MENU: Mapping[str, Callable[[Arguments], Arguments]] = {
    "spell Start": lambda arguments: _spell(arguments, "Start"),
    "spell End": lambda arguments: _spell(arguments, "End"),
    "fill Start": lambda arguments: _fill(arguments, "Start"),
    "fill End": lambda arguments: _fill(arguments, "End"),
    "swap": _swap,
    "lengthen": _lengthen,
    "a day later": _later(1),
    "90 days later": _later(90),
}
SHAPE = tuple(name for name in MENU if name.startswith(("spell", "fill")))
MEANING = tuple(name for name in MENU if name not in SHAPE)


def _read(value: Any) -> datetime | None:
    if not isinstance(value, str) or not _MOMENT.fullmatch(value):
        return None
    return datetime.fromisoformat(value)


# -------------------------------------------------------------------------------------- the three lives


def tries(case: Case, call: Call, level: str, chance: random.Random) -> int | None:
    """How many calls it took until one succeeded; None when ``PATIENCE`` ran out."""
    if level == "structured":
        return _informed(case, call)
    return _guessing(case, call, level, chance)


def _guessing(case: Case, call: Call, level: str, chance: random.Random) -> int | None:
    """Work through corrections, the short ones first; never make the same call twice."""
    made = {json.dumps(case.arguments, sort_keys=True)}
    answer = call(case.arguments)
    if answer["status"] == "success":
        return 1
    for moves in _orders(level, answer, chance):
        arguments = case.arguments
        for move in moves:
            arguments = MENU[move](arguments)
        text = json.dumps(arguments, sort_keys=True)
        if text in made:
            continue
        made.add(text)
        if call(arguments)["status"] == "success":
            return len(made)
        if len(made) == PATIENCE:
            break
    return None


def _orders(level: str, answer: Mapping[str, Any], chance: random.Random) -> Iterator[Sequence[str]]:
    first = list(MENU)
    chance.shuffle(first)
    if level == "code":
        wanted = SHAPE if answer["data"]["code"] == "INVALID_ARGUMENTS" else MEANING
        first.sort(key=lambda move: move not in wanted)
    for length in (1, 2, 3):
        for moves in itertools.permutations(first, length):
            if level != "code" or moves[0] in wanted:
                yield moves


def _informed(case: Case, call: Call) -> int | None:
    """Do what the error says, and look at the next error."""
    arguments = case.arguments
    for number in range(1, PATIENCE + 1):
        answer = call(arguments)
        if answer["status"] == "success":
            return number
        corrected = corrections(arguments, answer["data"])
        if corrected == arguments:
            return None
        arguments = corrected
    return None


def corrections(arguments: Arguments, error: Mapping[str, Any]) -> Arguments:
    """The arguments as this error would have them; unchanged when it says nothing that can be used."""
    told = error.get("details", {}).get("problems", [])
    for problem in told:
        for name in problem.get("missing", ()):
            arguments = _fill(arguments, name)
        name = str(problem.get("pointer", "")).removeprefix("/")
        if name in FIELDS:
            arguments = _spell(arguments, name)
    for name in FIELDS if told else ():
        arguments = _fill(arguments, name)  # one may have waited for the other to be spelt
    clock = _MOMENT.search(str(error.get("expected", "")))
    if told or clock is None:
        return arguments
    now = datetime.fromisoformat(clock.group())
    start, end = (_read(arguments.get(name)) for name in FIELDS)
    if start is None or end is None:
        return arguments
    if end < start:
        start, end = end, start
    if start <= now:
        start, end = now + timedelta(hours=1), now + timedelta(hours=1) + (end - start)
    if end == start:
        end = start + timedelta(hours=2)
    return {**arguments, "Start": written(start), "End": written(end)}
