"""What the page of class 132 shows from a run: recorded messages of both eras, and what was measured.

Each provider is a function of the report and of the language, and returns Markdown. The verdicts of the
official conformance suite stand in ``docs/conformance``, written by a command of its own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ai_evolution.evidence import Report
from ai_evolution.labs.page import ELLIPSIS, code, pretty, table

MODERN, LEGACY = "2026-07-28", "2025-11-25"
VERDICTS = Path(__file__).parents[2] / "docs" / "conformance"
LABEL = {
    "en": "*{what} · MCP {era} · recorded in the run with seed 0; ids and times in order of appearance*",
    "es": "*{what} · MCP {era} · grabado con semilla 0; ids y tiempos, por orden de aparición*",
}


def discover(report: Report, lang: str) -> str:
    """How the new era begins: one question."""
    what = {"en": "who is there?", "es": "¿quién está ahí?"}[lang]
    return _exchange(report, lang, MODERN, "server/discover", what)


def handshake(report: Report, lang: str) -> str:
    """How the old era begins: a handshake."""
    what = {"en": "the handshake", "es": "el saludo"}[lang]
    return _exchange(report, lang, LEGACY, "initialize", what)


def listing(report: Report, lang: str) -> str:
    """The first tool of the list."""
    (sent, received) = _pair(report, MODERN, "tools/list")
    tool = dict(received["result"]["tools"][0])
    tool["outputSchema"] = {ELLIPSIS: ELLIPSIS}
    tool["_meta"] = {ELLIPSIS: ELLIPSIS}
    result = {"tools": [tool, ELLIPSIS], ELLIPSIS: ELLIPSIS}
    what = {"en": "what is there to call?", "es": "¿qué se puede llamar?"}[lang]
    return _shown(
        lang, MODERN, what, _short(sent), {"id": received["id"], "result": result, ELLIPSIS: ELLIPSIS}
    )


def call(report: Report, lang: str) -> str:
    """One call and its result."""
    what = {"en": "a call", "es": "una llamada"}[lang]
    return _exchange(report, lang, MODERN, "tools/call", what)


def eras(report: Report, lang: str) -> str:
    """Messages and bytes of the same three questions."""
    head = {
        "en": ("era", "how it begins", "messages in all", "canonical bytes in all"),
        "es": ("época", "cómo empieza", "mensajes en total", "bytes canónicos en total"),
    }[lang]
    begins = {MODERN: "`server/discover`", LEGACY: "`initialize`, `notifications/initialized`"}
    found: Any = report.result["eras"]
    rows = (
        (era, begins[era], str(found[era]["messages"]), str(found[era]["bytes"])) for era in (LEGACY, MODERN)
    )
    return table(head, rows)


def wrong(report: Report, lang: str) -> str:
    """Three calls against the published schema."""
    words = {
        "a text for a number": {"en": '`seats` as the text `"5"`', "es": '`seats` como el texto `"5"`'},
        "a word for a boolean": {"en": '`outdoors` as `"yes"`', "es": '`outdoors` como `"yes"`'},
        "an unknown key": {
            "en": "a key that the schema does not have",
            "es": "una clave que el esquema no tiene",
        },
    }
    head = {
        "en": ("the call", "written with the SDK alone", "under a contract"),
        "es": ("la llamada", "escrita solo con el SDK", "con un contrato"),
    }[lang]
    answered = {"en": "answered", "es": "contestada"}[lang]
    found: Any = report.result["wrong_calls"]

    def cell(text: str) -> str:
        return answered if text == "answered" else code(text)

    return table(
        head,
        ((words[each][lang], cell(found[each]["plain"]), cell(found[each]["contracted"])) for each in words),
    )


def fields(report: Report, lang: str) -> str:
    """The article's comparison of the two formats, counted on the recorded tools."""
    found: Any = report.result["fields"]
    observed: Any = report.finding("mcp.fields").observed
    total = found["tools"]

    def of(count: int) -> str:
        return {"en": f"{count} of {total}", "es": f"{count} de {total}"}[lang]

    nowhere = {"en": "no place", "es": "no tiene sitio"}[lang]
    made_up = {"en": "no field; made up in {}", "es": "no hay campo; inventado en {}"}[lang]
    head = {
        "en": ("what a tool says", "MCP field", "recorded tools that say it", "flat ATDF (1.x)"),
        "es": (
            "lo que dice una herramienta",
            "campo de MCP",
            "herramientas grabadas que lo dicen",
            "ATDF plano (1.x)",
        ),
    }[lang]
    rows = [
        (("its name", "su nombre"), "`name`", of(found["name"]), "`tool_id`"),
        (("what it does", "qué hace"), "`description`", of(found["description"]), "`description`"),
        (("a name for people", "un nombre para personas"), "`title`", of(found["title"]), nowhere),
        (("what goes in", "qué entra"), "`inputSchema`", of(found["inputSchema"]), "`how_to_use.inputs`"),
        (("what comes out", "qué sale"), "`outputSchema`", of(found["outputSchema"]), nowhere),
        (
            ("whether it only reads, destroys, repeats safely", "si solo lee, destruye o admite repetición"),
            "`annotations`",
            of(found["annotations"]),
            nowhere,
        ),
        (
            ("when to use it", "cuándo usarla"),
            made_up.format(observed["made up"]["when_to_use"]),
            of(0),
            "`when_to_use`",
        ),
        (("how it fails", "cómo falla"), "–", of(observed["failures"]), "`how_to_use.outputs.failure`"),
    ]
    place = 0 if lang == "en" else 1
    return table(head, ((says[place], *rest) for says, *rest in rows))


def conformance(_report: Report, lang: str) -> str:
    """The verdicts of the official suite on the course's fixture server."""
    head = {
        "en": ("requirements", "suite", "required scenarios", "passed", "our own checks", "passed"),
        "es": (
            "requisitos",
            "batería",
            "escenarios obligatorios",
            "superados",
            "comprobaciones nuestras",
            "superadas",
        ),
    }[lang]
    rows = []
    for era in (MODERN, LEGACY):
        verdict = json.loads((VERDICTS / f"{era}.json").read_text(encoding="utf-8"))
        ours = verdict["behaviours"]
        good = sum(held is True for held in ours.values())
        suite = verdict["versions"]["suite"].rpartition("@")[2]
        rows.append((era, suite, str(verdict["required"]), str(verdict["passed"]), str(len(ours)), str(good)))
    return table(head, rows)


def mutants(_report: Report, lang: str) -> str:
    """Servers with one fault each, and which judge notices."""
    head = {
        "en": ("a server with one fault", "the official suite", "our own checks"),
        "es": ("un servidor con un solo defecto", "la batería oficial", "nuestras comprobaciones"),
    }[lang]
    found = json.loads((VERDICTS / "mutants.json").read_text(encoding="utf-8"))["mutants"]

    def named(ids: list[str]) -> str:
        return ", ".join(f"`{each}`" for each in ids) or "–"

    seen = {judge: sum(bool(each[judge]) for each in found) for judge in ("official", "ours")}
    counted = {
        "en": "Of {all} mutants the required scenarios of the suite notice {official}, our checks {ours}.",
        "es": "De {all} mutantes, los escenarios obligatorios de la batería ven {official}; los nuestros, "
        "{ours}.",
    }[lang].format(all=len(found), **seen)
    rows = ((each[lang], named(each["official"]), named(each["ours"])) for each in found)
    return table(head, rows) + f"\n\n{counted}"


PROVIDERS: Mapping[str, Callable[[Report, str], str]] = {
    "discover": discover,
    "handshake": handshake,
    "listing": listing,
    "call": call,
    "eras": eras,
    "wrong": wrong,
    "fields": fields,
    "conformance": conformance,
    "mutants": mutants,
}


def _pair(report: Report, era: str, method: str) -> tuple[dict[str, Any], dict[str, Any]]:
    frames: Any = report.result[f"wire_{era}"]
    sent, received = (frame["message"] for frame in frames if frame["method"] == method)
    return sent, received


def _exchange(report: Report, lang: str, era: str, method: str, what: str) -> str:
    sent, received = _pair(report, era, method)
    return _shown(lang, era, what, _short(sent), _short(received))


def _short(message: Mapping[str, Any]) -> dict[str, Any]:
    """The message with the members first that a reader looks for."""
    order = ("jsonrpc", "id", "method", "params", "result")
    return {name: message[name] for name in order if name in message}


def _shown(lang: str, era: str, what: str, sent: Any, received: Any) -> str:
    label = LABEL[lang].format(what=what, era=era)
    return f"{label}\n\n```text\n→ {pretty(sent)}\n\n← {pretty(received)}\n```"
