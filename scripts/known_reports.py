"""Small instances rebuilt from what users have reported of other tools, as data."""

from __future__ import annotations

from collections.abc import Iterator

from known_instances import GPU, HIGH, LOW, MIDDLE, PLACED, Known, Line, Mapping, job, node


def _freed_gpus(name: str, comment: str, tiers: Mapping, *, movable: bool) -> Known:
    return Known(
        name,
        comment,
        (),
        [node(f"n{i}") for i in (1, 2, 3, 4)],
        [job("whole-node", 1, 8, priority=HIGH), job("behind", 1, 1, priority=HIGH)],
        [PLACED, "evictions", "moves"],
        [
            job(
                "high",
                24,
                1,
                priority=HIGH,
                minCount=0,
                movable=movable,
                at={f"n{i}": 6 for i in (1, 2, 3, 4)},
            ),
            job("low", 8, 1, priority=LOW, minCount=0, at={f"n{i}": 2 for i in (1, 2, 3, 4)}),
        ],
        tiers=tiers,
    )


def scattered_victims() -> Known:
    return _freed_gpus(
        "victims-that-would-free-no-node",
        """
        On each of four nodes six important pods and two lesser ones have a GPU each. An important
        pod wants all eight GPUs of a node: evicting the lesser ones frees eight GPUs on four
        nodes, which is no place for it, so they stay, but for one: behind the large pod waits a
        small one, and that does fit.
        After kueue#5243, where all eight were evicted, the large pod was admitted and fitted
        nowhere, and the small one waited behind it.
        """,
        {
            "unplaced[priority=1000, milli-GPU]": 8000,
            "unplaced[priority=10, milli-GPU]": 1000,
            "evictions[priority=1000]": 0,
            "evictions[priority=10]": 1,
            "moves": 0,
        },
        movable=False,
    )


def gathered_victims() -> Known:
    return _freed_gpus(
        "victims-and-moves-that-free-a-node",
        """
        The same four nodes, but the important pods may move: six of them go to where lesser ones
        were, and a whole node is free. All eight lesser ones must go for that, and then no GPU is
        left for the small pod.
        After kueue#5243, where the same eight victims were evicted in vain.
        """,
        {
            "unplaced[priority=1000, milli-GPU]": 1000,
            "unplaced[priority=10, milli-GPU]": 8000,
            "evictions[priority=1000]": 0,
            "evictions[priority=10]": 8,
            "moves": 6,
        },
        movable=True,
    )


def pod_slots() -> Known:
    offer = {"cpu": 64, "pods": 2, GPU: 8}
    return Known(
        "pod-slots-of-a-node",
        """
        A node offers eight GPUs and room for two pods. One lesser pod has all the GPUs, another has
        none. A gang of two pods with four GPUs each must share one host: the GPUs are not enough,
        the pod without any must go as well.
        After kueue#10497, where it stayed.
        """,
        [("host", "kubernetes.io/hostname")],
        [Line(name="n1", allocatable=offer)],
        [job("gang", 2, 4, priority=HIGH, topology={"required": "host"})],
        [PLACED, "evictions", "moves"],
        [
            job("low-gpu", 1, 8, priority=LOW, at={"n1": 1}),
            job("low-cpu", 1, 0, priority=LOW, at={"n1": 1}),
        ],
        tiers={
            "unplaced[priority=1000, milli-GPU]": 0,
            "unplaced[priority=10, milli-GPU]": 8000,
            "unplaced[priority=10, CPU-only pods]": 1,
            "evictions[priority=10]": 2,
            "moves": 0,
        },
        placement={"gang": {"n1": 2}, "low-gpu": {}, "low-cpu": {}},
    )


def one_slot() -> Known:
    pod = {"cpu": 8, "memory": "16Gi"}
    names = [f"n{i:02}" for i in range(1, 11)]

    def running(name: str, at: list[str], **fields: object) -> Mapping:
        places = [Line(node=n, count=1) for n in at]
        podset = {
            "name": "worker",
            "count": len(at),
            "minCount": 0,
            "requests": Line(pod),
            "assignments": places,
        }
        return {"name": name, "priority": LOW, **fields, "podSets": [podset]}

    return Known(
        "one-free-slot-for-ten-pods",
        """
        Ten nodes hold one pod each of 8 cores and 16 GiB; each has room for almost another one. An
        eleventh node, which stays in use, has room for exactly one. So one node can be emptied.
        After descheduler#1584, whose dry run gives that slot to all ten pods.
        """,
        (),
        [
            *(Line(name=n, allocatable={"cpu": 15, "memory": "31Gi", "pods": 32}) for n in names),
            Line(name="spare", allocatable={"cpu": 16, "memory": "32Gi", "pods": 32}),
        ],
        [],
        [PLACED, "nodes_in_use", "moves"],
        [
            running("candidate", names),
            running("keeper", ["spare"], preemptible=False, movable=False),
        ],
        tiers={
            "unplaced[priority=10, CPU-only pods]": 0,
            "nodes_in_use": 10,
            "moves": 1,
        },
        placement={"keeper": {"spare": 1}},
    )


def gang_and_pretext() -> Known:
    return Known(
        "gang-that-is-no-pretext",
        """
        A gang holds two nodes; a small, important pod waits, and so does one that wants a whole
        node and may evict nobody. The small one has a place on the third node. To put it where the
        gang runs, so that the other finds a whole node free, would be a pretext.
        """,
        (),
        [node("a"), node("b"), node("c", gpus=2)],
        [
            job("small-important", 1, 2, priority=MIDDLE),
            job("never", 1, 8, priority=50, preemptionPolicy="Never"),
        ],
        [PLACED, "evictions", "moves"],
        [job("victim", 2, 8, priority=LOW, at={"a": 1, "b": 1})],
        tiers={
            "unplaced[priority=100, milli-GPU]": 0,
            "unplaced[priority=10, milli-GPU]": 0,
            "evictions[priority=10]": 0,
            "unplaced[priority=50, milli-GPU]": 8000,
            "moves": 0,
        },
        placement={"small-important": {"c": 1}},
    )


def never_and_its_equal() -> Known:
    return Known(
        "equal-that-may-evict-nobody",
        """
        One node is free, another holds a victim. Two jobs of one priority want a node each, and
        one of them never preempts. It waits: had it the free node, the other would have to evict.
        A lesser job that may evict as well has its place and changes nothing about that.
        """,
        (),
        [node("a"), node("b"), node("c", gpus=2)],
        [
            job("never", 1, 8, priority=HIGH, preemptionPolicy="Never"),
            job("able", 1, 8, priority=HIGH),
            job("lesser", 1, 2, priority=MIDDLE),
        ],
        [PLACED, "evictions", "moves"],
        [job("victim", 1, 8, priority=LOW, at={"a": 1})],
        tiers={
            "unplaced[priority=1000, milli-GPU, may preempt]": 0,
            "unplaced[priority=100, milli-GPU]": 0,
            "unplaced[priority=10, milli-GPU]": 0,
            "evictions[priority=10]": 0,
            "unplaced[priority=1000, milli-GPU, never preempt]": 8000,
            "moves": 0,
        },
        placement={"able": {"b": 1}, "lesser": {"c": 1}},
    )


def moved_into_a_victims_room() -> Known:
    return Known(
        "no-move-into-a-victims-room",
        """
        An important pod of one core has a place on n3. To evict r "for it", to move m where r was
        and to place one that waits where m was would profit those who may evict nobody.
        """,
        (),
        [node("n1", gpus=0, cpu=4), node("n2", gpus=0, cpu=5), node("n3", gpus=0, cpu=1)],
        [
            job("hi", 1, 0, priority=HIGH, cpu=1),
            job("q1", 1, 0, priority=0, cpu=3),
            job("q2", 1, 0, priority=0, cpu=3),
        ],
        [PLACED, "evictions", "moves"],
        [
            job("r", 1, 0, priority=0, cpu=4, at={"n1": 1}),
            job("m", 1, 0, priority=0, cpu=4, at={"n2": 1}),
        ],
        tiers={
            "unplaced[priority=1000, CPU-only pods]": 0,
            "displaced[priority=0, CPU-only pods]": 0,
            "evictions[priority=0]": 0,
            "unplaced[priority=0, CPU-only pods]": 2,
            "moves": 0,
        },
    )


def reported() -> Iterator[Known]:
    yield scattered_victims()
    yield gathered_victims()
    yield pod_slots()
    yield one_slot()
    yield gang_and_pretext()
    yield never_and_its_equal()
    yield moved_into_a_victims_room()
