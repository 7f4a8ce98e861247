"""What a role may do, what a capability takes, what a result is; checked at both sides of every boundary.

Three contracts meet where one agent asks another for something:

* a **role** (``RoleContract``): the operations in its scope, what it may decide alone, what it must escalate,
  what it must declare with every request. What it may neither decide nor is told to escalate is escalated;
* a **capability** (``CapabilityContract``): operations with typed inputs;
* a **result** (``ResultContract``): its shape, the ranges that its numbers must lie in, the error case.

A ``Boundary`` checks the request as it leaves the caller and again as it reaches the provider, and the result
as it leaves the provider and again as it reaches the caller, each side by its own copy of the capability. A
breach at the second check of a pair means that the two copies differ, and is blamed on the contract.

Nothing is repaired in silence: no value is converted, no member added or dropped, no range clipped. There are
three answers to a breach, and each one stands in ``Passage.steps``: **retry** with the error as feedback,
**degrade** to a result that was declared as second best, or **escalate** to somebody who may decide.
What is delivered is, member by member, what the provider gave.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Awaitable, Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

from ai_evolution.atdf import envelope as envelopes
from ai_evolution.atdf.description import ToolDescription
from ai_evolution.atdf.documents import pointer_of
from ai_evolution.atdf.faults import schema_of, speaks_of_envelopes
from ai_evolution.atdf.schemas import Problem, check_schema, problems
from ai_evolution.atdf.values import copied_json
from ai_evolution.errors import UsageError

Place = Literal["caller-out", "provider-in", "provider-out", "caller-in"]
Ruling = Literal["alone", "escalate", "outside"]
Ending = Literal["delivered", "failed", "degraded", "escalated", "refused"]
Move = Literal["request", "revise", "perform", "retry", "degrade", "escalate", "approve", "refuse"]


@dataclass(frozen=True)
class Rule:
    """Which requests something holds for: an operation (``*``: any) and a schema that its arguments fit."""

    id: str
    says: Mapping[str, str]
    operation: str = "*"
    when: Any = True

    def applies(self, operation: str, arguments: Any) -> bool:
        """Whether the request is one of those; a schema that can't be evaluated applies to none."""
        return self.operation in ("*", operation) and not problems(arguments, self.when, limit=1)


@dataclass(frozen=True)
class RoleContract:
    """What an agent in this role may do.

    ``scope`` names the operations that it may ask for at all, ``says`` puts that into words. ``alone`` are
    the requests that it decides by itself, ``escalates`` those that it never does, whatever ``alone`` says.
    ``declares`` are the names, with their schemas, of what must be declared with each request (a reason,
    a confidence).
    Raises UsageError for a schema that is none.
    """

    name: str
    says: Mapping[str, str]
    scope: frozenset[str]
    alone: tuple[Rule, ...] = ()
    escalates: tuple[Rule, ...] = ()
    declares: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for what, schema in (
            *((f"rule {rule.id}", rule.when) for rule in (*self.alone, *self.escalates)),
            *((f"declaration {name}", schema) for name, schema in self.declares.items()),
        ):
            _must_be_schema(f"role {self.name}: {what}", schema)

    def ruling(self, operation: str, arguments: Any) -> tuple[Ruling, Rule | None]:
        """Whether a request is the role's own to decide, and the rule that says so (None: no rule does)."""
        if operation not in self.scope:
            return "outside", None
        for rule in self.escalates:
            if rule.applies(operation, arguments):
                return "escalate", rule
        for rule in self.alone:
            if rule.applies(operation, arguments):
                return "alone", rule
        return "escalate", None

    def undeclared(self, declared: Mapping[str, Any]) -> list[Problem]:
        """What of the declarations is missing or wrong; pointers go into ``declared``."""
        found = []
        for name, schema in self.declares.items():
            if name not in declared:
                found.append(Problem(pointer_of([name]), f"{name!r} is not declared", "required"))
            else:
                found += [
                    Problem(pointer_of([name]) + each.pointer, each.message, each.keyword)
                    for each in problems(declared[name], schema)
                ]
        return found


@dataclass(frozen=True)
class Range:
    """The numbers at ``pointer`` (``*`` for any step, ``/items/*/price``) lie between the two, ends included.

    What is not there is not judged: whether it must be is the shape's business. What is there is a number.
    """

    pointer: str
    minimum: float = -math.inf
    maximum: float = math.inf
    unit: str = ""

    def problems(self, result: Any) -> list[Problem]:
        """The values out of range."""
        found = []
        span = f"{self.minimum:g} to {self.maximum:g}{' ' + self.unit if self.unit else ''}"
        for at, value in self.reached(result):
            if isinstance(value, bool) or not isinstance(value, int | float):
                found.append(Problem(pointer_of(at), f"no number, {span} accepted", "range"))
            elif not self.minimum <= value <= self.maximum:
                found.append(Problem(pointer_of(at), f"{value!r:.40} is outside {span}", "range"))
        return found

    def reached(self, result: Any) -> Iterator[tuple[list[str | int], Any]]:
        """Each place in ``result`` that the pointer reaches, as its steps, with what stands there."""
        return _reached(result, self.pointer.split("/")[1:], ())


@dataclass(frozen=True)
class ResultContract:
    """What a result is: its ``shape`` (a JSON Schema), ``ranges``, and ``error`` (schema of an error's data).

    A failure is an error envelope of the ``seed`` dialect. Without ``error`` any such failure is accepted.
    """

    shape: Any = True
    ranges: tuple[Range, ...] = ()
    error: Any = True

    def problems(self, result: Any) -> list[Problem]:
        """What a result breaks: an error envelope the error case, anything else shape and ranges."""
        if is_failure(result):
            return problems(result["data"], self.error)
        return problems(result, self.shape) or [
            problem for span in self.ranges for problem in span.problems(result)
        ]


@dataclass(frozen=True)
class Operation:
    """One thing that can be asked for: the schema of its input, and what comes back."""

    input: Any = True
    result: ResultContract = ResultContract()

    @classmethod
    def of(cls, description: ToolDescription, ranges: Sequence[Range] = ()) -> Operation:
        """The operation that a tool's description promises; its result is the data of a success."""
        shapes = [schema_of(description, part) for part in ("success", "error")]
        data = [
            schema["properties"]["data"] if speaks_of_envelopes(schema) else schema for schema in shapes
        ]  # a reference out of data would lose its root: such a schema is refused by CapabilityContract
        return cls(schema_of(description, "input"), ResultContract(data[0], tuple(ranges), data[1]))


@dataclass(frozen=True)
class CapabilityContract:
    """Operations by name. Raises UsageError for a schema that is none."""

    name: str
    operations: Mapping[str, Operation]

    def __post_init__(self) -> None:
        for name, operation in self.operations.items():
            for part, schema in (
                ("input", operation.input),
                ("shape", operation.result.shape),
                ("error", operation.result.error),
            ):
                _must_be_schema(f"capability {self.name}: {part} of {name}", schema)

    def request(self, operation: str, arguments: Any) -> list[Problem]:
        """What a request breaks; an operation that is not offered is one problem."""
        if operation not in self.operations:
            known = ", ".join(sorted(self.operations))
            return [Problem("", f"{operation!r} is not offered, {known} accepted", "operation")]
        return problems(arguments, self.operations[operation].input)

    def result(self, operation: str, result: Any) -> list[Problem]:
        """What a result breaks. Raises UsageError for an operation that is not offered."""
        if operation not in self.operations:
            raise UsageError(f"{operation!r} given, {', '.join(sorted(self.operations))} accepted")
        return self.operations[operation].result.problems(result)


def is_failure(result: Any) -> bool:
    """Whether a result is the error case: an error envelope of the ``seed`` dialect."""
    return (
        isinstance(result, Mapping) and result.get("status") == "error" and not envelopes.problems_of(result)
    )


# the boundary


@dataclass(frozen=True)
class Request:
    """What the provider is asked. ``attempt`` counts from 1, ``feedback`` is the error of the one before."""

    operation: str
    arguments: dict[str, Any]
    attempt: int
    feedback: dict[str, Any] | None


@dataclass(frozen=True)
class Breach:
    """What broke, at which check, by whom: caller, provider, or ``contract`` when the copies differ."""

    place: Place
    blame: Literal["caller", "provider", "contract"]
    pointer: str
    rule: str
    message: str


@dataclass(frozen=True)
class Step:
    """One thing that happened on the way, with what broke (if anything) and the error it led to."""

    move: Move
    breaches: tuple[Breach, ...] = ()
    envelope: dict[str, Any] | None = None
    note: str = ""


@dataclass(frozen=True)
class Escalation:
    """What somebody else has to decide: who asks, for what, why, and what has broken so far."""

    role: str
    operation: str
    arguments: dict[str, Any]
    declared: dict[str, Any]
    reason: str
    breaches: tuple[Breach, ...] = ()


@dataclass(frozen=True)
class Degraded:
    """The second best: how it is made of a request, and its own contract, which it is held to."""

    says: Mapping[str, str]
    make: Callable[[str, dict[str, Any]], Any]
    result: ResultContract = ResultContract()


@dataclass(frozen=True)
class Passage:
    """How a crossing ended.

    ``delivered``: ``result`` is what the provider gave. ``failed``: the provider answered with its error
    case, which is in ``envelope``. ``degraded``: ``result`` is the declared second best. ``escalated``:
    somebody else has it now, ``escalation`` says what. ``refused``: ``envelope`` says why. ``steps`` tells
    all of it.
    """

    ending: Ending
    result: Any
    envelope: dict[str, Any] | None
    steps: tuple[Step, ...]
    escalation: Escalation | None = None

    @property
    def breaches(self) -> tuple[Breach, ...]:
        """Everything that broke on the way, also what a retry made good."""
        return tuple(breach for step in self.steps for breach in step.breaches)

    @property
    def attempts(self) -> int:
        """How often the provider was asked."""
        return sum(step.move in ("perform", "retry") for step in self.steps)


Perform = Callable[[Request], Any]
Revise = Callable[[dict[str, Any], dict[str, Any]], Mapping[str, Any] | None]


class Boundary:
    """Where a role asks a capability.

    ``provider`` is the provider's copy of the capability, ``expects`` the caller's (the same, if not given).
    ``retries`` is how often a request may be revised and a result asked for again. ``degrade`` is the second
    best. ``escalate`` is whoever decides: True lets a request pass that the role must escalate. Without it,
    and with any other answer, such a request ends ``escalated``; so does a result that stays broken, if there
    is somebody to decide. ``lang`` is the language of the errors and notes.
    """

    def __init__(
        self,
        caller: RoleContract,
        provider: CapabilityContract,
        *,
        expects: CapabilityContract | None = None,
        retries: int = 1,
        degrade: Degraded | None = None,
        escalate: Callable[[Escalation], bool | None] | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        lang: str = "en",
    ) -> None:
        if retries < 0:
            raise UsageError(f"retries={retries} given, 0 or more accepted")
        self.caller, self.provider = caller, provider
        self.expects = expects if expects is not None else provider
        self._retries, self._degrade, self._escalate, self._clock = retries, degrade, escalate, clock
        self._lang = "es" if lang == "es" else "en"

    def cross(
        self,
        operation: str,
        arguments: Mapping[str, Any],
        perform: Perform,
        *,
        declared: Mapping[str, Any] | None = None,
        revise: Revise | None = None,
    ) -> Passage:
        """Ask for an operation. ``perform`` is the provider; what it raises is a breach, its text stays here.

        ``revise`` is the caller: it gets its arguments and the error, and gives new arguments or None.
        """
        crossing = self._crossing(operation, arguments, declared or {}, revise)
        try:
            request = next(crossing)
            while True:
                try:
                    answer: tuple[Any, bool] = (perform(request), True)
                except Exception:
                    answer = (None, False)
                request = crossing.send(answer)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]

    async def across(
        self,
        operation: str,
        arguments: Mapping[str, Any],
        perform: Callable[[Request], Awaitable[Any]],
        *,
        declared: Mapping[str, Any] | None = None,
        revise: Revise | None = None,
    ) -> Passage:
        """As ``cross``, for an async provider."""
        crossing = self._crossing(operation, arguments, declared or {}, revise)
        try:
            request = next(crossing)
            while True:
                try:
                    answer: tuple[Any, bool] = (await perform(request), True)
                except Exception:
                    answer = (None, False)
                request = crossing.send(answer)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]

    def _crossing(
        self, operation: str, arguments: Mapping[str, Any], declared: Mapping[str, Any], revise: Revise | None
    ) -> Generator[Request, tuple[Any, bool], Passage]:
        steps: list[Step] = []
        given: Any = arguments
        for attempt in range(self._retries + 1):
            plain, breaches = self._leaving(operation, given, declared)
            if not breaches:
                break
            error = self._error("INVALID_REQUEST", operation, breaches)
            steps.append(Step("request", breaches, error))
            last = attempt == self._retries or revise is None or breaches[0].rule == "scope"
            given = None if last or revise is None else revise(plain, copy.deepcopy(error))
            if given is None:
                return self._refused(steps, error)
            steps.append(Step("revise"))
        escalation = self._authority(operation, plain, declared)
        if escalation is not None:
            if self._escalate is None or self._escalate(escalation) is not True:
                steps.append(Step("escalate", note=escalation.reason))
                return Passage("escalated", None, None, tuple(steps), escalation)
            steps.append(Step("approve", note=escalation.reason))
        wrong = self.provider.request(operation, plain)
        if breaches := _breaches("provider-in", "contract", wrong):
            error = self._error("CONTRACTS_DIFFER", operation, breaches)
            steps.append(Step("request", breaches, error))
            return self._refused(steps, error)
        feedback: dict[str, Any] | None = None
        for attempt in range(1, self._retries + 2):
            raw, came = yield Request(operation, copy.deepcopy(plain), attempt, feedback)
            result, breaches = self._arriving(operation, raw, came)
            move: Move = "perform" if attempt == 1 else "retry"
            if not breaches:
                steps.append(Step(move))
                if is_failure(result):
                    return Passage("failed", None, result, tuple(steps))
                return Passage("delivered", result, None, tuple(steps))
            feedback = self._error("INVALID_RESULT" if came else "PROVIDER_FAILED", operation, breaches)
            steps.append(Step(move, breaches, feedback))
        return self._given_up(operation, plain, declared, steps, feedback)

    def _given_up(
        self,
        operation: str,
        arguments: dict[str, Any],
        declared: Mapping[str, Any],
        steps: list[Step],
        error: dict[str, Any] | None,
    ) -> Passage:
        broken = tuple(breach for step in steps for breach in step.breaches)
        if self._degrade is not None:
            try:
                second, wrong = copied_json(self._degrade.make(operation, copy.deepcopy(arguments)))
                wrong = wrong or self._degrade.result.problems(second)
            except Exception:
                second, wrong = None, [Problem("", _SAYS[self._lang]["second best"], "exception")]
            breaches = _breaches("caller-in", "provider", wrong)
            steps.append(Step("degrade", breaches, note=self._degrade.says.get(self._lang, "")))
            if not breaches:
                return Passage("degraded", second, error, tuple(steps))
            broken += breaches
        if self._escalate is not None:
            reason = _SAYS[self._lang]["stays broken"]
            escalation = Escalation(self.caller.name, operation, arguments, dict(declared), reason, broken)
            self._escalate(escalation)
            steps.append(Step("escalate", note=reason))
            return Passage("escalated", None, error, tuple(steps), escalation)
        return self._refused(steps, error)

    def _refused(self, steps: list[Step], error: dict[str, Any] | None) -> Passage:
        return Passage("refused", None, error, (*steps, Step("refuse", envelope=error)))

    def _leaving(
        self, operation: str, arguments: Any, declared: Mapping[str, Any]
    ) -> tuple[dict[str, Any], tuple[Breach, ...]]:
        """The request as it leaves the caller: in scope, of the right type, with what must be declared."""
        if not isinstance(arguments, Mapping):
            wrong = [Problem("", f"{type(arguments).__name__} is no object", "type")]
            return {}, _breaches("caller-out", "caller", wrong)
        plain, wrong = copied_json(dict(arguments))
        if wrong:
            return {}, _breaches("caller-out", "caller", wrong)
        if operation not in self.caller.scope:
            message = _SAYS[self._lang]["scope"].format(operation=operation, role=self.caller.name)
            return plain, (Breach("caller-out", "caller", "", "scope", message),)
        wrong = self.expects.request(operation, plain)
        missing = [
            Breach("caller-out", "caller", each.pointer, "declares", each.message)
            for each in self.caller.undeclared(declared)
        ]
        return plain, (*_breaches("caller-out", "caller", wrong), *missing)

    def _authority(
        self, operation: str, arguments: dict[str, Any], declared: Mapping[str, Any]
    ) -> Escalation | None:
        ruling, rule = self.caller.ruling(operation, arguments)
        if ruling == "alone":
            return None
        reason = rule.says.get(self._lang, rule.id) if rule is not None else _SAYS[self._lang]["no rule"]
        return Escalation(self.caller.name, operation, copy.deepcopy(arguments), dict(declared), reason)

    def _arriving(self, operation: str, raw: Any, came: bool) -> tuple[Any, tuple[Breach, ...]]:
        """The result as it leaves the provider, and as it reaches the caller."""
        if not came:
            return None, (
                Breach("provider-out", "provider", "", "exception", _SAYS[self._lang]["exception"]),
            )
        result, wrong = copied_json(raw)
        if wrong := wrong or self.provider.result(operation, result):
            return None, _breaches("provider-out", "provider", wrong)
        return result, _breaches("caller-in", "contract", self.expects.result(operation, result))

    def _error(self, code: str, operation: str, breaches: Sequence[Breach]) -> dict[str, Any]:
        first, says = breaches[0], _SAYS[self._lang]
        where = first.pointer or "/"
        return envelopes.error(
            code,
            says["text"].format(operation=operation, where=where, message=first.message),
            details={
                "field": first.pointer,
                "blame": first.blame,
                "problems": [
                    {"pointer": each.pointer, "rule": each.rule, "message": each.message, "place": each.place}
                    for each in breaches
                ],
            },
            expected=says["request" if first.place in ("caller-out", "provider-in") else "result"],
            solution=says["solution"].format(where=where, rule=first.rule),
            at=self._clock(),
        )


def _breaches(
    place: Place, blame: Literal["caller", "provider", "contract"], wrong: Sequence[Problem]
) -> tuple[Breach, ...]:
    return tuple(Breach(place, blame, each.pointer, each.keyword, each.message) for each in wrong)


def _reached(
    value: Any, steps: Sequence[str], at: tuple[str | int, ...]
) -> Iterator[tuple[list[str | int], Any]]:
    if not steps:
        yield list(at), value
        return
    name = steps[0].replace("~1", "/").replace("~0", "~")
    if isinstance(value, Mapping):
        for key in value if name == "*" else [name] if name in value else []:
            yield from _reached(value[key], steps[1:], (*at, key))
    elif isinstance(value, list):
        for place, each in enumerate(value):
            if name in ("*", str(place)):
                yield from _reached(each, steps[1:], (*at, place))


def _must_be_schema(what: str, schema: Any) -> None:
    for problem in check_schema(schema):
        raise UsageError(f"{what} is no JSON Schema: at {problem.pointer or '/'}, {problem.message}")


_SAYS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "text": "{operation}: at {where}, {message}",
        "request": "a request as agreed",
        "result": "a result as agreed",
        "solution": "Correct {where} ({rule}) and try again, or hand the matter over",
        "scope": "{operation!r} is outside the role {role!r}",
        "exception": "the provider failed",
        "second best": "the second best failed too",
        "no rule": "no rule lets the role decide this alone",
        "stays broken": "the provider's result stays broken",
    },
    "es": {
        "text": "{operation}: en {where}, {message}",
        "request": "una petición como la acordada",
        "result": "un resultado como el acordado",
        "solution": "Corrige {where} ({rule}) y prueba de nuevo, o pasa el asunto a otra persona",
        "scope": "{operation!r} está fuera del papel {role!r}",
        "exception": "el proveedor falló",
        "second best": "la segunda opción también falló",
        "no rule": "ninguna regla deja que este papel lo decida solo",
        "stays broken": "el resultado del proveedor sigue roto",
    },
}


__all__ = [
    "Boundary", "Breach", "CapabilityContract", "Degraded", "Escalation", "Operation", "Passage", "Range",
    "Request", "ResultContract", "RoleContract", "Rule", "Step", "is_failure",
]  # fmt: skip
