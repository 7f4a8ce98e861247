"""The miniature of KQML (P138): a private translator for every pair, or one common language.

Each party speaks a dialect of its own: another word for the act of asking, other names for
the same three fields. In the private world every client that wants every service writes one
translator a pair; with a common language everybody writes one, to and from it. Nothing here
is computed from a formula: translators are built when a message first needs one, every
message is sent and read back, and what was built is counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random

FIELDS = ("candidate", "consent", "deadline")
COMMON = {"performative": "ask-one", **{name: name for name in FIELDS}}

Dialect = Mapping[str, str]
Utterance = Mapping[str, str]


def dialect(chance: Random, owner: str) -> dict[str, str]:
    """A private language: for each common word the word this owner uses. No two owners share one."""
    return {word: f"{owner}-{chance.randrange(10_000):04d}-{index}" for index, word in enumerate(COMMON)}


def utter(speech: Dialect, content: Utterance) -> dict[str, str]:
    """``content`` (by common field name) said in a dialect, its act under the key ``act``."""
    return {"act": speech["performative"], **{speech[name]: content[name] for name in FIELDS}}


def understand(speech: Dialect, said: Utterance) -> dict[str, str] | None:
    """What a speaker of ``speech`` makes of an utterance; ``None`` when it is not in that dialect."""
    if said.get("act") != speech["performative"] or any(speech[name] not in said for name in FIELDS):
        return None
    return {name: said[speech[name]] for name in FIELDS}


@dataclass
class Translators:
    """The translators that somebody had to write, by the pair of dialects they join."""

    dialects: Mapping[str, Dialect]
    built: set[tuple[str, str]] = field(default_factory=set)

    def translate(self, said: Utterance, source: str, target: str) -> dict[str, str]:
        """``said`` carried over from one dialect to another, by a translator built on first use."""
        self.built.add((source, target))
        old, new = self.dialects[source], self.dialects[target]
        return {"act": new["performative"], **{new[name]: said[old[name]] for name in FIELDS}}


class Hub:
    """A place where all speak through one language. A bad hub does not know it for everybody."""

    def routes(self, client: str, service: str) -> list[tuple[str, str]]:
        """The translations that a message passes through on its way."""
        return [(client, "common"), ("common", service)]


@dataclass(frozen=True)
class Count:
    """What N clients and M services needed, and whether every message arrived with its meaning."""

    clients: int
    services: int
    private: int
    common: int
    understood: bool

    def row(self) -> dict[str, int | bool]:
        """The count as one row of a table."""
        return {
            "clients": self.clients,
            "services": self.services,
            "private": self.private,
            "common": self.common,
            "understood": self.understood,
        }


def count(chance: Random, clients: int, services: int, hub: Hub) -> Count:
    """Let every client ask every service, privately and through ``hub``, and count the translators.

    In the common world a translator serves both directions of one party, so a party counts once.
    """
    askers = [f"client{n}" for n in range(clients)]
    helpers = [f"service{n}" for n in range(services)]
    dialects: dict[str, Dialect] = {name: dialect(chance, name) for name in [*askers, *helpers]}
    dialects["common"] = COMMON
    private, common = Translators(dialects), Translators(dialects)
    understood = True
    for asker in askers:
        for helper in helpers:
            content = {name: f"{name}-{chance.randrange(1000)}" for name in FIELDS}
            direct = private.translate(utter(dialects[asker], content), asker, helper)
            understood &= understand(dialects[helper], direct) == content
            said: dict[str, str] = utter(dialects[asker], content)
            for source, target in hub.routes(asker, helper):
                said = common.translate(said, source, target)
            understood &= understand(dialects[helper], said) == content
    return Count(clients, services, len(private.built), len(common.built), understood)
