"""Where pods may go, and would rather go, if all of that is so wherever they go."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kantopt.schema.base import Expression, LabelSelector, Toleration
from kantopt.schema.jobs import (
    Job,
    NodeSelectorTerm,
    PodAffinityTerm,
    PodAntiAffinityTerm,
    PodSet,
    PreferredNodes,
    PreferredPods,
    TopologySpreadConstraint,
)
from kantopt.schema.model import Objective
from kantopt.schema.objectives import NoParameters
from kantopt.schema.snapshot import Taint
from scripts.bench.features.asking import with_objectives
from scripts.bench.features.quotas import OWNER, labelled, of_job
from scripts.bench.features.stated import (
    HOSTNAME,
    LABEL,
    Stated,
    each_job,
    each_node,
    each_pod_set,
    only_if,
    single,
    waiting,
)
from scripts.bench.features.tiny import AGENT, agents

_HERE = NodeSelectorTerm(
    match_expressions=(Expression(key=LABEL, operator="Exists"),),
    match_fields=(Expression(key="metadata.name", operator="NotIn", values=("nowhere",)),),
)
_NOBODY = LabelSelector(match_labels={"bench.example/nobody": "yes"})
_AGENTS = LabelSelector(match_labels={AGENT: "yes"})


def _marked(stated: Stated) -> Stated:
    return each_node(stated, lambda node: {"labels": {**node.labels, LABEL: "all"}})


def node_selector(stated: Stated) -> Stated:
    """Every pod selects a label that all nodes have."""
    return each_pod_set(
        _marked(stated), lambda _, podset: {"node_selector": {**podset.node_selector, LABEL: "all"}}
    )


def node_affinity(stated: Stated) -> Stated:
    """Every pod without node affinity requires one that all nodes meet."""
    return each_pod_set(
        _marked(stated), lambda _, podset: {"node_affinity": podset.node_affinity or (_HERE,)}
    )


def volume_affinity(stated: Stated) -> Stated:
    """Every pod has a volume that all nodes reach."""
    return each_pod_set(
        _marked(stated),
        lambda _, podset: {"volume_node_affinity": (*podset.volume_node_affinity, (_HERE,))},
    )


def taints(stated: Stated) -> Stated:
    """Every node is tainted, and every pod tolerates that."""
    effects = ("NoSchedule", "NoExecute", "PreferNoSchedule")
    marks = tuple(Taint(key=LABEL, value="all", effect=effect) for effect in effects)  # type: ignore[arg-type]
    made = each_node(stated, lambda node: {"taints": (*node.taints, *marks)})
    return _tolerant(made, (Toleration(key=LABEL, operator="Equal", value="all"),))


def outlasting(stated: Stated) -> Stated:
    """Every pod may still run when a taint for a time to come begins, of which no node has one."""
    return each_pod_set(stated, lambda _, podset: {"outlasts": True})


def tolerations(stated: Stated) -> Stated:
    """Every pod tolerates for five minutes what Kubernetes has every pod tolerate."""
    keys = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
    return _tolerant(
        stated,
        tuple(
            Toleration(key=key, operator="Exists", effect="NoExecute", toleration_seconds=300)
            for key in keys
        ),
    )


def _tolerant(stated: Stated, more: tuple[Toleration, ...]) -> Stated:
    return each_pod_set(stated, lambda _, podset: {"tolerations": (*podset.tolerations, *more)})


def spread(stated: Stated) -> Stated:
    """Pods of each job lie evenly over nodes but for a skew of as many pods as it has."""

    def spreading(job: Job, podset: PodSet) -> dict[str, Any]:
        pods = sum(each.count for each in job.pod_sets)
        mine = TopologySpreadConstraint(
            max_skew=pods,
            topology_key=HOSTNAME,
            label_selector=of_job(job.name),
            node_affinity_policy="Ignore",
            node_taints_policy="Honor",
        )
        return {"topology_spread_constraints": (*podset.topology_spread_constraints, mine)}

    return each_pod_set(labelled(stated), spreading)


def spread_of_all(stated: Stated) -> Stated:
    """All pods together lie evenly over nodes but for a skew of as many pods as there are."""
    pods = sum(podset.count for _, podset in stated.pod_sets())
    selector = LabelSelector(match_expressions=(Expression(key=OWNER, operator="Exists"),))
    even = TopologySpreadConstraint(
        max_skew=pods, topology_key=HOSTNAME, label_selector=selector, min_domains=2
    )
    return each_pod_set(
        labelled(stated),
        lambda _, podset: {
            "topology_spread_constraints": (*podset.topology_spread_constraints, even)
        },
    )


def anti_affinity_to_nobody(stated: Stated) -> Stated:
    """Every pod keeps away from pods with a label that none has."""
    term = PodAntiAffinityTerm(topology_key=HOSTNAME, label_selector=_NOBODY)
    return each_pod_set(
        stated, lambda _, podset: {"pod_anti_affinity": (*podset.pod_anti_affinity, term)}
    )


def anti_affinity_of_two(stated: Stated) -> Stated:
    """Two pods that ask for nothing wait and keep away from each other."""
    alike = LabelSelector(match_labels={LABEL: "two"})
    apart = PodAntiAffinityTerm(
        topology_key=HOSTNAME, label_selector=alike, namespaces=("default",)
    )
    return waiting(stated, "bench-two-apart", 2, labels={LABEL: "two"}, pod_anti_affinity=(apart,))


def pod_affinity(stated: Stated) -> Stated:
    """Every pod wants to be beside an agent, which every node has."""
    near = PodAffinityTerm(topology_key=HOSTNAME, label_selector=_AGENTS, namespaces=("default",))
    asking = each_pod_set(stated, lambda _, podset: {"pod_affinity": (*podset.pod_affinity, near)})
    return agents(asking)


def preferred_nodes(stated: Stated) -> Stated:
    """Every pod would rather be on nodes with a label that all have."""
    only_if(not any(podset.preferred_node_affinity for _, podset in stated.pod_sets()))
    wish = PreferredNodes(
        weight=50, preference=NodeSelectorTerm(match_expressions=_HERE.match_expressions)
    )
    return _wishing(each_pod_set(_marked(stated), lambda *_: {"preferred_node_affinity": (wish,)}))


def preferred_pods(stated: Stated) -> Stated:
    """Every pod would rather be beside an agent, which every node has, and not beside nobody."""
    asked = [podset for _, podset in stated.pod_sets()]
    only_if(not any(p.preferred_pod_affinity or p.preferred_pod_anti_affinity for p in asked))
    here = ("default",)
    near = PreferredPods(weight=50, topology_key=HOSTNAME, label_selector=_AGENTS, namespaces=here)
    away = PreferredPods(weight=50, topology_key=HOSTNAME, label_selector=_NOBODY, namespaces=here)
    wishes = {"preferred_pod_affinity": (near,), "preferred_pod_anti_affinity": (away,)}
    return _wishing(agents(each_pod_set(stated, lambda *_: wishes)))


def preferred_spread(stated: Stated) -> Stated:
    """All pods would rather lie evenly over nodes but for a skew of as many as there are."""
    made = spread_of_all(stated)
    wishing = each_pod_set(
        made,
        lambda _, podset: {
            "topology_spread_constraints": podset.topology_spread_constraints[:-1],
            "preferred_topology_spread": podset.topology_spread_constraints[-1:],
        },
    )
    return _wishing(wishing)


def _wishing(stated: Stated) -> Stated:
    """Ask for preferences, last."""
    return with_objectives(stated, Objective(preferences=NoParameters()))


def claims(stated: Stated) -> Stated:
    """Fifty jobs of one pod have a claim each that one pod may use at a time."""
    names = {(job.namespace, job.name) for job in _singles(stated)}

    def claiming(job: Job) -> dict[str, Any]:
        if (job.namespace, job.name) not in names:
            return {}
        (podset,) = job.pod_sets
        own = podset.model_copy(update={"exclusive_claims": (job.full_name,)})
        return {"pod_sets": (own,)}

    return each_job(stated, claiming)


def _singles(stated: Stated) -> list[Job]:
    return [job for job in replace(stated).jobs if single(job)][:50]
