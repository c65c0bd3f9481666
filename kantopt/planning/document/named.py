"""What a plan names: jobs, pods, nodes and budgets are those that it means."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from kantopt.planning.document.claims import claim, needed_jobs
from kantopt.planning.question import Question
from kantopt.problem.chosen import as_cordoned, considered
from kantopt.schema.answers.actions import Place, actions_of, source_of, target_of
from kantopt.schema.answers.plan import BudgetRef, NodeRef, Plan, Standing
from kantopt.schema.dump import dump_data
from kantopt.schema.hints import plural


def false_names(question: Question, plan: Plan) -> list[Standing]:
    """Find pods, nodes and budgets that a plan names and that are not there, or are others."""
    nodes = {node.name: node.uid for node in question.snapshot.nodes}
    budgets = {item.full_name: item.uid for item in question.snapshot.pod_disruption_budgets}
    return [
        *_pods(question, plan),
        *_meant("node", plan.nodes, nodes),
        *_meant("budget", plan.budgets, budgets),
    ]


def false_jobs(question: Question, plan: Plan, *, same: bool) -> list[Standing]:
    """Find embedded jobs that differ from those given, and pending ones that are not embedded.

    ``same`` tells that the snapshot is the one that the plan was made for: then a running job that
    it does not know was never there.
    """
    jobs = as_cordoned(question.jobs, plan.model.drain)
    given = {job.full_name: job for job in jobs}
    embedded = {job.full_name: job for job in plan.jobs}
    findings = []
    for name, job in embedded.items():
        if name not in given:
            if same:
                findings.append(claim(f"jobs {name}", "embedded", "no such job"))
            continue
        said, true = dump_data(job), dump_data(given[name])
        differing = sorted(key for key in said.keys() | true if said.get(key) != true.get(key))
        if differing:
            findings.append(claim(f"jobs {name}", f"other {', '.join(differing)}", "those given"))
    told = frozenset(needed_jobs(plan))
    for name, job in given.items():
        asked = considered((job,), plan.model.pending, plan.model.assume)
        pending = any(podset.waiting for kept in asked for podset in kept.pod_sets)
        if pending and name not in embedded and name not in told:
            findings.append(claim(f"jobs {name}", "not embedded", "a pending job"))
    return findings


def _pods(question: Question, plan: Plan) -> Iterator[Standing]:
    """Pods named by actions are there: whoever follows the plan acts on these names."""
    known: dict[tuple[str, str, Place | None], Counter[tuple[str, str]]] = {}
    for job in as_cordoned(question.jobs, plan.model.drain):
        name = job.full_name
        for podset in job.pod_sets:
            waiting = known.setdefault((name, podset.name, None), Counter())
            waiting.update((pod.name, pod.uid) for pod in podset.pods)
            for place in podset.assignments:
                key = (name, podset.name, (place.node, tuple(sorted(place.devices))))
                known.setdefault(key, Counter()).update((pod.name, pod.uid) for pod in place.pods)
    for move in plan.moves:
        if move.stopover and move.mode == "live":
            come = known.setdefault((move.job, move.pod_set, target_of(move)), Counter())
            come.update((pod.name, pod.uid) for pod in move.pods)
    for item in actions_of(plan).values():
        if len(item.pods) > item.count:
            yield claim(f"{item.id} pods", f"{len(item.pods)} names", plural(item.count, "pod"))
        source = source_of(item)
        there = known.get((item.job, item.pod_set, source), Counter())
        for pod in item.pods:
            there[pod.name, pod.uid] -= 1
            if there[pod.name, pod.uid] < 0:
                at = "the pending pods" if source is None else f"the pods on {source[0]}"
                uid = f" (uid {pod.uid})" if pod.uid else ""
                yield claim(f"{item.id} pod", f"{pod.name}{uid}", f"{at} of {item.job}")


def _meant(
    kind: str, named: Sequence[NodeRef | BudgetRef], uids: Mapping[str, str]
) -> Iterator[Standing]:
    """Nodes, or budgets, that a plan names are the ones that it means."""
    for each in named:
        subject, there = f"{kind}s {each.name}", uids.get(each.name)
        if there is None:
            yield claim(subject, f"a {kind}", f"no such {kind}")
        elif each.uid != there:
            yield claim(subject, f"uid {each.uid}", f"uid {there or 'unknown'}")
