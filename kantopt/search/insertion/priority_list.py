"""Who is placed first: the priority list of list scheduling (Graham 1966)."""

from __future__ import annotations

import random
from functools import cache

from kantopt.problem.amounts import offered_by
from kantopt.problem.cluster import Amounts
from kantopt.problem.instance import Instance
from kantopt.problem.precedence import Precedence


def priority_list(
    instance: Instance, *, seed: int, in_order: bool, largest_first: bool
) -> list[int]:
    """Return pending jobs, those first that are to be placed first.

    Important ones; of these those that must be in a domain, of the finest level first (most
    constrained first); of these those that ask for most GPUs, and for the largest share of all.

    Parameters
    ----------
    seed
        Other numbers than 0 vary sizes by a factor of up to two.
    in_order
        Jobs as they are listed, as arrivals are.
    largest_first
        Large ones come before constrained ones.
    """
    pending = [job.index for job in instance.jobs if instance.pending_of(job.index)]
    if in_order:
        return pending
    rng = random.Random(seed)
    scale = {j: rng.randint(50, 200) if seed else 100 for j in pending}
    offered = offered_by(instance.nodes, instance.resources)
    who = Precedence(instance)

    @cache  # pods that ask for the same are many
    def share_of(count: int, demand: Amounts) -> int:
        pairs = zip(demand, offered, strict=True)
        return sum(count * amount * 10**9 // most for amount, most in pairs if amount and most)

    def key(j: int) -> tuple[tuple[int, bool, int], int, int, int, int]:
        job = instance.jobs[j]
        podsets = [instance.podsets[s] for s in instance.pending_of(j)]
        gpus = sum(podset.count * podset.gpu_milli for podset in podsets)
        share = sum(share_of(podset.count, podset.demand) for podset in podsets)
        closest = -1 if largest_first else instance.closest(j)
        return who.place_in_queue(job), -closest, -gpus * scale[j], -share * scale[j], j

    return sorted(pending, key=key)
