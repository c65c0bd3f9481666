"""One whole plan of ``kantopt defrag``: drawn, planned, verified, carried out in plain counts."""

from __future__ import annotations

import time
from unittest import mock

from kantopt import clock
from kantopt.clock import Deadline
from kantopt.planning.defrag import Wish, asked, defragment
from kantopt.planning.document.actions import waves_of
from kantopt.planning.document.judge import judge_plan
from kantopt.planning.question import Question
from kantopt.planning.solving import together
from kantopt.planning.solving.options import Options
from kantopt.problem.difference import apply
from kantopt.schema.jobs import JobList
from kantopt.schema.model import Limits
from kantopt.schema.raw import RawDocument
from kantopt.schema.snapshot import ClusterSnapshot
from kantopt.schema.validation import validate
from tests.fuzz.inline import InlineSolver
from tests.fuzz.promises import broken_promises, miscounted
from tests.fuzz.trial import Outcome, carried_out, has_circle, plain, retarget
from tests.fuzz.untidy import untidy

SECONDS = 2.0
"""Time limit of a plan, counted in work, so that a seed gives the same plan again."""
HANGS = 600.0
"""Seconds after which the clock ends a plan all the same; a campaign calls that a fault."""


def tidied(seed: int) -> Outcome:
    """Plan what a drawn wish asks for, as the command does but in this process alone.

    The plan is judged by ``kantopt verify``, by the plain replay, and by what it promised.
    """
    world, wanted = untidy(seed)
    documents = world.documents()
    snapshot = validate(RawDocument("untidy", 0, documents[0]), ClusterSnapshot)
    pending = validate(RawDocument("untidy", 1, documents[1]), JobList).jobs
    question = Question("untidy", snapshot, pending, None, None, ())
    limits = Limits.model_validate(wanted.limits)
    wish = Wish(tuple(wanted.goals), None, limits, wanted.exempt, wanted.min_benefit)
    just_begun = mock.patch.object(clock, "_START", time.monotonic())
    with just_begun, mock.patch.object(together, "SolverProcess", InlineSolver):
        deadline = Deadline(HANGS, deterministic=True, whole=SECONDS)
        options = Options(workers=1)
        result = defragment(question, asked(question, wish), options, deadline)
    verdict = judge_plan(question, result.plan, None, "the plan")
    waves, problems = waves_of(result.instance, result.plan, "the plan")
    retarget(world, result.instance, apply(result.instance.current, waves))
    outcome = carried_out(seed, world, result.instance, waves, circle=has_circle(world))
    outcome.faults |= {str(finding) for finding in (*verdict.findings, *problems)}
    outcome.faults |= set(broken_promises(world, wanted, plain(result.instance, waves)))
    outcome.faults |= {
        fault for goal in result.plan.goals[:1] for fault in miscounted(world, wanted, goal)
    }
    outcome.faults |= {
        f"{goal.objective} is worse than before"
        for goal in result.plan.goals[:1]
        if (goal.after < goal.before if goal.more_is_better else goal.after > goal.before)
    }
    return outcome
