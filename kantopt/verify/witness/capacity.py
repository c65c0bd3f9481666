"""What all pods placed ask for together, and what there is of it: rows of the cluster as a whole.

If pods of sizes ``a`` share nodes of sizes ``b``, then for every step ``t`` from 1 on the sum of
``a // t`` is at most the sum of ``b // t``: a node of 8 GPUs holds one pod of 5, and no more than
two of 3 (Chvatal-Gomory rounding, node by node). A node offers what it has, or what is taken of it
now, whichever is more: what is overcommitted may stay so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from kantopt.problem.instance import Instance
from kantopt.problem.job import PodSet
from kantopt.schema.model import Rule
from kantopt.verify.rules.quota import queue_limit
from kantopt.verify.step import Loads
from kantopt.verify.witness.groups import PriceGroup

MOST_STEPS = 8
"""Most steps that there are rows for, beside 1."""
MOST_SETS = 8
"""Most sets of nodes that there are rows for, beside all nodes: those that most pods ask for."""


@dataclass(frozen=True, slots=True)
class CapacityRow:
    """``sum of weights * pods placed <= limit``, over groups by index."""

    weights: Mapping[int, int]
    limit: int


@lru_cache(maxsize=4)
def capacity_rows(instance: Instance, groups: tuple[PriceGroup, ...]) -> Mapping[str, CapacityRow]:
    """Return the rows that hold for every legal plan, by name; those that always hold left out.

    ``capacity R`` is for a resource of the nodes, ``devices C R`` for one of devices of a class,
    ``whole devices C R`` for pods that share none of these with each other, ``quota Q R`` for what
    a queue may use. ``for JOB/PODSET`` says that it looks only at the nodes
    that these pods may be on and at pods that are on no others, ``by T`` names a step above 1.
    """
    rows: dict[str, CapacityRow] = {}
    standing = Loads.of(instance, instance.current)
    for suffix, nodes, inside in _node_sets(instance, groups):
        for name, sizes, bins in _kinds(instance, groups, inside, nodes, standing):
            for step in steps((size for size, _ in sizes.values()), bins):
                weights = {i: times * (a // step) for i, (a, times) in sizes.items() if a >= step}
                limit = sum(number * (b // step) for b, number in bins.items())
                most = sum(w * groups[i].count for i, w in weights.items())
                if most > limit:
                    by = f" by {step}" if step > 1 else ""
                    rows[f"{name}{by}{suffix}"] = CapacityRow(weights, limit)
    rows.update(_quotas(instance, groups, standing))
    return rows


Sizes = Mapping[int, tuple[int, int]]
"""Size of each group's items, and items per pod."""


def _node_sets(
    instance: Instance, groups: Sequence[PriceGroup]
) -> Iterator[tuple[str, Sequence[int], Sequence[int]]]:
    """Yield sets of nodes with the groups that have no pods elsewhere."""
    everywhere = range(len(instance.nodes))
    yield "", everywhere, range(len(groups))
    if not instance.on(Rule.ELIGIBILITY):
        return
    reach = [_reach(instance, group) for group in groups]
    pods: Counter[frozenset[int]] = Counter()
    first: dict[frozenset[int], str] = {}
    for group, nodes in zip(groups, reach, strict=True):
        if len(nodes) < len(instance.nodes):
            pods[nodes] += group.count
            first.setdefault(nodes, group.name.removeprefix("pods "))
    for nodes, _ in pods.most_common(MOST_SETS):
        within = {own for own in set(reach) if own <= nodes}
        inside = [i for i, own in enumerate(reach) if own in within]
        yield f" for {first[nodes]}", sorted(nodes), inside


def _reach(instance: Instance, group: PriceGroup) -> frozenset[int]:
    """Nodes where pods of a group are or may be; most groups share a set, which is not copied."""
    found = instance.podsets[group.podsets[0]].allowed
    for nodes in (*(instance.podsets[s].allowed for s in group.podsets[1:]), group.home):
        if nodes is not found and not found.issuperset(nodes):
            found = found.union(nodes)
    return found


def _kinds(
    instance: Instance,
    groups: Sequence[PriceGroup],
    inside: Sequence[int],
    nodes: Sequence[int],
    standing: Loads,
) -> Iterator[tuple[str, Sizes, Counter[int]]]:
    """Yield what pods and bins are measured by: name, sizes of pods, sizes of bins."""
    podsets = {i: instance.podsets[groups[i].podsets[0]] for i in inside}
    for r, resource in enumerate(instance.resources if instance.on(Rule.CAPACITY) else ()):
        sizes = {i: (podset.requests[r], 1) for i, podset in podsets.items() if podset.requests[r]}
        limits = [instance.nodes[n].capacity[r] for n in nodes]
        if sizes and all(limit is not None for limit in limits):
            offers = (max(b or 0, standing.node[n][r]) for b, n in zip(limits, nodes, strict=True))
            yield f"capacity {resource}", sizes, Counter(offers)
    if not instance.on(Rule.DEVICES):
        return
    seated = [i for i, podset in podsets.items() if podset.devices and _seated(instance, podset)]
    for kind in sorted({need.device_class for i in seated for need in podsets[i].devices}):
        for r, resource in enumerate(instance.resources):
            sizes = {
                i: (need.request[r], need.count)
                for i in seated
                for need in podsets[i].devices
                if need.device_class == kind and need.request[r]
            }
            offers = (
                max(instance.nodes[n].devices[d].capacity[r], standing.device[n][d][r])
                for n in nodes
                for d in instance.nodes[n].devices_of(kind)
            )
            if not sizes:
                continue
            devices = Counter(offers)
            yield f"devices {kind} {resource}", sizes, devices
            # Of pods that take more than half of any device each has its own: whole ones count.
            held = {
                i: (times, 1)
                for i, (ask, times) in sizes.items()
                if 2 * ask > max(devices, default=0)
            }
            if held:
                bins = Counter(len(instance.nodes[n].devices_of(kind)) for n in nodes)
                yield f"whole devices {kind} {resource}", held, bins


def _seated(instance: Instance, podset: PodSet) -> bool:
    """Whether each pod takes what it asks of its devices: a standing one may have lost them."""
    for spot in podset.current:
        devices = instance.nodes[spot.node].devices
        for need in podset.devices:
            given = [
                d
                for d in spot.devices
                if d < len(devices) and devices[d].device_class == need.device_class
            ]
            if len(given) < need.count:
                return False
    return True


def steps(sizes: Iterable[int], bins: Iterable[int]) -> list[int]:
    """Steps worth a row: 1, and the sizes that waste most of the bins."""
    largest = max(bins, default=0)
    found = {size for size in sizes if 1 < size <= largest}
    if len(found) > MOST_STEPS:
        # Just above a half, a third, ... of a bin: pods that large waste the rest of it.
        found = {largest // k + 1 for k in range(2, 2 + MOST_STEPS // 2)}
    return [1, *sorted(found)]


def _quotas(
    instance: Instance, groups: Sequence[PriceGroup], standing: Loads
) -> Iterator[tuple[str, CapacityRow]]:
    for queue in instance.queues if instance.on(Rule.QUOTA) else ():
        for quota in queue.quotas:
            limit = queue_limit(queue, quota)
            weights = {
                i: instance.podsets[group.podsets[0]].demand[quota.resource]
                for i, group in enumerate(groups)
                if instance.job_of(group.podsets[0]).queue == queue.index
                and instance.podsets[group.podsets[0]].demand[quota.resource]
            }
            if limit is not None and weights:
                most = max(limit, standing.queue[queue.index][quota.resource])
                name = f"quota {queue.name} {instance.resources[quota.resource]}"
                yield name, CapacityRow(weights, most)
