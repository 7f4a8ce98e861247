"""What a student concludes, held against the evidence it cites.

Each statement cites claims and limitations. A machine can tell that they exist, that a cited claim
held (or did not, where the statement says so), and that every number in the statement occurs in a
finding that it cites. Whether the sentence follows from them it cannot tell, and does not say.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from ai_evolution.grading.submission import Words, words

MAX_STATEMENTS = 50
MAX_CITED = 30
MAX_SAYS = 1_000
ENOUGH = 3
LIMITS_CITED = 2


@dataclass(frozen=True)
class Statement:
    """One statement and what is wrong with it (a line each); it stands when nothing is."""

    says: str
    problems: tuple[Words, ...]
    limitations: tuple[str, ...] = ()

    @property
    def stands(self) -> bool:
        return not self.problems


@dataclass(frozen=True)
class Conclusion:
    """A conclusion as far as it can be read. ``problem`` is set when it cannot be read at all."""

    statements: tuple[Statement, ...] = ()
    lang: str | None = None
    problem: Words | None = None

    @property
    def level(self) -> int:
        """The level of the rubric's ``interpretation``, 0 to 4."""
        standing = [s for s in self.statements if s.stands]
        if not self.statements:
            return 0
        if len(standing) * 2 < len(self.statements):
            return 1
        if len(standing) < len(self.statements) or len(standing) < ENOUGH:
            return 2
        cited = {limit for s in standing for limit in s.limitations}
        return 4 if len(cited) >= LIMITS_CITED else 3


def read_conclusion(content: bytes, evidence: Mapping[str, Any]) -> Conclusion:
    """Read ``conclusion.json`` and hold it against a report (its JSON values). Never raises."""
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        return Conclusion(problem=words("conclusion.json is not JSON", "conclusion.json no es JSON"))
    statements = document.get("statements") if isinstance(document, dict) else None
    if not isinstance(statements, list) or not statements:
        return Conclusion(
            problem=words(
                'conclusion.json has no list "statements" with something in it',
                'conclusion.json no tiene una lista "statements" con algo dentro',
            )
        )
    if len(statements) > MAX_STATEMENTS:
        count = len(statements)
        return Conclusion(
            problem=words(
                f"conclusion.json has {count} statements; at most {MAX_STATEMENTS} are read",
                f"conclusion.json tiene {count} afirmaciones; se leen {MAX_STATEMENTS} como mucho",
            )
        )
    lang = document.get("lang")
    read = tuple(_statement(s, evidence) for s in statements)
    return Conclusion(read, lang if lang in ("en", "es") else None)


def _statement(given: Any, evidence: Mapping[str, Any]) -> Statement:
    says = given.get("says") if isinstance(given, dict) else None
    if not isinstance(says, str) or not says.strip() or len(says) > MAX_SAYS:
        fault = words('a statement without a text "says"', 'una afirmación sin texto "says"')
        return Statement("", (fault,))
    claims, limits = _ids(given.get("claims")), _ids(given.get("limitations", []))
    findings = {item["id"]: item for item in evidence["evidence"]}
    known = {item["id"] for item in evidence["limitations"]}
    cited = [findings[c] for c in claims if c in findings]
    problems = list(_too_many(given))
    problems += _citations(claims, limits, findings, known, given.get("holds", True))
    allowed = {n for f in cited for key in ("expected", "observed", "claim") for n in _numbers_of(f[key])}
    for text, readings in _numbers_in(says, [*claims, *limits]):
        if not readings & allowed:
            problems.append(
                words(
                    f"the number {text} occurs in no finding that it cites",
                    f"el número {text} no aparece en ningún hallazgo que cita",
                )
            )
    return Statement(says, tuple(problems), tuple(i for i in limits if i in known))


def _too_many(given: Mapping[str, Any]) -> Iterator[Words]:
    for key in ("claims", "limitations"):
        cited = given.get(key)
        if isinstance(cited, list) and len(cited) > MAX_CITED:
            yield words(
                f'"{key}" has {len(cited)} entries; at most {MAX_CITED} are read',
                f'"{key}" tiene {len(cited)} entradas; se leen {MAX_CITED} como mucho',
            )


def _citations(
    claims: list[str], limits: list[str], findings: Mapping[str, Any], known: set[str], holds: Any
) -> Iterator[Words]:
    if not claims:
        yield words("it cites no claim", "no cita ninguna afirmación del laboratorio")
    if not isinstance(holds, bool):
        yield words('"holds" is neither true nor false', '"holds" no es ni true ni false')
    for each in claims:
        if each not in findings:
            yield words(f"there is no claim {each}", f"no existe la afirmación {each}")
        elif isinstance(holds, bool) and findings[each]["holds"] is not holds:
            yield words(
                f"{each} {'did not hold' if holds else 'did hold'} in the evidence",
                f"{each} {'no se cumplió' if holds else 'sí se cumplió'} en la evidencia",
            )
    for each in limits:
        if each not in known:
            yield words(f"there is no limitation {each}", f"no existe la limitación {each}")


def _ids(value: Any) -> list[str]:
    return [str(v)[:80] for v in value[:MAX_CITED]] if isinstance(value, list) else []


_NUMBER = re.compile(r"(?<![\w.,])-?\d[\d.,]*")


def _numbers_in(text: str, ids: list[str]) -> Iterator[tuple[str, set[Decimal]]]:
    """The numbers of a sentence, each with the values it may have in English and in Spanish."""
    for each in sorted(ids, key=len, reverse=True):
        text = text.replace(each, " ")
    for found in _NUMBER.finditer(text):
        number = found.group().rstrip(".,")
        yield number, _readings(number)


def _readings(number: str) -> set[Decimal]:
    found = set()
    for thousands, point in ((",", "."), (".", ",")):
        try:
            value = Decimal(number.replace(thousands, "").replace(point, "."))
        except InvalidOperation:
            continue
        found |= {value, abs(value)}
    return found


def _numbers_of(value: Any) -> Iterator[Decimal]:
    """Every number in a finding: in its values, in its texts, and how many things its lists hold."""
    if isinstance(value, bool) or value is None:
        return
    if isinstance(value, int | float):
        number = Decimal(str(value))
        yield from (number, abs(number))
    elif isinstance(value, str):
        for found in _NUMBER.findall(value):
            yield from _readings(found.rstrip(".,"))
    elif isinstance(value, dict):
        yield Decimal(len(value))
        for key, child in value.items():
            yield from _numbers_of(key)
            yield from _numbers_of(child)
    elif isinstance(value, list):
        yield Decimal(len(value))
        for child in value:
            yield from _numbers_of(child)
