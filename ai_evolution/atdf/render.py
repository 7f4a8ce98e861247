"""A TOOLS section for a prompt: what a model is told about its tools, and how many tokens that takes.

Four densities, each one saying more than the one before:

* ``names``       the names
* ``signatures``  parameters with their types, which of them are optional, and one sentence
* ``stripped``    the whole description and the input schema without what only decorates it (titles,
  comments, examples, definitions that nothing uses); it accepts the same calls
* ``full``        everything the description has: when to use it, results, errors, examples, needs

With a budget the section degrades by one rule, and says what it dropped. **The order of the tools is their
order of importance.** All tools get the richest density at which they fit together; what is left over raises
tools one step, from the first on. When not even the names fit, the last tools are left out, and a line in the
section says how many. A budget that can't even hold that line is refused, never overrun.

A description is somebody else's text. Whatever stands in it, a tool takes exactly one line (line breaks are
written as JSON writes them, or become blanks), so no description can pass for another tool or for the end of
the section. That keeps the shape; it does not make a model disbelieve what a description says.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ai_evolution.atdf.description import ABSENT, ToolDescription
from ai_evolution.atdf.lint import unused_definitions
from ai_evolution.errors import UsageError
from ai_evolution.tokens import TokenCounter
from ai_evolution.tokens import counter as counter_called

DENSITIES = ("names", "signatures", "stripped", "full")
DROPPED: Mapping[str, Mapping[str, str]] = {
    "full": {"en": "nothing", "es": "nada"},
    "stripped": {
        "en": "when to use it, results, errors, examples, what it needs first, titles",
        "es": "cuándo usarla, resultados, errores, ejemplos, qué necesita antes, títulos",
    },
    "signatures": {
        "en": "all of that, and the schema and all but the first sentence",
        "es": "todo eso, y el esquema y todo salvo la primera frase",
    },
    "names": {"en": "everything but the name", "es": "todo salvo el nombre"},
    "left out": {"en": "the tool itself", "es": "la propia herramienta"},
}
"""What a tool loses at each density."""
HEADING = "# TOOLS"


@dataclass(frozen=True)
class Rendering:
    """The section, its tokens and who counted them, and the density of each tool by name."""

    text: str
    tokens: int
    counter: str
    exact: bool
    densities: tuple[tuple[str, str], ...]

    @property
    def left_out(self) -> tuple[str, ...]:
        """The names of the tools that are not in the section."""
        return tuple(name for name, density in self.densities if density == "left out")

    def dropped(self, lang: str = "en") -> list[str]:
        """Return one line for each density below full: how many tools have it, and what they lost."""
        counted = Counter(density for _, density in self.densities)
        levels = [*reversed(DENSITIES[:-1]), "left out"]
        return [f"{counted[one]} {one}: {DROPPED[one][lang]}" for one in levels if counted[one]]


def render(
    descriptions: Sequence[ToolDescription],
    density: str = "full",
    budget: int | None = None,
    counter: TokenCounter | None = None,
    *,
    lang: str | None = None,
) -> Rendering:
    """Return the section at ``density``, or below it where ``budget`` (tokens) asks for that.

    ``counter`` counts (default: ``tokens.counter()``). ``lang`` takes the words of that language where a
    description has them. Raises ``UsageError`` for an unknown density and a budget that nothing fits into.
    """
    if density not in DENSITIES:
        raise UsageError(f"density {density!r} is not known; accepted: {', '.join(DENSITIES)}")
    if budget is not None and budget < 1:
        raise UsageError(f"a budget of {budget} tokens holds nothing; a whole number from 1 is accepted")
    section = _Section(list(descriptions), counter or counter_called(), lang)
    count, top = len(section.tools), DENSITIES.index(density)
    if budget is None or section.size([top] * count) <= budget:
        return section.rendering([top] * count)
    for level in range(top - 1, -1, -1):
        if section.size([level] * count) <= budget:
            raised = _most(count, partial(section.holds, budget, [level] * count, level + 1))
            return section.rendering(_raised([level] * count, raised, level + 1))
    kept = _most(count, lambda n: section.size([0] * n) <= budget)
    if section.size([0] * kept) > budget:
        raise UsageError(
            f"a budget of {budget} tokens does not hold an empty section ({section.size([])} tokens)"
        )
    return section.rendering([0] * kept)


def _raised(levels: list[int], count: int, level: int) -> list[int]:
    return [level] * count + levels[count:]


def _most(limit: int, fits: Callable[[int], bool]) -> int:
    """Return the largest count up to ``limit`` that fits, where 0 is taken to fit and more is larger."""
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low


class _Section:
    """The lines of each tool at each density, written once."""

    def __init__(self, tools: list[ToolDescription], counter: TokenCounter, lang: str | None) -> None:
        self.tools, self.counter, self.lang = tools, counter, lang
        self._lines: dict[tuple[int, int], str] = {}

    def line(self, index: int, level: int) -> str:
        key = (index, level)
        if key not in self._lines:
            self._lines[key] = _WRITERS[DENSITIES[level]](self.tools[index], self.lang)
        return self._lines[key]

    def text(self, levels: list[int]) -> str:
        """Return the section with the first tools at ``levels``; the rest is counted in its last line."""
        lines = [HEADING, *(f"- {self.line(index, level)}" for index, level in enumerate(levels))]
        if left := len(self.tools) - len(levels):
            lines.append(f"({left} more tools are not shown)")
        return "\n".join(lines) + "\n"

    def size(self, levels: list[int]) -> int:
        return self.counter.count(self.text(levels))

    def holds(self, budget: int, levels: list[int], level: int, raised: int) -> bool:
        """Whether the section with the first ``raised`` tools at ``level`` is within the budget."""
        return self.size(_raised(levels, raised, level)) <= budget

    def rendering(self, levels: list[int]) -> Rendering:
        text = self.text(levels)
        names = [DENSITIES[level] for level in levels] + ["left out"] * (len(self.tools) - len(levels))
        densities = tuple(zip((tool.name for tool in self.tools), names, strict=True))
        return Rendering(text, self.counter.count(text), self.counter.name, self.counter.exact, densities)


# ------------------------------------------------------------------------ one tool on one line


def one_line(text: str) -> str:
    """Return a text without line breaks and other control characters, blanks run together."""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())


def _name(tool: ToolDescription) -> str:
    return tool.name if re.fullmatch(r"[\w.\-]+", tool.name) else _json(tool.name)


def _json(value: Any) -> str:
    """JSON on one line; signs that some readers take for a line break are escaped."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return re.sub("[\x7f-\x9f\u2028\u2029]", lambda found: f"\\u{ord(found[0]):04x}", text)


def _words(tool: ToolDescription, field: str, lang: str | None) -> str | None:
    said = tool.localization.get(lang) if lang else None
    text = said.get(field) if isinstance(said, Mapping) else None
    own = getattr(tool, field)
    return text if isinstance(text, str) and text else own


def _names(tool: ToolDescription, _: str | None) -> str:
    return _name(tool)


def _signatures(tool: ToolDescription, lang: str | None) -> str:
    schema = tool.input_schema if isinstance(tool.input_schema, dict) else {}
    properties = schema.get("properties")
    required = schema.get("required")
    wanted = required if isinstance(required, list) else []
    told = []
    for name, part in (properties if isinstance(properties, dict) else {}).items():
        default = f" = {_json(part['default'])}" if isinstance(part, dict) and "default" in part else ""
        told.append(f"{one_line(name)}{'' if name in wanted else '?'}: {_kind(part, schema)}{default}")
    sentence = _first_sentence(one_line(_words(tool, "description", lang) or ""))
    return f"{_name(tool)}({', '.join(told)})" + (f": {sentence}" if sentence else "")


def _first_sentence(text: str) -> str:
    found = re.match(r".{12,}?[.!?…](?=\s|$)", text)
    return found[0] if found else text


def _kind(schema: Any, root: Mapping[str, Any], depth: int = 0) -> str:
    """Return a type in a few signs: ``"a"|"b"``, ``integer``, ``string[]``, ``{x, y?}``, ``string|null``."""
    if not isinstance(schema, dict) or depth > 3:
        return "never" if schema is False else "any"
    if "const" in schema:
        return _json(schema["const"])
    if isinstance(schema.get("enum"), list):
        return "|".join(_json(one) for one in schema["enum"][:12]) + (
            "|..." if len(schema["enum"]) > 12 else ""
        )
    reference = schema.get("$ref")
    if isinstance(reference, str):
        home, _, name = reference.removeprefix("#/").partition("/")
        target = root.get(home, {}).get(name) if isinstance(root.get(home), dict) else None
        return _kind(target, root, depth + 1) if target is not None else one_line(reference)
    for word in ("anyOf", "oneOf"):
        if isinstance(schema.get(word), list):
            return "|".join(dict.fromkeys(_kind(one, root, depth + 1) for one in schema[word][:6]))
    kind = schema.get("type")
    if isinstance(kind, list):
        return "|".join(str(one) for one in kind)
    if kind == "array":
        inner = _kind(schema.get("items", True), root, depth + 1)
        return f"({inner})[]" if "|" in inner else f"{inner}[]"
    if kind == "object" and isinstance(schema.get("properties"), dict) and schema["properties"]:
        required = schema.get("required") or []
        return (
            "{"
            + ", ".join(one_line(n) + ("" if n in required else "?") for n in list(schema["properties"])[:8])
            + "}"
        )
    form = schema.get("format")
    return f"{kind}<{one_line(form)}>" if kind == "string" and isinstance(form, str) else str(kind or "any")


_DECORATION = frozenset(("title", "$comment", "examples", "$schema", "deprecated", "readOnly", "writeOnly"))
_MAPS = frozenset(("$defs", "definitions", "dependentSchemas", "patternProperties", "properties"))
_VALUES = frozenset(("const", "enum", "default", "required", "dependentRequired"))


def stripped(schema: Any) -> Any:
    """Return a schema without decoration and without definitions that nothing refers to.

    It accepts the same values; descriptions and defaults stay, since a model reads them. ``$schema`` stays
    where it names another dialect than 2020-12.
    """
    if not isinstance(schema, dict):
        return schema
    unused = {(pointer.split("/")[1], name) for pointer, name in unused_definitions(schema)}
    bare = _plain(schema)
    for word, name in unused:
        del bare[word][name]
        if not bare[word]:
            del bare[word]
    dialect = schema.get("$schema")
    return bare if dialect is None or "2020-12" in str(dialect) else {"$schema": dialect, **bare}


def _plain(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_plain(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    found: dict[str, Any] = {}
    for word, value in schema.items():
        if word in _DECORATION:
            continue
        if word in _MAPS and isinstance(value, dict):
            found[word] = {name: _plain(one) for name, one in value.items()}
        else:
            found[word] = value if word in _VALUES else _plain(value)
    return found


def _stripped(tool: ToolDescription, lang: str | None) -> str:
    told: dict[str, Any] = {
        "name": tool.name,
        "description": one_line(_words(tool, "description", lang) or ""),
    }
    if tool.input_schema is not ABSENT:
        told["input"] = stripped(tool.input_schema)
    return _json(told)


def _full(tool: ToolDescription, lang: str | None) -> str:
    told: dict[str, Any] = {
        "name": tool.name,
        "title": tool.title,
        "description": _words(tool, "description", lang),
    }
    told |= {field: _words(tool, field, lang) for field in ("when_to_use", "when_not_to_use")}
    for key, schema in (
        ("input", tool.input_schema),
        ("success", tool.success_schema),
        ("error", tool.error_schema),
    ):
        told[key] = None if schema is ABSENT else schema
    told["success_text"] = tool.success_text
    told["failures"] = {one.code: one.description for one in tool.failures}
    told["examples"] = [
        {
            key: value
            for key, value in (("goal", one.goal), ("input", one.input), ("output", one.output))
            if value is not None
        }
        for one in tool.examples
    ]
    told |= {"prerequisites": tool.prerequisites, "feedback": tool.feedback, "tags": list(tool.tags)}
    return _json({key: value for key, value in told.items() if value not in (None, [], {}) or key == "input"})


_WRITERS: Mapping[str, Callable[[ToolDescription, str | None], str]] = {
    "names": _names, "signatures": _signatures, "stripped": _stripped, "full": _full,
}  # fmt: skip
