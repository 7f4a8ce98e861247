"""What is looked at in a server of class 132; the sentences are in ``blood_bank``.

Each check talks to the server through a ``Wire`` of ``ai_evolution.mcp.behaviours`` and returns what it
observed, in the shape of what is expected. A refusal counts only beside a call that succeeds, and whether
something happened to a unit is read from its resource, not from what a tool says of itself.

All that changes something is done to AB+ units, which suit nobody but AB+ patients: what ``find_units`` must
answer for the others is the same whatever a server did before. It holds no solution: a student's file can
read this package.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any

from ai_evolution.grading.fridge import GROUPS, HOURS
from ai_evolution.mcp.behaviours import MODERN, Ask, Call
from ai_evolution.mcp.behaviours import checks as known
from ai_evolution.mcp.behaviours.wire import LEAKS, Reply, Stop, Wire, at, items_of

TOOLS = ("find_units", "reserve_unit", "check_cooling", "discard_unit")
SHELF, TEMPLATE, PROMPT = "blood://shelf", "blood://units/{unit}", "handover"
MOST = 6
WARDS = ("Ward 7", "Intensivstation", "Planta 3ª", "Kinderklinik", "Urgencias")
MINE = "AB+"
PER_ERA = 8
STEPS = 20
STEP = 0.05
"""Seconds between two looks at a unit whose state is to change."""


def draw(chance: random.Random) -> dict[str, Any]:
    """A fridge, drawn anew: other days, other units, other secrets."""
    today = date(2026, 1, 1) + timedelta(days=chance.randrange(300))
    numbers = iter(chance.sample(range(1000, 10_000), 80))
    units: list[list[str]] = []

    def put(group: str, days: int) -> str:
        unit = f"U{next(numbers)}"
        units.append([unit, group, (today + timedelta(days=days)).isoformat()])
        return unit

    others = [group for group in GROUPS if group != MINE]
    for group in others:
        for _ in range(3):
            put(group, chance.randrange(1, 30))
        put(group, -chance.randrange(1, 20))
    for group in chance.sample(others, 3):
        put(group, 0)
    put(MINE, -1)
    for days in chance.sample(range(3, 60), 2 * PER_ERA + 4):
        put(MINE, days)
    mine = sorted((unit[2], unit[0]) for unit in units if unit[1] == MINE)
    slow, broken = mine[-1][1], mine[-2][1]
    chance.shuffle(units)
    readings = {unit[0]: [chance.randrange(20, 61) / 10 for _ in range(HOURS)] for unit in units}
    readings[mine[-3][1]][chance.randrange(HOURS)] = 1.9
    readings[mine[-4][1]][chance.randrange(HOURS)] = 6.1
    for _, unit in mine[: 2 * PER_ERA]:
        readings[unit][:2] = [6.0, 2.0]
    secret = f"lab.internal/{chance.randrange(1 << 40):010x}"
    return {
        "today": today.isoformat(), "units": units, "slow": slow, "broken": broken,
        "secret": secret, "readings": readings,
    }  # fmt: skip


@dataclass
class Case:
    """The fridge as it was drawn, the chance of one behaviour, and which of the two eras is spoken."""

    drawn: Mapping[str, Any]
    chance: random.Random
    revision: str = MODERN
    _mine: list[str] = field(init=False)

    def __post_init__(self) -> None:
        free = (u for u in self.units if u[1] == MINE and u[2] >= self.drawn["today"])
        self._mine = [u[0] for u in sorted(free, key=lambda u: (u[2], u[0]))]

    @property
    def units(self) -> list[list[str]]:
        units: list[list[str]] = self.drawn["units"]
        return units

    def mine(self, n: int) -> str:
        """One of this era's own AB+ units; 0 is the one that expires first."""
        return self._mine[2 * n + (self.revision != MODERN)]

    @property
    def cold(self) -> str:
        """A unit whose log can be read, and shows a tenth of a degree too few."""
        return self._mine[-3]

    @property
    def warm(self) -> str:
        return self._mine[-4]

    @property
    def expired(self) -> str:
        return next(u[0] for u in self.units if u[1] == MINE and u[2] < self.drawn["today"])

    @property
    def patient(self) -> str:
        return self.chance.choice([group for group in GROUPS if group != MINE])

    def suited(self, group: str, own_only: bool) -> list[str]:
        """The units for a patient of this group (not AB+, whose units come and go), best first."""
        has = set(group)
        fit = [
            u for u in self.units
            if u[2] >= self.drawn["today"] and u[1] != MINE
            and (u[1] == group if own_only else not ({*u[1]} & {*"AB+"}) - has)
        ]  # fmt: skip
        return [u[0] for u in sorted(fit, key=lambda u: (u[1] != group, u[2], u[0]))]

    def find(self, group: str, count: int, own_only: bool) -> Call:
        return Call("find_units", {"group": group, "count": count, "own_group_only": own_only})


def reserve(unit: str, group: str = MINE) -> Call:
    return Call("reserve_unit", {"unit": unit, "group": group})


def discard(unit: str, content: Mapping[str, Any] | None = None) -> Ask:
    return Ask("discard_unit", {"unit": unit}, answer={"sure": True} if content is None else content)


def cooling(unit: str) -> Call:
    return Call("check_cooling", {"unit": unit})


# --- what the checks share --------------------------------------------------------------------


async def read(wire: Wire, uri: str) -> Any:
    """The JSON behind a resource. Stops with what is there instead."""
    reply = await wire.request("resources/read", {"uri": uri})
    if reply.code is not None:
        raise Stop(f"{uri}: {reply.outcome}")
    text = at(items_of(at(reply.response, "result", "contents")), 0, "text")
    try:
        return json.loads(text)
    except (ValueError, TypeError, RecursionError):
        raise Stop(f"{uri}: contents that are no JSON text") from None


async def state(wire: Wire, unit: str) -> Any:
    """What its resource says of a unit: most checks look there for what happened."""
    try:
        return at(await read(wire, TEMPLATE.format(unit=unit)), "state")
    except Stop as stop:
        raise Stop(f"the state of a unit cannot be read; {stop.args[0]}") from None


async def becomes(wire: Wire, unit: str, wanted: str) -> Any:
    """The unit's state once it is the one that is wanted, or the last one after a while."""
    seen = await state(wire, unit)
    for _ in range(STEPS):
        if seen == wanted:
            break
        await asyncio.sleep(STEP)
        seen = await state(wire, unit)
    return seen


def ended(reply: Reply) -> str:
    return reply.outcome + (" with a text" if reply.is_error and reply.text else "")


# --- the checks -------------------------------------------------------------------------------


async def tools_described(wire: Wire, _: Case) -> Any:
    found = await known.tools_described(wire)
    for tool in await wire.pages("tools/list", "tools"):
        if tool.get("name") in TOOLS and not isinstance(tool.get("outputSchema"), dict):
            found.append(f"{tool.get('name')}: no outputSchema")
    return {"faults": found, "order": await known.tools_order(wire)}


async def arguments_enforced(wire: Wire, _: Case) -> Any:
    return {
        "wrong types accepted": await known.arguments_types(wire),
        "beyond the limits accepted": await known.arguments_limits(wire),
        "called without": await known.arguments_required(wire),
        "an unknown argument": await known.arguments_closed(wire),
    }


async def result_structured(wire: Wire, _: Case) -> Any:
    return {"breaches": await known.result_structured(wire), "text": await known.result_twice(wire)}


async def find_compatible(wire: Wire, case: Case) -> Any:
    asked = [(case.patient, case.chance.randint(1, MOST), False) for _ in range(5)]
    asked += [("O-", MOST, False), ("AB-", MOST, False), (case.patient, MOST, True)]
    for group, count, own_only in asked:
        reply = await wire.call(case.find(group, count, own_only))
        fit = case.suited(group, own_only)
        wanted = {"units": fit[:count], "short": max(0, count - len(fit))}
        given = at(reply.response, "result", "structuredContent")
        seen = {name: at(given, name) for name in wanted}
        if seen != wanted:
            return [{"for": group, "count": count, "own": own_only, "wanted": wanted, "seen": seen}]
    return []


async def reserve_once(wire: Wire, case: Case) -> Any:
    unit = case.mine(0)
    offer = case.find(MINE, MOST, True)
    before = unit in items_of(at((await wire.call(offer)).response, "result", "structuredContent", "units"))
    first, second = await asyncio.gather(wire.call(reserve(unit)), wire.call(reserve(unit)))
    after = unit in items_of(at((await wire.call(offer)).response, "result", "structuredContent", "units"))
    return {
        "offered before": before,
        "two callers": sorted([ended(first), ended(second)]),
        "offered after": after,
        "state": await state(wire, unit),
    }


async def failure_told(wire: Wire, case: Case) -> Any:
    good = await wire.call(reserve(case.mine(1)))
    if good.refused:
        raise Stop(f"a reservation that should succeed does not: {good.outcome}")
    wrong = case.mine(2)
    tried = {
        "another group": reserve(wrong, case.chance.choice(("O-", "O+", "A-", "A+", "B-", "B+"))),
        "another Rh factor": reserve(wrong, "AB-"), "expired": reserve(case.expired),
        "no such unit": reserve("U0000"), "reserved already": reserve(case.mine(1)),
    }  # fmt: skip
    seen = {what: ended(await wire.call(call)) for what, call in tried.items()}
    return {**seen, "afterwards": [await state(wire, unit) for unit in (wrong, case.expired)]}


async def crash_masked(wire: Wire, case: Case) -> Any:
    unit = case.drawn["broken"]
    await wire.tool("check_cooling")
    reply = await wire.call(cooling(unit))
    said = b"".join(wire.transport.heard).decode("utf-8", "replace")
    said += json.dumps(reply.response, ensure_ascii=False)
    leaks = [each for each in (*case.drawn["secret"].split("/"), "LookupError", *LEAKS) if each in said]
    good = await wire.call(cooling(case.cold))
    return {
        "ends": ended(reply),
        "leaks": leaks,
        "the next call": good.outcome,
        "state": await state(wire, unit),
    }


async def progress_told(wire: Wire, case: Case) -> Any:
    told = await known.progress_told(wire)
    wrong = []
    for unit in (case.cold, case.warm, case.mine(7)):
        given = at((await wire.call(cooling(unit))).response, "result", "structuredContent")
        readings = case.drawn["readings"][unit]
        wanted = {"unit": unit, "lowest": min(readings), "highest": max(readings)}
        wanted["sound"] = all(2 <= reading <= 6 for reading in readings)
        seen = {name: at(given, name) for name in wanted}
        if seen != wanted:
            wrong.append({"wanted": wanted, "seen": seen})
    return {**told, "readings": wrong[:1]}


async def cancel_reaches(wire: Wire, case: Case) -> Any:
    unit, request_id = case.drawn["slow"], f"judge-cancel-{id(wire)}"
    running = asyncio.create_task(wire.call(cooling(unit), request_id=request_id))
    try:
        during = await becomes(wire, unit, "checking")
        if during != "checking":
            raise Stop(f"a unit that is being checked is {during}, not checking")
        taken = await wire.call(reserve(unit))
    finally:
        answered = await known.cancel(wire, running, request_id)
    return {
        "while it works": during,
        "reserved meanwhile": "refused" if taken.refused else taken.outcome,
        "answered": answered,
        "afterwards": await becomes(wire, unit, "free"),
    }


async def ask_accepted(wire: Wire, case: Case) -> Any:
    unit = case.mine(3)
    questions: list[str] = []

    def agree(method: str, params: Mapping[str, Any]) -> Mapping[str, Any] | None:
        if method != "elicitation/create":
            return None
        questions.append(str(params.get("message")))
        return {"action": "accept", "content": {"sure": True}}

    reply, _ = await wire.ask(discard(unit), agree)
    return {
        "questions": len(questions),
        "they name the unit": any(unit in each for each in questions),
        "ends": reply.outcome,
        "state": await state(wire, unit),
    }


async def ask_refused(wire: Wire, case: Case) -> Any:
    await _agreed(wire, case.mine(4))
    unit = case.mine(5)
    seen = {}
    answers: Mapping[str, tuple[str, Mapping[str, Any] | None]] = {
        "declined": ("decline", None), "cancelled": ("cancel", None),
        "not sure": ("accept", {"sure": False}), "another form": ("accept", {"sure": "perhaps"}),
    }  # fmt: skip
    for what, (action, content) in answers.items():
        # an answer that breaks the form may end as it likes, but not in the deed
        with contextlib.suppress(Stop):
            await wire.ask(discard(unit), known.user(action, content))
        seen[what] = await state(wire, unit)
    return seen


async def ask_undeclared(wire: Wire, case: Case) -> Any:
    """A client that never said that it can ask its user; a handshake says it once, so it has its own."""
    wire.capabilities = known.WITHOUT_USER
    unit = case.mine(6)
    reply, asked = await wire.ask(discard(unit), known.user("accept", {"sure": True}))
    return {
        "asked": "elicitation/create" in asked,
        "ends": "refused" if reply.refused else reply.outcome,
        "state": await state(wire, unit),
    }


async def _agreed(wire: Wire, unit: str) -> None:
    """Where not even a person who agrees gets a unit discarded, a refusal is hollow."""
    if await state(wire, unit) == "discarded":
        return
    await wire.ask(discard(unit), known.user("accept", {"sure": True}))
    if (now := await state(wire, unit)) != "discarded":
        raise Stop(f"not discarded even when the person agrees: {now}")


async def resource_read(wire: Wire, case: Case) -> Any:
    listed = [each.get("uri") for each in await wire.pages("resources/list", "resources")]
    shelf = await read(wire, SHELF)
    wanted = {
        group: sum(u[1] == group and u[2] >= case.drawn["today"] for u in case.units)
        for group in GROUPS
        if group != MINE
    }
    seen = {group: at(shelf, group) for group in wanted}
    return {
        "listed": SHELF in listed,
        "listed and not readable": await known.resources_readable(wire),
        "counts": "right" if seen == wanted else {"wanted": wanted, "seen": seen},
    }


async def template_read(wire: Wire, case: Case) -> Any:
    templates = [
        each.get("uriTemplate") for each in await wire.pages("resources/templates/list", "resourceTemplates")
    ]
    unit = case.chance.choice([u for u in case.units if u[1] != MINE])
    wanted = {"id": unit[0], "group": unit[1], "expires": unit[2], "state": "free"}
    seen = await read(wire, TEMPLATE.format(unit=unit[0]))
    absent = await wire.request("resources/read", {"uri": TEMPLATE.format(unit="U0000")})
    code = -32602 if absent.code == -32002 and not wire.modern else absent.code
    return {
        "listed": any(str(each).startswith("blood://units/{") for each in templates),
        "a unit": "right" if seen == wanted else {"wanted": wanted, "seen": seen},
        "no such unit": code if code is not None else absent.outcome,
    }


async def prompt_given(wire: Wire, case: Case) -> Any:
    ward = case.chance.choice(WARDS)
    prompts = {each.get("name"): each for each in await wire.pages("prompts/list", "prompts")}
    declared = [
        at(each, "name") for each in items_of(at(prompts.get(PROMPT), "arguments")) if at(each, "required")
    ]
    without = await wire.request("prompts/get", {"name": PROMPT, "arguments": {}})
    given = await wire.request("prompts/get", {"name": PROMPT, "arguments": {"ward": ward}})
    text = json.dumps(at(given.response, "result", "messages"), ensure_ascii=False)
    last = [u[0] for u in case.units if u[2] == case.drawn["today"]]
    other = [u[0] for u in case.units if u[2] != case.drawn["today"] and u[0] in text]
    return {
        "required": declared,
        "without the ward": without.code if without.code is not None else without.outcome,
        "names the ward": ward in text,
        "units of the last day": "right" if not other and all(unit in text for unit in last) else "wrong",
    }
