"""Who is asking (RFC 6750): bearer tokens, each of which speaks for one owner.

Only what is listed as open is served without a token. A token is compared with every known one through
digests of equal length and without stopping early, so the time of an answer tells nothing about a token. It
refuses to hand the token on: what the agent sees of a request is its owner, never the Authorization header.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Collection, Mapping

from a2a.server.context import ServerCallContext
from a2a.server.routes.common import DefaultServerCallContextBuilder
from starlette.authentication import AuthCredentials, SimpleUser
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from ai_evolution.errors import UsageError

REALM = 'Bearer realm="a2a"'


class BearerAuth:
    """ASGI middleware: 401 with ``WWW-Authenticate`` for all but the ``open`` paths; the owner in
    ``scope["user"]``."""

    def __init__(self, app: ASGIApp, tokens: Mapping[str, str], open_paths: Collection[str] = ()) -> None:
        if not all(token and token.isascii() and owner for token, owner in tokens.items()):
            raise UsageError(
                "tokens: given an empty or non-ASCII token, or an empty owner; give {token: owner}"
            )
        self.app = app
        self._owners = [(_digest(token), owner) for token, owner in tokens.items()]
        self._open = frozenset(open_paths)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in self._open:
            await self.app(scope, receive, send)
            return
        scheme, _, token = Headers(scope=scope).get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            await _refuse(REALM, "A bearer token is required")(scope, receive, send)
            return
        owner = self._owner(token.strip())
        if owner is None:
            await _refuse(f'{REALM}, error="invalid_token"', "The token is not valid")(scope, receive, send)
            return
        scope["user"] = SimpleUser(owner)
        scope["auth"] = AuthCredentials(["authenticated"])
        await self.app(scope, receive, send)

    def _owner(self, token: str) -> str | None:
        given, found = _digest(token), None
        for known, owner in self._owners:
            if hmac.compare_digest(given, known):
                found = owner
        return found


class OwnerContexts(DefaultServerCallContextBuilder):
    """The SDK's call context of a request, without the caller's credentials."""

    def build(self, request: Request) -> ServerCallContext:
        """Return the context; its ``user.user_name`` is the owner, empty for an agent that asks for no
        token."""
        context = super().build(request)
        for name in ("authorization", "cookie", "proxy-authorization"):
            context.state["headers"].pop(name, None)
        return context


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


def _refuse(challenge: str, message: str) -> JSONResponse:
    error = {"code": 401, "status": "UNAUTHENTICATED", "message": message}
    return JSONResponse({"error": error}, status_code=401, headers={"WWW-Authenticate": challenge})
