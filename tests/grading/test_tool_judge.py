"""The judge of class 131: the reference tool pleases it, each mutant displeases it where it breaks."""

from __future__ import annotations

import signal
import sys
import types
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tool_mutants import REFERENCE_TOOL, TOOL_MUTANTS, ToolMutant, mutated_tool

from ai_evolution.a2a.behaviours import Observation
from ai_evolution.atdf.losses import missing
from ai_evolution.grading import library, short_form
from ai_evolution.grading.examiner import examine
from ai_evolution.grading.exercise import behaviour_list, exercise_behaviours
from ai_evolution.grading.renewals import BEHAVIOURS, SLUG
from ai_evolution.grading.talk import Nearby

EXERCISE = Path(__file__).parents[2] / "classes" / SLUG / "exercise"
SOURCE = REFERENCE_TOOL.read_text(encoding="utf-8")
APART = SOURCE.replace("def build(", "OWN = DOCUMENT\n\n\ndef build(", 1).replace("load(DOCUMENT", "load(OWN")
"""The tool reads its own copy of the description, whatever ``DOCUMENT`` says."""


def judged(source: str, only: list[str] | None = None, seed: int = 0) -> dict[str, Observation]:
    """Examine trusted source in this process; the observations by id."""
    module = types.ModuleType("student_tool")
    exec(compile(source, "my_tool.py", "exec", dont_inherit=True), module.__dict__)
    found = examine(BEHAVIOURS, SLUG, Nearby(module), lambda: None, only, seed, patience=60)
    return {each.id: each for each in found}


@pytest.mark.parametrize("seed", [0, 1, 7, 987_654])
def test_the_reference_tool_shows_every_behaviour_whatever_is_drawn(seed: int) -> None:
    found = judged(SOURCE, seed=seed)
    assert {i: o.observed for i, o in found.items() if not o.holds} == {}
    assert tuple(found) == exercise_behaviours(131) == tuple(BEHAVIOURS)


def test_a_solution_by_hand_in_other_words_passes_as_well() -> None:
    source = REFERENCE_TOOL.with_name("handmade_tool.py").read_text(encoding="utf-8")
    assert "Contract(" not in source
    found = judged(source, seed=11)
    assert {i: o.observed for i, o in found.items() if not o.holds} == {}


@pytest.mark.parametrize("mutant", TOOL_MUTANTS, ids=lambda m: m.name)
def test_a_mutant_is_caught_by_what_it_breaks_and_by_nothing_else(mutant: ToolMutant) -> None:
    converter = all(each.startswith("convert.") for each in mutant.breaks)
    only = [i for i in BEHAVIOURS if i.startswith("convert.") is converter]  # they share no line
    wrong = {i: o.observed for i, o in judged(mutated_tool(mutant), only).items() if not o.holds}
    assert set(wrong) == mutant.breaks, wrong


def test_for_each_behaviour_there_is_a_mutant_and_for_most_one_that_breaks_it_alone() -> None:
    assert {each for mutant in TOOL_MUTANTS for each in mutant.breaks} == set(BEHAVIOURS)
    alone = {next(iter(m.breaks)) for m in TOOL_MUTANTS if len(m.breaks) == 1}
    assert set(BEHAVIOURS) - alone == {"convert.rest"}  # what is wrong there is wrong in every schema


def test_a_behaviour_alone_is_asked_with_the_inputs_that_it_has_among_all() -> None:
    mutant = next(m for m in TOOL_MUTANTS if m.name == "days by the calendar")
    alone = judged(mutated_tool(mutant), ["call.succeeds"])["call.succeeds"]
    assert alone.observed == judged(mutated_tool(mutant))["call.succeeds"].observed


def test_what_does_not_hold_comes_with_the_call_and_with_what_reached_the_library() -> None:
    mutant = next(m for m in TOOL_MUTANTS if m.name == "until may be due")
    (exchange,) = judged(mutated_tool(mutant))["call.limits"].exchange
    assert '"do": "call"' in exchange.request
    assert "library.renew({" in exchange.request
    assert '"status": "success"' in exchange.response


def test_a_document_that_is_none_is_told_where_it_is_needed_and_hurts_nothing_else() -> None:
    wrong = {i: str(o.observed) for i, o in judged(f"{APART}\nDOCUMENT = '['\n").items() if not o.holds}
    needed = {"document.valid", "document.strict", "examples.hold", "examples.reach", "call.envelope"}
    assert set(wrong) == needed
    assert all("DOCUMENT" in said for said in wrong.values())


@pytest.mark.parametrize(
    ("document", "says"),
    [
        ("42", "DOCUMENT is no text"),
        ("'x' * 70_000", "at most 65536 are read"),
        ("'{\"a\": ' * 5_000", "DOCUMENT"),
        ("DOCUMENT.replace('^97[89][0-9]{10}$', '^(9+)+x$')", "no repeated group"),
        ("DOCUMENT.replace('^97[89][0-9]{10}$', '^9*9*9*x$')", "2 of * +"),
        ("DOCUMENT.replace('^97[89][0-9]{10}$', 'a?' * 30 + 'a' * 30)", "4 of ?"),
        ("DOCUMENT.replace('^97[89][0-9]{10}$', '[0-9]{0,999}' * 3 + 'x')", "2 of * +"),
        ("DOCUMENT.replace('^97[89][0-9]{10}$', '9' * 201)", "at most 200 characters"),
        ("'tool: 5'", "document"),
        ("'a: &a [*a]'", "DOCUMENT"),
    ],
)
def test_a_hostile_document_is_one_line_and_ends(document: str, says: str) -> None:
    found = judged(
        f"{APART}\nDOCUMENT = {document}\n", ["document.valid", "document.strict", "examples.hold"]
    )
    assert not any(o.holds for o in found.values())
    assert all(says in str(o.observed) for o in found.values()), found


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no alarms here")
def test_a_pattern_in_the_sieve_that_never_comes_back_is_interrupted() -> None:
    slow = ".replace('^97[89][0-9]{10}$', '.*.*x').replace('9780262510875', '9' * 9_000)"
    source = f"{APART}\nDOCUMENT = OWN{slow}\n"
    module = types.ModuleType("student_tool")
    exec(compile(source, "my_tool.py", "exec", dont_inherit=True), module.__dict__)
    before = signal.getsignal(signal.SIGALRM)
    (found,) = examine(BEHAVIOURS, SLUG, Nearby(module), lambda: None, ["document.valid"], patience=0.1)
    assert "too long to judge" in str(found.observed)
    assert signal.getsignal(signal.SIGALRM) is before


@pytest.mark.parametrize("moment", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"])
def test_a_moment_that_no_clock_shows_is_no_moment_and_stops_no_judge(moment: str) -> None:
    """Written with another offset it overflows: the check ended in a traceback, and so did a grade."""
    error = {"code": "TOO_LONG", "text": "x", "details": {"field": "/until"}, "expected": moment,
             "solution": "until"}  # fmt: skip
    answer = {"status": "error", "data": error, "meta": {"timestamp": moment}}
    asks = f"def build(library, clock):\n    return lambda _: library.renew('9780262510875', {moment!r})"
    says = f"def build(library, clock):\n    return lambda _: {answer!r}"
    shows = f"DOCUMENT = DOCUMENT.replace('2026-03-01T09:00:00Z', {moment!r})"
    for hostile in (asks, says, shows):
        assert not all(o.holds for o in judged(f"{SOURCE}\n{hostile}\n").values())


ODD = {
    "none": "lambda given: None",
    "not a number": "lambda given: {'status': 'success', 'data': {'left': float('nan')}, 'meta': {}}",
    "a set": "lambda given: {1, 2}",
    "raises": "lambda given: 1 / 0",
    "leaves": "lambda given: exit(3)",
    "very deep": "lambda given: __import__('functools').reduce(lambda a, _: [a], range(100_000), 0)",
    "half a character": "lambda given: '\\ud800'",
    "a class of its own": "type('Envelope', (dict,), {'get': lambda self, *_: 'success'})",
}


@pytest.mark.parametrize("name", ODD)
def test_whatever_a_tool_answers_the_judge_keeps_its_head(name: str) -> None:
    found = judged(f"{SOURCE}\ndef build(library, clock):\n    return {ODD[name]}\n")
    about_calls = ("call.", "clock.", "error.", "failure.")
    assert not any(o.holds for i, o in found.items() if i.startswith(about_calls))
    assert found["convert.losses"].holds


def test_a_triple_of_the_converter_agrees_with_itself() -> None:
    """What is drawn as schema and as way back differs where something is lost, and nowhere else."""
    chance = Random(5)
    assert any(missing(t.schema, t.back) for t in (short_form.draw(chance, lost=True) for _ in range(20)))
    for _ in range(200):
        triple = short_form.draw(chance, others=True)
        assert triple.schema == triple.back
        assert not missing(triple.back, triple.schema)
    for _ in range(200):
        triple = short_form.draw(chance, others=True, lost=True)
        assert not missing(triple.back, triple.schema)


def test_mistyped_numbers_never_fit_and_drawn_ones_always_do() -> None:
    def fits(number: str) -> bool:
        return sum(int(d) * (1, 3)[n % 2] for n, d in enumerate(number)) % 10 == 0

    chance = Random(3)
    assert fits(library.GIVEN_RESERVED)
    assert fits(library.GIVEN_BROKEN)
    for _ in range(300):
        number = library.isbn(chance)
        assert fits(number)
        assert not fits(library.mistyped(number, chance))
        assert not fits(library.turned(number, chance))


def test_the_package_holds_no_solution_that_a_student_could_import() -> None:
    for name in ("short_form", "library", "renewals", "renewal_checks", "examiner", "talk", "bench"):
        module = sys.modules[f"ai_evolution.grading.{name}"]
        assert not {"shorten", "restore", "row_of", "build"} & vars(module).keys()


@pytest.mark.parametrize(("lang", "name"), [("en", "README.md"), ("es", "README.es.md")])
def test_the_exercise_page_lists_exactly_the_behaviours_that_are_checked(lang: str, name: str) -> None:
    page = (EXERCISE / name).read_text(encoding="utf-8")
    assert behaviour_list(131, lang) in page, "write behaviour_list(131, lang) into the page"


def test_what_the_starter_shows_is_what_its_page_promises() -> None:
    found: dict[str, Any] = judged((EXERCISE / "starter.py").read_text(encoding="utf-8"))
    held = {i for i, o in found.items() if o.holds}
    assert held == {"examples.hold", "call.succeeds", "call.envelope", "failure.neutral", "convert.rest"}
