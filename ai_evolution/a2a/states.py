"""The life of a task (A2A 1.0, section 4.1.3), as data and one function.

The names are the wire's own strings. Nothing here touches a socket, a clock or the SDK.

* A task is born in any state but CANCELED: nobody can cancel what does not exist.
* SUBMITTED and WORKING are *active*: somebody owes the next step.
* INPUT_REQUIRED and AUTH_REQUIRED are *interrupted*: the caller owes the next step.
* COMPLETED, FAILED, CANCELED and REJECTED are *terminal*: nothing moves any more.

Repeating a state that is not terminal is a legal move, since agents report progress that way.
Going back to SUBMITTED is not: work that was taken up can't become work that nobody looked at.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from ai_evolution.errors import IllegalTransition

SUBMITTED = "TASK_STATE_SUBMITTED"
WORKING = "TASK_STATE_WORKING"
INPUT_REQUIRED = "TASK_STATE_INPUT_REQUIRED"
AUTH_REQUIRED = "TASK_STATE_AUTH_REQUIRED"
COMPLETED = "TASK_STATE_COMPLETED"
FAILED = "TASK_STATE_FAILED"
CANCELED = "TASK_STATE_CANCELED"
REJECTED = "TASK_STATE_REJECTED"

ACTIVE: frozenset[str] = frozenset({SUBMITTED, WORKING})
INTERRUPTED: frozenset[str] = frozenset({INPUT_REQUIRED, AUTH_REQUIRED})
TERMINAL: frozenset[str] = frozenset({COMPLETED, FAILED, CANCELED, REJECTED})
SETTLED: frozenset[str] = INTERRUPTED | TERMINAL
"""States in which a task rests: a call that blocks returns there."""

BIRTHS: frozenset[str] = (ACTIVE | INTERRUPTED | TERMINAL) - {CANCELED}
"""States in which a task may first be seen."""

TRANSITIONS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        SUBMITTED: ACTIVE | INTERRUPTED | TERMINAL,
        WORKING: frozenset({WORKING}) | INTERRUPTED | TERMINAL,
        INPUT_REQUIRED: frozenset({WORKING}) | INTERRUPTED | TERMINAL,
        AUTH_REQUIRED: frozenset({WORKING}) | INTERRUPTED | TERMINAL,
        COMPLETED: frozenset(),
        FAILED: frozenset(),
        CANCELED: frozenset(),
        REJECTED: frozenset(),
    }
)
"""From each state, the states that may follow."""


def advance(old: str | None, new: str) -> str:
    """Return ``new`` when a task in ``old`` may move there; ``old`` is None for a task not yet born.

    Raises IllegalTransition, which names both states and what would have been accepted.
    """
    accepted = BIRTHS if old is None else TRANSITIONS.get(old)
    if accepted is None:
        raise IllegalTransition(f"{old!r} is no task state; accepted: {', '.join(sorted(TRANSITIONS))}")
    if new not in accepted:
        start = "a new task" if old is None else f"a task in {old}"
        choice = ", ".join(sorted(accepted)) or "nothing, the state is terminal"
        raise IllegalTransition(f"{start} cannot move to {new!r}; accepted: {choice}")
    return new
