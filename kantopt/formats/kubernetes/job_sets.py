"""Pods of JobSets: what becomes of all of them when one goes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from kantopt.formats.kubernetes.disruption import owner_of
from kantopt.formats.kubernetes.ending_owners import job_ends
from kantopt.formats.kubernetes.objects import Objects
from kantopt.formats.kubernetes.pods import Pod
from kantopt.formats.kubernetes.restarts import action_on_disruption, failures_left
from kantopt.formats.view import Key, View

_PREFIX = "jobset.sigs.k8s.io"
_OF_TRAINER = "trainer.kubeflow.org/trainjob-ancestor-step"
_FAIL = "FailJobSet"
_RECREATE = "RecreateJob"
"""The one action on a single Job in builds from before its release, without a bound."""
_ALONE = ("RestartJob", "RestartJobAndIgnoreMaxRestarts", _RECREATE)
"""Actions that make a Job anew and leave the others of its JobSet alone."""
_IGNORING = ("RestartJobSetAndIgnoreMaxRestarts", "RestartJobAndIgnoreMaxRestarts", _RECREATE)
"""Actions that ``maxRestarts`` does not bound."""


@dataclass(frozen=True, slots=True)
class _Fate:
    """What a JobSet does where it loses a pod whose Job bears no loss."""

    alone: Mapping[str, int] = field(default_factory=dict)
    """Of Jobs that it makes anew by themselves how often each may be, by uid; 0: none is left."""
    restarts: int | None = None
    """How often all others, which go together; 0: they end. ``None``: all of those bear losses."""


_BEARS_ALL = _Fate()


class JobSets:
    """Tells which pods of a JobSet go together.

    A Job that bears the loss of a pod makes it anew by itself. One that does not fails, and the
    JobSet deletes it or all of its Jobs: for good, or to make them anew, as its ``failurePolicy``
    says. Pods of a TrainJob are ranks of one run, and those of a JobSet that restarts in place
    start again with any of them: they go together, whatever their Jobs bear.

    Parameters
    ----------
    objects
        Those of the input; JobSets that are not among them are noted.
    by_ones
        Whether pods go one by one whose Jobs bear that, though all of their run starts again.
    """

    def __init__(self, objects: Objects, *, by_ones: bool = False) -> None:
        self._by_ones = by_ones
        self._sets = objects.by_name("jobset.x-k8s.io", "JobSet")
        self._of: dict[str, str] = {}
        """Name of the JobSet of each Job, by its uid."""
        failing: dict[Key, dict[str, tuple[str, str]]] = {}
        """Of each JobSet the Jobs that bear no loss, by uid: their role, and why they fail."""
        owners = (owner_of(pod) for pod in objects.pods() if pod.node)
        at_work = {owner.text("uid") for owner in owners if owner is not None}
        """Owners of pods that have a node: nobody evicts those of the others."""
        for job in objects.of("batch", "Job"):
            uid, name = job.uid, _set_of(job)
            if uid:
                self._of[uid] = name
            if name and uid in at_work and not job_ends(job) and failures_left(job) == 0:
                role = job.labels.get(f"{_PREFIX}/replicatedjob-name", "")
                key = job.at("metadata").text("namespace"), name
                failing.setdefault(key, {})[uid] = role, _reason(job)
        self._fates: dict[Key, _Fate] = {}
        for key, jobs in failing.items():
            job_set = self._sets.get(key)
            if job_set is None:
                text = "JobSets that are not in the input end as a whole where a Job of them fails"
                objects.notes.add(f"{text}: add jobsets to kubectl get", "/".join(key))
            self._fates[key] = _Fate(restarts=0) if job_set is None else _fate(job_set, jobs)

    def into(self, pod: Pod) -> Pod | None:
        """Return a pod that knows its unit; ``None`` if it is of no JobSet, or goes alone."""
        name = pod.labels.get(f"{_PREFIX}/jobset-name", "") or self._of.get(pod.owner_uid, "")
        if not name:
            return None
        key = pod.namespace, name
        fate, job_set = self._fates.get(key, _BEARS_ALL), self._sets.get(key)
        one_run = not self._by_ones and (
            _OF_TRAINER in pod.labels or (job_set is not None and _is_one_run(job_set))
        )
        if pod.owner_uid in fate.alone and not one_run:
            return replace(pod, unit=pod.owner_name, unit_restarts=fate.alone[pod.owner_uid])
        if not pod.node:
            return None  # none ends with it, and each Job may start when its own pods have room
        if fate.restarts is None:
            return replace(pod, unit=name) if one_run else None
        if not fate.restarts:
            return replace(pod, unit=name, ends_others=True, ends_job=True)
        # Jobs that the JobSet makes anew by themselves are made anew with these as well.
        ends_others = bool(fate.alone)
        return replace(pod, unit=name, unit_restarts=fate.restarts, ends_others=ends_others)


def _owners(view: View, kind: str) -> Iterator[str]:
    for owner in view.owners:
        if owner.text("kind") == kind and owner.flag("controller"):
            yield owner.text("name")


def _set_of(job: View) -> str:
    own = job.labels.get(f"{_PREFIX}/jobset-name", "")
    return own or next(_owners(job, "JobSet"), "")


def _is_one_run(job_set: View) -> bool:
    """Whether all its pods start again where one is lost, though no Job of it fails."""
    in_place = job_set.at("spec", "failurePolicy").text("restartStrategy") == "InPlaceRestart"
    return in_place or next(_owners(job_set, "TrainJob"), None) is not None


def _fate(job_set: View, failing: Mapping[str, tuple[str, str]]) -> _Fate:
    """Say what a JobSet does about those of its Jobs that bear no loss, by their uids."""
    left = _restarts_left(job_set)
    actions = {uid: _action(job_set, *why) for uid, why in failing.items()}
    times = dict.fromkeys(actions, left)
    times |= {uid: max(1, left) for uid, action in actions.items() if action in _IGNORING}
    times |= {uid: 0 for uid, action in actions.items() if action == _FAIL}
    alone = {uid: times[uid] for uid, action in actions.items() if action in _ALONE and times[uid]}
    others = min((times[uid] for uid in actions if uid not in alone), default=None)
    # What is left is for all of them: one more, of whichever Job, ends the JobSet.
    sharing = [uid for uid in alone if actions[uid] not in _IGNORING]
    for i, uid in enumerate(sharing):
        alone[uid] = left // len(sharing) + (i < left % len(sharing))
    return _Fate(alone, others)


def _reason(job: View) -> str:
    """Return why a Job fails that loses a pod, as rules of JobSets name it."""
    by_policy = action_on_disruption(job) != "Count"
    return "PodFailurePolicy" if by_policy else "BackoffLimitExceeded"


def _action(job_set: View, role: str, reason: str) -> str:
    """Return what a JobSet does about a Job that fails: the first rule that applies says."""
    spec = job_set.at("spec")
    if "failurePolicy" not in spec:
        return _FAIL
    for rule in spec.at("failurePolicy").list("rules"):
        if rule.raw.get("onJobFailureMessagePatterns"):
            continue  # what a Job will say of its failure nobody knows
        reasons, roles = rule.strings("onJobFailureReasons"), rule.strings("targetReplicatedJobs")
        if (not reasons or reason in reasons) and (not roles or role in roles):
            return rule.text("action")
    return "RestartJobSet"


def _restarts_left(job_set: View) -> int:
    """Count how often a JobSet may yet make one or all of its Jobs anew before it fails."""
    policy, status = job_set.at("spec", "failurePolicy"), job_set.at("status")
    done = status.integer("restartsCountTowardsMax", 0)
    if done is None:
        # A 0 is left out, which it is after restarts only if some do not count: else it is missing
        # because the controller is an old one, which counts all of them.
        ignoring = any(rule.text("action") in _IGNORING for rule in policy.list("rules"))
        done = 0 if ignoring else status.integer("restarts", 0) or 0
    for role in status.list("replicatedJobsStatus"):
        counts = role.raw.get("jobRestartsCountTowardsMax")
        if isinstance(counts, list):
            done += sum(count for count in counts if isinstance(count, int))
    return max(0, (policy.integer("maxRestarts", 0) or 0) - done)
