"""The strategies of the fast path by name."""

from __future__ import annotations

from enum import StrEnum


class Strategy(StrEnum):
    """How the fast path chooses among the places that a pod could take."""

    BEST_FIT = "best-fit"
    """Where least is left over, compared with the largest node."""
    MOST_ALLOCATED = "most-allocated"
    """On the node that is then fullest, in percent of its own size."""
    LEAST_ALLOCATED = "least-allocated"
    """On the node that is then emptiest."""
    KUBE_DEFAULT = "kube-default"
    """As the default scheduler of Kubernetes: emptiest, balanced, replicas spread."""
    E_BINPACK = "e-binpack"
    """Two levels: few nodes, then few topology groups, those in use before those still whole."""
    SPREAD = "spread"
    """Replicas of a role on different nodes, then where it is then emptiest."""
    E_SPREAD = "e-spread"
    """In the model's zone its own strategy for its own jobs, E-Binpack everywhere else."""
    FGD = "fgd"
    """Where the fewest GPUs become useless to the job mix."""
    LOOKAHEAD = "lookahead"
    """Where fewest GPUs are left over once pods like those known keep coming."""
    REVERSE_TRIM = "reverse-trim"
    """For comparison: best-fit, and victims in order until it fits, those not needed spared."""


DEFAULT_PORTFOLIO = (
    Strategy.E_BINPACK,
    Strategy.LEAST_ALLOCATED,
    Strategy.BEST_FIT,
    Strategy.FGD,
    Strategy.MOST_ALLOCATED,
)
"""Strategies worth trying when none is asked for: packing and spreading fail on different
questions, so the second differs most from the first."""
