"""Descriptions that are kept in two languages at once, and how one of the two is taken."""

from __future__ import annotations

from typing import Any

LANGUAGES = frozenset(("en", "es"))


def in_language(value: Any, lang: str) -> Any:
    """The value with every ``{"en": ..., "es": ...}`` in it replaced by the one that is asked for.

    What is neither Spanish nor English is English. Nothing else changes, and ``value`` stays as it was.
    """
    if isinstance(value, dict):
        if set(value) == LANGUAGES:
            return value["es" if lang == "es" else "en"]
        return {key: in_language(each, lang) for key, each in value.items()}
    return [in_language(each, lang) for each in value] if isinstance(value, list) else value
