"""``check`` for the student, ``seeds`` and ``grade`` for the instructor: ``grading`` does the work."""

from __future__ import annotations

from ai_evolution.cli.parser import Parser, whole
from ai_evolution.cli.show import Waiting, quiet
from ai_evolution.errors import DocumentError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable
    from datetime import datetime

    from ai_evolution.cli.show import Screen

CHECK = {
    "class": {"en": "the class: 131 or 131-contracts, 132 or 132-mcp, 134 or 134-a2a",
              "es": "la clase: 131 o 131-contracts, 132 o 132-mcp, 134 o 134-a2a"},
    "file": {"en": "the Python file that you wrote: exercise/README.md says what it must define",
             "es": "el archivo de Python que escribiste: exercise/README.es.md dice qué debe definir"},
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
    """Start what the student built, judge it from outside, end it: 0 all holds, 1 not all, 2 no such file."""
    from ai_evolution.cli.runs import note_progress
    from ai_evolution.grading.exercise import check_exercise

    quiet(arguments.debug)
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


# ----------------------------------------------------------------------------------- grade

GRADE = {
    "folder": {"en": "the submissions: one folder per student",
               "es": "las entregas: una carpeta por estudiante"},
    "--out": {"en": "where the gradebook and the feedback go (outside the submissions)",
              "es": "dónde van las notas y los comentarios (fuera de las entregas)"},
    "--scores": {"en": "a pending.csv whose column score a person has filled in",
                 "es": "un pending.csv cuya columna score ha rellenado una persona"},
    "--deadline": {"en": "when it was due, with a time zone: 2026-12-01T23:59:00+01:00",
                   "es": "cuándo vencía el plazo, con zona horaria: 2026-12-01T23:59:00+01:00"},
    "--grace": {"en": "minutes after the deadline that cost nothing (default: 30)",
                "es": "minutos tras el plazo que no restan nada (por defecto, 30)"},
    "--per-day": {"en": "percent taken off per day begun after the deadline (default: 10)",
                  "es": "porcentaje que se resta por cada día empezado tras el plazo (por defecto, 10)"},
    "--cap": {"en": "the most that lateness can take off, in percent (default: 50)",
              "es": "lo máximo que puede restar el retraso, en porcentaje (por defecto, 50)"},
    "--key-file": {"en": "the course key: it gives each student a seed of their own (see seeds)",
                   "es": "la clave del curso: da a cada estudiante su propia semilla (mira seeds)"},
    "--json": {"en": "the gradebook as JSON", "es": "las notas en JSON"},
    "students": {"en": "the students, called as their folders will be (default: standard input, one a line)",
                 "es": "los estudiantes, con el nombre de su carpeta (por defecto, la entrada estándar, "
                       "uno por línea)"},
}  # fmt: skip
GRADING = {"en": "grading", "es": "calificando"}
GRADING_ONE = {"en": "grading {student}", "es": "calificando {student}"}
WRITTEN = {
    "en": "Gradebook, pending.csv and feedback are in {out}",
    "es": "Las notas, pending.csv y los comentarios están en {out}",
}
NO_TIME = {
    "en": "--deadline {given!r} is not a date and time with a zone, as in 2026-12-01T23:59:00+01:00",
    "es": "--deadline {given!r} no es una fecha y hora con zona, como 2026-12-01T23:59:00+01:00",
}
NO_KEY = {
    "en": "--key-file {path}: {why}; a key is made with: "
    "python3 -c 'import secrets; print(secrets.token_hex(32))' > {path}",
    "es": "--key-file {path}: {why}; una clave se hace con: "
    "python3 -c 'import secrets; print(secrets.token_hex(32))' > {path}",
}
SHORT_KEY = {"en": "shorter than {n} characters", "es": "tiene menos de {n} caracteres"}
NO_STUDENTS = {
    "en": "no student was named; give names, or one a line on standard input",
    "es": "no se nombró a ningún estudiante; da los nombres, o uno por línea en la entrada estándar",
}
KEY_LENGTH = 16


def grade_arguments(parser: Parser) -> None:
    """The arguments of ``grade``."""
    lang = parser.lang
    file = {"en": "FILE", "es": "ARCHIVO"}[lang]
    folder = {"en": "DIR", "es": "CARPETA"}[lang]
    parser.argument("folder", GRADE["folder"], metavar=folder)
    _class_option(parser)
    parser.option("--out", text=GRADE["--out"], required=True, metavar=folder)
    parser.option("--scores", text=GRADE["--scores"], metavar=file)
    parser.option("--deadline", text=GRADE["--deadline"], type=_time(lang), metavar="ISO")
    for name, default, high in (("--grace", 30, 10**6), ("--per-day", 10, 100), ("--cap", 50, 100)):
        parser.option(name, text=GRADE[name], type=whole(name, lang, 0, high), default=default, metavar="N")
    parser.option("--key-file", text=GRADE["--key-file"], metavar=file)
    parser.option("--json", text=GRADE["--json"], action="store_true")


def _class_option(parser: Parser) -> None:
    word = {"en": "CLASS", "es": "CLASE"}[parser.lang]
    parser.option("--class", text=CHECK["class"], dest="class_", required=True, metavar=word)


def _time(lang: str) -> Callable[[str], datetime]:
    def read(given: str) -> datetime:
        from datetime import datetime

        try:
            time = datetime.fromisoformat(given.strip())
        except ValueError:
            time = None
        if time is None or time.tzinfo is None:
            raise UsageError(NO_TIME[lang].format(given=given))
        return time

    return read


def grade(arguments: argparse.Namespace, screen: Screen) -> int:
    """Grade a folder of submissions: 0 when that was done, whether or not a person is still to score."""
    from datetime import timedelta

    from ai_evolution.grading.grade import grade as grade_folder
    from ai_evolution.grading.lateness import LatePolicy

    key = _key(arguments.key_file, screen) if arguments.key_file else None
    policy = LatePolicy(timedelta(minutes=arguments.grace), arguments.per_day, arguments.cap)
    quiet(arguments.debug)
    with Waiting(screen, screen.text(GRADING)) as waiting:
        book = grade_folder(
            arguments.folder,
            arguments.class_,
            out=arguments.out,
            course_key=key,
            scores=arguments.scores,
            deadline=arguments.deadline,
            policy=policy,
            progress=lambda student: waiting.says(screen.text(GRADING_ONE, student=student)),
        )
    if arguments.json:
        screen.json(book.as_dict())
    else:
        screen.line(book.text(screen.lang))
        screen.line(WRITTEN, out=book.out)
    return 0


def _key(path: str, screen: Screen) -> str:
    """The course key in a file, without the white space around it."""
    from pathlib import Path

    try:
        key = Path(path).read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "not UTF-8"
        raise DocumentError(screen.text(NO_KEY, path=path, why=why)) from None
    if len(key) < KEY_LENGTH:
        why = screen.text(SHORT_KEY, n=KEY_LENGTH)
        raise DocumentError(screen.text(NO_KEY, path=path, why=why))
    return key


# ----------------------------------------------------------------------------------- seeds


def seeds_arguments(parser: Parser) -> None:
    """The arguments of ``seeds``."""
    word = {"en": "STUDENT", "es": "ESTUDIANTE"}[parser.lang]
    parser.argument("students", GRADE["students"], nargs="*", metavar=word)
    _class_option(parser)
    file = {"en": "FILE", "es": "ARCHIVO"}[parser.lang]
    parser.option("--key-file", text=GRADE["--key-file"], required=True, metavar=file)


def seeds(arguments: argparse.Namespace, screen: Screen) -> int:
    """The seed of each student, as CSV: what an instructor hands out with the exercise."""
    import csv
    import sys

    from ai_evolution.grading.exercise import find_exercise
    from ai_evolution.grading.submission import cell, student_seed

    slug = find_exercise(arguments.class_).class_slug
    key = _key(arguments.key_file, screen)
    named = arguments.students or [line.strip() for line in sys.stdin]
    students = [student for student in named if student]
    if not students:
        raise UsageError(screen.text(NO_STUDENTS))
    table = csv.writer(screen.out, lineterminator="\n", quoting=csv.QUOTE_ALL)
    table.writerow(("student", "seed"))
    table.writerows((cell(student), student_seed(key, student, slug)) for student in students)
    return 0
