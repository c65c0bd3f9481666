"""Gangs on a network topology: real hosts with real job sizes, and generated clusters of any size.

No public data set has gangs and the topology of one cluster, so each instance is composed: hosts
and switches of one, sizes of jobs of another. What runs is drawn until a share of the GPUs is in
use; then gangs are drawn that wait.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path

from kantopt.schema.jobs import Job, PodSet, TopologyRequest
from kantopt.schema.snapshot import ClusterSnapshot
from scripts.bench.case import Case, Documents
from scripts.bench.gang_cluster import GPU, PRIORITIES, GangCluster
from scripts.bench.gang_sizes import read_hosts, read_kalos, sizes_of

SUITE = "gangs"
_LEAF_NODES, _BLOCK_LEAVES = 32, 16
_RACK_NODES, _SEGMENT_NODES = 18, 16
_USAGE, _LINGJUN_USAGE = (85,), (90,)
"""Percent of the GPUs that are in use where nothing else is asked for."""
_LINGJUN_GANGS = 50


def cases(
    nodes: Sequence[int], usage_percent: Sequence[int], seeds: Sequence[int], data: Path | None
) -> list[Case]:
    """List the instances: generated ones of each size, racks of NVL72, and Lingjun's with data.

    Parameters
    ----------
    nodes
        Sizes of the generated clusters.
    usage_percent
        Shares of the GPUs in use; none for 85 %, and 90 % of Lingjun.
    data
        Folder with the Lingjun hosts and the Acme job sizes; without it the generated clusters
        draw from a distribution of our own, under another name, and Lingjun is left out.
    """
    found = []
    for seed in seeds:
        for usage in usage_percent or _USAGE:
            share = usage / 100
            for size in nodes:
                kind = f"kant-{sizes_of(data)[2]}"
                found.append(_case(kind, size, usage, seed, _kant(size, share, seed, data)))
            found.append(_case("nvl72", 36 * _RACK_NODES, usage, seed, _nvl72(36, share, seed)))
        for usage in (usage_percent or _LINGJUN_USAGE) if data is not None else ():
            assert data is not None
            hosts = len(read_hosts(data / "lingjun" / "topo.csv"))
            make = _lingjun(usage / 100, seed, data)
            found.append(_case("lingjun-kalos", hosts, usage, seed, make))
    return sorted(found, key=lambda case: int(case.parameters["nodes"]))


def kant(nodes: int, usage: float, seed: int, data: Path | None) -> Documents:
    """Make a cluster of blocks of leaves of 32 nodes of 8 GPUs, 10 pods per node, gangs waiting.

    300 gangs wait, 1,000 from 10,000 nodes on, fewer below 1,200 nodes. Of those that fit into a
    leaf a third requires one and a third prefers one; larger ones prefer few leaves or blocks.
    """
    pending, running, _ = sizes_of(data)
    paths = [
        (f"block-{n // (_LEAF_NODES * _BLOCK_LEAVES):03d}", f"leaf-{n // _LEAF_NODES:04d}")
        for n in range(nodes)
    ]
    cluster = GangCluster(("block", "leaf"), paths, 8, seed)
    running = running.from_gpus(1, 2 * nodes)
    cluster.fill_to(usage, [running.draw(cluster.rng) for _ in range(8 * nodes)])
    cluster.add_services(10)
    count = 1000 if nodes >= 10_000 else min(300, max(10, nodes // 4))
    sizes = [
        cluster.rng.choice(pending).from_gpus(8, 2 * nodes).draw(cluster.rng) for _ in range(count)
    ]
    jobs = tuple(
        cluster.job(f"gang-{i:04d}", gpus, _closeness(cluster.rng, gpus))
        for i, gpus in enumerate(sizes)
    )
    return documents(cluster.snapshot(f"kant-{nodes}-{seed}"), jobs)


def nvl72(racks: int, usage: float, seed: int) -> Documents:
    """Make racks of 18 nodes of 4 GPUs, and jobs of 64 nodes in segments of 16 inside a rack.

    A fifth of the racks is nearly empty but for one to three nodes; the others fill to ``usage``.
    """
    paths = [(f"rack-{n // _RACK_NODES:03d}",) for n in range(racks * _RACK_NODES)]
    cluster = GangCluster(("rack",), paths, 4, seed)
    for rack in range(racks):
        first = rack * _RACK_NODES
        busy = cluster.rng.randint(1, 3)
        if cluster.rng.random() >= 0.2:
            busy = max(busy, min(_RACK_NODES, round(usage * cluster.rng.randint(12, 24))))
        for n in sorted(cluster.rng.sample(range(first, first + _RACK_NODES), busy)):
            cluster.start(cluster.job(f"run-{n:05d}", 4), [n], 4)
    jobs = []
    for i in range(max(1, racks // 6)):
        segment = TopologyRequest(
            pod_set_slice_required_topology="rack", pod_set_slice_size=_SEGMENT_NODES
        )
        size = _SEGMENT_NODES * cluster.rng.choice((1, 2, 4, 4))
        podset = PodSet(count=size, requests={"cpu": 64, GPU: 4}, topology_request=segment)
        name = cluster.rng.choice(("prod", "research"))
        jobs.append(
            Job(
                name=f"segments-{i:03d}",
                priority_class_name=name,
                priority=None,
                pod_sets=(podset,),
            )
        )
    return documents(cluster.snapshot(f"nvl72-{racks}-{seed}"), tuple(jobs))


def lingjun(usage: float, seed: int, data: Path) -> Documents:
    """Make Lingjun's hosts, 8 GPUs each assumed, with the real jobs of Kalos in random order.

    Fifty jobs wait; others start until ``usage`` is reached.
    """
    paths = read_hosts(data / "lingjun" / "topo.csv")
    cluster = GangCluster(("aggregation", "leaf"), paths, 8, seed)
    sizes = read_kalos(data / "acme" / "kalos_319_jobs.csv")
    cluster.rng.shuffle(sizes)
    waiting, started = sizes[:_LINGJUN_GANGS], sizes[_LINGJUN_GANGS:]
    cluster.fill_to(usage, started)
    jobs = tuple(
        cluster.job(f"gang-{i:04d}", gpus, TopologyRequest(preferred="leaf"))
        for i, gpus in enumerate(waiting)
    )
    return documents(cluster.snapshot(f"lingjun-kalos-{seed}"), jobs)


def _closeness(rng: random.Random, gpus: int) -> TopologyRequest | None:
    nodes = -(-gpus // 8)
    if nodes == 1:
        return None
    wish = rng.randrange(3)
    if nodes <= _LEAF_NODES and wish == 0:
        return TopologyRequest(required="leaf")
    if nodes <= _LEAF_NODES * _BLOCK_LEAVES and wish == 1:
        return TopologyRequest(required="block", preferred="leaf")
    return TopologyRequest(preferred="leaf")


def documents(snapshot: ClusterSnapshot, jobs: tuple[Job, ...]) -> Documents:
    """Say priorities as numbers too: job lists know no classes of their own."""

    def numbered(job: Job) -> Job:
        return job.model_copy(update={"priority": PRIORITIES[job.priority_class_name]})

    running = tuple(numbered(job) for job in snapshot.jobs)
    return Documents(
        snapshot.model_copy(update={"jobs": running}), tuple(numbered(job) for job in jobs)
    )


def _case(kind: str, nodes: int, usage: int, seed: int, make: Callable[[], Documents]) -> Case:
    parameters = {"kind": kind, "nodes": str(nodes), "usage": f"{usage / 100:.2f}"}
    return Case(SUITE, f"{kind}-n{nodes:05d}-u{usage:03d}", seed, parameters, make)


def _kant(nodes: int, usage: float, seed: int, data: Path | None) -> Callable[[], Documents]:
    return lambda: kant(nodes, usage, seed, data)


def _nvl72(racks: int, usage: float, seed: int) -> Callable[[], Documents]:
    return lambda: nvl72(racks, usage, seed)


def _lingjun(usage: float, seed: int, data: Path) -> Callable[[], Documents]:
    return lambda: lingjun(usage, seed, data)
