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
