"""``seeds`` and ``grade``: what an instructor types. How grades come about is tested in ``tests/grading``."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ai_evolution.grading.submission import student_seed

KEY = "a course key that nobody guesses"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "key").write_text(f"{KEY}\n", encoding="utf-8")
    (tmp_path / "handed" / "Ana Núñez").mkdir(parents=True)
    return tmp_path


def test_seeds_are_those_that_grading_expects(cli: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = f'"student","seed"\n"Ana Núñez","{student_seed(KEY, "Ana Núñez", "134-a2a")}"\n'
    named = cli("seeds", "Ana Núñez", "--class", 134, "--key-file", "key")
    assert (named.code, named.out, named.err) == (0, wanted, "")
    monkeypatch.setattr(sys, "stdin", io.StringIO("\nAna Núñez\n"))
    assert cli("seeds", "--class", "134-a2a", "--key-file", "key").out == wanted


def test_a_folder_of_submissions_becomes_a_gradebook_and_feedback(cli: Callable, here: Path) -> None:
    done = cli("grade", "handed", "--class", 134, "--out", "graded", "--key-file", "key",
               "--deadline", "2001-01-01T00:00:00+01:00", "--per-day", 3, "--cap", 20)  # fmt: skip
    assert (done.code, done.err) == (0, "")
    for words in ("Ana Núñez", "Gradebook, pending.csv and feedback are in graded"):
        assert words in done.out
    feedback = [path.read_text(encoding="utf-8") for path in (here / "graded" / "feedback").iterdir()]
    assert len(feedback) == 1
    assert "Ana Núñez" in (here / "graded" / "gradebook.csv").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["grade", "handed", "--out", "x"], "grade needs --class"),
        (["grade", "handed", "--class", "134"], "grade needs --out"),
        (["grade", "absent", "--class", "134", "--out", "x"], "absent cannot be read"),
        (["grade", "handed", "--class", "7", "--out", "x"], "class '7' has no exercise"),
        (["grade", "handed", "--class", "134", "--out", "handed/x"], "lies inside handed"),
        (
            ["grade", "handed", "--class", "134", "--out", "x", "--deadline", "soon"],
            "--deadline 'soon' is not",
        ),
        (["grade", "handed", "--class", "134", "--out", "x", "--deadline", "2026-12-01"], "with a zone"),
        (["grade", "handed", "--class", "134", "--out", "x", "--cap", "101"], "--cap '101' is not a whole"),
        (["grade", "handed", "--class", "134", "--out", "x", "--scores", "absent.csv"], "absent.csv"),
        (["grade", "handed", "--class", "134", "--out", "x", "--key-file", "absent"], "absent: No such file"),
        (["seeds", "luis", "--class", "134", "--key-file", "short"], "shorter than 16 characters"),
        (["seeds", "luis", "--class", "134"], "seeds needs --key-file"),
        (["seeds", "--class", "134", "--key-file", "key"], "no student was named"),
    ],
    ids=lambda value: " ".join(value[:1] + value[-2:]) if isinstance(value, list) else "",
)
def test_a_wrong_call_is_one_line_and_exit_code_2(
    cli: Callable, here: Path, argv: list[str], says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "short").write_text("key", encoding="utf-8")
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    done = cli(*argv)
    assert (done.code, done.out, len(done.err.splitlines())) == (2, "", 1)
    assert says in done.err
    assert not (here / "x").exists()
