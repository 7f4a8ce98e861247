"""Hypothesis strategies: arbitrary JSON Schemas, tools of MCP, and descriptions in every other form.

The schemas are valid (draft 2020-12, or draft-07 where ``$schema`` says so) and as odd as the rules
allow: keys in any order, ``required`` with duplicates and strangers, parameters named ``required`` or
``""`` or beyond the BMP, booleans in the place of schemas, references to nowhere.

Hypothesis draws one large number for each document, and a ``Maker`` spends it, choice by choice, as
digits of a mixed radix. That is thirty times faster than a strategy for each keyword, so that thousands
of documents fit into a test; it still shrinks, since a smaller number is a simpler document and 0 the
simplest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from hypothesis import strategies as st

T = TypeVar("T")
TYPES = ("string", "object", "array", "integer", "number", "boolean", "null")
DRAFT_7, DRAFT_2020 = (
    "http://json-schema.org/draft-07/schema#",
    "https://json-schema.org/draft/2020-12/schema",
)
NAMES = (
    "a", "b", "url", "repo_path", "type", "required", "properties", "description", "$ref", "title", "name",
    "0",
    "", "x/y", "m~n", "~1", "Año", "𝒳", "👩‍💻", "a b", "é", "null", "inputSchema", "_meta", "x-mcp",
    "1", "-", "\u0000",
)  # fmt: skip
TEXTS = (
    "A path.",
    "",
    "¿Cuándo?",
    "line\nline",
    "𝒳",
    '\\"',
    "OK",
    "a",
    "2026-01-01",
    "no",
    "1e3",
    "\u2028",
    "string",
)
NUMBERS = (0, 1, -1, 1.0, 0.5, 2**53, 10**20, 1e300, -0.0, 7)
PLAIN = (
    "type", "types", "description", "title", "default", "const", "examples", "enum", "format",
    "pattern", "minLength", "maxLength", "minimum", "maximum", "exclusiveMinimum",
    "exclusiveMaximum", "multipleOf", "minItems", "maxItems", "uniqueItems", "minProperties",
    "maxProperties", "required", "$ref", "$comment", "deprecated", "readOnly", "writeOnly",
    "contentEncoding", "contentMediaType", "x-order", "dependentRequired", "$anchor", "minContains",
)  # fmt: skip
NESTED = (
    "properties", "items", "anyOf", "additionalProperties", "$defs", "allOf", "oneOf",
    "definitions", "dependentSchemas", "patternProperties", "prefixItems", "not", "if", "then",
    "else", "contains", "propertyNames", "unevaluatedProperties", "unevaluatedItems",
    "contentSchema",
)  # fmt: skip


class Maker:
    """Spends a number on choices; when it is used up, every choice is the first one."""

    def __init__(self, number: int) -> None:
        self.number = number
        self._made = 0

    def pick(self, among: int) -> int:
        """Return a number from 0 up to ``among``, that not included."""
        self.number, chosen = divmod(self.number, among)
        return chosen

    def one(self, choices: Sequence[T]) -> T:
        return choices[self.pick(len(choices))]

    def often(self) -> bool:
        return self.pick(4) > 0

    def some(self, most: int, make: Callable[[], T]) -> list[T]:
        return [make() for _ in range(self.pick(most + 1))]

    def text(self) -> str:
        if self.pick(4):
            return self.one(TEXTS)
        return "".join(chr(self.pick(0xD800)) for _ in range(self.pick(5)))

    def name(self) -> str:
        return self.one(NAMES) if self.pick(8) else self.text()

    def named(self, most: int, make: Callable[[], T]) -> dict[str, T]:
        return {self.name(): make() for _ in range(self.pick(most + 1))}

    def names(self, most: int) -> list[str]:
        return list(dict.fromkeys(self.some(most, self.name)))

    def scalar(self) -> Any:
        kind = self.pick(6)
        if kind < 2:
            return self.text()
        if kind < 4:
            return self.one(NUMBERS) if self.pick(3) else self.pick(1000) - 9
        return self.one((True, False)) if kind == 4 else None

    def distinct(self) -> list[Any]:
        """Return scalars that differ in JSON Schema (1 and 1.0 are the same, true is another)."""
        drawn = [self.scalar(), *self.some(3, self.scalar)]
        return list({(isinstance(one, bool), one): one for one in drawn}.values())

    def value(self, depth: int = 2) -> Any:
        kind = self.pick(5) if depth else 0
        if kind == 3:
            return self.some(3, lambda: self.value(depth - 1))
        return self.named(3, lambda: self.value(depth - 1)) if kind == 4 else self.scalar()

    # -- schemas

    def schema(self, depth: int = 3) -> Any:
        """Return any JSON Schema of at most so many levels."""
        kind = self.pick(10)
        if kind in (1, 2):
            return kind == 1
        if kind == 3 or not depth:
            return self.one(({"type": "string"}, {}, True, False, {"$ref": "#"}))
        found: dict[str, Any] = {}
        for _ in range(1 + self.pick(4)):
            key, value = self.keyword(depth)
            found[key] = value
        return found

    def keyword(self, depth: int) -> tuple[str, Any]:
        if self.pick(5) < 2:
            key = self.one(NESTED)
            return key, self.nested(key, depth - 1)
        key = self.one(PLAIN)
        return ("type" if key == "types" else key), self.plain(key)

    def nested(self, key: str, depth: int) -> Any:
        if key in ("properties", "$defs", "definitions", "dependentSchemas"):
            return self.named(3, lambda: self.schema(depth))
        if key == "patternProperties":
            return {self.one(("^a", "^x-", ".*")): self.schema(depth) for _ in range(self.pick(3))}
        if key in ("allOf", "anyOf", "oneOf", "prefixItems"):
            return [self.schema(depth) for _ in range(1 + self.pick(3))]
        return self.schema(depth)

    def plain(self, key: str) -> Any:
        if key in ("description", "title", "format", "$comment", "contentEncoding", "contentMediaType"):
            return self.text()
        if key.startswith(("min", "max")) and key not in ("minimum", "maximum"):
            return self.pick(9)
        if key in ("uniqueItems", "deprecated", "readOnly", "writeOnly"):
            return self.pick(2) == 0
        makers: dict[str, Callable[[], Any]] = {
            "type": lambda: self.one(TYPES),
            "types": lambda: list(dict.fromkeys([self.one(TYPES), *self.some(2, lambda: self.one(TYPES))])),
            "minimum": lambda: self.one(NUMBERS),
            "maximum": lambda: self.one(NUMBERS),
            "exclusiveMinimum": lambda: self.one(NUMBERS),
            "exclusiveMaximum": lambda: self.one(NUMBERS),
            "multipleOf": lambda: self.one((1, 0.5, 3)),
            "enum": self.distinct,
            "examples": lambda: self.some(2, self.value),
            "pattern": lambda: self.one(("^a", "[0-9]+", "")),
            "required": lambda: self.names(3),
            "dependentRequired": lambda: self.named(2, lambda: self.names(2)),
            "$ref": lambda: self.one(("#", "#/$defs/a", "#/properties/a", "https://example.org/s.json")),
            "$anchor": lambda: self.one(("a", "b")),
        }
        return makers.get(key, self.value)()

    def arguments(self) -> dict[str, Any]:
        """Return a schema of arguments: its root has ``type: object``, in any place."""
        found: dict[str, Any] = {}
        where = self.pick(3)
        for position in range(1 + self.pick(6)):
            if position == where:
                found["type"] = "object"
            key = self.one(
                ("properties", "required", "additionalProperties", "$schema", "title", "$defs", "any")
            )
            if key == "any":
                key, value = self.keyword(2)
                found |= {} if key == "type" else {key: value}
            elif key == "$schema":
                found[key] = self.one((DRAFT_7, DRAFT_2020))
            elif key == "required":
                names = list(found.get("properties", {})) or [self.name()]
                found[key] = self.some(4, lambda names=names: self.one([*names, self.name()]))
            elif key == "properties":
                found[key] = self.named(4, self.schema)
            elif key == "$defs":
                found[key] = self.named(2, self.schema)
            else:
                found[key] = self.text() if key == "title" else self.schema(2)
        return found if "type" in found else {"type": "object"} | found

    # -- tools

    def tool(self) -> dict[str, Any]:
        """Return a tool of MCP."""
        members: list[tuple[str, Any]] = [("name", self.word()), ("inputSchema", self.arguments())]
        makers: dict[str, Callable[[], Any]] = {
            "description": self.text,
            "title": self.text,
            "outputSchema": lambda: self.schema(2),
            "annotations": lambda: {self.one(("readOnlyHint", "openWorldHint", "x")): self.pick(2) == 0},
            "icons": lambda: self.some(2, lambda: {"src": self.text(), "sizes": self.some(2, self.text)}),
            "execution": lambda: {"taskSupport": self.one(("forbidden", "optional"))},
            "_meta": self.meta,
            "x-unknown": self.value,
        }
        for _ in range(self.pick(6)):
            key = self.one(tuple(makers))
            members.insert(self.pick(len(members) + 1), (key, makers[key]()))
        return dict(members)

    def meta(self) -> dict[str, Any]:
        """Return a ``_meta``, sometimes with what looks like our own part of it."""
        found = self.named(2, self.value)
        if self.pick(2):
            found["ai-evolution/atdf"] = self.carried() if self.pick(4) else self.value()
        return found | (self.named(1, self.scalar) if self.pick(2) else {})

    def carried(self) -> dict[str, Any]:
        makers: dict[str, Callable[[], Any]] = {
            "when_to_use": self.text,
            "when_not_to_use": self.text,
            "version": self.text,
            "tags": lambda: self.some(2, self.text),
            "error": lambda: self.schema(1),
            "success_text": self.text,
            "failures": lambda: self.some(2, self.failure),
            "examples": lambda: self.some(2, lambda: {"input": self.value(), "output": self.value()}),
            "metadata": lambda: self.named(2, self.value),
            "prerequisites": lambda: {"tools": self.some(2, self.text)},
            "rest": self.value,
            "types": self.value,
            "order": self.value,
            "derived": self.value,
        }
        return {key: makers[key]() for key in self.some(3, lambda: self.one(tuple(makers)))}

    def word(self) -> str:
        return self.one(("get", "a.b", "git_log", "x-y", "T", "1")) if self.pick(4) else self.text() or "t"

    def failure(self) -> dict[str, str]:
        return {"code": self.one(("E1", "400", "not_found")), "description": self.text() or "It failed."}

    # -- the other forms

    def fields(self, required: dict[str, Any], optional: dict[str, Callable[[], Any]]) -> dict[str, Any]:
        """Return the required members and some of the others, in any order."""
        members = list(required.items())
        for key in dict.fromkeys(self.some(5, lambda: self.one(tuple(optional)))):
            members.insert(self.pick(len(members) + 1), (key, optional[key]()))
        return dict(members)

    def said(self) -> str:
        return self.text() or "It reads."

    def object(self) -> dict[str, Any]:
        return self.named(3, self.value)

    def type_word(self) -> str:
        return self.one((*TYPES, "string|null", "any", "float", "list", "never", "datetime", "file", "a|b"))

    def listed(self, optional: dict[str, Callable[[], Any]]) -> list[dict[str, Any]]:
        names = dict.fromkeys(name for name in self.some(4, self.name) if name)
        return [self.fields({"name": name, "type": self.type_word()}, optional) for name in names]

    def outputs(self) -> dict[str, Any]:
        return {"success": self.said(), "failure": self.some(2, self.failure)}

    def stamped(self) -> dict[str, Any]:
        return self.fields(
            {},
            {
                "version": self.text, "author": self.text, "tags": lambda: self.some(2, self.text),
                "category": self.text, "created_at": self.text,
            },
        )  # fmt: skip

    def example(self) -> dict[str, Any]:
        found = {"goal": self.text(), "input_values": self.object(), "expected_result": self.text()}
        return found | ({"note": self.value()} if not self.pick(3) else {})

    def basic(self) -> dict[str, Any]:
        inputs = self.listed({"description": self.text})
        how = {"inputs": inputs, "outputs": self.outputs()}
        required = {self.one(("tool_id", "id")): self.word(), "description": self.said()}
        return self.fields(
            required | {"when_to_use": self.said(), "how_to_use": how}, {"schema_version": self.text}
        )

    def enhanced(self) -> dict[str, Any]:
        inputs = self.listed(
            {"description": self.text, "required": lambda: self.pick(2) == 0, "schema": self.inner}
        )
        how = {"inputs": inputs, "outputs": self.outputs()}
        required = {self.one(("tool_id", "id")): self.word(), "description": self.said()}
        return self.fields(
            required | {"when_to_use": self.said(), "how_to_use": how},
            {
                "schema_version": self.text,
                "metadata": self.stamped,
                "when_not_to_use": self.text,
                "localization": lambda: {"es": {"description": self.said(), "when_to_use": self.said()}},
                "prerequisites": lambda: {"tools": self.some(2, self.text), "other": self.value()},
                "feedback": lambda: {"completion_signals": self.some(2, self.text)},
                "examples": lambda: self.some(2, self.example),
                "unknown": self.value,
            },
        )

    def inner(self) -> dict[str, Any]:
        found = self.schema(2)
        return found if isinstance(found, dict) else {}

    def article(self) -> dict[str, Any]:
        tool = self.fields(
            {
                "name": self.word(), "description": self.said(), "input": self.arguments(),
                "output": {"success": self.schema(2), "error": self.schema(2)},
            },
            {
                "title": self.text, "version": self.text, "when_to_use": self.text,
                "when_not_to_use": self.text, "tags": lambda: self.some(2, self.text),
                "localization": lambda: {"es": self.object()}, "metadata": self.object, "unknown": self.value,
                "examples": lambda: self.some(2, lambda: {"input": self.object(), "output": self.object()}),
            },
        )  # fmt: skip
        return {"tool": tool} | ({"about": self.value()} if not self.pick(3) else {})

    def catalogue(self) -> dict[str, Any]:
        return {"tools": self.some(2, self.entry)} | ({"version": self.text()} if self.pick(2) else {})

    def entry(self) -> dict[str, Any]:
        return self.fields(
            {"name": self.word(), "description": self.text(), "inputSchema": self.arguments()},
            {
                "version": self.text, "tags": lambda: self.some(2, self.text), "when_to_use": self.text,
                "examples": lambda: self.some(2, lambda: {"name": self.text(), "input": self.object()}),
                "unknown": self.value, "title": self.text,
            },
        )  # fmt: skip

    def sdk(self) -> dict[str, Any]:
        parameter: dict[str, Callable[[], Any]] = {
            "description": lambda: self.one((self.text(), None)), "required": lambda: self.pick(2) == 0,
            "enum": lambda: self.one((None, [self.scalar()])), "default": self.value,
            "min_value": lambda: self.one((*NUMBERS, None)), "max_value": lambda: self.one(NUMBERS),
            "pattern": self.text, "properties": lambda: self.named(2, self.schema), "unknown": self.value,
        }  # fmt: skip
        return self.fields(
            {"name": self.word(), "description": self.text(), "parameters": self.listed(parameter)},
            {
                "id": self.text, "version": lambda: self.one((None, self.text())), "category": self.text,
                "tags": lambda: self.some(2, self.text), "metadata": self.object, "when_to_use": self.text,
                "prerequisites": self.object, "examples": lambda: self.some(2, self.example),
            },
        )  # fmt: skip

    def ardf(self) -> dict[str, Any]:
        inputs = [{"description": self.text()} | one for one in self.listed({"format": self.text})]
        content = {"type": "tool/io", "data": {"inputs": inputs, "outputs": self.outputs()}}
        return self.fields(
            {
                "schema_version": "1.0.0", "resource_id": self.word(), "resource_type": "tool",
                "description": self.said(), "content": content,
            },
            {
                "when_to_use": self.text, "metadata": lambda: self.stamped() | {"domain": self.text()},
                "localization": lambda: {"es": {"description": self.text()}},
                "prerequisites": lambda: {"policies": self.some(2, self.text)},
                "examples": lambda: self.some(2, lambda: self.object() | {"name": self.text()}),
                "feedback": lambda: {"success_rate": 0.5},
                "unknown": self.value,
            },
        )  # fmt: skip

    def openai(self) -> dict[str, Any]:
        function = self.fields(
            {"name": self.word(), "parameters": self.arguments()},
            {"description": self.text, "strict": lambda: self.pick(2) == 0, "unknown": self.value},
        )
        return {"type": "function", "function": function} if self.pick(2) else {"type": "function"} | function

    def anthropic(self) -> dict[str, Any]:
        return self.fields(
            {"name": self.word(), "input_schema": self.arguments()},
            {
                "description": self.text, "cache_control": lambda: {"type": "ephemeral"},
                "input_examples": lambda: self.some(2, self.object), "type": lambda: "custom",
            },
        )  # fmt: skip


FORMS: dict[str, Callable[[Maker], Any]] = {
    "mcp": Maker.tool,
    "atdf-1": Maker.basic,
    "atdf-2": Maker.enhanced,
    "atdf-tools": Maker.catalogue,
    "atdf-sdk": Maker.sdk,
    "ardf-1": Maker.ardf,
    "atdf-tool": Maker.article,
    "openai": Maker.openai,
    "anthropic": Maker.anthropic,
}


def made(make: Callable[[Maker], T], bits: int = 2048) -> st.SearchStrategy[T]:
    """Return a strategy of what ``make`` builds from a number of at most so many bits."""
    return st.integers(0, 2**bits - 1).map(lambda number: make(Maker(number)))


schemas = made(Maker.schema)
arguments = made(Maker.arguments)
tools = made(Maker.tool)


def documents(form: str) -> st.SearchStrategy[Any]:
    """Return a strategy of valid documents of a form."""
    return made(FORMS[form])
