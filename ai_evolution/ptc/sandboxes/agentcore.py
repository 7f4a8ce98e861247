"""Amazon Bedrock AgentCore Code Interpreter: a microVM of AWS for each session, reached through boto3.

Nothing inside can reach us, so every exchange is a call of ours. The runner that all rungs share runs as a
process inside; a small *relay* in the interpreter's own Python keeps its pipes, and each call of
``executeCode`` is one *step*: it hands over what the runner is to read, waits a moment, and comes back with
what the runner wrote. Tools are *bridged* that way, without any network inside: calls that a program makes
together cost one step, not one each. A step has a number and is done once, so it is repeated after throttling
or a broken connection.

Tools can also be *preloaded*: source that is run inside before the first program. Such a tool is out of the
bridge's reach (no contract, no quota, no approval, no journal), and any name it defines hides the bridged
tool of that name: for pure functions.

To end a program is to stop the whole managed session; the next run starts another. When AWS doesn't confirm
a stop, ``run`` or ``close`` raises: the session goes on, and is billed, until its own timeout.

What it refuses to promise is the network: whether the microVM has one is a setting of the interpreter
(``aws.codeinterpreter.v1`` or your own). Written after boto3's model of the service and tested against a
local endpoint that speaks its encoding; not run against AWS by us.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from types import MappingProxyType
from typing import Any, NoReturn

from ai_evolution.errors import SandboxUnavailable, UsageError
from ai_evolution.ptc.limits import Limits
from ai_evolution.ptc.process import RUNNER, Child, ProcessSession
from ai_evolution.ptc.sandbox import Answer, Call, ToolStub

IDENTIFIER = "aws.codeinterpreter.v1"
STEP = "__PTC_STEP__"
AT_ONCE = 4 << 20  # bytes of the runner's output in one step
TRIES, PAUSE = 4, 0.05  # of a step, and seconds between two, four times as many each time
AGAIN = ("throttling", "internalserver", "conflict", "servicequotaexceeded", "connection", "protocol")
GONE = ("resourcenotfound",)
HELP = "pip install boto3, and give it a region and credentials that may use the Code Interpreter"

RELAY = '''
class PtcRelay:
    """Keeps a process and its pipes between two calls of executeCode."""

    def __init__(self, source, memory, files):
        import resource, subprocess, sys, threading

        def limit():
            for name, value in (("AS", memory), ("FSIZE", files), ("CORE", 0)):
                resource.setrlimit(getattr(resource, "RLIMIT_" + name), (value, value))

        self.process = subprocess.Popen(
            [sys.executable, "-I", "-u", "-c", source], bufsize=0, preexec_fn=limit, cwd="/tmp",
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={"PATH": "/usr/bin:/bin"},
        )
        self.changed = threading.Condition()
        self.sent, self.said, self.size, self.open = [], [], 0, 2
        self.done, self.reply = 0, ""
        pipes = ("o", self.process.stdout), ("e", self.process.stderr)
        for work, args in (self.write, ()), (self.read, pipes[0]), (self.read, pipes[1]):
            threading.Thread(target=work, args=args, daemon=True).start()

    def read(self, name, pipe):
        data = b"-"
        while data:
            data = pipe.read(65536)
            with self.changed:
                if data:
                    self.said.append((name, data))
                    self.size += len(data)
                else:
                    self.open -= 1
                self.changed.notify_all()
                self.changed.wait_for(lambda: self.size < 4 * AT_ONCE)

    def write(self):
        while True:
            with self.changed:
                self.changed.wait_for(lambda: self.sent)
                data = memoryview(self.sent.pop(0))
            try:
                while data:
                    data = data[self.process.stdin.write(data):]
            except OSError:
                return

    def step(self, number, data, wait):
        import base64, json

        with self.changed:
            if number != self.done:
                if data:
                    self.sent.append(base64.b64decode(data))
                    self.changed.notify_all()
                self.changed.wait_for(lambda: self.said or not self.open, wait)
                while self.open and self.said and self.size < AT_ONCE:
                    before = self.size
                    self.changed.wait(0.002)
                    if self.size == before:
                        break
                taken, size = [], 0
                while self.said and size < AT_ONCE:
                    name, piece = self.said.pop(0)
                    taken.append([name, base64.b64encode(piece).decode()])
                    size += len(piece)
                self.size -= size
                self.changed.notify_all()
                ended = not self.open and not self.said
                self.reply = json.dumps({"number": number, "said": taken, "ended": ended})
                self.done = number
            print(STEP + self.reply)
'''


class AgentCoreSandbox:
    """``client`` is a boto3 client of ``bedrock-agentcore``; without one it is made for ``region``.

    ``identifier`` names the interpreter. ``session_seconds``: after that AWS ends a session by itself.
    ``preload``: see the head of the module. ``poll``: seconds that one step waits for the program.
    """

    name = "agentcore"
    isolation: Mapping[str, bool] = MappingProxyType(
        {"network": False, "files": True, "processes": True, "memory": True, "time": True}
    )

    def __init__(
        self,
        identifier: str = IDENTIFIER,
        *,
        client: Any = None,
        region: str | None = None,
        session_seconds: int = 900,
        preload: str = "",
        poll: float = 1.0,
    ) -> None:
        if not 0 < session_seconds <= 28_800:
            raise UsageError(f"session_seconds={session_seconds!r} given, 1 to 28800 (8 hours) accepted")
        if not 0 < poll <= 30:
            raise UsageError(f"poll={poll!r} given, seconds above 0 and up to 30 accepted")
        self._identifier, self._client, self._region = identifier, client, region
        self._session_seconds, self._preload, self._poll = session_seconds, preload, poll

    async def open(self, tools: Sequence[ToolStub], limits: Limits = Limits()) -> AgentCoreSession:  # noqa: B008
        """A microVM of its own. SandboxUnavailable without boto3, region, credentials or permission."""
        if self._client is None:
            self._client = await asyncio.to_thread(_client, self._region)
        managed = Managed(self._client, self._identifier, self._session_seconds)
        return await AgentCoreSession(managed, tools, limits, self._preload, self._poll).start()


class Managed:
    """Starts, invokes and stops managed sessions. Blocking; ``Failed`` for whatever AWS refuses."""

    def __init__(self, client: Any, identifier: str, seconds: int) -> None:
        self._client, self._identifier, self.seconds = client, identifier, seconds

    def start(self) -> str:
        """The id of a new session."""
        with _failures():
            started = self._client.start_code_interpreter_session(
                codeInterpreterIdentifier=self._identifier,
                name=f"ptc-{secrets.token_hex(4)}",
                sessionTimeoutSeconds=self.seconds,
            )
        return str(started["sessionId"])

    def execute(self, session: str, code: str) -> str:
        """What the interpreter printed. Exceptions of the service also come while its stream is read."""
        printed, errors = [], []
        with _failures():
            response = self._client.invoke_code_interpreter(
                codeInterpreterIdentifier=self._identifier,
                sessionId=session,
                name="executeCode",
                arguments={"code": code, "language": "python"},
            )
            for event in response["stream"]:
                result = event.get("result") or {}
                structured = result.get("structuredContent") or {}
                text = "".join(
                    each.get("text") or ""
                    for each in result.get("content") or ()
                    if each.get("type") == "text"
                )
                printed.append(structured.get("stdout") or text)
                if result.get("isError") or structured.get("exitCode"):
                    errors.append(structured.get("stderr") or text or "no reason given")
        if errors:
            raise Failed("execution", " ".join("".join(errors).split())[-300:])
        return "".join(printed)

    def stop(self, session: str) -> None:
        """End a session; one that is gone already is fine."""
        try:
            with _failures():
                self._client.stop_code_interpreter_session(
                    codeInterpreterIdentifier=self._identifier, sessionId=session
                )
        except Failed as error:
            if not error.code.startswith(GONE):
                raise


class Failed(Exception):
    """AWS refused; ``code`` is its word in lower case, without "exception"."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code.lower().removesuffix("exception")


class _failures(AbstractContextManager[None]):
    """Makes ``Failed`` of botocore's exceptions, of the call and of the stream alike."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        from botocore import exceptions

        if isinstance(error, exceptions.ClientError):  # EventStreamError is one
            said = error.response.get("Error", {})
            raise Failed(str(said.get("Code") or "unknown"), str(error)[:500]) from None
        if isinstance(error, exceptions.HTTPClientError | exceptions.ConnectionError):
            raise Failed("connection", str(error)[:500]) from None
        if isinstance(error, exceptions.BotoCoreError):
            raise Failed(type(error).__name__, str(error)[:500]) from None


class AgentCoreSession(ProcessSession):
    """A runner inside a managed session."""

    def __init__(
        self, managed: Managed, tools: Sequence[ToolStub], limits: Limits, preload: str, poll: float
    ) -> None:
        self._managed, self._preload, self._poll = managed, preload, poll
        self._preloading = False
        super().__init__("agentcore", _no_process, tools, limits, help=HELP, start=120.0)

    @property
    def pid(self) -> int | None:
        """None: the process is not on this machine."""
        return None

    @property
    def session_id(self) -> str:
        """The id of the managed session, empty when there is none."""
        return self._child.session if isinstance(self._child, Remote) else ""

    async def start(self) -> AgentCoreSession:
        await super().start()
        if self._preload and not self._preloading:
            self._preloading = True
            try:
                outcome = await self.run(self._preload, _nobody)
            finally:
                self._preloading = False
            if not outcome.ok:
                await self.close()
                raise SandboxUnavailable(f"sandbox agentcore: the preloaded source failed: {outcome.error}")
        return self

    def _spawn(self) -> Child:
        return Remote(self._managed, self._limits, self._read, self._state, self._lost, self._poll)

    def _state(self) -> str:
        """Whose turn it is: nobody's (*idle*), the program's (*inside*), or ours (*host*)."""
        run = self._run
        if run is None or run.over.done():
            return "idle"
        return "host" if run.calls is not None and len(run.calls.ends) < len(run.calls.made) else "inside"

    def _lost(self, message: str) -> None:
        if self._run is not None:
            self._run.fail("crash", "SandboxLost", message)


class Remote(Child):
    """The runner in a managed session, with what ``ProcessSession`` needs of a child process."""

    def __init__(
        self,
        managed: Managed,
        limits: Limits,
        read: Callable[[str, bytes], None],
        state: Callable[[], str],
        lost: Callable[[str], None],
        poll: float,
    ) -> None:
        self.session = ""
        self._managed, self._limits, self._read = managed, limits, read
        self._state, self._lost, self._poll = state, lost, poll
        self._number = 0
        self._ended = False
        self._out = bytearray()
        self._wake = asyncio.Event()
        self._pool = ThreadPoolExecutor(2, "agentcore")  # one for a step, one to stop while it is going on
        self._starting = asyncio.ensure_future(self._call(self._managed.start))
        self._pump = asyncio.ensure_future(self._exchange())

    @property
    def over(self) -> bool:
        return self._ended

    def write(self, data: bytes) -> None:
        self._out += data
        self._wake.set()

    async def kill(self, end: Callable[[int], None] | None) -> None:  # noqa: ARG002
        """Stop the managed session, whatever it is doing."""
        self._pump.cancel()
        try:
            with contextlib.suppress(Failed):
                self.session = self.session or await self._starting
            if self.session:
                await self._call(self._managed.stop, self.session)
        except Failed as error:
            raise SandboxUnavailable(
                f"session {self.session} may go on for up to {self._managed.seconds} s: it can't be stopped "
                f"({error})",
                "stop it with StopCodeInterpreterSession",
            ) from None
        finally:
            self._pool.shutdown(wait=False)

    # inside

    async def _call(self, function: Callable[..., Any], *args: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._pool, function, *args)

    async def _exchange(self) -> None:
        """Step after step, as long as there is something to say or to wait for."""
        try:
            self.session = await asyncio.shield(self._starting)
            relay = RELAY.replace("AT_ONCE", str(AT_ONCE)).replace("STEP", repr(STEP))
            source = RUNNER.read_text(encoding="utf-8")
            start = f"ptc_relay = PtcRelay({source!r}, {self._limits.memory}, {self._limits.files})"
            await self._call(self._managed.execute, self.session, f"{relay}\n{start}\n")
            while not self._ended:
                await self._turn()
        except Failed as error:
            self._ended = True
            self._lost(f"AgentCore ({error.code}): {error}")
        except (
            LookupError,
            TypeError,
            ValueError,
        ) as error:  # a program can reach the relay, and speak for it
            self._ended = True
            self._lost(f"AgentCore: a step came back in pieces ({type(error).__name__})")

    async def _turn(self) -> None:
        state = self._state()
        if not self._out and state != "inside":
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(None if state == "idle" else self._poll):
                    await self._wake.wait()
            await asyncio.sleep(0.002)  # answers to calls that were made together travel together
        self._wake.clear()
        data, self._out = bytes(self._out), bytearray()
        wait = self._poll if self._state() == "inside" else 0.1 if data else 0.0
        reply = await self._step(data, wait)
        for name, piece in reply["said"]:
            self._read("stdout" if name == "o" else "stderr", base64.b64decode(piece))
        if reply["ended"]:
            self._ended = True
            self._read("stdout", b"")

    async def _step(self, data: bytes, wait: float) -> dict[str, Any]:
        """One step, done once however often it has to be asked for. Failed when AWS doesn't let us."""
        self._number += 1
        code = f"ptc_relay.step({self._number}, {base64.b64encode(data).decode()!r}, {wait:g})"
        for tried in range(1, TRIES):
            try:
                return self._reply(await self._call(self._managed.execute, self.session, code))
            except Failed as error:
                if not error.code.startswith(AGAIN):
                    raise
            await asyncio.sleep(PAUSE * 4**tried)
        return self._reply(await self._call(self._managed.execute, self.session, code))

    def _reply(self, printed: str) -> dict[str, Any]:
        text = printed.rpartition(STEP)[2]
        try:
            reply: dict[str, Any] = json.loads(text.strip())
        except ValueError:
            raise Failed("protocol", "a step came back without its frame") from None
        if reply.get("number") != self._number:
            raise Failed("protocol", f"step {self._number} was asked for, {reply.get('number')!r} came back")
        return reply


def _client(region: str | None) -> Any:
    try:
        import boto3
        from botocore.config import Config
        from botocore.exceptions import BotoCoreError
    except ImportError:
        raise SandboxUnavailable("sandbox agentcore needs boto3, which is not installed", HELP) from None
    try:
        session = boto3.session.Session(region_name=region)
        if session.region_name is None:  # before credentials are looked for on the network
            raise SandboxUnavailable("sandbox agentcore needs a region, and none is set", HELP)
        if session.get_credentials() is None:
            raise SandboxUnavailable("sandbox agentcore needs credentials, and none were found", HELP)
        retries = Config(retries={"mode": "standard", "max_attempts": 3}, read_timeout=90)
        return session.client("bedrock-agentcore", config=retries)
    except BotoCoreError as error:
        raise SandboxUnavailable(f"sandbox agentcore: {error}", HELP) from None


def _no_process() -> NoReturn:
    raise AssertionError("a managed session has no process of ours")


async def _nobody(call: Call) -> Answer:
    return Answer(
        error={"type": "UnknownTool", "message": f"{call.tool} can't be called while tools are loaded"}
    )
