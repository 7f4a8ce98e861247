"""A callable and its description, checked before and after every call; a breach says who is to blame.

Four layers hold a call together. Shape: the schemas of the description. Meaning: pre- and postconditions as
declared functions, since "start before end, and both after now" cannot be written in JSON Schema. The clock:
one reading for each call, handed to the conditions, to the function if it asks for it, and to the answer.
Blame, after Meyer ("Applying Design by Contract", 1992): the caller answers for what comes in, the tool for
what comes out, and the description for itself.

* **caller**: the arguments break the input schema or a precondition; the function is not called;
* **tool**: it raised, took too long, gave a result that breaks its schema or a postcondition, or an error
  with a code that it never declared;
* **description**: a schema that is none or that accepts nothing, an example that breaks its own schema, a
  condition that can't be evaluated. A contract that contradicts itself binds nobody: no call gets through.

Every call ends in an envelope (the ``seed`` dialect: status, data, meta), whatever happens. An error that the
tool declares and returns (``ToolFailure``) is no breach and nobody's fault.

What it refuses to do: repair an argument or a result, fill in a default, change what the caller handed in,
or tell the caller anything of an exception's text, which may hold what is none of the caller's business
(it is in ``Outcome.cause``, for the operator). It can't stop a thread: after a deadline the call may still
have its effect, and the answer says so. Partial correctness only: without a deadline nothing is said about
ending.
"""

from __future__ import annotations

import asyncio
import contextvars
import copy
import inspect
import math
import threading
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Literal

from ai_evolution.atdf import envelope as envelopes
from ai_evolution.atdf.description import ToolDescription, read
from ai_evolution.atdf.documents import Document, pointer_of
from ai_evolution.atdf.explain import advice, explained, say, short
from ai_evolution.atdf.faults import faults, schema_of, speaks_of_envelopes
from ai_evolution.atdf.schemas import Problem, problems
from ai_evolution.atdf.values import copied_json
from ai_evolution.errors import CallerBreach, ContractError, ToolBreach, UsageError

Blame = Literal["caller", "tool", "description"]
Kind = Literal[
    "arguments",
    "precondition",
    "exception",
    "deadline",
    "result",
    "postcondition",
    "undeclared",
    "description",
]
Clock = Callable[[], datetime]
Values = Mapping[str, Any]
Words = Mapping[str, str] | Callable[[Values, datetime], str]

CODES: Mapping[Kind, str] = {
    "arguments": "INVALID_ARGUMENTS",
    "precondition": "PRECONDITION_BROKEN",
    "exception": "TOOL_FAILED",
    "deadline": "DEADLINE_EXCEEDED",
    "result": "INVALID_RESULT",
    "postcondition": "POSTCONDITION_BROKEN",
    "undeclared": "UNDECLARED_FAILURE",
    "description": "INVALID_DESCRIPTION",
}
"""What the contract itself answers with; ``codes=`` of a contract replaces single ones."""


class ToolFailure(Exception):
    """What a tool returns or raises when it fails in a way that its description declares.

    ``details`` is JSON; ``expected`` and ``solution`` are for the caller, and so is ``text``.
    """

    def __init__(
        self, code: str, text: str, *, expected: str, solution: str, details: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(f"{code}: {text}")
        self.code, self.text, self.expected, self.solution = code, text, expected, solution
        self.details = dict(details or {})


@dataclass(frozen=True)
class Condition:
    """A pre- or postcondition.

    ``holds`` gets what it judges and the time of the call (aware): for a precondition the arguments, for a
    postcondition ``{"arguments": ..., "result": ...}``. ``says`` is the condition in words, in English and
    Spanish. ``expected``, ``solution``, ``text`` (words, or functions of the same two) and ``details`` go
    into the error; what is not given is made of ``says``. ``code`` is the error's code, ``field`` a pointer
    to what is at fault.
    """

    id: str
    says: Mapping[str, str]
    holds: Callable[[Values, datetime], bool]
    expected: Words | None = None
    solution: Words | None = None
    code: str | None = None
    text: Words | None = None
    details: Callable[[Values, datetime], Mapping[str, Any]] | None = None
    field: str = ""


@dataclass(frozen=True)
class Breach:
    """One thing that broke: by whom, what kind, where (RFC 6901), which rule, and the fact in one line.

    ``rule`` is a keyword of JSON Schema or the id of a condition.
    """

    blame: Blame
    kind: Kind
    pointer: str
    rule: str
    message: str


@dataclass(frozen=True)
class Outcome:
    """How a call ended: the envelope that the caller gets, and what the operator may know besides.

    ``blame`` is None after a success and after a failure that the tool declares. ``cause`` is the exception
    behind a ``TOOL_FAILED``; nothing of it is in the envelope.
    """

    envelope: dict[str, Any]
    blame: Blame | None
    breaches: tuple[Breach, ...]
    at: datetime
    cause: BaseException | None = field(default=None, repr=False, compare=False)

    @property
    def succeeded(self) -> bool:
        """Whether the envelope is a success."""
        return bool(self.envelope["status"] == "success")


class Contract:
    """A tool held to its description.

    ``description`` is a ``ToolDescription`` or a document of any form with one tool in it (DocumentError,
    UsageError otherwise). Arguments reach the function by their names; an open input schema lets names
    through that the function must take (``**more``) or be blamed for. ``returns`` says what it gives:
    ``"data"``, the data of a success (what is no object travels as ``{"value": ...}``), or ``"envelope"``,
    the whole answer. ``clock_as`` names the parameter in which it wants the time of the call. ``deadline`` is
    in seconds. ``lang`` is the language of the contract's own errors. ``codes`` replaces some of ``CODES``.
    ``observe`` is told every outcome (for a log).
    """

    def __init__(
        self,
        description: ToolDescription | Document | Mapping[str, Any],
        function: Callable[..., Any],
        *,
        pre: Sequence[Condition] = (),
        post: Sequence[Condition] = (),
        clock: Clock = lambda: datetime.now(UTC),
        returns: Literal["data", "envelope"] = "data",
        clock_as: str | None = None,
        deadline: float | None = None,
        lang: str = "en",
        codes: Mapping[Kind, str] | None = None,
        observe: Callable[[Outcome], None] | None = None,
    ) -> None:
        if returns not in ("data", "envelope"):
            raise UsageError(f"returns={returns!r} given, data or envelope accepted")
        if deadline is not None and not 0 < deadline < math.inf:
            raise UsageError(f"deadline={deadline!r} given, seconds above 0 accepted")
        if strange := sorted(set(codes or {}) - set(CODES)):
            raise UsageError(f"codes for {strange[0]!r} given, {', '.join(CODES)} accepted")
        ids = [condition.id for condition in (*pre, *post)]
        if doubled := sorted({each for each in ids if ids.count(each) > 1}):
            raise UsageError(f"two conditions are called {doubled[0]!r}, one of each name accepted")
        if wordless := [condition.id for condition in (*pre, *post) if not any(condition.says.values())]:
            raise UsageError(
                f"condition {wordless[0]!r} says nothing, a sentence in English and Spanish accepted"
            )
        self.description = _one(description)
        self.document: Any = description.value if isinstance(description, Document) else description
        """What the contract was made from, as it was given: a parsed document, or a ``ToolDescription``."""
        properties = schema_of(self.description, "input")
        properties = properties.get("properties", {}) if isinstance(properties, dict) else {}
        if clock_as is not None and clock_as in properties:
            raise UsageError(f"clock_as={clock_as!r} given, a name that is no argument of the tool accepted")
        self.pre, self.post = tuple(pre), tuple(post)
        self.codes: Mapping[Kind, str] = {**CODES, **(codes or {})}
        self._function = function
        self._clock, self._clock_as = clock, clock_as
        self._more: Mapping[str, Any] = {}
        self._returns, self._deadline, self._observe = returns, deadline, observe
        self._lang = "es" if lang == "es" else "en"
        self.faults: tuple[Problem, ...] = tuple(faults(self.description, (*self.pre, *self.post)))
        """What is wrong with the description itself; pointers begin with the part (``/input/...``)."""
        self.__doc__ = function.__doc__ or self.description.description
        self.__name__ = getattr(function, "__name__", self.name)
        self.__wrapped__ = function

    @property
    def name(self) -> str:
        """The name of the tool."""
        return self.description.name

    @property
    def is_async(self) -> bool:
        """Whether the function is a coroutine function, so that only ``acall`` and its like can run it."""
        return inspect.iscoroutinefunction(self._function) or inspect.iscoroutinefunction(
            getattr(self._function, "__call__", None)  # noqa: B004 (an object with an async __call__)
        )

    def at(self, moment: datetime) -> Contract:
        """The same contract with its clock stopped at ``moment`` (aware)."""
        stopped = copy.copy(self)
        stopped._clock = lambda: moment
        return stopped

    def bound(self, **more: Any) -> Contract:
        """The same contract, whose function also gets these by name: what its host gives, not its caller.

        A caller that sends an argument of such a name is refused. Raises UsageError for a name that is an
        argument of the tool.
        """
        properties = schema_of(self.description, "input")
        known = properties.get("properties", {}) if isinstance(properties, dict) else {}
        if taken := sorted(set(more) & (set(known) | {self._clock_as or ""})):
            raise UsageError(f"bound({taken[0]}=...) given, a name that is no argument of the tool accepted")
        given = copy.copy(self)
        given._more = {**self._more, **more}
        return given

    def check(self, arguments: Mapping[str, Any]) -> tuple[Breach, ...]:
        """What stands against this call before it is made; nothing runs but the preconditions."""
        found = self._before(arguments, self._now())
        return found.breaches if isinstance(found, Outcome) else ()

    def refusal(self, arguments: Mapping[str, Any]) -> Outcome | None:
        """As ``check``: the outcome that this call would have now, None when nothing stands against it."""
        found = self._before(arguments, self._now())
        return found if isinstance(found, Outcome) else None

    def outcome(self, arguments: Mapping[str, Any]) -> Outcome:
        """Call the tool; never raises for what caller, tool or description do.

        Raises UsageError for an async function (``aoutcome`` is for it) and for a clock without offset.
        """
        if self.is_async:
            raise UsageError(
                f"{self.name} is async: outcome given, aoutcome accepted (acall instead of call)"
            )
        moment = self._now()
        taken = self._before(arguments, moment)
        if isinstance(taken, Outcome):
            return self._told(taken)
        try:
            value = self._run(taken, moment)
        except ToolFailure as failure:
            value = failure
        except (Exception, SystemExit) as error:
            return self._told(self._raised(error, moment))
        return self._told(self._after(taken, value, moment))

    async def aoutcome(self, arguments: Mapping[str, Any]) -> Outcome:
        """As ``outcome``; a function that is not async runs in a thread. Cancelling it cancels the tool."""
        moment = self._now()
        taken = self._before(arguments, moment)
        if isinstance(taken, Outcome):
            return self._told(taken)
        try:
            value = await self._arun(taken, moment)
        except ToolFailure as failure:
            value = failure
        except (Exception, SystemExit) as error:
            return self._told(self._raised(error, moment))
        return self._told(self._after(taken, value, moment))

    def call(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The envelope of ``outcome``."""
        return self.outcome(arguments).envelope

    async def acall(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The envelope of ``aoutcome``."""
        return (await self.aoutcome(arguments)).envelope

    def demand(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The data of a success.

        Raises CallerBreach or ToolBreach (also for a wrong description), ContractError with an empty blame
        for a failure that the tool declares; each carries the envelope.
        """
        return _demanded(self.outcome(arguments))

    async def ademand(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """As ``demand``, for ``aoutcome``."""
        return _demanded(await self.aoutcome(arguments))

    def __call__(self, /, **arguments: Any) -> Any:
        """``call`` with the arguments by name; for an async function a coroutine that gives the envelope."""
        return self.acall(arguments) if self.is_async else self.call(arguments)

    def __get__(self, instance: Any, owner: type | None = None) -> Contract:
        """A decorated method is a contract bound to its object."""
        if instance is None:
            return self
        bound = copy.copy(self)
        bound._function = self._function.__get__(instance, owner)
        return bound

    # before

    def _now(self) -> datetime:
        now = self._clock()
        if now.tzinfo is None:
            raise UsageError(f"the clock says {now.isoformat()}, a time with an offset accepted")
        return now

    def _before(self, arguments: Any, moment: datetime) -> Outcome | dict[str, Any]:
        if self.faults:
            first = self.faults[0]
            return self._refused(
                "description",
                [
                    Breach("description", "description", each.pointer, each.keyword, each.message)
                    for each in self.faults
                ],
                moment,
                self._say("description", tool=self.name),
                self._say("description.expected"),
                self._say("description.solution", pointer=first.pointer or "/"),
            )
        if not isinstance(arguments, Mapping):
            wrong = [Problem("", f"{type(arguments).__name__} is no object", "type")]
            return self._bad_arguments({}, wrong, moment)
        copied, wrong = copied_json(dict(arguments))
        if wrong:
            return self._bad_arguments({}, wrong, moment)
        if wrong := problems(copied, schema_of(self.description, "input")):
            return self._bad_arguments(copied, wrong, moment)
        if self._clock_as in copied:
            wrong = [Problem(f"/{self._clock_as}", "the tool has the time from its own clock", "clock")]
            return self._bad_arguments(copied, wrong, moment)
        if taken := next((name for name in self._more if name in copied), None):
            wrong = [Problem(pointer_of([taken]), "the tool has it from its host", "bound")]
            return self._bad_arguments(copied, wrong, moment)
        return self._conditions("precondition", self.pre, copied, moment) or copied

    def _bad_arguments(self, arguments: Any, wrong: Sequence[Problem], moment: datetime) -> Outcome:
        schema = schema_of(self.description, "input")
        listed = [explained(each, arguments, schema) for each in wrong]
        advised = [advice(each, self._lang) for each in listed]
        where = listed[0]["pointer"] + "".join(f"/{name}" for name in listed[0].get("missing", ())[:1])
        return self._refused(
            "arguments",
            [Breach("caller", "arguments", each.pointer, each.keyword, each.message) for each in wrong],
            moment,
            self._say(
                "arguments", tool=self.name, message=wrong[0].message, where=where, rule=wrong[0].keyword
            ),
            "; ".join(dict.fromkeys(expected for expected, _ in advised)),
            "; ".join(dict.fromkeys(solution for _, solution in advised)),
            {"field": where, "problems": listed},
        )

    def _conditions(
        self, kind: Kind, conditions: Iterable[Condition], values: Any, moment: datetime
    ) -> Outcome | None:
        """The outcome of the first condition that does not hold; the others that do not are listed in it."""
        broken: list[Condition] = []
        for condition in conditions:
            try:
                verdict = condition.holds(copy.deepcopy(values), moment)
            except Exception as error:
                if broken:
                    continue  # it may have relied on the one that is broken
                return self._unfit(condition, moment, error)
            if inspect.iscoroutine(verdict):
                verdict.close()
            if not isinstance(verdict, bool):
                return self._unfit(condition, moment, None)
            if not verdict:
                broken.append(condition)
        if not broken:
            return None
        first = broken[0]
        blame: Blame = "caller" if kind == "precondition" else "tool"
        breaches = [Breach(blame, kind, each.field, each.id, self._words(each.says)) for each in broken]
        try:
            says = self._words(first.says)
            own = copied_json(dict(first.details(copy.deepcopy(values), moment)))[0] if first.details else {}
            return self._refused(
                kind,
                breaches,
                moment,
                self._words(first.text, values, moment) or says,
                self._words(first.expected, values, moment) or says,
                self._words(first.solution, values, moment) or self._say("condition.solution", says=says),
                own
                or {
                    "field": first.field,
                    "problems": [
                        {"pointer": each.pointer, "rule": each.rule, "message": each.message}
                        for each in breaches
                    ],
                },
                code=first.code,
            )
        except Exception as error:
            return self._unfit(first, moment, error)

    def _unfit(self, condition: Condition, moment: datetime, error: BaseException | None) -> Outcome:
        """A condition that can't be evaluated is a fault of the description."""
        message = self._say("unfit", id=condition.id)
        outcome = self._refused(
            "description",
            [Breach("description", "description", condition.field, condition.id, message)],
            moment,
            message,
            self._say("description.expected"),
            self._say("description.solution", pointer=condition.id),
        )
        return replace(outcome, cause=error)

    # the call itself

    def _named(self, arguments: dict[str, Any], moment: datetime) -> dict[str, Any]:
        given = copy.deepcopy(arguments)
        if self._more:
            given |= self._more
        return given if self._clock_as is None else given | {self._clock_as: moment}

    def _run(self, arguments: dict[str, Any], moment: datetime) -> Any:
        given = self._named(arguments, moment)
        if self._deadline is None:
            value = self._function(**given)
        else:
            try:
                value = _threaded(self._function, given).result(self._deadline)
            except TimeoutError as error:
                if isinstance(error, _Own):
                    raise error.error from None
                raise _Late from None
        if inspect.iscoroutine(value):
            value.close()
        return value

    async def _arun(self, arguments: dict[str, Any], moment: datetime) -> Any:
        given = self._named(arguments, moment)
        work: Awaitable[Any]
        work = (
            self._function(**given)
            if self.is_async
            else asyncio.wrap_future(_threaded(self._function, given))
        )
        task = asyncio.ensure_future(work)
        try:
            await asyncio.wait({task}, timeout=self._deadline)
        except BaseException:
            task.cancel()
            raise
        if not task.done():
            task.cancel()
            task.add_done_callback(_looked_at)
            raise _Late
        try:
            value = task.result()
        except asyncio.CancelledError:
            raise RuntimeError("the tool cancelled itself") from None
        except _Own as own:
            raise own.error from None
        return await value if inspect.isawaitable(value) else value

    def _late(self, moment: datetime) -> Outcome:
        seconds = f"{self._deadline:g}"
        return self._refused(
            "deadline",
            [
                Breach(
                    "tool", "deadline", "", "deadline", self._say("deadline", tool=self.name, seconds=seconds)
                )
            ],
            moment,
            self._say("deadline", tool=self.name, seconds=seconds),
            self._say("deadline.expected", seconds=seconds),
            self._say("deadline.solution"),
        )

    def _raised(self, error: BaseException, moment: datetime) -> Outcome:
        if isinstance(error, _Late):
            return self._late(moment)
        outcome = self._refused(
            "exception",
            [Breach("tool", "exception", "", "exception", self._say("exception", tool=self.name))],
            moment,
            self._say("exception", tool=self.name),
            self._say("exception.expected"),
            self._say("exception.solution"),
        )
        return replace(outcome, cause=error)

    # after

    def _after(self, arguments: dict[str, Any], value: Any, moment: datetime) -> Outcome:
        if isinstance(value, ToolFailure):
            return self._declared(_failure_envelope(value, moment), moment)
        copied, wrong = copied_json(value)
        if wrong:
            return self._bad_result(wrong, moment)
        schema = schema_of(self.description, "success")
        if self._returns == "data":
            whole = speaks_of_envelopes(schema)
            data = copied if isinstance(copied, dict) or whole else {"value": copied}
            answer: dict[str, Any] = {
                "status": "success",
                "data": data,
                "meta": {"timestamp": envelopes.timestamp(moment)},
            }
            wrong = envelopes.problems_of(answer) or problems(answer if whole else copied, schema)
            judged: Any = copied
        else:
            answer = copied
            if wrong := envelopes.problems_of(answer):
                return self._bad_result(wrong, moment)
            if answer["status"] == "error":
                return self._declared(answer, moment)
            judged = answer["data"]
            wrong = problems(answer if speaks_of_envelopes(schema) else judged, schema)
        if wrong:
            return self._bad_result(wrong, moment)
        values = {"arguments": arguments, "result": judged}
        return self._conditions("postcondition", self.post, values, moment) or Outcome(
            answer, None, (), moment
        )

    def _declared(self, answer: dict[str, Any], moment: datetime) -> Outcome:
        """An error of the tool's own: fine when it has the form and the code that were declared."""
        copied, wrong = copied_json(answer)
        if wrong := wrong or envelopes.problems_of(copied):
            return self._bad_result(wrong, moment)
        code = copied["data"]["code"]
        known = [failure.code for failure in self.description.failures]
        if known and code not in known:
            message = self._say("undeclared", tool=self.name)
            return self._refused(
                "undeclared",
                [Breach("tool", "undeclared", "/data/code", "failures", message)],
                moment,
                message,
                self._say("undeclared.expected", codes=", ".join(known)),
                self._say("result.solution"),
                {"field": "/data/code", "received": short(code)},
            )
        schema = schema_of(self.description, "error")
        if wrong := problems(copied if speaks_of_envelopes(schema) else copied["data"], schema):
            return self._bad_result(wrong, moment)
        return Outcome(copied, None, (), moment)

    def _bad_result(self, wrong: Sequence[Problem], moment: datetime) -> Outcome:
        """The result itself stays here: what breaks its schema may hold what was not meant to leave."""
        listed = [{"pointer": each.pointer, "keyword": each.keyword} for each in wrong]
        return self._refused(
            "result",
            [Breach("tool", "result", each.pointer, each.keyword, each.message) for each in wrong],
            moment,
            self._say("result", tool=self.name, pointer=wrong[0].pointer or "/", rule=wrong[0].keyword),
            self._say("result.expected"),
            self._say("result.solution"),
            {"field": wrong[0].pointer, "problems": listed},
        )

    # words

    def _refused(
        self,
        kind: Kind,
        breaches: Sequence[Breach],
        moment: datetime,
        text: str,
        expected: str,
        solution: str,
        details: Mapping[str, Any] | None = None,
        *,
        code: str | None = None,
    ) -> Outcome:
        answer = envelopes.error(
            code or self.codes[kind],
            text,
            details=dict(details or {"field": breaches[0].pointer}),
            expected=expected,
            solution=solution,
            at=moment,
        )
        return Outcome(answer, breaches[0].blame, tuple(breaches), moment)

    def _told(self, outcome: Outcome) -> Outcome:
        if self._observe is not None:
            self._observe(outcome)
        return outcome

    def _words(self, words: Words | None, values: Any = None, moment: datetime | None = None) -> str:
        if words is None:
            return ""
        if isinstance(words, Mapping):
            return words.get(self._lang) or next(iter(words.values()))
        assert moment is not None
        return str(words(copy.deepcopy(values), moment))

    def _say(self, what: str, **words: Any) -> str:
        return say(self._lang, what, **words)


def contract(
    description: ToolDescription | Document | Mapping[str, Any], **options: Any
) -> Callable[[Callable[..., Any]], Contract]:
    """A decorator that makes a ``Contract`` of a function; the options are those of ``Contract``."""

    def made(function: Callable[..., Any]) -> Contract:
        return Contract(description, function, **options)

    return made


def _one(description: ToolDescription | Document | Mapping[str, Any]) -> ToolDescription:
    if isinstance(description, ToolDescription):
        return description
    found = read(description)
    if len(found) != 1:
        raise UsageError(f"a document with {len(found)} tools given, one accepted (or one ToolDescription)")
    return found[0]


def _demanded(outcome: Outcome) -> dict[str, Any]:
    data = outcome.envelope["data"]
    if outcome.succeeded:
        return data  # type: ignore[no-any-return]
    text = f"{data['code']}: {data['text']}"
    pointer = outcome.breaches[0].pointer if outcome.breaches else ""
    if outcome.blame is None:
        raise ContractError(text, "", pointer, outcome.envelope)
    leaf = CallerBreach if outcome.blame == "caller" else ToolBreach
    raise leaf(text, outcome.blame, pointer, outcome.envelope) from None


def _failure_envelope(failure: ToolFailure, moment: datetime) -> dict[str, Any]:
    return {
        "status": "error",
        "data": {
            "code": failure.code,
            "text": failure.text,
            "details": failure.details,
            "expected": failure.expected,
            "solution": failure.solution,
        },
        "meta": {"timestamp": envelopes.timestamp(moment)},
    }


# threads


class _Late(Exception):
    """The deadline passed."""


class _Own(TimeoutError):
    """Carries what a tool raised out of its thread, so that its own TimeoutError is no deadline."""

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error


def _threaded(function: Callable[..., Any], given: dict[str, Any]) -> Future[Any]:
    """The function on its way in a thread that keeps nothing alive."""
    result: Future[Any] = Future()
    context = contextvars.copy_context()

    def work() -> None:
        if not result.set_running_or_notify_cancel():
            return
        try:
            value = context.run(function, **given)
        except BaseException as error:
            result.set_exception(_Own(error))
        else:
            result.set_result(value)

    threading.Thread(target=work, name="contract", daemon=True).start()
    return result


def _looked_at(task: asyncio.Future[Any]) -> None:
    if not task.cancelled():
        task.exception()
