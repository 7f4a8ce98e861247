"""A tool's definition as plain JSON: what identifies it, whatever object it came in.

It refuses to add anything: a member that was not sent is not there, and one that was sent as null at the top
means the same as absent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

FIELDS = ("name", "title", "description", "inputSchema", "outputSchema", "annotations")
"""What a tool is, for trust: its name, words, schemas and hints. Icons and ``_meta`` are not in it."""


def definition(tool: Any) -> dict[str, Any]:
    """The six members of ``tool`` that are there, by their names on the wire.

    ``tool`` is an ``mcp.types.Tool`` or a dict as it stands in ``tools/list``.
    """
    if isinstance(tool, Mapping):
        given = {field: tool.get(field) for field in FIELDS}
    else:
        hints = tool.annotations
        given = {
            "name": tool.name,
            "title": tool.title,
            "description": tool.description,
            "inputSchema": tool.input_schema,
            "outputSchema": tool.output_schema,
            "annotations": None if hints is None else hints.model_dump(by_alias=True, exclude_none=True),
        }
    return {field: value for field, value in given.items() if value is not None}
