"""R5 topology."""

from __future__ import annotations

from kantopt.cp.variables import Terms, Variables, weighted
from kantopt.problem.job import TopologyNeed
from kantopt.verify.rules.topology import domains_used


def domain_pods(
    m: Variables, need: TopologyNeed, level: int
) -> dict[int | None, tuple[Terms, int]]:
    """Pods of a need in each domain of a level, and the most that there can be.

    ``None`` stands for nodes outside all domains.
    """
    domain_of = m.instance.topology.domain_of[level]
    found: dict[int | None, tuple[Terms, int]] = {}

    def add(n: int, var: object, most: int) -> None:
        terms, total = found.get(domain_of[n], ([], 0))
        found[domain_of[n]] = ([*terms, (var, 1)], total + most)  # type: ignore[list-item]

    wanted = 0
    for s in m.instance.podsets_of(need):
        podset = m.instance.podsets[s]
        wanted += podset.count
        for spot, var in m.stay[s].items():
            add(spot.node, var, podset.current[spot])
        for n, var in m.arrive[s].items():
            add(n, var, podset.count)
    return {domain: (terms, min(most, wanted)) for domain, (terms, most) in found.items()}


def add_touches(m: Variables, need: TopologyNeed, level: int) -> Terms:
    """Booleans for the domains of a level that pods of a need touch."""
    return [
        (m.positive(("touches", need.index, level, domain), weighted(terms), most), 1)
        for domain, (terms, most) in domain_pods(m, need, level).items()
    ]


def forbid_outside(m: Variables, need: TopologyNeed, level: int) -> None:
    """No pod of a need arrives on a node that lacks a label of the level."""
    domain_of = m.instance.topology.domain_of[level]
    for s in m.instance.podsets_of(need):
        for n, var in m.arrive[s].items():
            if domain_of[n] is None:
                m.cp.add(var == 0)


def add_topology(m: Variables) -> None:
    """The pods share one domain of the required level; running members fix it unless all move."""
    for need in m.instance.topology_needs:
        if need.required is None:
            continue
        m.about("need", need.index)
        forbid_outside(m, need, need.required)
        before = domains_used(m.instance, need, need.required, m.instance.current.podsets)
        touches = add_touches(m, need, need.required)
        if len(touches) > 1:
            m.cp.add(weighted(touches) <= max(1, len(before)))
