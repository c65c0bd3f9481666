"""What a plan is called, which snapshot it is for, and which nodes it touches."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from kantopt.planning.question import Question
from kantopt.schema.answers.actions import PlanAction, nodes_of
from kantopt.schema.answers.plan import BudgetRef, Eviction, Move, NodeRef, Plan, SnapshotRef
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


def touched_nodes(steps: Iterable[PlanAction]) -> frozenset[str]:
    """Names of the nodes that pods leave or go to."""
    return frozenset(name for step in steps for name in nodes_of(step))


def node_refs(snapshot: ClusterSnapshot, names: Collection[str]) -> tuple[NodeRef, ...]:
    """Say by what nodes are known, as far as the snapshot tells; in its order."""
    return tuple(
        NodeRef(
            name=node.name,
            uid=node.uid,
            resource_version=node.resource_version,
            hostname=node.labels.get(HOSTNAME, ""),
        )
        for node in snapshot.nodes
        if node.name in names and (node.uid or node.resource_version)
    )


def budget_refs(
    snapshot: ClusterSnapshot, steps: Iterable[Eviction | Move]
) -> tuple[BudgetRef, ...]:
    """Say uid and resource version of the budgets that steps use up; in the snapshot's order."""
    used = {name for step in steps for name in step.budgets}
    named = ((item.full_name, item) for item in snapshot.pod_disruption_budgets)
    return tuple(
        BudgetRef(name=name, uid=item.uid, resource_version=item.resource_version)
        for name, item in named
        if name in used and (item.uid or item.resource_version)
    )
