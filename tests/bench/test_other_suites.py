"""VM rescheduling and openb: read from data, asked under limits that fit their size."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kantopt.errors import UsageError
from kantopt.problem.build import build_instance
from kantopt.problem.tiers import tiers_of
from kantopt.schema.base import API_VERSION
from kantopt.schema.jobs import Assignment, Job, PodSet
from kantopt.schema.snapshot import ClusterSnapshot, Node
from kantopt.verify.metrics import measure
from scripts.bench import openb, vm_rescheduling
from scripts.bench.campaign import Campaign
from scripts.bench.case import Case, Documents
from scripts.bench.grid import Grid, seeds_of
from scripts.bench.peer import ceiling_table, slots_table
from scripts.bench.row import Bound
from scripts.bench.suites import SUITES
from scripts.bench.vm_rescheduling import walled
from tests.bench.rows import row

DATA = os.environ.get("KANTOPT_DATA")
needs_data = pytest.mark.skipif(DATA is None, reason="needs third-party data: KANTOPT_DATA unset")


def two_clusters(pods: int) -> Documents:
    """A job that runs in one of two clusters of one node each."""
    places = (Assignment(node="a-1", count=pods),)
    job = Job(name="vm-1", pod_sets=(PodSet(count=pods, assignments=places),))
    nodes = (Node(name="a-1", labels={"cluster": "a"}), Node(name="b-1", labels={"cluster": "b"}))
    snapshot = ClusterSnapshot(
        api_version=API_VERSION, kind="ClusterSnapshot", nodes=nodes, jobs=(job,)
    )
    return Documents(snapshot)


def test_a_wall_keeps_each_vm_in_its_cluster() -> None:
    podset = walled(two_clusters(1)).snapshot.jobs[0].pod_sets[0]
    assert podset.node_selector == {"cluster": "a"}


def test_moves_are_limited_by_number_or_by_share_of_what_runs() -> None:
    assert vm_rescheduling.model("mnl-25")(two_clusters(1)).limits.moves == 25
    limits = openb.model("moves-0.5")(two_clusters(1000)).limits
    assert (limits.moves, limits.evictions) == (5, 0)


@pytest.mark.parametrize(
    ("suite", "name"),
    [
        ("openb", "moves-x"),
        ("openb", "training"),
        ("vm-rescheduling", "mnl-"),
        ("vm-rescheduling", "slots-x"),
        ("gangs", "none"),
    ],
)
def test_a_model_that_a_suite_does_not_know_is_a_usage_error(suite: str, name: str) -> None:
    with pytest.raises(UsageError, match="--models"):
        SUITES[suite].model(name)


@pytest.mark.parametrize("suite", ["openb", "vm-rescheduling"])
def test_suites_that_need_data_say_so(suite: str) -> None:
    with pytest.raises(UsageError, match="KANTOPT_DATA"):
        SUITES[suite].cases(Grid())


def test_seeds_are_as_many_as_asked_for_and_always_the_same() -> None:
    assert seeds_of(20, None) == seeds_of(20, None)
    assert len(set(seeds_of(20, None))) == 20
    assert seeds_of(2, None) == seeds_of(20, None)[:2]


def test_slots_are_compared_with_the_known_optimum() -> None:
    ours = row(
        suite="vm-rescheduling",
        instance="snapshot",
        parameters={"nodes": "279", "greedy": "2/5/8"},
        model="mnl-25",
        before=(85, 0),
        values=(63, 25),
        bounds=(Bound(63), Bound(24)),
        statuses=("OPTIMAL", "FEASIBLE"),
    )
    table = slots_table([ours])
    assert table is not None
    line = dict(zip(table.columns, table.rows[0], strict=True))
    assert (line["START"], line["GREEDY"], line["SLOTS"]) == ("2", "8", "24")
    assert (line["BOUND"], line["OPTIMUM"]) == ("24", "24")
    assert slots_table([row(suite="gangs")]) is None


def test_slots_of_a_generated_cluster_are_held_against_the_bound() -> None:
    ours = row(
        suite="vm-rescheduling",
        instance="generated",
        parameters={"greedy": "500/501/502"},
        model="mnl-1",
        before=(900, 0),
        values=(880, 1),
        bounds=(Bound(875), None),
    )
    table = slots_table([ours])
    assert table is not None
    line = dict(zip(table.columns, table.rows[0], strict=True))
    assert (line["START"], line["GREEDY"], line["SLOTS"]) == ("500", "501", "520")
    assert (line["BOUND"], line["OPTIMUM"]) == ("525", "-")
    assert line["GAP"] == "1.0 % (5/525)"


def test_gpus_gained_are_held_against_the_ceiling() -> None:
    ours = row(
        suite="openb",
        instance="repair-fgd",
        model="moves-1",
        before=(90_000, 0),
        values=(60_000, 80),
        bounds=(Bound(50_000), Bound(0)),
    )
    table = ceiling_table([ours])
    assert table is not None
    line = dict(zip(table.columns, table.rows[0], strict=True))
    assert (line["GPUS"], line["CEILING"], line["SHARE"]) == ("30.00", "40.00", "75.00")
    assert ceiling_table([row(suite="gangs")]) is None


def test_a_case_of_one_model_is_asked_once() -> None:
    cases = tuple(
        Case("openb", name, 0, {}, lambda: two_clusters(1), one_model=name == "offline")
        for name in ("offline", "repair")
    )
    models = {name: openb.model(name) for name in openb.MODELS}
    campaign = Campaign(cases, models, ("fast", "auto"), (1.0, 2.0))
    assert {model for _, model, _ in campaign.asked(cases[0])} == {openb.MODELS[0]}
    assert len(campaign.asked(cases[1])) == 12
    assert campaign.total == 16


@pytest.mark.data
@needs_data
def test_the_vm_snapshot_starts_with_two_slots_of_87() -> None:
    case = vm_rescheduling.cases(Path(str(DATA)))[0]
    made = case.make()
    model = vm_rescheduling.model("mnl-10")(made)
    instance = build_instance(made.snapshot, made.pending, model)
    assert measure(instance, instance.current, tiers_of(instance)) == (85, 0)
    assert not case.for_pending  # nothing waits, and yet there is something to do


@pytest.mark.data
@needs_data
def test_what_fgd_left_behind_has_thousands_of_pods_waiting() -> None:
    cases = {case.instance: case for case in openb.cases(Path(str(DATA)))}
    made = cases["repair-fgd"].make()
    assert made.pending_pods() == 2532
    assert openb.model("moves-1")(made).limits.moves == 83
