"""Fields of the documents that no feature says anything in, each with the reason."""

from __future__ import annotations

_OTHER_QUESTION = "another metric, or another way to count one, is another question"
_EVERYBODY = "it speaks of everybody who runs anywhere: without it other plans are legal"
_APART = "it sets nodes apart for some jobs: without it other plans are legal"
_LAST_PLAN = "what a last plan wants is counted last of all: with it other plans are best"
_NAME = "a name that nothing is looked up by in a question of one document of each kind"
_CARRIED_OUT = "told for whoever carries a plan out: no plan looks at it"
_EVICTS = "whom it leaves out stays, and with fewer victims other plans are legal"
_WRITTEN_BACK = "told for the way back to whoever reserves: no plan looks at it"

EXCUSED = {
    # Names and forms of documents.
    "JobList.metadata": _NAME,
    "JobList.jobs": "it is the list itself, which every question has",
    "PodSet.name": "a name of a role, which jobs of one role have no use for",
    "PodDisruptionBudget.namespace": "a budget of another namespace than a pod's is not its own",
    "Model.last_plan": _LAST_PLAN,
    "Wanted.job": _LAST_PLAN,
    "Wanted.nodes": _LAST_PLAN,
    "Wanted.pod_set": _LAST_PLAN,
    "Wanted.state": _LAST_PLAN,
    "PodRef.owner_kind": _CARRIED_OUT,
    "PodRef.owner_uid": _CARRIED_OUT,
    "SnapshotMetadata.cluster_uid": _CARRIED_OUT,
    "Queue.strict_order": "told of what a plan places: no rule and no metric looks at it",
    "ClusterSnapshot.victims": _EVICTS,
    "Victims.job": _EVICTS,
    "Victims.queues": _EVICTS,
    "Victims.nominal_left": _EVICTS,
    "Victims.left_above": _EVICTS,
    "Victims.excess": "a plan warns by it, and is the same",
    "Victims.queued_only": _EVICTS,
    "Victims.beyond": "told where a job waits: no plan evicts whom it speaks of",
    "Job.workload": _CARRIED_OUT,
    "Job.pod_priority": "kube-scheduler goes by it: without it others are legal victims",
    "PodSet.stays": "words on why its pods are not movable, for whoever asks",
    # Room of Koordinator's is a pinned job; whose it is was seen to when it was read.
    "Job.reservation": _WRITTEN_BACK,
    "Reservation.owners": _WRITTEN_BACK,
    "Reservation.once": _WRITTEN_BACK,
    "Reservation.restricted": _WRITTEN_BACK,
    "Reservation.closed": _WRITTEN_BACK,
    "Reservation.until": _WRITTEN_BACK,
    "ReservedFor.name": _WRITTEN_BACK,
    "ReservedFor.namespace": _WRITTEN_BACK,
    "ReservedFor.uid": _WRITTEN_BACK,
    "ReservedFor.controller": _WRITTEN_BACK,
    "ReservedFor.label_selector": _WRITTEN_BACK,
    "OwnedBy.api_version": _WRITTEN_BACK,
    "OwnedBy.kind": _WRITTEN_BACK,
    "OwnedBy.name": _WRITTEN_BACK,
    "OwnedBy.namespace": _WRITTEN_BACK,
    "OwnedBy.uid": _WRITTEN_BACK,
    "Job.replicas": "it is read as so many jobs before there is a question",
    "Model.extends": "what it is made of is read before there is a question",
    # What is minimised.
    "AmountObjective.selector": _OTHER_QUESTION,
    "AmountObjective.target": _OTHER_QUESTION,
    "BalanceObjective.selector": _OTHER_QUESTION,
    "ClusterObjective.beyond": "words on what was asked for: no tier looks at it",
    "ClassObjective.offers": _OTHER_QUESTION,
    "DisplacedObjective.unit": _OTHER_QUESTION,
    "DomainsObjective.level": _OTHER_QUESTION,
    "FragmentObjective.of": _OTHER_QUESTION,
    "FragmentObjective.resource": _OTHER_QUESTION,
    "GroupsObjective.level": _OTHER_QUESTION,
    "MixShape.count": _OTHER_QUESTION,
    "MixShape.devices": _OTHER_QUESTION,
    "MixShape.requests": _OTHER_QUESTION,
    "NodesObjective.selector": _OTHER_QUESTION,
    "PriorityObjective.migration_cost": _OTHER_QUESTION,
    "Objective.allocation": _OTHER_QUESTION,
    "Objective.domains_in_use": _OTHER_QUESTION,
    "Objective.each_priority": _OTHER_QUESTION,
    "Objective.excess_nodes": _OTHER_QUESTION,
    "Objective.fragmented_nodes": _OTHER_QUESTION,
    "PriorityObjective.displaced": _OTHER_QUESTION,
    "StrandedObjective.mix": _OTHER_QUESTION,
    "StrandedObjective.selector": _OTHER_QUESTION,
    "StrandedObjective.target": _OTHER_QUESTION,
    "TotalObjective.by": _OTHER_QUESTION,
    "UnplacedObjective.target": _OTHER_QUESTION,
    "Job.disruption_cost": "1 is the default, and any other cost is another value of evictions",
    "QueueResource.nodes": "a quota of some nodes binds whom no other quota binds",
    "Model.zone": _APART,
    "Zone.nodes": _APART,
    "Zone.jobs": _APART,
    "Zone.strategy": _APART,
    # Rules that are always about somebody.
    "Rules.capacity": _EVERYBODY,
    "Rules.eligibility": _EVERYBODY,
    "Rules.gang": "jobs that nobody gave a minimum are gangs: without it other plans are legal",
    "Rules.pinned": "pods that are not movable are what clusters have: it would set them free",
}
"""By class and field; every field is either here or in use by some question with a feature."""
