"""The self-checks of class 131: right when the work is right, clear when it is not, never in the way."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ai_evolution.atdf.compatibility import diff
from ai_evolution.atdf.description import read
from ai_evolution.labs import dates, selfcheck
from ai_evolution.labs import practice_contracts as practice

NAME = selfcheck.words("tries", "intentos")
LATER = "2025-07-12T10:00:00Z"
EDGES = [(practice.MOMENT, LATER, "error"), (LATER, LATER, "error")]
LAYERS = {
    "offset": "shape",
    "order": "meaning",
    "free": "meaning",
    "whole": "shape",
    "share": "quality",
    "fast": "quality",
    "run": "evidence",
}
BLAME = {
    "text": "caller",
    "past": "caller",
    "nine": "tool",
    "extra": "tool",
    "full": "nobody",
    "closed": "tool",
    "turned": "description",
}
NEEDED = {"99 %, 0 failed": 381, "99.9 %, 0 failed": 3838, "99 %, 5 failed": 1166}


def holds(arguments: Any, now: datetime) -> bool:
    start, end = (datetime.fromisoformat(arguments[name]) for name in ("Start", "End"))
    return now < start < end <= start + timedelta(hours=4)


def lines(check: selfcheck.SelfCheck) -> list[str]:
    return [line["en"] for line in check.missing]


# ------------------------------------------------------------------------------- the right work


def test_work_that_is_right_misses_nothing() -> None:
    assert practice.check_layers(LAYERS).done
    assert practice.check_blame(BLAME).done
    assert practice.check_condition(holds).done
    assert practice.check_examples(EDGES).done
    assert practice.check_calls({"seats": 2, "note": "x" * 141}, {"seats": 9}).done
    assert practice.check_needed(NEEDED).done


def test_everything_that_is_asked_has_a_sentence_in_both_languages() -> None:
    assert list(practice.SENTENCES) == list(LAYERS)
    assert list(practice.INCIDENTS) == list(BLAME)
    for texts in (*practice.SENTENCES.values(), *practice.INCIDENTS.values()):
        assert texts["en"].endswith(".")
        assert texts["es"].endswith(".")
    assert list(practice.FLAWS) == list(dates.flaws())


def test_no_incident_ends_well_and_one_is_nobodys_fault() -> None:
    outcomes = {name: practice.incident(name) for name in practice.INCIDENTS}
    assert not [name for name, outcome in outcomes.items() if outcome.succeeded]
    assert [name for name, outcome in outcomes.items() if outcome.blame is None] == ["full"]


def test_the_revision_of_the_exercise_widens_and_narrows_and_is_major() -> None:
    change = diff(read(practice.OLD)[0], read(practice.NEW)[0])
    assert change.level == "major"
    assert {reason.level for reason in change.reasons} == {"major", "minor"}


# ------------------------------------------------------------------------------ work that is not right


@pytest.mark.parametrize("name", LAYERS)
def test_a_sentence_in_another_layer_is_named_and_no_other(name: str) -> None:
    for wrong in set(practice.LAYERS) - {LAYERS[name]}:
        [said] = lines(practice.check_layers({**LAYERS, name: wrong}))
        assert said.startswith(f"{name}: ")
        assert LAYERS[name] not in said


@pytest.mark.parametrize("name", BLAME)
def test_another_blame_is_named_and_no_other(name: str) -> None:
    for wrong in set(practice.BLAMES) - {BLAME[name]}:
        [said] = lines(practice.check_blame({**BLAME, name: wrong}))
        assert said.startswith(f"{name}: ")


BAD_CONDITIONS = {
    "says yes": lambda _arguments, _now: True,
    "says no": lambda _arguments, _now: False,
    "says almost yes": lambda arguments, now: holds(arguments, now) or None,
    "forgets now": lambda arguments, _now: holds(arguments, datetime.fromisoformat("2000-01-01T00:00:00Z")),
    "looks at another clock": lambda arguments, _now: holds(
        arguments, datetime.fromisoformat("2026-01-05T09:00:00Z")
    ),
    "compares texts": lambda a, now: now.isoformat() < a["Start"] < a["End"] and holds(a, now),
    "allows five hours": lambda a, now: holds(a, now) or holds({**a, "End": _sooner(a["End"])}, now),
    "counts seconds without the days": lambda a, now: (
        now < _at(a["Start"]) < _at(a["End"]) and (_at(a["End"]) - _at(a["Start"])).seconds <= 4 * 3600
    ),
    "raises": lambda arguments, _now: arguments["Begin"],
    "hands nothing back": lambda _arguments, _now: None,
}


def _at(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _sooner(text: str) -> str:
    return (datetime.fromisoformat(text) - timedelta(hours=1)).isoformat()


@pytest.mark.parametrize("bad", BAD_CONDITIONS.values(), ids=BAD_CONDITIONS.keys())
def test_a_condition_that_is_wrong_is_told_for_which_call(bad: Any) -> None:
    said = lines(practice.check_condition(bad))
    assert said
    assert all(line.startswith("now 20") for line in said)


def test_the_room_answers_with_the_students_condition_and_a_broken_one_is_the_descriptions_fault() -> None:
    fine = {"Start": "2026-02-01T10:00:00Z", "End": "2026-02-01T12:00:00Z"}
    assert practice.room(holds).call(fine)["status"] == "success"
    refused = practice.room(lambda _arguments, _now: False, "es").outcome(fine)
    assert refused.envelope["data"]["code"] == "NOT_AVAILABLE"
    assert "cuatro horas" in refused.envelope["data"]["expected"]
    assert practice.room(lambda arguments, _now: arguments["Begin"] > 0).outcome(fine).blame == "description"


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (None, "no example yet"),
        ([], "no example yet"),
        ("an example", "no example yet"),
        (EDGES[0], "1: ("),
        ([EDGES[0]], "no example notices: forgets the order"),
        ([EDGES[1]], "no example notices: start may be now"),
        ([*EDGES, (LATER, "2025-07-12T12:00:00Z", "error")], "3: the sound tool answers otherwise"),
        ([*EDGES, (LATER, "tomorrow", "error")], "3: refused for its shape"),
        ([*EDGES, (LATER, LATER)], "3: ("),
        ([*EDGES, (LATER, LATER, "maybe")], "3: ("),
        ([*EDGES, (1, 2, "error")], "3: ("),
        (EDGES * 6, "12 examples; at most 10"),
    ],
)
def test_examples_that_notice_too_little_or_are_none_are_told_so(more: Any, says: str) -> None:
    assert says in " | ".join(lines(practice.check_examples(more)))


def test_an_example_that_notices_nothing_is_remarked_and_takes_nothing_away() -> None:
    check = practice.check_examples([*EDGES, (LATER, "2025-07-12T12:00:00Z", "success")])
    assert check.done
    assert [remark["en"] for remark in check.seen] == ["3: notices no flaw"]


def test_the_articles_examples_and_the_edges_notice_what_the_lab_says() -> None:
    seen = practice.noticed(dates.with_edges("en"))
    assert [flaw for flaw, row in seen.items() if any(row[:2])] == ["accepts everything"]
    assert all(any(row) for row in seen.values())
    assert practice.noticed(practice.with_examples(EDGES)) == seen


@pytest.mark.parametrize(
    ("breaks", "gains", "named"),
    [
        ({}, {}, ["breaks: no call yet", "gains: no call yet"]),
        ({"seats": 2}, {"seats": 9}, ["breaks: old and new say success, success"]),
        ({"seats": 9}, {"seats": 2, "note": "x" * 141}, ["breaks: ", "gains: "]),
        ({"seats": {1}}, {"seats": 9}, ["breaks: old and new say no JSON object"]),
        ({"seats": float("nan")}, {"seats": 9}, ["breaks: old and new say no JSON object"]),
    ],
)
def test_a_call_that_shows_nothing_is_told_how_it_was_answered(
    breaks: Any, gains: Any, named: list[str]
) -> None:
    said = lines(practice.check_calls(breaks, gains))
    assert len(said) == len(named)
    assert all(line.startswith(start) for line, start in zip(said, named, strict=True))


@pytest.mark.parametrize("name", NEEDED)
def test_one_call_more_or_less_than_needed_is_told_apart(name: str) -> None:
    [few] = lines(practice.check_needed({**NEEDED, name: NEEDED[name] - 1}))
    [many] = lines(practice.check_needed({**NEEDED, name: NEEDED[name] + 1}))
    assert "the interval begins at" in few
    assert "fewer than" in many


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.binary(max_size=4),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=8,
)


@settings(max_examples=40)
@given(ANYTHING, ANYTHING)
def test_whatever_is_written_is_answered_in_words(written: Any, other: Any) -> None:
    checks = [
        practice.check_layers(written),
        practice.check_layers(dict.fromkeys(LAYERS, written)),
        practice.check_blame(dict.fromkeys(BLAME, written)),
        practice.check_condition(written),
        practice.check_condition(lambda _arguments, _now: written),
        practice.check_examples(written),
        practice.check_examples([written]),
        practice.check_calls(written, other),
        practice.check_calls({"seats": written}, {"note": other}),
        practice.check_needed(written),
        practice.check_needed(dict.fromkeys(NEEDED, written)),
        selfcheck.check_estimate(NAME, written, 4.5, (3, 6)),
        selfcheck.check_each(NAME, written, BLAME),
        selfcheck.check_each(NAME, dict.fromkeys(BLAME, written), BLAME),
    ]
    for check in checks:
        assert check.says("en").startswith(check.name["en"])
        assert check.says("es").startswith(check.name["es"])


def test_a_table_is_aligned_as_text_and_escaped_as_html() -> None:
    table = practice.Table(["name", "n"], [("a < b", 1), ("c", 22)])
    assert repr(table).splitlines() == ["name   n", "a < b  1", "c      22"]
    assert "<td>a &lt; b</td><td>1</td>" in table._repr_html_()


# ------------------------------------------------------------------------------------- predictions


def test_an_estimate_is_held_against_the_measured_number_or_its_interval() -> None:
    assert not selfcheck.check_estimate(NAME, None, 5.45).done
    assert not selfcheck.check_estimate(NAME, "five", 5.45).done
    assert not selfcheck.check_estimate(NAME, True, 5.45).done
    assert not selfcheck.check_estimate(NAME, float("nan"), 5.45).done
    assert not selfcheck.check_estimate(NAME, 10**400, 5.45).done
    assert "as predicted: 41" in selfcheck.check_estimate(NAME, 41, 41).says()
    far = selfcheck.check_estimate(NAME, 9, 5.45)
    assert far.done
    assert "you predicted 9, measured was 5.45; which assumption was wrong?" in far.says()
    assert "inside the interval" in selfcheck.check_estimate(NAME, 38, 40, (34.6, 45.6)).says()
    assert "which assumption" in selfcheck.check_estimate(NAME, 20, 40, (34.6, 45.6)).says()


def test_a_prediction_of_many_things_names_each_that_came_out_otherwise() -> None:
    check = selfcheck.check_each(NAME, {"a": "minor", "b": "minor", "c": None}, dict.fromkeys("abc", "minor"))
    assert lines(check) == ["c: no prediction yet"]
    other = selfcheck.check_each(NAME, {"a": "minor", "b": "patch"}, dict.fromkeys("ab", "minor"))
    assert other.done
    assert re.search(r"b: you predicted patch, measured was minor", other.says())
    assert "a:" not in other.says()
