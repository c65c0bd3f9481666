"""R2 devices."""

from __future__ import annotations

from kantopt.cp.variables import Variables


def add_devices(m: Variables) -> None:
    """Each pod sits on distinct devices of the classes it asks for, and none is overfull.

    That the devices are distinct lies in the variables: ``use <= arrive`` on each device and
    ``sum(use) == k * arrive`` admit a choice of k distinct devices for every pod.
    """
    for (n, d), users in sorted(m.on_device.items()):
        for r, limit in enumerate(m.instance.nodes[n].devices[d].capacity):
            arrivals = [(s, var) for s, var, new in users if new and m.device_request(s, n, d)[r]]
            if not arrivals:
                continue
            load = m.device_load(n, d, r)
            m.about("node", n)
            if m.standing.device[n][d][r] <= limit:
                m.cp.add(load <= limit // m.unit[r])
            else:
                for s, var in arrivals:
                    most = m.instance.podsets[s].count
                    used = m.positive(("uses", s, n, d), var, most)
                    m.cp.add(load <= limit // m.unit[r]).only_enforce_if(used)
