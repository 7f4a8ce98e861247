"""What the self-checks of every class share: words in two languages, a verdict that never raises, a summary.

A self-check takes whatever stands in a student's cell and returns a ``SelfCheck``, which says in words what
is still missing. A prediction that was wrong is a remark and takes nothing away.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

Words = Mapping[str, str]
"""One text in both languages, by ``en`` and ``es``."""
HUGE = 1e15
"""No estimate of a class is near this; what is above it, or no number at all, is told so."""
_NONE_YET: Words = {"en": "no prediction yet", "es": "aún no hay predicción"}


def words(en: str, es: str) -> Words:
    """The same text for English and for Spanish readers."""
    return {"en": en, "es": es}


@dataclass(frozen=True)
class SelfCheck:
    """What a self-check found. ``missing`` is empty when nothing is left to do.

    ``seen`` are remarks that take nothing away: a prediction that was wrong is a discovery.
    """

    name: Words
    missing: tuple[Words, ...] = ()
    seen: tuple[Words, ...] = ()

    @property
    def done(self) -> bool:
        """Whether nothing is missing."""
        return not self.missing

    def says(self, lang: str = "en") -> str:
        """The outcome in words: one line, and one more for each thing that is missing or was seen."""
        done = words("done", "hecho") if self.done else words("still missing", "todavía falta")
        lines = [f"{self.name[lang]}: {done[lang]}"]
        return "\n".join([*lines, *(f"  - {line[lang]}" for line in (*self.missing, *self.seen))])


def summary(checks: Iterable[SelfCheck], lang: str = "en") -> str:
    """One line for each check and the count of those that are done."""
    all_checks = list(checks)
    lines = [f"{'x' if check.done else ' '} {check.name[lang]}" for check in all_checks]
    count = f"{sum(check.done for check in all_checks)} / {len(all_checks)}"
    return "\n".join([*(f"[{line[0]}]{line[1:]}" for line in lines), count])


# --------------------------------------------------------------------------------- predictions


def check_prediction(name: Words, predicted: Any, measured: Any) -> SelfCheck:
    """Whether there is a prediction, and how it compares with what was measured."""
    if predicted is None:
        return SelfCheck(name, (_NONE_YET,))
    told, seen = listed(predicted), listed(measured)
    if told == seen:
        return SelfCheck(
            name, seen=(words(f"as predicted: {short(seen)}", f"según lo predicho: {short(seen)}"),)
        )
    return SelfCheck(name, seen=(_otherwise(short(told), short(seen)),))


def check_estimate(
    name: Words, predicted: Any, measured: float, within: tuple[float, float] | None = None
) -> SelfCheck:
    """Whether there is a number, and how far it is from the one that was measured.

    ``within`` is the interval that the measurement leaves; a number inside it is as good as the measured one.
    """
    if predicted is None:
        return SelfCheck(name, (_NONE_YET,))
    if isinstance(predicted, bool) or not isinstance(predicted, int | float) or not abs(predicted) < HUGE:
        given = short(predicted)
        return SelfCheck(name, (words(f"{given}? a number is wanted", f"¿{given}? hace falta un número"),))
    low, high = within or (measured, measured)
    found, told = f"{measured:g}", f"{predicted:g}"
    if within is not None:
        found += f" [{low:g}, {high:g}]"
    if not low <= predicted <= high:
        return SelfCheck(name, seen=(_otherwise(told, found),))
    if within is None:
        return SelfCheck(name, seen=(words(f"as predicted: {found}", f"según lo predicho: {found}"),))
    en = f"you predicted {told}, measured was {found}: inside the interval"
    es = f"predijiste {told} y se midió {found}: dentro del intervalo"
    return SelfCheck(name, seen=(words(en, es),))


def check_each(name: Words, predicted: Any, measured: Mapping[str, Any]) -> SelfCheck:
    """As ``check_prediction``, for a mapping with an entry for each thing that was measured."""
    told = predicted if isinstance(predicted, Mapping) else {}
    missing = [words(f"{key}: {_NONE_YET['en']}", f"{key}: {_NONE_YET['es']}") for key in measured
               if told.get(key) is None]  # fmt: skip
    seen = []
    for key, found in measured.items():
        given = told.get(key)
        if given is not None and given != found:
            remark = _otherwise(short(given), short(found))
            seen.append({lang: f"{key}: {text}" for lang, text in remark.items()})
    return SelfCheck(name, tuple(missing), tuple(seen))


def _otherwise(told: str, seen: str) -> Words:
    return words(
        f"you predicted {told}, measured was {seen}; which assumption was wrong?",
        f"predijiste {told} y se midió {seen}; ¿qué suposición fallaba?",
    )


def listed(value: Any) -> Any:
    """The value, a tuple as a list."""
    return list(value) if isinstance(value, tuple) else value


def short(value: Any) -> str:
    """A value in at most a hundred characters of one line."""
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    text = " ".join(text.split())
    return text if len(text) <= 100 else text[:97] + "..."
