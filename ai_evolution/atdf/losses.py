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
        if isinstance(here, Mapping) and here:
            stack.extend((f"{at}/{escape(key)}", here[key]) for key in reversed(here))
        elif isinstance(here, list | tuple) and here:
            stack.extend((f"{at}/{i}", here[i]) for i in range(len(here) - 1, -1, -1))
        else:
            yield at, here


def same(one: Any, other: Any) -> bool:
    """Whether two leaves are the same JSON value; 1, 1.0 and true are three, as their texts are."""
    return type(one) is type(other) and bool(one == other)


def missing(before: Any, after: Any) -> dict[str, Any]:
    """Return the leaves of ``before`` that ``after`` does not have at the same pointer with the same value."""
    kept = dict(leaves(after))
    nothing = object()
    return {at: value for at, value in leaves(before) if not same(kept.get(at, nothing), value)}


def reported(losses: Iterable[Loss]) -> dict[str, Any]:
    """Return the leaves that these losses say are gone."""
    return {at: value for loss in losses for at, value in leaves(loss.value, loss.pointer)}


# Where the children of a schema keyword are schemas again: one, a list of them, or by name.
ONE = frozenset(
    "additionalItems additionalProperties contains contentSchema else if items not propertyNames then "
    "unevaluatedItems unevaluatedProperties".split()
)
SEVERAL = frozenset("allOf anyOf items oneOf prefixItems".split())
BY_NAME = frozenset("$defs definitions dependentSchemas dependencies patternProperties properties".split())
SCHEMAS = frozenset(
    "error errorSchema inputSchema input input_schema outputSchema parameters success".split()
)


def keyword_of(pointer: str) -> str:
    """Return the keyword that the leaf at this pointer belongs to: the last one that is no name or position.

    ``/inputSchema/properties/url/format`` is ``format``, ``/inputSchema/required/0`` is ``required``,
    ``/annotations/readOnlyHint`` is ``annotations``, ``/inputSchema/properties/any`` is ``properties``.
    """
    tokens = [token.replace("~1", "/").replace("~0", "~") for token in pointer.split("/")[1:]]
    keyword, schema, position = "", False, 0
    while position < len(tokens):
        token = tokens[position]
        position += 1
        if not schema:
            keyword = keyword or token
            schema = token in SCHEMAS
            continue
        keyword = token
        if token in BY_NAME:
            position += 1
        elif token in SEVERAL and position < len(tokens) and tokens[position].isdigit():
            position += 1
        elif token not in ONE:
            break
    return keyword


def by_keyword(losses: Iterable[Loss]) -> dict[str, int]:
    """Count the keywords that a conversion lost: one for each place where a keyword stood, not for each leaf.

    A lost ``enum`` of five values counts once; the same keyword in two parameters counts twice. Sorted by
    count, then by name.
    """
    places: Counter[str] = Counter()
    for keyword, _ in {
        (keyword_of(at), _place(at, keyword_of(at))) for loss in losses for at in reported([loss])
    }:
        places[keyword] += 1
    return dict(sorted(places.items(), key=lambda item: (-item[1], item[0])))


def _place(pointer: str, keyword: str) -> str:
    """Return the pointer up to and with the keyword that its leaf belongs to."""
    mark = f"/{escape(keyword)}"
    tokens = pointer.split("/")
    for end in range(len(tokens), 1, -1):
        if f"/{tokens[end - 1]}" == mark and keyword_of("/".join(tokens[:end])) == keyword:
            head = "/".join(tokens[:end])
            if keyword_of(pointer) == keyword and (end == len(tokens) or keyword_of(head) == keyword):
                return head
    return pointer
