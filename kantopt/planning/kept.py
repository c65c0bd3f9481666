"""What of an earlier plan is still legal today: a search that begins there keeps what it can."""

from __future__ import annotations

from kantopt.clock import Deadline
from kantopt.planning.guard import outline_of, steps_today
from kantopt.planning.prefix import longest_legal_prefix
from kantopt.planning.question import Question
from kantopt.planning.still_there import StillThere
from kantopt.problem.actions import without_leftovers
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.schema.plan import Plan
from kantopt.verify.waves.groups import apply


def still_legal(
    question: Question, instance: Instance, plan: Plan, deadline: Deadline
) -> Placement:
    """Return where the steps of a plan lead that can still be taken; at worst nobody moves.

    Parameters
    ----------
    question, instance
        Today's cluster and what is asked about it.
    plan
        The earlier plan.
    deadline
        When to stop: what was not looked at by then is left out.
    """
    steps = steps_today(instance, plan, StillThere(question, plan))
    prefix = longest_legal_prefix(instance, outline_of(plan), steps, deadline.cuts)
    return without_leftovers(apply(instance.current, prefix.waves), prefix.waves)
