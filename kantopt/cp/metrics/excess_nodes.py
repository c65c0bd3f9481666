"""M10 nodes used over the minimum (JTTED's D_node)."""

from __future__ import annotations

from ortools.sat.python.cp_model import LinearExprT

from kantopt.cp.variables import Terms, Variables, weighted
from kantopt.problem.job import Job
from kantopt.problem.tiers import Tier
from kantopt.verify.bounds.fewest import fewest_of_level


def excess_nodes_expr(m: Variables, tier: Tier) -> LinearExprT:
    """Nodes that placed gangs use beyond the fewest that could hold them."""
    return beyond_fewest(m, list(range(len(m.instance.nodes))), None)


def beyond_fewest(
    m: Variables, group_of: list[int] | list[int | None], level: int | None
) -> LinearExprT:
    """Groups of nodes, the domains of a level if there is one, that gangs use beyond the fewest."""
    terms: Terms = []
    kind, key = ("node", ("nodes",)) if level is None else (f"group{level}", ("groups", level))
    for job in m.instance.jobs:
        if job.is_gang:
            touches = _touched(m, job, group_of, kind)
            fewest = fewest_of_level(m.instance, job.index, level)
            if len(touches) > fewest:
                excess = weighted(touches) - fewest
                most = len(touches) - fewest
                terms.append((m.at_least((*key, job.index), excess, most), 1))
    return weighted(terms)


def _touched(m: Variables, job: Job, group_of: list[int] | list[int | None], kind: str) -> Terms:
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
