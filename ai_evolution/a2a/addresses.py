"""Which addresses a server may be talked into calling: a guard against SSRF.

A push notification makes the server call a URL that a stranger chose (A2A 1.0, section 4.3 and
13; CWE-918). `PushPolicy` accepts public http and https addresses, and whatever its owner has
listed by exact origin. Everything that leads inside is refused: loopback, private, shared,
link-local, metadata, multicast, reserved and unspecified addresses, also in disguise (an IPv4
address inside an IPv6 one, ``0x7f000001``, ``2130706433``, ``0177.0.0.1``, ``127.1``), and names
that resolve to such an address, to none, or not in time.

A name can change its address between the check and the call (DNS rebinding), so `PushPolicy.check`
hands back the address it has checked, and `ai_evolution.a2a.push.PushSender` connects to that one.

What it refuses to do: follow redirects, know about proxies, or vouch for what a listed origin
resolves to: who lists an origin trusts its name.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from ai_evolution.errors import PushRefused, UsageError

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""From a host name and a port to its addresses; raises OSError when there are none."""

MAX_URL = 2_048
_NAME = re.compile(r"(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]{0,62})(\.[a-z0-9_]([a-z0-9_-]{0,62}))*")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_INSIDE = ("localhost", "local", "internal", "localdomain", "home.arpa")
_METADATA = frozenset(
    ipaddress.ip_address(text)
    for text in ("169.254.169.254", "100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::254")
)
"""AWS, Google and others; Alibaba; Azure (a public address); Oracle; AWS over IPv6."""
_UNICAST = ipaddress.IPv6Network("2000::/3")
"""The only IPv6 space that is handed out to the public (RFC 4291); NAT64 and old forms lie outside."""


_ODD: tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...] = (
    ipaddress.IPv4Network("192.0.0.0/24"),
    ipaddress.IPv4Network("192.88.99.0/24"),
    ipaddress.IPv6Network("3fff::/20"),
)
"""Protocol assignments (RFC 6890), the retired 6to4 relays (RFC 7526), documentation (RFC 9637): some
Pythons call them global."""


def origin(url: str) -> str | None:
    """``scheme://host:port`` of an http or https URL, the port always written.

    None for anything else, and for a URL that carries a user name: such a one shares its origin
    with nobody.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except (ValueError, TypeError, AttributeError):
        return None
    if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
        return None
    host = parts.hostname.rstrip(".")
    if not host:
        return None
    host = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{host}:{port or (443 if parts.scheme == 'https' else 80)}"


@dataclass(frozen=True)
class Destination:
    """An accepted webhook. ``address`` is where to connect; None for a listed origin: by its name."""

    url: str
    host: str
    address: str | None


async def resolve(host: str, port: int) -> Sequence[str]:
    """Every address of a name, by the operating system's resolver."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(entry[4][0]) for entry in found]


class PushPolicy:
    """``await policy(url)`` says whether a webhook may be called.

    ``allow`` lists origins (``https://hooks.example``, ``http://127.0.0.1:8080``) that are accepted
    wherever they lead; scheme, host and port must match exactly. ``resolve`` finds the addresses of
    a name, within ``deadline`` seconds.
    """

    def __init__(
        self, allow: Collection[str] = (), *, resolve: Resolve = resolve, deadline: float = 5.0
    ) -> None:
        if isinstance(allow, str):
            raise UsageError(f"allow={allow!r} given, a collection of origins accepted")
        unreadable = [place for place in allow if origin(place) is None]
        if unreadable:
            raise UsageError(f"{unreadable[0]!r} given, an origin such as https://hooks.example accepted")
        self.allow = frozenset(origin(place) for place in allow)
        self._resolve = resolve
        self._deadline = deadline

    async def __call__(self, url: str) -> bool:
        """True when `check` accepts the URL; never raises for a bad one."""
        try:
            await self.check(url)
        except PushRefused:
            return False
        return True

    async def check(self, url: str) -> Destination:
        """Where to connect for this webhook. Raises PushRefused, which says what was wrong."""
        scheme, host, port = _take_apart(url)
        if origin(url) in self.allow:
            return Destination(url, host, None)
        literal = _literal(host)
        if literal is not None:
            _refuse_inside(literal, host)
            return Destination(url, host, str(literal))
        if host in _INSIDE or host.endswith(tuple(f".{suffix}" for suffix in _INSIDE)):
            raise _refused(f"{host} is a name for inside use")
        addresses = await self._addresses(host, port or (443 if scheme == "https" else 80))
        for address in addresses:  # all of them: a name with one public address is not half safe
            _refuse_inside(address, host)
        return Destination(url, host, str(addresses[0]))

    async def _addresses(self, host: str, port: int) -> list[Address]:
        try:
            async with asyncio.timeout(self._deadline):
                found = await self._resolve(host, port)
            addresses = [ipaddress.ip_address(text) for text in dict.fromkeys(found)]
        except (OSError, UnicodeError, ValueError):  # TimeoutError is an OSError
            raise _refused(f"{host} does not resolve") from None
        if not addresses:
            raise _refused(f"{host} does not resolve")
        return addresses


def _refused(why: str) -> PushRefused:
    return PushRefused(f"webhook refused: {why}; a public http or https address is accepted")


def _take_apart(url: str) -> tuple[str, str, int | None]:
    if not isinstance(url, str) or not url or len(url) > MAX_URL:
        raise _refused(f"an address of 1 to {MAX_URL} characters is needed")
    if not url.isascii() or any(ord(char) <= 0x20 or char in "\\\x7f" for char in url):
        # urlsplit drops tabs and newlines, others read a backslash as a slash
        raise _refused("it has a space, a control character, a backslash or a letter outside ASCII")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise _refused("it is no URL") from None
    if parts.scheme not in ("http", "https"):
        raise _refused(f"scheme {parts.scheme[:20]!r}")
    if "@" in parts.netloc:
        raise _refused("it carries a user name")
    host = (host or "").removesuffix(".")
    if port == 0 or not (":" in host or _NAME.fullmatch(host)):
        raise _refused("it has no host name or port that can be called")
    return parts.scheme, host, port


def _literal(host: str) -> Address | None:
    if ":" in host:
        if "%" in host:
            raise _refused("an address with a zone belongs to one machine")
        try:
            return ipaddress.IPv6Address(host)
        except ValueError:
            raise _refused("it is no IPv6 address") from None
    if not _NUMBER.fullmatch(host.rsplit(".", 1)[-1]):
        return None
    try:
        return ipaddress.IPv4Address(host)
    except ValueError:  # 127.1, 0177.0.0.1, 0x7f000001, 2130706433: libraries disagree about them
        raise _refused(f"{host[:40]} is an odd way to write an address") from None


def _refuse_inside(address: Address, host: str) -> None:
    for each in _faces(address):
        if (
            not each.is_global
            or each.is_multicast
            or each.is_reserved
            or each.is_unspecified
            or (isinstance(each, ipaddress.IPv6Address) and each not in _UNICAST)
            or each in _METADATA
            or any(each in network for network in _ODD)
        ):
            raise _refused(f"{host} leads to {each}, which is not public")


def _faces(address: Address) -> list[Address]:
    """The address itself, and the IPv4 addresses that it carries inside (mapped, 6to4, Teredo)."""
    if isinstance(address, ipaddress.IPv4Address):
        return [address]
    if address.ipv4_mapped is not None:
        return [address.ipv4_mapped]
    carried = (address.sixtofour, *(address.teredo or ()))
    return [address, *(inner for inner in carried if inner is not None)]
