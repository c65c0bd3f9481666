"""What may be disturbed: which pods may be evicted or moved, at which cost, within which budget."""

from __future__ import annotations

import re
from collections.abc import Container

from kantopt.formats.kubernetes.nodes import bounded, read_selector
from kantopt.formats.notes import Notes
from kantopt.formats.view import View
from kantopt.schema.snapshot import PodDisruptionBudget
from kantopt.schema.stays import Cause, Fixed

_MIRROR = "kubernetes.io/config.mirror"
_SAFE = "cluster-autoscaler.kubernetes.io/safe-to-evict"
_SAFE_VOLUMES = "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes"
_COST = "controller.kubernetes.io/pod-deletion-cost"
LASTING = "karpenter.sh/do-not-disrupt"
"""Leaves a pod alone: ``true`` for good, a duration until the pod is that old."""
_NEVER = {
    LASTING: ("true",),
    "karpenter.sh/do-not-evict": ("true",),
    _SAFE: ("false", "on-completion"),
}
_PREEMPTABLE = "volcano.sh/preemptable"
_YES = ("1", "t", "T", "true", "TRUE", "True")
"""How Go writes that something is so; Volcano takes anything else for a no."""
_EVICT = "descheduler.alpha.kubernetes.io/evict"
_PREFERS = "descheduler.alpha.kubernetes.io/prefer-no-eviction"


class _Anything:
    """Every value, but not that there is none."""

    def __contains__(self, value: object) -> bool:
        return value is not None


CONSENTS: dict[str, Container[str | None]] = {_SAFE: ("true",), _EVICT: _Anything()}
"""Annotations by which somebody agrees that a pod is disturbed, whatever else speaks against it."""
_PERCENT = re.compile(r"\d{1,2}%|100%")


def owner_of(pod: View) -> View | None:
    """Return the controller that owns a pod, else its first owner; ``None``: it stands alone."""
    owners = pod.owners
    return next((owner for owner in owners if owner.flag("controller")), next(iter(owners), None))


def controls(pod_uid: str, claim: View) -> bool:
    """Whether a pod is the controller of a claim, not only one of its owners."""
    return any(o.text("uid") == pod_uid and o.flag("controller") for o in claim.owners)


def causes_of(pod: View) -> tuple[Cause | Fixed, ...]:
    """Say why a pod may be neither evicted nor moved, as far as itself tells; empty: it may."""
    annotations, owner = pod.annotations, owner_of(pod)
    kind = "" if owner is None else owner.text("kind")
    if pod.terminating:
        return ("terminating",)
    if kind == "DaemonSet":
        return ("daemon",)
    if _MIRROR in annotations or kind == "Node":
        return ("static",)
    found: list[Cause] = []
    # Volcano reads an annotation before a label.
    by_volcano = annotations.get(_PREEMPTABLE, pod.labels.get(_PREEMPTABLE, "true"))
    if by_volcano not in _YES or any(annotations.get(n) in v for n, v in _NEVER.items()):
        found.append("annotated")
    # Explicit consent also covers what nobody would dare by itself.
    elif not any(annotations.get(name) in values for name, values in CONSENTS.items()):
        if _PREFERS in annotations:
            found.append("annotated")
        if owner is None or not owner.flag("controller"):
            found.append("no-controller")
        if _has_local_storage(pod.at("spec"), annotations):
            found.append("local-storage")
    return tuple(found)


def _has_local_storage(spec: View, annotations: dict[str, str]) -> bool:
    """Whether evicting would lose files: hostPath, emptyDir on disk, or a claim of its own.

    The autoscaler minds the first two; an ephemeral volume's claim ends with its pod as well.
    """
    safe = {name.strip() for name in annotations.get(_SAFE_VOLUMES, "").split(",")}
    return any(
        volume.text("name") not in safe
        and (
            "hostPath" in volume
            or "ephemeral" in volume
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
    if (metadata.integer("generation") or 0) > (status.integer("observedGeneration") or 0) > 0:
        allowed = 0
        text = "disruption budgets that allow nothing, as their status is of an older spec"
        notes.add(text, name)
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
        evict_unready=_lets_unready_go(spec, status),
        disruptions_allowed=None if allowed is None else bounded(allowed),
        min_available=least,
        max_unavailable=most,
        uid=metadata.text("uid"),
        resource_version=metadata.text("resourceVersion"),
    )


def _lets_unready_go(spec: View, status: View) -> bool:
    """Whether pods that are not ready may go in any number: if told, or enough others are ready."""
    if spec.text("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    wanted = status.integer("desiredHealthy", 0) or 0
    return (status.integer("currentHealthy", 0) or 0) >= wanted > 0


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
