"""R14 limits."""

from __future__ import annotations

from collections.abc import Iterable

from kantopt.cp.variables import Terms, Variables, weighted


def add_limits(m: Variables) -> None:
    """A plan evicts and moves no more pods than the model's limits."""
    instance, limits = m.instance, m.instance.model.limits
    evicted: Terms = []
    moved: Terms = []
    jobs: dict[int, Terms] = {}
    namespaces: dict[str, Terms] = {}
    arrivals: dict[int, Terms] = {}
    departures: dict[int, Terms] = {}
    for podset in instance.podsets:
        if not podset.running:
            continue
        s, job = podset.index, instance.jobs[podset.job]
        evicted.append((m.evicted(s), 1))
        moves = (m.arrived(s), 1)
        moved.append(moves)
        if job.most_moves is not None:
            jobs.setdefault(job.index, []).append(moves)
        namespaces.setdefault(job.namespace, []).append(moves)
        if limits.arrivals_per_node is not None:
            for n, var in m.arrive[s].items():
                arrivals.setdefault(n, []).append((var, 1))
        if limits.departures_per_node is not None:
            for spot, var in m.stay[s].items():
                departures.setdefault(spot.node, []).append((podset.current[spot] - var, 1))
    m.about("evictions")
    _add(m, [evicted], limits.evictions)
    m.about("moves")
    _add(m, [moved], limits.moves)
    for j, terms in jobs.items():
        own, most = instance.jobs[j].max_moves, limits.moves_per_job
        if own is None or (most is not None and most <= own):
            m.about("moves_per_job")
            _add(m, [terms], most)
        else:
            m.about("max_moves", j)
            _add(m, [terms], own)
    m.about("moves_per_namespace")
    _add(m, namespaces.values(), limits.moves_per_namespace)
    m.about("arrivals_per_node")
    _add(m, arrivals.values(), limits.arrivals_per_node)
    m.about("departures_per_node")
    _add(m, departures.values(), limits.departures_per_node)


def _add(m: Variables, sums: Iterable[Terms], limit: int | None) -> None:
    for terms in sums:
        if limit is not None and terms:
            m.cp.add(weighted(terms) <= limit)
