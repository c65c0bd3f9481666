"""Metrics that are sums over nodes, by what each node could hold: the pattern formulation.

Where nobody leaves a place, a node holds what stands there and some of the pods that wait. All such
contents are listed; how many nodes that are alike have which is counted (Gilmore and Gomory 1961).
So what a content is worth is a constant, and no node is named.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from ortools.sat.python.cp_model import LinearExprT

from kantopt.cp.relaxed.model import Relaxation
from kantopt.cp.variables import Terms, weighted
from kantopt.problem.cluster import Amounts, Node
from kantopt.problem.counted import counted
from kantopt.problem.tiers import Tier
from kantopt.schema.model import Metric, Rule
from kantopt.verify.metrics.fragmented_nodes import node_gpus_used
from kantopt.verify.metrics.stranded_gpus import Stranding
from kantopt.verify.step import Step

CONTENTS = (Metric.FRAGMENTED_NODES, Metric.STRANDED_GPUS)
"""Metrics that are had so."""
MOST_CONTENTS = 2_000
"""Most contents, of all kinds of nodes, that are listed."""

Shape = tuple[Amounts, int]
"""What a pod asks for, and how many milli-GPU that is."""
Content = tuple[int, ...]
"""Pods of each shape that come to a node."""
Worth = Callable[[Node, int, Amounts], int]
"""Value of a node on which so many milli-GPU are held, with a load."""


def by_content(m: Relaxation, tier: Tier) -> LinearExprT | None:
    """Return the value of a tier that is a sum over nodes; ``None`` if it is not to be had so.

    Running pods may then leave, what waits asks for devices, or there are too many contents.
    """
    waiting = [kind for kind in m.kinds.pods if not kind.fixed]
    if any(kind.one.running or kind.one.devices for kind in waiting):
        return None
    worth = _worth(m, tier)
    gpus = node_gpus_used(Step(m.instance, m.instance.current, m.instance.current))
    nodes, constant, left = counted(m.instance, tier), 0, MOST_CONTENTS
    terms: Terms = []
    for c in m.classes.classes:
        shapes: dict[Shape, Terms] = {}
        most = Counter[Shape]()
        for kind in waiting:
            if c.index in m.at[kind.index]:
                shape = kind.one.requests, kind.one.gpu_milli
                shapes.setdefault(shape, []).append((m.at[kind.index][c.index], -1))
                most[shape] += kind.count
        for n, count in _alike(m, c.nodes, gpus, nodes).items():
            node, load, counts = m.instance.nodes[n], tuple(m.standing.node[n]), n in nodes
            contents = _contents(m, node, load, most, left)
            left -= len(contents)
            if left < 0:
                return None
            if len(contents) == 1:
                constant += counts * count * worth(node, gpus[n], load)
                continue
            have = [m.cp.new_int_var(0, count, f"content[{tier.name},{n}]") for _ in contents]
            m.cp.add(sum(have) == count)
            for var, (content, full) in zip(have, contents, strict=True):
                taken = gpus[n]
                for shape, pods in zip(shapes, content, strict=True):
                    taken += pods * shape[1]
                    if pods:
                        shapes[shape].append((var, pods))
                if counts and (value := worth(node, taken, full)):
                    terms.append((var, value))
        for sums in shapes.values():
            m.cp.add(weighted(sums) == 0)
    return weighted(terms) + constant


def _worth(m: Relaxation, tier: Tier) -> Worth:
    if tier.metric is Metric.FRAGMENTED_NODES:
        return lambda node, taken, _: int(0 < taken < node.gpu_milli)
    stranding, on_devices = Stranding(m.instance.resources, tier.mix), m.standing.device
    return lambda node, _, load: (
        stranding.on(node, load, on_devices[node.index]) if node.gpu_milli else 0
    )


def _alike(
    m: Relaxation, nodes: Sequence[int], gpus: Sequence[int], counted: frozenset[int]
) -> Counter[int]:
    """Return one of the nodes that offer and hold the same, with their number."""
    first: dict[object, int] = {}
    found = Counter[int]()
    for n in nodes:
        node, loads = m.instance.nodes[n], m.standing
        held = tuple(loads.node[n]), tuple(map(tuple, loads.device[n])), gpus[n]
        found[first.setdefault((node.capacity, node.devices, held, n in counted), n)] += 1
    return found


def _contents(
    m: Relaxation, node: Node, load: Amounts, most: Mapping[Shape, int], enough: int
) -> list[tuple[Content, Amounts]]:
    """Return what pods that wait a node could take, each with the load then, nothing first.

    Where there are more than ``enough``, some of them.
    """
    limits = node.capacity if m.instance.on(Rule.CAPACITY) else ()
    found: list[tuple[Content, Amounts]] = [((), load)]
    for (requests, _), count in most.items():
        more = []
        for content, before in found:
            for pods in range(count + 1):
                here = tuple(a + pods * b for a, b in zip(before, requests, strict=True))
                room = zip(here, limits, requests, strict=False)
                # What is overcommitted keeps away only who asks for it.
                if pods and any(b and c is not None and a > c for a, c, b in room):
                    break
                more.append(((*content, pods), here))
                if len(more) > enough:
                    return more
        found = more
    return found
