"""Which pods of a cluster stay by default, what that is called, and what lifts it."""

from __future__ import annotations

from typing import Any

import pytest

from kantopt.problem.build import build_instance
from kantopt.schema.extends import load_model
from kantopt.verify.rules import check_standing
from tests.formats.cluster_objects import node, noted, pod, read, thing

SAFE = "cluster-autoscaler.kubernetes.io/safe-to-evict"
EVICT = "descheduler.alpha.kubernetes.io/evict"
PREFER = "descheduler.alpha.kubernetes.io/prefer-no-eviction"
LASTING = "karpenter.sh/do-not-disrupt"
LWS = {"leaderworkerset.sigs.k8s.io/name": "serve"}
TAS = {"kueue.x-k8s.io/queue-name": "q", "kueue.x-k8s.io/tas": "true"}
UNOWNED = {"ownerReferences": [{"kind": "Thing", "name": "t", "uid": "u"}]}


def kept(*objects: dict[str, Any], **options: Any) -> tuple[bool, bool]:
    """Whether the pods of the only job are neither evicted, nor moved."""
    (found,) = read(node("a"), *objects, **options).snapshot.jobs
    return not found.preemptible, not found.movable


@pytest.mark.parametrize(
    ("cause", "both", "fields"),
    [
        ("system-critical", True, {"priorityClassName": "system-node-critical"}),
        ("system-critical", True, {"priority": 2_000_000_000}),
        ("kube-system", True, {"namespace": "kube-system"}),
        ("no-controller", True, {"metadata": UNOWNED}),
        ("annotated", True, {"annotations": {SAFE: "on-completion"}}),
        ("annotated", True, {"annotations": {PREFER: "true"}}),
        ("group", False, {"labels": {"ray.io/node-type": "head"}, "owner": "RayCluster/r"}),
        ("group", False, {"owner": "PyTorchJob/p", "restartPolicy": "Never"}),
        ("group", False, {"owner": "Job/j", "labels": TAS}),
    ],
)
def test_a_cause_keeps_a_pod_is_told_and_can_be_lifted(
    cause: str, both: bool, fields: dict[str, Any]
) -> None:
    subject = pod("p", on="a", **fields)
    assert kept(subject) == (both, True)
    assert f"(--disturb {cause})" in noted(read(node("a"), subject), "1 pod stays: 1 ")
    assert kept(subject, disturb=[cause]) == (False, False)
    if cause != "annotated":
        fields = {**fields, "annotations": {SAFE: "true"}}
        assert kept(pod("p", on="a", **fields)) == (False, False)
        fields = {**fields, "annotations": {EVICT: ""}}
        assert kept(pod("p", on="a", **fields)) == (False, False)


@pytest.mark.parametrize(
    "fields",
    [
        {"priority": 1_999_999_999},
        {"labels": LWS},
        {"owner": "PyTorchJob/p", "restartPolicy": "OnFailure"},
        {"owner": "Job/j", "restartPolicy": "Never"},
        {"labels": {"ray.io/node-type": "worker"}, "owner": "RayCluster/r"},
    ],
)
def test_others_like_them_may_go(fields: dict[str, Any]) -> None:
    assert kept(pod("p", on="a", **fields)) == (False, False)


def test_a_budget_makes_pods_of_kube_system_movable() -> None:
    budget = thing("policy/v1", "PodDisruptionBudget", "b", "kube-system", maxUnavailable=1)
    budget["spec"]["selector"] = {"matchLabels": {"app": "dns"}}
    dns = pod("p", on="a", namespace="kube-system", labels={"app": "dns"})
    other = pod("p", on="a", namespace="kube-system", labels={"app": "other"})
    assert kept(budget, dns) == (False, False)
    assert kept(budget, other) == (True, True)


@pytest.mark.parametrize(
    ("text", "stays"), [("30m", True), ("10m", False), ("true", True), ("soon", False)]
)
def test_a_duration_keeps_a_pod_until_it_is_that_old(text: str, stays: bool) -> None:
    subject = pod("p", on="a", annotations={LASTING: text})
    subject["status"]["startTime"] = "2026-09-01T00:00:00Z"
    later = pod("q", on="a", owner="DaemonSet/d")
    later["metadata"]["creationTimestamp"] = "2026-09-01T00:20:00Z"
    jobs = read(node("a"), subject, later).snapshot.jobs
    assert [job.movable for job in jobs if not job.daemon] == [not stays]


def test_one_line_counts_all_that_stay_and_names_what_lifts_it() -> None:
    pods = [
        *(pod(f"d{i}", on="a", owner="DaemonSet/d") for i in range(3)),
        *(pod(f"s{i}", on="a", namespace="kube-system") for i in range(2)),
        pod("alone", on="a", owner=""),
        pod("free", on="a"),
        pod("waits", owner=""),
    ]
    assert noted(read(node("a"), *pods), "stay:") == (
        "6 pods stay: 3 of daemons, 2 of kube-system without a budget, 1 without a controller "
        "(--disturb kube-system, no-controller)"
    )


def test_only_daemons_and_static_pods_are_beyond_lifting() -> None:
    causes = [
        *("annotated", "group", "kube-system"),
        *("local-storage", "no-controller", "system-critical"),
    ]
    for owner in ("DaemonSet/d", "Node/a"):
        assert kept(pod("p", on="a", owner=owner), disturb=causes) == (True, True)


def test_a_static_pod_is_where_its_kubelet_started_it_whatever_the_taint() -> None:
    control = node("a")
    control["spec"]["taints"] = [
        {"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}
    ]
    of_all = [{"operator": "Exists", "effect": "NoExecute"}]
    imported = read(control, pod("api", on="a", owner="Node/a", tolerations=of_all))
    instance = build_instance(imported.snapshot, (), load_model("mixed"))
    assert check_standing(instance) == []


def test_a_lifted_cause_leaves_the_others() -> None:
    subject = pod("p", on="a", namespace="kube-system", owner="")
    assert kept(subject, disturb=["kube-system"]) == (True, True)
    assert kept(subject, disturb=["kube-system", "no-controller"]) == (False, False)


def test_a_budget_whose_spec_is_newer_than_its_status_allows_nothing() -> None:
    budget = thing("policy/v1", "PodDisruptionBudget", "b", selector={}, maxUnavailable=1)
    budget["metadata"]["generation"] = 2
    for seen, allowed in ((1, 0), (2, 3)):
        budget["status"] = {"disruptionsAllowed": 3, "observedGeneration": seen}
        imported = read(node("a"), budget, pod("p", on="a"))
        (found,) = imported.snapshot.pod_disruption_budgets
        assert found.disruptions_allowed == allowed
        assert any("older spec: 1 (b)" in line for line in imported.notes) is not bool(allowed)


@pytest.mark.parametrize(
    ("health", "status"),
    [
        ("ready", {}),
        ("ready", {"conditions": [{"type": "Ready", "status": "True"}]}),
        ("unready", {"conditions": [{"type": "Ready", "status": "False"}]}),
        ("starting", {"phase": "Pending"}),
    ],
)
def test_a_running_pod_is_ready_or_not(health: str, status: dict[str, Any]) -> None:
    subject = pod("p", on="a")
    subject["status"].update(status)
    (found,) = read(node("a"), subject).snapshot.jobs
    assert found.pod_sets[0].health == health


@pytest.mark.parametrize(
    ("go", "spec", "status"),
    [
        (False, {}, {}),
        (True, {"unhealthyPodEvictionPolicy": "AlwaysAllow"}, {}),
        (True, {"unhealthyPodEvictionPolicy": "IfHealthyBudget"}, {"currentHealthy": 2}),
        (True, {}, {"currentHealthy": 3}),
        (False, {}, {"currentHealthy": 1}),
        (False, {}, {"currentHealthy": 5, "desiredHealthy": 0}),
    ],
)
def test_a_budget_lets_unready_pods_go_where_the_eviction_api_does(
    go: bool, spec: dict[str, Any], status: dict[str, Any]
) -> None:
    budget = thing("policy/v1", "PodDisruptionBudget", "b", selector={}, minAvailable=2, **spec)
    budget["status"] = {"disruptionsAllowed": 0, "desiredHealthy": 2, **status}
    (found,) = read(node("a"), budget).snapshot.pod_disruption_budgets
    assert found.evict_unready == go
