"""The travel audit: the published totals, and each careless reading gets another answer."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable

import pytest

from ai_evolution.atdf.contract import ToolFailure
from ai_evolution.errors import UsageError
from ai_evolution.travel.expenses import (
    ANSWER,
    APPROVED,
    MEMBERS,
    STANDARD_BUDGET,
    TRAVEL,
    Books,
    Expense,
    Member,
    Overrun,
    variant,
)
from ai_evolution.travel.tools import Tools, contracts

BOOKS = Books(7)
FIELDS = [
    "expense_id", "employee_id", "date", "amount", "currency", "category", "status", "description",
    "merchant", "payment_method", "receipt_url", "approver", "cost_center", "project_code", "city", "notes",
]  # fmt: skip


def test_the_answer_is_the_published_one_for_two_hundred_seeds() -> None:
    published = [("Alice Chen", 487_654), ("Emma Johnson", 26_602), ("Grace Taylor", 147_446)]
    assert [(row.name, row.over) for row in ANSWER] == published
    assert all(Books(seed).audit() == ANSWER for seed in range(200))


def test_the_totals_of_every_member_are_the_published_ones_to_the_cent() -> None:
    spent = {member.name: BOOKS.spent(member.id) for member in MEMBERS}
    assert spent == {
        "Alice Chen": 987_654, "Bob Martinez": 721_010, "Carol White": 312_000, "David Kim": 1_105_025,
        "Emma Johnson": 526_602, "Frank Liu": 499_999, "Grace Taylor": 647_446, "Henry Brown": 81_240,
    }  # fmt: skip


@pytest.mark.parametrize("seed", range(0, 40, 3))
def test_the_records_have_the_shape_that_was_promised(seed: int) -> None:
    books = Books(seed)
    ids = [each.expense_id for records in books.records.values() for each in records]
    assert len(ids) == len(set(ids))
    for member in MEMBERS:
        found = books.expenses(member.id, "Q3")
        assert 20 <= len(found) <= 50
        assert all("2025-07-01" <= each.date <= "2025-09-30" for each in found)
        assert [list(each.shown()) for each in found] == [FIELDS] * len(found)
        counted = [each for each in found if each.category == TRAVEL and each.status == APPROVED]
        assert 6 <= len(counted) <= 12
        assert {"2025-07-01", "2025-09-30"} <= {each.date for each in counted}
        assert all(1_000 <= each.amount <= 90_000 for each in found if each not in counted)
        (before,), (after,) = books.expenses(member.id, "Q2"), books.expenses(member.id, "Q4")
        assert (before.date, after.date) == ("2025-06-30", "2025-10-01")
        assert before.expense_id == f"{member.id}_Q2_000"


def everything(books: Books, member: Member) -> tuple[Expense, ...]:
    return books.records[member.id]


Reading = Callable[[Books, Member], tuple[int, Iterable[Expense]]]


def approved_travel(
    records: Iterable[Expense], first: str = "2025-07-01", last: str = "2025-09-30"
) -> list[Expense]:
    return [
        each
        for each in records
        if each.category == TRAVEL and each.status == APPROVED and first <= each.date <= last
    ]


def in_quarter(books: Books, member: Member) -> tuple[Expense, ...]:
    return books.expenses(member.id, "Q3")


CARELESS: dict[str, Reading] = {
    "any status": lambda b, m: (m.budget, [e for e in in_quarter(b, m) if e.category == TRAVEL]),
    "any category": lambda b, m: (m.budget, [e for e in in_quarter(b, m) if e.status == APPROVED]),
    "no custom budgets": lambda b, m: (STANDARD_BUDGET, approved_travel(everything(b, m))),
    "an exception for every senior": lambda b, m: (
        1_200_000 if m.level in ("senior", "staff", "principal") else m.budget,
        approved_travel(everything(b, m)),
    ),
    "from 30 June": lambda b, m: (m.budget, approved_travel(everything(b, m), first="2025-06-30")),
    "from 2 July": lambda b, m: (m.budget, approved_travel(everything(b, m), first="2025-07-02")),
    "to 1 October": lambda b, m: (m.budget, approved_travel(everything(b, m), last="2025-10-01")),
    "to 29 September": lambda b, m: (m.budget, approved_travel(everything(b, m), last="2025-09-29")),
    "the year": lambda b, m: (m.budget, approved_travel(everything(b, m), "2025-01-01", "2025-12-31")),
    "not strictly": lambda b, m: (m.budget - 1, approved_travel(everything(b, m))),
}


def answer(books: Books, reading: Reading) -> tuple[Overrun, ...]:
    rows = []
    for member in books.members:
        budget, records = reading(books, member)
        rows.append(Overrun(member.name, member.budget, sum(each.amount for each in records)))
        if rows[-1].spent <= budget:
            rows.pop()
    return tuple(sorted(rows, key=lambda row: row.name))


def test_the_careful_reading_is_right() -> None:
    assert answer(BOOKS, lambda b, m: (m.budget, approved_travel(everything(b, m)))) == ANSWER


@pytest.mark.parametrize("mistake", [name for name in CARELESS if name != "not strictly"])
def test_each_single_mistake_changes_the_answer(mistake: str) -> None:
    assert all(answer(Books(seed), CARELESS[mistake]) != ANSWER for seed in range(20))


def test_whoever_spends_the_budget_exactly_is_not_over_it() -> None:
    books = Books(3, variant("E006", STANDARD_BUDGET))
    assert books.audit() == ANSWER
    assert answer(books, CARELESS["not strictly"]) != ANSWER
    assert Books(3, variant("E006", STANDARD_BUDGET + 1)).audit() != ANSWER


def test_the_order_of_the_members_does_not_change_the_answer() -> None:
    assert Books(5, MEMBERS[::-1]).audit() == ANSWER


def test_the_same_seed_gives_the_same_bytes_whatever_the_hash_seed() -> None:
    program = (
        "import hashlib, json; from ai_evolution.travel.expenses import Books; b = Books(7);"
        "print(hashlib.sha256(json.dumps([r.shown() for m in b.members for r in b.records[m.id]])"
        ".encode()).hexdigest())"
    )
    here = [record.shown() for member in BOOKS.members for record in BOOKS.records[member.id]]
    expected = hashlib.sha256(json.dumps(here).encode("utf-8")).hexdigest()
    for chosen in ("0", "1"):
        told = subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"PYTHONHASHSEED": chosen, "PYTHONPATH": os.pathsep.join(sys.path)},
            check=True, capture_output=True, encoding="utf-8", timeout=60,
        )  # fmt: skip
        assert told.stdout.strip() == expected
    assert [each.shown() for each in Books(8).records["E001"]] != [
        each.shown() for each in BOOKS.records["E001"]
    ]


def test_the_tools_alone_lead_to_the_answer() -> None:
    tools = Tools(BOOKS)
    found = []
    for member in tools.get_team_members("engineering"):
        records = tools.get_expenses(member["id"], "Q3")
        spent = sum(
            round(float(each["amount"]) * 100)
            for each in records
            if each["category"] == TRAVEL and each["status"] == APPROVED
        )
        budget = round(float(tools.get_custom_budget(member["id"])["travel_budget"]) * 100)
        if spent > budget:
            found.append(Overrun(member["name"], budget, spent))
    assert tuple(found) == ANSWER


@pytest.mark.parametrize("lang", ["en", "es"])
@pytest.mark.parametrize(
    ("tool", "arguments", "code"),
    [
        ("get_team_members", {"department": "sales"}, "UNKNOWN_DEPARTMENT"),
        ("get_expenses", {"employee_id": "E099", "quarter": "Q3"}, "UNKNOWN_EMPLOYEE"),
        ("get_expenses", {"employee_id": "E001", "quarter": "Q1"}, "NO_RECORDS"),
        ("get_expenses", {"employee_id": "E001", "quarter": "Q5"}, "INVALID_ARGUMENTS"),
        ("get_expenses", {"employee_id": 1, "quarter": "Q3"}, "INVALID_ARGUMENTS"),
        ("get_custom_budget", {"user_id": "E099"}, "UNKNOWN_EMPLOYEE"),
    ],
)
def test_what_there_is_not_is_an_error_and_never_an_empty_success(
    tool: str, arguments: dict[str, object], code: str, lang: str
) -> None:
    contract = next(each for each in contracts(BOOKS, lang) if each.name == tool)
    outcome = contract.outcome(arguments)
    assert not outcome.succeeded
    assert outcome.envelope["data"]["code"] == code
    assert outcome.blame in (None, "caller")


def test_the_functions_name_what_would_be_accepted() -> None:
    with pytest.raises(ToolFailure, match="UNKNOWN_QUARTER"):
        Tools(BOOKS).get_expenses("E001", "third")
    with pytest.raises(UsageError, match="E001, E002"):
        BOOKS.member("E1")
    with pytest.raises(UsageError, match="Q1, Q2, Q3, Q4 accepted"):
        BOOKS.expenses("E001", "")
