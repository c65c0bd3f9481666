"""R1 capacity."""

from __future__ import annotations

from kantopt.cp.variables import Variables


def add_capacity(m: Variables) -> None:
    """No node takes pods that ask for more of a resource than the node has left.

    Where a node is overcommitted as it stands, the limit binds only if such pods arrive.
    """
    podsets = m.instance.podsets
    for node in m.instance.nodes:
        n = node.index
        for r, limit in enumerate(node.capacity):
            if limit is None:
                continue
            arrivals = [s for s, _, new in m.on_node[n] if new and podsets[s].requests[r]]
            if not arrivals:
                continue
            load = m.node_load(n, r)
            if m.standing.node[n][r] <= limit:
                m.cp.add(load <= limit)
            else:
                for s in arrivals:
                    m.cp.add(load <= limit).only_enforce_if(m.arrives(s, n))
