"""The seven forms that a tool description comes in: which one a document has, and what breaks it.

Six carry the name ATDF or ARDF; the seventh is the tool of MCP. A form is told by its keys, never by a
version number: the numbers of the original repository run backwards. Each form has a JSON Schema (2020-12) of
our own in ``schemas/`` that accepts what the original accepts, and the original's gaps with it: what is legal
and unwise is for ``lint`` to say.

A document may hold one tool or several: a list, or ``{"tools": [...]}``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from ai_evolution.atdf.documents import Document, pointer_of
from ai_evolution.atdf.schemas import Problem, check_schema, fits, problems_in
from ai_evolution.errors import UsageError

Text = Mapping[str, str]
Path = tuple[str | int, ...]


@dataclass(frozen=True)
class Form:
    """One form. ``says`` describes it in both languages; ``embeds`` are the pointers of its JSON Schemas,
    with ``*`` for each item of a list."""

    name: str
    says: Text
    embeds: tuple[str, ...] = ()


FORMS: Mapping[str, Form] = MappingProxyType(
    {
        form.name: form
        for form in (
            Form(
                "atdf-1",
                {
                    "en": "ATDF 1.x, basic: a flat list of inputs, and nothing else",
                    "es": "ATDF 1.x, básico: una lista plana de entradas y nada más",
                },
            ),
            Form(
                "atdf-2",
                {
                    "en": "ATDF 2.x, enhanced: inputs with a schema, metadata, languages, examples",
                    "es": "ATDF 2.x, ampliado: entradas con esquema, metadatos, idiomas, ejemplos",
                },
                ("/how_to_use/inputs/*/schema",),
            ),
            Form(
                "atdf-tools",
                {
                    "en": "ATDF tools list: a catalogue with the input schemas of MCP",
                    "es": "lista de herramientas ATDF: un catálogo con los esquemas de entrada de MCP",
                },
                ("/tools/*/inputSchema", "/tools/*/outputSchema"),
            ),
            Form(
                "atdf-sdk",
                {
                    "en": "the ATDF SDK's form: a list of typed parameters",
                    "es": "la forma del SDK de ATDF: una lista de parámetros con tipo",
                },
            ),
            Form(
                "ardf-1",
                {
                    "en": "ARDF 1.0.0, the successor: any resource, a tool being one kind",
                    "es": "ARDF 1.0.0, el sucesor: cualquier recurso; la herramienta es un tipo más",
                },
            ),
            Form(
                "atdf-tool",
                {
                    "en": "ATDF tool with schemas: input, success and error as JSON Schemas, and examples",
                    "es": "herramienta ATDF con esquemas: entrada, éxito y error en JSON Schema, y ejemplos",
                },
                ("/tool/input", "/tool/output/success", "/tool/output/error"),
            ),
            Form(
                "mcp",
                {
                    "en": "a tool of the Model Context Protocol",
                    "es": "una herramienta del Model Context Protocol",
                },
                ("/inputSchema", "/outputSchema"),
            ),
        )
    }
)

BASIC = ("schema_version", "tool_id", "id", "description", "when_to_use", "how_to_use")
"""The root keys of ATDF 1.x, which is closed; 2.x allows any other."""
_MCP_ONLY = ("annotations", "title", "icons", "execution", "_meta")
_LISTING_ONLY = ("nextCursor", "_meta", "resultType", "ttlMs", "cacheScope", "protocolVersion")
_CATALOGUE_ONLY = ("version", "tags", "examples")


@dataclass(frozen=True)
class Detection:
    """The form of a document, or None; ``why`` in the words of its keys, and what else it would pass as."""

    form: str | None
    why: tuple[str, ...]
    also: tuple[str, ...] = ()


def detect(value: Any) -> Detection:
    """Say which form ``value`` (a parsed document) has, by its keys, and why. Validates nothing but what
    tells the two ``how_to_use`` forms apart. Never raises."""
    if isinstance(value, Document):
        value = value.value
    if isinstance(value, list):
        return _of_several(value, "the document is a list")
    if not isinstance(value, dict):
        return Detection(None, ("the document is no object and no list",))
    tools = value.get("tools")
    if isinstance(tools, list) and "how_to_use" not in value:
        return _of_catalogue(value, tools)
    return _of_one(value)


def _of_one(value: dict[str, Any]) -> Detection:
    if "resource_id" in value:
        return Detection("ardf-1", ("it has resource_id",))
    if "how_to_use" in value:
        return _basic_or_enhanced(value)
    tool = value.get("tool")
    if isinstance(tool, dict) and ("input" in tool or "output" in tool):
        return Detection("atdf-tool", ("it has tool with input or output",))
    if "inputSchema" in value:
        return Detection("mcp", ("it has inputSchema",))
    if isinstance(value.get("parameters"), list):
        return Detection("atdf-sdk", ("it has a list of parameters",))
    keys = ", ".join(str(key)[:40] for key in list(value)[:8]) or "none"
    told = "resource_id, how_to_use, tool with input, tools, inputSchema, parameters"
    return Detection(None, (f"it has none of {told}; its keys: {keys}",))


def _basic_or_enhanced(value: dict[str, Any]) -> Detection:
    why = ["it has how_to_use"]
    told = [str(key)[:40] for key in value if key not in BASIC][:8]
    how = value["how_to_use"]
    inputs = how.get("inputs") if isinstance(how, dict) else None
    for index, each in enumerate(inputs if isinstance(inputs, list) else ()):
        if isinstance(each, dict) and (found := [key for key in ("required", "schema") if key in each]):
            told.append(f"how_to_use.inputs[{index}].{found[0]}")
            break
    form, other = ("atdf-2", "atdf-1") if told else ("atdf-1", "atdf-2")
    why.append(
        f"and {', '.join(told)}, which 1.x does not know" if told else "and nothing that only 2.x knows"
    )
    return Detection(form, tuple(why), (other,) if fits(value, other) else ())


def _of_catalogue(value: dict[str, Any], tools: list[Any]) -> Detection:
    if not all(isinstance(each, dict) and "inputSchema" in each for each in tools):
        return _of_several(tools, "it has tools")
    listing = [key for key in _LISTING_ONLY if key in value]
    protocol = [key for key in _MCP_ONLY if any(key in each for each in tools)]
    catalogue = [key for key in _CATALOGUE_ONLY if key in value or any(key in each for each in tools)]
    why = "it has tools, each with inputSchema"
    if (listing or protocol) and not catalogue:
        told = ", ".join([*listing, *(f"tools[].{key}" for key in protocol)])
        also = ("atdf-tools",) if fits(value, "atdf-tools") else ()
        return Detection("mcp", (why, f"and {told}, which MCP has"), also)
    also = ("mcp",) if all(fits(each, "mcp") for each in tools) else ()
    told = ", ".join(catalogue) if catalogue else "nothing that only MCP has"
    return Detection("atdf-tools", (why, f"and {told}"), also)


def _of_several(items: list[Any], why: str) -> Detection:
    if not items:
        return Detection(None, (f"{why} and it is empty",))
    found: dict[str | None, int] = {}
    also: set[str] | None = None
    for index, each in enumerate(items):
        one = _of_one(each) if isinstance(each, dict) else Detection(None, ("it is no object",))
        if one.form is None:
            return Detection(None, (f"{why}, and of its item {index}: {one.why[0]}",))
        found.setdefault(one.form, index)
        also = set(one.also) if also is None else also & set(one.also)
    forms = [str(form) for form in found]
    if set(forms) == {"atdf-1", "atdf-2"}:
        return Detection("atdf-2", (f"{why} of tools, some of them 1.x and some 2.x",))
    if len(forms) > 1:
        first = ", ".join(f"{form} (item {index})" for form, index in found.items())
        return Detection(None, (f"{why} of different forms: {first}",))
    return Detection(
        forms[0], (f"{why} of {len(items)} tools", "each of this form"), tuple(sorted(also or ()))
    )


def tools(value: Any, form: str) -> Iterator[tuple[Path, Any]]:
    """Each single document of that form in ``value``, with its path: the value itself, or its members."""
    if isinstance(value, list):
        yield from (((index,), each) for index, each in enumerate(value))
    elif form != "atdf-tools" and isinstance(value, dict) and isinstance(value.get("tools"), list):
        if "how_to_use" in value:
            yield (), value
        else:
            yield from ((("tools", index), each) for index, each in enumerate(value["tools"]))
    else:
        yield (), value


def chosen(value: Any, form: str | None) -> str:
    """``form`` when it is one, and otherwise what ``detect`` finds. Raises ``UsageError``."""
    if form is None:
        found = detect(value)
        if found.form is None:
            raise UsageError(f"the form can't be told: {'; '.join(found.why)}")
        return found.form
    if form not in FORMS:
        raise UsageError(f"form {form!r} is not known; accepted: {', '.join(FORMS)}")
    return form


def validate(document: Any, form: str | None = None) -> list[Problem]:
    """What breaks a document (a ``Document`` or a parsed value): its form first, then its JSON Schemas.

    Without ``form`` it is detected; a document of no known form has one problem, with the keyword ``form``.
    Pointers go into the document, so ``Document.locate(problem.pointer)`` says line and column. Raises
    ``UsageError`` for a form that is not known.
    """
    value = document.value if isinstance(document, Document) else document
    if form is None:
        found = detect(value)
        if found.form is None:
            return [Problem("", f"of no known form: {'; '.join(found.why)}", "form")]
        form = found.form
    chosen(value, form)
    problems: list[Problem] = []
    for path, each in tools(value, form):
        prefix = pointer_of(path)
        problems.extend(_moved(_one_of_ids(each, problem), prefix) for problem in problems_in(each, form))
        for pointer, schema in embedded(each, form):
            problems.extend(_moved(problem, prefix + pointer) for problem in check_schema(schema))
    return problems


def embedded(value: Any, form: str) -> Iterator[tuple[str, Any]]:
    """The JSON Schemas in one document of that form, each with its pointer."""
    for pattern in FORMS[form].embeds:
        yield from _matching(value, pattern.split("/")[1:], "")


def _matching(value: Any, steps: list[str], pointer: str) -> Iterator[tuple[str, Any]]:
    if not steps:
        yield pointer, value
    elif steps[0] == "*":
        if isinstance(value, list):
            for index, each in enumerate(value):
                yield from _matching(each, steps[1:], f"{pointer}/{index}")
    elif isinstance(value, dict) and steps[0] in value:
        yield from _matching(value[steps[0]], steps[1:], f"{pointer}/{steps[0]}")


def _moved(problem: Problem, prefix: str) -> Problem:
    return replace(problem, pointer=prefix + problem.pointer) if prefix else problem


def _one_of_ids(value: Any, problem: Problem) -> Problem:
    if problem.keyword == "oneOf" and problem.pointer == "" and isinstance(value, dict):
        there = [key for key in ("tool_id", "id") if key in value]
        words = "both tool_id and id are there" if there else "there is neither tool_id nor id"
        return replace(problem, message=f"{words}; exactly one is accepted")
    return problem
