"""R15 required jobs."""

from __future__ import annotations

from kantopt.cp.variables import Variables


def add_required(m: Variables) -> None:
    """Jobs that the model requires are placed: a gang with its minimum, others with all pods."""
    for j in sorted(m.instance.required):
        m.cp.add(m.satisfied(j) == 1)
