"""Generated blocks in pages written by people, and the hash that a translation follows.

A block stands between two lines of their own, which name it and the script that writes it::

    <!-- BEGIN GENERATED: claims (scripts/refresh.py) -->
    ...
    <!-- END GENERATED: claims (scripts/refresh.py) -->

Whatever stands between them is replaced whole. A script touches its own blocks and no other. Marker
lines inside a fenced code block are text, not markers, unless the fence is itself inside a block.

A translated page starts with a line that names its original and the hash of what it followed::

    <!-- source: README.md sha256:0123... -->

The hash covers the prose only: blocks are written by machine in both languages, so a new number in a
table makes no translation stale.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from ai_evolution.errors import DocumentError

_MARKER = re.compile(r"<!-- (BEGIN|END) GENERATED: ([a-z0-9][a-z0-9-]*) \((scripts/[a-z_]+\.py)\) -->")
_LOOKS_LIKE_ONE = re.compile(r"<!--\s*(BEGIN|END)\s+GENERATED\b", re.IGNORECASE)
_SOURCE = re.compile(r"<!-- source: (\S+) sha256:([0-9a-f]{64}) -->")


@dataclass(frozen=True)
class Block:
    """One generated block. ``begin`` and ``end`` are the numbers of its marker lines, from 0."""

    name: str
    script: str
    begin: int
    end: int


def find_blocks(text: str, where: str) -> tuple[Block, ...]:
    """The blocks of a page in order. DocumentError (``where:line: ...``) when markers do not pair up."""
    found: list[Block] = []
    open_: tuple[str, str, int] | None = None
    fence = ""
    for number, line in enumerate(text.splitlines()):
        tick = re.match(r"\s*(`{3,}|~{3,})", line)
        if tick and open_ is None:
            mark = tick[1]
            fence = mark if not fence else ("" if line.strip() == mark and mark.startswith(fence) else fence)
        if fence or not _LOOKS_LIKE_ONE.match(line):
            continue
        marker = _MARKER.fullmatch(line.rstrip())
        if marker is None:
            raise DocumentError(
                f"{where}:{number + 1}: {line.strip()!r} is no marker; "
                "<!-- BEGIN GENERATED: name (scripts/refresh.py) --> would be accepted"
            )
        kind, name, script = marker.groups()
        if kind == "BEGIN":
            if open_ is not None:
                raise DocumentError(_unclosed(where, *open_))
            if name in {block.name for block in found}:
                raise DocumentError(f"{where}:{number + 1}: block {name!r} stands twice in this page")
            open_ = (name, script, number)
        elif open_ is None or open_[:2] != (name, script):
            raise DocumentError(f"{where}:{number + 1}: block {name!r} ({script}) ends without having begun")
        else:
            found.append(Block(name, script, open_[2], number))
            open_ = None
    if open_ is not None:
        raise DocumentError(_unclosed(where, *open_))
    return tuple(found)


def _unclosed(where: str, name: str, script: str, begin: int) -> str:
    end = f"<!-- END GENERATED: {name} ({script}) -->"
    return f"{where}:{begin + 1}: block {name!r} is never closed; {end} would close it"


def fill_blocks(
    text: str, contents: Mapping[str, str], *, script: str, where: str, required: Collection[str] = ()
) -> str:
    """``text`` with every block of ``script`` replaced by its new content.

    DocumentError when a block has no content in ``contents`` (unknown), or when a ``required`` one has no
    markers in the page.
    """
    blocks = [block for block in find_blocks(text, where) if block.script == script]
    for name in required:
        if name not in {block.name for block in blocks}:
            raise DocumentError(
                f"{where}: block {name!r} is missing; put <!-- BEGIN GENERATED: {name} ({script}) --> "
                f"and <!-- END GENERATED: {name} ({script}) --> where it belongs"
            )
    lines = text.splitlines()
    for block in reversed(blocks):
        if block.name not in contents:
            known = ", ".join(sorted(contents)) or "none here"
            raise DocumentError(
                f"{where}:{block.begin + 1}: {script} knows no block {block.name!r}; accepted: {known}"
            )
        lines[block.begin + 1 : block.end] = ["", *contents[block.name].strip("\n").splitlines(), ""]
    return "\n".join(lines) + "\n"


def prose_digest(text: str, where: str) -> str:
    """SHA-256 (hex) of a page without the content of its blocks and without its own ``source`` line."""
    lines = text.splitlines()
    for block in reversed(find_blocks(text, where)):
        del lines[block.begin + 1 : block.end]
    kept = [line.rstrip() for line in lines if not _SOURCE.fullmatch(line.strip())]
    return hashlib.sha256("\n".join(kept).strip().encode("utf-8")).hexdigest()


def followed_source(text: str) -> tuple[str, str] | None:
    """``(original, digest)`` from the ``source`` line of a translation, None when it has none."""
    for line in text.splitlines()[:5]:
        match = _SOURCE.fullmatch(line.strip())
        if match:
            return match[1], match[2]
    return None


def with_source(text: str, original: str, digest: str) -> str:
    """``text`` with its ``source`` line set, as the first line when there was none."""
    kept = [line for line in text.splitlines() if not _SOURCE.fullmatch(line.strip())]
    return "\n".join([f"<!-- source: {original} sha256:{digest} -->", *kept]) + "\n"
