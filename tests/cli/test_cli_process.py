"""The command as a process of its own: bytes, encodings, pipes, signals, and what is left behind."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ai_evolution.evidence import Report

CALL = [sys.executable, "-m", "ai_evolution"]
POSIX = pytest.mark.skipif(os.name == "nt", reason="signals, terminals and process groups of POSIX")


@pytest.fixture(scope="module")
def evidence() -> bytes:
    """The recorded report of seed 0, which another process made, on another day."""
    return (Path(__file__).parents[2] / "classes/134-a2a/evidence.seed-0.json").read_bytes()


def test_hash_seed_time_zone_locale_folder_and_transport_move_no_byte(
    shell: Callable, evidence: bytes, tmp_path: Path
) -> None:
    other = tmp_path / "another folder"
    other.mkdir()
    done = shell(
        "run", "multiagent", "--transport", "http", "--out", "e.json", cwd=other,
        PYTHONHASHSEED="1", TZ="Pacific/Kiritimati", LANG="es_ES.UTF-8", PYTHONUTF8="1",
    )  # fmt: skip
    assert (done.code, done.err) == (0, "")  # the faults that the lab injects leave no noise
    assert done.out.encode() == evidence
    assert (other / "e.json").read_bytes() == evidence
    assert sorted(item.name for item in other.iterdir()) == ["e.json", "e.run.json"]


def test_evidence_that_comes_through_a_pipe_is_verified(shell: Callable, evidence: bytes) -> None:
    done = shell("verify", "-", stdin=evidence)
    assert (done.code, done.err) == (0, "")
    cut = shell("verify", "-", stdin=evidence[: len(evidence) // 2])
    assert (cut.code, len(cut.err.splitlines())) == (2, 1)
    assert "cut off?" in cut.err


@pytest.mark.parametrize(
    "environment",
    [
        {"PYTHONIOENCODING": "cp1252"},
        {"PYTHONIOENCODING": "ascii"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "latin-1"},
    ],
    ids=lambda environment: environment["PYTHONIOENCODING"],
)
def test_an_output_with_few_letters_is_no_crash(shell: Callable, environment: dict[str, str]) -> None:
    for argv, code in ((["doctor"], 0), (["catalog"], 0), (["rum"], 2)):
        done = shell(*argv, "--lang", "es", **environment)
        assert done.code == code, done.err
        assert "Traceback" not in done.err


@contextmanager
def at_a_terminal(
    argv: list[str], folder: Path, **environment: str
) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A command whose three streams are a terminal; it is ended and reaped in any case."""
    import pty

    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*CALL, *argv],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=folder,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "100", **environment},
        start_new_session=True,
    )
    os.close(theirs)
    try:
        yield process, ours
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(10)
        os.close(ours)


def read_all(terminal: int, seconds: float = 120.0) -> str:
    """Everything that is written to a terminal until its other end is closed."""
    said, until = b"", time.monotonic() + seconds
    while time.monotonic() < until:
        if not select.select([terminal], [], [], 0.5)[0]:
            continue
        try:
            more = os.read(terminal, 65536)
        except OSError:  # how Linux says that the other end is closed
            break
        if not more:
            break
        said += more
    return said.decode("utf-8", "replace")


@POSIX
def test_at_a_terminal_a_run_ends_with_the_table_and_its_files(tmp_path: Path, evidence: bytes) -> None:
    other = {"PYTHONHASHSEED": "4242", "TZ": "Asia/Kathmandu", "LC_ALL": "C"}
    with at_a_terminal(["run", "multiagent"], tmp_path, **other) as (process, terminal):
        said = read_all(terminal)
        assert process.wait(30) == 0, said
    assert "What this run does not show:" in said
    assert "claims hold." in said
    assert " verify evidence.json" in said
    assert (tmp_path / "evidence.json").read_bytes() == evidence
    report = Report.load(tmp_path / "evidence.json")
    assert report.digest in said
    assert json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))["digest"] == report.digest


def children(group: int) -> list[str]:
    """The processes of a session that are still there."""
    told = subprocess.run(
        ["ps", "-e", "-o", "sid=,pid=,stat=,args="], capture_output=True, text=True, check=True
    )
    return [line for line in told.stdout.splitlines() if line.split()[0] == str(group)]


@POSIX
@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_run_is_one_line_and_leaves_nothing(tmp_path: Path, sent: int, code: int) -> None:
    process = subprocess.Popen(
        [*CALL, "run", "multiagent", "--out", "e.json", "--debug"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        assert process.stderr is not None
        seen = b""
        while b"HTTP Request" not in seen:  # the lab is at work: its peers talk
            seen = process.stderr.readline()
            assert seen, "the run ended before it could be interrupted"
        process.send_signal(sent)
        out, err = process.communicate(timeout=60)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(10)
    assert (process.returncode, out) == (code, b"")
    assert err.splitlines()[-1] in (b"ai-evolution: interrupted", b"ai-evolution: told to end")
    assert list(tmp_path.glob("*e.json*")) == []
    assert children(process.pid) == []


@POSIX
def test_a_reader_that_leaves_early_is_no_error(tmp_path: Path) -> None:
    buffered = {**os.environ, "PYTHONUNBUFFERED": ""}
    for argv in (["--help"], ["catalog"], ["catalog", "--json"]):
        process = subprocess.Popen(
            [*CALL, *argv], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path, env=buffered
        )
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        said = process.stderr.read()
        assert (process.wait(60), said) == (141, b"")
        process.stderr.close()


def test_the_installed_script_is_the_same_command(shell: Callable) -> None:
    script = Path(sys.executable).with_name("ai-evolution.exe" if os.name == "nt" else "ai-evolution")
    if not script.exists():
        pytest.skip("the package is not installed: there is no console script beside this Python")
    done = subprocess.run([script, "--help"], capture_output=True, timeout=60, check=False)
    assert done.returncode == 0
    assert done.stdout.decode().splitlines() == shell("--help").out.splitlines()
