"""``check``: the student's agent in its own process, the answer in words, nothing left running."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from ai_evolution.progress import Progress

REFERENCE = Path(__file__).resolve().parents[1] / "grading" / "reference_agent.py"


def test_the_reference_solution_passes_and_the_diary_says_so(cli: Callable) -> None:
    done = cli("check", "134", REFERENCE, "--json")
    said = json.loads(done.out)
    assert (done.code, done.err, said["passed"]) == (0, "", True)
    row = Progress().read()["checks"]["134-a2a"]
    assert row["best"] == row["behaviours"] == len(said["behaviours"])


def test_one_behaviour_can_be_asked_for_in_spanish(cli: Callable) -> None:
    done = cli("check", "134-a2a", REFERENCE, "--only", "card.published", "--lang", "es")
    assert done.code == 0
    assert "se cumplen 1 de 1 comportamientos" in done.out
    assert Progress().read()["checks"] == {}


def test_a_tool_of_class_131_is_checked_by_the_same_command(cli: Callable) -> None:
    tool = REFERENCE.with_name("reference_tool.py")
    done = cli("check", "131", tool, "--only", "call.limits", "--lang", "es")
    assert (done.code, done.err) == (0, "")
    assert "Tu herramienta se ejecutó en un proceso propio" in done.out
    assert "se cumplen 1 de 1 comportamientos" in done.out


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("def build(:\n", "agent.py"),
        ("import sys\nsys.exit(3)\n", "agent.py"),
        ("x = 1\n", "build"),
    ],
    ids=["syntax error", "exits", "no build"],
)
def test_an_agent_that_does_not_start_is_one_line_and_exit_code_1(
    cli: Callable, tmp_path: Path, source: str, says: str
) -> None:
    path = tmp_path / "agent.py"
    path.write_text(source, encoding="utf-8")
    done = cli("check", "134", path)
    assert (done.code, done.out, len(done.err.splitlines())) == (1, "", 1)
    assert says in done.err


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["134", "absent.py"], "absent.py: no such file"),
        (["134", "."], "is no ordinary file"),
        (["999", "absent.py"], "'999' has no exercise"),
        (["134", str(REFERENCE), "--only", "task.completed"], "'task.completed' is no behaviour"),
        (["131", str(REFERENCE), "--only", "task.completes"], "'task.completes' is no behaviour"),
        (["134"], "check needs FILE"),
    ],
)
def test_a_wrong_call_is_one_line_and_exit_code_2(cli: Callable, argv: list[str], says: str) -> None:
    done = cli("check", *argv)
    assert (done.code, done.out, len(done.err.splitlines())) == (2, "", 1)
    assert says in done.err
