"""From job documents to jobs, roles and pod sets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from kantopt.problem.affinities import PodLabels
from kantopt.problem.ages import Ages
from kantopt.problem.amounts import amounts, demand_of, gpu_milli_of
from kantopt.problem.chosen import is_exempt
from kantopt.problem.cluster import Amounts, Node, Queue, Quota, Spot, Topology
from kantopt.problem.job import DeviceNeed, Job, PodSet, Role, TopologyNeed
from kantopt.problem.labelled import LabelledNodes
from kantopt.problem.memory import memory_in, migration_mib
from kantopt.problem.not_modelled import is_left_alone
from kantopt.problem.preferences import Rather, rather_of
from kantopt.problem.priority_classes import PriorityClasses
from kantopt.problem.typed_quotas import TypedDemand, typed_quotas
from kantopt.problem.uses import NodeUses
from kantopt.problem.zone import belongs, zone_nodes
from kantopt.schema import jobs as docs
from kantopt.schema.eligibility import Mark, barriers, closed_by, is_ahead
from kantopt.schema.model import Metric, Model
from kantopt.schema.quantity import parse_quantity, to_base
from kantopt.schema.snapshot import ClusterSnapshot
from kantopt.schema.windows import bytes_per_second


@dataclass(frozen=True, slots=True)
class _Asks:
    """What one pod takes; shared by pod sets that ask the same."""

    requests: Amounts
    devices: tuple[DeviceNeed, ...]
    demand: Amounts
    """Of both, but for what typed quotas count."""
    gpu_milli: int


@dataclass(frozen=True, slots=True)
class _Places:
    """Nodes a pod set may go to; shared by pod sets that ask the same."""

    allowed: frozenset[int]
    emptied: frozenset[int]
    spread_over: frozenset[int]
    closed: Mapping[int, Mark]
    rather: Rather
    losses: Mapping[int, int]


class JobsBuilder:
    """Collects jobs and pod sets while documents are read in order."""

    def __init__(
        self,
        snapshot: ClusterSnapshot,
        nodes: tuple[Node, ...],
        topology: Topology,
        resources: tuple[str, ...],
        model: Model,
        uses: NodeUses,
    ) -> None:
        self.jobs: list[Job] = []
        self.podsets: list[PodSet] = []
        self.labels: list[PodLabels] = []
        self.needs: list[TopologyNeed] = []
        self.queues = _queues(snapshot, resources)
        self.owners: list[int | None] = []
        """Queue of each job, whether it holds its quota or uses that where it runs."""
        self._nodes = nodes
        self._topology = topology
        self._resources = resources
        self._uses = uses
        self._node_index = {node.name: node.index for node in nodes}
        self._queue_index = {queue.name: queue.index for queue in self.queues}
        self._classes = PriorityClasses(snapshot)
        self._places: dict[str, _Places] = {}
        self._asked: dict[str, _Asks] = {}
        self._fenced: dict[tuple[Mark, ...], list[int]] = {}
        """Nodes by what pods must tolerate to arrive there, if there is anything."""
        for node in nodes:
            if marks := tuple(barriers(node)):
                self._fenced.setdefault(marks, []).append(node.index)
        self._labelled = LabelledNodes(nodes)
        self._typed = TypedDemand(typed_quotas(snapshot), nodes, resources)
        self._zone = model.zone
        self._zone_nodes = zone_nodes(model.zone, nodes)
        self._exempt = model.exempt
        self._assumed = model.assume
        self._moves_per_job = model.limits.moves_per_job
        self._ages = Ages(snapshot, model)
        self._copies = model.asks_for(Metric.MIGRATION_COST)
        self._bandwidth = bytes_per_second(model.schedule)

    def hold(self, document: docs.Job) -> None:
        """Take from the quota of a queue what a job holds of it, planned or not."""
        q = self._queue_index.get(document.queue_name)
        if q is None or not document.quota_reserved:
            return
        held = [0] * len(self._resources)
        for podset in document.pod_sets:
            places = self._places_of(podset, self._barred(document)).allowed
            places |= {self._node_index[place.node] for place in podset.assignments}
            demand = self._typed.added(self._asks_of(podset).demand, places)
            held = [had + podset.count * amount for had, amount in zip(held, demand, strict=True)]
        quotas = tuple(
            replace(
                quota,
                nominal=quota.nominal - held[quota.resource],
                held=quota.held + held[quota.resource],
            )
            for quota in self.queues[q].quotas
        )
        queue = replace(self.queues[q], quotas=quotas)
        self.queues = (*self.queues[:q], queue, *self.queues[q + 1 :])

    def add(self, document: docs.Job) -> None:
        """Add one job with its pod sets and topology needs."""
        j = len(self.jobs)
        queue = self._queue_index.get(document.queue_name)
        self.owners.append(queue)
        cls = self._classes.of(document)
        policy = document.preemption_policy or (cls.preemption_policy if cls else None)
        roles = tuple(
            self._role(j, role, document, podset) for role, podset in enumerate(document.pod_sets)
        )
        running = document.running
        bounds = [n for n in (self._moves_per_job, document.max_moves) if n is not None]
        most = min(bounds, default=None)
        at_once = document.max_moves_at_once
        self.jobs.append(
            Job(
                index=j,
                name=document.full_name,
                priority=self._classes.priority(document),
                may_preempt=policy != "Never",
                queue=None if document.quota_reserved else queue,
                roles=roles,
                min_count=document.min_count or 0,
                move_mode=document.move_mode,
                all_victims=document.disruption_mode == "all",
                disruption_cost=document.disruption_cost,
                max_moves=document.max_moves,
                most_moves=None if most is None or most >= running else most,
                moves_at_once=None if at_once is None or at_once >= running else at_once,
                waited_seconds=self._ages.waited(document),
                created=self._ages.created(document),
                ran_seconds=self._ages.ran(document),
            )
        )
        self._need(j, document.topology_request, tuple(range(len(roles))))
        for role, podset in enumerate(document.pod_sets):
            self._need(j, podset.topology_request, (role,))

    def _need(self, j: int, request: docs.TopologyRequest | None, roles: tuple[int, ...]) -> None:
        if request is None:
            return

        def level(name: str | None) -> int | None:
            return None if name is None else self._topology.level(name)

        self.needs.append(
            TopologyNeed(
                index=len(self.needs),
                job=j,
                roles=roles,
                required=level(request.required),
                preferred=level(request.preferred),
                slice_level=level(request.pod_set_slice_required_topology),
                slice_size=request.pod_set_slice_size or 1,
            )
        )

    def _role(self, j: int, role: int, job: docs.Job, podset: docs.PodSet) -> Role:
        current: dict[Spot, int] = {}
        for assignment in podset.assignments:
            spot = Spot(self._node_index[assignment.node], tuple(sorted(assignment.devices)))
            current[spot] = current.get(spot, 0) + assignment.count
        running = sum(current.values())
        pending = podset.count - running
        return Role(
            name=podset.name,
            count=podset.count,
            min_count=job.least_of(podset),
            running=self._podset(j, role, job, podset, running, current) if running else None,
            pending=self._podset(j, role, job, podset, pending, {}) if pending else None,
        )

    def _podset(
        self,
        j: int,
        role: int,
        job: docs.Job,
        podset: docs.PodSet,
        count: int,
        current: Mapping[Spot, int],
    ) -> int:
        asks = self._asks_of(podset)
        places = self._places_of(podset, self._barred(job))
        on = frozenset(spot.node for spot in current)
        places_of_all, losses = places.allowed, places.losses
        if outside := on - places.allowed:
            places_of_all = places.allowed | outside
            standing = places.rather.losses(self._nodes[n] for n in sorted(outside))
            if standing:
                losses = {**losses, **standing}
        demand = self._typed.added(asks.demand, places_of_all)
        cost = podset.disruption_cost
        preemptible = job.preemptible if podset.preemptible is None else podset.preemptible
        movable = job.movable if podset.movable is None else podset.movable
        exempt = is_exempt(podset.labels, self._exempt)
        leaves, alone = podset.terminating, is_left_alone(podset, self._assumed)
        stays = job.daemon or leaves or alone or exempt
        lost = copied = 0
        dirty_rate = int(parse_quantity(podset.dirty_rate))
        if current:
            # Nothing is moved off a node that is not ready; R11 says so of those partly there.
            movable = movable and not all(self._nodes[spot.node].holds for spot in current)
            preemptible = preemptible and not self._ages.is_young(job, podset)
            lost = asks.gpu_milli * (self._ages.unsaved(job, podset) or 0) // 1000
            if self._copies:
                memory, live = memory_in(self._resources, demand), job.move_mode == "live"
                copied = migration_mib(memory, dirty_rate, self._bandwidth, live=live)
        s = len(self.podsets)
        self.podsets.append(
            PodSet(
                index=s,
                job=j,
                role=role,
                name=podset.name,
                count=count,
                requests=asks.requests,
                devices=asks.devices,
                demand=demand,
                gpu_milli=asks.gpu_milli,
                current=current,
                allowed=places.allowed,
                emptied=places.emptied,
                spread_over=places.spread_over,
                closed=places.closed,
                preemptible=preemptible and not stays,
                movable=movable and not stays and not podset.nominated,
                disruption_cost=job.disruption_cost if cost is None else cost,
                budgets=(),
                daemon=job.daemon,
                leaving=leaves,
                lost_gpu_seconds=lost,
                dirty_rate=dirty_rate,
                migration_mib=copied,
                losses=losses,
                stays=(
                    *podset.stays,
                    *(("terminating",) if leaves and "terminating" not in podset.stays else ()),
                    *(f for f in podset.not_modelled if f not in self._assumed),
                    *(("nominated",) if podset.nominated else ()),
                    *(("exempt",) if exempt else ()),
                ),
            )
        )
        self.labels.append(PodLabels(s, job.namespace, podset))
        return s

    def _asks_of(self, podset: docs.PodSet) -> _Asks:
        """Return what a pod takes of its node, and of devices, worked out once per ask."""
        ask = repr((podset.requests, podset.devices, podset.host_ports))
        if ask not in self._asked:
            asked = {"pods": 1, **podset.requests, **self._uses.asks(podset)}
            requests = amounts(self._resources, asked)
            devices = sorted(
                DeviceNeed(need.device_class, need.count, amounts(self._resources, need.requests))
                for need in podset.devices
            )
            demand = demand_of(requests, devices)
            gpu_milli = gpu_milli_of(self._resources, demand)
            self._asked[ask] = _Asks(requests, tuple(devices), demand, gpu_milli)
        return self._asked[ask]

    def _barred(self, job: docs.Job) -> frozenset[int]:
        """Nodes of the zone, for jobs that it is not for."""
        outside = not job.daemon and not belongs(self._zone, job.full_name)
        return self._zone_nodes if outside else frozenset()

    def _places_of(self, podset: docs.PodSet, barred: frozenset[int]) -> _Places:
        """Nodes by what the pod set asks of their labels and taints, worked out once per ask."""
        ask = repr(
            (
                sorted(podset.node_selector.items()),
                podset.node_affinity,
                podset.volume_node_affinity,
                podset.tolerations,
                podset.outlasts,
                podset.preferred_node_affinity,
                bool(barred),
            )
        )
        if ask not in self._places:
            meeting = self._labelled.meeting
            admitted = [
                node
                for node in map(self._nodes.__getitem__, sorted(meeting(podset.node_affinity)))
                if all(node.labels.get(k) == v for k, v in podset.node_selector.items())
            ]
            held = frozenset[int].intersection(*map(meeting, ((), *podset.volume_node_affinity)))
            closed = {
                n: mark
                for marks, nodes in self._fenced.items()
                if (mark := closed_by(podset.tolerations, _heeded(podset, marks)))
                for n in nodes
            }
            admits = frozenset(
                node.index
                for node in admitted
                if node.index not in barred and node.index not in closed and node.index in held
            )
            emptied = frozenset(n for n in admits if self._nodes[n].drained)
            allowed = admits - emptied
            over = frozenset(node.index for node in admitted)
            admit = [self._nodes[n] for n in sorted(allowed)]
            rather = rather_of(podset, admit)
            losses = rather.losses(admit) if rather.tells else {}
            self._places[ask] = _Places(allowed, emptied, over, closed, rather, losses)
        return self._places[ask]


def _heeded(podset: docs.PodSet, marks: Iterable[Mark]) -> Iterator[Mark]:
    """Yield what closes a node to pods: only those that outlast it heed a time to come."""
    return (mark for mark in marks if podset.outlasts or not is_ahead(mark))


def _queues(snapshot: ClusterSnapshot, resources: tuple[str, ...]) -> tuple[Queue, ...]:
    def base(name: str, value: str | int | None) -> int | None:
        return None if value is None else to_base(name, value, up=False)

    return tuple(
        Queue(
            index=i,
            name=queue.name,
            cohort=queue.cohort,
            quotas=tuple(
                Quota(
                    resource=resources.index(quota.full_name),
                    nominal=to_base(quota.name, quota.nominal_quota, up=False) - held,
                    borrowing_limit=base(quota.name, quota.borrowing_limit),
                    lending_limit=base(quota.name, quota.lending_limit),
                    held=held,
                )
                for quota in queue.resources
                for held in (to_base(quota.name, quota.held),)
            ),
        )
        for i, queue in enumerate(snapshot.queues)
    )
