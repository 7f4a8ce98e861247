"""Work that takes long, in a thread: its steps are reported to the client, and cancelling ends it.

A thread can't be stopped from outside. So the work is asked to say each step that it has done, and is told
there that nobody waits for it any more.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from mcp.server.mcpserver import Context

T = TypeVar("T")
Say = Callable[[str], None]


class Abandoned(BaseException):
    """Raised inside the work, at its next step, when nobody waits for it any more."""


async def reported(context: Context[Any, Any], work: Callable[[Say], T], total: Callable[[], int]) -> T:
    """What ``work(say)`` returns or raises; each ``say(step)`` is one more of ``total()`` steps.

    After a cancellation this returns only when the work has ended, which it does at its next step: whoever
    holds a lock around it holds it as long as the work goes on.
    """
    loop = asyncio.get_running_loop()
    steps: asyncio.Queue[str | None] = asyncio.Queue()
    abandoned = threading.Event()

    def say(step: str) -> None:
        if abandoned.is_set():
            raise Abandoned
        loop.call_soon_threadsafe(steps.put_nowait, step)

    running = asyncio.ensure_future(asyncio.to_thread(_kept, work, say))
    running.add_done_callback(lambda _: steps.put_nowait(None))
    done = 0
    try:
        while (step := await steps.get()) is not None:
            done += 1
            await context.report_progress(done, max(done, total()), step)
        value, error = await running
    except BaseException:
        abandoned.set()
        await asyncio.wait({running})
        raise
    if error is not None:
        raise error
    return value  # type: ignore[return-value]


def _kept(work: Callable[[Say], T], say: Say) -> tuple[T | None, Exception | None]:
    """The outcome as a value: ``Abandoned`` must not run through an event loop's own handling of errors."""
    try:
        return work(say), None
    except Abandoned:
        return None, RuntimeError("abandoned")
    except Exception as error:
        return None, error
