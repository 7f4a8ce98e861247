"""The checks: each talks to the server and returns what it observed, in the shape of ``expected``."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
from collections.abc import Iterator, Mapping
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError

from ai_evolution.mcp.behaviours.subject import Ask, Call
from ai_evolution.mcp.behaviours.wire import (
    EVERYTHING,
    LEAKS,
    Answering,
    Reply,
    Stop,
    Wire,
    at,
    error_of,
    fields_of,
    items_of,
)

NOBODY = "ai_evolution_no_such_thing"
STARTED = 0.5
"""Seconds that a slow call gets to begin before it is cancelled."""

# ------------------------------------------------------------------------------------- eras


async def era_spoken(wire: Wire) -> Any:
    if not wire.modern:
        welcome = wire.welcome or {"protocolVersion": wire.subject.revision}
        said = welcome.get("protocolVersion")
        return "the revision asked for" if said == wire.subject.revision else f"revision {said!r}"
    found = (await wire.request("server/discover")).result
    versions = items_of(found.get("supportedVersions"))
    if wire.subject.revision not in versions:
        return f"revisions {versions!r}"
    named = at(found, "_meta", "io.modelcontextprotocol/serverInfo", "name")
    return "the revision asked for" if isinstance(named, str) else "no name of the server"


# ------------------------------------------------------------------------------------ lists


async def tools_described(wire: Wire) -> Any:
    tools = await wire.pages("tools/list", "tools")
    names = [str(tool.get("name")) for tool in tools]
    found = [f"{name}: not offered" for name in wire.subject.tools if name not in names]
    found += [f"{name}: offered twice" for name in sorted({n for n in names if names.count(n) > 1})]
    for name, tool in zip(names, tools, strict=True):
        if not str(tool.get("description") or "").strip():
            found.append(f"{name}: no description")
        found += [f"{name}: inputSchema {wrong}" for wrong in _schema_faults(tool.get("inputSchema"))]
        if tool.get("outputSchema") is not None:
            found += [f"{name}: outputSchema {wrong}" for wrong in _schema_faults(tool["outputSchema"])]
    return found


def _schema_faults(schema: Any) -> Iterator[str]:
    if not isinstance(schema, dict) or schema.get("type") != "object":
        yield "is no schema of an object"
        return
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        yield f"is no JSON Schema 2020-12: {error.message[:120]}"
    for reference in sorted(_references(schema)):
        if not reference.startswith("#"):
            yield f"points out of itself: {reference[:80]}"


def _references(value: Any) -> set[str]:
    if isinstance(value, list):
        return set().union(*map(_references, value)) if value else set()
    if not isinstance(value, dict):
        return set()
    own = {value["$ref"]} if isinstance(value.get("$ref"), str) else set()
    return own.union(*map(_references, value.values()))


async def tools_order(wire: Wire) -> Any:
    lists = [await wire.pages("tools/list", "tools") for _ in range(3)]
    return "the same" if lists[0] == lists[1] == lists[2] else "another each time"


async def lists_pages(wire: Wire) -> Any:
    names = [tool.get("name") for tool in await wire.pages("tools/list", "tools")]
    wrong = await wire.request("tools/list", {"cursor": NOBODY})
    return {"twice": len(names) - len(set(map(str, names))), "false cursor": wrong.code or wrong.outcome}


async def unknown_tool(wire: Wire) -> Any:
    reply = await wire.call(Call(NOBODY))
    return reply.code if reply.code is not None else reply.outcome


async def resources_readable(wire: Wire) -> Any:
    listed = await wire.request("resources/list")
    if listed.code == -32601:
        return []
    found = []
    for resource in await wire.pages("resources/list", "resources"):
        uri = resource.get("uri")
        reply = await wire.request("resources/read", {"uri": uri})
        contents = items_of(at(reply.response, "result", "contents"))
        if not contents:
            found.append(f"{uri}: {reply.outcome if reply.code else 'no contents'}")
        elif at(contents[0], "uri") != uri:
            found.append(f"{uri}: the contents of {at(contents[0], 'uri')}")
    return found


async def prompts_required(wire: Wire) -> Any:
    if (await wire.request("prompts/list")).code == -32601:
        return []
    found = []
    for prompt in await wire.pages("prompts/list", "prompts"):
        needed = [one for one in items_of(prompt.get("arguments")) if at(one, "required") is True]
        if needed:
            reply = await wire.request("prompts/get", {"name": prompt.get("name"), "arguments": {}})
            if reply.code != -32602:
                found.append(f"{prompt.get('name')}: {reply.outcome}")
    return found


# ------------------------------------------------------------------------------------ calls


def _known(wire: Wire, name: str) -> Call:
    call = getattr(wire.subject, name)
    assert isinstance(call, Call)
    return call


async def call_succeeds(wire: Wire) -> Any:
    reply = await wire.call(_known(wire, "call"))
    return "a result with content" if _good(reply) else reply.outcome


def _good(reply: Reply) -> bool:
    blocks = items_of(at(reply.response, "result", "content"))
    return reply.outcome == "a result" and bool(blocks) and all(at(block, "type") for block in blocks)


async def call_independent(wire: Wire) -> Any:
    async with _slow(wire) as running:
        reply = await wire.call(_known(wire, "call"))
        return "answered meanwhile" if _good(reply) and not running.done() else "not answered meanwhile"


@contextlib.asynccontextmanager
async def _slow(wire: Wire) -> Any:
    """The slow call, begun; cancelled the way the revision has it when the block is left."""
    request_id = f"judge-slow-{id(wire)}"
    running = asyncio.create_task(wire.call(_known(wire, "slow"), request_id=request_id))
    try:
        await asyncio.wait({running}, timeout=STARTED)
        yield running
    finally:
        await cancel(wire, running, request_id)


async def cancel(wire: Wire, running: asyncio.Task[Reply], request_id: str) -> bool:
    """Cancel a call. Whether it was answered all the same."""
    if not wire.transport.closing_cancels:
        with contextlib.suppress(Stop):
            await wire.tell(
                "notifications/cancelled", {"requestId": request_id, "reason": "no longer wanted"}
            )
        await asyncio.wait({running}, timeout=STARTED)
    running.cancel()
    [ended] = await asyncio.gather(running, return_exceptions=True)
    return isinstance(ended, Reply) and not ended.refused


async def cancel_reaches(wire: Wire) -> Any:
    before = await _cancelled(wire)
    request_id = f"judge-cancel-{id(wire)}"
    running = asyncio.create_task(wire.call(_known(wire, "slow"), request_id=request_id))
    await asyncio.wait({running}, timeout=STARTED)
    answered = await cancel(wire, running, request_id)
    after = before
    for _ in range(20):
        after = await _cancelled(wire)
        if after != before:
            break
        await asyncio.sleep(0.05)
    return {"answered": answered, "tools stopped": after - before}


async def _cancelled(wire: Wire) -> int:
    reply = await wire.call(_known(wire, "traces"))
    count = at(reply.response, "result", "structuredContent", "cancelled")
    if type(count) is not int:
        raise Stop("no count of the cancelled calls")
    return count


async def ids_kept(wire: Wire) -> Any:
    async def asked(request_id: str | int) -> str:
        try:
            await wire.request("tools/list", request_id=request_id)
        except Stop as stop:
            return str(stop.args[0])
        return "kept"

    return {"text": await asked("judge/é 1"), "number": await asked(70_001), "zero": await asked(0)}


# -------------------------------------------------------------------------------- arguments

WRONG: Mapping[str, tuple[Any, ...]] = {
    "string": (7, ["text"]), "integer": ("5", True, 5.5), "number": ("5.5", True),
    "boolean": ("yes", "true", 1), "array": ("text", {"0": 1}), "object": ("text", [1]),
}  # fmt: skip


async def arguments_types(wire: Wire) -> Any:
    call, schema = await _call_and_schema(wire)
    tried = 0
    accepted = []
    for name, value in call.arguments.items():
        for wrong in _wrong(value):
            arguments = {**call.arguments, name: wrong}
            if Draft202012Validator(schema).is_valid(arguments):
                continue
            tried += 1
            if not (await wire.call(Call(call.tool, arguments))).refused:
                accepted.append(f"{name}: {json.dumps(wrong)}")
    if not tried:
        return "the published schema gives no argument a type"
    return accepted


def _wrong(value: Any) -> tuple[Any, ...]:
    kinds = ((bool, "boolean"), (int, "integer"), (float, "number"), (str, "string"), (list, "array"))
    return WRONG[next((word for kind, word in kinds if isinstance(value, kind)), "object")]


async def arguments_limits(wire: Wire) -> Any:
    """Values of the right type that the published schema excludes."""
    call, schema = await _call_and_schema(wire)
    accepted = []
    for name, value in call.arguments.items():
        for wrong in _beyond(fields_of(at(schema, "properties", name)), value):
            arguments = {**call.arguments, name: wrong}
            if Draft202012Validator(schema).is_valid(arguments):
                continue
            if not (await wire.call(Call(call.tool, arguments))).refused:
                accepted.append(f"{name}: {json.dumps(wrong)[:80]}")
    return accepted


def _beyond(schema: Mapping[str, Any], value: Any) -> Iterator[Any]:
    for word, step in (("minimum", -1), ("exclusiveMinimum", 0), ("maximum", 1), ("exclusiveMaximum", 0)):
        if isinstance(limit := schema.get(word), int | float):
            yield limit + step
    if isinstance(value, str):
        yield ""
        yield NOBODY
        if type(most := schema.get("maxLength")) is int:
            yield "x" * (min(most, 100_000) + 1)
    if isinstance(value, list):
        yield []


async def arguments_required(wire: Wire) -> Any:
    call, schema = await _call_and_schema(wire)
    accepted = []
    for name in items_of(schema.get("required")):
        arguments = {key: value for key, value in call.arguments.items() if key != name}
        if not (await wire.call(Call(call.tool, arguments))).refused:
            accepted.append(str(name))
    return accepted


async def arguments_closed(wire: Wire) -> Any:
    call = _known(wire, "call")
    reply = await wire.call(Call(call.tool, {**call.arguments, NOBODY: 1}))
    return "refused" if reply.refused else "accepted"


async def arguments_explained(wire: Wire) -> Any:
    call, schema = await _call_and_schema(wire)
    for name, value in call.arguments.items():
        arguments = {**call.arguments, name: _wrong(value)[0]}
        if Draft202012Validator(schema).is_valid(arguments):
            continue
        reply = await wire.call(Call(call.tool, arguments))
        return {"as": reply.outcome, "names the argument": name in json.dumps(reply.response.get("result"))}
    return "the published schema gives no argument a type"


async def _call_and_schema(wire: Wire) -> tuple[Call, dict[str, Any]]:
    call = _known(wire, "call")
    schema = fields_of((await wire.tool(call.tool)).get("inputSchema"))
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError:
        raise Stop("an inputSchema that is no JSON Schema") from None
    if not _good(await wire.call(call)):  # else every refusal would be hollow
        raise Stop("the call that should succeed does not")
    return call, schema


# ---------------------------------------------------------------------------------- results


async def result_structured(wire: Wire) -> Any:
    call = _known(wire, "call")
    schema = (await wire.tool(call.tool)).get("outputSchema")
    if not isinstance(schema, dict):
        return ["no outputSchema is published"]
    reply = await wire.call(call)
    if "structuredContent" not in reply.result:
        return ["no structuredContent"]
    return _breaches(schema, reply.result["structuredContent"])


def _breaches(schema: dict[str, Any], value: Any) -> list[str]:
    try:
        errors = sorted(Draft202012Validator(schema).iter_errors(value), key=lambda e: e.json_path)
    except Exception as error:  # a schema may be anything
        return [f"the schema cannot be used ({type(error).__name__})"]
    return [f"{error.json_path}: {error.message[:160]}" for error in errors[:5]]


async def result_twice(wire: Wire) -> Any:
    result = (await wire.call(_known(wire, "call"))).result
    if "structuredContent" not in result:
        return "no structuredContent"
    for block in items_of(result.get("content")):
        with contextlib.suppress(ValueError, TypeError, RecursionError):
            if json.loads(at(block, "text")) == result["structuredContent"]:
                return "the same, as text"
    return "no text with the same JSON"


async def failure_told(wire: Wire) -> Any:
    call = _known(wire, "fail")
    await wire.tool(call.tool)  # a tool that is not there fails for another reason
    reply = await wire.call(call)
    return reply.outcome + (" with a text" if reply.is_error and reply.text else "")


async def crash_masked(wire: Wire) -> Any:
    call = _known(wire, "crash")
    await wire.tool(call.tool)
    reply = await wire.call(call)
    said = json.dumps(reply.response, ensure_ascii=False) + b"".join(wire.transport.heard).decode(
        "utf-8", "replace"
    )
    leaks = [f"secret {n}" for n, secret in enumerate(wire.subject.secrets, 1) if secret in said]
    leaks += [mark for mark in LEAKS if mark in said]
    return {"ends": "refused" if reply.refused else reply.outcome, "leaks": leaks}


async def crash_survived(wire: Wire) -> Any:
    with contextlib.suppress(Stop):
        await wire.call(_known(wire, "crash"))
    return "alive" if _good(await wire.call(_known(wire, "call"))) else "no longer works"


async def progress_told(wire: Wire) -> Any:
    call = _known(wire, "progress")
    token = f"judge-progress-{id(wire)}"
    told = (await wire.call(call, progress=token)).notifications("notifications/progress")
    steps = [one.get("progress") for one in told]
    numbers = [step for step in steps if isinstance(step, int | float)]
    rising = len(numbers) == len(steps) and all(a < b for a, b in itertools.pairwise(numbers))
    silent = (await wire.call(call)).notifications("notifications/progress")
    return {
        "reports": "some" if steps else "none",
        "token kept": all(one.get("progressToken") == token for one in told),
        "rising": rising,
        "unasked": len(silent),
    }


# ------------------------------------------------------------------------------- the user


def user(action: str, content: Mapping[str, Any] | None = None) -> Answering:
    def answer(method: str, _: Mapping[str, Any]) -> Mapping[str, Any] | None:
        if method != "elicitation/create":
            return None
        return {"action": action, **({"content": dict(content)} if content is not None else {})}

    return answer


def _asked(wire: Wire) -> Ask:
    ask = wire.subject.ask
    assert ask is not None
    return ask


async def ask_accepted(wire: Wire) -> Any:
    reply, asked = await wire.ask(_asked(wire), user("accept", _asked(wire).answer))
    if "elicitation/create" not in asked:
        return f"not asked; {reply.outcome}"
    return "asked, then " + ("done" if _good(reply) else reply.outcome)


async def _when_agreed(wire: Wire) -> str:
    """The text of the work done: where not even a user who agrees gets it, a refusal is hollow."""
    reply, _ = await wire.ask(_asked(wire), user("accept", _asked(wire).answer))
    if not _good(reply):
        raise Stop(f"not done even when the user agrees: {reply.outcome}")
    return reply.text


async def ask_refused(wire: Wire) -> Any:
    done = await _when_agreed(wire)
    seen = {}
    for action in ("decline", "cancel"):
        reply, _ = await wire.ask(_asked(wire), user(action))
        seen[action] = "done" if _good(reply) and reply.text == done else "not done"
    return seen


async def ask_nonsense(wire: Wire) -> Any:
    done = await _when_agreed(wire)
    reply, _ = await wire.ask(_asked(wire), user("accept", _asked(wire).nonsense))
    return "done" if _good(reply) and reply.text == done else "not done"


async def ask_undeclared(wire: Wire) -> Any:
    """A client that never said that it can ask its user is not asked, and the work is not done for it."""
    if wire.modern:  # a handshake says it once, so there the comparison is for ask.accepted to make
        wire.capabilities = EVERYTHING
        await _when_agreed(wire)
        wire.capabilities = WITHOUT_USER
    reply, asked = await wire.ask(_asked(wire), user("accept", _asked(wire).answer))
    return {"asked": "elicitation/create" in asked, "done": _good(reply)}


WITHOUT_USER = {name: value for name, value in EVERYTHING.items() if name != "elicitation"}


# --------------------------------------------------------------------------------- JSON-RPC


async def unknown_method(wire: Wire) -> Any:
    reply = await wire.request("ai-evolution/no-such-method")
    return reply.code if reply.code is not None else reply.outcome


async def invalid_params(wire: Wire) -> Any:
    seen = {}
    wrong: dict[str, dict[str, Any]] = {"no name": {}, "arguments no object": {"name": "x", "arguments": [1]}}
    for label, params in wrong.items():
        reply = await wire.request("tools/call", params)
        seen[label] = reply.code if reply.code is not None else reply.outcome
    return seen


async def malformed_json(wire: Wire) -> Any:
    _, body = await wire.http.raw(b'{"jsonrpc": "2.0", "id": 1, ', wire.heads("tools/list", {}))
    return error_of(body)


async def stdout_clean(wire: Wire) -> Any:
    for name in ("call", "fail", "crash"):
        call = getattr(wire.subject, name)
        if call is not None:
            await wire.call(call)
    await wire.request("tools/list")
    return wire.transport.strange[:5]
