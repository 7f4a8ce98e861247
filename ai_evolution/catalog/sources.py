"""The works that support the classes: books, specifications, standards, documentation.

Source: ``sources/bibliography.json``. ``role`` says, class by class, what the work is good for there.
A book may carry other editions, each with its own ISBN and year: an ISBN names one edition only.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field

from ai_evolution.catalog.references import Language, Reference, Strict, load_records

SOURCES = "sources/bibliography.json"


class Text(Strict):
    """One sentence in both languages."""

    en: str
    es: str

    def __getitem__(self, lang: Language) -> str:
        return self.es if lang == "es" else self.en


class Edition(Strict):
    """Another edition of the same work."""

    ISBN: str
    edition: str
    year: int
    with_: str = Field(default="", alias="with")
    note: str = ""


class Source(Strict):
    """One work. ``locator`` is the address under which its record was verified."""

    id: str
    kind: Literal["book", "spec", "standard", "draft", "docs"]
    csl: Reference
    classes: tuple[int, ...]
    role: dict[str, Text]
    locator: str
    homepage: str = ""
    other_editions: tuple[Edition, ...] = ()
    note_en: str = ""
    note_es: str = ""
    verified: Literal["seen", "from memory"]
    verified_with: str
    verified_note: str
    from_memory_fields: tuple[str, ...]


def load_sources(root: Path) -> tuple[Source, ...]:
    """Every work of the bibliography, in the order of the file. DocumentError when the file is not right."""
    return load_records(root / SOURCES, Source, SOURCES)
