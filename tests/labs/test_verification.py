"""Recomputing evidence: what was changed is named, whatever it was."""

from __future__ import annotations

import json
from typing import Any

import pytest
from labs.bad_peers import BAD_PEERS
from labs.runs import honest

from ai_evolution.evidence import Report, digest_of, pointer
from ai_evolution.labs import run_lab, verify

pytestmark = pytest.mark.usefixtures("forked")


def leaves(value: Any, path: tuple[object, ...] = ()) -> list[tuple[object, ...]]:
    if isinstance(value, dict) and value:
        return [leaf for key, item in value.items() for leaf in leaves(item, (*path, key))]
    if isinstance(value, list) and value:
        return [leaf for index, item in enumerate(value) for leaf in leaves(item, (*path, index))]
    return [path]


def changed(document: Any, path: tuple[object, ...]) -> Any:
    copy = json.loads(json.dumps(document))
    spot = copy
    for step in path[:-1]:
        spot = spot[step]
    value = spot[path[-1]]
    if isinstance(value, bool):
        spot[path[-1]] = not value
    elif isinstance(value, int):
        spot[path[-1]] = value + 1
    elif value is None:
        spot[path[-1]] = 0
    elif isinstance(value, str):
        spot[path[-1]] = value[:-1] + ("x" if value[-1:] != "x" else "y")
    else:
        spot[path[-1]] = "something"
    return copy


def recomputed(name: str, seed: int, **parameters: int) -> Report:
    assert name == "multiagent"
    return honest(seed, "memory", parameters["candidates"])


def test_verify_accepts_what_the_lab_wrote() -> None:
    assert verify(honest(7)).holds
    assert verify(json.loads(honest(7).to_bytes()), recompute=recomputed).holds


def test_verify_catches_any_single_changed_value_and_names_it() -> None:
    document = honest(7).document()
    shape = {"/schema", "/kind", "/class", "/status"}  # named by the schema or by the catalogue of labs
    refused = 0
    paths = leaves(document)
    for path in paths:
        where = pointer(path)
        if where == "/parameters/candidates":
            continue  # tested below, since it needs a run of its own
        try:
            outcome = verify(changed(document, path), recompute=recomputed)
        except Exception as error:
            refused += 1
            said = str(error)
            assert where in said or where in shape, (where, said)
        else:
            assert outcome.pointer == where, (where, outcome)
    assert len(paths) > 500
    assert refused < 40


def test_verify_names_the_parameter_and_the_seed_that_were_changed() -> None:
    document = honest(7).document()
    fewer = {**document, "parameters": {"candidates": 2}}
    assert verify(fewer, recompute=recomputed).pointer == "/parameters/candidates"
    other = verify({**document, "seed": 8}, recompute=recomputed)
    assert (other.pointer, other.given, other.computed) == ("/seed", 8, 7)


def test_verify_says_which_claims_do_not_hold_in_evidence_that_is_genuine() -> None:
    false = run_lab("multiagent", 1, peers=BAD_PEERS["ways.cost"]())
    outcome = verify(false, recompute=lambda *_args, **_kw: false)
    assert outcome.same
    assert not outcome.holds
    assert "ways.cost" in outcome.says("en")
    assert "ways.cost" in outcome.says("es")


def test_an_edit_whose_digest_was_put_right_is_named_where_it_is() -> None:
    document = honest(7).document()
    document["inputs"]["more"] = 1
    document["digest"] = digest_of(document)
    outcome = verify(document, recompute=recomputed)
    assert outcome.pointer == "/inputs/more"
