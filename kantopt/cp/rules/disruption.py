"""R12 disruption budgets."""

from __future__ import annotations

from kantopt.cp.variables import Variables, weighted


def add_disruption(m: Variables) -> None:
    """A budget bears its evictions and, one at a time, its restarts; two budgets bear nothing."""
    podsets = m.instance.podsets
    for budget in m.instance.budgets:
        m.about("budget", budget.index)
        evicted = weighted([(m.evicted(s), 1) for s in budget.podsets])
        if budget.podsets:
            m.cp.add(evicted <= budget.allowed)
        if not budget.allowed:
            for s in budget.podsets:
                _forbid_restarts(m, s)
    for podset in podsets:
        if podset.running and len(podset.budgets) > 1:
            m.about("job", podset.job)
            m.cp.add(m.evicted(podset.index) == 0)
            _forbid_restarts(m, podset.index)


def _forbid_restarts(m: Variables, s: int) -> None:
    if m.instance.job_of(s).move_mode == "restart" and m.arrive[s]:
        m.cp.add(m.arrived(s) == 0)
