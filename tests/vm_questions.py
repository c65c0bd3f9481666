"""Tiny clusters of virtual machines on zones: for brute force."""

from __future__ import annotations

import random
from typing import Any

from kantopt.problem.instance import Instance
from tests.questions import model, question


def vm_question(seed: int, *, also: str = "", cordoned: str = "", of: str = "free") -> Instance:
    """Some machines of one to three zones and some VMs on one zone or on all; some pending.

    Slots of some size are counted per zone or per machine, under limits now and then; or machines
    in use, of which some have a daemon, and some jobs two VMs of which one may move.

    Parameters
    ----------
    also
        Name of an empty machine more, like the first one.
    cordoned
        Machine that nobody comes to.
    of
        What the slots that are missing are counted from; ``in use``: machines in use are counted.
    """
    rng = random.Random(seed)
    zones = rng.choice((1, 2, 2, 3))
    in_use = of == "in use"
    on_zones = rng.random() < 0.8 and not in_use
    memory = rng.choice((None, 6, 9))
    nodes: list[dict[str, Any]] = []
    room = []
    for n in range(rng.choice((2, 2, 3))):
        capacity = {"cpu": rng.choice((5, 6, 6)), **({"memory": memory} if memory else {})}
        node: dict[str, Any] = {"name": f"n{n}", "labels": {"side": "ab"[n % 2]}}
        if on_zones:
            node["devices"] = [{"class": "zone", "count": zones, "capacity": capacity}]
        else:
            node["allocatable"] = capacity
        nodes.append(node)
        room.append([dict(capacity) for _ in range(zones if on_zones else 1)])
    running, pending = [], []
    for i in range(rng.randint(3, 5)):
        wide = on_zones and zones > 1 and rng.random() < 0.3
        asked = {
            "cpu": rng.choice((1, 1, 2, 2, 3)),
            **({"memory": rng.choice((1, 2, 3))} if memory else {}),
        }
        podset: dict[str, Any] = {"count": 1}
        if on_zones:
            count = zones if wide else 1
            podset["devices"] = [{"class": "zone", "count": count, "requests": asked}]
        else:
            podset["requests"] = asked
        if rng.random() < 0.15:
            podset["nodeSelector"] = {"side": rng.choice("ab")}
        job: dict[str, Any] = {"name": f"v{i}", "podSets": [podset], "moveMode": "live"}
        job["priority"] = rng.choice((1, 1, 2))
        job["preemptible"] = rng.random() < 0.2
        job["movable"] = rng.random() < 0.9
        if rng.random() < 0.15:
            pending.append(job)
            continue
        n = rng.randrange(len(nodes))
        on = tuple(range(len(room[n]))) if wide else (rng.randrange(len(room[n])),)
        if in_use and rng.random() < 0.3:
            podset["count"], podset["minCount"], job["maxMoves"] = 2, 0, 1
            asked = {r: 2 * a for r, a in asked.items()}
        fits = all(room[n][z][r] >= a for z in on for r, a in asked.items())
        if fits or rng.random() < 0.1:
            for z in on:
                for r, a in asked.items():
                    room[n][z][r] -= a
            place = {"node": f"n{n}", **({"devices": list(on)} if on_zones else {})}
            podset["assignments"] = [{**place, "count": podset["count"]}]
            running.append(job)
    if in_use and min(room[0][0].values()) > 0 and rng.random() < 0.5:
        agent = {"count": 1, "requests": {"cpu": 1}, "assignments": [{"node": "n0"}]}
        running.append({"name": "agent", "daemon": True, "podSets": [agent]})
    if also:
        nodes.append({**nodes[0], "name": also})
    for node in nodes:
        node["unschedulable"] = node["name"] == cordoned
    slots = {"resource": "cpu", "size": rng.choice((2, 3, 4)), "of": of}
    if on_zones:
        slots["device_class"] = "zone"
    first: list[Any] = ["nodes_in_use" if in_use else {"fragment_rate": slots}, "moves"]
    objectives = rng.choice(
        (
            first,
            ["unplaced", *first],
            ["evictions", *first],
            [*first, "evictions"],
            [first[0], "disruption_cost"],
        )
    )
    limits = rng.choice(({}, {"evictions": 0}, {"evictions": 0, "moves": 1}, {"moves": 2}))
    strict = rng.choice(("strict", "counts"))
    asked_model = model(*objectives, limits=limits, rules={"priority": strict})
    return question(nodes, running, pending).instance(asked_model)
