"""The protocol between host and runner: a state machine without a socket, a clock or a random number.

Frames, one line each, JSON inside (markers of the article; ``N`` is a nonce, new in every execution)::

    host   -> stdin    __PTC_SESSION__{"nonce", "mode", "tools", "value"}__PTC_END_SESSION__
    host   -> stdin    __CODE_START__{"nonce": N, "code"}__CODE_END__
    host   -> stdin    __PTC_TOOL_RESULT__N {"call_id", "result" | "error"}__PTC_END_RESULT__
    host   -> stdin    __EXIT_SESSION__
    runner -> stderr   __PTC_TOOL_CALL__N {"call_id", "tool_name", "arguments"}__PTC_END_CALL__
    runner -> stdout   __PTC_OUTPUT__N {"success", "value", "error", "note"}__PTC_END_OUTPUT__
    runner -> stderr   __READY__N          first with the session's nonce, then after each execution

What the program prints goes to stdout as it is, around the last frame; what it writes to stderr, around the
calls. The program is data to the frames: its text travels as a JSON string in which a marker can't occur.

Markers are framing and never a boundary. The nonce keeps a text that merely *contains* a marker (a printed
document, a tool's result) from being taken for a frame. A program that searches its own process finds the
nonce, and gains what it had: a call through the same allow-list, the same caps and the same ``OnCall``, and
the right to end its own run with a value of its choice.

What a foreign or broken frame does:

==========================================  ==============================================================
a marker without this execution's nonce     it is text: part of the output (or of stderr)
a call id that was seen before              ignored and counted (``Ignored``); the first call stands
a call before code, or after the output     ignored and counted
a second output, or a ready out of turn     ignored and counted
a tool that isn't on the list               ``Refused``: the host answers it with an error, nothing is called
this nonce and no JSON, or wrong fields     WireError: the runner is not ours any more, the run ends
a frame longer than the limits              WireError
an answer to an unknown or answered call    WireError (ours: a mistake of the host)
==========================================  ==============================================================
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NoReturn

from ai_evolution.errors import LimitExceeded, UsageError, WireError
from ai_evolution.ptc.limits import Limits
from ai_evolution.ptc.sandbox import Answer, Call, Frame, RunError, ToolStub, identifiers, over, plain_json

SESSION, END_SESSION = "__PTC_SESSION__", "__PTC_END_SESSION__"
CODE, END_CODE = "__CODE_START__", "__CODE_END__"
RESULT, END_RESULT = "__PTC_TOOL_RESULT__", "__PTC_END_RESULT__"
CALL, END_CALL = "__PTC_TOOL_CALL__", "__PTC_END_CALL__"
OUTPUT, END_OUTPUT = "__PTC_OUTPUT__", "__PTC_END_OUTPUT__"
READY, EXIT = "__READY__", "__EXIT_SESSION__"

SLACK = 65_536  # of a frame around the value that a limit speaks of
ERROR = 16_384  # characters of an error's text that are kept


@dataclass(frozen=True, slots=True)
class Ready:
    """The runner waits for code."""


@dataclass(frozen=True, slots=True)
class Called:
    """The program called a tool that is on the list; answer it once."""

    call: Call


@dataclass(frozen=True, slots=True)
class Refused:
    """The inside asked for something that it can't have; answer the call with ``error``."""

    call_id: str
    error: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Printed:
    """Text of the program, on stdout or stderr."""

    text: str
    stream: str = "stdout"


@dataclass(frozen=True, slots=True)
class Finished:
    """The program came to its end; ``Ready`` follows when stderr, too, has been read so far."""

    ok: bool
    value: Any
    error: RunError | None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Ignored:
    """A frame that was forged, doubled or late."""

    reason: str


ENCODER = json.JSONEncoder(separators=(",", ":"), allow_nan=False)  # to build one costs more than to use it

Event = Ready | Called | Refused | Printed | Finished | Ignored


def encode(marker: str, payload: Any, end: str, nonce: str = "") -> bytes:
    """One frame. Its JSON is ASCII and holds no marker: in it, ``__`` is written ``\\u005f\\u005f``.

    TypeError or ValueError for what JSON can't hold. Lone surrogates become U+FFFD.
    """
    text = ENCODER.encode(payload)
    if "\\ud" in text:
        text = ENCODER.encode(plain_json(payload))
    if "__" in text:
        text = text.replace("__", "\\u005f\\u005f")
    return f"{marker}{nonce}{' ' if nonce else ''}{text}{end}\n".encode("ascii")


class HostWire:
    """The host's side of one runner. Bytes go in, events come out; ``state`` is where it stands."""

    def __init__(self, tools: Sequence[ToolStub], limits: Limits = Limits()) -> None:  # noqa: B008
        self.state = "new"  # new, opening, idle, running, finishing, closed
        self._tools = tuple(tools)
        self._as = {stub.name: name for name, stub in identifiers(tools).items()}
        if len(self._as) != len(self._tools):
            raise UsageError("two tools have the same name: each name may be given once")
        self._limits = limits
        self._nonce = ""
        self._ready_mark = self._call_mark = self._output_mark = b""  # with this execution's nonce
        self._seen: dict[str, bool] = {}  # call id -> answered
        self._sequence = 0
        self._early = False  # ready was read before the output that it follows
        self._scanned = {"stdout": 0, "stderr": 0}  # where the search for a frame's end goes on
        self._out, self._err = bytearray(), bytearray()
        self._text = {name: codecs.getincrementaldecoder("utf-8")("replace") for name in ("stdout", "stderr")}

    # --- what the host says ------------------------------------------------------------------

    def open(self, nonce: str, mode: Literal["loop", "single"] = "loop") -> bytes:
        """The first frame: which tools there are. ``Ready`` answers it. A *single* runner runs once."""
        self._expect("new")
        self.state = "opening"
        self._mark(nonce)
        tools = [
            {"name": t.name, "as": self._as[t.name], "parameters": list(t.parameters), "doc": t.doc}
            for t in self._tools
        ]
        payload = {"nonce": nonce, "mode": mode, "tools": tools, "value": self._limits.result}
        return encode(SESSION, payload, END_SESSION)

    def execute(self, code: str, nonce: str) -> bytes:
        """A program to run; ``nonce`` must be new."""
        self._expect("idle")
        if nonce == self._nonce:
            raise WireError(f"nonce {nonce!r} was used for the frame before: each execution needs its own")
        self.state = "running"
        self._mark(nonce)
        self._seen.clear()
        self._sequence = 0
        self._early = False
        return encode(CODE, {"nonce": nonce, "code": code}, END_CODE)

    def answer(self, call_id: str, answer: Answer) -> bytes:
        """The answer to a call.

        WireError when there is no such call, or it has one already; LimitExceeded, TypeError or ValueError
        when the value is too long or no JSON, and then the call still waits for another answer.
        """
        if self._seen.get(call_id, True):
            known = "has an answer already" if call_id in self._seen else "was never made"
            raise WireError(f"call {call_id!r} {known}: each call is answered once")
        body: dict[str, Any] = {"call_id": call_id}
        body |= {"result": answer.value} if answer.error is None else {"error": dict(answer.error)}
        frame = encode(RESULT, body, END_RESULT, self._nonce)
        if len(frame) > self._limits.result + SLACK:
            raise LimitExceeded(
                over("the result", len(frame), self._limits.result, "result")["message"], "result"
            )
        self._seen[call_id] = True
        return frame

    def exit(self) -> bytes:
        self.state = "closed"
        return f"{EXIT}\n".encode()

    # --- what the runner says ----------------------------------------------------------------

    def feed_stdout(self, data: bytes) -> list[Event]:
        """Events of what came on stdout. WireError as in the table above."""
        events: list[Event] = []
        self._out += data
        while self._out:
            frame = self._next(self._out, "stdout", OUTPUT, END_OUTPUT, self._output_mark, events)
            if frame is None:
                break
            events.append(self._finished(frame))
            if self.state == "finishing" and self._early:
                events.append(self._ready())
        return events

    def feed_stderr(self, data: bytes) -> list[Event]:
        """Events of what came on stderr. WireError as in the table above."""
        events: list[Event] = []
        self._err += data
        ready, call = self._ready_mark, self._call_mark
        while self._err:
            at, to = _find(self._err, ready), _find(self._err, call)
            if at >= 0 and (to < 0 or at < to):
                self._say("stderr", self._err[:at], events)
                del self._err[: at + len(ready)]
                if self.state == "running" and not self._early:
                    self._early = True  # the two streams are read in any order
                else:
                    events.append(self._ready())
                continue
            frame = self._next(self._err, "stderr", CALL, END_CALL, call, events, ready)
            if frame is None:
                break
            events.append(self._called(frame))
        return events

    def end(self) -> list[Event]:
        """The streams are at their end: the text that was still held back."""
        events: list[Event] = []
        for stream, buffer in (("stdout", self._out), ("stderr", self._err)):
            self._say(stream, bytes(buffer), events, final=True)
            buffer.clear()
        self.state = "closed"
        return events

    # --- inside ------------------------------------------------------------------------------

    def _mark(self, nonce: str) -> None:
        self._nonce = _checked(nonce)
        self._ready_mark = f"{READY}{nonce}\n".encode()
        self._call_mark = f"{CALL}{nonce} ".encode()
        self._output_mark = f"{OUTPUT}{nonce} ".encode()

    def _expect(self, state: str) -> None:
        if self.state != state:
            raise WireError(f"the wire is {self.state}: this is said when it is {state}")

    def _next(
        self,
        buffer: bytearray,
        stream: str,
        marker: str,
        end: str,
        start: bytes,
        events: list[Event],
        other: bytes = b"",
    ) -> dict[str, Any] | None:
        """The next frame that starts so, what stood before it said as text; None: more bytes are needed.

        What may be the beginning of ``start`` or of the ``other`` marker is kept for later.
        """
        limit = self._limits.result
        at = _find(buffer, start)
        if at < 0:
            text = len(buffer) - max(_tail(buffer, start), _tail(buffer, other))
            self._say(stream, bytes(buffer[:text]), events)
            del buffer[:text]
            return None
        if at:
            self._say(stream, bytes(buffer[:at]), events)
            del buffer[:at]
        stop = buffer.find(f"{end}\n".encode(), max(len(start), self._scanned[stream]))
        if stop < 0:
            if len(buffer) > 2 * limit + SLACK:
                raise WireError(f"the inside sent a frame of over {len(buffer)} bytes: the limit is {limit}")
            self._scanned[stream] = len(buffer) - len(end)
            return None
        self._scanned[stream] = 0
        payload = bytes(buffer[len(start) : stop])
        del buffer[: stop + len(end) + 1]
        try:
            frame = DECODER.decode(payload.decode())
        except (ValueError, RecursionError):
            raise WireError(f"the inside sent a {marker} frame that is not JSON") from None
        if not isinstance(frame, dict):
            raise WireError(f"the inside sent a {marker} frame that is no object")
        return frame

    def _say(self, stream: str, data: bytes | bytearray, events: list[Event], final: bool = False) -> None:
        if text := self._text[stream].decode(bytes(data), final):
            events.append(Printed(text, stream))

    def _ready(self) -> Event:
        if self.state in ("opening", "finishing"):
            self.state = "idle"
            return Ready()
        return Ignored("ready out of turn")

    def _called(self, frame: dict[str, Any]) -> Event:
        call_id, tool, arguments = frame.get("call_id"), frame.get("tool_name"), frame.get("arguments")
        if not isinstance(call_id, str) or not isinstance(tool, str) or not isinstance(arguments, dict):
            raise WireError("the inside sent a call without call_id, tool_name and an object of arguments")
        if self.state != "running":
            return Ignored("call out of turn")
        if call_id in self._seen:
            return Ignored("call id seen before")
        self._seen[call_id] = False
        if tool not in self._as:
            return Refused(call_id, {"type": "UnknownTool", "message": f"no tool is called {tool[:100]!r}"})
        self._sequence += 1
        return Called(Call(call_id, self._sequence, tool, arguments))

    def _finished(self, frame: dict[str, Any]) -> Event:
        if self.state != "running":
            return Ignored("output out of turn")
        ok, error = frame.get("success"), frame.get("error")
        if not isinstance(ok, bool) or ok == isinstance(error, dict):
            raise WireError("the inside sent an output without success, or without the error of a failure")
        self.state = "finishing"
        note = str(frame.get("note") or "")[:ERROR]
        return Finished(ok, frame.get("value") if ok else None, _error(error) if error else None, note)


def _find(buffer: bytearray, marker: bytes) -> int:
    return buffer.find(marker) if marker else -1


def _checked(nonce: str) -> str:
    if not (nonce.isascii() and nonce.isalnum()):
        raise WireError(f"nonce {nonce!r} is not made of letters and digits alone")
    return nonce


def _no_json(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


DECODER = json.JSONDecoder(parse_constant=_no_json)


def _tail(buffer: bytearray, marker: bytes) -> int:
    """How many bytes at the end may be the beginning of the marker."""
    for size in range(min(len(marker) - 1, len(buffer)), 0, -1):
        if buffer.endswith(marker[:size]):
            return size
    return 0


def _error(error: Mapping[str, Any]) -> RunError:
    """What the inside says of its failure, believed as far as a text can be."""
    frames = error.get("frames")
    return RunError(
        str(error.get("type") or "Error")[:200],
        str(error.get("message") or "")[:ERROR],
        tuple(
            Frame(f["line"], str(f.get("code") or "")[:500], str(f.get("function") or "")[:200])
            for f in (frames if isinstance(frames, list) else [])[:100]
            if isinstance(f, dict) and isinstance(f.get("line"), int)
        ),
    )
