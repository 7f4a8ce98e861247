"""What the tests of the host share: a loop with an end, ways to meet a server, and who is still alive."""

from __future__ import annotations

import asyncio
import functools
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from hostile_servers import command, in_memory

from ai_evolution.errors import McpError
from ai_evolution.mcp.client import Host, Limits, connect

PATIENT = 60
"""Seconds after which a test is stuck."""
BRIEF = 0.4
"""Seconds for what never comes."""
ERAS = ("2026-07-28", "2025-11-25")
MODES = {"2026-07-28": "auto", "2025-11-25": "legacy"}
SMALL = 100_000
BOUNDS = Limits(unasked=200, grace=0.2)


def on_a_loop(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Run an async test on a loop of its own, for ``PATIENT`` seconds at most."""

    @functools.wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        async def bounded() -> None:
            async with asyncio.timeout(PATIENT):
                await test(*args, **kwargs)

        asyncio.run(bounded())

    return run


@asynccontextmanager
async def meet(server: Any, era: str = ERAS[0], **options: Any) -> AsyncIterator[Host]:
    """Connect to a server of ``hostile_servers`` in memory."""
    given = {"deadline": 20.0, "max_bytes": SMALL, "limits": BOUNDS, "known_as": "hostile", **options}
    async with connect(in_memory(server), mode=MODES[era], **given) as host:
        yield host


@asynccontextmanager
async def started(kind: str, era: str = ERAS[0], **options: Any) -> AsyncIterator[Host]:
    """Connect to a server of ``hostile_servers`` as a process."""
    given = {"deadline": 20.0, "max_bytes": SMALL, "limits": BOUNDS, **options}
    async with connect(command(kind), mode=MODES[era], **given) as host:
        yield host


async def refused(meeting: Any, error: type[McpError], *call: Any, **options: Any) -> Any:
    """Call the tool at a server that is met and return the ``error`` that comes of it."""
    with pytest.raises(error) as caught:
        async with meeting as host:
            await host.call(*(call or ("count",)), **options)
    return caught.value


def children() -> set[int]:
    """The processes that this one started and that are still there, zombies too."""
    listed = Path(f"/proc/{os.getpid()}/task").glob("*/children")
    return {int(pid) for each in listed for pid in each.read_text(encoding="utf-8").split()}
