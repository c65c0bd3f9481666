"""The history written down while it happens."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace

from kantopt.simulate.cluster import Cluster
from kantopt.simulate.history import Ended, History, JobRecord, Stay
from kantopt.simulate.work import Work
from kantopt.verify.bounds.fewest import fewest_together


class Recorder:
    """Writes jobs and stays of a history; jobs of the snapshot have no record."""

    def __init__(self, cluster: Cluster, history: History) -> None:
        self._cluster, self._world = cluster, cluster.world
        self.history = history
        self._least: dict[Hashable, tuple[int, int]] = {}
        topology = self._world.instance.topology
        self._level = len(topology.levels) - 1

    def _of(self, j: int) -> JobRecord | None:
        """Return the record of a job, if it has one."""
        number = self._world.tasks[j].record
        return None if number is None else self.history.jobs[number]

    def started(self, j: int, now: int, *, passed: bool) -> None:
        """Take note of a start; ``passed``: somebody waits who came before."""
        if record := self._of(j):
            record.started = now if record.started is None else record.started
            record.starts += 1
            record.backfilled = passed
            self._stands(j, record)

    def record(self, j: int) -> JobRecord | None:
        """Return a copy of the record of a job, if it has one."""
        record = self._of(j)
        return None if record is None else replace(record)

    def restore(self, j: int, record: JobRecord | None) -> None:
        """Let a job have the record again that it had before."""
        number = self._world.tasks[j].record
        if number is not None and record is not None:
            self.history.jobs[number] = record

    def moved(self, j: int, pods: int) -> None:
        """Take note that pods of a job are elsewhere now."""
        if record := self._of(j):
            record.moves += pods
            self._stands(j, record)

    def _stands(self, j: int, record: JobRecord) -> None:
        instance = self._world.instance
        nodes = self._cluster.nodes(j)
        record.nodes = len(nodes)
        record.least_nodes, record.least_groups = self._fewest(j)
        if self._level >= 0:
            record.groups = len({instance.topology.domain_of[self._level][n] for n in nodes})

    def _fewest(self, j: int) -> tuple[int, int]:
        """Return the fewest nodes and groups that hold a job, found once for those alike.

        0 for jobs that run with fewer pods as well: replicas of a service had better be apart.
        """
        job = self._world.instance.jobs[j]
        if job.least < job.count:
            return 0, 0
        key = self._cluster.alike(j)
        if key not in self._least:
            instance, level = self._world.instance, self._level
            domains = instance.topology.domains[level] if level >= 0 else ()
            groups = fewest_together(instance, job, [each.nodes for each in domains])
            nodes = fewest_together(instance, job, [(n,) for n in range(len(instance.nodes))])
            self._least[key] = nodes, groups if domains else 0
        return self._least[key]

    def stayed(self, j: int, work: Work, now: int, reason: Ended) -> None:
        """Take note of the end of a job's stays, before it ends them."""
        self._write(j, work.stays, now, reason)
        record = self._of(j)
        if record and reason == "finished":
            record.ended = now
        elif record and reason == "evicted":
            record.evictions += 1

    def left_early(self, j: int) -> None:
        """Take note that a job has left before it was done."""
        if record := self._of(j):
            record.left_early = True

    def shrunk(self, j: int, stays: Sequence[tuple[int, int, int]], now: int) -> None:
        """Take note that some pods of a job were evicted, and it runs on with the others."""
        self._write(j, stays, now, "evicted")
        if record := self._of(j):
            record.evictions += 1

    def _write(
        self, j: int, stays: Sequence[tuple[int, int, int]], now: int, reason: Ended
    ) -> None:
        number = self._world.tasks[j].record
        if number is None:
            return
        for begin, working, gpus in stays:
            stay = Stay(number, begin, min(working, now), now, gpus, reason)
            self.history.stays.append(stay)
            if working > begin:
                self.lose(j, (stay.working - begin) * gpus)

    def lose(self, j: int, work: int) -> None:
        """Take note of work that is to be done again, milli-GPU x milliseconds."""
        if record := self._of(j):
            record.lost += work
