"""Nobody is trusted before an examination, for ever, or off the record."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from a2a.helpers import new_task_from_user_message
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.tasks import TaskUpdater
from a2a.types import Part
from google.protobuf.json_format import ParseDict
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from ai_evolution.a2a import behaviours
from ai_evolution.a2a.app import build_app
from ai_evolution.a2a.audit import AuditLog, digest
from ai_evolution.a2a.cards import Needs, declare_output_schema, generate_key, public_key, sign_card
from ai_evolution.a2a.client import connect
from ai_evolution.a2a.registry import Registry, card_digest
from ai_evolution.errors import (
    AgentUnfit,
    CallRefused,
    CardRefused,
    DeliverableInvalid,
    DocumentError,
    EnvironmentProblem,
    TaskNotCompleted,
    TaskUnsettled,
    UsageError,
)
from ai_evolution.network import Network
from ai_evolution.world import World

pytestmark = pytest.mark.anyio

CHECKS = "https://checks.example"
KEY, OTHER = generate_key(7), generate_key(8)
SCHEMA = {"type": "object", "properties": {"result": {"type": "string"}}, "required": ["result"]}
CARD: dict[str, Any] = declare_output_schema(
    {
        "name": "Checks desk",
        "description": "Checks",
        "version": "1.0.0",
        "supportedInterfaces": [
            {"url": f"{CHECKS}/", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
        ],
        "capabilities": {"streaming": True},
        "securitySchemes": {"bearer": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}},
        "securityRequirements": [{"schemes": {"bearer": {"list": []}}}],
        "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["application/json"],
        "skills": [{"id": "check", "name": "Check", "description": "Checks", "tags": ["hiring"]}],
    },
    "check",
    SCHEMA,
)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@dataclass(frozen=True)
class Seen:
    id: str
    holds: bool = True


@dataclass
class Stage:
    """A host that serves a card, a judge that says what it is told, and a registry between them."""

    net: Network
    world: World = field(default_factory=lambda: World("registry"))
    card: Any = field(default_factory=lambda: sign_card(CARD, KEY, "checks-1"))
    keys: dict[str, Any] = field(default_factory=lambda: {"checks-1": public_key(KEY)})
    seen: Sequence[Seen] | BaseException = (Seen("card.published"), Seen("task.completes"))
    examined: list[str] = field(default_factory=list)
    audit: AuditLog = field(default_factory=AuditLog)

    async def judge(self, card: dict[str, Any], url: str) -> Sequence[Seen]:
        assert card["name"]
        self.examined.append(url)
        if isinstance(self.seen, BaseException):
            raise self.seen
        return self.seen

    def registry(self, **more: Any) -> Registry:
        more = {"caller": "hiring.example", "clock": self.world.now} | more
        return Registry(self.net.client("hiring"), self.audit, self.keys, self.judge, **more)

    @property
    def trail(self) -> list[tuple[str, str]]:
        assert self.audit.verify() == len(self.audit.records())
        return [(record["action"], record["outcome"]) for record in self.audit.records()]


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    async with Network() as net:
        made = Stage(net)

        async def card(_request: Request) -> JSONResponse:
            return JSONResponse(made.card)

        await net.host(CHECKS, Starlette(routes=[Route("/.well-known/agent-card.json", card)]))
        yield made


# --- admission --------------------------------------------------------------------------------


async def test_an_agent_enters_after_its_card_and_its_examination_held(stage: Stage) -> None:
    registry = stage.registry(ttl=timedelta(hours=1))
    assert registry.trusted() == []
    entry = await registry.admit(f"{CHECKS}/")
    assert registry.trusted() == registry.trusted("check") == [entry]
    assert registry.trusted("cook") == []
    assert (entry.url, entry.name, entry.kid, entry.skills) == (CHECKS, "Checks desk", "checks-1", ("check",))
    assert entry.behaviours == ("card.published", "task.completes")
    assert (entry.admitted, entry.expires) == (stage.world.now(), stage.world.now() + timedelta(hours=1))
    assert stage.examined == [CHECKS]
    (record,) = stage.audit.records()
    assert (record["caller"], record["agent"], record["outcome"]) == ("hiring.example", CHECKS, "admitted")
    assert record["result_digest"] == entry.digest


async def test_an_agent_that_fails_its_examination_is_refused_by_the_names_of_what_failed(
    stage: Stage,
) -> None:
    stage.seen = (Seen("a"), Seen("b", False), Seen("c", False))
    registry = stage.registry()
    with pytest.raises(AgentUnfit) as caught:
        await registry.admit(CHECKS)
    assert caught.value.reasons == ("b", "c")
    assert registry.trusted() == []
    assert stage.trail == [("admit", "refused: b, c")]


async def test_an_examination_without_observations_proves_nothing(stage: Stage) -> None:
    stage.seen = ()
    with pytest.raises(AgentUnfit) as caught:
        await stage.registry().admit(CHECKS)
    assert caught.value.reasons == ("unexamined",)


@pytest.mark.parametrize(
    ("card", "reason"),
    [
        (CARD, "unsigned"),
        (sign_card(CARD, OTHER, "checks-2"), "unknown-key"),
        ({**sign_card(CARD, KEY, "checks-1"), "name": "Else"}, "altered"),
        ([], "malformed"),
    ],
)
async def test_a_card_that_does_not_verify_is_refused_before_any_examination(
    stage: Stage, card: Any, reason: str
) -> None:
    stage.card = card
    with pytest.raises(CardRefused) as caught:
        await stage.registry().admit(CHECKS)
    assert caught.value.reason == reason
    assert stage.examined == []
    assert stage.trail == [("admit", f"refused: {reason}")]


async def test_a_genuine_card_whose_interface_lives_elsewhere_is_refused_before_any_examination(
    stage: Stage,
) -> None:
    moved = {
        **CARD,
        "supportedInterfaces": [{**CARD["supportedInterfaces"][0], "url": "https://evil.example/"}],
    }
    stage.card = sign_card(moved, KEY, "checks-1")
    with pytest.raises(AgentUnfit) as caught:
        await stage.registry().admit(CHECKS)
    assert (caught.value.reasons, stage.examined) == (("origin",), [])
    with pytest.raises(AgentUnfit) as caught:
        await stage.registry(needs=Needs(skill="cook", origins=("https://evil.example",))).admit(CHECKS)
    assert caught.value.reasons == ("skill",)


async def test_an_agent_that_cannot_be_reached_is_not_admitted_and_not_forgotten(stage: Stage) -> None:
    registry = stage.registry()
    entry = await registry.admit(CHECKS)
    await stage.net.leave(CHECKS)
    with pytest.raises(CallRefused):
        await registry.admit(CHECKS)
    assert registry.trusted() == [entry]
    assert stage.trail == [("admit", "admitted"), ("admit", "call refused")]


async def test_a_judge_that_breaks_admits_nobody_and_is_on_record(stage: Stage) -> None:
    stage.seen = ZeroDivisionError()
    registry = stage.registry()
    with pytest.raises(ZeroDivisionError):
        await registry.admit(CHECKS)
    assert registry.trusted() == []
    assert stage.trail == [("admit", "error: ZeroDivisionError")]


async def test_an_agent_that_fails_a_later_examination_loses_its_place(stage: Stage) -> None:
    registry = stage.registry()
    await registry.admit(CHECKS)
    stage.seen = (Seen("a", False),)
    with pytest.raises(AgentUnfit):
        await registry.admit(CHECKS)
    assert registry.trusted() == []


@pytest.mark.parametrize(
    "spelling",
    [
        f"{CHECKS}/",
        f"{CHECKS}/.well-known/agent-card.json",
        CHECKS.replace("https://checks", "HTTPS://Checks"),
        f"{CHECKS}:443",
    ],
)
async def test_every_spelling_of_its_url_means_one_agent(stage: Stage, spelling: str) -> None:
    registry = stage.registry()
    await registry.admit(CHECKS)
    assert registry.expel(spelling)
    assert registry.trusted() == []
    await registry.admit(spelling)
    entry = await registry.admit(CHECKS)
    assert registry.trusted() == [entry]
    stage.seen = (Seen("a", False),)
    with pytest.raises(AgentUnfit):
        await registry.admit(spelling)
    assert registry.trusted() == []


async def test_trust_expires_and_a_new_admission_renews_it(stage: Stage) -> None:
    registry = stage.registry(ttl=timedelta(minutes=10))
    await registry.admit(CHECKS)
    stage.world.tick(599)
    assert len(registry.trusted()) == 1
    stage.world.tick(1)
    assert registry.trusted() == []
    with pytest.raises(AgentUnfit) as caught:
        registry.entry_for(CARD)
    assert caught.value.reasons == ("expired",)
    await registry.admit(CHECKS)
    assert len(registry.trusted()) == 1


async def test_a_key_that_is_no_longer_pinned_takes_its_agents_with_it(stage: Stage) -> None:
    registry = stage.registry()
    await registry.admit(CHECKS)
    del stage.keys["checks-1"]
    assert registry.trusted() == []
    with pytest.raises(AgentUnfit) as caught:
        registry.entry_for(CARD)
    assert caught.value.reasons == ("key",)


async def test_another_card_at_the_same_place_must_be_admitted_again(stage: Stage) -> None:
    registry = stage.registry()
    entry = await registry.admit(CHECKS)
    assert registry.entry_for(stage.card) == entry
    assert (
        registry.entry_for(sign_card(stage.card, OTHER, "also")) == entry
    )  # one more signature changes nothing
    stage.card = sign_card({**CARD, "version": "2.0.0"}, KEY, "checks-1")
    with pytest.raises(AgentUnfit) as caught:
        registry.entry_for(stage.card)
    assert caught.value.reasons == ("changed",)
    renewed = await registry.admit(CHECKS)
    assert registry.entry_for(stage.card) == renewed
    assert registry.trusted() == [renewed]


async def test_who_is_expelled_is_gone_at_once(stage: Stage) -> None:
    registry = stage.registry()
    await registry.admit(CHECKS)
    assert registry.expel(CHECKS) is True
    assert registry.expel(CHECKS) is False
    assert registry.trusted() == []
    assert stage.trail == [("admit", "admitted"), ("expel", "expelled")]


def test_a_card_is_the_same_card_however_it_was_serialised() -> None:
    assert card_digest(CARD) == card_digest(json.loads(json.dumps(sign_card(CARD, KEY, "k"), sort_keys=True)))
    assert card_digest(CARD) == card_digest({**CARD, "signatures": []})
    assert card_digest(CARD) != card_digest({**CARD, "version": "2"})


# --- the file ---------------------------------------------------------------------------------


async def test_entries_outlive_the_process(stage: Stage, tmp_path: Path) -> None:
    path = tmp_path / "deep" / "registry.json"
    entry = await stage.registry(path=path).admit(CHECKS)
    again = stage.registry(path=path)
    assert again.trusted() == [entry]
    assert again.trusted()[0].card == stage.card
    again.expel(CHECKS)
    assert stage.registry(path=path).trusted() == []
    assert [child.name for child in path.parent.iterdir()] == ["registry.json"]


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[:-20],
        lambda _text: "[]",
        lambda _text: "",
        lambda text: text.replace("registry/1", "registry/9"),
        lambda text: text.replace("Checks desk", "Evil desk"),
        lambda text: text.replace('"expires"', '"expired"'),
        lambda text: text.replace("+00:00", ""),
    ],
)
async def test_a_file_that_was_damaged_is_one_clear_line(stage: Stage, tmp_path: Path, damage: Any) -> None:
    path = tmp_path / "registry.json"
    await stage.registry(path=path).admit(CHECKS)
    path.write_text(damage(path.read_text(encoding="utf-8")), encoding="utf-8")
    with pytest.raises(DocumentError) as caught:
        stage.registry(path=path)
    assert "\n" not in str(caught.value)


async def test_a_file_whose_key_was_swapped_is_not_believed(stage: Stage, tmp_path: Path) -> None:
    path = tmp_path / "registry.json"
    await stage.registry(path=path).admit(CHECKS)
    document = json.loads(path.read_text(encoding="utf-8"))
    forged = sign_card({**CARD, "name": "Evil desk"}, OTHER, "checks-1")
    document["entries"][0] |= {"card": forged, "digest": card_digest(forged)}
    path.write_text(json.dumps(document), encoding="utf-8")
    assert stage.registry(path=path).trusted() == []


async def test_a_place_that_cannot_be_written_is_one_clear_line(stage: Stage, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(EnvironmentProblem):
        await stage.registry(path=tmp_path / "file" / "registry.json").admit(CHECKS)
    with pytest.raises(UsageError):
        stage.registry(ttl=timedelta(0))


# --- delegation -------------------------------------------------------------------------------


@dataclass
class Peer:
    """An agent as `connect` would yield it, that does what it is told."""

    card: dict[str, Any]
    result: Any = None
    error: BaseException | None = None
    asked: list[Any] = field(default_factory=list)

    async def delegate(self, parts: Sequence[Any], **options: Any) -> Any:
        self.asked.append((list(parts), options))
        if self.error is not None:
            raise self.error

        @dataclass
        class Done:
            task_id: str
            artifact: Any

        return Done("task-1", self.result)


PARTS = [{"text": "Ada Lovelace"}]


async def test_a_delegation_leaves_two_records_of_who_what_consent_outcome_and_digests(stage: Stage) -> None:
    registry = stage.registry()
    await registry.admit(CHECKS)
    agent = Peer(stage.card, {"result": "clear"})
    delivery = await registry.delegate(agent, PARTS, consent="consent-7", skill="check", deadline=3.0)
    assert delivery.artifact == {"result": "clear"}
    assert agent.asked == [(PARTS, {"skill": "check", "deadline": 3.0})]
    _, begun, done = stage.audit.records()
    assert (begun["outcome"], begun["task"], begun["opens"]) == ("begun", "", 0)
    assert (done["outcome"], done["task"], done["opens"]) == ("completed", "task-1", begun["n"])
    for record in (begun, done):
        assert record["caller"] == "hiring.example"
        assert record["agent"] == CHECKS
        assert record["skill"] == "check"
        assert record["consent"] == "consent-7"
        assert record["request_digest"] == digest(PARTS)
    assert done["result_digest"] == digest({"result": "clear"})
    assert "Lovelace" not in json.dumps(stage.audit.records())


@pytest.mark.parametrize("consent", ["", "  "])
async def test_without_a_consent_nothing_leaves_the_house(stage: Stage, consent: str) -> None:
    registry = stage.registry()
    await registry.admit(CHECKS)
    agent = Peer(stage.card)
    with pytest.raises(UsageError, match="consent"):
        await registry.delegate(agent, PARTS, consent=consent, skill="check")
    assert agent.asked == []


@pytest.mark.parametrize(
    ("change", "skill", "reason"),
    [
        ({}, "cook", "skill"),
        ({"version": "9"}, "check", "changed"),
        ({"supportedInterfaces": []}, "check", "unknown"),
    ],
)
async def test_an_agent_that_is_not_trusted_for_the_job_gets_nothing_and_that_is_on_record(
    stage: Stage, change: dict[str, Any], skill: str, reason: str
) -> None:
    registry = stage.registry()
    await registry.admit(CHECKS)
    agent = Peer({**CARD, **change})
    with pytest.raises(AgentUnfit) as caught:
        await registry.delegate(agent, PARTS, consent="consent-7", skill=skill)
    assert (caught.value.reasons, agent.asked) == ((reason,), [])
    assert stage.trail[1:] == [("delegate", f"refused: {reason}")]


@pytest.mark.parametrize(
    ("error", "outcome", "task"),
    [
        (TaskNotCompleted("x", "TASK_STATE_FAILED", "t9"), "failed", "t9"),
        (TaskNotCompleted("x", "TASK_STATE_REJECTED", "t9"), "rejected", "t9"),
        (TaskNotCompleted("x", "TASK_STATE_CANCELED", "t9"), "canceled", "t9"),
        (TaskUnsettled("x", "TASK_STATE_WORKING", "t9"), "unsettled", "t9"),
        (DeliverableInvalid("x"), "deliverable invalid", ""),
        (CallRefused("x", 401), "call refused", ""),
        (CardRefused("x", "altered"), "refused: altered", ""),
        (asyncio.CancelledError(), "abandoned", ""),
        (ValueError("secret text"), "error: ValueError", ""),
    ],
)
async def test_every_end_is_on_record(stage: Stage, error: BaseException, outcome: str, task: str) -> None:
    registry = stage.registry()
    await registry.admit(CHECKS)
    with pytest.raises(type(error)):
        await registry.delegate(Peer(stage.card, error=error), PARTS, consent="consent-7", skill="check")
    last = stage.audit.records()[-1]
    assert (last["outcome"], last["task"], last["opens"]) == (outcome, task, 2)
    assert "secret" not in json.dumps(last)


async def test_a_log_that_cannot_be_written_means_that_nothing_is_delegated(
    stage: Stage, tmp_path: Path
) -> None:
    stage.audit = AuditLog(tmp_path / "audit.jsonl")
    registry = stage.registry()
    await registry.admit(CHECKS)
    (tmp_path / "audit.jsonl").write_bytes(b"broken\n" * 200)
    agent = Peer(stage.card)
    with pytest.raises(DocumentError):
        await registry.delegate(agent, PARTS, consent="consent-7", skill="check")
    assert agent.asked == []


async def test_a_task_carried_by_other_means_is_on_record_too(stage: Stage) -> None:
    registry = stage.registry()
    await registry.admit(CHECKS)
    async with registry.delegation(stage.card, consent="consent-7", request=PARTS) as task:
        assert task.entry.url == CHECKS
        task.settle("task-2", outcome="canceled")
    async with registry.delegation(stage.card, consent="consent-7"):
        pass
    records = stage.audit.records()
    assert [(r["outcome"], r["task"]) for r in records[2::2]] == [("canceled", "task-2"), ("unknown", "")]


# --- all of it, for real ----------------------------------------------------------------------


class Desk(AgentExecutor):
    """Answers at once; `flaw` makes it forget its manners."""

    def __init__(self, flaw: str = "") -> None:
        self.flaw = flaw

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        assert context.message is not None
        task = context.current_task or new_task_from_user_message(context.message)
        await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, task.id, task.context_id)
        await updater.start_work()
        data = {"verdict": 1} if self.flaw == "schema" else {"result": "clear"}
        await updater.add_artifact([ParseDict({"data": data}, Part())], name="report")
        await updater.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        assert context.task_id is not None
        assert context.context_id is not None
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


@asynccontextmanager
async def market(flaw: str = "") -> AsyncIterator[tuple[Network, Registry, AuditLog, dict[str, Any]]]:
    """A real server, the real judge, the real client, and a registry between them."""
    signed, keys, audit = sign_card(CARD, KEY, "checks-1"), {"checks-1": public_key(KEY)}, AuditLog()
    async with Network() as net:
        tokens = {"token-of-hiring": "hiring", "token-of-judge": "judge"}
        await net.host(CHECKS, build_app(signed, Desk(flaw), tokens=tokens))

        async def examine(_card: dict[str, Any], url: str) -> list[behaviours.Observation]:
            probe = behaviours.Probe([{"text": "Ada"}], schema=SCHEMA)
            subject = behaviours.Subject(
                url, net.client("judge"), "token-of-judge", "token-of-hiring", complete=probe
            )
            return await behaviours.examine(subject)

        yield net, Registry(net.client("hiring"), audit, keys, examine, caller="hiring.example"), audit, keys


async def test_a_real_agent_is_examined_admitted_and_given_a_task() -> None:
    async with market() as (net, registry, audit, keys):
        entry = await registry.admit(CHECKS)
        assert len(entry.behaviours) > 5
        async with connect(entry.url, http=net.client("hiring"), token="token-of-hiring", keys=keys) as agent:
            delivery = await registry.delegate(agent, PARTS, consent="consent-7", skill="check")
        assert delivery.artifact == {"result": "clear"}
        assert [record["outcome"] for record in audit.records()] == ["admitted", "begun", "completed"]
        assert audit.records()[-1]["task"] == delivery.task_id


async def test_a_real_agent_whose_artifact_breaks_its_schema_is_not_admitted() -> None:
    async with market("schema") as (_net, registry, audit, _keys):
        with pytest.raises(AgentUnfit) as caught:
            await registry.admit(CHECKS)
        assert set(caught.value.reasons) <= set(behaviours.BEHAVIOURS)
        assert caught.value.reasons
        assert audit.verify() == 1
