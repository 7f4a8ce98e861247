"""Which promises hold on this machine: each rung is tried for real, with programs that mean no good.

A promise is judged from the outside wherever it can be: by the listener that nobody must reach, the file
that must not appear, the secret that must not come back. What a program says about itself counts only
against the sandbox, never for it. A rung that doesn't start is reported as it is, with what would help;
nothing here goes on to another rung in its place.

What is tried stays small (no packet leaves the machine, no file outside a temporary folder is written,
children sleep a few seconds), for a rung that keeps no promise must survive it too.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import socket
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ai_evolution.errors import SandboxUnavailable
from ai_evolution.ptc.limits import Limits
from ai_evolution.ptc.sandbox import PROMISES, SANDBOXES, Answer, Call, Outcome, Sandbox, pick

LIMITS = Limits(seconds=20, memory=134_217_728, processes=16, files=1_048_576)
LOOP_SECONDS = 1.0
PATIENCE = 10.0  # seconds past its deadline in which an endless loop must be gone
FORKS = 64


@dataclass(frozen=True, slots=True)
class Verdict:
    """One probe: does the ``promise`` hold, and what was seen."""

    probe: str
    promise: str
    holds: bool
    seen: str
    tried: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """A rung on this machine. ``why`` and ``help`` say what is missing when it isn't ``usable``."""

    sandbox: str
    usable: bool
    why: str = ""
    help: str = ""
    claims: Mapping[str, bool] | None = None
    verdicts: tuple[Verdict, ...] = ()

    @property
    def promises(self) -> dict[str, bool]:
        """Promise -> does it hold here: when every probe of it says so."""
        return {
            promise: bool(of) and all(verdict.holds for verdict in of)
            for promise in PROMISES
            if (of := [verdict for verdict in self.verdicts if verdict.promise == promise]) or True
        }

    @property
    def broken(self) -> list[str]:
        """What the rung is built to keep, and doesn't keep here."""
        return [name for name, holds in self.promises.items() if (self.claims or {}).get(name) and not holds]

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "sandbox": self.sandbox,
            "usable": self.usable,
            "why": self.why,
            "help": self.help,
            "claims": dict(self.claims or {}),
            "promises": self.promises if self.usable else {},
            "verdicts": [
                {
                    "probe": v.probe,
                    "promise": v.promise,
                    "holds": v.holds,
                    "seen": v.seen,
                    "tried": dict(v.tried),
                }
                for v in self.verdicts
            ],
        }


@dataclass(frozen=True, slots=True)
class Probe:
    """``judge`` runs programs through ``run`` and says whether the promise held, and what was seen."""

    id: str
    promise: str
    tried: Mapping[str, str]
    judge: Callable[[Run], Awaitable[tuple[bool, str]]]


Run = Callable[..., Awaitable[Outcome]]


async def diagnose(names: Sequence[str] | None = None) -> list[Diagnosis]:
    """Every rung of that name (default: the whole ladder), one after the other. UsageError: no such rung."""
    return [await examine(pick(name)) for name in (SANDBOXES if names is None else names)]


async def examine(sandbox: Sandbox, only: Sequence[str] | None = None) -> Diagnosis:
    """Try one sandbox with every probe (or those of these ids)."""
    verdicts = []
    try:
        session = await sandbox.open((), LIMITS)
        await session.close()
        for probe in PROBES:
            if only is None or probe.id in only:
                holds, seen = await probe.judge(_runner(sandbox))
                verdicts.append(Verdict(probe.id, probe.promise, holds, seen, probe.tried))
    except SandboxUnavailable as error:
        return Diagnosis(sandbox.name, False, str(error), error.help, dict(sandbox.isolation))
    return Diagnosis(sandbox.name, True, "", "", dict(sandbox.isolation), tuple(verdicts))


def _runner(sandbox: Sandbox) -> Run:
    async def run(code: str, limits: Limits = LIMITS) -> Outcome:
        async with await sandbox.open((), limits) as session:
            return await session.run(code, _no_tools)

    return run


async def _no_tools(call: Call) -> Answer:
    return Answer(error={"type": "UnknownTool", "message": f"no tool is called {call.tool!r}"})


# --- probes --------------------------------------------------------------------------------------


async def _network(run: Run) -> tuple[bool, str]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        port = listener.getsockname()[1]
        outcome = await run(_NETWORK.format(port=port))
        with contextlib.suppress(BlockingIOError):
            listener.accept()[0].close()
            return False, "it connected to a port of this machine"
    if "routed" in outcome.output:
        return False, "it has a route to other machines"
    return "connected" not in outcome.output, _said(outcome)


_NETWORK = """
import socket
try:
    socket.create_connection(("127.0.0.1", {port}), 2).close()
    print("connected")
except OSError as error:
    print(type(error).__name__)
try:
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).connect(("192.0.2.1", 9))
    print("routed")
except OSError as error:
    print(type(error).__name__)
"""


async def _write(run: Run) -> tuple[bool, str]:
    with _folder() as folder:
        outcome = await run(f"open({str(folder / 'written')!r}, 'w').write('x')")
        if (folder / "written").exists():
            return False, "it wrote a file of this machine"
    return True, _said(outcome)


async def _read(run: Run) -> tuple[bool, str]:
    secret = secrets.token_hex(16)
    with _folder() as folder:
        file = folder / "secret"
        file.write_text(secret, encoding="utf-8")
        file.chmod(0o644)
        outcome = await run(f"print(open({str(file)!r}).read())")
    if secret in outcome.output:
        return False, "it read a file of this machine"
    return True, _said(outcome)


async def _disk(run: Run) -> tuple[bool, str]:
    outcome = await run(_DISK.format(size=LIMITS.files))
    if "filled" in outcome.output:
        return False, f"it wrote over {LIMITS.files} bytes of temporary files"
    return True, _said(outcome)


_DISK = """
import os
written = 0
for folder in ("/tmp", "/dev", "/dev/shm", "/", "/var/tmp"):
    for number in range(8):
        name = f"{{folder}}/probe-{{os.getpid()}}-{{number}}"
        try:
            with open(name, "wb") as file:
                for _ in range(64):
                    written += file.write(bytes({size} // 64))
                    file.flush()
        except OSError:
            pass
if written > 2 * {size}:
    print("filled")
for folder in ("/tmp", "/dev", "/dev/shm", "/", "/var/tmp"):
    for number in range(8):
        try:
            os.unlink(f"{{folder}}/probe-{{os.getpid()}}-{{number}}")
        except OSError:
            pass
"""


async def _forks(run: Run) -> tuple[bool, str]:
    outcome = await run(_FORKS.format(forks=FORKS))
    born = outcome.output.count("born")
    if born >= FORKS:
        return False, f"it started {born} processes, as many as it wanted"
    return born <= LIMITS.processes, f"{born} processes, then: {_said(outcome, last=True)}"


_FORKS = """
import os, time
for _ in range({forks}):
    try:
        child = os.fork()
    except OSError as error:
        print(type(error).__name__)
        break
    if child == 0:
        time.sleep(5)
        os._exit(0)
    print("born")
"""


async def _memory(run: Run) -> tuple[bool, str]:
    outcome = await run(f"held = 'x' * {4 * LIMITS.memory}\nprint('got', len(held))")
    if "got" in outcome.output:
        return False, f"it got {4 * LIMITS.memory} bytes"
    return True, _said(outcome)


async def _loop(run: Run) -> tuple[bool, str]:
    limits = Limits(
        seconds=LOOP_SECONDS, memory=LIMITS.memory, processes=LIMITS.processes, files=LIMITS.files
    )
    began = time.monotonic()
    try:
        async with asyncio.timeout(LOOP_SECONDS + 2 * PATIENCE):
            outcome = await run(
                "while True:\n    try:\n        while True: pass\n    except BaseException: pass", limits
            )
    except TimeoutError:
        return False, "it ran on"
    late = time.monotonic() - began > LOOP_SECONDS + PATIENCE
    return outcome.ended == "timeout" and not late, _said(outcome)


def _said(outcome: Outcome, last: bool = False) -> str:
    """What a program came to, in one line."""
    if outcome.error is not None and not last:
        return f"{outcome.error.type}: {outcome.error.message}"[:200]
    lines = outcome.output.split() or [outcome.ended]
    if outcome.error is not None and outcome.ended != "error":
        lines.append(outcome.error.type)
    return (lines[-1] if last else " ".join(lines))[:200]


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    """A folder in which everybody on this machine may write."""
    with tempfile.TemporaryDirectory(prefix="ai-evolution-doctor-") as name:
        folder = Path(name)
        folder.chmod(0o777)
        yield folder


PROBES: tuple[Probe, ...] = (
    Probe(
        "network",
        "network",
        {
            "en": "reach a port of this machine, find a route",
            "es": "llegar a un puerto de esta máquina, hallar una ruta",
        },
        _network,
    ),
    Probe(
        "write",
        "files",
        {"en": "write into a folder that is open to all", "es": "escribir en una carpeta abierta a todos"},
        _write,
    ),
    Probe(
        "read",
        "files",
        {"en": "read a foreign file that is open to all", "es": "leer un archivo ajeno abierto a todos"},
        _read,
    ),
    Probe("disk", "files", {"en": "fill the temporary files", "es": "llenar los archivos temporales"}, _disk),
    Probe(
        "forks",
        "processes",
        {"en": "start process after process", "es": "lanzar un proceso tras otro"},
        _forks,
    ),
    Probe(
        "memory",
        "memory",
        {"en": "take four times its memory", "es": "tomar cuatro veces su memoria"},
        _memory,
    ),
    Probe(
        "loop",
        "time",
        {"en": "loop, and catch every exception", "es": "repetir sin fin y atrapar toda excepción"},
        _loop,
    ),
)
