"""What a picture of a cluster shows: nodes by topology domain, pods by what becomes of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from kantopt.errors import BadDataError
from kantopt.planning.actions import waves_of
from kantopt.planning.question import Question
from kantopt.problem.actions import Wave
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import Tier
from kantopt.schema.model import Metric, Model
from kantopt.schema.picture import Bar, Box, Fate, Picture, Piece
from kantopt.verify.metrics.fragmented_nodes import measure_fragmented_nodes
from kantopt.verify.replay import replay
from kantopt.verify.step import Step

ByNode = Mapping[tuple[int, int], int]
"""Pods by pod set and node."""


def picture_of(question: Question, model: Model) -> Picture:
    """Gather what a picture of a cluster shows, before and after the plan if there is one.

    Drawn are GPUs where any node has some, else CPU, of devices as well; nodes without any of it
    are left out.

    Raises
    ------
    BadDataError
        If the documents contradict each other or the plan acts on what is not there.
    """
    instance = question.instance(model)
    waves: tuple[Wave, ...] = ()
    final = instance.current
    fault = ""
    if question.plan is not None:
        waves, problems = waves_of(instance, question.plan, "the plan")
        if problems:
            raise BadDataError(problems)
        violations, final = replay(instance, waves)
        fault = str(violations[0]) if violations else ""
    drawn = _Drawn(instance, final, waves)
    states = (instance.current, final)[: 1 if question.plan is None else 2]
    return Picture(
        name=question.snapshot.metadata.name,
        unit="milli-GPU" if drawn.resource is None else "cpu",
        planned=question.plan is not None,
        boxes=drawn.boxes(),
        partly_used=tuple(_partly_used(instance, state) for state in states)
        if drawn.resource is None
        else (),
        left_out=len(instance.nodes) - len(drawn.nodes),
        fault=fault,
    )


def _partly_used(instance: Instance, state: Placement) -> int:
    tier = Tier(Metric.FRAGMENTED_NODES, "nodes")
    return measure_fragmented_nodes(tier, Step(instance, instance.current, state))


class _Drawn:
    """A question and the end of a plan for it, node by node."""

    def __init__(self, instance: Instance, final: Placement, waves: Sequence[Wave]) -> None:
        self.instance = instance
        self.final = final
        gpus = any(node.gpu_milli for node in instance.nodes)
        cores = "cpu" in instance.resources and not gpus
        self.resource = instance.resources.index("cpu") if cores else None
        """``None``: GPUs of all kinds; else the resource that is drawn."""
        self.nodes = [node.index for node in instance.nodes if self._capacity(node.index)]
        """Nodes that have anything of what is drawn."""
        self._before = _by_node(instance.current)
        self._after = _by_node(final)
        self._evicted: Counter[tuple[int, int]] = Counter()
        for wave in waves:
            for action in wave.actions:
                if action.kind == "evict" and action.source is not None:
                    self._evicted[action.podset, action.source.node] += action.pods
        lowest_first = instance.priorities[::-1]
        last = len(lowest_first) - 1
        self._ranks = {p: i / last if last else 0.5 for i, p in enumerate(lowest_first)}

    def _size(self, s: int) -> int:
        podset = self.instance.podsets[s]
        return podset.gpu_milli if self.resource is None else podset.demand[self.resource]

    def _capacity(self, n: int) -> int:
        node = self.instance.nodes[n]
        if self.resource is None:
            return node.gpu_milli
        own = node.capacity[self.resource] or 0
        return own + sum(device.capacity[self.resource] for device in node.devices)

    def boxes(self) -> tuple[Box, ...]:
        """Nodes by the domains of the finest level; what is outside of all comes last."""
        topology = self.instance.topology
        left = self.nodes
        boxes: list[tuple[str, list[int]]] = []
        if topology.levels:
            inside = set(left)
            for domain in topology.domains[-1]:
                boxes.append((str(domain), [n for n in domain.nodes if n in inside]))
            grouped = {n for _, members in boxes for n in members}
            left = [n for n in left if n not in grouped]
        if left:
            boxes.append((f"no {topology.levels[-1]}" if topology.levels else "nodes", left))
        pieces = self._pieces()
        return tuple(
            Box(name, tuple(self._bar(n, pieces) for n in members))
            for name, members in boxes
            if members
        )

    def _bar(self, n: int, pieces: Mapping[int, Sequence[tuple[bool, Piece]]]) -> Bar:
        on = pieces.get(n, ())
        return Bar(
            name=self.instance.nodes[n].name,
            capacity=self._capacity(n),
            before=tuple(piece for ended, piece in on if not ended),
            after=tuple(piece for ended, piece in on if ended),
        )

    def _pieces(self) -> dict[int, list[tuple[bool, Piece]]]:
        """Pieces of each node, those of the end marked, in the order of importance."""
        found: dict[int, list[tuple[bool, Piece]]] = {}
        for (s, n), pods in sorted(self._before.items(), key=self._importance):
            stay = min(pods, self._after.get((s, n), 0))
            evicted = min(pods - stay, self._evicted.get((s, n), 0))
            parts: tuple[tuple[Fate, int], ...] = (
                ("stays", stay),
                ("moved", pods - stay - evicted),
                ("evicted", evicted),
            )
            found.setdefault(n, []).extend((False, piece) for piece in self._split(s, parts))
        for (s, n), pods in sorted(self._after.items(), key=self._importance):
            stay = min(pods, self._before.get((s, n), 0))
            new: Fate = "moved" if self.instance.podsets[s].running else "bound"
            both: tuple[tuple[Fate, int], ...] = (("stays", stay), (new, pods - stay))
            found.setdefault(n, []).extend((True, piece) for piece in self._split(s, both))
        return found

    def _importance(self, item: tuple[tuple[int, int], int]) -> tuple[int, int]:
        (s, _), _ = item
        return -self.instance.job_of(s).priority, s

    def _split(self, s: int, parts: Iterable[tuple[Fate, int]]) -> Iterable[Piece]:
        job, size = self.instance.job_of(s), self._size(s)
        for fate, pods in parts:
            if pods and size:
                name = f"{job.name}/{self.instance.podsets[s].name} x{pods}"
                yield Piece(name, pods * size, fate, self._ranks[job.priority], job.priority)


def _by_node(placement: Placement) -> ByNode:
    pods: Counter[tuple[int, int]] = Counter()
    for s, spot, k in placement.items():
        pods[s, spot.node] += k
    return pods
