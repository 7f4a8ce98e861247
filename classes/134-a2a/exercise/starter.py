"""Exercise of class 134: an A2A 1.0 agent that decides on travel requests, by hand.

It runs as it is: it serves its Agent Card, asks for a token, and answers -32601 to every method.
The seven TODOs below, done in order, make it an agent. What it must do is in README.md; check it
with

    ai-evolution check 134 my_agent.py

The only promise to keep is ``build(base_url, tokens)``, which returns an ASGI application. You may
throw the rest away and use the SDK, or anything else. Keep ``limit_for`` as it is, and call it.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

# --- the company's rule book: given, do not change -----------------------------------------------

LIMITS = {"Lisbon": 80_000, "Oslo": 150_000, "Lima": 120_000}
DEFAULT_LIMIT = 50_000


async def limit_for(destination: str) -> int:
    """The amount in cents up to which a trip needs nobody's approval.

    The line to the Antarctica office is slow, and the entry for Atlantis is broken: your agent has
    to live with both, as it would with any system that it does not own.
    """
    if destination == "Antarctica":
        await asyncio.sleep(30)
    if destination == "Atlantis":
        raise LookupError("rulebook://ledger.internal/limits?key=k-7731 has no row 'Atlantis'")
    return LIMITS.get(destination, DEFAULT_LIMIT)


# --- the card ------------------------------------------------------------------------------------


def card(base_url: str) -> dict[str, Any]:
    return {
        "name": "trip-approval",
        "description": "Decides whether a business trip may be booked.",
        "version": "1.0.0",
        "supportedInterfaces": [
            {"url": base_url + "/", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
        ],
        "capabilities": {"streaming": False, "pushNotifications": False},
        "defaultInputModes": ["application/json", "text/plain"],
        "defaultOutputModes": ["application/json"],
        "securitySchemes": {"bearer": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}},
        "securityRequirements": [{"schemes": {"bearer": {"list": []}}}],
        "skills": [
            {
                "id": "trip-approval",
                "name": "Trip approval",
                "description": "Approves a trip, asks who approves it, or rejects the request.",
                "tags": ["travel", "approval"],
            }
        ],
    }


# --- the agent -----------------------------------------------------------------------------------


class RpcError(Exception):
    """An error of the protocol: raise it anywhere below and the caller gets its code."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class Agent:
    def __init__(self) -> None:
        self.tasks: dict[str, Any] = {}

    async def call(self, method: str, params: Any, owner: str) -> Any:  # noqa: ARG002
        """One call by ``owner``; returns the ``result``, or raises RpcError."""
        # TODO 1: SendMessage. Check the params (-32602), make a task with an id and a contextId,
        #         remember whose it is, and answer {"task": {...}}.
        # TODO 2: decide. Read the data part {employee, amount_cents, destination}; call limit_for;
        #         put the decision into an artifact; end the task completed, or rejected with a
        #         reason. Whatever breaks on the way ends it failed, in neutral words.
        # TODO 3: above the limit, ask who approves (input-required) and go on with the same task
        #         when the answer arrives. A task that has ended takes no message (-32004).
        # TODO 4: GetTask, with historyLength; an unknown task, or another owner's, is -32001.
        # TODO 5: configuration.returnImmediately and CancelTask: work in the background, and stop it.
        # TODO 6: the same messageId twice is one task; SendStreamingMessage is -32004, as the card says.
        raise RpcError(-32601, "Method not found")


# --- HTTP and JSON-RPC around it -----------------------------------------------------------------


def build(base_url: str, tokens: dict[str, str]) -> Starlette:
    """The agent as an ASGI application. ``tokens`` maps each bearer token to its owner's name."""
    agent = Agent()

    async def get_card(_: Request) -> Response:
        return JSONResponse(card(base_url))

    async def post(request: Request) -> Response:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        owner = tokens.get(token) if scheme.lower() == "bearer" else None
        if owner is None:
            return JSONResponse({"error": "no valid token"}, 401, {"WWW-Authenticate": "Bearer"})
        call_id = None
        try:
            # TODO 0: a body that is not JSON is -32700; a version other than 1.x is -32009.
            body = json.loads(await request.body())
            call_id = body.get("id")
            result = await agent.call(body.get("method"), body.get("params"), owner)
        except RpcError as error:
            answer = {"code": error.code, "message": error.message}
            return JSONResponse({"jsonrpc": "2.0", "id": call_id, "error": answer})
        return JSONResponse({"jsonrpc": "2.0", "id": call_id, "result": result})

    return Starlette(
        routes=[
            Route("/.well-known/agent-card.json", get_card, methods=["GET"]),
            Route("/", post, methods=["POST"]),
        ]
    )
