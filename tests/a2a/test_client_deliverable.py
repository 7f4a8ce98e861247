"""Artifacts: from chunks to the whole, numbers that survive the wire, and schemas that hold."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from a2a.types import Artifact, Part, Task, TaskArtifactUpdateEvent
from google.protobuf.json_format import MessageToDict, ParseDict
from hypothesis import given, settings
from hypothesis import strategies as st

from ai_evolution.a2a.deliverable import (
    LARGEST,
    Assembly,
    chosen,
    content,
    validate,
    whole,
    wire,
)
from ai_evolution.a2a.schema import schema_fault
from ai_evolution.errors import CallRefused, DeliverableInvalid

text = st.text(st.characters(codec="utf-8"), max_size=20)
scalars = st.none() | st.booleans() | st.integers(-LARGEST, LARGEST) | text
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(text, inner, max_size=4),
    max_leaves=12,
)
parts = st.lists(
    st.builds(lambda t: {"text": t}, text) | st.builds(lambda v: {"data": v}, values), max_size=8
)


def event(chunk: list[dict[str, Any]], *, append: bool, last: bool = False) -> TaskArtifactUpdateEvent:
    made = {"taskId": "t", "contextId": "c", "artifact": {"artifactId": "a", "parts": chunk}}
    return ParseDict(made | {"append": append, "lastChunk": last}, TaskArtifactUpdateEvent())


def stored(parts: list[dict[str, Any]], id: str = "a") -> Task:
    return ParseDict({"id": "t", "artifacts": [{"artifactId": id, "parts": parts}]}, Task())


def made(*parts: dict[str, Any], id: str = "a", name: str = "") -> Artifact:
    return ParseDict({"artifactId": id, "name": name, "parts": list(parts)}, Artifact())


@given(parts, st.data())
@settings(max_examples=60, deadline=None)
def test_any_chunking_of_an_artifact_comes_to_the_whole(
    whole_parts: list[dict[str, Any]], data: st.DataObject
) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole_parts)), max_size=5)))
    edges = [0, *cuts, len(whole_parts)]
    assembly = Assembly(1_000_000)
    for number, (start, end) in enumerate(pairwise(edges)):
        assembly.add(event(whole_parts[start:end], append=number > 0, last=number == len(edges) - 2))
    (artifact,) = assembly
    assert [MessageToDict(each) for each in artifact.parts] == [
        MessageToDict(ParseDict(each, Part())) for each in whole_parts
    ]
    assert assembly.contradicts(stored(whole_parts)) is None
    assert not assembly.gaps


@given(values)
@settings(max_examples=80, deadline=None)
def test_integers_survive_a_journey_through_protobuf(value: Any) -> None:
    travelled = content(made({"data": value}), None)
    assert travelled == value
    assert _kinds(travelled) == _kinds(value)


def _kinds(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _kinds(each) for key, each in value.items()}
    return [_kinds(each) for each in value] if isinstance(value, list) else type(value)


def test_fractions_stay_fractions() -> None:
    assert content(made({"data": {"a": 0.5, "b": -1.25}}), None) == {"a": 0.5, "b": -1.25}


@pytest.mark.parametrize("number", [2**53, -(2**53), 2**53 + 1, 1e300])
def test_an_integer_past_two_to_the_fifty_third_is_refused_with_its_place(number: float) -> None:
    with pytest.raises(DeliverableInvalid, match=r"2\^53") as caught:
        content(made({"data": {"ids": [1, number]}}), None)
    assert caught.value.pointer == "/ids/1"


def test_where_the_schema_says_number_a_float_stays_one_however_large() -> None:
    schema = {
        "$defs": {"money": {"type": "number"}},
        "properties": {
            "score": {"type": "number"},
            "paid": {"$ref": "#/$defs/money"},
            "row": {
                "prefixItems": [{"type": "number"}],
                "items": {"anyOf": [{"type": "number"}, {"type": "null"}]},
            },
            "count": {"type": ["integer", "null"]},
        },
        "additionalProperties": {"type": "number"},
    }
    data = {"score": 4, "paid": 1e300, "row": [1, 2], "count": 4, "other": 7}
    read = content(made({"data": data}), schema)
    assert [type(read[key]) for key in ("score", "paid", "count", "other")] == [float, float, int, float]
    assert [type(each) for each in read["row"]] == [float, float]
    assert type(whole({"score": 4.0})["score"]) is int


def test_a_schema_that_refers_to_itself_ends() -> None:
    schema = {"$ref": "#", "properties": {"next": {"$ref": "#"}}}
    assert whole({"next": {"next": 1.0}}, schema) == {"next": {"next": 1}}


def test_names_come_back_in_one_order() -> None:
    assert list(content(made({"data": {"b": 1, "a": 2, "c": 3}}), None)) == ["a", "b", "c"]


def test_a_value_that_breaks_its_schema_is_named_by_pointer() -> None:
    schema = {"type": "object", "properties": {"a/b": {"items": {"type": "integer"}}}}
    with pytest.raises(DeliverableInvalid) as caught:
        content(made({"data": {"a/b": [1, "two"]}}), schema)
    assert caught.value.pointer == "/a~1b/1"


def test_every_data_part_is_held_against_the_schema() -> None:
    two = made({"data": {"n": 1}}, {"text": "aside"}, {"data": {"n": "x"}})
    assert content(made({"data": {"n": 1}}, {"data": {"n": 2}}), None) == [{"n": 1}, {"n": 2}]
    with pytest.raises(DeliverableInvalid) as caught:
        content(two, {"properties": {"n": {"type": "integer"}}})
    assert caught.value.pointer == "/1/n"


def test_formats_are_checked() -> None:
    with pytest.raises(DeliverableInvalid):
        validate("not a date", {"type": "string", "format": "date"})


def test_a_reference_to_another_place_is_never_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    import urllib.request

    fetched: list[Any] = []
    monkeypatch.setattr(urllib.request, "urlopen", lambda *args, **_: fetched.append(args))
    with pytest.raises(DeliverableInvalid, match="outside itself"):
        validate(1, {"$ref": "http://169.254.169.254/schema.json"})
    assert fetched == []


def test_what_is_no_schema_is_told_in_words() -> None:
    assert schema_fault({"type": "object"}) is None
    assert "/type" in (schema_fault({"type": 5}) or "")


def test_text_is_a_deliverable_only_while_no_schema_asks_for_more() -> None:
    words = made({"text": "all "}, {"text": "clear"})
    assert content(words, None) == "all clear"
    with pytest.raises(DeliverableInvalid, match="no data part"):
        content(words, {"type": "object"})
    with pytest.raises(DeliverableInvalid, match="no parts"):
        content(made(), None)


def test_files_are_handed_over_as_parts() -> None:
    file = {"url": "https://checks.example/r.pdf", "filename": "r.pdf", "mediaType": "application/pdf"}
    assert content(made(file), None) == [file]


def test_one_artifact_must_be_meant() -> None:
    one, two = made({"data": 1}, id="1", name="log"), made({"data": 2}, id="2", name="report")
    words = made({"text": "hi"}, id="3")
    assert chosen([one], None) is one
    assert chosen([words, two], None) is two
    assert chosen([one, two], "report") is two
    assert chosen([one, two], "1") is one
    for found, name in (([], None), ([one, two], None), ([one], "other")):
        with pytest.raises(DeliverableInvalid):
            chosen(found, name)


def test_a_chunk_that_replaces_begins_anew() -> None:
    assembly = Assembly(1000)
    assembly.add(event([{"text": "draft"}], append=False))
    assembly.add(event([{"text": "final"}], append=False, last=True))
    assert [wire(each)["parts"] for each in assembly] == [[{"text": "final"}]]


def test_a_chunk_after_the_last_one_is_refused() -> None:
    assembly = Assembly(1000)
    assembly.add(event([{"text": "all"}], append=False, last=True))
    with pytest.raises(CallRefused, match="after its last chunk"):
        assembly.add(event([{"text": " and more"}], append=True))


def test_an_append_to_nothing_counts_as_a_gap() -> None:
    assembly = Assembly(1000)
    assembly.add(event([{"text": "tail"}], append=True))
    assert assembly.gaps


def test_artifacts_stop_growing_at_the_limit() -> None:
    assembly = Assembly(300)
    for _ in range(4):
        assembly.add(event([{"text": "x" * 60}], append=True))
    with pytest.raises(CallRefused, match="300 bytes"):
        assembly.add(event([{"text": "x" * 60}], append=True))


def test_where_a_text_was_cut_is_no_contradiction_but_another_text_is() -> None:
    assembly = Assembly(1000)
    assembly.add(event([{"text": "all "}], append=False))
    assembly.add(event([{"text": "clear"}], append=True, last=True))
    assert assembly.contradicts(stored([{"text": "all clear"}])) is None
    assert assembly.contradicts(stored([{"text": "all dark"}])) == "/artifacts/0/parts"
    assert assembly.contradicts(stored([{"text": "all clear"}], id="b")) == "/artifacts"
