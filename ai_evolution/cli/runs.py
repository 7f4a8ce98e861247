"""``run``, ``verify`` and ``lab.py``: a lab's evidence made, shown, written and made again."""

from __future__ import annotations

import sys

from ai_evolution.cli.parser import Parser, choice, nearest, pair, whole
from ai_evolution.cli.show import Waiting, command, json_bytes, near, quiet, show_report
from ai_evolution.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence
    from pathlib import Path
    from typing import Any

    from ai_evolution.cli.show import Screen
    from ai_evolution.evidence import Report
    from ai_evolution.progress import Progress

HELP = {
    "name": {"en": "the lab: {names}", "es": "el laboratorio: {names}"},
    "--seed": {"en": "another world: a whole number from 0 (default: 0)",
               "es": "otro mundo: un número entero desde 0 (por defecto, 0)"},
    "--transport": {"en": "memory (default), http (a loopback socket) or, for the lab mcp, stdio (pipes)",
                    "es": "memory (por defecto), http (un socket local) o, en el laboratorio mcp, stdio"},
    "--param": {"en": "a parameter of the lab, KEY=VALUE; may be repeated",
                "es": "un parámetro del laboratorio, CLAVE=VALOR; se puede repetir"},
    "--json": {"en": "standard output is the evidence, as JSON, and nothing else",
               "es": "la salida estándar es la evidencia, en JSON, y nada más"},
    "--table": {"en": "show the table even when standard output is no terminal",
                "es": "muestra la tabla aunque la salida estándar no sea un terminal"},
    "--out": {"en": "where to write the evidence: a file, or a folder that exists",
              "es": "dónde escribir la evidencia: un archivo, o una carpeta que exista"},
    "file": {"en": "an evidence file; - is standard input",
             "es": "un archivo de evidencia; - es la entrada estándar"},
    "--json-answer": {"en": "the answer as JSON", "es": "la respuesta en JSON"},
}  # fmt: skip

MOST = 16 * 1024 * 1024
"""Bytes of an evidence file that are read from standard input (the same as from a file)."""

RUNNING = {"en": "running {name} (seed {seed})", "es": "ejecutando {name} (semilla {seed})"}
CLAIM = {
    "en": "running {name} (seed {seed}): claim {done} of {count}, {claim}",
    "es": "ejecutando {name} (semilla {seed}): afirmación {done} de {count}, {claim}",
}
WRITTEN = {
    "en": "Evidence in {path} ({digest})\nHow long it took, and where, in {run}",
    "es": "Evidencia en {path} ({digest})\nCuánto tardó, y dónde, en {run}",
}
ANYONE = {
    "en": "Anyone can check it: {command} verify {path}",
    "es": "Cualquiera puede comprobarla: {command} verify {path}",
}
UNKNOWN_LAB = {
    "en": "no lab is called {given!r}; {hint}",
    "es": "ningún laboratorio se llama {given!r}; {hint}",
}
NO_FOLDER = {
    "en": "--out {path}: the folder {folder} does not exist; make it first, or name another",
    "es": "--out {path}: la carpeta {folder} no existe; créala antes o indica otra",
}
NO_WRITING = {
    "en": "cannot write in {folder}; name a folder of your own with --out",
    "es": "no se puede escribir en {folder}; indica con --out una carpeta tuya",
}


# ------------------------------------------------------------------------------------- run


def run_arguments(parser: Parser) -> None:
    """The arguments of ``run``."""
    from ai_evolution.labs import LABS

    text = {lang: said.format(names=", ".join(LABS)) for lang, said in HELP["name"].items()}
    parser.argument("name", text, metavar={"en": "NAME", "es": "NOMBRE"}[parser.lang])
    _options(parser)


def _options(parser: Parser) -> None:
    lang = parser.lang
    parser.option("--seed", text=HELP["--seed"], type=whole("--seed", lang), default=0, metavar="N")
    transports = choice("--transport", ("memory", "http", "stdio"), lang)
    parser.option(
        "--transport",
        text=HELP["--transport"],
        type=transports,
        default="memory",
        metavar="memory|http|stdio",
    )
    parser.option(
        "--param", text=HELP["--param"], type=pair(lang), action="append", default=[], metavar="K=V"
    )
    parser.either(("--json", HELP["--json"]), ("--table", HELP["--table"]))
    parser.option("--out", text=HELP["--out"], metavar={"en": "FILE", "es": "ARCHIVO"}[lang])


def run(arguments: argparse.Namespace, screen: Screen) -> int:
    """Run a lab: 0 when every claim holds, 1 when one does not."""
    return _run(_lab_name(arguments.name, screen), arguments, screen, ".")


def run_lab_file(name: str, words: Sequence[str], screen: Screen) -> int:
    """The same from a class's ``lab.py``, whose files go beside it."""
    from pathlib import Path

    from ai_evolution.labs import LABS

    main = Path(str(getattr(sys.modules["__main__"], "__file__", "") or ""))
    beside = str(main.parent) if main.name == "lab.py" else "."
    parser = Parser("lab.py", screen.lang, LABS[name].title[screen.lang])
    _options(parser)
    parser.common()
    return _run(name, parser.parse(words), screen, beside)


def _lab_name(given: str, screen: Screen) -> str:
    from ai_evolution.labs import LABS

    for lab in LABS.values():
        if given in (lab.name, lab.class_slug, lab.class_slug[:3]):
            return lab.name
    raise UsageError(screen.text(UNKNOWN_LAB, given=given, hint=nearest(given, LABS, screen.lang)))


def _run(name: str, arguments: argparse.Namespace, screen: Screen, folder: str) -> int:
    import time

    as_json = not arguments.table and (arguments.json or not screen.at_terminal)
    out = arguments.out or (None if as_json else folder)
    target = None if out is None else _target(screen, out)

    started = time.perf_counter()
    report = _report(name, arguments, screen)
    elapsed = time.perf_counter() - started

    if target is not None:
        from ai_evolution.files import write_whole

        write_whole(target, report.to_bytes())
        run_file = target.with_name(
            "run.json" if target.name == "evidence.json" else f"{target.stem}.run.json"
        )
        write_whole(run_file, json_bytes(circumstances(report, arguments.transport, elapsed)))
    if as_json:
        screen.raw(report.to_bytes())
    else:
        from ai_evolution.labs import LABS

        show_report(screen, report, LABS[name].title[screen.lang])
        if target is not None:
            screen.line(WRITTEN, path=near(target), digest=report.digest, run=near(run_file))
            screen.line(ANYONE, command=command(), path=near(target))
    held = sum(item.holds for item in report.evidence)
    note_progress(
        screen,
        lambda diary: diary.record_run(
            report.kind, report.class_, report.seed, report.digest, held, len(report.evidence)
        ),
    )
    return 0 if report.holds else 1


def _report(name: str, arguments: argparse.Namespace, screen: Screen) -> Report:
    given: dict[str, Any] = dict(arguments.param)
    with Waiting(screen, screen.text(RUNNING, name=name, seed=arguments.seed)) as waiting:
        from ai_evolution.labs import LABS, run_lab

        LABS[name].read_parameters(given)
        quiet(arguments.debug)
        done: list[str] = []

        def seen(claim_id: str) -> None:
            done.append(claim_id)
            count = len(LABS[name].load().CLAIMS)  # loaded by now; before, it would have kept the lab waiting
            values = {"name": name, "seed": arguments.seed, "done": len(done), "count": count}
            waiting.says(screen.text(CLAIM, claim=claim_id, **values))

        return run_lab(name, arguments.seed, transport=arguments.transport, progress=seen, **given)


def circumstances(report: Report, transport: str, elapsed: float) -> dict[str, Any]:
    """What ``run.json`` says: how long it took, where, and with what. None of it is evidence."""
    import platform
    from datetime import UTC, datetime

    from ai_evolution import __version__
    from ai_evolution.cli.doctor import installed

    return {
        "schema": "ai-evolution/run/1",
        "kind": report.kind,
        "digest": report.digest,
        "transport": transport,
        "ended": datetime.now(UTC).replace(microsecond=0).isoformat(),
        "elapsed_seconds": round(elapsed, 3),
        "measurements": report.measurements,
        "environment": {
            "engine": __version__,
            "python": platform.python_version(),
            "implementation": platform.python_implementation(),
            "system": platform.platform(),
            "machine": platform.machine(),
            "packages": installed(),
        },
    }


def note_progress(screen: Screen, record: Callable[[Progress], None]) -> None:
    """Write something into the student's diary. Where that fails, one line says so, and no more."""
    from ai_evolution.errors import AiEvolutionError
    from ai_evolution.progress import Progress

    try:
        record(Progress(complain=screen.note))
    except AiEvolutionError as error:
        screen.note(str(error))


def _target(screen: Screen, out: str) -> Path:
    """Where the evidence goes; ``UsageError`` before anything has run when it can't go there."""
    import os
    from pathlib import Path

    path = Path(out)
    target = path / "evidence.json" if path.is_dir() or out.endswith(("/", os.sep)) else path
    if not target.parent.is_dir():
        raise UsageError(screen.text(NO_FOLDER, path=out, folder=target.parent))
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise UsageError(screen.text(NO_WRITING, folder=target.parent))
    return target


# ---------------------------------------------------------------------------------- verify

RECOMPUTING = {"en": "recomputing {name} (seed {seed})", "es": "recalculando {name} (semilla {seed})"}
OTHER_ENGINE = {
    "en": "{name}: made by engine {theirs}, and this is {ours}: it can be recomputed only by {theirs} "
    "(its digest is right for what it says)",
    "es": "{name}: la hizo el motor {theirs} y este es el {ours}: solo {theirs} puede recalcularla "
    "(su resumen criptográfico concuerda con lo que dice)",
}
HOLDS = {
    "en": "{name}: {says}; {n} of {n} claims hold ({digest})",
    "es": "{name}: {says}; se cumplen {n} de {n} afirmaciones ({digest})",
}
MORE = {"en": " (and {n} more places differ)", "es": " (y difieren otros {n} lugares)"}


def verify_arguments(parser: Parser) -> None:
    """The arguments of ``verify``."""
    parser.argument("file", HELP["file"], metavar={"en": "FILE", "es": "ARCHIVO"}[parser.lang])
    parser.option("--json", text=HELP["--json-answer"], action="store_true")


def verify(arguments: argparse.Namespace, screen: Screen) -> int:
    """Recompute an evidence file: 0 the same and all holds, 1 not so, 2 it can't be judged."""
    from ai_evolution import __version__
    from ai_evolution.evidence import Report, digest_of, parse_document, read_document
    from ai_evolution.labs import verify as recompute

    name = "-" if arguments.file == "-" else arguments.file
    raw = sys.stdin.buffer.read(MOST + 1) if name == "-" else b""
    document = parse_document(raw, "standard input") if name == "-" else read_document(name)
    report = Report.from_document(document, name)
    if document["engine"] != __version__ and digest_of(document) == document["digest"]:
        screen.note(OTHER_ENGINE, name=name, theirs=document["engine"], ours=__version__)
        return 2
    quiet(arguments.debug)
    with Waiting(screen, screen.text(RECOMPUTING, name=report.kind, seed=report.seed)):
        outcome = recompute(document)
    if arguments.json:
        screen.json(
            {
                "file": name,
                "holds": outcome.holds,
                "same": outcome.same,
                "pointer": outcome.pointer or None,
                "given": outcome.given,
                "computed": outcome.computed,
                "differences": outcome.count,
                "failing": list(outcome.failing),
                "digest": report.digest,
            }
        )
    elif outcome.holds:
        says = outcome.says(screen.lang)
        screen.line(HOLDS, name=name, says=says, n=len(report.evidence), digest=report.digest)
    else:
        more = screen.text(MORE, n=outcome.count - 1) if outcome.count > 1 else ""
        screen.line(f"{name}: {outcome.says(screen.lang)}{more}")
    note_progress(
        screen,
        lambda diary: diary.record_verify(report.kind, report.class_, report.digest, outcome.holds),
    )
    return 0 if outcome.holds else 1
