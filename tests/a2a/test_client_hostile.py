"""The client among peers that lie, flood, stall and stray: each one ends in a clear error, soon and small."""

from __future__ import annotations

import asyncio
import gzip
import json
import re
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from client_peers import (
    DONE,
    HAPPY,
    ORIGIN,
    REPORT,
    Break,
    Hang,
    Raw,
    Refuse,
    T,
    artifact,
    card,
    chunk,
    meet,
    on_a_loop,
    peer,
    snapshot,
    status,
    whole,
)

from ai_evolution.a2a.cards import Needs, sign_card
from ai_evolution.a2a.client import connect
from ai_evolution.a2a.connection import Guard, Limits, origin_of, plain, strict_json
from ai_evolution.a2a.conversation import MOST_STATES
from ai_evolution.errors import (
    A2AError,
    AgentUnfit,
    CallRefused,
    CardRefused,
    DeliverableInvalid,
    IllegalTransition,
    TaskNotCompleted,
    TaskUnsettled,
    UsageError,
)
from ai_evolution.network import Network

BAD_ANSWER = -32006
BEGUN = {"task": snapshot("WORKING")}
SMALL = Limits(event=20_000, reply=100_000, events=200, grace=0.5)


async def refused(server: Any, error: type[A2AError], **options: Any) -> Any:
    """Delegate to ``server`` and return the ``error`` that comes of it."""
    async with meet(server, **options) as agent:
        with pytest.raises(error) as caught:
            await agent.delegate([{"text": "go"}])
    return caught.value


# Events that are not ours, and states that can't be.

WRONG_EVENTS: dict[str, tuple[list[Any], str]] = {
    "another task's status": ([BEGUN, status("COMPLETED", task="stolen")], "stolen"),
    "another context's status": ([BEGUN, status("COMPLETED", context="stolen")], "stolen"),
    "another task's artifact": ([BEGUN, chunk({"data": 1}, task="stolen")], "stolen"),
    "another context's artifact": ([BEGUN, chunk({"data": 1}, context="stolen")], "stolen"),
    "another task altogether": ([BEGUN, {"task": snapshot("COMPLETED", task="stolen")}], "stolen"),
    "an update before the task": ([status("WORKING")], "first event"),
    "an artifact before the task": ([chunk({"data": 1})], "first event"),
    "a task without an id": ([{"task": snapshot("WORKING", task="")}], "without id"),
    "a task whose id is a way out": ([{"task": snapshot("WORKING", task="../admin?x=")}], "no path"),
    "a task whose id is a folder": ([{"task": snapshot("WORKING", task="..")}], "no path"),
    "a task without a context": ([{"task": snapshot("WORKING", context="")}], "without id or contextId"),
    "a state nobody knows": ([{"task": snapshot("HALTED")}], "no task state"),
    "a task without a state": ([{"task": {"id": "t", "contextId": "c"}}], "no task state"),
    "an event of no kind": ([BEGUN, {"rumour": {}}], "no task, status or artifact"),
    "an artifact without an id": ([BEGUN, chunk({"data": 1}, id="")], "artifactId"),
    "an artifact after the end": ([*HAPPY, chunk({"data": 2})], "after TASK_STATE_COMPLETED"),
    "garbage in an event": ([BEGUN, b"data: {not json\n\n"], "no A2A"),
    "a bare string": ([BEGUN, b'data: "hello"\n\n'], "no A2A"),
    "a list": ([BEGUN, b"data: [1]\n\n"], "no A2A"),
    "a number for a result": ([BEGUN, b'data: {"jsonrpc":"2.0","id":1,"result":5}\n\n'], "no A2A"),
    "no result at all": ([BEGUN, b'data: {"jsonrpc":"2.0","id":1}\n\n'], "no A2A"),
    "a number for an id": ([{"task": {"id": 5}}], "no A2A"),
    "bytes that are no text": ([BEGUN, b"data: \xff\xfe\x00\n\n"], "no A2A"),
    "bottomless nesting": ([BEGUN, b'data: {"result":' + b"[" * 9_000 + b"\n\n"], "no A2A|too deeply"),
}


@pytest.mark.parametrize("case", WRONG_EVENTS, ids=str)
@on_a_loop
async def test_an_event_that_has_no_place_here_is_refused(case: str) -> None:
    events, match = WRONG_EVENTS[case]
    liar = peer([events])
    error = await refused(liar, CallRefused)
    assert error.code == BAD_ANSWER
    assert error.reason == "INVALID_AGENT_RESPONSE"
    assert re.search(match, str(error))


@pytest.mark.parametrize(
    "events",
    [
        [BEGUN, status("SUBMITTED")],
        [{"task": snapshot("INPUT_REQUIRED", "?")}, status("SUBMITTED")],
        [*HAPPY, status("WORKING")],
        [*HAPPY, status("CANCELED")],
        [*HAPPY, {"task": snapshot("WORKING")}],
    ],
    ids=[
        "working to submitted",
        "asked to submitted",
        "done to working",
        "done to canceled",
        "done to a task",
    ],
)
@on_a_loop
async def test_a_task_that_goes_backwards_is_refused(events: list[Any]) -> None:
    async def answer(question: str, task: dict[str, Any]) -> list[dict[str, Any]]:
        return [{"text": "yes"}]

    async with meet(peer([events, events[1:]])) as agent:
        with pytest.raises(IllegalTransition):
            await agent.delegate([{"text": "go"}], answer=answer)


@on_a_loop
async def test_a_looked_up_task_that_went_backwards_is_refused() -> None:
    await refused(peer([[BEGUN]], get=[snapshot("SUBMITTED")]), IllegalTransition)


@on_a_loop
async def test_a_looked_up_task_of_another_name_is_refused() -> None:
    error = await refused(peer([[BEGUN]], get=[snapshot("COMPLETED", task="stolen")]), CallRefused)
    assert "stolen" in str(error)
    async with meet(peer(cancel=[snapshot("CANCELED", task="stolen")])) as agent:
        with pytest.raises(CallRefused, match="stolen"):
            await agent.cancel(T)


@pytest.mark.parametrize("between", [[status("WORKING")], []], ids=["working between", "at once"])
@on_a_loop
async def test_a_task_that_asks_and_asks_is_given_up(between: list[Any]) -> None:
    async def yes(question: str, task: dict[str, Any]) -> list[dict[str, Any]]:
        return [{"text": "yes"}]

    def questions() -> Iterator[Any]:
        for number in range(MOST_STATES):
            yield [*between, status("INPUT_REQUIRED", "sure?", message=str(number))]

    curious = peer([[BEGUN], *questions()], get=[snapshot("INPUT_REQUIRED", "sure?", message="first")])
    async with meet(curious) as agent:
        with pytest.raises(CallRefused, match=f"more than {MOST_STATES}"):
            await agent.delegate([{"text": "go"}], answer=yes)


@on_a_loop
async def test_whatever_is_refused_in_mid_task_is_canceled_first() -> None:
    liar = peer([[BEGUN, status("COMPLETED", task="stolen")]])
    await refused(liar, CallRefused)
    assert liar.calls[-1] == ("CancelTask", {"id": T})


# Floods and silences.


def endless(make: Callable[[int], Any]) -> Iterator[Any]:
    yield BEGUN
    number = 0
    while True:
        number += 1
        yield make(number)


FLOODS: dict[str, Callable[[int], Any]] = {
    "events": lambda n: status("WORKING", f"still at it {n}"),
    "comments": lambda n: b": " + b"x" * 900 + b"\n\n",
    "chunks": lambda n: chunk({"text": "x" * 4_000}, append=n > 1),
    "one line without an end": lambda n: b"x" * 1_000,
    "one event without an end": lambda n: b"data: " + b"x" * 1_000 + b"\n",
    "one event of carriage returns": lambda n: b"data: " + b"x" * 1_000 + b"\r",
}


@pytest.mark.parametrize("kind", FLOODS, ids=str)
@on_a_loop
async def test_a_flood_is_cut_off_small(kind: str) -> None:
    tracemalloc.start()
    try:
        error = await refused(peer([endless(FLOODS[kind])]), CallRefused, limits=SMALL)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert error.code == BAD_ANSWER
    assert "past" in str(error)
    assert peak < 20_000_000


@on_a_loop
async def test_one_huge_answer_is_cut_off() -> None:
    huge = snapshot("WORKING", "x" * 200_000)
    error = await refused(peer([[BEGUN]], get=[huge]), CallRefused, limits=SMALL)
    assert "100000 bytes" in str(error)


@on_a_loop
async def test_an_answer_compressed_unasked_is_refused_unread() -> None:
    bomb = Raw(gzip.compress(b"0" * 10_000_000, mtime=0), headers=((b"content-encoding", b"gzip"),))
    error = await refused(peer([bomb]), CallRefused)
    assert "compressed" in str(error)


@pytest.mark.parametrize("after", [[], [BEGUN]], ids=["nothing", "the task"])
@on_a_loop
async def test_an_agent_that_falls_silent_meets_the_deadline(after: list[Any]) -> None:
    mute = peer([[*after, Hang]])
    async with meet(mute) as agent:
        with pytest.raises(TaskUnsettled) as caught:
            await agent.delegate([{"text": "go"}], deadline=0.3)
    assert caught.value.task_id == (T if after else "")
    assert caught.value.state == ("TASK_STATE_CANCELED" if after else "")
    assert mute.left == 1


@on_a_loop
async def test_an_agent_that_does_not_even_cancel_is_left_after_the_grace_period() -> None:
    stubborn = peer([[BEGUN, Hang]], cancel=[[Hang]])
    async with meet(stubborn, limits=Limits(grace=0.1)) as agent:
        with pytest.raises(TaskUnsettled, match="unknown") as caught:
            await agent.delegate([{"text": "go"}], deadline=0.2)
    assert caught.value.state == "TASK_STATE_WORKING"


@on_a_loop
async def test_a_stream_that_stays_open_after_the_end_is_left() -> None:
    clinging = peer([[*HAPPY, Hang]])
    async with meet(clinging) as agent:
        assert (await agent.delegate([{"text": "go"}])).artifact == REPORT
    assert clinging.left == 1


@on_a_loop
async def test_an_agent_that_works_for_ever_meets_the_deadline() -> None:
    busy = peer([[BEGUN]], get=[snapshot("WORKING")])
    async with meet(busy, backoff=(0.01,)) as agent:
        with pytest.raises(TaskUnsettled):
            await agent.delegate([{"text": "go"}], deadline=0.3)
    assert busy.methods().count("GetTask") < 60


# Refusals.


@pytest.mark.parametrize(
    ("answer", "code", "reason"),
    [
        (Refuse(-32602, "Validation failed"), -32602, "INVALID_PARAMS"),
        (Refuse(-32009, "no"), -32009, "VERSION_NOT_SUPPORTED"),
        (Refuse(-32005, "no"), -32005, "CONTENT_TYPE_NOT_SUPPORTED"),
        (Refuse(-32123, "our own"), -32123, ""),
        (Raw(b"no", 401, headers=((b"www-authenticate", b'Bearer realm="checks"'),)), 401, ""),
        (Raw(b"no", 403), 403, ""),
        (Raw(b"no", 413), 413, ""),
        (Raw(b"", 307, headers=((b"location", b"https://elsewhere.example/"),)), 307, ""),
        (Raw(b"<html>", 500), 500, ""),
        (Raw(b"", 503), 503, "CONNECTION_LOST"),
        (Raw(b"<html>", kind="text/html"), BAD_ANSWER, "INVALID_AGENT_RESPONSE"),
        (Raw(b""), BAD_ANSWER, "INVALID_AGENT_RESPONSE"),
        (Raw(b'{"error": "a string"}'), BAD_ANSWER, "INVALID_AGENT_RESPONSE"),
        (Raw(b'{"error": {"code": "x"}}'), BAD_ANSWER, "INVALID_AGENT_RESPONSE"),
    ],
    ids=lambda value: str(value)[:40],
)
@pytest.mark.parametrize("streaming", [True, False], ids=["streamed", "polled"])
@on_a_loop
async def test_a_refusal_keeps_its_code(answer: Any, code: int, reason: str, streaming: bool) -> None:
    error = await refused(peer([answer], card=card(streaming)), CallRefused)
    assert (error.code, error.reason) == (code, reason)
    assert "\n" not in str(error)


@on_a_loop
async def test_an_error_in_mid_stream_is_told_and_what_was_begun_is_canceled() -> None:
    broken = peer([[BEGUN, b'data: {"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"boom"}}\n\n']])
    error = await refused(broken, CallRefused)
    assert error.code == -32603
    assert broken.methods()[-1] == "CancelTask"


@on_a_loop
async def test_a_message_for_an_answer_is_no_deliverable() -> None:
    words = {"message": {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"data": REPORT}]}}
    for streaming in (True, False):
        answer: Any = [words] if streaming else words
        error = await refused(peer([answer], card=card(streaming)), DeliverableInvalid)
        assert "no deliverable" in str(error)


@on_a_loop
async def test_words_are_never_taken_for_the_deliverable() -> None:
    said = snapshot("COMPLETED", json.dumps(REPORT))
    said["history"] = [{"messageId": "h", "role": "ROLE_AGENT", "parts": [{"data": REPORT}]}]
    done = status("COMPLETED", json.dumps(REPORT))
    error = await refused(peer([[BEGUN, done]], get=[said]), DeliverableInvalid)
    assert "without an artifact" in str(error)


@on_a_loop
async def test_a_stored_task_that_contradicts_its_own_stream_is_refused() -> None:
    forged = snapshot("COMPLETED", "", artifact({"data": {"result": "guilty"}}))
    error = await refused(peer(get=[forged]), DeliverableInvalid)
    assert error.pointer == "/artifacts/0/parts"
    await refused(peer(get=[snapshot("WORKING")]), IllegalTransition)
    lagging = peer(get=[snapshot("WORKING"), Break, snapshot("COMPLETED"), DONE])
    async with meet(lagging) as agent:
        assert (await agent.delegate([{"text": "go"}])).artifact == REPORT


@on_a_loop
async def test_the_agents_words_reach_the_error_bounded_and_without_control_characters() -> None:
    loud = "\x1b[31mred\x07\u202e" + "x" * 5_000 + "\n"
    error = await refused(peer([[BEGUN, status("FAILED", loud)]]), TaskNotCompleted)
    assert "[31mred" in str(error)
    assert len(str(error)) < 500
    assert not any(character in str(error) for character in "\x1b\x07\u202e\n")


@on_a_loop
async def test_characters_that_some_take_for_line_ends_survive_a_stream() -> None:
    text = "uno\u2028dos\u2029tres\u0085cuatro"
    events = [BEGUN, chunk({"data": text}, last=True), status("COMPLETED")]
    done = snapshot("COMPLETED", "", artifact({"data": text}))

    def bytewise() -> Iterator[bytes]:
        for event in events:
            answer = {"jsonrpc": "2.0", "id": 1, "result": event}
            for byte in f"data: {json.dumps(answer, ensure_ascii=False)}\n\n".encode():
                yield bytes([byte])

    for stream in (events, bytewise()):
        async with meet(peer([stream], get=[done])) as agent:
            assert (await agent.delegate([{"text": "go"}])).artifact == text


# The card, and where things are sent.


@pytest.mark.parametrize(
    "page",
    [
        Raw(b"<html>"),
        Raw(b"[]"),
        Raw(b"3"),
        Raw(b'{"name": "a", "name": "b"}'),
        Raw(b'{"version": NaN}'),
        Raw(b"[" * 100_000),
        Raw(b"\xff"),
        Raw(b'{"skills": 5}'),
        Raw(b'{"name": 5}'),
        Raw(b" " * 300_000),
        Raw(gzip.compress(b"{}", mtime=0), headers=((b"content-encoding", b"gzip"),)),
    ],
    ids=lambda page: str(page.body[:20]),
)
@on_a_loop
async def test_a_card_that_is_none_is_refused(page: Raw) -> None:
    with pytest.raises(CardRefused) as caught:
        async with meet(peer(card=page)):
            pass
    assert caught.value.reason == "malformed"


@on_a_loop
async def test_a_card_that_cannot_be_had_is_told() -> None:
    elsewhere = (b"location", b"https://elsewhere.example/card.json")
    for page, code in ((Raw(b"", 404), 404), (Raw(b"", 302, headers=(elsewhere,)), 302)):
        with pytest.raises(CallRefused) as caught:
            async with meet(peer(card=page)):
                pass
        assert caught.value.code == code
    async with Network() as net:
        for url, error in (("https://nobody.example", CallRefused), ("checks", UsageError), ("", UsageError)):
            with pytest.raises(error):
                async with connect(url, http=net.client("me")):
                    pass
        assert net.attempts == ["https://nobody.example"]


def interfaces(*urls: str, version: str = "1.0") -> dict[str, Any]:
    offered = [{"url": url, "protocolBinding": "JSONRPC", "protocolVersion": version} for url in urls]
    return card(supportedInterfaces=offered)


@pytest.mark.parametrize(
    "url",
    [
        "https://elsewhere.example/rpc",
        "http://checks.example/rpc",
        "https://checks.example:8443/rpc",
        "https://checks.example@elsewhere.example/rpc",
        "https://me:secret@checks.example/rpc",
        "https://checks.example.evil/rpc",
        "file:///etc/passwd",
        "/rpc",
        "",
    ],
)
@on_a_loop
async def test_an_interface_at_another_origin_is_unfit_unless_allowed(url: str) -> None:
    server = peer(card=interfaces(url))
    with pytest.raises(AgentUnfit) as caught:
        async with meet(server):
            pass
    assert caught.value.reasons == ("origin",)
    assert server.calls == []


@on_a_loop
async def test_an_allowed_origin_is_spoken_to_and_the_same_origin_may_be_spelled_otherwise() -> None:
    async with Network() as net:
        await net.host("https://api.example", worker := peer())
        front = peer(card=interfaces("https://api.example/rpc"))
        async with meet(front, network=net, allow_origins=["https://api.example"], token="t0p") as agent:
            assert (await agent.delegate([{"text": "go"}])).artifact == REPORT
    assert {each["authorization"] for each in worker.headers} == {"Bearer t0p"}
    assert "authorization" not in front.headers[0]
    assert origin_of("HTTPS://Checks.Example/x") == origin_of("https://checks.example:443")


@on_a_loop
async def test_a_job_may_name_the_other_origins_it_bears() -> None:
    front = peer(card=interfaces("https://api.example/rpc"))
    async with meet(front, needs=Needs("check", schemes=(), origins=("https://api.example",))) as agent:
        assert agent.interface["url"] == "https://api.example/rpc"


@on_a_loop
async def test_cookies_stay_with_the_callers_own_connection() -> None:
    set_cookie = ((b"set-cookie", b"who=us; Path=/"),)
    answer = Raw(json.dumps({"result": {"task": DONE}}).encode(), headers=set_cookie)
    server = peer([answer], card=card(streaming=False))
    async with meet(server) as agent:
        for _ in range(3):
            await agent.delegate([{"text": "go"}])
    assert [each.get("cookie") for each in server.headers] == [None, None, "who=us", "who=us"]


@on_a_loop
async def test_an_agent_of_another_protocol_or_binding_is_unfit() -> None:
    for offered, reason in (
        (interfaces(f"{ORIGIN}/rpc", version="0.3"), "protocol"),
        (interfaces(f"{ORIGIN}/rpc", version="2.0"), "protocol"),
        (interfaces(), "binding"),
    ):
        with pytest.raises(AgentUnfit) as caught:
            async with meet(peer(card=offered)):
                pass
        assert caught.value.reasons == (reason,)


@on_a_loop
async def test_an_unfit_agent_hears_nothing() -> None:
    server = peer()
    with pytest.raises(AgentUnfit) as caught:
        async with meet(server, needs=Needs("cook", output_modes=("image/png",), schemes=())):
            pass
    assert "skill" in caught.value.reasons
    assert server.calls == []


@on_a_loop
async def test_a_signed_card_is_verified_as_received_and_an_altered_one_is_refused() -> None:
    from joserfc.jwk import ECKey

    key = ECKey.generate_key("P-256")
    signed = sign_card(card(unknownToUs={"kept": True}), key, "checks-1")
    async with meet(peer(card=signed), keys={"checks-1": key}) as agent:
        assert agent.kid == "checks-1"
        assert agent.card == signed
    altered = json.loads(json.dumps(signed)) | {"description": "trust me"}
    for wrong, reason in ((altered, "altered"), (card(), "unsigned")):
        with pytest.raises(CardRefused) as caught:
            async with meet(peer(card=wrong), keys={"checks-1": key}):
                pass
        assert caught.value.reason == reason


@on_a_loop
async def test_a_card_whose_output_schema_is_none_is_unfit_before_the_first_message() -> None:
    from ai_evolution.a2a.cards import declare_output_schema

    declared = declare_output_schema(card(), "check", {"type": "object"})
    spoiled = json.loads(json.dumps(declared).replace('"object"', '"thing"'))
    server = peer(card=spoiled)
    async with meet(server) as agent:
        with pytest.raises(A2AError):
            await agent.delegate([{"text": "go"}], skill="check")
    assert server.calls == []


@on_a_loop
async def test_the_guard_holds_back_what_is_meant_for_another_origin() -> None:
    import httpx

    async with Network() as net:
        guard = Guard(net.client("me"), origin_of(ORIGIN), "t0p", Limits(), str)
        async with httpx.AsyncClient(transport=guard) as http:
            with pytest.raises(CallRefused, match="held back"):
                await http.get("https://elsewhere.example/")
        assert net.attempts == []


@on_a_loop
async def test_the_callers_connection_is_used_as_it_is_and_left_open() -> None:
    async with Network() as net:
        await net.host(ORIGIN, server := peer())
        http = net.client("me", headers={"x-trace": "7"})
        before = dict(http.headers)
        async with connect(ORIGIN, http=http, token="t0p") as agent:
            await agent.delegate([{"text": "go"}])
        assert not http.is_closed
        assert dict(http.headers) == before
    assert {each["x-trace"] for each in server.headers} == {"7"}
    assert [each.get("authorization") for each in server.headers] == [None, "Bearer t0p", "Bearer t0p"]


@on_a_loop
async def test_a_task_id_that_leads_elsewhere_is_never_put_into_a_path() -> None:
    server = peer()
    async with meet(server) as agent:
        for task_id in ("../admin", "a?b", "a#b", "a%2fb", "a b", "", ".", "x" * 300):
            for call in (agent.task, agent.cancel, agent.settle):
                with pytest.raises(UsageError):
                    await call(task_id)
    assert server.calls == []


@pytest.mark.parametrize("token", ["", "two words", "a\r\nx-admin: 1", "contraseña"])
@on_a_loop
async def test_a_token_that_no_header_can_carry_is_refused(token: str) -> None:
    with pytest.raises(UsageError):
        async with meet(peer(), token=token):
            pass


def test_text_of_a_stranger_fits_on_one_line() -> None:
    assert plain("a\x00b\n c\u200b") == "a b c"
    assert plain("x" * 50, 10) == "x" * 9 + "…"
    assert plain(None) == "None"


def test_strict_json_refuses_what_a_signature_cannot_cover() -> None:
    assert strict_json(b'{"a": [1, 2.5]}') == {"a": [1, 2.5]}
    for wrong in ('{"a": 1, "a": 2}', "[NaN]", "[-Infinity]", "{", ""):
        with pytest.raises(ValueError, match=r"\w"):
            strict_json(wrong)


def test_the_client_ends_nothing_but_its_own_work() -> None:
    async def go() -> int:
        async with meet(peer([[BEGUN, Hang]])) as agent:
            before = len(asyncio.all_tasks())
            with pytest.raises(TaskUnsettled):
                await agent.delegate([{"text": "go"}], deadline=0.1)
            return len(asyncio.all_tasks()) - before

    assert asyncio.run(go()) == 0


STREAM = "text/event-stream"


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (Raw(b"data: {not json\n\n", kind=STREAM), BAD_ANSWER),
        (Raw(b"data: [1]\n\n", kind=STREAM), BAD_ANSWER),
        (Raw(b"data: 5\n\n", kind=STREAM), BAD_ANSWER),
        (Raw(b"event: error\ndata: not json\n\n", kind=STREAM), BAD_ANSWER),
        (Raw(b'event: error\ndata: {"error": 5}\n\n', kind=STREAM), BAD_ANSWER),
        (Raw(b'data: {"task": {"id": 5}}\n\n', kind=STREAM), BAD_ANSWER),
        (Raw(b"<html>", kind="text/html"), BAD_ANSWER),
        (Raw(b"<html>", 404, kind="text/html"), -32601),
        (Raw(b"<html>", 401, kind="text/html"), 401),
        (Raw(b"<html>", 500, kind="text/html"), 500),
        (Raw(b'{"error": {"details": 5}}', 400), 400),
        (Raw(b"", kind=STREAM), 0),
    ],
    ids=lambda value: str(value)[:40],
)
@on_a_loop
async def test_garbage_over_http_json_is_told_as_well(answer: Raw, code: int) -> None:
    async def server(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            raise NotImplementedError
        await whole(send, Raw(json.dumps(card()).encode()) if scope["method"] == "GET" else answer)

    error = await refused(server, CallRefused, needs=Needs("check", bindings=("HTTP+JSON",), schemes=()))
    assert error.code == code
