"""The lab of class 132: every claim holds on every transport, and for each a peer breaks it, and it alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from labs.bad_servers import BAD, MORE
from labs.test_multiagent import records_of

from ai_evolution.errors import UsageError
from ai_evolution.evidence import Report
from ai_evolution.labs import run_lab
from ai_evolution.labs.mcp import CLAIMS, LIMITATIONS

REPOSITORY = Path(__file__).parents[2]
GOLDEN = REPOSITORY / "classes/132-mcp/evidence.seed-0.json"


@cache
def sound(seed: int = 0) -> Report:
    return run_lab("mcp", seed)


@pytest.mark.parametrize("seed", [0, 7])
def test_every_claim_holds(seed: int) -> None:
    assert [item.id for item in sound(seed).evidence if not item.holds] == []


@pytest.mark.parametrize("claim", [claim.id for claim in CLAIMS])
def test_a_peer_bad_enough_turns_one_finding_false_and_it_alone(claim: str) -> None:
    report = run_lab("mcp", 1, peers=BAD[claim]())
    assert [item.id for item in report.evidence if not item.holds] == [claim]


@pytest.mark.parametrize(("claim", "cast"), MORE)
def test_a_second_bad_peer_breaks_the_same_claim_and_it_alone(claim: str, cast: Any) -> None:
    report = run_lab("mcp", 1, peers=cast())
    assert [item.id for item in report.evidence if not item.holds] == [claim]


def test_over_a_loopback_socket_the_evidence_is_the_same() -> None:
    """Over pipes too: that takes forty processes, and ``.ci/run`` compares it with the golden report."""
    assert run_lab("mcp", 0, transport="http").document() == sound().document()


def test_a_transport_that_there_is_not_is_named_with_those_that_there_are() -> None:
    with pytest.raises(UsageError, match="expected one of memory, stdio, http"):
        run_lab("mcp", 0, transport="smoke")


def test_another_seed_asks_other_things_and_has_another_digest() -> None:
    assert sound(7).inputs != sound(0).inputs
    assert sound(7).digest != sound(0).digest


def test_hash_seed_time_zone_locale_and_working_directory_move_no_byte(tmp_path: Path) -> None:
    program = (
        "import sys; from ai_evolution.labs import run_lab;"
        "sys.stdout.buffer.write(run_lab('mcp', 7).to_bytes())"
    )
    changes = {"PYTHONHASHSEED": "4242", "TZ": "Asia/Kathmandu", "LANG": "es_ES.UTF-8", "LC_ALL": "C"}
    path = os.pathsep.join([str(REPOSITORY), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **changes, "PYTHONPATH": path},
        cwd=tmp_path,
        capture_output=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout == sound(7).to_bytes()
    assert done.stderr == b""  # faults that the lab injects leave no noise on the terminal


def test_every_source_of_a_claim_is_in_the_catalogues() -> None:
    papers = json.loads((REPOSITORY / "papers/catalog/papers.json").read_text(encoding="utf-8"))
    sources = json.loads((REPOSITORY / "sources/bibliography.json").read_text(encoding="utf-8"))
    known = {record["id"] for catalogue in (papers, sources) for record in records_of(catalogue)}
    assert {source for claim in CLAIMS for source in claim.sources} <= known


def test_claims_and_limitations_speak_both_languages() -> None:
    for item in [*CLAIMS, *LIMITATIONS]:
        assert item.en.endswith(".")
        assert item.es.endswith(".")
        assert item.en != item.es


def test_the_scripted_model_is_named_among_the_limitations() -> None:
    assert any(limit.kind == "model" and "scripted" in limit.en for limit in LIMITATIONS)


def test_each_bad_peer_breaks_a_claim_that_exists() -> None:
    assert list(BAD) == [claim.id for claim in CLAIMS]


def test_the_golden_report_of_the_class_is_what_the_lab_says_today() -> None:
    assert Report.load(GOLDEN).document() == sound().document()
