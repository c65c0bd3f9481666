"""Queues below a queue with limits, as a cohort: what it bounds, they borrow of it.

The nearest queue above that has limits lends its jobs' queues all that it has, less what some are
guaranteed, and they own no more than that. So their sum keeps its limit, and each its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from kantopt.formats.imported import quotas_of
from kantopt.formats.notes import Notes
from kantopt.schema.quantity import from_base, to_base
from kantopt.schema.snapshot import Queue, QueueResource

ROOT = "root"
"""What Volcano calls the queue above all, which limits nobody unless it is told."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A queue with its limits, and its place in a tree."""

    queue: Queue
    parent: str = ""
    guarantee: Mapping[str, int] = field(default_factory=dict)
    """What nobody else may have, in base units."""


def upwards(name: str, parents: Mapping[str, str]) -> Iterator[str]:
    """Yield a name and those above it, as far as they are known; a circle is gone through once."""
    seen = set[str]()
    while name in parents and name not in seen:
        seen.add(name)
        yield name
        name = parents[name]


def with_parents(placed: Sequence[Placed], notes: Notes) -> Iterator[Queue]:
    """Yield the queues of one system, those below limits in cohorts.

    Limits and guarantees that a cohort cannot say are noted.
    """
    found = {item.queue.name: item for item in placed}
    parents = {item.parent for item in placed}
    bounds: dict[str, str] = {}
    for name, item in found.items():
        above = [other for other in _above(item, found, notes) if found[other].queue.resources]
        if above:
            bounds[name] = above[0]
            for other in above[1:]:
                text = "limits of queues above another one with limits are left out"
                notes.add(text, f"{other} of {name}")
    pools = {*bounds.values()}
    given: dict[str, dict[str, int]] = {name: {} for name in pools}
    for name, item in found.items():
        for resource, amount in item.guarantee.items():
            # What others share of a pool is less by it; only a pool can be.
            pool = found[bounds[name]].queue if name in bounds else None
            if pool is None or name in pools | parents or resource not in _limits(pool):
                notes.add("guaranteed shares that no queue above has limits for are left out", name)
            elif amount:
                shared = given[pool.name]
                shared[resource] = shared.get(resource, 0) + amount
    for name, item in found.items():
        if name in pools:
            yield _pool(item.queue, given[name])
        elif name in bounds:
            own = item.guarantee if name not in parents else {}
            yield _member(item.queue, found[bounds[name]].queue, own)
        else:
            yield item.queue


def _above(item: Placed, found: Mapping[str, Placed], notes: Notes) -> list[str]:
    """Return the names above a queue, the nearest first; a circle is gone through once."""
    names: list[str] = []
    while item.parent and item.parent not in names:
        if item.parent not in found:
            if item.parent != ROOT:
                text = "queues above others that are not in the input set no limit"
                notes.add(text, f"{item.parent} of {item.queue.name}")
            break
        names.append(item.parent)
        item = found[item.parent]
    return names


def _limits(queue: Queue) -> dict[str, int]:
    return {
        row.name: to_base(row.name, row.nominal_quota)
        for row in queue.resources
        if row.nodes is None
    }


def _pool(queue: Queue, given: Mapping[str, int]) -> Queue:
    rest = {name: max(0, most - given.get(name, 0)) for name, most in _limits(queue).items()}
    return queue.model_copy(update={"cohort": queue.name, "resources": quotas_of(rest)})


def _member(queue: Queue, pool: Queue, guarantee: Mapping[str, int]) -> Queue:
    own, rows = _limits(queue), []
    for name in sorted({*own, *_limits(pool)}):
        shared = name in _limits(pool)
        least = guarantee.get(name, 0) if shared else own[name]
        most = own.get(name)
        rows.append(
            QueueResource(
                name=name,
                nominal_quota=from_base(name, least),
                borrowing_limit=None if most is None else from_base(name, max(0, most - least)),
                lending_limit=0 if shared and least else None,
            )
        )
    return queue.model_copy(update={"cohort": pool.name, "resources": tuple(rows)})


def placed_of(queues: Sequence[Queue]) -> list[Placed]:
    """Return queues as a system with parents has them: what :func:`with_parents` makes cohorts of.

    A cohort is a tree if one of its queues is called like it.
    """
    pools = {queue.name: queue for queue in queues if queue.cohort == queue.name}
    members = {
        queue.name: _placed(queue, pools[queue.cohort])
        for queue in queues
        if queue.cohort in pools and queue.name not in pools
    }
    return [
        _whole(queue, [item for item in members.values() if item.parent == queue.name])
        if queue.name in pools
        else members.get(queue.name, Placed(queue))
        for queue in queues
    ]


def _placed(queue: Queue, pool: Queue) -> Placed:
    shared, guarantee, limits = _limits(pool), dict[str, int](), dict[str, int]()
    for row in queue.resources:
        least = to_base(row.name, row.nominal_quota)
        if row.lending_limit is not None and row.name in shared and least:
            guarantee[row.name] = least
        if row.nodes is None and row.borrowing_limit is not None:
            limits[row.name] = least + to_base(row.name, row.borrowing_limit)
    bare = queue.model_copy(update={"cohort": "", "resources": quotas_of(limits)})
    return Placed(bare, pool.name, guarantee)


def _whole(queue: Queue, members: Sequence[Placed]) -> Placed:
    whole = {
        name: n + sum(member.guarantee.get(name, 0) for member in members)
        for name, n in _limits(queue).items()
    }
    return Placed(queue.model_copy(update={"cohort": "", "resources": quotas_of(whole)}))
