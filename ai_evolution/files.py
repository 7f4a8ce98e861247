"""Files that are written whole or not at all, and a lock between processes.

Both work on POSIX and on Windows. Neither waits for ever: a lock that is not free by its
deadline is an ``EnvironmentProblem``.
"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from ai_evolution.errors import DocumentError, EnvironmentProblem


def write_whole(path: Path, content: bytes) -> None:
    """Replace ``path`` by a file with these bytes; a reader sees the old file or the new one.

    A symbolic link is followed; something that is no ordinary file (``/dev/stdout``) is written
    to directly. Raises ``DocumentError`` in one line when the disk refuses, and leaves nothing behind.
    """
    try:
        target = path.resolve()
        if target.exists() and not target.is_file():
            target.write_bytes(content)
            return
        handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            Path(temporary).chmod(target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask())
            Path(temporary).replace(target)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise DocumentError(f"{path}: cannot be written: {error.strerror or error}") from None


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


@contextlib.contextmanager
def locked(path: Path, deadline: float = 5.0) -> Iterator[None]:
    """Hold the lock file ``path`` (it is made, and stays) so that one process at a time goes on.

    The operating system lets go of it when a process dies. Raises ``EnvironmentProblem`` when it
    is not free within ``deadline`` seconds, ``OSError`` when the file can't be made.
    """
    with path.open("a+b") as file:
        until = time.monotonic() + deadline
        while not _take(file):
            if time.monotonic() > until:
                raise EnvironmentProblem(f"{path} is still held by another process after {deadline:g} s")
            time.sleep(0.01)
        try:
            yield
        finally:
            _release(file)


if sys.platform == "win32":
    import msvcrt

    def _take(file: IO[bytes]) -> bool:
        file.seek(0)
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _release(file: IO[bytes]) -> None:
        file.seek(0)
        msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _take(file: IO[bytes]) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _release(file: IO[bytes]) -> None:
        fcntl.flock(file, fcntl.LOCK_UN)
