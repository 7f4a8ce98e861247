"""The notebooks of the classes: student and solution are one notebook, and no answer can stop it.

The hygiene of every notebook is in ``test_notebooks_hygiene.py``, what their outputs say is compared by
nbval. Here the cells are run without a kernel, with a report that was recorded.
"""

from __future__ import annotations

import ast
import asyncio
import contextlib
import io
import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ai_evolution.evidence import Report

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "scripts"))

import build_notebooks as building  # noqa: E402

LANGUAGES = ("en", "es")
NAMES = ("guided", "student", "solution")
LONG = {"my-card", "setup"}
MOST_LINES = 22


@dataclass(frozen=True)
class Room:
    """The notebooks of one class: how many checks, which names a student fills, what stands where."""

    slug: str
    lab: str
    checks: int
    tempting: int  # answers in the solution that a check refuses
    work: tuple[str, ...]  # what the my-... cells assign, cell by cell, the predictions apart
    predictions: tuple[str, ...]
    wrong: int  # of the checks, how many at least can't be done by nonsense
    runs: tuple[int, int, int]
    warnings: dict[str, tuple[str, str]]
    findings: str
    broken: str

    @property
    def source(self) -> Path:
        return ROOT / "notebooks" / self.slug / "source"

    @property
    def golden(self) -> Path:
        return ROOT / "classes" / self.slug / "evidence.seed-0.json"

    def cells(self, name: str) -> dict[str, str]:
        code = (self.source / f"{name}.py").read_text(encoding="utf-8")
        return {cell.id: cell.source for cell in building.read_code(code, name)}

    def prose(self, name: str, lang: str) -> str:
        return (self.source / f"{name}.{lang}.md").read_text(encoding="utf-8")


ROOMS = (
    Room(
        slug="134-a2a",
        lab="multiagent",
        checks=11,
        tempting=6,
        work=("order", "legal", "my_card", "verdict", "places", "answer"),
        predictions=("cheapest_first", "pays_from", "executions", "stranger"),
        wrong=6,
        runs=(3, 1, 1),
        warnings={
            "en": ("**scripted**", "**one machine**"),
            "es": ("**guiones**", "**una sola máquina**"),
        },
        findings=r"`((?:a2a|ways|kqml)\.[a-z0-9-]+)`",
        broken="a2a.opacity",
    ),
    Room(
        slug="131-contracts",
        lab="contracts",
        checks=12,
        tempting=6,
        work=("layers", "blame", "holds", "more", "breaks = gains", "needed"),
        predictions=("flaws_noticed", "required_lost", "tries_opaque", "tries_structured", "kept", "levels"),
        wrong=6,
        runs=(2, 1, 1),
        warnings={
            "en": ("**scripted**", "**one process**"),
            "es": ("**guionizado**", "**un solo proceso**"),
        },
        findings=r"`((?:contract|repair|translate|version|sla|role|net)\.[a-z0-9-]+)`",
        broken="contract.equality",
    ),
    Room(
        slug="132-mcp",
        lab="mcp",
        checks=11,
        tempting=5,
        work=("who", "eras", "cook", "same", "change"),
        predictions=("messages", "dearer", "got", "ends", "consents", "suite"),
        wrong=9,
        runs=(2, 1, 1),
        warnings={
            "en": ("**scripted**", "**one machine**"),
            "es": ("**guionizado**", "**una sola máquina**"),
        },
        findings=r"`(mcp\.[a-z0-9-]+)`",
        broken="mcp.rug-pull",
    ),
)
every_class = pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.slug)


def play(room: Room, code: dict[str, str], lang: str, **instead: str) -> str:
    """Run cells in their order with the recorded report; ``instead`` replaces some. What was printed."""
    names: dict[str, Any] = {"display": lambda *_shown: None}
    said = io.StringIO()

    async def all_of_them() -> None:
        for cell_id, source in code.items():
            text = instead.get(cell_id.replace("-", "_"), source)
            text = text.replace('LANG = "en"', f'LANG = "{lang}"')
            text = text.replace("from IPython.display import display", "")
            text = text.replace(f'run_lab("{room.lab}", seed=0)', "recorded")
            program = compile(text, f"<{cell_id}>", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
            running = eval(program, names)
            if running is not None:
                await running

    names["recorded"] = Report.load(room.golden)
    with contextlib.redirect_stdout(said):
        asyncio.run(all_of_them())
    return said.getvalue()


# ------------------------------------------------------------------ student and solution are one


@every_class
def test_the_solution_is_the_students_notebook_with_the_answers_in_it(room: Room) -> None:
    student, solution = room.cells("student"), room.cells("solution")
    kept = {name: text for name, text in solution.items() if not name.startswith("wrong-")}
    assert list(kept) == list(student)
    differ = {name for name in student if student[name] != kept[name]}
    assert differ == {name for name in student if name.startswith("my-")}


@every_class
@pytest.mark.parametrize("lang", LANGUAGES)
def test_as_delivered_every_check_says_what_is_missing_and_nothing_fails(room: Room, lang: str) -> None:
    said = play(room, room.cells("student"), lang)
    assert said.rstrip().endswith(f"\n0 / {room.checks}")
    assert said.count({"en": ": still missing\n", "es": ": todavía falta\n"}[lang]) == room.checks


@every_class
@pytest.mark.parametrize("lang", LANGUAGES)
def test_in_the_solution_nothing_is_missing_and_every_tempting_answer_is_told_so(
    room: Room, lang: str
) -> None:
    said = play(room, room.cells("solution"), lang)
    assert said.rstrip().endswith(f"\n{room.checks} / {room.checks}")
    assert said.count({"en": ": still missing\n", "es": ": todavía falta\n"}[lang]) == room.tempting


GARBAGE = {
    "nothing": "None",
    "a text": "'COMPLETED'",
    "a number": "7",
    "a list of anything": "[None, 3, {}, 'task']",
    "a dict of anything": "{'alder': 3, 'question': [], ('FAILED', 'CANCELED'): 'no', 'name': {}}",
}


@every_class
@pytest.mark.parametrize("written", GARBAGE.values(), ids=GARBAGE.keys())
def test_whatever_a_student_writes_the_notebook_runs_to_its_end(room: Room, written: str) -> None:
    student = room.cells("student")
    holders = [cell for cell in student if cell.startswith("my-") and cell != "my-predictions"]
    instead = {
        cell.replace("-", "_"): f"{name} = {written}" for cell, name in zip(holders, room.work, strict=True)
    }
    instead["my_predictions"] = "\n".join(f"{name} = {written}" for name in room.predictions)
    said = play(room, student, "es", **instead)
    done = re.search(rf"\n(\d+) / {room.checks}\n$", said)
    assert done is not None
    assert int(done[1]) <= room.checks - room.wrong


# ------------------------------------------------------------------------- what a reader is told


@every_class
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("lang", LANGUAGES)
def test_each_says_what_is_scripted_and_how_little_lies_between_the_parts(
    room: Room, name: str, lang: str
) -> None:
    opening = room.prose(name, lang).split("<!-- cell:")[1]
    assert [warning for warning in room.warnings[lang] if warning not in opening] == []


@every_class
@pytest.mark.parametrize("name", NAMES)
def test_every_cell_that_shows_something_stands_on_an_assertion_or_a_self_check(
    room: Room, name: str
) -> None:
    for cell_id, source in room.cells(name).items():
        if "print(" in source or "display(" in source or "show(" in source:
            defines_only = cell_id == "setup"
            assert defines_only or re.search(r"^assert |^note\(", source, re.M), cell_id


@every_class
@pytest.mark.parametrize("name", NAMES)
def test_cells_are_short(room: Room, name: str) -> None:
    long = {cell_id for cell_id, source in room.cells(name).items() if source.count("\n") + 1 > MOST_LINES}
    assert long <= LONG


@every_class
def test_the_student_and_the_solution_run_the_lab_once_and_the_guide_as_often_as_it_must(
    room: Room,
) -> None:
    runs = [sum("run_lab(" in cell for cell in room.cells(name).values()) for name in NAMES]
    assert runs == list(room.runs)


@every_class
@pytest.mark.parametrize("lang", LANGUAGES)
def test_links_lead_to_the_other_notebooks_and_to_the_other_language(room: Room, lang: str) -> None:
    ending, other = ("", ".es") if lang == "en" else (".es", "")
    for name in NAMES:
        first = room.prose(name, lang).split("<!-- cell:")[1]
        linked = set(re.findall(r"\]\(([^)]+)\)", first))
        assert f"{name}{other}.ipynb" in linked
        assert f"../../classes/{room.slug}/README{ending}.md" in linked
        assert all((room.source.parent / link).exists() for link in linked if link.endswith(".ipynb"))


@every_class
def test_every_finding_that_the_prose_names_is_one_of_the_lab(room: Room) -> None:
    report = Report.load(room.golden)
    known = {item.id for item in report.evidence} | {item.id for item in report.limitations}
    named = {
        lang: set(re.findall(room.findings, "".join(room.prose(name, lang) for name in NAMES)))
        for lang in LANGUAGES
    }
    assert named["en"] | named["es"] <= known
    assert named["en"] & {item.id for item in report.limitations}, "a finding is cited with its bound"
    assert named["en"] == named["es"]
    assert room.broken in known


@every_class
def test_the_broken_part_of_the_guide_breaks_one_claim_in_the_built_notebook(room: Room) -> None:
    notebook = json.loads((room.source.parent / "guided.ipynb").read_text(encoding="utf-8"))
    [broken] = [cell for cell in notebook["cells"] if cell["id"] == "broken"]
    assert f"no longer true: ['{room.broken}']\n" in "".join(broken["outputs"][0]["text"])
