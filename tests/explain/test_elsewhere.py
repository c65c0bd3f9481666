"""What is said of a job where nodes are closed, or those are missing that it must be near."""

from __future__ import annotations

import pytest

from tests.explain.test_verdict import verdict
from tests.verify.world import Document, job, node, pods


@pytest.mark.parametrize("closed", [{"unschedulable": True}, {"ready": False}])
def test_never_is_said_of_the_open_nodes_where_others_are_closed(closed: Document) -> None:
    nodes = [node("small", gpu=4), node("large", gpu=8) | closed]
    told = verdict([job("j", pods(gpu=8))], nodes)
    assert told.verdict.message == (
        "NEVER on the nodes that are open: its pod has no place even if nothing else runs; "
        "1 of 2 nodes cannot be used now."
    )
    assert verdict([job("j", pods(gpu=8))], nodes[:1]).verdict.message.startswith(
        "NEVER on this hardware: "
    )


@pytest.mark.parametrize(("near", "aside"), [("db", True), ("j", False)])
def test_whom_a_job_must_be_near_is_taken_for_there_on_an_empty_cluster_and_said_so(
    near: str, aside: bool
) -> None:
    """Its like may be itself, the first one."""
    term = {"topologyKey": "rack", "labelSelector": {"matchLabels": {"job": near}}}
    jobs = [
        job("full", pods(count=4, gpu=8, on=["n0", "n1", "n2", "n3"]), priority=9),
        job("j", pods(gpu=8, podAffinity=[term])),
    ]
    told = verdict(jobs)
    empty = next(a for a in told.verdict.answers if a.question == "on an empty cluster")
    assert empty.answer == "yes"
    assert (empty.message == "its pod would fit if those that it must be near were there") is aside


def test_peers_that_may_move_are_not_taken_for_gone_by_spread() -> None:
    """Without them their domain would be the emptiest, and too few pods could be beside it."""
    even = {
        "topologyKey": "kubernetes.io/hostname",
        "maxSkew": 1,
        "labelSelector": {"matchLabels": {"t": "a"}},
    }
    told = verdict(
        [
            job("fixed", pods(labels={"t": "a"}, on=["n0"]), movable=False),
            job("filler", pods(on=["n0"])),
            job("peer", pods(labels={"t": "a"}, on=["n1"])),
            job("j", pods(gpu=1, labels={"t": "a"}, topologySpreadConstraints=[even])),
        ],
        [node("n0", cpu=2, gpu=1), node("n1", cpu=2)],
    )
    assert told.verdict.message.startswith("FITS AFTER MOVING: its pod fits with 1 pod moved;")
