"""The judge of MCP servers finds nothing in a sound server, its fault in every mutant, and never falls over.

Which official scenarios notice a mutant stands in ``docs/conformance/mutants.json``, which
``scripts/conformance.py`` measures; the column of our own behaviours is measured here again.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from ai_evolution.errors import UsageError
from ai_evolution.mcp.behaviours import BEHAVIOURS, Call, Subject, applicable, examine
from ai_evolution.mcp.fixtures import SECRET, fixture_server, fixture_subject
from ai_evolution.mcp.mutants import MUTANTS
from ai_evolution.network import Network

ORIGIN = "http://127.0.0.1:8000"
URL = f"{ORIGIN}/mcp"
REVISIONS = ("2026-07-28", "2025-11-25")
WAITS = frozenset({"call.independent", "cancel.reaches"})
"""These let a slow call begin, which takes real time."""

CONTROLS = frozenset({"call.succeeds", "arguments.closed", "failure.told", "rpc.unknown-method"})
"""Asked of every mutant besides what it breaks, so that not everything fails."""

FOREVER = 60.0
SERVE = """
import anyio
from mcp.server.stdio import stdio_server
from ai_evolution.mcp.fixtures import fixture_server

async def main():
    server = fixture_server()
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())

anyio.run(main)
"""

TALKATIVE = """
import json, sys

for line in sys.stdin:
    print("hello")
    answer = {"jsonrpc": "2.0", "id": json.loads(line)["id"], "result": {"tools": []}}
    print(json.dumps(answer), flush=True)
"""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def net() -> AsyncIterator[Network]:
    async with Network() as network:
        yield network


def _faults(observations: list[Any]) -> dict[str, Any]:
    return {one.id: one.observed for one in observations if not one.holds}


@pytest.mark.anyio
@pytest.mark.parametrize("revision", REVISIONS)
async def test_a_sound_server_shows_every_behaviour(net: Network, revision: str) -> None:
    await net.host(ORIGIN, fixture_server().streamable_http_app())
    subject = fixture_subject(URL, http=net.client("judge"), revision=revision, deadline=FOREVER)
    seen = await examine(subject)
    assert _faults(seen) == {}
    assert {one.id for one in seen} == set(BEHAVIOURS) - {"stdout.clean"}


@pytest.mark.anyio
async def test_a_process_is_judged_by_its_pipes() -> None:
    subject = fixture_subject([sys.executable, "-c", SERVE], deadline=FOREVER)
    only = [
        "era.spoken",
        "tools.unknown",
        "arguments.types",
        "crash.masked",
        "cancel.reaches",
        "stdout.clean",
    ]
    seen = await examine(subject, only)
    assert _faults(seen) == {}
    assert len(seen) == len(only)


@pytest.mark.anyio
@pytest.mark.parametrize("mutant", MUTANTS.values(), ids=MUTANTS)
async def test_every_mutant_is_caught_by_the_behaviours_that_it_breaks(net: Network, mutant: Any) -> None:
    """All the others are asked too where the file is written, and must hold."""
    await net.host(ORIGIN, mutant.build().streamable_http_app())
    slow = 2.0 if mutant.id == "one-at-a-time" else FOREVER
    subject = fixture_subject(URL, http=net.client("judge"), deadline=slow)
    asked = set(mutant.caught) | CONTROLS
    if mutant.id == "dies":  # it shows only to whoever comes after the crash
        asked |= {"crash.masked"}
    assert set(_faults(await examine(subject, asked))) == set(mutant.caught)


def test_for_every_behaviour_of_a_server_over_http_there_is_a_mutant_or_a_reason() -> None:
    caught = {name for mutant in MUTANTS.values() for name in mutant.caught}
    elsewhere = {  # broken below by servers that are no variations of a sound one
        "era.spoken", "call.succeeds", "rpc.ids", "rpc.unknown-method", "rpc.invalid-params",
        "rpc.malformed-json", "stdout.clean",
    }  # fmt: skip
    assert caught | elsewhere == set(BEHAVIOURS)
    assert caught & elsewhere == set()


def test_what_the_official_suite_misses_is_written_down_for_every_mutant() -> None:
    file = Path(__file__).parents[2] / "docs" / "conformance" / "mutants.json"
    rows = {row["id"]: row for row in json.loads(file.read_text(encoding="utf-8"))["mutants"]}
    assert {name: rows[name]["ours"] for name in rows} == {m.id: sorted(m.caught) for m in MUTANTS.values()}
    unnoticed = [name for name, row in rows.items() if not row["official"]]
    assert len(unnoticed) >= 8


# ---------------------------------------------------------------------- servers that are no servers


def _answers(make: Any) -> Starlette:
    async def post(request: Request) -> Response:
        answer: Response = await make(request)
        return answer

    return Starlette(routes=[Route("/mcp", post, methods=["POST"])])


async def _agrees_to_everything(request: Request) -> Response:
    """Any request, even no JSON at all, gets an empty result with an id of the server's own."""
    await request.body()
    return JSONResponse({"jsonrpc": "2.0", "id": 0, "result": {}})


async def _html(request: Request) -> Response:
    await request.body()
    return PlainTextResponse("<html>Welcome</html>", media_type="text/html")


async def _wrong_types(request: Request) -> Response:
    told = json.loads(await request.body() or b"{}") if request.method == "POST" else {}
    wrong = {"tools": [None, 1], "prompts": "none", "resources": {}, "supportedVersions": 7, "content": [[]]}
    return JSONResponse({"jsonrpc": "2.0", "id": told.get("id"), "result": wrong})


@pytest.mark.anyio
@pytest.mark.parametrize("make", [_agrees_to_everything, _html, _wrong_types])
@pytest.mark.parametrize("revision", REVISIONS)
async def test_whatever_a_server_answers_is_an_observation(net: Network, make: Any, revision: str) -> None:
    await net.host(ORIGIN, _answers(make))
    subject = fixture_subject(URL, http=net.client("judge"), revision=revision, deadline=FOREVER)
    asked = [name for name in applicable(subject) if name not in WAITS]
    seen = await examine(subject, asked)
    assert [one.id for one in seen] == asked
    must = {"era.spoken", "call.succeeds", "rpc.unknown-method", "rpc.malformed-json", "rpc.invalid-params"}
    assert must <= set(_faults(seen))
    json.dumps([one.as_dict() for one in seen])


@pytest.mark.anyio
async def test_a_flood_is_cut_off(net: Network) -> None:
    async def flood(request: Request) -> Response:
        await request.body()
        pieces = (b"data: " + b"x" * 1_000_000 for _ in range(6))
        return StreamingResponse(pieces, media_type="text/event-stream")

    await net.host(ORIGIN, _answers(flood))
    [seen] = await examine(Subject(URL, http=net.client("judge"), deadline=FOREVER), ["tools.order"])
    assert seen.observed == "an answer of more than 4000000 bytes"


@pytest.mark.anyio
async def test_ids_that_become_text_are_noticed(net: Network) -> None:
    async def echo(request: Request) -> Response:
        told = json.loads(await request.body())
        return JSONResponse({"jsonrpc": "2.0", "id": str(told["id"]), "result": {"tools": []}})

    await net.host(ORIGIN, _answers(echo))
    [seen] = await examine(Subject(URL, http=net.client("judge"), deadline=FOREVER), ["rpc.ids"])
    assert seen.observed["text"] == "kept"
    assert seen.observed["number"] == "a response with another id than the request's (HTTP 200)"


@pytest.mark.anyio
async def test_a_process_that_prints_is_noticed_and_one_that_ends_is_survived() -> None:
    [seen] = await examine(Subject([sys.executable, "-c", TALKATIVE], deadline=FOREVER), ["stdout.clean"])
    assert seen.observed == ["hello"]
    gone = await examine(Subject([sys.executable, "-c", ""], deadline=FOREVER))
    assert not any(one.holds for one in gone)
    assert gone[-1].observed == "not tried: the server is silent"


@pytest.mark.anyio
async def test_nobody_at_the_address_is_an_observation() -> None:
    async with httpx.AsyncClient(trust_env=False) as http:
        seen = await examine(Subject("http://127.0.0.1:9/mcp", http=http, deadline=FOREVER), ["era.spoken"])
    assert seen[0].observed == "the connection was refused"


@pytest.mark.anyio
async def test_what_a_fault_shows_is_what_crossed_the_wire(net: Network) -> None:
    await net.host(ORIGIN, MUTANTS["leaks"].build().streamable_http_app())
    [seen] = await examine(fixture_subject(URL, http=net.client("judge"), deadline=FOREVER), ["crash.masked"])
    assert seen.observed == {"ends": "refused", "leaks": ["secret 1"]}
    assert SECRET in seen.exchange[-1].response
    assert '"own_crash"' in seen.exchange[-1].request


@pytest.mark.anyio
async def test_the_whole_examination_can_have_a_deadline(net: Network) -> None:
    await net.host(ORIGIN, fixture_server().streamable_http_app())
    seen = await examine(fixture_subject(URL, http=net.client("judge")), deadline=0.0)
    assert {one.observed for one in seen} == {"not reached: the time was up"}


def test_a_question_that_cannot_be_asked_is_refused_in_one_line() -> None:
    bare = Subject(URL)
    with pytest.raises(UsageError, match=r"'x' is no behaviour; there are: era.spoken"):
        asyncio.run(examine(bare, ["x"]))
    with pytest.raises(UsageError, match=r"'call.succeeds' needs call in the subject"):
        asyncio.run(examine(bare, ["call.succeeds"]))
    with pytest.raises(UsageError, match="revision '2024-11-05' is not examined"):
        asyncio.run(examine(Subject(URL, revision="2024-11-05")))
    assert applicable(Subject(URL, call=Call("x"))) != applicable(bare)


def test_the_judge_imports_no_mcp_library() -> None:
    code = "import sys, ai_evolution.mcp.behaviours; sys.exit(bool({'mcp', 'mcp_types'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=FOREVER).returncode == 0


def test_every_behaviour_is_said_in_both_languages_and_has_a_source() -> None:
    for behaviour in BEHAVIOURS.values():
        assert behaviour.en != behaviour.es
        assert behaviour.en.endswith(".")
        assert behaviour.es.endswith(".")
        assert behaviour.source
