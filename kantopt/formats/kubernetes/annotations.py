"""Which annotations of pods an import takes at their word: anybody may write them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from kantopt.formats.view import view_of
from kantopt.schema.hints import plural

READ = (
    "cluster-autoscaler.kubernetes.io/safe-to-evict",
    "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes",
    "controller.kubernetes.io/pod-deletion-cost",
    "descheduler.alpha.kubernetes.io/evict",
    "descheduler.alpha.kubernetes.io/prefer-no-eviction",
    "gang.scheduling.koordinator.sh/groups",
    "gang.scheduling.koordinator.sh/min-available",
    "gang.scheduling.koordinator.sh/name",
    "gang.scheduling.koordinator.sh/network-topology-spec",
    "gpu-fraction",
    "gpu-memory",
    "kai.scheduler/segment-size",
    "kai.scheduler/segment-topology-required-placement",
    "kai.scheduler/topology-preferred-placement",
    "kai.scheduler/topology-required-placement",
    "kantopt/last-checkpoint-time",
    "kantopt/min-runtime",
    "karpenter.sh/do-not-disrupt",
    "karpenter.sh/do-not-evict",
    "kueue.x-k8s.io/podset-preferred-topology",
    "kueue.x-k8s.io/podset-required-topology",
    "kueue.x-k8s.io/podset-slice-required-topology",
    "kueue.x-k8s.io/podset-slice-required-topology-constraints",
    "kueue.x-k8s.io/podset-slice-size",
    "kueue.x-k8s.io/podset-unconstrained-topology",
    "kueue.x-k8s.io/workload",
    "pod-group-name",
    "scheduling.k8s.io/group-name",
    "scheduling.volcano.sh/group-name",
    "scheduling.volcano.sh/queue-name",
    "scheduling.koordinator.sh/device-allocated",
    "volcano.sh/cooldown-time",
    "volcano.sh/preemptable",
    "volcano.sh/task-spec",
    "yunikorn.apache.org/allow-preemption",
    "yunikorn.apache.org/app-id",
    "yunikorn.apache.org/placeholder",
    "yunikorn.apache.org/schedulingPolicyParameters",
    "yunikorn.apache.org/task-group-name",
    "yunikorn.apache.org/task-groups",
)
"""Their names."""


def annotations_read(objects: Sequence[dict[str, Any]]) -> tuple[str, ...]:
    """Name the annotations that an import reads, each with how many pods have it."""
    counts: Counter[str] = Counter()
    for item in objects:
        if isinstance(item, dict) and item.get("kind") == "Pod":
            annotations = view_of(item).at("metadata", "annotations").raw
            counts.update(name for name in READ if name in annotations)
    return tuple(f"{name}: {plural(count, 'pod')}" for name, count in sorted(counts.items()))
