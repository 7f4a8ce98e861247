"""Runs of the lab among honest peers, made once for all tests of a process."""

from __future__ import annotations

from functools import cache

from ai_evolution.evidence import Report
from ai_evolution.labs import run_lab


@cache
def honest(seed: int = 0, transport: str = "memory", candidates: int = 3) -> Report:
    """The report of a run; the same arguments give the same object."""
    return run_lab("multiagent", seed, transport=transport, candidates=candidates)
