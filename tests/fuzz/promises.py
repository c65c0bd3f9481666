"""What a plan promised not to do, counted from its steps alone: limits, exempt pods, budgets."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from kantopt.schema.answers.plan import Goal
from tests.fuzz.plain_replay import Act, Wave
from tests.fuzz.untidy import Asked, free_of
from tests.fuzz.world import World


def broken_promises(world: World, asked: Asked, waves: list[Wave]) -> Iterator[str]:
    """What steps do that they must not, whichever state they are taken in."""
    acts = [act for wave in waves for act in wave.acts]
    moves = [act for act in acts if act.source is not None and act.target is not None]
    gone = [act for act in acts if act.target is None]
    for act in (*moves, *gone):
        job = world.jobs[act.job]
        if job.kept and asked.exempt:
            yield f"{act.job} is exempt and touched"
        if job.group and world.budgets[job.group] == 0 and (act in gone or not job.live):
            yield f"{act.job} is disturbed although its budget allows none"
    for group, allowed in world.budgets.items():
        pods = sum(act.pods for act in gone if world.jobs[act.job].group == group)
        if pods > allowed:
            yield f"{pods} pods of group {group} evicted, {allowed} allowed"
    for act in gone:
        above = [job for job in world.jobs.values() if job.priority > world.jobs[act.job].priority]
        if not any(_bound(acts, job.name) for job in above):
            yield f"{act.job} is evicted for nobody"
    limits = {"evictions": 0, **asked.limits}
    totals = {"evictions": {"": sum(act.pods for act in gone)}, **_counts(world, moves, gone)}
    for name, most in limits.items():
        for what, pods in totals.get(name, {}).items():
            if pods > most:
                yield f"{name} {what}: {pods} of {most}"


def miscounted(world: World, asked: Asked, told: Goal) -> Iterator[str]:
    """What is told wrong of free slots, where these are the first goal."""
    found = re.match(r"fragment-rate=cpu:(\d+)[^:]*(?::\+(\d+))?$", asked.goals[0])
    if found is None:
        return
    size, more = int(found[1]), found[2]
    before, after = (
        sum(free // size for free in free_of(world, where)) for where in (world.now, world.then)
    )
    missed = None if more is None else max(0, before + int(more) - after)
    if (told.before, told.after, told.missed_by) != (before, after, missed):
        yield f"{told.before}, {told.after}, {told.missed_by} told of {before}, {after}, {missed}"


def _bound(acts: list[Act], job: str) -> bool:
    return any(act.source is None and act.job == job for act in acts)


def _counts(world: World, moves: list[Act], gone: list[Act]) -> dict[str, Counter[str]]:
    found: dict[str, Counter[str]] = {
        name: Counter()
        for name in (
            "moves",
            "movesPerJob",
            "movesPerNamespace",
            "arrivalsPerNode",
            "departuresPerNode",
        )
    }
    for act in moves:
        found["moves"][""] += act.pods
        found["movesPerJob"][act.job] += act.pods
        found["movesPerNamespace"][world.jobs[act.job].namespace] += act.pods
        if act.target is not None:
            found["arrivalsPerNode"][act.target[0]] += act.pods
    for act in (*moves, *gone):
        if act.source is not None:
            found["departuresPerNode"][act.source[0]] += act.pods
    return found
