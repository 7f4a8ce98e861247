"""Envelopes: three dialects, and a translation that names each leaf it could not carry."""

from __future__ import annotations

import copy
import json
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ai_evolution.atdf.documents import at, load_file
from ai_evolution.atdf.envelope import (
    DIALECTS,
    UNSAID,
    URN,
    detect_dialect,
    error,
    problems_of,
    success,
    timestamp,
    translate,
)
from ai_evolution.atdf.losses import missing, reported
from ai_evolution.errors import DocumentError, UsageError

FOLDER = Path(__file__).parent / "forms"
GOLDEN = sorted(FOLDER.glob("envelope-*.json"))
NOW = datetime(2025, 7, 11, 14, 23, 45, tzinfo=UTC)


def dialect_of(path: Path) -> str:
    return path.name.removeprefix("envelope-").partition(".")[0]


def golden(name: str) -> Any:
    return load_file(FOLDER / f"envelope-{name}.json").value


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.name)
def test_a_golden_envelope_speaks_its_dialect_and_no_other(path: Path) -> None:
    value = load_file(path).value
    assert detect_dialect(value) == dialect_of(path)
    assert problems_of(value, dialect_of(path)) == []
    for other in set(DIALECTS) - {dialect_of(path)}:
        if not (
            other == "seed" and value.get("status") == "success"
        ):  # any object is data of a seed's success
            assert problems_of(value, other) != []


def test_the_articles_error_can_be_made_and_the_success_too() -> None:
    article = golden("seed.error")
    data = article["data"]
    made = error(
        data["code"],
        data["text"],
        details=data["details"],
        expected=data["expected"],
        solution=data["solution"],
        at=NOW,
    )
    assert json.dumps(made) == json.dumps(article)
    made = success(golden("seed.success")["data"], at=NOW + timedelta(seconds=75))
    assert json.dumps(made) == json.dumps(golden("seed.success"))


def test_the_articles_envelopes_break_the_enriched_dialect_as_was_measured() -> None:
    assert [problem.message for problem in problems_of(golden("seed.success"), "enriched")] == [
        "'message' is missing"
    ]
    broken = problems_of(golden("seed.error"), "enriched")
    assert len(broken) == 5  # the code, the message, and received, expected and solution in its details
    assert {problem.pointer for problem in broken} == {"/data", "/data/code", "/data/details"}


@pytest.mark.parametrize("code", ["HTTP_404", "E001", "400", "bad"])
def test_a_code_with_digits_or_small_letters_is_no_code_of_the_enriched_dialect(code: str) -> None:
    value = golden("enriched.error")
    value["data"]["code"] = code
    assert [problem.pointer for problem in problems_of(value, "enriched")] == ["/data/code"]


@pytest.mark.parametrize(
    ("name", "pointer", "change", "keyword"),
    [
        ("seed.error", "/data", {}, "required"),
        ("seed.error", "/data/expected", "", "minLength"),
        ("seed.error", "/data/code", 400, "type"),
        ("seed.error", "/status", "failed", "enum"),
        ("seed.success", "/meta/timestamp", "2025-07-11 14:25", "format"),
        ("seed.success", "/meta/timestamp", "2025-07-11T14:25:00", "format"),
        ("seed.success", "/data", [], "type"),
        ("enriched.error", "/data/details/expected", "a text", "type"),
        ("enriched.error", "/data/details/received", 75, "type"),
        ("problems.error", "/errors", [], "minItems"),
        ("problems.error", "/errors/0/type", "not a uri", "format"),
        ("problems.error", "/errors/0/suggested_value", 7, "type"),
        ("problems.error", "/extra", 1, "additionalProperties"),
        ("problems.error", "/errors/0/title", "", "minLength"),
    ],
)
def test_one_damage_is_named(name: str, pointer: str, change: Any, keyword: str) -> None:
    value = golden(name)
    above, _, key = pointer.rpartition("/")
    at(value, above)[key] = change
    found = problems_of(value, name.partition(".")[0])
    assert {problem.keyword for problem in found} == {keyword}
    assert all(problem.pointer.startswith(pointer) for problem in found)


def test_a_naive_time_is_refused_and_an_aware_one_is_written_in_utc() -> None:
    with pytest.raises(UsageError, match="has no offset; accepted: an aware datetime"):
        success({}, at=datetime(2025, 7, 11))  # noqa: DTZ001 (that is the point)
    assert timestamp(datetime(2025, 7, 11, 9, 23, 45, 500, tzinfo=timezone(-timedelta(hours=5)))) == (
        "2025-07-11T14:23:45.000500Z"
    )


def test_what_makes_no_envelope_is_refused() -> None:
    with pytest.raises(UsageError, match="data of an envelope is an object, not list"):
        success([], at=NOW)  # type: ignore[arg-type]
    with pytest.raises(
        UsageError, match="solution of an error is a text with at least one character, not ''"
    ):
        error("A", "t", details={}, expected="e", solution="", at=NOW)
    with pytest.raises(UsageError, match="details of an error is an object, not str"):
        error("A", "t", details="x", expected="e", solution="s", at=NOW)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="dialect 'rfc' is not known; accepted: seed, enriched, problems"):
        problems_of({}, "rfc")
    with pytest.raises(UsageError, match="a success can't be said in problems; accepted: seed, enriched"):
        translate(golden("seed.success"), "problems")
    with pytest.raises(UsageError, match="give the time of the answer"):
        translate({"errors": golden("problems.error")["errors"]}, "seed")
    with pytest.raises(DocumentError, match="no seed envelope, at /data: 'code' is missing"):
        translate({"status": "error", "data": {}, "meta": {"timestamp": timestamp(NOW)}}, "enriched")
    for nothing in (None, 7, {}, {"status": "error"}, {"status": "error", "data": 7}):
        assert detect_dialect(nothing) is None
        with pytest.raises(DocumentError, match="an envelope of seed, enriched, problems is expected"):
            translate(nothing, "seed")


def test_the_articles_error_loses_nothing_in_either_dialect() -> None:
    article = golden("seed.error")
    enriched = translate(article, "enriched")
    assert enriched.losses == ()
    assert enriched.derived == ("/data/code", "/data/details/received")
    assert enriched.document["data"]["code"] == "BAD_REQUEST"
    assert enriched.document["data"]["details"]["code"] == "400"
    assert enriched.document["data"]["details"]["expected"] == {"conditions": [article["data"]["expected"]]}
    problems = translate(article, "problems")
    assert problems.losses == ()
    (problem,) = problems.document["errors"]
    assert problem["parameter_name"] == article["data"]["details"]["field"]
    assert problem["detail"] == article["data"]["text"]
    assert problems.derived == tuple(f"/errors/0/{key}" for key in ("type", "title", "instance", "tool_name"))


def test_an_enriched_error_keeps_its_conditions_everywhere() -> None:
    value = golden("enriched.error")
    seed = translate(value, "seed")
    assert (seed.losses, seed.derived) == ((), ())
    assert seed.document["data"]["expected"] == "people is at most 60; people is at least 1"
    assert translate(seed.document, "enriched").document == value
    problems = translate(value, "problems")
    assert problems.losses == ()
    assert (
        translate(problems.document, "enriched").document["data"]["details"]["expected"]
        == (value["data"]["details"]["expected"])
    )


def test_several_problems_become_one_error_with_the_others_beside_it() -> None:
    value = golden("problems.error")
    there = translate(value, "seed")
    assert there.document["data"]["code"] == "ROOM_TAKEN"
    assert len(there.document["data"]["details"]["errors"]) == 1
    assert there.losses == ()
    assert there.derived == ("/data/expected", "/data/solution")
    back = translate(there.document, "problems").document
    assert missing(value, back) == {}
    assert (back["errors"][1], back["meta"]) == (value["errors"][1], value["meta"])


def test_what_has_no_place_is_reported_with_its_value_and_a_reason() -> None:
    value = golden("seed.error")
    value["data"]["details"]["field"] = {"start": "2025", "end": 7}
    value["data"]["retry_after"] = 30
    value["trace"] = "4711"
    there = translate(value, "problems")
    assert {loss.pointer: loss.value for loss in there.losses} == {"/data/retry_after": 30, "/trace": "4711"}
    assert all(loss.why.startswith("problems: ") for loss in there.losses)
    enriched = translate(value, "enriched")
    assert {loss.pointer for loss in enriched.losses} == {
        "/data/details/field/start",
        "/data/details/field/end",
    }
    assert enriched.losses[0].why == "enriched: the field is a text"
    assert "/data/details/field" in enriched.derived


def test_a_translation_into_its_own_dialect_changes_nothing() -> None:
    value = golden("enriched.error")
    assert translate(value, "enriched").document == value


WORD = st.sampled_from(["a", "not said", "400", "TOO_MANY", "x y", "https://x.example/p", "ñ😀", "ERROR"])
TEXT = WORD | st.text(max_size=4)
KEYS = [
    "text", "message", "code", "details", "field", "received", "expected", "solution", "errors", "conditions",
    "type", "title", "instance", "tool_name", "suggested_value", "context", "n",
]  # fmt: skip
KEY = st.sampled_from(KEYS)
SAID = ("code", "text", "expected", "solution")
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXT,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEY, inner, max_size=3),
    max_leaves=5,
)
OBJECT = st.dictionaries(KEY, ANYTHING, max_size=4)
META = st.fixed_dictionaries({"timestamp": st.just("2025-07-11T14:23:45Z")}, optional={"trace": TEXT})


def framed(status: str, data: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.builds(
        lambda data, meta, extra: {"status": status, "data": data, "meta": meta, **extra},
        data,
        META,
        st.dictionaries(st.just("trace"), ANYTHING, max_size=1),
    )


def joined(fixed: dict[str, Any]) -> st.SearchStrategy[Any]:
    return st.builds(lambda extra, own: {**extra, **own}, OBJECT, st.fixed_dictionaries(fixed))


EXPECTED = joined({"conditions": st.lists(TEXT, max_size=2)})
ENVELOPES = st.one_of(
    framed("success", OBJECT),
    framed("success", joined({"message": TEXT})),
    framed("error", joined({**dict.fromkeys(SAID, WORD), "details": OBJECT})),
    framed(
        "error",
        joined(
            {
                "code": st.sampled_from(["TOO_MANY", "ERROR", "_"]),
                "message": TEXT,
                "details": joined(
                    {"field": TEXT, "received": OBJECT, "expected": EXPECTED, "solution": TEXT}
                ),
            }
        ),
    ),
    st.fixed_dictionaries(
        {
            "errors": st.lists(
                st.fixed_dictionaries(
                    {
                        "type": st.sampled_from(["https://x.example/p", "urn:a:b", URN + "x"]),
                        "title": WORD,
                        "detail": WORD,
                        "instance": WORD,
                        "tool_name": WORD,
                    },
                    optional={
                        "parameter_name": st.none() | TEXT,
                        "suggested_value": st.none() | TEXT,
                        "context": OBJECT,
                        "code": TEXT,
                    },
                ),
                min_size=1,
                max_size=2,
            )
        },
        optional={"status": st.just("error"), "meta": META | OBJECT},
    ),
)  # fmt: skip


@given(ENVELOPES, st.sampled_from(DIALECTS))
def test_what_is_missing_after_a_translation_and_back_is_what_was_reported(value: Any, to: str) -> None:
    source = detect_dialect(value)
    assume(source is not None and not problems_of(value, source))
    assume(to != "problems" or value.get("status") == "error" or "errors" in value)
    assert source is not None
    before = copy.deepcopy(value)
    there = translate(value, to, at=NOW)
    assert value == before
    assert problems_of(there.document, to) == []
    back = translate(there.document, source, source=to, at=NOW)
    gone = missing(value, back.document)
    assert gone == reported(there.losses) == {loss.pointer: loss.value for loss in there.losses}
    for loss in there.losses:
        assert at(value, loss.pointer) == loss.value
        assert loss.why
    for pointer in there.derived:
        at(there.document, pointer)


@settings(max_examples=50)
@given(ENVELOPES, st.sampled_from(DIALECTS))
def test_words_that_were_made_up_are_always_marked(value: Any, to: str) -> None:
    source = detect_dialect(value)
    assume(source is not None and source != to and not problems_of(value, source))
    assume(to != "problems" or value.get("status") == "error" or "errors" in value)
    assume(UNSAID not in json.dumps(value))
    there = translate(value, to, at=NOW)
    waiting = [("", there.document)]
    while waiting:
        pointer, here = waiting.pop()
        if here == UNSAID:
            assert any(pointer.startswith(mark) for mark in there.derived), pointer
        elif isinstance(here, dict | list):
            members = here.items() if isinstance(here, dict) else enumerate(here)
            waiting.extend((f"{pointer}/{key}", each) for key, each in members)
