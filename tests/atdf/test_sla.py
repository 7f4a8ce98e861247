"""A service level is a promise; a sample keeps it, breaks it, or is too small to say."""

from __future__ import annotations

import asyncio
import json
import math
import random
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_evolution.atdf.sla import (
    Call,
    Latency,
    Recorder,
    ServiceLevel,
    conform,
    order_statistics,
    read_series,
    wilson,
    write_series,
)
from ai_evolution.errors import DocumentError, UsageError
from ai_evolution.world import EPOCH, World

THREE_NINES = ServiceLevel(availability=0.999)


def calls(good: int, bad: int = 0, seconds: float = 0.1, excluded: int = 0) -> list[Call]:
    counts = ["bad"] * bad + ["excluded"] * excluded + ["good"] * good
    return [Call(EPOCH + timedelta(seconds=n), seconds, each) for n, each in enumerate(counts)]  # type: ignore[arg-type]


def exact_cumulative(trials: int, share: float, upto: int) -> float:
    return sum(math.comb(trials, i) * share**i * (1 - share) ** (trials - i) for i in range(upto + 1))


# availability


def test_the_wilson_interval_is_that_of_the_textbook() -> None:
    low, high = wilson(9, 10)
    assert (round(low, 4), round(high, 4)) == (0.5958, 0.9821)
    low, high = wilson(8, 8)
    assert (round(low, 4), high) == (0.6756, 1.0)
    assert wilson(0, 0) == (0.0, 1.0)
    assert wilson(0, 5)[0] == 0.0


@given(st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_the_interval_holds_the_share_and_mirrors_for_failures(case: tuple[int, int]) -> None:
    k, n = case
    low, high = wilson(k, n)
    assert 0 <= low <= k / n <= high <= 1
    other_low, other_high = wilson(n - k, n)
    assert low == pytest.approx(1 - other_high)
    assert high == pytest.approx(1 - other_low)


def test_a_promise_kept_by_a_small_sample_is_not_shown_by_it() -> None:
    found = conform(THREE_NINES, calls(1000))
    judgement = found.judgements[0]
    assert found.kept
    assert found.verdict == "not-shown"
    assert judgement.low is not None
    assert judgement.low < 0.999
    assert judgement.needs == 3838
    assert "1000" in judgement.says("en")
    assert "not shown" in judgement.says("en")
    assert "3838" in judgement.says("es")
    assert "no lo demuestra" in judgement.says("es")


def test_the_number_it_needs_is_the_first_that_is_enough() -> None:
    assert conform(THREE_NINES, calls(3837)).verdict == "not-shown"
    assert conform(THREE_NINES, calls(3838)).verdict == "holds"


def test_a_promise_that_is_broken_for_sure_does_not_hold() -> None:
    found = conform(THREE_NINES, calls(900, 100))
    assert found.verdict == "does-not-hold"
    assert not found.kept
    assert "does not hold" in found.says()[0]


def test_a_sample_that_breaks_the_promise_by_chance_does_not_refute_it() -> None:
    found = conform(THREE_NINES, calls(999, 2))
    assert not found.kept
    assert found.verdict == "not-shown"


def test_a_promise_of_everything_can_be_refuted_and_never_shown() -> None:
    always = ServiceLevel(availability=1)
    assert conform(always, calls(10_000)).verdict == "not-shown"
    assert conform(always, calls(10_000)).judgements[0].needs is None
    assert "no sample can show it" in conform(always, calls(10)).says()[0]
    assert conform(always, calls(10, 1)).verdict == "does-not-hold"


def test_no_call_shows_nothing() -> None:
    found = conform(ServiceLevel(0.5, (Latency(50, 1),)), [])
    assert (found.verdict, found.kept, found.calls) == ("not-shown", False, 0)
    assert all("no call" in sentence or "0 calls" in sentence for sentence in found.says())


def test_calls_that_the_caller_got_wrong_count_for_nothing() -> None:
    found = conform(THREE_NINES, calls(10, 0, excluded=500))
    assert (found.calls, found.excluded) == (10, 500)


# percentiles


@pytest.mark.parametrize(
    ("trials", "share"), [(1, 0.5), (10, 0.5), (59, 0.95), (60, 0.9), (368, 0.99), (500, 0.9)]
)
def test_the_order_statistics_cover_as_much_as_they_say_and_no_more_than_needed(
    trials: int, share: float
) -> None:
    lower, upper = order_statistics(trials, share)
    if upper is not None:
        assert exact_cumulative(trials, share, upper - 1) >= 0.975
        assert upper == 1 or exact_cumulative(trials, share, upper - 2) < 0.975
    else:
        assert exact_cumulative(trials, share, trials - 1) < 0.975
    if lower is not None:
        assert exact_cumulative(trials, share, lower - 1) <= 0.025
        assert exact_cumulative(trials, share, lower) > 0.025
    else:
        assert exact_cumulative(trials, share, 0) > 0.025


def test_the_median_of_ten_lies_between_the_second_and_the_ninth() -> None:
    assert order_statistics(10, 0.5) == (2, 9)


def test_a_percentile_needs_a_sample_before_it_can_hold() -> None:
    level = ServiceLevel(latency=(Latency(99, 1.0),))
    few, enough = conform(level, calls(367)), conform(level, calls(368))
    assert few.judgements[0].high is None
    assert few.judgements[0].needs == 368
    assert (few.verdict, few.kept) == ("not-shown", True)
    assert enough.verdict == "holds"
    assert enough.judgements[0].high == 0.1


def test_slow_calls_refute_a_percentile() -> None:
    level = ServiceLevel(latency=(Latency(90, 0.05),))
    assert conform(level, calls(200, seconds=0.1)).verdict == "does-not-hold"


def test_failing_fast_makes_nobody_fast_where_all_calls_count() -> None:
    series = calls(60, 40, seconds=0.01)
    good, every = Latency(95, 1.0), Latency(95, 1.0, of="all")
    found = conform(ServiceLevel(latency=(good, every)), [*series, *calls(60)])
    assert [judgement.verdict for judgement in found.judgements] == ["holds", "does-not-hold"]
    assert found.judgements[1].observed is None
    json.dumps(found.to_json(), allow_nan=False)


def test_the_bound_errs_as_rarely_as_it_says_on_a_skewed_distribution() -> None:
    chance = random.Random("sla")
    true_median = math.log(2)
    level = ServiceLevel(latency=(Latency(50, true_median * 0.999),))
    wrong = sum(
        conform(level, [Call(EPOCH, chance.expovariate(1)) for _ in range(40)]).verdict == "holds"
        for _ in range(1000)
    )
    assert wrong <= 40  # 2.5 % of 1000 are expected at most; 40 is three deviations away


# budget and window


def test_the_error_budget_is_exact() -> None:
    assert THREE_NINES.budget(1000) == 1
    assert THREE_NINES.budget(999) == 0
    assert ServiceLevel(availability=0.9).budget(10) == 1
    budget = conform(THREE_NINES, calls(1997, 3)).budget
    assert budget is not None
    assert (budget.allowed, budget.spent, budget.left) == (2, 3, -1)
    assert budget.burn == pytest.approx(1.5)
    assert budget.exhausted_at == EPOCH + timedelta(seconds=2)


def test_a_budget_of_nothing_has_no_rate_once_it_is_spent() -> None:
    spent = conform(ServiceLevel(availability=1), calls(5, 1)).budget
    unspent = conform(ServiceLevel(availability=1), calls(5)).budget
    assert spent is not None
    assert unspent is not None
    assert (spent.burn, unspent.burn) == (None, 0.0)
    assert spent.exhausted_at == EPOCH


def test_a_level_without_availability_has_no_budget() -> None:
    assert conform(ServiceLevel(latency=(Latency(50, 1),)), calls(3)).budget is None


def test_the_window_ends_with_the_series_or_where_it_is_told() -> None:
    level = ServiceLevel(availability=0.5, window=timedelta(seconds=10))
    series = calls(30, 20)
    assert conform(level, series).calls == 10
    assert conform(level, series).judgements[0].good == 10
    ended = conform(level, series, until=EPOCH + timedelta(seconds=19))
    assert (ended.calls, ended.judgements[0].good) == (10, 0)


def test_the_order_of_the_series_does_not_matter() -> None:
    series = calls(30, 20)
    assert conform(THREE_NINES, series[::-1]).to_json() == conform(THREE_NINES, series).to_json()


def test_failures_in_a_row_are_pointed_out() -> None:
    assert conform(THREE_NINES, calls(30, 20)).longest_outage == 20


# documents


def test_a_level_reads_back_what_it_writes() -> None:
    level = ServiceLevel(0.995, (Latency(95, 0.3), Latency(99, 1, of="all")), timedelta(days=30))
    assert ServiceLevel.read(json.loads(json.dumps(level.to_json()))) == level


@pytest.mark.parametrize(
    ("document", "word"),
    [
        ({}, "without a promise"),
        ([], "object"),
        ({"availability": 99.9}, "availability"),
        ({"availability": True}, "availability"),
        ({"availability": "0.9"}, "availability"),
        ({"latency": {}}, "/latency"),
        ({"latency": [{"percentile": 95}]}, "/latency/0/seconds"),
        ({"latency": [{"percentile": 100, "seconds": 1}]}, "percentile"),
        ({"latency": [{"percentile": 95, "seconds": 0}]}, "seconds"),
        ({"latency": [{"percentile": 95, "seconds": 1, "of": "some"}]}, "good or all"),
        ({"availability": 0.9, "window_seconds": -1}, "window"),
        ({"availability": 0.9, "uptime": 1}, "/uptime"),
    ],
)
def test_a_level_that_is_none_is_refused_in_one_line(document: object, word: str) -> None:
    with pytest.raises(DocumentError, match=word) as caught:
        ServiceLevel.read(document)
    assert "\n" not in str(caught.value)


def test_a_series_reads_back_what_it_writes() -> None:
    series = calls(3, 2, excluded=1)
    assert read_series(write_series(series)) == series


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "[]",
        '{"at": "2026-01-05T09:00:00", "seconds": 1}',
        '{"at": "2026-01-05T09:00:00Z"}',
        '{"at": 5, "seconds": 1}',
        '{"at": "2026-01-05T09:00:00Z", "seconds": -1}',
        '{"at": "2026-01-05T09:00:00Z", "seconds": NaN}',
        '{"at": "2026-01-05T09:00:00Z", "seconds": 1' + "0" * 400 + "}",
        '{"at": "2026-01-05T09:00:00Z", "seconds": 1, "counts": "maybe"}',
        '{"at": "2026-01-05T09:00:00Z", "seconds": 1, "ok": true}',
        '{"at": "0001-01-01T00:00:00+14:00", "seconds": 1}',
        "[" * 100_000,
    ],
)
def test_a_broken_series_names_its_line(line: str) -> None:
    raw = write_series(calls(1)) + line.encode() + b"\n"
    with pytest.raises(DocumentError, match=r"calls\.jsonl, line 2"):
        read_series(raw, "calls.jsonl")


def test_bytes_that_are_no_text_are_refused() -> None:
    with pytest.raises(DocumentError, match="UTF-8"):
        read_series(b"\xff")


@pytest.mark.parametrize("confidence", [0, 1, math.nan, "high"])
def test_a_confidence_outside_its_range_is_refused(confidence: float) -> None:
    with pytest.raises(UsageError, match="confidence"):
        conform(THREE_NINES, [], confidence=confidence)


def test_a_naive_time_is_refused() -> None:
    with pytest.raises(UsageError, match="offset"):
        Call(datetime(2026, 1, 5), 1)  # noqa: DTZ001
    with pytest.raises(UsageError, match="offset"):
        conform(THREE_NINES, [], until=datetime(2026, 1, 5))  # noqa: DTZ001


def test_a_weaker_level_says_what_it_lacks() -> None:
    asked = ServiceLevel(0.99, (Latency(95, 1.0),))
    assert asked.weaker_than(asked) == []
    assert ServiceLevel(0.999, (Latency(99, 0.5),)).weaker_than(asked) == []
    assert ServiceLevel(0.9, (Latency(95, 2.0),)).weaker_than(asked) == ["availability", "latency p95"]
    every = ServiceLevel(latency=(Latency(95, 1.0, of="all"),))
    assert asked.weaker_than(every) == ["latency p95"]
    assert every.weaker_than(asked) == ["availability"]


# live


def test_a_recorder_times_calls_and_lets_exceptions_go_on() -> None:
    world = World("sla")
    recorder = Recorder(clock=world.now, timer=lambda: world.tick(0.25).timestamp())
    assert recorder.call(lambda: {"status": "success"}) == {"status": "success"}
    recorder.call(lambda: {"status": "error"})
    with pytest.raises(ZeroDivisionError):
        recorder.call(lambda: 1 / 0)
    assert [(call.counts, call.seconds) for call in recorder.series] == [
        ("good", 0.25), ("bad", 0.25), ("bad", 0.25),
    ]  # fmt: skip
    assert recorder.series[0].at == EPOCH.astimezone(UTC)


def test_a_recorder_times_async_calls() -> None:
    recorder = Recorder()

    async def answer(value: int) -> int:
        return value

    assert asyncio.run(recorder.acall(answer, 4)) == 4
    assert recorder.series[0].counts == "good"
