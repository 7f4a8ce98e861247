"""Tools that say what they do, and are held to it: the Agent Tool Description Format and its neighbours.

Each room can be imported alone, and this package imports none of them before a name is asked for. A function
named after its room (``convert``, ``contract``, ``lint``, ``render``) is imported from there.

* ``documents``      JSON and YAML, read strictly, with line and column
* ``schemas``        JSON Schema: the dialect, the meta-schema, formats asserted, nothing ever fetched
* ``shapes``         the seven forms: which one a document has and why, and what breaks it
* ``description``    one model of a tool, read from any form
* ``envelope``       success and error as data, in three dialects
* ``losses``         what a conversion could not carry
* ``convert``        from form to form; ``profiles`` and ``signatures`` beside it
* ``contract``       a callable and its description, checked before and after; who is to blame
* ``examples``       examples run as tests
* ``attempts``       the same failing call is stopped
* ``roles``, ``allocation``, ``sla``   contracts of a role, chosen by contract, a level of service
* ``lint``, ``compatibility``, ``render``   what could be better, what a change breaks, what a prompt holds
"""

from __future__ import annotations

import importlib
from typing import Any

_ROOMS = {
    "documents": ("Document", "dumps", "load", "load_file"),
    "schemas": ("Problem", "check_schema", "problems"),
    "shapes": ("FORMS", "Detection", "Form", "detect", "validate"),
    "description": ("Example", "Failure", "ToolDescription", "read"),
    "envelope": ("error", "success", "translate"),
    "losses": ("Conversion", "Loss"),
    "contract": ("Condition", "Contract", "Outcome"),
    "attempts": ("AttemptLedger",),
    "compatibility": ("diff",),
}
_HOMES = {name: room for room, names in _ROOMS.items() for name in names}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    room = _HOMES.get(name)
    if room is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{room}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
