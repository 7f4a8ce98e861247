"""The exercise of class 134, solved by hand: the reference solution.

It is also the second, independent A2A 1.0 peer of the tests: Starlette and the standard library,
nothing of ours, nothing of the SDK. JSON-RPC only, no streaming, no push, tasks in memory.
``tests/grading/mutants.py`` breaks it, one behaviour at a time.
"""

from __future__ import annotations

import asyncio
import json
import uuid
from dataclasses import dataclass, field
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

LIMITS = {"Lisbon": 80_000, "Oslo": 150_000, "Lima": 120_000}
DEFAULT_LIMIT = 50_000

SUBMITTED, WORKING = "TASK_STATE_SUBMITTED", "TASK_STATE_WORKING"
INPUT_REQUIRED = "TASK_STATE_INPUT_REQUIRED"
COMPLETED, FAILED = "TASK_STATE_COMPLETED", "TASK_STATE_FAILED"
CANCELED, REJECTED = "TASK_STATE_CANCELED", "TASK_STATE_REJECTED"
TERMINAL = {COMPLETED, FAILED, CANCELED, REJECTED}


async def limit_for(destination: str) -> int:
    """The rule book of the starter, unchanged: slow for one place, broken for another."""
    if destination == "Antarctica":
        await asyncio.sleep(30)
    if destination == "Atlantis":
        raise LookupError("rulebook://ledger.internal/limits?key=k-7731 has no row 'Atlantis'")
    return LIMITS.get(destination, DEFAULT_LIMIT)


def card(base_url: str) -> dict[str, Any]:
    return {
        "name": "trip-approval",
        "description": "Decides whether a business trip may be booked.",
        "version": "1.0.0",
        "supportedInterfaces": [
            {"url": base_url + "/", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
        ],
        "capabilities": {"streaming": False, "pushNotifications": False},
        "defaultInputModes": ["application/json", "text/plain"],
        "defaultOutputModes": ["application/json"],
        "securitySchemes": {"bearer": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}},
        "securityRequirements": [{"schemes": {"bearer": {"list": []}}}],
        "skills": [
            {
                "id": "trip-approval",
                "name": "Trip approval",
                "description": "Approves a trip, asks who approves it, or rejects the request.",
                "tags": ["travel", "approval"],
            }
        ],
    }


class RpcError(Exception):
    """An error of the protocol; ``code`` reaches the caller."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class Rejected(Exception):
    """The request is not one that this agent decides on; the text is the reason."""


@dataclass
class Task:
    id: str
    context_id: str
    owner: str
    state: str = SUBMITTED
    said: str = ""
    artifacts: list[dict[str, Any]] = field(default_factory=list)
    history: list[dict[str, Any]] = field(default_factory=list)
    request: Any = None
    job: asyncio.Task[None] | None = None

    def move(self, state: str, said: str = "") -> None:
        if self.state not in TERMINAL:
            self.state, self.said = state, said

    def wire(self, history_length: int | None = None) -> dict[str, Any]:
        status: dict[str, Any] = {"state": self.state}
        if self.said:
            parts = [{"text": self.said}]
            status["message"] = {"messageId": self.id + "-status", "role": "ROLE_AGENT", "parts": parts}
        shown: dict[str, Any] = {"id": self.id, "contextId": self.context_id, "status": status}
        if self.artifacts:
            shown["artifacts"] = self.artifacts
        count = len(self.history) if history_length is None else history_length
        if kept := self.history[-count:] if count else []:
            shown["history"] = kept
        return shown


class Agent:
    def __init__(self) -> None:
        self.tasks: dict[str, Task] = {}
        self.taken: dict[tuple[str, str], str] = {}

    async def call(self, method: Any, params: Any, owner: str) -> Any:
        if method in ("SendStreamingMessage", "SubscribeToTask"):
            raise RpcError(-32004, "This agent does not stream")
        if method not in ("SendMessage", "GetTask", "CancelTask"):
            raise RpcError(-32601, "Method not found")
        if not isinstance(params, dict):
            raise RpcError(-32602, "params must be an object")
        if method == "SendMessage":
            return {"task": await self.send(params, owner)}
        task = self.find(params.get("id"), owner)
        if method == "CancelTask":
            return self.cancel(task)
        return task.wire(params.get("historyLength"))

    def find(self, task_id: Any, owner: str) -> Task:
        if not isinstance(task_id, str) or not task_id:
            raise RpcError(-32602, "id must be a text")
        task = self.tasks.get(task_id)
        if task is None or task.owner != owner:
            raise RpcError(-32001, "Task not found")
        return task

    def cancel(self, task: Task) -> dict[str, Any]:
        if task.state in TERMINAL:
            raise RpcError(-32002, "Task cannot be canceled")
        task.move(CANCELED)
        if task.job:
            task.job.cancel()
        return task.wire()

    async def send(self, params: dict[str, Any], owner: str) -> dict[str, Any]:
        message = params.get("message")
        if not isinstance(message, dict) or not isinstance(message.get("messageId"), str):
            raise RpcError(-32602, "message.messageId is missing")
        if not isinstance(message.get("parts"), list) or not message["parts"]:
            raise RpcError(-32602, "message.parts is empty")
        task = self.accept(message, owner)
        configuration = params.get("configuration") or {}
        if task.job and not configuration.get("returnImmediately"):
            await asyncio.wait([task.job])
        return task.wire(configuration.get("historyLength"))

    def accept(self, message: dict[str, Any], owner: str) -> Task:
        """The task that this message starts or continues; a message seen before changes nothing."""
        key = (owner, message["messageId"])
        if key in self.taken:
            return self.tasks[self.taken[key]]
        if message.get("taskId"):
            task = self.find(message["taskId"], owner)
            if message.get("contextId", task.context_id) != task.context_id:
                raise RpcError(-32602, "contextId is not the task's")
            if task.state != INPUT_REQUIRED:
                raise RpcError(-32004, "The task takes no message now")
        else:
            task = Task(str(uuid.uuid4()), message.get("contextId") or str(uuid.uuid4()), owner)
            self.tasks[task.id] = task
        self.taken[key] = task.id
        task.history.append({**message, "taskId": task.id, "contextId": task.context_id})
        task.job = asyncio.create_task(self.work(task, message))
        return task

    async def work(self, task: Task, message: dict[str, Any]) -> None:
        try:
            if task.state == INPUT_REQUIRED:
                self.approve(task, message)
            else:
                await self.decide(task, message)
        except Rejected as reason:
            task.move(REJECTED, str(reason))
        except Exception:
            task.move(FAILED, "The request could not be decided.")

    async def decide(self, task: Task, message: dict[str, Any]) -> None:
        task.request = request(message)
        task.move(WORKING)
        if task.request["amount_cents"] > await limit_for(task.request["destination"]):
            task.move(INPUT_REQUIRED, "The amount is above the limit. Who approves it?")
        else:
            self.deliver(task, "within limit")

    def approve(self, task: Task, message: dict[str, Any]) -> None:
        texts = [part["text"] for part in message["parts"] if isinstance(part.get("text"), str)]
        if not " ".join(texts).strip():
            task.move(INPUT_REQUIRED, "Please write the name of the person who approves it.")
            return
        task.move(WORKING)
        self.deliver(task, "approved by " + " ".join(texts).strip())

    def deliver(self, task: Task, rule: str) -> None:
        decision = {"approved": True, "amount_cents": task.request["amount_cents"], "rule": rule}
        part = {"data": decision, "mediaType": "application/json"}
        task.artifacts = [{"artifactId": task.id + "-decision", "name": "decision", "parts": [part]}]
        task.move(COMPLETED)


def request(message: dict[str, Any]) -> dict[str, Any]:
    """The one data part, checked. Raises Rejected with a reason."""
    found = [part["data"] for part in message["parts"] if isinstance(part, dict) and "data" in part]
    if len(found) != 1 or not isinstance(found[0], dict):
        raise Rejected("The request needs one data part {employee, amount_cents, destination}.")
    amount = found[0].get("amount_cents")
    whole = isinstance(amount, (int, float)) and not isinstance(amount, bool) and amount == int(amount)
    if not whole or amount <= 0:
        raise Rejected("amount_cents must be a whole number above zero.")
    for name in ("employee", "destination"):
        if not isinstance(found[0].get(name), str) or not found[0][name]:
            raise Rejected(f"{name} must be a text.")
    return {**found[0], "amount_cents": int(amount)}


def build(base_url: str, tokens: dict[str, str]) -> Starlette:
    """The agent as an ASGI application. ``tokens`` maps each bearer token to its owner's name."""
    agent = Agent()

    async def get_card(_: Request) -> Response:
        return JSONResponse(card(base_url))

    async def post(request: Request) -> Response:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        owner = tokens.get(token) if scheme.lower() == "bearer" else None
        if owner is None:
            return JSONResponse({"error": "no valid token"}, 401, {"WWW-Authenticate": "Bearer"})
        call_id = None
        try:
            try:
                body = json.loads(await request.body())
            except ValueError:
                raise RpcError(-32700, "Parse error") from None
            if not isinstance(body, dict) or body.get("jsonrpc") != "2.0":
                raise RpcError(-32600, "Invalid request")
            call_id = body.get("id")
            if request.headers.get("a2a-version", "").split(".")[0] != "1":
                raise RpcError(-32009, "Version not supported; this agent speaks 1.0")
            result = await agent.call(body.get("method"), body.get("params"), owner)
        except RpcError as error:
            answer = {"code": error.code, "message": error.message}
            return JSONResponse({"jsonrpc": "2.0", "id": call_id, "error": answer})
        return JSONResponse({"jsonrpc": "2.0", "id": call_id, "result": result})

    return Starlette(
        routes=[
            Route("/.well-known/agent-card.json", get_card, methods=["GET"]),
            Route("/", post, methods=["POST"]),
        ]
    )
