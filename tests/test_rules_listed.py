"""Each rule is in every list of rules of a kind, or left out of it on purpose."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from kantopt.cp import switches
from kantopt.planning.certificates import arrivals
from kantopt.planning.explain import running
from kantopt.planning.later import prefix
from kantopt.report import standing
from kantopt.schema.model import Rule
from kantopt.search.explain import decide
from kantopt.verify import rules
from kantopt.verify.victims import elsewhere
from tests import oracle

ON_ALL = {Rule.QUOTA, Rule.ANTI_AFFINITY, Rule.SPREAD, Rule.AFFINITY}
"""They look at pods of several jobs, but at no room of a node."""
OF_STEPS = {Rule.PRIORITY, Rule.PINNED, Rule.DISRUPTION, Rule.GANG_VICTIMS, Rule.LIMITS}
"""They look at what changes."""
OF_PLACES = {Rule.ELIGIBILITY, Rule.TOPOLOGY, Rule.SLICES}
"""They look at where the pods of one job are."""
ROOM, GANG, REQUIRED = {Rule.CAPACITY, Rule.DEVICES}, {Rule.GANG}, {Rule.REQUIRED}

LEFT_OUT = [
    (rules.STATE_RULES, OF_STEPS | REQUIRED),
    (switches._LIFTED, ON_ALL | (OF_PLACES - {Rule.ELIGIBILITY})),
    (decide._OWN, OF_STEPS | {Rule.QUOTA, Rule.AFFINITY}),
    (
        elsewhere._OF_PLACES,
        OF_STEPS | ROOM | GANG | REQUIRED | {Rule.ELIGIBILITY, Rule.QUOTA},
    ),
    (standing.OF_ARRIVALS, OF_STEPS | ROOM | GANG | REQUIRED | {Rule.QUOTA}),
    (running._OF_OTHER_PLACES, OF_STEPS | ON_ALL | GANG | REQUIRED),
    (
        arrivals.WHOEVER_CAME_LAST,
        OF_STEPS | OF_PLACES | GANG | REQUIRED | (ON_ALL - {Rule.QUOTA}),
    ),
    (
        prefix._TOGETHER,
        (OF_STEPS - {Rule.GANG_VICTIMS}) | ON_ALL | ROOM | REQUIRED | {Rule.ELIGIBILITY},
    ),
    (
        oracle.ONE_JOB_RULES,
        (OF_STEPS - {Rule.PINNED, Rule.GANG_VICTIMS}) | ON_ALL | ROOM | REQUIRED,
    ),
]


@pytest.mark.parametrize(("listed", "left_out"), LEFT_OUT)
def test_each_rule_is_listed_or_left_out(
    listed: Collection[Rule], left_out: Collection[Rule]
) -> None:
    assert set(listed) | set(left_out) == set(Rule)
    assert not set(listed) & set(left_out)
