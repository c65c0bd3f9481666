"""How many pods must move so that few regions have room for the gangs: by counting.

Gangs that use so many regions beyond the fewest are in so many regions at all, and these must have
the slots that the gangs take. A slot on which pods stand that may move is there only if all of them
leave; those that leave and are not evicted have moved.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from ortools.sat.python.cp_model import CpModel, CpSolver, IntVar

from kantopt.cp.relaxed.domains import GangRelaxation
from kantopt.cp.relaxed.packing import Packing
from kantopt.cp.relaxed.settled import Settled
from kantopt.cp.relaxed.together import Together
from kantopt.cp.solver import SOLVED, bound_of
from kantopt.cp.variables import Terms, weighted


@dataclass(frozen=True, slots=True)
class Leaving:
    """Nodes with one slot more once all of some pods have left: their regions, pods by kind.

    ``slots`` are those of each region without these.
    """

    slots: Mapping[int, int]
    blocked: Mapping[int, tuple[int, Mapping[int, int]]]

    def without(self, gone: frozenset[int]) -> dict[int, int]:
        """Return the slots of each region once the pods of some nodes have left."""
        slots = dict(self.slots)
        for n in gone:
            slots[self.blocked[n][0]] += 1
        return slots

    def least(
        self,
        m: GangRelaxation,
        settled: Settled,
        priority: int | None,
        packing: Packing,
        regions: int,
        solver: CpSolver,
    ) -> tuple[int, frozenset[int]]:
        """Return a bound on moves, and the blocked nodes whose pods leave at that.

        Parameters
        ----------
        priority
            Whose moves count; ``None`` for all.
        packing
            The gangs.
        regions
            Regions that they may use.
        """
        cp = CpModel()
        cleared = {n: cp.new_bool_var(f"cleared[{n}]") for n in self.blocked}
        more: dict[int, list[int]] = {}
        for n, (region, _) in self.blocked.items():
            more.setdefault(region, []).append(n)
        held: list[IntVar] = []
        used: list[IntVar] = []
        for region in sorted(set(self.slots) | set(more)):
            base, here = self.slots.get(region, 0), more.get(region, [])
            held.append(cp.new_int_var(0, base + len(here), f"held[{region}]"))
            used.append(cp.new_bool_var(f"used[{region}]"))
            cp.add(held[-1] <= weighted([(cleared[n], 1) for n in here]) + base)
            cp.add(held[-1] <= (base + len(here)) * used[-1])
        cp.add(weighted([(var, 1) for var in held]) >= sum(packing.widths))
        cp.add(weighted([(var, 1) for var in used]) <= regions)
        cp.minimize(weighted([(var, 1) for var in self._moved(m, settled, priority, cp, cleared)]))
        if solver.solve(cp) not in SOLVED:
            return 0, frozenset(self.blocked)
        nodes = frozenset(n for n, var in cleared.items() if solver.value(var))
        return bound_of(solver), nodes

    def _moved(
        self,
        m: GangRelaxation,
        settled: Settled,
        priority: int | None,
        cp: CpModel,
        cleared: Mapping[int, IntVar],
    ) -> list[IntVar]:
        """Pods of each kind that move, of those that count."""
        found = []
        for j, kind in enumerate(m.kinds.jobs):
            if priority not in (None, kind.one.priority):
                continue
            for pods in kind.pods:
                gone: Terms = [
                    (cleared[n], here[pods.index])
                    for n, (_, here) in self.blocked.items()
                    if pods.index in here
                ]
                if gone:
                    found.append(cp.new_int_var(0, pods.count, f"moved[{pods.index}]"))
                    cp.add(found[-1] >= weighted(gone) - settled.most_lost(m, j, pods))
        return found


def leaving(m: GangRelaxation, close: Together, settled: Settled) -> Leaving:
    """Return which nodes have a slot more once pods that may move have left."""
    stays: Counter[int] = Counter()
    standing: dict[int, Counter[int]] = {}
    least: dict[int, int] = {}
    for j, kind in enumerate(m.kinds.jobs):
        for pods in kind.pods:
            each = pods.one.requests[close.r]
            if not each or pods.fixed or not pods.one.running:
                continue
            for s in pods.podsets:
                for spot, k in m.instance.podsets[s].current.items():
                    if settled.stays(m, j, pods):
                        stays[spot.node] += k * each
                    elif pods.movable:
                        standing.setdefault(spot.node, Counter())[pods.index] += k
                        least[spot.node] = min(each, least.get(spot.node, each))
    slots: Counter[int] = Counter()
    blocked: dict[int, tuple[int, Mapping[int, int]]] = {}
    for n, offer in enumerate(m.classes.offers):
        limit, region = offer.capacity[close.r], m.instance.topology.domain_of[close.level][n]
        if limit is None or region is None:
            continue
        free, here = limit - stays[n], standing.get(n, Counter())
        most = max(0, free // close.size)
        taken = sum(k * m.kinds.pods[p].one.requests[close.r] for p, k in here.items())
        now = max(0, (free - taken) // close.size)
        if now == most - 1 and max(0, (free - least[n]) // close.size) == now:
            blocked[n] = region, here
            most = now
        slots[region] += most
    return Leaving(slots, blocked)
