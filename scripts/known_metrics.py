"""Small instances in which a metric decides, with optima known by reasoning, as data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from known_instances import GPU, PLACED, Known, Line, job, node


def _with(known: Line, **fields: Any) -> Line:
    return Line({**known, **fields})


def cheaper_nodes() -> Known:
    return Known(
        "cheaper-nodes-than-the-roomiest",
        """
        Ten GPUs are wanted. The roomiest node costs 10 and is in use; the three others together
        have as many GPUs and cost 11, the roomiest with the cheapest beside it 13. So the pod that
        runs moves off the roomiest node, and nobody comes to it.
        """,
        (),
        [
            _with(node("roomy"), price=10),
            _with(node("a", gpus=4), price=4),
            _with(node("b", gpus=4), price="4"),
            _with(node("c", gpus=2), price="3.000001"),
        ],
        [job("gang", 4, 2)],
        [PLACED, "cost"],
        [job("runs", 1, 2, at={"roomy": 1})],
        tiers={"unplaced[priority=100, milli-GPU]": 0, "cost": 11_000_001},
    )


def frugal_when_full() -> Known:
    return Known(
        "frugal-when-full",
        """
        Five GPUs are wanted. The old node draws 800 W idle and 500 W a GPU, the new one 300 W and
        700 W. A pod alone is cheaper on the new node, 1000 W to 1300 W; with the other four GPUs
        all draw 3300 W on the old node, 3800 W on the new one or on both.
        """,
        (),
        [
            _with(node("old"), idlePower=800, powerPerGpu=500),
            _with(node("new"), idlePower=300, powerPerGpu=700),
        ],
        [job("large", 1, 4), job("small", 1, 1)],
        [PLACED, "energy"],
        tiers={"unplaced[priority=100, milli-GPU]": 0, "energy": 3_300_000},
        placement={"large": {"old": 1}, "small": {"old": 1}},
    )


def crowded_nodes() -> Known:
    offer = {"cpu": 10, "pods": 32}
    return Known(
        "crowded-nodes-and-a-wide-one",
        """
        Pods with 34 CPUs in all fill three nodes of 10 CPUs; a fourth of 20 has two of them. At 60
        percent everywhere there is room for 30 CPUs. The other four are a fifth of the wide node,
        and two fifths of a small one.
        """,
        (),
        [*(Line(name=n, allocatable=offer) for n in "abc"), Line(name="wide", allocatable=_WIDE)],
        [],
        [PLACED, {"balance": Line(resources=["cpu"], target=60)}],
        [job("web", 17, 0, cpu=2, at={"a": 5, "b": 5, "c": 5, "wide": 2}, minCount=0)],
        tiers={
            "unplaced[priority=100, CPU-only pods]": 0,
            "balance[cpu above 60%]": 200,
        },
        placement={"web": {"a": 3, "b": 3, "c": 3, "wide": 8}},
    )


def writes_while_it_moves() -> Known:
    def running(name: str, at: str, memory: str, **fields: Any) -> dict[str, Any]:
        made = job(name, 1, 2, at={at: 1}, moveMode="live")
        (podset,) = made["podSets"]
        podset["requests"] = Line(podset["requests"], memory=memory)
        return {**made, "podSets": [{**podset, **fields}]}

    def roomy(name: str, gpus: int = 8) -> Line:
        return Line(name=name, allocatable={"cpu": 64, "memory": "1Ti", "pods": 32, GPU: gpus})

    return Known(
        "writes-while-it-moves",
        """
        A pod wants a whole node, and on each of two one pod is in its way; both fit elsewhere. The
        one of 16 GiB writes nine tenths of what can be sent, so that moving it live copies its
        memory nearly seven times; the one of 64 GiB writes nothing.
        """,
        (),
        [roomy("a"), roomy("b"), roomy("c", 2)],
        [job("whole", 1, 8, cpu=4)],
        [PLACED, "migration_cost"],
        [
            running("large", "a", "64Gi"),
            running("busy", "b", "16Gi", dirtyRate="921Mi"),
        ],
        tiers={"unplaced[priority=100, milli-GPU]": 0, "migration_cost": 65_536},
        placement={"whole": {"a": 1}, "busy": {"b": 1}},
        model={"schedule": Line(bandwidth="1Gi")},
    )


def equal_shares() -> Known:
    return Known(
        "equal-shares-beside-one-that-has-more",
        """
        Three queues of equal weight share 16 GPUs, a third each. One has eight for good. The others
        want twelve and four, and there are eight: whoever wants four gets them, as they are less
        than its third, and the other lacks 1.333 of its own.
        """,
        (),
        [node("a"), node("b")],
        [
            *(job(f"many-{i}", 1, 2, queueName="many") for i in range(6)),
            *(job(f"few-{i}", 1, 2, queueName="few") for i in range(2)),
        ],
        [PLACED, "fair_share"],
        [job("old", 1, 8, at={"a": 1}, queueName="old", preemptible=False, movable=False)],
        tiers={"unplaced[priority=100, milli-GPU]": 8000, "fair_share": 1333},
        placement={"few-0": {"b": 1}, "few-1": {"b": 1}, "old": {"a": 1}},
        snapshot={"queues": [Line(name=name, weight=1) for name in ("many", "few", "old")]},
    )


def last_plan() -> Known:
    def to_c(name: str) -> Line:
        return Line(job=f"default/{name}", podSet="worker", state="running", nodes={"c": 1})

    return Known(
        "a-new-job-beside-the-last-plan",
        """
        The last plan brings two pods together on the free node. Since then a job has come that
        takes a whole node, and no more than one pod may move. On the free node the job would undo
        all of the last plan; on a node that one pod leaves as told, only the other pod's half.
        """,
        (),
        [node("a"), node("b"), node("c")],
        [job("whole", 1, 8)],
        [PLACED, "changes_to_plan"],
        [job("one", 1, 4, at={"a": 1}), job("other", 1, 4, at={"b": 1})],
        tiers={"unplaced[priority=100, milli-GPU]": 0, "changes_to_plan": 1},
        model={"limits": Line(moves=1, evictions=0), "lastPlan": [to_c("one"), to_c("other")]},
    )


_WIDE = {"cpu": 20, "pods": 32}


def decided_by_metrics() -> Iterator[Known]:
    yield cheaper_nodes()
    yield frugal_when_full()
    yield crowded_nodes()
    yield writes_while_it_moves()
    yield equal_shares()
    yield last_plan()
