"""How many pods an owner lets go: a Job's backoffLimit, the order of a StatefulSet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from kantopt.formats.kubernetes.nodes import bounded
from kantopt.formats.kubernetes.objects import Objects
from kantopt.formats.kubernetes.pods import Pod
from kantopt.formats.kubernetes.stateful_sets import StatefulSets
from kantopt.formats.view import View
from kantopt.schema.hints import plural
from kantopt.schema.stays import PACES, Cause, Pace

_BACKOFF_LIMIT = 6
"""What a Job bears that names no number."""


@dataclass(frozen=True, slots=True)
class Bearable:
    """What the owners of a job's pods bear; ``None``: any number."""

    moves: int | None = None
    at_once: int | None = None
    causes: tuple[Cause, ...] = ()
    """Why none is moved, where that is not for what an owner bears."""


class Restarts:
    """Tells what the owners of pods bear, as objects of the input say, else by their defaults.

    What is ``lifted`` is not kept to.
    """

    def __init__(self, objects: Objects, sets: StatefulSets, lifted: Collection[str]) -> None:
        self._jobs = {view.uid: view for view in objects.of("batch", "Job")}
        self._sets = sets
        self._lifted = frozenset(lifted)
        self._counts: Counter[Pace] = Counter()

    def of(self, pods: Sequence[Pod]) -> Bearable:
        """Return what the owners of one job's pods bear; counts jobs that this slows down."""
        owners = {(pod.ref.owner_kind, pod.owner_uid) for pod in pods if pod.node}
        movable = sum(bool(pod.node) and not pod.homebound for pod in pods)
        moves = at_once = None
        if "backoff-limit" not in self._lifted:
            moves = self._moves(owners, pods)
            self._counts["backoff-limit"] += moves is not None and moves < movable
        if "group" not in self._lifted and any(pod.ends_job and pod.node for pod in pods):
            moves = 0  # whoever is gone takes the job along
        bare = movable > 0 and not any(pod.ref.owner_kind for pod in pods)
        if "no-controller" in self._lifted:
            bare = False
        if bare:
            moves = 0  # such pods may consent to be evicted, but nobody makes them anew
        one_by_one = not any(pod.unit for pod in pods)  # else all of them are made anew at once
        slow = one_by_one and any(
            kind == "StatefulSet" and self._sets.ordered(uid) for kind, uid in owners
        )
        if "ordered-ready" not in self._lifted and movable > 1 and slow:
            at_once = 1
            self._counts["ordered-ready"] += 1
        return Bearable(moves, at_once, ("no-controller",) if bare else ())

    def _moves(self, owners: Iterable[tuple[str, str]], pods: Sequence[Pod]) -> int | None:
        """Pods that may move before an owner makes none anew; ``None``: any number."""
        there = [pod for pod in pods if pod.node]
        if tries := min((pod.unit_restarts for pod in there), default=0):
            return bounded(tries * len(there))  # their Jobs fail and are made anew with them
        by_owner: dict[str, list[Pod]] = {}
        for pod in pods:
            by_owner.setdefault(pod.owner_uid, []).append(pod)
        left = [
            failures_left(self._jobs.get(uid), by_owner[uid])
            for kind, uid in owners
            if kind == "Job"
        ]
        return min((n for n in left if n is not None), default=None)

    def line(self) -> str:
        """Say in one line of how many jobs this lets some pods go only; empty if of none."""
        names = [pace for pace in PACES if self._counts[pace]]
        if not names:
            return ""
        paces = ((plural(self._counts[pace], "job"), PACES[pace]) for pace in names)
        said = ", ".join(f"of {jobs} {pace}" for jobs, pace in paces)
        return f"{said} (--disturb {', '.join(names)})"


def failures_left(job: View | None, pods: Iterable[Pod] = ()) -> int | None:
    """Count the pods of a Job that may yet fail, as every pod does that is deleted.

    Parameters
    ----------
    job
        The Job; ``None`` if it is not in the input, and its limit is the default.
    pods
        Its pods, whose indices may have failed before.

    Returns
    -------
    int | None
        ``None`` for any number.
    """
    if job is None:
        return _BACKOFF_LIMIT
    spec, status = job.at("spec"), job.at("status")
    action = action_on_disruption(job)
    if action != "Count":
        return None if action == "Ignore" else 0
    by_index = spec.integer("backoffLimitPerIndex", 0)
    if by_index is not None and any(_failures(pod) >= by_index for pod in pods):
        return 0
    limit = spec.integer("backoffLimit", 0)
    if limit is None:
        if by_index is not None:
            return None  # each pod is an index of its own
        limit = _BACKOFF_LIMIT
    return bounded(max(0, limit - (status.integer("failed", 0) or 0)))


_SIGNALS = frozenset(("137", "143"))
"""Exit codes of containers that SIGKILL or SIGTERM ended, as they do where a pod is evicted."""
_FATAL = ("FailJob", "FailIndex")


def action_on_disruption(job: View) -> str:
    """Return what a Job makes of a pod that is evicted: the first rule that matches says."""
    for rule in job.at("spec", "podFailurePolicy").list("rules"):
        action = rule.text("action")
        if any(
            pattern.text("type") == "DisruptionTarget" and pattern.text("status", "True") == "True"
            for pattern in rule.list("onPodConditions")
        ) or (action in _FATAL and _may_match(rule.at("onExitCodes"))):
            return action
    return "Count"


def _may_match(codes: View) -> bool:
    """Whether a rule about exit codes may be about containers that a signal ended."""
    values = codes.raw.get("values")
    listed = {str(code) for code in values} if isinstance(values, list) else set()
    operator = codes.text("operator")
    if operator == "In":
        return bool(_SIGNALS & listed)
    return operator == "NotIn" and not listed >= _SIGNALS


def _failures(pod: Pod) -> int:
    """How often the index of a pod has failed; it bears as many failures as its limit."""
    text = pod.annotations.get("batch.kubernetes.io/job-index-failure-count", "0")
    return int(text) if text.isdecimal() and len(text) < 10 else 0
