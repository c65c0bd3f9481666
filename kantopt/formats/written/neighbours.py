"""Where a pod may go, as a pod's spec says it: selectors, affinity, spread, tolerations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kantopt.formats.pod_neighbours import PREFERRED, REQUIRED
from kantopt.schema.base import Part
from kantopt.schema.jobs import PodAffinityTerm, PodAntiAffinityTerm, PodSet, PreferredPods

Data = dict[str, Any]


def placed_by(pod_set: PodSet) -> Data:
    """Return the fields of a pod's spec that decide where it may go."""
    node: Data = {}
    if pod_set.node_affinity:
        node[REQUIRED] = {"nodeSelectorTerms": [_plain(item) for item in pod_set.node_affinity]}
    if pod_set.preferred_node_affinity:
        node[PREFERRED] = [_plain(item) for item in pod_set.preferred_node_affinity]
    affinity = {
        "nodeAffinity": node,
        "podAffinity": _pods(pod_set.pod_affinity, pod_set.preferred_pod_affinity),
        "podAntiAffinity": _pods(pod_set.pod_anti_affinity, pod_set.preferred_pod_anti_affinity),
    }
    spread = [
        {**_plain(item), "whenUnsatisfiable": when}
        for when, items in (
            ("DoNotSchedule", pod_set.topology_spread_constraints),
            ("ScheduleAnyway", pod_set.preferred_topology_spread),
        )
        for item in items
    ]
    fields = {
        "nodeSelector": dict(sorted(pod_set.node_selector.items())),
        "affinity": {name: value for name, value in affinity.items() if value},
        "tolerations": [_plain(item) for item in pod_set.tolerations],
        "topologySpreadConstraints": spread,
    }
    return {name: value for name, value in fields.items() if value}


def _pods(
    required: Sequence[PodAffinityTerm | PodAntiAffinityTerm], preferred: Sequence[PreferredPods]
) -> Data:
    fields: Data = {}
    if required:
        fields[REQUIRED] = [_plain(item) for item in required]
    if preferred:
        terms = [_plain(item) for item in preferred]
        fields[PREFERRED] = [
            {"weight": term.pop("weight"), "podAffinityTerm": term} for term in terms
        ]
    return fields


def _plain(part: Part) -> Data:
    """Return a part whose fields are those of Kubernetes; an empty selector is not none."""
    data = part.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    selector = getattr(part, "label_selector", None)
    if selector is not None:
        data.setdefault("labelSelector", {})
    return data
