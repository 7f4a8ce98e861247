"""A solution of the exercise of class 132, on the SDK's own ``MCPServer``."""

import asyncio
import json
from typing import Annotated, Any, Literal

from jsonschema import Draft202012Validator
from mcp import MCPError
from mcp.server import MCPServer
from mcp.server.mcpserver import AcceptedElicitation, Context, Elicit, ElicitationResult, Resolve
from mcp.server.mcpserver.exceptions import ResourceNotFoundError, ToolError
from mcp.types import INVALID_PARAMS, CallToolResult, TextContent, Tool, ToolAnnotations
from pydantic import BaseModel, Field

from ai_evolution.grading.fridge import GROUPS, HOURS, Fridge, Unit

Group = Literal["O-", "O+", "A-", "A+", "B-", "B+", "AB-", "AB+"]
UnitId = Annotated[str, Field(pattern="^U[0-9]{4}$", description="Number of a unit, such as U0001")]
LOWEST, HIGHEST = 2.0, 6.0
READS = ToolAnnotations(read_only_hint=True)
CHANGES = ToolAnnotations(read_only_hint=False, destructive_hint=False)
DESTROYS = ToolAnnotations(read_only_hint=False, destructive_hint=True)


class Found(BaseModel):
    units: list[str]
    short: int


class Changed(BaseModel):
    unit: str
    state: str


class Cooling(BaseModel):
    unit: str
    lowest: float
    highest: float
    sound: bool


class Sure(BaseModel):
    sure: bool


def suits(unit: Unit, group: str) -> bool:
    """Whether a patient of this group has everything that is on the cells of the unit."""
    return all(mark in group for mark in unit.group if mark in "AB+")


class Strict(MCPServer[Any]):
    """What the SDK leaves open: unknown tools, forbidden arguments, a prompt without its ward."""

    async def list_tools(self) -> list[Tool]:
        return [
            tool.model_copy(update={"input_schema": tool.input_schema | {"additionalProperties": False}})
            for tool in await super().list_tools()
        ]

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Any = None) -> Any:
        tools = {tool.name: tool for tool in await self.list_tools()}
        if name not in tools:
            raise MCPError(INVALID_PARAMS, f"Unknown tool: {name}"[:100], None)
        errors = list(Draft202012Validator(tools[name].input_schema).iter_errors(arguments))
        if errors:
            text = "; ".join(f"{error.json_path}: {error.message}" for error in errors)
            return CallToolResult(content=[TextContent(text=text)], is_error=True)
        return await super().call_tool(name, arguments, context)

    async def get_prompt(
        self, name: str, arguments: dict[str, Any] | None = None, context: Any = None
    ) -> Any:
        for prompt in await self.list_prompts():
            for each in prompt.arguments or ():
                if prompt.name == name and each.required and each.name not in (arguments or {}):
                    raise MCPError(INVALID_PARAMS, f"{name} needs {each.name}", None)
        return await super().get_prompt(name, arguments, context)


def build(fridge: Fridge) -> MCPServer[Any]:
    server = Strict("blood-bank", version="1.0.0", log_level="WARNING")
    units = {unit.id: unit for unit in fridge.units}
    states = dict.fromkeys(units, "free")

    def fresh(unit: Unit) -> bool:
        return unit.expires >= fridge.today

    def free(number: str) -> Unit:
        if number not in units:
            raise ToolError(f"there is no unit {number}")
        if states[number] != "free":
            raise ToolError(f"unit {number} is not free: {states[number]}")
        return units[number]

    async def ask(unit: str) -> Elicit[Sure]:
        free(unit)
        return Elicit(f"Unit {unit} will be thrown away. Are you sure?", Sure)

    @server.tool(annotations=READS)
    async def find_units(
        group: Annotated[Group, Field(description="The patient's blood group")],
        count: Annotated[int, Field(ge=1, le=6, description="How many units are needed")],
        own_group_only: Annotated[bool, Field(description="Only units of the patient's own group")] = False,
    ) -> Found:
        """Find free units of red cells that suit a patient, the best first. Changes nothing."""
        fit = [
            unit
            for unit in units.values()
            if states[unit.id] == "free" and fresh(unit) and suits(unit, group)
        ]
        if own_group_only:
            fit = [unit for unit in fit if unit.group == group]
        fit.sort(key=lambda unit: (unit.group != group, unit.expires, unit.id))
        return Found(units=[unit.id for unit in fit[:count]], short=max(0, count - len(fit)))

    @server.tool(annotations=CHANGES)
    async def reserve_unit(unit: UnitId, group: Group) -> Changed:
        """Reserve a unit for a patient. Refused when it is expired, not free, or does not suit the group."""
        wanted = free(unit)
        if not fresh(wanted):
            raise ToolError(f"unit {unit} expired on {wanted.expires}")
        if not suits(wanted, group):
            raise ToolError(f"unit {unit} is {wanted.group} and does not suit {group}")
        states[unit] = "reserved"
        return Changed(unit=unit, state="reserved")

    @server.tool(annotations=READS)
    async def check_cooling(unit: UnitId, ctx: Context[Any, Any]) -> Cooling:
        """Read the log of a unit's sensor, hour by hour. The unit cannot be reserved meanwhile."""
        free(unit)
        states[unit] = "checking"
        try:
            seen = []
            for hour in range(HOURS):
                seen.append(await fridge.reading(unit, hour))
                await ctx.report_progress(hour + 1, HOURS)
        except LookupError:
            raise ToolError(f"the log of unit {unit} cannot be read") from None
        finally:
            states[unit] = "free"
        lowest, highest = min(seen), max(seen)
        return Cooling(
            unit=unit, lowest=lowest, highest=highest, sound=lowest >= LOWEST and highest <= HIGHEST
        )

    @server.tool(annotations=DESTROYS)
    async def discard_unit(unit: UnitId, answer: Annotated[ElicitationResult[Sure], Resolve(ask)]) -> Changed:
        """Throw a unit away, if the person agrees."""
        free(unit)
        if not isinstance(answer, AcceptedElicitation) or not answer.data.sure:
            raise ToolError(f"unit {unit} is kept: the person did not agree")
        states[unit] = "discarded"
        return Changed(unit=unit, state="discarded")

    @server.resource("blood://shelf", mime_type="application/json")
    def shelf() -> str:
        """How many free units of each group there are."""
        there = [unit.group for unit in units.values() if states[unit.id] == "free" and fresh(unit)]
        return json.dumps({group: there.count(group) for group in GROUPS})

    @server.resource("blood://units/{unit}", mime_type="application/json")
    def one_unit(unit: str) -> str:
        """A unit and its state."""
        if unit not in units:
            raise ResourceNotFoundError(f"there is no unit {unit}")
        known = units[unit]
        return json.dumps({"id": unit, "group": known.group, "expires": known.expires, "state": states[unit]})

    @server.prompt()
    def handover(ward: str) -> str:
        """What the next shift on a ward has to know."""
        last = [
            unit.id for unit in units.values() if unit.expires == fridge.today and states[unit.id] == "free"
        ]
        return f"Write the handover for {ward}. Units whose last day is today: {', '.join(last) or 'none'}."

    return server


if __name__ == "__main__":
    from ai_evolution.grading.fridge import example
    from ai_evolution.mcp.server import serve_streams

    asyncio.run(serve_streams(build(example())))
