"""What holds of clusters that suites draw by kind."""

from __future__ import annotations

from collections.abc import Callable

from kantopt.problem.build import build_instance
from kantopt.problem.instance import Instance
from kantopt.verify.rules import check
from scripts.bench.case import Documents
from scripts.bench.models import shipped


def sound(drawn: Callable[[str, int, int], Documents], kind: str) -> tuple[Instance, int, int]:
    """Draw a cluster that is legal and the same for a seed; return what waits and what is free.

    Both are in milli-GPU.
    """
    documents = drawn(kind, 64, 3)
    assert documents == drawn(kind, 64, 3)
    assert documents != drawn(kind, 64, 4)
    asked = shipped("mixed", counts=False)(documents)
    instance = build_instance(documents.snapshot, documents.pending, asked)
    assert check(instance, instance.current) == []
    pods = [(p.count * p.gpu_milli, p.running) for p in instance.podsets]
    waits = sum(gpus for gpus, running in pods if not running)
    free = sum(node.gpu_milli for node in instance.nodes) - sum(g for g, running in pods if running)
    return instance, waits, free
