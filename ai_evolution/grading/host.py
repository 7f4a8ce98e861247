"""The process in which a student's file runs: ``python -I -m ai_evolution.grading.host``.

Three roles, from outside to inside. The *parent* (``child.py``, ``exercise.py``) judges from outside and
keeps the verdict; nothing here can reach it. The *keeper* (this file, trusted) starts the worker, waits until
it ends or until the parent closes the keeper's stdin (which the kernel does when the parent dies),
then kills and reaps everything that is left and says how the worker ended. The *worker* lowers its
rights and only then reads the student's file, calls ``build`` and serves the result in one of three rooms, at
a door that the parent opened: an ``agent`` speaks HTTP on a listening socket, so does an MCP ``server``, a
``tool`` answers lines of JSON on a pair of sockets (``bench.py``).

The worker gets what the machine offers, and says what it got (``isolation``):

* always on POSIX: its own session, stdin closed, no environment, limits on CPU time, memory, file
  size, open files; on Linux on the number of processes too;
* ``network``, ``processes``: namespaces of its own, where the kernel lets us make them;
* ``user``: the user ``nobody``, only when we are root (and nobody may read this Python installation;
  a root without capabilities otherwise);
* ``files``: Landlock: it reads the Python installation, the system's libraries and settings, writes its own
  directory, opens no TCP connection, and (kernel 6.12) signals nobody outside.

What is left, most of it where ``user`` is missing, as it is whenever an ordinary user starts the check:
Landlock does not stop chmod, utime or extended attributes, so the agent can change the modes and times
of that user's own files (not read or write them); nor does it stop UNIX sockets that have a path, behind
which that user's services listen. In its own directory the parent ends it above 64 MiB or 20 000 entries,
some tenths of a second late, and without seeing open files that were unlinked.

A student on a machine with none of these runs their own code as themselves, as ever. It refuses to
be a sandbox for code by unknown people on a machine with secrets: use a container for that.

Protocol: one JSON line on stdin; JSON lines on stdout (``stage``: isolated, before the student's file is
read; serving, failed, ended); whatever the worker prints comes out of stderr.
"""

from __future__ import annotations

import contextlib
import ctypes
import inspect
import io
import json
import logging
import os
import select
import signal
import socket
import sys
import traceback
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ai_evolution.grading.bench import Bench

MEMORY = 1 << 30
FILE_SIZE = 16 << 20
OPEN_FILES = 256
PROCESSES = 64
SETTINGS = (
    "alternatives", "ca-certificates", "crypto-policies", "group", "host.conf", "hosts", "ld.so.cache",
    "ld.so.conf", "ld.so.conf.d", "locale.alias", "localtime", "mime.types", "nsswitch.conf", "passwd",
    "pki/ca-trust", "pki/tls/certs", "pki/tls/openssl.cnf", "protocols", "resolv.conf", "services",
    "ssl/certs", "ssl/openssl.cnf", "timezone",
)  # fmt: skip
"""Of ``/etc``, what Python's libraries look at. The rest (``shadow``, private keys) is open to a root without
capabilities, its owner, and what the agent prints ends in the student's feedback."""

CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET, CLONE_NEWIPC = 0x10000000, 0x20000000, 0x40000000, 0x08000000
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 1, 36, 38


def main() -> int:
    config = json.loads(_line(0))
    status = os.dup(1)
    if not hasattr(os, "fork") or config["portable"]:
        os.dup2(2, 1)
        return _work(config, status, [])
    if config["room"] in ("agent", "server"):
        import uvicorn  # noqa: F401  before any right is lost, and once for all
    if config["room"] == "server":
        import ai_evolution.mcp.server  # noqa: F401

    isolation: list[str] = []
    if _unshare():
        isolation += ["network", "processes"]
        # the next child is process 1 of its own world: when it ends, the kernel ends all the rest
        child = os.fork()
        if child:
            return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    _keep(config, status, isolation)
    return 0


def _line(fd: int) -> bytes:
    line = b""
    while not line.endswith(b"\n") and (more := os.read(fd, 65536)):
        line += more
    return line


# --- keeper ----------------------------------------------------------------------------------


def _keep(config: dict[str, Any], status: int, isolation: list[str]) -> None:
    """Start the worker, wait for its end or the parent's, leave nothing running, say how it ended."""
    worker = os.fork()
    if worker == 0:
        code = 70
        try:
            os.setsid()
            _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            with Path(os.devnull).open("rb") as nothing:
                os.dup2(nothing.fileno(), 0)
            os.dup2(2, 1)
            code = _work(config, status, isolation)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    os.close(config["listen"])
    ended = None
    while ended is None:
        readable, _, _ = select.select([0], [], [], 0.05)
        if readable and not os.read(0, 4096):
            break
        ended = _reap(worker)
    _kill_all(worker)
    while (more := _reap(worker, block=True)) is not None:
        ended = more if more != -1 else ended
    _say(status, {"stage": "ended", "code": ended})


def _reap(worker: int, block: bool = False) -> int | None:
    """Reap one child. The worker's exit code (negative: a signal), -1 for another's, None for none."""
    try:
        pid, state = os.waitpid(-1, 0 if block else os.WNOHANG)
    except ChildProcessError:
        return None
    if pid == 0:
        return None
    if block:
        _kill_all(worker)  # whoever lost a parent just now is our child, and new to us
    if pid != worker:
        return -1 if block else _reap(worker)
    return os.waitstatus_to_exitcode(state)


def _kill_all(worker: int) -> None:
    if os.getpid() == 1:
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(worker, signal.SIGKILL)
    for pid in _children(os.getpid()):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


def _children(parent: int) -> Iterator[int]:
    """Direct children, on Linux. Orphans become ours (we are their reaper), so this finds all in turn."""
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            fields = entry.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            if int(fields[1]) == parent:
                yield int(entry.parent.name)


def _say(status: int, what: dict[str, Any]) -> None:
    with contextlib.suppress(OSError):
        os.write(status, (json.dumps(what) + "\n").encode())


# --- rights ----------------------------------------------------------------------------------


def _libc() -> Any:
    return ctypes.CDLL(None, use_errno=True)


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        _libc().prctl(option, value, 0, 0, 0)


def _unshare() -> bool:
    """Namespaces of our own for network, processes and IPC (and users, when we are not root)."""
    if sys.platform != "linux":
        return False
    flags = CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC
    return bool(_libc().unshare(flags if os.geteuid() == 0 else flags | CLONE_NEWUSER) == 0)


def _limit(seconds: int) -> None:
    import resource

    limits = {
        "RLIMIT_CPU": seconds,
        "RLIMIT_AS": MEMORY,
        "RLIMIT_FSIZE": FILE_SIZE,
        "RLIMIT_NOFILE": OPEN_FILES,
        "RLIMIT_CORE": 0,
    }
    if sys.platform == "linux":
        limits["RLIMIT_NPROC"] = PROCESSES + _threads_of(_nobody() if os.geteuid() == 0 else os.geteuid())
    for name, value in limits.items():
        kind = getattr(resource, name)
        _, hard = resource.getrlimit(kind)
        wanted = value if hard == resource.RLIM_INFINITY else min(value, hard)
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(kind, (wanted, wanted))


def _threads_of(uid: int) -> int:
    count = 0
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if entry.stat().st_uid == uid:
                count += sum(1 for _ in (entry / "task").iterdir())
    return count


def _nobody() -> int:
    import pwd

    try:
        return pwd.getpwnam("nobody").pw_uid
    except KeyError:
        return 65534


def _become_nobody(directory: Path) -> bool:
    """Give the directory to nobody and become nobody, unless nobody could not read this Python."""
    if os.geteuid() != 0:
        return False
    uid = _nobody()
    try:
        os.seteuid(uid)
        for name in ("os", "uvicorn", "ai_evolution"):
            if name in sys.modules:
                with Path(str(sys.modules[name].__file__)).open("rb"):
                    pass
    except OSError:
        return False
    finally:
        os.seteuid(0)
    for path in (directory, *directory.iterdir()):
        os.chown(path, uid, uid)
    os.setgroups([])
    os.setgid(uid)
    os.setuid(uid)
    return True


def _drop_capabilities() -> None:
    """A root that can do nothing special (where we could not become nobody): capset(2), all empty."""
    if sys.platform == "linux":
        header = (ctypes.c_uint32 * 2)(0x20080522, 0)
        _libc().capset(header, (ctypes.c_uint32 * 6)())


def _landlock(writable: Path) -> bool:
    """Landlock (landlock(7)): reading only what Python needs, writing only ``writable``, no TCP."""
    if sys.platform != "linux":
        return False
    libc = _libc()
    abi = libc.syscall(444, None, 0, 1)
    if abi < 1:
        return False
    rights = (1 << {1: 13, 2: 14, 3: 15, 4: 15}.get(abi, 16)) - 1
    attributes = [rights, 0b11 if abi >= 4 else 0, 0b11 if abi >= 6 else 0]
    attributes = attributes[: 1 if abi < 4 else 2 if abi < 6 else 3]
    ruleset = (ctypes.c_uint64 * len(attributes))(*attributes)
    fd = libc.syscall(444, ruleset, ctypes.sizeof(ruleset), 0)
    if fd < 0:
        return False
    reading, file_only = 0b1101, 0b111 | (rights & ((1 << 14) | (1 << 15)))
    device = 0b110 | (rights & (1 << 15))
    rules = [(path, reading) for path in _readable()] + [(writable, rights)]
    rules += [(Path("/dev") / name, device) for name in ("null", "zero", "urandom", "random")]
    try:
        for path, allowed in rules:
            _allow(libc, fd, path, allowed if path.is_dir() else allowed & file_only)
        return bool(libc.syscall(446, fd, 0) == 0)
    finally:
        os.close(fd)


def _allow(libc: Any, ruleset: int, path: Path, allowed: int) -> None:
    class Beneath(ctypes.Structure):
        _pack_ = 1
        _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))

    try:
        parent = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        libc.syscall(445, ruleset, 1, ctypes.byref(Beneath(allowed, parent)), 0)
    finally:
        os.close(parent)


def _readable() -> list[Path]:
    """The Python installation, its packages, this package, the system's libraries and settings."""
    named = ("/usr", "/lib", "/lib64", "/bin", "/opt", "/nix/store")
    settings = tuple(f"/etc/{name}" for name in SETTINGS)
    found = {Path(p) for p in (*named, *settings, sys.prefix, sys.base_prefix)} | {Path(__file__).parents[1]}
    found |= {Path(p) for p in sys.path if p and ("site-packages" in p or "lib/python" in p)}
    return sorted(p.resolve() for p in found if p.exists())


# --- worker ----------------------------------------------------------------------------------


class _Failed(Exception):
    """The file cannot be served; ``args[0]`` is the stage, ``args[1]`` what happened."""


def _work(config: dict[str, Any], status: int, isolation: list[str]) -> int:
    """Lower the rights, load the file, serve. Returns the exit code; the words go to ``status``."""
    directory = Path(config["directory"])
    source = (directory / "agent").read_bytes()
    os.set_inheritable(status, False)
    if not config["portable"]:
        os.chdir(directory)
        _limit(config["seconds"])
        isolation = isolation + (["user"] if _become_nobody(directory) else [])
        _drop_capabilities()
        _prctl(PR_SET_NO_NEW_PRIVS, 1)
        isolation = isolation + (["files"] if _landlock(directory) else [])
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True, errors="backslashreplace")
    os.environ.clear()
    os.environ.update(config["environment"])
    name = config["name"]
    _say(status, {"stage": "isolated", "isolation": isolation})
    tool = config["room"] == "tool"
    try:
        module = _load(source, name)
        if tool:
            bench = Bench(module)
            _attempt("build", name, bench.build)
            _fit(bench.tool)
        elif config["room"] == "server":
            app = _mcp_app(module, config, name)
        else:
            app = _attempt("build", name, lambda: module.build(config["base_url"], dict(config["tokens"])))
            _fit(app)
    except _Failed as failed:
        _say(status, {"stage": "failed", "why": failed.args[0], "detail": failed.args[1]})
        return 1
    if config["portable"]:
        door = socket.create_server(("127.0.0.1", config["port"]))
    else:
        door = socket.socket(fileno=config["listen"])
    _say(status, {"stage": "serving"})
    os.close(status)
    if not tool:
        return _serve(app, door)
    bench.serve(door.accept()[0] if config["portable"] else door)
    return 0


def _load(source: bytes, name: str) -> Any:
    try:
        code = compile(source, name, "exec", dont_inherit=True)
    except SyntaxError as error:
        raise _Failed("syntax", f"line {error.lineno}: {error.msg}") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise _Failed("syntax", str(error)) from None
    module = types.ModuleType("student_agent")
    module.__file__ = name
    sys.modules["student_agent"] = module
    _attempt("import", name, lambda: exec(code, module.__dict__))
    if not callable(getattr(module, "build", None)):
        raise _Failed("no-build", "")
    return module


def _fit(built: Any) -> None:
    """What ``build`` gave must be something that can be called."""
    if inspect.iscoroutine(built):
        built.close()
    if not callable(built):
        raise _Failed("no-app", type(built).__name__)


def _mcp_app(module: Any, config: dict[str, Any], name: str) -> Any:
    """The server that ``build(fridge)`` gives, as streamable HTTP at ``/mcp``."""
    from mcp.server import MCPServer, Server

    from ai_evolution.grading.fridge import Fridge
    from ai_evolution.mcp.server import http_app

    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    fridge = Fridge(config["fridge"])
    built = _attempt("build", name, lambda: module.build(fridge))
    if inspect.iscoroutine(built):
        built.close()
    if not isinstance(built, MCPServer | Server):
        raise _Failed("no-app", type(built).__name__)
    return _attempt("build", name, lambda: http_app(built))


def _attempt(stage: str, name: str, act: Callable[[], Any]) -> Any:
    try:
        return act()
    except SystemExit as error:
        raise _Failed(stage, f"sys.exit({error.code!r})"[:200]) from None
    except BaseException as error:
        traceback.print_exc()
        lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == name]
        where = f"line {lines[-1]}: " if lines else ""
        raise _Failed(stage, f"{where}{type(error).__name__}: {error}"[:300]) from None


def _serve(app: Any, listener: socket.socket) -> int:
    import uvicorn

    settings: dict[str, Any] = {
        "log_level": "warning",
        "access_log": False,
        "ws": "none",
        "loop": "asyncio",
        "http": "h11",
        "timeout_graceful_shutdown": 1,
    }
    uvicorn.Server(uvicorn.Config(app, **settings)).run(sockets=[listener])
    return 0


if __name__ == "__main__":
    sys.exit(main())
