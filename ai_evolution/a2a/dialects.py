"""Two dialects on one door: A2A 1.0, and 0.3 for those who ask.

Which one a caller speaks is seen in the method (``SendMessage`` or ``message/send``) or the path
(``/v1/...``), and every answer is labelled with it in an ``A2A-Version`` header. The 0.3 answers themselves
are the SDK's bridge. A 0.3 request on a door that serves only 1.0 is told so, by name, instead of "Method not
found".
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import a2a.server.routes  # noqa: F401  first: the adapter and the routes import each other (a2a-sdk 1.3)
from a2a.compat.v0_3.jsonrpc_adapter import JSONRPC03Adapter
from a2a.server.request_handlers.response_helpers import agent_card_to_dict
from a2a.types import AgentCard
from google.protobuf.json_format import ParseDict, ParseError
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ai_evolution.errors import UsageError

PROTOCOL_VERSION = "1.0"
LEGACY_VERSION = "0.3"
VERSION_HEADER = "A2A-Version"
DIALECT = "ai_evolution.dialect"
"""Key in the ASGI scope for the dialect of an answer."""

LEGACY_METHODS: Mapping[str, str] = {
    "message/send": "SendMessage",
    "message/stream": "SendStreamingMessage",
    "tasks/get": "GetTask",
    "tasks/cancel": "CancelTask",
    "tasks/resubscribe": "SubscribeToTask",
    "tasks/pushNotificationConfig/set": "CreateTaskPushNotificationConfig",
    "tasks/pushNotificationConfig/get": "GetTaskPushNotificationConfig",
    "tasks/pushNotificationConfig/list": "ListTaskPushNotificationConfigs",
    "tasks/pushNotificationConfig/delete": "DeleteTaskPushNotificationConfig",
    "agent/getAuthenticatedExtendedCard": "GetExtendedAgentCard",
}
"""Each 0.3 method and its name in 1.0."""
assert set(LEGACY_METHODS) == set(JSONRPC03Adapter.METHOD_TO_MODEL)


class VersionLabel:
    """ASGI middleware: puts the dialect that an inner room found into the answer's ``A2A-Version`` header."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def labelled(message: Message) -> None:
            if message["type"] == "http.response.start" and DIALECT in scope:
                MutableHeaders(scope=message)[VERSION_HEADER] = scope[DIALECT]
            await send(message)

        await self.app(scope, receive, labelled)


def with_v0_3(card: Mapping[str, Any], url: str) -> dict[str, Any]:
    """Return the card with a 0.3 JSON-RPC interface at ``url`` and the fields that a 0.3 client reads.

    The fields are those of the SDK's union card; nothing of the given card is lost. Sign the result: a card
    that is signed already raises UsageError, as does one that is no card.
    """
    if card.get("signatures"):
        raise UsageError("card: given a signed one; add the 0.3 fields first and sign the result")
    union: dict[str, Any] = copy.deepcopy(dict(card))
    interface = {"url": url, "protocolBinding": "JSONRPC", "protocolVersion": LEGACY_VERSION}
    interfaces = union.setdefault("supportedInterfaces", [])
    if interface not in interfaces:
        interfaces.append(interface)
    return _merged(union, agent_card_to_dict(parse_card(union)))


def parse_card(card: Mapping[str, Any]) -> AgentCard:
    """Return the SDK's typed card, for reading only: serialised again it may lack fields. Raises
    UsageError."""
    try:
        parsed: AgentCard = ParseDict(dict(card), AgentCard(), ignore_unknown_fields=True)
    except (ParseError, TypeError, ValueError) as error:
        raise UsageError(f"card: not an A2A 1.0 agent card ({str(error).splitlines()[0]})") from error
    return parsed


def _merged(given: dict[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
    for key, value in extra.items():
        mine = given.setdefault(key, value)
        if isinstance(mine, dict) and isinstance(value, dict):
            _merged(mine, value)
        elif isinstance(mine, list) and isinstance(value, list):
            for one, other in zip(mine, value, strict=False):
                if isinstance(one, dict) and isinstance(other, dict):
                    _merged(one, other)
    return given
