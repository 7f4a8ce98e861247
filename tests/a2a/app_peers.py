"""An agent that plays the scene its message names, and a house that serves it and knocks at its own door."""

from __future__ import annotations

import asyncio
import functools
import itertools
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx
from a2a.helpers import new_task_from_user_message, new_text_part
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.tasks import TaskUpdater
from a2a.types import (
    Artifact,
    Message,
    Part,
    Role,
    Task,
    TaskArtifactUpdateEvent,
    TaskState,
    TaskStatus,
    TaskStatusUpdateEvent,
)
from starlette.applications import Starlette

from ai_evolution.a2a import aclose, build_app
from ai_evolution.journal import events_of
from ai_evolution.network import Network, Transport

ORIGIN = "https://checks.example"
SECRET = "the-planted-secret-4711"
TOKENS = {"alice-token": "alice", "bob-token": "bob"}
PATIENT = 30.0
V1 = {"A2A-Version": "1.0"}


def on_a_loop(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Run an async test on a loop of its own, for ``PATIENT`` seconds at most."""

    @functools.wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        async def bounded() -> None:
            async with asyncio.timeout(PATIENT):
                await test(*args, **kwargs)

        asyncio.run(bounded())

    return run


def card(**changes: Any) -> dict[str, Any]:
    return {
        "name": "Comprobaciones · añejo €",
        "description": "Checks what a candidate says",
        "version": "1.0.0",
        "supportedInterfaces": [
            {"url": f"{ORIGIN}/", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
            {"url": f"{ORIGIN}/rest", "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"},
        ],
        "capabilities": {"streaming": True, "pushNotifications": True},
        "securitySchemes": {"bearer": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}},
        "securityRequirements": [{"schemes": {"bearer": {"list": []}}}],
        "defaultInputModes": ["text/plain", "application/json"],
        "defaultOutputModes": ["application/json"],
        "skills": [{"id": "check", "name": "check", "description": "checks", "tags": ["hr"]}],
        "unknownToTheSdk": {"kept": True},
        **changes,
    }


def message(text: str, message_id: str, **more: Any) -> dict[str, Any]:
    parts = more.pop("parts", [{"text": text}])
    configuration = more.pop("configuration", None)
    params: dict[str, Any] = {
        "message": {"messageId": message_id, "role": "ROLE_USER", "parts": parts, **more}
    }
    return {**params, "configuration": configuration} if configuration else params


def said(state: int, context: RequestContext, **more: Any) -> TaskStatusUpdateEvent:
    return TaskStatusUpdateEvent(
        task_id=more.get("task_id", context.task_id),
        context_id=more.get("context_id", context.context_id),
        status=TaskStatus(state=state),
    )


class Player(AgentExecutor):
    """Plays the scene named by the last word of a message; ``gate`` holds the scenes that wait."""

    def __init__(self) -> None:
        self.played: list[str] = []
        self.cancelled: list[str] = []
        self.waiting = asyncio.Event()
        self.gate = asyncio.Event()
        self.finished = asyncio.Event()
        self.cancel_scene = "clean"
        self.contexts: list[RequestContext] = []

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        scene = context.get_user_input().split()[-1] if context.get_user_input() else "complete"
        self.played.append(scene)
        self.contexts.append(context)
        updater = TaskUpdater(event_queue, context.task_id or "", context.context_id or "")
        await getattr(self, scene.replace("-", "_"))(context, event_queue, updater)

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        self.cancelled.append(context.task_id or "")
        updater = TaskUpdater(event_queue, context.task_id or "", context.context_id or "")
        if self.cancel_scene == "raises":
            raise RuntimeError(SECRET)
        if self.cancel_scene == "completes":
            await updater.complete()
        if self.cancel_scene == "cancels":
            await updater.cancel()
        if self.cancel_scene == "lets it finish":
            self.gate.set()
            await self.finished.wait()
        if self.cancel_scene == "cancels itself":
            raise asyncio.CancelledError(SECRET)

    async def _begin(self, context: RequestContext, queue: EventQueue, updater: TaskUpdater) -> None:
        await queue.enqueue_event(context.current_task or new_task_from_user_message(context.message))
        await updater.start_work()

    async def complete(self, context: RequestContext, queue: EventQueue, updater: TaskUpdater) -> None:
        await self._begin(context, queue, updater)
        await updater.add_artifact([new_text_part("done")], artifact_id="a", name="result")
        await updater.complete()

    async def raises(self, context: RequestContext, queue: EventQueue, updater: TaskUpdater) -> None:
        await self._begin(context, queue, updater)
        raise RuntimeError(SECRET)

    async def raises_first(self, context: RequestContext, queue: EventQueue, updater: TaskUpdater) -> None:
        raise ValueError(SECRET)

    async def raises_late(self, context: RequestContext, queue: EventQueue, updater: TaskUpdater) -> None:
        await self.complete(context, queue, updater)
        raise RuntimeError(SECRET)

    async def cancels_itself(self, context: RequestContext, queue: EventQueue, updater: TaskUpdater) -> None:
        await self._begin(context, queue, updater)
        raise asyncio.CancelledError(SECRET)

    async def silent(self, context: RequestContext, queue: EventQueue, updater: TaskUpdater) -> None:
        return

    async def stops(self, context: RequestContext, queue: EventQueue, updater: TaskUpdater) -> None:
        await self._begin(context, queue, updater)

    async def no_task(self, context: RequestContext, queue: EventQueue, updater: TaskUpdater) -> None:
        await updater.complete()

    async def back(self, context: RequestContext, queue: EventQueue, updater: TaskUpdater) -> None:
        await self._begin(context, queue, updater)
        await queue.enqueue_event(said(TaskState.TASK_STATE_SUBMITTED, context))

    async def back_hidden(self, context: RequestContext, queue: EventQueue, updater: TaskUpdater) -> None:
        await self._begin(context, queue, updater)
        try:
            await queue.enqueue_event(said(TaskState.TASK_STATE_SUBMITTED, context))
        except Exception:
            await updater.complete()

    async def unknown_state(self, context: RequestContext, queue: EventQueue, updater: TaskUpdater) -> None:
        await self._begin(context, queue, updater)
        await queue.enqueue_event(said(99, context))

    async def other_task(self, context: RequestContext, queue: EventQueue, updater: TaskUpdater) -> None:
        await self._begin(context, queue, updater)
        await queue.enqueue_event(said(TaskState.TASK_STATE_COMPLETED, context, task_id=SECRET))

    async def other_context(self, context: RequestContext, queue: EventQueue, updater: TaskUpdater) -> None:
        await self._begin(context, queue, updater)
        await queue.enqueue_event(said(TaskState.TASK_STATE_COMPLETED, context, context_id=SECRET))

    async def append_nothing(self, context: RequestContext, queue: EventQueue, updater: TaskUpdater) -> None:
        await self._begin(context, queue, updater)
        await queue.enqueue_event(
            TaskArtifactUpdateEvent(
                task_id=context.task_id,
                context_id=context.context_id,
                artifact=Artifact(artifact_id=SECRET, parts=[Part(text="x")]),
                append=True,
            )
        )

    async def second_task(self, context: RequestContext, queue: EventQueue, updater: TaskUpdater) -> None:
        await self._begin(context, queue, updater)
        await queue.enqueue_event(
            Task(
                id=context.task_id,
                context_id=context.context_id,
                status=TaskStatus(state=TaskState.TASK_STATE_COMPLETED),
            )
        )

    async def message_about_task(
        self, context: RequestContext, queue: EventQueue, updater: TaskUpdater
    ) -> None:
        await self._begin(context, queue, updater)
        await self.reply(context, queue, updater)

    async def after_the_end(self, context: RequestContext, queue: EventQueue, updater: TaskUpdater) -> None:
        await self.complete(context, queue, updater)
        await queue.enqueue_event(said(TaskState.TASK_STATE_FAILED, context))

    async def reply(self, context: RequestContext, queue: EventQueue, updater: TaskUpdater) -> None:
        await queue.enqueue_event(
            Message(message_id=f"reply-{len(self.played)}", role=Role.ROLE_AGENT, parts=[Part(text="hello")])
        )

    async def reply_and_raise(self, context: RequestContext, queue: EventQueue, updater: TaskUpdater) -> None:
        await self.reply(context, queue, updater)
        raise RuntimeError(SECRET)

    async def reply_and_go_on(self, context: RequestContext, queue: EventQueue, updater: TaskUpdater) -> None:
        await self.reply(context, queue, updater)
        await updater.complete()

    async def ask(self, context: RequestContext, queue: EventQueue, updater: TaskUpdater) -> None:
        await self._begin(context, queue, updater)
        await updater.requires_input(updater.new_agent_message([new_text_part("how far?")]))

    async def reject(self, context: RequestContext, queue: EventQueue, updater: TaskUpdater) -> None:
        await queue.enqueue_event(new_task_from_user_message(context.message))
        await updater.reject()

    async def wait(self, context: RequestContext, queue: EventQueue, updater: TaskUpdater) -> None:
        await self._begin(context, queue, updater)
        await updater.add_artifact([new_text_part("part one")], artifact_id="a", name="result")
        self.waiting.set()
        await self.gate.wait()
        await updater.complete()
        self.finished.set()

    async def wait_first(self, context: RequestContext, queue: EventQueue, updater: TaskUpdater) -> None:
        self.waiting.set()
        await self.gate.wait()
        await self.complete(context, queue, updater)

    async def stubborn(self, context: RequestContext, queue: EventQueue, updater: TaskUpdater) -> None:
        await self._begin(context, queue, updater)
        self.waiting.set()
        try:
            await self.gate.wait()
        finally:
            await updater.complete()


class House:
    """One served agent and two callers, alice and bob."""

    def __init__(self, net: Network, app: Starlette, agent: AgentExecutor) -> None:
        self.net = net
        self.app = app
        self.agent: Any = agent
        self.alice = net.client("alice", headers={"Authorization": "Bearer alice-token", **V1})
        self.bob = net.client("bob", headers={"Authorization": "Bearer bob-token", **V1})
        self.nobody = net.client("nobody", headers=V1)
        self._ids = itertools.count(1)

    async def rpc(
        self, method: str, params: Any, *, client: httpx.AsyncClient | None = None, **headers: str
    ) -> dict[str, Any]:
        """The JSON-RPC answer; with ``A2A_Version`` and the like as further headers."""
        response = await self.post(method, params, client=client, **headers)
        answer: dict[str, Any] = response.json()
        assert answer["jsonrpc"] == "2.0"
        return answer

    async def post(
        self, method: str, params: Any, *, client: httpx.AsyncClient | None = None, **headers: str
    ) -> httpx.Response:
        call = {"jsonrpc": "2.0", "id": next(self._ids), "method": method, "params": params}
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return await (client or self.alice).post(ORIGIN + "/", json=call, headers=named)

    async def send(self, scene: str, message_id: str = "m1", **more: Any) -> dict[str, Any]:
        """The task (or message) that became of a message."""
        client = more.pop("client", None)
        answer = await self.rpc("SendMessage", message(scene, message_id, **more), client=client)
        assert "result" in answer, answer
        (payload,) = answer["result"].values()
        return payload

    async def start(self, scene: str, message_id: str = "m1", **more: Any) -> str:
        """Send without waiting, wait until the scene waits, and return the task id."""
        task = await self.send(scene, message_id, configuration={"returnImmediately": True}, **more)
        await self.agent.waiting.wait()
        await self.until("GetTask", {"id": task["id"]}, lambda now: state_of(now) == "TASK_STATE_WORKING")
        return task["id"]

    async def until(
        self, method: str, params: Any, holds: Callable[[dict[str, Any]], bool]
    ) -> dict[str, Any]:
        """Ask again and again until the result is as wanted; the test's own deadline ends it."""
        while True:
            answer = await self.rpc(method, params)
            if "result" in answer and holds(answer["result"]):
                return answer["result"]
            await asyncio.sleep(0)

    async def refusal(self, method: str, params: Any, **more: Any) -> tuple[int, str]:
        answer = await self.rpc(method, params, **more)
        assert "error" in answer, answer
        return answer["error"]["code"], answer["error"]["message"]

    async def events(
        self, method: str, params: Any, client: httpx.AsyncClient | None = None
    ) -> AsyncIterator[dict[str, Any]]:
        """The results of a stream, as they come."""
        call = {"jsonrpc": "2.0", "id": next(self._ids), "method": method, "params": params}
        async with (client or self.alice).stream("POST", ORIGIN + "/", json=call) as response:
            assert response.headers["content-type"].startswith("text/event-stream"), await response.aread()
            seen, text = 0, ""
            async for chunk in response.aiter_text():
                text += chunk
                found = list(events_of(text[: text.rfind("\r\n\r\n") + 1]))  # whole events only
                for event in found[seen:]:
                    yield json.loads(event)["result"]
                seen = len(found)


def state_of(event: dict[str, Any]) -> str:
    """The state that an event of a stream (its ``result``) or a task tells, empty when none."""
    for key in ("task", "statusUpdate"):
        if key in event:
            return event[key]["status"]["state"]
    return event.get("status", {}).get("state", "")


@asynccontextmanager
async def house(
    agent: AgentExecutor | None = None,
    *,
    transport: Transport = "memory",
    served: dict[str, Any] | None = None,
    **options: Any,
) -> AsyncIterator[House]:
    agent = agent or Player()
    options.setdefault("tokens", TOKENS)
    app = build_app(served or card(), agent, **options)
    async with Network(transport=transport) as net:
        await net.host(ORIGIN, app)
        yield House(net, app, agent)
        if isinstance(agent, Player):
            agent.gate.set()
    await aclose(app)
