"""What was handed in, read without trusting it.

A submission is a folder of the submissions folder, called after its student, with four files. Files
are read through their folder's own descriptor, without following links, up to a size, and only when
they are ordinary files; whatever is wrong is one line (in both languages), never an exception. Names
are foreign text: ``file_name`` makes one that every file system takes, ``cell`` one that no
spreadsheet calculates.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import stat
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ai_evolution.errors import DocumentError

EVIDENCE, ANSWERS, CONCLUSION = "evidence.json", "answers.md", "conclusion.json"
LIMITS: Mapping[str, int] = {EVIDENCE: 4 << 20, ANSWERS: 1 << 20, CONCLUSION: 256 << 10}
MAX_BUILT = 1 << 20
"""Bytes of the file that the exercise asks for; what that one is called, the exercise says."""
MAX_STUDENTS = 10_000
HIDDEN = (".", "__")

Words = Mapping[str, str]


def words(en: str, es: str) -> dict[str, str]:
    """One line in both languages."""
    return {"en": en, "es": es}


@dataclass(frozen=True)
class Submission:
    """One student's files as bytes. ``problems`` has a line for each file that could not be read."""

    student: str
    files: Mapping[str, bytes] = field(default_factory=dict)
    problems: Mapping[str, Words] = field(default_factory=dict)
    notes: tuple[Words, ...] = ()
    modified: float = 0.0
    """The latest modification time of the files, in seconds since 1970; 0 when there is none."""


def read_submissions(folder: Path, built: str) -> list[Submission]:
    """Every submission of a folder, sorted by student, whatever the order on disk.

    ``built`` is the name of the file that the exercise asks for (``my_agent.py``, ``my_tool.py``).
    Loose files are passed over, and so are hidden folders (see ``passed_over``). Raises
    ``DocumentError`` when the folder itself cannot be read, or holds no submission.
    """
    students = [n for n in _folders(folder) if not n.startswith(HIDDEN)][: MAX_STUDENTS + 1]
    if not students:
        raise DocumentError(f"{folder} holds no submissions; expected one folder per student")
    if len(students) > MAX_STUDENTS:
        raise DocumentError(f"{folder} holds more than {MAX_STUDENTS} folders; grade it in parts")
    read = [_read_one(folder / name, name, built) for name in students]
    return [_with_namesakes(s, read) for s in read]


def passed_over(folder: Path) -> tuple[str, ...]:
    """The folders that ``read_submissions`` passes over because of their names, sorted."""
    return tuple(name for name in _folders(folder) if name.startswith(HIDDEN))


def _folders(folder: Path) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return sorted(e.name for e in entries if e.is_symlink() or _is_folder(e))
    except OSError as error:
        raise DocumentError(f"{folder} cannot be read: {error.strerror or error}") from None


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return True  # what cannot even be looked at is told by name, not passed over


def _with_namesakes(submission: Submission, everybody: list[Submission]) -> Submission:
    same = [s for s in everybody if _folded(s.student) == _folded(submission.student)]
    if len(same) == 1:
        return submission
    note = words(
        "Another folder has the same name but for case or accents' encoding; both were graded apart.",
        "Otra carpeta tiene el mismo nombre salvo mayúsculas o codificación; se calificaron por separado.",
    )
    return Submission(submission.student, submission.files, submission.problems, (note,), submission.modified)


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()


def _read_one(folder: Path, student: str, built: str) -> Submission:
    limits = {**LIMITS, built: MAX_BUILT}
    if _is_link(folder):
        link = words("the folder is a link and was not followed", "la carpeta es un enlace y no se siguió")
        return Submission(student, {}, dict.fromkeys(limits, link))
    files: dict[str, bytes] = {}
    problems: dict[str, Words] = {}
    latest = 0.0
    for name, limit in limits.items():
        content, when = _read_file(folder / name, limit)
        if isinstance(content, bytes):
            files[name] = content
            latest = max(latest, when)
        else:
            problems[name] = content
    return Submission(student, files, problems, (), latest)


def _is_link(path: Path) -> bool:
    try:
        return path.is_symlink()
    except OSError:  # its folder may not be looked into; opening it will say so
        return False


def _read_file(path: Path, limit: int) -> tuple[bytes | Words, float]:
    """The bytes of an ordinary file and its time, or a line that says why not."""
    if _is_link(path):
        return words(
            f"{path.name} is a link and was not followed", f"{path.name} es un enlace y no se siguió"
        ), 0
    flags = (
        os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    )
    try:
        fd = os.open(path, flags)
    except FileNotFoundError:
        return words(f"{path.name} is missing", f"falta {path.name}"), 0
    except (OSError, ValueError):
        return words(f"{path.name} cannot be read", f"{path.name} no se puede leer"), 0
    try:
        facts = os.fstat(fd)
        if not stat.S_ISREG(facts.st_mode):
            return words(f"{path.name} is no ordinary file", f"{path.name} no es un archivo corriente"), 0
        if facts.st_size > limit:
            en, es = f"{path.name} has {facts.st_size} bytes", f"{path.name} tiene {facts.st_size} bytes"
            return words(f"{en}; at most {limit} are read", f"{es}; se leen {limit} como mucho"), 0
        with os.fdopen(os.dup(fd), "rb") as file:
            return file.read(limit), facts.st_mtime
    except OSError:
        return words(f"{path.name} cannot be read", f"{path.name} no se puede leer"), 0
    finally:
        os.close(fd)


# --- names ---------------------------------------------------------------------------------------


def shown(name: str) -> str:
    """The name on one line: control characters and what cannot be encoded become ``?``."""
    text = name.encode("utf-8", "replace").decode("utf-8")
    return "".join(c if c.isprintable() else "?" for c in text)


def cell(value: object) -> str:
    """A CSV cell that a spreadsheet shows and does not calculate (a leading ``'`` says: text).

    The same holds after a semicolon, where a spreadsheet of another country may begin a cell. A tab
    can't begin one, since ``shown`` makes it a ``?``.
    """
    return re.sub(r"(^|;)(\s*)(?=[=+\-@'])", r"\1'\2", shown(str(value)))


def file_name(student: str) -> str:
    """A file name for a student: safe on every system, and different for different students."""
    plain = re.sub(r"[^A-Za-z0-9._-]", "_", unicodedata.normalize("NFKD", shown(student)))[:60].strip(".")
    if plain == student and plain == plain.lower() and not _reserved(plain):
        return plain
    return f"{plain or 'student'}~{_digest(student)[:8]}"


def _reserved(name: str) -> bool:
    device = re.fullmatch(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", name.lower())
    return bool(device) or name.startswith("-") or name.endswith(".")


def _digest(student: str) -> str:
    return hashlib.sha256(student.encode("utf-8", "surrogateescape")).hexdigest()


def row_key(student: str, criterion: str) -> str:
    """What identifies a row of ``pending.csv``, however a spreadsheet treats the name."""
    return f"s{_digest(student)[:12]}.{criterion}"


def student_seed(course_key: str | bytes, student: str, class_slug: str) -> int:
    """The seed of one student for one class: six digits of HMAC-SHA256(course key, student, class).

    Whoever does not have the key cannot tell anybody's seed; the instructor recomputes it.
    """
    key = course_key.encode("utf-8") if isinstance(course_key, str) else course_key
    text = f"{unicodedata.normalize('NFC', student)}\n{class_slug}".encode("utf-8", "surrogateescape")
    return int.from_bytes(hmac.new(key, text, "sha256").digest()[:8], "big") % 1_000_000
