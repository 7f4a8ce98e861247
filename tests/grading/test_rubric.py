"""The rubrics of the classes, and rubrics that are none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ai_evolution.errors import DocumentError
from ai_evolution.grading import rubric

CLASSES = Path(__file__).parents[2] / "classes"
CLASS = CLASSES / "134-a2a"
SLUGS = ("131-contracts", "132-mcp", "134-a2a")


@pytest.mark.parametrize("slug", SLUGS)
def test_the_rubric_of_a_class_has_four_criteria_of_a_quarter_each(slug: str) -> None:
    read = rubric.for_class(slug)
    assert [(c.id, c.weight) for c in read.criteria] == [
        ("understanding", 25),
        ("reproducibility", 25),
        ("interpretation", 25),
        ("limits", 25),
    ]
    assert [c.points(4) for c in read.criteria] == [25] * 4
    assert read.criteria[0].points(2.5) == 15.62
    assert json.loads(rubric.to_json(read)) == json.loads((CLASSES / slug / "rubric.json").read_bytes())


@pytest.mark.parametrize("slug", SLUGS)
@pytest.mark.parametrize(("lang", "page"), [("en", "assessment.md"), ("es", "assessment.es.md")])
def test_the_assessment_shows_the_table_of_the_rubric_and_nothing_else_about_it(
    lang: str, page: str, slug: str
) -> None:
    text = (CLASSES / slug / page).read_text(encoding="utf-8")
    assert rubric.table(rubric.for_class(slug), lang).strip() in text
    assert text.count("| **") == 4


@pytest.mark.parametrize("slug", SLUGS)
@pytest.mark.parametrize(
    ("page", "accepted"), [("assessment.md", "*Accepted when*"), ("assessment.es.md", "*Se acepta si*")]
)
def test_every_question_has_a_criterion_of_acceptance(page: str, accepted: str, slug: str) -> None:
    text = (CLASSES / slug / page).read_text(encoding="utf-8")
    questions = [line for line in text.splitlines() if line[:1].isdigit() and line[1:5] == ". **"]
    assert len(questions) == text.count(accepted) == 8


NAMED = {
    "131-contracts": ("contract.", "repair.", "translate.", "version.", "sla.", "role.", "net."),
    "132-mcp": ("mcp.",),
    "134-a2a": ("a2a.", "ways.", "kqml."),
}


@pytest.mark.parametrize("slug", SLUGS)
def test_the_findings_and_limitations_that_the_pages_name_exist(slug: str) -> None:
    report = json.loads((CLASSES / slug / "evidence.seed-0.json").read_bytes())
    known = {each["id"] for part in ("evidence", "limitations") for each in report[part]}
    for page in ("assessment.md", "assessment.es.md"):
        text = (CLASSES / slug / page).read_text(encoding="utf-8")
        words = text.replace('"', "`").split("`")
        named = {word for word in words if word.startswith(NAMED[slug]) and " " not in word}
        assert named
        assert named <= known, named - known


def changed(**changes: Any) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((CLASS / "rubric.json").read_bytes())
    document["criteria"][0] |= changes
    return document


@pytest.mark.parametrize(
    ("document", "fault"),
    [
        (changed(weight=30), "the weights sum to 105; expected 100"),
        (changed(id="limits"), "two criteria have the same id"),
        (changed(levels=[{"en": "a", "es": "b"}]), "/criteria/0/levels: List should have at least 5 items"),
        (changed(machine=["evidence"]), "scored either by machine or by a person"),
        (changed(person=None), "scored either by machine or by a person"),
        (changed(machine=["magic"], person=None), "/criteria/0/machine/0"),
        (changed(title={"en": "only English"}), "/criteria/0/title/es: Field required"),
        (changed(surprise=1), "/criteria/0/surprise: Extra inputs are not permitted"),
        ([], "/: Input should be an object"),
    ],
)
def test_a_rubric_that_contradicts_itself_is_refused_with_the_place(
    tmp_path: Path, document: Any, fault: str
) -> None:
    (tmp_path / "rubric.json").write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(DocumentError) as caught:
        rubric.load(tmp_path / "rubric.json")
    assert fault in str(caught.value)
    assert "\n" not in str(caught.value)
    with pytest.raises(DocumentError, match="cannot be read"):
        rubric.load(tmp_path / "absent.json")
