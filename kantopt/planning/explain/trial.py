"""A change tried out: the documents with it, the question about the job, and a verified plan."""

from __future__ import annotations

from dataclasses import dataclass, replace

from kantopt.clock import Deadline
from kantopt.planning.explain.edits import edited
from kantopt.planning.question import Question
from kantopt.problem.derived.focus import focused, limited
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.schema.model import Model
from kantopt.search.explain.decide import Decision, decide, decide_still, legal_plan


@dataclass(frozen=True, slots=True)
class Trial:
    """What a change came to."""

    edits: tuple[str, ...]
    question: Question
    asked: Instance
    j: int
    decision: Decision


def alone(question: Question, name: str) -> Question:
    """Return the question without the other jobs of job lists, which are not asked about.

    Those stay that hold quota. Budgets in percent count pending pods as well: where there are any,
    all jobs stay.
    """
    if any(
        budget.disruptions_allowed is None for budget in question.snapshot.pod_disruption_budgets
    ):
        return replace(question, about=name)
    kept = [job for job in question.pending if job.quota_reserved or job.full_name == name]
    return replace(question, pending=tuple(kept), about=name)


class Trials:
    """Tries changes to a question about one job, most of them with nothing else disturbed."""

    def __init__(self, question: Question, model: Model, name: str, deadline: Deadline) -> None:
        self.question = question
        self.model = model
        self.name = name
        self.deadline = deadline

    def now(self, *edits: str) -> Trial:
        """Try some changes, with nothing evicted and nothing moved."""
        return self._try(edits, gently=True)

    def disturbing(self, *edits: str) -> Trial:
        """Try some changes, with evictions and moves where the model and the rules allow them."""
        return self._try(edits, gently=False)

    def changed(self, *edits: str) -> tuple[Instance, int]:
        """Return the question with some changes, and the job in it; nothing is tried."""
        _, asked, j = self._asked(edits)
        return asked, j

    def given(self, placement: Placement, *edits: str) -> Trial:
        """Try some changes that leave all numbers as they are with a placement already known."""
        question, asked, j = self._asked(edits)
        plan = legal_plan(asked, j, placement)
        return Trial(edits, question, asked, j, plan or Decision())

    def _try(self, edits: tuple[str, ...], *, gently: bool) -> Trial:
        question, asked, j = self._asked(edits)
        if gently:
            asked = limited(asked, evictions=0, moves=0)
            decision = decide_still(asked, j, self.deadline, tidy=False)
        else:
            decision = decide(asked, j, self.deadline, any_plan=True)
        return Trial(edits, question, asked, j, decision)

    def _asked(self, edits: tuple[str, ...]) -> tuple[Question, Instance, int]:
        question, model = edited(self.question, self.model, edits)
        instance = question.instance(model)
        j = instance.job_index[self.name]
        return question, focused(instance, j), j
