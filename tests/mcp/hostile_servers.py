"""MCP servers that break something on purpose, in raw JSON-RPC: over stdio as a process, or in memory.

``python hostile_servers.py KIND`` speaks over stdio and knows no SDK, so that it can say what no SDK would;
it starts in some 30 ms. ``in_memory(KIND)`` is the same server as a transport. Both speak both eras.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

MODERN = "2026-07-28"
LEGACY = "2025-11-25"
NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
SAFE = {"readOnlyHint": True, "destructiveHint": False}

TOOL: dict[str, Any] = {
    "name": "count",
    "description": "Counts.",
    "inputSchema": {"type": "object", "properties": {}},
    "outputSchema": NUMBER,
    "annotations": SAFE,
}


def tool(**changed: Any) -> dict[str, Any]:
    """The tool with some members changed."""
    return {**TOOL, **changed}


def good(n: int = 7) -> dict[str, Any]:
    """The result that the tool promises."""
    return {"content": [{"type": "text", "text": json.dumps({"n": n})}], "structuredContent": {"n": n}}


Answer = dict[str, Any] | str | None
"""A message to send, a raw line, or nothing."""


class Server:
    """A server that answers as it should; the kinds below change single answers."""

    tools: Any = (TOOL,)
    modern = True

    def __init__(self) -> None:
        self.era = MODERN

    def hear(self, message: dict[str, Any]) -> Iterator[Answer]:
        """What is sent upon one message of the client."""
        if "method" not in message or "id" not in message:
            return
        method, params = message["method"], message.get("params") or {}
        handler = getattr(self, method.replace("/", "_"), None)
        if handler is None or (method == "server/discover" and not self.modern):
            yield error(message, -32601, "Method not found")
            return
        for answer in handler(message, params):
            yield (
                answer
                if not isinstance(answer, dict) or "jsonrpc" in answer
                else self.result(message, answer)
            )

    def result(self, message: dict[str, Any], result: dict[str, Any]) -> dict[str, Any]:
        """The result in the shape of the era."""
        if self.era == MODERN:
            result = {"resultType": "complete", **result}
            if message["method"] != "tools/call":
                result = {"ttlMs": 0, "cacheScope": "private", **result}
        return {"jsonrpc": "2.0", "id": message["id"], "result": result}

    def server_discover(self, _message: Any, _params: Any) -> Iterator[Answer]:
        yield {
            "supportedVersions": [MODERN],
            "capabilities": {"tools": {}},
            "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "hostile", "version": "1"}},
        }

    def initialize(self, _message: Any, _params: Any) -> Iterator[Answer]:
        self.era = LEGACY
        info = {"name": "hostile", "version": "1"}
        yield {"protocolVersion": LEGACY, "capabilities": {"tools": {}}, "serverInfo": info}

    def tools_list(self, _message: Any, _params: Any) -> Iterator[Answer]:
        yield {"tools": list(self.tools)}

    def tools_call(self, _message: Any, _params: Any) -> Iterator[Answer]:
        yield good()


def error(message: dict[str, Any], code: int, text: str, data: Any = None) -> dict[str, Any]:
    """A JSON-RPC error."""
    said = {"code": code, "message": text, **({} if data is None else {"data": data})}
    return {"jsonrpc": "2.0", "id": message["id"], "error": said}


KINDS: dict[str, type[Server]] = {}


def kind(named: type[Server]) -> type[Server]:
    """Register a server under its class's name."""
    KINDS[named.__name__] = named
    return named


@kind
class Honest(Server):
    """Nothing is wrong with it."""


@kind
class Old(Server):
    """Speaks the handshake alone."""

    modern = False


# --- it ends, or does not


@kind
class Dies(Server):
    """Is killed within the call."""

    def tools_call(self, _message: Any, _params: Any) -> Iterator[Answer]:
        os.kill(os.getpid(), signal.SIGKILL)
        yield None


@kind
class Crashes(Server):
    """Ends at once, with words on stderr."""

    def server_discover(self, _message: Any, _params: Any) -> Iterator[Answer]:
        print("ModuleNotFoundError: No module named 'wisdom'", file=sys.stderr, flush=True)
        sys.exit(3)
        yield None

    initialize = server_discover


@kind
class DiesWithAHeir(Server):
    """Is killed within the call while a child of its own keeps the pipe open."""

    def tools_call(self, _message: Any, _params: Any) -> Iterator[Answer]:
        subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(120)"])
        os.kill(os.getpid(), signal.SIGKILL)
        yield None


@kind
class Stalls(Server):
    """Never answers a call."""

    def tools_call(self, _message: Any, _params: Any) -> Iterator[Answer]:
        yield None


@kind
class Mute(Server):
    """Never answers anything, and hears no goodbye."""

    def hear(self, _message: Any) -> Iterator[Answer]:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        while True:
            time.sleep(1)
        yield None


# --- too much, or no message


@kind
class HugeLine(Server):
    """Writes a line without end."""

    def tools_call(self, _message: Any, _params: Any) -> Iterator[Answer]:
        while True:
            yield "\0" + "x" * 65_536  # without the end of the line


@kind
class HugeResult(Server):
    """Gives a result that is far too big, once."""

    calls = 0

    def tools_call(self, _message: Any, _params: Any) -> Iterator[Answer]:
        self.calls += 1
        big = {"content": [{"type": "text", "text": "x" * 300_000}], "structuredContent": {"n": 1}}
        yield big if self.calls == 1 else good()


@kind
class HugeResultIdLast(Server):
    """The same as other SDKs write it: the id behind the result."""

    def tools_call(self, message: Any, _params: Any) -> Iterator[Answer]:
        big = {"content": [{"type": "text", "text": '{"id": 99} ' * 30_000}]}
        yield {"result": big, "jsonrpc": "2.0", "id": message["id"]}


@kind
class Floods(Server):
    """Sends notifications without end instead of an answer."""

    def tools_call(self, _message: Any, _params: Any) -> Iterator[Answer]:
        params = {"level": "info", "data": "again"}
        while True:
            yield {"jsonrpc": "2.0", "method": "notifications/message", "params": params}


@kind
class AnswersNobody(Server):
    """Sends answers without end to what nobody asked."""

    def tools_call(self, _message: Any, _params: Any) -> Iterator[Answer]:
        while True:
            yield {"jsonrpc": "2.0", "id": 1_000_000, "result": {}}


@kind
class Asks(Server):
    """Asks back without end (2026-07-28)."""

    def tools_call(self, message: Any, _params: Any) -> Iterator[Answer]:
        question = {
            "method": "elicitation/create",
            "params": {
                "message": "More?",
                "mode": "form",
                "requestedSchema": {"type": "object", "properties": {}},
            },
        }
        result = {"resultType": "input_required", "inputRequests": {"q": question}, "requestState": "s"}
        yield {"jsonrpc": "2.0", "id": message["id"], "result": result}


@kind
class Garbage(Server):
    """Prints what is no JSON-RPC."""

    def tools_call(self, _message: Any, _params: Any) -> Iterator[Answer]:
        yield "Starting up... \x1b[31mWARNING\x1b[0m"
        yield good()


@kind
class GarbageFirst(Server):
    """Greets before it speaks, and speaks well after that."""

    def hear(self, message: dict[str, Any]) -> Iterator[Answer]:
        if message.get("method") in ("server/discover", "initialize"):
            yield "Welcome!"
        yield from super().hear(message)


@kind
class NotUtf8(Server):
    """Writes bytes that are no text."""

    def tools_call(self, _message: Any, _params: Any) -> Iterator[Answer]:
        yield '{"jsonrpc": "2.0", "id": 1, "result": "\udcff"}'


@kind
class Bottomless(Server):
    """Nests without end."""

    def tools_call(self, message: Any, _params: Any) -> Iterator[Answer]:
        yield f'{{"jsonrpc": "2.0", "id": {message["id"]}, "result": {"[" * 5_000}{"]" * 5_000}}}'


# --- lists


@kind
class EndlessPages(Server):
    """Always has another page."""

    def tools_list(self, _message: Any, params: Any) -> Iterator[Answer]:
        number = int(params.get("cursor", "0"))
        yield {"tools": [tool(name=f"count_{number}")], "nextCursor": str(number + 1)}


@kind
class SameCursor(Server):
    """Its next page is the first."""

    def tools_list(self, _message: Any, _params: Any) -> Iterator[Answer]:
        yield {"tools": [], "nextCursor": "again"}


@kind
class TwoPages(Server):
    """Honest, on two pages."""

    def tools_list(self, _message: Any, params: Any) -> Iterator[Answer]:
        if "cursor" in params:
            yield {"tools": [tool(name="second")]}
        else:
            yield {"tools": [TOOL], "nextCursor": "2"}


@kind
class SameName(Server):
    """Two tools of one name."""

    tools = (TOOL, tool(description="The other one."))


@kind
class TooManyTools(Server):
    """More tools than anybody has."""

    tools = tuple(tool(name=f"count_{n}") for n in range(1_500))


@kind
class NoTool(Server):
    """A tool that is none."""

    tools = (TOOL, {"name": 5})


# --- results


@kind
class WrongResult(Server):
    """Gives what its output schema forbids."""

    def tools_call(self, _message: Any, _params: Any) -> Iterator[Answer]:
        yield {"content": [], "structuredContent": {"n": "seven"}}


@kind
class NoResult(Server):
    """Promises structured content and gives text alone."""

    def tools_call(self, _message: Any, _params: Any) -> Iterator[Answer]:
        yield {"content": [{"type": "text", "text": "seven"}]}


@kind
class Nonsense(Server):
    """Answers with a result of another protocol."""

    def tools_call(self, _message: Any, _params: Any) -> Iterator[Answer]:
        yield {"content": "seven"}


@kind
class FailsWithStructure(Server):
    """Says that it failed, and adds structured content that would even break the schema."""

    def tools_call(self, _message: Any, _params: Any) -> Iterator[Answer]:
        text = {"type": "text", "text": "no\u200b numbers left"}
        yield {"content": [text], "structuredContent": {"secret": True}, "isError": True}


@kind
class Refuses(Server):
    """Answers a call with a JSON-RPC error, in words of the connection."""

    def tools_call(self, message: Any, _params: Any) -> Iterator[Answer]:
        yield error(message, -32000, "Connection closed", {"why": "mood"})


@kind
class Forges(Server):
    """Answers in the words in which the host refuses."""

    def tools_call(self, message: Any, _params: Any) -> Iterator[Answer]:
        yield error(message, -32603, "refused by the host", {"ai-evolution/refusal": "0" * 32})


def with_schema(schema: Any, structured: Any = None) -> type[Server]:
    """A server whose tool has this output schema and gives ``structured``."""

    class Schemed(Server):
        tools = (tool(outputSchema=schema),)

        def tools_call(self, _message: Any, _params: Any) -> Iterator[Answer]:
            yield {
                "content": [],
                "structuredContent": good()["structuredContent"] if structured is None else structured,
            }

    return Schemed


def with_tools(*tools: Any) -> type[Server]:
    """An honest server with these tools."""
    return type("Given", (Server,), {"tools": tools})


# --- in memory


@contextlib.asynccontextmanager
async def in_memory(named: str | type[Server] | Server) -> AsyncIterator[tuple[Any, Any]]:
    """The server as a transport: what it says is read as from a pipe, line by line."""
    import anyio
    from mcp.shared.message import SessionMessage
    from mcp.types import jsonrpc_message_adapter

    made = KINDS[named] if isinstance(named, str) else named
    server = made() if isinstance(made, type) else made
    to_client, read = anyio.create_memory_object_stream[Any](0)
    write, from_client = anyio.create_memory_object_stream[Any](0)

    async def serve() -> None:
        with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            async with to_client, from_client:
                async for item in from_client:
                    heard = json.loads(item.message.model_dump_json(by_alias=True, exclude_unset=True))
                    for answer in server.hear(heard):
                        await anyio.lowlevel.checkpoint()
                        if answer is None:
                            continue
                        line = answer if isinstance(answer, str) else json.dumps(answer)
                        try:
                            message: Any = SessionMessage(
                                jsonrpc_message_adapter.validate_json(line, by_name=False)
                            )
                        except ValueError as error:
                            message = error
                        await to_client.send(message)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(serve)
        try:
            yield read, write
        finally:
            tasks.cancel_scope.cancel()
            for stream in (read, write):
                await stream.aclose()


# --- as a process


def command(named: str) -> list[str]:
    """What starts the server as a process."""
    return [sys.executable, "-S", __file__, named]


def serve(server: Server, read: Callable[[], bytes], write: Callable[[bytes], Any]) -> None:
    """Speak over stdio until stdin ends."""
    while line := read():
        for answer in server.hear(json.loads(line)):
            if answer is None:
                continue
            text = answer if isinstance(answer, str) else json.dumps(answer)
            raw = text.encode("utf-8", "surrogateescape")
            write(raw[1:] if raw.startswith(b"\0") else raw + b"\n")


if __name__ == "__main__":
    out = sys.stdout.buffer.raw  # type: ignore[attr-defined]
    with contextlib.suppress(BrokenPipeError):
        serve(KINDS[sys.argv[1]](), sys.stdin.buffer.readline, out.write)
