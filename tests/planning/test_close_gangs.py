"""Goals on clusters of gangs that must be close: proofs hold, and every step is legal."""

from __future__ import annotations

import time
from collections import Counter
from math import prod
from unittest import mock

import pytest

from kantopt import clock
from kantopt.clock import Deadline
from kantopt.planning.defrag import asked, defragment
from kantopt.planning.document.judge import judge_plan
from kantopt.planning.solving import together
from kantopt.planning.solving.options import Options
from tests.campaign import some
from tests.close_gangs import close_gangs
from tests.fuzz.inline import InlineSolver
from tests.oracle import best, job_options

MOST_PLACEMENTS = 20_000
HANGS, SECONDS = 600.0, 2.0


@pytest.mark.parametrize("block", some(range(12)))
def test_goals_are_proved_as_brute_force_finds_them_and_nothing_is_refused(block: int) -> None:
    """A value above the optimum is told as open: the moves to that may have no order."""
    met = Counter[bool]()
    for seed in range(block, 720, 12):
        question, wish = close_gangs(seed)
        wanted = asked(question, wish)
        instance = question.instance(wanted.model)
        if prod(len(job_options(instance, job)) for job in instance.jobs) > MOST_PLACEMENTS:
            continue
        value, _ = best(instance)
        assert value is not None
        begun = mock.patch.object(clock, "_START", time.monotonic())
        with begun, mock.patch.object(together, "SolverProcess", InlineSolver):
            deadline = Deadline(HANGS, deterministic=True, whole=SECONDS)
            plan = defragment(question, wanted, Options(workers=1), deadline).plan
        said = f"seed {seed} {wish.goals}"
        assert not judge_plan(question, plan, None, "the plan").findings, said
        assert not [warning for warning in plan.warnings if "was refused" in warning], said
        for tier, least in zip(plan.objectives, value, strict=True):
            assert tier.bound is not None, said
            assert tier.bound <= least <= tier.value, f"{said}: {tier.name}"
            met[tier.value == tier.bound] += 1
            if tier.value > least:
                break  # what is below is asked of other plans
    assert met[True] >= 20 * max(1, met[False]), met
