"""Every form read into one set of facets, and written from it.

``READ[form]`` takes a tool to its facets and never loses anything. ``WRITE[form]`` puts each facet where
the form has a place for it. Open forms (atdf-2, atdf-tool, MCP and its list) also carry the facets they
do not know; closed ones drop them, and ``convert`` finds out and says so.

A form may demand what the source does not say. Such a text is made from what is there, never a date, an
example or an error code, and is named in ``x-derived`` where there is room, so that reading it back does
not take it for knowledge. ``DocumentError`` when a document is too far from its form to be read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ai_evolution.atdf.translation.classic import (
    identifier_of,
    read_basic,
    read_enhanced,
    write_basic,
    write_enhanced,
)
from ai_evolution.atdf.translation.facets import Facets, Style, Written, example_words, text_of
from ai_evolution.atdf.translation.mcp import META, read_listed, read_mcp, write_listed, write_mcp
from ai_evolution.atdf.translation.others import (
    read_ardf,
    read_sdk,
    read_tool,
    write_ardf,
    write_sdk,
    write_tool,
)
from ai_evolution.atdf.translation.providers import (
    read_anthropic,
    read_openai,
    write_anthropic,
    write_openai,
)

__all__ = ["META", "READ", "WRITE", "Facets", "Style", "style_of", "text_of"]

READ: dict[str, Callable[[Any], Facets]] = {
    "mcp": read_mcp,
    "atdf-1": read_basic,
    "atdf-2": read_enhanced,
    "atdf-tools": read_listed,
    "atdf-sdk": read_sdk,
    "ardf-1": read_ardf,
    "atdf-tool": read_tool,
    "openai": read_openai,
    "anthropic": read_anthropic,
}
WRITE: dict[str, Callable[[Facets, Style], Written]] = {
    "mcp": write_mcp,
    "atdf-1": write_basic,
    "atdf-2": write_enhanced,
    "atdf-tools": write_listed,
    "atdf-sdk": write_sdk,
    "ardf-1": write_ardf,
    "atdf-tool": write_tool,
    "openai": write_openai,
    "anthropic": write_anthropic,
}


def style_of(document: Any, form: str) -> Style:
    """Return which of several equal ways a document chose: words and shapes, no content."""
    tool = document.get("tool") if form == "atdf-tool" and isinstance(document, dict) else document
    if not isinstance(tool, dict):
        return {}
    style: dict[str, Any] = {}
    if isinstance(tool.get("examples"), list):
        style["examples"] = example_words(tool["examples"])
    if form in ("atdf-1", "atdf-2"):
        style["id"] = identifier_of(tool)
        style["schema_version"] = tool.get("schema_version")
        how = tool.get("how_to_use")
        inputs = how.get("inputs") if isinstance(how, dict) else None
        style["inline"] = {
            one.get("name"): one["schema"]
            for one in (inputs if isinstance(inputs, list) else ())
            if isinstance(one, dict) and "schema" in one and form == "atdf-2"
        }
    if form == "openai":
        style["flat"] = not isinstance(tool.get("function"), dict)
    return style
