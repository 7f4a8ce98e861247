"""The Agent Card as a judge reads it: the REQUIRED fields of ``a2a.proto``, an endpoint of its own origin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import httpx

from ai_evolution.a2a.behaviours.wire import CARD_PATH, Stop, Wire, at, items_of


def _misses(where: str, value: Any, fields: Mapping[str, type]) -> list[str]:
    return [
        f"{where}{name} is missing or no {kind.__name__}"
        for name, kind in fields.items()
        if not isinstance(at(value, name), kind) or (kind is not dict and not at(value, name))
    ]


def card_problems(card: Any, url: str, secured: bool) -> list[str]:
    """What the card lacks: the REQUIRED fields of ``a2a.proto``, and an endpoint of this origin."""
    found = _misses("", card, {
        "name": str, "description": str, "version": str, "capabilities": dict, "supportedInterfaces": list,
        "defaultInputModes": list, "defaultOutputModes": list, "skills": list,
    })  # fmt: skip
    for n, skill in enumerate(items_of(at(card, "skills"))):
        found += _misses(f"skills[{n}].", skill, {"id": str, "name": str, "description": str, "tags": list})
    for n, each in enumerate(items_of(at(card, "supportedInterfaces"))):
        shape = {"url": str, "protocolBinding": str, "protocolVersion": str}
        found += _misses(f"supportedInterfaces[{n}].", each, shape)
    if endpoint_of(card, url) is None:
        found.append("no JSONRPC interface of protocol version 1.x on the card's own origin")
    if secured and not (at(card, "securitySchemes") and at(card, "securityRequirements")):
        found.append("securitySchemes and securityRequirements do not say that a token is needed")
    return found


def _origin(url: str) -> tuple[str, str, int | None] | None:
    try:
        parsed = httpx.URL(url)
    except (httpx.InvalidURL, TypeError, ValueError):
        return None
    port = parsed.port or {"http": 80, "https": 443}.get(parsed.scheme)
    return (parsed.scheme, parsed.host, port) if parsed.host else None


def _same_origin(target: Any, url: str) -> bool:
    return isinstance(target, str) and _origin(target) is not None and _origin(target) == _origin(url)


def endpoint_of(card: Any, url: str) -> str | None:
    for each in items_of(at(card, "supportedInterfaces")):
        target, version = at(each, "url"), at(each, "protocolVersion")
        speaks = at(each, "protocolBinding") == "JSONRPC" and isinstance(version, str)
        if speaks and version.split(".")[0] == "1" and _same_origin(target, url):
            return str(target)
    return None


async def fetch_card(wire: Wire) -> Any:
    url = str(httpx.URL(wire.subject.url).join(CARD_PATH))
    reply = await wire.request("GET", url, {"Accept": "application/json"})
    if reply.status != 200:
        raise Stop([f"HTTP {reply.status} at {CARD_PATH}"])
    return reply.json()
