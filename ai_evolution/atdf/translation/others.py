"""The article's form (one tool, its schemas, its examples), the form of the SDK, and ARDF, the successor."""

from __future__ import annotations

from typing import Any

from ai_evolution.atdf.parameters import split
from ai_evolution.atdf.translation.facets import (
    Facets,
    Keywords,
    Style,
    Written,
    as_object,
    carry,
    fits,
    keep,
    kept,
    names_in,
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
from ai_evolution.errors import DocumentError

# ---- the article's form -------------------------------------------------------------------------------

OF_TOOL = (
    "title",
    "version",
    "when_to_use",
    "when_not_to_use",
    "tags",
    "localization",
    "metadata",
    "prerequisites",
    "feedback",
)
SCHEMA_PLACES = (("input", "/input"), ("success", "/output/success"), ("error", "/output/error"))


def read_tool(document: Any) -> Facets:
    """Return the facets of the ``tool: {name, description, input, output, examples}`` form."""
    root = dict(as_object(document))
    members = dict(as_object(root.pop("tool", None), "tool"))
    facets: Facets = {"name": text_at(members, "name", "tool")}
    del members["name"]
    take(facets, members, "description", "input", *OF_TOOL)
    if isinstance(members.get("output"), dict):
        output = dict(members.pop("output"))
        take(facets, output, "success", "error")
        keep(facets, "atdf-tool", "output", output)
    if suits("examples", members.get("examples")):
        facets["examples"] = read_examples(members.pop("examples"))
    marks = members.pop("x-derived", None)
    if isinstance(marks, list):
        for position, example in enumerate(facets.get("examples", ())):
            if f"/examples/{position}/output" in marks and example.get("output") == {}:
                del example["output"]
        for facet, pointer in SCHEMA_PLACES:
            if pointer in marks and facets.get(facet) == {}:
                del facets[facet]
        if "/description" in marks and facets.get("description") == spoken({"name": facets["name"]}):
            del facets["description"]
    if isinstance(members.get("x-atdf"), dict):
        carried = members.pop("x-atdf")
        facets |= {facet: carried[facet] for facet in ("name", "description") if carried.get(facet) == ""}
        carry(facets, carried)
    keep(facets, "atdf-tool", "tool", members)
    keep(facets, "atdf-tool", "root", root)
    return facets


def write_tool(facets: Facets, style: Style) -> Written:
    """Return the article's form; facets that it does not know are carried in ``x-atdf``."""
    placed = {"input", "success", "error", *(facet for facet in ("name", "description") if facets.get(facet))}
    tool: dict[str, Any] = {"name": facets["name"] or "tool", "description": spoken(facets)}
    placed |= {*write_fitting_in_tool(facets, tool)}
    derived: list[str] = []
    schemas = {facet: facets.get(facet, {}) for facet, _ in SCHEMA_PLACES}
    tool["input"] = schemas.pop("input")
    tool["output"] = schemas | kept(facets, "atdf-tool", "output")
    if "examples" in facets:
        examples = write_examples(facets, "pair", style)
        silent = [position for position, example in enumerate(examples) if "output" not in example]
        examples = [{"output": {}} | example for example in examples]
        if fits("atdf-tool", examples, "tool", "examples"):
            tool["examples"] = examples
            placed.add("examples")
            derived = [f"/examples/{position}/output" for position in silent]
    if carried := uncarried(facets, placed, "atdf-tool"):
        tool["x-atdf"] = carried
    derived += [] if facets.get("description") else ["/description"]
    derived += [pointer for facet, pointer in SCHEMA_PLACES if facet not in facets]
    if derived:
        tool["x-derived"] = derived
    tool |= kept(facets, "atdf-tool", "tool")
    whole = {"tool": tool} | kept(facets, "atdf-tool", "root")
    return whole, [f"/tool{pointer}" for pointer in derived]


def write_fitting_in_tool(facets: Facets, tool: dict[str, Any]) -> list[str]:
    """Write the facets that the article's form takes under their own names; returns those it placed."""
    placed = [name for name in OF_TOOL if name in facets and fits("atdf-tool", facets[name], "tool", name)]
    tool |= {name: facets[name] for name in placed}
    return placed


# ---- the form of the SDK ------------------------------------------------------------------------------

SDK_KEYWORDS: Keywords = {  # the SDK's word -> the keyword, and what its value must be
    "enum": ("enum", list),
    "default": ("default", object),
    "min_value": ("minimum", int | float),
    "max_value": ("maximum", int | float),
    "pattern": ("pattern", str),
    "properties": ("properties", dict),
}
OF_SDK = ("version", "when_to_use", "category", "tags", "metadata", "prerequisites", "feedback")


def read_sdk(document: Any) -> Facets:
    """Return the facets of a description of the ATDF SDK."""
    members = dict(as_object(document))
    facets: Facets = {"name": text_at(members, "name")}
    del members["name"]
    take(facets, members, "description", *OF_SDK)
    if suits("examples", members.get("examples")):
        facets["examples"] = read_examples(members.pop("examples"))
    given = members.pop("parameters", [])
    read_inputs(facets, "atdf-sdk", given, ("parameters",), keywords=SDK_KEYWORDS)
    keep(facets, "atdf-sdk", "root", members)
    return facets


def write_sdk(facets: Facets, style: Style) -> Written:
    """Return a description of the ATDF SDK, whose parameters know six keywords of a schema."""
    document: dict[str, Any] = {
        "name": facets["name"] or "tool",
        "description": facets.get("description", spoken(facets)),
    }
    document |= {facet: facets[facet] for facet in OF_SDK if facet in facets}
    parameters, _, _ = split(schema := facets.get("input", {}), names_in(schema))
    document["parameters"] = write_inputs(facets, "atdf-sdk", parameters, SDK_KEYWORDS)
    if "examples" in facets:
        document["examples"] = write_examples(facets, "goal", style)
    derived = [] if "description" in facets else ["/description"]
    return document | kept(facets, "atdf-sdk", "root"), derived


# ---- ARDF ---------------------------------------------------------------------------------------------


ARDF_KEYWORDS: Keywords = {"format": ("format", str)}


def read_ardf(document: Any) -> Facets:
    """Return the facets of an ARDF resource that is a tool."""
    members = dict(as_object(document))
    kind = members.pop("resource_type", None)
    if kind != "tool":
        raise DocumentError(f"/resource_type: 'tool' is accepted for a conversion, got {kind!r}")
    facets: Facets = {"name": text_at(members, "resource_id")}
    del members["resource_id"]
    members.pop("schema_version", None)
    take(facets, members, "description", "when_to_use")
    content = as_object(members.pop("content", None), "content")
    if content.get("type") != "tool/io":
        raise DocumentError(f"/content/type: 'tool/io' is accepted for a tool, got {content.get('type')!r}")
    data = dict(as_object(content.get("data"), "content", "data"))
    inputs = data.pop("inputs", None)
    if isinstance(inputs, list):
        inputs = [_without_empty(one) for one in inputs]
    read_inputs(facets, "ardf-1", inputs, ("content", "data", "inputs"), keywords=ARDF_KEYWORDS)
    read_outputs(facets, "ardf-1", data.pop("outputs", None), "content", "data", "outputs")
    keep(facets, "ardf-1", "data", data)
    keep(facets, "ardf-1", "content", {key: content[key] for key in content if key not in ("type", "data")})
    read_metadata(facets, members)
    take(facets, members, "localization", "prerequisites", "feedback")
    if suits("examples", members.get("examples")):
        facets["examples"] = read_examples(members.pop("examples"))
    keep(facets, "ardf-1", "root", members)
    return facets


def _without_empty(parameter: Any) -> Any:
    """Return a parameter without the empty description that ARDF demands of those who have nothing to say."""
    if isinstance(parameter, dict) and parameter.get("description") == "":
        return {key: value for key, value in parameter.items() if key != "description"}
    return parameter


def write_ardf(facets: Facets, style: Style) -> Written:
    """Return an ARDF resource; its parameters have a name, a type, a description and perhaps a format."""
    derived = [] if facets.get("description") else ["/description"]
    document: dict[str, Any] = {
        "schema_version": "1.0.0",
        "resource_id": facets["name"] or "tool",
        "resource_type": "tool",
        "description": spoken(facets),
    }
    if "when_to_use" in facets:
        document["when_to_use"] = facets["when_to_use"]
    parameters, _, _ = split(schema := facets.get("input", {}), names_in(schema))
    for position, parameter in enumerate(parameters):
        if "description" not in parameter:
            parameter["description"] = ""
            derived.append(f"/content/data/inputs/{position}/description")
    inputs = write_inputs(facets, "ardf-1", parameters, ARDF_KEYWORDS)
    outputs, made = write_outputs(facets, "ardf-1")
    derived += ["/content/data/outputs/success"] if made else []
    data = {"inputs": inputs, "outputs": outputs, **kept(facets, "ardf-1", "data")}
    document["content"] = {"type": "tool/io", "data": data, **kept(facets, "ardf-1", "content")}
    write_metadata(facets, document, "ardf-1")
    write_fitting(facets, document, "ardf-1", "localization", "prerequisites", "feedback")
    if "examples" in facets:
        examples = write_examples(facets, "goal", style)
        if fits("ardf-1", examples, "examples"):
            document["examples"] = examples
    return document | kept(facets, "ardf-1", "root"), derived
