"""One message, one task, one execution: repeated, at once, after a restart; and what a killed process
leaves."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from a2a.helpers import new_task_from_user_message, new_text_part
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.tasks import TaskUpdater
from app_peers import ORIGIN, TOKENS, V1, Player, card, house, message, on_a_loop, state_of

from ai_evolution.a2a import SqliteTaskStore, aclose, build_app
from ai_evolution.a2a.executor import REASONS
from ai_evolution.network import ASGIWire, Network


@pytest.mark.parametrize("scene", ["complete", "raises", "ask", "reply"])
@on_a_loop
async def test_the_same_message_again_gets_what_the_first_one_got(scene: str) -> None:  # B3
    async with house() as home:
        first = await home.send(scene, "m1")
        assert await home.send(scene, "m1") == first
        rest = await home.alice.post(f"{ORIGIN}/rest/message:send", json=message(scene, "m1"))
        assert list(rest.json().values()) == [first]
        events = [event async for event in home.events("SendStreamingMessage", message(scene, "m1"))]
        assert [list(event.values()) for event in events] == [[first]]
        assert home.agent.played == [scene]
        other = await home.send(scene, "m1", client=home.bob)
        assert other != first
        assert home.agent.played == [scene, scene]


@pytest.mark.parametrize("scene", ["complete", "raises-first", "ask", "reply", "wait-first"])
@pytest.mark.parametrize("transport", ["memory", "http"])
@on_a_loop
async def test_the_same_message_many_times_at_once_is_one_execution(scene: str, transport: Any) -> None:
    async with house(transport=transport) as home:

        async def streamed() -> dict[str, Any]:
            events = [e async for e in home.events("SendStreamingMessage", message(scene, "m1"))]
            named = [event for event in events if "message" in event or state_of(event)]
            last = named[-1]
            return last.get("message") or {"state": state_of(last)}

        calls = [asyncio.create_task(home.send(scene, "m1")) for _ in range(3)]
        calls += [asyncio.create_task(streamed()) for _ in range(3)]
        if scene == "wait-first":
            await home.agent.waiting.wait()
            assert not any(call.done() for call in calls)
            home.agent.gate.set()
        results = await asyncio.gather(*calls)
        assert results[0] == results[1] == results[2]
        expected = results[0] if scene == "reply" else {"state": state_of(results[0])}
        assert results[3:] == [expected] * 3
        assert home.agent.played == [scene]


@on_a_loop
async def test_a_repeated_answer_is_executed_once_and_its_first_question_is_not_asked_again() -> None:
    async with house() as home:
        asked = await home.send("ask", "m1")
        answers = await asyncio.gather(*(home.send("complete", "m2", taskId=asked["id"]) for _ in range(3)))
        assert answers[0] == answers[1] == answers[2]
        assert state_of(answers[0]) == "TASK_STATE_COMPLETED"
        assert await home.send("ask", "m1") == answers[0]
        assert home.agent.played == ["ask", "complete"]


@on_a_loop
async def test_a_repeated_message_waits_for_its_task_to_rest_unless_told_not_to() -> None:
    async with house() as home:
        task_id = await home.start("wait", "m1")
        now = await home.send("wait", "m1", configuration={"returnImmediately": True})
        assert (now["id"], state_of(now)) == (task_id, "TASK_STATE_WORKING")
        late = asyncio.create_task(home.send("wait", "m1"))
        stream = home.events("SendStreamingMessage", message("wait", "m1"))
        snapshot = await anext(stream)
        assert snapshot["task"]["id"] == task_id
        assert not late.done()
        home.agent.gate.set()
        assert state_of(await late) == "TASK_STATE_COMPLETED"
        assert [state_of(event) async for event in stream][-1] == "TASK_STATE_COMPLETED"
        assert home.agent.played == ["wait"]


@on_a_loop
async def test_the_same_id_with_other_content_is_refused_and_nothing_runs() -> None:
    async with house() as home:
        asked = await home.send("ask", "m1")
        for params in (
            message("complete", "m1"),
            message("ask", "m1", taskId=asked["id"]),
            message("ask", "m1", metadata={"a": 1}),
        ):
            for method in ("SendMessage", "SendStreamingMessage"):
                code, says = await home.refusal(method, params)
                assert code == -32602
                assert "messageId 'm1'" in says
        assert home.agent.played == ["ask"]


@on_a_loop
async def test_a_message_that_was_refused_can_be_sent_again() -> None:
    async with house() as home:
        bad = message("complete", "m1", configuration={"historyLength": -1})
        assert (await home.refusal("SendMessage", bad))[0] == -32602
        assert (await home.refusal("SendMessage", message("complete", "m1"), A2A_Version="0.3"))[0] == -32009
        assert state_of(await home.send("complete", "m1")) == "TASK_STATE_COMPLETED"
        assert (await home.refusal("SendMessage", message("complete", "m2", taskId="none")))[0] == -32001
        assert state_of(await home.send("complete", "m2")) == "TASK_STATE_COMPLETED"


async def restarted(path: Path, agent: AgentExecutor, scene: str, **more: Any) -> Any:
    """Serve once more on the same file, send one message, and return what became of it."""
    store = SqliteTaskStore(path)
    async with house(agent, store=store, **more.pop("options", {})) as home:
        got = await home.send(scene, **more)
    store.close()
    return got


@pytest.mark.parametrize("scene", ["complete", "ask", "raises", "reply"])
@on_a_loop
async def test_a_message_is_recognised_after_a_restart(scene: str, tmp_path: Path) -> None:
    first, second = Player(), Player()
    before = await restarted(tmp_path / "t.db", first, scene)
    assert await restarted(tmp_path / "t.db", second, scene) == before
    assert (first.played, second.played) == ([scene], [])


async def killed(path: Path, agent: Player, scene: str, **more: Any) -> str:
    """Start a scene that waits and take its process away: nothing is said, nothing is tidied."""
    store = SqliteTaskStore(path)
    app = build_app(card(), agent, store=store, tokens=TOKENS)
    async with Network() as net:
        await net.host(ORIGIN, app)
        client = net.client("alice", headers={"Authorization": "Bearer alice-token", **V1})
        params = message(scene, "m1", configuration={"returnImmediately": True}, **more)
        call = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params}
        answer = (await client.post(ORIGIN + "/", json=call)).json()
        await agent.waiting.wait()
    await aclose(app)
    store.close()
    return answer["result"]["task"]["id"]


@on_a_loop
async def test_an_orphan_ends_failed_with_a_reason_and_its_message_is_still_known(
    tmp_path: Path,
) -> None:  # B11
    task_id = await killed(tmp_path / "t.db", Player(), "wait")
    agent = Player()
    task = await restarted(tmp_path / "t.db", agent, "wait", message_id="m1")
    assert (task["id"], state_of(task)) == (task_id, "TASK_STATE_FAILED")
    assert task["status"]["message"]["parts"][0]["text"] == REASONS["orphan"]
    assert agent.played == []


@on_a_loop
async def test_an_orphan_is_taken_up_again_when_asked_for_and_its_artifacts_are_not_mixed(
    tmp_path: Path,
) -> None:
    task_id = await killed(tmp_path / "t.db", Player(), "wait")
    agent = Player()
    agent.gate.set()
    task = await restarted(tmp_path / "t.db", agent, "wait", message_id="m1", options={"orphans": "resume"})
    assert (task["id"], state_of(task)) == (task_id, "TASK_STATE_COMPLETED")
    assert len(task["artifacts"]) == 1
    assert [one["messageId"] for one in task["history"]] == ["m1"]
    assert agent.played == ["wait"]
    assert agent.contexts[0].call_context.user.user_name == "alice"


class Announcing(AgentExecutor):
    """Announces its task and SUBMITTED each time, as the SDK's samples do."""

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        assert context.message is not None
        await event_queue.enqueue_event(new_task_from_user_message(context.message))
        updater = TaskUpdater(event_queue, context.task_id or "", context.context_id or "")
        await updater.submit()
        await updater.start_work()
        await updater.add_artifact([new_text_part("done")])
        await updater.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        return


@on_a_loop
async def test_an_agent_that_announces_its_task_anew_can_take_it_up_again(tmp_path: Path) -> None:
    await killed(tmp_path / "t.db", Player(), "wait")
    task = await restarted(
        tmp_path / "t.db", Announcing(), "wait", message_id="m1", options={"orphans": "resume"}
    )
    assert state_of(task) == "TASK_STATE_COMPLETED"
    assert len(task["artifacts"]) == 1


@on_a_loop
async def test_a_task_that_waits_for_input_survives_a_restart_and_takes_its_answer(tmp_path: Path) -> None:
    asked = await restarted(tmp_path / "t.db", Player(), "ask", message_id="m1")
    store = SqliteTaskStore(tmp_path / "t.db")
    async with house(store=store) as home:
        stream = home.events("SubscribeToTask", {"id": asked["id"]})
        assert (await anext(stream))["task"] == asked  # a2a-js#540: a snapshot, and then what is to come
        done = await home.send("complete", "m2", taskId=asked["id"])
        assert state_of(done) == "TASK_STATE_COMPLETED"
        assert [state_of(event) async for event in stream][-1] == "TASK_STATE_COMPLETED"
    store.close()


@on_a_loop
async def test_a_parked_task_can_be_cancelled_after_a_restart_and_a_subscriber_sees_it(
    tmp_path: Path,
) -> None:
    asked = await restarted(tmp_path / "t.db", Player(), "ask", message_id="m1")
    store = SqliteTaskStore(tmp_path / "t.db")
    async with house(store=store) as home:
        stream = home.events("SubscribeToTask", {"id": asked["id"]})
        await anext(stream)
        done = (await home.rpc("CancelTask", {"id": asked["id"]}))["result"]
        assert state_of(done) == "TASK_STATE_CANCELED"
        assert done["status"]["timestamp"] >= asked["status"]["timestamp"]
        assert done["history"][-1]["parts"] == [{"text": "how far?"}]
        assert [state_of(event) async for event in stream] == ["TASK_STATE_CANCELED"]
    store.close()


@on_a_loop
async def test_an_answer_that_died_before_it_was_taken_can_be_sent_again(tmp_path: Path) -> None:
    asked = await restarted(tmp_path / "t.db", Player(), "ask", message_id="m0")
    store = SqliteTaskStore(tmp_path / "t.db")
    lost = Player()
    async with house(lost, store=store) as home:
        sending = asyncio.create_task(home.send("wait-first", "m1", taskId=asked["id"]))
        await lost.waiting.wait()
        await aclose(home.app)
        store.close()
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)
    agent = Player()
    agent.gate.set()
    task = await restarted(tmp_path / "t.db", agent, "wait-first", message_id="m1", taskId=asked["id"])
    assert state_of(task) == "TASK_STATE_COMPLETED"
    assert agent.played == ["wait-first"]


@on_a_loop
async def test_orphans_are_swept_before_the_first_request_when_no_lifespan_runs(tmp_path: Path) -> None:
    task_id = await killed(tmp_path / "t.db", Player(), "wait")
    import httpx

    store = SqliteTaskStore(tmp_path / "t.db")
    app = build_app(card(), Player(), store=store, tokens=TOKENS)
    headers = {"Authorization": "Bearer alice-token", **V1}
    async with httpx.AsyncClient(transport=ASGIWire(app), base_url=ORIGIN, headers=headers) as client:
        answers = await asyncio.gather(*(client.get(f"/rest/tasks/{task_id}") for _ in range(3)))
    assert [state_of(answer.json()) for answer in answers] == ["TASK_STATE_FAILED"] * 3
    await aclose(app)
    store.close()


@on_a_loop
async def test_a_second_app_on_the_same_store_leaves_the_live_tasks_of_the_first_alone() -> None:
    store = SqliteTaskStore()
    async with house(store=store) as first:
        task_id = await first.start("wait")
        async with house(store=store) as second:
            assert state_of((await second.rpc("GetTask", {"id": task_id}))["result"]) == "TASK_STATE_WORKING"
        first.agent.gate.set()
        assert state_of(await first.send("wait")) == "TASK_STATE_COMPLETED"
    store.close()
