"""Finding an agent: its card as received, and the one interface of it that we will speak to.

The card is kept as the JSON that came, because that is what its signature covers; a typed copy is made
for the SDK alone. Nothing here follows a redirect, asks for compression, or accepts an
interface at an origin that the caller did not agree to.
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Collection, Sequence
from typing import Any

import httpx
from a2a.client.card_resolver import parse_agent_card
from a2a.types import AgentCard
from google.protobuf import json_format

from ai_evolution.a2a.connection import Limits, Lost, origin_of, plain, strict_json
from ai_evolution.a2a.spelling import misspelt
from ai_evolution.errors import AgentUnfit, CallRefused, CardRefused, UsageError

CARD_PATH = "/.well-known/agent-card.json"
BINDINGS = ("JSONRPC", "HTTP+JSON")
"""The bindings that our client speaks, in its own order of preference."""


async def fetch_card(url: str, http: httpx.AsyncClient, limits: Limits) -> dict[str, Any]:
    if not origin_of(url):
        raise UsageError(f"agent address {url!r}; expected http(s)://host[:port][/path] without a user name")
    address = url if url.endswith(".json") else url.rstrip("/") + CARD_PATH
    body = b""
    try:
        async with (
            asyncio.timeout(limits.idle),
            http.stream(
                "GET", address, headers={"Accept-Encoding": "identity"}, follow_redirects=False
            ) as reply,
        ):
            if reply.status_code != 200:
                status = reply.status_code
                raise CallRefused(f"the card at {address}: HTTP {status}; expected 200", status)
            if reply.headers.get("content-encoding", "identity") != "identity":
                raise CardRefused(f"the card at {address} came compressed, unasked", "malformed")
            async for chunk in reply.aiter_raw():
                body += chunk
                if len(body) > limits.card:
                    raise CardRefused(f"the card at {address} is over {limits.card} bytes", "malformed")
    except TimeoutError:
        raise Lost(f"no card at {address} within {limits.idle:g} s") from None
    except httpx.HTTPError as error:
        raise Lost(f"no card at {address}: {plain(error) or type(error).__name__}") from error
    try:
        card = strict_json(body)
    except ValueError as error:
        raise CardRefused(f"the card at {address} is no JSON: {plain(error, 120)}", "malformed") from error
    if not isinstance(card, dict):
        raise CardRefused(
            f"the card at {address} is a {type(card).__name__}; expected an object", "malformed"
        )
    return card


def parse_card(card: dict[str, Any]) -> AgentCard:
    try:
        if (at := misspelt(card)) is not None:
            raise ValueError(f"the member {at} is in snake_case, its JSON name accepted")
        return parse_agent_card(copy.deepcopy(card))
    except (json_format.Error, ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise CardRefused(f"this is no Agent Card of A2A 1.0: {plain(error, 160)}", "malformed") from error


def interface_of(
    card: dict[str, Any], url: str, preference: Sequence[str], allow_origins: Collection[str]
) -> dict[str, Any]:
    """The interface to use, as in the card: the first binding preferred, of 1.x, at a trusted origin."""
    allowed = {origin_of(url), *map(origin_of, allow_origins)} - {""}
    offered = [each for each in card.get("supportedInterfaces", ()) if isinstance(each, dict)]
    spoken = [each for each in offered if str(each.get("protocolVersion", "")).split(".")[0] == "1"]
    usable = [
        each
        for name in preference
        if name in BINDINGS
        for each in spoken
        if each.get("protocolBinding") == name
    ]
    for each in usable:
        if origin_of(each.get("url", "")) in allowed:
            return each
    if usable:
        where = plain(usable[0].get("url"), 100)
        raise AgentUnfit(f"the interface {where} lies outside {', '.join(sorted(allowed))}", ["origin"])
    wanted = " or ".join(preference)
    if spoken or not offered:
        raise AgentUnfit(f"the card offers no interface of {wanted} for protocol 1.x", ["binding"])
    raise AgentUnfit("the card offers no interface of protocol 1.x", ["protocol"])
