"""Class 132. A host, the servers it meets, and the question of what it may believe of them.

The servers are in ``toolbox.py`` and run on the official SDK (``mcp``), in process, over a pipe or over
loopback; the host is ``ai_evolution.mcp.client``. Both eras are spoken: revision 2026-07-28, and the
handshake of 2025-11-25. Faults are scheduled: a server that lies, one that dies within a call, one that
never stops talking, one whose description was rewritten after it was approved, one that speaks to the
model. Each numbered question yields one finding.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from ai_evolution.atdf.convert import convert
from ai_evolution.errors import AiEvolutionError, ProtocolRefusal, ResultRefused, ToolChanged, ToolFailed
from ai_evolution.evidence import Claim, Finding, Input, Limitation, Record, Result
from ai_evolution.labs import mortal, toolbox
from ai_evolution.labs.contracts import recorded
from ai_evolution.mcp import client as hosting
from ai_evolution.mcp.client import Host
from ai_evolution.mcp.journal import WireJournal
from ai_evolution.mcp.scan import hazards
from ai_evolution.mcp.server import http_app
from ai_evolution.mcp.trust import Pins
from ai_evolution.network import serve, stop_serving
from ai_evolution.world import World

MODERN, LEGACY = "2026-07-28", "2025-11-25"
PROTOCOLS = {"mcp": MODERN, "mcp-legacy": LEGACY, "json-rpc": "2.0", "atdf": "1.x, 2.x"}
GRACE = 60.0
"""Seconds that anything may take before it counts as not happening."""
SHORT = 0.5
"""Seconds given to what is known never to answer."""
FINE = {"Start": "2026-02-01T10:00:00Z", "End": "2026-02-01T12:00:00Z"}
HOSTS = SERVERS = 3
TOOLS = ["validate_date_range", "book_seats", "serve", "wait_for_guests", "look_back", "open_the_safe"]

CLAIMS = (
    Claim(
        "mcp.control",
        "The host lets a model call tools, the application read resources and a person pick prompts, and "
        "none of them do what is another's.",
        "El anfitrión deja que el modelo llame a herramientas, que la aplicación lea recursos y que una "
        "persona elija prompts, y a ninguno le deja hacer lo de otro.",
        ("S01",),
    ),
    Claim(
        "mcp.discovery",
        "A client that knows nothing of a server finds exactly the tools that it has, and calls one from "
        "its schema alone.",
        "Un cliente que no sabe nada de un servidor encuentra exactamente las herramientas que tiene, y "
        "llama a una sin más guía que su esquema.",
        ("S01", "P147"),
    ),
    Claim(
        "mcp.two-eras",
        "The same questions get the same answers in both eras; the old one spends a handshake of three "
        "messages, the new one a pair.",
        "Las mismas preguntas obtienen las mismas respuestas en las dos épocas; la antigua gasta un "
        "saludo de tres mensajes, la nueva, una pareja.",
        ("S01", "S06"),
    ),
    Claim(
        "mcp.enforced",
        "A tool written in the usual way takes a text for a number and an unknown key, against its own "
        "published schema; under a contract it takes neither.",
        "Una herramienta escrita como de costumbre acepta un texto por un número y una clave desconocida,"
        " en contra del esquema que publica; con un contrato no acepta ninguno de los dos.",
        ("S01", "S07", "S30"),
    ),
    Claim(
        "mcp.liar-caught",
        "A result that breaks its published schema is refused, with the place; an honest one is handed on.",
        "Un resultado que incumple el esquema publicado se rechaza, con el lugar; uno honrado se entrega.",
        ("S01", "S07"),
    ),
    Claim(
        "mcp.errors-apart",
        "An unknown tool, a bad argument and a crash arrive as what they are: a protocol error, a "
        "contract error that can be acted upon, a failure of the tool.",
        "Una herramienta desconocida, un argumento malo y un fallo llegan como lo que son: un error de "
        "protocolo, un error de contrato con el que se puede hacer algo, un fallo de la herramienta.",
        ("S01", "S06", "P148"),
    ),
    Claim(
        "mcp.no-leak",
        "The secret in the text of an exception stands in no message that crossed.",
        "El secreto que hay en el texto de una excepción no está en ningún mensaje de los que cruzaron.",
        ("S01", "B13"),
    ),
    Claim(
        "mcp.resources-and-prompts",
        "A resource, an address made from a template and a prompt come back as the server has them, in "
        "both eras.",
        "Un recurso, una dirección hecha con una plantilla y un prompt llegan como los tiene el servidor,"
        " en las dos épocas.",
        ("S01",),
    ),
    Claim(
        "mcp.question",
        "A tool that has to ask gets yes, no and no answer apart, in both eras, and asks nothing about a "
        "call that would be refused anyway.",
        "Una herramienta que tiene que preguntar distingue entre sí, no y ninguna respuesta, en las dos "
        "épocas, y no pregunta nada sobre una llamada que se va a rechazar de todos modos.",
        ("S01",),
    ),
    Claim(
        "mcp.progress",
        "Each step that a tool reports reaches the caller, in order and before the result.",
        "Cada paso que anuncia una herramienta llega a quien la llamó, en orden y antes del resultado.",
        ("S01",),
    ),
    Claim(
        "mcp.cancelled",
        "A caller that gives up is heard: the tool at work is cancelled, in both eras.",
        "A quien desiste se lo oye: la herramienta que estaba trabajando se cancela, en las dos épocas.",
        ("S01", "P149"),
    ),
    Claim(
        "mcp.bad-endings",
        "A server that dies, floods, babbles or stalls within a call ends in a clear error, and so does "
        "the next call.",
        "Un servidor que muere, inunda, balbucea o calla en mitad de una llamada acaba en un error claro,"
        " y la llamada siguiente también.",
        ("P147", "P148", "B06"),
    ),
    Claim(
        "mcp.asks-first",
        "A person is asked before a tool that says it destroys and before one that says nothing, not "
        "before one that only reads; after a no, nothing is sent.",
        "Se pregunta a una persona antes de una herramienta que dice que destruye y de una que no dice "
        "nada, no antes de una que solo lee; tras un no, no se envía nada.",
        ("S01", "P155"),
    ),
    Claim(
        "mcp.rug-pull",
        "A description rewritten after it was approved is refused, with the place; the same tools in "
        "another order are no change.",
        "Una descripción reescrita después de aprobada se rechaza, con el lugar; las mismas herramientas "
        "en otro orden no son un cambio.",
        ("S01", "S21"),
    ),
    Claim(
        "mcp.poisoned",
        "A description that speaks to the model is reported, and though a gullible model obeys it, "
        "nothing that it asks for is sent.",
        "Una descripción que le habla al modelo se señala y, aunque un modelo crédulo la obedece, no se "
        "envía nada de lo que pide.",
        ("P155", "B13"),
    ),
    Claim(
        "mcp.fields",
        "ATDF's flat form needs a when-to-use and failures that no recorded MCP tool states, and has no "
        "place for the hints and result schemas that they do state.",
        "La forma plana de ATDF pide un cuándo usarla y unos fallos que ninguna herramienta MCP grabada "
        "declara, y no tiene sitio para los avisos y los esquemas de resultado que sí declaran.",
        ("S01", "S04"),
    ),
    Claim(
        "mcp.adapters",
        "Three hosts use three servers that they have never met: nine pairs, each with the right result, "
        "over six ends of one protocol.",
        "Tres anfitriones usan tres servidores que no conocían: nueve parejas, cada una con el resultado "
        "correcto, sobre seis extremos de un solo protocolo.",
        ("S01", "P149"),
    ),
)

LIMITATIONS = (
    Limitation(
        "mcp.scripted-model",
        "model",
        "The gullible model is scripted: it does whatever a description tells it. Real models obey "
        "sometimes; how often is not measured here.",
        "El modelo crédulo está guionizado: hace lo que le diga una descripción. Los modelos reales "
        "obedecen a veces; con qué frecuencia no se mide aquí.",
    ),
    Limitation(
        "mcp.one-machine",
        "scope",
        "Hosts and servers share one machine. Delay, loss and proxies between them are not shown, nor is "
        "authorization between organisations.",
        "Anfitriones y servidores comparten una máquina. No se muestran retrasos, pérdidas ni proxies "
        "entre ellos, ni la autorización entre organizaciones.",
    ),
    Limitation(
        "mcp.one-sdk",
        "scope",
        "Both ends run the same SDK, except for the servers that end badly. What another implementation "
        "does is the matter of the conformance suite.",
        "Los dos extremos usan el mismo SDK, salvo los servidores que acaban mal. Lo que haga otra "
        "implementación es asunto de la batería de conformidad.",
    ),
    Limitation(
        "mcp.heuristics",
        "method",
        "Hazards are found by lists of words and characters. A poisoned text in other words passes; what "
        "protects is that nothing is sent without consent.",
        "Los peligros se encuentran con listas de palabras y caracteres. Un texto envenenado con otras "
        "palabras pasa; lo que protege es que nada se envía sin consentimiento.",
    ),
    Limitation(
        "mcp.consent-is-trusted",
        "method",
        "The person who is asked always answers rightly here. People who are asked too often say yes.",
        "Aquí la persona a quien se pregunta siempre responde bien. La gente a la que se pregunta "
        "demasiado dice que sí.",
    ),
    Limitation(
        "mcp.canonical-bytes",
        "measurement",
        "Messages are counted as JSON-RPC, in canonical bytes. What HTTP and TLS add around them is left "
        "out.",
        "Los mensajes se cuentan como JSON-RPC, en bytes canónicos. No se cuenta lo que añaden HTTP y TLS.",
    ),
)


# -------------------------------------------------------------------------------------- the host's doors


class Desk:
    """A host application with its three doors. Each asks for what is its own and gets nothing else."""

    OWN: Mapping[str, str] = {"model": "tool", "application": "resource", "person": "prompt"}

    def __init__(self, host: Host) -> None:
        self.host = host

    async def ask(self, who: str, what: str) -> bool:
        """Whether ``who`` gets ``what`` done here: a tool called, a resource read, a prompt fetched."""
        if self.OWN[who] != what:
            return False
        return await self.do(what)

    async def do(self, what: str) -> bool:
        """Do it on the server; whether something came back."""
        if what == "tool":
            return bool((await self.host.call("look_back")).structured)
        if what == "resource":
            return bool(await self.host.read(toolbox.MENU))
        return bool(await self.host.prompt("plan_evening", {"guests": "4"}))


class Gullible:
    """A scripted model that obeys every description. It says which tools it wants called, in order."""

    def wants(self, described: Mapping[str, str]) -> list[tuple[str, dict[str, Any]]]:
        """The calls that it asks the host for."""
        ordered = [(name, {"text": toolbox.MENU_TEXT}) for name in described if self._told(name, described)]
        return [*ordered, ("show_menu", {})]

    @staticmethod
    def _told(name: str, described: Mapping[str, str]) -> bool:
        return any(f"call {name}" in text for other, text in described.items() if other != name)


@dataclass(frozen=True)
class Cast:
    """Who plays. The tests replace one part by one bad enough to break one claim, and it alone.

    ``servers`` and ``hosts`` are replaced for one claim at a time, by its id.
    """

    servers: Mapping[str, Callable[[], Any]] = field(default_factory=dict)
    hosts: Mapping[str, Callable[..., AbstractAsyncContextManager[Any]]] = field(default_factory=dict)
    desk: Callable[[Host], Desk] = Desk
    model: Callable[[], Gullible] = Gullible
    pins: Callable[[], Pins] = Pins
    scan: Callable[..., Any] = hazards
    reaches: Callable[..., AbstractAsyncContextManager[Any]] = hosting.connect
    flatten: Callable[..., Any] = convert


@dataclass
class Stage:
    """How a server is reached on this transport, and every message that crossed."""

    cast: Cast
    transport: str

    @asynccontextmanager
    async def target(self, claim: str, kind: str) -> AsyncIterator[Any]:
        """A server of this kind: an object, a command, or an address on loopback."""
        build: Callable[[], Any] = self.cast.servers.get(f"{claim}:{kind}", toolbox.KINDS[kind])
        if self.transport == "stdio":
            yield [sys.executable, "-m", "ai_evolution.labs.toolbox", kind]
        elif self.transport == "http":
            running, port, task = await serve(http_app(build()))
            try:
                yield f"http://127.0.0.1:{port}/mcp"
            finally:
                await stop_serving(running, task)
        else:
            yield build()

    @asynccontextmanager
    async def connect(self, claim: str, kind: str, **options: Any) -> AsyncIterator[Any]:
        """A host at a server of this kind, for this claim."""
        settings: dict[str, Any] = {"approve": yes, "deadline": GRACE, "known_as": kind}
        settings["journal"] = WireJournal()  # the same messages on every transport: JSON-RPC, also in process
        if self.transport == "stdio":
            settings["env"] = {name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ}
        door: Any = self.cast.hosts.get(claim, hosting.connect)
        async with self.target(claim, kind) as target, door(target, **settings | options) as host:
            yield host


async def run(
    world: World,
    *,
    transport: str = "memory",
    peers: Cast | None = None,
) -> AsyncIterator[Record]:
    """Ask the questions, one finding each."""
    stage = Stage(peers or Cast(), transport)
    for part in (
        doors(stage),
        eras(stage, world),
        schemas(stage),
        errors(stage),
        conversation(stage),
        endings(stage),
        trust(stage),
        forms(stage, world),
    ):
        async for record in part:
            yield record


# ------------------------------------------------------------------------------ who may ask for what


async def doors(stage: Stage) -> AsyncIterator[Record]:
    # 1. Who controls what? Each of three asks for each of three things.
    async with stage.connect("mcp.control", "house") as host:
        desk = stage.cast.desk(host)
        got = {who: [what for what in KINDS if await desk.ask(who, what)] for who in Desk.OWN}
    yield Finding("mcp.control", {who: [what] for who, what in Desk.OWN.items()}, got)

    # 2. A client that knows nothing: what does it find, and can it call a tool from its schema alone?
    async with stage.connect("mcp.discovery", "house") as host:
        tools = await host.tools()
        first = tools[0]
        times = iter(FINE.values())
        arguments = {
            name: next(times)
            for name, schema in first.input_schema["properties"].items()
            if schema.get("format") == "date-time"
        }
        answer = (await host.call(first.name, arguments)).structured
    seen = {"tools": [tool.name for tool in tools], "called": first.name, "status": answer["status"]}
    yield Finding("mcp.discovery", {"tools": TOOLS, "called": TOOLS[0], "status": "success"}, seen)


KINDS = ("tool", "resource", "prompt")


async def eras(stage: Stage, world: World) -> AsyncIterator[Record]:
    # 3. The same three questions in both eras: the same answers, and how many messages?
    counts, answers, sizes = {}, {}, {}
    start = f"2026-02-{world.random.randint(1, 27):02d}T10:00:00Z"
    asked = {"Start": start, "End": "2026-03-01T10:00:00Z"}
    yield Input("asked", asked)
    for era, mode in MODES.items():
        journal = WireJournal()
        async with stage.connect("mcp.two-eras", "house", mode=mode, journal=journal) as host:
            await host.tools()
            answer = await host.call("validate_date_range", asked)
            read = await host.read(toolbox.MENU)
            answers[era] = [host.revision, answer.structured["status"], read[0]["text"]]
        counts[era] = journal.counts().get(era, {})
        sizes[era] = sum(frame["size"] for frame in journal.canonical())
        yield Result(f"wire_{era}", journal.canonical())
    yield Result(
        "eras", {era: {"messages": sum(counts[era].values()), "bytes": sizes[era]} for era in counts}
    )
    common = {"resources/read": 2, "tools/call": 2, "tools/list": 2}
    expected = {
        "answers": {era: [era, "success", toolbox.MENU_TEXT] for era in counts},
        "messages": {
            MODERN: {"server/discover": 2, **common},
            LEGACY: {"initialize": 2, "notifications/initialized": 1, **common},
        },
    }
    yield Finding("mcp.two-eras", expected, {"answers": answers, "messages": counts})


# ---------------------------------------------------------------- what is published, and what is enforced


async def schemas(stage: Stage) -> AsyncIterator[Record]:
    # 4. Three calls that the published schema forbids, to a usual tool and to one under contract.
    seen = {}
    for kind in ("plain", "contracted"):
        async with stage.connect("mcp.enforced", kind) as host:
            seen[kind] = {name: await ending(host.call("book", given)) for name, given in WRONG.items()}
    yield Result("wrong_calls", {name: {kind: seen[kind][name] for kind in seen} for name in WRONG})
    refused = dict.fromkeys(WRONG, "ToolFailed INVALID_ARGUMENTS")
    yield Finding("mcp.enforced", {"plain": dict.fromkeys(WRONG, "answered"), "contracted": refused}, seen)

    # 5. A server that promises a number and gives a text, and one that keeps its word.
    caught = {}
    for kind in ("liar", "honest"):
        async with stage.connect("mcp.liar-caught", kind) as host:
            caught[kind] = await ending(host.call("book", {}))
    expected = {"liar": "ResultRefused /structuredContent/booked", "honest": "answered"}
    yield Finding("mcp.liar-caught", expected, caught)


WRONG: Mapping[str, dict[str, Any]] = {
    "a text for a number": {"seats": "5", "outdoors": True},
    "a word for a boolean": {"seats": 5, "outdoors": "yes"},
    "an unknown key": {"seats": 5, "outdoors": True, "view": "sea"},
}


async def errors(stage: Stage) -> AsyncIterator[Record]:
    # 6. Three things go wrong. Does the caller know which?
    async with stage.connect("mcp.errors-apart", "house") as host:
        seen = {
            "unknown tool": await ending(host.call("no_such_tool", {})),
            "bad argument": await ending(host.call("serve", {"count": "five"})),
            "crash": await ending(host.call("open_the_safe", {})),
        }
    expected: Any = {
        "unknown tool": "ProtocolRefusal -32602",
        "bad argument": "ToolFailed INVALID_ARGUMENTS",
        "crash": "ToolFailed TOOL_FAILED",
    }
    yield Finding("mcp.errors-apart", expected, seen)

    # 7. The crash had a secret in its text. In how many messages does it stand?
    journal = WireJournal()
    async with stage.connect("mcp.no-leak", "house", journal=journal) as host:
        await ending(host.call("open_the_safe", {}))
    found = {
        "secret": journal.searched(toolbox.SECRET.encode()),
        "control": journal.searched(b"open_the_safe") > 0,
    }
    yield Finding("mcp.no-leak", {"secret": 0, "control": True}, found)


# -------------------------------------------------------------- resources, prompts, questions, progress


async def conversation(stage: Stage) -> AsyncIterator[Record]:
    # 8. What else a server has: a resource, a template, a prompt.
    read = {}
    for era, mode in MODES.items():
        async with stage.connect("mcp.resources-and-prompts", "house", mode=mode) as host:
            said = await host.prompt("plan_evening", {"guests": "4"})
            read[era] = [
                [str(resource.uri) for resource in await host.resources()],
                [template.uri_template for template in await host.templates()],
                (await host.read(toolbox.MENU))[0]["text"],
                (await host.read("menu://monday"))[0]["text"],
                said[0]["content"]["text"],
            ]
    there = [[toolbox.MENU], ["menu://{day}"], toolbox.MENU_TEXT, "soup", "Plan an evening for 4 guests."]
    yield Finding("mcp.resources-and-prompts", dict.fromkeys(MODES, there), read)

    # 9. The tool has a question. The person says yes, says no, walks away; and one call is wrong anyway.
    told: dict[str, Any] = {}
    for era, mode in MODES.items():
        told[era] = {}
        for name, reply in REPLIES.items():
            asked: list[str] = []

            async def person(
                question: Mapping[str, Any], asked: list[str] = asked, reply: Any = reply
            ) -> Any:
                asked.append(question["message"])
                return reply

            async with stage.connect("mcp.question", "house", mode=mode, elicit=person) as host:
                given = {"seats": 0 if name == "wrong call" else 4}
                told[era][name] = [await booked(host, given), len(asked)]
    expected: Any = {
        "yes": [4, 1],
        "no": ["declined", 1],
        "walks away": ["cancelled", 1],
        "wrong call": ["refused", 0],
    }
    yield Finding("mcp.question", dict.fromkeys(MODES, expected), told)

    # 10. Five courses. Does the caller hear of each, in order?
    heard: list[Any] = []

    async def listen(step: float, total: float | None, words: str | None) -> None:
        heard.append([int(step), int(total or 0), words])

    async with stage.connect("mcp.progress", "house") as host:
        served = (await host.call("serve", {"count": toolbox.COURSES}, progress=listen)).structured
        before = len(heard)
    steps = [[n, toolbox.COURSES, f"course {n}"] for n in range(1, toolbox.COURSES + 1)]
    expected = {"heard": steps, "before the result": toolbox.COURSES, "served": toolbox.COURSES}
    seen = {"heard": heard, "before the result": before, "served": served.get("served")}
    yield Finding("mcp.progress", expected, seen)

    # 11. The caller gives up. Does the tool hear of it?
    lived = {}
    for era, mode in MODES.items():
        async with stage.connect("mcp.cancelled", "house", mode=mode) as host:
            gave_up = await ending(host.call("wait_for_guests", {}, deadline=SHORT))
            lived[era] = [gave_up, await history(host)]
    expected = ["DeadlinePassed", ["waiting", "cancelled"]]
    yield Finding("mcp.cancelled", dict.fromkeys(MODES, expected), lived)


MODES = {MODERN: "auto", LEGACY: "legacy"}
REPLIES: Mapping[str, Any] = {
    "yes": {"outdoors": True},
    "no": "decline",
    "walks away": "cancel",
    "wrong call": {"outdoors": True},
}


async def booked(host: Host, given: Mapping[str, Any]) -> Any:
    """How many seats were booked, or why none were."""
    try:
        answer = (await host.call("book_seats", given)).structured
    except ToolFailed:
        return "refused"
    return answer["booked"] or answer.get("why")


async def history(host: Host) -> list[str]:
    """What the slow tool went through; asked until it has ended, at most a hundred times."""
    found: list[str] = []
    for _ in range(100):
        found = (await host.call("look_back")).structured["history"]
        if found[-1:] != ["waiting"]:
            break
    return found


# ------------------------------------------------------------------------------------ servers that end badly


async def endings(stage: Stage) -> AsyncIterator[Record]:
    # 12. Dead, flooding, babbling, silent: what does the caller get, and what the second time?
    async def twice(kind: str) -> list[str]:
        command = [sys.executable, mortal.__file__, kind]
        async with stage.cast.reaches(command, approve=yes, deadline=GRACE) as host:
            return [await ending(host.call("count", {}, deadline=ENDINGS[kind])) for _ in range(2)]

    seen = dict(zip(ENDINGS, await asyncio.gather(*map(twice, ENDINGS)), strict=True))
    named = {
        "dies": "ServerLost",
        "floods": "ResultRefused",
        "babbles": "ResultRefused",
        "stalls": "DeadlinePassed",
    }
    yield Finding("mcp.bad-endings", {kind: [name, name] for kind, name in named.items()}, seen)


ENDINGS = {"dies": GRACE, "floods": GRACE, "babbles": GRACE, "stalls": SHORT / 5}


# --------------------------------------------------------------------------------------------------- trust


async def trust(stage: Stage) -> AsyncIterator[Record]:
    # 13. Which calls does a person have to approve, and what is sent after a no?
    asked: list[str] = []
    journal = WireJournal()

    async def refuses(tool: Any, _arguments: Any) -> bool:
        asked.append(tool.name)
        return False

    ended = []
    for kind, calls in ASKED.items():
        async with stage.connect("mcp.asks-first", kind, approve=refuses, journal=journal) as host:
            ended += [await ending(host.call(name, given)) for name, given in calls.items()]
    sent = [frame.message["params"]["name"] for frame in journal.frames if asks_a_tool(frame)]
    seen = {"asked": asked, "sent": sent, "ended": ended}
    expected: Any = {
        "asked": ["book_seats", "book"],
        "sent": ["validate_date_range"],
        "ended": ["answered", "ConsentRefused", "ConsentRefused"],
    }
    yield Finding("mcp.asks-first", expected, seen)

    # 14. Approved yesterday. Today the same server, another order, and a rewritten description.
    pins = stage.cast.pins()
    async with stage.connect("mcp.rug-pull", "house") as host:
        pins.approve("house", await host.tools())
    today = {}
    for kind in ("house", "shuffled", "changed"):
        async with stage.connect("mcp.rug-pull", kind, pins=pins, known_as="house") as host:
            await host.tools()
            changes = [[change.tool, change.kind, list(change.where)] for change in host.changes]
            today[kind] = [changes, await ending(host.call("look_back", {}))]
    as_ever: list[Any] = [[], "answered"]
    rewritten = [[["look_back", "changed", ["/description"]]], "ToolChanged /description"]
    yield Finding("mcp.rug-pull", {"house": as_ever, "shuffled": as_ever, "changed": rewritten}, today)

    # 15. A description speaks to the model, and the model obeys. What does the person see, what is sent?
    journal = WireJournal()
    async with stage.connect("mcp.poisoned", "poisoned", approve=no, journal=journal) as host:
        tools = await host.tools()
        kinds = sorted({hazard.kind for hazard in stage.cast.scan(tools)})
        wanted = stage.cast.model().wants({tool.name: tool.description or "" for tool in tools})
        for name, arguments in wanted:
            await ending(host.call(name, arguments))
    sent = [frame.message["params"]["name"] for frame in journal.frames if asks_a_tool(frame)]
    seen = {"hazards": kinds, "wanted": [name for name, _ in wanted], "sent": sent}
    expected = {
        "hazards": ["hidden-character", "instruction"],
        "wanted": ["send_report", "show_menu"],
        "sent": ["show_menu"],
    }
    yield Finding("mcp.poisoned", expected, seen)


ASKED: Mapping[str, Mapping[str, dict[str, Any]]] = {
    "house": {"validate_date_range": FINE, "book_seats": {"seats": 4}},
    "plain": {"book": {"seats": 4, "outdoors": True}},
}


def asks_a_tool(frame: Any) -> bool:
    """Whether a message is a request to call a tool."""
    return bool(frame.kind == "request" and frame.method == "tools/call")


# ------------------------------------------------------------------- two formats, and many of each side


async def forms(stage: Stage, world: World) -> AsyncIterator[Record]:
    # 16. What ATDF has and MCP has not, and the other way round, counted on the recorded real tools.
    tools = [tool for found in recorded().values() for tool in found]
    converted = [stage.cast.flatten(tool, "atdf-1") for tool in tools]
    made_up = {
        field: sum(pointer in each.derived for each in converted)
        for field, pointer in {
            "when_to_use": "/when_to_use",
            "success": "/how_to_use/outputs/success",
        }.items()
    }
    failures = sum(bool(each.document["how_to_use"]["outputs"]["failure"]) for each in converted)
    lost = {
        field: sum(any(loss.pointer.startswith(f"/{field}") for loss in each.losses) for each in converted)
        for field in ("annotations", "outputSchema", "title")
    }
    yield Result(
        "fields", {"tools": len(tools), **{name: sum(name in tool for tool in tools) for name in FIELDS}}
    )
    expected: Any = {
        "made up": {"when_to_use": len(tools), "success": len(tools)},
        "failures": 0,
        "no place": {
            name: sum(name in tool for tool in tools) for name in ("annotations", "outputSchema", "title")
        },
    }
    yield Finding("mcp.fields", expected, {"made up": made_up, "failures": failures, "no place": lost})

    # 17. Three hosts and three servers that never met. How many pairs, over how many adapters?
    figures = [world.random.randint(1, 99) for _ in range(HOSTS)]
    yield Input("figures", figures)
    right, ends = 0, set()
    for number, figure in enumerate(figures, 1):
        for server in range(1, SERVERS + 1):
            async with stage.connect("mcp.adapters", f"adder-{server}") as host:
                tool = (await host.tools())[0]
                arguments = dict.fromkeys(tool.input_schema["properties"], figure)
                answer = (await host.call(tool.name, arguments)).structured
                ends |= {("host", str(number)), ("server", (host.server or {}).get("name", ""))}
            right += answer == {"sum": figure + server}
    counted = {"pairs": HOSTS * SERVERS, "right": right, "ends": len(ends)}
    yield Finding("mcp.adapters", {"pairs": 9, "right": 9, "ends": 6}, counted)


FIELDS = ("name", "title", "description", "inputSchema", "outputSchema", "annotations", "_meta")


# ------------------------------------------------------------------------------------------ small things


async def yes(_tool: Any, _arguments: Any) -> bool:
    """Somebody who approves."""
    return True


async def no(_tool: Any, _arguments: Any) -> bool:
    """Somebody who does not."""
    return False


async def ending(call: Awaitable[Any]) -> str:
    """``answered``, or the error's name with what tells it from others of its name."""
    try:
        await call
    except ToolFailed as error:
        return f"ToolFailed {code_in(error.content)}".strip()
    except ProtocolRefusal as error:
        return f"ProtocolRefusal {error.code}"
    except ToolChanged as error:
        return f"ToolChanged {', '.join(error.changes[0].where)}"
    except ResultRefused as error:
        return f"ResultRefused {error.pointer}".strip()
    except AiEvolutionError as error:
        return type(error).__name__
    return "answered"


def code_in(content: Sequence[Mapping[str, Any]]) -> str:
    """The code of the error envelope in a failed result; empty when there is none."""
    try:
        return str(json.loads(content[0]["text"])["data"]["code"])
    except (LookupError, ValueError, TypeError):
        return ""
