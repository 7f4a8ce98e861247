"""The other process of class 134 as a fork of one that has its imports behind it.

A run of the lab costs 1 s of CPU here and 2 s in the other process, all of them imports; the tests run
it some forty times. What is forked is as much a process of its own as the other is: it runs the same
``elsewhere.main``, listens on a port of its own and dies of the same signal. The lab as it is started by
a person, with its imports, is run by ``test_multiagent.py``, the tests of the command and the notebooks.
"""

from __future__ import annotations

import asyncio
import gc
import multiprocessing
import os
from multiprocessing.connection import Connection
from typing import Any

from ai_evolution.labs import elsewhere

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(
    [
        "ai_evolution.a2a.app",
        "ai_evolution.a2a.store",
        "ai_evolution.labs.three_ways",
        "ai_evolution.network",
        "mcp.server.mcpserver",
        "mcp.client.streamable_http",
    ]
)


def serve(says: Connection, words: tuple[str, str, str]) -> None:
    """What ``python -m ai_evolution.labs.elsewhere`` does, with ``says`` for its standard output."""
    gc.disable()
    store, seed, transport = words
    os.dup2(says.fileno(), 1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    asyncio.run(elsewhere.main(store, int(seed), transport))


class Process:
    """As much of ``subprocess.Popen`` as the lab asks for."""

    def __init__(self, words: tuple[str, ...]) -> None:
        hears, says = CONTEXT.Pipe(duplex=False)
        self._process = CONTEXT.Process(target=serve, args=(says, words))
        self._process.start()
        says.close()
        self.stdout = os.fdopen(os.dup(hears.fileno()), "rb")
        hears.close()

    def kill(self) -> None:
        self._process.kill()

    def wait(self) -> None:
        self._process.join()


class Forked(elsewhere.Elsewhere):
    """The other process, forked."""

    def _started(self, *words: str) -> Any:
        return Process(words)
