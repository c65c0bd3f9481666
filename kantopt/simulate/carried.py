"""A plan carried out on the simulated cluster, wave by wave, as far as it still stands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from kantopt.planning.document.actions import waves_of
from kantopt.planning.plan import Result
from kantopt.problem.actions import Action
from kantopt.problem.cluster import Spot
from kantopt.search.state import Change
from kantopt.simulate.floor import Floor
from kantopt.simulate.world import World


class Deed(NamedTuple):
    """What a plan does with pods of one pod set, by the numbers of the simulation."""

    kind: Literal["bind", "evict", "move"]
    job: int
    podset: int
    pods: int
    source: Spot | None
    target: Spot | None
    whose: int | None
    """Of an eviction: the job for which it is."""


Deeds = list[Deed]


def deeds_of(world: World, result: Result) -> list[Deeds]:
    """Return what a plan of a moment does, a list for each of its waves."""
    asked, index = result.instance, world.instance.job_index
    waves, problems = waves_of(asked, result.plan, "the plan")
    assert not problems, "the plan speaks of its own question"
    whose = {item.id: item.for_job for item in result.plan.evictions}

    def deed(action: Action) -> Deed:
        podset = asked.podsets[action.podset]
        j = index[asked.jobs[podset.job].name]
        role = next(r for r in world.instance.jobs[j].roles if r.name == podset.name)
        heir = index.get(whose.get(action.id) or "")
        s, pods = role.podsets[0], action.pods
        return Deed(action.kind, j, s, pods, action.source, action.target, heir)

    return [list(map(deed, wave.actions)) for wave in waves]


def carry_out(floor: Floor, deeds: Sequence[Deed]) -> None:
    """Do what a wave does: evictions, then moves and binds, job by job.

    A job whose part has become illegal, or whose pods are no longer there, is left as it is; nobody
    is evicted for one that does not wait any more.
    """
    for j, own in _by_job(deed for deed in deeds if deed.kind == "evict"):
        for_nobody = all(deed.whose is not None and deed.whose not in floor.waiting for deed in own)
        if floor.work[j].running and not for_nobody:
            _evict(floor, j, [_gone(deed) for deed in own])
    todo = list(_by_job(deed for deed in deeds if deed.kind != "evict"))
    progress = True
    while todo and progress:  # one may wait for another that it must be near
        left = [(j, own) for j, own in todo if not _place(floor, j, own)]
        progress, todo = len(left) < len(todo), left


def _by_job(deeds: Iterable[Deed]) -> Iterator[tuple[int, Deeds]]:
    found: dict[int, Deeds] = {}
    for deed in deeds:
        found.setdefault(deed.job, []).append(deed)
    yield from found.items()


def _gone(deed: Deed) -> Change:
    assert deed.source is not None, "they come from somewhere"
    return deed.podset, deed.source, deed.pods


def _evict(floor: Floor, j: int, gone: Sequence[Change]) -> None:
    """Evict pods of a job; all of it where the rest is worth nothing."""
    if any(floor.cluster.state.spots[s].get(spot, 0) < pods for s, spot, pods in gone):
        return
    rest = floor.cluster.pods(j) - sum(pods for _, _, pods in gone)
    if not rest or not floor.put(j, gone, ()):
        floor.evict(j)


def _place(floor: Floor, j: int, deeds: Sequence[Deed]) -> bool:
    moves = [deed for deed in deeds if deed.kind == "move"]
    if not floor.work[j].running and (moves or j not in floor.waiting):
        return False
    come = [(deed.podset, deed.target, deed.pods) for deed in deeds if deed.target is not None]
    return floor.put(j, [_gone(deed) for deed in moves], come)
