"""A question about one job with all else held: what stays is only what it takes of the nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from kantopt.problem.cluster import Node
from kantopt.problem.derived.reindexed import Reindexed
from kantopt.problem.instance import Instance
from kantopt.problem.job import PodSet
from kantopt.problem.placement import Placement, Spots
from kantopt.schema.model import Rule


@dataclass(frozen=True, slots=True)
class Condensed:
    """A small question about one job, and the way back.

    Attributes
    ----------
    instance
        The small question. Its first job is the one asked about; its other jobs are those that the
        rules must see as they are: neighbours to keep away from, users of the same quota.
    own
        Pod sets of the job in the original, in the order of the small question.
    """

    original: Instance
    instance: Instance
    own: tuple[int, ...]
    numbers: Mapping[str, Sequence[int]]
    """Numbers in the original of all that constraints are about (``m.about``), by kind."""

    def lift(self, placement: Placement, gone: Callable[[PodSet], bool]) -> Placement:
        """Return the placement of the original with the job's pods placed, others gone."""
        spots: list[Spots] = [
            {} if podset.running and gone(podset) else podset.current
            for podset in self.original.podsets
        ]
        for i, s in enumerate(self.own):
            spots[s] = placement.podsets[i]
        return Placement(tuple(spots))


def condensed(
    question: Instance, j: int, gone: Callable[[PodSet], bool], *, empty: bool = False
) -> Condensed:
    """Hold everything but one job.

    Affinity to pods that may come or go is left out, and so is spread over them: what is impossible
    without it is so with it.

    Parameters
    ----------
    question
        The question; its rules stand as they are.
    gone
        Running pod sets of other jobs of which no pod is there any more.
    empty
        They are gone for good, so that spread does not count them; otherwise they may be anywhere,
        and the domain that is emptiest without them need not be it with them.
    """
    own = question.jobs[j].podsets
    seen = _seen(question, j)
    kept = [
        podset
        for podset in question.podsets
        if podset.running and podset.job != j and podset.index in seen and not gone(podset)
    ]
    order = [*own, *(podset.index for podset in kept)]
    new = {s: i for i, s in enumerate(order)}
    numbers = Reindexed(new, {j: 0})
    roles = tuple(map(numbers.role, question.jobs[j].roles))
    jobs = [replace(question.jobs[j], index=0, roles=roles)]
    podsets = [replace(question.podsets[s], index=new[s], job=0, budgets=()) for s in own]
    for podset in kept:
        job = question.jobs[podset.job]
        role = replace(
            job.roles[podset.role],
            count=podset.count,
            min_count=0,
            running=new[podset.index],
            pending=None,
        )
        held = replace(job, index=len(jobs), roles=(role,), min_count=0, all_victims=False)
        podsets.append(
            replace(
                podset,
                index=new[podset.index],
                job=held.index,
                role=0,
                preemptible=False,
                movable=False,
                budgets=(),
            )
        )
        jobs.append(held)
    needs = tuple(need.index for need in question.needs_of.get(j, ()))
    terms = tuple(
        i
        for i, term in enumerate(question.anti_affinities)
        if term.owner in new and any(s in new for s in term.others)
    )
    spreads = tuple(
        i
        for i, spread in enumerate(question.spreads)
        if spread.owner in own and (empty or all(s in new for s in spread.counted))
    )
    affinities = tuple(
        i
        for i, near in enumerate(question.affinities)
        if near.owner in own and all(s in new for s in near.anchors)
    )
    small = replace(
        question,
        nodes=_left(question, j, {podset.index for podset in kept}, gone),
        jobs=tuple(jobs),
        podsets=tuple(podsets),
        topology_needs=numbers.needs(question.topology_needs[old] for old in needs),
        anti_affinities=numbers.anti_affinities(question.anti_affinities[old] for old in terms),
        spreads=numbers.spreads(question.spreads[old] for old in spreads),
        affinities=numbers.affinities(question.affinities[old] for old in affinities),
        budgets=(),
        wishes=(),
        evens=(),
        required=frozenset((0,)) if j in question.required else frozenset(),
    )
    old: dict[str, Sequence[int]] = {
        "job": (j, *(podset.job for podset in kept)),
        "need": needs,
        "term": terms,
        "spread": spreads,
        "affinity": affinities,
        **dict.fromkeys(("node", "nodes"), range(len(question.nodes))),
        **dict.fromkeys(("queue", "cohort"), range(len(question.queues))),
    }
    return Condensed(question, small, own, old)


def _seen(question: Instance, j: int) -> frozenset[int]:
    """Pod sets that the rules look at when pods of a job arrive, beside what they take."""
    own = frozenset(question.jobs[j].podsets)
    seen: set[int] = set()
    for term in question.anti_affinities:
        if term.owner in own:
            seen.update(term.others)
        elif own & frozenset(term.others):
            seen.add(term.owner)
    for spread in question.spreads:
        if spread.owner in own:
            seen.update(spread.counted)
    for affinity in question.affinities:
        if affinity.owner in own:
            seen.update(affinity.anchors)
    queue = question.jobs[j].queue
    if queue is not None and question.on(Rule.QUOTA):
        rivals = question.rivals(queue)
        seen.update(p.index for p in question.podsets if question.jobs[p.job].queue in rivals)
    return frozenset(seen)


def _left(
    question: Instance, j: int, kept: set[int], gone: Callable[[PodSet], bool]
) -> tuple[Node, ...]:
    """Nodes with what those pods leave that stay and that no rule has to see."""
    size = len(question.resources)
    node = [[0] * size for _ in question.nodes]
    device = [[[0] * size for _ in n.devices] for n in question.nodes]
    for podset in question.podsets:
        if not podset.running or podset.job == j or podset.index in kept or gone(podset):
            continue
        asks = [(r, amount) for r, amount in enumerate(podset.requests) if amount]
        for spot, pods in podset.current.items():
            load = node[spot.node]
            for r, amount in asks:
                load[r] += pods * amount
            for d in spot.devices:
                devices = question.nodes[spot.node].devices
                for need in podset.devices:
                    if d < len(devices) and need.device_class == devices[d].device_class:
                        for r, amount in enumerate(need.request):
                            device[spot.node][d][r] += pods * amount
    return tuple(
        replace(
            n,
            capacity=tuple(
                None if c is None else max(0, c - load)
                for c, load in zip(n.capacity, node[n.index], strict=True)
            ),
            devices=tuple(
                replace(
                    d,
                    capacity=tuple(
                        max(0, c - load) for c, load in zip(d.capacity, taken, strict=True)
                    ),
                )
                for d, taken in zip(n.devices, device[n.index], strict=True)
            ),
        )
        for n in question.nodes
    )
