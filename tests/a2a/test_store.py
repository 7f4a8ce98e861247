"""The task store, through the SDK's interface and its own doors."""

from __future__ import annotations

import itertools
import sqlite3
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from a2a.auth.user import User
from a2a.server.cluster import ConcurrentTaskModificationError, TaskVersion
from a2a.server.context import ServerCallContext
from a2a.server.tasks import InMemoryTaskStore
from a2a.types import Artifact, ListTasksRequest, Message, Part, Role, Task, TaskState, TaskStatus
from a2a.utils.errors import InvalidParamsError
from app_peers import on_a_loop
from hypothesis import given, settings
from hypothesis import strategies as st

from ai_evolution.a2a import SqliteTaskStore, states
from ai_evolution.errors import DocumentError, IllegalTransition

NOON = datetime(2026, 11, 1, 12, tzinfo=UTC)
KNOWN = sorted(states.TRANSITIONS)


class Named(User):
    def __init__(self, name: str) -> None:
        self._name = name

    @property
    def is_authenticated(self) -> bool:
        return True

    @property
    def user_name(self) -> str:
        return self._name


ALICE, BOB = (ServerCallContext(user=Named(name)) for name in ("alice", "bob"))


def task(
    state: str = states.SUBMITTED, task_id: str = "t1", context_id: str = "c1", at: datetime | None = NOON
) -> Task:
    made = Task(id=task_id, context_id=context_id, status=TaskStatus(state=TaskState.Value(state)))
    if at is not None:
        made.status.timestamp.FromDatetime(at)
    return made


async def saved(
    store: SqliteTaskStore, *path: str, owner: ServerCallContext = ALICE, **more: Any
) -> TaskVersion:
    version = TaskVersion.MISSING
    for state in path:
        version = await store.save(task(state, **more), prev_version=version, context=owner)
    return version


@on_a_loop
async def test_a_task_comes_back_as_it_was_saved_with_a_version_that_counts() -> None:
    store = SqliteTaskStore()
    whole = task(states.WORKING)
    whole.artifacts.append(Artifact(artifact_id="a", parts=[Part(text="añejo €")]))
    whole.history.append(Message(message_id="m", role=Role.ROLE_USER, parts=[Part(text="hi")]))
    first = await store.save(whole, prev_version=TaskVersion.MISSING, context=ALICE)
    second = await store.save(whole, prev_version=first, context=ALICE)
    stored = await store.get("t1", ALICE)
    assert stored is not None
    assert stored.task == whole
    assert stored.version == second
    assert second.is_after(first)
    assert stored.task is not whole


@on_a_loop
async def test_a_save_from_an_old_version_is_refused_and_changes_nothing() -> None:
    store = SqliteTaskStore()
    old = await saved(store, states.SUBMITTED)
    await store.save(task(states.WORKING), prev_version=old, context=ALICE)
    for version in (old, TaskVersion.MISSING):
        with pytest.raises(ConcurrentTaskModificationError):
            await store.save(task(states.COMPLETED), prev_version=version, context=ALICE)
    stored = await store.get("t1", ALICE)
    assert stored is not None
    assert stored.task.status.state == TaskState.TASK_STATE_WORKING


@on_a_loop
async def test_a_stranger_neither_sees_nor_writes_nor_deletes_a_task() -> None:
    store = SqliteTaskStore()
    version = await saved(store, states.WORKING)
    assert await store.get("t1", BOB) is None
    assert (await store.list(ListTasksRequest(), BOB)).total_size == 0
    for prev in (version, TaskVersion.MISSING):
        with pytest.raises(ConcurrentTaskModificationError):
            await store.save(task(states.CANCELED), prev_version=prev, context=BOB)
    await store.delete("t1", BOB)
    assert await store.get("t1", ALICE) is not None
    await store.delete("t1", ALICE)
    assert await store.get("t1", ALICE) is None


@on_a_loop
async def test_the_table_of_states_is_enforced_at_save() -> None:
    async def check(old: str, new: str) -> None:
        store = SqliteTaskStore()
        version = TaskVersion.MISSING
        if old == states.CANCELED:
            version = await saved(store, states.SUBMITTED)
        version = await store.save(task(old), prev_version=version, context=ALICE)
        if new in states.TRANSITIONS[old]:
            await store.save(task(new), prev_version=version, context=ALICE)
            expected = new
        else:
            with pytest.raises((IllegalTransition, ConcurrentTaskModificationError)):
                await store.save(task(new), prev_version=version, context=ALICE)
            expected = old
        stored = await store.get("t1", ALICE)
        assert stored is not None
        assert TaskState.Name(stored.task.status.state) == expected

    for old, new in itertools.product(KNOWN, KNOWN):
        await check(old, new)


@on_a_loop
async def test_canceled_overwrites_a_live_task_from_any_version_and_never_a_terminal_or_absent_one() -> None:
    store = SqliteTaskStore(clock=lambda: NOON + timedelta(hours=1))
    await saved(store, states.SUBMITTED, states.WORKING)
    await store.save(task(states.CANCELED), prev_version=TaskVersion.MISSING, context=ALICE)
    stored = await store.get("t1", ALICE)
    assert stored is not None
    assert stored.task.status.timestamp.ToDatetime(UTC) == NOON + timedelta(hours=1)
    for task_id in ("t1", "t2"):
        with pytest.raises(ConcurrentTaskModificationError):
            await store.save(task(states.CANCELED, task_id), prev_version=TaskVersion.MISSING, context=ALICE)


@on_a_loop
async def test_lists_page_by_page_like_the_sdk_in_memory_store() -> None:
    ours, theirs = SqliteTaskStore(), InMemoryTaskStore()
    for number in range(23):
        at = None if number % 7 == 3 else NOON + timedelta(seconds=number // 2)
        one = task(KNOWN[number % 3], f"t{number:02}", f"c{number % 2}", at)
        if one.status.state == TaskState.TASK_STATE_CANCELED:
            one.status.state = TaskState.TASK_STATE_FAILED
        await ours.save(one, prev_version=TaskVersion.MISSING, context=ALICE)
        await theirs.save(one, ALICE)
    queries = [
        ListTasksRequest(page_size=5),
        ListTasksRequest(page_size=4, context_id="c1"),
        ListTasksRequest(status=TaskState.TASK_STATE_FAILED, page_size=3),
        ListTasksRequest(),
        ListTasksRequest(page_size=23),
    ]
    late = ListTasksRequest(page_size=2)
    late.status_timestamp_after.FromDatetime(NOON + timedelta(seconds=8))
    for query in [*queries, late]:
        pages = 0
        while True:
            mine, other = await ours.list(query, ALICE), await theirs.list(query, ALICE)
            assert mine == other
            pages += 1
            if not mine.next_page_token:
                break
            query.page_token = mine.next_page_token
        assert pages >= 1


@settings(max_examples=40)
@given(st.text(max_size=60))
def test_a_page_token_made_elsewhere_is_refused(token: str) -> None:
    @on_a_loop
    async def check() -> None:
        store = SqliteTaskStore()
        request = ListTasksRequest(page_token=token.encode("utf-8", "ignore").decode())
        if not request.page_token:
            return
        with pytest.raises(InvalidParamsError, match="nextPageToken"):
            await store.list(request, ALICE)

    check()


def test_the_first_to_claim_a_message_executes_it_and_the_others_learn_the_task() -> None:
    store = SqliteTaskStore()
    first = store.claim("alice", "m1", b"content", "t1")
    again = store.claim("alice", "m1", b"other", "t2")
    other = store.claim("bob", "m1", b"content", "t3")
    assert (first.fresh, again.fresh, other.fresh) == (True, False, True)
    assert (again.task_id, again.fingerprint) == ("t1", b"content")
    store.release(first)
    assert store.claimed("alice", "m1") is None
    assert store.claim("alice", "m1", b"other", "t4").fresh


def test_a_reply_is_kept_with_its_claim(tmp_path: Path) -> None:
    store = SqliteTaskStore(tmp_path / "tasks.db")
    reply = Message(message_id="r", role=Role.ROLE_AGENT, parts=[Part(text="hello")])
    store.answer(store.claim("alice", "m1", b"x", "t1"), reply)
    store.close()
    reopened = SqliteTaskStore(tmp_path / "tasks.db")
    reopened.sweep("restarted")
    claim = reopened.claimed("alice", "m1")
    assert claim is not None
    assert claim.reply == reply
    reopened.close()


@on_a_loop
async def test_the_sweep_ends_orphans_with_a_reason_and_leaves_the_rest(tmp_path: Path) -> None:
    dead = SqliteTaskStore(tmp_path / "tasks.db")
    for state in KNOWN:
        path = (states.SUBMITTED, state) if state == states.CANCELED else (state,)
        await saved(dead, *path, task_id=state)
    dead.close()
    store = SqliteTaskStore(
        tmp_path / "tasks.db", clock=lambda: NOON + timedelta(days=1), new_id=lambda: "sweep-1"
    )
    await saved(store, states.WORKING, task_id="live")
    assert sorted(store.sweep("The house burnt down.")) == sorted(states.ACTIVE)
    for state in states.ACTIVE:
        stored = await store.get(state, ALICE)
        assert stored is not None
        status = stored.task.status
        assert status.state == TaskState.TASK_STATE_FAILED
        assert status.message.parts[0].text == "The house burnt down."
        assert status.message.message_id == "sweep-1"
        assert status.timestamp.ToDatetime(UTC) == NOON + timedelta(days=1)
    live = await store.get("live", ALICE)
    assert live is not None
    assert live.task.status.state == TaskState.TASK_STATE_WORKING
    assert store.sweep("again") == []
    store.finished("live", cut_off=True)
    assert store.sweep("and now") == ["live"]
    store.close()


@on_a_loop
async def test_a_claim_of_a_dead_process_whose_message_no_task_has_taken_is_dropped(tmp_path: Path) -> None:
    store = SqliteTaskStore(tmp_path / "tasks.db")
    parked = task(states.INPUT_REQUIRED)
    parked.history.append(Message(message_id="taken", role=Role.ROLE_USER, parts=[Part(text="x")]))
    await store.save(parked, prev_version=TaskVersion.MISSING, context=ALICE)
    for message_id, task_id in (("taken", "t1"), ("lost", "t1"), ("never", "t9")):
        store.claim("alice", message_id, b"x", task_id)
    store.close()
    store = SqliteTaskStore(tmp_path / "tasks.db")
    assert store.claimed("alice", "taken") is not None
    assert store.claimed("alice", "lost") is None
    assert store.claimed("alice", "never") is None
    store.close()


def test_a_living_process_keeps_its_file_to_itself_and_a_killed_one_leaves_its_tasks(tmp_path: Path) -> None:
    program = """if True:
        import asyncio, sys
        from a2a.server.cluster import TaskVersion
        from a2a.server.context import ServerCallContext
        from a2a.types import Task, TaskState, TaskStatus
        from ai_evolution.a2a import SqliteTaskStore
        store = SqliteTaskStore(sys.argv[1])
        task = Task(id="t", context_id="c", status=TaskStatus(state=TaskState.TASK_STATE_WORKING))
        asyncio.run(store.save(task, prev_version=TaskVersion.MISSING, context=ServerCallContext()))
        print("saved", flush=True)
        sys.stdin.read()
    """
    path = tmp_path / "tasks.db"
    command = [sys.executable, "-c", program, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout is not None
            assert child.stdout.readline() == "saved\n"
            with pytest.raises(DocumentError, match="one process at a time"):
                SqliteTaskStore(path, patience=0.05)
        finally:
            child.kill()
    store = SqliteTaskStore(path)
    assert store.sweep("killed") == ["t"]
    store.close()


def test_two_stores_of_one_process_cannot_share_a_file_either(tmp_path: Path) -> None:
    store = SqliteTaskStore(tmp_path / "tasks.db")
    with pytest.raises(DocumentError, match="already open"):
        SqliteTaskStore(tmp_path / "tasks.db", patience=0.05)
    store.close()
    SqliteTaskStore(tmp_path / "tasks.db").close()


def _garbage(path: Path) -> None:
    path.write_bytes(b"not a database at all, " * 50)


def _truncated(path: Path) -> None:
    store = SqliteTaskStore(path)
    for number in range(200):
        store.claim("alice", f"m{number}", b"x" * 200, "t")
    store.close()
    path.write_bytes(path.read_bytes()[:9000])


def _foreign(path: Path) -> None:
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE things (a)")
    other.close()


def _later(path: Path) -> None:
    SqliteTaskStore(path).close()
    other = sqlite3.connect(path)
    other.execute("PRAGMA user_version = 99")
    other.close()


def _folder(path: Path) -> None:
    path.mkdir()


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (_garbage, "not a task store"),
        (_truncated, "damaged"),
        (_foreign, "another program"),
        (_later, "schema 99"),
        (_folder, "cannot be opened"),
    ],
)
def test_a_file_that_is_no_task_store_is_refused_in_one_line(tmp_path: Path, spoil: Any, says: str) -> None:
    path = tmp_path / "tasks.db"
    spoil(path)
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(DocumentError, match=says) as refused:
        SqliteTaskStore(path)
    assert len(str(refused.value).splitlines()) == 1
    assert before is None or path.read_bytes() == before


def test_closing_twice_is_fine_and_tasks_stay(tmp_path: Path) -> None:
    store = SqliteTaskStore(tmp_path / "tasks.db")
    store.answer(store.claim("alice", "m", b"x", "t"), Message(message_id="r", role=Role.ROLE_AGENT))
    store.close()
    store.close()
    again = SqliteTaskStore(tmp_path / "tasks.db")
    assert again.claimed("alice", "m") is not None
    again.close()
