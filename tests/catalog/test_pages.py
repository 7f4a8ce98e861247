"""The pages on papers and the annexes: their links lead somewhere and their numbers can be computed again."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from ai_evolution.catalog import load_papers

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*(ROOT / "papers").glob("*.md"), *(ROOT / "docs" / "annexes").glob("*.md")])
PROSE = sorted((ROOT / "notebooks" / "papers" / "source").glob("*.md"))
LINK = re.compile(r"\]\(([^)\s]+)\)")


def links(page: Path, base: Path) -> Iterator[tuple[str, Path]]:
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        if "://" not in target and not target.startswith("#"):
            yield target, (base / target.partition("#")[0]).resolve()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_relative_link_leads_to_a_file(page: Path) -> None:
    """Class pages are held by their own tests; here a link to a class needs its folder."""
    missing = [
        target
        for target, path in links(page, page.parent)
        if not (path.parent.is_dir() if "classes" in target else path.exists())
    ]
    assert missing == []


@pytest.mark.parametrize("prose", PROSE, ids=lambda page: page.name)
def test_every_link_in_a_notebook_leads_to_a_file_from_where_the_notebook_stands(prose: Path) -> None:
    assert [target for target, path in links(prose, prose.parent.parent) if not path.exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_an_english_page_links_to_english_pages_and_a_spanish_one_to_spanish_ones(page: Path) -> None:
    spanish = page.name.endswith(".es.md")
    for target, path in links(page, page.parent):
        if path.suffix in (".md", ".ipynb"):
            assert (".es." in target) == spanish, target


def test_every_page_has_both_languages() -> None:
    names = {page.relative_to(ROOT).as_posix() for page in PAGES}
    english = {name for name in names if not name.endswith(".es.md")}
    assert {name.removesuffix(".md") + ".es.md" for name in english} == names - english


def test_both_languages_have_the_same_sections() -> None:
    for page in PAGES:
        if not page.name.endswith(".es.md"):
            other = page.with_name(page.name.removesuffix(".md") + ".es.md")
            levels = [re.findall(r"^#+", text.read_text(encoding="utf-8"), re.M) for text in (page, other)]
            assert levels[0] == levels[1], page.name


def rows(page: str, columns: int) -> list[list[str]]:
    """The table of ``columns`` columns whose cells are mostly numbers, decimals with a point."""
    text = (ROOT / "docs" / "annexes" / page).read_text(encoding="utf-8").replace(",", ".")
    tables = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if "|" in line
    ]
    return [row for row in tables if len(row) == columns and re.fullmatch(r"-?[\d.]+", row[1])]


@pytest.mark.parametrize(
    ("page", "words"),
    [
        ("B-counting-integrations.md", {"yes": 1, "tie": 0, "no": -1}),
        ("B-counting-integrations.es.md", {"sí": 1, "empate": 0, "no": -1}),
    ],
)
def test_the_table_of_annex_b_is_what_its_formula_gives(page: str, words: dict[str, int]) -> None:
    table = rows(page, 6)
    assert len(table) == 6
    for row in table:
        n, m, agreement, direct, common = map(int, row[:5])
        assert (direct, common) == (n * m, n + m + agreement)
        difference = (n - 1) * (m - 1) - (agreement + 1)
        assert words[row[5]] == (difference > 0) - (difference < 0)
        assert (direct > common) == (difference > 0)


def test_the_exercises_of_annex_b_have_the_solutions_it_gives() -> None:
    assert next(m for m in range(1, 99) if 2 * m > 2 + m + 6) == 9
    assert (2 * 9, 2 + 9 + 6, 2 * 8, 2 + 8 + 6) == (18, 17, 16, 16)
    assert next(n for n in range(2, 99) if n * (n - 1) > 2 * n) == 4
    assert (4 * 3, 2 * 4, 3 * 2, 2 * 3) == (12, 8, 6, 6)


COSTS = {"A": 30, "B": 50, "C": 70}


def auction(bids: dict[str, int]) -> tuple[str, int, int]:
    """Winner, what it is paid with first price, what it is paid with second price."""
    order = sorted(bids, key=lambda name: (bids[name], name))
    return order[0], bids[order[0]], bids[order[1]]


@pytest.mark.parametrize("page", ["K-allocation.md", "K-allocation.es.md"])
def test_the_tables_of_annex_k_are_what_its_formulas_give(page: str) -> None:
    prices = rows(page, 4)
    assert [int(row[0]) for row in prices] == [2, 4, 9, 19]
    for row in prices:
        k = int(row[0])
        assert row[1:] == [str(2 * k + 2), f"{1 / (k + 1):.3f}", f"{2 / (k + 1):.3f}"]
    tried = rows(page, 7)
    assert len(tried) == 5
    for name, bid, winner, *money in tried:
        won, first, second = auction({**COSTS, name: int(bid)})
        gains = [paid - COSTS[name] if won == name else 0 for paid in (first, second)]
        assert winner == won
        assert list(map(int, money)) == [first, gains[0], second, gains[1]]


def test_no_bid_gains_more_than_the_true_one_with_second_price() -> None:
    for cost in range(0, 20):
        for other in range(0, 20):
            gains = {bid: other - cost if bid < other else 0 for bid in range(0, 25) if bid != other}
            truth = other - cost if cost < other else 0
            assert max(gains.values()) <= truth


def test_the_exercises_of_annex_k_have_the_solutions_it_gives() -> None:
    assert auction({"a": 12, "b": 20, "c": 20, "d": 35}) == ("a", 12, 20)
    assert auction({"b": 20, "c": 20, "d": 35}) == ("b", 20, 20)
    assert (2 * 9 + 2) - (2 * 4 + 2) == 10
    assert round(1 / 5 - 1 / 10, 3) == 0.1
    assert round(2 / 5 - 2 / 10, 3) == 0.2


def test_the_numbers_on_the_cards_can_be_computed_again() -> None:
    text = {
        name: (ROOT / "papers" / name).read_text(encoding="utf-8")
        for name in ("P138.md", "P133.md", "P136.md")
    }
    assert f"5 × 4 = {5 * 4} bridges, or 5 + 4 = {5 + 4} adapters" in text["P138.md"]
    assert f"{5 * 5} bridges against 10 + 12 = {5 + 5 + 12}" in text["P138.md"]
    cheapest = ", ".join(f"{1 / (k + 1):.2f}" for k in (1, 2, 4))
    assert (
        f"{cheapest} and {1 / 9:.2f} for *k* = 1, 2, 4 and 8, in 4, 6, 10 and 18 messages" in text["P133.md"]
    )
    assert f"For *n* = 3 that is {2**3} of {4**3}" in text["P136.md"]


@pytest.mark.parametrize("page", ["README.md", "README.es.md"])
def test_the_answers_to_find_what_is_wrong_agree_with_the_catalogue(page: str) -> None:
    text = (ROOT / "papers" / page).read_text(encoding="utf-8")
    asked, answers = (dict(re.findall(r"^(\d+)\. (.*)$", part, re.M)) for part in text.split("<details>", 1))
    assert list(asked) == list(answers) == [str(number) for number in range(1, 14)]
    papers = {paper.id: paper for paper in load_papers(ROOT)}
    for number, name in {"1": "P177", "3": "P174", "8": "P156", "9": "P180"}.items():
        assert papers[name].arxiv in asked[number]
        assert name in answers[number]
    assert papers["P159"].csl.DOI in asked["4"]
    assert papers["P173"].arxiv not in asked["2"]
    assert papers["P133"].csl.year == 1980
    assert papers["P132"].csl.author[0].family == "Hewitt"
