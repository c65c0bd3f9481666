"""Pods that make no whole copy count for nothing: not as moves, not as what is in the way."""

from __future__ import annotations

from typing import Any

from kantopt.clock import Deadline
from kantopt.planning.capacity.asked import job_of
from kantopt.planning.capacity.run import capacity
from kantopt.planning.question import Question
from kantopt.planning.solving.options import Options
from kantopt.schema.answers.capacity import Capacity
from kantopt.schema.extends import load_model
from tests.questions import question

GPU = "nvidia.com/gpu"
HOST = "kubernetes.io/hostname"
APART = [{"topologyKey": HOST, "labelSelector": {"matchLabels": {"app": "c"}}}]
SPREAD = [{**APART[0], "maxSkew": 1, "minDomains": 9}]


def node(name: str, gpus: int = 1, pool: str = "north") -> dict[str, Any]:
    offers = {GPU: gpus, "pods": 9}
    return {"name": name, "labels": {HOST: name, "pool": pool}, "allocatable": offers}


def runs(name: str, on: str, gpus: int = 1, **more: Any) -> dict[str, Any]:
    podset = {"count": 1, "requests": {GPU: gpus}, "assignments": [{"node": on}], **more}
    return {"name": name, "movable": gpus > 0, "podSets": [podset]}


def pods(count: int, **more: Any) -> dict[str, Any]:
    podset = {
        "count": count,
        "labels": {"app": "c"},
        "nodeSelector": {"pool": "north"},
        "requests": {GPU: 1},
    }
    return {"name": "c", "podSets": [{**podset, **more}]}


def count(asked: Question) -> Capacity:
    model = load_model("mixed")
    return capacity(
        asked, model, job_of(asked, None, model), None, Options(), Deadline.within(20.0)
    )


NODES = [node(f"n{i}") for i in range(1, 5)] + [node(f"s{i}", pool="south") for i in (1, 2)]


def test_no_pod_moves_for_a_part_of_a_copy() -> None:
    # Beside d on n4 none of its pods may be, so three places are all: a copy, and half of one.
    full = [runs("x", "n2"), runs("y", "n3"), runs("d", "n4", 0, labels={"app": "c"})]
    found = count(question(NODES, full, [pods(2, podAntiAffinity=APART)]))
    now, _, every = found.rooms
    assert (now.jobs, now.bound, now.moves) == (0, 0, 0)
    assert (every.jobs, every.bound, every.moves, every.fewest_moves) == (1, 1, 1, True)


def test_what_is_short_is_counted_for_a_whole_copy() -> None:
    found = count(question([*NODES[:3], node("n4", 2)], [], [pods(3, podAntiAffinity=APART)]))
    now = found.rooms[0]
    assert (now.jobs, now.bound) == (1, 1)
    assert now.one_more is not None
    assert now.one_more.message.startswith("1 of 3 pods fit")
    assert now.one_more.message.endswith("short of 2 pods")


def test_a_part_of_a_copy_is_in_no_copies_way() -> None:
    found = count(question([node("n1", 2)], [], [pods(2, podAntiAffinity=APART)]))
    now = found.rooms[0]
    assert (now.jobs, now.bound) == (0, 0)
    assert now.one_more is not None
    assert now.one_more.message.startswith("1 of 2 pods fit")
    assert now.one_more.message.endswith("short of 1 pod")


def test_spread_closes_no_nodes_for_pods_of_no_whole_copy() -> None:
    nodes = [node(f"n{i}", 2) for i in range(1, 5)]
    found = count(question(nodes, [], [pods(3, topologySpreadConstraints=SPREAD)]))
    now = found.rooms[0]
    assert (now.jobs, now.bound) == (1, 1)
    assert now.one_more is not None
    assert now.one_more.message.startswith("1 of 3 pods fit")
    assert now.one_more.message.endswith("short of 2 pods")
