"""What every session does on the outside with a program's calls and its text, whatever the inside is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Literal

from ai_evolution.ptc.limits import Limits
from ai_evolution.ptc.sandbox import Answer, Call, CallRecord, OnCall

STDERR = 65_536  # bytes of stderr that are kept of a run


class Text:
    """Printed text up to a number of bytes; the rest is counted out."""

    def __init__(self, limit: int) -> None:
        self._parts: list[str] = []
        self._left = limit
        self.truncated = False

    def add(self, text: str) -> None:
        if self._left <= 0:
            self.truncated = True
            return
        data = text.encode("utf-8", "replace")
        if len(data) > self._left:
            text, self.truncated = data[: self._left].decode("utf-8", "ignore"), True
        self._left -= len(data)
        self._parts.append(text)

    @property
    def text(self) -> str:
        return "".join(self._parts)


class Calls:
    """The calls of one run: at most so many at once, at most so many in all, each recorded."""

    def __init__(self, on_call: OnCall, limits: Limits, answer: Callable[[Call, Answer], None]) -> None:
        self._on_call, self._limits, self._answer = on_call, limits, answer
        self._free = asyncio.Semaphore(limits.at_once)
        self._tasks: set[asyncio.Task[None]] = set()
        self._stopped = False
        self.made: list[Call] = []
        self.ends: dict[str, Literal["result", "error"]] = {}

    def start(self, call: Call) -> bool:
        """Begin to answer; False when the run has no calls left."""
        if len(self.made) >= self._limits.calls:
            return False
        self.made.append(call)
        if self._stopped:
            return True
        task = asyncio.get_running_loop().create_task(self._one(call))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return True

    async def _one(self, call: Call) -> None:
        async with self._free:
            try:
                answer = await self._on_call(call)
            except Exception as error:  # whoever answers should not raise; the program is told, not the text
                answer = Answer(error={"type": type(error).__name__, "message": "the tool failed"})
        self.ends[call.id] = "result" if answer.error is None else "error"
        self._answer(call, answer)

    async def stop(self) -> None:
        """Cancel what is still being answered, and wait until it is over. Later calls are only recorded."""
        self._stopped = True
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def records(self) -> tuple[CallRecord, ...]:
        """Every call in the order in which it was made."""
        return tuple(
            CallRecord(
                call.id, call.sequence, call.tool, call.arguments, self.ends.get(call.id, "unanswered")
            )
            for call in self.made
        )
