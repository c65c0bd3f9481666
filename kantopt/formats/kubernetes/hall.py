"""Whether devices suffice for requests of several kinds that share some: Hall's condition.

They suffice exactly if for each set of kinds no more is asked for than there are devices that any
of them accepts (Hall 1935). So a sum per set of kinds is all that needs to be kept. Most sets say
nothing that others do not say.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import combinations

Kinds = frozenset[int]

MOST_KINDS = 8
"""Kinds that share devices, directly or by way of others, and do not just lie within each other:
each set of them is looked at."""
MOST_SETS = 15
"""Sets that must be kept of such kinds: as many as any four kinds have."""


def binding_sets(groups: Collection[Kinds]) -> tuple[tuple[Kinds, ...], Kinds]:
    """Return the sets of kinds for which a sum must be kept, and the kinds that share too much.

    A set is implied by a larger one that has the same devices, and by its parts where they share
    no device. Both depend only on which devices there are, not on their number or node.

    Parameters
    ----------
    groups
        For each device the kinds that accept it; equal ones may be left out.
    """
    distinct = {group for group in groups if group}
    found: list[Kinds] = []
    excess: Kinds = frozenset()
    for kinds in _components(distinct):
        inside = [group for group in distinct if group <= kinds]
        sets = _nested(sorted(kinds), inside)
        if not sets and len(kinds) <= MOST_KINDS:
            sets = list(_needed(sorted(kinds), inside))
            sets = sets if len(sets) <= MOST_SETS else []
        if sets:
            found += sets
        else:
            excess |= kinds
    return tuple(found), excess


def _components(groups: Collection[Kinds]) -> list[Kinds]:
    """Join kinds that share devices, directly or by way of others."""
    joined: list[Kinds] = []
    for group in sorted(groups, key=sorted):
        apart = [kinds for kinds in joined if not kinds & group]
        joined = [*apart, group.union(*(kinds for kinds in joined if kinds & group))]
    return sorted(joined, key=sorted)


def _needed(kinds: list[int], groups: list[Kinds]) -> Iterator[Kinds]:
    for bits in range(1, 1 << len(kinds)):
        chosen = frozenset(kind for i, kind in enumerate(kinds) if bits >> i & 1)
        missed = [group for group in groups if not group & chosen]
        # Kinds none of whose devices are missed may as well be in it.
        closed = frozenset(kinds).difference(*missed) if missed else frozenset(kinds)
        reached = [group & chosen for group in groups if group & chosen]
        if closed == chosen and len(_components(reached)) == 1:
            yield chosen


def _nested(kinds: list[int], groups: list[Kinds]) -> list[Kinds]:
    """Return for each kind those within it, if of any two that share devices one is within.

    No other sets are needed then: of kinds that hang together one has the devices of all.
    """
    members = {
        kind: frozenset(i for i, group in enumerate(groups) if kind in group) for kind in kinds
    }
    for one, other in combinations(kinds, 2):
        shared = members[one] & members[other]
        if shared and shared != members[one] and shared != members[other]:
            return []
    within = (frozenset(k for k in kinds if members[k] <= members[kind]) for kind in kinds)
    return list(dict.fromkeys(within))
