"""The same failing call is made three times and no more, whoever asks and after any restart."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ai_evolution.atdf.attempts import CODE, AttemptLedger, canonical, result_digest
from ai_evolution.errors import DocumentError, EnvironmentProblem, UsageError
from ai_evolution.world import World

Reply = Callable[[Mapping[str, Any]], dict[str, Any]]


def failure(
    text: str = "no such city", code: str = "NOT_FOUND", at: str = "2026-01-05T09:00:00Z"
) -> dict[str, Any]:
    return {"status": "error", "data": {"code": code, "text": text}, "meta": {"timestamp": at}}


def success() -> dict[str, Any]:
    return {"status": "success", "data": {"text": "sunny"}, "meta": {"timestamp": "2026-01-05T09:00:00Z"}}


class Tool:
    """Answers as it is told, and counts how often it was really called."""

    name = "weather"

    def __init__(self, reply: Reply = lambda _: failure()) -> None:
        self.reply = reply
        self.calls = 0

    def call(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        self.calls += 1
        return self.reply(arguments)

    async def acall(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        return self.call(arguments)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "attempts.sqlite"


def test_the_fourth_equal_failing_call_is_not_made() -> None:
    tool, ledger = Tool(), AttemptLedger(clock=World("attempts").tick)
    answers = [ledger.call(tool, {"city": "Nowhere"}) for _ in range(85)]
    assert tool.calls == 3
    assert [answer["data"]["code"] for answer in answers[:4]] == ["NOT_FOUND"] * 3 + [CODE]


def test_the_stop_is_an_error_that_says_what_was_tried() -> None:
    tool, ledger = Tool(), AttemptLedger(clock=World("attempts").tick)
    for _ in range(3):
        ledger.call(tool, {"city": "Nowhere"})
    stop = ledger.call(tool, {"city": "Nowhere"})
    assert stop["status"] == "error"
    data = stop["data"]
    assert data["details"]["tool"] == "weather"
    assert data["details"]["arguments"] == {"city": "Nowhere"}
    assert [each["code"] for each in data["details"]["tried"]] == ["NOT_FOUND"] * 3
    assert data["details"]["tried"][0]["text"] == "no such city"
    assert "NOT_FOUND" in data["solution"]
    assert data["expected"]
    assert stop["meta"]["timestamp"].endswith("Z")
    json.dumps(stop, allow_nan=False)


def test_the_stop_speaks_spanish_too() -> None:
    ledger = AttemptLedger(limit=1, lang="es")
    ledger.call(Tool(), {})
    assert "falló" in ledger.call(Tool(), {})["data"]["text"]


def test_a_changed_argument_is_a_new_attempt() -> None:
    tool, ledger = Tool(), AttemptLedger()
    for number in range(20):
        assert ledger.call(tool, {"city": f"Nowhere {number}"})["data"]["code"] == "NOT_FOUND"
    assert tool.calls == 20


def test_another_tool_with_the_same_arguments_is_another_attempt() -> None:
    tool, other, ledger = Tool(), Tool(), AttemptLedger(limit=1)
    other.name = "climate"
    ledger.call(tool, {})
    assert ledger.call(other, {})["data"]["code"] == "NOT_FOUND"


@pytest.mark.parametrize(
    ("one", "other"),
    [({"a": 1, "b": 2}, {"b": 2, "a": 1}), ({"a": 1}, {"a": 1.0}), ({"a": 2**70}, {"a": 2**70})],
)
def test_equal_json_is_the_same_attempt_however_it_is_written(
    one: dict[str, Any], other: dict[str, Any]
) -> None:
    ledger, tool = AttemptLedger(limit=1), Tool()
    ledger.call(tool, one)
    assert ledger.call(tool, other)["data"]["code"] == CODE


@pytest.mark.parametrize(
    ("one", "other"), [({"a": 1}, {"a": True}), ({"a": "1"}, {"a": 1}), ({"a": None}, {})]
)
def test_what_json_tells_apart_is_told_apart(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert canonical(one) != canonical(other)


def test_a_success_clears() -> None:
    replies = [failure(), failure(), success(), failure(), failure(), failure()]
    tool, ledger = Tool(lambda _: replies.pop(0)), AttemptLedger()
    for _ in range(6):
        assert ledger.call(tool, {})["data"].get("code") != CODE
    assert ledger.call(tool, {})["data"]["code"] == CODE
    assert tool.calls == 6


def test_what_claims_no_success_is_a_failure() -> None:
    tool, ledger = Tool(lambda _: {"state": "fine"}), AttemptLedger(limit=1)
    ledger.call(tool, {})
    assert ledger.call(tool, {})["data"]["code"] == CODE


def test_a_result_that_moves_gets_further_and_not_for_ever() -> None:
    count = iter(range(100))
    tool, ledger = Tool(lambda _: failure(f"{next(count)} % done")), AttemptLedger()
    for _ in range(50):
        answer = ledger.call(tool, {})
    assert tool.calls == 10
    assert answer["data"]["code"] == CODE


def test_two_results_that_take_turns_are_counted_apart_and_caught() -> None:
    turns = iter(["a", "b"] * 50)
    tool, ledger = Tool(lambda _: failure(next(turns))), AttemptLedger()
    for _ in range(20):
        ledger.call(tool, {})
    assert tool.calls == 5


def test_the_time_in_an_error_makes_no_difference() -> None:
    world = World("attempts")
    tool = Tool(lambda _: failure(f"not after {world.tick().isoformat()}", at=world.now().isoformat()))
    ledger = AttemptLedger()
    for _ in range(9):
        ledger.call(tool, {"Start": "2025-07-10T09:00:00Z"})
    assert tool.calls == 3


def test_a_time_that_the_caller_sent_makes_a_difference() -> None:
    sent = {"days": ["2025-07-10T09:00:00Z", "2025-07-11T09:00:00Z"]}
    assert result_digest(failure("2025-07-10T09:00:00Z"), sent) != result_digest(
        failure("2025-07-11T09:00:00Z"), sent
    )
    assert result_digest(failure("2025-07-10T09:00:00Z")) == result_digest(failure("2025-07-11T09:00:00Z"))


def test_a_restart_forgets_nothing(path: Path) -> None:
    for _ in range(3):
        with AttemptLedger(path) as ledger:
            ledger.call(Tool(), {"city": "Nowhere"})
    tool = Tool()
    with AttemptLedger(path) as ledger:
        assert ledger.call(tool, {"city": "Nowhere"})["data"]["code"] == CODE
        assert len(ledger.failures("weather", {"city": "Nowhere"})) == 3
    assert tool.calls == 0


CHILD = """
import sys
from ai_evolution.atdf.attempts import AttemptLedger
with AttemptLedger(sys.argv[1]) as ledger:
    for _ in range(int(sys.argv[2])):
        attempt = ledger.begin("weather", {"city": "Nowhere"})
        if isinstance(attempt, dict):
            print("stopped")
        else:
            print("called")
            ledger.end(attempt, {"city": "Nowhere"}, {"status": "error", "data": {"code": "E"}})
"""


def test_processes_share_one_memory(path: Path) -> None:
    command = [sys.executable, "-c", CHILD, str(path), "20"]
    children = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    said = "".join(child.communicate(timeout=60)[0] for child in children).split()
    assert all(child.returncode == 0 for child in children)
    assert len(said) == 60
    assert 3 <= said.count("called") <= 5  # two more may have begun before the third had failed


def test_threads_share_one_ledger(path: Path) -> None:
    with AttemptLedger(path) as ledger:
        tool = Tool()
        threads = [
            threading.Thread(target=lambda: [ledger.call(tool, {}) for _ in range(10)]) for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
    assert 3 <= tool.calls <= 6


def test_a_call_that_never_came_back_counts_when_its_time_is_over(path: Path) -> None:
    world = World("attempts")
    with AttemptLedger(path, clock=world.now) as ledger:
        for _ in range(3):
            assert isinstance(ledger.begin("weather", {}), int)  # and then the process died
        assert isinstance(ledger.begin("weather", {}), int)  # they may still be running
        world.tick(301)
        stop = ledger.begin("weather", {})
    assert isinstance(stop, dict)
    assert "never came back" in stop["data"]["details"]["tried"][0]["text"]


def test_old_failures_are_forgotten() -> None:
    world = World("attempts")
    ledger = AttemptLedger(limit=1, memory=timedelta(hours=1), clock=world.now)
    ledger.call(Tool(), {})
    world.tick(3599)
    assert ledger.call(Tool(), {})["data"]["code"] == CODE
    world.tick(1)
    assert ledger.call(Tool(), {})["data"]["code"] == "NOT_FOUND"


def test_a_person_can_let_a_call_be_made_again() -> None:
    ledger = AttemptLedger(limit=1)
    ledger.call(Tool(), {"a": 1})
    assert ledger.forget("weather", {"a": 1}) == 1
    assert ledger.call(Tool(), {"a": 1})["data"]["code"] == "NOT_FOUND"


def test_an_exception_counts_and_goes_on() -> None:
    def explode(_: Mapping[str, Any]) -> dict[str, Any]:
        raise ZeroDivisionError("secret")

    tool, ledger = Tool(explode), AttemptLedger()
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            ledger.call(tool, {})
    stop = ledger.call(tool, {})
    assert stop["data"]["code"] == CODE
    assert "secret" not in json.dumps(stop)


def test_async_calls_are_counted_with_the_others() -> None:
    tool, ledger = Tool(), AttemptLedger()

    async def go() -> list[dict[str, Any]]:
        return [await ledger.acall(tool, {}) for _ in range(4)]

    assert [answer["data"]["code"] for answer in asyncio.run(go())][-1] == CODE
    assert tool.calls == 3


def test_the_commonest_errors_can_be_asked_for() -> None:
    ledger = AttemptLedger()
    for number in range(3):
        ledger.call(Tool(), {"city": number})
    ledger.call(Tool(lambda _: failure(code="DENIED")), {"city": 9})
    assert ledger.patterns() == [("weather", "NOT_FOUND", 3), ("weather", "DENIED", 1)]


@pytest.mark.parametrize("arguments", [{"a": float("nan")}, {"a": object()}, {1: 2, "a": 3}, {"a": "\ud800"}])
def test_arguments_that_are_no_json_are_counted_and_never_raise(arguments: dict[Any, Any]) -> None:
    tool, ledger = Tool(), AttemptLedger()
    for _ in range(5):
        answer = ledger.call(tool, arguments)
    assert tool.calls == 3
    json.dumps(answer, allow_nan=False)


def test_nothing_of_the_arguments_is_on_the_disk(path: Path) -> None:
    with AttemptLedger(path) as ledger:
        ledger.call(Tool(), {"password": "hunter2"})
    assert all(b"hunter2" not in each.read_bytes() for each in path.parent.iterdir())


def test_long_arguments_are_not_repeated() -> None:
    ledger = AttemptLedger(limit=1)
    ledger.call(Tool(), {"a": "x" * 100_000})
    assert len(json.dumps(ledger.call(Tool(), {"a": "x" * 100_000}))) < 3000


def test_a_file_of_something_else_is_left_alone(tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("dear diary, " * 100, encoding="utf-8")
    with pytest.raises(DocumentError, match="ledger"):
        AttemptLedger(text)
    assert text.read_text(encoding="utf-8").startswith("dear diary")
    other = sqlite3.connect(tmp_path / "other.sqlite")
    other.execute("CREATE TABLE mine (a)")
    other.close()
    with pytest.raises(DocumentError, match="something else"):
        AttemptLedger(tmp_path / "other.sqlite")


def test_a_place_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(EnvironmentProblem, match="ledger"):
        AttemptLedger(tmp_path / "file" / "attempts.sqlite")
    closed = AttemptLedger(tmp_path / "ok.sqlite")
    closed.close()
    with pytest.raises(EnvironmentProblem, match="closed"):
        closed.begin("weather", {})


@pytest.mark.parametrize("limits", [{"limit": 0}, {"limit": 5, "ceiling": 4}, {"memory": timedelta(0)}])
def test_limits_that_make_no_sense_are_refused(limits: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="accepted"):
        AttemptLedger(**limits)


def test_a_naive_clock_is_refused() -> None:
    with pytest.raises(UsageError, match="offset"):
        AttemptLedger(clock=lambda: datetime(2026, 1, 5)).begin("weather", {})  # noqa: DTZ001


@settings(max_examples=50)
@given(
    st.dictionaries(
        st.text(), st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
    )
)
def test_the_canonical_form_is_stable_through_json(value: Any) -> None:
    arguments = {"value": value}
    assert canonical(arguments) == canonical(json.loads(json.dumps(arguments)))
