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
    entitled: int = 0
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
    capacity = window.total("capacity")
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
                over = job.withdrawn if job.ended is None else job.ended
                if over is not None:
                    self._change(over, owner_of(job), 0, -job.gpus)
        for span in window.spans:
            self.free[span.begin] = span.sample.healthy - span.sample.reserved

    def _change(self, at: int, name: str, used: int, demand: int) -> None:
        at = max(at, self.window.begin)
        if at < self.window.end:
            self.changes.setdefault(at, []).append((name, used, demand))

    def swept(self) -> dict[str, _Owner]:
        """Go through the window; return the accounts."""
        free = used = gpus = weights = 0
        for at in sorted(self.changes.keys() | self.free.keys()):
            before = gpus, weights
            changed = {}
            for name, more_used, more_demand in self.changes.get(at, ()):
                changed[name] = owner = self.owners[name]
                _settle(owner, at)
                weights -= owner.weight if owner.demand else 0
                owner.used += more_used
                owner.demand += more_demand
                weights += owner.weight if owner.demand else 0
                used += more_used
            free = self.free.get(at, free)
            gpus = max(0, free + used)
            for owner in changed.values():
                owner.entitled = _entitled(owner, gpus, weights)
            if (gpus, weights) != before:
                self._share_again(at, before, (gpus, weights))
        for owner in self.owners.values():
            _settle(owner, self.window.end)
        return self.owners

    def _share_again(self, at: int, before: tuple[int, int], now: tuple[int, int]) -> None:
        """Let all have what they are entitled to, now that a unit of weight is worth more or less.

        Who gets all that it wants does so both before and after.
        """
        least = min(gpus // weights if weights else 0 for gpus, weights in (before, now))
        for owner in self.owners.values():
            if owner.demand > owner.weight * least:
                entitled = _entitled(owner, *now)
                if entitled != owner.entitled:
                    _settle(owner, at)
                    owner.entitled = entitled


def _entitled(owner: _Owner, gpus: int, weights: int) -> int:
    return min(owner.demand, owner.weight * gpus // weights) if owner.demand else 0


def _settle(owner: _Owner, at: int) -> None:
    """Bring an account up to a moment since which nothing has changed for it."""
    length = at - owner.since
    if length <= 0:
        return
    owner.since = at
    short = max(0, owner.entitled - owner.used)
    owner.used_time += owner.used * length
    owner.entitled_time += owner.entitled * length
    owner.short_time += short * length
    owner.largest = max(owner.largest, short)
    owner.wanted = owner.wanted or bool(owner.demand)
