"""One conversation with the agent, in raw HTTP and JSON-RPC, written down as it goes.

Bounded in what it reads, deaf to redirects, and quiet about tokens. What an answer lacks ends the check
early (``Stop``) with words for what was observed instead.
"""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx

from ai_evolution.a2a.behaviours.subject import Exchange, Part, Probe, Subject

CARD_PATH = "/.well-known/agent-card.json"
VERSION = "1.0"
MAX_BODY = 1_000_000
MAX_EVENTS = 500
SHOWN = 1_500
SHOWN_EXCHANGES = 8
SILENCE = 3

COMPLETED, FAILED = "TASK_STATE_COMPLETED", "TASK_STATE_FAILED"
CANCELED, REJECTED = "TASK_STATE_CANCELED", "TASK_STATE_REJECTED"
INPUT_REQUIRED = "TASK_STATE_INPUT_REQUIRED"
TERMINAL = frozenset({COMPLETED, FAILED, CANCELED, REJECTED})
AT_REST = TERMINAL | {INPUT_REQUIRED, "TASK_STATE_AUTH_REQUIRED"}
STATES = AT_REST | {"TASK_STATE_SUBMITTED", "TASK_STATE_WORKING"}

LEAKS = ("Traceback (most recent call last)", 'File "')


class Stop(Exception):
    """A check ends early: ``args[0]`` is what was observed instead."""


class Silence(Stop):
    """No answer at all arrived."""


@dataclass(frozen=True)
class Reply:
    status: int
    headers: httpx.Headers
    body: bytes
    truncated: bool

    def json(self) -> Any:
        if self.truncated:
            raise Stop(f"an answer of more than {MAX_BODY} bytes")
        return read_json(self.body, f"HTTP {self.status} with a body that is not JSON")


def read_json(body: bytes | str, otherwise: str) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise Stop(otherwise) from None


def plain(value: Any) -> Any:
    """The value with no character in it that could steer a terminal or break an encoder."""
    if isinstance(value, str):
        text = value.encode("utf-8", "replace").decode("utf-8")
        return "".join(c if c in "\n\t" or c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
    if isinstance(value, list):
        return [plain(v) for v in value]
    return {plain(k): plain(v) for k, v in value.items()} if isinstance(value, dict) else value


def at(value: Any, *path: str | int) -> Any:
    """The value at a path, or None where the path does not exist."""
    for step in path:
        if isinstance(value, dict) and isinstance(step, str):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int):
            value = value[step] if -len(value) <= step < len(value) else None
        else:
            return None
    return value


def items_of(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def fields_of(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def text_of(value: Any) -> str:
    """All text of a message's parts."""
    return " ".join(t for p in items_of(at(value, "parts")) if isinstance(t := at(p, "text"), str)).strip()


class Wire:
    """One conversation with the subject, written down as it goes."""

    def __init__(self, subject: Subject, card: Any, endpoint: str) -> None:
        self.subject = subject
        self.card = card
        self.endpoint = endpoint
        self.log: list[Exchange] = []
        self.heard: list[bytes] = []
        self.answered = False

    # raw HTTP

    @asynccontextmanager
    async def _open(
        self, method: str, url: str, headers: Mapping[str, str], content: bytes | None
    ) -> AsyncIterator[httpx.Response]:
        sent = {"Accept-Encoding": "identity", **headers}
        limit = httpx.Timeout(self.subject.deadline)
        try:
            async with self.subject.http.stream(
                method, url, headers=sent, content=content, timeout=limit, follow_redirects=False
            ) as response:
                self.answered = True
                yield response
        except asyncio.CancelledError:
            self._note(method, url, headers, content, "(no whole answer within the deadline)")
            raise
        except httpx.TimeoutException:
            self._note(method, url, headers, content, "(no answer)")
            raise Silence(f"no answer within {self.subject.deadline:g} s") from None
        except httpx.ConnectError:
            self._note(method, url, headers, content, "(connection refused)")
            raise Silence("the connection was refused") from None
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError):
            self._note(method, url, headers, content, "(connection closed, or not HTTP)")
            raise Silence("the connection was closed without a whole answer") from None

    async def request(
        self, method: str, url: str, headers: Mapping[str, str], content: bytes | None = None
    ) -> Reply:
        body, truncated = bytearray(), False
        async with self._open(method, url, headers, content) as response:
            async for chunk in response.aiter_raw():
                body += chunk
                if len(body) > MAX_BODY:
                    truncated = True
                    break
        reply = Reply(response.status_code, response.headers, bytes(body[:MAX_BODY]), truncated)
        self.heard.append(reply.body)
        self._note(method, url, headers, content, _shown_reply(response, reply.body, truncated))
        return reply

    def _note(
        self, method: str, url: str, headers: Mapping[str, str], content: bytes | None, response: str
    ) -> None:
        lines = [f"{method} {httpx.URL(url).raw_path.decode('ascii', 'replace')}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        if content is not None:
            lines += ["", content.decode("utf-8", "replace")]
        self.log.append(Exchange(self._clean("\n".join(lines)), self._clean(response)))

    def _clean(self, text: str) -> str:
        for token in (self.subject.token, self.subject.other_token):
            if token:
                text = text.replace(token, "<token>")
        text = str(plain(text))
        return text if len(text) <= SHOWN else text[:SHOWN] + f" ... ({len(text) - SHOWN} more characters)"

    # JSON-RPC

    def headers(self, token: str | None = None, version: str | None = VERSION) -> dict[str, str]:
        sent = {"Content-Type": "application/json"}
        if version is not None:
            sent["A2A-Version"] = version
        if token is not None:
            sent["Authorization"] = f"Bearer {token}"
        return sent

    async def rpc(
        self, method: str, params: Any, *, token: str | None = None, version: str | None = VERSION
    ) -> Any:
        """The ``result`` of a call, or the code (an int) of its error."""
        call_id = self.subject.new_id()
        body = json.dumps({"jsonrpc": "2.0", "id": call_id, "method": method, "params": params})
        headers = self.headers(token or self.subject.token, version)
        reply = await self.request("POST", self.endpoint, headers, body.encode())
        return envelope(reply.json(), call_id, reply.status)

    def message(self, parts: Sequence[Part], **more: Any) -> dict[str, Any]:
        return {"messageId": self.subject.new_id(), "role": "ROLE_USER", "parts": list(parts), **more}

    async def send(
        self, message: Mapping[str, Any], *, token: str | None = None, **configuration: Any
    ) -> Any:
        params: dict[str, Any] = {"message": dict(message)}
        if configuration:
            params["configuration"] = configuration
        return await self.rpc("SendMessage", params, token=token)

    async def task(self, task_id: str, **more: Any) -> dict[str, Any]:
        return task_of(await self.rpc("GetTask", {"id": task_id, **more}))

    async def start(self, message: Mapping[str, Any], **configuration: Any) -> dict[str, Any]:
        """Send a message that must yield a task."""
        result = await self.send(message, **configuration)
        if isinstance(result, dict) and "message" in result:
            raise Stop("a message where a task was expected")
        return task_of(at(result, "task") if isinstance(result, dict) else result)

    async def settle(self, task: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
        """Poll until the task is at rest. Returns it and the states seen, in order."""
        seen = [state_of(task)]
        while seen[-1] not in AT_REST:
            await asyncio.sleep(0.02)
            task = await self.task(task["id"])
            if state_of(task) != seen[-1]:
                seen.append(state_of(task))
        return task, seen

    async def settled(self, parts: Sequence[Part], **more: Any) -> dict[str, Any]:
        task, _ = await self.settle(await self.start(self.message(parts, **more)))
        return task

    def probe(self, name: str) -> Probe:
        probe = getattr(self.subject, name)
        assert isinstance(probe, Probe)
        return probe


def _shown_reply(response: httpx.Response, body: bytes, truncated: bool) -> str:
    lines = [f"HTTP {response.status_code}"]
    shown_headers = ("content-type", "www-authenticate")
    lines += [f"{n}: {response.headers[n]}" for n in shown_headers if n in response.headers]
    shown = body[: SHOWN * 4].decode("utf-8", "replace")
    return "\n".join([*lines, "", shown]) + (f" ... (cut at {MAX_BODY} bytes)" if truncated else "")


def envelope(answer: Any, call_id: str, status: int) -> Any:
    if not isinstance(answer, dict) or answer.get("jsonrpc") != "2.0":
        raise Stop(f"HTTP {status} with a body that is no JSON-RPC 2.0 answer")
    code = at(answer, "error", "code")
    if ("result" in answer) == ("error" in answer):
        raise Stop("a JSON-RPC answer with both or neither of result and error")
    if "error" in answer:
        if type(code) is not int or not isinstance(at(answer, "error", "message"), str):
            raise Stop("a JSON-RPC error without an integer code and a message")
        return code
    if answer.get("id") != call_id:
        raise Stop("a JSON-RPC answer with another id than the call's")
    return answer["result"]


def task_of(value: Any) -> dict[str, Any]:
    if isinstance(value, int):
        raise Stop(f"error {value} where a task was expected")
    if not isinstance(value, dict) or not isinstance(value.get("id"), str) or not value["id"]:
        raise Stop("an answer without a task that has an id")
    state_of(value)
    return value


def state_of(task: Any) -> str:
    state = at(task, "status", "state")
    if not isinstance(state, str) or state not in STATES:
        raise Stop(f"a task whose state is {json.dumps(state)[:80]}, no state of A2A 1.0")
    return state


def order_of(states: Iterable[str]) -> str:
    """``legal``, or the first step that no task may take."""
    path = list(states)
    for old, new in itertools.pairwise(path):
        if old in TERMINAL and new != old:
            return f"{old} -> {new}"
        if new == "TASK_STATE_SUBMITTED" and old != new:
            return f"{old} -> {new}"
    return "legal"


def outcome_of(result: Any) -> Any:
    """An error code as it is, anything else as the word ``answered``."""
    return result if isinstance(result, int) and not isinstance(result, bool) else "answered"
