"""One conversation with the server, in raw JSON-RPC, over HTTP or over a process's own pipes.

Bounded in what it reads, deaf to redirects, and no user of any MCP library: a judge that shares code with
the judged shares its mistakes. What an answer lacks ends the check early (``Stop``) with words for what was
observed instead.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import httpx

from ai_evolution.mcp.behaviours.subject import MODERN, Call, Exchange, Subject

MAX_BODY = 4_000_000
MAX_PAGES = 50
MAX_REFERENCES = 16
MAX_PARTS = 2_000
SHOWN = 1_500
SHOWN_EXCHANGES = 6
SILENCE = 3
META = "io.modelcontextprotocol/"
CLIENT = {"name": "ai-evolution-judge", "version": "1"}
NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
EVERYTHING: Mapping[str, Any] = {"elicitation": {"form": {}}, "sampling": {}, "roots": {}}

LEAKS = ("Traceback (most recent call last)", 'File "')

Message = dict[str, Any]
Answering = Callable[[str, Mapping[str, Any]], Mapping[str, Any] | None]
"""A client's answer to a server's question: method and params in, result out, or None to refuse."""


class Stop(Exception):
    """A check ends early: ``args[0]`` is what was observed instead."""


class Silence(Stop):
    """No answer at all arrived."""


@dataclass
class Reply:
    """What one request brought: the response, what came before it, and the HTTP status if there was one."""

    response: Message
    before: list[Message] = field(default_factory=list)
    status: int | None = None

    @property
    def code(self) -> int | None:
        """The code of the JSON-RPC error, None when there is a result."""
        code = at(self.response, "error", "code")
        return code if type(code) is int else None

    @property
    def result(self) -> dict[str, Any]:
        result = self.response.get("result")
        if not isinstance(result, dict):
            raise Stop(f"error {self.code} where a result was expected")
        return result

    @property
    def asks(self) -> bool:
        return bool(at(self.response, "result", "resultType") == "input_required")

    @property
    def is_error(self) -> bool:
        return at(self.response, "result", "isError") is True

    @property
    def refused(self) -> bool:
        return self.code is not None or self.is_error

    @property
    def text(self) -> str:
        """All text of the result's content."""
        blocks = items_of(at(self.response, "result", "content"))
        return " ".join(said for block in blocks if isinstance(said := at(block, "text"), str)).strip()

    @property
    def outcome(self) -> str:
        """In a word: how the call ended."""
        if self.code is not None:
            return f"error {self.code}"
        if self.asks:
            return "a question"
        return "isError" if self.is_error else "a result"

    def notifications(self, method: str) -> list[Mapping[str, Any]]:
        return [fields_of(m.get("params")) for m in self.before if m.get("method") == method]


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


def plain(value: Any) -> Any:
    """The value with no character in it that could steer a terminal or break an encoder."""
    if isinstance(value, str):
        text = value.encode("utf-8", "replace").decode("utf-8")
        return "".join(c if c in "\n\t" or c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
    if isinstance(value, list):
        return [plain(v) for v in value]
    return {plain(k): plain(v) for k, v in value.items()} if isinstance(value, dict) else value


def read_json(raw: bytes | str, otherwise: str) -> Any:
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        raise Stop(otherwise) from None


def error_of(raw: bytes) -> int | str:
    """The code of the JSON-RPC error in a body, or what is there instead."""
    code = at(read_json(raw, "a body that is not JSON"), "error", "code")
    return code if type(code) is int else "no error"


# -------------------------------------------------------------------------------- transports


class Transport(Protocol):
    """Carries messages. ``exchange`` sends a request and returns when its response has come."""

    heard: list[bytes]
    strange: list[str]
    closing_cancels: bool

    async def exchange(self, request: Message, heads: Mapping[str, str], answer: Answering, /) -> Reply: ...
    async def tell(self, notification: Message, heads: Mapping[str, str], /) -> None: ...
    async def aclose(self) -> None: ...


class HttpTransport:
    """Streamable HTTP: one POST for each message, its answer as JSON or as a stream of events."""

    def __init__(self, url: str, http: httpx.AsyncClient, modern: bool, deadline: float) -> None:
        self.url, self.http, self.modern, self.deadline = url, http, modern, deadline
        self.session: str | None = None
        self.heard: list[bytes] = []
        self.strange: list[str] = []
        self.closing_cancels = modern  # who leaves the stream cancels the request (2026-07-28)

    @contextlib.asynccontextmanager
    async def post(self, body: bytes, heads: Mapping[str, str]) -> AsyncIterator[httpx.Response]:
        sent = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "Accept-Encoding": "identity",
            **heads,
        }
        if self.session is not None:
            sent["Mcp-Session-Id"] = self.session
        limit = httpx.Timeout(self.deadline)
        try:
            async with self.http.stream(
                "POST", self.url, content=body, headers=sent, timeout=limit, follow_redirects=False
            ) as response:
                yield response
        except httpx.TimeoutException:
            raise Silence(f"no answer within {self.deadline:g} s") from None
        except httpx.ConnectError:
            raise Silence("the connection was refused") from None
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError):
            raise Silence("the connection was closed without a whole answer") from None

    async def raw(self, body: bytes, heads: Mapping[str, str]) -> tuple[int, bytes]:
        async with self.post(body, heads) as response:
            return response.status_code, await self._read(response)

    async def _read(self, response: httpx.Response) -> bytes:
        body = bytearray()
        async for piece in response.aiter_raw():
            body += piece
            if len(body) > MAX_BODY:
                raise Stop(f"an answer of more than {MAX_BODY} bytes")
        self.heard.append(bytes(body))
        return bytes(body)

    async def exchange(self, request: Message, heads: Mapping[str, str], answer: Answering) -> Reply:
        before: list[Message] = []
        async with self.post(json.dumps(request).encode(), heads) as response:
            if request["method"] == "initialize":
                self.session = response.headers.get("mcp-session-id", self.session)
            async for message in self._messages(response):
                if "method" in message and "id" in message:
                    before.append(message)
                    await self._post_answer(_answered(message, answer), heads)
                elif "method" in message:
                    before.append(message)
                else:
                    _expect(message, request, response.status_code)
                    return Reply(message, before, response.status_code)
            raise Stop(f"HTTP {response.status_code} without a response to the request")

    async def _messages(self, response: httpx.Response) -> AsyncIterator[Message]:
        if "text/event-stream" not in response.headers.get("content-type", ""):
            raw = await self._read(response)
            yield _message(raw, f"HTTP {response.status_code} with a body that is no JSON-RPC message")
            return
        size, buffer = 0, b""
        async for piece in response.aiter_raw():
            size += len(piece)
            if size > MAX_BODY:
                raise Stop(f"an answer of more than {MAX_BODY} bytes")
            self.heard.append(piece)
            buffer = (buffer + piece).replace(b"\r\n", b"\n")
            *events, buffer = buffer.split(b"\n\n")
            for event in events:
                lines = [
                    line[5:].removeprefix(b" ") for line in event.split(b"\n") if line.startswith(b"data:")
                ]
                if data := b"\n".join(lines).strip():
                    yield _message(data, "an event whose data is no JSON-RPC message")

    async def _post_answer(self, message: Message, heads: Mapping[str, str]) -> None:
        if not self.modern:  # on the modern wire there is no such thing: the observation will say so
            await self.raw(json.dumps(message).encode(), heads)

    async def tell(self, notification: Message, heads: Mapping[str, str]) -> None:
        await self.raw(json.dumps(notification).encode(), heads)

    async def aclose(self) -> None:
        return None


class StdioTransport:
    """A process of the server's own: one message for each line of its stdin and stdout."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.heard: list[bytes] = []
        self.strange: list[str] = []
        self.closing_cancels = False
        self.ready = False
        self._waiting: dict[str | int, tuple[asyncio.Future[Message], list[Message], Answering]] = {}
        self._listening = asyncio.create_task(self._listen())

    @classmethod
    async def start(cls, command: Sequence[str], environment: Mapping[str, str] | None) -> StdioTransport:
        keep = ("PATH", "HOME", "LANG", "SYSTEMROOT", "TEMP", "PYTHONPATH", "VIRTUAL_ENV")
        known = {name: os.environ[name] for name in keep if name in os.environ}
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                env={**known, **(environment or {})},
                limit=MAX_BODY,
            )
        except OSError as error:
            raise Silence(f"the command cannot be started: {error.strerror or error}") from None
        return cls(process)

    @property
    def alive(self) -> bool:
        return self.process.returncode is None and not self._listening.done()

    async def _listen(self) -> None:
        assert self.process.stdout is not None
        with contextlib.suppress(ValueError, OSError):
            while line := await self.process.stdout.readline():
                self.heard.append(line)
                await self._take(line)
        for future, _, _ in self._waiting.values():
            if not future.done():
                future.set_exception(Silence("the process ended, or wrote a line without end"))

    async def _take(self, line: bytes) -> None:
        try:
            message = _message(line, "")
        except Stop:
            self.strange.append(line.decode("utf-8", "replace").strip()[:200])
            return
        if "method" not in message:
            future, _, _ = self._waiting.get(message.get("id") or 0, (None, [], None))
            if future is not None and not future.done():
                future.set_result(message)
            return
        for _, before, answer in self._waiting.values():
            before.append(message)
            if "id" in message:
                await self._write(_answered(message, answer))
                return

    async def _write(self, message: Message) -> None:
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
            await self.process.stdin.drain()
        except (OSError, RuntimeError):
            raise Silence("the process no longer reads") from None

    async def exchange(self, request: Message, _: Mapping[str, str], answer: Answering) -> Reply:
        future: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        before: list[Message] = []
        if not self.alive:
            raise Silence("the process has ended")
        self._waiting[request["id"]] = (future, before, answer)
        try:
            await self._write(request)
            message = await future
        finally:
            del self._waiting[request["id"]]
        _expect(message, request, None)
        return Reply(message, before)

    async def tell(self, notification: Message, _: Mapping[str, str]) -> None:
        await self._write(notification)

    async def aclose(self) -> None:
        self._listening.cancel()
        with contextlib.suppress(OSError):
            if self.process.stdin is not None:
                self.process.stdin.close()
        try:
            async with asyncio.timeout(2):
                await self.process.wait()
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                self.process.kill()
            await self.process.wait()
        await asyncio.gather(self._listening, return_exceptions=True)


def _message(raw: bytes, otherwise: str) -> Message:
    message = read_json(raw, otherwise)
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        raise Stop(otherwise)
    return message


def _answered(question: Message, answer: Answering) -> Message:
    result = answer(str(question.get("method")), fields_of(question.get("params")))
    if result is None:
        error = {"code": -32601, "message": "this client does not do that"}
        return {"jsonrpc": "2.0", "id": question["id"], "error": error}
    return {"jsonrpc": "2.0", "id": question["id"], "result": dict(result)}


def _expect(response: Message, request: Message, status: int | None) -> None:
    """A well-formed response to this request, or ``Stop``."""
    where = "" if status is None else f" (HTTP {status})"
    if ("result" in response) == ("error" in response):
        raise Stop(f"a response with both or neither of result and error{where}")
    if "error" in response:
        if type(at(response, "error", "code")) is not int:
            raise Stop(f"a JSON-RPC error without an integer code{where}")
        if response.get("id") in (request["id"], None):
            return
    if response.get("id") != request["id"] or type(response["id"]) is not type(request["id"]):
        raise Stop(f"a response with another id than the request's{where}")


# ----------------------------------------------------------------------------------- schemas


def heavy_parts(schema: Any) -> Iterator[str]:
    """What in a stranger's schema might never come to an end: here nothing interrupts its evaluation."""
    waiting, references, size = [schema], 0, 0
    while waiting:
        here = waiting.pop()
        size += 1
        if isinstance(here, dict):
            waiting += here.values()
            references += sum(key.endswith("Ref") or key == "$ref" for key in here)
            named = here.get("patternProperties")
            for pattern in (here.get("pattern"), *(named if isinstance(named, dict) else ())):
                if isinstance(pattern, str) and _is_slow(pattern):
                    yield f"the pattern {pattern[:60]!r} repeats what repeats"
        elif isinstance(here, list):
            waiting += here
    if references > MAX_REFERENCES or size > MAX_PARTS:
        yield f"{references} references, {size} parts; at most {MAX_REFERENCES}, {MAX_PARTS}"


def _is_slow(pattern: str) -> bool:
    unbounded = len(re.findall(r"[*+]|\{\d*,\}", pattern))
    return len(pattern) > 200 or unbounded > 3 or bool(re.search(r"\)[*+{]|\\\d", pattern))


# ------------------------------------------------------------------------------ conversation


def refuse(_: str, __: Mapping[str, Any]) -> None:
    """The answer of a client that answers nothing."""


class Wire:
    """One check's conversation with the subject, written down as it goes."""

    def __init__(self, subject: Subject, transport: Transport) -> None:
        self.subject = subject
        self.transport = transport
        self.modern = subject.revision == MODERN
        self.log: list[Exchange] = []
        self.answered = False
        self.welcome: dict[str, Any] = {}
        self._ids = itertools.count(1)
        self.capabilities: Mapping[str, Any] = EVERYTHING

    @property
    def http(self) -> HttpTransport:
        assert isinstance(self.transport, HttpTransport)
        return self.transport

    async def begin(self, capabilities: Mapping[str, Any] = EVERYTHING) -> None:
        """Say hello as the revision has it: a handshake, or (2026-07-28) nothing at all."""
        self.capabilities = capabilities
        stdio = self.transport if isinstance(self.transport, StdioTransport) else None
        if self.modern or (stdio is not None and stdio.ready):
            return
        hello = {
            "protocolVersion": self.subject.revision,
            "capabilities": dict(capabilities),
            "clientInfo": CLIENT,
        }
        self.welcome = (await self.request("initialize", hello)).result
        await self.tell("notifications/initialized")
        if stdio is not None:
            stdio.ready = True

    def heads(self, method: str, params: Mapping[str, Any]) -> dict[str, str]:
        """The headers that go with a message over HTTP."""
        sent = {} if method == "initialize" else {"MCP-Protocol-Version": self.subject.revision}
        if self.modern:
            sent["Mcp-Method"] = method
            if isinstance(name := params.get(NAMED.get(method, "")), str) and name.isascii():
                sent["Mcp-Name"] = name
        return sent

    async def request(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        request_id: str | int | None = None,
        progress: str | None = None,
        answer: Answering = refuse,
    ) -> Reply:
        """Send a request and read up to its response. ``progress`` is a progress token."""
        full: dict[str, Any] = dict(params or {})
        meta: dict[str, Any] = {}
        if self.modern:
            meta[META + "protocolVersion"] = self.subject.revision
            meta[META + "clientInfo"] = CLIENT
            meta[META + "clientCapabilities"] = dict(self.capabilities)
        if progress is not None:
            meta["progressToken"] = progress
        if meta:
            full["_meta"] = meta
        if request_id is None:
            request_id = f"judge-{id(self)}-{next(self._ids)}"
        message = {"jsonrpc": "2.0", "id": request_id, "method": method, "params": full}
        try:
            reply = await self.transport.exchange(message, self.heads(method, full), answer)
        except Stop as stop:
            self._note(message, str(stop.args[0]))
            raise
        except asyncio.CancelledError:
            self._note(message, "(no whole answer until the judge stopped waiting)")
            raise
        self.answered = True
        self._note(message, *(json.dumps(m, ensure_ascii=False) for m in [*reply.before, reply.response]))
        return reply

    async def tell(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        message: Message = {"jsonrpc": "2.0", "method": method}
        if params is not None:
            message["params"] = dict(params)
        await self.transport.tell(message, self.heads(method, params or {}))

    async def call(self, call: Call, **more: Any) -> Reply:
        """Call a tool, once."""
        params = {"name": call.tool, "arguments": dict(call.arguments)}
        return await self.request("tools/call", params, **more)

    async def ask(self, call: Call, respond: Answering) -> tuple[Reply, list[str]]:
        """Call a tool and answer what it asks, in either era. The last reply, and what was asked for."""
        asked: list[str] = []

        def answer(method: str, params: Mapping[str, Any]) -> Mapping[str, Any] | None:
            asked.append(method)
            return respond(method, params)

        params: dict[str, Any] = {"name": call.tool, "arguments": dict(call.arguments)}
        reply = await self.request("tools/call", params, answer=answer)
        for _ in range(5):
            if not reply.asks:
                break
            questions = fields_of(reply.result.get("inputRequests"))
            answers = {}
            for key, question in questions.items():
                said = answer(str(at(question, "method")), fields_of(at(question, "params")))
                if said is not None:
                    answers[key] = dict(said)
            again = {**params, "inputResponses": answers}
            if isinstance(state := reply.result.get("requestState"), str):
                again["requestState"] = state
            reply = await self.request("tools/call", again, answer=answer)
        return reply, asked

    async def pages(self, method: str, key: str) -> list[dict[str, Any]]:
        """All items of a list, pages joined; ``Stop`` when the pages do not end."""
        items: list[dict[str, Any]] = []
        cursor: str | None = None
        given: set[str] = set()
        for _ in range(MAX_PAGES):
            reply = await self.request(method, {} if cursor is None else {"cursor": cursor})
            page = reply.result.get(key)
            if not isinstance(page, list) or not all(isinstance(item, dict) for item in page):
                raise Stop(f"{method} without a list of {key}")
            items += page
            cursor = reply.result.get("nextCursor")
            if not isinstance(cursor, str):
                return items
            if cursor in given:
                raise Stop(f"{method}: the pages go round in a circle")
            given.add(cursor)
        raise Stop(f"{method}: more than {MAX_PAGES} pages")

    async def tool(self, name: str) -> dict[str, Any]:
        """The tool's own entry in tools/list; ``Stop`` where its schemas might keep a validator for ever."""
        for tool in await self.pages("tools/list", "tools"):
            if tool.get("name") == name:
                for schema in (tool.get("inputSchema"), tool.get("outputSchema")):
                    if heavy := next(heavy_parts(schema), None):
                        raise Stop(f"a schema of {name} that is not evaluated: {heavy}")
                return tool
        raise Stop(f"no tool {name!r} in tools/list")

    def _note(self, message: Message, *came: str) -> None:
        said = json.dumps(message, ensure_ascii=False)
        self.log.append(Exchange(_shown(said), _shown("\n".join(came))))


def _shown(text: str) -> str:
    text = str(plain(text))
    return text if len(text) <= SHOWN else text[:SHOWN] + f" ... ({len(text) - SHOWN} more characters)"
