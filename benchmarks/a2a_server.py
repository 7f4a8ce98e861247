"""Requests per second of our A2A server against the bare SDK server, on a store of the same kind.

    python benchmarks/a2a_server.py [--requests 10] [--rounds 40] [--out FILE]

Two halves: ``SqliteTaskStore(":memory:")`` against the SDK's ``InMemoryTaskStore``, and ``SqliteTaskStore``
on a file against the SDK's ``DatabaseTaskStore`` on a SQLite file. Both servers run in this process behind
the same ASGI transport and the same agent, and take turns (A B B A ...) in small batches of one run, so that
a slow moment of the machine meets both. Ours does all that it does by default: token, limits, claims,
transitions. The bar is a ratio of 0.85.

Each turn sends SendMessage (blocking), GetTask and SendStreamingMessage, one request after another. The ratio
is that of the median batches, over one request of each kind. Exit code 1 when a ratio is under the bar; the
second half is not run, and said so, when sqlalchemy and aiosqlite are not installed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx
from a2a.helpers import new_data_part, new_task_from_user_message
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCard
from google.protobuf.json_format import ParseDict
from starlette.applications import Starlette

from ai_evolution.a2a import SqliteTaskStore, aclose, build_app

BAR = 0.85
KINDS = ("SendMessage", "GetTask", "SendStreamingMessage")
CARD = {
    "name": "Checks",
    "description": "Adds one.",
    "version": "1.0",
    "supportedInterfaces": [
        {"url": "http://bench/", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
        {"url": "http://bench/rest", "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"},
    ],
    "capabilities": {"streaming": True},
    "defaultInputModes": ["application/json"],
    "defaultOutputModes": ["application/json"],
    "skills": [{"id": "add", "name": "add", "description": "adds one", "tags": ["sum"]}],
}
Server = Callable[[AsyncExitStack, Path], Awaitable[httpx.AsyncClient]]


class AddOne(AgentExecutor):
    """Four events: the task, working, an artifact, completed."""

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        assert context.message is not None
        await event_queue.enqueue_event(new_task_from_user_message(context.message))
        updater = TaskUpdater(event_queue, context.task_id or "", context.context_id or "")
        await updater.start_work()
        await updater.add_artifact([new_data_part({"sum": 2})], name="sum")
        await updater.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        await TaskUpdater(event_queue, context.task_id or "", context.context_id or "").cancel()


async def ours_in_memory(stack: AsyncExitStack, folder: Path) -> httpx.AsyncClient:
    del folder
    return await _ours(stack, SqliteTaskStore())


async def ours_on_file(stack: AsyncExitStack, folder: Path) -> httpx.AsyncClient:
    return await _ours(stack, SqliteTaskStore(folder / "ours.db"))


async def _ours(stack: AsyncExitStack, store: SqliteTaskStore) -> httpx.AsyncClient:
    app = build_app(CARD, AddOne(), store=store, tokens={"token": "bench"})
    stack.callback(store.close)
    stack.push_async_callback(aclose, app)
    return await _client(stack, app)


async def sdk_in_memory(stack: AsyncExitStack, folder: Path) -> httpx.AsyncClient:
    del folder
    return await _sdk(stack, InMemoryTaskStore())


async def sdk_on_file(stack: AsyncExitStack, folder: Path) -> httpx.AsyncClient:
    from a2a.server.tasks import DatabaseTaskStore
    from sqlalchemy.ext.asyncio import create_async_engine

    engine = create_async_engine(f"sqlite+aiosqlite:///{(folder / 'sdk.db').as_posix()}")
    stack.push_async_callback(engine.dispose)
    store = DatabaseTaskStore(engine)
    await store.initialize()
    return await _sdk(stack, store)


async def _sdk(stack: AsyncExitStack, store: Any) -> httpx.AsyncClient:
    card = ParseDict(CARD, AgentCard())
    handler = DefaultRequestHandler(AddOne(), store, card)
    stack.push_async_callback(handler.aclose)
    app = Starlette(routes=[*create_agent_card_routes(card), *create_jsonrpc_routes(handler, "/")])
    return await _client(stack, app)


async def _client(stack: AsyncExitStack, app: Starlette) -> httpx.AsyncClient:
    headers = {"A2A-Version": "1.0", "Authorization": "Bearer token"}
    client = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://bench", headers=headers)
    return await stack.enter_async_context(client)


class Side:
    """One server under measurement, and the seconds per request that its batches took."""

    def __init__(self, name: str, client: httpx.AsyncClient) -> None:
        self.name = name
        self.seconds: dict[str, list[float]] = {kind: [] for kind in KINDS}
        self._client = client
        self._count = 0
        self._task = ""

    async def batch(self, kind: str, requests: int) -> None:
        """Send some requests one after another and note the seconds per request."""
        begun = time.perf_counter()
        for _ in range(requests):
            self._count += 1
            part = {"data": {"addend": self._count}, "mediaType": "application/json"}
            message = {"messageId": f"message-{self._count}", "role": "ROLE_USER", "parts": [part]}
            params: dict[str, Any] = {"id": self._task} if kind == "GetTask" else {"message": message}
            reply = await self._client.post(
                "/", json={"jsonrpc": "2.0", "id": 1, "method": kind, "params": params}
            )
            if "COMPLETED" not in reply.text:
                raise SystemExit(f"{self.name}: {kind} did not complete: {reply.text[:300]}")
        self.seconds[kind].append((time.perf_counter() - begun) / requests)
        if kind == "SendMessage":
            self._task = reply.json()["result"]["task"]["id"]

    def median(self, kind: str) -> float:
        """Return the seconds of a typical request; ``all`` is one of each kind."""
        if kind == "all":
            return sum(self.median(one) for one in KINDS)
        return statistics.median(self.seconds[kind])


@asynccontextmanager
async def served(server: Server, folder: Path) -> AsyncIterator[httpx.AsyncClient]:
    async with AsyncExitStack() as stack:
        yield await server(stack, folder)


async def compare(ours: Server, theirs: Server, *, rounds: int, requests: int) -> dict[str, Any]:
    """Return both sides' typical rates and their ratio, measured in turns."""
    with tempfile.TemporaryDirectory() as name:
        async with served(ours, Path(name)) as a, served(theirs, Path(name)) as b:
            sides = [Side("ours", a), Side("sdk", b)]
            for turn in range(-1, rounds):
                for kind in KINDS:
                    for side in sides if turn % 2 == 0 else reversed(sides):
                        await side.batch(kind, requests)
                if turn < 0:  # the first turn warms both up
                    for side in sides:
                        side.seconds = {kind: [] for kind in KINDS}
                elif turn % 10 == 9:
                    print(f"  turn {turn + 1} of {rounds}", file=sys.stderr)
    rates = {
        side.name: {
            kind: round((3 if kind == "all" else 1) / side.median(kind), 1) for kind in (*KINDS, "all")
        }
        for side in sides
    }
    ratio = {kind: round(sides[1].median(kind) / sides[0].median(kind), 3) for kind in (*KINDS, "all")}
    return {"requests_per_second": rates, "ratio": ratio, "holds": ratio["all"] >= BAR}


def main() -> int:
    """Measure, print a table, write the JSON; 0 when every ratio measured is at the bar or over it."""
    parser = argparse.ArgumentParser(description="Our A2A server against the bare SDK server.")
    parser.add_argument("--requests", type=int, default=10, help="requests in a batch")
    parser.add_argument("--rounds", type=int, default=40, help="batches of each kind on each side")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/a2a_server.json"))
    arguments = parser.parse_args()
    if arguments.requests < 1 or arguments.rounds < 1:
        parser.error("--requests and --rounds: 1 or more accepted")
    logging.disable(logging.WARNING)
    size = {"rounds": arguments.rounds, "requests": arguments.requests}
    halves: dict[str, Any] = {"memory": asyncio.run(compare(ours_in_memory, sdk_in_memory, **size))}
    missing = [name for name in ("sqlalchemy", "aiosqlite", "greenlet") if find_spec(name) is None]
    if missing:
        halves["sqlite"] = {"not_run": f"not installed: {', '.join(missing)}"}
    else:
        halves["sqlite"] = asyncio.run(compare(ours_on_file, sdk_on_file, **size))
    result = {
        "benchmark": "a2a_server",
        "bar": BAR,
        **size,
        "python": platform.python_version(),
        "a2a-sdk": metadata.version("a2a-sdk"),
        "halves": halves,
    }
    _table(halves)
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    print(f"\nwritten: {arguments.out}")
    return 0 if all(half.get("holds", True) for half in halves.values()) else 1


def _table(halves: dict[str, Any]) -> None:
    print(f"{'store':8} {'request':22} {'ours/s':>9} {'SDK/s':>9} {'ratio':>7}")
    for name, half in halves.items():
        if "not_run" in half:
            print(f"{name:8} NOT RUN: {half['not_run']}")
            continue
        rates = half["requests_per_second"]
        for kind, ratio in half["ratio"].items():
            print(f"{name:8} {kind:22} {rates['ours'][kind]:9.0f} {rates['sdk'][kind]:9.0f} {ratio:7.2f}")
        print(f"{name:8} {'bar ' + str(BAR) + (' holds' if half['holds'] else ' IS MISSED')}")


if __name__ == "__main__":
    sys.exit(main())
