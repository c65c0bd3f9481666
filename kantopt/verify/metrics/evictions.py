"""M2 evictions."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from kantopt.problem.instance import Instance
from kantopt.problem.tiers import Tier
from kantopt.schema.model import Metric, Rule
from kantopt.verify.bounds.left_out import least_left_out
from kantopt.verify.bounds.required_nodes import least_to_clear
from kantopt.verify.bounds.required_room import least_for_required
from kantopt.verify.metrics.unplaced import bound_unplaced, core, most_gpus_of_all
from kantopt.verify.step import Step


def measure_evictions(tier: Tier, step: Step) -> int:
    """Cost of the pods evicted; a job with disruptionMode all costs once.

    Or, of a tier that counts pods, their number.
    """
    cost = 0
    for job in step.changed_jobs:
        if not tier.concerns(job):
            continue
        evicted = [(s, step.evicted(s)) for s in job.podsets if step.evicted(s)]
        if tier.counts_pods:
            cost += sum(k for _, k in evicted)
        elif job.all_victims:
            cost += job.disruption_cost if evicted else 0
        else:
            cost += sum(step.instance.podsets[s].disruption_cost * k for s, k in evicted)
    return cost


def bound_evictions(tier: Tier, instance: Instance, above: Mapping[Tier, int]) -> int:
    """Evictions that it takes to leave out what the tiers above must, or to place required jobs.

    As much as they must and no more jobs, see :mod:`kantopt.verify.bounds.left_out`: each priority
    by itself, and where some of its jobs are counted apart these by themselves. GPUs that required
    jobs lack, see :mod:`kantopt.verify.bounds.required_room`; room that their pods lack on nodes,
    see :mod:`kantopt.verify.bounds.required_nodes`.
    """
    what = "pods" if tier.counts_pods else "cost"

    def fewest(priority: int, preempts: bool | None) -> int:
        whose = priority, preempts, False  # a goal has nothing to say of those that run
        return least_left_out(instance, above, whose, what, bound_unplaced, core)

    priorities = instance.priorities if tier.priority is None else (tier.priority,)
    least = sum(max(fewest(p, None), fewest(p, True) + fewest(p, False)) for p in priorities)
    lacking = least_for_required(tier, instance, above, lacking_gpus(instance))
    return max(least, lacking, least_to_clear(tier, instance, above))


@lru_cache(maxsize=4)
def lacking_gpus(instance: Instance) -> int:
    """Milli-GPU that others must give up, so that required jobs have what they cannot do without.

    Each GPU that nobody may hold, and each that one of them holds now, is none of theirs.
    """
    most = most_gpus_of_all(instance)
    if most is None or not instance.required or not instance.on(Rule.REQUIRED):
        return 0
    gpus = Tier(Metric.UNPLACED, "milli-GPU")
    wanted = sum(core(gpus, instance, instance.jobs[j]) for j in instance.required)
    held = sum(
        podset.count * podset.gpu_milli
        for podset in instance.podsets
        if podset.running and podset.job not in instance.required
    )
    return wanted + held - most
