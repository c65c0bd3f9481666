"""Fair queueing by virtual finish times of jobs, owner by owner.

Demers, Keshav and Shenker, *Analysis and Simulation of a Fair Queueing Algorithm*, SIGCOMM 1989;
Parekh and Gallager, *A Generalized Processor Sharing Approach to Flow Control*, IEEE/ACM
Transactions on Networking 1(3), 1993. The server is the cluster, a flow is an owner, and the length
of a job is its dominant share times its estimate.
"""

from __future__ import annotations

import heapq

from kantopt.schema.policy import Queueing
from kantopt.simulate.floor import Floor
from kantopt.simulate.owners import Owners
from kantopt.simulate.plain import Data
from kantopt.simulate.waiting import Rank

_FINE = 2**32
"""Parts of a millisecond in which virtual time is counted."""


class VirtualFinish:
    """Ranks jobs by when they would end if all owners with jobs shared the cluster by weight.

    Each owner's jobs are thought to be served one after the other, all owners at once. A job keeps
    the rank that it got when it came, also if it is stopped.
    """

    def __init__(self, queueing: Queueing) -> None:
        self._queueing = queueing
        self._owners: Owners | None = None
        self._ranks: dict[int, Rank] = {}
        self._finish: dict[str, int] = {}
        """Virtual finish time of the last job of each owner."""
        self._busy: list[tuple[int, str]] = []
        """Owners by when they would be done; an entry that is not the owner's last is old."""
        self._weights = 0
        """Of those who would not be done yet."""
        self._virtual = 0
        self._clock = 0

    def __call__(self, floor: Floor, j: int) -> Rank:
        """Return the rank of a job; the first time it is asked is when it came."""
        if j not in self._ranks:
            self._ranks[j] = (self._arrived(floor, j), floor.world.tasks[j].arrival, j)
        return self._ranks[j]

    def memory(self) -> Data:
        """Write down ranks, owners and the clock."""
        return {
            "ranks": [[j, rank] for j, rank in self._ranks.items()],
            "finish": self._finish,
            "busy": self._busy,
            "weights": self._weights,
            "virtual": self._virtual,
            "clock": self._clock,
        }

    def remember(self, floor: Floor, data: Data) -> None:
        """Take up what was written down."""
        self._ranks = {j: tuple(rank) for j, rank in data["ranks"]}
        self._finish = data["finish"]
        self._busy = [(finish, owner) for finish, owner in data["busy"]]
        self._weights, self._virtual = data["weights"], data["virtual"]
        self._clock = data["clock"]

    def _arrived(self, floor: Floor, j: int) -> int:
        owners = self._owners = self._owners or Owners(floor, self._queueing)
        owner, task = owners.of(j), floor.world.tasks[j]
        weight = owners.weight(owner)
        self._advance(owners, floor.now * _FINE)
        last = self._finish.get(owner, 0)
        if last <= self._virtual:
            self._weights += weight
        # What runs until it is told to end comes after all others of its owner.
        length = owners.share(owners.asked(j)) * (task.estimate or 10**15) * _FINE
        finish = max(last, self._virtual) + max(1, int(length / weight))
        self._finish[owner] = finish
        heapq.heappush(self._busy, (finish, owner))
        return finish

    def _advance(self, owners: Owners, now: int) -> None:
        """Let virtual time pass: the slower, the more owners share the cluster."""
        while self._busy:
            finish, owner = self._busy[0]
            if finish == self._finish[owner]:
                done = self._clock + (finish - self._virtual) * self._weights
                if done > now:
                    break
                self._clock, self._virtual = done, finish
                self._weights -= owners.weight(owner)
            heapq.heappop(self._busy)
        if self._weights:
            self._virtual += (now - self._clock) // self._weights
        self._clock = now
