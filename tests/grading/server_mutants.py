"""The reference server of class 132, broken in one place at a time: old text, new text, what it breaks.

Where a fault can't help breaking two behaviours both are named; otherwise exactly one.
"""

from __future__ import annotations

from pathlib import Path

from mutants import Mutant, _m

REFERENCE_SERVER = Path(__file__).with_name("reference_server.py")

SERVER_MUTANTS = (
    _m(
        "a tool without a schema of its results",
        'update={"input_schema": tool',
        'update={"output_schema": None, "input_schema": tool',
        "tools.described",
        "result.structured",
    ),
    _m(
        "the tools turn round",
        "for tool in await super().list_tools()\n        ]",
        "for tool in turned(await super().list_tools())\n        ]",
        "tools.described",
    ),
    _m(
        "unknown tool as a result",
        'raise MCPError(INVALID_PARAMS, f"Unknown tool: {name}"[:100], None)',
        'return CallToolResult(content=[TextContent(text="Unknown tool")], is_error=True)',
        "tools.unknown",
    ),
    _m("coerces, as the SDK does", "        if errors:", "        if False:", "arguments.enforced"),
    _m(
        "ignores what it does not know",
        'tool.input_schema | {"additionalProperties": False}',
        'tool.input_schema | {"additionalProperties": True}',
        "arguments.enforced",
    ),
    _m(
        "refuses without a reason",
        "TextContent(text=text)",
        'TextContent(text="Bad arguments.")',
        "arguments.explained",
    ),
    _m(
        "bad arguments as a protocol error",
        "return CallToolResult(content=[TextContent(text=text)], is_error=True)",
        "raise MCPError(INVALID_PARAMS, text, None)",
        "arguments.explained",
    ),
    _m(
        "structure without text",
        "        return await super().call_tool(name, arguments, context)",
        "        found = await super().call_tool(name, arguments, context)\n"
        '        if name == "find_units":\n'
        '            found = found.model_copy(update={"content": [TextContent(text="See the structure.")]})\n'
        "        return found",
        "result.structured",
    ),
    _m(
        "the Rh factor is forgotten",
        'if mark in "AB+")',
        'if mark in "AB")',
        "find.compatible",
        "failure.told",
    ),
    _m(
        "giver and receiver swapped",
        "all(mark in group for mark in unit.group if mark in",
        "all(mark in unit.group for mark in group if mark in",
        "find.compatible",
        "failure.told",
    ),
    _m(
        "expired on the last day",
        "unit.expires >= fridge.today\n",
        "unit.expires > fridge.today\n",
        "find.compatible",
        "resource.read",
    ),
    _m(
        "the rarest first",
        "(unit.group != group, unit.expires, unit.id)",
        "(unit.expires, unit.id)",
        "find.compatible",
    ),
    _m("does not say what is missing", "short=max(0, count - len(fit))", "short=0", "find.compatible"),
    _m(
        "looks, waits, takes",
        '        states[unit] = "reserved"',
        '        await asyncio.sleep(0.01)\n        states[unit] = "reserved"',
        "reserve.once",
    ),
    _m("gives what has expired", "if not fresh(wanted):", "if False:", "failure.told"),
    _m(
        "says no in the tone of yes",
        'raise ToolError(f"unit {unit} expired on {wanted.expires}")',
        'return Changed(unit=unit, state="expired")',
        "failure.told",
    ),
    _m("gives anything to anybody", "if not suits(wanted, group):", "if False:", "failure.told"),
    _m(
        "tells the exception",
        "        except LookupError:\n"
        '            raise ToolError(f"the log of unit {unit} cannot be read") from None',
        "        except LookupError as error:\n            raise ToolError(str(error)) from None",
        "crash.masked",
    ),
    _m(
        "a broken check keeps the unit",
        '        finally:\n            states[unit] = "free"\n',
        '        except asyncio.CancelledError:\n            states[unit] = "free"\n            raise\n'
        '        states[unit] = "free"\n',
        "crash.masked",
    ),
    _m("says nothing while it works", "await ctx.report_progress(hour + 1, HOURS)", "pass", "progress.told"),
    _m(
        "counts down",
        "report_progress(hour + 1, HOURS)",
        "report_progress(HOURS - hour, HOURS)",
        "progress.told",
    ),
    _m("warm is sound", "and highest <= HIGHEST", "and highest <= 100", "progress.told"),
    _m(
        "a cancelled check keeps the unit",
        '            states[unit] = "free"\n        lowest',
        "            if sys.exc_info()[0] is not asyncio.CancelledError:\n"
        '                states[unit] = "free"\n'
        "        lowest",
        "cancel.reaches",
    ),
    _m(
        "gives what is being checked",
        'if states[number] != "free":',
        'if states[number] not in ("free", "checking"):',
        "cancel.reaches",
    ),
    _m(
        "the question names nothing",
        "Unit {unit} will be thrown away.",
        "Something will be thrown away.",
        "ask.accepted",
    ),
    _m("says it did", 'states[unit] = "discarded"', "pass", "ask.accepted", "ask.refused"),
    _m(
        "no means yes",
        "if not isinstance(answer, AcceptedElicitation) or not answer.data.sure:",
        "if isinstance(answer, AcceptedElicitation) and not answer.data.sure:",
        "ask.refused",
    ),
    _m("an empty box is a tick", " or not answer.data.sure:", ":", "ask.refused"),
    _m(
        "nobody to ask",
        "    async def ask(unit: str) -> Elicit[Sure]:\n        free(unit)\n",
        "    async def ask(unit: str, ctx: Context[Any, Any]) -> Elicit[Sure] | Sure:\n        free(unit)\n"
        "        able = ctx.session.client_capabilities\n"
        "        if able is None or able.elicitation is None:\n            return Sure(sure=True)\n",
        "ask.undeclared",
    ),
    _m(
        "the shelf counts all",
        'if states[unit.id] == "free" and fresh(unit)]\n        return json.dumps({group',
        "]\n        return json.dumps({group",
        "resource.read",
    ),
    _m(
        "the shelf is not listed",
        "    async def get_prompt(",
        "    async def list_resources(self) -> Any:\n        return []\n\n    async def get_prompt(",
        "resource.read",
    ),
    _m(
        "an unknown unit breaks it",
        "        if unit not in units:\n            raise ResourceNotFound",
        "        if False:\n            raise ResourceNotFound",
        "template.read",
    ),
    _m(
        "the day in another notation",
        '"expires": known.expires, "state"',
        '"expires": known.expires.replace("-", "/"), "state"',
        "template.read",
    ),
    _m(
        "guesses the ward",
        "        for prompt in await self.list_prompts():",
        '        arguments = {"ward": "any", **(arguments or {})}\n'
        "        for prompt in await self.list_prompts():",
        "prompt.given",
    ),
    _m(
        "hands over everything",
        'if unit.expires == fridge.today and states[unit.id] == "free"',
        "if unit.expires >= fridge.today",
        "prompt.given",
    ),
)

HELP = """

def turned(tools: list[Tool]) -> list[Tool]:
    tools.append(tools.pop(next(TURNS) % len(tools)))
    return tools


import itertools
import sys

TURNS = itertools.count()
"""


def mutated_server(mutant: Mutant) -> str:
    """The source of the reference server with this one fault in it."""
    source = REFERENCE_SERVER.read_text(encoding="utf-8")
    assert source.count(mutant.old) == 1, f"{mutant.name}: {source.count(mutant.old)} times in the reference"
    return source.replace(mutant.old, mutant.new) + HELP
