"""From documents to an instance: names become indices, quantities become integers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches

from kantopt.errors import BadDataError, Problem
from kantopt.problem.affinities import (
    CLUSTER,
    build_affinities,
    build_anti_affinities,
    build_budgets,
    build_spreads,
)
from kantopt.problem.amounts import amounts, gpu_milli_of
from kantopt.problem.build_jobs import JobsBuilder
from kantopt.problem.chosen import as_cordoned, considered, left_aside
from kantopt.problem.cluster import Device, Domain, Node, Taint, Topology
from kantopt.problem.entitlements import entitlements
from kantopt.problem.instance import Instance
from kantopt.problem.misnamed import Names
from kantopt.problem.mix import commonest_shapes
from kantopt.problem.not_modelled import why_not_placed
from kantopt.problem.overflow import overflows
from kantopt.problem.preferences import build_evens, build_wishes
from kantopt.problem.typed_quotas import typed_quotas
from kantopt.problem.uses import NodeUses
from kantopt.problem.wanted import wanted_places
from kantopt.schema import jobs as docs
from kantopt.schema.hints import did_you_mean, one_of, quote
from kantopt.schema.model import Metric, Model
from kantopt.schema.natural import natural
from kantopt.schema.quantity import micro_units
from kantopt.schema.snapshot import HOSTNAME, NODE_NAME, ClusterSnapshot
from kantopt.schema.snapshot import Node as NodeDocument


def build_instance(
    snapshot: ClusterSnapshot,
    pending: Sequence[docs.Job],
    model: Model,
    *,
    source: str = "",
) -> Instance:
    """Freeze a question.

    Parameters
    ----------
    snapshot
        The cluster and what runs on it; checked for consistency before.
    pending
        Jobs of job lists. Pods of the snapshot's jobs that run nowhere are pending too. Of both
        only those are looked at that the model asks for.
    model
        Rules and objectives, with ``extends`` resolved.
    source
        File to name in errors.

    Raises
    ------
    BadDataError
        If documents contradict each other: a name used twice, an unknown job, level or resource,
        or amounts that overflow.
    """
    known = as_cordoned((*snapshot.jobs, *pending), frozenset(model.drain))
    documents = considered(known, model.pending, model.assume)
    names = [job.full_name for job in documents]
    problems = [
        Problem(source, "jobs", f"{name} {times} times", "each job once")
        for name, times in sorted(Counter(names).items())
        if times > 1
    ]
    uses = NodeUses(documents)
    offered = _resources(snapshot, documents)
    typed = typed_quotas(snapshot)
    resources = (*offered, *uses.offer, *(quota.name for quota in typed))
    drained = frozenset(model.drain)
    offers = _Offers(resources, uses.offer, frozenset(quota.name for quota in typed))
    nodes = tuple(_node(i, node, offers.of(node), drained) for i, node in enumerate(snapshot.nodes))
    if any(podset.exclusive_claims for job in documents for podset in job.pod_sets):
        nodes = tuple(replace(node, labels={**node.labels, CLUSTER: "cluster"}) for node in nodes)
    topology = _topology(snapshot, nodes)
    builder = JobsBuilder(snapshot, nodes, topology, resources, model, uses)
    for document in known:
        builder.hold(document)
    for document in documents:
        builder.add(document)
    podsets = tuple(builder.podsets)
    jobs, entitled = tuple(builder.jobs), tuple[int, ...]()
    if model.asks_for(Metric.FAIR_SHARE):
        owners = builder.owners
        entitled = entitlements(snapshot.queues, owners, nodes, podsets)
        jobs = tuple(replace(job, owner=q) for job, q in zip(jobs, owners, strict=True))
    problems += [
        Problem(source, "drain", quote(name), "the name of a node", did_you_mean(name, there))
        for there in [[node.name for node in nodes]]
        for name in sorted(drained.difference(there))
    ]
    problems += _unknown(snapshot, model, nodes, topology, offered, source)
    every = [job.full_name for job in known]
    required = _required(model.required, every, names, _not_planned(known, model), problems, source)
    problems += overflows(nodes, podsets, resources, model, source)
    wanted, unknown = wanted_places(model.last_plan, nodes, jobs, podsets, source)
    problems += unknown
    if problems:
        raise BadDataError(problems)
    if model.asks_for(Metric.CHANGES_TO_PLAN):
        podsets = tuple(
            replace(podset, wanted=wanted[podset.index]) if podset.index in wanted else podset
            for podset in podsets
        )
    budgets = build_budgets(
        snapshot.pod_disruption_budgets,
        builder.labels,
        podsets,
        left_aside(known, model.pending, model.assume),
    )
    kept_by: dict[int, list[int]] = {}
    for budget in budgets:
        for s in budget.podsets:
            kept_by.setdefault(s, []).append(budget.index)
    podsets = tuple(
        replace(podset, budgets=tuple(kept_by[podset.index])) if podset.index in kept_by else podset
        for podset in podsets
    )
    return Instance(
        name=snapshot.metadata.name,
        resources=resources,
        nodes=nodes,
        topology=topology,
        jobs=jobs,
        podsets=podsets,
        topology_needs=tuple(builder.needs),
        anti_affinities=build_anti_affinities(builder.labels),
        spreads=build_spreads(builder.labels, podsets, nodes),
        affinities=build_affinities(
            builder.labels, podsets, nodes, pinned=model.rules.pinned == "required"
        ),
        queues=builder.queues,
        budgets=budgets,
        mix=commonest_shapes(podsets, resources=len(offered)),
        required=required,
        model=model,
        wishes=build_wishes(builder.labels),
        evens=build_evens(builder.labels, podsets, nodes),
        entitled=entitled,
    )


def _resources(snapshot: ClusterSnapshot, jobs: Iterable[docs.Job]) -> tuple[str, ...]:
    """Every resource that anything offers, asks for or limits."""
    names = {name for node in snapshot.nodes for name in node.allocatable}
    names |= {n for node in snapshot.nodes for device in node.devices for n in device.capacity}
    names |= {quota.name for queue in snapshot.queues for quota in queue.resources}
    for job in jobs:
        for podset in job.pod_sets:
            names |= set(podset.requests)
            for need in podset.devices:
                names |= set(need.requests)
    return tuple(sorted(names | {"pods"}))


def labels_of(node: NodeDocument) -> dict[str, str]:
    """Return the labels that selectors see: of a node without a hostname its name is that."""
    return {**({HOSTNAME: node.name} if node.hostname_from_name else {}), **node.labels}


@dataclass(frozen=True, slots=True)
class _Offer:
    """What a node offers."""

    capacity: tuple[int | None, ...]
    devices: tuple[Device, ...]
    gpu_milli: int


class _Offers:
    """What nodes offer, worked out once for all that are alike."""

    def __init__(
        self, resources: tuple[str, ...], things: Mapping[str, int], unlimited: frozenset[str]
    ) -> None:
        self._resources, self._things, self._unlimited = resources, things, unlimited
        self._known: dict[str, _Offer] = {}

    def of(self, node: NodeDocument) -> _Offer:
        """Return what a node offers."""
        kind = repr((node.allocatable, node.devices))
        if kind not in self._known:
            self._known[kind] = self._offer(node)
        return self._known[kind]

    def _offer(self, node: NodeDocument) -> _Offer:
        resources = self._resources
        offer = {**node.allocatable, **self._things}
        capacity: list[int | None] = list(amounts(resources, offer, up=False))
        if "pods" not in node.allocatable:
            capacity[resources.index("pods")] = None
        for name in self._unlimited:
            capacity[resources.index(name)] = None
        devices = tuple(
            Device(group.device_class, amounts(resources, group.capacity, up=False))
            for group in node.devices
            for _ in range(group.count)
        )
        gpus = gpu_milli_of(resources, capacity)
        gpus += sum(gpu_milli_of(resources, device.capacity) for device in devices)
        return _Offer(tuple(capacity), devices, gpus)


def _node(index: int, node: NodeDocument, offer: _Offer, drained: frozenset[str]) -> Node:
    return Node(
        index=index,
        name=node.name,
        labels=labels_of(node),
        taints=tuple(Taint(taint.key, taint.value, taint.effect) for taint in node.taints),
        unschedulable=node.unschedulable,
        ready=node.ready,
        capacity=offer.capacity,
        devices=offer.devices,
        gpu_milli=offer.gpu_milli,
        drained=node.name in drained,
        price=micro_units(node.price),
        idle_power=node.idle_power,
        power_per_gpu=node.power_per_gpu,
    )


def _topology(snapshot: ClusterSnapshot, nodes: tuple[Node, ...]) -> Topology:
    """Domains keyed by the path of labels: two racks may share a label in different blocks.

    At a level of single nodes the path ends in the node's name, whatever it lacks above.
    """
    levels = snapshot.topology.levels
    domains: list[tuple[Domain, ...]] = []
    domain_of: list[tuple[int | None, ...]] = []
    for depth in range(len(levels)):
        members: dict[tuple[str, ...], list[int]] = {}
        paths: list[tuple[str, ...] | None] = []
        for node in nodes:
            path = tuple(node.labels.get(level.node_label, "") for level in levels[: depth + 1])
            if levels[depth].node_label == NODE_NAME:
                path = (*filter(None, path), node.name)
            paths.append(path if all(path) else None)
            if all(path):
                members.setdefault(path, []).append(node.index)
        in_order = sorted(members, key=lambda path: tuple(map(natural, path)))
        order = {path: i for i, path in enumerate(in_order)}
        domains.append(tuple(Domain(depth, path, tuple(members[path])) for path in order))
        domain_of.append(tuple(None if path is None else order[path] for path in paths))
    return Topology(
        levels=tuple(level.name for level in levels),
        labels=tuple(level.node_label for level in levels),
        domains=tuple(domains),
        domain_of=tuple(domain_of),
    )


def _unknown(
    snapshot: ClusterSnapshot,
    model: Model,
    nodes: Sequence[Node],
    topology: Topology,
    resources: Sequence[str],
    source: str,
) -> list[Problem]:
    """Levels, resources, classes and labels that model and quotas name and no node has."""
    names = Names(nodes, topology, resources)
    labels = [
        (f"queues[{i}].resources[{k}].nodes", quota.nodes)
        for i, queue in enumerate(snapshot.queues)
        for k, quota in enumerate(queue.resources)
    ]
    labels.append(("zone.nodes", None if model.zone is None else model.zone.nodes))
    problems = [
        Problem(source, path, quote(found), expected or one_of(known), did_you_mean(found, known))
        for path, selector in labels
        if selector is not None and (unknown := names.unknown_label(selector))
        for found, known, expected in [unknown]
    ]
    return problems + [
        problem
        for i, objective in enumerate(model.objectives or ())
        for problem in names.check(objective, source, f"objectives[{i}]")
    ]


def _not_planned(jobs: Iterable[docs.Job], model: Model) -> dict[str, str]:
    """Say of required jobs that are not planned why that is, by NAMESPACE/NAME and by NAME."""
    if not model.required:
        return {}
    found = {}
    for job in jobs:
        if words := why_not_placed(job, model.assume):
            found.update(dict.fromkeys((job.full_name, job.name), words))
    return found


def _required(
    required: Iterable[str],
    every: Sequence[str],
    names: Sequence[str],
    not_planned: Mapping[str, str],
    problems: list[Problem],
    source: str,
) -> frozenset[int]:
    """Indices of the jobs named; a name without namespace must be unique.

    Of ``every`` job only those with ``names`` are looked at; what else is required is left aside.
    """
    found: set[int] = set()
    for name in dict.fromkeys(required):
        matches = [full for full in every if name in (full, full.split("/", 1)[1])]
        if name in not_planned and len(matches) < 2:
            hint = not_planned[name]
            problems.append(Problem(source, "required", name, "a job that is planned", hint))
        elif len(matches) == 1:
            found.update(j for j, full in enumerate(names) if full == matches[0])
        elif matches:
            expected = "NAMESPACE/NAME, since several namespaces have it"
            problems.append(Problem(source, "required", name, expected))
        else:
            close = get_close_matches(name, [*every, *(n.split("/", 1)[1] for n in every)], n=1)
            hint = f"did you mean {close[0]}?" if close else ""
            problems.append(Problem(source, "required", name, "the name of a job", hint))
    return frozenset(found)
