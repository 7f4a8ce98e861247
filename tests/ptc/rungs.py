"""The rungs that work on this machine, and two tools to call from inside."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import cache
from typing import Any

import pytest

from ai_evolution.errors import SandboxUnavailable
from ai_evolution.ptc import Answer, Call, Limits, Outcome, Sandbox, Session, ToolStub, open_unsafe, pick

TOOLS = (
    ToolStub(
        "get_budget",
        ("employee", "quarter"),
        {
            "type": "object",
            "properties": {"employee": {"type": "string"}, "quarter": {"type": "string"}},
            "required": ["employee"],
            "additionalProperties": False,
        },
    ),
    ToolStub("echo", ("value",), {"type": "object", "properties": {"value": {}}}),
)


async def answer(call: Call) -> Answer:
    """echo gives back its argument; get_budget knows E1, and nobody else."""
    if call.tool == "echo":
        return Answer(call.arguments.get("value"))
    if call.arguments["employee"] == "E1":
        return Answer({"employee": "E1", "cents": 500_000})
    return Answer(error={"type": "NotFound", "message": f"no employee {call.arguments['employee']}"})


@cache
def missing(name: str) -> str:
    """Why a rung can't be used here; empty when it can."""

    async def go() -> str:
        try:
            async with await pick(name).open(()):
                return ""
        except SandboxUnavailable as error:
            return f"{error} ({error.help})"

    return asyncio.run(go())


def sandbox(name: str) -> Sandbox:
    """The rung, or a skipped test that says why."""
    if name == "unsafe":
        return open_unsafe()
    if why := missing(name):
        pytest.skip(why)
    return pick(name)


every_rung = pytest.mark.parametrize("rung", ["monty", "jail"])
every_inside = pytest.mark.parametrize("rung", ["monty", "jail", "unsafe"])


def run(
    rung: str,
    *programs: str,
    limits: Limits = Limits(),  # noqa: B008
    on_call: Callable[[Call], Awaitable[Answer]] = answer,
    tools: tuple[ToolStub, ...] = TOOLS,
) -> Outcome:
    """The outcome of the last program, all run in one session."""

    async def go(session: Session) -> Outcome:
        for program in programs:
            outcome = await session.run(program, on_call)
        return outcome

    outcome: Outcome = session(rung, go, limits, tools)
    return outcome


def session(
    rung: str,
    go: Callable[[Session], Awaitable[Any]],
    limits: Limits = Limits(),  # noqa: B008
    tools: tuple[ToolStub, ...] = TOOLS,
) -> Any:
    """What ``go`` makes of a session."""
    place = sandbox(rung)

    async def main() -> Any:
        async with asyncio.timeout(60), await place.open(tools, limits) as opened:
            return await go(opened)

    return asyncio.run(main())
