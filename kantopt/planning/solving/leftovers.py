"""What a plan leaves over of victims' room is filled last, by a question of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kantopt.problem.actions import Action, Wave
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import tiers_of
from kantopt.schema.model import Rule
from kantopt.search.cascade import evicts
from kantopt.verify.replay import replay

if TYPE_CHECKING:
    from kantopt.planning.solving.run import Run


def with_leftovers(run: Run, placement: Placement, waves: tuple[Wave, ...]) -> tuple[Wave, ...]:
    """Add a wave of pending pods that fit into what a plan with victims leaves over.

    While victims are chosen, their room is kept from jobs that may not evict them. Once it is
    settled who goes, nothing is gained by leaving it empty: with the plan done and nobody evicted
    or moved any more, the fast path places what waits. The wave comes after all others.
    """
    instance = run.instance
    if not (instance.strict and evicts(instance, placement) and _waits(instance, placement)):
        return waves
    deadline = run.filling
    if deadline.cuts():
        return waves
    from kantopt.problem.derived.aftermath import leftover_question
    from kantopt.search.engine.incumbent import Incumbent
    from kantopt.search.portfolio import run_portfolio

    question, pending_of = leftover_question(instance, placement)
    best = Incumbent(question, tiers_of(question), question.current)
    run_portfolio(best, deadline, run.options.strategies, seed=run.options.seed)
    binds = [
        Action("", "bind", pending_of[s], pods, None, spot, leftover=True)
        for s, spot, pods in best.placement.items()
        if s in pending_of
    ]
    if not binds:
        return waves
    first = 1 + sum(action.kind == "bind" for wave in waves for action in wave.actions)
    named = tuple(replace(bind, id=f"b{i}") for i, bind in enumerate(binds, first))
    awaited = {other for wave in waves for other in wave.after}
    last = tuple(wave.id for wave in waves if wave.id not in awaited)
    more = (*waves, Wave(1 + max(wave.id for wave in waves), last, named))
    faults = (fault for fault in replay(instance, more)[0] if fault.rule != Rule.REQUIRED)
    return waves if next(faults, None) is not None else more


def _waits(instance: Instance, placement: Placement) -> bool:
    """Whether pods stay pending."""
    return any(
        not podset.running and placement.placed(podset.index) < podset.count
        for podset in instance.podsets
    )
