"""How much a program may use. Numbers only: each sandbox says in ``isolation`` which of them it enforces."""

from __future__ import annotations

from dataclasses import dataclass, fields

from ai_evolution.errors import UsageError


@dataclass(frozen=True, slots=True)
class Limits:
    """What one session of a sandbox may use. All must be positive (UsageError).

    ``seconds`` of wall clock for one run, its tool calls included; ``memory`` bytes of address space or heap
    of each process; ``output`` bytes of printed text that are kept of a run (what comes after is drained
    and thrown away); ``result`` bytes of JSON of one tool result, of one call's arguments or of the run's
    value; ``calls`` of tools in one run; ``at_once``, those that wait for an answer at the same moment, the
    rest queue; ``processes`` and threads inside; ``files``, bytes of temporary files.
    """

    seconds: float = 30.0
    memory: int = 268_435_456
    output: int = 1_000_000
    result: int = 8_388_608
    calls: int = 10_000
    at_once: int = 64
    processes: int = 32
    files: int = 16_777_216

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not value > 0:
                raise UsageError(f"limit {field.name} is {value!r}: it must be greater than 0")
