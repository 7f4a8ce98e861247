"""What is wrong in the three catalogues, as sentences. An empty list means: nothing was found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from ai_evolution.catalog.classes import CourseClass
from ai_evolution.catalog.identifiers import arxiv_year, doi_holds, isbn13_holds, latex_holds, url_holds
from ai_evolution.catalog.papers import Paper
from ai_evolution.catalog.references import Reference
from ai_evolution.catalog.sources import Source

COURSE = range(129, 136)
_SHORTEST = 20  # characters; a text of a card shorter than this says nothing


def problems(
    papers: Sequence[Paper],
    sources: Sequence[Source],
    classes: Sequence[CourseClass],
    root: Path | None = None,
) -> list[str]:
    """Every problem found, one sentence each. With ``root``, cards, notebooks and folders must exist too."""
    found = [*_duplicates(papers, sources, classes)]
    for paper in papers:
        found += [f"{paper.id}: {says}" for says in _paper(paper)]
    for source in sources:
        found += [f"{source.id}: {says}" for says in _source(source)]
    for row in classes:
        found += [f"class {row.number}: {says}" for says in _class(row, papers, sources, classes)]
        if root is not None:
            found += [f"class {row.number}: {says}" for says in _files(row, root)]
    return found


def _duplicates(
    papers: Sequence[Paper], sources: Sequence[Source], classes: Sequence[CourseClass]
) -> Iterator[str]:
    records: list[Paper | Source] = [*papers, *sources]
    references = [item.csl for item in records]
    isbns = [ref.ISBN for ref in references] + [
        other.ISBN for item in sources for other in item.other_editions
    ]
    yield from _twice("id", (item.id for item in records))
    yield from _twice("DOI", (ref.DOI.lower() for ref in references))
    yield from _twice("ISBN", isbns)
    yield from _twice("arXiv id", (paper.arxiv for paper in papers))
    yield from _twice("class", (str(row.number) for row in classes))
    yield from _twice("lab", (row.lab for row in classes))


def _twice(kind: str, values: Iterable[str]) -> Iterator[str]:
    for value, times in sorted(Counter(values).items()):
        if value and times > 1:
            yield f"{kind} {value} is used {times} times"


def _reference(ref: Reference, record_id: str) -> Iterator[str]:
    if ref.id != record_id:
        yield f"its csl item is called {ref.id}"
    if not ref.author and not ref.editor:
        yield "nobody wrote it; an author or an editor would be accepted"
    if any(not str(name) for name in (*ref.author, *ref.editor)):
        yield "one of its names is empty"
    if ref.DOI and not doi_holds(ref.DOI):
        yield f"DOI {ref.DOI!r} has no DOI's form"
    if ref.ISBN and not isbn13_holds(ref.ISBN):
        yield f"ISBN {ref.ISBN} fails its check digit"
    if ref.URL and not url_holds(ref.URL):
        yield f"URL {ref.URL!r} is no web address"
    if not (ref.DOI or ref.ISBN or ref.URL or ref.number):
        yield "has no identifier; a DOI, ISBN, arXiv number or URL would be accepted"


def _both(name: str, en: str, es: str) -> Iterator[str]:
    for lang, text in (("English", en), ("Spanish", es)):
        if len(text.strip()) < _SHORTEST:
            yield f"{name} says nothing in {lang}"
    if en == es and en:
        yield f"{name} is the same text in both languages"


def _classes(classes: Iterable[int]) -> Iterator[str]:
    numbers = tuple(classes)
    if not numbers:
        yield "no class uses it"
    for number in numbers:
        if number not in COURSE:
            yield f"class {number} is not in the course"


def _paper(paper: Paper) -> Iterator[str]:
    yield from _reference(paper.csl, paper.id)
    yield from _classes(paper.classes)
    if not (len(paper.id) == 4 and paper.id[0] == "P" and paper.id[1:].isdigit()):
        yield "an id like P138 would be accepted"
    if not 1900 < paper.csl.year < 2027:
        yield f"year {paper.csl.year} cannot be"
    if paper.arxiv:
        year = arxiv_year(paper.arxiv)
        if year is None:
            yield f"arXiv id {paper.arxiv!r} has no arXiv id's form"
        elif not 0 <= paper.csl.year - year <= 2:
            yield f"year {paper.csl.year} does not fit arXiv id {paper.arxiv}"
    if not paper.title_es.strip():
        yield "has no Spanish title"
    for name in ("problem_before", "unlocked", "limits", "misattribution"):
        yield from _both(name, paper.says(name, "en"), paper.says(name, "es"))
    if not latex_holds(paper.minimal_math):
        yield f"minimal_math {paper.minimal_math!r} is no balanced LaTeX"
    yield from _verified(paper)


def _source(source: Source) -> Iterator[str]:
    yield from _reference(source.csl, source.id)
    yield from _classes(source.classes)
    if source.kind == "book" and not (source.csl.ISBN or source.csl.DOI):
        yield "a book needs an ISBN or a DOI"
    for other in source.other_editions:
        if not isbn13_holds(other.ISBN):
            yield f"ISBN {other.ISBN} fails its check digit"
        if (other.edition, other.year) == (source.csl.edition, source.csl.year):
            yield f"ISBN {other.ISBN} is given to the same edition and year as ISBN {source.csl.ISBN}"
    if sorted(source.role) != [str(number) for number in sorted(source.classes)]:
        yield f"its roles are for classes {sorted(source.role)}, it names {sorted(source.classes)}"
    for number, role in source.role.items():
        if not role.en.strip() or not role.es.strip():
            yield f"its role in class {number} says nothing in one language"
    if bool(source.note_en) != bool(source.note_es):
        yield "its note is in one language only"
    yield from _verified(source)


def _verified(record: Paper | Source) -> Iterator[str]:
    if not record.verified_with.strip() or not record.verified_note.strip():
        yield "nobody says how it was verified"


def _class(
    row: CourseClass, papers: Sequence[Paper], sources: Sequence[Source], classes: Sequence[CourseClass]
) -> Iterator[str]:
    for kind, cited, records in (("paper", row.papers, papers), ("source", row.sources, sources)):
        known = {record.id: record for record in records}
        if not cited:
            yield f"cites no {kind}"
        for name in cited:
            if name not in known:
                yield f"{kind} {name} is not in the catalogue"
            elif row.number not in known[name].classes:
                yield f"{kind} {name} does not name this class"
        yield from _twice(kind, cited)
    if not row.slug.startswith(f"{row.number}-"):
        yield f"slug {row.slug!r} does not start with its number"
    for number in row.depends:
        if number >= row.number or number not in {other.number for other in classes}:
            yield f"depends on {number}, which is no earlier class with a row"


def _files(row: CourseClass, root: Path) -> Iterator[str]:
    if not (root / "classes" / row.slug).is_dir():
        yield f"classes/{row.slug} is missing"
    for name in row.papers:
        for path in (
            f"papers/{name}.md",
            f"papers/{name}.es.md",
            f"notebooks/papers/{name}.ipynb",
            f"notebooks/papers/{name}.es.ipynb",
        ):
            if not (root / path).is_file():
                yield f"{path} is missing"
