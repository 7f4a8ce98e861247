"""What happens in another process: the tool of the three ways, and a server that will be killed.

``python -m ai_evolution.labs.elsewhere STORE SEED TRANSPORT`` first orders the check from the MCP
tool and prints what that cost, as one line of JSON; then it serves the checks agent on a loopback
port, prints the port, and goes on until it is killed. The lab starts it at its first line and asks
for both when it gets there: importing the MCP stack takes about as long as all the rest, and
there is a second core.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from pathlib import Path
from typing import Any, Self

from ai_evolution.errors import LabError
from ai_evolution.labs import hiring, three_ways
from ai_evolution.network import Network, serve
from ai_evolution.world import World

PEOPLE = 17
"""How many apply: eight who may be candidates, and one for each question that needs its own."""
ORDERED = 16
"""The person on whom the same check is ordered three ways."""
OWN_SECRET = {"salary": "The ceiling for this position is 91000"}


def everybody(seed: int) -> tuple[list[hiring.Candidate], hiring.Office]:
    """The people and the office of a seed: the same in every process."""
    world = World("multiagent", seed)
    people = hiring.candidates(world.fork("people"), PEOPLE)
    return people, hiring.Office.of(world.fork("office"), people)


class Elsewhere:
    """The other process, seen from the lab. Use it with ``async with``: it is killed at the end."""

    def __init__(self, store: Path, seed: int, transport: str, patience: float) -> None:
        self.store = store
        self._seed, self._transport, self._patience = seed, transport, patience
        self._process: asyncio.subprocess.Process | None = None
        self._lines: list[str] = []

    async def __aenter__(self) -> Self:
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "ai_evolution.labs.elsewhere", str(self.store), str(self._seed), self._transport),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.kill()

    async def way(self) -> three_ways.Way:
        """What ordering the check from the tool came to."""
        return three_ways.Way(**json.loads(await self._line(0)))

    async def url(self) -> str:
        """Where the checks agent listens, once it does."""
        return f"http://127.0.0.1:{int(await self._line(1))}"

    async def kill(self) -> None:
        """Kill it as ``kill -9`` does, and reap it."""
        if self._process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        await self._process.wait()

    async def _line(self, number: int) -> str:
        assert self._process is not None
        assert self._process.stdout is not None
        while len(self._lines) <= number:
            try:
                async with asyncio.timeout(self._patience):
                    line = (await self._process.stdout.readline()).decode()
            except TimeoutError:
                raise LabError(f"the other process said nothing for {self._patience:g} s") from None
            if not line:
                raise LabError("the other process ended before it had said what it was asked for")
            self._lines.append(line)
        return self._lines[number]


async def main(store: str, seed: int, transport: str) -> None:
    """Order the check from the tool, then serve the checks agent until killed."""
    from ai_evolution.a2a.app import build_app
    from ai_evolution.a2a.store import SqliteTaskStore

    people, office = everybody(seed)
    async with Network(transport=transport) as net:  # type: ignore[arg-type]
        app = three_ways.tool_app(office)
        tell(await three_ways.by_tool(net, office, app, people[ORDERED], OWN_SECRET))
    agent = build_app(
        hiring.checks_card(), hiring.Verifier(office), store=SqliteTaskStore(store), tokens=hiring.TOKENS
    )
    _, port, serving = await serve(agent)
    tell(port)
    await serving


def tell(value: Any) -> None:
    """One line of JSON to the lab."""
    said = value.as_dict() if isinstance(value, three_ways.Way) else value
    print(json.dumps(said), flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), sys.argv[3]))
