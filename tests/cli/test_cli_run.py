"""``run``: what a person sees, what a program reads, which files are written, how it ends."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ai_evolution import progress
from ai_evolution.cli import entry, lab
from ai_evolution.evidence import Report
from ai_evolution.labs import LABS, run_lab


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.is_file())


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def test_in_a_pipe_the_output_is_the_evidence_alone_and_no_file_is_written(
    cli: Callable, coin: str, here: Path
) -> None:
    done = cli("run", coin, "--seed", 7)
    assert (done.code, done.err) == (0, "")
    assert done.out.encode() == run_lab(coin, 7).to_bytes()
    assert files(here) == []
    assert cli("run", coin, "--seed", 7, "--json").out == done.out


def test_the_table_shows_claims_limitations_and_where_the_evidence_went(
    cli: Callable, coin: str, here: Path
) -> None:
    done = cli("run", coin, "--table")
    assert (done.code, done.err) == (0, "")
    for words in ("Which side up?", "A coin has two sides.", "coin.lucky", "One coin only",
                  "2 of 2 claims hold", "run.json", " verify evidence.json"):  # fmt: skip
        assert words in done.out
    assert files(here) == ["evidence.json", "run.json"]
    assert Report.load(here / "evidence.json").digest in done.out


def test_the_command_to_verify_works_as_it_is_printed(
    cli: Callable, coin: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    assert f"{sys.executable} -m ai_evolution verify" in cli("run", coin, "--table").out
    monkeypatch.setattr("shutil.which", lambda name: f"/somewhere/{name}")
    assert "check it: ai-evolution verify evidence.json" in cli("run", coin, "--table").out


def test_the_table_speaks_spanish(cli: Callable, coin: str) -> None:
    done = cli("run", coin, "--table", "--lang", "es")
    for words in ("¿Qué cara sale?", "Una moneda tiene dos caras.", "¡ni una más!", "Se cumplen 2 de 2"):
        assert words in done.out


def test_a_claim_that_does_not_hold_is_named_and_the_exit_code_is_1(
    cli: Callable, coin: str, here: Path
) -> None:
    done = cli("run", coin, "--seed", 13, "--table")
    assert done.code == 1
    assert "1 of 2 claims hold; these do not: coin.lucky" in done.out
    assert not Report.load(here / "evidence.json").holds
    assert cli("run", coin, "--seed", 13, "--json").code == 1


def test_run_json_says_where_and_how_long_and_the_evidence_does_not(
    cli: Callable, coin: str, here: Path
) -> None:
    cli("run", coin, "--transport", "http", "--out", "here.json")
    assert files(here) == ["here.json", "here.run.json"]
    run = json.loads((here / "here.run.json").read_text(encoding="utf-8"))
    evidence = (here / "here.json").read_bytes()
    assert run["digest"] == Report.load(here / "here.json").digest
    assert run["transport"] == "http"
    assert {"seconds"} <= set(run["measurements"])
    assert {"python", "system", "packages", "engine"} <= set(run["environment"])
    assert "pydantic" in run["environment"]["packages"]
    assert run["environment"]["system"].encode() not in evidence
    assert evidence == run_lab(coin).to_bytes()


def test_out_may_be_a_folder_that_exists(cli: Callable, coin: str, here: Path) -> None:
    (here / "kept").mkdir()
    assert cli("run", coin, "--out", "kept").code == 0
    assert files(here / "kept") == ["evidence.json", "run.json"]


def test_an_out_that_cannot_be_is_refused_before_the_lab_runs(
    cli: Callable, coin: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never() -> None:
        raise AssertionError("the lab was loaded")

    monkeypatch.setitem(LABS, coin, type("Never", (), {**vars(LABS[coin]), "load": staticmethod(never)})())  # type: ignore[arg-type]
    done = cli("run", coin, "--out", "absent/e.json")
    assert (done.code, len(done.err.splitlines())) == (2, 1)
    assert "absent does not exist" in done.err


def test_a_run_that_breaks_leaves_the_old_evidence_and_nothing_half_written(
    cli: Callable, coin: str, here: Path
) -> None:
    (here / "evidence.json").write_text("old", encoding="utf-8")
    assert cli("run", coin, "--out", ".", "--param", "bias=9").code == 2
    assert files(here) == ["evidence.json"]
    assert (here / "evidence.json").read_text(encoding="utf-8") == "old"


def test_parameters_reach_the_lab(cli: Callable, coin: str) -> None:
    said = json.loads(cli("run", coin, "--param", "bias=5").out)
    assert said["parameters"] == {"bias": 5}
    assert said["inputs"] == {"bias": 5}


@pytest.mark.parametrize("name", ["134", "134-a2a"])
def test_a_lab_can_be_named_by_its_class(cli: Callable, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    monkeypatch.setattr("ai_evolution.cli.runs._run", lambda lab_name, *_: seen.append(lab_name) or 0)
    assert cli("run", name).code == 0
    assert seen == ["multiagent"]


def test_lab_py_takes_the_options_of_run(coin: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert lab(coin, ["--seed", "13", "--table", "--out", "."]) == 1
    assert "coin.lucky" in capsys.readouterr().out
    assert files(here) == ["evidence.json", "run.json"]
    assert lab(coin, ["--sed", "1"]) == 2
    assert "lab.py does not understand --sed; did you mean --seed?" in capsys.readouterr().err
    assert lab(coin, ["--help"]) == 0
    assert "usage: lab.py" in capsys.readouterr().out


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "cp437", "latin-1"])
def test_signs_that_the_output_lacks_are_shown_in_plain_letters(
    coin: str, encoding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding=encoding))
    assert entry(["run", coin, "--table", "--lang", "es"]) == 0
    said = written.getvalue().decode(encoding)
    for words in ("-> la de arriba", "Se cumplen 2 de 2", "yes", "una m"):
        assert words in said
    assert ("más" in said) == (encoding != "ascii")


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-16"])
def test_json_is_the_same_bytes_whatever_the_encoding(
    coin: str, encoding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding=encoding))
    assert entry(["run", coin, "--json"]) == 0
    assert written.getvalue() == run_lab(coin).to_bytes()


def test_what_was_run_is_written_in_the_diary(cli: Callable, coin: str) -> None:
    cli("run", coin, "--seed", 13)
    cli("run", coin, "--seed", 4)
    row = progress.Progress().read()["labs"][coin]
    assert (row["runs"], row["complete"], row["seeds"], row["held"], row["claims"]) == (2, 1, [13, 4], 2, 2)


def test_a_diary_that_cannot_be_kept_never_fails_a_run(
    cli: Callable, coin: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("no folder", encoding="utf-8")
    monkeypatch.setenv("AI_EVOLUTION_HOME", str(tmp_path / "file" / "home"))
    done = cli("run", coin)
    assert done.code == 0
    assert json.loads(done.out)["kind"] == coin
    assert len(done.err.splitlines()) == 1
    assert "progress is not kept" in done.err


def test_an_error_nobody_thought_of_is_one_line_and_a_traceback_with_debug(
    cli: Callable, coin: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> None:
        raise ZeroDivisionError("by\nnothing")

    monkeypatch.setitem(LABS, coin, type("Broken", (), {**vars(LABS[coin]), "load": staticmethod(broken),
                                                        "read_parameters": lambda *_: {}})())  # type: ignore[arg-type]  # fmt: skip
    done = cli("run", coin)
    assert done.code == 2
    assert done.err == (
        "ai-evolution: unexpected ZeroDivisionError: by nothing "
        "(run it again with --debug to see where, and please report it)\n"
    )
    assert "Traceback" in cli("run", coin, "--debug").err


def test_a_package_that_is_missing_is_named_with_the_command_that_installs_it(
    cli: Callable, coin: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> None:
        import a_package_that_nobody_has  # noqa: F401

    monkeypatch.setitem(LABS, coin, type("Broken", (), {**vars(LABS[coin]), "load": staticmethod(broken),
                                                        "read_parameters": lambda *_: {}})())  # type: ignore[arg-type]  # fmt: skip
    done = cli("run", coin)
    assert done.code == 2
    assert "a_package_that_nobody_has is not installed; python3 scripts/course.py lab 134" in done.err
