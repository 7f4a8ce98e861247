"""What being late costs: a pure function of two times and a policy.

Moving a deadline later never lowers a grade, and handing in earlier never does (both are tested as
properties), so a moved deadline needs nothing but grading again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime, timedelta

from ai_evolution.errors import UsageError

DAY = timedelta(days=1)


@dataclass(frozen=True)
class LatePolicy:
    """Nothing is taken within ``grace``; then ``per_day`` percent per day begun, at most ``cap`` percent."""

    grace: timedelta = timedelta(minutes=30)
    per_day: float = 10.0
    cap: float = 50.0

    def __post_init__(self) -> None:
        if self.grace < timedelta(0) or not 0 <= self.per_day <= 100 or not 0 <= self.cap <= 100:
            raise UsageError("late policy: grace not below zero, per_day and cap from 0 to 100 percent")


def late_factor(submitted: datetime, deadline: datetime | None, policy: LatePolicy) -> float:
    """What the points are multiplied with, from 0 to 1. Both times must be aware; no deadline, no loss."""
    if deadline is None:
        return 1.0
    if submitted.tzinfo is None or deadline.tzinfo is None:
        raise UsageError("a time without a time zone; write for example 2026-12-01T23:59:00+01:00")
    late = submitted - deadline
    if late <= policy.grace:
        return 1.0
    return 1.0 - min(policy.cap, policy.per_day * math.ceil(late / DAY)) / 100.0
