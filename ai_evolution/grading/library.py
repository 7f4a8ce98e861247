"""Around the tool of class 131: books, moments, and the library behind it, as the judge wants them.

Everything is drawn from the chance that is handed in.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

from ai_evolution.atdf.envelope import timestamp

LONGEST = timedelta(days=28)
GIVEN_RESERVED, GIVEN_BROKEN = "9780306406157", "9788437604947"
"""Books of the README, for the examples of the document: one is reserved, the other's record is broken."""

Arguments = dict[str, Any]


def isbn(chance: random.Random) -> str:
    """An ISBN-13 whose check digit is right."""
    body = chance.choice(("978", "979")) + "".join(chance.choice("0123456789") for _ in range(9))
    return body + check_digit(body)


def check_digit(body: str) -> str:
    total = sum(int(digit) * (3 if place % 2 else 1) for place, digit in enumerate(body))
    return str(-total % 10)


def mistyped(number: str, chance: random.Random) -> str:
    """One digit after the prefix is another one; no check digit overlooks that."""
    place = chance.randrange(3, 13)
    other = chance.choice([d for d in "0123456789" if d != number[place]])
    return number[:place] + other + number[place + 1 :]


def written(moment: datetime, hours: float = 0) -> str:
    """RFC 3339, with the offset of so many hours."""
    if not hours:
        return timestamp(moment)
    return moment.astimezone(timezone(timedelta(hours=hours))).isoformat()


def moment_of(text: Any) -> datetime | None:
    """The moment that a text names; None for no text, no offset, and what no clock of ours could show.

    A day away from either end of the calendar, so that it can be written with every offset.
    """
    try:
        found = datetime.fromisoformat(text) if isinstance(text, str) else None
        if found is None or found.tzinfo is None:
            return None
        found.astimezone(UTC) - timedelta(days=1), found.astimezone(UTC) + timedelta(days=1)
    except (ValueError, OverflowError):
        return None
    return found


@dataclass
class Library:
    """What the tool gets to see of the library, as the judge wants it; ``asked`` is what reached it."""

    reserved: frozenset[str] = frozenset()
    broken: Mapping[str, str] = field(default_factory=dict)
    left: Any = 2
    hours: float = 0
    books: Mapping[str, Any] | None = None
    """What it says that it put down, instead of what it was told to."""
    asked: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def __call__(self, name: str, given: dict[str, Any]) -> dict[str, Any]:
        self.asked.append((name, given))
        number, until = str(given.get("isbn")), given.get("until")
        if number in self.broken:
            return {"fails": self.broken[number]}
        if name == "reserved":
            return {"value": number in self.reserved}
        if name != "renew":
            return {"fails": f"no question {name!r}"}
        if self.books is not None:
            return {"value": dict(self.books)}
        moment = moment_of(until)
        return {"value": {"until": written(moment, self.hours) if moment else until, "left": self.left}}

    @property
    def renewed(self) -> list[dict[str, Any]]:
        return [given for name, given in self.asked if name == "renew"]


@dataclass(frozen=True)
class Case:
    """A call that is fine, at its clock."""

    isbn: str
    now: datetime
    due: datetime
    until: datetime

    @property
    def arguments(self) -> Arguments:
        return {"isbn": self.isbn, "due": written(self.due), "until": written(self.until)}


def draw_case(chance: random.Random) -> Case:
    now = datetime(2026, 1, 5, 9, tzinfo=UTC) + timedelta(minutes=chance.randrange(1_000_000))
    due = now + timedelta(minutes=chance.randrange(60, 12 * 24 * 60))
    until = due + timedelta(minutes=chance.randrange(60, 15 * 24 * 60))
    return Case(isbn(chance), now, due, until)


class FailsLate(Library):
    """Answers whether a book is reserved, and breaks when it is to be renewed."""

    def __call__(self, name: str, given: dict[str, Any]) -> dict[str, Any]:
        if name == "reserved":
            self.asked.append((name, given))
            return {"value": False}
        return super().__call__(name, given)


def turned(number: str, chance: random.Random) -> str:
    """Two neighbours have changed places, where the check digit notices (it overlooks a difference of 5)."""
    places = [n for n in range(3, 12) if abs(int(number[n]) - int(number[n + 1])) not in (0, 5)]
    if not places:
        return mistyped(number, chance)
    n = chance.choice(places)
    return number[:n] + number[n + 1] + number[n] + number[n + 2 :]


def naive(moment: datetime) -> str:
    return written(moment).removesuffix("Z")


def misshapen(case: Case, chance: random.Random) -> Iterator[tuple[str, str, Any]]:
    """Calls of a wrong shape: what it is, the field at fault, the arguments."""
    good = case.arguments
    yield "due without offset", "/due", {**good, "due": naive(case.due)}
    yield "until without offset", "/until", {**good, "until": naive(case.until)}
    yield "a day that is none", "/until", {**good, "until": "2027-02-30T10:00:00Z"}
    yield "a date alone", "/due", {**good, "due": good["due"][:10]}
    yield "words", "/until", {**good, "until": chance.choice(("tomorrow", "in two weeks", ""))}
    yield "a number", "/due", {**good, "due": int(case.due.timestamp())}
    yield "null", "/until", {**good, "until": None}
    yield "an ISBN with hyphens", "/isbn", {**good, "isbn": f"{case.isbn[:3]}-{case.isbn[3:]}"}
    yield "an ISBN of ten digits", "/isbn", {**good, "isbn": case.isbn[3:]}
    yield "an ISBN as a number", "/isbn", {**good, "isbn": int(case.isbn)}
    name = chance.choice(("branch", "Until", "now", "clock"))
    yield "an argument too many", f"/{name}", {**good, name: good["until"]}
    absent = chance.choice(("isbn", "due", "until"))
    yield "an argument missing", f"/{absent}", {k: v for k, v in good.items() if k != absent}
