"""Recomputing evidence: does this document say what the lab says?

The lab is run again with the seed and the parameters that the document names, and the two
documents are compared value by value. Who changed the seed in a file changed everything that
follows from it; the digest in the file then tells which seed the rest belongs to.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ai_evolution.evidence import Report, canonical, differences, digest_of, resolve
from ai_evolution.labs.catalogue import find_lab, run_lab

SEEDS_TRIED = 10_000
ABSENT = "(absent)"


@dataclass(frozen=True)
class Verification:
    """The outcome of ``verify``. ``pointer`` is empty when nothing differs.

    ``given`` and ``computed`` are the two values at the pointer; ``failing`` are the claims
    that do not hold in the recomputed evidence.
    """

    pointer: str = ""
    given: Any = None
    computed: Any = None
    failing: tuple[str, ...] = ()
    count: int = 0

    @property
    def same(self) -> bool:
        """Whether the document is what the lab says."""
        return not self.pointer

    @property
    def holds(self) -> bool:
        """Whether the document is what the lab says, and every claim in it holds."""
        return self.same and not self.failing

    def says(self, lang: str = "en") -> str:
        """The outcome in one line."""
        if self.pointer:
            words = {
                "en": "the evidence differs at {0}: the file says {1}, the lab says {2}",
                "es": "la evidencia difiere en {0}: el archivo dice {1} y el laboratorio dice {2}",
            }
            return words[lang].format(self.pointer, _short(self.given), _short(self.computed))
        if self.failing:
            words = {
                "en": "the evidence is what the lab says, and these claims do not hold: {0}",
                "es": "la evidencia es la que da el laboratorio, y estas afirmaciones no se cumplen: {0}",
            }
            return words[lang].format(", ".join(self.failing))
        words = {
            "en": "recomputed: the evidence is the same, value by value",
            "es": "recalculada: la evidencia es la misma, valor por valor",
        }
        return words[lang]


def verify(
    document: Report | Mapping[str, Any], *, recompute: Callable[..., Report] = run_lab
) -> Verification:
    """Recompute a report and compare. ``document`` is a ``Report`` or its JSON values.

    Raises ``DocumentError`` when it breaks the schema, ``UsageError`` when it names a lab or a
    parameter that does not exist; a document that merely differs is a ``Verification``.
    """
    given = document.document() if isinstance(document, Report) else dict(document)
    report = Report.from_document(given)
    lab = find_lab(report.kind)
    computed = recompute(report.kind, report.seed, **lab.read_parameters(report.parameters))
    truth = computed.document()
    found = differences(given, truth)
    if found and any(where.startswith("/inputs") for where in found):  # of another seed, perhaps
        moved = _moved_seed(given)
        if moved is not None:
            return Verification("/seed", given["seed"], moved, count=1)
        found = [where] if (where := _moved_parameter(given)) else found
    if found:
        return Verification(found[0], _at(given, found[0]), _at(truth, found[0]), count=len(found))
    return Verification(failing=tuple(item.id for item in computed.evidence if not item.holds))


def _moved_seed(given: Mapping[str, Any]) -> int | None:
    """The seed that makes the digest right, when one of the first ten thousand does."""
    rest = {key: value for key, value in given.items() if key != "digest"}
    mark = b'"seed":' + canonical(given["seed"]) + b',"status":'
    head, found, tail = canonical(rest).rpartition(mark)
    if not found:
        return None
    begun = hashlib.sha256(head)
    for seed in range(SEEDS_TRIED):
        if seed == given["seed"]:
            continue
        attempt = begun.copy()
        attempt.update(b'"seed":%d,"status":' % seed + tail)
        if "sha256:" + attempt.hexdigest() == given["digest"]:
            return seed
    return None


def _moved_parameter(given: Mapping[str, Any]) -> str | None:
    """The parameter whose change explains everything, when putting it back makes the digest right."""
    for parameter in find_lab(given["kind"]).parameters:
        for value in range(parameter.minimum, min(parameter.maximum, parameter.minimum + 99) + 1):
            restored = {**given, "parameters": {**given["parameters"], parameter.name: value}}
            if digest_of(restored) == given["digest"]:
                return f"/parameters/{parameter.name}"
    return None


def _at(document: Mapping[str, Any], where: str) -> Any:
    try:
        return resolve(document, where)
    except KeyError:
        return ABSENT


def _short(value: Any) -> str:
    text = value if value == ABSENT else canonical(value).decode("utf-8")
    return text if len(text) <= 80 else text[:77] + "..."
