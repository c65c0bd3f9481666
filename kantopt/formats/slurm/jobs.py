"""Jobs of Slurm into our own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from kantopt.formats.slurm import names
from kantopt.formats.slurm.closeness import closeness
from kantopt.formats.slurm.eligible import (
    Eligible,
    instead_of,
    preferred,
    read_constraint,
    restricted,
)
from kantopt.formats.slurm.identity import labels_of, owner_of, uid_of, user_of
from kantopt.formats.slurm.policy import STEP, Standing
from kantopt.formats.slurm.records import Record
from kantopt.formats.slurm.reservations import tolerations
from kantopt.formats.slurm.shapes import Shape, held, is_of_user, wanted
from kantopt.formats.slurm.states import is_suspended, may_requeue
from kantopt.formats.slurm.surroundings import Piece, Surroundings
from kantopt.formats.slurm.tres import Amounts, types_of
from kantopt.schema.base import Expression, LabelSelector
from kantopt.schema.features import Feature
from kantopt.schema.gangs import GPU
from kantopt.schema.jobs import (
    Assignment,
    Job,
    PodAntiAffinityTerm,
    PodRef,
    PodSet,
    TopologyRequest,
)
from kantopt.schema.quantity import from_base
from kantopt.schema.snapshot import HOSTNAME
from kantopt.schema.stays import Fixed


class JobsReader:
    """Makes jobs of the records of a cluster."""

    def __init__(self, around: Surroundings) -> None:
        self._around = around

    def read(self, pieces: Sequence[Piece]) -> Job | None:
        """Make a job of its pieces: one, or the components of a heterogeneous job.

        One that runs on nodes that are not in the input is none.
        """
        first, around = pieces[0], self._around
        record = first.record
        running = first.state != "pending"
        standing = around.policy.of_job([piece.record for piece in pieces])
        if not running and any(around.policy.is_lowered(p.record) for p in pieces):
            text = "jobs of several partitions evict, and come, by the lowest of their tiers"
            around.notes.add(text, first.id)
        podsets = [podset for piece in pieces for podset in self._podsets(piece, standing)]
        podsets = [*_components_apart(podsets, record.text("HetJobId"))]
        if not podsets:
            return None
        pods = sum(podset.count for podset in podsets)
        shares = any(around.partitions.shares_cpus(piece.record) for piece in pieces)
        again = all(piece.state == "running" and may_requeue(piece.record) for piece in pieces)
        again = again and not shares
        paused = any(is_suspended(piece.record) for piece in pieces)
        evictable = again and standing.mode != "OFF"
        if evictable and standing.mode != "REQUEUE":
            text = f"jobs that preemption would {standing.mode.lower()}, not requeue"
            around.notes.add(text, first.id)
        if again and not paused and pods > 1:
            text = "jobs on several nodes are not moved: all of their pods would restart"
            around.notes.add(text, first.id)
        if running:
            podsets = [*_with_causes(podsets, [piece.record for piece in pieces], shares=shares)]
            around.note_cpus(first.id, paused=paused, shares=shares)
        number = around.tiers[standing.tier]
        rank = around.ranks.get((number, around.policy.turn(record)), 1)
        het = record.text("HetJobId") if len(pieces) > 1 or "+" in first.id else ""
        return Job(
            name=het or first.id,
            namespace=owner_of(record),
            uid=uid_of(record, het or first.id),
            queue_name=around.quotas.queue_of(record),
            priority=number * STEP + (STEP - 1 if running else rank),
            preemptible=evictable or not running,
            movable=not running or (again and not paused and pods == 1),
            disruption_mode="all" if pods > 1 else "single",
            topology_request=self._together(pieces, podsets),
            creation_time=record.time("SubmitTime"),
            start_time=record.time("StartTime") if running else None,
            min_runtime=f"{standing.exempt_seconds}s" if standing.exempt_seconds else None,
            pod_sets=tuple(podsets),
        )

    def _takes_whole(self, record: Record, share: str) -> bool:
        if share == names.ALL_MEMORY:
            return self._around.memory.takes_all(record)
        return self._around.partitions.gives_whole_nodes(record)

    def pods_wanted(self, record: Record) -> int:
        """Return the pods that a job of one component asks for: a node each."""
        whole = self._around.partitions.gives_whole_nodes(record)
        return self._wanted(record, whole=whole).count

    def _wanted(self, record: Record, *, whole: bool) -> Shape:
        memory = self._around.memory
        together = self._around.partitions.limits_nodes(record) or memory.takes_all(record)
        by_node, offers = memory.by_node(record), self._offers(record)
        core = self._around.cores.least(record, memory.offers(record))
        return wanted(
            record, whole=whole, together=together, by_node=by_node, offers=offers, core=core
        )

    def _podsets(self, piece: Piece, standing: Standing) -> list[PodSet]:
        record, around = piece.record, self._around
        whole = around.partitions.gives_whole_nodes(record)
        if piece.state != "pending" or piece.chosen:
            return self._standing_podsets(piece, standing, whole)
        shape = self._wanted(record, whole=whole)
        if shape.least < min(shape.count, record.number("NumTasks")):
            text = "jobs on a range of nodes: each with the share of the fewest, more have less"
            around.notes.add(text, piece.id)
        memory = around.memory
        # In some of its partitions it may share nodes, and then has no memory for all CPUs.
        sure = whole and around.partitions.all_exclusive(record)
        small = memory.too_small(record, shape.amounts, whole=sure)
        small += around.cores.lacking(record, memory.offers(record))
        alone = memory.takes_all(record)
        shape = replace(shape, amounts=memory.counted(shape.amounts, alone=alone))
        if whole:
            shape = replace(shape, amounts=self._at_least(shape.amounts, record))
        required = sorted(set(record.hosts("ReqNodeList")))
        if not required or len(required) == shape.count:
            return [self._podset(piece, standing, shape, only=tuple(required), never=tuple(small))]
        # Each of these nodes must be among the job's, so one pod is meant for each.
        some = Shape(len(required), len(required), shape.amounts, True)
        more = shape.count - len(required)
        others = Shape(more, max(0, shape.least - len(required)), shape.amounts, True)
        return [
            self._podset(
                piece,
                standing,
                some,
                only=tuple(required),
                never=tuple(small),
                number=1,
                of=shape.count,
            ),
            self._podset(
                piece,
                standing,
                others,
                never=(*required, *small),
                number=1,
                first=len(required),
                of=shape.count,
            ),
        ]

    def _standing_podsets(self, piece: Piece, standing: Standing, whole: bool) -> list[PodSet]:
        """Make a pod set of the nodes on which a job holds the same, named by it or not."""
        record, around = piece.record, self._around
        required = frozenset(record.hosts("ReqNodeList"))
        shares: dict[tuple[bool, tuple[tuple[str, int], ...]], list[str]] = {}
        for host, amounts in held(record, around.cores.threads, around.offered, whole=whole):
            if host in around.offered:
                amounts = around.shared.held(record, host, amounts)
                if amounts.get(GPU) and not types_of(amounts):
                    self._note_types(piece, host)
                taken = tuple(sorted(around.memory.counted(amounts).items()))
                shares.setdefault((host in required, taken), []).append(host)
            else:
                text = "pods on nodes that are not in the input are left out"
                around.notes.add(text, f"{piece.id} on {host}")
        pods = sum(map(len, shares.values()))
        first = int(piece.chosen and len(shares) > 1)  # as where required nodes are apart
        return [
            self._podset(
                piece,
                standing,
                Shape(len(hosts), len(hosts), dict(amounts), apart=pods > 1),
                hosts=tuple(hosts),
                only=tuple(sorted(required)) if named else (),
                number=k,
                of=pods,
            )
            for k, ((named, amounts), hosts) in enumerate(
                sorted(shares.items(), key=lambda item: item[1]), first
            )
        ]

    def _note_types(self, piece: Piece, host: str) -> None:
        if len(types_of(self._around.offered[host])) > 1:
            text = "jobs of which nobody tells what type of GPU they hold (scontrol -d show job)"
            self._around.notes.add(text, f"{piece.id} on {host}")

    def _at_least(self, amounts: Amounts, record: Record) -> Amounts:
        """Raise what a job asks for to what each node that it may get offers anyway."""
        offers = self._offers(record)
        floor = {
            key: min(offer.get(key, 0) for offer in offers) for offer in offers[:1] for key in offer
        }
        raised = {key: max(amounts.get(key, 0), floor.get(key, 0)) for key in {*amounts, *floor}}
        raised[GPU] = max(raised.get(GPU, 0), sum(raised[key] for key in types_of(raised)))
        return {key: amount for key, amount in sorted(raised.items()) if amount}

    def _offers(self, record: Record) -> list[Amounts]:
        """Return what each node of a job's partitions offers."""
        return list(self._around.memory.offers(record).values())

    def _podset(
        self,
        piece: Piece,
        standing: Standing,
        shape: Shape,
        *,
        hosts: tuple[str, ...] = (),
        only: tuple[str, ...] = (),
        never: tuple[str, ...] = (),
        number: int = 0,
        first: int = 0,
        of: int = 0,
    ) -> PodSet:
        """Make a pod set: pods from number ``first`` on, of a job that has ``of`` in all."""
        record, around = piece.record, self._around
        requests = dict(shape.amounts)
        for name in around.shares if requests else ():
            requests[name] = names.SHARES if self._takes_whole(record, name) else 1
        cpus = -(-shape.amounts.get("cpu", 0) // 1000)
        whole = around.partitions.gives_whole_nodes(record)
        requests |= around.partitions.capped(record, cpus, whole=whole)
        if around.partitions.is_capped(record):
            text = "MaxCPUsPerNode of partitions is left out of jobs for several partitions"
            around.notes.add(text, piece.id)
        role = piece.id if "+" in piece.id else "main"
        if number:
            role = f"{role}-nodes" if only and not hosts else f"{role}-{number + 1}"
        since = record.time("StartTime") if piece.chosen else around.moment
        closing = around.reservations.closing(record, "" if hosts else piece.id, since)
        borne = around.reservations.borne(record, since, closing)
        if piece.chosen:
            # What has changed since may have let it come to its own nodes, and to no others.
            sure = borne.union(record.listed(names.FORESEEN))
            doubted = around.reservations.beside(hosts, sure)
            borne |= doubted.keys()
            never = (*never, *frozenset().union(*doubted.values()).difference(hosts))
        features, eligible = self._eligible(piece, only, never, lone=(of or shape.count) == 1)
        refs = tuple(
            PodRef(
                name=piece.id if (of or shape.count) == 1 else f"{piece.id}:{host or k}",
                uid=uid_of(record, piece.id),
                grace_period_seconds=standing.grace_seconds or None,
            )
            for k, host in enumerate(hosts or [""] * shape.count, first)
        )
        label = {names.JOB: piece.id}
        apart = LabelSelector(match_labels=label)
        away = [_never_beside(apart)] if shape.apart else []
        if is_of_user(record) or around.partitions.of_one_user(record):
            others = Expression(key=names.USER, operator="NotIn", values=(user_of(record),))
            away.append(
                _never_beside(LabelSelector(match_expressions=(others,)), around.namespaces)
            )
        # What is asked of two pod sets together stands in their job.
        waits = piece.state == "pending"
        request = self._closeness(record, shape.count) if waits and not number else None
        return PodSet(
            name=role,
            count=shape.count,
            min_count=shape.least if shape.least < shape.count else None,
            labels={**label, **labels_of(record)},
            requests={key: from_base(key, n) for key, n in sorted(requests.items()) if n},
            node_selector=eligible.selector(),
            node_affinity=eligible.terms(),
            preferred_node_affinity=preferred(record, around.notes),
            tolerations=tolerations(borne),
            outlasts=bool(closing),
            topology_request=request,
            pod_anti_affinity=tuple(away),
            terminating=piece.state == "completing",
            not_modelled=features,
            assignments=()
            if waits
            else tuple(
                Assignment(node=node, pods=(ref,)) for node, ref in zip(hosts, refs, strict=True)
            ),
            pods=refs if waits else (),
        )

    def _closeness(self, record: Record, count: int) -> TopologyRequest | None:
        around = self._around
        chosen = record.text(names.CHOSEN) == "1"
        moment = record.time("StartTime") if chosen else around.moment
        return closeness(record, count, around.level, moment, around.notes)

    def _together(
        self, pieces: Sequence[Piece], podsets: Sequence[PodSet]
    ) -> TopologyRequest | None:
        """Return how close all pods of a job must be that has required nodes and others."""
        first = pieces[0]
        if first.state != "pending" or len(podsets) == len(pieces):
            return None
        request = self._closeness(first.record, sum(podset.count for podset in podsets))
        if request is not None and (len(pieces) > 1 or request.pod_set_slice_size):
            text = "segments, and switches of components, beside required nodes are left out"
            self._around.notes.add(text, first.id)
        if request is None or len(pieces) > 1 or not (request.required or request.preferred):
            return None
        return TopologyRequest(required=request.required, preferred=request.preferred)

    def _eligible(
        self, piece: Piece, only: tuple[str, ...], never: tuple[str, ...], *, lone: bool
    ) -> tuple[tuple[Feature, ...], Eligible]:
        record, around = piece.record, self._around
        beyond: list[Feature] = []
        features = read_constraint(record.text("Features"))
        if features is None or record.text("Contiguous") == "1":
            beyond.append("constraints")
        wider = instead_of(features, record)
        if wider and not lone and piece.state == "pending" and not piece.chosen:
            text = "--prefer of jobs on several nodes: only nodes of their constraint, not of that"
            around.notes.add(text, piece.id)
        else:
            features = wider or features
        if record.text("Licenses"):
            beyond.append("licenses")
        partitions = around.partitions.open_to(record)
        if not lone:
            largest = around.partitions.holding(partitions)
            if len(largest) < len(partitions):
                text = "jobs on several nodes are for the largest of their partitions only"
                around.notes.add(text, piece.id)
            partitions = largest
        if not partitions:
            text = "jobs of partitions whose nodes are not known may go to all nodes"
            around.notes.add(text, piece.id)
        reservation = record.text("Reservation")
        confined = reservation if around.reservations.confines(reservation) else ""
        eligible = Eligible(partitions, features or ((),), confined)
        excluded = {*never, *record.hosts("ExcNodeList")}
        return tuple(beyond), restricted(eligible, only, excluded)


def _never_beside(whom: LabelSelector, of: Sequence[str] = ()) -> PodAntiAffinityTerm:
    return PodAntiAffinityTerm(topology_key=HOSTNAME, label_selector=whom, namespaces=tuple(of))


def _components_apart(podsets: Sequence[PodSet], job: str) -> Iterator[PodSet]:
    """Keep components of a job off each other's nodes: Slurm gives each of them its own.

    Pods of one that may share nodes keep away from others only.
    """
    together = len({podset.labels[names.JOB] for podset in podsets}) > 1
    for podset in podsets:
        if not together:
            yield podset
            continue
        labels, terms = podset.labels | {names.HET_JOB: job}, podset.pod_anti_affinity
        rest = [term for term in terms if names.JOB not in term.label_selector.match_labels]
        own: tuple[Expression, ...] = ()
        if podset.count > 1 and len(rest) == len(terms):
            own = (Expression(key=names.JOB, operator="NotIn", values=(labels[names.JOB],)),)
        whom = LabelSelector(match_labels={names.HET_JOB: job}, match_expressions=own)
        away = (_never_beside(whom), *rest)
        yield podset.model_copy(update={"labels": labels, "pod_anti_affinity": away})


def _with_causes(
    podsets: Iterable[PodSet], records: Sequence[Record], *, shares: bool
) -> tuple[PodSet, ...]:
    """Say of the pod sets of a job that runs why it is not moved, if anything speaks against it.

    ``shares``: it shares CPUs with others.
    """
    sets = tuple(podsets)
    causes: list[Fixed] = []
    if not all(map(may_requeue, records)):
        causes.append("not-requeued")
    if any(map(is_suspended, records)):
        causes.append("suspended")
    if shares:
        causes.append("shared-cpus")
    if sum(podset.count for podset in sets) > 1:
        causes.append("several-nodes")
    return tuple(
        podset.model_copy(update={"stays": ("terminating",) if podset.terminating else (*causes,)})
        for podset in sets
    )
