"""The client among honest peers: the bare SDK server and our own, in both bindings, streamed and polled."""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import Any

import pytest
from client_peers import (
    DONE,
    HAPPY,
    ORIGIN,
    REPORT,
    Break,
    C,
    Checker,
    Hang,
    Peer,
    Refuse,
    T,
    artifact,
    card,
    chunk,
    meet,
    on_a_loop,
    peer,
    sdk_server,
    snapshot,
    status,
)

from ai_evolution.a2a.app import build_app
from ai_evolution.a2a.cards import Needs, declare_output_schema
from ai_evolution.a2a.client import Delivery
from ai_evolution.a2a.connection import Limits
from ai_evolution.errors import AgentUnfit, CallRefused, TaskNotCompleted, TaskUnsettled, UsageError
from ai_evolution.network import Network

JSONRPC, REST = ("JSONRPC", "HTTP+JSON")
SCHEMA = {"type": "object", "required": ["result"], "properties": {"sources": {"type": "integer"}}}


def needs(*bindings: str) -> Needs:
    return Needs("check", bindings=bindings or (JSONRPC, REST), schemes=())


async def consent(question: str, task: dict[str, Any]) -> list[dict[str, Any]]:
    assert "consent" in question
    assert task["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
    return [{"text": "go yes, it does"}]


def words(delivery: Delivery) -> list[str]:
    return [state.removeprefix("TASK_STATE_").lower() for state in delivery.states]


@pytest.mark.parametrize("binding", [JSONRPC, REST])
@on_a_loop
async def test_a_job_comes_back_as_its_artifact(binding: str) -> None:
    async with meet(sdk_server(Checker()), needs=needs(binding)) as agent:
        assert agent.binding == binding
        delivery = await agent.delegate([{"text": "go"}], schema=SCHEMA)
    assert delivery.artifact == REPORT
    assert type(delivery.artifact["sources"]) is int
    assert delivery.artifact_name == "report"
    assert words(delivery) == ["submitted", "working", "completed"]
    assert (delivery.questions, delivery.reattached) == ((), 0)
    assert delivery.artifacts[0]["parts"] == [{"data": REPORT}]


@pytest.mark.parametrize("binding", [JSONRPC, REST])
@on_a_loop
async def test_a_question_is_answered_in_the_same_task_and_context(binding: str) -> None:
    executor = Checker()
    async with meet(sdk_server(executor), needs=needs(binding)) as agent:
        delivery = await agent.delegate([{"text": "ask"}], answer=consent)
    assert words(delivery) == ["submitted", "working", "input_required", "working", "completed"]
    assert delivery.questions == ("does the consent cover international checks?",)
    assert executor.executions == [delivery.task_id] * 2


@pytest.mark.parametrize("binding", [JSONRPC, REST])
@on_a_loop
async def test_an_agent_without_streaming_is_polled(binding: str) -> None:
    async with meet(sdk_server(Checker(), card(streaming=False)), needs=needs(binding)) as agent:
        delivery = await agent.delegate([{"text": "ask"}], answer=consent)
    assert delivery.artifact == REPORT
    assert words(delivery)[-1] == "completed"
    assert (len(delivery.questions), delivery.reattached) == (1, 0)


@on_a_loop
async def test_our_own_server_serves_our_client_with_a_token_and_both_bindings() -> None:
    for binding in (JSONRPC, REST):
        server = build_app(card(), Checker(), tokens={"s3cret": "hiring"})
        async with meet(server, needs=needs(binding), token="s3cret") as agent:
            delivery = await agent.delegate([{"text": "ask"}], answer=consent, schema=SCHEMA)
        assert delivery.artifact == REPORT
        assert words(delivery) == ["submitted", "working", "input_required", "working", "completed"]


@on_a_loop
async def test_a_wrong_token_is_401_and_a_strange_task_is_not_found() -> None:
    server = build_app(card(), Checker(), tokens={"s3cret": "hiring", "other": "rival"})
    async with Network() as net, meet(server, network=net, token="wrong") as agent:
        with pytest.raises(CallRefused, match="Bearer") as caught:
            await agent.delegate([{"text": "go"}])
        assert caught.value.code == 401
    server = build_app(card(), Checker(), tokens={"s3cret": "hiring", "other": "rival"})
    async with meet(server, token="s3cret") as ours:
        delivery = await ours.delegate([{"text": "go"}])
        assert (await ours.task(delivery.task_id))["artifacts"][0]["parts"][0]["data"]["sources"] == 3
        with pytest.raises(CallRefused) as caught:
            await ours.task("no-such-task")
        assert (caught.value.code, caught.value.reason) == (-32001, "TASK_NOT_FOUND")


@on_a_loop
async def test_a_lost_reply_is_repeated_under_one_message_id_and_our_server_works_once() -> None:
    executor = Checker()
    async with Network() as net:
        await net.host(ORIGIN, build_app(card(), executor))
        async with meet(None, network=net) as agent:
            net.drop_replies(ORIGIN)
            delivery = await agent.delegate([{"text": "go"}], resend=True)
    assert delivery.artifact == REPORT
    assert executor.executions == [delivery.task_id]


@on_a_loop
async def test_a_lost_reply_is_an_error_unless_resending_was_allowed() -> None:
    lost = peer([Break, HAPPY])
    async with meet(lost) as agent:
        with pytest.raises(CallRefused) as caught:
            await agent.delegate([{"text": "go"}])
        assert caught.value.reason == "CONNECTION_LOST"
        lost.answers["SendStreamingMessage"] = [Break, [Break], [], HAPPY]
        lost.calls.clear()
        assert (await agent.delegate([{"text": "go"}], resend=True)).artifact == REPORT
    ids = [params["message"]["messageId"] for method, params in lost.calls if "Send" in method]
    assert len(ids) == 4
    assert len(set(ids)) == 1


@on_a_loop
async def test_a_stream_cut_after_its_first_event_still_ends_with_the_whole_artifact() -> None:
    for server in (sdk_server(Checker()), build_app(card(), Checker())):
        async with Network() as net:
            await net.host(ORIGIN, server)
            async with meet(None, network=net) as agent:
                net.cut_streams(ORIGIN, after=1)
                delivery = await agent.delegate([{"text": "go"}], schema=SCHEMA)
        assert delivery.artifact == REPORT
        assert delivery.reattached == 1
        assert words(delivery)[0 :: len(delivery.states) - 1] == ["submitted", "completed"]


@on_a_loop
async def test_a_stream_that_ends_early_is_taken_up_by_subscribing() -> None:
    cut = peer(
        [[{"task": snapshot("WORKING")}, chunk({"data": REPORT})]],
        subscribe=[[{"task": snapshot("WORKING", "", artifact({"data": REPORT}))}, status("COMPLETED")]],
    )
    async with meet(cut) as agent:
        delivery = await agent.delegate([{"text": "go"}])
    assert (delivery.artifact, delivery.reattached) == (REPORT, 1)
    assert cut.methods() == ["SendStreamingMessage", "SubscribeToTask", "GetTask"]


@on_a_loop
async def test_where_subscribing_is_refused_the_task_is_looked_up() -> None:
    cut = peer([[{"task": snapshot("WORKING")}, Break]], get=[snapshot("WORKING"), DONE])
    async with meet(cut) as agent:
        delivery = await agent.delegate([{"text": "go"}])
    assert (delivery.artifact, delivery.reattached) == (REPORT, 2)


@on_a_loop
async def test_a_connection_that_keeps_failing_is_tried_again_until_it_holds() -> None:
    cut = peer(
        [[{"task": snapshot("WORKING")}, Break]],
        subscribe=[Break, [Break], []],
        get=[Break, Break, snapshot("WORKING"), Break, DONE],
    )
    async with meet(cut) as agent:
        assert (await agent.delegate([{"text": "go"}])).artifact == REPORT


@on_a_loop
async def test_a_stream_gone_silent_is_left_and_the_task_looked_up() -> None:
    mute = peer([[{"task": snapshot("WORKING")}, Hang]])
    async with meet(mute, limits=Limits(idle=1.0)) as agent:
        assert (await agent.delegate([{"text": "go"}])).artifact == REPORT
    assert mute.left == 1


@on_a_loop
async def test_an_answer_whose_reply_was_lost_is_not_asked_for_twice() -> None:
    asked = [{"task": snapshot("INPUT_REQUIRED", "consent?", message="q1")}]
    forgetful = peer(
        [asked, Break],
        subscribe=[Refuse(-32004)],
        get=[snapshot("INPUT_REQUIRED", "consent?", message="q1"), snapshot("WORKING"), DONE],
    )
    async with meet(forgetful) as agent:
        delivery = await agent.delegate([{"text": "go"}], answer=consent)
    assert delivery.questions == ("consent?",)
    assert forgetful.methods().count("SendStreamingMessage") == 2


@on_a_loop
async def test_an_old_question_repeated_by_a_snapshot_is_not_a_new_one_but_another_is() -> None:
    asker = peer(
        [
            [{"task": snapshot("INPUT_REQUIRED", "consent?", message="q1")}],
            [
                {"task": snapshot("INPUT_REQUIRED", "consent?", message="q1")},
                status("INPUT_REQUIRED", "consent in writing?", message="q2"),
                Hang,
            ],
            HAPPY[1:],
        ]
    )
    left_before_answering = []

    async def note(question: str, task: dict[str, Any]) -> list[dict[str, Any]]:
        left_before_answering.append(asker.left)
        return await consent(question, task)

    async with meet(asker) as agent:
        delivery = await agent.delegate([{"text": "go"}], answer=note)
    assert delivery.questions == ("consent?", "consent in writing?")
    assert left_before_answering == [0, 1]
    sent = [params["message"] for method, params in asker.calls if method == "SendStreamingMessage"]
    assert [(each.get("taskId"), each.get("contextId")) for each in sent] == [(None, None), (T, C), (T, C)]


@pytest.mark.parametrize("answered", [True, False])
@on_a_loop
async def test_a_question_without_an_answer_cancels_the_task(answered: bool) -> None:
    async def silence(question: str, task: dict[str, Any]) -> None:
        return None

    async with meet(sdk_server(Checker())) as agent:
        with pytest.raises(TaskNotCompleted) as caught:
            await agent.delegate([{"text": "ask"}], answer=silence if answered else None)
        assert caught.value.state == "TASK_STATE_CANCELED"
        assert (await agent.task(caught.value.task_id))["status"]["state"] == "TASK_STATE_CANCELED"


@pytest.mark.parametrize(
    ("word", "state", "said"),
    [("fail", "FAILED", "the registry is down"), ("reject", "REJECTED", "not my trade")],
)
@on_a_loop
async def test_failed_and_rejected_tasks_say_so(word: str, state: str, said: str) -> None:
    async with meet(sdk_server(Checker())) as agent:
        with pytest.raises(TaskNotCompleted, match=said) as caught:
            await agent.delegate([{"text": word}], context_id="context-7")
    error = caught.value
    assert (error.state, error.context_id) == (f"TASK_STATE_{state}", "context-7")
    assert error.task_id


@on_a_loop
async def test_a_task_that_asks_for_authorization_is_canceled_and_reported() -> None:
    async with meet(sdk_server(Checker())) as agent:
        with pytest.raises(TaskNotCompleted, match="authorization") as caught:
            await agent.delegate([{"text": "authorize"}])
        assert caught.value.state == "TASK_STATE_AUTH_REQUIRED"
        assert (await agent.task(caught.value.task_id))["status"]["state"] == "TASK_STATE_CANCELED"


@on_a_loop
async def test_the_deadline_cancels_the_task() -> None:
    async with meet(sdk_server(Checker())) as agent:
        with pytest.raises(TaskUnsettled) as caught:
            await agent.delegate([{"text": "wait"}], deadline=0.2)
        assert caught.value.state == "TASK_STATE_CANCELED"
        assert (await agent.task(caught.value.task_id))["status"]["state"] == "TASK_STATE_CANCELED"


@on_a_loop
async def test_a_caller_that_is_cancelled_or_fails_does_not_leave_an_orphan() -> None:
    executor = Checker()
    async with meet(sdk_server(executor)) as agent:
        known: asyncio.Queue[str] = asyncio.Queue()
        waiting = agent.delegate([{"text": "wait"}], seen=lambda task, _: known.put_nowait(task))
        job = asyncio.create_task(waiting)
        await executor.started.wait()
        await known.get()
        job.cancel()
        with pytest.raises(asyncio.CancelledError):
            await job
        assert (await agent.task(executor.executions[0]))["status"]["state"] == "TASK_STATE_CANCELED"

        async def stumble(question: str, task: dict[str, Any]) -> None:
            raise TimeoutError("the person left")

        with pytest.raises(TimeoutError, match="the person left"):
            await agent.delegate([{"text": "ask"}], answer=stumble)
        assert (await agent.task(executor.executions[1]))["status"]["state"] == "TASK_STATE_CANCELED"


@on_a_loop
async def test_a_cancel_from_outside_ends_the_delegation() -> None:
    executor, began = Checker(), asyncio.Queue[tuple[str, str]]()
    async with meet(sdk_server(executor)) as agent:
        job = asyncio.create_task(
            agent.delegate([{"text": "wait"}], seen=lambda task, state: began.put_nowait((task, state)))
        )
        await executor.started.wait()
        task_id, state = await began.get()
        assert state == "TASK_STATE_SUBMITTED"
        assert await agent.cancel(task_id) == "TASK_STATE_CANCELED"
        with pytest.raises(TaskNotCompleted) as caught:
            await job
        assert (caught.value.state, caught.value.task_id) == ("TASK_STATE_CANCELED", task_id)


@pytest.mark.parametrize("ended", ["COMPLETED", "CANCELED", "FAILED"])
@on_a_loop
async def test_a_cancel_that_comes_too_late_returns_the_state_reached(ended: str) -> None:
    late = peer(cancel=[Refuse(-32002, "too late", "TASK_NOT_CANCELABLE")], get=[snapshot(ended)])
    async with meet(late) as agent:
        assert await agent.cancel(T) == f"TASK_STATE_{ended}"


@on_a_loop
async def test_a_cancel_that_takes_its_time_is_waited_for_and_one_that_is_refused_is_told() -> None:
    slow = peer(cancel=[snapshot("WORKING")], get=[snapshot("WORKING"), Break, snapshot("CANCELED")])
    async with meet(slow) as agent:
        assert await agent.cancel(T) == "TASK_STATE_CANCELED"
        slow.answers |= {"CancelTask": [Refuse(-32002)], "GetTask": [snapshot("WORKING")]}
        with pytest.raises(CallRefused) as caught:
            await agent.cancel(T)
        assert caught.value.code == -32002
        slow.answers |= {"CancelTask": [snapshot("WORKING")]}
        with pytest.raises(TaskUnsettled):
            await agent.cancel(T, deadline=0.05)


@on_a_loop
async def test_a_task_under_way_can_be_taken_up_by_its_id() -> None:
    executor, begun = Checker(), asyncio.Queue[str]()
    async with meet(sdk_server(executor)) as agent:
        job = asyncio.create_task(
            agent.delegate([{"text": "wait"}], seen=lambda task, _: begun.put_nowait(task))
        )
        await executor.started.wait()
        task_id = await begun.get()
        second = asyncio.create_task(agent.settle(task_id, schema=SCHEMA))
        executor.go_on.set()
        assert (await job).artifact == (await second).artifact == REPORT


@on_a_loop
async def test_a_terminal_task_takes_no_more_messages_and_its_context_takes_a_new_task() -> None:
    async with meet(sdk_server(Checker())) as agent:
        first = await agent.delegate([{"text": "go"}])
        with pytest.raises(CallRefused) as caught:
            await agent.delegate([{"text": "go"}], task_id=first.task_id, context_id=first.context_id)
        assert caught.value.code == -32004
        again = await agent.delegate([{"text": "go"}], context_id=first.context_id)
    assert again.context_id == first.context_id
    assert again.task_id != first.task_id


@on_a_loop
async def test_a_parked_task_is_continued_by_another_delegation() -> None:
    executor = Checker()
    parked = asyncio.Queue[str]()

    async def ponder(question: str, task: dict[str, Any]) -> None:
        parked.put_nowait(task["id"])
        await asyncio.Event().wait()

    async with meet(sdk_server(executor)) as agent:
        holder = asyncio.create_task(agent.delegate([{"text": "ask"}], answer=ponder))
        task_id = await parked.get()
        with pytest.raises(CallRefused) as caught:
            await agent.delegate([{"text": "go"}], task_id=task_id, context_id="another")
        assert caught.value.code == -32602
        delivery = await agent.delegate([{"text": "go"}], task_id=task_id)
        holder.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await holder
    assert delivery.artifact == REPORT
    assert delivery.questions == ()
    assert words(delivery) == ["input_required", "working", "completed"]


@on_a_loop
async def test_the_schema_that_the_card_declares_for_the_skill_is_held() -> None:
    strict = declare_output_schema(card(), "check", {"type": "object", "required": ["verdict"]})
    from ai_evolution.errors import DeliverableInvalid

    async with meet(sdk_server(Checker(), strict)) as agent:
        with pytest.raises(DeliverableInvalid, match="verdict"):
            await agent.delegate([{"text": "go"}], skill="check")
        assert (await agent.delegate([{"text": "go"}])).artifact == REPORT


@on_a_loop
async def test_what_the_caller_gets_wrong_is_told_before_anything_is_sent() -> None:
    quiet = peer()
    async with meet(quiet) as agent:
        for parts, options in (
            ([], {}),
            ([{"kind": "text", "text": "0.3"}], {}),
            ([{"text": 5}], {}),
            ([{"data": {"n": float("nan")}}], {}),
            ([{"data": [{"n": 2**53}]}], {}),
            ([{"text": "go"}], {"schema": {"type": "text"}}),
            ([{"text": "go"}], {"push": {"address": "x"}}),
        ):
            with pytest.raises(UsageError):
                await agent.delegate(parts, **options)
        await agent.delegate([{"data": {"n": 2**53 - 1}}])
        assert json.loads(json.dumps(quiet.calls[0][1]))["message"]["parts"] == [{"data": {"n": 2**53 - 1}}]
        quiet.calls.clear()
    assert quiet.calls == []


@on_a_loop
async def test_message_ids_and_call_ids_come_from_the_caller() -> None:
    async def record() -> bytes:
        counter = iter(range(100))
        async with Network() as net, meet(peer(), network=net, new_id=lambda: f"id-{next(counter)}") as agent:
            await agent.delegate([{"text": "go"}])
            return b"\n".join(frame.body for frame in net.journal.frames)

    once = await record()
    assert once == await record()
    assert b'"messageId":"id-0"' in once
    assert b'"id":"id-1"' in once


@on_a_loop
async def test_push_configuration_and_output_modes_travel_with_the_message() -> None:
    listener = peer()
    wanted = Needs("check", output_modes=("application/json",), schemes=())
    async with meet(listener, needs=wanted) as agent:
        await agent.delegate([{"text": "go"}], push={"url": "https://me.example/hook", "token": "t"})
    configuration = listener.calls[0][1]["configuration"]
    assert configuration["taskPushNotificationConfig"]["url"] == "https://me.example/hook"
    assert configuration["acceptedOutputModes"] == ["application/json"]


@on_a_loop
async def test_several_delegations_share_one_agent() -> None:
    async with meet(sdk_server(Checker())) as agent:
        jobs = (agent.delegate([{"text": "ask"}], answer=consent) for _ in range(5))
        deliveries = await asyncio.gather(*jobs)
    assert len({each.task_id for each in deliveries}) == 5


@on_a_loop
async def test_the_same_conversation_runs_over_a_loopback_socket() -> None:
    async with Network(transport="http") as net:
        await net.host(ORIGIN, sdk_server(Checker()))
        async with meet(None, network=net) as agent:
            net.cut_streams(ORIGIN, after=1)
            delivery = await agent.delegate([{"text": "ask"}], answer=consent)
    assert (delivery.artifact, delivery.reattached) == (REPORT, 1)


@on_a_loop
async def test_the_first_binding_preferred_is_the_one_used() -> None:
    async with meet(peer(), needs=needs(REST, JSONRPC)) as agent:
        assert agent.binding == REST
        assert agent.interface["url"] == f"{ORIGIN}/rest"
    with pytest.raises(AgentUnfit):
        async with meet(peer(), needs=needs("GRPC")):
            pass
    assert isinstance(peer(), Peer)


@pytest.mark.parametrize("binding", [JSONRPC, REST])
@on_a_loop
async def test_both_bindings_bear_cuts_and_lost_replies_and_name_refusals_alike(binding: str) -> None:
    executor = Checker()
    async with Network() as net:
        await net.host(ORIGIN, build_app(card(), executor, tokens={"s3cret": "hiring"}))
        async with meet(None, network=net, needs=needs(binding), token="s3cret") as agent:
            net.drop_replies(ORIGIN, 2)
            net.cut_streams(ORIGIN, after=1)
            delivery = await agent.delegate([{"text": "ask"}], answer=consent, schema=SCHEMA, resend=True)
            assert delivery.artifact == REPORT
            assert executor.executions == [delivery.task_id] * 2
            with pytest.raises(CallRefused) as missing:
                await agent.task("nobody-s")
            with pytest.raises(CallRefused) as over:
                await agent.delegate([{"text": "go"}], task_id=delivery.task_id)
        async with meet(None, network=net, needs=needs(binding), token="wrong") as stranger:
            with pytest.raises(CallRefused) as unknown:
                await stranger.delegate([{"text": "go"}])
    assert (missing.value.code, missing.value.reason) == (-32001, "TASK_NOT_FOUND")
    assert (over.value.code, over.value.reason) == (-32004, "UNSUPPORTED_OPERATION")
    assert unknown.value.code == 401


@on_a_loop
async def test_an_answer_whose_reply_was_lost_is_repeated_and_works_once() -> None:
    executor = Checker()
    async with Network() as net:
        await net.host(ORIGIN, build_app(card(), executor))

        async def after_a_loss(question: str, task: dict[str, Any]) -> list[dict[str, Any]]:
            net.drop_replies(ORIGIN)
            return await consent(question, task)

        async with meet(None, network=net) as agent:
            for resend in (True, False):
                delivery = await agent.delegate([{"text": "ask"}], answer=after_a_loss, resend=resend)
                assert delivery.artifact == REPORT
                assert len(delivery.questions) == 1
    assert len(executor.executions) == 4
