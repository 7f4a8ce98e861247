"""The examples of a description are tests of the tool, and so are the calls that its schema allows.

Each example runs at its own clock: the ``meta.timestamp`` of its output. "Both are in the future" was true
when the example was written, and the contract's clock is stopped there. What is compared, and what is let
pass, is said by ``Match`` and noted in the result; nothing matches by luck:

* a text that ends in an ellipsis (``...`` or ``…``) is the beginning of a text, and every ellipsis in
  it stands for any words; a text without one at its end is compared to the letter;
* ``volatile`` pointers may have any value of the same type, ``prose`` pointers any text that is not empty;
* whatever else differs, also a member too many, is a difference.

An example whose output is prose (the classic forms have a sentence there) only shows that the call succeeds,
and its result says that nothing was compared.

``unreached_codes`` names the failures that are declared and shown by no example, ``uncovered_codes`` those
that the contract may answer with and the error schema does not provide for. ``trials`` calls the tool with
generated arguments, half of them acceptable: whatever comes in, an envelope comes out, acceptable arguments
are never answered with a fault of the tool, and others never reach it. Many calls without a fault are
evidence and no proof: after n of them, the rate of faulty inputs is below about 3/n (at 95 %).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from random import Random
from typing import Any, Literal

from ai_evolution.atdf.contract import Contract, Outcome
from ai_evolution.atdf.description import Example
from ai_evolution.atdf.envelope import error, problems_of
from ai_evolution.atdf.faults import is_ellipsis, schema_of, speaks_of_envelopes
from ai_evolution.atdf.samples import samples, strays
from ai_evolution.atdf.schemas import problems
from ai_evolution.errors import UsageError

_PROSE = frozenset(
    {"goal/input_values/expected_result", "title/inputs/expected_output"}
)  # vocabularies whose output is a sentence
_MARK = re.compile(r"\.\.\.|…")

Difference = Literal["missing", "extra", "different", "blame"]
_SAYS = {
    "en": {
        "holds": "example {index} holds",
        "uncompared": "example {index} holds (its output is prose: only success was looked at)",
        "missing": "example {index}: {pointer} is missing, {expected} expected",
        "extra": "example {index}: {pointer} is not in the example, {observed} observed",
        "different": "example {index}: at {pointer}, {expected} expected, {observed} observed",
        "blame": "example {index}: the call ended with {code}, to blame: {blame}",
        "nobody": "nobody",
    },
    "es": {
        "holds": "el ejemplo {index} se cumple",
        "uncompared": "el ejemplo {index} se cumple (su salida es prosa: solo se miró el éxito)",
        "missing": "ejemplo {index}: falta {pointer}, se esperaba {expected}",
        "extra": "ejemplo {index}: {pointer} no está en el ejemplo, se observó {observed}",
        "different": "ejemplo {index}: en {pointer} se esperaba {expected} y se observó {observed}",
        "blame": "ejemplo {index}: la llamada terminó con {code}, responsable: {blame}",
        "nobody": "nadie",
    },
}
_BLAMED = {"caller": "quien llama", "tool": "la herramienta", "description": "la descripción"}


@dataclass(frozen=True)
class Match:
    """What may differ between an example and what is observed. Pointers may have ``*`` for any step."""

    volatile: tuple[str, ...] = ()
    prose: tuple[str, ...] = ()
    ellipsis: bool = True


@dataclass(frozen=True)
class ExampleResult:
    """How one example ended.

    ``pointer`` and ``difference`` are those of the first difference; ``loosened`` lists where a rule of
    ``Match`` was needed and which; ``compared`` is false when the example has no output to compare with.
    """

    index: int
    holds: bool
    at: datetime
    expected: Any
    observed: Any
    outcome: Outcome
    pointer: str = ""
    difference: Difference | None = None
    loosened: tuple[tuple[str, str], ...] = ()
    compared: bool = True

    def says(self, lang: str = "en") -> str:
        """The result in one sentence."""
        says = _SAYS["es" if lang == "es" else "en"]
        what = self.difference or ("holds" if self.compared else "uncompared")
        blame = self.outcome.blame or says["nobody"]
        return says[what].format(
            index=self.index,
            pointer=self.pointer or "/",
            expected=_shown(_at(self.expected, self.pointer)),
            observed=_shown(_at(self.observed, self.pointer)),
            code=self.outcome.envelope["data"].get("code", "success"),
            blame=_BLAMED.get(blame, blame) if lang == "es" else blame,
        )


def run(contract: Contract, match: Match | None = None) -> list[ExampleResult]:
    """Run every example of the description against the tool, each at its own clock.

    For an async tool use ``arun``.
    """
    found = []
    for index, example, stopped in _stopped(contract):
        found.append(_compared(index, example, stopped.outcome(example.input), match or Match()))
    return found


async def arun(contract: Contract, match: Match | None = None) -> list[ExampleResult]:
    """As ``run``, for async tools too."""
    found = []
    for index, example, stopped in _stopped(contract):
        outcome = await stopped.aoutcome(example.input)
        found.append(_compared(index, example, outcome, match or Match()))
    return found


def declared_codes(contract: Contract) -> tuple[str, ...]:
    """The failure codes that are declared: in the list of failures, in the error schema, by preconditions."""
    codes = [failure.code for failure in contract.description.failures]
    schema = schema_of(contract.description, "error")
    steps = ("properties", "data", "properties", "code")
    for step in steps if speaks_of_envelopes(schema) else steps[2:]:
        schema = schema.get(step, {}) if isinstance(schema, Mapping) else {}
    if isinstance(schema, Mapping):
        codes += [schema["const"]] if "const" in schema else schema.get("enum", [])
    codes += [condition.code or contract.codes["precondition"] for condition in contract.pre]
    return tuple(dict.fromkeys(code for code in codes if isinstance(code, str)))


def unreached_codes(contract: Contract, results: Iterable[ExampleResult] | None = None) -> tuple[str, ...]:
    """The declared failure codes that no example reaches (``results`` of a run, or a new one)."""
    results = run(contract) if results is None else results
    reached = {result.outcome.envelope["data"].get("code") for result in results}
    return tuple(code for code in declared_codes(contract) if code not in reached)


def uncovered_codes(contract: Contract) -> tuple[str, ...]:
    """The codes of the contract's own errors that the declared error schema does not provide for.

    A caller who reads the description does not expect them; ``codes=`` of the contract, or a wider schema,
    mends that. Empty where no error schema is declared.
    """
    schema = schema_of(contract.description, "error")
    codes = [*contract.codes.values(), *(each.code for each in (*contract.pre, *contract.post) if each.code)]
    at = datetime(2026, 1, 5, tzinfo=UTC)
    found = []
    for code in dict.fromkeys(codes):
        answer = error(code, "x", details={}, expected="x", solution="x", at=at)
        if problems(answer if speaks_of_envelopes(schema) else answer["data"], schema, limit=1):
            found.append(code)
    return tuple(found)


@dataclass(frozen=True)
class Trial:
    """A call with generated arguments; ``acceptable`` when the input schema accepts them.

    ``fault`` is None, or ``invalid-envelope``, ``tool`` or ``description`` (to blame for an acceptable call),
    or ``let-through`` (arguments that the schema refuses did not end with the caller to blame).
    """

    arguments: Any
    acceptable: bool
    outcome: Outcome
    fault: str | None


def trials(contract: Contract, count: int = 100, seed: int = 0) -> list[Trial]:
    """Call the tool ``count`` times with arguments drawn from its schema, about half of them acceptable.

    The same seed draws the same arguments. Fewer calls come back when the schema is hard to please. The tool
    really runs: mind its effects.
    """
    drawn = _drawn(contract, count, seed)
    return [_tried(each, good, contract.outcome(each)) for each, good in drawn]


async def atrials(contract: Contract, count: int = 100, seed: int = 0) -> list[Trial]:
    """As ``trials``, for async tools too."""
    drawn = _drawn(contract, count, seed)
    return [_tried(each, good, await contract.aoutcome(each)) for each, good in drawn]


def _drawn(contract: Contract, count: int, seed: int) -> Iterator[tuple[Any, bool]]:
    if count < 1:
        raise UsageError(f"count={count} given, 1 or more accepted")
    chance = Random(f"{contract.name}:{seed}")
    schema = schema_of(contract.description, "input")
    for each in samples(schema, chance, (count + 1) // 2):
        if isinstance(each, dict):
            yield each, True
    for each in strays(schema, chance, count // 2):
        yield each, False


def _tried(arguments: Any, acceptable: bool, outcome: Outcome) -> Trial:
    fault = None
    if problems_of(outcome.envelope):
        fault = "invalid-envelope"
    elif outcome.blame in ("tool", "description"):
        fault = outcome.blame
    elif not acceptable and outcome.blame != "caller":
        fault = "let-through"
    return Trial(arguments, acceptable, outcome, fault)


# comparing


def _stopped(contract: Contract) -> Iterator[tuple[int, Example, Contract]]:
    for index, example in enumerate(contract.description.examples):
        moment = moment_of(example)
        yield index, example, contract if moment is None else contract.at(moment)


def moment_of(example: Example) -> datetime | None:
    """The example's own clock: the ``meta.timestamp`` of its output; None where there is none to be read."""
    output = example.output
    meta = output.get("meta") if isinstance(output, Mapping) else None
    text = meta.get("timestamp") if isinstance(meta, Mapping) else None
    try:
        moment = datetime.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        return None
    return moment if moment is not None and moment.tzinfo is not None else None


def _compared(index: int, example: Example, outcome: Outcome, match: Match) -> ExampleResult:
    prose = example.output is None or (isinstance(example.output, str) and example.vocabulary in _PROSE)
    observed = _side(example, outcome)
    result = ExampleResult(index, True, outcome.at, example.output, observed, outcome, compared=not prose)
    blamed = outcome.blame in ("tool", "description")
    if blamed or (prose and not outcome.succeeded):
        return _failed(result, "", "blame")
    if prose:
        return result
    loosened: list[tuple[str, str]] = []
    first = next(_differences(example.output, observed, "", match, loosened), None)
    if first is None:
        return replace(result, loosened=tuple(loosened))
    return _failed(result, *first)


def _failed(result: ExampleResult, pointer: str, difference: Difference) -> ExampleResult:
    return replace(result, holds=False, pointer=pointer, difference=difference)


def _side(example: Example, outcome: Outcome) -> Any:
    """What the example's output is compared with: the envelope when it is one, the data otherwise."""
    output = example.output
    if isinstance(output, Mapping) and output.get("status") in ("success", "error") and "data" in output:
        return outcome.envelope
    data = outcome.envelope["data"]
    wrapped = outcome.succeeded and not isinstance(output, Mapping) and set(data) == {"value"}
    return data["value"] if wrapped else data


def _differences(
    expected: Any, observed: Any, pointer: str, match: Match, loosened: list[tuple[str, str]]
) -> Iterator[tuple[str, Difference]]:
    if any(_matches(pattern, pointer) for pattern in match.volatile):
        loosened.append((pointer, "volatile"))
        if _sort(expected) != _sort(observed):
            yield pointer, "different"
    elif any(_matches(pattern, pointer) for pattern in match.prose):
        loosened.append((pointer, "prose"))
        if not isinstance(observed, str) or not observed.strip():
            yield pointer, "different"
    elif isinstance(expected, Mapping) and isinstance(observed, Mapping):
        for name in [*expected, *(name for name in observed if name not in expected)]:
            below = f"{pointer}/{name.replace('~', '~0').replace('/', '~1')}"
            if name not in observed:
                yield below, "missing"
            elif name not in expected:
                yield below, "extra"
            else:
                yield from _differences(expected[name], observed[name], below, match, loosened)
    elif isinstance(expected, list) and isinstance(observed, list):
        for place in range(max(len(expected), len(observed))):
            below = f"{pointer}/{place}"
            if place >= len(observed):
                yield below, "missing"
            elif place >= len(expected):
                yield below, "extra"
            else:
                yield from _differences(expected[place], observed[place], below, match, loosened)
    elif match.ellipsis and is_ellipsis(expected):
        loosened.append((pointer, "ellipsis"))
        if not isinstance(observed, str) or not _begins(expected, observed):
            yield pointer, "different"
    elif _sort(expected) != _sort(observed) or expected != observed:
        yield pointer, "different"


def _begins(expected: str, observed: str) -> bool:
    """Whether the words around the ellipses of ``expected`` stand in ``observed`` in their order."""
    first, *others = _MARK.split(expected)
    if not observed.startswith(first):
        return False
    place = len(first)
    for words in others:
        found = observed.find(words, place)
        if found < 0:
            return False
        place = found + len(words)
    return True


def _sort(value: Any) -> str:
    """The JSON type; an integer and a fraction are both numbers."""
    if isinstance(value, bool) or value is None:
        return str(type(value))
    return "number" if isinstance(value, int | float) else str(type(value))


def _matches(pattern: str, pointer: str) -> bool:
    wanted, given = pattern.split("/"), pointer.split("/")
    return len(wanted) == len(given) and all(w in ("*", g) for w, g in zip(wanted, given, strict=True))


def _at(value: Any, pointer: str) -> Any:
    for raw in pointer.split("/")[1:]:
        name = raw.replace("~1", "/").replace("~0", "~")
        if isinstance(value, Mapping) and name in value:
            value = value[name]
        elif isinstance(value, list) and name.isdigit() and int(name) < len(value):
            value = value[int(name)]
        else:
            return None
    return value


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:79] + "…"
