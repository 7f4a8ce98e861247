"""The fridge of a blood bank: what the server of class 132 gets to work with, given by whoever runs it.

A ``Fridge`` says what day it is, which units of red cells are in it, and what the sensor of a unit measured.
It remembers nothing else: who reserved what is for the server to keep. ``example()`` is one to try things out
with; the judge draws another. It refuses to say which units will do for whom: that is the exercise.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

HOURS = 6
GROUPS = ("O-", "O+", "A-", "A+", "B-", "B+", "AB-", "AB+")
SLOW = 120.0
"""Seconds that a sensor which hangs takes for one reading."""


@dataclass(frozen=True)
class Unit:
    """A bag of red cells. ``expires`` (YYYY-MM-DD) is the last day on which it may be given."""

    id: str
    group: str
    expires: str


class Fridge:
    """``today`` (YYYY-MM-DD), the ``units`` in the order in which they lie there, and their sensors."""

    def __init__(self, drawn: Mapping[str, Any]) -> None:
        self.today = str(drawn["today"])
        self.units = tuple(Unit(*each) for each in drawn["units"])
        self._drawn = drawn

    async def reading(self, unit: str, hour: int) -> float:
        """Degrees Celsius beside a unit, ``hour`` hours ago (0 to ``HOURS`` - 1).

        One sensor hangs, another has a log that cannot be read; both are outside your server, as sensors are.
        Raises LookupError when there is no such log.
        """
        if unit == self._drawn["slow"]:
            await asyncio.sleep(SLOW)
        if unit == self._drawn["broken"]:
            raise LookupError(f"sensor://{self._drawn['secret']} has no log of {unit}")
        await asyncio.sleep(0)
        return float(self._drawn["readings"][unit][hour])


def example() -> Fridge:
    """A small fridge with a unit whose sensor hangs (U0006) and one whose log is broken (U0007)."""
    units = [
        ["U0001", "O-", "2026-03-20"],
        ["U0002", "A+", "2026-03-04"],
        ["U0003", "A+", "2026-03-02"],
        ["U0004", "A-", "2026-03-01"],
        ["U0005", "B+", "2026-02-27"],
        ["U0006", "AB+", "2026-03-15"],
        ["U0007", "AB+", "2026-03-16"],
        ["U0008", "O+", "2026-03-09"],
    ]
    readings = {unit[0]: [4.1, 4.0, 3.8, 4.4, 4.2, 4.0] for unit in units}
    readings["U0008"] = [4.1, 6.9, 5.2, 4.4, 4.2, 4.0]
    return Fridge(
        {
            "today": "2026-03-01",
            "units": units,
            "slow": "U0006",
            "broken": "U0007",
            "secret": "lab.internal/k-0000",
            "readings": readings,
        }
    )
