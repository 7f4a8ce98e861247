"""What crossed the wire between an MCP client and a server, message by message.

A ``WireJournal`` keeps the JSON-RPC messages of one conversation on any transport: ``record`` wraps the
streams of a transport, whoever uses them. ``raw`` is the message's bytes as they crossed (over HTTP, where a
message is one part of an exchange, the bytes of the message written out again). ``canonical`` is a copy fit
for evidence and for a page: the ids of requests, progress tokens, times, random identifiers and sealed
states stand there in the order of their appearance.

It refuses to interpret: a message that breaks the protocol is kept like any other, and a line that is no
message at all is kept as ``noise``. Nothing is masked either: whoever publishes a journal asks ``searched``
for what must not be in it.
"""

from __future__ import annotations

import base64
import json
import re
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ai_evolution.errors import DocumentError
from ai_evolution.files import write_whole

Direction = Literal["client->server", "server->client"]
Kind = Literal["request", "response", "notification", "noise"]
SENT: Direction = "client->server"
RECEIVED: Direction = "server->client"
SCHEMA = "ai-evolution/mcp-journal/1"
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
SUBSCRIPTION_KEY = "io.modelcontextprotocol/subscriptionId"

_VOLATILE = re.compile(
    r"(?P<id>\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b|\b[0-9a-f]{32}\b)"
    r"|(?P<time>\b\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:\d{2}))"
    r"|(?P<state>\bv1\.[A-Za-z0-9_\-]{64,})"
)


@dataclass(frozen=True)
class WireFrame:
    """One message: who sent it, in which revision, of what kind, and its bytes.

    ``method`` is that of the request which a response answers; empty for noise. ``era`` is the protocol
    revision that the message was sent under (that of the client's last request when the message itself names
    none), empty before one was spoken of. ``size`` counts bytes.
    """

    direction: Direction
    era: str
    kind: Kind
    method: str
    size: int
    message: dict[str, Any]
    raw: bytes


class WireJournal:
    """The messages of one conversation in the order in which they crossed."""

    def __init__(self) -> None:
        self.frames: list[WireFrame] = []
        self._era = ""
        self._open: dict[tuple[Direction, str], tuple[str, str]] = {}

    def add(self, direction: Direction, raw: bytes) -> WireFrame:
        """Keep one message and return its frame."""
        try:
            message = json.loads(raw)
        except (ValueError, RecursionError):
            message = None
        if not isinstance(message, dict):
            frame = WireFrame(direction, self._era, "noise", "", len(raw), {}, raw)
        else:
            era, kind, method = self._sort(direction, message)
            frame = WireFrame(direction, era, kind, method, len(raw), message, raw)
        self.frames.append(frame)
        return frame

    def _sort(self, direction: Direction, message: dict[str, Any]) -> tuple[str, Kind, str]:
        named = message.get("method")
        if isinstance(named, str):
            era = _era_of(message) or self._era
            if direction == SENT:
                self._era = era
            if "id" not in message:
                return era, "notification", named
            self._open[direction, _key(message["id"])] = (era, named)
            return era, "request", named
        other: Direction = RECEIVED if direction == SENT else SENT
        era, method = self._open.pop((other, _key(message.get("id"))), (self._era, ""))
        result = message.get("result")
        agreed = result.get("protocolVersion") if isinstance(result, dict) else None
        if method == "initialize" and isinstance(agreed, str):
            era = self._era = agreed
        return era, "response", method

    # --- what was seen

    def canonical(self) -> list[dict[str, Any]]:
        """Each message as JSON: ``direction``, ``era``, ``kind``, ``method``, ``size`` and ``message``.

        Ids read ``request-1`` and tokens ``token-1``; ``size`` counts the UTF-8 bytes of this copy, without
        blanks, so that it is the same in every run. Noise is shown as text.
        """
        naming = _Naming()
        shown = []
        for frame in self.frames:
            noise = frame.kind == "noise"
            message = frame.raw.decode("utf-8", "replace") if noise else naming.message(frame)
            text = message if isinstance(message, str) else _compact(message)
            shown.append(
                {
                    "direction": frame.direction,
                    "era": frame.era,
                    "kind": frame.kind,
                    "method": frame.method,
                    "size": len(text.encode("utf-8", "replace")),
                    "message": message,
                }
            )
        return shown

    def counts(self) -> dict[str, dict[str, int]]:
        """How many messages of each method crossed, by era: requests, their responses and notifications."""
        tally = Counter((frame.era, frame.method or frame.kind) for frame in self.frames)
        found: dict[str, dict[str, int]] = {}
        for (era, method), number in sorted(tally.items()):
            found.setdefault(era, {})[method] = number
        return found

    def searched(self, secret: bytes) -> int:
        """In how many messages ``secret`` stands, as bytes or escaped in JSON."""
        if not secret:
            return 0
        text = secret.decode("utf-8", "replace")
        return sum(secret in frame.raw or _within(text, frame.message) for frame in self.frames)

    def show(self, lang: str = "en") -> str:
        """The canonical messages for a reader: who to whom, what, how large, and the JSON indented."""
        words = _WORDS["es" if lang == "es" else "en"]
        lines = []
        for each in self.canonical():
            arrow = "→" if each["direction"] == SENT else "←"
            what = f"{words[each['kind']]} {each['method']}".strip()
            size = f"{each['size']} {words['bytes']}"
            lines.append(f"{arrow} {words[each['direction']]} · {what} · {each['era'] or '?'} · {size}")
            message = each["message"]
            lines.append(
                message if isinstance(message, str) else json.dumps(message, indent=2, ensure_ascii=False)
            )
            lines.append("")
        return "\n".join(lines).rstrip("\n") + "\n"

    # --- files

    def dump(self, path: Path) -> None:
        """Write the journal, whole or not at all (JSON; the raw bytes as text); raises ``DocumentError``."""
        frames = [{"direction": frame.direction, **_written(frame.raw)} for frame in self.frames]
        text = json.dumps({"schema": SCHEMA, "frames": frames}, indent=1, ensure_ascii=True)
        write_whole(path, (text + "\n").encode("utf-8"))

    @classmethod
    def load(cls, path: Path) -> WireJournal:
        """The journal in a file; ``DocumentError`` when it can't be read or is none."""
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
            if document["schema"] != SCHEMA:
                raise DocumentError(f"{path}: schema {document['schema']!r} where {SCHEMA!r} is accepted")
            journal = cls()
            for each in document["frames"]:
                if each["direction"] not in (SENT, RECEIVED):
                    raise ValueError(each["direction"])
                journal.add(each["direction"], _read(each))
        except DocumentError:
            raise
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise DocumentError(f"{path}: no journal of schema {SCHEMA!r}: {error}") from None
        return journal

    # --- recording

    def record(self, transport: Any) -> AbstractAsyncContextManager[Any]:
        """``transport`` with every message kept here; the SDK's own ``Client`` takes it too."""
        return _recorded(self, transport)


@asynccontextmanager
async def _recorded(journal: WireJournal, transport: Any) -> AsyncIterator[tuple[Any, Any]]:
    async with transport as (read, write):
        yield _Reading(read, journal), _Writing(write, journal)


def raw_of(item: Any) -> bytes | None:
    """The bytes of a ``SessionMessage``, as they crossed if they were kept; None for an exception."""
    if isinstance(item, Exception):
        return None
    kept: bytes | None = getattr(item, "raw", None)
    if kept is not None:
        return kept
    return bytes(item.message.model_dump_json(by_alias=True, exclude_unset=True).encode("utf-8"))


class _Stream:
    """What the two ends below have in common: they close, and are entered, like the stream they wrap."""

    def __init__(self, inner: Any, journal: WireJournal) -> None:
        self._inner = inner
        self._journal = journal

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def __aenter__(self) -> Any:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()


class _Reading(_Stream):
    @property
    def last_context(self) -> Any:
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> Any:
        return self._kept(await self._inner.receive())

    def __aiter__(self) -> _Reading:
        return self

    async def __anext__(self) -> Any:
        return self._kept(await self._inner.__anext__())

    def _kept(self, item: Any) -> Any:
        raw = raw_of(item) if not isinstance(item, Exception) else getattr(item, "raw", None)
        if raw is not None:
            self._journal.add(RECEIVED, raw)
        return item


class _Writing(_Stream):
    async def send(self, item: Any) -> None:
        raw = raw_of(item)
        if raw is not None:
            self._journal.add(SENT, raw)
        await self._inner.send(item)


# --- replay


def replay(journal: WireJournal) -> AbstractAsyncContextManager[Any]:
    """A transport that gives the recorded answers: a server without the server.

    A request finds the next recorded one of its method and params (ids, tokens and the client's own name
    left out of account) and gets what came after it, notifications and questions first, under its own id.
    One that was not recorded, or not so often, gets a JSON-RPC error -32603 that says so.
    """
    return _replayed(journal)


@asynccontextmanager
async def _replayed(journal: WireJournal) -> AsyncIterator[tuple[Any, Any]]:
    import anyio

    to_client, read = anyio.create_memory_object_stream[Any](1_000)
    write, from_client = anyio.create_memory_object_stream[Any](1_000)
    player = _Player(journal, to_client)

    async def play() -> None:
        async with from_client, to_client:
            async for item in from_client:
                await player.hear(json.loads(raw_of(item) or b"{}"))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(play)
        try:
            yield read, write
        finally:
            tasks.cancel_scope.cancel()
            for stream in (read, write):
                await stream.aclose()


class _Player:
    def __init__(self, journal: WireJournal, out: Any) -> None:
        self._left = list(_exchanges(journal.frames))
        self._out = out
        self._waiting: dict[str, tuple[list[dict[str, Any]], Any, Any]] = {}

    async def hear(self, message: dict[str, Any]) -> None:
        if "method" not in message:
            rest = self._waiting.pop(_key(message.get("id")), None)
            if rest is not None:
                await self._go_on(*rest)
        elif "id" in message:
            wanted = _asked(message)
            found = next((each for each in self._left if each[0] == wanted), None)
            if found is None:
                await self._say(_unrecorded(message))
                return
            self._left.remove(found)
            await self._go_on(list(found[1]), message["id"], _token(message))

    async def _go_on(self, answers: list[dict[str, Any]], request_id: Any, token: Any) -> None:
        while answers:
            answer = json.loads(json.dumps(answers.pop(0)))
            if "method" not in answer:
                answer["id"] = request_id
            elif answer["method"] == "notifications/progress" and token is not None:
                answer["params"]["progressToken"] = token
            await self._say(answer)
            if "method" in answer and "id" in answer:
                self._waiting[_key(answer["id"])] = (answers, request_id, token)
                return

    async def _say(self, message: dict[str, Any]) -> None:
        from mcp.shared.message import SessionMessage
        from mcp.types import jsonrpc_message_adapter

        await self._out.send(SessionMessage(jsonrpc_message_adapter.validate_python(message, by_name=False)))


def _exchanges(frames: Sequence[WireFrame]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Each request of the client with what the server said until it had answered."""
    for index, frame in enumerate(frames):
        if frame.direction != SENT or frame.kind != "request":
            continue
        mine, token = _key(frame.message.get("id")), _token(frame.message)
        said: list[dict[str, Any]] = []
        for later in frames[index + 1 :]:
            if later.direction != RECEIVED or later.kind == "noise":
                continue
            if later.kind == "response":
                if _key(later.message.get("id")) == mine:
                    said.append(later.message)
                    break
                continue
            theirs = (later.message.get("params") or {}).get("progressToken")
            if theirs is None or theirs == token:
                said.append(later.message)
        yield _asked(frame.message), said


def _asked(message: dict[str, Any]) -> str:
    params = {key: value for key, value in (message.get("params") or {}).items() if key != "_meta"}
    if message["method"] == "initialize":
        params = {"protocolVersion": params.get("protocolVersion")}
    return _compact([message["method"], _era_of(message), json.loads(json.dumps(params, sort_keys=True))])


def _token(message: dict[str, Any]) -> Any:
    meta = (message.get("params") or {}).get("_meta")
    return meta.get("progressToken") if isinstance(meta, dict) else None


def _unrecorded(message: dict[str, Any]) -> dict[str, Any]:
    text = f"{message['method']} with these params is not in the recording, or not so often"
    return {"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32603, "message": text}}


# --- helpers


def _era_of(message: dict[str, Any]) -> str:
    params = message.get("params")
    if not isinstance(params, dict):
        return ""
    meta = params.get("_meta")
    found = meta.get(VERSION_KEY) if isinstance(meta, dict) else None
    if message["method"] == "initialize":
        found = params.get("protocolVersion")
    return found if isinstance(found, str) else ""


def _key(identifier: Any) -> str:
    return json.dumps(identifier, sort_keys=True)


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _within(text: str, value: Any) -> bool:
    if isinstance(value, str):
        return text in value
    if isinstance(value, dict):
        return any(text in key or _within(text, inner) for key, inner in value.items())
    return isinstance(value, list) and any(_within(text, inner) for inner in value)


def _written(raw: bytes) -> dict[str, str]:
    try:
        return {"raw": raw.decode("utf-8")}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(raw).decode("ascii")}


def _read(each: dict[str, str]) -> bytes:
    return each["raw"].encode("utf-8") if "raw" in each else base64.b64decode(each["base64"], validate=True)


class _Naming:
    """Names in the order of appearance for what differs from run to run."""

    def __init__(self) -> None:
        self._seen: dict[str, str] = {}
        self._numbers: Counter[str] = Counter()

    def message(self, frame: WireFrame) -> dict[str, Any]:
        whose = frame.direction if frame.kind == "request" else _OTHER[frame.direction]
        message = {
            key: self._request(whose, value)
            if key == "id" and frame.kind != "notification"
            else self._value(value)
            for key, value in frame.message.items()
        }
        params = message.get("params")
        if isinstance(params, dict):
            given = frame.message["params"]
            if "progressToken" in params:
                params["progressToken"] = self._name("token", _key(given["progressToken"]))
            if frame.method == "notifications/cancelled" and "requestId" in params:
                params["requestId"] = self._request(frame.direction, given["requestId"])
            self._meta(params, given)
        result = message.get("result")
        if isinstance(result, dict):
            self._meta(result, frame.message["result"])
        return message

    def _meta(self, holder: dict[str, Any], given: dict[str, Any]) -> None:
        meta = holder.get("_meta")
        if not isinstance(meta, dict):
            return
        if "progressToken" in meta:
            meta["progressToken"] = self._name("token", _key(given["_meta"]["progressToken"]))
        if SUBSCRIPTION_KEY in meta:
            meta[SUBSCRIPTION_KEY] = self._request(SENT, given["_meta"][SUBSCRIPTION_KEY])

    def _request(self, whose: Direction, value: Any) -> str | None:
        kind = "request" if whose == SENT else "question"
        return None if value is None else self._name(kind, f"{whose} {_key(value)}")

    def _name(self, kind: str, value: str) -> str:
        known = f"{kind} {value}"
        if known not in self._seen:
            self._numbers[kind] += 1
            self._seen[known] = f"{kind}-{self._numbers[kind]}"
        return self._seen[known]

    def _value(self, value: Any) -> Any:
        if isinstance(value, str):
            return _VOLATILE.sub(lambda found: self._name(str(found.lastgroup), found.group()), value)
        if isinstance(value, dict):
            return {self._value(key): self._value(inner) for key, inner in value.items()}
        return [self._value(inner) for inner in value] if isinstance(value, list) else value


_OTHER: dict[Direction, Direction] = {SENT: RECEIVED, RECEIVED: SENT}
_WORDS = {
    "en": {
        SENT: "client to server",
        RECEIVED: "server to client",
        "request": "request",
        "response": "response to",
        "notification": "notification",
        "noise": "no JSON-RPC",
        "bytes": "bytes",
    },
    "es": {
        SENT: "del cliente al servidor",
        RECEIVED: "del servidor al cliente",
        "request": "petición",
        "response": "respuesta a",
        "notification": "notificación",
        "noise": "no es JSON-RPC",
        "bytes": "bytes",
    },
}
