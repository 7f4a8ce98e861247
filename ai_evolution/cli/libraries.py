"""One group of commands for each library: ``a2a card``, ``check``, ``send`` and ``serve``.

They go only to the address that was typed: no redirect is followed, no proxy of the environment is
used, and a token is taken from ``--token`` or from the variable A2A_TOKEN, which other users of
the machine can't read in the list of processes.
"""

from __future__ import annotations

from ai_evolution.cli.parser import Command, Parser, whole
from ai_evolution.cli.show import printable, quiet
from ai_evolution.errors import CallRefused, CardRefused, DocumentError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from typing import Any

    from ai_evolution.a2a.behaviours import Observation
    from ai_evolution.cli.parser import Arguments, Call
    from ai_evolution.cli.show import Screen

CARD_PATH = "/.well-known/agent-card.json"
MAX_CARD = 1024 * 1024
MAX_KEYS = 1024 * 1024

URL = {"en": "the agent's address: http(s)://host[:port][/path]",
       "es": "la dirección del agente: http(s)://host[:puerto][/ruta]"}  # fmt: skip
KEY = {
    "en": "a public key that you trust, or several: JWK, JWK set or PEM; the card must be signed by it",
    "es": "una clave pública en la que confías, o varias: JWK, conjunto JWK o PEM; debe firmar la tarjeta",
}
TOKEN = {"en": "your bearer token (default: the variable A2A_TOKEN)",
         "es": "tu token bearer (por defecto, la variable A2A_TOKEN)"}  # fmt: skip
JSON = {"en": "as JSON", "es": "en JSON"}
SECONDS = {"en": "seconds to wait (default: {n})", "es": "segundos de espera (por defecto, {n})"}
BAD_URL = {
    "en": "{given!r} is not an agent's address; expected http(s)://host[:port][/path]",
    "es": "{given!r} no es la dirección de un agente; se espera http(s)://host[:puerto][/ruta]",
}


def _url(parser: Parser) -> None:
    def read(given: str) -> str:
        from ai_evolution.a2a.cards import origin

        if not origin(given):
            raise UsageError(BAD_URL[parser.lang].format(given=given))
        return given

    parser.argument("url", URL, metavar="URL", type=read)


def _seconds(parser: Parser, default: int) -> None:
    text = {lang: said.format(n=default) for lang, said in SECONDS.items()}
    parser.option(
        "--seconds", text=text, type=whole("--seconds", parser.lang, 1, 3600), default=default, metavar="N"
    )


def _token(given: str | None) -> str | None:
    import os

    return given or os.environ.get("A2A_TOKEN") or None


def _parts(said: str) -> list[dict[str, Any]]:
    """A JSON object or list is a data part, anything else a text part."""
    import json

    if said.lstrip()[:1] in ("{", "["):
        try:
            return [{"data": json.loads(said)}]
        except (ValueError, RecursionError):
            pass
    return [{"text": said}]


# -------------------------------------------------------------------------------- a2a card

SOUND = {
    "en": "nothing that a stranger would stumble over",
    "es": "nada con lo que un extraño vaya a tropezar",
}
SIGNED = {
    "en": "signed by {kid}, a key that you trust",
    "es": "firmada por {kid}, una clave en la que confías",
}
UNCHECKED = {
    "en": "its signature was not looked at (--key FILE names a key that you trust)",
    "es": "no se ha mirado su firma (--key ARCHIVO indica una clave en la que confías)",
}
UNSIGNED = {"en": "it carries no signature", "es": "no lleva firma"}
OVERVIEW = {
    "en": "{name} {version} at {url}: {skills} skill(s), {interfaces}",
    "es": "{name} {version} en {url}: {skills} skill(s), {interfaces}",
}


def card_arguments(parser: Parser) -> None:
    """The arguments of ``a2a card``."""
    _url(parser)
    parser.option("--key", text=KEY, metavar={"en": "FILE", "es": "ARCHIVO"}[parser.lang])
    _seconds(parser, 10)
    parser.option("--json", text=JSON, action="store_true")


def card(arguments: argparse.Namespace, screen: Screen) -> int:
    """Fetch a card, say what is wrong with it, and verify it: 1 when something is, else 0."""
    from ai_evolution.a2a.cards import lint_card, parse_card, verify_card

    address = _card_address(arguments.url)
    found = parse_card(_fetch(address, arguments.seconds))
    problems = lint_card(found)
    kid, refusal = None, None
    if arguments.key:
        try:
            kid = verify_card(found, read_keys(arguments.key, found))
        except CardRefused as error:
            refusal = error
    sound = not problems and refusal is None
    if arguments.json:
        verified = {"kid": kid, "refused": refusal and refusal.reason} if arguments.key else None
        screen.json({"url": address, "card": found, "problems": problems, "signature": verified})
        return 0 if sound else 1
    screen.line(_overview(found, address, screen))
    for problem in problems:
        screen.line(f"{screen.mark(False)}  {printable(problem)}")
    if not problems:
        screen.line(f"{screen.mark(True)}  {screen.text(SOUND)}")
    if refusal is not None:
        screen.line(f"{screen.mark(False)}  {printable(refusal)} ({refusal.reason})")
    elif kid is not None:
        screen.line(f"{screen.mark(True)}  {screen.text(SIGNED, kid=printable(kid))}")
    else:
        screen.line(f"{screen.mark(None)}  {screen.text(UNCHECKED if found.get('signatures') else UNSIGNED)}")
    return 0 if sound else 1


def _card_address(url: str) -> str:
    return url if url.endswith(".json") else url.rstrip("/") + CARD_PATH


def _overview(found: dict[str, Any], address: str, screen: Screen) -> str:
    def objects(name: str) -> list[dict[str, Any]]:
        value = found.get(name)
        return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []

    spoken = [
        f"{i.get('protocolBinding')} {i.get('protocolVersion')}" for i in objects("supportedInterfaces")
    ]
    return printable(
        screen.text(
            OVERVIEW,
            name=found.get("name"),
            version=found.get("version"),
            url=address,
            skills=len(objects("skills")),
            interfaces=", ".join(spoken) or "-",
        )
    )


def _fetch(address: str, seconds: int) -> bytes:
    import asyncio

    import httpx

    async def fetch() -> bytes:
        body = bytearray()
        async with (
            asyncio.timeout(seconds),
            httpx.AsyncClient(trust_env=False, timeout=seconds) as http,
            http.stream("GET", address, headers={"Accept-Encoding": "identity"}) as reply,
        ):
            if reply.status_code != 200:
                raise CallRefused(
                    f"{address}: HTTP {reply.status_code}; a card with 200 is expected", reply.status_code
                )
            async for piece in reply.aiter_raw():
                body += piece
                if len(body) > MAX_CARD:
                    raise CardRefused(f"{address}: larger than {MAX_CARD} bytes", "malformed")
        return bytes(body)

    try:
        return asyncio.run(fetch())
    except TimeoutError:
        raise CallRefused(f"{address}: no whole answer within {seconds} s") from None
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise CallRefused(f"{address}: {error or type(error).__name__}") from None


def read_keys(path: str, card: dict[str, Any]) -> dict[str, Any]:
    """The public keys in a file by ``kid``: a JWK, a JWK set, or a PEM.

    A key without a ``kid`` of its own (a PEM never has one) stands for every kid that the card's
    signatures name: who gives one key file trusts that key, whatever it is called.
    Raises ``DocumentError`` in one line when the file is none of the three.
    """
    import json
    from pathlib import Path

    from joserfc.errors import JoseError
    from joserfc.jwk import ECKey

    try:
        with Path(path).open("rb") as file:
            raw = file.read(MAX_KEYS)
    except OSError as error:
        raise DocumentError(f"{path}: {error.strerror or error}") from None
    keys: dict[str, Any] = {}
    try:
        if raw.lstrip().startswith(b"{"):
            told = json.loads(raw)
            rows = told.get("keys", [told])
            found = [(row.get("kid"), ECKey.import_key(row)) for row in rows]
        else:
            found = [(None, ECKey.import_key(raw))]
        for kid, key in found:
            keys.update(dict.fromkeys([str(kid)] if kid else _kids(card), key))
    except (JoseError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DocumentError(
            f"{path}: no P-256 public key as JWK, JWK set or PEM ({type(error).__name__})"
        ) from None
    return keys


def _kids(card: dict[str, Any]) -> list[str]:
    import base64
    import json

    names = []
    signatures = card.get("signatures")
    for entry in signatures if isinstance(signatures, list) else []:
        try:
            text = base64.urlsafe_b64decode(entry["protected"] + "==")
            names.append(str(json.loads(text)["kid"]))
        except (ValueError, KeyError, TypeError):
            continue
    return names


# ------------------------------------------------------------------------------- a2a check

CHECK = {
    "--other-token": {"en": "another caller's token: is a task kept from strangers?",
                      "es": "token de otro cliente: ¿se oculta una tarea a los extraños?"},
    "--complete": {"en": "an input that the agent completes at once: text, or JSON",
                   "es": "una entrada que el agente completa sin más: texto, o JSON"},
    "--ask": {"en": "an input about which the agent asks back (with --answer)",
              "es": "una entrada sobre la que el agente pregunta (con --answer)"},
    "--answer": {"en": "what to answer to its question", "es": "qué contestar a su pregunta"},
    "--reject": {"en": "an input that the agent rejects", "es": "una entrada que el agente rechaza"},
    "--slow": {"en": "an input on which the agent works for longer than --seconds",
               "es": "una entrada en la que el agente trabaja más de --seconds"},
    "--crash": {"en": "an input on which the agent's own code breaks",
                "es": "una entrada con la que falla el propio código del agente"},
    "--secret": {"en": "a text that must never leave the agent; may be repeated",
                 "es": "un texto que nunca debe salir del agente; se puede repetir"},
    "--only": {"en": "only this behaviour; may be repeated",
               "es": "solo este comportamiento; se puede repetir"},
}  # fmt: skip
LEFT_OUT = {
    "en": "{n} more behaviours need {needs}: see --help",
    "es": "otros {n} comportamientos piden {needs}: mira --help",
}
OF = {"en": "{good} of {n} behaviours hold.", "es": "Se cumplen {good} de {n} comportamientos."}
EXAMINING = {"en": "examining {url}", "es": "examinando {url}"}
EXPECTED = {"en": "expected", "es": "esperado"}
OBSERVED = {"en": "observed", "es": "observado"}
ASK_ANSWER = {
    "en": "--ask and --answer belong together, and one of them is missing",
    "es": "--ask y --answer van juntos, y falta uno de los dos",
}


def check_arguments(parser: Parser) -> None:
    """The arguments of ``a2a check``."""
    _url(parser)
    parser.option("--token", text=TOKEN, metavar="T")
    parser.option("--other-token", text=CHECK["--other-token"], metavar="T")
    for name in ("--complete", "--ask", "--answer", "--reject", "--slow", "--crash"):
        parser.option(name, text=CHECK[name], metavar={"en": "INPUT", "es": "ENTRADA"}[parser.lang])
    parser.option("--secret", text=CHECK["--secret"], action="append", default=[], metavar="TEXT")
    parser.option("--only", text=CHECK["--only"], action="append", metavar="ID")
    _seconds(parser, 5)
    parser.option("--json", text=JSON, action="store_true")


def check(arguments: argparse.Namespace, screen: Screen) -> int:
    """Which behaviours of a live agent hold: 0 all that were looked at, 1 not all."""
    import asyncio

    from ai_evolution.a2a.behaviours import BEHAVIOURS
    from ai_evolution.cli.show import Waiting

    if (arguments.ask is None) != (arguments.answer is None):
        raise UsageError(screen.text(ASK_ANSWER))
    quiet(arguments.debug)
    with Waiting(screen, screen.text(EXAMINING, url=arguments.url)):
        observations = asyncio.run(_examine(arguments))
    good = sum(one.holds for one in observations)
    if arguments.json:
        screen.json([one.as_dict() for one in observations])
    else:
        show_observations(screen, observations)
        seen = {one.id for one in observations}
        rest = [b for b in BEHAVIOURS.values() if b.id not in seen]
        if rest and not arguments.only:
            given = vars(arguments) | {"token": _token(arguments.token)}
            lacking = {name for b in rest for name in b.needs if given.get(name) is None}
            needs = sorted(f"--{name.replace('_', '-')}" for name in lacking)
            screen.line(LEFT_OUT, n=len(rest), needs=", ".join(needs))
        screen.line(OF, good=good, n=len(observations))
    return 0 if good == len(observations) else 1


async def _examine(arguments: argparse.Namespace) -> list[Observation]:
    import httpx

    from ai_evolution.a2a.behaviours import Probe, Subject, examine

    def probe(said: str | None, answer: str | None = None) -> Probe | None:
        return None if said is None else Probe(_parts(said), answer=_parts(answer) if answer else None)

    async with httpx.AsyncClient(trust_env=False) as http:
        subject = Subject(
            url=arguments.url,
            http=http,
            token=_token(arguments.token),
            other_token=arguments.other_token,
            complete=probe(arguments.complete),
            ask=probe(arguments.ask, arguments.answer),
            reject=probe(arguments.reject),
            slow=probe(arguments.slow),
            crash=probe(arguments.crash),
            secrets=tuple(arguments.secret),
            deadline=float(arguments.seconds),
        )
        return await examine(subject, arguments.only)


def show_observations(screen: Screen, observations: Sequence[Observation]) -> None:
    """A line for each behaviour; expected, observed and the wire exchange for what does not hold."""
    from ai_evolution.a2a.behaviours import BEHAVIOURS
    from ai_evolution.cli.show import LONG, brief

    for one in observations:
        says = getattr(BEHAVIOURS[one.id], screen.lang)
        screen.line(f"{screen.mark(one.holds)}  {one.id}: {says}")
        if one.holds:
            continue
        screen.line(f"     {screen.text(EXPECTED)}: {brief(one.expected, LONG)}")
        screen.line(f"     {screen.text(OBSERVED)}: {brief(one.observed, LONG)}")
        for exchange in one.exchange:
            for sign, words in ((">", exchange.request), ("<", exchange.response)):
                for line in words.splitlines():
                    screen.line(f"     {sign} {line}".rstrip())


# -------------------------------------------------------------------------------- a2a send

SEND = {
    "what": {"en": "text, or a JSON object for a data part", "es": "texto, o JSON"},
    "--answer": {"en": "what to answer if the agent asks; may be repeated, in order",
                 "es": "qué contestar si el agente pregunta; se puede repetir, en orden"},
    "--skill": {"en": "the skill whose declared schema the artifact must satisfy",
                "es": "el skill cuyo esquema declarado debe cumplir el artefacto"},
}  # fmt: skip
STATE = {"en": "task {task}: {state}", "es": "tarea {task}: {state}"}
ASKED = {"en": "the agent asks: {question}", "es": "el agente pregunta: {question}"}
NO_ANSWER = {
    "en": "no --answer was given for it: the task is canceled",
    "es": "no se dio un --answer para ella: la tarea se cancela",
}


def send_arguments(parser: Parser) -> None:
    """The arguments of ``a2a send``."""
    _url(parser)
    parser.argument("what", SEND["what"], metavar={"en": "TEXT|JSON", "es": "TEXTO|JSON"}[parser.lang])
    parser.option("--token", text=TOKEN, metavar="T")
    parser.option("--key", text=KEY, metavar={"en": "FILE", "es": "ARCHIVO"}[parser.lang])
    parser.option("--skill", text=SEND["--skill"], metavar="ID")
    parser.option("--answer", text=SEND["--answer"], action="append", default=[], metavar="TEXT|JSON")
    _seconds(parser, 30)


def send(arguments: argparse.Namespace, screen: Screen) -> int:
    """Delegate one job and show what comes back, as JSON: 0 completed, 1 ended another way.

    The states and the agent's questions are told on standard error as they come.
    """
    import asyncio

    from ai_evolution.errors import DeliverableInvalid, TaskNotCompleted

    quiet(arguments.debug)
    keys = None
    if arguments.key:
        from ai_evolution.a2a.cards import parse_card

        keys = read_keys(arguments.key, parse_card(_fetch(_card_address(arguments.url), arguments.seconds)))
    try:
        screen.json(asyncio.run(_delegate(arguments, screen, keys)))
    except (TaskNotCompleted, DeliverableInvalid) as ended:
        screen.note(printable(ended))
        return 1
    return 0


async def _delegate(
    arguments: argparse.Namespace, screen: Screen, keys: dict[str, Any] | None
) -> dict[str, Any]:
    import dataclasses

    import httpx

    from ai_evolution.a2a.client import connect

    answers = iter(arguments.answer)

    async def answer(question: str, _: dict[str, Any]) -> list[dict[str, Any]] | None:
        screen.note(screen.text(ASKED, question=printable(question)))
        said = next(answers, None)
        if said is None:
            screen.note(NO_ANSWER)
        return None if said is None else _parts(said)

    def seen(task_id: str, state: str) -> None:
        screen.note(STATE, task=printable(task_id), state=printable(state))

    token = _token(arguments.token)
    async with (
        httpx.AsyncClient(trust_env=False) as http,
        connect(arguments.url, http=http, token=token, keys=keys) as agent,
    ):
        delivery = await agent.delegate(
            _parts(arguments.what),
            skill=arguments.skill,
            answer=answer,
            seen=seen,
            deadline=float(arguments.seconds),
        )
    return dataclasses.asdict(delivery)


# ---------------------------------------------------------------------------- the table itself


def _card() -> tuple[Arguments, Call]:
    return card_arguments, card


def _check() -> tuple[Arguments, Call]:
    return check_arguments, check


def _send() -> tuple[Arguments, Call]:
    return send_arguments, send


def _serve() -> tuple[Arguments, Call]:
    from ai_evolution.cli import serving

    return serving.arguments, serving.serve


A2A: dict[str, Command] = {
    "card": Command({"en": "fetch an agent's card, say what is wrong with it, and verify it",
                     "es": "descarga la tarjeta de un agente, dice qué falla en ella y la verifica"}, _card),
    "check": Command({"en": "which behaviours of a live agent hold, seen from the outside",
                      "es": "qué comportamientos de un agente en marcha se cumplen"}, _check),
    "send": Command({"en": "delegate one job to an agent and show its artifact",
                     "es": "delega un trabajo en un agente y muestra su artefacto"}, _send),
    "serve": Command({"en": "serve the agent of class 134 on loopback, for poking at with curl",
                      "es": "sirve en local el agente de la clase 134, para hurgar en él con curl"}, _serve),
}  # fmt: skip
