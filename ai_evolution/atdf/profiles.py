"""What a provider refuses inside a schema of arguments, taken out by name, reported, and put back.

The converters keep every keyword. A provider may refuse some of them, and then one bad tool can break a
whole conversation. A profile is a list of steps, each of which takes out one thing and says so; what it
took stands in the result's ``undo``, with which ``restore`` gives back the very schema. Where a step
changes what is accepted, its losses say in which direction: ``wider`` means that the provider's model may
send what the tool refuses, so the arguments still have to be checked against the whole schema
(``Contract`` does).

Nothing is fetched, no name of a tool is changed, and no profile is applied unless it is asked for.
Sources: the published limits of the two interfaces in 2026 (root combinators refused by both; strict mode
of OpenAI: every object closed, every property required, a short list of keywords), and MCP SEP-2106,
which allows what they refuse.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from ai_evolution.atdf.losses import BY_NAME, ONE, SEVERAL, Conversion, Loss, escape
from ai_evolution.errors import DocumentError, UsageError

Schema = dict[str, Any]


@dataclass(frozen=True)
class Downgraded(Conversion):
    """``document`` is what the provider takes; ``undo`` is what ``restore`` needs, as plain JSON."""

    profile: str = ""
    undo: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True)
class Profile:
    """``says`` what it is for, in English and Spanish; ``steps`` in the order in which they are taken."""

    name: str
    says: Mapping[str, str]
    steps: tuple[Step, ...]


class Work:
    """A schema under a profile: every change goes through here and is noted."""

    def __init__(self, schema: Schema) -> None:
        self.schema: Any = copy.deepcopy(schema)
        self.losses: list[Loss] = []
        self.derived: list[str] = []
        self.undo: list[dict[str, Any]] = []

    def put(self, pointer: str, holder: Any, key: str, value: Any) -> None:
        """Set a keyword that the schema did not have, or had otherwise."""
        self._note(pointer, holder, key)
        holder[key] = value
        self.derived.append(f"{pointer}/{escape(key)}")

    def drop(self, pointer: str, holder: Any, key: str, why: str) -> None:
        """Take a keyword out."""
        self._note(pointer, holder, key)
        self.losses.append(Loss(f"{pointer}/{escape(key)}", holder.pop(key), why))

    def _note(self, pointer: str, holder: Any, key: str) -> None:
        note: dict[str, Any] = {"at": pointer, "key": key, "keys": list(holder)}
        if key in holder:
            note["was"] = copy.deepcopy(holder[key])
        self.undo.append(note)


Step = Callable[[Work], None]


def schemas_in(schema: Any, pointer: str = "") -> Iterator[tuple[str, Any]]:
    """Yield each schema inside a schema that is an object, with its pointer, the outermost first."""
    stack: list[tuple[str, Any]] = [(pointer, schema)]
    while stack:
        at, here = stack.pop()
        if not isinstance(here, dict):
            continue
        yield at, here
        for key, value in reversed(list(here.items())):
            place = f"{at}/{escape(key)}"
            if key in BY_NAME and isinstance(value, dict):
                stack.extend((f"{place}/{escape(name)}", value[name]) for name in reversed(value))
            elif key in SEVERAL | {"items"} and isinstance(value, list):
                stack.extend((f"{place}/{i}", value[i]) for i in range(len(value) - 1, -1, -1))
            elif key in ONE:
                stack.append((place, value))


def inmost_first(schema: Any) -> list[tuple[str, Schema]]:
    """Return the schemas inside a schema so that a step may move or drop each without losing another."""
    return list(schemas_in(schema))[::-1]


# ---- steps ----------------------------------------------------------------------------------------------


def root_without(*keywords: str) -> Step:
    """Take these keywords out of the root; what they allowed is told wider than it was."""

    def step(work: Work) -> None:
        for keyword in keywords:
            if keyword in work.schema:
                work.drop("", work.schema, keyword, f"wider: refused at the root: {keyword}")

    return step


def root_is_an_object(work: Work) -> None:
    """Say ``type: object`` and ``properties`` at the root."""
    if work.schema.get("type") != "object":
        work.put("", work.schema, "type", "object")
    if "properties" not in work.schema:
        work.put("", work.schema, "properties", {})


def without(*keywords: str, why: str = "wider") -> Step:
    """Take keywords out wherever they are."""

    def step(work: Work) -> None:
        for at, schema in inmost_first(work.schema):
            for keyword in keywords:
                if keyword in schema:
                    work.drop(at, schema, keyword, f"{why}: refused anywhere: {keyword}")

    return step


def one_of_as_any_of(work: Work) -> None:
    """Write ``oneOf`` as ``anyOf``, which also accepts what matches twice; drop it beside an ``anyOf``."""
    for at, schema in inmost_first(work.schema):
        if "oneOf" in schema:
            choices = schema["oneOf"]
            work.drop(
                at, schema, "oneOf", "wider: said as anyOf" if "anyOf" not in schema else "wider: dropped"
            )
            if "anyOf" not in schema:
                work.put(at, schema, "anyOf", choices)


def const_as_enum(work: Work) -> None:
    """Write ``const`` as an ``enum`` of one: it means the same."""
    for at, schema in inmost_first(work.schema):
        if "const" in schema:
            value = schema["const"]
            work.drop(at, schema, "const", "same: said as enum")
            if "enum" in schema:
                work.drop(at, schema, "enum", "same: the constant says more")
            work.put(at, schema, "enum", [value])


def every_object_closed(work: Work) -> None:
    """Say ``additionalProperties: false`` in every object; free members can't be said any more."""
    for at, schema in inmost_first(work.schema):
        if _is_object(schema) and schema.get("additionalProperties") is not False:
            if "additionalProperties" in schema:
                work.drop(at, schema, "additionalProperties", "narrower: every object is closed")
            work.put(at, schema, "additionalProperties", False)


def every_property_required(work: Work) -> None:
    """Ask for every property, and let those that were optional be null."""
    for at, schema in inmost_first(work.schema):
        properties = schema.get("properties")
        if not isinstance(properties, dict):
            continue
        required = schema.get("required", [])
        asked = required if isinstance(required, list) else []
        for name in properties:
            if name not in asked:
                _or_null(work, f"{at}/properties/{escape(name)}", properties, f"{at}/properties", name)
        if list(properties) != asked or "required" not in schema:
            work.put(at, schema, "required", list(properties))


def _or_null(work: Work, at: str, properties: Schema, holder_at: str, name: str) -> None:
    part = properties[name]
    if not isinstance(part, dict):
        if part is False:
            work.put(holder_at, properties, name, {"type": "null"})
        return
    kind = part.get("type")
    if isinstance(kind, str) and kind != "null":
        work.put(at, part, "type", [kind, "null"])
    elif isinstance(kind, list) and "null" not in kind:
        work.put(at, part, "type", [*kind, "null"])
    elif kind is None and part:
        work.put(holder_at, properties, name, {"anyOf": [part, {"type": "null"}]})
        return
    if isinstance(part.get("enum"), list) and None not in part["enum"]:
        work.put(at, part, "enum", [*part["enum"], None])


def _is_object(schema: Schema) -> bool:
    kind = schema.get("type")
    return kind == "object" or (isinstance(kind, list) and "object" in kind) or "properties" in schema


COMBINATORS = ("oneOf", "anyOf", "allOf")
CONDITIONS = ("not", "if", "then", "else", "dependentRequired", "dependentSchemas", "dependencies")
STRICT_REFUSED = (
    *CONDITIONS, "allOf", "patternProperties", "propertyNames", "unevaluatedProperties", "unevaluatedItems",
    "contains", "minContains", "maxContains", "uniqueItems", "minProperties", "maxProperties", "prefixItems",
    "contentEncoding", "contentMediaType", "contentSchema",
)  # fmt: skip

PROFILES: Mapping[str, Profile] = MappingProxyType(
    {
        profile.name: profile
        for profile in (
            Profile(
                "anthropic",
                {
                    "en": "Anthropic tool input: an object at the root, without combinators there",
                    "es": "entrada de herramienta de Anthropic: un objeto, sin combinadores en la raíz",
                },
                (root_without(*COMBINATORS), root_is_an_object),
            ),
            Profile(
                "openai",
                {
                    "en": "OpenAI function: an object at the root, without combinators, enum or not there",
                    "es": "función de OpenAI: un objeto en la raíz, sin combinadores, enum ni not en ella",
                },
                (root_without(*COMBINATORS, "enum", "not"), root_is_an_object),
            ),
            Profile(
                "openai-strict",
                {
                    "en": "OpenAI strict mode: every object closed, every property required, few keywords",
                    "es": "modo estricto de OpenAI: objetos cerrados, todo obligatorio, pocas palabras clave",
                },
                (
                    root_without(*COMBINATORS, "enum", "not", "const"),
                    root_is_an_object,
                    without("default", "examples", why="same: an annotation"),
                    const_as_enum,
                    one_of_as_any_of,
                    without(*STRICT_REFUSED),
                    every_object_closed,
                    every_property_required,
                ),
            ),
        )
    }
)


def apply(schema: Any, profile: str) -> Downgraded:
    """Return a schema of arguments as a provider takes it, with what was taken out.

    Every loss has the pointer and the value that the schema had when the step met it, and a word: ``wider``,
    ``narrower`` or ``same``. ``derived`` points to what was put in. Raises ``UsageError`` for an unknown
    profile, ``DocumentError`` for a schema that is no object.
    """
    if profile not in PROFILES:
        raise UsageError(f"no profile {profile!r}; accepted: {', '.join(PROFILES)}")
    if not isinstance(schema, dict):
        raise DocumentError("a schema of arguments is an object; a boolean has no place at a provider")
    work = Work(schema)
    for step in PROFILES[profile].steps:
        step(work)
    return Downgraded(work.schema, tuple(work.losses), tuple(work.derived), profile, tuple(work.undo))


def restore(downgraded: Downgraded, document: Any = None) -> Any:
    """Return the schema that ``apply`` was given, keys in their order.

    ``document`` is the downgraded schema when it came back from elsewhere; edits outside the places that the
    profile touched are kept. Raises ``DocumentError`` when one of these places is gone.
    """
    schema = copy.deepcopy(downgraded.document if document is None else document)
    for note in reversed(downgraded.undo):
        holder = _find(schema, note["at"])
        if not isinstance(holder, dict):
            raise DocumentError(
                f"{note['at'] or '(root)'}: the profile changed this object and it is not there"
            )
        if "was" in note:
            holder[note["key"]] = copy.deepcopy(note["was"])
        else:
            holder.pop(note["key"], None)
        ordered = {key: holder[key] for key in dict.fromkeys([*note["keys"], *holder]) if key in holder}
        holder.clear()
        holder.update(ordered)
    return schema


def _find(schema: Any, pointer: str) -> Any:
    for raw in pointer.split("/")[1:]:
        key = raw.replace("~1", "/").replace("~0", "~")
        if isinstance(schema, dict) and key in schema:
            schema = schema[key]
        elif isinstance(schema, list) and key.isdigit() and int(key) < len(schema):
            schema = schema[int(key)]
        else:
            return None
    return schema
