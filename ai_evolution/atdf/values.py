"""JSON values in Python: copied so that nothing is shared, and nothing else let through."""

from __future__ import annotations

import math
from typing import Any

from ai_evolution.atdf.documents import MAX_DEPTH, pointer_of
from ai_evolution.atdf.schemas import Problem

MAX_VALUES = 1_000_000
"""Values (objects, arrays and scalars) that are copied."""


def copied_json(value: Any) -> tuple[Any, list[Problem]]:
    """A copy of a JSON value that shares nothing with it, and what in it is no JSON (then the copy is None).

    Accepted: dict with text keys, list, str, int, float (finite), bool, None; a bounded depth and size.
    """
    left = MAX_VALUES

    def take(here: Any, path: tuple[str | int, ...]) -> Any:
        nonlocal left
        left -= 1
        if left < 0:
            raise _NoJson(path, f"more than {MAX_VALUES} values")
        if here is None or isinstance(here, bool):
            return here
        if isinstance(here, str):
            if not _encodes(here):
                raise _NoJson(path, "half of a surrogate pair is no text")
            return here
        if isinstance(here, int):
            if here.bit_length() > 13_000:
                raise _NoJson(path, "an integer of more than 3,900 digits")
            return here
        if isinstance(here, float):
            if not math.isfinite(here):
                raise _NoJson(path, f"{here} is no JSON number")
            return here
        if len(path) >= MAX_DEPTH:
            raise _NoJson(path[:3], f"nested deeper than {MAX_DEPTH} levels")
        if isinstance(here, list):
            return [take(each, (*path, index)) for index, each in enumerate(here)]
        if isinstance(here, dict):
            for name in here:
                if not isinstance(name, str) or not _encodes(name):
                    raise _NoJson(path, "a key that is no text")
            return {name: take(each, (*path, name)) for name, each in here.items()}
        raise _NoJson(path, f"{kind(here)} is no JSON value")

    try:
        return take(value, ()), []
    except _NoJson as fault:
        return None, [Problem(pointer_of(fault.path), fault.why, "json")]
    except RuntimeError:  # a dict that somebody else is changing
        return None, [Problem("", "it changes while it is read", "json")]


class _NoJson(Exception):
    def __init__(self, path: tuple[str | int, ...], why: str) -> None:
        super().__init__(why)
        self.path, self.why = path, why


def _encodes(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def kind(value: Any) -> str:
    """The name of a value's type; null for None."""
    return "null" if value is None else type(value).__name__
