"""R16 pod affinity (required form)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from kantopt.problem.instance import Instance
from kantopt.problem.job import Affinity
from kantopt.schema.model import Rule
from kantopt.verify.step import Step, Violation

Arrival = tuple[int, int]
"""Pod set, and a node that pods of it come to."""


def check_affinity(step: Step) -> Iterator[Violation]:
    """Pods arrive only where a pod that they ask to be near stays, or has come before them.

    A pod that asks for its own like may be the first of them, if none of them stays, and one moves
    at most, or one job that restarts as a whole: they have left before it comes. Pods that run on
    when those have left that they were near are no fault.
    """
    instance = step.instance
    if step.standing or not any(step.arrivals[near.owner] for near in instance.affinities):
        return
    staying = {s: _staying(step, s) for s in instance.anchors}

    def stays(near: Affinity, key: str, domain: str) -> bool:
        return any(
            instance.label_domain(n, key) == domain for s in near.anchors for n in staying[s]
        )

    def vacant(near: Affinity) -> bool:
        came = ((s, sum(step.arrivals[s].values())) for s in near.anchors)
        return one_moves(instance, came) and not any(
            keyed(instance, near, staying[s]) for s in near.anchors
        )

    arriving = {(s, x.node) for s, spots in enumerate(step.arrivals) for x in spots}
    for near, n, key in unanchored(instance, arriving, stays, vacant):
        yield Violation(Rule.AFFINITY, instance.subject(near.owner), message(instance, n, key))


def one_moves(instance: Instance, came: Iterable[tuple[int, int]]) -> bool:
    """Whether of pods that come, by pod set, at most one ran before, or one job that goes whole.

    Of several the first could come back while others are yet to leave. One that moves live is
    there until it has come.
    """
    whole, moving = set[int](), 0
    for s, pods in came:
        job = instance.job_of(s)
        if not pods or not instance.podsets[s].running:
            continue
        if job.move_mode == "live":
            return False
        if job.index in instance.together:
            whole.add(job.index)
        else:
            moving += pods
    return moving + len(whole) <= 1


def _staying(step: Step, s: int) -> set[int]:
    """Nodes where pods of a pod set stay; of a job that restarts as a whole none does."""
    if s in step.restarted:
        return set()
    before, after = step.before.podsets[s], step.after.podsets[s]
    return {spot.node for spot, pods in after.items() if pods and before.get(spot)}


def message(instance: Instance, n: int, key: str) -> str:
    """Say what a node lacks for pods that come to it."""
    domain = instance.label_domain(n, key)
    if domain is None:
        return f"node {instance.nodes[n].name} without label {key}"
    return f"0 of 1 pods to be near in {key} {domain}"


def keyed(instance: Instance, near: Affinity, nodes: Iterable[int]) -> bool:
    """Whether one of some nodes is in any domain that an affinity looks at."""
    return any(instance.label_domain(n, key) is not None for n in nodes for key in near.keys)


def unanchored(
    instance: Instance,
    arriving: Iterable[Arrival],
    stays: Callable[[Affinity, str, str], bool],
    vacant: Callable[[Affinity], bool],
) -> Iterator[tuple[Affinity, int, str]]:
    """Yield where pods come that find none to be near, and the label of the domain.

    Of pods that come together each may wait for the one that it must be near; what waits for
    itself in the end never comes.

    Parameters
    ----------
    arriving
        Pod sets and nodes that pods of them come to.
    stays
        Whether one of the pods that an affinity asks for stays in a domain of a key.
    vacant
        Whether none of those stays: then one that asks for its own like may be the first.
    """
    nears = {near.owner: near for near in instance.affinities}
    waiting = sorted((s, n) for s, n in arriving if s in nears)
    arrived: dict[int, set[int]] = {}
    for s, n in arriving:
        if s not in nears:
            arrived.setdefault(s, set()).add(n)

    def lacking(near: Affinity, n: int) -> str | None:
        for key in near.keys:
            domain = instance.label_domain(n, key)
            if domain is None or not (
                stays(near, key, domain)
                or any(
                    instance.label_domain(m, key) == domain
                    for s in near.anchors
                    for m in arrived.get(s, ())
                )
            ):
                return key
        return None

    def first(near: Affinity, n: int) -> bool:
        """Whether all of its like come to one domain, in which one may be the first."""
        if not near.founds or not vacant(near):
            return False
        nodes = [m for s, m in arriving if s in near.anchors and keyed(instance, near, (m,))]
        places = {tuple(instance.label_domain(m, key) for key in near.keys) for m in (n, *nodes)}
        return len(places) == 1 and None not in next(iter(places))

    settled = True
    while settled and waiting:
        settled = False
        for s, n in list(waiting):
            if lacking(nears[s], n) is None or first(nears[s], n):
                arrived.setdefault(s, set()).add(n)
                waiting.remove((s, n))
                settled = True
    for s, n in waiting:
        key = lacking(nears[s], n)
        assert key is not None, "it would have come"
        yield nears[s], n, key
