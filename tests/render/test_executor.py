"""Scripts carried out by kubectl on a cluster in memory, to their end and into failures."""

from __future__ import annotations

import itertools
import shutil
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kantopt.render.kubectl import render
from kantopt.render.targets import Asked
from kantopt.schema.answers.plan import Plan
from scripts.render_faults import SAMPLE
from tests.render.api_cluster import Budget, Cluster, Object
from tests.render.api_server import Fault, made_up_config
from tests.render.kube_trials import Ran, carried_out, run_script, trial
from tests.render.kube_worlds import HELD, cluster, drawn, moving, node, plan_for, pod

pytestmark = pytest.mark.skipif(
    shutil.which("kubectl") is None, reason="kubectl is not there: --system installs it"
)


def crowded(*victims: Object, budgets: tuple[Budget, ...] = (), **of_who_waits: object) -> Cluster:
    """One node, full of victims, and a more important pod that waits behind our gate."""
    options = {"owner": "Job/w", "priority": 100, "gates": HELD, **of_who_waits}
    waiting = pod("w-0", 8, **options)  # type: ignore[arg-type]
    return cluster([node("n0")], [*victims, waiting], budgets=list(budgets))


def halves(owner: str = "Job/v") -> tuple[Object, Object]:
    return tuple(pod(f"v-{i}", 4, on="n0", owner=owner) for i in range(2))  # type: ignore[return-value]


@pytest.fixture
def script(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., Ran]:
    """Writes a plan as a script and runs it; with a parameter, where replacements are quick."""

    def run(made: Cluster, plan: Plan, *options: str, **more: Any) -> Ran:
        made.binds_at_once = getattr(request, "param", False)
        return carried_out(tmp_path, made, plan, *options, **more)

    return run


Script = Callable[..., Ran]
ANYWAY = Asked(shell=True, evict_anyway=True)
both_ways = pytest.mark.parametrize("script", [False, True], indirect=True, ids=["later", "quick"])


def test_victims_leave_and_the_pod_they_left_for_starts_in_their_place(script: Script) -> None:
    made = crowded(*halves())
    done = script(made, plan_for(made))
    assert (done.code, done.err) == (0, "")
    assert made.pods["uid-w-0"]["spec"]["nodeName"] == "n0"
    kinds = [entry[0] for entry in made.done if entry[0] != "evict"]
    assert kinds == ["cordon", "pin", "gate", "uncordon"]
    assert "server http://127.0.0.1" in done.out
    assert "context made-up" in done.out
    assert "kube-system has the uid that the plan knows, cluster-1" in done.out


def test_a_pod_that_is_left_to_the_scheduler_is_waited_for_at_the_end_too(script: Script) -> None:
    made = crowded(*halves(), gates=())
    plan = plan_for(made)
    made.pods["uid-w-0"]["spec"]["nodeSelector"] = {"no": "node"}
    done = script(made, plan, asked=ANYWAY, KANTOPT_READY="1")
    assert (done.code, "w-0 (uid uid-w-0) has not started" in done.err) == (1, True)
    assert "bind b1, left to you: 0 of 1 pods done\n" in done.err


def test_a_second_run_finds_all_done(script: Script) -> None:
    made = crowded(*halves())
    plan = plan_for(made)
    script(made, plan)
    before = list(made.done)
    assert (script(made, plan).code, made.done) == (0, before)


def test_a_trial_run_has_all_checked_and_changes_nothing(script: Script) -> None:
    made = crowded(*halves())
    done = script(made, plan_for(made), "--dry-run=server")
    assert (done.code, made.done) == (0, []), done.err
    assert "nothing was changed" in done.out
    blocked = crowded(*halves(), budgets=(Budget("team", ("app", "v"), 2),))
    plan = plan_for(crowded(*halves()))
    refused = script(blocked, plan, "--dry-run=server", KANTOPT_RETRY="0")
    assert refused.code == 1
    assert "TooManyRequests" in refused.err


@pytest.mark.parametrize("options", [(), ("--dry-run=server",)])
def test_that_nobody_answers_is_told_at_once_and_nothing_is_left_behind(
    options: tuple[str, ...], tmp_path: Path
) -> None:
    path, home = tmp_path / "plan.sh", tmp_path / "home"
    home.mkdir()
    path.write_text(render(plan_for(crowded(*halves())), Asked(shell=True)).text)
    with socket.socket() as mute:
        mute.bind(("127.0.0.1", 0))
        mute.listen()
        config = tmp_path / "kubeconfig"
        config.write_text(made_up_config(f"http://127.0.0.1:{mute.getsockname()[1]}"))
        # Longer than a script may take here: it would not end in time if it tried again.
        patient = {"KANTOPT_RETRY": "600", "KANTOPT_ANSWER": "1", "HOME": str(home)}
        silent = run_script(path, config, *options, **patient)
    refused = run_script(path, config, *options, **patient)
    for done in (silent, refused):
        assert done.code == 3
        first, *rest = done.err.splitlines()
        assert first.startswith("REFUSED: the cluster does not answer: ")
        assert rest == ["Nothing was done."]
        assert list(home.iterdir()) == []
    # Whichever of its two clocks is first.
    assert "Client.Timeout exceeded" in silent.err or "context deadline exceeded" in silent.err
    assert "was refused" in refused.err


def test_that_a_request_is_tried_again_is_said_once(script: Script) -> None:
    made = crowded(*halves())

    def no_cordon(_: Cluster, method: str, path: str) -> Fault:
        return "drop" if path.startswith("/api/v1/nodes/") else None

    done = script(made, plan_for(made), meddler=no_cordon, KANTOPT_RETRY="1")
    assert (done.code, made.done) == (1, [])
    assert done.err.count("No answer, tried again for up to 1 s: ") == 1
    assert "STOPPED in wave 1: node n0 cannot be cordoned" in done.err


def test_another_cluster_is_refused(script: Script) -> None:
    made = crowded(*halves())
    plan = plan_for(made)
    made.uid = "cluster-2"
    done = script(made, plan)
    assert (done.code, made.done) == (3, [])
    assert "kube-system has uid cluster-2, the plan is for cluster-1" in done.err


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda n: n["metadata"].update(uid="new"), "node n0 is another one: uid new"),
        (lambda n: n["spec"].update(unschedulable=True), "node n0 is cordoned"),
        (lambda n: n["status"].update(conditions=[]), "node n0 is not ready"),
        (lambda n: n["metadata"].update(labels={}), "node n0 has the hostname label ,"),
        (lambda n: n["metadata"].update(name="other"), "node n0 is not there"),
    ],
)
def test_a_node_that_is_not_as_the_plan_has_it_is_refused(
    change: Callable[[Object], None], said: str, script: Script
) -> None:
    made = crowded(*halves())
    plan = plan_for(made)
    change(made.nodes["n0"])
    done = script(made, plan)
    assert (done.code, made.done) == (3, [])
    assert said in done.err


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda p: p.pop("uid-w-0"), "it is gone, or another pod has its name"),
        (lambda p: p["uid-w-0"]["spec"].update(schedulingGates=[]), "let go by somebody else"),
        (lambda p: p["uid-w-0"]["spec"].update(nodeName="n9"), "it is on n9, not on n0"),
        (lambda p: p["uid-v-0"]["metadata"].update(ownerReferences=[]), "has another owner"),
    ],
)
def test_a_stale_plan_is_refused_before_anything_is_done(
    change: Callable[[dict[str, Object]], object], said: str, script: Script
) -> None:
    made = crowded(*halves())
    plan = plan_for(made)
    change(made.pods)
    made.nodes["n0"]["status"]["allocatable"]["nvidia.com/gpu"] = "0"
    done = script(made, plan)
    assert (done.code, made.done) == (3, [])
    assert "the plan is stale" in done.err
    assert said in done.err


def test_an_old_plan_is_refused_unless_its_age_is_allowed(script: Script) -> None:
    made = crowded(*halves())
    done = script(made, plan_for(made), KANTOPT_MAX_AGE="3600")
    assert done.code == 3
    assert "minutes ago; make it anew" in done.err


def test_a_victim_that_has_left_by_itself_is_no_surprise(script: Script) -> None:
    made = crowded(*halves())
    plan = plan_for(made)
    made.pods["uid-v-0"]["status"]["phase"] = "Succeeded"
    del made.pods["uid-v-1"]
    assert script(made, plan).code in (0, 1)
    assert not [entry for entry in made.done if entry[0] == "evict"]


def test_a_refusal_by_a_budget_is_tried_again_until_the_time_is_up(script: Script) -> None:
    made = crowded(*halves())
    plan = plan_for(made)
    made.budgets.append(Budget("team", ("app", "v"), 2))
    done = script(made, plan, KANTOPT_RETRY="1")
    assert done.code == 1
    assert "still refused after 1 s" in done.err
    assert "disruption budget" in done.err
    assert not made.cordoned()
    assert not [entry for entry in made.done if entry[0] == "evict"]


def test_a_budget_that_lets_go_in_time_is_waited_for(script: Script) -> None:
    made = crowded(*halves())
    plan = plan_for(made)
    numbers = itertools.count()

    def refuse_twice(_: Cluster, method: str, path: str) -> Fault:
        return "429" if path.endswith("/eviction") and next(numbers) < 2 else None

    done = script(made, plan, meddler=refuse_twice)
    assert done.code == 0
    assert done.err.count("refused for now, tried again for up to 20 s: ") == 1, "who waits knows"
    assert "TooManyRequests" in done.err


def test_two_budgets_on_a_pod_are_not_argued_with(script: Script) -> None:
    made = crowded(*halves())
    plan = plan_for(made)
    made.budgets = [Budget("team", ("app", "v"), 0)] * 2
    done = script(made, plan, KANTOPT_RETRY="600")
    assert done.code == 1
    assert "more than one PodDisruptionBudget" in done.err


@both_ways
def test_a_name_that_is_used_again_is_not_waited_for(script: Script) -> None:
    made, plan = moving("StatefulSet/app")
    done = script(made, plan, asked=ANYWAY)
    assert done.code == 0, done.err
    (moved,) = plan.moves[0].pods
    back = made.by_name("team", moved.name)
    assert back["metadata"]["uid"] != moved.uid
    assert back["spec"]["nodeName"] == plan.moves[0].to_node


def test_a_grace_period_is_sent_and_waited_for(script: Script) -> None:
    made = crowded(pod("v-0", 8, on="n0", owner="Job/v", grace=3600))
    made.leave_after = 10**6
    plan = plan_for(made)
    asked = render(plan, Asked(shell=True)).text
    assert " 3600 " in asked
    made = crowded(pod("v-0", 8, on="n0", owner="Job/v", grace=1))
    plan = plan_for(made)
    made.leave_after = 10**6
    done = script(made, plan, KANTOPT_MARGIN="0")
    assert done.code == 1
    assert "after 1 s of grace and 0 s: team/v-0 (uid uid-v-0) is not gone" in done.err


@both_ways
def test_a_restarted_pod_is_ready_before_others_follow(script: Script) -> None:
    made, plan = moving()
    made.ready_after = 4
    done = script(made, plan, asked=ANYWAY)
    assert done.code == 0, done.err
    kinds = [entry[0] for entry in made.done]
    assert kinds.index("evict") < kinds.index("gate")


@both_ways
def test_a_restarted_pod_that_never_gets_ready_stops_the_script(script: Script) -> None:
    made, plan = moving()
    made.never_ready = {"ReplicaSet-app"}
    done = script(made, plan, asked=ANYWAY, KANTOPT_READY="1")
    assert done.code == 1
    owner = f"the owner of team/{plan.moves[0].pods[0].name} (uid ReplicaSet-app)"
    assert f"0 of 1 pods of {owner} are ready on node" in done.err
    assert "move m1: 1 of 1 pods done" in done.err
    assert "bind b1: 0 of 1 pods done" in done.err
    assert "gate" not in [entry[0] for entry in made.done]
    assert not made.cordoned()


@both_ways
def test_a_pod_that_comes_back_elsewhere_stops_the_script(script: Script) -> None:
    made, plan = moving()
    made.nodes["n2"] = node("n2")
    made.prefers = {"ReplicaSet-app": ["n2"]}
    done = script(made, plan, asked=ANYWAY)
    assert done.code == 1
    assert "on node n2: found 1 (" in done.err
    again = script(made, plan, asked=ANYWAY)
    assert (again.code, "on node n2" in again.err) == (3, True)


@pytest.mark.parametrize("fault", ["drop", "drop-after", "409"])
@pytest.mark.parametrize("number", [0, 1, 3])
def test_a_lost_or_conflicting_request_is_looked_into(
    fault: Fault, number: int, script: Script
) -> None:
    made = crowded(*halves())
    numbers = itertools.count()

    def once(_: Cluster, method: str, path: str) -> Fault:
        return fault if next(numbers) == number else None

    done = script(made, plan_for(made), meddler=once)
    assert done.code == 0, done.err
    assert len([e for e in made.done if e[0] == "evict"]) == 2


def test_options_that_are_not_there_are_refused(script: Script) -> None:
    made = crowded(*halves())
    plan = plan_for(made)
    done = script(made, plan, "--dry-run")
    assert (done.code, made.done) == (2, [])
    assert "found '--dry-run', expected --dry-run=server" in done.err
    assert "usage:" in done.err
    other = script(made, plan, "--dryrun")
    assert other.code == 2
    assert "found '--dryrun', expected one of the options below" in other.err
    assert script(made, plan, KANTOPT_READY="soon").code == 2
    told = script(made, plan, "--help")
    assert told.code == 0
    assert "Does 2 evictions, 1 binding." in told.out


def test_a_context_is_the_one_that_is_named(script: Script) -> None:
    made = crowded(*halves())
    plan = plan_for(made)
    assert script(made, plan, "--context=nowhere").code == 3
    assert script(made, plan, "--context=made-up").code == 0


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="shellcheck is not there")
def test_scripts_are_clean(tmp_path: Path) -> None:
    for seed in (3, 4, 23):
        path = tmp_path / "plan.sh"
        path.write_text(render(drawn(seed)[1], ANYWAY).text)
        done = subprocess.run(
            ["shellcheck", str(path)], capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize("seed", range(0, SAMPLE, 3))
def test_what_goes_wrong_leaves_a_state_that_the_plan_names(seed: int, tmp_path: Path) -> None:
    assert not trial(seed, tmp_path).wrong
