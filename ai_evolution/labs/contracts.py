"""Class 131. A tool, its caller, and the question of who is to blame.

The tool is the date-range validator that ATDF was introduced with (``dates.py``), a real one with an
injected clock; beside it stand a restaurant (``tables.py``), somebody who corrects failed calls
(``repairer.py``), and 51 tools of six real MCP servers, recorded. Faults are scheduled: a caller that
sends nonsense, a tool that lies, a tool that crashes with a secret, a description that contradicts
itself, a validator that drifted away, a restart between two attempts, a bidder that breaks its word.
Each numbered question yields one finding.
"""

from __future__ import annotations

import json
import random
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from ai_evolution.atdf import allocation, attempts, compatibility, examples, roles, sla
from ai_evolution.atdf import convert as converting
from ai_evolution.atdf.contract import Contract, Outcome
from ai_evolution.atdf.description import read
from ai_evolution.atdf.envelope import problems_of
from ai_evolution.atdf.losses import Conversion, missing, reported
from ai_evolution.atdf.schemas import problems
from ai_evolution.errors import EnvironmentProblem
from ai_evolution.evidence import Claim, Finding, Input, Limitation, Record, Result
from ai_evolution.labs import dates, repairer, tables
from ai_evolution.world import EPOCH, World

PROTOCOLS = {
    "atdf": "article, 1.x, 2.x",
    "mcp": "2026-07-28 and 2025-11-25, recorded",
    "json-schema": "2020-12",
}
RECORDED = Path(__file__).parents[2] / "sources" / "mcp_tools"
SERVERS = ("everything", "fetch", "filesystem", "git", "memory", "time")
SECRET = "the ledger's password is hunter2"
PROSE = examples.Match(prose=("/data/expected", "/data/solution"))
"""The article shortens two of its texts in the examples; there any non-empty text will do."""
LOSSY = ("atdf-1", "atdf-sdk", "ardf-1", "openai", "anthropic")
FLAT = "atdf-1"
NAMED = ("annotations", "required", "outputSchema", "default", "items", "enum", "anyOf", "minimum", "format")
"""Keywords whose loss is counted by us as well, straight in the recorded text."""
PROMISE = sla.ServiceLevel(availability=0.99)


CLAIMS = (
    Claim(
        "contract.meaning",
        "A range that ends before it starts passes the schema; the contract refuses it and blames the "
        "caller.",
        "Un rango que acaba antes de empezar cumple el esquema; el contrato lo rechaza y señala a quien "
        "llama.",
        ("S04", "S07", "P141"),
    ),
    Claim(
        "contract.format",
        'With `format` as the mere annotation that it is by default, "not a date" and a time without '
        "offset pass; under the contract neither reaches the function.",
        "Con `format` como simple anotación, que es lo que es por defecto, pasan «not a date» y una hora "
        "sin desfase; con el contrato ninguna llega a la función.",
        ("S08", "S27"),
    ),
    Claim(
        "contract.equality",
        "Before means before: a start that is now and an end that is the start are errors, one second "
        "more is none.",
        "Antes quiere decir antes: un comienzo igual a ahora y un final igual al comienzo son errores; "
        "con un segundo más, ya no.",
        ("S04",),
    ),
    Claim(
        "contract.blame",
        "The blame falls on the caller for a bad argument, on the tool for a lie and for a crash, on the "
        "description when nothing can satisfy it, and on nobody when all is well.",
        "La culpa es de quien llama si el argumento es malo, de la herramienta si miente o se estrella, "
        "de la descripción si nada puede cumplirla, y de nadie si todo va bien.",
        ("P142", "B05"),
    ),
    Claim(
        "contract.no-leak",
        "The text of an exception stays with the operator and does not reach the caller.",
        "El texto de una excepción se queda con quien opera la herramienta y no llega a quien la llama.",
        ("P142", "B13"),
    ),
    Claim(
        "contract.examples",
        "Both examples of the article run, in both languages, each at the time that it carries.",
        "Los dos ejemplos del artículo se ejecutan, en los dos idiomas, cada uno a la hora que lleva "
        "escrita.",
        ("S04",),
    ),
    Claim(
        "contract.codes-reached",
        "Each declared failure code is reached by an example; a code that none reaches is named.",
        "Algún ejemplo alcanza cada código de fallo declarado; si a uno no lo alcanza ninguno, se nombra.",
        ("S04", "P145"),
    ),
    Claim(
        "contract.drift",
        "A validator that drifted is caught by its examples if they stand on the edges: the article's two"
        " catch one flaw of five, two more examples catch all.",
        "A un validador que se ha desviado lo delatan sus ejemplos si están en los bordes: los dos del "
        "artículo ven uno de cinco defectos; con dos ejemplos más se ven todos.",
        ("P145", "B10"),
    ),
    Claim(
        "contract.always-an-envelope",
        "Calls drawn from the schema, acceptable or not, each end in a valid envelope, and nothing "
        "unacceptable is let through.",
        "Las llamadas sacadas del esquema, aceptables o no, acaban todas en un sobre válido, y nada "
        "inaceptable se cuela.",
        ("P145", "S04"),
    ),
    Claim(
        "repair.fewer-tries",
        "A scripted repairer needs at most three tries with the structured error, never more than with an"
        " opaque one, and fewer in most cases.",
        "Un reparador guionizado necesita como mucho tres intentos con el error estructurado, nunca más "
        "que con uno opaco, y menos en la mayoría de los casos.",
        ("S04", "S22"),
    ),
    Claim(
        "repair.ledger",
        "The same failing call is stopped after three attempts, also when the program has been restarted;"
        " other values are let through.",
        "La misma llamada fallida se detiene tras tres intentos, también si el programa se ha reiniciado;"
        " con otros valores se deja pasar.",
        ("S04", "S38"),
    ),
    Claim(
        "translate.lossless",
        "Each of the recorded real tools comes back from MCP by way of ATDF 2.x as the same text, key "
        "order included.",
        "Cada herramienta real grabada vuelve de MCP, pasando por ATDF 2.x, como el mismo texto, incluido"
        " el orden de las claves.",
        ("S01", "S04"),
    ),
    Claim(
        "translate.flat-loses",
        "The flat form (ATDF 1.x) loses these keywords in as many tools as a count in the recorded text "
        "says.",
        "La forma plana (ATDF 1.x) pierde estas palabras clave en tantas herramientas como dice un "
        "recuento hecho en el texto grabado.",
        ("S04", "S01"),
    ),
    Claim(
        "translate.nothing-unsaid",
        "Whatever a conversion loses it reports: what is missing afterwards is what was reported, in each"
        " form.",
        "Lo que una conversión pierde lo dice: lo que falta después es lo que se declaró, en cada forma.",
        ("S04", "S30"),
    ),
    Claim(
        "version.direction",
        "Accepting more and promising more is minor, accepting less and promising less is major, and "
        "other words are a patch.",
        "Aceptar más y prometer más es un cambio menor; aceptar menos y prometer menos, uno mayor; y "
        "cambiar las palabras, un parche.",
        ("P143", "S37"),
    ),
    Claim(
        "version.breaking-call",
        "The call shown for a narrowed input succeeds with the old revision and is refused by the new one.",
        "La llamada que se muestra para una entrada más estrecha funciona con la revisión antigua y la "
        "nueva la rechaza.",
        ("P143", "S37"),
    ),
    Claim(
        "sla.not-proven",
        "A level of 99 % kept by every one of a hundred calls is not shown by them; three thousand calls "
        "can show it, or show that it is broken.",
        "Un nivel del 99 % que cumplen cien llamadas de cien no queda demostrado por ellas; tres mil "
        "llamadas pueden demostrarlo, o demostrar que se incumple.",
        ("B12",),
    ),
    Claim(
        "sla.lucky-samples",
        "A service that fails two calls in a hundred keeps a promise of 99 % in more than a quarter of "
        "its samples of a hundred, and none of them is taken for a proof.",
        "Un servicio que falla dos llamadas de cada cien cumple una promesa del 99 % en más de una cuarta"
        " parte de sus muestras de cien, y ninguna se toma por una prueba.",
        ("B12",),
    ),
    Claim(
        "role.escalates",
        "What a role may not decide alone is escalated before anything is done; so is an undeclared "
        "request refused.",
        "Lo que un rol no puede decidir por sí solo se eleva antes de hacer nada; y una petición sin lo "
        "que hay que declarar se rechaza.",
        ("S04", "B01"),
    ),
    Claim(
        "role.no-silent-repair",
        "A result out of range is asked for once more, with the error; when it stays wrong it is "
        "escalated, and never trimmed to fit.",
        "Un resultado fuera de rango se vuelve a pedir una vez, con el error; si sigue mal, se eleva, y "
        "nunca se recorta para que quepa.",
        ("S30", "P142"),
    ),
    Claim(
        "net.by-contract",
        "The cheapest bidder is refused when its contract lets through what is not wanted; the one that "
        "breaks its word loses the award to the next.",
        "Al postor más barato se lo descarta si su contrato deja pasar lo que no se quiere; el que falta "
        "a su palabra pierde el encargo en favor del siguiente.",
        ("P133", "P143"),
    ),
)

LIMITATIONS = (
    Limitation(
        "contract.scripted",
        "model",
        "The repairer is a script with a menu of eight corrections. Its tries measure how much an error "
        "tells, not how a language model reads it.",
        "El reparador es un guion con un menú de ocho correcciones. Sus intentos miden cuánto cuenta un "
        "error, no cómo lo lee un modelo de lenguaje.",
    ),
    Limitation(
        "contract.drawn-cases",
        "measurement",
        "The broken calls come from a generator of ours, flaws in equal shares. Another mixture gives "
        "other averages; real callers err in other shares.",
        "Las llamadas rotas salen de un generador nuestro, con los defectos a partes iguales. Otra mezcla"
        " da otras medias; quienes llaman de verdad yerran en otras proporciones.",
    ),
    Limitation(
        "contract.partial",
        "method",
        "Contracts, examples and generated calls find errors and prove nothing: a tool can be wrong where"
        " nobody looked.",
        "Los contratos, los ejemplos y las llamadas generadas encuentran errores y no demuestran nada: "
        "una herramienta puede fallar donde nadie miró.",
    ),
    Limitation(
        "contract.six-servers",
        "scope",
        "Fifty-one tools of six servers from one project say which keywords occur there. They are no "
        "sample of all MCP servers.",
        "Cincuenta y una herramientas de seis servidores de un mismo proyecto dicen qué palabras clave se"
        " dan allí. No son una muestra de todos los servidores MCP.",
    ),
    Limitation(
        "contract.independent-calls",
        "measurement",
        "The intervals take calls to be independent and alike. Outages come in a row and make every such "
        "interval too narrow.",
        "Los intervalos suponen llamadas independientes e iguales. Las averías vienen seguidas y hacen "
        "que todo intervalo así resulte demasiado estrecho.",
    ),
    Limitation(
        "contract.no-wire",
        "scope",
        "Caller and tool share a process. What a network adds (lost replies, strangers, other versions) "
        "is the matter of classes 132 and 134.",
        "Quien llama y la herramienta comparten proceso. Lo que añade una red (respuestas perdidas, "
        "desconocidos, otras versiones) es asunto de las clases 132 y 134.",
    ),
)


@dataclass(frozen=True)
class Cast:
    """Who plays. The tests replace one part by one bad enough to break one claim, and it alone."""

    published: Callable[..., Contract] = dates.date_range
    guarded: Callable[..., Contract] = dates.date_range
    edges: Callable[..., Contract] = dates.date_range
    booking: Callable[..., Contract] = Contract
    crashing: Callable[..., Contract] = Contract
    run_article: Callable[..., Sequence[examples.ExampleResult]] = examples.run
    unreached: Callable[..., tuple[str, ...]] = examples.unreached_codes
    run_drifted: Callable[..., Sequence[examples.ExampleResult]] = examples.run
    trials: Callable[..., Sequence[examples.Trial]] = examples.trials
    told: Callable[[Mapping[str, Any]], Mapping[str, Any]] = dict
    ledger: Callable[..., attempts.AttemptLedger] = attempts.AttemptLedger
    translate: Callable[..., Conversion] = converting.convert
    flatten: Callable[..., Mapping[str, int]] = converting.tools_losing
    report: Callable[..., Conversion] = converting.convert
    diff: Callable[..., compatibility.Change] = compatibility.diff
    witness: Callable[..., compatibility.Change] = compatibility.diff
    conform: Callable[..., sla.Conformance] = sla.conform
    sample: Callable[..., sla.Conformance] = sla.conform
    gate: Callable[..., roles.Boundary] = roles.Boundary
    mend: Callable[..., roles.Boundary] = roles.Boundary
    allocate: Callable[..., allocation.Allocation] = allocation.allocate


async def run(
    world: World,
    *,
    transport: str = "memory",  # noqa: ARG001  nothing crosses a wire here, and the evidence is the same
    peers: Cast | None = None,
    cases: int = 60,
) -> AsyncIterator[Record]:
    """Ask the questions, one finding each."""
    cast = peers or Cast()
    for part in (
        meaning(cast),
        guilt(cast),
        proof(cast, world),
        repair(cast, world, cases),
        translation(cast),
        revisions(cast),
        promises(cast, world),
        boundaries(cast),
    ):
        for record in part:
            yield record


# ------------------------------------------------------------ what a schema says, and what it can't


def meaning(cast: Cast) -> Iterator[Record]:
    # 1. A range that ends before it starts. Is the schema content, and is the contract?
    tool = cast.published("en").at(EPOCH)
    backwards = {"Start": "2026-02-02T10:00:00Z", "End": "2026-02-01T10:00:00Z"}
    refused = tool.outcome(backwards)
    yield Result("wire", {"success": tool.call(FINE), "error": refused.envelope})
    observed = {
        "schema": [problem.keyword for problem in problems(backwards, tool.description.input_schema)],
        "contract": [refused.blame, code_of(refused)],
    }
    yield Finding("contract.meaning", {"schema": [], "contract": ["caller", "400"]}, observed)

    # 2. "not a date", and a time without offset. Who lets them through?
    entered: list[bool] = []
    guarded = cast.guarded("en", observe=lambda outcome: entered.append(outcome.blame != "caller")).at(EPOCH)
    bare, ours, shown = {}, {}, {}
    for name, value in {"words": "not a date", "no offset": "2026-02-01T10:00:00"}.items():
        arguments = {"Start": value, "End": FINE["End"]}
        bare[name] = Draft202012Validator(tool.description.input_schema).is_valid(arguments)
        outcome = guarded.outcome(arguments)
        ours[name] = [outcome.blame, *(breach.pointer for breach in outcome.breaches)]
        shown[name] = outcome.envelope
    yield Result("refused", shown["no offset"])
    refusals = {name: ["caller", "/Start"] for name in ours}
    expected = {"bare": dict.fromkeys(ours, True), "ours": refusals, "in": 0}
    yield Finding("contract.format", expected, {"bare": bare, "ours": ours, "in": sum(entered)})

    # 3. Equality, on both sides, and one second away from it.
    edges = cast.edges("en").at(EPOCH)
    now, soon = repairer.written(EPOCH), repairer.written(EPOCH + timedelta(seconds=1))
    calls = {
        "start is now": (now, FINE["End"]),
        "end is start": (soon, soon),
        "a second": (soon, FINE["End"]),
    }
    seen = {name: code_of(edges.outcome({"Start": a, "End": b})) for name, (a, b) in calls.items()}
    yield Finding("contract.equality", {"start is now": "400", "end is start": "400", "a second": None}, seen)


FINE = {"Start": "2026-02-01T10:00:00Z", "End": "2026-02-01T12:00:00Z"}


def guilt(cast: Cast) -> Iterator[Record]:
    # 4. A bad caller, a liar, a crash, an impossible description, an honest trio. Whose fault is each?
    def honest(seats: int) -> dict[str, Any]:
        return {"booked": seats}

    def lying(seats: int) -> dict[str, Any]:
        return {"booked": f"{seats} seats, and a window"}

    def crashing(seats: int) -> dict[str, Any]:
        raise RuntimeError(f"{seats}: {SECRET}")

    calls: dict[str, tuple[Any, Callable[..., Any], Any]] = {
        "caller": (tables.tool(), honest, {"seats": "four"}),
        "liar": (tables.tool(), lying, {"seats": 4}),
        "crash": (tables.tool(), crashing, {"seats": 4}),
        "description": (tables.tool(seats=(9, 3)), honest, {"seats": 4}),
        "nobody": (tables.tool(), honest, {"seats": 4}),
    }
    blamed = {
        name: cast.booking(described, function, clock=lambda: EPOCH).outcome(arguments).blame
        for name, (described, function, arguments) in calls.items()
    }
    expected = {
        "caller": "caller",
        "liar": "tool",
        "crash": "tool",
        "description": "description",
        "nobody": None,
    }
    yield Finding("contract.blame", expected, blamed)

    # 5. The crash had a secret in its text. Who gets to see it?
    outcome = cast.crashing(tables.tool(), crashing, clock=lambda: EPOCH).outcome({"seats": 4})
    told = {"caller": SECRET in json.dumps(outcome.envelope), "operator": SECRET in str(outcome.cause)}
    yield Result("crash", outcome.envelope)
    yield Finding("contract.no-leak", {"caller": False, "operator": True}, told)


# -------------------------------------------------------------------------------- examples as tests


def proof(cast: Cast, world: World) -> Iterator[Record]:
    # 6. The article's two examples, in both languages, each at its own clock.
    held = {
        lang: [
            [each.holds, repairer.written(each.at)]
            for each in cast.run_article(dates.date_range(lang), PROSE)
        ]
        for lang in ("es", "en")
    }
    clocks = [[True, "2025-07-11T14:25:00Z"], [True, "2025-07-11T14:23:45Z"]]
    yield Finding("contract.examples", {"es": clocks, "en": clocks}, held)

    # 7. A failure that is declared and never shown: is it noticed?
    whole = dates.date_range("en")
    error = json.loads(json.dumps(whole.description.error_schema))
    error["properties"]["data"]["properties"]["code"]["enum"] = ["400", "503"]
    grown = Contract(replace(whole.description, error_schema=error), nothing, pre=[dates.condition("en")])
    unreached = {"as published": list(cast.unreached(whole)), "one more": list(cast.unreached(grown))}
    yield Finding("contract.codes-reached", {"as published": [], "one more": ["503"]}, unreached)

    # 8. Five validators that drifted away. Which does the article notice, and which do the edges?
    sets = {"article": dates.document("en"), "edges": dates.with_edges("en")}
    caught: Any = {name: drifters(cast, described) for name, described in sets.items()}
    yield Result("drift", {flaw: {name: flaw in caught[name] for name in sets} for flaw in dates.flaws()})
    expected = {"article": ["accepts everything"], "edges": list(dates.flaws())}
    yield Finding("contract.drift", expected, caught)

    # 9. Calls drawn from the schema, good and bad, and calls drawn by somebody who knows what a range is.
    tool = dates.date_range("en", clock=lambda: EPOCH)
    tried = cast.trials(tool, count=TRIALS, seed=world.seed)
    faults = sorted({str(trial.fault) for trial in tried if trial.fault})
    around = [tool.outcome(near(world.random)) for _ in range(TRIALS)]
    endings = {
        "acceptable to the schema": ended(trial.outcome for trial in tried if trial.acceptable),
        "not acceptable": ended(trial.outcome for trial in tried if not trial.acceptable),
        "drawn around now": ended(around),
    }
    yield Result("endings", endings)
    seen = {"calls": len(tried), "faults": faults, "around now": sorted(endings["drawn around now"])}
    wanted = {"calls": TRIALS, "faults": [], "around now": ["400", "success"]}
    yield Finding("contract.always-an-envelope", wanted, seen)


TRIALS = 200


def near(chance: random.Random) -> dict[str, str]:
    """A well-formed call, its two ends within ten days of now on either side."""
    return {
        name: repairer.written(EPOCH + timedelta(hours=chance.randint(-240, 240))) for name in repairer.FIELDS
    }


def ended(outcomes: Iterable[Outcome]) -> dict[str, int]:
    """How many calls ended with which code; ``success`` for none, ``broken envelope`` for no valid answer."""
    endings = Counter(
        "broken envelope" if problems_of(outcome.envelope) else code_of(outcome) or "success"
        for outcome in outcomes
    )
    return dict(sorted(endings.items()))


def nothing(**_given: Any) -> dict[str, Any]:
    """A tool with nothing to say."""
    return {}


def drifters(cast: Cast, described: Any) -> list[str]:
    """The flaws for which some example of the description fails; none may fail for the sound tool."""
    sound = dates.date_range("en", described=described)
    if not all(result.holds for result in examples.run(sound, PROSE)):
        return ["none: the examples fail for the sound tool"]
    found = []
    for flaw, holds in dates.flaws().items():
        tool = dates.flawed("en", holds, described=described)
        if not all(result.holds for result in cast.run_drifted(tool, PROSE)):
            found.append(flaw)
    return found


# --------------------------------------------------------------------------- errors that can be used


def repair(cast: Cast, world: World, cases: int) -> Iterator[Record]:
    # 10. The same broken calls, and three amounts of information about what was wrong.
    chance = world.fork("repair").random
    drawn = [repairer.draw(chance, EPOCH) for _ in range(cases)]
    yield Input("broken_calls", [{"arguments": case.arguments, "flaws": list(case.flaws)} for case in drawn])
    tool = dates.date_range("en").at(EPOCH)
    tries = {
        level: [one_case(cast, tool, case, level, chance) for case in drawn] for level in repairer.LEVELS
    }
    rows = {level: tried_row(counts) for level, counts in tries.items()}
    pairs = list(zip(tries["structured"], tries["opaque"], strict=True))
    fewer = sum(ours < theirs for ours, theirs in pairs)
    low, high = (round(bound, 3) for bound in sla.wilson(fewer, cases))
    yield Result(
        "tries", rows | {"structured needs fewer": {"cases": fewer, "of": cases, "low": low, "high": high}}
    )
    expected: Any = {"gave up": 0, "at most": 3, "more than opaque": 0, "fewer in most": True}
    observed = {
        "gave up": rows["structured"]["gave up"],
        "at most": max(3, *tries["structured"]),
        "more than opaque": sum(ours > theirs for ours, theirs in pairs),
        "fewer in most": 2 * fewer > cases,
    }
    yield Finding("repair.fewer-tries", expected, observed)

    # 11. An agent that repeats itself, before and after a restart.
    calls: list[str] = []
    watched = dates.date_range("en", observe=lambda outcome: calls.append(str(outcome.blame))).at(EPOCH)
    wrong = {"Start": FINE["End"], "End": FINE["Start"]}
    with tempfile.TemporaryDirectory() as folder:
        told = []
        for life in range(2):
            ledger = cast.ledger(Path(folder) / "attempts.sqlite", limit=3, clock=lambda: EPOCH)
            for _ in range(4 - 2 * life):
                told.append(ledger.call(watched, wrong)["data"].get("code"))
            told.append(ledger.call(watched, FINE)["data"].get("code"))
            ledger.close()
    stopped, fine = "ATTEMPTS_EXHAUSTED", None
    expected = {"told": ["400", "400", "400", stopped, fine, stopped, stopped, fine], "calls": 5}
    yield Finding("repair.ledger", expected, {"told": told, "calls": len(calls)})


def one_case(cast: Cast, tool: Contract, case: repairer.Case, level: str, chance: random.Random) -> int:
    """The tries that a case took; one more than there is patience for when it was given up."""

    def call(arguments: dict[str, Any]) -> Mapping[str, Any]:
        answer = tool.call(arguments)
        return cast.told(answer) if level == "structured" and answer["status"] == "error" else answer

    return repairer.tries(case, call, level, chance) or repairer.PATIENCE + 1


def tried_row(counts: Sequence[int]) -> dict[str, Any]:
    """How the tries of one level are spread."""
    spread = Counter(counts)
    return {
        "tries": sum(counts),
        "mean": round(sum(counts) / len(counts), 2),
        "gave up": spread[repairer.PATIENCE + 1],
        "spread": {str(number): spread[number] for number in sorted(spread)},
    }


# ----------------------------------------------------------------------- from one form to another


def translation(cast: Cast) -> Iterator[Record]:
    # 12. There and back, judged on the text: are the real tools the same?
    tools = recorded()
    yield Input("recorded_tools", {name: len(found) for name, found in tools.items()})
    everyone = [tool for found in tools.values() for tool in found]
    changed = [
        tool["name"]
        for tool in everyone
        if text(cast.translate(cast.translate(tool, "atdf-2").document, "mcp").document) != text(tool)
    ]
    yield Finding(
        "translate.lossless", {"tools": 51, "changed": []}, {"tools": len(everyone), "changed": changed}
    )

    # 13. What the flat form loses, counted twice: by the converter, and by us in the recorded text.
    lost = cast.flatten(everyone, FLAT)
    yield Result("flat_loses", dict(lost))
    ours = {name: sum(name in words(tool) for tool in everyone) for name in NAMED}
    yield Finding("translate.flat-loses", ours, {name: lost.get(name, 0) for name in NAMED})

    # 14. Every lossy form: is the list of losses whole, and does it list nothing that is still there?
    unsaid: dict[str, int] = {}
    heat: dict[str, Any] = {}
    for form in LOSSY:
        unsaid[form] = 0
        for tool in everyone:
            there = cast.report(tool, form)
            gone = missing(tool, converting.convert(there.document, "mcp").document)
            unsaid[form] += text(gone) != text(reported(there.losses))
        heat[form] = converting.tools_losing(everyone, form)
    yield Result("losses", heat)
    yield Finding("translate.nothing-unsaid", dict.fromkeys(LOSSY, 0), unsaid)


def recorded() -> dict[str, list[dict[str, Any]]]:
    """The recorded tools of each server."""
    try:
        return {
            name: json.loads((RECORDED / f"{name}.json").read_text(encoding="utf-8"))["tools"]
            for name in SERVERS
        }
    except OSError as error:
        raise EnvironmentProblem(
            f"the recorded tools are not where the course keeps them (sources/mcp_tools): {error.strerror}; "
            "run this lab from a checkout of the course"
        ) from None


def text(value: Any) -> str:
    """JSON text with the keys in their order: what a byte for byte comparison compares."""
    return json.dumps(value, ensure_ascii=False)


def words(tool: Mapping[str, Any]) -> set[str]:
    """The names of members in a tool and in its input schema, not inside its other members."""
    found = set(tool)
    stack: list[Any] = [tool["inputSchema"]]
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            found |= {key for key, inner in value.items() if not (key == "required" and inner == [])}
            stack += value.values()
        elif isinstance(value, list):
            stack += value
    return found


# ------------------------------------------------------------------------ revisions and promises


def revisions(cast: Cast) -> Iterator[Record]:
    # 15. Five revisions of a tool. Who has to be warned?
    old = read(tables.BEFORE)[0]
    levels = {name: cast.diff(old, read(new)[0]).level for name, new in tables.REVISIONS.items()}
    expected = {
        "accepts more": "minor",
        "accepts less": "major",
        "promises more": "minor",
        "promises less": "major",
        "other words": "patch",
    }
    yield Finding("version.direction", expected, levels)

    # 16. The call that is shown as breaking: does it break?
    new = read(tables.REVISIONS["accepts less"])[0]
    shown = cast.witness(old, new).breaking_example
    arguments = shown.value if shown is not None else {}

    def book(seats: int) -> dict[str, Any]:
        return {"booked": seats}

    blamed = [Contract(one, book, clock=lambda: EPOCH).outcome(arguments).blame for one in (old, new)]
    yield Result("breaking_call", arguments)
    yield Finding("version.breaking-call", [None, "caller"], blamed)


def promises(cast: Cast, world: World) -> Iterator[Record]:
    # 17. A promise of 99 %: a short sample that kept it, a long one that kept it, a long one that did not.
    chance = world.fork("sla").random
    rows, verdicts = {}, {}
    for name, (calls, failing) in SAMPLES.items():
        judged = cast.conform(PROMISE, tables.series(chance, EPOCH, calls, failing)).judgements[0]
        verdicts[name] = [judged.kept, judged.verdict]
        bounds = {"low": rounded(judged.low), "high": rounded(judged.high)}
        rows[name] = {"calls": calls, "failed": failing, **bounds, "verdict": judged.verdict}
    yield Result("sla", rows)
    expected = {
        "short": [True, "not-shown"],
        "long": [True, "holds"],
        "long and bad": [False, "does-not-hold"],
    }
    yield Finding("sla.not-proven", expected, verdicts)

    # 18. A service that breaks the promise, looked at a hundred calls at a time. How often does it look well?
    kept = proven = 0
    for _ in range(LOOKS):
        failing = sum(chance.random() < FAILS for _ in range(100))
        judged = cast.sample(PROMISE, tables.series(chance, EPOCH, 100, failing)).judgements[0]
        kept += judged.kept
        proven += judged.verdict == "holds"
    low, high = (round(bound, 3) for bound in sla.wilson(kept, LOOKS))
    yield Result(
        "lucky", {"samples": LOOKS, "kept": kept, "low": low, "high": high, "taken for proof": proven}
    )
    yield Finding("sla.lucky-samples", [True, 0], [4 * kept > LOOKS, proven])


SAMPLES = {"short": (100, 0), "long": (3000, 10), "long and bad": (3000, 60)}
LOOKS = 300
FAILS = 0.02


def rounded(bound: float | None) -> float | None:
    """A bound to four decimals."""
    return None if bound is None else round(bound, 4)


# ------------------------------------------------------------------------- who may decide, and who delivers


def boundaries(cast: Cast) -> Iterator[Record]:
    # 19. A small table, a big one, one with nothing declared, and an operation that is none of its business.
    asked: list[str] = []

    def serve(request: roles.Request) -> Any:
        asked.append(request.operation)
        return {"booked": request.arguments["seats"], "price": 120}

    gate = cast.gate(tables.CONCIERGE, tables.RESTAURANT, clock=lambda: EPOCH)
    why = {"for": "the board"}
    endings = [
        gate.cross("book", {"seats": 4}, serve, declared=why).ending,
        gate.cross("book", {"seats": 6}, serve, declared=why).ending,
        gate.cross("book", {"seats": 2}, serve).ending,
        gate.cross("cancel", {}, serve, declared=why).ending,
    ]
    expected: Any = [["delivered", "escalated", "refused", "refused"], 1]
    yield Finding("role.escalates", expected, [endings, len(asked)])

    # 20. A bill that is out of range, once and twice. What reaches the caller?
    seen = {}
    for name, bills in {"once": (900, 120), "twice": (900, 901)}.items():
        left = list(bills)
        told: list[bool] = []

        def written(request: roles.Request, left: list[int] = left, told: list[bool] = told) -> Any:
            told.append(request.feedback is not None)
            return {"booked": 4, "price": left.pop(0)}

        boundary = cast.mend(
            tables.CONCIERGE, tables.RESTAURANT, escalate=lambda _: None, clock=lambda: EPOCH
        )
        passage = boundary.cross("book", {"seats": 4}, written, declared=why)
        seen[name] = {"ending": passage.ending, "result": passage.result, "told": told}
    expected = {
        "once": {"ending": "delivered", "result": {"booked": 4, "price": 120}, "told": [False, True]},
        "twice": {"ending": "escalated", "result": None, "told": [False, True]},
    }
    yield Finding("role.no-silent-repair", expected, seen)

    # 21. Four restaurants bid. Who gets the award, and who keeps it?
    bidders = [make() for make in tables.BIDDERS]
    round_ = cast.allocate(tables.wanted(EPOCH), bidders, clock=lambda: EPOCH)
    observed = {
        "refused": {name: list(why) for name, why in round_.refused.items()},
        "broken": [[broken.contractor, broken.why] for broken in round_.broken],
        "winner": round_.winner,
    }
    yield Result("net", [[message.kind, message.sender, message.receiver] for message in round_.log])
    expected = {
        "refused": {"cheap-talk": ["result"]},
        "broken": [["broken-word", "broke-bid"]],
        "winner": "plain-dealing",
    }
    yield Finding("net.by-contract", expected, observed)


def code_of(outcome: Outcome) -> str | None:
    """The code of an error; None after a success."""
    return None if outcome.succeeded else str(outcome.envelope["data"]["code"])
