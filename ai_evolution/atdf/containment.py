"""Does one JSON Schema accept everything that another one accepts? If not: a value that shows it.

``containment(left, right)`` has three answers for each keyword of ``right``. **Proven**: whatever ``left``
accepts satisfies it. **Broken**: here is a value which ``left`` accepts and ``right`` refuses; it was built
from the two schemas, and then judged by ``schemas.problems`` on both, so a break is never a guess.
**Undecided**: neither a proof nor a value was found; it is named, and nobody should read it as either.

The proof looks at ``left`` through a superset of it (what can't be said simply is left out), one type and
one alternative at a time; so a proof holds for ``left`` itself. It is not complete: a pattern is compared by
its text, ``contains`` and ``unevaluated*`` only with their equal. Recursive schemas are compared by
coinduction: a pair that is met again further down in the value is assumed, and the assumption is part of the
proof. The work is bounded; past the bound the rest is undecided. Nothing is fetched, and annotations
(``title``, ``default`` ...) play no part.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from math import ceil, floor, inf
from typing import Any, NamedTuple

from ai_evolution.atdf.losses import escape
from ai_evolution.atdf.schemas import TooMuch, accepts, bounded, check_schema, dialect, problems
from ai_evolution.atdf.witnesses import formatted, matching, numbers_near, texts_of_length

MAX_STEPS = 4_000
"""Pairs of schemas that are compared before the rest is left undecided."""
MAX_BRANCHES = 64
"""Alternatives (``anyOf``, ``oneOf``, ``if``) into which one schema is taken apart."""
MAX_CANDIDATES = 400
"""Values that are tried for one break."""
MAX_DEPTH = 8
"""Levels down to which values are built."""

KINDS = ("object", "array", "string", "number", "boolean", "null")
ANNOTATIONS = frozenset(
    [
        "title",
        "description",
        "default",
        "examples",
        "$comment",
        "$schema",
        "deprecated",
        "readOnly",
        "writeOnly",
    ]
)
MAPS = frozenset(("$defs", "definitions", "dependentSchemas", "patternProperties", "properties"))
LITERAL = frozenset(("const", "enum", "required", "dependentRequired"))
TANGLED = ("$anchor", "$dynamicAnchor", "$dynamicRef", "$id", "$recursiveAnchor", "$recursiveRef")
_BY_KIND = {
    "number": "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf",
    "string": "minLength maxLength pattern format",
    "array": "minItems maxItems uniqueItems items prefixItems contains minContains maxContains "
    "unevaluatedItems",
    "object": "required properties patternProperties additionalProperties propertyNames minProperties "
    "maxProperties dependentRequired dependentSchemas unevaluatedProperties",
}
APPLIES = {word: kind for kind, words in _BY_KIND.items() for word in words.split()}
BESIDE = {
    "additionalProperties": ("properties", "patternProperties"),
    "items": ("prefixItems", "additionalItems"),
    "prefixItems": ("items",),
    "contains": ("minContains", "maxContains"),
    "if": ("then", "else"),
    "dependentRequired": ("dependencies",),
    "dependentSchemas": ("dependencies",),
}
COMBINED = ("$ref", "allOf", "anyOf", "oneOf", "if")


@dataclass(frozen=True)
class Break:
    """``witness`` is accepted by the left schema and refused by the right one, there at ``pointer``."""

    pointer: str
    keyword: str
    witness: Any
    problem: str


@dataclass(frozen=True)
class Verdict:
    """Every break that was found and every point that could not be decided."""

    breaks: tuple[Break, ...] = ()
    undecided: tuple[str, ...] = ()

    @property
    def contained(self) -> bool:
        """Whether it is proven that the right schema accepts all that the left one accepts."""
        return not self.breaks and not self.undecided


def containment(left: Any, right: Any) -> Verdict:
    """Return whether ``right`` accepts all that ``left`` accepts, and the values that show where it does not.

    Raises nothing for what the schemas hold: a schema that is none makes the verdict undecided.
    """
    for name, schema in (("first", left), ("second", right)):
        if faults := check_schema(schema):
            return Verdict(undecided=(f"the {name} schema itself is wrong: {faults[0].message}",))
    one, two = Side(left), Side(right)
    whole, other = Part(one, one.root, ""), Part(two, two.root, "")
    if _same(whole, other):
        return Verdict()
    if one.tangled or two.tangled:
        found = ", ".join(sorted({*one.tangled, *two.tangled}))
        return Verdict(undecided=(f"the schemas differ and use {found}",))
    return _settled(_Comparison(one, two), whole, other)


def _settled(comparison: _Comparison, left: Part, right: Part) -> Verdict:
    breaks: dict[tuple[str, str], Break] = {}
    unsettled: dict[tuple[str, str], None] = {}
    undecided: list[str] = []
    try:
        for hole in islice(comparison.against((left,), right, _Walk(0, {})), 200):
            place = (hole.pointer, hole.keyword)
            if place in breaks:
                continue
            witness = _confirmed(hole, left.side.given, right.side.given)
            if witness is None:
                unsettled[place] = None
            else:
                breaks[place] = witness
    except (_TooMuch, RecursionError):
        undecided.append("the schemas are too large to be compared to the end")
    undecided += [
        f"{pointer or '/'} ({keyword})" for pointer, keyword in unsettled if (pointer, keyword) not in breaks
    ]
    return Verdict(tuple(breaks.values()), tuple(undecided))


def _confirmed(hole: Hole, left: Any, right: Any) -> Break | None:
    for value in islice(hole.candidates(), MAX_CANDIDATES):
        if problems(value, left, limit=1):
            continue
        if found := problems(value, right, limit=1):
            return Break(hole.pointer, hole.keyword, value, found[0].message)
    return None


# ------------------------------------------------------------------------ the two schemas


class _TooMuch(Exception):
    """More than is compared."""


class Side:
    """One of the two documents: its dialect, its references, its schemas seen as 2020-12 would write them."""

    def __init__(self, root: Any) -> None:
        self.given = root
        self.draft = dialect(root)
        self.words = frozenset(self.draft.VALIDATORS)
        self.root, self.validator = bounded(root)
        self._views: dict[int, dict[str, Any]] = {}
        self._texts: dict[int, str] = {}
        text = json.dumps(root)
        self.tangled = tuple(word for word in TANGLED if f'"{word}":' in text and _uses(root, word))
        self.inner = json.dumps(_refers_elsewhere(root)) if '"$ref"' in text else ""

    def view(self, schema: Any) -> dict[str, Any]:
        """Return the keywords of ``schema`` that assert something; ``False`` is a schema of no type."""
        if isinstance(schema, bool):
            return {} if schema else {"type": []}
        known = self._views.get(id(schema))
        if known is None:
            known = self._views[id(schema)] = self._seen(schema)
        return known

    def _seen(self, schema: dict[str, Any]) -> dict[str, Any]:
        legacy = "prefixItems" not in self.words
        if "$ref" in schema and "$defs" not in self.words and "dependentRequired" not in self.words:
            return {"$ref": schema["$ref"]}  # draft-07: the neighbours of $ref say nothing
        found = {
            word: value for word, value in schema.items() if word in self.words or word in ("then", "else")
        }
        found.pop("additionalItems", None)
        if legacy and isinstance(schema.get("items"), list):
            found["prefixItems"] = found.pop("items")
            if "additionalItems" in schema:
                found["items"] = schema["additionalItems"]
        for name, needs in found.pop("dependencies", {}).items():
            kind = "dependentRequired" if isinstance(needs, list) else "dependentSchemas"
            found[kind] = {**found.get(kind, {}), name: needs}
        if "if" not in found or not ({"then", "else"} & found.keys()):
            for word in ("if", "then", "else"):
                found.pop(word, None)
        return found

    def resolve(self, reference: str) -> tuple[Any, str] | None:
        """Return what a reference inside the document leads to, with its pointer."""
        if not isinstance(reference, str) or not (reference == "#" or reference.startswith("#/")):
            return None
        here, at = self.root, ""
        from urllib.parse import unquote

        for raw in unquote(reference[1:]).split("/")[1:]:
            step = raw.replace("~1", "/").replace("~0", "~")
            if isinstance(here, dict) and step in here:
                here = here[step]
            elif isinstance(here, list) and step.isdecimal() and int(step) < len(here):
                here = here[int(step)]
            else:
                return None
            at += "/" + raw
        return here, at

    def accepts(self, schema: Any, value: Any) -> bool:
        """Whether a schema of this document accepts ``value``; False where that can't be evaluated.

        Raises ``_TooMuch`` where it would take too long: so would each of the other values.
        """
        try:
            return accepts(self.validator.evolve(schema=schema), value)
        except TooMuch:
            raise _TooMuch from None
        except (
            Exception
        ):  # whatever a strange pattern or number may raise: the value is of no use as a witness
            return False

    def text(self, schema: Any) -> str:
        """Return what ``schema`` asserts as one text, whatever it has in annotations."""
        known = self._texts.get(id(schema)) if isinstance(schema, dict) else None
        if known is None:
            known = json.dumps(bare(schema), sort_keys=True)
            if isinstance(schema, dict):
                self._texts[id(schema)] = known
        return known


def bare(schema: Any) -> Any:
    """Return the schema without what only describes: titles, descriptions, defaults, examples, comments."""
    if not isinstance(schema, dict):
        return [bare(one) for one in schema] if isinstance(schema, list) else schema
    found: dict[str, Any] = {}
    for word, value in schema.items():
        if word in ANNOTATIONS:
            continue
        if word in MAPS and isinstance(value, dict):
            found[word] = {name: bare(one) for name, one in value.items()}
        elif word in LITERAL:
            found[word] = sorted(value) if word == "required" else value
        else:
            found[word] = bare(value)
    return found


def _uses(value: Any, word: str) -> bool:
    """Whether ``word`` stands as a keyword below the root (a root ``$id`` moves nothing)."""
    stack = [(value, True, True)]
    while stack:
        here, root, keywords = stack.pop()
        if isinstance(here, dict):
            if keywords and word in here and not (root and word == "$id"):
                return True
            for key, one in here.items():
                if key not in LITERAL or not keywords:
                    stack.append((one, False, not (keywords and key in MAPS)))
        elif isinstance(here, list):
            stack.extend((one, False, True) for one in here)
    return False


def _refers_elsewhere(root: Any) -> Any:
    """Return what equal references must lead to in both documents: the definitions, or else all of it."""
    stack, simple = [root], True
    while stack:
        here = stack.pop()
        if isinstance(here, dict):
            reference = here.get("$ref")
            if isinstance(reference, str) and not reference.startswith(("#/$defs/", "#/definitions/")):
                simple = False
            stack.extend(here.values())
        elif isinstance(here, list):
            stack.extend(here)
    if not simple:
        return bare(root)
    return [bare({word: root[word]}) for word in ("$defs", "definitions") if word in root]


class Part(NamedTuple):
    """A schema, the document it belongs to, and where in it it stands.

    ``spent`` means that its alternatives and references stand beside it already.
    """

    side: Side
    schema: Any
    pointer: str
    spent: bool = False

    @property
    def view(self) -> dict[str, Any]:
        return self.side.view(self.schema)

    def below(self, *steps: str | int) -> Part:
        schema = self.view
        for step in steps:
            schema = schema[step]  # type: ignore[index]
        return Part(self.side, schema, self.pointer + "".join("/" + escape(str(step)) for step in steps))

    def accepts(self, value: Any) -> bool:
        return self.side.accepts(self.schema, value)


def _same(one: Part, other: Part) -> bool:
    if one.schema is other.schema and one.side is other.side:
        return True
    if one.side.draft is not other.side.draft:
        return False
    text = one.side.text(one.schema)
    return text == other.side.text(other.schema) and (
        one.side is other.side or '"$ref"' not in text or one.side.inner == other.side.inner
    )


class Hole(NamedTuple):
    """A place of the right schema that is not proven, and values that may show it broken."""

    pointer: str
    keyword: str
    candidates: Callable[[], Iterator[Any]]


class _Walk(NamedTuple):
    """How deep in the value the comparison is, and at which depth each pair of schemas was met before."""

    level: int
    met: Mapping[Any, int]

    def down(self) -> _Walk:
        return _Walk(self.level + 1, self.met)


class Branch(NamedTuple):
    """One type and one alternative of the left side: all of ``parts`` hold, and the value is of ``kind``."""

    kind: str
    whole: bool
    parts: tuple[Part, ...]

    def said(self, word: str) -> list[Any]:
        """Return what the parts say for one keyword."""
        return [part.view[word] for part in self.parts if word in part.view]

    def least(self, word: str) -> float:
        return max(self.said(word), default=0)

    def most(self, word: str) -> float:
        return min(self.said(word), default=inf)

    @property
    def required(self) -> list[str]:
        return list(dict.fromkeys(chain.from_iterable(self.said("required"))))

    @property
    def names(self) -> list[str]:
        return list(dict.fromkeys(chain.from_iterable(self.said("properties"))))

    @property
    def lower(self) -> tuple[float, bool]:
        """Return the lower bound of a number, and whether it is itself excluded."""
        bounds = [(one, False) for one in self.said("minimum")]
        low = max([*bounds, *((one, True) for one in self.said("exclusiveMinimum"))], default=(-inf, False))
        if self.whole and low[0] != -inf:
            return (floor(low[0]) + 1 if low[1] else ceil(low[0])), False
        return low

    @property
    def upper(self) -> tuple[float, bool]:
        """Return the upper bound of a number, and whether it is itself excluded."""
        bounds = [(one, 1) for one in self.said("maximum")]
        high = min([*bounds, *((one, 0) for one in self.said("exclusiveMaximum"))], default=(inf, 1))
        if self.whole and high[0] != inf:
            return (floor(high[0]) if high[1] else ceil(high[0]) - 1), False
        return high[0], not high[1]


def _types(view: Mapping[str, Any]) -> tuple[set[str], bool]:
    """Return the kinds that ``type`` lets through, and whether a number must be whole."""
    said = view.get("type")
    if said is None:
        return set(KINDS), False
    names = {said} if isinstance(said, str) else set(said)
    whole = "integer" in names and "number" not in names
    return {"number" if name == "integer" else name for name in names}, whole


# ------------------------------------------------------------------------ the comparison


class _Comparison:
    """The proof and, where it fails, the values to try."""

    def __init__(self, left: Side, right: Side) -> None:
        self.steps = 0
        self.made: dict[Any, Any] = {}
        self.pool = _Pool(left.root, right.root)

    # -- proof

    def against(self, left: tuple[Part, ...], right: Part, walk: _Walk) -> Iterator[Hole]:
        """Yield a hole for every keyword of ``right`` that ``left`` is not seen to satisfy."""
        self.steps += 1
        if self.steps > MAX_STEPS:
            raise _TooMuch
        if not right.view or any(_same(part, right) for part in left):
            return
        key = (frozenset(id(part.schema) if isinstance(part.schema, dict) else part.schema for part in left),
               id(right.schema) if isinstance(right.schema, dict) else right.schema)  # fmt: skip
        if key in walk.met:
            if walk.met[key] == walk.level:  # it refers to itself and says nothing
                yield Hole(right.pointer, "$ref", lambda: iter(()))
            return
        walk = _Walk(walk.level, {**walk.met, key: walk.level})
        for branch in self.branches(left):
            if not self.empty(branch):
                yield from self.branch_against(branch, right, walk)

    def branch_against(self, branch: Branch, right: Part, walk: _Walk) -> Iterator[Hole]:
        values = self.finite(branch)
        for word in right.view:
            if APPLIES.get(word, branch.kind) != branch.kind:
                continue
            refused = self.refused(right, word)
            if values is not None:
                if bad := [value for value in values if refused(value)]:
                    yield Hole(*self.place(right, word), lambda bad=bad: iter(bad))  # type: ignore[misc]
                continue
            rule = _RULES.get(word)
            holes = self.plain(branch, right, word) if rule is None else rule(self, branch, right, walk)
            for hole in holes:
                yield Hole(hole.pointer, hole.keyword, _sifted(hole, branch, refused))

    def refused(self, right: Part, word: str) -> Callable[[Any], bool]:
        """Return whether a value breaks this one keyword of ``right`` (with those that it is read with)."""
        schema = right.schema
        if not isinstance(schema, dict):
            return lambda _: True
        key = ("refused", id(schema), word)
        if key not in self.made:
            raw = word if word in schema else None
            names = {raw, *BESIDE.get(word, ())} if not word.startswith("unevaluated") else set(schema)
            self.made[key] = {name: schema[name] for name in schema if name in names}
        part = Part(right.side, self.made[key], right.pointer)
        return lambda value: not part.accepts(value)

    def branches(self, parts: Iterable[Part]) -> list[Branch]:
        """Return the alternatives of ``parts``, one type each; together they accept at least as much."""
        found: list[Branch] = []
        for plain in self.expanded(list(parts), [], frozenset()):
            kinds, whole = set(KINDS), False
            for part in plain:
                mine, only = _types(part.view)
                kinds &= mine
                whole = whole or only
            found += [
                Branch(kind, whole and kind == "number", tuple(plain)) for kind in KINDS if kind in kinds
            ]
            if len(found) > MAX_BRANCHES * 2:
                raise _TooMuch
        return found

    def expanded(self, todo: list[Part], done: list[Part], met: frozenset[int]) -> Iterator[list[Part]]:
        while todo:
            part = todo.pop(0)
            view = part.view
            if isinstance(part.schema, dict):
                if id(part.schema) in met:
                    continue
                met |= {id(part.schema)}
            done = [*done, part._replace(spent=True)]
            if part.spent:
                continue
            if "$ref" in view and (target := part.side.resolve(view["$ref"])) is not None:
                todo = [*todo, Part(part.side, *target)]
            todo = todo + [part.below("allOf", i) for i in range(len(view.get("allOf", ())))]
            word = "oneOf" if "oneOf" in view else "anyOf"
            ways = [[part.below(word, i)] for i in range(len(view.get(word, ())))]
            if not ways and "if" in view:
                refused = {"not": view["if"]}
                negated = Part(part.side, self.made.setdefault(("not", id(view)), refused), part.pointer)
                ways = [[part.below("if"), *([part.below("then")] if "then" in view else [])],
                        [negated, *([part.below("else")] if "else" in view else [])]]  # fmt: skip
            if ways:
                self.steps += len(ways)
                if self.steps > MAX_STEPS:
                    raise _TooMuch
                for way in ways:
                    yield from self.expanded([*todo, *way], done, met)
                return
        yield done

    def finite(self, branch: Branch) -> list[Any] | None:
        """Return all values of a branch when they can be listed."""
        if branch.kind == "null":
            values: list[Any] = [None]
        elif branch.kind == "boolean":
            values = [False, True]
        elif listed := [[one] for one in branch.said("const")] + branch.said("enum"):
            values = min(listed, key=len)
        elif branch.kind == "number" and branch.whole and 0 <= branch.upper[0] - branch.lower[0] <= 40:
            values = list(range(int(branch.lower[0]), int(branch.upper[0]) + 1))
        else:
            return None
        return [value for value in values if _kind(value) == branch.kind and _fits(branch.parts, value)]

    def empty(self, branch: Branch, depth: int = 0) -> bool:
        """Whether it is seen that no value is in this branch."""
        values = self.finite(branch)
        if values is not None:
            return not values
        if depth <= 4 and any("not" in part.view for part in branch.parts) and self.forbidden(branch):
            return True
        if branch.kind == "number":
            (low, out), (high, also) = branch.lower, branch.upper
            return low > high or (low == high and (out or also))
        if branch.kind == "string":
            return branch.least("minLength") > branch.most("maxLength")
        if branch.kind == "array":
            if branch.least("minItems") > self.longest(branch):
                return True
            return any(
                self.none(self.item(branch, i), depth) for i in range(int(min(branch.least("minItems"), 20)))
            )
        if max(branch.least("minProperties"), len(branch.required)) > self.most_names(branch):
            return True
        return any(self.none(self.member(branch, name), depth) for name in branch.required)

    def forbidden(self, branch: Branch) -> bool:
        """Whether what a part forbids is seen to be all that the other parts accept."""
        for part in branch.parts:
            if "not" in part.view:
                others = tuple(one for one in branch.parts if one is not part)
                mine = self.typed(branch._replace(parts=others)) if others else ()
                if mine and next(self.against(mine, part.below("not"), _Walk(0, {})), None) is None:
                    return True
        return False

    def none(self, parts: tuple[Part, ...], depth: int = 0) -> bool:
        """Whether it is seen that no value satisfies all of ``parts``."""
        if not parts or depth > 4:
            return False
        self.steps += 1
        if self.steps > MAX_STEPS:
            raise _TooMuch
        return all(self.empty(branch, depth + 1) for branch in self.branches(parts))

    # -- what a branch says about the members of an object and the items of an array

    def member(self, branch: Branch, name: str) -> tuple[Part, ...]:
        """Return the schemas that the member ``name`` has to satisfy."""
        found: list[Part] = []
        for part in branch.parts:
            view = part.view
            mine = [part.below("properties", name)] if name in view.get("properties", {}) else []
            mine += [
                part.below("patternProperties", p)
                for p in view.get("patternProperties", {})
                if _search(p, name)
            ]
            if not mine and "additionalProperties" in view:
                mine = [part.below("additionalProperties")]
            found += mine
        return tuple(found)

    def others(
        self, branch: Branch, exempt: frozenset[str] = frozenset(), inside: str | None = None
    ) -> tuple[Part, ...]:
        """Return the schemas of members that no ``properties`` names: a superset.

        Names that match one of the patterns in ``exempt`` are left out of account; with ``inside`` only names
        that match this pattern count.
        """
        found: list[Part] = []
        for part in branch.parts:
            view = part.view
            patterns = view.get("patternProperties", {})
            if inside is not None and inside in patterns:
                found.append(part.below("patternProperties", inside))
                continue
            rest = view.get("additionalProperties", True)
            more = [one for pattern, one in patterns.items() if pattern not in exempt]
            if rest is True or not more:
                if rest is not True:
                    found.append(part.below("additionalProperties"))
                continue
            key = ("others", id(view), exempt)
            if key not in self.made:
                self.made[key] = {"anyOf": [rest, *more]}
            found.append(Part(part.side, self.made[key], part.pointer))
        return tuple(found)

    def item(self, branch: Branch, index: float) -> tuple[Part, ...]:
        """Return the schemas of the item at ``index``; infinity: beyond those that are told apart."""
        found: list[Part] = []
        for part in branch.parts:
            first = part.view.get("prefixItems", [])
            if index < len(first):
                found.append(part.below("prefixItems", int(index)))
            elif "items" in part.view:
                found.append(part.below("items"))
        return tuple(found)

    def longest(self, branch: Branch) -> float:
        """Return how many items an array has at most."""
        closed = [
            len(part.view.get("prefixItems", [])) for part in branch.parts if part.view.get("items") is False
        ]
        return min([branch.most("maxItems"), *closed])

    def most_names(self, branch: Branch) -> float:
        """Return how many members an object has at most."""
        closed = [
            len(part.view.get("properties", {}))
            for part in branch.parts
            if part.view.get("additionalProperties") is False and not part.view.get("patternProperties")
        ]
        return min([branch.most("maxProperties"), *closed])

    # -- one rule for each keyword; a rule yields nothing when the keyword is proven

    def plain(self, branch: Branch, right: Part, word: str) -> Iterator[Hole]:
        """A keyword for which there is no rule: only its equal proves it."""
        if word in ("then", "else", "minContains", "maxContains"):
            return
        if not self.given(branch, right, word):
            yield self.hole(branch, right, word)

    def given(self, branch: Branch, right: Part, word: str) -> bool:
        """Whether a part of the left side has this very keyword, and those that it is read with."""
        words = (word, *BESIDE.get(word, ())) if not word.startswith("unevaluated") else tuple(right.view)
        for part in branch.parts:
            one, other = ({w: p.view[w] for w in words if w in p.view} for p in (part, right))
            if word in one and (one.keys() == other.keys()):
                text = json.dumps(bare(one), sort_keys=True)
                refers = (
                    '"$ref"' in text and part.side is not right.side and part.side.inner != right.side.inner
                )
                if text == json.dumps(bare(other), sort_keys=True) and not refers:
                    return part.side.draft is right.side.draft or word in ("pattern", "format", "multipleOf")
        return False

    @staticmethod
    def place(right: Part, word: str) -> tuple[str, str]:
        """Return the pointer and the keyword that a hole is called by; ``false`` has no keywords."""
        if right.schema is False:
            return right.pointer, right.pointer.rpartition("/")[2] or "false"
        return f"{right.pointer}/{escape(word)}", word

    def hole(self, branch: Branch, right: Part, word: str, *more: Callable[[], Iterator[Any]]) -> Hole:
        """Return a hole whose candidates are ``more`` and then whatever the branch accepts."""

        def candidates() -> Iterator[Any]:
            for one in more:
                yield from one()
            yield from self.samples(branch)

        return Hole(*self.place(right, word), candidates)

    def _type(self, branch: Branch, right: Part, _: _Walk) -> Iterator[Hole]:
        kinds, whole = _types(right.view)
        if branch.kind not in kinds or (branch.kind == "number" and whole and not branch.whole):
            yield self.hole(branch, right, "type")

    def _ref(self, branch: Branch, right: Part, walk: _Walk) -> Iterator[Hole]:
        target = right.side.resolve(right.view["$ref"])
        if target is None:
            yield self.hole(branch, right, "$ref")
        else:
            yield from self.against(self.typed(branch), Part(right.side, *target), walk)

    def _all_of(self, branch: Branch, right: Part, walk: _Walk) -> Iterator[Hole]:
        for index in range(len(right.view["allOf"])):
            yield from self.against(self.typed(branch), right.below("allOf", index), walk)

    def _any_of(self, branch: Branch, right: Part, walk: _Walk) -> Iterator[Hole]:
        yield from self.one_of_several(branch, right, "anyOf", walk)

    def _one_of(self, branch: Branch, right: Part, walk: _Walk) -> Iterator[Hole]:
        yield from self.one_of_several(branch, right, "oneOf", walk)

    def one_of_several(self, branch: Branch, right: Part, word: str, walk: _Walk) -> Iterator[Hole]:
        if self.given(branch, right, word):
            return
        mine = self.typed(branch)
        ways = [right.below(word, index) for index in range(len(right.view[word]))]
        failed: list[Hole] = []
        overlapping: list[Part] = []
        for way in ways:
            holes = list(islice(self.against(mine, way, walk), 50))
            if holes:
                failed += holes
                continue
            overlapping = (
                [] if word == "anyOf" else [o for o in ways if o is not way and not self.none((*mine, o))]
            )
            if not overlapping:
                return
            break
        pieces = self.cut(branch)
        if pieces and not overlapping:
            for piece in pieces:
                if not self.empty(piece):
                    yield from self.one_of_several(piece, right, word, walk)
            return
        both = [
            lambda o=o: self.drawn((*mine, o)) for o in (overlapping or (ways if word == "oneOf" else []))
        ]
        yield self.hole(branch, right, word, *both, *(hole.candidates for hole in failed))

    def cut(self, branch: Branch) -> list[Branch]:
        """Return the branch cut into one for each value of a required member that has only a few."""
        if branch.kind != "object":
            return []
        for name in branch.required:
            values: list[Any] = []
            for inner in self.branches(self.member(branch, name)):
                listed = self.finite(inner)
                if listed is None:
                    break
                values += [one for one in listed if one not in values]
            else:
                if 1 < len(values) <= 16:
                    return [self.with_value(branch, name, value) for value in values]
        return []

    def with_value(self, branch: Branch, name: str, value: Any) -> Branch:
        key = ("value", name, json.dumps(value, sort_keys=True))
        if key not in self.made:
            self.made[key] = {"properties": {name: {"const": value}}}
        side = branch.parts[0].side
        return branch._replace(parts=(*branch.parts, Part(side, self.made[key], "")))

    def _not(self, branch: Branch, right: Part, _: _Walk) -> Iterator[Hole]:
        if self.given(branch, right, "not"):
            return
        both = (*self.typed(branch), right.below("not"))
        if not self.none(both):
            yield self.hole(branch, right, "not", lambda: self.drawn(both))

    def _if(self, branch: Branch, right: Part, walk: _Walk) -> Iterator[Hole]:
        if self.given(branch, right, "if"):
            return
        mine, condition = self.typed(branch), right.below("if")
        if "then" in right.view and not self.none((*mine, condition)):
            yield from self.against((*mine, condition), right.below("then"), walk)
        if "else" in right.view and next(self.against(mine, condition, walk), None) is not None:
            yield from self.against(mine, right.below("else"), walk)

    def typed(self, branch: Branch) -> tuple[Part, ...]:
        """Return the parts of a branch, with its kind beside them."""
        key = ("typed", branch.kind)
        if key not in self.made:
            self.made[key] = {"type": branch.kind}
        if any(part.schema is self.made[key] for part in branch.parts):
            return branch.parts
        if len(branch.parts) == 0:
            return branch.parts
        return (*branch.parts, Part(branch.parts[0].side, self.made[key], ""))

    def _minimum(self, branch: Branch, right: Part, _: _Walk) -> Iterator[Hole]:
        if branch.lower[0] < right.view["minimum"]:
            yield self.hole(branch, right, "minimum")

    def _exclusive_minimum(self, branch: Branch, right: Part, _: _Walk) -> Iterator[Hole]:
        low, out = branch.lower
        bound = right.view["exclusiveMinimum"]
        if low < bound or (low == bound and not out):
            yield self.hole(branch, right, "exclusiveMinimum")

    def _maximum(self, branch: Branch, right: Part, _: _Walk) -> Iterator[Hole]:
        if branch.upper[0] > right.view["maximum"]:
            yield self.hole(branch, right, "maximum")

    def _exclusive_maximum(self, branch: Branch, right: Part, _: _Walk) -> Iterator[Hole]:
        high, out = branch.upper
        bound = right.view["exclusiveMaximum"]
        if high > bound or (high == bound and not out):
            yield self.hole(branch, right, "exclusiveMaximum")

    def _multiple_of(self, branch: Branch, right: Part, _: _Walk) -> Iterator[Hole]:
        step = right.view["multipleOf"]
        whole = [one for one in branch.said("multipleOf") if isinstance(one, int)]
        fits = isinstance(step, int) and (
            (step == 1 and branch.whole) or any(one % step == 0 for one in whole)
        )
        if not fits and not self.given(branch, right, "multipleOf"):
            yield self.hole(branch, right, "multipleOf")

    def _min_length(self, branch: Branch, right: Part, _: _Walk) -> Iterator[Hole]:
        if branch.least("minLength") < right.view["minLength"]:
            yield self.hole(branch, right, "minLength")

    def _max_length(self, branch: Branch, right: Part, _: _Walk) -> Iterator[Hole]:
        if branch.most("maxLength") > right.view["maxLength"]:
            yield self.hole(branch, right, "maxLength")

    def _min_items(self, branch: Branch, right: Part, _: _Walk) -> Iterator[Hole]:
        if branch.least("minItems") < right.view["minItems"]:
            yield self.hole(branch, right, "minItems")

    def _max_items(self, branch: Branch, right: Part, _: _Walk) -> Iterator[Hole]:
        if self.longest(branch) > right.view["maxItems"]:
            yield self.hole(branch, right, "maxItems")

    def _unique_items(self, branch: Branch, right: Part, _: _Walk) -> Iterator[Hole]:
        if right.view["uniqueItems"] and not any(branch.said("uniqueItems")) and self.longest(branch) > 1:
            items = self.anything(self.item(branch, inf), branch)

            def twins() -> Iterator[Any]:
                return ([one, one] for one in self.drawn(items, MAX_DEPTH - 2))

            yield self.hole(branch, right, "uniqueItems", twins)

    def _prefix_items(self, branch: Branch, right: Part, walk: _Walk) -> Iterator[Hole]:
        for index in range(len(right.view["prefixItems"])):
            yield from self.at_item(branch, right.below("prefixItems", index), index, walk)

    def _items(self, branch: Branch, right: Part, walk: _Walk) -> Iterator[Hole]:
        start = len(right.view.get("prefixItems", []))
        told_apart = max([len(one) for one in branch.said("prefixItems")], default=0)
        for index in [*range(start, told_apart), max(start, told_apart)]:
            yield from self.at_item(branch, right.below("items"), index, walk)

    def at_item(self, branch: Branch, right: Part, index: int, walk: _Walk) -> Iterator[Hole]:
        if index >= self.longest(branch):
            return
        mine = self.item(branch, index)
        for hole in self.against(self.anything(mine, branch), right, walk.down()):
            yield Hole(hole.pointer, hole.keyword, lambda h=hole: self.arrays(branch, index, h.candidates()))  # type: ignore[misc]

    def _contains(self, branch: Branch, right: Part, _: _Walk) -> Iterator[Hole]:
        free = right.view.get("minContains") == 0 and "maxContains" not in right.view
        if not free and not self.given(branch, right, "contains"):
            yield self.hole(branch, right, "contains")

    def _required(self, branch: Branch, right: Part, _: _Walk) -> Iterator[Hole]:
        have = set(branch.required)
        for index, name in enumerate(right.view["required"]):
            if name not in have:
                lacking = partial(self.without, branch, name)
                yield Hole(f"{right.pointer}/required/{index}", "required", lacking)

    def _min_properties(self, branch: Branch, right: Part, _: _Walk) -> Iterator[Hole]:
        if max(branch.least("minProperties"), len(branch.required)) < right.view["minProperties"]:
            yield self.hole(branch, right, "minProperties")

    def _max_properties(self, branch: Branch, right: Part, _: _Walk) -> Iterator[Hole]:
        if self.most_names(branch) > right.view["maxProperties"]:
            yield self.hole(branch, right, "maxProperties")

    def _properties(self, branch: Branch, right: Part, walk: _Walk) -> Iterator[Hole]:
        for name in right.view["properties"]:
            yield from self.at_member(branch, right.below("properties", name), name, walk)

    def at_member(self, branch: Branch, right: Part, name: str, walk: _Walk) -> Iterator[Hole]:
        if name not in branch.required and len(branch.required) >= self.most_names(branch):
            return
        mine = self.member(branch, name)
        if not all(part.accepts(name) for one in branch.parts for part in _names_of(one)):
            return
        for hole in self.against(self.anything(mine, branch), right, walk.down()):
            yield Hole(hole.pointer, hole.keyword, lambda h=hole: self.objects(branch, name, h.candidates()))  # type: ignore[misc]

    def _pattern_properties(self, branch: Branch, right: Part, walk: _Walk) -> Iterator[Hole]:
        for pattern in right.view["patternProperties"]:
            inner = right.below("patternProperties", pattern)
            for name in branch.names:
                if _search(pattern, name):
                    yield from self.at_member(branch, inner, name, walk)
            mine = self.anything(self.others(branch, inside=pattern), branch)
            fresh = [name for name in matching(pattern) if name not in branch.names]
            yield from self.at_others(branch, inner, mine, fresh, walk)

    def _additional_properties(self, branch: Branch, right: Part, walk: _Walk) -> Iterator[Hole]:
        inner, patterns = right.below("additionalProperties"), right.view.get("patternProperties", {})
        told = right.view.get("properties", {})
        for name in branch.names:
            if name not in told and not any(_search(pattern, name) for pattern in patterns):
                yield from self.at_member(branch, inner, name, walk)
        mine = self.anything(self.others(branch, frozenset(patterns)), branch)
        theirs = chain.from_iterable(matching(p) for one in branch.said("patternProperties") for p in one)
        fresh = [n for n in [*theirs, *self.pool.names] if n not in branch.names and n not in told
                 and not any(_search(p, n) for p in patterns)]  # fmt: skip
        yield from self.at_others(branch, inner, mine, fresh, walk)

    def at_others(
        self,
        branch: Branch,
        right: Part,
        mine: tuple[Part, ...],
        fresh: list[str],
        walk: _Walk,
    ) -> Iterator[Hole]:
        """Compare members that neither side names one by one; ``fresh`` are names to try them under."""
        if len(branch.required) >= self.most_names(branch):
            return
        for hole in self.against(mine, right, walk.down()):

            def candidates(hole: Hole = hole) -> Iterator[Any]:
                for name in fresh[:12]:
                    yield from self.objects(branch, name, islice(hole.candidates(), 40))

            yield Hole(hole.pointer, hole.keyword, candidates)

    def _property_names(self, branch: Branch, right: Part, walk: _Walk) -> Iterator[Hole]:
        inner = right.below("propertyNames")
        if self.none(self.others(branch)):
            bad = [n for n in branch.names if not inner.accepts(n) and not self.none(self.member(branch, n))]
            if bad:
                more = [partial(self.with_member, branch, name) for name in bad]
                yield self.hole(branch, right, "propertyNames", *more)
            return
        mine = self.typed(Branch("string", False, (*_all_names(branch), self.open_part(branch))))
        for hole in self.against(mine, inner, walk.down()):

            def candidates(hole: Hole = hole) -> Iterator[Any]:
                for name in islice(hole.candidates(), 20):
                    yield from self.with_member(branch, name)

            yield Hole(hole.pointer, hole.keyword, candidates)

    def _dependent_required(self, branch: Branch, right: Part, _: _Walk) -> Iterator[Hole]:
        for name, needs in right.view["dependentRequired"].items():
            known = {one for said in branch.said("dependentRequired") for one in said.get(name, ())}
            missing = [
                one for one in needs if one not in known and one not in branch.required and one != name
            ]
            if missing and not self.none(self.member(branch, name)):
                with_it = partial(self.with_member, branch, name)
                hole = self.hole(branch, right, "dependentRequired", with_it)
                yield hole._replace(pointer=f"{hole.pointer}/{escape(name)}")

    def _dependent_schemas(self, branch: Branch, right: Part, walk: _Walk) -> Iterator[Hole]:
        for name in right.view["dependentSchemas"]:
            key = ("required", name)
            if key not in self.made:
                self.made[key] = {"required": [name]}
            mine = (*self.typed(branch), Part(branch.parts[0].side, self.made[key], ""))
            if not self.none(mine):
                yield from self.against(mine, right.below("dependentSchemas", name), walk)

    def open_part(self, branch: Branch) -> Part:
        """Return a part that accepts everything, so that a list of parts is never without one."""
        if "open" not in self.made:
            self.made["open"] = {}
        return Part(branch.parts[0].side, self.made["open"], "")

    def anything(self, parts: tuple[Part, ...], branch: Branch) -> tuple[Part, ...]:
        return parts or (self.open_part(branch),)

    # -- values

    def drawn(self, parts: tuple[Part, ...], depth: int = 0) -> Iterator[Any]:
        """Yield values that satisfy all of ``parts``, the plain ones first."""
        if depth > MAX_DEPTH:
            return
        for branch in self.branches(parts):
            if not self.empty(branch):
                yield from self.samples(branch, depth)

    def samples(self, branch: Branch, depth: int = 0) -> Iterator[Any]:
        """Yield values of one branch."""
        values = self.finite(branch)
        if values is not None:
            yield from values
            return
        draw = {
            "object": self._objects,
            "array": self._arrays,
            "string": self._strings,
            "number": self._numbers,
        }
        for value in islice(draw[branch.kind](branch, depth), 120):
            if _fits(branch.parts, value):
                yield value

    def _numbers(self, branch: Branch, _: int) -> Iterator[Any]:
        steps = branch.said("multipleOf")
        for value in numbers_near([branch.lower[0], branch.upper[0], *self.pool.numbers], steps):
            if not branch.whole or value == int(value):
                yield value

    def _strings(self, branch: Branch, _: int) -> Iterator[Any]:
        for word in branch.said("format"):
            yield from formatted(word)
        for pattern in branch.said("pattern"):
            yield from matching(pattern)
        yield from self.pool.texts
        lengths = {0, 1, *self.pool.lengths, branch.least("minLength"), branch.most("maxLength")}
        yield from texts_of_length(length for length in sorted(lengths) if length != inf)

    def _arrays(self, branch: Branch, depth: int) -> Iterator[Any]:
        least, most = int(branch.least("minItems")), self.longest(branch)
        wanted = {least, 0, 1, 2, 3, *self.pool.lengths}
        for length in sorted(one for one in wanted if least <= one <= min(most, 1200)):
            yield from islice(self.filled(branch, int(length), depth), 12)

    def filled(self, branch: Branch, length: int, depth: int) -> Iterator[list[Any]]:
        """Yield arrays of one length: all items plain, then each item varied."""
        if not length:
            yield []
            return
        told = min(length, 1 + max([len(one) for one in branch.said("prefixItems")], default=0))
        choices = [
            list(islice(self.drawn(self.anything(self.item(branch, i), branch), depth + 1), 8))
            for i in range(told)
        ]
        if not all(choices):
            return
        plain = [choices[min(i, told - 1)][0] for i in range(length)]
        if any(branch.said("uniqueItems")):
            plain = [choices[min(i, told - 1)][i % len(choices[min(i, told - 1)])] for i in range(length)]
        yield plain
        for index, choice in enumerate(choices):
            for value in choice[1:]:
                yield [*plain[:index], value, *plain[index + 1 :]]

    def arrays(self, branch: Branch, index: int, values: Iterable[Any]) -> Iterator[Any]:
        """Yield arrays of the branch with one of ``values`` at ``index``."""
        least = max(int(branch.least("minItems")), index + 1)
        if least > 1200:
            return
        plain = next(self.filled(branch, least, MAX_DEPTH - 3), None)
        for value in values:
            if plain is None:
                yield [value] * least
            else:
                yield [*plain[:index], value, *plain[index + 1 :]]

    def _objects(self, branch: Branch, depth: int) -> Iterator[Any]:
        members: dict[str, list[Any]] = {}
        for name in [*branch.required, *(n for n in branch.names if n not in branch.required)][:60]:
            parts = self.anything(self.member(branch, name), branch)
            members[name] = list(islice(self.drawn(parts, depth + 1), 6 if depth < 2 else 2))
        if not all(members[name] for name in branch.required if name in members):
            return
        least = {name: members[name][0] for name in branch.required if name in members}
        optional = [name for name in members if name not in least and members[name]]
        yield least
        yield {**least, **{name: members[name][0] for name in optional}}
        others = list(
            islice(self.drawn(self.anything(self.others(branch), branch), max(depth + 1, MAX_DEPTH - 1)), 2)
        )
        names = [name for name in self.pool.names if name not in branch.names]
        for value in others:
            for name in names[:8]:
                yield {**least, name: value}
        if others and branch.least("minProperties") > len(least):
            wanted = [name for name in names if name not in least]
            yield {
                **least,
                **dict.fromkeys(wanted[: int(branch.least("minProperties")) - len(least)], others[0]),
            }
        for name in optional:
            yield {**least, name: members[name][0]}
        for name, values in members.items():
            for value in values[1:]:
                yield {**least, name: value}

    def bases(self, branch: Branch) -> Iterator[dict[str, Any]]:
        """Yield a few objects of the branch, the smallest first."""
        for value in islice(self._objects(branch, MAX_DEPTH - 4), 6):
            if isinstance(value, dict):
                yield value

    def objects(self, branch: Branch, name: str, values: Iterable[Any]) -> Iterator[Any]:
        """Yield objects of the branch with one of ``values`` as the member ``name``."""
        bases = list(self.bases(branch)) or [{}]
        for value in values:
            for base in bases:
                yield {**base, name: value}

    def with_member(self, branch: Branch, name: str) -> Iterator[Any]:
        """Yield objects of the branch that have the member ``name``."""
        return self.objects(branch, name, self.drawn(self.anything(self.member(branch, name), branch), 2))

    def without(self, branch: Branch, name: str) -> Iterator[Any]:
        """Yield objects of the branch that lack the member ``name``."""
        for base in self.bases(branch):
            yield {key: value for key, value in base.items() if key != name}


_RULES: Mapping[str, Callable[[_Comparison, Branch, Part, _Walk], Iterator[Hole]]] = {
    "type": _Comparison._type,
    "$ref": _Comparison._ref,
    "allOf": _Comparison._all_of,
    "anyOf": _Comparison._any_of,
    "oneOf": _Comparison._one_of,
    "not": _Comparison._not,
    "if": _Comparison._if,
    "minimum": _Comparison._minimum,
    "exclusiveMinimum": _Comparison._exclusive_minimum,
    "maximum": _Comparison._maximum,
    "exclusiveMaximum": _Comparison._exclusive_maximum,
    "multipleOf": _Comparison._multiple_of,
    "minLength": _Comparison._min_length,
    "maxLength": _Comparison._max_length,
    "minItems": _Comparison._min_items,
    "maxItems": _Comparison._max_items,
    "uniqueItems": _Comparison._unique_items,
    "prefixItems": _Comparison._prefix_items,
    "items": _Comparison._items,
    "contains": _Comparison._contains,
    "required": _Comparison._required,
    "minProperties": _Comparison._min_properties,
    "maxProperties": _Comparison._max_properties,
    "properties": _Comparison._properties,
    "patternProperties": _Comparison._pattern_properties,
    "additionalProperties": _Comparison._additional_properties,
    "propertyNames": _Comparison._property_names,
    "dependentRequired": _Comparison._dependent_required,
    "dependentSchemas": _Comparison._dependent_schemas,
}


def _sifted(hole: Hole, branch: Branch, refused: Callable[[Any], bool]) -> Callable[[], Iterator[Any]]:
    """Return the candidates that the branch accepts and this keyword refuses."""
    return lambda: (
        value
        for value in islice(hole.candidates(), MAX_CANDIDATES * 3)
        if refused(value) and _fits(branch.parts, value)
    )


def _fits(parts: Iterable[Part], value: Any) -> bool:
    return all(part.accepts(value) for part in parts)


def _names_of(part: Part) -> list[Part]:
    return [part.below("propertyNames")] if "propertyNames" in part.view else []


def _all_names(branch: Branch) -> list[Part]:
    return [one for part in branch.parts for one in _names_of(part)]


def _search(pattern: str, name: str) -> bool:
    try:
        return re.search(pattern, name) is not None
    except re.error:
        return False


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    for kind, types in (("boolean", bool), ("string", str), ("array", list), ("object", dict)):
        if isinstance(value, types):
            return kind
    return "number"


class _Pool:
    """What stands in the two schemas and makes good values: numbers, texts, lengths, names."""

    def __init__(self, *roots: Any) -> None:
        numbers: dict[float, None] = {}
        texts: dict[str, None] = {}
        names: dict[str, None] = {"extra": None, "x_1": None, "ñ": None, "": None}
        lengths: set[int] = set()
        stack: list[tuple[str, Any]] = [("", root) for root in roots]
        while stack:
            word, here = stack.pop()
            if isinstance(here, dict):
                if word in ("properties", "dependentRequired"):
                    names.update(dict.fromkeys(here))
                stack.extend(here.items())
            elif isinstance(here, list):
                stack.extend((word, one) for one in here)
            elif isinstance(here, str):
                if word == "pattern":
                    texts.update(dict.fromkeys(matching(here)))
                elif word == "format":
                    texts.update(dict.fromkeys(formatted(here)))
                elif word == "required":
                    names[here] = None
                elif word in ("enum", "const", "default", "examples"):
                    texts[here] = None
            elif isinstance(here, int | float) and not isinstance(here, bool):
                if word in (
                    "minLength",
                    "maxLength",
                    "minItems",
                    "maxItems",
                    "minProperties",
                    "maxProperties",
                ):
                    lengths.update((max(0, int(here) - 1), int(here), int(here) + 1))
                else:
                    numbers[here] = None
        self.numbers = list(numbers)[:40]
        self.texts = [
            *list(texts)[:60],
            "",
            "a",
            "A",
            "0",
            "abc",
            "a b",
            "-",
            "ñ",
            "not a date",
            "2026-01-05",
        ]
        self.names = list(names)[:60]
        self.lengths = sorted(lengths)[:20]
