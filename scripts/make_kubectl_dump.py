"""Write ``instances/kubernetes/cluster.json``: what ``kubectl get ... -A -o json`` shows.

An invented cluster of 2 blocks x 3 racks x 4 nodes of 8 GPUs with four gang schedulers on it,
and with everything that an import must not stumble over. The same bytes on every run.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from kubectl_objects import GPU, Object, pod, thing, uid

BLOCK, RACK = "cloud.provider.com/topology-block", "cloud.provider.com/topology-rack"
HOSTNAME = "kubernetes.io/hostname"
TARGET = Path(__file__).parent.parent / "instances" / "kubernetes" / "cluster.json"


def node_name(block: int, rack: int, number: int) -> str:
    """Name a node after its place."""
    return f"gpu-b{block}r{rack}n{number}"


def nodes() -> list[Object]:
    """24 nodes; rack labels repeat in each block, one node is cordoned, one is not ready."""
    found = []
    for block in (1, 2):
        for rack in (1, 2, 3):
            for number in (1, 2, 3, 4):
                name = node_name(block, rack, number)
                taints = [{"key": GPU, "value": "present", "effect": "NoSchedule"}]
                spec: Object = {"podCIDR": f"10.{block}.{rack * 10 + number}.0/24"}
                if name == "gpu-b1r3n4":
                    spec["unschedulable"] = True
                    key = "node.kubernetes.io/unschedulable"
                    taints.append({"key": key, "effect": "NoSchedule"})
                ready = "Unknown" if name == "gpu-b2r3n4" else "True"
                labels = {
                    BLOCK: f"block-{block}",
                    RACK: f"rack-{rack}",
                    HOSTNAME: name,
                    "kubernetes.io/arch": "amd64",
                    "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3",
                }
                offered = {
                    "cpu": "127500m",
                    "memory": "2113553408Ki",
                    "ephemeral-storage": "3381560980Ki",
                    "hugepages-2Mi": "0",
                    "pods": "110",
                    GPU: "8",
                }
                status = {
                    "capacity": {**offered, "cpu": "128"},
                    "allocatable": offered,
                    "conditions": [
                        {"type": "MemoryPressure", "status": "False"},
                        {"type": "Ready", "status": ready},
                    ],
                    "nodeInfo": {"kubeletVersion": "v1.34.1"},
                }
                spec["taints"] = taints
                metadata = {"labels": labels}
                found.append(thing("v1", "Node", name, metadata=metadata, spec=spec, status=status))
    return found


PROD, RESEARCH, BATCH = ("prod", 1000), ("research", 100), ("batch", 10)
CRITICAL = ("system-node-critical", 2_000_001_000)
WHOLE_NODE = {"cpu": "96", "memory": "1500Gi", GPU: "8"}
HALF_NODE = {"cpu": "48", "memory": "700Gi", GPU: "4"}
ONE_GPU = {"cpu": "8", "memory": "64Gi", GPU: "1"}


def infrastructure() -> list[Object]:
    """Pods that hold room and may not be moved: DaemonSets, a static pod, another scheduler's."""
    found = []
    field = {"key": "metadata.name", "operator": "In"}
    for node in nodes():
        name = node["metadata"]["name"]
        term = {"matchFields": [{**field, "values": [name]}]}
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
        for app, requests in (
            ("device-plugin", {"cpu": "50m", "memory": "64Mi"}),
            ("log-agent", {"cpu": "250m", "memory": "512Mi"}),
        ):
            found.append(
                pod(
                    "kube-system",
                    f"{app}-{uid(app, name)[:5]}",
                    requests,
                    node=name,
                    owner=("DaemonSet", app),
                    labels={"app": app, "controller-revision-hash": "6d4f"},
                    priority=CRITICAL,
                    affinity={"nodeAffinity": required},
                    tolerations=[{"operator": "Exists"}],
                )
            )
    static = "gpu-b1r1n1"
    found.append(
        pod(
            "kube-system",
            f"proxy-{static}",
            {"cpu": "100m", "memory": "128Mi"},
            node=static,
            owner=("Node", static),
            annotations={"kubernetes.io/config.mirror": "4711"},
            priority=CRITICAL,
        )
    )
    other = pod("lab", "notebook", ONE_GPU, node="gpu-b1r3n1", labels={"app": "notebook"})
    other["spec"]["schedulerName"] = "lab-scheduler"
    other["spec"]["volumes"] = [{"name": "scratch", "emptyDir": {}}]
    return [*found, other]


def services() -> list[Object]:
    """A Deployment with a budget, an anti-affinity and a sidecar; one pod is on its way out."""
    labels = {"app": "serve", "pod-template-hash": "7c9d"}
    selector = {"matchLabels": {"app": "serve"}}
    anti = {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"labelSelector": selector, "topologyKey": HOSTNAME}
            ]
        }
    }
    spread = {
        "maxSkew": 2,
        "topologyKey": RACK,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": selector,
    }
    sidecar = {
        "name": "mesh",
        "restartPolicy": "Always",
        "resources": {"requests": {"cpu": "500m", "memory": "256Mi"}},
    }
    fetch = {"name": "fetch", "resources": {"requests": {"cpu": "12", "memory": "32Gi"}}}
    places = ["gpu-b1r1n4", "gpu-b1r2n4", "gpu-b1r3n2", "gpu-b2r1n4", "gpu-b2r2n4", ""]
    found = [
        pod(
            "serving",
            f"serve-7c9d-{uid('serve', str(i))[:5]}",
            ONE_GPU,
            node=node,
            owner=("ReplicaSet", "serve-7c9d"),
            labels=labels,
            annotations={"controller.kubernetes.io/pod-deletion-cost": "4"},
            priority=PROD,
            affinity=anti,
            topologySpreadConstraints=[spread],
            initContainers=[sidecar, fetch],
            overhead={"cpu": "250m", "memory": "120Mi"},
        )
        for i, node in enumerate(places)
    ]
    found.append(
        pod(
            "serving",
            "serve-6b1a-old",
            ONE_GPU,
            node="gpu-b2r3n1",
            owner=("ReplicaSet", "serve-6b1a"),
            labels={"app": "serve", "pod-template-hash": "6b1a"},
            priority=PROD,
            metadata={
                "deletionTimestamp": "2026-09-01T02:59:00Z",
                "deletionGracePeriodSeconds": 30,
            },
        )
    )
    budget = thing(
        "policy/v1",
        "PodDisruptionBudget",
        "serve",
        "serving",
        spec={"maxUnavailable": 1, "selector": selector},
        status={"disruptionsAllowed": 1, "currentHealthy": 6, "desiredHealthy": 5},
    )
    return [*found, budget]


def kueue() -> list[Object]:
    """Kueue: a running gang, one whose pods wait behind gates, queues and the topology."""

    def member(job: str, number: int, node: str) -> Object:
        spec: Object = {} if node else {"schedulingGates": [{"name": "kueue.x-k8s.io/topology"}]}
        return pod(
            "team-a",
            f"{job}-{number}",
            WHOLE_NODE,
            node=node,
            owner=("Job", job),
            labels={
                "batch.kubernetes.io/job-name": job,
                "batch.kubernetes.io/job-completion-index": str(number),
                "kueue.x-k8s.io/queue-name": "training",
                "kueue.x-k8s.io/podset": "worker",
            },
            annotations={
                "kueue.x-k8s.io/workload": f"job-{job}",
                "kueue.x-k8s.io/podset-required-topology": BLOCK,
                "kueue.x-k8s.io/podset-preferred-topology": RACK,
            },
            priority=RESEARCH,
            **spec,
        )

    levels = [{"nodeLabel": label} for label in (BLOCK, RACK, HOSTNAME)]
    quotas = [
        {"name": GPU, "nominalQuota": "64", "borrowingLimit": "32"},
        {"name": "cpu", "nominalQuota": "1k"},
    ]
    flavor = {"name": "h100", "resources": quotas}
    group = {"coveredResources": [GPU, "cpu"], "flavors": [flavor]}
    cluster_queue = {"cohortName": "all", "resourceGroups": [group], "namespaceSelector": {}}
    places = ["gpu-b1r1n1", "gpu-b1r1n2", "gpu-b1r2n1", "gpu-b1r2n2"]
    return [
        thing("kueue.x-k8s.io/v1beta2", "Topology", "fabric", spec={"levels": levels}),
        thing("kueue.x-k8s.io/v1beta2", "ClusterQueue", "team-a-queue", spec=cluster_queue),
        thing(
            "kueue.x-k8s.io/v1beta2",
            "LocalQueue",
            "training",
            "team-a",
            spec={"clusterQueue": "team-a-queue"},
        ),
        *(member("pretrain", i, node) for i, node in enumerate(places)),
        *(member("finetune", i, "") for i in range(3)),
    ]


def kai() -> list[Object]:
    """KAI: a running build that may not be preempted, and a pending gang of two sub groups."""

    def member(group: str, name: str, role: str, requests: Object, node: str) -> Object:
        found = pod(
            "team-b",
            name,
            requests,
            node=node,
            owner=("Job", group),
            labels={"kai.scheduler/queue": "team-b", "kai.scheduler/subgroup-name": role},
            annotations={"pod-group-name": group},
            priority=("build", 100) if node else ("train", 50),
        )
        found["spec"]["schedulerName"] = "kai-scheduler"
        return found

    def group(name: str, roles: dict[str, int], **spec: Any) -> Object:
        sub = [{"name": role, "minMember": count} for role, count in roles.items()]
        spec |= {"minMember": sum(roles.values()), "queue": "team-b", "subGroups": sub}
        return thing("scheduling.run.ai/v2alpha2", "PodGroup", name, "team-b", spec=spec)

    places = ["gpu-b2r1n1", "gpu-b2r1n2"]
    leader = {"cpu": "4", "memory": "16Gi"}
    return [
        group("rl-build", {"worker": 2}, priorityClassName="build"),
        group(
            "rl-train",
            {"leader": 1, "worker": 2},
            priorityClassName="train",
            topologyConstraint={"topology": "fabric", "requiredTopologyLevel": RACK},
        ),
        *(
            member("rl-build", f"rl-build-{i}", "worker", HALF_NODE, node)
            for i, node in enumerate(places)
        ),
        member("rl-train", "rl-train-leader", "leader", leader, ""),
        *(member("rl-train", f"rl-train-{i}", "worker", HALF_NODE, "") for i in range(3)),
        thing(
            "scheduling.run.ai/v2",
            "Queue",
            "team-b",
            spec={
                "resources": {
                    "gpu": {"quota": 16, "limit": 32},
                    "cpu": {"quota": -1, "limit": -1},
                    "memory": {"quota": -1, "limit": 8000000},
                }
            },
        ),
    ]


def volcano() -> list[Object]:
    """Volcano: a running gang of two tasks."""

    def member(task: str, number: int, requests: Object, node: str) -> Object:
        return pod(
            "team-c",
            f"graph-{task}-{number}",
            requests,
            node=node,
            owner=("Job", "graph"),
            labels={"volcano.sh/job-name": "graph"},
            annotations={
                "scheduling.k8s.io/group-name": "graph-pg",
                "volcano.sh/task-spec": task,
            },
            priority=BATCH,
        )

    spec = {
        "minMember": 3,
        "minTaskMember": {"ps": 1, "worker": 2},
        "queue": "default",
        "priorityClassName": "batch",
    }
    return [
        thing("scheduling.volcano.sh/v1beta1", "PodGroup", "graph-pg", "team-c", spec=spec),
        thing("scheduling.volcano.sh/v1beta1", "Queue", "default", spec={"weight": 1}),
        member("ps", 0, {"cpu": "16", "memory": "128Gi"}, "gpu-b2r2n1"),
        member("worker", 0, HALF_NODE, "gpu-b2r2n1"),
        member("worker", 1, HALF_NODE, "gpu-b2r2n2"),
        member("worker", 2, HALF_NODE, "gpu-b2r2n2"),
    ]


def plugins() -> list[Object]:
    """The coscheduling plug-in: a pending gang that needs a block's worth of nodes."""
    label = {"scheduling.x-k8s.io/pod-group": "eval"}
    return [
        thing("scheduling.x-k8s.io/v1alpha1", "PodGroup", "eval", "team-d", spec={"minMember": 4}),
        *(
            pod(
                "team-d",
                f"eval-{i}",
                WHOLE_NODE,
                owner=("Job", "eval"),
                labels=label,
                priority=PROD,
            )
            for i in range(5)
        ),
    ]


def ended() -> list[Object]:
    """Pods that have ended and hold nothing."""
    return [
        pod(
            "team-d",
            f"report-{i}",
            ONE_GPU,
            node="gpu-b1r1n1",
            owner=("Job", "report"),
            priority=BATCH,
            phase=phase,
        )
        for i, phase in enumerate(("Succeeded", "Succeeded", "Failed"))
    ]


def classes() -> list[Object]:
    """Priority classes; jobs of the lowest never have others evicted."""
    found = []
    for name, value in (PROD, RESEARCH, BATCH, ("build", 100), ("train", 50), CRITICAL):
        policy = "Never" if name == "batch" else "PreemptLowerPriority"
        rest: Object = {"value": value, "preemptionPolicy": policy}
        found.append(thing("scheduling.k8s.io/v1", "PriorityClass", name, **rest))
    return found


def dump() -> str:
    """Return the whole dump as ``kubectl`` writes it."""
    parts = (nodes, infrastructure, services, kueue, kai, volcano, plugins, ended, classes)
    items = [item for part in parts for item in part()]
    metadata = {"resourceVersion": ""}
    data = {"apiVersion": "v1", "items": items, "kind": "List", "metadata": metadata}
    return json.dumps(data, indent=2) + "\n"


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=TARGET)
    target: Path = parser.parse_args().output
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(dump(), encoding="utf-8")


if __name__ == "__main__":
    main()
