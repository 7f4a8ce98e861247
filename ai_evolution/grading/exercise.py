"""Check what a student built: start it in its own process and judge it from outside.

``check_exercise`` reads the file once, copies it into a fresh directory, starts it in a child process
(``child``, ``host``) and lets the exercise of the class judge it: ``trips`` talks to an agent over HTTP,
``blood_bank`` to an MCP server, ``renewals`` to a tool over lines of JSON. The verdict is made and kept in
this process. Whatever the file does, at the end nothing of it is left running, and the outcome is a
``CheckReport``; only a file that cannot be read is an error.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ai_evolution.a2a.behaviours import Observation
from ai_evolution.errors import DocumentError, UsageError
from ai_evolution.grading import blood_bank, renewals, trips
from ai_evolution.grading.child import LAYERS, Host
from ai_evolution.grading.task import Exercise, Sitting, Words

MAX_FILE = 1 << 20
PATIENCE = 5.0
START = 30.0

EXERCISES: Mapping[str, Exercise] = {
    each.class_slug: each for each in (renewals.EXERCISE, blood_bank.EXERCISE, trips.EXERCISE)
}


def find_exercise(class_number_or_slug: int | str) -> Exercise:
    """The exercise of a class, by ``134``, ``"134"`` or ``"134-a2a"``. Raises ``UsageError``."""
    wanted = str(class_number_or_slug).strip().rstrip("/").rpartition("/")[2]
    for slug, exercise in EXERCISES.items():
        if wanted in (slug, slug.partition("-")[0]):
            return exercise
    known = ", ".join(EXERCISES)
    raise UsageError(f"class {wanted!r} has no exercise that a machine can check; there is: {known}")


def exercise_behaviours(class_number_or_slug: int | str) -> tuple[str, ...]:
    """The ids of the behaviours that the exercise is checked for, in order."""
    return tuple(find_exercise(class_number_or_slug).behaviours)


def behaviour_list(class_number_or_slug: int | str, lang: str = "en") -> str:
    """The list of behaviours as Markdown, for the exercise's README (a generated block)."""
    told = find_exercise(class_number_or_slug).behaviours
    lines = [f"{n}. `{i}`: {b.es if lang == 'es' else b.en}" for n, (i, b) in enumerate(told.items(), 1)]
    return "\n".join(lines) + "\n"


# --- the report ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class CheckReport:
    """What was seen of one file. ``problem`` (in both languages) says why there is less to see.

    ``output`` is the end of what the file printed, ``isolation`` what the machine offered to
    keep it apart, ``sha256`` the file that was checked.
    """

    class_slug: str
    file: str
    observations: tuple[Observation, ...] = ()
    problem: Words | None = None
    output: str = ""
    isolation: tuple[str, ...] = ()
    sha256: str = ""

    @property
    def passed(self) -> bool:
        """Whether it ran to the end and every behaviour holds."""
        return self.problem is None and bool(self.observations) and all(o.holds for o in self.observations)

    @property
    def held(self) -> int:
        return sum(o.holds for o in self.observations)

    @property
    def exit_code(self) -> int:
        """0 when passed, else 1."""
        return 0 if self.passed else 1

    def as_dict(self) -> dict[str, Any]:
        """JSON values, for machines."""
        return {
            "class": self.class_slug,
            "file": self.file,
            "sha256": self.sha256,
            "passed": self.passed,
            "held": self.held,
            "problem": dict(self.problem) if self.problem else None,
            "behaviours": [
                {**o.as_dict(), "says": {lang: self._says(o.id, lang) for lang in ("en", "es")}}
                for o in self.observations
            ],
            "isolation": list(self.isolation),
            "output": self.output,
        }

    def _says(self, behaviour_id: str, lang: str) -> str:
        behaviour = find_exercise(self.class_slug).behaviours[behaviour_id]
        return behaviour.es if lang == "es" else behaviour.en

    def text(self, lang: str = "en") -> str:
        """The report in words: one line when it did not start, else a line per behaviour
        and, for each that does not hold, what was expected, what was seen and the exchange."""
        exercise = find_exercise(self.class_slug)
        words = {**_WORDS[lang], **exercise.names[lang]}
        if self.problem and not self.observations:
            return self.problem[lang]
        lines = [f"{'✓' if o.holds else '✗'} {o.id:<20} {self._says(o.id, lang)}" for o in self.observations]
        for o in self.observations:
            if not o.holds:
                lines += _failure(o, exercise.behaviours[o.id].source, words)
        if self.output and not self.passed:
            last = "\n".join(self.output.splitlines()[-15:])
            lines += ["", words["output"].format(**words), *_indented(last)]
        lines += ["", _fence(self.isolation, words)]
        total = words["total"].format(held=self.held, count=len(self.observations), file=self.file)
        return "\n".join([*lines, *([self.problem[lang]] if self.problem else []), total])


_WORDS: Mapping[str, Words] = {
    "en": {
        "expected": "expected",
        "observed": "observed",
        "source": "source",
        "section": "section",
        "and": " and ",
        "request": "request",
        "response": "answer",
        "output": "The end of what your {your} printed:",
        "total": "{file}: {held} of {count} behaviours hold.",
        "fence": "Your {your} ran in a process of its own. Fences in force: {have}; missing here: {lack}.",
        "nothing": "none",
        "network": "no network",
        "processes": "no sight of other processes",
        "user": "another user",
        "files": "files (Landlock)",
    },
    "es": {
        "expected": "se esperaba",
        "observed": "se observó",
        "source": "fuente",
        "section": "apartado",
        "and": " y ",
        "request": "petición",
        "response": "respuesta",
        "output": "Lo último que imprimió tu {your}:",
        "total": "{file}: se cumplen {held} de {count} comportamientos.",
        "fence": "Tu {your} se ejecutó en un proceso propio. Barreras: {have}; ausentes aquí: {lack}.",
        "nothing": "ninguna",
        "network": "sin red",
        "processes": "sin ver otros procesos",
        "user": "otro usuario",
        "files": "archivos (Landlock)",
    },
}


def _fence(isolation: Iterable[str], words: Words) -> str:
    """Which layers of ``host.py`` were in force, and which were not."""
    have = set(isolation)
    named = {
        key: ", ".join(words[layer] for layer in LAYERS if (layer in have) is wanted) or words["nothing"]
        for key, wanted in (("have", True), ("lack", False))
    }
    return words["fence"].format(your=words["your"], **named)


def _failure(o: Observation, source: str, words: Words) -> list[str]:
    shown = [(words[k], json.dumps(getattr(o, k), ensure_ascii=False)) for k in ("expected", "observed")]
    lines = ["", f"✗ {o.id}"] + [f"    {name}: {value}" for name, value in shown]
    source = source.replace("section", words["section"]).replace(" and ", words["and"])
    lines.append(f"    {words['source']}: {source}")
    for each in o.exchange[-3:]:
        lines += [f"    {words['request']}:", *_indented(each.request)]
        lines += [f"    {words['response']}:", *_indented(each.response)]
    return lines


def _indented(text: str) -> list[str]:
    return [f"      | {line}" for line in text.splitlines()]


_PROBLEMS: Mapping[str, Words] = {
    "syntax": {
        "en": "{file} is not Python that can be compiled: {detail}",
        "es": "{file} no es Python que se pueda compilar: {detail}",
    },
    "import": {
        "en": "{file} could not be imported: {detail}",
        "es": "{file} no se pudo importar: {detail}",
    },
    "no-build": {
        "en": "{file} defines no function {entry}",
        "es": "{file} no define ninguna función {entry}",
    },
    "build": {
        "en": "{file}: {entry} failed: {detail}",
        "es": "{file}: {entry} falló: {detail}",
    },
    "no-app": {
        "en": "{file}: {entry} returned a {detail} where {wanted} was expected",
        "es": "{file}: {entry} devolvió un {detail} donde se esperaba {wanted}",
    },
    "not-started": {
        "en": "{file} did not start within {detail} s: does importing it, or build(), ever return?",
        "es": "{file} no arrancó en {detail} s: ¿termina alguna vez su importación, o build()?",
    },
    "ended": {
        "en": "{file}: {of} ended before the check did ({detail})",
        "es": "{file}: {of} terminó antes que la comprobación ({detail})",
    },
    "too-much-written": {
        "en": "{file}: {to} for what it wrote into its folder ({detail}); allowed are"
        " 64 MiB in 20,000 files that can be looked at",
        "es": "{file}: {to} por lo que escribió en su carpeta ({detail}); se admiten"
        " 64 MiB en 20 000 archivos que se puedan mirar",
    },
}


def _problem(exercise: Exercise, kind: str, file: str, detail: Any = "") -> Words:
    text = "".join(c if c.isprintable() else "?" for c in str(detail)[:300])
    known = {"file": file, "detail": text, "entry": exercise.entry}
    return {
        lang: words.format(**known, wanted=exercise.wanted[lang], **exercise.names[lang])
        for lang, words in _PROBLEMS[kind].items()
    }


# --- the check -----------------------------------------------------------------------------------


def check_exercise(
    class_number_or_slug: int | str,
    file: str | Path,
    *,
    only: Iterable[str] | None = None,
    deadline: float = 60,
    patience: float = PATIENCE,
    seed: int = 0,
    portable: bool | None = None,
    seen: Callable[[Observation], None] = lambda _: None,
) -> CheckReport:
    """Start what is in ``file`` in a process of its own, judge it from outside, end the process.

    ``only`` restricts to some behaviours, ``deadline`` is seconds for everything, ``patience``
    seconds for one behaviour, ``seed`` draws the inputs. ``portable`` starts it the plain way that
    every operating system has (the default where there is no ``fork``). ``seen`` is told each
    observation as it is made; what it raises ends the check, and the child. Raises ``UsageError`` for an
    unknown class or behaviour and ``DocumentError`` for a file that cannot be read; never anything
    because of what the file does.
    """
    exercise = find_exercise(class_number_or_slug)
    chosen = None if only is None else list(only)
    if chosen and (unknown := [i for i in chosen if i not in exercise.behaviours]):
        raise UsageError(f"{unknown[0]!r} is no behaviour; there are: {', '.join(exercise.behaviours)}")
    source = _read(Path(file))
    return check_source(
        exercise,
        source,
        _shown_name(Path(file)),
        only=chosen,
        deadline=deadline,
        patience=patience,
        seed=seed,
        portable=portable,
        seen=seen,
    )


def check_source(
    exercise: Exercise,
    source: bytes,
    name: str,
    *,
    only: list[str] | None = None,
    deadline: float = 60,
    patience: float = PATIENCE,
    seed: int = 0,
    portable: bool | None = None,
    seen: Callable[[Observation], None] = lambda _: None,
) -> CheckReport:
    """The same for a source that has been read already. ``name`` is how the report calls it."""
    ends = time.monotonic() + deadline
    digest = hashlib.sha256(source).hexdigest()
    plain = not hasattr(os, "fork") if portable is None else portable
    settings = exercise.settings(seed)
    with ExitStack() as children:

        def start(seconds: float) -> tuple[Host, tuple[str, Any] | None]:
            child = children.enter_context(Host(source, name, exercise.room, settings, deadline, plain))
            return child, child.wait_until_serving(min(START, seconds))

        host, first = start(deadline)
        last = host
        problems = [first]
        observations: tuple[Observation, ...] = ()

        def again() -> Host | None:
            nonlocal last
            problems.append(last.ended())
            children.pop_all().close()
            last, failed = start(ends - time.monotonic())
            problems.append(failed)
            return None if failed else last

        if first is None:
            observations = exercise.judge(Sitting(host, again, only, seed, patience, ends, seen))
            problems.append(last.ended())
        trouble = next((each for each in problems if each is not None), None)
        problem = _problem(exercise, trouble[0], name, trouble[1]) if trouble else None
        printed, fences = last.output(), host.isolation
    return CheckReport(exercise.class_slug, name, observations, problem, printed, fences, digest)


def _read(path: Path) -> bytes:
    try:
        if not path.exists():
            raise DocumentError(f"{path}: no such file; give the Python file that defines build()")
        if not path.is_file():
            raise DocumentError(f"{path} is no ordinary file; give the Python file that defines build()")
        with path.open("rb") as file:
            source = file.read(MAX_FILE + 1)
    except OSError as error:
        raise DocumentError(f"{path} cannot be read: {error.strerror or error}") from None
    if len(source) > MAX_FILE:
        raise DocumentError(f"{path} has more than {MAX_FILE} bytes; a few thousand are enough")
    return source


def _shown_name(path: Path) -> str:
    return "".join(c if c.isprintable() else "?" for c in path.name)[:80]
