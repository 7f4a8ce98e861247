"""The SDK's request handler with the three promises it lacks: once, in order, and without a leak.

* **Once.** A message is claimed by (caller, messageId) before it runs. The same message again gets the
  recorded task (or Message): blocking waits until it rests, streaming gets the snapshot and then what is
  still to come. The same id with other content is refused as -32602. A claim is given back when the message
  was refused before it ran.
* **In order.** A task that is SUBMITTED or WORKING takes no message (-32004): the SDK would queue it behind
  the running execution and drop it when that one ends. A message to a task that asks for input is executed or
  refused, never dropped.
* **Without a leak.** An error that is not one of the protocol's goes to the log, and the peer gets "Internal
  error".
"""

from __future__ import annotations

import asyncio
import functools
import hashlib
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from datetime import datetime
from typing import TYPE_CHECKING, Any

from a2a.server.agent_execution import AgentExecutor, RequestContext, SimpleRequestContextBuilder
from a2a.server.cluster.event_stream import TaskEventStream, VersionedEvent
from a2a.server.cluster.version import TaskVersion
from a2a.server.context import ServerCallContext
from a2a.server.events.event_queue import Event
from a2a.server.id_generator import IDGenerator, IDGeneratorContext
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.types import (
    AgentCard,
    CancelTaskRequest,
    Message,
    SendMessageRequest,
    SubscribeToTaskRequest,
    Task,
    TaskArtifactUpdateEvent,
    TaskState,
)
from a2a.utils.errors import (
    A2AError,
    ContentTypeNotSupportedError,
    InternalError,
    InvalidAgentResponseError,
    InvalidParamsError,
    PushNotificationNotSupportedError,
    TaskNotCancelableError,
    UnsupportedOperationError,
)
from a2a.utils.task import apply_history_length

from ai_evolution.a2a import states
from ai_evolution.a2a.executor import CLAIM, RESUMED, STARTED, GuardedExecutor
from ai_evolution.a2a.store import Claim, SqliteTaskStore

if TYPE_CHECKING:
    from ai_evolution.a2a.push import PushSender

logger = logging.getLogger(__name__)

PARKED = 300.0
"""Seconds after which a task that waits for input gives its memory back; the next message reads it anew."""

TASK_ID = "ai_evolution.task_id"
"""Key in ``ServerCallContext.state``: the id that was chosen for the task of a first message."""


class NewIds(IDGenerator):
    """The SDK's door for identifiers, opened by a plain function."""

    def __init__(self, new_id: Callable[[], str]) -> None:
        self._new_id = new_id

    def generate(self, context: IDGeneratorContext) -> str:  # noqa: ARG002  (the SDK's signature)
        """Return a new id."""
        return self._new_id()


class _Contexts(SimpleRequestContextBuilder):
    """Builds the agent's request context under the task id that was claimed."""

    def __init__(self, new_id: Callable[[], str]) -> None:
        super().__init__(task_id_generator=NewIds(new_id), context_id_generator=NewIds(new_id))

    async def build(
        self,
        context: ServerCallContext,
        params: SendMessageRequest | None = None,
        task_id: str | None = None,
        context_id: str | None = None,
        task: Task | None = None,
    ) -> RequestContext:
        return await super().build(context, params, task_id or context.state.get(TASK_ID), context_id, task)


class LocalEventStream(TaskEventStream):
    """Events of one process: what the SDK asks of a versioned store, without another process to reach.

    Nothing is kept. A subscriber that comes between two events is first given the task as it is stored.
    """

    def __init__(self, store: SqliteTaskStore) -> None:
        self._store = store
        self._subscribers: dict[str, set[asyncio.Queue[VersionedEvent]]] = {}

    async def publish(self, task_id: str, event: VersionedEvent) -> None:
        """Hand an event to everybody who follows the task."""
        for queue in self._subscribers.get(task_id, ()):
            queue.put_nowait(event)

    async def subscribe(self, task_id: str, *, after: TaskVersion) -> AsyncGenerator[VersionedEvent, None]:
        """Yield what happened to the task after a version, and go on until the subscriber leaves."""
        queue: asyncio.Queue[VersionedEvent] = asyncio.Queue()
        followers = self._subscribers.setdefault(task_id, set())
        followers.add(queue)
        try:
            stored = self._store.peek(task_id)
            if stored is not None and stored.version.is_after(after):
                yield VersionedEvent(stored.task, stored.version)
                after = stored.version
            while True:
                event = await queue.get()
                if event.version.is_after(after):
                    yield event
        finally:
            followers.discard(queue)
            if not followers:
                self._subscribers.pop(task_id, None)

    async def destroy(self, task_id: str) -> None:
        """Nothing outlives its subscribers, so nothing is left to release."""


def _neutral(method: Callable[..., Any]) -> Callable[..., Any]:
    """Let the protocol's own errors through, and nothing of any other error."""

    @functools.wraps(method)
    async def call(self: Any, params: Any, context: ServerCallContext) -> Any:
        try:
            return await method(self, params, context)
        except Exception as error:
            raise _public(error) from None

    return call


def _neutral_stream(method: Callable[..., Any]) -> Callable[..., Any]:
    """``_neutral`` for a method that yields events."""

    @functools.wraps(method)
    async def stream(self: Any, params: Any, context: ServerCallContext) -> AsyncGenerator[Event, None]:
        try:
            async with aclosing(method(self, params, context)) as events:
                async for event in events:
                    yield event
        except Exception as error:
            raise _public(error) from None

    return stream


def _public(error: Exception) -> A2AError:
    if isinstance(error, A2AError) and not isinstance(error, InternalError | InvalidAgentResponseError):
        return error
    logger.error("a request failed inside this agent", exc_info=error)
    return InvalidAgentResponseError() if isinstance(error, InvalidAgentResponseError) else InternalError()


class RequestHandler(DefaultRequestHandler):
    """``DefaultRequestHandler`` on a ``SqliteTaskStore``, with the promises at the top of this module."""

    def __init__(
        self,
        executor: AgentExecutor,
        store: SqliteTaskStore,
        card: AgentCard,
        *,
        new_id: Callable[[], str],
        clock: Callable[[], datetime] | None = None,
        push: PushSender | None = None,
    ) -> None:
        self.guarded = GuardedExecutor(executor, store, new_id=new_id, clock=clock)
        self.store = store
        self._new_id = new_id
        self._push = push
        self._input_modes = _input_modes(card)
        super().__init__(
            agent_executor=self.guarded,
            task_store=store,
            agent_card=card,
            push_config_store=push,
            push_sender=push,
            push_url_validator=push.policy if push is not None else None,
            request_context_builder=_Contexts(new_id),
            event_stream=LocalEventStream(store),
            interrupted_task_timeout=PARKED,
        )

    @_neutral
    async def on_message_send(self, params: SendMessageRequest, context: ServerCallContext) -> Message | Task:
        """Execute a message once and return what became of it."""
        claim = await self._admit(params, context)
        while not claim.fresh:
            recorded = await self._recorded(claim, params, context)
            if recorded is not None:
                return recorded
            claim = await self._admit(params, context)  # it was given back: this message is the first now
        try:
            result: Message | Task = await super().on_message_send(params, context)
            if isinstance(result, Task) and _state(result) in states.TERMINAL:
                self._see_executed(claim, context)
        except Exception:
            await self._give_back(claim, context)
            raise
        return result

    @_neutral_stream
    async def on_message_send_stream(
        self, params: SendMessageRequest, context: ServerCallContext
    ) -> AsyncGenerator[Event, None]:
        """Execute a message once and yield its events; a repeated one gets the snapshot and what is to
        come."""
        claim = await self._admit(params, context)
        while not claim.fresh:
            recorded = await self._recorded(claim, params, context, settled=False)
            if recorded is None:
                claim = await self._admit(params, context)
                continue
            async with aclosing(self._followed(recorded, claim, context)) as events:
                async for event in events:
                    yield event
            return
        try:
            async with aclosing(super().on_message_send_stream(params, context)) as events:
                async for event in events:
                    yield event
            self._see_executed(claim, context)
        except Exception:
            await self._give_back(claim, context)
            raise

    @_neutral
    async def on_cancel_task(self, params: CancelTaskRequest, context: ServerCallContext) -> Task | None:
        """Cancel a task and return it, CANCELED.

        Raises TaskNotCancelableError when it had ended otherwise before the request reached it.
        """
        task: Task | None = await super().on_cancel_task(params, context)
        if task is not None and task.status.state != TaskState.TASK_STATE_CANCELED:
            raise TaskNotCancelableError
        return task

    on_get_task = _neutral(DefaultRequestHandler.on_get_task)
    on_list_tasks = _neutral(DefaultRequestHandler.on_list_tasks)
    on_subscribe_to_task = _neutral_stream(DefaultRequestHandler.on_subscribe_to_task)
    on_create_task_push_notification_config = _neutral(
        DefaultRequestHandler.on_create_task_push_notification_config
    )
    on_get_task_push_notification_config = _neutral(
        DefaultRequestHandler.on_get_task_push_notification_config
    )
    on_list_task_push_notification_configs = _neutral(
        DefaultRequestHandler.on_list_task_push_notification_configs
    )
    on_delete_task_push_notification_config = _neutral(
        DefaultRequestHandler.on_delete_task_push_notification_config
    )
    on_get_extended_agent_card = _neutral(DefaultRequestHandler.on_get_extended_agent_card)

    async def resume(self, owner: ServerCallContext, message: Message) -> None:
        """Execute an orphan's message again. The execution runs on; this returns at its first event."""
        owner.state[RESUMED] = True
        params = SendMessageRequest(message=message)
        params.configuration.return_immediately = True
        await super().on_message_send(params, owner)

    # ---- once ----------------------------------------------------------------------------------

    async def _admit(self, params: SendMessageRequest, context: ServerCallContext) -> Claim:
        """Claim a message, or find the claim on it; refuse what must not run."""
        message, caller = params.message, context.user.user_name
        content = hashlib.sha256(message.SerializeToString(deterministic=True)).digest()
        task_id = message.task_id or self._new_id()
        claim = self.store.claim(caller, message.message_id, content, task_id)
        if not claim.fresh:
            if claim.fingerprint != content:
                raise InvalidParamsError(
                    f"messageId {message.message_id!r} was used before with other content; "
                    "give each new message a new messageId"
                )
            return claim
        try:
            await self._check(params, context)
        except Exception:
            self.store.release(claim)
            raise
        context.state[CLAIM] = claim
        context.state[TASK_ID] = task_id
        self.guarded.executing[caller, message.message_id] = task_id
        return claim

    async def _check(self, params: SendMessageRequest, context: ServerCallContext) -> None:
        _check_input_modes(params.message, self._input_modes)
        if self._push is None and params.configuration.HasField("task_push_notification_config"):
            raise PushNotificationNotSupportedError
        if params.message.task_id:
            stored = await self.store.get(params.message.task_id, context)
            if stored is not None and not params.message.context_id:
                # Section 3.4.3: a message that names only its task belongs to that task's context. The
                # SDK would make a new context up, and every event of the turn would be a stranger's.
                params.message.context_id = stored.task.context_id
            if stored is not None and (_state(stored.task) in states.ACTIVE or self._awaited(stored.task)):
                raise UnsupportedOperationError(
                    f"Task {params.message.task_id} is at work and takes no message; "
                    "send it when the task asks for input, or start a new task in the same context"
                )

    def _awaited(self, task: Task) -> bool:
        """Whether another message to this task was accepted and is not in its history yet."""
        known = {message.message_id for message in task.history}
        executing = self.guarded.executing.items()
        return any(task_id == task.id and message_id not in known for (_, message_id), task_id in executing)

    async def _recorded(
        self, claim: Claim, params: SendMessageRequest, context: ServerCallContext, *, settled: bool = True
    ) -> Message | Task | None:
        """Wait for what a claimed message became; None when the claim was given back meanwhile.

        With ``settled`` (and unless the caller asked to return immediately) wait until its task rests.
        """
        settled = settled and not params.configuration.return_immediately
        while True:
            current = self.store.claimed(claim.caller, claim.message_id)
            if current is None:
                return None
            if current.reply is not None:
                return current.reply
            stored = await self.store.get(claim.task_id, context)
            task = stored.task if stored is not None else None
            if task and self._taken(claim, task) and (not settled or _state(task) in states.SETTLED):
                return apply_history_length(task, params.configuration)
            await self.store.changed(claim.task_id)

    def _taken(self, claim: Claim, task: Task) -> bool:
        """Whether the task has taken the message up, or never will."""
        taken = any(message.message_id == claim.message_id for message in task.history)
        return taken or _state(task) in states.TERMINAL

    async def _followed(
        self, recorded: Message | Task, claim: Claim, context: ServerCallContext
    ) -> AsyncGenerator[Event, None]:
        """Yield the snapshot of a recorded message and, until the task rests, its live events."""
        if isinstance(recorded, Message) or _state(recorded) in states.SETTLED:
            yield recorded
            return
        request = SubscribeToTaskRequest(id=claim.task_id)
        events = super().on_subscribe_to_task(request, context)
        try:
            async with aclosing(events):
                async for event in events:
                    yield event
                    if isinstance(event, Message | TaskArtifactUpdateEvent):
                        continue
                    if TaskState.Name(event.status.state) in states.SETTLED:
                        return
        except UnsupportedOperationError:  # it came to rest between the snapshot and the subscription
            stored = await self.store.get(claim.task_id, context)
            if stored is not None:
                yield stored.task

    def _see_executed(self, claim: Claim, context: ServerCallContext) -> None:
        """Refuse a message that the SDK dropped because its task ended first."""
        if not context.state.get(STARTED):
            raise UnsupportedOperationError(f"Task {claim.task_id} ended before it took this message")

    async def _give_back(self, claim: Claim, context: ServerCallContext) -> None:
        """Release the claim on a message that did not run, or that left nothing behind."""
        if not context.state.get(STARTED) or (
            await self.store.get(claim.task_id, context) is None
            and getattr(self.store.claimed(claim.caller, claim.message_id), "reply", None) is None
        ):
            self.guarded.executing.pop((claim.caller, claim.message_id), None)
            self.store.release(claim)


def _state(task: Task) -> str:
    return str(TaskState.Name(task.status.state))


def _input_modes(card: AgentCard) -> frozenset[str]:
    """Every media type that some skill takes; a message does not say which skill it is for."""
    modes = set(card.default_input_modes)
    for skill in card.skills:
        modes.update(skill.input_modes)
    return frozenset(_media_type(mode) for mode in modes)


def _media_type(text: str) -> str:
    return text.partition(";")[0].strip().lower()


def _check_input_modes(message: Message, accepted: frozenset[str]) -> None:
    """Refuse a part that no skill takes (-32005). A text part without mediaType is text/plain, a data part
    JSON."""
    if not accepted:
        return  # a card that declares nothing restricts nothing
    for part in message.parts:
        implied = {"text": "text/plain", "data": "application/json"}.get(part.WhichOneof("content") or "", "")
        given = _media_type(part.media_type) or implied
        if given and not accepted & {given, given.partition("/")[0] + "/*", "*/*"}:
            raise ContentTypeNotSupportedError(
                f"Media type {given} is not supported. Supported input modes: {', '.join(sorted(accepted))}"
            )
