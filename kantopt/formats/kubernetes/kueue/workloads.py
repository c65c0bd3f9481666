"""Which of Kueue's Workloads a pod belongs to, by its owners: most pods bear no label of Kueue's.

Kueue looks at the queue that a Job names, not at its pods; what was submitted owns its Workload.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator
from dataclasses import dataclass, replace

from kantopt.formats.kubernetes.kueue.domains import GATE, domains_of, is_assigned
from kantopt.formats.kubernetes.kueue.flavors import Flavor, onto_nodes
from kantopt.formats.kubernetes.objects import Objects
from kantopt.formats.kubernetes.pods import Pod
from kantopt.formats.view import View

GROUP = "kueue.x-k8s.io"
BETWEEN = (("batch", "Job"), ("jobset.x-k8s.io", "JobSet"), ("ray.io", "RayCluster"))
"""What stands between pods and what was submitted: a JobSet has Jobs, a RayJob a cluster."""
_ADMISSION = f"{GROUP}/admission"
"""Gate of pods that Kueue admits themselves, until their Workload is."""
_GROWS = f"{GROUP}/elastic-job"
"""Gate of pods that are more than what Kueue has admitted of their job, until that is admitted."""
_REPLACES = f"{GROUP}/workload-slice-replacement-for"
"""Annotation of a Workload: the one, NAMESPACE/NAME, in whose place it is to be admitted."""
_OWNS_PODS = (
    "Job",
    "Pod",
    "RayCluster",
    "PyTorchJob",
    "MPIJob",
    "TFJob",
    "XGBoostJob",
    "PaddleJob",
)
"""Kinds of what is submitted whose pods name it as their owner, or are it."""


class KueueWorkloads:
    """Finds the Workload of a pod: one that its annotation names, or that an owner of it owns."""

    def __init__(self, objects: Objects) -> None:
        self._notes = objects.notes
        self._by_name = objects.by_name(GROUP, "Workload")
        self._by_owner: dict[str, View] = {}
        slices = Slices(objects)
        for key, view in self._by_name.items():
            if not (has_finished(view) or key in slices.waiting or key in slices.replaced):
                self._by_owner |= dict.fromkeys(owners_of(view), view)
        self._above: dict[str, list[str]] = {}
        if self._by_owner:
            for kind in BETWEEN:
                for view in objects.of(*kind):
                    self._above[view.uid] = list(owners_of(view))

    def into(self, pod: Pod) -> Pod:
        """Return a pod that knows its Workload, its part of that, and its LocalQueue.

        One that owns its Workload itself goes by its group, or its owner, as without one.
        """
        above = self._above_it(pod)
        view = above or self._by_owner.get(pod.ref.uid)
        if view is None:
            return pod
        waits = not (pod.node or pod.terminating or _GROWS in pod.ref.scheduling_gates)
        reserved = waits and "admission" in view.at("status")
        if reserved:
            text = "pods that wait though Kueue has admitted them: their jobs hold their quota"
            self._notes.add(text, pod.full_name)
        sets = [*by_role(view.at("spec"), "podSets")]
        role = sets[0] if len(sets) == 1 else ""
        gated = reserved and GATE in pod.ref.scheduling_gates
        pod = into_domains(pod, view, pod.labels.get(f"{GROUP}/podset", role), keep=gated)
        queue = pod.local_queue or view.at("spec").text("queueName")
        pod = replace(pod, local_queue=queue, quota_reserved=reserved)
        if above is None:
            return pod
        return replace(
            pod,
            kueue_workload=view.at("metadata").text("name"),
            submitted=next(iter(sorted(owners_of(view))), ""),
            kueue_role=role,
        )

    def _above_it(self, pod: Pod) -> View | None:
        """Find the Workload that a pod names, or that an owner of it owns."""
        named = pod.annotations.get(f"{GROUP}/workload", "")
        return self._by_name.get((pod.namespace, named)) or self._by_owners(pod.owner_uid, set())

    def stands_for(self, pod: Pod) -> bool:
        """Whether a pod that Kueue alone holds back waits as its Workload, or that of its group.

        So it does as well while the Workload has its quota and waits for an admission check.
        """
        gates, view = pod.ref.scheduling_gates, self._by_owner.get(pod.ref.uid)
        if not gates or view is None or not is_open(view) or self.lets_go(pod):
            return False
        return all(gate.startswith(f"{GROUP}/") for gate in gates)

    def lets_go(self, pod: Pod) -> bool:
        """Whether Kueue itself takes away all that holds a pod back, as it has admitted it here.

        While a Workload waits for an admission check its pods do so behind another gate.
        """
        gates, view = {*pod.ref.scheduling_gates}, self._above_it(pod)
        view = view or self._by_owner.get(pod.ref.uid)
        if not gates or view is None or not pod.quota_reserved:
            return False
        if view.at("status").text("clusterName"):
            return False
        return gates <= ({GATE, _ADMISSION} if view.condition("Admitted") else {GATE})

    def names(self, pod: Pod) -> Iterator[str]:
        """Yield NAMESPACE/NAME of what was submitted, by which people know a pod's Workload."""
        view = self._by_name.get((pod.namespace, pod.kueue_workload))
        for owner in () if view is None else view.owners:
            yield f"{pod.namespace}/{owner.text('name')}"

    def _by_owners(self, uid: str, seen: set[str]) -> View | None:
        if not uid or uid in seen:
            return None
        seen.add(uid)
        found = [self._by_owner.get(uid)]
        found += (self._by_owners(above, seen) for above in self._above.get(uid, ()))
        return next((view for view in found if view is not None), None)


class Slices:
    """Workloads of elastic jobs that run: each size they are to have is a Workload of its own.

    Attributes
    ----------
    waiting
        Those that Kueue has not admitted, each with the one that runs in the meantime.
    replaced
        Those in whose place another one has been admitted.
    """

    def __init__(self, objects: Objects) -> None:
        by_name = objects.by_name(GROUP, "Workload")
        self.waiting: dict[tuple[str, str], View] = {}
        self.replaced: set[tuple[str, str]] = set()
        for key, view in by_name.items():
            named = view.annotations.get(_REPLACES, "")
            namespace, _, name = named.rpartition("/")
            old = by_name.get((namespace or key[0], name))
            if old is None or has_finished(view) or has_finished(old):
                continue
            if "admission" in view.at("status"):
                self.replaced.add(old.key)
            elif "admission" in old.at("status"):
                self.waiting[key] = old

    def grow(self, workload: View, there: int) -> bool:
        """Whether a Workload waits to be larger than one that runs and has no more pods than that.

        Pods that are there already have a gate, by which they are counted.
        """
        old = self.waiting.get(workload.key)
        return old is not None and there <= sum(own.count for own in admitted(old).values())

    def more(self, workload: View) -> dict[str, int]:
        """Return how many pods of each pod set one that waits is to have beside those that run."""
        own, old = admitted(workload), admitted(self.waiting[workload.key])
        none = Admitted(0)
        return {name: max(0, own[name].count - old.get(name, none).count) for name in own}


def may_run_unseen(workload: View, between: Container[str]) -> bool:
    """Whether a Workload may have pods that are not found by their owners, or in another cluster.

    Parameters
    ----------
    workload
        One that Kueue has admitted and of which no pods were found.
    between
        Uids of those of whom something in the input stands between them and their pods.
    """
    status, ready = workload.at("status"), workload.condition("PodsReady")
    return bool(ready or status.text("clusterName")) or not all(
        owner.text("kind") in _OWNS_PODS or owner.text("uid") in between
        for owner in workload.owners
    )


def owners_of(view: View) -> Iterator[str]:
    """Yield the uids of all owners of an object."""
    for owner in view.owners:
        if owner.text("uid"):
            yield owner.text("uid")


def is_open(workload: View) -> bool:
    """Whether a Workload wants room, now or once Kueue admits it."""
    active = workload.at("spec").raw.get("active") is not False
    return active and not (has_finished(workload) or waits_to_be_queued(workload))


def waits_to_be_queued(workload: View) -> bool:
    """Whether a Workload that Kueue has evicted is in no queue until its time is up."""
    return workload.condition("Requeued", "False") is not None


def into_domains(pod: Pod, workload: View, role: str, *, keep: bool = True) -> Pod:
    """Tell a pod of an admitted Workload by which assignment it goes, if Kueue made any.

    Unless it bears the domain that is its own already, ``keep`` it to those of its pod set.
    """
    if not is_assigned(workload, role):
        return pod
    pod = replace(pod, assignment=(*workload.key, role))
    domains = domains_of(workload, role) if keep else ()
    return onto_nodes(pod, [Flavor(labels) for labels in domains]) if domains else pod


@dataclass(frozen=True, slots=True)
class Admitted:
    """What Kueue has given one pod set of a Workload."""

    count: int
    flavors: tuple[str, ...] = ()
    ended: int = 0
    """Pods that have ended and given back their part, which ``count`` is without."""


def by_role(view: View, key: str) -> dict[str, View]:
    """Return what a list says of each pod set, by its name."""
    return {item.text("name", "main"): item for item in view.list(key)}


def admitted(workload: View) -> dict[str, Admitted]:
    """Return what Kueue has given each pod set, without the pods that have ended already."""
    status = workload.at("status")
    ended = by_role(status, "reclaimablePods")
    given = by_role(status.at("admission"), "podSetAssignments")
    found = {}
    for name, asked in by_role(workload.at("spec"), "podSets").items():
        own = given.get(name)
        count = None if own is None else own.integer("count", 0)
        flavors = () if own is None else tuple(sorted({*own.words("flavors").values()}))
        most = asked.integer("count", 0) or 0 if count is None else count
        done = ended[name].integer("count", 0) or 0 if name in ended else 0
        found[name] = Admitted(max(0, most - done), flavors, min(done, most))
    return found


class JobPods:
    """Counts the pods that Jobs have, to tell how many they are yet to make."""

    def __init__(self, objects: Objects) -> None:
        self._there, self._succeeded = Counter[str](), Counter[str]()
        for view in objects.of("", "Pod"):
            phase = view.at("status").text("phase")
            if phase != "Failed":  # a Job makes another one for it
                counted = self._succeeded if phase == "Succeeded" else self._there
                counted.update(owners_of(view))

    def there(self, workload: View) -> int:
        """Return how many pods name an owner of a Workload as theirs, those that wait included."""
        return sum(self._there[uid] for uid in owners_of(workload))

    def lacking(self, workload: View, given: dict[str, Admitted]) -> int:
        """Return how many pods a Job that Kueue has admitted is yet to make, if that is known.

        It is of a Job that owns its pods itself and has one kind of them. Pods that terminate are
        there: which of them come again, and when, is not known.
        """
        owners = workload.owners
        elsewhere = workload.at("status").text("clusterName")
        if elsewhere or len(owners) != 1 or owners[0].text("kind") != "Job" or len(given) != 1:
            return 0
        (own,), uid = given.values(), owners[0].text("uid")
        if not self._there[uid]:  # pods name their Workload, and another owner
            return 0
        ended = max(own.ended, self._succeeded[uid])
        return max(0, own.count + own.ended - ended - self._there[uid])


def has_finished(workload: View) -> bool:
    """Whether a Workload has ended: it wants no room and no quota."""
    return workload.condition("Finished") is not None
