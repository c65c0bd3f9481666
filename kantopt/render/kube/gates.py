"""Scheduling gates: which may be removed. Ours, and those that somebody named."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kantopt.errors import UsageError
from kantopt.schema.answers.plan import Plan
from kantopt.schema.hints import one_of, perhaps, quote

OURS = "kantopt/hold"
"""Gate that who wants pods to be placed by a plan gives them."""
_QUOTAS = {"kueue.x-k8s.io": "Kueue"}
"""Systems that hold pods back until quotas let them start, by the prefix of their gates."""


def may_go(gate: str, named: Sequence[str]) -> bool:
    """Whether a gate may be removed."""
    return gate == OURS or gate in named


def keeps(gates: Iterable[str], named: Sequence[str]) -> list[str]:
    """Return the gates of a pod that have to stay."""
    return [gate for gate in gates if not may_go(gate, named)]


def bypassed(gate: str) -> str:
    """Name the quota system that no longer counts pods without its gate; empty: none."""
    return _QUOTAS.get(gate.partition("/")[0], "")


def check_named(plan: Plan, named: Sequence[str]) -> None:
    """Check that each gate named holds back a pod that the plan binds.

    Raises
    ------
    UsageError
        If one does not.
    """
    held = sorted(
        {g for item in plan.assignments for pod in item.pods for g in pod.scheduling_gates}
    )
    for gate in named:
        if gate not in held:
            expected = one_of(held) if held else "none: no gate holds back what the plan binds"
            raise UsageError(
                f"--gate: found {quote(gate)}, expected {expected}{perhaps(gate, held)}"
            )
