"""How often a program may call each tool. Counting only: who is told, and what, is the bridge's business."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping

from ai_evolution.errors import LimitExceeded, UsageError

ALL = "*"
"""The name that stands for all tools together."""


class Quotas:
    """At most so many calls of each tool, ``"*"`` for all of them together; a tool without a number is free.

    A call counts when it is made, also one that its contract refuses; one that is over the quota doesn't.
    UsageError for a tool that is not in ``known`` and for a number that is none.
    """

    def __init__(self, most: Mapping[str, int], known: Collection[str]) -> None:
        for name, number in most.items():
            if name != ALL and name not in known:
                raise UsageError(f"a quota for {name!r} given, one of {', '.join([*known, ALL])} accepted")
            if isinstance(number, bool) or not isinstance(number, int) or number < 0:
                raise UsageError(f"quota {number!r} for {name!r} given, a number of calls from 0 accepted")
        self.most = dict(most)
        self.used: Counter[str] = Counter()

    def take(self, tool: str) -> None:
        """Count one call. LimitExceeded when there is none left; ``limit`` is ``quota:`` and the name."""
        for name, used in ((tool, self.used[tool]), (ALL, self.used.total())):
            if name in self.most and used >= self.most[name]:
                what = "calls of all tools together" if name == ALL else f"calls of {tool}"
                raise LimitExceeded(f"{used} {what} were made, at most {used} accepted", f"quota:{name}")
        self.used[tool] += 1
