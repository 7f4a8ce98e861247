"""The Model Context Protocol: servers held to contracts, clients that bear with bad ones, what crosses.

Two eras are spoken everywhere: revision 2026-07-28 (stateless, ``server/discover``) and the handshake of
2025-11-25. The official SDK carries the bytes; what is here is what it leaves open.

* ``server``       tools under ATDF contracts, published text for text and enforced
* ``describe``     the tools of a live server as ATDF documents and back
* ``client``, ``journal``   calls with deadlines and checked results; every message that crossed
* ``trust``        pins of approved tools, and hazards in what a server says
* ``fixtures``, ``conformance``, ``behaviours``   what the official suite asks for, its verdict, and our own

A library: it knows nothing of labs, evidence or grading. The SDK is imported by the rooms, not here.
"""

from __future__ import annotations

import importlib
from typing import Any

_ROOMS = {
    "server": ("ContractServer", "build_server", "http_app", "tool_from"),
    "describe": ("Described", "describe"),
    "client": ("CallResult", "Host", "connect"),
    "journal": ("WireFrame", "WireJournal"),
    "trust": ("Pins", "fingerprint", "hazards"),
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
