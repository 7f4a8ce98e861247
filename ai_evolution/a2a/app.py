"""An A2A 1.0 server as one ASGI app: what an agent needs around it before strangers may call.

From the outside in: nothing of an error of ours leaves (500 in neutral words) · the dialect is labelled · a
bearer token gives the owner (401) · the body is bounded and is JSON (413, 400) · the card as it was signed,
byte for byte · JSON-RPC and HTTP+JSON on one handler, which executes each message once.

    app = build_app(card, executor, store=SqliteTaskStore("tasks.db"), tokens={"secret": "alice"})

The paths are those of the card's interfaces; a card that names none is served at ``/`` and ``/rest``. Orphans
of a killed process are swept in the lifespan, or before the first request when the server runs none. It
refuses to guess about trust: the card is served as given, and is signed elsewhere (``cards``).
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from a2a.auth.user import User
from a2a.server.agent_execution import AgentExecutor
from a2a.server.context import ServerCallContext
from a2a.server.jsonrpc_models import JSONParseError
from a2a.server.routes import create_rest_routes
from a2a.types import AgentCard, Task
from a2a.types import Message as TaskMessage
from a2a.utils.constants import AGENT_CARD_WELL_KNOWN_PATH
from a2a.utils.error_handlers import build_rest_error_payload
from a2a.utils.errors import InternalError, InvalidRequestError
from google.protobuf.json_format import MessageToDict
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ai_evolution.a2a.auth import BearerAuth, OwnerContexts
from ai_evolution.a2a.dialects import (
    DIALECT,
    LEGACY_VERSION,
    PROTOCOL_VERSION,
    VersionLabel,
    parse_card,
)
from ai_evolution.a2a.discretion import DiscreetErrors
from ai_evolution.a2a.executor import REASONS
from ai_evolution.a2a.handler import RequestHandler
from ai_evolution.a2a.jsonrpc import JsonRpcEndpoint, refusal
from ai_evolution.a2a.limits import MAX_BODY, BodyLimit
from ai_evolution.a2a.store import SqliteTaskStore
from ai_evolution.errors import UsageError

if TYPE_CHECKING:
    from ai_evolution.a2a.push import PushSender

logger = logging.getLogger(__name__)


def _now() -> datetime:
    return datetime.now(UTC)


def _new_id() -> str:
    return str(uuid.uuid4())


def build_app(
    card: Mapping[str, Any] | AgentCard,
    executor: AgentExecutor,
    *,
    store: SqliteTaskStore | None = None,
    tokens: Mapping[str, str] | None = None,
    push: PushSender | None = None,
    max_body: int = MAX_BODY,
    v0_3: bool = False,
    orphans: Literal["fail", "resume"] = "fail",
    new_id: Callable[[], str] = _new_id,
    clock: Callable[[], datetime] | None = None,
    card_max_age: int = 300,
) -> Starlette:
    """Return the app; ``app.state`` has its ``handler``, ``store`` and ``card`` (the bytes that are served).

    ``tokens`` maps bearer tokens to owners; without it the agent is open and all callers are one owner.
    ``store`` stays the caller's to close; without one the tasks live in memory and go with the app.
    ``orphans`` says what becomes of a task that a killed process left active: it ends FAILED, or its message
    is executed again. ``new_id`` names tasks, contexts and the messages written here; ``clock``, when given,
    stamps every status. ``card_max_age`` is in seconds.

    Raises UsageError when the card is none, or an argument is not one that is accepted.
    """
    if orphans not in ("fail", "resume"):
        raise UsageError(f"orphans: given {orphans!r}; accepted: 'fail', 'resume'")
    if max_body < 1:
        raise UsageError(f"max_body: given {max_body}; accepted: 1 or more bytes")
    given = MessageToDict(card) if isinstance(card, AgentCard) else dict(card)
    typed = parse_card(given)
    rpc_paths, rest_prefix = _paths(typed)
    own_store = store is None
    if store is None:
        store = SqliteTaskStore(new_id=new_id, clock=clock or _now)
    handler = RequestHandler(executor, store, typed, new_id=new_id, clock=clock, push=push)
    life = _Life(handler, store, resume=orphans == "resume", own_store=own_store)
    contexts = OwnerContexts()
    rpc = JsonRpcEndpoint(handler, contexts, v0_3=v0_3)
    published = _Published(given, card_max_age)

    def refuse(scope: Scope, status: int, message: str) -> Response:
        if scope["path"] in rpc_paths:
            if status == 413:
                return refusal(InvalidRequestError(message), status=status)
            return refusal(JSONParseError(message=message))
        return JSONResponse(_rest_error(status, message), status_code=status)

    app = Starlette(
        routes=[
            Route(AGENT_CARD_WELL_KNOWN_PATH, published.serve, methods=["GET"]),
            *(Route(path, rpc.serve, methods=["POST"]) for path in rpc_paths),
            *create_rest_routes(handler, contexts, enable_v0_3_compat=v0_3, path_prefix=rest_prefix),
        ],
        middleware=[
            Middleware(VersionLabel),
            Middleware(_Doorkeeper, life=life, rest_prefix=rest_prefix, rpc_paths=rpc_paths),
            *([Middleware(BearerAuth, tokens, (AGENT_CARD_WELL_KNOWN_PATH,))] if tokens is not None else []),
            Middleware(DiscreetErrors),
            Middleware(BodyLimit, max_body, refuse),
        ],
        exception_handlers={HTTPException: _http_error},
        lifespan=life.span,
    )
    app.router.redirect_slashes = False
    app.state.handler = handler
    app.state.store = store
    app.state.card = published.body
    app.state.life = life
    return app


async def aclose(app: Starlette) -> None:
    """Stop what the app still executes and release its store, if it is the app's own. Closing twice is fine.

    A task that was being executed stays as it is stored: the next start sweeps it.
    """
    await app.state.life.close()


class _Life:
    """From the first request (or the lifespan's start) to the end."""

    def __init__(
        self, handler: RequestHandler, store: SqliteTaskStore, *, resume: bool, own_store: bool
    ) -> None:
        self._handler = handler
        self._store = store
        self._resume = resume
        self._own_store = own_store
        self._starting = asyncio.Lock()
        self.started = False

    @asynccontextmanager
    async def span(self, _app: Starlette) -> AsyncIterator[None]:
        await self.start()
        try:
            yield
        finally:
            await self.close()

    async def start(self) -> None:
        """Settle what an earlier process left active, once."""
        async with self._starting:
            if self.started:
                return
            again = []
            if self._resume:
                again = [(o, task, self._store.take_up_again(o, task)) for o, task in self._store.orphans()]
            self._store.sweep(REASONS["orphan"])  # with "resume": what has no message to execute
            for owner, task, message in again:
                if message is not None:
                    await self._execute_again(owner, task, message)
            self.started = True

    async def _execute_again(self, owner: str, task: Task, message: TaskMessage) -> None:
        try:
            await self._handler.resume(ServerCallContext(user=_Owner(owner)), message)
        except Exception:
            logger.exception("task %s could not be taken up again", task.id)
            self._store.fail(owner, task, REASONS["orphan"])

    async def close(self) -> None:
        await self._handler.aclose()
        if self._own_store:
            self._store.close()


class _Owner(User):
    def __init__(self, name: str) -> None:
        self._name = name

    @property
    def is_authenticated(self) -> bool:
        return bool(self._name)

    @property
    def user_name(self) -> str:
        return self._name


class _Doorkeeper:
    """ASGI middleware: opens the house at the first request, names the dialect, and keeps our errors
    inside."""

    def __init__(self, app: ASGIApp, life: _Life, rest_prefix: str, rpc_paths: tuple[str, ...]) -> None:
        self.app = app
        self._life = life
        self._rest = rest_prefix
        self._rpc_paths = rpc_paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begun = False

        async def watched(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        path = scope["path"]
        if (
            path not in self._rpc_paths
            and path != AGENT_CARD_WELL_KNOWN_PATH
            and path.startswith(self._rest + "/")
        ):
            legacy = path.startswith(self._rest + "/v1/")
            scope[DIALECT] = LEGACY_VERSION if legacy else PROTOCOL_VERSION
        try:
            if not self._life.started:
                await self._life.start()
            await self.app(scope, receive, watched)
        except Exception:
            logger.exception("a request failed inside this agent")
            if not begun:
                answer = refusal(InternalError(), status=500) if path in self._rpc_paths else _internal()
                await answer(scope, receive, send)


class _Published:
    """The card as it was given, byte for byte the same at every request."""

    def __init__(self, card: Mapping[str, Any], max_age: int) -> None:
        try:
            text = json.dumps(card, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
            self.body = text.encode("utf-8")
        except (TypeError, ValueError) as error:
            raise UsageError(f"card: not JSON ({error})") from error
        self._headers = {
            "ETag": f'"{hashlib.sha256(self.body).hexdigest()}"',
            "Cache-Control": f"public, max-age={max_age}",
        }

    async def serve(self, request: Request) -> Response:
        asked = [
            tag.strip().removeprefix("W/") for tag in request.headers.get("if-none-match", "").split(",")
        ]
        if "*" in asked or self._headers["ETag"] in asked:
            return Response(status_code=304, headers=self._headers)
        return Response(self.body, media_type="application/json", headers=self._headers)


def _paths(card: AgentCard) -> tuple[tuple[str, ...], str]:
    """Return the paths of the JSON-RPC interfaces and the prefix of the HTTP+JSON one, as the card names
    them."""
    rpc = [urlsplit(i.url).path or "/" for i in card.supported_interfaces if i.protocol_binding == "JSONRPC"]
    rest = [
        urlsplit(i.url).path.rstrip("/")
        for i in card.supported_interfaces
        if i.protocol_binding == "HTTP+JSON" and not i.protocol_version.startswith("0.")
    ]
    return tuple(dict.fromkeys(rpc)) or ("/",), rest[0] if rest else "/rest"


def _rest_error(status: int, message: str) -> dict[str, Any]:
    error = build_rest_error_payload(InvalidRequestError(message))["error"]
    return {"error": {**error, "code": status}}


def _internal() -> JSONResponse:
    return JSONResponse(build_rest_error_payload(InternalError()), status_code=500)


async def _http_error(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    names = {404: "NOT_FOUND", 405: "METHOD_NOT_ALLOWED"}
    body = {
        "code": error.status_code,
        "status": names.get(error.status_code, "ERROR"),
        "message": error.detail,
    }
    return JSONResponse({"error": body}, status_code=error.status_code, headers=error.headers)
