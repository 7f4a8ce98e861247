"""For each claim of the lab ``contracts``, a part bad enough to break it, and it alone.

Each is a mistake of a kind that real converters, validators, ledgers and service reports make.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from ai_evolution.atdf import allocation, attempts, compatibility, convert, examples, roles, sla
from ai_evolution.atdf.contract import Contract, Outcome
from ai_evolution.atdf.losses import Conversion
from ai_evolution.labs import dates
from ai_evolution.labs.contracts import Cast


def schema_alone(lang: str, **options: Any) -> Contract:
    """Believes that what has the right shape is right."""
    return dates.flawed(lang, lambda _given, _now: True, **options)


def format_ignored(lang: str, **options: Any) -> Contract:
    """Its schema says ``format`` and nobody checks it: the value goes through to the function."""
    whole = copy.deepcopy(dates.document(lang))
    for field in whole["tool"]["input"]["properties"].values():
        del field["format"]
    return dates.date_range(lang, **options | {"described": whole, "pre": []})


def not_after(lang: str, **options: Any) -> Contract:
    """Compares with "not after" where "before" is meant."""
    return dates.flawed(lang, dates.flaws()["end may be start"], **options)


class AlwaysTheCaller(Contract):
    """Whoever breaks what, the caller is told that it was the caller."""

    def outcome(self, arguments: Mapping[str, Any]) -> Outcome:
        found = super().outcome(arguments)
        return replace(found, blame="caller") if found.blame else found


class Talkative(Contract):
    """Puts the text of the exception into its answer, to be helpful."""

    def outcome(self, arguments: Mapping[str, Any]) -> Outcome:
        found = super().outcome(arguments)
        if found.cause is None:
            return found
        data = {**found.envelope["data"], "text": f"failed: {found.cause}"}
        return replace(found, envelope={**found.envelope, "data": data})


def at_the_wrong_time(contract: Contract, match: examples.Match) -> list[examples.ExampleResult]:
    """Runs every example at one time for all, as a test with the machine's clock would."""
    late = datetime.fromisoformat("2026-11-30T00:00:00+00:00")
    stopped = _Stopped(contract, late)
    return examples.run(stopped, match)  # type: ignore[arg-type]


class _Stopped:
    """A contract whose clock can't be set."""

    def __init__(self, contract: Contract, moment: datetime) -> None:
        self._contract = contract.at(moment)
        self.description = contract.description

    def at(self, _moment: datetime) -> Contract:
        return self._contract


def codes_from_examples_only(contract: Contract) -> tuple[str, ...]:
    """Counts the codes that examples show, and so can't miss any."""
    del contract
    return ()


def ran_without_error(contract: Contract, match: examples.Match) -> list[examples.ExampleResult]:
    """A test that passes when nothing was raised."""
    return [replace(result, holds=True) for result in examples.run(contract, match)]


def trials_of_a_permissive_tool(contract: Contract, count: int, seed: int) -> list[examples.Trial]:
    """Tries a tool that lets a naive time through."""
    whole = copy.deepcopy(dates.document("en"))
    loose = dates.date_range("en", described=whole, pre=[], clock=lambda: datetime.fromisoformat(NOON))
    tried = examples.trials(contract, count=count, seed=seed)
    return [
        trial if trial.acceptable else replace(trial, outcome=loose.outcome(FINE), fault="let-through")
        for trial in tried
    ]


NOON = "2026-01-05T12:00:00+00:00"
FINE = {"Start": "2026-02-01T10:00:00Z", "End": "2026-02-01T12:00:00Z"}


def prose_only(answer: Mapping[str, Any]) -> Mapping[str, Any]:
    """An error that says in words that something is wrong, and nothing that a program could use."""
    data = answer["data"]
    return {**answer, "data": {"code": data["code"], "text": "the arguments are wrong", "details": {}}}


class Forgetful(attempts.AttemptLedger):
    """Keeps its memory in the process."""

    def __init__(self, _path: Any, **options: Any) -> None:
        super().__init__(None, **options)


def sorted_keys(value: Any, to: str) -> Conversion:
    """Writes its JSON with sorted keys."""
    found = convert.convert(value, to)
    return replace(found, document=json.loads(json.dumps(found.document, sort_keys=True)))


def default_is_no_loss(tools: Any, to: str) -> Mapping[str, int]:
    """Thinks that defaults are of no importance."""
    return {word: count for word, count in convert.tools_losing(tools, to).items() if word != "default"}


def first_loss_only(value: Any, to: str) -> Conversion:
    """Reports that something was lost, and not all of it."""
    found = convert.convert(value, to)
    return replace(found, losses=found.losses[:1])


def size_of_the_change(old: Any, new: Any) -> compatibility.Change:
    """Calls a change big when many words changed, whatever its direction."""
    found = compatibility.diff(old, new)
    return replace(found, level="minor") if found.level == "major" else found


def shows_any_call(old: Any, new: Any) -> compatibility.Change:
    """Shows a call that both revisions accept."""
    found = compatibility.diff(old, new)
    tame = compatibility.BreakingExample("call", {"seats": 2}, "it breaks")
    return replace(found, reasons=tuple(replace(r, example=tame) for r in found.reasons))


def kept_is_proven(level: sla.ServiceLevel, series: Any) -> sla.Conformance:
    """Reads a sample as if it were the service."""
    found = sla.conform(level, series)
    judged = [replace(j, verdict="holds" if j.kept else "does-not-hold") for j in found.judgements]
    return replace(found, judgements=tuple(judged))


class SignsAnything(roles.Boundary):
    """Somebody approves whatever the role may not decide."""

    def __init__(self, *sides: Any, **options: Any) -> None:
        super().__init__(*sides, **options | {"escalate": lambda _: True})


class Trims(roles.Boundary):
    """Makes a number that is too big fit."""

    def cross(self, operation: str, arguments: Any, perform: Any, **told: Any) -> roles.Passage:
        def trimmed(request: roles.Request) -> Any:
            found = perform(request)
            return {**found, "price": min(found["price"], 500)}

        return super().cross(operation, arguments, trimmed, **told)


def lowest_price(announcement: Any, contractors: Any, **options: Any) -> allocation.Allocation:
    """Asks for the cost alone, and takes what comes."""
    loose = replace(announcement, result=roles.ResultContract())
    return allocation.allocate(loose, contractors, **options)


BAD: dict[str, Callable[[], Cast]] = {
    "contract.meaning": lambda: Cast(published=schema_alone),
    "contract.format": lambda: Cast(guarded=format_ignored),
    "contract.equality": lambda: Cast(edges=not_after),
    "contract.blame": lambda: Cast(booking=AlwaysTheCaller),
    "contract.no-leak": lambda: Cast(crashing=Talkative),
    "contract.examples": lambda: Cast(run_article=at_the_wrong_time),
    "contract.codes-reached": lambda: Cast(unreached=codes_from_examples_only),
    "contract.drift": lambda: Cast(run_drifted=ran_without_error),
    "contract.always-an-envelope": lambda: Cast(trials=trials_of_a_permissive_tool),
    "repair.fewer-tries": lambda: Cast(told=prose_only),
    "repair.ledger": lambda: Cast(ledger=Forgetful),
    "translate.lossless": lambda: Cast(translate=sorted_keys),
    "translate.flat-loses": lambda: Cast(flatten=default_is_no_loss),
    "translate.nothing-unsaid": lambda: Cast(report=first_loss_only),
    "version.direction": lambda: Cast(diff=size_of_the_change),
    "version.breaking-call": lambda: Cast(witness=shows_any_call),
    "sla.not-proven": lambda: Cast(conform=kept_is_proven),
    "sla.lucky-samples": lambda: Cast(sample=kept_is_proven),
    "role.escalates": lambda: Cast(gate=SignsAnything),
    "role.no-silent-repair": lambda: Cast(mend=Trims),
    "net.by-contract": lambda: Cast(allocate=lowest_price),
}
