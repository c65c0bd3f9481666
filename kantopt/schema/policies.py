"""Policies by name or path: those of this package lie in a folder of the shipped models."""

from __future__ import annotations

from pathlib import Path

from kantopt.schema.base import Metadata
from kantopt.schema.extends import is_name, models_folder, names_in, read_single, shipped_path
from kantopt.schema.policy import Policy


def policies_folder() -> Path:
    """Folder of the shipped policies."""
    return models_folder() / "policies"


def shipped_policies() -> list[str]:
    """Names of the shipped policies."""
    return names_in(policies_folder())


def load_policy(name_or_path: str) -> Policy:
    """Read a policy.

    Parameters
    ----------
    name_or_path
        Name of a shipped policy, or a path: it has a slash or ends in ``.yaml``, ``.yml``,
        ``.json`` (and ``.gz``), or is ``-``.

    Returns
    -------
    Policy
        With a name: its own, else that of its file.

    Raises
    ------
    UsageError
        If there is no such shipped policy.
    MissingInputError
        If there is no such file.
    BadDataError
        If it cannot be used.
    """
    path = name_or_path
    if path != "-" and is_name(path):
        path = shipped_path("policy", path, policies_folder())
    policy = read_single(path, Policy)
    if policy.metadata.name:
        return policy
    return policy.model_copy(update={"metadata": Metadata(name=Path(path).name.split(".")[0])})


def in_short(policy: Policy) -> tuple[str, str, str]:
    """Describe queueing, placement and defragmentation of a policy in a few words each."""
    queue, place, tidy = policy.queueing, policy.placement, policy.defragmentation
    extras = [
        word
        for word, on in (
            ("preemption", queue.preemption),
            ("reclaim", queue.reclaim),
            ("preempt backfilled", queue.preempt_backfilled),
        )
        if on
    ]
    queueing = ", ".join([queue.order, f"backfill {queue.backfill}", *extras])
    where: str = place.strategy
    if place.planner is not None:
        where = f"planner ({place.planner.model}, each {place.planner.period})"
    if place.zone is not None:
        where += f"; in zone {place.zone.nodes} {place.zone.strategy}"
    if tidy is None:
        return queueing, where, "-"
    return queueing, where, f"{tidy.model}, each {tidy.period}, at most {tidy.moves} moves"
