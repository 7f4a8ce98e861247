"""An MCP server whose tools are ATDF contracts: what is published is what is enforced.

``build_server`` gives the SDK's own ``MCPServer`` (``@server.tool()``, ``.resource()``, ``.prompt()``, every
transport, both eras) and adds tools that are contracts:

* the published schemas are the contract's own, text for text; arguments are checked against them before
  the function is called, and nothing is coerced: ``{"n": "5"}`` is no number, and an unknown key is refused
  where the schema says so;
* a breach, and a failure that the tool declares, arrive as a result with ``isError`` whose text is the error
  envelope as JSON (code, text, details, expected, solution), which a model can act upon;
* an unknown tool or prompt is a protocol error, -32602, as revision 2026-07-28 asks for;
* no exception's text crosses; it goes to the log (``ai_evolution.mcp.server``).

A contract's function may ask for more than its arguments, in the SDK's own words: a parameter of type
``Context`` (progress, the client's capabilities) and parameters ``Annotated[ElicitationResult[Model],
Resolve(ask)]``. The person is asked after the arguments were checked and before the function runs.

What it refuses to do: publish a description that contradicts itself, or one that an old client could not
read (results that are no objects); let a caller send what only the host may give.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import json
import logging
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from mcp.server import MCPServer, Server
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import InvalidSignature, ToolError
from mcp.server.mcpserver.prompts import Prompt
from mcp.server.mcpserver.resolve import build_resolver_plans, find_resolved_parameters, resolve_arguments
from mcp.server.mcpserver.resources import Resource
from mcp.server.mcpserver.utilities.context_injection import find_context_parameter
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import find_invalid_x_mcp_header
from mcp.shared.tool_name_validation import validate_tool_name
from mcp.types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    CallToolResult,
    GetPromptResult,
    InputRequiredResult,
    TextContent,
    Tool,
    ToolAnnotations,
)
from pydantic import ValidationError
from starlette.applications import Starlette

from ai_evolution.atdf import envelope as envelopes
from ai_evolution.atdf.contract import Contract, Outcome
from ai_evolution.atdf.convert import convert
from ai_evolution.atdf.description import ToolDescription
from ai_evolution.atdf.explain import say
from ai_evolution.atdf.faults import schema_of, speaks_of_envelopes
from ai_evolution.errors import DocumentError, UsageError

LOG = logging.getLogger(__name__)
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
NAME_SHOWN = 128
META = "ai-evolution/atdf"

NOT_ANSWERED = {
    "en": ("the person did not answer what the tool has to know", "an answer that fits the question",
           "call the tool again and let the person answer"),
    "es": ("la persona no respondió lo que la herramienta necesita saber", "una respuesta a la pregunta",
           "llama otra vez a la herramienta y deja que la persona responda"),
}  # fmt: skip


def build_server(
    name: str,
    contracts: Sequence[Contract] = (),
    *,
    version: str = "1.0.0",
    instructions: str | None = None,
    resources: Sequence[Resource] = (),
    prompts: Sequence[Prompt] = (),
    hints: Mapping[str, Mapping[str, bool]] | None = None,
    lang: str = "en",
    **more: Any,
) -> ContractServer:
    """A server with these tools in this order; ``more`` goes to the SDK's ``MCPServer``.

    ``hints`` are annotations by the name of the tool (``readOnlyHint``, ...) for contracts whose documents
    say nothing of them; a tool without any counts as one that may destroy something.
    ``lang`` is that of the server's own words; a contract speaks its own. More tools, resources and prompts
    may be added to what comes back, as to any ``MCPServer``. Raises UsageError for a contract that can't be
    published (``tool_from``) and for two tools of one name.
    """
    server = ContractServer(
        name, contracts, version=version, instructions=instructions, hints=hints, lang=lang, **more
    )
    for resource in resources:
        server.add_resource(resource)
    for prompt in prompts:
        server.add_prompt(prompt)
    return server


def tool_from(contract: Contract) -> Tool:
    """The MCP tool of a contract: its document in that form, with what MCP has no word for in ``_meta``.

    Raises UsageError when it can't be published: the description contradicts itself, the name or the header
    annotations are not those of the specification, or a result may be something else than an object.
    """
    name = contract.name
    if contract.faults:
        first = contract.faults[0]
        raise UsageError(
            f"tool {name!r}: {first.pointer or '/'}: {first.message}; a description that is sound"
        )
    said = validate_tool_name(name)
    if not said.is_valid:
        raise UsageError(f"tool {name!r}: {said.warnings[0]}; accepted: 1 to 128 of A-Z a-z 0-9 _ - .")
    published = _published(contract)
    result = published.get("outputSchema")
    if result is not None and result.get("type") != "object":
        raise UsageError(
            f"tool {name!r}: its result is of type {result.get('type')!r}; accepted: object, "
            "since clients of 2025-11-25 read nothing else"
        )
    reason = find_invalid_x_mcp_header(published["inputSchema"])
    if reason is not None:
        raise UsageError(f"tool {name!r}: its x-mcp-header is not accepted: {reason}")
    try:
        return Tool.model_validate(published)
    except ValidationError as error:
        where = "/".join(str(part) for part in error.errors()[0]["loc"])
        raise UsageError(f"tool {name!r}: /{where}: {error.errors()[0]['msg'].lower()}") from None


def _published(contract: Contract) -> dict[str, Any]:
    if isinstance(contract.document, ToolDescription):
        return _told(contract.document)
    try:
        found = convert(contract.document, "mcp")
    except DocumentError as error:
        raise UsageError(f"tool {contract.name!r}: {error}") from None
    tool: Any = found.document
    if isinstance(tool, Mapping) and isinstance(tool.get("tools"), list):
        tool = tool["tools"]
    return dict(tool[0] if isinstance(tool, list) else tool)


def _told(description: ToolDescription) -> dict[str, Any]:
    """A tool of a description that never was a document."""
    schema = schema_of(description, "input")
    tool: dict[str, Any] = {"name": description.name}
    if description.title:
        tool["title"] = description.title
    tool["description"] = description.description
    tool["inputSchema"] = {"type": "object"} | schema if isinstance(schema, dict) else {"type": "object"}
    if isinstance(description.success_schema, dict):
        tool["outputSchema"] = description.success_schema
    carried = description.extra.get("x-mcp")
    hints = (carried if isinstance(carried, Mapping) else description.extra).get("annotations")
    return tool | ({"annotations": dict(hints)} if isinstance(hints, Mapping) else {})


def result_of(contract: Contract, outcome: Outcome) -> CallToolResult:
    """How an outcome crosses.

    A success is the whole envelope where the published schema speaks of envelopes, else its data, both as
    structured content and as the same JSON in a text. An error is the envelope as a text, with ``isError``
    and without structured content, for which the specification has no meaning there.
    """
    answer = outcome.envelope
    if not outcome.succeeded:
        return CallToolResult(content=[TextContent(text=_json(answer))], is_error=True)
    value = answer if speaks_of_envelopes(schema_of(contract.description, "success")) else answer["data"]
    return CallToolResult(content=[TextContent(text=_json(value))], structured_content=value)


class ContractServer(MCPServer[Any]):
    """The SDK's server with contracts among its tools. ``contracts`` are those that it was made with."""

    def __init__(
        self,
        name: str,
        contracts: Sequence[Contract] = (),
        *,
        hints: Mapping[str, Mapping[str, bool]] | None = None,
        lang: str = "en",
        **more: Any,
    ) -> None:
        self._offers: dict[str, _Offer] = {}
        self._lang = "es" if lang == "es" else "en"
        for contract in contracts:
            if contract.name in self._offers:
                raise UsageError(f"two tools are called {contract.name!r}, one of each name accepted")
            self._offers[contract.name] = _Offer(contract, self._lang, (hints or {}).get(contract.name))
        if strange := sorted(set(hints or {}) - set(self._offers)):
            raise UsageError(f"hints for {strange[0]!r} given, {', '.join(self._offers) or 'none'} accepted")
        with _logging_as_it_was():
            super().__init__(name, **more)

    @property
    def contracts(self) -> tuple[Contract, ...]:
        """The contracts behind the tools, in the order in which they are listed."""
        return tuple(offer.contract for offer in self._offers.values())

    async def list_tools(self) -> list[Tool]:
        """The tools of the contracts, then those that were added in the SDK's way."""
        return [*(offer.tool for offer in self._offers.values()), *await super().list_tools()]

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """The result of a call. Raises MCPError (-32602) for a tool that there is not."""
        offer = self._offers.get(name)
        if offer is not None:
            return await offer.call(arguments, context or Context(mcp_server=self))
        if self._tool_manager.get_tool(name) is None:
            raise MCPError(INVALID_PARAMS, f"Unknown tool: {name[:NAME_SHOWN]}", {"tool": name[:NAME_SHOWN]})
        return await super().call_tool(name, arguments, context)

    async def get_prompt(
        self,
        name: str,
        arguments: dict[str, Any] | None = None,
        context: Context[Any, Any] | None = None,
    ) -> GetPromptResult | InputRequiredResult:
        """A prompt. Raises MCPError: -32602 for an unknown one or a missing argument, -32603 for a crash."""
        prompt = self._prompt_manager.get_prompt(name)
        if prompt is None:
            raise MCPError(
                INVALID_PARAMS, f"Unknown prompt: {name[:NAME_SHOWN]}", {"prompt": name[:NAME_SHOWN]}
            )
        needed = [each.name for each in prompt.arguments or () if each.required]
        if missing := [each for each in needed if each not in (arguments or {})]:
            raise MCPError(INVALID_PARAMS, f"Prompt {name} needs {', '.join(missing)}", {"missing": missing})
        try:
            return await super().get_prompt(name, arguments, context)
        except MCPError:
            raise
        except Exception as error:
            LOG.exception("prompt %r failed", name)
            raise MCPError(INTERNAL_ERROR, f"Error rendering prompt {name}") from error

    def _tool_input_schema(self, name: str) -> dict[str, Any] | None:
        offer = self._offers.get(name)
        return super()._tool_input_schema(name) if offer is None else offer.tool.input_schema


class _Offer:
    """One contract on offer: its tool, and what its function wants besides its arguments."""

    def __init__(self, contract: Contract, lang: str, hints: Mapping[str, bool] | None = None) -> None:
        self.contract, self._lang = contract, lang
        self.tool = tool_from(contract)
        if hints is not None and self.tool.annotations is None:
            self.tool.annotations = ToolAnnotations.model_validate(dict(hints))
        properties = schema_of(contract.description, "input")
        properties = properties.get("properties", {}) if isinstance(properties, dict) else {}
        self._defaults = {
            name: each.get("default") if isinstance(each, dict) else None for name, each in properties.items()
        }
        function: Any = contract.__wrapped__
        try:
            self._context_as = find_context_parameter(function)
            self._asked = find_resolved_parameters(function)
            self._plans = build_resolver_plans(self._asked, set(properties))
        except InvalidSignature as error:
            raise UsageError(f"tool {contract.name!r}: {error}") from None
        self._given = [*self._asked, *((self._context_as,) if self._context_as else ())]
        contract.bound(**dict.fromkeys(self._given))  # a name that is an argument too is refused here

    async def call(
        self, arguments: dict[str, Any], context: Context[Any, Any]
    ) -> CallToolResult | InputRequiredResult:
        contract = self.contract
        if self._given:
            contract = contract.bound(**dict.fromkeys(self._given))
            answers = await self._ask(contract, arguments, context) if self._asked else {}
            if not isinstance(answers, dict):
                return answers
            contract = contract.bound(**answers, **({self._context_as: context} if self._context_as else {}))
        outcome = await contract.aoutcome(arguments)
        if outcome.cause is not None:
            LOG.error("tool %r failed", contract.name, exc_info=outcome.cause)
        return result_of(contract, outcome)

    async def _ask(
        self, contract: Contract, arguments: dict[str, Any], context: Context[Any, Any]
    ) -> dict[str, Any] | CallToolResult | InputRequiredResult:
        """What the resolvers found out; a client of 2026-07-28 is sent back with the questions first.

        Nothing is asked for a call that would be refused anyway. A crash in a resolver stays here. Raises
        MCPError when the client can't ask anybody (-32021): that is a matter of the protocol.
        """
        if contract.check(arguments):
            return {}
        try:
            return await resolve_arguments(self._asked, self._plans, self._defaults | arguments, context)
        except MCPError:
            raise
        except ToolError as error:
            return self._unanswered(error)
        except Exception:
            LOG.exception("tool %r failed while it asked", self.contract.name)
            words = ("exception", "exception.expected", "exception.solution")
            return _refusal("TOOL_FAILED", [say(self._lang, each, tool=self.contract.name) for each in words])

    def _unanswered(self, error: ToolError) -> CallToolResult:
        """The person said no, or the client answered what was not asked."""
        LOG.info("tool %r: %r", self.contract.name, str(error))
        return _refusal("NOT_ANSWERED", NOT_ANSWERED[self._lang])


def _refusal(code: str, words: Sequence[str]) -> CallToolResult:
    text, expected, solution = words
    envelope = envelopes.error(
        code, text, details={}, expected=expected, solution=solution, at=datetime.now(UTC)
    )
    return CallToolResult(content=[TextContent(text=_json(envelope))], is_error=True)


async def serve_streams(server: MCPServer[Any] | Server[Any]) -> None:
    """Serve one client over the standard streams of this process, until it closes its end.

    Cancelling ends it at once. The SDK alone would wait for the client's next line, however long that takes,
    because its reader can't be interrupted; so a process that was told to end would stay.
    """
    inner = server._lowlevel_server if isinstance(server, MCPServer) else server
    lines: Any = _Lines()
    async with stdio_server(stdin=lines) as (reading, writing):
        await inner.run(reading, writing, inner.create_initialization_options())


class _Lines:
    """The lines of standard input, read in a thread that keeps nothing alive and that nobody waits for.

    Whatever else reads standard input, a tool or a child of one, finds it empty: it belongs to the wire.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._lines: asyncio.Queue[str | None] = asyncio.Queue(maxsize=1)
        self._wire = os.dup(0)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        threading.Thread(target=self._read, name="stdin", daemon=True).start()

    def _read(self) -> None:
        left = b""
        with contextlib.suppress(OSError, RuntimeError, concurrent.futures.CancelledError):
            while piece := os.read(self._wire, 65_536):
                *whole, left = (left + piece).split(b"\n")
                for line in whole:
                    self._give(line.decode("utf-8", "replace"))
            if left:
                self._give(left.decode("utf-8", "replace"))
            self._give(None)

    def _give(self, line: str | None) -> None:
        """Hand on a line and wait until it is taken. Raises what a loop that has ended raises."""
        asyncio.run_coroutine_threadsafe(self._lines.put(line), self._loop).result()

    def __aiter__(self) -> _Lines:
        return self

    async def __anext__(self) -> str:
        line = await self._lines.get()
        if line is None:
            raise StopAsyncIteration
        return line


def http_app(
    server: MCPServer[Any] | Server[Any],
    *,
    path: str = "/mcp",
    hosts: Sequence[str] = (),
    origins: Sequence[str] = (),
    json_response: bool = False,
) -> Starlette:
    """The server as an ASGI app (streamable HTTP), shielded from DNS rebinding whatever it is bound to.

    A request whose Host is neither loopback nor in ``hosts`` gets 421, one from a foreign Origin 403; a name
    without a port stands for every port.
    """
    names = [*LOOPBACK, *hosts]
    known = [f"{scheme}://{name}" for name in names for scheme in ("http", "https")]
    return server.streamable_http_app(
        streamable_http_path=path,
        json_response=json_response,
        transport_security=TransportSecuritySettings(
            enable_dns_rebinding_protection=True,
            allowed_hosts=_with_ports(names),
            allowed_origins=_with_ports([*known, *origins]),
        ),
    )


def _with_ports(names: Sequence[str]) -> list[str]:
    """Each name, and the name with any port when it has none."""
    bare = [name for name in names if not name.rpartition(":")[2].isdigit()]
    return [*names, *(f"{name}:*" for name in bare)]


@contextmanager
def _logging_as_it_was() -> Iterator[None]:
    """Keep the SDK's constructor from setting up logging for the whole process."""
    root, handler = logging.getLogger(), logging.NullHandler()
    root.addHandler(handler)
    try:
        yield
    finally:
        root.removeHandler(handler)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
