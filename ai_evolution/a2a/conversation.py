"""What our side knows of one task while it runs: no socket, no clock, no chance.

Events go in, and a ``Conversation`` holds the task's ids, the states it went through, the
question it waits on and the artifacts so far. It refuses an event that belongs to
another task or context, a state that the table of transitions does not allow, and a bare
message where a task was asked for. Two kinds of news are told apart: an *update* is one step and
must be one arrow of the table; a *snapshot* (a full Task) may have missed steps, so it
must be reachable by arrows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from a2a.types import StreamResponse, Task, TaskArtifactUpdateEvent, TaskState, TaskStatus

from ai_evolution.a2a.connection import garbled, plain
from ai_evolution.a2a.deliverable import Assembly, wire
from ai_evolution.a2a.states import INTERRUPTED, TERMINAL, TRANSITIONS, advance
from ai_evolution.errors import DeliverableInvalid, IllegalTransition

COMPLETED = "TASK_STATE_COMPLETED"
INPUT_REQUIRED = "TASK_STATE_INPUT_REQUIRED"
AUTH_REQUIRED = "TASK_STATE_AUTH_REQUIRED"
SAFE_ID = re.compile(r"(?!\.{1,2}\Z)[^\s/?#%\\\x00-\x1f\x7f]{1,256}")
"""A task id that may stand in a path of HTTP+JSON without leading our token somewhere else."""
MOST_STATES = 200
"""A task that changes its state, or asks, more often is not going to settle."""


class Conversation:
    """One task as its client has come to know it. ``seen(task_id, state)`` is told of each new state."""

    def __init__(
        self,
        *,
        limit: int,
        task_id: str = "",
        context_id: str = "",
        seen: Callable[[str, str], None] | None = None,
    ) -> None:
        self.task_id, self.context_id = task_id, context_id
        self.state = ""
        self.states: list[str] = []
        self.status = TaskStatus()
        self.artifacts = Assembly(limit)
        self.final: Task | None = None
        """The full Task, once one in a terminal state has been seen."""
        self.heard = 0
        self.questions: list[str] = []
        self.reattached = 0
        self._answered: tuple[str, ...] = ()
        self._seen = seen

    # What came over the wire.

    def hear(self, event: StreamResponse) -> None:
        """Take one event of a stream, or one reply. Raises as the module's head says."""
        kind = event.WhichOneof("payload")
        if kind == "task":
            self.look(event.task)
        elif kind == "message":
            raise DeliverableInvalid(
                "the agent answered with a message where a task was asked for; a message is no deliverable"
            )
        elif kind == "status_update":
            self._ours(event.status_update.task_id, event.status_update.context_id)
            self._status(event.status_update.status, step=True)
        elif kind == "artifact_update":
            self._artifact(event.artifact_update)
        else:
            raise garbled("the agent sent an event that is no task, status or artifact")
        self.heard += 1

    def look(self, task: Task) -> None:
        """Take a full Task, of whatever origin."""
        if not task.id or not task.context_id:
            raise garbled("the agent sent a task without id or contextId")
        self._ours(task.id, task.context_id, first=not self.states)
        self._status(task.status, step=False)
        self.artifacts.replace(task.artifacts)
        if self.state in TERMINAL:
            self.final = task

    def _artifact(self, event: TaskArtifactUpdateEvent) -> None:
        self._ours(event.task_id, event.context_id)
        if self.state in TERMINAL:
            raise garbled(f"the agent sent an artifact after {self.state}")
        self.artifacts.add(event)

    def _ours(self, task_id: str, context_id: str, *, first: bool = False) -> None:
        if first:
            if not SAFE_ID.fullmatch(task_id):
                raise garbled(f"the agent named its task {plain(task_id, 60)!r}, which no path can carry")
            self.task_id = self.task_id or task_id
            self.context_id = self.context_id or context_id
        elif not self.states:
            raise garbled("the agent began with an update; the first event is the task itself")
        for what, given, expected in (
            ("task", task_id, self.task_id),
            ("context", context_id, self.context_id),
        ):
            if given != expected:
                raise garbled(f"the agent spoke of {what} {plain(given, 60)!r}, and {expected!r} is ours")

    def _status(self, status: TaskStatus, *, step: bool) -> None:
        new = _name(status)
        if new not in TRANSITIONS:
            raise garbled(f"the agent gave no task state that A2A 1.0 knows ({plain(status.state, 20)})")
        if self.state and new != self.state:
            if step:
                advance(self.state, new)
            elif new not in reachable(self.state):
                raise IllegalTransition(f"the agent went from {self.state} to {new}, which nothing allows")
        self.status = status
        if new == self.state:
            return
        self.state = new
        self.states.append(new)
        if len(self.states) > MOST_STATES:
            raise garbled(f"the agent changed the task's state more than {MOST_STATES} times")
        if new not in INTERRUPTED:
            self._answered = ()
        if self._seen is not None:
            self._seen(self.task_id, new)

    # What it means for us.

    @property
    def rests(self) -> bool:
        """True when the task is over, or waits for something that we have not yet given."""
        return self.state in TERMINAL or (self.state in INTERRUPTED and self._question() != self._answered)

    def _question(self) -> tuple[str, ...]:
        status = self.status
        return (status.message.message_id, str(status.timestamp), self.said())

    def ask(self) -> str:
        """The question that the task waits on, noted as being answered now."""
        if len(self.questions) >= MOST_STATES:
            raise garbled(f"the agent asked more than {MOST_STATES} questions")
        self.answered()
        question = self.said(4_000)
        self.questions.append(question)
        return question

    def answered(self) -> None:
        """Note the question that the task waits on as answered: only another one counts from now on."""
        self._answered = self._question()

    def said(self, limit: int = 300) -> str:
        """The agent's own words about the present state: for people, never for results."""
        words = [
            part.text if part.WhichOneof("content") == "text" else json.dumps(wire(part), sort_keys=True)
            for part in self.status.message.parts
        ]
        return plain(" ".join(words), limit)

    def task(self) -> Task:
        """The task as known now."""
        task = Task(id=self.task_id, context_id=self.context_id, status=self.status)
        task.artifacts.extend(self.artifacts)
        return task


def state_of(task: Task) -> str:
    """The task's state by its name on the wire, ``""`` when it is none of A2A 1.0."""
    return _name(task.status)


def _name(status: TaskStatus) -> str:
    try:
        return str(TaskState.Name(status.state))
    except ValueError:
        return ""


def reachable(state: str) -> frozenset[str]:
    """Every state that a chain of transitions leads to from ``state``, itself included."""
    found = {state}
    waiting = [state]
    while waiting:
        for new in TRANSITIONS[waiting.pop()]:
            if new not in found:
                found.add(new)
                waiting.append(new)
    return frozenset(found)
