"""R11 pinned pods."""

from __future__ import annotations

from ortools.sat.python.cp_model import LinearExprT

from kantopt.cp.variables import Variables, weighted
from kantopt.problem.job import PodSet


def add_pinned(m: Variables) -> None:
    """Pods that are not preemptible are not evicted, pods that are not movable are not moved.

    The latter have no variables to arrive by. None come from nodes that are not ready.
    """
    for podset in m.instance.podsets:
        if podset.running and not podset.preemptible:
            m.cp.add(m.evicted(podset.index) == 0)
        if podset.movable and m.instance.on_held(podset):
            m.cp.add(beside_held(m, podset) <= m.instance.beside_held(podset.current))


def beside_held(m: Variables, podset: PodSet) -> LinearExprT:
    """Pods on nodes other than those that pods are not moved off."""
    s, held = podset.index, m.instance.held
    here = [var for spot, var in m.stay[s].items() if spot.node not in held]
    come = [var for n, var in m.arrive[s].items() if n not in held]
    return weighted([(var, 1) for var in (*here, *come)])
