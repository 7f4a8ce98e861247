"""The wires between peers: the same bytes in memory and over loopback, faults on schedule."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from ai_evolution.errors import EnvironmentProblem, UsageError
from ai_evolution.journal import Journal, canonical, traffic
from ai_evolution.network import Network

SHOP = "https://shop.example"
SOME_ID = "6f1c9f9e-8a51-4d0e-9c39-0a2f2b8f7a11"


class Shop:
    """Answers, echoes, streams for as long as it is told to, and fails."""

    def __init__(self) -> None:
        self.orders = 0
        self.gate = asyncio.Event()
        self.gone = asyncio.Event()
        self.life: list[str] = []

    async def order(self, request: Request) -> Response:
        self.orders += 1
        return JSONResponse({"got": await request.json(), "id": SOME_ID, "at": "2026-01-02T03:04:05.678Z"})

    async def stream(self, request: Request) -> Response:
        async def events() -> AsyncIterator[str]:
            try:
                yield "data: 1\n\n"
                await self.gate.wait()
                yield ": keep-alive\n\ndata: 2\n\n"
            finally:
                self.gone.set()

        return StreamingResponse(events(), media_type="text/event-stream")

    async def fail(self, request: Request) -> Response:
        raise RuntimeError("inside")

    def app(self) -> Starlette:
        @contextlib.asynccontextmanager
        async def lifespan(_app: Starlette) -> AsyncIterator[None]:
            self.life.append("up")
            yield
            self.life.append("down")

        routes = [
            Route("/order", self.order, methods=["POST"]),
            Route("/stream", self.stream),
            Route("/fail", self.fail),
        ]
        return Starlette(routes=routes, lifespan=lifespan)


@pytest.mark.parametrize("transport", ["memory", "http"])
def test_a_stream_is_read_while_it_is_made(transport: str) -> None:
    async def scene() -> list[str]:
        shop, seen = Shop(), []
        async with Network(transport=transport) as net:  # type: ignore[arg-type]
            await net.host(SHOP, shop.app())
            async with asyncio.timeout(20), net.client("me").stream("GET", f"{SHOP}/stream") as answer:
                async for line in answer.aiter_lines():
                    if line.startswith("data"):
                        seen.append(line)
                        shop.gate.set()  # the second event is made only after the first was read
            assert net.journal.frames[0].messages() == ["1", "2"]
        assert shop.life == ["up", "down"]
        return seen

    assert asyncio.run(scene()) == ["data: 1", "data: 2"]


def test_both_transports_carry_the_same_canonical_frames() -> None:
    async def scene(transport: str) -> object:
        async with Network(Journal(), transport) as net:  # type: ignore[arg-type]
            await net.host(SHOP, Shop().app())
            http = net.client("me", headers={"Authorization": "Bearer t"})
            await http.post(f"{SHOP}/order?x=1", json={"title": "Emma", "of": SOME_ID})
            return canonical(net.journal.frames), traffic(net.journal.frames)

    memory, loopback = asyncio.run(scene("memory")), asyncio.run(scene("http"))
    assert memory == loopback
    frame = memory[0][0]  # type: ignore[index]
    assert frame["sent"] == {"title": "Emma", "of": "id-1"}
    assert frame["received"] == [{"got": {"title": "Emma", "of": "id-1"}, "id": "id-1", "at": "time-1"}]
    assert frame["headers"]["authorization"] == "Bearer t"


def test_identifiers_and_times_weigh_the_same_whatever_they_are() -> None:
    async def scene(order: str) -> object:
        async with Network() as net:
            await net.host(SHOP, Shop().app())
            await net.client("me").post(f"{SHOP}/order", json={"of": order})
            return traffic(net.journal.frames)

    one = asyncio.run(scene("c0ffee00-8a51-4d0e-9c39-0a2f2b8f7a11"))
    assert one == asyncio.run(scene("deadbeef-8a51-4d0e-9c39-0a2f2b8f7a11"))


@pytest.mark.parametrize("transport", ["memory", "http"])
def test_a_lost_reply_reached_the_host_and_a_cut_stream_stops_after_its_event(transport: str) -> None:
    async def scene() -> None:
        shop = Shop()
        async with Network(transport=transport) as net, asyncio.timeout(20):  # type: ignore[arg-type]
            await net.host(SHOP, shop.app())
            http = net.client("me")
            net.drop_replies(SHOP)
            with pytest.raises(httpx.ReadError, match="lost"):
                await http.post(f"{SHOP}/order", json={})
            assert shop.orders == 1
            net.cut_streams(SHOP, after=1)
            with pytest.raises(httpx.ReadError, match="cut"):
                await http.get(f"{SHOP}/stream")
            await shop.gone.wait()  # the host notices that its reader has left
            await http.post(f"{SHOP}/order", json={})
            assert shop.orders == 2

    asyncio.run(scene())


def test_a_name_that_nobody_hosts_is_not_reached_and_the_attempt_is_kept() -> None:
    async def scene() -> None:
        async with Network() as net:
            with pytest.raises(httpx.ConnectError, match="nobody hosts"):
                await net.client("me").get("http://169.254.169.254/latest")
            assert net.attempts == ["http://169.254.169.254"]
            await net.host(SHOP, Shop().app())
            with pytest.raises(UsageError, match="hosted already"):
                await net.host(SHOP, Shop().app())
            await net.leave(SHOP)
            with pytest.raises(httpx.ConnectError):
                await net.client("me").get(SHOP)

    asyncio.run(scene())


def test_an_application_that_fails_is_an_error_of_the_wire_and_not_a_hang() -> None:
    async def scene() -> None:
        async with Network() as net, asyncio.timeout(20):
            await net.host(SHOP, Shop().app())
            with pytest.raises(httpx.ReadError, match="RuntimeError"):
                # Starlette's own 500 is re-raised by it; in memory that ends the exchange
                (await net.client("me").get(f"{SHOP}/fail")).raise_for_status()

    asyncio.run(scene())


def test_an_application_that_does_not_start_says_why() -> None:
    async def refuses(scope: object, receive: object, send: object) -> None:
        await send({"type": "lifespan.startup.failed", "message": "no table"})  # type: ignore[operator]

    async def scene() -> None:
        async with Network() as net:
            with pytest.raises(EnvironmentProblem, match="no table"):
                await net.host(SHOP, refuses)  # type: ignore[arg-type]

    asyncio.run(scene())


def test_an_unknown_transport_is_refused() -> None:
    with pytest.raises(UsageError, match="memory, http"):
        Network(transport="pigeon")  # type: ignore[arg-type]
