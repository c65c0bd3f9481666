"""What of an earlier plan is still legal today: a search that begins there keeps what it can."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from operator import attrgetter

from kantopt.clock import Deadline
from kantopt.planning.later.guard import outline_of, steps_today
from kantopt.planning.later.prefix import longest_legal_prefix
from kantopt.planning.later.still_there import StillThere
from kantopt.planning.later.successors import Successors, pods_of
from kantopt.planning.question import Question
from kantopt.problem.actions import without_leftovers
from kantopt.problem.difference import apply, difference
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.schema.answers.actions import namespace_of
from kantopt.schema.answers.plan import Move, Plan


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


def moved_again(
    question: Question, instance: Instance, placement: Placement, last: Plan
) -> Iterator[str]:
    """Warn of pods that the last plan moved, that came up elsewhere, and that are moved again.

    Where a scheduler places pods by other rules than plans do, each run would restart them. Pods
    of a pod set are counted, not named: who is made anew mostly has another name. Names tell only
    who left a node in vain, as another pod came there instead.
    """
    back = _back(question, last)
    ran = Counter[tuple[str, str, str]]()
    for job in last.jobs:
        for pods in job.pod_sets:
            for place in pods.assignments:
                ran[job.full_name, pods.name, place.node] += place.count
    moved: dict[tuple[str, str], list[Move]] = {}
    for move in last.moves:
        moved.setdefault((move.job, move.pod_set), []).append(move)
    again, example = 0, ""
    for s, changes in groupby(difference(instance, placement).moves, attrgetter("podset")):
        podset = instance.podsets[s]
        key = instance.jobs[podset.job].name, podset.name
        if key not in moved:
            continue
        now = Counter[str]()
        for spot, pods_there in podset.current.items():
            now[instance.nodes[spot.node].name] += pods_there
        stayed = {n: min(ran[*key, n], k - back[*key, n]) for n, k in now.items()}
        came = Counter({n: k - stayed[n] for n, k in now.items()})
        there = {move.to_node for move in moved[key]}
        left = sum(ran[*key, n] - stayed.get(n, 0) for n in {m.from_node for m in moved[key]})
        astray = left - sum(max(0, came[node]) for node in there)
        for change in changes:
            assert change.source is not None
            node = instance.nodes[change.source.node].name
            if astray > 0 and node not in there and came[node] > 0:
                came[node] -= 1
                astray -= 1
                again += 1
                example = example or f"job {key[0]} on node {node}"
    if again:
        are = "1 pod is" if again == 1 else f"{again} pods are"
        yield (
            f"{are} moved as by the last plan, after which as many came up elsewhere than planned "
            f"({example}): where whoever places pods anew does not follow the plans, each run "
            "restarts them"
        )


def _back(question: Question, last: Plan) -> Counter[tuple[str, str, str]]:
    """Count the pods of each pod set and node that moves took off, and that others replaced."""
    there = {
        (seen.namespace, seen.ref.name, seen.ref.uid)
        for seen in pods_of(question.jobs)
        if seen.ref is not None
    }
    gone = Counter(
        (move.job, move.pod_set, move.from_node)
        for move in last.moves
        for pod in move.pods
        if pod.uid and (namespace_of(move.job), pod.name, pod.uid) not in there
    )
    return gone & Successors(question, last).came()
