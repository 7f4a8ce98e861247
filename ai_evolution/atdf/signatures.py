"""Python functions and pydantic models as tool descriptions, and back.

``describe`` reads a function as it is written: its name, its docstring, its annotations. ``stub`` writes
the function that a description speaks of, as text. ``from_model`` and ``to_model`` do the same for
pydantic models. Each of the four says what the other side could not take.

Annotations are turned into JSON Schema by pydantic. Docstrings are read in the three common styles
(Google, NumPy, Sphinx) for the parameters, the result and the errors raised; a section "When to use" or
"When not to use" too. Nothing is invented: what a function does not say is absent. A function is never
called, and a description never becomes running code by itself: ``stub`` returns text, ``to_model`` a
model of fields without validators.
"""

from __future__ import annotations

import ast
import datetime
import inspect
import keyword
import re
import types
import typing
import unicodedata
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, create_model
from pydantic.errors import PydanticUserError

from ai_evolution.atdf.convert import convert, losses_between
from ai_evolution.atdf.losses import Conversion, Loss, join
from ai_evolution.errors import UsageError

Schema = dict[str, Any]

# ---- docstrings -----------------------------------------------------------------------------------------


@dataclass
class Docstring:
    """What a docstring says, by section."""

    text: str = ""
    parameters: dict[str, str] = field(default_factory=dict)
    returns: str = ""
    raises: dict[str, str] = field(default_factory=dict)
    when_to_use: str = ""
    when_not_to_use: str = ""


SECTIONS = {
    "args": "parameters", "arguments": "parameters", "parameters": "parameters", "params": "parameters",
    "returns": "returns", "return": "returns", "raises": "raises", "when to use": "when_to_use",
    "when not to use": "when_not_to_use",
}  # fmt: skip
_ENTRY = re.compile(r"^\*{0,2}(?P<name>\w+)\s*(\([^)]*\))?\s*(:\s*(?P<text>.*))?$")
_FIELD = re.compile(r"^:(?P<kind>param|parameter|arg|returns?|raises?)\b\s*(?P<words>[^:]*):\s*(?P<text>.*)$")


def read_docstring(raw: str | None) -> Docstring:
    """Return what a docstring says of the whole, of each parameter, of the result and of the errors."""
    reader = _Reader()
    lines = inspect.cleandoc(raw or "").splitlines()
    for line, below in zip(lines, [*lines[1:], ""], strict=False):
        reader.take(line, below)
    reader.found.text = re.sub(r"\n{3,}", "\n\n", "\n".join(reader.body)).strip()
    return reader.found


class _Reader:
    """Reads a docstring line by line and remembers which section it is in."""

    def __init__(self) -> None:
        self.found, self.body = Docstring(), list[str]()
        self.section, self.entry, self.indent = "", "", 0

    def take(self, line: str, below: str) -> None:
        words = line.strip()
        title = words.rstrip(":").lower()
        ruled = len(below.strip()) >= 3 and set(below.strip()) == {"-"}
        if title in SECTIONS and line == words and (ruled or words.endswith(":")):
            self.section, self.entry = SECTIONS[title], ""
        elif spot := _FIELD.match(line):
            self._field(spot)
        elif not self.section:
            self.body.append(line)
        elif words and set(words) != {"-"}:
            self._inside(words, len(line) - len(line.lstrip()))

    def _field(self, spot: re.Match[str]) -> None:
        """Take ``:param name: text`` and its like."""
        names = spot["words"].split()
        self.indent = 0
        if spot["kind"].startswith("return"):
            self.section, self.found.returns = "returns", spot["text"].strip()
        else:
            self.section = "raises" if spot["kind"].startswith("raise") else "parameters"
            self.entry = names[-1] if names else ""
            getattr(self.found, self.section)[self.entry] = spot["text"].strip()

    def _inside(self, words: str, indent: int) -> None:
        """Take a line of a section: an entry, what goes on with one, or what ends the section."""
        if self.section not in ("parameters", "raises"):
            if indent == 0 and getattr(self.found, self.section):
                self._end(words)
            else:
                said = getattr(self.found, self.section)
                setattr(self.found, self.section, f"{said} {words}".strip())
            return
        named: dict[str, str] = getattr(self.found, self.section)
        if self.entry and indent > self.indent:
            named[self.entry] = f"{named[self.entry]} {words}".strip()
        elif (spot := _ENTRY.match(words)) and (spot["text"] is not None or indent == 0):
            self.entry, self.indent = spot["name"], indent
            named[self.entry] = (spot["text"] or "").strip() if indent else ""  # at the margin it is a type
        else:
            self._end(words)

    def _end(self, words: str) -> None:
        self.section, self.entry = "", ""
        self.body.append(words)


# ---- from a function ------------------------------------------------------------------------------------


def describe(function: Callable[..., Any], to: str = "mcp", *, name: str | None = None) -> Conversion:
    """Return a function as a tool description in any form; ``losses`` point into its signature.

    Losses are what a call by named JSON values can't carry: ``/parameters/NAME/kind`` for ``*args``,
    ``**kwargs`` and positional-only parameters, ``/parameters/NAME/default`` for a default that is no JSON,
    ``/parameters/NAME/annotation`` and ``/return`` for a type without a schema. After them stands what the
    form has no place for, with pointers into the description in the article's form. A default of ``...``
    says that an argument may be left out. Raises ``UsageError`` for what has no signature.
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        raise UsageError(f"{function!r:.80} has no signature; a Python function is accepted") from None
    called = name or str(getattr(function, "__name__", type(function).__name__))
    said = read_docstring(inspect.getdoc(function))
    tool, losses = _described(called, signature, _hints(function), said)
    article = convert(tool, "atdf-tool", source="mcp").document
    carried: Schema = {"success_text": said.returns} if said.returns else {}
    if said.raises:
        carried["failures"] = [
            {"code": code, "description": text or code} for code, text in said.raises.items()
        ]
    article["tool"] |= {
        key: getattr(said, key) for key in ("when_to_use", "when_not_to_use") if getattr(said, key)
    }
    if carried:
        article["tool"]["x-atdf"] = article["tool"].get("x-atdf", {}) | carried
    there = convert(article, to, source="atdf-tool")
    return Conversion(there.document, (*losses, *there.losses), there.derived)


def _described(
    name: str, signature: inspect.Signature, hints: Mapping[str, Any], said: Docstring
) -> tuple[Schema, list[Loss]]:
    """Return an MCP tool and what of the signature is not in it."""
    losses: list[Loss] = []
    properties: Schema = {}
    required: list[str] = []
    definitions: Schema = {}
    for position, one in enumerate(signature.parameters.values()):
        if position == 0 and one.name in ("self", "cls"):
            continue
        if one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD):
            losses.append(_lost(one.name, "kind", one.kind.description, "a call by name has no place for it"))
            continue
        if one.kind is one.POSITIONAL_ONLY:
            losses.append(_lost(one.name, "kind", one.kind.description, "arguments are given by name"))
        properties[one.name] = _parameter(one, hints.get(one.name, Any), said, definitions, losses)
        if one.default is one.empty:
            required.append(one.name)
    schema: Schema = {"type": "object", "properties": properties}
    schema |= {"required": required} if required else {}
    schema |= {"$defs": definitions} if definitions else {}
    tool: Schema = (
        {"name": name} | ({"description": said.text} if said.text else {}) | {"inputSchema": schema}
    )
    if "return" in hints and (output := _result(hints["return"], said, losses)) is not None:
        tool["outputSchema"] = output
    return tool, losses


def _lost(name: str, what: str, value: Any, why: str) -> Loss:
    return Loss(join("parameters", name, what), value, why)


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the annotations with their extras; those that can't be resolved are left as they are written."""
    target = function if inspect.isroutine(function) else getattr(function, "__call__", function)  # noqa: B004
    try:
        return typing.get_type_hints(target, include_extras=True)
    except (NameError, TypeError, AttributeError):
        return dict(getattr(target, "__annotations__", {}))


def _parameter(
    one: inspect.Parameter, hint: Any, said: Docstring, definitions: Schema, losses: list[Loss]
) -> Any:
    schema = schema_of_type(hint)
    if schema is None:
        losses.append(_lost(one.name, "annotation", str(hint), "there is no JSON Schema for this type"))
        schema = {}
    definitions |= schema.pop("$defs", {})
    if said.parameters.get(one.name) and "description" not in schema:
        schema["description"] = said.parameters[one.name]
    if one.default is not one.empty and one.default is not ...:
        plain = _plain(one.default, hint)
        if plain is NOT_PLAIN:
            losses.append(_lost(one.name, "default", repr(one.default), "it is no JSON value"))
        else:
            schema["default"] = plain
    return schema


def _result(hint: Any, said: Docstring, losses: list[Loss]) -> Any:
    if hint is None or hint is type(None):
        return {"type": "null"}
    schema = schema_of_type(hint)
    if schema is None:
        losses.append(Loss("/return", str(hint), "there is no JSON Schema for this type"))
        return None
    return schema | ({"description": said.returns} if said.returns and "description" not in schema else {})


def schema_of_type(hint: Any) -> Schema | None:
    """Return the JSON Schema of an annotation without pydantic's made-up titles; None when there is none."""
    if hint is Any or hint is inspect.Parameter.empty:
        return {}
    try:
        found: Schema = _untitled(TypeAdapter(hint).json_schema())
        return found
    except (PydanticUserError, TypeError, ValueError, NameError):
        return None


def _untitled(schema: Any) -> Any:
    """Drop the titles that pydantic makes out of names: they say nothing."""
    if isinstance(schema, list):
        return [_untitled(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: _untitled(value) for key, value in schema.items()}
    for name, part in (found.get("properties") or {}).items():
        if isinstance(part, dict) and part.get("title") == name.replace("_", " ").title():
            del part["title"]
    if isinstance(found.get("title"), str) and "properties" in found:
        del found["title"]
    return found


NOT_PLAIN = object()


def _plain(value: Any, hint: Any) -> Any:
    """Return a default as JSON, through its own type where it is none already."""
    if value is None or (isinstance(value, str | bool | int | float) and value == value):  # not NaN
        return value
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(hint if hint is not inspect.Parameter.empty else Any)
        return adapter.dump_python(value, mode="json", warnings="error")
    except Exception:  # pydantic's errors of a foreign type have no common root
        return NOT_PLAIN


# ---- to a function --------------------------------------------------------------------------------------


def stub(document: Any, *, source: str | None = None) -> Conversion:
    """Return the text of the function that a description speaks of, with what a signature can't say.

    ``losses`` point into the description as an MCP tool: every keyword that ``describe`` would not find in
    the function. The text is valid Python and does nothing; it is never run here. Parameters whose names are
    no names in Python are lost. Raises as ``convert`` does.
    """
    there = convert(document, "mcp", source=source)
    tool = there.document[0] if isinstance(there.document, list) else there.document
    signature = signature_of(tool["inputSchema"], tool.get("outputSchema"))
    name = re.sub(r"\W", "_", tool["name"], flags=re.ASCII)
    name = name if is_name(name) else f"tool_{name}"
    texts = {one: text for one in signature.parameters if (text := _told(tool["inputSchema"], one))}
    result = tool.get("outputSchema")
    returns = str(result.get("description", "")) if isinstance(result, dict) else ""
    said = Docstring(tool.get("description", ""), texts, " ".join(returns.split()))
    docstring = _docstring(said)
    lines = [f"def {name}({_arguments(signature)}) -> {spelled(signature.return_annotation)}:", *docstring]
    text = "from typing import Any, Literal\n\n\n" + "\n".join(lines) + "\n"
    hints = {one.name: one.annotation for one in signature.parameters.values()}
    if signature.return_annotation is not signature.empty:
        hints["return"] = signature.return_annotation
    raw = ast.get_docstring(ast.parse(text).body[1], clean=False)  # type: ignore[arg-type]
    again, _ = _described(name, signature, hints, read_docstring(raw))
    return Conversion(text, (*there.losses, *losses_between(tool, again, "a Python signature")))


def is_name(word: str) -> bool:
    """Whether Python takes a word as a name and leaves it as it is (it composes some letters otherwise)."""
    return word.isidentifier() and not keyword.iskeyword(word) and word == unicodedata.normalize("NFKC", word)


def signature_of(schema: Any, result: Any = None) -> inspect.Signature:
    """Return the signature that says most of a schema of arguments and of one of results.

    Arguments are given by name; one that may be left out and has no default has ``...``.
    """
    schema = schema if isinstance(schema, dict) else {}
    required, given = schema.get("required"), schema.get("properties")
    asked: list[Any] = required if isinstance(required, list) else []
    properties: Schema = given if isinstance(given, dict) else {}
    parameters = []
    for name, part in properties.items():
        if is_name(name):
            default = part.get("default", ...) if isinstance(part, dict) else ...
            chosen = inspect.Parameter.empty if name in asked else default
            hint = type_of_schema(part)
            parameters.append(
                inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=chosen, annotation=hint)
            )
    answer = inspect.Signature.empty if result is None else type_of_schema(result)
    return inspect.Signature(parameters, return_annotation=answer)


def type_of_schema(schema: Any) -> Any:
    """Return the Python type that says most of a schema."""
    if not isinstance(schema, dict):
        return Any
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    if isinstance(values, list) and values and all(isinstance(one, str | int | None) for one in values):
        return Literal[tuple(values)]
    kind = schema.get("type")
    choices = schema.get("anyOf") or (
        [{**schema, "type": one} for one in kind] if isinstance(kind, list) else []
    )
    if isinstance(choices, list) and choices:
        return Union[tuple(type_of_schema(one) for one in choices)]  # noqa: UP007 (made while running)
    if kind == "array":
        items = schema.get("items")
        return list[type_of_schema(items)] if isinstance(items, dict) and items else list  # type: ignore[misc]
    if kind == "object":
        more = schema.get("additionalProperties")
        return dict[str, type_of_schema(more) if isinstance(more, dict) else Any]  # type: ignore[misc]
    return TYPES.get(kind, Any) if isinstance(kind, str) else Any


TYPES = {"string": str, "integer": int, "number": float, "boolean": bool, "null": type(None)}


def spelled(hint: Any) -> str:
    """Return such a type as it is written in code."""
    if hint is Any or hint is inspect.Signature.empty:
        return "Any"
    if hint is None or hint is type(None):
        return "None"
    origin, within = get_origin(hint), get_args(hint)
    if origin is Literal:
        return f"Literal[{', '.join(map(repr, within))}]"
    if origin in (Union, types.UnionType):
        return " | ".join(spelled(one) for one in within)
    if origin is not None:
        return f"{origin.__name__}[{', '.join(spelled(one) for one in within)}]"
    return str(hint.__name__)


def _arguments(signature: inspect.Signature) -> str:
    """Return the arguments of a signature as they are written in code."""
    written = []
    for one in signature.parameters.values():
        text = f"{one.name}: {spelled(one.annotation)}"
        if one.default is not one.empty:
            text += " = ..." if one.default is ... else f" = {one.default!r}"
        written.append(text)
    return ", ".join(["*", *written]) if written else ""


def _told(schema: Schema, name: str) -> str:
    part = schema["properties"][name]
    text = part.get("description") if isinstance(part, dict) else None
    return " ".join(text.split()) if isinstance(text, str) else ""


def _docstring(said: Docstring) -> list[str]:
    """Return a docstring in Google's style, or the dots that a function needs in its place."""
    lines = said.text.splitlines()
    if said.parameters:
        lines += ["", "Args:", *(f"    {name}: {text}" for name, text in said.parameters.items())]
    lines += ["", "Returns:", f"    {said.returns}"] if said.returns else []
    if not lines:
        return ["    ..."]
    safe = "\n".join(lines).replace("\\", "\\\\").replace('"', '\\"').replace("\0", "\\0")
    first, *others = safe.split("\n")
    return [f'    """{first}', *(f"    {line}".rstrip() for line in others), '    """']


# ---- pydantic models ------------------------------------------------------------------------------------


def from_model(model: type[BaseModel], to: str = "mcp", *, name: str | None = None) -> Conversion:
    """Return a model as a tool whose arguments are its fields; its docstring is the description."""
    schema = model.model_json_schema()
    if schema.get("type") != "object":  # a model that refers to itself has its fields in $defs
        inner = schema["$defs"][schema["$ref"].removeprefix("#/$defs/")]
        schema = {**inner, "$defs": schema["$defs"]}
    schema = _untitled(schema)
    said = schema.pop("description", "")
    tool: Schema = {"name": name or model.__name__} | ({"description": said} if said else {})
    return convert(tool | {"inputSchema": schema}, to, source="mcp")


def to_model(schema: Any, name: str = "Arguments") -> Conversion:
    """Return a pydantic model with the fields of a schema of arguments, and what it does not say.

    The losses point into the schema: whatever the model's own schema would not give back. Raises
    ``UsageError`` for a schema that is no object with properties.
    """
    if not isinstance(schema, dict) or not isinstance(schema.get("properties", {}), dict):
        raise UsageError("a model has fields; accepted is a schema with an object of properties")
    given = schema.get("required")
    required = given if isinstance(given, list) else []
    fields: dict[str, Any] = {}
    for position, (key, part) in enumerate(schema.get("properties", {}).items()):
        attribute = key if _is_field(key) else f"field_{position}"
        alias = key if attribute != key else None
        fields[attribute] = _field(part, key, required=key in required, alias=alias)
    closed: Literal["forbid", "ignore"] = (
        "forbid" if schema.get("additionalProperties") is False else "ignore"
    )
    config = ConfigDict(extra=closed, populate_by_name=True, protected_namespaces=())
    if isinstance(schema.get("title"), str):
        config["title"] = schema["title"]
    said = schema.get("description") if isinstance(schema.get("description"), str) else None
    model: type[BaseModel] = create_model(name, __config__=config, __doc__=said, **fields)
    again = _inlined(model.model_json_schema(by_alias=True))
    losses = losses_between({"inputSchema": schema}, {"inputSchema": again}, "a pydantic model")
    told = (Loss(loss.pointer.removeprefix("/inputSchema"), loss.value, loss.why) for loss in losses)
    return Conversion(model, tuple(told))


def _inlined(schema: Any) -> Any:
    """Return a model's schema with its inner models in place, as the schema that it was made from."""
    definitions = schema.get("$defs", {}) if isinstance(schema, dict) else {}

    def here(part: Any) -> Any:
        if isinstance(part, list):
            return [here(one) for one in part]
        if not isinstance(part, dict):
            return part
        name = str(part.get("$ref", "")).removeprefix("#/$defs/")
        more = {key: here(value) for key, value in part.items() if key not in ("$ref", "$defs")}
        return here(definitions[name]) | more if name in definitions else {**part, **more}

    return here(schema)


def _is_field(name: str) -> bool:
    taken = name in dir(BaseModel) or keyword.iskeyword(name)
    return name.isidentifier() and name.isascii() and not name.startswith("_") and not taken


LIMITS = {
    "minimum": "ge", "maximum": "le", "exclusiveMinimum": "gt", "exclusiveMaximum": "lt",
    "multipleOf": "multiple_of",
    "minLength": "min_length", "maxLength": "max_length", "minItems": "min_length", "maxItems": "max_length",
    "pattern": "pattern",
}  # fmt: skip
FORMATS = {"date-time": datetime.datetime, "date": datetime.date, "time": datetime.time, "uuid": uuid.UUID}
LIMITS_OF = {
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    "integer": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    "string": ("minLength", "maxLength", "pattern"),
    "array": ("minItems", "maxItems"),
}  # fmt: skip


def _field(part: Any, key: str, *, required: bool, alias: str | None) -> tuple[Any, Any]:
    """Return a field: its type, its limits and its texts."""
    schema = part if isinstance(part, dict) else {}
    kind = schema.get("type")
    limits = {LIMITS[word]: schema[word] for word in LIMITS_OF.get(str(kind), ()) if word in schema}
    texts = {word: schema[word] for word in ("title", "description") if isinstance(schema.get(word), str)}
    extra: dict[str, Any] = {"alias": alias} if alias is not None else {}
    if isinstance(schema.get("examples"), list):
        extra["examples"] = schema["examples"]
    default = ... if required else schema.get("default")
    return _type(schema, key), Field(default, **limits, **texts, **extra)


def _type(schema: Any, name: str) -> Any:
    """Return the type of a field: a model of its own for an object with properties, else as a signature."""
    if isinstance(schema, dict) and schema.get("type") == "object" and schema.get("properties"):
        return to_model(schema, re.sub(r"\W", "_", f"Of_{name}")).document
    plain = {"enum", "const", "anyOf", "minLength", "maxLength", "pattern"}  # these want a plain string
    if isinstance(schema, dict) and schema.get("type") == "string" and not plain & set(schema):
        return FORMATS.get(str(schema.get("format")), str)
    if isinstance(schema, dict) and schema.get("type") == "array" and isinstance(schema.get("items"), dict):
        return list[_type(schema["items"], name)]  # type: ignore[misc]
    return type_of_schema(schema)
