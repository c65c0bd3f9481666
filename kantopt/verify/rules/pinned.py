"""R11 pinned pods."""

from __future__ import annotations

from collections.abc import Iterator

from kantopt.schema.model import Rule
from kantopt.verify.step import Step, Violation


def check_pinned(step: Step) -> Iterator[Violation]:
    """Pods that are not preemptible are not evicted, pods that are not movable are not moved.

    Nor are pods on nodes that are not ready: elsewhere there are no more of them than before.
    """
    for podset in step.changed_podsets:
        if not podset.running:
            continue
        subject = step.instance.subject(podset.index)
        if not podset.preemptible and step.evicted(podset.index):
            yield Violation(Rule.PINNED, subject, f"{step.evicted(podset.index)} of 0 pods evicted")
        if not podset.movable and step.moved(podset.index):
            yield Violation(Rule.PINNED, subject, f"{step.moved(podset.index)} of 0 pods moved")
        elif podset.movable and step.instance.on_held(podset):
            before = step.instance.beside_held(step.before.podsets[podset.index])
            moved = step.instance.beside_held(step.after.podsets[podset.index]) - before
            if moved > 0:
                away = step.departures[podset.index]
                nodes = sorted({x.node for x in away if x.node in step.instance.held})
                names = ", ".join(step.instance.nodes[n].name for n in nodes)
                text = f"{moved} of 0 pods moved off {names} (not ready)"
                yield Violation(Rule.PINNED, subject, text)
