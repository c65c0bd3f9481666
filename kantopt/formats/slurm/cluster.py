"""What Slurm shows of a cluster into a snapshot and the jobs that are pending."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from itertools import compress

from kantopt.errors import Problem, UsageError
from kantopt.formats.imported import Aside, Imported, reporting
from kantopt.formats.notes import Notes
from kantopt.formats.slurm import names
from kantopt.formats.slurm.cores import Cores
from kantopt.formats.slurm.defaults import unnamed, with_defaults
from kantopt.formats.slurm.gather import Records
from kantopt.formats.slurm.identity import MOST_TASKS, owner_of, tasks_of
from kantopt.formats.slurm.jobs import JobsReader
from kantopt.formats.slurm.memory import Memory
from kantopt.formats.slurm.nodes import has_jobs, read_node
from kantopt.formats.slurm.partitions import Partitions
from kantopt.formats.slurm.pins import unpinned
from kantopt.formats.slurm.policy import Policy, ranks
from kantopt.formats.slurm.quotas import Quotas
from kantopt.formats.slurm.records import Record
from kantopt.formats.slurm.reservations import Reservations
from kantopt.formats.slurm.sharing import SharedNodes
from kantopt.formats.slurm.states import held, state_of
from kantopt.formats.slurm.surroundings import Piece, Surroundings
from kantopt.formats.slurm.topologies import Topologies
from kantopt.schema.base import API_VERSION
from kantopt.schema.jobs import Job, JobList
from kantopt.schema.quantity import to_base
from kantopt.schema.raw import RawDocument
from kantopt.schema.snapshot import (
    ClusterSnapshot,
    Node,
    SnapshotMetadata,
    Topology,
    TopologyLevel,
)

_NO_NODES = "the input has no nodes: scontrol show node shows them"
_NO_JOBS = "the input has no jobs, so every node counts as empty: scontrol -d show job shows them"


def import_slurm(
    raws: Sequence[RawDocument],
    *,
    gated: bool = False,
    pending: Sequence[str] = (),
    levels: Sequence[str] = (),
) -> Imported:
    """Read what Slurm printed as a snapshot and a list of pending jobs.

    Parameters
    ----------
    raws
        Documents, text or JSON, which may repeat each other.
    gated
        Whether jobs count as pending that are held, wait for others or for a time, or are kept
        by a limit.
    pending
        Patterns ACCOUNT/JOBID of jobs; if any, other pending jobs are left out.
    levels
        Node labels from coarse to fine to use as topology instead of switches and blocks.

    Raises
    ------
    BadDataError
        With every field that cannot be read, by file and record.
    UsageError
        If one of the patterns matches nothing that is pending.
    """
    problems: list[Problem] = []
    records = Records(raws, problems)
    run = _Import(records, gated, pending)
    with reporting(problems, raws[0].file):
        imported = run.run(levels)
    run.check_patterns()
    return imported


class _Import:
    """One run over the records."""

    def __init__(self, records: Records, gated: bool, patterns: Sequence[str]) -> None:
        self._records = records
        self._moment = records.moment
        self._gated = gated
        self._patterns = patterns
        self._matched: set[str] = set()
        self._held: list[tuple[str, Record]] = []
        """What waits and may not start yet: OWNER/ID, and what there is of it."""
        self._left_out: dict[str, str] = {}
        """Why it may not, by OWNER/ID of a component and of its whole job."""
        self._aside: list[tuple[Piece, ...]] = []
        """Jobs that wait and were not asked for."""
        self._notes = records.notes

    def run(self, chosen: Sequence[str]) -> Imported:
        records, notes = self._records, self._notes
        partitions = Partitions(records)
        _note_missing(records, partitions)
        levels = Topologies(records, partitions)
        reservations = Reservations(records)
        closed = reservations.held
        nodes = [
            reservations.onto(levels.onto(read_node(record, partitions, closed, notes)))
            for record in records.of("NodeName")
        ]
        policy = Policy(records)
        quotas = Quotas(records, partitions)
        groups = self._pieces(partitions, reservations, quotas)
        pieces = [piece for group in groups for piece in group]
        whole = [partitions.gives_whole_nodes(piece.record) for piece in pieces]
        offered = {
            node.name: {k: to_base(k, v, up=False) for k, v in node.allocatable.items()}
            for node in nodes
        }
        memory = Memory(records.config, offered, partitions)
        others = (piece.record for piece, all_ in zip(pieces, whole, strict=True) if not all_)
        shares = tuple(compress(names.SHARED, (any(whole), any(map(memory.takes_all, others)))))
        caps = {
            name: partitions.caps(name, offers.get("cpu", 0) // 1000)
            for name, offers in offered.items()
        }
        nodes = [_with_shares(node, shares, caps[node.name]) for node in nodes]
        tiers, ranked = _ranks(policy, groups)
        topology = levels.topology
        if chosen:
            topology = Topology(
                levels=tuple(TopologyLevel(name=label, node_label=label) for label in chosen)
            )
        around = Surroundings(
            policy=policy,
            reservations=reservations,
            level=topology.levels[-1].name if topology.levels else None,
            moment=self._moment,
            offered=offered,
            memory=memory,
            cores=Cores(records),
            partitions=partitions,
            shares=shares,
            quotas=quotas,
            namespaces=sorted({owner_of(piece.record) for piece in pieces}),
            ranks=ranked,
            tiers=tiers,
            shared=SharedNodes((piece.record for piece in pieces if piece.holds), partitions),
            notes=notes,
        )
        reader = JobsReader(around)
        running: list[Job] = []
        waiting: list[Job] = []
        for group in self._asked(groups):
            job = reader.read(group)
            if job is not None:
                (waiting if group[0].state == "pending" else running).append(job)
        silent = JobsReader(replace(around, notes=Notes()))
        aside = tuple(
            Aside(job.priority or 0, sum(podset.count for podset in job.pod_sets))
            for job in filter(None, map(silent.read, self._aside))
        )
        lines = notes.lines()
        if not nodes:
            lines = (_NO_NODES, *lines)
        elif not records.of("JobId"):
            lines = (_NO_JOBS, *lines)
        return Imported(
            ClusterSnapshot(
                api_version=API_VERSION,
                kind="ClusterSnapshot",
                metadata=SnapshotMetadata(name=records.cluster(), captured_at=self._moment),
                topology=topology,
                nodes=tuple(nodes),
                jobs=tuple(running),
                queues=quotas.queues,
            ),
            JobList(api_version=API_VERSION, kind="JobList", jobs=tuple(waiting)),
            lines,
            left_out=self._left_out,
            aside=aside,
            held_back=self._held_back(reader),
            unnamed=unnamed(records.config, partitions, memory, offered),
        )

    def check_patterns(self) -> None:
        """Refuse patterns that match nothing: mistyped, they would leave everything out."""
        for pattern in self._patterns:
            if pattern in self._matched:
                continue
            said = "no pending job matches"
            if any(fnmatchcase(name, pattern) for name, _ in self._held):
                said = (
                    "only jobs match that are held or wait for something; they count with --gated"
                )
            raise UsageError(f"--pending {pattern}: {said}")

    def _pieces(
        self, partitions: Partitions, reservations: Reservations, quotas: Quotas
    ) -> list[tuple[Piece, ...]]:
        """Group what holds nodes or waits for them: components of one job are together."""
        groups: dict[tuple[str, str, bool], list[Piece]] = {}
        records = [
            with_defaults(unpinned(record), self._records, partitions)
            for record in self._records.of("JobId")
        ]
        states = {id(record): state_of(record) for record in records}
        running = Counter(
            array
            for record in records
            if (array := record.text("ArrayJobId"))
            and (states[id(record)] == "running" or record.text(names.CHOSEN))
        )
        for record in records:
            state = states[id(record)]
            if state == "ended":
                self._notes.add("jobs that have ended")
                continue
            if state == "completing":
                text = "jobs that are completing hold their nodes until they are gone"
                self._notes.add(text, record.name)
            tasks = tasks_of(record)
            if state == "pending" and not record.text(names.CHOSEN):
                tasks = self._allowed(record, tasks, running)
            for task in tasks:
                piece = Piece(record, state, task)
                if state == "pending" and not self._counts(piece, partitions, reservations, quotas):
                    continue
                leader = record.text("HetJobId")
                key = leader if leader and leader != "0" else piece.id
                groups.setdefault((owner_of(record), key, state == "pending"), []).append(piece)
        return [
            tuple(sorted(group, key=lambda piece: piece.record.number("HetJobOffset")))
            for group in groups.values()
        ]

    def _allowed(
        self, record: Record, tasks: Sequence[int | None], running: Mapping[str, int]
    ) -> Sequence[int | None]:
        """Return the tasks of an array that may run beside those that do."""
        throttle = record.number("ArrayTaskThrottle")
        most = MOST_TASKS
        if throttle:
            most = min(most, max(0, throttle - running.get(record.text("ArrayJobId"), 0)))
        if record.text("Reason") == "JobArrayTaskLimit" and not self._gated:
            most = len(tasks)  # all of them are held, and counted as such
        if len(tasks) > most:
            text = "tasks of arrays that wait behind others of theirs are left out"
            self._notes.add(text, record.name, len(tasks) - most)
        return tasks[:most]

    def _counts(
        self, piece: Piece, partitions: Partitions, reservations: Reservations, quotas: Quotas
    ) -> bool:
        """Whether a job that waits is asked about; what is left out is counted."""
        record = piece.record
        if piece.chosen:
            return True
        name = f"{owner_of(record)}/{piece.id}"
        why = held(record, self._moment) or partitions.refuses(record.listed("Partition"), record)
        why = why or quotas.refuses(record)
        if not why and partitions.shares_cpus(record):
            why = "that may share CPUs with others (OverSubscribe)"
        reservation = record.text("Reservation")
        if not why and reservation and not reservations.active(reservation):
            why = "for a reservation of another time (Reservation)"
        if why and not self._gated:
            self._notes.add(f"pending jobs {why} are left out", name)
            self._held.append((name, record))
            reason = record.text("Reason")
            code = f" ({reason})" if reason not in ("", "None") and reason not in why else ""
            said = f"is one of the pending jobs {why}{code}, left out: it counts with --gated"
            for each in (name, name.partition("+")[0]):
                self._left_out.setdefault(each, said)
            return False
        return True

    def _held_back(self, reader: JobsReader) -> Counter[str]:
        """Count the pods that may not start yet of the jobs that were asked for, all by default."""
        found: Counter[str] = Counter()
        for name, record in self._held:
            job = name.partition("+")[0]
            asked = (fnmatchcase(n, p) for p in self._patterns for n in (name, job))
            if not self._patterns or any(asked):
                found[job] += reader.pods_wanted(record)
        return found

    def _asked(self, groups: Iterable[tuple[Piece, ...]]) -> Iterator[tuple[Piece, ...]]:
        """Leave out pending jobs that the user did not ask for, when all are ranked."""
        for group in groups:
            if not self._patterns or group[0].state != "pending":
                yield group
                continue
            owner = owner_of(group[0].record)
            ids = {each for piece in group for each in (piece.id, piece.id.split("+")[0])}
            found = {
                pattern
                for pattern in self._patterns
                if any(fnmatchcase(f"{owner}/{each}", pattern) for each in ids)
            }
            self._matched |= found
            if found:
                yield group
            else:
                text = "pending jobs that were not asked for are left out"
                self._notes.add(text, f"{owner}/{group[0].id}")
                self._aside.append(group)


def _with_shares(node: Node, shares: Sequence[str], caps: Mapping[str, int]) -> Node:
    amounts = {**node.allocatable, **dict.fromkeys(shares, names.SHARES), **caps}
    return node.model_copy(update={"allocatable": dict(sorted(amounts.items()))})


def _ranks(
    policy: Policy, groups: Iterable[Sequence[Piece]]
) -> tuple[dict[int, int], dict[tuple[int, int], int]]:
    """Number the tiers, and rank the jobs that wait in each."""
    standing: list[tuple[int, Piece]] = []
    for group in groups:
        standing.append((policy.of_job([piece.record for piece in group]).tier, group[0]))
    tiers = {tier: number for number, tier in enumerate(sorted({tier for tier, _ in standing}))}
    found: dict[tuple[int, int], int] = {}
    for tier, number in tiers.items():
        waiting = [p for t, p in standing if t == tier and p.state == "pending"]
        for value, rank in ranks(policy.turn(p.record) for p in waiting).items():
            found[number, value] = rank
    return tiers, found


def _note_missing(records: Records, partitions: Partitions) -> None:
    """Note nodes, jobs and partitions that others tell of and the input does not show."""
    nodes, notes = records.of("NodeName"), records.notes
    shown = {record.name for record in nodes}
    if nodes:
        text = "nodes that partitions have and the input does not show: they count as not there"
        missing: dict[str, str] = {}
        for partition in records.of("PartitionName"):
            for host in partition.hosts("Nodes"):
                if host not in shown:
                    missing.setdefault(host, f"{host} of {partition.name}")
        for witness in missing.values():
            notes.add(text, witness)
    jobs = records.of("JobId")
    if jobs:
        busy = {host for job in jobs for host in job.hosts("NodeList")}
        for node in nodes:
            if has_jobs(node) and node.name not in busy:
                text = "nodes with jobs of which the input shows none: they count as empty"
                notes.add(text, node.name)
    if partitions.by_name:
        for name in partitions.members:
            if name not in partitions.by_name:
                text = "partitions that nodes are in and the input does not show: limits and tiers"
                notes.add(f"{text} are not known", name)
