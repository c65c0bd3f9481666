"""Random placements of random questions, a good part of them legal, others just not."""

from __future__ import annotations

import random
from itertools import combinations

from kantopt.problem.cluster import Spot
from kantopt.problem.instance import Instance
from kantopt.problem.job import PodSet
from kantopt.problem.placement import Placement
from kantopt.verify.step import Loads


def random_placement(rng: random.Random, instance: Instance) -> Placement:
    """Change the current placement at a few places: bind, evict, move, sometimes out of reason."""
    spots = [dict(podset.current) for podset in instance.podsets]
    loads = Loads.of(instance, instance.current)
    jobs = list(instance.jobs)
    rng.shuffle(jobs)
    for job in jobs[: rng.randint(min(1, len(jobs)), len(jobs))]:
        whole = rng.random() < 0.7
        careful = rng.random() < 0.8
        together = rng.random() < 0.4
        home = rng.randrange(len(instance.nodes))
        leave = rng.random() < 0.5
        for s in job.podsets:
            podset = instance.podsets[s]
            if podset.running:
                _leave(rng, podset, spots[s], loads, whole=whole, leave=leave, careful=careful)
                continue
            count = podset.count if whole else rng.randint(0, podset.count)
            for _ in range(count):
                _arrive(rng, podset, spots[s], loads, careful, home if together else None)
    return Placement(tuple({x: k for x, k in sorted(pods.items()) if k} for pods in spots))


def _leave(
    rng: random.Random,
    podset: PodSet,
    spots: dict[Spot, int],
    loads: Loads,
    *,
    whole: bool,
    leave: bool,
    careful: bool,
) -> None:
    for spot, pods in list(podset.current.items()):
        for _ in range(pods):
            if not leave or not (whole or rng.random() < 0.5):
                continue
            if careful and not (podset.preemptible or podset.movable):
                continue
            spots[spot] -= 1
            loads.add(podset.index, spot, -1)
            if rng.random() < (0.6 if podset.movable else 0.2):
                _arrive(rng, podset, spots, loads, careful, None)


def _arrive(
    rng: random.Random,
    podset: PodSet,
    spots: dict[Spot, int],
    loads: Loads,
    careful: bool,
    home: int | None,
) -> None:
    options = _options(podset, loads, careful)
    if home is not None and any(spot.node == home for spot in options):
        options = [spot for spot in options if spot.node == home]
    if options:
        spot = rng.choice(options)
        spots[spot] = spots.get(spot, 0) + 1
        loads.add(podset.index, spot, 1)


def _options(podset: PodSet, loads: Loads, careful: bool) -> list[Spot]:
    """Spots with the right devices; of a careful hand, allowed ones with room."""
    found = []
    for node in loads.instance.nodes:
        if careful and node.index not in podset.allowed:
            continue
        choices: list[tuple[int, ...]] = [()]
        for need in podset.devices:
            devices = node.devices_of(need.device_class)
            choices = [(*c, *more) for c in choices for more in combinations(devices, need.count)]
        for devices in choices:
            spot = Spot(node.index, tuple(sorted(devices)))
            if not careful or _has_room(podset, spot, loads):
                found.append(spot)
    return found


def _has_room(podset: PodSet, spot: Spot, loads: Loads) -> bool:
    node = loads.instance.nodes[spot.node]
    return all(
        not ask or limit is None or used + ask <= limit
        for ask, limit, used in zip(
            podset.requests, node.capacity, loads.node[spot.node], strict=True
        )
    ) and all(
        not ask or used + ask <= limit
        for d, request in loads.device_requests(podset.index, spot)
        for ask, limit, used in zip(
            request, node.devices[d].capacity, loads.device[spot.node][d], strict=True
        )
    )
