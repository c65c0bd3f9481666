"""Sweeps: grids by hand, the same whoever runs the cells, and cells that fail."""

from __future__ import annotations

import os
import signal
from fractions import Fraction
from typing import Any

import pytest

from kantopt.clock import Stop
from kantopt.planning.question import Question
from kantopt.report.blocks import Screen, render
from kantopt.report.sweep import sweep_blocks
from kantopt.schema.answers.simulation import Simulation
from kantopt.schema.answers.sweep import Sweep
from kantopt.schema.duration import duration_seconds
from kantopt.schema.extends import load_model
from kantopt.schema.jobs import Job
from kantopt.schema.policies import load_policy
from kantopt.schema.raw import RawDocument
from kantopt.schema.snapshot import ClusterSnapshot
from kantopt.schema.trace import Trace
from kantopt.schema.validation import validate
from kantopt.simulate.asked import Asked
from kantopt.simulate.figures import figures_of
from kantopt.simulate.runs import How, simulate
from kantopt.simulate.sweep import cell
from kantopt.simulate.sweep.grid import Grid, faster, with_nodes
from kantopt.simulate.sweep.local import run_here
from kantopt.simulate.sweep.merged import merged, sweep_csv
from tests.questions import document

GPU = "nvidia.com/gpu"
HOST = "kubernetes.io/hostname"
HOUR = 3_600_000


def snapshot(nodes: int = 1, per_rack: int = 2) -> ClusterSnapshot:
    levels = [{"name": "block", "nodeLabel": "block"}, {"name": "rack", "nodeLabel": "rack"}]
    machines = [
        {
            "name": f"n{i}",
            "labels": {
                "block": "b",
                "rack": f"r{i // per_rack}",
                "kubernetes.io/hostname": f"n{i}",
            },
            "allocatable": {GPU: 8},
        }
        for i in range(nodes)
    ]
    data = {"kind": "ClusterSnapshot", "topology": {"levels": levels}, "nodes": machines}
    found: ClusterSnapshot = document({**data, "metadata": {"name": "one"}}, ClusterSnapshot)
    return found


def trace(name: str, arrivals: list[str], **more: Any) -> Trace:
    """Jobs of one whole node and one hour each."""
    podset = {"count": 1, "requests": {GPU: 8}}
    jobs = [
        {"name": f"j{i}", "arrival": at, "duration": "1h", "podSets": [podset]}
        for i, at in enumerate(arrivals)
    ]
    found: Trace = document(
        {"kind": "Trace", "metadata": {"name": name}, "jobs": jobs, **more}, Trace
    )
    return found


def grid(**more: Any) -> Grid:
    traces = (trace("a", ["0s", "0s", "0s"]), trace("b", ["0s", "30m", "1h"]))
    question = Question("test.yaml", snapshot(), (), None, None, ())
    policies = (load_policy("fifo"), load_policy("e-binpack"))
    asked = Asked(question, traces, policies, load_model("mixed"))
    return Grid(asked, How(), **{"nodes": (0, 1, 2), "like": "n0", **more})


def swept(asked: Grid, workers: int = 2) -> Sweep:
    return merged(asked, run_here(asked, workers, Stop(), lambda number, result: None))


def values(found: Sweep, metric: str, scope: str = "all") -> dict[tuple[int, str, str], Any]:
    return {
        (v.nodes, v.load, v.policy): v.values
        for v in found.values
        if (v.metric, v.scope) == (metric, scope)
    }


def test_waiting_by_hand_is_less_with_more_nodes_and_more_with_more_load() -> None:
    found = swept(grid(loads=("1", "2")))
    waits = values(found, "wait_p95")
    assert waits[0, "1", "fifo"] == (2 * HOUR, HOUR)  # 0, 1, 2 hours; 0, 0.5, 1 hours
    assert waits[1, "1", "fifo"] == (HOUR, 0)
    assert waits[2, "1", "fifo"] == (0, 0)
    assert waits[0, "2", "fifo"] == (2 * HOUR, 1.5 * HOUR)  # 0, 0.75, 1.5 hours
    assert waits == values(found, "wait_p95", "8")
    row = next(v for v in found.values if v.metric == "wait_p95" and v.nodes == 0)
    assert row.mean == 1.5 * HOUR
    assert row.half_width is not None
    assert row.half_width == pytest.approx(12.706 * (HOUR / 2**0.5) / 2**0.5)
    assert found.failed == ()


def test_a_cell_is_what_a_simulation_of_it_is() -> None:
    asked = grid(nodes=(0,))
    found = swept(asked)
    alone: Simulation = figures_of(simulate(asked.asked, How()))
    for group in alone.groups:
        for measure in group.measures:
            if measure.metric in ("wait_p50", "wait_p90", "wait_p99", "wait_mean", "gar_mean"):
                mine = values(found, measure.metric, measure.scope)
                for estimate in measure.estimates:
                    assert mine[0, "1", estimate.policy] == estimate.values
    assert (found.events, found.judged) == (alone.events, alone.judged)


def test_added_nodes_have_fresh_names_and_fill_leaves_of_their_own() -> None:
    cluster = snapshot(nodes=3)
    new = with_nodes(cluster, "n0", 3, "new").nodes[3:]
    assert [node.name for node in new] == ["n0-new-1", "n0-new-2", "n0-new-3"]
    assert [node.labels["rack"] for node in new] == ["r0-new-1", "r0-new-1", "r0-new-2"]
    assert [node.labels["block"] for node in new] == ["b"] * 3
    assert [node.labels[HOST] for node in new] == [n.name for n in new]
    again = with_nodes(with_nodes(cluster, "n0", 1, "new"), "n0", 1, "new").nodes[-1]
    assert (again.name, again.labels["rack"]) == ("n0-new-2", "r0-new-2")
    old = with_nodes(cluster, "n2", 2, "existing").nodes[3:]
    assert [node.labels["rack"] for node in old] == ["r1", "r1"]


def test_added_nodes_bear_the_daemons_of_the_node_they_are_like() -> None:
    podset = {"count": 1, "requests": {"cpu": 1}, "assignments": [{"node": "n0"}]}
    daemon = validate(RawDocument("d", 0, {"name": "d", "daemon": True, "podSets": [podset]}), Job)
    cluster = snapshot().model_copy(update={"jobs": (daemon,)})
    added = with_nodes(cluster, "n0", 2, "new")
    [podset] = added.jobs[0].pod_sets
    assert [place.node for place in podset.assignments] == ["n0", "n0-new-1", "n0-new-2"]


def test_a_load_moves_arrivals_and_nothing_else() -> None:
    outages = [{"node": "n0", "at": "1h", "lasts": "10m"}]
    before = trace("a", ["0s", "10s", "1h"], outages=outages)
    after = faster(before, Fraction("1.5"))
    assert [job.arrival for job in after.jobs] == ["0s", "7s", "2400s"]
    assert [job.duration for job in after.jobs] == ["1h"] * 3
    assert after.outages == before.outages
    assert faster(before, Fraction(1)) is before


def test_jobs_may_come_as_late_as_the_least_load_makes_them() -> None:
    before = trace("a", ["999999d"])
    assert duration_seconds(faster(before, Fraction("0.01")).jobs[0].arrival) == 99_999_900 * 86_400


def test_the_same_bytes_come_out_whoever_runs_the_cells() -> None:
    asked = grid(nodes=(0, 1))
    one, three = swept(asked, 1), swept(asked, 3)
    assert one == three
    assert sweep_csv(one) == sweep_csv(three)
    rows = sweep_csv(one).decode().splitlines()
    assert rows[0] == "nodes,load,policy,trace,metric,class,value,unit,at_least"
    assert "0,1,fifo,a,wait_p95,all,7200000,ms,False" in rows


def test_failed_cells_are_named_and_the_others_stand(monkeypatch: pytest.MonkeyPatch) -> None:
    real = cell.simulate

    def failing(asked: Asked, how: How, **more: Any) -> Any:
        policy, on = asked.policies[0].metadata.name, asked.traces[0].metadata.name
        if (policy, on, len(asked.question.snapshot.nodes)) == ("fifo", "a", 2):
            raise ValueError("no such thing")
        if (policy, on, len(asked.question.snapshot.nodes)) == ("e-binpack", "b", 1):
            os.kill(os.getpid(), signal.SIGKILL)
        return real(asked, how, **more)

    monkeypatch.setattr(cell, "simulate", failing)
    found = swept(grid(nodes=(0, 1)))
    assert [(f.nodes, f.policy, f.trace) for f in found.failed] == [
        (0, "e-binpack", "b"),
        (1, "fifo", "a"),
    ]
    assert found.failed[0].reason == "its process died: signal SIGKILL"
    assert found.failed[1].reason.startswith("internal error: ValueError: no such thing")
    waits = values(found, "wait_p95")
    assert waits[1, "1", "fifo"] == (None, 0)
    assert waits[0, "1", "fifo"] == (2 * HOUR, HOUR)
    text = render(sweep_blocks(found), Screen())
    assert "1 node more, load x 1, fifo on a: internal error" in text


def test_a_wish_to_stop_leaves_what_is_done() -> None:
    stop = Stop()

    def tell(number: int, result: cell.Result) -> None:
        stop.signal = signal.SIGINT

    asked = grid()
    results = run_here(asked, 1, stop, tell)
    assert list(results) == [0]
    assert merged(asked, results).notes == ("interrupted: 1 of 12 cells were simulated",)


def test_the_answer_is_said_in_words_and_by_size_class_if_it_is_wide() -> None:
    found = swept(grid())
    text = render(sweep_blocks(found), Screen())
    assert (
        "With 1 more node of type n0, load x 1 and fifo, the 95th percentile of waiting is 30m +- "
    ) in text
    assert "GPUS" not in text
    wide = render(sweep_blocks(found, wide=True), Screen())
    assert "GPUS" in wide
