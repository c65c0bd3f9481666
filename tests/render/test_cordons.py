"""Nodes that a script closes for a while are open when a pod comes that is to start there."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kantopt.render.kube.cordons import Closing, cordons
from kantopt.render.kube.fates import Fates
from kantopt.render.targets import Asked
from kantopt.schema.answers.plan import Plan
from tests.render.api_cluster import HOSTNAME, Budget, Cluster, Object
from tests.render.api_server import Fault
from tests.render.kube_trials import Ran, carried_out
from tests.render.kube_worlds import cluster, moving, node, plan_for, pod

needs_kubectl = pytest.mark.skipif(
    shutil.which("kubectl") is None, reason="kubectl is not there: --system installs it"
)
ANYWAY = Asked(shell=True, evict_anyway=True)
Script = Callable[..., Ran]


@pytest.fixture(params=[False, True], ids=["later", "quick"])
def script(request: pytest.FixtureRequest, tmp_path: Path) -> Script:
    """Carries a plan out where replacements have nodes a while after the eviction, or with it."""

    def run(made: Cluster, plan: Plan, **more: Any) -> Ran:
        made.binds_at_once = request.param
        return carried_out(tmp_path, made, plan, asked=ANYWAY, **more)

    return run


def chain(kind: str = "ReplicaSet") -> tuple[Cluster, Plan]:
    """Node c is emptied: y goes to a, and before it x from a to b; d would take y as well."""
    pods = [
        pod("x-0", 2, on="a", owner=f"{kind}/x"),
        pod("s-0", 4, on="a", owner=f"{kind}/s", selector={HOSTNAME: "a.lan"}),
        pod("t-0", 6, on="b", owner=f"{kind}/t", selector={HOSTNAME: "b.lan"}),
        pod("y-0", 4, on="c", owner=f"{kind}/y"),
    ]
    made = cluster([node(name) for name in "abcd"], pods)
    plan = plan_for(made, "defrag")
    ways = [(move.job, move.from_node, move.to_node) for move in plan.moves]
    assert ways == [("team/x", "a", "b"), ("team/y", "c", "a")]
    made.prefers = {f"{kind}-x": ["b"], f"{kind}-y": ["a", "d"]}
    return made, plan


@pytest.mark.parametrize(
    ("kind", "early"),
    [("ReplicaSet", ["a"]), ("ReplicationController", ["a"]), ("StatefulSet", []), ("Job", [])],
)
def test_only_who_is_replaced_at_once_has_the_node_opened_before(
    kind: str, early: list[str]
) -> None:
    _, plan = chain(kind)
    assert list(cordons(plan, Fates(plan, ANYWAY)).values()) == [
        Closing([], ["a"], [], []),
        Closing(["c"], [], ["a"], early),
    ]


@needs_kubectl
@pytest.mark.parametrize("kind", ["ReplicaSet", "StatefulSet", "Job"])
def test_who_is_to_start_on_a_node_that_was_closed_does(kind: str, script: Script) -> None:
    made, plan = chain(kind)
    done = script(made, plan)
    assert (done.code, done.err) == (0, "")
    assert not made.cordoned()


@needs_kubectl
def test_a_node_stays_closed_while_a_budget_refuses_the_eviction(script: Script) -> None:
    made, plan = chain()
    made.budgets.append(Budget("team", ("app", "y"), 1))
    closed = []

    def let_go(made: Cluster, method: str, path: str) -> Fault:
        if path.partition("?")[0].endswith("/pods/y-0/eviction"):
            closed.append("a" in made.cordoned())
            if len(closed) == 3:
                made.budgets.clear()
        return None

    done = script(made, plan, meddler=let_go)
    assert done.code == 0, done.err
    assert closed == [True, True, True, False]
    assert made.done[-4:-1] == [("cordon", "c"), ("uncordon", "a"), ("evict", "uid-y-0")]


@needs_kubectl
def test_what_leaves_does_not_come_back_to_the_node_it_left(script: Script) -> None:
    made, plan = moving()
    made.prefers = {"ReplicaSet-app": [plan.moves[0].from_node, plan.moves[0].to_node]}
    assert script(made, plan).code == 0
    assert not made.cordoned()


@needs_kubectl
@pytest.mark.parametrize("mark", [{}, {"kantopt/cordoned-by": "sha256:12"}])
def test_a_node_that_others_have_cordoned_stays_so(mark: Object, script: Script) -> None:
    made, plan = moving()
    left = plan.moves[0].from_node
    plan = plan.model_copy(update={"assignments": (), "waves": plan.waves[:1]})
    made.nodes[left]["spec"]["unschedulable"] = True
    made.nodes[left]["metadata"]["annotations"] = mark
    done = script(made, plan)
    assert done.code == 0
    assert made.cordoned() == {left}
    said = f"Cordoned by the script of another plan, which still runs or was killed: {left}"
    assert (said in done.out.splitlines()) == bool(mark)


@needs_kubectl
@pytest.mark.parametrize("ready", ["600", "0"])
def test_a_node_that_is_drained_stays_cordoned_however_it_ends(script: Script, ready: str) -> None:
    made, plan = moving()
    left = plan.moves[0].from_node
    model = plan.model.model_copy(update={"drain": (left,)})
    update = {"assignments": (), "waves": plan.waves[:1], "model": model}
    plan = plan.model_copy(update=update)
    made.prefers = {} if ready == "0" else made.prefers
    done = script(made, plan, KANTOPT_READY=ready)
    assert f"Cordons first, and leaves cordoned: {left}" in done.out
    assert made.done[0] == ("cordon", left)
    assert ("uncordon", left) not in made.done
    assert made.cordoned() == {left}
    assert script(made, plan).out.count("close node") == 0, "it is closed"
    assert made.cordoned() == {left}
