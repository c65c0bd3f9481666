"""R13 while waves run: does a job that goes as a whole restart as a whole?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from kantopt.problem.instance import Instance
from kantopt.schema.model import Rule
from kantopt.verify.step import Violation
from kantopt.verify.waves.order import Order


def judge_together(instance: Instance, order: Order) -> Iterator[Violation]:
    """In a wave that moves pods of such a job all of its running pods move, if only in place."""
    for wave in order.waves:
        moving = Counter[int]()
        for action in wave.actions:
            j = instance.podsets[action.podset].job
            if action.kind == "move" and j in instance.together:
                moving[j] += action.pods
        for j, pods in sorted(moving.items()):
            running = instance.running_pods(j)
            if pods != running:
                subject = f"wave {wave.id}: job {instance.jobs[j].name}"
                yield Violation(
                    Rule.GANG_VICTIMS, subject, f"{pods} of {running} pods restart together"
                )
