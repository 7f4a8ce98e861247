"""Each claim of class 134 can turn out false: a bad peer breaks it, and it alone (the first third).

The runs are spread over three files, so that test workers can share them.
"""

from __future__ import annotations

import pytest
from labs.bad_peers import BAD_PEERS

from ai_evolution.labs import run_lab
from ai_evolution.labs.multiagent import CLAIMS

pytestmark = pytest.mark.usefixtures("forked")
MINE = [claim.id for claim in CLAIMS][:8]


@pytest.mark.parametrize("claim", MINE)
def test_a_peer_bad_enough_turns_one_finding_false_and_it_alone(claim: str) -> None:
    report = run_lab("multiagent", 1, peers=BAD_PEERS[claim]())
    assert [item.id for item in report.evidence if not item.holds] == [claim]
