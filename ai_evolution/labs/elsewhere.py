"""What happens in another process: the tool of the three ways, and a server that will be killed.

``python -m ai_evolution.labs.elsewhere STORE SEED TRANSPORT`` first orders the check from the MCP
tool and prints what that cost, as one line of JSON; then it serves the checks agent on a loopback
port, prints the port, and goes on until it is killed. ``begin`` starts it before the lab has even
been imported, and the lab asks for both when it gets there: importing the MCP stack takes about
as long as all the rest, and there is a second core.

Nothing heavy is imported at the top, for that reason.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ai_evolution.errors import LabError

if TYPE_CHECKING:
    from ai_evolution.labs.hiring import Candidate, Office
    from ai_evolution.labs.three_ways import Way

PEOPLE = 17
"""How many apply: eight who may be candidates, and one for each question that needs its own."""
ORDERED = 16
"""The person on whom the same check is ordered three ways."""
OWN_SECRET = {"salary": "The ceiling for this position is 91000"}
PATIENCE = 60.0
"""Seconds for the other process to say what it is asked for."""


def everybody(seed: int) -> tuple[list[Candidate], Office]:
    """The people and the office of a seed: the same in every process."""
    from ai_evolution.labs import hiring
    from ai_evolution.world import World

    world = World("multiagent", seed)
    people = hiring.candidates(world.fork("people"), PEOPLE)
    return people, hiring.Office.of(world.fork("office"), people)


class Elsewhere:
    """The other process, seen from the lab, and the folder that both may write to.

    ``close`` kills and reaps it and removes the folder; closing twice is fine.
    """

    def __init__(self, seed: int, transport: str) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self.folder = Path(self._folder.name)
        self.store = self.folder / "tasks.sqlite"
        self._lines: list[str] = []
        try:
            self._process = self._started(str(self.store), str(seed), transport)
        except OSError as error:
            self._folder.cleanup()
            raise LabError(f"the other process could not be started: {error.strerror}") from None

    def _started(self, *words: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", "ai_evolution.labs.elsewhere", *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    async def way(self) -> Way:
        """What ordering the check from the tool came to."""
        from ai_evolution.labs.three_ways import Way

        return Way(**json.loads(await self._line(0)))

    async def url(self) -> str:
        """Where the checks agent listens, once it does."""
        return f"http://127.0.0.1:{int(await self._line(1))}"

    def kill(self) -> None:
        """Kill it as ``kill -9`` does, and reap it."""
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """Leave nothing running and nothing lying about."""
        self.kill()
        if self._process.stdout is not None:
            self._process.stdout.close()
        with contextlib.suppress(OSError):
            self._folder.cleanup()

    async def _line(self, number: int) -> str:
        assert self._process.stdout is not None
        while len(self._lines) <= number:
            try:
                async with asyncio.timeout(PATIENCE):
                    line = (await asyncio.to_thread(self._process.stdout.readline)).decode()
            except TimeoutError:
                self.kill()  # which ends the thread that reads
                raise LabError(f"the other process said nothing for {PATIENCE:g} s") from None
            if not line:
                raise LabError("the other process ended before it had said what it was asked for")
            self._lines.append(line)
        return self._lines[number]


async def main(store: str, seed: int, transport: str) -> None:
    """Order the check from the tool, then serve the checks agent until killed."""
    from ai_evolution.a2a.app import build_app
    from ai_evolution.a2a.store import SqliteTaskStore
    from ai_evolution.labs import hiring, three_ways
    from ai_evolution.network import Network, serve

    people, office = everybody(seed)
    async with Network(transport=transport) as net:  # type: ignore[arg-type]
        app = three_ways.tool_app(office)
        tell((await three_ways.by_tool(net, office, app, people[ORDERED], OWN_SECRET)).as_dict())
    agent = build_app(
        hiring.checks_card(), hiring.Verifier(office), store=SqliteTaskStore(store), tokens=hiring.TOKENS
    )
    _, port, serving = await serve(agent)
    tell(port)
    await serving


def tell(value: Any) -> None:
    """One line of JSON to the lab."""
    print(json.dumps(value), flush=True)


if __name__ == "__main__":
    gc.disable()  # this process imports, does one thing and is killed
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), sys.argv[3]))
