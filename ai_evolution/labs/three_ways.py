"""The same check ordered three ways: from a colleague, from a tool, from an agent.

``by_handoff`` shares one process and one context, as the hand-off of an agent framework does.
``by_tool`` calls an MCP server (revision 2026-07-28) that asks its question by elicitation.
``by_task`` delegates an A2A task. Each is measured by what crossed between the two sides, in
canonical bytes of message bodies, and by which planted facts reached the other side.

Bytes are those of JSON message bodies: HTTP headers are left out on both wires.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from ai_evolution.journal import Frame, traffic
from ai_evolution.labs.hiring import QUESTION, Candidate, Office
from ai_evolution.network import ASGIApp, Network

if TYPE_CHECKING:
    from mcp.server import MCPServer

TOOLS = "https://tools.checks.example"


@dataclass(frozen=True)
class Way:
    """What one way cost and gave away. ``caller_learns`` and ``callee_learns`` name planted facts."""

    report: Any
    round_trips: int
    messages: int
    bytes: int
    caller_learns: tuple[str, ...]
    callee_learns: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Every field, as JSON values."""
        return {"report": self.report, **self.row()}

    def row(self) -> dict[str, Any]:
        """The way as one row of a table."""
        return {
            "round_trips": self.round_trips,
            "messages": self.messages,
            "bytes": self.bytes,
            "caller_learns": list(self.caller_learns),
            "callee_learns": list(self.callee_learns),
        }


def learned(text: str, facts: Mapping[str, str]) -> tuple[str, ...]:
    """The names of the planted facts whose text occurs in ``text``, in alphabetical order."""
    return tuple(sorted(name for name, fact in facts.items() if fact in text))


# ------------------------------------------------------------------ a colleague in the process


class Colleague:
    """The checks desk as part of the same system: it works on the caller's own context."""

    def __init__(self, office: Office) -> None:
        self.office = office

    def check(self, context: list[dict[str, str]], name: str, ask: Callable[[str], bool]) -> dict[str, Any]:
        """Read the shared context, add to it, ask back through a plain function, return the report."""
        context.append({"role": "system", "content": self.office.prompt})
        reach = ask(QUESTION)
        context.append({"role": "tool", "content": f"{self.office.tool}(name={name!r}, abroad={reach})"})
        return self.office.look_up(name)


def by_handoff(colleague: Colleague, person: Candidate, own: Mapping[str, str]) -> Way:
    """Hand the conversation over inside one process: four utterances, nothing on a wire."""
    context = [{"role": "user", "content": note} for note in own.values()]
    told = json.dumps(context, ensure_ascii=False)
    said: list[str] = ["hand-off"]

    def ask(question: str) -> bool:
        said.extend([question, "yes"])
        return True

    report = colleague.check(context, person.name, ask)
    said.append("report")
    seen = json.dumps(context, ensure_ascii=False)
    return Way(report, 0, len(said), 0, learned(seen, colleague.office.secrets), learned(told, own))


# --------------------------------------------------------------------------- a tool over MCP


def check_server(office: Office, description: str = "Checks the background of a candidate") -> MCPServer:
    """The checks desk as an MCP server: one tool, published under the name it has inside."""
    from mcp.server import MCPServer
    from mcp.server.mcpserver import AcceptedElicitation, Elicit, ElicitationResult, Resolve
    from pydantic import BaseModel

    class Reach(BaseModel):
        international: bool

    class CheckReport(BaseModel):
        result: str
        sources: int

    async def ask() -> Elicit[Reach]:
        return Elicit(QUESTION, Reach)

    async def check(
        candidate: str,
        consent_id: str,  # noqa: ARG001
        reach: Annotated[ElicitationResult[Reach], Resolve(ask)],
    ) -> CheckReport:
        if not isinstance(reach, AcceptedElicitation):
            raise ValueError("the question was not answered")
        return CheckReport(**office.look_up(candidate))

    # The annotations above are strings (PEP 563) that name local classes: give the SDK the classes.
    ask.__annotations__["return"] = Elicit[Reach]
    check.__annotations__.update(
        reach=Annotated[ElicitationResult[Reach], Resolve(ask)], **{"return": CheckReport}
    )
    server = MCPServer("checks", version="1.0.0", log_level="CRITICAL")
    server.tool(name=office.tool, description=description)(check)
    return server


def tool_app(office: Office, server: MCPServer | None = None) -> ASGIApp:
    """That server behind streamable HTTP, stateless. Its host names are this network's own."""
    from mcp.server.transport_security import TransportSecuritySettings

    logging.getLogger("httpx2").setLevel(logging.WARNING)
    settings = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    return (server or check_server(office)).streamable_http_app(
        transport_security=settings, stateless_http=True
    )


async def by_tool(
    net: Network, office: Office, app: ASGIApp, person: Candidate, own: Mapping[str, str]
) -> Way:
    """Find the tool, call it by its schema, answer its question, read the structured result."""
    import mcp.types as mcp_types
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    async def answer(context: Any, params: Any) -> mcp_types.ElicitResult | mcp_types.ErrorData:  # noqa: ARG001
        return mcp_types.ElicitResult(action="accept", content={"international": True})

    await net.host(TOOLS, app)
    mark = net.journal.mark()
    wire = streamable_http_client(f"{TOOLS}/mcp", http_client=net.client2("hiring"))
    async with Client(wire, elicitation_callback=answer) as client:
        tool = (await client.list_tools()).tools[0]
        asked = {"candidate": person.name, "consent_id": person.consent_id}
        outcome = await client.call_tool(tool.name, asked)
    return _over_a_wire(outcome.structured_content, net.journal.since(mark), office, own)


# ------------------------------------------------------------------------ a task over A2A


async def by_task(
    net: Network,
    office: Office,
    delegate: Callable[[Candidate], Awaitable[Any]],
    person: Candidate,
    own: Mapping[str, str],
) -> Way:
    """Read the card, delegate the task, answer its question, read the artifact."""
    mark = net.journal.mark()
    report = await delegate(person)
    return _over_a_wire(report, net.journal.since(mark), office, own)


def _over_a_wire(report: Any, frames: Sequence[Frame], office: Office, own: Mapping[str, str]) -> Way:
    sent = "".join(frame.body.decode("utf-8", "replace") for frame in frames)
    received = "".join(frame.answer.decode("utf-8", "replace") for frame in frames)
    count = traffic(frames)
    return Way(
        report,
        count.round_trips,
        count.messages,
        count.bytes,
        learned(received, office.secrets),
        learned(sent, own),
    )
