"""The judge: the reference agent pleases it, each mutant displeases it in the place that it breaks."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import httpx
import pytest
from mutants import MUTANTS, REFERENCE, Mutant, load, mutated
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from ai_evolution.a2a.behaviours import BEHAVIOURS, Subject, applicable, examine
from ai_evolution.errors import UsageError
from ai_evolution.grading import trips
from ai_evolution.network import Network

ORIGIN = "https://trips.example"
TOKENS = {"token-of-alice": "alice", "token-of-bob": "bob"}


def subject(http: httpx.AsyncClient, **changes: Any) -> Subject:
    probes = trips.probes(random.Random("test"))
    whole = Subject(ORIGIN, http, *TOKENS, deadline=2.0, **probes)
    return replace(whole, **changes)


def judged(app: Any, only: list[str] | None = None, **changes: Any) -> dict[str, Any]:
    """Examine the app in memory; the observations by id."""

    async def run() -> dict[str, Any]:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app, raise_app_exceptions=False)) as http:
            return {o.id: o for o in await examine(subject(http, **changes), only)}

    return asyncio.run(run())


def test_the_reference_agent_shows_every_behaviour() -> None:
    app = load(REFERENCE.read_text(encoding="utf-8")).build(ORIGIN, TOKENS)
    assert [o.id for o in judged(app).values() if not o.holds] == []
    assert list(judged(app)) == list(BEHAVIOURS)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda m: m.name)
def test_a_mutant_is_caught_by_what_it_breaks_and_by_nothing_else(mutant: Mutant) -> None:
    found = judged(load(mutated(mutant)).build(ORIGIN, TOKENS), deadline=0.7)
    wrong = {o.id: o.observed for o in found.values() if not o.holds}
    assert set(wrong) == mutant.breaks, wrong
    assert all(found[i].exchange for i in wrong), "what does not hold comes with its exchange"


TAKEN = {
    "a whole number written with a point": (
        '"amount_cents": task.request["amount_cents"]',
        '"amount_cents": float(task.request["amount_cents"])',
        "artifact.typed",
    ),
    "no message where at most one was asked for": (
        "if history_length is None else history_length",
        "if history_length is None else 0",
        "history.bounded",
    ),
}


@pytest.mark.parametrize("name", TAKEN)
def test_what_the_sentence_of_a_behaviour_allows_is_taken(name: str) -> None:
    old, new, behaviour = TAKEN[name]
    source = REFERENCE.read_text(encoding="utf-8")
    assert old in source
    found = judged(load(source.replace(old, new)).build(ORIGIN, TOKENS), only=[behaviour])
    assert found[behaviour].holds, found[behaviour].observed


def test_every_behaviour_is_broken_by_some_mutant() -> None:
    assert {i for m in MUTANTS for i in m.breaks} == set(BEHAVIOURS)


def test_the_exchange_of_a_failure_shows_the_wire_and_no_token() -> None:
    mutant = next(m for m in MUTANTS if m.name == "403 instead of 401")
    found = judged(load(mutated(mutant)).build(ORIGIN, TOKENS), only=["auth.demanded", "task.completes"])
    (first, _) = found["auth.demanded"].exchange
    assert first.request.startswith("POST /\n")
    assert first.response.startswith("HTTP 403")
    assert found["task.completes"].exchange == ()
    ugly = judged(load(mutated(MUTANTS[0])).build(ORIGIN, {}), only=None)
    assert not any(token in json.dumps([o.as_dict() for o in ugly.values()]) for token in TOKENS)


def test_a_behaviour_without_its_probe_is_left_out_and_refused_by_name() -> None:
    app = load(REFERENCE.read_text(encoding="utf-8")).build(ORIGIN, TOKENS)
    found = judged(app, slow=None, other_token=None)
    assert "cancel.ends" not in found
    assert "task.owned" not in found
    with pytest.raises(UsageError, match=r"'cancel\.ends' needs slow"):
        judged(app, only=["cancel.ends"], slow=None)
    with pytest.raises(UsageError, match=r"'card\.seen' is no behaviour"):
        judged(app, only=["card.seen"])


def _status(state: str) -> dict[str, Any]:
    return {"statusUpdate": {"taskId": "t", "contextId": "c", "status": {"state": f"TASK_STATE_{state}"}}}


TASK = {"task": {"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_SUBMITTED"}}}
ARTIFACT = {"artifactUpdate": {"taskId": "t", "contextId": "c", "artifact": {"artifactId": "a", "parts": []}}}
STREAMS: dict[str, tuple[list[Any], str]] = {
    "a whole one": ([TASK, _status("WORKING"), ARTIFACT, _status("COMPLETED")], "as the card says"),
    "empty": ([], "the stream ended without an event"),
    "status first": (
        [_status("WORKING"), ARTIFACT, _status("COMPLETED")],
        "the first event of the stream is no task",
    ),
    "goes on after the end": (
        [TASK, ARTIFACT, _status("COMPLETED"), _status("WORKING")],
        "the stream has TASK_STATE_COMPLETED -> TASK_STATE_WORKING",
    ),
    "breaks off": ([TASK, _status("WORKING"), ARTIFACT], "the stream ended in TASK_STATE_WORKING"),
    "without a result": ([TASK, _status("COMPLETED")], "the stream carried no artifact"),
    "old state names": (
        [TASK, {"statusUpdate": {"status": {"state": "completed"}}}],
        'a task whose state is "completed", no state of A2A 1.0',
    ),
    "too many events": ([TASK, *[_status("WORKING")] * 600], "a stream of more than 500 events"),
}


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_is_read_event_by_event(name: str) -> None:
    events, outcome = STREAMS[name]
    card = {**load(REFERENCE.read_text(encoding="utf-8")).card(ORIGIN), "capabilities": {"streaming": True}}

    async def get_card(_: Request) -> Response:
        return JSONResponse(card)

    async def post(request: Request) -> Response:
        call_id = (await request.json())["id"]
        wire = [json.dumps({"jsonrpc": "2.0", "id": call_id, "result": e}) for e in events]
        body = ": a comment\r\n\r\n" + "".join(f"event: message\r\ndata: {line}\r\n\r\n" for line in wire)
        return Response(body, media_type="text/event-stream")

    routes = [Route("/.well-known/agent-card.json", get_card), Route("/", post, methods=["POST"])]
    found = judged(Starlette(routes=routes), only=["stream.honest"])
    assert found["stream.honest"].observed == outcome


def test_without_any_probe_or_token_the_bare_protocol_is_still_examined() -> None:
    bare = Subject(ORIGIN, httpx.AsyncClient())
    assert applicable(bare) == (
        "card.published",
        "version.demanded",
        "rpc.unknown-method",
        "rpc.malformed-json",
        "rpc.invalid-params",
        "task.unknown",
    )


# --- agents that are no agents -------------------------------------------------------------------


async def _never(_: Request) -> Response:
    await asyncio.Event().wait()
    raise AssertionError


async def _flood(_: Request) -> Response:
    async def chunks() -> Any:
        for _ in range(20):
            yield b"[" * 400_000

    return StreamingResponse(chunks(), media_type="application/json")


async def _deep(_: Request) -> Response:
    return Response(b"[" * 100_000, media_type="application/json")


async def _huge_number(_: Request) -> Response:
    return Response(b'{"jsonrpc": "2.0", "result": ' + b"9" * 10_000 + b"}", media_type="application/json")


async def _binary(_: Request) -> Response:
    return Response(bytes(range(256)) * 10, headers={"content-encoding": "gzip"})


async def _list(_: Request) -> Response:
    return JSONResponse([[], None, {"result": {"task": []}}])


async def _surrogate(_: Request) -> Response:
    task = b'{"id":"\\ud800","status":{"state":"\\u001b[2J"}}'
    return Response(b'{"jsonrpc":"2.0","id":1,"result":{"task":' + task + b"}}")


async def _breaks(_: Request) -> Response:
    raise RuntimeError("out of order")


async def _elsewhere(_: Request) -> Response:
    return Response(status_code=307, headers={"location": "http://169.254.169.254/"})


def test_an_agent_that_floods_is_cut_off() -> None:
    async def run() -> list[Any]:
        async with Network() as net:
            app = Starlette(routes=[Route("/{path:path}", _flood, methods=["GET", "POST"])])
            await net.host(ORIGIN, app)
            return await examine(subject(net.client("judge")), ["rpc.unknown-method", "task.completes"])

    found = asyncio.run(run())
    assert {o.observed for o in found} == {"an answer of more than 1000000 bytes"}
    assert all(len(o.exchange[0].response) < 2_000 for o in found)


@pytest.mark.parametrize(
    "answer",
    [_never, _deep, _huge_number, _binary, _list, _surrogate, _breaks, _elsewhere],
    ids=lambda f: f.__name__.strip("_"),
)
def test_an_agent_that_talks_nonsense_is_observed_and_never_raises(
    answer: Callable[[Request], Awaitable[Response]],
) -> None:
    app = Starlette(routes=[Route("/{path:path}", answer, methods=["GET", "POST"])])
    found = judged(app, deadline=0.15)
    assert list(found) == list(BEHAVIOURS)
    assert not any(o.holds for o in found.values())
    assert all(str(o.observed).isprintable() for o in found.values())
    json.dumps([o.as_dict() for o in found.values()]).encode()


def test_an_agent_that_nobody_hosts_is_observed_as_silent() -> None:
    async def run() -> list[Any]:
        async with Network() as net:
            return await examine(subject(net.client("judge")))

    found = asyncio.run(run())
    assert [o.observed for o in found[:2]] == ["the connection was refused"] * 2
    assert found[-1].observed == "not tried: the agent is silent"


def test_the_deadline_is_for_the_whole_examination() -> None:
    async def run() -> list[Any]:
        async with Network() as net:
            await net.host(ORIGIN, load(REFERENCE.read_text(encoding="utf-8")).build(ORIGIN, TOKENS))
            return await examine(subject(net.client("judge")), deadline=0.0)

    assert {o.observed for o in asyncio.run(run())} == {"not reached: the time was up"}


def test_a_card_that_points_to_another_origin_is_not_followed() -> None:
    async def run() -> Network:
        async with Network() as net:
            mutant = next(m for m in MUTANTS if m.name == "card of another origin")
            await net.host(ORIGIN, load(mutated(mutant)).build(ORIGIN, TOKENS))
            await examine(subject(net.client("judge")))
            return net

    assert set(asyncio.run(run()).attempts) == {ORIGIN}


def test_every_behaviour_speaks_both_languages_and_names_its_source() -> None:
    for each in BEHAVIOURS.values():
        assert each.en != each.es
        assert each.en.endswith(".")
        assert each.es.endswith(".")
        assert "section" in each.source
