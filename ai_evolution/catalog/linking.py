"""The command behind ``scripts/link_papers_to_classes.py`` and ``scripts/link_sources_to_classes.py``.

Both validate the three catalogues, render one block for each page of each class, and write or compare.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ai_evolution.catalog import blocks
from ai_evolution.catalog.check import problems
from ai_evolution.catalog.classes import CourseClass, load_classes
from ai_evolution.catalog.markers import fill_blocks
from ai_evolution.catalog.pages import Generated, settle
from ai_evolution.catalog.papers import Paper, load_papers
from ai_evolution.catalog.references import Language
from ai_evolution.catalog.sources import Source, load_sources
from ai_evolution.errors import AiEvolutionError, DocumentError

SCRIPTS: Mapping[str, str] = {
    "papers": "scripts/link_papers_to_classes.py",
    "sources": "scripts/link_sources_to_classes.py",
}
PAGES: Mapping[Language, str] = {"en": "README.md", "es": "README.es.md"}


@dataclass(frozen=True)
class Catalogues:
    """The three catalogues of one repository."""

    papers: tuple[Paper, ...]
    sources: tuple[Source, ...]
    classes: tuple[CourseClass, ...]

    @classmethod
    def load(cls, root: Path) -> Catalogues:
        """Read all three. DocumentError when one cannot be read or when the three do not fit together."""
        found = cls(load_papers(root), load_sources(root), load_classes(root))
        wrong = problems(found.papers, found.sources, found.classes)
        if wrong:
            more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
            raise DocumentError(f"catalogues: {wrong[0]}{more}")
        return found


def fill_catalogue_block(
    name: str, text: str, row: CourseClass, catalogues: Catalogues, lang: Language, where: str
) -> str:
    """``text`` with its block ``name`` ("papers" or "sources") rendered. DocumentError when it has none."""
    here = where.rpartition("/")[0]
    content = (
        blocks.papers_block(row, catalogues.papers, lang, here)
        if name == "papers"
        else blocks.sources_block(row, catalogues.sources, lang, here)
    )
    return fill_blocks(text, {name: content}, script=SCRIPTS[name], where=where, required=(name,))


def read_page(root: Path, where: str) -> str:
    """The text of a page. DocumentError when it is missing or is no UTF-8."""
    try:
        return (root / where).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise DocumentError(
            f"{where}: cannot be read ({type(error).__name__}); a page in UTF-8 is expected"
        ) from error


def main(name: str, argv: Sequence[str] | None, root: Path) -> int:
    """0 written or fresh, 1 stale (``--check``), 2 a catalogue or a page is not what it should be."""
    parser = argparse.ArgumentParser(description=f"Write the block of {name} in the pages of the classes.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when a block is stale")
    check = parser.parse_args(argv).check
    try:
        pages = list(_pages(name, root))
    except AiEvolutionError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    stale = settle(root, pages, check=check)
    return 1 if check and stale else 0


def _pages(name: str, root: Path) -> Iterator[Generated]:
    catalogues = Catalogues.load(root)
    for row in catalogues.classes:
        for lang, page in PAGES.items():
            where = f"classes/{row.slug}/{page}"
            text = read_page(root, where)
            yield Generated.text(where, fill_catalogue_block(name, text, row, catalogues, lang, where))
