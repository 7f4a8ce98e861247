"""``progress``: kept whole when two commands write at once, and never lost when it can't be read."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ai_evolution.errors import EnvironmentProblem
from ai_evolution.files import locked, write_whole
from ai_evolution.labs import LABS
from ai_evolution.progress import Progress, home

WRITERS, EACH = 4, 15


WRITER = """
import sys
from ai_evolution.labs import LABS
from ai_evolution.progress import Progress
for seed in range(int(sys.argv[2])):
    Progress().record_run(sys.argv[1], "134-a2a", seed, "sha256:0", 1, 1)
"""


def test_nothing_run_yet_is_said_with_the_command_to_begin(cli: Callable, own_home: Path) -> None:
    done = cli("progress")
    assert (done.code, done.err) == (0, "")
    assert f" run {next(iter(LABS))}" in done.out
    assert not own_home.exists()


def test_runs_verifications_and_checks_are_shown(
    cli: Callable, coin: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")  # wide enough that no cell of the table is broken
    diary = Progress()
    cli("run", coin, "--seed", 5)
    diary.record_verify(coin, "134-a2a", "sha256:0", True)
    diary.record_check("134-a2a", 10, 20)
    diary.record_check("134-a2a", 7, 20)
    said = " ".join(cli("progress").out.split())
    for words in ("2 of 2 (seed 5)", "1 of 1 times", "7 of 20 behaviours (best 10)", "134-a2a"):
        assert words in said
    assert "mejor 10" in " ".join(cli("progress", "--lang", "es").out.split())
    kept = json.loads(cli("progress", "--json").out)
    assert kept["labs"][coin]["runs"] == 1
    assert kept["checks"]["134-a2a"]["best"] == 10


def test_a_check_of_an_exercise_alone_is_shown_too(cli: Callable) -> None:
    Progress().record_check("134-a2a", 3, 20)
    assert "3 of 20" in " ".join(cli("progress").out.split())


def test_commands_that_write_at_once_lose_nothing(own_home: Path) -> None:
    assert str(own_home) == os.environ["AI_EVOLUTION_HOME"]
    call = [sys.executable, "-c", WRITER]
    writers = [subprocess.Popen([*call, f"lab{n % 2}", str(EACH)]) for n in range(WRITERS)]
    assert [writer.wait(60) for writer in writers] == [0] * WRITERS
    labs = Progress().read()["labs"]
    assert {name: row["runs"] for name, row in labs.items()} == {"lab0": 2 * EACH, "lab1": 2 * EACH}


UNREADABLE: list[Any] = [
    b"", b"{", b"\xff\xfe", b"[]", b"[" * 100_000, b'{"schema": "other"}',
    b'{"schema": "ai-evolution/progress/1", "labs": []}',
    b'{"schema": "ai-evolution/progress/1", "labs": {"x": {"runs": "many"}}}',
    b'{"schema": "ai-evolution/progress/1", "checks": {"x": 3}}',
]  # fmt: skip


@pytest.mark.parametrize("content", UNREADABLE, ids=lambda content: content[:60].decode("latin-1"))
def test_a_diary_that_cannot_be_read_is_put_aside_in_one_line(
    cli: Callable, coin: str, own_home: Path, content: bytes
) -> None:
    own_home.mkdir()
    for _ in range(2):
        (own_home / "progress.json").write_bytes(content)
        done = cli("run", coin)
        assert done.code == 0
        assert len(done.err.splitlines()) == 1
        assert "it is kept as progress.unreadable-" in done.err
    assert [(own_home / f"progress.unreadable-{n}.json").read_bytes() for n in (1, 2)] == [content] * 2
    assert Progress().read()["labs"][coin]["runs"] == 1


def test_where_the_diary_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("HOME", str(tmp_path))
    state = tmp_path / "state"
    assert home({"AI_EVOLUTION_HOME": str(tmp_path / "own")}) == tmp_path / "own"
    assert home({"XDG_STATE_HOME": str(state)}) == state / "ai-evolution"
    assert home({"XDG_STATE_HOME": "relative"}) == tmp_path / ".local" / "state" / "ai-evolution"
    assert home({}) == tmp_path / ".local" / "state" / "ai-evolution"
    monkeypatch.setattr("sys.platform", "win32")
    assert home({"LOCALAPPDATA": str(state)}) == state / "ai-evolution"


def test_times_are_utc_and_come_from_the_clock_that_was_given(own_home: Path) -> None:
    diary = Progress(own_home, clock=lambda: datetime(2026, 1, 5, 9, 0, 0, 123, tzinfo=UTC))
    diary.record_check("134-a2a", 1, 2)
    assert diary.read()["checks"]["134-a2a"]["last"] == "2026-01-05T09:00:00+00:00"


def test_a_lock_that_is_held_is_waited_for_only_so_long(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    with locked(lock), pytest.raises(EnvironmentProblem, match="still held"), locked(lock, deadline=0.05):
        raise AssertionError("two had the lock at once")
    with locked(tmp_path / "lock", deadline=0.05):
        pass


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    write_whole(path, b"old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(Exception, match="cannot be written: No space left on device"):
        write_whole(path, b"new")
    assert path.read_bytes() == b"old"
    assert [item.name for item in tmp_path.iterdir()] == ["file"]


@pytest.mark.skipif(os.name == "nt", reason="permission bits and symbolic links are POSIX")
def test_a_written_file_keeps_its_permissions_and_its_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_bytes(b"old")
    real.chmod(0o640)
    link.symlink_to(real)
    write_whole(link, b"new")
    assert link.is_symlink()
    assert (real.read_bytes(), real.stat().st_mode & 0o777) == (b"new", 0o640)
