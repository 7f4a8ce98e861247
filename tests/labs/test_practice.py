"""The self-checks of the notebooks: right when the work is right, clear when it is not, never in the way."""

from __future__ import annotations

import asyncio
import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ai_evolution.a2a import states
from ai_evolution.a2a.cards import misfits
from ai_evolution.evidence import Report
from ai_evolution.labs import practice
from ai_evolution.labs.hiring import QUESTION

GOLDEN = Path(__file__).resolve().parents[2] / "classes" / "134-a2a" / "evidence.seed-0.json"
CHECKS = (practice.check_order, practice.check_moves, practice.check_card, practice.check_choice)
CHECKS += (practice.check_places,)

ORDER = ["SUBMITTED", "WORKING", "INPUT_REQUIRED", "WORKING", "COMPLETED"]
VERDICT = {"alder": "output-mode", "birch": "protocol", "cedar": "auth", "elm": "push", "fir": "fits"}
PLACES = {"question": "message", "first-half": "artifact", "refusal": "message", "certificate": "artifact"}


def a_card() -> dict[str, Any]:
    return {
        "name": "Translation desk",
        "description": "Translates contracts",
        "version": "1",
        "supportedInterfaces": [
            {"url": f"{practice.HOME}/", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
        ],
        "capabilities": {"streaming": True},
        "securitySchemes": {"bearer": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}},
        "securityRequirements": [{"schemes": {"bearer": {"list": []}}}],
        "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["application/json"],
        "skills": [{"id": "translate-contract", "name": "Contracts", "description": "Any", "tags": ["law"]}],
    }


def right_moves() -> dict[tuple[str, str], bool]:
    prefix = "TASK_STATE_"
    return {(old, new): prefix + new in states.TRANSITIONS[prefix + old] for old, new in practice.MOVES}


def lines(check: practice.SelfCheck) -> str:
    return " ".join(line["en"] for line in check.missing)


# ------------------------------------------------------------------------------- the right work


def test_work_that_is_right_misses_nothing() -> None:
    assert practice.check_order(ORDER).done
    assert practice.check_order([f"TASK_STATE_{name}" for name in ORDER]).done
    assert practice.check_moves(right_moves()).done
    assert practice.check_card(a_card()).done
    assert practice.check_choice(VERDICT).done
    assert practice.check_places(PLACES).done


def test_the_moves_to_judge_are_of_both_kinds() -> None:
    assert sorted(right_moves().values()) == [False] * 3 + [True] * 3


def test_each_of_the_five_agents_lacks_one_thing_but_one() -> None:
    found = {
        name: misfits(card, practice.WANTED, f"https://{name}.example")
        for name, card in practice.five_cards().items()
    }
    assert found == {name: [] if word == "fits" else [word] for name, word in VERDICT.items()}


# ----------------------------------------------------------------------------- what is not right


@pytest.mark.parametrize(
    ("order", "says"),
    [
        (None, "no order yet"),
        ([], "no order yet"),
        (ORDER[:-1], "use each piece once"),
        ([*ORDER[:-1], "FAILED"], "use each piece once"),
        (ORDER[::-1], "cannot follow COMPLETED"),
        (["WORKING", "SUBMITTED", *ORDER[2:]], "SUBMITTED cannot follow WORKING"),
    ],
)
def test_an_order_that_is_none_or_not_legal_is_told_so(order: Any, says: str) -> None:
    assert says in lines(practice.check_order(order))


def test_every_move_that_is_told_wrongly_is_named_and_no_other() -> None:
    for move, legal in right_moves().items():
        check = practice.check_moves({**right_moves(), move: not legal})
        assert [line["en"] for line in check.missing] == [f"{' -> '.join(move)}: look it up in TRANSITIONS"]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"name": ""}, "/name: missing"),
        ({"defaultOutputModes": ["text/plain"]}, "misfits: output-mode"),
        ({"defaultInputModes": ["text/html"]}, "misfits: input-mode"),
        ({"capabilities": {}}, "misfits: streaming"),
        ({"skills": [{**a_card()["skills"][0], "id": "translate"}]}, "misfits: skill"),
        ({"securityRequirements": []}, "demands no token"),
        ({"securityRequirements": [{"schemes": {"oauth": {"list": []}}}]}, "scheme 'oauth' is not declared"),
        ({"securityRequirement": []}, "/securityRequirement: empty or unknown"),
        ({"version": 1}, "cannot read it"),
        ({"name": {1, 2}}, "no JSON card"),
        ({"size": float("nan")}, "no JSON card"),
    ],
)
def test_a_card_that_lacks_something_is_told_what(change: dict[str, Any], says: str) -> None:
    assert says in lines(practice.check_card({**a_card(), **change}))


def test_an_interface_elsewhere_or_of_another_kind_is_named() -> None:
    for change, word in (
        ({"url": "https://elsewhere.example/"}, "origin"),
        ({"protocolBinding": "GRPC"}, "binding"),
        ({"protocolVersion": "0.3"}, "protocol"),
    ):
        card = copy.deepcopy(a_card())
        card["supportedInterfaces"][0].update(change)
        assert f"misfits: {word}" in lines(practice.check_card(card))


def test_a_wrong_choice_is_told_without_the_right_one_being_given_away() -> None:
    wrong = practice.check_choice({**VERDICT, "alder": "fits", "fir": "push", "elm": "cheap", "birch": None})
    told = lines(wrong)
    assert len(wrong.missing) == 4
    assert "alder: it lacks something" in told
    assert "fir: not for that reason" in told
    assert "elm: cheap? one of fits" in told
    assert "birch: no verdict yet" in told
    assert "alder: output-mode" not in told


def test_each_misplaced_situation_is_named() -> None:
    for name, place in PLACES.items():
        other = "artifact" if place == "message" else "message"
        [line] = practice.check_places({**PLACES, name: other}).missing
        assert line["en"].startswith(name)


def test_every_word_of_misfits_has_a_sentence_in_both_languages() -> None:
    words = {
        word
        for card in ({}, {"capabilities": {"extensions": [{"required": True}]}})
        for word in misfits(card, practice.WANTED, "https://x.example")
    }
    assert words <= set(practice.MISFIT)
    assert all(set(text) == {"en", "es"} and text["en"] != text["es"] for text in practice.MISFIT.values())


# ---------------------------------------------------------------------------------- predictions

NAME = practice.words("bytes", "bytes")


def test_no_prediction_is_missing_and_gives_nothing_away() -> None:
    check = practice.check_prediction(NAME, None, 4597)
    assert not check.done
    assert "4597" not in check.says("en") + check.says("es")


def test_a_wrong_prediction_is_a_discovery_and_not_a_gap() -> None:
    check = practice.check_prediction(NAME, 100, 4597)
    assert check.done
    assert "you predicted 100, measured was 4597" in check.says("en")
    assert "predijiste 100 y se midió 4597" in check.says("es")


def test_a_right_prediction_may_be_a_list_or_a_tuple() -> None:
    for predicted in (["tool", "task"], ("tool", "task")):
        assert (
            "as predicted: tool, task" in practice.check_prediction(NAME, predicted, ["tool", "task"]).says()
        )


def test_the_summary_counts_what_is_done() -> None:
    checks = [practice.check_order(ORDER), practice.check_places(None)]
    assert practice.summary(checks).splitlines() == [
        "[x] the order of the states",
        "[ ] message or artifact",
        "1 / 2",
    ]
    assert practice.summary(checks, "es").splitlines()[0] == "[x] el orden de los estados"


# -------------------------------------------------------------------------- the answer function


async def careful(question: str, consent: Any) -> Any:
    if question != QUESTION or consent is None or consent["status"] != "given":
        return None
    return [{"data": {"international": consent["reach"] == "world"}}]


async def stern(question: str, consent: Any) -> Any:
    reply = await careful(question, consent)
    return reply if reply and reply[0]["data"]["international"] else None


def test_both_ways_to_refuse_half_a_check_are_accepted_and_a_plain_function_is_too() -> None:
    def plain(question: str, consent: Any) -> Any:
        return asyncio.Future() if question is None else [{"data": {"international": True}}]

    assert asyncio.run(practice.check_answer(careful)).done
    assert asyncio.run(practice.check_answer(stern)).done
    assert len(asyncio.run(practice.check_answer(plain)).missing) == 4


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (None, "it raises TypeError"),
        (lambda question, consent: 1 / 0, "it raises ZeroDivisionError"),
        (lambda question, consent: "yes", "it gives yes"),
        (lambda question, consent: [{"text": "yes"}], "it gives {'text': 'yes'}"),
        (lambda question, consent: [{"data": {"international": "yes"}}], "it gives"),
        (lambda question, consent: None, "C-1: None is not what"),
    ],
)
def test_an_answer_that_is_none_is_told_how(answer: Any, says: str) -> None:
    assert says in lines(asyncio.run(practice.check_answer(answer)))


def test_a_function_that_never_returns_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    async def for_ever(question: str, consent: Any) -> Any:
        await asyncio.Event().wait()

    monkeypatch.setattr(practice, "SECONDS", 0.01)
    assert "TimeoutError" in lines(asyncio.run(practice.check_answer(for_ever)))


def test_a_function_cannot_rewrite_the_books() -> None:
    async def rewrites(question: str, consent: Any) -> Any:
        if consent:
            consent["reach"] = "world"
        return await careful(question, consent)

    before = {name: dict(consent) for name, consent in practice.CONSENTS.items()}
    assert "C-2: True" in lines(asyncio.run(practice.check_answer(rewrites)))
    assert {name: dict(consent) for name, consent in practice.CONSENTS.items()} == before


def test_the_real_agent_looks_as_far_as_the_answer_lets_it() -> None:
    outcome = asyncio.run(practice.ask_the_desk(careful))
    assert outcome["C-2"]["sources"] == outcome["C-1"]["sources"] // 2
    assert (outcome["C-3"], outcome["C-4"]) == ("CANCELED", "CANCELED")
    assert set(asyncio.run(practice.ask_the_desk(None)).values()) == {"CANCELED"}  # type: ignore[arg-type]


# ----------------------------------------------------------------------------- the recorded wire


def test_the_arrows_are_the_messages_of_the_recorded_frames() -> None:
    wire: Any = Report.load(GOLDEN).result["wire"]
    found = practice.arrows(wire)
    assert len(found) == sum(1 + len(frame["received"]) for frame in wire)
    assert [arrow.says for arrow in found if arrow.says.isupper()] == ORDER
    assert [arrow.says for arrow in found if arrow.source == "hiring"] == [
        "GET /.well-known/agent-card.json",
        "SendStreamingMessage (text + data)",
        "SendStreamingMessage (data)",
    ]
    assert {(arrow.source, arrow.target) for arrow in found} == {("hiring", "checks"), ("checks", "hiring")}


def test_an_answer_that_is_no_task_is_shown_by_its_status() -> None:
    refused = {"from": "hiring", "to": "https://checks.example", "request": "POST /", "sent": None}
    [asked, told] = practice.arrows([{**refused, "status": 401, "received": ["no"]}])
    assert (asked.says, told.says) == ("POST /", "401")


# ------------------------------------------------------------------------- whatever they write

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.just(object()),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.dictionaries(st.sampled_from([*a_card(), *VERDICT, *PLACES, *practice.MOVES]), inner, max_size=6)
    ),
    max_leaves=12,
)


@settings(max_examples=60, deadline=None)
@given(anything)
def test_no_check_raises_whatever_stands_in_the_cell(written: Any) -> None:
    for check in CHECKS:
        for lang in ("en", "es"):
            assert check(written).says(lang)
    assert practice.check_prediction(NAME, written, ["tool"]).says()
    assert asyncio.run(practice.check_answer(lambda question, consent: written)).says()


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(a_card())), anything)
def test_no_card_with_anything_in_one_member_stops_the_check(member: str, written: Any) -> None:
    assert practice.check_card({**a_card(), member: written}).says("es")


def test_the_five_cards_and_their_facts_are_plain_json() -> None:
    cards = practice.five_cards()
    assert json.loads(json.dumps(cards)) == cards
    assert {tuple(practice.facts(card)) for card in cards.values()} == {
        ("interfaces", "default out", "skill out", "security", "push")
    }
