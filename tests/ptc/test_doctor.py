"""The doctor tries each rung for real, and says what it found."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace

import pytest
from rungs import sandbox

from ai_evolution.errors import UsageError
from ai_evolution.ptc import doctor
from ai_evolution.ptc.sandbox import PROMISES


@pytest.mark.parametrize("rung", ["monty", "jail"])
def test_every_promise_of_a_rung_holds_here(rung: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "LOOP_SECONDS", 0.2)
    found = asyncio.run(doctor.examine(sandbox(rung)))
    assert found.usable
    assert found.promises == dict.fromkeys(PROMISES, True)
    assert found.broken == []
    assert {verdict.probe for verdict in found.verdicts} == {probe.id for probe in doctor.PROBES}
    json.dumps(found.to_dict())


def test_where_there_are_no_walls_the_doctor_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "LOOP_SECONDS", 0.2)
    found = asyncio.run(doctor.examine(sandbox("unsafe")))
    assert found.promises == {**dict.fromkeys(PROMISES, False), "time": True}
    assert found.broken == []  # it never said otherwise
    assert replace(found, claims=dict.fromkeys(PROMISES, True)).broken == [
        "network",
        "files",
        "processes",
        "memory",
    ]


def test_a_rung_that_does_not_start_is_reported_and_none_is_taken_instead(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)
    (found,) = asyncio.run(doctor.diagnose(["jail"]))
    assert (found.sandbox, found.usable, found.verdicts) == ("jail", False, ())
    assert found.why
    assert found.help
    assert found.to_dict()["promises"] == {}


def test_an_unknown_rung_is_refused() -> None:
    with pytest.raises(UsageError, match="no sandbox is called 'podman'"):
        asyncio.run(doctor.diagnose(["podman"]))


def test_each_probe_is_told_in_both_languages_and_belongs_to_a_promise() -> None:
    assert {probe.promise for probe in doctor.PROBES} == set(PROMISES)
    assert all(set(probe.tried) == {"en", "es"} for probe in doctor.PROBES)
