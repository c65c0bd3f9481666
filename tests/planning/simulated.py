"""A small cluster that lives on between two dumps, with a scheduler as kube-scheduler is."""

from __future__ import annotations

import copy
import random
from typing import Any

from tests.formats.cluster_objects import Object
from tests.planning.dump_pairs import ended, event, going, made, n, p

PREEMPTED, DRAINED = "PreemptionByScheduler", "EvictionByEvictionAPI"


class Cluster:
    """Nodes, owners and pods; whatever happens is legal."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.nodes: dict[str, Object] = {}
        self.owners: dict[str, Object] = {}
        self.pods: dict[str, Object] = {}
        self.events: list[Object] = []
        self.number = 0
        for _ in range(rng.randint(2, 4)):
            self.add_node()
        for _ in range(rng.randint(3, 6)):
            self.submit()

    def dump(self) -> list[Object]:
        """What kubectl shows."""
        found = [*self.nodes.values(), *self.owners.values(), *self.pods.values(), *self.events]
        return copy.deepcopy(found)

    def step(self) -> None:
        """Let something happen."""
        often = (self.submit, self.submit, self.finish, self.scale, self.roll_out, self.drain)
        self.rng.choice((*often, self.add_node, self.remove_node, self.sweep, self.open))()
        self.schedule()

    def add_node(self) -> None:
        self.number += 1
        name = f"n{self.number}"
        labels = {"pool": self.rng.choice("xy")}
        self.nodes[name] = n(name, str(self.rng.choice((4, 6, 8))), labels)

    def remove_node(self) -> None:
        if len(self.nodes) < 3:
            return
        name = self.rng.choice(sorted(self.nodes))
        del self.nodes[name]
        for pod in self.on(name):
            self.lose(pod, "DeletionByPodGC")

    def open(self) -> None:
        for node in self.nodes.values():
            node["spec"] = {}

    def submit(self) -> None:
        """Make an owner with its pods."""
        self.number += 1
        kind = self.rng.choice(("ReplicaSet", "ReplicaSet", "Job"))
        name, count = f"j{self.number}", self.rng.randint(1, 3)
        options: dict[str, Any] = {"priority": self.rng.choice((0, 10, 100))}
        if self.rng.random() < 0.3:
            options["nodeSelector"] = {"pool": self.rng.choice("xy")}
        fields = {"replicas": count} if kind == "ReplicaSet" else {"parallelism": count}
        owner = made(kind, name, **fields)
        owner["template"] = {"cpu": str(self.rng.randint(1, 4)), "options": options}
        self.owners[name] = owner
        for _ in range(count):
            self.create(name)
        self.schedule()

    def create(self, owner: str) -> None:
        self.number += 1
        made_by = self.owners[owner]
        template = made_by["template"]
        name = f"{owner}-{self.number}"
        kind = f"{made_by['kind']}/{owner}"
        self.pods[name] = p(name, "", template["cpu"], owner=kind, **template["options"])

    def on(self, node: str) -> list[str]:
        """Pods on a node that have not ended."""
        return [
            name
            for name, pod in self.pods.items()
            if pod["spec"]["nodeName"] == node and pod["status"]["phase"] == "Running"
        ]

    def lose(self, name: str, why: str) -> None:
        """End a pod; what is left of it in a dump differs. Its owner makes another one."""
        pod = self.pods[name]
        how = self.rng.random()
        if how < 0.4:
            self.pods[name] = ended(pod, "Failed", why)
        else:
            del self.pods[name]
            if why == PREEMPTED:
                self.events.append(event("Preempted", pod))
        owner = pod["metadata"]["ownerReferences"][0]["name"]
        if owner in self.owners:
            self.create(owner)

    def finish(self) -> None:
        """A Job's pod ends, and with the last one the Job."""
        jobs = [name for name, owner in self.owners.items() if owner["kind"] == "Job"]
        for owner in jobs[:1]:
            for name in [name for name in self.pods if name.startswith(f"{owner}-")]:
                self.pods[name] = ended(self.pods[name])
            if self.rng.random() < 0.5:
                self.pods = {k: v for k, v in self.pods.items() if not k.startswith(f"{owner}-")}
            del self.owners[owner]

    def scale(self) -> None:
        """A ReplicaSet wants a pod less, or is gone."""
        for owner in [name for name, item in self.owners.items() if item["kind"] == "ReplicaSet"]:
            own = [
                name
                for name, pod in self.pods.items()
                if name.startswith(f"{owner}-") and pod["status"]["phase"] != "Failed"
            ]
            if own:
                self.owners[owner]["spec"]["replicas"] -= 1
                pod = self.pods.pop(own[0])
                if pod["spec"]["nodeName"] and self.rng.random() < 0.5:
                    self.pods[own[0]] = going(pod)
                return

    def roll_out(self) -> None:
        """The pods of a ReplicaSet give way to others, in other places perhaps."""
        for owner in [name for name, item in self.owners.items() if item["kind"] == "ReplicaSet"]:
            self.owners[owner]["metadata"]["generation"] += 1
            for name in [name for name in self.pods if name.startswith(f"{owner}-")]:
                del self.pods[name]
                self.create(owner)
            return

    def drain(self) -> None:
        name = self.rng.choice(sorted(self.nodes))
        self.nodes[name]["spec"] = {"unschedulable": True}
        for pod in self.on(name):
            self.lose(pod, DRAINED)

    def sweep(self) -> None:
        """What has ended or is terminating is gone."""
        self.pods = {
            name: pod
            for name, pod in self.pods.items()
            if pod["status"]["phase"] in ("Running", "Pending")
            and "deletionTimestamp" not in pod["metadata"]
        }

    def free(self, node: str, without: tuple[str, ...] = ()) -> int:
        used = sum(_cores(self.pods[name]) for name in self.on(node) if name not in without)
        return int(self.nodes[node]["status"]["allocatable"]["cpu"]) - used

    def admits(self, node: str, pod: Object) -> bool:
        item = self.nodes[node]
        wanted = pod["spec"].get("nodeSelector", {}).items()
        open_ = not item["spec"].get("unschedulable")
        return open_ and wanted <= item["metadata"]["labels"].items()

    def schedule(self) -> None:
        """Give each waiting pod a node, the most important first, by preemption if need be."""
        queue = [name for name, pod in self.pods.items() if pod["status"]["phase"] == "Pending"]
        queue.sort(key=lambda name: -self.pods[name]["spec"]["priority"])
        while queue:
            name = queue.pop(0)
            pod = self.pods[name]
            nodes = [node for node in sorted(self.nodes) if self.admits(node, pod)]
            fitting = [node for node in nodes if self.free(node) >= _cores(pod)]
            if not fitting:
                fitting = [node for node in nodes if self.preempt(node, pod)][:1]
            if fitting:
                node = self.rng.choice(fitting)
                pod["spec"]["nodeName"], pod["status"] = node, {"phase": "Running"}

    def preempt(self, node: str, pod: Object) -> bool:
        """Evict lesser pods of a node, as few as in the order of their priority must go."""
        lesser = [
            name
            for name in self.on(node)
            if self.pods[name]["spec"]["priority"] < pod["spec"]["priority"]
            and "deletionTimestamp" not in self.pods[name]["metadata"]
        ]
        gone = tuple(lesser)
        if not gone or self.free(node, gone) < _cores(pod):
            return False
        for name in sorted(lesser, key=lambda k: -self.pods[k]["spec"]["priority"]):
            fewer = tuple(other for other in gone if other != name)
            if self.free(node, fewer) >= _cores(pod):
                gone = fewer
        for name in gone:
            self.lose(name, PREEMPTED)
        return True


def _cores(pod: Object) -> int:
    return int(pod["spec"]["containers"][0]["resources"]["requests"]["cpu"])


def dumps(seed: int) -> tuple[list[Object], list[Object]]:
    """Return two dumps of a cluster of which the scheduler does nothing wrong."""
    rng = random.Random(seed)
    cluster = Cluster(rng)
    for _ in range(3):
        cluster.step()
    first = cluster.dump()
    cluster.events = []
    for _ in range(rng.randint(1, 6)):
        cluster.step()
    return first, cluster.dump()


def planted(later: list[Object], seed: int) -> tuple[list[Object], str]:
    """Plant a fault in the later dump; return what rule it breaks."""
    rng = random.Random(seed)
    node = rng.choice([item for item in later if item["kind"] == "Node"])
    name, cores = node["metadata"]["name"], node["status"]["allocatable"]["cpu"]
    if rng.random() < 0.5:
        wrong = p("wrong", name, str(int(cores) + 1), owner="ReplicaSet/wrong")
        # Once it runs, a node that came since must have been larger.
        return [*later, {**wrong, "status": {"phase": "Pending"}}], "capacity"
    wrong = p("wrong", name, "0", owner="ReplicaSet/wrong", nodeSelector={"no": "such"})
    return [*later, wrong], "eligibility"
