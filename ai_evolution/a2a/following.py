"""Following one task through the SDK's client until it is over: send, listen, take hold again, cancel.

``Follower`` decides *when* to call; ``Conversation`` decides what an answer means. It waits by a bounded
backoff, never past the deadline of its caller, and leaves no stream open behind it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Any, cast

import httpx
from a2a.client import Client
from a2a.types import (
    CancelTaskRequest,
    GetTaskRequest,
    SendMessageRequest,
    StreamResponse,
    SubscribeToTaskRequest,
    Task,
)
from google.protobuf import json_format

from ai_evolution.a2a.connection import INVALID_AGENT_RESPONSE, OPEN, Limits, Lost, garbled, plain, translated
from ai_evolution.a2a.conversation import AUTH_REQUIRED, COMPLETED, SAFE_ID, Conversation, state_of
from ai_evolution.a2a.deliverable import inexact, wire
from ai_evolution.a2a.states import TERMINAL
from ai_evolution.errors import (
    A2AError,
    CallRefused,
    DeliverableInvalid,
    TaskNotCompleted,
    TaskUnsettled,
    UsageError,
)

BACKOFF = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 2.0)
"""Seconds to wait before looking again; the last one repeats, and news from the task starts anew."""
PATIENCE = 4
"""How often a stored task may lag behind its own stream before that counts as a contradiction."""
NOT_CANCELABLE = -32002
DRAIN = 0.5
"""Seconds that a stream may stay open after the task's last state; then we leave it."""

Part = Mapping[str, Any]
"""A part as on the wire: ``{"text": ...}``, ``{"data": ...}``, ``{"url": ...}``, ``{"raw": base64}``."""
Answer = Callable[[str, dict[str, Any]], Awaitable[Sequence[Part] | None]]


class Follower:
    """Speaks with one agent about any number of tasks; each ``Conversation`` is one of them."""

    def __init__(
        self,
        client: Client,
        streaming: bool,
        new_id: Callable[[], str],
        limits: Limits,
        backoff: Sequence[float],
    ) -> None:
        self._client, self._streaming, self._new_id, self._limits = client, streaming, new_id, limits
        self._backoff = tuple(backoff) or (0.0,)

    def compose(
        self,
        parts: Sequence[Part],
        talk: Conversation,
        message_id: str | None = None,
        push: Mapping[str, Any] | None = None,
    ) -> SendMessageRequest:
        """A message of ours about this task; raises ``UsageError`` when it is none that A2A 1.0 knows."""
        if not parts:
            raise UsageError("a message without parts; expected at least one")
        message: dict[str, Any] = {
            "messageId": message_id or self._new_id(),
            "role": "ROLE_USER",
            "parts": [dict(part) for part in parts],
            "taskId": talk.task_id,
            "contextId": talk.context_id,
        }
        lossy = inexact(message["parts"])
        if lossy is not None:
            raise UsageError(f"parts{lossy}: given a number that a float can't hold; send it as text")
        configuration = {"taskPushNotificationConfig": dict(push)} if push is not None else {}
        request = SendMessageRequest()
        try:
            json_format.ParseDict({"message": message, "configuration": configuration}, request)
            json_format.MessageToDict(request)
        except (json_format.Error, ValueError, TypeError, OverflowError, RecursionError) as error:
            why = plain(error, 160)
            raise UsageError(f"message: {why}; expected parts (and push) as A2A 1.0 has them") from error
        return request

    async def settle(
        self,
        talk: Conversation,
        request: SendMessageRequest | None,
        answer: Answer | None,
        resend: bool,
        deadline: float,
    ) -> None:
        """Bring the task to a terminal state; on the way out of any error, cancel what we began."""
        timer = asyncio.timeout(deadline)
        try:
            async with timer:
                if talk.task_id:
                    await self._pick_up(talk, request)
                await self._converse(talk, request, answer, resend)
                await self._confirm(talk)
        except BaseException as error:
            state = await self._give_up(talk) if talk.heard or request is None else ""
            if isinstance(error, TimeoutError) and timer.expired():
                raise TaskUnsettled(
                    f"task {talk.task_id or '(no id came)'} did not settle in {deadline:g} s:"
                    f" it was {talk.state or 'never heard of'}; after our cancel it is {state or 'unknown'}",
                    state or talk.state,
                    talk.task_id,
                ) from None
            raise

    async def _pick_up(self, talk: Conversation, request: SendMessageRequest | None) -> None:
        """Learn how a task of earlier stands: ``request`` answers what it waits on, in its own context."""
        talk.artifacts.gaps = True
        talk.look(await self.get(talk.task_id))
        if request is not None:
            talk.answered()
            request.message.context_id = request.message.context_id or talk.context_id

    async def _converse(
        self, talk: Conversation, request: SendMessageRequest | None, answer: Answer | None, resend: bool
    ) -> None:
        while True:
            await self._until_it_rests(talk, request, resend)
            if talk.state in TERMINAL:
                return
            if talk.state == AUTH_REQUIRED:
                raise not_completed(talk, "asks for an authorization that we can't give, and was given up")
            question = talk.ask()
            parts = await answer(question, wire(talk.task())) if answer is not None else None
            request = self.compose(parts, talk) if parts is not None else None
            if request is None:
                talk.look(await self.cancel(talk.task_id))

    async def _until_it_rests(
        self, talk: Conversation, request: SendMessageRequest | None, resend: bool
    ) -> None:
        """Send ``request`` (if any) and listen, as often as it takes, until the task rests."""
        misses = 0
        while request is not None or not talk.rests:
            heard, states = talk.heard, len(talk.states)
            try:
                if request is not None:
                    await self._send(talk, request)
                else:
                    await self._reattach(talk)
            except Lost:
                if request is not None and talk.heard == heard and not resend and not talk.task_id:
                    raise
            if talk.heard > heard or not resend:
                request = None
            if request is not None or not talk.rests:
                misses = 0 if len(talk.states) > states else misses + 1
                await asyncio.sleep(self._pause(misses))

    async def _send(self, talk: Conversation, request: SendMessageRequest) -> None:
        heard = talk.heard
        await self._listen(talk, self._client.send_message(request), "SendMessage")
        if talk.heard == heard:
            raise Lost("SendMessage: the answer ended before it began")

    async def _reattach(self, talk: Conversation) -> None:
        """SubscribeToTask; where that is refused, breaks off or settles nothing, GetTask."""
        if self._streaming:
            talk.reattached += 1
            talk.artifacts.gaps = True
            subscription = self._client.subscribe(SubscribeToTaskRequest(id=talk.task_id))
            try:
                await self._listen(talk, subscription, "SubscribeToTask")
            except CallRefused as refusal:
                if refusal.code == INVALID_AGENT_RESPONSE:
                    raise
            if talk.rests:
                return
        talk.look(await self.get(talk.task_id))

    async def _listen(self, talk: Conversation, events: AsyncIterator[StreamResponse], doing: str) -> None:
        """Hear events until the stream ends or the task rests; the stream is closed when this returns.

        After a terminal state the stream should end by itself; what still comes is heard, and refused
        when it contradicts.
        """
        opened: list[httpx.Response] = []
        mark = OPEN.set(opened)
        try:
            while talk.state in TERMINAL or not talk.rests:
                wait = DRAIN if talk.state in TERMINAL else self._limits.idle
                try:
                    event = await self._next(events, doing, wait)
                except Lost:
                    if talk.state in TERMINAL:
                        return
                    raise
                if event is None:
                    return
                talk.hear(event)
        finally:
            OPEN.reset(mark)
            for reply in opened:
                await reply.aclose()
            await cast(Any, events).aclose()

    @staticmethod
    async def _next(events: AsyncIterator[StreamResponse], doing: str, wait: float) -> StreamResponse | None:
        try:
            async with asyncio.timeout(wait):
                with translated(doing):
                    return await anext(events, None)
        except TimeoutError:
            raise Lost(f"{doing}: the stream was silent for {wait:g} s") from None

    async def get(self, task_id: str, history: int | None = 0) -> Task:
        """GetTask, with the last ``history`` messages (None: all). Raises ``CallRefused``."""
        request = GetTaskRequest(id=identifier(task_id), history_length=history)
        return await self._whole(self._client.get_task(request), "GetTask")

    async def _whole(self, call: Coroutine[Any, Any, Task], doing: str) -> Task:
        try:
            async with asyncio.timeout(self._limits.idle):
                with translated(doing):
                    return await call
        except TimeoutError:
            raise Lost(f"{doing}: no answer within {self._limits.idle:g} s") from None

    async def _confirm(self, talk: Conversation) -> None:
        """Hold what was streamed against the stored task, which may lag behind its own stream a little."""
        lags = misses = 0
        while talk.state == COMPLETED and talk.final is None:
            try:
                task = await self.get(talk.task_id)
            except Lost:
                misses += 1
            else:
                where = None if talk.artifacts.gaps else talk.artifacts.contradicts(task)
                if lags == PATIENCE or (where is None and state_of(task) in TERMINAL):
                    talk.look(task)
                    if where is not None:
                        message = f"at {where}: the stored task and its own stream differ"
                        raise DeliverableInvalid(message, where)
                    return
                lags += 1
            await asyncio.sleep(self._pause(lags + misses))

    async def cancel(self, task_id: str) -> Task:
        """CancelTask, then GetTask until the task is terminal. The caller sets the deadline."""
        refused: CallRefused | None = None
        misses = 0
        request = CancelTaskRequest(id=identifier(task_id))
        try:
            task = await self._whole(self._client.cancel_task(request), "CancelTask")
        except Lost:
            task = Task()
        except CallRefused as refusal:
            if refusal.code != NOT_CANCELABLE:
                raise
            refused, task = refusal, Task()
        while state_of(task) not in TERMINAL:
            if task.id and refused is not None:
                raise refused
            if misses:
                await asyncio.sleep(self._pause(misses))
            misses += 1
            try:
                task = await self.get(task_id)
            except Lost:
                continue
        if task.id != task_id:
            raise garbled(f"CancelTask: the agent spoke of task {plain(task.id, 60)!r}, not {task_id!r}")
        return task

    async def _give_up(self, talk: Conversation) -> str:
        """Cancel as well as the grace period allows; returns the state then known, ``""`` when unknown."""
        if not talk.states or talk.state in TERMINAL:
            return talk.state
        try:
            async with asyncio.timeout(self._limits.grace):
                return state_of(await self.cancel(talk.task_id))
        except (A2AError, TimeoutError):
            return ""

    def _pause(self, misses: int) -> float:
        return self._backoff[min(misses, len(self._backoff) - 1)]


def identifier(task_id: str) -> str:
    """``task_id`` when it may stand in a path; else ``UsageError``."""
    if not SAFE_ID.fullmatch(task_id):
        raise UsageError(
            f"task id {plain(task_id, 60)!r}; expected 1 to 256 characters without space / ? # % \\"
        )
    return task_id


def not_completed(talk: Conversation, what: str) -> TaskNotCompleted:
    """The error for a task that came to rest without a deliverable, with the agent's words, bounded."""
    words = talk.said()
    message = f"task {plain(talk.task_id, 60)} {what}: {talk.state}" + (f" ({words})" if words else "")
    return TaskNotCompleted(message, talk.state, talk.task_id, talk.context_id)
