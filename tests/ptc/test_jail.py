"""The process jail: the walls from inside, the command line, and why it may not work."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from rungs import answer, run, sandbox, session

from ai_evolution.errors import SandboxUnavailable
from ai_evolution.ptc import Limits, Session, pick
from ai_evolution.ptc.sandboxes import jail

MB = 1 << 20


@pytest.fixture(autouse=True)
def _usable() -> None:
    sandbox("jail")


def test_what_the_inside_sees_of_the_machine() -> None:
    code = """
import os, resource
status = dict(line.split(':', 1) for line in open('/proc/self/status'))
{
    "root": sorted(os.listdir("/")),
    "environment": sorted(set(os.environ) - {"LC_CTYPE"}),
    "capabilities": status["CapBnd"].strip() + status["CapEff"].strip(),
    "new privileges": status["NoNewPrivs"].strip(),
    "processes": [p for p in os.listdir("/proc") if p.isdigit()],
    "network": [line.split(":")[0].strip() for line in open("/proc/net/dev") if ":" in line],
    "host": os.uname().nodename,
    "home": os.getcwd(),
    "user": os.getuid() != 0,
    "limits": [resource.getrlimit(r)[1] for r in
               (resource.RLIMIT_AS, resource.RLIMIT_NPROC, resource.RLIMIT_FSIZE, resource.RLIMIT_CORE)],
}
"""
    seen = run("jail", code, limits=Limits(memory=200 * MB, processes=8, files=MB)).value
    assert set(seen["root"]) <= {"bin", "dev", "etc", "lib", "lib64", "proc", "runner.py", "tmp", "usr"}
    assert seen["environment"] == ["PATH", "PWD"]
    assert set(seen["capabilities"]) == {"0"}
    assert seen["new privileges"] == "1"
    assert len(seen["processes"]) == 2  # bubblewrap's reaper and the program
    assert (seen["network"], seen["host"], seen["home"], seen["user"]) == (["lo"], "sandbox", "/tmp", True)
    assert seen["limits"] == [200 * MB, 8, MB, 0]


def test_only_its_small_tmp_can_be_written() -> None:
    code = """
import os
written = []
for path in "/x /dev/x /dev/shm/x /usr/x /etc/x /runner.py /proc/sys/kernel/hostname /tmp/x".split():
    try:
        open(path, "w").write("x")
        written.append(path)
    except OSError:
        pass
size = 0
try:
    for n in range(8):
        with open(f"/tmp/{n}", "wb") as file:
            size += file.write(bytes(1 << 19))
except OSError:
    pass
written, size <= 1 << 20
"""
    assert run("jail", code, limits=Limits(files=MB)).value == [["/tmp/x"], True]


def test_no_process_of_the_inside_survives_the_session() -> None:
    """A daemon in a session of its own, which a signal to our group would miss."""
    code = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(600)
    os._exit(0)
open('/proc/self/stat').read().split()[0]
"""
    before = processes()

    async def go(opened: Session) -> int:
        await opened.run(code, answer)
        return len(processes() - before)

    assert session("jail", go) >= 3
    deadline = time.monotonic() + 10
    while processes() - before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert processes() - before == set()


def processes() -> set[int]:
    """Living ones of this machine that run our runner, or bubblewrap around it."""
    found = set()
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and b"/runner.py" in (folder / "cmdline").read_bytes():
                found.add(int(folder.name))
        except OSError:
            continue
    return found


def test_a_program_s_process_that_died_between_runs_is_replaced() -> None:
    async def go(opened: Session) -> Any:
        ended = await opened.run("import threading, os\nthreading.Timer(0.05, os._exit, [1]).start()", answer)
        assert ended.ok
        while not opened._child.over:  # type: ignore[attr-defined]  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        return (await opened.run("1 + 1", answer)).value

    assert session("jail", go) == 2


def test_a_fork_bomb_is_stopped_at_its_limit_and_other_sessions_have_their_own() -> None:
    code = """
import os, time
born = 0
try:
    while born < 100:
        if os.fork() == 0:
            time.sleep(600)
            os._exit(0)
        born += 1
except OSError:
    pass
born
"""

    async def go(first: Session) -> tuple[Any, Any]:
        async with await pick("jail").open((), Limits(processes=12)) as second:
            return (await first.run(code, answer)).value, (await second.run(code, answer)).value

    one, two = session("jail", go, Limits(processes=12))
    assert 0 < one < 12
    assert 0 < two < 12


def test_a_bomb_in_a_finalizer_does_not_outlive_the_deadline() -> None:
    code = """
class Bomb:
    def __del__(self):
        while True: pass
b = Bomb()
"""
    assert run("jail", code, "del b", limits=Limits(seconds=0.5)).ended == "timeout"


def test_the_jail_dies_with_its_host() -> None:
    script = """
import asyncio
from ai_evolution.ptc import pick
async def main():
    session = await pick("jail").open(())
    print("up", flush=True)
    await session.run("while True: pass", None)
asyncio.run(main())
"""
    before = processes()
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as host:
        assert host.stdout is not None
        assert host.stdout.readline() == b"up\n"
        assert processes() - before
        host.send_signal(signal.SIGKILL)
        host.wait(30)
    deadline = time.monotonic() + 10
    while processes() - before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert processes() - before == set()


def test_the_command_line_to_the_letter() -> None:
    limits = Limits(memory=1000, processes=5, files=2000)
    expected = """
        /usr/bin/bwrap --unshare-all --unshare-user --disable-userns --die-with-parent --new-session
        --clearenv --setenv PATH /usr/bin --cap-drop ALL --hostname sandbox
        --ro-bind /usr /usr --symlink usr/lib /lib --symlink usr/lib64 /lib64 --symlink usr/bin /bin
        --ro-bind-try /etc/ld.so.cache /etc/ld.so.cache --proc /proc --dev /dev
        --size 2000 --tmpfs /tmp --ro-bind-data 7 /runner.py --chdir /tmp
        --remount-ro /dev --remount-ro /
        /usr/bin/prlimit --as=1000 --nproc=5 --fsize=2000 --nofile=64 --core=0 --
        /usr/bin/python3 -I -S -u /runner.py
    """
    assert jail.command("/usr/bin/bwrap", "/usr/bin/python3", limits, 7) == expected.split()


def test_as_root_the_program_is_nobody() -> None:
    if os.geteuid() != 0:
        pytest.skip("only root has another user to become")
    assert run("jail", "import os\n[os.getuid(), os.getgid(), os.getgroups()]").value == [65_534, 65_534, []]


@pytest.mark.parametrize("lacking", ["bwrap", "prlimit"])
def test_a_missing_part_is_named_with_what_would_help(lacking: str, monkeypatch: pytest.MonkeyPatch) -> None:
    which = shutil.which
    monkeypatch.setattr(shutil, "which", lambda name: None if name == lacking else which(name))
    with pytest.raises(SandboxUnavailable, match=f"needs {lacking}, not found") as info:
        asyncio.run(pick("jail").open(()))
    assert "apt-get install bubblewrap" in info.value.help
