"""A session whose inside is a child process that speaks the wire: what every rung with a runner shares.

The child gets three pipes and a process group of its own. Both its streams are read at all times, also
between runs; what it is sent is written as it can take it. At the deadline it is killed as a group, waited
for, and its pipes are closed: nothing of it is left when ``run`` or ``close`` comes back. Which walls are
around the child is decided by whoever gives the command line; this room refuses to know.

POSIX only: it watches pipes with the event loop, without a thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from ai_evolution.errors import LimitExceeded, SandboxUnavailable, UsageError, WireError
from ai_evolution.ptc import wire
from ai_evolution.ptc.calls import STDERR, Calls, Text
from ai_evolution.ptc.limits import Limits
from ai_evolution.ptc.sandbox import Answer, Call, Ended, OnCall, Outcome, RunError, ToolStub

RUNNER = Path(__file__).with_name("runner.py")
CHUNK = 1 << 18
REAP = 5.0  # seconds that a killed child gets to be gone

Nonce = Callable[[], str]


def new_nonce() -> str:
    return secrets.token_hex(16)


@dataclass(frozen=True, slots=True)
class Launch:
    """How to start the child: argv, environment, and descriptors that it inherits."""

    argv: Sequence[str]
    env: dict[str, str]
    pass_fds: tuple[int, ...] = ()


class ProcessSession:
    """One child, started when it is first needed, and again when it was killed.

    ``launch`` is entered for each start and left once the child runs. ``end`` ends what a signal to the
    child's group does not (a container); ``help`` goes into SandboxUnavailable when no runner answers.
    """

    def __init__(
        self,
        name: str,
        launch: Callable[[], AbstractContextManager[Launch]],
        tools: Sequence[ToolStub],
        limits: Limits,
        *,
        end: Callable[[int], None] | None = None,
        help: str = "",
        start: float = 30.0,
        nonce: Nonce = new_nonce,
    ) -> None:
        self._name, self._launch, self._tools, self._limits = name, launch, tools, limits
        self._end, self._help, self._start, self._nonce = end, help, start, nonce
        self._child: Child | None = None
        self._wire = wire.HostWire(tools, limits)
        self._run: Run | None = None
        self._closed = False

    @property
    def pid(self) -> int | None:
        """The child's process id, None when there is none."""
        return self._child.process.pid if self._child else None

    async def start(self) -> Self:
        """Start the child and wait until it is ready. SandboxUnavailable when it never is."""
        self._wire = wire.HostWire(self._tools, self._limits)
        try:
            self._child = self._spawn()
        except OSError as error:
            raise SandboxUnavailable(f"sandbox {self._name} does not start: {error}", self._help) from None
        run = self._run = Run(self, None)
        self._child.write(self._wire.open(self._nonce()))
        try:
            async with asyncio.timeout(self._start):
                await run.over
        except TimeoutError:
            run.fail("timeout", "TimeoutError", f"no runner was ready within {self._start:g} s")
        finally:
            self._run = None
            if not run.ready:
                await self._kill()
        if run.ready:
            return self
        said = " ".join(run.stderr.text.split())[:500]
        why = said or (run.error.message if run.error else "its output ended")
        raise SandboxUnavailable(f"sandbox {self._name} does not start: {why}", self._help)

    async def run(self, code: str, on_call: OnCall) -> Outcome:
        """See ``Session.run``; SandboxUnavailable when a child that was killed can't be started again."""
        if self._closed:
            raise UsageError("the session is closed: open another one")
        if self._run is not None:
            raise UsageError("a run is going on in this session: wait for it, or open another one")
        if self._child is not None and self._child.over:
            await self._kill()  # it died while nobody asked it for anything
        if self._child is None:
            await self.start()
        assert self._child is not None
        run = self._run = Run(self, on_call)
        try:
            async with asyncio.timeout(self._limits.seconds):
                self._child.write(self._wire.execute(code, self._nonce()))
                await run.over
        except TimeoutError:
            run.fail(
                "timeout",
                "TimeoutError",
                f"the program ran longer than {self._limits.seconds:g} s and was ended",
            )
        finally:
            await run.stop()
            if not run.ready or run.full:
                await self._kill()
            self._run = None
        return run.outcome()

    async def close(self) -> None:
        self._closed = True
        await self._kill()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    # --- inside ------------------------------------------------------------------------------

    def _read(self, stream: str, data: bytes) -> None:
        """What the child wrote; empty at the end of a stream."""
        run = self._run
        if not data:
            if run is not None and self._child is not None and self._child.over:
                for event in self._wire.end():
                    run.take(event)
                run.lost()
            return
        feed = self._wire.feed_stdout if stream == "stdout" else self._wire.feed_stderr
        try:
            for event in feed(data):
                if run is not None:
                    run.take(event)
        except WireError as error:
            if run is not None:
                run.fail("crash", "WireError", str(error))

    def _spawn(self) -> Child:
        with self._launch() as launch:
            return Child(launch, self._read)

    async def _kill(self) -> None:
        if (child := self._child) is not None:
            self._child = None
            # also when the task that waits is cancelled: a child that nobody waits for stays a zombie
            await asyncio.shield(asyncio.ensure_future(child.kill(self._end)))


class Run:
    """One execution as the host sees it."""

    def __init__(self, session: ProcessSession, on_call: OnCall | None) -> None:
        self._session = session
        limits = session._limits
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.ready = False
        self.output, self.stderr = Text(limits.output), Text(STDERR)
        self.calls = Calls(on_call, limits, self._answer) if on_call else None
        self.ended: Ended = "done"
        self.error: RunError | None = None
        self.value: Any = None
        self.note = ""
        self.ignored = 0
        self._finished = False
        self.full = False  # its variables hold all the memory that there is

    def take(self, event: wire.Event) -> None:
        if isinstance(event, wire.Printed):
            (self.output if event.stream == "stdout" else self.stderr).add(event.text)
        elif isinstance(event, wire.Called):
            self._call(event.call)
        elif isinstance(event, wire.Refused):
            self._send(event.call_id, Answer(error=event.error))
        elif isinstance(event, wire.Finished):
            self._finished = True
            self.value, self.note, self.error = event.value, event.note, event.error
            self.ended = "done" if event.ok else "error"
            if event.error is not None and event.error.type == "MemoryError":
                self.full, self.ended = True, "limit"
        elif isinstance(event, wire.Ready):
            self.ready = True
            self._end()
        else:
            self.ignored += 1

    def fail(self, ended: Ended, type: str, message: str) -> None:
        """The run is over, and not by the program's own end."""
        if self.over.done() and self.ready:
            return
        self.ready = False
        self.ended, self.error, self.value = ended, RunError(type, message), None
        self._end()

    def lost(self) -> None:
        """The child's streams are at their end."""
        if not self.over.done():
            self.fail("crash", "Crash", "the process of the program died")

    async def stop(self) -> None:
        if self.calls is not None:
            await self.calls.stop()

    def outcome(self) -> Outcome:
        calls = self.calls
        return Outcome(
            ok=self.ended == "done",
            output=self.output.text,
            value=self.value,
            error=self.error,
            calls=calls.records() if calls else (),
            ended=self.ended,
            truncated=self.output.truncated,
            stderr=self.stderr.text,
            note=self.note,
            ignored=self.ignored,
        )

    def _call(self, call: Call) -> None:
        assert self.calls is not None
        if not self.over.done() and not self.calls.start(call):
            limit = self._session._limits.calls
            self.fail("limit", "LimitExceeded", f"the program made more than {limit} calls (limit calls)")

    def _answer(self, call: Call, answer: Answer) -> None:
        self._send(call.id, answer)

    def _send(self, call_id: str, answer: Answer) -> None:
        if self._finished or self.over.done():
            return
        session = self._session
        try:
            frame = session._wire.answer(call_id, answer)
        except LimitExceeded as error:
            answer = Answer(error={"type": "LimitExceeded", "message": str(error)})
            frame = session._wire.answer(call_id, answer)
        except (TypeError, ValueError, RecursionError):
            answer = Answer(error={"type": "NotJson", "message": "the tool's result is not JSON"})
            frame = session._wire.answer(call_id, answer)
        if answer.error is not None and self.calls is not None and call_id in self.calls.ends:
            self.calls.ends[call_id] = "error"
        if session._child is not None:
            session._child.write(frame)

    def _end(self) -> None:
        if not self.over.done():
            self.over.set_result(None)


class Child:
    """A process with three pipes, watched by the running event loop."""

    def __init__(self, launch: Launch, read: Callable[[str, bytes], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._read = read
        self.process = subprocess.Popen(
            list(launch.argv),
            env=launch.env,
            pass_fds=launch.pass_fds,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        self._stdin = self.process.stdin.fileno()
        self._open = {
            self.process.stdout.fileno(): "stdout",
            self.process.stderr.fileno(): "stderr",
        }
        self._queue: list[memoryview] = []
        self._writing = False
        os.set_blocking(self._stdin, False)
        for fd in self._open:
            os.set_blocking(fd, False)
            self._loop.add_reader(fd, self._readable, fd)

    @property
    def over(self) -> bool:
        """Are both streams at their end?"""
        return not self._open

    def write(self, data: bytes) -> None:
        """Send; what the child can't take yet waits in a queue. Silent when it is gone."""
        self._queue.append(memoryview(data))
        if not self._writing:
            self._writable()

    def _writable(self) -> None:
        try:
            while self._queue:
                sent = os.write(self._stdin, self._queue[0])
                if sent < len(self._queue[0]):
                    self._queue[0] = self._queue[0][sent:]
                else:
                    del self._queue[0]
        except BlockingIOError:
            if not self._writing:
                self._writing = True
                self._loop.add_writer(self._stdin, self._writable)
            return
        except OSError:
            self._queue.clear()  # it is gone: its streams say so
        if self._writing:
            self._writing = False
            self._loop.remove_writer(self._stdin)

    def _readable(self, fd: int) -> None:
        try:
            data = os.read(fd, CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        stream = self._open[fd]
        if not data:
            self._loop.remove_reader(fd)
            del self._open[fd]
        self._read(stream, data)

    async def kill(self, end: Callable[[int], None] | None) -> None:
        """End the child's whole group, wait for it, close the pipes."""
        process = self.process
        for fd in self._open:
            self._loop.remove_reader(fd)
        if self._writing:
            self._loop.remove_writer(self._stdin)
        try:
            if end is not None:
                end(process.pid)
                await self._until(self._exited)
            # not waited for yet, so its number is still its own, and its group's
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            await self._until(lambda: process.poll() is not None)
        finally:
            for pipe in (process.stdin, process.stdout, process.stderr):
                if pipe is not None:
                    with contextlib.suppress(OSError):
                        pipe.close()

    def _exited(self) -> bool:
        """Has it ended, though nobody waited for it yet?"""
        if not hasattr(os, "waitid"):
            return True
        with contextlib.suppress(ChildProcessError):
            return os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        return True

    @staticmethod
    async def _until(done: Callable[[], bool]) -> None:
        """Look often at first, for it is usually a matter of a millisecond."""
        deadline, pause = time.monotonic() + REAP, 0.0005
        while not done() and time.monotonic() < deadline:
            await asyncio.sleep(pause)
            pause = min(pause * 2, 0.05)


def posix_only(name: str) -> None:
    """SandboxUnavailable where there are no POSIX pipes and process groups."""
    if sys.platform == "win32":
        raise SandboxUnavailable(f"sandbox {name} needs Linux or macOS", "use monty")
