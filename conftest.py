"""Whatever pytest runs from this folder, tests or notebooks, runs offline and without a key."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "tests" / "offline"))

import offline_guard

pytest_plugins = ["pytester"]  # only a root conftest may say so; the suite tests its own promises with it

offline_guard.install()
