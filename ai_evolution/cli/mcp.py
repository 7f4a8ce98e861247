"""One group of commands for MCP: ``serve`` the course, ``describe`` a live server, judge one.

A server that is described is started or spoken to, and nothing else: none of its tools is called. It gets a
minimal environment, never the variables of this process (``--env`` adds some). What it says is shown with
every character that could steer a terminal taken out.
"""

from __future__ import annotations

from ai_evolution.cli.parser import Command, Parser, choice, whole
from ai_evolution.cli.show import Waiting, near, printable, quiet
from ai_evolution.errors import EnvironmentProblem, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from pathlib import Path
    from typing import Any

    from ai_evolution.cli.parser import Arguments, Call
    from ai_evolution.cli.show import Screen
    from ai_evolution.mcp.describe import Described

FOLDER = {"en": "FOLDER", "es": "CARPETA"}

# ------------------------------------------------------------------------------------ mcp serve

SERVE = {
    "--http": {"en": "over streamable HTTP instead of the standard streams",
               "es": "por HTTP (streamable) en vez de los flujos estándar"},
    "--port": {"en": "with --http: the port (default: any that is free)",
               "es": "con --http: el puerto (por defecto, uno libre)"},
    "--host": {"en": "with --http: where to listen (default: 127.0.0.1; elsewhere without check_exercise)",
               "es": "con --http: dónde escuchar (por defecto, 127.0.0.1; en otro, sin check_exercise)"},
    "--allow-host": {"en": "with --http: a name that clients may call this machine by; may be repeated",
                     "es": "con --http: un nombre con el que llamar a esta máquina; se puede repetir"},
    "--root": {"en": "the folder that is served, and nothing else (default: the repository around here)",
               "es": "la carpeta que se sirve, y nada fuera de ella (por defecto, el repositorio de aquí)"},
    "--seed": {"en": "other expenses: a whole number from 0 (default: 0)",
               "es": "otros gastos: un número entero desde 0 (por defecto, 0)"},
    "--no-programs": {"en": "without check_exercise, which starts a program of the student",
                      "es": "sin check_exercise, que inicia un programa del estudiante"},
    "--fixtures": {"en": "what the official conformance suite asks for, in place of the course",
                   "es": "lo que pide la batería oficial de conformidad, en lugar del curso"},
}  # fmt: skip
ONLY_HTTP = {
    "en": "{name} belongs to --http, which was not given",
    "es": "{name} va con --http, que no se dio",
}
TAKEN = {
    "en": "{host}:{port} cannot be had ({why}); leave out --port for any that is free",
    "es": "no se puede usar {host}:{port} ({why}); sin --port se toma uno libre",
}
TOLD = {
    "en": """{name} listens at {url} (MCP, streamable HTTP). End it with Ctrl-C.

Its tools:  ai-evolution mcp describe {url}
From the outside: ai-evolution mcp conformance --server {url}
""",
    "es": """{name} escucha en {url} (MCP, HTTP). Termínalo con Ctrl-C.

Sus herramientas: ai-evolution mcp describe {url}
Desde fuera: ai-evolution mcp conformance --server {url}
""",
}
OPEN = {
    "en": "{host} is not loopback: whoever reaches it may read {root} and run labs; there is no password",
    "es": "{host} no es local: quien llegue puede leer {root} y ejecutar laboratorios; no hay contraseña",
}
AT_TERMINAL = {
    "en": "an MCP server on the standard streams: an MCP client is meant to start it (--http is for people)",
    "es": "un servidor MCP en los flujos estándar: debe iniciarlo un cliente MCP (--http es para personas)",
}
ENDED = {"en": "the server is closed", "es": "el servidor se ha cerrado"}


def serve_arguments(parser: Parser) -> None:
    """The arguments of ``mcp serve``."""
    lang = parser.lang
    parser.option("--http", text=SERVE["--http"], action="store_true")
    parser.option("--port", text=SERVE["--port"], type=whole("--port", lang, 0, 65535), metavar="N")
    parser.option("--host", text=SERVE["--host"], metavar="HOST")
    parser.option(
        "--allow-host",
        text=SERVE["--allow-host"],
        action="append",
        metavar={"en": "NAME", "es": "NOMBRE"}[lang],
    )
    parser.option("--root", text=SERVE["--root"], metavar=FOLDER[lang])
    parser.option("--seed", text=SERVE["--seed"], type=whole("--seed", lang), default=0, metavar="N")
    parser.option("--no-programs", text=SERVE["--no-programs"], action="store_true")
    parser.option("--fixtures", text=SERVE["--fixtures"], action="store_true")


def serve(given: argparse.Namespace, screen: Screen) -> int:
    """Serve until the client goes (or, over HTTP, until interrupted), then end in order with 0."""
    import asyncio

    if not given.http:
        for name in ("port", "host", "allow_host"):
            if getattr(given, name) is not None:
                raise UsageError(screen.text(ONLY_HTTP, name=f"--{name.replace('_', '-')}"))
    quiet(given.debug)
    try:
        asyncio.run(_serve_http(given, screen) if given.http else _serve_streams(given, screen))
    except KeyboardInterrupt:
        screen.note(ENDED)
    return 0


def _server(given: argparse.Namespace, screen: Screen, *, programs: bool) -> Any:
    if given.fixtures:
        from ai_evolution.mcp.fixtures import fixture_server

        return fixture_server()
    from ai_evolution.tutor import course_server

    return course_server(_root(given), lang=screen.lang, seed=given.seed, programs=programs)


def _root(given: argparse.Namespace) -> Path:
    from pathlib import Path

    from ai_evolution.repository import find_root

    return Path(given.root) if given.root else find_root() or Path.cwd()


async def _serve_streams(given: argparse.Namespace, screen: Screen) -> None:
    import sys

    from ai_evolution.mcp.server import serve_streams

    server = _server(given, screen, programs=not given.no_programs)
    if sys.stdin.isatty():
        screen.note(AT_TERMINAL)
    await serve_streams(server)


async def _serve_http(given: argparse.Namespace, screen: Screen) -> None:
    import contextlib
    import ipaddress
    import socket

    from ai_evolution.mcp.server import http_app
    from ai_evolution.network import serve as listen
    from ai_evolution.network import stop_serving

    host = given.host or "127.0.0.1"
    loopback = host == "localhost"
    with contextlib.suppress(ValueError):  # a name: whoever it stands for
        loopback = loopback or ipaddress.ip_address(host).is_loopback
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((host, given.port or 0))
    except OSError as error:
        bound.close()
        why = error.strerror or error
        raise EnvironmentProblem(screen.text(TAKEN, host=host, port=given.port or 0, why=why)) from None
    shown = f"[{host}]" if ":" in host else host
    url = f"http://{shown}:{bound.getsockname()[1]}/mcp"
    made = _server(given, screen, programs=loopback and not given.no_programs)
    app = http_app(made, hosts=[shown, *(given.allow_host or ())])
    server, _, serving = await listen(app, bound=bound)
    try:
        if not loopback:
            screen.note(OPEN, host=host, root=near(_root(given)))
        screen.line(screen.text(TOLD, name=made.name, url=url))
        screen.out.flush()
        await serving
    finally:
        await stop_serving(server, serving)


# --------------------------------------------------------------------------------- mcp describe

DESCRIBE = {
    "target": {"en": "a URL, or -- and the command that starts the server",
               "es": "una URL, o -- y la orden que inicia el servidor"},
    "--form": {"en": "the form of the documents (default: atdf-2, which loses nothing)",
               "es": "la forma de los documentos (por defecto, atdf-2, que no pierde nada)"},
    "--out": {"en": "write one file for each tool there, instead of all to standard output",
              "es": "escribe ahí un archivo por herramienta, en vez de todo en la salida estándar"},
    "--env": {"en": "a variable for the server's environment, NAME=VALUE; may be repeated",
              "es": "una variable para el entorno del servidor, NOMBRE=VALOR; se puede repetir"},
    "--seconds": {"en": "seconds to wait (default: 60)", "es": "segundos de espera (por defecto, 60)"},
    "--legacy": {"en": "shake hands as up to 2025-11-25, even with a server that can do without",
                 "es": "saluda como hasta 2025-11-25, aunque el servidor pueda prescindir de ello"},
}  # fmt: skip
NO_PAIR = {
    "en": "--env {given!r} is not NAME=VALUE; for example --env MEMORY_FILE_PATH=notes.jsonl",
    "es": "--env {given!r} no tiene la forma NOMBRE=VALOR; por ejemplo --env MEMORY_FILE_PATH=notas.jsonl",
}
NO_FOLDER = {
    "en": "--out {path} is no folder; make it first, or name another",
    "es": "--out {path} no es una carpeta; créala antes o indica otra",
}
ASKING = {"en": "asking {what} for its tools", "es": "preguntando a {what} por sus herramientas"}
SERVER = {
    "en": "{name} {version} speaks {revision}; {count} tool(s)",
    "es": "{name} {version} habla {revision}; {count} herramienta(s)",
}
NAMELESS = {"en": "a server without a name", "es": "un servidor sin nombre"}
DERIVED = {
    "en": "{count} field(s) made up because {form} demands them: {names}",
    "es": "{count} campo(s) inventados porque {form} los exige: {names}",
}
LOST = {"en": "lost: {pointer} ({why})", "es": "se pierde: {pointer} ({why})"}
NOTHING_LOST = {"en": "nothing is lost in {form}", "es": "en {form} no se pierde nada"}
SAME = {
    "en": "back in MCP, every tool is the same text as before, order of keys included",
    "es": "de vuelta en MCP, cada herramienta es el mismo texto que antes, con el orden de las claves",
}
NOT_SAME = {
    "en": "back in MCP, {count} tool(s) are not the same text as before: {names}",
    "es": "de vuelta en MCP, {count} herramienta(s) no son el mismo texto que antes: {names}",
}
WRITTEN = {"en": "{count} document(s) in {out}", "es": "{count} documento(s) en {out}"}
SHOWN_LOSSES = 10
FORM_NAMES = ("atdf-1", "atdf-2", "atdf-tools", "atdf-sdk", "ardf-1", "atdf-tool")


def describe_arguments(parser: Parser) -> None:
    """The arguments of ``mcp describe``."""
    lang = parser.lang
    parser.argument(
        "target", DESCRIBE["target"], nargs="+", metavar={"en": "URL|-- COMMAND", "es": "URL|-- ORDEN"}[lang]
    )
    forms = choice("--form", FORM_NAMES, lang)
    word = {"en": "FORM", "es": "FORMA"}[lang]
    parser.option("--form", text=DESCRIBE["--form"], type=forms, default="atdf-2", metavar=word)
    parser.option("--out", text=DESCRIBE["--out"], metavar=FOLDER[lang])
    pair = {"en": "NAME=VALUE", "es": "NOMBRE=VALOR"}[lang]
    parser.option("--env", text=DESCRIBE["--env"], action="append", default=[], metavar=pair)
    parser.option(
        "--seconds",
        text=DESCRIBE["--seconds"],
        type=whole("--seconds", lang, 1, 3600),
        default=60,
        metavar="N",
    )
    parser.option("--legacy", text=DESCRIBE["--legacy"], action="store_true")


def describe(given: argparse.Namespace, screen: Screen) -> int:
    """Describe a server: 0 when the documents, converted back, are its tools again, 1 when they are not.

    The documents are on standard output, or in ``--out``; what was found out is told on standard error, or
    with ``--out`` on standard output.
    """
    import asyncio
    from pathlib import Path

    from ai_evolution.mcp.describe import describe as ask

    one = given.target[0]
    url = len(given.target) == 1 and one.startswith(("http://", "https://"))
    env = dict(_pair(each, screen) for each in given.env)
    out = Path(given.out) if given.out else None
    if out is not None and not out.is_dir():
        raise UsageError(screen.text(NO_FOLDER, path=out))
    quiet(given.debug)
    with Waiting(screen, screen.text(ASKING, what=printable(one))):
        found = asyncio.run(
            ask(
                one if url else given.target,
                deadline=float(given.seconds),
                form=given.form,
                mode="legacy" if given.legacy else "auto",
                env=env,
            )
        )
    if out is None:
        screen.json(found.documents)
    else:
        _write(found, out)
    say = screen.note if out is None else screen.line
    for line in summary(found, screen):
        say(line)
    if out is not None:
        screen.line(WRITTEN, count=len(found.items), out=near(out))
    return 0 if found.lossless else 1


def _pair(given: str, screen: Screen) -> tuple[str, str]:
    name, equals, value = given.partition("=")
    if not equals or not name:
        raise UsageError(screen.text(NO_PAIR, given=given))
    return name, value


def summary(found: Described, screen: Screen) -> list[str]:
    """What was found out about a server, in lines for a person."""
    said = found.server or {}
    name = printable(said.get("name") or screen.text(NAMELESS))[:80]
    version = printable(said.get("version", ""))[:40]
    lines = [
        " ".join(
            screen.text(
                SERVER, name=name, version=version, revision=found.revision, count=len(found.items)
            ).split()
        )
    ]
    if found.derived:
        names = sorted({"/".join(each.split("/")[2:]) for each in found.derived})
        lines.append(
            screen.text(
                DERIVED, count=len(found.derived), form=found.form, names=printable(", ".join(names))[:200]
            )
        )
    for loss in found.losses[:SHOWN_LOSSES]:
        lines.append(screen.text(LOST, pointer=printable(loss.pointer)[:120], why=printable(loss.why)[:120]))
    if len(found.losses) > SHOWN_LOSSES:
        lines.append(f"... {len(found.losses)}")
    if not found.losses:
        lines.append(screen.text(NOTHING_LOST, form=found.form))
    others = [each.name for each in found.items if not each.same]
    names_of = printable(", ".join(others))[:200]
    lines.append(screen.text(NOT_SAME, count=len(others), names=names_of) if others else screen.text(SAME))
    return lines


def _write(found: Described, out: Path) -> None:
    from ai_evolution.cli.show import json_bytes
    from ai_evolution.files import write_whole

    taken: set[str] = set()
    for item in found.items:
        name = file_name(item.name, taken)
        write_whole(out / name, json_bytes(item.document))


def file_name(tool: str, taken: set[str]) -> str:
    """A file name for a tool, whatever the server calls it: no path, no hidden file, no name twice.

    Adds what it gives to ``taken``, in which upper and lower case are the same.
    """
    plain = "".join(sign if sign.isascii() and (sign.isalnum() or sign in "_-.") else "_" for sign in tool)
    stem = plain.strip(".")[:80] or "tool"
    if stem.split(".")[0].upper() in RESERVED:
        stem = f"_{stem}"
    name, again = stem, 1
    while name.casefold() in taken:
        again += 1
        name = f"{stem}-{again}"
    taken.add(name.casefold())
    return f"{name}.json"


RESERVED = {"CON", "PRN", "AUX", "NUL", *(f"{port}{n}" for port in ("COM", "LPT") for n in range(10))}
"""Names that are no files on Windows, whatever their ending."""


# ---------------------------------------------------------------------------- the table itself


def _serve() -> tuple[Arguments, Call]:
    return serve_arguments, serve


def _describe() -> tuple[Arguments, Call]:
    return describe_arguments, describe


def _conformance() -> tuple[Arguments, Call]:
    from ai_evolution.cli import mcp_conformance

    return mcp_conformance.arguments, mcp_conformance.conformance


MCP: dict[str, Command] = {
    "serve": Command({"en": "serve the course to an MCP client: tools, pages and a tutor",
                      "es": "sirve el curso a un cliente MCP: herramientas, páginas y tutoría"}, _serve),
    "describe": Command({"en": "the tools of a live MCP server as ATDF documents, and what that loses",
                         "es": "las herramientas de un servidor MCP como documentos ATDF, y qué se pierde"},
                        _describe),
    "conformance": Command({"en": "turn the official conformance suite, and our own checks, on a server",
                            "es": "aplica la batería oficial, y nuestras comprobaciones, a un servidor"},
                           _conformance),
}  # fmt: skip
