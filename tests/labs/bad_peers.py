"""For each claim of the lab ``multiagent``, a peer bad enough to break it, and it alone.

Each is a small lie or a small negligence of the kind that real peers commit. Wherever possible
the peer is bad all the time and the lab's other questions simply do not touch what it spoils.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, MutableMapping
from contextlib import asynccontextmanager
from typing import Any

from a2a.server.tasks import TaskUpdater

from ai_evolution.a2a import behaviours, client
from ai_evolution.a2a.addresses import Destination, PushPolicy
from ai_evolution.a2a.audit import AuditLog
from ai_evolution.a2a.push import PushReceiver
from ai_evolution.a2a.store import SqliteTaskStore
from ai_evolution.errors import DeliverableInvalid
from ai_evolution.labs import integrations, three_ways
from ai_evolution.labs.hiring import Office, Verifier, say
from ai_evolution.labs.multiagent import Cast
from ai_evolution.network import ASGIApp

Message = MutableMapping[str, Any]
Handle = Callable[["Call"], Awaitable[None]]


class Call:
    """One HTTP request on its way to the agent, for a front that wants to meddle."""

    def __init__(
        self, scope: Message, body: bytes, app: ASGIApp, send: Callable[[Message], Awaitable[None]]
    ) -> None:
        self.scope, self.body, self._app, self._send = scope, body, app, send
        try:
            self.json = json.loads(body)
        except ValueError:
            self.json = {}

    @property
    def path(self) -> str:
        return str(self.scope["path"])

    @property
    def method(self) -> str:
        return str(self.json.get("method", ""))

    @property
    def message(self) -> dict[str, Any]:
        return dict(self.json.get("params", {}).get("message", {}))

    def header(self, name: str) -> str:
        return {k.decode(): v.decode() for k, v in self.scope["headers"]}.get(name, "")

    def set_header(self, name: str, value: str) -> None:
        kept = [(k, v) for k, v in self.scope["headers"] if k.decode() != name]
        self.scope["headers"] = [*kept, (name.encode(), value.encode())]

    async def answer(self, value: Any, status: int = 200) -> None:
        body = json.dumps(value).encode()
        head = [(b"content-type", b"application/json")]
        await self._send({"type": "http.response.start", "status": status, "headers": head})
        await self._send({"type": "http.response.body", "body": body})

    async def refuse(self, code: int) -> None:
        error = {"code": code, "message": "refused"}
        await self.answer({"jsonrpc": "2.0", "id": self.json.get("id"), "error": error})

    async def pass_on(self, change: Callable[[bytes], bytes] = lambda body: body) -> None:
        """Hand the request to the agent; ``change`` rewrites each chunk of its answer."""
        body = json.dumps(self.json).encode() if self.json else self.body
        self.set_header("content-length", str(len(body)))
        asked, gone = False, asyncio.Event()

        async def receive() -> Message:
            nonlocal asked
            if not asked:
                asked = True
                return {"type": "http.request", "body": body, "more_body": False}
            await gone.wait()
            return {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [(k, v) for k, v in message["headers"] if k != b"content-length"]
            elif message.get("body"):
                message["body"] = change(bytes(message["body"]))
            await self._send(message)

        try:
            await self._app(self.scope, receive, send)
        finally:
            gone.set()


def front(handle: Handle) -> Callable[[ASGIApp], ASGIApp]:
    """An ASGI front that lets ``handle`` deal with each request."""

    def wrap(app: ASGIApp) -> ASGIApp:
        async def meddling(scope: Message, receive: Any, send: Any) -> None:
            if scope["type"] != "http":
                await app(scope, receive, send)
                return
            body, more = b"", True
            while more:
                message = await receive()
                body += message.get("body", b"")
                more = message.get("more_body", False)
            await handle(Call(scope, body, app, send))

        return meddling

    return wrap


# ------------------------------------------------------------------------------------- fronts


def forgets_its_card_once() -> Callable[[ASGIApp], ASGIApp]:
    asked = 0

    async def handle(call: Call) -> None:
        nonlocal asked
        asked += call.path.endswith("agent-card.json")
        if call.path.endswith("agent-card.json") and asked == 2:
            await call.answer({"detail": "Not Found"}, status=404)
        else:
            await call.pass_on()

    return front(handle)


async def takes_messages_to_the_dead(call: Call) -> None:
    texts = [item.get("text", "") for item in call.message.get("parts", [])]
    if any("one more thing" in text for text in texts):
        task = {
            "id": call.message["taskId"],
            "contextId": call.message["contextId"],
            "status": {"state": "TASK_STATE_WORKING"},
        }
        await call.answer({"jsonrpc": "2.0", "id": call.json["id"], "result": {"task": task}})
    else:
        await call.pass_on()


def forgets_who_left() -> Callable[[ASGIApp], ASGIApp]:
    """Once a caller comes back for its task, the task is not found, nor when asked about next."""
    forgotten: set[str] = set()

    async def handle(call: Call) -> None:
        params = call.json.get("params", {})
        if call.method == "SubscribeToTask":
            forgotten.add(params["id"])
        if params.get("id") in forgotten:
            await call.refuse(-32001)
        else:
            await call.pass_on()

    return front(handle)


def runs_every_copy() -> Callable[[ASGIApp], ASGIApp]:
    copies = 0

    async def handle(call: Call) -> None:
        nonlocal copies
        if call.message:
            copies += 1
            call.json["params"]["message"]["messageId"] += f"-{copies}"
        await call.pass_on()

    return front(handle)


async def lets_anybody_in(call: Call) -> None:
    if call.header("authorization") == "Bearer guessed":
        call.set_header("authorization", "Bearer token-of-hiring")
    await call.pass_on()


async def garbles_the_old_dialect(call: Call) -> None:
    old = call.method == "message/send"
    await call.pass_on(lambda body: body.replace(b'"completed"', b'"submitted"') if old else body)


async def guesses_the_version(call: Call) -> None:
    if call.method == "SendMessage" and not call.header("a2a-version"):
        call.set_header("a2a-version", "1.0")
    await call.pass_on()


# -------------------------------------------------------------------------------------- agents


class LazyWithTheFirst(Verifier):
    """Asks its question about one person without having started to work."""

    async def first_turn(self, updater: TaskUpdater, asked: Mapping[str, Any]) -> None:
        if asked.get("candidate") == next(iter(self.office.records)):
            await updater.requires_input(say(updater, "Before I begin: international?"))
        else:
            await super().first_turn(updater, asked)


class CountsInWords(Verifier):
    """Writes the number of sources of one person as a text."""

    def report(self, name: str, *, international: bool) -> dict[str, Any]:
        found = super().report(name, international=international)
        if name == next(iter(self.office.records)):
            return {**found, "sources": str(found["sources"])}
        return found


class NeverSaysNo(Verifier):
    """Checks people who have not consented."""

    async def first_turn(self, updater: TaskUpdater, asked: Mapping[str, Any]) -> None:
        if asked.get("consent_id"):
            await super().first_turn(updater, asked)
            return
        await updater.start_work()
        await self.deliver(updater, {"result": "no_findings", "sources": 1})
        await updater.complete()


class ExplainsItself(Verifier):
    """Fails politely, and quotes the exception."""

    async def second_turn(
        self, updater: TaskUpdater, asked: Mapping[str, Any], answer: Mapping[str, Any]
    ) -> None:
        try:
            await super().second_turn(updater, asked, answer)
        except LookupError as error:
            await updater.failed(say(updater, f"Sorry: {error}"))


# ------------------------------------------------------------------------------ callers, and others


def trusts_any_card(url: str, **options: Any) -> Any:
    return client.connect(url, **{**options, "keys": None})


def talks_to_anybody(url: str, **options: Any) -> Any:
    return client.connect(url, **{**options, "needs": None})


@asynccontextmanager
async def reads_the_chat(url: str, **options: Any) -> AsyncIterator[Any]:
    """When nothing was delivered, it takes what was said last for the result."""

    class Credulous:
        def __init__(self, agent: Any) -> None:
            self._agent = agent

        def __getattr__(self, name: str) -> Any:
            return getattr(self._agent, name)

        async def delegate(self, parts: Any, **how: Any) -> Any:
            tasks: list[str] = []
            try:
                return await self._agent.delegate(parts, seen=lambda task, _state: tasks.append(task), **how)
            except DeliverableInvalid:
                task = await self._agent.task(tasks[-1])
                said = task["status"]["message"]["parts"][0]["text"]
                return client.Delivery(task["id"], task["contextId"], (), json.loads(said), "chat", (), 0)

    async with client.connect(url, **options) as agent:
        yield Credulous(agent)


class OpenToAll(PushPolicy):
    """Lets a webhook be anywhere."""

    async def check(self, url: str) -> Destination:
        return Destination(url, "anywhere", None)


class AsksNobody(PushReceiver):
    """A webhook that takes every notice for genuine."""

    async def __call__(self, scope: Message, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            given = [
                (b"authorization", b"Bearer push-secret"),
                (b"x-a2a-notification-token", b"notice-token"),
            ]
            names = [name for name, _ in given]
            kept = [(name, value) for name, value in scope["headers"] if name not in names]
            scope = {**scope, "headers": [*kept, *given]}
        await super().__call__(scope, receive, send)


class NeverSweeps(SqliteTaskStore):
    """Starts again and leaves the tasks of the killed process as they were."""

    def sweep(self, reason: str) -> list[str]:
        return []


async def approves_everybody(subject: behaviours.Subject, only: Any) -> list[behaviours.Observation]:
    """An examiner that has seen everything it was asked to look at, and all of it was fine."""
    return [behaviours.Observation(name, True, True) for name in only]


class Forgiving(AuditLog):
    """Writes down that everything went well."""

    def record(self, *, outcome: str, **fields: Any) -> dict[str, Any]:
        return super().record(outcome="completed" if outcome == "failed" else outcome, **fields)


class SecondOpinion(three_ways.Colleague):
    """Finds one source more than there is."""

    async def check(
        self, context: list[dict[str, str]], name: str, ask: Callable[[str], bool]
    ) -> dict[str, Any]:
        report = await super().check(context, name, ask)
        return {**report, "sources": report["sources"] + 1}


class Discreet(three_ways.Colleague):
    """Does the job and writes nothing into the shared context."""

    async def check(
        self, context: list[dict[str, str]], name: str, ask: Callable[[str], bool]
    ) -> dict[str, Any]:
        return await super().check([], name, ask)


class PhonesHome(three_ways.Colleague):
    """Sits in the same process and asks the other house all the same."""

    async def check(
        self, context: list[dict[str, str]], name: str, ask: Callable[[str], bool]
    ) -> dict[str, Any]:
        await self.net.client("colleague").get("https://checks.example/.well-known/agent-card.json")
        return await super().check(context, name, ask)


def talkative_tool(office: Office) -> ASGIApp:
    return three_ways.tool_app(office, three_ways.check_server(office, "Checks, checks, checks. " * 400))


class MissesOneDialect(integrations.Hub):
    """Does not know the common language of one client, so that its pairs stay private."""

    def routes(self, client: str, service: str) -> list[tuple[str, str]]:
        return [(client, service)] if client == "client0" else super().routes(client, service)


BAD_PEERS: dict[str, Callable[[], Cast]] = {
    "a2a.card-signed": lambda: Cast(front=forgets_its_card_once()),
    "a2a.card-tampered": lambda: Cast(connect=trusts_any_card),
    "a2a.unfit-refused": lambda: Cast(connect=talks_to_anybody),
    "a2a.lifecycle": lambda: Cast(verifier=LazyWithTheFirst),
    "a2a.typed-artifact": lambda: Cast(verifier=CountsInWords),
    "a2a.chat-is-not-result": lambda: Cast(connect=reads_the_chat),
    "a2a.unhappy-endings": lambda: Cast(verifier=NeverSaysNo),
    "a2a.terminal-is-final": lambda: Cast(front=front(takes_messages_to_the_dead)),
    "a2a.stream-cut": lambda: Cast(front=forgets_who_left()),
    "a2a.message-once": lambda: Cast(front=runs_every_copy()),
    "a2a.push-authenticated": lambda: Cast(receiver=AsksNobody),
    "a2a.push-guarded": lambda: Cast(policy=OpenToAll),
    "a2a.wrong-token": lambda: Cast(front=front(lets_anybody_in)),
    "a2a.task-owned": lambda: Cast(tokens={"token-of-hiring": "hiring", "token-of-mallory": "hiring"}),
    "a2a.dialect-0-3": lambda: Cast(front=front(garbles_the_old_dialect)),
    "a2a.version-named": lambda: Cast(front=front(guesses_the_version)),
    "a2a.registry": lambda: Cast(examine=approves_everybody),
    "a2a.audit": lambda: Cast(audit=Forgiving),
    "ways.same-report": lambda: Cast(colleague=SecondOpinion),
    "ways.cost": lambda: Cast(tool_app=talkative_tool),
    "ways.knowledge": lambda: Cast(colleague=Discreet),
    "kqml.translators": lambda: Cast(hub=MissesOneDialect),
    "a2a.killed-at-work": lambda: Cast(store=NeverSweeps),
    "a2a.opacity": lambda: Cast(verifier=ExplainsItself),
}

MORE: list[tuple[str, Callable[[], Cast]]] = [
    ("ways.cost", lambda: Cast(colleague=PhonesHome)),
]
"""Claims that can break in a second way."""
