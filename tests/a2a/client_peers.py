"""Peers for the tests of our client: the bare SDK server, and an agent that says whatever its script says.

``Peer`` is an ASGI app of one page that shares nothing with the SDK or with our server, so it can break
every rule. Each method has a list of answers; the last one repeats.
"""

from __future__ import annotations

import asyncio
import functools
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from a2a.helpers import new_data_part, new_task_from_user_message, new_text_part
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes, create_rest_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCard
from google.protobuf.json_format import ParseDict
from starlette.applications import Starlette

from ai_evolution.a2a.client import Agent, connect
from ai_evolution.a2a.connection import Limits
from ai_evolution.network import Network

ORIGIN = "https://checks.example"
T, C = "task-1", "context-1"
PATIENT = 20.0


def on_a_loop(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Run an async test on a loop of its own, for ``PATIENT`` seconds at most."""

    @functools.wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        async def bounded() -> None:
            async with asyncio.timeout(PATIENT):
                await test(*args, **kwargs)

        asyncio.run(bounded())

    return run


def card(streaming: bool = True, **changes: Any) -> dict[str, Any]:
    return {
        "name": "Background checks",
        "description": "Checks what a candidate says",
        "version": "1.0.0",
        "supportedInterfaces": [
            {"url": f"{ORIGIN}/rpc", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
            {"url": f"{ORIGIN}/rest", "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"},
        ],
        "capabilities": {"streaming": streaming},
        "defaultInputModes": ["text/plain", "application/json"],
        "defaultOutputModes": ["application/json"],
        "skills": [{"id": "check", "name": "Check", "description": "A background check", "tags": ["hiring"]}],
    } | changes


# What a scripted peer can say.


def status(
    state: str, words: str = "", *, task: str = T, context: str = C, message: str = "m"
) -> dict[str, Any]:
    return {"statusUpdate": {"taskId": task, "contextId": context, "status": _status(state, words, message)}}


def snapshot(
    state: str,
    words: str = "",
    *artifacts: dict[str, Any],
    task: str = T,
    context: str = C,
    message: str = "m",
) -> dict[str, Any]:
    found = {"id": task, "contextId": context, "status": _status(state, words, message)}
    return found | ({"artifacts": list(artifacts)} if artifacts else {})


def _status(state: str, words: str, message: str) -> dict[str, Any]:
    found: dict[str, Any] = {"state": f"TASK_STATE_{state}"}
    if words:
        found["message"] = {"messageId": message, "role": "ROLE_AGENT", "parts": [{"text": words}]}
    return found


def artifact(*parts: dict[str, Any], id: str = "a1", name: str = "report") -> dict[str, Any]:
    return {"artifactId": id, "name": name, "parts": list(parts)}


def chunk(
    *parts: dict[str, Any],
    append: bool = False,
    last: bool = False,
    task: str = T,
    context: str = C,
    id: str = "a1",
) -> dict[str, Any]:
    event = {"taskId": task, "contextId": context, "artifact": artifact(*parts, id=id)}
    return {"artifactUpdate": event | {"append": append, "lastChunk": last}}


REPORT = {"result": "clear", "sources": 3}
DONE = snapshot("COMPLETED", "", artifact({"data": REPORT}))
HAPPY: list[Any] = [
    {"task": snapshot("SUBMITTED")},
    status("WORKING"),
    chunk({"data": REPORT}, last=True),
    status("COMPLETED"),
]


class Hang:
    """The stream stays open and silent until the client leaves."""


class Break:
    """The connection breaks here."""


@dataclass(frozen=True)
class Refuse:
    code: int
    message: str = "no"
    reason: str = ""


@dataclass(frozen=True)
class Raw:
    body: bytes
    status: int = 200
    kind: str = "application/json"
    headers: tuple[tuple[bytes, bytes], ...] = ()


@dataclass
class Peer:
    """An agent that follows its script. ``calls`` are the (method, params) that it was sent."""

    answers: dict[str, list[Any]]
    card: Any = field(default_factory=card)
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    left: int = 0

    def methods(self) -> list[str]:
        return [method for method, _ in self.calls]

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            raise NotImplementedError
        body = (await receive())["body"]
        self.headers.append({k.decode("latin-1"): v.decode("latin-1") for k, v in scope["headers"]})
        if scope["method"] == "GET":
            await whole(
                send, self.card if isinstance(self.card, Raw) else Raw(json.dumps(self.card).encode())
            )
            return
        call = json.loads(body)
        self.calls.append((call["method"], call["params"]))
        script = self.answers[call["method"]]
        answer = script.pop(0) if len(script) > 1 else script[0]
        if isinstance(answer, type) and issubclass(answer, Break):
            raise ConnectionError("broken on purpose")
        if isinstance(answer, dict):
            answer = Raw(json.dumps({"jsonrpc": "2.0", "id": call["id"], "result": answer}).encode())
        if isinstance(answer, Refuse):
            info = [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": answer.reason}]
            error = {"code": answer.code, "message": answer.message, "data": info}
            answer = Raw(json.dumps({"jsonrpc": "2.0", "id": call["id"], "error": error}).encode())
        if isinstance(answer, Raw):
            await whole(send, answer)
        else:
            await self._stream(call["id"], answer, receive, send)

    async def _stream(self, call_id: str, events: Iterable[Any], receive: Any, send: Any) -> None:
        kind = [(b"content-type", b"text/event-stream")]
        await send({"type": "http.response.start", "status": 200, "headers": kind})
        left = asyncio.ensure_future(receive())
        try:
            await self._say(call_id, events, left, send)
        finally:
            left.cancel()

    async def _say(self, call_id: str, events: Iterable[Any], left: asyncio.Future[Any], send: Any) -> None:
        for event in events:
            await asyncio.sleep(0)
            if left.done():
                return
            if isinstance(event, type) and issubclass(event, Break):
                raise ConnectionError("broken on purpose")
            if isinstance(event, type) and issubclass(event, Hang):
                await left
                self.left += 1
                return
            if isinstance(event, dict):
                answer = {"jsonrpc": "2.0", "id": call_id, "result": event}
                event = f"data: {json.dumps(answer, ensure_ascii=False)}\n\n".encode()
            await send({"type": "http.response.body", "body": event, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def whole(send: Any, raw: Raw) -> None:
    headers = [(b"content-type", raw.kind.encode()), *raw.headers]
    await send({"type": "http.response.start", "status": raw.status, "headers": headers})
    await send({"type": "http.response.body", "body": raw.body, "more_body": False})


def peer(
    send: Sequence[Any] | None = None,
    *,
    subscribe: Sequence[Any] = (Refuse(-32004),),
    get: Sequence[Any] = (DONE,),
    cancel: Sequence[Any] = (snapshot("CANCELED"),),
    **changes: Any,
) -> Peer:
    """A peer whose streaming and whole sends share one script; by default all goes well."""
    script = list(send) if send is not None else [HAPPY]
    return Peer(
        {
            "SendStreamingMessage": script,
            "SendMessage": script,
            "SubscribeToTask": list(subscribe),
            "GetTask": list(get),
            "CancelTask": list(cancel),
        },
        **changes,
    )


@asynccontextmanager
async def meet(app: Any, *, network: Network | None = None, **options: Any) -> AsyncIterator[Agent]:
    """Host ``app`` (if any) at ORIGIN and connect to it, without waiting between attempts.

    A ``network`` that is given stays open, and so does what it hosts.
    """
    options.setdefault("limits", Limits(grace=0.5))
    options.setdefault("backoff", (0.0,))
    async with nullcontext(network) if network is not None else Network() as net:
        if app is not None:
            await net.host(ORIGIN, app)
        async with connect(ORIGIN, http=net.client("orchestrator"), **options) as agent:
            yield agent


# The bare SDK server.


class Checker(AgentExecutor):
    """Does what its first word says; the executor that every test of a well-behaved agent shares."""

    def __init__(self) -> None:
        self.executions: list[str] = []
        self.started = asyncio.Event()
        self.go_on = asyncio.Event()

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        self.executions.append(context.task_id or "")
        assert context.message is not None
        if context.current_task is None:
            await event_queue.enqueue_event(new_task_from_user_message(context.message))
        updater = TaskUpdater(event_queue, context.task_id or "", context.context_id or "")
        word = context.get_user_input().split(" ")[0]
        if word == "reject":
            await updater.reject(updater.new_agent_message([new_text_part("not my trade")]))
            return
        await updater.start_work()
        if word == "ask":
            question = "does the consent cover international checks?"
            await updater.requires_input(updater.new_agent_message([new_text_part(question)]))
        elif word == "authorize":
            await updater.requires_auth(updater.new_agent_message([new_text_part("log in at the registry")]))
        elif word == "fail":
            await updater.failed(updater.new_agent_message([new_text_part("the registry is down")]))
        elif word == "wait":
            self.started.set()
            await self.go_on.wait()
            await self._report(updater)
        elif word == "talk":
            await updater.complete(updater.new_agent_message([new_data_part(REPORT)]))
        else:
            await self._report(updater)

    async def _report(self, updater: TaskUpdater) -> None:
        await updater.add_artifact([new_data_part(REPORT)], artifact_id="a1", name="report", last_chunk=True)
        await updater.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        await TaskUpdater(event_queue, context.task_id or "", context.context_id or "").cancel()


def sdk_server(executor: AgentExecutor, description: dict[str, Any] | None = None) -> Starlette:
    """The SDK's own server, as its documentation builds it."""
    parsed = ParseDict(description or card(), AgentCard())
    handler = DefaultRequestHandler(
        agent_executor=executor, task_store=InMemoryTaskStore(), agent_card=parsed
    )
    return Starlette(
        routes=[
            *create_agent_card_routes(parsed),
            *create_jsonrpc_routes(handler, "/rpc"),
            *create_rest_routes(handler, path_prefix="/rest"),
        ]
    )
