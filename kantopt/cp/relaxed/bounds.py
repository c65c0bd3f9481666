"""Proved bounds of the tiers before any search, from a relaxation that stays small."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ortools.sat.python import cp_model
from ortools.sat.python.cp_model import LinearExprT

from kantopt.clock import Deadline
from kantopt.cp.relaxed.contents import CONTENTS
from kantopt.cp.relaxed.model import Relaxation
from kantopt.cp.relaxed.tiers import expression
from kantopt.cp.solver import accepted, bound_of, search_alone, solver_of
from kantopt.problem.instance import Instance
from kantopt.problem.tiers import DISTURBING, Tier
from kantopt.verify.closeness import CLOSENESS
from kantopt.verify.metrics import bounds

WORK, SHARE, BELOW = 1.2, 0.25, 0.02
"""Deterministic seconds for all tiers, and the shares of what is left of them for one, and for one
below a tier that stays open: what is not proved by then is a matter of search."""


def relaxed_bounds(
    instance: Instance,
    tiers: Sequence[Tier],
    values: Sequence[int],
    deadline: Deadline,
    *,
    bound: Callable[[int, int], None],
    floors: Sequence[int] | None = None,
    beyond: bool = True,
    finest: bool = True,
) -> bool:
    """Prove lower bounds of tiers whose values are not proved; say if finer classes might do more.

    Nodes are merged as far as can be first, which takes milliseconds. Only what stays open then is
    asked with classes as fine as there are: where all nodes differ a little that is long in vain.

    Parameters
    ----------
    instance
        The question.
    tiers, values
        The tiers and their values in a legal plan. A bound holds for plans that are no worse than
        it in the tiers above.
    deadline
        When to stop; the tiers from there on get no bound.
    bound
        Called with the index of a tier and its bound, in the order of the tiers, for bounds that
        are better than what is known.
    floors
        Bounds of the tiers that are known; by default those of arithmetic. What they prove is not
        proved again.
    beyond
        Go on below a tier that stays open.
    finest
        Ask finer classes at all.

    Raises
    ------
    ValueError
        If no plan at all is as good as the values, which then are not those of a legal plan.
    """
    if floors is None:
        floors = bounds(instance, tiers, values)
    last = max((i for i, floor in enumerate(floors) if floor < values[i]), default=-1)
    if last < 0 or deadline.over():
        return False
    models = [_Model(instance, tiers, values, floors, coarse=True)]
    work, share, left = WORK, SHARE, False
    for i in range(last + 1):
        proved = floors[i]
        for model in models if proved < values[i] else ():  # which grows on the way
            if deadline.over():
                return left
            # What fine classes say of disturbance columns say for each node, and sooner.
            part = share if model.coarse or tiers[i].metric not in DISTURBING else BELOW
            found, spent = model.least(i, deadline, part * work)
            work -= spent
            if found is None:
                break  # nothing to say
            if found > proved:
                proved = min(found, values[i])
                bound(i, proved)
            if found >= values[i]:
                break
            if model.finest or not finest:
                left, share = left or not model.finest, BELOW
                if not beyond:
                    return left
            elif len(models) == 1:
                models.append(_Model(instance, tiers, values, floors))
    return left


class _Model:
    """A relaxation, held at values of tiers as far as the tiers below have been asked about."""

    def __init__(
        self,
        instance: Instance,
        tiers: Sequence[Tier],
        values: Sequence[int],
        floors: Sequence[int],
        *,
        coarse: bool = False,
    ) -> None:
        self._relaxation = Relaxation(instance, tiers, coarse=coarse)
        self.coarse = coarse
        self.finest = self._relaxation.classes.finest
        """Whether there is no finer one."""
        self._tiers, self._values, self._floors = tiers, values, floors
        self._held = 0
        """First tier that it is not held at."""
        self._departures = False

    def least(self, i: int, deadline: Deadline, work: float) -> tuple[int | None, float]:
        """Lower bound of a tier, ``None`` if there is none, and the work that it took."""
        relaxation, tier = self._relaxation, self._tiers[i]
        for above in range(self._held, i):
            self._hold(self._expression(above), above)
        self._held = i + 1
        expr = self._expression(i)
        if expr is None:
            return None, 0.0
        # That a sum over contents is no more than it is makes the search for the least far longer.
        late = tier.metric in CONTENTS
        if not late:
            self._hold(expr, i)
        if tier.metric in DISTURBING and not self._departures:
            self._departures = True
            relaxation.add_departures()
        relaxation.cp.minimize(expr)
        found = _least(relaxation, tier, deadline, work)
        if late:
            self._hold(expr, i)
        return found

    def _expression(self, i: int) -> LinearExprT | None:
        tier = self._tiers[i]
        if self._floors[i] >= self._values[i] and tier.metric in CLOSENESS:
            return None  # as a lock it is not worth the rows that it takes
        expr = expression(self._relaxation, tier)
        return None if isinstance(expr, int) else expr

    def _hold(self, expr: LinearExprT | None, i: int) -> None:
        if expr is not None:
            self._relaxation.cp.add(expr <= self._values[i])


def _least(
    relaxation: Relaxation, tier: Tier, deadline: Deadline, work: float
) -> tuple[int, float]:
    """Lower bound of the objective, whether or not the solver gets to its end, and its work."""
    solver = solver_of(None if deadline.deterministic else deadline.remaining(), work)
    search_alone(solver, small=True)
    cp = relaxation.cp
    if accepted(solver.solve(cp), cp, f"tier {tier.name}") == cp_model.INFEASIBLE:
        raise ValueError(f"tier {tier.name}: no plan is as good as the values given")
    return bound_of(solver), min(work, solver.deterministic_time)
