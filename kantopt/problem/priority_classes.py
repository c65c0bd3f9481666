"""Priorities of documents: a job's own number, else that of its class, else of the default."""

from __future__ import annotations

from kantopt.schema.jobs import Job
from kantopt.schema.snapshot import ClusterSnapshot, PriorityClass


class PriorityClasses:
    """Priority classes of a snapshot."""

    def __init__(self, snapshot: ClusterSnapshot) -> None:
        self._classes = {cls.name: cls for cls in snapshot.priority_classes}
        self._default = next((c for c in snapshot.priority_classes if c.global_default), None)

    def of(self, job: Job) -> PriorityClass | None:
        """Class of a job; ``None`` if it names none that is known, and there is no default."""
        return self._classes.get(job.priority_class_name, self._default)

    def priority(self, job: Job) -> int:
        """Priority of a job."""
        if job.priority is not None:
            return job.priority
        cls = self.of(job)
        return cls.value if cls else 0
