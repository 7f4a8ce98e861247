"""One reference as a CSL-JSON item, and the line in which a page prints it.

The fields and their names are those of CSL 1.0.2 (``container-title``, ``issued``, ``DOI`` ...), so
that any citation processor reads our catalogues as they are.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ai_evolution.errors import DocumentError

Language = Literal["en", "es"]
Model = TypeVar("Model", bound=BaseModel)

_AND = {"en": "and", "es": "y"}


class Strict(BaseModel):
    """A record that does not change and refuses fields it does not know (a misspelling would be silent)."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class Name(Strict):
    """A person (``family`` and ``given``) or an organisation (``literal``)."""

    family: str = ""
    given: str = ""
    literal: str = ""

    def __str__(self) -> str:
        return self.literal or f"{self.given} {self.family}".strip()


class Issued(Strict):
    """A CSL date; the catalogues use the year alone."""

    date_parts: tuple[tuple[int, ...]] = Field(alias="date-parts")


class Reference(Strict):
    """A CSL-JSON item."""

    id: str
    type: Literal[
        "article", "article-journal", "book", "paper-conference", "report", "standard", "thesis", "webpage"
    ]
    title: str = Field(min_length=1)
    author: tuple[Name, ...] = ()
    editor: tuple[Name, ...] = ()
    issued: Issued
    container_title: str = Field(default="", alias="container-title")
    publisher: str = ""
    genre: str = ""
    number: str = ""
    volume: str = ""
    issue: str = ""
    page: str = ""
    edition: str = ""
    DOI: str = ""
    ISBN: str = ""
    URL: str = ""

    @property
    def year(self) -> int:
        """The year of publication."""
        return self.issued.date_parts[0][0]

    @property
    def address(self) -> str:
        """Where a reader can follow it: the DOI resolver if there is a DOI, else the URL, else empty."""
        return f"https://doi.org/{self.DOI}" if self.DOI else self.URL

    def people(self, lang: Language) -> str:
        """Authors (or editors) in full, joined for a reader of ``lang``."""
        names = [str(name) for name in self.author or self.editor]
        joined = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {_AND[lang]} {names[-1]}"
        return joined if self.author else f"{joined} ({'ed.' if len(names) == 1 else 'eds.'})"

    def cite(self, lang: Language) -> str:
        """The reference as one line of Markdown: people, year, title, where, address."""
        where = self.container_title or ", ".join(filter(None, (self.genre, self.publisher)))
        numbers = f" {self.volume}" if self.volume else ""
        numbers += f"({self.issue})" if self.issue else ""
        numbers += f", {self.page}" if self.page else ""
        parts = [f"{self.people(lang)} ({self.year})", f"*{self.title}*", f"{where}{numbers}"]
        line = ". ".join(filter(None, parts)) + "."
        return f"{line} <{self.address}>" if self.address else line


def ordinal(edition: str, lang: Language) -> str:
    """``"2"`` as ``2nd ed.`` or ``2.ª ed.``; empty stays empty."""
    if not edition:
        return ""
    if lang == "es":
        return f"{edition}.ª ed."
    ending = (
        "th" if edition in ("11", "12", "13") else {"1": "st", "2": "nd", "3": "rd"}.get(edition[-1], "th")
    )
    return f"{edition}{ending} ed."


def load_records(path: Path, model: type[Model], label: str) -> tuple[Model, ...]:
    """Every record of a JSON list as ``model``; DocumentError names file, record and field."""
    try:
        raw: Any = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DocumentError(f"{label}: cannot be read as JSON ({error})") from error
    if not isinstance(raw, list):
        raise DocumentError(f"{label}: is a {type(raw).__name__}; a list of records would be accepted")
    records = []
    for place, item in enumerate(raw):
        name = item.get("id", f"record {place}") if isinstance(item, dict) else f"record {place}"
        try:
            records.append(model.model_validate(item))
        except ValidationError as error:
            first = error.errors()[0]
            field = ".".join(str(part) for part in first["loc"]) or "record"
            raise DocumentError(f"{label}: {name}: {field}: {first['msg'].lower()}") from error
    return tuple(records)
