"""The JSON-RPC door: what is checked before the SDK's dispatcher, and what of its answer is said aloud.

The dispatcher answers a malformed request with the text of whatever exception it met. Here the shape of a
request is checked first, with sentences written for the peer, and an error that slips through is cut down to
its code and the protocol's own words. A result is passed on untouched.
"""

from __future__ import annotations

import json
from typing import Any

from a2a.server.jsonrpc_models import JSONParseError, JSONRPCError
from a2a.server.request_handlers.request_handler import RequestHandler
from a2a.server.request_handlers.response_helpers import build_error_response
from a2a.server.routes.common import ServerCallContextBuilder
from a2a.server.routes.jsonrpc_dispatcher import JsonRpcDispatcher
from a2a.utils.errors import (
    A2AError,
    InvalidParamsError,
    InvalidRequestError,
    MethodNotFoundError,
)
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from ai_evolution.a2a.dialects import (
    DIALECT,
    LEGACY_METHODS,
    LEGACY_VERSION,
    PROTOCOL_VERSION,
    VERSION_HEADER,
)
from ai_evolution.a2a.discretion import discreet
from ai_evolution.a2a.limits import PARSED


class _Parsed(Request):
    """A request whose body was parsed on the way in."""

    async def json(self) -> Any:
        return self.scope[PARSED]


class JsonRpcEndpoint:
    """Serves JSON-RPC 2.0 on the SDK's dispatcher; ``v0_3`` opens its bridge for the older dialect."""

    def __init__(
        self, handler: RequestHandler, contexts: ServerCallContextBuilder, *, v0_3: bool = False
    ) -> None:
        self._dispatcher = JsonRpcDispatcher(handler, contexts, enable_v0_3_compat=v0_3)
        self._v0_3 = v0_3

    async def serve(self, request: Request) -> Response:
        """Answer one request: always HTTP 200 with one JSON-RPC object, or an event stream."""
        body: Any = request.scope.get(PARSED)
        legacy = self._v0_3 and isinstance(body, dict) and body.get("method") in LEGACY_METHODS
        request.scope[DIALECT] = LEGACY_VERSION if legacy else PROTOCOL_VERSION
        error = _malformed(body) or self._misspoken(body, request)
        if error is not None:
            return refusal(error, _id(body))
        return _discreet(await self._dispatcher.handle_requests(_Parsed(request.scope, request.receive)))

    def _misspoken(self, body: dict[str, Any], request: Request) -> A2AError | None:
        """The error for a request in a dialect that this door does not serve, or that mixes two."""
        method = body["method"]
        if method in LEGACY_METHODS and not self._v0_3:
            return MethodNotFoundError(
                f"Method {method} is A2A {LEGACY_VERSION}; this agent speaks {PROTOCOL_VERSION}, "
                f"where it is {LEGACY_METHODS[method]}"
            )
        if method not in LEGACY_METHODS and method not in JsonRpcDispatcher.METHOD_TO_MODEL:
            return MethodNotFoundError()
        spoken = request.headers.get(VERSION_HEADER, "").partition(".")[0]
        if method not in LEGACY_METHODS and spoken == "1" and _legacy_message(body.get("params")):
            return InvalidParamsError(
                f"The message has the form of A2A {LEGACY_VERSION} (kind, or role without ROLE_); "
                f"this method speaks {PROTOCOL_VERSION}"
            )
        return None


def refusal(
    error: A2AError | JSONRPCError, request_id: str | int | None = None, status: int = 200
) -> JSONResponse:
    """Return the JSON-RPC answer for an error of the protocol."""
    return JSONResponse(build_error_response(request_id, error), status_code=status)


def _malformed(body: Any) -> A2AError | JSONRPCError | None:
    """The error for a body that is no JSON-RPC request."""
    if body is None:
        return JSONParseError(
            message="Invalid JSON: the body is empty or null; a JSON-RPC request is an object"
        )
    if isinstance(body, list):
        return InvalidRequestError("Batch requests are not supported; send one object")
    if not isinstance(body, dict):
        return InvalidRequestError("A JSON-RPC request is an object")
    if body.get("jsonrpc") != "2.0":
        return InvalidRequestError('Member jsonrpc must be exactly "2.0"')
    if _id(body) != body.get("id") or isinstance(body.get("id"), bool | float):
        return InvalidRequestError("Member id must be a string, an integer or null")
    if not isinstance(body.get("method"), str) or not body["method"]:
        return InvalidRequestError("Member method must be a string that names one")
    if not isinstance(body.get("params", {}), dict):
        return InvalidParamsError("Member params must be an object")
    return None


def _id(body: Any) -> str | int | None:
    """The id to answer with: the given one when it is one that JSON-RPC allows."""
    given = body.get("id") if isinstance(body, dict) else None
    return given if isinstance(given, str | int) and not isinstance(given, bool) else None


def _legacy_message(params: Any) -> bool:
    message = params.get("message") if isinstance(params, dict) else None
    if not isinstance(message, dict):
        return False
    parts = message.get("parts")
    kinds = (
        [part for part in parts if isinstance(part, dict) and "kind" in part]
        if isinstance(parts, list)
        else []
    )
    return "kind" in message or message.get("role") in ("user", "agent") or bool(kinds)


def _discreet(response: Response) -> Response:
    """Cut an error down to what a peer may know; a result is passed on untouched."""
    if not isinstance(response, JSONResponse) or b'"error"' not in response.body:
        return response
    answer = json.loads(bytes(response.body))
    return JSONResponse(discreet(answer)) if "error" in answer else response
