"""Small conflicts about what a node has one of, for random questions."""

from __future__ import annotations

from tests.drafts import Draft, a_victim, an_evictor, hosts


def plant_ports(d: Draft) -> bool:
    """Two pods that would have room on a node but for a port of it."""
    nodes = d.pick(2) or d.pick()
    if not nodes:
        return False
    n, asked = nodes[0], d.ask()
    first, second = d.rng.choice((("", ""), ("", "10.0.0.1"), ("10.0.0.1", "10.0.0.1"), ("a", "b")))
    ports = [[{"hostPort": 80, "hostIP": address}] for address in (first, second)]
    shape = d.rng.randint(0, 3)
    if shape == 0:
        least = d.rng.choice((0, 2))
        d.wait([n, n], asked, confined=True, minCount=least, hostPorts=ports[0])
    elif shape == 1:
        victim, asked = a_victim(d, [n], hostPorts=ports[0])
        an_evictor(d, n, victim, asked, hostPorts=ports[1])
        d.reserve(n, asked)
    elif shape == 2:
        job = d.run([n], asked, preemptible=False, movable=True, hostPorts=ports[0])
        job["podSets"][0]["nodeAffinity"] = [hosts(nodes)]
        d.reserve(nodes[-1], asked)
        d.wait([n], asked, confined=True, hostPorts=ports[1])
    else:
        d.wait([n], asked, confined=True, hostPorts=ports[0])
        d.wait([n], asked, confined=True, hostPorts=ports[1])
    return True


def plant_claim(d: Draft, nodes: list[int]) -> bool:
    """Two pods that would have room but for a claim that only one of them may use."""
    n, asked = nodes[0], d.ask()
    claim = [f"default/c{d.jobs}"]
    shape = d.rng.randint(0, 2)
    if shape == 0:
        least = d.rng.choice((0, 2))
        d.wait([n, n], asked, confined=d.chance(50), minCount=least, exclusiveClaims=claim)
    elif shape == 1:
        victim, asked = a_victim(d, [n], exclusiveClaims=claim)
        an_evictor(d, n, victim, asked, exclusiveClaims=claim)
        d.reserve(n, asked)
    else:
        d.wait([n], asked, exclusiveClaims=claim)
        d.wait([n], asked, exclusiveClaims=claim)
    return True
