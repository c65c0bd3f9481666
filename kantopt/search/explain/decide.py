"""Can a job be placed, and at what least disturbance? A plan, a proof that there is none, or open.

The cheap ways first: hold everything but the job, which decides where nothing may be disturbed and
proves impossibility where all that may leave is gone, by counting where that is exact and else by
a solve; construct a plan; solve the whole question where it is small.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from itertools import takewhile

from kantopt.budget import Budget
from kantopt.clock import Deadline
from kantopt.cp.model import PlacementModel
from kantopt.cp.reach import least_disturbance, reach, relaxed_impossible
from kantopt.cp.solve import solve_tiers
from kantopt.problem.actions import Wave
from kantopt.problem.derived.classes import merge_pods
from kantopt.problem.derived.condensed import condensed
from kantopt.problem.derived.focus import is_placed, with_model
from kantopt.problem.freedom import freedom_of
from kantopt.problem.instance import Instance
from kantopt.problem.job import PodSet
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import Tier, tiers_of
from kantopt.schema.model import Metric, Rule
from kantopt.schema.rule_kinds import ARRIVAL_RULES
from kantopt.search.construct import How, construct
from kantopt.search.engine.incumbent import Incumbent
from kantopt.search.explain.counting import Counting, countable, nobody
from kantopt.search.explain.displace import displacements
from kantopt.search.homecoming import sent_home
from kantopt.search.order.sequence import sequence
from kantopt.search.strategy import Strategy
from kantopt.search.tidy.vacate import compacted
from kantopt.shares import LEAST_DISTURBANCE, LEAST_DISTURBANCE_LEFT, LESS_DISTURBANCE
from kantopt.verify.metrics import measure
from kantopt.verify.rules import check

SMALL = 12_000
"""Pairs of a pod set and a node that it may go to; up to here questions are solved as they are."""
LARGE = 100_000
"""Up to here they are solved with interchangeable pods counted together."""


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether a job can be placed: a plan, a proof that there is none, or neither.

    Attributes
    ----------
    placement, waves
        A legal plan that places the job, if one was found.
    impossible
        There provably is no legal plan that does.
    least
        No plan disturbs less: in cost of evictions, the highest priority of a victim first, then in
        pods moved.
    weighed
        Nor does any that disturbs as little lose less work, displace less, or move less important
        pods.
    """

    placement: Placement | None = None
    waves: tuple[Wave, ...] = ()
    impossible: bool = False
    least: bool = False
    weighed: bool = False


def is_small(
    question: Instance, rules: Collection[Rule] | None = None, *, most: int = SMALL
) -> bool:
    """Whether a question can be solved as a whole in moments, under all its rules or some."""
    may = freedom_of(question, rules)
    pairs = sum(len(question.nodes) for podset in question.podsets if may.arrives(podset.index))
    return pairs + len(question.podsets) <= most


def still(question: Instance) -> bool:
    """Whether nothing that runs may be disturbed."""
    return question.model.limits.evictions == 0 and question.model.limits.moves == 0


def decide(question: Instance, j: int, deadline: Deadline, *, any_plan: bool = False) -> Decision:
    """Decide whether a job can be placed.

    Parameters
    ----------
    question
        The question about this job alone, under the limits of what may be done for it.
    deadline
        When to end without an answer.
    any_plan
        Of a large question the first plan will do, and none is no news.
    """
    if still(question):
        return decide_still(question, j, deadline)
    if _impossible_at_best(question, j, deadline):
        return Decision(impossible=True)
    found = _constructed(question, j, deadline)
    if not is_small(question):
        found = _compacted(question, j, found, deadline)
        found = _displaced(question, j, found, deadline)
    if deadline.over():
        return found or Decision()
    if is_small(question):
        exact = _exact(question, j, deadline)
    elif any_plan:
        exact = Decision()
    else:
        exact = _merged(question, j, found, deadline)
    if exact.impossible or exact.placement is not None:
        return exact
    return found or Decision()


def _merged(question: Instance, j: int, found: Decision | None, deadline: Deadline) -> Decision:
    """Solve a large question with pods counted together, or prove what merged nodes prove.

    Whoever is evicted in vain could be put back, so that the fewest evictions are for a reason:
    the rule on reasons is left to the judge, and pods that may be moved or evicted can be merged.
    """
    if found is None and relaxed_impossible(question, deadline):
        return Decision(impossible=True)
    merged = merge_pods(_loosened(question, j))
    left, tiers = deadline.remaining(), _DISTURBANCE
    few = found is not None and sum(_cost(question, found.placement, tiers)) <= _FEW
    quickly = few and left < LEAST_DISTURBANCE_LEFT
    if not is_small(merged.instance, most=SMALL if quickly else LARGE):
        return Decision()
    least, share, most = LESS_DISTURBANCE if few else LEAST_DISTURBANCE
    soon = deadline.at_most(min(most, max(least, share * left)))
    answer, fewest = least_disturbance(merged.instance, tiers, soon)
    if answer.placement is None:
        return Decision(impossible=answer.impossible)
    placement = merged.expand(answer.placement)
    if found is not None and _cost(question, found.placement, tiers) <= _cost(
        question, placement, tiers
    ):
        return found
    plan = legal_plan(question, j, placement)
    if plan is None:
        return Decision()
    # Evictions were added up; where victims of several priorities are to be had that is no order.
    ordered = not _cost(question, placement, tiers)[0] or len(dict(victims(question, j))) < 2
    return replace(plan, least=fewest and ordered)


def victims(question: Instance, j: int) -> frozenset[tuple[int, int]]:
    """Return the priorities of pods that may be evicted for a job, with what one of them costs."""
    may = freedom_of(question)
    return frozenset(
        (question.job_of(podset.index).priority, podset.disruption_cost)
        for podset in question.podsets
        if may.gives_way(podset.index, j)
    )


def _compacted(
    question: Instance, j: int, found: Decision | None, deadline: Deadline
) -> Decision | None:
    """Return a plan that empties nodes elsewhere for those who make way, if that is less."""
    start = None
    if question.model.limits.moves != 0:
        start = compacted(question, [question.jobs[j]], deadline.cuts)
    if start is None:
        return found
    other = _constructed(question, j, deadline, start)
    if found is None or other is None:
        return found or other
    return min(found, other, key=lambda plan: _cost(question, plan.placement, _DISTURBANCE))


def _displaced(
    question: Instance, j: int, found: Decision | None, deadline: Deadline
) -> Decision | None:
    """Return a plan that moves and evicts only what is on the job's own nodes, if that is less."""
    tiers = _DISTURBANCE
    for placement in displacements(question, j):
        better = found is None or (
            _cost(question, placement, tiers) < _cost(question, found.placement, tiers)
        )
        if deadline.over():
            break
        if better:
            found = legal_plan(question, j, placement) or found
    return found


def disturbing(question: Instance) -> tuple[Tier, ...]:
    """Return the tiers by which one plan disturbs less than another: evictions, then moves."""
    return tuple(
        tier
        for tier in tiers_of(question)
        if tier.metric is Metric.EVICTIONS
        or (tier.metric is Metric.MOVES and tier.priority is None)
    )


_FEW = 8
"""Evictions and moves of a plan beside which a better one is not worth long a search."""
_DISTURBANCE = (Tier(Metric.EVICTIONS, "cost"), Tier(Metric.MOVES, "pods"))


def _cost(
    question: Instance, placement: Placement | None, tiers: tuple[Tier, ...]
) -> tuple[int, ...]:
    assert placement is not None
    return measure(question, placement, tiers)


def _loosened(question: Instance, j: int) -> Instance:
    """Return the question with evictions for no other reason than that they are allowed."""
    rules = question.model.rules.model_copy(update={"priority": "counts"})
    podsets = tuple(
        replace(
            podset,
            preemptible=podset.preemptible and question.may_evict_for(j, podset.job),
        )
        if podset.running
        else podset
        for podset in question.podsets
    )
    return replace(with_model(question, rules=rules), podsets=podsets)


def decide_still(question: Instance, j: int, deadline: Deadline, *, tidy: bool = True) -> Decision:
    """Decide whether a job can be placed where nothing may be disturbed.

    Then the question about the job beside all else is the whole one. ``tidy``: take a place that
    suits the job, not just any.
    """
    found: Decision | None = None
    if countable(question, j):
        counted = Counting(question, j).placed(_on(question))
        if counted is None:
            return Decision(impossible=True)
        found = _constructed(question, j, deadline) if tidy else None
        found = found or legal_plan(question, j, counted)
        if found is not None:
            return replace(found, least=True)
    small = condensed(question, j, nobody)
    rules = [rule for rule in _on(question) if rule is not Rule.PRIORITY]
    answer = reach(small.instance, 0, rules, deadline)
    if answer.impossible:
        return Decision(impossible=True)
    # Heuristics know where a job sits well; the solver was asked only whether it does anywhere.
    found = _constructed(question, j, deadline) if tidy else None
    if found is None and answer.placement is not None:
        found = legal_plan(question, j, small.lift(answer.placement, nobody))
    return Decision() if found is None else replace(found, least=True)


def _on(question: Instance) -> list[Rule]:
    return [rule for rule in Rule if question.on(rule)]


def _impossible_at_best(question: Instance, j: int, deadline: Deadline) -> bool:
    """Whether the job has no place even if all pods that may leave were gone."""
    rules = [rule for rule in _on(question) if rule not in (Rule.PRIORITY, Rule.LIMITS)]
    gone = freedom_of(question).may_leave_for(j)
    if countable(question, j):
        counting = Counting(question, j)
        return not counting.fits(rules, gone) or counting.too_much(_on(question))
    return reach(condensed(question, j, gone).instance, 0, rules, deadline).impossible


def _constructed(
    question: Instance, j: int, deadline: Deadline, start: Placement | None = None
) -> Decision | None:
    limits = question.model.limits
    placement = construct(
        question,
        deadline,
        How(
            Strategy.BEST_FIT,
            preempt=limits.evictions != 0,
            relocate=limits.moves != 0,
            start=start,
        ),
    )
    if start is not None:
        placement = sent_home(question, placement)
    return legal_plan(question, j, placement)


def legal_plan(question: Instance, j: int, placement: Placement) -> Decision | None:
    """Return the plan that a placement makes if it places the job, breaks no rule and has an order.

    The judge has the last word, on the placement and on every step of the plan.
    """
    if not is_placed(question, j, placement) or check(question, placement):
        return None
    waves = sequence(question, placement)
    return None if waves is None else Decision(placement, waves)


def _exact(question: Instance, j: int, deadline: Deadline) -> Decision:
    """Find the least disturbance that places the job; of a target without an order, others."""
    forbidden: list[Placement] = []
    tiers = tiers_of(question)
    while not deadline.over() and len(forbidden) < _TARGETS:
        model = PlacementModel(question, forbidden=forbidden)
        best = Incumbent(question, tiers, question.current)
        if solve_tiers(model, Budget(deadline, workers=1), best, closed=best.closed):
            return Decision(impossible=not forbidden)
        if best.missing:
            return Decision()
        plan = legal_plan(question, j, best.placement)
        if plan is not None:
            proved = [] if forbidden else _proved(best)
            ends = len(disturbing(question))
            last = max((i for i, t in enumerate(tiers) if t.metric in _WEIGHED), default=-1)
            return replace(plan, least=len(proved) >= ends, weighed=len(proved) > last)
        forbidden.append(best.placement)
    return Decision()


_WEIGHED = (Metric.EVICTIONS, Metric.MOVES, Metric.LOST_GPU_SECONDS, Metric.DISPLACED)
"""What tells apart plans by whom they disturb."""


def _proved(best: Incumbent) -> list[Tier]:
    """First tiers in which the best is proved to be as good as any."""
    rows = zip(best.tiers, best.floors, best.values, strict=True)
    return [tier for tier, _, _ in takewhile(lambda row: row[1] >= row[2], rows)]


_TARGETS = 8
"""Targets without an order of moves that are given up before the question is left open."""


def on_empty(question: Instance, j: int, deadline: Deadline, *, spread: bool = True) -> Decision:
    """Decide whether a job could be placed if nothing else ran but daemons, quota left aside.

    Its placement is that of the job alone; there is no plan that leads there. Pods that it has to
    be near need not run; without ``spread`` nor those that would balance domains.
    """

    def gone(podset: PodSet) -> bool:
        return podset.job != j and not podset.daemon

    rules = [r for r in _OWN if question.on(r) and (spread or r is not Rule.SPREAD)]
    if countable(question, j):
        counted = Counting(question, j).placed(rules, gone)
        return Decision(counted, impossible=counted is None)
    small = condensed(question, j, gone, empty=True)
    answer = reach(small.instance, 0, rules, deadline)
    placement = None if answer.placement is None else small.lift(answer.placement, gone)
    return Decision(placement, impossible=answer.impossible)


_OWN = tuple(rule for rule in ARRIVAL_RULES if rule not in (Rule.QUOTA, Rule.AFFINITY))
"""Rules that a job meets on an empty cluster."""
