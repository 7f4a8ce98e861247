"""The annexes and the cards of class 131: every number on them is computed again here."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ANNEXES = ROOT / "docs" / "annexes"
NOTEBOOKS = ROOT / "notebooks" / "papers"


def tables(page: str) -> Iterator[list[list[str]]]:
    """The tables of a page, each without its head and its rule, decimals with a point."""
    text = (ANNEXES / page).read_text(encoding="utf-8")
    for table in re.findall(r"(?:^\|.*\n)+", text, re.M):
        yield [
            [re.sub(r"(?<=\d),(?=\d)", ".", cell.strip()) for cell in line.strip("|").split("|")]
            for line in table.splitlines()[2:]
        ]


def table(page: str, *first: str) -> list[list[str]]:
    """The table whose first row begins like that."""
    return next(rows for rows in tables(page) if tuple(rows[0][: len(first)]) == first)


def both(name: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("page", [f"{name}.md", f"{name}.es.md"])


def percent(value: float, digits: int = 2) -> str:
    return f"{100 * value:.{digits}f}"


# ------------------------------------------------------------------------------ A, contracts

STATES = [{"now": 3, "start": start, "end": end} for start, end in product(range(10), repeat=2)]


def ends_well(state: dict[str, int]) -> bool:
    start, end = state["start"] + 2, state["end"] + 2
    return state["now"] < start < end


@both("A-logic-of-contracts")
def test_the_preconditions_of_annex_a_admit_what_it_says(page: str) -> None:
    rows = table(page, "`start < end`")
    assert len(rows) == 4
    assert sum(map(ends_well, STATES)) == 28
    for condition, *numbers in rows:
        admitted = [state for state in STATES if eval(condition.strip("`"), {}, dict(state))]
        good = sum(map(ends_well, admitted))
        assert list(map(int, numbers)) == [len(admitted), good, len(admitted) - good, 28 - good]


def values(span: str) -> set[int]:
    low, high = map(int, re.findall(r"\d+", span))
    return set(range(low, high + 1))


@both("A-logic-of-contracts")
def test_the_changes_of_annex_a_break_as_many_values_as_it_says(page: str) -> None:
    inward = "entrada" if page.endswith(".es.md") else "input"
    rows = table(page, f"{inward} `nights`")
    assert len(rows) == 4
    for side, *spans, broken, stands_in in rows:
        old, new = (values(span) for span in spans)
        lost = old - new if side.startswith(inward) else new - old
        assert (len(lost), not lost) == (int(broken), stands_in in ("yes", "sí"))


def test_the_exercises_of_annex_a_have_the_solutions_it_gives() -> None:
    for start, nights in product(range(31), range(-5, 31)):
        end = start + nights
        assert (start < end and end <= 30) == (nights > 0 and start + nights <= 30)
    assert [nights for nights in range(-5, 31) if nights > 0 and 28 + nights <= 30] == [1, 2]
    calls = [(nights, price) for nights in range(4) for price in range(4)]
    promised = [(n, p) for n, p in calls if p >= 1 or (n == 0 and p == 0)]
    assert not all(price >= 1 for _, price in promised)
    assert all(price >= 1 for nights, price in promised if nights >= 1)


# ---------------------------------------------------------------------------- E, reliability


@both("E-reliability")
def test_services_in_a_row_are_down_as_long_as_annex_e_says(page: str) -> None:
    rows = table(page, "1", "99.9")
    assert len(rows) == 5
    for services, each, together, minutes in rows:
        share = (float(each) / 100) ** int(services)
        assert (together, minutes) == (percent(share), f"{43_200 * (1 - share):.1f}")


@both("E-reliability")
def test_all_of_k_and_one_of_k_are_what_annex_e_says(page: str) -> None:
    for k, every, some in table(page, "1", "0.750"):
        wanted = math.comb(6, int(k)) / math.comb(8, int(k)), 1 - math.comb(2, int(k)) / math.comb(8, int(k))
        assert (every, some) == tuple(f"{value:.3f}" for value in wanted)


@both("E-reliability")
def test_the_waits_of_annex_e_are_those_of_its_rule(page: str) -> None:
    rows = table(page, "1", "0.5", "0.5", "0.25")
    ceilings = [min(8.0, 0.5 * 2**i) for i in range(6)]
    for retry, most, total, mean in rows:
        so_far = sum(ceilings[: int(retry)])
        assert (most, total, mean) == (f"{ceilings[int(retry) - 1]}", f"{so_far}", f"{so_far / 2:.2f}")


@both("E-reliability")
def test_an_outage_keeps_retries_from_helping_as_annex_e_says(page: str) -> None:
    rows = table(page, "1", "10.000", "10.000")
    for tries, alone, together in rows:
        r = int(tries)
        assert (alone, together) == (percent(0.1**r, 3), percent(0.02 + 0.98 * (0.08 / 0.98) ** r, 3))
    assert len(rows) == 3


def test_the_exercises_of_annex_e_have_the_solutions_it_gives() -> None:
    assert (f"{0.995**3:.4f}", f"{(1 - 0.005**2) ** 3:.6f}") == ("0.9851", "0.999925")
    assert (math.comb(7, 2), math.comb(8, 2), math.comb(7, 4), math.comb(8, 4)) == (21, 28, 35, 70)
    z, p, n = 1.959964, 7 / 8, 8
    centre, half = p + z * z / (2 * n), z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    interval = [round(100 * (centre + side * half) / (1 + z * z / n)) for side in (-1, 1)]
    assert interval == [53, 98]


# --------------------------------------------------------------------------- F, testing


@both("F-testing-arithmetic")
def test_the_campaigns_of_annex_f_miss_as_often_as_it_says(page: str) -> None:
    rows = table(page, "1", "100", "36.6")
    for q, n, missed in rows:
        assert missed == percent((1 - float(q) / 100) ** int(n), 1)
    assert len(rows) == 5


@both("F-testing-arithmetic")
def test_the_bounds_of_annex_f_are_what_its_formulas_give(page: str) -> None:
    rows = table(page, "10", "30.00", "25.89")
    for n, three, exact in rows:
        assert (three, exact) == (percent(3 / int(n)), percent(1 - 0.05 ** (1 / int(n))))
    assert round(-math.log(0.05), 3) == 2.996


def test_the_exercises_of_annex_f_have_the_solutions_it_gives() -> None:
    assert round(math.log(0.01) / math.log(0.995), 1) == 918.7
    assert 0.995**919 <= 0.01 < 0.995**918
    missed = 0.99**300
    assert (round(missed, 3), round(20 * missed, 2), round(1 - (1 - missed) ** 20, 2)) == (0.049, 0.98, 0.63)


# ------------------------------------------------------------------- the cards and the notebooks


def printed(name: str) -> str:
    """What the English notebook of a paper printed when it was built."""
    cells = json.loads((NOTEBOOKS / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]
    return "".join("".join(o.get("text", [])) for cell in cells for o in cell.get("outputs", []))


def card(name: str) -> str:
    return (ROOT / "papers" / f"{name}.md").read_text(encoding="utf-8")


def test_the_card_of_p141_counts_as_annex_a_does() -> None:
    said = "Of these 100 states 28 end well; the bold condition admits all 28, ours only 15. The other 13"
    assert said in card("P141")
    habitual = [s for s in STATES if s["now"] < s["start"] < s["end"]]
    assert (len(STATES), sum(map(ends_well, STATES)), len(habitual)) == (100, 28, 15)
    assert all(map(ends_well, habitual))


def test_the_card_of_p142_says_what_its_notebook_counts() -> None:
    for number in (97, 953, 47):
        assert re.search(rf"\b{number}\b", card("P142"))
    assert re.search(r"nothing +97 +856 +0 +97", printed("P142"))
    assert re.search(r"pre and post +953 +0 +953 +0", printed("P142"))
    assert "faults that did no harm: 47" in printed("P142")
    assert 34 * 3 + 0 == 102
    assert divmod(100, 3) == (33, 1)


def test_the_card_of_p143_says_what_its_notebook_counts() -> None:
    assert "30 − 14 = 16 are refused" in card("P143")
    assert "stops 34 clients of 200, a new required member stops all 200" in card("P143")
    assert re.search(r"in: nights at most 14 +34\n", printed("P143"))
    assert re.search(r"in: board must be given +200\n", printed("P143"))


def test_the_card_of_p145_has_the_numbers_of_its_formula() -> None:
    for n, digits in ((100, 1), (299, 2), (300, 1)):
        assert f"| {n} | " in card("P145")
        assert f"= {percent(0.99**n, digits)} %" in card("P145")
    assert "q = 0.01" in printed("P145")


NUMBERS = re.compile(r"\b(?:\d+ ?)*\d+(?:[.,]\d+)?\b")


@pytest.mark.parametrize("name", ["P141", "P142", "P143", "P145"])
def test_both_editions_of_a_card_name_the_same_numbers(name: str) -> None:
    texts = [(ROOT / "papers" / f"{name}{end}.md").read_text(encoding="utf-8") for end in ("", ".es")]
    prose: Callable[[str], str] = lambda text: text.split("<!-- END GENERATED")[1]  # noqa: E731
    english, spanish = ({n.replace(",", ".") for n in NUMBERS.findall(prose(text))} for text in texts)
    assert english == spanish
