"""What the last plan wants of each pod set: pods by node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from kantopt.errors import Problem
from kantopt.problem.cluster import Node
from kantopt.problem.instance import Instance
from kantopt.problem.job import Job, PodSet
from kantopt.problem.placement import Placement, Spots
from kantopt.schema.hints import did_you_mean, quote
from kantopt.schema.model import Metric, Wanted

ELSEWHERE = -1
"""Stands for all nodes that a part of a question does not have."""


def by_node(spots: Spots) -> dict[int, int]:
    """Count pods by node."""
    found: Counter[int] = Counter()
    for spot, pods in spots.items():
        found[spot.node] += pods
    return dict(sorted(found.items()))


def wanted_of(podset: PodSet) -> Mapping[int, int]:
    """Return where the last plan wants the pods of a pod set: if it says nothing, as they are."""
    return by_node(podset.current) if podset.wanted is None else podset.wanted


def holding_to(instance: Instance, last: Placement) -> Instance:
    """Return the question with what a last plan wants as a part of it, if the model asks for it.

    Parameters
    ----------
    instance
        The question.
    last
        Where that leads of the last plan which can still be done.
    """
    wanted = wanted_in(instance, last)
    if not wanted or not instance.model.asks_for(Metric.CHANGES_TO_PLAN):
        return instance
    podsets = []
    for podset in instance.podsets:
        nodes = by_node(last.podsets[podset.index])
        acted = nodes != by_node(podset.current)
        podsets.append(replace(podset, wanted=nodes if acted else None))
    model = instance.model.model_copy(update={"last_plan": wanted})
    return replace(instance, podsets=tuple(podsets), model=model)


def wanted_in(instance: Instance, last: Placement) -> tuple[Wanted, ...]:
    """Write down where a last plan leads, for the pod sets of which it changes anything."""
    found = []
    for podset in instance.podsets:
        nodes = by_node(last.podsets[podset.index])
        if nodes != by_node(podset.current):
            found.append(
                Wanted(
                    job=instance.job_of(podset.index).name,
                    pod_set=podset.name,
                    state="running" if podset.running else "pending",
                    nodes={instance.nodes[n].name: pods for n, pods in nodes.items()},
                )
            )
    return tuple(found)


def wanted_places(
    wanted: Sequence[Wanted],
    nodes: Sequence[Node],
    jobs: Sequence[Job],
    podsets: Sequence[PodSet],
    source: str,
) -> tuple[dict[int, dict[int, int]], list[Problem]]:
    """Look up what a model says of the last plan.

    Returns
    -------
    tuple[dict[int, dict[int, int]], list[Problem]]
        Pods by node, by pod set, and what of it the question does not have.
    """
    if not wanted:
        return {}, []
    index = {node.name: node.index for node in nodes}
    known: dict[tuple[str, str, str], PodSet] = {}
    for podset in podsets:
        state = "running" if podset.running else "pending"
        known[jobs[podset.job].name, podset.name, state] = podset
    found: dict[int, dict[int, int]] = {}
    problems: list[Problem] = []
    for i, each in enumerate(wanted):
        path = f"lastPlan[{i}]"
        own = known.get((each.job, each.pod_set, each.state))
        wrong = list(_wrong(each, own, index, path, source))
        if own is not None and own.index in found:
            text = f"{each.job}/{each.pod_set} ({each.state})"
            wrong.append(Problem(source, path, f"{text} again", "each pod set once"))
        problems += wrong
        if own is not None and not wrong:
            places = {index[name]: pods for name, pods in each.nodes.items()}
            found[own.index] = dict(sorted(places.items()))
    return found, problems


def _wrong(
    each: Wanted, own: PodSet | None, index: Mapping[str, int], path: str, source: str
) -> Iterator[Problem]:
    if own is None:
        text = f"{each.job}/{each.pod_set}"
        yield Problem(source, f"{path}.podSet", quote(text), f"a pod set with {each.state} pods")
    elif sum(each.nodes.values()) > own.count:
        pods = sum(each.nodes.values())
        yield Problem(source, f"{path}.nodes", f"{pods} pods", f"at most {own.count}, all of them")
    for name in sorted(set(each.nodes).difference(index)):
        hint = did_you_mean(name, index)
        yield Problem(source, f"{path}.nodes", quote(name), "the name of a node", hint)
