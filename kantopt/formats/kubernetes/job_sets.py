"""Pods of JobSets: what becomes of all of them when one goes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from kantopt.formats.kubernetes.objects import Objects
from kantopt.formats.kubernetes.pods import Pod
from kantopt.formats.kubernetes.restarts import action_on_disruption, failures_left
from kantopt.formats.notes import Notes
from kantopt.formats.view import Key, View

_PREFIX = "jobset.sigs.k8s.io"
_OF_TRAINER = "trainer.kubeflow.org/trainjob-ancestor-step"
_FAIL, _IGNORING, _RECREATE = "FailJobSet", "RestartJobSetAndIgnoreMaxRestarts", "RecreateJob"
_DONE = ("Complete", "Failed")


class JobSets:
    """Tells which pods of a JobSet go together.

    A Job that bears the loss of a pod makes it anew by itself. One that does not fails, and the
    JobSet deletes all of its Jobs: for good, or to make them anew, as its ``failurePolicy`` says.
    Pods of a TrainJob are ranks of one run, and those of a JobSet that restarts in place start
    again with any of them: they go together, whatever their Jobs bear.

    Parameters
    ----------
    objects
        Those of the input.
    notes
        Takes the JobSets that are not there.
    by_ones
        Whether pods go one by one whose Jobs bear that, though all of their run starts again.
    """

    def __init__(self, objects: Objects, notes: Notes, *, by_ones: bool = False) -> None:
        self._notes = notes
        self._by_ones = by_ones
        self._sets = objects.by_name("jobset.x-k8s.io", "JobSet")
        self._of: dict[str, str] = {}
        """Name of the JobSet of each Job, by its uid."""
        self._failing: dict[Key, dict[str, tuple[str, str]]] = {}
        """Of each JobSet the Jobs that bear no loss, by uid: their role, and why they fail."""
        for job in objects.of("batch", "Job"):
            metadata = job.at("metadata")
            uid, name = metadata.text("uid"), _set_of(metadata)
            if uid:
                self._of[uid] = name
            if name and not _done(job) and failures_left(job) == 0:
                role = metadata.words("labels").get(f"{_PREFIX}/replicatedjob-name", "")
                failing = self._failing.setdefault((metadata.text("namespace"), name), {})
                failing[uid] = role, _reason(job)

    def into(self, pod: Pod) -> Pod | None:
        """Return a pod that knows its unit; ``None`` if it is of no JobSet, or goes alone."""
        name = pod.labels.get(f"{_PREFIX}/jobset-name", "") or self._of.get(pod.owner_uid, "")
        key = pod.namespace, name
        failing = self._failing.get(key, {})
        job_set = self._sets.get(key)
        if not name:
            return None
        if not failing:
            one_run = _OF_TRAINER in pod.labels or (job_set is not None and _is_one_run(job_set))
            return replace(pod, unit=name) if one_run and not self._by_ones else None
        if job_set is None:
            if pod.node:
                text = "JobSets that are not in the input end as a whole where a Job of them fails"
                self._notes.add(text, f"{pod.namespace}/{name}")
            return _ending(pod, name)
        actions = {uid: _action(job_set, *why) for uid, why in failing.items()}
        if set(actions.values()) == {_RECREATE}:  # each of those Jobs is made anew by itself
            recreated = pod.owner_uid in actions
            return replace(pod, unit=pod.owner_name, unit_restarts=1) if recreated else None
        restarts = min(_restarts(job_set, action) for action in actions.values())
        return replace(pod, unit=name, unit_restarts=restarts) if restarts else _ending(pod, name)


def _ending(pod: Pod, name: str) -> Pod:
    return replace(pod, unit=name, ends_others=True, ends_job=True)


def _owners(metadata: View, kind: str) -> Iterator[str]:
    for owner in metadata.list("ownerReferences"):
        if owner.text("kind") == kind and owner.flag("controller"):
            yield owner.text("name")


def _set_of(metadata: View) -> str:
    own = metadata.words("labels").get(f"{_PREFIX}/jobset-name", "")
    return own or next(_owners(metadata, "JobSet"), "")


def _is_one_run(job_set: View) -> bool:
    """Whether all its pods start again where one is lost, though no Job of it fails."""
    in_place = job_set.at("spec", "failurePolicy").text("restartStrategy") == "InPlaceRestart"
    return in_place or next(_owners(job_set.at("metadata"), "TrainJob"), None) is not None


def _done(job: View) -> bool:
    """Whether a Job has ended, and has no pods to lose."""
    return any(
        condition.text("status") == "True" and condition.text("type") in _DONE
        for condition in job.at("status").list("conditions")
    )


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
        reasons, roles = rule.strings("onJobFailureReasons"), rule.strings("targetReplicatedJobs")
        if (not reasons or reason in reasons) and (not roles or role in roles):
            return rule.text("action")
    return "RestartJobSet"


def _restarts(job_set: View, action: str) -> int:
    """Count how often a JobSet makes all of its Jobs anew before it fails; at least 1 unless so."""
    most = job_set.at("spec", "failurePolicy").integer("maxRestarts", 0) or 0
    status = job_set.at("status")
    counted = status.integer("restartsCountTowardsMax", 0)
    done = (status.integer("restarts", 0) or 0) if counted is None else counted
    left = 0 if action == _FAIL else max(0, most - done)
    return max(1, left) if action in (_IGNORING, _RECREATE) else left
