"""A quick yes: our own schemas as plain functions, so that a valid document costs next to nothing.

``compiled`` turns one of the schemas in ``schemas/`` into a function that says whether a value is valid. It
knows the keywords that those schemas use and refuses any other, so it is of no use for the schemas of
strangers, whose judge is ``jsonschema``. What is not valid goes to ``jsonschema`` too, which has the words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from jsonschema import Draft202012Validator

Check = Callable[[Any], bool]

_IGNORED = frozenset({"$schema", "$id", "$defs", "title", "description", "then", "else"})
_CHECKER = Draft202012Validator.FORMAT_CHECKER


def compiled(schema: Mapping[str, Any]) -> Check:
    """A function that says whether a value fits ``schema``. Raises ``KeyError`` for an unknown keyword."""
    definitions: dict[str, Check] = {}
    for name, each in schema.get("$defs", {}).items():
        definitions[f"#/$defs/{name}"] = _check(each, definitions)
    return _check(schema, definitions)


def _check(schema: Any, definitions: dict[str, Check]) -> Check:
    if isinstance(schema, bool):
        return lambda _: schema
    makers = dict.fromkeys(_KEYWORDS[word] for word in schema if word not in _IGNORED)
    checks = [maker(schema, definitions) for maker in makers]
    if not checks:
        return lambda _: True
    if len(checks) == 1:
        return checks[0]
    first, *others = checks
    if len(others) == 1:
        (second,) = others
        return lambda value: first(value) and second(value)
    return lambda value: first(value) and all(check(value) for check in others)


_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "object": (dict,),
    "array": (list,),
    "boolean": (bool,),
    "number": (int, float),
    "null": (type(None),),
}


def _type(schema: Any, _: Any) -> Check:
    named = schema["type"]
    kinds = frozenset(
        kind for name in ([named] if isinstance(named, str) else named) for kind in _TYPES[name]
    )
    return lambda value: type(value) in kinds


def _members(schema: Any, definitions: dict[str, Check]) -> Check:
    """properties, patternProperties and additionalProperties together."""
    known = {name: _check(each, definitions) for name, each in schema.get("properties", {}).items()}
    patterns = [
        (re.compile(pattern).search, _check(each, definitions))
        for pattern, each in schema.get("patternProperties", {}).items()
    ]
    others = _check(schema.get("additionalProperties", True), definitions)
    closed = "additionalProperties" in schema

    def fits(value: Any) -> bool:
        if type(value) is not dict:
            return True
        for name, each in value.items():
            check = known.get(name)
            told = check is not None
            if check is not None and not check(each):
                return False
            for matches, pattern_check in patterns:
                if matches(name):
                    told = True
                    if not pattern_check(each):
                        return False
            if closed and not told and not others(each):
                return False
        return True

    return fits


def _required(schema: Any, _: Any) -> Check:
    names = frozenset(schema["required"])
    return lambda value: type(value) is not dict or names <= value.keys()


def _items(schema: Any, definitions: dict[str, Check]) -> Check:
    check = _check(schema["items"], definitions)
    return lambda value: type(value) is not list or all(map(check, value))


def _one_of(schema: Any, definitions: dict[str, Check]) -> Check:
    checks = [_check(each, definitions) for each in schema["oneOf"]]
    return lambda value: sum(1 for check in checks if check(value)) == 1


def _all_of(schema: Any, definitions: dict[str, Check]) -> Check:
    checks = [_check(each, definitions) for each in schema["allOf"]]
    return lambda value: all(check(value) for check in checks)


def _if(schema: Any, definitions: dict[str, Check]) -> Check:
    condition = _check(schema["if"], definitions)
    then, otherwise = (_check(schema.get(word, True), definitions) for word in ("then", "else"))
    return lambda value: then(value) if condition(value) else otherwise(value)


def _const(schema: Any, _: Any) -> Check:
    wanted = schema["const"]  # a string in all our schemas, where == is what JSON Schema means
    return lambda value: bool(value == wanted)


def _enum(schema: Any, _: Any) -> Check:
    wanted = frozenset(schema["enum"])
    return lambda value: type(value) is str and value in wanted


def _length(schema: Any, _: Any) -> Check:
    least = schema["minLength"]
    return lambda value: type(value) is not str or len(value) >= least


def _count(schema: Any, _: Any) -> Check:
    least = schema["minItems"]
    return lambda value: type(value) is not list or len(value) >= least


def _least(schema: Any, _: Any) -> Check:
    least = schema["minimum"]
    return lambda value: type(value) not in (int, float) or value >= least


def _most(schema: Any, _: Any) -> Check:
    most = schema["maximum"]
    return lambda value: type(value) not in (int, float) or value <= most


def _pattern(schema: Any, _: Any) -> Check:
    search = re.compile(schema["pattern"]).search
    return lambda value: type(value) is not str or search(value) is not None


def _format(schema: Any, _: Any) -> Check:
    named = schema["format"]
    return lambda value: _CHECKER.conforms(value, named)


def _reference(schema: Any, definitions: dict[str, Check]) -> Check:
    name = schema["$ref"]
    return lambda value: definitions[name](value)


_KEYWORDS: Mapping[str, Callable[[Any, dict[str, Check]], Check]] = {
    "type": _type,
    "properties": _members,
    "patternProperties": _members,
    "additionalProperties": _members,
    "required": _required,
    "items": _items,
    "oneOf": _one_of,
    "allOf": _all_of,
    "if": _if,
    "const": _const,
    "enum": _enum,
    "minLength": _length,
    "minItems": _count,
    "minimum": _least,
    "maximum": _most,
    "pattern": _pattern,
    "format": _format,
    "$ref": _reference,
}
