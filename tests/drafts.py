"""An instance in the making: documents, and the room on nodes that its plants count on."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

GPU = "nvidia.com/gpu"
HOST = "kubernetes.io/hostname"
HIGH, MIDDLE, LOW = 100, 50, 10
Document = dict[str, Any]


@dataclass
class Draft:
    """An instance in the making: documents, and the room that its plants count on."""

    rng: random.Random
    nodes: list[Document]
    room: list[Counter[str]]
    running: list[Document] = field(default_factory=list)
    pending: list[Document] = field(default_factory=list)
    queues: list[Document] = field(default_factory=list)
    budgets: list[Document] = field(default_factory=list)
    required: list[str] = field(default_factory=list)
    limits: Counter[str] = field(default_factory=Counter)
    limited: str | None = None
    uses: Counter[int] = field(default_factory=Counter)
    dead: set[int] = field(default_factory=set)

    @property
    def jobs(self) -> int:
        return len(self.running) + len(self.pending)

    def chance(self, percent: int) -> bool:
        return self.rng.random() * 100 < percent

    def pick(self, count: int = 1, *, apart: str | None = None) -> list[int] | None:
        """Nodes that few plants use yet; ``apart``: with different values of a label."""
        alive = [n for n in range(len(self.nodes)) if n not in self.dead]
        self.rng.shuffle(alive)
        alive.sort(key=lambda n: self.uses[n])
        taken: list[int] = []
        values: set[str] = set()
        for n in alive:
            value = self.nodes[n]["labels"].get(apart, "") if apart else str(n)
            if value and value not in values and len(taken) < count:
                taken.append(n)
                values.add(value)
        if len(taken) < count:
            return None
        self.uses.update(taken)
        return taken

    def ask(self) -> Counter[str]:
        """What one pod asks for."""
        asked = Counter({"cpu": self.rng.randint(1, 3)})
        if self.chance(75):
            asked[GPU] = self.rng.randint(1, 2)
        if self.chance(40):
            # Room that no other plant can take, so that the conflict stays one.
            asked[f"example.com/{'abcdefgh'[self.jobs]}"] = 1
        return asked

    def reserve(self, n: int, asked: Counter[str], pods: int = 1) -> None:
        """Count on room on a node."""
        for name, amount in (*asked.items(), ("pods", 1)):
            self.room[n][name] += pods * amount

    def run(self, nodes: list[int], asked: Counter[str], **more: Any) -> Document:
        """Add a running job with one pod per entry of ``nodes``."""
        name = f"r{self.jobs}"
        where = sorted(Counter(nodes).items())
        podset = {
            "count": len(nodes),
            "requests": dict(asked),
            "labels": {"app": name},
            "assignments": [{"node": f"n{n}", "count": k} for n, k in where],
            "tolerations": [{"key": "dedicated", "operator": "Exists"}],
        }
        for n in nodes:
            self.reserve(n, asked)
        job = self._job(name, podset, more)
        if not self.chance(40):
            job.setdefault("movable", False)
        if self.chance(20):
            job.setdefault("moveMode", "live")
        self.running.append(job)
        return job

    def wait(
        self, nodes: list[int], asked: Counter[str], *, room: bool = True, **more: Any
    ) -> Document:
        """Add a pending job that would like one pod on each entry of ``nodes``."""
        name = f"p{self.jobs}"
        podset: Document = {
            "count": len(nodes),
            "requests": dict(asked),
            "labels": {"app": name},
            "tolerations": [{"key": "dedicated", "operator": "Exists"}],
        }
        if more.pop("confined", self.chance(70)):
            podset["nodeAffinity"] = [hosts(nodes)]
        if room:
            for n in nodes:
                self.reserve(n, asked)
        minutes = self.rng.randint(0, 50)
        more.setdefault("creationTime", f"2026-01-01T00:{minutes:02}:00Z")
        job = self._job(name, podset, more)
        self.pending.append(job)
        return job

    def _job(self, name: str, podset: Document, more: Document) -> Document:
        own = {key: more.pop(key) for key in [*more] if key in _PODSET_FIELDS}
        more.setdefault("priority", self.rng.choice((HIGH, MIDDLE, LOW)))
        return {"name": name, **more, "podSets": [{**podset, **own}]}


_PODSET_FIELDS = {
    "minCount",
    "devices",
    "hostPorts",
    "exclusiveClaims",
    "nodeSelector",
    "nodeAffinity",
    "tolerations",
    "topologyRequest",
    "podAntiAffinity",
    "podAffinity",
    "topologySpreadConstraints",
    "count",
}


def hosts(nodes: list[int]) -> Document:
    names = sorted({f"n{n}" for n in nodes})
    return {"matchExpressions": [{"key": HOST, "operator": "In", "values": names}]}


def plus(n: Counter[str], **more: int) -> Counter[str]:
    return n + Counter({"cpu": more.get("cpu", 0), GPU: more.get("gpu", 0)})


def a_victim(d: Draft, nodes: list[int], **more: Any) -> tuple[Document, Counter[str]]:
    """A running job, and what a pod asks that needs the room of one of its pods and fits there."""
    asked = d.ask()
    more.setdefault("priority", d.rng.choice((LOW, MIDDLE)))
    if d.chance(50):
        more.setdefault("minCount", 0)
    more.setdefault("movable", d.chance(20))
    return d.run(nodes, asked, **more), asked


def an_evictor(d: Draft, n: int, victim: Document, asked: Counter[str], **more: Any) -> Document:
    bigger = plus(asked, gpu=d.rng.randint(0, 1))
    for name in bigger:
        d.room[n][name] += bigger[name] - asked[name]
    more.setdefault("priority", HIGH)
    return d.wait([n], bigger, room=False, **{"confined": True, **more})
