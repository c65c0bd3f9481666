"""Fair shares over time: what users or queues have, and what they would be entitled to.

The GPUs are the one resource that a history tells of, so the dominant share of an owner (Ghodsi et
al., "Dominant Resource Fairness", 2011) is that of the GPUs. At each moment

    entitlement = min(demand, floor(weight / weights x GPUs))

where demand is what the owner's jobs want that have arrived and are not done, running or waiting;
weights is the sum over owners with any demand; GPUs are those of healthy nodes that no job of the
snapshot holds. What an owner has less than that is its shortfall.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from kantopt.simulate.history import JobRecord
from kantopt.simulate.metrics.value import Value
from kantopt.simulate.metrics.window import Window


@dataclass(slots=True)
class _Owner:
    """An owner at one moment, and sums up to it. milli-GPU, milliseconds."""

    weight: int
    used: int = 0
    demand: int = 0
    since: int = 0
    used_time: int = 0
    entitled_time: int = 0
    short_time: int = 0
    largest: int = 0
    wanted: bool = False
    """Whether it had any demand in the window."""


def owners(
    window: Window, owner_of: Callable[[JobRecord], str], weights: Mapping[str, int]
) -> Iterator[Value]:
    """Yield shares and shortfalls of all owners that want anything in the window.

    Parameters
    ----------
    window
        What is measured.
    owner_of
        Owner of a job: its user, its queue.
    weights
        Weight of owners by name; 1 where it does not tell.
    """
    accounts = _Sweep(window, owner_of, weights).swept()
    capacity = sum(span.sample.capacity * span.length for span in window.spans)
    for name, owner in sorted(accounts.items()):
        if not (owner.wanted and capacity):
            continue
        yield Value("share_used", owner.used_time / capacity, name)
        yield Value("share_entitled", owner.entitled_time / capacity, name)
        yield Value("shortfall_mean", owner.short_time / window.length, name)
        yield Value("shortfall_max", owner.largest, name)


class _Sweep:
    """Goes through a window from one change to the next.

    An owner's account is brought up to date only if something changes for it: what it has or
    wants, or, while it wants anything, what one unit of weight is worth.
    """

    def __init__(
        self, window: Window, owner_of: Callable[[JobRecord], str], weights: Mapping[str, int]
    ) -> None:
        self.window = window
        self.changes: dict[int, list[tuple[str, int, int]]] = {}
        """By time: owner, change of what it has, change of what it wants."""
        self.free: dict[int, int] = {}
        """By time: GPUs of healthy nodes that are not bound."""
        jobs = window.history.jobs
        self.owners = {
            name: _Owner(weights.get(name, 1), since=window.begin)
            for name in sorted({owner_of(job) for job in jobs})
        }
        for stay in window.history.stays:
            name = owner_of(jobs[stay.job])
            self._change(stay.begin, name, stay.gpus, 0)
            self._change(stay.end, name, -stay.gpus, 0)
        for job in jobs:
            if not job.refused:
                self._change(job.arrival, owner_of(job), 0, job.gpus)
                if job.ended is not None:
                    self._change(job.ended, owner_of(job), 0, -job.gpus)
        for span in window.spans:
            self.free[span.begin] = span.sample.healthy - span.sample.reserved

    def _change(self, at: int, name: str, used: int, demand: int) -> None:
        at = max(at, self.window.begin)
        if at < self.window.end:
            self.changes.setdefault(at, []).append((name, used, demand))

    def swept(self) -> dict[str, _Owner]:
        """Go through the window; return the accounts."""
        free = total = active = 0
        worth = (0, 1)  # GPUs, weights
        for at in sorted(self.changes.keys() | self.free.keys()):
            changes = self.changes.get(at, ())
            for name in dict.fromkeys(name for name, _, _ in changes):
                _settle(self.owners[name], at, worth)
            for name, used, demand in changes:
                owner = self.owners[name]
                active -= owner.weight if owner.demand else 0
                owner.used += used
                owner.demand += demand
                active += owner.weight if owner.demand else 0
                total += used
            free = self.free.get(at, free)
            now = (max(0, free + total), active or 1)
            if now != worth:
                for owner in self.owners.values():
                    if owner.demand:
                        _settle(owner, at, worth)
            worth = now
        for owner in self.owners.values():
            _settle(owner, self.window.end, worth)
        return self.owners


def _settle(owner: _Owner, at: int, worth: tuple[int, int]) -> None:
    """Bring an account up to a moment since which nothing has changed for it."""
    length = at - owner.since
    owner.since = at
    if length <= 0:
        return
    gpus, weights = worth
    entitled = min(owner.demand, owner.weight * gpus // weights)
    short = max(0, entitled - owner.used)
    owner.used_time += owner.used * length
    owner.entitled_time += entitled * length
    owner.short_time += short * length
    owner.largest = max(owner.largest, short)
    owner.wanted = owner.wanted or bool(owner.demand)
