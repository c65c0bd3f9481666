"""Small clusters beside what the real kube-scheduler does on them, preemption included.

Each record holds a dump, where the scheduler's loop has ``bound`` the pending pods, whom it has
``left`` and who its ``victims`` are, each ``by`` the pod that preempted it. It looks at one pod at
a time, may break a budget, and its victims vanish at once. Asked of kantopt is the same, read
through the command's own import and planned by the default model.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kantopt.clock import Deadline
from kantopt.planning.plan import make_plan
from kantopt.planning.question import Import, Question, question_of
from kantopt.planning.solving.options import Options
from kantopt.problem.instance import Instance
from kantopt.problem.precedence import Precedence
from kantopt.schema.answers.plan import Eviction, Plan
from kantopt.schema.extends import load_model
from kantopt.schema.raw import RawDocument

FILE = "kube_scheduler/preemption.jsonl.gz"


@dataclass(frozen=True, slots=True)
class Side:
    """What one of the two comes to."""

    unplaced: tuple[int, ...]
    """Pods without a place, victims among them, by priority, the highest first."""
    last: tuple[int, ...]
    """The same of pods that may evict nobody while others of their priority may.

    Here they count after all evictions, so that they are compared after all else.
    """
    pending: tuple[int, ...]
    """Of all these the ones that never ran."""
    victims: int


@dataclass(frozen=True, slots=True)
class Beside:
    """One dump: the scheduler and kantopt."""

    name: str
    priorities: tuple[int, ...]
    theirs: Side
    ours: Side
    broken: tuple[str, ...]
    """Budgets that the scheduler broke."""
    pretexts: tuple[str, ...]
    """Victims of ours for pods that the scheduler places without a victim."""
    status: str

    @property
    def word(self) -> str:
        """Whether ours leaves fewer pods of the highest priority at which the two differ."""
        ours, theirs = ((side.unplaced, side.last) for side in (self.ours, self.theirs))
        if ours == theirs:
            return "equal"
        return "better" if ours < theirs else "worse"


def compare(record: Mapping[str, Any], seconds: float) -> Beside:
    """Plan what a record's scheduler was given, in some seconds of work by no clock."""
    how = Import(gated=bool(record.get("gated", False)))
    question = question_of([RawDocument(record["name"], 0, record["dump"])], how)
    model = load_model("mixed")
    deadline = Deadline(None, deterministic=True, whole=seconds)
    plan = make_plan(question, model, Options(workers=1), deadline).plan
    instance = question.instance(model)
    pods = _pods(question, instance)
    priorities = tuple(sorted({instance.job_of(s).priority for s in pods.values()}, reverse=True))

    divided = Precedence(instance).divided

    def side(left: Counter[str], gone: Counter[str]) -> Side:
        """Sum up pods of jobs that are left and evicted."""
        jobs = {job.name: job for job in instance.jobs}
        last = {job.name for job in jobs.values() if not job.may_preempt}
        last = {name for name in last & left.keys() if jobs[name].priority in divided}

        def by_priority(names: Counter[str]) -> tuple[int, ...]:
            count = Counter[int]()
            for name, k in names.items():
                count[jobs[name].priority] += k
            return tuple(count[priority] for priority in priorities)

        late = Counter({name: left[name] for name in last})
        return Side(
            by_priority(left - late + gone), by_priority(late), by_priority(left), gone.total()
        )

    def jobs_of(names: Iterable[str]) -> Counter[str]:
        return Counter(instance.job_of(pods[name]).name for name in names)

    victims = [victim["pod"] for victim in record["victims"]]
    waiting, out = Counter[str](), Counter[str]()
    for item in plan.unplaced:
        waiting[item.job] += item.pods
    for item in plan.evictions:
        out[item.job] += item.count
    used = Counter(
        instance.budgets[b] for name in victims for b in instance.podsets[pods[name]].budgets
    )
    return Beside(
        record["name"],
        priorities,
        side(jobs_of(record["left"]), jobs_of(victims)),
        side(waiting, out),
        tuple(b.name for b, victims in used.items() if victims > b.allowed),
        tuple(_pretexts(record, plan, pods, instance)),
        plan.solver.status,
    )


def _pods(question: Question, instance: Instance) -> dict[str, int]:
    """Pod sets of all pods by NAMESPACE/NAME."""
    found = {}
    for job, document in zip(instance.jobs, question.documents(instance), strict=True):
        roles = {role.name: role for role in job.roles}
        for podset in document.pod_sets:
            role = roles[podset.name]
            running = [pod for place in podset.assignments for pod in place.pods]
            for s, named in ((role.running, running), (role.pending, podset.pods)):
                if s is not None:
                    found.update({f"{document.namespace}/{pod.name}": s for pod in named})
    return found


def _pretexts(
    record: Mapping[str, Any], plan: Plan, pods: Mapping[str, int], instance: Instance
) -> Iterator[str]:
    """Victims for a job of which the scheduler places every pod without a victim."""
    preempted = {victim["by"] for victim in record["victims"]}
    served, other = set[str](), set[str]()
    for pod in (*record["bound"], *record["left"]):
        honest = pod in record["bound"] and pod not in preempted
        (served if honest else other).add(instance.job_of(pods[pod]).name)
    for victim in plan.evictions:
        if victim.for_job in served - other:
            yield f"{_named(victim)} on {victim.node} for {victim.for_job}"


def _named(victim: Eviction) -> str:
    namespace = victim.job.partition("/")[0]
    return ", ".join(f"{namespace}/{pod.name}" for pod in victim.pods) or victim.job


@dataclass(slots=True)
class Tally:
    """What many dumps come to."""

    words: Counter[tuple[bool, str]]
    """By whether the scheduler broke a budget, and by word."""
    victims: tuple[int, int] = (0, 0)
    """The scheduler's and ours."""

    @classmethod
    def of(cls, rows: list[Beside]) -> Tally:
        """Count rows."""
        return cls(
            Counter((bool(row.broken), row.word) for row in rows),
            (sum(row.theirs.victims for row in rows), sum(row.ours.victims for row in rows)),
        )
