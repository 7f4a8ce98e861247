"""``doctor``: does this machine have what the labs need? Each answer is tried, not looked up.

A sentence per question says what holds and, where something does not, what to do about it.
"""

from __future__ import annotations

import sys

from ai_evolution.cli.parser import Parser

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from packaging.requirements import Requirement

    from ai_evolution.cli.show import Screen

PROJECT = "ai-evolution"
ROOM = 200 * 1024 * 1024
"""Bytes of free disk below which a lab's store or a package cannot be counted on."""

CHILD_DEADLINE = 10.0
NEEDED, OPTIONAL = True, False

Answer = tuple[bool, bool, str]
"""Whether it is needed, whether it holds, and the sentence that says so."""

COURSE = "python3 scripts/course.py lab 134"

SAYS = {
    "python": {"en": "Python {version} ({where})", "es": "Python {version} ({where})"},
    "python.old": {
        "en": "Python {version} is too old: 3.11 or later is needed",
        "es": "Python {version} es demasiado antiguo: hace falta 3.11 o posterior",
    },
    "packages": {
        "en": "{n} packages are here, in the versions that the course asks for",
        "es": "están los {n} paquetes, en las versiones que pide el curso",
    },
    "package.missing": {
        "en": "{name} is not installed, and {wanted} is needed; {course} installs it",
        "es": "falta {name}, y se necesita {wanted}; {course} lo instala",
    },
    "package.other": {
        "en": "{name} is {found}, and {wanted} is needed; {course} installs it",
        "es": "{name} está en la versión {found} y se necesita {wanted}; {course} la instala",
    },
    "unlisted": {
        "en": "the package is run from its source, not installed: its versions cannot be compared",
        "es": "el paquete se ejecuta desde su código, sin instalar: no se pueden comparar versiones",
    },
    "extra": {"en": "extra [{name}] is complete", "es": "el extra [{name}] está completo"},
    "extra.missing": {
        "en": "extra [{name}] is not complete ({missing} missing); only {use} need it",
        "es": "el extra [{name}] no está completo (falta {missing}); solo lo necesitan {use}",
    },
    "loopback": {
        "en": "loopback sockets carry bytes (127.0.0.1)",
        "es": "los sockets locales transportan bytes (127.0.0.1)",
    },
    "loopback.no": {
        "en": "loopback sockets do not work ({why}): --transport http, check and a2a will fail",
        "es": "los sockets locales no funcionan ({why}): fallarán --transport http, check y a2a",
    },
    "child": {
        "en": "a child process can be started, killed and reaped",
        "es": "se puede lanzar, matar y recoger un proceso hijo",
    },
    "child.no": {
        "en": "no child process could be started, killed and reaped ({why}): check and grade will fail",
        "es": "no se pudo lanzar, matar y recoger un proceso hijo ({why}): fallarán check y grade",
    },
    "signing": {
        "en": "a card signed twice has the same signature",
        "es": "una tarjeta firmada dos veces lleva la misma firma",
    },
    "signing.no": {
        "en": "cards cannot be signed the same way twice (cryptography lacks OpenSSL 3.2): "
        "labs that sign cards cannot run",
        "es": "no se puede firmar dos veces igual una tarjeta (a cryptography le falta OpenSSL 3.2): "
        "los laboratorios que firman no pueden ejecutarse",
    },
    "disk": {"en": "{free} MB are free in {where}", "es": "hay {free} MB libres en {where}"},
    "disk.full": {
        "en": "only {free} MB are free in {where}; {room} are wanted",
        "es": "solo hay {free} MB libres en {where}; hacen falta {room}",
    },
    "disk.closed": {
        "en": "{where} cannot be written to ({why}); name another folder with --out",
        "es": "no se puede escribir en {where} ({why}); indica otra carpeta con --out",
    },
    "diary": {"en": "progress is kept in {where}", "es": "el progreso se guarda en {where}"},
    "diary.no": {
        "en": "progress cannot be kept in {where} ({why}); AI_EVOLUTION_HOME names another folder",
        "es": "el progreso no se puede guardar en {where} ({why}); AI_EVOLUTION_HOME indica otra carpeta",
    },
    "letters": {
        "en": "output is {encoding}: every sign can be shown",
        "es": "la salida es {encoding}: se puede mostrar cualquier signo",
    },
    "letters.few": {
        "en": "output is {encoding}: some signs are shown in plain letters; with PYTHONUTF8=1 all are",
        "es": "la salida es {encoding}: algunos signos se muestran con letras simples; "
        "con PYTHONUTF8=1 se ven todos",
    },
    "language": {
        "en": "messages are in English (--lang es for Spanish)",
        "es": "los mensajes están en español (--lang en para inglés)",
    },
    "all": {
        "en": "This machine has what the labs need.",
        "es": "Esta máquina tiene lo que piden los laboratorios.",
    },
    "some": {
        "en": "Missing here, and needed by the labs: {n}.",
        "es": "Falta aquí, y lo piden los laboratorios: {n}.",
    },
}

EXTRAS = {
    "notebooks": {"en": "the notebooks", "es": "los cuadernos"},
    "live": {"en": "the live extensions", "es": "las extensiones en vivo"},
    "dev": {"en": "the tests", "es": "las pruebas"},
}


def arguments(parser: Parser) -> None:
    """``doctor`` takes nothing of its own."""


def doctor(_: argparse.Namespace, screen: Screen) -> int:
    """One line per answer: 0 when everything needed holds, 1 otherwise."""
    lacking = 0
    for needed, holds, says in examine(screen):
        lacking += needed and not holds
        screen.line(f"{screen.mark(holds if needed or holds else None)}  {says}")
        screen.out.flush()
    screen.line("")
    screen.line(SAYS["some"] if lacking else SAYS["all"], n=lacking)
    return 1 if lacking else 0


def examine(screen: Screen) -> Iterator[Answer]:
    """Every answer about this machine, each one tried when it is asked for."""

    def say(key: str, **values: object) -> str:
        return screen.text(SAYS[key], **values)

    version = ".".join(map(str, sys.version_info[:3]))
    new = sys.version_info >= (3, 11)
    yield NEEDED, new, say("python" if new else "python.old", version=version, where=sys.executable)
    yield from _packages(screen)
    why = _loopback()
    yield NEEDED, not why, say("loopback.no" if why else "loopback", why=why)
    why = _child()
    yield NEEDED, not why, say("child.no" if why else "child", why=why)
    fault = _signing()
    if fault is not None:  # None: the packages above are missing, and say so
        yield NEEDED, not fault, say("signing.no" if fault else "signing")
    yield _disk(screen)
    yield _diary(screen)
    encoding = getattr(screen.out, "encoding", None) or "utf-8"
    yield OPTIONAL, screen.unicode, say("letters" if screen.unicode else "letters.few", encoding=encoding)
    yield OPTIONAL, True, say("language")


# -------------------------------------------------------------------------------- packages


def requirements() -> dict[str, list[Requirement]]:
    """What ``pyproject.toml`` asks for on this machine, under each extra; the core is under ``""``.

    Empty when the package is not installed (it is run from its source).
    """
    from importlib.metadata import PackageNotFoundError, metadata

    from packaging.requirements import Requirement

    try:
        told = metadata(PROJECT)
    except PackageNotFoundError:
        return {}
    asked = [Requirement(line) for line in told.get_all("Requires-Dist") or []]
    found: dict[str, list[Requirement]] = {"": []}
    for extra in ["", *(told.get_all("Provides-Extra") or [])]:
        core = {str(one) for one in found[""]}
        applies = [one for one in asked if one.marker is None or one.marker.evaluate({"extra": extra})]
        found[extra] = [one for one in applies if str(one) not in core]
    return found


def installed() -> dict[str, str]:
    """The versions of the core packages on this machine, by name; an absent one is left out."""
    from importlib.metadata import PackageNotFoundError, version

    found = {}
    for one in requirements().get("", []):
        try:
            found[one.name] = version(one.name)
        except PackageNotFoundError:
            continue
    return dict(sorted(found.items()))


def _packages(screen: Screen) -> Iterator[Answer]:
    known = requirements()
    if not known:
        yield OPTIONAL, False, screen.text(SAYS["unlisted"])
        return
    wrong = [says for one in known[""] if (says := _lacks(one, screen))]
    if wrong:
        yield from ((NEEDED, False, says) for says in wrong)
    else:
        yield NEEDED, True, screen.text(SAYS["packages"], n=len(known[""]))
    for extra, asked in known.items():
        if not extra:
            continue
        missing = ", ".join(one.name for one in asked if _lacks(one, screen))
        use = EXTRAS.get(extra, {screen.lang: extra})[screen.lang]
        key = "extra.missing" if missing else "extra"
        yield OPTIONAL, not missing, screen.text(SAYS[key], name=extra, missing=missing, use=use)


def _lacks(one: Requirement, screen: Screen) -> str:
    """What is wrong with one package, or nothing."""
    from importlib.metadata import PackageNotFoundError, version

    wanted = f"{one.name}{one.specifier}"
    try:
        found = version(one.name)
    except PackageNotFoundError:
        return screen.text(SAYS["package.missing"], course=COURSE, name=one.name, wanted=wanted)
    if one.specifier.contains(found, prereleases=True):
        return ""
    return screen.text(SAYS["package.other"], course=COURSE, name=one.name, found=found, wanted=wanted)


# ------------------------------------------------------------------------------ the machine


def _loopback() -> str:
    """Why bytes do not pass over a loopback socket, or nothing."""
    import socket

    try:
        with socket.create_server(("127.0.0.1", 0)) as server:
            server.settimeout(CHILD_DEADLINE)
            with socket.create_connection(server.getsockname(), timeout=CHILD_DEADLINE) as client:
                there, _ = server.accept()
                with there:
                    there.settimeout(CHILD_DEADLINE)
                    client.sendall(b"ping")
                    return "" if there.recv(4) == b"ping" else "other bytes arrived"
    except OSError as error:
        return error.strerror or str(error)


def _child() -> str:
    """Why a child process cannot be started, killed and reaped, or nothing."""
    import subprocess

    program = "import sys, time; sys.stdout.write('ready'); sys.stdout.flush(); time.sleep(600)"
    try:
        with subprocess.Popen([sys.executable, "-I", "-c", program], stdout=subprocess.PIPE) as child:
            try:
                ready = child.stdout.read(5) if child.stdout else b""
            finally:
                child.kill()
                ended = child.wait(CHILD_DEADLINE)
        return "" if ready == b"ready" and ended != 0 else f"it said {ready!r} and ended with {ended}"
    except (OSError, subprocess.SubprocessError) as error:
        return str(error)


def _signing() -> str | None:
    """Why a card cannot be signed the same way twice, or nothing; None when it cannot be tried."""
    try:
        from ai_evolution.a2a.signatures import signing_fault
    except ImportError:
        return None
    return signing_fault()


def _disk(screen: Screen) -> Answer:
    import shutil
    import tempfile
    from pathlib import Path

    where = Path.cwd()
    try:
        with tempfile.TemporaryFile(dir=where) as file:
            file.write(b"x")
        free = shutil.disk_usage(where).free
    except OSError as error:
        return NEEDED, False, screen.text(SAYS["disk.closed"], where=where, why=error.strerror or error)
    enough = free >= ROOM
    values = {"free": free // 2**20, "where": where, "room": ROOM // 2**20}
    return NEEDED, enough, screen.text(SAYS["disk" if enough else "disk.full"], **values)


def _diary(screen: Screen) -> Answer:
    import tempfile

    from ai_evolution.progress import home

    where = home()
    try:
        where.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=where) as file:
            file.write(b"x")
    except OSError as error:
        why = error.strerror or error
        return OPTIONAL, False, screen.text(SAYS["diary.no"], where=where, why=why)
    return OPTIONAL, True, screen.text(SAYS["diary"], where=where)
