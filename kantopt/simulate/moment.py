"""The question of a moment: a simulated cluster in documents, as ``kantopt plan`` reads them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta

from kantopt.clock import rfc3339
from kantopt.planning.question import Question
from kantopt.schema import jobs as docs
from kantopt.schema.model import Model
from kantopt.simulate.cluster import Cluster
from kantopt.simulate.work import Work
from kantopt.simulate.world import SECOND, World

_START = "2000-01-01T00:00:00Z"
"""Start of a trace whose snapshot does not say when it was taken."""


class Moments:
    """Writes a cluster down as it stands: what runs where and since when, and who waits."""

    def __init__(self, world: World, cluster: Cluster, work: Sequence[Work]) -> None:
        self._world, self._cluster, self._work = world, cluster, work
        begin = world.snapshot.metadata.captured_at or _START
        self._begin = datetime.fromisoformat(begin).astimezone(UTC)

    def question(self, now: int, waiting: Iterable[int]) -> Question:
        """Return the question about some jobs that wait; other pods that wait are those of jobs
        that run.
        """
        snapshot = self._world.snapshot
        running = (j for j, work in enumerate(self._work) if work.running)
        metadata = snapshot.metadata.model_copy(update={"captured_at": self._time(now)})
        update = {"metadata": metadata, "jobs": tuple(self._running(j, now) for j in running)}
        return Question(
            source="the simulation",
            snapshot=snapshot.model_copy(update=update),
            pending=tuple(self._waiting(j) for j in waiting),
            model=None,
            plan=None,
            notes=(),
        )

    def model(self, model: Model, rules: Model) -> Model:
        """Return the objectives and limits of a model under the zone that holds, and no node down.

        Nothing comes to a node that is to be emptied: that is what failed ones are here.
        """
        nodes = self._world.instance.nodes
        down = tuple(nodes[n].name for n in sorted(self._cluster.down))
        return model.model_copy(
            update={"zone": rules.zone, "drain": down, "required": (), "pending": None}
        )

    def _time(self, at: int) -> str:
        return rfc3339(self._begin + timedelta(seconds=at // SECOND))

    def _waiting(self, j: int) -> docs.Job:
        """Return a job with the time at which it came: of the snapshot, what it says."""
        job, task = self._world.jobs[j], self._world.tasks[j]
        if task.record is None and job.creation_time is not None:
            return job
        return job.model_copy(update={"creation_time": self._time(task.arrival)})

    def _running(self, j: int, now: int) -> docs.Job:
        """Return a job with the places of its pods, since when it works, and its last checkpoint.

        Of a job of the snapshot these are what the snapshot says until it is disturbed.
        """
        job, work, task = self._world.jobs[j], self._work[j], self._world.tasks[j]
        update: dict[str, object] = {"pod_sets": self._placed(j)}
        assert work.working is not None, "it runs"
        if task.record is not None or work.disturbed:
            update["start_time"] = self._time(work.working)
            done = work.done + max(0, now - work.working)
            saved = now - done % task.checkpoint if task.checkpoint else None
            update["last_checkpoint_time"] = None if saved is None else self._time(saved)
        return job.model_copy(update=update)

    def _placed(self, j: int) -> tuple[docs.PodSet, ...]:
        instance, spots = self._world.instance, self._cluster.state.spots
        return tuple(
            podset.model_copy(
                update={
                    "assignments": tuple(
                        docs.Assignment(
                            node=instance.nodes[spot.node].name, count=pods, devices=spot.devices
                        )
                        for s in role.podsets
                        for spot, pods in sorted(spots[s].items())
                    )
                }
            )
            for role, podset in zip(
                instance.jobs[j].roles, self._world.jobs[j].pod_sets, strict=True
            )
        )
