"""Members above the minimum of gangs: the more important have the room of the less important."""

from __future__ import annotations

import pytest

from tests.search.helpers import built, where
from tests.verify.world import Document, job, node, pods, question

UNPLACED = {"unplaced": {"by": "priority", "unit": "gpu"}}


def gang(name: str, on: list[str], priority: int, gpu: int = 2) -> Document:
    """A gang that runs and can do without all of its members but one."""
    return job(name, pods(count=len(on), gpu=gpu, minCount=1, on=on), priority=priority)


def test_a_member_that_has_to_go_runs_where_a_less_important_one_can_be_spared() -> None:
    """The job needs the fast node; the gang's other members stay, so it is not gone as a whole."""
    fast = job("j", pods(gpu=2, nodeSelector={"kind": "fast"}), priority=9)
    jobs = [gang("middle", ["a", "b"], 5), gang("low", ["c", "d"], 1), fast]
    nodes = [node("a", gpu=2, labels={"kind": "fast"}), *(node(n, gpu=2) for n in "bcd")]
    instance = question(nodes, jobs, objectives=[UNPLACED, "evictions", "moves"])
    placement = built(instance, relocate=True)
    assert where(instance, placement, "j") == {"a": 1}
    assert sum(where(instance, placement, "middle").values()) == 2
    assert sum(where(instance, placement, "low").values()) == 1


def test_of_members_that_can_be_spared_go_rather_many_than_gpus() -> None:
    """Two members of one GPU are less than one of four, where GPUs count first."""
    jobs = [
        gang("small", ["a", "a", "c"], 1, gpu=1),
        gang("large", ["b", "c"], 1, gpu=4),
        job("keeps", pods(gpu=2, on=["a"]), priority=9),
        job("j", pods(gpu=2), priority=9),
    ]
    nodes = [node("a", gpu=4), node("b", gpu=4), node("c", gpu=5)]
    instance = question(nodes, jobs, objectives=[UNPLACED, "evictions"])
    assert where(instance, built(instance), "j") == {"a": 1}
    fewest = question(nodes, jobs, objectives=["evictions", UNPLACED])
    assert where(fewest, built(fewest), "j") == {"b": 1}


@pytest.mark.parametrize("preempts", [True, False])
@pytest.mark.parametrize("first", ["unplaced", "evictions"])
def test_new_members_take_the_place_of_less_important_ones(first: str, *, preempts: bool) -> None:
    """But not where evictions count before them, nor of jobs that may evict nobody."""
    more = {} if preempts else {"preemptionPolicy": "Never"}
    grows = job("grows", pods(count=4, gpu=2, minCount=1), priority=9, **more)
    jobs = [gang("low", ["b", "c"], 1), job("plain", pods(gpu=2, on=["d"]), priority=1), grows]
    objectives = [UNPLACED, "evictions"]
    if first == "evictions":
        objectives.reverse()
    instance = question([node(n, gpu=2) for n in "abcd"], jobs, objectives=objectives)
    placement = built(instance)
    took = preempts and first == "unplaced"
    assert sum(where(instance, placement, "grows").values()) == (2 if took else 1)
    assert sum(where(instance, placement, "low").values()) == (1 if took else 2)
    assert where(instance, placement, "plain") == {"d": 1}


def test_new_members_look_in_their_own_rack_only() -> None:
    """However many cheaper places there are in others."""
    rack = {"required": "rack"}
    near = [node(n, gpu=2, rack="b/r1") for n in ("a", "b", "stays")]
    far = [node(f"n{i}", gpu=2, rack="b/r2") for i in range(12)]
    jobs = [
        gang("near", ["b", "stays"], 5),
        *(gang(f"far{i}", [f"n{2 * i}", f"n{2 * i + 1}"], 1) for i in range(6)),
        job("grows", pods(count=2, gpu=2, minCount=1, topologyRequest=rack), priority=9),
    ]
    instance = question([*near, *far], jobs, objectives=[UNPLACED, "evictions"])
    placement = built(instance)
    assert sum(where(instance, placement, "grows").values()) == 2
    assert sum(where(instance, placement, "near").values()) == 1
