"""Plain values from which ``containment`` builds the one that shows a difference.

Texts that match a pattern, texts of a format, texts of a length, numbers beside a bound. Everything is
deterministic and short; whoever uses a value has it judged by a validator first, so a poor guess costs a
try and never tells a lie. What can't be generated from a pattern (a look-ahead, a back reference) gives
nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from math import ceil, inf
from re import _constants, _parser  # type: ignore[attr-defined]
from typing import Any

MAX_LENGTH = 100_000
"""Characters of the longest text that is built."""

FORMATS = {
    "date-time": ("2026-01-05T10:00:00Z", "2026-01-05T10:00:00.5+02:00"),
    "date": ("2026-01-05",),
    "time": ("10:00:00Z",),
    "duration": ("P1D", "PT36H"),
    "email": ("someone@example.org",),
    "idn-email": ("someone@example.org",),
    "hostname": ("example.org",),
    "ipv4": ("192.0.2.1",),
    "ipv6": ("2001:db8::1",),
    "uri": ("https://example.org/a?b=c#d", "urn:isbn:0451450523"),
    "uri-reference": ("/a/b", "https://example.org/"),
    "iri": ("https://example.org/ñ",),
    "uuid": ("123e4567-e89b-42d3-a456-426614174000",),
    "json-pointer": ("", "/a/0"),
    "regex": ("^a+$", "("),
}


def formatted(format: Any) -> tuple[str, ...]:
    """Return a few texts of a format; none when it is not known."""
    return FORMATS.get(format, ()) if isinstance(format, str) else ()


def texts_of_length(lengths: Iterable[float]) -> Iterator[str]:
    """Yield a text for each length that is not beyond ``MAX_LENGTH``."""
    for length in lengths:
        if 0 <= length <= MAX_LENGTH:
            yield "a" * int(length)


def numbers_near(bounds: Iterable[float], steps: Iterable[float]) -> Iterator[float]:
    """Yield each bound and what lies just beside it, multiples of ``steps`` first."""
    finite = [one for one in bounds if one not in (inf, -inf)]
    seen: set[float] = set()
    multiples = [
        step * (ceil(bound / step) + k) for step in steps for bound in [0, *finite] for k in (0, 1, -1, 2)
    ]
    near = [bound + by for bound in finite for by in (0, -1, 1, -0.5, 0.5)]
    far = [0, 1, -1, 2, 0.5, 7, 1000003, -1000003]
    for value in (*multiples, *near, *far):
        if value not in seen:
            seen.add(value)
            yield value


@lru_cache(maxsize=512)
def matching(pattern: Any) -> tuple[str, ...]:
    """Return a few texts in which ``pattern`` is found, short ones first; none when none could be made."""
    try:
        tree = _parser.parse(pattern)
        made = ["".join(_drawn(tree, extra)) for extra in (0, 1, 3)]
    except (re.error, _Unable, RecursionError, OverflowError, TypeError, ValueError):
        return ()
    around = [f"{text}{more}" for text in made for more in ("", "a", "0", " ")]
    return tuple(dict.fromkeys(one for one in around if len(one) <= MAX_LENGTH and re.search(pattern, one)))


class _Unable(Exception):
    """A pattern that nothing is generated from."""


def _drawn(tree: Any, extra: int) -> Iterator[str]:
    for kind, told in tree:
        if kind is _constants.LITERAL:
            yield chr(told)
        elif kind is _constants.NOT_LITERAL:
            yield "b" if told != ord("b") else "c"
        elif kind is _constants.ANY:
            yield "a"
        elif kind is _constants.IN:
            yield _one_of(told, extra)
        elif kind is _constants.BRANCH:
            ways = told[1]
            yield from _drawn(ways[extra % len(ways)], extra)
        elif kind is _constants.SUBPATTERN:
            yield from _drawn(told[3], extra)
        elif kind in (_constants.MAX_REPEAT, _constants.MIN_REPEAT, _constants.POSSESSIVE_REPEAT):
            low, high, inner = told
            times = min(int(low) + extra, int(high))
            if times > MAX_LENGTH:
                raise _Unable
            for turn in range(times):
                yield from _drawn(inner, extra + turn)
        elif kind is not _constants.AT:
            raise _Unable


def _one_of(told: Any, extra: int) -> str:
    """Return a character that a class such as ``[a-z_]`` or ``[^/]`` lets through."""
    negated = told[0][0] is _constants.NEGATE
    members = told[1:] if negated else told
    if not negated:
        kind, what = members[extra % len(members)]
        if kind is _constants.LITERAL:
            return chr(what)
        if kind is _constants.RANGE:
            return chr(min(what[0] + extra, what[1]))
    for sign in "a0A_- .b1/ñ\n":
        if any(_holds(member, sign) for member in members) is not negated:
            return sign
    raise _Unable


def _holds(member: Any, sign: str) -> bool:
    kind, what = member
    if kind is _constants.LITERAL:
        return ord(sign) == int(what)
    if kind is _constants.RANGE:
        return int(what[0]) <= ord(sign) <= int(what[1])
    if kind is _constants.CATEGORY:
        words = {"DIGIT": r"\d", "SPACE": r"\s", "WORD": r"\w"}
        name = str(what).removeprefix("CATEGORY_")
        inside = re.fullmatch(words.get(name.removeprefix("NOT_"), r"(?!)"), sign) is not None
        return inside is not name.startswith("NOT_")
    return False
