"""What a plan is called, which snapshot it is for, and which nodes it touches."""

from __future__ import annotations

from collections.abc import Sequence

from kantopt.planning.question import Question
from kantopt.schema.answers.actions import nodes_of
from kantopt.schema.answers.plan import (
    Binding,
    BudgetRef,
    Eviction,
    Move,
    NodeRef,
    Plan,
    SnapshotRef,
)
from kantopt.schema.dump import canonical_digest
from kantopt.schema.snapshot import HOSTNAME, ClusterSnapshot


def identified(plan: Plan) -> Plan:
    """Return a plan named by the digest of all the rest of it."""
    metadata = plan.metadata.model_copy(update={"plan_id": ""})
    bare = plan.model_copy(update={"metadata": metadata})
    identity = metadata.model_copy(update={"plan_id": canonical_digest(bare)})
    return plan.model_copy(update={"metadata": identity})


def snapshot_ref(question: Question) -> SnapshotRef:
    """Say which snapshot a plan is for."""
    metadata = question.snapshot.metadata
    return SnapshotRef(
        digest=canonical_digest(question.snapshot),
        name=metadata.name,
        captured_at=metadata.captured_at,
        nodes=len(question.snapshot.nodes),
        running_pods=running_pods(question.snapshot),
        resource_version=metadata.resource_version,
        cluster_uid=metadata.cluster_uid,
    )


def running_pods(snapshot: ClusterSnapshot) -> int:
    """Count the pods that have a node."""
    return sum(job.running for job in snapshot.jobs)


def refs_of(
    snapshot: ClusterSnapshot,
    assignments: Sequence[Binding],
    evictions: Sequence[Eviction],
    moves: Sequence[Move],
) -> tuple[tuple[NodeRef, ...], tuple[BudgetRef, ...]]:
    """Say by what nodes and budgets that actions name are known, as far as the snapshot tells."""
    leaving: tuple[Eviction | Move, ...] = (*evictions, *moves)
    nodes = {name for items in (assignments, leaving) for item in items for name in nodes_of(item)}
    budgets = {name for item in leaving for name in item.budgets}
    return (
        tuple(
            NodeRef(
                name=node.name,
                uid=node.uid,
                resource_version=node.resource_version,
                hostname=node.labels.get(HOSTNAME, ""),
            )
            for node in snapshot.nodes
            if node.name in nodes and (node.uid or node.resource_version)
        ),
        tuple(
            BudgetRef(name=item.full_name, uid=item.uid, resource_version=item.resource_version)
            for item in snapshot.pod_disruption_budgets
            if item.full_name in budgets and (item.uid or item.resource_version)
        ),
    )
