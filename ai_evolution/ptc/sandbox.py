"""One interface for every place where a program may run, and the ladder of those that exist.

The *inside* is whatever runs the program; it knows a tool's name, the order of its parameters and its text,
nothing else. The *outside* is this process: it answers calls (``OnCall``), and every authority is there.
What a program asks for is checked by whoever answers, on every rung alike; a sandbox refuses to be the place
where that is decided. Nor does ``pick`` ever choose another rung than the one that was named: a weaker one
would look the same until the day it matters.
"""

from __future__ import annotations

import json
import keyword
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, Protocol, Self

from ai_evolution.errors import RunFailed, UsageError
from ai_evolution.ptc.limits import Limits

PROMISES = ("network", "files", "processes", "memory", "time")
Ended = Literal["done", "error", "timeout", "crash", "limit"]


@dataclass(frozen=True, slots=True)
class ToolStub:
    """What the inside may know of a tool.

    ``parameters`` are the names in the order in which positional arguments bind; ``schema`` is the JSON
    Schema of the arguments.
    """

    name: str
    parameters: tuple[str, ...] = ()
    schema: Mapping[str, Any] = field(default_factory=dict)
    doc: str = ""
    has_effects: bool = False

    @property
    def identifier(self) -> str:
        """The name under which a program calls it: its own, or the nearest Python name (get-x: get_x)."""
        name = re.sub(r"\W", "_", self.name)
        if keyword.iskeyword(name):
            return f"{name}_"
        return name if name.isidentifier() else f"_{name}"


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a tool: ``sequence`` counts from 1 within a run, ``id`` is unique within the session."""

    id: str
    sequence: int
    tool: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a call gets: a JSON ``value``, or an ``error`` with type, message and perhaps an envelope."""

    value: Any = None
    error: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class CallRecord:
    """A call that was made, and how it ended; ``unanswered``: the run was over before."""

    id: str
    sequence: int
    tool: str
    arguments: Mapping[str, Any]
    ended: Literal["result", "error", "unanswered"]


@dataclass(frozen=True, slots=True)
class Frame:
    """A line of the program in a traceback; ``function`` is empty at the top level."""

    line: int
    code: str
    function: str = ""


@dataclass(frozen=True, slots=True)
class RunError:
    """Why a run failed: the exception's type and text, and the program's own frames, outermost first."""

    type: str
    message: str
    frames: tuple[Frame, ...] = ()

    def __str__(self) -> str:
        lines = [
            f"line {frame.line}{' in ' + frame.function if frame.function else ''}: {frame.code}"
            for frame in self.frames
        ]
        return "\n".join([*lines, f"{self.type}: {self.message}" if self.message else self.type])


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of a run.

    ``output`` is the printed text, also of a run that was cut off; ``value`` that of the last expression or
    of a ``return`` at the top level, when it is JSON, else None (``note`` then says what it was). ``ended``:
    *done*; *error*, an exception of the program; *timeout*, ``limits.seconds`` passed; *crash*, the inside
    died or broke the protocol; *limit*, it used up calls (LimitExceeded) or memory (MemoryError). After the
    last three the session's variables are gone and the next run begins with none. ``ignored`` counts frames
    that were forged, doubled or late.
    """

    ok: bool
    output: str = ""
    value: Any = None
    error: RunError | None = None
    calls: tuple[CallRecord, ...] = ()
    ended: Ended = "done"
    truncated: bool = False
    stderr: str = ""
    note: str = ""
    ignored: int = 0

    def check(self) -> Any:
        """The value of a run that went well; RunFailed, with this outcome, for any other."""
        if not self.ok:
            raise RunFailed(str(self.error) if self.error else f"the run ended: {self.ended}", self)
        return self.value


OnCall = Callable[[Call], Awaitable[Answer]]


class Session(Protocol):
    """Programs run here one after another and keep their variables; used as an async context manager."""

    async def run(self, code: str, on_call: OnCall) -> Outcome:
        """Run a program to its end. Failures of the program are in the outcome and raise nothing.

        UsageError when a run is going on or the session is closed.
        """

    async def close(self) -> None:
        """End the inside and leave nothing of it. May be called again."""

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, *exc: object) -> None: ...


class Sandbox(Protocol):
    """A place where programs can run. ``isolation`` says which of PROMISES it is built to keep."""

    @property
    def name(self) -> str: ...

    @property
    def isolation(self) -> Mapping[str, bool]: ...

    async def open(self, tools: Sequence[ToolStub], limits: Limits = Limits()) -> Session:  # noqa: B008
        """A fresh session that can call ``tools``. SandboxUnavailable when this machine can't do it."""


def identifiers(tools: Sequence[ToolStub]) -> dict[str, ToolStub]:
    """Python name -> tool. UsageError when two tools would get the same name."""
    names: dict[str, ToolStub] = {}
    for tool in tools:
        if (other := names.setdefault(tool.identifier, tool)) is not tool:
            raise UsageError(
                f"tools {other.name!r} and {tool.name!r} would both be called {tool.identifier}: rename one"
            )
    return names


def plain_json(value: Any) -> Any:
    """The value as JSON would give it back: tuples are lists, keys are strings, lone surrogates U+FFFD.

    TypeError or ValueError for what JSON can't hold (NaN and the infinities too).
    """
    text = json.dumps(value, allow_nan=False, ensure_ascii=False)
    return json.loads(text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"))


def over(what: str, size: int, limit: int, name: str) -> dict[str, str]:
    """The error that an inside gets for something too large."""
    return {
        "type": "LimitExceeded",
        "message": f"{what} has {size} bytes; at most {limit} are accepted (limit {name})",
    }


# --- the ladder ----------------------------------------------------------------------------------


def _monty() -> Sandbox:
    from ai_evolution.ptc.sandboxes.monty import MontySandbox

    return MontySandbox()


def _jail() -> Sandbox:
    from ai_evolution.ptc.sandboxes.jail import JailSandbox

    return JailSandbox()


def _docker() -> Sandbox:
    from ai_evolution.ptc.sandboxes.docker import DockerSandbox

    return DockerSandbox()


def _agentcore() -> Sandbox:
    from ai_evolution.ptc.sandboxes.agentcore import AgentCoreSandbox

    return AgentCoreSandbox()


SANDBOXES: Mapping[str, Callable[[], Sandbox]] = MappingProxyType(
    {"monty": _monty, "jail": _jail, "docker": _docker, "agentcore": _agentcore}
)


def pick(name: str) -> Sandbox:
    """The sandbox of that name and no other: it says itself, when opened, whether it works here.

    UsageError for a name that isn't on the ladder.
    """
    if name == "unsafe":
        raise UsageError("'unsafe' isolates nothing and is not on the ladder: use open_unsafe(), or --unsafe")
    if name not in SANDBOXES:
        raise UsageError(f"no sandbox is called {name!r}: choose one of {', '.join(SANDBOXES)}")
    return SANDBOXES[name]()


def open_unsafe() -> Sandbox:
    """A plain subprocess. The program can do all that this user can: for programs that you wrote yourself."""
    from ai_evolution.ptc.sandboxes.unsafe import UnsafeSandbox

    return UnsafeSandbox()
