"""What a picture of a cluster shows: nodes by topology domain, pods by what becomes of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from kantopt.errors import BadDataError
from kantopt.planning.document.actions import waves_of
from kantopt.planning.document.left import left_pending
from kantopt.planning.question import Question
from kantopt.problem.actions import Action, Wave
from kantopt.problem.cluster import Node, Taint
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import Tier
from kantopt.schema.answers.explanation import Steps
from kantopt.schema.answers.picture import Bar, Fate, Picture, Pods, Stay, Step
from kantopt.schema.answers.plan import Plan, Unplaced
from kantopt.schema.eligibility import is_ahead
from kantopt.schema.hints import first_of
from kantopt.schema.model import Metric, Model
from kantopt.schema.quantity import CLAIMED, gpu_milli
from kantopt.verify.metrics.fragmented_nodes import measure_fragmented_nodes
from kantopt.verify.replay import replay
from kantopt.verify.step import Step as Change

_SLICE = "/mig-"
"""In names of resources that are parts of a GPU."""
_KINDS = (
    "nvidia.com/gpu.product",
    "amd.com/gpu.product-name",
    "cloud.google.com/gke-accelerator",
    "node.kubernetes.io/instance-type",
)
"""Labels that say what sort of machine a node is, the most telling first."""


def picture_of(question: Question, model: Model, steps: Plan | Steps | None = None) -> Picture:
    """Gather what a picture of a cluster shows, before and after the plan if there is one.

    Jobs that wait have the reason that the plan gives; without a plan the first one found.

    Parameters
    ----------
    question
        The cluster and what is pending.
    model
        Its rules.
    steps
        What is done, in place of the question's plan.

    Raises
    ------
    BadDataError
        If the documents contradict each other or the plan acts on what is not there.
    """
    instance = question.instance(model)
    waves: tuple[Wave, ...] = ()
    final = instance.current
    fault = ""
    steps = steps or question.plan
    if steps is not None:
        waves, problems = waves_of(instance, steps, "the plan")
        if problems:
            raise BadDataError(problems)
        violations, final = replay(instance, waves)
        fault = str(violations[0]) if violations else ""
    seen = _Seen(instance)
    states = (instance.current, final)[: 1 if steps is None else 2]
    gpus = any(node.gpu_milli for node in instance.nodes)
    return Picture(
        name=question.snapshot.metadata.name,
        captured_at=question.snapshot.metadata.captured_at or "",
        resources=seen.resources,
        accelerators=seen.accelerators,
        planned=steps is not None,
        levels=instance.topology.levels,
        bars=tuple(seen.bars(waves)),
        steps=tuple(Step(wave.id, wave.after) for wave in waves),
        waiting=(
            *seen.nominated(),
            *(steps.unplaced if isinstance(steps, Plan) else _waiting(instance, final)),
        ),
        partly_used=tuple(_partly_used(instance, state) for state in states) if gpus else (),
        fault=fault,
    )


def _waiting(instance: Instance, final: Placement) -> tuple[Unplaced, ...]:
    """Jobs that wait in the end, with the first reason in the way of each."""
    from kantopt.search.reasons import first_reason

    return left_pending(instance, final, lambda j: first_reason(instance, final, j))


def _partly_used(instance: Instance, state: Placement) -> int:
    tier = Tier(Metric.FRAGMENTED_NODES, "nodes")
    return measure_fragmented_nodes(tier, Change(instance, instance.current, state))


class _Seen:
    """A question as pictures show it: resources in an order of their own, nodes by domain."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        gpus = ["milli-GPU"] if any(node.gpu_milli for node in instance.nodes) else []
        plain = [name for name in instance.offered if not gpu_milli(name, 1)]
        parts = [name for name in plain if _SLICE in name or name.startswith(CLAIMED)]
        rest = [name for name in plain if name not in parts]
        self._usual = _usual(instance)
        self._index = {name: r for r, name in enumerate(instance.resources)}
        offered = [self._offers(node, [*gpus, *parts, *rest]) for node in instance.nodes]
        there = [any(column) for column in zip(*offered, strict=True)]
        names = [name for name, any_ in zip([*gpus, *parts, *rest], there, strict=False) if any_]
        self.resources = tuple(names)
        self.accelerators = sum(name in (*gpus, *parts) for name in names)
        self._pods = self._shown()
        began: Counter[tuple[int, int]] = Counter()
        for s, spot, count in instance.current.items():
            began[s, spot.node] += count
        self._awaiting = self._without_room(began)
        self._there = began - self._awaiting

    def bars(self, waves: Sequence[Wave]) -> Iterator[Bar]:
        """Nodes in the order of their domains, with who is on them and when."""
        stays = _stays_of(self._there, waves, self._pods)
        paths = {node.index: self._path(node.index) for node in self.instance.nodes}
        for n in sorted(paths, key=lambda n: (paths[n][0], n)):
            node = self.instance.nodes[n]
            yield Bar(
                name=node.name,
                domain=paths[n][1],
                offers=self._offers(node, self.resources),
                stays=stays.get(n, ()),
                kind=next((node.labels[key] for key in _KINDS if key in node.labels), ""),
                marks=tuple(_marks(node, self._usual)),
            )

    def nominated(self) -> Iterator[Unplaced]:
        """Pods that are shown as waiting, as their node has no room yet."""
        of_job: dict[int, list[tuple[int, int]]] = {}
        for (s, n), count in sorted(self._awaiting.items()):
            of_job.setdefault(self.instance.podsets[s].job, []).append((n, count))
        for j, places in of_job.items():
            nodes = first_of([self.instance.nodes[n].name for n, _ in places])
            pods = sum(count for _, count in places)
            yield Unplaced(
                job=self.instance.jobs[j].name,
                priority=self.instance.jobs[j].priority,
                pods=pods,
                wanted=pods,
                rule="nominated",
                message=f"until pods that terminate have left the room for it on {nodes}",
            )

    def _without_room(self, began: Counter[tuple[int, int]]) -> Counter[tuple[int, int]]:
        """Nominated pods on nodes that hold more with them, as others there still terminate."""
        leaving: set[int] = set()
        held: dict[int, list[int]] = {}
        for (s, n), count in began.items():
            sums = held.setdefault(n, [0] * len(self.resources))
            for r, each in enumerate(self._pods[s].takes):
                sums[r] += count * each
            if self.instance.podsets[s].leaving:
                leaving.add(n)
        full = {
            n
            for n in leaving
            for used, offered in zip(
                held[n], self._offers(self.instance.nodes[n], self.resources), strict=True
            )
            if used > offered
        }
        podsets = self.instance.podsets
        return Counter(
            {(s, n): count for (s, n), count in began.items() if n in full and podsets[s].nominated}
        )

    def _path(self, n: int) -> tuple[tuple[float, ...], tuple[str, ...]]:
        """Place of a node among the domains, and their names; where a label is missing it ends."""
        topology = self.instance.topology
        if not topology.levels:
            return (), ("nodes",)
        order: list[float] = []
        names: tuple[str, ...] = ()
        for level, domain_of in enumerate(topology.domain_of):
            domain = domain_of[n]
            if domain is None:
                return (*order, float("inf")), (*names, f"no {topology.levels[level]}")
            order.append(domain)
            names = topology.domains[level][domain].path
        return tuple(order), names

    def _offers(self, node: Node, names: Sequence[str]) -> tuple[int, ...]:
        return tuple(
            node.gpu_milli
            if name == "milli-GPU"
            else (node.capacity[self._index[name]] or 0)
            + sum(device.capacity[self._index[name]] for device in node.devices)
            for name in names
        )

    def _shown(self) -> list[Pods]:
        lowest_first = self.instance.priorities[::-1]
        last = len(lowest_first) - 1
        ranks = {p: i / last if last else 0.5 for i, p in enumerate(lowest_first)}
        found = []
        for podset in self.instance.podsets:
            job = self.instance.jobs[podset.job]
            takes = tuple(
                podset.gpu_milli if name == "milli-GPU" else podset.demand[self._index[name]]
                for name in self.resources
            )
            found.append(Pods(job.name, podset.name, takes, job.priority, ranks[job.priority]))
        return found


def _usual(instance: Instance) -> frozenset[Taint]:
    """Taints of all nodes with GPUs that are up: they keep others off these, and mark none."""
    sets = [{*node.taints} for node in instance.nodes if node.gpu_milli and node.ready]
    return frozenset(set.intersection(*sets)) if len(sets) > 1 else frozenset()


def _marks(node: Node, usual: frozenset[Taint]) -> Iterator[str]:
    """What keeps pods away from a node, whatever is free on it."""
    if not node.ready:
        yield "not ready"
    if node.unschedulable:
        yield "cordoned"
    if node.drained:
        yield "to be emptied"
    for taint in (each for each in node.taints if each not in usual and not is_ahead(each)):
        if taint.effect != "PreferNoSchedule" and not taint.key.startswith("node.kubernetes.io/"):
            value = f"={taint.value}" if taint.value else ""
            yield f"tainted {taint.key}{value}:{taint.effect}"


_LEAVING: dict[str, Fate] = {"evict": "evicted", "move": "moved"}
_ARRIVING: dict[str, Fate] = {"bind": "bound", "move": "moved"}


def _stays_of(
    began: Mapping[tuple[int, int], int], waves: Sequence[Wave], pods: Sequence[Pods]
) -> dict[int, tuple[Stay, ...]]:
    """Follow the pods through the waves.

    Parameters
    ----------
    began
        How many there are at the beginning, by pod set and node.
    waves
        The plan, in its order.
    pods
        What is shown of each pod set.

    Returns
    -------
    dict of int to tuple of Stay
        By node, the most important pods first. Of a plan that takes away more pods than are there
        only those are followed that are; moves between devices of a node are none.
    """
    here = {(s, n): [Stay(pods[s], count)] for (s, n), count in began.items()}
    for number, wave in enumerate(waves, 1):
        actions = [action for action in wave.actions if not _stays_on_its_node(action)]
        for action in actions:
            if action.source is not None:
                key = action.podset, action.source.node
                here[key] = _left(here.get(key, []), action, number)
        for action in actions:
            if action.target is not None:
                came = Stay(pods[action.podset], action.pods, _ARRIVING[action.kind], since=number)
                here.setdefault((action.podset, action.target.node), []).append(came)
    found: dict[int, list[Stay]] = {}
    for (_, n), stays in sorted(
        here.items(), key=lambda item: (-pods[item[0][0]].priority, item[0])
    ):
        found.setdefault(n, []).extend(_together(stays))
    return {n: tuple(stays) for n, stays in found.items()}


def _stays_on_its_node(action: Action) -> bool:
    source, target = action.source, action.target
    return source is not None and target is not None and source.node == target.node


def _left(stays: Sequence[Stay], action: Action, number: int) -> list[Stay]:
    """End stays of as many pods as an action takes away, of those that came last first."""
    left, todo = [], action.pods
    for stay in reversed(stays):
        gone = min(todo, stay.count) if stay.until is None and stay.since < number else 0
        if gone:
            todo -= gone
            left.append(replace(stay, count=gone, goes=_LEAVING[action.kind], until=number))
        if gone < stay.count:
            left.append(replace(stay, count=stay.count - gone))
    return left[::-1]


def _together(stays: Sequence[Stay]) -> list[Stay]:
    """Stays of one pod set on one node, those that begin and end alike as one; the first first."""
    counts: Counter[Stay] = Counter()
    for stay in stays:
        counts[replace(stay, count=1)] += stay.count
    end = float("inf")
    ordered = sorted(counts, key=lambda stay: (stay.since, -(stay.until or end), stay.goes))
    return [replace(stay, count=counts[stay]) for stay in ordered]
