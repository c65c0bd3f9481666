"""R12 disruption budgets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from kantopt.schema.model import Rule
from kantopt.verify.step import Step, Violation


def check_disruption(step: Step) -> Iterator[Violation]:
    """A budget bears its evictions and, one at a time, its restarts; two budgets bear nothing.

    An eviction never gives its slot back; a restart does as soon as the pod is ready again, so a
    budget that allows one disruption bears any number of them in a row, but no more of them at
    once: pods that restart together. The Eviction API refuses a pod that two budgets select.
    """
    instance = step.instance
    for budget in instance.budgets:
        evicted = sum(step.evicted(s) for s in budget.podsets)
        if evicted > budget.allowed:
            yield Violation(
                Rule.DISRUPTION, f"budget {budget.name}", f"{evicted} of {budget.allowed} evictions"
            )
        elif budget.allowed == 0 and (moved := sum(step.restarts(s) for s in budget.podsets)):
            yield Violation(Rule.DISRUPTION, f"budget {budget.name}", f"{moved} of 0 restarts")
        together = Counter[int]()
        for s in step.restarted.intersection(budget.podsets):
            together[instance.podsets[s].job] += step.moved(s)
        for j, moved in sorted(together.items()):
            if moved > budget.allowed > 0:
                text = (
                    f"{moved} of {budget.allowed} restarts at once of job {instance.jobs[j].name}"
                )
                yield Violation(Rule.DISRUPTION, f"budget {budget.name}", text)
    for podset in step.changed_podsets:
        disrupted = step.evicted(podset.index) + step.restarts(podset.index)
        if podset.running and len(podset.budgets) > 1 and disrupted:
            names = ", ".join(instance.budgets[b].name for b in podset.budgets)
            yield Violation(
                Rule.DISRUPTION,
                instance.subject(podset.index),
                f"{disrupted} of 0 pods disrupted under several budgets ({names})",
            )
