"""R3 eligibility."""

from __future__ import annotations

from kantopt.cp.variables import Variables


def add_eligibility(m: Variables) -> None:
    """Pods arrive only on ready, uncordoned nodes that their selectors and tolerations admit.

    Nothing is left to add: an arrival that is not admitted has no variable.
    """
    for podset in m.instance.podsets:
        assert podset.allowed.issuperset(m.arrive[podset.index])
