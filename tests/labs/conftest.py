"""``forked``: the lab's other process without its imports, for tests that run the lab many times."""

from __future__ import annotations

import dataclasses
import multiprocessing
import sys
from collections.abc import Iterator

import pytest

from ai_evolution.labs import LABS


@pytest.fixture
def forked(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fork it, on Linux; the test fails when it is still there afterwards."""
    if sys.platform != "linux":  # forking a process that has loaded system libraries is not safe elsewhere
        yield
        return
    from labs.forked import Forked

    known = multiprocessing.active_children()
    changed = dataclasses.replace(LABS["multiagent"], begin=Forked)
    monkeypatch.setitem(LABS, "multiagent", changed)  # type: ignore[arg-type]
    yield
    assert [child for child in multiprocessing.active_children() if child not in known] == []
