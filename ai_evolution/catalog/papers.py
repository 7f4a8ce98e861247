"""The papers behind the classes: what each one unlocked, its limits, how it is misquoted.

Source: ``papers/catalog/papers.json``. A record is a CSL-JSON item under ``csl`` and the course's own
fields around it, each in English and in Spanish.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from ai_evolution.catalog.references import Language, Reference, Strict, load_records

PAPERS = "papers/catalog/papers.json"


class Paper(Strict):
    """One paper. ``minimal_math`` is LaTeX without ``$``, empty when the paper needs no formula."""

    id: str
    csl: Reference
    title_es: str
    classes: tuple[int, ...]
    arxiv: str = ""
    published_in: str = ""
    problem_before_en: str
    problem_before_es: str
    minimal_math: str
    unlocked_en: str
    unlocked_es: str
    limits_en: str
    limits_es: str
    misattribution_en: str
    misattribution_es: str
    misattribution_basis: str
    verified: Literal["seen", "from memory"]
    verified_with: str
    verified_note: str
    from_memory_fields: tuple[str, ...]

    def title(self, lang: Language) -> str:
        """The title in the reader's language (the original is ``csl.title``)."""
        return self.title_es if lang == "es" else self.csl.title

    @property
    def basis(self) -> Literal["observed", "partly observed", "editor"]:
        """What the warning about misattribution rests on, in one of three words."""
        words = self.misattribution_basis.partition(":")[0]
        if words.startswith("observed"):
            return "observed"
        return "partly observed" if words.startswith("partly observed") else "editor"

    def says(
        self, field: Literal["problem_before", "unlocked", "limits", "misattribution"], lang: Language
    ) -> str:
        """One of the four texts of the card."""
        text: str = getattr(self, f"{field}_{lang}")
        return text


def load_papers(root: Path) -> tuple[Paper, ...]:
    """Every paper of the catalogue, in the order of the file. DocumentError when it is not right."""
    return load_records(root / PAPERS, Paper, PAPERS)
