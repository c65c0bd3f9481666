"""Jobs whose pods Kueue lets start and stops: by the labels that it, or the import, gives them."""

from __future__ import annotations

from kantopt.schema.jobs import Job

GROUP = "kueue.x-k8s.io"


def by_kueue(job: Job) -> bool:
    """Whether the pods of a job wait, or have waited, in a queue of Kueue's."""
    return any(key.startswith(f"{GROUP}/") for item in job.pod_sets for key in item.labels)


def waits_for_kueue(job: Job) -> bool:
    """Whether a job has neither pods nor a quota yet: Kueue makes room for it, and nobody else."""
    return by_kueue(job) and not job.quota_reserved and not any(item.refs for item in job.pod_sets)
