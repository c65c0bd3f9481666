"""First come, first served among equals: of jobs alike in all but age the oldest are placed.

No search looks at this. Jobs that nothing tells apart change places in the plan that is found: that
breaks no rule, keeps the waves and changes no value, but for that of ``waiting``, which sinks.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import fields, replace

from kantopt.problem.actions import Wave
from kantopt.problem.derived.focus import is_placed
from kantopt.problem.difference import apply
from kantopt.problem.instance import Instance
from kantopt.problem.job import Job, PodSet, TopologyNeed
from kantopt.problem.placement import Placement

_NAMED = (
    ("anti_affinities", "others"),
    ("spreads", "counted"),
    ("affinities", "anchors"),
    ("wishes", "others"),
    ("evens", "counted"),
)
"""What of an instance names pod sets, beside its owner, and in which field."""


def _fields(cls: type, *own: str) -> tuple[str, ...]:
    return tuple(field.name for field in fields(cls) if field.name not in own)


_OF_JOB = _fields(
    Job, "index", "name", "roles", "podsets", "waited_seconds", "created", "ran_seconds"
)
_OF_PODS = _fields(PodSet, "index", "job", "name")
_OF_NEED = _fields(TopologyNeed, "index", "job")


def first_come(
    instance: Instance,
    placement: Placement,
    waves: tuple[Wave, ...] = (),
    last: Placement | None = None,
) -> tuple[Placement, tuple[Wave, ...]]:
    """Return a plan in which no job waits for a younger equal.

    Equal are jobs of which all pods wait and which no rule and no metric can tell apart, but for
    how long they have waited. A job that does not say since when counts as the newest.

    Parameters
    ----------
    placement
        What answers the question.
    waves
        What leads there, and may fill left-over room as well; nothing if there is no order yet.
    last
        Where an earlier plan leads: jobs that it treats differently are not equal.
    """
    final = apply(instance.current, waves) if waves else placement
    taken = _taken(instance, final, last)
    if not taken:
        return placement, waves
    spots = {new: placement.podsets[old] for old, new in taken.items()}
    done = tuple(
        replace(
            wave,
            actions=tuple(replace(a, podset=taken.get(a.podset, a.podset)) for a in wave.actions),
        )
        for wave in waves
    )
    return placement.replace(spots), done


def _taken(instance: Instance, final: Placement, last: Placement | None) -> dict[int, int]:
    """Which pod sets give their places to which."""
    waiting = [
        job for job in instance.jobs if not any(instance.podsets[s].running for s in job.podsets)
    ]
    if len({job.created for job in waiting}) < 2:
        return {}  # all are of one age
    alike: dict[Hashable, list[Job]] = defaultdict(list)
    for job in waiting:
        alike[_kind(instance, job, last)].append(job)
    well = {job.index: _how_well(instance, job, final) for job in waiting}
    unequal = [jobs for jobs in alike.values() if len({well[job.index] for job in jobs}) > 1]
    if not unequal:
        return {}
    ties = _Ties(instance)
    taken: dict[int, int] = {}
    for jobs in unequal:
        tied: dict[Hashable, list[Job]] = defaultdict(list)
        for job in jobs:
            tied[ties.of(job)].append(job)
        for equals in tied.values():
            for giver, taker in _exchanges(equals, well):
                taken |= zip(giver.podsets, taker.podsets, strict=True)
    return taken


def _how_well(instance: Instance, job: Job, final: Placement) -> tuple[bool, int]:
    """Whether a job is placed, and with how many pods: the more the better."""
    return is_placed(instance, job.index, final), sum(map(final.placed, job.podsets))


def _exchanges(
    equals: Iterable[Job], well: Mapping[int, tuple[bool, int]]
) -> Iterator[tuple[Job, Job]]:
    """Who gives its place to whom; who is served as well as is due stays where it is."""

    def turn(job: Job) -> tuple[bool, int, tuple[int, int], int]:
        placed, pods = well[job.index]
        return job.created is None, job.created or 0, (-placed, -pods), job.index

    oldest = sorted(equals, key=turn)
    due = sorted((well[job.index] for job in oldest), reverse=True)
    changing = [
        (job, share) for job, share in zip(oldest, due, strict=True) if well[job.index] != share
    ]
    givers = defaultdict(list)
    for job, _ in changing:
        givers[well[job.index]].append(job)
    for taker, share in changing:
        yield givers[share].pop(0), taker


def _kind(instance: Instance, job: Job, last: Placement | None) -> Hashable:
    """All that rules and metrics see of a job that waits, but for what ties it to others."""
    return (
        tuple(getattr(job, name) for name in _OF_JOB),
        tuple((role.count, role.min_count) for role in job.roles),
        tuple(
            tuple(_hashable(getattr(instance.podsets[s], name)) for name in _OF_PODS)
            for s in job.podsets
        ),
        job.index in instance.required,
        job.index in instance.zone_jobs,
        last is not None and tuple(map(last.placed, job.podsets)),
    )


def _hashable(value: object) -> Hashable:
    if isinstance(value, Mapping):
        return tuple(sorted(value.items()))
    assert isinstance(value, Hashable)
    return value


class _Ties:
    """What ties jobs to others: two with the same ties may change places, and all ties hold on.

    That is so where each set of pod sets that somebody minds has pods of both or of neither, and
    both mind the same sets, or their own pods alone.
    """

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self._sets: dict[int, int] = {}
        """Number of a set by identity of its tuple: many share theirs."""
        numbers: dict[tuple[int, ...], int] = {}
        self._minds: dict[int, list[tuple[Hashable, tuple[int, ...]]]] = defaultdict(list)
        """What the pods of a pod set mind, and of whom, by owner."""
        self._minded: dict[int, set[int]] = defaultdict(set)
        """Sets that others mind which have pods of a pod set."""
        for kind, members in _NAMED:
            for tie in getattr(instance, kind):
                named: tuple[int, ...] = getattr(tie, members)
                own = () if not hasattr(tie, "owner") else instance.job_of(tie.owner).podsets
                if own:
                    how = (kind, *(getattr(tie, x) for x in _fields(type(tie), "owner", members)))
                    self._minds[tie.owner].append((how, named))
                if id(named) not in self._sets:
                    self._sets[id(named)] = numbers.setdefault(named, len(numbers))
                if not set(own).issuperset(named):
                    for s in named:
                        self._minded[s].add(self._sets[id(named)])
        self._needs: dict[int, list[Hashable]] = defaultdict(list)
        for need in instance.topology_needs:
            self._needs[need.job].append(tuple(getattr(need, name) for name in _OF_NEED))

    def of(self, job: Job) -> Hashable:
        """Return the ties of a job, told without its name."""
        return (
            tuple(frozenset(self._minded[s]) for s in job.podsets),
            tuple(
                frozenset(Counter((how, self._set(job, of)) for how, of in self._minds[s]).items())
                for s in job.podsets
            ),
            tuple(self._needs[job.index]),
        )

    def _set(self, job: Job, named: tuple[int, ...]) -> Hashable:
        """A set that a job minds; of its own pods alone, which of its roles."""
        if set(job.podsets).issuperset(named):
            return tuple(job.podsets.index(s) for s in named)
        return self._sets[id(named)]
