"""A memory of failed calls that stops an agent from making the same one again and again.

Agents repeat: one made a byte-identical failing call 85 times, and a warning alone changed nothing
(NousResearch/hermes-agent#67829); another made 172 (nanobot#2298, #3073: the detector must look at the
result too). So the ledger refuses, from the third failure on (rockbot#249), with a structured error that says
what was tried; it is an error and never a success (amd/gaia#3943), and it is built from the fields
of the envelopes, not parsed from rendered text (ironclaw#2240).

An attempt is known by the tool, the canonical form of its arguments (RFC 8785: 1 and 1.0 are one number,
the order of names is nothing) and the digest of its result. Equal failures are counted; another argument is a
new attempt; a success clears. What changes by itself in a result, its timestamp and date-times that
the caller did not send, is no difference. A result that differs each time may be progress, so it gets
further, up to ``ceiling`` failures in all. A call that never came back (its process died) counts as a failure
after ``lost_after``.

With a path the memory is one SQLite file that processes share, so it holds after a restart too. Failures
older than ``memory`` are forgotten: a network that was down yesterday is no reason today.

What it refuses to do: keep arguments (their digest alone is stored), count calls that run at the same time
against each other, or let a refusal count as an attempt. Calls that begin before an equal one has failed
are not stopped, so that as many as run at once can go past the limit.
"""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Protocol

import rfc8785

from ai_evolution.errors import DocumentError, EnvironmentProblem, UsageError

CODE = "ATTEMPTS_EXHAUSTED"
"""The code of the error with which a call is stopped."""
APPLICATION_ID = 0x41544C31  # "ATL1", in the header of the file: how we know that a database is ours
PATIENCE = 10.0
"""Seconds to wait for another process that is writing."""
NO_JSON = "no-json"
"""The digest of whatever JSON cannot write."""
_LOST = "lost"
_DATE_TIME = re.compile(r"\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?([Zz]|[+-]\d{2}:\d{2})?")

_ECHO = 2000  # characters of arguments that a refusal repeats

_SCHEMA = (
    """CREATE TABLE attempts (
        number    INTEGER PRIMARY KEY,
        tool      TEXT NOT NULL,
        arguments TEXT NOT NULL,
        began     REAL NOT NULL,
        result    TEXT,
        code      TEXT NOT NULL DEFAULT '',
        text      TEXT NOT NULL DEFAULT ''
    )""",
    "CREATE INDEX attempts_by_call ON attempts (tool, arguments)",
    "CREATE INDEX attempts_by_time ON attempts (began)",
    f"PRAGMA application_id = {APPLICATION_ID}",
)

_SAYS = {
    "en": {
        "text": "{tool} was called {total} times with these very arguments and failed each time;"
        " it is not called again",
        "expected": "a call of {tool} that differs from the failed one in at least one argument",
        "solution": "Change the arguments as the last error asks ({last}), choose another tool,"
        " or ask a person",
        "lost": "the call never came back",
    },
    "es": {
        "text": "{tool} se llamó {total} veces con estos mismos argumentos y falló siempre;"
        " no se llama de nuevo",
        "expected": "una llamada a {tool} que difiera de la fallida en al menos un argumento",
        "solution": "Cambia los argumentos como pide el último error ({last}), elige otra herramienta"
        " o pregunta a una persona",
        "lost": "la llamada no volvió nunca",
    },
}


class Callee(Protocol):
    """What the ledger needs of a ``Contract``: a name and the two ways of calling it."""

    @property
    def name(self) -> str: ...

    def call(self, arguments: Mapping[str, Any]) -> dict[str, Any]: ...

    async def acall(self, arguments: Mapping[str, Any]) -> dict[str, Any]: ...


@dataclass(frozen=True)
class Failed:
    """One failed attempt: when it began (aware, UTC), the digest of its result, its code and text."""

    at: datetime
    result: str
    code: str
    text: str


class AttemptLedger:
    """Failed attempts, in the SQLite file ``path`` or in memory when there is none.

    ``limit`` equal failures stop a call, and so do ``ceiling`` different ones. ``clock`` is aware.
    Raises DocumentError when the file is no ledger, EnvironmentProblem when it can't be used, and UsageError
    for limits below 1.
    """

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        limit: int = 3,
        ceiling: int = 10,
        memory: timedelta = timedelta(days=1),
        lost_after: timedelta = timedelta(minutes=5),
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        lang: str = "en",
    ) -> None:
        if limit < 1 or ceiling < limit:
            raise UsageError(f"limit={limit}, ceiling={ceiling} given, 1 <= limit <= ceiling accepted")
        if memory <= timedelta(0) or lost_after <= timedelta(0):
            raise UsageError(f"memory={memory}, lost_after={lost_after} given, spans above zero accepted")
        self.limit, self.ceiling = limit, ceiling
        self._memory, self._lost_after = memory.total_seconds(), lost_after.total_seconds()
        self._clock, self._says = clock, _SAYS["es" if lang == "es" else "en"]
        self._name = f"ledger {path}" if path is not None else "ledger in memory"
        self._turn = threading.Lock()
        self._db = self._open(path)

    def _open(self, path: str | Path | None) -> sqlite3.Connection:
        if path is not None:
            try:
                Path(path).parent.mkdir(parents=True, exist_ok=True)
                Path(path).touch(mode=0o600)
            except OSError as error:
                raise EnvironmentProblem(f"{self._name}: cannot be written: {error.strerror}") from None
        with self._plainly():
            db = sqlite3.connect(
                str(path) if path is not None else ":memory:",
                timeout=PATIENCE,
                isolation_level=None,
                check_same_thread=False,
            )
        try:
            with self._plainly():
                self._prepare(db)
        except BaseException:
            db.close()
            raise
        return db

    def _prepare(self, db: sqlite3.Connection) -> None:
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute("BEGIN IMMEDIATE")
        (mark,) = db.execute("PRAGMA application_id").fetchone()
        (tables,) = db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if mark == APPLICATION_ID:
            db.execute("COMMIT")
            return
        if mark or tables:
            raise DocumentError(f"{self._name}: a database of something else")
        for statement in _SCHEMA:
            db.execute(statement)
        db.execute("COMMIT")
        with suppress(sqlite3.OperationalError):  # another process came in between: slower, and as right
            db.execute("PRAGMA journal_mode = WAL")

    def close(self) -> None:
        """Let go of the file. Further calls raise EnvironmentProblem."""
        with self._turn:
            self._db.close()

    def __enter__(self) -> AttemptLedger:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # the three moves

    def begin(self, tool: str, arguments: Mapping[str, Any]) -> int | dict[str, Any]:
        """The number of a new attempt, or the error envelope that stops it.

        Give the number to ``end``. A refusal leaves no trace.
        """
        key = canonical(arguments)
        now = self._now()
        with self._transaction() as db:
            self._forget_old(db, now)
            failures = self._failures(db, tool, key, now)
            if self._exhausted(failures):
                return self._stop(tool, arguments, failures, now)
            row = db.execute(
                "INSERT INTO attempts (tool, arguments, began) VALUES (?, ?, ?)", (tool, key, now.timestamp())
            )
            return int(row.lastrowid or 0)

    def end(self, attempt: int, arguments: Mapping[str, Any], envelope: Any) -> None:
        """Note how the attempt ended. A success clears all that failed with its tool and arguments."""
        with self._transaction() as db:
            row = db.execute("SELECT tool, arguments FROM attempts WHERE number = ?", (attempt,)).fetchone()
            if row is None:
                return  # forgotten meanwhile, by its age or because an equal call succeeded
            if not _failed(envelope):
                db.execute("DELETE FROM attempts WHERE tool = ? AND arguments = ?", row)
                return
            data = envelope.get("data")
            data = data if isinstance(data, Mapping) else {}
            db.execute(
                "UPDATE attempts SET result = ?, code = ?, text = ? WHERE number = ?",
                (
                    result_digest(envelope, arguments),
                    _short(data.get("code", "")),
                    _short(data.get("text", data.get("message", ""))),
                    attempt,
                ),
            )

    def failures(self, tool: str, arguments: Mapping[str, Any]) -> list[Failed]:
        """What failed so far with this tool and these arguments, oldest first."""
        with self._transaction() as db:
            return self._failures(db, tool, canonical(arguments), self._now())

    def forget(self, tool: str, arguments: Mapping[str, Any]) -> int:
        """Let this call be made again, because a person says so; returns how many failures were forgotten."""
        with self._transaction() as db:
            where = "WHERE tool = ? AND arguments = ?"
            return db.execute(f"DELETE FROM attempts {where}", (tool, canonical(arguments))).rowcount

    def patterns(self, most: int = 10) -> list[tuple[str, str, int]]:
        """The errors that occur most: tool, code and how often, commonest first."""
        with self._transaction() as db:
            self._forget_old(db, self._now())
            return db.execute(
                "SELECT tool, code, count(*) AS times FROM attempts WHERE result IS NOT NULL"
                " GROUP BY tool, code ORDER BY times DESC, tool, code LIMIT ?",
                (most,),
            ).fetchall()

    # around a contract

    def call(self, contract: Callee, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """``contract.call(arguments)``, or the error that stops it. An exception counts as a failure."""
        attempt = self.begin(contract.name, arguments)
        if isinstance(attempt, dict):
            return attempt
        envelope: dict[str, Any] = {"status": "error", "data": {"code": "EXCEPTION"}}
        try:
            envelope = contract.call(arguments)
        finally:
            self.end(attempt, arguments, envelope)
        return envelope

    async def acall(self, contract: Callee, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """As ``call``, for ``contract.acall``. A cancelled call is a failed one."""
        attempt = self.begin(contract.name, arguments)
        if isinstance(attempt, dict):
            return attempt
        envelope: dict[str, Any] = {"status": "error", "data": {"code": "EXCEPTION"}}
        try:
            envelope = await contract.acall(arguments)
        finally:
            self.end(attempt, arguments, envelope)
        return envelope

    # inside

    def _failures(self, db: sqlite3.Connection, tool: str, key: str, now: datetime) -> list[Failed]:
        rows = db.execute(
            "SELECT began, coalesce(result, ?), code, text FROM attempts"
            " WHERE tool = ? AND arguments = ? AND began > ? AND (result IS NOT NULL OR began <= ?)"
            " ORDER BY number",
            (_LOST, tool, key, now.timestamp() - self._memory, now.timestamp() - self._lost_after),
        )
        return [
            Failed(datetime.fromtimestamp(began, UTC), result, code, text or self._says["lost"])
            if result == _LOST
            else Failed(datetime.fromtimestamp(began, UTC), result, code, text)
            for began, result, code, text in rows
        ]

    def _exhausted(self, failures: list[Failed]) -> bool:
        results = [failure.result for failure in failures]
        return len(results) >= self.ceiling or any(results.count(each) >= self.limit for each in set(results))

    def _stop(
        self, tool: str, arguments: Mapping[str, Any], failures: list[Failed], now: datetime
    ) -> dict[str, Any]:
        last = failures[-1]
        words = {"tool": tool, "total": len(failures), "last": last.code or last.text or last.result[:20]}
        tried = [
            {"at": _stamp(each.at), "code": each.code, "text": each.text, "result": each.result}
            for each in failures
        ]
        return {
            "status": "error",
            "data": {
                "code": CODE,
                "text": self._says["text"].format_map(words),
                "details": {
                    "tool": tool,
                    "arguments": _echo(arguments),
                    "attempts": len(failures),
                    "limit": self.limit,
                    "tried": tried,
                },
                "expected": self._says["expected"].format_map(words),
                "solution": self._says["solution"].format_map(words),
            },
            "meta": {"timestamp": _stamp(now)},
        }

    def _forget_old(self, db: sqlite3.Connection, now: datetime) -> None:
        db.execute("DELETE FROM attempts WHERE began <= ?", (now.timestamp() - self._memory,))

    def _now(self) -> datetime:
        now = self._clock()
        if now.tzinfo is None:
            raise UsageError(f"the clock says {now.isoformat()}, a time with an offset accepted")
        return now.astimezone(UTC)

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._turn, self._plainly():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    @contextmanager
    def _plainly(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:
            raise EnvironmentProblem(f"{self._name}: {error}") from None
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.ProgrammingError):
                raise EnvironmentProblem(f"{self._name}: it was closed") from None
            raise DocumentError(f"{self._name}: {error}") from None


def canonical(arguments: Mapping[str, Any]) -> str:
    """The digest by which arguments are known: equal for equal JSON, however it was written down.

    ``sha256:`` over RFC 8785 bytes; JSON that has no such form (integers beyond 2**53, lone surrogates)
    is hashed in sorted JSON text and marked ``sha256-json:``. All that is no JSON is one and the same.
    """
    return _digest(arguments)


def result_digest(envelope: Any, arguments: Mapping[str, Any] | None = None) -> str:
    """The digest of a result without what changes by itself.

    Left out: ``meta.timestamp``, and in every text the date-times that the caller did not send.
    """
    known = set(_texts(arguments or {}))
    try:
        stable = _without_times(
            envelope, lambda seen: seen if any(seen in text for text in known) else "<time>"
        )
    except RecursionError:
        return NO_JSON
    if isinstance(stable, dict) and isinstance(stable.get("meta"), dict):
        meta = {name: each for name, each in stable["meta"].items() if name != "timestamp"}
        stable = stable | {"meta": meta}
    return _digest(stable)


def _digest(value: Any) -> str:
    try:
        return f"sha256:{hashlib.sha256(rfc8785.dumps(value)).hexdigest()}"
    except (ValueError, TypeError, RecursionError):
        pass
    try:
        text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (ValueError, TypeError, RecursionError):
        return NO_JSON
    return f"sha256-json:{hashlib.sha256(text.encode()).hexdigest()}"


def _echo(arguments: Mapping[str, Any]) -> Any:
    """The arguments again, as long as they are short and JSON; their digest otherwise."""
    try:
        text = json.dumps(arguments, allow_nan=False)
    except (ValueError, TypeError, RecursionError):
        return canonical(arguments)
    return json.loads(text) if len(text) <= _ECHO else canonical(arguments)


def _without_times(value: Any, keep: Callable[[str], str]) -> Any:
    if isinstance(value, Mapping):
        return {name: _without_times(each, keep) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_without_times(each, keep) for each in value]
    return _DATE_TIME.sub(lambda match: keep(match[0]), value) if isinstance(value, str) else value


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _texts(each)


def _failed(envelope: Any) -> bool:
    """Only what says of itself that it is a success clears; whatever else came back is a failure."""
    return not (isinstance(envelope, Mapping) and envelope.get("status") == "success")


def _short(text: Any) -> str:
    return str(text)[:300].encode("utf-8", "backslashreplace").decode("utf-8")


def _stamp(at: datetime) -> str:
    return at.isoformat().replace("+00:00", "Z")
