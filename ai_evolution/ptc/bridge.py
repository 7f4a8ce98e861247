"""Where authority lives: every call of a program passes here, and nothing that the inside says is believed.

A call goes through: the list of tools, its quota, the tool's contract for the arguments, an approval when
the tool has effects, an idempotency key, the record that an effect is about to happen, the tool itself under
a deadline, its contract for the result, and the record of the answer. What the program gets is the data of a
success, or an error with type, message and envelope; never an exception's text.

A tool has effects unless its description says ``readOnlyHint`` (MCP's reading of silence). A tool asks for
an idempotency key by a parameter called ``idempotency_key``, or marked ``"x-idempotency-key": true`` in its
schema; the bridge fills it in and the program neither sees nor sets it.

Resuming: the program runs again from its beginning and gets the answers that the journal has. Three rules
keep an effect from happening twice, and none of them guesses:

* *the window*: an effect was about to happen and its record is missing. With a tool that asks for a key it
  is called again with the same key, and the tool recognises it. Otherwise ``settle`` is asked; without an
  answer the program gets ``EffectUncertain``, and the next resume asks again;
* *the same holds for an equal call after a deadline or a crash of the tool*, in the same program or in its
  repair: whether the first had its effect is not known;
* *divergence*: a program that comes to another effect while effects of its earlier life have not come up
  again waits for them, and gets ``ReplayDiverged`` when they don't come.

A run that is cut off does not cut an effect in the middle: it goes on to its own deadline, its answer is
recorded, and an equal call of the next program gets that answer instead of a second effect.

What it refuses to do: repair arguments, repeat a call by itself, or hand out more than the contract promised.
What no bridge can do: tell a program's second payment that is meant from one that is not. Equal calls of one
program that all succeed are all made.
"""

from __future__ import annotations

import asyncio
import uuid
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ai_evolution.atdf.attempts import canonical
from ai_evolution.atdf.compatibility import hints
from ai_evolution.atdf.contract import Contract
from ai_evolution.atdf.contract import Outcome as Judged
from ai_evolution.atdf.faults import schema_of, speaks_of_envelopes
from ai_evolution.atdf.schemas import problems
from ai_evolution.errors import DocumentError, LimitExceeded, UsageError
from ai_evolution.ptc.journal import Entry, Mark, Program, RunJournal
from ai_evolution.ptc.quota import Quotas
from ai_evolution.ptc.sandbox import Answer, Call, Outcome, Session, ToolStub

KEY, KEY_MARK = "idempotency_key", "x-idempotency-key"
AGAIN: Literal["again"] = "again"
_NO_RECORD = "the run ended between this effect and its record"
_CUT_OFF = ("timeout", "crash", "limit")


@dataclass(frozen=True, slots=True)
class Doubt:
    """An effect of which nobody knows whether it happened: ``call`` would be its repetition.

    ``key`` is the one that the first try had; ``why`` says in a sentence where its record ended.
    """

    call: Call
    key: str
    why: str


Approve = Callable[[Call], Awaitable[bool]]
Settle = Callable[[Doubt], Awaitable[Answer | Literal["again"] | None]]
"""Someone who found out: the Answer that the first try had, AGAIN when it had no effect, None: not known."""


class Bridge:
    """The host's side of the tools. ``on_call`` is what a session is given.

    ``quotas``: most calls of a tool in this execution (``"*"``: of all). ``deadline``: seconds for one call,
    None for none; a contract may have a shorter one. ``approve`` is asked, one call at a time, before each
    effect; without it the list of contracts is the consent. ``settle``: see Doubt. ``journal`` makes the
    execution resumable: then use ``run`` or ``begin``. ``new_key`` makes idempotency keys. ``patience``:
    seconds without any movement after which a replay counts as diverged.
    """

    def __init__(
        self,
        contracts: Sequence[Contract],
        *,
        quotas: Mapping[str, int] | None = None,
        deadline: float | None = 30.0,
        approve: Approve | None = None,
        settle: Settle | None = None,
        journal: RunJournal | None = None,
        execution_id: str | None = None,
        new_key: Callable[[], str] = lambda: str(uuid.uuid4()),
        patience: float = 5.0,
    ) -> None:
        self._tools = {contract.name: _Tool(contract) for contract in contracts}
        if len(self._tools) != len(contracts):
            names = [contract.name for contract in contracts]
            doubled = next(name for name in names if names.count(name) > 1)
            raise UsageError(f"two tools are called {doubled!r}, one of each name accepted")
        if deadline is not None and not deadline > 0:
            raise UsageError(f"deadline={deadline!r} given, seconds above 0 accepted")
        if journal is not None and execution_id not in (None, journal.execution_id):
            raise UsageError(
                f"execution {execution_id!r} given, the journal is that of {journal.execution_id!r}"
            )
        self.execution_id = journal.execution_id if journal else execution_id or new_key()
        self.quotas = Quotas(quotas or {}, tuple(self._tools))
        self.made: Counter[str] = Counter()
        """How often each tool was really called."""
        self.replayed: Counter[str] = Counter()
        """How often a call was answered from the journal instead."""
        self._deadline, self._approve, self._settle = deadline, approve, settle
        self._journal, self._new_key, self._patience = journal, new_key, patience
        self._run = 0
        self._occurrences: Counter[tuple[str, str]] = Counter()
        self._recorded: dict[Mark, Entry] = {}
        self._unclaimed: set[Mark] = set()  # effects of an earlier life that did not come up again yet
        self._uncertain: dict[tuple[str, str], tuple[str, str]] = {}  # tool, arguments -> key, why
        self._untold: dict[Mark, asyncio.Task[Answer] | Answer] = {}  # of programs that were cut off
        self._effects: set[asyncio.Task[Answer]] = set()
        self._busy = 0
        self._moved = asyncio.Event()
        self._asking, self._syncing = asyncio.Lock(), asyncio.Lock()

    @property
    def unclaimed(self) -> tuple[Mark, ...]:
        """Effects that an earlier life of the current program recorded and this one has not come to."""
        return tuple(sorted(self._unclaimed))

    def stubs(self) -> list[ToolStub]:
        """What the inside may know of the tools."""
        return [tool.stub for tool in self._tools.values()]

    # runs

    def begin(self, code: str) -> int:
        """The next program of this execution begins; returns its number, from 1.

        DocumentError when the journal has another program of that number, or when the one before did not
        come to all effects that it had in an earlier life.
        """
        if self._unclaimed:
            first = min(self._unclaimed)
            raise DocumentError(
                f"program {self._run} ended without {len(self._unclaimed)} effects it had before (first: "
                f"a call of {first.tool}): it went another way, and nothing can follow on it"
            )
        if self._journal is not None:
            self._recorded = self._journal.begin(self._run + 1, code)
            self._unclaimed = {mark for mark, entry in self._recorded.items() if entry.key}
        self._run += 1
        self._occurrences.clear()
        return self._run

    async def run(self, session: Session, code: str) -> Outcome:
        """``begin`` and ``session.run``: one program, new or resumed; how it ended is recorded."""
        run = self.begin(code)
        outcome = await session.run(code, self.on_call)
        if self._journal is not None:
            self._journal.ended(run, outcome.ended, [mark for mark in self._untold if mark.run == run])
            await self._synced()
        return outcome

    async def resume(self, session: Session) -> list[Outcome]:
        """Run again, in a fresh session, the programs that the journal has and this bridge has not run.

        Those up to the last one that was cut off (timeout, crash, limit) are passed over: the session's
        variables ended with it. To try it again with more time, give it to ``run``.
        """
        if self._journal is None:
            raise UsageError("a bridge without a journal has nothing to resume")
        left = self._journal.programs[self._run :]
        gone = max((n for n, each in enumerate(left, 1) if each.ended in _CUT_OFF), default=0)
        for program in left[:gone]:
            self._pass_over(program)
        return [await self.run(session, each.code) for each in left[gone:]]

    def _pass_over(self, program: Program) -> None:
        assert self._journal is not None
        entries = self._journal.begin(program.run, program.code)
        self._run = program.run
        for mark, entry in sorted(entries.items(), key=lambda item: item[1].sequence):
            if entry.answer is None:
                self._know(mark, entry.key, _NO_RECORD)
                continue
            self._know(mark, entry.key, "an error" if entry.uncertain else "")
            self._untold.pop(entry.of or mark, None)
            if mark in program.untold:
                self._untold[mark] = entry.answer

    async def aclose(self) -> None:
        """Wait for effects whose program was cut off, each until its deadline at the latest."""
        while self._effects:
            await asyncio.wait(self._effects)

    # calls

    async def on_call(self, call: Call) -> Answer:
        """Answer one call, never with an exception of a tool.

        EnvironmentProblem when the journal can't be written; UsageError when there is one and no program
        was begun.
        """
        tool = self._tools.get(call.tool)
        if tool is None:
            return _refused("UnknownTool", f"no tool is called {call.tool[:100]!r}")
        mark = self._mark(call)
        refusal = self._quota(call.tool)
        entry = self._recorded.get(mark)
        self._unclaimed.discard(mark)
        self._stir()
        if entry is not None and entry.answer is not None:
            self.replayed[call.tool] += 1
            self._know(mark, entry.key, "an error" if entry.uncertain else "")
            self._untold.pop(entry.of or mark, None)
            return entry.answer
        if entry is None and refusal is not None:
            return self._noted(mark, call, refusal)
        if tool.key_as is not None and tool.key_as in call.arguments:
            return self._noted(
                mark, call, _refused("CallerBreach", f"{tool.key_as} is given by the host, not by a program")
            )
        if tool.has_effects:
            return await self._effect(tool, call, mark, entry)
        answer, _ = await self._ask(tool, tool.given(call.arguments, self._new_key))
        return self._noted(mark, call, answer)

    async def _effect(self, tool: _Tool, call: Call, mark: Mark, entry: Entry | None) -> Answer:
        same = (mark.tool, mark.arguments_hash)
        key, why = (entry.key, _NO_RECORD) if entry is not None else self._uncertain.get(same, ("", ""))
        key = key or self._new_key()
        if entry is None and (answer := await self._without_effect(tool, call, mark, key)) is not None:
            return answer
        if why and tool.key_as is None:
            settled = await self._settled(Doubt(call, key, why))
            if isinstance(settled, Answer):
                self._know(mark, "", "")
                return await self._durably(mark, call, settled)
            if settled != AGAIN:
                return _refused(
                    "EffectUncertain",
                    f"{call.tool} may have had this effect already ({why}); it takes no idempotency key, so "
                    "it is not called again before somebody has found out",
                )
        if entry is None:
            if not await self._approved(call):
                return self._noted(
                    mark, call, _refused("ApprovalRefused", f"this call of {call.tool} was refused")
                )
            if self._journal is not None:
                self._journal.intent(mark, call.sequence, key)
                await self._synced()
        return await self._made(tool, call, mark, key)

    async def _without_effect(self, tool: _Tool, call: Call, mark: Mark, key: str) -> Answer | None:
        """The answer of a new call that must not, or need not, have its effect; None when it may."""
        if refused := tool.contract.refusal(tool.given(call.arguments, lambda: key)):
            return self._noted(mark, call, tool.answer(refused))
        if not await self._caught_up():
            return _refused(
                "ReplayDiverged",
                f"the program comes to {call.tool}, while effects of its earlier life did not come up again "
                f"(first: {min(self._unclaimed).tool}): it went another way and may have no new effects",
            )
        before = [each for each in self._untold if each[1:3] == mark[1:3]]
        return await self._told(mark, call, before[0]) if before else None

    async def _told(self, mark: Mark, call: Call, before: Mark) -> Answer:
        """The answer of an equal call whose program was cut off before it came."""
        held = self._untold.pop(before)
        try:
            answer = held if isinstance(held, Answer) else await asyncio.shield(held)
        except asyncio.CancelledError:
            self._untold[before] = held
            raise
        if self._journal is not None:
            self._journal.answer(mark, call.sequence, answer, of=before)
        return answer

    async def _made(self, tool: _Tool, call: Call, mark: Mark, key: str) -> Answer:
        """The effect, in a task of its own: cutting off the run does not cut it in the middle."""

        async def work() -> Answer:
            answer, doubtful = await self._ask(tool, tool.given(call.arguments, lambda: key))
            self._know(mark, key, doubtful)
            return await self._durably(mark, call, answer, uncertain=bool(doubtful))

        task = asyncio.get_running_loop().create_task(work())
        self._effects.add(task)
        task.add_done_callback(self._effects.discard)
        task.add_done_callback(_looked_at)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            self._untold[mark] = task
            raise

    async def _ask(self, tool: _Tool, arguments: dict[str, Any]) -> tuple[Answer, str]:
        """The tool's answer, and why its effect is in doubt (empty when it is not)."""
        self.made[tool.stub.name] += 1
        self._busy += 1
        try:
            async with asyncio.timeout(self._deadline):
                judged = await tool.contract.aoutcome(arguments)
        except TimeoutError:
            message = f"{tool.stub.name} did not answer within {self._deadline:g} s"
            message += "; it may still have its effect" if tool.has_effects else ""
            return _refused("DeadlineExceeded", message), "its deadline passed"
        finally:
            self._busy -= 1
            self._stir()
        blamed = judged.blame in ("tool", "description")
        if judged.blame == "caller":
            self.made[tool.stub.name] -= 1
        return tool.answer(judged), judged.breaches[0].message if blamed and judged.breaches else ""

    # rules

    def _mark(self, call: Call) -> Mark:
        if self._journal is not None and self._run == 0:
            raise UsageError("a bridge with a journal must know the program: use run() or begin() first")
        same = (call.tool, canonical(call.arguments))
        self._occurrences[same] += 1
        return Mark(self._run, *same, self._occurrences[same])

    def _quota(self, tool: str) -> Answer | None:
        try:
            self.quotas.take(tool)
        except LimitExceeded as error:
            return _refused("QuotaExceeded", str(error))
        return None

    def _know(self, mark: Mark, key: str, why: str) -> None:
        same = (mark.tool, mark.arguments_hash)
        if why and key:
            self._uncertain[same] = key, f"an equal call before it ended without a usable answer: {why}"
        else:
            self._uncertain.pop(same, None)

    async def _caught_up(self) -> bool:
        """Wait until the effects of an earlier life have come up again; False when nothing moves any more."""
        while self._unclaimed:
            moved = self._moved
            try:
                async with asyncio.timeout(self._patience):
                    await moved.wait()
            except TimeoutError:
                if not self._busy:
                    return False
        return True

    def _stir(self) -> None:
        self._moved.set()
        self._moved = asyncio.Event()

    async def _approved(self, call: Call) -> bool:
        if self._approve is None:
            return True
        return await self._asked(self._approve, call) is True

    async def _settled(self, doubt: Doubt) -> Any:
        return None if self._settle is None else await self._asked(self._settle, doubt)

    async def _asked(self, whom: Callable[[Any], Awaitable[Any]], what: Any) -> Any:
        """One question at a time, in the order of the calls. Who fails to answer did not agree."""
        self._busy += 1
        try:
            async with self._asking:
                return await whom(what)
        except Exception:
            return None
        finally:
            self._busy -= 1
            self._stir()

    # records

    def _noted(self, mark: Mark, call: Call, answer: Answer) -> Answer:
        if self._journal is not None:
            self._journal.answer(mark, call.sequence, answer)
        return answer

    async def _durably(self, mark: Mark, call: Call, answer: Answer, *, uncertain: bool = False) -> Answer:
        if self._journal is not None:
            self._journal.answer(mark, call.sequence, answer, uncertain=uncertain)
            await self._synced()
        return answer

    async def _synced(self) -> None:
        """What was written is on the disk; who waits for it together shares one sync."""
        assert self._journal is not None
        position = self._journal.position
        async with self._syncing:
            if self._journal.synced < position:
                await asyncio.shield(asyncio.to_thread(self._journal.sync))


class _Tool:
    """A contract as the bridge sees it."""

    def __init__(self, contract: Contract) -> None:
        self.contract = contract
        schema = schema_of(contract.description, "input")
        schema = schema if isinstance(schema, Mapping) else {}
        properties = schema.get("properties")
        properties = properties if isinstance(properties, Mapping) else {}
        marked = [
            n for n, each in properties.items() if isinstance(each, Mapping) and each.get(KEY_MARK) is True
        ]
        self.key_as = marked[0] if marked else KEY if KEY in properties else None
        self.has_effects = not hints(contract.description)["readOnlyHint"]
        shown = {name: each for name, each in properties.items() if name != self.key_as}
        if self.key_as is not None:
            required = [name for name in schema.get("required", ()) if name != self.key_as]
            schema = {**schema, "properties": shown, "required": required}
        self.stub = ToolStub(
            contract.name, tuple(shown), schema, contract.description.description, self.has_effects
        )
        self._success = schema_of(contract.description, "success")

    def given(self, arguments: Mapping[str, Any], key: Callable[[], str]) -> dict[str, Any]:
        return {**arguments, self.key_as: key()} if self.key_as is not None else dict(arguments)

    def answer(self, judged: Judged) -> Answer:
        data = judged.envelope["data"]
        if judged.succeeded:
            return Answer(self._plain(data))
        kind = {"caller": "CallerBreach", None: "ToolFailure"}.get(judged.blame, "ToolBreach")
        text = f"{data.get('code')}: {data.get('text')}"
        if solution := data.get("solution"):
            text += f" ({solution})"
        return Answer(error={"type": kind, "message": text, "envelope": judged.envelope})

    def _plain(self, data: dict[str, Any]) -> Any:
        """The result itself: what is no object travels in an envelope as ``{"value": ...}``."""
        if set(data) != {"value"} or speaks_of_envelopes(self._success):
            return data
        kinds = self._success.get("type") if isinstance(self._success, Mapping) else None
        if kinds is not None:
            return (
                data
                if kinds == "object"
                else data["value"]
                if "object" not in kinds
                else self._by_schema(data)
            )
        return self._by_schema(data)

    def _by_schema(self, data: dict[str, Any]) -> Any:
        """Where the schema allows both, the tool is taken to have given the bare value."""
        return data if problems(data["value"], self._success, limit=1) else data["value"]


def _refused(kind: str, message: str) -> Answer:
    return Answer(error={"type": kind, "message": message})


def _looked_at(task: asyncio.Task[Answer]) -> None:
    if not task.cancelled():
        task.exception()
