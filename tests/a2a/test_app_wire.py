"""The doors of the server: card, tokens, limits, dialect versions, input modes, owners."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
from typing import Any

import httpx
import pytest
from a2a.client import ClientConfig, ClientFactory
from a2a.types import AgentCard, ListTasksRequest, SendMessageRequest
from app_peers import ORIGIN, TOKENS, Player, card, house, message, on_a_loop, state_of
from google.protobuf.json_format import ParseDict
from starlette.requests import Request

from ai_evolution.a2a import PushPolicy, PushSender, SqliteTaskStore, aclose, build_app
from ai_evolution.a2a.auth import BearerAuth
from ai_evolution.a2a.limits import NotAccepted, parse
from ai_evolution.errors import UsageError
from ai_evolution.network import Network, serve, stop_serving

WELL_KNOWN = f"{ORIGIN}/.well-known/agent-card.json"


@on_a_loop
async def test_the_card_is_served_as_it_was_given_without_a_token() -> None:
    given = card(signatures=[{"protected": "abc", "signature": "añejo"}])
    async with house(served=given) as home:
        answer = await home.nobody.get(WELL_KNOWN)
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "application/json"
        assert answer.json() == given
        assert answer.content == home.app.state.card
        assert list(answer.json()) == list(given)
        assert "max-age" in answer.headers["cache-control"]


@on_a_loop
async def test_a_card_that_did_not_change_is_answered_with_304_and_a_changed_one_is_not() -> None:
    async with house() as home:
        tag = (await home.nobody.get(WELL_KNOWN)).headers["etag"]
        for given in (tag, f"W/{tag}", f'"x", {tag}', "*"):
            answer = await home.nobody.get(WELL_KNOWN, headers={"If-None-Match": given})
            assert (answer.status_code, answer.content, answer.headers["etag"]) == (304, b"", tag)
        assert (await home.nobody.get(WELL_KNOWN, headers={"If-None-Match": '"x"'})).status_code == 200
    async with house(served=card(version="1.0.1")) as home:
        assert (await home.nobody.get(WELL_KNOWN, headers={"If-None-Match": tag})).status_code == 200


@pytest.mark.parametrize("path", ["/", "/rest/tasks", "/rest/message:send", "/nowhere", "/.well-known/other"])
@on_a_loop
async def test_without_a_token_every_path_but_the_card_is_401(path: str) -> None:
    async with house() as home:
        for header, challenge in (
            ({}, 'Bearer realm="a2a"'),
            ({"Authorization": "Basic YWxpY2U6eA=="}, 'Bearer realm="a2a"'),
            ({"Authorization": "Bearer "}, 'Bearer realm="a2a"'),
            ({"Authorization": "Bearer wrong"}, 'Bearer realm="a2a", error="invalid_token"'),
            ({"Authorization": "Bearer alice-toke"}, 'Bearer realm="a2a", error="invalid_token"'),
        ):
            for method in ("GET", "POST"):
                answer = await home.nobody.request(method, ORIGIN + path, headers=header, content=b"{}")
                assert answer.status_code == 401
                assert answer.headers["www-authenticate"] == challenge
                assert answer.json()["error"]["status"] == "UNAUTHENTICATED"
        assert home.agent.played == []


def test_tokens_that_could_not_be_sent_or_own_nothing_are_refused_at_the_start() -> None:
    for tokens in ({"": "alice"}, {"token": ""}, {"añejo": "alice"}):
        with pytest.raises(UsageError, match="tokens"):
            BearerAuth(lambda *_: None, tokens)  # type: ignore[arg-type, return-value]


@on_a_loop
async def test_the_agent_never_sees_the_token_of_its_caller() -> None:
    async with house() as home:
        await home.send("complete")
        (context,) = home.agent.contexts
        assert context.call_context.user.user_name == "alice"
        assert "alice-token" not in repr(context.call_context.state)


@on_a_loop
async def test_a_strangers_task_does_not_exist_whatever_is_asked_of_it() -> None:
    async with Network() as net:
        push = PushSender(net.client("agent"), PushPolicy())
        async with house(push=push) as home:
            parked = await home.send("ask")
            hook = {"taskId": parked["id"], "url": "https://hooks.example/x", "id": "p1"}
            for method, params in (
                ("GetTask", {"id": parked["id"]}),
                ("CancelTask", {"id": parked["id"]}),
                ("SubscribeToTask", {"id": parked["id"]}),
                ("SendMessage", message("complete", "b1", taskId=parked["id"])),
                ("SendStreamingMessage", message("complete", "b2", taskId=parked["id"])),
                ("CreateTaskPushNotificationConfig", hook),
                ("GetTaskPushNotificationConfig", {"taskId": parked["id"], "id": "p1"}),
                ("ListTaskPushNotificationConfigs", {"taskId": parked["id"]}),
                ("DeleteTaskPushNotificationConfig", {"taskId": parked["id"], "id": "p1"}),
            ):
                theirs = await home.refusal(method, params, client=home.bob)
                nobodys = await home.refusal(
                    method, json.loads(json.dumps(params).replace(parked["id"], "x")), client=home.bob
                )
                assert theirs[0] == nobodys[0] == -32001, method
                assert theirs[1].replace(parked["id"], "x") == nobodys[1]
            assert (await home.rpc("ListTasks", {}, client=home.bob))["result"]["totalSize"] == 0
            assert (await home.bob.get(f"{ORIGIN}/rest/tasks/{parked['id']}")).status_code == 404
            assert (await home.rpc("ListTasks", {}))["result"]["totalSize"] == 1
            assert home.agent.played == ["ask"]
        await push.aclose()


@on_a_loop
async def test_without_tokens_the_agent_is_open() -> None:
    async with house(tokens=None) as home:
        task = await home.send("complete", client=home.nobody)
        assert state_of(task) == "TASK_STATE_COMPLETED"


@pytest.mark.parametrize("transport", ["memory", "http"])
@on_a_loop
async def test_a_body_over_the_limit_is_413_announced_or_not(transport: Any) -> None:
    async def chunks() -> Any:
        for _ in range(30):
            yield b"x" * 100

    async with house(max_body=1000, transport=transport) as home:
        for content in (b"x" * 1001, chunks()):
            answer = await home.alice.post(ORIGIN + "/", content=content)
            assert answer.status_code == 413
            error = answer.json()["error"]
            assert (error["code"], error["message"]) == (-32600, "Request body larger than 1000 bytes")
        answer = await home.alice.post(ORIGIN + "/rest/message:send", content=b"x" * 1001)
        assert (answer.status_code, answer.json()["error"]["code"]) == (413, 413)
        fits = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": "x"}}).ljust(1000)
        assert (await home.alice.post(ORIGIN + "/", content=fits)).json()["error"]["code"] == -32001


@on_a_loop
async def test_a_large_body_is_refused_before_it_is_read_to_its_end() -> None:
    app = build_app(card(), Player(), tokens=TOKENS, max_body=100)
    given = 0

    async def receive() -> dict[str, Any]:
        nonlocal given
        given += 1
        return {"type": "http.request", "body": b"x" * 60, "more_body": True}

    sent: list[Any] = []

    async def send(part: Any) -> None:
        sent.append(part)

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/",
        "headers": [(b"authorization", b"Bearer alice-token")],
        "query_string": b"",
        "state": {},
    }
    await app(scope, receive, send)
    assert (given, sent[0]["status"]) == (2, 413)
    await aclose(app)


@pytest.mark.parametrize(
    ("body", "code", "says"),
    [
        (b"", -32700, "empty"),
        (b"{", -32700, "Invalid JSON"),
        (b"\xff\xfe", -32700, "UTF-8"),
        (b"[" * 3000, -32700, "64 levels"),
        (b'{"a":' * 3000 + b"1" + b"}" * 3000, -32700, "64 levels"),
        (b'{"id":NaN}', -32700, "NaN"),
        (b'{"id":1e999}', -32700, "too large"),
        (b'{"id":' + b"9" * 5000 + b"}", -32700, "too large"),
        (b'{"id":"\\ud800","jsonrpc":"2.0"}', -32700, "surrogate"),
        (b"null", -32700, "null"),
        (b"7", -32600, "object"),
        (b"[]", -32600, "Batch"),
        (b'[{"jsonrpc":"2.0","id":1,"method":"GetTask"}]', -32600, "Batch"),
        (b'{"jsonrpc":"1.0","id":1,"method":"GetTask"}', -32600, "2.0"),
        (b'{"jsonrpc":"2.0","id":true,"method":"GetTask"}', -32600, "id"),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"GetTask"}', -32600, "id"),
        (b'{"jsonrpc":"2.0","id":{},"method":"GetTask"}', -32600, "id"),
        (b'{"jsonrpc":"2.0","id":1}', -32600, "method"),
        (b'{"jsonrpc":"2.0","id":1,"method":7}', -32600, "method"),
        (b'{"jsonrpc":"2.0","id":1,"method":"Nonsense"}', -32601, "not found"),
        (b'{"jsonrpc":"2.0","id":1,"method":"GetTask","params":[]}', -32602, "object"),
        (b'{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{}}', -32602, ""),
        (b'{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":7}}', -32602, ""),
        (b'{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{"pageSize":0}}', -32602, "page size"),
    ],
)
@on_a_loop
async def test_a_malformed_request_gets_one_clear_answer(body: bytes, code: int, says: str) -> None:
    async with house() as home:
        answer = await home.alice.post(ORIGIN + "/", content=body)
        assert answer.status_code == 200
        error = answer.json()["error"]
        assert error["code"] == code
        assert says.lower() in error["message"].lower()
        assert "Traceback" not in answer.text
        assert "object has no attribute" not in answer.text


def test_json_as_deep_as_the_limit_is_read_and_one_level_more_is_not() -> None:
    assert parse(b"[" * 64 + b"]" * 64)
    assert parse(b"[" * 64 + b"1" + b"]" * 64)
    with pytest.raises(NotAccepted, match="64 levels"):
        parse(b"[" * 65 + b"]" * 65)
    assert len(parse(b"[" + b"[]," * 500 + b"[]]")) == 501
    assert parse(b'"\\ud83d\\ude00"') == "\N{GRINNING FACE}"


@pytest.mark.parametrize(
    ("version", "accepted"),
    [
        ("1.0", True),
        ("1.1", True),
        ("1.0.7", True),
        ("2.0", False),
        ("0.3", False),
        ("", False),
        ("x", False),
    ],
)
@on_a_loop
async def test_only_the_major_version_counts_and_a_missing_one_is_told_so(
    version: str, accepted: bool
) -> None:
    async with house() as home:
        answer = await home.rpc("SendMessage", message("complete", "m1"), A2A_Version=version)
        rest = await home.alice.get(ORIGIN + "/rest/tasks", headers={"A2A-Version": version})
        if accepted:
            assert state_of(answer["result"]["task"]) == "TASK_STATE_COMPLETED"
            assert rest.status_code == 200
        else:
            assert answer["error"]["code"] == -32009
            assert "1.0" in answer["error"]["message"]
            assert answer["error"]["data"][0]["reason"] == "VERSION_NOT_SUPPORTED"
            assert rest.status_code == 400
            assert home.agent.played == []


@on_a_loop
async def test_a_media_type_that_no_skill_takes_is_refused_before_anything_runs() -> None:
    given = card(defaultInputModes=["text/plain"])
    given["skills"][0]["inputModes"] = ["application/json", "image/*"]
    async with house(served=given) as home:
        png = {"raw": "AAAA", "filename": "a.png", "mediaType": "image/png"}
        for parts in (
            [{"text": "complete"}],
            [{"text": "complete", "mediaType": "text/plain; charset=utf-8"}],
            [{"text": "complete"}, {"data": {"a": 1}}],
            [{"text": "complete"}, png],
        ):
            assert state_of(await home.send("", f"ok-{parts}", parts=parts)) == "TASK_STATE_COMPLETED"
        ran = len(home.agent.played)
        for part in ({"text": "x", "mediaType": "text/html"}, {"url": "https://x", "mediaType": "audio/mp3"}):
            code, says = await home.refusal("SendMessage", message("", "no", parts=[part]))
            assert code == -32005
            assert part["mediaType"] in says
            assert "image/*" in says
        assert len(home.agent.played) == ran
    async with house(served=card(defaultInputModes=["application/json"])) as home:
        assert (await home.refusal("SendMessage", message("complete", "text")))[0] == -32005
    async with house(served=card(defaultInputModes=["text/plain"])) as home:
        params = message("", "data", parts=[{"data": {"a": 1}}])
        assert (await home.refusal("SendMessage", params))[0] == -32005


@pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
@pytest.mark.parametrize("transport", ["memory", "http"])
@on_a_loop
async def test_the_sdks_own_client_speaks_through_both_bindings(transport: Any, binding: str) -> None:
    async with house(transport=transport) as home:
        http = home.net.client("sdk", headers={"Authorization": "Bearer alice-token"})
        config = ClientConfig(
            httpx_client=http, streaming=True, supported_protocol_bindings=[binding], accepted_output_modes=[]
        )
        known = ParseDict(card(), AgentCard(), ignore_unknown_fields=True)
        client = ClientFactory(config).create(known)
        kinds = []
        async for event in client.send_message(ParseDict(message("complete", "s1"), SendMessageRequest())):
            kinds.append(event.WhichOneof("payload"))
        assert kinds == ["task", "status_update", "artifact_update", "status_update"]
        tasks = await client.list_tasks(ListTasksRequest())
        assert tasks.total_size == 1


@on_a_loop
async def test_the_paths_are_those_of_the_card_and_defaults_serve_a_card_that_names_none() -> None:
    deep = card(
        supportedInterfaces=[
            {"url": f"{ORIGIN}/agents/rpc", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
            {"url": f"{ORIGIN}/agents/v1/", "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"},
        ]
    )
    call = {"jsonrpc": "2.0", "id": 1, "method": "ListTasks", "params": {}}
    for served, rpc, rest in (
        (deep, "/agents/rpc", "/agents/v1"),
        (card(supportedInterfaces=[]), "/", "/rest"),
    ):
        async with house(served=served) as home:
            assert "result" in (await home.alice.post(ORIGIN + rpc, json=call)).json()
            assert (await home.alice.get(f"{ORIGIN}{rest}/tasks")).json()["totalSize"] == 0
            missing = await home.alice.get(ORIGIN + "/nowhere")
            assert (missing.status_code, missing.json()["error"]["code"]) == (404, 404)
            wrong = await home.alice.get(ORIGIN + rpc)
            assert wrong.status_code == wrong.json()["error"]["code"]
            assert wrong.status_code in (404, 405)


def test_what_is_no_card_or_no_choice_is_refused_before_anything_is_served() -> None:
    for bad, options in (
        ({"name": 7}, {}),
        (card(skills="none"), {}),
        (card(version=float("nan")), {}),
        (card(), {"orphans": "forget"}),
        (card(), {"max_body": 0}),
    ):
        with pytest.raises(UsageError) as refused:
            build_app(bad, Player(), **options)
        assert len(str(refused.value).splitlines()) == 1


@on_a_loop
async def test_a_typed_card_is_served_in_the_protocols_own_json() -> None:
    typed = ParseDict({k: v for k, v in card().items() if k != "unknownToTheSdk"}, AgentCard())
    app = build_app(typed, Player())
    async with Network() as net:
        await net.host(ORIGIN, app)
        served = (await net.client("x").get(WELL_KNOWN)).json()
    assert served["supportedInterfaces"][0]["protocolBinding"] == "JSONRPC"


@on_a_loop
async def test_an_error_of_ours_is_500_in_neutral_words(caplog: pytest.LogCaptureFixture) -> None:
    async def broken(_request: Request) -> None:
        raise RuntimeError("the-planted-secret-4711")

    app = build_app(card(), Player(), tokens=TOKENS)
    app.add_route("/broken", broken, methods=["POST"])  # type: ignore[arg-type]
    async with Network() as net:
        await net.host(ORIGIN, app)
        headers = {"Authorization": "Bearer alice-token"}
        with caplog.at_level(logging.CRITICAL):
            answer = await net.client("alice").post(ORIGIN + "/broken", headers=headers)
        assert answer.status_code == 500
        assert answer.json()["error"]["status"] == "INTERNAL"
        assert b"planted" not in net.journal.raw()


@on_a_loop
async def test_a_store_that_breaks_gives_an_internal_error_and_not_its_text() -> None:
    store = SqliteTaskStore()
    async with house(store=store) as home:
        task = await home.send("complete")
        store.close()
        for method, params in (
            ("GetTask", {"id": task["id"]}),
            ("ListTasks", {}),
            ("SendMessage", message("complete", "m2")),
            ("SendStreamingMessage", message("complete", "m3")),
            ("SubscribeToTask", {"id": task["id"]}),
        ):
            assert await home.refusal(method, params) == (-32603, "Internal error")
        rest = await home.alice.get(f"{ORIGIN}/rest/tasks/{task['id']}")
        assert rest.status_code == 500
        assert b"database" not in home.net.journal.raw()


@pytest.mark.parametrize(("path", "is_rpc"), [("/", True), ("/rest/message:stream", False)])
@on_a_loop
async def test_a_store_that_breaks_in_the_middle_of_a_stream_leaks_nothing(path: str, is_rpc: bool) -> None:
    store = SqliteTaskStore()
    async with house(store=store) as home:
        params = message("wait", "m1")
        call = {"jsonrpc": "2.0", "id": 1, "method": "SendStreamingMessage", "params": params}
        async with home.alice.stream("POST", ORIGIN + path, json=call if is_rpc else params) as stream:
            parts = stream.aiter_text()
            text = await anext(parts)
            await home.agent.waiting.wait()
            store.close()
            home.agent.gate.set()
            async for part in parts:
                text += part
        assert "event: error" in text
        assert "nternal" in text.rpartition("event: error")[2] or "unknown" in text
        assert b"database" not in home.net.journal.raw()


def test_nothing_is_left_on_the_loop_after_a_lifespan_or_aclose(recwarn: pytest.WarningsRecorder) -> None:
    async def live(transport: Any) -> list[str]:
        async with house(transport=transport) as home:
            await home.start("wait")
            async for event in home.events("SendStreamingMessage", message("complete", "m2")):
                if "artifactUpdate" in event:
                    break
            await home.send("ask", "m3")
        await aclose(home.app)
        here = asyncio.current_task()
        return [task.get_name() for task in asyncio.all_tasks() if task is not here]

    for transport in ("memory", "http"):
        left = asyncio.run(live(transport))
        ours = [name for name in left if name.split(":")[0] in ("producer", "consumer", "idle-release")]
        assert ours == []
    assert [str(one.message) for one in recwarn if "never awaited" in str(one.message)] == []


@on_a_loop
async def test_a_413_over_a_real_socket_ends_the_connection_cleanly() -> None:
    app = build_app(card(), Player(), tokens=TOKENS, max_body=1000)
    server, port, serving = await serve(app)
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(
            b"POST / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer alice-token\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n"
        )
        for _ in range(3):
            writer.write(b"190\r\n" + b"x" * 400 + b"\r\n")
        answer = await reader.read()  # to the end of the connection: nobody asked us to finish
        assert answer.startswith(b"HTTP/1.1 413")
        assert b"larger than 1000 bytes" in answer
        writer.close()
    finally:
        await stop_serving(server, serving)


def test_the_etag_is_a_digest_of_the_bytes() -> None:
    app = build_app(card(), Player())
    body = app.state.card
    assert json.loads(body) == card()

    async def ask() -> httpx.Response:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=ORIGIN) as client:
            return await client.get("/.well-known/agent-card.json")

    assert asyncio.run(ask()).headers["etag"] == f'"{hashlib.sha256(body).hexdigest()}"'
