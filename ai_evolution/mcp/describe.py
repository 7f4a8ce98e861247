"""The tools of a live server as ATDF documents, and the proof that nothing was lost on the way.

``describe`` connects, asks until no cursor is left, and converts what stood on the wire: the raw
``tools/list``, unknown members and the order of keys included, never what an SDK made of it. Each document is
converted back and compared with its tool as text.

It calls no tool and obeys nothing of what the server says. A field that ATDF demands and the server does not
say is made up, and named in ``derived`` (and in the document's own ``x-derived``): it is no knowledge.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp.server import MCPServer, Server

from ai_evolution.atdf.convert import TARGETS, convert
from ai_evolution.atdf.losses import Loss
from ai_evolution.errors import ResultRefused, UsageError
from ai_evolution.mcp.client import connect
from ai_evolution.mcp.journal import WireJournal

FORMS = tuple(form for form in TARGETS if form.startswith(("atdf", "ardf")))
"""The forms that tools can be described in; ``atdf-2`` loses nothing, not even the order of keys."""


@dataclass(frozen=True)
class DescribedTool:
    """One tool: as it stood on the wire, as a document, and what lies between the two.

    ``derived`` are pointers into the document, ``losses`` point into the tool; ``same`` says whether the
    document, converted back, is the very text of the tool.
    """

    tool: dict[str, Any]
    document: dict[str, Any]
    derived: tuple[str, ...]
    losses: tuple[Loss, ...]
    same: bool

    @property
    def name(self) -> str:
        """The name of the tool: the server's words."""
        return str(self.tool["name"])


@dataclass(frozen=True)
class Described:
    """A server and its tools. ``server`` is what it calls itself, None when it does not."""

    server: dict[str, str] | None
    revision: str
    form: str
    items: tuple[DescribedTool, ...]

    @property
    def tools(self) -> list[dict[str, Any]]:
        """The raw ``tools/list``, its pages joined."""
        return [each.tool for each in self.items]

    @property
    def documents(self) -> list[dict[str, Any]]:
        """One ATDF document for each tool, in the server's order."""
        return [each.document for each in self.items]

    @property
    def derived(self) -> tuple[str, ...]:
        """What was made up, as pointers into ``documents``."""
        return tuple(f"/{at}{where}" for at, each in enumerate(self.items) for where in each.derived)

    @property
    def losses(self) -> tuple[Loss, ...]:
        """What the documents do not carry, as pointers into ``tools``."""
        return tuple(
            Loss(f"/{at}{loss.pointer}", loss.value, loss.why)
            for at, each in enumerate(self.items)
            for loss in each.losses
        )

    @property
    def lossless(self) -> bool:
        """Whether every document, converted back, is the text of its tool, order of keys included."""
        return all(each.same for each in self.items)


async def describe(
    target: str | Sequence[str] | Server[Any] | MCPServer[Any] | Any,
    *,
    deadline: float = 30.0,
    form: str = "atdf-2",
    mode: str = "auto",
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> Described:
    """Describe a server: a URL, a command as a list, or a server object.

    ``deadline`` is in seconds, for connecting and for the list; ``form`` one of ``FORMS``; ``mode``, ``env``
    and ``cwd`` as for ``connect``. Raises UsageError for the form, DocumentError for a tool that can't be
    read, and what ``connect`` and ``Host.tools`` raise for a server that is lost, late, endless or malformed.
    """
    if form not in FORMS:
        raise UsageError(f"form {form!r} given, {', '.join(FORMS)} accepted")
    journal = WireJournal()
    async with connect(target, mode=mode, deadline=deadline, journal=journal, env=env, cwd=cwd) as host:
        read = await host.tools()
        server, revision = host.server, host.revision
    tools = _listed(journal)
    if [each.get("name") for each in tools] != [each.name for each in read]:
        raise ResultRefused("the pages of tools/list are not those that were read", "/tools")
    return Described(server, revision, form, tuple(described(tool, form) for tool in tools))


def described(tool: Mapping[str, Any], form: str = "atdf-2") -> DescribedTool:
    """One tool, as it stands on the wire, in a form of ATDF. Raises DocumentError when it can't be read."""
    found = convert(dict(tool), form, source="mcp")
    back: Any = convert(found.document, "mcp", source=form).document
    if isinstance(back, dict) and isinstance(back.get("tools"), list):
        back = back["tools"][0]
    same = json.dumps(back, ensure_ascii=False) == json.dumps(tool, ensure_ascii=False)
    return DescribedTool(dict(tool), found.document, found.derived, found.losses, same)


def _listed(journal: WireJournal) -> list[dict[str, Any]]:
    """The tools of every page that the server gave, as they stood on the wire."""
    tools: list[dict[str, Any]] = []
    for frame in journal.frames:
        result = frame.message.get("result")
        if frame.kind != "response" or frame.method != "tools/list" or not isinstance(result, dict):
            continue
        page = result.get("tools")
        tools += [each for each in page if isinstance(each, dict)] if isinstance(page, list) else []
    return tools
