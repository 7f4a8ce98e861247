"""The judge of class 132: the reference server pleases it, each mutant displeases it where it is broken."""

from __future__ import annotations

import asyncio
import logging
import random
import sys
import types
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import pytest
from mutants import Mutant
from server_mutants import REFERENCE_SERVER, SERVER_MUTANTS, mutated_server

from ai_evolution.grading import blood_bank
from ai_evolution.grading import blood_bank_checks as checks
from ai_evolution.grading.exercise import CheckReport
from ai_evolution.grading.fridge import GROUPS, Fridge, example
from ai_evolution.mcp.server import http_app
from ai_evolution.network import Network

ORIGIN = "http://127.0.0.1:8000"
SOURCE = REFERENCE_SERVER.read_text(encoding="utf-8")
STARTER = Path(__file__).parents[2] / "classes" / "132-mcp" / "exercise" / "starter.py"
CONTROLS = {"tools.unknown"}
"""Asked of every mutant besides what it breaks, so that not everything fails."""


def build(source: str, fridge: Fridge) -> Any:
    """What the source builds; its module stays known, since the SDK looks annotations up there."""
    module = types.ModuleType("student_server_under_test")
    sys.modules[module.__name__] = module
    exec(compile(source, "my_server.py", "exec", dont_inherit=True), module.__dict__)
    return module.build(fridge)


def judged(source: str, only: Collection[str] | None = None, seed: int = 0, **more: Any) -> dict[str, Any]:
    """Examine the server that this source builds, in memory; the observations by id."""
    drawn = blood_bank.settings(seed)["fridge"]
    server = build(source, Fridge(drawn))

    async def run() -> dict[str, Any]:
        async with Network() as network:
            await network.host(ORIGIN, http_app(server))
            found = await blood_bank.judge_server(
                ORIGIN + blood_bank.PATH, network.client("judge"), drawn, seed=seed, only=only, **more
            )
            return {o.id: o for o in found}

    return asyncio.run(run())


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize("name", ["reference_server.py", "contract_server.py"])
def test_a_solution_shows_every_behaviour_and_each_is_told_as_it_is_seen(name: str) -> None:
    told: list[Any] = []
    source = REFERENCE_SERVER.with_name(name).read_text(encoding="utf-8")
    found = judged(source, seed=7, seen=told.append)
    assert {o.id: o.observed for o in found.values() if not o.holds} == {}
    assert list(found) == list(blood_bank.BEHAVIOURS) == [o.id for o in told]


@pytest.mark.parametrize("mutant", SERVER_MUTANTS, ids=lambda m: m.name)
def test_a_mutant_is_caught_by_what_it_breaks_and_by_none_of_the_controls(mutant: Mutant) -> None:
    found = judged(mutated_server(mutant), CONTROLS | mutant.breaks)
    wrong = {o.id: o.observed for o in found.values() if not o.holds}
    assert set(wrong) == mutant.breaks, wrong
    assert all(found[i].exchange for i in wrong), "what does not hold comes with its exchange"


def test_every_behaviour_but_the_era_has_a_mutant_that_breaks_it_alone() -> None:
    alone = {one for mutant in SERVER_MUTANTS if len(mutant.breaks) == 1 for one in mutant.breaks}
    assert alone == set(blood_bank.BEHAVIOURS) - {"era.spoken"}


def test_the_starter_starts_and_the_report_says_what_is_missing() -> None:
    some = [
        "era.spoken",
        "tools.unknown",
        "arguments.enforced",
        "crash.masked",
        "ask.refused",
        "template.read",
    ]
    found = judged(STARTER.read_text(encoding="utf-8"), some)
    assert [o.id for o in found.values() if o.holds] == ["era.spoken"]
    text = CheckReport("132-mcp", "my_server.py", tuple(found.values())).text("en")
    assert 'expected: {"2026-07-28": -32602}' in text
    assert 'observed: {"2026-07-28": "isError"}' in text
    assert r'"count: \"5\""' in text
    assert '"leaks": ["lab.internal"' in text
    assert '"declined": "discarded"' in text
    assert 'observed: {"2026-07-28": {"no such unit": -32603}}' in text
    assert "clientCapabilities" not in text
    assert "my_server.py: 1 of 6 behaviours hold." in text


LOW_LEVEL = """
from mcp.server import Server
import mcp.types as t

async def tools(ctx, params):
    return t.ListToolsResult(tools=[t.Tool(name="find_units", input_schema=SCHEMA)])

async def call(ctx, params):
    return RESULT

def build(fridge):
    return Server("nonsense", on_list_tools=tools, on_call_tool=call)
"""


@pytest.mark.parametrize(
    ("schema", "result"),
    [
        (
            '{"type": "object", "properties": {"group": {"pattern": "^(([a-z_])+.)+[A-Z]$"}}}',
            't.CallToolResult(content=[t.TextContent(text="A+")], structured_content={"group": "A+"})',
        ),
        ('{"type": "object", "properties": {"group": {"type": 7}}}', "t.CallToolResult(content=[])"),
        (
            '{"type": "object", "$ref": "#"}',
            't.CallToolResult(content=[t.TextContent(text="\\x1b[2J" * 99)])',
        ),
    ],
)
def test_nonsense_is_observed_and_never_raises(schema: str, result: str) -> None:
    found = judged(LOW_LEVEL.replace("SCHEMA", schema).replace("RESULT", result), patience=2)
    assert [o.id for o in found.values() if o.holds] in ([], ["era.spoken"])
    assert "\x1b" not in "".join(e.response for o in found.values() for e in o.exchange)


def test_the_fridge_is_another_one_for_each_seed_and_has_what_the_checks_need() -> None:
    drawn = [checks.draw(random.Random(n)) for n in range(30)]
    assert len({str(each) for each in drawn}) == 30
    for each in drawn:
        case = checks.Case(each, random.Random(0))
        units = [u[0] for u in each["units"]]
        assert len(units) == len(set(units))
        chosen = [case.mine(n) for n in range(checks.PER_ERA)]
        assert not {each["slow"], each["broken"], case.cold, case.warm, case.expired} & set(chosen)
        assert case.suited("O-", False) == case.suited("O-", True)
        assert all(set(case.suited(group, True)) <= set(case.suited(group, False)) for group in GROUPS[:-1])
        assert set(case.suited("O-", False)) < set(case.suited("AB-", False))


def test_the_example_fridge_can_be_built_on() -> None:
    assert build(SOURCE, example()).name == "blood-bank"
