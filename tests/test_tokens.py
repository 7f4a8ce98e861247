"""Token counts come with the name of whoever counted, and never from the network."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_evolution import tokens
from ai_evolution.errors import EnvironmentProblem, UsageError
from ai_evolution.tokens import Estimate, Tiktoken, counter

ROOT = str(Path(__file__).resolve().parents[1])


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        ("hello world", 2),
        # as OpenAI's cookbook prints them
        ("tiktoken is great!", 6),
        ("antidisestablishmentarianism", 6),
        ("2 + 2 = 4", 7),
        ("お誕生日おめでとう", 9),
        ("<|endoftext|>", 7),  # not the one special token that it spells
    ],
)
def test_cl100k_counts_what_its_vocabulary_says(text: str, count: int) -> None:
    assert Tiktoken().count(text) == count


@pytest.mark.parametrize(("text", "count"), [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("ñandú", 2)])
def test_the_estimate_is_a_quarter_of_the_bytes_and_says_so(text: str, count: int) -> None:
    assert Estimate().count(text) == count
    assert "estimate" in Estimate().name
    assert not Estimate().exact


@given(st.text(st.characters(), max_size=60))
def test_any_text_is_counted_even_half_of_a_surrogate_pair(text: str) -> None:
    for one in (Tiktoken(), Estimate()):
        assert one.count(text) >= bool(text)


def test_without_a_name_the_real_tokenizer_is_taken() -> None:
    assert counter().name == "cl100k_base"
    assert counter("estimate").name == Estimate.name


def test_an_unknown_counter_is_refused_with_those_that_are_known() -> None:
    with pytest.raises(UsageError, match=r"'claude'; accepted: cl100k_base, estimate"):
        counter("claude")


@pytest.mark.parametrize("missing", ["tiktoken", "tiktoken_ext"])
def test_without_the_packages_the_estimate_stands_in_only_when_nobody_asked_by_name(
    missing: str,
) -> None:
    script = (
        f"import sys; sys.path.insert(0, {ROOT!r}); sys.modules[{missing!r}] = None\n"
        "from ai_evolution.tokens import counter\n"
        "print(counter().name)\n"
        "try: counter('cl100k_base')\n"
        "except Exception as e: print(type(e).__name__)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.splitlines() == [Estimate.name, EnvironmentProblem.__name__]


def test_counting_asks_no_network() -> None:
    script = (
        f"import sys, socket; sys.path.insert(0, {ROOT!r})\n"
        "def refuse(*a, **k): sys.exit('the network was asked')\n"
        "socket.socket.connect = socket.create_connection = socket.getaddrinfo = refuse\n"
        "from ai_evolution.tokens import counter\n"
        "print(counter('cl100k_base').count('hello world'))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "2\n", "")


def test_the_module_stands_on_the_errors_alone() -> None:
    source = Path(tokens.__file__).read_text(encoding="utf-8")
    ours = [line for line in source.splitlines() if "ai_evolution" in line and "import" in line]
    assert ours == ["from ai_evolution.errors import EnvironmentProblem, UsageError"]
