"""One walk through a JSON Schema: is it plainly well formed, what does it refer to, where does it go round?

The meta-schema of 2020-12 takes a millisecond and more for one tool. Nearly every schema can be recognised as
well formed by looking at each keyword once, in a fiftieth of that. ``sure`` is that recognition. It errs on
one side only: what is sure, the meta-schema accepts; what it is not sure of, the meta-schema decides.

No recursion, so no schema is too deep for it; the time is linear in the size of the schema.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Any

from jsonschema_specifications import REGISTRY  # type: ignore[import-untyped,unused-ignore]
from referencing.exceptions import Unresolvable

Path = tuple[str | int, ...]

_ONE = frozenset(
    {
        "additionalItems",
        "additionalProperties",
        "contains",
        "contentSchema",
        "else",
        "if",
        "items",
        "not",
        "propertyNames",
        "then",
        "unevaluatedItems",
        "unevaluatedProperties",
    }
)
_LIST = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
_MAP = frozenset({"$defs", "definitions", "dependentSchemas", "patternProperties", "properties"})
_NUMBERS = frozenset({"exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum"})
_COUNTS = frozenset(
    {
        "maxContains",
        "maxItems",
        "maxLength",
        "maxProperties",
        "minContains",
        "minItems",
        "minLength",
        "minProperties",
    }
)
_TEXTS = frozenset({"$comment", "contentEncoding", "contentMediaType", "description", "format", "title"})
_FLAGS = frozenset({"deprecated", "readOnly", "uniqueItems", "writeOnly"})
_LISTS = frozenset({"enum", "examples"})
_ANYTHING = frozenset({"$schema", "const", "default"})
_DOUBTFUL = frozenset(
    {
        "$anchor",
        "$dynamicAnchor",
        "$dynamicRef",
        "$id",
        "$recursiveAnchor",
        "$recursiveRef",
        "$vocabulary",
        "dependencies",
        "dependentRequired",
        "id",
    }
)
_TYPES = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})
_NAMING = frozenset({"$id", "$anchor", "$dynamicAnchor", "id"})
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_SIMPLE_REFERENCE = re.compile(r"#(/[A-Za-z0-9._~$/-]*)?")


_KNOWN = _ONE | _LIST | _MAP | {"dependencies"}
_SAME_PLACE = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else")
"""Keywords whose schemas are held against the very value that the schema itself is held against."""


class Sight:
    """What one walk through ``schema`` and every schema in it has seen.

    ``sure``: the meta-schema has nothing to say. ``subschemas``: each object that is a schema, by its path;
    what a reference names is one, wherever it stands. ``references``: path, keyword and target.
    ``named``: an ``$id`` or an anchor moves what references mean.
    """

    def __init__(self, schema: Any) -> None:
        self.schema = schema
        self.sure = True
        self.named = False
        self.subschemas: dict[Path, dict[str, Any]] = {}
        self.references: list[tuple[Path, str, Any]] = []
        self._targets: dict[Path, Path] = {}
        self._waiting: list[tuple[Path, Any]] = [((), schema)]
        while self._waiting:
            self._visit(*self._waiting.pop())

    def _visit(self, path: Path, schema: Any) -> None:
        if isinstance(schema, bool) or path in self.subschemas:
            return
        if not isinstance(schema, dict):
            self.sure = False
            return
        self.subschemas[path] = schema
        for word, value in schema.items():
            if word in _MAP:
                self._map(path, word, value)
            elif word in _ONE:
                if isinstance(value, list):
                    self.sure = False  # "items" of the older drafts
                    self._list(path, word, value)
                else:
                    self._waiting.append(((*path, word), value))
            elif word in _LIST:
                self._list(path, word, value)
            elif word in _REFERENCES:
                self._refer(path, word, value)
            elif word in _DOUBTFUL:
                self.sure = False
                self.named = self.named or word in _NAMING
                if word == "dependencies" and isinstance(value, dict):
                    self._map(path, word, {k: each for k, each in value.items() if isinstance(each, dict)})
            elif self.sure:
                self.sure = _plain(word, value)

    def _map(self, path: Path, word: str, value: Any) -> None:
        if not isinstance(value, dict):
            self.sure = False
            return
        self._waiting.extend(((*path, word, name), each) for name, each in value.items())
        if word == "patternProperties" and not all(map(_compiles, value)):
            self.sure = False

    def _list(self, path: Path, word: str, value: Any) -> None:
        if isinstance(value, list) and value:
            self._waiting.extend(((*path, word, index), each) for index, each in enumerate(value))
        else:
            self.sure = False

    def _refer(self, path: Path, word: str, target: Any) -> None:
        self.references.append((path, word, target))
        if not isinstance(target, str) or word != "$ref" or not _SIMPLE_REFERENCE.fullmatch(target):
            self.sure = False
            return
        value: Any = self.schema
        steps: list[str | int] = []
        for step in target[1:].split("/")[1:]:
            name = step.replace("~1", "/").replace("~0", "~")
            if isinstance(value, dict) and name in value:
                value = value[name]
                steps.append(name)
            elif isinstance(value, list) and name.isdecimal() and int(name) < len(value):
                value = value[int(name)]
                steps.append(int(name))
            else:
                return
        if isinstance(value, dict | bool):
            self._targets[path] = tuple(steps)
            self._waiting.append((tuple(steps), value))

    def strangers(self) -> Iterator[tuple[Path, Any]]:
        """What references name below a keyword that nobody knows, where the meta-schema does not look."""
        for target in dict.fromkeys(self._targets.values()):
            if target and target[0] not in _KNOWN:
                yield target, self.subschemas.get(target)

    def lost(self, specification: Any) -> Iterator[tuple[Path, str, str, Any]]:
        """References that find no schema: path, keyword, target, and what they find (None for nothing).

        ``specification`` is the dialect's in ``referencing``. Nothing is fetched.
        """
        known: dict[tuple[tuple[Path, ...], str], Any] = {}
        for path, word, target in self.references:
            if not isinstance(target, str) or (path in self._targets and not self.named and word == "$ref"):
                continue  # the meta-schema has said so; or the walk has been there
            bases = tuple(base for base in self._bases if path[: len(base)] == base)
            if (bases, target) not in known:
                known[bases, target] = self._found(specification, bases, target)
            if not isinstance(known[bases, target], dict | bool):
                yield path, word, target, known[bases, target]

    def _found(self, specification: Any, bases: tuple[Path, ...], target: str) -> Any:
        try:
            resolver = self._resolver(specification)
            for base in bases:
                resolver = resolver.in_subresource(specification.create_resource(self.subschemas[base]))
            return resolver.lookup(target).contents
        except Unresolvable:
            return None
        except (ValueError, TypeError, KeyError, AttributeError):  # what stands there is malformed
            return None

    @cached_property
    def _bases(self) -> list[Path]:
        """Where an ``$id`` moves the base of references, outermost first; the root needs none."""
        return sorted((path for path, each in self.subschemas.items() if path and "$id" in each), key=len)

    def _resolver(self, specification: Any) -> Any:
        if self._root is None:
            resource = specification.create_resource(self.schema)
            uri = resource.id() or ""
            self._root = REGISTRY.with_resource(uri, resource).crawl().resolver(uri)
        return self._root

    _root: Any = None

    def circles(self) -> Iterator[Path]:
        """Paths of references that lead back to themselves without going deeper into the value.

        No value can be held against such a schema: it never ends.
        """
        if self.named:
            return
        done: set[Path] = set()
        for start in sorted(self._targets, key=lambda path: (len(path), list(map(str, path)))):
            trail: list[tuple[Path, Iterator[Path]]] = [(start, self._beside(start))]
            here = {start}
            while trail:
                path, following = trail[-1]
                step = next(following, None)
                if step is None:
                    done.add(path)
                    here.discard(path)
                    trail.pop()
                elif step in here:
                    yield start
                    return
                elif step not in done and step in self.subschemas:
                    here.add(step)
                    trail.append((step, self._beside(step)))

    def _beside(self, path: Path) -> Iterator[Path]:
        schema = self.subschemas[path]
        if path in self._targets:
            yield self._targets[path]
        for word in _SAME_PLACE:
            value = schema.get(word)
            if isinstance(value, list):
                yield from ((*path, word, index) for index in range(len(value)))
            elif isinstance(value, dict):
                yield (*path, word)


def _plain(word: str, value: Any) -> bool:
    """Whether a keyword that holds no schema is plainly well formed; an unknown one is."""
    if word == "type":
        if isinstance(value, str):
            return value in _TYPES
        return (
            isinstance(value, list)
            and len(value) > 0
            and all(isinstance(each, str) and each in _TYPES for each in value)
            and len(set(value)) == len(value)
        )
    if word == "required":
        return (
            isinstance(value, list)
            and all(isinstance(each, str) for each in value)
            and len(set(value)) == len(value)
        )
    if word in _ANYTHING:
        return True
    if word in _TEXTS:
        return isinstance(value, str)
    if word in _LISTS:
        return isinstance(value, list)
    if word in _FLAGS:
        return isinstance(value, bool)
    if word in _COUNTS:
        return type(value) is int and value >= 0
    if word in _NUMBERS:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if word == "multipleOf":
        return isinstance(value, int | float) and not isinstance(value, bool) and value > 0
    if word == "pattern":
        return isinstance(value, str) and _compiles(value)
    return True


def _compiles(pattern: str) -> bool:
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError):
        return False
    return True
