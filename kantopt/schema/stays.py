"""Why pods of a cluster are left where they are unless asked otherwise."""

from typing import Literal, get_args

Cause = Literal[
    "annotated",
    "group",
    "kube-system",
    "local-storage",
    "lower-ordinal",
    "no-controller",
    "system-critical",
]
CAUSES: tuple[Cause, ...] = get_args(Cause)
"""Causes that can be lifted, by the names that models and the command line have for them."""

Pace = Literal["backoff-limit", "ordered-ready"]
PACES: dict[Pace, str] = {
    "backoff-limit": "no more pods may move than backoffLimit allows",
    "ordered-ready": "only one pod may move at a time (OrderedReady)",
}
"""Why of some jobs not all pods are moved, or not together."""

Liftable = Cause | Pace
LIFTABLE: tuple[Liftable, ...] = (*CAUSES, *PACES)
"""All that ``--disturb`` has a name for."""

Fixed = Literal[
    "daemon",
    "static",
    "terminating",
    "reserved",
    "lasting",
    "not-requeued",
    "several-nodes",
    "suspended",
    "shared-cpus",
]
FIXED: tuple[Fixed, ...] = get_args(Fixed)
"""Causes that nothing lifts: such pods belong to their nodes, are going anyway, or have room that
nobody else gets, are not preemptible for KAI or Koordinator, or of jobs that Slurm does not start
anew by itself or starts anew as a whole, or that have no CPUs of their own just now."""

WORDS: dict[Cause | Fixed, str] = {
    "annotated": "annotated to stay",
    "group": "not moved one by one, as their group or job would end with them",
    "kube-system": "of kube-system without a budget",
    "local-storage": "with local storage",
    "lower-ordinal": "behind a lower ordinal of their StatefulSet that is not ready",
    "no-controller": "without a controller",
    "system-critical": "of system-critical priority",
    "daemon": "of daemons",
    "static": "static",
    "terminating": "terminating",
    "reserved": "in reserved room",
    "lasting": "not preemptible for their scheduler",
    "not-requeued": "not requeued by Slurm (Requeue=0, or no batch job)",
    "several-nodes": "of a job on several nodes, all of whose pods would restart",
    "suspended": "suspended",
    "shared-cpus": "on CPUs that other jobs have as well (OverSubscribe)",
}
"""What comes behind a number of pods."""
