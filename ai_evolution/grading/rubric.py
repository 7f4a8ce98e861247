"""The rubric of a class: ``rubric.json`` is the one source, every table is rendered from it.

A rubric has criteria whose weights sum to 100. Each criterion has five levels, 0 to 4, in both
languages, and is scored either by machine (``machine`` names what is checked) or by a person
(``person`` says what to read), never by both: nobody wonders afterwards who decided.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from ai_evolution.errors import DocumentError

SCHEMA = "ai-evolution/rubric/1"
LEVELS = 5
Check = Literal["evidence", "exercise", "conclusion"]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Words(_Strict):
    """The same words for English and for Spanish readers."""

    en: str = Field(min_length=1)
    es: str = Field(min_length=1)

    def says(self, lang: str) -> str:
        return self.es if lang == "es" else self.en


class Person(Words):
    """What a person scores: the file to read, and how."""

    file: str = Field(pattern=r"^[a-z_]+\.md$")


class Criterion(_Strict):
    """One criterion. ``levels[n]`` describes level n; a level is worth ``weight * n / 4`` points."""

    id: str = Field(pattern=r"^[a-z][a-z-]*$")
    weight: int = Field(gt=0, le=100)
    title: Words
    asks: Words
    machine: list[Check]
    person: Person | None
    levels: list[Words] = Field(min_length=LEVELS, max_length=LEVELS)

    @model_validator(mode="after")
    def _one_judge(self) -> Self:
        if bool(self.machine) == (self.person is not None):
            raise ValueError(f"criterion {self.id!r}: scored either by machine or by a person")
        return self

    def points(self, level: float) -> float:
        """Points for a level from 0 to 4 (halves and quarters are a person's right)."""
        return round(self.weight * level / (LEVELS - 1), 2)


class Rubric(_Strict):
    """A whole rubric."""

    schema_: Literal["ai-evolution/rubric/1"] = Field(alias="schema")
    class_: str = Field(alias="class", pattern=r"^\d{3}-[a-z0-9-]+$")
    criteria: list[Criterion] = Field(min_length=1)

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if (total := sum(c.weight for c in self.criteria)) != 100:
            raise ValueError(f"the weights sum to {total}; expected 100")
        if len({c.id for c in self.criteria}) != len(self.criteria):
            raise ValueError("two criteria have the same id")
        return self


def load(path: Path) -> Rubric:
    """Read and validate a rubric. Raises ``DocumentError`` that names the file and the first fault."""
    try:
        return Rubric.model_validate_json(path.read_bytes())
    except OSError as error:
        raise DocumentError(f"{path} cannot be read: {error.strerror or error}") from None
    except ValidationError as error:
        first = error.errors()[0]
        where = "/" + "/".join(str(step) for step in first["loc"])
        raise DocumentError(f"{path} is no rubric: {where}: {first['msg']}") from None


def for_class(slug: str, classes: Path | None = None) -> Rubric:
    """The rubric of a class of this repository. Raises ``DocumentError`` when there is none."""
    return load((classes or classes_folder()) / slug / "rubric.json")


def classes_folder() -> Path:
    """Where the classes are: beside the package in a clone, or below the working directory."""
    beside = Path(__file__).resolve().parents[2] / "classes"
    return beside if beside.is_dir() else Path.cwd() / "classes"


def to_json(rubric: Rubric) -> str:
    """The rubric as JSON, as ``load`` reads it."""
    return json.dumps(rubric.model_dump(by_alias=True), ensure_ascii=False, indent=2) + "\n"


_HEAD: dict[str, Sequence[str]] = {
    "en": ("criterion", "weight", "0", "1", "2", "3", "4", "scored by"),
    "es": ("criterio", "peso", "0", "1", "2", "3", "4", "puntúa"),
}
_JUDGE: dict[str, dict[str, str]] = {
    "en": {
        "evidence": "machine: the evidence is recomputed",
        "exercise": "machine: the behaviours of the exercise",
        "conclusion": "machine: what the conclusion cites",
        "person": "a person",
    },
    "es": {
        "evidence": "máquina: se recalcula la evidencia",
        "exercise": "máquina: los comportamientos del ejercicio",
        "conclusion": "máquina: lo que cita la conclusión",
        "person": "una persona",
    },
}


def table(rubric: Rubric, lang: str) -> str:
    """The rubric as a Markdown table, one row per criterion, and what each asks above it."""
    head = _HEAD[lang]
    rows = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    for c in rubric.criteria:
        judges = "; ".join(_JUDGE[lang][m] for m in c.machine) or f"{_JUDGE[lang]['person']}: `{_file(c)}`"
        cells = [
            f"**{c.title.says(lang)}**",
            f"{c.weight} %",
            *(level.says(lang) for level in c.levels),
            judges,
        ]
        rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    asks = [f"- **{c.title.says(lang)}**: {c.asks.says(lang)}" for c in rubric.criteria]
    return "\n".join([*asks, "", *rows]) + "\n"


def _file(criterion: Criterion) -> str:
    return criterion.person.file if criterion.person else ""
