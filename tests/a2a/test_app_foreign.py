"""Whatever a stranger sends: one JSON answer, no text of an exception, and the agent still serves."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
from app_peers import ORIGIN, TOKENS, V1, Player, card, message
from hypothesis import given, settings
from hypothesis import strategies as st

from ai_evolution.a2a import aclose, build_app, with_v0_3
from ai_evolution.a2a.discretion import UNREADABLE, discreet, spoken
from ai_evolution.network import ASGIWire

METHODS = [
    "SendMessage",
    "GetTask",
    "ListTasks",
    "CancelTask",
    "CreateTaskPushNotificationConfig",
    "GetExtendedAgentCard",
    "message/send",
    "tasks/get",
    "tasks/cancel",
    "tasks/pushNotificationConfig/set",
]
FIELDS = [
    "message",
    "messageId",
    "role",
    "parts",
    "text",
    "data",
    "id",
    "taskId",
    "contextId",
    "metadata",
    "kind",
]
FIELDS += [
    "configuration",
    "historyLength",
    "pageSize",
    "pageToken",
    "status",
    "url",
    "raw",
    "tenant",
    "params",
]
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=12),
    st.sampled_from(["ROLE_USER", "user", "text", "TASK_STATE_WORKING", "complete", "\ud800", ""]),
)
JSON = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.one_of(st.sampled_from(FIELDS), st.text(max_size=6)), inner, max_size=5),
    ),
    max_leaves=14,
)
INSIDE = (
    "Traceback",
    "object has no attribute",
    "object is not",
    'File "',
    "pydantic",
    "sqlite",
    "argument must be",
)


def answered(requests: list[httpx.Request]) -> list[httpx.Response]:
    """Send each request and then one good one, on a fresh agent that speaks both dialects."""

    async def run() -> list[httpx.Response]:
        app = build_app(with_v0_3(card(), ORIGIN + "/"), Player(), tokens=TOKENS, v0_3=True)
        headers = {"Authorization": "Bearer alice-token", **V1}
        async with httpx.AsyncClient(transport=ASGIWire(app), base_url=ORIGIN, headers=headers) as client:
            answers = []
            for request in requests:
                request.headers.update(headers)
                answers.append(await client.send(request))
            good = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": message("complete", "good")}
            last = await client.post("/", json=good)
            assert last.json()["result"]["task"]["status"]["state"] == "TASK_STATE_COMPLETED"
        await aclose(app)
        return answers

    async def bounded() -> list[httpx.Response]:
        async with asyncio.timeout(30):
            return await run()

    return asyncio.run(bounded())


def post(path: str, body: Any) -> httpx.Request:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return httpx.Request("POST", ORIGIN + path, content=content)


def check_rpc(answer: httpx.Response) -> None:
    assert answer.status_code == 200, answer.text
    body = answer.json()
    assert body["jsonrpc"] == "2.0"
    assert ("result" in body) != ("error" in body)
    assert not any(word in answer.text for word in INSIDE), answer.text


@settings(max_examples=30)
@given(st.binary(max_size=200))
def test_any_bytes_get_one_json_answer(body: bytes) -> None:
    rpc, rest = answered([post("/", body), post("/rest/message:send", body)])
    check_rpc(rpc)
    assert rest.status_code == 400
    assert "error" in rest.json()


@settings(max_examples=80)
@given(JSON, st.sampled_from(METHODS), JSON)
def test_any_json_gets_one_json_rpc_answer(body: Any, method: str, params: Any) -> None:
    call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    odd = {"jsonrpc": "2.0", "id": body, "method": method, "params": {"message": params}}
    for answer in answered([post("/", body), post("/", call), post("/", odd)]):
        check_rpc(answer)


@settings(max_examples=40)
@given(JSON, st.dictionaries(st.sampled_from(FIELDS), st.text(max_size=8), max_size=4))
def test_any_json_and_query_get_one_answer_from_the_rest_binding(body: Any, query: dict[str, str]) -> None:
    listing = httpx.Request(
        "GET", f"{ORIGIN}/rest/tasks", params={k: v.encode() for k, v in _sendable(query)}
    )
    sent = [post("/rest/message:send", body), post("/rest/message:send", {"message": body}), listing]
    for answer in answered(sent):
        assert answer.status_code in (200, 400, 404), answer.text
        assert isinstance(answer.json(), dict)
        assert not any(word in answer.text for word in INSIDE), answer.text


def _sendable(query: dict[str, str]) -> list[tuple[str, str]]:
    return [(key, value) for key, value in query.items() if value.isprintable()]


def test_a_place_in_the_request_is_said_and_the_interpreter_is_not() -> None:
    place = "Failed to parse parts field: repeated field parts must be in [] which is 5."
    assert spoken(place) == f"{UNREADABLE}: see parts"
    for inside in (
        "TypeError: 'NoneType' object is not iterable",
        'File "a.py"',
        "'int' object has no attribute 'x'",
    ):
        assert spoken(inside) == UNREADABLE
    written = {"error": {"code": -32602, "message": "messageId 'objectError' was used before"}}
    assert discreet(written) == written
    detail = {"@type": "t", "metadata": {"parseError": "TypeError: x"}}
    answer = {"error": {"code": -32603, "message": "planted", "data": "planted"}}
    assert discreet(answer) == {"error": {"code": -32603, "message": "Internal error"}}
    told = discreet({"error": {"code": -32602, "message": "Invalid params", "data": [detail]}})
    assert told["error"]["data"][0]["metadata"] == {"parseError": UNREADABLE}
    assert discreet({"result": {"error": "planted"}}) == {"result": {"error": "planted"}}
