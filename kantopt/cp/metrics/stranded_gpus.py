"""M7 stranded GPUs: what the job mix cannot be expected to use (FGD, ATC'23)."""

from __future__ import annotations

from collections.abc import Sequence

from ortools.sat.python.cp_model import IntVar, LinearExprT

from kantopt.cp.variables import Terms, Variables, weighted
from kantopt.problem.cluster import Node
from kantopt.problem.counted import counted
from kantopt.problem.mix import Shape
from kantopt.problem.tiers import Tier
from kantopt.schema.quantity import gpu_milli
from kantopt.verify.metrics.stranded_gpus import Stranding


def stranded_gpus_expr(m: Variables, tier: Tier) -> LinearExprT:
    """Free GPUs that pods of the job mix cannot use, summed over the mix by weight.

    What is free, less what a hosted shape can use: the model chooses which shapes a node hosts.
    """
    terms: Terms = []
    constant = 0
    stranding = Stranding(m.instance.resources, tier.mix)
    for n in sorted(counted(m.instance, tier)):
        node = m.instance.nodes[n]
        if not node.gpu_milli:
            continue
        if _stays_as_it_is(m, node):
            load, devices = m.standing.node[node.index], m.standing.device[node.index]
            constant += stranding.on(node, load, devices)
        else:
            terms += _free_gpus(m, node, sum(shape.weight for shape in tier.mix))
            for i, shape in enumerate(tier.mix):
                terms += [(used, -shape.weight) for used in _usable(m, node, i, shape)]
    return weighted(terms) + constant


def _stays_as_it_is(m: Variables, node: Node) -> bool:
    return all(not new and m.may.fixed(s) for s, _, new in m.on_node[node.index])


def _gpus(m: Variables, capacity: Sequence[int | None]) -> list[tuple[int, int, int]]:
    """Resource, limit and milli-GPU per unit of the GPUs of a node, or of one of its devices."""
    return [
        (r, limit, gpu_milli(name, 1))
        for r, (name, limit) in enumerate(zip(m.instance.resources, capacity, strict=True))
        if limit and gpu_milli(name, 1)
    ]


def _free_gpus(m: Variables, node: Node, weight: int) -> Terms:
    n = node.index
    own = _gpus(m, node.capacity)
    terms: Terms = [(m.free(n, r, limit), weight * per) for r, limit, per in own]
    for d, device in enumerate(node.devices):
        shares = _gpus(m, device.capacity)
        terms += [(m.device_free(n, d, r), weight * per) for r, _, per in shares]
    return terms


def _usable(m: Variables, node: Node, i: int, shape: Shape) -> list[IntVar]:
    """Milli-GPU of a node that a shape can use, at most; 0 unless the node hosts it."""
    n, cp = node.index, m.cp
    hosts = cp.new_bool_var(f"hosts[{n},{i}]")
    for r, (ask, limit) in enumerate(zip(shape.requests, node.capacity, strict=True)):
        if ask and limit is not None:
            cp.add(m.free(n, r, limit) >= ask).only_enforce_if(hosts)
    fitting: dict[int, IntVar] = {}
    for need in shape.devices:
        for d in node.devices_of(need.device_class):
            fits = cp.new_bool_var(f"fits[{n},{i},{d}]")
            for r, ask in enumerate(need.request):
                if ask:
                    room = (node.devices[d].capacity[r] - ask) // m.unit[r]
                    cp.add(m.device_load(n, d, r) <= room).only_enforce_if(fits)
            fitting[d] = fits
        able = [(fitting[d], 1) for d in node.devices_of(need.device_class)]
        cp.add(weighted(list(able)) >= need.count).only_enforce_if(hosts)
    usable: list[IntVar] = []

    def use(expr: LinearExprT, most: int, given: tuple[IntVar, ...]) -> None:
        used = cp.new_int_var(0, most, f"usable[{n},{i},{len(usable)}]")
        cp.add(used <= expr)
        for condition in given:
            cp.add(used <= most * condition)
        usable.append(used)

    if any(
        gpu_milli(name, a) for name, a in zip(m.instance.resources, shape.requests, strict=True)
    ):
        for r, limit, per in _gpus(m, node.capacity):
            use(per * m.free(n, r, limit), per * limit, (hosts,))
    for d, fits in fitting.items():
        for r, limit, per in _gpus(m, node.devices[d].capacity):
            use(per * m.device_free(n, d, r), per * limit, (hosts, fits))
    return usable
