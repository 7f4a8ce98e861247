"""MCP tools (revisions 2025-11-25 and 2026-07-28), and the tools list of ATDF, which has their shape.

Facets that MCP does not know are carried in ``_meta`` under ``META``. Reading takes them out again only when
writing would give back the very same text: whatever else stands there is somebody else's.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ai_evolution.atdf.translation.classic import read_enhanced, write_enhanced
from ai_evolution.atdf.translation.facets import (
    Facets,
    Style,
    Written,
    as_object,
    fits,
    read_examples,
    spoken,
    suits,
    take,
    text_at,
    text_of,
    texts,
    uncarried,
    write_examples,
)

META = "ai-evolution/atdf"
NATIVE = frozenset(("name", "title", "description", "input", "success", "mcp", "order", "derived"))
LISTED = ("when_to_use", "when_not_to_use", "version", "tags")


def read_mcp(tool: Any) -> Facets:
    """Return the facets of an MCP tool."""
    members = dict(as_object(tool))
    facets: Facets = {"name": text_at(members, "name")}
    del members["name"]
    take(facets, members, "title", "description", input="inputSchema", success="outputSchema")
    if members:
        facets["mcp"] = members
    if list(tool) != _usual(facets):
        facets["order"] = list(tool)
    meta = members.get("_meta")
    return _lifted(facets, tool, meta) if isinstance(meta, dict) and META in meta else facets


def _usual(facets: Facets) -> list[str]:
    """Return the order of keys in which a tool is written when nothing else is known."""
    places = {"name": "name", "title": "title", "description": "description"}
    places |= {"input": "inputSchema", "success": "outputSchema"}
    return [*(key for facet, key in places.items() if facet in facets), *facets.get("mcp", {})]


def _lifted(facets: Facets, tool: Any, meta: dict[str, Any]) -> Facets:
    carried = meta[META]
    if not isinstance(carried, dict) or not all(
        facet not in NATIVE and suits(facet, value) for facet, value in carried.items()
    ):
        return facets
    others = {key: value for key, value in meta.items() if key != META}
    members = {key: others if key == "_meta" else value for key, value in facets["mcp"].items()}
    if not others:
        del members["_meta"]
    lifted = {facet: value for facet, value in facets.items() if facet != "mcp"} | carried
    lifted |= {"mcp": members} if members else {}
    lifted.pop("order", None)
    if list(tool) != [*_usual(lifted), *(() if others else ("_meta",))]:
        lifted["order"] = list(tool)
    again = read_enhanced(write_enhanced(lifted, {})[0])
    return lifted if text_of(write_mcp(again, {})[0]) == text_of(tool) else facets


def write_mcp(facets: Facets, style: Style) -> Written:
    """Return an MCP tool."""
    del style  # there is one way to write it
    return _write(facets, ())


def _write(facets: Facets, placed: Iterable[str]) -> Written:
    derived: list[str] = []
    done = {*placed, *NATIVE}
    tool = {"name": facets["name"]}
    tool |= {key: facets[key] for key in ("title", "description") if key in facets}
    schema = facets.get("input")
    if not isinstance(schema, dict):
        done -= {"input"}
        schema, derived = {"type": "object"}, ["/inputSchema"]
    elif "type" not in schema:
        schema, derived = {"type": "object"} | schema, ["/inputSchema/type"]
    tool["inputSchema"] = schema
    if "success" in facets:
        tool["outputSchema"] = facets["success"]
    tool |= facets.get("mcp", {})
    carried = uncarried(facets, done, "mcp")
    if carried and isinstance(tool.get("_meta", {}), dict):
        tool["_meta"] = {**tool.get("_meta", {}), META: carried}
    keys = facets.get("order")
    return (
        {key: tool[key] for key in dict.fromkeys([*keys, *tool]) if key in tool} if keys else tool
    ), derived


def read_listed(tool: Any) -> Facets:
    """Return the facets of one tool of a tools list: the shape of MCP with version, tags and examples."""
    facets = read_mcp(tool)
    members = dict(facets.pop("mcp", {}))
    take(facets, members, *LISTED)
    if suits("examples", members.get("examples")):
        facets["examples"] = read_examples(members.pop("examples"))
    marks = members.pop("x-derived") if texts(members.get("x-derived")) else []
    for position, example in enumerate(facets.get("examples", ())):
        if f"/examples/{position}/name" in marks and example.get("goal") == facets["name"]:
            del example["goal"]
    if "/description" in marks and facets.get("description") == spoken({"name": facets["name"]}):
        del facets["description"]
    if members:
        facets["mcp"] = members
    own = {*LISTED, "examples", "x-derived", *(("_meta",) if "_meta" not in members else ())}
    if [key for key in facets.get("order", ()) if key not in own] == _usual(facets):
        del facets["order"]  # these keys stand where this form puts them
    return facets


def write_listed(facets: Facets, style: Style) -> Written:
    """Return one tool of a tools list."""
    placed = [*LISTED]
    more = {key: facets[key] for key in LISTED if key in facets}
    marks: list[str] = []
    if "examples" in facets:
        examples, unnamed = _named_examples(facets, style)
        if fits("atdf-tools", examples, "tools", "items", "examples"):
            placed.append("examples")
            more["examples"] = examples
            marks = unnamed
    tool, derived = _write(facets, placed)
    if "description" not in tool:
        tool = {"name": tool["name"], "description": spoken(facets)} | tool
        marks = ["/description", *marks]
    return tool | more | ({"x-derived": marks} if marks else {}), [*marks, *derived]


def _named_examples(facets: Facets, style: Style) -> tuple[list[dict[str, Any]], list[str]]:
    """Return examples with the name that the form asks for."""
    examples, derived = write_examples(facets, "name", style), []
    for position, example in enumerate(examples):
        if "name" not in example:
            example["name"] = facets["name"]
            derived.append(f"/examples/{position}/name")
    return examples, derived
