"""R11 pinned pods."""

from __future__ import annotations

from kantopt.cp.variables import Variables


def add_pinned(m: Variables) -> None:
    """Pods that are not preemptible are not evicted, pods that are not movable are not moved.

    The latter have no variables to arrive by.
    """
    for podset in m.instance.podsets:
        if podset.running and not podset.preemptible:
            m.cp.add(m.evicted(podset.index) == 0)
