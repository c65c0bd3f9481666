"""Backfilling of counted processors, by the definitions and nothing else: slow and obvious.

Lifka, *The ANL/IBM SP Scheduling System*, JSSPP 1995; Mu'alem and Feitelson, IEEE TPDS 12(6), 2001.
Written without a look at the simulator. EASY: whoever starts must not make the first that waits
start later, by what users say. Conservative: everybody has a reservation that is kept, at the
earliest time that the reservations before it leave; when somebody ends early all are moved forward,
one after the other in the order of the queue, while the others keep theirs.

On hosts of one processor (``starts_on_hosts``) a reservation is of so many hosts that are free for
as long as the job says, the first in order: what is reserved for one may be in the way of another
though enough hosts are free. So do the schedulers of these names of Batsim (Dutot, Mercier, Poquet
and Richard, JSSPP 2015), as their published schedules show (`scripts/known_schedules.py batsim`).
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["none", "best-effort", "easy", "conservative"]


@dataclass(frozen=True)
class Asked:
    """A job: seconds and processors."""

    arrival: int
    duration: int
    estimate: int
    processors: int
    priority: int = 0


@dataclass
class _Machine:
    size: int
    jobs: list[Asked]
    running: dict[int, int] = field(default_factory=dict)
    """When each started."""

    def free(self) -> int:
        return self.size - sum(self.jobs[i].processors for i in self.running)

    def earliest(self, i: int, now: int) -> int:
        """When a job could start if nobody else did, by the estimates of those who run."""
        free = self.free()
        if free >= self.jobs[i].processors:
            return now
        for end, k in sorted(
            (start + self.jobs[k].estimate, k) for k, start in self.running.items()
        ):
            free += self.jobs[k].processors
            if free >= self.jobs[i].processors:
                return end
        raise AssertionError("larger than the machine")


def start_times(
    size: int, jobs: list[Asked], kind: Kind, order: Literal["fifo", "priority"] = "fifo"
) -> list[int]:
    """Say when each job starts; estimates must be upper bounds, and all jobs fit the machine."""
    machine = _Machine(size, jobs)
    waiting: list[int] = []
    reserved: dict[int, int] = {}
    started: dict[int, int] = {}
    ahead = sorted(range(len(jobs)), key=lambda i: (jobs[i].arrival, i))
    while ahead or machine.running or waiting:
        early = False
        times = [start + jobs[i].duration for i, start in machine.running.items()]
        now = min([*times, *(jobs[i].arrival for i in ahead[:1]), *reserved.values()])
        for i, start in list(machine.running.items()):
            if start + jobs[i].duration == now:
                early = early or jobs[i].duration < jobs[i].estimate
                del machine.running[i]
        while ahead and jobs[ahead[0]].arrival == now:
            waiting.append(ahead.pop(0))
        if order == "priority":
            waiting.sort(key=lambda i: (-jobs[i].priority, jobs[i].arrival, i))
        if kind == "conservative":
            _conservative(machine, waiting, reserved, now, early)
        else:
            _greedy(machine, waiting, kind, now)
        for i in machine.running:
            started.setdefault(i, now)
    return [started[i] for i in range(len(jobs))]


def _greedy(machine: _Machine, waiting: list[int], kind: Kind, now: int) -> None:
    first: int | None = None
    promised = 0
    for i in list(waiting):
        if machine.jobs[i].processors <= machine.free():
            machine.running[i] = now
            if (
                first is None
                or kind == "best-effort"
                or (kind == "easy" and machine.earliest(first, now) <= promised)
            ):
                waiting.remove(i)
                continue
            del machine.running[i]
        if first is None:
            first, promised = i, machine.earliest(i, now)


def _conservative(
    machine: _Machine, waiting: list[int], reserved: dict[int, int], now: int, early: bool
) -> None:
    jobs = machine.jobs
    for i in waiting if early else [i for i in waiting if i not in reserved]:
        others = {k: t for k, t in reserved.items() if k != i}
        spans = [
            (start, start + jobs[k].estimate, jobs[k].processors)
            for k, start in [*machine.running.items(), *others.items()]
        ]
        reserved[i] = _first_gap(machine.size, spans, jobs[i], now)
    for i in list(waiting):
        if reserved[i] == now:
            machine.running[i] = now
            waiting.remove(i)
            del reserved[i]


def _first_gap(size: int, spans: list[tuple[int, int, int]], job: Asked, now: int) -> int:
    """Earliest time from which a job has room for as long as it says."""
    changes = {now: 0}
    for begin, end, processors in spans:
        changes[max(now, begin)] = changes.get(max(now, begin), 0) + processors
        changes[end] = changes.get(end, 0) - processors
    held, levels = 0, []
    for t in sorted(changes):
        held += changes[t]
        levels.append((t, held))
    for k, (start, _) in enumerate(levels):
        during = itertools.takewhile(lambda level, e=start + job.estimate: level[0] < e, levels[k:])
        if all(held + job.processors <= size for _, held in during):
            return start
    raise AssertionError("larger than the machine")


_Stay = tuple[int, int, frozenset[int]]
"""From when to when, by the estimate, and on which hosts."""


def starts_on_hosts(
    size: int, jobs: list[Asked], kind: Literal["easy", "conservative"]
) -> list[int]:
    """Say when each job starts that needs as many hosts of one processor, first come first."""
    waiting: list[int] = []
    running: dict[int, _Stay] = {}
    reserved: dict[int, _Stay] = {}
    started: dict[int, int] = {}
    ahead = sorted(range(len(jobs)), key=lambda i: (jobs[i].arrival, i))
    while ahead or running or waiting:
        ends = {i: started[i] + jobs[i].duration for i in running}
        now = min(
            [*ends.values(), *(jobs[i].arrival for i in ahead[:1])]
            + [begin for begin, _, _ in reserved.values()]
        )
        done = [i for i, end in ends.items() if end == now]
        early = any(jobs[i].duration < jobs[i].estimate for i in done)
        for i in done:
            del running[i]
        while ahead and jobs[ahead[0]].arrival == now:
            waiting.append(ahead.pop(0))
        for i in list(waiting):
            if kind == "conservative" and i in reserved and not early:
                continue
            others = [stay for k, stay in reserved.items() if k != i]
            reserved[i] = _first_hosts(size, [*running.values(), *others], jobs[i], now)
            if kind == "easy":
                if reserved[i][0] == now:
                    running[i], started[i] = reserved.pop(i), now
                    waiting.remove(i)
                elif others:
                    del reserved[i]
        for i in [i for i in waiting if i in reserved and reserved[i][0] == now]:
            running[i], started[i] = reserved.pop(i), now
            waiting.remove(i)
    return [started[i] for i in range(len(jobs))]


def _first_hosts(size: int, stays: list[_Stay], job: Asked, now: int) -> _Stay:
    for begin in sorted({now, *(end for _, end, _ in stays if end > now)}):
        until = begin + job.estimate
        taken = {h for b, e, hosts in stays if b < until and e > begin for h in hosts}
        free = [h for h in range(size) if h not in taken]
        if len(free) >= job.processors:
            return begin, until, frozenset(free[: job.processors])
    raise AssertionError("larger than the machine")
