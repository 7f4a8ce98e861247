"""The 0.3 dialect: served when asked for, labelled, and told so when it is not served."""

from __future__ import annotations

from typing import Any

import pytest
from app_peers import ORIGIN, SECRET, card, house, message, on_a_loop, state_of

from ai_evolution.a2a import with_v0_3
from ai_evolution.a2a.dialects import LEGACY_METHODS
from ai_evolution.errors import UsageError


def old(scene: str, message_id: str = "m1", **more: Any) -> dict[str, Any]:
    parts = [{"kind": "text", "text": scene}]
    return {"message": {"kind": "message", "messageId": message_id, "role": "user", "parts": parts, **more}}


def bilingual() -> dict[str, Any]:
    return with_v0_3(card(), ORIGIN + "/")


@pytest.mark.parametrize("version", ["", "0.3"])
@on_a_loop
async def test_message_send_of_0_3_is_served_and_labelled(version: str) -> None:
    async with house(served=bilingual(), v0_3=True) as home:
        answer = await home.post("message/send", old("complete"), A2A_Version=version)
        task = answer.json()["result"]
        assert answer.headers["a2a-version"] == "0.3"
        assert (task["kind"], task["status"]["state"]) == ("task", "completed")
        assert task["artifacts"][0]["parts"] == [{"kind": "text", "text": "done"}]
        got = await home.post("tasks/get", {"id": task["id"]}, A2A_Version=version)
        assert got.json()["result"]["status"]["state"] == "completed"
        assert got.headers["a2a-version"] == "0.3"


@on_a_loop
async def test_both_dialects_speak_of_the_same_tasks() -> None:
    async with house(served=bilingual(), v0_3=True) as home:
        task = await home.send("ask", "m1")
        new = await home.post("GetTask", {"id": task["id"]})
        assert new.headers["a2a-version"] == "1.0"
        answer = await home.rpc("tasks/cancel", {"id": task["id"]}, A2A_Version="0.3")
        assert answer["result"]["status"]["state"] == "canceled"
        theirs = await home.rpc("tasks/get", {"id": task["id"]}, client=home.bob, A2A_Version="0.3")
        assert theirs["error"]["code"] == -32001


@on_a_loop
async def test_a_repeated_message_of_0_3_runs_once_and_a_failure_leaks_nothing() -> None:
    async with house(served=bilingual(), v0_3=True) as home:
        answers = [await home.rpc("message/send", old("raises"), A2A_Version="0.3") for _ in range(2)]
        assert answers[0]["result"] == answers[1]["result"]
        assert answers[0]["result"]["status"]["state"] == "failed"
        assert home.agent.played == ["raises"]
        assert SECRET.encode() not in home.net.journal.raw()


@on_a_loop
async def test_a_malformed_0_3_message_is_refused_without_the_library_text() -> None:
    async with house(served=bilingual(), v0_3=True) as home:
        for params in ({}, {"message": 7}, {"message": {"parts": "x"}}):
            answer = await home.post("message/send", params, A2A_Version="0.3")
            assert answer.json()["error"]["code"] in (-32600, -32602)
            assert "pydantic" not in answer.text


@on_a_loop
async def test_a_stream_of_0_3_and_its_rest_are_labelled_too() -> None:
    async with house(served=bilingual(), v0_3=True) as home:
        answer = await home.post("message/stream", old("complete"), A2A_Version="0.3")
        assert answer.headers["a2a-version"] == "0.3"
        assert '"final":true' in answer.text
        rest = await home.alice.get(f"{ORIGIN}/rest/v1/tasks/none", headers={"A2A-Version": "0.3"})
        assert (rest.status_code, rest.headers["a2a-version"]) == (404, "0.3")
        new = await home.alice.get(f"{ORIGIN}/rest/tasks")
        assert new.headers["a2a-version"] == "1.0"


@pytest.mark.parametrize("method", sorted(LEGACY_METHODS))
@on_a_loop
async def test_without_the_bridge_a_0_3_method_is_told_its_name_in_1_0(method: str) -> None:  # B18
    async with house() as home:
        code, says = await home.refusal(method, old("complete"), A2A_Version="0.3")
        assert code == -32601
        assert "0.3" in says
        assert LEGACY_METHODS[method] in says


@on_a_loop
async def test_a_0_3_message_in_a_1_0_method_is_told_so() -> None:  # B18
    async with house(served=bilingual(), v0_3=True) as home:
        for params in (
            old("complete"),
            message("", "m1", parts=[{"kind": "text", "text": "complete"}]),
            message("complete", "m1", role="user"),
        ):
            code, says = await home.refusal("SendMessage", params)
            assert code == -32602
            assert "0.3" in says
        assert home.agent.played == []


@on_a_loop
async def test_a_1_0_method_without_a_version_is_0_3_and_so_not_supported() -> None:  # B8
    async with house(served=bilingual(), v0_3=True) as home:
        code, says = await home.refusal("SendMessage", message("complete", "m1"), A2A_Version="")
        assert (code, "1.0" in says) == (-32009, True)
        assert state_of(await home.send("complete", "m1")) == "TASK_STATE_COMPLETED"


def test_the_union_card_has_the_fields_of_both_and_loses_none() -> None:
    given = card()
    union = with_v0_3(given, ORIGIN + "/")
    assert union["url"] == ORIGIN + "/"
    assert (union["protocolVersion"], union["preferredTransport"]) == ("0.3", "JSONRPC")
    assert union["supportedInterfaces"][:2] == given["supportedInterfaces"]
    assert union["supportedInterfaces"][2]["protocolVersion"] == "0.3"
    assert union["unknownToTheSdk"] == {"kept": True}
    assert union["securitySchemes"]["bearer"]["type"] == "http"
    assert union["securitySchemes"]["bearer"]["httpAuthSecurityScheme"] == {"scheme": "Bearer"}
    assert given == card()
    assert with_v0_3(union, ORIGIN + "/") == union
    with pytest.raises(UsageError, match="sign the result"):
        with_v0_3({**given, "signatures": [{"protected": "a", "signature": "b"}]}, ORIGIN)
