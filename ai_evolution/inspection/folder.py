"""A folder that can be read from and not got out of.

A path is relative, with forward slashes, and is walked name by name from the open root: ``..``, an absolute
path, a drive and a backslash are refused before anything is opened; a symbolic link is refused wherever it
stands, also when it was put there a moment ago (``O_NOFOLLOW`` on each name, where the machine has it). Names
that begin with a dot are hidden: keys and histories live there. Only ordinary files are read, only text, and
never more than the limits below.

What it refuses to do: follow, guess an encoding, or say what lies outside.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ai_evolution.errors import AiEvolutionError, UsageError

MAX_FILE = 1 << 20
"""Bytes of a file that is read at all."""
MAX_TEXT = 40_000
"""Characters that one reading gives."""
MAX_LINES = 1_000
MAX_ENTRIES = 1_000
MAX_HITS = 100
MAX_LINE = 240
"""Characters shown of a line in which something was found."""
MAX_SEARCHED = 16 << 20
"""Bytes that one search reads."""
MAX_DEPTH = 32
MAX_WALKED = 20_000
"""Names that one search or listing looks at."""

_BY_DESCRIPTOR = os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW") and os.scandir in os.supports_fd
_CHUNK = 1 << 16


class Refused(AiEvolutionError):
    """A path that is not served; ``reason`` is one of ``REASONS``, ``path`` what was asked for."""

    def __init__(self, reason: str, path: str) -> None:
        super().__init__(f"{path[:120]!r}: {REASONS[reason]}")
        self.reason, self.path = reason, path


REASONS = {
    "OUTSIDE": "the path leads out of the folder; accepted: a relative path of names, with /",
    "HIDDEN": "names that begin with a dot are not shown",
    "LINK": "symbolic links are not followed",
    "NOT_FOUND": "there is no such file or folder",
    "NOT_A_FILE": "it is no ordinary file",
    "NOT_A_FOLDER": "it is no folder",
    "TOO_LARGE": f"it has more than {MAX_FILE} bytes",
    "NOT_TEXT": "it is no text in UTF-8",
}


@dataclass(frozen=True)
class Entry:
    """One name in a folder. ``kind`` is file or folder, ``size`` in bytes (0 for a folder)."""

    path: str
    kind: str
    size: int


@dataclass(frozen=True)
class Piece:
    """Some lines of a file: ``first`` counts from 1; ``total`` is how many lines the file has."""

    path: str
    first: int
    last: int
    total: int
    text: str


@dataclass(frozen=True)
class Hit:
    """A line in which the text occurs, cut to ``MAX_LINE`` characters around it."""

    path: str
    line: int
    text: str


class Folder:
    """One folder of this machine. Raises UsageError when it is none."""

    def __init__(self, root: Path | str) -> None:
        self._root = Path(root).resolve()
        if not self._root.is_dir():
            raise UsageError(f"{root} is no folder; a folder that exists accepted")

    @property
    def name(self) -> str:
        """The name of the folder, without where it is."""
        return self._root.name

    def entries(self, path: str = ".") -> tuple[list[Entry], bool]:
        """What stands in a folder, by name, and whether that is all. Raises Refused."""
        found = self._inside(path)
        return found[:MAX_ENTRIES], len(found) <= MAX_ENTRIES

    def read(self, path: str, first: int = 1, lines: int = MAX_LINES) -> Piece:
        """Some lines of a text file, from line ``first``; fewer when they are long. Raises Refused."""
        whole = self._text(path)
        every = whole.splitlines(keepends=True)
        shown: list[str] = []
        room = MAX_TEXT
        for line in every[first - 1 : first - 1 + max(1, min(lines, MAX_LINES))]:
            if len(line) > room:
                if not shown:
                    shown.append(line[:room])
                break
            shown.append(line)
            room -= len(line)
        return Piece(path, first, first + len(shown) - 1, len(every), "".join(shown))

    def search(self, text: str, path: str = ".", *, ending: str = "") -> tuple[list[Hit], bool]:
        """The lines below a folder (or of a file) in which a text occurs, by path; and whether all was seen.

        Upper and lower case are the same. Files that are large, binary or links are passed over. Raises
        Refused for the path, UsageError for an empty text.
        """
        if not text:
            raise UsageError("an empty text given, at least one character accepted")
        wanted = text.casefold()
        hits: list[Hit] = []
        left, complete = MAX_SEARCHED, True
        for each in self._files(path):
            if each is None:
                complete = False
                continue
            if not each.endswith(ending):
                continue
            if left <= 0:
                return hits, False
            try:
                whole = self._text(each)
            except Refused:
                continue
            left -= len(whole)
            for number, line in enumerate(whole.splitlines(), 1):
                at = line.casefold().find(wanted)
                if at < 0:
                    continue
                if len(hits) >= MAX_HITS:
                    return hits, False
                start = max(0, at - MAX_LINE // 2)
                hits.append(Hit(each, number, line[start : start + MAX_LINE].strip()))
        return hits, complete

    def content(self, path: str) -> bytes:
        """What is in a file, up to ``MAX_FILE``. Raises Refused."""
        with self._file(path) as here:
            content = b""
            while len(content) <= MAX_FILE and (piece := os.read(here, _CHUNK)):
                content += piece
        if len(content) > MAX_FILE:
            raise Refused("TOO_LARGE", path)
        return content

    def _text(self, path: str) -> str:
        content = self.content(path)
        if b"\0" in content:
            raise Refused("NOT_TEXT", path)
        try:
            return content.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise Refused("NOT_TEXT", path) from None

    def _files(self, path: str) -> Iterator[str | None]:
        """Every ordinary file below a folder, or the file itself; None once when not all is looked at."""
        try:
            with self._file(path):
                yield path
                return
        except Refused as refusal:
            if refusal.reason != "NOT_A_FILE":
                raise
        waiting, seen = [(path, 0)], 0
        while waiting:
            here, depth = waiting.pop(0)
            below: list[tuple[str, int]] = []
            for each in self._inside(here):
                seen += 1
                if seen > MAX_WALKED:
                    yield None
                    return
                if each.kind == "file":
                    yield each.path
                elif depth < MAX_DEPTH:
                    below.append((each.path, depth + 1))
                else:
                    yield None
            waiting = [*below, *waiting]

    def _inside(self, path: str) -> list[Entry]:
        """What may be shown of a folder, by name: no links, nothing hidden, nothing but files and folders."""
        found = []
        with self._folder(path) as here, os.scandir(here) as listing:
            for each in listing:
                if each.name.startswith("."):
                    continue
                try:
                    status = each.stat(follow_symlinks=False)
                    os.fsencode(each.name).decode("utf-8")
                except (OSError, UnicodeError):
                    continue  # it went away, or its name can't be written down
                if stat.S_ISDIR(status.st_mode):
                    found.append(Entry(_below(path, each.name), "folder", 0))
                elif stat.S_ISREG(status.st_mode):
                    found.append(Entry(_below(path, each.name), "file", status.st_size))
        return sorted(found, key=lambda each: each.path)

    @contextmanager
    def _file(self, path: str) -> Iterator[int]:
        """A descriptor of an ordinary file, closed at the end."""
        place = self._descended(path)
        here = place if isinstance(place, int) else _opened(place, path)
        try:
            if not stat.S_ISREG(os.fstat(here).st_mode):
                raise Refused("NOT_A_FILE", path)
            yield here
        finally:
            os.close(here)

    @contextmanager
    def _folder(self, path: str) -> Iterator[int | str]:
        """A folder as ``os.scandir`` takes it."""
        place = self._descended(path)
        try:
            status = os.stat(place)  # noqa: PTH116 (it may be a descriptor)
            if not stat.S_ISDIR(status.st_mode):
                raise Refused("NOT_A_FOLDER", path)
            yield place
        finally:
            if isinstance(place, int):
                os.close(place)

    def _descended(self, path: str) -> int | str:
        """What stands at a path: an open descriptor, or its place where the machine has no such thing."""
        names = _names(path)
        if not _BY_DESCRIPTOR:
            return self._looked_up(path, names)
        here = os.open(self._root, os.O_RDONLY)
        for name in names:
            try:
                # Without blocking: opening a pipe would wait for whoever writes into it.
                below = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=here)
            except OSError:
                raise Refused("LINK" if _is_link(name, here) else "NOT_FOUND", path) from None
            finally:
                os.close(here)
            here = below
        return here

    def _looked_up(self, path: str, names: list[str]) -> str:
        here = self._root
        for name in names:
            here = here / name
            if here.is_symlink():
                raise Refused("LINK", path)
        if not here.exists() or not here.resolve().is_relative_to(self._root):
            raise Refused("NOT_FOUND", path)
        return str(here)


def _opened(place: str, path: str) -> int:
    if not Path(place).is_file():
        raise Refused("NOT_A_FILE", path)
    try:
        return os.open(place, os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        raise Refused("NOT_A_FILE", path) from None


def _is_link(name: str, folder: int) -> bool:
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except OSError:
        return False


def _names(path: str) -> list[str]:
    """The names on the way, none for the root itself. Raises Refused for a path that may lead out."""
    parts = path.split("/")
    if path.startswith("/") or ".." in parts or any(sign in path for sign in ("\\", "\0", ":")):
        raise Refused("OUTSIDE", path)
    names = [each for each in parts if each not in ("", ".")]
    if len(names) > MAX_DEPTH:
        raise Refused("NOT_FOUND", path)
    if any(each.startswith(".") for each in names):
        raise Refused("HIDDEN", path)
    return names


def _below(path: str, name: str) -> str:
    return "/".join([*_names(path), name])
