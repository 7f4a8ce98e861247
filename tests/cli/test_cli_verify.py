"""``verify``: recomputed, compared, and the first difference named; three exit codes."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ai_evolution import __version__, progress
from ai_evolution.evidence import digest_of
from ai_evolution.labs import run_lab


@pytest.fixture
def evidence(tmp_path: Path, coin: str) -> Path:
    path = tmp_path / "evidence.json"
    path.write_bytes(run_lab(coin, 7).to_bytes())
    return path


def rewritten(path: Path, change: Callable[[dict[str, Any]], Any], *, sign: bool = False) -> Path:
    document = json.loads(path.read_text(encoding="utf-8"))
    change(document)
    if sign:
        document["digest"] = digest_of(document)
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def test_evidence_that_is_the_same_holds(cli: Callable, evidence: Path) -> None:
    done = cli("verify", evidence)
    assert (done.code, done.err) == (0, "")
    assert "2 of 2 claims hold" in done.out
    assert "recalculada" in cli("verify", evidence, "--lang", "es").out
    assert progress.Progress().read()["verified"]["coin"]["held"] == 2


def test_a_changed_value_is_named_with_both_values(cli: Callable, evidence: Path) -> None:
    rewritten(evidence, lambda d: d["result"].update(toss=1_000_000))
    done = cli("verify", evidence)
    assert done.code == 1
    assert "/result/toss" in done.out
    assert "1000000" in done.out
    assert str(run_lab("coin", 7).result["toss"]) in done.out


def test_a_changed_value_under_a_new_digest_is_caught_too(cli: Callable, evidence: Path) -> None:
    rewritten(evidence, lambda d: d["evidence"][1].update(observed=False), sign=True)
    done = cli("verify", evidence, "--json")
    said = json.loads(done.out)
    assert done.code == 1
    assert (said["holds"], said["pointer"]) == (False, "/evidence/1/observed")
    assert (said["given"], said["computed"]) == (False, True)


def test_a_claim_that_does_not_hold_ends_with_1(cli: Callable, tmp_path: Path, coin: str) -> None:
    path = tmp_path / "evidence.json"
    path.write_bytes(run_lab(coin, 13).to_bytes())
    done = cli("verify", path)
    assert done.code == 1
    assert "these claims do not hold: coin.lucky" in done.out


def test_evidence_of_another_engine_gets_a_clear_line(cli: Callable, evidence: Path) -> None:
    rewritten(evidence, lambda d: d.update(engine="0.9.0"), sign=True)
    done = cli("verify", evidence)
    assert done.code == 2
    assert f"made by engine 0.9.0, and this is {__version__}" in done.err
    rewritten(evidence, lambda d: d.update(digest="sha256:" + "0" * 64))
    assert cli("verify", evidence).code == 1


UNREADABLE: list[tuple[str, bytes, str]] = [
    ("empty", b"", "empty file"),
    ("cut off", b'{"schema": "ai-evo', "cut off?"),
    ("no JSON", b"hello", "not JSON"),
    ("no UTF-8", b'{"a": "\xff"}', "not UTF-8"),
    ("a list", b"[]", "expected a JSON object"),
    ("a key twice", b'{"a": 1, "a": 2}', "'a' occurs twice"),
    ("nested too deep", b"[" * 200_000, "nested too deep"),
    ("another document", b'{"schema": "something else"}', "is a required property"),
]


@pytest.mark.parametrize(
    ("content", "says"), [row[1:] for row in UNREADABLE], ids=[row[0] for row in UNREADABLE]
)
def test_a_file_that_is_no_evidence_is_one_line_and_exit_code_2(
    cli: Callable, tmp_path: Path, content: bytes, says: str
) -> None:
    path = tmp_path / "evidence.json"
    path.write_bytes(content)
    done = cli("verify", path)
    assert (done.code, done.out, len(done.err.splitlines())) == (2, "", 1)
    assert says in done.err


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda d: d.update(kind="juggling"), "no lab is called 'juggling'"),
        (lambda d: d["parameters"].update(speed=3), "no parameter 'speed'"),
        (lambda d: d["evidence"][0].pop("holds"), "'holds' is a required property"),
        (lambda d: d.update(seed="7"), "/seed"),
    ],
)
def test_evidence_of_what_nobody_knows_is_exit_code_2(
    cli: Callable, evidence: Path, change: Callable[[dict[str, Any]], Any], says: str
) -> None:
    done = cli("verify", rewritten(evidence, change))
    assert (done.code, len(done.err.splitlines())) == (2, 1)
    assert says in done.err


def test_a_dash_is_standard_input(cli: Callable, evidence: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(evidence.read_bytes())))
    assert cli("verify", "-").code == 0
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    done = cli("verify", "-")
    assert (done.code, "standard input: empty file" in done.err) == (2, True)
