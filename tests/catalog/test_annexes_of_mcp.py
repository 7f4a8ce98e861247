"""The annexes and the cards of class 132: every number on them is computed again here."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import chain, combinations, permutations, product

import pytest
from test_annexes_of_contracts import NUMBERS, ROOT, both, card, percent, printed, table

# ------------------------------------------------------------------- J, labels and authority

SERVER = set("abl")


def letters(cell: str) -> set[str]:
    """The rights or owners of a cell; ``-`` is nobody."""
    return set(re.findall(r"\b[A-Za-z]\b", cell))


@both("J-labels-and-authority")
def test_the_rights_of_annex_j_are_the_sets_it_says(page: str) -> None:
    rows = table(page, "Ana", "a m")
    assert len(rows) == 3
    for _, own, shared, gained in rows:
        assert letters(shared) == SERVER & letters(own)
        assert letters(gained) == SERVER - letters(own)
    assert not any("l" in letters(shared) for _, _, shared, _ in rows)


@both("J-labels-and-authority")
def test_a_value_flows_where_annex_j_lets_it(page: str) -> None:
    page_, mail, customer, summary = table(page, "una página pública" if ".es" in page else "a public page")
    assert letters(summary[1]) == letters(mail[1]) | letters(customer[1]), "the label of both is the join"
    for _, label, *answers in (page_, mail, customer, summary):
        for clearance, answer in zip(("AK", "A", ""), answers, strict=True):
            assert (answer in ("yes", "sí")) == (letters(label) <= set(clearance))


@both("J-labels-and-authority")
def test_the_sinks_of_annex_j_have_the_clearance_its_table_is_judged_by(page: str) -> None:
    text = (ROOT / "docs" / "annexes" / page).read_text(encoding="utf-8")
    head = next(line for line in text.splitlines() if line.startswith(("| value ", "| valor ")))
    sinks = [cell.rpartition(",")[2].split() for cell in head.strip("|").split("|")[2:]]
    assert sinks == [["A", "K"], ["A"], ["-"]]


def subsets(owners: str) -> Iterator[frozenset[str]]:
    every = chain.from_iterable(combinations(owners, size) for size in range(len(owners) + 1))
    return map(frozenset, every)


def test_the_exercises_of_annex_j_have_the_solutions_it_gives() -> None:
    ana, steps = set("am"), []
    allowed = ana
    for rights in ("abm", "abl", "ab"):
        allowed = allowed & set(rights)
        steps.append(allowed)
    assert steps == [set("am"), set("a"), set("a")]
    assert set("ab") - ana == {"b"}
    labels = list(subsets("xyz"))
    allowed_pairs = sum(label <= clearance for label, clearance in product(labels, repeat=2))
    assert (len(labels), len(labels) ** 2, allowed_pairs) == (8, 64, 27)
    assert (f"{0.75**3:.2f}", f"{0.75**10:.2f}") == ("0.42", "0.06")


def test_every_two_labels_have_a_join_and_it_is_their_union() -> None:
    labels = list(subsets("xyz"))
    for one, other in product(labels, repeat=2):
        above = [label for label in labels if one <= label and other <= label]
        assert min(above, key=len) == one | other
        assert all(one | other <= label for label in above)


# ------------------------------------------------------------------------- E, beginning again


@both("E-reliability")
def test_beginning_again_costs_what_annex_e_says(page: str) -> None:
    rows = table(page, "1", "2", "2.0")
    assert len(rows) == 5
    for steps, fault, some, attempts, whole, each in rows:
        m, p = int(steps), float(fault) / 100
        right = (1 - p) ** m
        assert (some, attempts) == (percent(1 - right, 1), f"{1 / right:.2f}")
        assert (whole, each) == (f"{m / right:.1f}", f"{m / (1 - p):.1f}")
    assert round(float(rows[2][4]) / (1 / 0.98)) == 38
    assert 6.5 < float(rows[3][4]) / 96 < 7


# ------------------------------------------------------------------- the cards and the notebooks


def test_the_card_of_p147_counts_as_its_formula_and_its_notebook_do() -> None:
    lost = Fraction(1, 5)
    ran, silent = int(100 * (1 - lost)), int(100 * (1 - lost) * lost)
    failed = int(100 * lost) + silent
    assert (ran, silent, failed, round(100 * silent / failed)) == (80, 16, 36, 44)
    assert percent((1 - 0.01) / (2 - 0.01), 1) == "49.7"
    assert 1 / (1 - lost) == 1.25
    for said in ("80 run, and 16 of their answers", "36 failures", "44 %", "49.7 %", "1.25 times"):
        assert said in card("P147")
    assert "1768 of 2000" in card("P147")
    assert re.search(r"bound to one life +returned +0 +1768 +0", printed("P147"))
    assert "The other 232 fail: 126 had run, 106 had not" in card("P147")
    assert re.search(r"bound to one life +failed +106 +126 +0", printed("P147"))
    assert 106 + 126 == 232 == 2000 - 1768


def counter(order: tuple[str, ...]) -> int:
    """Where the counter stands after clients read and write in this order."""
    value, seen = 0, dict[str, int]()
    for client in order:
        if client in seen:
            value = seen[client] + 1
        else:
            seen[client] = value
    return value


@pytest.mark.parametrize("end", ["", ".es"])
def test_the_orders_on_the_card_of_p148_are_all_there_are(end: str) -> None:
    rows = re.findall(r"^\| ([AB](?: [AB]){3}) \| (\d) \|$", card(f"P148{end}"), re.M)
    told = {tuple(order.split()): int(value) for order, value in rows}
    assert told == {order: counter(order) for order in set(permutations("AABB"))}
    orders = set(permutations("AABBCC"))
    assert (sum(counter(order) == 3 for order in orders), len(orders)) == (6, 90)


def test_the_card_of_p148_shares_out_its_bookings_as_it_says() -> None:
    some, nothing, everything = 1 - 0.95**4, 0.05 / 2, 0.95**3 * 0.05 / 2
    shares = [percent(share, 1) for share in (some, nothing, everything, some - nothing - everything)]
    assert shares == ["18.5", "2.5", "2.1", "13.9"]
    assert all(f"{share} %" in card("P148") for share in shares)
    assert "282 of 2000" in card("P148")
    assert re.search(r"half-done of 2000, four machines .* 282\n", printed("P148"))


@pytest.mark.parametrize("end", ["", ".es"])
def test_the_table_on_the_card_of_p149_is_what_its_formula_and_its_notebook_give(end: str) -> None:
    wires, gateways = 0.98**24, 0.998**16
    expected = [(1 - wires * gateways, 1.0), (1 - gateways, 1.0), (0.0, 1 / (wires * gateways))]
    expected.append((0.0, 1 / gateways))
    lines = re.findall(r"^\|[^|]+\| (\d+) \| (\d+) \| ([\d.,]+) \|$", card(f"P149{end}"), re.M)
    assert len(lines) == 4
    measured = re.findall(r"^(?:nothing|each wire|the ends|both) +(\d+) ", printed("P149"), re.M)[:4]
    for (wrong, seen, attempts), (share, times), notebook in zip(lines, expected, measured, strict=True):
        assert (int(wrong), seen) == (round(1000 * share), notebook)
        assert float(attempts.replace(",", ".")) == round(times, 2)
    assert f"{wires * gateways:.3f}".replace(".", "," if end else ".") in card(f"P149{end}")
    assert re.search(r"the ends .*n=32: 8\.53\nboth .*n=32: 1\.09\n", printed("P149"))
    assert all(number in card("P149") for number in ("8.53", "1.09"))


@pytest.mark.parametrize("end", ["", ".es"])
def test_the_table_on_the_card_of_p155_is_what_its_notebook_counts(end: str) -> None:
    counts = r"\D +(\d) +(\d) +(\d)$"
    told = re.findall(r"^\|[^|]+\| (\d) \| (\d) \| (\d) \|$", card(f"P155{end}"), re.M)
    assert len(told) == 5
    assert told == re.findall(counts, printed("P155"), re.M)
    assert re.search(r"passed on +ignored +yes +28\n", printed("P155"))
    assert re.search(r"one per step +checked +yes +0\n", printed("P155"))


@pytest.mark.parametrize("name", ["P147", "P148", "P149", "P155"])
def test_both_editions_of_a_card_of_mcp_name_the_same_numbers(name: str) -> None:
    prose: Callable[[str], str] = lambda text: text.split("<!-- END GENERATED")[1]  # noqa: E731
    editions = (card(f"{name}{end}") for end in ("", ".es"))
    english, spanish = ({n.replace(",", ".") for n in NUMBERS.findall(prose(text))} for text in editions)
    assert english == spanish
