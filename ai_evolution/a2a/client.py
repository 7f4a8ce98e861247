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
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import httpx
from a2a.client import Client, ClientConfig, ClientFactory
from a2a.types import (
    AgentCard,
    CancelTaskRequest,
    GetTaskRequest,
    SendMessageRequest,
    StreamResponse,
    SubscribeToTaskRequest,
    Task,
)
from google.protobuf import json_format

from ai_evolution.a2a.connection import (
    INVALID_AGENT_RESPONSE,
    OPEN,
    Guard,
    Limits,
    Lost,
    garbled,
    origin_of,
    plain,
    translated,
)
from ai_evolution.a2a.conversation import AUTH_REQUIRED, COMPLETED, Conversation, state_of
from ai_evolution.a2a.deliverable import Schema, chosen, content, schema_fault, wire
from ai_evolution.a2a.discovery import BINDINGS, fetch_card, interface_of, parse_card
from ai_evolution.a2a.states import TERMINAL
from ai_evolution.errors import (
    A2AError,
    AgentUnfit,
    CallRefused,
    DeliverableInvalid,
    TaskNotCompleted,
    TaskUnsettled,
    UsageError,
)

if TYPE_CHECKING:
    from ai_evolution.a2a.cards import Needs

__all__ = ["Agent", "Answer", "Delivery", "Limits", "Part", "connect"]

BACKOFF = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 2.0)
"""Seconds to wait before looking again; the last one repeats, and news from the task starts anew."""
PATIENCE = 4
"""How often a stored task may lag behind its own stream before that counts as a contradiction."""
NOT_CANCELABLE = -32002
DRAIN = 0.5
"""Seconds that a stream may stay open after the task's last state; then we leave it."""

Part = Mapping[str, Any]
"""A part as on the wire: ``{"text": ...}``, ``{"data": ...}``, ``{"url": ...}``, ``{"raw": base64}``."""
Answer = Callable[[str, dict[str, Any]], Awaitable[Sequence[Part] | None]]


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
    ``allow_origins``. ``token`` is sent as a bearer token to the interface's origin only (not with
    the request for the card). ``new_id`` names messages and JSON-RPC calls.

    Raises ``CardRefused``; ``AgentUnfit`` (``reasons`` are those of ``cards.misfits``, here
    also "origin"); ``CallRefused`` when the card can't be fetched.
    """
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
    interface = interface_of(card, url, preference, allow_origins)
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
        self._client, self._streaming, self._needs = client, streaming, needs
        self._new_id, self._limits = new_id, limits
        self._backoff = tuple(backoff) or (0.0,)

    async def close(self) -> None:
        """Let go of the agent. The caller's ``http`` stays open."""
        await self._client.close()

    async def task(self, task_id: str, *, deadline: float = 10.0) -> dict[str, Any]:
        """The task as wire JSON (GetTask). Raises ``CallRefused``; -32001 when it is not ours."""
        async with self._within(deadline, "GetTask", task_id):
            return wire(await self._get(task_id, history=None))

    async def cancel(self, task_id: str, *, deadline: float = 10.0) -> str:
        """Cancel, and return the state in which the task came to rest.

        The task may have completed first; then the agent says "not cancelable" and the state
        returned is the terminal one that it reached. Raises ``CallRefused``, and ``TaskUnsettled`` when
        the task is in no terminal state at the deadline (seconds).
        """
        async with self._within(deadline, "CancelTask", task_id):
            return state_of(await self._cancel(task_id))

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
        request = self._request(parts, talk, message_id, push)
        request.message.context_id = context_id or ""
        await self._settle(talk, request, answer, resend, deadline)
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
        await self._settle(talk, None, answer, False, deadline)
        return delivery_of(talk, expected, artifact)

    def _conversation(
        self, task_id: str | None, context_id: str | None, seen: Callable[[str, str], None] | None
    ) -> Conversation:
        limit = self._limits.reply
        return Conversation(limit=limit, task_id=task_id or "", context_id=context_id or "", seen=seen)

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

        declared = output_schema(self.card, skill)
        fault = schema_fault(declared) if declared is not None else None
        if fault:
            raise AgentUnfit(f"the card's output schema for {skill!r} is none ({fault})", ["output-schema"])
        return declared

    def _request(
        self,
        parts: Sequence[Part],
        talk: Conversation,
        message_id: str | None = None,
        push: Mapping[str, Any] | None = None,
    ) -> SendMessageRequest:
        if not parts:
            raise UsageError("a message without parts; expected at least one")
        message: dict[str, Any] = {
            "messageId": message_id or self._new_id(),
            "role": "ROLE_USER",
            "parts": [dict(part) for part in parts],
            "taskId": talk.task_id,
            "contextId": talk.context_id,
        }
        configuration = {"taskPushNotificationConfig": dict(push)} if push is not None else {}
        request = SendMessageRequest()
        try:
            json_format.ParseDict({"message": message, "configuration": configuration}, request)
        except (json_format.Error, ValueError, TypeError, OverflowError, RecursionError) as error:
            why = plain(error, 160)
            raise UsageError(f"message: {why}; expected parts (and push) as A2A 1.0 has them") from error
        return request

    # The course of a task.

    async def _settle(
        self,
        talk: Conversation,
        request: SendMessageRequest | None,
        answer: Answer | None,
        resend: bool,
        deadline: float,
    ) -> None:
        """Bring the task to a terminal state; on the way out of any error, cancel what we began."""
        timer = asyncio.timeout(deadline)
        try:
            async with timer:
                if talk.task_id:
                    await self._pick_up(talk, request)
                await self._converse(talk, request, answer, resend)
                await self._confirm(talk)
        except BaseException as error:
            state = await self._give_up(talk) if talk.heard or request is None else ""
            if isinstance(error, TimeoutError) and timer.expired():
                raise TaskUnsettled(
                    f"task {talk.task_id or '(no id came)'} did not settle in {deadline:g} s:"
                    f" it was {talk.state or 'never heard of'}; after our cancel it is {state or 'unknown'}",
                    state or talk.state,
                    talk.task_id,
                ) from None
            raise

    async def _pick_up(self, talk: Conversation, request: SendMessageRequest | None) -> None:
        """Learn how a task of earlier stands: ``request`` answers what it waits on, in its own context."""
        talk.artifacts.gaps = True
        talk.look(await self._get(talk.task_id))
        if request is not None:
            talk.answered()
            request.message.context_id = request.message.context_id or talk.context_id

    async def _converse(
        self, talk: Conversation, request: SendMessageRequest | None, answer: Answer | None, resend: bool
    ) -> None:
        while True:
            await self._until_it_rests(talk, request, resend)
            if talk.state in TERMINAL:
                return
            if talk.state == AUTH_REQUIRED:
                raise not_completed(talk, "asks for an authorization that we can't give, and was given up")
            question = talk.ask()
            parts = await answer(question, wire(talk.task())) if answer is not None else None
            request = self._request(parts, talk) if parts is not None else None
            if request is None:
                talk.look(await self._cancel(talk.task_id))

    async def _until_it_rests(
        self, talk: Conversation, request: SendMessageRequest | None, resend: bool
    ) -> None:
        """Send ``request`` (if any) and listen, as often as it takes, until the task rests."""
        misses = 0
        while request is not None or not talk.rests:
            heard, states = talk.heard, len(talk.states)
            try:
                if request is not None:
                    await self._send(talk, request)
                else:
                    await self._reattach(talk)
            except Lost:
                if request is not None and talk.heard == heard and not resend and not talk.task_id:
                    raise
            if talk.heard > heard or not resend:
                request = None
            if request is not None or not talk.rests:
                misses = 0 if len(talk.states) > states else misses + 1
                await asyncio.sleep(self._pause(misses))

    async def _send(self, talk: Conversation, request: SendMessageRequest) -> None:
        heard = talk.heard
        await self._listen(talk, self._client.send_message(request), "SendMessage")
        if talk.heard == heard:
            raise Lost("SendMessage: the answer ended before it began")

    async def _reattach(self, talk: Conversation) -> None:
        """SubscribeToTask; where that is refused, breaks off or settles nothing, GetTask."""
        if self._streaming:
            talk.reattached += 1
            talk.artifacts.gaps = True
            subscription = self._client.subscribe(SubscribeToTaskRequest(id=talk.task_id))
            try:
                await self._listen(talk, subscription, "SubscribeToTask")
            except CallRefused as refusal:
                if refusal.code == INVALID_AGENT_RESPONSE:
                    raise
            if talk.rests:
                return
        talk.look(await self._get(talk.task_id))

    async def _listen(self, talk: Conversation, events: AsyncIterator[StreamResponse], doing: str) -> None:
        """Hear events until the stream ends or the task rests; the stream is closed when this returns.

        After a terminal state the stream should end by itself; what still comes is heard, and refused
        when it contradicts.
        """
        opened: list[httpx.Response] = []
        mark = OPEN.set(opened)
        try:
            while talk.state in TERMINAL or not talk.rests:
                wait = DRAIN if talk.state in TERMINAL else self._limits.idle
                try:
                    event = await self._next(events, doing, wait)
                except Lost:
                    if talk.state in TERMINAL:
                        return
                    raise
                if event is None:
                    return
                talk.hear(event)
        finally:
            OPEN.reset(mark)
            for reply in opened:
                await reply.aclose()
            await cast(Any, events).aclose()

    @staticmethod
    async def _next(events: AsyncIterator[StreamResponse], doing: str, wait: float) -> StreamResponse | None:
        try:
            async with asyncio.timeout(wait):
                with translated(doing):
                    return await anext(events, None)
        except TimeoutError:
            raise Lost(f"{doing}: the stream was silent for {wait:g} s") from None

    async def _get(self, task_id: str, history: int | None = 0) -> Task:
        with translated("GetTask"):
            return await self._client.get_task(GetTaskRequest(id=task_id, history_length=history))

    async def _confirm(self, talk: Conversation) -> None:
        """Hold what was streamed against the stored task, which may lag behind its own stream a little."""
        misses = 0
        while talk.state == COMPLETED and talk.final is None:
            try:
                task = await self._get(talk.task_id)
                where = None if talk.artifacts.gaps else talk.artifacts.contradicts(task)
                if misses >= PATIENCE or (where is None and state_of(task) in TERMINAL):
                    talk.look(task)
                    if where is not None:
                        message = f"at {where}: the stored task and its own stream differ"
                        raise DeliverableInvalid(message, where)
                    return
            except Lost:
                pass
            await asyncio.sleep(self._pause(misses))
            misses += 1

    async def _cancel(self, task_id: str) -> Task:
        """CancelTask, then GetTask until the task is terminal. The caller sets the deadline."""
        refused: CallRefused | None = None
        misses = 0
        try:
            with translated("CancelTask"):
                task = await self._client.cancel_task(CancelTaskRequest(id=task_id))
        except Lost:
            task = Task()
        except CallRefused as refusal:
            if refusal.code != NOT_CANCELABLE:
                raise
            refused, task = refusal, Task()
        while state_of(task) not in TERMINAL:
            if task.id and refused is not None:
                raise refused
            if misses:
                await asyncio.sleep(self._pause(misses))
            misses += 1
            try:
                task = await self._get(task_id)
            except Lost:
                continue
        if task.id != task_id:
            raise garbled(f"CancelTask: the agent spoke of task {plain(task.id, 60)!r}, not {task_id!r}")
        return task

    async def _give_up(self, talk: Conversation) -> str:
        """Cancel as well as the grace period allows; returns the state then known, ``""`` when unknown."""
        if not talk.states or talk.state in TERMINAL:
            return talk.state
        try:
            async with asyncio.timeout(self._limits.grace):
                return state_of(await self._cancel(talk.task_id))
        except (A2AError, TimeoutError):
            return ""

    def _pause(self, misses: int) -> float:
        return self._backoff[min(misses, len(self._backoff) - 1)]

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


def not_completed(talk: Conversation, what: str) -> TaskNotCompleted:
    """The error for a task that came to rest without a deliverable, with the agent's words, bounded."""
    words = talk.said()
    message = f"task {plain(talk.task_id, 60)} {what}: {talk.state}" + (f" ({words})" if words else "")
    return TaskNotCompleted(message, talk.state, talk.task_id, talk.context_id)
