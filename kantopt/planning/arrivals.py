"""What another scheduler did between two dumps, judged by the state that came of it.

No order of its actions is known, and none is asked for: a pod that came to a node must be allowed
there beside all that is there since, by the terms of either dump.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from kantopt.planning.between import Between, Reading
from kantopt.planning.question import Question
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.schema.jobs import Job, PodSet
from kantopt.schema.model import Metric, Model, Rule
from kantopt.schema.selection import selector_matches
from kantopt.schema.snapshot import ClusterSnapshot
from kantopt.verify.rules import CHECKS, STATE_RULES, check
from kantopt.verify.rules.spread import check_spread
from kantopt.verify.step import Step, Violation

WHOEVER_CAME_LAST = (Rule.CAPACITY, Rule.DEVICES, Rule.QUOTA)
"""Rules that ask whether all have room: pods that no scheduler chose a node for count as well."""
LASTING = (*WHOEVER_CAME_LAST, Rule.ELIGIBILITY, Rule.TOPOLOGY, Rule.ANTI_AFFINITY)
"""Rules that were broken when the last of the pods concerned came, if they are broken now. Others
may have been kept then: who has left since may have been counted."""


def judge_arrivals(between: Between, model: Model) -> tuple[list[Violation], list[str]]:
    """Return what is wrong with the later dump by what came since, and what cannot be said.

    A fault counts if it is one by the nodes and queues of the first dump and by those of the later.
    Gangs are not asked about: who took a pod from one, or when the rest comes, dumps do not tell.
    """
    before, after = between.terms
    faults = dict(_faults(between.facts, before, model))
    if before != after:
        others = dict(_faults(between.facts, after, model))
        faults = {subject: fault for subject, fault in others.items() if subject in faults}
    kept, unsaid = [], []
    for fault in faults.values():
        if _may_have_been_kept(between.facts, fault):
            unsaid.append(
                f"not judged, since pods that it counts have left or are leaving: {fault}"
            )
        else:
            kept.append(fault)
    return kept, unsaid


def without_wishes(model: Model) -> Model:
    """Return a model that does not ask for what pods would rather have.

    Each scheduler weighs that in its own way, and by what was there at its time.
    """
    kept = tuple(o for o in model.objectives or () if o.name != Metric.PREFERENCES.value)
    return model.model_copy(update={"objectives": kept})


def _faults(
    reading: Reading, terms: ClusterSnapshot, model: Model
) -> Iterator[tuple[tuple[str, str], Violation]]:
    instance = _lenient(reading.question, terms).instance(model)
    after = reading.placement(instance)
    chosen = Step(instance, instance.current, after)
    everyone = Step(instance, reading.came(instance), after)
    for rule in STATE_RULES:
        if rule is Rule.GANG or not instance.on(rule):
            continue
        found = (
            check_spread(chosen, one_by_one=True)
            if rule is Rule.SPREAD
            else CHECKS[rule](everyone if rule in WHOEVER_CAME_LAST else chosen)
        )
        for fault in found:
            yield (fault.rule, fault.subject), fault


def _lenient(question: Question, terms: ClusterSnapshot) -> Question:
    """Return the question with some terms, and pods going where they are tolerated for seconds.

    A plan of ours sends nobody there, to be evicted again. kube-scheduler does.
    """

    def tolerant(podset: PodSet) -> PodSet:
        lasting = (t.model_copy(update={"toleration_seconds": None}) for t in podset.tolerations)
        return podset.model_copy(update={"tolerations": tuple(lasting)})

    def tolerated(jobs: Iterable[Job]) -> tuple[Job, ...]:
        return tuple(
            job.model_copy(update={"pod_sets": tuple(map(tolerant, job.pod_sets))}) for job in jobs
        )

    snapshot = terms.model_copy(update={"jobs": tolerated(terms.jobs)})
    return replace(question, snapshot=snapshot, pending=tolerated(question.pending))


def _may_have_been_kept(reading: Reading, fault: Violation) -> bool:
    """Whether a pod that has left since may have been what kept a rule."""
    if fault.rule in LASTING:
        return False
    for job in reading.question.jobs:
        name = f"job {job.namespace}/{job.name}"
        if fault.subject != name and not fault.subject.startswith(f"{name} "):
            continue
        if fault.rule == Rule.AFFINITY and any(map(_asks_for_its_like, job.pod_sets)):
            return True  # in which order they came decides who was the first
        if fault.rule != Rule.SPREAD:
            return bool(reading.pair.vanished)
        selectors = [
            constraint.label_selector
            for podset in job.pod_sets
            for constraint in podset.topology_spread_constraints
            if constraint.label_selector is not None
        ]
        return any(
            gone.namespace == job.namespace and selector_matches(selector, gone.labels)
            for gone in reading.pair.vanished
            for selector in selectors
        )
    return False


def with_victims_back(instance: Instance, after: Placement) -> Placement:
    """Return a placement with those of the evicted pods put back that fit where they were."""
    step = Step(instance, instance.current, after)
    rules = [rule for rule in STATE_RULES if rule is not Rule.GANG]
    wrong = len(check(instance, after, rules))
    for s, podset in enumerate(instance.podsets):
        if not (podset.running and step.evicted(s)):
            continue
        for spot in sorted(step.departures[s]):
            for _ in range(step.departures[s][spot]):
                fuller = {**after.podsets[s], spot: after.podsets[s].get(spot, 0) + 1}
                back = after.replace({s: fuller})
                if (
                    sum(fuller.values()) <= podset.count
                    and len(check(instance, back, rules)) <= wrong
                ):
                    after = back
    return after


def _asks_for_its_like(podset: PodSet) -> bool:
    """Whether pods must be near such as they are themselves."""
    selectors = [term.label_selector for term in podset.pod_affinity]
    return bool(selectors) and all(
        selector is not None and selector_matches(selector, podset.labels) for selector in selectors
    )
