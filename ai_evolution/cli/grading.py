"""``check`` for the student, ``grade`` for the instructor: both ask ``ai_evolution.grading``."""

from __future__ import annotations

from ai_evolution.cli.parser import Parser, whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from ai_evolution.cli.show import Screen

CHECK = {
    "class": {"en": "the class: 134 or 134-a2a", "es": "la clase: 134 o 134-a2a"},
    "file": {"en": "the Python file with your agent: exercise/README.md says what it must define",
             "es": "el archivo de Python con tu agente: exercise/README.es.md dice qué debe definir"},
    "--only": {"en": "only this behaviour; may be repeated",
               "es": "solo este comportamiento; se puede repetir"},
    "--seed": {"en": "other inputs: a whole number from 0 (default: 0)",
               "es": "otras entradas: un número entero desde 0 (por defecto, 0)"},
    "--json": {"en": "the report as JSON, exchanges included",
               "es": "el informe en JSON, con los intercambios"},
}  # fmt: skip
CHECKING = {"en": "checking {file}", "es": "comprobando {file}"}


def check_arguments(parser: Parser) -> None:
    """The arguments of ``check``."""
    lang = parser.lang
    parser.argument("class_", CHECK["class"], metavar={"en": "CLASS", "es": "CLASE"}[lang])
    parser.argument("file", CHECK["file"], metavar={"en": "FILE", "es": "ARCHIVO"}[lang])
    parser.option("--only", text=CHECK["--only"], action="append", metavar="ID")
    parser.option("--seed", text=CHECK["--seed"], type=whole("--seed", lang), default=0, metavar="N")
    parser.option("--json", text=CHECK["--json"], action="store_true")


def check(arguments: argparse.Namespace, screen: Screen) -> int:
    """Start the student's agent, judge it from outside, end it: 0 all holds, 1 not all, 2 no such file."""
    from ai_evolution.cli.runs import note_progress
    from ai_evolution.cli.show import Waiting
    from ai_evolution.grading.exercise import check_exercise

    with Waiting(screen, screen.text(CHECKING, file=arguments.file)):
        report = check_exercise(arguments.class_, arguments.file, only=arguments.only, seed=arguments.seed)
    if arguments.json:
        screen.json(report.as_dict())
    elif report.problem and not report.observations:
        screen.note(report.text(screen.lang))
    else:
        screen.line(report.text(screen.lang))
    if report.observations and not arguments.only:
        held, count = report.held, len(report.observations)
        note_progress(screen, lambda diary: diary.record_check(report.class_slug, held, count))
    return report.exit_code
