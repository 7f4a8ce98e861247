"""``a2a serve``: the checks agent of class 134 on loopback, for poking at with curl.

It is the very agent of the lab, scripted and harmless: a fixed token, invented people, tasks in
memory. It listens on 127.0.0.1 alone and ends with Ctrl-C.
"""

from __future__ import annotations

from ai_evolution.cli.parser import Parser, whole
from ai_evolution.cli.show import quiet
from ai_evolution.errors import EnvironmentProblem

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from ai_evolution.cli.show import Screen

HELP = {
    "--port": {"en": "the port on 127.0.0.1 (default: any that is free)",
               "es": "el puerto en 127.0.0.1 (por defecto, uno libre)"},
    "--seed": {"en": "other people: a whole number from 0 (default: 0)",
               "es": "otras personas: un número entero desde 0 (por defecto, 0)"},
    "--key-out": {"en": "write the public key that signs the card there, for a2a card --key",
                  "es": "escribe ahí la clave pública que firma la tarjeta, para a2a card --key"},
}  # fmt: skip
TAKEN = {
    "en": "port {port} of 127.0.0.1 cannot be had ({why}); leave out --port for any that is free",
    "es": "no se puede usar el puerto {port} de 127.0.0.1 ({why}); sin --port se toma uno libre",
}
TOLD = {
    "en": """The checks desk of class 134 listens at {url} (A2A 1.0). End it with Ctrl-C.

The card:   curl {url}/.well-known/agent-card.json
            ai-evolution a2a card {url}
A job:      ai-evolution a2a send {url} --token {token} '{request}' --answer '{answer}'
By hand:    curl {url}/ -H 'Authorization: Bearer {token}' -H 'A2A-Version: 1.0' \\
              -H 'Content-Type: application/json' -d '{call}'
From the outside: ai-evolution a2a check {url} --token {token} --other-token {other} \\
              --ask '{request}' --answer '{answer}' --reject '{{"candidate": "{name}"}}'
""",
    "es": """La agencia de verificación de la clase 134 escucha en {url} (A2A 1.0). Termínala con Ctrl-C.

La tarjeta: curl {url}/.well-known/agent-card.json
            ai-evolution a2a card {url}
Un trabajo: ai-evolution a2a send {url} --token {token} '{request}' --answer '{answer}'
A mano:     curl {url}/ -H 'Authorization: Bearer {token}' -H 'A2A-Version: 1.0' \\
              -H 'Content-Type: application/json' -d '{call}'
Desde fuera: ai-evolution a2a check {url} --token {token} --other-token {other} \\
              --ask '{request}' --answer '{answer}' --reject '{{"candidate": "{name}"}}'
""",
}
ENDED = {"en": "the checks desk is closed", "es": "la agencia ha cerrado"}


def arguments(parser: Parser) -> None:
    """The arguments of ``a2a serve``."""
    lang = parser.lang
    parser.option("--port", text=HELP["--port"], type=whole("--port", lang, 0, 65535), default=0, metavar="N")
    parser.option("--seed", text=HELP["--seed"], type=whole("--seed", lang), default=0, metavar="N")
    parser.option("--key-out", text=HELP["--key-out"], metavar={"en": "FILE", "es": "ARCHIVO"}[lang])


def serve(given: argparse.Namespace, screen: Screen) -> int:
    """Serve until interrupted, then end in order with 0."""
    import asyncio

    quiet(given.debug)
    try:
        asyncio.run(_serve(given, screen))
    except KeyboardInterrupt:
        screen.note(ENDED)
    return 0


async def _serve(given: argparse.Namespace, screen: Screen) -> None:
    import json
    import socket
    from pathlib import Path

    from ai_evolution.a2a.app import build_app
    from ai_evolution.a2a.cards import generate_key, public_key, sign_card
    from ai_evolution.files import write_whole
    from ai_evolution.labs import hiring
    from ai_evolution.network import serve as listen
    from ai_evolution.network import stop_serving
    from ai_evolution.world import World

    world = World("multiagent", given.seed)
    people = hiring.candidates(world.fork("people"), 3)
    office = hiring.Office.of(world.fork("office"), people)
    key = generate_key()
    if given.key_out:
        jwk = {**public_key(key).as_dict(private=False), "kid": hiring.KID}
        write_whole(Path(given.key_out), (json.dumps(jwk, indent=2) + "\n").encode("utf-8"))
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        bound.bind(("127.0.0.1", given.port))
    except OSError as error:
        bound.close()
        raise EnvironmentProblem(screen.text(TAKEN, port=given.port, why=error.strerror or error)) from None
    url = f"http://127.0.0.1:{bound.getsockname()[1]}"
    card = sign_card(hiring.checks_card(url), key, hiring.KID)
    app = build_app(card, hiring.Verifier(office), tokens=hiring.TOKENS)
    server, _, serving = await listen(app, bound=bound)
    try:
        screen.line(_told(url, people[0], screen))
        screen.out.flush()
        await serving
    finally:
        await stop_serving(server, serving)


def _told(url: str, person: object, screen: Screen) -> str:
    import json

    from ai_evolution.labs import hiring

    assert isinstance(person, hiring.Candidate)
    token, other = hiring.TOKENS
    data = {"candidate": person.name, "consent_id": person.consent_id}
    message = {"messageId": "m-1", "role": "ROLE_USER", "parts": [{"data": data}]}
    call = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}}
    return screen.text(
        TOLD,
        url=url,
        token=token,
        other=other,
        name=person.name,
        request=json.dumps(data, ensure_ascii=False),
        answer=json.dumps({"international": True}),
        call=json.dumps(call, ensure_ascii=False),
    )
