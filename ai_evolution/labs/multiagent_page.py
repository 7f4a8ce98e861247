"""What the page of class 134 shows from a run: recorded wire samples, dialects, measured tables.

Each provider is a function of the report and of the language, and returns Markdown. Samples are
shortened where a reader would not look, and every place where something was left out says ``...``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ai_evolution.evidence import Report
from ai_evolution.labs.page import ELLIPSIS, code, compact, pretty, table

LABEL = {
    "en": "*{what} · {dialect} · recorded in the run with seed 0; ids and times in order of appearance*",
    "es": "*{what} · {dialect} · grabado con semilla 0; ids y tiempos, por orden de aparición*",
}
CARD_SHOWN = (
    "name",
    "version",
    "supportedInterfaces",
    "capabilities",
    "securitySchemes",
    "skills",
    "signatures",
)


def card(report: Report, lang: str) -> str:
    """The card as it was found, shortened."""
    frame = _wire(report)[0]
    found = frame["received"][0]
    shown: dict[str, Any] = {key: found[key] for key in CARD_SHOWN}
    shown["supportedInterfaces"] = [*found["supportedInterfaces"][:1], ELLIPSIS]
    shown["capabilities"] = {**found["capabilities"], "extensions": [_extension(found)]}
    shown["securitySchemes"] = {"bearer": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}}
    shown["signatures"] = [{key: f"{text[:24]}{ELLIPSIS}" for key, text in found["signatures"][0].items()}]
    what = {"en": "the Agent Card", "es": "la Agent Card"}[lang]
    return _sample(lang, what, "A2A 1.0", f"GET {CARD_PATH} → {frame['status']}", shown)


CARD_PATH = "/.well-known/agent-card.json"


def _extension(found: Mapping[str, Any]) -> dict[str, Any]:
    extension = found["capabilities"]["extensions"][0]
    return {"uri": extension["uri"], "params": {"background-check": {ELLIPSIS: ELLIPSIS}}}


def delegate(report: Report, lang: str) -> str:
    """The first message and the events that answered it."""
    what = {"en": "the delegation and what came back", "es": "el encargo y lo que vuelve"}[lang]
    return _exchange(report, lang, 1, what)


def proceed(report: Report, lang: str) -> str:
    """The answer to the question, and the rest of the task."""
    what = {"en": "the answer, and the task to its end", "es": "la respuesta y la tarea hasta su fin"}[lang]
    return _exchange(report, lang, 2, what)


def _exchange(report: Report, lang: str, number: int, what: str) -> str:
    frame = _wire(report)[number]
    headers = {key: frame["headers"][key] for key in ("a2a-version", "authorization", "accept")}
    head = [f"POST / → {frame['status']} {frame['answer_headers']['content-type'].split(';')[0]}"]
    head += [f"{key}: {value}" for key, value in headers.items()]
    sent = {key: frame["sent"][key] for key in ("jsonrpc", "id", "method", "params")}
    sent["params"] = {"message": frame["sent"]["params"]["message"], ELLIPSIS: ELLIPSIS}
    events = "\n".join(f"data: {compact(_short_event(event['result']))}" for event in frame["received"])
    return _sample(lang, what, "A2A 1.0", "\n".join(head), sent) + f"\n\n```text\n{events}\n```"


def _short_event(result: Mapping[str, Any]) -> dict[str, Any]:
    (kind, body), *_rest = result.items()
    kept = {key: value for key, value in body.items() if key != "history"}
    if "history" in body:
        kept["history"] = [ELLIPSIS]
    status = dict(kept.get("status", {}))
    if "message" in status:
        status["message"] = {"parts": status["message"]["parts"], ELLIPSIS: ELLIPSIS}
    return {kind: {**kept, **({"status": status} if status else {})}}


def old_dialect(report: Report, lang: str) -> str:
    """The two exchanges of the original class text, as they went over the wire in 0.3."""
    first, second = _frames(report, "wire_0_3")
    result = second["received"][0]["result"]
    shown = {
        "kind": result["kind"],
        "id": result["id"],
        "status": {"state": result["status"]["state"], ELLIPSIS: ELLIPSIS},
        "artifacts": result["artifacts"],
        ELLIPSIS: ELLIPSIS,
    }
    sent = {key: first["sent"][key] for key in ("jsonrpc", "id", "method", "params")}
    what = {"en": "the first message", "es": "el primer mensaje"}[lang]
    then = {"en": "the answer to the second", "es": "la respuesta al segundo"}[lang]
    head = f"POST / → {second['status']}"
    return "\n\n".join(
        [_sample(lang, what, "A2A 0.3", "POST /", sent), _sample(lang, then, "A2A 0.3", head, shown)]
    )


def dialects(report: Report, lang: str) -> str:
    """0.3 beside 1.0, each cell taken from a recorded frame."""
    found, ask, done = _wire(report)
    old_ask, old_done = _frames(report, "wire_0_3")
    page = found["received"][0]
    task, status = ask["received"][0]["result"]["task"], ask["received"][2]["result"]["statusUpdate"]
    artifact = done["received"][1]["result"]["artifactUpdate"]["artifact"]
    old_task = old_ask["received"][0]["result"]
    message, old_message = ask["sent"]["params"]["message"], old_ask["sent"]["params"]["message"]
    old_interface = {"url": page["url"], "protocolVersion": page["protocolVersion"]}
    new_scheme = page["securitySchemes"]["bearer"]["httpAuthSecurityScheme"]
    old_scheme = {key: page["securitySchemes"]["bearer"][key] for key in ("type", "scheme")}
    rows: list[tuple[str, str, Any, Any]] = [
        ("method", "método", old_ask["sent"]["method"], ask["sent"]["method"]),
        (
            "version header",
            "cabecera de versión",
            old_ask["headers"].get("a2a-version"),
            ask["headers"]["a2a-version"],
        ),
        ("text part", "parte de texto", old_message["parts"][0], message["parts"][0]),
        ("data part", "parte de datos", _keys(old_message["parts"][1]), _keys(message["parts"][1])),
        ("role", "papel", old_message["role"], message["role"]),
        ("state", "estado", old_task["status"]["state"], status["status"]["state"]),
        ("result of a message", "resultado de un mensaje", _keys(old_task), {"task": _keys(task)}),
        (
            "artifact part",
            "parte de un artefacto",
            _keys(old_done["received"][0]["result"]["artifacts"][0]["parts"][0]),
            _keys(artifact["parts"][0]),
        ),
        (
            "endpoint in the card",
            "punto de acceso en la tarjeta",
            old_interface,
            page["supportedInterfaces"][0],
        ),
        ("security scheme", "esquema de seguridad", old_scheme, {"httpAuthSecurityScheme": new_scheme}),
    ]
    head = {"en": ("what", "in 0.3", "in 1.0"), "es": ("qué", "en 0.3", "en 1.0")}[lang]
    named = [(en if lang == "en" else es, code(old), code(new)) for en, es, old, new in rows]
    return table(head, named)


def ways(report: Report, lang: str) -> str:
    """The same job three ways, as measured."""
    names = {
        "en": {"handoff": "internal hand-off", "tool": "MCP tool", "task": "A2A task"},
        "es": {"handoff": "traspaso interno", "tool": "herramienta MCP", "task": "tarea A2A"},
    }[lang]
    words = {
        "en": {
            "prompt": "the other's prompt",
            "tool": "the name of its tool",
            "salary": "the salary ceiling",
        },
        "es": {
            "prompt": "el prompt del otro",
            "tool": "el nombre de su herramienta",
            "salary": "el tope salarial",
        },
    }[lang]
    head = {
        "en": (
            "the same job as",
            "round trips",
            "messages",
            "bytes",
            "the caller learns",
            "the checks desk learns",
        ),
        "es": (
            "el mismo encargo como",
            "idas y vueltas",
            "mensajes",
            "bytes",
            "qué llega a saber quien encarga",
            "qué llega a saber quien verifica",
        ),
    }[lang]
    nothing = {"en": "nothing planted", "es": "nada de lo plantado"}[lang]
    measured: Any = report.result["three_ways"]

    def learned(facts: list[str]) -> str:
        return ", ".join(words[fact] for fact in facts) or nothing

    rows = [
        (
            names[name],
            str(row["round_trips"]),
            str(row["messages"]),
            str(row["bytes"]),
            learned(row["caller_learns"]),
            learned(row["callee_learns"]),
        )
        for name, row in ((name, measured[name]) for name in names)
    ]
    return table(head, rows)


def translators(report: Report, lang: str) -> str:
    """Private translators and common ones, as counted."""
    head = {
        "en": ("clients", "services", "private (N·M)", "with a common language (N+M)", "saved"),
        "es": ("clientes", "servicios", "privados (N·M)", "con lengua común (N+M)", "ahorro"),
    }[lang]
    counted: Any = report.result["integrations"]
    rows = [
        (*(str(row[key]) for key in ("clients", "services", "private", "common")), _saved(row))
        for row in counted
    ]
    return table(head, rows)


def _saved(row: Mapping[str, int]) -> str:
    return str(row["private"] - row["common"]).replace("-", "−")


PROVIDERS: Mapping[str, Callable[[Report, str], str]] = {
    "wire-card": card,
    "wire-delegate": delegate,
    "wire-proceed": proceed,
    "wire-old": old_dialect,
    "dialects": dialects,
    "ways": ways,
    "translators": translators,
}


def _frames(report: Report, key: str) -> list[dict[str, Any]]:
    frames: Any = report.result[key]
    return list(frames)


def _wire(report: Report) -> list[dict[str, Any]]:
    return _frames(report, "wire")


def _sample(lang: str, what: str, dialect: str, head: str, body: Any) -> str:
    label = LABEL[lang].format(what=what, dialect=dialect)
    return f"{label}\n\n```http\n{head}\n```\n\n```text\n{pretty(body)}\n```"


def _keys(value: Mapping[str, Any]) -> dict[str, Any]:
    """The object with what is inside its members left out, scalars kept where they name a kind."""
    return {key: item if key == "kind" else ELLIPSIS for key, item in value.items()}
