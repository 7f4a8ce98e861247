"""The suite's own promises, seen to hold: nothing leaves the machine, nothing is left running."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import offline_guard
import pytest

GUARD = Path(offline_guard.__file__).parent
REACH = """
import socket, sys
try:
    socket.create_connection((sys.argv[1], 80), timeout=2)
except OSError as refusal:
    print(refusal)
"""


@pytest.fixture
def forgiven() -> Iterator[list[str]]:
    """The hosts that this test was refused; they are its subject and do not fail it."""
    before = len(offline_guard.REFUSED)
    refused: list[str] = []
    yield refused
    refused += offline_guard.REFUSED[before:]
    del offline_guard.REFUSED[before:]


@pytest.mark.usefixtures("forgiven")
@pytest.mark.parametrize("host", ["169.254.169.254", "10.0.0.1", "8.8.8.8", "::ffff:8.8.8.8", "fe80::1"])
def test_an_address_elsewhere_is_refused_at_once(host: str) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as tcp, pytest.raises(OSError, match="tests are offline"):
        tcp.connect((host, 80))
    with socket.socket(family, socket.SOCK_DGRAM) as udp, pytest.raises(OSError, match="tests are offline"):
        udp.sendto(b"", (host, 53))


@pytest.mark.usefixtures("forgiven")
def test_a_name_is_not_looked_up() -> None:
    with pytest.raises(socket.gaierror, match="tests are offline"):
        socket.getaddrinfo("somewhere.else.net", 443)
    with pytest.raises(socket.gaierror, match="tests are offline"):
        socket.gethostbyname("somewhere.else.net")


def test_this_machine_can_be_reached_by_its_names_and_addresses() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        for host in ("127.0.0.1", "localhost", "0x7f.1"):
            socket.create_connection((host, server.getsockname()[1]), timeout=5).close()


def test_a_test_that_reaches_out_or_leaves_a_process_fails(pytester: pytest.Pytester) -> None:
    pytester.makeconftest((GUARD.parent / "conftest.py").read_text(encoding="utf-8"))
    pytester.makepyfile(
        """
        import contextlib, socket, subprocess, sys

        SLEEP = [sys.executable, "-c", "import time; time.sleep(600)"]

        def reach(host):
            with contextlib.suppress(OSError):
                socket.create_connection((host, 80), timeout=1)

        def test_reaches(): reach("10.1.2.3")
        def test_reaches_an_example(): reach("agents.example"); reach("192.0.2.7")
        def test_leaves_a_child():
            subprocess.Popen(SLEEP)
        def test_leaves_an_orphan():
            child = f"import subprocess; subprocess.Popen({SLEEP!r})"
            subprocess.run([sys.executable, "-c", child], check=True)
        """
    )
    outcome = pytester.runpytest_subprocess("-p", "no:cacheprovider", timeout=120)
    if sys.platform == "linux":
        outcome.assert_outcomes(passed=4, errors=3)
        outcome.stdout.fnmatch_lines(["*tried to reach 10.1.2.3*", "*left running: *time.sleep(600)*"])
    else:
        outcome.assert_outcomes(passed=4, errors=1)


def test_python_children_are_offline_too_and_see_no_key() -> None:
    environment = {**os.environ, "SOMEBODYS_API_KEY": "sk-x", "AWS_PROFILE": "x", "PLAIN": "kept"}
    names = ["SOMEBODYS_API_KEY", "AWS_PROFILE", "PLAIN"]
    look = REACH + f"import os; print([name for name in {names} if name in os.environ])"
    done = subprocess.run(
        [sys.executable, "-c", look, "10.0.0.1"],
        env=environment, capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    refusal, kept = done.stdout.splitlines()
    assert "the tests are offline" in refusal
    assert kept == "['PLAIN']"


def test_no_key_is_in_the_environment() -> None:
    assert [name for name in os.environ if offline_guard.SECRET.search(name)] == []
