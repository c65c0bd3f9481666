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
        moved = 0 if podset.movable else step.moved(podset.index)
        if podset.movable and step.instance.on_held(podset):
            before = step.instance.beside_held(step.before.podsets[podset.index])
            moved = step.instance.beside_held(step.after.podsets[podset.index]) - before
        if moved > 0:
            text = f"{moved} of 0 pods moved{_off_held(step, podset.index)}"
            yield Violation(Rule.PINNED, subject, text)


def _off_held(step: Step, s: int) -> str:
    """Name nodes that pods are not moved off, where a plan does."""
    nodes = sorted({spot.node for spot in step.departures[s]} & step.instance.held)
    names = ", ".join(step.instance.nodes[n].name for n in nodes)
    return f" off {names} (not ready)" if names else ""
