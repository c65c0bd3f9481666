"""Owners that make no pod anew as they stand: suspended, done, being deleted, or too many pods."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator

from kantopt.formats.kubernetes.objects import Objects
from kantopt.formats.kubernetes.pods import Pod
from kantopt.formats.view import View

_KINDS = (("batch", "Job"), ("apps", "ReplicaSet"), ("apps", "StatefulSet"))
_DONE = ("Complete", "Failed", "FailureTarget", "SuccessCriteriaMet")
"""Conditions of a Job that makes no more pods."""


def note_ending_owners(objects: Objects, pods: Iterable[Pod]) -> None:
    """Name the owners of running pods that would not replace one that is moved.

    They are moved all the same, since an owner at work is often another one soon after the dump.
    """
    there, movable = Counter[str](), set[str]()
    for pod in pods:
        if pod.ref.owner_kind and not pod.terminating:
            there[pod.owner_uid] += 1
            if pod.node and not pod.homebound:
                movable.add(pod.owner_uid)
    for owner, why in _ending(objects, there, movable):
        namespace, name = owner.key
        text = "owners that make none of their pods anew as they stand: one that is moved is gone"
        objects.notes.add(text, f"{owner.text('kind')} {namespace}/{name} {why}")


def _ending(
    objects: Objects, there: Counter[str], movable: Collection[str]
) -> Iterator[tuple[View, str]]:
    """Yield owners of pods that may be moved, and what they are."""
    for group, kind in _KINDS:
        for owner in objects.of(group, kind):
            uid = owner.uid
            if uid in movable and (why := _why(owner, there[uid])):
                yield owner, why


def _why(owner: View, pods: int) -> str:
    """Say why an owner of so many pods makes none anew; empty if it does."""
    if owner.terminating:
        return "is being deleted"
    spec = owner.at("spec")
    if owner.text("kind") != "Job":
        wanted = spec.integer("replicas", 0)
        fewer = wanted is not None and wanted < pods
        return f"wants {wanted} of {pods}" if fewer else ""
    if end := job_ends(owner):
        return f"is {end}"
    if spec.flag("suspend"):
        return "is suspended"
    return ""


def job_ends(job: View) -> str:
    """Return the condition by which a Job makes no more pods; empty if it has none."""
    for condition in job.at("status").list("conditions"):
        if condition.text("status") == "True" and condition.text("type") in _DONE:
            return condition.text("type")
    return ""
