"""Plans as Kueue takes them: Workloads stopped, answers to a check, admissions."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from kantopt.cli.endings import run
from kantopt.errors import UsageError
from kantopt.render.kueue import render
from kantopt.render.targets import Asked
from kantopt.schema.answers.plan import NodeRef, Plan
from kantopt.schema.dump import dump_json
from kantopt.schema.jobs import Assignment, Job, PodRef, PodSet
from kantopt.schema.snapshot import HOSTNAME
from tests.render.expanded import expanded
from tests.render.plans import Action, bind, draw_plan, evict, make_plan, move
from tests.render.schemas import check, checked_documents, documents

PODSET = {"kueue.x-k8s.io/podset": "main"}
PODS = tuple(PodRef(name=f"x-{i}", uid=f"u{i}") for i in range(3))
VICTIM = Job(
    name="job-x-1a2b3",
    namespace="team-b",
    uid="8c5c",
    pod_sets=(
        PodSet(
            count=3,
            labels=PODSET,
            assignments=(
                Assignment(node="n1", count=2, pods=PODS[:2]),
                Assignment(node="n2", count=1, pods=PODS[2:]),
            ),
        ),
    ),
)
GANG = Job(
    name="job-llm-4d5e6",
    namespace="team-a",
    queue_name="queue-a",
    pod_sets=(
        PodSet(count=3, requests={"cpu": "1500m", "nvidia.com/gpu": 8, "pods": 1}),
        PodSet(name="leader", count=1, requests={"cpu": 2}),
    ),
)
BOTH = (evict("team-b/job-x-1a2b3", "n1", *PODS[:2]), evict("team-b/job-x-1a2b3", "n2", PODS[2]))
ALL: tuple[Action, ...] = (
    bind("team-a/job-llm-4d5e6", "n1", count=2),
    bind("team-a/job-llm-4d5e6", "n2", count=1),
    bind("team-a/job-llm-4d5e6", "n2", count=1, pod_set="leader"),
)


def made(plan: Plan, asked: Asked | None = None) -> list[dict[str, Any]]:
    return checked_documents(render(plan, asked or Asked()).text)


def test_a_victim_is_stopped_and_its_pods_are_let_alone() -> None:
    (document,) = made(make_plan([VICTIM], [BOTH]))
    assert document == {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": "job-x-1a2b3", "namespace": "team-b"},
        "spec": {"active": False},
    }


def test_a_workload_is_not_stopped_for_some_of_its_pods() -> None:
    text = render(make_plan([VICTIM], [BOTH[:1]]), Asked()).text
    assert not documents(text)
    assert "0 of 2 evictions" in text
    assert "can only be stopped as a whole, 3 pods" in " ".join(text.replace("#", "").split())


def test_nodes_of_a_gang_are_told_by_an_admission_check() -> None:
    *nodes, workload = made(make_plan([GANG], [ALL]))
    (verdict,) = workload["status"]["admissionChecks"]
    assert (verdict["name"], verdict["state"]) == ("kantopt", "Ready")
    assert verdict["lastTransitionTime"] == "2026-09-01T03:00:00Z"
    selectors = {item["name"]: item["nodeSelector"] for item in verdict["podSetUpdates"]}
    assert selectors["leader"] == {HOSTNAME: "n2"}
    assert [node["metadata"]["name"] for node in nodes] == ["n1", "n2"]
    assert all(node["metadata"]["labels"] == selectors["main"] for node in nodes)


def test_nodes_are_named_by_their_labels_which_may_be_other_names() -> None:
    known = tuple(NodeRef(name=f"n{i}", uid=f"u{i}", hostname=f"ip-{i}") for i in (1, 2))
    plan = make_plan([GANG], [ALL]).model_copy(update={"nodes": known})
    *nodes, workload = made(plan)
    updates = workload["status"]["admissionChecks"][0]["podSetUpdates"]
    assert {HOSTNAME: "ip-2"} in [item["nodeSelector"] for item in updates]
    assert [node["metadata"]["name"] for node in nodes] == ["n1", "n2"]
    asked = Asked(admission=True, flavor="h100", kueue_api="v1beta1")
    (workload,) = made(plan, asked)
    sets = workload["status"]["admission"]["podSetAssignments"]
    named = {d["values"][0] for item in sets for d in item["topologyAssignment"]["domains"]}
    assert named == {"ip-1", "ip-2"}
    bare = tuple(node.model_copy(update={"hostname": ""}) for node in known)
    plan = plan.model_copy(update={"nodes": bare})
    *nodes, workload = made(plan)
    updates = workload["status"]["admissionChecks"][0]["podSetUpdates"]
    assert all(HOSTNAME not in item["nodeSelector"] for item in updates)
    assert {node["metadata"]["name"] for node in nodes} == {"n1", "n2"}
    assert not documents(render(plan, asked).text)


@pytest.mark.parametrize("api", ["v1beta1", "v1beta2"])
def test_an_admission_says_how_many_pods_go_to_which_node(api: Any) -> None:
    asked = Asked(admission=True, flavor="h100", kueue_api=api)
    (workload,) = made(make_plan([GANG], [ALL]), asked)
    assert workload["apiVersion"] == f"kueue.x-k8s.io/{api}"
    admission = workload["status"]["admission"]
    assert admission["clusterQueue"] == "queue-a"
    main, leader = admission["podSetAssignments"]
    assert main["resourceUsage"] == {"cpu": "4500m", "nvidia.com/gpu": "24"}
    assert main["flavors"] == {"cpu": "h100", "nvidia.com/gpu": "h100"}
    assert (main["count"], leader["count"]) == (3, 1)
    if api == "v1beta2":
        assert expanded(main["topologyAssignment"]) == {"n1": 2, "n2": 1}
    else:
        places = [{"values": ["n1"], "count": 2}, {"values": ["n2"], "count": 1}]
        assert main["topologyAssignment"] == {"levels": [HOSTNAME], "domains": places}


def test_an_admission_wants_a_flavor() -> None:
    with pytest.raises(UsageError, match="--flavor"):
        render(make_plan([GANG], [ALL]), Asked(admission=True))


def test_a_gang_of_which_the_plan_binds_a_part_is_left_to_the_reader() -> None:
    text = render(make_plan([GANG], [ALL[:2]]), Asked()).text
    assert not documents(text)
    assert "0 of 3 bindings. 3 left to you" in text


def test_a_job_that_kueue_does_not_manage_or_whose_workload_is_unknown_is_left_alone() -> None:
    own = VICTIM.pod_sets[0]
    for labels, said in (({}, "does not manage"), ({"kueue.x-k8s.io/queue-name": "q"}, "8c5c")):
        job = VICTIM.model_copy(update={"pod_sets": (own.model_copy(update={"labels": labels}),)})
        text = render(make_plan([job], [BOTH]), Asked()).text
        assert not documents(text)
        assert said in text


def test_a_job_in_a_queue_is_managed_though_its_pods_bear_no_label() -> None:
    own = VICTIM.pod_sets[0].model_copy(update={"labels": {}})
    job = VICTIM.model_copy(update={"pod_sets": (own,), "queue_name": "q"})
    assert "kueue.x-k8s.io/job-uid=8c5c" in render(make_plan([job], [BOTH]), Asked()).text


def test_what_kueue_does_not_manage_it_sends_nowhere() -> None:
    own = VICTIM.pod_sets[0].model_copy(update={"labels": {}})
    job = VICTIM.model_copy(update={"pod_sets": (own,)})
    moved = move("team-b/job-x-1a2b3", "n1", "n9", PODS[0])
    for document, said in ((VICTIM, "sends a new pod back"), (job, "does not manage it")):
        text = render(make_plan([document], [[moved]]), Asked()).text
        assert said in " ".join(text.replace("#", "").split())


def test_the_roles_of_a_pod_group_have_names_that_no_plan_knows() -> None:
    own = GANG.pod_sets[0].model_copy(update={"labels": {"kueue.x-k8s.io/pod-group-name": "g"}})
    job = GANG.model_copy(update={"pod_sets": (own,)})
    assert not documents(render(make_plan([job], [ALL[:2]]), Asked()).text)


def test_single_pods_are_not_moved() -> None:
    text = render(
        make_plan([VICTIM], [[move("team-b/job-x-1a2b3", "n1", "n9", PODS[0])]]), Asked()
    ).text
    assert not documents(text)
    assert "0 of 1 moves" in text


def test_evictions_for_what_cannot_be_bound_are_refused_unless_wanted() -> None:
    plan = make_plan([VICTIM, GANG], [BOTH, ALL[:2]])
    with pytest.raises(UsageError, match=r"3 pods to evict .* --evict-anyway"):
        render(plan, Asked())
    (document,) = made(plan, Asked(evict_anyway=True))
    assert document["spec"] == {"active": False}


def test_one_wave_alone_is_written_if_it_is_asked_for() -> None:
    plan = make_plan([VICTIM, GANG], [BOTH, ALL])
    assert [item["kind"] for item in made(plan, Asked(wave=1))] == ["Workload"]
    assert [item["kind"] for item in made(plan, Asked(wave=2))] == ["Node", "Node", "Workload"]
    assert "after 1" in render(plan, Asked(wave=2)).text
    with pytest.raises(UsageError, match="--wave: found 3"):
        render(plan, Asked(wave=3))


def test_without_a_moment_of_the_snapshot_none_is_made_up() -> None:
    for told in (None, "yesterday", "9999-12-31T23:59:59-23:00"):
        *_, workload = made(make_plan([GANG], [ALL], captured_at=told))
        (verdict,) = workload["status"]["admissionChecks"]
        assert verdict["lastTransitionTime"] == "1970-01-01T00:00:00Z"


def assigned(documents: list[dict[str, Any]]) -> dict[tuple[str, str, str], dict[str, int]]:
    """Read where admissions send pods, by namespace, Workload and pod set."""
    found = {}
    for document in documents:
        named = document["metadata"]
        admission = document.get("status", {}).get("admission", {})
        for item in admission.get("podSetAssignments", ()):
            places = item["topologyAssignment"]
            if "slices" in places:
                told = expanded(places)
            else:
                told = {each["values"][0]: each["count"] for each in places["domains"]}
            found[named["namespace"], named["name"], item["name"]] = told
    return found


def test_random_plans_are_said_as_they_are() -> None:
    seen = 0
    for seed in range(60):
        rng = random.Random(f"kueue {seed}")
        plan = draw_plan(rng, lambda rng=rng: f"{rng.choice('abc')}{rng.randint(0, 99)}")
        planned: dict[tuple[str, str, str], Counter[str]] = {}
        for item in plan.assignments:
            namespace, _, job = item.job.partition("/")
            nodes = planned.setdefault((namespace, job, item.pod_set), Counter())
            nodes[item.node] += item.count
        for api in ("v1beta1", "v1beta2"):
            asked = Asked(evict_anyway=True, admission=True, flavor="f", kueue_api=api)
            said = assigned(made(plan, asked))
            seen += len(said)
            assert said.items() <= planned.items()
    assert seen > 40


def test_from_a_dump_with_a_workload_that_waits_to_documents(tmp_path: Path) -> None:
    template = {
        "spec": {"containers": [{"name": "m", "resources": {"requests": {"cpu": "2"}}}]},
    }
    queue = {"metadata": {"name": "cq"}, "spec": {"namespaceSelector": {}, "resourceGroups": []}}
    dump = [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": f"n{i}"},
            "status": {
                "allocatable": {"cpu": "4", "pods": "10"},
                "conditions": [{"type": "Ready", "status": "True"}],
            },
        }
        for i in range(2)
    ]
    api = "kueue.x-k8s.io/v1beta2"
    dump.append({"apiVersion": api, "kind": "ClusterQueue", **queue})
    dump.append(
        {
            "apiVersion": api,
            "kind": "LocalQueue",
            "metadata": {"name": "lq", "namespace": "a"},
            "spec": {"clusterQueue": "cq"},
        }
    )
    dump.append(
        {
            "apiVersion": api,
            "kind": "Workload",
            "metadata": {"name": "job-w-12345", "namespace": "a"},
            "spec": {
                "queueName": "lq",
                "podSets": [{"name": "main", "count": 4, "template": template}],
            },
        }
    )
    cluster, plan, out = (tmp_path / name for name in ("c.json", "p.json", "k.yaml"))
    cluster.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": dump}))
    made_by = ["--engine", "fast", "-q", "-o", "json", "-O", str(plan)]
    assert run(["plan", str(cluster), *made_by]) == 0
    asked = ["--admission", "--flavor", "f", "-O", str(out)]
    assert run(["render", str(plan), "--to", "kueue", *asked]) == 0
    (workload,) = documents(out.read_text())
    check(workload)
    assert workload["metadata"] == {"name": "job-w-12345", "namespace": "a"}
    (assigned,) = workload["status"]["admission"]["podSetAssignments"]
    assert expanded(assigned["topologyAssignment"]) == {"n0": 2, "n1": 2}


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (
            ["--to", "kubectl", "--wave", "1"],
            "--wave: found --to kubectl, expected one of eviction-requests, koordinator",
        ),
        (["--to", "kueue", "--shell"], "--shell: found --to kueue, expected kubectl"),
        (["--to", "volcano", "--kueue-api", "v1beta1"], "--kueue-api: found --to volcano"),
        (["--to", "kueue", "--wave", "9"], "--wave: found 9, expected one of the plan's waves: 1"),
        (["--to", "kueue", "--admission"], "--admission: found no --flavor"),
    ],
)
def test_what_a_target_has_no_use_for_is_said(
    asked: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "plan.json"
    path.write_text(dump_json(make_plan([GANG], [ALL])))
    assert run(["render", str(path), *asked]) == 64
    captured = capsys.readouterr()
    assert said in captured.err
    assert not captured.out
