"""What of a plan becomes requests for Kubernetes, what is left to the reader, what is refused."""

from __future__ import annotations

import json
from typing import Any

import kubernetes_validate
import pytest
from kubernetes import client

from kantopt.errors import UsageError
from kantopt.render.kubectl import render
from kantopt.render.targets import Asked
from kantopt.schema.answers.plan import Binding, NodeRef, Plan
from kantopt.schema.jobs import Assignment, Job, PodRef, PodSet
from tests.render.kube_worlds import drawn
from tests.render.plans import Action, bind, evict, make_plan, move

PLAIN = Asked()


def render_kubectl(plan: Plan, asked: Asked = PLAIN) -> list[dict[str, Any]]:
    """Return what a plan becomes, line by line."""
    return [json.loads(line) for line in render(plan, asked).text.splitlines()]


ANYWAY = Asked(evict_anyway=True)
VICTIM = PodRef(
    name="x-0",
    uid="8c5c",
    resource_version="812",
    grace_period_seconds=30,
    owner_kind="ReplicaSet",
    owner_uid="rs-1",
)
GATED = PodRef(name="w-0", uid="77aa", scheduling_gates=("kantopt/hold",), owner_kind="Job")
EVICTION = {
    "apiVersion": "policy/v1",
    "kind": "Eviction",
    "metadata": {"name": "x-0", "namespace": "team-b"},
    "deleteOptions": {
        "gracePeriodSeconds": 30,
        "preconditions": {"uid": "8c5c", "resourceVersion": "812"},
    },
}


def plan(*waves: list[Action], jobs: tuple[Job, ...] = (), **podset: Any) -> Plan:
    """A plan that knows its nodes, one after the other."""
    waiting = Job(name="w", namespace="team-a", pod_sets=(PodSet(count=1, **podset),))
    made = make_plan(jobs or [waiting], [list(wave) for wave in waves])
    nodes = tuple(NodeRef(name=n, uid=f"uid-{n}", hostname=f"{n}.lan") for n in ("n1", "n2"))
    return made.model_copy(update={"nodes": nodes})


def gated(*gates: str) -> Binding:
    return bind("team-a/w", "n1", GATED.model_copy(update={"scheduling_gates": gates}))


def test_an_eviction_holds_only_for_the_very_pod_that_was_planned_for() -> None:
    (request,) = render_kubectl(plan([evict("team-b/x", "n1", VICTIM)]))
    assert (request["wave"], request["verb"]) == (1, "create")
    assert request["path"] == "/api/v1/namespaces/team-b/pods/x-0/eviction"
    assert request["body"] == EVICTION


def test_a_pod_that_is_known_by_name_alone_is_not_evicted() -> None:
    (note,) = render_kubectl(plan([evict("team-b/x", "n1", PodRef(name="x-0"))]))
    assert note["verb"] == "note"
    assert "no uid of x-0" in note["message"]


@pytest.mark.parametrize("nominated", [True, False])
def test_a_pod_that_is_only_nominated_is_not_evicted(nominated: bool) -> None:
    place = Assignment(node="n1", count=1, pods=(VICTIM,))
    role = PodSet(count=1, nominated=nominated, assignments=(place,))
    victim = Job(name="x", namespace="team-b", pod_sets=(role,))
    (request,) = render_kubectl(plan([evict("team-b/x", "n1", VICTIM)], jobs=(victim,)))
    assert request["verb"] == ("note" if nominated else "create")


def test_a_gated_pod_is_tested_pinned_by_the_label_of_its_node_and_let_go() -> None:
    (request,) = render_kubectl(plan([gated("kantopt/hold")]))
    assert (request["verb"], request["path"]) == ("patch", "/api/v1/namespaces/team-a/pods/w-0")
    assert request["body"] == [
        {"op": "test", "path": "/metadata/uid", "value": "77aa"},
        {"op": "add", "path": "/spec/nodeSelector", "value": {"kubernetes.io/hostname": "n1.lan"}},
        {"op": "test", "path": "/spec/schedulingGates/0/name", "value": "kantopt/hold"},
        {"op": "remove", "path": "/spec/schedulingGates/0"},
    ]


def test_a_node_selector_that_is_there_is_added_to_not_replaced() -> None:
    (request,) = render_kubectl(plan([gated("kantopt/hold")], node_selector={"pool": "gpu"}))
    path = "/spec/nodeSelector/kubernetes.io~1hostname"
    assert request["body"][1] == {"op": "add", "path": path, "value": "n1.lan"}


def test_a_node_without_a_known_label_takes_no_pinned_pod() -> None:
    made = plan([gated("kantopt/hold")]).model_copy(update={"nodes": ()})
    (note,) = render_kubectl(made)
    assert "does not know uid and hostname label of node n1" in note["message"]


@pytest.mark.parametrize("gate", ["kueue.x-k8s.io/admission", "example.org/theirs"])
def test_the_only_gate_of_a_pod_stays_if_it_is_not_ours_and_nobody_names_it(gate: str) -> None:
    (note,) = render_kubectl(plan([gated(gate)]))
    assert note["verb"] == "note"
    assert f"keeps the gate {gate} unless --gate names it" in note["message"]
    (request,) = render_kubectl(plan([gated(gate)]), Asked(gate=(gate,)))
    assert request["verb"] == "patch"


def test_a_pod_that_would_stay_gated_is_not_even_pinned() -> None:
    (note,) = render_kubectl(plan([gated("kantopt/hold", "other")]))
    assert note["verb"] == "note"
    (request,) = render_kubectl(plan([gated("kantopt/hold", "other")]), Asked(gate=("other",)))
    assert [step["path"] for step in request["body"] if step["op"] == "remove"] == [
        "/spec/schedulingGates/1",
        "/spec/schedulingGates/0",
    ]


def test_a_gate_that_nothing_has_is_an_error() -> None:
    with pytest.raises(UsageError, match=r"--gate: found .*kantopt/hols.*\(did you mean"):
        render_kubectl(plan([gated("kantopt/hold")]), Asked(gate=("kantopt/hols",)))


def test_a_quota_system_is_not_bypassed_silently() -> None:
    gate = "kueue.x-k8s.io/admission"
    script = render(plan([gated(gate)]), Asked(shell=True, gate=(gate,))).text
    assert f"\n# REMOVES the gate {gate}, as named: Kueue's quotas are BYPASSED.\n" in script
    assert "BYPASSED" in script.split("about() {")[1].split("}")[0]


def test_evictions_for_pods_that_nothing_binds_are_refused() -> None:
    victims = evict("team-b/x", "n1", VICTIM, heir="team-a/w")
    made = plan([victims], [bind("team-a/w", "n1", PodRef(name="w-0", uid="77aa"))])
    with pytest.raises(UsageError, match=r"found 1 pod to evict for jobs that it cannot bind"):
        render_kubectl(made)
    eviction, note = render_kubectl(made, ANYWAY)
    assert (eviction["verb"], note["verb"]) == ("create", "note")
    assert "no scheduling gate holds back w-0" in note["message"]


def test_each_job_that_is_not_bound_is_named_with_its_own_reason() -> None:
    victims = [evict(f"team-b/{name}", "n1", VICTIM, heir=f"team-a/{name}") for name in "wvu"]
    bound = [bind("team-a/w", "n1", PodRef(name="w-0", uid="77aa"))]
    bound += [bind(f"team-a/{name}", "n1", count=1) for name in ("u", "v")]
    with pytest.raises(UsageError) as refused:
        render_kubectl(plan(victims, bound))
    assert (
        "(team-a/u, team-a/v: the plan has no names for its pods; "
        "team-a/w: no scheduling gate holds back w-0)"
    ) in str(refused.value)


def test_evictions_for_pods_that_are_bound_are_not_refused() -> None:
    made = plan([evict("team-b/x", "n1", VICTIM, heir="team-a/w")], [gated("kantopt/hold")])
    assert [item["verb"] for item in render_kubectl(made)] == ["create", "patch"]


def test_what_waits_for_what_is_not_done_is_not_done_either() -> None:
    first = bind("team-a/v", "n1", PodRef(name="v-0", uid="1"))
    made = plan([first], [gated("kantopt/hold")])
    assert [item["verb"] for item in render_kubectl(made)] == ["note", "note"]
    assert "it waits for b-team-a/v-main-n1" in render_kubectl(made)[1]["message"]


def test_a_gang_is_bound_whole_or_not_at_all() -> None:
    other = bind("team-a/w", "n2", PodRef(name="w-1", uid="2"))
    for minimum, verbs in ((None, ["note", "note"]), (0, ["patch", "note"])):
        job = Job(name="w", namespace="team-a", pod_sets=(PodSet(count=2, min_count=minimum),))
        made = plan([gated("kantopt/hold"), other], jobs=(job,))
        assert [item["verb"] for item in render_kubectl(made)] == verbs


def test_a_restart_is_done_only_if_asked_for_and_nobody_says_where_it_ends() -> None:
    made = plan([move("team-b/x", "n1", "n2", VICTIM)])
    (note,) = render_kubectl(made)
    assert "come back where they should" in note["message"]
    eviction, after = render_kubectl(made, ANYWAY)
    assert eviction["body"] == EVICTION
    assert "who makes them anew says where they start" in after["message"]


def test_a_pod_that_comes_back_to_its_node_is_not_said_to_move() -> None:
    (note,) = render_kubectl(plan([move("team-b/x", "n1", "n1", VICTIM)]))
    assert "to restart on n1: left to you" in note["message"]


@pytest.mark.parametrize("kind", ["", "DaemonSet", "Node"])
def test_a_pod_that_nobody_makes_anew_elsewhere_is_not_restarted(kind: str) -> None:
    pod = VICTIM.model_copy(update={"owner_kind": kind, "owner_uid": kind})
    (note,) = render_kubectl(plan([move("team-b/x", "n1", "n2", pod)]), ANYWAY)
    assert note["verb"] == "note"


def test_a_group_that_is_made_anew_with_other_owners_is_left_to_the_reader() -> None:
    pod = VICTIM.model_copy(update={"owner_kind": "StatefulSet"})
    for mode, verb in (("all", "note"), ("single", "create")):
        fields = {"disruption_mode": mode, "pod_sets": (PodSet(count=1),)}
        made = plan(
            [move("team-b/x", "n1", "n2", pod)], jobs=(Job(name="x", namespace="team-b", **fields),)
        )
        assert render_kubectl(made, ANYWAY)[0]["verb"] == verb


def test_a_job_that_its_job_set_makes_anew_is_left_to_the_reader() -> None:
    pod = VICTIM.model_copy(update={"owner_kind": "Job"})
    for labels, verb in (({"jobset.sigs.k8s.io/jobset-name": "x"}, "note"), ({}, "create")):
        whole = PodSet(count=1, labels=labels)
        job = Job(name="x", namespace="team-b", disruption_mode="all", pod_sets=(whole,))
        made = plan([move("team-b/x", "n1", "n2", pod)], jobs=(job,))
        assert render_kubectl(made, ANYWAY)[0]["verb"] == verb


def test_a_live_move_is_nobodys_eviction() -> None:
    (note,) = render_kubectl(plan([move("team-b/x", "n1", "n2", VICTIM, mode="live")]), ANYWAY)
    assert "a live migration is no call of the Kubernetes API" in note["message"]


def test_pods_that_the_plan_only_counts_are_left_to_the_reader() -> None:
    (note,) = render_kubectl(plan([evict("team-b/x", "n1", VICTIM, count=3)]))
    assert note["message"].startswith("3 pods of team-b/x")
    assert "no names for its pods" in note["message"]


def test_json_lines_are_the_requests_one_a_line() -> None:
    made = plan([evict("team-b/x", "n1", VICTIM)], [gated("kantopt/hold")])
    lines = [json.loads(line) for line in render(made, Asked()).text.splitlines()]
    assert lines == render_kubectl(made)


def head_of(made: Plan, asked: Asked = Asked(shell=True)) -> str:  # noqa: B008
    return render(made, asked).text.split("set -u")[0]


def test_a_script_says_what_it_does_and_what_it_leaves() -> None:
    made = plan(
        [evict("team-b/x", "n1", VICTIM)],
        [gated("kantopt/hold")],
        [bind("team-a/v", "n2", PodRef(name="v-0", uid="1"))],
    )
    head = head_of(made)
    assert "# Does 1 eviction, 1 binding.\n" in head
    assert "# Leaves 1 pod to you: it sends nothing for them, for the reason" in head
    assert "team-a/v (main: v-0) to start on n2: left to you" in head
    assert "What comes back of a pod of ReplicaSet: a new pod under a new name at once" in head
    anyway = head_of(made, Asked(shell=True, evict_anyway=True))
    assert "it waits until 1 of them are done.\n" in anyway
    assert "# Does nothing by itself.\n" in head_of(plan([bind("team-a/v", "n2", count=1)]))


def test_a_script_names_its_victims_and_who_of_them_is_gone_for_good() -> None:
    bare = PodRef(name="bare-0", uid="b")
    made = plan(
        [
            evict("team-b/x", "n1", VICTIM, heir="team-a/w"),
            evict("team-b/bare", "n2", bare),
            move("team-b/y", "n1", "n2", VICTIM.model_copy(update={"name": "y-0", "uid": "y"})),
        ]
    )
    head = head_of(made, Asked(shell=True, evict_anyway=True)).splitlines()
    at = head.index("# Evicts 2 pods; 1 of them for good:")
    assert head[at - 1] == "# Does 2 evictions, 1 restart."
    assert head[at + 1 : at + 5] == [
        "# - team-b/bare-0 from n2, no controller: gone for good",
        "# - team-b/x-0 from n1 for team-a/w, of a ReplicaSet",
        "# Restarts 1 pod, which is an eviction, too:",
        "# - team-b/y-0 from n1, planned on n2, of a ReplicaSet",
    ]
    assert "# What comes back of a pod without a controller: nothing: it is gone for good." in head


def test_many_victims_are_counted_by_their_jobs() -> None:
    def victims(job: str, count: int, **fields: str) -> Action:
        pods = [PodRef(name=f"{job}-{i}", uid=f"{job}-{i}", **fields) for i in range(count)]
        return evict(f"team-b/{job}", "n1", *pods)

    owner = {"owner_kind": "Job", "owner_uid": "o"}
    head = head_of(plan([victims("swarm", 9, **owner), victims("bare", 2)])).splitlines()
    at = head.index("# Evicts 11 pods; 2 of them for good:")
    assert head[at + 1 : at + 3] == [
        "# - 2 of team-b/bare, no controller: gone for good",
        "# - 9 of team-b/swarm, of a Job",
    ]
    many = head_of(plan([victims(f"j{i:02}", 1, **owner) for i in range(13)])).splitlines()
    at = many.index("# Evicts 13 pods:")
    assert many[at + 1] == "# - 1 of team-b/j00, of a Job"
    assert many[at + 11] == "# - and 3 of 3 more jobs"


def test_a_script_says_nothing_of_owners_whose_pods_it_leaves_alone() -> None:
    made = plan(
        [move("team-b/x", "n1", "n2", VICTIM)],
        [evict("team-b/y", "n1", VICTIM.model_copy(update={"owner_kind": "Job", "uid": "y"}))],
    )
    made = made.model_copy(
        update={"waves": tuple(w.model_copy(update={"after": ()}) for w in made.waves)}
    )
    head = head_of(made)
    assert "a pod of Job" in head
    assert "ReplicaSet" not in head
    assert "restart" not in head
    assert "scheduler's choice" not in head


@pytest.mark.parametrize("known", [True, False])
def test_a_script_says_whether_it_can_tell_the_cluster(known: bool) -> None:
    made = plan([evict("team-b/x", "n1", VICTIM)])
    snapshot = made.metadata.snapshot.model_copy(update={"cluster_uid": "5e1f" if known else ""})
    metadata = made.metadata.model_copy(update={"snapshot": snapshot})
    script = render(made.model_copy(update={"metadata": metadata}), Asked(shell=True)).text
    for told in (script.split("set -u")[0], script.split("about() {")[1].split("}")[0]):
        assert ("whose namespace kube-system has the uid 5e1f" in told) is known
        assert ("Does NOT CHECK which cluster this is" in told) is not known


def test_every_object_is_one_of_kubernetes() -> None:
    """By the published schemas, and by the models of the official client."""
    parts = client.ApiClient()
    seen = 0
    for seed in range(12):
        for request in render_kubectl(drawn(seed)[1], ANYWAY):
            if request["verb"] != "create":
                continue
            seen += 1
            body = request["body"]
            kubernetes_validate.validate(body, "1.33", strict=True)
            options = client.V1DeleteOptions(
                grace_period_seconds=body["deleteOptions"]["gracePeriodSeconds"],
                preconditions=client.V1Preconditions(
                    uid=body["deleteOptions"]["preconditions"]["uid"],
                    resource_version=body["deleteOptions"]["preconditions"]["resourceVersion"],
                ),
            )
            model = client.V1Eviction(
                api_version=body["apiVersion"],
                kind=body["kind"],
                metadata=client.V1ObjectMeta(**body["metadata"]),
                delete_options=options,
            )
            assert parts.sanitize_for_serialization(model) == body
    assert seen > 10


@pytest.mark.parametrize(
    ("labels", "told"),
    [({"kueue.x-k8s.io/queue-name": "lq"}, True), ({"kai.scheduler/queue": "q"}, False)],
)
def test_only_pods_of_kueue_are_said_to_be_sent_back_by_it(
    labels: dict[str, str], told: bool
) -> None:
    victim = Job(
        name="x", namespace="team-b", queue_name="q", pod_sets=(PodSet(count=1, labels=labels),)
    )
    text = render(plan([evict("team-b/x", "n1", VICTIM)], jobs=(victim,)), Asked(shell=True)).text
    assert ("Queues: a Workload of Kueue" in text) is told
