"""Tools as the OpenAI and Anthropic interfaces take them: a name, a description and a schema of arguments.

The description is all that a model will read, so the two texts about use are folded into it, each behind
its own heading, and taken out again by reading. What a provider refuses inside a schema is the matter of
``profiles``.
"""

from __future__ import annotations

from typing import Any

from ai_evolution.atdf.translation.facets import Facets, Style, Written, as_object, keep, kept, take, text_at

HEADINGS = (("when_to_use", "\n\nWhen to use: "), ("when_not_to_use", "\n\nWhen not to use: "))


def folded(facets: Facets) -> dict[str, str]:
    """Return the member ``description``, which also says when to use the tool and when not; or nothing."""
    text = facets.get("description", "")
    for facet, heading in HEADINGS:
        if facet in facets:
            text += heading + facets[facet]
    return {"description": text} if text or "description" in facets else {}


def _unfold(facets: Facets, members: dict[str, Any]) -> None:
    take(facets, members, "description")
    for facet, heading in reversed(HEADINGS):
        head, found, tail = facets.get("description", "").rpartition(heading)
        if found:
            facets[facet], facets["description"] = tail, head


def read_openai(document: Any) -> Facets:
    """Return the facets of an OpenAI function tool, nested under ``function`` or flat."""
    root = dict(as_object(document))
    nested = isinstance(root.get("function"), dict)
    members = dict(root.pop("function")) if nested else root
    root.pop("type", None)
    facets: Facets = {"name": text_at(members, "name", *(["function"] if nested else []))}
    del members["name"]
    _unfold(facets, members)
    take(facets, members, input="parameters")
    keep(facets, "openai", "function", members)
    if nested:
        keep(facets, "openai", "root", root)
    return facets


def write_openai(facets: Facets, style: Style) -> Written:
    """Return an OpenAI function tool, nested under ``function`` unless the style says flat."""
    derived = [] if "input" in facets else ["/parameters"]
    function: dict[str, Any] = {"name": facets["name"], **folded(facets)}
    function["parameters"] = facets.get("input", {"type": "object"})
    function |= kept(facets, "openai", "function")
    if style.get("flat"):
        return {"type": "function"} | function, derived
    whole = {"type": "function", "function": function} | kept(facets, "openai", "root")
    return whole, [f"/function{pointer}" for pointer in derived]


def read_anthropic(document: Any) -> Facets:
    """Return the facets of an Anthropic tool."""
    members = dict(as_object(document))
    facets: Facets = {"name": text_at(members, "name")}
    del members["name"]
    _unfold(facets, members)
    take(facets, members, input="input_schema")
    if isinstance(members.get("input_examples"), list):
        facets["examples"] = [{"input": example} for example in members.pop("input_examples")]
    keep(facets, "anthropic", "root", members)
    return facets


def write_anthropic(facets: Facets, style: Style) -> Written:
    """Return an Anthropic tool; of each example it takes the input."""
    del style  # there is one way to write it
    tool: dict[str, Any] = {"name": facets["name"], **folded(facets)}
    tool["input_schema"] = facets.get("input", {"type": "object"})
    inputs = [example["input"] for example in facets.get("examples", []) if "input" in example]
    if "examples" in facets and len(inputs) == len(facets["examples"]):
        tool["input_examples"] = inputs
    return tool | kept(facets, "anthropic", "root"), [] if "input" in facets else ["/input_schema"]
