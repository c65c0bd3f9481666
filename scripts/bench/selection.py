"""Selection on one level and on two, and packing by strategies: time, GPUs, what stays whole.

Jobs of 1 to 512 GPUs come one by one until a share of all GPUs is in use; then, again and again,
some end at random and others come. Every row goes through the same jobs.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from kantopt.problem.build import build_instance
from kantopt.problem.instance import Instance
from kantopt.report.blocks import Block, Paragraph, Table
from kantopt.schema.extends import load_model
from kantopt.schema.jobs import Job
from kantopt.search.insertion.placer import Placer
from kantopt.search.insertion.scores import Scores
from kantopt.search.shapes import Ints, Mask
from kantopt.search.state import State
from kantopt.search.strategy import Strategy
from scripts.bench.gang_cluster import GangCluster

SUITE = "selection"
NODES = (1250, 10_000)
USAGE_PERCENT = 90
_ROUNDS, _LEAVE = 4, 0.3
"""How often jobs end, and the share of the GPUs in use that they free each time."""
_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
_WEIGHTS = (30, 10, 10, 30, 8, 6, 4, 2, 1, 0.5)
_LEAF_NODES, _BLOCK_LEAVES = 32, 16
_CPU_STEPS = 200
"""Different requests for CPU, as pods of different jobs have them."""


class Anew(Scores):
    """Looks at every node for every pod, as a scheduler that remembers nothing."""

    def of(self, s: int) -> tuple[Mask, Ints]:
        """Return which nodes hold one more pod of a pod set, and their scores."""
        self._known.clear()
        return super().of(s)


def _kept(strategy: Strategy, *, two_levels: bool = True) -> Callable[[State], Placer]:
    return lambda state: Placer(Scores(state, strategy), two_levels=two_levels)


WAYS: dict[str, Callable[[State], Placer]] = {
    "e-binpack": _kept(Strategy.E_BINPACK),
    "e-binpack, one level": _kept(Strategy.E_BINPACK, two_levels=False),
    "e-binpack, one level, all anew": lambda state: Placer(
        Anew(state, Strategy.E_BINPACK), two_levels=False
    ),
    "best-fit": _kept(Strategy.BEST_FIT),
    "most-allocated": _kept(Strategy.MOST_ALLOCATED),
    "least-allocated": _kept(Strategy.LEAST_ALLOCATED),
}


@dataclass(frozen=True, slots=True)
class Selected:
    """What one way made of a stream of jobs.

    Attributes
    ----------
    micros
        CPU time of the placer per job that came, in microseconds.
    gpus
        GPUs in use at the end, in percent of all.
    refused
        Jobs that found no place when they came.
    excess_nodes, excess_leaves
        Nodes and leaves that jobs use beyond the fewest that could hold them, at the end, in
        percent of those.
    fragmented
        Nodes of which some GPUs are in use and some free, in percent of all (GFR).
    whole_nodes, whole_leaves
        Nodes and leaves of which all GPUs are free.
    largest
        Most whole nodes in one block: the largest gang of whole nodes that could require it.
    """

    nodes: int
    usage_percent: int
    seed: int
    way: str
    micros: float
    gpus: float
    refused: int
    excess_nodes: float
    excess_leaves: float
    fragmented: float
    whole_nodes: int
    whole_leaves: int
    largest: int


def stream(nodes: int, usage_percent: int, seed: int) -> tuple[Instance, list[int]]:
    """Make an empty cluster and all jobs that may come, and say how many GPUs each wants."""
    paths = [
        (f"block-{n // (_LEAF_NODES * _BLOCK_LEAVES):03d}", f"leaf-{n // _LEAF_NODES:04d}")
        for n in range(nodes)
    ]
    cluster = GangCluster(("block", "leaf"), paths, 8, seed)
    rng, jobs, sizes = random.Random(seed), list[Job](), list[int]()
    wanted = usage_percent / 100 * 8 * nodes * (1 + _ROUNDS * _LEAVE) * 1.25
    while sum(sizes) < wanted:
        sizes.append(min(rng.choices(_SIZES, _WEIGHTS)[0], 2 * nodes))
        job = cluster.job(f"job-{len(jobs):06d}", sizes[-1])
        podset = job.pod_sets[0]
        cpu = f"{1000 * int(podset.requests['cpu']) - rng.randrange(_CPU_STEPS)}m"
        podset = podset.model_copy(update={"requests": {**podset.requests, "cpu": cpu}})
        jobs.append(job.model_copy(update={"pod_sets": (podset,), "priority": 0}))
    return build_instance(cluster.snapshot("selection"), jobs, load_model("training")), sizes


def selected(
    instance: Instance, sizes: Sequence[int], usage_percent: int, seed: int, way: str
) -> Selected:
    """Run the stream one way."""
    state = State(instance)
    placer = WAYS[way](state)
    rng, limit = random.Random(seed), usage_percent / 100 * 8 * len(instance.nodes)
    there: list[int] = []
    coming, used, refused, came, spent = iter(range(len(sizes))), 0, 0, 0, 0.0
    for turn in range(_ROUNDS + 1):
        while turn and used > (1 - _LEAVE) * limit:
            j = there.pop(rng.randrange(len(there)))
            _end(state, j)
            used -= sizes[j]
        for j in coming:
            came += 1
            began = time.process_time()
            placed = placer.place(j)
            spent += time.process_time() - began
            if placed:
                there.append(j)
                used += sizes[j]
            refused += not placed
            if used >= limit:
                break
    return _judged(state, there, (usage_percent, seed, way), 1e6 * spent / came, refused)


def _end(state: State, j: int) -> None:
    for s in state.instance.jobs[j].podsets:
        for spot, pods in list(state.spots[s].items()):
            state.add(s, spot, -pods)


def _judged(
    state: State, there: Sequence[int], run: tuple[int, int, str], micros: float, refused: int
) -> Selected:
    instance, nodes = state.instance, state.size
    left = state.gpus_left() // 1000
    of = instance.topology.domain_of
    whole, leaves = left == 8, np.array(of[1])
    nodes_used = nodes_least = leaves_used = leaves_least = 0
    for j in there:
        (s,) = instance.jobs[j].podsets
        used = {spot.node for spot in state.spots[s]}
        nodes_used += len(used)
        least = -(-instance.podsets[s].count * instance.podsets[s].gpu_milli // 8000)
        nodes_least += least
        leaves_used += len({of[1][n] for n in used})
        leaves_least += -(-least // _LEAF_NODES)
    return Selected(
        nodes=nodes,
        usage_percent=run[0],
        seed=run[1],
        way=run[2],
        micros=micros,
        gpus=100 * (1 - int(left.sum()) / (8 * nodes)),
        refused=refused,
        excess_nodes=100 * (nodes_used / nodes_least - 1),
        excess_leaves=100 * (leaves_used / leaves_least - 1),
        fragmented=100 * int(((left > 0) & (left < 8)).sum()) / nodes,
        whole_nodes=int(whole.sum()),
        whole_leaves=sum(bool(whole[leaves == g].all()) for g in np.unique(leaves)),
        largest=int(np.bincount(np.array(of[0])[whole], minlength=1).max()),
    )


def run_all(
    nodes: Sequence[int],
    usage_percent: Sequence[int],
    seeds: int,
    tell: Callable[[Selected], None],
) -> None:
    """Run streams of each size, usage and seed all ways, one after the other."""
    for size in nodes:
        for usage in usage_percent:
            for seed in range(seeds):
                instance, sizes = stream(size, usage, seed)
                for way in WAYS:
                    tell(selected(instance, sizes, usage, seed, way))


COLUMNS = tuple(Selected.__dataclass_fields__)


_TITLES = (
    *(
        "NODES",
        "USAGE %",
        "SELECTION",
        "US/JOB",
        "GPUS %",
        "REFUSED",
        "EXCESS NODES %",
        "EXCESS LEAVES %",
    ),
    *("GFR %", "WHOLE NODES", "WHOLE LEAVES", "LARGEST GANG"),
)


def selected_blocks(rows: Sequence[Selected]) -> list[Block]:
    """Lay out the means over seeds."""
    seeds = {row.seed for row in rows}
    cells = tuple(_means(rows))
    text = (
        f"Means over {len(seeds)} seeds. US/JOB: CPU time of the placer per job that came; EXCESS: "
        "beyond the fewest that could hold the jobs; WHOLE: all GPUs free; LARGEST GANG: of whole "
        "nodes, in one block."
    )
    titled = Table("SELECTION", _TITLES, cells, frozenset(range(3, len(_TITLES))) | {0, 1})
    return [titled, Paragraph(text)]


def _means(rows: Sequence[Selected]) -> Iterator[tuple[str, ...]]:
    for kind in dict.fromkeys((row.nodes, row.usage_percent, row.way) for row in rows):
        own = [row for row in rows if (row.nodes, row.usage_percent, row.way) == kind]

        def mean(name: str, digits: int = 0, own: Sequence[Selected] = own) -> str:
            return f"{sum(getattr(row, name) for row in own) / len(own):.{digits}f}"

        yield (
            *map(str, kind),
            *(mean("micros"), mean("gpus", 2), mean("refused", 1)),
            *(mean("excess_nodes", 2), mean("excess_leaves", 2), mean("fragmented", 2)),
            *(mean("whole_nodes", 1), mean("whole_leaves", 1), mean("largest", 1)),
        )
