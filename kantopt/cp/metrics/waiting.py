"""M12 waiting time so far (JWTD, censored)."""

from __future__ import annotations

from ortools.sat.python.cp_model import LinearExprT

from kantopt.cp.variables import Terms, Variables, weighted
from kantopt.problem.tiers import Tier
from kantopt.verify.metrics.waiting import waits


def waiting_expr(m: Variables, tier: Tier) -> LinearExprT:
    """Seconds that the jobs which stay unplaced have waited so far."""
    waiting = [job for job in m.instance.jobs if waits(m.instance, job) and job.waited_seconds]
    placed: Terms = [(m.satisfied(job.index), job.waited_seconds) for job in waiting]
    return sum(job.waited_seconds for job in waiting) - weighted(placed)
