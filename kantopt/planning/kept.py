"""What of an earlier plan is still legal today: a search that begins there keeps what it can."""

from __future__ import annotations

from collections.abc import Iterator

from kantopt.clock import Deadline
from kantopt.planning.guard import outline_of, steps_today
from kantopt.planning.prefix import longest_legal_prefix
from kantopt.planning.question import Question
from kantopt.planning.still_there import StillThere
from kantopt.problem.actions import without_leftovers
from kantopt.problem.difference import difference
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


def moved_again(instance: Instance, placement: Placement, last: Plan) -> Iterator[str]:
    """Warn of pods that the last plan moved, that came up elsewhere, and that are moved again.

    Where a scheduler places pods by other rules than plans do, each run would restart them.
    """
    wanted: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for move in last.moves:
        wanted.setdefault((move.job, move.pod_set), []).append((move.from_node, move.to_node))
    again, example = 0, ""
    for step in difference(instance, placement).moves:
        assert step.source is not None  # it moves
        podset, node = instance.podsets[step.podset], instance.nodes[step.source.node].name
        name = instance.jobs[podset.job].name
        ways = wanted.get((name, podset.name), [])
        if ways and not any(node in way for way in ways):
            again += step.pods
            example = example or f"job {name} on node {node}, planned on {ways[0][1]}"
    if again:
        are = "1 pod is" if again == 1 else f"{again} pods are"
        yield (
            f"{are} moved that the last plan moved, too, and that came up elsewhere ({example}): "
            "whoever places pods anew does not follow the plans, and each run may restart them"
        )
