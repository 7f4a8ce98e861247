"""ATDF 1.x (closed: names, types and texts) and 2.x (open at its root).

2.x carries what it has no place for. ``x-mcp`` holds members of an MCP tool, and of its ``inputSchema`` what
belongs to no parameter; ``x-mcp-order`` how the keys of that tool stood; ``x-atdf`` any other facet; and
``x-derived`` names what was made up because the form demands it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ai_evolution.atdf.parameters import Order, split, word_of
from ai_evolution.atdf.translation.facets import (
    SUCCESS,
    Facets,
    Style,
    Written,
    as_object,
    carry,
    fits,
    keep,
    kept,
    outcome,
    read_examples,
    read_inputs,
    read_metadata,
    read_outputs,
    spoken,
    suits,
    take,
    text_at,
    uncarried,
    write_examples,
    write_fitting,
    write_inputs,
    write_metadata,
    write_outputs,
)

EXTENSIONS = ("x-mcp", "x-mcp-order", "x-atdf")


def read_basic(document: Any) -> Facets:
    """Return the facets of an ATDF 1.x description."""
    facets, members = _read_common(dict(as_object(document)), "atdf-1", {}, {})
    if facets.get("when_to_use") == facets.get("description"):
        facets.pop("when_to_use", None)  # there is no room for a mark: the same text twice says nothing new
    keep(facets, "atdf-1", "root", members)
    return facets


def read_enhanced(document: Any) -> Facets:
    """Return the facets of an ATDF 2.x description."""
    members = dict(as_object(document))
    own: dict[str, dict[str, Any]] = {
        key: dict(members.pop(key)) if isinstance(members.get(key), dict) else {} for key in EXTENSIONS
    }
    mcp, order = own["x-mcp"], own["x-mcp-order"]
    facets, members = _read_common(members, "atdf-2", mcp.pop("inputSchema", {}), order)
    take(facets, members, "when_not_to_use", "localization", "prerequisites", "feedback")
    read_metadata(facets, members)
    if suits("examples", members.get("examples")):
        facets["examples"] = read_examples(members.pop("examples"))
    _drop_derived(facets, members.pop("x-derived", None))
    for facet, key in (("name", "name"), ("title", "title"), ("description", "description")):
        if suits(facet, mcp.get(key)):
            facets[facet] = mcp.pop(key)
    take(facets, mcp, success="outputSchema")
    if mcp:
        facets["mcp"] = mcp
    take(facets, order, order="tool")
    carry(facets, own["x-atdf"])
    keep(facets, "atdf-2", "root", members)
    return facets


def _read_common(
    members: dict[str, Any], form: str, left: Any, order: Order
) -> tuple[Facets, dict[str, Any]]:
    """Read what 1.x and 2.x share; returns the members that are still to be read."""
    identifier = identifier_of(members)
    facets: Facets = {"name": text_at(members, identifier)}
    del members[identifier]
    members.pop("schema_version", None)
    take(facets, members, "description", "when_to_use")
    how = dict(as_object(members.pop("how_to_use", None), "how_to_use"))
    place = ("how_to_use", "inputs")
    read_inputs(facets, form, how.pop("inputs", None), place, left=left, order=order)
    read_outputs(facets, form, how.pop("outputs", None), "how_to_use", "outputs")
    keep(facets, form, "how_to_use", how)
    return facets, members


def identifier_of(members: Mapping[str, Any]) -> str:
    """Return the key that names the tool: ``tool_id``, or ``id`` when it stands alone."""
    return "tool_id" if "tool_id" in members or "id" not in members else "id"


def _drop_derived(facets: Facets, marks: Any) -> None:
    """Forget what was made up, unless somebody has since written something better in its place."""
    if not isinstance(marks, list):
        return
    said = facets.get("description")
    if "/when_to_use" in marks and facets.get("when_to_use") == said:
        facets.pop("when_to_use", None)
    if "/how_to_use/outputs/success" in marks and facets.get("success_text") == SUCCESS:
        del facets["success_text"]
    for position, example in enumerate(facets.get("examples", [])):
        if f"/examples/{position}/goal" in marks and example.get("goal") == said:
            del example["goal"]
        if f"/examples/{position}/input_values" in marks and example.get("input") == {}:
            del example["input"]
        if f"/examples/{position}/expected_result" in marks and example.get("expected") == outcome(example):
            del example["expected"]
    if "/description" in marks and said == spoken({"name": facets["name"]}):
        del facets["description"]


def write_basic(facets: Facets, style: Style) -> Written:
    """Return an ATDF 1.x description; it is closed, so only names, types and texts fit."""
    document, derived, _, _ = _write_common(facets, style, "atdf-1")
    return document, derived


def write_enhanced(facets: Facets, style: Style) -> Written:
    """Return an ATDF 2.x description; what it has no place for goes to ``x-mcp`` and ``x-atdf``."""
    document, derived, left, order = _write_common(facets, style, "atdf-2")
    placed = {"name", "title", "description", "input", "success", "mcp", "order"}
    placed |= {facet for facet in ("when_to_use", "success_text") if facets.get(facet)}
    if document["how_to_use"]["outputs"]["failure"] == facets.get("failures"):
        placed.add("failures")
    if "when_not_to_use" in facets:
        document["when_not_to_use"] = facets["when_not_to_use"]
        placed.add("when_not_to_use")
    placed |= {*write_metadata(facets, document, "atdf-2")}
    placed |= {*write_fitting(facets, document, "atdf-2", "localization", "prerequisites", "feedback")}
    if "examples" in facets:
        examples, made = _complete_examples(facets, style, document["description"])
        if fits("atdf-2", examples, "examples"):
            document["examples"] = examples
            derived += made
            placed.add("examples")
    mcp: dict[str, Any] = {facet: "" for facet in ("name", "description") if facets.get(facet) == ""}
    mcp |= {"title": facets["title"]} if "title" in facets else {}
    mcp |= {"inputSchema": left} if left or not isinstance(left, dict) else {}
    mcp |= {"outputSchema": facets["success"]} if "success" in facets else {}
    mcp |= facets.get("mcp", {})
    order = ({"tool": facets["order"]} if "order" in facets else {}) | order
    carried = uncarried(facets, placed, "atdf-2")
    for key, value in (("x-mcp", mcp), ("x-mcp-order", order), ("x-atdf", carried), ("x-derived", derived)):
        if value:
            document[key] = value
    return document, derived


def _write_common(facets: Facets, style: Style, form: str) -> tuple[dict[str, Any], list[str], Any, Order]:
    """Write what 1.x and 2.x share; returns also what ``split`` put aside."""
    inline = style.get("inline", {})
    parameters, left, order = split(facets.get("input", {}), inline)
    for parameter in parameters:
        if parameter["name"] in inline:
            given = inline[parameter["name"]]
            twice = {key: parameter[key] for key in ("type", "description") if key in given}
            parameter["schema"] = twice | parameter.get("schema", {})
            if "type" not in given and word_of(parameter["schema"]) == parameter["type"]:
                parameter["schema"].pop("type", None)
    description = spoken(facets)
    outputs, made = write_outputs(facets, form)
    version = style.get("schema_version", "2.0.0" if form == "atdf-2" else None)
    document: dict[str, Any] = {} if version is None else {"schema_version": version}
    document |= {
        style.get("id", "tool_id"): facets["name"] or "tool",
        "description": description,
        "when_to_use": facets.get("when_to_use") or description,
        "how_to_use": {
            "inputs": write_inputs(facets, form, parameters),
            "outputs": outputs,
            **kept(facets, form, "how_to_use"),
        },
    }
    derived = [] if facets.get("description") else ["/description"]
    derived += [] if facets.get("when_to_use") else ["/when_to_use"]
    derived += ["/how_to_use/outputs/success"] if made else []
    return document | kept(facets, form, "root"), derived, left, order


def _complete_examples(facets: Facets, style: Style, said: str) -> tuple[list[dict[str, Any]], list[str]]:
    """Return examples that have the goal, the input and the expected result which 2.x asks for."""
    written = write_examples(facets, "goal", style)
    derived = []
    for position, (item, example) in enumerate(zip(written, facets["examples"], strict=True)):
        for word, made in (("goal", said), ("input_values", {}), ("expected_result", outcome(example))):
            if word not in item:
                item[word] = made
                derived.append(f"/examples/{position}/{word}")
    return written, derived
