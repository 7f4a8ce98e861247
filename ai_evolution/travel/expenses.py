"""A team, its travel budgets and its expense records, drawn from one seed.

The answer is fixed: the approved travel of each member in Q3 adds up to the cent to the total that the member
was given, whatever the seed. Everything else is there to mislead whoever reads carelessly: other categories,
travel that is pending or rejected, and approved travel on the last day of Q2 and the first of Q4.

Money is whole cents here. Nothing personal: people, merchants and links (example.com) are invented.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date, timedelta
from itertools import pairwise

from ai_evolution.errors import UsageError

STANDARD_BUDGET = 500_000
"""What a member may spend on travel in a quarter, in cents, unless a custom budget says otherwise."""
DEPARTMENT = "engineering"
YEAR = 2025
QUARTERS = ("Q1", "Q2", "Q3", "Q4")
APPROVED, PENDING, REJECTED = STATUSES = ("approved", "pending", "rejected")
TRAVEL = "travel"
OTHERS = ("meals", "software", "office", "training")


@dataclass(frozen=True)
class Member:
    """One of the team. ``travel`` is the approved travel of Q3, ``custom`` a budget of their own; cents."""

    id: str
    name: str
    level: str
    travel: int
    custom: int | None = None

    @property
    def budget(self) -> int:
        """The travel budget that counts, in cents."""
        return STANDARD_BUDGET if self.custom is None else self.custom


MEMBERS = (
    Member("E001", "Alice Chen", "senior", 987_654),
    Member("E002", "Bob Martinez", "staff", 721_010, custom=800_000),
    Member("E003", "Carol White", "mid", 312_000),
    Member("E004", "David Kim", "principal", 1_105_025, custom=1_200_000),
    Member("E005", "Emma Johnson", "mid", 526_602),
    Member("E006", "Frank Liu", "senior", 499_999),
    Member("E007", "Grace Taylor", "senior", 647_446),
    Member("E008", "Henry Brown", "junior", 81_240),
)


@dataclass(frozen=True)
class Overrun:
    """Somebody who spent more than the budget; cents."""

    name: str
    budget: int
    spent: int

    @property
    def over(self) -> int:
        """By how much, in cents."""
        return self.spent - self.budget


ANSWER = (
    Overrun("Alice Chen", 500_000, 987_654),
    Overrun("Emma Johnson", 500_000, 526_602),
    Overrun("Grace Taylor", 500_000, 647_446),
)
"""Who is over in Q3, and by how much: the only right answer, by name and to the cent."""


@dataclass(frozen=True)
class Expense:
    """One record. ``amount`` is in cents, ``date`` in ISO 8601."""

    expense_id: str
    employee_id: str
    date: str
    amount: int
    currency: str
    category: str
    status: str
    description: str
    merchant: str
    payment_method: str
    receipt_url: str
    approver: str
    cost_center: str
    project_code: str
    city: str
    notes: str

    def shown(self) -> dict[str, str | float]:
        """The record as a tool shows it, with the amount in dollars."""
        return asdict(self) | {"amount": self.amount / 100}


def quarter_of(day: str) -> str:
    """The quarter that an ISO date lies in: Q3 is 1 July to 30 September, both included."""
    return QUARTERS[(date.fromisoformat(day).month - 1) // 3]


class Books:
    """The members and every record of theirs. The same seed and members give the same bytes anywhere."""

    def __init__(self, seed: int = 0, members: Sequence[Member] = MEMBERS) -> None:
        chance = random.Random(seed)
        self.members = tuple(members)
        self.records: dict[str, tuple[Expense, ...]] = {
            member.id: _records(chance, member) for member in self.members
        }

    def member(self, user_id: str) -> Member:
        """The member of that id. Raises UsageError naming those that there are."""
        for member in self.members:
            if member.id == user_id:
                return member
        known = ", ".join(member.id for member in self.members)
        raise UsageError(f"nobody has the id {user_id!r:.40}; accepted: {known}")

    def expenses(self, user_id: str, quarter: str) -> tuple[Expense, ...]:
        """The records of a member in that quarter. Raises UsageError for an unknown id or quarter."""
        if quarter not in QUARTERS:
            raise UsageError(f"quarter {quarter!r:.40} given, {', '.join(QUARTERS)} accepted")
        mine = self.records[self.member(user_id).id]
        return tuple(each for each in mine if quarter_of(each.date) == quarter)

    def spent(self, user_id: str, quarter: str = "Q3") -> int:
        """The approved travel of a member in that quarter, in cents. Raises UsageError as ``expenses``."""
        found = self.expenses(user_id, quarter)
        return sum(each.amount for each in found if each.category == TRAVEL and each.status == APPROVED)

    def audit(self, quarter: str = "Q3") -> tuple[Overrun, ...]:
        """Who spent more than the budget, by name."""
        rows = [Overrun(each.name, each.budget, self.spent(each.id, quarter)) for each in self.members]
        return tuple(sorted((row for row in rows if row.over > 0), key=lambda row: row.name))


# --- how the records are drawn ------------------------------------------------------------------

FIRST, LAST = date(YEAR, 7, 1), date(YEAR, 9, 30)
BEFORE, AFTER = FIRST - timedelta(days=1), LAST + timedelta(days=1)
CITIES = ("Lisbon", "Oslo", "Lima", "Kyoto", "Denver", "Nairobi", "Bogota", "Utrecht")
PAYMENTS = ("corporate card", "personal card", "bank transfer")
APPROVERS = ("M001", "M002", "M003")
PROJECTS = ("PRJ-ATLAS", "PRJ-BEACON", "PRJ-CEDAR", "PRJ-DELTA")
CENTERS = ("CC-4100", "CC-4200", "CC-4300")
BOUGHT = {
    TRAVEL: (("Northwind Airways", "return flight to the customer workshop"),
             ("Harbour Hotel", "three nights for the planning week"),
             ("Meridian Rail", "train to the supplier review"),
             ("Quick Wheels", "car for the site visit")),
    "meals": (("Corner Bistro", "dinner with the visiting team"),
              ("Station Noodles", "lunch during the release day"),
              ("Blue Door Diner", "breakfast before the meeting")),
    "software": (("Foundry Cloud", "yearly seat of the build service"),
                 ("Lintworks", "plugin for the code review tool"),
                 ("Paperless Sign", "signing service, twelve months")),
    "office": (("Desk and Lamp", "second monitor for the shared desk"),
               ("Inkwell Supplies", "paper and toner"),
               ("Ergo Chairs", "chair for the new desk")),
    "training": (("Summit Conferences", "ticket to the systems conference"),
                 ("Chalkboard Courses", "course on data protection"),
                 ("Open Hall Seminars", "workshop on estimating")),
}  # fmt: skip
NOTES = (
    "Scanned receipt; the original is in the folder.",
    "Rate of the day of the payment; no tax reclaimed.",
    "Agreed beforehand with the lead of the project.",
    "A shared booking: only this share is recorded.",
)


def _records(chance: random.Random, member: Member) -> tuple[Expense, ...]:
    """20 to 50 records of Q3, and one of approved travel on each of the days beside it, in no order."""
    trips = _parts(chance, member.travel, chance.randint(6, 12))
    days = [FIRST, LAST, *(_day(chance) for _ in trips[2:])]
    drafts = [(day, amount, TRAVEL, APPROVED) for day, amount in zip(days, trips, strict=True)]
    misleading = [(TRAVEL, PENDING), (TRAVEL, REJECTED), (chance.choice(OTHERS), APPROVED)]
    for _ in range(chance.randint(20, 50) - len(trips) - len(misleading)):
        status = chance.choice(STATUSES)
        misleading.append((chance.choice(OTHERS if status == APPROVED else (TRAVEL, *OTHERS)), status))
    drafts += [(_day(chance), chance.randint(1_000, 90_000), *each) for each in misleading]
    chance.shuffle(drafts)
    drafts += [(day, chance.randint(10_000, 90_000), TRAVEL, APPROVED) for day in (BEFORE, AFTER)]
    numbered: dict[str, int] = {}
    records = []
    for draft in drafts:
        quarter = quarter_of(draft[0].isoformat())
        records.append(_expense(chance, member, f"{quarter}_{numbered.get(quarter, 0):03}", *draft))
        numbered[quarter] = numbered.get(quarter, 0) + 1
    chance.shuffle(records)
    return tuple(records)


def _parts(chance: random.Random, total: int, count: int) -> list[int]:
    """A total in that many positive parts, cut at random."""
    cuts = [0, *sorted(chance.sample(range(1, total), count - 1)), total]
    return [after - before for before, after in pairwise(cuts)]


def _day(chance: random.Random) -> date:
    return FIRST + timedelta(days=chance.randrange((LAST - FIRST).days + 1))


def _expense(
    chance: random.Random, member: Member, number: str, day: date, amount: int, category: str, status: str
) -> Expense:
    city, (merchant, purpose) = chance.choice(CITIES), chance.choice(BOUGHT[category])
    number = f"{member.id}_{number}"
    return Expense(
        expense_id=number,
        employee_id=member.id,
        date=day.isoformat(),
        amount=amount,
        currency="USD",
        category=category,
        status=status,
        description=f"{purpose}, {city}",
        merchant=merchant,
        payment_method=chance.choice(PAYMENTS),
        receipt_url=f"https://receipts.example.com/{YEAR}/{member.id}/{number}.pdf",
        approver=chance.choice(APPROVERS),
        cost_center=chance.choice(CENTERS),
        project_code=chance.choice(PROJECTS),
        city=city,
        notes=chance.choice(NOTES),
    )


def variant(member_id: str, travel: int, members: Sequence[Member] = MEMBERS) -> tuple[Member, ...]:
    """The members, one of whom spent something else: for the question of what happens at the very limit."""
    return tuple(replace(each, travel=travel) if each.id == member_id else each for each in members)
