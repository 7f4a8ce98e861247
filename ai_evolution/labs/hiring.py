"""The cast of the hiring example: two organisations that share nothing but a wire.

``hiring.example`` looks for staff; ``checks.example`` checks backgrounds. Here stand the
people (drawn from the seed), the checks agent with its private office, its card, and the
same office once more as an MCP tool and as a colleague in the same process. The agent is
*scripted*: where a language model would decide, a table of records does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from a2a.helpers import new_task_from_user_message
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.tasks import TaskUpdater
from a2a.types import Part
from google.protobuf.json_format import MessageToDict, ParseDict

from ai_evolution.world import World

HIRING, CHECKS = "https://hiring.example", "https://checks.example"
SKILL = "background-check"
KID = "checks-2026"
TOKENS = {"token-of-hiring": "hiring", "token-of-mallory": "mallory"}
QUESTION = "Does the consent cover international checks?"
REPORT_SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {
        "result": {"enum": ["no_findings", "findings"]},
        "sources": {"type": "integer", "minimum": 1},
    },
    "required": ["result", "sources"],
    "additionalProperties": False,
}
FIRST_NAMES = ("Ada", "Alan", "Barbara", "Edsger", "Grace", "Katherine", "Leslie", "Niklaus", "Ramón", "Tim")
LAST_NAMES = (
    "Álvarez",
    "Brooks",
    "Dijkstra",
    "García",
    "Hopper",
    "Kay",
    "Liskov",
    "Núñez",
    "Rivest",
    "Wirth",
)

Data = Mapping[str, Any]


@dataclass(frozen=True)
class Candidate:
    """Somebody who applied: the consent given, and what an honest check would find."""

    name: str
    consent_id: str
    findings: bool
    sources: int

    @property
    def request(self) -> list[dict[str, Any]]:
        """The parts of the message that asks for the check."""
        return [
            {"text": f"Check the background of {self.name}"},
            {"data": {"candidate": self.name, "consent_id": self.consent_id}},
        ]

    @property
    def request_with_reach(self) -> list[dict[str, Any]]:
        """The same, saying beforehand that the consent reaches abroad: nothing is left to ask."""
        data = {"candidate": self.name, "consent_id": self.consent_id, "international": True}
        return [self.request[0], {"data": data}]

    @property
    def truth(self) -> dict[str, Any]:
        """The report that an honest agent delivers."""
        return {"result": "findings" if self.findings else "no_findings", "sources": self.sources}


def candidates(world: World, count: int) -> list[Candidate]:
    """``count`` people with different names, drawn from ``world``."""
    pairs = world.random.sample([(f, last) for f in FIRST_NAMES for last in LAST_NAMES], count)
    return [
        Candidate(
            name=f"{first} {last}",
            consent_id=f"C-{world.random.randint(1000, 9999)}",
            findings=world.random.random() < 0.3,
            sources=world.random.randint(2, 9),
        )
        for first, last in pairs
    ]


@dataclass
class Office:
    """What the checks agent knows and never says: records, instructions, the names of its tools."""

    records: dict[str, Candidate]
    prompt: str
    tool: str
    failure: str
    executions: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, world: World, people: Sequence[Candidate]) -> Office:
        """An office with the records of ``people`` and secrets drawn from ``world``."""
        return cls(
            records={person.name: person for person in people},
            prompt=f"You are the checks desk; be brief. (internal note {world.uuid()})",
            tool=f"registry_lookup_{world.uuid()}",
            failure=f"registry-7.internal refused the password {world.uuid()}",
        )

    @property
    def secrets(self) -> dict[str, str]:
        """What must not cross the wire, by name."""
        return {"prompt": self.prompt, "tool": self.tool, "exception": self.failure}

    def look_up(self, name: str) -> dict[str, Any]:
        """The report on a person. Raises ``LookupError``, with a secret in its text, for a stranger."""
        if name not in self.records:
            raise LookupError(self.failure)
        return self.records[name].truth


class Verifier(AgentExecutor):
    """The checks agent. It refuses without consent, asks once, works, and delivers an artifact.

    A bad peer is a subclass that overrides one of the small methods.
    """

    STREAM_CHUNKS = 1

    def __init__(self, office: Office) -> None:
        self.office = office
        self.parked = asyncio.Event()

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        """One turn of the conversation about one task."""
        asked = data_of(context)
        if context.current_task is None and context.message is not None:
            await event_queue.enqueue_event(new_task_from_user_message(context.message))
            self.office.executions.append(str(asked.get("candidate", "")))
        updater = TaskUpdater(event_queue, str(context.task_id), str(context.context_id))
        if context.current_task is None:
            await self.first_turn(updater, asked)
        else:
            await self.second_turn(updater, data_of_task(context.current_task), asked)

    async def first_turn(self, updater: TaskUpdater, asked: Data) -> None:
        """Refuse without consent; otherwise start, and ask how far the consent reaches unless it says so."""
        if not asked.get("consent_id"):
            await updater.reject(say(updater, "A background check needs a consent_id"))
            return
        await updater.start_work()
        if asked.get("hold"):
            await self.parked.wait()
        if "international" in asked:
            await self.finish(updater, asked, asked)
        else:
            await updater.requires_input(say(updater, QUESTION))

    async def second_turn(self, updater: TaskUpdater, asked: Data, answer: Data) -> None:
        """Take up the work again with the answer."""
        await updater.start_work()
        await self.finish(updater, asked, answer)

    async def finish(self, updater: TaskUpdater, asked: Data, answer: Data) -> None:
        """Do the check that the consent allows and hand over the report."""
        report = self.report(str(asked["candidate"]), international=answer.get("international") is True)
        await self.deliver(updater, report)
        await updater.complete(say(updater, self.farewell(report)))

    def report(self, name: str, *, international: bool) -> dict[str, Any]:
        """What the office finds. Half of the sources lie abroad and need the consent to reach there."""
        found = self.office.look_up(name)
        return found if international else {**found, "sources": max(1, found["sources"] // 2)}

    async def deliver(self, updater: TaskUpdater, report: Data) -> None:
        """Publish the report as the task's artifact."""
        await updater.add_artifact([part({"data": dict(report)})], name="report", last_chunk=True)

    def farewell(self, report: Data) -> str:
        """The chat that goes with the end of the task. It contradicts the report, as chatter may."""
        other = "no_findings" if report["result"] == "findings" else "findings"
        return f"Done. Off the record, I would say: {other}, 99 sources."

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Stop working on the task."""
        await TaskUpdater(event_queue, str(context.task_id), str(context.context_id)).cancel()


def part(value: Mapping[str, Any]) -> Part:
    """A protobuf part from its JSON form."""
    made: Part = ParseDict(dict(value), Part())
    return made


def say(updater: TaskUpdater, text: str) -> Any:
    """A message of the agent with one text part."""
    return updater.new_agent_message([part({"text": text})])


def data_of(context: RequestContext) -> dict[str, Any]:
    """The data part of the incoming message; empty when there is none."""
    return _data(MessageToDict(context.message).get("parts", []))


def data_of_task(task: Any) -> dict[str, Any]:
    """The data part of the message that began a task."""
    history = MessageToDict(task).get("history", [])
    return _data(history[0].get("parts", [])) if history else {}


def _data(parts: Sequence[Data]) -> dict[str, Any]:
    for item in parts:
        if isinstance(item.get("data"), dict):
            return dict(item["data"])
    return {}


def checks_card(url: str = CHECKS, **changes: Any) -> dict[str, Any]:
    """The unsigned card of the checks agent at ``url``, in the JSON of A2A 1.0."""
    from ai_evolution.a2a.cards import declare_output_schema

    card: dict[str, Any] = {
        "name": "Checks desk",
        "description": "Verifies the background of a candidate who has consented to it",
        "version": "2.1.0",
        "provider": {"organization": "checks.example", "url": url},
        "supportedInterfaces": [
            {"url": f"{url}/", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
            {"url": f"{url}/rest", "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"},
        ],
        "capabilities": {"streaming": True, "pushNotifications": True},
        "securitySchemes": {"bearer": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}},
        "securityRequirements": [{"schemes": {"bearer": {"list": []}}}],
        "defaultInputModes": ["text/plain", "application/json"],
        "defaultOutputModes": ["application/json"],
        "skills": [
            {
                "id": SKILL,
                "name": "Background check",
                "description": "Says whether anything was found, and in how many sources it looked",
                "tags": ["hiring", "verification"],
                "inputModes": ["text/plain", "application/json"],
                "outputModes": ["application/json"],
            }
        ],
    }
    return {**declare_output_schema(card, SKILL, REPORT_SCHEMA), **changes}
