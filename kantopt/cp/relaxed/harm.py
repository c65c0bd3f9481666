"""What counts to aim at are told of disruption: reasons of victims, and as little as can be."""

from __future__ import annotations

from ortools.sat.python.cp_model import CpModel, CpSolver, LinearExprT

from kantopt.cp.relaxed.domains import GangRelaxation
from kantopt.cp.relaxed.kinds import PodKind
from kantopt.cp.variables import Terms, weighted
from kantopt.problem.placement import Placement


def add_reasons(m: GangRelaxation) -> None:
    """Add that who is evicted has somebody more important arrive where it was.

    No bound may use this: a pod that moves there keeps a victim away as well.
    """
    if not m.instance.strict:
        return
    new = [k for k in m.kinds.pods if not k.one.running and k.one.gpu_milli]
    reasons: dict[tuple[int, int], Terms] = {}
    for j, kind in enumerate(m.kinds.jobs):
        gone = [k for k in kind.pods if k.evictable and k.one.gpu_milli]
        together = j in m.victims and len(kind.jobs) == 1
        groups: list[tuple[LinearExprT, int, dict[int, int]]]
        if together:
            most = max((k.one.gpu_milli for k in gone), default=0)
            here = {c: 1 for k in gone for c in m.classes.standing(k)}
            groups = [(m.victims[j], most, here)]
        else:
            groups = [(m.evicted(k), k.one.gpu_milli, m.classes.standing(k)) for k in gone]
        for lost, gpus, standing in groups:
            parts: Terms = []
            for c, pods in standing.items():
                part = m.cp.new_int_var(0, pods, f"reason[{j},{c}]")
                reasons.setdefault((kind.one.priority, c), []).append((part, gpus))
                parts.append((part, 1))
            m.cp.add(lost <= weighted(parts))
    for (priority, c), terms in reasons.items():
        higher: Terms = [
            (m.at[k.index][c], k.one.gpu_milli)
            for k in new
            if (job := m.instance.jobs[k.one.job]).may_preempt
            and job.priority > priority
            and c in m.at[k.index]
        ]
        m.cp.add(weighted(terms) <= weighted(higher))


def add_spared(m: GangRelaxation, cp: CpModel, placement: Placement, priority: int | None) -> None:
    """Add that no more GPUs are evicted than by a placement, of a priority and higher ones.

    ``cp`` is a copy of the model of the relaxation.
    """
    kinds = [
        k
        for k in m.kinds.pods
        if k.evictable and (priority is None or m.instance.jobs[k.one.job].priority >= priority)
    ]
    gone = sum(
        k.one.gpu_milli * (k.one.count - placement.placed(s)) for k in kinds for s in k.podsets
    )
    cp.add(weighted([(m.evicted(k), k.one.gpu_milli) for k in kinds]) <= gone)


def calmed(m: GangRelaxation, expr: LinearExprT, solver: CpSolver) -> CpModel:
    """Return a model of the least disruption at which new pods are where a solution has them.

    A solution that was not asked about moves shuffles pods that run by the thousand.

    Parameters
    ----------
    expr
        What stays as small as it is in the solution.
    """
    cp = m.cp.clone()
    cp.add(expr <= solver.value(expr))
    for kind in m.kinds.pods:
        if not kind.one.running:
            for var in m.at[kind.index].values():
                cp.add(var == solver.value(var))
    cp.minimize(disruption(m))
    return cp


def _weight(kind: PodKind) -> int:
    """How many moves an eviction of a pod is as bad as."""
    return 20 * (1 + kind.one.gpu_milli // 1000)


def disruption(m: GangRelaxation) -> LinearExprT:
    """Pods evicted and moved, the former first, by GPUs."""
    terms: Terms = [(m.evicted(k), _weight(k)) for k in m.kinds.pods if k.evictable]
    terms += [(var, 1) for var in m.moved.values()]
    return weighted(terms)


def disruption_of(m: GangRelaxation, placement: Placement) -> int:
    """Pods evicted and moved by a placement, weighed like :func:`disruption`."""
    found = 0
    for kind in m.kinds.pods:
        for s in kind.podsets if kind.one.running and not kind.fixed else ():
            podset, spots = m.instance.podsets[s], placement.podsets[s]
            stay = sum(min(k, spots.get(spot, 0)) for spot, k in podset.current.items())
            placed = placement.placed(s)
            found += placed - stay + (podset.count - placed) * _weight(kind)
    return found
