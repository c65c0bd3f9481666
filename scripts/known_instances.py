"""Small instances whose optima are known by reasoning, as data."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

GPU = "nvidia.com/gpu"
HIGH, MIDDLE, LOW = 1000, 100, 10
Mapping = dict[str, Any]

PLACED = {"unplaced": {"by": "priority", "unit": "gpu"}}
"""GPUs unplaced by priority: the first objective of every instance here."""


class Line(dict[str, Any]):
    """A mapping that is written on one line."""


@dataclass(frozen=True, slots=True)
class Known:
    """An instance and what is known of its optimum.

    ``tiers`` are the optimal values in the order of the tiers. ``placement`` says, for the jobs
    whose place is the same in every optimum, how many pods each value of ``label`` has.
    """

    name: str
    comment: str
    levels: Sequence[tuple[str, str]]
    nodes: Sequence[Line]
    pending: Sequence[Mapping]
    objectives: Sequence[Any]
    running: Sequence[Mapping] = ()
    required: Sequence[str] = ()
    snapshot: Mapping = field(default_factory=dict)
    """What the snapshot says besides."""
    model: Mapping = field(default_factory=dict)
    """What the model says besides."""
    tiers: Mapping = field(default_factory=dict)
    placement: Mapping = field(default_factory=dict)
    label: str = "kubernetes.io/hostname"
    folder: str = "golden"


def node(name: str, gpus: int = 8, cpu: int = 64, **labels: str) -> Line:
    marks = {f"example.com/{key}": value for key, value in labels.items()}
    offer = {"cpu": cpu, "pods": 32, GPU: gpus}
    return Line(name=name, **({"labels": marks} if marks else {}), allocatable=offer)


def job(
    name: str,
    count: int,
    gpus: int,
    *,
    priority: int = MIDDLE,
    cpu: int = 4,
    at: Mapping | None = None,
    topology: Mapping | None = None,
    whole: Mapping | None = None,
    **fields: Any,
) -> Mapping:
    """Return a job of one pod set; ``at`` says where its pods run, ``whole`` is the job's own
    topology request."""
    podset: Mapping = {"name": "worker", "count": count}
    if "minCount" in fields:
        podset["minCount"] = fields.pop("minCount")
    podset["requests"] = {"cpu": cpu, **({GPU: gpus} if gpus else {})}
    if topology:
        podset["topologyRequest"] = topology
    if at:
        podset["assignments"] = [Line(node=name, count=pods) for name, pods in at.items()]
    request = {"topologyRequest": whole} if whole else {}
    return {"name": name, "priority": priority, **fields, **request, "podSets": [podset]}


def levels(*names: str) -> list[tuple[str, str]]:
    return [(name, f"example.com/{name}") for name in names]


def pinned(name: str, gpus: int, at: Mapping, **fields: Any) -> Mapping:
    """Return pods that stay where they are."""
    pods = sum(at.values())
    still = {"preemptible": False, "movable": False, "minCount": 0, **fields}
    return job(name, pods, gpus, priority=HIGH, at=at, **still)


def switch_tree() -> Known:
    tree = {
        "sw21": {"sw11": ("n1", "n2"), "sw12": ("n3", "n4")},
        "sw22": {"sw13": ("n5", "n6"), "sw14": ("n7", "n8")},
        "sw23": {"sw15": ("n9", "n10"), "sw16": ("n11", "n12")},
    }
    return Known(
        "gang-of-three-on-a-switch-tree",
        """
        Twelve nodes under three tiers of switches; n1 n3 n6 n11 n12 are busy. A gang of three
        whole nodes should touch as few switches as possible. Three free nodes lie under one
        middle switch only: n5, n7 and n8 under sw22. To take the pair n9 n10 under one leaf
        switch first, which looks tight, costs a second middle switch for the third pod.
        """,
        levels("sw3", "sw2", "sw1"),
        [
            node(name, sw3="sw31", sw2=middle, sw1=leaf)
            for middle, leaves in tree.items()
            for leaf, names in leaves.items()
            for name in names
        ],
        [job("gang", 3, 8, whole={"preferred": "sw2"}, topology={"preferred": "sw1"})],
        [PLACED, "moves", "domains_crossed"],
        [pinned("busy", 8, dict.fromkeys(("n1", "n3", "n6", "n11", "n12"), 1))],
        tiers={
            "unplaced[priority=1000, milli-GPU]": 0,
            "unplaced[priority=100, milli-GPU]": 0,
            "moves": 0,
            "domains_crossed": 0,
        },
        placement={"gang": {"n5": 1, "n7": 1, "n8": 1}},
    )


FILLS: dict[str, tuple[tuple[tuple[int, int], ...], int, str]] = {
    "1x32": (((1, 32),), 0, "the gang needs both leaves anyway"),
    "2x16": (((2, 16),), 0, "a leaf each"),
    "3x10-1x2": (((3, 10), (1, 2)), 1, "no two tens fit a leaf, so the third lies in both"),
    "4x8": (((4, 8),), 0, "two gangs in each leaf"),
    "5x6-2x1": (((5, 6), (2, 1)), 1, "two sixes fit a leaf, so the fifth lies in both"),
    "6x5-1x2": (((6, 5), (1, 2)), 1, "three fives leave one node of a leaf, so the two is split"),
    "7x4-1x2-2x1": (((7, 4), (1, 2), (2, 1)), 0, "four fours, and three with all the small ones"),
    "8x4": (((8, 4),), 0, "four gangs in each leaf"),
    "9x3-1x5": (((9, 3), (1, 5)), 1, "threes, with the five or without it, never make 16"),
}
"""Gangs (how many, nodes of each) that fill 32 nodes, and the fewest leaves over the minimum."""


def fill(seed: int, name: str) -> Known:
    gangs, crossed, why = FILLS[name]
    sizes = [size for count, size in gangs for _ in range(count)]
    random.Random(seed).shuffle(sizes)
    return Known(
        f"gangs-fill-32-nodes-{name}",
        f"""
        Two leaves of sixteen nodes, and gangs of whole nodes ({name}) that fill the 32 nodes
        exactly, listed in a random order. All are placed; leaves used over the fewest that each
        gang needs: {crossed}, for {why}.
        """,
        levels("leaf"),
        [node(f"n{i:02d}", leaf=f"leaf{i // 16 + 1}") for i in range(32)],
        [
            job(f"gang-{i:02d}", size, 8, topology={"preferred": "leaf"})
            for i, size in enumerate(sizes, 1)
        ],
        [PLACED, "domains_crossed"],
        tiers={"unplaced[priority=100, milli-GPU]": 0, "domains_crossed": crossed},
    )


def fewest_racks() -> Known:
    return Known(
        "fewest-racks-then-the-tightest",
        """
        Racks with room for 3, 3, 2 and 1 pods, and a gang of seven. Three racks are the fewest,
        and the last pod goes where it fits exactly: 3, 3, -, 1.
        """,
        levels("rack"),
        [node(f"n{i}", gpus, rack=f"r{i}") for i, gpus in enumerate((3, 3, 2, 1), 1)],
        [job("gang", 7, 1, topology={"preferred": "rack"})],
        [PLACED, "domains_crossed", "fragmented_nodes"],
        tiers={
            "unplaced[priority=100, milli-GPU]": 0,
            "domains_crossed": 0,
            "fragmented_nodes": 0,
        },
        placement={"gang": {"n1": 3, "n2": 3, "n4": 1}},
    )


def slices() -> Known:
    request = {
        "preferred": "rack",
        "podSetSliceRequiredTopology": "rack",
        "podSetSliceSize": 2,
    }
    return Known(
        "fewest-racks-in-whole-slices",
        """
        Racks with room for 6, 5, 4, 3 and 2 pods, and a gang of twelve in slices of two. Three
        racks are the fewest, and 6, -, 4, -, 2 is the only way that leaves no rack in part.
        """,
        levels("rack"),
        [node(f"n{i}", gpus, rack=f"r{i}") for i, gpus in enumerate((6, 5, 4, 3, 2), 1)],
        [job("gang", 12, 1, topology=request)],
        [PLACED, "domains_crossed", "fragmented_nodes"],
        tiers={
            "unplaced[priority=100, milli-GPU]": 0,
            "domains_crossed": 0,
            "fragmented_nodes": 0,
        },
        placement={"gang": {"n1": 6, "n3": 4, "n5": 2}},
    )


def idle_rack() -> Known:
    return Known(
        "idle-rack-for-a-gang-of-two",
        """
        A gang of two whole nodes must lie in one rack. Rack r1 has as many free GPUs, but half a
        node at a time; r2 has one free node; r3 has two idle nodes and is the place.
        After volcano#5205, where the idle domain was passed over.
        """,
        levels("rack"),
        [
            *(node(f"n{i}", rack="r1") for i in (1, 2, 3, 4)),
            *(node(f"n{i}", rack="r2") for i in (5, 6, 7, 8)),
            *(node(f"n{i}", rack="r3") for i in (9, 10)),
        ],
        [job("gang", 2, 8, topology={"required": "rack"})],
        [PLACED, "evictions", "moves"],
        [
            job("halves", 4, 4, minCount=0, at={f"n{i}": 1 for i in (1, 2, 3, 4)}),
            job("wholes", 3, 8, minCount=0, at={f"n{i}": 1 for i in (5, 6, 7)}),
        ],
        tiers={
            "unplaced[priority=100, milli-GPU]": 0,
            "evictions[priority=100]": 0,
            "moves": 0,
        },
        placement={"gang": {"n9": 1, "n10": 1}},
    )


def scattered_gpus() -> Known:
    names = ("n1", "n2", "n3")
    return Known(
        "four-free-gpus-on-three-nodes",
        """
        7 + 6 + 7 of 24 GPUs are in use and a job of four GPUs on one node cannot start, although
        four are free. Two moves make the room; one does not, and nobody need be evicted.
        After volcano#3948.
        """,
        (),
        [node(name) for name in names],
        [job("four", 1, 4)],
        [PLACED, "evictions", "moves"],
        [
            job("fours", 3, 4, minCount=0, at=dict.fromkeys(names, 1)),
            job("twos", 3, 2, minCount=0, at=dict.fromkeys(names, 1)),
            job("ones", 2, 1, minCount=0, at={"n1": 1, "n3": 1}),
        ],
        tiers={
            "unplaced[priority=100, milli-GPU]": 0,
            "evictions[priority=100]": 0,
            "moves": 2,
        },
    )


def one_node_victims() -> Known:
    return Known(
        "victims-on-one-node",
        """
        Four full nodes of eight GPUs, and a more important pod that wants eight on one node.
        Eight GPUs must be given up and they must be on one node: the two pods of n3 are the
        fewest. Victims chosen one by one across the nodes free eight GPUs that nobody can use.
        After kueue#5243, where eight pods on four nodes were killed in vain.
        """,
        (),
        [node(f"n{i}") for i in (1, 2, 3, 4)],
        [job("whole-node", 1, 8, priority=HIGH)],
        [PLACED, {"unplaced": {"unit": "job"}}, "evictions", "moves"],
        [
            job("on-n1", 8, 1, priority=LOW, minCount=0, at={"n1": 8}),
            job("on-n2", 4, 2, priority=LOW, minCount=0, at={"n2": 4}),
            job("on-n3", 2, 4, priority=LOW, minCount=0, at={"n3": 2}),
            job("on-n4", 8, 1, priority=LOW, minCount=0, at={"n4": 8}),
        ],
        tiers={
            "unplaced[priority=1000, milli-GPU]": 0,
            "unplaced[priority=10, milli-GPU]": 8000,
            "unplaced[priority=1000, jobs]": 0,
            "unplaced[priority=10, jobs]": 1,
            "evictions[priority=10]": 2,
            "moves": 0,
        },
        placement={"whole-node": {"n3": 1}, "on-n3": {}},
    )


def cpu_blocker() -> Known:
    return Known(
        "cpu-pod-keeps-a-rack",
        """
        A gang of two nodes must lie in one rack. Rack r2 belongs to a job of the same priority;
        in r1 it is not enough to evict the GPU job: a pod without any GPU holds the CPUs of the
        other node and fits nowhere else. Both have to go.
        After kueue#10497, where the pod without GPUs stayed and the gang did not fit.
        """,
        levels("rack"),
        [node(f"n{i}", rack="r1" if i < 3 else "r2") for i in (1, 2, 3, 4)],
        [job("gang", 2, 8, priority=HIGH, cpu=48, topology={"required": "rack"})],
        [PLACED, "evictions", "moves"],
        [
            job("gpus", 1, 8, priority=LOW, cpu=48, at={"n1": 1}),
            job("cpus", 1, 0, priority=LOW, cpu=32, at={"n2": 1}),
            job("peer", 2, 8, priority=HIGH, cpu=48, at={"n3": 1, "n4": 1}),
        ],
        tiers={
            "unplaced[priority=1000, milli-GPU]": 0,
            "unplaced[priority=10, milli-GPU]": 8000,
            "unplaced[priority=10, CPU-only pods]": 1,
            "evictions[priority=1000]": 0,
            "evictions[priority=10]": 2,
            "moves": 0,
        },
        placement={"gang": {"n1": 1, "n2": 1}, "gpus": {}, "cpus": {}},
    )


def nvlink_racks() -> Known:
    segments = {
        "required": "block",
        "podSetSliceRequiredTopology": "rack",
        "podSetSliceSize": 16,
    }
    return Known(
        "segments-of-16-in-racks-of-18",
        """
        Five racks of 18 nodes of four GPUs, as in NVL72, of which r3 has three busy nodes. A job
        of 64 nodes wants segments of 16 inside a rack each; filling racks to the brim (18, 18,
        18, 10) would cut segments apart. r3 has no room for one, so the others take 16 each, and
        pairs of nodes fit beside them.
        """,
        levels("block", "rack"),
        [
            node(f"r{r}-n{i:02d}", 4, block="b1", rack=f"r{r}")
            for r in range(1, 6)
            for i in range(1, 19)
        ],
        [
            job("large", 64, 4, topology=segments),
            *(job(f"pair-{i}", 2, 4, priority=LOW, topology={"required": "rack"}) for i in (1, 2)),
        ],
        [PLACED, "moves"],
        [pinned("busy", 4, dict.fromkeys(("r3-n01", "r3-n02", "r3-n03"), 1))],
        tiers={
            "unplaced[priority=1000, milli-GPU]": 0,
            "unplaced[priority=100, milli-GPU]": 0,
            "unplaced[priority=10, milli-GPU]": 0,
            "moves": 0,
        },
        placement={"large": {"r1": 16, "r2": 16, "r4": 16, "r5": 16}},
        label="example.com/rack",
    )


def no_place() -> Known:
    return Known(
        "required-gang-beside-pinned-pods",
        """
        The model requires a gang of two whole nodes in one rack. An empty rack would do, but in
        each rack one node holds a pod that may be neither evicted nor moved.
        """,
        levels("rack"),
        [node(f"n{i}", rack=f"r{(i + 1) // 2}") for i in (1, 2, 3, 4)],
        [job("gang", 2, 8, topology={"required": "rack"})],
        [PLACED, "evictions", "moves"],
        [pinned("still", 1, {"n1": 1, "n3": 1})],
        required=["gang"],
        folder="infeasible",
    )


def all_known() -> Iterator[Known]:
    yield switch_tree()
    for seed, name in enumerate(FILLS):
        yield fill(seed, name)
    yield fewest_racks()
    yield slices()
    yield idle_rack()
    yield scattered_gpus()
    yield one_node_victims()
    yield cpu_blocker()
    yield nvlink_racks()
    yield no_place()
