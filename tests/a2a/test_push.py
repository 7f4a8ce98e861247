"""A webhook hears of a task in order and once; nobody else gets a word in; the task never waits."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from a2a.auth.user import User
from a2a.server.context import ServerCallContext
from a2a.types import (
    Artifact,
    AuthenticationInfo,
    Part,
    Task,
    TaskArtifactUpdateEvent,
    TaskPushNotificationConfig,
    TaskState,
    TaskStatus,
    TaskStatusUpdateEvent,
)
from a2a.utils.errors import InvalidParamsError
from google.protobuf.json_format import ParseDict
from hypothesis import given, settings
from hypothesis import strategies as st

from ai_evolution.a2a import push
from ai_evolution.a2a.push import SEQUENCE, TOKEN, PushPolicy, PushReceiver, PushSender
from ai_evolution.errors import TaskUnsettled, UsageError
from ai_evolution.network import Network

pytestmark = pytest.mark.anyio

HOOK = "https://orchestrator.example"
URL = f"{HOOK}/notifications"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Caller(User):
    def __init__(self, name: str) -> None:
        self._name = name

    @property
    def is_authenticated(self) -> bool:
        return True

    @property
    def user_name(self) -> str:
        return self._name


ALICE = ServerCallContext(user=Caller("alice"))
BOB = ServerCallContext(user=Caller("bob"))


def status(state: str, task_id: str = "t1") -> TaskStatusUpdateEvent:
    return TaskStatusUpdateEvent(
        task_id=task_id, context_id="c", status=TaskStatus(state=getattr(TaskState, state))
    )


def artifact(text: str, task_id: str = "t1") -> TaskArtifactUpdateEvent:
    return TaskArtifactUpdateEvent(
        task_id=task_id, context_id="c", artifact=Artifact(artifact_id="a", parts=[Part(text=text)])
    )


STORY: list[Any] = [
    Task(id="t1", context_id="c", status=TaskStatus(state=TaskState.TASK_STATE_SUBMITTED)),
    status("TASK_STATE_WORKING"),
    artifact("añejo €"),
    status("TASK_STATE_COMPLETED"),
]
KINDS = ["task", "statusUpdate", "artifactUpdate", "statusUpdate"]


def config(url: str = URL, **more: Any) -> TaskPushNotificationConfig:
    return TaskPushNotificationConfig(
        url=url, token="tok", authentication=AuthenticationInfo(scheme="Bearer", credentials="cred"), **more
    )


class Webhook:
    """Notes what it gets and answers what it is told; a gate holds it up."""

    def __init__(self, *answers: int | Exception) -> None:
        self.answers = list(answers)
        self.requests: list[httpx.Request] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.headers: dict[str, str] = {}

    async def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        await self.gate.wait()
        answer = self.answers.pop(0) if self.answers else 200
        if isinstance(answer, Exception):
            raise answer
        return httpx.Response(answer, headers=self.headers)

    @property
    def client(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(transport=httpx.MockTransport(self), follow_redirects=True)

    @property
    def numbers(self) -> list[str]:
        return [request.headers[SEQUENCE] for request in self.requests]


class Naps:
    def __init__(self) -> None:
        self.taken: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.taken.append(seconds)
        await asyncio.sleep(0)


async def public(_host: str, _port: int) -> list[str]:
    return ["93.184.216.34"]


ALLOW = PushPolicy(allow=[HOOK])


async def tell(sender: PushSender, events: list[Any] = STORY, task_id: str = "t1") -> None:
    for event in events:
        await sender.send_notification(task_id, event)
    assert await sender.drain(10)


# --- sender -----------------------------------------------------------------------------------


async def test_a_webhook_gets_every_event_in_order_with_both_credentials_and_a_number() -> None:
    hook = Webhook()
    async with PushSender(hook.client, ALLOW) as sender:
        await sender.set_info("t1", config(), ALICE)
        await tell(sender)
    assert hook.numbers == ["1", "2", "3", "4"]
    assert [next(iter(json.loads(request.content))) for request in hook.requests] == KINDS
    for request in hook.requests:
        assert request.headers["Authorization"] == "Bearer cred"
        assert request.headers[TOKEN] == "tok"
        assert request.headers["Content-Type"] == "application/json"
        assert str(request.url) == URL
    assert sender.counts == {"delivered": 4}


async def test_a_task_without_a_webhook_costs_nothing() -> None:
    hook = Webhook()
    async with PushSender(hook.client, ALLOW) as sender:
        await tell(sender)
    assert (hook.requests, sender.counts) == ([], {})


async def test_a_webhook_registered_late_and_another_one_each_count_from_one() -> None:
    hook = Webhook()
    async with PushSender(hook.client, ALLOW) as sender:
        await sender.set_info("t1", config(id="first"), ALICE)
        await tell(sender, STORY[:2])
        await sender.set_info(
            "t1",
            config(
                id="second",
            ),
            BOB,
        )
        await tell(sender, STORY[2:])
    assert sorted(hook.numbers) == ["1", "1", "2", "2", "3", "4"]


async def test_the_task_does_not_wait_for_a_webhook_that_hangs() -> None:
    hook = Webhook()
    hook.gate.clear()
    sender = PushSender(hook.client, ALLOW)
    await sender.set_info("t1", config(), ALICE)
    async with asyncio.timeout(10):
        for event in STORY:
            await sender.send_notification("t1", event)  # would never come back
    hook.gate.set()
    await sender.aclose()
    assert hook.numbers == ["1", "2", "3", "4"]


async def test_one_slow_webhook_does_not_hold_up_another() -> None:
    slow, arrived = Webhook(), asyncio.Event()
    slow.gate.clear()

    async def both(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/slow":
            return await slow(request)
        arrived.set()
        return httpx.Response(200)

    client = httpx.AsyncClient(transport=httpx.MockTransport(both))
    async with PushSender(client, ALLOW) as sender:
        await sender.set_info("t1", config(f"{HOOK}/slow", id="slow"), ALICE)
        await sender.set_info("t1", config(f"{HOOK}/fast", id="fast"), ALICE)
        await sender.send_notification("t1", STORY[0])
        await asyncio.wait_for(arrived.wait(), 10)
        slow.gate.set()


async def test_an_event_that_comes_just_as_the_last_one_was_delivered_is_not_forgotten() -> None:
    sent: list[asyncio.Task[None]] = []
    numbers: list[str] = []

    async def answer(request: httpx.Request) -> httpx.Response:
        numbers.append(request.headers[SEQUENCE])
        if len(numbers) == 1:  # runs right after the delivery has ended
            sent.append(asyncio.create_task(sender.send_notification("t1", STORY[1])))
        return httpx.Response(200)

    client = httpx.AsyncClient(transport=httpx.MockTransport(answer))
    async with PushSender(client, ALLOW) as sender:
        await sender.set_info("t1", config(), ALICE)
        await tell(sender, STORY[:1])
        await asyncio.gather(*sent)
    assert numbers == ["1", "2"]
    assert sender.counts == {"delivered": 2}


@pytest.mark.parametrize("trouble", [500, 503, 429, httpx.ConnectError("x"), httpx.ReadTimeout("x")])
async def test_trouble_that_may_pass_is_tried_again_after_growing_pauses(trouble: int | Exception) -> None:
    hook, naps = Webhook(trouble, trouble, 200), Naps()
    async with PushSender(hook.client, ALLOW, retries=3, backoff=0.5, sleep=naps) as sender:
        await sender.set_info("t1", config(), ALICE)
        await tell(sender, STORY[:1])
    assert hook.numbers == ["1", "1", "1"]
    assert naps.taken == [0.5, 1.0]
    assert sender.counts == {"delivered": 1, "retried": 2}


async def test_it_gives_up_quietly_and_goes_on_with_the_next_event(caplog: pytest.LogCaptureFixture) -> None:
    hook, naps = Webhook(500, 500, 500), Naps()
    async with PushSender(hook.client, ALLOW, retries=2, sleep=naps) as sender:
        await sender.set_info("t1", config(f"{URL}?secret=hush"), ALICE)
        await tell(sender, STORY[:2])
    assert hook.numbers == ["1", "1", "1", "2"]
    assert sender.counts == {"given up": 1, "delivered": 1, "retried": 2}
    assert len(caplog.records) == 1
    assert not any(secret in caplog.text for secret in ("hush", "cred", "tok "))


@pytest.mark.parametrize("final", [301, 302, 307, 400, 401, 403, 404, 409, 410])
async def test_an_answer_that_will_not_change_is_final_and_no_redirect_is_followed(final: int) -> None:
    hook, naps = Webhook(final), Naps()
    hook.headers = {"Location": "http://169.254.169.254/latest/meta-data/"}
    async with PushSender(hook.client, ALLOW, sleep=naps) as sender:
        await sender.set_info("t1", config(), ALICE)
        await tell(sender, STORY[:1])
    assert len(hook.requests) == 1
    assert (naps.taken, sender.counts) == ([], {"given up": 1})


async def test_retry_after_is_respected_up_to_a_limit() -> None:
    hook, naps = Webhook(429, 429), Naps()
    hook.headers = {"Retry-After": "7"}
    async with PushSender(hook.client, ALLOW, sleep=naps, max_backoff=30) as sender:
        await sender.set_info("t1", config(), ALICE)
        await tell(sender, STORY[:1])
        hook.headers = {"Retry-After": "86400"}
        hook.answers = [503]
        await tell(sender, STORY[:1])
    assert naps.taken == [7, 7, 30]


@pytest.mark.parametrize(
    "url",
    [
        "http://169.254.169.254/",
        "http://127.0.0.1:22/",
        "file:///etc/passwd",
        "http://[::ffff:10.0.0.1]/",
        "http://0x7f000001/",
        "http://2130706433/",
    ],
)
async def test_a_webhook_inside_is_refused_at_registration_without_telling_why(url: str) -> None:
    hook = Webhook()
    async with PushSender(hook.client, ALLOW) as sender:
        with pytest.raises(InvalidParamsError) as caught:
            await sender.set_info("t1", config(url), ALICE)
        assert await sender.get_info("t1", ALICE) == []
    assert "127" not in str(caught.value)
    assert "leads" not in str(caught.value)


async def test_a_name_that_moves_inside_after_registration_is_not_called() -> None:
    answers = [["93.184.216.34"], ["169.254.169.254"]]

    async def rebinding(_host: str, _port: int) -> list[str]:
        return answers.pop(0)

    hook = Webhook()
    async with PushSender(hook.client, PushPolicy(resolve=rebinding)) as sender:
        await sender.set_info("t1", config("https://hooks.example/"), ALICE)
        await tell(sender, STORY[:1])
    assert hook.requests == []
    assert sender.counts == {"refused": 1}


async def test_the_connection_goes_to_the_address_that_was_checked_under_the_name_that_was_given() -> None:
    hook = Webhook()
    async with PushSender(hook.client, PushPolicy(resolve=public)) as sender:
        await sender.set_info("t1", config("https://hooks.example:8443/x?y=1"), ALICE)
        await tell(sender, STORY[:1])
    (request,) = hook.requests
    assert str(request.url) == "https://93.184.216.34:8443/x?y=1"
    assert request.headers["Host"] == "hooks.example:8443"
    assert request.extensions["sni_hostname"] == "hooks.example"


async def test_an_ipv6_address_is_called_in_brackets() -> None:
    async def six(_host: str, _port: int) -> list[str]:
        return ["2606:4700::1111"]

    hook = Webhook()
    async with PushSender(hook.client, PushPolicy(resolve=six)) as sender:
        await sender.set_info("t1", config("https://hooks.example/x"), ALICE)
        await tell(sender, STORY[:1])
    assert str(hook.requests[0].url) == "https://[2606:4700::1111]/x"


@pytest.mark.parametrize("field", ["token", "credentials", "scheme"])
async def test_credentials_that_would_write_headers_of_their_own_are_refused(field: str) -> None:
    bad = config()
    place = bad if field == "token" else bad.authentication
    setattr(place, field, "x\r\nX-Admin: yes")
    async with PushSender(Webhook().client, ALLOW) as sender:
        with pytest.raises(InvalidParamsError):
            await sender.set_info("t1", bad, ALICE)


async def test_webhooks_belong_to_whoever_registered_them() -> None:
    async with PushSender(Webhook().client, ALLOW) as sender:
        stored = await sender.set_info("t1", config(), ALICE)
        assert stored is not None
        assert (stored.task_id, stored.id) == ("t1", "t1")
        assert await sender.get_info("t1", BOB) == []
        await sender.delete_info("t1", BOB)
        assert len(await sender.get_info("t1", ALICE)) == len(await sender.get_info_for_dispatch("t1")) == 1
        await sender.delete_info("t1", ALICE)
        assert await sender.get_info_for_dispatch("t1") == []


async def test_a_task_has_a_limited_number_of_webhooks() -> None:
    async with PushSender(Webhook().client, ALLOW) as sender:
        for index in range(push.MAX_CONFIGS):
            await sender.set_info("t1", config(id=str(index)), ALICE)
        await sender.set_info("t1", config(id="3"), ALICE)  # a change, not one more
        with pytest.raises(InvalidParamsError):
            await sender.set_info("t1", config(id="one too many"), ALICE)


async def test_closing_delivers_what_is_pending() -> None:
    hook = Webhook(500)
    sender = PushSender(hook.client, ALLOW, sleep=Naps())
    await sender.set_info("t1", config(), ALICE)
    for event in STORY:
        await sender.send_notification("t1", event)
    await sender.aclose()
    assert hook.numbers == ["1", "1", "2", "3", "4"]


@pytest.mark.parametrize("deadline", [0.0, 0.05])
async def test_closing_does_not_wait_for_ever_and_leaves_nothing_running(deadline: float) -> None:
    hook, before = Webhook(), asyncio.all_tasks()
    hook.gate.clear()
    sender = PushSender(hook.client, ALLOW)
    await sender.set_info("t1", config(), ALICE)
    for event in STORY:
        await sender.send_notification("t1", event)
    await sender.aclose(deadline)
    await sender.send_notification("t1", STORY[0])
    assert sender.counts == {"dropped": 5}
    assert asyncio.all_tasks() == before


async def test_a_webhook_that_is_too_slow_loses_events_and_not_our_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(push, "MAX_WAITING", 2)
    hook = Webhook()
    hook.gate.clear()
    async with PushSender(hook.client, ALLOW) as sender:
        await sender.set_info("t1", config(), ALICE)
        for event in STORY:
            await sender.send_notification("t1", event)
        hook.gate.set()
    assert sender.counts == {"delivered": 2, "dropped": 2}


async def test_a_store_that_fails_does_not_reach_the_task(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(push.InMemoryPushNotificationConfigStore):
        async def get_info_for_dispatch(self, task_id: str) -> list[TaskPushNotificationConfig]:
            raise RuntimeError(task_id)

    async with PushSender(Webhook().client, ALLOW, configs=Broken()) as sender:
        await sender.send_notification("t1", STORY[0])
    assert "could not be queued" in caplog.text


async def test_a_restarted_sender_goes_on_counting_when_its_numbers_are_remembered() -> None:
    kept = {"t1": 2}

    def number(task_id: str, _config_id: str) -> int:
        kept[task_id] += 1
        return kept[task_id]

    hook = Webhook()
    async with PushSender(hook.client, ALLOW, number=number) as sender:
        await sender.set_info("t1", config(), ALICE)
        await tell(sender, STORY[2:])
    assert hook.numbers == ["3", "4"]


def test_a_negative_number_of_retries_is_a_usage_error() -> None:
    with pytest.raises(UsageError):
        PushSender(httpx.AsyncClient(), ALLOW, retries=-1)


# --- receiver ---------------------------------------------------------------------------------


def receiver(**more: Any) -> PushReceiver:
    return PushReceiver("tok", "cred", **more)


def message(event: Any) -> bytes:
    return json.dumps(push.MessageToDict(push.to_stream_response(event))).encode()


DELIVERIES = [(str(number), message(event)) for number, event in enumerate(STORY, 1)]
EVENTS = [json.loads(body) for _, body in DELIVERIES]


async def post(app: PushReceiver, body: bytes, number: str | None = "1", **headers: str | None) -> int:
    sent: dict[str, str | None] = {"authorization": "Bearer cred", TOKEN: "tok", SEQUENCE: number}
    sent |= {name.replace("_", "-"): value for name, value in headers.items()}
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=HOOK) as http:
        answer = await http.post(
            "/any", content=body, headers={k: v for k, v in sent.items() if v is not None}
        )
    if answer.status_code == 401:
        assert answer.headers["www-authenticate"] == "Bearer"
    return answer.status_code


@settings(max_examples=60, deadline=None)
@given(order=st.lists(st.integers(0, 3), max_size=6), rest=st.permutations(range(4)))
def test_any_order_with_any_repeats_gives_the_same_events(order: list[int], rest: list[int]) -> None:
    async def scene() -> None:
        app = receiver()
        waiting = asyncio.create_task(app.wait("t1", 10))
        for index in [*order, *rest]:
            number, body = DELIVERIES[index]
            assert await post(app, body, number) == 200
        assert await waiting == app.events("t1") == EVENTS
        assert app.counts == {200: len(order) + 4, "repeated": len(order)} or not order

    asyncio.run(scene())


@pytest.mark.parametrize(
    "headers",
    [
        {"authorization": None},
        {"authorization": "Bearer other"},
        {"authorization": "Basic cred"},
        {"authorization": "cred"},
        {"authorization": ""},
        {"X_A2A_Notification_Token": None},
        {"X_A2A_Notification_Token": "other"},
        {"X_A2A_Notification_Token": "to"},
        {"X_A2A_Notification_Token": ""},
    ],
)
async def test_a_forged_notification_is_refused_and_leaves_no_trace(headers: dict[str, str | None]) -> None:
    app = receiver()
    assert await post(app, DELIVERIES[3][1], "1", **headers) == 401
    assert (app.tasks, app.events("t1"), app.counts) == ([], [], {401: 1})


async def test_a_stranger_gets_401_before_anything_else_is_looked_at() -> None:
    app = receiver(max_body=10)
    assert await post(app, b"x" * 100, "junk", authorization="Bearer no") == 401


@pytest.mark.parametrize(
    ("body", "number"),
    [
        (b"", "1"),
        (b"null", "1"),
        (b"[]", "1"),
        (b"{}", "1"),
        (b"\xff", "1"),
        (b'{"task":null}', "1"),
        (b'{"task":{"status":{}}}', "1"),
        (b'{"task":{"id":7}}', "1"),
        (b'{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[]}}', "1"),
        (b'{"statusUpdate":{"taskId":"t"},"task":{"id":"t"}}', "1"),
        (b'{"status_update":{"task_id":"t"}}', "1"),
        (b'{"unknown":{"taskId":"t"}}', "1"),
        (b'{"task":{"id":"t","metadata":{"x":NaN}}}', "1"),
        (b'{"task":' * 5000, "1"),
        (b'{"task":{"id":"t","metadata":{"x":' + b"[" * 500 + b"]" * 500 + b"}}}", "1"),
        (DELIVERIES[0][1], "0"),
        (DELIVERIES[0][1], "-1"),
        (DELIVERIES[0][1], "1.0"),
        (DELIVERIES[0][1], ""),
        (DELIVERIES[0][1], "٣".encode().decode("latin-1")),
        (DELIVERIES[0][1], "9" * 40),
    ],
)
async def test_what_is_no_numbered_event_of_a_task_is_refused(body: bytes, number: str) -> None:
    app = receiver()
    sent = {"authorization": b"Bearer cred", TOKEN: b"tok", SEQUENCE: number.encode("latin-1")}
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=HOOK) as http:
        answer = await http.post("/", content=body, headers=sent)  # type: ignore[arg-type]
    assert answer.status_code == 400
    assert app.tasks == []


async def test_a_body_beyond_the_limit_is_refused_while_it_is_read() -> None:
    app = receiver(max_body=len(DELIVERIES[0][1]))
    assert await post(app, DELIVERIES[0][1]) == 200
    assert await post(app, DELIVERIES[0][1] + b" ", "2") == 413

    async def endless() -> Any:
        while True:
            yield b" " * 1000

    sent = {"authorization": "Bearer cred", TOKEN: "tok"}
    parts = endless()

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": await anext(parts), "more_body": True}

    answers: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        answers.append(message)

    raw = [(name.lower().encode(), value.encode()) for name, value in sent.items()]
    await app({"type": "http", "method": "POST", "path": "/", "headers": raw}, receive, send)
    assert answers[0]["status"] == 413


async def test_other_methods_are_refused_after_authentication() -> None:
    app = receiver()
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=HOOK) as http:
        assert (await http.get("/")).status_code == 401
        answer = await http.get("/", headers={"authorization": "Bearer cred", TOKEN: "tok"})
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


async def test_one_number_for_two_events_is_a_conflict_and_the_first_stays() -> None:
    app = receiver()
    assert await post(app, DELIVERIES[1][1], "1") == 200
    assert await post(app, DELIVERIES[2][1], "1") == 409
    assert app.events("t1") == [EVENTS[1]]


async def test_a_sender_that_does_not_number_is_taken_in_the_order_of_arrival() -> None:
    app = receiver()
    for _, body in DELIVERIES:
        assert await post(app, body, None) == 200
    assert await app.wait("t1", 10) == EVENTS


async def test_memory_is_limited() -> None:
    app = receiver(max_tasks=2, max_events=2)
    for task_id in ("a", "b"):
        assert await post(app, message(status("TASK_STATE_WORKING", task_id))) == 200
    assert await post(app, message(status("TASK_STATE_WORKING", "c"))) == 429
    assert await post(app, message(artifact("x", "a")), "2") == 200
    assert await post(app, message(artifact("y", "a")), "3") == 429
    assert app.tasks == ["a", "b"]


async def test_waiting_does_not_end_before_the_gaps_are_filled() -> None:
    app = receiver()
    await post(app, DELIVERIES[3][1], "4")
    waiting = asyncio.create_task(app.wait("t1", 10))
    for number, body in DELIVERIES[:3]:
        for _ in range(5):
            await asyncio.sleep(0)
        assert not waiting.done()
        await post(app, body, number)
    assert await waiting == EVENTS


async def test_waiting_names_what_is_missing() -> None:
    app = receiver()
    with pytest.raises(TaskUnsettled) as caught:
        await app.wait("t1", 0.01)
    assert (caught.value.state, caught.value.task_id) == ("", "t1")
    await post(app, DELIVERIES[1][1], "2")
    with pytest.raises(TaskUnsettled) as caught:
        await app.wait("t1", 0.01)
    assert caught.value.state == "TASK_STATE_WORKING"
    await post(app, DELIVERIES[3][1], "4")
    assert await app.wait("t1", 0.01) == [EVENTS[1], EVENTS[3]]
    assert app.missing("t1") == [1, 3]


@pytest.mark.parametrize(("token", "credentials"), [("", "x"), ("x", ""), ("x\n", "y"), ("x", "ñ")])
def test_a_receiver_without_secrets_is_a_usage_error(token: str, credentials: str) -> None:
    with pytest.raises(UsageError):
        PushReceiver(token, credentials)


# --- both -------------------------------------------------------------------------------------


@pytest.mark.parametrize("transport", ["memory", "http"])
async def test_a_lost_answer_makes_a_repeat_that_the_receiver_takes_once(transport: Any) -> None:
    async with Network(transport=transport) as net:
        app = receiver()
        await net.host(HOOK, app)
        async with PushSender(net.client("agent"), ALLOW, sleep=Naps()) as sender:
            await sender.set_info("t1", ParseDict(app.config(URL), TaskPushNotificationConfig()), ALICE)
            net.drop_replies(HOOK, 1)
            for event in STORY:
                await sender.send_notification("t1", event)
            assert await app.wait("t1", 20) == EVENTS
        assert sender.counts == {"delivered": 4, "retried": 1}
        assert app.counts == {200: 5, "repeated": 1}


async def test_a_shuffled_network_with_repeats_changes_nothing() -> None:
    chance = random.Random(3)
    app = receiver()
    held: list[Callable[[], Any]] = []

    async def shuffle(request: httpx.Request) -> httpx.Response:
        held.append(lambda: post(app, request.content, request.headers[SEQUENCE]))
        return httpx.Response(200)

    async with PushSender(httpx.AsyncClient(transport=httpx.MockTransport(shuffle)), ALLOW) as sender:
        await sender.set_info("t1", config(), ALICE)
        await tell(sender)
    held += chance.sample(held, 2)
    chance.shuffle(held)
    for deliver in held:
        assert await deliver() == 200
    assert app.events("t1") == EVENTS
