"""A record once written stays, and whoever touches it is found out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ai_evolution.a2a import audit
from ai_evolution.a2a.audit import AuditLog, digest
from ai_evolution.errors import DocumentError, EnvironmentProblem, UsageError
from ai_evolution.world import World


def write(log: AuditLog, number: int = 0, **more: Any) -> dict[str, Any]:
    return log.record(
        **{
            "action": "delegate",
            "caller": "hiring.example",
            "agent": "https://checks.example",
            "task": f"task-{number}",
            "skill": "check",
            "consent": "consent-añejo",
            "outcome": "completed",
            "request_digest": digest({"n": number}),
            "result_digest": digest([number]),
        }
        | more
    )


def filled(path: Path | None, count: int = 4) -> AuditLog:
    world = World("audit")
    log = AuditLog(path, clock=world.tick)
    for number in range(count):
        write(log, number)
    return log


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "audit.jsonl"


@pytest.mark.parametrize("on_disk", [True, False])
def test_what_is_recorded_is_read_back_whole_and_in_order(path: Path, on_disk: bool) -> None:
    log = filled(path if on_disk else None)
    assert log.verify() == 4
    records = log.records()
    assert [record["task"] for record in records] == [f"task-{n}" for n in range(4)]
    assert [record["n"] for record in records] == [1, 2, 3, 4]
    assert records[0]["at"] == "2026-01-05T09:00:01Z"
    assert records[0]["previous"] == audit.START
    assert records[3]["previous"] == records[2]["hash"]
    assert log.head == records[3]["hash"]


def test_the_same_world_writes_the_same_bytes(tmp_path: Path) -> None:
    filled(tmp_path / "a")
    filled(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_an_empty_or_absent_log_has_no_records_and_reading_creates_nothing(path: Path) -> None:
    assert AuditLog(path).verify() == 0
    assert AuditLog(path).records() == []
    assert AuditLog(path).recover() is None
    assert AuditLog().verify() == 0


def test_times_are_kept_in_utc() -> None:
    east = timezone(timedelta(hours=9))
    log = AuditLog(clock=lambda: datetime(2026, 1, 1, 9, 0, 0, 5000, tzinfo=east))
    assert write(log)["at"] == "2026-01-01T00:00:00.005000Z"
    assert write(AuditLog())["at"] <= datetime.now(UTC).isoformat()


def test_a_log_is_for_its_owner_alone(path: Path) -> None:
    filled(path)
    if os.name == "posix":
        assert path.stat().st_mode & 0o077 == 0


def test_several_instances_continue_one_chain(path: Path) -> None:
    first, second = AuditLog(path), AuditLog(path)
    for number in range(6):
        write((first, second)[number % 2], number)
    assert first.verify() == second.verify() == 6


LINE = 2  # counted from 1: neither the first nor the last


@pytest.mark.parametrize(
    "name", ["action", "agent", "at", "caller", "consent", "hash", "n", "opens", "outcome", "previous",
             "request_digest", "result_digest", "skill", "task"],
)  # fmt: skip
def test_a_changed_member_is_found_at_its_line_and_stops_further_records(path: Path, name: str) -> None:
    filled(path)
    lines = path.read_bytes().splitlines(keepends=True)
    record = json.loads(lines[LINE - 1])
    record[name] = (
        7 if isinstance(record[name], int) else record[name][:-1] + ("0" if record[name][-1:] != "0" else "1")
    )
    lines[LINE - 1] = audit.rfc8785.dumps(record) + b"\n"
    path.write_bytes(b"".join(lines))
    with pytest.raises(DocumentError, match=rf"line {LINE}:"):
        AuditLog(path).verify()
    size = path.stat().st_size
    with pytest.raises(DocumentError, match=rf"line {LINE}:"):
        write(AuditLog(path))
    assert path.stat().st_size == size


def test_a_forger_who_mends_the_hash_of_a_line_breaks_the_next_one(path: Path) -> None:
    filled(path)
    lines = path.read_bytes().splitlines(keepends=True)
    record = json.loads(lines[1]) | {"consent": "forged"}
    record["hash"] = audit._hash(record)
    lines[1] = audit.rfc8785.dumps(record) + b"\n"
    path.write_bytes(b"".join(lines))
    with pytest.raises(DocumentError, match="line 3:"):
        AuditLog(path).verify()


@pytest.mark.parametrize(
    ("damage", "line"),
    [
        (lambda lines: lines[:1] + lines[2:], 2),
        (lambda lines: lines[1:], 1),
        (lambda lines: [lines[0], lines[2], lines[1], lines[3]], 2),
        (lambda lines: [*lines[:2], lines[1], *lines[2:]], 3),
        (lambda lines: [*lines[:2], b"\n", *lines[2:]], 3),
        (lambda lines: [*lines, b"{}\n"], 5),
        (lambda lines: [*lines, b"[" * 100_000 + b"\n"], 5),
        (lambda lines: [*lines, b'{"n":NaN}\n'], 5),
        (lambda lines: [lines[0].replace(b":", b": ", 1), *lines[1:]], 1),
        (lambda lines: [lines[0].replace(b"\n", b"\r\n"), *lines[1:]], 1),
    ],
)
def test_lines_that_were_removed_moved_repeated_added_or_reformatted_are_found(
    path: Path, damage: Any, line: int
) -> None:
    filled(path)
    path.write_bytes(b"".join(damage(path.read_bytes().splitlines(keepends=True))))
    for act in (
        AuditLog(path).verify,
        AuditLog(path).records,
        AuditLog(path).recover,
        lambda: write(AuditLog(path)),
    ):
        with pytest.raises(DocumentError, match=rf"line {line}:"):
            act()  # type: ignore[operator]


@settings(max_examples=120, deadline=None)
@given(data=st.data())
def test_no_single_byte_can_be_changed_unnoticed(data: st.DataObject) -> None:
    log = filled(None, 3)
    raw = log._memory.getvalue()
    at = data.draw(st.integers(0, len(raw) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda value: value != raw[at]))
    log._memory.seek(at)
    log._memory.write(bytes([byte]))
    with pytest.raises(DocumentError):
        log.verify()


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_log_cut_off_anywhere_inside_a_record_is_reported_and_recovered_only_on_request(
    data: st.DataObject,
) -> None:
    log = filled(None, 3)
    raw = log._memory.getvalue()
    ends = [index + 1 for index, byte in enumerate(raw) if byte == 10]
    cut = data.draw(st.integers(1, len(raw) - 1).filter(lambda value: value not in ends))
    torn = AuditLog()
    torn._memory.write(raw[:cut])
    whole = sum(end <= cut for end in ends)
    for act in (torn.verify, lambda: write(torn)):
        with pytest.raises(DocumentError, match=rf"line {whole + 1}: cut off"):
            act()  # type: ignore[operator]
    record = torn.recover()
    assert record is not None
    assert (record["action"], record["n"]) == ("recover", whole + 1)
    write(torn)
    assert torn.verify() == whole + 2


def test_the_piece_that_was_cut_off_is_kept_beside_the_log(path: Path) -> None:
    filled(path)
    raw = path.read_bytes()
    path.write_bytes(raw[:-10])
    record = AuditLog(path).recover()
    assert record is not None
    (aside,) = path.parent.glob("audit.jsonl.cut-at-*")
    assert raw[:-10].endswith(aside.read_bytes())
    assert record["result_digest"] == f"sha256:{audit.hashlib.sha256(aside.read_bytes()).hexdigest()}"
    assert AuditLog(path).verify() == 4
    assert AuditLog(path).recover() is None


def test_an_instance_that_saw_more_records_than_there_are_now_says_so(path: Path) -> None:
    log = filled(path)
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:2]))
    with pytest.raises(DocumentError, match="shorter"):
        write(log)


def test_an_anchor_finds_a_log_that_was_shortened_or_written_anew(path: Path) -> None:
    log = filled(path)
    anchor = log.head
    write(log, 9)
    assert AuditLog(path).verify(anchor) == 5
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:2]))
    assert AuditLog(path).verify() == 2  # the chain alone cannot know
    with pytest.raises(DocumentError, match=anchor[:16]):
        AuditLog(path).verify(anchor)


def test_a_disk_that_is_full_leaves_the_log_as_it_was(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = filled(path)
    before = path.read_bytes()

    def full(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(audit.os, "fsync", full)
        with pytest.raises(EnvironmentProblem, match="No space left"):
            write(log)
    assert path.read_bytes() == before
    write(log)
    assert log.verify() == 5


def test_a_path_that_is_no_file_is_one_clear_line(tmp_path: Path) -> None:
    for act in (AuditLog(tmp_path).verify, lambda: write(AuditLog(tmp_path))):
        with pytest.raises(DocumentError, match="cannot be opened"):
            act()  # type: ignore[operator]


def test_a_log_that_another_process_keeps_locked_is_given_up_after_a_while(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = filled(path)
    monkeypatch.setattr(audit, "LOCK_PATIENCE", 0.02)
    with (
        path.open("rb") as other,
        audit._locked(other, "x"),
        pytest.raises(EnvironmentProblem, match="locked"),
    ):
        write(log)
    write(log)


PROCESS = """
import sys
from ai_evolution.a2a.audit import AuditLog
log = AuditLog(sys.argv[1])
for number in range(15):
    log.record(action="delegate", caller=sys.argv[2], agent="a", outcome="completed", task=str(number))
"""


def test_processes_that_write_at_once_make_one_chain(path: Path) -> None:
    started = [subprocess.Popen([sys.executable, "-c", PROCESS, str(path), str(name)]) for name in range(3)]
    try:
        assert [process.wait(60) for process in started] == [0, 0, 0]
    finally:
        for process in started:
            if process.poll() is None:
                process.kill()
                process.wait(10)
    records = AuditLog(path).records()
    assert len(records) == 45
    for name in ("0", "1", "2"):
        assert [r["task"] for r in records if r["caller"] == name] == [str(n) for n in range(15)]


def test_a_text_that_has_no_unicode_form_is_recorded_all_the_same() -> None:
    log = AuditLog()
    assert write(log, agent="evil \ud800\n")["agent"] == "evil \\ud800\n"
    assert log.verify() == 1


def test_a_record_can_only_conclude_an_earlier_one() -> None:
    log = filled(None, 1)
    assert write(log, opens=1)["opens"] == 1
    for wrong in (-1, 3):
        with pytest.raises(UsageError):
            write(log, opens=wrong)


def test_every_value_has_a_digest_and_equal_json_has_an_equal_one() -> None:
    assert digest({"b": 1, "a": 2.0}) == digest({"a": 2, "b": 1})
    assert digest({"a": 1}) != digest({"a": "1"})
    assert digest("€") == "sha256:" + audit.hashlib.sha256('"€"'.encode()).hexdigest()
    for odd in (2**60, float("nan"), "\ud800", {1: 2}, object):
        assert digest(odd).startswith("sha256-repr:")
        assert digest(odd) == digest(odd)
