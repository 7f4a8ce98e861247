"""The table of task states."""

from __future__ import annotations

import subprocess
import sys

import pytest
from a2a.types import TaskState
from hypothesis import given
from hypothesis import strategies as st

from ai_evolution.a2a import states
from ai_evolution.errors import IllegalTransition

KNOWN = sorted(states.TRANSITIONS)


def test_the_states_are_those_of_the_protocol() -> None:
    assert {*TaskState.keys()} - {"TASK_STATE_UNSPECIFIED"} == set(KNOWN)


def test_every_state_is_active_or_interrupted_or_terminal_and_only_one_of_them() -> None:
    kinds = [states.ACTIVE, states.INTERRUPTED, states.TERMINAL]
    assert frozenset().union(*kinds) == frozenset(KNOWN)
    assert sum(map(len, kinds)) == len(KNOWN)


@given(st.sampled_from(KNOWN), st.sampled_from(KNOWN))
def test_advance_says_what_the_table_says(old: str, new: str) -> None:
    if new in states.TRANSITIONS[old]:
        assert states.advance(old, new) == new
    else:
        with pytest.raises(IllegalTransition) as refused:
            states.advance(old, new)
        assert "\n" not in str(refused.value)
        assert old in str(refused.value)
        assert new in str(refused.value)


@given(st.lists(st.sampled_from(KNOWN), max_size=8))
def test_nothing_follows_a_terminal_state_and_no_work_becomes_unseen_again(path: list[str]) -> None:
    walked: list[str] = []
    for new in path:
        try:
            walked.append(states.advance(walked[-1] if walked else None, new))
        except IllegalTransition:
            continue
    assert all(state not in states.TERMINAL for state in walked[:-1])
    assert states.SUBMITTED not in walked[1:] or set(walked[: walked.index(states.SUBMITTED)]) <= {
        states.SUBMITTED
    }


@given(st.text(max_size=30).filter(lambda name: name not in KNOWN), st.sampled_from([None, *KNOWN]))
def test_a_word_that_is_no_state_is_refused_in_one_line(word: str, old: str | None) -> None:
    with pytest.raises(IllegalTransition) as refused:
        states.advance(old, word)
    assert len(str(refused.value).splitlines()) == 1
    with pytest.raises(IllegalTransition):
        states.advance(word, states.WORKING)


@pytest.mark.parametrize("born", KNOWN)
def test_a_task_may_be_born_in_any_state_but_canceled(born: str) -> None:
    if born == states.CANCELED:
        with pytest.raises(IllegalTransition, match="a new task"):
            states.advance(None, born)
    else:
        assert states.advance(None, born) == born


def test_the_table_can_be_read_without_importing_the_sdk() -> None:
    program = (
        "import sys, ai_evolution.a2a as a2a; a2a.TRANSITIONS; a2a.advance;"
        " print([name for name in sys.modules if name.split('.')[0] in ('a2a', 'starlette', 'httpx')])"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert run.stdout.strip() == "[]"


def test_every_name_of_the_package_can_be_imported() -> None:
    import ai_evolution.a2a as library

    assert {name: getattr(library, name) for name in library.__all__}
    assert set(library.__all__) <= set(dir(library))
    with pytest.raises(AttributeError, match="no_such_room"):
        library.no_such_room  # noqa: B018
