"""The one door for chance, time and identifiers.

A lab that draws, waits or names something asks its ``World``. Same name and same seed give
the same numbers on any machine, Python, hash seed and locale, because ``random.Random``
seeded with a string is specified bit for bit. Nothing here reads the clock of the machine.
"""

from __future__ import annotations

import random
import uuid
from datetime import UTC, datetime, timedelta

EPOCH = datetime(2026, 1, 5, 9, 0, 0, tzinfo=UTC)
"""Where simulated time begins: a Monday morning, in no time zone but UTC."""


class World:
    """Seeded chance, simulated time and reproducible identifiers.

    ``random`` is an ordinary ``random.Random``. Draws from it, from ``id`` and from
    ``uuid`` come from separate streams: asking for one more name never moves a number.
    """

    def __init__(self, name: str, seed: int = 0) -> None:
        self.name = name
        self.seed = seed
        self.random = random.Random(f"{name}:{seed}")
        self._names = random.Random(f"{name}:{seed}:names")
        self._counts: dict[str, int] = {}
        self._now = EPOCH

    def fork(self, name: str) -> World:
        """An independent world under this one; the same fork always starts the same."""
        return World(f"{self.name}/{name}", self.seed)

    def now(self) -> datetime:
        """The simulated time, aware, in UTC."""
        return self._now

    def tick(self, seconds: float = 1.0) -> datetime:
        """Let simulated time pass and return it. Time never runs backwards (``ValueError``)."""
        if seconds < 0:
            raise ValueError(f"seconds is {seconds}; time passes by zero or more")
        self._now += timedelta(seconds=seconds)
        return self._now

    def id(self, prefix: str = "id") -> str:
        """``prefix-1``, ``prefix-2`` ...: unique within this world, readable in a table."""
        self._counts[prefix] = self._counts.get(prefix, 0) + 1
        return f"{prefix}-{self._counts[prefix]}"

    def uuid(self) -> str:
        """A version 4 UUID drawn from the seed: for fields that a protocol wants to look random."""
        return str(uuid.UUID(int=self._names.getrandbits(128), version=4))
