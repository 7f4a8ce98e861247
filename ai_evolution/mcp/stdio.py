"""A server as a child process: one JSON-RPC message per line, and no line longer than agreed.

The SDK's own stdio transport reads a line of any length and passes over what is no message. Here a line that
is too long costs the call that it answers, garbage ends the connection with the line that caused it, and the
death of the process is noticed even when a child of its own holds the pipe open. What the process writes to
stderr is drained, and its last words are kept for the error that follows.

It refuses to leave anybody behind: stdin is closed, the process gets its grace, then its whole group is ended
(SIGTERM, SIGKILL; on Windows its job object), whatever happened before.
"""

from __future__ import annotations

import contextlib
import math
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.abc
from mcp.client.stdio import get_default_environment
from mcp.types import jsonrpc_message_adapter

from ai_evolution.errors import EnvironmentProblem, ResultRefused, UsageError
from ai_evolution.mcp.scan import shown
from ai_evolution.mcp.wire import RawMessage, Wire

_CHUNK = 65_536
_KEPT = 1_024
_PASSED_OVER = 16
"""A line that is too long is passed over up to so many times the limit; then the wire ends."""
_POLL = 0.02
_KILL = 2.0
_FLUSH = 0.5
_DRAIN = 0.5
_LAST_WORDS = 2_000
_OVER = (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError, OSError)
_ID = re.compile(rb'"id"\s*:\s*("(?:[^"\\]|\\.){0,100}"|-?\d{1,18})')


@asynccontextmanager
async def stdio(
    command: Sequence[str], wire: Wire, *, env: Mapping[str, str] | None = None, cwd: Path | None = None
) -> AsyncIterator[tuple[Any, Any]]:
    """Start ``command`` and yield the streams to it; ``env`` is added to the few variables that are safe.

    Raises ``EnvironmentProblem`` when it can't be started, ``UsageError`` when it is no command.
    """
    process = await _start(command, dict(env or {}), cwd)
    child = _Child(process, wire)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(child.read)
        tasks.start_soon(child.write)
        tasks.start_soon(child.listen)
        tasks.start_soon(child.watch)
        try:
            yield child.to_host, child.from_host
        finally:
            with anyio.CancelScope(shield=True):
                await child.stop()
            tasks.cancel_scope.cancel()


async def _start(command: Sequence[str], env: dict[str, str], cwd: Path | None) -> Any:
    if not command or any("\0" in part for part in command):
        raise UsageError(f"{list(command)!r} is no command, at least the name of a program is accepted")
    environment = get_default_environment() | env
    try:
        if sys.platform == "win32":
            from mcp.os.win32.utilities import create_windows_process, get_windows_executable_command

            program = get_windows_executable_command(command[0])
            return await create_windows_process(program, list(command[1:]), environment, cwd=cwd)
        return await anyio.open_process(list(command), env=environment, cwd=cwd, start_new_session=True)
    except (OSError, ValueError) as error:
        said = getattr(error, "strerror", None) or error
        raise EnvironmentProblem(f"the server {command[0]!r} cannot be started: {said}") from None


class _Child:
    def __init__(self, process: Any, wire: Wire) -> None:
        self._process, self._wire = process, wire
        self._out, self.to_host = anyio.create_memory_object_stream[Any](0)
        self.from_host, self._in = anyio.create_memory_object_stream[Any](0)
        self._written, self._all_read, self._all_heard = anyio.Event(), anyio.Event(), anyio.Event()
        self._stopping = False
        self._stderr = b""
        self._noise = 0

    # --- stdout

    async def read(self) -> None:
        try:
            async with self._out:
                try:
                    await self._lines()
                finally:
                    self._all_read.set()
                await self._part()
        except _OVER:
            pass
        with contextlib.suppress(*_OVER):
            while True:  # a child that is still writing must not block on a full pipe while it is to leave
                await self._process.stdout.receive(_CHUNK)

    async def _lines(self) -> None:
        buffer, long = bytearray(), _LongLine(self._wire)
        while self._wire.fault is None:
            try:
                chunk = await self._process.stdout.receive(_CHUNK)
            except anyio.EndOfStream:
                break
            *lines, rest = chunk.split(b"\n")
            for line in lines:
                buffer += line
                if long or len(buffer) > self._wire.limits.message:
                    long.add(buffer)
                    if (answer := long.ended()) is not None:
                        await self._out.send(answer)
                    long = _LongLine(self._wire)
                else:
                    await self._line(bytes(buffer))
                buffer.clear()
                if self._wire.fault is not None:
                    return
            buffer += rest
            if long or len(buffer) > self._wire.limits.message:
                long.add(buffer)
                buffer.clear()
        if buffer and not self._stopping and self._wire.fault is None:
            await self._line(bytes(buffer))

    async def _line(self, line: bytes) -> None:
        if not line.strip():
            return
        try:
            message = jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValueError:
            self._noise += 1
            if self._noise > self._wire.limits.noise:
                text = shown(line[:80].decode("utf-8", "replace"))
                self._wire.fail(
                    ResultRefused(f"the server wrote to stdout what is no JSON-RPC message: {text!r}")
                )
            return
        await self._out.send(RawMessage(message, raw=line))

    # --- stdin, stderr, and its end

    async def write(self) -> None:
        try:
            async with self._in:
                async for item in self._in:
                    line = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                    await self._process.stdin.send(line.encode("utf-8") + b"\n")
        except _OVER:
            await self._part()
        finally:
            self._written.set()

    async def listen(self) -> None:
        if self._process.stderr is None:
            return self._all_heard.set()
        try:
            while True:
                self._stderr = (self._stderr + await self._process.stderr.receive(_CHUNK))[-_LAST_WORDS:]
        except _OVER:
            self._all_heard.set()

    async def watch(self) -> None:
        await self._gone(math.inf)
        await self._part()

    async def _part(self) -> None:
        """The process is gone, or deaf, or mute: what it wrote is still read, then the host is told."""
        if self._wire.fault is None and not self._stopping:
            with anyio.move_on_after(_DRAIN):
                await self._gone(_DRAIN)
                await self._all_read.wait()
                await self._all_heard.wait()
            self._wire.words = self._last_words()
        await self._out.aclose()

    def _last_words(self) -> str:
        code = self._process.returncode
        ended = "its pipe is closed" if code is None else f"it ended with code {code}"
        if code is not None and code < 0:
            ended = f"it was ended by signal {-code}"
        lines = self._stderr.decode("utf-8", "replace").strip().splitlines()
        return f"{ended}; its last words: {shown(lines[-1])[:200]!r}" if lines else ended

    async def stop(self) -> None:
        """End the process and all that it started; every wait is bounded."""
        self._stopping = True
        self.to_host.close()
        self.from_host.close()
        if self._wire.fault is None:
            with anyio.move_on_after(_FLUSH):
                await self._written.wait()
        await _closed(self._process.stdin)
        if not await self._gone(self._wire.limits.grace if self._wire.fault is None else 0.0):
            await self._end_tree()
            await self._gone(_KILL)
        _end_group(self._process)
        await _closed(self._process.stdout)
        await _closed(self._process.stderr)
        transport = getattr(getattr(self._process, "_process", None), "_transport", None)
        with contextlib.suppress(PermissionError, AttributeError):
            transport.close()  # type: ignore[union-attr]
        for stream in (self._out, self._in):
            stream.close()

    async def _gone(self, seconds: float) -> bool:
        until = anyio.current_time() + seconds
        while self._process.returncode is None:
            if anyio.current_time() >= until:
                return False
            await anyio.sleep(_POLL)
        return True

    async def _end_tree(self) -> None:
        if sys.platform == "win32":
            from mcp.os.win32.utilities import terminate_windows_process_tree

            await terminate_windows_process_tree(self._process)
        else:
            from mcp.os.posix.utilities import terminate_posix_process_tree

            await terminate_posix_process_tree(self._process, self._wire.limits.grace)


def _end_group(process: Any) -> None:
    """What a process that left by itself has left behind in its group."""
    if sys.platform == "win32":
        from mcp.os.win32.utilities import close_process_job

        close_process_job(process)
    else:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)


async def _closed(stream: anyio.abc.AsyncResource | None) -> None:
    if stream is not None:
        with contextlib.suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            await stream.aclose()


class _LongLine:
    """A line beyond the limit: its two ends are kept, to find out which request it answers."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._size = 0
        self._head, self._tail = b"", b""

    def __bool__(self) -> bool:
        return self._size > 0

    def add(self, part: bytes | bytearray) -> None:
        """Take more of the line; one without end is a fault."""
        self._head = self._head or bytes(part[:_KEPT])
        self._tail = (self._tail + part[-_KEPT:])[-_KEPT:]
        self._size += len(part)
        if self._size > _PASSED_OVER * self._wire.limits.message:
            most = self._wire.limits.message
            self._wire.fail(
                ResultRefused(
                    f"the server wrote a line of over {self._size} bytes, at most {most} are accepted"
                )
            )

    def ended(self) -> Any:
        """The error that stands for the answer; None, and a fault, when it answers nothing that is known."""
        if self._wire.fault is not None:
            return None
        ids = {found.strip(b'"').decode("utf-8", "replace") for found in _ID.findall(self._head + self._tail)}
        asked = [each for each in self._wire.waiting if str(each) in ids]
        asked = asked or (list(self._wire.waiting) if b'"method"' not in self._head else [])
        if len(asked) != 1:
            self._wire.fail(self._wire.too_big("", self._size))
            return None
        return self._wire.refusal(asked[0], self._wire.too_big(self._wire.waiting[asked[0]], self._size))
