"""Exercise of class 132: an MCP server for a blood bank, on the SDK's own ``MCPServer``.

It runs as it is, in both eras, and nobody should be given blood by it: it finds whatever lies in the fridge,
throws away what it is told to without asking, and tells strangers where the sensors are. The eight TODOs
below, done in order, make it a server that an agent may be let loose on. What it must do is in README.md;
check it with

    ai-evolution check 132 my_server.py

The only promise to keep is ``build(fridge)``, which returns an ``MCPServer`` or a low-level ``Server`` of the
package ``mcp``. Everything else is yours. ``python my_server.py`` serves an example fridge on the standard
streams, ``python my_server.py 8000`` at http://127.0.0.1:8000/mcp.

There is no ``from __future__ import annotations`` here, on purpose: the SDK reads the annotations of your
tools, and with it could not see names that are local to ``build``.
"""

import asyncio
import json
import sys
from typing import Any

from mcp.server import MCPServer

from ai_evolution.grading.fridge import HOURS, Fridge

# --- what the SDK leaves open --------------------------------------------------------------------

# TODO 2: a class Strict(MCPServer[Any]) with call_tool overridden, and use it below. An unknown tool is
#         MCPError(INVALID_PARAMS, ...) of the package mcp. Arguments that the published schema forbids are a
#         CallToolResult with is_error=True that names the argument: Draft202012Validator of jsonschema finds
#         them; the SDK by itself turns "5" into 5 and drops what it does not know.


def build(fridge: Fridge) -> MCPServer[Any]:
    """The server, with nothing reserved yet."""
    server: MCPServer[Any] = MCPServer("blood-bank", version="0.1.0", log_level="WARNING")
    units = {unit.id: unit for unit in fridge.units}
    states = dict.fromkeys(units, "free")  # free, checking, reserved, discarded

    # TODO 1: describe each tool and each argument: Literal[...] for the groups, Annotated[int, Field(ge=1,
    #         le=6)] for the count. A return type that is a pydantic model publishes an outputSchema.
    # TODO 3: the rules of the house: who suits whom, what has expired, what is taken, which comes first.
    #         own_group_only may be left out, and is then false.
    @server.tool()
    async def find_units(group: str, count: int, own_group_only: bool = False):  # type: ignore[no-untyped-def] # noqa: ARG001
        return {"units": list(units)[:count], "short": 0}

    # TODO 4: what breaks a rule is a ToolError(text) of mcp.server.mcpserver.exceptions, and nothing changes.
    #         Between the look at a state and its change there must be no await.
    @server.tool()
    async def reserve_unit(unit: str, group: str):  # type: ignore[no-untyped-def] # noqa: ARG001
        states[unit] = "reserved"
        return {"unit": unit, "state": "reserved"}

    # TODO 5: report the progress of each hour (a parameter ctx: Context[Any, Any], await
    #         ctx.report_progress(...)); the unit is "checking" meanwhile, and free again however this ends
    #         (try, finally): done, broken or cancelled. Of a broken log the caller learns just that it is.
    @server.tool()
    async def check_cooling(unit: str):  # type: ignore[no-untyped-def]
        try:
            seen = [await fridge.reading(unit, hour) for hour in range(HOURS)]
        except LookupError as error:
            return {"unit": unit, "problem": f"cannot be read: {error}"}
        return {"unit": unit, "lowest": min(seen), "highest": max(seen), "sound": True}

    # TODO 6: ask first. A parameter answer: Annotated[ElicitationResult[Sure], Resolve(ask)] is filled by
    #         async def ask(unit: str) -> Elicit[Sure], where Sure is a pydantic model with one field, sure:
    #         bool. It works in both eras; ctx.elicit() does not. Only AcceptedElicitation with sure is a yes.
    @server.tool()
    async def discard_unit(unit: str):  # type: ignore[no-untyped-def]
        states[unit] = "discarded"
        return {"unit": unit, "state": "discarded"}

    # Most behaviours look here for what became of a unit.
    # TODO 7: for a unit that is not there, ResourceNotFoundError of mcp.server.mcpserver.exceptions; and a
    #         resource blood://shelf: how many free units of each of the eight groups have not expired.
    @server.resource("blood://units/{unit}", mime_type="application/json")
    def one_unit(unit: str) -> str:
        known = units[unit]
        told = {"id": known.id, "group": known.group, "expires": known.expires, "state": states[unit]}
        return json.dumps(told)

    # TODO 8: @server.prompt() def handover(ward: str) -> str. Without its ward it is MCPError(INVALID_PARAMS,
    #         ...): override get_prompt in Strict as well.
    return server


# --- by hand -------------------------------------------------------------------------------------

if __name__ == "__main__":
    from ai_evolution.grading.fridge import example

    if sys.argv[1:]:
        build(example()).run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
    else:
        asyncio.run(build(example()).run_stdio_async())
