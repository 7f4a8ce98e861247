"""Whether a result is what its output schema promised, when both come from a stranger.

The schema is judged by ``ai_evolution.atdf.schemas``: nothing is ever fetched, and the work is bounded. What
is left there is the regular expression of a stranger, which can keep Python busy for years on forty letters.
So a schema with patterns goes another way here: a pattern whose cost is plain is run where we are, any other
in a process of its own that gets two seconds.

It refuses to pass what it could not check: a schema that is none, that points out of itself, or whose
patterns take too long makes every result refused, and says why.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from ai_evolution.atdf.documents import pointer_of
from ai_evolution.atdf.schemas import Problem, check_schema, dialect, problems

SECONDS = 2.0
"""How long the patterns of one schema may take, on all of one result."""
LONGEST = 2_000
"""Characters that a plain pattern is run on without further ado."""
MOST = 20_000
"""References and combinations that are followed, and texts that are matched, for one result."""
_PATTERNS = frozenset(("pattern", "patternProperties"))


class OutputSchema:
    """A tool's output schema, ready for its results."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._schema = schema
        found = check_schema(schema)
        self.fault = found[0] if found else None
        """What keeps the schema from being one, if anything does; its pointer goes into the schema."""
        self.slow = not self.fault and _has_patterns(schema)
        """Whether ``problem`` may take seconds and is better called in a thread."""

    def problem(self, value: Any) -> Problem | None:
        """The first thing that ``value`` breaks, or why it can't be told; None when it keeps the schema."""
        if self.fault:
            where = f" at {self.fault.pointer}" if self.fault.pointer else ""
            return Problem("", f"its output schema is none{where}: {self.fault.message}", "$schema")
        if self.slow:
            return _Careful(self._schema, value).problem()
        return next(iter(problems(value, self._schema, limit=1)), None)


class _Unsafe(Exception):
    """What is not evaluated, and why."""


def _has_patterns(schema: Any) -> bool:
    return any(not _PATTERNS.isdisjoint(each) for each in _objects(schema))


def _objects(value: Any) -> Iterator[Mapping[str, Any]]:
    stack = [value]
    while stack:
        each = stack.pop()
        if isinstance(each, Mapping):
            yield each
            stack.extend(each.values())
        elif isinstance(each, list):
            stack.extend(each)


class _Careful:
    """One value against one schema with patterns.

    The validator is run with what is known of the patterns; what it asked for beyond that is found out in
    the other process, and it is run again. What it asks for hangs on what it knew, so a few rounds do.

    ``patternProperties`` has plain patterns alone, on short names: ``jsonschema`` itself runs them anew for
    ``additionalProperties``.
    """

    def __init__(self, schema: Mapping[str, Any], value: Any) -> None:
        from jsonschema import validators
        from referencing import Registry

        draft = dialect(schema)
        guards: dict[str, Any] = {"pattern": self._pattern, "patternProperties": self._pattern_properties}
        for word in ("$ref", "$dynamicRef", "$recursiveRef", "allOf", "anyOf", "oneOf", "if", "contains"):
            if word in draft.VALIDATORS:
                guards[word] = self._counted(draft.VALIDATORS[word])
        extend: Any = validators.extend
        careful = extend(draft, guards)
        self._judge = careful(schema, registry=Registry(), format_checker=draft.FORMAT_CHECKER)
        self._schema, self._value = schema, value
        self._left = MOST
        self._known: dict[tuple[str, str], bool] = {}
        self._wanted: dict[tuple[str, str], None] = {}

    def problem(self) -> Problem | None:
        try:
            self._check_names()
            for _ in range(4):
                self._left, self._wanted = MOST, {}
                error = next(self._judge.iter_errors(self._value), None)
                if not self._wanted:
                    return None if error is None else _said(error)
                self._known.update(_matched(list(self._wanted)))
        except _Unsafe as refusal:
            return Problem("", f"its output schema is not evaluated: {refusal}", "pattern")
        except Exception as error:  # whatever a stranger's schema does to a validator: it was not checked
            return Problem("", f"its output schema can't be evaluated: {type(error).__name__}", "$schema")
        return Problem("", "its output schema is not evaluated: its patterns hang on each other", "pattern")

    def _check_names(self) -> None:
        named = [each["patternProperties"] for each in _objects(self._schema) if "patternProperties" in each]
        for pattern in (pattern for each in named if isinstance(each, Mapping) for pattern in each):
            if not _plain(pattern):
                raise _Unsafe(f"patternProperties has {_short(pattern)}, which is not plain")
        if named and any(len(name) > LONGEST for each in _objects(self._value) for name in each):
            raise _Unsafe(f"a member's name of over {LONGEST} characters is to match its patternProperties")

    def _counted(self, keyword: Any) -> Any:
        def counted(validator: Any, value: Any, instance: Any, schema: Any) -> Any:
            self._step()
            return keyword(validator, value, instance, schema)

        return counted

    def _step(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise _Unsafe("its references, combinations and patterns multiply")

    def _pattern(self, validator: Any, pattern: str, instance: Any, _schema: Any) -> Iterator[Any]:
        from jsonschema.exceptions import ValidationError

        if validator.is_type(instance, "string") and not self._found(pattern, instance):
            yield ValidationError("does not match")

    def _pattern_properties(self, validator: Any, value: Any, instance: Any, _schema: Any) -> Iterator[Any]:
        if validator.is_type(instance, "object"):
            for pattern, below in value.items():
                for name, each in instance.items():
                    if self._found(pattern, name):
                        yield from validator.descend(each, below, path=name, schema_path=pattern)

    def _found(self, pattern: str, text: str) -> bool:
        self._step()
        if _plain(pattern) and len(text) <= LONGEST:
            return re.search(pattern, text) is not None
        if (pattern, text) not in self._known:
            self._wanted[pattern, text] = None
            return True
        return self._known[pattern, text]


def _said(error: Any) -> Problem:
    message = f"{_short(error.instance)} breaks {error.validator!r}: {_short(error.validator_value)}"
    return Problem(pointer_of(list(error.absolute_path)), message, str(error.validator))


def _plain(pattern: str) -> bool:
    """No group, no choice, at most one part repeated without bound: its cost is at most quadratic."""
    if len(pattern) > 200 or re.search(r"[(|?]|\\[1-9]|\{\d*,\d*\}", pattern):
        return False
    return len(re.findall(r"[*+]", re.sub(r"\\.", "e", pattern))) <= 1


_ELSEWHERE = """
import json, re, sys
print(json.dumps([re.search(pattern, text) is not None for pattern, text in json.load(sys.stdin)]))
"""


def _matched(pairs: list[tuple[str, str]]) -> dict[tuple[str, str], bool]:
    """Each pattern on each text, in a process that is killed after ``SECONDS``."""
    command = [sys.executable, "-I", "-S", "-c", _ELSEWHERE]
    try:
        done = subprocess.run(
            command, input=json.dumps(pairs).encode(), capture_output=True, timeout=SECONDS, check=True
        )
    except subprocess.TimeoutExpired:
        slowest = max((pattern for pattern, _ in pairs), key=len)
        raise _Unsafe(f"its patterns take over {SECONDS:g} s ({_short(slowest)})") from None
    except (OSError, subprocess.SubprocessError) as error:
        raise _Unsafe(f"its patterns can't be run apart ({type(error).__name__})") from None
    return dict(zip(pairs, json.loads(done.stdout), strict=True))


def _short(value: Any, limit: int = 60) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= limit else text[: limit - 3] + "..."
