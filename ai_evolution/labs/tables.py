"""A restaurant that books tables: the second cast of the lab ``contracts``.

One tool with five revisions, a concierge who may decide some bookings alone, restaurants that bid, and
a seeded series of calls. Nobody here is trusted: what each one promises stands in its contract.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from ai_evolution.atdf.allocation import Announcement, Award, Bid
from ai_evolution.atdf.roles import CapabilityContract, Operation, Range, ResultContract, RoleContract, Rule
from ai_evolution.atdf.sla import Call


def tool(
    *, seats: tuple[int, int] = (1, 8), booked: tuple[int, int] | None = None, says: str = "Books seats."
) -> dict[str, Any]:
    """The description, in the article's form; ``seats`` bounds the input, ``booked`` the result."""
    count: dict[str, Any] = {"type": "integer"}
    if booked is not None:
        count |= {"minimum": booked[0], "maximum": booked[1]}
    return {
        "tool": {
            "name": "book_seats",
            "description": says,
            "input": {
                "type": "object",
                "properties": {
                    "seats": {"type": "integer", "minimum": seats[0], "maximum": seats[1]},
                },
                "required": ["seats"],
                "additionalProperties": False,
            },
            "output": {
                "success": {"type": "object", "properties": {"booked": count}, "required": ["booked"]},
                "error": {"type": "object"},
            },
        }
    }


REVISIONS: dict[str, dict[str, Any]] = {
    "accepts more": tool(seats=(1, 12), booked=(1, 8)),
    "accepts less": tool(seats=(1, 6), booked=(1, 8)),
    "promises more": tool(booked=(1, 6)),
    "promises less": tool(booked=(0, 8)),
    "other words": tool(booked=(1, 8), says="Books seats at one table."),
}
BEFORE = tool(booked=(1, 8))


# ------------------------------------------------------------------------------------ role and boundary

BILL = {
    "type": "object",
    "properties": {"booked": {"type": "integer"}, "price": {"type": "number"}},
    "required": ["booked", "price"],
}
RESULT = ResultContract(BILL, (Range("/booked", 1, 8), Range("/price", 0, 500, "EUR")))
RESTAURANT = CapabilityContract(
    "restaurant", {"book": Operation(tool()["tool"]["input"], RESULT), "cancel": Operation()}
)
CONCIERGE = RoleContract(
    "concierge",
    {"en": "books tables for up to four", "es": "reserva mesas de hasta cuatro"},
    frozenset({"book"}),
    alone=(
        Rule(
            "small",
            {"en": "up to four seats", "es": "hasta cuatro plazas"},
            "book",
            {"properties": {"seats": {"maximum": 4}}},
        ),
    ),
    declares={"for": {"type": "string", "minLength": 1}},
)


# ----------------------------------------------------------------------------------------- the bidders


@dataclass
class Bidder:
    """A restaurant: its fee, the ceiling that its contract promises, the bill that it really writes."""

    name: str
    cost: float
    ceiling: float
    bill: float

    def bid(self, _announcement: Announcement) -> Bid:
        """An offer: the same shape for all, with a ceiling of its own."""
        result = ResultContract(BILL, (Range("/booked", 1, 8), Range("/price", 0, self.ceiling, "EUR")))
        able = CapabilityContract(self.name, {"book": Operation(tool()["tool"]["input"], result)})
        return Bid(self.name, able, self.cost, 60)

    def perform(self, award: Award) -> Any:
        """The table, and the bill."""
        return {"booked": award.announcement.arguments["seats"], "price": self.bill}


def wanted(now: datetime) -> Announcement:
    """A table for four, for 500 EUR at most."""
    return Announcement("table-for-four", "book", {"seats": 4}, now + timedelta(minutes=5), RESULT)


BIDDERS: tuple[Callable[[], Bidder], ...] = (
    lambda: Bidder("cheap-talk", 10, 900, 80),
    lambda: Bidder("broken-word", 20, 500, 700),
    lambda: Bidder("plain-dealing", 30, 400, 120),
    lambda: Bidder("dear", 40, 400, 90),
)


# ------------------------------------------------------------------------------------- a series of calls


def series(chance: random.Random, begins: datetime, calls: int, failing: int) -> list[Call]:
    """``calls`` calls, a minute apart, of which ``failing`` fail at places drawn by chance."""
    bad = set(chance.sample(range(calls), failing))
    return [
        Call(
            begins + timedelta(minutes=i), round(chance.uniform(0.05, 0.4), 3), "bad" if i in bad else "good"
        )
        for i in range(calls)
    ]
