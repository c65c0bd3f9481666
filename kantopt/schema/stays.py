"""Why pods of a Kubernetes cluster are left where they are unless asked otherwise."""

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
    "backoff-limit": "by their backoffLimit",
    "ordered-ready": "one at a time by OrderedReady",
}
"""Why of some jobs not all pods are moved, or not together."""

Liftable = Cause | Pace
LIFTABLE: tuple[Liftable, ...] = (*CAUSES, *PACES)
"""All that ``--disturb`` has a name for."""

Fixed = Literal["daemon", "static", "terminating", "reserved", "lasting"]
FIXED: tuple[Fixed, ...] = get_args(Fixed)
"""Causes that nothing lifts: such pods belong to their nodes, are going anyway, or have room that
nobody else gets, or are not preemptible for KAI or Koordinator."""

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
}
"""What comes behind a number of pods."""
