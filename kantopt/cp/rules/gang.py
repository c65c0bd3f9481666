"""R4 gang."""

from __future__ import annotations

from ortools.sat.python.cp_model import IntVar

from kantopt.cp.variables import Variables, weighted
from kantopt.problem.job import Job


def add_gang(m: Variables) -> None:
    """A gang gains or loses pods only so that at least its minimum run, or none.

    Three ends are open to it: full, empty, or untouched where it stands below its minimum.
    """
    for job in m.instance.jobs:
        m.about("job", job.index)
        if job.is_gang:
            _add_ends(m, job)
        for i, role in enumerate(job.roles):
            if role.running is not None and role.pending is not None:
                loses = m.cp.new_bool_var(f"loses[{job.index},{i}]")
                wanted = m.instance.podsets[role.pending].count
                m.cp.add(m.evicted(role.running) == 0).only_enforce_if(~loses)
                m.cp.add(m.arrived(role.pending) <= wanted * (1 - loses))


def stands_short(m: Variables, job: Job) -> bool:
    """Whether some pods of a gang run, but fewer than its minimum."""
    return bool(m.instance.running_of(job.index)) and not m.before.satisfied(job)


def untouched_end(m: Variables, job: Job) -> IntVar:
    """Whether a gang below its minimum is left as it is."""
    name = f"untouched[{job.index}]"
    return m.once(("untouched", job.index), lambda: m.cp.new_bool_var(name))


def _add_ends(m: Variables, job: Job) -> None:
    j, podsets = job.index, m.instance.podsets
    full = m.satisfied(j)
    empty = m.cp.new_bool_var(f"empty[{j}]")
    ends = [full, empty]
    m.cp.add(m.role_placed(job.podsets) <= job.count * (1 - empty))
    if stands_short(m, job):
        untouched = untouched_end(m, job)
        ends.append(untouched)
        changes = weighted(
            [(m.evicted(s) if podsets[s].running else m.arrived(s), 1) for s in job.podsets]
        )
        m.cp.add(changes <= job.count * (1 - untouched))
    m.cp.add_exactly_one(ends)
