"""What a run was told, on disk before the program goes on: so that a run killed in the middle can go on.

One file for one execution, one JSON line for each record, appended and never changed::

    {"journal": "ai-evolution/ptc-run/1", "execution"}
    {"program": 1, "code_hash", "code"}                                           a program begins
    {"intent": 1, "sequence", "tool", "arguments_hash", "occurrence", "key"}      an effect is about to happen
    {"answer": 1, "sequence", "tool", "arguments_hash", "occurrence", "result" | "error", "uncertain", "of"}
    {"ended": 1, "how", "untold": [[tool, arguments_hash, occurrence]]}           a program came to its end

A program that resumes is run again from its beginning, and its calls get the answers recorded. A call is
known by its run, its tool, its arguments (their digest) and how many equal calls came before it; not by its
sequence, which may fall otherwise when the answers of concurrent calls come in another order.

The window that no journal can close lies between an effect and its record: an ``intent`` without an
``answer``. It is reported as what it is (``Entry.answer`` is None), and the bridge decides. The journal
refuses to guess, to hold an execution of another id, to be written by two processes at once, and to go on
with another program.

Durable means: ``sync`` returned. An intent is synced before the effect begins, and the answer of an effect
before the program gets it. What else was answered is written at once and synced with the next of those: it
outlives the death of the process, and a loss of power costs at most the repetition of calls without effects.
Arguments are kept as digests; results and programs are kept in clear, so the file is its owner's alone.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import sys
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from ai_evolution.errors import DocumentError, EnvironmentProblem, UsageError
from ai_evolution.files import locked
from ai_evolution.ptc.sandbox import Answer

FORMAT = "ai-evolution/ptc-run/1"


class Mark(NamedTuple):
    """By what a call is known: ``occurrence`` counts, from 1, the equal calls of a run."""

    run: int
    tool: str
    arguments_hash: str
    occurrence: int


@dataclass(frozen=True, slots=True)
class Entry:
    """A call as the journal has it.

    ``key`` is the idempotency key of a call with effects, else empty. ``answer`` is None when the record is
    missing: the effect may have happened. ``uncertain``: it was answered (an error, mostly) and whether the
    effect happened is not known all the same. ``of``: an earlier call, whose program was cut off before
    it was told the answer that this one got.
    """

    mark: Mark
    sequence: int
    key: str = ""
    answer: Answer | None = None
    uncertain: bool = False
    of: Mark | None = None


@dataclass(frozen=True, slots=True)
class Program:
    """A program that was begun in this execution; ``run`` counts from 1.

    ``ended`` is that of its Outcome, empty when it was never told. ``untold`` are effects whose answers came
    after the program was cut off.
    """

    run: int
    code: str
    code_hash: str
    ended: str = ""
    untold: tuple[Mark, ...] = ()


def code_hash(code: str) -> str:
    """``sha256:`` and the digest of a program's text."""
    return f"sha256:{hashlib.sha256(code.encode('utf-8', 'surrogatepass')).hexdigest()}"


class RunJournal:
    """The journal of one execution in the file ``path``, made if there is none; a context manager.

    ``execution_id`` must be the one in the file; without it the file's is taken, or an empty file gets
    ``"execution"``. Opening cuts off a last line that a crash left half written (nothing relied on it), and
    raises DocumentError for any other line that is no record or for another execution, EnvironmentProblem
    when another journal object (of any process) has the file open or it can't be written.
    """

    def __init__(self, path: str | Path, execution_id: str | None = None) -> None:
        self.path = Path(path)
        self._turn = threading.Lock()
        self._stack = contextlib.ExitStack()
        self._size = self._written = self._synced = 0
        self._broken = ""
        with contextlib.ExitStack() as undo:
            undo.callback(self.close)
            self._fd = self._open()
            head, self._programs, self._entries = self._load()
            if execution_id is not None and head is not None and head != execution_id:
                raise DocumentError(
                    f"{self.path}: journal of execution {head!r}, {execution_id!r} was asked for"
                )
            self.execution_id = head or execution_id or "execution"
            if head is None:
                self._append({"journal": FORMAT, "execution": self.execution_id})
                self.sync()
                _sync_name(self.path)
            undo.pop_all()

    @property
    def programs(self) -> tuple[Program, ...]:
        """The programs of this execution in their order: what to run again in order to resume."""
        return tuple(self._programs)

    def begin(self, run: int, code: str) -> dict[Mark, Entry]:
        """A program begins, for the first time or again; returns what earlier lives recorded of it.

        DocumentError when the run of that number was another program; UsageError when a number is left out.
        """
        found = code_hash(code)
        if run <= len(self._programs):
            if (known := self._programs[run - 1].code_hash) != found:
                raise DocumentError(
                    f"{self.path}: program {run} of this execution has the hash {known[:19]}..., "
                    f"the one given has {found[:19]}...: only the same program can be resumed"
                )
        elif run == len(self._programs) + 1:
            self._append({"program": run, "code_hash": found, "code": code})
            self.sync()
            self._programs.append(Program(run, code, found))
        else:
            raise UsageError(f"program {run} given, {len(self._programs) + 1} is the next one")
        return {mark: entry for mark, entry in self._entries.items() if mark.run == run}

    def intent(self, mark: Mark, sequence: int, key: str) -> None:
        """An effect is about to happen under that key. ``sync`` before it does."""
        self._append({"intent": mark.run, **_told(mark, sequence), "key": key})

    def answer(
        self, mark: Mark, sequence: int, answer: Answer, *, uncertain: bool = False, of: Mark | None = None
    ) -> None:
        """What the program is told. ``sync`` first when it is the answer of an effect."""
        said = {"result": answer.value} if answer.error is None else {"error": dict(answer.error)}
        record: dict[str, Any] = {"answer": mark.run, **_told(mark, sequence), **said}
        if uncertain:
            record["uncertain"] = True
        if of is not None:
            record["of"] = list(of)
        self._append(record)

    def ended(self, run: int, how: str, untold: Iterable[Mark] = ()) -> None:
        """A program came to its end, or was brought to it; of two such records the later one counts."""
        self._append({"ended": run, "how": how, "untold": [list(mark[1:]) for mark in sorted(untold)]})

    @property
    def position(self) -> int:
        """How many records this object has written."""
        return self._written

    @property
    def synced(self) -> int:
        """How many of them are known to be on the disk."""
        return self._synced

    def sync(self) -> None:
        """Everything written before this call is on the disk when it returns. May be called from a thread."""
        reached = self._written
        try:
            os.fsync(self._fd)
        except OSError as error:
            self._broken = error.strerror or str(error)
            raise self._problem() from error
        self._synced = max(self._synced, reached)

    def entries(self) -> tuple[Entry, ...]:
        """All calls in the order in which the programs made them, whatever the order of their answers.

        Read from the file, this life's calls included. The same program, tools and kills give the same
        entries, however concurrent calls raced (keys apart, where ``new_key`` is random).
        """
        with self._turn:
            _, _, entries = self._load()
        return tuple(sorted(entries.values(), key=lambda each: (each.mark.run, each.sequence, each.mark)))

    def close(self) -> None:
        """Let go of the file. May be called again."""
        self._stack.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # inside

    def _open(self) -> int:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._stack.enter_context(locked(self.path.with_name(f"{self.path.name}.lock"), deadline=0.0))
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
            handle = os.open(self.path, flags | getattr(os, "O_CLOEXEC", 0), 0o600)
        except EnvironmentProblem:
            raise EnvironmentProblem(
                f"{self.path}: this run is going on elsewhere; one process at a time can hold its journal"
            ) from None
        except OSError as error:
            raise EnvironmentProblem(f"{self.path}: cannot be opened ({error.strerror})") from error
        self._stack.callback(os.close, handle)
        return handle

    def _load(self) -> tuple[str | None, list[Program], dict[Mark, Entry]]:
        """Read the whole file; on the first time cut off what a crash left of a last line."""
        try:
            data = self.path.read_bytes()
        except OSError as error:
            raise DocumentError(f"{self.path}: cannot be read ({error.strerror})") from error
        *lines, rest = data.split(b"\n")
        if rest:
            os.ftruncate(self._fd, len(data) - len(rest))
        self._size = len(data) - len(rest)
        return _read(lines, str(self.path))

    def _append(self, record: Mapping[str, Any]) -> None:
        line = json.dumps(record, separators=(",", ":"), allow_nan=False).encode("ascii") + b"\n"
        with self._turn:
            if self._broken:
                raise self._problem()
            try:
                if os.write(self._fd, line) != len(line):
                    raise OSError(errno.ENOSPC, "no space left")
            except OSError as error:
                self._broken = error.strerror or str(error)
                with contextlib.suppress(OSError):
                    os.ftruncate(self._fd, self._size)
                raise self._problem() from error
            self._size += len(line)
            self._written += 1

    def _problem(self) -> EnvironmentProblem:
        return EnvironmentProblem(f"{self.path}: cannot be written ({self._broken}); the run can't go on")


def _told(mark: Mark, sequence: int) -> dict[str, Any]:
    return {
        "sequence": sequence,
        "tool": mark.tool,
        "arguments_hash": mark.arguments_hash,
        "occurrence": mark.occurrence,
    }


def _read(lines: Iterable[bytes], name: str) -> tuple[str | None, list[Program], dict[Mark, Entry]]:
    head: str | None = None
    programs: list[Program] = []
    entries: dict[Mark, Entry] = {}
    for number, line in enumerate(lines, 1):
        try:
            record = json.loads(line)
            if number == 1:
                if record["journal"] != FORMAT:
                    raise ValueError
                head = str(record["execution"])
            elif "program" in record:
                program = Program(record["program"], record["code"], record["code_hash"])
                if program.run != len(programs) + 1 or code_hash(program.code) != program.code_hash:
                    raise ValueError
                programs.append(program)
            elif "ended" in record:
                at = record["ended"] - 1
                untold = tuple(Mark(record["ended"], *each) for each in record["untold"])
                programs[at] = replace(programs[at], ended=record["how"], untold=untold)
            else:
                _take(record, entries, len(programs))
        except (ValueError, TypeError, KeyError, AttributeError, IndexError, RecursionError):
            raise DocumentError(f"{name}, line {number}: no record of {FORMAT}") from None
    return head, programs, entries


def _take(record: Mapping[str, Any], entries: dict[Mark, Entry], programs: int) -> None:
    is_intent = "intent" in record
    mark = Mark(
        record["intent" if is_intent else "answer"],
        record["tool"],
        record["arguments_hash"],
        record["occurrence"],
    )
    if not 1 <= mark.run <= programs or not isinstance(mark.tool, str):
        raise ValueError
    known = entries.get(mark)
    if is_intent:
        if known is not None:
            raise ValueError
        entries[mark] = Entry(mark, record["sequence"], key=record["key"])
        return
    if known is not None and known.answer is not None:
        raise ValueError
    answer = Answer(error=record["error"]) if "error" in record else Answer(record["result"])
    entry = known or Entry(mark, record["sequence"])
    of = Mark(*record["of"]) if "of" in record else None
    entries[mark] = replace(entry, answer=answer, uncertain=record.get("uncertain", False), of=of)


def _sync_name(path: Path) -> None:
    """Make the name of a new file as durable as its content, where the system can."""
    if sys.platform != "win32":
        handle = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
