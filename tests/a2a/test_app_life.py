"""What becomes of a task, whatever its agent does: table B of the facts, and the reports of section 6."""

from __future__ import annotations

import asyncio
import itertools
import logging
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from app_peers import SECRET, House, Player, house, message, on_a_loop, state_of

from ai_evolution.a2a.executor import REASONS

HANDLER_LOG = "ai_evolution.a2a"


async def stored(home: House, task_id: str) -> dict[str, Any]:
    return (await home.rpc("GetTask", {"id": task_id}))["result"]


def reason(task: dict[str, Any]) -> str:
    return task["status"]["message"]["parts"][0]["text"]


@pytest.mark.parametrize(
    ("scene", "because"),
    [
        ("raises", "error"),  # B2
        ("raises-first", "error"),
        ("cancels-itself", "error"),
        ("silent", "unsettled"),  # B9
        ("stops", "unsettled"),
        ("back", "illegal"),
        ("back-hidden", "illegal"),
        ("unknown-state", "illegal"),
        ("other-task", "illegal"),
        ("other-context", "illegal"),
        ("append-nothing", "illegal"),
        ("second-task", "illegal"),
        ("message-about-task", "illegal"),
    ],
)
@on_a_loop
async def test_an_agent_that_breaks_its_word_ends_failed_in_neutral_words(scene: str, because: str) -> None:
    async with house() as home:
        task = await home.send(scene)
        assert state_of(task) == "TASK_STATE_FAILED"
        assert reason(task) == REASONS[because]
        assert await stored(home, task["id"]) == task
        states = [
            state_of(event) async for event in home.events("SendStreamingMessage", message(scene, "m2"))
        ]
        assert states[0] in ("TASK_STATE_SUBMITTED", "TASK_STATE_WORKING")
        assert states[-1] == "TASK_STATE_FAILED"
        async with asyncio.timeout(10):
            rest = await home.alice.post(
                "https://checks.example/rest/message:send", json=message(scene, "m3")
            )
        assert state_of(rest.json()["task"]) == "TASK_STATE_FAILED"
        seen = home.net.journal.raw()
        assert SECRET.encode() not in seen
        for inside in (b"Traceback", b"RuntimeError", b"ValueError", b"IllegalTransition", b".py"):
            assert inside not in seen


@on_a_loop
async def test_the_reason_of_a_failure_is_in_the_log_of_the_server(caplog: pytest.LogCaptureFixture) -> None:
    async with house() as home:
        with caplog.at_level(logging.ERROR, HANDLER_LOG):
            task = await home.send("raises")
        assert SECRET in caplog.text
        assert task["id"] in caplog.text


@pytest.mark.parametrize("scene", ["raises-late", "after-the-end"])
@on_a_loop
async def test_nothing_that_happens_after_the_end_changes_it(scene: str) -> None:  # B10
    async with house() as home:
        task = await home.send(scene)
        assert state_of(task) == "TASK_STATE_COMPLETED"
        assert await stored(home, task["id"]) == task
        events = [state_of(e) async for e in home.events("SendStreamingMessage", message(scene, "m2"))]
        assert [state for state in events if state][-1] == "TASK_STATE_COMPLETED"
        assert SECRET.encode() not in home.net.journal.raw()


@on_a_loop
async def test_an_agent_that_forgets_its_task_gets_one_made_from_the_message() -> None:  # B1
    async with house() as home:
        task = await home.send("no-task", "m1")
        assert state_of(task) == "TASK_STATE_COMPLETED"
        assert [one["messageId"] for one in task["history"]] == ["m1"]
        first, *_ = [event async for event in home.events("SendStreamingMessage", message("no-task", "m2"))]
        assert state_of(first) == "TASK_STATE_SUBMITTED"
        assert "task" in first


@pytest.mark.parametrize("scene", ["reply", "reply-and-raise", "reply-and-go-on"])
@on_a_loop
async def test_a_message_is_the_whole_answer_whatever_follows_it(scene: str) -> None:
    async with house() as home:
        reply = await home.send(scene)
        assert reply["parts"] == [{"text": "hello"}]
        events = [event async for event in home.events("SendStreamingMessage", message(scene, "m2"))]
        assert [list(event) for event in events] == [["message"]]
        assert (await home.rpc("ListTasks", {}))["result"]["totalSize"] == 0
        assert SECRET.encode() not in home.net.journal.raw()


@on_a_loop
async def test_a_task_that_asks_goes_on_with_the_answer_and_keeps_its_history() -> None:
    async with house() as home:
        asked = await home.send("ask", "m1")
        assert state_of(asked) == "TASK_STATE_INPUT_REQUIRED"
        assert reason(asked) == "how far?"
        # the contextId is left out: section 3.4.3, it is that of the task
        done = await home.send("complete", "m2", taskId=asked["id"])
        assert (done["id"], done["contextId"]) == (asked["id"], asked["contextId"])
        assert state_of(done) == "TASK_STATE_COMPLETED"
        said = [part["text"] for one in done["history"] for part in one["parts"]]
        assert said == ["ask", "how far?", "complete"]
        for length, kept in ((0, 0), (1, 1), (2, 2)):
            short = (await home.rpc("GetTask", {"id": done["id"], "historyLength": length}))["result"]
            assert len(short.get("history", [])) == kept


@on_a_loop
async def test_an_agent_that_ignores_an_answer_leaves_the_question_open_and_the_answer_on_record() -> None:
    async with house() as home:
        asked = await home.send("ask", "m1")
        task = await home.send("silent", "m2", taskId=asked["id"])
        assert state_of(task) == "TASK_STATE_INPUT_REQUIRED"
        assert task["history"][-1]["messageId"] == "m2"


@pytest.mark.parametrize("scene", ["complete", "reject", "raises"])
@on_a_loop
async def test_a_terminal_task_takes_no_message_and_no_subscription(scene: str) -> None:  # B13
    async with house() as home:
        task = await home.send(scene)
        for method, params in (
            ("SendMessage", message("complete", "m2", taskId=task["id"])),
            ("SendStreamingMessage", message("complete", "m3", taskId=task["id"])),
            ("SubscribeToTask", {"id": task["id"]}),
        ):
            code, says = await home.refusal(method, params)
            assert code == -32004
            assert "terminal" in says
        assert (await home.refusal("CancelTask", {"id": task["id"]}))[0] == -32002
        follow_up = await home.send("complete", "m4", contextId=task["contextId"])
        assert follow_up["id"] != task["id"]
        assert follow_up["contextId"] == task["contextId"]


@on_a_loop
async def test_a_context_that_is_not_the_tasks_own_is_refused() -> None:  # B17
    async with house() as home:
        asked = await home.send("ask", "m1")
        params = message("complete", "m2", taskId=asked["id"], contextId="another")
        assert (await home.refusal("SendMessage", params))[0] == -32602
        again = await home.send("complete", "m2", taskId=asked["id"], contextId=asked["contextId"])
        assert state_of(again) == "TASK_STATE_COMPLETED"


@on_a_loop
async def test_a_task_at_work_takes_no_message_and_says_what_to_do() -> None:
    async with house() as home:
        task_id = await home.start("wait")
        for method in ("SendMessage", "SendStreamingMessage"):
            code, says = await home.refusal(method, message("complete", method, taskId=task_id))
            assert code == -32004
            assert "asks for input" in says
        home.agent.gate.set()
        assert home.agent.played == ["wait"]


@on_a_loop
async def test_of_two_answers_to_one_question_one_is_executed_and_the_other_refused() -> None:
    async with house() as home:
        asked = await home.send("ask", "m1")
        answers = await asyncio.gather(
            *(home.rpc("SendMessage", message("complete", m, taskId=asked["id"])) for m in ("m2", "m3"))
        )
        refused = [answer["error"]["code"] for answer in answers if "error" in answer]
        done = [answer["result"]["task"] for answer in answers if "result" in answer]
        assert (refused, [state_of(task) for task in done]) == ([-32004], ["TASK_STATE_COMPLETED"])
        assert home.agent.played == ["ask", "complete"]


@on_a_loop
async def test_an_answer_to_a_question_is_never_taken_for_the_answer_to_the_next_one() -> None:
    async with house() as home:
        asked = await home.send("ask", "m1")
        answers = await asyncio.gather(
            *(home.rpc("SendMessage", message("ask", m, taskId=asked["id"])) for m in ("m2", "m3"))
        )
        assert sorted("error" in answer for answer in answers) == [False, True]
        assert home.agent.played == ["ask", "ask"]


@pytest.mark.parametrize("transport", ["memory", "http"])
@pytest.mark.parametrize(
    "cleanup", ["clean", "cancels", "raises", "completes", "cancels itself", "lets it finish"]
)
@on_a_loop
async def test_cancel_ends_canceled_and_a_live_subscriber_sees_it(cleanup: str, transport: Any) -> None:
    agent = Player()  # B15, a2a-python#1170, #1175, adk-python#4127
    agent.cancel_scene = cleanup
    async with house(agent, transport=transport) as home:
        task_id = await home.start("wait")
        await home.until("GetTask", {"id": task_id}, lambda now: "artifacts" in now)
        subscribed = home.events("SubscribeToTask", {"id": task_id})
        snapshot = await anext(subscribed)
        assert snapshot["task"]["artifacts"][0]["parts"] == [{"text": "part one"}]
        cancelled = (await home.rpc("CancelTask", {"id": task_id}))["result"]
        assert state_of(cancelled) == "TASK_STATE_CANCELED"
        states = [state_of(event) async for event in subscribed]
        assert states[-1] == "TASK_STATE_CANCELED"
        assert await stored(home, task_id) == cancelled
        assert agent.cancelled == [task_id]
        assert SECRET.encode() not in home.net.journal.raw()


@on_a_loop
async def test_nothing_is_said_after_canceled_however_stubborn_the_agent() -> None:  # a2a-js#132
    async with house() as home:
        task_id = await home.start("stubborn")
        subscribed = home.events("SubscribeToTask", {"id": task_id})
        await anext(subscribed)
        await home.rpc("CancelTask", {"id": task_id})
        assert [state_of(event) async for event in subscribed][-1] == "TASK_STATE_CANCELED"
        assert state_of(await stored(home, task_id)) == "TASK_STATE_CANCELED"


@on_a_loop
async def test_two_cancels_at_once_both_see_canceled() -> None:  # B14
    async with house() as home:
        task_id = await home.start("wait")
        answers = await asyncio.gather(*(home.rpc("CancelTask", {"id": task_id}) for _ in range(2)))
        assert [state_of(answer["result"]) for answer in answers] == ["TASK_STATE_CANCELED"] * 2
        assert (await home.refusal("CancelTask", {"id": task_id}))[0] == -32002


@on_a_loop
async def test_a_blocking_caller_gets_the_canceled_task() -> None:
    async with house() as home:
        sending = asyncio.create_task(home.send("wait"))
        await home.agent.waiting.wait()
        listed = await home.until("ListTasks", {}, lambda now: now["totalSize"] == 1)
        (task,) = listed["tasks"]
        await home.rpc("CancelTask", {"id": task["id"]})
        assert state_of(await sending) == "TASK_STATE_CANCELED"


@on_a_loop
async def test_a_task_that_asks_for_input_can_be_cancelled_and_subscribed_to() -> None:  # a2a-js#540
    async with house() as home:
        asked = await home.send("ask")
        subscribed = home.events("SubscribeToTask", {"id": asked["id"]})
        snapshot = await anext(subscribed)
        assert snapshot["task"] == asked
        await home.rpc("CancelTask", {"id": asked["id"]})
        assert [state_of(event) async for event in subscribed] == ["TASK_STATE_CANCELED"]


@on_a_loop
async def test_the_agent_goes_on_when_its_listener_leaves() -> None:  # B12
    async with house() as home:
        stream = home.events("SendStreamingMessage", message("wait", "m1"))
        task_id = (await anext(stream))["task"]["id"]
        await stream.aclose()
        await home.agent.waiting.wait()
        home.agent.gate.set()
        last = [event async for event in home.events("SendStreamingMessage", message("wait", "m1"))][-1]
        assert state_of(last) == "TASK_STATE_COMPLETED"
        assert state_of(await stored(home, task_id)) == "TASK_STATE_COMPLETED"


@on_a_loop
async def test_a_push_configuration_is_refused_by_an_agent_that_does_not_push() -> None:
    async with house() as home:
        hook = {"taskPushNotificationConfig": {"url": "https://hooks.example/x"}}
        assert (await home.refusal("SendMessage", message("complete", "m1", configuration=hook)))[0] == -32003
        assert home.agent.played == []


@on_a_loop
async def test_the_same_clock_and_ids_give_the_same_bytes() -> None:
    async def run() -> list[Any]:
        ids, ticks = itertools.count(1), itertools.count()
        start = datetime(2026, 11, 1, tzinfo=UTC)
        async with house(
            new_id=lambda: f"id-{next(ids)}", clock=lambda: start + timedelta(seconds=next(ticks))
        ) as home:
            await home.send("complete", "m1")
            await home.send("raises", "m2")
            return [frame.answer for frame in home.net.journal.frames]

    first, second = await run(), await run()
    assert first == second
    assert b'"id":"id-1"' in first[0]
    assert b'"2026-11-01T00:00:0' in first[0]
