"""A small Contract Net: announce, bid, award, report (R. G. Smith, 1980; P133), which chooses by contract.

The paper's word *contract* is an award. Here a bid brings the other kind with it, its ``CapabilityContract``,
and the manager holds it to that:

1. **Announce**: the operation, the arguments, the result that is needed, and until when bids count.
2. **Bid**: a cost, a time, and the bidder's contract. A bid is refused, with stable words, when its contract
   does not offer the operation (``operation``), does not accept these very arguments (``input``), or lets a
   result through that is not the one needed (``result``: a value that shows it was found).
3. **Award**: to the fitting bid with the lowest score; of equals, to the name that comes first.
4. **Report**: the result is held to what was announced and to what the winner itself promised.

What the paper leaves open is decided here. Bids are trusted there: a result that breaks its bid is refused,
written down, and the next bidder gets the award. A contractor that dies after the award, or is late, loses it
by its deadline; every award has a number, and a report under an old number is refused, so that the late
answer of the first contractor does not come in beside that of the second.

What it refuses to do: look at a machine's clock (time is handed in), take a bid after the first award, or pay
anybody. That no counterexample was found is no proof that a bidder's results will do: the report is checked
all the same. A manager that dies takes its allocation with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import chain
from random import Random
from typing import Any, Literal, Protocol

from ai_evolution.atdf.containment import containment
from ai_evolution.atdf.roles import CapabilityContract, ResultContract, is_failure
from ai_evolution.atdf.samples import samples
from ai_evolution.atdf.schemas import check_schema
from ai_evolution.atdf.sla import ServiceLevel
from ai_evolution.atdf.values import copied_json
from ai_evolution.errors import UsageError

COUNTEREXAMPLES = 40
"""Values of a bidder's result that are tried against the ranges needed."""

Why = Literal[
    "malformed", "stranger", "late", "twice", "operation", "input", "result", "level", "cost", "time"
]
State = Literal["open", "awarded", "done", "failed"]


@dataclass(frozen=True)
class Announcement:
    """What is to be done. ``expires`` is when bids stop counting (aware).

    ``result`` is what the manager needs back, ``level`` the service that a bidder must promise (if any),
    ``most_cost`` and ``most_seconds`` what it may cost and take. Raises UsageError for a naive time or a
    schema that is none.
    """

    id: str
    operation: str
    arguments: Mapping[str, Any]
    expires: datetime
    result: ResultContract = field(default_factory=ResultContract)
    level: ServiceLevel | None = None
    most_cost: float = math.inf
    most_seconds: float = math.inf

    def __post_init__(self) -> None:
        if self.expires.tzinfo is None:
            raise UsageError(f"expires={self.expires.isoformat()} given, a time with an offset accepted")
        for problem in check_schema(self.result.shape):
            raise UsageError(f"the result announced is no JSON Schema: {problem.message}")


@dataclass(frozen=True)
class Bid:
    """What a contractor promises: its contract, a cost, the seconds it will take, its level of service."""

    contractor: str
    capability: CapabilityContract
    cost: float
    seconds: float
    level: ServiceLevel | None = None


@dataclass(frozen=True)
class Award:
    """Who shall do it, under which ``number``, and until when the report must have come."""

    number: int
    contractor: str
    announcement: Announcement
    due: datetime


@dataclass(frozen=True)
class Message:
    """One thing that was said: announce, bid, refuse, award, report, or withdraw."""

    kind: Literal["announce", "bid", "refuse", "award", "report", "withdraw"]
    sender: str
    receiver: str
    at: datetime
    why: str = ""


@dataclass(frozen=True)
class BrokenAward:
    """An award that came to nothing: who had it, why, and the first thing that broke (``detail``).

    ``why`` is died, late, failed, broke-bid or broke-need.
    """

    number: int
    contractor: str
    why: str
    detail: str = ""


Score = Callable[[Bid], tuple[float, ...]]


def cheapest(bid: Bid) -> tuple[float, ...]:
    """The score that is used when none is given: the cost, then the time. The lowest wins."""
    return bid.cost, bid.seconds


class Manager:
    """One allocation. Every move takes the time at which it happens, and none waits.

    ``contractors`` are the names that are asked. ``score`` orders fitting bids, the lowest wins. ``grace`` is
    added to the time a bid promises before its award is withdrawn.
    """

    name = "manager"

    def __init__(
        self,
        announcement: Announcement,
        contractors: Sequence[str],
        *,
        score: Score = cheapest,
        grace: timedelta = timedelta(0),
        seed: int = 0,
    ) -> None:
        self.announcement = announcement
        self.contractors = tuple(contractors)
        self.state: State = "open"
        self.bids: dict[str, Bid] = {}
        self.refused: dict[str, tuple[Why, ...]] = {}
        self.broken: list[BrokenAward] = []
        self.award: Award | None = None
        self.result: Any = None
        self.log: list[Message] = []
        self._score, self._grace, self._seed = score, grace, seed
        self._awards = 0

    def announce(self, now: datetime) -> Announcement:
        """Ask every contractor; returns what they are asked."""
        for name in self.contractors:
            self._say("announce", self.name, name, now)
        return self.announcement

    def receive(self, bid: Bid, now: datetime) -> tuple[Why, ...]:
        """Take a bid; returns why it is refused, nothing when it counts. The first bid of a name counts."""
        self._say("bid", str(bid.contractor), self.name, now)
        why = self._doubts(bid, now)
        if why:
            if why not in (("twice",), ("stranger",)):
                self.refused[bid.contractor] = why
            self._say("refuse", self.name, bid.contractor, now, ", ".join(why))
        else:
            self.bids[bid.contractor] = bid
        return why

    def _doubts(self, bid: Bid, now: datetime) -> tuple[Why, ...]:
        asked = self.announcement
        if bid.contractor not in self.contractors:
            return ("stranger",)
        if self._awards or now > asked.expires:
            return ("late",)
        if bid.contractor in self.bids or bid.contractor in self.refused:
            return ("twice",)
        if not all(_is_amount(each) for each in (bid.cost, bid.seconds)):
            return ("malformed",)
        found: list[Why] = []
        if bid.cost > asked.most_cost:
            found.append("cost")
        if bid.seconds > asked.most_seconds:
            found.append("time")
        if asked.level is not None and (bid.level is None or bid.level.weaker_than(asked.level)):
            found.append("level")
        offered = bid.capability.operations.get(asked.operation)
        if offered is None:
            return (*found, "operation")
        if bid.capability.request(asked.operation, dict(asked.arguments)):
            found.append("input")
        if counterexample(offered.result, asked.result, self._seed):
            found.append("result")
        return tuple(found)

    def choose(self, now: datetime) -> Award | None:
        """Close the bidding and award; also after an award came to nothing. None: nobody is left."""
        if self.state == "awarded":
            raise UsageError("an award is out: its report or its deadline accepted first")
        if self.state == "done":
            raise UsageError("the allocation is done, no further award accepted")
        tried = {broken.contractor for broken in self.broken}
        left = sorted(
            (bid for bid in self.bids.values() if bid.contractor not in tried),
            key=lambda bid: (*self._score(bid), bid.contractor),
        )
        if not left:
            self.state, self.award = "failed", None
            return None
        self._awards += 1
        due = now + timedelta(seconds=left[0].seconds) + self._grace
        self.state = "awarded"
        self.award = Award(self._awards, left[0].contractor, self.announcement, due)
        self._say("award", self.name, left[0].contractor, now)
        return self.award

    def report(self, contractor: str, number: int, result: Any, now: datetime) -> str:
        """Take a report: ``accepted``, or why not.

        ``stale``: the award is not theirs, or no longer. ``late``, ``failed`` (the contractor says so),
        ``broke-bid`` (not what it promised), ``broke-need`` (as promised, and not what is needed): the award
        is over, and ``choose`` gives the next one.
        """
        self._say("report", contractor, self.name, now)
        award = self.award if self.state == "awarded" else None
        if award is None or (award.number, award.contractor) != (number, contractor):
            return "stale"
        if now > award.due:
            return self._over("late", now)
        plain, wrong = copied_json(result)
        if wrong:
            return self._over("broke-bid", now, wrong[0].message)
        promised = self.bids[contractor].capability.operations[self.announcement.operation].result
        for why, contract in (("broke-bid", promised), ("broke-need", self.announcement.result)):
            if found := contract.problems(plain):
                return self._over(why, now, f"{found[0].pointer or '/'}: {found[0].message}")
        if is_failure(plain):
            return self._over("failed", now, str(plain["data"]["code"]))
        self.state, self.result = "done", plain
        return "accepted"

    def died(self, now: datetime) -> None:
        """The contractor of the award is known to be gone."""
        if self.state == "awarded":
            self._over("died", now)

    def overdue(self, now: datetime) -> bool:
        """Withdraw the award when its time is over; returns whether it was."""
        if self.state != "awarded" or self.award is None or now <= self.award.due:
            return False
        self._over("late", now)
        return True

    def _over(self, why: str, now: datetime, detail: str = "") -> str:
        assert self.award is not None
        self.broken.append(BrokenAward(self.award.number, self.award.contractor, why, detail))
        self._say("withdraw", self.name, self.award.contractor, now, why)
        self.state, self.award = "open", None
        return why

    def _say(self, kind: Any, sender: str, receiver: str, at: datetime, why: str = "") -> None:
        self.log.append(Message(kind, sender, receiver, at, why))


def counterexample(promised: ResultContract, needed: ResultContract, seed: int = 0) -> tuple[Any, ...]:
    """One result that ``promised`` lets through and ``needed`` does not, in a tuple; empty: none found.

    It is built from the two shapes (``containment``) or, where ranges are at stake, drawn from the promised
    one, brought into its ranges, and then moved, one number at a time, to where the needed range has ended.
    An empty tuple proves nothing.
    """
    built = (each.witness for each in containment(promised.shape, needed.shape).breaks)
    drawn = samples(promised.shape, Random(f"counterexample:{seed}"), COUNTEREXAMPLES)
    moved = (each for value in drawn for each in (value, *_beyond(value, promised, needed)))
    for value in chain(built, moved if needed.ranges else ()):
        if not promised.problems(value) and needed.problems(value):
            return (value,)
    return ()


def _beyond(value: Any, promised: ResultContract, needed: ResultContract) -> Iterator[Any]:
    """``value`` in the promised ranges, one number moved just outside a needed one or to a promised end."""
    settled = value
    for span in promised.ranges:
        for at, number in list(span.reached(settled)):
            if isinstance(number, int | float) and not isinstance(number, bool):
                settled = _with(settled, at, min(max(number, span.minimum), span.maximum))
    for span in needed.ranges:
        ends = [end for same in promised.ranges for end in (same.minimum, same.maximum)]
        for at, _ in list(span.reached(settled)):
            for number in (*ends, span.minimum - 1, span.maximum + 1):
                if math.isfinite(number):
                    yield _with(settled, at, int(number) if float(number).is_integer() else number)


def _with(value: Any, at: Sequence[str | int], new: Any) -> Any:
    """A copy of ``value`` with ``new`` at the place that these steps lead to."""
    if not at:
        return new
    copied: Any = list(value) if isinstance(value, list) else dict(value)
    copied[at[0]] = _with(copied[at[0]], at[1:], new)
    return copied


# a round with everybody in it


class Contractor(Protocol):
    """Somebody who may bid and then performs. An exception in ``perform`` is a death after the award."""

    @property
    def name(self) -> str: ...

    def bid(self, announcement: Announcement) -> Bid | None: ...

    def perform(self, award: Award) -> Any: ...


@dataclass(frozen=True)
class Allocation:
    """How a round ended. ``winner`` is None when nobody delivered; ``messages`` counts what was said."""

    winner: str | None
    result: Any
    refused: Mapping[str, tuple[Why, ...]]
    broken: tuple[BrokenAward, ...]
    log: tuple[Message, ...] = field(repr=False)

    @property
    def messages(self) -> int:
        """Messages in all; k asked, b bids and no trouble: k + b + 2."""
        return len(self.log)


def allocate(
    announcement: Announcement,
    contractors: Sequence[Contractor],
    *,
    clock: Callable[[], datetime],
    score: Score = cheapest,
    grace: timedelta = timedelta(0),
    seed: int = 0,
) -> Allocation:
    """One round from the announcement to a report that holds, or to the last bidder.

    ``clock`` is read for every move (a simulated one lets contractors be late). A contractor whose ``bid``
    raises has not bid.
    """
    people = {contractor.name: contractor for contractor in contractors}
    if len(people) != len(contractors):
        raise UsageError("two contractors of one name given, one of each name accepted")
    manager = Manager(announcement, tuple(people), score=score, grace=grace, seed=seed)
    manager.announce(clock())
    for contractor in contractors:
        try:
            bid = contractor.bid(announcement)
        except Exception:
            continue
        if bid is not None:
            manager.receive(bid, clock())
    while (award := manager.choose(clock())) is not None:
        try:
            result = people[award.contractor].perform(award)
        except Exception:
            manager.died(clock())
            continue
        if manager.report(award.contractor, award.number, result, clock()) == "accepted":
            break
    winner = manager.award.contractor if manager.state == "done" and manager.award is not None else None
    return Allocation(
        winner, manager.result, dict(manager.refused), tuple(manager.broken), tuple(manager.log)
    )


def _is_amount(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1e12
