"""What became of a pod that ran in an earlier dump: by uid, conditions, owners and events."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from kantopt.formats.kubernetes.history.kinds import MARKED, Kinds
from kantopt.formats.kubernetes.history.owners import Owners, Verdict
from kantopt.formats.kubernetes.objects import ended
from kantopt.formats.view import View
from kantopt.schema.answers.history import Became

REASONS: Mapping[str, tuple[Became, str]] = {
    "PreemptionByScheduler": ("preempted", "by the scheduler"),
    "EvictionByEvictionAPI": ("drained", "by the Eviction API"),
    "DeletionByTaintManager": ("tainted", "by a taint of its node"),
    "DeletionByDeviceTaintManager": ("tainted", "by a taint of its device"),
    "DeletionByPodGC": ("node gone", "by the garbage collector"),
    "TerminationByKubelet": ("kubelet", "by the kubelet"),
}
"""Reasons of the condition DisruptionTarget: what the pod became, and by whom."""


def disrupted_by(pod: View) -> Verdict | None:
    """Return what the condition ``DisruptionTarget`` of a pod says; ``None`` without one."""
    if (condition := pod.condition(MARKED)) is None:
        return None
    reason = condition.text("reason")
    became, by = REASONS.get(reason, ("disrupted", "by whom is not known"))
    return became, f"DisruptionTarget {reason or 'True'}: {by}"


def disrupted_at(pod: View) -> str:
    """Return since when the condition ``DisruptionTarget`` of a pod holds; nothing without one."""
    condition = pod.condition(MARKED)
    return "" if condition is None else condition.text("lastTransitionTime")[:_SECONDS]


class Events:
    """What events say of pods: they are kept for an hour, mostly.

    Pods of both dumps tell when each of a name was made: whoever takes pods away from a node with a
    taint names them without a uid.
    """

    def __init__(self, dumps: Iterable[Kinds]) -> None:
        self._of_uids: dict[str, list[_Said]] = {}
        self._of_names: dict[str, list[_Said]] = {}
        """What was said of names without a uid."""
        self._of_any: dict[str, list[_Said]] = {}
        """What was said of names, with a uid or without."""
        self.preemptors: dict[str, str] = {}
        """By uid of a preempted pod the uid, or else the full name, of the one it had to go for."""
        self._made: dict[str, set[str]] = {}
        """When pods of a name were made."""
        for dump in dumps:
            for event in dump.of("Event"):
                self._hear(event)
            for pod in dump.of("Pod"):
                self._made.setdefault("/".join(pod.key), set()).add(made_at(pod))

    def _hear(self, event: View) -> None:
        about = event.at("regarding" if "regarding" in event else "involvedObject")
        if about.text("kind") not in ("", "Pod"):
            return
        note = event.text("note") or event.text("message")
        reason = event.text("reason")
        if reason == "Preempted":
            said: Verdict | None = ("preempted", "event Preempted")
        elif reason == "TaintManagerEviction":
            cancelled = note.startswith("Cancel")
            said = None if cancelled else ("tainted", "event TaintManagerEviction")
        elif reason == "Evicted":
            # Karpenter says "Evicted pod: ...", the kubelet what the node was short of.
            said = ("drained" if note.startswith("Evicted pod") else "kubelet", "event Evicted")
        else:
            return
        name, uid = f"{about.text('namespace')}/{about.text('name')}", about.text("uid")
        moments = {event.text(time)[:_SECONDS] for time in _TIMES} - {""}
        heard = [(moment, said) for moment in moments or {""}]
        self._of_any.setdefault(name, []).extend(heard)
        if uid and reason == "Preempted" and (who := _preemptor(event, note)):
            self.preemptors[uid] = who
        if uid:
            self._of_uids.setdefault(uid, []).extend(heard)
        else:
            self._of_names.setdefault(name, []).extend(heard)

    def of(self, pod: View) -> Verdict | None:
        """Return what they say of a pod at last, known by its uid, or by name where it has none.

        Of an event without a uid that pod is meant which was the last to be made by then.
        """
        return _last(self._about(pod))[1]

    def moment(self, pod: View) -> str:
        """Return when that was said; nothing if it is not told."""
        return _last(self._about(pod))[0]

    def _about(self, pod: View) -> Iterable[_Said]:
        name, uid = "/".join(pod.key), pod.uid
        if not uid or uid in self._of_uids:
            return self._of_uids.get(uid, []) if uid else self._of_any.get(name, [])
        return (
            (moment, said)
            for moment, said in self._of_names.get(name, ())
            if max((made for made in self._made.get(name, ()) if made <= moment), default="~")
            == made_at(pod)
        )


def _preemptor(event: View, note: str) -> str:
    """Return for whom an event says that a pod was preempted: kube-scheduler names it by its uid.

    Older ones name it ``NAMESPACE/NAME``.
    """
    if uid := event.at("related").text("uid"):
        return uid
    found = re.match(r"Preempted by (?:pod )?(\S+) on node ", note)
    return found[1] if found else ""


_Said = tuple[str, Verdict | None]
"""When something was said, and what; nothing if it takes back what was said before."""


def _last(said: Iterable[_Said]) -> _Said:
    """Return what was said last; what takes it back in the same second came after it."""
    return max(said, key=lambda each: (each[0], each[1] is None), default=("", None))


_TIMES = (
    *("firstTimestamp", "lastTimestamp", "eventTime"),
    *("deprecatedFirstTimestamp", "deprecatedLastTimestamp"),
)
"""When an event was seen; of one that was seen more than twice not all are known."""
_SECONDS = len("2026-09-01T03:00:00")


def made_at(pod: View) -> str:
    """Return when a pod was made; nothing if it is not told."""
    return pod.at("metadata").text("creationTimestamp")[:_SECONDS]


GONE = "is gone"


def became(
    before: View,
    now: View | None,
    *,
    lost: Mapping[str, str],
    owners: Owners,
    events: Events,
    others: list[View],
    anew: str,
) -> Verdict | None:
    """Say what became of a pod that ran in the first dump; ``None``: it runs on.

    Parameters
    ----------
    before, now
        The pod in both dumps; ``None`` if the later one does not have its uid.
    lost
        What became of the nodes that the first dump has and the later one does not.
    owners, events
        What the dumps say of whoever may be behind it.
    others
        Pods of the same root owner that came since.
    anew
        The name of one of them that was made in its place; none: there are fewer than are gone.
    """
    node = before.node
    if now is not None:
        status = now.at("status")
        if status.text("phase") == "Succeeded":
            return "finished", "phase Succeeded"
        said = disrupted_by(now)
        if ended(now):
            why = status.text("reason")
            if said is not None:
                return said[0], f"{said[1]}{f' ({why})' if why else ''}"
            if why == "Evicted":
                return "kubelet", "phase Failed, reason Evicted"
            return "failed", f"phase Failed{f', reason {why}' if why else ''}"
        if said is not None:
            return said
        if not now.terminating and lost.get(node) != GONE:
            return None
        gone = "deletionTimestamp, no condition"
    else:
        gone = "gone"
    if (said := events.of(before)) is not None:
        return said
    if (said := disrupted_by(before)) is not None:
        return said[0], f"{gone}; {said[1]}, in the first dump"
    if node in lost and (now is None or lost[node] == GONE):
        return "node gone", f"node {node} {lost[node]}"
    if (why_gone := owners.why_gone(before, others)) is not None:
        return why_gone[0], f"{gone}; {why_gone[1]}"
    if now is None and before.terminating:
        return "unknown", "gone; it was terminating before"
    if anew:
        return "disrupted", f"{gone}; its owner has {anew} since"
    if others:
        return "unknown", f"{gone}; its owner has made fewer pods since than are gone"
    return "unknown", gone if now is None else f"{gone}: a controller, a person or a scheduler"
