"""The reference agent, broken in one place at a time: old text, new text, the behaviours it breaks.

Where a fault can't help breaking two behaviours (a result that is only in the chat is not typed
either) both are named; otherwise exactly one.
"""

from __future__ import annotations

import sys
import types
from pathlib import Path
from typing import Any, NamedTuple

REFERENCE = Path(__file__).with_name("reference_agent.py")


class Mutant(NamedTuple):
    name: str
    old: str
    new: str
    breaks: frozenset[str]


def _m(name: str, old: str, new: str, *breaks: str) -> Mutant:
    return Mutant(name, old, new, frozenset(breaks))


MUTANTS = (
    _m("card without version", '"version": "1.0.0",', "", "card.published"),
    _m("card hides that a token is needed", '"securityRequirements": [', '"x": [', "card.published"),
    _m(
        "card of another origin",
        '"url": base_url + "/"',
        '"url": "https://elsewhere.example/"',
        "card.published",
    ),
    _m(
        "card behind the token",
        "return JSONResponse(card(base_url))",
        "return Response(status_code=401)",
        "card.published",
    ),
    _m(
        "any version",
        'get("a2a-version", "").split(".")[0] != "1"',
        'get("a2a-version") == "-"',
        "version.demanded",
    ),
    _m(
        "missing version means 1.0", 'get("a2a-version", "")', 'get("a2a-version", "1.0")', "version.demanded"
    ),
    _m("401 without a challenge", ', {"WWW-Authenticate": "Bearer"})', ")", "auth.demanded"),
    _m("any token will do", "tokens.get(token) if", "tokens.get(token, token) if", "auth.demanded"),
    _m("403 instead of 401", '"no valid token"}, 401', '"no valid token"}, 403', "auth.demanded"),
    _m("unknown method is an invalid request", "RpcError(-32601", "RpcError(-32600", "rpc.unknown-method"),
    _m("malformed JSON is an internal error", "RpcError(-32700", "RpcError(-32603", "rpc.malformed-json"),
    _m("a message without parts is taken", 'list) or not message["parts"]', "list)", "rpc.invalid-params"),
    _m(
        "unknown task is an internal error",
        "task.owner != owner:\n            raise RpcError(-32001",
        "task.owner != owner:\n            raise RpcError(-32603",
        "task.unknown",
        "task.owned",
        "version.demanded",
    ),
    _m(
        "ends failed",
        "task.move(COMPLETED)",
        "task.move(FAILED)",
        "task.completes",
        "task.asks",
        "task.terminal",
        "cancel.refused",
    ),
    _m("asks without a question", ', "The amount is above the limit. Who approves it?")', ")", "task.asks"),
    _m(
        "does not ask",
        '> await limit_for(task.request["destination"])',
        '> 10**9 + await limit_for(task.request["destination"])',
        "task.asks",
        "artifact.typed",
        "context.matches",
    ),
    _m(
        "answers in a new task",
        'if message.get("taskId"):',
        'if message.get("taskId") and not message.get("contextId"):',
        "task.asks",
        "context.matches",
    ),
    _m(
        "context not compared",
        'if message.get("contextId", task.context_id) != task.context_id:',
        "if False:",
        "context.matches",
    ),
    _m(
        "result only in the chat",
        'task.artifacts = [{"artifactId": task.id + "-decision", "name": "decision", "parts": [part]}]\n'
        "        task.move(COMPLETED)",
        'task.move(COMPLETED, json.dumps(part["data"]))',
        "artifact.present",
        "artifact.typed",
        "artifact.stable",
    ),
    _m(
        "result as text",
        'part = {"data": decision, "mediaType": "application/json"}',
        'part = {"text": json.dumps(decision)}',
        "artifact.present",
        "artifact.typed",
    ),
    _m(
        "amount as text",
        '"amount_cents": task.request["amount_cents"]',
        '"amount_cents": str(task.request["amount_cents"])',
        "artifact.typed",
    ),
    _m(
        "amount in units",
        '"amount_cents": task.request["amount_cents"]',
        '"amount_cents": task.request["amount_cents"] / 100',
        "artifact.typed",
    ),
    _m("approver forgotten", '"approved by " + " ".join(texts).strip()', '"approved"', "artifact.typed"),
    _m(
        "artifact forgotten at once",
        'return task.wire(params.get("historyLength"))',
        'return {**task.wire(params.get("historyLength")), "artifacts": []}',
        "artifact.stable",
    ),
    _m(
        "artifact made anew at each look",
        'shown["artifacts"] = self.artifacts',
        'shown["artifacts"] = [{**a, "artifactId": str(uuid.uuid4())} for a in self.artifacts]',
        "artifact.stable",
    ),
    _m("a task that ended takes messages", "if task.state != INPUT_REQUIRED:", "if False:", "task.terminal"),
    _m("tasks belong to everybody", "task is None or task.owner != owner", "task is None", "task.owned"),
    _m(
        "another's task is forbidden, not unknown",
        "if task is None or task.owner != owner:",
        "if task and task.owner != owner:\n            raise RpcError(-32003, 'Not yours')\n"
        "        if task is None:",
        "task.owned",
    ),
    _m("every message is a new task", "if key in self.taken:", "if False:", "message.once"),
    _m(
        "a message of one caller is everybody's",
        'key = (owner, message["messageId"])',
        'key = ("", message["messageId"])',
        "message.once",
    ),
    _m(
        "half a cent more",
        '"amount_cents": task.request["amount_cents"]',
        '"amount_cents": task.request["amount_cents"] + 0.5',
        "artifact.typed",
    ),
    _m("history whole", "self.history[-count:] if count else []", "self.history", "history.bounded"),
    _m("history of zero is all of it", "if count else []", "", "history.bounded"),
    _m("no history", 'shown["history"] = kept', "pass", "history.bounded"),
    _m(
        "streaming unknown",
        'if method in ("SendStreamingMessage", "SubscribeToTask"):',
        "if False:",
        "stream.honest",
    ),
    _m("streaming only in the card", '"streaming": False', '"streaming": True', "stream.honest"),
    _m(
        "rejects without a reason",
        "task.move(REJECTED, str(reason))",
        "task.move(REJECTED)",
        "input.rejected",
    ),
    _m(
        "rejection is a failure",
        "task.move(REJECTED, str(reason))",
        "task.move(FAILED, str(reason))",
        "input.rejected",
    ),
    _m(
        "cancels what has ended",
        "if task.state in TERMINAL:\n            raise RpcError(-32002",
        "if False:\n            raise RpcError(-32002",
        "cancel.refused",
    ),
    _m(
        "exception text in the status",
        'except Exception:\n            task.move(FAILED, "The request could not be decided.")',
        "except Exception as error:\n            task.move(FAILED, str(error))",
        "failure.neutral",
    ),
    _m(
        "failure never told",
        'except Exception:\n            task.move(FAILED, "The request could not be decided.")',
        "except Exception:\n            task.move(COMPLETED)",
        "failure.neutral",
    ),
    _m(
        "cancel changes nothing",
        "task.move(CANCELED)\n        if task.job:\n            task.job.cancel()",
        "pass",
        "cancel.ends",
    ),
    _m(
        "cancel forgets the task",
        "return task.wire()\n\n    async def send",
        "return self.tasks.pop(task.id).wire()\n\n    async def send",
        "cancel.ends",
    ),
    _m(
        "always waits",
        'if task.job and not configuration.get("returnImmediately"):',
        "if task.job:",
        "cancel.ends",
    ),
)


def mutated(mutant: Mutant) -> str:
    """The source of the reference agent with this one fault in it."""
    source = REFERENCE.read_text(encoding="utf-8")
    assert source.count(mutant.old) >= 1, f"{mutant.name}: the text to change is not there any more"
    return source.replace(mutant.old, mutant.new)


def load(source: str, name: str = "reference_agent_under_test") -> Any:
    """The module that this source is."""
    module = types.ModuleType(name)
    sys.modules[name] = module
    try:
        exec(compile(source, name + ".py", "exec"), module.__dict__)
    finally:
        del sys.modules[name]
    return module
