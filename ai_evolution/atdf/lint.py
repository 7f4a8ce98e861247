"""What is legal in a tool description and unwise all the same.

``RULES`` is a table: each rule has an id, a severity and what it says in both languages. ``lint`` looks at
descriptions, one or a whole catalogue; ``lint_document`` does the same for a document and points into it, so
that a line and a column can be told. Findings go out as JSON or as SARIF 2.1.0.

``fix`` mends what can be mended without a change of meaning, and nothing else: what a tool accepts, promises
and says is the same before and after, and fixing twice is fixing once. Rules that read prose look for plain
cues in English and Spanish; they can miss one, and no fix is ever made from prose. Whether a document keeps
the rules of its form is asked of ``shapes.validate``, not here.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Any, NamedTuple

from ai_evolution.atdf.compatibility import hints
from ai_evolution.atdf.description import ABSENT, VOCABULARIES, ToolDescription, read
from ai_evolution.atdf.documents import Document, at
from ai_evolution.atdf.losses import escape
from ai_evolution.atdf.schemas import check_schema, problems
from ai_evolution.atdf.shapes import chosen, embedded, tools
from ai_evolution.errors import UsageError

SEVERITIES = ("note", "warning", "error")
TWINS = 0.92
"""Similarity of two names above which they are near twins (``difflib``'s ratio)."""
SHORT, LONG = 30, 1024
"""Characters below which a description says too little, and above which it costs too much."""


@dataclass(frozen=True)
class Rule:
    """One row of the table; ``fixable``: ``fix`` knows what to do; ``catalogue``: it needs several tools."""

    id: str
    severity: str
    en: str
    es: str
    fixable: bool = False
    catalogue: bool = False


@dataclass(frozen=True)
class Finding:
    """A rule that does not hold at a place; ``message`` in ``en`` and ``es``, ``fix``: what would be done."""

    rule: str
    severity: str
    pointer: str
    message: Mapping[str, str]
    tool: str
    fix: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the finding as JSON has it."""
        return {
            "rule": self.rule, "severity": self.severity, "tool": self.tool, "pointer": self.pointer,
            "message": dict(self.message), "fix": self.fix,
        }  # fmt: skip


_TABLE = (
    Rule("schema-wrong", "error", "the schema is none: {what}", "el esquema no es válido: {what}"),
    Rule("no-when-to-use", "warning", "it does not say when to use it", "no dice cuándo usarla"),
    Rule("no-when-not-to-use", "note", "it does not say when not to use it", "no dice cuándo no usarla"),
    Rule("no-example", "warning", "it has no example", "no tiene ningún ejemplo"),
    Rule("no-error-contract", "warning", "it does not say how it fails: no error schema and no failure codes",
         "no dice cómo falla: ni esquema de error ni códigos de fallo"),
    Rule("no-output-schema", "note", "it does not say what comes back", "no dice qué devuelve"),
    Rule("no-translation", "note", "it speaks one language only", "habla un solo idioma"),
    Rule("unequal-languages", "warning", "{lang} lacks {what}, which another language has",
         "a {lang} le falta {what}, que otro idioma sí tiene"),
    Rule("language-tag", "warning", "{lang!r} is no language tag such as es, en-GB or zh-Hant",
         "{lang!r} no es una etiqueta de idioma como es, en-GB o zh-Hant"),
    Rule("short-description", "warning", "the description has {n} characters; 30 is little enough",
         "la descripción tiene {n} caracteres; con menos de 30 se dice poco"),
    Rule("long-description", "note",
         "the description has {n} characters; beyond 1024 every prompt pays for it",
         "la descripción tiene {n} caracteres; más de 1024 los paga cada prompt"),
    Rule("name-charset", "error", "the name {name!r} is outside [A-Za-z0-9_.-]{{1,128}}",
         "el nombre {name!r} se sale de [A-Za-z0-9_.-]{{1,128}}"),
    Rule("undocumented-parameter", "warning", "the parameter {name!r} has no description",
         "el parámetro {name!r} no tiene descripción"),
    Rule("no-type", "warning", "the parameter {name!r} has no type; anything is accepted",
         "el parámetro {name!r} no tiene tipo; se acepta cualquier cosa", fixable=True),
    Rule("limit-in-prose", "warning", "a limit of {name!r} stands in its description only",
         "un límite de {name!r} está solo en su descripción"),
    Rule("values-in-prose", "warning", "the values of {name!r} stand in its description only; enum says them",
         "los valores de {name!r} están solo en su descripción; enum los dice"),
    Rule("format-in-prose", "warning", "the date format of {name!r} stands in its description only",
         "el formato de fecha de {name!r} está solo en su descripción"),
    Rule("required-with-default", "warning",
         "{name!r} is required and has a default, which never applies",
         "{name!r} es obligatorio y tiene un valor por defecto, que nunca se aplica"),
    Rule("default-invalid", "error", "the default of {name!r} breaks its own schema: {what}",
         "el valor por defecto de {name!r} incumple su propio esquema: {what}"),
    Rule("unused-defs", "warning", "nothing refers to the definition {name!r}",
         "nada se refiere a la definición {name!r}", fixable=True),
    Rule("duplicate-required", "error", "{name!r} stands twice in required",
         "{name!r} está dos veces en required", fixable=True),
    Rule("open-object", "note", "arguments that nobody declared are accepted; a misspelt name goes unnoticed",
         "se aceptan argumentos que nadie declaró; un nombre mal escrito pasa inadvertido"),
    Rule("root-combinator", "note", "{name} at the root of the input: some providers refuse the whole call",
         "{name} en la raíz de la entrada: hay proveedores que rechazan la llamada entera"),
    Rule("no-read-only-hint", "note", "it does not say whether it only reads (readOnlyHint)",
         "no dice si solo lee (readOnlyHint)"),
    Rule("mutating-read-only", "warning",
         "{name!r} sounds as if it changed something, and readOnlyHint is true",
         "{name!r} suena a que cambia algo, y readOnlyHint es true"),
    Rule("unreached-code", "warning", "no example reaches the failure code {code!r}",
         "ningún ejemplo llega al código de fallo {code!r}"),
    Rule("example-invalid", "error", "the example breaks its schema: {what}",
         "el ejemplo incumple su esquema: {what}"),
    Rule("empty-error-data", "warning", "the error schema accepts an error that says nothing",
         "el esquema de error acepta un error que no dice nada"),
    Rule("derived", "note", "{what} was made up by a conversion; it is no knowledge",
         "{what} lo inventó una conversión; no es conocimiento"),
    Rule("name-collision", "error", "two tools are called {name!r}", "dos herramientas se llaman {name!r}",
         catalogue=True),
    Rule("near-twin-names", "warning", "{name!r} and {other!r} are nearly the same name",
         "{name!r} y {other!r} son casi el mismo nombre", catalogue=True),
    Rule("prerequisite-unknown", "warning", "it needs {name!r}, and no tool here is called so",
         "necesita {name!r}, y aquí ninguna herramienta se llama así", catalogue=True),
    Rule("prerequisite-cycle", "error", "it needs itself first: {what}",
         "se necesita a sí misma antes: {what}", catalogue=True),
)  # fmt: skip
RULES: Mapping[str, Rule] = {rule.id: rule for rule in _TABLE}

_Seen = Iterator[
    tuple[str, str, dict[str, Any]]
]  # rule, pointer into the model, what the message is filled with


def lint(descriptions: ToolDescription | Sequence[ToolDescription]) -> list[Finding]:
    """Return every finding, tool by tool and then those of the catalogue; pointers go into the model.

    Several descriptions are one catalogue. Raises nothing for what a description holds.
    """
    found = [descriptions] if isinstance(descriptions, ToolDescription) else list(descriptions)
    return [_finding(*seen, tool.name) for tool, seen in _all([found])]


def lint_document(document: Any, form: str | None = None) -> list[Finding]:
    """Return every finding in a document (a ``Document`` or a parsed value); pointers go into the document.

    Raises ``DocumentError`` or ``UsageError`` as ``description.read`` does.
    """
    return lint_documents([document], form)[0]


def lint_documents(documents: Sequence[Any], form: str | None = None) -> list[list[Finding]]:
    """Return the findings of each document; names and prerequisites are looked up in all of them together.

    Near-twin names are sought inside one document: two servers may well use the same words.
    Raises as ``lint_document``.
    """
    owners: dict[int, tuple[int, _Place]] = {}
    everything: list[list[ToolDescription]] = []
    for index, document in enumerate(documents):
        value = document.value if isinstance(document, Document) else document
        found = read(document, form)
        everything.append(found)
        for tool, place in zip(found, _places(value, chosen(value, form)), strict=True):
            owners[id(tool)] = (index, place)
    findings: list[list[Finding]] = [[] for _ in documents]
    for tool, seen in _all(everything):
        index, place = owners[id(tool)]
        findings[index].append(replace(_finding(*seen, tool.name), pointer=place.of(tool, seen[1])))
    return findings


def exit_code(findings: Iterable[Finding], fail_on: str = "warning") -> int:
    """Return 1 when there is a finding of this severity or a worse one, else 0. Raises ``UsageError``."""
    if fail_on not in SEVERITIES:
        raise UsageError(f"severity {fail_on!r} is not known; accepted: {', '.join(SEVERITIES)}")
    return int(any(SEVERITIES.index(one.severity) >= SEVERITIES.index(fail_on) for one in findings))


def _all(
    catalogues: Sequence[Sequence[ToolDescription]],
) -> Iterator[tuple[ToolDescription, tuple[str, str, dict[str, Any]]]]:
    for found in catalogues:
        for tool in found:
            for look in _LOOKS:
                for seen in look(tool):
                    yield tool, seen
        yield from _twins(found)
    together = [tool for found in catalogues for tool in found]
    if len(together) > 1:
        yield from _collisions(together)
        yield from _prerequisites(together)


def _finding(rule: str, pointer: str, values: Mapping[str, Any], tool: str) -> Finding:
    row = RULES[rule]
    message = {"en": row.en.format(**values), "es": row.es.format(**values)}
    return Finding(rule, row.severity, pointer, message, tool, values.get("fix"))


# ------------------------------------------------------------------------ one tool

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}")
_USE = re.compile(
    r"\buse (?:this|it|when|for|if|to)\b|when to use|\bwhen (?:you|the user|a user)\b|useful (?:for|when|to)"
    r"|\bcall this\b|should be used|\bús[ae]l[ao]\b|\busar (?:cuando|para|si)\b|cuándo usar"
    r"|\bútil (?:para|cuando)"
    r"|\bcuando (?:el usuario|haga falta|necesites|se necesite)|sirve para",
    re.IGNORECASE,
)
_NOT_USE = re.compile(
    r"\bdo(?:es)? not use|\bdon't use|not (?:for|intended|meant|suitable)\b|\binstead\b|when not to use"
    r"|never use"
    r"|\bavoid\b|should not be used|\bno (?:la |lo |se )?us[ae]r?s?\b|en (?:su )?lugar|cuándo no\b"
    r"|no sirve para",
    re.IGNORECASE,
)


def _about_words(tool: ToolDescription) -> _Seen:
    if not _NAME.fullmatch(tool.name):
        yield "name-charset", "/name", {"name": tool.name}
    length = len(tool.description)
    if length < SHORT:
        yield "short-description", "/description", {"n": length}
    elif length > LONG:
        yield "long-description", "/description", {"n": length}
    made_up = {pointer.rpartition("/")[2] for pointer in _derived(tool)}
    if "when_to_use" in made_up or not (tool.when_to_use or _USE.search(tool.description)):
        yield "no-when-to-use", "/when_to_use", {}
    if not (tool.when_not_to_use or _NOT_USE.search(f"{tool.description} {tool.when_to_use or ''}")):
        yield "no-when-not-to-use", "/when_not_to_use", {}
    for pointer in _derived(tool):
        yield "derived", pointer, {"what": pointer}


def _derived(tool: ToolDescription) -> list[str]:
    marked = tool.extra.get("x-derived")
    marked = [one for one in marked if isinstance(one, str)] if isinstance(marked, list) else []
    return [*sorted(tool.derived), *marked]


def _about_results(tool: ToolDescription) -> _Seen:
    if tool.error_schema is ABSENT and not tool.failures:
        yield "no-error-contract", "/error_schema", {}
    if tool.success_schema is ABSENT and not tool.success_text:
        yield "no-output-schema", "/success_schema", {}
    if isinstance(tool.error_schema, dict) and _says_nothing(tool.error_schema):
        yield "empty-error-data", "/error_schema", {}
    for field in ("input_schema", "success_schema", "error_schema"):
        schema = getattr(tool, field)
        if schema is not ABSENT and "x-mcp" not in tool.extra:
            for fault in check_schema(schema)[:3]:
                if fault.pointer.rpartition("/")[0].endswith("/required") or fault.pointer.endswith(
                    "/required"
                ):
                    continue  # duplicate-required says it better
                yield "schema-wrong", f"/{field}{fault.pointer}", {"what": fault.message}


def _says_nothing(schema: Mapping[str, Any]) -> bool:
    properties = schema.get("properties")
    data = properties.get("data") if isinstance(properties, dict) else None
    if not isinstance(data, dict) or "data" not in _strings(schema.get("required")):
        return not ({"$ref", "allOf", "anyOf", "oneOf"} & schema.keys())
    return not (
        {"required", "minProperties", "$ref", "allOf", "anyOf", "oneOf", "const", "enum"} & data.keys()
    )


def _about_examples(tool: ToolDescription) -> _Seen:
    if not tool.examples:
        yield "no-example", "/examples", {}
    reached: set[str] = set()
    for index, example in enumerate(tool.examples):
        refused = isinstance(example.output, dict) and example.output.get("status") == "error"
        if tool.input_schema is not ABSENT and not refused:  # an error may show how bad arguments are refused
            for problem in problems(example.input, tool.input_schema, limit=1):
                yield (
                    "example-invalid",
                    f"/examples/{index}/input{problem.pointer}",
                    {"what": problem.message},
                )
        output = example.output
        if not isinstance(output, dict):
            continue
        reached |= _codes_in(output)
        schema = tool.error_schema if output.get("status") == "error" else tool.success_schema
        if schema is not ABSENT:
            for problem in problems(output, schema, limit=1):
                yield (
                    "example-invalid",
                    f"/examples/{index}/output{problem.pointer}",
                    {"what": problem.message},
                )
    for code, pointer in _declared_codes(tool):
        if code not in reached:
            yield "unreached-code", pointer, {"code": code}


def _codes_in(output: Mapping[str, Any]) -> set[str]:
    errors = output.get("errors")
    parts = [output.get("data"), *(errors if isinstance(errors, list) else [])]
    return {part["code"] for part in parts if isinstance(part, dict) and isinstance(part.get("code"), str)}


def _declared_codes(tool: ToolDescription) -> Iterator[tuple[str, str]]:
    for index, failure in enumerate(tool.failures):
        yield failure.code, f"/failures/{index}"
    try:
        code = at(tool.error_schema, "/properties/data/properties/code")
    except KeyError:
        return
    if isinstance(code, dict):
        listed = (
            code.get("enum")
            if isinstance(code.get("enum"), list)
            else [code["const"]]
            if "const" in code
            else []
        )
        for one in listed or []:
            if isinstance(one, str):
                yield one, "/error_schema/properties/data/properties/code"


_TAG = re.compile(r"[a-z]{2,3}(-[A-Z][a-z]{3})?(-([A-Z]{2}|[0-9]{3}))?")


def _about_languages(tool: ToolDescription) -> _Seen:
    if not tool.localization:
        yield "no-translation", "/localization", {}
        return
    spoken = {lang: said for lang, said in tool.localization.items() if isinstance(said, dict)}
    everything = list(dict.fromkeys(field for said in spoken.values() for field in said))
    for field in ("description", "when_to_use"):
        if getattr(tool, field) and field not in everything:
            everything.append(field)
    for lang, said in spoken.items():
        if not _TAG.fullmatch(lang):
            yield "language-tag", f"/localization/{escape(lang)}", {"lang": lang}
        if lacking := [field for field in everything if not said.get(field)]:
            yield (
                "unequal-languages",
                f"/localization/{escape(lang)}",
                {"lang": lang, "what": ", ".join(lacking)},
            )


_CHANGES = frozenset((
    "add", "append", "apply", "approve", "archive", "assign", "cancel", "clear", "close", "commit",
    "copy", "create", "deactivate", "delete", "deploy", "disable", "drop", "edit", "enable",
    "execute", "insert", "install", "kill", "merge", "modify", "move", "patch", "post", "publish",
    "push", "put", "remove", "rename", "replace", "reset", "restore", "revoke", "send", "set",
    "start", "stop", "submit", "truncate", "uninstall", "update", "upload", "write", "actualizar",
    "agregar", "anular", "asignar", "borrar", "cancelar", "cerrar", "crear", "desactivar",
    "detener", "editar", "eliminar", "enviar", "escribir", "insertar", "instalar", "modificar",
    "mover", "publicar", "quitar", "renombrar", "reservar", "subir",
))  # fmt: skip
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")


def _about_hints(tool: ToolDescription) -> _Seen:
    carried = tool.extra.get("x-mcp")
    said = (carried if isinstance(carried, Mapping) else tool.extra).get("annotations")
    if tool.form in ("mcp", "atdf-tools") or isinstance(said, dict):
        if not isinstance(said, dict) or "readOnlyHint" not in said:
            yield "no-read-only-hint", "/extra/annotations", {}
        elif hints(tool)["readOnlyHint"]:
            first = next(iter(_WORDS.findall(tool.name)), "").lower()
            if first in _CHANGES:
                yield "mutating-read-only", "/extra/annotations/readOnlyHint", {"name": tool.name}


# ------------------------------------------------------------------------ its schemas

_ONE = (
    "additionalItems", "additionalProperties", "contains", "else", "if", "items", "not",
    "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties",
)  # fmt: skip
_SEVERAL = ("allOf", "anyOf", "oneOf", "prefixItems")
_NAMED = ("$defs", "definitions", "dependentSchemas", "patternProperties", "properties")
_COMBINED = ("anyOf", "oneOf", "allOf")
_TYPED = frozenset(("type", "enum", "const", "$ref", "$dynamicRef", "anyOf", "oneOf", "allOf", "not", "if"))
_LIMITED = frozenset((
    "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength",
    "minItems", "maxItems", "enum", "const", "pattern", "multipleOf", "anyOf", "oneOf", "allOf",
    "$ref",
))  # fmt: skip
_VALUED = frozenset(["enum", "const", "pattern", "format", "anyOf", "oneOf", "allOf", "$ref"])
_LIMIT = re.compile(
    r"\b(?:max(?:imum)?|min(?:imum)?|at most|at least|up to|no more than|no fewer than|between|máximo|mínimo"
    r"|al menos"
    r"|hasta|entre|como mucho|no más de)\b[^.;()\d]{0,24}\d",
    re.IGNORECASE,
)
_QUOTED = r"(?:'[\w.-]+'|\"[\w.-]+\"|`[\w.-]+`)"
_VALUES = re.compile(
    rf"\bone of\b|\buno de\b|\buna de\b|(?:valid|allowed|possible|accepted) values"
    rf"|valores (?:válidos|permitidos|posibles)"
    rf"|{_QUOTED}\s*(?:,|/|\||\bor\b|\bo\b)\s*(?:or\s+|o\s+)?{_QUOTED}",
    re.IGNORECASE,
)
_DATE = re.compile(r"ISO[ -]?8601|RFC[ -]?3339|\bYYYY[-/]?MM|\bAAAA[-/]?MM|\bDD[-/]MM", re.IGNORECASE)


class _Sub(NamedTuple):
    """A schema inside another one: where, what, and the parameter that it is, if it is one."""

    pointer: str
    schema: dict[str, Any]
    name: str | None
    required: bool


def _subschemas(schema: Any) -> Iterator[_Sub]:
    """Yield ``schema`` and every schema in it, in document order."""
    stack = [("", schema, None, False)]
    while stack:
        pointer, here, name, required = stack.pop()
        if not isinstance(here, dict):
            continue
        yield _Sub(pointer, here, name, required)
        below: list[Any] = []
        for word, value in here.items():
            if isinstance(value, dict):
                if word in _NAMED:
                    wanted = _strings(here.get("required")) if word == "properties" else ()
                    for key, one in value.items():
                        named = key if word == "properties" else None
                        below.append((f"{pointer}/{escape(word)}/{escape(key)}", one, named, key in wanted))
                elif word in _ONE:
                    below.append((f"{pointer}/{word}", value, None, False))
            elif isinstance(value, list) and (word in _SEVERAL or word == "items"):
                below += [(f"{pointer}/{word}/{i}", one, None, False) for i, one in enumerate(value)]
        stack.extend(reversed(below))


def _strings(value: Any) -> tuple[str, ...]:
    return tuple(one for one in value if isinstance(one, str)) if isinstance(value, list) else ()


def _about_input(tool: ToolDescription) -> _Seen:
    schema = tool.input_schema
    if not isinstance(schema, dict):
        return
    if schema.get("additionalProperties") is not False and schema.get("unevaluatedProperties") is not False:
        yield "open-object", "/input_schema", {}
    for word in _COMBINED:
        if word in schema:
            yield "root-combinator", f"/input_schema/{word}", {"name": word}
    for sub in _subschemas(schema):
        if sub.name is not None:
            for rule, pointer, values in _about_parameter(sub, schema):
                yield rule, f"/input_schema{sub.pointer}{pointer}", {"name": sub.name, **values}


def _about_parameter(sub: _Sub, root: Mapping[str, Any]) -> _Seen:
    schema = sub.schema
    said = schema.get("description")
    if not isinstance(said, str) or not said.strip():
        if "$ref" not in schema:  # the definition may say it
            yield "undocumented-parameter", "", {}
    else:
        yield from _prose(schema, said)
    if not (_TYPED & schema.keys()) and "x-atdf-type" not in schema:
        yield "no-type", "", {}
    elif kinds := _missing_type(schema):
        yield "no-type", "", {"fix": f"type: {json.dumps(kinds)}"}
    if "default" in schema:
        if sub.required:
            yield "required-with-default", "/default", {}
        for problem in problems(schema["default"], _beside_definitions(schema, root), limit=1):
            if problem.keyword != "$schema":
                yield "default-invalid", "/default", {"what": problem.message}


def _beside_definitions(schema: dict[str, Any], root: Mapping[str, Any]) -> dict[str, Any]:
    around = {
        word: root[word]
        for word in ("$schema", "$defs", "definitions")
        if word in root and word not in schema
    }
    return {**around, **schema}


def _prose(schema: Mapping[str, Any], said: str) -> _Seen:
    kind = schema.get("type", "string")
    if (
        not (_LIMITED & schema.keys())
        and kind in ("string", "integer", "number", "array")
        and _LIMIT.search(said)
    ):
        yield "limit-in-prose", "/description", {}
    if kind != "string" or _VALUED & schema.keys():
        return
    if _DATE.search(said):
        yield "format-in-prose", "/description", {}
    elif _VALUES.search(said):
        yield "values-in-prose", "/description", {}


def _missing_type(schema: Mapping[str, Any]) -> str | list[str] | None:
    """Return the type that ``enum`` or ``const`` implies where ``type`` is not said, or None."""
    if _TYPED & schema.keys() - {"enum", "const"} or not ({"enum", "const"} & schema.keys()):
        return None
    values = [schema["const"]] if "const" in schema else schema["enum"]
    if not isinstance(values, list) or not values:
        return None
    kinds = sorted({_kind(value) for value in values})
    if "number" in kinds and "integer" in kinds:
        kinds.remove("integer")
    return kinds[0] if len(kinds) == 1 else kinds


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    names = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}
    kind = names.get(type(value), "string")
    return "integer" if kind == "number" and value == int(value) else kind


def _about_all_schemas(tool: ToolDescription) -> _Seen:
    for field in ("input_schema", "success_schema", "error_schema"):
        schema = getattr(tool, field)
        for rule, pointer, values in _about_schema(schema):
            yield rule, f"/{field}{pointer}", values


def _about_schema(schema: Any) -> _Seen:
    if not isinstance(schema, dict):
        return
    for pointer, name in unused_definitions(schema):
        yield "unused-defs", pointer, {"name": name, "fix": "take it out"}
    for sub in _subschemas(schema):
        required = sub.schema.get("required")
        if isinstance(required, list):
            seen: set[str] = set()
            for index, name in enumerate(required):
                if isinstance(name, str):
                    if name in seen:
                        yield (
                            "duplicate-required",
                            f"{sub.pointer}/required/{index}",
                            {"name": name, "fix": "take it out"},
                        )
                    seen.add(name)


_ANCHORS = ("$anchor", "$dynamicAnchor", "$dynamicRef", "$id", "$recursiveAnchor", "$recursiveRef", "id")


def unused_definitions(schema: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the definitions at the root that nothing reaches; none where references may go by a name."""
    homes = [word for word in ("$defs", "definitions") if isinstance(schema.get(word), dict) and schema[word]]
    if not homes:
        return []
    reached: set[tuple[str, str]] = set()
    waiting: list[Any] = [{word: value for word, value in schema.items() if word not in homes}]
    while waiting:
        for here in _objects(waiting.pop()):
            if any(isinstance(here.get(word), str | bool) for word in _ANCHORS):
                return []
            target = here.get("$ref")
            if not isinstance(target, str):
                continue
            if not target.startswith("#/"):
                return []  # to the root, or out of the document: no telling what it needs
            from urllib.parse import unquote

            steps = [step.replace("~1", "/").replace("~0", "~") for step in unquote(target[2:]).split("/")]
            if steps[0] in homes and len(steps) == 1:
                return []
            if steps[0] in homes and (steps[0], steps[1]) not in reached and steps[1] in schema[steps[0]]:
                reached.add((steps[0], steps[1]))
                waiting.append(schema[steps[0]][steps[1]])
    left = [(word, name) for word in homes for name in schema[word] if (word, name) not in reached]
    if any(
        isinstance(here.get(word), str)
        for w, n in left
        for here in _objects(schema[w][n])
        for word in _ANCHORS
    ):
        return []
    return [(f"/{word}/{escape(name)}", name) for word, name in left]


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    stack = [value]
    while stack:
        here = stack.pop()
        if isinstance(here, dict):
            yield here
            stack.extend(here.values())
        elif isinstance(here, list):
            stack.extend(here)


_LOOKS: tuple[Callable[[ToolDescription], _Seen], ...] = (
    _about_words, _about_results, _about_examples, _about_languages, _about_hints, _about_input,
    _about_all_schemas,
)  # fmt: skip


# ------------------------------------------------------------------------ a catalogue

_Around = Iterator[tuple[ToolDescription, tuple[str, str, dict[str, Any]]]]


def _collisions(found: Sequence[ToolDescription]) -> _Around:
    seen: set[str] = set()
    for tool in found:
        if tool.name in seen:
            yield tool, ("name-collision", "/name", {"name": tool.name})
        seen.add(tool.name)


def _twins(found: Sequence[ToolDescription]) -> _Around:
    """One finding for each name that is nearly an earlier one. The work grows with the number of names.

    Only names that share a key are compared: the name without separators and case, the name without one
    of its letters, the words of the name without one of them.
    """
    earlier: dict[Any, str] = {}
    done: set[str] = set()
    for tool in found:
        name = tool.name
        if name in done:
            continue
        done.add(name)
        twin = None
        for key in _keys(name):
            other = earlier.setdefault(key, name)
            if twin is None and other != name and (key[0] == "same" or _alike(name, other)):
                twin = other
        if twin is not None:
            yield tool, ("near-twin-names", "/name", {"name": twin, "other": name})


def _keys(name: str) -> Iterator[tuple[str, Any]]:
    yield "same", re.sub(r"[^0-9a-zñáéíóú]", "", name.lower())
    short = name[:128]
    yield "letters", short
    for i in range(len(short)):
        yield "letters", short[:i] + short[i + 1 :]
    words = _WORDS.findall(short)
    if len(words) > 2:
        for i in range(len(words)):
            yield "words", (i, *words[:i], *words[i + 1 :])


def _alike(one: str, other: str) -> bool:
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    return matcher.real_quick_ratio() > TWINS and matcher.ratio() > TWINS


def _prerequisites(found: Sequence[ToolDescription]) -> _Around:
    names = {tool.name for tool in found}
    needs: dict[str, list[str]] = {}
    for tool in found:
        said = tool.prerequisites.get("tools") if isinstance(tool.prerequisites, Mapping) else None
        needs[tool.name] = list(_strings(said))
        for index, name in enumerate(needs[tool.name]):
            if name not in names:
                yield tool, ("prerequisite-unknown", f"/prerequisites/tools/{index}", {"name": name})
    inside = _in_circles(needs)
    for tool in found:
        if tool.name in inside:
            circle = _circle(tool.name, needs, inside)
            yield tool, ("prerequisite-cycle", "/prerequisites/tools", {"what": " -> ".join(circle)})


def _in_circles(needs: Mapping[str, Sequence[str]]) -> set[str]:
    """Return the names that stand in circles or between them: what is left when free ends are taken away."""
    left = {name: {one for one in wanted if one in needs} for name, wanted in needs.items()}
    while True:
        wanted = {one for many in left.values() for one in many}
        free = [name for name, many in left.items() if not many or name not in wanted]
        if not free:
            return set(left)
        for name in free:
            del left[name]
        gone = set(free)
        for many in left.values():
            many -= gone


def _circle(name: str, needs: Mapping[str, Sequence[str]], inside: set[str]) -> list[str]:
    """Return a way from ``name`` to itself, or to the circle that it depends on."""
    way = [name]
    while True:
        following = next((one for one in needs[way[-1]] if one in inside), None)
        if following is None or following in way:
            return [*way, following] if following else way
        way.append(following)


# ------------------------------------------------------------------------ places in a document

_SCHEMA_PLACES = {
    "mcp": {"input_schema": "/inputSchema", "success_schema": "/outputSchema"},
    "atdf-tools": {"input_schema": "/inputSchema", "success_schema": "/outputSchema"},
    "atdf-tool": {
        "input_schema": "/input",
        "success_schema": "/output/success",
        "error_schema": "/output/error",
    },
}
_LISTS = {"atdf-1": "/how_to_use", "atdf-2": "/how_to_use", "atdf-sdk": "", "ardf-1": "/content/data"}
_BODY = {"atdf-tool": "/tool"}


class _Place(NamedTuple):
    """Where a tool stands in its document, and how its form names the parts of the model."""

    value: Any
    prefix: str
    form: str

    def of(self, tool: ToolDescription, pointer: str) -> str:
        """Return the pointer into the document, or that of the nearest part that is there."""
        found = self.prefix + _BODY.get(self.form, "") + self._moved(tool, pointer)
        while found:
            try:
                at(self.value, found)
                break
            except KeyError:
                found = found.rpartition("/")[0]
        return found

    def _moved(self, tool: ToolDescription, pointer: str) -> str:
        _, field, *rest = pointer.split("/")
        if field == "name":
            own = at(self.value, self.prefix)
            keys = ("tool_id", "id", "resource_id", "name") if isinstance(own, dict) else ()
            return (
                next((f"/{key}" for key in keys if key in own), "/name")
                if self.form != "atdf-tool"
                else "/name"
            )
        if field == "extra":
            return "/" + "/".join(rest)
        if field == "examples" and len(rest) > 1:
            words = VOCABULARIES[tool.examples[int(rest[0])].vocabulary]
            key = words[1] if rest[1] == "input" else words[2] or "output"
            return "/".join(["", "examples", rest[0], key, *rest[2:]])
        if field in ("failures", "success_text"):
            key = "failure" if field == "failures" else "success"
            return "/".join([_LISTS.get(self.form, ""), "outputs", key, *rest])
        if field.endswith("_schema"):
            places = _SCHEMA_PLACES.get(self.form)
            if places is not None:
                return "/".join([places.get(field, ""), *rest])
            return self._listed(rest) if field == "input_schema" else _LISTS.get(self.form, "") + "/outputs"
        return pointer

    def _listed(self, rest: list[str]) -> str:
        home = _LISTS[self.form] + ("/parameters" if self.form == "atdf-sdk" else "/inputs")
        if len(rest) < 2 or rest[0] != "properties":
            return home
        name = rest[1].replace("~1", "/").replace("~0", "~")
        rows = at(self.value, self.prefix + home) if self._has(home) else []
        for index, row in enumerate(rows):
            if isinstance(row, dict) and row.get("name") == name:
                key = rest[2] if len(rest) > 2 else ""
                inner = rest[2:] if key in row or not key else ["schema", *rest[2:]]
                return "/".join([home, str(index), *inner])
        return home

    def _has(self, pointer: str) -> bool:
        try:
            at(self.value, self.prefix + pointer)
        except KeyError:
            return False
        return True


def _places(value: Any, form: str) -> Iterator[_Place]:
    for path, each in tools(value, form):
        prefix = "".join(f"/{escape(str(step))}" for step in path)
        if form == "atdf-tools":
            yield from (_Place(value, f"{prefix}/tools/{i}", form) for i in range(len(each.get("tools", ()))))
        else:
            yield _Place(value, prefix, form)


# ------------------------------------------------------------------------ fixes


@dataclass(frozen=True)
class Fixed:
    """The mended document, and a line for each thing that was done: pointer into the document, rule, what."""

    document: Any
    applied: tuple[tuple[str, str, str], ...] = ()


def fix(document: Any, form: str | None = None) -> Fixed:
    """Return a copy of ``document`` (a ``Document`` or a parsed value) with the safe fixes applied.

    Definitions that nothing refers to are taken out, names that stand twice in ``required`` are left once,
    and the ``type`` of a parameter is said where ``enum`` or ``const`` already implies it. No fix changes
    which values are accepted, nor any text. Raises ``UsageError`` when the form can't be told.
    """
    value = copy.deepcopy(document.value if isinstance(document, Document) else document)
    found = chosen(value, form)
    applied: list[tuple[str, str, str]] = []
    for path, each in tools(value, found):
        prefix = "".join(f"/{escape(str(step))}" for step in path)
        for pointer, schema in embedded(each, found):
            given = not pointer.endswith(("/outputSchema", "/success", "/error"))
            whole = found not in _LISTS  # elsewhere the schema of one parameter is a piece of a larger one
            applied += [
                (prefix + pointer + at_, rule, what) for at_, rule, what in _mend(schema, whole, given)
            ]
    return Fixed(value, tuple(applied))


def _mend(schema: Any, whole: bool, given: bool) -> Iterator[tuple[str, str, str]]:
    """Apply the fixes to ``schema`` in place and yield what was done."""
    if not isinstance(schema, dict):
        return
    for pointer, name in unused_definitions(schema) if whole else ():
        word = pointer.split("/")[1]
        del schema[word][name]
        if not schema[word]:
            del schema[word]
        yield pointer, "unused-defs", f"took out the definition {name!r}"
    draft_7 = "draft-07" in str(schema.get("$schema", ""))
    for sub in _subschemas(schema):
        if draft_7 and "$ref" in sub.schema:
            continue
        required = sub.schema.get("required")
        if isinstance(required, list) and all(isinstance(one, str) for one in required):
            once = list(dict.fromkeys(required))
            if once != required:
                sub.schema["required"] = once
                yield f"{sub.pointer}/required", "duplicate-required", "left each name once"
        if given and sub.name is not None and (kinds := _missing_type(sub.schema)):
            mended = {"type": kinds, **sub.schema}
            sub.schema.clear()
            sub.schema.update(mended)
            yield sub.pointer, "no-type", f"said the type that the values imply: {json.dumps(kinds)}"


# ------------------------------------------------------------------------ SARIF

SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def sarif(
    results: Sequence[tuple[str, Document | None, Sequence[Finding]]], *, lang: str = "en", version: str = ""
) -> dict[str, Any]:
    """Return one SARIF 2.1.0 log with one run: the rules, and a result for each finding.

    ``results`` has a file's name (as it is to stand in the log), its document where line and column are
    wanted, and its findings; ``lang`` is the language of the messages.
    """
    ids = list(RULES)
    driver: dict[str, Any] = {
        "name": "ai-evolution atdf lint",
        "language": lang,
        "rules": [
            {
                "id": rule.id,
                "shortDescription": {"text": _general(rule.es if lang == "es" else rule.en)},
                "defaultConfiguration": {"level": rule.severity},
                "properties": {"fixable": rule.fixable},
            }
            for rule in RULES.values()
        ],
    }
    if version:
        driver["version"] = version
    rows = [
        {
            "ruleId": finding.rule,
            "ruleIndex": ids.index(finding.rule),
            "level": finding.severity,
            "message": {"text": f"{finding.tool}: {finding.message[lang]}"},
            "locations": [_location(name, document, finding)],
        }
        for name, document, findings in results
        for finding in findings
    ]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": rows}
    return {"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}


def _general(text: str) -> str:
    return re.sub(r"\{(\w+)(![rs])?\}", r"<\1>", text).replace("{{", "{").replace("}}", "}")


def _location(name: str, document: Document | None, finding: Finding) -> dict[str, Any]:
    from urllib.parse import quote

    physical: dict[str, Any] = {"artifactLocation": {"uri": quote(name.replace("\\", "/"))}}
    place = document.position(finding.pointer) if document is not None else None
    if place is not None:
        physical["region"] = {"startLine": place[0], "startColumn": place[1]}
    logical = {"fullyQualifiedName": finding.pointer or "/", "name": finding.tool}
    return {"physicalLocation": physical, "logicalLocations": [logical]}
