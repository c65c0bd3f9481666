"""The empty cluster, and nodes that are added: daemons are of their nodes."""

from __future__ import annotations

from tests.explain.helpers import asked, explained
from tests.verify.world import job, node, pods


def test_daemons_stay_on_the_empty_cluster_and_come_to_nodes_that_are_added() -> None:
    nodes = [node(f"n{i}", gpu=8, cpu=8) for i in range(2)]
    daemon = job("d", pods(count=2, cpu=1, on=["n0", "n1"]), daemon=True)
    runs = job("r", pods(gpu=4, cpu=1, on=["n0"]))
    told = explained(asked(nodes, [daemon, runs, job("j", pods(gpu=8, cpu=8))]))
    assert (told.verdict.status, told.verdict.proved) == ("NEVER", True)
    assert told.verdict.message.endswith("even if nothing else runs but daemons.")
    assert told.pod_sets[0].message == (
        "0/2 nodes are available: 2 Insufficient cpu even when empty."
    )
    assert told.conflict is not None
    assert told.conflict.items[0].message == "9 of 8 cpu with its pod"
    assert [remedy.edit for remedy in told.remedies] == ["set=default/j:main:cpu=7"]


def test_a_node_too_small_is_short_of_what_it_lacks_when_empty() -> None:
    runs = job("r", pods(gpu=4, on=["n0"]))
    told = explained(asked([node("n0", gpu=8, cpu=8)], [runs, job("j", pods(gpu=8, cpu=9))]))
    assert (
        told.pod_sets[0].message == "0/1 nodes are available: 1 Insufficient cpu even when empty."
    )


def test_smaller_requests_are_those_of_nodes_that_have_all_else() -> None:
    nodes = [node("n0", gpu=8, cpu=8), node("n1", cpu=16)]
    daemon = job("d", pods(count=2, cpu=1, on=["n0", "n1"]), daemon=True)
    told = explained(asked(nodes, [daemon, job("j", pods(gpu=4, cpu=9))]))
    assert "set=default/j:main:cpu=7" in [remedy.edit for remedy in told.remedies]
