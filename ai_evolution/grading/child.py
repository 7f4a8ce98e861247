"""The child process in which a student's file runs, seen from outside: start, listen, bound, end, reap.

It starts ``ai_evolution.grading.host`` (which see for what the file may and may not touch), opens the door
through which it is judged (a port of loopback for an agent or a server, a pair of sockets for a tool), hears
its status lines, keeps the end of what it prints, ends it when it writes too much, and leaves nothing running
and nothing on the disk. Nothing here judges, and nothing that the child does raises.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import json
import os
import queue
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

MAX_OUTPUT = 64 << 10
STOP = 10.0
LAST_WORDS = 1.0
MAX_WRITTEN = 64 << 20
MAX_ENTRIES = 20_000
LOOK = 0.1
LAYERS = ("network", "processes", "user", "files")
WHYS = ("syntax", "import", "no-build", "build", "no-app")
"""What the worker may say of itself; the other problems are seen from outside."""


class Host:
    """The child process, from start to the last reaped descendant. Use it with ``with``.

    ``room`` is ``agent`` or ``server`` (HTTP at ``url``) or ``tool`` (it answers lines on ``channel()``),
    ``settings`` what the room is told besides; what stands in ``tokens`` there is cut out of ``output()``.
    """

    def __init__(
        self,
        source: bytes,
        name: str,
        room: str,
        settings: Mapping[str, Any],
        seconds: float,
        portable: bool,
    ) -> None:
        self._source = source
        self._portable = portable
        self.settings = dict(settings)
        self._config = {"name": name, "room": room, "seconds": int(seconds) + 5, "portable": portable}
        self._channel: socket.socket | None = None
        self._says: queue.Queue[dict[str, Any]] = queue.Queue()
        self._ended: dict[str, Any] | None = None
        self._printed = bytearray()
        self._threads: list[threading.Thread] = []
        self._process: subprocess.Popen[bytes] | None = None
        self._closing = threading.Event()
        self._excess = ""
        self.isolation: tuple[str, ...] = ()
        self.url = ""

    def __enter__(self) -> Host:
        self._directory = Path(tempfile.mkdtemp(prefix=f"ai-evolution-check-{os.getpid()}-"))
        try:
            self._start()
        except BaseException:
            self.close()
            raise
        return self

    def _start(self) -> None:
        (self._directory / "agent").write_bytes(self._source)
        environment = {
            "PATH": os.defpath,
            "HOME": str(self._directory),
            "TMPDIR": str(self._directory),
            "LANG": "C.UTF-8",
            "PYTHONDONTWRITEBYTECODE": "1",
            "MALLOC_ARENA_MAX": "2",
        }
        kept = {k: os.environ[k] for k in ("SYSTEMROOT", "LD_LIBRARY_PATH") if k in os.environ}
        with self._door() as door:
            config = {
                **self._config,
                **self.settings,
                "directory": str(self._directory),
                "environment": {**environment, **kept},
                "base_url": self.url,
                "port": self._port,
                "listen": door.fileno(),
            }
            if self._portable:
                door.close()
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-m", "ai_evolution.grading.host"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={**environment, **kept},
                cwd=self._directory,
                pass_fds=() if self._portable else (door.fileno(),),
                start_new_session=True,
            )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        for target, given in (
            (self._listen, (self._process.stdout,)),
            (self._drain, (self._process.stderr,)),
            (self._watch, ()),
        ):
            thread = threading.Thread(target=target, args=given, daemon=True)
            thread.start()
            self._threads.append(thread)
        with contextlib.suppress(OSError):
            self._process.stdin.write((json.dumps(config) + "\n").encode())
            self._process.stdin.flush()

    def _door(self) -> socket.socket:
        """The child's end of the way in: a port of loopback, or (a tool, where we can) a private pair."""
        if self._config["room"] == "tool" and not self._portable:
            self._channel, theirs = socket.socketpair()
            self._port = 0
            return theirs
        door = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        door.bind(("127.0.0.1", 0))
        self._port = door.getsockname()[1]
        self.url = f"http://127.0.0.1:{self._port}"
        if not self._portable:
            door.listen(64)
        return door

    def channel(self, seconds: float) -> socket.socket:
        """The way to talk with a tool that serves. Raises ``OSError`` when nobody is there."""
        if self._channel is None:
            self._channel = socket.create_connection(("127.0.0.1", self._port), timeout=seconds)
        return self._channel

    def __exit__(self, *_: object) -> None:
        self.close()

    # what comes out of it

    def _listen(self, pipe: IO[bytes]) -> None:
        """Read status lines; no more than a few, however many are written."""
        for line in _lines(pipe):
            with contextlib.suppress(ValueError, RecursionError):
                said = json.loads(line)
                if isinstance(said, dict):
                    self._says.put(said)
        self._says.put({"stage": "closed"})

    def _drain(self, pipe: IO[bytes]) -> None:
        """Keep the end of what is printed, throw the rest away, and never let the writer wait."""
        while chunk := os.read(pipe.fileno(), 65536):
            self._printed += chunk
            del self._printed[:-MAX_OUTPUT]

    def _watch(self) -> None:
        """End the child when it has written more than it may (see ``excess_of``)."""
        while not self._closing.wait(LOOK):
            if excess := excess_of(self._directory):
                self._excess = excess
                self._end()
                return

    def output(self) -> str:
        """The end of what the agent printed (at most ``MAX_OUTPUT`` bytes), fit for a terminal."""
        text = bytes(self._printed).decode("utf-8", "replace").replace(str(self._directory), ".")
        for token in self.settings.get("tokens", ()):
            text = text.replace(token, "<token>")
        return "".join(c if c in "\n\t" or c.isprintable() else "?" for c in text)

    def wait_until_serving(self, seconds: float) -> tuple[str, Any] | None:
        """None when the child serves; otherwise the kind of problem and its detail."""
        ends = time.monotonic() + seconds
        heard: tuple[str, ...] | None = None
        while (left := ends - time.monotonic()) > 0:
            try:
                said = self._says.get(timeout=left)
            except queue.Empty:
                break
            stage, why, detail = said.get("stage"), said.get("why"), said.get("detail")
            if stage == "isolated" and heard is None and isinstance(said.get("isolation"), list):
                # said before the student's file is read, so the first one is true
                self.isolation = heard = tuple(layer for layer in LAYERS if layer in said["isolation"])
            elif stage == "serving":
                return None
            elif stage == "failed" and isinstance(why, str) and why in WHYS:
                return why, detail if isinstance(detail, str) else ""
            elif stage in ("ended", "closed"):
                self._ended = said
                return self._excess_or_end()
        return "not-started", f"{seconds:g}"

    def ended(self) -> tuple[str, str] | None:
        """The kind of problem and its detail when the child's process ended; else None.

        What is on its way gets a moment to arrive, and no more than that, whatever else arrives.
        """
        assert self._process is not None
        ends = time.monotonic() + LAST_WORDS
        with contextlib.suppress(queue.Empty):
            while (self._ended is None or self._ended["stage"] != "ended") and time.monotonic() < ends:
                said = self._says.get(timeout=0.2)
                if said.get("stage") in ("ended", "closed"):
                    self._ended = said
        if self._excess:
            return self._excess_or_end()
        if self._ended is None or (self._ended["stage"] == "closed" and self._process.poll() is None):
            return None
        return self._excess_or_end()

    def _excess_or_end(self) -> tuple[str, str]:
        return ("too-much-written", self._excess) if self._excess else ("ended", self._how())

    def _how(self) -> str:
        code = (self._ended or {}).get("code")
        if code is None and self._process is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                code = self._process.wait(timeout=1)
        if not isinstance(code, int):
            return "?"
        if code >= 0:
            return f"exit code {code}"
        with contextlib.suppress(ValueError):
            return signal.Signals(-code).name
        return f"signal {-code}"

    # the end of it

    def close(self) -> None:
        """Close the keeper's stdin, which ends everything; insist where it does not. Reap it."""
        process = self._process
        self._closing.set()
        if self._channel is not None:
            self._channel.close()
        if process is not None:
            self._end()
            try:
                process.wait(timeout=STOP)
            except subprocess.TimeoutExpired:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL) if hasattr(os, "killpg") else process.kill()
                process.wait(timeout=STOP)
            for thread in self._threads:
                thread.join(timeout=STOP)
            for pipe in (process.stdout, process.stderr):
                if pipe is not None and not any(t.is_alive() for t in self._threads):
                    pipe.close()
        remove(self._directory)

    def _end(self) -> None:
        """Tell the keeper to end everything; the plain way has none, and is killed."""
        process = self._process
        assert process is not None
        with contextlib.suppress(OSError, ValueError):
            process.stdin.close()  # type: ignore[union-attr]
        if self._portable:
            process.kill()


def excess_of(directory: Path) -> str:
    """What is too much below the folder, or nothing: bytes on disk, entries, a folder out of sight.

    It sees what has a name. An open file that was unlinked has none, and what is written between two
    looks is written.
    """
    size = count = 0
    waiting = [str(directory)]
    while waiting:
        path = waiting.pop()
        try:
            with os.scandir(path) as entries:
                for entry in entries:
                    count += 1
                    if count > MAX_ENTRIES:
                        return f"> {MAX_ENTRIES}"
                    with contextlib.suppress(FileNotFoundError):
                        facts = entry.stat(follow_symlinks=False)
                        size += getattr(facts, "st_blocks", -(-facts.st_size // 512)) * 512
                        if entry.is_dir(follow_symlinks=False):
                            waiting.append(entry.path)
        except OSError as error:
            hidden = error.errno == errno.EACCES and path != str(directory)
            if hidden or error.errno == errno.ENAMETOOLONG:
                return "EACCES" if hidden else "ENAMETOOLONG"
    return f"> {MAX_WRITTEN >> 20} MiB" if size > MAX_WRITTEN else ""


def remove(directory: Path) -> None:
    """Remove the folder, however deep it is and whatever modes it has. Never raises."""
    if os.rename not in os.supports_dir_fd or os.scandir not in os.supports_fd:
        with contextlib.suppress(Exception):
            shutil.rmtree(directory, ignore_errors=True)
        return
    with contextlib.suppress(OSError):
        directory.chmod(0o700)
        top = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            _empty(top)
        finally:
            os.close(top)
        directory.rmdir()


def _empty(top: int) -> None:
    """Empty the folder behind a descriptor: what is in a folder below it is lifted up to it, in turn."""
    lifted = itertools.count()
    prefix = os.urandom(8).hex()
    waiting = _entries(top)
    while waiting:
        name, is_folder = waiting.pop()
        with contextlib.suppress(OSError):
            if not is_folder:
                os.unlink(name, dir_fd=top)
                continue
            os.chmod(name, 0o700, dir_fd=top)
            below = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=top)
            try:
                for child, child_is_folder in _entries(below):
                    if not child_is_folder:
                        os.unlink(child, dir_fd=below)
                        continue
                    os.chmod(child, 0o700, dir_fd=below)
                    up = f"{prefix}{next(lifted)}"
                    os.rename(child, up, src_dir_fd=below, dst_dir_fd=top)
                    waiting.append((up, True))
            finally:
                os.close(below)
            os.rmdir(name, dir_fd=top)


def _entries(folder: int) -> list[tuple[str, bool]]:
    with os.scandir(folder) as entries:
        return [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]


def _lines(pipe: IO[bytes]) -> Iterator[bytes]:
    kept, taken = b"", 0
    while chunk := os.read(pipe.fileno(), 65536):
        taken += len(chunk)
        if taken > MAX_OUTPUT:
            continue
        *lines, kept = (kept + chunk).split(b"\n")
        yield from lines
