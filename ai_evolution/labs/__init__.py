"""The labs: ``run_lab(name, seed)`` runs one and returns its evidence, ``verify`` recomputes it."""

from ai_evolution.labs.catalogue import LABS, Lab, Parameter, run_lab
from ai_evolution.labs.verification import Verification, verify

__all__ = ["LABS", "Lab", "Parameter", "Verification", "run_lab", "verify"]
