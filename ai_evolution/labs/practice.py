"""What the notebooks of class 134 share: reading the recorded wire, and checks of the student's own work.

``arrows`` turns the frames of a report into the arrows of a sequence diagram. Each ``check_...``
takes whatever stands in a student's cell and returns a ``SelfCheck``, which says in words what is
still missing. ``ask_the_desk`` lets a student's ``answer`` function talk to the real checks agent.

What this module refuses: to raise because of what a student wrote (``None``, another type, a
function that breaks or hangs in an ``await``), and to give the answer away: it says what is wrong
with the one that was given.
"""

from __future__ import annotations

import asyncio
import dataclasses
import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType
from typing import Any

from ai_evolution.a2a import states
from ai_evolution.a2a.cards import Needs, lint_card, misfits, parse_card
from ai_evolution.errors import AiEvolutionError, TaskNotCompleted
from ai_evolution.labs import hiring
from ai_evolution.labs.hiring import CHECKS, QUESTION, SKILL
from ai_evolution.labs.selfcheck import SelfCheck as SelfCheck
from ai_evolution.labs.selfcheck import Words, short
from ai_evolution.labs.selfcheck import check_prediction as check_prediction
from ai_evolution.labs.selfcheck import summary as summary
from ai_evolution.labs.selfcheck import words as words
from ai_evolution.world import World

SECONDS = 5.0
"""How long a student's function, and a delegation with it, may take."""
SHORT = "TASK_STATE_"


# ------------------------------------------------------------------- reading the recorded wire


@dataclass(frozen=True)
class Arrow:
    """One message of a recorded exchange: who says it, to whom, and what it is in a few words."""

    source: str
    target: str
    says: str
    exchange: int


def arrows(frames: Sequence[Mapping[str, Any]]) -> list[Arrow]:
    """The arrows of canonical frames (``report.result["wire"]``), in the order in which they crossed."""
    found: list[Arrow] = []
    for number, frame in enumerate(frames):
        caller, agent = frame["from"], frame["to"].removeprefix("https://").removesuffix(".example")
        found.append(Arrow(caller, agent, _asked(frame), number))
        found.extend(Arrow(agent, caller, _told(answer, frame), number) for answer in frame["received"])
    return found


def _asked(frame: Mapping[str, Any]) -> str:
    sent = frame["sent"]
    if not isinstance(sent, Mapping) or "method" not in sent:
        return str(frame["request"])
    parts = sent.get("params", {}).get("message", {}).get("parts", [])
    kinds = " + ".join(kind for part in parts for kind in ("text", "data", "url", "raw") if kind in part)
    return f"{sent['method']} ({kinds})" if kinds else str(sent["method"])


def _told(answer: Any, frame: Mapping[str, Any]) -> str:
    result = answer.get("result", {}) if isinstance(answer, Mapping) else {}
    if "artifactUpdate" in result:
        return f"artifact: {result['artifactUpdate']['artifact'].get('name', '')}"
    told = result.get("statusUpdate") or result.get("task") or {}
    if "status" in told:
        return str(told["status"]["state"]).removeprefix(SHORT)
    return str(frame["status"])


# ------------------------------------------------------------------------- the life of a task

PIECES = ("COMPLETED", "WORKING", "INPUT_REQUIRED", "WORKING", "SUBMITTED")
"""The states of a task that asks once, out of order and without their prefix."""
MOVES: tuple[tuple[str, str], ...] = (
    ("SUBMITTED", "REJECTED"),
    ("WORKING", "SUBMITTED"),
    ("INPUT_REQUIRED", "COMPLETED"),
    ("COMPLETED", "WORKING"),
    ("FAILED", "CANCELED"),
    ("WORKING", "WORKING"),
)
"""Pairs of states; some are legal moves and some are not."""

ORDER = words("the order of the states", "el orden de los estados")
LEGAL = words("which moves are legal", "qué pasos son legales")


def check_order(order: Any) -> SelfCheck:
    """Whether the five pieces stand in an order that the table of transitions allows."""
    given = [str(item).removeprefix(SHORT) for item in order] if _is_list(order) else []
    if not given:
        return SelfCheck(ORDER, (words("no order yet", "aún no hay un orden"),))
    if sorted(given) != sorted(PIECES):
        wanted = ", ".join(PIECES)
        missing = words(f"use each piece once: {wanted}", f"usa cada pieza una vez: {wanted}")
        return SelfCheck(ORDER, (missing,))
    for old, new in pairwise(given):
        if SHORT + new not in states.TRANSITIONS[SHORT + old]:
            missing = words(
                f"{new} cannot follow {old}: TRANSITIONS does not have it",
                f"{new} no puede seguir a {old}: TRANSITIONS no lo recoge",
            )
            return SelfCheck(ORDER, (missing,))
    return SelfCheck(ORDER)


def check_moves(legal: Any) -> SelfCheck:
    """Whether each move of ``MOVES`` is told rightly; ``legal`` maps it to True or False."""
    told = legal if isinstance(legal, Mapping) else {}
    missing: list[Words] = []
    for old, new in MOVES:
        answer, move = told.get((old, new)), f"{old} -> {new}"
        if not isinstance(answer, bool):
            missing.append(words(f"{move}: True or False?", f"{move}: ¿True o False?"))
        elif answer != (SHORT + new in states.TRANSITIONS[SHORT + old]):
            en, es = f"{move}: look it up in TRANSITIONS", f"{move}: búscalo en TRANSITIONS"
            missing.append(words(en, es))
    return SelfCheck(LEGAL, tuple(missing))


# ------------------------------------------------------------------------------ writing a card

HOME = "https://translations.example"
"""Where the agent of the card exercise lives."""
JOB = Needs(
    skill="translate-contract",
    input_modes=("text/plain",),
    output_modes=("application/json",),
    bindings=("JSONRPC",),
    streaming=True,
)
"""What its callers need."""
CARD = words("the Agent Card", "la Agent Card")
MISFIT: Mapping[str, Words] = MappingProxyType(
    {
        "skill": words("there is no skill with that id", "no hay ninguna skill con ese id"),
        "input-mode": words("it does not take the format sent", "no acepta el formato que se envía"),
        "output-mode": words("it does not give the format needed", "no da el formato que hace falta"),
        "binding": words("no interface has a binding we speak", "ninguna interfaz usa un binding conocido"),
        "protocol": words("no interface speaks our version", "ninguna interfaz habla nuestra versión"),
        "origin": words("an interface lives at another origin", "una interfaz está en otro origen"),
        "auth": words("it asks for credentials we lack", "pide credenciales que no tenemos"),
        "streaming": words("it does not stream", "no ofrece streaming"),
        "push": words("it sends no push notifications", "no envía avisos push"),
        "extension": words("it requires an unknown extension", "exige una extensión desconocida"),
    }
)
"""The words of ``cards.misfits``, in sentences."""
_UNSIGNED = "a signature by a2a-sdk does not cover it"


def check_card(card: Any) -> SelfCheck:
    """Whether a card is clean, can be read by the SDK, asks for a token and suits ``JOB`` at ``HOME``."""
    if not isinstance(card, dict) or not card:
        return SelfCheck(CARD, (words("no card yet", "aún no hay tarjeta"),))
    try:
        read = parse_card(json.dumps(card))
    except (AiEvolutionError, TypeError, ValueError, RecursionError) as error:
        reason = short(error)
        missing = words(f"it is no JSON card: {reason}", f"no es una tarjeta en JSON: {reason}")
        return SelfCheck(CARD, (missing,))
    faults = [words(f"lint_card: {line}", f"lint_card: {line}") for line in _lint(read)]
    if problem := _unreadable(read):
        faults.append(words(f"a2a-sdk cannot read it: {problem}", f"a2a-sdk no puede leerla: {problem}"))
    if not read.get("securityRequirements"):
        en, es = "anybody may call: it demands no token", "puede llamar cualquiera: no exige ningún token"
        faults.append(words(en, es))
    for word in misfits(read, JOB, HOME):
        faults.append(
            words(f"misfits: {word}, {MISFIT[word]['en']}", f"misfits: {word}, {MISFIT[word]['es']}")
        )
    return SelfCheck(CARD, tuple(faults))


def _lint(card: Mapping[str, Any]) -> list[str]:
    # A bearer requirement names no scope, so a2a-sdk never signs it: that is not the student's fault.
    lines = lint_card(card)
    named = {line.split(":")[0] for line in lines if not line.endswith(_UNSIGNED)}
    named |= {"", "/securityRequirements"}
    return [line for line in lines if not line.endswith(_UNSIGNED) or line.split(":")[0] not in named]


def _unreadable(card: dict[str, Any]) -> str:
    from ai_evolution.a2a.discovery import parse_card as typed

    try:
        typed(card)
    except (AiEvolutionError, AttributeError, RecursionError) as error:
        return short(error)
    return ""


# --------------------------------------------------------------------------- choosing an agent

WANTED = Needs(skill=SKILL, input_modes=("application/json",), output_modes=("application/json",), push=True)
"""What the hiring side needs in the choice of an agent: bearer is all it can present."""
CHOICE = words("the choice of an agent", "la elección de un agente")
FITS = "fits"


def five_cards() -> dict[str, dict[str, Any]]:
    """Five cards by the name of their agent. One suits ``WANTED``; each of the others lacks one thing."""

    def card(name: str, **changes: Any) -> dict[str, Any]:
        return {**hiring.checks_card(f"https://{name}.example"), "name": name, **changes}

    def interface(name: str, binding: str, version: str) -> dict[str, str]:
        return {"url": f"https://{name}.example/", "protocolBinding": binding, "protocolVersion": version}

    skill = hiring.checks_card()["skills"][0]
    both = {**hiring.checks_card()["securitySchemes"], "mtls": {"mtlsSecurityScheme": {}}}
    bearer: dict[str, Any] = {"bearer": {"list": []}}
    mtls: dict[str, Any] = {"mtls": {"list": []}}
    found = [
        card("alder", skills=[{**skill, "outputModes": ["application/pdf"]}]),
        card("birch", supportedInterfaces=[interface("birch", "JSONRPC", "0.3")]),
        card("cedar", securitySchemes=both, securityRequirements=[{"schemes": {**bearer, **mtls}}]),
        card("elm", capabilities={"streaming": True, "pushNotifications": False}),
        card(
            "fir",
            supportedInterfaces=[interface("fir", "GRPC", "1.0"), interface("fir", "HTTP+JSON", "1.1")],
            skills=[{**skill, "outputModes": ["application/*"]}],
            securitySchemes=both,
            securityRequirements=[{"schemes": mtls}, {"schemes": bearer}],
        ),
    ]
    return {one["name"]: one for one in found}


def facts(card: Mapping[str, Any]) -> dict[str, str]:
    """What a caller would look at first in one of the five cards, as one row of a table."""
    skill = card["skills"][0]
    required = [" + ".join(item["schemes"]) for item in card["securityRequirements"]]
    return {
        "interfaces": ", ".join(
            f"{item['protocolBinding']} {item['protocolVersion']}" for item in card["supportedInterfaces"]
        ),
        "default out": ", ".join(card["defaultOutputModes"]),
        "skill out": ", ".join(skill.get("outputModes", [])),
        "security": " | ".join(required),
        "push": str(card["capabilities"]["pushNotifications"]),
    }


def check_choice(verdict: Any) -> SelfCheck:
    """Whether ``verdict`` says of each of the five cards ``fits``, or the word for what it lacks."""
    told = verdict if isinstance(verdict, Mapping) else {}
    missing: list[Words] = []
    for name, card in five_cards().items():
        given, truth = told.get(name), misfits(card, WANTED, f"https://{name}.example")
        if given is None:
            missing.append(words(f"{name}: no verdict yet", f"{name}: aún sin veredicto"))
        elif given != FITS and given not in MISFIT:
            accepted = f"{FITS}, {', '.join(MISFIT)}"
            given = short(given)
            missing.append(
                words(f"{name}: {given}? one of {accepted}", f"{name}: ¿{given}? una de {accepted}")
            )
        elif given == FITS and truth:
            en, es = f"{name}: it lacks something that is needed", f"{name}: le falta algo necesario"
            missing.append(words(en, es))
        elif given != FITS and given not in truth:
            en = f"{name}: not for that reason; misfits does not say {given}"
            es = f"{name}: no es por eso; misfits no dice {given}"
            missing.append(words(en, es))
    return SelfCheck(CHOICE, tuple(missing))


# -------------------------------------------------------------------------- message or artifact

SITUATIONS: Mapping[str, Words] = MappingProxyType(
    {
        "question": words(
            "The agent needs to know whether the consent reaches abroad.",
            "El agente necesita saber si el consentimiento llega al extranjero.",
        ),
        "first-half": words(
            "Three of six sources are done; the caller may use those three already.",
            "Van tres fuentes de seis; quien encarga ya puede usar esas tres.",
        ),
        "refusal": words(
            "The agent explains why it will not do the job.",
            "El agente explica por qué no va a hacer el encargo.",
        ),
        "certificate": words(
            "A signed PDF that the hiring side will keep for five years.",
            "Un PDF firmado que quien contrata guardará cinco años.",
        ),
    }
)
"""Four things that an agent may have to say."""
PLACES = words("message or artifact", "mensaje o artefacto")
_PLACE = {"question": "message", "first-half": "artifact", "refusal": "message", "certificate": "artifact"}


def check_places(places: Any) -> SelfCheck:
    """Whether each of the ``SITUATIONS`` is told ``message`` or ``artifact`` rightly."""
    told = places if isinstance(places, Mapping) else {}
    missing: list[Words] = []
    for name, place in _PLACE.items():
        given = told.get(name)
        if given not in ("message", "artifact"):
            missing.append(words(f"{name}: 'message' or 'artifact'?", f"{name}: ¿'message' o 'artifact'?"))
        elif given != place:
            en = f"{name}: would the caller still want it when the conversation is forgotten?"
            es = f"{name}: ¿seguiría haciéndole falta a quien encarga, olvidada la conversación?"
            missing.append(words(en, es))
    return SelfCheck(PLACES, tuple(missing))


# ---------------------------------------------------------------------- answering for somebody

CONSENTS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "C-1": {"status": "given", "reach": "world"},
        "C-2": {"status": "given", "reach": "home"},
        "C-3": {"status": "withdrawn", "reach": "world"},
    }
)
"""What each candidate agreed to. ``C-4`` is nobody's."""
ANSWER = words("the answer function", "la función answer")
OTHER_QUESTION = "What is the highest salary that you would pay?"

Answer = Callable[[str, Mapping[str, str] | None], Any]
"""A student's function: the question and the consent on our own books (None when there is none)."""


async def check_answer(answer: Any) -> SelfCheck:
    """Whether ``answer`` lets a check go as far as the consent does, and no further.

    It must say yes for ``C-1``; for ``C-2`` it may say no or give no answer; for ``C-3``, ``C-4``
    and for another question it must give none.
    """
    missing: list[Words] = []
    for consent_id, question, accepted in (
        ("C-1", QUESTION, (True,)),
        ("C-2", QUESTION, (False, None)),
        ("C-3", QUESTION, (None,)),
        ("C-4", QUESTION, (None,)),
        ("C-1", OTHER_QUESTION, (None,)),
    ):
        said, problem = await _answered(answer, question, CONSENTS.get(consent_id))
        where = consent_id if question == QUESTION else f"{consent_id}, {OTHER_QUESTION!r}"
        if problem is not None:
            missing.append(words(f"{where}: {problem['en']}", f"{where}: {problem['es']}"))
        elif not any(said is value for value in accepted):
            en = f"{where}: {said} is not what the consent bears out"
            es = f"{where}: {said} no es lo que el consentimiento respalda"
            missing.append(words(en, es))
    return SelfCheck(ANSWER, tuple(missing))


async def _answered(
    answer: Any, question: str, consent: Mapping[str, str] | None
) -> tuple[bool | None, Words | None]:
    """What an answer says about going abroad (None for no answer), and what went wrong, if anything."""
    try:
        async with asyncio.timeout(SECONDS):
            parts = answer(question, None if consent is None else dict(consent))
            parts = await parts if inspect.isawaitable(parts) else parts
    except Exception as error:  # a student's function may raise anything
        reason = f"{type(error).__name__}: {short(error)}".removesuffix(": ")
        return None, words(f"it raises {reason}", f"lanza {reason}")
    if parts is None:
        return None, None
    data = parts[0].get("data") if _is_list(parts) and isinstance(parts[0], Mapping) else None
    if isinstance(data, Mapping) and isinstance(data.get("international"), bool):
        return data["international"], None
    given, wanted = short(parts), "[{'data': {'international': True}}]"
    en = f"it gives {given}; {wanted}, the same with False, or None would do"
    return None, words(en, f"da {given}; valdría {wanted}, lo mismo con False, o None")


async def ask_the_desk(answer: Answer) -> dict[str, Any]:
    """What really comes of delegations about one person under each consent: artifact, or last state.

    The checks agent is served in memory and ``answer`` answers its question. An ``answer`` that
    breaks counts as no answer.
    """
    from ai_evolution.a2a.app import build_app
    from ai_evolution.a2a.client import connect
    from ai_evolution.network import Network

    world, outcome = World("practice"), {}
    [person] = hiring.candidates(world.fork("people"), 1)
    desk = hiring.Verifier(hiring.Office.of(world.fork("office"), [person]))
    app = build_app(hiring.checks_card(), desk, tokens=hiring.TOKENS, new_id=world.fork("checks").uuid)
    async with Network() as net:
        await net.host(CHECKS, app)
        http, new_id = net.client("hiring"), world.fork("hiring").uuid
        async with connect(CHECKS, http=http, token="token-of-hiring", new_id=new_id) as agent:
            for consent_id in (*CONSENTS, "C-4"):
                asked = dataclasses.replace(person, consent_id=consent_id).request
                outcome[consent_id] = await _delegated(agent, asked, answer, CONSENTS.get(consent_id))
    return outcome


async def _delegated(agent: Any, asked: Any, answer: Answer, consent: Mapping[str, str] | None) -> Any:
    async def reply(question: str, _task: dict[str, Any]) -> list[dict[str, Any]] | None:
        said, _ = await _answered(answer, question, consent)
        return None if said is None else [{"data": {"international": said}}]

    try:
        return (await agent.delegate(asked, skill=SKILL, answer=reply, deadline=2 * SECONDS)).artifact
    except TaskNotCompleted as ended:
        return ended.state.removeprefix(SHORT)


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and len(value) > 0
