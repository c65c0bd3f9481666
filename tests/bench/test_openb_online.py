"""Arrivals in windows: what one window places is gone from the nodes of the next."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from kantopt.errors import BadDataError, MissingInputError
from kantopt.formats.traces.openb import MODEL_LABEL
from kantopt.schema.base import API_VERSION, Expression
from kantopt.schema.jobs import DeviceRequest, Job, NodeSelectorTerm, PodSet
from kantopt.schema.snapshot import ClusterSnapshot, Node, NodeDevices
from kantopt.search.strategy import Strategy
from scripts.bench.measure import versions
from scripts.bench.online_runs import COLUMNS, OnlineRow, asked, read_online, run_all, to_cells
from scripts.bench.online_tables import against_table, online_blocks, online_table
from scripts.bench.openb_arrivals import LOADS_PERCENT, NAMED, TRACES, Arrivals, name_models
from scripts.bench.openb_online import Online, cut, reaches, simulate
from scripts.bench.table import append_line, begin_lines


def pod(i: int, gpu: str, count: int = 1) -> Job:
    """A pod that asks for so much of each of some GPUs."""
    need = DeviceRequest(device_class="gpu", count=count, requests={"gpu": gpu})
    return Job(name=f"pod-{i}", pod_sets=(PodSet(count=1, requests={"cpu": 1}, devices=(need,)),))


def arrivals(*pods: Job, cpu: int = 64) -> Arrivals:
    """Pods that come to two nodes of two GPUs."""
    device = NodeDevices(device_class="gpu", count=2, capacity={"gpu": 1})
    nodes = tuple(Node(name=n, allocatable={"cpu": cpu}, devices=(device,)) for n in ("a", "b"))
    snapshot = ClusterSnapshot(api_version=API_VERSION, kind="ClusterSnapshot", nodes=nodes)
    return Arrivals("default", 1, snapshot, pods)


@pytest.mark.parametrize("window", [1, 2, 3, 100])
def test_no_window_takes_what_another_has_taken(window: int) -> None:
    coming = arrivals(*(pod(i, "500m") for i in range(12)))
    run = simulate(coming, Strategy.FGD, window)
    assert run.allocated[LOADS_PERCENT[-1]] == pytest.approx(100.0)  # 8 halves, 4 have no place


@pytest.mark.parametrize("window", [1, 2])
def test_resources_of_the_node_run_out_too(window: int) -> None:
    coming = arrivals(*(pod(i, "500m") for i in range(12)), cpu=2)
    run = simulate(coming, Strategy.FGD, window)
    assert run.allocated[LOADS_PERCENT[-1]] == pytest.approx(50.0)


@pytest.mark.parametrize("strategy", [Strategy.FGD, Strategy.LOOKAHEAD])
def test_a_window_of_several_takes_the_largest_first(strategy: Strategy) -> None:
    coming = arrivals(*(pod(i, "1") for i in range(2)), pod(2, "1", 2), pod(3, "500m"))
    one_by_one = simulate(coming, Strategy.LEAST_ALLOCATED, 1)
    assert one_by_one.allocated[LOADS_PERCENT[0]] == pytest.approx(50.0)
    together = simulate(coming, strategy, 5)
    assert together.allocated[LOADS_PERCENT[0]] == pytest.approx(100.0)


def test_a_window_ends_where_a_load_is_reached() -> None:
    """The pod of two GPUs comes after those of one have reached every load but the last."""
    coming = arrivals(*(pod(i, "1") for i in range(4)), pod(4, "1", 2))
    together = simulate(coming, Strategy.FGD, 5)
    assert together.arrived == pytest.approx({95: 100.0, 100: 100.0, 130: 150.0})
    assert together.allocated == pytest.approx(dict.fromkeys(LOADS_PERCENT, 100.0))


def test_windows_hold_all_pods_once_and_end_at_the_marks() -> None:
    assert cut(7, 3, (4, 4, 7)) == [range(0, 3), range(3, 4), range(4, 7)]
    assert cut(5, 10, (5, 5)) == [range(0, 5)]
    assert reaches([500, 0, 500, 600, 100], 1000) == {95: 3, 100: 3, 130: 4}
    assert reaches([500], 1000) == {95: 1, 100: 1, 130: 1}


def test_a_whole_node_is_kept_for_a_pod_that_needs_it() -> None:
    """After four single GPUs a pod of two has no node left, unless one was held back."""
    singles = [pod(i, "1") for i in range(2)]
    coming = arrivals(*singles, pod(2, "1", 2), pod(3, "1"), pod(4, "1", 2))
    run = simulate(coming, Strategy.LOOKAHEAD, 1)
    assert run.allocated[LOADS_PERCENT[1]] == pytest.approx(100.0)


def test_a_pool_is_kept_for_pods_that_nothing_else_admits() -> None:
    """Pods for any GPU come first: on node a they are in the way of those that name its model."""
    first = [pod(i, "1") for i in range(2)]
    later = [naming(pod(i, "1"), "A10") for i in (2, 3)]
    coming = arrivals(*first, *later)
    labelled = [
        node.model_copy(update={"labels": {MODEL_LABEL: model}})
        for node, model in zip(coming.snapshot.nodes, ("A10", "T4"), strict=True)
    ]
    snapshot = coming.snapshot.model_copy(update={"nodes": tuple(labelled)})
    for strategy, found in ((Strategy.LOOKAHEAD, 100.0), (Strategy.BEST_FIT, 50.0)):
        run = simulate(replace(coming, snapshot=snapshot), strategy, 1)
        assert run.allocated[LOADS_PERCENT[1]] == pytest.approx(found)


def test_in_a_pool_a_node_is_kept_for_a_pod_that_wants_most_of_its_cpu() -> None:
    """Two halves of the pool's model that share a node leave the other to a pod of 12 CPUs."""
    halves = [naming(asking(pod(i, "500m"), 5), "A10") for i in range(2)]
    large = naming(asking(pod(2, "1"), 12), "A10")
    anywhere = [asking(pod(i, "1"), 4) for i in range(3, 7)]
    coming = arrivals(*halves, large, *anywhere)
    sizes = (("a", "A10", 16), ("b", "A10", 16), ("c", "T4", 96), ("d", "T4", 96))
    nodes = tuple(
        coming.snapshot.nodes[0].model_copy(
            update={"name": name, "labels": {MODEL_LABEL: model}, "allocatable": {"cpu": cpu}}
        )
        for name, model, cpu in sizes
    )
    snapshot = coming.snapshot.model_copy(update={"nodes": nodes})
    run = simulate(replace(coming, snapshot=snapshot), Strategy.LOOKAHEAD, 1)
    assert run.allocated == run.arrived  # 6 of 8 GPUs


def test_a_third_of_the_pods_with_gpus_name_a_model_that_holds_them() -> None:
    small = NodeDevices(device_class="gpu", count=1, capacity={"gpu": 1})
    large = NodeDevices(device_class="gpu", count=4, capacity={"gpu": 1})
    nodes = [
        Node(name="a", labels={MODEL_LABEL: "T4"}, allocatable={"cpu": 1}, devices=(small,)),
        Node(name="b", labels={MODEL_LABEL: "G2"}, allocatable={"cpu": 64}, devices=(large,)),
        Node(name="c", labels={MODEL_LABEL: "A10"}, allocatable={"cpu": "500m"}, devices=(small,)),
    ]
    without = Job(name="cpu", pod_sets=(PodSet(count=1, requests={"cpu": 1}),))
    ones, pairs = [pod(i, "500m") for i in range(600)], [pod(i, "1", 2) for i in range(600, 900)]
    named = name_models([*ones, *pairs, without], nodes, 7)
    assert named == name_models([*ones, *pairs, without], nodes, 7)
    assert named != name_models([*ones, *pairs, without], nodes, 8)
    assert named[-1] == without
    wanted = [job.pod_sets[0].node_affinity for job in named]
    models = [terms[0].match_expressions[0].values[0] if terms else "" for terms in wanted]
    assert 250 < sum(map(bool, models)) < 350
    assert set(models[600:]) == {"", "G2"}  # two GPUs are on no other
    assert 3 < models[:600].count("G2") / models[:600].count("T4") < 6  # as there are GPUs: 4


def asking(job: Job, cpu: int) -> Job:
    """The same pod, with so many CPUs."""
    podset = job.pod_sets[0].model_copy(update={"requests": {"cpu": cpu}})
    return job.model_copy(update={"pod_sets": (podset,)})


def naming(job: Job, model: str) -> Job:
    """The same pod, on GPUs of one model only."""
    wanted = Expression(key=MODEL_LABEL, operator="In", values=(model,))
    terms = (NodeSelectorTerm(match_expressions=(wanted,)),)
    podset = job.pod_sets[0].model_copy(update={"node_affinity": terms})
    return job.model_copy(update={"pod_sets": (podset,)})


def row(strategy: str, window: int, seed: int, *allocated: float) -> OnlineRow:
    """A run in which pods for every load had come and so much was allocated."""
    arrived = {load: float(load) for load in LOADS_PERCENT}
    by_load = dict(zip(LOADS_PERCENT, allocated, strict=True))
    run = Online("default", strategy, window, seed, arrived, by_load, 0.5, 0.25)
    return OnlineRow(run, 100 + seed, 1, 2, 0.5, versions()[0])


def test_published_means_stand_beside_ours_and_what_of_the_arrivals_has_a_place() -> None:
    runs = [row("best-fit", 1, 1, 95.0, 96.0, 97.0), row("best-fit", 1, 2, 94.05, 95.0, 96.0)]
    table = online_table(runs)
    cells = dict(zip(table.columns, table.rows[0], strict=True))
    assert cells["PUBLISHED"] == "93.08"
    assert (cells["95 %"], cells["OF ARRIVED"], cells["100 %"]) == ("94.53", "99.50", "95.50")
    assert (cells["SLOWEST"], cells["MEAN"], cells["MIB"]) == ("0.500", "0.250", "102")


def test_each_strategy_is_held_against_fgd_on_the_same_arrivals() -> None:
    theirs = [row("fgd", 1, seed, 94.0, 95.0, 95.0) for seed in (1, 2)]
    ours = [row("lookahead", 50, 1, 95.0, 95.0, 96.0), row("lookahead", 50, 2, 95.0, 96.0, 94.0)]
    table = against_table([*theirs, *ours, row("lookahead", 50, 3, 0.0, 0.0, 0.0)])
    assert table is not None
    assert table.rows == (
        ("default", "lookahead", "50", "2", "+1.00", "2/0/0", "+0.50", "1/1/0", "+0.00", "1/0/1"),
    )
    assert against_table(ours) is None
    assert len(online_blocks([*theirs, *ours])) == 2


def test_rows_are_read_back_and_those_of_other_sources_left(tmp_path: Path) -> None:
    path = tmp_path / "online.csv"
    begin_lines(path, COLUMNS)
    first, second = row("fgd", 1, 1, 94.5, 95.25, 95.0), row("lookahead", 50, 42, 95.0, 96.0, 96.1)
    for each in (first, second, replace(first, kantopt="another")):
        append_line(path, to_cells(each))
    assert read_online(path) == [first, second]
    with path.open("a") as file:
        file.write("default,fgd,many\n")
    with pytest.raises(BadDataError, match="line 5"):
        read_online(path)


def test_what_is_simulated_can_be_chosen() -> None:
    everything = asked(2)
    assert {one.trace for one in everything} == set(TRACES)
    assert {one.seed for one in everything} == {42, 1}
    assert {one.window for one in everything if one.strategy is Strategy.LOOKAHEAD} == {1, 50, 200}
    chosen = asked(1, [Strategy.FGD], [7])
    assert {one.key for one in chosen} == {(trace, "fgd", 7, 42) for trace in TRACES}
    named = asked(1, [Strategy.FGD], [7], [NAMED])
    assert {one.key for one in named} == {(NAMED, "fgd", 7, 42)}


def test_a_trace_that_is_not_there_is_said_to_be_missing(tmp_path: Path) -> None:
    wanted = asked(1, [Strategy.FGD], [1])
    with pytest.raises(MissingInputError, match="openb_node_list_gpu_node"):
        run_all(wanted, (), tmp_path, 1, lambda _: None)


def test_what_is_done_is_not_run_again(tmp_path: Path) -> None:
    wanted = asked(1, [Strategy.FGD], [1])
    run_all(wanted, [one.key for one in wanted], tmp_path, 1, lambda _: None)


@pytest.mark.data
def test_a_run_is_a_process_with_a_peak_of_its_own() -> None:
    folder = os.environ.get("KANTOPT_DATA")
    if not folder or not (Path(folder) / "openb").is_dir():
        pytest.skip("KANTOPT_DATA does not name a folder with openb")
    rows: list[OnlineRow] = []
    run_all(asked(1, [Strategy.FGD], [1])[:1], (), Path(folder) / "openb", 1, rows.append)
    assert rows[0].online.allocated[100] == pytest.approx(95.28, abs=0.01)
    assert 50 < rows[0].peak_mib < 4096
