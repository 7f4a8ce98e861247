"""An independent judge of MCP servers: what does this server do, seen from the outside?

How it works. A ``Subject`` says where the server is (a URL, or a command that speaks on its pipes), which
revision to speak and which calls bring it into which state. ``examine`` walks through ``BEHAVIOURS``, speaks
raw JSON-RPC (httpx, pipes and json: neither our client nor the SDK's) and returns one ``Observation`` for
each behaviour: what the specification expects, what was observed, and, where the two differ, the messages.

What it is for. The official suite leaves room to pass without doing the work: a server that lacks a tool
passes the scenario about that tool's error, because any error will do. Here a refusal counts only where the
same call, unspoilt, succeeds, and a tool's failure only where the tool is listed. The servers in
``ai_evolution.mcp.mutants`` show who notices what.

What it refuses to do. It never raises because of what a server does: silence, floods, closed connections and
nonsense are observations. It follows no redirect, reads at most ``MAX_BODY`` bytes of an answer, and every
check has a deadline. A process that it started is ended. It says nothing about a server's intentions.

A few behaviours ask for more than a MUST of the specification, because a model on the other side needs them;
their source then says SHOULD or "ours".
"""

from __future__ import annotations

from ai_evolution.mcp.behaviours.catalogue import BEHAVIOURS
from ai_evolution.mcp.behaviours.examination import applicable, examine
from ai_evolution.mcp.behaviours.subject import (
    HANDSHAKE,
    MODERN,
    Ask,
    Behaviour,
    Call,
    Exchange,
    Observation,
    Subject,
)

__all__ = [
    "BEHAVIOURS",
    "HANDSHAKE",
    "MODERN",
    "Ask",
    "Behaviour",
    "Call",
    "Exchange",
    "Observation",
    "Subject",
    "applicable",
    "examine",
]
