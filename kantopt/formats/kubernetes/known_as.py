"""Names by which people know a job: its pods' owners, up to the Deployment or the JobSet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kantopt.formats.kubernetes.pods import Pod

_HASH = "pod-template-hash"
_JOB_SET = "jobset.sigs.k8s.io/jobset-name"


def names_of(pods: Iterable[Pod]) -> Iterator[str]:
    """Yield NAMESPACE/NAME of the owners of some pods, and of Deployments and JobSets behind them.

    A pod's own name is in its job's document. A Deployment is known by the name of its ReplicaSet,
    which ends in the hash that the pods have as a label.
    """
    for pod in pods:
        if not pod.owner_name:
            continue
        yield f"{pod.namespace}/{pod.owner_name}"
        if job_set := pod.labels.get(_JOB_SET):
            yield f"{pod.namespace}/{job_set}"
        ending = f"-{pod.labels.get(_HASH, '')}"
        if pod.owner_kind == "ReplicaSet" and len(ending) > 1 and pod.owner_name.endswith(ending):
            yield f"{pod.namespace}/{pod.owner_name.removesuffix(ending)}"
