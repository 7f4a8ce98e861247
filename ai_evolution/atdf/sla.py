"""A declared service level, and what a sample of calls says about it.

A level promises an availability (the share of calls that succeed), latency percentiles, or both.
``conform`` holds a recorded or live series of calls against it and gives each promise one of three
verdicts: it **holds**, it **does not hold**, or the sample does **not show** which. A promise that was
kept in the sample is not proven by it: ten good calls of ten say little about 99.9 %.

* Availability: the Wilson score interval for k successes of n. The promise holds when the whole
  interval is at or above it, and does not when the whole interval is below.
* Percentiles: an interval between two order statistics of the sample, which covers the true percentile
  with at least the stated confidence whatever the distribution is (the number of calls below it
  is binomial). When the sample is too small to have an upper end, that is said.
* Error budget: how many failures the promise allows for a sample of this size, and how many there were.

What it refuses to do: name a percentage without the number of calls behind it, average percentiles, or
guess a distribution. What it takes for granted: that calls are independent and alike. Failures that come
in a row (see ``Conformance.longest_outage``) make every interval here too narrow.

SLI is what is measured, SLO the internal target, SLA the promise with consequences; the figures are the
same and the consequences are none of this module's business.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from statistics import NormalDist
from typing import Any, Literal

from ai_evolution.errors import DocumentError, UsageError

Verdict = Literal["holds", "does-not-hold", "not-shown"]
Counts = Literal["good", "bad", "excluded"]

LONGEST = 1e9
"""The longest time in seconds that any figure here may name (some thirty years)."""

_WORDS = {
    "en": {"holds": "holds", "does-not-hold": "does not hold", "not-shown": "not shown by this sample"},
    "es": {
        "holds": "se cumple",
        "does-not-hold": "no se cumple",
        "not-shown": "esta muestra no lo demuestra",
    },
}


@dataclass(frozen=True)
class Call:
    """One call: when it began (aware), how many seconds it took, and whether it counts as good.

    ``excluded`` calls count for nothing: a call that the caller got wrong says nothing about the service.
    """

    at: datetime
    seconds: float
    counts: Counts = "good"

    def __post_init__(self) -> None:
        if self.at.tzinfo is None:
            raise UsageError(f"at={self.at.isoformat()} given, a time with an offset accepted")
        if not _is_number(self.seconds) or not 0 <= self.seconds <= LONGEST:
            raise UsageError(f"seconds={self.seconds!r:.40} given, a number from 0 to {LONGEST:.0e} accepted")
        if self.counts not in ("good", "bad", "excluded"):
            raise UsageError(f"counts={self.counts!r} given, good, bad or excluded accepted")


@dataclass(frozen=True)
class Latency:
    """The promise that ``percentile`` per cent of the calls take at most ``seconds``.

    ``of="good"`` looks at the good calls alone. ``of="all"`` counts a bad call as one that never came
    back, so that failing fast makes nobody fast.
    """

    percentile: float
    seconds: float
    of: Literal["good", "all"] = "good"

    def __post_init__(self) -> None:
        if not _is_number(self.percentile) or not 0 < self.percentile < 100:
            raise UsageError(f"percentile={self.percentile!r} given, a number between 0 and 100 accepted")
        if not _is_number(self.seconds) or not 0 < self.seconds <= LONGEST:
            raise UsageError(f"seconds={self.seconds!r:.40} given, a number above 0 accepted")
        if self.of not in ("good", "all"):
            raise UsageError(f"of={self.of!r} given, good or all accepted")


@dataclass(frozen=True)
class ServiceLevel:
    """What is promised. ``availability`` is a share (0.999), ``window`` the span that is looked at.

    With a window only the calls of the last ``window`` before the end of the series count.
    Raises UsageError when nothing is promised or a figure is out of range.
    """

    availability: float | None = None
    latency: tuple[Latency, ...] = ()
    window: timedelta | None = None

    def __post_init__(self) -> None:
        share = self.availability
        if share is not None and (not _is_number(share) or not 0 < share <= 1):
            raise UsageError(f"availability={share!r} given, a share above 0 and up to 1 accepted (0.999)")
        if share is None and not self.latency:
            raise UsageError("a service level without a promise given, an availability or a latency accepted")
        if self.window is not None and self.window <= timedelta(0):
            raise UsageError(f"window={self.window} given, a span above zero accepted")

    @classmethod
    def read(cls, value: Any) -> ServiceLevel:
        """The level in its document form; DocumentError says where it is wrong.

        ``{"availability": 0.999, "latency": [{"percentile": 95, "seconds": 0.3, "of": "good"}],
        "window_seconds": 2592000}``
        """
        found = _members(value, "", set(), {"availability", "latency", "window_seconds"})
        latency = found.get("latency", [])
        if not isinstance(latency, list):
            raise DocumentError(f"/latency: {_kind(latency)} given, a list accepted")
        try:
            promises = tuple(
                Latency(**_members(each, f"/latency/{index}", {"percentile", "seconds"}, {"of"}))
                for index, each in enumerate(latency)
            )
            seconds = found.get("window_seconds")
            if seconds is not None and (not _is_number(seconds) or not 0 < seconds <= LONGEST):
                raise UsageError(f"window_seconds={seconds!r:.40} given, a number above 0 accepted")
            window = None if seconds is None else timedelta(seconds=seconds)
            return cls(found.get("availability"), promises, window)
        except UsageError as error:
            raise DocumentError(f"no service level: {error}") from None

    def to_json(self) -> dict[str, Any]:
        """The document form, which ``read`` reads back as an equal level."""
        document: dict[str, Any] = {}
        if self.availability is not None:
            document["availability"] = self.availability
        if self.latency:
            document["latency"] = [
                {"percentile": each.percentile, "seconds": each.seconds, "of": each.of}
                for each in self.latency
            ]
        if self.window is not None:
            document["window_seconds"] = self.window.total_seconds()
        return document

    def budget(self, calls: int) -> int | None:
        """How many of ``calls`` may fail; None without an availability. Exact: 0.999 of 1,000 is 1."""
        if self.availability is None:
            return None
        return math.floor((1 - Fraction(str(self.availability))) * calls)

    def weaker_than(self, asked: ServiceLevel) -> list[str]:
        """What of ``asked`` this level does not promise, in stable words; empty when it promises all of it.

        The words are ``availability`` and ``latency p<percentile>``. A latency is covered by a promise
        for the same or a higher percentile, the same or fewer seconds, and ``of="all"`` where that is asked.
        """
        lacks = []
        if asked.availability is not None and (self.availability or 0) < asked.availability:
            lacks.append("availability")
        for wanted in asked.latency:
            covered = any(
                given.percentile >= wanted.percentile
                and given.seconds <= wanted.seconds
                and (given.of == "all" or wanted.of == "good")
                for given in self.latency
            )
            if not covered:
                lacks.append(f"latency p{wanted.percentile:g}")
        return lacks


@dataclass(frozen=True)
class Judgement:
    """One promise and what the sample says of it.

    ``promised``, ``observed``, ``low`` and ``high`` are shares for an availability and seconds for
    a latency. ``high`` None: the sample is too small for an upper end (or calls that never came back
    stand there). ``sample`` is the number of calls judged, ``kept`` whether the sample alone kept the
    promise, ``needs`` the fewest calls with which the promise could be shown at all (None: none is enough).
    """

    promise: str
    promised: float
    observed: float | None
    low: float | None
    high: float | None
    sample: int
    good: int
    kept: bool
    verdict: Verdict
    needs: int | None
    confidence: float

    def says(self, lang: str = "en") -> str:
        """The judgement in one sentence, with the size of the sample beside every percentage."""
        words = _WORDS["es" if lang == "es" else "en"]
        spanish = lang == "es"
        unit = _share if self.promise == "availability" else _seconds
        if self.sample == 0:
            seen = "ninguna llamada" if spanish else "no call"
        elif self.promise == "availability":
            seen = (
                f"{unit(self.observed, self.sample)} ({self.good} {'de' if spanish else 'of'} {self.sample})"
            )
        else:
            seen = f"{unit(self.observed, self.sample)} ({self.sample} {'llamadas' if spanish else 'calls'})"
        low = unit(self.low, self.sample) if self.low is not None else "-"
        high = unit(self.high, self.sample) if self.high is not None else "-"
        span = f"{self.confidence:.0%}".replace("%", " %")
        interval = (
            f"intervalo del {span}: de {low} a {high}" if spanish else f"{span} interval: {low} to {high}"
        )
        promised = unit(self.promised, 0)
        text = f"{self.promise} {promised}: {words[self.verdict]}; {seen}, {interval}"
        if self.verdict == "not-shown" and (self.needs is None or self.sample < self.needs):
            if self.needs is None:
                text += "; ninguna muestra lo demuestra" if spanish else "; no sample can show it"
            else:
                text += f"; harían falta {self.needs}" if spanish else f"; it would take {self.needs}"
        return text

    def to_json(self) -> dict[str, Any]:
        """JSON, its fractions rounded to nine places so that it is the same on every machine."""
        return {
            "promise": self.promise, "promised": self.promised, "observed": _rounded(self.observed),
            "low": _rounded(self.low), "high": _rounded(self.high), "sample": self.sample, "good": self.good,
            "kept": self.kept, "verdict": self.verdict, "needs": self.needs, "confidence": self.confidence,
        }  # fmt: skip


@dataclass(frozen=True)
class Budget:
    """The error budget of a sample: ``allowed`` failures, ``spent`` ones, and when it ran out.

    ``burn`` is the rate of spending: 1 uses up the budget exactly, 2 in half the time; None when the promise
    allows no failure at all and there was one.
    """

    allowed: int
    spent: int
    burn: float | None
    exhausted_at: datetime | None

    @property
    def left(self) -> int:
        """Failures still allowed; below zero when the budget is overspent."""
        return self.allowed - self.spent


@dataclass(frozen=True)
class Conformance:
    """What a sample says about a level: one judgement for each promise, and the error budget.

    ``calls`` were judged, ``excluded`` were not; ``longest_outage`` is the longest row of bad calls.
    """

    level: ServiceLevel
    judgements: tuple[Judgement, ...]
    budget: Budget | None
    calls: int
    excluded: int
    longest_outage: int
    begins: datetime | None
    ends: datetime | None

    @property
    def verdict(self) -> Verdict:
        """``does-not-hold`` as soon as one promise does not; ``holds`` when all do."""
        verdicts = {judgement.verdict for judgement in self.judgements}
        if "does-not-hold" in verdicts:
            return "does-not-hold"
        return "not-shown" if "not-shown" in verdicts else "holds"

    @property
    def kept(self) -> bool:
        """Whether the sample by itself kept every promise; this proves nothing about other calls."""
        return all(judgement.kept for judgement in self.judgements)

    def says(self, lang: str = "en") -> list[str]:
        """A sentence for each promise."""
        return [judgement.says(lang) for judgement in self.judgements]

    def to_json(self) -> dict[str, Any]:
        """JSON with the level, the judgements, the budget and the size of the sample."""
        budget = self.budget
        return {
            "level": self.level.to_json(),
            "verdict": self.verdict,
            "kept": self.kept,
            "calls": self.calls,
            "excluded": self.excluded,
            "longest_outage": self.longest_outage,
            "begins": _stamp(self.begins),
            "ends": _stamp(self.ends),
            "judgements": [judgement.to_json() for judgement in self.judgements],
            "budget": budget
            and {
                "allowed": budget.allowed, "spent": budget.spent, "left": budget.left,
                "burn": _rounded(budget.burn), "exhausted_at": _stamp(budget.exhausted_at),
            },
        }  # fmt: skip


def conform(
    level: ServiceLevel,
    series: Iterable[Call],
    *,
    confidence: float = 0.95,
    until: datetime | None = None,
) -> Conformance:
    """Hold ``series`` (in any order) against ``level``.

    ``confidence`` is that of each two-sided interval, so each verdict errs with at most half of what is
    left: 2.5 % at 95 %. ``until`` ends the window (the last call, when not given); later calls are
    left out. Raises UsageError for a confidence outside (0, 1) or a naive ``until``.
    """
    if not _is_number(confidence) or not 0 < confidence < 1:
        raise UsageError(f"confidence={confidence!r} given, a number between 0 and 1 accepted")
    if until is not None and until.tzinfo is None:
        raise UsageError(f"until={until.isoformat()} given, a time with an offset accepted")
    calls = _within(sorted(series, key=lambda call: call.at), level.window, until)
    judged = [call for call in calls if call.counts != "excluded"]
    judgements = []
    if level.availability is not None:
        judgements.append(_availability(level.availability, judged, confidence))
    judgements.extend(_latency(promise, judged, confidence) for promise in level.latency)
    return Conformance(
        level=level,
        judgements=tuple(judgements),
        budget=_budget(level, judged),
        calls=len(judged),
        excluded=len(calls) - len(judged),
        longest_outage=_longest_outage(judged),
        begins=judged[0].at if judged else None,
        ends=judged[-1].at if judged else None,
    )


def _within(calls: list[Call], window: timedelta | None, until: datetime | None) -> list[Call]:
    if until is not None:
        calls = [call for call in calls if call.at <= until]
    if window is None or not calls:
        return calls
    end = until or calls[-1].at
    return [call for call in calls if end - call.at < window]


def _availability(promised: float, calls: Sequence[Call], confidence: float) -> Judgement:
    good = sum(call.counts == "good" for call in calls)
    low, high = wilson(good, len(calls), confidence)
    share = Fraction(str(promised))
    kept = bool(calls) and good >= share * len(calls)
    verdict: Verdict = "holds" if low >= promised else "does-not-hold" if high < promised else "not-shown"
    return Judgement(
        promise="availability",
        promised=promised,
        observed=good / len(calls) if calls else None,
        low=low if calls else None,
        high=high if calls else None,
        sample=len(calls),
        good=good,
        kept=kept,
        verdict=verdict if calls else "not-shown",
        needs=_fewest_for_availability(promised, confidence),
        confidence=confidence,
    )


def _latency(promise: Latency, calls: Sequence[Call], confidence: float) -> Judgement:
    counted = [call for call in calls if promise.of == "all" or call.counts == "good"]
    times = sorted(call.seconds if call.counts == "good" else math.inf for call in counted)
    share = promise.percentile / 100
    lower, upper = order_statistics(len(times), share, confidence)
    low = times[lower - 1] if lower else None
    high = times[upper - 1] if upper else None
    observed = times[math.ceil(Fraction(str(promise.percentile)) / 100 * len(times)) - 1] if times else None
    if high is not None and high <= promise.seconds:
        verdict: Verdict = "holds"
    elif low is not None and low > promise.seconds:
        verdict = "does-not-hold"
    else:
        verdict = "not-shown"
    return Judgement(
        promise=f"latency p{promise.percentile:g}",
        promised=promise.seconds,
        observed=_finite(observed),
        low=_finite(low),
        high=_finite(high),
        sample=len(times),
        good=sum(seconds <= promise.seconds for seconds in times),
        kept=observed is not None and observed <= promise.seconds,
        verdict=verdict,
        needs=math.ceil(math.log((1 - confidence) / 2) / math.log(share)),
        confidence=confidence,
    )


def _budget(level: ServiceLevel, calls: Sequence[Call]) -> Budget | None:
    if level.availability is None:
        return None
    allowed = level.budget(len(calls)) or 0
    bad = [call for call in calls if call.counts == "bad"]
    share = (1 - Fraction(str(level.availability))) * len(calls)
    burn = float(len(bad) / share) if share else (None if bad else 0.0)
    return Budget(allowed, len(bad), burn, bad[allowed].at if len(bad) > allowed else None)


def _longest_outage(calls: Sequence[Call]) -> int:
    longest = row = 0
    for call in calls:
        row = row + 1 if call.counts == "bad" else 0
        longest = max(longest, row)
    return longest


# the statistics


def wilson(successes: int, trials: int, confidence: float = 0.95) -> tuple[float, float]:
    """The Wilson score interval for a share (E. B. Wilson, 1927); (0, 1) when there are no trials.

    Raises UsageError unless 0 <= successes <= trials.
    """
    if not 0 <= successes <= trials:
        raise UsageError(f"{successes} successes of {trials} trials given, from 0 to all of them accepted")
    if trials == 0:
        return 0.0, 1.0
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    share = successes / trials
    middle = share + z * z / (2 * trials)
    spread = z * math.sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials))
    scale = 1 + z * z / trials
    low = 0.0 if successes == 0 else (middle - spread) / scale
    high = 1.0 if successes == trials else (middle + spread) / scale
    return low, high


def _fewest_for_availability(promised: float, confidence: float) -> int | None:
    """With n of n good the lower end is n / (n + z^2): solved for n; None when 1 is promised."""
    if promised == 1:
        return None
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    return math.ceil(z * z * promised / (1 - promised) - 1e-9)


def order_statistics(trials: int, share: float, confidence: float = 0.95) -> tuple[int | None, int | None]:
    """Which order statistics (1 is the smallest) bound the quantile ``share`` from below and from above.

    Each bound alone holds with at least (1 + confidence) / 2, both with at least ``confidence``, for any
    distribution. None where the sample is too small to have that bound.
    """
    if trials < 0 or not 0 < share < 1:
        raise UsageError(f"{trials} trials and share={share} given, from 0 on and between 0 and 1 accepted")
    tail = (1 - confidence) / 2
    below = _cumulative(trials, share)  # below[i] = P(at most i calls lie below the quantile)
    lower = max((r for r in range(1, trials + 1) if below[r - 1] <= tail), default=None)
    upper = next((s for s in range(1, trials + 1) if below[s - 1] >= 1 - tail), None)
    return lower, upper


def _cumulative(trials: int, share: float) -> list[float]:
    """P(X <= i) for i = 0 .. trials - 1, X binomial."""
    log_choose = math.lgamma(trials + 1)
    yes, no = math.log(share), math.log1p(-share)
    total, sums = 0.0, []
    for i in range(trials):
        log_term = log_choose - math.lgamma(i + 1) - math.lgamma(trials - i + 1) + i * yes + (trials - i) * no
        total += math.exp(log_term)
        sums.append(total)
    return sums


# series


class Recorder:
    """Collects a series from live calls.

    ``clock`` says when a call began, ``timer`` counts seconds. ``judge`` decides what a result counts
    as; by default the structured envelope of ``ai_evolution.atdf``: an error counts as bad. A call
    that raises is bad, and the exception goes on to the caller. See ``blame`` for contracts.
    """

    def __init__(
        self,
        *,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        timer: Callable[[], float] = time.perf_counter,
        judge: Callable[[Any], Counts] | None = None,
    ) -> None:
        self.series: list[Call] = []
        self._clock = clock
        self._timer = timer
        self._judge = judge or _envelope_counts

    def call(self, function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        """``function(*arguments, **named)``, timed and recorded; returns what it returns."""
        at, start, counts = self._clock(), self._timer(), "bad"
        try:
            result = function(*arguments, **named)
            counts = self._judge(result)
            return result
        finally:
            self._note(at, start, counts)

    async def acall(self, function: Callable[..., Awaitable[Any]], *arguments: Any, **named: Any) -> Any:
        """As ``call``, for an async function."""
        at, start, counts = self._clock(), self._timer(), "bad"
        try:
            result = await function(*arguments, **named)
            counts = self._judge(result)
            return result
        finally:
            self._note(at, start, counts)

    def _note(self, at: datetime, start: float, counts: Any) -> None:
        self.series.append(Call(at, max(0.0, self._timer() - start), counts))


def blame(outcome: Any) -> Counts:
    """A judge for ``Contract.outcome``: a call that breaks the contract on the caller's side is excluded."""
    return "excluded" if outcome.blame == "caller" else "bad" if outcome.blame else "good"


def _envelope_counts(result: Any) -> Counts:
    return "bad" if isinstance(result, Mapping) and result.get("status") == "error" else "good"


def write_series(series: Iterable[Call]) -> bytes:
    """JSON lines: ``{"at": "2026-01-05T09:00:00Z", "seconds": 0.12, "counts": "good"}``."""
    lines = (
        json.dumps({"at": _stamp(call.at), "seconds": call.seconds, "counts": call.counts}) for call in series
    )
    return "".join(line + "\n" for line in lines).encode("utf-8")


def read_series(raw: bytes, name: str = "series") -> list[Call]:
    """The calls in JSON lines as ``write_series`` writes them; DocumentError names the line that is wrong."""
    calls = []
    try:
        lines = raw.decode("utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise DocumentError(f"{name}: not UTF-8 at byte {error.start}") from None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            found = _members(json.loads(line), "", {"at", "seconds"}, {"counts"})
            at = datetime.fromisoformat(found["at"])
            if at.tzinfo is not None:
                at = at.astimezone(UTC)
            calls.append(Call(at, found["seconds"], found.get("counts", "good")))
        except (UsageError, DocumentError) as error:
            raise DocumentError(f"{name}, line {number}: {error}") from None
        except (ValueError, TypeError, OverflowError, RecursionError):
            raise DocumentError(
                f"{name}, line {number}: {line[:60]!r} given, a JSON object with at (a date-time) accepted"
            ) from None
    return calls


# small words


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and not math.isnan(value)


def _members(value: Any, pointer: str, required: set[str], optional: set[str]) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise DocumentError(f"{pointer or '/'}: {_kind(value)} given, an object accepted")
    if missing := sorted(required - set(value)):
        raise DocumentError(f"{pointer}/{missing[0]}: missing")
    known = required | optional
    if strange := sorted(str(name) for name in set(value) - known):
        raise DocumentError(f"{pointer}/{strange[0][:60]}: unknown, {', '.join(sorted(known))} accepted")
    return dict(value)


def _kind(value: Any) -> str:
    return "null" if value is None else type(value).__name__


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 9)


def _stamp(at: datetime | None) -> str | None:
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z") if at is not None else None


def _share(value: float | None, sample: int) -> str:
    """A percentage with as many places as the sample can carry; a promise (sample 0) as it stands."""
    if value is None:
        return "-"
    if sample == 0:
        return f"{value * 100:.10g} %"
    return f"{value * 100:.{0 if sample < 100 else 1 if sample < 1000 else 2}f} %"


def _seconds(value: float | None, _sample: int) -> str:
    return "-" if value is None else f"{value:.4g} s"
