"""What another scheduler did between two dumps, judged by the state that came of it.

No order of its actions is known, and none is asked for: a pod that came to a node must be allowed
there beside all that is there since, by the terms of either dump.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from kantopt.formats.pair import Counted
from kantopt.planning.certificates.between import Between, Reading
from kantopt.planning.question import Question
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.schema.base import LabelSelector
from kantopt.schema.jobs import Job, PodAffinityTerm, PodSet
from kantopt.schema.model import Metric, Model, Rule
from kantopt.schema.rule_kinds import STATE_RULES, About, rules_about
from kantopt.schema.selection import selector_matches
from kantopt.schema.snapshot import ClusterSnapshot
from kantopt.verify.rules import CHECKS, check
from kantopt.verify.rules.spread import check_spread
from kantopt.verify.step import Step, Violation

WHOEVER_CAME_LAST = rules_about(About.ROOM, About.QUOTA)
"""Rules that ask whether all have room: pods that no scheduler chose a node for count as well."""


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
    if any(fault.rule == Rule.SPREAD for fault in faults.values()):
        for terms in between.tainted:
            others = dict(_faults(between.facts, terms, model))
            faults = {
                subject: fault
                for subject, fault in faults.items()
                if fault.rule != Rule.SPREAD or subject in others
            }
    found = list(faults.values())
    emptier = _emptier(between, model) if any(f.rule == Rule.SPREAD for f in found) else frozenset()
    kept = [
        fault
        for fault in found
        if not (
            (fault.rule == Rule.SPREAD and fault.subject in emptier)
            or _may_have_been_kept(between, fault)
        )
    ]
    lonely = [fault for fault in kept if fault.rule == Rule.AFFINITY]
    first = [fault for fault in lonely if _may_have_been_first(between.facts, fault, lonely)]
    kept = [fault for fault in kept if fault not in first]
    unsaid = [
        f"not judged, since what it counts has changed or is leaving: {fault}"
        for fault in found
        if fault not in kept
    ]
    if model.rules.priority != "off":
        kept += [
            Violation(Rule.PRIORITY, f"pod {fate.pod}", f"preempted {fate.unduly}")
            for fate in between.history.gone
            if fate.unduly
        ]
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
    before = reading.came(instance)
    everyone = Step(instance, before, after)
    quota = Step(instance, *(reading.released(instance, each) for each in (before, after)))
    apart = Step(instance, *(reading.asked(instance, each) for each in (instance.current, after)))
    steps = dict.fromkeys(WHOEVER_CAME_LAST, everyone)
    steps |= {Rule.QUOTA: quota, Rule.ANTI_AFFINITY: apart}
    for rule in STATE_RULES:
        if rule is Rule.GANG or not instance.on(rule):
            continue
        found = (
            check_spread(chosen, one_by_one=True)
            if rule is Rule.SPREAD
            else CHECKS[rule](steps.get(rule, chosen))
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


def _may_have_been_kept(between: Between, fault: Violation) -> bool:
    """Whether what has changed since may have been what kept a rule.

    Pods that it counts have left, or others count since that did not, or nodes have shrunk.
    """
    pair = between.facts.pair
    counted = (*pair.vanished, *pair.relabelled)
    if fault.rule == Rule.CAPACITY:  # nobody knows how large a node was that came since
        return fault.subject.removeprefix("node ") in pair.admitted
    for job in between.facts.question.jobs:
        if not _is_of(fault, job):
            continue
        if fault.rule == Rule.ANTI_AFFINITY:
            selectors = [t.label_selector for s in job.pod_sets for t in s.pod_anti_affinity]
            return any(_matches(selectors, each) for each in pair.relabelled)
        if fault.rule == Rule.AFFINITY:
            terms = [term for podset in job.pod_sets for term in podset.pod_affinity]
            return any(_meant(term, job, each) for term in terms for each in pair.vanished) or any(
                _matches([term.label_selector], each)
                for term in terms
                for each in pair.relabelled
                if term.label_selector is not None
            )
        if fault.rule == Rule.SLICES:
            return bool(counted)
        if fault.rule == Rule.SPREAD:
            constraints = [c for s in job.pod_sets for c in s.topology_spread_constraints]
            selectors = [c.label_selector for c in constraints if c.label_selector is not None]
            own = (each for each in counted if each.namespace == job.namespace)
            return any(_matches(selectors, each) for each in own)
    return False


def _is_of(fault: Violation, job: Job) -> bool:
    name = f"job {job.full_name}"
    return fault.subject == name or fault.subject.startswith(f"{name} ")


def _emptier(between: Between, model: Model) -> frozenset[str]:
    """Who is spread over domains that came since, or too few, so that the emptiest has fewer pods.

    What counts are the domains of nodes that are eligible, of those that either dump has.
    """
    moments = []
    for dump, terms in zip((between.first, between.facts.question), between.terms, strict=True):
        there = {(node.name, node.uid) for node in dump.snapshot.nodes}
        instance = _lenient(between.facts.question, terms).instance(model)
        known = {i for i, node in enumerate(terms.nodes) if (node.name, node.uid) in there}
        moments.append(
            [
                {instance.label_domain(n, spread.key) for n in spread.over & known}
                for spread in instance.spreads
            ]
        )
    return frozenset(
        instance.subject(spread.owner)
        for spread, before, after in zip(instance.spreads, *moments, strict=True)
        if after - before or (before != after and len(after) < spread.min_domains)
    )


def _matches(selectors: Iterable[LabelSelector], pod: Counted) -> bool:
    return any(selector_matches(selector, each) for selector in selectors for each in pod.borne)


def _meant(term: PodAffinityTerm, job: Job, pod: Counted) -> bool:
    """Whether a term asks for company such as a pod is, or was."""
    selector = term.label_selector
    near = pod.namespace in (term.namespaces or (job.namespace,))
    return near and selector is not None and _matches([selector], pod)


def _may_have_been_first(reading: Reading, fault: Violation, lonely: Sequence[Violation]) -> bool:
    """Whether pods that ask for their like may have come to one domain when none was anywhere.

    Others have come since, and may have done so later: unless they ask for their like as well. Of
    two jobs that ask for each other, and are both ``lonely``, one was not the first.
    """
    job = next(job for job in reading.question.jobs if _is_of(fault, job))
    pair, own = reading.pair, [s for s in job.pod_sets if _asks_for_its_like(s)]
    terms = [term for podset in own for term in podset.pod_affinity]
    came = pair.given | pair.places.keys()
    stayed = (
        Counted(other.namespace, (podset.labels,))
        for other in reading.question.jobs
        for podset in other.pod_sets
        for place in podset.assignments
        for pod in place.pods
        if (other.namespace, pod.name, pod.uid) not in came
    )
    if not own or any(_meant(term, job, each) for each in stayed for term in terms):
        return False
    others = [other for other in reading.question.jobs if not _is_of(fault, other)]
    rivals = (other for other in others if any(_is_of(each, other) for each in lonely))
    if any(_ask_for_each_other(job, other) for other in rivals):
        return False
    labels = {node.name: node.labels for node in reading.question.snapshot.nodes}
    nodes = {
        node
        for podset in own
        for pod in podset.pods
        if (node := pair.places.get((job.namespace, pod.name, pod.uid))) is not None
    }
    return all(len({labels[n].get(term.topology_key) for n in nodes}) == 1 for term in terms)


def _ask_for_each_other(one: Job, other: Job) -> bool:
    """Whether of two jobs some pods ask for their like, which those of the other are as well."""
    return any(
        all(
            _meant(term, job, Counted(near.namespace, (its.labels,)))
            for job, podset, near, its in ((one, a, other, b), (other, b, one, a))
            for term in podset.pod_affinity
        )
        for a in one.pod_sets
        for b in other.pod_sets
        if _asks_for_its_like(a) and _asks_for_its_like(b)
    )


def _asks_for_its_like(podset: PodSet) -> bool:
    """Whether pods must be near such as they are themselves."""
    selectors = [term.label_selector for term in podset.pod_affinity]
    return bool(selectors) and all(
        selector is not None and selector_matches(selector, podset.labels) for selector in selectors
    )


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
