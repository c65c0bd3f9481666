"""What must be done in one wave: the smallest pieces that an order can be made of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from random import Random

from kantopt.problem.cluster import Spot
from kantopt.problem.difference import Change, Difference, Kind, crosses
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.schema.model import Rule
from kantopt.search.presolve import presolved
from kantopt.verify.step import Step, standing_loads
from kantopt.verify.victims.preemptors import preemptors_of

Key = tuple[str, int, int, int]
"""Something of which there is only so much.

``("node", n, 0, r)``, ``("device", n, d, r)``, ``("budget", b, 0, 0)`` or ``("job", j, 0, 0)``:
pods of a job that may be on the move together.
"""


@dataclass(frozen=True, eq=False)
class Unit:
    """Changes that belong into one wave.

    ``needs`` is what must be free before it starts, ``frees`` what is free once it is done; what
    restarting pods of the unit leave to each other is in neither.
    """

    instance: Instance
    changes: tuple[Change, ...]
    first: tuple[Unit, ...] = ()
    """What it waits for, with or without room: of a move the stop-overs that bring its pods, of a
    bind the evictions that are for it."""

    @cached_property
    def moves(self) -> int:
        """Pods that move."""
        return sum(change.pods for change in self.changes if change.kind == "move")

    @property
    def kind(self) -> Kind:
        """What happens to its pods; in one unit the same to all."""
        return self.changes[0].kind

    @cached_property
    def restarts(self) -> bool:
        """Whether all it does is to move pods that are gone before they are back."""
        return all(_restarts(self.instance, change) for change in self.changes)

    @cached_property
    def _flows(self) -> tuple[dict[Key, int], dict[Key, int]]:
        needs: Counter[Key] = Counter()
        frees: Counter[Key] = Counter()
        going: Counter[Key] = Counter()
        coming: Counter[Key] = Counter()
        for change in self.changes:
            restarting = _restarts(self.instance, change)
            for spot, sum_ in (
                (change.source, going if restarting else frees),
                (change.target, coming if restarting else needs),
            ):
                if spot is not None:
                    for key, amount in taken(self.instance, change.podset, spot):
                        sum_[key] += change.pods * amount
        for key in going.keys() | coming.keys():
            own = min(going[key], coming[key])
            if coming[key]:
                needs[key] += coming[key] - own
            if going[key] > own:
                frees[key] += going[key] - own
        if self.instance.on(Rule.DISRUPTION):
            for change in self.changes:
                restarting = _restarts(self.instance, change)
                if restarting or change.kind == "evict":
                    for b in self.instance.podsets[change.podset].budgets:
                        needs["budget", b, 0, 0] += change.pods
                        if restarting:
                            frees["budget", b, 0, 0] += change.pods
        for change in self.changes:
            job = self.instance.job_of(change.podset)
            if change.kind == "move" and job.moves_at_once is not None:
                needs["job", job.index, 0, 0] += change.pods
                frees["job", job.index, 0, 0] += change.pods
        return dict(sorted(needs.items())), dict(sorted(frees.items()))

    @property
    def needs(self) -> dict[Key, int]:
        """What must be free; 0 where its own pods make the room, so that nothing may be owed."""
        return self._flows[0]

    @property
    def frees(self) -> dict[Key, int]:
        """What is free afterwards."""
        return self._flows[1]


def _restarts(instance: Instance, change: Change) -> bool:
    return change.kind == "move" and instance.job_of(change.podset).move_mode == "restart"


def taken(instance: Instance, s: int, spot: Spot) -> Iterator[tuple[Key, int]]:
    """What one pod takes of a spot, as far as there is a limit."""
    node = instance.nodes[spot.node]
    if instance.on(Rule.CAPACITY):
        for r, amount in enumerate(instance.podsets[s].requests):
            if amount and node.capacity[r] is not None:
                yield ("node", spot.node, 0, r), amount
    if spot.devices and instance.on(Rule.DEVICES):
        for device, request in standing_loads(instance).device_requests(s, spot):
            for r, amount in enumerate(request):
                if amount:
                    yield ("device", spot.node, device, r), amount


def units_of(instance: Instance, changes: Difference) -> list[Unit]:
    """Split changes into units: evictions, then moves, then binds.

    A gang is bound in one wave, and evicted in one; pods whose closeness ties them change domains
    together, and those of a job that restarts as a whole move together.
    """
    together: dict[tuple[str, int], list[Change]] = {}
    units: list[tuple[Change, ...]] = []
    for change in (*changes.evictions, *changes.moves, *changes.binds):
        job = instance.job_of(change.podset)
        whole = ties(instance, change)
        if change.kind == "move":
            whole = whole or job.index in instance.together
        else:
            whole = whole or (instance.on(Rule.GANG) and job.is_gang) or job.all_victims
        if not whole:
            units.append((change,))
            continue
        group = together.setdefault((change.kind, job.index), [])
        if not group:
            units.append(())  # its place in the order; filled below
        group.append(change)
    groups = iter(together.values())
    return [Unit(instance, unit or tuple(next(groups))) for unit in units]


def after_evictions(instance: Instance, placement: Placement, units: Sequence[Unit]) -> list[Unit]:
    """Let binds wait for the evictions that are for them, though there be room before.

    On the victim's node if the job has pods there, else all its binds.
    """
    preemptors = preemptors_of(Step(instance, instance.current, placement))
    targets: dict[int, set[int]] = {}
    waiting: dict[tuple[int, int | None], list[Unit]] = {}
    for unit in units:
        for change in unit.changes if unit.kind == "bind" else ():
            assert change.target is not None
            targets.setdefault(instance.podsets[change.podset].job, set()).add(change.target.node)
    for unit in units:
        for change in unit.changes if unit.kind == "evict" else ():
            assert change.source is not None
            job = preemptors.of(change.podset, change.source)
            if job is not None:
                n = change.source.node
                key = job.index, n if n in targets[job.index] else None
                waiting.setdefault(key, []).append(unit)
    found = []
    for unit in units:
        first: list[Unit] = []
        for change in unit.changes if unit.kind == "bind" else ():
            assert change.target is not None
            j = instance.podsets[change.podset].job
            first += waiting.get((j, None), []) + waiting.get((j, change.target.node), [])
        found.append(replace(unit, first=tuple(dict.fromkeys(first))) if first else unit)
    return found


def paired_anew(units: Sequence[Unit], rng: Random) -> list[Unit]:
    """Shuffle who goes where among equal pods that move by themselves."""
    alike: dict[int, list[Change]] = {}
    for unit in units:
        if unit.kind == "move" and len(unit.changes) == 1:
            alike.setdefault(unit.changes[0].podset, []).append(unit.changes[0])
    drawn: dict[Change, list[Unit]] = {}
    for changes in alike.values():
        targets = rng.sample([change.target for change in changes], len(changes))
        for change, target in zip(changes, targets, strict=True):
            made = Unit(units[0].instance, (replace(change, target=target),))
            drawn.setdefault(change, []).append(made)
    return [drawn[u.changes[0]].pop() if u.changes[0] in drawn else u for u in units]


def may_step_aside(unit: Unit) -> bool:
    """Whether a unit is one pod that moves, and that nothing ties to other pods of its job."""
    if unit.first or len(unit.changes) > 1 or unit.kind != "move":
        return False
    job = unit.instance.podsets[unit.changes[0].podset].job
    return job not in close_jobs(presolved(unit.instance))


def ties(instance: Instance, change: Change) -> bool:
    """Whether closeness that a rule insists on ties a change to others of its job."""
    j = instance.podsets[change.podset].job
    return j in close_jobs(instance) and crosses(instance, change)


@lru_cache(maxsize=4)
def close_jobs(instance: Instance) -> frozenset[int]:
    """Jobs with topology needs that a rule insists on."""
    return frozenset(
        need.job
        for need in instance.topology_needs
        if (need.required is not None and instance.on(Rule.TOPOLOGY))
        or (need.slice_level is not None and instance.on(Rule.SLICES))
    )
