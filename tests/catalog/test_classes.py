"""The catalogue of classes says what is there."""

from pathlib import Path

import pytest

from ai_evolution.catalog import load_classes
from ai_evolution.catalog.classes import find_class, load_part
from ai_evolution.errors import UsageError
from ai_evolution.labs import LABS

ROOT = Path(__file__).resolve().parents[2]


def test_there_is_a_row_for_each_folder_and_a_folder_for_each_row() -> None:
    folders = {path.name for path in (ROOT / "classes").iterdir() if path.is_dir()}
    assert {row.slug for row in load_classes(ROOT)} == folders


def test_there_is_a_row_for_each_lab_and_a_lab_for_each_row() -> None:
    assert {row.lab: row.slug for row in load_classes(ROOT)} == {
        name: lab.class_slug for name, lab in LABS.items()
    }


def test_the_classes_come_in_the_order_of_their_numbers() -> None:
    numbers = [row.number for row in load_classes(ROOT)]
    assert numbers == sorted(numbers)


def test_a_class_is_found_by_number_slug_and_lab() -> None:
    rows = load_classes(ROOT)
    assert find_class(rows, "134") == find_class(rows, "134-a2a") == find_class(rows, "multiagent")


def test_a_class_that_is_not_there_is_answered_with_those_that_are() -> None:
    with pytest.raises(UsageError, match=r"no class is called '7'; accepted: .*134 \(multiagent\)"):
        find_class(load_classes(ROOT), "7")


def test_class_134_is_an_expert_class_of_six_hours() -> None:
    row = find_class(load_classes(ROOT), "134")
    assert (row.hours, row.level["en"], row.level["es"]) == (6, "expert", "experto")
    assert row.papers == ("P138", "P131", "P133", "P136")
    assert load_part(ROOT)["es"] == "Sistemas multiagente e interoperabilidad"
