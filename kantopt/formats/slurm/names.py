"""Names under which labels, taints and resources of an import stand."""

from __future__ import annotations

PARTITION = "partition.slurm/"
"""Begins the label of a node that is in a partition."""
FEATURE = "feature.slurm/"
"""Begins the label of a node that has a feature."""
RESERVATION = "reservation.slurm/"
"""Begins the label and the taint of a node that a reservation holds."""
LEVEL = "topology.slurm/"
"""Begins the labels of topology levels."""
JOB = "slurm/job"
"""Label of pods: the job they are of."""
HET_JOB = "slurm/het-job"
"""Label of pods: the heterogeneous job whose components they are of."""
JOB_NAME = "slurm/job-name"
USER = "slurm/user"
JOB_PARTITION = "slurm/partition"
QOS = "slurm/qos"
WHOLE_NODE = "slurm/node-share"
"""Resource of which a node has :data:`SHARES`: who takes it whole shares the node with nobody."""
ALL_MEMORY = "slurm/memory-share"
"""Resource of which a node has :data:`SHARES`: who takes it whole has the node's memory alone."""
CAPPED = "slurm/cpus-of-"
"""Begins the resource of which a node has the CPUs that a partition's jobs may have of it."""
SHARED = (WHOLE_NODE, ALL_MEMORY)
SHARES = 1024
CHOSEN = "Chosen"
"""Mark of the record of a job that has got its nodes since an earlier snapshot: it counts as one
that waits, for the shares of nodes that it holds."""
FORESEEN = "Foreseen"
"""Reservations that were to come when such a job got its nodes, as they are known now."""


def is_counted(resource: str) -> bool:
    """Whether a resource is nothing that nodes have, but a rule on who shares them."""
    return resource in SHARED or resource.startswith(CAPPED)
