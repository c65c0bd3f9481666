"""Bounds with domains apart, and the counts at which a tier is least: something to aim at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product

from ortools.sat.python import cp_model
from ortools.sat.python.cp_model import LinearExprT

from kantopt.budget import Budget
from kantopt.cp.relaxed.domains import DomainRelaxation, GangRelaxation, few_enough
from kantopt.cp.relaxed.harm import add_reasons, add_spared, calmed, disruption, disruption_of
from kantopt.cp.relaxed.hints import Aim, aim_of, hint
from kantopt.cp.relaxed.packing import Parts
from kantopt.cp.relaxed.settled import Settled, settle
from kantopt.cp.relaxed.tiers import expression
from kantopt.cp.relaxed.ways import Way, Ways
from kantopt.cp.solver import SOLVED, accepted, bound_of, hint_solution, solver_of
from kantopt.cp.variables import weighted
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import Tier
from kantopt.schema.model import Metric
from kantopt.verify.closeness import CLOSENESS

PROVE, AIM, CALM = 0.1, 0.4, 0.1
"""Shares of the time that is left: for a tier's bound, what to aim at, and the least disruption."""
PACK, SURE = 0.3, 0.6
"""Shares for packing gangs into regions, and for a bound once it is settled who is placed."""
LEAST = 0.5
"""Seconds for one of them at least: with less a solver has hardly begun."""
CLOSE = 0.3
"""Part of that where the gap is below 1 %."""
IN_VAIN = 2
"""Times in a row that nothing came of aiming at who is placed: others have the time then."""
LATER = (*CLOSENESS, Metric.MOVES)
"""Metrics of where things are rather than which."""


@dataclass(frozen=True, slots=True)
class Best:
    """The best placement so far and its values."""

    placement: Placement
    values: tuple[int, ...]


class Towards:
    """The tiers of a question on its domain relaxation, one after the other.

    Parameters
    ----------
    known
        Returns the bound known of a tier for plans no worse than some values above it.
    bound
        Called with the index of a tier and a better bound on it.
    aim
        Called with counts that would be better in a tier; says whether a legal plan came of them.
    best
        Returns the best plan so far.
    hear
        Takes what others have found meanwhile: then it is the best plan.
    renew
        Asks for quick bounds again: those of lower tiers depend on what was found above.
    renewed
        Values at which quick bounds were asked for last.
    """

    def __init__(
        self,
        instance: Instance,
        tiers: Sequence[Tier],
        budget: Budget,
        *,
        known: Callable[[int], int],
        bound: Callable[[int, int], None],
        aim: Callable[[Aim], bool],
        best: Callable[[], Best],
        hear: Callable[[], object] = lambda: None,
        renew: Callable[[], None] = lambda: None,
        renewed: tuple[int, ...] = (),
    ) -> None:
        self._instance, self._tiers, self._budget = instance, tiers, budget
        self._known, self._bound, self._aim, self._best = known, bound, aim, best
        self._hear, self._renew, self._renewed = hear, renew, renewed
        self._in_vain = 0
        """Times in a row that nothing came of what was aimed at."""
        self._come_true = True
        """Whether plans came of all counts so far, as good as these were."""
        self._build()

    def _build(self) -> None:
        self._apart = few_enough(self._instance)
        self._settled: Settled | None = None
        self._ways: Ways | None = None
        self._locks: tuple[int, ...] = ()
        """Values of the first tiers that the models are locked at."""
        self._guides: list[GangRelaxation] = []
        self._proof: GangRelaxation | None = None
        self._write_guide(GangRelaxation)

    def _write_guide(self, kind: type[GangRelaxation]) -> None:
        guide = self._written(kind)
        add_reasons(guide)
        self._guides.append(guide)

    def _written(self, kind: type[GangRelaxation]) -> GangRelaxation:
        """Write down a relaxation, locked as those are that there are."""
        model = kind(self._instance, self._tiers)
        for i, value in enumerate(self._locks):
            self._hold(model, i, value)
        return model

    @property
    def _relaxation(self) -> GangRelaxation:
        """What bounds are proved on: with the domains apart, or merged where there are too many.

        It and its guide take far longer to write down than the guide without domains takes to
        find who might be placed: so they are not before somebody needs them.
        """
        if self._proof is None:
            kind = DomainRelaxation if self._apart else GangRelaxation
            self._proof = self._written(kind)
            if self._apart:
                self._write_guide(kind)
        return self._proof

    @property
    def _divided(self) -> tuple[DomainRelaxation, DomainRelaxation]:
        """The relaxation and the last guide, of which the domains are apart."""
        relaxation, guide = self._relaxation, self._guides[-1]
        assert isinstance(relaxation, DomainRelaxation)
        assert isinstance(guide, DomainRelaxation)
        return relaxation, guide

    def run(self, *, glance: bool = False) -> bool:
        """Work through the tiers, the first ones first.

        A plan may be found that is better above and worse below than where the models are locked
        already. What they say does not hold for it: they are built anew. At a ``glance`` only what
        is quick is asked: who might be placed, by the guide without domains, until something of it
        does not come true. Returns whether plans as good as them came of all counts.
        """
        while not self._work_through(glance):
            self._build()
        return self._come_true

    def _work_through(self, glance: bool) -> bool:
        """Go on until the end, or until the locks do not hold any more; say which."""
        for i, tier in enumerate(self._tiers):
            if not self._locks_hold():
                return False
            if tier.metric in LATER and (glance or not self._apart):
                return True
            if self._open(i) and self._best().values[:i] != self._renewed[:i]:
                self._renewed = self._best().values
                self._renew()
            if tier.metric not in LATER:
                self._search(i, self._guides[0])
            if self._open(i):
                if not glance:
                    self._look_closer(i)
                if self._in_vain >= IN_VAIN and tier.metric not in LATER and self._open(i):
                    return True
            if glance and not self._come_true:
                return True
            self._lock(i + 1)
        return True

    def _search(self, i: int, guide: GangRelaxation) -> None:
        """Aim at the least of a tier while that brings something."""
        before: tuple[int, ...] = ()
        while (
            self._tiers[i].metric is Metric.UNPLACED
            and self._in_vain < IN_VAIN
            and self._open(i)
            and self._best().values[: i + 1] != before
        ):
            before = self._best().values[: i + 1]
            self._towards(i, guide, spare=True)
        if self._in_vain < IN_VAIN and self._open(i):
            self._towards(i, guide)

    def _look_closer(self, i: int) -> None:
        """Prove a tier, and aim at what makes it less, where domains are apart if they can be."""
        tier, relaxation = self._tiers[i], self._relaxation
        expr = expression(relaxation, tier)
        if expr is None or isinstance(expr, int):
            return
        if tier.metric in LATER:
            self._locks = self._best().values[:i]  # what is settled is so of plans as good
            self._settle(i)
            if tier.metric in CLOSENESS:
                self._pack(i)
            else:
                self._count_moves(i)
            if self._open(i):  # with so much settled it is mostly proof that is missing
                self._prove(i, expr)
        if self._apart:
            self._search(i, self._guides[-1])
        if tier.metric not in LATER and self._open(i):
            self._prove(i, expr)

    def _lock(self, tiers: int) -> None:
        """Lock the models at so many tiers, unless a plan above is known by now."""
        if self._locks_hold():
            self._locks = self._best().values[:tiers]
            for model in (self._proof, *self._guides):
                if model is not None:
                    self._hold(model, tiers - 1, self._locks[-1])

    def _hold(self, model: GangRelaxation, i: int, value: int) -> None:
        expr = expression(model, self._tiers[i])
        if expr is not None and not isinstance(expr, int):
            model.cp.add(expr <= value)

    def _locks_hold(self) -> bool:
        return all(v <= lock for v, lock in zip(self._best().values, self._locks, strict=False))

    def _open(self, i: int) -> bool:
        self._hear()  # here alone: a bound holds for plans as good as when its proof began
        wanting = self._known(i) < self._best().values[i]
        return wanting and self._locks_hold() and not self._budget.deadline.over()

    def _solver(self, i: int, share: float) -> cp_model.CpSolver:
        """Return a solver with a share of the time that is left: less where little is to gain."""
        value = self._best().values[i]
        share *= 1 if value - self._known(i) > value // 100 else CLOSE
        left = self._budget.deadline.remaining()
        seconds = max(share * left, min(left, LEAST))
        # One worker alone has no neighbourhoods and finds next to nothing here.
        workers, seed = max(2, self._budget.workers), self._budget.seed % 2**31
        return solver_of(seconds, workers=workers, seed=seed)

    def _copy(self, m: GangRelaxation, i: int) -> cp_model.CpModel:
        """Copy a model for a tier; that of moves is solved by what must leave for whole gangs."""
        cp = m.cp.clone()
        if self._tiers[i].metric is Metric.MOVES and isinstance(m, DomainRelaxation):
            m.add_rounding(cp)
        return cp

    def _prove(self, i: int, expr: LinearExprT) -> None:
        """Bound a tier from below; of where things are also aim at the counts that are found."""
        value, known = self._best().values[i], self._known(i)
        hint(self._relaxation, self._best().placement)
        cp = self._copy(self._relaxation, i)
        # Not for good: what is known of the tier need not hold for the expression.
        cp.add(expr >= known)
        cp.add(expr <= value)
        cp.minimize(expr)
        solver = self._solver(i, PROVE if self._settled is None else SURE)
        status = accepted(solver.solve(cp), cp, f"tier {self._tiers[i].name}")
        if status == cp_model.INFEASIBLE:
            if known:
                return  # more than the expression says of any plan, such as of power that GPUs draw
            raise ValueError(f"tier {self._tiers[i].name}: no plan is as good as the best known")
        least = bound_of(solver)
        if least > known:
            self._bound(i, min(least, value))
        if status in SOLVED and self._tiers[i].metric in LATER and solver.objective_value < value:
            self._take_calmly(i, self._relaxation, expr, solver)

    def _settle(self, i: int) -> Settled:
        """Find out what plans this good above a tier have in common, and say it to the models."""
        if self._settled is None:
            merged = GangRelaxation(self._instance, self._tiers)
            for above, value in enumerate(self._best().values[:i]):
                self._hold(merged, above, value)
            deadline = self._budget.deadline
            until = deadline.share(PACK)
            self._settled = settle(merged, self._best().placement, until)
            for m in (self._relaxation, *self._guides):
                self._settled.apply(m, m.cp)
        return self._settled

    def _pack(self, i: int) -> None:
        """Pack the gangs of a tier as closely as can be, and aim at that.

        Where a way is beyond what its packing says, the next best has its turn.
        """
        tier, deadline = self._tiers[i], self._budget.deadline
        ways, until = self._ways_left(i), deadline.share(PACK)
        pack, calm = (partial(self._solver, i, share) for share in (PACK, CALM))
        again = True
        while again:
            found = ways.closest(tier, pack, calm, until.over)
            for m in self._divided:
                ways.bound_spread(m, tier, found.packed)
            least, value = tier.above_target(found.least), self._best().values[i]
            if least > value:
                raise ValueError(f"tier {tier.name}: gangs that are certainly placed take {least}")
            if least > self._known(i):
                self._bound(i, least)
            if found.way is not None and found.way.close:
                # Without a reason for each victim there are more counts, and fewer come true.
                for m, loosely in product(reversed(self._divided), (False, True)):
                    if self._open(i):
                        self._aim_at(i, m, found.way, found.parts, loosely=loosely)
            again = self._open(i) and not until.over() and self._is_beyond(i, ways.lowest(tier))

    def _is_beyond(self, i: int, way: Way) -> bool:
        """Whether no counts of pods are as close in a way as its bound, which is raised then."""
        m = self._divided[0]
        spread, cp = weighted(way.spread(m)), way.model(m)
        if isinstance(spread, int):
            return False
        cp.add(spread <= way.packed)
        solver = self._solver(i, PACK)
        status = accepted(solver.solve(cp), cp, f"tier {self._tiers[i].name}")
        if status in SOLVED:
            self._take_calmly(i, m, spread, solver)
        way.packed += status == cp_model.INFEASIBLE
        return bool(status == cp_model.INFEASIBLE)

    def _aim_at(
        self, i: int, m: DomainRelaxation, way: Way, parts: Sequence[Parts], *, loosely: bool
    ) -> None:
        """Aim at packings in a way: at these parts, or at as many domains as they have."""
        cp = way.model(m)
        for close, its in zip(way.close, parts, strict=True):
            (close.aim_loosely if loosely else close.aim)(m, cp, its)
        cp.minimize(disruption(m))
        solver = self._solver(i, AIM if loosely else CALM)
        if accepted(solver.solve(cp), cp, f"tier {self._tiers[i].name}") in SOLVED:
            self._take(m, solver)

    def _count_moves(self, i: int) -> None:
        """Bound moves by what the closeness that is locked above takes."""
        ways = self._ways_left(i)
        for above, value in zip(self._tiers[:i], self._best().values, strict=False):
            if above.metric in CLOSENESS and self._open(i):
                solver = partial(self._solver, i, CALM)
                least = ways.fewest_moves(self._tiers[i], above, value, solver)
                least = self._tiers[i].above_target(least)
                if least > self._known(i):
                    self._bound(i, min(least, self._best().values[i]))

    def _ways_left(self, i: int) -> Ways:
        """Return the ways in which gangs may go, without those that are worse above a tier."""
        if self._ways is None:
            self._ways = Ways(self._divided[0], self._settle(i))
        for above, value in zip(self._tiers[:i], self._best().values, strict=False):
            if above.metric in CLOSENESS:
                self._ways.rule_out(above, value)
        return self._ways

    def _towards(self, i: int, guide: GangRelaxation, *, spare: bool = False) -> None:
        """Aim at the least of a tier, with as little disruption as that takes.

        With ``spare`` no more is evicted than now of what the tier counts and of more important
        pods: then the priority rule is easily kept.
        """
        expr = expression(guide, self._tiers[i])
        if expr is None or isinstance(expr, int):
            return
        value = self._best().values[i]
        hint(guide, self._best().placement)
        cp = self._copy(guide, i)
        cp.add(expr >= self._known(i))
        cp.add(expr <= value)
        if spare:
            add_spared(guide, cp, self._best().placement, self._tiers[i].priority)
        cp.minimize(expr)
        solver, in_vain = self._solver(i, AIM), self._in_vain
        self._in_vain += self._tiers[i].metric not in LATER
        solved = solver.solve(cp) in SOLVED
        self._come_true &= solved
        if not solved:
            return
        aimed_at = round(solver.objective_value)
        if aimed_at >= value:
            self._in_vain = in_vain
            return
        cp.add(expr <= aimed_at)
        hint_solution(cp, solver)
        harm = disruption(guide)
        cp.minimize(harm)
        again = self._solver(i, CALM)
        calm = again.solve(cp) in SOLVED
        # Else pods would go by the thousand that need not.
        taken = calm or solver.value(harm) <= disruption_of(guide, self._best().placement)
        if taken and self._take(guide, again if calm else solver):
            self._in_vain = 0
        self._come_true &= self._best().values[i] <= aimed_at

    def _take_calmly(
        self, i: int, m: GangRelaxation, expr: LinearExprT, solver: cp_model.CpSolver
    ) -> None:
        """Take a solution, after those who run have gone back as far as it lets them."""
        if self._tiers[i].metric is not Metric.MOVES:
            cp, solver = calmed(m, expr, solver), self._solver(i, AIM)
            if accepted(solver.solve(cp), cp, f"tier {self._tiers[i].name}") not in SOLVED:
                return
        self._take(m, solver)

    def _take(self, m: GangRelaxation, solver: cp_model.CpSolver) -> bool:
        return self._aim(aim_of(m, solver))
