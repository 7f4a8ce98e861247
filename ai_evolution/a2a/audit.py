"""An append-only record of what crossed between organisations, that shows when it was touched.

One record per line, in RFC 8785 form. Each carries the SHA-256 of everything else in it, and the
hash of the record before: a changed, removed, inserted or reordered line breaks the chain, and
`AuditLog.verify` says at which line. A line is appended whole and synced to the disk before
`record` returns; processes take turns by a lock on the file.

What it refuses to do: go on after a break. A tail that a crash has cut off is reported, never
written over; `AuditLog.recover` sets it aside when a person asks for that, and leaves a record
that says so. It keeps digests of what was asked and answered, not the words.

What it cannot see: a log cut off after a whole record, or written anew from the start. For that,
write the `head` down where the log's keeper cannot reach it, and give it to `verify` as an anchor.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import io
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

import rfc8785

from ai_evolution.errors import DocumentError, EnvironmentProblem, UsageError

Record = dict[str, Any]

START = "0" * 64
"""What the first record names as the one before it."""
LOCK_PATIENCE = 10.0
"""Seconds to wait for another process that is writing."""

_TEXTS = (
    "action", "agent", "caller", "consent", "outcome", "request_digest", "result_digest", "skill", "task",
)  # fmt: skip
_MEMBERS = frozenset((*_TEXTS, "at", "hash", "n", "opens", "previous"))


def digest(value: Any) -> str:
    """``sha256:`` and the SHA-256 of the RFC 8785 form of a JSON value.

    A value without such a form (an integer beyond 2**53, a lone surrogate) is hashed in another,
    and the prefix says so: ``sha256-repr:``. There is always something to record.
    """
    try:
        return f"sha256:{hashlib.sha256(rfc8785.dumps(value)).hexdigest()}"
    except (ValueError, TypeError, RecursionError):
        with contextlib.suppress(RecursionError):
            return f"sha256-repr:{hashlib.sha256(ascii(value).encode()).hexdigest()}"
        return "sha256-repr:"


class AuditLog:
    """Append-only and hash-chained, in the file `path`, or in memory when there is none.

    `clock` gives the time of a record (aware). The whole chain is read before the first record of
    this instance, and what other processes appended before each further one.
    """

    def __init__(
        self, path: str | Path | None = None, *, clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self.path = Path(path) if path is not None else None
        self._clock = clock
        self._memory = io.BytesIO()
        self._turn = threading.Lock()
        self._chain = _Chain()

    @property
    def head(self) -> str:
        """The hash of the last record seen by this instance: an anchor worth keeping elsewhere."""
        return self._chain.head

    def record(
        self,
        *,
        action: str,
        caller: str,
        agent: str,
        outcome: str,
        task: str = "",
        skill: str = "",
        consent: str = "",
        request_digest: str = "",
        result_digest: str = "",
        opens: int = 0,
    ) -> Record:
        """Append one record and return it, with its number ``n``, ``at`` and ``hash``.

        ``opens`` is the number of the record that this one concludes, 0 for none. Raises
        DocumentError, and appends nothing, when the chain is broken; EnvironmentProblem when the
        file cannot be written.
        """
        if opens < 0:
            raise UsageError(f"opens={opens} given, the number of an earlier record or 0 accepted")
        texts = {
            "action": action, "caller": caller, "agent": agent, "task": task, "skill": skill,
            "consent": consent, "outcome": outcome, "request_digest": request_digest,
            "result_digest": result_digest,
        }  # fmt: skip
        with self._turn, self._opened("append") as file:
            self._chain.read_on(file, self._name)
            return self._append(file, {name: _clean(text) for name, text in texts.items()}, opens)

    def verify(self, anchor: str | None = None) -> int:
        """The number of records, all of them whole and in their chain.

        Raises DocumentError naming the first broken line, or saying that `anchor` (a former `head`)
        is not in the chain.
        """
        chain = _Chain()
        with self._turn, self._opened("read") as file:
            hashes = [record["hash"] for record in chain.read_on(file, self._name)]
        if anchor is not None and anchor not in (START, *hashes):
            raise DocumentError(f"{self._name}: no record has the hash {anchor[:16]}..., which it once had")
        return len(hashes)

    def records(self) -> list[Record]:
        """All records, verified; DocumentError as `verify`."""
        with self._turn, self._opened("read") as file:
            return list(_Chain().read_on(file, self._name))

    def recover(self) -> Record | None:
        """Set aside a last line that a crash has cut off; None when there was none.

        The piece goes into a file beside the log, and the record returned (action ``recover``) has
        its digest. Raises DocumentError when anything else is broken: that is no crash.
        """
        with self._turn, self._opened("append") as file:
            chain = _Chain()
            try:
                chain.read_on(file, self._name)
            except _CutOff as cut:
                piece = cut.piece
            else:
                return None
            if self.path is not None:
                aside = self.path.with_name(f"{self.path.name}.cut-at-{chain.offset}")
                aside.write_bytes(piece)
            file.truncate(chain.offset)
            self._chain = chain
            texts = dict.fromkeys(_TEXTS, "") | {
                "action": "recover",
                "outcome": "cut off",
                "result_digest": f"sha256:{hashlib.sha256(piece).hexdigest()}",
            }
            return self._append(file, texts, 0)

    def _append(self, file: IO[bytes], texts: dict[str, str], opens: int) -> Record:
        chain = self._chain
        record: Record = texts | {
            "at": self._clock().astimezone(UTC).isoformat().replace("+00:00", "Z"),
            "n": chain.count + 1,
            "opens": opens,
            "previous": chain.head,
        }
        if opens > chain.count:
            raise UsageError(f"opens={opens} given, the log has {chain.count} records")
        record["hash"] = _hash(record)
        line = rfc8785.dumps(record) + b"\n"
        try:
            file.seek(chain.offset)
            if file.write(line) != len(line):
                raise OSError(errno.ENOSPC, "no space left")
            if self.path is not None:
                os.fsync(file.fileno())
                if chain.offset == 0:
                    _sync_name(self.path)
        except OSError as error:
            with contextlib.suppress(OSError):
                file.truncate(chain.offset)
            raise EnvironmentProblem(f"{self._name}: cannot be written ({error.strerror})") from error
        chain.took(record, len(line))
        return record

    @property
    def _name(self) -> str:
        return f"audit log {self.path}" if self.path is not None else "audit log in memory"

    @contextlib.contextmanager
    def _opened(self, purpose: str) -> Iterator[IO[bytes]]:
        if self.path is None:
            yield self._memory
            return
        try:
            if purpose == "append":
                self.path.parent.mkdir(parents=True, exist_ok=True)
                handle = os.open(self.path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600)
                file: IO[bytes] = os.fdopen(handle, "r+b", buffering=0)
            else:
                file = self.path.open("rb", buffering=0)
        except FileNotFoundError:
            yield io.BytesIO()  # nothing was recorded yet
            return
        except OSError as error:
            raise DocumentError(f"{self._name}: cannot be opened ({error.strerror})") from error
        with file, _locked(file, self._name):
            yield file


class _CutOff(DocumentError):
    def __init__(self, message: str, piece: bytes) -> None:
        super().__init__(message)
        self.piece = piece


class _Chain:
    """How far a log has been read and found whole."""

    def __init__(self) -> None:
        self.offset = 0
        self.count = 0
        self.head = START

    def took(self, record: Record, size: int) -> None:
        self.offset += size
        self.count += 1
        self.head = record["hash"]

    def read_on(self, file: IO[bytes], name: str) -> list[Record]:
        """The records after those already read; raises DocumentError at the first broken line."""
        if file.seek(0, os.SEEK_END) < self.offset:
            raise DocumentError(f"{name}: shorter than it was, records after line {self.count} are gone")
        file.seek(self.offset)
        *lines, rest = file.read().split(b"\n")
        found = []
        for line in lines:
            found.append(self._whole(line, f"{name}, line {self.count + 1}"))
            self.took(found[-1], len(line) + 1)
        if rest:
            raise _CutOff(f"{name}, line {self.count + 1}: cut off; see AuditLog.recover", rest)
        return found

    def _whole(self, line: bytes, where: str) -> Record:
        try:
            record = json.loads(line)
            canonical = rfc8785.dumps(record)
        except (ValueError, TypeError, RecursionError):
            raise DocumentError(f"{where}: no record") from None
        if not isinstance(record, dict) or set(record) != _MEMBERS or canonical != line:
            raise DocumentError(f"{where}: not as it was written")
        if record["hash"] != _hash(record):
            raise DocumentError(f"{where}: changed, its hash does not fit")
        if record["n"] != self.count + 1 or record["previous"] != self.head:
            raise DocumentError(f"{where}: does not follow the line before; one is missing, moved or added")
        return record


def _sync_name(path: Path) -> None:
    """Make the name of a new file as durable as its content, where the system can."""
    if sys.platform != "win32":
        handle = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _hash(record: Record) -> str:
    rest = {name: value for name, value in record.items() if name != "hash"}
    return hashlib.sha256(rfc8785.dumps(rest)).hexdigest()


def _clean(text: str) -> str:
    return str(text).encode("utf-8", "backslashreplace").decode("utf-8")


@contextlib.contextmanager
def _locked(file: IO[bytes], name: str) -> Iterator[None]:
    """The file to ourselves, among processes; EnvironmentProblem when another keeps it too long."""
    give_up = time.monotonic() + LOCK_PATIENCE
    while not _try_lock(file.fileno(), True):
        if time.monotonic() > give_up:
            raise EnvironmentProblem(f"{name}: another process has kept it locked for {LOCK_PATIENCE:g} s")
        time.sleep(0.005)
    try:
        yield
    finally:
        _try_lock(file.fileno(), False)


def _try_lock(handle: int, take: bool) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            # one byte far beyond the end: a lock on Windows keeps others from reading what it covers
            os.lseek(handle, 1 << 40, os.SEEK_SET)
            msvcrt.locking(handle, msvcrt.LK_NBLCK if take else msvcrt.LK_UNLCK, 1)
            os.lseek(handle, 0, os.SEEK_SET)
        else:
            import fcntl

            fcntl.flock(handle, (fcntl.LOCK_EX | fcntl.LOCK_NB) if take else fcntl.LOCK_UN)
    except OSError:
        return False
    return True
