"""A client that settles: one call delegates a job and returns its artifact, or raises the reason why not.

``connect`` reads the agent's card, verifies it, and checks that the agent suits the job, all before
the first message. ``Agent.delegate`` sends the job, follows the task through its states, answers its
questions in the same task and context, takes hold of it again when a stream breaks, and
returns the artifact, validated. The SDK's client carries the protocol; what is added here is
what the SDK leaves to its caller.

It refuses to read a result from a message, a status or the history; to follow a card, a redirect or an
interface to another origin; to speak of another task; and to wait past its deadline. A task that it
gives up, for whatever reason, it cancels first (best effort, within ``Limits.grace``).
"""

from __future__ import annotations

import asyncio
import re
import uuid
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import httpx
from a2a.client import Client, ClientConfig, ClientFactory
from a2a.types import AgentCard
from google.protobuf import json_format

from ai_evolution.a2a.connection import Guard, Limits, origin_of, plain
from ai_evolution.a2a.conversation import COMPLETED, Conversation, state_of
from ai_evolution.a2a.deliverable import Schema, chosen, content, wire
from ai_evolution.a2a.discovery import BINDINGS, fetch_card, interface_of, parse_card
from ai_evolution.a2a.following import BACKOFF, Answer, Follower, Part, identifier, not_completed
from ai_evolution.a2a.schema import schema_fault
from ai_evolution.errors import AgentUnfit, TaskUnsettled, UsageError

if TYPE_CHECKING:
    from ai_evolution.a2a.cards import Needs

__all__ = ["Agent", "Answer", "Delivery", "Limits", "Part", "connect"]

TOKEN = re.compile(r"[!-~]+")


@dataclass(frozen=True)
class Delivery:
    """What came of a delegation.

    ``states`` are the states seen, in order, without repetition of neighbours (an agent that is polled,
    or a broken stream, may hide some). ``artifact`` is the content as ``deliverable.content`` tells,
    ``artifacts`` all artifacts of the task as wire JSON. ``reattached`` counts how often the
    task had to be taken hold of again after a stream ended early.
    """

    task_id: str
    context_id: str
    states: tuple[str, ...]
    artifact: Any
    artifact_name: str
    questions: tuple[str, ...]
    reattached: int
    artifacts: tuple[dict[str, Any], ...] = ()


@asynccontextmanager
async def connect(
    url: str,
    *,
    http: httpx.AsyncClient,
    token: str | None = None,
    keys: Mapping[str, Any] | None = None,
    needs: Needs | None = None,
    new_id: Callable[[], str] = lambda: str(uuid.uuid4()),
    allow_origins: Collection[str] = (),
    limits: Limits | None = None,
    backoff: Sequence[float] = BACKOFF,
) -> AsyncIterator[Agent]:
    """Read and judge the card at ``url``, and yield the agent; ``http`` stays the caller's and stays open.

    ``keys`` maps kid to the public key pinned for it (see ``cards.verify_card``). ``keys=None`` is a
    statement: the caller trusts the transport alone, so whoever answers at ``url`` is believed,
    and so is the output schema in its card. ``needs`` is what the job asks for; its ``bindings``
    are in order of preference. An interface must share the origin of the card, or one in
    ``allow_origins`` or ``needs.origins``. ``token`` is sent as a bearer token to the interface's
    origin only (not with the request for the card). ``new_id`` names messages and JSON-RPC calls.

    Raises ``CardRefused``; ``AgentUnfit`` (``reasons`` are those of ``cards.misfits``, here
    also "origin"); ``CallRefused`` when the card can't be fetched.
    """
    if token is not None and not TOKEN.fullmatch(token):
        raise UsageError("token: given something that no header can carry; expected visible ASCII characters")
    bounds = limits or Limits()
    card = await fetch_card(url, http, bounds)
    kid = None
    if keys is not None:
        from ai_evolution.a2a.cards import verify_card

        kid = verify_card(card, keys)
    parsed = parse_card(card)
    if needs is not None:
        from ai_evolution.a2a.cards import misfits

        reasons = misfits(card, needs)
        if reasons:
            name = plain(card.get("name", url), 60)
            raise AgentUnfit(f"{name} does not suit the job: {', '.join(reasons)}", reasons)
    preference = tuple(needs.bindings) if needs is not None else BINDINGS
    origins = (*allow_origins, *(needs.origins if needs is not None else ()))
    interface = interface_of(card, url, preference, origins)
    guard = Guard(http, origin_of(interface["url"]), token, bounds, new_id)
    async with httpx.AsyncClient(transport=guard, timeout=None, trust_env=False) as guarded:
        client = _sdk_client(parsed, interface, needs, guarded)
        agent = Agent(
            card, interface, kid, client, parsed.capabilities.streaming, needs, new_id, bounds, backoff
        )
        try:
            yield agent
        finally:
            await agent.close()


def _sdk_client(
    parsed: AgentCard, interface: Mapping[str, Any], needs: Needs | None, http: httpx.AsyncClient
) -> Client:
    only = AgentCard()
    only.CopyFrom(parsed)
    del only.supported_interfaces[:]
    json_format.ParseDict(dict(interface), only.supported_interfaces.add(), ignore_unknown_fields=True)
    config = ClientConfig(
        httpx_client=http,
        polling=not parsed.capabilities.streaming,
        supported_protocol_bindings=[interface["protocolBinding"]],
        accepted_output_modes=list(needs.output_modes) if needs is not None else [],
    )
    return ClientFactory(config).create(only)


class Agent:
    """One agent that was found trustworthy and fit. Made by ``connect``; may serve several calls at once.

    ``card`` and ``interface`` are the JSON as received, ``binding`` is JSONRPC or HTTP+JSON,
    ``kid`` names the key that signed the card (None when ``keys`` were not given).
    """

    def __init__(
        self,
        card: dict[str, Any],
        interface: dict[str, Any],
        kid: str | None,
        client: Client,
        streaming: bool,
        needs: Needs | None,
        new_id: Callable[[], str],
        limits: Limits,
        backoff: Sequence[float],
    ) -> None:
        self.card, self.interface, self.kid = card, interface, kid
        self.binding: str = interface["protocolBinding"]
        self._client, self._needs, self._limits = client, needs, limits
        self._follower = Follower(client, streaming, new_id, limits, backoff)

    async def close(self) -> None:
        """Let go of the agent. The caller's ``http`` stays open."""
        await self._client.close()

    async def task(self, task_id: str, *, deadline: float = 10.0) -> dict[str, Any]:
        """The task as wire JSON (GetTask). Raises ``CallRefused``; -32001 when it is not ours."""
        async with self._within(deadline, "GetTask", task_id):
            return wire(await self._follower.get(task_id, history=None))

    async def cancel(self, task_id: str, *, deadline: float = 10.0) -> str:
        """Cancel, and return the state in which the task came to rest.

        The task may have completed first; then the agent says "not cancelable" and the state
        returned is the terminal one that it reached. Raises ``CallRefused``, and ``TaskUnsettled`` when
        the task is in no terminal state at the deadline (seconds).
        """
        async with self._within(deadline, "CancelTask", task_id):
            return state_of(await self._follower.cancel(task_id))

    async def delegate(
        self,
        parts: Sequence[Part],
        *,
        skill: str | None = None,
        schema: Schema | None = None,
        answer: Answer | None = None,
        context_id: str | None = None,
        task_id: str | None = None,
        message_id: str | None = None,
        artifact: str | None = None,
        push: Mapping[str, Any] | None = None,
        seen: Callable[[str, str], None] | None = None,
        resend: bool = False,
        deadline: float = 30.0,
    ) -> Delivery:
        """Send ``parts``, follow the task until it rests for good, and return its validated artifact.

        ``schema`` (JSON Schema 2020-12) holds for every data part of the artifact; without it, the one
        that the card declares for ``skill`` (default: the skill of ``needs``) does, if any.
        ``answer(question, task)`` gives the parts that reply to INPUT_REQUIRED, in the same task and
        context; None cancels, and so does having no ``answer``. ``task_id`` continues a task,
        ``context_id`` a context. ``artifact`` names the one wanted when there are several. ``push`` is a
        TaskPushNotificationConfig as wire JSON. ``seen`` is told ``(task_id, state)`` at each new state.
        ``resend=True`` repeats a message whose reply was lost, with the SAME messageId: safe only with
        agents that deduplicate (``a2a.app`` does; the specification only says MAY). ``deadline`` is in
        seconds and covers everything, answers included.

        Raises ``CallRefused`` (a protocol error; code 401 for a bad token; -32006 for an answer that A2A
        does not allow, another task's event, a flood; reason CONNECTION_LOST when no reply came and
        ``resend`` is off), ``IllegalTransition``, ``TaskNotCompleted`` (failed, canceled, rejected;
        AUTH_REQUIRED, which is canceled), ``TaskUnsettled`` (deadline), ``DeliverableInvalid`` (no
        artifact, several that compete, one that its own stream contradicts or that breaks its schema,
        or a bare message instead of a task).
        """
        expected = self._schema(skill, schema)
        talk = self._conversation(task_id, None if task_id else context_id, seen)
        request = self._follower.compose(parts, talk, message_id, push)
        request.message.context_id = context_id or ""
        await self._follower.settle(talk, request, answer, resend, deadline)
        return delivery_of(talk, expected, artifact)

    async def settle(
        self,
        task_id: str,
        *,
        skill: str | None = None,
        schema: Schema | None = None,
        answer: Answer | None = None,
        artifact: str | None = None,
        seen: Callable[[str, str], None] | None = None,
        deadline: float = 30.0,
    ) -> Delivery:
        """Take hold of a task that is under way already, and see it through as ``delegate`` does."""
        expected = self._schema(skill, schema)
        talk = self._conversation(task_id, None, seen)
        await self._follower.settle(talk, None, answer, False, deadline)
        return delivery_of(talk, expected, artifact)

    def _conversation(
        self, task_id: str | None, context_id: str | None, seen: Callable[[str, str], None] | None
    ) -> Conversation:
        limit = self._limits.reply
        known = identifier(task_id) if task_id is not None else ""
        return Conversation(limit=limit, task_id=known, context_id=context_id or "", seen=seen)

    # Before the first message.

    def _schema(self, skill: str | None, schema: Schema | None) -> Schema | None:
        if schema is not None:
            fault = schema_fault(schema)
            if fault:
                raise UsageError(f"schema is no JSON Schema 2020-12 ({fault})")
            return schema
        skill = skill or (self._needs.skill if self._needs is not None else None)
        if not skill:
            return None
        from ai_evolution.a2a.cards import output_schema

        return output_schema(self.card, skill)

    @asynccontextmanager
    async def _within(self, deadline: float, doing: str, task_id: str) -> AsyncIterator[None]:
        timer = asyncio.timeout(deadline)
        try:
            async with timer:
                yield
        except TimeoutError:
            if not timer.expired():
                raise
            message = f"{doing} of {plain(task_id, 60)}: no end within {deadline:g} s"
            raise TaskUnsettled(message, "", task_id) from None


def delivery_of(talk: Conversation, schema: Schema | None, name: str | None) -> Delivery:
    """The outcome of a settled conversation; raises ``TaskNotCompleted`` and ``DeliverableInvalid``."""
    if talk.state != COMPLETED:
        raise not_completed(talk, "did not complete")
    artifacts = list(talk.final.artifacts if talk.final is not None else talk.artifacts)
    picked = chosen(artifacts, name)
    return Delivery(
        talk.task_id,
        talk.context_id,
        tuple(talk.states),
        content(picked, schema),
        picked.name or picked.artifact_id,
        tuple(talk.questions),
        talk.reattached,
        tuple(wire(each) for each in artifacts),
    )
