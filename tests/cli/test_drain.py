"""``kantopt drain``: where pods go before a maintenance, and which stay and why."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from kantopt.planning.drained import drain_words
from kantopt.problem.build import build_instance
from kantopt.schema.model import Model
from kantopt.schema.snapshot import ClusterSnapshot
from tests.cli.conftest import Cli
from tests.formats.cluster_objects import node, pod
from tests.formats.test_units import group

SNAPSHOT = """\
apiVersion: kantopt/v1alpha1
kind: ClusterSnapshot
metadata: {name: maintained}
nodes:
- {name: n1, labels: {pool: near}, allocatable: {cpu: 8, nvidia.com/gpu: 8}}
- {name: n2, labels: {pool: near}, allocatable: {cpu: 8, nvidia.com/gpu: 8}}
- {name: n3, ready: false, labels: {pool: far}, allocatable: {cpu: 8, nvidia.com/gpu: 8}}
jobs:
- name: agent
  daemon: true
  podSets:
  - {count: 2, minCount: 0, requests: {cpu: 1}, assignments: [{node: n1}, {node: n3}]}
- name: web
  podSets:
  - {count: 3, minCount: 0, requests: {nvidia.com/gpu: 2}, assignments: [{node: n1, count: 3}]}
- name: fixed
  movable: false
  podSets: [{count: 1, requests: {nvidia.com/gpu: 1}, assignments: [{node: n1}]}]
- name: bound
  podSets:
  - {count: 1, requests: {cpu: 1}, nodeSelector: {pool: far}, assignments: [{node: n3}]}
- name: lost
  podSets: [{count: 1, requests: {cpu: 1}, assignments: [{node: n3}]}]
- name: guarded
  podSets:
  - {count: 1, labels: {app: g}, requests: {cpu: 1}, assignments: [{node: n3}]}
podDisruptionBudgets:
- {name: g, selector: {matchLabels: {app: g}}, disruptionsAllowed: 0}
"""


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "snap.yaml").write_text(SNAPSHOT)
    monkeypatch.chdir(tmp_path)


def plan_of(cli: Cli, *arguments: str, code: int = 0) -> dict[str, Any]:
    done = cli("drain", *arguments, "-f", "snap.yaml", "-o", "json", "-O", "plan.json")
    assert done.code == code, done.err
    judged = cli("verify", "snap.yaml", "plan.json")
    assert judged.code == 0, judged.out
    plan: dict[str, Any] = json.loads(Path("plan.json").read_text())
    return plan


def test_all_pods_that_can_go_go_and_the_others_are_named_with_the_reason(cli: Cli) -> None:
    plan = plan_of(cli, "n1", code=3)
    assert {(m["fromNode"], m["toNode"], m["job"]) for m in plan["moves"]} == {
        ("n1", "n2", "default/web")
    }
    assert plan["summary"]["movedPods"] == 3
    (goal,) = plan["goals"]
    assert (goal["before"], goal["after"], goal["missedBy"]) == (4, 1, 1)
    assert "stays on n1: default/fixed/main, not movable" in plan["warnings"]
    assert "stay with the nodes to be emptied: 1 pod of daemons" in plan["warnings"]
    assert plan["solver"]["status"] == "OPTIMAL"


def test_a_node_that_is_not_ready_is_drained_where_it_is_asked_for(cli: Cli) -> None:
    plan = plan_of(cli, "n3", code=3)
    assert [m["job"] for m in plan["moves"]] == ["default/lost"]
    told = "\n".join(plan["warnings"])
    assert "stays on n3: default/guarded/main, disruption budget default/g allows 0" in told
    assert "stays on n3: default/bound/main, 0 of 3 nodes fit: 2 node selector or affinity" in told


def test_pod_sets_that_stay_for_one_cause_are_named_in_one_line(cli: Cli) -> None:
    text = "".join(
        f"- name: fixed-{i}\n  movable: false\n"
        f"  podSets: [{{count: 1, requests: {{cpu: 1}}, assignments: [{{node: {node}}}]}}]\n"
        for i, node in enumerate(("n1", "n2", "n1"))
    )
    Path("snap.yaml").write_text(SNAPSHOT.replace("- name: bound\n", text + "- name: bound\n"))
    plan = plan_of(cli, "n1", "n2", code=3)
    names = ", ".join(f"default/fixed{tail}/main" for tail in ("", "-0", "-1", "-2"))
    assert f"stay on n1, n2: {names}, not movable" in plan["warnings"]


def test_a_pod_that_was_not_moved_in_time_is_not_said_to_have_no_node() -> None:
    snapshot = ClusterSnapshot.model_validate_json(json.dumps(yaml.safe_load(SNAPSHOT)))
    instance = build_instance(
        snapshot, (), Model(kind="Model", apiVersion="kantopt/v1alpha1", drain=("n1",))
    )
    (said,) = [line for line in drain_words(instance, instance.current) if "default/web" in line]
    assert "1 of 3 nodes would take a pod, but no plan that moves it was found" in said


def test_moves_are_for_what_an_operator_asked_for(cli: Cli) -> None:
    out = cli("drain", "n1", "-f", "snap.yaml").out
    (row,) = [line for line in out.splitlines() if "move    default/web" in line]
    assert row.endswith("fewer pods on nodes to be emptied")
    assert "above goal" not in out


def test_drained_nodes_receive_nothing(cli: Cli) -> None:
    plan = plan_of(cli, "n*", code=3)
    assert plan["summary"]["changes"] is False
    assert plan["goals"][0]["after"] == plan["goals"][0]["before"]
    assert plan["model"]["drain"] == ["n1", "n2", "n3"]


@pytest.mark.parametrize(
    ("options", "code"),
    [(["n1"], 3), (["n1", "--detailed-exitcode"], 3), (["n2"], 0), (["n1", "--require-goal"], 4)],
)
def test_exit_codes_tell_that_pods_stay(cli: Cli, options: list[str], code: int) -> None:
    done = cli("drain", *options, "-f", "snap.yaml")
    assert done.code == code, done.err
    if code:
        assert "pods on nodes to be emptied" in done.out
        assert "missed by 1 pod" in done.out


def test_a_node_that_is_not_there_is_bad_data(cli: Cli) -> None:
    done = cli("drain", "n4", "-f", "snap.yaml")
    assert done.code == 65
    assert "expected the name of a node, or a pattern" in done.err
    Path("model.yaml").write_text(
        "apiVersion: kantopt/v1alpha1\nkind: Model\nextends: defrag\ndrain: [n9]\n"
    )
    assert cli("plan", "snap.yaml", "-m", "model.yaml").code == 65


def test_a_plan_remembers_which_causes_it_has_lifted(cli: Cli) -> None:
    nodes = [node("a"), node("b")]
    subject = pod("p", on="a", namespace="kube-system")
    other = budget({"app": "of nobody here"}, 1)
    Path("dump.json").write_text(
        json.dumps({"apiVersion": "v1", "kind": "List", "items": [*nodes, subject, other]})
    )
    kept = cli("drain", "a", "-f", "dump.json")
    assert "1 pod stays: 1 of kube-system without a budget (--disturb kube-system)" in kept.out
    assert "stays on a: kube-system/app/main, not movable" in kept.out
    arguments = ("--disturb", "kube-system", "-o", "json", "-O", "plan.json")
    assert cli("drain", "a", "-f", "dump.json", *arguments).code == 0
    plan = json.loads(Path("plan.json").read_text())
    assert plan["summary"]["movedPods"] == 1
    assert plan["model"]["disturb"] == ["kube-system"]
    assert cli("verify", "dump.json", "plan.json").code == 0
    wrong = cli("drain", "a", "-f", "dump.json", "--disturb", "kubesystem")
    assert wrong.code == 64
    assert "did you mean kube-system?" in wrong.err


def budget(selected: dict[str, str], allowed: int) -> dict[str, Any]:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "two", "namespace": "default", "generation": 1},
        "spec": {"selector": {"matchLabels": selected}},
        "status": {"disruptionsAllowed": allowed, "observedGeneration": 1},
    }


def dump_of(*objects: dict[str, Any]) -> None:
    Path("snap.yaml").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))


GROUP = [
    {**each, "spec": {**each["spec"], "nodeName": on}}
    for each, on in zip(group(0), ("n1", "n2", "n2"), strict=True)
]


@pytest.mark.parametrize("engine", ["auto", "fast"])
def test_a_group_of_a_leader_worker_set_moves_whole_off_a_drained_node(
    cli: Cli, engine: str
) -> None:
    dump_of(*(node(name) for name in ("n1", "n2", "n3")), *GROUP, pod("web", on="n1"))
    plan = plan_of(cli, "n1", "--engine", engine)
    assert plan["summary"]["movedPods"] == 4
    (wave,) = plan["waves"]
    group_moves = [m for m in plan["moves"] if m["job"] == "default/serve-0"]
    assert {m["id"] for m in group_moves} <= set(wave["actions"])
    assert sum(m["count"] for m in group_moves) == 3
    assert "n1" not in {m["toNode"] for m in plan["moves"]}
    said = cli("show", "plan.json").out
    assert "restart  default/serve-0/main" in said


@pytest.mark.parametrize(
    ("more", "options", "why"),
    [
        ([node("n2", cpu="2")], [], "no place for all of them elsewhere was found"),
        ([node("n2")], ["--max-moves", "2"], "2 may move"),
        ([node("n2")], ["--limit", "movesPerWave=1"], "1 may move"),
        (
            [node("n2"), budget({"app": "serve"}, 2)],
            [],
            "disruption budget default/two allows 2 of 3",
        ),
    ],
    ids=str,
)
def test_what_keeps_a_group_is_said_of_all_its_pods(
    cli: Cli, more: list[dict[str, Any]], options: list[str], why: str
) -> None:
    pods = [
        {**each, "metadata": {**each["metadata"], "labels": {**labels, "app": "serve"}}}
        for each in GROUP
        for labels in [each["metadata"]["labels"]]
    ]
    dump_of(node("n1"), *more, *pods)
    plan = plan_of(cli, "n1", *options, code=3)
    assert "moves" not in plan
    said = "stays on n1: default/serve-0/main, all 3 pods of the job restart together"
    assert any(text.startswith(said) and text.endswith(why) for text in plan["warnings"])


def test_a_node_that_is_not_there_is_named_by_the_command_that_was_given(cli: Cli) -> None:
    done = cli("drain", "n9", "-f", "snap.yaml")
    assert done.code == 65
    assert done.err.startswith('kantopt: error: drain: found "n9", expected the name of a node')


@pytest.mark.parametrize(("policy", "counted"), [("Honor", False), ("Ignore", True)])
def test_a_spread_that_honours_taints_leaves_out_nodes_to_be_drained(
    cli: Cli, policy: str, counted: bool
) -> None:
    """They are cordoned first, so that their pods come back to the other zone."""
    zone = "topology.kubernetes.io/zone"
    spread = {
        "topologyKey": zone,
        "maxSkew": 1,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "x"}},
        "nodeTaintsPolicy": policy,
    }
    dump_of(
        *(node(name, {zone: f"z-{name}"}) for name in ("n1", "n2")),
        *(
            pod(f"x-{name}", on=name, labels={"app": "x"}, topologySpreadConstraints=[spread])
            for name in ("n1", "n2")
        ),
    )
    plan = plan_of(cli, "n1", code=3 if counted else 0)
    assert ("moves" not in plan) is counted


def test_what_keeps_pods_of_a_dump_is_named_with_the_option_that_lifts_it(cli: Cli) -> None:
    disk = {"volumes": [{"name": "v", "emptyDir": {}}]}
    claim = {"resourceClaims": [{"name": "c", "resourceClaimName": "c"}]}
    dump_of(
        *(node(name) for name in ("n1", "n2")),
        pod("cache", on="n1", owner="ReplicaSet/cache", **disk),
        pod("bare", on="n1", owner=""),
        pod("net", on="n1", owner="ReplicaSet/net", **claim),
    )
    said = " ".join(plan_of(cli, "n1", code=3)["warnings"])
    for job, why in (
        ("cache", "with local storage (--disturb local-storage)"),
        ("bare", "without a controller (--disturb no-controller)"),
        ("net", "with resource claims (--assume resource-claims)"),
    ):
        assert f"stays on n1: default/{job}/main, not movable: {why}" in said
    lifted = plan_of(cli, "n1", "--disturb", "local-storage", "--disturb", "no-controller", code=3)
    assert {move["job"] for move in lifted["moves"]} == {"default/cache", "default/bare"}


def test_a_pod_without_a_controller_that_may_be_evicted_is_said_to_have_none(cli: Cli) -> None:
    consent = {"cluster-autoscaler.kubernetes.io/safe-to-evict": "true"}
    dump_of(node("n1"), node("n2"), pod("bare", on="n1", owner="", annotations=consent))
    said = " ".join(plan_of(cli, "n1", code=3)["warnings"])
    assert "default/bare/main, not movable: without a controller (--disturb no-controller)" in said
    assert "backoffLimit" not in said
    assert plan_of(cli, "n1", "--disturb", "no-controller")["moves"]


@pytest.mark.parametrize(
    ("job", "why"),
    [
        ("Requeue=0 NodeList=n1 NumNodes=1", "not requeued by Slurm (Requeue=0, or no batch job)"),
        ("BatchFlag=0 NodeList=n1 NumNodes=1", "not requeued by Slurm (Requeue=0, or no batch"),
        ("NodeList=n[1-2] NumNodes=2", "of a job on several nodes, all of whose pods would"),
    ],
)
def test_what_keeps_a_job_of_slurm_is_said(cli: Cli, job: str, why: str) -> None:
    nodes = "".join(
        f"NodeName=n{k} CPUTot=8 RealMemory=9000 State=MIXED Partitions=main\n\n" for k in (1, 2, 3)
    )
    runs = f"JobId=7 JobState=RUNNING Partition=main NumCPUs=2 TRES=cpu=2 {job}\n"
    Path("snap.yaml").write_text(nodes + runs)
    said = " ".join(plan_of(cli, "n1", code=3)["warnings"])
    assert f"not movable: {why}" in said


def test_a_limit_that_is_used_up_and_pods_in_the_way_are_said_of_what_stays(cli: Cli) -> None:
    apart = {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {
                    "labelSelector": {"matchLabels": {"app": "api"}},
                    "topologyKey": "kubernetes.io/hostname",
                }
            ]
        }
    }
    api = {"owner": "ReplicaSet/api", "labels": {"app": "api"}, "affinity": apart}
    host = {name: {"kubernetes.io/hostname": name} for name in ("n1", "n2")}
    limited = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "sweep", "namespace": "default", "uid": "Job/sweep"},
        "spec": {"parallelism": 2, "backoffLimit": 1},
    }
    dump_of(
        *(node(name, host[name]) for name in ("n1", "n2")),
        pod("api-0", on="n1", **api),
        pod("api-1", on="n2", **api),
        limited,
        *(pod(f"sweep-{i}", on="n1", owner="Job/sweep") for i in range(2)),
    )
    said = plan_of(cli, "n1", code=3)["warnings"]
    assert any(
        text.startswith("stays on n1: default/api/main, pods near it")
        and text.endswith("refuse it where there is room: n2")
        for text in said
    )
    why = "(maxMoves, of a Job its backoffLimit: --disturb backoff-limit)"
    assert f"stays on n1: default/sweep/main, 1 of its job's pods moves, no more may {why}" in said
    only = plan_of(cli, "n1", "--max-moves", "1", "--disturb", "backoff-limit", code=3)["warnings"]
    assert any("no more pods may move (limit moves: 1)" in text for text in only)


def test_pods_without_gpus_go_to_nodes_without_any(cli: Cli) -> None:
    """Though a node with GPUs, all of them in use, is fuller."""
    gpus = {name: {"kubernetes.io/hostname": name} for name in ("n1", "n2")}
    dump_of(
        *(node(name, labels) for name, labels in gpus.items()),
        node("n3", **{"nvidia.com/gpu": "0"}),
        pod("api-0", on="n1", owner="ReplicaSet/api"),
        pod("llm-0", on="n2", owner="Job/llm", requests={"cpu": "6", "nvidia.com/gpu": "8"}),
    )
    done = cli("drain", "n1", "-f", "snap.yaml", "-o", "name")
    assert done.out == "move default/api/main n1 n3 x1\n"


def test_all_that_keeps_a_pod_is_named_at_once(cli: Cli) -> None:
    critical = {"namespace": "kube-system", "priority": 2_000_000_000}
    dump_of(node("n1"), node("n2"), pod("dns-0", on="n1", **critical))
    said = plan_of(cli, "n1", code=3)["warnings"]
    why = (
        "of kube-system without a budget (--disturb kube-system) and "
        "of system-critical priority (--disturb system-critical)"
    )
    assert f"stays on n1: kube-system/app/main, not movable: {why}" in said
    plan_of(cli, "n1", "--disturb", "kube-system", "--disturb", "system-critical")


def test_pods_that_are_exempt_are_said_to_be(cli: Cli) -> None:
    labelled = SNAPSHOT.replace(
        "count: 3, minCount: 0, requests", "count: 3, labels: {keep: here}, minCount: 0, requests"
    )
    Path("snap.yaml").write_text(labelled)
    said = plan_of(cli, "n1", "--exempt", "keep=here", code=3)["warnings"]
    assert "stays on n1 x3: default/web/main, not movable: exempt by a label (--exempt)" in said


@pytest.mark.parametrize("limit", ["movesPerNamespace", "arrivalsPerNode", "departuresPerNode"])
def test_a_limit_of_a_model_that_is_used_up_is_named(cli: Cli, limit: str) -> None:
    said = plan_of(cli, "n1", "--limit", f"{limit}=1", code=3)["warnings"]
    assert (
        "stays on n1 x2: default/web/main, 1 of 3 nodes would take a pod, "
        f"but no more may move ({limit}: 1)"
    ) in said


@pytest.mark.parametrize("most", [[], ["--max-evictions", "2"]])
def test_who_is_not_evicted_by_the_rule_of_priorities_is_said_to_be(
    cli: Cli, most: list[str]
) -> None:
    full = {"cpu": "8"}
    dump_of(*(node(n) for n in "ab"), *(pod(f"p{n}", on=n, requests=full) for n in "ab"))
    word = "no more important job is to take the room (rule priority)"
    assert (word in str(plan_of(cli, "a", *most, code=3)["warnings"])) == bool(most)
    done = cli("defrag", "snap.yaml", "--goal", "empty-nodes=1", *most)
    assert (word in done.out) == bool(most)
