"""A broken rule in words and in data: what came, what is accepted, and what to change.

For people there are sentences in English and Spanish, for a program that repairs its own call there is the
schema at the place, the names that are missing, the names that are too many.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from typing import Any

from ai_evolution.atdf.documents import at
from ai_evolution.atdf.samples import resolve
from ai_evolution.atdf.schemas import Problem

_LIMITS = (
    "minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength",
    "pattern", "minItems", "maxItems", "minProperties", "maxProperties",
)  # fmt: skip
ECHO = 200
"""Characters of a value that an error repeats."""


def say(lang: str, what: str, **words: Any) -> str:
    """A sentence of the contract in ``es`` or, otherwise, English."""
    return _SAYS["es" if lang == "es" else "en"][what].format_map(words)


def advice(listed: Mapping[str, Any], lang: str = "en") -> tuple[str, str]:
    """What would be accepted and what to do, for a problem as ``explained`` lists it."""
    where = listed["pointer"] or "/"
    if "missing" in listed:
        names = ", ".join(listed["missing"])
        return say(lang, "missing.expected", names=names), say(lang, "missing.solution", names=names)
    if "unknown" in listed:
        names = ", ".join(listed["unknown"])
        return say(lang, "unknown.expected", where=where), say(lang, "unknown.solution", names=names)
    wanted = described(listed.get("schema", True), lang)
    return f"{where}: {wanted}", say(lang, "value.solution", where=where, wanted=wanted)


def short(value: Any) -> Any:
    """A value as an error may repeat it: itself when it is small, the beginning of its text otherwise."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return value if len(text) <= ECHO else text[: ECHO - 1] + "…"


def explained(problem: Problem, arguments: Any, schema: Any) -> dict[str, Any]:
    """A problem for a program that repairs: where, which keyword, what came, and the schema at that place."""
    listed: dict[str, Any] = {
        "pointer": problem.pointer, "keyword": problem.keyword, "message": problem.message[:500],
    }  # fmt: skip
    here = at(arguments, problem.pointer) if problem.keyword != "json" else None
    place = _schema_at(schema, problem.pointer)
    if problem.keyword == "required" and isinstance(here, Mapping) and isinstance(place, Mapping):
        listed["missing"] = [name for name in place.get("required", ()) if name not in here][:20]
        if listed["missing"]:
            return listed
        del listed["missing"]
    if problem.keyword in ("additionalProperties", "unevaluatedProperties") and place is False:
        *_, name = problem.pointer.split("/")
        return listed | {"unknown": [name.replace("~1", "/").replace("~0", "~")]}
    if problem.keyword != "json":
        listed["received"] = short(here)
    if isinstance(place, Mapping) and len(json.dumps(place)) <= 2000:
        listed["schema"] = copy.deepcopy(dict(place))
    return listed


def _schema_at(schema: Any, pointer: str) -> Any:
    """The schema that speaks of the value at ``pointer``, as far as properties and items lead there."""
    here = _followed(schema, schema)
    for raw in pointer.split("/")[1:]:
        name = raw.replace("~1", "/").replace("~0", "~")
        if not isinstance(here, Mapping):
            return True
        properties, items = here.get("properties", {}), here.get("items")
        if name in properties:
            here = properties[name]
        elif isinstance(items, Mapping) and name.isdigit():
            here = items
        else:
            here = here.get("additionalProperties", True)
        here = _followed(here, schema)
    return here


def _followed(schema: Any, root: Any) -> Any:
    for _ in range(20):
        if not isinstance(schema, Mapping) or "$ref" not in schema:
            break
        rest = {word: each for word, each in schema.items() if word != "$ref"}
        target = resolve(schema["$ref"], root)
        schema = {**target, **rest} if isinstance(target, Mapping) else rest
    return schema


def described(schema: Any, lang: str = "en") -> str:
    """What a schema accepts, in a few words: ``a string, format date-time (2025-07-12T10:00:00Z)``."""
    says = _SAYS["es" if lang == "es" else "en"]
    if not isinstance(schema, Mapping):
        return says["nothing"] if schema is False else says["anything"]
    if "const" in schema:
        return json.dumps(schema["const"], ensure_ascii=False)[:ECHO]
    if isinstance(schema.get("enum"), list):
        return (
            says["one of"] + ", ".join(json.dumps(each, ensure_ascii=False) for each in schema["enum"])[:ECHO]
        )
    kinds = schema.get("type")
    names = [kinds] if isinstance(kinds, str) else kinds if isinstance(kinds, list) else []
    words = [says["or"].join(says.get(f"type.{name}", str(name)) for name in names)] if names else []
    for word in _LIMITS:
        if word in schema:
            words.append(f"{word} {schema[word]}"[:ECHO])
    if "format" in schema:
        shown = {"date-time": "2025-07-12T10:00:00Z", "date": "2025-07-12", "time": "10:00:00Z"}.get(
            schema["format"]
        )
        words.append(f"format {schema['format']}"[:60] + (f" ({shown})" if shown else ""))
    return ", ".join(words) if words else says["schema"]


_SAYS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "description": "the description of {tool} contradicts itself, so that no call is possible",
        "description.expected": "a description whose schemas, examples and conditions agree",
        "description.solution": "Tell whoever maintains the tool ({pointer}); other arguments do not help",
        "unfit": "the condition {id} can't be evaluated for this call",
        "arguments": "the arguments of {tool} are not what it accepts: {message}",
        "missing.expected": "the arguments {names}",
        "missing.solution": "Add {names}",
        "unknown.expected": "{where}: no other names than those described",
        "unknown.solution": "Remove {names}",
        "value.solution": "Change {where} into {wanted}",
        "condition.solution": "Change the arguments so that this holds: {says}",
        "exception": "{tool} failed for a reason of its own",
        "exception.expected": "an answer as described",
        "exception.solution": "The arguments were fine. Try again later, or tell whoever maintains the tool",
        "deadline": "{tool} did not answer within {seconds} s; it may have had its effect or have it yet",
        "deadline.expected": "an answer within {seconds} s",
        "deadline.solution": "Find out whether the effect happened before calling again",
        "result": "the answer of {tool} is not what it promised (at {pointer}: {rule}) and was held back",
        "result.expected": "an answer as described",
        "result.solution": "The arguments were fine. Tell whoever maintains the tool, or choose another one",
        "undeclared": "{tool} failed with a code that it never declared",
        "undeclared.expected": "one of the declared codes: {codes}",
        "nothing": "nothing", "anything": "any value", "one of": "one of ", "or": " or ",
        "schema": "a value that its schema accepts",
        "type.object": "an object", "type.array": "an array", "type.string": "a string",
        "type.number": "a number", "type.integer": "an integer", "type.boolean": "true or false",
        "type.null": "null",
    },
    "es": {
        "description": "la descripción de {tool} se contradice, así que ninguna llamada es posible",
        "description.expected": "una descripción cuyos esquemas, ejemplos y condiciones concuerden",
        "description.solution": "Avisa a quien la mantiene ({pointer}); otros argumentos no ayudan",
        "unfit": "la condición {id} no se puede evaluar para esta llamada",
        "arguments": "los argumentos de {tool} no son los que acepta (en {where}: {rule})",
        "missing.expected": "los argumentos {names}",
        "missing.solution": "Añade {names}",
        "unknown.expected": "{where}: ningún nombre fuera de los descritos",
        "unknown.solution": "Quita {names}",
        "value.solution": "Cambia {where} por {wanted}",
        "condition.solution": "Cambia los argumentos para que se cumpla: {says}",
        "exception": "{tool} falló por una causa propia",
        "exception.expected": "una respuesta como la descrita",
        "exception.solution": "Los argumentos eran correctos. Prueba más tarde o avisa a quien la mantiene",
        "deadline": "{tool} no respondió en {seconds} s; puede que haya tenido efecto o que aún lo tenga",
        "deadline.expected": "una respuesta en {seconds} s",
        "deadline.solution": "Averigua si el efecto se produjo antes de llamar de nuevo",
        "result": "la respuesta de {tool} no es la que prometió (en {pointer}: {rule}) y se ha retenido",
        "result.expected": "una respuesta como la descrita",
        "result.solution": "Los argumentos eran correctos. Avisa a quien la mantiene o elige otra",
        "undeclared": "{tool} falló con un código que nunca declaró",
        "undeclared.expected": "uno de los códigos declarados: {codes}",
        "nothing": "nada", "anything": "cualquier valor", "one of": "uno de ", "or": " o ",
        "schema": "un valor que su esquema acepte",
        "type.object": "un objeto", "type.array": "una lista", "type.string": "un texto",
        "type.number": "un número", "type.integer": "un número entero", "type.boolean": "true o false",
        "type.null": "null",
    },
}  # fmt: skip
