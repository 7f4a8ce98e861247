"""Push notifications: a sender that can be left alone, and a receiver that believes nobody.

A task that takes hours reports to a webhook (A2A 1.0, sections 3.1.7 and 4.3). `PushSender` is both the
``push_sender`` and the ``push_config_store`` of an SDK request handler. It checks the address when
it is registered and again before every call, connects to the very address it has checked, does
not follow redirects, and sends in the background: the task never waits for a webhook and never
hears of its failures.

The SDK sends each event once and without a number, so that a receiver can tell neither a repeat
nor a gap. Ours tries again, and numbers what it sends: the header ``A2A-Notification-Sequence``
counts the notifications of one task to one webhook from 1. The header is our own; the body stays
the StreamResponse of the specification, and a receiver that does not know the header is none the
worse.

`PushReceiver` is the webhook: an ASGI app that checks both credentials in constant time, takes
each number once, and gives back the events in their order, however they arrived.

What this room refuses to do: persist. Pending deliveries die with the process (the task itself
is in the store: GetTask tells the outcome), and a restarted sender counts from 1 again unless it
is given a ``number`` that remembers.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
import re
from collections import Counter, deque
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

import httpx
from a2a.server.context import ServerCallContext
from a2a.server.tasks import InMemoryPushNotificationConfigStore
from a2a.server.tasks.push_notification_config_store import PushNotificationConfigStore
from a2a.server.tasks.push_notification_sender import PushNotificationEvent, PushNotificationSender
from a2a.types import StreamResponse, TaskPushNotificationConfig
from a2a.utils.errors import InvalidParamsError
from a2a.utils.proto_utils import to_stream_response
from google.protobuf.json_format import MessageToDict, ParseDict, ParseError

from ai_evolution.a2a.addresses import Destination, PushPolicy
from ai_evolution.a2a.states import TERMINAL
from ai_evolution.errors import PushRefused, TaskUnsettled, UsageError

__all__ = ["SEQUENCE", "TOKEN", "Destination", "PushPolicy", "PushReceiver", "PushSender"]

logger = logging.getLogger(__name__)

SEQUENCE = "A2A-Notification-Sequence"
TOKEN = "X-A2A-Notification-Token"
MAX_BODY = 1_048_576
MAX_WAITING = 1_000
"""Notifications that may wait for one slow webhook before new ones are dropped."""
MAX_CONFIGS = 16
"""Webhooks of one task."""
_HEADER_VALUE = re.compile(r"[\x20-\x7e]*")

Sleep = Callable[[float], Awaitable[None]]


@dataclass(frozen=True)
class _Notification:
    task_id: str
    sequence: int
    body: bytes
    config: TaskPushNotificationConfig


class PushSender(PushNotificationSender, PushNotificationConfigStore):
    """Delivers the events of tasks to their webhooks, in order, in the background.

    ``http`` stays the caller's to close. ``retries`` further attempts follow a network error, a 5xx
    or a 429, after ``backoff``, twice that, and so on (seconds, at most ``max_backoff``; a
    ``Retry-After`` in seconds is respected up to that limit); any other answer is final.
    ``timeout`` is for one attempt. ``configs`` keeps the registrations, in memory by default.
    ``number(task_id, config_id)`` yields the next sequence number.

    ``counts`` says what became of the notifications: ``delivered``, ``retried``, ``refused`` (by
    the policy), ``given up``, ``dropped`` (too many waiting, or closed).
    """

    def __init__(
        self,
        http: httpx.AsyncClient,
        policy: PushPolicy,
        retries: int = 3,
        *,
        backoff: float = 0.5,
        max_backoff: float = 30.0,
        timeout: float = 10.0,
        configs: PushNotificationConfigStore | None = None,
        number: Callable[[str, str], int] | None = None,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        if retries < 0:
            raise UsageError(f"retries={retries} given, 0 or more accepted")
        self.policy = policy
        self.configs = configs if configs is not None else InMemoryPushNotificationConfigStore()
        self.counts: Counter[str] = Counter()
        self._http = http
        self._retries = retries
        self._backoff = backoff
        self._max_backoff = max_backoff
        self._timeout = timeout
        self._sleep = sleep
        self._numbers: Counter[tuple[str, str]] = Counter()
        self._number = number or self._next_number
        self._waiting: dict[tuple[str, str], deque[_Notification]] = {}
        self._workers: dict[tuple[str, str], asyncio.Task[None]] = {}
        self._closed = False

    # the SDK's config store

    async def set_info(
        self, task_id: str, notification_config: TaskPushNotificationConfig, context: ServerCallContext
    ) -> TaskPushNotificationConfig | None:
        """Register a webhook. Raises the SDK's InvalidParamsError (-32602) for one that is not accepted."""
        try:
            await self.policy.check(notification_config.url)
        except PushRefused as refusal:
            logger.warning("push: %s", refusal)  # not for the caller: it tells what our names resolve to
            raise InvalidParamsError(
                message="webhook not accepted: a public http or https address is needed"
            ) from None
        if _headers(notification_config) is None:
            raise InvalidParamsError(message="credentials and token must be printable ASCII")
        known = await self.configs.get_info(task_id, context)
        if len(known) >= MAX_CONFIGS and (notification_config.id or task_id) not in {
            config.id for config in known
        }:
            raise InvalidParamsError(message=f"a task may have at most {MAX_CONFIGS} webhooks")
        return await self.configs.set_info(task_id, notification_config, context)

    async def get_info(self, task_id: str, context: ServerCallContext) -> list[TaskPushNotificationConfig]:
        """The caller's own webhooks of a task."""
        return await self.configs.get_info(task_id, context)

    async def get_info_for_dispatch(self, task_id: str) -> list[TaskPushNotificationConfig]:
        """All webhooks of a task, whoever registered them."""
        return await self.configs.get_info_for_dispatch(task_id)

    async def delete_info(
        self, task_id: str, context: ServerCallContext, config_id: str | None = None
    ) -> None:
        """Forget one webhook of the caller, or all of them."""
        await self.configs.delete_info(task_id, context, config_id)

    # the SDK's sender

    async def send_notification(self, task_id: str, event: PushNotificationEvent) -> None:
        """Queue one event for every webhook of the task. Returns at once and never raises."""
        try:
            configs = await self.configs.get_info_for_dispatch(task_id)
            if not configs:
                return
            message = MessageToDict(to_stream_response(event))
            body = json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()
            for config in configs:
                self._queue(task_id, config, body, last=_state(message) in TERMINAL)
        except Exception:
            logger.exception("push: an event of task %s could not be queued", task_id)

    def _queue(self, task_id: str, config: TaskPushNotificationConfig, body: bytes, last: bool) -> None:
        key = (task_id, config.id)
        number = self._number(*key)
        if last:
            self._numbers.pop(key, None)
        if self._closed or len(self._waiting.get(key, ())) >= MAX_WAITING:
            self._lost(task_id, number, "dropped", "the sender is closed or the webhook too slow")
            return
        waiting = self._waiting.setdefault(key, deque())
        waiting.append(_Notification(task_id, number, body, config))
        worker = self._workers.get(key)
        if worker is None or worker.done():
            self._workers[key] = worker = asyncio.create_task(self._work(waiting))
            worker.add_done_callback(lambda done: self._forget(key, done))

    def _next_number(self, task_id: str, config_id: str) -> int:
        self._numbers[task_id, config_id] += 1
        return self._numbers[task_id, config_id]

    async def _work(self, waiting: deque[_Notification]) -> None:
        while waiting:
            await self._deliver(waiting[0])
            waiting.popleft()

    def _forget(self, key: tuple[str, str], worker: asyncio.Task[None]) -> None:
        if self._workers.get(key) is worker:  # and no younger one has taken over
            del self._workers[key]
            for note in self._waiting.pop(key):
                self._lost(note.task_id, note.sequence, "dropped", "the sender was closed")

    async def _deliver(self, note: _Notification) -> None:
        try:
            await self._attempt_often(note)
        except PushRefused as refusal:
            self._lost(note.task_id, note.sequence, "refused", str(refusal))
        except Exception as error:
            self._lost(note.task_id, note.sequence, "given up", type(error).__name__)

    async def _attempt_often(self, note: _Notification) -> None:
        for attempt in range(self._retries + 1):
            outcome, wait = await self._attempt(note)
            if outcome is None:
                self.counts["delivered"] += 1
                return
            if wait is None or attempt == self._retries:
                self._lost(note.task_id, note.sequence, "given up", outcome)
                return
            self.counts["retried"] += 1
            await self._sleep(min(self._max_backoff, max(wait, self._backoff * 2**attempt)))

    async def _attempt(self, note: _Notification) -> tuple[str | None, float | None]:
        """What went wrong (None when nothing did), and the least time to wait before another attempt."""
        headers = _headers(note.config)
        if headers is None:
            return "credentials that do not fit into a header", None
        destination = await self.policy.check(note.config.url)
        headers |= {"Content-Type": "application/json", SEQUENCE: str(note.sequence)}
        try:
            answer = await self._post(destination, note.body, headers)
        except httpx.TransportError as error:
            return type(error).__name__, 0.0
        if answer.is_success:
            return None, None
        if answer.status_code == 429 or answer.is_server_error:
            return f"status {answer.status_code}", _seconds(answer.headers.get("Retry-After", ""))
        return f"status {answer.status_code}", None

    async def _post(self, destination: Destination, body: bytes, headers: dict[str, str]) -> httpx.Response:
        url = httpx.URL(destination.url)
        extensions: dict[str, Any] = {}
        if destination.address is not None:
            # connect to what was checked, while Host, SNI and the certificate stay those of the name
            headers = {**headers, "Host": url.netloc.decode("ascii")}
            extensions["sni_hostname"] = destination.host
            url = url.copy_with(host=destination.address)
        request = self._http.build_request(
            "POST", url, content=body, headers=headers, timeout=self._timeout, extensions=extensions
        )
        answer = await self._http.send(request, stream=True, follow_redirects=False)
        await answer.aclose()  # the status is all we want, whatever the webhook would like to tell us
        return answer

    def _lost(self, task_id: str, sequence: int, word: str, why: str) -> None:
        self.counts[word] += 1
        logger.warning("push: notification %d of task %s %s: %s", sequence, task_id, word, why)

    # the end

    async def drain(self, deadline: float = 5.0) -> bool:
        """Wait until nothing is pending; False when `deadline` seconds were not enough."""
        try:
            async with asyncio.timeout(deadline):
                while self._workers:
                    await asyncio.wait(list(self._workers.values()))
        except TimeoutError:
            return False
        return True

    async def aclose(self, deadline: float = 5.0) -> None:
        """Take nothing more, deliver what is pending for at most `deadline` seconds, drop the rest."""
        self._closed = True
        if not await self.drain(deadline):
            workers = list(self._workers.values())
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


def _headers(config: TaskPushNotificationConfig) -> dict[str, str] | None:
    """The credentials of a webhook as headers; None when they do not fit into headers."""
    headers = {}
    if config.token:
        headers[TOKEN] = config.token
    if config.HasField("authentication") and config.authentication.credentials:
        headers["Authorization"] = f"{config.authentication.scheme} {config.authentication.credentials}"
    return headers if all(_HEADER_VALUE.fullmatch(value) for value in headers.values()) else None


def _seconds(text: str) -> float:
    return float(text) if re.fullmatch(r"[0-9]{1,6}", text) else 0.0


def _state(message: MutableMapping[str, Any]) -> str:
    """The state that a StreamResponse reports, empty when it reports none."""
    event = message.get("statusUpdate") or message.get("task") or {}
    state = (event.get("status") or {}).get("state")
    return state if isinstance(state, str) else ""


# --- receiver ---------------------------------------------------------------------------------


@dataclass
class _Box:
    events: dict[int, dict[str, Any]] = field(default_factory=dict)
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def last(self) -> int | None:
        """The number of the terminal event, None before it has come."""
        return next((n for n, event in self.events.items() if _state(event) in TERMINAL), None)

    @property
    def missing(self) -> list[int]:
        return sorted(set(range(1, max(self.events, default=0))) - set(self.events))


class PushReceiver:
    """The webhook of a caller: ``app(scope, receive, send)``, any path, POST only.

    ``token`` is expected in ``X-A2A-Notification-Token``, ``credentials`` in ``Authorization``. Give
    every agent a receiver of its own: who knows the two can report on any task of this receiver.

    Answers: 200 taken or known already, 400 no StreamResponse of a task, 401 a credential is wrong,
    405 no POST, 409 a number that was used for something else, 413 too long, 429 too much kept.
    ``counts`` has one entry per answer, and ``repeated`` for what was known already.
    """

    def __init__(
        self,
        token: str,
        credentials: str,
        *,
        scheme: str = "Bearer",
        max_body: int = MAX_BODY,
        max_tasks: int = 1_000,
        max_events: int = 10_000,
    ) -> None:
        if not all(value and _HEADER_VALUE.fullmatch(value) for value in (token, credentials)):
            raise UsageError("a token or credential is empty or unprintable; both are needed, in ASCII")
        self._token = token
        self._scheme = scheme
        self._credentials = credentials
        self._max_body = max_body
        self._max_tasks = max_tasks
        self._max_events = max_events
        self._boxes: dict[str, _Box] = {}
        self.counts: Counter[str | int] = Counter()

    def config(self, url: str) -> dict[str, Any]:
        """The TaskPushNotificationConfig (wire JSON) that makes an agent report here, at `url`."""
        return {
            "url": url,
            "token": self._token,
            "authentication": {"scheme": self._scheme, "credentials": self._credentials},
        }

    @property
    def tasks(self) -> list[str]:
        """The tasks that were reported on."""
        return [task_id for task_id, box in self._boxes.items() if box.events]

    def events(self, task_id: str) -> list[dict[str, Any]]:
        """The StreamResponses of a task received so far, each once, in the sender's order."""
        box = self._boxes.get(task_id, _Box())
        return [box.events[number] for number in sorted(box.events)]

    def missing(self, task_id: str) -> list[int]:
        """The numbers that were skipped so far."""
        return self._boxes.get(task_id, _Box()).missing

    async def wait(self, task_id: str, deadline: float = 30.0) -> list[dict[str, Any]]:
        """The whole story of a task, once its terminal event and all before it have arrived.

        After `deadline` seconds a story with gaps is given back as it is (`missing` names them);
        without a terminal event TaskUnsettled is raised.
        """
        if task_id not in self._boxes and len(self._boxes) < self._max_tasks:
            self._boxes[task_id] = _Box()
        box = self._boxes.get(task_id, _Box())
        try:
            async with asyncio.timeout(deadline):
                while box.last is None or box.missing:
                    box.changed.clear()
                    await box.changed.wait()
        except TimeoutError:
            if box.last is None:
                state = next((s for event in reversed(self.events(task_id)) if (s := _state(event))), "")
                what = f"no terminal event of task {task_id[:60]!r} within {deadline:g} s"
                raise TaskUnsettled(f"{what}, last state {state or 'none'}", state, task_id) from None
        return self.events(task_id)

    async def __call__(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await _live(receive, send)
            return
        if scope["type"] != "http":
            return
        status = await self._take(scope, receive)
        self.counts[status] += 1
        headers = [(b"content-length", b"0")]
        if status == 401:
            headers.append((b"www-authenticate", self._scheme.encode()))
        if status == 405:
            headers.append((b"allow", b"POST"))
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": b""})

    async def _take(self, scope: MutableMapping[str, Any], receive: Any) -> int:
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        if not self._authentic(headers):
            return 401
        if scope["method"] != "POST":
            return 405
        body = await self._read(receive)
        if body is None:
            return 413
        event = _event(body)
        number = headers.get(SEQUENCE.lower())
        if event is None or not re.fullmatch(r"[1-9][0-9]{0,11}", number if number is not None else "1"):
            return 400
        return self._keep(event[0], event[1], int(number) if number is not None else None)

    def _authentic(self, headers: dict[str, str]) -> bool:
        scheme, _, credentials = headers.get("authorization", "").partition(" ")
        checks = (
            hmac.compare_digest(headers.get(TOKEN.lower(), "").encode(), self._token.encode()),
            hmac.compare_digest(credentials.strip().encode(), self._credentials.encode()),
            scheme.lower() == self._scheme.lower(),
        )
        return all(checks)  # a tuple, so that each is computed whatever the others say

    async def _read(self, receive: Any) -> bytes | None:
        body = bytearray()
        while True:
            message = await receive()
            body += message.get("body", b"")
            if message["type"] == "http.disconnect" or len(body) > self._max_body:
                return None
            if not message.get("more_body", False):
                return bytes(body)

    def _keep(self, task_id: str, event: dict[str, Any], number: int | None) -> int:
        box = self._boxes.get(task_id)
        if box is None:
            if len(self._boxes) >= self._max_tasks:
                return 429
            box = self._boxes[task_id] = _Box()
        if number is None:  # a sender that does not number: the order of arrival is all there is
            number = max(box.events, default=0) + 1
        if number in box.events:
            if box.events[number] != event:
                return 409
            self.counts["repeated"] += 1
            return 200
        if len(box.events) >= self._max_events:
            return 429
        box.events[number] = event
        box.changed.set()
        return 200


async def _live(receive: Any, send: Any) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return


def _event(body: bytes) -> tuple[str, dict[str, Any]] | None:
    """The task id and the StreamResponse in `body`, None when there is no such thing."""
    try:
        message = json.loads(body.decode("utf-8"), parse_constant=_no_constant)
        ParseDict(message, StreamResponse())
    except (ValueError, RecursionError, ParseError, TypeError, AttributeError):
        return None
    if not isinstance(message, dict) or len(message) != 1:
        return None
    kind, event = next(iter(message.items()))
    if not isinstance(event, dict):
        return None
    task_id = event.get("id" if kind == "task" else "taskId")
    return (task_id, message) if isinstance(task_id, str) and task_id else None


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")
