"""The classes that exist, one row each in ``classes/catalogue.toml``.

A row promises a folder: a class that is not built has none. A test holds the rows against the folders.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from ai_evolution.catalog.references import Strict
from ai_evolution.catalog.sources import Text
from ai_evolution.errors import DocumentError, UsageError

CLASSES = "classes/catalogue.toml"


class CourseClass(Strict):
    """One class. ``papers`` and ``sources`` are those that its page shows, in that order."""

    number: int
    slug: str = Field(pattern=r"^\d{3}-[a-z0-9-]+$")
    lab: str = Field(pattern=r"^[a-z]+$")
    hours: int = Field(gt=0)
    level: Text
    status: Literal["EXECUTABLE_CORE"]
    depends: tuple[int, ...]
    papers: tuple[str, ...]
    sources: tuple[str, ...]
    title: Text


class _Catalogue(Strict):
    part: Text
    class_: tuple[CourseClass, ...] = Field(alias="class")


def _load(root: Path) -> _Catalogue:
    try:
        raw = tomllib.loads((root / CLASSES).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DocumentError(f"{CLASSES}: cannot be read as TOML ({error})") from error
    try:
        return _Catalogue.model_validate(raw)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise DocumentError(f"{CLASSES}: {where}: {first['msg'].lower()}") from error


def load_classes(root: Path) -> tuple[CourseClass, ...]:
    """The classes, by number. DocumentError when the catalogue cannot be read or has another shape."""
    return tuple(sorted(_load(root).class_, key=lambda row: row.number))


def load_part(root: Path) -> Text:
    """The title of the part that the classes belong to."""
    return _load(root).part


def find_class(classes: tuple[CourseClass, ...], name: str) -> CourseClass:
    """The class called ``name`` (number, slug or lab). UsageError lists what would be accepted."""
    for row in classes:
        if name in (str(row.number), row.slug, row.lab):
            return row
    known = ", ".join(f"{row.number} ({row.lab})" for row in classes)
    raise UsageError(f"no class is called {name!r}; accepted: {known}")
