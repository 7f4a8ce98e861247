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

    def take(here: Any, depth: int) -> Any:
        nonlocal left
        left -= 1
        if left < 0:
            raise _NoJson(f"more than {MAX_VALUES} values")
        if here is None or isinstance(here, bool):
            return here
        if isinstance(here, str):
            if not _encodes(here):
                raise _NoJson("half of a surrogate pair is no text")
            return here
        if isinstance(here, int):
            if here.bit_length() > 13_000:
                raise _NoJson("an integer of more than 3,900 digits")
            return here
        if isinstance(here, float):
            if not math.isfinite(here):
                raise _NoJson(f"{here} is no JSON number")
            return here
        if not isinstance(here, dict | list):
            raise _NoJson(f"{kind(here)} is no JSON value")
        if depth >= MAX_DEPTH:
            raise _NoJson(f"nested deeper than {MAX_DEPTH} levels")
        return taken_object(here, depth + 1) if isinstance(here, dict) else taken_array(here, depth + 1)

    def taken_array(here: list[Any], depth: int) -> list[Any]:
        result: list[Any] = []
        try:
            for each in here:
                result.append(take(each, depth))
        except _NoJson as fault:
            fault.path.append(len(result))
            raise
        return result

    def taken_object(here: dict[Any, Any], depth: int) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for name, each in here.items():
            if not isinstance(name, str) or not _encodes(name):
                raise _NoJson("a key that is no text")
            try:
                result[name] = take(each, depth)
            except _NoJson as fault:
                fault.path.append(name)
                raise
        return result

    try:
        return take(value, 0), []
    except _NoJson as fault:
        return None, [Problem(pointer_of(fault.path[::-1][:8]), fault.why, "json")]
    except RuntimeError:  # a dict that somebody else is changing
        return None, [Problem("", "it changes while it is read", "json")]


class _NoJson(Exception):
    """Why something is no JSON; ``path`` fills from the inside out."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why
        self.path: list[str | int] = []


def _encodes(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def kind(value: Any) -> str:
    """The name of a value's type; null for None."""
    return "null" if value is None else type(value).__name__
