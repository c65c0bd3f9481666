"""Small conflicts for random questions: what only one rule forbids, or only a good plan finds.

Each plant adds one or two jobs with an attractive placement and room for just that; it returns
whether there were nodes to plant on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from kantopt.schema.model import Rule
from tests.drafts import (
    GPU,
    HIGH,
    HOST,
    LOW,
    MIDDLE,
    Document,
    Draft,
    a_victim,
    an_evictor,
    hosts,
    plus,
)
from tests.near_plants import plant_affinity
from tests.node_plants import plant_claim, plant_ports


def plant_capacity(d: Draft) -> bool:
    if d.chance(50):
        return plant_ports(d)
    nodes = d.pick()
    if not nodes:
        return False
    asked = d.ask()
    d.wait(nodes, asked, confined=True)
    d.room[nodes[0]][d.rng.choice(sorted(asked))] -= 1
    return True


def plant_devices(d: Draft) -> bool:
    nodes = d.pick()
    if not nodes or "devices" in d.nodes[nodes[0]]:
        return False
    n = nodes[0]
    if d.chance(60):
        cls, resource, size, half, most = "gpu", "gpu", "1", "600m", "900m"
    else:
        cls, resource, size, half, most = "numa", "cpu", "2", "1500m", "2"
    d.nodes[n]["devices"] = [{"class": cls, "count": 2, "capacity": {resource: size}}]
    cpu = Counter({"cpu": 1})
    need = {"class": cls, "count": 1, "requests": {resource: half}}
    if d.chance(70):
        job = d.run([n], cpu, devices=[need], preemptible=d.chance(40))
        job["podSets"][0]["assignments"][0]["devices"] = [d.rng.randint(0, 1)]
    else:
        d.wait([n], cpu, devices=[need], priority=HIGH)
    if d.chance(50):
        d.wait([n], cpu, devices=[{**need, "count": 2, "requests": {resource: most}}])
    else:
        d.wait([n, n], cpu, devices=[need], minCount=d.rng.choice((0, 1, 2)))
    return True


def plant_eligibility(d: Draft) -> bool:
    nodes = d.pick()
    if not nodes:
        return False
    job = d.wait(nodes, d.ask(), confined=True)
    podset, node = job["podSets"][0], d.nodes[nodes[0]]
    match d.rng.randint(0, 5):
        case 5:
            here = {"matchExpressions": [{"key": "zone", "operator": "DoesNotExist"}]}
            away = {"matchExpressions": [{"key": "zone", "operator": "Exists"}]}
            podset["volumeNodeAffinity"] = [[here, away], [away]]
        case 0:
            podset["nodeSelector"] = {"zone": "x"}
        case 1:
            podset["nodeAffinity"] = [{"matchExpressions": [{"key": "zone", "operator": "Exists"}]}]
        case 2 if d.uses[nodes[0]] == 1:
            node["unschedulable"] = True
            d.dead.add(nodes[0])
        case 3 if d.uses[nodes[0]] == 1:
            node["ready"] = False
            d.dead.add(nodes[0])
        case _:
            node["taints"] = [{"key": "dedicated", "value": "x", "effect": "NoSchedule"}]
            podset["tolerations"] = [{"key": "dedicated", "value": "y"}]
    return True


def plant_gang(d: Draft) -> bool:
    nodes = d.pick()
    if not nodes:
        return False
    asked, n = d.ask(), nodes[0]
    shape = d.rng.randint(0, 3)
    if shape == 0:
        d.wait([n, n], asked, room=False, confined=True)
        d.reserve(n, asked)
    elif shape == 1:
        d.wait([n, n, n], asked, room=False, confined=True, minCount=2)
        d.reserve(n, asked)
    elif shape == 2:
        job = d.wait([n], asked, confined=True)
        job["minCount"] = 2
        job["podSets"].append({**job["podSets"][0], "name": "second"})
        if d.chance(50):
            job["podSets"][0]["minCount"] = 1
        if d.chance(25):
            d.pending.remove(job)
            job["podSets"][0]["assignments"] = [{"node": f"n{n}"}]
            d.running.append(job)
    else:
        job = d.run([n], asked, minCount=3, movable=False)
        job["podSets"][0].update(count=3, nodeAffinity=[hosts([n])])
        d.reserve(n, asked)
    return True


def plant_topology(d: Draft) -> bool:
    nodes = d.pick(2, apart="rack")
    if not nodes:
        return False
    asked = d.ask()
    request = {"required": d.rng.choice(("rack", "topology/rack"))}
    if d.chance(60):
        job = d.wait(nodes, asked, confined=True, minCount=d.rng.choice((1, 2, 2)))
        if d.chance(30):
            first = job["podSets"][0]
            job["podSets"] = [{**first, "name": name, "count": 1} for name in ("a", "b")]
            for podset in job["podSets"]:
                podset["minCount"] = min(1, first["minCount"])
            job["topologyRequest"] = request
        else:
            job["podSets"][0]["topologyRequest"] = request
    else:
        least = d.rng.choice((0, 1, 2))
        job = d.run(nodes[:1], asked, movable=False, minCount=least, topologyRequest=request)
        job["podSets"][0].update(count=2, nodeAffinity=[hosts(nodes)])
        d.reserve(nodes[1], asked)
    return True


def plant_slices(d: Draft) -> bool:
    nodes = d.pick(2, apart="rack")
    if not nodes:
        return False
    request = {"podSetSliceRequiredTopology": "rack", "podSetSliceSize": 2}
    least = d.rng.choice((0, 2))
    d.wait(nodes, d.ask(), confined=True, minCount=least, topologyRequest=request)
    return True


def plant_quota(d: Draft) -> bool:
    nodes = d.pick(2) or d.pick()
    if not nodes:
        return False
    asked, extra = d.ask(), d.rng.randint(0, 1)
    name = d.rng.choice(sorted(asked))
    queue = f"q{len(d.queues)}"
    if d.chance(40):
        d.run(nodes[:1], asked, queueName=queue, preemptible=d.chance(30))
        extra += asked[name]
    d.wait(nodes[-1:], asked, queueName=queue, confined=True)
    short = asked[name] + extra - 1
    own: Document = {"name": name, "nominalQuota": short}
    shape = d.rng.randint(0, 2)
    if shape == 0:
        d.queues.append({"name": queue, "resources": [own]})
        own["nominalQuota"] = asked[name] - 1 if extra < 2 else short
        return True
    cohort = f"c{len(d.queues)}"
    lender: Document = {"name": name, "nominalQuota": 5}
    if shape == 1:
        own.update(nominalQuota=0, borrowingLimit=asked[name] - 1)
    else:
        own.update(nominalQuota=0)
        lender["lendingLimit"] = asked[name] - 1
    d.queues.append({"name": queue, "cohort": cohort, "resources": [own]})
    d.queues.append({"name": f"{queue}-lender", "cohort": cohort, "resources": [lender]})
    return True


def plant_anti_affinity(d: Draft) -> bool:
    nodes = d.pick()
    if not nodes:
        return False
    if d.chance(30):
        return plant_claim(d, nodes)
    n, asked, key = nodes[0], d.ask(), d.rng.choice((HOST, HOST, "topology/rack"))
    if key not in d.nodes[n]["labels"] and key != HOST:
        key = HOST
    if d.chance(50):
        job = d.wait([n, n], asked, confined=True, minCount=d.rng.choice((0, 2)))
        own = job["podSets"][0]["labels"]
    else:
        running = d.run([n], d.ask(), preemptible=d.chance(20))
        job = d.wait([n], asked, confined=True)
        own = running["podSets"][0]["labels"]
        if d.chance(40):
            job, own = running, job["podSets"][0]["labels"]
    term = {"topologyKey": key, "labelSelector": {"matchLabels": own}}
    job["podSets"][0]["podAntiAffinity"] = [term]
    return True


def plant_spread(d: Draft) -> bool:
    nodes = d.pick(2)
    if not nodes:
        return False
    n = nodes[0]
    asked, least = d.ask(), d.rng.choice((0, 0, 2))
    job = d.wait([n, n], asked, confined=True, minCount=least)
    podset = job["podSets"][0]
    constraint = {
        "maxSkew": 1,
        "topologyKey": d.rng.choice((HOST, HOST, "topology/rack")),
        "labelSelector": {"matchLabels": podset["labels"]},
    }
    if d.chance(50):
        constraint["minDomains"] = 2
    else:
        podset["nodeAffinity"] = [hosts(nodes)]
    podset["topologySpreadConstraints"] = [constraint]
    return True


def plant_priority(d: Draft) -> bool:
    nodes = d.pick()
    if not nodes:
        return False
    level = d.rng.choice((LOW, MIDDLE))
    victim, asked = a_victim(d, nodes, priority=level)
    if d.chance(75):
        an_evictor(d, nodes[0], victim, asked, priority=level + 1, preemptionPolicy="Never")
    else:
        bigger = plus(asked, cpu=1, gpu=1)
        d.room[nodes[0]].update({"cpu": 1, GPU: 1})
        an_evictor(d, nodes[0], victim, bigger, priority=level)
    return True


def plant_pinned(d: Draft) -> bool:
    nodes = d.pick()
    if not nodes:
        return False
    victim, asked = a_victim(d, nodes, preemptible=False, movable=False)
    an_evictor(d, nodes[0], victim, asked)
    return True


def _budget(d: Draft, victim: Document, allowed: int) -> None:
    labels = victim["podSets"][0]["labels"]
    budget = {
        "name": f"b{len(d.budgets)}",
        "selector": {"matchLabels": labels},
        "disruptionsAllowed": allowed,
    }
    d.budgets.append(budget)


def plant_disruption(d: Draft) -> bool:
    nodes = d.pick()
    if not nodes:
        return False
    n, shape = nodes[0], d.rng.randint(0, 2)
    if shape == 0:
        victim, asked = a_victim(d, nodes)
        _budget(d, victim, 0)
        an_evictor(d, n, victim, asked)
    elif shape == 1:
        victim, asked = a_victim(d, nodes)
        _budget(d, victim, 1)
        _budget(d, victim, 2)
        an_evictor(d, n, victim, asked)
    else:
        victim, asked = a_victim(d, [n, n], minCount=0)
        _budget(d, victim, 1)
        job = an_evictor(d, n, victim, asked)
        job["podSets"][0].update(count=2, requests=dict(asked), minCount=d.rng.choice((0, 2)))
    return True


def plant_gang_victims(d: Draft) -> bool:
    nodes = d.pick(2) or d.pick()
    if not nodes:
        return False
    where = [nodes[0], nodes[-1]]
    cost = d.rng.randint(1, 2)
    victim, asked = a_victim(d, where, minCount=0, disruptionMode="all", disruptionCost=cost)
    an_evictor(d, nodes[0], victim, asked)
    d.limits["evictions"] += 2
    return True


def plant_limits(d: Draft) -> bool:
    d.limited = d.rng.choice(("evictions", "moves"))
    return plant_eviction(d) if d.limited == "evictions" else plant_move(d)


def plant_required(d: Draft) -> bool:
    nodes = d.pick()
    if not nodes:
        return False
    asked = d.ask()
    low = d.wait(nodes, asked, priority=LOW, confined=True)
    if d.chance(90):
        d.wait(nodes, asked, priority=HIGH, confined=True, room=False)
    else:
        low["podSets"][0]["count"] = 3
    d.required.append(d.rng.choice(("default/", "")) + low["name"])
    return True


def plant_eviction(d: Draft) -> bool:
    """A preemption that a good plan makes."""
    nodes = d.pick()
    if not nodes:
        return False
    victim, asked = a_victim(d, nodes)
    if d.chance(25):
        _budget(d, victim, 1)
    an_evictor(d, nodes[0], victim, asked)
    d.limits["evictions"] += 1
    return True


def plant_move(d: Draft) -> bool:
    """A running pod that makes room by going elsewhere."""
    nodes = d.pick(2)
    if not nodes:
        return False
    asked = d.ask()
    job = d.run(nodes[:1], asked, preemptible=False, movable=True)
    job["podSets"][0]["nodeAffinity"] = [hosts(nodes)]
    d.reserve(nodes[1], asked)
    an_evictor(d, nodes[0], job, asked)
    d.limits["moves"] += 1
    return True


def plant_crossing(d: Draft) -> bool:
    """A gang that must spread out because others hold the place where it would fit together."""
    nodes = d.pick(2, apart="rack")
    if not nodes:
        return False
    asked = d.ask()
    d.run(nodes[:1], asked, preemptible=False, movable=False)
    request = {"preferred": "rack"}
    d.wait(nodes, asked, priority=HIGH, confined=d.chance(80), topologyRequest=request)
    return True


def plant_crumbs(d: Draft) -> bool:
    """A little room left over on two nodes."""
    for n in d.pick(2) or ():
        d.room[n].update({"cpu": 1, GPU: 1})
    return True


PLANTS: dict[str, Callable[[Draft], bool]] = {
    Rule.CAPACITY: plant_capacity,
    Rule.DEVICES: plant_devices,
    Rule.ELIGIBILITY: plant_eligibility,
    Rule.GANG: plant_gang,
    Rule.TOPOLOGY: plant_topology,
    Rule.SLICES: plant_slices,
    Rule.QUOTA: plant_quota,
    Rule.ANTI_AFFINITY: plant_anti_affinity,
    Rule.SPREAD: plant_spread,
    Rule.PRIORITY: plant_priority,
    Rule.PINNED: plant_pinned,
    Rule.DISRUPTION: plant_disruption,
    Rule.GANG_VICTIMS: plant_gang_victims,
    Rule.LIMITS: plant_limits,
    Rule.REQUIRED: plant_required,
    Rule.AFFINITY: plant_affinity,
    "eviction": plant_eviction,
    "move": plant_move,
    "crossing": plant_crossing,
    "crumbs": plant_crumbs,
}
