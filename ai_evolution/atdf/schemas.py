"""JSON Schema as this library uses it: the dialect by ``$schema``, formats asserted, nothing ever fetched.

* Dialects: draft-07, 2019-09 and 2020-12; a schema without ``$schema`` is 2020-12, as in MCP. Another
  ``$schema`` is a problem; nothing is guessed.
* ``format`` is an assertion here: "not a date" is no date-time. A format that nobody knows passes, as the
  specification wants it.
* A reference that leaves the document is named and never followed; so is one that leads nowhere.
* Recursion and the work on references and combinations are bounded: past the bound there is a problem,
  never an exception or a hang. A single ``pattern`` is not: ``^(a+)+$`` keeps ``re`` busy, so the patterns of
  a stranger's schema have to be looked at first, or evaluated where they can be ended.

``jsonschema`` is the judge. The meta-schema of 2020-12 is slow to evaluate, so a schema that is plainly well
formed is recognised by a table first (``sight``); with the least doubt the meta-schema decides. What was
found out about a schema is remembered by its text, so a schema may be changed between two calls.
"""

from __future__ import annotations

import copy
import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from itertools import islice
from typing import Any

from jsonschema import Draft7Validator, Draft201909Validator, Draft202012Validator, validators
from jsonschema.exceptions import UnknownType, ValidationError, best_match
from referencing import Registry
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT7, DRAFT201909, DRAFT202012

from ai_evolution.atdf.documents import pointer_of
from ai_evolution.atdf.glance import compiled
from ai_evolution.atdf.sight import Sight

MAX_STEPS = 20_000
"""References and combinations that are followed for one value; more when the value itself is large."""
STEPS_EACH = 20
"""So many more for each value in a large document."""
_FAULTS = 50
_REMEMBERED = 1_000_000
"""Characters of a schema's text up to which its examination is remembered."""


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong: where (RFC 6901), what, and the keyword of the schema that says so."""

    pointer: str
    message: str
    keyword: str


_SPECIFICATIONS = {
    Draft7Validator: DRAFT7,
    Draft201909Validator: DRAFT201909,
    Draft202012Validator: DRAFT202012,
}
_DIALECTS = {
    "json-schema.org/draft-07/schema": Draft7Validator,
    "json-schema.org/draft/2019-09/schema": Draft201909Validator,
    "json-schema.org/draft/2020-12/schema": Draft202012Validator,
}
ACCEPTED = "draft-07, 2019-09 and 2020-12"


def dialect(schema: Any) -> Any:
    """The ``jsonschema`` class for this schema's ``$schema``; None for a dialect that is not accepted."""
    if not isinstance(schema, Mapping) or "$schema" not in schema:
        return Draft202012Validator
    named = schema["$schema"]
    if not isinstance(named, str):
        return None
    return _DIALECTS.get(re.sub(r"^https?://|#$", "", named))


def check_schema(schema: Any) -> list[Problem]:
    """What keeps ``schema`` from being a JSON Schema of its dialect; pointers go into the schema.

    Also named: references out of the document, which are never fetched, and references to nothing.
    """
    return list(_examined(schema).faults)


def problems(value: Any, schema: Any, *, limit: int = 50) -> list[Problem]:
    """What ``value`` breaks in ``schema``, at most ``limit`` problems, the pointers going into ``value``.

    A schema that is none gives one problem that says so. Never raises for what value or schema hold.
    """
    known = _examined(schema)
    if known.faults:
        first = known.faults[0]
        place = f" at {first.pointer}" if first.pointer else ""
        return [Problem("", f"the schema itself is wrong{place}: {first.message}", "$schema")]
    return _evaluate(known.validator, value, limit)


class TooMuch(Exception):
    """More references and combinations than are followed."""


def bounded(schema: Any) -> tuple[Any, Any]:
    """A copy of ``schema`` without any ``$schema``, and a validator of it for ``accepts``.

    Whoever evolves the validator to a part of that copy keeps the bound on its work.
    """
    draft, alone = dialect(schema), _without_dialects(copy.deepcopy(schema))
    return alone, _bounded(draft)(alone, registry=Registry(), format_checker=draft.FORMAT_CHECKER)


def accepts(validator: Any, value: Any) -> bool:
    """Whether a ``bounded`` validator accepts ``value``. Raises ``TooMuch``, and what the schema causes."""
    _STEPS.begin(value)
    return bool(validator.is_valid(value))


def _evaluate(validator: Any, value: Any, limit: int) -> list[Problem]:
    found: list[Problem] = []
    _STEPS.begin(value)
    try:
        for error in validator.iter_errors(value):
            found.extend(_problems(error))
            if len(found) >= limit:
                break
    except RecursionError:
        found.append(
            Problem("", "the value, or the schema's references, go too deep to be evaluated", "$ref")
        )
    except TooMuch:
        found.append(Problem("", "evaluating the schema takes too long: its references multiply", "$ref"))
    except Unresolvable as error:
        found.append(Problem("", f"the reference {_shown(error.ref)} leads nowhere", "$ref"))
    except re.error as error:
        found.append(Problem("", f"a pattern of the schema can't be evaluated: {error}", "pattern"))
    except (UnknownType, TypeError, ValueError, ArithmeticError) as error:
        found.append(Problem("", f"the schema can't be evaluated: {type(error).__name__}", "$schema"))
    return found[:limit]


# --- a bound on the work


class _Steps(threading.local):
    """What the validators below have followed, in this thread, for the value that is being evaluated."""

    value: Any = None
    left = 0
    counted = False

    def begin(self, value: Any) -> None:
        self.value, self.left, self.counted = value, MAX_STEPS, False

    def take(self) -> None:
        self.left -= 1
        if self.left < 0:
            if self.counted:
                raise TooMuch
            self.counted, self.left = True, max(0, STEPS_EACH * _values(self.value) - MAX_STEPS)


_STEPS = _Steps()
_FOLLOWED = [
    "$ref",
    "$dynamicRef",
    "$recursiveRef",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "dependentSchemas",
    "dependencies",
    "contains",
    "propertyNames",
    "unevaluatedProperties",
    "unevaluatedItems",
]


def _values(value: Any) -> int:
    count, waiting = 0, [value]
    while waiting:
        here = waiting.pop()
        count += 1
        if isinstance(here, dict):
            waiting.extend(here.values())
        elif isinstance(here, list | tuple):
            waiting.extend(here)
    return count


def _counted(keyword: Callable[..., Any]) -> Callable[..., Any]:
    def follow(validator: Any, value: Any, instance: Any, schema: Any) -> Any:
        _STEPS.take()
        return keyword(validator, value, instance, schema)

    return follow


@cache
def _bounded(draft: Any) -> Any:
    """The draft's validator class with a bound on what it follows."""
    followed = {word: _counted(draft.VALIDATORS[word]) for word in _FOLLOWED if word in draft.VALIDATORS}
    return validators.extend(draft, followed | {"pattern": _pattern})  # type: ignore[no-untyped-call]


_DOLLAR = re.compile(r"\\.|\[(?:\\.|[^\]\\])*\]|\$", re.DOTALL)


@cache
def _ended(pattern: str) -> str:
    """The pattern with ``$`` as ECMA-262 means it: the end of the text, and not before a last line break."""
    return _DOLLAR.sub(lambda found: r"\Z" if found.group() == "$" else found.group(), pattern)


def _pattern(validator: Any, pattern: str, instance: Any, _schema: Any) -> Iterator[ValidationError]:
    if validator.is_type(instance, "string") and not re.search(_ended(pattern), instance):
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


# --- what is known about a schema


class _Examined:
    """One schema: its faults, and its validator once one is asked for."""

    def __init__(self, schema: Any) -> None:
        self.schema: Any = schema
        self.draft = dialect(schema)
        self.faults = tuple(islice(self._faults(), _FAULTS))

    def _faults(self) -> Iterator[Problem]:
        if not isinstance(self.schema, dict | bool):
            yield Problem("", f"a schema is an object or a boolean, not {_kind(self.schema)}", "type")
            return
        if self.draft is None:
            named = _shown(self.schema["$schema"] if isinstance(self.schema, dict) else None)
            yield Problem("/$schema", f"the dialect {named} is not known; accepted: {ACCEPTED}", "$schema")
            return
        sight = Sight(self.schema)
        if not sight.sure:
            yield from _against_meta(self.schema, self.draft)
            for stranger, subschema in sight.strangers():
                for problem in _against_meta(subschema, self.draft):
                    yield replace(problem, pointer=pointer_of(stranger) + problem.pointer)
        for path, subschema in sight.subschemas.items():
            if path and "$schema" in subschema and dialect(subschema) is not self.draft:
                named = _shown(subschema["$schema"])
                place = pointer_of((*path, "$schema"))
                yield Problem(place, f"the dialect changes to {named} inside one schema", "$schema")
        for path, word, target, found in sight.lost(_SPECIFICATIONS[self.draft]):
            yield Problem(pointer_of((*path, word)), _lost(target, found), word)
        for path in sight.circles():
            words = "the reference leads back to itself and never deeper into the value"
            yield Problem(pointer_of((*path, "$ref")), words, "$ref")

    @cached_property
    def validator(self) -> Any:
        return _bounded(self.draft)(
            _without_dialects(self.schema),
            registry=Registry(),
            format_checker=self.draft.FORMAT_CHECKER,
        )


def _examined(schema: Any) -> _Examined:
    try:
        text = json.dumps(schema)
    except (TypeError, ValueError, RecursionError):
        broken = _Examined(True)
        broken.faults = (Problem("", "the schema is no JSON value", "type"),)
        return broken
    return _remembered(text) if len(text) <= _REMEMBERED else _Examined(json.loads(text))


@lru_cache(maxsize=2048)
def _remembered(text: str) -> _Examined:
    return _Examined(json.loads(text))


def _against_meta(schema: Any, draft: Any) -> Iterator[Problem]:
    validator = draft(draft.META_SCHEMA, registry=Registry(), format_checker=draft.FORMAT_CHECKER)
    seen = set()
    for problem in _evaluate(validator, schema, 50):
        if problem not in seen:  # the vocabularies of 2020-12 each say the same thing
            seen.add(problem)
            yield problem


def _lost(target: str, found: Any) -> str:
    if found is not None:
        return f"the reference {_shown(target)} leads to {_kind(found)}, and that is no schema"
    if target.startswith("#"):
        return f"the reference {_shown(target)} leads nowhere"
    return f"the reference {_shown(target)} leaves the document, and references are never fetched"


def _without_dialects(schema: Any) -> Any:
    """The schema without any ``$schema``: below the root it would change the class of the validator."""
    waiting = [schema]
    while waiting:
        here = waiting.pop()
        if isinstance(here, dict):
            if isinstance(here.get("$schema"), str):
                del here["$schema"]
            waiting.extend(each for word, each in here.items() if word not in ("const", "enum"))
        elif isinstance(here, list):
            waiting.extend(here)
    return schema


# --- our own schemas


@cache
def own(name: str) -> Mapping[str, Any]:
    """One of the library's own schemas (2020-12), by its file name without ``.json``."""
    text = files("ai_evolution.atdf").joinpath("schemas", f"{name}.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


@cache
def _own(name: str) -> Any:
    return _bounded(Draft202012Validator)(
        own(name), registry=Registry(), format_checker=Draft202012Validator.FORMAT_CHECKER
    )


@cache
def _quick(name: str) -> Callable[[Any], bool]:
    return compiled(own(name))


def fits(value: Any, name: str) -> bool:
    """Whether ``value`` is valid in the library's own schema of that name."""
    return _quick(name)(value)


def problems_in(value: Any, name: str, *, limit: int = 50) -> list[Problem]:
    """What ``value`` breaks in the library's own schema of that name."""
    return [] if _quick(name)(value) else _evaluate(_own(name), value, limit)


# --- words

_KINDS = {
    bool: "a boolean",
    int: "a number",
    float: "a number",
    str: "a string",
    list: "an array",
    dict: "an object",
}


def _kind(value: Any) -> str:
    return "null" if value is None else _KINDS.get(type(value), type(value).__name__)


def _shown(value: Any, limit: int = 60) -> str:
    """``value`` as short JSON, in one line."""
    if isinstance(value, str):
        text = json.dumps(value[: limit + 1], ensure_ascii=False)
    elif isinstance(value, dict | list):
        return _kind(value)
    else:
        text = json.dumps(value, default=lambda each: type(each).__name__)
    return text if len(text) <= limit else text[:limit] + "..."


def _listed(values: Any, limit: int = 8) -> str:
    values = (
        [values] if isinstance(values, str) or not isinstance(values, list | tuple | dict) else list(values)
    )
    words = [value if isinstance(value, str) else _shown(value, 30) for value in values[:limit]]
    return ", ".join(words) + (", ..." if len(values) > limit else "")


def _problems(error: ValidationError) -> Iterator[Problem]:
    """The problems in one error: one for each key that is not allowed, else one."""
    keyword = str(error.validator or "false")
    pointer = pointer_of(list(error.absolute_path))
    if keyword in ("anyOf", "oneOf") and error.context:
        yield Problem(pointer, f"fits none of the shapes accepted here: {_nearest(error)}", keyword)
        return
    if keyword == "additionalProperties" and error.validator_value is False:
        schema: Any = error.schema
        accepted = list(schema.get("properties", ()))
        patterns = list(schema.get("patternProperties", ()))
        instance: Any = error.instance
        for key in instance:
            if key not in accepted and not any(re.search(pattern, key) for pattern in patterns):
                words_ = f"; accepted: {_listed(accepted)}" if accepted else ""
                yield Problem(
                    f"{pointer}{pointer_of([key])}", f"the key {_shown(key)} is not allowed{words_}", keyword
                )
        return
    yield Problem(pointer, _words(keyword, error), keyword)


def _nearest(error: ValidationError) -> str:
    """What the most telling of the alternatives says, or all of them, in few words."""
    best = best_match([error])
    if best is not error:
        problem = next(_problems(best))
        here = pointer_of(list(error.absolute_path))
        return problem.message if problem.pointer == here else f"{problem.message} (at {problem.pointer})"
    said = list(dict.fromkeys(next(_problems(each)).message for each in error.context))[:3]
    begin, between, _ = said[0].partition(_ACCEPTED)
    if all(each.startswith(begin + between) for each in said):
        return begin + between + ", or ".join(each.removeprefix(begin + between) for each in said)
    return ", or ".join(said)


_ACCEPTED = " is not accepted; accepted: "


def _words(keyword: str, error: ValidationError) -> str:
    value, asked = error.instance, error.validator_value
    match keyword:
        case "false":
            return "nothing is accepted here"
        case "type":
            return f"{_shown(value)}{_ACCEPTED}{_listed(asked)}"
        case "required":
            return f"{error.message.partition(' is a required property')[0][:80]} is missing"
        case "enum":
            return f"{_shown(value)}{_ACCEPTED}{_listed(asked)}"
        case "const":
            return f"{_shown(value)}{_ACCEPTED}{_shown(asked)}"
        case "format":
            return f"{_shown(value)} is no {_shown(asked).strip(chr(34))}"
        case "pattern":
            return f"{_shown(value)} does not match {_shown(asked)}"
        case "minLength" | "minItems" | "minProperties":
            return f"{_shown(value)} is too short; accepted: {_shown(asked)} or more"
        case "maxLength" | "maxItems" | "maxProperties":
            return f"{_shown(value)} is too long; accepted: {_shown(asked)} or fewer"
        case "minimum":
            return f"{_shown(value)} is too small; accepted: {_shown(asked)} or more"
        case "maximum":
            return f"{_shown(value)} is too large; accepted: {_shown(asked)} or less"
        case "exclusiveMinimum":
            return f"{_shown(value)} is too small; accepted: more than {_shown(asked)}"
        case "exclusiveMaximum":
            return f"{_shown(value)} is too large; accepted: less than {_shown(asked)}"
        case "multipleOf":
            return f"{_shown(value)} is no multiple of {_shown(asked)}"
        case "uniqueItems":
            return "an item stands twice; each is accepted once"
        case "not":
            return f"{_shown(value)} is what is not accepted here"
        case "oneOf":
            return "fits several of the shapes accepted here, of which exactly one may fit"
        case "items" | "additionalItems" | "unevaluatedItems":
            return "it holds items that are not accepted"
        case "contains" | "minContains" | "maxContains":
            return "it holds too few or too many of the items that are asked for"
    return " ".join(error.message[:200].split())
