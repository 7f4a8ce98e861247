"""A few named hosts and the wires between them, in memory or over loopback.

Peers keep their public names (``https://checks.example``) whatever carries them: in memory
a request is handed to the ASGI app of that host and its answer streams back as it is made;
over ``http`` the very same request goes through a uvicorn on a loopback port. What a peer
sees, and what the journal notes, is the same. A name that nobody hosts can't be reached,
and the attempt is kept in ``attempts``.

Faults are scheduled, never random: ``cut_streams`` breaks a stream after so many events,
``drop_replies`` lets a request through and loses its answer.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, MutableMapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

import httpx

from ai_evolution.errors import EnvironmentProblem, UsageError
from ai_evolution.journal import Frame, Journal, events_of

if TYPE_CHECKING:
    import httpx2

Message = MutableMapping[str, Any]
ASGIApp = Callable[
    [Message, Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]], Awaitable[None]
]
Transport = Literal["memory", "http"]
TRANSPORTS: tuple[Transport, ...] = ("memory", "http")
GRACE = 5.0
"""Seconds that a host may take to start, to stop, or to notice that its client has left."""


class Network:
    """Named hosts, one journal, one kind of transport. Use it with ``async with``."""

    def __init__(self, journal: Journal | None = None, transport: Transport = "memory") -> None:
        if transport not in TRANSPORTS:
            raise UsageError(f"transport {transport!r}; expected one of {', '.join(TRANSPORTS)}")
        self.journal = journal if journal is not None else Journal()
        self.transport = transport
        self.attempts: list[str] = []
        self._hosts: dict[str, _Host] = {}
        self._clients: list[httpx.AsyncClient | httpx2.AsyncClient] = []
        self._cuts: dict[str, list[int]] = {}
        self._drops: dict[str, int] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close every client, then every host; a host that fails to stop keeps no other from it."""
        for client in reversed(self._clients):
            await client.aclose()
        await asyncio.gather(*(host.stop() for host in self._hosts.values()), return_exceptions=True)
        self._clients.clear()
        self._hosts.clear()

    async def host(self, origin: str, app: ASGIApp) -> str:
        """Serve ``app`` as ``origin`` (``https://name``) and return the origin. A taken name is refused."""
        if origin in self._hosts:
            raise UsageError(f"{origin} is hosted already")
        host = _Host(app)
        await host.start(loopback=self.transport == "http")
        self._hosts[origin] = host
        return origin

    async def leave(self, origin: str) -> None:
        """Stop serving ``origin``; from now on it can't be reached."""
        await self._hosts.pop(origin).stop()

    def client(self, speaker: str, **options: Any) -> httpx.AsyncClient:
        """An HTTP client that speaks as ``speaker`` and reaches the hosts of this network only."""
        options.setdefault("timeout", 30.0)
        client = httpx.AsyncClient(transport=_Wire(self, speaker), trust_env=False, **options)
        self._clients.append(client)
        return client

    def client2(self, speaker: str, **options: Any) -> httpx2.AsyncClient:
        """The same for the stacks that speak through ``httpx2`` (``mcp`` 2.3 does)."""
        import httpx2

        carry = self._carry

        class Stream(httpx2.AsyncByteStream):
            def __init__(self, answer: httpx.Response) -> None:
                self._answer = answer

            async def __aiter__(self) -> AsyncIterator[bytes]:
                async for chunk in self._answer.aiter_raw():
                    yield chunk

            async def aclose(self) -> None:
                await self._answer.aclose()

        class Wire(httpx2.AsyncBaseTransport):
            async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
                body = await request.aread()
                headers = list(request.headers.raw)
                copy = httpx.Request(request.method, str(request.url), headers=headers, content=body)
                answer = await carry(copy, speaker)
                return httpx2.Response(
                    answer.status_code, headers=list(answer.headers.raw), stream=Stream(answer)
                )

        options.setdefault("timeout", 30.0)
        client = httpx2.AsyncClient(transport=Wire(), trust_env=False, **options)
        self._clients.append(client)
        return client

    def cut_streams(self, origin: str, after: int = 1) -> None:
        """Break the next stream from ``origin`` once ``after`` events have passed."""
        self._cuts.setdefault(origin, []).append(after)

    def drop_replies(self, origin: str, n: int = 1) -> None:
        """Let the next ``n`` requests reach ``origin`` and lose the answers."""
        self._drops[origin] = self._drops.get(origin, 0) + n

    async def _carry(self, request: httpx.Request, speaker: str) -> httpx.Response:
        origin = _origin(request.url)
        body = await request.aread()
        self.attempts.append(origin)
        host = self._hosts.get(origin)
        if host is None:
            raise httpx.ConnectError(f"nobody hosts {origin} here", request=request)
        frame = Frame(
            speaker,
            origin,
            request.method,
            request.url.raw_path.decode("ascii"),
            [(key, value) for key, value in request.headers.items() if key != "host"],
            body,
        )
        self.journal.frames.append(frame)
        answer = await host.send(request, body)
        if self._drops.get(origin, 0) > 0:
            self._drops[origin] -= 1
            await answer.aread()
            await answer.aclose()
            raise httpx.ReadError("the reply was lost on its way", request=request)
        frame.status = answer.status_code
        frame.answer_headers = [(k.lower(), v) for k, v in answer.headers.items()]
        cuts = self._cuts.get(origin, [])
        cut = cuts.pop(0) if cuts and frame.streamed else None
        stream = _Noting(answer, frame, cut, request)
        return httpx.Response(answer.status_code, headers=answer.headers, stream=stream, request=request)


class _Wire(httpx.AsyncBaseTransport):
    def __init__(self, network: Network, speaker: str) -> None:
        self._network, self._speaker = network, speaker

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        return await self._network._carry(request, self._speaker)


class _Noting(httpx.AsyncByteStream):
    """Passes an answer on, notes it in its frame, and cuts it where a fault says so."""

    def __init__(
        self, answer: httpx.Response, frame: Frame, cut_after: int | None, request: httpx.Request
    ) -> None:
        self._answer, self._frame, self._cut, self._request = answer, frame, cut_after, request

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._answer.aiter_raw():
            self._frame.answer += chunk
            yield chunk
            if self._cut is not None:
                seen = sum(1 for _ in events_of(self._frame.answer.decode("utf-8", "replace")))
                if seen >= self._cut:
                    raise httpx.ReadError("the stream was cut", request=self._request)

    async def aclose(self) -> None:
        await self._answer.aclose()


class _Host:
    """One ASGI app, its lifespan run, in memory or behind a uvicorn on loopback."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._lifespan: _Lifespan | None = None
        self._server: Any = None
        self._serving: asyncio.Task[None] | None = None
        self._http: httpx.AsyncClient | None = None
        self._port = 0

    async def start(self, *, loopback: bool) -> None:
        if not loopback:
            self._lifespan = _Lifespan(self._app)
            await self._lifespan.start()
            return
        self._server, self._port, self._serving = await serve(self._app)
        self._http = httpx.AsyncClient(timeout=30.0, trust_env=False)

    async def stop(self) -> None:
        if self._lifespan is not None:
            await self._lifespan.stop()
        if self._http is not None:
            await self._http.aclose()
        if self._serving is not None:
            await stop_serving(self._server, self._serving)

    async def send(self, request: httpx.Request, body: bytes) -> httpx.Response:
        if self._http is None:
            return await ASGIWire(self._app).handle_async_request(request)
        url = request.url.copy_with(scheme="http", host="127.0.0.1", port=self._port)
        copy = httpx.Request(request.method, url, headers=request.headers, content=body)
        return await self._http.send(copy, stream=True)


async def serve(app: ASGIApp, *, bound: socket.socket | None = None) -> tuple[Any, int, asyncio.Task[None]]:
    """Serve ``app`` with uvicorn on a loopback port of its own.

    Returns the server, the port and the task that serves; end it with ``stop_serving``.
    Raises ``EnvironmentProblem`` when it does not come up within the grace period.
    """
    import uvicorn

    class Quiet(uvicorn.Server):
        @contextlib.contextmanager
        def capture_signals(self) -> Iterator[None]:
            yield

    if bound is None:
        # The protocol is named, or asyncio leaves out TCP_NODELAY and every answer waits 40 ms for an ACK.
        bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(("127.0.0.1", 0))
    config = uvicorn.Config(
        app,
        log_level="critical",
        server_header=False,
        date_header=False,
        timeout_graceful_shutdown=1,
        ws="none",
    )
    server = Quiet(config)
    task = asyncio.create_task(server.serve(sockets=[bound]))
    try:
        async with asyncio.timeout(GRACE):
            while not server.started:
                if task.done():
                    task.result()
                    raise EnvironmentProblem("the server ended before it had started")
                await asyncio.sleep(0.002)
    except TimeoutError:
        task.cancel()
        raise EnvironmentProblem(f"no server on loopback within {GRACE:g} s") from None
    return server, bound.getsockname()[1], task


async def stop_serving(server: Any, task: asyncio.Task[None]) -> None:
    """Ask a server of ``serve`` to stop, wait for it, and cancel it when it does not."""
    server.should_exit = True
    done, _ = await asyncio.wait({task}, timeout=GRACE)
    if not done:
        server.force_exit = True
        task.cancel()
    await asyncio.gather(task, return_exceptions=True)


class _Lifespan:
    """Runs the lifespan protocol of an ASGI app, and bears with an app that has none."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._inbox: asyncio.Queue[Message] = asyncio.Queue()
        self._started: asyncio.Event = asyncio.Event()
        self._stopped: asyncio.Event = asyncio.Event()
        self._failure = ""
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        self._inbox.put_nowait({"type": "lifespan.startup"})
        self._task = asyncio.create_task(self._run())
        async with asyncio.timeout(GRACE):
            await self._started.wait()
        if self._failure:
            raise EnvironmentProblem(f"the application did not start: {self._failure}")

    async def stop(self) -> None:
        self._inbox.put_nowait({"type": "lifespan.shutdown"})
        if self._task is None:
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(GRACE):
                await self._stopped.wait()
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        try:
            await self._app(
                {"type": "lifespan", "asgi": {"version": "3.0"}, "state": {}}, self._inbox.get, self._send
            )
        except Exception:
            pass  # the ASGI specification: an app that raises here does not support lifespan
        finally:
            self._started.set()
            self._stopped.set()

    async def _send(self, message: Message) -> None:
        if message["type"] == "lifespan.startup.failed":
            self._failure = str(message.get("message", "no reason given"))
        if message["type"].startswith("lifespan.startup"):
            self._started.set()
        if message["type"].startswith("lifespan.shutdown"):
            self._stopped.set()


class ASGIWire(httpx.AsyncBaseTransport):
    """Hands requests to an ASGI app and streams the answer as it is made.

    ``httpx.ASGITransport`` collects the whole body first, which turns a stream of events into
    one late lump and hangs for ever on a stream that does not end.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Run the app until it has sent its status line; the body follows as it is read."""
        exchange = _Exchange(request, await request.aread())
        exchange.task = asyncio.create_task(exchange.run(self._app))
        try:
            await exchange.headed.wait()
        except asyncio.CancelledError:
            await exchange.aclose()
            raise
        if exchange.status == 0:
            await exchange.aclose()
            if exchange.error is not None:
                raise httpx.ReadError(
                    f"the application failed: {type(exchange.error).__name__}"
                ) from exchange.error
            raise httpx.ReadError("the application ended without an answer")
        return httpx.Response(exchange.status, headers=exchange.headers, stream=exchange, request=request)


class _Exchange(httpx.AsyncByteStream):
    def __init__(self, request: httpx.Request, body: bytes) -> None:
        self.request, self.body = request, body
        self.status = 0
        self.headers: list[tuple[bytes, bytes]] = []
        self.headed = asyncio.Event()
        self.error: Exception | None = None
        self.task: asyncio.Task[None] | None = None
        self._chunks: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._left = asyncio.Event()
        self._asked = False

    async def run(self, app: ASGIApp) -> None:
        url = self.request.url
        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},  # as uvicorn: a reader who leaves is told of
            "http_version": "1.1",
            "method": self.request.method,
            "scheme": url.scheme,
            "path": url.path,
            "raw_path": url.raw_path.split(b"?")[0],
            "query_string": url.query,
            "root_path": "",
            "headers": [(key.lower(), value) for key, value in self.request.headers.raw],
            "server": (url.host, url.port),
            "client": ("127.0.0.1", 0),
        }
        try:
            await app(scope, self._receive, self._send)
        except Exception as error:
            self.error = error
        finally:
            self.headed.set()
            self._chunks.put_nowait(None)

    async def _receive(self) -> Message:
        if not self._asked:
            self._asked = True
            return {"type": "http.request", "body": self.body, "more_body": False}
        await self._left.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Message) -> None:
        if self._left.is_set():
            return  # as over a socket: what is said to somebody who has left goes nowhere
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = list(message.get("headers", []))
            self.headed.set()
        elif message["type"] == "http.response.body":
            if message.get("body"):
                self._chunks.put_nowait(bytes(message["body"]))
            if not message.get("more_body", False):
                self._chunks.put_nowait(None)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while (chunk := await self._chunks.get()) is not None:
            yield chunk
        if self.error is not None:
            raise httpx.ReadError(f"the application failed: {type(self.error).__name__}") from self.error

    async def aclose(self) -> None:
        self._left.set()
        if self.task is None:
            return
        done, _ = await asyncio.wait({self.task}, timeout=GRACE)
        if not done:
            self.task.cancel()
            await asyncio.gather(self.task, return_exceptions=True)


def _origin(url: httpx.URL) -> str:
    port = f":{url.port}" if url.port is not None else ""
    return f"{url.scheme}://{url.host}{port}"
