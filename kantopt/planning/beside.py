"""Other jobs wait as well: has one its place beside them if it has one alone, and only then?"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from kantopt.clock import Deadline
from kantopt.planning.options import Options
from kantopt.planning.question import Question
from kantopt.planning.run import Run
from kantopt.planning.together import search_together
from kantopt.planning.words import counted
from kantopt.problem.aftermath import leftover_question
from kantopt.problem.cluster import Spot
from kantopt.problem.focus import is_placed, pending_podsets
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import tiers_of
from kantopt.schema.model import Model
from kantopt.search.cascade import evicts
from kantopt.search.construct import construct
from kantopt.search.explain.decide import is_small
from kantopt.search.strategy import Strategy
from kantopt.verify.metrics import measure
from kantopt.verify.rules import check


@dataclass(frozen=True, slots=True)
class Beside:
    """What becomes of a job in a quick plan for all that waits, where that is something else.

    Attributes
    ----------
    note
        It in words; nothing if the plan does the same as one for the job alone.
    leftover
        Whether it fills room that victims of others leave over.
    """

    note: str = ""
    leftover: bool = False


def beside(
    question: Question, model: Model, name: str, deadline: Deadline, *, fits: bool
) -> Beside:
    """Ask a quick plan for all that waits about a job.

    Jobs of lower priority are left aside: they are placed after it. Where it stays pending, what is
    left over of the victims of others is filled as after any plan.

    Parameters
    ----------
    fits
        Whether the job can be placed alone.
    """
    instance = question.instance(model)
    j = instance.job_index[name]
    others = [
        job for job in instance.jobs if job.index != j and pending_podsets(instance, job.index)
    ]
    if not others:
        return Beside()
    own = instance.jobs[j].priority
    placement = construct(
        instance,
        deadline,
        Strategy.BEST_FIT,
        relocate=is_small(instance),
        least_priority=own,
    )
    placed = is_placed(instance, j, placement)
    if deadline.over() or (placed and fits):
        return Beside()
    together = f"planned together with {counted(len(others), 'other pending job')}"
    if not placed and _fills(instance, placement, j, deadline):
        text = f"{together} it is placed in room that is left over of their victims (kantopt plan)"
        return Beside(text, leftover=True)
    if placed is fits or deadline.over():
        return Beside()
    if not fits:
        if check(instance, placement):
            return Beside()
        text = f"{together} it is placed, for what they change (kantopt plan --require {name})"
        return Beside(text)
    ahead = sum(
        1 for job in others if job.priority >= own and is_placed(instance, job.index, placement)
    )
    return Beside(
        f"{together} it stays pending: "
        f"{counted(ahead, 'job')} of priority {own} or more are placed first (kantopt plan)"
    )


def _fills(instance: Instance, placement: Placement, j: int, deadline: Deadline) -> bool:
    """Whether a job that a quick plan leaves pending is placed in what such a plan leaves over.

    Asked of the plan of the fast engine, where that takes moments: of one strategy's victims more
    may be left over.
    """
    if is_small(instance):
        options = Options(engine="fast", workers=1)
        run = Run(instance, tiers_of(instance), options, deadline, lambda _: None, None)
        run.construct()
        search_together(run)
        placement = run.incumbent.placement
        if is_placed(instance, j, placement):
            return False
    if not (instance.strict and evicts(instance, placement)) or check(instance, placement):
        return False
    tiers = tiers_of(instance)
    if measure(instance, placement, tiers) >= measure(instance, instance.current, tiers):
        return False  # nobody would be evicted
    question, pending_of = leftover_question(instance, placement)
    own = instance.jobs[j].priority
    filled = construct(question, deadline, Strategy.BEST_FIT, least_priority=own)
    if deadline.over() or check(question, filled):
        return False
    changes: dict[int, Counter[Spot]] = {}
    for s, spot, pods in filled.items():
        if s in pending_of:
            known = placement.podsets[pending_of[s]]
            changes.setdefault(pending_of[s], Counter(known))[spot] += pods
    return is_placed(instance, j, placement.replace(changes))
