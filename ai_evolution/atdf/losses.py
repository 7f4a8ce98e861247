"""What a conversion gave and what it could not carry.

A leaf is what stands at the end of a JSON pointer (RFC 6901): a string, number, boolean or null, or an
object or array that is empty. A conversion has lost a leaf when converting back does not give the same
value at the same pointer. Every ``Loss`` points into the document that was converted, never into the new
one. The order of the keys of an object is no leaf; where it is kept, the converter says so.

Nothing here knows a form: it counts and compares, and refuses nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any


@dataclass(frozen=True)
class Loss:
    """``value`` at ``pointer`` of the document that was converted is not in the result; ``why`` says so."""

    pointer: str
    value: Any
    why: str


@dataclass(frozen=True)
class Conversion:
    """A converted document, what it lost, and pointers into it of what was made up to fill a duty.

    What ``derived`` names is no knowledge: the form demands it and the source does not say it.
    """

    document: Any
    losses: tuple[Loss, ...] = ()
    derived: tuple[str, ...] = ()

    @property
    def lossless(self) -> bool:
        """Whether nothing was lost."""
        return not self.losses


def escape(token: str) -> str:
    """Return a key as it is written inside a JSON pointer."""
    return token.replace("~", "~0").replace("/", "~1") if "~" in token or "/" in token else token


def join(*tokens: str | int) -> str:
    """Return the JSON pointer of these keys and positions; no token is the whole document."""
    return "".join(f"/{escape(str(token))}" for token in tokens)


def leaves(value: Any, pointer: str = "") -> Iterator[tuple[str, Any]]:
    """Yield each leaf below ``value`` with its pointer, in document order; works at any depth."""
    stack: list[tuple[str, Any]] = [(pointer, value)]
    while stack:
        at, here = stack.pop()
        if isinstance(here, dict) and here:
            stack.extend((f"{at}/{escape(key)}", here[key]) for key in reversed(here))
        elif isinstance(here, list | tuple) and here:
            stack.extend((f"{at}/{i}", here[i]) for i in range(len(here) - 1, -1, -1))
        else:
            yield at, here


def same(one: Any, other: Any) -> bool:
    """Whether two leaves are the same JSON value; 1, 1.0 and true are three, as their texts are."""
    return type(one) is type(other) and bool(one == other)


def missing(before: Any, after: Any) -> dict[str, Any]:
    """Return the leaves of ``before`` that ``after`` does not have at their pointers with their values."""
    kept = dict(leaves(after))
    nothing = object()
    return {at: value for at, value in leaves(before) if not same(kept.get(at, nothing), value)}


def reported(losses: Iterable[Loss]) -> dict[str, Any]:
    """Return the leaves that these losses say are gone."""
    return {at: value for loss in losses for at, value in leaves(loss.value, loss.pointer)}


# What stands below a keyword of a schema: one schema, an array of them, or schemas by name. Else it is data.
ONE = frozenset(
    {
        "additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if", "items", "not",
        "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties",
    }
)  # fmt: skip
SEVERAL = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
BY_NAME = frozenset(
    {"$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"}
)
ARGUMENTS = frozenset(
    {"input", "inputSchema", "input_schema", "parameters", "schema"}
)  # schemas of arguments
AROUND = frozenset(
    {"content", "data", "function", "how_to_use", "inputs", "output", "outputs", "tool", "tools"}
)


def _step(state: str, token: str) -> tuple[str, bool]:
    """Return what a token leads to (around, schema, names, schemas, data), and whether it is a keyword."""
    if state == "around" or (state == "schema" and token.isdigit()):
        if token in ARGUMENTS:
            return "schema", True
        return ("around", False) if token in AROUND or token.isdigit() else ("data", True)
    if state == "schema":
        if token in BY_NAME:
            return "names", True
        return ("schemas" if token in SEVERAL else "schema" if token in ONE else "data"), True
    return ("schema" if state in ("names", "schemas") else "data"), False


def _placed(pointer: str) -> tuple[str, str, str]:
    """Return the keyword that a pointer lies in, that keyword's pointer, and what the pointer leads to."""
    state, keyword, place, at = "around", "", "", ""
    for raw in pointer.split("/")[1:]:
        token = raw.replace("~1", "/").replace("~0", "~")
        at += f"/{raw}"
        state, named = _step(state, token)
        if named:
            keyword, place = token, at
    return keyword, place, state


def keyword_of(pointer: str) -> str:
    """Return the keyword that a pointer lies in; names of parameters and positions are none.

    ``/inputSchema/properties/url/format`` is ``format``, ``/inputSchema/required/0`` is ``required``,
    ``/annotations/readOnlyHint`` is ``annotations``, ``/inputSchema/properties/any`` is ``properties``.
    """
    return _placed(pointer)[0]


def keywords(losses: Iterable[Loss]) -> set[tuple[str, str]]:
    """Return every keyword that is lost, with its pointer: those that lead to a loss and those inside one.

    A lost ``items: {enum: [...]}`` is one ``items`` and one ``enum``, whatever the number of its values; a
    lost schema of results is one ``outputSchema``.
    """
    found = set()
    stack = []
    for loss in losses:
        keyword, place, state = _placed(loss.pointer)
        found.add((keyword, place))
        stack.append((loss.pointer, loss.value, state))
    while stack:
        at, value, state = stack.pop()
        if state == "data" or not isinstance(value, Mapping | list):
            continue
        pairs = value.items() if isinstance(value, Mapping) else zip(map(str, count()), value, strict=False)
        for token, below in pairs:
            new, named = _step(state, token)
            if named:
                found.add((token, f"{at}/{escape(token)}"))
            stack.append((f"{at}/{escape(token)}", below, new))
    return found


def by_keyword(losses: Iterable[Loss]) -> dict[str, int]:
    """Count the places where each keyword is lost; the most frequent first, then by name."""
    counted = Counter(keyword for keyword, _ in keywords(losses))
    return dict(sorted(counted.items(), key=lambda item: (-item[1], item[0])))
