"""Agents that were examined before they were trusted, and a trace of every task they were given.

An agent enters the `Registry` by `admit`: its card must verify under a pinned key, fit (interfaces at
home, a protocol and credentials that we know), and an examination of its behaviour must find
nothing wrong. What was admitted is this card: another card at the same address is another agent
and has to be admitted again, and so is one whose time has run out. `trusted` verifies each card
anew, so that a key that is no longer pinned takes its agents with it.

`delegate` is the only way through: it refuses agents that are not admitted and jobs without a
consent, writes down that a task begins before the first message leaves, and how it ended when it
ended, whatever the end was. When the audit log cannot be written, nothing is delegated.

What it refuses to do: examine by itself (the judge is handed in: see `ai_evolution.a2a.behaviours`),
take an examination without observations for a good one, or judge what a consent covers.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

import httpx

from ai_evolution.a2a.addresses import origin
from ai_evolution.a2a.audit import AuditLog, digest
from ai_evolution.a2a.cards import Card, Key, Needs, explicit, misfits, verify_card
from ai_evolution.a2a.connection import Limits
from ai_evolution.a2a.discovery import CARD_PATH, fetch_card
from ai_evolution.errors import (
    AgentUnfit,
    CallRefused,
    CardRefused,
    DeliverableInvalid,
    DocumentError,
    EnvironmentProblem,
    TaskNotCompleted,
    TaskUnsettled,
    UsageError,
)
from ai_evolution.files import write_whole

FORMAT = "ai-evolution/a2a-registry/1"


class Observation(Protocol):
    """One behaviour that was looked at: its name, and whether the agent showed it."""

    @property
    def id(self) -> str: ...

    @property
    def holds(self) -> bool: ...


Examine = Callable[[Card, str], Awaitable[Sequence[Observation]]]
"""``await examine(card, url)`` watches the agent at `url` and says what it observed."""


class Delegate(Protocol):
    """What the registry needs of an agent: ``ai_evolution.a2a.client.Agent`` has it."""

    @property
    def card(self) -> Card: ...

    @property
    def delegate(self) -> Callable[..., Awaitable[Any]]: ...


@dataclass(frozen=True)
class Entry:
    """An admitted agent. ``digest`` is that of its card without signatures; times are aware, in UTC."""

    url: str
    name: str
    kid: str
    digest: str
    skills: tuple[str, ...]
    behaviours: tuple[str, ...]
    admitted: datetime
    expires: datetime
    card: Card = field(repr=False, compare=False)


class Delegation:
    """A task on its way. Say ``settle`` when it has come to an end; the registry writes it down."""

    def __init__(self, entry: Entry, number: int) -> None:
        self.entry = entry
        self.number = number
        self.task_id = ""
        self.outcome = ""
        self.result_digest = ""

    def settle(self, task_id: str, result: Any = None, outcome: str = "completed") -> None:
        """Note the task, its outcome and the digest of its result."""
        self.task_id, self.outcome = task_id, outcome
        self.result_digest = digest(result) if result is not None else ""


def card_digest(card: Mapping[str, Any]) -> str:
    """The identity of a card: equal however it was serialised and whoever signed it as well."""
    return digest(explicit(card))


class Registry:
    """The agents we trust, until their time runs out.

    `keys` pins the public keys by kid, `examine` is the conformance run, `ttl` how long an
    admission is good for, `caller` our own name in the audit log. `needs` is what every agent must
    offer to be admitted at all. With `path` the entries outlive the process (one JSON file, written
    whole or not at all); without, they live in memory.
    """

    def __init__(
        self,
        http: httpx.AsyncClient,
        audit: AuditLog,
        keys: Mapping[str, Key],
        examine: Examine,
        *,
        caller: str,
        path: str | Path | None = None,
        needs: Needs | None = None,
        ttl: timedelta = timedelta(hours=24),
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        if ttl <= timedelta(0):
            raise UsageError(f"ttl={ttl} given, a span above zero accepted")
        self.audit = audit
        self._http = http
        self._keys = keys
        self._examine = examine
        self._caller = caller
        self._path = Path(path) if path is not None else None
        self._needs = needs if needs is not None else Needs()
        self._ttl = ttl
        self._clock = clock
        self._entries = self._load()

    # admission

    async def admit(self, url: str) -> Entry:
        """Verify the card at `url`, examine the agent, and enter it.

        `url` is that of the agent, or of its card; every spelling of them means one agent. Raises
        CallRefused (no card to be had), CardRefused, and AgentUnfit, whose ``reasons`` are the words of
        `misfits`, or the ids of the behaviours that did not hold. Whoever is refused loses an earlier
        admission. Either way there is an audit record.
        """
        url = url.rstrip("/")
        place = _place(url)
        card: Card = {}
        try:
            card = await fetch_card(url, self._http, Limits())
            entry = await self._judge(url, card)
        except BaseException as error:
            if isinstance(error, (CardRefused, AgentUnfit)) and place in self._entries:
                del self._entries[place]
                self._save()
            self._note("admit", url, _outcome(error), card)
            raise
        self._note("admit", url, "admitted", card)
        self._entries[place] = entry
        self._save()
        return entry

    async def _judge(self, url: str, card: Card) -> Entry:
        kid = verify_card(card, self._keys)
        name = str(card.get("name", ""))[:60]
        if words := misfits(card, self._needs, url):
            raise AgentUnfit(f"{name!r} does not fit: {', '.join(words)}", words)
        observations = await self._examine(card, url)
        if not observations:
            raise AgentUnfit(f"{name!r} was not examined: no observation was made", ["unexamined"])
        if failed := [observation.id for observation in observations if not observation.holds]:
            raise AgentUnfit(f"{name!r} failed its examination: {', '.join(failed)}", failed)
        now = self._clock()
        return Entry(
            url=url,
            name=name,
            kid=kid,
            digest=card_digest(card),
            skills=tuple(_skills(card)),
            behaviours=tuple(observation.id for observation in observations),
            admitted=now,
            expires=now + self._ttl,
            card=card,
        )

    def _note(self, action: str, agent: str, outcome: str, card: Card) -> None:
        self.audit.record(
            action=action,
            caller=self._caller,
            agent=agent,
            outcome=outcome,
            result_digest=card_digest(card) if card else "",
        )

    def expel(self, url: str) -> bool:
        """Forget an agent at once, under any spelling of its URL or its card's; False when not admitted."""
        known = self._entries.pop(_place(url), None)
        if known is not None:
            self._note("expel", known.url, "expelled", known.card)
            self._save()
        return known is not None

    # trust

    def trusted(self, skill: str | None = None) -> list[Entry]:
        """The agents admitted and not expired, that have `skill` if one is given; longest trusted first."""
        return [
            entry
            for entry in self._entries.values()
            if not self._doubt(entry) and (skill is None or skill in entry.skills)
        ]

    def entry_for(self, card: Mapping[str, Any], skill: str | None = None) -> Entry:
        """The entry under which this very card is trusted.

        Raises AgentUnfit with one reason: ``unknown`` (never admitted), ``changed`` (another card was
        admitted for this agent), ``expired``, ``key`` (its key is no longer pinned) or ``skill``.
        """
        wanted = card_digest(card)
        entry = next((entry for entry in self._entries.values() if entry.digest == wanted), None)
        if entry is None:
            places = _places(card)
            known = any(places & _places(entry.card) for entry in self._entries.values())
            reason = "changed" if known else "unknown"
        else:
            reason = self._doubt(entry)
            if not reason and skill is not None and skill not in entry.skills:
                reason = "skill"
        if entry is None or reason:
            raise AgentUnfit(f"{str(card.get('name', ''))[:60]!r} is not trusted: {reason}", [reason])
        return entry

    def _doubt(self, entry: Entry) -> str:
        if self._clock() >= entry.expires:
            return "expired"
        try:
            verify_card(entry.card, self._keys)
        except CardRefused:
            return "key"
        return ""

    # delegation

    @contextlib.asynccontextmanager
    async def delegation(
        self, card: Mapping[str, Any], *, consent: str, skill: str | None = None, request: Any = None
    ) -> AsyncIterator[Delegation]:
        """Two audit records around a task, whatever carries it: that it begins, and how it ended.

        `consent` names the agreement under which data leaves the house; `request` is what will be
        sent, of which the digest is kept. Raises UsageError without a consent, AgentUnfit as
        `entry_for`, and whatever the task raises. A body that ends without ``settle`` has the outcome
        ``unknown``.
        """
        if not consent.strip():
            raise UsageError("no consent given; a delegation needs the id of the consent it rests on")
        record = partial(
            self.audit.record,
            action="delegate",
            caller=self._caller,
            skill=skill or "",
            consent=consent,
            request_digest=digest(request) if request is not None else "",
        )
        try:
            entry = self.entry_for(card, skill)
        except AgentUnfit as refusal:
            record(agent=_first_place(card), outcome=_outcome(refusal))
            raise
        opening = record(agent=entry.url, outcome="begun")
        delegation = Delegation(entry, opening["n"])
        try:
            yield delegation
        except BaseException as error:
            delegation.outcome = _outcome(error)
            delegation.task_id = delegation.task_id or getattr(error, "task_id", "")
            raise
        finally:
            record(
                agent=entry.url,
                outcome=delegation.outcome or "unknown",
                task=delegation.task_id,
                result_digest=delegation.result_digest,
                opens=delegation.number,
            )

    async def delegate(
        self,
        agent: Delegate,
        parts: Sequence[Mapping[str, Any]],
        *,
        consent: str,
        skill: str | None = None,
        **options: Any,
    ) -> Any:
        """``agent.delegate(parts, skill=skill, **options)``, if the agent is trusted, and on record.

        `agent` is what ``connect`` yields, `parts` are the wire's own. Returns its Delivery; raises as
        `delegation` does.
        """
        sent = [dict(part) for part in parts]
        async with self.delegation(agent.card, consent=consent, skill=skill, request=sent) as task:
            delivery = await agent.delegate(parts, skill=skill, **options)
            task.settle(delivery.task_id, delivery.artifact)
        return delivery

    # the file

    def _load(self) -> dict[str, Entry]:
        if self._path is None or not self._path.exists():
            return {}
        try:
            document = json.loads(self._path.read_text(encoding="utf-8"))
            if document["format"] != FORMAT:
                raise ValueError(f"format {document['format']!r}")
            return {_place(raw["url"]): _entry(raw) for raw in document["entries"]}
        except OSError as error:
            raise DocumentError(f"registry {self._path}: cannot be read ({error.strerror})") from error
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, CardRefused) as error:
            raise DocumentError(f"registry {self._path}: not a file of {FORMAT} ({error})"[:300]) from None

    def _save(self) -> None:
        if self._path is None:
            return
        entries = [
            asdict(e) | {"admitted": e.admitted.isoformat(), "expires": e.expires.isoformat()}
            for e in self._entries.values()
        ]
        text = json.dumps({"format": FORMAT, "entries": entries}, indent=1) + "\n"
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(self._path, text.encode("utf-8"))
        except (OSError, DocumentError) as error:
            why = getattr(error, "strerror", None) or str(error)
            raise EnvironmentProblem(f"registry {self._path}: cannot be written ({why})") from error


def _entry(raw: Mapping[str, Any]) -> Entry:
    entry = Entry(
        url=raw["url"],
        name=raw["name"],
        kid=raw["kid"],
        digest=raw["digest"],
        skills=tuple(raw["skills"]),
        behaviours=tuple(raw["behaviours"]),
        admitted=datetime.fromisoformat(raw["admitted"]),
        expires=datetime.fromisoformat(raw["expires"]),
        card=dict(raw["card"]),
    )
    if (
        card_digest(entry.card) != entry.digest
        or entry.admitted.tzinfo is None
        or entry.expires.tzinfo is None
    ):
        raise ValueError(f"the entry of {entry.url} was changed by hand")
    return entry


def _place(url: str) -> str:
    """The agent at a URL: its origin, port written, and its path without that of the card.

    A query is kept, it may lead to another agent; a fragment never leaves the caller.
    """
    home = origin(url)
    if home is None:
        return url.rstrip("/")
    parts = urlsplit(url)
    path = parts.path.rstrip("/").removesuffix(CARD_PATH).rstrip("/")
    return f"{home}{path}?{parts.query}" if parts.query else home + path


def _skills(card: Mapping[str, Any]) -> list[str]:
    skills = card.get("skills")
    given = skills if isinstance(skills, list) else []
    return [s["id"] for s in given if isinstance(s, dict) and isinstance(s.get("id"), str)]


def _places(card: Mapping[str, Any]) -> set[str]:
    interfaces = card.get("supportedInterfaces")
    given = interfaces if isinstance(interfaces, list) else []
    return {i["url"] for i in given if isinstance(i, dict) and isinstance(i.get("url"), str)}


def _first_place(card: Mapping[str, Any]) -> str:
    return min(_places(card), default="unknown")


_OUTCOMES: tuple[tuple[type[BaseException], str], ...] = (
    (TaskUnsettled, "unsettled"),
    (DeliverableInvalid, "deliverable invalid"),
    (CallRefused, "call refused"),
    (asyncio.CancelledError, "abandoned"),
)


def _outcome(error: BaseException) -> str:
    if isinstance(error, CardRefused):
        return f"refused: {error.reason}"
    if isinstance(error, AgentUnfit):
        return f"refused: {', '.join(error.reasons)}"
    if isinstance(error, TaskNotCompleted) and error.state:
        return error.state.removeprefix("TASK_STATE_").lower()
    return next(
        (word for kind, word in _OUTCOMES if isinstance(error, kind)), f"error: {type(error).__name__}"
    )
