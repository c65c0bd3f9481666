"""Why does a job run where it runs? What pins it, which nodes could hold it, and at what price."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from kantopt.clock import Deadline
from kantopt.planning.explain.nodes import histogram
from kantopt.planning.question import Question
from kantopt.planning.words import amount_of, unit_of
from kantopt.problem.chosen import as_pending
from kantopt.problem.derived.focus import focused, is_placed, limited, wanted_pods
from kantopt.problem.job import PodSet
from kantopt.problem.not_modelled import is_left_alone, why_left_alone
from kantopt.problem.placement import Placement, Spots
from kantopt.problem.tiers import DISTURBING, Tier, tiers_of
from kantopt.schema.answers.explanation import Alternative, Elsewhere, Pin, Verdict
from kantopt.schema.features import Feature
from kantopt.schema.hints import plural
from kantopt.schema.jobs import Job
from kantopt.schema.model import Model, Rule
from kantopt.schema.rule_kinds import About, rules_about
from kantopt.search.explain.decide import decide_still
from kantopt.search.explain.places import Places, Survey
from kantopt.verify.metrics import measure
from kantopt.verify.rules import check

_MOST = 8
"""Other places that are measured."""


class Whereabouts:
    """Looks at a job that runs, as if it were still to be placed beside all the others."""

    def __init__(self, question: Question, model: Model, name: str, deadline: Deadline) -> None:
        self.question = question
        self.instance = question.instance(model)
        self.job = self.instance.jobs[self.instance.job_index[name]]
        self.deadline = deadline
        jobs = question.snapshot.jobs
        assumed = self.instance.model.assume
        vacated = tuple(_vacated(job, assumed) if job.full_name == name else job for job in jobs)
        snapshot = question.snapshot.model_copy(update={"jobs": vacated})
        self.without = replace(question, snapshot=snapshot).instance(model)
        """The same numbers, with the job pending but for pods that are left alone."""
        self.j = self.without.job_index[name]
        asked = limited(focused(self.without, self.j), evictions=0, moves=0)
        self.asked = asked
        self.survey = Survey(asked)
        self.wanted = wanted_pods(asked, self.j)
        self.tiers = tuple(t for t in tiers_of(self.instance) if t.metric not in DISTURBING)
        """Those of the place, not of the way there."""
        self.now = measure(self.instance, self.instance.current, self.tiers)
        self.sure = False
        """Whether there is no other place if none is found."""

    def elsewhere(self) -> Iterator[tuple[Elsewhere, ...]]:
        """Yield what is known of each pod set, more each time."""
        told: dict[int, Elsewhere] = {}
        looks = {s: self.survey.places(s, pods) for s, pods in self.wanted.items()}
        for s, places in looks.items():
            podset = self._running(s)
            if podset is None:
                continue
            told[s] = Elsewhere(
                pod_set=podset.name,
                places=tuple(self._named(podset.current)),
                nodes=histogram(self.asked, places, {spot.node for spot in podset.current}),
                pins=tuple(self._pins(podset)),
            )
        yield tuple(told.values())
        self.sure = True
        for s, places in looks.items():
            if s in told:
                found = tuple(self._alternatives(s, places))
                told[s] = told[s].model_copy(update={"alternatives": found})
                yield tuple(told.values())

    def _running(self, s: int) -> PodSet | None:
        """Running pod set of the role of a pending one of the vacated question."""
        role = self.job.roles[self.without.podsets[s].role]
        return None if role.running is None else self.instance.podsets[role.running]

    def _named(self, spots: Spots) -> Iterator[str]:
        for spot, pods in sorted(spots.items()):
            name = self.instance.nodes[spot.node].name
            yield name if pods == 1 else f"{name} x{pods}"

    def _pins(self, podset: PodSet) -> Iterator[Pin]:
        """What keeps the pods from moving, and from being evicted."""
        subject = self.instance.subject(podset.index)
        if not podset.movable:
            yield _pin(Rule.PINNED, subject, "0 moves: not movable")
        if not podset.preemptible:
            yield _pin(Rule.PINNED, subject, "0 evictions: not preemptible")
        for b in podset.budgets:
            budget = self.instance.budgets[b]
            if not budget.allowed or len(podset.budgets) > 1:
                text = f"{plural(budget.allowed, 'disruption')} allowed"
                if len(podset.budgets) > 1:
                    text += ", and a pod under several budgets is not evicted"
                yield _pin(Rule.DISRUPTION, f"budget {budget.name}", text)
        for need in self.instance.topology_needs:
            if (
                need.job == self.job.index
                and podset.role in need.roles
                and need.required is not None
            ):
                level = self.instance.topology.levels[need.required]
                text = f"all in one {level}: only the whole job moves to another"
                yield _pin(Rule.TOPOLOGY, subject, text)
        limits = self.instance.model.limits
        if limits.moves == 0:
            yield _pin(Rule.LIMITS, "moves", "at most 0, the model's limit")

    def _alternatives(self, s: int, places: Places) -> Iterator[Alternative]:
        """Measure other places: for a single pod each node, else the job off its present nodes."""
        podset = self._running(s)
        assert podset is not None
        here = {spot.node for spot in podset.current}
        single = len(self.wanted) == 1 and podset.count == 1
        others = [n for n in places.available if n not in here]
        tries = [{n} for n in others] if single else [set(others)]
        rows: dict[tuple[int, ...], list[tuple[Placement, list[str]]]] = {}
        self.sure = self.sure and len(tries) <= 4 * _MOST
        for nodes in tries[: 4 * _MOST]:
            if self.deadline.over() or not nodes:
                self.sure = self.sure and not nodes
                break
            placement = self._placed(nodes)
            if placement is not None:
                values = measure(self.instance, placement, self.tiers)
                spots = placement.podsets[podset.index]
                rows.setdefault(values, []).append((placement, list(self._named(spots))))
        for values, found in sorted(rows.items())[:_MOST]:
            names = tuple(name for _, where in found for name in where)
            yield self._alternative(values, names, podset.count if not single else 1)

    def _placed(self, nodes: set[int]) -> Placement | None:
        """Place the whole job on some nodes beside all that runs; a placement of the real one."""
        podsets = tuple(
            replace(p, allowed=p.allowed & nodes) if p.job == self.j else p
            for p in self.asked.podsets
        )
        narrowed = replace(self.asked, podsets=podsets)
        decision = decide_still(narrowed, self.j, self.deadline)
        if decision.placement is None or not is_placed(narrowed, self.j, decision.placement):
            self.sure = self.sure and decision.impossible
            return None
        changes: dict[int, Spots] = {}
        for role, other in zip(self.job.roles, self.without.jobs[self.j].roles, strict=True):
            if role.running is not None and other.pending is not None:
                changes[role.running] = decision.placement.podsets[other.pending]
        placement = self.instance.current.replace(changes)
        return None if check(self.instance, placement, _OF_OTHER_PLACES) else placement

    def _alternative(
        self, values: tuple[int, ...], names: tuple[str, ...], pods: int
    ) -> Alternative:
        differing = [i for i, value in enumerate(values) if value != self.now[i]]
        if not differing:
            return Alternative(places=names, moved_pods=pods, verdict="equal")
        first = differing[0]
        tier: Tier = self.tiers[first]
        better = values[first] < self.now[first]
        return Alternative(
            places=names,
            moved_pods=pods,
            verdict="better" if better else "worse",
            objective=tier.name,
            unit=unit_of(tier),
            before=amount_of(tier, self.now[first]),
            after=amount_of(tier, values[first]),
        )


def _vacated(job: Job, assumed: Collection[Feature]) -> Job:
    """Return a job as if none of its pods ran that may be placed at all."""
    other = {podset.name: podset for podset in as_pending(job).pod_sets}
    return job.model_copy(
        update={
            "pod_sets": tuple(
                podset if is_left_alone(podset, assumed) else other[podset.name]
                for podset in job.pod_sets
            )
        }
    )


def _pin(rule: Rule, subject: str, message: str) -> Pin:
    return Pin(rule=rule.value, subject=subject, message=message)


def nominated_pods(job: Job) -> int:
    """Count the pods of a job that have a node, and have not started there."""
    return sum(podset.running for podset in job.pod_sets if podset.nominated)


def standing(job: Job) -> Verdict:
    """Say that the pods of a job run, as far as they do."""
    total = sum(podset.count for podset in job.pod_sets)
    waiting = nominated_pods(job)
    if total and waiting == total:
        has, it = ("pod has", "it") if total == 1 else ("pods have", "them")
        pods = f"its {has} not started; its scheduler has nominated a node for {it}"
        message = f"NOMINATED: {pods}, and plans keep the room."
        return Verdict(status="NOMINATED", message=message, proved=True)
    pods = "its pod runs" if total == 1 else f"all its {total} pods run"
    if waiting:
        rest = f"{waiting} {'is' if waiting == 1 else 'are'} nominated to a node and not started"
        pods = f"{total - waiting} of its {total} pods run, {rest}"
    return Verdict(status="RUNS", message=f"RUNS: {pods}.", proved=True)


def runs_message(
    job: Job,
    elsewhere: tuple[Elsewhere, ...],
    *,
    sure: bool,
    assumed: Collection[Feature] = (),
) -> str:
    """Say in one sentence where a job runs and whether anything speaks for another place.

    ``sure``: where no other place was found there is none. ``assumed``: what pods may ask for
    though it is not modelled; all that ask for other such things are left alone.
    """
    total = sum(podset.count for podset in job.pod_sets)
    verdict = standing(job)
    pods = verdict.message.removesuffix(".")
    runs = verdict.status == "RUNS"
    if runs and not elsewhere and (why := why_left_alone(job.pod_sets, assumed)):
        return f"{pods}, and may not move: {why}."
    better = [item for part in elsewhere for item in part.alternatives if item.verdict == "better"]
    tried = sum(len(part.alternatives) for part in elsewhere)
    held = all(any(pin.rule in _HOLDING for pin in part.pins) for part in elsewhere)
    if runs and held:
        pods += ", and may not move"
    if better:
        first = better[0]
        where = " and ".join(first.places[:2]) + (" and others" if len(first.places) > 2 else "")
        return f"{pods}; on {where} {first.objective} would be lower, not counting the move."
    if tried:
        return f"{pods}; none of the other places that were measured is better."
    whom = "it" if total == 1 else "all of them"
    if not sure:
        return f"{pods}; whether other nodes have room for {whom} was not decided in the time."
    return f"{pods}; no other nodes have room for {whom}."


_OF_OTHER_PLACES = rules_about(About.ROOM, About.NODES, About.DOMAINS)
"""Rules that other places of a job that runs are asked by."""
_HOLDING = (Rule.PINNED.value, Rule.DISRUPTION.value, Rule.LIMITS.value)
"""Rules that keep pods from moving at all; others say only how."""
