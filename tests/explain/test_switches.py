"""Rules behind literals say what the plain encoding says."""

from __future__ import annotations

import pytest

from kantopt.clock import Deadline
from kantopt.cp.reach import reach
from kantopt.cp.switches import Switches
from kantopt.problem.derived.focus import focused, pending_podsets
from kantopt.problem.instance import Instance
from kantopt.schema.model import Rule
from tests.generate import random_instance

FOREVER = Deadline(None)
SEEDS = range(40)


def questions(seed: int) -> list[tuple[Instance, int]]:
    instance = random_instance(seed)
    return [
        (focused(instance, job.index), job.index)
        for job in instance.jobs
        if pending_podsets(instance, job.index)
    ]


@pytest.mark.parametrize("seed", SEEDS)
def test_all_switched_on_they_decide_like_the_plain_encoding(seed: int) -> None:
    for question, j in questions(seed):
        rules = [rule for rule in Rule if question.on(rule)]
        switches = Switches(question, j, rules)
        core = switches.core(switches.groups, FOREVER)
        plain = reach(question, j, rules, FOREVER)
        assert (core.contradiction is not None) == plain.impossible
        if core.contradiction is None:
            continue
        # What contradicts itself does so alone, and nothing does with everything off.
        alone = switches.core(core.contradiction, FOREVER)
        assert alone.contradiction is not None
        assert switches.core((), FOREVER).possible


@pytest.mark.parametrize("seed", range(12))
def test_without_a_rule_they_decide_like_the_encoding_without_it(seed: int) -> None:
    for question, j in questions(seed):
        rules = [rule for rule in Rule if question.on(rule)]
        switches = Switches(question, j, rules)
        for rule in rules:
            kept = [group for group in switches.groups if group[0] is not rule]
            core = switches.core(kept, FOREVER)
            plain = reach(question, j, [other for other in rules if other is not rule], FOREVER)
            if rule is Rule.GANG and question.jobs[j].is_gang:
                continue  # the encoding still requires the whole job
            if rule is Rule.ELIGIBILITY and plain.placement is not None:
                waiting = {p.index for p in question.podsets if not p.running and p.job != j}
                if any(plain.placement.placed(s) for s in waiting):
                    continue  # eligibility keeps other pending pods out: the job stands alone
            assert (core.contradiction is not None) == plain.impossible, rule
