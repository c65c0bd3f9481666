"""The whole model: variables, the rules that hold, and placements in and out of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ortools.sat.python.cp_model import (
    CpModel,
    IntVar,
    LinearExprT,
)

from kantopt.cp.around import Around, counted
from kantopt.cp.metrics import tier_expr
from kantopt.cp.rules import CONSTRAINTS
from kantopt.cp.solver import complete_hint, hint_values
from kantopt.cp.variables import Variables, weighted
from kantopt.problem.cluster import Spot
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import Tier
from kantopt.schema.model import Rule
from kantopt.verify.step import Step

_WORK = 0.1
"""Most work to complete a hint, in deterministic seconds."""


class PlacementModel:
    """All placements that the rules admit, as a CP-SAT model.

    Parameters
    ----------
    instance
        The question.
    rules
        Rules to encode; default: those that hold in the instance's model.
    forbidden
        Placements of running pods that have no legal order of moves.
    moves
        Whether running pods may move. Without moves the model is smaller, but what is proved in
        it holds only for plans without moves.
    around
        Leave everything off some nodes as it is in a placement.
    lazy
        Whether lazy constraints wait for :meth:`complete`: without them the model is smaller and
        what is proved in it holds, but a placement in it is legal only if the judge says so.
    """

    def __init__(
        self,
        instance: Instance,
        *,
        rules: Iterable[Rule] | None = None,
        forbidden: Iterable[Placement] = (),
        moves: bool = True,
        around: Around | None = None,
        lazy: bool = False,
    ) -> None:
        chosen = [rule for rule in Rule if instance.on(rule)] if rules is None else rules
        self.instance = instance
        self.variables = Variables(
            instance, frozenset(chosen), moves=moves, around=around, lazy=lazy
        )
        for rule in Rule:
            if rule in self.variables.rules:
                CONSTRAINTS[rule](self.variables)
        for placement in forbidden:
            self._forbid_moves(placement)
        self._expressions: dict[Tier, LinearExprT] = {}

    @property
    def cp(self) -> CpModel:
        """The model itself."""
        return self.variables.cp

    @property
    def lazy(self) -> bool:
        """Whether constraints are left out that may turn out to be needed."""
        return bool(self.variables.later)

    def complete(self) -> None:
        """Add the lazy constraints that are not in yet."""
        later, self.variables.later = self.variables.later, []
        for add in later:
            add()

    def expression(self, tier: Tier) -> LinearExprT:
        """Return the expression of a tier, made at the first call."""
        if tier not in self._expressions:
            self._expressions[tier] = tier_expr(self.variables, tier)
        return self._expressions[tier]

    def assignment(self, placement: Placement) -> list[tuple[IntVar, int]] | None:
        """Return the counts that say a placement; ``None`` if the model has no way to say it."""
        m = self.variables
        came = Step(self.instance, self.instance.current, placement).arrivals
        values: list[tuple[IntVar, int]] = []
        for podset in self.instance.podsets:
            s, spots = podset.index, placement.podsets[podset.index]
            arrive, use = counted(came[s])
            if not (arrive.keys() <= m.arrive[s].keys() and use.keys() <= m.use[s].keys()):
                return None
            values += [
                (var, spots.get(spot, 0) - came[s].get(spot, 0)) for spot, var in m.stay[s].items()
            ]
            values += [(var, arrive[n]) for n, var in m.arrive[s].items()]
            values += [(var, use[key]) for key, var in m.use[s].items()]
        return values

    def hint(self, placement: Placement, *, presolve: bool = True) -> None:
        """Start the next solve from a placement.

        Every variable is hinted: a solver that has to work out the rest of an incomplete hint may
        lose it. What the counts of the placement leave open takes a solve with them fixed, which is
        for presolve: to say which shapes of a mix many nodes could host takes search far longer.
        """
        hint_values(self.cp, ((x.index, value) for x, value in self.assignment(placement) or ()))
        complete_hint(self.cp, _WORK, presolve=presolve)

    def extract(self, value: Callable[[IntVar], int]) -> Placement:
        """Return the placement that a solution's values say."""
        m = self.variables
        podsets = []
        for podset in self.instance.podsets:
            s = podset.index
            spots = {spot: value(var) for spot, var in m.stay[s].items()}
            for n, var in m.arrive[s].items():
                for spot in self._spots(s, n, value(var), value):
                    spots[spot] = spots.get(spot, 0) + 1
            podsets.append({spot: pods for spot, pods in sorted(spots.items()) if pods})
        return Placement(tuple(podsets))

    def _spots(self, s: int, n: int, pods: int, value: Callable[[IntVar], int]) -> list[Spot]:
        """Give each arriving pod its devices.

        The uses of a class are written one device after the other and dealt out in rounds of one
        to each pod: no device is used more often than there are pods, so no pod gets one twice.
        """
        given: list[list[int]] = [[] for _ in range(pods)]
        if pods:
            for need in self.instance.podsets[s].devices:
                counts = self.variables.use[s]
                devices = self.instance.nodes[n].devices_of(need.device_class)
                uses = [d for d in devices if (n, d) in counts for _ in range(value(counts[n, d]))]
                for i, d in enumerate(uses):
                    given[i % pods].append(d)
        return [Spot(n, tuple(sorted(devices))) for devices in given]

    def _forbid_moves(self, placement: Placement) -> None:
        """Of the running pods, at least one count must differ from a placement."""
        m = self.variables
        running: set[int] = set()
        for podset in self.instance.podsets:
            if podset.running:
                for family in (m.stay[podset.index], m.arrive[podset.index], m.use[podset.index]):
                    running |= {var.index for var in family.values()}
        differs: list[IntVar] = []
        zeros: list[tuple[LinearExprT, int]] = []
        for var, value in self.assignment(placement) or ():
            if var.index not in running:
                continue
            if value == 0:
                zeros.append((var, 1))
                continue
            for expr in (var <= value - 1, var >= value + 1):
                answer = self.cp.new_bool_var(f"differs[{var.index},{len(differs)}]")
                self.cp.add(expr).only_enforce_if(answer)
                differs.append(answer)
        if zeros:
            answer = self.cp.new_bool_var("differs[zeros]")
            self.cp.add(weighted(zeros) >= 1).only_enforce_if(answer)
            differs.append(answer)
        self.cp.add_bool_or(differs)
