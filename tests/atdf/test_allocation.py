"""Announce, bid, award, report: chosen by contract, and held to it."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ai_evolution.atdf.allocation import (
    Allocation,
    Announcement,
    Award,
    Bid,
    Manager,
    allocate,
    counterexample,
)
from ai_evolution.atdf.envelope import error
from ai_evolution.atdf.roles import CapabilityContract, Operation, Range, ResultContract
from ai_evolution.atdf.sla import Latency, ServiceLevel
from ai_evolution.errors import UsageError
from ai_evolution.world import EPOCH, World

INPUT = {"type": "object", "properties": {"text": {"type": "string", "maxLength": 20}}, "required": ["text"]}
SHAPE = {"type": "object", "properties": {"words": {"type": "integer", "minimum": 0}}, "required": ["words"]}
NEED = ResultContract(SHAPE, (Range("/words", 0, 100),))
JOB = Announcement("job-1", "count", {"text": "to be or not"}, EPOCH + timedelta(minutes=1), NEED)


def offer(
    shape: Any = SHAPE, given: Any = INPUT, name: str = "count", ranges: Any = NEED.ranges
) -> CapabilityContract:
    return CapabilityContract("worker", {name: Operation(given, ResultContract(shape, ranges))})


@dataclass
class Worker:
    """Bids as it is told and performs as it is told."""

    name: str
    cost: float = 1
    seconds: float = 10
    capability: CapabilityContract = field(default_factory=offer)
    does: Callable[[Award], Any] = lambda _: {"words": 4}
    level: ServiceLevel | None = None
    silent: bool = False
    performed: int = 0

    def bid(self, announcement: Announcement) -> Bid | None:
        if self.silent:
            return None
        return Bid(self.name, self.capability, self.cost, self.seconds, self.level)

    def perform(self, award: Award) -> Any:
        self.performed += 1
        return self.does(award)


def dies(_: Award) -> Any:
    raise ConnectionError("gone")


def run(*workers: Worker, job: Announcement = JOB, **options: Any) -> Allocation:
    return allocate(job, workers, **{"clock": World("net").now} | options)


# who gets it


def test_the_cheapest_fitting_bid_gets_the_award_and_everybody_else_rests() -> None:
    workers = [Worker("a", 40), Worker("b", 25), Worker("c", 55)]
    found = run(*workers)
    assert (found.winner, found.result) == ("b", {"words": 4})
    assert [worker.performed for worker in workers] == [0, 1, 0]


def test_it_takes_as_many_messages_as_the_paper_says() -> None:
    asked = [
        Worker(name, cost, silent=cost == 0)
        for name, cost in zip("abcdef", (40, 0, 25, 0, 55, 0), strict=True)
    ]
    assert run(*asked).messages == 6 + 3 + 2


def test_of_equals_the_name_that_comes_first_wins_whatever_the_order() -> None:
    workers = [Worker("c", 5), Worker("a", 5), Worker("b", 5)]
    for seed in range(5):
        random.Random(seed).shuffle(workers)
        assert run(*workers).winner == "a"
    assert run(Worker("a", 5, seconds=9), Worker("b", 5, seconds=8)).winner == "b"


def test_another_score_chooses_another_winner() -> None:
    workers = (Worker("a", 1, seconds=9), Worker("b", 2, seconds=1))
    assert run(*workers).winner == "a"
    assert run(*workers, score=lambda bid: (bid.seconds,)).winner == "b"


@pytest.mark.parametrize(
    ("worker", "why"),
    [
        (Worker("w", capability=offer(name="sing")), ("operation",)),
        (Worker("w", capability=offer(given={"type": "object", "required": ["language"]})), ("input",)),
        (Worker("w", capability=offer(given={"properties": {"text": {"maxLength": 3}}})), ("input",)),
        (Worker("w", capability=offer(shape=True)), ("result",)),
        (Worker("w", capability=offer(shape={"type": "object"})), ("result",)),
        (Worker("w", capability=offer(ranges=())), ("result",)),
        (Worker("w", cost=float("nan")), ("malformed",)),
        (Worker("w", cost=float("inf")), ("malformed",)),
        (Worker("w", cost=-1), ("malformed",)),
        (Worker("w", cost="1"), ("malformed",)),  # type: ignore[arg-type]
        (Worker("w", seconds=-1), ("malformed",)),
        (Worker("w", cost=101), ("cost",)),
        (Worker("w", cost=101, seconds=61, capability=offer(name="sing")), ("cost", "time", "operation")),
    ],
)  # fmt: skip
def test_a_bid_whose_contract_does_not_fit_is_refused_and_told_why(
    worker: Worker, why: tuple[str, ...]
) -> None:
    found = run(worker, Worker("z", 99), job=replace(JOB, most_cost=100, most_seconds=60))
    assert found.refused == {"w": why}
    assert found.winner == "z"
    assert worker.performed == 0
    assert [message.why for message in found.log if message.kind == "refuse"] == [", ".join(why)]


def test_a_level_of_service_that_is_asked_for_must_be_promised() -> None:
    asked = ServiceLevel(0.99, (Latency(95, 1),))
    job = replace(JOB, level=asked)
    better = ServiceLevel(0.999, (Latency(99, 0.5),))
    found = run(Worker("a"), Worker("b", level=ServiceLevel(0.9)), Worker("c", 9, level=better), job=job)
    assert found.refused == {"a": ("level",), "b": ("level",)}
    assert found.winner == "c"


def test_a_stricter_promise_fits() -> None:
    strict = {
        "type": "object",
        "properties": {"words": {"type": "integer", "minimum": 1, "maximum": 9}},
        "required": ["words"],
    }
    assert run(Worker("a", capability=offer(shape=strict, ranges=()))).winner == "a"


def test_the_counterexample_is_one() -> None:
    for shape in (True, {"type": "object"}, {"type": "object", "required": ["words"]}):
        (value,) = counterexample(ResultContract(shape), NEED)
        assert NEED.problems(value)
    assert counterexample(NEED, NEED) == ()


@pytest.mark.parametrize("ends", [(0, 900), (0, 500.5), (-1, 500), (0, 501), (0, math.inf)])
def test_a_wider_range_is_a_counterexample_however_little_wider(ends: tuple[float, float]) -> None:
    shape = {
        "type": "object",
        "properties": {"price": {"type": "number"}, "booked": {"type": "integer"}},
        "required": ["price", "booked"],
    }
    booked = Range("/booked", 1, 8)
    need = ResultContract(shape, (booked, Range("/price", 0, 500)))
    (value,) = counterexample(ResultContract(shape, (booked, Range("/price", *ends))), need)
    assert 1 <= value["booked"] <= 8
    assert need.problems(value)
    assert counterexample(ResultContract(shape, (booked, Range("/price", 1, 499))), need) == ()


# bids that do not count


def test_bids_count_until_they_expire_and_once_and_only_from_who_was_asked() -> None:
    manager = Manager(JOB, ["a", "b", "c"])
    bid = Worker("a").bid(JOB)
    assert bid is not None
    assert manager.receive(bid, JOB.expires) == ()
    assert manager.receive(replace(bid, cost=0), JOB.expires) == ("twice",)
    assert manager.receive(replace(bid, contractor="x"), JOB.expires) == ("stranger",)
    assert manager.receive(replace(bid, contractor="b"), JOB.expires + timedelta(seconds=1)) == ("late",)
    manager.choose(EPOCH)
    assert manager.receive(replace(bid, contractor="c", cost=0), EPOCH) == ("late",)
    assert manager.bids["a"].cost == 1
    assert manager.refused == {"b": ("late",), "c": ("late",)}


def test_nobody_bids_and_nobody_wins() -> None:
    found = run(Worker("a", silent=True))
    assert (found.winner, found.result, found.messages) == (None, None, 1)
    assert run().winner is None


def test_a_contractor_that_fails_at_bidding_has_not_bid() -> None:
    broken = Worker("a")
    broken.bid = lambda _: 1 / 0  # type: ignore[assignment,method-assign]
    assert run(broken, Worker("b", 5)).winner == "b"


# after the award


def test_a_contractor_that_dies_after_the_award_is_followed_by_the_next() -> None:
    found = run(Worker("a", 1, does=dies), Worker("b", 2, does=dies), Worker("c", 3))
    assert found.winner == "c"
    assert [(broken.contractor, broken.why, broken.number) for broken in found.broken] == [
        ("a", "died", 1),
        ("b", "died", 2),
    ]
    assert "gone" not in repr(found)
    assert run(Worker("a", does=dies)).winner is None


@pytest.mark.parametrize(
    ("result", "why"),
    [
        ({"words": "4"}, "broke-bid"),
        ({"words": -1}, "broke-bid"),
        ({"words": 101}, "broke-bid"),
        (None, "broke-bid"),
        ({"words": object()}, "broke-bid"),
        (error("BUSY", "x", details={}, expected="x", solution="x", at=EPOCH), "failed"),
    ],
)
def test_a_result_that_breaks_its_bid_is_refused_and_the_next_one_is_asked(result: Any, why: str) -> None:
    found = run(Worker("a", 1, does=lambda _: result), Worker("b", 2))
    assert (found.winner, found.result) == ("b", {"words": 4})
    assert [(broken.contractor, broken.why) for broken in found.broken] == [("a", why)]
    assert [message.why for message in found.log if message.kind == "withdraw"] == [why]


def test_a_result_as_promised_that_is_not_what_is_needed_is_refused_too() -> None:
    manager = Manager(replace(JOB, result=ResultContract()), ["a"])
    bid = Worker("a", capability=offer(shape=True, ranges=())).bid(JOB)
    assert bid is not None
    assert manager.receive(bid, EPOCH) == ()
    manager.announcement = JOB  # as if no counterexample had been found
    award = manager.choose(EPOCH)
    assert award is not None
    assert manager.report("a", award.number, {"words": 1000}, EPOCH) == "broke-need"


def test_a_late_report_is_refused_and_so_is_one_under_an_old_number() -> None:
    manager = Manager(JOB, ["a", "b"], grace=timedelta(seconds=5))
    for name, cost in (("a", 1), ("b", 2)):
        bid = Worker(name, cost).bid(JOB)
        assert bid is not None
        manager.receive(bid, EPOCH)
    first = manager.choose(EPOCH)
    assert first is not None
    assert first.due == EPOCH + timedelta(seconds=15)
    assert not manager.overdue(first.due)
    assert manager.overdue(first.due + timedelta(seconds=1))
    second = manager.choose(first.due + timedelta(seconds=1))
    assert second is not None
    assert (second.number, second.contractor) == (2, "b")
    now = second.due
    assert manager.report("a", first.number, {"words": 1}, now) == "stale"
    assert manager.report("a", second.number, {"words": 1}, now) == "stale"
    assert manager.report("b", first.number, {"words": 1}, now) == "stale"
    assert manager.report("b", second.number, {"words": 2}, now) == "accepted"
    assert manager.report("b", second.number, {"words": 3}, now) == "stale"
    assert manager.result == {"words": 2}
    with pytest.raises(UsageError, match="done"):
        manager.choose(now)


def test_a_contractor_that_is_slower_than_it_promised_loses_the_award() -> None:
    world = World("net")

    def slow(_: Award) -> Any:
        world.tick(11)
        return {"words": 4}

    found = run(Worker("a", 1, does=slow), Worker("b", 2), clock=world.now)
    assert found.winner == "b"
    assert [broken.why for broken in found.broken] == ["late"]


def test_while_an_award_is_out_there_is_no_other() -> None:
    manager = Manager(JOB, ["a"])
    bid = Worker("a").bid(JOB)
    assert bid is not None
    manager.receive(bid, EPOCH)
    manager.choose(EPOCH)
    with pytest.raises(UsageError, match="award is out"):
        manager.choose(EPOCH)


def test_the_result_is_a_copy() -> None:
    kept = {"words": 4, "list": [1]}
    found = run(Worker("a", does=lambda _: kept))
    found.result["list"].append(2)
    assert kept == {"words": 4, "list": [1]}


def test_calls_that_make_no_sense_are_refused() -> None:
    with pytest.raises(UsageError, match="offset"):
        replace(JOB, expires=datetime(2026, 1, 5))  # noqa: DTZ001
    with pytest.raises(UsageError, match="no JSON Schema"):
        replace(JOB, result=ResultContract({"type": "objekt"}))
    with pytest.raises(UsageError, match="one name"):
        run(Worker("a"), Worker("a"))


OUTCOMES: list[Any] = [{"words": 4}, {"words": -1}, {}, None, dies]


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.sampled_from(range(len(OUTCOMES))), st.booleans()), max_size=6),
    st.randoms(use_true_random=False),
)
def test_whatever_the_contractors_do_the_award_ends_at_the_cheapest_that_delivers(
    plan: list[tuple[int, int, bool]], chance: random.Random
) -> None:
    def worker(number: int, cost: int, outcome: int, silent: bool) -> Worker:
        does = OUTCOMES[outcome]
        return Worker(f"w{number}", cost, does=does if callable(does) else lambda _: does, silent=silent)

    workers = [worker(number, *each) for number, each in enumerate(plan)]
    good = [(cost, f"w{n}") for n, (cost, outcome, silent) in enumerate(plan) if outcome == 0 and not silent]
    first = run(*workers)
    assert first.winner == (min(good)[1] if good else None)
    chance.shuffle(workers)
    assert run(*workers).winner == first.winner
    assert all(worker.performed <= 2 for worker in workers)
    json.dumps(first.result)
