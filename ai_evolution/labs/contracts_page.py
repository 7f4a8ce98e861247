"""What the page of class 131 shows from a run: the description, recorded answers, measured tables.

Each provider is a function of the report and of the language, and returns Markdown. Where something
was left out a sample says ``...``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from ai_evolution.atdf.documents import dumps
from ai_evolution.evidence import Report
from ai_evolution.labs import dates, repairer
from ai_evolution.labs.page import number, table
from ai_evolution.labs.practice_contracts import FLAWS

LABEL = {
    "en": "*{what} · recorded in the run with seed 0*",
    "es": "*{what} · grabado con semilla 0*",
}
FORMS = ("atdf-1", "atdf-sdk", "ardf-1", "openai", "anthropic")
NAMES = {
    "atdf-1": "ATDF 1.x",
    "atdf-sdk": "ATDF SDK",
    "ardf-1": "ARDF 1.0",
    "openai": "OpenAI",
    "anthropic": "Anthropic",
}


def description(_report: Report, lang: str) -> str:
    """The description of the tool, its error case and its second example left out."""
    whole = json.loads(json.dumps(dates.document(lang)))
    tool = whole["tool"]
    error = tool["output"]["error"]["properties"]
    error["data"]["properties"] = dict.fromkeys(error["data"]["properties"], "...")
    error["meta"] = "..."
    tool["output"]["success"]["properties"]["meta"] = "..."
    tool["examples"] = [tool["examples"][0], "..."]
    return f"```yaml\n{dumps(whole, 'yaml').rstrip()}\n```"


def error(report: Report, lang: str) -> str:
    """The answer to a range that ends before it starts."""
    wire: Any = report.result["wire"]
    return _sample(lang, {"en": "ATDF error envelope", "es": "sobre de error ATDF"}, wire["error"])


def refused(report: Report, lang: str) -> str:
    """The answer to a time without offset."""
    what = {"en": "refused before the function was called", "es": "rechazada antes de llamar a la función"}
    return _sample(lang, what, report.result["refused"])


def crash(report: Report, lang: str) -> str:
    """What the caller gets of a crash."""
    what = {"en": "all that the caller learns of a crash", "es": "todo lo que quien llama sabe del fallo"}
    return _sample(lang, what, report.result["crash"])


def drift(report: Report, lang: str) -> str:
    """Which examples notice which flaw."""
    head = {
        "en": ("the validator …", "two examples of the article", "with two more, on the edges"),
        "es": ("el validador…", "los dos ejemplos del artículo", "con dos más, en los bordes"),
    }[lang]
    yes, no = {"en": ("noticed", "–"), "es": ("visto", "–")}[lang]
    found: Any = report.result["drift"]
    rows = (
        (
            FLAWS[flaw][lang],
            *(yes if found[flaw][each] else no for each in ("article", "edges")),
        )
        for flaw in dates.flaws()
    )
    return table(head, rows)


def endings(report: Report, lang: str) -> str:
    """How drawn calls ended, by the way they were drawn."""
    head = {
        "en": ("calls", "how many", "success", "refused for their meaning", "refused for their shape"),
        "es": ("llamadas", "cuántas", "éxito", "rechazadas por su significado", "rechazadas por su forma"),
    }[lang]
    words = {
        "acceptable to the schema": {"en": "drawn from the schema", "es": "sacadas del esquema"},
        "not acceptable": {"en": "drawn against the schema", "es": "sacadas contra el esquema"},
        "drawn around now": {
            "en": "well-formed, within ten days of now",
            "es": "bien formadas, a menos de diez días de ahora",
        },
    }
    found: Any = report.result["endings"]
    rows = (
        (
            words[kind][lang],
            str(sum(found[kind].values())),
            *(str(found[kind].get(code, 0)) for code in ("success", "400", "INVALID_ARGUMENTS")),
        )
        for kind in words
    )
    return table(head, rows)


def tries(report: Report, lang: str) -> str:
    """Calls made until one succeeded, by how much of the error was told."""
    head = {
        "en": ("the scripted repairer sees", "calls in all", "a case, on average", "at most", "given up"),
        "es": (
            "el reparador guionizado ve",
            "llamadas en total",
            "media por caso",
            "como mucho",
            "abandonados",
        ),
    }[lang]
    words = {
        "opaque": {"en": "that it failed", "es": "que falló"},
        "code": {"en": "the code as well", "es": "también el código"},
        "structured": {"en": "the structured error", "es": "el error estructurado"},
    }
    found: Any = report.result["tries"]
    rows = [
        (
            words[level][lang],
            str(found[level]["tries"]),
            number(found[level]["mean"], lang),
            str(max(int(number) for number in found[level]["spread"])),
            str(found[level]["gave up"]),
        )
        for level in repairer.LEVELS
    ]
    fewer = found["structured needs fewer"]
    share = {
        "en": "With the structured error {cases} of {of} cases took fewer calls than with the opaque one "
        "(95 % interval {low} to {high}), and {more} took more.",
        "es": "Con el error estructurado, {cases} de {of} casos necesitaron menos llamadas que con el opaco "
        "(intervalo del 95 %: de {low} a {high}) y {more}, más.",
    }[lang]
    observed: Any = report.finding("repair.fewer-tries").observed
    more = (
        {"en": "none", "es": "ninguno"}[lang]
        if not observed["more than opaque"]
        else observed["more than opaque"]
    )
    bounds = {name: number(fewer[name], lang) for name in ("low", "high")}
    return table(head, rows) + "\n\n" + share.format(**{**fewer, **bounds, "more": more})


def losses(report: Report, lang: str) -> str:
    """How many of the recorded tools lose each keyword, by form."""
    found: Any = report.result["losses"]
    keywords = sorted({word for form in FORMS for word in found[form]}, key=lambda word: _order(found, word))
    head = ({"en": "keyword", "es": "palabra clave"}[lang], *(NAMES[form] for form in FORMS))
    rows = ((f"`{word}`", *(str(found[form].get(word, "–")) for form in FORMS)) for word in keywords)
    return table(head, rows)


def _order(found: Mapping[str, Mapping[str, int]], word: str) -> tuple[int, str]:
    return -sum(found[form].get(word, 0) for form in FORMS), word


def levels(report: Report, lang: str) -> str:
    """Five revisions of a tool, and how far each one is from the first."""
    words = {
        "accepts more": {
            "en": "up to 12 seats are accepted, was 8",
            "es": "se aceptan hasta 12 plazas; eran 8",
        },
        "accepts less": {
            "en": "up to 6 seats are accepted, was 8",
            "es": "se aceptan hasta 6 plazas; eran 8",
        },
        "promises more": {"en": "1 to 6 are booked, was 1 to 8", "es": "se reservan de 1 a 6; eran de 1 a 8"},
        "promises less": {"en": "0 to 8 are booked, was 1 to 8", "es": "se reservan de 0 a 8; eran de 1 a 8"},
        "other words": {"en": "another description", "es": "otra descripción"},
    }
    names = {"major": "mayor", "minor": "menor", "patch": "parche"}
    head = {"en": ("the revision", "level"), "es": ("la revisión", "nivel")}[lang]
    found: Any = report.finding("version.direction").observed
    rows = ((words[name][lang], found[name] if lang == "en" else names[found[name]]) for name in words)
    shown = {
        "en": "The call that shows the narrowed input to be major: `{}`.",
        "es": "La llamada que muestra que la entrada más estrecha es un cambio mayor: `{}`.",
    }[lang]
    return table(head, rows) + "\n\n" + shown.format(json.dumps(report.result["breaking_call"]))


def service(report: Report, lang: str) -> str:
    """Three samples against a promise of 99 %."""
    head = {
        "en": ("calls", "failed", "observed", "95 % interval", "the promise of 99 %"),
        "es": ("llamadas", "fallidas", "observado", "intervalo del 95 %", "la promesa del 99 %"),
    }[lang]
    words = {
        "holds": {"en": "holds", "es": "se cumple"},
        "does-not-hold": {"en": "does not hold", "es": "no se cumple"},
        "not-shown": {"en": "kept, and not shown", "es": "cumplida, y no demostrada"},
    }
    found: Any = report.result["sla"]
    between = {"en": "{} to {}", "es": "de {} a {}"}[lang]
    rows = (
        (
            str(row["calls"]),
            str(row["failed"]),
            _percent(1 - row["failed"] / row["calls"], lang),
            between.format(_percent(row["low"], lang), _percent(row["high"], lang)),
            words[row["verdict"]][lang],
        )
        for row in (found[name] for name in ("short", "long", "long and bad"))
    )
    lucky: Any = report.result["lucky"]
    said = {
        "en": "A service that fails two calls in a hundred kept that promise in {kept} of {samples} samples "
        "of a hundred calls (95 % interval {low} to {high}).",
        "es": "Un servicio que falla dos llamadas de cada cien cumplió esa promesa en {kept} de {samples} "
        "muestras de cien llamadas (intervalo del 95 %: de {low} a {high}).",
    }[lang]
    bounds = {name: _percent(lucky[name], lang) for name in ("low", "high")}
    return table(head, rows) + "\n\n" + said.format(**{**lucky, **bounds})


PROVIDERS: Mapping[str, Callable[[Report, str], str]] = {
    "description": description,
    "error": error,
    "refused": refused,
    "crash": crash,
    "drift": drift,
    "endings": endings,
    "tries": tries,
    "losses": losses,
    "levels": levels,
    "service": service,
}


def _sample(lang: str, what: Mapping[str, str], value: Any) -> str:
    label = LABEL[lang].format(what=what[lang])
    return f"{label}\n\n```json\n{json.dumps(value, ensure_ascii=False, indent=2)}\n```"


def _percent(share: float, lang: str) -> str:
    return f"{number(round(100 * share, 2), lang)} %"
