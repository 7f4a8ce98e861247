"""Validation against a schema that a stranger wrote: counted, so that it ends.

A schema in a signed card is still a stranger's: a few lines of it can ask for more work than a
deadline allows, and nothing interrupts a validator. ``schema.foreign_fault`` refuses what can be
seen in the schema alone; here every keyword that is applied, every entry it goes through and
every error it words costs a step, and when the steps are gone the deliverable is refused.

Formats are checked where one look at the text is enough (``FORMATS``); every other format says
something and checks nothing. It refuses to run a regular expression.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.exceptions import ValidationError
from jsonschema.protocols import Validator
from jsonschema.validators import extend
from referencing import Registry

from ai_evolution.errors import DeliverableInvalid

STEPS = 200_000
"""What one validation may cost. A row of four checked members costs about 15."""
LETTERS = 100
"""Characters of text that cost as much as one step."""
FORMATS = frozenset({"date", "date-time", "email", "ipv4", "ipv6", "time", "uuid"})

_THROUGH = frozenset({"additionalProperties", "contains", "items", "propertyNames"})
"""Keywords that go through every entry of the value."""
_COMPARED = frozenset({"const", "dependentRequired", "enum"})
"""Keywords whose own value is gone through at every depth."""
_PAIRS = 20
"""Comparisons of ``uniqueItems`` that cost as much as one step."""


class Steps:
    """What is left of a budget; ``spend`` raises DeliverableInvalid when it is used up."""

    def __init__(self, left: int = STEPS) -> None:
        self._left = left

    def spend(self, steps: int) -> None:
        self._left -= steps
        if self._left < 0:
            raise DeliverableInvalid(
                f"the schema of the card asks for more than {STEPS} steps of checking; give a schema of"
                " your own to accept this deliverable"
            )


def weight(value: Any) -> int:
    """The steps that it costs to go through a value once."""
    total, waiting = 0, [value]
    while waiting:
        each = waiting.pop()
        total += 1
        if isinstance(each, str):
            total += len(each) // LETTERS
        elif isinstance(each, dict):
            total += sum(len(name) for name in each) // LETTERS
            waiting.extend(each.values())
        elif isinstance(each, list):
            waiting.extend(each)
    return total


def bounded(schema: Any, steps: Steps) -> Validator:
    """A validator (2020-12) that spends ``steps``, and fetches nothing."""
    keywords = {word: _counted(word, check, steps) for word, check in Draft202012Validator.VALIDATORS.items()}
    checker = FormatChecker(formats=())
    known = Draft202012Validator.FORMAT_CHECKER.checkers
    checker.checkers = {name: check for name, check in known.items() if name in FORMATS}
    kind: type[Validator] = extend(Draft202012Validator, validators=keywords)  # type: ignore[no-untyped-call]
    return kind(schema, registry=Registry(), format_checker=checker)


def _counted(word: str, check: Callable[..., Any], steps: Steps) -> Callable[..., Iterator[ValidationError]]:
    def counted(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
        steps.spend(_cost(word, value, instance))
        for error in check(validator, value, instance, schema) or ():
            steps.spend(weight(instance))  # its words quote the value
            yield error

    return counted


def _cost(word: str, value: Any, instance: Any) -> int:
    if word in _COMPARED:
        return weight(value)
    if word == "uniqueItems" and isinstance(instance, list):
        return 1 + weight(instance) * (1 + len(instance) // _PAIRS)
    cost = 1 + (len(value) if isinstance(value, (dict, list)) else 0)
    return cost + (len(instance) if word in _THROUGH and isinstance(instance, (dict, list)) else 0)
