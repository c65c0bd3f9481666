"""Which pods stay where they are: the causes that a whole dump tells, and which of them are lifted.

The defaults are the common ones of rescheduler, autoscaler and drain; ``docs/disturbance.md`` lists
them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from kantopt.formats.kubernetes.disruption import CONSENTS, LASTING
from kantopt.formats.kubernetes.gangs import level_wish
from kantopt.formats.kubernetes.pods import Pod
from kantopt.formats.kubernetes.priorities import Priorities
from kantopt.formats.kubernetes.ray_clusters import is_head
from kantopt.formats.kubernetes.runtime import duration_seconds
from kantopt.formats.kubernetes.stateful_sets import StatefulSets
from kantopt.schema.selection import selector_matches
from kantopt.schema.snapshot import PodDisruptionBudget
from kantopt.schema.stays import CAUSES, FIXED, WORDS, Cause, Fixed

SYSTEM_CRITICAL = 2_000_000_000
"""Least priority of what Kubernetes keeps for the system."""
_ONLY_MOVES: frozenset[Cause | Fixed] = frozenset(("group", "lower-ordinal"))
"""Causes that speak against moving a pod, as it would not come back so, but against no eviction."""
_TAS = "kueue.x-k8s.io/tas"
_UNCONSTRAINED = "kueue.x-k8s.io/podset-unconstrained-topology"


class Stays:
    """Tells of each pod why it stays.

    Parameters
    ----------
    budgets, priorities, sets
        Those of the cluster.
    now
        When the cluster was like this; ``None``: nobody knows.
    lifted
        Causes that keep nobody.
    """

    def __init__(
        self,
        budgets: Sequence[PodDisruptionBudget],
        priorities: Priorities,
        sets: StatefulSets,
        now: str | None,
        lifted: Collection[str],
    ) -> None:
        self._priorities = priorities
        self._sets = sets
        self._now = None if now is None else datetime.fromisoformat(now)
        self._lifted = frozenset(lifted)
        self._system = [budget for budget in budgets if budget.namespace == "kube-system"]
        self._counts: Counter[Cause | Fixed] = Counter()

    def settle(self, pod: Pod) -> Pod:
        """Return a pod with the causes that keep it; those that run are counted under the first."""
        causes = [cause for cause in (*pod.stays, *self._more(pod)) if cause not in self._lifted]
        if pod.shape.get("nominated"):
            # It has not started: nothing of it is lost, and it goes on waiting.
            causes = [cause for cause in causes if cause in FIXED]
        if not causes:
            return replace(pod, pinned="", homebound=())
        if pod.node:
            self._counts[causes[0]] += 1
        # A member of a group may be evicted: with all of it, where evicting takes all of it.
        only_moves = _ONLY_MOVES.issuperset(causes)
        return replace(pod, pinned="" if only_moves else causes[0], homebound=tuple(causes))

    def lasting(self, pod: Pod) -> Pod:
        """Return a pod that its scheduler takes nothing from; one that runs counts so."""
        if pod.shape.get("nominated"):
            return pod
        if pod.node and not pod.homebound:
            self._counts["lasting"] += 1
        return replace(pod, pinned=pod.pinned or "lasting", homebound=(*pod.homebound, "lasting"))

    def _more(self, pod: Pod) -> list[Cause]:
        """Causes that are not the pod's alone; consent covers what follows the look at it."""
        found: list[Cause] = []
        if self._lasts(pod):
            found.append("annotated")
        if any(fixed in pod.stays for fixed in FIXED):
            return []
        if not pod.unit and self._sets.is_behind(pod):
            found.append("lower-ordinal")  # consent does not bring it back
        if any(pod.annotations.get(key) in values for key, values in CONSENTS.items()):
            return found
        if self._priorities.of(pod) >= SYSTEM_CRITICAL:
            found.append("system-critical")
        if pod.namespace == "kube-system" and not self._guarded(pod):
            found.append("kube-system")
        if _goes_together(pod):
            found.append("group")
        return found

    def _guarded(self, pod: Pod) -> bool:
        return any(selector_matches(budget.selector, pod.labels) for budget in self._system)

    def _lasts(self, pod: Pod) -> bool:
        """Whether a time has not passed for which a pod asks to be left alone."""
        seconds = duration_seconds(pod.annotations.get(LASTING, ""))
        since = pod.started or pod.created
        if seconds is None or not pod.node:
            return False
        if self._now is None or since is None:
            return True
        return self._now < datetime.fromisoformat(since) + timedelta(seconds=seconds)

    def line(self) -> str:
        """Say in one line how many pods stay and why; empty if none do."""
        if not self._counts:
            return ""
        order = [*CAUSES, *FIXED]
        ranked = sorted(self._counts.items(), key=lambda item: (-item[1], order.index(item[0])))
        listed = ", ".join(f"{count} {WORDS[cause]}" for cause, count in ranked)
        total = self._counts.total()
        stay = "1 pod stays" if total == 1 else f"{total} pods stay"
        names = [cause for cause, _ in ranked if cause in CAUSES]
        how = f" (--disturb {', '.join(names)})" if names else ""
        return f"{stay}: {listed}{how}"


def _goes_together(pod: Pod) -> bool:
    """Whether moving the pod takes others along, ends its job, or cannot be done at all.

    Some units end with any of their pods, Kueue sends a pod of a gang placed by topology back to
    where it came from, and what runs on the head of a Ray cluster ends with it. A unit that is made
    anew moves as a whole.
    """
    if pod.ends_others or is_head(pod):
        return True
    by_kueue = pod.local_queue or pod.labels.get(_TAS)
    placed = pod.labels.get(_TAS) == "true" or _UNCONSTRAINED in pod.annotations
    return bool(by_kueue and (placed or level_wish(pod)))
