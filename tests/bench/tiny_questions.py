"""Tiny questions of the kinds that features are added to, each proved in a moment."""

from __future__ import annotations

from kantopt.schema.base import API_VERSION
from kantopt.schema.jobs import Assignment, DeviceRequest, Job, PodSet, TopologyRequest
from kantopt.schema.snapshot import ClusterSnapshot, Node, NodeDevices, Topology, TopologyLevel
from scripts.bench import openb, vm_rescheduling
from scripts.bench.features.stated import Stated
from scripts.bench.models import bench_model
from scripts.bench.priority_matters import Cell, documents

GPU = "nvidia.com/gpu"


def packing(usage_percent: int, seed: int) -> Stated:
    """Pods by priority on three equal nodes."""
    made = documents(Cell(3, 4, 2, usage_percent), seed)
    model = bench_model("placement-first", counts=True)
    return Stated(made.snapshot, made.pending, model=model)


def gangs() -> Stated:
    """Two leaves of two nodes; a gang of two wants a leaf, and a lesser pod is in the way."""
    levels = (TopologyLevel(name="leaf", node_label="leaf"),)
    nodes = tuple(
        Node(
            name=f"n{n}",
            labels={"leaf": f"l{n // 2}"},
            allocatable={"cpu": 8, GPU: 4, "pods": 10},
        )
        for n in range(4)
    )
    running = (
        _job("low", 1, 4, 10, "n0"),
        _job("high", 1, 4, 100, "n2"),
        _job("half", 1, 2, 100, "n3"),
        _job("service", 2, 0, 10, "n1", "n3").model_copy(update={"movable": True}),
    )
    whole = TopologyRequest(required="leaf")
    pending = (
        _job("pair", 2, 4, 100).model_copy(update={"topology_request": whole}),
        _job("late", 1, 2, 10),
    )
    snapshot = cluster(nodes, running, levels)
    return Stated(snapshot, pending, model=bench_model("training", counts=False))


def shares() -> Stated:
    """Shares of GPUs that must move together before a whole one fits."""
    gpus = NodeDevices(device_class="gpu", count=2, capacity={"gpu": 1})
    nodes = tuple(
        Node(name=f"n{n}", allocatable={"cpu": 8, "memory": "8Gi"}, devices=(gpus,))
        for n in range(2)
    )
    sizes = {(0, 0): "600m", (0, 1): "300m", (1, 0): "600m", (1, 1): "600m"}
    running = tuple(
        _share(f"run-{n}-{d}", size, Assignment(node=f"n{n}", devices=(d,)))
        for (n, d), size in sizes.items()
    )
    pending = (_share("whole", "1"), _share("half", "500m"))
    made = Stated(cluster(nodes, running), pending)
    return Stated(made.snapshot, pending, model=openb.model("moves-50")(made))


def slots() -> Stated:
    """Machines of which two moves make a slot of 16 cores."""
    numa = NodeDevices(device_class="numa", count=2, capacity={"cpu": 20, "memory": "64Gi"})
    nodes = tuple(Node(name=f"n{n}", labels={"rack": f"r{n}"}, devices=(numa,)) for n in range(3))
    places = ((0, 0), (0, 1), (1, 0), (1, 1), (2, 0))
    running = tuple(
        Job(
            name=f"vm-{n}-{d}",
            preemptible=False,
            move_mode="live",
            pod_sets=(
                PodSet(
                    count=1,
                    devices=(_numa(6),),
                    assignments=(Assignment(node=f"n{n}", devices=(d,)),),
                ),
            ),
        )
        for n, d in places
    )
    levels = (TopologyLevel(name="rack", node_label="rack"),)
    made = Stated(cluster(nodes, running, levels))
    return Stated(made.snapshot, model=vm_rescheduling.model("mnl-3")(made))


def cluster(
    nodes: tuple[Node, ...], jobs: tuple[Job, ...] = (), levels: tuple[TopologyLevel, ...] = ()
) -> ClusterSnapshot:
    """A snapshot of these."""
    return ClusterSnapshot(
        api_version=API_VERSION,
        kind="ClusterSnapshot",
        topology=Topology(levels=levels),
        nodes=nodes,
        jobs=jobs,
    )


def _job(name: str, pods: int, gpus: int, priority: int, *nodes: str) -> Job:
    requests: dict[str, str | int] = {"cpu": 1, GPU: gpus} if gpus else {"cpu": 1}
    podset = PodSet(
        count=pods,
        min_count=None if gpus else 0,
        requests=requests,
        assignments=tuple(Assignment(node=node) for node in nodes),
    )
    return Job(name=name, priority=priority, movable=pods == 1, pod_sets=(podset,))


def _share(name: str, gpu: str, *places: Assignment) -> Job:
    asked = DeviceRequest(device_class="gpu", requests={"gpu": gpu})
    podset = PodSet(count=1, requests={"cpu": 1}, devices=(asked,), assignments=places)
    return Job(name=name, pod_sets=(podset,))


def _numa(cpus: int) -> DeviceRequest:
    return DeviceRequest(device_class="numa", requests={"cpu": cpus, "memory": "8Gi"})
