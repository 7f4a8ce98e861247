"""The exercise of class 132: an MCP server for a blood bank, judged over HTTP in both eras.

Here are the sentences, one per behaviour, in the order in which they are judged; what is looked at is in
``blood_bank_checks``. Each behaviour is asked in revision 2026-07-28 and then in 2025-11-25, and holds when
it holds in both. The fridge that the server works with is drawn from the seed.
"""

from __future__ import annotations

import functools
import json
import random
import time
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from typing import Any

import httpx

from ai_evolution.a2a.behaviours import Exchange, Observation
from ai_evolution.grading import blood_bank_checks as checks
from ai_evolution.grading.blood_bank_checks import Case
from ai_evolution.grading.task import Exercise, Sitting, run_anywhere
from ai_evolution.mcp.behaviours import HANDSHAKE, MODERN, Behaviour, Call, Subject, examine
from ai_evolution.mcp.behaviours import checks as known
from ai_evolution.mcp.behaviours.wire import META, Wire

SLUG = "132-mcp"
ERAS = (MODERN, HANDSHAKE)
SPEC = "MCP 2026-07-28, "
PATH = "/mcp"
SHOWN = 2
"""Exchanges that are told with what does not hold: the last ones."""

Look = Callable[[Wire, Case], Awaitable[Any]]


def _known(check: Callable[[Wire], Awaitable[Any]]) -> Look:
    async def look(wire: Wire, _: Case) -> Any:
        return await check(wire)

    return look


def _table() -> Iterator[tuple[Behaviour, Look]]:
    def told(id: str, en: str, es: str, source: str, expected: Any, look: Look) -> tuple[Behaviour, Look]:
        return Behaviour(id, en, es, source, (), expected, _unbound), look

    yield told(
        "era.spoken",
        "The server speaks both revisions, 2026-07-28 and 2025-11-25, and says so.",
        "El servidor habla las dos revisiones, 2026-07-28 y 2025-11-25, y lo dice.",
        SPEC + "server/discover; MCP 2025-11-25, Lifecycle",
        "the revision asked for",
        _known(known.era_spoken),
    )
    yield told(
        "tools.described",
        "The four tools are listed once each, in the same order each time, with a description and with"
        " schemas"
        " of what goes in and of what comes out.",
        "Las cuatro herramientas aparecen una vez cada una, siempre en el mismo orden, con descripción y con"
        " esquemas de lo que entra y de lo que sale.",
        SPEC + "Tools, Data Types; Listing Tools (SHOULD)",
        {"faults": [], "order": "the same"},
        checks.tools_described,
    )
    yield told(
        "tools.unknown",
        "A call of a tool that does not exist is a protocol error, -32602, and no result.",
        "Llamar a una herramienta que no existe es un error de protocolo, -32602, y no un resultado.",
        SPEC + "Tools, Error Handling",
        -32602,
        _known(known.unknown_tool),
    )
    yield told(
        "arguments.enforced",
        "What the published schema of find_units forbids is refused: other types, values beyond the limits,"
        " arguments that are missing or unknown.",
        "Lo que prohíbe el esquema publicado de find_units se rechaza: otros tipos, valores fuera de los"
        " límites, argumentos que faltan o que nadie conoce.",
        SPEC + "Tools, Security Considerations (servers MUST validate all tool inputs)",
        {
            "wrong types accepted": [],
            "beyond the limits accepted": [],
            "called without": [],
            "an unknown argument": "refused",
        },
        checks.arguments_enforced,
    )
    yield told(
        "arguments.explained",
        "Bad arguments come back as a tool error that names the argument, so that a model can mend its call.",
        "Los argumentos malos vuelven como error de herramienta que nombra el argumento, para que un modelo"
        " pueda corregir su llamada.",
        "MCP 2025-11-25, Tools, Error Handling (SEP-1303)",
        {"as": "isError", "names the argument": True},
        _known(known.arguments_explained),
    )
    yield told(
        "result.structured",
        "The structured content of find_units is valid against its published schema, and is also there as"
        " JSON text.",
        "El contenido estructurado de find_units cumple su esquema publicado, y está también como texto"
        " JSON.",
        SPEC + "Tools, Output Schema",
        {"breaches": [], "text": "the same, as text"},
        checks.result_structured,
    )
    yield told(
        "find.compatible",
        "find_units gives the units that suit the patient and have not expired, the right ones first, and"
        " says how many are missing.",
        "find_units da las bolsas que sirven al paciente y no han caducado, en el orden debido, y dice"
        " cuántas"
        " faltan.",
        "exercise, the rules of the house",
        [],
        checks.find_compatible,
    )
    yield told(
        "reserve.once",
        "A unit is reserved once, even when two ask for it at the same time, and is not offered any more.",
        "Una bolsa se reserva una sola vez, aunque la pidan dos a la vez, y deja de ofrecerse.",
        "exercise, the rules of the house",
        {
            "offered before": True,
            "two callers": ["a result", "isError with a text"],
            "offered after": False,
            "state": "reserved",
        },
        checks.reserve_once,
    )
    yield told(
        "failure.told",
        "A reservation that breaks a rule (another group, expired, unknown, taken) ends in isError with a"
        " text, and nothing is reserved.",
        "Una reserva que incumple una regla (otro grupo, caducada, desconocida, ya reservada) acaba en"
        " isError"
        " con un texto, y no se reserva nada.",
        SPEC + "Tools, Error Handling",
        {
            "another group": "isError with a text",
            "another Rh factor": "isError with a text",
            "expired": "isError with a text",
            "no such unit": "isError with a text",
            "reserved already": "isError with a text",
            "afterwards": ["free", "free"],
        },
        checks.failure_told,
    )
    yield told(
        "progress.told",
        "check_cooling reports progress that rises, with the caller's token (who gave none gets none),"
        " and ends"
        " with the lowest and the highest reading and whether all lie from 2 to 6 degrees.",
        "check_cooling avisa de un progreso que crece, con el token de quien llama (sin token, ninguno),"
        " y acaba"
        " con la lectura más baja, la más alta y si todas están entre 2 y 6 grados.",
        SPEC + "Progress (the value MUST increase)",
        {"reports": "some", "token kept": True, "rising": True, "unasked": 0, "readings": []},
        checks.progress_told,
    )
    yield told(
        "crash.masked",
        "When a log cannot be read, the caller learns that the check failed and nothing from inside; the unit"
        " is free again, and the server still works.",
        "Cuando un registro no se puede leer, quien llama se entera de que la comprobación falló y de nada de"
        " dentro; la bolsa queda libre otra vez y el servidor sigue funcionando.",
        SPEC + "Security Best Practices",
        {"ends": "isError with a text", "leaks": [], "the next call": "a result", "state": "free"},
        checks.crash_masked,
    )
    yield told(
        "cancel.reaches",
        "While a unit is checked it cannot be reserved, and others are answered; when the check is cancelled,"
        " the tool stops and the unit is free.",
        "Mientras se comprueba una bolsa no se puede reservar, y se atiende a los demás; si se cancela la"
        " comprobación, la herramienta se detiene y la bolsa queda libre.",
        SPEC + "Cancellation (SHOULD stop processing)",
        {
            "while it works": "checking",
            "reserved meanwhile": "refused",
            "answered": False,
            "afterwards": "free",
        },
        checks.cancel_reaches,
    )
    yield told(
        "ask.accepted",
        "discard_unit asks the person once, naming the unit, and discards it when the person agrees.",
        "discard_unit pregunta una vez a la persona, nombra la bolsa, y la desecha si la persona acepta.",
        SPEC + "Elicitation",
        {"questions": 1, "they name the unit": True, "ends": "a result", "state": "discarded"},
        checks.ask_accepted,
    )
    yield told(
        "ask.refused",
        "Whoever declines, cancels, leaves the box empty or answers something else keeps the unit.",
        "Quien rechaza, cancela, deja la casilla vacía o contesta otra cosa conserva la bolsa.",
        SPEC + "Elicitation, Response Actions",
        {"declined": "free", "cancelled": "free", "not sure": "free", "another form": "free"},
        checks.ask_refused,
    )
    yield told(
        "ask.undeclared",
        "A client that cannot ask its user is not asked, and nothing is discarded for it.",
        "A un cliente que no puede preguntar a su usuario no se le pregunta, y no se desecha nada por él.",
        SPEC + "Elicitation, Capabilities; -32021",
        {"asked": False, "ends": "refused", "state": "free"},
        checks.ask_undeclared,
    )
    yield told(
        "resource.read",
        "blood://shelf is listed and counts the free units of each group that have not expired.",
        "blood://shelf está en la lista y cuenta las bolsas libres y sin caducar de cada grupo.",
        SPEC + "Resources, Reading Resources",
        {"listed": True, "listed and not readable": [], "counts": "right"},
        checks.resource_read,
    )
    yield told(
        "template.read",
        "The template blood://units/{unit} gives a unit and its state; a unit that is not there is -32602.",
        "La plantilla blood://units/{unit} da una bolsa y su estado; una bolsa que no existe es -32602.",
        SPEC + "Resources, Resource Templates; Error Handling",
        {"listed": True, "a unit": "right", "no such unit": -32602},
        checks.template_read,
    )
    yield told(
        "prompt.given",
        "The prompt handover needs a ward (-32602 without), and names the ward and the units whose last"
        " day is"
        " today.",
        "El prompt handover exige una planta (-32602 si falta), y nombra la planta y las bolsas cuyo"
        " último día"
        " es hoy.",
        SPEC + "Prompts, Error Handling",
        {
            "required": ["ward"],
            "without the ward": -32602,
            "names the ward": True,
            "units of the last day": "right",
        },
        checks.prompt_given,
    )


async def _unbound(_: Wire) -> Any:
    raise AssertionError("bound to a case by judge_server")


_LOOKS = list(_table())
BEHAVIOURS: Mapping[str, Behaviour] = {behaviour.id: behaviour for behaviour, _ in _LOOKS}


async def judge_server(
    url: str,
    http: httpx.AsyncClient,
    drawn: Mapping[str, Any],
    *,
    seed: int = 0,
    only: Collection[str] | None = None,
    patience: float = 5.0,
    deadline: float | None = None,
    seen: Callable[[Observation], None] = lambda _: None,
) -> list[Observation]:
    """One observation for each behaviour (of ``only``): what both eras show of the server at ``url``.

    ``drawn`` is the fridge it was built with, ``patience`` seconds for one behaviour in one era,
    ``deadline`` seconds for everything. Nothing that the server does raises. ``seen`` is told each
    observation when both eras are through.
    """
    wanted = [i for i in BEHAVIOURS if only is None or i in only]
    ends = None if deadline is None else time.monotonic() + deadline
    both: list[Observation] = []

    async def look(era: str, told: Callable[[Any], None]) -> list[Any]:
        left = None if ends is None else max(0.0, ends - time.monotonic())
        subject = _subject(url, http, drawn, era, patience)
        table = dict(_bound(drawn, seed, era))
        return list(await examine(subject, wanted, deadline=left, behaviours=table, seen=told))

    first = iter(await look(MODERN, lambda _: None))

    def pair(second: Any) -> None:
        both.append(_both(next(first), second))
        seen(both[-1])

    await look(HANDSHAKE, pair)
    return both


def _bound(drawn: Mapping[str, Any], seed: int, era: str) -> Iterator[tuple[str, Behaviour]]:
    for told, look in _LOOKS:
        case = Case(drawn, random.Random(f"{SLUG}:{seed}:{told.id}:{era}"), era)
        check = functools.partial(_look, look, case)
        yield (
            told.id,
            Behaviour(told.id, told.en, told.es, told.source, told.needs, told.expected, check),
        )


async def _look(look: Look, case: Case, wire: Wire) -> Any:
    return await look(wire, case)


def _subject(
    url: str, http: httpx.AsyncClient, drawn: Mapping[str, Any], era: str, patience: float
) -> Subject:
    case = Case(drawn, random.Random(), era)
    return Subject(
        url,
        tools=checks.TOOLS,
        call=Call("find_units", {"group": "A+", "count": 2, "own_group_only": False}),
        progress=checks.cooling(case.cold),
        revision=era,
        deadline=patience,
        http=http,
    )


def _both(modern: Any, handshake: Any) -> Observation:
    """What the two eras showed, as one observation; where they differ from what is expected, only that."""
    for era, one in zip(ERAS, (modern, handshake), strict=True):
        if not one.holds:
            expected, observed = one.expected, one.observed
            if isinstance(expected, dict) and isinstance(observed, dict):
                wrong = [name for name in expected if observed.get(name) != expected[name]]
                expected, observed = (
                    {name: each.get(name) for name in wrong} for each in (expected, observed)
                )
            shown = tuple(Exchange(_brief(e.request), _brief(e.response)) for e in one.exchange[-SHOWN:])
            return Observation(one.id, {era: expected}, {era: observed}, shown)
    return Observation(modern.id, modern.expected, modern.observed)


def _brief(text: str) -> str:
    """Messages without what is in each of them: the revision, the names and abilities of both sides."""
    return "\n".join(map(_brief_line, text.splitlines()))


def _brief_line(line: str) -> str:
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return line
    for part in ("params", "result"):
        meta = (message.get(part) or {}).get("_meta") if isinstance(message.get(part), dict) else None
        if isinstance(meta, dict):
            kept = {key: value for key, value in meta.items() if not key.startswith(META)}
            message[part] = {**message[part], "_meta": kept}
            if not kept:
                del message[part]["_meta"]
    return json.dumps(message, ensure_ascii=False)


def settings(seed: int) -> dict[str, Any]:
    """The fridge that the child gets."""
    return {"fridge": checks.draw(random.Random(f"{SLUG}:{seed}"))}


def judge(sitting: Sitting) -> tuple[Observation, ...]:
    """Examine the server that serves."""
    return tuple(run_anywhere(_judge(sitting)))


async def _judge(sitting: Sitting) -> list[Observation]:
    async with httpx.AsyncClient(trust_env=False) as http:
        return await judge_server(
            sitting.host.url + PATH,
            http,
            sitting.host.settings["fridge"],
            seed=sitting.seed,
            only=None if sitting.only is None else list(sitting.only),
            patience=sitting.patience,
            deadline=max(0.0, sitting.ends - time.monotonic()),
            seen=sitting.seen,
        )


EXERCISE = Exercise(
    class_slug=SLUG,
    file="my_server.py",
    room="server",
    entry="build(fridge)",
    wanted={"en": "an MCP server (MCPServer or Server)", "es": "un servidor MCP (MCPServer o Server)"},
    names={
        "en": {"of": "the server's process", "to": "the server was ended", "your": "server"},
        "es": {"of": "el proceso del servidor", "to": "se puso fin al servidor", "your": "servidor"},
    },
    behaviours=BEHAVIOURS,
    settings=settings,
    judge=judge,
)
