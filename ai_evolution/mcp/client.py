"""A host for MCP servers that may be anything: slow, dead, lying, talkative, or changed since last time.

``connect`` takes a server in process, a command or a URL, in both eras of the protocol; it yields a ``Host``.
The SDK's ``Client`` speaks; around it stand the promises that it leaves open:

* every request has a deadline, and a server that died is reported at once;
* what a server sends is bounded, and what it sends without being asked is counted;
* a result is checked against its output schema here, and nothing that the schema points to is fetched;
* three kinds of errors stay apart: ``ProtocolRefusal`` (the server's JSON-RPC error), ``ToolFailed`` (the
  tool says so itself), ``ResultRefused`` (the answer is not what was promised);
* with ``pins``, a tool that is not as approved is refused (``ToolChanged``);
* a tool that may destroy something is called when ``approve`` said yes, and not at all when nobody can be
  asked. By the specification that is every tool without a hint; a hint is a claim, the pins know better.

It refuses to obey: descriptions, instructions and the text of results are handed on as data. It refuses to
repeat a call by itself, since nobody knows whether the first one had its effect.
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeVar

import anyio
import httpx2
from mcp import Client, MCPError
from mcp.client import InputRequiredRoundsExceededError
from mcp.client._memory import InMemoryTransport
from mcp.server import MCPServer, Server
from mcp.shared.dispatcher import ProgressFnT
from mcp.types import (
    CONNECTION_CLOSED,
    INTERNAL_ERROR,
    CallToolResult,
    ElicitResult,
    ErrorData,
    Implementation,
    Prompt,
    Resource,
    ResourceTemplate,
    Tool,
    ToolListChangedNotification,
)
from pydantic import BaseModel, ValidationError

from ai_evolution import __version__
from ai_evolution.atdf.documents import pointer_of
from ai_evolution.errors import (
    ConsentRefused,
    DeadlinePassed,
    McpError,
    ProtocolRefusal,
    ResultRefused,
    ServerLost,
    ToolChanged,
    ToolFailed,
    UsageError,
)
from ai_evolution.mcp.journal import WireJournal
from ai_evolution.mcp.results import OutputSchema
from ai_evolution.mcp.scan import Hazard, hazards, shown
from ai_evolution.mcp.stdio import stdio
from ai_evolution.mcp.streamable import streamable
from ai_evolution.mcp.trust import Change, Pins
from ai_evolution.mcp.wire import Limits, Wire, metered

__all__ = ["CallResult", "Host", "Limits", "connect"]

T = TypeVar("T")
Target = str | Sequence[str] | Server[Any] | MCPServer | Any
"""A URL, a command as a list, a server object, or a transport (a context manager that yields two streams)."""
Approve = Callable[[Tool, dict[str, Any]], Awaitable[bool]]
Elicit = Callable[[dict[str, Any]], Awaitable[Mapping[str, Any] | Literal["decline", "cancel"]]]
"""Gets the question as it stands on the wire (``message``, ``requestedSchema`` or ``url``)."""
NAME = "ai-evolution"


@dataclass(frozen=True)
class CallResult:
    """What a tool gave: its structured content (checked when there is an output schema) and its text.

    ``text`` joins the text blocks of the content. Both come from the server: data, not instructions.
    """

    structured: Any
    text: str
    result: CallToolResult = field(repr=False)

    @cached_property
    def raw(self) -> dict[str, Any]:
        """The result as it stands on the wire."""
        return self.result.model_dump(by_alias=True, mode="json", exclude_unset=True)

    @property
    def content(self) -> list[dict[str, Any]]:
        """The blocks of the content: text, images, audio, links and embedded resources."""
        return list(self.raw.get("content", []))


@asynccontextmanager
async def connect(
    target: Target,
    *,
    mode: Literal["auto", "legacy"] | str = "auto",
    deadline: float = 30.0,
    max_bytes: int = 4_194_304,
    journal: WireJournal | None = None,
    pins: Pins | None = None,
    approve: Approve | None = None,
    elicit: Elicit | None = None,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    headers: Mapping[str, str] | None = None,
    through: httpx2.AsyncBaseTransport | None = None,
    known_as: str | None = None,
    limits: Limits | None = None,
    extra: Mapping[str, Any] | None = None,
) -> AsyncIterator[Host]:
    """Connect to ``target`` and yield the ``Host``; at the end the process, if one was started, is gone.

    ``mode``: ``auto`` finds out the era, ``legacy`` shakes hands, ``"2026-07-28"`` is assumed. ``deadline``:
    seconds for connecting and for each request. ``max_bytes``: of one message. ``journal`` records.
    ``env`` and ``cwd`` are for a command, ``headers`` and ``through`` (a transport of httpx2) for a URL.
    ``known_as``: the name of this server in ``pins``; by default the URL, the command or the server's name.
    ``limits``: see there. ``extra``: more arguments for the SDK's ``Client``.

    Raises ``EnvironmentProblem`` (no such program), ``UsageError``, and the errors of ``McpError``.
    """
    bounds = replace(limits or Limits(), message=max_bytes)
    wire = Wire(bounds)
    kind, stream = _transport(target, wire, mode, journal, env=env, cwd=cwd, headers=headers, through=through)
    asker = _Asker(elicit)
    host = Host(wire, deadline, pins, approve, asker, known_as or _name_of(target), weigh=kind == "direct")
    try:
        client = Client(
            stream,
            mode=mode,
            cache=None,
            client_info=Implementation(name=NAME, version=__version__),
            elicitation_callback=asker if elicit else None,
            message_handler=host.noticed,
            input_required_max_rounds=bounds.rounds,
            **(extra or {}),
        )
    except ValueError as error:
        raise UsageError(f"mode {mode!r}: {error}") from None
    async with _open(client, host, wire, deadline):
        yield host


@asynccontextmanager
async def _open(client: Client, host: Host, wire: Wire, deadline: float) -> AsyncIterator[None]:
    """Enter the client under the deadline, lend it out, and leave it whole.

    An exception of the borrower is carried round the task groups of the SDK, which would wrap it.
    """
    raised: Exception | None = None
    with anyio.CancelScope(deadline=anyio.current_time() + deadline) as scope:
        try:
            async with client:
                scope.deadline = math.inf
                host.begin(client)
                try:
                    yield
                except Exception as error:
                    raised = error
        except (Exception, BaseExceptionGroup) as error:
            raised = raised or translated(error, wire, _pending(wire))
    if raised is not None:
        raise raised
    if scope.cancelled_caught:
        raise wire.fault or _too_late(_pending(wire), deadline, wire)


def _pending(wire: Wire) -> str:
    return next(iter(wire.waiting.values()), "connect")


def _transport(
    target: Target,
    wire: Wire,
    mode: str,
    journal: WireJournal | None,
    *,
    env: Mapping[str, str] | None,
    cwd: Path | None,
    headers: Mapping[str, str] | None,
    through: httpx2.AsyncBaseTransport | None,
) -> tuple[Literal["direct", "memory", "http", "stdio", "given"], Any]:
    """The kind of ``target``, and what the SDK's client takes for it."""
    kind: Literal["direct", "memory", "http", "stdio", "given"]
    stream: Any
    if isinstance(target, (Server, MCPServer)):
        if journal is None and mode != "legacy":
            return "direct", target
        kind, stream = "memory", InMemoryTransport(target)
    elif isinstance(target, str):
        if not target.startswith(("http://", "https://")):
            raise UsageError(f"{target!r} is no http(s) URL; a command is accepted as a list of its parts")
        kind, stream = "http", streamable(target, wire, headers=headers, through=through)
    elif isinstance(target, Sequence):
        kind, stream = "stdio", stdio([str(part) for part in target], wire, env=env, cwd=cwd)
    elif hasattr(target, "__aenter__"):
        kind, stream = "given", target
    else:
        raise UsageError(f"{type(target).__name__} is no server: a URL, a command, a Server is accepted")
    if journal is not None:
        stream = journal.record(stream)
    return kind, metered(wire, stream, measured=kind in ("memory", "given"))


def _name_of(target: Target) -> str:
    if isinstance(target, str):
        return target
    if isinstance(target, Sequence):
        return " ".join(str(part) for part in target)
    return str(getattr(target, "name", type(target).__name__))


class _Asker:
    """The SDK's elicitation callback: hands a question to the host's, and keeps what that raises."""

    def __init__(self, elicit: Elicit | None) -> None:
        self._elicit = elicit
        self.raised: Exception | None = None

    async def __call__(self, context: Any, params: Any) -> ElicitResult | ErrorData:  # noqa: ARG002
        assert self._elicit is not None
        try:
            answer = await self._elicit(params.model_dump(by_alias=True, mode="json", exclude_none=True))
        except Exception as error:
            self.raised = error
            return ErrorData(code=INTERNAL_ERROR, message="the question could not be answered")
        if isinstance(answer, Mapping):
            return ElicitResult(action="accept", content=dict(answer))
        return ElicitResult(action=answer)


class Host:
    """One connection, seen from the application. Made by ``connect``.

    ``revision`` is the protocol revision that is spoken; ``server`` the name and version that the server
    gives itself (None when it gives none); ``instructions`` what it would like a model to read; ``client``
    the SDK's own, for what is not here.
    """

    client: Client

    def __init__(
        self,
        wire: Wire,
        deadline: float,
        pins: Pins | None,
        approve: Approve | None,
        asker: _Asker,
        known_as: str,
        *,
        weigh: bool,
    ) -> None:
        self._wire, self._deadline, self._asker = wire, deadline, asker
        self._pins, self._approve, self.known_as = pins, approve, known_as
        self._weigh = weigh
        self._listed: dict[str, Tool] | None = None
        self._schemas: dict[str, OutputSchema] = {}
        self.changes: list[Change] = []

    def begin(self, client: Client) -> None:
        """The connection stands."""
        self.client = client
        # The SDK would check results itself, run the regular expressions of a stranger, raise RuntimeError.
        client.session.validate_tool_result = _unchecked  # type: ignore[method-assign]

    @property
    def revision(self) -> str:
        """The protocol revision, such as ``2026-07-28``."""
        return self.client.protocol_version

    @property
    def server(self) -> dict[str, str] | None:
        """What the server calls itself: ``name`` and ``version``."""
        info = self.client.server_info
        return None if info is None else {"name": info.name, "version": info.version}

    @property
    def instructions(self) -> str | None:
        """The server's text for a model: a claim, as everything it says."""
        return self.client.instructions

    async def noticed(self, message: Any) -> None:
        """The SDK's message handler: a changed list of tools is listed anew before the next call."""
        if isinstance(message, ToolListChangedNotification):
            self._listed = None

    # --- tools

    async def tools(self) -> list[Tool]:
        """Every tool of every page, in the server's order; with pins, ``changes`` says what is not as pinned.

        Raises ``ResultRefused`` for a page that is malformed, a cursor that comes again, more pages or tools
        than the limits allow, and two tools of one name.
        """
        tools: list[Tool] = await self._pages("tools/list", "tools", self.client.list_tools)
        first: dict[str, int] = {}
        for index, tool in enumerate(tools):
            if tool.name in first:
                text = f"two tools are named {shown(tool.name)[:80]!r}: names that are unique are accepted"
                raise ResultRefused(text, f"/tools/{index}/name")
            first[tool.name] = index
        self._listed = {tool.name: tool for tool in tools}
        self._schemas = {}
        self.changes = self._pins.check(self.known_as, tools) if self._pins is not None else []
        return tools

    async def hazards(self, known: Collection[str] = ()) -> list[Hazard]:
        """What in the tools' words is worth a look; ``known`` are the host's tools from other servers."""
        if self._listed is None:
            await self.tools()
        return hazards((self._listed or {}).values(), known)

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        deadline: float | None = None,
        progress: ProgressFnT | None = None,
    ) -> CallResult:
        """Call a tool and return its checked result.

        ``deadline`` (seconds, the host's by default) covers the questions within the call, not the one for
        consent. ``progress`` is an async function of progress, total and message.

        Raises ``ToolChanged``, ``ConsentRefused`` (nothing was sent), ``DeadlinePassed``,
        ``ServerLost``, ``ProtocolRefusal``, ``ToolFailed``, ``ResultRefused``.
        """
        given = dict(arguments or {})
        if self._listed is None:
            await self.tools()
        tool = (self._listed or {}).get(name)
        self._check_pins(name)
        await self._ask_consent(name, tool, given)
        result: CallToolResult = await self._ask(
            "tools/call",
            lambda: self.client.call_tool(name, given, progress_callback=progress),
            deadline,
            f"tools/call {shown(name)[:80]}",
        )
        return await self._checked(name, tool, result)

    def _check_pins(self, name: str) -> None:
        if self._pins is None:
            return
        found = [change for change in self.changes if change.tool == name]
        if not found and name not in (self._listed or {}):
            found = [Change(name, "added")]
        if found:
            raise ToolChanged(f"{found[0]}: look at it and approve it anew, or leave it", found)

    async def _ask_consent(self, name: str, tool: Tool | None, arguments: dict[str, Any]) -> None:
        why = self._why_ask(name, tool)
        if why is None:
            return
        if self._approve is None:
            text = f"{shown(name)[:80]} {why}, and there is nobody to ask: pass approve= to connect"
            raise ConsentRefused(text)
        asked = tool or Tool(name=name, input_schema={"type": "object"})
        if await self._approve(asked, arguments) is not True:
            raise ConsentRefused(f"{shown(name)[:80]} {why}, and the person said no")

    def _why_ask(self, name: str, tool: Tool | None) -> str | None:
        if self._pins is not None and self._pins.destructive(self.known_as, name):
            return "is known as destructive"
        hints = tool.annotations if tool else None
        if hints and (hints.read_only_hint is True or hints.destructive_hint is False):
            return None
        if hints and hints.destructive_hint is True:
            return "says that it may destroy something"
        return "does not say that it destroys nothing" if tool else "is not among the tools listed"

    async def _checked(self, name: str, tool: Tool | None, result: CallToolResult) -> CallResult:
        self._check_weight("tools/call", result)
        text = "\n".join(block.text for block in result.content if block.type == "text")
        if result.is_error:
            raise self._failed(name, result, text)
        if tool is not None and tool.output_schema is not None:
            await self._check_schema(name, tool.output_schema, result)
        return CallResult(result.structured_content, text, result)

    def _failed(self, name: str, result: CallToolResult, text: str) -> ToolFailed:
        said = " ".join(shown(text).split())[:200]
        content = [
            block.model_dump(by_alias=True, mode="json", exclude_none=True) for block in result.content
        ]
        structured = result.structured_content
        return ToolFailed(
            f"{shown(name)[:80]} failed: {said or 'it says nothing of why'}", content, structured
        )

    async def _check_schema(self, name: str, schema: dict[str, Any], result: CallToolResult) -> None:
        judge = self._schemas.get(name)
        if judge is None:
            judge = self._schemas[name] = OutputSchema(schema)
        value = result.structured_content
        if value is None and "structured_content" not in result.model_fields_set:
            text = f"{shown(name)[:80]} has an output schema and gave no structuredContent"
            raise ResultRefused(text, "/structuredContent")
        if judge.slow:
            problem = await anyio.to_thread.run_sync(judge.problem, value)
        else:
            problem = judge.problem(value)
        if problem is not None:
            where = f"/structuredContent{problem.pointer}"
            raise ResultRefused(f"{shown(name)[:80]}: {where}: {shown(problem.message)[:300]}", where)

    # --- resources and prompts

    async def resources(self) -> list[Resource]:
        """Every resource of every page; raises as ``tools``."""
        found: list[Resource] = await self._pages("resources/list", "resources", self.client.list_resources)
        return found

    async def templates(self) -> list[ResourceTemplate]:
        """Every resource template of every page; raises as ``tools``."""
        found: list[ResourceTemplate] = await self._pages(
            "resources/templates/list", "resource_templates", self.client.list_resource_templates
        )
        return found

    async def read(self, uri: str, *, deadline: float | None = None) -> list[dict[str, Any]]:
        """The contents of a resource as on the wire: each has ``uri`` and ``text`` or ``blob`` (Base64)."""
        found = await self._ask("resources/read", lambda: self.client.read_resource(uri), deadline)
        self._check_weight("resources/read", found)
        return list(found.model_dump(by_alias=True, mode="json", exclude_none=True)["contents"])

    async def prompts(self) -> list[Prompt]:
        """Every prompt of every page; raises as ``tools``."""
        found: list[Prompt] = await self._pages("prompts/list", "prompts", self.client.list_prompts)
        return found

    async def prompt(
        self, name: str, arguments: Mapping[str, str] | None = None, *, deadline: float | None = None
    ) -> list[dict[str, Any]]:
        """The messages of a prompt as on the wire: each has ``role`` and ``content``."""
        given = dict(arguments or {})
        found = await self._ask("prompts/get", lambda: self.client.get_prompt(name, given), deadline)
        self._check_weight("prompts/get", found)
        return list(found.model_dump(by_alias=True, mode="json", exclude_none=True)["messages"])

    # --- asking

    async def _pages(self, method: str, member: str, turn: Callable[..., Awaitable[Any]]) -> list[Any]:
        """All items of a list, under one deadline for the whole of it."""
        limits = self._wire.limits

        async def walk() -> list[Any]:
            items: list[Any] = []
            cursor: str | None = None
            seen: set[str] = set()
            for _ in range(limits.pages):
                page = await turn(cursor=cursor)
                self._check_weight(method, page)
                items.extend(getattr(page, member))
                if len(items) > limits.tools:
                    raise ResultRefused(f"{method} gives over {limits.tools} items", f"/{member}")
                cursor = page.next_cursor
                if cursor is None:
                    return items
                if cursor in seen:
                    raise ResultRefused(f"{method} gives a cursor that it gave before", "/nextCursor")
                seen.add(cursor)
            raise ResultRefused(f"{method} has more than {limits.pages} pages", "/nextCursor")

        return await self._ask(method, walk, None)

    async def _ask(
        self, method: str, send: Callable[[], Awaitable[T]], deadline: float | None, said: str = ""
    ) -> T:
        seconds = self._deadline if deadline is None else deadline
        self._asker.raised = None
        try:
            with anyio.fail_after(seconds):
                answer = await send()
        except TimeoutError:
            raise self._wire.fault or _too_late(said or method, seconds, self._wire) from None
        except (Exception, BaseExceptionGroup) as error:
            raise self._asker.raised or translated(error, self._wire, method) from None
        if self._asker.raised is not None:
            raise self._asker.raised
        return answer

    def _check_weight(self, method: str, answer: BaseModel) -> None:
        """Where no transport has weighed the message: a server in our own process."""
        if self._weigh:
            size = len(answer.model_dump_json(by_alias=True, exclude_none=True))
            if size > self._wire.limits.message:
                raise self._wire.too_big(method, size)


async def _unchecked(name: str, result: CallToolResult) -> None:  # noqa: ARG001
    return None


def _too_late(method: str, seconds: float, wire: Wire) -> DeadlinePassed:
    words = f" ({wire.words})" if wire.words else ""
    method_of = method.split(" ")[0]
    return DeadlinePassed(f"no answer to {method} within {seconds:g} s{words}", method_of, seconds)


def translated(error: BaseException, wire: Wire, method: str) -> Exception:
    """What the SDK raised, as one of the errors of this package; others are returned as they are."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, McpError) or (isinstance(error, Exception) and not _foreign(error)):
        return error
    if wire.fault is not None:
        return wire.fault
    if isinstance(error, MCPError):
        return wire.refused(error.error.data) or _of_the_protocol(error, wire, method)
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_input=False)[0]
        steps = [step for step in first["loc"] if not str(step).endswith("Result")]  # the union's own names
        where = pointer_of(steps)
        text = f"{method}: the answer is none of the protocol: {where}: {first['msg']}"
        return ResultRefused(text[:300], where)
    if isinstance(error, InputRequiredRoundsExceededError):
        return ResultRefused(f"{method}: the server asks more than {wire.limits.rounds} times")
    if isinstance(error, RuntimeError):
        return ResultRefused(f"{method}: the answer is none of the protocol: {error}"[:300])
    return _lost(wire, method)


_CONNECTION = (anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream, ConnectionError)


def _foreign(error: Exception) -> bool:
    return isinstance(error, (MCPError, ValidationError, RuntimeError, *_CONNECTION))


def _of_the_protocol(error: MCPError, wire: Wire, method: str) -> McpError:
    given = error.error
    broken = wire.ended and given.message == "Connection closed"
    if given.code == CONNECTION_CLOSED and (broken or given.message.startswith("SSE stream")):
        return _lost(wire, method)
    said = " ".join(shown(given.message).split())[:200]
    return ProtocolRefusal(f"{method} was refused with {given.code}: {said}", given.code, given.data)


def _lost(wire: Wire, method: str) -> ServerLost:
    words = f": {wire.words}" if wire.words else ""
    return ServerLost(f"the connection ended before {method} was answered{words}")
