"""The lab of class 134: every claim holds among honest peers, and each can turn out false."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from labs.runs import honest

from ai_evolution.evidence import Report, read_document
from ai_evolution.labs import LABS, run_lab
from ai_evolution.labs.multiagent import CLAIMS, LIMITATIONS

REPOSITORY = Path(__file__).parents[2]
GOLDEN = REPOSITORY / "classes/134-a2a/evidence.seed-0.json"


def test_every_claim_holds_among_honest_peers() -> None:
    assert [item.id for item in honest().evidence if not item.holds] == []


@pytest.mark.usefixtures("forked")
def test_over_a_loopback_socket_the_evidence_is_the_same() -> None:
    assert honest(7, "http").document() == honest(7).document()


@pytest.mark.usefixtures("forked")
def test_another_seed_is_other_people_and_another_digest() -> None:
    assert honest(7).inputs["candidates"] != honest(8).inputs["candidates"]
    assert honest(7).digest != honest(8).digest


@pytest.mark.usefixtures("forked")
def test_a_lab_runs_inside_a_running_event_loop_as_a_notebook_has_one() -> None:
    async def cell() -> Report:
        return run_lab("multiagent", 7)

    assert asyncio.run(cell()).digest == honest(7).digest


@pytest.mark.usefixtures("forked")
def test_the_number_of_candidates_is_a_parameter_of_the_evidence() -> None:
    report = honest(0, "memory", 1)
    assert report.parameters == {"candidates": 1}
    assert len(report.inputs["candidates"]) == 1  # type: ignore[arg-type]
    assert report.holds


def test_what_the_lab_leaves_behind_is_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    run_lab("multiagent", 3)
    assert list(tmp_path.iterdir()) == []


def test_every_source_of_a_claim_is_in_the_catalogues() -> None:
    papers = json.loads((REPOSITORY / "papers/catalog/papers.json").read_text(encoding="utf-8"))
    sources = json.loads((REPOSITORY / "sources/bibliography.json").read_text(encoding="utf-8"))
    known = {record["id"] for catalogue in (papers, sources) for record in records_of(catalogue)}
    assert {source for claim in CLAIMS for source in claim.sources} <= known


def records_of(catalogue: Any) -> list[dict[str, Any]]:
    if isinstance(catalogue, list):
        return catalogue
    return next(value for value in catalogue.values() if isinstance(value, list))


def test_claims_and_limitations_speak_both_languages() -> None:
    for item in [*CLAIMS, *LIMITATIONS]:
        assert item.en.endswith(".")
        assert item.es.endswith(".")
        assert item.en != item.es


def test_the_scripted_model_is_named_among_the_limitations() -> None:
    assert any(limit.kind == "model" and "scripted" in limit.en for limit in LIMITATIONS)


def test_the_golden_report_of_the_class_is_what_the_lab_says_today() -> None:
    assert Report.load(GOLDEN).document() == honest().document()
    assert read_document(GOLDEN)["class"] == LABS["multiagent"].class_slug
