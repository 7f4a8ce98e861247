"""The labs: ``run_lab(name, seed)`` runs one and returns its evidence, ``verify`` recomputes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ai_evolution.labs.catalogue import LABS, Lab, Parameter, run_lab

if TYPE_CHECKING:
    from ai_evolution.labs.verification import Verification, verify

__all__ = ["LABS", "Lab", "Parameter", "Verification", "run_lab", "verify"]


def __getattr__(name: str) -> Any:
    """``verify`` and ``Verification`` on first use: asking for help needs no model of the evidence."""
    if name in ("Verification", "verify"):
        from ai_evolution.labs import verification

        return getattr(verification, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
