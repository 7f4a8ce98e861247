"""Class 134. Two organisations, one wire, and the question of what may be believed.

``hiring.example`` delegates background checks to the agent of ``checks.example`` over A2A 1.0
(``a2a-sdk``). ``run`` sets both sides up in the open; who they are stands in ``hiring.py``. The
wire is in memory or on loopback and carries the same bytes. Faults are scheduled: a relay that
alters cards, agents that are unfit, a cut stream, a lost reply, forged and forbidden webhooks,
a process killed at work. Each numbered question yields one finding.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ai_evolution.a2a import app as serving
from ai_evolution.a2a import behaviours
from ai_evolution.a2a import client as calling
from ai_evolution.a2a.audit import AuditLog
from ai_evolution.a2a.cards import Needs, generate_key, public_key, sign_card, verify_card
from ai_evolution.a2a.dialects import with_v0_3
from ai_evolution.a2a.push import PushPolicy, PushReceiver, PushSender
from ai_evolution.a2a.registry import Registry
from ai_evolution.a2a.store import SqliteTaskStore
from ai_evolution.errors import AiEvolutionError
from ai_evolution.evidence import Claim, Finding, Input, Limitation, Record, Result
from ai_evolution.journal import Frame, canonical
from ai_evolution.labs import hiring, integrations, three_ways
from ai_evolution.labs.elsewhere import ORDERED, OWN_SECRET, Elsewhere, everybody
from ai_evolution.labs.hiring import CHECKS, HIRING, KID, SKILL, TOKENS, Candidate, Office
from ai_evolution.network import ASGIApp, Network
from ai_evolution.world import World

PROTOCOLS = {"a2a": "1.0", "a2a-legacy": "0.3", "mcp": "2026-07-28"}
CARD = "/.well-known/agent-card.json"
LIFE = [f"TASK_STATE_{name}" for name in ("SUBMITTED", "WORKING", "INPUT_REQUIRED", "WORKING", "COMPLETED")]
NEEDS = Needs(skill=SKILL, input_modes=("application/json",), output_modes=("application/json",))
FORBIDDEN_WEBHOOKS = (
    "http://169.254.169.254/latest/meta-data/",
    "http://127.0.0.1:22/",
    "http://[::ffff:10.0.0.1]/",
    "http://0x7f000001/",
    "http://2130706433/",
    "file:///etc/passwd",
)
ADMISSION = (
    "card.published",
    "auth.demanded",
    "task.asks",
    "artifact.present",
    "artifact.typed",
)
"""What the registry wants to have seen before it lets an agent in (ids of ``a2a.behaviours``)."""
GRID = [(n, n) for n in range(1, 6)] + [(2, 5), (1, 8)]
GRACE = 60.0
"""Seconds that anything here may take before it counts as not happening."""


CLAIMS = (
    Claim(
        "a2a.card-signed",
        "The agent card is found at /.well-known/agent-card.json and its signature is that of the key pinned "
        "for checks.example.",
        "La Agent Card está en /.well-known/agent-card.json y lleva la firma de la clave fijada para "
        "checks.example.",
        ("S02", "S25", "S26"),
    ),
    Claim(
        "a2a.card-tampered",
        "A card altered on its way (endpoint, duty to authenticate or skill) is refused.",
        "Una tarjeta alterada por el camino (dirección, obligación de autenticarse o skill) se rechaza.",
        ("S02", "S21", "S26"),
    ),
    Claim(
        "a2a.unfit-refused",
        "Genuine agents that do not suit the job (format, skill, authentication) are turned away before the "
        "first message.",
        "A los agentes auténticos que no sirven para el encargo (formato, skill, autenticación) se los "
        "descarta antes del primer mensaje.",
        ("S02", "P133"),
    ),
    Claim(
        "a2a.lifecycle",
        "Each task passes on the wire through submitted, working, input-required, working, completed, in "
        "that order.",
        "En lo que cruza el cable, cada tarea pasa por submitted, working, input-required, working y "
        "completed, en ese orden.",
        ("S02",),
    ),
    Claim(
        "a2a.typed-artifact",
        "What is delivered is an artifact {result, sources} that satisfies the schema declared by the skill, "
        "with the values in the agent's records.",
        "Lo que se entrega es un artefacto {result, sources} que cumple el esquema declarado por el skill, "
        "con los valores que constan en los registros del agente.",
        ("S02", "B09"),
    ),
    Claim(
        "a2a.chat-is-not-result",
        "Nothing is read from the chat: a contradicting last message changes nothing, and a report that is "
        "only told is no report.",
        "De la conversación no se lee nada: un último mensaje que contradice al informe no cambia nada, y "
        "un informe que solo se cuenta en ella no es un informe.",
        ("S02", "P178"),
    ),
    Claim(
        "a2a.unhappy-endings",
        "Failed, canceled and rejected are each reached, and the caller can tell them apart.",
        "Se alcanzan failed, canceled y rejected, y quien hizo el encargo puede distinguirlos.",
        ("S02",),
    ),
    Claim(
        "a2a.terminal-is-final",
        "A task that has ended takes no more messages; the follow-up is a new task in the same context.",
        "Una tarea terminada no admite más mensajes; lo que siga es una tarea nueva en el mismo contexto.",
        ("S02",),
    ),
    Claim(
        "a2a.stream-cut",
        "When the stream is cut after its first event, the caller still ends with the whole artifact, from a "
        "single execution.",
        "Si el flujo se corta tras su primer evento, quien hizo el encargo obtiene igualmente el artefacto "
        "completo, y de una sola ejecución.",
        ("S02", "S33"),
    ),
    Claim(
        "a2a.message-once",
        "The same message sent twice makes one task and one execution.",
        "El mismo mensaje enviado dos veces da lugar a una sola tarea y a una sola ejecución.",
        ("S02", "B06"),
    ),
    Claim(
        "a2a.push-authenticated",
        "The webhook is told every state with the agreed credentials, a repeated notice counts once, and a "
        "forged one is refused.",
        "El webhook recibe cada estado con las credenciales acordadas, un aviso repetido cuenta una vez y "
        "uno falsificado se rechaza.",
        ("S02",),
    ),
    Claim(
        "a2a.push-guarded",
        "A webhook at a metadata address, at a loopback or private address in any spelling, or at a file is "
        "refused.",
        "Se rechaza un webhook en una dirección de metadatos, en una dirección local o privada, se escriba "
        "como se escriba, o en un archivo.",
        ("S02", "B13"),
    ),
    Claim(
        "a2a.wrong-token",
        "A wrong token is answered 401 with the scheme to use.",
        "Un token equivocado se contesta con 401 y con el esquema que hay que usar.",
        ("S02", "S24"),
    ),
    Claim(
        "a2a.task-owned",
        "Somebody else's task is not found: it can't be read, canceled, answered or listed.",
        "La tarea de otro no se encuentra: no se puede leer, cancelar, contestar ni listar.",
        ("S02", "B13"),
    ),
    Claim(
        "a2a.dialect-0-3",
        "The exchange of the original class text, in dialect 0.3, leads to the same artifact.",
        "El intercambio del texto original de la clase, en el dialecto 0.3, conduce al mismo artefacto.",
        ("S02",),
    ),
    Claim(
        "a2a.version-named",
        "A caller that sends no version header is told so with the error VersionNotSupported.",
        "A quien no envía la cabecera de versión se le avisa con el error VersionNotSupported.",
        ("S02",),
    ),
    Claim(
        "a2a.registry",
        "An agent enters the registry only after its card verifies and a conformance run passes, and its "
        "entry expires.",
        "Un agente entra en el registro solo después de que su tarjeta se verifique y él supere una prueba "
        "de conformidad, y su entrada caduca.",
        ("S02", "P133"),
    ),
    Claim(
        "a2a.audit",
        "Every delegation leaves its consent, its beginning and its outcome on record, and a changed record "
        "is found out.",
        "De cada delegación constan el consentimiento, el comienzo y el desenlace, y si alguien cambia una "
        "anotación, se descubre.",
        ("B13", "S21"),
    ),
    Claim(
        "ways.same-report",
        "A colleague in the process, an MCP tool and an A2A agent give the same report on the same person.",
        "Una colega en el mismo proceso, una herramienta MCP y un agente A2A dan el mismo informe sobre la "
        "misma persona.",
        ("S01", "S02"),
    ),
    Claim(
        "ways.cost",
        "Independence is paid for on the wire: the hand-off costs no byte, the tool some, the task most.",
        "La independencia se paga en el cable: el traspaso interno no cuesta ni un byte; la herramienta, "
        "algunos; la tarea es la que más cuesta.",
        ("S01", "S02"),
    ),
    Claim(
        "ways.knowledge",
        "A hand-off shows each side the other's secrets, a tool its own name, and a task nothing.",
        "El traspaso interno enseña a cada lado los secretos del otro; la herramienta, su propio nombre; "
        "la tarea, nada.",
        ("S01", "S02", "P136"),
    ),
    Claim(
        "kqml.translators",
        "N clients and M services need N·M private translators or N+M with a common language, which pays "
        "from three of each; no message loses its meaning.",
        "N clientes y M servicios necesitan N·M traductores privados o N+M con una lengua común, que "
        "compensa a partir de tres y tres; ningún mensaje pierde su significado.",
        ("P138",),
    ),
    Claim(
        "a2a.killed-at-work",
        "When the server is killed in the middle of a task, no task waits for ever: after the restart it "
        "ends failed, with a reason.",
        "Si se mata el servidor en mitad de una tarea, ninguna espera para siempre: al arrancar de nuevo "
        "termina en failed, con un motivo.",
        ("S02", "B06"),
    ),
    Claim(
        "a2a.opacity",
        "The agent's instructions, the name of its tool and the text of its failure occur in no recorded "
        "byte of any A2A exchange of this run.",
        "Ni las instrucciones del agente, ni el nombre de su herramienta, ni el texto de su fallo aparecen "
        "en ningún byte registrado de los intercambios A2A de esta ejecución.",
        ("S02", "P136"),
    ),
)
LIMITATIONS = (
    Limitation(
        "a2a.scripted-agent",
        "model",
        "The agents are scripted: where a language model would decide, a table of records does. Nothing here "
        "is a fact about language models.",
        "Los agentes siguen un guion: donde decidiría un modelo de lenguaje, decide una tabla de registros. "
        "Nada de lo que se ve aquí es un hecho sobre los modelos de lenguaje.",
    ),
    Limitation(
        "a2a.one-machine",
        "scope",
        "Both organisations live on one machine and one clock; real networks add delay, loss and partitions "
        "that no schedule announces.",
        "Las dos organizaciones viven en una sola máquina y con un solo reloj; las redes reales añaden "
        "demoras, pérdidas y particiones que nadie programa de antemano.",
    ),
    Limitation(
        "a2a.pinned-keys",
        "scope",
        "Keys and tokens are handed over beforehand. Who issues, rotates and revokes them between "
        "organisations is not shown.",
        "Las claves y los tokens se entregan de antemano. No se muestra quién los emite, los renueva y los "
        "revoca entre organizaciones.",
    ),
    Limitation(
        "a2a.signature-is-origin",
        "method",
        "A signature shows where a card comes from, and a conformance run shows the behaviours it tried, "
        "once. Neither shows that the reports are right.",
        "Una firma muestra de dónde viene una tarjeta; una prueba de conformidad, los comportamientos que "
        "probó, y una sola vez. Ni la una ni la otra muestran que los informes sean correctos.",
    ),
    Limitation(
        "a2a.opacity-is-literal",
        "method",
        "Opacity is tested by searching for planted texts. A secret that leaks in other words, or through "
        "timing or sizes, would not be found.",
        "La opacidad se prueba buscando textos plantados. Un secreto que se filtrara con otras palabras, o "
        "por los tiempos o los tamaños, no se encontraría.",
    ),
    Limitation(
        "ways.one-job",
        "measurement",
        "The three ways are measured on one job with one question, in canonical bytes of JSON bodies without "
        "HTTP headers. Another job may order them otherwise.",
        "Las tres vías se miden con un encargo y una pregunta, en bytes canónicos de los cuerpos JSON, sin "
        "cabeceras HTTP. Otro encargo podría ordenarlas de otro modo.",
    ),
    Limitation(
        "kqml.meaning-is-given",
        "scope",
        "The dialects differ in words only. Agreeing on what the words mean is the dear part, and it is not "
        "counted here.",
        "Los dialectos solo difieren en las palabras. Acordar qué significan es la parte cara, y aquí no "
        "se cuenta.",
    ),
)


@dataclass(frozen=True)
class Cast:
    """Who plays. The tests replace one part by a peer bad enough to break one claim, and it alone."""

    verifier: Callable[[Office], hiring.Verifier] = hiring.Verifier
    front: Callable[[ASGIApp], ASGIApp] = lambda app: app
    connect: Callable[..., Any] = calling.connect
    tokens: Mapping[str, str] = field(default_factory=lambda: TOKENS)
    policy: Callable[[], PushPolicy] = lambda: PushPolicy(allow=[HIRING])
    receiver: Callable[..., PushReceiver] = PushReceiver
    store: Callable[[str], SqliteTaskStore] = SqliteTaskStore
    examine: Callable[..., Any] = behaviours.examine
    audit: Callable[..., AuditLog] = AuditLog
    colleague: Callable[[Office, Network], three_ways.Colleague] = three_ways.Colleague
    tool_app: Callable[[Office], ASGIApp] = three_ways.tool_app
    hub: Callable[[], integrations.Hub] = integrations.Hub


@dataclass
class Stage:
    """What the questions share: the wire, both organisations, and the people who applied."""

    world: World
    net: Network
    cast: Cast
    people: list[Candidate]
    office: Office
    key: Any
    http: httpx.AsyncClient
    agent: Any = None

    @property
    def keys(self) -> dict[str, Any]:
        return {KID: public_key(self.key)}

    def signed(self, url: str = CHECKS, **changes: Any) -> dict[str, Any]:
        return sign_card(hiring.checks_card(url, **changes), self.key, KID)

    def connect(self, url: str, **options: Any) -> Any:
        given: dict[str, Any] = {
            "token": "token-of-hiring",
            "keys": self.keys,
            "needs": NEEDS,
            "new_id": self.world.uuid,
        }
        return self.cast.connect(url, http=self.http, **{**given, **options})

    async def delegate(self, person: Candidate, **options: Any) -> Any:
        given: dict[str, Any] = {"answer": yes, "resend": True, "deadline": GRACE}
        return await self.agent.delegate(person.request, **{**given, **options})

    async def rpc(
        self,
        method: str,
        params: Any,
        *,
        token: str = "token-of-hiring",
        version: str = "1.0",
        to: str = CHECKS,
    ) -> httpx.Response:
        """One JSON-RPC call as bare as it gets: what the SDK would send, without the SDK."""
        headers = {"Authorization": f"Bearer {token}", **({"A2A-Version": version} if version else {})}
        call = {"jsonrpc": "2.0", "id": self.world.id("call"), "method": method, "params": params}
        return await self.http.post(f"{to}/", json=call, headers=headers)

    def message(self, parts: Sequence[Mapping[str, Any]], **fields: Any) -> dict[str, Any]:
        return {
            "message": {"messageId": self.world.uuid(), "role": "ROLE_USER", "parts": list(parts), **fields}
        }


async def run(
    world: World,
    *,
    begun: Elsewhere,
    transport: str = "memory",
    peers: Cast | None = None,
    candidates: int = 3,
) -> AsyncIterator[Record]:
    """Set up both organisations and ask the questions, one finding each.

    ``begun`` is the process in which the tool is called and a server will be killed.
    """
    cast = peers or Cast()
    people, office = everybody(world.seed)
    key = generate_key(world.fork("key").random)
    async with AsyncExitStack() as held:
        net = await held.enter_async_context(Network(transport=transport))  # type: ignore[arg-type]
        stage = Stage(world, net, cast, people, office, key, net.client("hiring"))
        held.push_async_callback((await open_checks(stage)).aclose)
        stage.agent = await held.enter_async_context(stage.connect(CHECKS))
        yield Input("candidates", [dataclasses.asdict(person) for person in people[:candidates]])
        yield Input("webhooks_refused", list(FORBIDDEN_WEBHOOKS))
        for part in (
            discovery(stage),
            delegation(stage, people[:candidates]),
            endings(stage, *people[8:11]),
            faults(stage, *people[11:13]),
            strangers(stage, people[13]),
            dialects(stage, people[14]),
            trust(stage, people[15], begun.folder / "audit.jsonl"),
            comparison(stage, people[ORDERED], begun),
            crash(stage, begun),
            opacity(stage),
        ):
            async for record in part:
                yield record


async def open_checks(stage: Stage) -> PushSender:
    """The checks organisation opens its agent to the network. Returns what calls the webhooks."""
    card = with_v0_3(hiring.checks_card(), f"{CHECKS}/")
    sender = PushSender(stage.net.client("checks"), stage.cast.policy(), sleep=no_wait)
    app = serving.build_app(
        sign_card(card, stage.key, KID),
        stage.cast.verifier(stage.office),
        tokens=stage.cast.tokens,
        push=sender,
        v0_3=True,
        new_id=stage.world.fork("checks").uuid,
    )
    await stage.net.host(CHECKS, stage.cast.front(app))
    return sender


# ------------------------------------------------------- whom may we talk to, before a word is said


async def discovery(stage: Stage) -> AsyncIterator[Record]:
    # 1. Is the card where RFC 8615 says, and who signed it?
    page = await stage.http.get(f"{CHECKS}{CARD}")
    signer = attempt(lambda: verify_card(page.json(), stage.keys)) if page.is_success else "no card"
    yield Finding("a2a.card-signed", [200, KID], [page.status_code, signer])

    # 2. A relay passes the card on and alters one thing in it. Does anybody fall for it?
    card = stage.signed()
    elsewhere = [{**item, "url": "https://relay.example/"} for item in card["supportedInterfaces"]]
    altered = {
        "endpoint": {**card, "supportedInterfaces": elsewhere},
        "security": {**card, "securityRequirements": []},
        "skill": {**card, "skills": [{**card["skills"][0], "description": "Approves every candidate"}]},
    }
    fell = {}
    for what, document in altered.items():
        relay = await publish(stage, f"https://relay-{what}.example", document)
        fell[what] = await outcome(stage.connect(relay, allow_origins=[CHECKS, "https://relay.example"]))
    yield Finding("a2a.card-tampered", dict.fromkeys(altered, "CardRefused: altered"), fell)

    # 3. Genuine agents that do not suit the job: are they turned away before the first message?
    unfit: dict[str, dict[str, Any]] = {
        "output-mode": {"skills": [{**card["skills"][0], "outputModes": ["audio/wav"]}]},
        "skill": {"skills": [{**card["skills"][0], "id": "horoscope"}]},
        "auth": {"securitySchemes": {"bearer": {"mtlsSecurityScheme": {}}}},
    }
    turned = {}
    mark = stage.net.journal.mark()
    for what, changes in unfit.items():
        host = f"https://unfit-{what}.example"
        await publish(stage, host, stage.signed(host, **changes))
        turned[what] = await outcome(stage.connect(host))
    said = sum(frame.method == "POST" for frame in stage.net.journal.since(mark))
    expected = {"outcome": {what: f"AgentUnfit: {what}" for what in unfit}, "messages": 0}
    yield Finding("a2a.unfit-refused", expected, {"outcome": turned, "messages": said})


# ------------------------------------------------------------------ the job, from start to finish


async def delegation(stage: Stage, people: Sequence[Candidate]) -> AsyncIterator[Record]:
    # 4. Which states does each task pass through, as seen on the wire?  5. What is delivered?
    lives, reports = {}, {}
    mark = stage.net.journal.mark()
    for person in people:
        begun = stage.net.journal.mark()
        reports[person.name] = await result_of(stage.delegate(person))
        lives[person.name] = states_in(stage.net.journal.since(begun))
    yield Finding("a2a.lifecycle", {person.name: LIFE for person in people}, lives)
    yield Finding("a2a.typed-artifact", {person.name: person.truth for person in people}, reports)
    first = stage.net.journal.since(mark)[:2]
    yield Result("wire", canonical([*stage.net.journal.frames[:1], *first]))

    # 6. The chat at the end names another result. And an agent that says it in the chat alone?
    person = people[-1]
    chatty = "https://chatty.example"
    app = serving.build_app(stage.signed(chatty), ChatOnly(stage.office), tokens=stage.cast.tokens)
    await stage.net.host(chatty, app)
    async with stage.connect(chatty) as talker:
        heard = await result_of(talker.delegate(person.request, answer=yes, deadline=GRACE))
    read = {"artifact and chat": await result_of(stage.delegate(person)), "chat alone": heard}
    expected = {"artifact and chat": person.truth, "chat alone": "DeliverableInvalid"}
    yield Finding("a2a.chat-is-not-result", expected, read)


class ChatOnly(hiring.Verifier):
    """Tells the whole report in its last message and delivers nothing."""

    async def deliver(self, updater: Any, report: Mapping[str, Any]) -> None:
        """Keep the artifact to itself."""

    def farewell(self, report: Mapping[str, Any]) -> str:
        """The report as prose."""
        return json.dumps(dict(report))


async def endings(
    stage: Stage, lost: Candidate, stopped: Candidate, again: Candidate
) -> AsyncIterator[Record]:
    # 7. Are the three unhappy endings reached, and told apart by the caller?
    stranger = dataclasses.replace(lost, name="Nemo Nobody")
    without = [{"data": {"candidate": lost.name}}]
    ended = {
        "failed": await result_of(stage.delegate(stranger)),
        "canceled": await result_of(stage.delegate(stopped, answer=no_answer)),
        "rejected": await result_of(stage.agent.delegate(without, deadline=GRACE)),
    }
    expected: dict[str, Any] = {word: f"TaskNotCompleted: TASK_STATE_{word.upper()}" for word in ended}
    yield Finding("a2a.unhappy-endings", expected, ended)

    # 8. Does a task that has ended stay ended, and where does a follow-up go?
    done = await stage.delegate(again)
    where = {"taskId": done.task_id, "contextId": done.context_id}
    reply = (await stage.rpc("SendMessage", stage.message([{"text": "And one more thing"}], **where))).json()
    after = await stage.agent.task(done.task_id)
    more = await stage.delegate(again, context_id=done.context_id)
    observed = {
        "error": error_code(reply),
        "state": after["status"]["state"],
        "same context": more.context_id == done.context_id,
        "new task": more.task_id != done.task_id,
    }
    expected = {"error": -32004, "state": LIFE[-1], "same context": True, "new task": True}
    yield Finding("a2a.terminal-is-final", expected, observed)


# ----------------------------------------------------------------------------- when the wire fails


async def faults(stage: Stage, cut: Candidate, twice: Candidate) -> AsyncIterator[Record]:
    # 9. The stream is cut after its first event. Does the caller still end with the whole artifact?
    stage.net.cut_streams(CHECKS, after=1)
    report = await result_of(stage.delegate(cut))
    runs = stage.office.executions.count(cut.name)
    yield Finding("a2a.stream-cut", [cut.truth, 1], [report, runs])

    # 10. The same message arrives twice at once. How many tasks, how many executions?
    message = stage.message(twice.request)
    replies = await asyncio.gather(*(stage.rpc("SendMessage", message) for _ in range(2)))
    tasks = {task_in(reply.json()).get("id") for reply in replies}
    runs = stage.office.executions.count(twice.name)
    yield Finding(
        "a2a.message-once", {"tasks": 1, "executions": 1}, {"tasks": len(tasks), "executions": runs}
    )

    # 11. A webhook is told of the task, one reply is lost, and somebody forges a notice.
    receiver = stage.cast.receiver(token="notice-token", credentials="push-secret")
    await stage.net.host(HIRING, receiver)
    stage.net.drop_replies(HIRING)
    webhook = {
        "url": f"{HIRING}/push",
        "token": "notice-token",
        "authentication": {"scheme": "Bearer", "credentials": "push-secret"},
    }
    done = await stage.delegate(twice, push=webhook)
    told = await receiver.wait(done.task_id, GRACE)
    forged = await stage.http.post(f"{HIRING}/push", json={"task": {"id": done.task_id}})
    observed = {
        "states": distinct(states_of(told)),
        "repeats": receiver.counts["repeated"] > 0,
        "forged": forged.status_code,
    }
    yield Finding("a2a.push-authenticated", {"states": LIFE, "repeats": True, "forged": 401}, observed)

    # 12. Somebody asks the agent to knock at addresses inside its own house.
    asked = task_in((await stage.rpc("SendMessage", stage.message(twice.request))).json())
    answers = {}
    for url in FORBIDDEN_WEBHOOKS:
        config = {"taskId": asked["id"], "id": stage.world.id("hook"), "url": url}
        answers[url] = error_code((await stage.rpc("CreateTaskPushNotificationConfig", config)).json())
    await stage.agent.cancel(asked["id"])
    yield Finding("a2a.push-guarded", dict.fromkeys(FORBIDDEN_WEBHOOKS, -32602), answers)


# ---------------------------------------------------------------------------- who else is out there


async def strangers(stage: Stage, person: Candidate) -> AsyncIterator[Record]:
    # 13. Does a wrong token get further than the door?
    wrong = await stage.rpc("GetTask", {"id": "task-1"}, token="guessed")
    asks_for = wrong.headers.get("www-authenticate", "").split(" ")[0]
    yield Finding("a2a.wrong-token", [401, "Bearer"], [wrong.status_code, asks_for])

    # 14. Mallory has a token of her own. What does she learn of our task?
    task = task_in((await stage.rpc("SendMessage", stage.message(person.request))).json())
    tries = {
        "GetTask": {"id": task["id"]},
        "CancelTask": {"id": task["id"]},
        "SendMessage": stage.message([{"text": "Yes"}], taskId=task["id"]),
    }
    seen: dict[str, Any] = {}
    for method, params in tries.items():
        seen[method] = error_code((await stage.rpc(method, params, token="token-of-mallory")).json())
    listed = (await stage.rpc("ListTasks", {}, token="token-of-mallory")).json()
    seen["ListTasks"] = len(listed.get("result", {}).get("tasks", []))
    yield Finding("a2a.task-owned", {**dict.fromkeys(tries, -32001), "ListTasks": 0}, seen)
    await stage.agent.cancel(task["id"])


async def dialects(stage: Stage, person: Candidate) -> AsyncIterator[Record]:
    # 15. The exchange of the original class text, in 0.3: does it lead to the same artifact?
    old = {"role": "user", "kind": "message"}
    parts = [{"kind": "text", "text": person.request[0]["text"]}, {"kind": "data", **person.request[1]}]
    ask = {"message": {**old, "messageId": stage.world.uuid(), "parts": parts}}
    mark = stage.net.journal.mark()
    asked = (await stage.rpc("message/send", ask, version="")).json().get("result", {})
    yes_part = [{"kind": "data", "data": {"international": True}}]
    reply = {
        "message": {**old, "messageId": stage.world.uuid(), "taskId": asked.get("id"), "parts": yes_part}
    }
    done = (await stage.rpc("message/send", reply, version="")).json().get("result", {})
    yield Result("wire_0_3", canonical(stage.net.journal.since(mark)))
    states = [asked.get("status", {}).get("state"), done.get("status", {}).get("state")]
    artifacts = [part["data"] for item in done.get("artifacts", []) for part in item["parts"]]
    expected: Any = [["input-required", "completed"], [person.truth]]
    yield Finding("a2a.dialect-0-3", expected, [states, artifacts])

    # 16. A caller that names no version, at an agent that speaks 1.0 alone.
    modern = "https://modern.example"
    app = serving.build_app(stage.signed(modern), hiring.Verifier(stage.office), tokens=TOKENS)
    await stage.net.host(modern, stage.cast.front(app))
    told = (await stage.rpc("SendMessage", stage.message(person.request), version="", to=modern)).json()
    names = "version" in told.get("error", {}).get("message", "").lower()
    yield Finding("a2a.version-named", [-32009, True], [error_code(told), names])


# ------------------------------------------------------------------- trust that is earned and noted


async def trust(stage: Stage, person: Candidate, log: Path) -> AsyncIterator[Record]:
    # 17. Who gets into the registry? An honest agent, a hollow one with a good signature, an impostor.
    hollow, impostor = "https://hollow.example", "https://impostor.example"
    app = serving.build_app(stage.signed(hollow), ChatOnly(stage.office), tokens=TOKENS)
    await stage.net.host(hollow, app)
    own_key = generate_key(stage.world.fork("impostor").random)
    await publish(stage, impostor, sign_card(hiring.checks_card(impostor), own_key, KID))

    async def examine(_card: Any, url: str) -> Any:
        subject = behaviours.Subject(
            url,
            stage.http,
            "token-of-hiring",
            "token-of-mallory",
            complete=behaviours.Probe(person.request_with_reach, schema=hiring.REPORT_SCHEMA),
            ask=behaviours.Probe(person.request, await yes("", {}), hiring.REPORT_SCHEMA),
            deadline=GRACE,
            new_id=stage.world.uuid,
        )
        return await stage.cast.examine(subject, ADMISSION)

    world, audit = stage.world, stage.cast.audit(log, clock=stage.world.now)
    registry = Registry(
        stage.http, audit, stage.keys, examine, caller="hiring", ttl=timedelta(hours=1), clock=world.now
    )
    entered = {url: await admission(registry, url) for url in (CHECKS, hollow, impostor)}
    trusted = [entry.url for entry in registry.trusted(SKILL)]
    expected: Any = {
        CHECKS: "admitted",
        hollow: "AgentUnfit: artifact.present, artifact.typed",
        impostor: "CardRefused: altered",
    }

    # 18. Three delegations: one ends well, one fails, one has no consent. What is on record?
    stranger = dataclasses.replace(person, name="Nemo Nobody")
    for whom, consent in ((person, person.consent_id), (stranger, "C-0"), (person, "")):
        asked = registry.delegate(
            stage.agent, whom.request, consent=consent, skill=SKILL, answer=yes, deadline=GRACE
        )
        await result_of(asked)
    noted = [[note["consent"], note["outcome"]] for note in audit.records() if note["action"] == "delegate"]
    whole = audit.verify()

    world.tick(2 * 60 * 60)
    later = [entry.url for entry in registry.trusted(SKILL)]
    yield Finding(
        "a2a.registry",
        {"entered": expected, "trusted": [CHECKS], "two hours later": []},
        {"entered": entered, "trusted": trusted, "two hours later": later},
    )
    retouch(log, b'"outcome":"failed"', b'"outcome":"completed"')
    begun_and_ended = [[person.consent_id, "begun"], [person.consent_id, "completed"], ["C-0", "begun"]]
    yield Finding(
        "a2a.audit",
        {"noted": [*begun_and_ended, ["C-0", "failed"]], "whole": 7, "touched": "DocumentError"},
        {"noted": noted, "whole": whole, "touched": attempt(AuditLog(log).verify)},
    )


def retouch(log: Path, old: bytes, new: bytes) -> None:
    """Change a record behind the log's back."""
    log.write_bytes(log.read_bytes().replace(old, new))


async def admission(registry: Registry, url: str) -> str:
    """``admitted``, or the error's name and reasons."""
    try:
        await registry.admit(url)
        return "admitted"
    except AiEvolutionError as error:
        return refusal(error)


# --------------------------------------------------------------- what independence costs and buys


async def comparison(stage: Stage, person: Candidate, elsewhere: Elsewhere) -> AsyncIterator[Record]:
    # 19-21. The same check from a colleague, from a tool, from an agent: report, price, knowledge.
    async def delegated(person: Candidate) -> Any:
        async with stage.connect(CHECKS) as agent:
            return (await agent.delegate(person.request, answer=yes, deadline=GRACE)).artifact

    async def ordered() -> three_ways.Way:
        if stage.cast.tool_app is three_ways.tool_app:
            return await elsewhere.way()
        app = stage.cast.tool_app(office)
        return await three_ways.by_tool(stage.net, office, app, person, OWN_SECRET)

    office = stage.office
    ways = {
        "handoff": await three_ways.by_handoff(
            stage.net, stage.cast.colleague(office, stage.net), person, OWN_SECRET
        ),
        "tool": await ordered(),
        "task": await three_ways.by_task(stage.net, office, delegated, person, OWN_SECRET),
    }
    yield Result("three_ways", {name: way.row() for name, way in ways.items()})
    reports = {name: way.report for name, way in ways.items()}
    yield Finding("ways.same-report", dict.fromkeys(ways, person.truth), reports)
    order = sorted(ways, key=lambda name: ways[name].bytes)
    yield Finding("ways.cost", [["handoff", "tool", "task"], 0], [order, ways["handoff"].bytes])
    learned = {name: {"caller": way.caller_learns, "callee": way.callee_learns} for name, way in ways.items()}
    expected = {
        "handoff": {"caller": ["prompt", "tool"], "callee": ["salary"]},
        "tool": {"caller": ["tool"], "callee": []},
        "task": {"caller": [], "callee": []},
    }
    yield Finding("ways.knowledge", expected, learned)

    # 22. Private translators or a common language (P138): how many, and from when does it pay?
    chance, hub = stage.world.fork("kqml").random, stage.cast.hub()
    table = [integrations.count(chance, n, m, hub) for n, m in GRID]
    yield Result("integrations", [row.row() for row in table])
    pays = [row.clients for row in table if row.clients == row.services and row.common < row.private]
    rows = [[row.clients, row.services, row.private, row.common, row.understood] for row in table]
    expected = {"rows": [[n, m, n * m, n + m, True] for n, m in GRID], "pays from": 3}
    yield Finding("kqml.translators", expected, {"rows": rows, "pays from": min(pays, default=None)})


# ------------------------------------------------------------------------ killed in mid-sentence


async def crash(stage: Stage, doomed: Elsewhere) -> AsyncIterator[Record]:
    # 23. The server is killed with a task at work and starts again on the same table of tasks.
    held = [{"data": {"candidate": "anybody", "consent_id": "C-1", "hold": True}}]
    send = {**stage.message(held), "configuration": {"returnImmediately": True}}
    async with httpx.AsyncClient(timeout=GRACE, trust_env=False) as http:
        there = dataclasses.replace(stage, http=http)
        url = await doomed.url()
        task = task_in((await there.rpc("SendMessage", send, to=url)).json())
        async with asyncio.timeout(GRACE):
            # the event that we wait for is in another process
            while (before := await state_at(there, url, task["id"])) != "TASK_STATE_WORKING":  # noqa: ASYNC110
                await asyncio.sleep(0.01)
    doomed.kill()
    store = stage.cast.store(str(doomed.store))
    reborn = "https://reborn.example"
    app = serving.build_app(stage.signed(reborn), hiring.Verifier(stage.office), store=store, tokens=TOKENS)
    await stage.net.host(reborn, app)
    reply = (await stage.rpc("GetTask", {"id": task["id"]}, to=reborn)).json()
    await stage.net.leave(reborn)
    store.close()
    status = task_in({"result": {"task": reply.get("result", {})}}).get("status", {})
    observed = {"before": before, "after": status.get("state"), "reason given": "message" in status}
    expected = {"before": "TASK_STATE_WORKING", "after": "TASK_STATE_FAILED", "reason given": True}
    yield Finding("a2a.killed-at-work", expected, observed)


async def opacity(stage: Stage) -> AsyncIterator[Record]:
    # 24. The agent's instructions, the name of its tool, the text of its failure: did any cross by now?
    frames = [frame for frame in stage.net.journal.frames if frame.listener != three_ways.TOOLS]
    crossed = b"\n".join(frame.raw() for frame in frames)
    found = {name: crossed.count(secret.encode()) for name, secret in stage.office.secrets.items()}
    control = crossed.count(stage.people[0].consent_id.encode()) > 0
    expected = {**dict.fromkeys(stage.office.secrets, 0), "the search finds what did cross": True}
    yield Finding("a2a.opacity", expected, {**found, "the search finds what did cross": control})


# ------------------------------------------------------------------------------------ small things


async def yes(_question: str, _task: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The consent reaches abroad."""
    return [{"data": {"international": True}}]


async def no_answer(_question: str, _task: Mapping[str, Any]) -> None:
    """Nobody answers: the caller gives the task up."""


async def no_wait(_seconds: float) -> None:
    """A pause between two tries that takes no time here."""


async def publish(stage: Stage, origin: str, card: Mapping[str, Any]) -> str:
    """Serve ``card``, and an endpoint that takes any message and answers nothing useful."""

    async def show(_request: Request) -> Response:
        return JSONResponse(dict(card))

    async def take(_request: Request) -> Response:
        return JSONResponse({"jsonrpc": "2.0", "id": None, "result": {}})

    return await stage.net.host(
        origin, Starlette(routes=[Route(CARD, show), Route("/", take, methods=["POST"])])
    )


async def outcome(connecting: Any) -> str:
    """``accepted``, or the error's name and its reason, of an attempt to connect."""
    try:
        async with connecting:
            return "accepted"
    except AiEvolutionError as error:
        return refusal(error)


def refusal(error: AiEvolutionError) -> str:
    """The error's name and its reasons."""
    reasons = getattr(error, "reasons", None) or [getattr(error, "reason", "")]
    return f"{type(error).__name__}: {', '.join(reasons)}"


async def result_of(delegation: Awaitable[Any]) -> Any:
    """The artifact of a delegation, or the error's name and the state in which the task ended."""
    try:
        return (await delegation).artifact
    except AiEvolutionError as error:
        state = getattr(error, "state", "")
        return f"{type(error).__name__}: {state}" if state else type(error).__name__


def attempt(doing: Callable[[], Any]) -> Any:
    """What ``doing`` returns, or the name of the error."""
    try:
        return doing()
    except AiEvolutionError as error:
        return type(error).__name__


async def state_at(stage: Stage, url: str, task_id: str) -> str:
    """The state of a task, asked with GetTask."""
    reply = (await stage.rpc("GetTask", {"id": task_id}, to=url)).json()
    return str(reply.get("result", {}).get("status", {}).get("state", ""))


def task_in(reply: Mapping[str, Any]) -> dict[str, Any]:
    """The task in the reply to SendMessage; empty when there is none."""
    return dict(reply.get("result", {}).get("task", {}))


def error_code(reply: Mapping[str, Any]) -> int | None:
    """The JSON-RPC error code of a reply; ``None`` when it is no error."""
    code = reply.get("error", {}).get("code")
    return int(code) if code is not None else None


def states_in(frames: Sequence[Frame]) -> list[str]:
    """The task states that crossed in these exchanges, repetitions of neighbours left out."""
    events = [json.loads(text) for frame in frames if frame.streamed for text in frame.messages()[1:]]
    return distinct(states_of([event.get("result", {}) for event in events]))


def states_of(events: Sequence[Mapping[str, Any]]) -> list[str]:
    """The state that each StreamResponse tells, where it tells one."""
    holders = [event.get("statusUpdate") or event.get("task") or {} for event in events]
    return [str(holder["status"]["state"]) for holder in holders if "status" in holder]


def distinct(states: Sequence[str]) -> list[str]:
    """``states`` without the repetitions of neighbours."""
    return [state for before, state in zip(["", *states], states, strict=False) if state != before]
