"""What is said of a job alone, held against a plan for all that waits."""

from __future__ import annotations

from functools import cached_property

from kantopt.clock import Deadline
from kantopt.planning.beside import Beside, beside, waiting_beside
from kantopt.planning.explain.edits import edited
from kantopt.planning.question import Question
from kantopt.planning.words import listed
from kantopt.problem.instance import Instance
from kantopt.schema.answers.explanation import Remedy, Verdict
from kantopt.schema.hints import plural
from kantopt.schema.model import Model

FITS = ("FITS_NOW", "FITS_AFTER_MOVING", "FITS_AFTER_PREEMPTING")
"""Verdicts about a job alone with which it has a place."""
_NAMED = 3
"""Jobs that go first that a verdict names: the document has them all."""


class Together:
    """Asks what becomes of a job in plans for all that waits, and says so.

    Parameters
    ----------
    question
        The documents, with all jobs.
    model
        Rules and objectives, with the jobs that it requires.
    name
        The job, NAMESPACE/NAME.
    """

    def __init__(self, question: Question, model: Model, name: str, deadline: Deadline) -> None:
        self.question = question
        self.model = model
        self._name = name
        self._deadline = deadline

    @cached_property
    def instance(self) -> Instance:
        """The question about all jobs."""
        return self.question.instance(self.model)

    @cached_property
    def unasked(self) -> Beside:
        """How many others wait, and nothing else."""
        return Beside(len(waiting_beside(self.instance, self.instance.job_index[self._name])))

    @cached_property
    def found(self) -> Beside:
        """What becomes of the job as things are."""
        return self._ask(self.instance)

    def _ask(self, instance: Instance) -> Beside:
        return beside(instance, instance.job_index[self._name], self._deadline)

    def opened(self, remedy: Remedy) -> Remedy:
        """Return a remedy of which nobody has asked yet whether it is enough beside others."""
        word = "open" if self.unasked.others else "placed"
        return remedy.model_copy(update={"together": word})

    def tried(self, remedy: Remedy) -> Remedy:
        """Plan for all that waits with the change that a remedy makes."""
        if not self.unasked.others:
            return remedy
        if not remedy.edit:
            found = self.found
        elif self._deadline.over():
            found = self.unasked
        else:
            question, model = edited(self.question, self.model, (remedy.edit,))
            found = self._ask(question.instance(model))
        word = "open" if found.placed is None else "placed" if found.placed else "waits"
        return remedy.model_copy(update={"together": word, "behind": found.ahead})


def beside_others(verdict: Verdict, found: Beside) -> Verdict:
    """Say that a job fits only as far as a plan for all that waits places it, too."""
    if verdict.status not in FITS or not found.others or found.placed:
        return verdict
    alone = verdict.message.partition(": ")[2]
    others = plural(found.others, "other pending job")
    quick = "quick " if found.quick else ""
    if found.placed is None:
        it = f"it also fits together with the {others}"
        message = f"FITS ALONE, if nothing else is planned: {alone} Whether {it} was not decided."
        return _alone(verdict, message, ())
    if found.ahead:
        names = listed(found.ahead, _NAMED)
        where = f"in a {quick}plan " if quick else ""
        head = f"WAITS {where}behind {plural(len(found.ahead), 'job')}: {names}"
    else:
        head = f"WAITS in a {quick}plan for it and {others}"
    return _alone(verdict, f"FITS ALONE, {head}; alone {alone}", found.ahead)


def _alone(verdict: Verdict, message: str, behind: tuple[str, ...]) -> Verdict:
    update = {"status": "FITS_ALONE", "message": message, "behind": behind}
    return verdict.model_copy(update=update)
