"""JSON and YAML documents, read strictly and written so that they read back as the same value.

The rules, the same for both formats:

* UTF-8 without a byte-order mark, at most 64 MiB (YAML: 16 MiB), at most ``MAX_DEPTH`` levels of nesting and
  ``MAX_VALUES`` values. What goes past a limit is refused, never cut.
* A key stands once in an object, and is text. A number is finite. A string is Unicode text: half of a
  surrogate pair is refused.
* YAML means YAML as JSON would have it. A plain scalar is a number only when JSON would spell it so; it
  is true, false or null as YAML 1.2 (core schema) spells them: ``true True TRUE``, ``null Null NULL ~`` and
  nothing at all. Everything else is the text that stands there: ``no``, ``012``, ``1:30``, ``2025-07-11`` and
  ``0x1F`` stay strings. Keys are always text. One document in a file.
* YAML tags and merge keys are refused. Aliases are written out, with a bound on what they may grow to.

A refusal is a ``DocumentError`` in one line with the name, the line and the column (both count from 1, the
column in characters). Positions are not kept while reading: they are found again, from the same text, when
somebody asks. PyYAML takes the text apart into events; its constructors, which make dates and objects, are
never used. YAML is written by our own few lines, so that the same value gives the same bytes everywhere.
"""

from __future__ import annotations

import json
import math
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from json.decoder import WHITESPACE, scanstring  # type: ignore[attr-defined]
from pathlib import Path
from typing import Any, Literal, NoReturn

import yaml  # type: ignore[import-untyped,unused-ignore]

from ai_evolution.errors import DocumentError, UsageError

Format = Literal["json", "yaml"]
FORMATS: tuple[Format, ...] = ("json", "yaml")

MAX_BYTES = 64 * 1024 * 1024
"""Bytes of a JSON document that are read."""
MAX_YAML_BYTES = 16 * 1024 * 1024
"""Bytes of a YAML document that are read."""
MAX_DEPTH = 128
"""Levels of nesting that are accepted."""
MAX_VALUES = 5_000_000
"""Values (objects, arrays and scalars) in a JSON document."""
MAX_YAML_VALUES = 250_000
"""Values in a YAML document once its aliases are written out."""

_Place = tuple[int, int]
_SUFFIXES: Mapping[str, Format] = {".json": "json", ".yaml": "yaml", ".yml": "yaml"}
_MARKS = {
    b"\xef\xbb\xbf": "a UTF-8 byte-order mark (EF BB BF)",
    b"\xff\xfe\x00\x00": "a UTF-32 byte-order mark",
    b"\x00\x00\xfe\xff": "a UTF-32 byte-order mark",
    b"\xff\xfe": "a UTF-16 byte-order mark",
    b"\xfe\xff": "a UTF-16 byte-order mark",
}


@dataclass(frozen=True)
class Document:
    """A value and where it came from."""

    value: Any
    name: str
    format: Format
    text: str = field(default="", repr=False, compare=False)
    _found: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def position(self, pointer: str) -> tuple[int, int] | None:
        """Line and column, from 1, of the value at ``pointer`` (RFC 6901); None when nothing is there.

        What a YAML alias stands for is found at the alias.
        """
        steps = _steps(pointer)
        if steps is None or not self.text:
            return None
        find = _json_position if self.format == "json" else _yaml_position
        return find(self.text, steps, self._found)

    def locate(self, pointer: str) -> str:
        """``NAME: line L, column C``, or what of it is known: the nearest value that is there."""
        while (place := self.position(pointer)) is None and pointer:
            pointer = pointer.rpartition("/")[0]
        return f"{self.name}: line {place[0]}, column {place[1]}" if place else self.name


def load(raw: bytes, name: str, *, format: Format | None = None) -> Document:
    """Read one document. ``name`` is what messages call it (a path, or ``-``).

    Without ``format`` the ending of ``name`` decides (``.json``, ``.yaml``, ``.yml``), and without one of
    these the first character: ``{``, ``[`` and ``"`` begin JSON. Raises ``DocumentError`` (module head).
    """
    if format is not None and format not in FORMATS:
        raise UsageError(f"format {format!r} is not known; accepted: {', '.join(FORMATS)}")
    kind = format or _SUFFIXES.get(Path(name).suffix.lower())
    text = _text(raw, name, kind)
    if kind is None:
        kind = "json" if text.lstrip()[:1] in ("{", "[", '"') else "yaml"
        _within(raw, name, kind)
    value = _read_json(text, name) if kind == "json" else _YamlReader(text, name).read()
    return Document(value, name, kind, text)


def load_file(path: str | Path, *, format: Format | None = None) -> Document:
    """Read the file at ``path``, never more of it than is accepted. Raises ``DocumentError``."""
    try:
        with Path(path).open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise DocumentError(f"{path}: cannot be read: {error.strerror or error}") from None
    return load(raw, str(path), format=format)


def dumps(value: Any, format: Format = "json") -> str:
    """``value`` as text that ``load`` reads back as the same value, keys in the same order.

    JSON is indented by two blanks. Raises ``UsageError`` for an unknown format, ``DocumentError`` for what is
    no JSON value (a date, a set, NaN, a key that is no text, half of a surrogate pair) or nested too deeply.
    """
    if format not in FORMATS:
        raise UsageError(f"format {format!r} is not known; accepted: {', '.join(FORMATS)}")
    _check_json_value(value)
    if format == "json":
        return json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False) + "\n"
    return "".join(_written(value, 0, "")).removeprefix("\n") + "\n"


def pointer_of(path: Iterator[str | int] | list[str | int] | tuple[str | int, ...]) -> str:
    """The JSON pointer (RFC 6901) with these steps."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)


def at(value: Any, pointer: str) -> Any:
    """What stands at ``pointer`` in ``value``. Raises ``KeyError`` when nothing does."""
    steps = _steps(pointer)
    if steps is None:
        raise KeyError(pointer)
    for step in steps:
        if isinstance(value, Mapping) and step in value:
            value = value[step]
        elif isinstance(value, list) and _INDEX.fullmatch(step) and int(step) < len(value):
            value = value[int(step)]
        else:
            raise KeyError(pointer)
    return value


_INDEX = re.compile("0|[1-9][0-9]{0,9}")


def _steps(pointer: str) -> list[str] | None:
    if pointer == "":
        return []
    if not pointer.startswith("/"):
        return None
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer[1:].split("/")]


# --- bytes to text


def _text(raw: bytes, name: str, kind: Format | None) -> str:
    _within(raw, name, kind)
    for mark, words in _MARKS.items():
        if raw.startswith(mark):
            raise _refusal(name, (1, 1), f"begins with {words}; save it as UTF-8 without one")
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        before = raw[: error.start].decode("utf-8")
        byte = raw[error.start]
        raise _refusal(
            name, _place(before, len(before)), f"byte {byte:#04x} is not UTF-8; save the file as UTF-8"
        ) from None
    if not text.strip(" \t\r\n"):
        raise _refusal(name, (1, 1), "is empty; a JSON or YAML document is expected")
    return text


def _within(raw: bytes, name: str, kind: Format | None) -> None:
    limit = MAX_YAML_BYTES if kind == "yaml" else MAX_BYTES
    if len(raw) > limit:
        what = {"json": "JSON", "yaml": "YAML"}.get(kind or "", "document")
        raise DocumentError(f"{name}: larger than the {limit // 2**20} MiB of {what} that are read")


def _refusal(name: str, place: _Place, problem: str) -> DocumentError:
    return DocumentError(f"{name}: line {place[0]}, column {place[1]}: {problem}")


def _place(text: str, offset: int) -> _Place:
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)


def _shown(text: str, limit: int = 60) -> str:
    return repr(text if len(text) <= limit else text[:limit] + "...")


# --- JSON


class _Fault(Exception):
    """Raised inside the C scanner by a hook; where it happened is found afterwards."""


class _Objects:
    """The hook that makes objects: refuses a key that stands twice, counts the objects before that one."""

    def __init__(self) -> None:
        self.made = 0
        self.twice = False

    def __call__(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        if len(value) != len(pairs):
            self.twice = True
            raise _Fault
        self.made += 1
        return value


def _no_constant(name: str) -> NoReturn:
    raise _Fault(f"{name} is not a JSON number")


def _float(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise _Fault(f"the number {_shown(text, 30)} is larger than a double holds")
    return value


_PLAIN = json.JSONDecoder()
_HALF_PAIR = re.compile(r"\\[uU](?:0000)?[dD][89a-fA-F]")
_STRING = r'"(?:[^"\\]|\\.)*"'
_BRACE = re.compile(_STRING + "|[{}]", re.DOTALL)
_NUMBERS = re.compile(_STRING + r"|NaN|-?Infinity|-?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?", re.DOTALL)
_FRACTION = re.compile("[.eE]")
_DIGITS = 600
"""Fewer digits than any interpreter's bound on those of an integer (at least 640), more than a double's."""
_BRACKET = re.compile(_STRING + r"|[\[\]{}]", re.DOTALL)


def _read_json(text: str, name: str) -> Any:
    if text.count(",") + text.count("[") + text.count("{") > MAX_VALUES:
        raise DocumentError(f"{name}: holds more than the {MAX_VALUES:,} values that are read")
    objects = _Objects()
    try:
        value = json.loads(text, object_pairs_hook=objects, parse_float=_float, parse_constant=_no_constant)
    except _Fault as fault:
        if objects.twice:
            raise _refusal(name, *_key_that_stands_twice(text, objects.made)) from None
        raise _refusal(name, _refused_number(text), str(fault)) from None
    except json.JSONDecodeError as error:
        raise _refusal(name, (error.lineno, error.colno), f"no JSON: {_words(error.msg)}") from None
    except RecursionError:
        raise _too_deep(text, name) from None
    except ValueError:  # the interpreter's own bound on the digits of an integer
        raise _refusal(name, _refused_number(text), "a number has too many digits") from None
    if text.count("[") + text.count("{") > MAX_DEPTH and _deeper(value, MAX_DEPTH):
        raise _too_deep(text, name)
    if _HALF_PAIR.search(text) and (where := _broken_text(value)) is not None:
        place = _json_position(text, where, {}) or (1, 1)
        raise _refusal(name, place, "half of a surrogate pair is no text")
    return value


def _words(message: str) -> str:
    return message[:1].lower() + message[1:]


def _too_deep(text: str, name: str) -> DocumentError:
    depth, offset = 0, 0
    for match in _BRACKET.finditer(text):
        token = match.group()
        if token in ("[", "{"):
            depth += 1
        elif token in ("]", "}"):
            depth -= 1
        if depth > MAX_DEPTH:
            offset = match.start()
            break
    return _refusal(name, _place(text, offset), f"nested deeper than {MAX_DEPTH} levels")


def _deeper(value: Any, depth: int) -> bool:
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(depth):
        level = [
            child
            for container in level
            for child in (container.values() if isinstance(container, dict) else container)
            if isinstance(child, dict | list)
        ]
    return bool(level)


def _skip(text: str, offset: int) -> int:
    return WHITESPACE.match(text, offset).end()  # type: ignore[no-any-return]


def _members(text: str, offset: int) -> Iterator[tuple[str, int, int]]:
    """Key (or index), where the member begins, and where its value begins, in the container at ``offset``.

    A value is skipped by the C scanner, when the next one is asked for.
    """
    keyed = text[offset] == "{"
    here, index = _skip(text, offset + 1), 0
    if text[here : here + 1] in ("}", "]"):
        return
    while True:
        start = here
        key = str(index)
        if keyed:
            key, here = scanstring(text, here + 1, True)
            here = _skip(text, _skip(text, here) + 1)
        yield key, start, here
        _, here = _PLAIN.scan_once(text, here)  # type: ignore[attr-defined]
        here = _skip(text, here)
        if text[here : here + 1] != ",":
            return
        here, index = _skip(text, here + 1), index + 1


def _refused_number(text: str) -> _Place:
    """Where the first number is that a hook refused: all before it are finite, and short enough."""
    for match in _NUMBERS.finditer(text):
        token = match.group()
        if token[0] == '"':
            continue
        try:
            if token[-1] in "Ny" or math.isinf(float(token) if _FRACTION.search(token) else int(token)):
                break
        except (ValueError, OverflowError):  # too many digits; an integer past a double is none
            if len(token) > _DIGITS:
                break
    return _place(text, match.start())


def _key_that_stands_twice(text: str, ended: int) -> tuple[_Place, str]:
    """Where a key stands twice in the object that ends after ``ended`` others."""
    begun: list[int] = []
    for match in _BRACE.finditer(text):
        if match.group() == "{":
            begun.append(match.start())
        elif match.group() == "}":
            offset = begun.pop()
            if not ended:
                break
            ended -= 1
    seen: dict[str, int] = {}
    for key, start, _ in _members(text, offset):
        if key in seen:
            line, column = _place(text, seen[key])
            return _place(text, start), (
                f"the key {_shown(key)} stands twice in one object (first on line {line}, column {column})"
            )
        seen[key] = start
    raise AssertionError("an object was refused for another reason")


def _broken_text(value: Any) -> list[str] | None:
    """The steps to the first string (or object with a key) that UTF-8 can't hold."""
    waiting: list[tuple[list[str], Any]] = [([], value)]
    while waiting:
        steps, here = waiting.pop()
        if isinstance(here, str):
            if not _encodes(here):
                return steps
        elif isinstance(here, dict):
            if not all(map(_encodes, here)):
                return steps
            waiting.extend(([*steps, key], each) for key, each in reversed(here.items()))
        elif isinstance(here, list):
            waiting.extend(([*steps, str(index)], each) for index, each in reversed(list(enumerate(here))))
    return None


def _encodes(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _json_position(text: str, steps: list[str], found: dict[str, Any]) -> _Place | None:
    offset, pointer = _skip(text, 0), ""
    for step in steps:
        if text[offset] not in "{[":
            return None
        members = found.get(pointer)
        if members is None:
            members = found[pointer] = {key: begin for key, _, begin in _members(text, offset)}
        if step not in members:
            return None
        offset, pointer = members[step], f"{pointer}/{step}"
    breaks = found.get(
        "\n"
    )  # no pointer: where the lines end, found once for all the places that are asked for
    if breaks is None:
        breaks = found["\n"] = [match.start() for match in re.finditer("\n", text)]
    line = bisect_left(breaks, offset)
    return line + 1, offset - (breaks[line - 1] if line else -1)


# --- YAML

_LOADER = getattr(yaml, "CLoader", yaml.Loader)  # only its parser is used: events, no construction
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_WORDS: Mapping[str, Any] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
_OPEN = object()
_ALIAS = object()
_NO_KEY = object()


class _Frame:
    """A container that is being read."""

    __slots__ = ("anchor", "before", "height", "key", "marks", "place", "value")

    def __init__(self, value: Any, anchor: str | None, before: int, place: _Place, marks: Any) -> None:
        self.value, self.anchor, self.before, self.place, self.marks = value, anchor, before, place, marks
        self.key: Any = _NO_KEY
        self.height = 1


class _YamlReader:
    """Builds the value from PyYAML's events; with ``marked`` also the tree of places beside it."""

    def __init__(self, text: str, name: str, marked: bool = False) -> None:
        self._text, self._name, self._marked = text, name, marked
        self._stack: list[_Frame] = []
        self._anchors: dict[str, Any] = {}
        self._count = 0
        self._root: Any = _NO_KEY
        self._root_marks: Any = None

    def read(self) -> Any:
        self._run()
        return self._root

    def marks(self) -> Any:
        self._run()
        return self._root_marks

    def _run(self) -> None:
        if (bad := _UNPRINTABLE.search(self._text)) is not None:
            code = f"U+{ord(bad.group()):04X}"
            raise _refusal(
                self._name, _place(self._text, bad.start()), f"the character {code} is not accepted in YAML"
            )
        try:
            for event in yaml.parse(self._text, Loader=_LOADER):
                self._take(event)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            place = (mark.line + 1, mark.column + 1) if mark else (1, 1)
            words = "no YAML: " + ", ".join(filter(None, (error.context, error.problem)))
            if "maximum nesting" in words:  # libyaml's own bound is met before ours
                words = f"nested deeper than {MAX_DEPTH} levels"
            raise _refusal(self._name, place, words) from None
        except yaml.YAMLError as error:
            raise _refusal(self._name, (1, 1), f"no YAML: {' '.join(str(error).split())[:200]}") from None
        if self._root is _NO_KEY:
            raise _refusal(self._name, (1, 1), "holds no document; comments alone say nothing")

    def _refuse(self, event: Any, problem: str) -> DocumentError:
        return _refusal(self._name, _start(event), problem)

    def _take(self, event: Any) -> None:
        kind = type(event)
        if kind is yaml.ScalarEvent:
            self._check(event)
            self._scalar(event)
        elif kind is yaml.MappingStartEvent or kind is yaml.SequenceStartEvent:
            self._check(event)
            self._begin(event, {} if kind is yaml.MappingStartEvent else [])
        elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
            self._end()
        elif kind is yaml.AliasEvent:
            self._alias(event)
        elif kind is yaml.DocumentStartEvent and self._root is not _NO_KEY:
            raise self._refuse(event, "a second document begins here; a file holds one")

    def _check(self, event: Any) -> None:
        if event.tag is not None:
            tag = _shown(event.tag.replace("tag:yaml.org,2002:", "!!"), 40)
            raise self._refuse(event, f"the tag {tag} is not accepted; quote a text instead")
        self._grow(event, 1)
        if event.anchor is not None:
            self._anchors[event.anchor] = _OPEN

    def _grow(self, event: Any, values: int) -> None:
        self._count += values
        if self._count > MAX_YAML_VALUES:
            raise self._refuse(
                event, f"more than {MAX_YAML_VALUES:,} values, aliases written out; that many are not read"
            )

    def _scalar(self, event: Any) -> None:
        if event.style == '"' and not _encodes(event.value):  # libyaml has refused it already
            raise self._refuse(event, "half of a surrogate pair is no text")
        frame = self._stack[-1] if self._stack else None
        if frame is not None and frame.key is _NO_KEY and type(frame.value) is dict:
            if event.value == "<<" and event.implicit[0]:
                raise self._refuse(event, "merge keys (<<) are not accepted; write the keys out")
            if event.value in frame.value:
                raise self._refuse(event, f"the key {_shown(event.value)} stands twice in one mapping")
            frame.key = event.value
            value: Any = event.value
        else:
            value = self._plain(event) if event.implicit[0] else event.value
            self._put(value, 0, _start(event), None)
        if event.anchor is not None:
            self._anchors[event.anchor] = (value, 1, 0)

    def _plain(self, event: Any) -> Any:
        text = event.value
        if text in _WORDS:
            return _WORDS[text]
        match = _NUMBER.fullmatch(text)
        if match is None:
            return text
        try:
            value = float(text) if match.group(1) or match.group(2) else int(text)
        except ValueError:
            raise self._refuse(event, "a number has too many digits") from None
        if isinstance(value, float) and math.isinf(value):
            raise self._refuse(event, f"the number {_shown(text, 30)} is larger than a double holds")
        return value

    def _begin(self, event: Any, value: Any) -> None:
        if len(self._stack) >= MAX_DEPTH:
            raise self._refuse(event, f"nested deeper than {MAX_DEPTH} levels")
        if self._stack and self._stack[-1].key is _NO_KEY and type(self._stack[-1].value) is dict:
            raise self._refuse(event, "a key is text; an object or a list can't be one")
        marks: Any = ({} if type(value) is dict else []) if self._marked else None
        self._stack.append(_Frame(value, event.anchor, self._count, _start(event), marks))

    def _end(self) -> None:
        frame = self._stack.pop()
        if frame.anchor is not None:
            self._anchors[frame.anchor] = (frame.value, self._count - frame.before + 1, frame.height)
        self._put(frame.value, frame.height, frame.place, frame.marks)

    def _alias(self, event: Any) -> None:
        known = self._anchors.get(event.anchor)
        if known is None:
            raise self._refuse(event, f"the alias {_shown('*' + event.anchor)} stands for nothing before it")
        if known is _OPEN:
            raise self._refuse(event, f"the alias {_shown('*' + event.anchor)} stands inside what it names")
        value, size, height = known
        self._grow(event, size)
        if len(self._stack) + height > MAX_DEPTH:
            raise self._refuse(event, f"nested deeper than {MAX_DEPTH} levels, aliases written out")
        frame = self._stack[-1]
        if frame.key is _NO_KEY and type(frame.value) is dict:
            raise self._refuse(event, "a key is text; an alias can't be one")
        self._put(_copy(value), height, _start(event), _ALIAS)

    def _put(self, value: Any, height: int, place: _Place, marks: Any) -> None:
        mark = (place, marks) if self._marked else None
        if not self._stack:
            self._root, self._root_marks = value, mark
            return
        frame = self._stack[-1]
        frame.height = max(frame.height, height + 1)
        if type(frame.value) is list:
            frame.value.append(value)
            if mark:
                frame.marks.append(mark)
        else:
            frame.value[frame.key] = value
            if mark:
                frame.marks[frame.key] = mark
            frame.key = _NO_KEY


def _start(event: Any) -> _Place:
    mark = event.start_mark
    return mark.line + 1, mark.column + 1


def _copy(value: Any) -> Any:
    if type(value) is dict:
        return {key: _copy(each) for key, each in value.items()}
    return [_copy(each) for each in value] if type(value) is list else value


def _yaml_position(text: str, steps: list[str], found: dict[str, Any]) -> _Place | None:
    if "" not in found:
        found[""] = _YamlReader(text, "", marked=True).marks()
    place, members = found[""]
    for step in steps:
        if isinstance(members, dict) and step in members:
            place, members = members[step]
        elif isinstance(members, list) and _INDEX.fullmatch(step) and int(step) < len(members):
            place, members = members[int(step)]
        else:
            return place if members is _ALIAS else None
    return place  # type: ignore[no-any-return]


# --- writing


def _check_json_value(value: Any) -> None:
    """Raise ``DocumentError`` for the first thing in ``value`` that JSON has no word for."""
    waiting: list[tuple[tuple[str, ...], Any]] = [((), value)]
    while waiting:
        steps, here = waiting.pop()
        problem = None
        if isinstance(here, str):
            problem = None if _encodes(here) else "half of a surrogate pair is no text"
        elif isinstance(here, dict):
            if not all(isinstance(key, str) for key in here):
                problem = "a key is no text"
            elif not all(map(_encodes, here)):
                problem = "half of a surrogate pair is no text"
            else:
                waiting.extend(((*steps, key), each) for key, each in here.items())
        elif isinstance(here, list | tuple):
            waiting.extend(((*steps, str(index)), each) for index, each in enumerate(here))
        elif isinstance(here, float):
            problem = None if math.isfinite(here) else f"{here} is no JSON number"
        elif here is not None and not isinstance(here, bool | int):
            problem = f"{type(here).__name__} is no JSON value"
        if len(steps) > MAX_DEPTH:
            problem = f"nested deeper than {MAX_DEPTH} levels"
        if problem:
            raise DocumentError(f"cannot be written, at {pointer_of(steps)[:200] or '/'}: {problem}")


_LONG_KEY = 1000
"""Characters of a key from which YAML wants it marked (its own bound is 1,024)."""
_BARE = re.compile(r"[^\W\d_][\w ./()+-]*(?<![ ])|_\w+")
_YAML_1_1 = re.compile(r"(?i:y|n|yes|no|on|off|true|false|null|nan|inf)")
_ESCAPED = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\U0001fffe-\U0001ffff]")
_LITERAL = re.compile(r"(?![\s#])[^\r\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\t]*\n?")


def _written(value: Any, indent: int, before: str) -> Iterator[str]:
    """The lines of ``value`` in YAML; ``before`` is what separates a scalar from its key or dash."""
    blanks = "\n" + " " * indent
    if isinstance(value, dict) and value:
        for key, each in value.items():
            name = _scalar(key)
            yield f"{blanks}{name}:" if len(name) < _LONG_KEY else f"{blanks}? {name}{blanks}:"
            yield from _written(each, indent + 2, " ")
    elif isinstance(value, list | tuple) and value:
        for each in value:
            lines = _written(each, indent + 2, " ")
            if isinstance(each, dict) and each:  # its first key stands beside the dash
                yield f"{blanks}- {next(lines).lstrip()}"
            else:
                yield f"{blanks}-"
            yield from lines
    elif isinstance(value, dict | list | tuple):
        yield before + ("{}" if isinstance(value, dict) else "[]")
    elif isinstance(value, str) and "\n" in value and indent and _literal(value):
        yield f"{before}|{'' if value.endswith(chr(10)) else '-'}"
        for line in value.removesuffix("\n").split("\n"):
            yield blanks + line if line else "\n"
    else:
        yield before + (_scalar(value) if isinstance(value, str) else json.dumps(value))


def _literal(text: str) -> bool:
    return (
        _LITERAL.fullmatch(text) is not None
        and not text.endswith("\n\n")
        and not any(line.endswith(" ") for line in text.split("\n"))
    )


def _scalar(text: str) -> str:
    """Plain where no reader of any YAML could take it for something else, and quoted as in JSON otherwise."""
    if _BARE.fullmatch(text) and not _YAML_1_1.fullmatch(text) and not _ESCAPED.search(text):
        return text
    return _ESCAPED.sub(_escape, json.dumps(text, ensure_ascii=False))


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
