"""Agents that meet strangers, on the A2A protocol (1.0) and its official SDK.

Each room can be imported alone, and this package imports none of them before a name is asked
for: ``ai_evolution.a2a.states`` costs no SDK import. What the rooms add to the SDK:

* ``states``      the legal life of a task, as a table
* ``store``       a durable task store: transitions, versions, idempotency, orphan sweep
* ``app``         the server: owners, limits, neutral failures, both bindings, the 0.3 dialect
* ``cards``       signed cards, and whether a card suits a job
* ``push``        notifications with a guarded address, and a receiver that verifies
* ``client``      a caller that settles
* ``registry``    agents admitted after a verified card and a passed examination; they expire
* ``audit``       an append-only record of what crossed between organisations
* ``behaviours``  an independent judge of any A2A server
"""

from __future__ import annotations

import importlib
from typing import Any

_ROOMS = {
    "states": ("ACTIVE", "INTERRUPTED", "TERMINAL", "TRANSITIONS", "advance"),
    "store": ("SqliteTaskStore",),
    "app": ("aclose", "build_app"),
    "dialects": ("with_v0_3",),
    "cards": (
        "Needs",
        "declare_output_schema",
        "lint_card",
        "misfits",
        "output_schema",
        "sign_card",
        "verify_card",
    ),
    "push": ("PushPolicy", "PushReceiver", "PushSender"),
    "client": ("Delivery", "connect"),
    "registry": ("Registry",),
    "audit": ("AuditLog",),
    "behaviours": ("BEHAVIOURS", "Subject", "examine"),
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
