"""M10 nodes used over the minimum (JTTED's D_node)."""

from __future__ import annotations

from ortools.sat.python.cp_model import LinearExprT

from kantopt.cp.variables import Terms, Variables, weighted
from kantopt.problem.job import Job
from kantopt.problem.tiers import Tier
from kantopt.verify.bounds.fewest import fewest_of_level


def excess_nodes_expr(m: Variables, tier: Tier) -> LinearExprT:
    """Nodes that placed gangs use beyond the fewest that could hold them."""
    terms: Terms = []
    for job in m.instance.jobs:
        if job.is_gang:
            touches = touched(m, job, list(range(len(m.instance.nodes))), "node")
            fewest = fewest_of_level(m.instance, job.index, None)
            if len(touches) > fewest:
                excess = weighted(touches) - fewest
                key = ("nodes", job.index)
                terms.append((m.at_least(key, excess, len(touches) - fewest), 1))
    return weighted(terms)


def touched(m: Variables, job: Job, group_of: list[int] | list[int | None], kind: str) -> Terms:
    """Booleans for the groups of nodes in which a job has pods."""
    pods: dict[int | None, Terms] = {}
    most: dict[int | None, int] = {}
    for s in job.podsets:
        places = [(spot.node, var) for spot, var in m.stay[s].items()]
        for n, var in (*places, *m.arrive[s].items()):
            pods.setdefault(group_of[n], []).append((var, 1))
            most[group_of[n]] = most.get(group_of[n], 0) + m.instance.podsets[s].count
    return [
        (m.positive((kind, job.index, group), weighted(terms), most[group]), 1)
        for group, terms in pods.items()
    ]
