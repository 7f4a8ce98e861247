"""``mcp serve`` and ``mcp describe``, as they are typed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from ai_evolution.cli.mcp import FORM_NAMES, file_name

ROOT = Path(__file__).parents[2]
SERVE = [sys.executable, "-m", "ai_evolution", "mcp", "serve", "--root", str(ROOT)]
HELLO = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"},
    },
}  # fmt: skip
PATIENT = 60


def test_the_course_is_served_over_pipes_and_described_without_loss(
    cli: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = f"PYTHONPATH={os.pathsep.join(filter(None, (str(ROOT), os.environ.get('PYTHONPATH'))))}"
    done = cli("mcp", "describe", "--out", tmp_path, "--env", env, "--", *SERVE)
    assert done.code == 0, done.err
    assert "speaks 2026-07-28; 11 tool(s)" in done.out
    assert "made up because atdf-2 demands them" in done.out
    assert "nothing is lost in atdf-2" in done.out
    assert "every tool is the same text as before" in done.out
    files = {each.name for each in tmp_path.glob("*.json")}
    assert {"run_lab.json", "get_expenses.json", "read_file.json"} <= files
    assert json.loads((tmp_path / "run_lab.json").read_text(encoding="utf-8"))["tool_id"] == "run_lab"


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_a_server_on_pipes_ends_when_told_to_though_its_client_is_silent() -> None:
    with subprocess.Popen(
        SERVE, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        guard = threading.Timer(PATIENT, server.kill)
        guard.start()
        try:
            server.stdin.write(json.dumps(HELLO).encode() + b"\n")
            server.stdin.flush()
            told = json.loads(server.stdout.readline())
            assert told["result"]["serverInfo"]["name"] == "ai-evolution-course"
            server.send_signal(signal.SIGTERM)
            assert server.wait() == 143
        finally:
            guard.cancel()
            server.kill()


def test_a_server_that_can_not_be_started_is_one_line(cli: Callable) -> None:
    done = cli("mcp", "describe", "--", "no-such-program-anywhere")
    assert (done.code, done.out, len(done.err.splitlines())) == (2, "", 1)
    assert "no-such-program-anywhere" in done.err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["describe", "--form", "mcp", "http://127.0.0.1:9/mcp"], "accepted: atdf-1"),
        (["describe", "--env", "NOTHING", "x"], "NAME=VALUE"),
        (["describe", "--out", "nowhere/at/all", "x"], "is no folder"),
        (["describe"], "needs"),
        (["serve", "--port", "1"], "--port belongs to --http"),
        (["serve", "--root", "nowhere/at/all"], "is no folder"),
    ],
)
def test_what_is_typed_wrong_is_answered_in_one_line(cli: Callable, words: list[str], says: str) -> None:
    done = cli("mcp", *words)
    assert (done.code, done.out, len(done.err.splitlines())) == (2, "", 1)
    assert says in done.err


def test_the_forms_that_are_offered_are_those_that_there_are() -> None:
    from ai_evolution.mcp.describe import FORMS

    assert FORM_NAMES == FORMS


def test_no_tool_names_a_file_outside_or_twice() -> None:
    taken: set[str] = set()
    names = [
        file_name(each, taken)
        for each in ("../a", "/etc/x", ".env", "Read", "read", "con", "", "ñ b", "r" * 300)
    ]
    assert names[3:5] == ["Read.json", "read-2.json"]
    assert len({each.casefold() for each in names}) == len(names)
    assert all(each == Path(each).name and not each.startswith(".") and len(each) < 100 for each in names)
    assert names[5] == "_con.json"
