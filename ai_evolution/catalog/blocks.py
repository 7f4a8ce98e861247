"""What the catalogues say on a page: the blocks of a class, of a card, and of the two indexes.

Pure functions from records to Markdown. ``here`` is the folder of the page, relative to the root of the
repository, so that links come out relative to it.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence

from ai_evolution.catalog.classes import CourseClass
from ai_evolution.catalog.papers import PAPERS, Paper
from ai_evolution.catalog.references import Language, ordinal
from ai_evolution.catalog.sources import SOURCES, Source

_SUFFIX: Mapping[Language, str] = {"en": "", "es": ".es"}

_WORDS: Mapping[Language, Mapping[str, str]] = {
    "en": {
        "made": "Written by `python {script}` from [{file}]({link}).",
        "papers": "| Paper | Year | What it unlocked | Miniature |",
        "notebook": "notebook",
        "after": "Each card gives the problem before, the minimal mathematics, the limits and the frequent "
        "errors of attribution. To read the originals with a method: [how to read a paper]({guide}) · "
        "[mathematical annexes]({annexes}).",
        "lead": "The papers say where the mechanism came from. These works develop it with the room that a "
        "class does not have: whole theory, proofs, exercises.",
        "sources": "| Work | Edition | Locator | Its part in this class |",
        "norms": "Standards and specifications that this class applies:",
        "home": "home page",
        "before": "The problem before",
        "math": "The minimal mathematics",
        "no_math": "The paper needs no formula.",
        "unlocked": "What it unlocked",
        "limits": "Limits",
        "errors": "Frequent errors of attribution",
        "verified": "How the identifier was verified",
        "observed": "observed in public lists",
        "partly observed": "partly observed in public lists",
        "editor": "editor's knowledge, to be checked again before it is taught as a fact",
        "seen": "seen beside the right title",
        "memory": "from memory",
        "used": "Used in",
        "reference": "Reference",
        "class": "class",
        "classes": "| Class | Title | Hours | Level | Laboratory | Status |",
        "cards": "| Card | Paper | Year | Classes | Miniature |",
    },
    "es": {
        "made": "Bloque escrito por `python {script}` a partir de [{file}]({link}).",
        "papers": "| Artículo | Año | Qué desbloqueó | Miniatura |",
        "notebook": "cuaderno",
        "after": "Cada ficha recoge el problema anterior, la matemática mínima, los límites y los errores de "
        "atribución más frecuentes. Para leer los originales con método: [cómo leer un artículo]({guide}) · "
        "[anexos matemáticos]({annexes}).",
        "lead": "Los artículos dicen de dónde salió el mecanismo. Estas obras lo desarrollan con el espacio "
        "que una clase no tiene: teoría completa, demostraciones y ejercicios.",
        "sources": "| Obra | Edición | Localizador | Papel en esta clase |",
        "norms": "Normas y especificaciones que aplica esta clase:",
        "home": "web de la obra",
        "before": "El problema anterior",
        "math": "La matemática mínima",
        "no_math": "El artículo no necesita fórmulas.",
        "unlocked": "Qué desbloqueó",
        "limits": "Límites",
        "errors": "Errores de atribución frecuentes",
        "verified": "Cómo se verificó el identificador",
        "observed": "observados en listas públicas",
        "partly observed": "observados en parte en listas públicas",
        "editor": "según quien redacta; hay que volver a comprobarlo antes de enseñarlo como un hecho",
        "seen": "Visto junto al título correcto",
        "memory": "De memoria",
        "used": "Se usa en",
        "reference": "Referencia",
        "class": "clase",
        "classes": "| Clase | Título | Horas | Nivel | Laboratorio | Estado |",
        "cards": "| Ficha | Artículo | Año | Clases | Miniatura |",
    },
}


def _link(target: str, here: str) -> str:
    return posixpath.relpath(target, here or ".")


def _page(row: CourseClass, lang: Language, here: str) -> str:
    return _link(f"classes/{row.slug}/README{_SUFFIX[lang]}.md", here)


def card_link(paper: Paper, lang: Language, here: str) -> str:
    """Where the card of a paper stands, seen from ``here``."""
    return _link(f"papers/{paper.id}{_SUFFIX[lang]}.md", here)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _rule(header: str) -> str:
    return "|" + "---|" * (header.count("|") - 1)


def papers_block(row: CourseClass, papers: Sequence[Paper], lang: Language, here: str) -> str:
    """The table of the papers behind a class, in the order of the class's row."""
    say, end = _WORDS[lang], _SUFFIX[lang]
    known = {paper.id: paper for paper in papers}
    lines = [
        say["made"].format(script="scripts/link_papers_to_classes.py", file=PAPERS, link=_link(PAPERS, here)),
        "",
        say["papers"],
        _rule(say["papers"]),
    ]
    for paper in (known[name] for name in row.papers):
        card = card_link(paper, lang, here)
        notebook = _link(f"notebooks/papers/{paper.id}{end}.ipynb", here)
        lines.append(
            f"| [{paper.id}]({card}) · {_cell(paper.title(lang))} | {paper.csl.year} "
            f"| {_cell(paper.says('unlocked', lang))} | [{say['notebook']}]({notebook}) |"
        )
    guide = _link(f"papers/README{end}.md", here)
    annexes = _link(f"docs/annexes/README{end}.md", here)
    return "\n".join([*lines, "", say["after"].format(guide=guide, annexes=annexes)])


def sources_block(row: CourseClass, sources: Sequence[Source], lang: Language, here: str) -> str:
    """The books of a class as a table (every edition with its own ISBN), its standards as a list."""
    say = _WORDS[lang]
    known = {source.id: source for source in sources}
    cited = [known[name] for name in row.sources]
    lines = [
        say["made"].format(
            script="scripts/link_sources_to_classes.py", file=SOURCES, link=_link(SOURCES, here)
        ),
    ]
    books = [source for source in cited if source.kind == "book"]
    if books:
        lines += ["", say["lead"], "", say["sources"], _rule(say["sources"])]
        lines += [_book(source, row.number, lang) for source in books]
    norms = [source for source in cited if source.kind != "book"]
    if norms:
        lines += ["", say["norms"], ""]
        lines += [
            f"- [{norm.csl.title}]({norm.locator}): {norm.role[str(row.number)][lang]}." for norm in norms
        ]
    return "\n".join(lines)


def _book(source: Source, number: int, lang: Language) -> str:
    say = _WORDS[lang]
    first = _edition(source.csl.edition, source.csl.year, lang)
    editions = [first, *(_edition(other.edition, other.year, lang) for other in source.other_editions)]
    name = f"ISBN {source.csl.ISBN}" if source.csl.ISBN else f"DOI {source.csl.DOI}"
    locators = [f"[{name}]({source.locator}) ({first})"]
    locators += [
        f"ISBN {other.ISBN} ({_edition(other.edition, other.year, lang)})" for other in source.other_editions
    ]
    if source.homepage:
        locators.append(f"[{say['home']}]({source.homepage})")
    work = f"{source.csl.people(lang)}, *{source.csl.title}*"
    role = source.role[str(number)][lang]
    return f"| {_cell(work)} | {'; '.join(editions)} | {'; '.join(locators)} | {_cell(role)} |"


def _edition(edition: str, year: int, lang: Language) -> str:
    return f"{ordinal(edition, lang)}, {year}" if edition else str(year)


def card_block(paper: Paper, classes: Sequence[CourseClass], lang: Language, here: str) -> str:
    """What the catalogue knows about one paper, as the body of its card."""
    say = _WORDS[lang]
    used = [
        f"[{say['class']} {row.number}, {row.title[lang]}]({_page(row, lang, here)})"
        for row in classes
        if row.number in paper.classes
    ]
    math = f"$${paper.minimal_math}$$" if paper.minimal_math else say["no_math"]
    grade = say["seen"] if paper.verified == "seen" else say["memory"]
    parts = [
        f"**{say['reference']}.** {paper.csl.cite(lang)}",
        f"**{say['before']}.** {paper.says('problem_before', lang)}",
        f"**{say['unlocked']}.** {paper.says('unlocked', lang)}",
        f"**{say['math']}.**" + (f"\n\n{math}" if paper.minimal_math else f" {math}"),
        f"**{say['limits']}.** {paper.says('limits', lang)}",
        f"**{say['errors']}** ({say[paper.basis]}). {paper.says('misattribution', lang)}",
        f"**{say['verified']}.** {grade}: <{paper.verified_with}>",
    ]
    if used:
        parts.append(f"**{say['used']}.** {' · '.join(used)}")
    return "\n\n".join(parts)


def cards_block(papers: Sequence[Paper], classes: Sequence[CourseClass], lang: Language, here: str) -> str:
    """The index of the cards that exist: those that some class cites."""
    say, end = _WORDS[lang], _SUFFIX[lang]
    lines = [say["cards"], _rule(say["cards"])]
    for paper in papers:
        rows = [row for row in classes if paper.id in row.papers]
        if not rows:
            continue
        users = ", ".join(f"[{row.number}]({_page(row, lang, here)})" for row in rows)
        notebook = _link(f"notebooks/papers/{paper.id}{end}.ipynb", here)
        lines.append(
            f"| [{paper.id}]({card_link(paper, lang, here)}) | {_cell(paper.title(lang))} "
            f"| {paper.csl.year} | {users} | [{say['notebook']}]({notebook}) |"
        )
    return "\n".join(lines)


def classes_block(classes: Sequence[CourseClass], lang: Language, here: str) -> str:
    """The table of the classes that exist."""
    say = _WORDS[lang]
    lines = [say["classes"], _rule(say["classes"])]
    for row in classes:
        lines.append(
            f"| [{row.number}]({_page(row, lang, here)}) | {_cell(row.title[lang])} | {row.hours} "
            f"| {row.level[lang]} | `{row.lab}` | `{row.status}` |"
        )
    return "\n".join(lines)
