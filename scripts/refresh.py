#!/usr/bin/env python3
"""Write everything in this repository that a run or a catalogue can produce; nothing of it is typed.

    python scripts/refresh.py                     write what is stale
    python scripts/refresh.py --check             write nothing; exit 1 with the list of what is stale
    python scripts/refresh.py --no-execute        leave the notebooks alone; with --check, compare their code
                                                  and prose without running them
    python scripts/refresh.py --translated PATH   record that the translation PATH follows its original

Written here: the golden report of each class (``evidence.seed-0.json``), the JSON Schema of reports, the
picture of a run in the root's README, the generated blocks of the pages of the classes, of the cards of
papers and of the indexes, and the notebooks.

Blocks of a class page (``README.md``, ``README.es.md``, ``assessment*.md``, every page of the class folder):

* ``papers``, ``sources``: written by the two link scripts, called from here
* ``output``, ``claims``, ``limitations``: from the report of a run with seed 0
* ``rubric``: from ``rubric.json``, through ``ai_evolution.grading.rubric``
* whatever the page module of the lab offers: ``ai_evolution.labs.<lab>_page`` may define
  ``PROVIDERS: Mapping[str, Callable[[Report, str], str]]``, block name to a function of the report and of the
  language ("en" or "es"); it may also replace one of the names above

Elsewhere: ``card`` (a card of a paper), ``cards`` (``papers/README.md``), ``classes`` (the root's README).

The hash of a translation is written by ``--translated`` alone: only a person can say that it follows.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import io
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import build_notebooks

from ai_evolution.catalog import blocks
from ai_evolution.catalog.linking import PAGES, Catalogues, fill_catalogue_block, read_page
from ai_evolution.catalog.markers import fill_blocks, find_blocks, followed_source, prose_digest, with_source
from ai_evolution.catalog.pages import Generated, settle
from ai_evolution.errors import AiEvolutionError, DocumentError, EvidenceDiffers, UsageError

if TYPE_CHECKING:
    from ai_evolution.catalog.classes import CourseClass
    from ai_evolution.catalog.references import Language
    from ai_evolution.evidence import Report

SCRIPT = "scripts/refresh.py"
ROOT = Path(__file__).resolve().parent.parent
SCHEMA = "ai_evolution/schemas/evidence.schema.json"
GOLDEN = "evidence.seed-0.json"
TERMINAL = ("COLUMNS", "FORCE_COLOR", "TTY_COMPATIBLE")  # what a terminal may say to rich, and a page may not
PICTURED = 134  # the class whose run the root's README shows
SHOWN = 3  # findings that the block "output" shows before it cuts

Provider = Callable[["Report", "Language"], str]

WORDS = {
    "en": {
        "cut": "{n} more findings, then the limitations",
        "claims": "| Claim | What is claimed | Expected, and observed with seed 0 | Source |",
        "limits": {"scope": "scope", "model": "model", "measurement": "measurement", "method": "method"},
    },
    "es": {
        "cut": "{n} hallazgos más y, después, las limitaciones",
        "claims": "| Afirmación | Qué se afirma | Esperado, y observado con la semilla 0 | Fuente |",
        "limits": {"scope": "alcance", "model": "modelo", "measurement": "medición", "method": "método"},
    },
}


# ----------------------------------------------------------------------- blocks from a report


def output_block(report: Report, lang: Language) -> str:
    """The command and what it prints: the head of the table, its first rows, the last line."""
    from ai_evolution.cli.show import Screen, show_report
    from ai_evolution.labs import LABS

    out = io.StringIO()
    kept = {name: os.environ.pop(name) for name in TERMINAL if name in os.environ}
    try:
        show_report(Screen(lang, out=out, err=io.StringIO()), report, LABS[report.kind].title[lang])
    finally:
        os.environ.update(kept)
    lines = [line.rstrip() for line in out.getvalue().splitlines()]
    rules = [number for number, line in enumerate(lines) if line.startswith("├")]
    hidden = len(report.evidence) - SHOWN
    if hidden > 0 and len(rules) > SHOWN:
        cut = "⋮ " + str(WORDS[lang]["cut"]).format(n=hidden)
        lines[rules[SHOWN] :] = [cut, "", lines[-1]]
    command = "$ python lab.py" if lang == "en" else "$ python lab.py --lang es"
    return "\n".join(["```console", command, *lines, "```"])


def claims_block(report: Report, lang: Language, catalogues: Catalogues, here: str) -> str:
    """The expected evidence: each claim with its values. DocumentError when a source is in no catalogue."""
    with_card = {name for row in catalogues.classes for name in row.papers}
    links = {
        paper.id: blocks.card_link(paper, lang, here) if paper.id in with_card else paper.csl.address
        for paper in catalogues.papers
    }
    links |= {source.id: source.locator for source in catalogues.sources}
    header = str(WORDS[lang]["claims"])
    lines = [header, "|" + "---|" * (header.count("|") - 1)]
    for item in report.evidence:
        unknown = [key for key in item.sources if key not in links]
        if unknown:
            raise DocumentError(f"{report.kind}: {item.id} cites {unknown[0]}, which is in no catalogue")
        keys = [f"[{key}]({links[key]})" for key in item.sources]
        says = item.claim.es if lang == "es" else item.claim.en
        value = f"`{value_cell(item.expected)}`"  # what was observed is the same, or nothing is written
        lines.append(f"| `{item.id}` | {says.replace('|', chr(92) + '|')} | {value} | {', '.join(keys)} |")
    return "\n".join(lines)


def value_cell(value: object, most: int = 110) -> str:
    """A JSON value short enough for a cell of a table."""
    text = json.dumps(value, ensure_ascii=False)
    text = text if len(text) <= most else f"{text[: most - 2]} …"
    return text.replace("|", "\\|").replace("`", "'")


def limitations_block(report: Report, lang: Language) -> str:
    """What the lab does not show, as a list."""
    kinds = WORDS[lang]["limits"]
    assert isinstance(kinds, dict)
    return "\n".join(
        f"- **{kinds[limit.kind]}** (`{limit.id}`): {limit.says.es if lang == 'es' else limit.says.en}"
        for limit in report.limitations
    )


def rubric_block(root: Path, row: CourseClass, lang: Language) -> str:
    """The rubric table of a class."""
    from ai_evolution.grading import rubric

    return str(rubric.table(rubric.load(root / "classes" / row.slug / "rubric.json"), lang))


# ---------------------------------------------------------------------------- whole pages


def page_providers(lab: str) -> Mapping[str, Provider]:
    """``PROVIDERS`` of the page module of a lab; empty when the lab has no such module."""
    name = f"ai_evolution.labs.{lab}_page"
    if importlib.util.find_spec(name) is None:
        return {}
    providers: Mapping[str, Provider] = importlib.import_module(name).PROVIDERS
    return providers


def class_files(root: Path, row: CourseClass, catalogues: Catalogues) -> Iterator[Generated]:
    """The golden report of a class and its pages. EvidenceDiffers when a claim does not hold with seed 0."""
    from ai_evolution.labs import run_lab

    report = run_lab(row.lab, seed=0)
    bad = [item.id for item in report.evidence if not item.holds]
    if bad:
        raise EvidenceDiffers(
            f"{row.lab}: {bad[0]} does not hold with seed 0; nothing is written from such a run"
        )
    yield Generated(f"classes/{row.slug}/{GOLDEN}", report.to_bytes())
    if row.number == PICTURED:
        yield from pictures(report)
    yield from class_pages(root, row, report, catalogues, page_providers(row.lab))


def pictures(report: Report) -> Iterator[Generated]:
    """The picture of a run that the root's README shows, for each of its editions."""
    from ai_evolution.cli.picture import picture
    from ai_evolution.labs import LABS

    languages: Mapping[Language, str] = {"en": "", "es": ".es"}
    for lang, end in languages.items():
        yield Generated.text(f"docs/run{end}.svg", picture(report, LABS[report.kind].title[lang], lang))


def class_pages(
    root: Path, row: CourseClass, report: Report, catalogues: Catalogues, extra: Mapping[str, Provider]
) -> Iterator[Generated]:
    """Every Markdown page of a class folder, its blocks filled. Both READMEs must be there.

    ``extra`` are the providers of the lab's page module: each must have its block in both READMEs.
    """
    folder = f"classes/{row.slug}"
    pages = {*(root / folder).rglob("*.md"), *(root / folder / page for page in PAGES.values())}
    for path in sorted(pages):
        where = path.relative_to(root).as_posix()
        lang: Language = "es" if path.name.endswith(".es.md") else "en"
        here = where.rpartition("/")[0]
        text = read_page(root, where)
        names = {block.name for block in find_blocks(text, where)}
        is_page = path.name in PAGES.values() and here == folder
        for name in ("papers", "sources"):
            if is_page or name in names:
                text = fill_catalogue_block(name, text, row, catalogues, lang, where)
        makers: dict[str, Callable[[], str]] = {
            "output": partial(output_block, report, lang),
            "claims": partial(claims_block, report, lang, catalogues, here),
            "limitations": partial(limitations_block, report, lang),
            "rubric": partial(rubric_block, root, row, lang),
        }
        makers |= {name: partial(make, report, lang) for name, make in extra.items()}
        required = ("output", "claims", "limitations", *extra) if is_page else ()
        if path.name in ("assessment.md", "assessment.es.md"):
            required = ("rubric",)
        yield _filled(text, makers, where, required)


def other_pages(root: Path, catalogues: Catalogues) -> Iterator[Generated]:
    """The README of the root, the index and the cards of the papers."""
    by_id = {paper.id: paper for paper in catalogues.papers}
    languages: Mapping[Language, str] = {"en": "", "es": ".es"}
    for lang, end in languages.items():
        where = f"README{end}.md"
        if (root / where).is_file():
            table = partial(blocks.classes_block, catalogues.classes, lang, "")
            yield _filled(read_page(root, where), {"classes": table}, where, ())
        where = f"papers/README{end}.md"
        cards = partial(blocks.cards_block, catalogues.papers, catalogues.classes, lang, "papers")
        yield _filled(read_page(root, where), {"cards": cards}, where, ("cards",))
    for path in sorted((root / "papers").glob("P*.md")):
        where = path.relative_to(root).as_posix()
        name = path.name.split(".")[0]
        lang = "es" if path.name.endswith(".es.md") else "en"
        if name not in by_id:
            raise DocumentError(f"{where}: {name} is not in the catalogue of papers")
        card = partial(blocks.card_block, by_id[name], catalogues.classes, lang, "papers")
        yield _filled(read_page(root, where), {"card": card}, where, ("card",))


def _filled(
    text: str, makers: Mapping[str, Callable[[], str]], where: str, required: Sequence[str]
) -> Generated:
    used = {block.name for block in find_blocks(text, where) if block.script == SCRIPT}
    contents = {name: make() if name in used else "" for name, make in makers.items()}
    return Generated.text(where, fill_blocks(text, contents, script=SCRIPT, where=where, required=required))


def schema_file() -> Iterator[Generated]:
    """The published JSON Schema of evidence."""
    from ai_evolution import evidence

    yield Generated.text(SCHEMA, json.dumps(evidence.schema(), ensure_ascii=False, indent=2) + "\n")


# --------------------------------------------------------------------------- translations


def translations(root: Path) -> list[str]:
    """Every Spanish page, relative to the root. Hidden and build folders are passed over."""
    skip = ("build", "dist", "node_modules")
    found = (path.relative_to(root) for path in root.rglob("*.es.md"))
    return sorted(
        path.as_posix()
        for path in found
        if not any(part.startswith(".") or part in skip for part in path.parts[:-1])
    )


def original_of(root: Path, where: str) -> str:
    """The English page that a Spanish one follows. DocumentError when there is none."""
    stem = where.removesuffix(".es.md")
    for candidate in (f"{stem}.md", f"{stem}.en.md"):
        if (root / candidate).is_file():
            return candidate
    raise DocumentError(f"{where}: has no English original; {stem}.md would be accepted")


def stale_translations(root: Path) -> Iterator[str]:
    """One line for each Spanish page that does not follow its original as it stands."""
    for where in translations(root):
        original = original_of(root, where)
        follows = followed_source(read_page(root, where))
        digest = prose_digest(read_page(root, original), original)
        if follows is None:
            yield f"{where}: does not say which text it follows; --translated {where} would record it"
        elif follows != (original.rpartition("/")[2], digest):
            yield f"{where}: {original} has changed since; translate the change, then --translated {where}"


def record_translation(root: Path, given: str) -> Generated:
    """The Spanish page ``given`` with the hash of its original as it stands now."""
    path = (Path.cwd() / given).resolve()
    path = path if path.is_file() else (root / given).resolve()
    if not path.is_relative_to(root) or not path.name.endswith(".es.md") or not path.is_file():
        raise UsageError(
            f"--translated {given}: is no Spanish page; an existing NAME.es.md would be accepted"
        )
    where = path.relative_to(root).as_posix()
    original = original_of(root, where)
    digest = prose_digest(read_page(root, original), original)
    return Generated.text(where, with_source(read_page(root, where), original.rpartition("/")[2], digest))


# -------------------------------------------------------------------------------- command


def generate(root: Path, *, check: bool, execute: bool) -> Iterator[Callable[[], Iterable[Generated]]]:
    """The parts of the work, each to be called on its own: one that cannot be done hides no other."""
    catalogues = Catalogues.load(root)
    yield schema_file
    yield partial(other_pages, root, catalogues)
    for row in catalogues.classes:
        yield partial(class_files, root, row, catalogues)
    if execute or check:
        yield partial(build_notebooks.build, root, run=execute)


def main(argv: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """0 written or fresh, 1 stale (``--check``), 2 something is not what it should be."""
    parser = argparse.ArgumentParser(
        description="Write everything that is generated, or check that it is fresh."
    )
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when something is stale")
    parser.add_argument("--no-execute", action="store_true", help="do not run the notebooks")
    parser.add_argument(
        "--translated", metavar="PATH", action="append", help="record that PATH follows its original"
    )
    args = parser.parse_args(argv)
    try:
        if args.translated:
            settle(root, [record_translation(root, given) for given in args.translated], check=False)
            return 0
        return refresh(root, check=args.check, execute=not args.no_execute)
    except AiEvolutionError as error:
        print(error, file=sys.stderr)
        return error.exit_code


def refresh(root: Path, *, check: bool, execute: bool) -> int:
    """Write or check everything, one line for each file that was stale."""
    stale = code = 0
    for part in generate(root, check=check, execute=execute):
        try:
            stale += settle(root, part(), check=check)
        except AiEvolutionError as error:
            print(error, file=sys.stderr)
            code = max(code, error.exit_code)
    for says in stale_translations(root):
        print(f"stale: {says}")
        stale += 1
    if code:
        return code
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
