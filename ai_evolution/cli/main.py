"""The table of commands and the two doors: ``entry`` for the shell, ``lab`` for a class's ``lab.py``.

Whatever happens inside a command leaves here as an exit code and, when it went wrong, as one line
on standard error. A traceback is shown with ``--debug`` and at no other time.
"""

from __future__ import annotations

import os
import sys

from ai_evolution.cli.parser import Command, Group, dispatch, language
from ai_evolution.cli.show import Screen
from ai_evolution.errors import AiEvolutionError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from ai_evolution.cli.parser import Arguments, Call

HOLDS, FAILS, WRONG_CALL, INTERRUPTED, CLOSED_PIPE, TERMINATED = 0, 1, 2, 130, 141, 143

SAYS = {
    "en": "Labs on how AI agents work together: run one, read its evidence, check your own agent.",
    "es": "Laboratorios sobre cómo colaboran los agentes de IA: ejecuta uno, lee su evidencia, "
    "comprueba tu propio agente.",
}
INTERRUPT = {"en": "interrupted", "es": "interrumpido"}
TERMINATE = {"en": "told to end", "es": "se ha pedido que termine"}
NOT_INSTALLED = {
    "en": "{name} is not installed; python3 scripts/course.py lab 134 installs all that is needed",
    "es": "falta {name}; python3 scripts/course.py lab 134 instala todo lo necesario",
}
UNEXPECTED = {
    "en": "unexpected {kind}: {said} (run it again with --debug to see where, and please report it)",
    "es": "{kind} inesperado: {said} (repite con --debug para ver dónde, y avísanos, por favor)",
}


def _catalog() -> tuple[Arguments, Call]:
    from ai_evolution.cli import course

    return course.catalog_arguments, course.catalog


def _run() -> tuple[Arguments, Call]:
    from ai_evolution.cli import runs

    return runs.run_arguments, runs.run


def _verify() -> tuple[Arguments, Call]:
    from ai_evolution.cli import runs

    return runs.verify_arguments, runs.verify


def _progress() -> tuple[Arguments, Call]:
    from ai_evolution.cli import course

    return course.progress_arguments, course.progress


def _validate() -> tuple[Arguments, Call]:
    from ai_evolution.cli import course

    return course.validate_arguments, course.validate


def _check() -> tuple[Arguments, Call]:
    from ai_evolution.cli import grading

    return grading.check_arguments, grading.check


def _seeds() -> tuple[Arguments, Call]:
    from ai_evolution.cli import grading

    return grading.seeds_arguments, grading.seeds


def _grade() -> tuple[Arguments, Call]:
    from ai_evolution.cli import grading

    return grading.grade_arguments, grading.grade


def _doctor() -> tuple[Arguments, Call]:
    from ai_evolution.cli import doctor

    return doctor.arguments, doctor.doctor


def _a2a() -> dict[str, Command]:
    from ai_evolution.cli import libraries

    return libraries.A2A


def _atdf() -> dict[str, Command]:
    from ai_evolution.cli import atdf

    return atdf.ATDF


def _mcp() -> dict[str, Command]:
    from ai_evolution.cli import mcp

    return mcp.MCP


COMMANDS: dict[str, Command | Group] = {
    "catalog": Command({"en": "the classes, their labs and hours",
                        "es": "las clases, sus laboratorios y sus horas"}, _catalog),
    "run": Command({"en": "run a lab and show what it found",
                    "es": "ejecuta un laboratorio y muestra lo que encontró"}, _run),
    "verify": Command({"en": "recompute an evidence file and say what differs",
                       "es": "recalcula un archivo de evidencia y dice qué difiere"}, _verify),
    "progress": Command({"en": "what you have run, verified and passed on this machine",
                         "es": "lo que has ejecutado, verificado y superado en esta máquina"}, _progress),
    "check": Command({"en": "check your exercise, behaviour by behaviour, before handing it in",
                      "es": "comprueba tu ejercicio, paso a paso, antes de entregarlo"}, _check),
    "seeds": Command({"en": "the seed of each student, for the instructor to hand out",
                      "es": "la semilla de cada estudiante, para que la reparta quien enseña"}, _seeds),
    "grade": Command({"en": "grade a folder of submissions",
                      "es": "califica una carpeta de entregas"}, _grade),
    "validate": Command({"en": "check this repository's pages, links, blocks and catalogues",
                         "es": "revisa páginas, enlaces, bloques y catálogos del repositorio"}, _validate),
    "doctor": Command({"en": "say whether this machine has what the labs need",
                       "es": "dice si esta máquina tiene lo que piden los laboratorios"}, _doctor),
    "atdf": Group({"en": "describe tools, hold them to it, compare and render them",
                   "es": "describe herramientas, exígeles lo dicho, compáralas y muéstralas"}, _atdf),
    "mcp": Group({"en": "serve the course to MCP clients, describe and judge live MCP servers",
                  "es": "sirve el curso a clientes MCP, describe y juzga servidores MCP en marcha"}, _mcp),
    "a2a": Group({"en": "look at and talk to live A2A agents",
                  "es": "examina agentes A2A en marcha y habla con ellos"}, _a2a),
}  # fmt: skip


def entry(argv: Sequence[str] | None = None) -> int:
    """Run one command line (default: the process's own). Returns the exit code, raises nothing."""
    words = list(sys.argv[1:] if argv is None else argv)
    return _guarded(words, lambda screen: dispatch("ai-evolution", COMMANDS, SAYS, words, screen))


def lab(name: str, argv: Sequence[str] | None = None) -> int:
    """What ``lab.py`` of a class does: ``ai-evolution run NAME`` with the same options.

    Its files go beside ``lab.py`` unless ``--out`` says otherwise. Returns the exit code.
    """
    words = list(sys.argv[1:] if argv is None else argv)

    def call(screen: Screen) -> int:
        from ai_evolution.cli import runs

        return runs.run_lab_file(name, words, screen)

    return _guarded(words, call)


def _guarded(words: Sequence[str], call: Callable[[Screen], int]) -> int:
    """``call`` with a screen in the right language, every way out turned into an exit code."""
    debug = "--debug" in words
    _open_streams()
    screen = Screen()
    before = _listen(debug)
    try:
        screen.lang = language(words, dict(os.environ))
        code = call(screen)
        screen.out.flush()
        return code
    except BaseException as error:
        return _failed(screen, error, debug)
    finally:
        _listen_no_more(before)


def _open_streams() -> None:
    """Give a process that was started with a closed standard stream an empty one in its place."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115


def _failed(screen: Screen, error: BaseException, debug: bool) -> int:
    error = _cause(error)
    if isinstance(error, SystemExit | BrokenPipeError) and _pipe_closed(screen, error):
        return CLOSED_PIPE
    if isinstance(error, SystemExit):
        return _left(screen, error)
    if debug:
        import traceback

        traceback.print_exception(error, file=screen.err)
    if isinstance(error, KeyboardInterrupt):
        screen.note(INTERRUPT)
        return INTERRUPTED
    if isinstance(error, AiEvolutionError):
        screen.note(str(error) or type(error).__name__)
        return error.exit_code
    if isinstance(error, ModuleNotFoundError):
        screen.note(NOT_INSTALLED, name=error.name)
        return WRONG_CALL
    if isinstance(error, OSError):
        screen.note(str(error))
        return WRONG_CALL
    screen.note(UNEXPECTED, kind=type(error).__name__, said=error)
    return WRONG_CALL


def _left(screen: Screen, leaving: SystemExit) -> int:
    if leaving.code == TERMINATED:
        screen.note(TERMINATE)
    return leaving.code if isinstance(leaving.code, int) else HOLDS if leaving.code is None else WRONG_CALL


def _cause(error: BaseException) -> BaseException:
    """What a group of one error is about (task groups wrap even a single one)."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


def _pipe_closed(screen: Screen, error: BaseException) -> bool:
    """Whether the reader of standard output has gone, as ``head`` does; then nothing more is said.

    What was not written yet is thrown away, so that the interpreter does not complain at its end. A pipe that
    broke while the screen wrote is one; when all that waited was thrown away with it, a flush sees nothing.
    """
    try:
        screen.out.flush()
        if isinstance(error, BrokenPipeError) and _while_showing(screen, error):
            raise error
    except BrokenPipeError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, screen.out.fileno())
        os.close(nowhere)
        return True
    return False


def _while_showing(screen: Screen, error: BaseException) -> bool:
    frames = error.__traceback__
    while frames is not None:
        if frames.tb_frame.f_locals.get("self") is screen:
            return True
        frames = frames.tb_next
    return False


def _listen(debug: bool) -> Any:
    """End in order when told to end; let libraries speak on standard error only with ``--debug``."""
    import signal

    if debug:
        import logging

        logging.basicConfig(level=logging.INFO, stream=sys.stderr)
    try:
        return signal.signal(signal.SIGTERM, _terminate)
    except ValueError:  # not in the main thread: whoever called us minds the signals
        return None


def _listen_no_more(before: Any) -> None:
    import signal

    if before is not None:
        signal.signal(signal.SIGTERM, before)


def _terminate(*_: object) -> None:
    raise SystemExit(TERMINATED)
