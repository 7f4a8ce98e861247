"""Another solution of the exercise of class 132: the tools are contracts of class 131."""

import json
from typing import Annotated, Any

from mcp.server.mcpserver import AcceptedElicitation, Context, Elicit, ElicitationResult, Resolve
from mcp.server.mcpserver.exceptions import ResourceNotFoundError
from mcp.server.mcpserver.prompts import Prompt
from pydantic import BaseModel

from ai_evolution.atdf.contract import Contract, ToolFailure
from ai_evolution.grading.fridge import GROUPS, HOURS, Fridge
from ai_evolution.mcp.server import build_server

GROUP = {"type": "string", "enum": list(GROUPS), "description": "A blood group"}
UNIT = {"type": "string", "pattern": "^U[0-9]{4}$", "description": "Number of a unit"}
TEXT, NUMBER = {"type": "string"}, {"type": "number"}
ERROR = {
    "type": "object",
    "properties": {"code": {"enum": ["NOT_FREE", "EXPIRED", "UNSUITED", "KEPT"]}},
}


class Sure(BaseModel):
    sure: bool


def document(name: str, says: str, given: dict[str, Any], result: dict[str, Any]) -> dict[str, Any]:
    takes = {
        "type": "object",
        "properties": given,
        "required": [key for key, each in given.items() if "default" not in each],
        "additionalProperties": False,
    }
    gives = {"type": "object", "properties": result, "required": list(result)}
    output = {"success": gives, "error": ERROR}
    return {"tool": {"name": name, "description": says, "input": takes, "output": output}}


def refused(code: str, text: str) -> ToolFailure:
    return ToolFailure(code, text, expected="a free unit that suits", solution="ask find_units for others")


def build(fridge: Fridge) -> Any:
    units = {unit.id: unit for unit in fridge.units}
    states = dict.fromkeys(units, "free")

    def free(number: str) -> Any:
        if states.get(number) != "free":
            raise refused("NOT_FREE", f"{number} is {states.get(number, 'not there')}")
        return units[number]

    def suits(number: str, group: str) -> bool:
        return set(units[number].group) - {"O", "-"} <= set(group)

    def offered() -> list[str]:
        return [n for n, unit in units.items() if states[n] == "free" and unit.expires >= fridge.today]

    async def find_units(group: str, count: int, own_group_only: bool = False) -> dict[str, Any]:
        fit = [n for n in offered() if suits(n, group) and not (own_group_only and units[n].group != group)]
        fit.sort(key=lambda n: (units[n].group != group, units[n].expires, n))
        return {"units": fit[:count], "short": max(0, count - len(fit))}

    async def reserve_unit(unit: str, group: str) -> dict[str, Any]:
        if free(unit).expires < fridge.today:
            raise refused("EXPIRED", f"{unit} has expired")
        if not suits(unit, group):
            raise refused("UNSUITED", f"{unit} does not suit {group}")
        states[unit] = "reserved"
        return {"unit": unit, "state": "reserved"}

    async def check_cooling(unit: str, context: Context[Any, Any]) -> dict[str, Any]:
        free(unit)
        states[unit] = "checking"
        try:
            seen = []
            for hour in range(HOURS):
                seen.append(await fridge.reading(unit, hour))
                await context.report_progress(hour + 1, HOURS)
        finally:
            states[unit] = "free"
        sound = all(2 <= each <= 6 for each in seen)
        return {"unit": unit, "lowest": min(seen), "highest": max(seen), "sound": sound}

    async def ask(unit: str) -> Elicit[Sure]:
        return Elicit(f"Throw {unit} away?", Sure)

    async def discard_unit(
        unit: str, answer: Annotated[ElicitationResult[Sure], Resolve(ask)]
    ) -> dict[str, Any]:
        free(unit)
        if not (isinstance(answer, AcceptedElicitation) and answer.data.sure):
            raise refused("KEPT", f"{unit} is kept")
        states[unit] = "discarded"
        return {"unit": unit, "state": "discarded"}

    def handover(ward: str) -> str:
        last = [n for n in offered() if units[n].expires == fridge.today]
        return f"Handover for {ward}; last day today: {' '.join(last)}"

    count = {"type": "integer", "minimum": 1, "maximum": 6}
    own = {"type": "boolean", "default": False}
    changed = {"unit": TEXT, "state": TEXT}
    cooled = {"unit": TEXT, "lowest": NUMBER, "highest": NUMBER, "sound": {"type": "boolean"}}
    found = {"units": {"type": "array", "items": TEXT}, "short": {"type": "integer"}}
    offers = [
        (
            "Finds units for a patient.",
            {"group": GROUP, "count": count, "own_group_only": own},
            found,
            find_units,
        ),
        ("Reserves a unit.", {"unit": UNIT, "group": GROUP}, changed, reserve_unit),
        ("Reads the log of a sensor.", {"unit": UNIT}, cooled, check_cooling),
        ("Throws a unit away, after asking.", {"unit": UNIT}, changed, discard_unit),
    ]
    contracts = [
        Contract(document(act.__name__, says, given, result), act) for says, given, result, act in offers
    ]
    prompts = [Prompt.from_function(handover)]
    server = build_server("blood-bank", contracts, prompts=prompts, log_level="CRITICAL")

    @server.resource("blood://shelf", mime_type="application/json")
    def shelf() -> str:
        there = [units[n].group for n in offered()]
        return json.dumps({group: there.count(group) for group in GROUPS})

    @server.resource("blood://units/{unit}", mime_type="application/json")
    def one_unit(unit: str) -> str:
        if unit not in units:
            raise ResourceNotFoundError(unit)
        told = units[unit]
        return json.dumps({"id": unit, "group": told.group, "expires": told.expires, "state": states[unit]})

    return server
