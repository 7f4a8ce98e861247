"""Check what a student built: start it in its own process and judge it from outside.

``check_exercise`` reads the file once, copies it into a fresh directory, starts
``ai_evolution.grading.host`` (which see for what the agent may and may not touch) and talks to the
agent over HTTP, as any client would, through ``ai_evolution.a2a.behaviours``. The verdict is made
and kept in this process. Whatever the file does, at the end nothing of it is left running, and the
outcome is a ``CheckReport``; only a file that cannot be read is an error.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import itertools
import json
import os
import queue
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import httpx

from ai_evolution.a2a.behaviours import BEHAVIOURS, Observation, Probe, Subject, applicable, examine
from ai_evolution.errors import DocumentError, UsageError

MAX_FILE = 1 << 20
MAX_OUTPUT = 64 << 10
PATIENCE = 5.0
START = 30.0
STOP = 10.0
LAST_WORDS = 1.0
MAX_WRITTEN = 64 << 20
MAX_ENTRIES = 20_000
LOOK = 0.1
LAYERS = ("network", "processes", "user", "files")

Words = Mapping[str, str]


# --- the exercises -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Exercise:
    """An exercise that a machine can check. ``probes`` draws the inputs: other seed, other amounts."""

    class_slug: str
    probes: Callable[[random.Random], Mapping[str, Any]]


EMPLOYEES = ("Ada", "Grace", "Ramón", "Katherine", "Alonzo", "Emmy")
TRIPS = {"Lisbon": 80_000, "Oslo": 150_000, "Lima": 120_000, "Kyoto": 50_000}


def _trip(employee: str, amount: Any, destination: str) -> list[Mapping[str, Any]]:
    data = {"employee": employee, "amount_cents": amount, "destination": destination}
    return [{"data": data, "mediaType": "application/json"}]


def decision_schema(amount_cents: int, rule: str) -> dict[str, Any]:
    """The JSON Schema of the artifact ``decision`` for one request."""
    return {
        "type": "object",
        "properties": {
            "approved": {"type": "boolean", "const": True},
            "amount_cents": {"type": "integer", "const": amount_cents},
            "rule": {"type": "string", "const": rule},
        },
        "required": ["approved", "amount_cents", "rule"],
        "additionalProperties": False,
    }


def _trip_probes(chance: random.Random) -> dict[str, Any]:
    who, (where, limit) = chance.choice(EMPLOYEES), chance.choice(list(TRIPS.items()))
    within, above = chance.randrange(1_000, limit), limit + chance.randrange(1, 90_000)
    approver = chance.choice(("Vera Lux", "Iñaki Sol", "Noor Haddad"))
    wrong = chance.choice((-within, 0, within + 0.5, str(within), None))
    return {
        "complete": Probe(
            _trip(who, within, where), schema=decision_schema(within, "within limit"), artifact="decision"
        ),
        "ask": Probe(
            _trip(who, above, where),
            answer=[{"text": approver}],
            schema=decision_schema(above, f"approved by {approver}"),
            artifact="decision",
        ),
        "reject": Probe(_trip(who, wrong, where)),
        "slow": Probe(_trip(who, within, "Antarctica")),
        "crash": Probe(_trip(who, within, "Atlantis")),
        "secrets": ("ledger.internal", "k-7731", "LookupError"),
    }


EXERCISES: Mapping[str, Exercise] = {"134-a2a": Exercise("134-a2a", _trip_probes)}


def find_exercise(class_number_or_slug: int | str) -> Exercise:
    """The exercise of a class, by ``134``, ``"134"`` or ``"134-a2a"``. Raises ``UsageError``."""
    wanted = str(class_number_or_slug).strip().rstrip("/").rpartition("/")[2]
    for slug, exercise in EXERCISES.items():
        if wanted in (slug, slug.partition("-")[0]):
            return exercise
    known = ", ".join(EXERCISES)
    raise UsageError(f"class {wanted!r} has no exercise that a machine can check; there is: {known}")


def exercise_behaviours(class_number_or_slug: int | str) -> tuple[str, ...]:
    """The ids of the behaviours that the exercise is checked for, in order."""
    exercise = find_exercise(class_number_or_slug)
    return applicable(_subject(exercise, "http://127.0.0.1", httpx.AsyncClient(), _tokens(), 0, PATIENCE))


def behaviour_list(class_number_or_slug: int | str, lang: str = "en") -> str:
    """The list of behaviours as Markdown, for the exercise's README (a generated block)."""
    lines = []
    for n, each in enumerate(exercise_behaviours(class_number_or_slug), 1):
        behaviour = BEHAVIOURS[each]
        lines.append(f"{n}. `{each}`: {behaviour.es if lang == 'es' else behaviour.en}")
    return "\n".join(lines) + "\n"


def _tokens() -> dict[str, str]:
    return {os.urandom(16).hex(): "alice", os.urandom(16).hex(): "bob"}


def _subject(
    exercise: Exercise,
    url: str,
    http: httpx.AsyncClient,
    tokens: Mapping[str, str],
    seed: int,
    patience: float,
) -> Subject:
    one, other = tokens
    chance = random.Random(f"{exercise.class_slug}:{seed}")
    return Subject(url, http, one, other, deadline=patience, **exercise.probes(chance))


# --- the report ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class CheckReport:
    """What was seen of one file. ``problem`` (in both languages) says why there is less to see.

    ``output`` is the end of what the agent printed, ``isolation`` what the machine offered to
    keep it apart, ``sha256`` the file that was checked.
    """

    class_slug: str
    file: str
    observations: tuple[Observation, ...] = ()
    problem: Words | None = None
    output: str = ""
    isolation: tuple[str, ...] = ()
    sha256: str = ""

    @property
    def passed(self) -> bool:
        """Whether it ran to the end and every behaviour holds."""
        return self.problem is None and bool(self.observations) and all(o.holds for o in self.observations)

    @property
    def held(self) -> int:
        return sum(o.holds for o in self.observations)

    @property
    def exit_code(self) -> int:
        """0 when passed, else 1."""
        return 0 if self.passed else 1

    def as_dict(self) -> dict[str, Any]:
        """JSON values, for machines."""
        return {
            "class": self.class_slug,
            "file": self.file,
            "sha256": self.sha256,
            "passed": self.passed,
            "held": self.held,
            "problem": dict(self.problem) if self.problem else None,
            "behaviours": [
                {**o.as_dict(), "says": {"en": BEHAVIOURS[o.id].en, "es": BEHAVIOURS[o.id].es}}
                for o in self.observations
            ],
            "isolation": list(self.isolation),
            "output": self.output,
        }

    def text(self, lang: str = "en") -> str:
        """The report in words: one line when the agent did not start, else a line per behaviour
        and, for each that does not hold, what was expected, what was seen and the exchange."""
        words = _WORDS[lang]
        if self.problem and not self.observations:
            return self.problem[lang]
        lines = [f"{'✓' if o.holds else '✗'} {o.id:<20} {_says(o.id, lang)}" for o in self.observations]
        for o in self.observations:
            if not o.holds:
                lines += _failure(o, words)
        if self.output and not self.passed:
            lines += ["", words["output"], *_indented("\n".join(self.output.splitlines()[-15:]))]
        lines += ["", _fence(self.isolation, words)]
        total = words["total"].format(held=self.held, count=len(self.observations), file=self.file)
        return "\n".join([*lines, *([self.problem[lang]] if self.problem else []), total])


_WORDS: Mapping[str, Words] = {
    "en": {
        "expected": "expected",
        "observed": "observed",
        "source": "source",
        "section": "section",
        "and": " and ",
        "request": "request",
        "response": "answer",
        "output": "The end of what your agent printed:",
        "total": "{file}: {held} of {count} behaviours hold.",
        "fence": "Your agent ran in a process of its own. Fences in force: {have}; missing here: {lack}.",
        "nothing": "none",
        "network": "no network",
        "processes": "no sight of other processes",
        "user": "another user",
        "files": "files (Landlock)",
    },
    "es": {
        "expected": "se esperaba",
        "observed": "se observó",
        "source": "fuente",
        "section": "apartado",
        "and": " y ",
        "request": "petición",
        "response": "respuesta",
        "output": "Lo último que imprimió tu agente:",
        "total": "{file}: se cumplen {held} de {count} comportamientos.",
        "fence": "Tu agente se ejecutó en un proceso propio. Barreras: {have}; ausentes aquí: {lack}.",
        "nothing": "ninguna",
        "network": "sin red",
        "processes": "sin ver otros procesos",
        "user": "otro usuario",
        "files": "archivos (Landlock)",
    },
}


def _says(behaviour_id: str, lang: str) -> str:
    behaviour = BEHAVIOURS[behaviour_id]
    return behaviour.es if lang == "es" else behaviour.en


def _fence(isolation: Iterable[str], words: Words) -> str:
    """Which layers of ``host.py`` were in force, and which were not."""
    have = set(isolation)
    named = {
        key: ", ".join(words[layer] for layer in LAYERS if (layer in have) is wanted) or words["nothing"]
        for key, wanted in (("have", True), ("lack", False))
    }
    return words["fence"].format(**named)


def _failure(o: Observation, words: Words) -> list[str]:
    shown = [(words[k], json.dumps(getattr(o, k), ensure_ascii=False)) for k in ("expected", "observed")]
    lines = ["", f"✗ {o.id}"] + [f"    {name}: {value}" for name, value in shown]
    source = BEHAVIOURS[o.id].source.replace("section", words["section"]).replace(" and ", words["and"])
    lines.append(f"    {words['source']}: {source}")
    for each in o.exchange[-3:]:
        lines += [f"    {words['request']}:", *_indented(each.request)]
        lines += [f"    {words['response']}:", *_indented(each.response)]
    return lines


def _indented(text: str) -> list[str]:
    return [f"      | {line}" for line in text.splitlines()]


_PROBLEMS: Mapping[str, Words] = {
    "syntax": {
        "en": "{file} is not Python that can be compiled: {detail}",
        "es": "{file} no es Python que se pueda compilar: {detail}",
    },
    "import": {
        "en": "{file} could not be imported: {detail}",
        "es": "{file} no se pudo importar: {detail}",
    },
    "no-build": {
        "en": "{file} defines no function build(base_url, tokens)",
        "es": "{file} no define ninguna función build(base_url, tokens)",
    },
    "build": {
        "en": "{file}: build(base_url, tokens) failed: {detail}",
        "es": "{file}: build(base_url, tokens) falló: {detail}",
    },
    "no-app": {
        "en": "{file}: build(base_url, tokens) returned a {detail} where an ASGI application was expected",
        "es": "{file}: build(base_url, tokens) devolvió un {detail} donde se esperaba una aplicación ASGI",
    },
    "not-started": {
        "en": "{file} did not start within {detail} s: does importing it, or build(), ever return?",
        "es": "{file} no arrancó en {detail} s: ¿termina alguna vez su importación, o build()?",
    },
    "ended": {
        "en": "{file}: the agent's process ended before the check did ({detail})",
        "es": "{file}: el proceso del agente terminó antes que la comprobación ({detail})",
    },
    "too-much-written": {
        "en": "{file}: the agent was ended for what it wrote into its folder ({detail}); allowed are"
        " 64 MiB in 20,000 files that can be looked at",
        "es": "{file}: se puso fin al agente por lo que escribió en su carpeta ({detail}); se admiten"
        " 64 MiB en 20 000 archivos que se puedan mirar",
    },
}


_WHYS = ("syntax", "import", "no-build", "build", "no-app")
"""What the worker may say of itself; the other problems are seen from outside."""


def _problem(kind: str, file: str, detail: Any = "") -> Words:
    text = "".join(c if c.isprintable() else "?" for c in str(detail)[:300])
    return {lang: words.format(file=file, detail=text) for lang, words in _PROBLEMS[kind].items()}


# --- the check -----------------------------------------------------------------------------------


def check_exercise(
    class_number_or_slug: int | str,
    file: str | Path,
    *,
    only: Iterable[str] | None = None,
    deadline: float = 60,
    patience: float = PATIENCE,
    seed: int = 0,
    portable: bool | None = None,
    seen: Callable[[Observation], None] = lambda _: None,
) -> CheckReport:
    """Start the agent in ``file`` in a process of its own, judge it over HTTP, end the process.

    ``only`` restricts to some behaviours, ``deadline`` is seconds for everything, ``patience``
    seconds for one behaviour, ``seed`` draws the inputs. ``portable`` starts it the plain way that
    every operating system has (the default where there is no ``fork``). ``seen`` is told each
    observation as it is made; what it raises ends the check, and the agent. Raises ``UsageError`` for an
    unknown class or behaviour and ``DocumentError`` for a file that cannot be read; never anything
    because of what the file does.
    """
    exercise = find_exercise(class_number_or_slug)
    chosen = None if only is None else list(only)
    if chosen and (unknown := [i for i in chosen if i not in BEHAVIOURS]):
        raise UsageError(f"{unknown[0]!r} is no behaviour; there are: {', '.join(BEHAVIOURS)}")
    source = _read(Path(file))
    return check_source(
        exercise,
        source,
        _shown_name(Path(file)),
        only=chosen,
        deadline=deadline,
        patience=patience,
        seed=seed,
        portable=portable,
        seen=seen,
    )


def check_source(
    exercise: Exercise,
    source: bytes,
    name: str,
    *,
    only: list[str] | None = None,
    deadline: float = 60,
    patience: float = PATIENCE,
    seed: int = 0,
    portable: bool | None = None,
    seen: Callable[[Observation], None] = lambda _: None,
) -> CheckReport:
    """The same for a source that has been read already. ``name`` is how the report calls it."""
    import hashlib

    ends = time.monotonic() + deadline
    tokens = _tokens()
    digest = hashlib.sha256(source).hexdigest()
    plain = not hasattr(os, "fork") if portable is None else portable
    with _Host(source, name, tokens, deadline, plain) as host:
        started = host.wait_until_serving(min(START, deadline))
        if started is not None:
            kind, detail = started
            return CheckReport(
                exercise.class_slug,
                name,
                (),
                _problem(kind, name, detail),
                host.output(),
                host.isolation,
                digest,
            )
        judged = _judge(exercise, host.url, tokens, only, seed, patience, ends, seen)
        observations = tuple(_run(judged))
        ended = host.ended()
        isolation = host.isolation
    problem = None if ended is None else _problem(ended[0], name, ended[1])
    return CheckReport(exercise.class_slug, name, observations, problem, host.output(), isolation, digest)


async def _judge(
    exercise: Exercise,
    url: str,
    tokens: Mapping[str, str],
    only: list[str] | None,
    seed: int,
    patience: float,
    ends: float,
    seen: Callable[[Observation], None],
) -> list[Observation]:
    async with httpx.AsyncClient(trust_env=False) as http:
        subject = _subject(exercise, url, http, tokens, seed, patience)
        return await examine(subject, only, deadline=max(0.0, ends - time.monotonic()), seen=seen)


def _run(work: Coroutine[Any, Any, list[Observation]]) -> list[Observation]:
    """Run to the end, also where an event loop is running already (a notebook)."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    found: list[list[Observation]] = []
    thread = threading.Thread(target=lambda: found.append(asyncio.run(work)), daemon=True)
    thread.start()
    thread.join()
    return found[0]


def _read(path: Path) -> bytes:
    try:
        if not path.exists():
            raise DocumentError(f"{path}: no such file; give the Python file that defines build()")
        if not path.is_file():
            raise DocumentError(f"{path} is no ordinary file; give the Python file that defines build()")
        with path.open("rb") as file:
            source = file.read(MAX_FILE + 1)
    except OSError as error:
        raise DocumentError(f"{path} cannot be read: {error.strerror or error}") from None
    if len(source) > MAX_FILE:
        raise DocumentError(f"{path} has more than {MAX_FILE} bytes; an agent needs a few thousand")
    return source


def _shown_name(path: Path) -> str:
    return "".join(c if c.isprintable() else "?" for c in path.name)[:80]


class _Host:
    """The child process, from start to the last reaped descendant. Use it with ``with``."""

    def __init__(
        self, source: bytes, name: str, tokens: Mapping[str, str], seconds: float, portable: bool
    ) -> None:
        self._source = source
        self._portable = portable
        self._tokens = dict(tokens)
        self._config = {"name": name, "seconds": int(seconds) + 5, "portable": portable}
        self._says: queue.Queue[dict[str, Any]] = queue.Queue()
        self._ended: dict[str, Any] | None = None
        self._printed = bytearray()
        self._threads: list[threading.Thread] = []
        self._process: subprocess.Popen[bytes] | None = None
        self._closing = threading.Event()
        self._excess = ""
        self.isolation: tuple[str, ...] = ()
        self.url = ""

    def __enter__(self) -> _Host:
        self._directory = Path(tempfile.mkdtemp(prefix=f"ai-evolution-check-{os.getpid()}-"))
        try:
            self._start()
        except BaseException:
            self.close()
            raise
        return self

    def _start(self) -> None:
        (self._directory / "agent").write_bytes(self._source)
        environment = {
            "PATH": os.defpath,
            "HOME": str(self._directory),
            "TMPDIR": str(self._directory),
            "LANG": "C.UTF-8",
            "PYTHONDONTWRITEBYTECODE": "1",
            "MALLOC_ARENA_MAX": "2",
        }
        kept = {k: os.environ[k] for k in ("SYSTEMROOT", "LD_LIBRARY_PATH") if k in os.environ}
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
            listener.bind(("127.0.0.1", 0))
            port = listener.getsockname()[1]
            self.url = f"http://127.0.0.1:{port}"
            config = {
                **self._config,
                "tokens": self._tokens,
                "directory": str(self._directory),
                "environment": {**environment, **kept},
                "base_url": self.url,
                "port": port,
                "listen": listener.fileno(),
            }
            if self._portable:
                listener.close()
            else:
                listener.listen(64)
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-m", "ai_evolution.grading.host"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={**environment, **kept},
                cwd=self._directory,
                pass_fds=() if self._portable else (listener.fileno(),),
                start_new_session=True,
            )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        for target, given in (
            (self._listen, (self._process.stdout,)),
            (self._drain, (self._process.stderr,)),
            (self._watch, ()),
        ):
            thread = threading.Thread(target=target, args=given, daemon=True)
            thread.start()
            self._threads.append(thread)
        with contextlib.suppress(OSError):
            self._process.stdin.write((json.dumps(config) + "\n").encode())
            self._process.stdin.flush()

    def __exit__(self, *_: object) -> None:
        self.close()

    # what comes out of it

    def _listen(self, pipe: IO[bytes]) -> None:
        """Read status lines; no more than a few, however many are written."""
        for line in _lines(pipe):
            with contextlib.suppress(ValueError, RecursionError):
                said = json.loads(line)
                if isinstance(said, dict):
                    self._says.put(said)
        self._says.put({"stage": "closed"})

    def _drain(self, pipe: IO[bytes]) -> None:
        """Keep the end of what is printed, throw the rest away, and never let the writer wait."""
        while chunk := os.read(pipe.fileno(), 65536):
            self._printed += chunk
            del self._printed[:-MAX_OUTPUT]

    def _watch(self) -> None:
        """End the agent when it has written more than it may (see ``_excess``)."""
        while not self._closing.wait(LOOK):
            if excess := _excess(self._directory):
                self._excess = excess
                self._end()
                return

    def output(self) -> str:
        """The end of what the agent printed (at most ``MAX_OUTPUT`` bytes), fit for a terminal."""
        text = bytes(self._printed).decode("utf-8", "replace").replace(str(self._directory), ".")
        for token in self._tokens:
            text = text.replace(token, "<token>")
        return "".join(c if c in "\n\t" or c.isprintable() else "?" for c in text)

    def wait_until_serving(self, seconds: float) -> tuple[str, Any] | None:
        """None when the agent serves; otherwise the kind of problem and its detail."""
        ends = time.monotonic() + seconds
        heard: tuple[str, ...] | None = None
        while (left := ends - time.monotonic()) > 0:
            try:
                said = self._says.get(timeout=left)
            except queue.Empty:
                break
            stage, why, detail = said.get("stage"), said.get("why"), said.get("detail")
            if stage == "isolated" and heard is None and isinstance(said.get("isolation"), list):
                # said before the student's file is read, so the first one is true
                self.isolation = heard = tuple(layer for layer in LAYERS if layer in said["isolation"])
            elif stage == "serving":
                return None
            elif stage == "failed" and isinstance(why, str) and why in _WHYS:
                return why, detail if isinstance(detail, str) else ""
            elif stage in ("ended", "closed"):
                self._ended = said
                return self._excess_or_end()
        return "not-started", f"{seconds:g}"

    def ended(self) -> tuple[str, str] | None:
        """The kind of problem and its detail when the agent's process ended; else None.

        What is on its way gets a moment to arrive, and no more than that, whatever else arrives.
        """
        assert self._process is not None
        ends = time.monotonic() + LAST_WORDS
        with contextlib.suppress(queue.Empty):
            while (self._ended is None or self._ended["stage"] != "ended") and time.monotonic() < ends:
                said = self._says.get(timeout=0.2)
                if said.get("stage") in ("ended", "closed"):
                    self._ended = said
        if self._excess:
            return self._excess_or_end()
        if self._ended is None or (self._ended["stage"] == "closed" and self._process.poll() is None):
            return None
        return self._excess_or_end()

    def _excess_or_end(self) -> tuple[str, str]:
        return ("too-much-written", self._excess) if self._excess else ("ended", self._how())

    def _how(self) -> str:
        code = (self._ended or {}).get("code")
        if code is None and self._process is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                code = self._process.wait(timeout=1)
        if not isinstance(code, int):
            return "?"
        if code >= 0:
            return f"exit code {code}"
        with contextlib.suppress(ValueError):
            return signal.Signals(-code).name
        return f"signal {-code}"

    # the end of it

    def close(self) -> None:
        """Close the keeper's stdin, which ends everything; insist where it does not. Reap it."""
        process = self._process
        self._closing.set()
        if process is not None:
            self._end()
            try:
                process.wait(timeout=STOP)
            except subprocess.TimeoutExpired:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL) if hasattr(os, "killpg") else process.kill()
                process.wait(timeout=STOP)
            for thread in self._threads:
                thread.join(timeout=STOP)
            for pipe in (process.stdout, process.stderr):
                if pipe is not None and not any(t.is_alive() for t in self._threads):
                    pipe.close()
        _remove(self._directory)

    def _end(self) -> None:
        """Tell the keeper to end everything; the plain way has none, and is killed."""
        process = self._process
        assert process is not None
        with contextlib.suppress(OSError, ValueError):
            process.stdin.close()  # type: ignore[union-attr]
        if self._portable:
            process.kill()


def _excess(directory: Path) -> str:
    """What is too much below the folder, or nothing: bytes on disk, entries, a folder out of sight.

    It sees what has a name. An open file that was unlinked has none, and what is written between two
    looks is written.
    """
    size = count = 0
    waiting = [str(directory)]
    while waiting:
        path = waiting.pop()
        try:
            with os.scandir(path) as entries:
                for entry in entries:
                    count += 1
                    if count > MAX_ENTRIES:
                        return f"> {MAX_ENTRIES}"
                    with contextlib.suppress(FileNotFoundError):
                        facts = entry.stat(follow_symlinks=False)
                        size += getattr(facts, "st_blocks", -(-facts.st_size // 512)) * 512
                        if entry.is_dir(follow_symlinks=False):
                            waiting.append(entry.path)
        except OSError as error:
            hidden = error.errno == errno.EACCES and path != str(directory)
            if hidden or error.errno == errno.ENAMETOOLONG:
                return "EACCES" if hidden else "ENAMETOOLONG"
    return f"> {MAX_WRITTEN >> 20} MiB" if size > MAX_WRITTEN else ""


def _remove(directory: Path) -> None:
    """Remove the folder, however deep it is and whatever modes it has. Never raises."""
    if os.rename not in os.supports_dir_fd or os.scandir not in os.supports_fd:
        with contextlib.suppress(Exception):
            shutil.rmtree(directory, ignore_errors=True)
        return
    with contextlib.suppress(OSError):
        directory.chmod(0o700)
        top = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            _empty(top)
        finally:
            os.close(top)
        directory.rmdir()


def _empty(top: int) -> None:
    """Empty the folder behind a descriptor: what is in a folder below it is lifted up to it, in turn."""
    lifted = itertools.count()
    prefix = os.urandom(8).hex()
    waiting = _entries(top)
    while waiting:
        name, is_folder = waiting.pop()
        with contextlib.suppress(OSError):
            if not is_folder:
                os.unlink(name, dir_fd=top)
                continue
            os.chmod(name, 0o700, dir_fd=top)
            below = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=top)
            try:
                for child, child_is_folder in _entries(below):
                    if not child_is_folder:
                        os.unlink(child, dir_fd=below)
                        continue
                    os.chmod(child, 0o700, dir_fd=below)
                    up = f"{prefix}{next(lifted)}"
                    os.rename(child, up, src_dir_fd=below, dst_dir_fd=top)
                    waiting.append((up, True))
            finally:
                os.close(below)
            os.rmdir(name, dir_fd=top)


def _entries(folder: int) -> list[tuple[str, bool]]:
    with os.scandir(folder) as entries:
        return [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]


def _lines(pipe: IO[bytes]) -> Iterator[bytes]:
    kept, taken = b"", 0
    while chunk := os.read(pipe.fileno(), 65536):
        taken += len(chunk)
        if taken > MAX_OUTPUT:
            continue
        *lines, kept = (kept + chunk).split(b"\n")
        yield from lines
