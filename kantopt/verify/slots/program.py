"""One tier to be minimised over what nodes could hold, with the tiers above it as inequalities.

Rules other than those on the room of the pieces are left out: what is proved of more plans holds
for the legal ones.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from math import gcd

from kantopt.problem.instance import Instance
from kantopt.problem.job import PodSet
from kantopt.problem.tiers import Tier
from kantopt.schema.model import Metric, Rule
from kantopt.verify.bounds.departures import evictable, may_move
from kantopt.verify.metrics.fragment_rate import slots_offered
from kantopt.verify.slots.pieces import Ask, Pieces, pieces_of
from kantopt.verify.slots.rows import Row, limit_rows, name_of, none_of, tier_row


@dataclass(frozen=True, slots=True)
class Kind:
    """Interchangeable pods.

    Attributes
    ----------
    name
        Of its rows in a witness.
    podsets
        Pod sets whose pods are of the kind.
    allowed
        Nodes that its pods may arrive on; none if they may not move.
    count, least
        Pods that there are, and that stay placed in every plan.
    arrival, missing
        What a pod that arrives, or is not placed, adds to each row.
    """

    name: str
    podsets: tuple[int, ...]
    ask: Ask
    allowed: frozenset[int]
    count: int
    least: int
    arrival: tuple[int, ...]
    missing: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Program:
    """Sums over pods and pieces: row 0 is minimised, each other row is at most its limit.

    A piece adds ``lacking`` of its free amount to each row, times the row's weight. Where slots are
    counted from the same number in every plan, that is less its slots; else what is free beyond
    whole slots. Where nodes in use are counted each that is in use adds one.
    """

    instance: Instance
    tier: Tier
    """Of slots, or of nodes in use."""
    minimised: Tier
    pieces: Pieces
    kinds: tuple[Kind, ...]
    weights: tuple[int, ...]
    """Of what pieces lack, by row."""
    limits: tuple[int, ...]
    names: tuple[str, ...]
    """Of the rows."""
    grain: int
    """Largest amount that divides a slot and all that can be free."""
    ideal: int | None
    """What slots are counted from, if the same in every plan."""

    @property
    def slot(self) -> int:
        """Amount of a slot, or of the largest node."""
        if self.tier.metric is Metric.FRAGMENT_RATE:
            return self.tier.size
        rooms = (piece.room[0] for node in self.pieces.of_node for piece in node)
        return self.pieces.unit * max(1, max(rooms, default=0))

    def lacking(self, free: int) -> int:
        """Return what a piece with so much free adds to the tier of slots."""
        if self.ideal is not None:
            return -(free // self.tier.size)
        return free % self.tier.size // self.grain

    def value(self, least: int) -> int:
        """Return what the minimised tier is at least if row 0 is."""
        if not self.weights[0]:
            return self.minimised.above_target(least)
        if self.ideal is not None:
            return self.minimised.above_target(self.ideal + least)
        return self.minimised.above_target(least // (self.tier.size // self.grain))


_COUNTED = (Metric.FRAGMENT_RATE, Metric.NODES_IN_USE)


def program_of(
    instance: Instance, tiers: Sequence[Tier], values: Sequence[int | None], t: int
) -> Program | None:
    """Return the program of tier ``t`` for plans no worse than ``values`` above it.

    Where a value is ``None`` nothing is taken for granted of that tier.
    ``None`` if there is no tier of slots or of nodes in use up to ``t``, if ``t`` is no sum over
    pods, or if the pieces are such that :func:`pieces_of` gives none.
    """
    slots = next((x for x in tiers[: t + 1] if x.metric in _COUNTED), None)
    pieces = None if slots is None else pieces_of(instance, slots)
    if slots is None or pieces is None:
        return None
    beyond = (piece.beyond for node in pieces.of_node for piece in node)
    grain = gcd(slots.size, pieces.unit, *beyond)
    ideal = _ideal(instance, slots, pieces)
    rows, told = [], []
    for i, tier in enumerate(tiers[: t + 1]):
        value = tier.most(values[i] or 0)
        if tier == slots:
            most = value - ideal if ideal is not None else (value + 1) * (slots.size // grain) - 1
            row: Row | None = Row(none_of, none_of, most, name_of(tier), 1)
        else:
            row = tier_row(instance, tier, value)
        if row is None:
            if i == t:
                return None
            continue
        told.append(row)
        if values[i] is not None or i == t:
            rows.append(row)
    rows = [rows[-1], *rows[:-1], *limit_rows(instance)]
    return Program(
        instance=instance,
        tier=slots,
        minimised=tiers[t],
        pieces=pieces,
        kinds=_kinds(instance, pieces, rows, [*told, *rows]),
        weights=tuple(row.pieces for row in rows),
        limits=tuple(row.limit for row in rows),
        names=tuple(row.name for row in rows),
        grain=grain,
        ideal=ideal,
    )


def _kinds(
    instance: Instance, pieces: Pieces, rows: Sequence[Row], told: Sequence[Row]
) -> tuple[Kind, ...]:
    """Return pods that add the same to each row ``told``.

    Rows of tiers that are not taken for granted are among them: kinds, and so the names of their
    rows, are the same whatever a witness depends on.
    """
    lost = evictable(instance)
    groups: dict[Hashable, list[PodSet]] = {}
    for s, ask in pieces.asks.items():
        podset = instance.podsets[s]
        adds = tuple((row.arrival(podset), row.missing(podset)) for row in told)
        stays = podset.running and s not in lost
        key = (podset.running, ask, stays, _allowed(instance, podset), adds)
        groups.setdefault(key, []).append(podset)
    kinds = []
    for members in groups.values():
        first = members[0]
        count = sum(podset.count for podset in members)
        kinds.append(
            Kind(
                name=_name(instance, first),
                podsets=tuple(podset.index for podset in members),
                ask=pieces.asks[first.index],
                allowed=_allowed(instance, first),
                count=count,
                least=count if first.running and first.index not in lost else 0,
                arrival=tuple(row.arrival(first) for row in rows),
                missing=tuple(row.missing(first) for row in rows),
            )
        )
    return tuple(kinds)


def _name(instance: Instance, podset: PodSet) -> str:
    name = f"pods {instance.job_of(podset.index).name}/{podset.name}"
    return f"{name} running" if podset.running else name


def _allowed(instance: Instance, podset: PodSet) -> frozenset[int]:
    if podset.running and not may_move(instance, podset):
        return frozenset()
    return (
        podset.allowed if instance.on(Rule.ELIGIBILITY) else frozenset(range(len(instance.nodes)))
    )


def _ideal(instance: Instance, tier: Tier, pieces: Pieces) -> int | None:
    """Slots in all that is free of the pieces that count, if that is the same in every plan.

    So if no pod can be evicted or bound, none comes to or leaves a node that does not count, and no
    piece that counts is overfull. Or if it is not what is free that slots are counted from. Nodes
    in use are counted from 0.
    """
    if tier.metric is Metric.NODES_IN_USE:
        return 0
    if tier.of_capacity:
        return slots_offered(tier, instance)
    lost = evictable(instance)
    if any(s in lost or not instance.podsets[s].running for s in pieces.asks):
        return None
    counts = [all(piece.counts for piece in node) for node in pieces.of_node]
    outside = {n for n, does in enumerate(counts) if not does}
    for s in pieces.asks if outside else ():
        podset = instance.podsets[s]
        if may_move(instance, podset):
            on = {spot.node for spot in podset.current}
            if not (outside.isdisjoint(on) and outside.isdisjoint(_allowed(instance, podset))):
                return None
    free = 0
    for node, does in zip(pieces.of_node, counts, strict=True):
        if does:
            if any(piece.beyond < 0 for piece in node):
                return None
            free += sum(piece.beyond + pieces.unit * piece.room[0] for piece in node)
    for s, ask in pieces.asks.items():
        for spot, pods in instance.podsets[s].current.items():
            if counts[spot.node]:
                free -= pieces.unit * pods * ask.width * ask.request[0]
    return free // tier.size
