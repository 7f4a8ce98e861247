"""The checks: each talks to the agent and returns what it observed, in the shape of ``expected``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from jsonschema import Draft202012Validator

from ai_evolution.a2a.behaviours.card import card_problems, fetch_card
from ai_evolution.a2a.behaviours.wire import (
    AT_REST,
    INPUT_REQUIRED,
    LEAKS,
    MAX_BODY,
    MAX_EVENTS,
    TERMINAL,
    Reply,
    Stop,
    Wire,
    at,
    envelope,
    fields_of,
    items_of,
    order_of,
    outcome_of,
    read_json,
    state_of,
    task_of,
    text_of,
)


async def card_published(wire: Wire) -> Any:
    return card_problems(await fetch_card(wire), wire.subject.url, wire.subject.token is not None)


async def version_demanded(wire: Wire) -> Any:
    ask = {"id": wire.subject.new_id()}
    return {
        "no header": outcome_of(await wire.rpc("GetTask", ask, version=None)),
        "1.0": outcome_of(await wire.rpc("GetTask", ask, version="1.0")),
        "2.0": outcome_of(await wire.rpc("GetTask", ask, version="2.0")),
    }


async def auth_demanded(wire: Wire) -> Any:
    body = json.dumps({"jsonrpc": "2.0", "id": "1", "method": "GetTask", "params": {"id": "x"}}).encode()
    seen = {}
    for name, token in (("no token", None), ("wrong token", wire.subject.new_id())):
        reply = await wire.request("POST", wire.endpoint, wire.headers(token), body)
        challenge = "with" if reply.headers.get("www-authenticate") else "without"
        seen[name] = f"{reply.status} {challenge} WWW-Authenticate"
    return seen


async def task_completes(wire: Wire) -> Any:
    started = await wire.start(wire.message(wire.probe("complete").parts), returnImmediately=True)
    task, seen = await wire.settle(started)
    again = await wire.task(task["id"])
    return {"order": order_of([*seen, state_of(again)]), "ends": state_of(again)}


async def task_asks(wire: Wire) -> Any:
    probe = wire.probe("ask")
    asked = await wire.settled(probe.parts)
    seen: dict[str, Any] = {
        "first": state_of(asked),
        "question": bool(text_of(at(asked, "status", "message"))),
    }
    if seen["first"] != INPUT_REQUIRED:
        return seen
    ids = {"taskId": asked["id"], "contextId": asked.get("contextId")}
    done = await wire.settled(probe.answer or (), **{k: v for k, v in ids.items() if v})
    return {
        **seen,
        "same task": done["id"] == asked["id"],
        "same context": bool(ids["contextId"]) and done.get("contextId") == ids["contextId"],
        "ends": state_of(done),
    }


def _data(task: Any, name: str | None) -> list[Any]:
    """The data parts of the task's artifacts (of the one called ``name``, if given)."""
    wanted = [a for a in items_of(at(task, "artifacts")) if name is None or at(a, "name") == name]
    return [
        p["data"] for a in wanted for p in items_of(at(a, "parts")) if isinstance(p, dict) and "data" in p
    ]


async def result_in_artifact(wire: Wire) -> Any:
    probe = wire.probe("complete")
    task = await wire.settled(probe.parts)
    if not items_of(at(task, "artifacts")):
        return "no artifact" + (", only chat" if text_of(at(task, "status", "message")) else "")
    named = f" called {probe.artifact}" if probe.artifact else ""
    return "an artifact" if _data(task, probe.artifact) else f"no artifact{named} with a data part"


async def artifact_typed(wire: Wire) -> Any:
    """What breaks the schema; for the ``ask`` probe too, since its decision is another."""
    found: list[str] = []
    for name in ("complete", "ask"):
        probe = getattr(wire.subject, name)
        if probe is None or probe.schema is None:
            continue
        task = await wire.settled(probe.parts)
        if name == "ask" and state_of(task) == INPUT_REQUIRED:
            task = await wire.settled(probe.answer or (), taskId=task["id"])
        found += _schema_errors(_data(task, probe.artifact), probe.schema, name)
    return found


def _schema_errors(data: list[Any], schema: Mapping[str, Any], name: str) -> list[str]:
    if len(data) != 1:
        return [f"{name}: {len(data)} data parts where one was expected"]
    errors = sorted(Draft202012Validator(dict(schema)).iter_errors(data[0]), key=lambda e: e.json_path)
    return [f"{name}: {e.json_path}: {e.message[:160]}" for e in errors[:5]]


async def artifact_stable(wire: Wire) -> Any:
    task = await wire.settled(wire.probe("complete").parts)
    if not items_of(at(task, "artifacts")):
        return "no artifact"
    again = await wire.task(task["id"])
    return "the same" if again.get("artifacts") == task.get("artifacts") else "another"


async def terminal_refuses(wire: Wire) -> Any:
    parts = wire.probe("complete").parts
    task = await wire.settled(parts)
    if state_of(task) not in TERMINAL:
        return {"message": "the task did not end"}
    said = outcome_of(await wire.send(wire.message(parts, taskId=task["id"])))
    return {"message": said, "state": state_of(await wire.task(task["id"]))}


async def unknown_task(wire: Wire) -> Any:
    ask = {"id": wire.subject.new_id()}
    return {m: outcome_of(await wire.rpc(m, ask)) for m in ("GetTask", "CancelTask")}


async def task_owned(wire: Wire) -> Any:
    parts = wire.probe("complete").parts
    task = await wire.settled(parts)
    other = wire.subject.other_token
    seen = {
        m: outcome_of(await wire.rpc(m, {"id": task["id"]}, token=other)) for m in ("GetTask", "CancelTask")
    }
    seen["SendMessage"] = outcome_of(await wire.send(wire.message(parts, taskId=task["id"]), token=other))
    return seen


async def cancel_ends(wire: Wire) -> Any:
    task = await wire.start(wire.message(wire.probe("slow").parts), returnImmediately=True)
    if state_of(task) in AT_REST:
        return {"before": state_of(task)}
    answer = await wire.rpc("CancelTask", {"id": task["id"]})
    answered = state_of(task_of(answer))
    return {"before": "active", "answer": answered, "after": state_of(await wire.task(task["id"]))}


async def cancel_refused(wire: Wire) -> Any:
    task = await wire.settled(wire.probe("complete").parts)
    said = outcome_of(await wire.rpc("CancelTask", {"id": task["id"]}))
    return {"CancelTask": said, "state": state_of(await wire.task(task["id"]))}


async def input_rejected(wire: Wire) -> Any:
    task = await wire.settled(wire.probe("reject").parts)
    return {"ends": state_of(task), "reason": bool(text_of(at(task, "status", "message")))}


async def message_once(wire: Wire) -> Any:
    message = wire.message(wire.probe("complete").parts)
    first = await wire.start(message)
    second = await wire.start(message)
    return "one task" if first["id"] == second["id"] else "two tasks"


async def failure_neutral(wire: Wire) -> Any:
    parts = wire.probe("crash").parts
    result = await wire.send(wire.message(parts))
    ends: Any = result if isinstance(result, int) else None
    if isinstance(result, dict):
        task, _ = await wire.settle(task_of(at(result, "task")))
        ends = state_of(await wire.task(task["id"]))
    heard = [b.decode("utf-8", "replace") for b in wire.heard]
    heard += [s for b in wire.heard for s in _strings(read_json(b, "an answer that is not JSON"))]
    leaks = [text for text in (*wire.subject.secrets, *LEAKS) if any(text in h for h in heard)]
    return {"ends": ends, "leaks": leaks}


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    children = value.values() if isinstance(value, dict) else items_of(value)
    for child in children:
        yield from _strings(child)


async def unknown_method(wire: Wire) -> Any:
    return outcome_of(await wire.rpc("DoMagic", {}))


async def malformed_json(wire: Wire) -> Any:
    headers = wire.headers(wire.subject.token)
    reply = await wire.request("POST", wire.endpoint, headers, b'{"jsonrpc": "2.0", "id": 1, "method": ')
    answer = reply.json()
    return outcome_of(envelope(answer, "", reply.status)) if "error" in fields_of(answer) else "answered"


async def invalid_params(wire: Wire) -> Any:
    return {
        "no message": outcome_of(await wire.rpc("SendMessage", {})),
        "message without parts": outcome_of(await wire.send(wire.message(()))),
        "no task id": outcome_of(await wire.rpc("GetTask", {})),
    }


async def stream_honest(wire: Wire) -> Any:
    """A card that says streaming streams; one that does not refuses."""
    says = at(wire.card, "capabilities", "streaming") is True
    call_id = wire.subject.new_id()
    params = {"message": wire.message(wire.probe("complete").parts)}
    call = {"jsonrpc": "2.0", "id": call_id, "method": "SendStreamingMessage", "params": params}
    body = json.dumps(call).encode()
    headers = {**wire.headers(wire.subject.token), "Accept": "text/event-stream, application/json"}
    if not says:
        reply = await wire.request("POST", wire.endpoint, headers, body)
        if reply.headers.get("content-type", "").startswith("text/event-stream"):
            return "the card says no streaming, and it streams"
        said = outcome_of(envelope(reply.json(), call_id, reply.status))
        wrong = f"no streaming in the card, and {said} instead of -32004"
        return "as the card says" if said == -32004 else wrong
    reply = await wire.request("POST", wire.endpoint, headers, body)
    if not reply.headers.get("content-type", "").startswith("text/event-stream"):
        return "the card says streaming, and the answer is no event stream"
    return _stream_problem(_events(reply, call_id)) or "as the card says"


def _events(reply: Reply, call_id: str) -> list[dict[str, Any]]:
    if reply.truncated:
        raise Stop(f"a stream of more than {MAX_BODY} bytes")
    text = reply.body.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
    found: list[dict[str, Any]] = []
    for block in text.split("\n\n"):
        data = "\n".join(line[5:].removeprefix(" ") for line in block.split("\n") if line.startswith("data:"))
        if not data:
            continue
        if len(found) == MAX_EVENTS:
            raise Stop(f"a stream of more than {MAX_EVENTS} events")
        event = read_json(data, "an event that is not JSON")
        found.append(fields_of(envelope(event, call_id, reply.status)))
    return found


def _stream_problem(events: list[dict[str, Any]]) -> str:
    if not events:
        return "the stream ended without an event"
    if "task" not in events[0]:
        return "the first event of the stream is no task"
    carriers = [at(e, "task") or at(e, "statusUpdate") for e in events]
    states = [state_of(c) for c in carriers if c]
    if order_of(states) != "legal":
        return f"the stream has {order_of(states)}"
    if states[-1] not in AT_REST:
        return f"the stream ended in {states[-1]}"
    artifacts = any(at(e, "artifactUpdate") or at(e, "task", "artifacts") for e in events)
    return "" if artifacts else "the stream carried no artifact"


async def history_bounded(wire: Wire) -> Any:
    """Two turns where the agent asks, one where it does not; then 0 and 1 messages are asked for."""
    probe = wire.subject.ask or wire.probe("complete")
    task = await wire.settled(probe.parts)
    if state_of(task) == INPUT_REQUIRED:
        task = await wire.settled(probe.answer or (), taskId=task["id"])
    none = len(items_of((await wire.task(task["id"], historyLength=0)).get("history")))
    one = len(items_of((await wire.task(task["id"], historyLength=1)).get("history")))
    full = len(items_of((await wire.task(task["id"])).get("history")))
    return {"0": none, "1": one, "unset": "some" if full else "none"}


async def context_matches(wire: Wire) -> Any:
    asked = await wire.settled(wire.probe("ask").parts)
    parts = wire.probe("ask").answer or ()
    message = wire.message(parts, taskId=asked["id"], contextId=wire.subject.new_id())
    said = outcome_of(await wire.send(message))
    return {"message": said, "state": state_of(await wire.task(asked["id"]))}
