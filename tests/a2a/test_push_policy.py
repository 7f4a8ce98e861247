"""The server calls nobody inside, however the address is dressed up."""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ai_evolution.a2a.addresses import resolve
from ai_evolution.a2a.push import PushPolicy
from ai_evolution.errors import PushRefused, UsageError

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Names:
    """A resolver with a book of its own; each answer is used once, the last one for ever."""

    def __init__(self, **book: list[list[str]]) -> None:
        self.book = {name.replace("_", "."): answers for name, answers in book.items()}
        self.asked: list[str] = []

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked.append(f"{host}:{port}")
        answers = self.book.get(host)
        if answers is None:
            raise OSError("no such host")
        return answers.pop(0) if len(answers) > 1 else answers[0]


def names() -> Names:
    return Names(
        hooks_example=[["93.184.216.34"]],
        inside_example=[["10.0.0.8"]],
        mixed_example=[["93.184.216.34", "127.0.0.1"]],
        mapped_example=[["::ffff:169.254.169.254"]],
        empty_example=[[]],
        junk_example=[["not-an-address"]],
        six_example=[["2606:2800:220:1:248:1893:25c8:1946"]],
        rebinding_example=[["93.184.216.34"], ["127.0.0.1"]],
    )


REFUSED = (
    """
http://169.254.169.254/latest/meta-data/
http://127.0.0.1:22/
file:///etc/passwd
http://[::ffff:10.0.0.1]/
http://0x7f000001/
http://2130706433/
http://0177.0.0.1/
http://127.1/
http://127.0.0.1./
http://0/
http://0x7f.1/
http://0X7F000001/
http://127.0.0.0x1/
http://1.2.3.4.5/
http://256.1.1.1/
http://8.8.8.08/
http://134744072/
http://[::1]/
http://[::]/
http://[::127.0.0.1]/
http://[::ffff:7f00:1]/
http://[64:ff9b::7f00:1]/
http://[64:ff9b:1::1]/
http://[2002:7f00:1::]/
http://[2001:0:7f00:1::1]/
http://[fe80::1]/
http://[fe80::1%25eth0]/
http://[fc00::1]/
http://[fd00:ec2::254]/
http://[fec0::1]/
http://[ff02::1]/
http://[2001:db8::1]/
http://[::1/
http://0.0.0.0/
http://10.1.2.3/
http://172.16.0.1/
http://192.168.1.1/
http://100.64.0.1/
http://100.100.100.200/
http://168.63.129.16/
http://192.0.0.192/
http://192.0.2.1/
http://198.18.0.1/
http://224.0.0.1/
http://240.0.0.1/
http://255.255.255.255/
http://localhost/
http://LOCALHOST./
http://a.localhost/
http://metadata.google.internal/
http://printer.local/
http://inside.example/
http://mixed.example/
http://mapped.example/
http://empty.example/
http://junk.example/
http://unknown.example/
http://user@hooks.example/
http://user:pass@hooks.example/
http://@hooks.example/
http://hooks.example@127.0.0.1/
http://hooks.example\\@127.0.0.1/
http://hooks.example:0/
http://hooks.example:99999/
http://hooks.example:x/
http://hooks .example/
http://ho\toks.example/
http://%31%32%37.0.0.1/
http://①②⑦.0.0.1/
http://hooks..example/
http:///x
http:hooks.example
//hooks.example/
hooks.example
ftp://hooks.example/
gopher://hooks.example/
javascript:alert(1)
data:text/plain,x
""".strip("\n")
    .replace("\\t", "\t")
    .split("\n")
)


@pytest.mark.parametrize(
    "url", [*REFUSED, "", "http://hooks.example/" + "x" * 2048, "http://" + "a" * 300 + ".example/"]
)
async def test_an_address_that_leads_inside_is_refused(url: str) -> None:
    policy = PushPolicy(resolve=names())
    assert await policy(url) is False
    with pytest.raises(PushRefused) as caught:
        await policy.check(url)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("https://hooks.example/a2a?x=1", "93.184.216.34"),
        ("HTTP://Hooks.Example:8080/", "93.184.216.34"),
        ("https://hooks.example./", "93.184.216.34"),
        ("https://six.example/", "2606:2800:220:1:248:1893:25c8:1946"),
        ("http://8.8.8.8/", "8.8.8.8"),
        ("http://[2606:4700::1111]/", "2606:4700::1111"),
    ],
)
async def test_a_public_address_is_accepted_and_the_checked_one_handed_back(url: str, address: str) -> None:
    assert (await PushPolicy(resolve=names()).check(url)).address == address


async def test_every_call_asks_again_so_a_name_that_moved_inside_is_noticed() -> None:
    policy = PushPolicy(resolve=names())
    assert await policy("http://rebinding.example/") is True
    assert await policy("http://rebinding.example/") is False


async def test_a_listed_origin_is_accepted_without_asking_anybody_and_only_that_origin() -> None:
    resolver = names()
    policy = PushPolicy(allow=["http://127.0.0.1:8080", "https://orchestrator.example"], resolve=resolver)
    assert await policy("http://127.0.0.1:8080/hook")
    assert (await policy.check("https://orchestrator.example/x")).address is None
    for other in (
        "http://127.0.0.1:8081/", "https://127.0.0.1:8080/", "http://127.0.0.1/", "http://orchestrator.example/",
        "https://orchestrator.example:444/", "https://user@orchestrator.example/", "http://x@127.0.0.1:8080/",
        "https://orchestrator.example.evil.example/",
    ):  # fmt: skip
        assert not await policy(other), other
    assert all(name.startswith("orchestrator.example") for name in resolver.asked[:1])


async def test_a_resolver_that_never_answers_means_refusal() -> None:
    async def silent(host: str, port: int) -> Sequence[str]:
        await asyncio.Event().wait()
        return []

    assert await PushPolicy(resolve=silent, deadline=0.01)("http://hooks.example/") is False


async def test_the_systems_own_resolver_is_asked_by_default() -> None:
    found = await resolve("localhost", 80)
    assert found
    assert all(ipaddress.ip_address(text).is_loopback for text in found)


@pytest.mark.parametrize("allow", [["hooks.example"], ["file:///x"], [""], "https://hooks.example"])
def test_an_allow_list_of_something_else_than_origins_is_a_usage_error(allow: list[str]) -> None:
    with pytest.raises(UsageError):
        PushPolicy(allow=allow)


@settings(max_examples=150, deadline=None)
@given(address=st.ip_addresses())
def test_no_address_that_is_not_public_passes_as_literal_mapped_or_resolved(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> None:
    host = str(address) if address.version == 4 else f"[{address}]"
    accepted = asyncio.run(PushPolicy(resolve=Names(x_example=[[str(address)]]))(f"http://{host}/"))
    resolved = asyncio.run(PushPolicy(resolve=Names(x_example=[[str(address)]]))("http://x.example/"))
    assert accepted == resolved
    if not address.is_global or address.is_multicast:
        assert not accepted
    if address.version == 4:
        assert asyncio.run(PushPolicy(resolve=names())(f"http://[::ffff:{address}]/")) == accepted
        assert not asyncio.run(PushPolicy(resolve=names())(f"http://{int(address)}/"))
        assert not asyncio.run(PushPolicy(resolve=names())(f"http://{int(address):#x}/"))


@settings(max_examples=200, deadline=None)
@given(
    url=st.text(max_size=30) | st.text("htp:/[]@.%0123456789xabcdef\\ \t", max_size=30).map("http://".__add__)
)
def test_whatever_is_given_as_an_address_the_answer_is_yes_or_no(url: str) -> None:
    assert asyncio.run(PushPolicy(resolve=names())(url)) in (True, False)
