"""A role asks, a capability answers, and each side checks by its own copy of the contract."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from date_range import document
from hypothesis import given, settings
from hypothesis import strategies as st

from ai_evolution.atdf.description import read
from ai_evolution.atdf.envelope import error, problems_of
from ai_evolution.atdf.roles import (
    Boundary,
    CapabilityContract,
    Degraded,
    Escalation,
    Operation,
    Range,
    Request,
    ResultContract,
    RoleContract,
    Rule,
)
from ai_evolution.errors import UsageError
from ai_evolution.world import EPOCH

PAY = {
    "type": "object",
    "properties": {"to": {"type": "string"}, "amount": {"type": "number", "exclusiveMinimum": 0}},
    "required": ["to", "amount"],
    "additionalProperties": False,
}
RECEIPT = ResultContract(
    shape={"type": "object", "properties": {"fee": {"type": "number"}}, "required": ["fee"]},
    ranges=(Range("/fee", 0, 10, "EUR"),),
    error={"type": "object", "properties": {"code": {"enum": ["NO_FUNDS"]}}},
)
BANK = CapabilityContract("bank", {"pay": Operation(PAY, RECEIPT), "look": Operation()})
SMALL = Rule(
    "small", {"en": "up to 100", "es": "hasta 100"}, "pay", {"properties": {"amount": {"maximum": 100}}}
)
FOREIGN = {"properties": {"to": {"pattern": "^XX"}}, "required": ["to"]}
ABROAD = Rule("abroad", {"en": "abroad", "es": "al extranjero"}, "*", FOREIGN)
CLERK = RoleContract(
    "clerk",
    {"en": "pays small bills", "es": "paga facturas pequeñas"},
    frozenset({"pay", "close"}),
    alone=(SMALL,),
    escalates=(ABROAD,),
    declares={"reason": {"type": "string", "minLength": 3}},
)
BILL = {"to": "ES1", "amount": 50}
WHY = {"reason": "the bill of May"}


def boundary(**options: Any) -> Boundary:
    return Boundary(CLERK, BANK, **{"clock": lambda: EPOCH} | options)


def cross(perform: Callable[[Request], Any] = lambda _: {"fee": 1}, given: Any = None, **options: Any) -> Any:
    told = {name: options.pop(name) for name in ("declared", "revise") if name in options}
    return boundary(**options).cross(
        "pay", BILL if given is None else given, perform, **{"declared": WHY} | told
    )


def in_turn(*results: Any) -> Callable[[Request], Any]:
    """A provider that gives one result after the other; an exception is raised."""
    left = list(results)

    def perform(_: Request) -> Any:
        result = left.pop(0)
        if isinstance(result, Exception):
            raise result
        return result

    return perform


# the role


@pytest.mark.parametrize(
    ("operation", "arguments", "ruling", "rule"),
    [
        ("pay", BILL, "alone", SMALL),
        ("pay", {"to": "ES1", "amount": 500}, "escalate", None),
        ("pay", {"to": "XX1", "amount": 5}, "escalate", ABROAD),  # whatever else it may decide alone
        ("close", {}, "escalate", None),  # in scope, and nobody said that it may
        ("look", {}, "outside", None),
    ],
)
def test_a_role_decides_alone_what_a_rule_lets_it_and_nothing_else(
    operation: str, arguments: Any, ruling: str, rule: Rule | None
) -> None:
    assert CLERK.ruling(operation, arguments) == (ruling, rule)


def test_what_is_the_role_s_own_to_decide_goes_through_untouched() -> None:
    passage = cross()
    assert (passage.ending, passage.result, passage.attempts, passage.breaches) == (
        "delivered",
        {"fee": 1},
        1,
        (),
    )
    assert [step.move for step in passage.steps] == ["perform"]


def test_what_the_role_may_not_decide_waits_for_somebody_who_may() -> None:
    asked: list[Escalation] = []
    called: list[Request] = []
    big = {"to": "ES1", "amount": 500}
    for answer in (None, False, 1):
        passage = cross(called.append, big, escalate=lambda e, answer=answer: asked.append(e) or answer)
        assert (passage.ending, passage.result) == ("escalated", None)
        assert passage.escalation == asked[-1]
    assert cross(called.append, big).ending == "escalated"
    assert called == []
    assert (asked[0].role, asked[0].arguments, asked[0].declared) == ("clerk", big, WHY)


def test_a_boundary_speaks_spanish_too() -> None:
    assert cross(given={"to": "XX1", "amount": 5}, lang="es").escalation.reason == "al extranjero"
    assert cross(given={"to": "ES1", "amount": 500}, lang="es").escalation.reason.startswith("ninguna regla")
    data = cross(lambda _: {}, lang="es").envelope["data"]
    assert data["expected"] == "un resultado como el acordado"
    assert data["solution"].startswith("Corrige")


def test_what_was_approved_goes_through_and_the_approval_stays_visible() -> None:
    passage = cross(given={"to": "XX1", "amount": 5}, escalate=lambda _: True)
    assert passage.ending == "delivered"
    assert [(step.move, step.note) for step in passage.steps] == [("approve", "abroad"), ("perform", "")]


def test_outside_its_scope_a_role_is_refused_and_not_asked_again() -> None:
    passage = boundary(retries=5).cross("look", {}, lambda _: {}, declared=WHY, revise=lambda a, _: a)
    assert passage.ending == "refused"
    assert [breach.rule for breach in passage.breaches] == ["scope"]
    assert passage.attempts == 0


@pytest.mark.parametrize("declared", [{}, {"reason": ""}, {"reason": 5}])
def test_what_must_be_declared_is_declared_or_nothing_happens(declared: dict[str, Any]) -> None:
    passage = cross(declared=declared)
    assert passage.ending == "refused"
    assert passage.attempts == 0
    assert {(breach.rule, breach.blame, breach.pointer) for breach in passage.breaches} == {
        ("declares", "caller", "/reason")
    }


# the request


@pytest.mark.parametrize(
    "given", [{"to": "ES1"}, {"to": "ES1", "amount": "50"}, BILL | {"x": 1}, [], {"to": {1}}]
)
def test_a_request_that_breaks_the_input_never_leaves_the_caller(given: Any) -> None:
    passage = cross(given=given)
    assert (passage.ending, passage.attempts) == ("refused", 0)
    assert {(breach.place, breach.blame) for breach in passage.breaches} == {("caller-out", "caller")}
    assert problems_of(passage.envelope) == []


def test_the_caller_may_revise_with_the_error_in_hand_and_the_boundary_does_not_do_it_for_it() -> None:
    seen: list[Mapping[str, Any]] = []

    def revise(arguments: dict[str, Any], envelope: dict[str, Any]) -> dict[str, Any]:
        seen.append(envelope)
        return arguments | {"amount": float(arguments["amount"])}

    got: list[Request] = []
    passage = cross(lambda r: got.append(r) or {"fee": 1}, {"to": "ES1", "amount": "50"}, revise=revise)
    assert passage.ending == "delivered"
    assert [step.move for step in passage.steps] == ["request", "revise", "perform"]
    assert seen[0]["data"]["details"]["field"] == "/amount"
    assert got[0].arguments == {"to": "ES1", "amount": 50.0}
    assert cross(given={"to": "ES1", "amount": "50"}, revise=lambda *_: None).ending == "refused"
    stubborn = cross(given={"to": "ES1", "amount": "50"}, revise=lambda a, _: a, retries=2)
    assert [step.move for step in stubborn.steps] == ["request", "revise"] * 2 + ["request", "refuse"]


def test_two_copies_that_differ_are_nobody_s_fault_but_the_contract_s() -> None:
    wide = replace(BANK, operations={"pay": Operation(PAY, ResultContract())})
    narrow = replace(BANK, operations={"pay": Operation({"type": "object", "required": ["iban"]}, RECEIPT)})
    request = (
        cross(expects=BANK, given=BILL)
        if False
        else Boundary(CLERK, narrow, expects=BANK).cross("pay", BILL, lambda _: {}, declared=WHY)
    )
    assert [(b.place, b.blame) for b in request.breaches] == [("provider-in", "contract")]
    assert request.envelope["data"]["code"] == "CONTRACTS_DIFFER"
    result = Boundary(CLERK, wide, expects=BANK, retries=0).cross(
        "pay", BILL, lambda _: {"fee": 99}, declared=WHY
    )
    assert [(b.place, b.blame) for b in result.breaches] == [("caller-in", "contract")]
    assert result.ending == "refused"


# the result


@pytest.mark.parametrize(
    ("bad", "rule"),
    [
        ({}, "required"), ({"fee": "1"}, "type"), ({"fee": -1}, "range"), ({"fee": 11}, "range"),
        ({"fee": float("nan")}, "json"), (None, "type"), ({1: 2}, "json"),
        (ZeroDivisionError("secret"), "exception"),
        (error("OTHER", "x", details={}, expected="x", solution="x", at=EPOCH), "enum"),
    ],
)  # fmt: skip
def test_a_broken_result_is_the_provider_s_and_is_asked_for_again_with_the_error(bad: Any, rule: str) -> None:
    asked: list[Request] = []
    results = in_turn(bad, {"fee": 2})
    passage = cross(lambda request: asked.append(request) or results(request))
    assert (passage.ending, passage.result, passage.attempts) == ("delivered", {"fee": 2}, 2)
    assert [step.move for step in passage.steps] == ["perform", "retry"]
    assert passage.breaches[0].rule == rule
    assert {breach.blame for breach in passage.breaches} == {"provider"}
    assert asked[0].feedback is None
    assert asked[1].feedback == passage.steps[0].envelope
    assert problems_of(asked[1].feedback) == []
    assert "secret" not in json.dumps(asked[1].feedback)


def test_the_agreed_error_case_is_no_breach() -> None:
    failure = error("NO_FUNDS", "no", details={}, expected="x", solution="x", at=EPOCH)
    passage = cross(lambda _: failure)
    assert (passage.ending, passage.envelope, passage.result, passage.breaches) == (
        "failed",
        failure,
        None,
        (),
    )


def test_a_result_that_stays_broken_ends_refused_degraded_or_escalated_and_always_visibly() -> None:
    refused = cross(lambda _: {"fee": 99}, retries=2)
    assert (refused.ending, refused.result, refused.attempts) == ("refused", None, 3)
    second = Degraded({"en": "a known fee", "es": "una tarifa conocida"}, lambda *_: {"fee": 10}, RECEIPT)
    degraded = cross(lambda _: {"fee": 99}, degrade=second)
    assert (degraded.ending, degraded.result) == ("degraded", {"fee": 10})
    assert [step.move for step in degraded.steps] == ["perform", "retry", "degrade"]
    assert degraded.envelope["data"]["code"] == "INVALID_RESULT"
    asked: list[Escalation] = []
    escalated = cross(lambda _: {"fee": 99}, escalate=lambda e: asked.append(e) or True)
    assert (escalated.ending, escalated.result) == ("escalated", None)  # nobody can approve a broken result
    assert len(asked[0].breaches) == 2


@pytest.mark.parametrize("make", [lambda *_: {"fee": 99}, lambda *_: 1 / 0, lambda *_: {1}])
def test_the_second_best_is_held_to_its_own_contract(make: Any) -> None:
    passage = cross(lambda _: {}, degrade=Degraded({"en": "x", "es": "x"}, make, RECEIPT))
    assert (passage.ending, passage.result) == ("refused", None)
    assert passage.steps[-2].move == "degrade"
    assert passage.steps[-2].breaches


@settings(max_examples=60)
@given(
    st.dictionaries(st.text(), st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()),
    st.integers(0, 10),
)
def test_what_is_delivered_is_what_was_given(more: dict[str, Any], fee: int) -> None:
    given = more | {"fee": fee}
    passage = cross(lambda _: given)
    assert passage.result == given
    assert list(passage.result) == list(given)
    assert passage.result is not given


def test_nobody_s_arguments_or_results_are_changed_or_shared() -> None:
    bill, kept = dict(BILL), {"fee": 1, "list": [1]}

    def greedy(request: Request) -> Any:
        request.arguments["amount"] = 99
        return kept

    passage = cross(greedy, bill)
    passage.result["list"].append(2)
    assert bill == BILL
    assert kept == {"fee": 1, "list": [1]}


def test_an_async_provider_is_held_to_the_same() -> None:
    results = in_turn(ZeroDivisionError(), {"fee": 2})

    async def perform(request: Request) -> Any:
        await asyncio.sleep(0)
        return results(request)

    passage = asyncio.run(boundary().across("pay", BILL, perform, declared=WHY))
    assert (passage.ending, passage.attempts) == ("delivered", 2)


# contracts by themselves


def test_ranges_reach_into_lists_and_objects() -> None:
    span = Range("/items/*/price", minimum=0, unit="EUR")
    result = {"items": [{"price": 1}, {"price": -1}, {}, {"price": "1"}, {"price": True}]}
    assert [each.pointer for each in span.problems(result)] == [
        "/items/1/price",
        "/items/3/price",
        "/items/4/price",
    ]
    assert Range("/*", maximum=1).problems({"a/b": 2})[0].pointer == "/a~1b"
    assert Range("").problems(5) == []
    assert Range("/nothing").problems({}) == []


def test_an_operation_can_be_read_off_a_tool_s_description() -> None:
    contract = CapabilityContract("dates", {"validate": Operation.of(read(document())[0])})
    assert [each.pointer for each in contract.request("validate", {"Start": "x", "End": "x"})] == [
        "/Start",
        "/End",
    ]
    assert contract.result("validate", {"text": "ok"}) == []
    assert contract.result("validate", {"text": 5}) != []
    with pytest.raises(UsageError, match="validate accepted"):
        contract.result("other", {})


@pytest.mark.parametrize(
    "make",
    [
        lambda: RoleContract("x", {}, frozenset(), alone=(Rule("r", {}, when={"type": "objekt"}),)),
        lambda: RoleContract("x", {}, frozenset(), declares={"a": 5}),
        lambda: CapabilityContract("x", {"a": Operation({"type": "objekt"})}),
        lambda: CapabilityContract("x", {"a": Operation(True, ResultContract(shape=5))}),
        lambda: boundary(retries=-1),
    ],
)
def test_a_contract_with_a_schema_that_is_none_is_refused(make: Callable[[], Any]) -> None:
    with pytest.raises(UsageError):
        make()
