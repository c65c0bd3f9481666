"""M6 fragmented nodes (GFR)."""

from __future__ import annotations

from ortools.sat.python.cp_model import LinearExprT

from kantopt.cp.variables import Terms, Variables, weighted
from kantopt.problem.counted import counted
from kantopt.problem.tiers import Tier


def fragmented_nodes_expr(m: Variables, tier: Tier) -> LinearExprT:
    """Nodes that count, of which some GPUs are taken and some are free."""
    podsets = m.instance.podsets
    terms: Terms = []
    for n in sorted(counted(m.instance, tier)):
        node = m.instance.nodes[n]
        used = [(var, podsets[s].gpu_milli) for s, var, _ in m.on_node[n] if podsets[s].gpu_milli]
        if not node.gpu_milli or not used:
            continue
        most = sum(podsets[s].gpu_milli * podsets[s].count for s, _, _ in m.on_node[n])
        load = weighted(list(used))
        some = m.positive(("gpus", n), load, most)
        full, part = m.cp.new_bool_var(f"full[{n}]"), m.cp.new_bool_var(f"part[{n}]")
        m.cp.add(load >= node.gpu_milli).only_enforce_if(full)
        m.cp.add(part + full >= some)  # not some - full: that has no bound but of all nodes
        terms.append((part, 1))
    return weighted(terms)
