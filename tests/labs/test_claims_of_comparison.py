"""Each claim of class 134 can turn out false: a bad peer breaks it, and it alone (the rest).

The runs are spread over three files, so that test workers can share them.
"""

from __future__ import annotations

from typing import Any

import pytest
from labs.bad_peers import BAD_PEERS, MORE

from ai_evolution.labs import run_lab
from ai_evolution.labs.multiagent import CLAIMS

pytestmark = pytest.mark.usefixtures("forked")
MINE = [claim.id for claim in CLAIMS][16:]


@pytest.mark.parametrize("claim", MINE)
def test_a_peer_bad_enough_turns_one_finding_false_and_it_alone(claim: str) -> None:
    report = run_lab("multiagent", 1, peers=BAD_PEERS[claim]())
    assert [item.id for item in report.evidence if not item.holds] == [claim]


@pytest.mark.parametrize(("claim", "cast"), MORE)
def test_a_second_bad_peer_breaks_the_same_claim_and_it_alone(claim: str, cast: Any) -> None:
    report = run_lab("multiagent", 1, peers=cast())
    assert [item.id for item in report.evidence if not item.holds] == [claim]


def test_each_bad_peer_breaks_a_claim_that_exists() -> None:
    assert list(BAD_PEERS) == [claim.id for claim in CLAIMS]
