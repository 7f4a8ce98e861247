"""How a lab's page shows JSON and tables: what fits stands on one line, ``...`` marks what was left out."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

ELLIPSIS = "..."
WIDTH = 96


def pretty(value: Any, indent: str = "") -> str:
    """JSON in which whatever fits stands on one line."""
    short = compact(value)
    if len(indent) + len(short) <= WIDTH or not isinstance(value, dict | list) or not value:
        return short
    inner = indent + "  "
    if isinstance(value, list):
        lines = [pretty(item, inner) for item in value]
    else:
        lines = [
            ELLIPSIS if key == ELLIPSIS else f"{json.dumps(key)}: {pretty(item, inner)}"
            for key, item in value.items()
        ]
    left, right = "[]" if isinstance(value, list) else "{}"
    return f"{left}\n{inner}" + f",\n{inner}".join(lines) + f"\n{indent}{right}"


def compact(value: Any) -> str:
    """JSON on one line."""
    text = json.dumps(value, ensure_ascii=False)
    return text.replace(f'"{ELLIPSIS}": "{ELLIPSIS}"', ELLIPSIS).replace(f'"{ELLIPSIS}"', ELLIPSIS)


def code(value: Any) -> str:
    """A value as code within a line; a dash for nothing."""
    if value is None:
        return "–"
    return f"`{value}`" if isinstance(value, str) else f"`{compact(value)}`"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [" | ".join(head), " | ".join("---" for _ in head), *(" | ".join(row) for row in rows)]
    return "\n".join(f"| {line} |" for line in lines)


def number(value: float, lang: str) -> str:
    """A number with the decimal sign of the language."""
    text = f"{value:g}"
    return text.replace(".", ",") if lang == "es" else text
