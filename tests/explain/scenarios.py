"""Twelve situations of operators, told in full: their texts are in the folder ``golden``.

``python -m tests.explain.scenarios`` writes the texts anew, to be read before they are kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kantopt.report.blocks import Screen, render
from kantopt.report.explanation import explanation_blocks
from tests.explain.helpers import asked, explained
from tests.verify.world import GPU, HOST, Document, job, node, pods

GOLDEN = Path(__file__).parent / "golden"


@dataclass(frozen=True, slots=True)
class Scenario:
    """A question about a job of it, and changes to try out."""

    nodes: list[Document]
    jobs: list[Document]
    job: str
    model: Document | None = None
    more: Document | None = None
    edits: tuple[str, ...] = ()

    def text(self) -> str:
        """The whole explanation as plain text."""
        question = asked(self.nodes, self.jobs, self.model, **(self.more or {}))
        told = explained(question, self.job, edits=self.edits)
        return render(explanation_blocks(told), Screen())


def _racks(racks: int, each: int = 2, gpu: int = 8, **more: Any) -> list[Document]:
    return [
        node(
            f"gpu-{i + 1:02d}",
            cpu=96,
            gpu=gpu,
            rack=f"b{i // (2 * each) + 1}/r{i // each + 1}",
            **more,
        )
        for i in range(racks * each)
    ]


def _full(names: list[str], gpu: int, **more: Any) -> list[Document]:
    return [job(f"run-{name}", pods("worker", cpu=8, gpu=gpu, on=[name]), **more) for name in names]


def _names(first: int, last: int) -> list[str]:
    return [f"gpu-{i:02d}" for i in range(first, last + 1)]


def fits_now() -> Scenario:
    own = job("train", pods("worker", count=2, cpu=8, gpu=8, topologyRequest={"required": "rack"}))
    return Scenario(_racks(2), [*_full(_names(1, 2), 4), own], "train")


def after_moving() -> Scenario:
    own = job("train", pods("worker", count=2, cpu=8, gpu=8, topologyRequest={"required": "rack"}))
    return Scenario(_racks(2), [*_full(["gpu-01", "gpu-03"], 2), own], "train")


def after_preempting() -> Scenario:
    jobs = [
        *_full(_names(1, 2), 8, priority=100),
        *_full(_names(3, 4), 8, priority=10),
        job("train", pods("worker", count=2, cpu=8, gpu=8), priority=100),
    ]
    return Scenario(_racks(2), jobs, "train")


def never_on_this_hardware() -> Scenario:
    own = job("train", pods("worker", count=4, cpu=8, gpu=8, topologyRequest={"required": "rack"}))
    return Scenario(_racks(4), [own], "train")


def cluster_is_full() -> Scenario:
    jobs = [*_full(_names(1, 4), 8, priority=100), job("train", pods(cpu=8, gpu=2), priority=100)]
    return Scenario(_racks(2), jobs, "train")


def fragments() -> Scenario:
    jobs = [
        *_full(_names(1, 4), 5, priority=100),
        job("train", pods(cpu=8, gpu=8), priority=100),
    ]
    return Scenario(_racks(2), jobs, "train")


def over_quota() -> Scenario:
    queues = [
        {
            "name": "team-a",
            "cohort": "org",
            "resources": [{"name": GPU, "nominalQuota": 8, "borrowingLimit": 4}],
        },
        {"name": "team-b", "cohort": "org", "resources": [{"name": GPU, "nominalQuota": 16}]},
    ]
    jobs = [
        job("base", pods("worker", count=1, cpu=8, gpu=8, on=["gpu-01"]), queueName="team-a"),
        job("train", pods("worker", count=1, cpu=8, gpu=8), queueName="team-a"),
    ]
    return Scenario(_racks(2), jobs, "train", more={"queues": queues})


def wrong_nodes() -> Scenario:
    taint = [{"key": "dedicated", "value": "inference", "effect": "NoSchedule"}]
    nodes = [
        *[node(f"cpu-{i}", cpu=64) for i in (1, 2, 3)],
        *[node(f"inf-{i}", cpu=96, gpu=8, taints=taint) for i in (1, 2)],
        node("gpu-01", cpu=96, gpu=8, unschedulable=True),
        node("gpu-02", cpu=96, gpu=8, ready=False),
    ]
    return Scenario(nodes, [job("train", pods(cpu=8, gpu=4))], "train")


def budget_and_pins() -> Scenario:
    jobs = [
        job(
            "web",
            pods("web", count=2, cpu=8, gpu=8, on=["gpu-01", "gpu-02"], minCount=0),
            priority=10,
        ),
        job("db", pods("db", cpu=8, gpu=8, on=["gpu-03"]), priority=10, preemptible=False),
        job("idle", pods(cpu=8, gpu=8, on=["gpu-04"]), priority=500),
        job("train", pods(cpu=8, gpu=8), priority=100),
    ]
    budget = {
        "name": "web",
        "selector": {"matchLabels": {"app": "web"}},
        "disruptionsAllowed": 0,
    }
    return Scenario(_racks(2), jobs, "train", more={"podDisruptionBudgets": [budget]})


def kept_apart() -> Scenario:
    term = {"topologyKey": HOST, "labelSelector": {"matchLabels": {"app": "replica"}}}
    own = job("store", pods("replica", count=3, cpu=8, podAntiAffinity=[term]))
    return Scenario(_racks(1), [own], "store")


def what_if_nodes_are_drained() -> Scenario:
    jobs = [
        *_full(_names(1, 2), 8, priority=100),
        job("train", pods("worker", count=2, cpu=8, gpu=8), priority=100),
    ]
    return Scenario(_racks(2), jobs, "train", edits=("drain=gpu-03",))


def why_here() -> Scenario:
    jobs = [
        job("solo", pods(cpu=8, gpu=2, on=["gpu-04"]), priority=100),
        *_full(_names(1, 1), 6, priority=100),
        *_full(_names(2, 2), 7, priority=100),
    ]
    return Scenario(_racks(2), jobs, "solo")


SCENARIOS: tuple[Callable[[], Scenario], ...] = (
    fits_now,
    after_moving,
    after_preempting,
    never_on_this_hardware,
    cluster_is_full,
    fragments,
    over_quota,
    wrong_nodes,
    budget_and_pins,
    kept_apart,
    what_if_nodes_are_drained,
    why_here,
)


def path_of(make: Callable[[], Scenario]) -> Path:
    """File with the text of a scenario."""
    return GOLDEN / f"{make.__name__}.txt"


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    for each in SCENARIOS:
        path_of(each).write_text(each().text(), encoding="utf-8")
