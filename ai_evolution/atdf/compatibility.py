"""What a new version of a tool breaks for those who use the old one.

The direction decides. **Inputs** may accept more: each call that the old description accepts must be
accepted by the new one. **Outputs** must promise at least as much: each result that the new description
allows must have been allowed by the old one. So a change is

* ``major``  a call or a result breaks; it is shown, built from the schemas and judged by validation
* ``minor``  nothing breaks, and more is accepted or more is promised
* ``patch``  neither: words, examples, languages

What can be told neither way (two patterns, ``unevaluated*``, a condition in prose, another ``default``) is
listed under ``undecided`` and never counted: then the level is the least that is proven, and ``decided`` is
False. Nothing here looks at version numbers, and nothing guesses what a text means.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ai_evolution.atdf.containment import Verdict, bare, containment
from ai_evolution.atdf.description import ABSENT, ToolDescription
from ai_evolution.atdf.losses import escape
from ai_evolution.errors import UsageError

LEVELS = ("patch", "minor", "major")


@dataclass(frozen=True)
class BreakingExample:
    """What one side accepts and the other refuses.

    ``kind`` is ``call`` (``value`` are the arguments), ``success`` or ``error`` (``value`` is the result),
    ``name`` (``value`` is the old name), ``hint`` or ``prerequisite``; ``problem`` is the refusal in the
    validator's words. In a minor reason it is what the new side accepts and the old one refused.
    """

    kind: str
    value: Any
    problem: str


@dataclass(frozen=True)
class Reason:
    """One difference and its level; ``pointer`` goes into the model (``/input_schema/properties/a/type``)."""

    level: str
    pointer: str
    says: Mapping[str, str]
    example: BreakingExample | None = None


@dataclass(frozen=True)
class Change:
    """The change of one tool: its level, each reason, and what could not be decided."""

    name: str
    level: str
    reasons: tuple[Reason, ...] = ()
    undecided: tuple[str, ...] = ()

    @property
    def decided(self) -> bool:
        """Whether the level is exact; when not, it is the least that is proven."""
        return not self.undecided or self.level == "major"

    @property
    def breaking_example(self) -> BreakingExample | None:
        """The first example that breaks, None when nothing does."""
        return next((reason.example for reason in self.reasons if reason.level == "major"), None)


def diff(old: ToolDescription, new: ToolDescription) -> Change:
    """Return how far ``new`` is from ``old`` for those who use ``old``. Raises nothing."""
    reasons: list[Reason] = []
    undecided: list[str] = []
    for one in _differences(old, new):
        if isinstance(one, Reason):
            reasons.append(one)
        else:
            undecided.append(one)
    level = max((reason.level for reason in reasons), key=LEVELS.index, default="patch")
    reasons.sort(key=lambda reason: -LEVELS.index(reason.level))
    return Change(old.name, level, tuple(reasons), tuple(undecided))


def diff_catalogues(old: Sequence[ToolDescription], new: Sequence[ToolDescription]) -> list[Change]:
    """Return the change of each tool, matched by name, in the order of ``old`` and then what is new.

    A tool that is gone is major, one that is new is minor. Raises ``UsageError`` when a name stands twice.
    """
    if len(old) == len(new) == 1:
        return [diff(old[0], new[0])]
    before, after = _by_name(old), _by_name(new)
    changes = []
    for name, tool in before.items():
        if name in after:
            changes.append(diff(tool, after[name]))
        else:
            example = BreakingExample("name", name, f"no tool is called {name!r}")
            changes.append(Change(name, "major", (Reason("major", "/name", _GONE, example),)))
    fresh = [name for name in after if name not in before]
    return [*changes, *(Change(name, "minor", (Reason("minor", "/name", _NEW),)) for name in fresh)]


def _by_name(tools: Iterable[ToolDescription]) -> dict[str, ToolDescription]:
    found: dict[str, ToolDescription] = {}
    for tool in tools:
        if tool.name in found:
            raise UsageError(f"two tools are called {tool.name!r}; each name once is accepted")
        found[tool.name] = tool
    return found


_GONE = {"en": "the tool is gone", "es": "la herramienta ya no está"}
_NEW = {"en": "the tool is new", "es": "la herramienta es nueva"}
_RENAMED = {"en": "the name is another one", "es": "el nombre es otro"}
_NARROWED = {
    "en": "calls that were accepted are refused",
    "es": "se rechazan llamadas que antes se aceptaban",
}
_WIDENED = {"en": "more calls are accepted", "es": "se aceptan más llamadas"}
_PROMISED_LESS = {
    "en": "results come that were promised not to",
    "es": "llegan resultados que se prometió que no llegarían",
}
_PROMISED_MORE = {"en": "more is promised about results", "es": "se promete más sobre los resultados"}
_CODE_NEW = {
    "en": "a failure code that callers do not know yet",
    "es": "un código de fallo que quien llama aún no conoce",
}
_CODE_GONE = {"en": "a failure code is gone", "es": "un código de fallo desaparece"}
_HINT = {
    "en": "a promise about behaviour is withdrawn",
    "es": "se retira una promesa sobre el comportamiento",
}
_HINT_MORE = {"en": "more is promised about behaviour", "es": "se promete más sobre el comportamiento"}
_NEEDED = {"en": "something more is needed before a call", "es": "hace falta algo más antes de llamar"}
_NOT_NEEDED = {"en": "less is needed before a call", "es": "hace falta menos antes de llamar"}
_WORDS = {"en": "other words", "es": "otras palabras"}


def _differences(old: ToolDescription, new: ToolDescription) -> Iterator[Reason | str]:
    if old.name != new.name:
        example = BreakingExample("name", old.name, f"the tool is now called {new.name!r}")
        yield Reason("major", "/name", _RENAMED, example)
    yield from _inputs(old, new)
    yield from _outputs(old, new, "success")
    yield from _outputs(old, new, "error")
    yield from _failures(old, new)
    yield from _hints(old, new)
    yield from _prerequisites(old, new)
    yield from _defaults(old.input_schema, new.input_schema, "/input_schema")
    for key in dict.fromkeys([*old.extra, *new.extra]):
        if key not in _HANDLED and _text(old.extra.get(key)) != _text(new.extra.get(key)):
            yield f"/extra/{escape(key)}: it is another one; what it means to a caller"
    for field in _TEXTS:
        if _text(getattr(old, field)) != _text(getattr(new, field)):
            yield Reason("patch", f"/{field}", _WORDS)


_TEXTS = (
    "description", "when_to_use", "when_not_to_use", "title", "tags", "examples", "success_text",
    "localization", "feedback",
)  # fmt: skip


_HANDLED = frozenset(("annotations", "icons", "x-derived", "x-mcp-order"))


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=lambda one: getattr(one, "__dict__", str(one)))


def _schema(value: Any) -> Any:
    """What is absent accepts everything and promises nothing."""
    return True if value is ABSENT else value


def _inputs(old: ToolDescription, new: ToolDescription) -> Iterator[Reason | str]:
    before, after = _schema(old.input_schema), _schema(new.input_schema)
    if _equal(before, after):
        return
    kept = containment(before, after)
    for one in _broken(kept, "/input_schema", _NARROWED, "call"):
        if (
            isinstance(one, Reason)
            and "/input_schema/required" in old.derived
            and "/required/" in one.pointer
        ):
            yield f"{one.pointer}: the old form does not say what is required"
        else:
            yield one
    yield from _gained(containment(after, before), "/input_schema", _WIDENED, kept, "call")


def _outputs(old: ToolDescription, new: ToolDescription, which: str) -> Iterator[Reason | str]:
    field = f"{which}_schema"
    before, after = _schema(getattr(old, field)), _schema(getattr(new, field))
    if _equal(before, after):
        return
    kept = containment(after, before)
    yield from _broken(kept, f"/{field}", _PROMISED_LESS, which)
    yield from _gained(containment(before, after), f"/{field}", _PROMISED_MORE, kept, which)


def _equal(one: Any, other: Any) -> bool:
    return json.dumps(bare(one), sort_keys=True) == json.dumps(bare(other), sort_keys=True)


def _broken(kept: Verdict, place: str, says: Mapping[str, str], kind: str) -> Iterator[Reason | str]:
    for one in kept.breaks:
        yield Reason("major", place + one.pointer, says, BreakingExample(kind, one.witness, one.problem))
    for point in kept.undecided:
        yield f"{place}: whether what was accepted still is, at {point}"


def _gained(
    more: Verdict, place: str, says: Mapping[str, str], kept: Verdict, kind: str
) -> Iterator[Reason | str]:
    for one in more.breaks[:1]:
        yield Reason("minor", place, says, BreakingExample(kind, one.witness, one.problem))
    if more.undecided and not more.breaks and not kept.breaks:
        yield f"{place}: whether more is accepted than before, at {more.undecided[0]}"


def _codes(tool: ToolDescription) -> dict[str, str]:
    return {failure.code: failure.description for failure in tool.failures}


def _failures(old: ToolDescription, new: ToolDescription) -> Iterator[Reason]:
    """A list of failure codes is a promise that no other comes; without a list nothing is promised."""
    before, after = _codes(old), _codes(new)
    for code in after:
        if before and code not in before:
            example = BreakingExample(
                "error", {"status": "error", "data": {"code": code}}, f"{code!r} was not declared"
            )
            yield Reason("major", f"/failures/{escape(code)}", _CODE_NEW, example)
        elif not before:
            yield Reason("minor", f"/failures/{escape(code)}", _PROMISED_MORE)
        elif before[code] != after[code]:
            yield Reason("patch", f"/failures/{escape(code)}", _WORDS)
    for code in before:
        if code not in after and after:
            yield Reason("minor", f"/failures/{escape(code)}", _CODE_GONE)
    if before and not after:
        example = BreakingExample(
            "error", {"status": "error", "data": {"code": "any"}}, "no code is declared any more"
        )
        yield Reason("major", "/failures", _PROMISED_LESS, example)


HINTS = {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False, "openWorldHint": True}
"""The hints of MCP and what each one means when it is not said (specification, ToolAnnotations)."""
_GOOD = {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False}


def hints(tool: ToolDescription) -> dict[str, bool]:
    """Return the four hints of MCP as they hold for a tool, said or not."""
    carried = tool.extra.get("x-mcp")  # where a converted description keeps them
    said = (carried if isinstance(carried, Mapping) else tool.extra).get("annotations")
    said = said if isinstance(said, Mapping) else {}
    return {name: said[name] if isinstance(said.get(name), bool) else usual for name, usual in HINTS.items()}


def _hints(old: ToolDescription, new: ToolDescription) -> Iterator[Reason]:
    before, after = hints(old), hints(new)
    for name, good in _GOOD.items():
        if before[name] == after[name]:
            continue
        if before[name] == good:
            told = f"{name} was {json.dumps(before[name])} and is {json.dumps(after[name])}"
            example = BreakingExample("hint", {name: after[name]}, told)
            yield Reason("major", f"/extra/annotations/{name}", _HINT, example)
        else:
            yield Reason("minor", f"/extra/annotations/{name}", _HINT_MORE)


def _prerequisites(old: ToolDescription, new: ToolDescription) -> Iterator[Reason | str]:
    for kind in ("tools", "permissions", "conditions"):
        before, after = _needs(old, kind), _needs(new, kind)
        place = f"/prerequisites/{kind}"
        if kind == "conditions":
            if before != after:
                yield f"{place}: conditions are prose; whether the new ones ask for more"
            continue
        for need in after:
            if need not in before:
                example = BreakingExample("prerequisite", {kind: [need]}, f"{need!r} was not needed before")
                yield Reason("major", place, _NEEDED, example)
        if any(need not in after for need in before):
            yield Reason("minor", place, _NOT_NEEDED)


def _needs(tool: ToolDescription, kind: str) -> list[str]:
    said = tool.prerequisites.get(kind) if isinstance(tool.prerequisites, Mapping) else None
    return [one for one in said if isinstance(one, str)] if isinstance(said, list) else []


def _defaults(old: Any, new: Any, place: str) -> Iterator[str]:
    """A default changes no acceptance; it may change what a call means that leaves the parameter out."""
    if not isinstance(old, dict) or not isinstance(new, dict):
        return
    before, after = old.get("properties"), new.get("properties")
    if not isinstance(before, dict) or not isinstance(after, dict):
        return
    for name, schema in before.items():
        other = after.get(name)
        if not isinstance(schema, dict) or not isinstance(other, dict):
            continue
        at = f"{place}/properties/{escape(name)}"
        one, two = (
            json.dumps(s["default"], sort_keys=True) if "default" in s else "none" for s in (schema, other)
        )
        if one != two:
            yield f"{at}/default: it was {one} and is {two}; whether a call without it means the same"
        yield from _defaults(schema, other, at)
