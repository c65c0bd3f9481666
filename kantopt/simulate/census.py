"""A moment of the cluster: GPUs counted, and those that are free given to who wants them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np

from kantopt.search.shapes import Ints, Mask
from kantopt.simulate.cluster import Cluster
from kantopt.simulate.history import Sample
from kantopt.simulate.waiting import Waiting

_LOST = {"quota": "lost_quota", "closeness": "lost_topology", "room": "lost_fragmentation"}
"""What free GPUs are lost to, by what keeps a job from starting that wants them."""


class Census:
    """Counts a cluster, its nodes as they are at the start."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        nodes = cluster.world.instance.nodes
        self._gpus: Ints = np.array([node.gpu_milli for node in nodes], dtype=np.int64)
        self._usable: Mask = np.array([node.usable for node in nodes], dtype=np.bool_)
        self.capacity = int(self._gpus.sum())
        """Milli-GPU of all nodes."""
        self._lacks: dict[object, str] = {}
        self._version = -1

    def sample(self, at: int, waiting: Waiting, restarting: Iterable[int]) -> Sample:
        """Count the cluster at a moment.

        Parameters
        ----------
        waiting
            Who waits then.
        restarting
            Jobs with pods that do not work yet.
        """
        cluster, up = self._cluster, np.ones(len(self._gpus), dtype=np.bool_)
        up[sorted(cluster.down)] = False
        gpus = np.where(up, self._gpus, 0)
        used = gpus - np.clip(cluster.lacks.free(), 0, gpus)
        # Of a node that takes no pods what is bound counts, and what is free is there for nobody.
        gpus = np.where(self._usable, gpus, used)
        free = gpus - used
        counts = self._usable & (gpus > 0)
        partly = counts & (used > 0) & (free > 0)
        reserved, left = int(used.sum()), int(free.sum())
        lost = self._attribute(waiting, left)
        return Sample(
            at=at,
            capacity=self.capacity,
            healthy=int(gpus.sum()),
            reserved=reserved,
            running=reserved - sum(map(cluster.gpus, restarting)),
            nodes=int(counts.sum()),
            fragmented=int(partly.sum()),
            stranded=int(free[partly].sum()),
            waiting_jobs=len(waiting),
            lost_quota=lost["lost_quota"],
            lost_topology=lost["lost_topology"],
            lost_fragmentation=lost["lost_fragmentation"],
            lost_waiting=lost["lost_waiting"],
            idle=left - lost.total(),
            largest_gang=int(free[used == 0].sum()),
        )

    def _attribute(self, waiting: Waiting, free: int) -> Counter[str]:
        """Give free GPUs to those who wait, in order, as many as each needs to start."""
        lost = Counter[str]()
        if self._version != self._cluster.version:
            self._version = self._cluster.version
            self._lacks.clear()
        for j in waiting:
            if not free:
                break
            wanted = min(free, self._cluster.world.tasks[j].least_gpus)
            if wanted:
                free -= wanted
                lost[_LOST.get(self._lack(j), "lost_waiting")] += wanted
        return lost

    def _lack(self, j: int) -> str:
        """Return what keeps a job from starting, the same for all that are alike."""
        key = self._cluster.alike(j)
        if key not in self._lacks:
            self._lacks[key] = self._cluster.lack(j)
        return self._lacks[key]
