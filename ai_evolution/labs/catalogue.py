"""Which labs there are, and the one way to run them.

``LABS`` maps each name to a ``Lab``; its ``load`` function holds a plain import statement, so
that import-linter sees the arrow and asking for help imports no SDK.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import threading
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import ai_evolution
from ai_evolution.errors import LabError, UsageError

if TYPE_CHECKING:
    from ai_evolution.evidence import Claim, Limitation, Record, Report
    from ai_evolution.world import World

MAX_SEED = 2**53 - 1
TRANSPORTS = ("memory", "http")
"""What a lab runs over unless it says otherwise."""


@dataclass(frozen=True)
class Parameter:
    """A whole number that a lab can be run with."""

    name: str
    default: int
    minimum: int
    maximum: int
    en: str
    es: str

    def read(self, given: object) -> int:
        """``given`` (an int, or its decimal text) as a value of this parameter, else ``UsageError``."""
        value = _whole(given)
        if value is None or not self.minimum <= value <= self.maximum:
            raise UsageError(
                f"parameter {self.name} is {given!r}; expected a whole number "
                f"from {self.minimum} to {self.maximum}"
            )
        return value


class LabModule(Protocol):
    """What a lab module states and does."""

    CLAIMS: Sequence[Claim]
    LIMITATIONS: Sequence[Limitation]
    PROTOCOLS: Mapping[str, str]

    @staticmethod
    def run(world: World, *, transport: str, peers: Any, **given: Any) -> AsyncIterator[Record]:
        """Ask the numbered questions and yield one finding for each claim."""
        ...


@dataclass(frozen=True)
class Lab:
    """One lab as it is known before it is loaded."""

    name: str
    class_slug: str
    title: Mapping[str, str]
    load: Callable[[], LabModule]
    parameters: tuple[Parameter, ...] = ()
    transports: tuple[str, ...] = TRANSPORTS
    begin: Callable[[int, str], Any] | None = None
    """What takes long and can begin before the lab is loaded; gets seed and transport, has ``close()``."""

    def read_parameters(self, given: Mapping[str, object]) -> dict[str, int]:
        """Every parameter with its value, defaults filled in. ``UsageError`` for an unknown name."""
        known = {parameter.name: parameter for parameter in self.parameters}
        for name in given:
            if name not in known:
                accepted = ", ".join(known) or "none"
                raise UsageError(f"lab {self.name} has no parameter {name!r}; accepted: {accepted}")
        return {p.name: p.read(given.get(p.name, p.default)) for p in self.parameters}


def _multiagent() -> LabModule:
    from ai_evolution.labs import multiagent

    return multiagent  # type: ignore[return-value]


def _contracts() -> LabModule:
    from ai_evolution.labs import contracts

    return contracts  # type: ignore[return-value]


def _mcp() -> LabModule:
    from ai_evolution.labs import mcp

    return mcp  # type: ignore[return-value]


def _elsewhere(seed: int, transport: str) -> Any:
    from ai_evolution.labs.elsewhere import Elsewhere

    return Elsewhere(seed, transport)


LABS: Mapping[str, Lab] = {
    "contracts": Lab(
        name="contracts",
        class_slug="131-contracts",
        title={
            "en": "Contracts: what do a tool and its caller owe each other, and who is to blame?",
            "es": "Contratos: ¿qué se deben una herramienta y quien la llama, y de quién es la culpa?",
        },
        load=_contracts,
        parameters=(
            Parameter(
                "cases",
                default=60,
                minimum=30,
                maximum=500,
                en="how many broken calls the scripted repairer has to correct",
                es="cuántas llamadas rotas tiene que corregir el reparador guionizado",
            ),
        ),
    ),
    "mcp": Lab(
        name="mcp",
        class_slug="132-mcp",
        title={
            "en": "MCP: how does an agent find and call tools it has never met?",
            "es": "MCP: ¿cómo encuentra un agente herramientas que no conoce, y cómo las llama?",
        },
        load=_mcp,
        transports=("memory", "stdio", "http"),
    ),
    "multiagent": Lab(
        name="multiagent",
        class_slug="134-a2a",
        title={
            "en": "A2A: how do sovereign agents delegate to each other?",
            "es": "A2A: ¿cómo delegan entre sí los agentes soberanos?",
        },
        load=_multiagent,
        begin=_elsewhere,
        parameters=(
            Parameter(
                "candidates",
                default=3,
                minimum=1,
                maximum=8,
                en="how many candidates have their background checked",
                es="a cuántas personas candidatas se les comprueban los antecedentes",
            ),
        ),
    ),
}


def find_lab(name: str) -> Lab:
    """The lab of that name. ``UsageError`` naming the labs there are."""
    if name not in LABS:
        raise UsageError(f"no lab is called {name!r}; there are: {', '.join(LABS)}")
    return LABS[name]


def read_seed(given: object) -> int:
    """A seed (an int or its decimal text) from 0 to 2**53 - 1, else ``UsageError``."""
    value = _whole(given)
    if value is None or not 0 <= value <= MAX_SEED:
        raise UsageError(f"seed is {given!r}; expected a whole number from 0 to {MAX_SEED}")
    return value


def run_lab(
    name: str,
    seed: int | str = 0,
    *,
    transport: str = "memory",
    peers: Any = None,
    progress: Callable[[str], None] | None = None,
    **parameters: object,
) -> Report:
    """Run a lab and return its evidence.

    The same name, seed, parameters and engine version give the same document on any machine
    and over any ``transport`` (``memory`` or ``http``). ``peers`` replaces the cast of the lab:
    the tests use it to show that each claim can turn out false. ``progress`` is called with
    each claim id as its finding comes in. Works inside a running event loop (a notebook) too.

    Raises ``UsageError`` for a name, seed, transport or parameter that is not accepted, and
    ``LabError`` when the lab could not speak at all.
    """
    lab = find_lab(name)
    number = read_seed(seed)
    values = lab.read_parameters(parameters)
    if transport not in lab.transports:
        raise UsageError(f"transport is {transport!r}; expected one of {', '.join(lab.transports)}")
    begun = lab.begin(number, transport) if lab.begin is not None else None
    try:
        return _conducted(lab, number, values, transport, peers, progress, begun)
    finally:
        if begun is not None:
            begun.close()


def _conducted(
    lab: Lab,
    number: int,
    values: Mapping[str, int],
    transport: str,
    peers: Any,
    progress: Callable[[str], None] | None,
    begun: Any,
) -> Report:
    from ai_evolution.evidence import Finding, Measurement, assemble
    from ai_evolution.world import World

    module = _loaded(lab)
    given = {"begun": begun} if begun is not None else {}

    async def conduct() -> list[Record]:
        records: list[Record] = []
        start = time.perf_counter()
        world = World(lab.name, number)
        async for record in module.run(world, transport=transport, peers=peers, **given, **values):
            records.append(record)
            if isinstance(record, Finding) and progress is not None:
                progress(record.claim_id)
        records.append(Measurement("seconds", round(time.perf_counter() - start, 3)))
        return records

    return assemble(
        kind=lab.name,
        class_slug=lab.class_slug,
        seed=number,
        parameters=values,
        engine=ai_evolution.__version__,
        protocols=module.PROTOCOLS,
        claims=module.CLAIMS,
        limitations=module.LIMITATIONS,
        records=_quietly(conduct),
    )


def _loaded(lab: Lab) -> LabModule:
    """The lab's module. The collector rests meanwhile: what an import makes is there to stay."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        return lab.load()
    finally:
        if collecting:
            gc.enable()


def _quietly(conduct: Callable[[], Any]) -> Any:
    """Run to the end without the log lines that the peers write about faults injected on purpose.

    A handler on the root logger keeps Python's handler of last resort from printing warnings. A
    program that has set up logging of its own still gets every record.
    """
    silence = logging.NullHandler()
    logging.getLogger().addHandler(silence)
    try:
        return _to_the_end(conduct)
    finally:
        logging.getLogger().removeHandler(silence)


def _to_the_end(conduct: Callable[[], Any]) -> Any:
    """Run a coroutine to its end: here, or in a thread of its own when a loop is running here."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(conduct())
    outcome: dict[str, Any] = {}

    def work() -> None:
        try:
            outcome["value"] = asyncio.run(conduct())
        except BaseException as error:  # handed to the caller's thread below
            outcome["error"] = error

    thread = threading.Thread(target=work, name="lab", daemon=True)
    thread.start()
    thread.join()
    if "error" in outcome:
        raise outcome["error"]
    if "value" not in outcome:
        raise LabError("the lab ended without a result")
    return outcome["value"]


def _whole(given: object) -> int | None:
    if isinstance(given, bool):
        return None
    if isinstance(given, int):
        return given
    if isinstance(given, str):
        text = given.strip()
        if text.isascii() and text.removeprefix("-").isdigit() and len(text) < 20:
            return int(text)
    return None
