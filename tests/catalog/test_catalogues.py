"""The committed catalogues have no problem, and each check is able to find one."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from stdnum import isbn

from ai_evolution.catalog import load_classes, load_papers, load_sources, problems
from ai_evolution.catalog.check import COURSE
from ai_evolution.catalog.classes import CLASSES, CourseClass
from ai_evolution.catalog.identifiers import arxiv_year, doi_holds, isbn13_holds, latex_holds, url_holds
from ai_evolution.catalog.papers import PAPERS, Paper
from ai_evolution.catalog.sources import SOURCES, Source
from ai_evolution.errors import DocumentError

ROOT = Path(__file__).resolve().parents[2]
Records = list[dict[str, Any]]


def raw(path: str) -> Records:
    records: Records = json.loads((ROOT / path).read_text(encoding="utf-8"))
    return records


def found(change: Callable[[Records, Records], object]) -> list[str]:
    """The problems after ``change`` has been let loose on the two lists."""
    papers, sources = raw(PAPERS), raw(SOURCES)
    change(papers, sources)
    return problems(
        [Paper.model_validate(item) for item in papers],
        [Source.model_validate(item) for item in sources],
        load_classes(ROOT),
    )


def pick(records: Records, name: str) -> dict[str, Any]:
    return next(item for item in records if item["id"] == name)


def test_the_committed_catalogues_have_no_problem() -> None:
    assert problems(load_papers(ROOT), load_sources(ROOT), load_classes(ROOT), ROOT) == []


def test_there_are_forty_five_papers_and_forty_five_sources() -> None:
    assert len(load_papers(ROOT)) == 45
    assert len(load_sources(ROOT)) == 45


def test_every_class_of_the_course_has_papers_and_sources_waiting() -> None:
    for number in COURSE:
        assert sum(number in paper.classes for paper in load_papers(ROOT)) >= 4
        assert sum(number in source.classes for source in load_sources(ROOT)) >= 3


def test_p138_is_the_kqml_paper_of_1994() -> None:
    paper = next(paper for paper in load_papers(ROOT) if paper.id == "P138")
    assert (paper.csl.title, paper.csl.year) == ("KQML as an Agent Communication Language", 1994)


def test_wooldridge_carries_both_isbns_each_with_its_own_edition_and_year() -> None:
    source = next(source for source in load_sources(ROOT) if source.id == "B01")
    second = (source.csl.ISBN, source.csl.edition, source.csl.year)
    first = [(other.ISBN, other.edition, other.year) for other in source.other_editions]
    assert second == ("9780470519462", "2", 2009)
    assert first == [("9780471496915", "1", 2002)]


CASES: dict[str, tuple[Callable[[Records, Records], object], str]] = {
    "an id used twice": (lambda p, s: p[0].update(id="P138"), "id P138 is used 2 times"),
    "a DOI used twice": (
        lambda p, s: p[0]["csl"].update(DOI=pick(p, "P138")["csl"]["DOI"]),
        "DOI 10.1145/191246.191322 is used 2 times",
    ),
    "an ISBN used twice": (
        lambda p, s: s[0]["other_editions"][0].update(ISBN=s[0]["csl"]["ISBN"]),
        "ISBN 9780470519462 is used 2 times",
    ),
    "a wrong check digit": (
        lambda p, s: s[0]["csl"].update(ISBN="9780470519463"),
        "B01: ISBN 9780470519463 fails its check digit",
    ),
    "a wrong check digit of another edition": (
        lambda p, s: s[0]["other_editions"][0].update(ISBN="9780471496916"),
        "B01: ISBN 9780471496916 fails its check digit",
    ),
    "two ISBNs for one edition and year": (
        lambda p, s: s[0]["other_editions"][0].update(edition="2", year=2009),
        "B01: ISBN 9780471496915 is given to the same edition and year",
    ),
    "a DOI without its prefix": (
        lambda p, s: pick(p, "P138")["csl"].update(DOI="191246.191322"),
        "P138: DOI '191246.191322' has no DOI's form",
    ),
    "a month that arXiv does not have": (
        lambda p, s: pick(p, "P172").update(arxiv="2213.03629"),
        "P172: arXiv id '2213.03629' has no arXiv id's form",
    ),
    "a year that does not fit the arXiv id": (
        lambda p, s: pick(p, "P172").update(arxiv="1710.03629"),
        "P172: year 2023 does not fit arXiv id 1710.03629",
    ),
    "an empty Spanish text": (lambda p, s: p[3].update(unlocked_es=""), "unlocked says nothing in Spanish"),
    "one text for both languages": (
        lambda p, s: p[3].update(limits_es=p[3]["limits_en"]),
        "limits is the same text in both languages",
    ),
    "a formula that is not closed": (
        lambda p, s: pick(p, "P166").update(minimal_math=r"\frac{a}{b"),
        "P166: minimal_math",
    ),
    "an orphan paper": (lambda p, s: p[0].update(classes=[]), "P131: no class uses it"),
    "a class outside the course": (lambda p, s: p[1].update(classes=[99]), "class 99 is not in the course"),
    "a cited paper that left": (
        lambda p, s: p.remove(pick(p, "P138")),
        "class 134: paper P138 is not in the catalogue",
    ),
    "a cited source that serves another class": (
        lambda p, s: s[0].update(classes=[135], role={"135": s[0]["role"]["135"]}),
        "class 134: source B01 does not name this class",
    ),
    "a role in one language": (lambda p, s: s[1]["role"]["129"].update(es=""), "its role in class 129"),
    "a class without a role": (lambda p, s: s[1]["role"].pop("129"), "B02: its roles are for classes"),
    "a note in one language": (lambda p, s: s[0].update(note_es=""), "B01: its note is in one language only"),
    "nobody who verified": (lambda p, s: p[0].update(verified_note=" "), "nobody says how it was verified"),
    "nobody who wrote it": (lambda p, s: p[0]["csl"].update(author=[]), "nobody wrote it"),
    "an address that is none": (
        lambda p, s: p[0]["csl"].update(URL="ftp//x"),
        "URL 'ftp//x' is no web address",
    ),
    "a book without a number": (lambda p, s: s[0]["csl"].pop("ISBN"), "B01: a book needs an ISBN or a DOI"),
    "a csl item of another record": (
        lambda p, s: p[0]["csl"].update(id="P999"),
        "its csl item is called P999",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_validation_finds(name: str) -> None:
    change, says = CASES[name]
    assert [line for line in found(change) if says in line], found(change)


def test_a_class_that_cites_nothing_is_found() -> None:
    row = load_classes(ROOT)[0].model_copy(update={"papers": (), "sources": ()})
    says = problems(load_papers(ROOT), load_sources(ROOT), [row])
    assert says == [f"class {row.number}: cites no paper", f"class {row.number}: cites no source"]


def test_a_class_that_depends_on_a_later_one_is_found() -> None:
    row: CourseClass = load_classes(ROOT)[0].model_copy(update={"depends": (135,)})
    assert "depends on 135" in problems(load_papers(ROOT), load_sources(ROOT), [row])[0]


def test_a_card_that_is_not_there_is_found(tmp_path: Path) -> None:
    says = problems(load_papers(ROOT), load_sources(ROOT), load_classes(ROOT), tmp_path)
    assert "class 134: papers/P138.es.md is missing" in says
    assert "class 134: notebooks/papers/P138.ipynb is missing" in says


@pytest.mark.parametrize(
    ("path", "content", "says"),
    [
        (PAPERS, "[{", "cannot be read as JSON"),
        (PAPERS, "{}", "is a dict; a list of records would be accepted"),
        (PAPERS, '[{"id": "P1"}]', "P1: csl: field required"),
        (SOURCES, '[{"id": "B1", "surprise": 1}]', "B1: "),
        (CLASSES, "number = ", "cannot be read as TOML"),
        (CLASSES, "[[class]]\nnumber = 1\n", "field required"),
    ],
)
def test_a_file_of_another_shape_is_one_clear_line(
    tmp_path: Path, path: str, content: str, says: str
) -> None:
    file = tmp_path / path
    file.parent.mkdir(parents=True)
    file.write_text(content, encoding="utf-8")
    load = {PAPERS: load_papers, SOURCES: load_sources, CLASSES: load_classes}[path]
    with pytest.raises(DocumentError) as caught:
        load(tmp_path)
    assert says in str(caught.value)
    assert str(caught.value).startswith(path)
    assert len(str(caught.value).splitlines()) == 1


def test_a_file_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match=r"sources/bibliography\.json: cannot be read"):
        load_sources(tmp_path)


def test_our_check_digit_agrees_with_stdnum_on_every_isbn_and_on_its_neighbours() -> None:
    numbers = [item.csl.ISBN for item in (*load_papers(ROOT), *load_sources(ROOT)) if item.csl.ISBN]
    numbers += [other.ISBN for item in load_sources(ROOT) for other in item.other_editions]
    assert len(numbers) > 12
    for number in numbers:
        for digit in "0123456789":
            assert isbn13_holds(number[:-1] + digit) == isbn.is_valid(number[:-1] + digit)


def test_isbn_10_of_the_first_wooldridge_is_the_number_printed_beside_2009() -> None:
    assert isbn.to_isbn13("047149691X") == "9780471496915"


def test_identifiers_of_another_form_are_refused() -> None:
    assert not isbn13_holds("978-0-470-51946-2")
    assert not doi_holds("doi:10.1145/191246.191322")
    assert arxiv_year("2402.01030v2") == 2024
    assert arxiv_year("cs/9901001") is None
    assert not url_holds("http://localhost")
    assert not latex_holds(r"\left( a")
    assert not latex_holds("$a$")
