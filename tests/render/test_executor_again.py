"""Scripts that stopped on the way, run again: they go on, or say that it would be in vain."""

from __future__ import annotations

import itertools
import shutil
from pathlib import Path

import pytest

from kantopt.render.targets import Asked
from kantopt.schema.answers.plan import Plan
from tests.render.api_cluster import Budget, Cluster
from tests.render.api_server import Fault
from tests.render.kube_trials import carried_out
from tests.render.kube_worlds import HELD, cluster, node, plan_for, pod

pytestmark = pytest.mark.skipif(
    shutil.which("kubectl") is None, reason="kubectl is not there: --system installs it"
)
ANYWAY = Asked(shell=True, evict_anyway=True)


def one_by_one() -> tuple[Cluster, Plan]:
    """Two pods of one owner that step aside one after the other, as their budget has it."""
    nodes = [node("n0"), node("n1"), node("n2", 4)]
    running = [pod(f"a-{i}", 2, on=f"n{i}", priority=100) for i in range(2)]
    waiting = [pod(f"w-{i}", 8, owner=f"Job/w{i}", priority=100, gates=HELD) for i in range(2)]
    made = cluster(nodes, [*running, *waiting], budgets=[Budget("team", ("app", "app"), 1)])
    plan = plan_for(made)
    assert [item.to_node for item in plan.moves] == ["n2", "n2"]
    waves = [{item.id for item in plan.moves} & {*wave.actions} for wave in plan.waves]
    assert max(map(len, waves)) == 1, "one at a time"
    made.prefers = {"ReplicaSet-app": ["n2"]}
    return made, plan


def test_a_second_run_finds_what_later_waves_have_moved(tmp_path: Path) -> None:
    made, plan = one_by_one()
    assert carried_out(tmp_path, made, plan, asked=ANYWAY).code == 0
    before = list(made.done)
    again = carried_out(tmp_path, made, plan, asked=ANYWAY)
    assert (again.code, again.err, made.done) == (0, "", before)


def test_a_run_that_stopped_in_a_later_wave_goes_on(tmp_path: Path) -> None:
    made, plan = one_by_one()
    made.leave_after = 0
    evictions = itertools.count(1)

    def linger(made: Cluster, method: str, path: str) -> Fault:
        if path.endswith("/eviction") and next(evictions) == 2:
            made.leave_after = 3
        return None

    stopped = carried_out(tmp_path, made, plan, asked=ANYWAY, meddler=linger, KANTOPT_MARGIN="0")
    assert (stopped.code, stopped.err.count("1 begun")) == (1, 1), stopped.err
    assert "Run it again to go on" in stopped.err
    again = carried_out(tmp_path, made, plan, asked=ANYWAY)
    assert (again.code, again.err) == (0, "")
    assert len([entry for entry in made.done if entry[0] == "evict"]) == 2


def test_who_came_back_elsewhere_is_named_and_what_helps_is_said(tmp_path: Path) -> None:
    made, plan = one_by_one()
    made.nodes["n3"] = node("n3")
    made.prefers = {"ReplicaSet-app": ["n3"]}
    stopped = carried_out(tmp_path, made, plan, asked=ANYWAY)
    [there] = [p for p in made.pods.values() if p["spec"].get("nodeName") == "n3"]
    who = f"of the owner of team/{plan.moves[0].pods[0].name} (uid ReplicaSet-app)"
    found = f"on node n3: found 1 ({there['metadata']['name']}), expected 0"
    assert (stopped.code, who in stopped.err, found in stopped.err) == (1, True, True), stopped.err
    assert "Run it again to go on" not in stopped.err, "it would be refused"
    assert "kantopt verify --against DUMP PLAN -O REST" in stopped.err
    assert carried_out(tmp_path, made, plan, asked=ANYWAY).code == 3
