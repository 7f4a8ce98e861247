"""Pins: a tool stays the tool that was approved, or is refused until somebody looks at it again.

A server may change a tool after it was approved (a "rug pull"): the description that the model reads, the
schema, the hints. A pin keeps what was approved; ``check`` says what is no longer the same, by JSON pointer.
The order of tools, and of members within JSON, means nothing.

It refuses to trust on first use by itself: what was never approved is a change (``added``), and only
``approve`` makes it anything else. A server is known by the name that the host gives it; what the server
calls itself is a claim.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import rfc8785

from ai_evolution.errors import DocumentError, ResultRefused
from ai_evolution.files import write_whole
from ai_evolution.mcp.definitions import definition
from ai_evolution.mcp.scan import Hazard, hazards, shown, suspicions

__all__ = ["Change", "Hazard", "Pins", "fingerprint", "hazards", "shown", "suspicions"]

SCHEMA = "ai-evolution/mcp-pins/1"
_MOST_POINTERS = 50


@dataclass(frozen=True)
class Change:
    """A tool that is not what was approved: never approved, gone, or changed at the pointers in ``where``."""

    tool: str
    kind: Literal["added", "removed", "changed"]
    where: tuple[str, ...] = ()

    def __str__(self) -> str:
        said = {"added": "was never approved", "removed": "is gone", "changed": "changed at"}[self.kind]
        places = f" {', '.join(self.where[:5])}" if self.where else ""
        return f"{shown(self.tool)[:80]} {said}{places}"


def fingerprint(tool: Any) -> str:
    """``sha256:...`` over the RFC 8785 bytes of the tool's name, title, description, schemas and annotations.

    Raises ``ResultRefused`` for a definition that is no interoperable JSON (an integer beyond 2^53, half a
    surrogate pair, NaN, endless nesting): two readers could not agree on what was approved.
    """
    given = definition(tool)
    try:
        return "sha256:" + hashlib.sha256(rfc8785.dumps(given)).hexdigest()
    except (rfc8785.CanonicalizationError, ValueError, TypeError, RecursionError) as error:
        name = shown(str(given.get("name", "")))[:60]
        raise ResultRefused(f"tool {name!r} can't be pinned, its definition is no I-JSON: {error}") from None


class Pins:
    """What was approved, by server and tool; ``save`` and ``load`` keep it in one readable file.

    ``destructive`` tools of a server are asked for before each call, whatever the server says about them.
    """

    def __init__(self) -> None:
        self._servers: dict[str, dict[str, dict[str, Any]]] = {}

    def approve(self, server: str, tools: Iterable[Any], *, destructive: Collection[str] = ()) -> None:
        """Pin each of ``tools``, as they are now, for ``server``; pins of its other tools stay.

        A tool that was marked as destructive stays so. Raises ``ResultRefused`` for what can't be pinned,
        and then nothing was approved.
        """
        fresh: dict[str, dict[str, Any]] = {}
        pinned = self._servers.get(server, {})
        for tool in tools:
            given = definition(tool)
            name = str(given["name"])
            marked = name in destructive or bool(pinned.get(name, {}).get("destructive"))
            fresh[name] = {
                "fingerprint": fingerprint(tool),
                "definition": _copied(given),
                **({"destructive": True} if marked else {}),
            }
        self._servers.setdefault(server, {}).update(fresh)

    def withdraw(self, server: str, *names: str) -> None:
        """Take back the approval of these tools, or of the whole server when none is named."""
        if not names:
            self._servers.pop(server, None)
        for name in names:
            self._servers.get(server, {}).pop(name, None)

    def check(self, server: str, tools: Iterable[Any]) -> list[Change]:
        """What is not as approved, in the order of ``tools``, then the tools that are gone."""
        pinned = self._servers.get(server, {})
        found, seen = [], set()
        for tool in tools:
            given = definition(tool)
            name = str(given["name"])
            seen.add(name)
            if name not in pinned:
                found.append(Change(name, "added"))
            elif fingerprint(tool) != pinned[name]["fingerprint"]:
                where = tuple(differences(pinned[name]["definition"], _copied(given)))[:_MOST_POINTERS]
                found.append(Change(name, "changed", where))
        return found + [Change(name, "removed") for name in pinned if name not in seen]

    def destructive(self, server: str, name: str) -> bool:
        """Whether this tool was marked as destructive when it was approved."""
        return bool(self._servers.get(server, {}).get(name, {}).get("destructive"))

    def servers(self) -> list[str]:
        """The servers that anything was approved of."""
        return sorted(self._servers)

    def save(self, path: Path) -> None:
        """Write the file, whole or not at all; raises ``DocumentError``."""
        servers = {
            name: {"tools": dict(sorted(tools.items()))} for name, tools in sorted(self._servers.items())
        }
        text = json.dumps({"schema": SCHEMA, "servers": servers}, indent=2, ensure_ascii=False)
        write_whole(path, (text + "\n").encode("utf-8"))

    @classmethod
    def load(cls, path: Path) -> Pins:
        """The pins in a file; ``DocumentError`` when it can't be read or is not what ``save`` wrote.

        A fingerprint that is not that of the definition beside it means that the file was edited: refused.
        """
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise DocumentError(f"{path}: cannot be read as pins: {error}") from None
        pins = cls()
        try:
            if document["schema"] != SCHEMA:
                raise DocumentError(f"{path}: schema {document['schema']!r} where {SCHEMA!r} is accepted")
            for server, kept in document["servers"].items():
                for name, pin in kept["tools"].items():
                    if (
                        pin["definition"]["name"] != name
                        or fingerprint(pin["definition"]) != pin["fingerprint"]
                    ):
                        raise DocumentError(
                            f"{path}: the pin of {name!r} ({server}) was edited: approve it anew"
                        )
                pins._servers[server] = kept["tools"]
        except (KeyError, TypeError, AttributeError, ResultRefused):
            raise DocumentError(f"{path}: not a pins file, schema {SCHEMA!r} is accepted") from None
        return pins


def differences(old: Any, new: Any, pointer: str = "") -> Iterator[str]:
    """Where two JSON values differ (RFC 6901), the order of members left out of account."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in dict.fromkeys([*old, *new]):
            below = f"{pointer}/{str(key).replace('~', '~0').replace('/', '~1')}"
            if key in old and key in new:
                yield from differences(old[key], new[key], below)
            else:
                yield below
    elif isinstance(old, list) and isinstance(new, list):
        for index in range(max(len(old), len(new))):
            below = f"{pointer}/{index}"
            if index < len(old) and index < len(new):
                yield from differences(old[index], new[index], below)
            else:
                yield below
    elif isinstance(old, bool) is not isinstance(new, bool) or old != new:
        yield pointer


def _copied(value: Any) -> Any:
    return json.loads(json.dumps(value))
