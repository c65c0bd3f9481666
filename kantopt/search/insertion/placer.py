"""Whole jobs onto the cluster: all or nothing, in the domains that their topology asks for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from kantopt.problem.job import TopologyNeed
from kantopt.problem.restricted import finest_level
from kantopt.schema.model import Rule
from kantopt.search.insertion.domains import Domains
from kantopt.search.insertion.fill import fill, fill_alike, room_for
from kantopt.search.insertion.groups import Groups
from kantopt.search.insertion.scores import Scores
from kantopt.search.shapes import MANY, Mask
from kantopt.search.strategy import Strategy
from kantopt.verify.rules.topology import domains_used

_MOST_REGIONS = 48
"""Choices of domains that are tried for one job."""


@dataclass(frozen=True, slots=True)
class Want:
    """New pods of one pod set: those without which nothing counts, and all there could be."""

    s: int
    role: int
    least: int
    most: int


@dataclass(frozen=True, slots=True)
class _Chain:
    """Levels over which the pods of one role are shared out, coarse to fine."""

    levels: tuple[int, ...]
    need: TopologyNeed | None
    slice_level: int | None
    slice_size: int
    grouped: bool
    """Whether the last level is that of groups, which nobody has asked for."""


class Placer:
    """Places jobs one by one into a state with the scores of one strategy.

    ``two_levels`` says whether E-Binpack chooses groups before nodes.
    """

    def __init__(self, scores: Scores, *, two_levels: bool = True) -> None:
        self.scores = scores
        self.state = scores.state
        instance = self.state.instance
        self.domains = Domains(instance)
        self._everywhere = np.ones(self.state.size, dtype=np.bool_)
        self.needs = instance.needs_of
        self._topology = instance.on(Rule.TOPOLOGY)
        self._slices = instance.on(Rule.SLICES)
        binpack = two_levels and scores.strategy is Strategy.E_BINPACK
        level = finest_level(instance) if binpack else None
        self._groups = None if level is None else Groups(self.state, self.domains, level)

    # -- what a job wants

    def is_gang(self, j: int) -> bool:
        """Whether a job is placed all or nothing."""
        return self.state.instance.jobs[j].is_gang and self.state.instance.on(Rule.GANG)

    def wants(self, j: int) -> list[Want]:
        """New pods by role: those below the role's minimum, and all that are still pending."""
        job = self.state.instance.jobs[j]
        found = []
        for i, role in enumerate(job.roles):
            if role.pending is None:
                continue
            most = self.state.instance.podsets[role.pending].count - self.state.placed[role.pending]
            least = max(0, role.min_count - self.state.role_placed(j, i)) if self.is_gang(j) else 0
            if most > 0:
                found.append(Want(role.pending, i, self._whole(j, i, least, most), most))
        return found

    def _whole(self, j: int, role: int, pods: int, most: int) -> int:
        """Pods rounded up to whole slices where the role has slices of its own."""
        size = self._chain(j, role).slice_size
        return min(most, -(-pods // size) * size)

    def missing(self, j: int) -> int:
        """Pods short of the job's minimum over all roles, beyond the roles' own."""
        job = self.state.instance.jobs[j]
        if not self.is_gang(j):
            return 0
        placed = sum(self.state.role_placed(j, i) for i in range(len(job.roles)))
        return max(0, job.min_count - placed)

    def runs(self, j: int) -> bool:
        """Whether no pod of the minima of a job is missing."""
        roles = enumerate(self.state.instance.jobs[j].roles)
        enough = all(self.state.role_placed(j, i) >= role.min_count for i, role in roles)
        return enough and not self.missing(j)

    def slices(self, j: int, role: int) -> tuple[int, int] | None:
        """Level in whose domains pods of a role stand in slices of their own, and their size."""
        chain = self._chain(j, role)
        return None if chain.slice_level is None else (chain.slice_level, chain.slice_size)

    def required_level(self, j: int) -> int | None:
        """Coarsest level of which the pods of a job must share a domain."""
        levels = (need.required for need in self.needs.get(j, ()) if self._topology)
        return min((level for level in levels if level is not None), default=None)

    # -- placing

    def place(self, j: int, *, within: Mask | None = None) -> bool:
        """Place a gang's minimum, or as many pods as fit of a job that is none.

        Returns whether all is placed that the job cannot do without; a gang that does not fit
        leaves no trace.
        """
        wants = self.wants(j)
        if not self.is_gang(j):
            self._place_loose(j, wants, within)
            return all(self.state.placed[want.s] == self._count(want.s) for want in wants)
        if not self._quota_allows(j, wants):
            return False
        if self._try(j, wants, within):
            return True
        if any(need.slice_level is not None for need in self.needs.get(j, ())):
            whole = [Want(w.s, w.role, w.most, w.most) for w in wants]
            return self._try(j, whole, within)
        return False

    def anywhere(self, j: int) -> bool:
        """Whether neither topology nor neighbours have a say in where a job goes."""
        return (
            j not in self.needs
            and self._groups is None
            and not any(map(self.state.neighbours.concern, self.state.instance.jobs[j].podsets))
        )

    def place_alike(self, jobs: list[int]) -> int:
        """Place jobs of a single pod that differ in nothing; return how many, the first ones."""
        return fill_alike(self.scores, [self.state.instance.jobs[j].podsets[0] for j in jobs])

    def place_more(self, j: int, *, within: Mask | None = None) -> None:
        """Place members of a gang above its minimum, as many as fit."""
        self._place_loose(j, self.wants(j), within)

    def place_some(self, j: int, s: int, pods: int, within: Mask | None) -> bool:
        """Place a number of pods of a job that is no gang, all or none of them."""
        role = self.state.instance.podsets[s].role
        return self._try(j, [Want(s, role, pods, pods)], within)

    def place_running(self, j: int, *, within: Mask) -> bool:
        """Place all pods of a running job that are nowhere, all or none of them."""
        state, podsets = self.state, self.state.instance.podsets
        short = {s: self._count(s) - state.placed[s] for s in state.instance.running_of(j)}
        wants = [Want(s, podsets[s].role, k, k) for s, k in short.items() if k]
        return self._try(j, wants, within)

    def place_on(self, s: int, n: int) -> bool:
        """Place one pod on a node if there is room and nobody minds."""
        return fill(self.scores, s, 1, self._everywhere, np.array([n])) == 1

    def _count(self, s: int) -> int:
        return self.state.instance.podsets[s].count

    def _quota_allows(self, j: int, wants: list[Want]) -> bool:
        return self.state.admits(j, [(want.s, want.least) for want in wants])

    def _try(self, j: int, wants: list[Want], within: Mask | None) -> bool:
        mark = self.state.mark()
        for masks in islice(self._regions(j, wants, within), _MOST_REGIONS):
            ordered = sorted(wants, key=lambda w: (-self._size(w.s), w.s))
            if (
                all(self._share_out(j, w, w.least, masks[w.role]) == w.least for w in ordered)
                and self._fill_up(j, ordered, masks)
                and self._legal(j)
            ):
                return True
            self.state.undo(mark)
        return False

    def _size(self, s: int) -> int:
        podset = self.state.instance.podsets[s]
        return podset.gpu_milli or sum(1 for amount in podset.demand if amount)

    def _fill_up(self, j: int, wants: list[Want], masks: dict[int, Mask]) -> bool:
        """Add pods of any role until the job's own minimum is there."""
        for want in wants:
            short = self.missing(j)
            if not short:
                break
            more = self._whole(j, want.role, short, want.most - want.least)
            self._share_out(j, want, more, masks[want.role])
        return self.missing(j) == 0

    def _place_loose(self, j: int, wants: list[Want], within: Mask | None) -> None:
        mark = self.state.mark()
        wants = [Want(want.s, want.role, 0, want.most) for want in wants]
        for masks in islice(self._regions(j, wants, within), 4):
            for want in wants:
                self._share_out(j, want, want.most, masks[want.role])
            if self._legal(j):
                return
            self.state.undo(mark)

    # -- domains

    def _regions(self, j: int, wants: list[Want], within: Mask | None) -> Iterator[dict[int, Mask]]:
        """Nodes for each role, one choice of domains after the other, the best fitting first."""
        everywhere = self._everywhere if within is None else within
        masks = {want.role: everywhere for want in wants}
        roles = set(masks)
        hard, soft = [], []
        for need in self.needs.get(j, ()):
            if need.required is not None and self._topology:
                hard.append((need, need.required))
            if len(need.roles) > 1 and need.slice_level is not None and self._slices:
                hard.append((need, need.slice_level))
            if need.preferred is not None and len(roles & set(need.roles)) > 1:
                soft.append((need, need.preferred))
        for chosen in ([*hard, *soft], hard) if soft else (hard,):
            chosen = sorted(chosen, key=lambda c: (-len(c[0].roles), c[1]))
            yield from self._nested(chosen, wants, masks)

    def _nested(
        self, needs: list[tuple[TopologyNeed, int]], wants: list[Want], masks: dict[int, Mask]
    ) -> Iterator[dict[int, Mask]]:
        if not needs:
            yield masks
            return
        (need, level), *rest = needs
        for region in self._candidates(need, level, wants, masks):
            inside = {r: m & region if r in need.roles else m for r, m in masks.items()}
            yield from self._nested(rest, wants, inside)

    def _candidates(
        self, need: TopologyNeed, level: int, wants: list[Want], masks: dict[int, Mask]
    ) -> Iterator[Mask]:
        """Domains for a need: those of its placed members, else the tightest that suffices."""
        used = self._used(need, level)
        if used:
            inside = [d for d in used if d is not None]
            if inside:
                yield np.isin(self.domains.of[level], inside)
            return
        wants = [want for want in wants if want.role in need.roles]
        if not wants:
            yield np.ones(self.state.size, dtype=np.bool_)
            return
        totals = []
        for want in wants:
            room = room_for(self.state, want.s, want.most, masks[want.role])
            chain = self._chain(need.job, want.role)
            totals.append(self.domains.rooms(level, room, chain.slice_level, chain.slice_size))
        fits = np.all([t >= w.least for t, w in zip(totals, wants, strict=True)], axis=0)
        roomy = np.all([t >= w.most for t, w in zip(totals, wants, strict=True)], axis=0)
        room = np.sum(totals, axis=0)
        gpus = self.domains.totals(level, self.state.gpus_left())
        tightness = np.where(roomy, room, -room)
        for d in np.lexsort((np.arange(len(room)), gpus, tightness, ~roomy)).tolist():
            if fits[d] and room[d] > 0:
                yield self.domains.mask(level, d)

    def _chain(self, j: int, role: int) -> _Chain:
        levels: set[int] = set()
        first: TopologyNeed | None = None
        slice_level, size = None, 1
        for need in self.needs.get(j, ()):
            if role not in need.roles:
                continue
            if need.preferred is not None:
                levels.add(need.preferred)
                first = first or need
            if need.slice_level is not None and len(need.roles) == 1 and self._slices:
                levels.add(need.slice_level)
                slice_level, size = need.slice_level, need.slice_size
                first = first or need
        groups = self._groups
        grouped = groups is not None and groups.level > max(levels, default=-1)
        if groups is not None and grouped:
            levels.add(groups.level)
        return _Chain(tuple(sorted(levels)), first, slice_level, size, grouped)

    def _share_out(self, j: int, want: Want, pods: int, mask: Mask) -> int:
        """Place pods of one role over the levels that it prefers; return how many."""
        if pods <= 0:
            return 0
        chain = self._chain(j, want.role)
        if chain.slice_level is not None and chain.need is not None:
            used = self._used(chain.need, chain.slice_level)
            broken = [d for d, k in used.items() if d is not None and k % chain.slice_size]
            of = self.domains.of[chain.slice_level]
            mask = mask & (of >= 0) & ~np.isin(of, broken)
            pods -= pods % chain.slice_size
        return self._spread(want.s, pods, mask, chain, chain.levels)

    def _spread(self, s: int, pods: int, mask: Mask, chain: _Chain, levels: tuple[int, ...]) -> int:
        if not levels:
            return fill(self.scores, s, pods, mask)
        level, left = levels[0], pods
        for _ in range(8):
            shares = self._shares(s, left, mask, chain, level)
            failed = False
            for d, share in shares:
                got = self._in_domain(s, share, mask, d, chain, levels)
                left -= got
                if got < share:
                    mask = mask & ~self.domains.mask(level, d)
                    failed = True
            if not left or not failed:
                break
        if left and chain.slice_level is None:
            left -= fill(self.scores, s, left, mask)  # nodes that lie in no domain
        return pods - left

    def _in_domain(
        self, s: int, pods: int, mask: Mask, d: int, chain: _Chain, levels: tuple[int, ...]
    ) -> int:
        """Place pods within one domain; at the level of slices, whole slices only."""
        if self._groups is not None and chain.grouped and len(levels) == 1:
            return fill(self.scores, s, pods, mask, self._groups.nodes(d))
        mask = mask & self.domains.mask(levels[0], d)
        if levels[0] != chain.slice_level:
            return self._spread(s, pods, mask, chain, levels[1:])
        mark = self.state.mark()
        while pods > 0:
            got = self._spread(s, pods, mask, chain, levels[1:])
            if got % chain.slice_size == 0:
                return got
            self.state.undo(mark)
            pods = got - got % chain.slice_size
        return 0

    def _shares(
        self, s: int, pods: int, mask: Mask, chain: _Chain, level: int
    ) -> list[tuple[int, int]]:
        """Pods for each domain: first where members are already, then the fewest others."""
        if self._groups is not None and chain.grouped and level == self._groups.level:
            return self._shares_of_groups(self._groups, s, pods, mask)
        by_node = room_for(self.state, s, pods, mask)
        room = self.domains.rooms(level, by_node, chain.slice_level, chain.slice_size)
        tie = self.domains.totals(level, self.state.gpus_left())
        if chain.slice_level is not None:
            # Of equally many slices those first that leave no room for half of one.
            tie = tie * MANY + self.domains.totals(level, by_node)
        shares = []
        if chain.need is not None:
            used = self._used(chain.need, level)
            for d in sorted((d for d in used if d is not None), key=lambda d: (-room[d], d)):
                share = min(pods, int(room[d]))
                if share:
                    shares.append((d, share))
                    pods -= share
                room[d] = 0
        if pods <= 0:
            return shares
        return shares + self.domains.fewest(level, room, pods, tie)

    def _shares_of_groups(
        self, groups: Groups, s: int, pods: int, mask: Mask
    ) -> list[tuple[int, int]]:
        """Pods for each group: first where the job is already, then as E-Binpack has it."""
        state, of = self.state, self.domains.of[groups.level]
        there = {
            int(of[spot.node])
            for own in state.instance.job_of(s).podsets
            for spot in state.spots[own]
        }
        return groups.lasting(s, pods, None if mask is self._everywhere else mask, there)

    def _used(self, need: TopologyNeed, level: int) -> dict[int | None, int]:
        """Pods of a need by domain as they are placed now."""
        return domains_used(self.state.instance, need, level, self.state.spots)

    # -- judging

    def _legal(self, j: int) -> bool:
        """Whether the job's own rules hold as it is placed now."""
        job, instance = self.state.instance.jobs[j], self.state.instance
        for need in self.needs.get(j, ()):
            if need.required is not None and self._topology:
                after = self._used(need, need.required)
                before = domains_used(instance, need, need.required, instance.current.podsets)
                if len(after) > max(1, len(before)):
                    return False
            if need.slice_level is not None and self._slices:
                after = self._used(need, need.slice_level)
                before = domains_used(instance, need, need.slice_level, instance.current.podsets)
                if any(k % need.slice_size and k != before.get(d, 0) for d, k in after.items()):
                    return False
        if not self.is_gang(j) or not any(self.state.placed[s] for s in job.podsets):
            return True
        changed = any(self.state.placed[s] for s in instance.pending_of(j))
        return not changed or self.runs(j)
