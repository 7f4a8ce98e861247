"""The embedded rung: Monty, an interpreter of a subset of Python, written in Rust, in a worker process.

It runs wherever its wheels do (Linux, macOS, Windows), starts in a fraction of a millisecond, and has no
file, socket, process or import to give: what isn't a tool isn't there. Before a program runs it is type
checked against stubs made from the tools' schemas, so that a misspelt parameter or tool costs no call. Only
that is held against a program; what else a checker may dislike is left to the run.

What the subset lacks, and what happens then: inheritance, ``yield``, ``async with``, ``create_task``,
``TaskGroup``, many modules. Such a program ends with the interpreter's own error and a ``note`` that says
so. It is never passed on to another rung from here.

Two choices. The synchronous client is driven by one thread for each session, because the asynchronous one
of 1.4.0 aborts the host at its exit after a worker was killed in the middle of a run. And a call is always
answered with a future first: whether the program will await it can't be seen from outside.

A run can be kept: ``on_snapshot`` gets the whole state of the interpreter whenever every task of the program
waits for tools, and ``resume`` goes on from it, in another process too. A snapshot is trusted data: load
none that was out of your hands.
"""

from __future__ import annotations

import ast
import asyncio
import builtins
import contextlib
import hashlib
import json
import keyword
import os
import queue
import re
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self

from ai_evolution.errors import SandboxUnavailable, UsageError
from ai_evolution.ptc.calls import STDERR, Calls, Text
from ai_evolution.ptc.limits import Limits
from ai_evolution.ptc.runner import bind
from ai_evolution.ptc.sandbox import (
    Answer,
    Call,
    Ended,
    Frame,
    OnCall,
    Outcome,
    RunError,
    ToolStub,
    identifiers,
    over,
    plain_json,
)

if TYPE_CHECKING:
    from pydantic_monty import Monty

HELP = "pip install pydantic-monty==1.4.0"
PRELUDE = "ToolError = RuntimeError"
SUBSET = "this sandbox runs a subset of Python, and this is not in it; the jail runs all of it"
GIVEN = {"ToolError", "tools", *dir(builtins)}
GRACE = 0.5  # seconds after the deadline at which the worker would end itself
HELD = re.compile(r"main\.py:(\d+):\d+: error\[([\w-]+)\] (.*)")
OF_A_CALL = {
    "invalid-argument-type",
    "missing-argument",
    "no-matching-overload",
    "parameter-already-assigned",
    "too-many-positional-arguments",
    "unknown-argument",
}
CHECKED = 256  # programs that were checked and found good, not to be checked again


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A program that waits: the interpreter's state, the calls it waits for, what it had done by then."""

    state: bytes
    waiting: tuple[tuple[int, Call], ...]
    made: int
    output: str


OnSnapshot = Callable[[Snapshot], None]


class MontySandbox:
    """As an async context manager it keeps its worker processes between sessions; else each session has one.

    ``processes`` sessions can be open at the same time; who comes later waits, up to ``wait`` seconds.
    """

    name = "monty"
    isolation: Mapping[str, bool] = MappingProxyType(
        {"network": True, "files": True, "processes": True, "memory": True, "time": True}
    )

    def __init__(self, *, type_check: bool = True, processes: int = 128, wait: float = 30.0) -> None:
        self._type_check, self._processes, self._wait = type_check, processes, wait
        self._pool: Monty | None = None
        self._good: set[bytes] = set()

    async def __aenter__(self) -> Self:
        self._pool = await asyncio.to_thread(self._start, 1)
        return self

    async def __aexit__(self, *exc: object) -> None:
        if (pool := self._pool) is not None:
            self._pool = None
            await asyncio.to_thread(pool.__exit__, None, None, None)

    async def open(self, tools: Sequence[ToolStub], limits: Limits = Limits()) -> MontySession:  # noqa: B008
        names = identifiers(tools)
        pool = self._pool
        own = pool is None
        session = MontySession(self, names, limits, pool, own)
        await session.start()
        return session

    def _start(self, processes: int) -> Monty:
        try:
            from pydantic_monty import Monty

            pool = Monty(
                min_processes=processes,
                max_processes=max(processes, self._processes),
                checkout_timeout=self._wait,
                feed_duration_limit_grace=GRACE,
            )
            return pool.__enter__()
        except (ImportError, OSError, RuntimeError) as error:
            raise SandboxUnavailable(f"sandbox monty does not start: {error}", HELP) from None


class MontySession:
    """One interpreter; ``run`` is ``Session.run``, and two words more about snapshots."""

    def __init__(
        self,
        sandbox: MontySandbox,
        names: Mapping[str, ToolStub],
        limits: Limits,
        pool: Monty | None,
        own: bool,
    ) -> None:
        self._sandbox, self._names, self._limits, self._pool, self._own = sandbox, names, limits, pool, own
        self._stubs = stubs(names)
        self._thread = ThreadPoolExecutor(1, "monty")
        self._checkout: Any = None
        self._session: Any = None
        self._pid: int | None = None
        self._known = {*GIVEN, *names}  # what programs of this session may name
        self._count = self._feeds = 0
        self._run: _Run | None = None
        self._closed = False

    async def start(self) -> None:
        try:
            await self._in_thread(self._enter)
        except BaseException:
            await self.close()
            raise

    async def run(self, code: str, on_call: OnCall, *, on_snapshot: OnSnapshot | None = None) -> Outcome:
        """See ``Session.run``. ``on_snapshot`` is called in the session's thread, while the program waits."""
        return await self._go(lambda run: self._fed(code, run), on_call, on_snapshot)

    async def resume(
        self, snapshot: Snapshot, on_call: OnCall, *, on_snapshot: OnSnapshot | None = None
    ) -> Outcome:
        """Go on from a snapshot, in a session that was opened with the same tools and has not run anything.

        The calls that the program waited for are made again, with the ids and numbers that they had: a
        journal behind ``on_call`` answers those that were answered.
        """
        if self._feeds:
            raise UsageError("this session has run a program: resume a snapshot in a fresh one")
        return await self._go(lambda run: self._loaded(snapshot, run), on_call, on_snapshot, snapshot)

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        if self._run is not None:
            self._stop(self._run)
        await asyncio.shield(asyncio.ensure_future(self._end()))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    # --- the outside: in the event loop --------------------------------------------------------

    async def _go(
        self,
        drive: Callable[[_Run], None],
        on_call: OnCall,
        on_snapshot: OnSnapshot | None,
        snapshot: Snapshot | None = None,
    ) -> Outcome:
        if self._closed:
            raise UsageError("the session is closed: open another one")
        if self._run is not None:
            raise UsageError("a run is going on in this session: wait for it, or open another one")
        run = self._run = _Run(on_call, self._limits, on_snapshot, snapshot)
        work = asyncio.ensure_future(self._in_thread(self._work, drive, run))
        try:
            done, _ = await asyncio.wait([work], timeout=self._limits.seconds)
            if not done:
                run.fail("timeout", "TimeoutError", f"the program ran longer than {self._limits.seconds:g} s")
        finally:
            self._stop(run)
            await asyncio.shield(asyncio.ensure_future(self._finish(work, run)))
        return run.outcome()

    async def _finish(self, work: asyncio.Future[Any], run: _Run) -> None:
        await asyncio.wait([work])
        await run.calls.stop()
        if not run.clean:
            await self._in_thread(self._drop)
        self._run = None
        work.result()

    def _stop(self, run: _Run) -> None:
        """Make the thread come back: by a word if it waits for us, by killing the worker if it works."""
        run.stopped.set()
        run.answers.put(None)
        if run.working.is_set() and self._pid is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(self._pid, getattr(signal, "SIGKILL", signal.SIGTERM))

    async def _end(self) -> None:
        await self._in_thread(self._leave)
        self._thread.shutdown()  # it has nothing to do any more

    async def _in_thread(self, work: Callable[..., Any], *args: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work, *args)

    # --- the inside: in the session's thread ---------------------------------------------------

    def _enter(self) -> None:
        if self._pool is None:
            self._pool = self._sandbox._start(1)
        limits = self._limits
        self._checkout = self._pool.checkout(
            limits={
                "max_memory": limits.memory,
                "max_feed_duration_secs": limits.seconds + GRACE,
                # a call costs up to two, a name and a sleep one each; calls are counted by us
                "max_suspensions": 4 * limits.calls + 100_000,
            },
            type_check=self._sandbox._type_check,
            type_check_stubs=self._stubs,
            type_check_format="concise",
        )
        try:
            self._session = self._checkout.__enter__()
        except TimeoutError:
            self._checkout = None
            raise SandboxUnavailable(
                f"all {self._sandbox._processes} workers of sandbox monty are taken", "close a session"
            ) from None
        self._pid = self._session.worker_pid

    def _drop(self) -> None:
        """Give the worker back, or what is left of it."""
        checkout, self._checkout, self._session, self._pid = self._checkout, None, None, None
        self._known = {*GIVEN, *self._names}
        self._feeds = 0
        if checkout is not None:
            with contextlib.suppress(Exception):
                checkout.__exit__(None, None, None)

    def _leave(self) -> None:
        self._drop()
        if self._own and (pool := self._pool) is not None:
            self._pool = None
            pool.__exit__(None, None, None)

    def _work(self, drive: Callable[[_Run], None], run: _Run) -> None:
        from pydantic_monty import MontyCrashedError, MontyError

        try:
            if self._session is None:
                self._enter()
            drive(run)
        except _Stopped:
            return
        except _Refused as error:
            run.error, run.ended, run.clean = error.why, "error", True
        except MontyCrashedError as error:
            run.fail("timeout" if error.timed_out else "crash", "Crash", "the worker of the program died")
        except MontyError as error:
            self._failed(error, run)
        finally:
            run.working.clear()

    def _fed(self, code: str, run: _Run) -> None:
        """Run a program, type checked before if it is new."""
        from pydantic_monty import MontyTypingError

        self._feeds += 1
        mark = hashlib.sha256(f"{self._stubs}\0{code}".encode("utf-8", "replace")).digest()
        good = self._sandbox._good
        self._known |= stored(code)
        if self._feeds == 1:
            with run.at_work():
                self._session.feed_run(PRELUDE, skip_type_check=True)
        if self._sandbox._type_check and not (self._feeds == 1 and mark in good):
            try:
                self._drive(self._feed(code, run, skip=False), run)
            except MontyTypingError as error:  # raised before the program began
                if held := self._held(error.display(), code):
                    raise _Refused(held) from None
            if self._feeds == 1:  # what a later program may use depends on the earlier ones
                if len(good) >= CHECKED:
                    good.clear()
                good.add(mark)
            if run.clean:
                return
        self._drive(self._feed(code, run, skip=True), run)

    def _feed(self, code: str, run: _Run, skip: bool) -> Any:
        with run.at_work():
            return self._session.feed_start(code, print_callback=run.printed, skip_type_check=skip)

    def _loaded(self, snapshot: Snapshot, run: _Run) -> None:
        self._feeds += 1
        self._count = max([self._count, *(int(call.id[1:]) for _, call in snapshot.waiting)])
        with run.at_work():
            state = self._session.load_snapshot(snapshot.state, print_callback=run.printed)
        for number, call in snapshot.waiting:
            run.call(number, call)
        self._drive(state, run)

    def _held(self, said: str, code: str) -> RunError | None:
        """What the checker says about the use of tools, and of names that nothing ever gave a value."""
        held: list[tuple[int, str]] = []
        for found in HELD.finditer(said):
            line, rule, text = int(found[1]), found[2], found[3]
            about = re.findall(r"`([^`]*)`", text)
            if (rule in OF_A_CALL and self._names.keys() & set(about)) or (
                rule == "unresolved-reference" and not self._known & set(about)
            ):
                held.append((line, text))
        if not held:
            return None
        lines = code.splitlines()
        frames = tuple(Frame(line, lines[line - 1].strip()) for line, _ in held if line <= len(lines))
        return RunError("TypeCheckError", "; ".join(f"line {line}: {text}" for line, text in held), frames)

    def _drive(self, state: Any, run: _Run) -> None:
        from pydantic_monty import FunctionSnapshot, MontyComplete, NameLookupSnapshot

        while not isinstance(state, MontyComplete):
            if run.stopped.is_set():
                raise _Stopped
            if isinstance(state, FunctionSnapshot):
                state = self._function(state, run)
            elif isinstance(state, NameLookupSnapshot):
                state = self._name(state, run)
            else:
                if run.on_snapshot is not None:
                    waiting = tuple((n, run.waiting[n]) for n in state.pending_call_ids if n in run.waiting)
                    run.on_snapshot(Snapshot(state.dump(), waiting, run.made, run.output.text))
                results = run.results(set(state.pending_call_ids))
                with run.at_work():
                    state = state.resume(results)
        run.value, run.note = valued(state.output, self._limits)
        run.clean = True

    def _name(self, state: Any, run: _Run) -> Any:
        values: dict[str, Any] = {}
        if state.object_id is None and state.variable_name in self._names:
            values["value"] = _callable(state.variable_name)
        elif state.object_id is None and state.variable_name == "tools":
            values["value"] = {stub.name: _callable(name) for name, stub in self._names.items()}
        with run.at_work():
            return state.resume(**values)

    def _function(self, state: Any, run: _Run) -> Any:
        """A call that left the interpreter: of a tool, a sleep, or of something that isn't there."""
        name = state.function_name
        reply: dict[str, Any] | None = {"future": ...}
        if state.is_os_function:
            if name == "system.async_sleep":
                run.sleep(state.call_id, float(state.args[0]))
            elif name == "system.sleep":
                run.stopped.wait(float(state.args[0]))
                reply = {"return_value": None}
            else:
                reply = None
        elif name in self._names:
            try:
                call = self._call(self._names[name], name, state, run)
            except (TypeError, ValueError, RecursionError) as error:
                kind = "ValueError" if type(error) is ValueError else "TypeError"
                reply = {"exc_type": kind, "message": str(error)}
            else:
                run.call(state.call_id, call)
        else:
            reply = {"exc_type": "NameError", "message": f"name {str(name)!r} is not defined"}
        with run.at_work():
            return state.resume_not_handled() if reply is None else state.resume(reply)

    def _call(self, stub: ToolStub, name: str, state: Any, run: _Run) -> Call:
        bound = bind(name, list(stub.parameters), state.args, state.kwargs)
        try:
            arguments = plain_json(bound)
        except (TypeError, ValueError, RecursionError) as error:
            raise TypeError(f"arguments of {stub.name} are not JSON: {error}") from None
        size = len(json.dumps(arguments))
        if size > self._limits.result:
            raise ValueError(
                f"arguments of {stub.name} have {size} bytes of JSON; "
                f"at most {self._limits.result} are accepted"
            )
        self._count += 1
        run.made += 1
        return Call(f"c{self._count}", run.made, stub.name, arguments)

    def _failed(self, error: Any, run: _Run) -> None:
        """An exception of the program, in the words that CPython has for it."""
        kind, _, text = error.display("type-msg").partition(": ")
        if kind == "TimeoutError" and "time limit exceeded" in text:
            run.fail("timeout", "TimeoutError", f"the program ran longer than {self._limits.seconds:g} s")
            return
        if kind == "KeyError":
            text = repr(text)
        elif kind == "RuntimeError" and text in run.tool_errors:
            kind = "ToolError"
        frames = tuple(
            Frame(
                frame.line,
                (frame.source_line or "").strip(),
                "" if frame.function_name in (None, "<module>") else frame.function_name,
            )
            for frame in error.traceback()
        )
        if kind == "MemoryError":  # what is left of its heap is nobody's guess
            run.error, run.ended = RunError(kind, text, frames), "limit"
            return
        run.error, run.ended, run.clean = RunError(kind, text, frames), "error", True
        if kind == "NotImplementedError" and "not yet support" in text:
            run.note = SUBSET


class _Stopped(Exception):
    """The run is over; the thread goes home."""


class _Refused(Exception):
    """The type check holds something against the program."""

    def __init__(self, why: RunError) -> None:
        super().__init__(str(why))
        self.why = why


class _Run:
    """One run. The thread asks and waits; the loop answers."""

    def __init__(
        self, on_call: OnCall, limits: Limits, on_snapshot: OnSnapshot | None, snapshot: Snapshot | None
    ) -> None:
        self.loop = asyncio.get_running_loop()
        self.limits, self.on_snapshot = limits, on_snapshot
        self.calls = Calls(on_call, limits, self._answered)
        self.answers: queue.SimpleQueue[tuple[int, dict[str, Any]] | None] = queue.SimpleQueue()
        self.stopped, self.working = threading.Event(), threading.Event()
        self.waiting: dict[int, Call] = {}
        self.numbers: dict[str, int] = {}
        self.tool_errors: set[str] = set()
        self.made = snapshot.made if snapshot else 0
        self.output, self.stderr = Text(limits.output), Text(STDERR)
        if snapshot:
            self.output.add(snapshot.output)
        self.ended: Ended = "done"
        self.error: RunError | None = None
        self.value: Any = None
        self.note = ""
        self.clean = False  # it came to its own end, and the session can go on

    # in the thread

    @contextlib.contextmanager
    def at_work(self) -> Iterator[None]:
        """While the worker works for us and hears nothing."""
        self.working.set()
        if self.stopped.is_set():
            raise _Stopped
        try:
            yield
        finally:
            self.working.clear()

    def printed(self, stream: str, text: str) -> None:
        (self.stderr if stream == "stderr" else self.output).add(text)

    def call(self, number: int, call: Call) -> None:
        if call.sequence > self.limits.calls:
            limit = self.limits.calls
            self.fail("limit", "LimitExceeded", f"the program made more than {limit} calls (limit calls)")
            raise _Stopped
        self.waiting[number] = call
        self.numbers[call.id] = number
        self.loop.call_soon_threadsafe(self.calls.start, call)

    def sleep(self, number: int, seconds: float) -> None:
        done = (number, {"return_value": None})
        self.loop.call_soon_threadsafe(lambda: self.loop.call_later(seconds, self.answers.put, done))

    def results(self, pending: set[int]) -> dict[int, dict[str, Any]]:
        """What is there for the calls that the program waits for, at least one."""
        results: dict[int, dict[str, Any]] = {}
        while not results or not self.answers.empty():
            item = self.answers.get()
            if item is None:
                raise _Stopped
            if item[0] in pending:
                results[item[0]] = item[1]
                self.waiting.pop(item[0], None)
        return results

    # in the loop

    def _answered(self, call: Call, answer: Answer) -> None:
        if answer.error is None:
            answer = checked(answer, self.limits)
        if answer.error is None:
            reply = {"return_value": answer.value}
        else:
            self.calls.ends[call.id] = "error"
            kind, text = str(answer.error.get("type") or "Error"), str(answer.error.get("message") or "")
            message = f"{kind}: {text}" if text else kind
            message = message.encode("utf-8", "replace").decode()
            self.tool_errors.add(message)
            reply = {"exc_type": "RuntimeError", "message": message}
        self.answers.put((self.numbers[call.id], reply))

    def fail(self, ended: Ended, type: str, message: str) -> None:
        if self.ended == "done":
            self.ended, self.error, self.value = ended, RunError(type, message), None

    def outcome(self) -> Outcome:
        return Outcome(
            ok=self.ended == "done",
            output=self.output.text,
            value=self.value,
            error=self.error,
            calls=self.calls.records(),
            ended=self.ended,
            truncated=self.output.truncated,
            stderr=self.stderr.text,
            note=self.note,
        )


def checked(answer: Answer, limits: Limits) -> Answer:
    """The answer if its value is JSON and not too long, else the error that says so."""
    try:
        text = json.dumps(answer.value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return Answer(error={"type": "NotJson", "message": "the tool's result is not JSON"})
    if len(text) > limits.result:
        return Answer(error=over("the result", len(text), limits.result, "result"))
    return Answer(plain_json(answer.value)) if "\\ud" in text else answer


def valued(value: Any, limits: Limits) -> tuple[Any, str]:
    """The value of a program as JSON, or None and a note that says what it was."""
    if isinstance(value, str) and value.startswith("<coroutine external_future("):
        return None, "the value is a coroutine that was never awaited"
    try:
        value = plain_json(value)
    except (TypeError, ValueError, RecursionError):
        return None, f"the value is a {type(value).__name__} that JSON can't hold; it was left out"
    if len(json.dumps(value)) > limits.result:
        return None, f"the value has over {limits.result} bytes of JSON and was left out"
    return value, ""


def stubs(names: Mapping[str, ToolStub]) -> str:
    """Declarations of the tools for the type checker, from their schemas."""
    lines = ["from typing import Any, Literal", "ToolError = RuntimeError", "tools: dict[str, Any]"]
    for name, tool in names.items():
        properties = tool.schema.get("properties") or {}
        required = set(tool.schema.get("required") or ())
        given = [*tool.parameters, *(key for key in properties if key not in tool.parameters)]
        parameters, optional = [], False
        for key in given:
            optional = optional or key not in required
            parameters.append(f"{key}: {annotation(properties.get(key))}{' = ...' if optional else ''}")
        if tool.schema.get("additionalProperties", not properties):
            parameters.append("**others: Any")
        if not all(key.isidentifier() and not keyword.iskeyword(key) for key in given):
            parameters = ["*given: Any", "**others: Any"]  # Python can't say what these are called
        lines.append(f"async def {name}({', '.join(parameters)}) -> Any: ...")
    return "\n".join(lines) + "\n"


SIMPLE = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "null": "None",
    "array": "list[Any]",
    "object": "dict[str, Any]",
}


def annotation(schema: Any) -> str:
    """A Python type no narrower than the schema; Any where there is doubt."""
    if not isinstance(schema, Mapping):
        return "Any"
    kinds = schema.get("type")
    names = [kinds] if isinstance(kinds, str) else list(kinds) if isinstance(kinds, (list, tuple)) else []
    if names and all(name in SIMPLE for name in names):
        return " | ".join(dict.fromkeys(SIMPLE[name] for name in names))
    return "Any"


def stored(code: str) -> set[str]:
    """Every name to which a program may give a value; all of them when that can't be known."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            names.add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.alias):
            names.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, ast.ExceptHandler) and node.name:
            names.add(node.name)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
    return names


def _callable(name: str) -> Callable[[], None]:
    def tool() -> None:
        """Stands for the tool of that name inside; never called here."""

    tool.__name__ = name
    return tool
