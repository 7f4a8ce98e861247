"""The tool that ATDF was introduced with, as a real one: a date range that lies ahead, in both languages.

``SPANISH`` is the description as it was published, ``ENGLISH`` the edition for English readers. What JSON
Schema can't say of it (now < Start < End) is a precondition with an injected clock. ``flawed`` makes the
validators that a small change of the code would make, for asking whether the examples notice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from ai_evolution.atdf.contract import Condition, Contract
from ai_evolution.atdf.documents import load

Holds = Callable[[Mapping[str, Any], datetime], bool]

SPANISH = """\
tool:
  name: validar_rango_de_fechas
  description: Valida que Start y End sean posteriores a ahora, y que Start < End.
  input:
    type: object
    properties:
      Start:
        type: string
        format: date-time
        description: Fecha y hora de inicio.
      End:
        type: string
        format: date-time
        description: Fecha y hora de fin.
    required: [Start, End]

  output:
    success:
      type: object
      properties:
        status: { const: "success" }
        data:
          type: object
          properties:
            text:
              type: string
              description: Mensaje confirmando el resultado exitoso.
        meta:
          type: object
          properties:
            timestamp:
              type: string
              format: date-time
      required: [status, data, meta]

    error:
      type: object
      properties:
        status: { const: "error" }
        data:
          type: object
          properties:
            code:
              type: string
              description: Código de error (p. ej. "400").
            text:
              type: string
              description: Mensaje legible explicando el error.
            details:
              type: object
              description: Campos o valores que causaron el fallo.
            expected:
              type: string
              description: Lo que el sistema esperaba recibir.
            solution:
              type: string
              description: Instrucciones para corregir el error.
        meta:
          type: object
          properties:
            timestamp:
              type: string
              format: date-time
      required: [status, data, meta]

  examples:
    - input:
        Start: "2025-07-12T10:00:00Z"
        End:   "2025-07-12T12:00:00Z"
      output:
        status: "success"
        data:
          text: "'Start' es anterior a 'End' y ambas son posteriores a 'Ahora'"
        meta:
          timestamp: "2025-07-11T14:25:00Z"
    - input:
        Start: "2025-07-10T09:00:00Z"
        End:   "2025-07-10T08:00:00Z"
      output:
        status: "error"
        data:
          code: "400"
          text: "Error en fechas de inicio y fin..."
          details: { field: "start:…, end:…" }
          expected: "start: posterior a ahora, end: posterior a start"
          solution: "Asegúrate de valores válidos"
        meta:
          timestamp: "2025-07-11T14:23:45Z"
"""

ENGLISH = (
    SPANISH.replace("validar_rango_de_fechas", "validate_date_range")
    .replace(
        "Valida que Start y End sean posteriores a ahora, y que Start < End.",
        "Checks that Start and End are ahead of now, and that Start < End.",
    )
    .replace("Fecha y hora de inicio.", "Date and time of the start.")
    .replace("Fecha y hora de fin.", "Date and time of the end.")
    .replace("Mensaje confirmando el resultado exitoso.", "Message that confirms the success.")
    .replace('Código de error (p. ej. "400").', 'Code of the error ("400", say).')
    .replace("Mensaje legible explicando el error.", "Message that explains the error to a person.")
    .replace("Campos o valores que causaron el fallo.", "Fields or values that caused the failure.")
    .replace("Lo que el sistema esperaba recibir.", "What the system expected.")
    .replace("Instrucciones para corregir el error.", "What to do about the error.")
    .replace(
        "'Start' es anterior a 'End' y ambas son posteriores a 'Ahora'",
        "'Start' is before 'End' and both are after 'Now'",
    )
    .replace("Error en fechas de inicio y fin...", "Error in the dates of start and end...")
    .replace("start: posterior a ahora, end: posterior a start", "start: after now, end: after start")
    .replace("Asegúrate de valores válidos", "Make sure that the values are valid")
)

WORDS = {
    "es": {
        "success": "'Start' es anterior a 'End' y ambas son posteriores a 'Ahora'",
        "text": "Error en fechas de inicio y fin. La fecha de inicio {start} y/o la fecha de fin {end}"
        " son iguales o anteriores a {now}",
        "expected": "start: cualquier fecha y hora posterior a {now},"
        " end: cualquier fecha y hora posterior a 'start'",
        "solution": "Asegúrate que ambos valores son fechas válidas y posteriores a {now}",
    },
    "en": {
        "success": "'Start' is before 'End' and both are after 'Now'",
        "text": "Error in the dates of start and end. The start {start} and/or the end {end}"
        " are equal to or before {now}",
        "expected": "start: any date and time after {now}, end: any date and time after 'start'",
        "solution": "Make sure that both values are valid dates and after {now}",
    },
}

ANSWER = {  # the article's own two answers, in full
    "success": {
        "status": "success",
        "data": {"text": "'Start' es anterior a 'End' y ambas son posteriores a 'Ahora'"},
        "meta": {"timestamp": "2025-07-11T14:25:00Z"},
    },
    "error": {
        "status": "error",
        "data": {
            "code": "400",
            "text": "Error en fechas de inicio y fin. La fecha de inicio 2025-07-10T09:00:00Z y/o la "
            "fecha de fin 2025-07-10T08:00:00Z son iguales o anteriores a 2025-07-11T14:23:45Z",
            "details": {"field": "start: 2025-07-10T09:00:00Z, end: 2025-07-10T08:00:00Z"},
            "expected": "start: cualquier fecha y hora posterior a 2025-07-11T14:23:45Z, "
            "end: cualquier fecha y hora posterior a 'start'",
            "solution": "Asegúrate que ambos valores son fechas válidas y posteriores a 2025-07-11T14:23:45Z",
        },
        "meta": {"timestamp": "2025-07-11T14:23:45Z"},
    },
}


def parsed(text: str) -> datetime:
    """The moment that an RFC 3339 text names."""
    return datetime.fromisoformat(text)


def ahead(arguments: Mapping[str, Any], now: datetime) -> bool:
    """Whether the range lies ahead. Both comparisons are strict."""
    return now < parsed(arguments["Start"]) < parsed(arguments["End"])


def condition(lang: str) -> Condition:
    """The precondition, with the words of its error in that language."""

    def words(name: str) -> Callable[[Mapping[str, Any], datetime], str]:
        return lambda arguments, now: WORDS[lang][name].format(
            start=arguments["Start"], end=arguments["End"], now=now.isoformat().replace("+00:00", "Z")
        )

    return Condition(
        id="ahead",
        says={"en": "now < Start < End", "es": "ahora < Start < End"},
        holds=ahead,
        text=words("text"),
        expected=words("expected"),
        solution=words("solution"),
        details=lambda arguments, _: {"field": f"start: {arguments['Start']}, end: {arguments['End']}"},
        code="400",
    )


def document(lang: str = "es") -> Any:
    """The description in that language, as a JSON value."""
    return load((SPANISH if lang == "es" else ENGLISH).encode("utf-8"), f"{lang}.yaml").value


def date_range(lang: str = "es", *, described: Any = None, **options: Any) -> Contract:
    """The tool held to its description (``described``, or the published one)."""

    def validate(**_given: Any) -> dict[str, Any]:  # all that there is to say, the precondition says
        return {"text": WORDS[lang]["success"]}

    return Contract(
        described or document(lang), validate, **{"pre": [condition(lang)], "lang": lang} | options
    )


def flaws() -> dict[str, Holds]:
    """Conditions that are a little wrong, by name: what a hurried change would leave behind."""

    def holds(test: Callable[[datetime, datetime, datetime], bool]) -> Holds:
        return lambda given, now: test(now, parsed(given["Start"]), parsed(given["End"]))

    return {
        "accepts everything": lambda _given, _now: True,
        "forgets the start": holds(lambda _now, start, end: start < end),
        "forgets the order": holds(lambda now, start, _end: now < start),
        "start may be now": holds(lambda now, start, end: now <= start < end),
        "end may be start": holds(lambda now, start, end: now < start <= end),
    }


def flawed(lang: str, holds: Holds, **options: Any) -> Contract:
    """The same tool with another condition in the place of its own."""
    return date_range(lang, pre=[replace(condition(lang), holds=holds)], **options)


def with_edges(lang: str) -> Any:
    """The description with two more examples, each on the edge of one comparison."""
    whole = document(lang)
    moment = "2025-07-11T14:23:45Z"
    refused = whole["tool"]["examples"][1]["output"]
    later = "2025-07-12T10:00:00Z"
    edges = [{"Start": moment, "End": later}, {"Start": later, "End": later}]
    more = [{"input": edge, "output": refused} for edge in edges]
    return {"tool": {**whole["tool"], "examples": [*whole["tool"]["examples"], *more]}}
