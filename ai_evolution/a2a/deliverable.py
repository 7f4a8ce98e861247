"""Artifacts: put together from their chunks, compared with the stored task, read, and validated.

The deliverable of a task is an artifact. Nothing here looks at a status message or at the
history: what an agent says about its work is not its work.

Numbers. Protobuf keeps every number of a data part as a binary64 float, so 4 travels as 4.0.
``whole`` gives integers back by this rule: an integral number comes back as ``int``, unless
the schema at that very place says ``"type": "number"`` (and not ``integer``), where it stays a
``float``. From 2^53 on, integers that differ share one float, so an integral number of
that size is refused, again unless the schema says ``number`` there. NaN and infinity are refused.
Protobuf keeps no order of names either, so objects come back with their names sorted.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from a2a.types import Artifact, Part, Task, TaskArtifactUpdateEvent
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError, best_match
from referencing import Registry
from referencing.exceptions import Unresolvable

from ai_evolution.a2a.connection import garbled, plain
from ai_evolution.errors import DeliverableInvalid

Schema = Mapping[str, Any] | bool
"""A JSON Schema 2020-12."""
LARGEST = 2**53 - 1
"""The largest integer that a binary64 number holds and shares with no other integer."""


class Assembly:
    """The artifacts of one task as far as they are known. ``limit`` bounds them in bytes."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._size = 0
        self._found: dict[str, Artifact] = {}
        self._closed: set[str] = set()
        self.gaps = False
        """True once a chunk may have been missed: then the stored task alone counts."""

    def replace(self, artifacts: Iterable[Artifact]) -> None:
        """Start again from a full Task, which holds everything that came before it."""
        self._found = {}
        self._closed = set()
        self._size = 0
        for artifact in artifacts:
            self._grow(artifact)
            copy = self._found[artifact.artifact_id] = Artifact()
            copy.CopyFrom(artifact)

    def add(self, event: TaskArtifactUpdateEvent) -> None:
        """Take one chunk: ``append`` adds its parts, otherwise it begins the artifact anew.

        A chunk after ``lastChunk`` or an artifact without id raises ``CallRefused`` (-32006).
        An ``append`` to an artifact that was never begun is kept and counts as a gap.
        """
        chunk = event.artifact
        if not chunk.artifact_id:
            raise garbled("an artifact came without artifactId")
        if event.append and chunk.artifact_id in self._closed:
            raise garbled(f"artifact {plain(chunk.artifact_id, 60)} went on after its last chunk")
        self._grow(chunk)
        begun = self._found.get(chunk.artifact_id)
        if event.append and begun is not None:
            begun.parts.extend(chunk.parts)
            begun.metadata.update(dict(chunk.metadata.items()))
        else:
            self.gaps = self.gaps or event.append
            copy = self._found[chunk.artifact_id] = Artifact()
            copy.CopyFrom(chunk)
        if event.last_chunk:
            self._closed.add(chunk.artifact_id)
        else:
            self._closed.discard(chunk.artifact_id)

    def _grow(self, artifact: Artifact) -> None:
        self._size += artifact.ByteSize()
        if self._size > self._limit:
            raise garbled(f"the artifacts of the task went past {self._limit} bytes")

    def __iter__(self) -> Iterator[Artifact]:
        return iter(self._found.values())

    def contradicts(self, task: Task) -> str | None:
        """Where the stored task differs from what was streamed: a pointer into the task, or None."""
        stored = {artifact.artifact_id: index for index, artifact in enumerate(task.artifacts)}
        for known in self:
            index = stored.get(known.artifact_id)
            if index is None:
                return "/artifacts"
            if _joined(known.parts) != _joined(task.artifacts[index].parts):
                return f"/artifacts/{index}/parts"
        return None


def _joined(parts: Iterable[Part]) -> list[Part]:
    """Parts with neighbouring texts run together: where a text was cut into chunks is no content."""
    joined: list[Part] = []
    for part in parts:
        last = joined[-1] if joined else None
        if (
            last is not None
            and part.WhichOneof("content") == last.WhichOneof("content") == "text"
            and (part.media_type, part.metadata) == (last.media_type, last.metadata)
        ):
            last.text += part.text
        else:
            joined.append(Part())
            joined[-1].CopyFrom(part)
    return joined


def wire(message: Message) -> dict[str, Any]:
    """A protobuf message as the wire's JSON (camelCase), integers as integers wherever that is exact."""
    found: dict[str, Any] = whole(MessageToDict(message), exact=False)
    return found


def chosen(artifacts: Sequence[Artifact], name: str | None) -> Artifact:
    """The artifact meant: by ``name`` (or artifactId), else the only one, else the only one with data.

    Raises ``DeliverableInvalid`` when there is none, or more than one that it could be.
    """
    if name is not None:
        fitting = [a for a in artifacts if name in (a.name, a.artifact_id)]
    elif len(artifacts) > 1:
        fitting = [a for a in artifacts if _data(a)]
    else:
        fitting = list(artifacts)
    if len(fitting) == 1:
        return fitting[0]
    asked = f" named {name!r}" if name is not None else ""
    if not fitting:
        raise DeliverableInvalid(
            f"the task completed without an artifact{asked}; words in a message do not count"
        )
    names = ", ".join(plain(a.name or a.artifact_id, 40) for a in fitting[:5])
    raise DeliverableInvalid(
        f"{len(fitting)} artifacts{asked} carry a result ({names}); ask for one by its artifactId"
    )


def _data(artifact: Artifact) -> list[Part]:
    return [part for part in artifact.parts if part.WhichOneof("content") == "data"]


def content(artifact: Artifact, schema: Schema | None) -> Any:
    """What the artifact holds.

    One data part: its value. Several: the list of their values, each one validated. No data
    part and no ``schema``: the text of its text parts, or, when it holds files, its parts as JSON.
    Raises ``DeliverableInvalid`` with a pointer (RFC 6901) into the returned value.
    """
    data = _data(artifact)
    if not data:
        return _without_data(artifact, schema)
    values = [MessageToDict(part)["data"] for part in data]
    single = len(values) == 1
    read = []
    for index, value in enumerate(values):
        prefix = "" if single else f"/{index}"
        exact = whole(value, schema, prefix)
        if schema is not None:
            validate(exact, schema, prefix)
        read.append(exact)
    return read[0] if single else read


def _without_data(artifact: Artifact, schema: Schema | None) -> Any:
    if not artifact.parts:
        raise DeliverableInvalid(
            f"artifact {plain(artifact.name or artifact.artifact_id, 60)!r} has no parts"
        )
    if schema is not None:
        raise DeliverableInvalid("the artifact has no data part, so there is nothing that fits the schema")
    if all(part.WhichOneof("content") == "text" for part in artifact.parts):
        return "".join(part.text for part in artifact.parts)
    return [wire(part) for part in artifact.parts]


def validate(value: Any, schema: Schema, prefix: str = "") -> None:
    """Hold ``value`` against ``schema`` (2020-12, formats checked). No reference is ever fetched.

    Raises ``DeliverableInvalid`` with the pointer of the most telling fault.
    """
    checker = Draft202012Validator.FORMAT_CHECKER
    validator = Draft202012Validator(schema, registry=Registry(), format_checker=checker)
    try:
        fault: ValidationError | None = best_match(validator.iter_errors(value))
    except Unresolvable as error:
        raise DeliverableInvalid(
            f"the schema refers to {plain(error.ref, 80)}, outside itself", prefix
        ) from error
    except RecursionError as error:
        raise DeliverableInvalid("the deliverable is nested too deeply", prefix) from error
    if fault is not None:
        pointer = prefix + _pointer(fault.absolute_path)
        raise DeliverableInvalid(f"at {pointer or '/'}: {plain(fault.message)}", pointer)


def _pointer(path: Iterable[str | int]) -> str:
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)


def whole(value: Any, schema: Any = None, pointer: str = "", *, exact: bool = True) -> Any:
    """``value`` with its integers back (the rule is in the module's head).

    With ``exact=False`` what the rule would refuse is left as the float it is.
    """
    return _whole(value, _branches([schema], schema), schema, pointer, exact)


def _whole(value: Any, here: list[Mapping[str, Any]], root: Any, pointer: str, exact: bool) -> Any:
    if isinstance(value, dict):
        return {
            key: _whole(each, _below(here, key, root), root, pointer + _pointer([key]), exact)
            for key, each in sorted(value.items())
        }
    if isinstance(value, list):
        return [
            _whole(each, _below(here, index, root), root, f"{pointer}/{index}", exact)
            for index, each in enumerate(value)
        ]
    return _number(value, here, pointer, exact) if isinstance(value, float) else value


def _number(value: float, here: list[Mapping[str, Any]], pointer: str, exact: bool) -> int | float:
    if not math.isfinite(value):
        if exact:
            raise DeliverableInvalid(f"at {pointer or '/'}: {value} is no JSON number", pointer)
        return value
    if not value.is_integer() or _insists_on_number(here):
        return value
    if abs(value) <= LARGEST:
        return int(value)
    if exact:
        raise DeliverableInvalid(
            f"at {pointer or '/'}: {value:.17g} is past 2^53, where a float no longer tells which integer"
            " was meant; send such integers as text",
            pointer,
        )
    return value


def inexact(value: Any, pointer: str = "") -> str | None:
    """Where in ``value`` stands the first integer that protobuf would change on its way; or None."""
    if isinstance(value, Mapping):
        steps = [(_pointer([key]), each) for key, each in value.items()]
    elif isinstance(value, list | tuple):
        steps = [(f"/{index}", each) for index, each in enumerate(value)]
    else:
        return pointer if isinstance(value, int) and abs(value) > LARGEST else None
    return next(filter(None, (inexact(each, pointer + step) for step, each in steps)), None)


def _insists_on_number(here: list[Mapping[str, Any]]) -> bool:
    said: set[str] = set()
    for schema in here:
        kind = schema.get("type", ())
        said.update([kind] if isinstance(kind, str) else kind)
    return "number" in said and "integer" not in said


def _below(here: list[Mapping[str, Any]], step: str | int, root: Any) -> list[Mapping[str, Any]]:
    found: list[Any] = []
    for schema in here:
        if isinstance(step, str):
            properties = schema.get("properties", {})
            found.append(properties[step] if step in properties else schema.get("additionalProperties"))
        else:
            first = schema.get("prefixItems", [])
            found.append(first[step] if step < len(first) else schema.get("items"))
    return _branches(found, root)


def _branches(schemas: list[Any], root: Any) -> list[Mapping[str, Any]]:
    """Every schema that has a say at one place: itself, its combinations and its local references."""
    found: list[Mapping[str, Any]] = []
    waiting = [schema for schema in schemas if isinstance(schema, Mapping)]
    while waiting:
        schema = waiting.pop()
        if any(schema is known for known in found):
            continue
        found.append(schema)
        for word in ("allOf", "anyOf", "oneOf"):
            waiting.extend(each for each in schema.get(word, ()) if isinstance(each, Mapping))
        target = _local(schema.get("$ref"), root)
        if isinstance(target, Mapping):
            waiting.append(target)
    return found


def _local(reference: Any, root: Any) -> Any:
    if not isinstance(reference, str) or not reference.startswith("#"):
        return None
    target = root
    for step in reference[1:].split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        target = target.get(name) if isinstance(target, Mapping) else None
    return target
