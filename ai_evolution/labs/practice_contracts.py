"""What the notebooks of class 131 share: who notices which flaw, and checks of the student's own work.

``noticed`` runs the examples of a description against validators that are a little wrong. Each
``check_...`` takes whatever stands in a student's cell and returns a ``SelfCheck``, which says in words
what is still missing. The judges are the library's own: a contract is called, an interval is computed.

What this module refuses: to raise because of what a student wrote (``None``, another type, a function
that breaks), and to give the answer away: it says what is wrong with the one that was given. It can't
stop a function that never returns.
"""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any

from ai_evolution.atdf import examples, sla
from ai_evolution.atdf.contract import Condition, Contract, Outcome, ToolFailure
from ai_evolution.errors import AiEvolutionError
from ai_evolution.labs import dates, tables
from ai_evolution.labs.contracts import PROSE
from ai_evolution.labs.selfcheck import SelfCheck, Words, short, words
from ai_evolution.world import EPOCH

MOST = 10
"""So many examples are run at most."""


@dataclass(frozen=True)
class Table:
    """Rows under a head, which a notebook shows as a table and a terminal as aligned text.

    Importing pandas would take longer than a run of the lab.
    """

    head: Sequence[str]
    rows: Sequence[Sequence[Any]]

    def __repr__(self) -> str:
        lines = [[str(cell) for cell in line] for line in (self.head, *self.rows)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        padded = ("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)
        return "\n".join(padded)

    def _repr_html_(self) -> str:
        def row(cells: Sequence[Any], tag: str) -> str:
            inner = "".join(f"<{tag}>{html.escape(str(cell))}</{tag}>" for cell in cells)
            return f"<tr>{inner}</tr>"

        body = "".join(row(cells, "td") for cells in self.rows)
        return f"<table><thead>{row(self.head, 'th')}</thead><tbody>{body}</tbody></table>"


# ------------------------------------------------------------------------------- the four layers

SENTENCES: Mapping[str, Words] = MappingProxyType(
    {
        "offset": words("The start names its offset from UTC.", "El comienzo lleva su desfase de UTC."),
        "order": words("The end comes after the start.", "El final viene después del comienzo."),
        "free": words("The table is still free at that hour.", "La mesa sigue libre a esa hora."),
        "whole": words(
            "The number of seats is whole, and at least one.",
            "El número de plazas es entero, y al menos una.",
        ),
        "share": words(
            "Of the calls of a month, 99 in a hundred succeed.",
            "De las llamadas de un mes, 99 de cada cien salen bien.",
        ),
        "fast": words(
            "Ninety-five calls in a hundred take less than 300 ms.",
            "Noventa y cinco llamadas de cada cien tardan menos de 300 ms.",
        ),
        "run": words(
            "At 14:23:45 on 11 July 2025 this call was answered with code 400, and can be made again.",
            "A las 14:23:45 del 11 de julio de 2025 esta llamada recibió el código 400, y puede repetirse.",
        ),
    }
)
"""Sentences of a contract; each belongs to one of the ``LAYERS``."""
LAYERS = ("shape", "meaning", "quality", "evidence")
_LAYER = {
    "offset": "shape",
    "order": "meaning",
    "free": "meaning",
    "whole": "shape",
    "share": "quality",
    "fast": "quality",
    "run": "evidence",
}
_ASK: Mapping[str, Words] = {
    "shape": words("can JSON Schema say it?", "¿sabe decirlo JSON Schema?"),
    "meaning": words(
        "does it take two fields, a clock, or the world?", "¿hacen falta dos campos, un reloj o el mundo?"
    ),
    "quality": words("could one call break it?", "¿podría incumplirlo una sola llamada?"),
    "evidence": words("is it a promise, or something to run?", "¿es una promesa, o algo que se ejecuta?"),
}
LAYER = words("the four layers", "las cuatro capas")


def check_layers(layers: Any) -> SelfCheck:
    """Whether each of the ``SENTENCES`` is told its layer rightly."""
    told = layers if isinstance(layers, Mapping) else {}
    missing: list[Words] = []
    for name, layer in _LAYER.items():
        given = told.get(name)
        if not isinstance(given, str) or given not in LAYERS:
            accepted = ", ".join(LAYERS)
            missing.append(words(f"{name}: one of {accepted}?", f"{name}: ¿una de {accepted}?"))
        elif given != layer:
            missing.append({lang: f"{name}: {text}" for lang, text in _ASK[given].items()})
    return SelfCheck(LAYER, tuple(missing))


# --------------------------------------------------------------------------------- who is to blame

BLAMES = ("caller", "tool", "description", "nobody")
INCIDENTS: Mapping[str, Words] = MappingProxyType(
    {
        "text": words(
            'The caller sends "4", a text, where a whole number is wanted.',
            "Quien llama envía «4», un texto, donde se pide un número entero.",
        ),
        "past": words(
            "The caller asks for a range of last year; its shape is right.",
            "Quien llama pide un rango del año pasado; la forma es correcta.",
        ),
        "nine": words(
            "At most eight seats are promised in the result. The tool books nine.",
            "El resultado promete como mucho ocho plazas. La herramienta reserva nueve.",
        ),
        "extra": words(
            "The schema is open. The caller adds a name that the function does not take.",
            "El esquema es abierto. Quien llama añade un nombre que la función no admite.",
        ),
        "full": words(
            "The house is full, and the tool says so with a code that its description declares.",
            "No hay mesas, y la herramienta lo dice con un código que su descripción declara.",
        ),
        "closed": words(
            "The house is closed, and the tool says so with a code that is declared nowhere.",
            "Está cerrado, y la herramienta lo dice con un código que no está declarado en ningún sitio.",
        ),
        "turned": words(
            "The schema wants at least nine seats and at most three.",
            "El esquema pide al menos nueve plazas y como mucho tres.",
        ),
    }
)
"""Seven calls that end without a success. Each can be made: see ``incident``."""
GUILT = words("who is to blame", "quién tiene la culpa")


def incident(name: str) -> Outcome:
    """Make one of the calls of ``INCIDENTS``, for real, and return how it ended."""

    def book(seats: int) -> dict[str, Any]:
        return {"booked": seats}

    def nine(seats: int) -> dict[str, Any]:  # noqa: ARG001  it does not listen
        return {"booked": 9}

    def failing(code: str) -> Callable[..., Any]:
        def fail(seats: int) -> dict[str, Any]:
            raise ToolFailure(
                code, f"no table for {seats}", expected="another day", solution="try another day"
            )

        return fail

    def declaring(code: str) -> dict[str, Any]:
        whole = tables.tool()
        whole["tool"]["output"]["error"] = {
            "type": "object",
            "properties": {"code": {"enum": [code]}},
            "required": ["code"],
        }
        return whole

    wide = tables.tool()
    del wide["tool"]["input"]["additionalProperties"]
    past = {"Start": "2025-02-01T10:00:00Z", "End": "2025-02-01T12:00:00Z"}
    calls: dict[str, tuple[Contract, Any]] = {
        "text": (Contract(tables.tool(), book), {"seats": "4"}),
        "past": (dates.date_range("en"), past),
        "nine": (Contract(tables.tool(booked=(1, 8)), nine), {"seats": 4}),
        "extra": (Contract(wide, book), {"seats": 4, "window": True}),
        "full": (Contract(declaring("FULL"), failing("FULL")), {"seats": 4}),
        "closed": (Contract(declaring("FULL"), failing("CLOSED")), {"seats": 4}),
        "turned": (Contract(tables.tool(seats=(9, 3)), book), {"seats": 4}),
    }
    contract, arguments = calls[name]
    return contract.at(EPOCH).outcome(arguments)


def check_blame(blame: Any) -> SelfCheck:
    """Whether each of the ``INCIDENTS`` is told who is to blame, as the contract finds it."""
    told = blame if isinstance(blame, Mapping) else {}
    missing: list[Words] = []
    for name in INCIDENTS:
        given, found = told.get(name), incident(name).blame or "nobody"
        if not isinstance(given, str) or given not in BLAMES:
            accepted = ", ".join(BLAMES)
            missing.append(words(f"{name}: one of {accepted}?", f"{name}: ¿una de {accepted}?"))
        elif given != found:
            missing.append(
                words(
                    f"{name}: which sentence of the contract did the {given} break?"
                    if given != "nobody"
                    else f"{name}: then every sentence of the contract was kept; was it?",
                    f"{name}: ¿qué frase del contrato incumplió {_GUILTY[given]}?"
                    if given != "nobody"
                    else f"{name}: entonces se cumplió cada frase del contrato; ¿seguro?",
                )
            )
    return SelfCheck(GUILT, tuple(missing))


_GUILTY = {"caller": "quien llama", "tool": "la herramienta", "description": "la descripción"}

# ---------------------------------------------------------------------------- writing a condition

CONDITION = words("the precondition", "la precondición")
ROOM: Mapping[str, Any] = MappingProxyType(
    {
        "tool": {
            "name": "reserve_room",
            "description": "Reserves the meeting room for at most four hours, ahead of time.",
            "input": dates.document("en")["tool"]["input"],
            "output": {
                "success": {
                    "type": "object",
                    "properties": {"room": {"const": "blue"}},
                    "required": ["room"],
                },
                "error": {"type": "object"},
            },
        }
    }
)
"""A meeting room. Its rule is not in the schema: the student writes it."""
_ROOM_CALLS: tuple[tuple[str, str, str, bool], ...] = (
    ("2026-01-05T09:00:00Z", "2026-02-01T10:00:00Z", "2026-02-01T12:00:00Z", True),
    ("2026-01-05T09:00:00Z", "2026-02-01T12:00:00Z", "2026-02-01T10:00:00Z", False),
    ("2026-01-05T09:00:00Z", "2026-02-01T10:00:00Z", "2026-02-01T10:00:00Z", False),
    ("2026-01-05T09:00:00Z", "2026-01-05T08:00:00Z", "2026-01-05T10:00:00Z", False),
    ("2026-01-05T09:00:00Z", "2026-01-05T09:00:00Z", "2026-01-05T10:00:00Z", False),
    ("2026-01-05T09:00:00Z", "2026-02-01T10:00:00Z", "2026-02-01T14:00:00Z", True),
    ("2026-01-05T09:00:00Z", "2026-02-01T10:00:00Z", "2026-02-01T14:00:01Z", False),
    ("2026-01-05T09:00:00Z", "2026-02-01T10:00:00Z", "2026-02-07T10:00:00Z", False),  # .seconds knows no days
    ("2026-01-05T09:00:00Z", "2026-02-01T10:00:00+02:00", "2026-02-01T09:30:00Z", True),
    ("2026-01-05T09:00:00Z", "2026-02-01T23:00:00Z", "2026-02-02T01:00:00Z", True),
    ("2031-01-01T00:00:00Z", "2026-02-01T10:00:00Z", "2026-02-01T12:00:00Z", False),
    ("2001-01-01T00:00:00Z", "2001-02-01T10:00:00Z", "2001-02-01T12:00:00Z", True),
)
"""Now, start, end, and whether the room may be had."""


def check_condition(holds: Any) -> SelfCheck:
    """Whether ``holds(arguments, now)`` lets the room be had as the rule wants it, on the edges too."""
    if not callable(holds):
        return SelfCheck(CONDITION, (words("no function yet", "aún no hay función"),))
    missing: list[Words] = []
    for now, start, end, wanted in _ROOM_CALLS:
        where = f"now {now}, Start {start}, End {end}"
        try:
            said = holds({"Start": start, "End": end}, datetime.fromisoformat(now))
        except Exception as error:  # a student's function may raise anything
            reason = f"{type(error).__name__}: {short(error)}".removesuffix(": ")
            missing.append(words(f"{where}: it raises {reason}", f"{where}: lanza {reason}"))
            continue
        if said is not wanted:
            given = said if isinstance(said, bool) else f"{short(repr(said))} (True or False?)"
            missing.append(
                words(f"{where}: it says {given}, which is not so", f"{where}: dice {given}, y no es así")
            )
    return SelfCheck(CONDITION, tuple(missing))


def room(holds: Any, lang: str = "en") -> Contract:
    """The room as a tool, its precondition ``holds``; a condition that breaks is the description's fault."""
    rule = Condition(
        id="room",
        says=words(
            "now < Start < End, and End - Start is at most four hours",
            "ahora < Start < End, y End - Start no pasa de cuatro horas",
        ),
        holds=holds,
        code="NOT_AVAILABLE",
    )
    return Contract(dict(ROOM), lambda **_given: {"room": "blue"}, pre=[rule], lang=lang).at(EPOCH)


# ------------------------------------------------------------- the example that notices a flaw

MOMENT = "2025-07-11T14:23:45Z"
"""The time at which the student's examples are run: that of the article's failing example."""
FLAWS: Mapping[str, Words] = MappingProxyType(
    {
        "accepts everything": words("accepts everything", "lo acepta todo"),
        "forgets the start": words("forgets the start", "se olvida del comienzo"),
        "forgets the order": words("forgets the order", "se olvida del orden"),
        "start may be now": words("start may be now", "el comienzo puede ser ahora"),
        "end may be start": words("end may be start", "el final puede ser el comienzo"),
    }
)
"""The names of ``dates.flaws()`` for both kinds of readers."""
EXAMPLES = words("the examples", "los ejemplos")
_STATUS = ("success", "error")
_NOBODY = words("no example notices", "ningún ejemplo lo nota")


def noticed(described: Any) -> dict[str, list[bool]]:
    """For each of ``dates.flaws()``, whether each example of the description fails on that validator."""
    return {
        flaw: [
            not result.holds for result in examples.run(dates.flawed("en", holds, described=described), PROSE)
        ]
        for flaw, holds in dates.flaws().items()
    }


def with_examples(more: list[tuple[str, str, str]]) -> Any:
    """The article's description with more examples: start, end, and the status of the answer.

    The texts of an answer are those of the article's own examples; only codes and status are compared to
    the letter.
    """
    whole = dates.document("en")
    shown = {each["output"]["status"]: each["output"] for each in whole["tool"]["examples"]}
    added = [
        {"input": {"Start": start, "End": end}, "output": {**shown[status], "meta": {"timestamp": MOMENT}}}
        for start, end, status in more
    ]
    return {"tool": {**whole["tool"], "examples": [*whole["tool"]["examples"], *added]}}


def check_examples(more: Any) -> SelfCheck:
    """Whether the article's examples and these notice every flaw, and the sound tool answers as they say."""
    given = more if isinstance(more, list | tuple) else []
    if not given:
        return SelfCheck(EXAMPLES, (words("no example yet", "aún no hay ejemplos"),))
    if len(given) > MOST:
        few = words(f"{len(given)} examples; at most {MOST}", f"{len(given)} ejemplos; como mucho {MOST}")
        return SelfCheck(EXAMPLES, (few,))
    missing: list[Words] = []
    sound: list[Any] = []
    tool = dates.date_range("en").at(datetime.fromisoformat(MOMENT))
    for number, each in enumerate(given, 1):
        if problem := _unfit(each, tool):
            missing.append({lang: f"{number}: {text}" for lang, text in problem.items()})
        else:
            sound.append(tuple(each))
    rows = noticed(with_examples(sound))
    for flaw, seen in rows.items():
        if not any(seen):
            missing.append({lang: f"{lead}: {FLAWS[flaw][lang]}" for lang, lead in _NOBODY.items()})
    idle = [
        number for number in range(1, len(sound) + 1) if not any(seen[number + 1] for seen in rows.values())
    ]
    remarks = [words(f"{n}: notices no flaw", f"{n}: no delata ningún defecto") for n in idle]
    return SelfCheck(EXAMPLES, tuple(missing), () if missing else tuple(remarks))


def _unfit(each: Any, tool: Contract) -> Words | None:
    """Why a student's example can't be used; None when it can."""
    parts = tuple(each) if isinstance(each, list | tuple) else ()
    if len(parts) != 3 or not all(isinstance(part, str) for part in parts) or parts[2] not in _STATUS:
        wanted = '("2025-07-12T10:00:00Z", "2025-07-12T12:00:00Z", "success")'
        return words(f"{wanted} would be one", f"{wanted} sería uno")
    outcome = tool.outcome({"Start": parts[0], "End": parts[1]})
    if any(breach.kind == "arguments" for breach in outcome.breaches):
        return words(
            "refused for its shape, so that no condition is asked",
            "se rechaza por su forma, y no se pregunta a ninguna condición",
        )
    if outcome.envelope["status"] != parts[2]:
        return words("the sound tool answers otherwise", "la herramienta correcta contesta otra cosa")
    return None


# ------------------------------------------------------------------ the call that a revision breaks


def _finder(seats: int, note: int, areas: list[str]) -> dict[str, Any]:
    return {
        "tool": {
            "name": "find_table",
            "description": "Finds a free table.",
            "input": {
                "type": "object",
                "properties": {
                    "seats": {"type": "integer", "minimum": 1, "maximum": seats},
                    "area": {"enum": areas},
                    "note": {"type": "string", "maxLength": note},
                },
                "required": ["seats"],
                "additionalProperties": False,
            },
            "output": {"success": {"type": "object"}, "error": {"type": "object"}},
        }
    }


OLD = _finder(8, 200, ["inside", "terrace"])
NEW = _finder(12, 140, ["inside", "terrace", "bar"])
"""The revision widens two things and narrows one."""
REVISION = words("the two calls", "las dos llamadas")


def answers(call: Any) -> tuple[str, str]:
    """How the old and the new revision answer a call: ``success``, or the code of the error."""
    return _answered(OLD, call), _answered(NEW, call)


def check_calls(breaks: Any, gains: Any) -> SelfCheck:
    """Whether one call is accepted by the old revision alone, and the other by the new one alone."""
    missing: list[Words] = []
    for name, call, wanted in (("breaks", breaks, (True, False)), ("gains", gains, (False, True))):
        if not isinstance(call, Mapping) or not call:
            missing.append(words(f"{name}: no call yet", f"{name}: aún no hay llamada"))
            continue
        found = answers(call)
        if tuple(answer == "success" for answer in found) != wanted:
            says = short(", ".join(found))
            missing.append(
                words(f"{name}: old and new say {says}", f"{name}: la vieja y la nueva dicen {says}")
            )
    return SelfCheck(REVISION, tuple(missing))


def _answered(described: Any, call: Any) -> str:
    try:
        copied = json.loads(json.dumps(call, allow_nan=False))
        outcome = Contract(described, lambda **_given: {}, clock=lambda: EPOCH).outcome(copied)
    except (AiEvolutionError, TypeError, ValueError, RecursionError) as error:
        return f"no JSON object ({type(error).__name__})"
    return "success" if outcome.succeeded else str(outcome.envelope["data"]["code"])


# ------------------------------------------------------------------------- how many calls are needed

PROMISES: Mapping[str, tuple[float, int]] = MappingProxyType(
    {"99 %, 0 failed": (0.99, 0), "99.9 %, 0 failed": (0.999, 0), "99 %, 5 failed": (0.99, 5)}
)
"""What is to be shown, and how many calls failed meanwhile."""
NEEDED = words("how many calls", "cuántas llamadas")


def check_needed(needed: Any) -> SelfCheck:
    """Whether each number is the fewest calls with which the promise is shown, by the Wilson interval."""
    told = needed if isinstance(needed, Mapping) else {}
    missing: list[Words] = []
    for name, (promised, failed) in PROMISES.items():
        given = told.get(name)
        if isinstance(given, bool) or not isinstance(given, int) or not failed <= given <= 10**9:
            missing.append(words(f"{name}: a whole number?", f"{name}: ¿un número entero?"))
            continue
        low = sla.wilson(given - failed, given)[0]
        if low < promised:
            end = f"{100 * low:.3f} %"
            missing.append(
                words(
                    f"{name}: with {given} calls the interval begins at {end}",
                    f"{name}: con {given} llamadas el intervalo empieza en {end}",
                )
            )
        elif sla.wilson(given - 1 - failed, given - 1)[0] >= promised:
            missing.append(words(f"{name}: fewer than {given} would do", f"{name}: bastan menos de {given}"))
    return SelfCheck(NEEDED, tuple(missing))
