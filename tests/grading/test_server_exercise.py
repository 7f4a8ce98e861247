"""Servers that students hand in, good and hostile: each ends in a report in words and leaves nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from server_mutants import REFERENCE_SERVER
from test_exercise import _nothing_stays_behind as nothing_stays_behind

from ai_evolution.grading.exercise import CheckReport, behaviour_list, check_exercise, exercise_behaviours

ROOT = Path(__file__).parents[2]
EXERCISE = ROOT / "classes" / "132-mcp" / "exercise"
SOURCE = REFERENCE_SERVER.read_text(encoding="utf-8")

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="rights are lowered on POSIX only")
_nothing_stays_behind = nothing_stays_behind


def check(tmp_path: Path, source: str, only: list[str] | None = None, **settings: float) -> CheckReport:
    file = tmp_path / "my_server.py"
    file.write_text(source, encoding="utf-8")
    return check_exercise(132, file, only=only, **{"deadline": 40, "patience": 10, **settings})


def test_the_reference_solution_passes_in_its_own_process(tmp_path: Path) -> None:
    some = ["era.spoken", "find.compatible", "crash.masked", "cancel.reaches", "ask.accepted"]
    report = check(tmp_path, SOURCE, some, seed=3)
    assert report.passed, report.text()
    assert "my_server.py: 5 of 5 behaviours hold." in report.text("en")
    assert "Your server ran in a process of its own." in report.text("en")
    assert "Tu servidor se ejecutó en un proceso propio." in report.text("es")


def test_what_is_no_server_is_one_clear_line(tmp_path: Path) -> None:
    report = check(tmp_path, "def build(fridge):\n    return lambda scope, receive, send: None\n")
    line = "build(fridge) returned a function where an MCP server (MCPServer or Server) was expected"
    assert report.text("en") == f"my_server.py: {line}"
    assert "\n" not in report.text("es")
    assert (report.exit_code, report.observations) == (1, ())


def test_dying_in_a_call_is_told_and_what_held_before_is_kept(tmp_path: Path) -> None:
    source = SOURCE.replace("            seen = []\n", "            __import__('os')._exit(9)\n")
    report = check(tmp_path, source, ["find.compatible", "progress.told", "ask.accepted"])
    assert not report.passed
    assert "the server's process ended before the check did (exit code 9)" in report.text("en")
    assert "the connection was" in report.text("en")


@pytest.mark.parametrize(("lang", "name"), [("en", "README.md"), ("es", "README.es.md")])
def test_the_exercise_page_lists_exactly_the_behaviours_that_are_checked(lang: str, name: str) -> None:
    page = (EXERCISE / name).read_text(encoding="utf-8")
    assert behaviour_list(132, lang) in page, "write behaviour_list(132, lang) into the page"
    assert len(exercise_behaviours(132)) == 18
