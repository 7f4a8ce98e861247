"""A call is held to its description before and after, and a breach says who is to blame."""

from __future__ import annotations

import asyncio
import copy
import functools
import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from date_range import ANSWER, date_range, document
from hypothesis import given, settings
from hypothesis import strategies as st

from ai_evolution.atdf import values
from ai_evolution.atdf.attempts import AttemptLedger
from ai_evolution.atdf.contract import CODES, Condition, Contract, Outcome, ToolFailure, contract
from ai_evolution.atdf.description import ABSENT, Example, Failure, ToolDescription
from ai_evolution.atdf.envelope import problems_of
from ai_evolution.atdf.sla import Recorder, blame
from ai_evolution.errors import CallerBreach, ContractError, DocumentError, ToolBreach, UsageError
from ai_evolution.world import EPOCH, World

NOW = datetime(2025, 7, 11, 14, 23, 45, tzinfo=UTC)
SECRET = "s3cr3t-token"
DIVIDE = ToolDescription(
    name="divide",
    description="Divides a whole number by another one.",
    input_schema={
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer", "minimum": 0, "default": 1}},
        "required": ["a", "b"],
        "additionalProperties": False,
    },
    success_schema={
        "type": "object",
        "properties": {"quotient": {"type": "integer"}, "rest": {"type": "integer"}},
        "required": ["quotient", "rest"],
    },
    failures=(Failure("DIVISION_BY_ZERO", "b is zero"), Failure("TOO_BIG", "a is too big")),
)
BACK = Condition(
    "back",
    {"en": "quotient * b + rest = a", "es": "cociente * b + resto = a"},
    lambda v, _: v["result"]["quotient"] * v["arguments"]["b"] + v["result"]["rest"] == v["arguments"]["a"],
)


def divided(a: int, b: int) -> dict[str, int]:
    if b == 0:
        raise ToolFailure("DIVISION_BY_ZERO", "cannot divide by 0", expected="b: not 0", solution="change b")
    return {"quotient": a // b, "rest": a % b}


def divide(function: Callable[..., Any] = divided, **options: Any) -> Contract:
    return Contract(DIVIDE, function, **{"post": [BACK], "clock": lambda: NOW} | options)


def code(outcome: Outcome) -> str:
    return str(outcome.envelope["data"]["code"])


# the article's tool


@pytest.mark.parametrize("lang", ["es", "en"])
def test_a_range_ahead_is_a_success(lang: str) -> None:
    outcome = (
        date_range(lang).at(NOW).outcome({"Start": "2025-07-12T10:00:00Z", "End": "2025-07-12T12:00:00Z"})
    )
    assert outcome.succeeded
    assert outcome.blame is None


def test_the_article_s_two_answers_come_out_to_the_letter() -> None:
    tool = date_range("es")
    at = {name: datetime.fromisoformat(ANSWER[name]["meta"]["timestamp"]) for name in ANSWER}  # type: ignore[index]
    good = tool.at(at["success"]).call({"Start": "2025-07-12T10:00:00Z", "End": "2025-07-12T12:00:00Z"})
    bad = tool.at(at["error"]).call({"Start": "2025-07-10T09:00:00Z", "End": "2025-07-10T08:00:00Z"})
    assert good == ANSWER["success"]
    assert bad == ANSWER["error"]


@pytest.mark.parametrize(
    ("start", "end"),
    [
        ("2025-07-11T14:23:45Z", "2025-07-12T10:00:00Z"),  # Start is now
        ("2025-07-12T10:00:00Z", "2025-07-12T10:00:00Z"),  # Start is End
        ("2025-07-12T10:00:00Z", "2025-07-12T12:00:00+02:00"),  # the same moment, written otherwise
        ("2025-07-12T10:00:00Z", "2025-07-12T09:59:59Z"),
    ],
)
def test_equality_and_the_wrong_order_are_the_caller_s_error(start: str, end: str) -> None:
    outcome = date_range().at(NOW).outcome({"Start": start, "End": end})
    assert (code(outcome), outcome.blame) == ("400", "caller")
    assert outcome.breaches[0].rule == "ahead"


@pytest.mark.parametrize("lang", ["es", "en"])
@pytest.mark.parametrize(
    "start",
    [
        "2025-07-12T10:00:00",
        "tomorrow",
        "",
        "2025-07-12",
        "2025-13-12T10:00:00Z",
        "2025-02-30T10:00:00Z",
        None,
        5,
    ],
)
def test_naive_and_malformed_times_are_refused_before_anything_runs(lang: str, start: Any) -> None:
    def never(**_: Any) -> Any:
        raise AssertionError("called")

    tool = Contract(document(lang), never, pre=[Condition("never", {"en": "x", "es": "x"}, never)], lang=lang)
    outcome = tool.outcome({"Start": start, "End": "2025-07-12T12:00:00Z"})
    assert (code(outcome), outcome.blame) == ("INVALID_ARGUMENTS", "caller")
    assert outcome.envelope["data"]["details"]["field"] == "/Start"


# the caller


def test_a_program_can_repair_its_call_from_the_error() -> None:
    details = divide().call({"a": "7", "c": 1})["data"]["details"]
    found = {each["keyword"]: each for each in details["problems"]}
    assert found["required"]["missing"] == ["b"]
    assert found["additionalProperties"]["unknown"] == ["c"]
    assert found["type"]["schema"] == {"type": "integer"}
    assert found["type"]["received"] == "7"


def test_the_error_says_what_is_expected_and_what_to_do() -> None:
    data = divide().call({"a": 7, "b": -1})["data"]
    assert "/b: an integer, minimum 0" in data["expected"]
    assert data["solution"].startswith("Change /b")
    assert divide(lang="es").call({"a": 7})["data"]["solution"] == "Añade b"


def test_an_argument_is_never_converted_and_a_default_never_filled_in() -> None:
    assert divide().outcome({"a": 7.5, "b": 2}).blame == "caller"
    assert divide().outcome({"a": "7", "b": 2}).blame == "caller"
    assert divide().outcome({"a": True, "b": 2}).blame == "caller"
    assert divide().outcome({"a": 7}).blame == "caller"


@pytest.mark.parametrize(
    "arguments",
    [
        None, [], "a", 5, {"a": {1}, "b": 2}, {"a": float("nan"), "b": 2}, {"a": float("inf"), "b": 2},
        {"a": 1, "b": 2, 3: 4}, {"a": datetime.now(UTC), "b": 1}, {"a": "\ud800", "b": 1},
        {"a": (1,), "b": 1}, {"a": 10**4000, "b": 1},
    ],
)  # fmt: skip
def test_arguments_that_are_no_json_object_are_the_caller_s(arguments: Any) -> None:
    outcome = divide().outcome(arguments)
    assert outcome.blame == "caller"
    assert problems_of(outcome.envelope) == []
    json.dumps(outcome.envelope, allow_nan=False).encode()


def test_arguments_without_end_are_the_caller_s(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "MAX_VALUES", 50_000)
    endless: dict[str, Any] = {"b": 1}
    endless["a"] = endless
    wide: list[Any] = []
    for _ in range(40):
        wide = [wide, wide]
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    for value in (endless["a"], wide, deep):
        assert divide().outcome({"a": value, "b": 1}).blame == "caller"


def test_a_long_value_is_not_repeated_whole() -> None:
    assert len(json.dumps(divide().call({"a": "x" * 1_000_000, "b": 1}))) < 5000


def test_what_the_caller_handed_in_is_never_changed() -> None:
    def greedy(a: list[int]) -> dict[str, Any]:
        a.append(4)
        return {"all": a}

    def greedy_condition(given: Mapping[str, Any], _: datetime) -> bool:
        given["a"].append(9)
        return True

    held = Contract(
        ToolDescription("greedy", "Keeps what it gets."),
        greedy,
        pre=[Condition("greedy", {"en": "x", "es": "x"}, greedy_condition)],
    )
    given = {"a": [1, 2, 3]}
    envelope = held.call(given)
    assert given == {"a": [1, 2, 3]}
    assert envelope["data"] == {"all": [1, 2, 3, 4]}


def test_a_postcondition_sees_the_arguments_as_they_came() -> None:
    def greedy(a: list[int]) -> dict[str, Any]:
        a.clear()
        return {}

    seen: list[Any] = []
    after = Condition("after", {"en": "x", "es": "x"}, lambda both, _: seen.append(both["arguments"]) is None)
    assert Contract(ToolDescription("greedy", "x"), greedy, post=[after]).outcome({"a": [1]}).succeeded
    assert seen == [{"a": [1]}]


def test_a_caller_cannot_set_the_clock_of_a_tool() -> None:
    tool = Contract(ToolDescription("x", "x"), lambda now, **_: {}, clock_as="now", clock=lambda: NOW)
    assert tool.outcome({}).succeeded
    assert tool.outcome({"now": "1999-01-01T00:00:00Z"}).blame == "caller"
    with pytest.raises(UsageError, match="accepted"):
        divide(clock_as="a")


def test_a_result_is_a_copy() -> None:
    kept = {"list": [1]}
    envelope = Contract(ToolDescription("keep", "Keeps."), lambda: kept).call({})
    envelope["data"]["list"].append(2)
    assert kept == {"list": [1]}


# the tool


def lying(a: int, b: int) -> dict[str, int]:
    return {"quotient": a // b + 1, "rest": a % b}


def leaking(a: int, b: int) -> dict[str, Any]:
    raise ValueError(f"could not log in with {SECRET}")


@pytest.mark.parametrize(
    ("function", "kind"),
    [
        (lambda a, b: {"quotient": str(a // b), "rest": 0}, "result"),
        (lambda a, b: {"quotient": 1}, "result"),
        (lambda a, b: None, "result"),
        (lambda a, b: object(), "result"),
        (lambda a, b: {"quotient": 1, "rest": float("nan")}, "result"),
        (lambda a, b: {1: 2}, "result"),
        (lying, "postcondition"),
        (leaking, "exception"),
        (lambda: {}, "exception"),
        (lambda a, b: exit(), "exception"),
        (lambda a, b: ToolFailure("OUT_OF_COFFEE", "x", expected="x", solution="x"), "undeclared"),
        (lambda a, b: ToolFailure("TOO_BIG", "", expected="x", solution="x"), "result"),
        (lambda a, b: ToolFailure("TOO_BIG", "x", expected="x", solution="x", details={"a": {1}}), "result"),
    ],
)
def test_a_tool_that_breaks_its_word_is_to_blame(function: Callable[..., Any], kind: str) -> None:
    outcome = divide(function).outcome({"a": 7, "b": 2})
    assert outcome.blame == "tool"
    assert outcome.breaches[0].kind == kind
    assert code(outcome) == CODES[kind]  # type: ignore[index]
    assert problems_of(outcome.envelope) == []


def test_nothing_of_an_exception_reaches_the_caller_and_all_of_it_the_operator() -> None:
    seen: list[Outcome] = []
    outcome = divide(leaking, observe=seen.append).outcome({"a": 7, "b": 2})
    assert SECRET not in json.dumps(outcome.envelope)
    assert "ValueError" not in json.dumps(outcome.envelope)
    assert SECRET not in repr(outcome)
    assert SECRET in str(seen[0].cause)


def test_nothing_of_a_result_that_breaks_its_schema_reaches_the_caller() -> None:
    outcome = divide(lambda a, b: {"quotient": SECRET, "rest": 1}).outcome({"a": 7, "b": 2})
    assert SECRET not in json.dumps(outcome.envelope)
    assert outcome.envelope["data"]["details"]["field"] == "/quotient"


def test_a_declared_failure_is_nobody_s_fault() -> None:
    for function in (divided, lambda a, b: ToolFailure("DIVISION_BY_ZERO", "no", expected="b", solution="b")):
        outcome = divide(function).outcome({"a": 7, "b": 0})
        assert (outcome.succeeded, outcome.blame, code(outcome)) == (False, None, "DIVISION_BY_ZERO")


def test_a_tool_that_gives_the_whole_envelope_is_held_to_it() -> None:
    good = {
        "status": "success",
        "data": {"quotient": 3, "rest": 1},
        "meta": {"timestamp": "2025-07-11T14:23:45Z"},
    }
    assert divide(lambda a, b: good, returns="envelope").call({"a": 7, "b": 2}) == good
    empty = {"status": "error", "data": {}, "meta": {"timestamp": "2025-07-11T14:23:45Z"}}
    for bad in ({"quotient": 3, "rest": 1}, empty, good | {"meta": {}}, good | {"data": {"quotient": 3}}):
        assert divide(lambda a, b, bad=bad: bad, returns="envelope").outcome({"a": 7, "b": 2}).blame == "tool"


def test_the_article_s_own_error_schema_lets_an_empty_error_pass_and_the_contract_does_not() -> None:
    empty = {"status": "error", "data": {}, "meta": {"timestamp": "2025-07-11T14:23:45Z"}}
    tool = Contract(document(), lambda **_: empty, returns="envelope")
    outcome = tool.outcome({"Start": "2025-07-12T10:00:00Z", "End": "2025-07-12T12:00:00Z"})
    assert outcome.blame == "tool"


def test_an_error_is_held_to_the_declared_error_schema() -> None:
    about_data = replace(DIVIDE, failures=(), error_schema={"properties": {"code": {"enum": ["A"]}}})
    for said, expected in (("A", None), ("B", "tool")):
        failing = Contract(
            about_data, lambda a, b, said=said: ToolFailure(said, "x", expected="x", solution="x")
        )
        assert failing.outcome({"a": 1, "b": 1}).blame == expected


def test_a_result_that_is_no_object_travels_under_value() -> None:
    held = Contract(ToolDescription("count", "Counts.", success_schema={"type": "integer"}), lambda: 4)
    assert held.call({})["data"] == {"value": 4}
    assert Contract(held.description, lambda: "4").outcome({}).blame == "tool"


# the description


@pytest.mark.parametrize(
    "changes",
    [
        {"input_schema": {"type": "objekt"}},
        {"input_schema": False},
        {"input_schema": {"type": "string"}},
        {"input_schema": {"minProperties": 3, "maxProperties": 2}},
        {"input_schema": {"properties": {"a": {"const": 1, "type": "string"}}, "required": ["a"]}},
        {"input_schema": {"$ref": "https://example.org/schema"}},
        {"success_schema": {"enum": []}},
        {"success_schema": {"type": "object", "properties": {"status": {"const": "error"}, "data": {}}}},
        {"error_schema": {"type": "object", "properties": {"status": {"enum": ["failed"]}, "data": {}}}},
        {"success_schema": {"allOf": [{"type": "string"}, {"type": "object"}]}},
        {"error_schema": {"type": "object", "required": ["a"], "additionalProperties": False}},
        {"examples": (Example({"a": "7", "b": 2}, {"quotient": 3, "rest": 1}),)},
        {"examples": (Example({"a": 7, "b": 2}, {"quotient": "3", "rest": 1}),)},
        {"examples": (Example({"a": 7}),)},
    ],
)  # fmt: skip
def test_a_description_that_contradicts_itself_is_to_blame_and_lets_no_call_through(
    changes: dict[str, Any],
) -> None:
    calls: list[int] = []
    held = Contract(replace(DIVIDE, **changes), lambda a, b: calls.append(1))
    outcome = held.outcome({"a": 7, "b": 2})
    assert (outcome.blame, code(outcome), calls) == ("description", "INVALID_DESCRIPTION", [])
    assert problems_of(outcome.envelope) == []
    assert held.faults[0].pointer.startswith(("/input", "/success", "/error", "/examples"))


def test_an_example_of_a_refusal_may_break_the_input_schema() -> None:
    refusal = {"status": "error", "data": {"code": "TOO_BIG"}, "meta": {}}
    assert Contract(replace(DIVIDE, examples=(Example({"a": "x"}, refusal),)), divided).faults == ()


def test_an_ellipsis_in_an_example_breaks_no_schema() -> None:
    schema = {"type": "object", "properties": {"at": {"type": "string", "format": "date-time"}}}
    described = ToolDescription("x", "x", success_schema=schema, examples=(Example({}, {"at": "2025…"}),))
    assert Contract(described, lambda: {}).faults == ()


def test_a_document_that_is_no_description_is_refused_at_once() -> None:
    with pytest.raises(DocumentError, match="/tool"):
        Contract({"tool": {"name": "x", "input": {}}}, divided)
    catalogue = {"tools": [{"name": n, "description": n, "inputSchema": {"type": "object"}} for n in "ab"]}
    with pytest.raises(UsageError, match="2 tools"):
        Contract(catalogue, divided)


def test_a_description_without_schemas_accepts_every_object() -> None:
    assert Contract(ToolDescription("x", "x", input_schema=ABSENT), lambda **a: a).call({"z": 1})["data"] == {
        "z": 1
    }


# conditions


def holding(verdict: Any) -> Condition:
    def holds(*_: Any) -> Any:
        if isinstance(verdict, Exception):
            raise verdict
        return verdict

    return Condition("odd", {"en": "odd", "es": "raro"}, holds)


async def later(*_: Any) -> bool:
    return True


@pytest.mark.parametrize(
    "condition", [holding(ValueError(SECRET)), holding(None), holding(1), replace(holding(0), holds=later)]
)
def test_a_condition_that_cannot_be_evaluated_is_a_fault_of_the_description(condition: Condition) -> None:
    for options in ({"pre": [condition]}, {"post": [condition]}):
        outcome = divide(**options).outcome({"a": 7, "b": 2})
        assert outcome.blame == "description"
        assert SECRET not in json.dumps(outcome.envelope)


def test_words_that_cannot_be_made_are_a_fault_of_the_description() -> None:
    broken = replace(holding(False), solution=lambda given, _: given["nothing"])
    assert divide(pre=[broken]).outcome({"a": 7, "b": 2}).blame == "description"


def test_all_broken_preconditions_are_named_and_the_first_one_speaks() -> None:
    one = Condition("one", {"en": "a is even", "es": "a es par"}, lambda v, _: v["a"] % 2 == 0, field="/a")
    two = Condition("two", {"en": "b is even", "es": "b es par"}, lambda v, _: v["b"] % 2 == 0, field="/b")
    three = Condition("three", {"en": "x", "es": "x"}, lambda v, _: v["nothing"])
    outcome = divide(pre=[one, two, three], lang="es").outcome({"a": 7, "b": 3})
    assert [breach.rule for breach in outcome.breaches] == ["one", "two"]
    assert outcome.envelope["data"]["text"] == "a es par"
    assert code(outcome) == "PRECONDITION_BROKEN"
    assert "a es par" in outcome.envelope["data"]["solution"]


def test_a_condition_with_a_code_that_was_never_declared_is_a_fault_of_the_description() -> None:
    assert divide(pre=[replace(holding(False), code="418")]).outcome({"a": 7, "b": 2}).blame == "description"
    assert divide(pre=[replace(holding(False), code="TOO_BIG")]).outcome({"a": 7, "b": 2}).blame == "caller"


def test_one_reading_of_the_clock_serves_the_whole_call() -> None:
    world = World("contract")
    seen: list[datetime] = []

    def look(_: Any, now: datetime) -> bool:
        seen.append(now)
        return True

    def tool(now: datetime) -> dict[str, Any]:
        seen.append(now)
        return {}

    conditions = {
        "pre": [replace(holding(0), id="a", holds=look)],
        "post": [replace(holding(0), id="b", holds=look)],
    }
    envelope = Contract(ToolDescription("x", "x"), tool, clock=world.tick, clock_as="now", **conditions).call(
        {}
    )  # type: ignore[arg-type]
    assert seen == [EPOCH + timedelta(seconds=1)] * 3
    assert envelope["meta"]["timestamp"] == "2026-01-05T09:00:01Z"


def test_codes_can_be_the_article_s_own() -> None:
    tool = date_range(codes={"arguments": "400", "exception": "500"})
    assert tool.call({})["data"]["code"] == "400"


# ways of calling


def test_check_looks_before_the_call_and_runs_nothing() -> None:
    assert divide(leaking).check({"a": 7, "b": 2}) == ()
    assert [breach.pointer for breach in divide(leaking).check({"a": "7", "b": 2})] == ["/a"]


def test_demand_gives_the_data_or_raises_with_the_blame() -> None:
    assert divide().demand({"a": 7, "b": 2}) == {"quotient": 3, "rest": 1}
    with pytest.raises(CallerBreach) as caller:
        divide().demand({"a": "7", "b": 2})
    assert (caller.value.blame, caller.value.pointer) == ("caller", "/a")
    assert caller.value.envelope["status"] == "error"
    with pytest.raises(ToolBreach) as tool:
        divide(leaking).demand({"a": 7, "b": 2})
    assert SECRET not in str(tool.value)
    assert tool.value.__cause__ is None
    with pytest.raises(ToolBreach) as description:
        Contract(replace(DIVIDE, input_schema=False), divided).demand({})
    assert description.value.blame == "description"
    with pytest.raises(ContractError) as declared:
        divide().demand({"a": 7, "b": 0})
    assert declared.value.blame == ""


def test_a_decorated_function_and_method_are_contracts() -> None:
    @contract(DIVIDE, post=[BACK])
    def quotient(a: int, b: int) -> dict[str, int]:
        """Says what it does."""
        return {"quotient": a // b, "rest": a % b}

    class Shop:
        factor = 3

        @contract(ToolDescription("times", "Multiplies."))
        def times(self, a: int) -> dict[str, int]:
            return {"product": a * self.factor}

    assert quotient(a=7, b=2)["data"] == {"quotient": 3, "rest": 1}
    assert quotient.__doc__ == "Says what it does."
    assert (quotient.name, quotient.__name__) == ("divide", "quotient")
    assert Shop().times(a=2)["data"] == {"product": 6}
    assert isinstance(Shop.times, Contract)


def test_async_tools_are_held_to_the_same() -> None:
    async def patient(a: int, b: int) -> Any:
        await asyncio.sleep(0)
        return divided(a, b) if a < 100 else leaking(a, b)

    async def go() -> None:
        held = divide(patient)
        assert held.is_async
        assert (await held(a=7, b=2))["data"] == {"quotient": 3, "rest": 1}
        assert (await held.aoutcome({"a": 7, "b": 0})).blame is None
        assert (await held.aoutcome({"a": 700, "b": 1})).blame == "tool"
        assert (await held.aoutcome({"a": "7", "b": 1})).blame == "caller"
        assert await held.ademand({"a": 7, "b": 2}) == {"quotient": 3, "rest": 1}
        with pytest.raises(UsageError, match="aoutcome"):
            held.call({"a": 7, "b": 2})

    asyncio.run(go())


def test_a_sync_tool_does_not_hold_up_the_loop_and_a_lambda_may_give_a_coroutine() -> None:
    async def go() -> None:
        go_on = threading.Event()
        held = Contract(ToolDescription("wait", "Waits."), lambda: {"seen": go_on.wait(20)})
        task = asyncio.ensure_future(held.acall({}))
        await asyncio.sleep(0)
        go_on.set()
        assert (await task)["data"] == {"seen": True}

        async def four() -> int:
            return 4

        assert (await Contract(held.description, lambda: four()).acall({}))["data"] == {"value": 4}
        assert Contract(held.description, lambda: four()).outcome({}).blame == "tool"
        assert Contract(held.description, functools.partial(four)).is_async

    asyncio.run(go())


def test_a_tool_that_is_late_is_to_blame_and_the_caller_is_told_to_look() -> None:
    go_on = threading.Event()
    held = divide(lambda a, b: go_on.wait(20), deadline=0.05)
    outcome = held.outcome({"a": 7, "b": 2})
    assert (code(outcome), outcome.blame) == ("DEADLINE_EXCEEDED", "tool")
    assert "may have had its effect" in outcome.envelope["data"]["text"]
    outcome = asyncio.run(held.aoutcome({"a": 7, "b": 2}))
    assert code(outcome) == "DEADLINE_EXCEEDED"
    go_on.set()


def test_an_async_tool_that_is_late_is_cancelled_even_if_it_does_not_want_to_be() -> None:
    async def go() -> None:
        cancelled, go_on = asyncio.Event(), asyncio.Event()

        async def stubborn(a: int, b: int) -> Any:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancelled.set()
                await go_on.wait()
                raise

        outcome = await divide(stubborn, deadline=0.02).aoutcome({"a": 7, "b": 2})
        assert code(outcome) == "DEADLINE_EXCEEDED"
        await asyncio.wait_for(cancelled.wait(), 20)
        go_on.set()
        await asyncio.sleep(0)

    asyncio.run(go())


def test_a_timeout_that_the_tool_raises_is_its_own_and_no_deadline() -> None:
    def slow(a: int, b: int) -> Any:
        raise TimeoutError("database")

    assert code(divide(slow, deadline=20).outcome({"a": 7, "b": 2})) == "TOOL_FAILED"
    assert code(asyncio.run(divide(slow, deadline=20).aoutcome({"a": 7, "b": 2}))) == "TOOL_FAILED"
    assert divide(deadline=20).call({"a": 7, "b": 2})["data"] == {"quotient": 3, "rest": 1}
    assert code(divide(deadline=20).outcome({"a": 7, "b": 0})) == "DIVISION_BY_ZERO"


def test_cancelling_the_call_cancels_the_tool() -> None:
    async def go() -> None:
        started, cancelled = asyncio.Event(), asyncio.Event()

        async def endless(a: int, b: int) -> Any:
            started.set()
            try:
                await asyncio.Event().wait()
            finally:
                cancelled.set()

        task = asyncio.ensure_future(divide(endless).acall({"a": 7, "b": 2}))
        await asyncio.wait_for(started.wait(), 20)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(cancelled.wait(), 20)

    asyncio.run(go())


@pytest.mark.parametrize(
    "options",
    [{"returns": "all"}, {"deadline": 0}, {"codes": {"x": "y"}}, {"pre": [BACK], "post": [BACK]},
     {"pre": [replace(BACK, id="n", says={})]}],
)  # fmt: skip
def test_options_that_make_no_sense_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="accepted"):
        divide(**options)


def test_a_naive_clock_is_refused() -> None:
    with pytest.raises(UsageError, match="offset"):
        divide(clock=lambda: datetime(2025, 7, 11)).call({"a": 7, "b": 2})  # noqa: DTZ001


# with its neighbours


def test_a_ledger_stops_a_caller_who_does_not_learn() -> None:
    tool, ledger = date_range(), AttemptLedger()
    answers = [
        ledger.call(tool, {"Start": "2025-07-10T09:00:00Z", "End": "2025-07-10T08:00:00Z"}) for _ in range(5)
    ]
    assert [answer["data"]["code"] for answer in answers] == ["400"] * 3 + ["ATTEMPTS_EXHAUSTED"] * 2
    assert problems_of(answers[-1]) == []


def test_a_recorder_does_not_charge_the_service_with_the_caller_s_mistakes() -> None:
    recorder = Recorder(judge=blame)
    for arguments in ({"a": 7, "b": 2}, {"a": "7"}, {"a": 7, "b": 0}):
        recorder.call(divide().outcome, arguments)
    recorder.call(divide(leaking).outcome, {"a": 7, "b": 2})
    assert [call.counts for call in recorder.series] == ["good", "excluded", "good", "bad"]


# whatever comes in

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda each: st.lists(each, max_size=3) | st.dictionaries(st.text(), each, max_size=3),
    max_leaves=8,
)
MOMENTS = st.datetimes().map(lambda at: at.isoformat())
TIMES = st.one_of(
    st.tuples(MOMENTS, st.sampled_from(["Z", "z", "+02:00", "-23:59", "", "+24:00"])).map("".join),
    st.sampled_from(["2025-12-31T23:59:60Z", "0000-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999-12:00"]),
)


@settings(max_examples=80)
@given(st.dictionaries(st.sampled_from(["Start", "End", "x"]), TIMES | JSON) | JSON)
def test_whatever_comes_in_a_valid_envelope_comes_out(arguments: Any) -> None:
    before = copy.deepcopy(arguments)
    outcome = date_range().at(NOW).outcome(arguments)
    assert problems_of(outcome.envelope) == []
    json.dumps(outcome.envelope, allow_nan=False).encode()
    assert outcome.blame in (None, "caller", "description")
    assert repr(arguments) == repr(before)


@settings(max_examples=50)
@given(JSON)
def test_whatever_comes_out_of_the_tool_a_valid_envelope_is_made_of_it(result: Any) -> None:
    for returns in ("data", "envelope"):
        outcome = divide(lambda a, b: result, returns=returns).outcome({"a": 7, "b": 2})
        assert problems_of(outcome.envelope) == []
        assert outcome.blame == "tool"


@settings(max_examples=50)
@given(st.integers(), st.integers(min_value=0))
def test_a_right_tool_is_never_blamed(a: int, b: int) -> None:
    outcome = divide().outcome({"a": a, "b": b})
    assert outcome.blame is None
    assert outcome.succeeded == (b != 0)
