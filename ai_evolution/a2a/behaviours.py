"""An independent judge of A2A 1.0 agents: what does this agent do, seen from the outside?

How it works. A ``Subject`` says where the agent is, which tokens it knows and which inputs bring
it into which state (a ``Probe`` each). ``examine`` walks through ``BEHAVIOURS``, speaks raw HTTP
(httpx and json, neither our client nor the SDK's: a judge that shares code with the judged shares
its mistakes) and returns one ``Observation`` per behaviour: what the specification expects, what
was observed, and, where the two differ, the requests and answers themselves.

What it refuses to do. It never raises because of what an agent does: silence, floods, closed
connections and nonsense are observations. It follows no redirect and no interface URL that leaves
the agent's own origin. It reads at most ``MAX_BODY`` bytes of an answer, and every check has a
deadline. It keeps no token in what it reports. It judges the JSON-RPC binding alone.

Two of the behaviours ask for more than the specification's MUST, because an agent that meets
strangers needs them: one task per ``messageId`` (a MAY in section 3.3.1) and a task that ends
``TASK_STATE_FAILED`` with a neutral text when the agent's own code breaks.

A JSON number such as ``12000.0`` counts as the integer that it is (JSON Schema 2020-12, and the
SDK's protobuf ``Struct`` writes integers so); ``"12000"`` and ``12000.5`` do not.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
from jsonschema import Draft202012Validator

from ai_evolution.errors import UsageError

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

Part = Mapping[str, Any]


@dataclass(frozen=True)
class Probe:
    """One input for the agent. ``parts`` are the wire's own parts.

    ``answer`` are the parts that answer the agent's question (for the ``ask`` probe), ``schema``
    is the JSON Schema that the artifact's data must satisfy, ``artifact`` its name when the name
    matters.
    """

    parts: Sequence[Part]
    answer: Sequence[Part] | None = None
    schema: Mapping[str, Any] | None = None
    artifact: str | None = None


def _uuid() -> str:
    return str(uuid.uuid4())


@dataclass(frozen=True)
class Subject:
    """The agent to examine. A probe that is None leaves out the behaviours that need it.

    ``url`` is the agent's base URL; ``http`` any httpx client that reaches it; ``token`` and
    ``other_token`` are bearer tokens of two different callers. The probes: ``complete`` runs to
    its artifact at once, ``ask`` needs an answer first, ``reject`` is refused by the agent,
    ``slow`` works for longer than ``deadline``, ``crash`` breaks the agent's own code.
    ``secrets`` are texts that must never leave the agent. ``deadline`` is seconds per check.
    """

    url: str
    http: httpx.AsyncClient
    token: str | None = None
    other_token: str | None = None
    complete: Probe | None = None
    ask: Probe | None = None
    reject: Probe | None = None
    slow: Probe | None = None
    crash: Probe | None = None
    secrets: Sequence[str] = ()
    deadline: float = 5.0
    new_id: Callable[[], str] = _uuid


@dataclass(frozen=True)
class Exchange:
    """One request and its answer, trimmed, tokens replaced."""

    request: str
    response: str


@dataclass(frozen=True)
class Observation:
    """What one check saw; ``holds`` says whether observed is expected. Exchanges only when not."""

    id: str
    expected: Any
    observed: Any
    exchange: tuple[Exchange, ...] = ()

    @property
    def holds(self) -> bool:
        return bool(self.expected == self.observed)

    def as_dict(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "holds": self.holds,
            "expected": self.expected,
            "observed": self.observed,
            "exchange": [{"request": e.request, "response": e.response} for e in self.exchange],
        }


Check = Callable[["_Wire"], Awaitable[Any]]


@dataclass(frozen=True)
class Behaviour:
    """One thing an agent does or does not. ``source`` is the section of the specification.

    ``needs`` names the fields of ``Subject`` without which it cannot be examined.
    """

    id: str
    en: str
    es: str
    source: str
    needs: tuple[str, ...]
    expected: Any
    check: Check = field(repr=False)


class _Stop(Exception):
    """A check ends early: ``args[0]`` is what was observed instead."""


class _Silence(_Stop):
    """No answer at all arrived."""


# --- the wire -------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Reply:
    status: int
    headers: httpx.Headers
    body: bytes
    truncated: bool

    def json(self) -> Any:
        if self.truncated:
            raise _Stop(f"an answer of more than {MAX_BODY} bytes")
        return _json(self.body, f"HTTP {self.status} with a body that is not JSON")


def _json(body: bytes | str, otherwise: str) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise _Stop(otherwise) from None


def _plain(value: Any) -> Any:
    """The value with no character in it that could steer a terminal or break an encoder."""
    if isinstance(value, str):
        text = value.encode("utf-8", "replace").decode("utf-8")
        return "".join(c if c in "\n\t" or c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
    if isinstance(value, list):
        return [_plain(v) for v in value]
    return {_plain(k): _plain(v) for k, v in value.items()} if isinstance(value, dict) else value


def _at(value: Any, *path: str | int) -> Any:
    """The value at a path, or None where the path does not exist."""
    for step in path:
        if isinstance(value, dict) and isinstance(step, str):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int):
            value = value[step] if -len(value) <= step < len(value) else None
        else:
            return None
    return value


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: Any) -> str:
    """All text of a message's parts."""
    return " ".join(t for p in _list(_at(value, "parts")) if isinstance(t := _at(p, "text"), str)).strip()


class _Wire:
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
            raise _Silence(f"no answer within {self.subject.deadline:g} s") from None
        except httpx.ConnectError:
            self._note(method, url, headers, content, "(connection refused)")
            raise _Silence("the connection was refused") from None
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError):
            self._note(method, url, headers, content, "(connection closed, or not HTTP)")
            raise _Silence("the connection was closed without a whole answer") from None

    async def request(
        self, method: str, url: str, headers: Mapping[str, str], content: bytes | None = None
    ) -> _Reply:
        body, truncated = bytearray(), False
        async with self._open(method, url, headers, content) as response:
            async for chunk in response.aiter_raw():
                body += chunk
                if len(body) > MAX_BODY:
                    truncated = True
                    break
        reply = _Reply(response.status_code, response.headers, bytes(body[:MAX_BODY]), truncated)
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
        text = str(_plain(text))
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
        return _envelope(reply.json(), call_id, reply.status)

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
        return _task(await self.rpc("GetTask", {"id": task_id, **more}))

    async def start(self, message: Mapping[str, Any], **configuration: Any) -> dict[str, Any]:
        """Send a message that must yield a task."""
        result = await self.send(message, **configuration)
        if isinstance(result, dict) and "message" in result:
            raise _Stop("a message where a task was expected")
        return _task(_at(result, "task") if isinstance(result, dict) else result)

    async def settle(self, task: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
        """Poll until the task is at rest. Returns it and the states seen, in order."""
        seen = [_state(task)]
        while seen[-1] not in AT_REST:
            await asyncio.sleep(0.02)
            task = await self.task(task["id"])
            if _state(task) != seen[-1]:
                seen.append(_state(task))
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


def _envelope(answer: Any, call_id: str, status: int) -> Any:
    if not isinstance(answer, dict) or answer.get("jsonrpc") != "2.0":
        raise _Stop(f"HTTP {status} with a body that is no JSON-RPC 2.0 answer")
    code = _at(answer, "error", "code")
    if ("result" in answer) == ("error" in answer):
        raise _Stop("a JSON-RPC answer with both or neither of result and error")
    if "error" in answer:
        if type(code) is not int or not isinstance(_at(answer, "error", "message"), str):
            raise _Stop("a JSON-RPC error without an integer code and a message")
        return code
    if answer.get("id") != call_id:
        raise _Stop("a JSON-RPC answer with another id than the call's")
    return answer["result"]


def _task(value: Any) -> dict[str, Any]:
    if isinstance(value, int):
        raise _Stop(f"error {value} where a task was expected")
    if not isinstance(value, dict) or not isinstance(value.get("id"), str) or not value["id"]:
        raise _Stop("an answer without a task that has an id")
    _state(value)
    return value


def _state(task: Any) -> str:
    state = _at(task, "status", "state")
    if not isinstance(state, str) or state not in STATES:
        raise _Stop(f"a task whose state is {json.dumps(state)[:80]}, no state of A2A 1.0")
    return state


def _order(states: Iterable[str]) -> str:
    """``legal``, or the first step that no task may take."""
    path = list(states)
    for old, new in itertools.pairwise(path):
        if old in TERMINAL and new != old:
            return f"{old} -> {new}"
        if new == "TASK_STATE_SUBMITTED" and old != new:
            return f"{old} -> {new}"
    return "legal"


def _said(result: Any) -> Any:
    """An error code as it is, anything else as the word ``answered``."""
    return result if isinstance(result, int) and not isinstance(result, bool) else "answered"


# --- the checks: each returns what it observed ----------------------------------------------


def _misses(where: str, value: Any, fields: Mapping[str, type]) -> list[str]:
    return [
        f"{where}{name} is missing or no {kind.__name__}"
        for name, kind in fields.items()
        if not isinstance(_at(value, name), kind) or (kind is not dict and not _at(value, name))
    ]


def _card_problems(card: Any, url: str, secured: bool) -> list[str]:
    """What the card lacks: the REQUIRED fields of ``a2a.proto``, and an endpoint of this origin."""
    found = _misses("", card, {
        "name": str, "description": str, "version": str, "capabilities": dict, "supportedInterfaces": list,
        "defaultInputModes": list, "defaultOutputModes": list, "skills": list,
    })  # fmt: skip
    for n, skill in enumerate(_list(_at(card, "skills"))):
        found += _misses(f"skills[{n}].", skill, {"id": str, "name": str, "description": str, "tags": list})
    for n, each in enumerate(_list(_at(card, "supportedInterfaces"))):
        shape = {"url": str, "protocolBinding": str, "protocolVersion": str}
        found += _misses(f"supportedInterfaces[{n}].", each, shape)
    if _endpoint(card, url) is None:
        found.append("no JSONRPC interface of protocol version 1.x on the card's own origin")
    if secured and not (_at(card, "securitySchemes") and _at(card, "securityRequirements")):
        found.append("securitySchemes and securityRequirements do not say that a token is needed")
    return found


def _origin(url: str) -> tuple[str, str, int | None] | None:
    try:
        parsed = httpx.URL(url)
    except (httpx.InvalidURL, TypeError, ValueError):
        return None
    port = parsed.port or {"http": 80, "https": 443}.get(parsed.scheme)
    return (parsed.scheme, parsed.host, port) if parsed.host else None


def _same_origin(target: Any, url: str) -> bool:
    return isinstance(target, str) and _origin(target) is not None and _origin(target) == _origin(url)


def _endpoint(card: Any, url: str) -> str | None:
    for each in _list(_at(card, "supportedInterfaces")):
        target, version = _at(each, "url"), _at(each, "protocolVersion")
        speaks = _at(each, "protocolBinding") == "JSONRPC" and isinstance(version, str)
        if speaks and version.split(".")[0] == "1" and _same_origin(target, url):
            return str(target)
    return None


async def _fetch_card(wire: _Wire) -> Any:
    url = str(httpx.URL(wire.subject.url).join(CARD_PATH))
    reply = await wire.request("GET", url, {"Accept": "application/json"})
    if reply.status != 200:
        raise _Stop([f"HTTP {reply.status} at {CARD_PATH}"])
    return reply.json()


async def _card_published(wire: _Wire) -> Any:
    return _card_problems(await _fetch_card(wire), wire.subject.url, wire.subject.token is not None)


async def _version_demanded(wire: _Wire) -> Any:
    ask = {"id": wire.subject.new_id()}
    return {
        "no header": _said(await wire.rpc("GetTask", ask, version=None)),
        "1.0": _said(await wire.rpc("GetTask", ask, version="1.0")),
        "2.0": _said(await wire.rpc("GetTask", ask, version="2.0")),
    }


async def _auth_demanded(wire: _Wire) -> Any:
    body = json.dumps({"jsonrpc": "2.0", "id": "1", "method": "GetTask", "params": {"id": "x"}}).encode()
    seen = {}
    for name, token in (("no token", None), ("wrong token", wire.subject.new_id())):
        reply = await wire.request("POST", wire.endpoint, wire.headers(token), body)
        challenge = "with" if reply.headers.get("www-authenticate") else "without"
        seen[name] = f"{reply.status} {challenge} WWW-Authenticate"
    return seen


async def _task_completes(wire: _Wire) -> Any:
    started = await wire.start(wire.message(wire.probe("complete").parts), returnImmediately=True)
    task, seen = await wire.settle(started)
    again = await wire.task(task["id"])
    return {"order": _order([*seen, _state(again)]), "ends": _state(again)}


async def _task_asks(wire: _Wire) -> Any:
    probe = wire.probe("ask")
    asked = await wire.settled(probe.parts)
    seen: dict[str, Any] = {"first": _state(asked), "question": bool(_text(_at(asked, "status", "message")))}
    if seen["first"] != INPUT_REQUIRED:
        return seen
    ids = {"taskId": asked["id"], "contextId": asked.get("contextId")}
    done = await wire.settled(probe.answer or (), **{k: v for k, v in ids.items() if v})
    return {
        **seen,
        "same task": done["id"] == asked["id"],
        "same context": bool(ids["contextId"]) and done.get("contextId") == ids["contextId"],
        "ends": _state(done),
    }


def _data(task: Any, name: str | None) -> list[Any]:
    """The data parts of the task's artifacts (of the one called ``name``, if given)."""
    wanted = [a for a in _list(_at(task, "artifacts")) if name is None or _at(a, "name") == name]
    return [p["data"] for a in wanted for p in _list(_at(a, "parts")) if isinstance(p, dict) and "data" in p]


async def _result_in_artifact(wire: _Wire) -> Any:
    probe = wire.probe("complete")
    task = await wire.settled(probe.parts)
    if not _list(_at(task, "artifacts")):
        return "no artifact" + (", only chat" if _text(_at(task, "status", "message")) else "")
    named = f" called {probe.artifact}" if probe.artifact else ""
    return "an artifact" if _data(task, probe.artifact) else f"no artifact{named} with a data part"


async def _artifact_typed(wire: _Wire) -> Any:
    """What breaks the schema; for the ``ask`` probe too, since its decision is another."""
    found: list[str] = []
    for name in ("complete", "ask"):
        probe = getattr(wire.subject, name)
        if probe is None or probe.schema is None:
            continue
        task = await wire.settled(probe.parts)
        if name == "ask" and _state(task) == INPUT_REQUIRED:
            task = await wire.settled(probe.answer or (), taskId=task["id"])
        found += _schema_errors(_data(task, probe.artifact), probe.schema, name)
    return found


def _schema_errors(data: list[Any], schema: Mapping[str, Any], name: str) -> list[str]:
    if len(data) != 1:
        return [f"{name}: {len(data)} data parts where one was expected"]
    errors = sorted(Draft202012Validator(dict(schema)).iter_errors(data[0]), key=lambda e: e.json_path)
    return [f"{name}: {e.json_path}: {e.message[:160]}" for e in errors[:5]]


async def _artifact_stable(wire: _Wire) -> Any:
    task = await wire.settled(wire.probe("complete").parts)
    if not _list(_at(task, "artifacts")):
        return "no artifact"
    again = await wire.task(task["id"])
    return "the same" if again.get("artifacts") == task.get("artifacts") else "another"


async def _terminal_refuses(wire: _Wire) -> Any:
    parts = wire.probe("complete").parts
    task = await wire.settled(parts)
    if _state(task) not in TERMINAL:
        return {"message": "the task did not end"}
    said = _said(await wire.send(wire.message(parts, taskId=task["id"])))
    return {"message": said, "state": _state(await wire.task(task["id"]))}


async def _unknown_task(wire: _Wire) -> Any:
    ask = {"id": wire.subject.new_id()}
    return {m: _said(await wire.rpc(m, ask)) for m in ("GetTask", "CancelTask")}


async def _task_owned(wire: _Wire) -> Any:
    parts = wire.probe("complete").parts
    task = await wire.settled(parts)
    other = wire.subject.other_token
    seen = {m: _said(await wire.rpc(m, {"id": task["id"]}, token=other)) for m in ("GetTask", "CancelTask")}
    seen["SendMessage"] = _said(await wire.send(wire.message(parts, taskId=task["id"]), token=other))
    return seen


async def _cancel_ends(wire: _Wire) -> Any:
    task = await wire.start(wire.message(wire.probe("slow").parts), returnImmediately=True)
    if _state(task) in AT_REST:
        return {"before": _state(task)}
    answer = await wire.rpc("CancelTask", {"id": task["id"]})
    answered = _state(_task(answer))
    return {"before": "active", "answer": answered, "after": _state(await wire.task(task["id"]))}


async def _cancel_refused(wire: _Wire) -> Any:
    task = await wire.settled(wire.probe("complete").parts)
    said = _said(await wire.rpc("CancelTask", {"id": task["id"]}))
    return {"CancelTask": said, "state": _state(await wire.task(task["id"]))}


async def _input_rejected(wire: _Wire) -> Any:
    task = await wire.settled(wire.probe("reject").parts)
    return {"ends": _state(task), "reason": bool(_text(_at(task, "status", "message")))}


async def _message_once(wire: _Wire) -> Any:
    message = wire.message(wire.probe("complete").parts)
    first = await wire.start(message)
    second = await wire.start(message)
    return "one task" if first["id"] == second["id"] else "two tasks"


async def _failure_neutral(wire: _Wire) -> Any:
    parts = wire.probe("crash").parts
    result = await wire.send(wire.message(parts))
    ends: Any = result if isinstance(result, int) else None
    if isinstance(result, dict):
        task, _ = await wire.settle(_task(_at(result, "task")))
        ends = _state(await wire.task(task["id"]))
    heard = [b.decode("utf-8", "replace") for b in wire.heard]
    heard += [s for b in wire.heard for s in _strings(_json(b, "an answer that is not JSON"))]
    leaks = [text for text in (*wire.subject.secrets, *LEAKS) if any(text in h for h in heard)]
    return {"ends": ends, "leaks": leaks}


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    children = value.values() if isinstance(value, dict) else _list(value)
    for child in children:
        yield from _strings(child)


async def _unknown_method(wire: _Wire) -> Any:
    return _said(await wire.rpc("DoMagic", {}))


async def _malformed_json(wire: _Wire) -> Any:
    headers = wire.headers(wire.subject.token)
    reply = await wire.request("POST", wire.endpoint, headers, b'{"jsonrpc": "2.0", "id": 1, "method": ')
    answer = reply.json()
    return _said(_envelope(answer, "", reply.status)) if "error" in _dict(answer) else "answered"


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


async def _invalid_params(wire: _Wire) -> Any:
    return {
        "no message": _said(await wire.rpc("SendMessage", {})),
        "message without parts": _said(await wire.send(wire.message(()))),
        "no task id": _said(await wire.rpc("GetTask", {})),
    }


async def _stream_honest(wire: _Wire) -> Any:
    """A card that says streaming streams; one that does not refuses."""
    says = _at(wire.card, "capabilities", "streaming") is True
    call_id = wire.subject.new_id()
    params = {"message": wire.message(wire.probe("complete").parts)}
    call = {"jsonrpc": "2.0", "id": call_id, "method": "SendStreamingMessage", "params": params}
    body = json.dumps(call).encode()
    headers = {**wire.headers(wire.subject.token), "Accept": "text/event-stream, application/json"}
    if not says:
        reply = await wire.request("POST", wire.endpoint, headers, body)
        if reply.headers.get("content-type", "").startswith("text/event-stream"):
            return "the card says no streaming, and it streams"
        said = _said(_envelope(reply.json(), call_id, reply.status))
        wrong = f"no streaming in the card, and {said} instead of -32004"
        return "as the card says" if said == -32004 else wrong
    reply = await wire.request("POST", wire.endpoint, headers, body)
    if not reply.headers.get("content-type", "").startswith("text/event-stream"):
        return "the card says streaming, and the answer is no event stream"
    return _stream_problem(_events(reply, call_id)) or "as the card says"


def _events(reply: _Reply, call_id: str) -> list[dict[str, Any]]:
    if reply.truncated:
        raise _Stop(f"a stream of more than {MAX_BODY} bytes")
    text = reply.body.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
    found: list[dict[str, Any]] = []
    for block in text.split("\n\n"):
        data = "\n".join(line[5:].removeprefix(" ") for line in block.split("\n") if line.startswith("data:"))
        if not data:
            continue
        if len(found) == MAX_EVENTS:
            raise _Stop(f"a stream of more than {MAX_EVENTS} events")
        event = _json(data, "an event that is not JSON")
        found.append(_dict(_envelope(event, call_id, reply.status)))
    return found


def _stream_problem(events: list[dict[str, Any]]) -> str:
    if not events:
        return "the stream ended without an event"
    if "task" not in events[0]:
        return "the first event of the stream is no task"
    carriers = [_at(e, "task") or _at(e, "statusUpdate") for e in events]
    states = [_state(c) for c in carriers if c]
    if _order(states) != "legal":
        return f"the stream has {_order(states)}"
    if states[-1] not in AT_REST:
        return f"the stream ended in {states[-1]}"
    artifacts = any(_at(e, "artifactUpdate") or _at(e, "task", "artifacts") for e in events)
    return "" if artifacts else "the stream carried no artifact"


async def _history_bounded(wire: _Wire) -> Any:
    """Two turns where the agent asks, one where it does not; then 0 and 1 messages are asked for."""
    probe = wire.subject.ask or wire.probe("complete")
    task = await wire.settled(probe.parts)
    if _state(task) == INPUT_REQUIRED:
        task = await wire.settled(probe.answer or (), taskId=task["id"])
    none = len(_list((await wire.task(task["id"], historyLength=0)).get("history")))
    one = len(_list((await wire.task(task["id"], historyLength=1)).get("history")))
    full = len(_list((await wire.task(task["id"])).get("history")))
    return {"0": none, "1": one, "unset": "some" if full else "none"}


async def _context_matches(wire: _Wire) -> Any:
    asked = await wire.settled(wire.probe("ask").parts)
    parts = wire.probe("ask").answer or ()
    message = wire.message(parts, taskId=asked["id"], contextId=wire.subject.new_id())
    said = _said(await wire.send(message))
    return {"message": said, "state": _state(await wire.task(asked["id"]))}


def _behaviours() -> Iterable[Behaviour]:
    spec = "A2A 1.0, section "
    yield Behaviour(
        "card.published",
        "The Agent Card is at /.well-known/agent-card.json, open to all, with every required field and a"
        " JSON-RPC 1.0 endpoint on the same origin.",
        "La Agent Card está en /.well-known/agent-card.json, abierta a cualquiera, con todos los campos"
        " obligatorios y un extremo JSON-RPC 1.0 en el mismo origen.",
        spec + "8.2 and 4.4.1; RFC 8615",
        (),
        [],
        _card_published,
    )
    yield Behaviour(
        "version.demanded",
        "A call without the A2A-Version header, or with version 2.0, is refused with -32009; version 1.0"
        " is understood (an unknown task is then -32001).",
        "Una llamada sin la cabecera A2A-Version, o con la versión 2.0, se rechaza con -32009; la versión 1.0"
        " se entiende (y una tarea desconocida da entonces -32001).",
        spec + "3.6.2",
        (),
        {"no header": -32009, "1.0": -32001, "2.0": -32009},
        _version_demanded,
    )
    yield Behaviour(
        "auth.demanded",
        "A call without a token, or with an unknown one, gets HTTP 401 with a WWW-Authenticate header.",
        "Una llamada sin token, o con uno desconocido, recibe HTTP 401 con la cabecera WWW-Authenticate.",
        spec + "7 and 3.3.2; RFC 6750, section 3",
        ("token",),
        {"no token": "401 with WWW-Authenticate", "wrong token": "401 with WWW-Authenticate"},
        _auth_demanded,
    )
    yield Behaviour(
        "rpc.unknown-method",
        "A method that does not exist is answered with -32601.",
        "Un método que no existe se contesta con -32601.",
        spec + "9.5; JSON-RPC 2.0, section 5.1",
        (),
        -32601,
        _unknown_method,
    )
    yield Behaviour(
        "rpc.malformed-json",
        "A body that is not JSON is answered with -32700.",
        "Un cuerpo que no es JSON se contesta con -32700.",
        spec + "9.5; JSON-RPC 2.0, section 5.1",
        (),
        -32700,
        _malformed_json,
    )
    yield Behaviour(
        "rpc.invalid-params",
        "A SendMessage without a message or without parts, and a GetTask without an id, are answered"
        " with -32602.",
        "Un SendMessage sin mensaje o sin partes, y un GetTask sin id, se contestan con -32602.",
        spec + "3.3.2 and 9.5",
        (),
        {"no message": -32602, "message without parts": -32602, "no task id": -32602},
        _invalid_params,
    )
    yield Behaviour(
        "task.unknown",
        "GetTask and CancelTask for a task that does not exist are answered with -32001.",
        "GetTask y CancelTask sobre una tarea que no existe se contestan con -32001.",
        spec + "3.1.3, 3.1.5 and 5.4",
        (),
        {"GetTask": -32001, "CancelTask": -32001},
        _unknown_task,
    )
    yield Behaviour(
        "task.completes",
        "Asked to return immediately, the agent answers with a task at once; followed with GetTask, its"
        " states come in a legal order and end in TASK_STATE_COMPLETED.",
        "Si se le pide volver de inmediato, el agente contesta enseguida con una tarea; seguida con GetTask,"
        " sus estados llegan en un orden legal y terminan en TASK_STATE_COMPLETED.",
        spec + "3.1.1, 3.2.2 and 4.1.3",
        ("complete",),
        {"order": "legal", "ends": COMPLETED},
        _task_completes,
    )
    yield Behaviour(
        "task.asks",
        "When something is missing the task stops in TASK_STATE_INPUT_REQUIRED with a question; the answer,"
        " sent with the same taskId, goes on with that very task and completes it.",
        "Cuando falta un dato la tarea se detiene en TASK_STATE_INPUT_REQUIRED con una pregunta; la"
        " respuesta, enviada con el mismo taskId, continúa esa misma tarea y la completa.",
        spec + "3.4.2",
        ("ask",),
        {
            "first": INPUT_REQUIRED,
            "question": True,
            "same task": True,
            "same context": True,
            "ends": COMPLETED,
        },
        _task_asks,
    )
    yield Behaviour(
        "context.matches",
        "A message whose contextId is not that of its task is refused with -32602, and the task stays"
        " where it was.",
        "Un mensaje cuyo contextId no es el de su tarea se rechaza con -32602, y la tarea se queda donde"
        " estaba.",
        spec + "3.4.1",
        ("ask",),
        {"message": -32602, "state": INPUT_REQUIRED},
        _context_matches,
    )
    yield Behaviour(
        "artifact.present",
        "The result of a completed task is in an artifact with a data part, not only in the chat.",
        "El resultado de una tarea completada está en un artefacto con una parte de datos, no solo en la"
        " conversación.",
        spec + "3.7 and 4.1.7",
        ("complete",),
        "an artifact",
        _result_in_artifact,
    )
    yield Behaviour(
        "artifact.typed",
        "The artifact's data is valid against the declared schema: right fields, right values, whole numbers"
        " where integers were promised.",
        "Los datos del artefacto cumplen el esquema declarado: los campos debidos, los valores debidos y"
        " números enteros donde se prometieron enteros.",
        "JSON Schema 2020-12; " + spec + "4.1.7",
        ("complete",),
        [],
        _artifact_typed,
    )
    yield Behaviour(
        "artifact.stable",
        "GetTask returns the artifacts that SendMessage returned.",
        "GetTask devuelve los mismos artefactos que devolvió SendMessage.",
        spec + "3.1.3",
        ("complete",),
        "the same",
        _artifact_stable,
    )
    yield Behaviour(
        "task.terminal",
        "A task that has ended takes no more messages: -32004, and its state does not change.",
        "Una tarea terminada no admite más mensajes: -32004, y su estado no cambia.",
        spec + "3.1.1",
        ("complete",),
        {"message": -32004, "state": COMPLETED},
        _terminal_refuses,
    )
    yield Behaviour(
        "task.owned",
        "Another caller's task is answered like one that does not exist: -32001 for GetTask, CancelTask and"
        " SendMessage.",
        "La tarea de otro cliente se contesta como si no existiera: -32001 en GetTask, CancelTask y"
        " SendMessage.",
        spec + "3.3.2 and 13.1",
        ("complete", "token", "other_token"),
        {"GetTask": -32001, "CancelTask": -32001, "SendMessage": -32001},
        _task_owned,
    )
    yield Behaviour(
        "message.once",
        "The same message (same messageId) sent twice by the same caller is one task.",
        "El mismo mensaje (mismo messageId) enviado dos veces por el mismo cliente es una sola tarea.",
        spec + "3.3.1 (a MAY there, demanded here)",
        ("complete",),
        "one task",
        _message_once,
    )
    yield Behaviour(
        "history.bounded",
        "GetTask keeps to historyLength: no message for 0, at most one for 1, some when it is not given.",
        "GetTask respeta historyLength: ningún mensaje con 0, uno como mucho con 1 y alguno si no se indica.",
        spec + "3.2.4",
        ("complete",),
        {"0": 0, "1": 1, "unset": "some"},
        _history_bounded,
    )
    yield Behaviour(
        "stream.honest",
        "SendStreamingMessage does what the card says: events in order that close with the result, or,"
        " where the card does not offer streaming, -32004.",
        "SendStreamingMessage hace lo que dice la tarjeta: eventos en orden que acaban con el resultado o, si"
        " la tarjeta no ofrece streaming, -32004.",
        spec + "3.1.2 and 3.3.4",
        ("complete",),
        "as the card says",
        _stream_honest,
    )
    yield Behaviour(
        "input.rejected",
        "Work that the agent will not do ends in TASK_STATE_REJECTED with a reason in words.",
        "El trabajo que el agente no va a hacer termina en TASK_STATE_REJECTED con un motivo en palabras.",
        spec + "4.1.3",
        ("reject",),
        {"ends": REJECTED, "reason": True},
        _input_rejected,
    )
    yield Behaviour(
        "cancel.refused",
        "CancelTask on a task that has ended is answered with -32002, and its state does not change.",
        "CancelTask sobre una tarea terminada se contesta con -32002, y su estado no cambia.",
        spec + "3.1.5",
        ("complete",),
        {"CancelTask": -32002, "state": COMPLETED},
        _cancel_refused,
    )
    yield Behaviour(
        "failure.neutral",
        "When the agent's own code breaks the task ends in TASK_STATE_FAILED, and nothing of the exception"
        " (text, class, trace) leaves the agent.",
        "Cuando falla el propio código del agente la tarea termina en TASK_STATE_FAILED, y nada de la"
        " excepción (texto, clase, traza) sale del agente.",
        spec + "1.2 (opaque execution) and 3.3.2",
        ("crash",),
        {"ends": FAILED, "leaks": []},
        _failure_neutral,
    )
    yield Behaviour(
        "cancel.ends",
        "CancelTask on a task that is being worked on ends it in TASK_STATE_CANCELED, and it stays so.",
        "CancelTask sobre una tarea en curso la termina en TASK_STATE_CANCELED, y así se queda.",
        spec + "3.1.5",
        ("slow",),
        {"before": "active", "answer": CANCELED, "after": CANCELED},
        _cancel_ends,
    )


BEHAVIOURS: Mapping[str, Behaviour] = {b.id: b for b in _behaviours()}
"""Every behaviour by id, in the order in which ``examine`` walks them: what may hang comes last."""


def applicable(subject: Subject) -> tuple[str, ...]:
    """The ids of the behaviours that this subject's probes and tokens allow to examine."""
    return tuple(b.id for b in BEHAVIOURS.values() if all(getattr(subject, n) is not None for n in b.needs))


async def examine(
    subject: Subject, only: Iterable[str] | None = None, *, deadline: float | None = None
) -> list[Observation]:
    """Observe the subject's behaviours, one after the other, and return one observation for each.

    ``only`` restricts to some ids; behaviours whose probe is absent are left out unless ``only``
    names them, which is a ``UsageError``, as is an unknown id. ``deadline`` (seconds) is for the
    whole examination: what was not reached is observed as not reached. Nothing that the agent does
    raises. After three checks in a row without a single answer the rest is not tried.
    """
    ids = _chosen(subject, only)
    ends = None if deadline is None else time.monotonic() + deadline
    wire = _Wire(subject, None, subject.url)
    silent = 0
    try:
        async with asyncio.timeout(_left(subject.deadline, ends)):
            wire.card = await _fetch_card(wire)
    except Exception:  # no card, no endpoint: card.published will say what is wrong
        wire.card = None
    endpoint = _endpoint(wire.card, subject.url) or subject.url
    observations = []
    for each in ids:
        behaviour = BEHAVIOURS[each]
        if ends is not None and time.monotonic() >= ends:
            observations.append(Observation(each, behaviour.expected, "not reached: the time was up"))
            continue
        if silent >= SILENCE:
            observations.append(Observation(each, behaviour.expected, "not tried: the agent is silent"))
            continue
        talk = _Wire(subject, wire.card, endpoint)
        observed = await _observe(behaviour, talk, _left(subject.deadline, ends))
        silent = 0 if talk.answered else silent + 1
        wrong = () if observed == behaviour.expected else tuple(talk.log[-SHOWN_EXCHANGES:])
        observations.append(Observation(each, behaviour.expected, observed, wrong))
    return observations


def _left(deadline: float, ends: float | None) -> float:
    return deadline if ends is None else max(0.0, min(deadline, ends - time.monotonic()))


async def _observe(behaviour: Behaviour, wire: _Wire, deadline: float) -> Any:
    try:
        async with asyncio.timeout(deadline):
            return _plain(await behaviour.check(wire))
    except TimeoutError:
        return f"not settled within {deadline:g} s"
    except _Stop as stop:
        return _plain(stop.args[0])
    except Exception as error:  # an agent may always think of something that we did not
        return f"an answer that cannot be understood ({type(error).__name__})"


def _chosen(subject: Subject, only: Iterable[str] | None) -> list[str]:
    possible = applicable(subject)
    if only is None:
        return list(possible)
    wanted = list(only)
    if unknown := [i for i in wanted if i not in BEHAVIOURS]:
        raise UsageError(f"{unknown[0]!r} is no behaviour; there are: {', '.join(BEHAVIOURS)}")
    if absent := [i for i in wanted if i not in possible]:
        raise UsageError(f"{absent[0]!r} needs {', '.join(BEHAVIOURS[absent[0]].needs)} in the subject")
    return [i for i in BEHAVIOURS if i in wanted]
