"""The evidence contract: claims first, computed findings, canonical bytes, strict reading."""

from __future__ import annotations

import hashlib
import json
import math
import os
from pathlib import Path
from typing import Any

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from ai_evolution.errors import DocumentError, LabError
from ai_evolution.evidence import (
    Claim,
    Finding,
    Input,
    Limitation,
    Measurement,
    Record,
    Report,
    Result,
    assemble,
    differences,
    digest_of,
    first_difference,
    plain,
    pointer,
    resolve,
    schema,
)

CLAIMS = (
    Claim("a.one", "One is one.", "Uno es uno.", ("S02",)),
    Claim("a.two", "Two is two.", "Dos son dos.", ("S02",)),
)
LIMITS = (Limitation("a.small", "scope", "It is small.", "Es pequeño."),)
GOOD: list[Record] = [
    Input("n", [1, 2]),
    Finding("a.two", 2, 2),
    Result("r", {"x": 1.5}),
    Finding("a.one", 1, 1),
]


def report(records: list[Record] = GOOD, **changes: Any) -> Report:
    given: dict[str, Any] = {
        "kind": "toy",
        "class_slug": "134-a2a",
        "seed": 7,
        "parameters": {"n": 2},
        "engine": "1.0.0",
        "protocols": {"a2a": "1.0"},
        "claims": CLAIMS,
        "limitations": LIMITS,
        "records": records,
    }
    return assemble(**{**given, **changes})


def test_findings_come_out_in_the_order_in_which_the_claims_were_stated() -> None:
    assert [item.id for item in report().evidence] == ["a.one", "a.two"]


def test_whether_a_claim_holds_is_computed_from_the_two_values() -> None:
    mixed = report([Finding("a.one", {"a": 1, "b": 2}, {"b": 2, "a": 1.0}), Finding("a.two", True, 1)])
    assert [item.holds for item in mixed.evidence] == [True, False]
    assert not mixed.holds


@pytest.mark.parametrize(
    ("records", "says"),
    [
        ([Finding("a.one", 1, 1)], "no finding for a.two"),
        ([*GOOD, Finding("a.three", 1, 1)], "a.three, which was never claimed"),
        ([*GOOD, Finding("a.one", 1, 1)], "two findings for a.one"),
        ([*GOOD, Input("n", 3)], "input n given twice"),
        ([Finding("a.one", {1, 2}, 1)], "a.one/expected: set is no JSON value"),
        ([Finding("a.one", 1, {1: 2})], "key 1 is not a string"),
        ([Finding("a.one", math.nan, 1)], "a.one/expected"),
        ([Finding("a.one", 2**60, 1)], "a.one/expected"),
    ],
)
def test_a_lab_that_breaks_the_contract_is_refused_by_name(records: list[Record], says: str) -> None:
    with pytest.raises(LabError, match=says):
        report(records)


def test_a_claim_stated_twice_is_refused() -> None:
    with pytest.raises(LabError, match=r"a\.one is stated twice"):
        report(claims=(*CLAIMS, CLAIMS[0]))


def test_the_digest_is_the_hash_of_the_canonical_bytes_of_everything_else() -> None:
    document = report().document()
    rest = {key: value for key, value in document.items() if key != "digest"}
    assert document["digest"] == "sha256:" + hashlib.sha256(rfc8785.dumps(rest)).hexdigest()


def test_measurements_stay_outside_the_document() -> None:
    timed = report([*GOOD, Measurement("seconds", 1.25)])
    assert timed.measurements == {"seconds": 1.25}
    assert timed.document() == report().document()


def test_the_schema_is_valid_and_accepts_what_a_lab_writes() -> None:
    Draft202012Validator.check_schema(schema())
    Draft202012Validator(schema()).validate(report().document())


def test_a_report_comes_back_from_its_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "evidence.json"
    path.write_bytes(report().to_bytes())
    assert Report.load(path).document() == report().document()


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "empty file"),
        (b"{", "cut off"),
        (report().to_bytes()[:-40], "cut off"),
        (b"[1]", "expected a JSON object"),
        (b'{"a": 1, "a": 2}', "'a' occurs twice"),
        (b'{"a": NaN}', "NaN is no JSON number"),
        (b"\xff\xfe{}", "not UTF-8 at byte 0"),
        (b"[" * 100_000, "nested too deep"),
        (b"{}", "is a required property"),
        (report().to_bytes().replace(b'"seed": 7', b'"seed": "7"'), "/seed"),
        (report().to_bytes().replace(b'"holds": true', b'"holds": "yes"', 1), "/evidence/0/holds"),
        (report().to_bytes().replace(b'"seed": 7', b'"seed": 8'), "/digest is not the digest"),
    ],
)
def test_a_file_that_is_no_report_gives_one_line_that_says_why(
    tmp_path: Path, content: bytes, says: str
) -> None:
    path = tmp_path / "evidence.json"
    path.write_bytes(content)
    with pytest.raises(DocumentError, match=says) as caught:
        Report.load(path)
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_missing_file_and_a_folder_give_one_line(tmp_path: Path) -> None:
    for path in (tmp_path / "nothing.json", tmp_path):
        with pytest.raises(DocumentError, match="directory"):
            Report.load(path)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(JSON, JSON)
def test_first_difference_is_none_just_when_the_canonical_bytes_are_equal(one: Any, other: Any) -> None:
    one, other = plain(one, ""), plain(other, "")
    same = rfc8785.dumps(one) == rfc8785.dumps(other)
    assert (first_difference(one, other) is None) == same


@given(st.dictionaries(st.text(max_size=6), JSON, min_size=1, max_size=4), st.data())
def test_a_single_changed_value_is_named_by_its_pointer(
    document: dict[str, Any], data: st.DataObject
) -> None:
    key = data.draw(st.sampled_from(sorted(document)))
    changed = {**document, key: "changed"}  # longer than any text drawn
    assert differences(document, changed) == [pointer([key])]
    assert resolve(changed, pointer([key])) == changed[key]


def test_a_pointer_escapes_tilde_and_slash() -> None:
    assert pointer(["a/b", "c~d", 0]) == "/a~1b/c~0d/0"
    with pytest.raises(KeyError):
        resolve({"a": [1]}, "/a/1")


def test_true_is_not_one_although_python_thinks_so() -> None:
    assert first_difference({"a": True}, {"a": 1}) == "/a"
    assert first_difference({"a": 1.0}, {"a": 1}) is None


def test_the_digest_ignores_a_digest_that_is_already_there() -> None:
    document = report().document()
    assert digest_of(document) == document["digest"]
    assert json.loads(report().to_bytes()) == document


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_named_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DocumentError, match="no ordinary file"):
        Report.load(tmp_path / "pipe")
