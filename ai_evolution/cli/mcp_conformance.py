"""``mcp conformance``: the official suite and our own behaviours, on one server or client.

Without a subject it looks at the fixture server, started on loopback for the purpose. The suite is installed
the first time, into the user's cache; nothing else is fetched, and nothing but the subject is spoken to.
"""

from __future__ import annotations

from ai_evolution.cli.parser import Parser, choice
from ai_evolution.cli.show import Waiting, printable, quiet
from ai_evolution.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from ai_evolution.cli.show import Screen
    from ai_evolution.mcp.behaviours import Observation
    from ai_evolution.mcp.conformance import ConformanceReport, Scenario

REVISIONS = ("2026-07-28", "2025-11-25")

SAYS = {
    "en": "turn the official conformance suite, and our own checks, on a server or a client",
    "es": "aplica la batería oficial de conformidad, y nuestras comprobaciones, a un servidor o un cliente",
}
HELP = {
    "--server": {"en": "the server's address, http(s)://host[:port]/path (default: our fixture server)",
                 "es": "la dirección del servidor, http(s)://host[:puerto]/ruta (por defecto, el nuestro)"},
    "--client": {"en": "the command that runs a client; it gets a server's URL as its last argument",
                 "es": "la orden que ejecuta un cliente; recibe la URL de un servidor como último argumento"},
    "--requirements": {"en": "the revision whose frozen requirement set is asked for (default: 2026-07-28)",
                       "es": "la revisión cuyo conjunto congelado de requisitos se pide (2026-07-28)"},
    "--only": {"en": "one official scenario; may be repeated (and our own checks are left out)",
               "es": "un escenario oficial; se puede repetir (y se omiten nuestras comprobaciones)"},
    "--json": {"en": "as JSON", "es": "en JSON"},
}  # fmt: skip
BOTH = {
    "en": "--server and --client were given; one subject at a time is looked at",
    "es": "se dieron --server y --client; se examina un solo sujeto cada vez",
}
NO_COMMAND = {
    "en": "--client {given!r} is not a command line; for example --client 'python client.py'",
    "es": "--client {given!r} no es una línea de órdenes; por ejemplo --client 'python client.py'",
}
INSTALLING = {"en": "installing the suite (once)", "es": "instalando la batería (una vez)"}
RUNNING = {"en": "running the official scenarios", "es": "ejecutando los escenarios oficiales"}
OURS = {"en": "looking at our own behaviours", "es": "mirando nuestros comportamientos"}
GROUPS: tuple[tuple[dict[str, str], tuple[str, ...]], ...] = (
    ({"en": "tools", "es": "herramientas"}, ("tools", "json-schema")),
    ({"en": "resources", "es": "recursos"}, ("resources", "sep-2164")),
    ({"en": "prompts and completion", "es": "prompts y completado"}, ("prompts", "completion")),
    ({"en": "asking the user", "es": "preguntar al usuario"}, ("input-required", "elicitation", "sep-2322")),
    ({"en": "authorization", "es": "autorización"}, ("auth",)),
    ({"en": "protocol and transport", "es": "protocolo y transporte"}, ("",)),
)
NOT_COUNTED = {
    "en": "run, and not counted by the requirement set",
    "es": "ejecutados, y que el conjunto no cuenta",
}
NOT_ASKED = {"en": "what the suite does not ask", "es": "lo que la batería no pregunta"}
NO_WORDS = {
    "en": "no check says why: it left no result, it ended with an error, or a check only warned",
    "es": "ninguna comprobación dice por qué: no dejó resultado, acabó con error o solo hubo avisos",
}
SUITE = {"en": "{suite}, Node.js {node}", "es": "{suite}, Node.js {node}"}
REQUIRED = {
    "en": "{good} of {n} required {kind} scenarios of {revision} pass.",
    "es": "Pasan {good} de {n} escenarios obligatorios de {revision} ({kind}).",
}
HOLD = {
    "en": "{good} of {n} of our own behaviours hold.",
    "es": "Se cumplen {good} de {n} comportamientos propios.",
}
FIXTURES = {
    "en": "The suite looks for tools, prompts and resources of certain names (`mcp serve --fixtures` has "
    "them); a server without them fails those scenarios.",
    "es": "La batería busca herramientas, prompts y recursos con ciertos nombres (`mcp serve --fixtures` los "
    "tiene); un servidor sin ellos falla esos escenarios.",
}
KINDS = {
    "server": {"en": "server", "es": "servidor"},
    "client": {"en": "client", "es": "cliente"},
}
EXPECTED, OBSERVED = {"en": "expected", "es": "esperado"}, {"en": "observed", "es": "observado"}


def arguments(parser: Parser) -> None:
    """The arguments of ``mcp conformance``."""
    parser.option("--server", text=HELP["--server"], metavar="URL")
    parser.option("--client", text=HELP["--client"], metavar={"en": "COMMAND", "es": "ORDEN"}[parser.lang])
    parser.option(
        "--requirements",
        text=HELP["--requirements"],
        type=choice("--requirements", REVISIONS, parser.lang),
        default=REVISIONS[0],
        metavar="|".join(REVISIONS),
    )
    parser.option("--only", text=HELP["--only"], action="append", metavar="ID")
    parser.option("--json", text=HELP["--json"], action="store_true")


def conformance(given: argparse.Namespace, screen: Screen) -> int:
    """Run both judges: 0 when all that is required passes and all of ours hold, else 1."""
    import asyncio

    if given.server is not None and given.client is not None:
        raise UsageError(screen.text(BOTH))
    quiet(given.debug)
    from ai_evolution.mcp.conformance import install, listens

    client = _words(given.client, screen) if given.client is not None else None
    if given.server is not None:
        asyncio.run(listens(given.server))
    with Waiting(screen, screen.text(INSTALLING)):
        install()
    with Waiting(screen, screen.text(RUNNING)) as waiting:
        report, ours = asyncio.run(_judge(given, client, screen, waiting))
    ok = report.ok and all(one.holds for one in ours)
    if given.json:
        screen.json({**report.as_dict(), "ok": ok, "behaviours": [one.as_dict() for one in ours]})
    else:
        show(screen, report, ours)
    return 0 if ok else 1


async def _judge(
    given: argparse.Namespace, client: list[str] | None, screen: Screen, waiting: Waiting
) -> tuple[ConformanceReport, list[Observation]]:
    from ai_evolution.mcp.behaviours import Subject, examine
    from ai_evolution.mcp.conformance import run

    if client is not None:
        return await run(
            client, requirements=given.requirements, kind="client", only=given.only, told=waiting.says
        ), []
    if given.server is not None:
        report = await run(given.server, requirements=given.requirements, only=given.only)
        waiting.says(screen.text(OURS))
        subject = Subject(given.server, revision=given.requirements)
        return report, [] if given.only else await examine(subject)
    from ai_evolution.mcp.fixtures import fixture_server, fixture_subject
    from ai_evolution.network import serve, stop_serving

    server, port, serving = await serve(fixture_server().streamable_http_app())
    try:
        url = f"http://127.0.0.1:{port}/mcp"
        report = await run(url, requirements=given.requirements, only=given.only)
        waiting.says(screen.text(OURS))
        subject = fixture_subject(url, revision=given.requirements)
        return report, [] if given.only else await examine(subject)
    finally:
        await stop_serving(server, serving)


def _words(given: str, screen: Screen) -> list[str]:
    import os
    import shlex

    try:
        words = shlex.split(given, posix=os.name != "nt")
    except ValueError:
        words = []
    if not words:
        raise UsageError(screen.text(NO_COMMAND, given=given))
    return words


# ---------------------------------------------------------------------------------- showing


def show(screen: Screen, report: ConformanceReport, ours: Sequence[Observation]) -> None:
    """The scenarios by what they are about, then what does not count, then our own behaviours."""
    screen.line(SUITE, **dict(report.versions))
    rest = list(report.required)
    for title, beginnings in GROUPS:
        here = [scenario for scenario in rest if scenario.id.startswith(beginnings)]
        rest = [scenario for scenario in rest if scenario not in here]
        if here:
            screen.line(f"\n{screen.text(title)}")
            for scenario in here:
                _show_scenario(screen, scenario)
    others = [scenario for scenario in report.scenarios if not scenario.required]
    if others:
        screen.line(f"\n{screen.text(NOT_COUNTED)}")
        for scenario in others:
            screen.line(f"{screen.mark(scenario.status == 'pass')}  {scenario.id} ({scenario.reason})")
    if ours:
        screen.line(f"\n{screen.text(NOT_ASKED)}")
        _show_ours(screen, ours)
    screen.line("")
    good = sum(scenario.status == "pass" for scenario in report.required)
    kind = screen.text(KINDS[report.kind])
    screen.line(REQUIRED, good=good, n=len(report.required), kind=kind, revision=report.requirements)
    if report.kind == "server" and not report.ok:
        screen.line(FIXTURES)
    if ours:
        screen.line(HOLD, good=sum(one.holds for one in ours), n=len(ours))


def _show_scenario(screen: Screen, scenario: Scenario) -> None:
    screen.line(f"{screen.mark(scenario.status == 'pass')}  {scenario.id}")
    if scenario.status != "pass" and not scenario.failed:
        screen.line(f"     {screen.text(NO_WORDS)}")
    for check in scenario.failed:
        screen.line(f"     {check.id}: {printable(check.says)}")
        if check.error:
            screen.line(f"       {printable(check.error)}")


def _show_ours(screen: Screen, ours: Sequence[Observation]) -> None:
    from ai_evolution.cli.show import LONG, brief
    from ai_evolution.mcp.behaviours import BEHAVIOURS

    for one in ours:
        says = getattr(BEHAVIOURS[one.id], screen.lang)
        screen.line(f"{screen.mark(one.holds)}  {one.id}: {says}")
        if not one.holds:
            screen.line(f"     {screen.text(EXPECTED)}: {brief(one.expected, LONG)}")
            screen.line(f"     {screen.text(OBSERVED)}: {brief(one.observed, LONG)}")
