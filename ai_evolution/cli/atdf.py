"""The commands for tool descriptions: ``atdf`` and validate, detect, convert, test, lint, diff or render.

Each takes files, or ``-`` for standard input. A file that can't be read is one line on standard error and
exit code 2, and the others are still looked at. ``--json`` makes standard output JSON alone. Only
``lint --fix`` and ``convert --out`` write a file, whole or not at all; only ``test`` runs code, that of the
module it is given.
"""

from __future__ import annotations

from ai_evolution.cli.parser import Command, Parser, choice, whole
from ai_evolution.cli.show import PATIENCE, brief, printable
from ai_evolution.errors import AiEvolutionError, DocumentError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from ai_evolution.atdf.contract import Contract
    from ai_evolution.atdf.documents import Document
    from ai_evolution.cli.parser import Arguments, Call
    from ai_evolution.cli.show import Screen

FORM_NAMES = ("atdf-1", "atdf-2", "atdf-tools", "atdf-sdk", "ardf-1", "atdf-tool", "mcp")
TARGET_NAMES = (*FORM_NAMES, "openai", "anthropic")
DENSITY_NAMES = ("names", "signatures", "stripped", "full")
SEVERITY_NAMES = ("error", "warning", "note")
COUNTER_NAMES = ("cl100k_base", "estimate")

FILES = {"en": "JSON or YAML files, or - for standard input",
         "es": "archivos JSON o YAML, o - para la entrada estándar"}  # fmt: skip
FORM = {"en": "the form, when it should not be detected: " + ", ".join(FORM_NAMES),
        "es": "la forma, si no se debe detectar: " + ", ".join(FORM_NAMES)}  # fmt: skip
FORMAT = {"en": "json or yaml, when the name does not say", "es": "json o yaml, si el nombre no lo dice"}
JSON = {"en": "as JSON", "es": "en JSON"}
FILE = {"en": "FILE", "es": "ARCHIVO"}


def _files(parser: Parser) -> None:
    parser.argument("files", FILES, metavar=FILE[parser.lang], nargs="+")
    _formats(parser)


def _formats(parser: Parser) -> None:
    parser.option("--form", text=FORM, metavar="F", type=choice("--form", FORM_NAMES, parser.lang))
    parser.option(
        "--format", text=FORMAT, metavar="F", type=choice("--format", ("json", "yaml"), parser.lang)
    )
    parser.option("--json", text=JSON, action="store_true")


# ---------------------------------------------------------------------------- reading files

TWICE = {
    "en": "- stands for standard input, and there is only one; give it once",
    "es": "- es la entrada estándar, y solo hay una; ponlo una vez",
}
LOOKING = {"en": "{done} of {all} files", "es": "{done} de {all} archivos"}


class _Files:
    """The documents of a command, one after the other. ``failed`` when one could not be read."""

    def __init__(self, screen: Screen, names: Sequence[str], format: Any) -> None:
        if list(names).count("-") > 1:
            raise UsageError(screen.text(TWICE))
        self.screen, self.names, self.format = screen, names, format
        self.failed = False

    def __iter__(self) -> Iterator[tuple[str, Document]]:
        for name in _with_bar(self.screen, self.names):
            try:
                yield name, _read(name, self.format)
            except AiEvolutionError as error:
                self.refused(error)

    def refused(self, error: AiEvolutionError) -> None:
        """Say in one line what could not be read."""
        self.failed = True
        self.screen.note(str(error))

    def tried(self, name: str, work: Callable[..., Any], *given: Any, **named: Any) -> Any:
        """Return what ``work`` gives; None when the document is not what it has to be, and that is said."""
        try:
            return work(*given, **named)
        except AiEvolutionError as error:
            said = str(error)
            self.refused(DocumentError(said if said.startswith(name) else f"{name}: {said}"))
            return None


def _read(name: str, format: Any = None) -> Document:
    from ai_evolution.atdf.documents import MAX_BYTES, load, load_file

    if name != "-":
        return load_file(name, format=format)
    import sys

    return load(sys.stdin.buffer.read(MAX_BYTES + 1), "-", format=format)


def _with_bar(screen: Screen, items: Sequence[str]) -> Iterator[str]:
    """The items; a bar on standard error once they take more than ``PATIENCE`` seconds at a terminal."""
    import time

    begun, bar, task = time.monotonic(), None, None
    try:
        for done, item in enumerate(items):
            if bar is None and len(items) > 1 and screen.err.isatty() and time.monotonic() - begun > PATIENCE:
                from rich.console import Console
                from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

                columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
                bar = Progress(*columns, console=Console(file=screen.err), transient=True)
                bar.start()
                task = bar.add_task("", total=len(items))
            if bar is not None and task is not None:
                bar.update(task, completed=done, description=screen.text(LOOKING, done=done, all=len(items)))
            yield item
    finally:
        if bar is not None:
            bar.stop()


def _ended(files: _Files, bad: object) -> int:
    return 2 if files.failed else 1 if bad else 0


# ---------------------------------------------------------------------------- validate

VALID = {"en": "{name}: valid ({form}, {n} tool(s))", "es": "{name}: válido ({form}, {n} herramienta(s))"}


def validate_arguments(parser: Parser) -> None:
    """The arguments of ``atdf validate``."""
    _files(parser)


def validate(arguments: argparse.Namespace, screen: Screen) -> int:
    """What breaks each document: 0 nothing, 1 something, 2 a file could not be read."""
    from ai_evolution.atdf import shapes

    files = _Files(screen, arguments.files, arguments.format)
    told, bad = [], 0
    for name, document in files:
        form = arguments.form or shapes.detect(document).form
        problems = shapes.validate(document, form)
        bad += bool(problems)
        rows = []
        for one in problems:
            line, column = document.position(one.pointer) or (None, None)
            rows.append(
                {
                    "pointer": one.pointer,
                    "line": line,
                    "column": column,
                    "keyword": one.keyword,
                    "message": one.message,
                }
            )
            if not arguments.json:
                where = f"{one.pointer}: " if one.pointer else ""
                screen.line(printable(f"{document.locate(one.pointer)}: {where}{one.message}"))
        told.append({"file": name, "form": form, "problems": rows})
        if not problems and not arguments.json:
            count = _count(document.value, str(form))
            screen.line(screen.text(VALID, name=printable(name), form=form, n=count))
    if arguments.json:
        screen.json(told)
    return _ended(files, bad)


def _count(value: Any, form: str) -> int:
    from ai_evolution.atdf import shapes

    return sum(len(each["tools"]) if form == "atdf-tools" else 1 for _, each in shapes.tools(value, form))


# ---------------------------------------------------------------------------- detect

ALSO = {"en": "; it would also pass as {forms}", "es": "; también pasaría por {forms}"}
NO_FORM = {"en": "of no known form", "es": "de ninguna forma conocida"}


def detect_arguments(parser: Parser) -> None:
    """The arguments of ``atdf detect``."""
    parser.argument("files", FILES, metavar=FILE[parser.lang], nargs="+")
    parser.option(
        "--format", text=FORMAT, metavar="F", type=choice("--format", ("json", "yaml"), parser.lang)
    )
    parser.option("--json", text=JSON, action="store_true")


def detect(arguments: argparse.Namespace, screen: Screen) -> int:
    """Which form each document has, and why: 0 all have one, 1 not all, 2 a file could not be read."""
    from ai_evolution.atdf import shapes

    files = _Files(screen, arguments.files, arguments.format)
    told, bad = [], 0
    for name, document in files:
        found = shapes.detect(document)
        bad += found.form is None
        told.append({"file": name, "form": found.form, "why": list(found.why), "also": list(found.also)})
        if not arguments.json:
            also = screen.text(ALSO, forms=", ".join(found.also)) if found.also else ""
            screen.line(
                printable(f"{name}: {found.form or screen.text(NO_FORM)}: {' '.join(found.why)}{also}")
            )
    if arguments.json:
        screen.json(told)
    return _ended(files, bad)


# ---------------------------------------------------------------------------- convert

CONVERT = {
    "--to": {"en": "the form to convert to: " + ", ".join(TARGET_NAMES),
             "es": "la forma de destino: " + ", ".join(TARGET_NAMES)},
    "--yaml": {"en": "write YAML", "es": "escribe YAML"},
    "--out": {"en": "write it there, not to standard output", "es": "escríbelo ahí"},
    "--strict": {"en": "end with 1 when something was lost", "es": "termina con 1 si se perdió algo"},
}  # fmt: skip
LOST = {"en": "{name}: lost {pointer}: {why}", "es": "{name}: se pierde {pointer}: {why}"}
MADE = {"en": "{name}: made up {pointer}, which is no knowledge",
        "es": "{name}: se inventa {pointer}, que no es conocimiento"}  # fmt: skip
NO_TARGET = {"en": "convert needs --to; accepted: {forms}", "es": "convert necesita --to; se acepta: {forms}"}
TOLD_AT_MOST = 20
MORE = {"en": "{name}: and {n} more losses; --json lists them all",
        "es": "{name}: y otras {n} pérdidas; --json las enumera todas"}  # fmt: skip


def convert_arguments(parser: Parser) -> None:
    """The arguments of ``atdf convert``."""
    parser.argument("files", FILES, metavar=FILE[parser.lang], nargs="+")
    _formats(parser)
    parser.option("--to", text=CONVERT["--to"], metavar="F", type=choice("--to", TARGET_NAMES, parser.lang))
    parser.option("--yaml", text=CONVERT["--yaml"], action="store_true")
    parser.option("--out", text=CONVERT["--out"], metavar=FILE[parser.lang])
    parser.option("--strict", text=CONVERT["--strict"], action="store_true")


def convert(arguments: argparse.Namespace, screen: Screen) -> int:
    """Each document in another form, with what was lost: 0, or 1 with ``--strict`` and a loss, 2 unreadable.

    The converted document is the output; losses are told on standard error. Several files come out as a list.
    """
    from ai_evolution.atdf.convert import convert as converted
    from ai_evolution.atdf.documents import dumps

    if not arguments.to:
        raise UsageError(screen.text(NO_TARGET, forms=", ".join(TARGET_NAMES)))
    files = _Files(screen, arguments.files, arguments.format)
    told, lost = [], 0
    for name, document in files:
        found = files.tried(name, converted, document.value, arguments.to, source=arguments.form)
        if found is None:
            continue
        lost += len(found.losses)
        losses = [{"pointer": one.pointer, "value": one.value, "why": one.why} for one in found.losses]
        told.append(
            {"file": name, "document": found.document, "losses": losses, "derived": list(found.derived)}
        )
        for one in found.losses[:TOLD_AT_MOST]:
            screen.note(LOST, name=name, pointer=one.pointer or "/", why=one.why)
        if len(found.losses) > TOLD_AT_MOST:
            screen.note(MORE, name=name, n=len(found.losses) - TOLD_AT_MOST)
        for pointer in found.derived[:TOLD_AT_MOST]:
            screen.note(MADE, name=name, pointer=pointer)
    if told:
        documents = [one["document"] for one in told]
        value = told if arguments.json else documents if len(arguments.files) > 1 else documents[0]
        content = dumps(value, "yaml" if arguments.yaml else "json").encode("utf-8")
        if arguments.out:
            _write(arguments.out, content)
        else:
            screen.raw(content)
    return _ended(files, arguments.strict and lost)


def _write(path: str, content: bytes) -> None:
    from pathlib import Path

    from ai_evolution.files import write_whole

    if not Path(path).parent.is_dir():
        raise UsageError(
            f"{path}: the folder {Path(path).parent} does not exist; an existing folder is accepted"
        )
    write_whole(Path(path), content)


# ---------------------------------------------------------------------------- test

TEST = {
    "target": {"en": "a Python file and the contract in it; without :NAME every contract of the file",
               "es": "un archivo de Python y el contrato que contiene; sin :NOMBRE, todos"},
    "--trials": {"en": "also call it N times with arguments made from its schema",
                 "es": "llámala además N veces con argumentos hechos a partir de su esquema"},
    "--seed": {"en": "the seed of those arguments (default: 0)",
               "es": "la semilla de esos argumentos (por defecto, 0)"},
}  # fmt: skip
UNREACHED = {
    "en": "no example reaches the failure code {code}",
    "es": "ningún ejemplo llega al código de fallo {code}",
}
FAULTY = {
    "en": "the description is wrong at {pointer}: {what}",
    "es": "la descripción está mal en {pointer}: {what}",
}
TRIED = {"en": "{n} generated calls: {bad} with a fault", "es": "{n} llamadas generadas: {bad} con fallo"}
TRIAL = {"en": "{fault}: {arguments}", "es": "{fault}: {arguments}"}
NO_EXAMPLES = {"en": "no example at all: nothing was shown", "es": "ni un ejemplo: no se ha demostrado nada"}
TARGET_WORD = {"en": "FILE.py[:NAME]", "es": "ARCHIVO.py[:NOMBRE]"}
NO_CONTRACT = {"en": "{file} has no contract called {name!r}; accepted: {names}",
               "es": "{file} no tiene un contrato llamado {name!r}; se acepta: {names}"}  # fmt: skip
NO_CONTRACTS = {"en": "{file} has no contract; an ai_evolution.atdf Contract with a name is accepted",
                "es": "{file} no tiene ningún contrato; se acepta un Contract"}  # fmt: skip
NOT_LOADED = {
    "en": "{file} can't be loaded: {kind}: {said}",
    "es": "no se puede cargar {file}: {kind}: {said}",
}


def test_arguments(parser: Parser) -> None:
    """The arguments of ``atdf test``."""
    parser.argument("targets", TEST["target"], metavar=TARGET_WORD[parser.lang], nargs="+")
    parser.option(
        "--trials",
        text=TEST["--trials"],
        metavar="N",
        default=0,
        type=whole("--trials", parser.lang, 0, 100_000),
    )
    parser.option("--seed", text=TEST["--seed"], metavar="N", default=0, type=whole("--seed", parser.lang))
    parser.option("--json", text=JSON, action="store_true")


def test(arguments: argparse.Namespace, screen: Screen) -> int:
    """Run the examples of contracts: 0 all hold and reach every code, 1 not, 2 a module was not loaded."""
    import contextlib

    files = _Files(screen, (), None)
    told, bad = [], False
    for target in _with_bar(screen, arguments.targets):
        with contextlib.redirect_stdout(screen.err):  # what the module prints is not our output
            contracts = files.tried(target, _contracts, target, screen)
            rows = [_tested(one, arguments) for one in contracts or ()]
        for row in rows:
            bad = bad or not row["holds"]
            told.append({"target": target, **{key: value for key, value in row.items() if key != "results"}})
            if not arguments.json:
                _show_test(screen, target, row)
    if arguments.json:
        screen.json(told)
    return _ended(files, bad)


def _contracts(target: str, screen: Screen) -> list[Contract]:
    """The contracts that ``FILE.py[:NAME]`` names. Raises ``DocumentError`` and ``UsageError``."""
    import importlib.util
    import sys
    from pathlib import Path

    from ai_evolution.atdf.contract import Contract

    file, colon, name = target.rpartition(":")
    if not colon or "/" in name or "\\" in name or name.endswith(".py"):
        file, name = target, ""
    path = Path(file)
    if not path.is_file():
        raise DocumentError(f"{file}: no such file; a Python file is accepted")
    spec = importlib.util.spec_from_file_location(f"_atdf_test_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise DocumentError(f"{file}: a file that ends in .py is accepted")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.resolve().parent))
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except AiEvolutionError:
        raise
    except (Exception, SystemExit) as error:
        said = screen.text(NOT_LOADED, file=file, kind=type(error).__name__, said=printable(error))
        raise DocumentError(said) from error
    finally:
        sys.path.remove(str(path.resolve().parent))
    found = {key: value for key, value in vars(module).items() if isinstance(value, Contract)}
    if name and name not in found:
        raise UsageError(screen.text(NO_CONTRACT, file=file, name=name, names=", ".join(found) or "-"))
    if not found:
        raise UsageError(screen.text(NO_CONTRACTS, file=file))
    return [found[name]] if name else list(dict.fromkeys(found.values()))


def _tested(contract: Contract, arguments: argparse.Namespace) -> dict[str, Any]:
    import asyncio

    from ai_evolution.atdf import examples

    results = asyncio.run(examples.arun(contract)) if contract.is_async else examples.run(contract)
    unreached = examples.unreached_codes(contract, results)
    trials: list[Any] = []
    if arguments.trials and contract.is_async:
        trials = asyncio.run(examples.atrials(contract, arguments.trials, arguments.seed))
    elif arguments.trials:
        trials = examples.trials(contract, arguments.trials, arguments.seed)
    faults = [{"fault": one.fault, "arguments": one.arguments} for one in trials if one.fault]
    wrong = [{"pointer": one.pointer, "message": one.message} for one in contract.faults]
    return {
        "tool": contract.name,
        "holds": bool(results) and all(one.holds for one in results) and not (unreached or faults or wrong),
        "examples": [
            {"index": one.index, "holds": one.holds, "pointer": one.pointer, "says": one.says("en")}
            for one in results
        ],
        "unreached": list(unreached),
        "description": wrong,
        "trials": {"calls": len(trials), "faults": faults},
        "results": results,
    }


def _show_test(screen: Screen, target: str, row: dict[str, Any]) -> None:
    screen.line(printable(f"{target}: {row['tool']}"))
    for one in row["description"]:
        said = screen.text(FAULTY, pointer=one["pointer"], what=one["message"])
        screen.line(f"  {screen.mark(False)}  {printable(said)}")
    for one in row["results"]:
        screen.line(f"  {screen.mark(one.holds)}  {printable(one.says(screen.lang))}")
    if not row["results"]:
        screen.line(f"  {screen.mark(False)}  {screen.text(NO_EXAMPLES)}")
    for code in row["unreached"]:
        screen.line(f"  {screen.mark(False)}  {printable(screen.text(UNREACHED, code=code))}")
    trials = row["trials"]
    if trials["calls"]:
        said = screen.text(TRIED, n=trials["calls"], bad=len(trials["faults"]))
        screen.line(f"  {screen.mark(not trials['faults'])}  {said}")
        for one in trials["faults"][:5]:
            said = screen.text(TRIAL, fault=one["fault"], arguments=brief(one["arguments"]))
            screen.line(f"       {printable(said)}")


# ---------------------------------------------------------------------------- lint

LINT = {
    "--fix": {"en": "mend what can be mended without a change of meaning, in the file itself",
              "es": "corrige lo que se puede sin cambiar el significado, en el propio archivo"},
    "--sarif": {"en": "as a SARIF 2.1.0 log", "es": "como registro SARIF 2.1.0"},
    "--fail-on": {"en": "end with 1 from this severity on: note, warning (default) or error",
                  "es": "termina con 1 desde esta gravedad: note, warning (por defecto) o error"},
}  # fmt: skip
FIXED = {"en": "{name}: {pointer}: {what}", "es": "{name}: {pointer}: {what}"}
FIXABLE = {"en": " (--fix mends it)", "es": " (--fix lo corrige)"}
SUMMARY = {"en": "{error} error(s), {warning} warning(s), {note} note(s) in {tools} file(s)",
           "es": "{error} error(es), {warning} aviso(s), {note} nota(s) en {tools} archivo(s)"}  # fmt: skip
COMMENTS = {
    "en": "{name}: has comments, which a rewrite would lose; mend it by hand ({n} fix(es) wait)",
    "es": "{name}: tiene comentarios, que se perderían al reescribirlo; corrígelo a mano (quedan {n})",
}


def lint_arguments(parser: Parser) -> None:
    """The arguments of ``atdf lint``."""
    parser.argument("files", FILES, metavar=FILE[parser.lang], nargs="+")
    parser.option("--form", text=FORM, metavar="F", type=choice("--form", FORM_NAMES, parser.lang))
    parser.option(
        "--format", text=FORMAT, metavar="F", type=choice("--format", ("json", "yaml"), parser.lang)
    )
    parser.either(("--json", JSON), ("--sarif", LINT["--sarif"]))
    parser.option("--fix", text=LINT["--fix"], action="store_true")
    severity = choice("--fail-on", SEVERITY_NAMES, parser.lang)
    parser.option("--fail-on", text=LINT["--fail-on"], metavar="S", default="warning", type=severity)


def lint(arguments: argparse.Namespace, screen: Screen) -> int:
    """What could be said better: 0 nothing from ``--fail-on`` on, 1 something, 2 a file could not be read."""
    from ai_evolution import __version__
    from ai_evolution.atdf import description
    from ai_evolution.atdf.lint import exit_code, lint_documents, sarif

    files = _Files(screen, arguments.files, arguments.format)
    read: list[tuple[str, Document]] = []
    for name, document in files:
        if arguments.fix:
            document = files.tried(name, _mended, name, document, arguments.form, screen) or document
        if files.tried(name, description.read, document, arguments.form) is not None:
            read.append((name, document))
    found = lint_documents([document for _, document in read], arguments.form)
    everything = [one for findings in found for one in findings]
    if arguments.sarif:
        results = [(name, document, findings) for (name, document), findings in zip(read, found, strict=True)]
        screen.json(sarif(results, lang=screen.lang, version=__version__))
    elif arguments.json:
        pairs = zip(read, found, strict=True)
        screen.json([_told(name, document, one) for (name, document), rows in pairs for one in rows])
    else:
        for (_, document), findings in zip(read, found, strict=True):
            for one in findings:
                fixable = screen.text(FIXABLE) if one.fix else ""
                place = document.locate(one.pointer)
                screen.line(
                    printable(
                        f"{place}: {one.severity} {one.rule}: {one.tool}: {one.message[screen.lang]}{fixable}"
                    )
                )
        counts = {
            severity: sum(one.severity == severity for one in everything) for severity in SEVERITY_NAMES
        }
        screen.line(SUMMARY, **counts, tools=len(read))
    return _ended(files, exit_code(everything, arguments.fail_on))


def _told(name: str, document: Document, finding: Any) -> dict[str, Any]:
    line, column = document.position(finding.pointer) or (None, None)
    return {"file": name, "line": line, "column": column, **finding.as_dict()}


def _mended(name: str, document: Document, form: str | None, screen: Screen) -> Document:
    """The document with the safe fixes, written back into its file when there were any."""
    import re

    from ai_evolution.atdf.documents import dumps, load
    from ai_evolution.atdf.lint import fix

    fixed = fix(document, form)
    if not fixed.applied:
        return document
    if document.format == "yaml" and re.search(r"(^|\s)#", document.text, re.MULTILINE):
        raise DocumentError(screen.text(COMMENTS, name=name, n=len(fixed.applied)))
    content = dumps(fixed.document, document.format).encode("utf-8")
    if name != "-":
        _write(name, content)
    for pointer, _, what in fixed.applied:
        screen.note(FIXED, name=name, pointer=pointer, what=what)
    return load(content, name, format=document.format)


# ---------------------------------------------------------------------------- diff

DIFF = {
    "old": {"en": "the old version: a file, or -", "es": "la versión anterior: un archivo, o -"},
    "new": {"en": "the new version: a file, or -", "es": "la versión nueva: un archivo, o -"},
}  # fmt: skip
AT_LEAST = {"en": "at least {level}", "es": "al menos {level}"}
UNDECIDED = {"en": "not decided: {what}", "es": "sin decidir: {what}"}
BREAKS = {
    "call": {"en": "this call breaks: {value} ({problem})",
             "es": "esta llamada se rompe: {value} ({problem})"},
    "success": {"en": "this result is new: {value} ({problem})",
                "es": "este resultado es nuevo: {value} ({problem})"},
    "error": {"en": "this error is new: {value} ({problem})",
              "es": "este error es nuevo: {value} ({problem})"},
}  # fmt: skip
OTHER = {"en": "{value}: {problem}", "es": "{value}: {problem}"}


def diff_arguments(parser: Parser) -> None:
    """The arguments of ``atdf diff``."""
    parser.argument("old", DIFF["old"], metavar={"en": "OLD", "es": "ANTERIOR"}[parser.lang])
    parser.argument("new", DIFF["new"], metavar={"en": "NEW", "es": "NUEVA"}[parser.lang])
    _formats(parser)


def diff(arguments: argparse.Namespace, screen: Screen) -> int:
    """Patch, minor or major, tool by tool, with what breaks: 0 nothing, 1 something, 2 unreadable."""
    from ai_evolution.atdf.compatibility import diff_catalogues
    from ai_evolution.atdf.description import read

    files = _Files(screen, (arguments.old, arguments.new), arguments.format)
    sides = [files.tried(name, read, document, arguments.form) for name, document in files]
    if files.failed:
        return 2
    changes = diff_catalogues(*sides)
    if arguments.json:
        screen.json([_change(one) for one in changes])
    else:
        for one in changes:
            _show_change(screen, one)
    return int(any(one.level == "major" for one in changes))


def _change(change: Any) -> dict[str, Any]:
    reasons = [
        {
            "level": reason.level,
            "pointer": reason.pointer,
            "says": dict(reason.says),
            "example": reason.example
            and {
                "kind": reason.example.kind,
                "value": reason.example.value,
                "problem": reason.example.problem,
            },
        }
        for reason in change.reasons
    ]
    return {
        "tool": change.name,
        "level": change.level,
        "decided": change.decided,
        "reasons": reasons,
        "undecided": list(change.undecided),
    }


def _show_change(screen: Screen, change: Any) -> None:
    level = change.level if change.decided else screen.text(AT_LEAST, level=change.level)
    screen.line(printable(f"{change.name}: {level}"))
    for reason in change.reasons:
        mark = screen.mark(reason.level != "major")
        screen.line(f"  {mark}  {printable(f'{reason.level}: {reason.pointer}: {reason.says[screen.lang]}')}")
        if reason.example is not None and reason.level == "major":
            both = BREAKS.get(reason.example.kind, OTHER)
            value = brief(reason.example.value, 200)
            screen.line(f"       {printable(screen.text(both, value=value, problem=reason.example.problem))}")
    for what in change.undecided:
        screen.line(f"  {screen.mark(None)}  {printable(screen.text(UNDECIDED, what=what))}")


# ---------------------------------------------------------------------------- render

RENDER = {
    "--density": {"en": "how much of each tool: " + ", ".join(DENSITY_NAMES) + " (default: full)",
                  "es": "cuánto de cada herramienta: " + ", ".join(DENSITY_NAMES) + " (por defecto, full)"},
    "--budget": {"en": "tokens at most; tools are shortened, the last ones first",
                 "es": "tokens como máximo; se acortan las herramientas, empezando por las últimas"},
    "--counter": {"en": "who counts: cl100k_base or estimate", "es": "quién cuenta: cl100k_base o estimate"},
}  # fmt: skip
COUNTED = {"en": "{n} tokens ({counter})", "es": "{n} tokens ({counter})"}
DROPPED_LINE = {"en": "dropped: {what}", "es": "se omite: {what}"}


def render_arguments(parser: Parser) -> None:
    """The arguments of ``atdf render``."""
    _files(parser)
    density = choice("--density", DENSITY_NAMES, parser.lang)
    parser.option("--density", text=RENDER["--density"], metavar="D", default="full", type=density)
    parser.option("--budget", text=RENDER["--budget"], metavar="N", type=whole("--budget", parser.lang, 1))
    counter = choice("--counter", COUNTER_NAMES, parser.lang)
    parser.option("--counter", text=RENDER["--counter"], metavar="C", type=counter)


def render(arguments: argparse.Namespace, screen: Screen) -> int:
    """One TOOLS section for a prompt from all files: 0, or 2 and nothing when a file could not be read."""
    from ai_evolution.atdf.description import read
    from ai_evolution.atdf.render import render as rendered
    from ai_evolution.tokens import counter

    files = _Files(screen, arguments.files, arguments.format)
    tools: list[Any] = []
    for name, document in files:
        tools += files.tried(name, read, document, arguments.form) or []
    if files.failed:
        return 2
    section = rendered(
        tools, arguments.density, arguments.budget, counter(arguments.counter), lang=screen.lang
    )
    if arguments.json:
        screen.json({
            "text": section.text, "tokens": section.tokens,
            "counter": section.counter, "exact": section.exact,
            "tools": [{"name": name, "density": density} for name, density in section.densities],
            "dropped": section.dropped(screen.lang),
        })  # fmt: skip
        return 0
    screen.raw(section.text.encode("utf-8"))
    screen.note(COUNTED, n=section.tokens, counter=section.counter)
    for what in section.dropped(screen.lang):
        screen.note(DROPPED_LINE, what=what)
    return 0


# ---------------------------------------------------------------------------- the table itself


def _row(arguments: Callable[[Parser], None], call: Any) -> Callable[[], tuple[Arguments, Call]]:
    return lambda: (arguments, call)


ATDF: dict[str, Command] = {
    "validate": Command({"en": "say what breaks a description: its form, then its schemas",
                         "es": "dice qué incumple una descripción: su forma y luego sus esquemas"},
                        _row(validate_arguments, validate)),
    "detect": Command({"en": "say which form a description has, and why",
                       "es": "dice qué forma tiene una descripción, y por qué"},
                      _row(detect_arguments, detect)),
    "convert": Command({"en": "convert a description to another form, and say what was lost",
                        "es": "convierte una descripción a otra forma y dice qué se perdió"},
                       _row(convert_arguments, convert)),
    "test": Command({"en": "run the examples of a contract as tests",
                     "es": "ejecuta como pruebas los ejemplos de un contrato"}, _row(test_arguments, test)),
    "lint": Command({"en": "say what is legal in a description and unwise, and mend what is safe",
                     "es": "dice qué es legal pero poco sensato en una descripción, y corrige lo seguro"},
                    _row(lint_arguments, lint)),
    "diff": Command({"en": "say whether a new version breaks its callers, with the call that shows it",
                     "es": "dice si una versión nueva rompe a quien la llama, con la llamada que lo prueba"},
                    _row(diff_arguments, diff)),
    "render": Command({"en": "write the TOOLS section of a prompt, within a budget of tokens",
                       "es": "escribe la sección TOOLS de un prompt, dentro de un presupuesto de tokens"},
                      _row(render_arguments, render)),
}  # fmt: skip
