"""The one door for chance, time and identifiers."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_evolution.world import EPOCH, World

DRAW = "from ai_evolution.world import World; w = World('x', 7); print(w.random.random(), w.uuid())"


@given(st.text(max_size=20), st.integers(0, 2**53 - 1))
def test_the_same_name_and_seed_give_the_same_world(name: str, seed: int) -> None:
    one, other = World(name, seed), World(name, seed)
    assert one.random.random() == other.random.random()
    assert one.uuid() == other.uuid()
    assert one.fork("a").uuid() == other.fork("a").uuid()


def test_another_seed_another_name_and_a_fork_are_other_worlds() -> None:
    draws = {World("a", 1).uuid(), World("a", 2).uuid(), World("b", 1).uuid(), World("a", 1).fork("b").uuid()}
    assert len(draws) == 4


def test_one_more_name_moves_no_number() -> None:
    plain, named = World("a", 1), World("a", 1)
    named.uuid()
    named.id("task")
    assert plain.random.random() == named.random.random()


def test_hash_seed_time_zone_and_locale_move_nothing() -> None:
    seen = set()
    for extra in ({"PYTHONHASHSEED": "0"}, {"PYTHONHASHSEED": "99", "TZ": "Asia/Tokyo", "LC_ALL": "C"}):
        done = subprocess.run(
            [sys.executable, "-c", DRAW],
            env={**os.environ, **extra},
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        seen.add(done.stdout)
    assert len(seen) == 1


def test_simulated_time_starts_at_the_epoch_and_only_moves_forward() -> None:
    world = World("a")
    assert world.now() == EPOCH
    assert (world.tick(2.5) - EPOCH).total_seconds() == 2.5
    with pytest.raises(ValueError, match="zero or more"):
        world.tick(-1)


def test_identifiers_are_unique_and_uuids_are_of_version_4() -> None:
    world = World("a")
    assert [world.id("task"), world.id("task"), world.id("message")] == ["task-1", "task-2", "message-1"]
    assert uuid.UUID(world.uuid()).version == 4
