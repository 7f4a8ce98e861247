"""What every test can rely on: nothing leaves the machine, nothing is left running, nothing is random.

The door to the network is closed by ``conftest.py`` of the root (``tests/offline``).
"""

from __future__ import annotations

import os
import signal
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import offline_guard
import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "ci",
    derandomize=True,  # the same examples in every run
    deadline=None,
    database=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],  # it measures time, and machines are busy
)
settings.load_profile("ci")

RUN = "AI_EVOLUTION_TEST_RUN"
os.environ[RUN] = uuid.uuid4().hex  # inherited: by this we know our children's children too
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # So a shell without a terminal starts what it puts in the background; our children would be deaf too.
    signal.signal(signal.SIGINT, signal.default_int_handler)

GRACE = 5.0
HELPERS = (b"multiprocessing.resource_tracker", b"multiprocessing.forkserver")


@pytest.fixture(autouse=True)
def nothing_leaves_the_machine() -> Iterator[None]:
    """Fail a test that tried to reach another machine, even if the code under test swallowed the refusal."""
    before = len(offline_guard.REFUSED)
    yield
    refused = offline_guard.REFUSED[before:]
    assert not refused, f"tried to reach {', '.join(refused)}"


@pytest.fixture(autouse=True)
def nothing_is_left_running() -> Iterator[None]:
    """Fail a test whose child processes outlive it, also those that were orphaned, and end them.

    Linux alone can tell whose they are; elsewhere nothing is checked.
    """
    before = processes()
    yield
    deadline = time.monotonic() + GRACE
    while left := running(before):
        if time.monotonic() > deadline:
            break
        time.sleep(0.02)  # a child that is on its way out
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert not left, "left running: " + "; ".join(f"{pid} {command}" for pid, command in left.items())


def processes() -> set[int]:
    """The numbers of all processes of this machine."""
    if sys.platform != "linux":
        return set()
    return set(map(int, filter(str.isdigit, os.listdir("/proc"))))  # noqa: PTH208 (hot: twice for each test)


def running(before: set[int]) -> dict[int, str]:
    """Processes that this one started, and theirs, and that were not there before: number -> command line.

    The others are not looked at: on a busy machine that cost a minute of CPU in the whole suite.
    """
    mark, me, found = f"{RUN}={os.environ[RUN]}".encode(), str(os.getpid()), {}
    for pid in processes() - before - {os.getpid()}:
        try:
            state, parent = _read(pid, "stat").rpartition(b") ")[2].split()[:2]
            if parent.decode() == me or mark in _read(pid, "environ"):
                command = _read(pid, "cmdline").replace(b"\0", b" ")
                if not any(helper in command for helper in HELPERS):
                    found[pid] = command.decode(errors="replace").strip() or f"(state {state.decode()})"
        except OSError:
            continue  # it ended meanwhile, or belongs to somebody else
    return found


def _read(pid: int, what: str) -> bytes:
    return Path(f"/proc/{pid}/{what}").read_bytes()
