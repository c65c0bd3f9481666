"""Copies of a job as pending jobs: counted in one pod set where that says the same, else named.

N gangs of P pods that each stay within one domain of a level are N * P pods in slices of P of that
level: nothing tells the gangs apart, and a pod set is as cheap with ten thousand pods as with ten.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

from kantopt.planning.question import Question
from kantopt.problem.derived.focus import with_model
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import Tier, tiers_of
from kantopt.schema.jobs import Job, PodSet, TopologyRequest
from kantopt.schema.model import Metric, Model, Objective
from kantopt.schema.quantity import to_base
from kantopt.verify.metrics import bound_of, measure

MOVES = Tier(Metric.MOVES, "pods")
"""The tier of pods moved: it comes after all else."""
_PREFIX = "one-more"
"""What copies are called, with something behind it if the input has such a job."""


_BUILT = 2
"""Counted copies in an instance when it is built: enough to be in each other's way there."""


@dataclass(frozen=True, slots=True)
class Need:
    """A pod set of a copy, and how many of its pods the copy cannot do without."""

    pod_set: PodSet
    pods: int


@dataclass(frozen=True)
class Copies:
    """What to make copies of, and the cluster that they are for.

    Parameters
    ----------
    question
        The documents; pending pods of the input are left aside.
    model
        Rules and limits.
    job
        The job; where its pods run, when it came and what it is worth do not matter.
    """

    question: Question
    model: Model
    job: Job
    _built: dict[tuple[bool, int, int], Instance] = field(default_factory=dict, repr=False)

    @cached_property
    def prefix(self) -> str:
        """A beginning of names that no job of the input has."""
        prefix = _PREFIX
        while any(job.name.startswith(prefix) for job in self.question.jobs):
            prefix += "-"
        return prefix

    @cached_property
    def needs(self) -> tuple[Need, ...]:
        """Pods of each set that a copy cannot do without: of a gang the fewest, else all pods."""
        podsets, least = self.job.pod_sets, self.job.min_count or 0
        if not (least or any(map(self.job.least_of, podsets))):
            return tuple(Need(podset, podset.count) for podset in podsets)
        every = sum(podset.count for podset in podsets)
        return tuple(
            Need(podset, max(self.job.least_of(podset), least - (every - podset.count)))
            for podset in podsets
        )

    @cached_property
    def over_all(self) -> int:
        """Fewest pods of a copy, where its least can be had in several ways; else 0."""
        least = self.job.min_count or 0
        return least if sum(need.pods for need in self.needs) < least else 0

    @cached_property
    def one(self) -> Job:
        """A copy with its least pods; as it is where its least can be had in several ways."""
        podsets, uneven = [], False
        for need in self.needs:
            request = need.pod_set.topology_request
            size = (request and request.pod_set_slice_size) or 1
            uneven = uneven or need.pods % size > 0
            pods = {"count": need.pods, "min_count": need.pods}
            podsets += [need.pod_set.model_copy(update=pods)] if need.pods else []
        if self.over_all or uneven:
            return _fresh(self.job)
        whole = {"pod_sets": tuple(podsets), "min_count": None}
        return _fresh(self.job.model_copy(update=whole))

    @cached_property
    def pods(self) -> int:
        """Pods of each copy, where copies can be counted; else 0.

        Not counted are copies of several pod sets, with a minimum over them, with slices within a
        required domain, or in a required domain where the model has no slices.
        """
        if len(self.one.pod_sets) > 1 or self.one.min_count:
            return 0
        (podset,) = self.one.pod_sets
        levels = {request.required for request in self._requests if request.required}
        slices = {
            (r.pod_set_slice_required_topology, r.pod_set_slice_size)
            for r in self._requests
            if r.pod_set_slice_required_topology
        }
        within = levels and (slices or self.model.rules.slices == "off")
        several = len(levels) > 1 or len(slices) > 1
        if within or several or podset.min_count != podset.count:
            return 0
        return podset.count

    @property
    def _requests(self) -> tuple[TopologyRequest, ...]:
        """What the model's rules hold a copy to, of the closeness that it asks for."""
        rules, asked = self.model.rules, []
        for request in (
            self.one.topology_request,
            *(p.topology_request for p in self.one.pod_sets),
        ):
            if request is None:
                continue
            off: dict[str, None] = {"preferred": None}
            if rules.topology == "off":
                off["required"] = None
            if rules.slices == "off":
                off |= {"pod_set_slice_required_topology": None, "pod_set_slice_size": None}
            asked.append(request.model_copy(update=off))
        return tuple(asked)

    @property
    def gathered(self) -> bool:
        """Whether pods of a copy must share a domain, or lie in slices."""
        return any(r.required or r.pod_set_slice_required_topology for r in self._requests)

    @property
    def spread(self) -> bool:
        """Whether pods of a copy must be spread over domains."""
        return any(pod_set.topology_spread_constraints for pod_set in self.one.pod_sets)

    def counted(self, number: int) -> Form:
        """Return so many copies as one pod set."""
        return Form(number, self.pods)

    def named(self, number: int) -> Form:
        """Return so many copies as jobs of their own."""
        return Form(number, 0)

    def _all_in_one(self) -> Job:
        """Return copies in the form in which they are counted."""
        podset = self.one.pod_sets[0]
        request = None
        for asked in self._requests:
            level, size = asked.required, self.pods
            if level is None:
                level, size = asked.pod_set_slice_required_topology, asked.pod_set_slice_size or 1
            if level is not None:
                request = TopologyRequest(
                    pod_set_slice_required_topology=level, pod_set_slice_size=size
                )
        update = {"count": _BUILT * self.pods, "min_count": 0, "topology_request": request}
        podset = podset.model_copy(update=update)
        job = self._named(f"{self.prefix}-all", (podset,))
        return job.model_copy(update={"topology_request": None})

    def _named(self, name: str, podsets: tuple[PodSet, ...]) -> Job:
        return self.one.model_copy(update={"name": name, "pod_sets": podsets})

    def asked(self, form: Form, moves: int | None, *objectives: Objective) -> Instance:
        """Freeze the question about copies: nobody is evicted, at most so many pods are moved."""
        return self._under(self._frozen(form), moves, objectives or form.objectives)

    def nothing_placed(self) -> Placement:
        """Return where the pods are as it stands, without copies."""
        instance = self.asked(self.counted(1) if self.pods else self.named(1), 0)
        return Placement(instance.current.podsets[: -len(instance.jobs[-1].podsets)])

    def one_more(self, form: Form, placement: Placement) -> tuple[Instance, Placement]:
        """Return the question with one copy more, by itself, and a placement without it."""
        more = self._named(self.prefix, self.one.pod_sets)
        instance = self._under(self._frozen(form, (more,)), None, form.objectives)
        rest = len(instance.podsets) - len(placement.podsets)
        return instance, Placement((*placement.podsets, *({} for _ in range(rest))))

    def _under(
        self, instance: Instance, moves: int | None, objectives: tuple[Objective, ...]
    ) -> Instance:
        limits = self.model.limits.model_copy(update={"evictions": 0, "moves": moves})
        return with_model(instance, limits=limits, objectives=objectives)

    def _frozen(self, form: Form, more: tuple[Job, ...] = ()) -> Instance:
        """Build an instance, or take one that was built for another number of the copies."""
        counts = form.pods > 0 and form.number > 0
        key = (form.pods > 0, _BUILT if counts else form.number, len(more))
        if key not in self._built:
            jobs: tuple[Job, ...] = (self._all_in_one(),) if counts else ()
            if not form.pods:
                width = len(str(form.number))
                names = (f"{self.prefix}-{i:0{width}}" for i in range(1, form.number + 1))
                jobs = tuple(self._named(name, self.one.pod_sets) for name in names)
            pending = (*self.question.pending, *jobs, *more)
            limits = self.model.limits.model_copy(update={"evictions": 0})
            update = {
                "limits": limits,
                "objectives": form.objectives,
                "pending": (f"{self.prefix}*",),
                "required": (),
            }
            asked = self.model.model_copy(update=update)
            built = replace(self.question, pending=pending).instance(asked)
            if built.budgets and (jobs or more):
                # What budgets allow is as it stands: those who wait are no copies there yet.
                stand = self._frozen(self.counted(0)).budgets
                budgets = (replace(b, allowed=stand[b.index].allowed) for b in built.budgets)
                built = replace(built, budgets=tuple(budgets))
            self._built[key] = built
        built = self._built[key]
        return _of_so_many(built, -1 - len(more), form.number) if counts else built


@dataclass(frozen=True, slots=True)
class Form:
    """So many copies as pending jobs.

    ``pods`` is how many pods make a copy where they are counted, 0 where copies are named.
    """

    number: int
    pods: int

    @property
    def objectives(self) -> tuple[Objective, ...]:
        """What is minimised: copies that are not placed, then moves."""
        return (self.unplaced, Objective.model_validate("moves"))

    @property
    def unplaced(self) -> Objective:
        """The metric of copies that are not placed."""
        unit = "pod" if self.pods else "job"
        return Objective.model_validate({"unplaced": {"by": "all", "unit": unit}})

    def copies_at(self, instance: Instance, unplaced: int) -> int:
        """Copies that are placed where so much is unplaced."""
        nothing = measure(instance, instance.current, unplaced_tier(instance))[0]
        return max(0, nothing - unplaced) // max(1, self.pods)


def unplaced_tier(instance: Instance) -> tuple[Tier]:
    """Return the tier of copies that are not placed, alone."""
    return (tiers_of(instance)[0],)


def _of_so_many(instance: Instance, j: int, number: int) -> Instance:
    """Return the question with so many times the pods of a job of one pending pod set."""
    jobs, podsets = list(instance.jobs), list(instance.podsets)
    job = jobs[j]
    (role,), (s,) = job.roles, job.podsets
    pods = podsets[s].count // _BUILT * number
    podsets[s] = replace(podsets[s], count=pods)
    jobs[j] = replace(job, roles=(replace(role, count=pods),))
    return replace(instance, jobs=tuple(jobs), podsets=tuple(podsets))


def _fresh(job: Job) -> Job:
    """Return a job as it would be submitted now, for which nobody is evicted."""
    podsets = tuple(
        podset.model_copy(
            update={
                "assignments": (),
                "pods": (),
                "nominated": False,
                "terminating": False,
                "health": "ready",
                "start_time": None,
                "last_checkpoint_time": None,
            }
        )
        for podset in job.pod_sets
    )
    update = {
        "uid": "",
        "pod_sets": podsets,
        "preemption_policy": "Never",
        "quota_reserved": False,
        "daemon": False,
        "creation_time": None,
        "start_time": None,
        "last_checkpoint_time": None,
    }
    return job.model_copy(update=update)


MOST_PODS = 1_000_000
"""Pods that are asked about at most, where nothing that they ask for is scarce."""

_MOST_AMOUNT = 2**60
"""Of any resource that all copies ask for together: sums must stay below 2^62."""


def most_copies(copies: Copies) -> int:
    """Return a number of copies that no plan without evictions exceeds; at most a million pods.

    Copies that are no one pod set are looked at pod set by pod set, as if its pods could lie
    anywhere: what the cluster and the quota have room for of it, divided by what a copy needs.
    Where that is so many pods over several sets, so are these, by what each asks for at least.
    """
    if copies.pods:
        return _most(copies)
    needs = [need for need in copies.needs if need.pods]
    least = _least_of(copies.job.pod_sets) if copies.over_all else None
    if least is not None:
        needs.append(Need(least, copies.over_all))
    found = []
    for need in needs:
        loose = {"count": 1, "min_count": 1, "topology_request": None}
        podsets = (need.pod_set.model_copy(update=loose),)
        update = {"pod_sets": podsets, "min_count": None, "topology_request": None}
        alone = Copies(copies.question, copies.model, copies.job.model_copy(update=update))
        found.append(_most(alone) // need.pods)
    return min(found, default=MOST_PODS)


_PLACES = ("node_selector", "node_affinity", "volume_node_affinity", "tolerations")
"""What decides where pods may go, and so for which typed quotas they count."""


def _least_of(podsets: Sequence[PodSet]) -> PodSet | None:
    """Return what each pod of some pod sets asks for at least; none if they go to other nodes."""
    first = podsets[0]

    def shared(*names: str) -> dict[str, Any]:
        alike = (n for n in names if len({repr(getattr(podset, n)) for podset in podsets}) == 1)
        return {name: getattr(first, name) for name in alike}

    places = shared(*_PLACES)
    if len(places) < len(_PLACES):
        return None
    names = set(first.requests).intersection(*(podset.requests for podset in podsets))
    requests = {
        name: min((podset.requests[name] for podset in podsets), key=partial(to_base, name))
        for name in sorted(names)
    }
    return PodSet(name=first.name, count=1, requests=requests, **places, **shared("devices"))


def _most(copies: Copies) -> int:
    """Ask about more than can fit, so that the bound says how many do."""
    demand = copies.asked(copies.counted(1), None).podsets[-1].demand
    pods = min(MOST_PODS, _MOST_AMOUNT // max(demand))
    form = copies.counted(pods // copies.pods)
    instance = copies.asked(form, None)
    return form.copies_at(instance, bound_of(*unplaced_tier(instance), instance, {}))
