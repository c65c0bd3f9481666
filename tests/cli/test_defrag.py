"""``kantopt defrag``: goals, what they cost, and what is left alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Cli

SNAPSHOT = """\
apiVersion: kantopt/v1alpha1
kind: ClusterSnapshot
metadata: {name: scattered, capturedAt: "2026-09-01T03:00:00Z"}
topology: {levels: [{name: rack, nodeLabel: rack}]}
nodes:
- {name: n1, labels: {rack: a}, allocatable: {cpu: 32, nvidia.com/gpu: 8}}
- {name: n2, labels: {rack: a}, allocatable: {cpu: 32, nvidia.com/gpu: 8}}
- {name: n3, labels: {rack: b}, allocatable: {cpu: 32, nvidia.com/gpu: 8}}
- {name: n4, labels: {rack: b}, allocatable: {cpu: 32, nvidia.com/gpu: 8}}
jobs:
- name: agent
  namespace: kube-system
  daemon: true
  podSets:
  - count: 4
    minCount: 0
    requests: {cpu: 1}
    assignments: [{node: n1}, {node: n2}, {node: n3}, {node: n4}]
- name: one
  namespace: red
  podSets:
  - {count: 1, labels: {app: one}, requests: {nvidia.com/gpu: 4}, assignments: [{node: n1}]}
- name: two
  namespace: red
  podSets:
  - count: 2
    minCount: 0
    requests: {nvidia.com/gpu: 2}
    assignments: [{node: n2, count: 2}]
- name: three
  namespace: blue
  podSets:
  - {count: 1, labels: {keep: "yes"}, requests: {nvidia.com/gpu: 2}, assignments: [{node: n3}]}
- name: four
  namespace: blue
  podSets:
  - {count: 2, minCount: 0, requests: {nvidia.com/gpu: 1}, assignments: [{node: n4}]}
"""

GPU = "nvidia.com/gpu"
PENDING = """\
apiVersion: kantopt/v1alpha1
kind: JobList
jobs:
- {name: big, namespace: red, podSets: [{count: 2, requests: {nvidia.com/gpu: 8}}]}
- {name: other, namespace: red, podSets: [{count: 1, requests: {nvidia.com/gpu: 1}}]}
"""


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "snap.yaml").write_text(SNAPSHOT)
    (tmp_path / "jobs.yaml").write_text(PENDING)
    monkeypatch.chdir(tmp_path)


def plan_of(cli: Cli, *arguments: str, code: int = 0) -> dict[str, Any]:
    """The plan document that a run writes; it is true and legal."""
    done = cli("defrag", *arguments, "-o", "json", "-O", "plan.json")
    assert done.code == code, done.err
    files = [name for name in arguments if name.endswith(".yaml")]
    judged = cli("verify", *files, "plan.json")
    assert judged.code == 0, judged.out
    plan: dict[str, Any] = json.loads(Path("plan.json").read_text())
    return plan


def goal_of(plan: dict[str, Any]) -> dict[str, Any]:
    (goal,) = plan["goals"]
    return {name: goal.get(name) for name in ("before", "after", "goal", "missedBy")}


def test_the_table_says_what_is_gained_for_how_many_pods(cli: Cli) -> None:
    done = cli("defrag", "snap.yaml", "--goal", "empty-nodes=2")
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[0] == "Move 2 pods."
    assert lines[1].startswith("OPTIMAL: ")
    row = next(line for line in lines if line.startswith("empty nodes"))
    assert row.split() == ["empty", "nodes", "0", "2", "2", "1", "reached"]


def test_daemons_stay_and_do_not_keep_a_node_in_use(cli: Cli) -> None:
    plan = plan_of(cli, "snap.yaml", "--goal", "empty-nodes=1")
    assert goal_of(plan) == {"before": 0, "after": 1, "goal": 1, "missedBy": 0}
    assert plan["summary"]["movedPods"] == 1
    assert plan["solver"]["status"] == "OPTIMAL"


def test_the_fewest_moves_empty_a_rack(cli: Cli) -> None:
    plan = plan_of(cli, "snap.yaml", "--goal", "empty-domain=rack:1")
    assert goal_of(plan) == {"before": 0, "after": 1, "goal": 1, "missedBy": 0}
    assert {move["job"] for move in plan["moves"]} == {"blue/three", "blue/four"}
    assert plan.get("unplaced", []) == []  # nothing was to be bound


def test_at_most_k_moves_go_as_far_as_they_can(cli: Cli) -> None:
    plan = plan_of(cli, "snap.yaml", "--goal", "empty-nodes", "--max-moves", "1")
    assert goal_of(plan) == {"before": 0, "after": 1, "goal": None, "missedBy": None}
    assert plan["summary"]["movedPods"] == 1


def test_room_is_made_for_the_jobs_named_and_only_they_are_bound(cli: Cli) -> None:
    plan = plan_of(cli, "snap.yaml", "jobs.yaml", "--goal", "fit=big")
    assert {item["job"] for item in plan["assignments"]} == {"red/big"}
    assert goal_of(plan) == {"before": 1, "after": 0, "goal": 0, "missedBy": 0}
    assert plan.get("unplaced", []) == []


def test_room_by_evictions_reaches_the_goal_whoever_waits_again(cli: Cli) -> None:
    Path("first.yaml").write_text(PENDING.replace("name: other,", "name: other, priority: 9,"))
    Path("full.yaml").write_text(
        "apiVersion: kantopt/v1alpha1\nkind: ClusterSnapshot\n"
        "nodes: [{name: a, allocatable: {nvidia.com/gpu: 1}}]\n"
        "jobs:\n- {name: old, podSets: [{count: 1, requests: {nvidia.com/gpu: 1}, "
        "assignments: [{node: a}]}]}"
    )
    files = ("full.yaml", "first.yaml", "--goal", "fit=other", "--max-evictions", "1")
    for more in ((), ("--min-benefit", "1")):
        plan = plan_of(cli, *files, *more)
        assert goal_of(plan) == {"before": 1, "after": 0, "goal": 0, "missedBy": 0}
        assert [item["job"] for item in plan["evictions"]] == ["default/old"]


def test_what_is_exempt_stays(cli: Cli) -> None:
    out = cli("defrag", "snap.yaml", "--goal", "empty-nodes=1", "--exempt", "keep=yes").out
    assert out.startswith("Move 1 pod.")
    plan = plan_of(cli, "snap.yaml", "--goal", "empty-domain=rack:1", "--exempt", "keep")
    assert {move["job"] for move in plan["moves"]} == {"red/one", "red/two"}


def test_a_label_that_no_pod_has_exempts_nobody_and_is_named(cli: Cli) -> None:
    arguments = ("snap.yaml", "--goal", "empty-nodes=2")
    said = "exempt keep=never: no pod has this label, so it keeps nobody"
    assert said in cli("defrag", *arguments, "--exempt", "keep=never").out
    assert said in cli("defrag", "snap.yaml", "--exempt", "keep=never").out
    assert "no pod has" not in cli("defrag", *arguments, "--exempt", "keep=yes").out


def test_limits_hold_per_namespace(cli: Cli) -> None:
    arguments = ("snap.yaml", "--goal", "empty-nodes", "--limit", "movesPerNamespace=1")
    plan = plan_of(cli, *arguments)
    moved = [move["job"].split("/")[0] for move in plan["moves"]]
    assert sorted(moved) == ["blue", "red"]
    assert plan["model"]["limits"] == {"evictions": 0, "movesPerNamespace": 1}


def test_moves_are_for_what_an_operator_asked_for(cli: Cli) -> None:
    out = cli("defrag", "snap.yaml", "--goal", "empty-nodes=2").out
    rows = [line for line in out.splitlines() if " move " in line]
    assert rows
    assert all(line.endswith("  more empty nodes") for line in rows), out


def test_a_gain_that_is_not_worth_its_moves_is_left(cli: Cli) -> None:
    arguments = ("snap.yaml", "--goal", "empty-domain=rack:1", "--min-benefit")
    plan = plan_of(cli, *arguments, "0.6", code=3)
    assert plan["summary"]["changes"] is False
    assert "less than the 0.6 per pod" in plan["warnings"][0]
    out = cli("defrag", *arguments, "0.6", "--engine", "fast").out
    assert out.startswith("Nothing to do; the goal is missed.\n")
    assert plan_of(cli, *arguments, "0.5")["summary"]["movedPods"] == 2


@pytest.mark.parametrize(
    ("goals", "options", "code"),
    [
        (["empty-nodes=0"], [], 0),
        (["empty-nodes=1"], [], 2),
        (["empty-nodes=4"], [], 3),
        (["empty-nodes=4"], ["--require-goal"], 4),
        (["empty-nodes=9"], ["--require-goal"], 4),
        (["empty-nodes=9"], [], 3),
    ],
)
def test_exit_codes_tell_reached_missed_and_impossible(
    cli: Cli, goals: list[str], options: list[str], code: int
) -> None:
    given = [argument for goal in goals for argument in ("--goal", goal)]
    done = cli("defrag", "snap.yaml", *given, "--detailed-exitcode", *options)
    assert done.code == code, done.out
    plainly = cli("defrag", "snap.yaml", *given, *options)
    assert plainly.code == (code if code >= 3 else 0), plainly.out
    if code >= 3:
        assert "missed by" in done.out or "more than all that there is; planned for 4" in done.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--goal", "empty"], 'error: --goal: found "empty", expected one of empty-nodes[=N], '),
        (["--goal", "empty-nodes=x"], 'found "x", expected a whole number, or +N'),
        (["--goal", f"empty-nodes={10**9}"], "expected a whole number of at most nine digits"),
        (["--goal", "empty-nodes=1,class=a=b"], 'found "a=b", expected a name'),
        (["--goal", "fit=big,class=cpu"], "found class, which fit does not take"),
        (["--goal", "fragment-rate=cpu"], "expected RESOURCE:SIZE[/CLASS][:N]"),
        (["--goal", "stranded-gpus=-1"], "expected a number of GPUs"),
        (["--goal", "empty-nodes", "--goal", "empty-nodes"], "twice, expected each goal once"),
        (["--limit", "moves=1"], '--limit: found "moves=1", expected one of movesPerJob=N'),
        (["--limit", "movesPerJob=a"], 'found "a", expected a whole number of pods'),
        (["--limit", "movesPerWave=0"], "expected a whole number of pods from 1 on"),
        (["--exempt", "a,b"], 'found "a,b", expected a label, KEY=VALUE or KEY'),
        (["--min-benefit", "much"], 'found "much", expected a number from 0 on'),
    ],
)
def test_what_cannot_be_understood_is_a_usage_error(
    cli: Cli, arguments: list[str], message: str
) -> None:
    done = cli("defrag", "snap.yaml", "jobs.yaml", *arguments)
    assert done.code == 64
    assert message in done.err
    assert done.out == ""


def test_goals_in_a_model_file_are_the_same_goals(cli: Cli) -> None:
    Path("model.yaml").write_text(
        "apiVersion: kantopt/v1alpha1\nkind: Model\nextends: defrag\n"
        "objectives: [{nodes_in_use: {target: 2}}, moves]\npending: []\n"
    )
    named = plan_of(cli, "snap.yaml", "-m", "model.yaml")
    assert goal_of(named) == {"before": 0, "after": 2, "goal": 2, "missedBy": 0}
    assert goal_of(plan_of(cli, "snap.yaml", "model.yaml")) == goal_of(named)
    done = cli("plan", "snap.yaml", "model.yaml", "--detailed-exitcode")
    assert done.code == 2
    assert "empty nodes" in done.out


def test_a_false_gain_is_found_out(cli: Cli) -> None:
    plan = plan_of(cli, "snap.yaml", "--goal", "empty-nodes=2")
    plan["goals"][0]["after"] = 3
    Path("plan.json").write_text(json.dumps(plan))
    judged = cli("verify", "snap.yaml", "plan.json")
    assert judged.code == 12
    assert "goal nodes_in_use[above goal 2] after: stated 3, found 2" in judged.out


def test_the_same_question_is_not_solved_again(cli: Cli) -> None:
    arguments = ("snap.yaml", "--goal", "empty-nodes=2", "--last-plan", "last.json")
    assert cli("defrag", *arguments).code == 0
    first = Path("last.json").read_bytes()
    again = cli("defrag", *arguments, "--metrics-file", "defrag.prom")
    assert again.code == 0
    assert Path("last.json").read_bytes() == first
    assert "kantopt_plan_moves" in Path("defrag.prom").read_text()
    other = cli("defrag", "snap.yaml", "--goal", "empty-nodes=1", "--last-plan", "last.json")
    assert "Move 1 pod." in other.out


CLUSTER = str(Path(__file__).parents[2] / "instances" / "kubernetes" / "cluster.json")


def test_labels_of_kubernetes_pods_exempt_them_also_when_the_plan_is_judged(cli: Cli) -> None:
    arguments = (CLUSTER, "--goal", "empty-nodes=+2", "--engine", "fast", "-q", "-o", "json")
    free = json.loads(cli("defrag", *arguments).out)
    assert {move["job"] for move in free["moves"]} == {"serving/serve-7c9d"}
    done = cli("defrag", *arguments, "--exempt", "app", "-O", "plan.json")
    assert done.code == 3
    plan = json.loads(Path("plan.json").read_text())
    assert "serving/serve-7c9d" not in {move["job"] for move in plan.get("moves", ())}
    judged = cli("verify", CLUSTER, "plan.json")
    assert judged.code == 0, judged.out
    assert "another snapshot" not in judged.out


@pytest.mark.parametrize(
    ("wanted", "goal"),
    [("", None), (":3", 3), (":+1", 5), (":50%", 3), (":0%", 6), (":100%", 0), (":33.4%", 4)],
)
def test_slots_are_wanted_by_number_more_than_now_or_by_rate(
    cli: Cli, wanted: str, goal: int | None
) -> None:
    """Of 21 free GPUs, 4, 4, 6 and 7 on the nodes, 16 are in 4 slots of 4; 5 would be most.

    A rate of 0% wants more than that.
    """
    arguments = ("snap.yaml", "--engine", "fast", "-o", "json")
    plan = json.loads(cli("defrag", *arguments, "--goal", f"fragment-rate={GPU}:4{wanted}").out)
    (row,) = plan["goals"]
    assert row["before"] == 4
    assert row.get("goal") == goal
    assert "time limit" not in str(plan.get("warnings")), "what gains nothing ends by itself"


@pytest.mark.parametrize(
    ("goal", "message"),
    [
        ("empty-domain=row:1", 'found "row", expected rack'),
        ("fragment-rate=cpus:1", 'found "cpus", expected cpu or'),
        ("empty-nodes=1,selector=rak=a", 'found "rak", expected a label that nodes have'),
        (
            f"fragment-rate={GPU}:16",
            f"found a slot of 16 {GPU}, expected at most 8, as much as any",
        ),
        ("fit=nobody", 'found "nobody", expected the name of a pending job'),
        ("fit=one", 'found "one", which runs already'),
    ],
)
def test_a_goal_about_what_is_not_there_is_bad_data(cli: Cli, goal: str, message: str) -> None:
    done = cli("defrag", "snap.yaml", "jobs.yaml", "--goal", goal)
    assert done.code == 65
    assert message in done.err
    assert done.out == ""


def test_a_selector_says_which_nodes_count(cli: Cli) -> None:
    plan = plan_of(cli, "snap.yaml", "--goal", "empty-nodes=1,selector=rack=b")
    assert goal_of(plan) == {"before": 0, "after": 1, "goal": 1, "missedBy": 0}
    assert {move["job"] for move in plan["moves"]} <= {"blue/three", "blue/four"}
    assert plan["goals"][0]["text"] == "empty nodes (rack=b)"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--max-moves", "0"), "moves 0"),
        (("--max-moves", "1"), "moves 1"),
        (("--limit", "movesPerNamespace=0"), "movesPerNamespace 0"),
        (("--limit", "movesPerJob=0"), "movesPerJob 0"),
        (("--limit", "departuresPerNode=0"), "departuresPerNode 0"),
        (("--max-moves", "9"), None),
    ],
)
def test_limits_are_named_where_a_goal_is_missed(
    cli: Cli, options: tuple[str, ...], said: str | None
) -> None:
    """Nobody should read that nodes are full where moves would make room, were they allowed."""
    for goal in ("fit=red/big", "empty-nodes=2"):
        files = ("snap.yaml", "jobs.yaml")
        plan = plan_of(cli, *files, "--goal", goal, *options, code=0 if said is None else 3)
        words = [text for text in plan.get("warnings", ()) if text.startswith("limits")]
        assert words == ([] if said is None else [f"limits that the plan was held to: {said}"])


def test_evictions_that_are_not_allowed_are_a_limit_only_where_somebody_could_go(cli: Cli) -> None:
    Path("first.yaml").write_text(PENDING.replace("name: big,", "name: big, priority: 9,"))
    said = "limits that the plan was held to: moves 0, evictions 0"
    files = ("snap.yaml", "first.yaml")
    plan = plan_of(cli, *files, "--goal", "fit=red/big", "--max-moves", "0", code=3)
    assert said in plan["warnings"]
