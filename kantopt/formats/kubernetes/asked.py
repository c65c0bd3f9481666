"""Who is asked for among those that wait, and why others are left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase

from kantopt.errors import UsageError
from kantopt.formats.imported import Aside
from kantopt.formats.kubernetes.demands import Gang
from kantopt.formats.kubernetes.jobs import Member
from kantopt.formats.kubernetes.objects import Objects
from kantopt.formats.kubernetes.pod_groups import PodGroups
from kantopt.formats.kubernetes.pods import Pod
from kantopt.formats.kubernetes.priorities import Priorities
from kantopt.formats.notes import Notes

_HASH = "pod-template-hash"
_JOB_SET = "jobset.sigs.k8s.io/jobset-name"


class Asked:
    """Keeps who was asked for, who was not, and why pods and jobs are left out.

    Parameters
    ----------
    patterns
        Patterns NAMESPACE/NAME of jobs or pods; without any all that waits is asked for.
    names
        Gives the names by which people know the job of a pod, other than its own.
    notes
        Takes who was not asked for.
    """

    def __init__(
        self, patterns: Sequence[str], names: Callable[[Pod], tuple[str, ...]], notes: Notes
    ) -> None:
        self._patterns = patterns
        self._names = names
        self._notes = notes
        self._matched: set[str] = set()
        self._aside: list[list[Member]] = []
        self.left_out: dict[str, str] = {}
        """Why, by NAMESPACE/NAME of pods and jobs."""
        self.held_back: Counter[str] = Counter()
        """Pods that may not start yet, by NAMESPACE/NAME of their job."""

    def check(self) -> None:
        """Refuse patterns that match nothing: mistyped, they would leave everything out.

        Raises
        ------
        UsageError
            If there is one.
        """
        for pattern in self._patterns:
            if pattern in self._matched:
                continue
            said = "no pending pod or job matches"
            matching = {why for name, why in self.left_out.items() if fnmatchcase(name, pattern)}
            if matching:
                said += f", only what {' or '.join(sorted(matching))}"
            raise UsageError(f"--pending {pattern}: {said}")

    def hold_back(self, job: str, member: Member, why: str) -> None:
        """Leave out pods that may not start yet, and count them where they were asked for."""
        names = (job, member.pod.full_name, *self._names(member.pod))
        self.left_out |= dict.fromkeys(names, f"{why} and left out: it counts with --gated")
        if not self._patterns or self._matching(*names):
            self.held_back[job] += member.count

    def chosen(self, name: str, group: Sequence[Member]) -> list[Member]:
        """Members of a job without the pending pods that were not asked for."""
        if not self._patterns:
            return list(group)

        def matches(member: Member) -> bool:
            job = f"{member.pod.namespace}/{name}"
            found = self._matching(job, member.pod.full_name, *self._names(member.pod))
            self._matched |= found
            return bool(found)

        matching = [not member.pod.node and matches(member) for member in group]
        whole = group[0].gang is not None and any(matching)
        chosen, left = list[Member](), list[Member]()
        for member, match in zip(group, matching, strict=True):
            (chosen if member.pod.node or whole or match else left).append(member)
        if left:
            text = "pending pods that were not asked for are left out"
            count = sum(member.count for member in left)
            self._notes.add(text, f"{group[0].pod.namespace}/{name}", count)
            self._aside.append(left)
        return chosen

    def aside(self, objects: Objects, priorities: Priorities) -> Iterator[Aside]:
        """Yield what was not asked for, job by job."""
        groups = PodGroups(objects, Notes()) if self._aside else None
        for members in self._aside:
            pods, ref = [member.pod for member in members], members[0].gang
            gang = Gang(min_count=0) if groups is None or ref is None else groups.demands(ref, pods)
            yield Aside(priorities.of_all(gang, pods), sum(m.count for m in members))

    def _matching(self, *names: str) -> set[str]:
        return {p for p in self._patterns if any(fnmatchcase(n, p) for n in names)}


def names_of(pods: Iterable[Pod]) -> Iterator[str]:
    """Yield NAMESPACE/NAME of the owners of some pods, and of Deployments and JobSets behind them.

    A pod's own name is in its job's document. A Deployment is known by the name of its ReplicaSet,
    which ends in the hash that the pods have as a label.
    """
    for pod in pods:
        if not pod.owner_name:
            continue
        yield f"{pod.namespace}/{pod.owner_name}"
        if job_set := pod.labels.get(_JOB_SET):
            yield f"{pod.namespace}/{job_set}"
        ending = f"-{pod.labels.get(_HASH, '')}"
        if pod.owner_kind == "ReplicaSet" and len(ending) > 1 and pod.owner_name.endswith(ending):
            yield f"{pod.namespace}/{pod.owner_name.removesuffix(ending)}"
