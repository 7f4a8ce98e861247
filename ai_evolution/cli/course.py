"""``catalog``, ``progress`` and ``validate``: the course, the student's diary, and the repository itself."""

from __future__ import annotations

from ai_evolution.cli.parser import Parser
from ai_evolution.cli.show import command
from ai_evolution.errors import EnvironmentProblem

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any

    from ai_evolution.cli.show import Screen

JSON = {"en": "as JSON", "es": "en JSON"}

# --------------------------------------------------------------------------------- catalog

CLASSES = {
    "en": ("class", "title", "lab", "hours", "level", "status"),
    "es": ("clase", "título", "laboratorio", "horas", "nivel", "estado"),
}
LABS_ONLY = {"en": ("class", "lab", "question"), "es": ("clase", "laboratorio", "pregunta")}
HOW_TO_RUN = {
    "en": "Run one: {command} run {lab}   Parameters: {parameters}",
    "es": "Ejecuta uno: {command} run {lab}   Parámetros: {parameters}",
}


def catalog_arguments(parser: Parser) -> None:
    """The arguments of ``catalog``."""
    parser.option("--json", text=JSON, action="store_true")


def catalog(arguments: argparse.Namespace, screen: Screen) -> int:
    """The classes from the repository around us; away from it, the labs that the package has."""
    from ai_evolution.labs import LABS
    from ai_evolution.repository import find_root

    root = find_root()
    rows = _labs(screen) if root is None else _classes(root, screen)
    if arguments.json:
        screen.json(rows)
        return 0
    headings = (LABS_ONLY if root is None else CLASSES)[screen.lang]
    table = screen.table(*headings)
    for row in rows:
        shown = {key: value for key, value in row.items() if key not in ("slug", "parameters")}
        table.add_row(*(str(value) for value in shown.values()))
    screen.show(table)
    for lab in LABS.values():
        says = "; ".join(
            f"--param {p.name}={p.default} ({p.minimum}-{p.maximum}: {getattr(p, screen.lang)})"
            for p in lab.parameters
        )
        screen.line(HOW_TO_RUN, command=command(), lab=lab.name, parameters=says or "-")
    return 0


def _classes(root: Any, screen: Screen) -> list[dict[str, Any]]:
    from ai_evolution.catalog.classes import load_classes

    return [
        {
            "class": row.number,
            "title": getattr(row.title, screen.lang),
            "lab": row.lab,
            "hours": row.hours,
            "level": getattr(row.level, screen.lang),
            "status": row.status,
            "slug": row.slug,
        }
        for row in load_classes(root)
    ]


def _labs(screen: Screen) -> list[dict[str, Any]]:
    from ai_evolution.labs import LABS

    return [
        {
            "class": int(lab.class_slug[:3]),
            "lab": lab.name,
            "question": lab.title[screen.lang],
            "slug": lab.class_slug,
            "parameters": {p.name: p.default for p in lab.parameters},
        }
        for lab in LABS.values()
    ]


# -------------------------------------------------------------------------------- progress

NOTHING = {
    "en": "Nothing has been run on this machine yet. Begin with: {command} run {lab}",
    "es": "Todavía no se ha ejecutado nada en esta máquina. Empieza con: {command} run {lab}",
}
DONE = {
    "en": ("class", "lab", "runs", "claims that held", "evidence verified", "exercise"),
    "es": (
        "clase",
        "laboratorio",
        "ejecuciones",
        "afirmaciones cumplidas",
        "evidencia verificada",
        "ejercicio",
    ),
}
HELD = {"en": "{held} of {claims} (seed {seed})", "es": "{held} de {claims} (semilla {seed})"}
TIMES = {"en": "{held} of {times} times", "es": "{held} de {times} veces"}
BEST = {
    "en": "{passed} of {behaviours} behaviours (best {best})",
    "es": "{passed} de {behaviours} comportamientos (mejor {best})",
}
KEPT = {"en": "Kept in {path}, on this machine only.", "es": "Se guarda en {path}, solo en esta máquina."}


def progress_arguments(parser: Parser) -> None:
    """The arguments of ``progress``."""
    parser.option("--json", text=JSON, action="store_true")


def progress(arguments: argparse.Namespace, screen: Screen) -> int:
    """What this student has run, verified and passed."""
    from ai_evolution.labs import LABS
    from ai_evolution.progress import Progress

    diary = Progress(complain=screen.note)
    kept = diary.read()
    if arguments.json:
        screen.json(kept)
        return 0
    labs, verified, checks = kept["labs"], kept["verified"], kept["checks"]
    slugs = {name: row["class"] for part in (labs, verified) for name, row in part.items()}
    for slug in checks:
        if slug not in slugs.values():
            slugs[next((lab.name for lab in LABS.values() if lab.class_slug == slug), slug)] = slug
    if not slugs:
        screen.line(NOTHING, command=command(), lab=next(iter(LABS)))
        return 0
    table = screen.table(*DONE[screen.lang])
    for name, slug in sorted(slugs.items(), key=lambda item: item[1]):
        ran = labs.get(name)
        table.add_row(
            slug,
            name,
            str(ran["runs"]) if ran else "-",
            screen.text(HELD, **ran) if ran else "-",
            screen.text(TIMES, **verified[name]) if name in verified else "-",
            screen.text(BEST, **checks[slug]) if slug in checks else "-",
        )
    screen.show(table)
    screen.line(KEPT, path=diary.path)
    return 0


# -------------------------------------------------------------------------------- validate

NO_REPOSITORY = {
    "en": "validate reads the course's repository, and {where} is not inside one "
    "(there is no classes/catalogue.toml above it)",
    "es": "validate lee el repositorio del curso, y {where} no está dentro de uno "
    "(no hay classes/catalogue.toml por encima)",
}
SOUND = {
    "en": "{pages} pages, {links} links, {blocks} generated blocks, {classes} classes: nothing is wrong.",
    "es": "{pages} páginas, {links} enlaces, {blocks} bloques generados, {classes} clases: todo está bien.",
}
UNSOUND = {"en": "{n} problem(s) found", "es": "problemas encontrados: {n}"}
EXAMINING = {"en": "validating {root}", "es": "revisando {root}"}


def validate_arguments(parser: Parser) -> None:
    """``validate`` takes nothing of its own."""


def validate(_: argparse.Namespace, screen: Screen) -> int:
    """One line per problem of the repository around us: 0 when there is none, else 1."""
    from pathlib import Path

    from ai_evolution.cli.show import Waiting
    from ai_evolution.repository import Inspection, find_root

    root = find_root(installed=False)
    if root is None:
        raise EnvironmentProblem(screen.text(NO_REPOSITORY, where=Path.cwd()))
    with Waiting(screen, screen.text(EXAMINING, root=root)) as waiting:
        inspection = Inspection(root, step=waiting.says)
        problems = inspection.problems()
    for problem in problems:
        screen.line(problem)
    if problems:
        screen.note(UNSOUND, n=len(problems))
        return 1
    screen.line(SOUND, **inspection.counts)
    return 0
