"""Explain every job of random questions: ``python -m tests.explain.fuzz 60``.

Plans and remedies must place the job, conflicts must prove themselves, and no verdict may say what
the plain encoding denies.
"""

from __future__ import annotations

import sys
from collections import Counter

from kantopt.clock import Deadline
from kantopt.cp.reach import reach
from kantopt.planning.question import Question
from kantopt.problem.derived.focus import focused, pending_podsets
from kantopt.schema.answers.explanation import Explanation
from kantopt.schema.model import Model, Rule
from tests.explain.helpers import explained
from tests.explain.planted import fails, follows
from tests.generate import random_documents

FOREVER = Deadline(None)
FITS = ("FITS_NOW", "FITS_AFTER_MOVING", "FITS_AFTER_PREEMPTING", "FITS_ALONE")


def question_of_seed(seed: int) -> Question:
    """A tiny random question in which every rule bites."""
    snapshot, jobs, model = random_documents(seed)
    model = model.model_copy(update={"required": ()})  # remedies may take such a job away
    return Question("seed", snapshot, jobs.jobs, model, None, ())


def wrong(question: Question, model: Model, told: Explanation) -> list[str]:
    """List what is wrong with an explanation of a random question."""
    instance = question.instance(model)
    j = instance.job_index[told.job]
    if not pending_podsets(instance, j):
        return [] if told.verdict.status in ("RUNS", "NOMINATED") else ["it runs"]
    asked = focused(instance, j)
    rules = [rule for rule in Rule if asked.on(rule)]
    possible = not reach(asked, j, rules, FOREVER).impossible
    found = []
    fits = told.verdict.status in FITS
    if fits and not possible:
        found.append("it cannot fit")
    if possible and not fits and told.verdict.status != "OPEN":
        found.append(f"it fits, {told.verdict.status} is said")
    if fits != (told.plan is not None):
        found.append("a plan and no fit, or the other way round")
    if told.plan is not None:
        found += [f"plan: {text}" for text in follows(question, told.job, told.plan, model)]
    if not fits and told.conflict is None:
        found.append("no conflict")
    for remedy in told.remedies:
        found += [f"{remedy.message}: {text}" for text in fails(question, remedy, told.job)]
    total = [item.available + sum(out.count for out in item.exclusions) for item in told.pod_sets]
    if any(number != len(instance.nodes) for number in total):
        found.append("the counts of nodes do not add up")
    return found


def main(number: int) -> int:
    """Explain all jobs of some questions; print faults and how often each verdict was given."""
    verdicts: Counter[str] = Counter()
    faults, unproved = 0, 0
    for seed in range(number):
        question = question_of_seed(seed)
        for job in question.jobs:
            told = explained(question, f"{job.namespace}/{job.name}")
            verdicts[told.verdict.status] += 1
            if told.conflict is not None:
                unproved += not (told.conflict.minimal_rules and told.conflict.minimal_items)
            assert question.model is not None
            for text in wrong(question, question.model, told):
                faults += 1
                print(f"seed {seed} job {job.name}: {text}")
    print(f"{faults} faults; {unproved} conflicts not proved minimal; {dict(verdicts)}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
