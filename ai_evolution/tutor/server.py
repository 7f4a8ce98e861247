"""The course server: the tools of the classes, the course itself, its pages and a prompt, in one MCP server.

One folder is served, and nothing outside it. ``programs`` decides whether a program of the student may be
started at all (``check_exercise``).
"""

from __future__ import annotations

from pathlib import Path

from ai_evolution import __version__
from ai_evolution.inspection import tools as inspection
from ai_evolution.inspection.folder import Folder
from ai_evolution.labs.dates import date_range
from ai_evolution.mcp.server import ContractServer, build_server
from ai_evolution.travel import tools as travel
from ai_evolution.travel.expenses import Books
from ai_evolution.tutor import course
from ai_evolution.tutor.pages import add_pages

NAME = "ai-evolution-course"
INSTRUCTIONS = {
    "en": "The course ai_evolution: list_classes says what there is, class:// resources are its pages, and "
    "the prompt tutor helps a student through a class. Labs run offline; an answer with isError says what "
    "would be accepted.",
    "es": "El curso ai_evolution: list_classes dice qué hay, los recursos class:// son sus páginas y el "
    "prompt tutor acompaña a quien estudia una clase. Los laboratorios funcionan sin red; una respuesta con "
    "isError dice qué se aceptaría.",
}


def course_server(
    root: Path | str, *, lang: str = "en", seed: int = 0, programs: bool = True
) -> ContractServer:
    """The course server over a folder, usually the repository of the course.

    ``seed`` draws the books of the travel audit. Raises UsageError when ``root`` is no folder, DocumentError
    when it has a catalogue of classes that can't be read.
    """
    lang = "es" if lang == "es" else "en"
    folder = Folder(root)
    place = Path(root).resolve()
    dates = date_range(lang)
    contracts = [
        dates,
        *travel.contracts(Books(seed), lang),
        *inspection.contracts(folder, lang),
        *course.contracts(folder, place, lang, programs=programs),
    ]
    server = build_server(
        NAME, contracts, version=__version__, instructions=INSTRUCTIONS[lang], lang=lang,
        hints={dates.name: inspection.ANNOTATIONS},
        title={"en": "The course ai_evolution", "es": "El curso ai_evolution"}[lang],
    )  # fmt: skip
    add_pages(server, place, lang)
    return server
