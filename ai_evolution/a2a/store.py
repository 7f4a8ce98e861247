"""Tasks that outlive the process, in one SQLite file (or ``:memory:``).

The SDK's ``VersionedTaskStore`` on the standard library, with what an agent needs that meets strangers:

* a task belongs to the caller who started it; somebody else's task does not exist for you;
* a save that breaks the table of ``states`` is refused, whoever asks for it;
* a save made from an old version is refused, so no update is lost;
* a message is claimed by (caller, messageId) before it is executed, so a repeated one is recognised, also
  after a restart;
* ``sweep`` at start ends what a killed process left behind, so no task waits for ever.

It refuses to share its file. SQLite's exclusive locking holds the file for one process from open to close
(the operating system lets go of it when the process dies), so every task left SUBMITTED or WORKING at start
is an orphan by construction and no lease needs a clock. A second process is told so in one line.

Calls run on the event loop and are not sent to a thread: a save costs some tens of microseconds and a
hand-over to a thread costs more (``benchmarks/a2a_server.py`` measures the whole). ``synchronous=NORMAL``
with a write-ahead log: what was saved survives the death of the process; a power cut may take the last
moments, and never the file.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from a2a.server.cluster.task_store import ConcurrentTaskModificationError, StoredTask, VersionedTaskStore
from a2a.server.cluster.version import TaskVersion
from a2a.server.context import ServerCallContext
from a2a.server.events.event_queue import Event
from a2a.types import ListTasksRequest, ListTasksResponse, Message, Part, Role, Task, TaskState
from a2a.utils.constants import DEFAULT_LIST_TASKS_PAGE_SIZE
from a2a.utils.errors import InvalidParamsError
from a2a.utils.task import ListTasksCursor, decode_list_tasks_cursor, encode_list_tasks_cursor

from ai_evolution.a2a import states
from ai_evolution.errors import DocumentError

APPLICATION_ID = 0x41324153  # "A2AS", in the header of the file: how we know that a database is ours
SCHEMA_VERSION = 1
_LARGEST = 2**63 - 1

TaskIds = list[str]  # inside the store `list` is a method of the SDK's interface
OwnedTasks = list[tuple[str, Task]]

_SCHEMA = f"""
BEGIN;
CREATE TABLE tasks (
    task_id    TEXT PRIMARY KEY,
    owner      TEXT NOT NULL,
    context_id TEXT NOT NULL,
    state      TEXT NOT NULL,
    updated    INTEGER,
    version    INTEGER NOT NULL,
    task       BLOB NOT NULL
) WITHOUT ROWID;
CREATE INDEX tasks_by_owner ON tasks (owner, updated, task_id);
CREATE TABLE claims (
    caller      TEXT NOT NULL,
    message_id  TEXT NOT NULL,
    fingerprint BLOB NOT NULL,
    task_id     TEXT NOT NULL,
    reply       BLOB,
    PRIMARY KEY (caller, message_id)
) WITHOUT ROWID;
CREATE INDEX claims_by_task ON claims (task_id);
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {SCHEMA_VERSION};
COMMIT;
"""

_SAVE = """
INSERT INTO tasks VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (task_id) DO UPDATE
SET state = excluded.state, updated = excluded.updated, version = excluded.version, task = excluded.task
"""
_ACTIVE, _INTERRUPTED = (
    "state IN ({})".format(", ".join(f"'{state}'" for state in sorted(kind)))
    for kind in (states.ACTIVE, states.INTERRUPTED)
)


def _now() -> datetime:
    return datetime.now(UTC)


def _new_id() -> str:
    return str(uuid.uuid4())


@dataclass(frozen=True, slots=True)
class Claim:
    """A message that was taken: whose, what it said, and the task (or the Message) that answers it."""

    caller: str
    message_id: str
    fingerprint: bytes
    task_id: str
    fresh: bool
    """True for whoever made the claim, and so has to execute the message."""
    reply: Message | None = None


class SqliteTaskStore(VersionedTaskStore):
    """Tasks and claims in the SQLite file ``path``, made when it is not there; ``":memory:"`` keeps them in
    memory.

    ``clock`` stamps what the store itself writes (a swept task), ``new_id`` names it. ``patience`` is how
    many seconds to wait for another process to let go of the file.

    Raises DocumentError when the file is corrupt, not ours, of a later schema, or already open.
    """

    def __init__(
        self,
        path: str | Path = ":memory:",
        *,
        clock: Callable[[], datetime] = _now,
        new_id: Callable[[], str] = _new_id,
        patience: float = 2.0,
    ) -> None:
        self.path = str(path)
        self._clock = clock
        self._new_id = new_id
        self._lock = threading.RLock()
        self._changes: dict[str, asyncio.Event] = {}
        self._database = _open(self.path, patience)
        self._orphans = {row[0] for row in self._rows(f"SELECT task_id FROM tasks WHERE {_ACTIVE}")}
        self._drop_lost_claims()

    # ---- the SDK's interface -------------------------------------------------------------------

    async def save(
        self,
        task: Task,
        *,
        event: Event | None = None,
        prev: Task | None = None,
        prev_version: TaskVersion = TaskVersion.MISSING,
        context: ServerCallContext,
    ) -> TaskVersion:
        """Write ``task`` and return its new version.

        Raises ConcurrentTaskModificationError (the SDK's own, which its consumer handles) when
        ``prev_version`` is not the stored one, and IllegalTransition when the table of states does not allow
        the move. As the SDK's interface asks, CANCELED overwrites any task that is not terminal, whatever its
        version.
        """
        del event, prev
        owner, state = context.user.user_name, TaskState.Name(task.status.state)
        with self._lock:
            row = self._row("SELECT owner, state, version, updated FROM tasks WHERE task_id = ?", task.id)
            if row is not None and row[0] != owner:
                raise ConcurrentTaskModificationError(task.id)
            version = 0 if row is None else row[2]
            if state == states.CANCELED:
                if row is None or row[1] in states.TERMINAL:
                    raise ConcurrentTaskModificationError(task.id)
                self._settle_cancel(task, row[3])
            elif TaskVersion(version) != prev_version:
                raise ConcurrentTaskModificationError(task.id)
            states.advance(None if row is None else row[1], state)
            self._write(task, owner, state, version + 1)
        self._changed(task.id)
        return TaskVersion(version + 1)

    async def get(self, task_id: str, context: ServerCallContext) -> StoredTask | None:
        """Return the caller's task with its version; None when there is none, or it is somebody else's."""
        owner = context.user.user_name
        row = self._row("SELECT task, version FROM tasks WHERE task_id = ? AND owner = ?", task_id, owner)
        return None if row is None else StoredTask(Task.FromString(row[0]), TaskVersion(row[1]))

    def peek(self, task_id: str) -> StoredTask | None:
        """Return a task whoever owns it: for this process, never for a caller."""
        row = self._row("SELECT task, version FROM tasks WHERE task_id = ?", task_id)
        return None if row is None else StoredTask(Task.FromString(row[0]), TaskVersion(row[1]))

    async def list(self, params: ListTasksRequest, context: ServerCallContext) -> ListTasksResponse:
        """Return a page of the caller's tasks, the latest update first, as the SDK's own stores order them.

        Raises InvalidParamsError when the page token was not made here.
        """
        where, values = ["owner = ?"], [context.user.user_name]
        if params.context_id:
            where.append("context_id = ?")
            values.append(params.context_id)
        if params.status:
            where.append("state = ?")
            values.append(TaskState.Name(params.status))
        if params.HasField("status_timestamp_after"):
            where.append("updated >= ?")
            values.append(min(params.status_timestamp_after.ToNanoseconds(), _LARGEST))
        condition = " AND ".join(where)
        total = self._row(f"SELECT count(*) FROM tasks WHERE {condition}", *values)
        if params.page_token:
            after, bounds = _after(params.page_token)
            condition, values = f"{condition} AND {after}", [*values, *bounds]
        size = params.page_size or DEFAULT_LIST_TASKS_PAGE_SIZE
        order = "updated IS NULL, updated DESC, task_id DESC"
        rows = self._rows(
            f"SELECT task, updated, task_id FROM tasks WHERE {condition} ORDER BY {order} LIMIT ?",
            *values,
            size + 1,
        )
        more = len(rows) > size
        rows = rows[:size]
        token = encode_list_tasks_cursor(ListTasksCursor(rows[-1][1], rows[-1][2])) if more else ""
        return ListTasksResponse(
            tasks=[Task.FromString(row[0]) for row in rows],
            total_size=total[0] if total else 0,
            page_size=size,
            next_page_token=token,
        )

    async def delete(self, task_id: str, context: ServerCallContext) -> None:
        """Forget the caller's task and the claims on it. Somebody else's task is left alone."""
        owner = context.user.user_name
        with self._lock:
            if self._rows("DELETE FROM tasks WHERE task_id = ? AND owner = ? RETURNING 1", task_id, owner):
                self._rows("DELETE FROM claims WHERE task_id = ?", task_id)
        self._changed(task_id)

    # ---- idempotency by (caller, messageId) ----------------------------------------------------

    def claim(self, caller: str, message_id: str, fingerprint: bytes, task_id: str) -> Claim:
        """Claim a message; the first one to ask gets ``fresh=True`` and has to execute it under ``task_id``.

        Everybody later gets the first claim, with its task, whatever fingerprint they bring: compare it.
        """
        with self._lock:
            made = self._rows(
                "INSERT INTO claims VALUES (?, ?, ?, ?, NULL) ON CONFLICT DO NOTHING RETURNING 1",
                caller, message_id, fingerprint, task_id,
            )  # fmt: skip
            if made:
                return Claim(caller, message_id, fingerprint, task_id, fresh=True)
            claim = self.claimed(caller, message_id)
        assert claim is not None  # the conflict showed that it is there, and we hold the lock
        return claim

    def claimed(self, caller: str, message_id: str) -> Claim | None:
        """Return the claim on a message, or None when nobody made one, or it was released."""
        row = self._row(
            "SELECT fingerprint, task_id, reply FROM claims WHERE caller = ? AND message_id = ?",
            caller,
            message_id,
        )
        if row is None:
            return None
        reply = None if row[2] is None else Message.FromString(row[2])
        return Claim(caller, message_id, row[0], row[1], fresh=False, reply=reply)

    def answer(self, claim: Claim, reply: Message) -> None:
        """Record the Message that answered a claimed message, when the agent made no task of it."""
        self._rows(
            "UPDATE claims SET reply = ? WHERE caller = ? AND message_id = ?",
            reply.SerializeToString(), claim.caller, claim.message_id,
        )  # fmt: skip
        self._changed(claim.task_id)

    def release(self, claim: Claim) -> None:
        """Give a claim back: the message was refused before anything was executed."""
        self._rows("DELETE FROM claims WHERE caller = ? AND message_id = ?", claim.caller, claim.message_id)
        self._changed(claim.task_id)

    async def changed(self, task_id: str) -> None:
        """Return after the next write to this task or to a claim on it."""
        await self._changes.setdefault(task_id, asyncio.Event()).wait()

    # ---- orphans -------------------------------------------------------------------------------

    def finished(self, task_id: str, *, cut_off: bool = False) -> None:
        """Note that this process no longer executes a task; one that was ``cut off`` may be an orphan."""
        if cut_off:
            self._orphans.add(task_id)
            self._drop_lost_claims("task_id = ?", task_id)
        self._changed(task_id)

    def orphans(self) -> OwnedTasks:
        """Return (owner, task) for each task that is SUBMITTED or WORKING and that nobody executes, by age.

        These are the tasks that were so when the file was opened, and those whose execution was cut off
        since.
        """
        rows = self._rows(f"SELECT owner, task FROM tasks WHERE {_ACTIVE} ORDER BY updated, task_id")
        found = [(owner, Task.FromString(blob)) for owner, blob in rows]
        return [(owner, task) for owner, task in found if task.id in self._orphans]

    def sweep(self, reason: str) -> TaskIds:
        """End each orphan as FAILED with ``reason`` for the caller to read; return their task ids."""
        with self._lock:
            swept = self.orphans()
            for owner, task in swept:
                self.fail(owner, task, reason)
            self._orphans.clear()
        return [task.id for _, task in swept]

    def fail(self, owner: str, task: Task, reason: str) -> None:
        """End one orphan as FAILED; its last status message moves to the history, as the SDK does it."""
        if task.status.HasField("message"):
            task.history.append(task.status.message)
        task.status.Clear()
        task.status.state = TaskState.TASK_STATE_FAILED
        task.status.timestamp.FromDatetime(self._clock())
        task.status.message.CopyFrom(
            Message(
                message_id=self._new_id(),
                role=Role.ROLE_AGENT,
                task_id=task.id,
                context_id=task.context_id,
                parts=[Part(text=reason)],
            )
        )
        self._overwrite(owner, task)

    def take_up_again(self, owner: str, task: Task) -> Message | None:
        """Prepare an orphan for a second execution and return the user's last message, None when it has none.

        What the killed execution had delivered is dropped: artifacts of two executions don't mix.
        """
        messages = [message for message in task.history if message.role == Role.ROLE_USER]
        if not messages:
            return None
        del task.artifacts[:]
        self._overwrite(owner, task)
        self._orphans.discard(task.id)
        last: Message = messages[-1]
        return last

    def close(self) -> None:
        """Let go of the file. Tasks stay as they are; closing twice is fine."""
        with self._lock, suppress(sqlite3.ProgrammingError):
            self._database.close()

    # ---- in the small --------------------------------------------------------------------------

    def _write(self, task: Task, owner: str, state: str, version: int) -> None:
        self._rows(
            _SAVE,
            task.id, owner, task.context_id, state, _updated(task), version, task.SerializeToString(),
        )  # fmt: skip

    def _drop_lost_claims(self, where: str = "TRUE", *values: str) -> None:
        """Release the claims whose message no task has taken and nobody executes: it may be sent again."""
        rows = self._rows(
            "SELECT caller, message_id, task FROM claims LEFT JOIN tasks USING (task_id)"
            f" WHERE {where} AND reply IS NULL AND (task IS NULL OR {_INTERRUPTED})",
            *values,
        )
        for caller, message_id, blob in rows:
            if blob is None or all(m.message_id != message_id for m in Task.FromString(blob).history):
                self._rows("DELETE FROM claims WHERE caller = ? AND message_id = ?", caller, message_id)

    def _overwrite(self, owner: str, task: Task) -> None:
        """Write a task that nobody executes, from whatever version is stored."""
        with self._lock:
            row = self._row("SELECT state, version FROM tasks WHERE task_id = ?", task.id)
            state, version = (None, 0) if row is None else (row[0], row[1])
            new = states.advance(state, TaskState.Name(task.status.state))
            self._write(task, owner, new, version + 1)
        self._changed(task.id)

    def _settle_cancel(self, task: Task, before: int | None) -> None:
        """Give a cancelled task its own time, and its open question to the history.

        The SDK cancels a parked task by changing the state alone.
        """
        if _updated(task) in (None, before):
            if task.status.HasField("message"):
                task.history.append(task.status.message)
                task.status.ClearField("message")
            task.status.timestamp.FromDatetime(self._clock())

    def _changed(self, task_id: str) -> None:
        event = self._changes.pop(task_id, None)
        if event is not None:
            event.set()

    def _rows(self, statement: str, *values: Any) -> Any:
        with self._lock:
            return self._database.execute(statement, values).fetchall()

    def _row(self, statement: str, *values: Any) -> Any:
        with self._lock:
            return self._database.execute(statement, values).fetchone()


def _updated(task: Task) -> int | None:
    """When the status last changed, in nanoseconds since 1970; None when the task does not say."""
    return min(task.status.timestamp.ToNanoseconds(), _LARGEST) if task.status.HasField("timestamp") else None


def _after(page_token: str) -> tuple[str, list[Any]]:
    """The condition for rows that come after a page token, in the order of ``list``."""
    cursor = decode_list_tasks_cursor(page_token)
    if cursor is None or not -_LARGEST <= (cursor.timestamp_ns or 0) <= _LARGEST:
        raise InvalidParamsError("Invalid page token; use the nextPageToken of the page before")
    if cursor.timestamp_ns is None:
        return "updated IS NULL AND task_id < ?", [cursor.task_id]
    time, name = cursor.timestamp_ns, cursor.task_id
    return "(updated < ? OR (updated = ? AND task_id < ?) OR updated IS NULL)", [time, time, name]


def _open(path: str, patience: float) -> sqlite3.Connection:
    """Open, lock, check and if need be make the database."""
    database = None
    try:
        database = sqlite3.connect(path, timeout=patience, isolation_level=None, check_same_thread=False)
        database.execute("PRAGMA locking_mode = EXCLUSIVE")
        new = _is_new(database, path)  # before anything is written: another program's file stays as it is
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = NORMAL")
        database.execute("BEGIN EXCLUSIVE")  # takes the lock, which EXCLUSIVE mode then keeps
        database.execute("COMMIT")
        if new:
            database.executescript(_SCHEMA)
        elif database.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
            raise DocumentError(f"{path} is a damaged task store; restore a copy or give a new file name")
    except sqlite3.Error as error:
        if database is not None:
            database.close()
        raise DocumentError(_explain(error, path)) from error
    except DocumentError:
        if database is not None:
            database.close()
        raise
    return database


def _is_new(database: sqlite3.Connection, path: str) -> bool:
    """Whether the database is empty; raises DocumentError when it is neither empty nor one of ours."""
    application, version = (
        database.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")
    )
    tables = database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if not application and not version and not tables:
        return True
    if application != APPLICATION_ID:
        raise DocumentError(f"{path} is a database of another program; give a task store or a new file name")
    if version != SCHEMA_VERSION:
        raise DocumentError(
            f"{path} has task store schema {version}; this version reads schema {SCHEMA_VERSION}"
        )
    return False


def _explain(error: sqlite3.Error, path: str) -> str:
    text = str(error)
    if "locked" in text or "busy" in text:
        return f"{path} is already open; a task store serves one process at a time, and one store in it"
    if "not a database" in text or "malformed" in text or "disk image" in text:
        return (
            f"{path} is not a task store, or a damaged one ({text}); restore a copy or give a new file name"
        )
    return f"{path} cannot be opened as a task store ({text}); give a file in a directory that can be written"
