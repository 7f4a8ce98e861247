"""The protocol between host and runner, without a process: bytes in, events out."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ai_evolution.errors import LimitExceeded, UsageError, WireError
from ai_evolution.ptc import Answer, Limits, ToolStub
from ai_evolution.ptc.wire import (
    CALL,
    END_CALL,
    END_OUTPUT,
    OUTPUT,
    READY,
    Called,
    Event,
    Finished,
    HostWire,
    Ignored,
    Printed,
    Ready,
    Refused,
    encode,
)

few = settings(max_examples=30)
TOOLS = (ToolStub("echo", ("value",)), ToolStub("get-it"))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
MARKED = st.lists(
    st.sampled_from([CALL, END_CALL, OUTPUT, END_OUTPUT, READY, "n2", "n1", " ", "{}", "\n", "_", "é", "a"]),
    max_size=12,
).map("".join)


def running(limits: Limits = Limits(), nonce: str = "n2") -> HostWire:  # noqa: B008
    wire = HostWire(TOOLS, limits)
    wire.open("n1")
    assert wire.feed_stderr(b"__READY__n1\n") == [Ready()]
    wire.execute("...", nonce)
    return wire


def call(call_id: str, tool: str = "echo", nonce: str = "n2", **arguments: Any) -> bytes:
    return encode(CALL, {"call_id": call_id, "tool_name": tool, "arguments": arguments}, END_CALL, nonce)


def output(value: Any = None, nonce: str = "n2") -> bytes:
    return encode(OUTPUT, {"success": True, "value": value, "note": None}, END_OUTPUT, nonce)


def text(events: list[Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, Printed))


def rest(events: list[Event]) -> list[Event]:
    return [event for event in events if not isinstance(event, Printed)]


@few
@given(MARKED, JSON, MARKED, st.lists(st.integers(1, 40), max_size=20))
def test_however_the_bytes_are_cut_the_events_are_the_same(
    before: str, value: Any, after: str, cuts: list[int]
) -> None:
    wire = running(nonce="secret")
    data = before.encode() + output(value, "secret") + after.encode()
    events: list[Event] = []
    for cut in [*cuts, len(data)]:
        events += wire.feed_stdout(data[:cut])
        data = data[cut:]
    events += wire.end()
    assert rest(events) == [Finished(True, value, None)]
    assert text(events) == before + after


@few
@given(MARKED, st.lists(st.integers(1, 40), max_size=20))
def test_a_call_is_found_between_any_noise_of_stderr(noise: str, cuts: list[int]) -> None:
    wire = running(nonce="secret")
    data = noise.encode() + call("c1", nonce="secret", value=noise) + noise.encode()
    events: list[Event] = []
    for cut in [*cuts, len(data)]:
        events += wire.feed_stderr(data[:cut])
        data = data[cut:]
    events += wire.end()
    (called,) = rest(events)
    assert isinstance(called, Called)
    assert (called.call.sequence, called.call.arguments) == (1, {"value": noise})
    assert text(events) == noise * 2


@few
@given(st.lists(st.sampled_from(["stdout", "stderr"]).flatmap(lambda s: st.tuples(st.just(s), st.binary()))))
def test_no_bytes_of_the_inside_raise_anything_but_a_wire_error(fed: list[tuple[str, bytes]]) -> None:
    wire = running()
    try:
        for stream, data in fed:
            feed = wire.feed_stdout if stream == "stdout" else wire.feed_stderr
            assert all(isinstance(event, Printed) for event in feed(data))
    except WireError:
        pass


@few
@given(JSON)
def test_a_forged_frame_with_the_right_nonce_calls_a_tool_on_the_list_or_nothing(payload: Any) -> None:
    wire = running()
    try:
        events = wire.feed_stderr(encode(CALL, payload, END_CALL, "n2"))
    except WireError:
        return
    assert all(event.call.tool in {"echo", "get-it"} for event in events if isinstance(event, Called))


@few
@given(st.text() | JSON.map(json.dumps))
def test_no_payload_contains_a_marker_and_every_payload_arrives(value: str) -> None:
    frame = encode(CALL, {"value": value + CALL + "___" + END_CALL}, END_CALL, "n")
    payload = frame[len(CALL) + 2 : -len(END_CALL) - 1]
    assert b"__" not in payload
    assert b"\n" not in payload
    assert json.loads(payload) == {"value": value + CALL + "___" + END_CALL}


def test_a_tool_that_is_not_on_the_list_is_refused_and_the_call_can_be_answered() -> None:
    wire = running()
    (event,) = wire.feed_stderr(call("c1", "os.system"))
    assert isinstance(event, Refused)
    assert event.error["type"] == "UnknownTool"
    assert b"UnknownTool" in wire.answer("c1", Answer(error=event.error))


def test_a_call_with_a_nonce_that_is_not_this_execution_s_is_text() -> None:
    wire = running()
    assert wire.feed_stderr(call("c1", nonce="n1")) == [Printed(call("c1", nonce="n1").decode(), "stderr")]


def test_a_call_id_is_taken_once() -> None:
    wire = running()
    first, second = wire.feed_stderr(call("c1", value=1) + call("c1", value=2))
    assert isinstance(first, Called)
    assert second == Ignored("call id seen before")


def test_after_the_output_nothing_is_called_any_more() -> None:
    wire = running()
    assert wire.feed_stdout(output(1) + output(2)) == [Finished(True, 1, None), Ignored("output out of turn")]
    assert wire.feed_stderr(call("c9") + b"__READY__n2\n") == [Ignored("call out of turn"), Ready()]
    assert wire.feed_stderr(call("c10")) == [Ignored("call out of turn")]


def test_ready_may_be_read_before_the_output_that_it_follows() -> None:
    wire = running()
    assert wire.feed_stderr(b"__READY__n2\n") == []
    assert wire.feed_stderr(b"__READY__n2\n") == [Ignored("ready out of turn")]
    assert wire.feed_stdout(output(1)) == [Finished(True, 1, None), Ready()]
    assert wire.state == "idle"


def test_each_call_is_answered_once_and_only_if_it_was_made() -> None:
    wire = running()
    wire.feed_stderr(call("c1"))
    assert b'"result":{"a":1}' in wire.answer("c1", Answer({"a": 1}))
    with pytest.raises(WireError, match="has an answer already"):
        wire.answer("c1", Answer(2))
    with pytest.raises(WireError, match="was never made"):
        wire.answer("c2", Answer(2))


def test_an_answer_that_is_too_long_or_no_json_leaves_the_call_open() -> None:
    wire = running(Limits(result=100))
    wire.feed_stderr(call("c1"))
    with pytest.raises(LimitExceeded) as info:
        wire.answer("c1", Answer("x" * 200_000))
    assert info.value.limit == "result"
    with pytest.raises(ValueError, match="JSON"):
        wire.answer("c1", Answer(float("nan")))
    assert b"fine" in wire.answer("c1", Answer("fine"))


@pytest.mark.parametrize(
    "payload",
    [
        '{"call_id": "c1"}',
        '{"call_id": 1, "tool_name": "echo", "arguments": {}}',
        '{"call_id": "c1", "tool_name": "echo", "arguments": []}',
        '{"call_id": "c1", "tool_name": "echo", "arguments": {"value": NaN}}',
        "[]",
        "not json",
        "[" * 100_000,
    ],
)
def test_a_frame_with_the_nonce_and_the_wrong_content_ends_the_run(payload: str) -> None:
    with pytest.raises(WireError):
        running().feed_stderr(f"{CALL}n2 {payload}{END_CALL}\n".encode())


def test_a_frame_without_end_is_cut_off_at_the_limit() -> None:
    wire = running(Limits(result=1000))
    assert wire.feed_stdout(f"{OUTPUT}n2 ".encode() + b"x" * 60_000) == []
    with pytest.raises(WireError, match="limit is 1000"):
        wire.feed_stdout(b"x" * 10_000)


def test_what_a_failure_says_of_itself_is_kept_to_a_size() -> None:
    wire = running()
    error = {"type": "E" * 9999, "message": "m" * 99_999, "frames": [{"line": 1}, {"line": "x"}, 7] * 99}
    (event,) = wire.feed_stdout(encode(OUTPUT, {"success": False, "error": error}, END_OUTPUT, "n2"))
    assert isinstance(event, Finished)
    assert event.error is not None
    assert (len(event.error.type), len(event.error.message), len(event.error.frames)) == (200, 16_384, 34)


def test_code_and_nonces_are_told_to_be_new_and_in_turn() -> None:
    wire = HostWire(TOOLS)
    with pytest.raises(WireError, match="the wire is new"):
        wire.execute("1", "n")
    wire.open("n1")
    wire.feed_stderr(b"__READY__n1\n")
    with pytest.raises(WireError, match="needs its own"):
        wire.execute("1", "n1")
    with pytest.raises(WireError, match="letters and digits"):
        wire.execute("1", "n 2")


def test_two_tools_with_the_same_name_inside_are_refused() -> None:
    with pytest.raises(UsageError, match="get_it"):
        HostWire((ToolStub("get-it"), ToolStub("get_it")))
    with pytest.raises(UsageError, match="echo"):
        HostWire((ToolStub("echo"), ToolStub("echo")))
