"""R1 capacity."""

from __future__ import annotations

from kantopt.cp.variables import Variables, weighted


def add_capacity(m: Variables) -> None:
    """No node takes pods that ask for more of a resource than the node has left.

    Where a node is overcommitted as it stands, the limit binds only if such pods arrive.
    """
    podsets = m.instance.podsets
    for node in m.instance.nodes:
        n = node.index
        if m.held(n):
            continue
        for r, limit in enumerate(node.capacity):
            if limit is None:
                continue
            arrivals = [s for s, _, new in m.on_node[n] if new and podsets[s].requests[r]]
            if not arrivals:
                continue
            load = m.node_load(n, r)
            m.about("node", n)
            if m.standing.node[n][r] <= limit:
                m.cp.add(load <= limit // m.unit[r])
            else:
                for s in arrivals:
                    m.cp.add(load <= limit // m.unit[r]).only_enforce_if(m.arrives(s, n))
    _add_totals(m)


def _add_totals(m: Variables) -> None:
    """Add for each resource that every node limits the sum of the limits: implied, but a proof.

    A node that is overcommitted as it stands holds no more than it does now.
    """
    for r, unit in enumerate(m.unit):
        total = 0
        for node in m.instance.nodes:
            limit = node.capacity[r]
            if limit is None:
                break
            total += max(limit, m.standing.node[node.index][r]) // unit
        else:
            m.about("nodes")
            podsets = [podset for podset in m.instance.podsets if podset.requests[r]]
            load = weighted([(m.total(p.index), p.requests[r] // unit) for p in podsets])
            m.cp.add(load <= total)
