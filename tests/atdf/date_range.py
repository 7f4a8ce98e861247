"""The article's tool as it is written there, as a real one: a date range that lies ahead, in both languages.

``SPANISH`` is the article's own description, word for word, ``ENGLISH`` the edition for English readers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from ai_evolution.atdf.contract import Condition, Contract
from ai_evolution.atdf.documents import load

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
    return datetime.fromisoformat(text)


def ahead(arguments: Mapping[str, Any], now: datetime) -> bool:
    return now < parsed(arguments["Start"]) < parsed(arguments["End"])


def condition(lang: str) -> Condition:
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
    return load((SPANISH if lang == "es" else ENGLISH).encode("utf-8"), f"{lang}.yaml").value


def date_range(lang: str = "es", **options: Any) -> Contract:
    """The tool held to its description."""

    def validate(Start: str, End: str, **_more: Any) -> dict[str, Any]:  # the schema is open
        return {"text": WORDS[lang]["success"]}

    return Contract(document(lang), validate, **{"pre": [condition(lang)], "lang": lang} | options)
