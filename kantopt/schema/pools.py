"""Queues below one that owns all that they share: a cohort that is a tree.

There a queue has what its own limit says, whatever it owns, and the queue above what all of them
may use together.
"""

from __future__ import annotations

from collections.abc import Sequence

from kantopt.schema.quantity import from_base, to_base
from kantopt.schema.snapshot import Queue, QueueResource


def pool_of(queues: Sequence[Queue], queue: Queue, resource: str) -> Queue | None:
    """Return the queue that owns what a queue shares of a resource; ``None``: each owns its own."""
    if not queue.cohort:
        return None
    members = [item for item in queues if item.cohort == queue.cohort]
    pool = next((item for item in members if item.name == item.cohort), None)
    if pool is None or _row(pool, resource) is None:
        return None
    rows = (_row(item, resource) for item in members if item is not pool)
    lent = any(
        row is not None and row.lending_limit is None and to_base(row.name, row.nominal_quota)
        for row in rows
    )
    return None if lent else pool


def resized(queues: Sequence[Queue], queue: Queue, row: QueueResource, value: int) -> QueueResource:
    """Return a row of a queue's that gives it so much, in base units."""
    pool = pool_of(queues, queue, row.full_name)
    if pool is None:
        return row.model_copy(update={"nominal_quota": from_base(row.name, value)})
    if pool is queue:
        owned = sum(
            to_base(row.name, other.nominal_quota)
            for item in queues
            if item.cohort == queue.cohort and item is not queue
            if (other := _row(item, row.full_name)) is not None
        )
        return row.model_copy(update={"nominal_quota": from_base(row.name, max(0, value - owned))})
    more = max(0, value - to_base(row.name, row.nominal_quota))
    return row.model_copy(update={"borrowing_limit": from_base(row.name, more)})


def _row(queue: Queue, resource: str) -> QueueResource | None:
    return next((row for row in queue.resources if row.full_name == resource), None)
