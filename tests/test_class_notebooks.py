"""The notebooks of the classes: student and solution are one notebook, and no answer can stop it.

The hygiene of every notebook is in ``test_notebooks_hygiene.py``, what their outputs say is compared by
nbval. Here the cells of class 134 are run without a kernel, with a report that was recorded.
"""

from __future__ import annotations

import ast
import asyncio
import contextlib
import io
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from ai_evolution.evidence import Report

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "scripts"))

import build_notebooks as building  # noqa: E402

CLASS = "134-a2a"
SOURCE = ROOT / "notebooks" / CLASS / "source"
GOLDEN = ROOT / "classes" / CLASS / "evidence.seed-0.json"
LANGUAGES = ("en", "es")
NAMES = ("guided", "student", "solution")
LONG = {"my-card", "setup"}
MOST_LINES = 22


def cells(name: str) -> dict[str, str]:
    code = (SOURCE / f"{name}.py").read_text(encoding="utf-8")
    return {cell.id: cell.source for cell in building.read_code(code, name)}


def prose(name: str, lang: str) -> str:
    return (SOURCE / f"{name}.{lang}.md").read_text(encoding="utf-8")


def play(code: dict[str, str], lang: str, **instead: str) -> str:
    """Run cells in their order with the recorded report; ``instead`` replaces some. What was printed."""
    names: dict[str, Any] = {"display": lambda *_shown: None}
    said = io.StringIO()

    async def all_of_them() -> None:
        for cell_id, source in code.items():
            text = instead.get(cell_id.replace("-", "_"), source)
            text = text.replace('LANG = "en"', f'LANG = "{lang}"')
            text = text.replace("from IPython.display import display", "")
            text = text.replace('run_lab("multiagent", seed=0)', "recorded")
            program = compile(text, f"<{cell_id}>", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
            running = eval(program, names)
            if running is not None:
                await running

    names["recorded"] = Report.load(GOLDEN)
    with contextlib.redirect_stdout(said):
        asyncio.run(all_of_them())
    return said.getvalue()


# ------------------------------------------------------------------ student and solution are one


def test_the_solution_is_the_students_notebook_with_the_answers_in_it() -> None:
    student, solution = cells("student"), cells("solution")
    kept = {name: text for name, text in solution.items() if not name.startswith("wrong-")}
    assert list(kept) == list(student)
    differ = {name for name in student if student[name] != kept[name]}
    assert differ == {name for name in student if name.startswith("my-")}


@pytest.mark.parametrize("lang", LANGUAGES)
def test_as_delivered_every_check_says_what_is_missing_and_nothing_fails(lang: str) -> None:
    said = play(cells("student"), lang)
    assert said.rstrip().endswith("\n0 / 11")
    assert said.count({"en": ": still missing\n", "es": ": todavía falta\n"}[lang]) == 11


@pytest.mark.parametrize("lang", LANGUAGES)
def test_in_the_solution_nothing_is_missing_and_every_tempting_answer_is_told_so(lang: str) -> None:
    said = play(cells("solution"), lang)
    assert said.rstrip().endswith("\n11 / 11")
    assert said.count({"en": ": still missing\n", "es": ": todavía falta\n"}[lang]) == 6


GARBAGE = {
    "nothing": "None",
    "a text": "'COMPLETED'",
    "a number": "7",
    "a list of anything": "[None, 3, {}, 'task']",
    "a dict of anything": "{'alder': 3, 'question': [], ('FAILED', 'CANCELED'): 'no', 'name': {}}",
}


@pytest.mark.parametrize("written", GARBAGE.values(), ids=GARBAGE.keys())
def test_whatever_a_student_writes_the_notebook_runs_to_its_end(written: str) -> None:
    student = cells("student")
    names = ("order", "legal", "my_card", "verdict", "places", "answer")
    predictions = ("cheapest_first", "pays_from", "executions", "stranger")
    holders = [cell for cell in student if cell.startswith("my-") and cell != "my-predictions"]
    instead = {
        cell.replace("-", "_"): f"{name} = {written}" for cell, name in zip(holders, names, strict=True)
    }
    instead["my_predictions"] = "\n".join(f"{name} = {written}" for name in predictions)
    said = play(student, "es", **instead)
    assert re.search(r"\n[0-5] / 11\n$", said)


# ------------------------------------------------------------------------- what a reader is told


@pytest.mark.parametrize("name", NAMES)
def test_each_says_that_the_agents_are_scripted_and_that_one_machine_is_one_machine(name: str) -> None:
    english, spanish = prose(name, "en"), prose(name, "es")
    assert "**scripted**" in english
    assert "**one machine**" in english
    assert "**guiones**" in spanish
    assert "**una sola máquina**" in spanish


@pytest.mark.parametrize("name", NAMES)
def test_every_cell_that_shows_something_stands_on_an_assertion_or_a_self_check(name: str) -> None:
    for cell_id, source in cells(name).items():
        if "print(" in source or "display(" in source or "show(" in source:
            defines_only = cell_id == "setup"
            assert defines_only or re.search(r"^assert |^note\(", source, re.M), cell_id


@pytest.mark.parametrize("name", NAMES)
def test_cells_are_short(name: str) -> None:
    long = {cell_id for cell_id, source in cells(name).items() if source.count("\n") + 1 > MOST_LINES}
    assert long <= LONG


def test_the_student_and_the_solution_run_the_lab_once_and_the_guide_as_often_as_it_must() -> None:
    assert [sum("run_lab(" in cell for cell in cells(name).values()) for name in NAMES] == [3, 1, 1]


@pytest.mark.parametrize("lang", LANGUAGES)
def test_links_lead_to_the_other_notebooks_and_to_the_other_language(lang: str) -> None:
    ending, other = ("", ".es") if lang == "en" else (".es", "")
    for name in NAMES:
        first = prose(name, lang).split("<!-- cell:")[1]
        linked = set(re.findall(r"\]\(([^)]+)\)", first))
        assert f"{name}{other}.ipynb" in linked
        assert f"../../classes/{CLASS}/README{ending}.md" in linked
        assert all((SOURCE.parent / link).exists() for link in linked if link.endswith(".ipynb"))


def test_every_finding_that_the_prose_names_is_one_of_the_lab() -> None:
    report = Report.load(GOLDEN)
    known = {item.id for item in report.evidence} | {item.id for item in report.limitations}
    for name in NAMES:
        for lang in LANGUAGES:
            named = set(re.findall(r"`((?:a2a|ways|kqml)\.[a-z0-9-]+)`", prose(name, lang)))
            assert named <= known, (name, lang)
    assert "a2a.typed-artifact" in known


def test_the_broken_peer_of_the_guide_breaks_one_claim_in_the_built_notebook() -> None:
    notebook = json.loads((SOURCE.parent / "guided.ipynb").read_text(encoding="utf-8"))
    [broken] = [cell for cell in notebook["cells"] if cell["id"] == "broken"]
    assert "no longer true: ['a2a.opacity']\n" in "".join(broken["outputs"][0]["text"])
