"""Two dumps of one Slurm as one: jobs where they were, and where they are since.

A job that has got nodes since the first dump waits in the question for the shares that it holds;
where they are is what is judged. Jobs leave and start as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from kantopt.formats.pair import Key, Pair
from kantopt.formats.slurm import names
from kantopt.formats.slurm.gather import Records
from kantopt.formats.slurm.identity import id_of, owner_of, tasks_of, uid_of
from kantopt.formats.slurm.nodes import is_gone
from kantopt.formats.slurm.partitions import Partitions
from kantopt.formats.slurm.pins import unpinned
from kantopt.formats.slurm.policy import Policy
from kantopt.formats.slurm.records import Record
from kantopt.formats.slurm.reservations import least_time
from kantopt.formats.slurm.states import State, held, is_held, is_suspended, state_of
from kantopt.schema.answers.history import Became, Fate, History
from kantopt.schema.eligibility import CORDONED
from kantopt.schema.raw import SLURM_RECORDS, RawDocument, is_slurm

_SOON = timedelta(minutes=15)
"""How long before or after a victim is queued again another may start on a node that it had: one
after the other is cleaned up, and Slurm looks at its queue from time to time."""


class SlurmDumps:
    """Two dumps, compared.

    Of kinds that the later one lacks those of the first are taken.
    """

    def __init__(self, first: Iterable[RawDocument], later: Iterable[RawDocument]) -> None:
        before, after = (
            Records([raw for raw in raws if is_slurm(raw.data)], []) for raws in (first, later)
        )
        self._before, self._now = attempts_of(before), attempts_of(after)
        self._moments = before.moment, after.moment
        self._configured = [
            of.config.time("Moment") if of.config else None for of in (before, after)
        ]
        kinds = dict.fromkeys((*before.kinds, *after.kinds))
        chosen = {kind: after if kind in after.kinds else before for kind in kinds}
        self._rest = [r for kind in kinds if kind != "JobId" for r in chosen[kind].of(kind)]
        rest = Records([RawDocument("", 0, {SLURM_RECORDS: self._rest})], [])
        nodes = before.named("NodeName"), rest.named("NodeName")
        self._nodes = {*nodes[0]}, {*nodes[1]}
        self._drained_anew = [
            name
            for name, node in nodes[1].items()
            if name in nodes[0] and _reason(node) != _reason(nodes[0][name])
        ]
        self._reservations = rest.named("ReservationName")
        told = before.named("ReservationName")
        self._foreseen = {
            name: _start(record)
            for name, record in self._reservations.items()
            if name in told and _terms(record) == _terms(told[name])
        }
        # One that was to begin, and is gone or put off since, may have kept jobs away before.
        coming = {name: r for name, r in told.items() if (self._moments[0] or "") < _start(r)}
        for k, record in enumerate(self._rest):
            was = coming.get(record.name) if record.kind == "ReservationName" else None
            if was is not None and _start(was) < _start(record):
                fields = {**record.fields, "StartTime": was.text("StartTime")}
                self._rest[k] = replace(record, fields=fields)
        self._rest += [r for name, r in coming.items() if name not in self._reservations]
        self._boots = {name: node.time("BootTime") for name, node in nodes[1].items()}
        self._down = {name for name, node in nodes[1].items() if is_gone(node)}
        self._partitions = Partitions(rest)
        self._policy = Policy(rest)
        self._by: dict[tuple[str, str], Attempt] = {}
        """Jobs that were preempted, each with one that may have done it."""
        self._fates = dict(self._told())

    def earlier(self) -> str:
        """Say what shows that the later dump is the earlier one; nothing if it is not."""
        was, now = self._configured
        if was is None or now is None or was <= now:
            return ""
        return f"its configuration is as of {now}, that of the first as of {was}"

    @property
    def taints_alone(self) -> bool:
        """Slurm has no taints: it starts nothing on a node that is down."""
        return False

    @property
    def passing(self) -> frozenset[tuple[str, str, str]]:
        """Slurm has no taints; nodes that were drained anew meanwhile were open before."""
        return frozenset((name, CORDONED, "NoSchedule") for name in self._drained_anew)

    @property
    def settled_differs(self) -> bool:
        """Whether jobs were preempted, which a better plan might have spared."""
        return bool(self._by)

    def pair(self, given: frozenset[Key] = frozenset(), *, settled: bool) -> Pair:
        """Put the two together, as :class:`kantopt.formats.pair.TwoDumps` has it."""
        kept = _jobs_of(given)
        victims = [
            was
            for was in self._running()
            if settled
            and was.job in self._by
            and was.job not in kept
            and self._by[was.job].job not in kept
        ]
        records: dict[int, Record] = {}
        places: dict[Key, str | None] = {}
        there: set[Key] = set()
        waiting: list[str] = []
        freed: list[str] = []
        placed = arrived = 0
        for victim in victims:
            records[id(victim.record)] = victim.record
            now = self._now.get(victim.id)
            hosts = now.hosts if now is not None and now.state == "running" else ()
            for k, host in enumerate(victim.hosts):
                places[victim.key(host)] = hosts[k] if k < len(hosts) else None
        gone = {victim.id for victim in victims}
        for name, now in self._now.items():
            was = self._before.get(name)
            if name in gone or now.state == "ended":
                continue
            record = now.record
            if now.state == "pending":
                free = (
                    was is not None
                    and was.state == "pending"
                    and not held(was.record, self._moments[0])
                )
                if not held(record, self._moments[1]) and not free:
                    if was is None or _is_another(was, now):
                        waiting.append(f"{now.owner}/{name}")
                    elif was.state == "pending":
                        freed.append(f"{now.owner}/{name}")
                    continue
            elif not _runs_on(was, now):
                placed += len(now.hosts) * (was is not None)
                arrived += len(now.hosts) * (was is None)
                if now.state == "completing" or now.job in kept or self._has_no_cpus(record):
                    there |= {now.key(host) for host in now.hosts}
                else:
                    record = self._chosen(record, was)
                    places |= {now.key(host): host for host in now.hosts}
            records[id(now.record)] = record
        history = History(
            stayed=sum(len(self._stay(was)) for was in self._running()),
            placed=placed,
            arrived=arrived,
            gone=tuple(fate for fates in self._fates.values() for fate in fates),
            waiting=tuple(sorted(waiting)),
            freed=tuple(sorted(freed)),
            nodes_added=tuple(sorted(self._nodes[1] - self._nodes[0])),
            nodes_removed=tuple(sorted(self._nodes[0] - self._nodes[1])),
        )
        data = {SLURM_RECORDS: (*self._rest, *records.values())}
        # No rule that is read from Slurm counts pods that have left.
        return Pair(data, places, frozenset(there), (), history)

    def _has_no_cpus(self, record: Record) -> bool:
        """Whether a job has no CPUs of its own: what it took of them at its start is not known."""
        return is_suspended(record) or self._partitions.shares_cpus(record)

    def _chosen(self, record: Record, was: Attempt | None) -> Record:
        """Return the record of a job that has its nodes as that of one that waits for them.

        Its limit may have been changed before it started or since: the longer one opens less.
        """
        fields = {**record.fields, names.CHOSEN: "1", "JobState": "PENDING", "Reason": ""}
        before, now = None if was is None else least_time(was.record), least_time(record)
        if was is not None and (before or 0) > (now or 0):
            fields |= {key: was.record.text(key) for key in ("TimeLimit", "TimeMin")}
        known = was is not None and before == now
        started = record.time("StartTime") or ""
        foreseen = (name for name, start in self._foreseen.items() if known or start <= started)
        fields[names.FORESEEN] = ",".join(foreseen)
        if record.text("Reservation") not in self._reservations:
            fields["Reservation"] = ""  # it has come and gone meanwhile
        return replace(record, fields=fields)

    def _running(self) -> Iterator[Attempt]:
        yield from (was for was in self._before.values() if was.state == "running")

    def _stay(self, was: Attempt) -> Sequence[str]:
        """Return the nodes that a try has kept."""
        now = self._now.get(was.id)
        if now is None or became(was, now) is not None:
            return ()
        return [host for host in was.hosts if host in now.hosts]

    def _told(self) -> Iterator[tuple[str, list[Fate]]]:
        """Say what became of each job that ran, node by node."""
        for was in self._running():
            told = became(was, self._now.get(was.id))
            stays = self._stay(was)
            left = [host for host in was.hosts if host not in stays]
            said, why = told or ("scaled down", f"{len(was.hosts)} nodes, then {len(stays)}")
            by = self._preemptor(was) if said in ("requeued", "preempted") else None
            down = sorted({*was.hosts} & self._down)
            if by is not None:
                self._by[was.job] = by
                said, why = "preempted", f"{why}; job {by.id}, which may do that, runs there since"
            elif down and said == "requeued":
                said, why = "node gone", f"{why}; node {down[0]} is down"
            fates = []
            for host in left:
                namespace, pod, uid = was.key(host)
                name = f"{namespace}/{pod}"
                fates.append(Fate(pod=name, uid=uid, node=host, became=said, evidence=why))
            yield was.id, fates

    def _preemptor(self, victim: Attempt) -> Attempt | None:
        """Find a job that has come to a victim's nodes since and may have preempted it.

        It waited when the victim lost its nodes, and got them about then, without a boot between.
        Whoever is queued again and held was so by hand.
        """
        hosts = {*victim.hosts}
        again = self._now.get(victim.id)
        off = self._policy.of_job([victim.record]).mode == "OFF"
        if again is None or off or (again.state == "pending" and is_held(again.record)):
            return None
        lost = lost_at(victim, again)
        for name, now in self._now.items():
            if (
                now.state == "running"
                and (shared := hosts.intersection(now.hosts))
                and not _runs_on(self._before.get(name), now)
                and self._policy.may_preempt(now.record, victim.record)
                and _waited_for(now.record, lost, once=again.restarts <= victim.restarts + 1)
                and not self._booted(shared, victim.record, now.record)
            ):
                return now
        return None

    def _booted(self, hosts: Iterable[str], victim: Record, preemptor: Record) -> bool:
        """Whether a node was started anew between two jobs, so that the first ended with it."""
        began, ended = (record.time("StartTime") or "" for record in (victim, preemptor))
        return any(began < (self._boots.get(host) or "") <= ended for host in hosts)


def lost_at(was: Attempt, now: Attempt) -> str:
    """Return when a try lost its nodes: a later one is submitted then; nothing if not told."""
    key = "EndTime" if now.identity == was.identity else "SubmitTime"
    return now.record.time(key) or ""


def _waited_for(record: Record, lost: str, *, once: bool) -> bool:
    """Whether a job waited when another lost its nodes, and, if ``once``, started about then."""
    submitted, started = (record.time(key) or "" for key in ("SubmitTime", "StartTime"))
    if lost and submitted > lost:
        return False
    if not (lost and started and once):
        return True
    apart = datetime.fromisoformat(started) - datetime.fromisoformat(lost)
    return abs(apart) <= _SOON


def _reason(node: Record) -> tuple[str, str]:
    """Return why a node is drained or down, and since when where that is not told with it."""
    return node.text("Reason"), node.text("ReasonTime")


def _terms(reservation: Record) -> tuple[object, ...]:
    """Return what of a reservation says when its nodes are closed, and to whom."""
    listed = (frozenset(reservation.listed(key)) for key in ("Flags", "Users", "Accounts"))
    return _start(reservation), frozenset(reservation.hosts("Nodes")), *listed


def _start(reservation: Record) -> str:
    return reservation.time("StartTime") or ""


def _runs_on(was: Attempt | None, now: Attempt) -> bool:
    """Whether a job ran in the first dump as it does now."""
    return was is not None and was.state != "pending" and was.identity == now.identity


def _is_another(was: Attempt, now: Attempt) -> bool:
    """Whether an id is that of another job by now, and not of another try."""
    return now.identity != was.identity and now.restarts <= was.restarts


def _jobs_of(keys: frozenset[Key]) -> frozenset[tuple[str, str]]:
    """Return the jobs that pods are of."""
    return frozenset((key[0], re.split("[:+]", key[1])[0]) for key in keys)


_ENDS: Mapping[str, Became] = {
    "COMPLETED": "finished",
    "CANCELLED": "cancelled",
    "PREEMPTED": "preempted",
    "NODE_FAIL": "node gone",
    "REVOKED": "unknown",
}
"""What a state says of a job that has ended; all others are failures of its own."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """A try of a job, of a task of an array or of a component, as one dump shows it.

    Slurm gives a job that is requeued the same id, a later time of submission and one more restart.
    """

    id: str
    record: Record
    state: State

    @property
    def owner(self) -> str:
        """Namespace of the job."""
        return owner_of(self.record)

    @property
    def job(self) -> tuple[str, str]:
        """Namespace and name of the job, which components have in common."""
        return self.owner, self.id.partition("+")[0]

    @property
    def hosts(self) -> tuple[str, ...]:
        """Nodes that it holds or held."""
        return tuple(sorted(set(self.record.hosts("NodeList"))))

    @property
    def identity(self) -> tuple[str, int]:
        """What no other try of any job has."""
        return uid_of(self.record, self.id), self.restarts

    @property
    def restarts(self) -> int:
        """How often the job had been requeued before."""
        return self.record.number("Restarts")

    def key(self, host: str) -> Key:
        """Return the pod that it is on a node, named as the import names pods."""
        name = self.id if len(self.hosts) == 1 else f"{self.id}:{host}"
        return self.owner, name, uid_of(self.record, self.id)


def attempts_of(records: Records) -> dict[str, Attempt]:
    """Return the jobs of a dump by id, tasks of arrays each by themselves."""
    found = {}
    for record in map(unpinned, records.of("JobId")):
        state = state_of(record)
        for task in tasks_of(record):
            name = id_of(record, task)
            found[name] = Attempt(name, record, state)
    return found


def became(was: Attempt, now: Attempt | None) -> tuple[Became, str] | None:
    """Say what became of a try that ran; ``None``: it runs on.

    Parameters
    ----------
    was, now
        What each dump shows under its id; ``None``: nothing.
    """
    if now is None:
        return "unknown", f"job {was.id} has ended, and Slurm has forgotten how"
    if _is_another(was, now):
        return "unknown", f"{was.id} is the id of another job by now"
    if now.identity != was.identity:
        return "requeued", f"Restarts={was.restarts}, then {now.restarts}"
    if now.state == "running":
        return None
    states = now.record.flags("JobState")
    reason = now.record.text("Reason")
    told = f"JobState={'+'.join(sorted(states))}" + (f" Reason={reason}" if reason else "")
    if now.state == "pending" or "PENDING" in states:
        return "requeued", told
    ends = sorted(states - {"COMPLETING"})
    if not ends:
        return "unknown", f"{told}, not how it ends"
    return next((_ENDS[state] for state in ends if state in _ENDS), "failed"), told
