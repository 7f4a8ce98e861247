"""The lab of class 131: every claim holds, and for each a part is bad enough to break it, and it alone."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from datetime import timedelta
from functools import cache
from pathlib import Path

import pytest
from labs.bad_tools import BAD
from labs.test_multiagent import records_of

from ai_evolution.errors import EnvironmentProblem
from ai_evolution.evidence import Report
from ai_evolution.labs import contracts, dates, repairer, run_lab
from ai_evolution.labs.contracts import CLAIMS, LIMITATIONS
from ai_evolution.world import EPOCH

REPOSITORY = Path(__file__).parents[2]
GOLDEN = REPOSITORY / "classes/131-contracts/evidence.seed-0.json"


@cache
def sound(seed: int = 0, cases: int = 60) -> Report:
    return run_lab("contracts", seed, cases=cases)


@pytest.mark.parametrize("seed", [0, 7, 2**53 - 1])
def test_every_claim_holds(seed: int) -> None:
    assert [item.id for item in sound(seed).evidence if not item.holds] == []


@pytest.mark.parametrize("claim", [claim.id for claim in CLAIMS])
def test_a_part_bad_enough_turns_one_finding_false_and_it_alone(claim: str) -> None:
    report = run_lab("contracts", 1, peers=BAD[claim]())
    assert [item.id for item in report.evidence if not item.holds] == [claim]


def test_the_transport_moves_no_byte_since_nothing_crosses_a_wire() -> None:
    assert run_lab("contracts", 0, transport="http").document() == sound().document()


def test_another_seed_is_other_broken_calls_and_another_digest() -> None:
    assert sound(7).inputs["broken_calls"] != sound(0).inputs["broken_calls"]
    assert sound(7).digest != sound(0).digest


def test_hash_seed_time_zone_locale_and_working_directory_move_no_byte(tmp_path: Path) -> None:
    program = (
        "import sys; from ai_evolution.labs import run_lab;"
        "sys.stdout.buffer.write(run_lab('contracts', 7).to_bytes())"
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
    assert done.stderr == b""


def test_the_number_of_broken_calls_is_a_parameter_of_the_evidence() -> None:
    report = sound(0, 30)
    assert report.parameters == {"cases": 30}
    assert len(report.inputs["broken_calls"]) == 30  # type: ignore[arg-type]
    assert report.holds


def test_what_the_lab_leaves_behind_is_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    run_lab("contracts", 3)
    assert list(tmp_path.iterdir()) == []


def test_without_the_recorded_tools_the_lab_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contracts, "RECORDED", tmp_path)
    with pytest.raises(EnvironmentProblem, match="run this lab from a checkout"):
        run_lab("contracts", 0)


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


def test_the_scripted_repairer_is_named_among_the_limitations() -> None:
    assert any(limit.kind == "model" and "script" in limit.en for limit in LIMITATIONS)


def test_each_bad_part_breaks_a_claim_that_exists() -> None:
    assert list(BAD) == [claim.id for claim in CLAIMS]


def test_the_golden_report_of_the_class_is_what_the_lab_says_today() -> None:
    assert Report.load(GOLDEN).document() == sound().document()


# the repairer


def test_every_drawn_call_fails_and_has_the_flaws_that_it_names() -> None:
    tool = dates.date_range("en").at(EPOCH)
    chance = random.Random(5)
    for case in (repairer.draw(chance, EPOCH) for _ in range(300)):
        answer = tool.call(case.arguments)
        assert answer["status"] == "error"
        wrong_shape = any(flaw.split()[0] in repairer.SHAPE_FLAWS for flaw in case.flaws)
        assert (answer["data"]["code"] == "INVALID_ARGUMENTS") is wrong_shape


def test_all_three_lives_have_the_same_menu_and_never_make_one_call_twice() -> None:
    tool = dates.date_range("en").at(EPOCH)
    for level in repairer.LEVELS:
        for seed in range(30):
            chance = random.Random(seed)
            case = repairer.draw(chance, EPOCH)
            made: list[str] = []

            def call(arguments: dict[str, object], made: list[str] = made) -> object:
                made.append(json.dumps(arguments, sort_keys=True))
                return tool.call(arguments)

            count = repairer.tries(case, call, level, chance)  # type: ignore[arg-type]
            assert count == len(made) == len(set(made))


def test_an_error_that_says_nothing_usable_is_given_up_at_once() -> None:
    arguments = {"Start": repairer.written(EPOCH + timedelta(days=1))}
    assert repairer.corrections(arguments, {"text": "wrong"}) == arguments
