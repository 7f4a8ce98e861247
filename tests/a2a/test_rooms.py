"""Each public name can be the first thing that a program imports."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize("name", ["with_v0_3", "build_app", "connect", "advance", "verify_card"])
def test_a_public_name_can_be_imported_first(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", f"from ai_evolution.a2a import {name}; print({name}.__name__)"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout.strip() == name, done.stderr


def test_a_cheap_room_costs_no_sdk() -> None:
    program = "import sys, ai_evolution.a2a.states; print([m for m in sys.modules if m.startswith('a2a')])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "[]", done.stderr
