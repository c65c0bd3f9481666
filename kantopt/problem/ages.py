"""How long jobs have waited and run when the snapshot was taken."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from kantopt.schema import jobs as docs
from kantopt.schema.duration import duration_seconds
from kantopt.schema.model import Limits, Metric, Model
from kantopt.schema.snapshot import ClusterSnapshot

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Ages:
    """Reads times of jobs as seconds before the snapshot's ``capturedAt``.

    Without that moment, and where a job does not say, nothing is known: then nobody has waited or
    lost anything, and nobody is protected for having just started.
    """

    def __init__(self, snapshot: ClusterSnapshot, model: Model) -> None:
        self._now = _time(snapshot.metadata.captured_at)
        self._queues = {queue.name: queue.min_runtime for queue in snapshot.queues}
        self._limits = model.limits
        # Jobs that differ only in what they would lose are alike for all who do not ask.
        self._counts_losses = model.asks_for(Metric.LOST_GPU_SECONDS)

    def created(self, job: docs.Job) -> int | None:
        """Microseconds since 1970 when a job was submitted, if it says so."""
        time = _time(job.creation_time)
        return None if time is None else (time - _EPOCH) // timedelta(microseconds=1)

    def waited(self, job: docs.Job) -> int:
        """Seconds since a job was submitted."""
        return self._since(job.creation_time) or 0

    def ran(self, job: docs.Job) -> int:
        """Seconds since a job started."""
        return self._since(job.start_time) or 0

    def all_ran(self, job: docs.Job) -> int | None:
        """Seconds for which all pods of a job have run at least, as far as they say; else none."""
        ages = (self._ran(job, podset) for podset in job.pod_sets if podset.assignments)
        return min((age for age in ages if age is not None), default=None)

    def unsaved(self, job: docs.Job, podset: docs.PodSet) -> int | None:
        """Seconds of work that running pods have not saved, if the model asks; else 0.

        Pods of services have none: they never get done. ``None`` is what is not known.
        """
        if not self._counts_losses or podset.nominated or job.serves(podset):
            return 0
        ages = (self._ran(job, podset), self._since(_checkpoint(job, podset)))
        return min((age for age in ages if age is not None), default=None)

    def is_young(self, job: docs.Job, podset: docs.PodSet) -> bool:
        """Whether running pods have run for less than the time for which they are not evicted."""
        ran = self._ran(job, podset)
        return ran is not None and ran < least_runtime(job, self._queues, self._limits)

    def _ran(self, job: docs.Job, podset: docs.PodSet) -> int | None:
        if podset.nominated:
            return None  # it has not started, whatever else of its job runs
        return self._since(job.start_time if podset.start_time is None else podset.start_time)

    def _since(self, text: str | None) -> int | None:
        """Seconds since a time, whole ones; 0 if it is yet to come."""
        time = _time(text)
        if self._now is None or time is None:
            return None
        return max(0, int((self._now - time).total_seconds()))


def least_runtime(job: docs.Job, queues: Mapping[str, str | None], limits: Limits) -> int:
    """Seconds for which running pods of a job are not evicted, its queue or the model asking so.

    ``queues`` has what each queue asks for.
    """
    asked = (job.min_runtime, queues.get(job.queue_name), limits.min_runtime)
    return duration_seconds(next((text for text in asked if text is not None), "0s"))


def _checkpoint(job: docs.Job, podset: docs.PodSet) -> str | None:
    own = podset.last_checkpoint_time
    return job.last_checkpoint_time if own is None else own


def _time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
