"""Files that a script writes: compare them with what stands, or write them whole.

``settle`` is the one way in which the scripts of this repository write or check anything.
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from ai_evolution.files import write_whole

_LONGEST_DIFF = 60  # lines shown for each file


def equal(standing: bytes, wanted: bytes) -> bool:
    """The usual meaning of fresh: the same bytes."""
    return standing == wanted


@dataclass(frozen=True)
class Generated:
    """What a file must hold. ``path`` is relative to the root; ``same`` says when a file is fresh."""

    path: str
    content: bytes
    same: Callable[[bytes, bytes], bool] = field(default=equal, compare=False)

    @classmethod
    def text(cls, path: str, content: str) -> Generated:
        """A text file in UTF-8 with line feeds."""
        return cls(path, content.encode("utf-8"))


def settle(
    root: Path,
    generated: Iterable[Generated],
    *,
    check: bool,
    out: TextIO | None = None,
    err: TextIO | None = None,
) -> int:
    """Write what is not fresh, or with ``check`` say what is not. Returns the number of such files.

    One line a file on ``out`` (stdout by default); with ``check`` also a unified diff of each on ``err``.
    """
    count = 0
    for item in generated:
        path = root / item.path
        standing = path.read_bytes() if path.is_file() else b""
        if path.is_file() and item.same(standing, item.content):
            continue
        count += 1
        if check:
            print(f"stale: {item.path}", file=out or sys.stdout)
            print(_diff(item.path, standing, item.content), file=err or sys.stderr)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, item.content)
            print(f"wrote: {item.path}", file=out or sys.stdout)
    return count


def _diff(path: str, standing: bytes, wanted: bytes) -> str:
    old, new = (data.decode("utf-8", "replace").splitlines() for data in (standing, wanted))
    lines = list(difflib.unified_diff(old, new, f"{path} (standing)", f"{path} (generated)", lineterm=""))
    lines = [line if len(line) < 400 else f"{line[:400]}..." for line in lines]
    if len(lines) > _LONGEST_DIFF:
        lines[_LONGEST_DIFF:] = [f"... {len(lines) - _LONGEST_DIFF} more lines"]
    return "\n".join(lines)
