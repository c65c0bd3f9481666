"""Jobs that run: which other nodes have room for them."""

from __future__ import annotations

from kantopt.clock import Deadline
from kantopt.planning.explain.running import Whereabouts, runs_message
from kantopt.schema.answers.explanation import Explanation
from tests.explain.helpers import asked, explained, model_of
from tests.verify.world import GPU, Document, job, node, pods


def told_of(jobs: list[Document]) -> Explanation:
    return explained(asked([node(name, gpu=8) for name in "abc"], jobs))


def test_nodes_of_a_job_that_runs_are_told_from_others_that_have_room() -> None:
    others = [job("r", pods(gpu=1, on=["c"]))]
    told = told_of([*others, job("j", pods(count=2, gpu=8, on=["a", "b"]))])
    assert told.elsewhere[0].nodes.message == (
        f"2/3 nodes are available, where it is, with room for 2 of 2 pods: 1 Insufficient {GPU}."
    )
    assert told.verdict.message.endswith("; no other nodes have room for all of them.")
    [more] = told_of([*others, job("j", pods(gpu=7, on=["a"]))]).elsewhere
    assert more.nodes.message == "3/3 nodes are available, it is on 1 of them."


def test_without_time_nothing_is_said_of_other_nodes_of_a_job_that_runs() -> None:
    question = asked([node(name, gpu=8) for name in "ab"], [job("j", pods(gpu=8, on=["a"]))])
    whereabouts = Whereabouts(question, model_of(question), "default/j", Deadline(0.0))
    *_, parts = whereabouts.elsewhere()
    [document] = question.snapshot.jobs
    message = runs_message(document, parts, sure=whereabouts.sure)
    assert message.endswith("; whether other nodes have room for it was not decided in the time.")


def test_pods_that_are_left_alone_have_no_other_place_and_it_is_said_why() -> None:
    alone = {"notModelled": ["resource-claims"]}
    told = told_of([job("j", pods(gpu=8, on=["a"], **alone))])
    assert told.elsewhere == ()
    assert told.verdict.message == (
        "RUNS: its pod runs, and may not move: it has pods with resource claims, which is not "
        "modelled; --assume resource-claims plans them all the same."
    )


def test_of_a_job_that_runs_pods_that_are_left_alone_keep_their_room() -> None:
    alone = {"notModelled": ["claims"]}
    mixed = [pods("x", gpu=8, on=["a"], **alone), pods("y", gpu=8, on=["b"])]
    told = told_of([job("j", *mixed)])
    assert [part.pod_set for part in told.elsewhere] == ["y"]
    assert [other.places for other in told.elsewhere[0].alternatives] == [("c",)]


def test_gpu_time_that_a_move_would_lose_does_not_hide_that_another_place_is_better() -> None:
    mover = job("j", pods(gpu=1, on=["a"]), startTime="2026-01-01T00:50:00Z", moveMode="restart")
    told = explained(
        asked(
            [node(name, gpu=8) for name in "ab"],
            [mover, job("r", pods(gpu=1, on=["b"]))],
            {"objectives": ["lost_gpu_seconds", "nodes_in_use"]},
        )
    )
    [other] = told.elsewhere[0].alternatives
    assert (other.verdict, other.objective) == ("better", "nodes_in_use")
