"""A JSON Schema of arguments as a list of parameters, and back.

The ATDF forms list parameters (``name``, ``type``, ``description``); every other format has one schema.
``split`` takes the schema apart so that ``merge`` can build the very same text again: each parameter
keeps its other keywords beside its type, what belongs to no parameter stays in ``left``, and an ``Order``
says how the keys stood wherever that is not the usual way. A list that was edited by hand wins over what
is remembered about it.

Nothing is refused here: what is no object with properties stays whole in ``left``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from ai_evolution.atdf.description import TYPES

SIMPLE = ("string", "number", "integer", "boolean", "object", "array", "null")
ANY, NEVER = "any", "never"
WORD = "x-atdf-type"  # keeps a type word that JSON Schema does not know, as `description` does
Parameter = dict[str, Any]
Order = dict[str, Any]


def word_of(schema: Any) -> str:
    """Return the type of a schema in one word: ``string``, ``string|null``, ``any``, ``never``."""
    if not isinstance(schema, dict):
        return NEVER if schema is False else ANY
    kind = schema.get("type")
    if isinstance(kind, list) and kind and all(isinstance(one, str) for one in kind):
        return "|".join(kind) or ANY
    return kind if isinstance(kind, str) and kind else ANY


def _remembered(schema: dict[str, Any]) -> str | None:
    """Return the word that a list had for this parameter, when it is not the one that ``word_of`` gives."""
    word = schema.get(WORD)
    if not isinstance(word, str) or word in ("", word_of(schema)):
        return None
    return word if "type" in schema or (word != ANY and type_of(word) is None) else None


def type_of(word: str) -> Any:
    """Return the ``type`` of JSON Schema for such a word; None when the word allows any value."""
    if word in SIMPLE:
        return word
    kinds = word.split("|")
    return kinds if len(kinds) > 1 and all(kind in SIMPLE for kind in kinds) else TYPES.get(word)


def split(schema: Any, inline: Collection[str] | None = None) -> tuple[list[Parameter], Any, Order]:
    """Return the parameters of a schema, what is left of it, and the order of keys that is not the usual one.

    A parameter whose schema can't stand alone (it refers to the root, or the dialect of the root reads it
    otherwise) is listed, and its schema stays in what is left; those named in ``inline`` keep it.
    """
    if not isinstance(schema, dict):
        return [], schema, {}
    properties, required = schema.get("properties"), schema.get("required")
    wanted: set[str] = set(required or ()) if _strings(required) else set()
    older = "$schema" in schema and "2020-12" not in str(schema["$schema"])
    parameters: list[Parameter] = []
    whole: dict[str, Any] = {}
    orders: dict[str, list[str]] = {}
    for name, part in properties.items() if isinstance(properties, dict) else ():
        parameter, order = _split_one(name, part, name in wanted)
        if name:
            parameters.append(parameter)
            if order is None or not (name in (inline or ()) or _stands_alone(part, older)):
                parameter.pop("schema", None)
                whole[name] = part
            elif order:
                orders[name] = order
        else:
            whole[name] = part  # a parameter of the list needs a name
    left = {key: value for key, value in schema.items() if key not in ("properties", "required")}
    if left.get("type") == "object":
        del left["type"]
    if properties is not None and not isinstance(properties, dict):
        left["properties"] = properties
    elif whole:
        left["properties"] = whole
    if "required" in schema and required != [one["name"] for one in parameters if one["required"]]:
        left["required"] = required
    places: Order = {}
    if list(schema) != _usual(parameters, left):
        places["inputSchema"] = list(schema)
    if isinstance(properties, dict) and list(properties) != _names(parameters, whole):
        places["properties"] = list(properties)
    if orders:
        places["parameters"] = orders
    return parameters, left, places


def merge(parameters: Iterable[Parameter], left: Any, order: Order | None = None) -> Any:
    """Return the schema of such a list."""
    parameters, order = list(parameters), order or {}
    if not isinstance(left, dict):
        if not parameters:
            return left
        left = {}
    found: dict[str, Any] = {}
    whole = left.get("properties", {}) if isinstance(left.get("properties", {}), dict) else {}
    orders = order.get("parameters", {})
    for parameter in parameters:
        name = parameter["name"]
        kept = name in whole and _same_view(parameter, whole[name])
        found[name] = whole[name] if kept else _merge_one(parameter, orders.get(name))
    found |= {name: part for name, part in whole.items() if name not in found}
    properties: Any = _ordered(found, order.get("properties"))
    if "properties" in left and not isinstance(left["properties"], dict):
        properties = left["properties"]
    listed = [one["name"] for one in parameters]
    required: Any = [one["name"] for one in parameters if one.get("required") is True]
    if "required" in left:
        said = left["required"]
        if not _strings(said) or {name for name in said if name in set(listed)} == set(required):
            required = said
        else:  # the list was edited: it wins
            required = [*required, *(name for name in said if name not in set(listed))]
    members = {"type": "object", "properties": properties, "required": required} | {
        key: value for key, value in left.items() if key not in ("properties", "required")
    }
    keys = order.get("inputSchema")
    if keys is None:
        if not required and "required" not in left:
            del members["required"]
        return members
    if "type" not in keys and "type" not in left:
        del members["type"]
    if "properties" not in keys and not found and "properties" not in left:
        del members["properties"]
    if "required" not in keys and not required:
        del members["required"]
    return _ordered(members, keys)


def _usual(parameters: list[Parameter], left: dict[str, Any]) -> list[str]:
    """Return the keys of the schema that ``merge`` builds without being told."""
    keys = ["type", "properties"]
    if "required" in left or any(one["required"] for one in parameters):
        keys.append("required")
    return keys + [key for key in left if key not in keys]


def _names(parameters: list[Parameter], whole: dict[str, Any]) -> list[str]:
    names = [one["name"] for one in parameters]
    return names + [name for name in whole if name not in set(names)]


def _split_one(name: str, part: Any, required: bool) -> tuple[Parameter, list[str] | None]:
    """Return a parameter and the order of its keywords: empty for the usual one, None for none at all."""
    if not isinstance(part, dict):
        return {"name": name, "type": word_of(part), "required": required}, None
    told = _remembered(part)
    word = told or word_of(part)
    parameter: Parameter = {"name": name, "type": word}
    lifted = ["type"] if "type" in part and part["type"] == type_of(word) and (told or word in SIMPLE) else []
    lifted += [WORD] if told else []
    if isinstance(part.get("description"), str):
        parameter["description"] = part["description"]
        lifted.append("description")
    parameter["required"] = required
    schema = {key: value for key, value in part.items() if key not in lifted}
    if word == NEVER and not schema and "description" not in parameter:
        return parameter, None  # it would read as false
    if not isinstance(schema.get("properties", {}), dict) or not _strings(schema.get("required", [])):
        return parameter, None
    if schema:
        parameter["schema"] = schema
    return parameter, [] if list(part) == [*lifted, *schema] else list(part)


def _merge_one(parameter: Parameter, order: list[str] | None) -> Any:
    """Return the schema of a parameter."""
    word, schema = parameter["type"], parameter.get("schema", {})
    if word == NEVER and "description" not in parameter and not schema:
        return False
    members: dict[str, Any] = {}
    if "type" in schema:  # the precise one of the two holds
        members = {} if word == word_of(schema) else {WORD: word}
    else:
        kind = type_of(word)
        members = {} if kind is None else {"type": kind}
        members |= {WORD: word} if word != ANY and word_of(members) != word else {}
    if "description" in parameter:
        members["description"] = parameter["description"]
    return _ordered(members | {key: value for key, value in schema.items() if key not in members}, order)


def _stands_alone(part: Any, older: bool) -> bool:
    """Whether a schema means the same outside its document; it may well say no without need."""
    stack = [part]
    while stack:
        here = stack.pop()
        if isinstance(here, dict):
            if any(
                str(here.get(key, "")).startswith("#") for key in ("$ref", "$dynamicRef", "$recursiveRef")
            ):
                return False
            if older and isinstance(here.get("items"), list):
                return False
            stack.extend(here.values())
        elif isinstance(here, list):
            stack.extend(here)
    return True


def _same_view(parameter: Parameter, part: Any) -> bool:
    view, _ = _split_one(parameter["name"], part, parameter.get("required") is True)
    return all(parameter.get(key) == view.get(key) for key in ("type", "description"))


def _ordered(members: dict[str, Any], keys: Iterable[str] | None) -> dict[str, Any]:
    """Return the members in the order of ``keys``; those that are not named there follow."""
    if keys is None:
        return members
    first = [key for key in keys if isinstance(key, str) and key in members]
    return {key: members[key] for key in dict.fromkeys([*first, *members])}


def _strings(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)
