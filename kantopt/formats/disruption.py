"""What may be disturbed: which pods may be evicted or moved, at which cost, within which budget."""

from __future__ import annotations

import re

from kantopt.formats.kubernetes_nodes import bounded, read_selector
from kantopt.formats.objects import Notes
from kantopt.formats.view import View
from kantopt.schema.snapshot import PodDisruptionBudget

_MIRROR = "kubernetes.io/config.mirror"
_SAFE = "cluster-autoscaler.kubernetes.io/safe-to-evict"
_SAFE_VOLUMES = "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes"
_COST = "controller.kubernetes.io/pod-deletion-cost"
_NEVER = {
    "karpenter.sh/do-not-disrupt": "true",
    "karpenter.sh/do-not-evict": "true",
    _SAFE: "false",
    "volcano.sh/preemptable": "false",
}
_PERCENT = re.compile(r"\d{1,2}%|100%")


def owner_of(metadata: View) -> View | None:
    """Return the controller that owns a pod, else its first owner; ``None``: it stands alone."""
    owners = list(metadata.list("ownerReferences"))
    return next((owner for owner in owners if owner.flag("controller")), next(iter(owners), None))


def why_pinned(pod: View) -> str:
    """Say why a pod may be neither evicted nor moved; empty if nothing speaks against it."""
    metadata, spec = pod.at("metadata"), pod.at("spec")
    annotations = metadata.words("annotations")
    owner = owner_of(metadata)
    kind = "" if owner is None else owner.text("kind")
    if "deletionTimestamp" in metadata:
        return "is terminating"
    if kind == "DaemonSet":
        return "belongs to a DaemonSet"
    if _MIRROR in annotations or kind == "Node":
        return "is a static pod"
    for name, value in _NEVER.items():
        if annotations.get(name) == value:
            return f"is annotated {name}={value}"
    # The autoscaler's explicit consent also covers what it would not dare by itself.
    if annotations.get(_SAFE) == "true":
        return ""
    if owner is None:
        return "has no owner that would replace it"
    if _has_local_storage(spec, annotations):
        return "has local storage"
    return ""


def _has_local_storage(spec: View, annotations: dict[str, str]) -> bool:
    """Whether evicting would lose files: hostPath, or emptyDir on disk (as the autoscaler)."""
    safe = {name.strip() for name in annotations.get(_SAFE_VOLUMES, "").split(",")}
    return any(
        volume.text("name") not in safe
        and (
            "hostPath" in volume
            or ("emptyDir" in volume and volume.at("emptyDir").text("medium") != "Memory")
        )
        for volume in spec.list("volumes")
    )


def disruption_cost(annotations: dict[str, str]) -> int:
    """Return 1 and the pod's deletion cost, at least 0: else evicting would pay."""
    text = annotations.get(_COST, "0")
    return bounded(1 + int(text)) if re.fullmatch(r"[-+]?\d{1,10}", text) else 1


def read_budget(budget: View, notes: Notes) -> PodDisruptionBudget | None:
    """Read a disruption budget; what its status allows now stands above its spec."""
    metadata, spec, status = budget.at("metadata"), budget.at("spec"), budget.at("status")
    name = metadata.name()
    if "selector" not in spec:
        notes.add("disruption budgets without selector protect nothing and are left out", name)
        return None
    allowed = status.integer("disruptionsAllowed")
    least = most = None
    if allowed is None:
        most = _share(spec, "maxUnavailable")
        if most is None:
            least = _share(spec, "minAvailable")
            least = 1 if least is None else least
    return PodDisruptionBudget(
        name=name or "?",
        namespace=metadata.text("namespace") or "default",
        selector=read_selector(spec.at("selector")),
        disruptions_allowed=None if allowed is None else bounded(allowed),
        min_available=least,
        max_unavailable=most,
        uid=metadata.text("uid"),
        resource_version=metadata.text("resourceVersion"),
    )


def _share(spec: View, key: str) -> int | str | None:
    """Read a number of pods or a percentage of them."""
    if isinstance(spec.raw.get(key), str):
        text = spec.text(key)
        if _PERCENT.fullmatch(text):
            return text
        spec.problem(key, "a whole number or a percentage such as 25%")
        return None
    number = spec.integer(key, 0)
    return None if number is None else bounded(number)
