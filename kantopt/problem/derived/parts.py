"""A part of a question as a question of its own, and the ways there and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from kantopt.problem.cluster import Spot
from kantopt.problem.derived.renumbering import renumbered
from kantopt.problem.instance import Instance
from kantopt.problem.job import Affinity, AntiAffinity, Spread
from kantopt.problem.placement import Placement, Spots


@dataclass(frozen=True, slots=True)
class Share:
    """What of a question belongs to one part; indices of the whole, in order."""

    nodes: tuple[int, ...]
    jobs: tuple[int, ...]
    """Jobs that lie in the part with all their pods and all nodes these could go to."""
    bystanders: Mapping[int, Spots] = field(default_factory=dict)
    """Pods on the nodes that belong to jobs of which nothing can change, by pod set. Such a job
    may have more pods elsewhere."""
    quotas: frozenset[tuple[int, int]] = frozenset()
    """Queues and resources of the quotas to keep: those that can bind, whole cohorts at a time."""
    outsider: int | None = None
    """Priority of a job elsewhere for which pods of this part might be evicted."""


class Atlas:
    """What the parts of one question have in common: where to find things by job and pod set."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.needs = instance.needs_of
        self.terms: dict[int, list[AntiAffinity]] = {}
        for term in instance.anti_affinities:
            self.terms.setdefault(term.owner, []).append(term)
        self.spreads: dict[int, list[Spread]] = {}
        for spread in instance.spreads:
            self.spreads.setdefault(spread.owner, []).append(spread)
        self.affinities: dict[int, list[Affinity]] = {}
        for near in instance.affinities:
            self.affinities.setdefault(near.owner, []).append(near)


class Part:
    """A part of a question.

    Its question has the nodes, jobs and rules of its share, everything numbered anew, and the
    model, resources, levels and job mix of the whole: a tier of the whole means the same in it, so
    that parts are measured by the tiers of the whole, and one that no job of a part concerns
    is 0 there.

    Where a job elsewhere might have pods of this part evicted, the part has a job ``elsewhere``
    that stands for it, on a node of its own without room for others: one pod that runs and one
    that waits to be bound. It costs nothing in any metric, and the rule on priority takes its
    start for that of the job it stands for. Without it the part would forbid what the whole
    allows; with it the part allows what the whole does if such a job is started.
    """

    def __init__(self, atlas: Atlas, share: Share) -> None:
        self.whole = atlas.instance
        self.share = share
        self._atlas = atlas

    @cached_property
    def still(self) -> frozenset[int]:
        """Jobs of the whole of which nothing can change."""
        return frozenset(self.whole.podsets[s].job for s in self.share.bystanders)

    @cached_property
    def jobs(self) -> tuple[int, ...]:
        """Jobs of the whole in the part's order; the job elsewhere comes after."""
        return tuple(sorted((*self.share.jobs, *self.still)))

    @cached_property
    def podsets(self) -> tuple[int, ...]:
        """Pod sets of the whole in the part's order; those of the job elsewhere come after."""
        return tuple(
            s
            for j in self.jobs
            for s in self.whole.jobs[j].podsets
            if j not in self.still or s in self.share.bystanders
        )

    @cached_property
    def instance(self) -> Instance:
        """The question of the part."""
        return renumbered(self._atlas, self)

    def holds(self, placement: Placement) -> bool:
        """Whether all pods of a placement that are the part's own are on its nodes."""
        return all(
            spot.node in self.node_index
            for s in self.podsets
            if self.whole.podsets[s].job not in self.still
            for spot in placement.podsets[s]
        )

    def cut(self, placement: Placement) -> Placement:
        """Return what a placement of the whole is in the part; the job elsewhere is started.

        The placement has pods only where they could be by a legal plan.
        """
        podsets = self.whole.podsets
        spots = [
            podset.current
            if placement.podsets[s] is podsets[s].current or podsets[s].job in self.still
            else self.local(placement.podsets[s])
            for s, podset in zip(self.podsets, self.instance.podsets, strict=False)
        ]
        if self.share.outsider is not None:
            here = {Spot(len(self.share.nodes)): 1}
            spots += [here, here]
        return Placement(tuple(spots))

    def lift(self, placement: Placement, onto: list[Spots]) -> None:
        """Write a placement of the part into the spots of the whole, indexed by pod set."""
        nodes, own, podsets = self.share.nodes, self.instance.podsets, self.whole.podsets
        for i, s in enumerate(self.podsets):
            spots = placement.podsets[i]
            if spots is own[i].current:
                onto[s] = podsets[s].current
            elif podsets[s].job not in self.still:
                onto[s] = {Spot(nodes[x.node], x.devices): k for x, k in spots.items()}

    def local(self, spots: Spots) -> Spots:
        """Return spots on the part's nodes as they are numbered in the part."""
        index = self.node_index
        return {Spot(index[x.node], x.devices): k for x, k in spots.items()}

    @cached_property
    def node_index(self) -> dict[int, int]:
        """Index in the part of each of its nodes."""
        return {n: i for i, n in enumerate(self.share.nodes)}
