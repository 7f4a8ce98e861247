"""The measurements and self-checks of class 132: computed from real conversations, and never in the way."""

from __future__ import annotations

import asyncio
import contextlib
import io
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp.server.mcpserver import Context

from ai_evolution.atdf.contract import ToolFailure
from ai_evolution.labs import practice_mcp as practice
from ai_evolution.labs.mcp import LEGACY, MODERN
from ai_evolution.labs.selfcheck import SelfCheck
from ai_evolution.mcp.trust import fingerprint

WHO = {
    "weather": "model",
    "open-file": "application",
    "slash": "person",
    "booking": "model",
    "calendar": "application",
    "greeting": "person",
}
ERAS = {"A": LEGACY, "B": MODERN, "C": LEGACY, "D": MODERN, "E": LEGACY, "F": "both"}


def run(coroutine: Any) -> Any:
    async def bounded() -> Any:
        async with asyncio.timeout(60):
            return await coroutine

    return asyncio.run(bounded())


def lines(check: SelfCheck) -> str:
    return " ".join(line["en"] for line in check.missing)


async def cook(dish: str, portions: int, context: Context[Any, Any]) -> dict[str, Any]:
    if dish not in practice.MENU:
        there = ", ".join(practice.MENU)
        raise ToolFailure(practice.DECLARED, f"no {dish}", expected=there, solution="another dish")
    for portion in range(1, portions + 1):
        await context.report_progress(portion, portions)
    return {"dish": dish, "cooked": portions}


# ------------------------------------------------------------------------------------ what is measured


@pytest.mark.parametrize(("mode", "begins"), [("legacy", 3), ("auto", 2), (MODERN, 0)])
def test_a_connection_costs_its_beginning_and_two_messages_for_each_call(mode: str, begins: int) -> None:
    known = run(practice.growth(mode, 3, listed=False))
    assert [messages for messages, _ in known] == [begins + 2 * calls for calls in range(4)]
    listed = run(practice.growth(mode, 3))
    assert [messages for messages, _ in listed] == [begins + 2 + 2 * calls for calls in range(4)]
    grown = [size for _, size in listed]
    assert grown == sorted(set(grown))
    assert grown[0] > known[0][1]


def test_a_connection_without_a_call_is_its_beginning_alone() -> None:
    assert [messages for messages, _ in run(practice.growth("auto", 0))] == [4]


def test_a_contract_hands_over_what_the_schema_allows_and_the_plain_tool_another_call() -> None:
    forbidden = practice.forbidden()
    contracted, plain = (run(practice.handed_over(kind)) for kind in ("contracted", "plain"))
    assert {name for name, got in contracted.items() if got == practice.REFUSED} == {
        name for name, breaks in forbidden.items() if breaks
    }
    assert plain['seats "1_000"'] == {"seats": 1000, "outdoors": True}
    assert plain["view added"] == {"seats": 5, "outdoors": True}
    assert set(practice.PREDICTED) <= set(practice.WRONG)


def test_every_mutant_says_what_it_does_in_both_languages_and_who_noticed() -> None:
    found = practice.mutants()
    assert len(found) >= 8
    assert all(mutant["en"] != mutant["es"] and set(practice.JUDGES) <= set(mutant) for mutant in found)


def test_silence_and_destruction_are_asked_for_and_reading_is_not() -> None:
    assert run(practice.consents()) == {
        "says nothing": "asks",
        "only reads": "calls",
        "destroys": "asks",
        "destroys nothing": "calls",
        "may be repeated": "asks",
        "only reads and destroys": "calls",
    }


# ------------------------------------------------------------------------------------- the right work


def test_work_that_is_right_misses_nothing() -> None:
    assert practice.check_who(WHO).done
    assert practice.check_eras(ERAS, run(practice.pieces())).done
    assert run(practice.check_cook(cook)).done
    assert practice.check_same(lambda one, other: fingerprint(one) == fingerprint(other)).done


@pytest.mark.parametrize("seed", range(4))
def test_the_change_is_found_wherever_the_seed_put_it(seed: int) -> None:
    frames = run(practice.conversation(seed))
    change = practice.changed_in(frames)
    assert change is not None
    assert change["where"] == "/description"
    assert "office" in str(frames[change["message"]])
    assert "office" not in str(frames[: change["message"]])
    assert practice.check_change(change, frames).done


def test_the_list_is_shuffled_before_it_is_changed() -> None:
    frames = run(practice.conversation())
    lists = [frame["message"]["result"]["tools"] for frame in frames if "tools" in result_of(frame)]
    moved = next(tools for tools in lists if tools != lists[0])
    assert sorted(map(str, moved)) == sorted(map(str, lists[0]))


def result_of(frame: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = frame["message"].get("result", {})
    return found


def test_the_cases_of_the_pin_are_of_both_kinds() -> None:
    kept = {
        case for case in practice.CASES if len({fingerprint(one) for one in practice.relisted(case)}) == 1
    }
    assert kept == {"nothing", "order", "meta"}


# ---------------------------------------------------------------------------------- what is not right


def test_who_is_told_where_to_look_and_not_what_is_right() -> None:
    said = practice.check_who({**WHO, "slash": "model", "booking": None})
    assert [line["en"].split(":")[0] for line in said.missing] == ["slash", "booking"]
    assert "tool" not in lines(said)


def test_a_wrong_era_and_a_missing_one_are_told_apart() -> None:
    said = practice.check_eras({**ERAS, "F": MODERN, "A": None}, run(practice.pieces()))
    assert "A: one of" in lines(said)
    assert "F: name the member" in lines(said)


async def silent(dish: str, portions: int) -> dict[str, Any]:
    return {"dish": dish, "cooked": portions}


async def boasting(dish: str, portions: int, context: Context[Any, Any]) -> dict[str, Any]:
    return {**await cook(dish, portions, context), "cooked": portions + 1}


async def curt(dish: str, portions: int, context: Context[Any, Any]) -> dict[str, Any]:
    if dish not in practice.MENU:
        raise ToolFailure(practice.DECLARED, "no", expected="something else", solution="try")
    return await cook(dish, portions, context)


async def hangs(dish: str, portions: int) -> dict[str, Any]:
    await asyncio.Event().wait()
    return {"dish": dish, "cooked": portions}


async def bursts(dish: str, portions: int) -> dict[str, Any]:
    raise RuntimeError(f"{dish} {portions}: the safe opens with 4711")


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (silent, ["2: 3 portions, and the caller heard -", "3: it ends in INVALID_RESULT"]),
        (boasting, ["1: 3 were wanted, it gives"]),
        (curt, ["3: NOT_ON_THE_MENU it is, and the caller still"]),
        (hangs, ["1: no answer within 0.2 s", "2: no answer", "3: no answer"]),
        (bursts, ["1: it ends in TOOL_FAILED", "2: it ends", "3: it ends"]),
        (dict, ["no server can offer it"]),
        (None, ["no function yet"]),
    ],
)
def test_a_tool_that_breaks_one_promise_is_told_which(function: Any, says: list[str]) -> None:
    noise = io.StringIO()
    with contextlib.redirect_stderr(noise):
        said = run(practice.check_cook(function, 0.2 if function is hangs else practice.SECONDS))
    assert len(said.missing) == len(says)
    assert all(line["en"].startswith(start) for line, start in zip(said.missing, says, strict=True))
    assert "4711" not in lines(said)
    assert noise.getvalue() == ""


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (lambda one, other: one == other, ["another _meta", "the limit 1 became true"]),
        (lambda one, other: one["name"] == other["name"], ["another description", "characters that print"]),
        (lambda _one, _other: False, ["nothing was changed", "members of objects", "another _meta"]),
        (lambda one, other: 1, ["nothing was changed: it says 1"]),
        (lambda one: one, ["nothing was changed: it raises TypeError"]),
    ],
)
def test_a_pin_that_is_too_strict_or_too_lax_is_told_by_which_case(function: Any, says: list[str]) -> None:
    said = practice.check_same(function)
    assert all(line["en"].startswith(start) for line, start in zip(said.missing, says, strict=False))
    assert len(said.missing) >= len(says)


def test_a_function_that_scribbles_on_its_arguments_changes_no_other_case() -> None:
    def scribbles(one: dict[str, Any], other: dict[str, Any]) -> bool:
        answer = fingerprint(one) == fingerprint(other)
        one.clear()
        other.clear()
        return answer

    assert practice.check_same(scribbles).done


def test_a_change_in_the_wrong_place_is_told_member_by_member() -> None:
    frames = run(practice.conversation())
    change = practice.changed_in(frames)
    assert change is not None
    said = practice.check_change({**change, "message": change["message"] + 4, "where": "/title"}, frames)
    assert [line["en"].split(":")[0] for line in said.missing] == ["message", "where"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.sampled_from("ABCDEF"), inner),
    max_leaves=8,
)
FRAMES = run(practice.conversation())
PIECES = run(practice.pieces())


@given(JSON)
@settings(max_examples=60, deadline=None)
def test_whatever_is_written_no_check_raises_or_is_satisfied(written: Any) -> None:
    for said in (
        practice.check_who(written),
        practice.check_eras(written, PIECES),
        practice.check_same(written),
        practice.check_change(written, FRAMES),
    ):
        assert not said.done
        assert all(said.says(lang) for lang in ("en", "es"))
