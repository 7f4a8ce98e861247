"""One model of a tool, whatever form its description was read from.

Reading never guesses. What a form does not say is absent (``ABSENT``, None or empty). What had to be put
together from other words is named in ``derived``; what the model has no place for is kept in ``extra``,
verbatim and in order. A document that ``convert`` wrote may carry more than its form has words for
(``x-mcp``, ``x-atdf``, ``_meta``): that is read too, so a tool keeps its schemas wherever they are carried.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from ai_evolution.atdf.documents import Document, pointer_of
from ai_evolution.atdf.shapes import chosen, tools
from ai_evolution.errors import DocumentError


class _Absent:
    """The document does not say. False in a condition; only one exists."""

    _only: _Absent | None = None

    def __new__(cls) -> _Absent:
        if cls._only is None:
            cls._only = super().__new__(cls)
        return cls._only

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "ABSENT"

    def __reduce__(self) -> str:
        return "ABSENT"

    def __copy__(self) -> _Absent:
        return self

    def __deepcopy__(self, memo: object) -> _Absent:
        return self


ABSENT: Final = _Absent()
"""In place of a schema that the document does not have. ``None`` would be JSON's null, ``True`` a schema."""

TYPES: Mapping[str, str] = {
    **{name: name for name in ("string", "number", "integer", "boolean", "array", "object", "null")},
    **{"str": "string", "text": "string", "int": "integer", "float": "number", "double": "number"},
    **{"bool": "boolean", "list": "array", "dict": "object", "map": "object"},
}
"""The type words of the flat forms in JSON Schema's words. Any other is kept as ``x-atdf-type``."""


@dataclass(frozen=True)
class Example:
    """One example. ``vocabulary`` (of ``VOCABULARIES``): the words it was written in; ``extra``: the rest."""

    input: Any
    output: Any = None
    goal: str | None = None
    vocabulary: str = "input/output"
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Failure:
    """A declared way to fail."""

    code: str
    description: str


@dataclass(frozen=True)
class ToolDescription:
    """A tool as its description has it. A schema is a JSON Schema, and ``ABSENT`` where there is none."""

    name: str
    description: str
    input_schema: Any = ABSENT
    success_schema: Any = ABSENT
    error_schema: Any = ABSENT
    when_to_use: str | None = None
    when_not_to_use: str | None = None
    title: str | None = None
    version: str | None = None
    tags: tuple[str, ...] = ()
    examples: tuple[Example, ...] = ()
    failures: tuple[Failure, ...] = ()
    success_text: str | None = None
    localization: Mapping[str, Any] = field(default_factory=dict)
    prerequisites: Any = None
    feedback: Any = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)
    derived: frozenset[str] = frozenset()
    form: str = "atdf-tool"


def read(document: Any, form: str | None = None) -> list[ToolDescription]:
    """The tools in a document (a ``Document`` or a parsed value), in its order; several for a catalogue.

    Reads what can be read, also from a document that ``validate`` has objections to: a schema is taken as it
    stands. Raises ``DocumentError`` when a tool lacks what makes it one (a name, a description, inputs), with
    pointer, and with line and column when a ``Document`` was given; ``UsageError`` when the form is unknown.
    """
    value = document.value if isinstance(document, Document) else document
    found = chosen(value, form)
    descriptions: list[ToolDescription] = []
    for path, each in tools(value, found):
        try:
            descriptions.extend(_READERS[found](_Part(each, pointer_of(path))))
        except _Unreadable as error:
            place = document.locate(error.pointer) if isinstance(document, Document) else "the description"
            raise DocumentError(f"{place}: at {error.pointer[:200] or '/'}: {error}") from None
    return descriptions


class _Unreadable(Exception):
    def __init__(self, pointer: str, message: str) -> None:
        super().__init__(message)
        self.pointer = pointer


class _Part:
    """An object of the document and its pointer; ``rest`` is what was not asked for, or did not fit."""

    def __init__(self, value: Any, pointer: str) -> None:
        if not isinstance(value, dict):
            raise _Unreadable(pointer, "an object is expected")
        self.value, self.pointer = value, pointer
        self._used: set[str] = set()

    def text(self, key: str) -> str:
        """The text at ``key``, which must be there."""
        value = self.value.get(key)
        if not isinstance(value, str):
            raise _Unreadable(self._at(key), f"{key} must be there, and be a text")
        self._used.add(key)
        return value

    def maybe(self, key: str) -> str | None:
        """The text at ``key``, if there is one."""
        found: str | None = self._of(key, str, None)
        return found

    def texts(self, key: str) -> tuple[str, ...]:
        """The list of texts at ``key``, empty if there is none."""
        value = self.value.get(key)
        if isinstance(value, list) and all(isinstance(each, str) for each in value):
            self._used.add(key)
            return tuple(value)
        return ()

    def mapping(self, key: str) -> dict[str, Any]:
        """The object at ``key``, empty if there is none."""
        found: dict[str, Any] = self._of(key, dict, {})
        return found

    def part(self, key: str) -> _Part:
        """The object at ``key``, which must be there."""
        self._used.add(key)
        return _Part(self.value.get(key), self._at(key))

    def parts(self, key: str) -> list[_Part]:
        """The objects in the list at ``key``, which must be there."""
        value = self.value.get(key)
        if not isinstance(value, list):
            raise _Unreadable(self._at(key), f"{key} must be there, and be a list")
        self._used.add(key)
        return [_Part(each, f"{self._at(key)}/{index}") for index, each in enumerate(value)]

    def anything(self, key: str, default: Any = None) -> Any:
        """What stands at ``key``."""
        self._used.add(key)
        return self.value.get(key, default)

    def rest(self) -> dict[str, Any]:
        """Everything that was not asked for, in order."""
        return {key: value for key, value in self.value.items() if key not in self._used}

    def _of(self, key: str, kind: type, default: Any) -> Any:
        value = self.value.get(key)
        if isinstance(value, kind):
            self._used.add(key)
            return value
        return default

    def _at(self, key: str) -> str:
        return self.pointer + pointer_of([key])


def _flat(part: _Part, form: str) -> Iterator[ToolDescription]:
    """ATDF 1.x and 2.x."""
    how = part.part("how_to_use")
    outputs = how.part("outputs")
    schema, derived = inputs_schema(how.parts("inputs"), required_known=form == "atdf-2")
    metadata = part.mapping("metadata")
    tool = ToolDescription(
        name=part.text("id" if "id" in part.value and "tool_id" not in part.value else "tool_id"),
        description=part.text("description"),
        input_schema=schema,
        when_to_use=part.maybe("when_to_use"),
        when_not_to_use=part.maybe("when_not_to_use"),
        version=_Part(metadata, "").maybe("version"),
        tags=_Part(metadata, "").texts("tags"),
        examples=_examples(part),
        failures=_failures(outputs),
        success_text=outputs.maybe("success"),
        localization=part.mapping("localization"),
        prerequisites=part.anything("prerequisites"),
        feedback=part.anything("feedback"),
        metadata=metadata,
        extra=part.rest(),
        derived=frozenset(derived),
        form=form,
    )
    yield _completed(tool, part.value) if set(part.value) & _CARRIED else tool


def _sdk(part: _Part) -> Iterator[ToolDescription]:
    schema, derived = inputs_schema(part.parts("parameters") if "parameters" in part.value else [])
    metadata = part.mapping("metadata")
    yield ToolDescription(
        name=part.text("name"),
        description=part.text("description"),
        input_schema=schema,
        when_to_use=part.maybe("when_to_use"),
        when_not_to_use=part.maybe("when_not_to_use"),
        version=part.maybe("version"),
        tags=part.texts("tags"),
        examples=_examples(part),
        prerequisites=part.anything("prerequisites"),
        feedback=part.anything("feedback"),
        metadata=metadata,
        extra=part.rest(),
        derived=frozenset(derived),
        form="atdf-sdk",
    )


def _ardf(part: _Part) -> Iterator[ToolDescription]:
    kind = part.text("resource_type")
    if kind != "tool":
        raise _Unreadable(part.pointer + "/resource_type", f"a tool is expected, not a {kind[:40]}")
    content = part.part("content")
    data = content.part("data")
    outputs = data.part("outputs")
    schema, derived = inputs_schema(data.parts("inputs"))
    metadata = part.mapping("metadata")
    yield ToolDescription(
        name=part.text("resource_id"),
        description=part.text("description"),
        input_schema=schema,
        when_to_use=part.maybe("when_to_use"),
        when_not_to_use=part.maybe("when_not_to_use"),
        version=_Part(metadata, "").maybe("version"),
        tags=_Part(metadata, "").texts("tags"),
        examples=_examples(part),
        failures=_failures(outputs),
        success_text=outputs.maybe("success"),
        localization=part.mapping("localization"),
        prerequisites=part.anything("prerequisites"),
        feedback=part.anything("feedback"),
        metadata=metadata,
        extra=part.rest(),
        derived=frozenset(derived),
        form="ardf-1",
    )


def _with_schemas(root: _Part) -> Iterator[ToolDescription]:
    """The form of the article: ``tool`` with input and output as JSON Schemas."""
    part = root.part("tool")
    output = part.mapping("output")
    tool = ToolDescription(
        name=part.text("name"),
        description=part.text("description"),
        input_schema=part.anything("input", ABSENT),
        success_schema=output.get("success", ABSENT),
        error_schema=output.get("error", ABSENT),
        when_to_use=part.maybe("when_to_use"),
        when_not_to_use=part.maybe("when_not_to_use"),
        title=part.maybe("title"),
        version=part.maybe("version"),
        tags=part.texts("tags"),
        examples=_examples(part),
        localization=part.mapping("localization"),
        prerequisites=part.anything("prerequisites"),
        feedback=part.anything("feedback"),
        metadata=part.mapping("metadata"),
        extra={**part.rest(), **root.rest()},
        form="atdf-tool",
    )
    yield _completed(tool, root.value) if set(part.value) & _CARRIED else tool


def _catalogue(root: _Part) -> Iterator[ToolDescription]:
    for part in root.parts("tools"):
        yield from _protocol(part, "atdf-tools")


def _protocol(part: _Part, form: str = "mcp") -> Iterator[ToolDescription]:
    """A tool of MCP, alone or in a catalogue."""
    annotations = part.value.get("annotations")
    hinted = annotations.get("title") if isinstance(annotations, dict) else None
    title = part.maybe("title")
    tool = ToolDescription(
        name=part.text("name"),
        description=part.text("description") if "description" in part.value else "",
        input_schema=part.anything("inputSchema", ABSENT),
        success_schema=part.anything("outputSchema", ABSENT),
        when_to_use=part.maybe("when_to_use"),
        when_not_to_use=part.maybe("when_not_to_use"),
        title=title if title is not None else hinted if isinstance(hinted, str) else None,
        version=part.maybe("version"),
        tags=part.texts("tags"),
        examples=_examples(part),
        extra=part.rest(),
        form=form,
    )
    meta = part.value.get("_meta")
    yield _completed(tool, part.value) if isinstance(meta, dict) and _META in meta else tool


_CARRIED = frozenset({"x-mcp", "x-mcp-order", "x-atdf"})
_META = "ai-evolution/atdf"
_PLACES = {"input": "input_schema", "success": "success_schema", "error": "error_schema"}
_FACETS = (
    "title",
    "version",
    "when_to_use",
    "when_not_to_use",
    "success_text",
    "localization",
    "prerequisites",
    "feedback",
    "metadata",
)


def _completed(tool: ToolDescription, value: Any) -> ToolDescription:
    """The tool with what its document carries beyond the words of its form."""
    from ai_evolution.atdf.translation import READ  # it stands on this module

    try:
        facets = READ[tool.form](value)
    except DocumentError:
        return tool
    found: dict[str, Any] = {field: facets[facet] for facet, field in _PLACES.items() if facet in facets}
    found |= {facet: facets[facet] for facet in _FACETS if facet in facets and not getattr(tool, facet)}
    if facets.get("tags") and not tool.tags:
        found["tags"] = tuple(facets["tags"])
    if not tool.failures:
        found["failures"] = _failures(_Part({"failure": facets.get("failures", [])}, ""))
    if "examples" in facets:
        written = [example.vocabulary for example in tool.examples]
        words = (
            written if len(written) == len(facets["examples"]) else ["input/output"] * len(facets["examples"])
        )
        found["examples"] = tuple(map(_carried_example, facets["examples"], words))
    return replace(tool, **found)


def _carried_example(parts: Mapping[str, Any], vocabulary: str) -> Example:
    output = "output" if "output" in parts else "expected"
    used = {"goal", "input", output}
    return Example(
        input=parts.get("input"),
        output=parts.get(output),
        goal=parts["goal"] if isinstance(parts.get("goal"), str) else None,
        vocabulary=vocabulary,
        extra={key: value for key, value in parts.items() if key not in used},
    )


_READERS: Mapping[str, Callable[[_Part], Iterator[ToolDescription]]] = {
    "atdf-1": lambda part: _flat(part, "atdf-1"),
    "atdf-2": lambda part: _flat(part, "atdf-2"),
    "atdf-tools": _catalogue,
    "atdf-sdk": _sdk,
    "ardf-1": _ardf,
    "atdf-tool": _with_schemas,
    "mcp": _protocol,
}


def inputs_schema(inputs: list[_Part], *, required_known: bool = True) -> tuple[dict[str, Any], set[str]]:
    """A JSON Schema for a flat list of inputs, and pointers to what in it had to be guessed at.

    A ``type`` that is no word of JSON Schema is translated (``TYPES``) or kept as ``x-atdf-type``.
    """
    properties: dict[str, Any] = {}
    required: list[str] = []
    derived: set[str] = set() if required_known else {"/input_schema/required"}
    for part in inputs:
        name = part.text("name")
        if name in properties:
            raise _Unreadable(part.pointer + "/name", f"a second input is named {name[:60]!r}")
        properties[name] = schema = {}
        kind = part.text("type")
        at = f"/input_schema/properties{pointer_of([name])}/type"
        if kind in TYPES:
            schema["type"] = TYPES[kind]
            if kind != TYPES[kind]:
                derived.add(at)
        else:
            schema["x-atdf-type"] = kind
            derived.add(at)
        if part.anything("required") is True:
            required.append(name)
        schema.update(part.mapping("schema"))
        for key, value in part.rest().items():
            if value is not None:
                schema.setdefault(_BOUNDS.get(key, key), value)
    found: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        found["required"] = required
    return found, derived


_BOUNDS = {"min_value": "minimum", "max_value": "maximum"}


def _failures(outputs: _Part) -> tuple[Failure, ...]:
    if "failure" not in outputs.value:
        return ()
    return tuple(Failure(each.text("code"), each.text("description")) for each in outputs.parts("failure"))


VOCABULARIES: Mapping[str, tuple[str | None, str, str | None]] = {
    "goal/input_values/expected_result": ("goal", "input_values", "expected_result"),
    "title/inputs/expected_output": ("title", "inputs", "expected_output"),
    "input/output": ("goal", "input", "output"),
    "name/input": ("name", "input", None),
}
"""The words that examples are written in: the keys of goal, input and output."""


def _examples(part: _Part) -> tuple[Example, ...]:
    """The examples of a tool, in whatever words; none when one of them shows no input (it stays in extra)."""
    written = part.value.get("examples")
    if not isinstance(written, list):
        return ()
    found = [_example(each) for each in written]
    if any(example is None for example in found):
        return ()
    part.anything("examples")
    return tuple(example for example in found if example is not None)


def _example(value: Any) -> Example | None:
    if not isinstance(value, dict):
        return None
    for vocabulary, (goal, given, output) in VOCABULARIES.items():
        if given not in value or (vocabulary == "input/output" and "output" not in value and "name" in value):
            continue
        words = value.get(goal) if goal else None
        said = isinstance(words, str)
        used = {given, output, goal if said else None}
        return Example(
            input=value[given],
            output=value.get(output) if output else None,
            goal=words if said else None,
            vocabulary=vocabulary,
            extra={key: each for key, each in value.items() if key not in used},
        )
    return None
