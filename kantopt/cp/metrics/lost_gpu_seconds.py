"""M15 lost GPU time."""

from __future__ import annotations

from ortools.sat.python.cp_model import LinearExprT

from kantopt.cp.variables import Terms, Variables, weighted
from kantopt.problem.tiers import Tier


def lost_gpu_seconds_expr(m: Variables, tier: Tier) -> LinearExprT:
    """GPU time since start or last checkpoint of the pods that are evicted or restart elsewhere."""
    terms: Terms = []
    for podset in m.instance.podsets:
        job, lost = m.instance.jobs[podset.job], podset.lost_gpu_seconds
        if lost and tier.concerns(job):
            terms.append((m.evicted(podset.index), lost))
            if job.move_mode == "restart":
                terms.append((m.arrived(podset.index), lost))
    return weighted(terms)
