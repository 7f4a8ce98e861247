"""Whatever pytest runs from this folder, tests or notebooks, runs offline and without a key."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "tests" / "offline"))

import offline_guard

offline_guard.install()
