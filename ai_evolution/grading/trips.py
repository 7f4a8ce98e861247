"""The exercise of class 134: an agent that approves trips, judged over HTTP by ``a2a.behaviours``.

The inputs are drawn from the seed: who travels where, for how much, and who approves it.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Mapping
from typing import Any

import httpx

from ai_evolution.a2a.behaviours import BEHAVIOURS, Observation, Probe, Subject, examine
from ai_evolution.grading.task import Exercise, Sitting, run_anywhere

SLUG = "134-a2a"
EMPLOYEES = ("Ada", "Grace", "Ramón", "Katherine", "Alonzo", "Emmy")
TRIPS = {"Lisbon": 80_000, "Oslo": 150_000, "Lima": 120_000, "Kyoto": 50_000}


def _trip(employee: str, amount: Any, destination: str) -> list[Mapping[str, Any]]:
    data = {"employee": employee, "amount_cents": amount, "destination": destination}
    return [{"data": data, "mediaType": "application/json"}]


def decision_schema(amount_cents: int, rule: str) -> dict[str, Any]:
    """The JSON Schema of the artifact ``decision`` for one request."""
    return {
        "type": "object",
        "properties": {
            "approved": {"type": "boolean", "const": True},
            "amount_cents": {"type": "integer", "const": amount_cents},
            "rule": {"type": "string", "const": rule},
        },
        "required": ["approved", "amount_cents", "rule"],
        "additionalProperties": False,
    }


def probes(chance: random.Random) -> dict[str, Any]:
    """The inputs, drawn anew: other chance, other amounts. The keys are fields of ``Subject``."""
    who, (where, limit) = chance.choice(EMPLOYEES), chance.choice(list(TRIPS.items()))
    within, above = chance.randrange(1_000, limit), limit + chance.randrange(1, 90_000)
    approver = chance.choice(("Vera Lux", "Iñaki Sol", "Noor Haddad"))
    wrong = chance.choice((-within, 0, within + 0.5, str(within), None))
    return {
        "complete": Probe(
            _trip(who, within, where), schema=decision_schema(within, "within limit"), artifact="decision"
        ),
        "ask": Probe(
            _trip(who, above, where),
            answer=[{"text": approver}],
            schema=decision_schema(above, f"approved by {approver}"),
            artifact="decision",
        ),
        "reject": Probe(_trip(who, wrong, where)),
        "slow": Probe(_trip(who, within, "Antarctica")),
        "crash": Probe(_trip(who, within, "Atlantis")),
        "secrets": ("ledger.internal", "k-7731", "LookupError"),
    }


def settings(_: int) -> dict[str, Any]:
    """Two bearer tokens that nobody knows yet, and whose they are."""
    return {"tokens": {os.urandom(16).hex(): "alice", os.urandom(16).hex(): "bob"}}


def judge(sitting: Sitting) -> tuple[Observation, ...]:
    """Examine the agent that serves."""
    return tuple(run_anywhere(_judge(sitting)))


async def _judge(sitting: Sitting) -> list[Observation]:
    async with httpx.AsyncClient(trust_env=False) as http:
        one, other = sitting.host.settings["tokens"]
        drawn = probes(random.Random(f"{SLUG}:{sitting.seed}"))
        subject = Subject(sitting.host.url, http, one, other, deadline=sitting.patience, **drawn)
        left = max(0.0, sitting.ends - time.monotonic())
        return await examine(subject, sitting.only, deadline=left, seen=sitting.seen)


EXERCISE = Exercise(
    class_slug=SLUG,
    file="my_agent.py",
    room="agent",
    entry="build(base_url, tokens)",
    wanted={"en": "an ASGI application", "es": "una aplicación ASGI"},
    names={
        "en": {"of": "the agent's process", "to": "the agent was ended", "your": "agent"},
        "es": {"of": "el proceso del agente", "to": "se puso fin al agente", "your": "agente"},
    },
    behaviours=BEHAVIOURS,
    settings=settings,
    judge=judge,
)
