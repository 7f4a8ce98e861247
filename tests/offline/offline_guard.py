"""Refuses every connection and name look-up that would leave this machine, and hides every key.

``install()`` is called by the root ``conftest.py`` for the process of the tests, and by ``sitecustomize.py``
beside this file, through PYTHONPATH, for every Python that a test starts (peers, labs, notebook kernels).

It is an audit hook (PEP 578), which sees what any Python code asks of a socket and can't be taken out again.
What it does not see: a program that is no Python, a Python started with ``-I`` or ``-E``, and C code with its
own sockets (ZeroMQ, which the notebook kernels use on loopback).

A refusal looks like the real thing, a network that can't be reached or a name that can't be found, so that
code under test does what it would do offline. It is also kept in ``REFUSED``, and a test that caused one
fails (``tests/conftest.py``), unless the address belongs to those that are reserved for examples.
"""

from __future__ import annotations

import errno
import ipaddress
import os
import re
import socket
import sys
from typing import Any

REFUSED: list[str] = []
SECRET = re.compile(r"(_KEY|_TOKEN|_SECRET|_PASSWORD|_CREDENTIALS)$|^AWS_", re.IGNORECASE)
EXAMPLE_NAMES = (".test", ".example", ".invalid", "example.com", "example.org", "example.net")
EXAMPLE_NETWORKS = [
    ipaddress.ip_network(n) for n in ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32")
]
_installed = False


def install() -> None:
    """Close the door, once for the life of this process; children get it through PYTHONPATH."""
    global _installed
    for name in [name for name in os.environ if SECRET.search(name)]:
        del os.environ[name]
    here = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 (start-up of every child: no pathlib)
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if here not in paths:
        os.environ["PYTHONPATH"] = os.pathsep.join([here, *filter(None, paths)])
    if not _installed:
        _installed = True
        sys.addaudithook(_watch)


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    if not event.startswith("socket."):
        return
    if event in {"socket.connect", "socket.sendto", "socket.sendmsg"}:
        address = arguments[1]
        if isinstance(address, tuple) and not is_loopback(str(address[0])):
            _refuse(str(address[0]))
            raise OSError(errno.ENETUNREACH, f"the tests are offline: {address[0]} is not this machine")
    elif event in {"socket.getaddrinfo", "socket.gethostbyname"}:
        host = arguments[0].decode() if isinstance(arguments[0], bytes) else arguments[0]
        if host and not needs_no_look_up(host):
            _refuse(host)
            raise socket.gaierror(socket.EAI_NONAME, f"the tests are offline: {host} is not looked up")


def _refuse(host: str) -> None:
    if not is_example(host):
        REFUSED.append(host)


def is_loopback(host: str) -> bool:
    """Whether a connection to this address stays on this machine."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host == "localhost"
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback


def needs_no_look_up(host: str) -> bool:
    """Whether a host is an address in any notation, this machine's own name, or a name for loopback."""
    if host in {"localhost", socket.gethostname()} or host.endswith(".localhost"):
        return True
    try:
        ipaddress.ip_address(host)
    except ValueError:
        try:
            socket.inet_aton(host)  # 0x7f.1 and its like
        except OSError:
            return False
    return True


def is_example(host: str) -> bool:
    """Whether nobody can ever be there (RFC 2606, RFC 5737, RFC 3849)."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host.lower().rstrip(".").endswith(EXAMPLE_NAMES)
    return any(address in network for network in EXAMPLE_NETWORKS)
