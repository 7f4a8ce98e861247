"""What a host gives to a contract's function besides the caller's arguments."""

from __future__ import annotations

from typing import Any

import pytest

from ai_evolution.atdf.bilingual import in_language
from ai_evolution.atdf.contract import Contract
from ai_evolution.errors import UsageError

OPEN = {"tool": {"name": "add", "description": "d", "input": {"properties": {"n": {"type": "integer"}}}}}


def add(n: int, ledger: list[int], **more: Any) -> dict[str, Any]:
    ledger.append(n)
    return {"n": n}


def test_the_function_gets_what_its_host_gives_as_it_is() -> None:
    ledger: list[int] = []
    contract = Contract(OPEN, add).bound(ledger=ledger)
    assert contract.call({"n": 1})["data"] == {"n": 1}
    assert ledger == [1]


def test_a_caller_cannot_send_what_only_the_host_gives() -> None:
    ledger: list[int] = []
    outcome = Contract(OPEN, add).bound(ledger=ledger).outcome({"n": 1, "ledger": []})
    assert outcome.blame == "caller"
    assert outcome.breaches[0].pointer == "/ledger"
    assert ledger == []


def test_a_host_cannot_give_what_is_an_argument_of_the_tool() -> None:
    with pytest.raises(UsageError, match="bound"):
        Contract(OPEN, add).bound(n=1)


def test_a_contract_keeps_the_document_it_was_made_from() -> None:
    assert Contract(OPEN, add).document == OPEN


def test_one_language_is_taken_out_of_two_and_nothing_else_changes() -> None:
    both = {"a": {"en": "one", "es": "uno"}, "b": [{"en": 1, "es": 2, "fr": 3}], "c": None}
    assert in_language(both, "es") == {"a": "uno", "b": [{"en": 1, "es": 2, "fr": 3}], "c": None}
    assert in_language(both, "de")["a"] == "one"
    assert both["a"] == {"en": "one", "es": "uno"}
