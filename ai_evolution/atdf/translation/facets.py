"""What every form is read into and written from: a dict of facets, and what readers and writers share.

A facet is one thing that a tool description can say (``FACETS``). What has no facet goes to ``rest``,
under the name of its form and of the place where it stood, so that reading never loses anything.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import resources
from typing import Any

from ai_evolution.atdf.losses import join
from ai_evolution.atdf.parameters import Order, Parameter, merge
from ai_evolution.atdf.schemas import problems
from ai_evolution.errors import DocumentError

Facets = dict[str, Any]
Style = Mapping[str, Any]
Written = tuple[dict[str, Any], list[str]]
"""A document, and pointers to what was made up in it."""

SUCCESS = "OK"
FACETS = (
    "name", "title", "version", "description", "when_to_use", "when_not_to_use", "category", "tags", "input",
    "success", "error", "success_text", "failures", "examples", "localization", "prerequisites", "feedback",
    "metadata", "mcp", "order", "rest", "derived",
)  # fmt: skip
TEXTS = frozenset(
    ("name", "title", "version", "description", "when_to_use", "when_not_to_use", "category", "success_text")
)
SCHEMAS = frozenset(("input", "success", "error"))
EXAMPLE_WORDS: dict[
    str, tuple[tuple[str, str], ...]
] = {  # vocabulary -> its word for each part of an example
    "goal": (("goal", "goal"), ("input", "input_values"), ("expected", "expected_result")),
    "title": (("goal", "title"), ("input", "inputs"), ("expected", "expected_output")),
    "name": (("goal", "name"), ("input", "input")),
    "pair": (("input", "input"), ("output", "output")),
}
PARTS = {word: part for words in EXAMPLE_WORDS.values() for part, word in words}


def text_of(value: Any) -> str:
    """Return the compact JSON text of a value, its keys in their own order."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def as_object(value: Any, *where: str | int) -> dict[str, Any]:
    """Return the value when it is an object; ``DocumentError`` that says where it should have been one."""
    if not isinstance(value, dict):
        raise DocumentError(f"{join(*where) or '(root)'}: an object is accepted, got {kind_of(value)}")
    return value


def text_at(holder: Mapping[str, Any], key: str, *where: str | int) -> str:
    """Return the text under a key; ``DocumentError`` when there is none."""
    value = holder.get(key)
    if not isinstance(value, str):
        got = kind_of(value) if key in holder else "nothing"
        raise DocumentError(f"{join(*where, key)}: a text is accepted, got {got}")
    return value


def kind_of(value: Any) -> str:
    """Return what a JSON value is, in words."""
    kinds = {dict: "an object", list: "an array", str: "a text", bool: "a boolean", type(None): "null"}
    return kinds.get(type(value), "a number")


def texts(value: Any) -> bool:
    """Whether this is an array of texts."""
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def suits(facet: str, value: Any) -> bool:
    """Whether a value is of the kind that a facet has to be."""
    if facet in TEXTS:
        return isinstance(value, str)
    if facet in ("tags", "order", "derived"):
        return texts(value)
    if facet in ("failures", "examples"):
        return isinstance(value, list) and all(isinstance(one, dict) for one in value)
    if facet in SCHEMAS:
        return isinstance(value, dict | bool)
    if facet == "rest":
        return isinstance(value, dict) and all(
            isinstance(places, dict) and all(isinstance(members, dict) for members in places.values())
            for places in value.values()
        )
    return facet in FACETS and isinstance(value, dict)


def take(facets: Facets, members: dict[str, Any], *same: str, **places: str) -> None:
    """Move members that are of the right kind into their facets: ``facet=key``, or one word for both."""
    for facet, key in {**dict(zip(same, same, strict=True)), **places}.items():
        if key in members and facet not in facets and suits(facet, members[key]):
            facets[facet] = members.pop(key)


def keep(facets: Facets, form: str, place: str, members: Mapping[str, Any]) -> None:
    """Put members without a facet into ``rest``."""
    if members:
        facets.setdefault("rest", {}).setdefault(form, {})[place] = dict(members)


def kept(facets: Facets, form: str, place: str) -> dict[str, Any]:
    """Return what ``keep`` put there."""
    return dict(facets.get("rest", {}).get(form, {}).get(place, {}))


def carry(facets: Facets, carried: Mapping[str, Any]) -> None:
    """Take over the facets that an open form carried without knowing them."""
    for facet, value in carried.items():
        if facet not in facets and suits(facet, value):
            facets[facet] = value


def uncarried(facets: Facets, placed: Iterable[str], form: str) -> Facets:
    """Return the facets that a writer found no place for, in the order of ``FACETS``."""
    done = {*placed, "derived"}
    left = {facet: facets[facet] for facet in FACETS if facet in facets and facet not in done}
    if "rest" in left:
        left["rest"] = {name: places for name, places in left["rest"].items() if name != form}
        if not left["rest"]:
            del left["rest"]
    return left


def spoken(facets: Facets) -> str:
    """Return a text that stands for a description which is missing or empty."""
    return str(facets.get("description") or facets["name"] or "tool")


def names_in(schema: Any) -> list[str]:
    """Return the names of the parameters of a schema."""
    properties = schema.get("properties") if isinstance(schema, dict) else None
    return list(properties) if isinstance(properties, dict) else []


@cache
def schema_of(form: str, *path: str) -> dict[str, Any]:
    """Return the part of a form's own schema that holds for its values under ``path``."""
    text = (resources.files("ai_evolution.atdf") / "schemas" / f"{form}.json").read_text(encoding="utf-8")
    root: dict[str, Any] = json.loads(text)
    part = root
    for key in path:
        part = part["items"] if key == "items" else part["properties"].get(key, {})
        if "$ref" in part:
            part = root["$defs"][part["$ref"].removeprefix("#/$defs/")]
    return part | {"$defs": root.get("$defs", {})} if path else root


def fits(form: str, value: Any, *path: str) -> bool:
    """Whether a value may stand at a place of a form."""
    return not problems(value, schema_of(form, *path), limit=1)


# ---- examples: four vocabularies are in use -----------------------------------------------------------


def read_examples(examples: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return each example in one vocabulary: goal, input, output, expected, and what else it says."""
    found = []
    for example in examples:
        parts: dict[str, Any] = {}
        for word, value in example.items():
            part = PARTS.get(word, word)
            second = part in parts or (part != word and part in example)  # two vocabularies at once
            parts[word if second else part] = value
        found.append(parts)
    return found


def example_words(examples: Any) -> list[dict[str, str]]:
    """Return, for each example, which word it used for each part."""
    listed = examples if isinstance(examples, list) else []
    return [
        {PARTS[word]: word for word in reversed(one) if word in PARTS} if isinstance(one, dict) else {}
        for one in listed
    ]


def write_examples(facets: Facets, vocabulary: str, style: Style) -> list[dict[str, Any]]:
    """Return the examples in a vocabulary, or in the words that the style remembers."""
    words, used, written = dict(EXAMPLE_WORDS[vocabulary]), style.get("examples", ()), []
    for position, example in enumerate(facets.get("examples", ())):
        mine = words | (used[position] if position < len(used) else {})
        taken = {mine[part] for part in example if part in mine}
        written.append(
            {
                mine.get(part, part): value
                for part, value in example.items()
                if part in mine or part not in taken
            }
        )
    return written


def outcome(example: Mapping[str, Any]) -> str:
    """Return what an example expects, in words."""
    output = example.get("output", SUCCESS)
    return output if isinstance(output, str) and output else text_of(output)


# ---- lists of parameters, outputs in words, metadata: shared by ATDF 1.x, 2.x, its SDK and ARDF -------

INPUT_KEYS: dict[str, dict[str, Any]] = {  # what each form says of a parameter, and of what kind it must be
    "atdf-1": {"name": str, "type": str, "description": str},
    "atdf-2": {"name": str, "type": str, "description": str, "required": bool, "schema": dict},
    "atdf-sdk": {"name": str, "type": str, "description": str, "required": bool},
    "ardf-1": {"name": str, "type": str, "description": str, "required": bool},
}
Keywords = Mapping[
    str, tuple[str, Any]
]  # a form's word for a keyword of JSON Schema, and the kind of its value


def read_inputs(
    facets: Facets,
    form: str,
    inputs: Any,
    where: tuple[str, ...],
    *,
    keywords: Keywords | None = None,
    left: Any = None,
    order: Order | None = None,
) -> None:
    """Read a list of parameters into ``input``; ``left`` and ``order`` are what ``split`` once put aside."""
    if not isinstance(inputs, list):
        raise DocumentError(f"{join(*where)}: an array of parameters is accepted, got {kind_of(inputs)}")
    parameters: list[Parameter] = []
    seen: set[str] = set()
    for position, given in enumerate(inputs):
        parameter = as_object(given, *where, position)
        name = text_at(parameter, "name", *where, position)
        text_at(parameter, "type", *where, position)
        if name in seen:
            at = join(*where, position, "name")
            raise DocumentError(f"{at}: a second parameter {name!r}; each name is accepted once")
        seen.add(name)
        known = {
            key: parameter[key]
            for key, kind in INPUT_KEYS[form].items()
            if key in parameter and isinstance(parameter[key], kind)
        }
        schema = {
            keyword: parameter[word]
            for word, (keyword, kind) in (keywords or {}).items()
            if word in parameter and of_kind(parameter[word], kind)
        }
        read = {*known, *(word for word, (keyword, _) in (keywords or {}).items() if keyword in schema)}
        keep(facets, form, f"inputs/{name}", {key: parameter[key] for key in parameter if key not in read})
        parameters.append(known | {"schema": schema} if schema else known)
    facets["input"] = merge(parameters, {} if left is None else left, order)


def of_kind(value: Any, kind: Any) -> bool:
    """Whether a value is of a kind; a boolean is no number."""
    return isinstance(value, kind) and (kind in (bool, object) or not isinstance(value, bool))


def write_inputs(
    facets: Facets, form: str, parameters: Iterable[Parameter], keywords: Keywords | None = None
) -> list[dict[str, Any]]:
    """Return the parameters as a form lists them."""
    words = {keyword: (word, kind) for word, (keyword, kind) in (keywords or {}).items()}
    return [
        {key: parameter[key] for key in INPUT_KEYS[form] if key in parameter}
        | {
            words[keyword][0]: value
            for keyword, value in parameter.get("schema", {}).items()
            if keyword in words and of_kind(value, words[keyword][1])
        }
        | kept(facets, form, f"inputs/{parameter['name']}")
        for parameter in parameters
    ]


def read_outputs(facets: Facets, form: str, given: Any, *where: str) -> None:
    """Read success and failures in words."""
    outputs = dict(as_object(given, *where))
    take(facets, outputs, success_text="success", failures="failure")
    if form != "atdf-2" and facets.get("success_text") == SUCCESS:
        del facets["success_text"]  # nothing is known, and there is no room for a mark
    if facets.get("failures") == []:
        del facets["failures"]
    keep(facets, form, "outputs", outputs)


def write_outputs(facets: Facets, form: str) -> tuple[dict[str, Any], bool]:
    """Return success and failures in words, and whether the word for success was made up."""
    failures = facets.get("failures", [])
    if failures and not fits("atdf-1" if form == "ardf-1" else form, failures, *FAILURES):
        failures = []
    outputs = {"success": facets.get("success_text") or SUCCESS, "failure": failures}
    return outputs | kept(facets, form, "outputs"), not facets.get("success_text")


FAILURES = ("how_to_use", "outputs", "failure")


def read_metadata(facets: Facets, members: dict[str, Any]) -> None:
    """Read version, category and tags out of ``metadata``."""
    if isinstance(members.get("metadata"), dict):
        metadata = dict(members.pop("metadata"))
        had = set(facets)
        take(facets, metadata, "version", "category", "tags")
        if metadata or not set(facets) - had:
            facets["metadata"] = metadata


def write_metadata(facets: Facets, document: dict[str, Any], form: str) -> list[str]:
    """Write version, category, tags and metadata into one object; returns the facets it placed."""
    metadata = facets.get("metadata", {})
    own = {
        key: facets[key] for key in ("version", "category", "tags") if key in facets and key not in metadata
    }
    if own or "metadata" in facets:
        if not fits(form, own | metadata, "metadata"):
            metadata = {}
        if own or metadata or fits(form, facets.get("metadata"), "metadata"):
            document["metadata"] = own | metadata
    told = metadata == facets.get("metadata") and bool(metadata or not own)
    return [*own, *(["metadata"] if told else [])]


def write_fitting(facets: Facets, document: dict[str, Any], form: str, *names: str) -> list[str]:
    """Write these facets under their own names where the form takes them; returns those it placed."""
    placed = [name for name in names if name in facets and fits(form, facets[name], name)]
    document |= {name: facets[name] for name in placed}
    return placed
