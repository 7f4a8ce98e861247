"""Full CPython in a process jail: bubblewrap for the walls, prlimit for the sums. Linux.

What the inside gets: its own user, process, network, IPC and host-name namespaces (no address but its own
loopback), ``/usr`` read-only, its own ``/proc``, a small ``/dev``, and a ``/tmp`` of ``limits.files`` bytes,
which is all that it can write. No environment, no capability, no way to make another user namespace, a
process group that ends with us. As root we become ``nobody`` first: the kernel exempts root from the limit
on processes.

Two choices that a reader may stumble over. prlimit runs *inside* the namespaces: the limit on processes is
counted for each user namespace, while set outside it would count every process of this user on the machine.
The root of the jail and its ``/dev`` are file systems in memory without a size: they are made read-only
last, or they would be a second, unlimited ``/tmp``.

What is not promised: memory is limited for each process and not for all together (at most
``limits.processes`` times ``limits.memory``), and the kernel is the machine's own. For code by people who
would spend an exploit on you, take a virtual machine.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

from ai_evolution.errors import SandboxUnavailable
from ai_evolution.ptc.limits import Limits
from ai_evolution.ptc.process import RUNNER, Launch, ProcessSession
from ai_evolution.ptc.sandbox import ToolStub

NOBODY = 65_534
OPEN_FILES = 64
HELP = (
    "install bubblewrap (Debian: apt-get install bubblewrap util-linux) and allow user namespaces "
    "(sysctl kernel.unprivileged_userns_clone=1, kernel.apparmor_restrict_unprivileged_userns=0)"
)


class JailSandbox:
    """bubblewrap and prlimit. ``python`` is the interpreter inside, which must lie below /usr."""

    name = "jail"
    isolation: Mapping[str, bool] = MappingProxyType(
        {"network": True, "files": True, "processes": True, "memory": True, "time": True}
    )

    def __init__(self, python: str | None = None) -> None:
        self._python = python

    async def open(self, tools: Sequence[ToolStub], limits: Limits = Limits()) -> ProcessSession:  # noqa: B008
        """A jail of its own. SandboxUnavailable when a part is missing or the kernel doesn't let us."""
        if sys.platform != "linux":
            raise SandboxUnavailable(
                "sandbox jail needs Linux: its walls are namespaces", "use monty or docker"
            )
        python = self._python or interpreter()
        found = {name: shutil.which(name) for name in ("bwrap", "prlimit", "setpriv")}
        root = os.geteuid() == 0
        needed = [name for name in found if root or name != "setpriv"]
        if missing := [name for name in needed if found[name] is None]:
            raise SandboxUnavailable(f"sandbox jail needs {', '.join(missing)}, not found on PATH", HELP)
        prefix = [found["setpriv"] or "", *as_nobody()] if root else []

        @contextmanager
        def launch() -> Iterator[Launch]:
            with _source() as fd:
                argv = [*prefix, *command(found["bwrap"] or "bwrap", python, limits, fd)]
                yield Launch(argv, {}, (fd,))

        return await ProcessSession(self.name, launch, tools, limits, end=_end_inside, help=HELP).start()


def as_nobody() -> list[str]:
    """What setpriv is given when we are root."""
    return ["--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups"]


def command(bwrap: str, python: str, limits: Limits, source: int) -> list[str]:
    """The command line of a jail; the runner's text is read from the descriptor ``source``."""
    return [
        *[bwrap, "--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--new-session"],
        *["--clearenv", "--setenv", "PATH", "/usr/bin", "--cap-drop", "ALL", "--hostname", "sandbox"],
        *["--ro-bind", "/usr", "/usr", "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64"],
        *["--symlink", "usr/bin", "/bin", "--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache"],
        *["--proc", "/proc", "--dev", "/dev", "--size", str(limits.files), "--tmpfs", "/tmp"],
        *["--ro-bind-data", str(source), "/runner.py", "--chdir", "/tmp"],
        *["--remount-ro", "/dev", "--remount-ro", "/"],
        *["/usr/bin/prlimit", f"--as={limits.memory}", f"--nproc={limits.processes}"],
        *[f"--fsize={limits.files}", f"--nofile={OPEN_FILES}", "--core=0", "--"],
        *[python, "-I", "-S", "-u", "/runner.py"],
    ]


def interpreter() -> str:
    """A Python below /usr: this one, or the system's. SandboxUnavailable when there is none."""
    own = os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)
    for path in (own, "/usr/bin/python3", "/usr/local/bin/python3"):
        if path.startswith("/usr/") and os.access(path, os.X_OK):
            return path
    raise SandboxUnavailable(
        "sandbox jail needs a Python below /usr", "Debian: apt-get install python3-minimal"
    )


@contextmanager
def _source() -> Iterator[int]:
    """A descriptor from which the runner's text can be read once: who is nobody can't read our files."""
    read, write = os.pipe()
    try:
        os.write(write, RUNNER.read_bytes())  # shorter than a pipe is deep, so this never waits
        os.close(write)
        yield read
    finally:
        os.close(read)


def _end_inside(pid: int) -> None:
    """Kill process 1 of the jail, so that bubblewrap itself sees its end, and reaps it.

    Killed together with the jail, bubblewrap would leave it to the machine's init, which in a container is
    often a program that waits for nobody.
    """
    with contextlib.suppress(OSError):
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(int(child), signal.SIGKILL)
