"""An executor that keeps its word, around one that may not.

The SDK hands an agent's events to the world as they come and its exceptions as they are. Here each event
passes the table of ``states`` first, and whatever goes wrong inside becomes a ``failed`` task with a neutral
sentence. What the peer gets to know:

* the first event is a Task (made from the message when the agent forgot it), or one Message and nothing else;
* an exception, an illegal move, an event for another task, or returning before the task rests: FAILED and a
  reason from ``REASONS``; the exception itself goes to the log of this process and nowhere else;
* a cancelled task ends CANCELED as an event that live subscribers see, whatever the agent's ``cancel`` does,
  and nothing is said about the task after that.

It refuses to repair what an agent says: an illegal event is never turned into a legal one.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import cast

from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.events.event_queue import Event
from a2a.types import (
    Message,
    Part,
    Role,
    Task,
    TaskArtifactUpdateEvent,
    TaskState,
    TaskStatus,
    TaskStatusUpdateEvent,
)

from ai_evolution.a2a import states
from ai_evolution.a2a.store import Claim, SqliteTaskStore
from ai_evolution.errors import IllegalTransition

logger = logging.getLogger(__name__)

REASONS = {
    "error": "The agent could not complete this task.",
    "illegal": "The agent broke the life cycle of this task, so the task was ended.",
    "unsettled": "The agent stopped before this task came to rest.",
    "orphan": "The agent was restarted before this task came to rest.",
}
"""Everything a peer is told about a failure that the agent did not put into its own words."""

CLAIM = "ai_evolution.claim"
STARTED = "ai_evolution.started"
RESUMED = "ai_evolution.resumed"
"""Keys in ``ServerCallContext.state``: the claim on the message, whether its execution began, and whether
this is the second execution of an orphan."""


@dataclass(slots=True)
class Course:
    """What one task has shown so far; its ``execute`` and its ``cancel`` share it."""

    task_id: str
    context_id: str
    message: Message | None
    state: str | None = None
    artifacts: set[str] = field(default_factory=set)
    events: int = 0
    replied: bool = False
    broken: bool = False
    canceling: bool = False
    resumed: bool = False

    @classmethod
    def of(cls, context: RequestContext) -> Course:
        task = context.current_task
        return cls(
            task_id=context.task_id or "",
            context_id=(task.context_id if task else context.context_id) or "",
            message=context.message,
            state=TaskState.Name(task.status.state) if task else None,
            artifacts={artifact.artifact_id for artifact in task.artifacts} if task else set(),
            resumed=bool(context.call_context.state.get(RESUMED)),
        )

    @property
    def over(self) -> bool:
        return self.replied or self.state in states.TERMINAL


class _Checked(EventQueue):
    """The queue an agent writes to: what is legal goes on, what is not is an IllegalTransition in the
    agent."""

    def __init__(
        self, queue: EventQueue, course: Course, executor: GuardedExecutor, claim: Claim | None
    ) -> None:
        self._queue = queue
        self._course = course
        self._executor = executor
        self._claim = claim

    async def enqueue_event(self, event: Event) -> None:
        course = self._course
        if course.canceling:
            return  # somebody cancelled the task: what the agent still says is not heard
        try:
            events = self._check(event)
        except IllegalTransition:
            course.broken = True
            raise
        for checked in events:
            course.events += 1
            await self._queue.enqueue_event(checked)

    def _check(self, event: Event) -> tuple[Event, ...]:
        """Return the events to send for this one: none when it repeats what is known, a Task before a first
        update."""
        course = self._course
        if course.broken or course.replied:
            raise IllegalTransition("an event after the end; a Message or an illegal event is the last one")
        if isinstance(event, Message):
            return self._message(event)
        if (event.id if isinstance(event, Task) else event.task_id) != course.task_id:
            raise IllegalTransition(f"an event of another task; accepted: events of {course.task_id}")
        if event.context_id not in ("", course.context_id):
            raise IllegalTransition(f"an event of another context; accepted: {course.context_id}")
        event.context_id = course.context_id
        if isinstance(event, Task):
            return self._task(event)
        born = () if course.state is not None else (self._executor.birth(course),)
        return (
            *born,
            *(self._status(event) if isinstance(event, TaskStatusUpdateEvent) else self._artifact(event)),
        )

    def _message(self, event: Message) -> tuple[Event, ...]:
        if self._course.state is not None:
            raise IllegalTransition("a Message about a task; accepted: status and artifact updates")
        self._course.replied = True
        if self._claim is not None:
            self._executor.store.answer(self._claim, event)
        return (event,)

    def _task(self, event: Task) -> tuple[Event, ...]:
        course, name = self._course, _name(event.status)
        if course.state is not None:
            if course.resumed or name == course.state:
                return ()  # agents that always announce their task; the caller has it already
            raise IllegalTransition("a second Task in another state; accepted: status and artifact updates")
        course.state = states.advance(None, name)
        course.artifacts = {artifact.artifact_id for artifact in event.artifacts}
        task = Task()
        task.CopyFrom(event)  # the SDK goes on to change the object it is given
        message = course.message
        if message is not None and all(known.message_id != message.message_id for known in task.history):
            task.history.append(message)
        self._executor.stamp(task.status)
        return (task,)

    def _status(self, event: TaskStatusUpdateEvent) -> tuple[Event, ...]:
        course, name = self._course, _name(event.status)
        if course.resumed and name == states.SUBMITTED:
            return ()
        course.state = states.advance(course.state, name)
        self._executor.stamp(event.status)
        return (event,)

    def _artifact(self, event: TaskArtifactUpdateEvent) -> tuple[Event, ...]:
        course, name = self._course, event.artifact.artifact_id
        if course.state in states.TERMINAL:
            raise IllegalTransition(
                f"an artifact after {course.state}; accepted: nothing, the state is terminal"
            )
        if event.append and name not in course.artifacts:
            raise IllegalTransition(f"an append to artifact {name!r}, which was never sent")
        course.artifacts.add(name)
        return (event,)


class _Canceling(EventQueue):
    """The queue an agent's ``cancel`` writes to: last artifacts pass, and CANCELED is the only state."""

    def __init__(self, queue: EventQueue, course: Course, executor: GuardedExecutor) -> None:
        self._queue = queue
        self._course = course
        self._executor = executor

    async def enqueue_event(self, event: Event) -> None:
        course = self._course
        if course.over or isinstance(event, Message | Task) or event.task_id != course.task_id:
            return
        event.context_id = course.context_id
        if isinstance(event, TaskStatusUpdateEvent):
            if _name(event.status) != states.CANCELED:
                return
            course.state = states.CANCELED
            self._executor.stamp(event.status)
        await self._queue.enqueue_event(event)


class GuardedExecutor(AgentExecutor):
    """Runs ``inner`` and answers for it.

    ``clock`` stamps every status when it is given; without one, an agent's own timestamps stay and missing
    ones are set to the time of this machine. ``cancel_patience`` is how many seconds the agent's ``cancel``
    may take.
    """

    def __init__(
        self,
        inner: AgentExecutor,
        store: SqliteTaskStore,
        *,
        new_id: Callable[[], str],
        clock: Callable[[], datetime] | None = None,
        cancel_patience: float = 10.0,
    ) -> None:
        self.inner = inner
        self.store = store
        self._new_id = new_id
        self._clock = clock
        self._cancel_patience = cancel_patience
        self._courses: dict[str, Course] = {}
        self.executing: dict[tuple[str, str], str] = {}
        """The task id by (caller, messageId), for each claimed message whose execution has not returned."""

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Run the agent on one message; whatever it does, the task is at rest or the caller got a Message."""
        course = Course.of(context)
        claim = cast("Claim | None", context.call_context.state.get(CLAIM))
        queue = _Checked(event_queue, course, self, claim)
        context.call_context.state[STARTED] = True
        self._courses[course.task_id] = course
        cut_off = True
        try:
            reason = await self._run(context, queue, course)
            if reason and not course.over and not course.canceling:
                await self._fail(event_queue, course, reason)
            cut_off = False
        finally:
            self._courses.pop(course.task_id, None)
            if claim is not None:
                self.executing.pop((claim.caller, claim.message_id), None)
            self.store.finished(course.task_id, cut_off=cut_off and not course.canceling)

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Let the agent clean up, then see to it that the task ends CANCELED."""
        course = self._courses.get(context.task_id or "") or Course.of(context)
        if course.over:
            return
        course.canceling = True
        queue = _Canceling(event_queue, course, self)
        try:
            async with asyncio.timeout(self._cancel_patience):
                await self.inner.cancel(context, queue)
        except (Exception, asyncio.CancelledError):
            if _being_cancelled():
                raise
            logger.exception("the agent's cancel() failed for task %s", course.task_id)
        if course.state != states.CANCELED:
            course.state = states.CANCELED
            await event_queue.enqueue_event(self._status(course, states.CANCELED))

    async def _run(self, context: RequestContext, queue: _Checked, course: Course) -> str:
        """Run the agent; return the key of the reason to fail for, empty when there is none."""
        try:
            await self.inner.execute(context, queue)
        except asyncio.CancelledError:
            if course.canceling or _being_cancelled():
                raise
            logger.exception("the agent cancelled itself in task %s", course.task_id)
            return "error"
        except IllegalTransition:
            logger.exception("the agent broke the life cycle of task %s", course.task_id)
            return "illegal"
        except Exception:
            logger.exception("the agent failed in task %s", course.task_id)
            return "error"
        if course.broken:
            return "illegal"
        if course.state in states.INTERRUPTED and not course.events:
            await queue.enqueue_event(self._status(course, course.state))  # the message was taken
        return "" if course.state in states.SETTLED else "unsettled"

    async def _fail(self, queue: EventQueue, course: Course, reason: str) -> None:
        if course.state is None:
            await queue.enqueue_event(self.birth(course))
        course.state = states.FAILED
        await queue.enqueue_event(self._status(course, states.FAILED, REASONS[reason]))

    def birth(self, course: Course) -> Task:
        """Return the Task an agent should have announced: SUBMITTED, with the message in its history."""
        course.state = states.SUBMITTED
        status = TaskStatus(state=TaskState.TASK_STATE_SUBMITTED)
        self.stamp(status)
        history = [course.message] if course.message is not None else []
        return Task(id=course.task_id, context_id=course.context_id, status=status, history=history)

    def stamp(self, status: TaskStatus) -> None:
        """Set the time of a status."""
        if self._clock is not None:
            status.timestamp.FromDatetime(self._clock())
        elif not status.HasField("timestamp"):
            status.timestamp.FromDatetime(datetime.now(UTC))

    def _status(self, course: Course, state: str, text: str = "") -> TaskStatusUpdateEvent:
        status = TaskStatus(state=TaskState.Value(state))
        if text:
            status.message.CopyFrom(
                Message(
                    message_id=self._new_id(),
                    role=Role.ROLE_AGENT,
                    task_id=course.task_id,
                    context_id=course.context_id,
                    parts=[Part(text=text)],
                )
            )
        self.stamp(status)
        return TaskStatusUpdateEvent(task_id=course.task_id, context_id=course.context_id, status=status)


def _being_cancelled() -> bool:
    """Whether somebody outside cancels the running task, as against code inside raising CancelledError."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _name(status: TaskStatus) -> str:
    try:
        return str(TaskState.Name(status.state))
    except ValueError:
        return str(status.state)
