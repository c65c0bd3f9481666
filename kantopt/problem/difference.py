"""What differs between the snapshot's placement and another, as single steps.

Pods of a job that goes as a whole restart together, as soon as one of them moves.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from kantopt.problem.actions import Action, Wave
from kantopt.problem.cluster import Spot
from kantopt.problem.instance import Instance
from kantopt.problem.job import PodSet, TopologyNeed
from kantopt.problem.placement import Placement, Spots

Kind = Literal["bind", "evict", "move"]


@dataclass(frozen=True, slots=True, order=True)
class Change:
    """Pods of one pod set that are bound, evicted or moved; of a move always one pod.

    A move that is a stop-over takes the pod to a place that it leaves again.
    """

    podset: int
    source: Spot | None
    target: Spot | None
    pods: int
    stopover: bool = False

    @property
    def kind(self) -> Kind:
        """What happens to the pods."""
        if self.source is None:
            return "bind"
        return "evict" if self.target is None else "move"


def changed(placement: Placement, changes: Iterable[Action | Change]) -> Placement:
    """Return the placement after some changes."""
    found: dict[int, dict[Spot, int]] = {}
    for change in changes:  # not by ``plus``, which takes longer for as many
        spots = found.setdefault(change.podset, dict(placement.podsets[change.podset]))
        if change.source is not None:
            spots[change.source] = spots.get(change.source, 0) - change.pods
        if change.target is not None:
            spots[change.target] = spots.get(change.target, 0) + change.pods
    return placement.replace(found) if found else placement


def crossed(instance: Instance, change: Action | Change) -> list[TopologyNeed]:
    """Needs of pods that must be close and come to a domain that matters, or leave one.

    Within such a domain each of them may move by itself.
    """
    return [
        need
        for need in _needs_of(instance, instance.podsets[change.podset])
        if changes_domain(instance, change, need.required)
        or changes_domain(instance, change, need.slice_level)
    ]


def changes_domain(instance: Instance, change: Action | Change, level: int | None) -> bool:
    """Whether pods come to a domain of a level, or leave one."""
    if level is None or change.source is None or change.target is None:
        return level is not None
    domain_of = instance.topology.domain_of[level]
    return domain_of[change.source.node] != domain_of[change.target.node]


def whole_slices(instance: Instance, changes: Sequence[Action | Change]) -> bool:
    """Whether pods of one job move as whole slices, between domains that hold nothing but such.

    That is as legal with any other changes of the job done as without.
    """
    j = instance.podsets[changes[0].podset].job
    if any(c.kind != "move" or instance.podsets[c.podset].job != j for c in changes):
        return False
    for need in instance.needs_of.get(j, ()):
        own = [c for c in changes if instance.podsets[c.podset].role in need.roles]
        if any(changes_domain(instance, change, need.required) for change in own):
            return False
        if need.slice_level is None:
            continue
        domain_of, more = instance.topology.domain_of[need.slice_level], Counter[int | None]()
        for change in own:
            assert change.source is not None, "a move has one"
            assert change.target is not None, "a move has one"
            if changes_domain(instance, change, need.slice_level):
                more[domain_of[change.source.node]] -= change.pods
                more[domain_of[change.target.node]] += change.pods
        if more[None] or any(pods % need.slice_size for pods in more.values()):
            return False
        if not instance.broken_slices[need.index].isdisjoint(more):
            return False
    return True


def _needs_of(instance: Instance, podset: PodSet) -> list[TopologyNeed]:
    return [need for need in instance.needs_of.get(podset.job, ()) if podset.role in need.roles]


@dataclass(frozen=True, slots=True)
class Difference:
    """Changes by kind; moves are single pods, so that each can have its own wave."""

    evictions: tuple[Change, ...]
    moves: tuple[Change, ...]
    binds: tuple[Change, ...]


def apply(placement: Placement, waves: Iterable[Wave]) -> Placement:
    """Return the placement after some waves."""
    return changed(placement, (action for wave in waves for action in wave.actions))


def difference(instance: Instance, placement: Placement) -> Difference:
    """Return what takes the snapshot's placement to another.

    Pods of a pod set that leave and pods that arrive are paired into moves, first those that stay
    in a domain that matters; those that leave beyond are evicted. Where a job restarts as a whole,
    pods that end where they were are moves that lead nowhere else.
    """
    evictions, moves, binds = [], [], []
    whole = restarted(instance, instance.current, placement)
    for podset in instance.podsets:
        s, after = podset.index, placement.podsets[podset.index]
        if not podset.running:
            binds += [Change(s, None, spot, after[spot]) for spot in sorted(after)]
            continue
        before = podset.current
        if after is before and s not in whole:
            continue
        leave = [x for x in sorted(before) for _ in range(before[x] - after.get(x, 0))]
        arrive = [x for x in sorted(after) for _ in range(after[x] - before.get(x, 0))]
        if s in whole:
            stays = {x: min(before[x], after.get(x, 0)) for x in sorted(before)}
            moves += [Change(s, x, x, 1) for x, pods in stays.items() for _ in range(pods)]
        pairs, gone = _paired(instance, podset, leave, arrive)
        moves += [Change(s, x, y, 1) for x, y in pairs]
        evictions += [Change(s, spot, None, pods) for spot, pods in sorted(Counter(gone).items())]
    return Difference(tuple(evictions), tuple(moves), tuple(binds))


def _paired(
    instance: Instance, podset: PodSet, leave: list[Spot], arrive: list[Spot]
) -> tuple[list[tuple[Spot, Spot]], list[Spot]]:
    """Pair pods that leave with places, and say who is left.

    Within domains that matter first, the finest before all others. Whoever leaves such a domain
    goes where the next ones go, so that slices stay together.
    """
    pairs: list[tuple[Spot, Spot]] = []
    needs = _needs_of(instance, podset)
    levels = {level for need in needs for level in (need.required, need.slice_level)} - {None}
    for level in sorted((level for level in levels if level is not None), reverse=True):
        domain_of = [-1 if d is None else d for d in instance.topology.domain_of[level]]
        places: dict[int, deque[Spot]] = {}
        for spot in sorted(arrive, key=lambda spot: domain_of[spot.node]):
            places.setdefault(domain_of[spot.node], deque()).append(spot)
        rest = []
        for spot in sorted(leave, key=lambda spot: domain_of[spot.node]):
            there = places.get(domain_of[spot.node])
            if there:
                pairs.append((spot, there.popleft()))
            else:
                rest.append(spot)
        leave, arrive = rest, [spot for there in places.values() for spot in there]
    pairs += zip(leave, arrive, strict=False)
    return sorted(pairs), leave[len(arrive) :]


def restarted(instance: Instance, before: Placement, after: Placement) -> frozenset[int]:
    """Return the running pod sets of jobs that go together and of which some pod moves.

    All of their pods leave, and all of them arrive: those that end where they were as well.
    """
    found: set[int] = set()
    both = zip(before.podsets, after.podsets, strict=True)
    moving = {instance.podsets[s].job for s, (old, new) in enumerate(both) if new is not old}
    for j in moving.intersection(instance.together):
        running = instance.running_of(j)
        changed = [s for s in running if after.podsets[s] is not before.podsets[s]]
        if any(_moves(before.podsets[s], after.podsets[s]) for s in changed):
            found.update(running)
    return frozenset(found)


def _moves(old: Spots, new: Spots) -> bool:
    """Whether pods leave a spot and arrive at another."""
    comes = any(pods > old.get(spot, 0) for spot, pods in new.items())
    return comes and any(pods > new.get(spot, 0) for spot, pods in old.items())


class Numbering:
    """Ids of actions in listing order: e1, e2, ... for evictions, m1 ... moves, b1 ... binds."""

    def __init__(self) -> None:
        self._next: Counter[str] = Counter()

    def actions(self, changes: Iterable[Change]) -> tuple[Action, ...]:
        """Turn the changes of one wave into actions, equal moves merged into one."""
        merged: Counter[tuple[int, Spot | None, Spot | None, bool]] = Counter()
        for change in changes:
            merged[change.podset, change.source, change.target, change.stopover] += change.pods
        rank = {"evict": 0, "move": 1, "bind": 2}
        listed = sorted(
            (Change(s, x, y, pods, stop) for (s, x, y, stop), pods in merged.items()),
            key=lambda c: (rank[c.kind], c.podset, c.source or (), c.target or ()),
        )
        actions = []
        for change in listed:
            self._next[change.kind] += 1
            name = f"{change.kind[0]}{self._next[change.kind]}"
            actions.append(
                Action(
                    name,
                    change.kind,
                    change.podset,
                    change.pods,
                    change.source,
                    change.target,
                    change.stopover,
                )
            )
        return tuple(actions)
