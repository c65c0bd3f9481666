"""Pods into pod sets, what may be disturbed, what is noted, and what is wrong with an input."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from kantopt.errors import BadDataError
from kantopt.formats.kubernetes.dump import import_kubernetes
from kantopt.formats.kubernetes.objects import flatten
from kantopt.schema.jobs import PodRef
from tests.formats.cluster_objects import job, node, noted, pod, read, thing


def test_pods_that_are_alike_are_counted_with_their_names_kept() -> None:
    pods = [pod(f"p{i}", on="a", labels={"index": str(i), "app": "x"}) for i in range(2)]
    podset = (
        read(node("a"), *pods, pod("p2", terminationGracePeriodSeconds=9)).snapshot.jobs[0].pod_sets
    )
    assert len(podset) == 1
    maker = {"owner_kind": "ReplicaSet", "owner_uid": "ReplicaSet/app"}
    assert podset[0].assignments[0].pods == tuple(
        PodRef(name=name, uid=f"uid-{name}", resource_version="7", **maker) for name in ("p0", "p1")
    )
    assert podset[0].pods[0].grace_period_seconds == 9
    assert podset[0].min_count == 0  # a Deployment's pods each stand for themselves
    assert podset[0].labels == {}


def test_pods_whose_selected_labels_differ_are_told_apart() -> None:
    pods = [pod(f"p{i}", on="a", labels={"index": str(i), "shard": str(i % 2)}) for i in range(4)]
    budget = thing("policy/v1", "PodDisruptionBudget", "b", maxUnavailable=1)
    budget["spec"]["selector"] = {"matchExpressions": [{"key": "shard", "operator": "Exists"}]}
    podsets = read(node("a"), budget, *pods).snapshot.jobs[0].pod_sets
    assert [(item.count, item.labels) for item in podsets] == [
        (2, {"shard": "0"}),
        (2, {"shard": "1"}),
    ]


def test_the_pods_of_a_daemon_set_are_alike_though_each_is_tied_to_its_node() -> None:
    def tied(name: str) -> dict[str, Any]:
        field = {"key": "metadata.name", "operator": "In", "values": [name]}
        terms = {"nodeSelectorTerms": [{"matchFields": [field]}]}
        required = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
        return {"nodeAffinity": required}

    pods = [pod(f"d-{n}", on=n, owner="DaemonSet/d", affinity=tied(n)) for n in ("a", "b")]
    waiting = pod("d-c", owner="DaemonSet/d", affinity=tied("c"))
    podsets = read(node("a"), node("b"), node("c"), *pods, waiting).snapshot.jobs[0].pod_sets
    assert [item.count for item in podsets] == [2, 1]
    assert podsets[0].node_affinity == ()
    assert podsets[1].node_affinity[0].match_fields[0].values == ("c",)


DISK = {"name": "scratch", "emptyDir": {}}
SHARED_MEMORY = {"name": "shm", "emptyDir": {"medium": "Memory"}}
SAFE = "cluster-autoscaler.kubernetes.io/safe-to-evict"


@pytest.mark.parametrize(
    ("spared", "subject"),
    [
        (False, pod("p", on="a")),
        (True, pod("p", on="a", owner="")),
        (True, pod("p", on="a", owner="DaemonSet/d")),
        (True, pod("p", on="a", owner="Node/a")),
        (True, pod("p", on="a", annotations={"kubernetes.io/config.mirror": "x"})),
        (True, pod("p", on="a", metadata={"deletionTimestamp": "2026-09-01T00:00:00Z"})),
        (True, pod("p", on="a", volumes=[DISK])),
        (True, pod("p", on="a", volumes=[{"name": "h", "hostPath": {"path": "/"}}])),
        (False, pod("p", on="a", volumes=[SHARED_MEMORY])),
        (False, pod("p", on="a", volumes=[DISK], annotations={f"{SAFE}-local-volumes": "scratch"})),
        (False, pod("p", on="a", volumes=[DISK], annotations={SAFE: "true"})),
        (True, pod("p", on="a", annotations={SAFE: "false"})),
        (True, pod("p", on="a", annotations={"karpenter.sh/do-not-disrupt": "true"})),
        (True, pod("p", on="a", annotations={"volcano.sh/preemptable": "false"})),
        (True, pod("p", on="a", labels={"volcano.sh/preemptable": "False"})),
        (False, pod("p", on="a", labels={"volcano.sh/preemptable": "true"})),
        (
            False,
            pod(
                "p",
                on="a",
                annotations={"volcano.sh/preemptable": "true"},
                labels={"volcano.sh/preemptable": "false"},
            ),
        ),
    ],
)
def test_what_cannot_come_back_is_neither_evicted_nor_moved(
    spared: bool, subject: dict[str, Any]
) -> None:
    found = read(node("a"), subject).snapshot.jobs[0]
    assert (found.preemptible, found.movable) == (not spared, not spared)


def test_only_the_pods_concerned_are_spared() -> None:
    pods = [pod("p0", on="a"), pod("p1", on="a", volumes=[DISK])]
    found = read(node("a"), *pods).snapshot.jobs[0]
    assert found.preemptible
    assert [item.preemptible for item in found.pod_sets] == [None, False]


@pytest.mark.parametrize(("text", "cost"), [("4", 5), ("-100", 0), ("0", None), ("often", None)])
def test_the_deletion_cost_never_makes_an_eviction_pay(text: str, cost: int | None) -> None:
    note = {"controller.kubernetes.io/pod-deletion-cost": text}
    found = read(node("a"), pod("p", on="a", annotations=note)).snapshot.jobs[0]
    assert found.pod_sets[0].disruption_cost == cost


@pytest.mark.parametrize(
    ("words", "runtime"),
    [
        ({"volcano.sh/cooldown-time": "10m"}, "600s"),
        ({"volcano.sh/cooldown-time": "1h0m0.5s"}, "3601s"),
        ({"kantopt/min-runtime": "90s", "volcano.sh/cooldown-time": "10m"}, "90s"),
        ({"volcano.sh/cooldown-time": "soon"}, None),
        ({}, None),
    ],
)
def test_a_cooldown_protects_pods_that_have_just_started(
    words: dict[str, str], runtime: str | None
) -> None:
    for imported in (
        read(node("n1"), pod("a", on="n1", annotations=words)),
        read(node("n1"), pod("a", on="n1", labels=words)),
    ):
        assert imported.snapshot.jobs[0].min_runtime == runtime
        assert any("cooldown times" in note for note in imported.notes) == ("soon" in str(words))


def test_the_latest_checkpoint_that_pods_tell_of_is_the_jobs() -> None:
    def told(*times: str) -> str | None:
        pods = [
            pod(f"a-{i}", on="n1", annotations={"kantopt/last-checkpoint-time": time})
            for i, time in enumerate(times)
        ]
        (found,) = read(node("n1"), *pods).snapshot.jobs
        return found.last_checkpoint_time

    early, late = "2026-01-01T03:00:00Z", "2026-01-01T04:30:00+01:00"
    assert told(early, late) == late
    assert told(early, "yesterday", "2026-01-01T09:00:00") == early
    assert told("yesterday") is None


def test_what_a_budget_allows_now_stands_above_what_it_says() -> None:
    def budget(name: str, status: Any, **spec: Any) -> dict[str, Any]:
        made = thing("policy/v1", "PodDisruptionBudget", name, selector={}, **spec)
        return {**made, "status": status}

    mute = thing("policy/v1", "PodDisruptionBudget", "mute", maxUnavailable=1)
    imported = read(
        budget("seen", {"disruptionsAllowed": 2}, maxUnavailable=1),
        budget("new", {}, minAvailable="50%"),
        budget("bare", None),
        mute,
    )
    found = imported.snapshot.pod_disruption_budgets
    assert [(b.disruptions_allowed, b.min_available, b.max_unavailable) for b in found] == [
        (2, None, None),
        (None, "50%", None),
        (None, 1, None),
    ]
    assert "mute" in noted(imported, "without selector")


def test_required_affinities_spreads_and_tolerations_are_carried_over() -> None:
    selector = {"matchLabels": {"app": "x"}}
    spread = {
        "maxSkew": 2,
        "topologyKey": "zone",
        "labelSelector": selector,
        "whenUnsatisfiable": "DoNotSchedule",
        "matchLabelKeys": ["hash"],
    }
    soft = {**spread, "whenUnsatisfiable": "ScheduleAnyway"}
    anti = {"topologyKey": "zone", "labelSelector": selector, "namespaces": ["other"]}
    term = {"matchExpressions": [{"key": "gpu", "operator": "In", "values": ["H100"]}]}
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    subject = pod(
        "p",
        labels={"app": "x", "hash": "1"},
        nodeSelector={"pool": "gpu"},
        tolerations=[{"key": "gpu", "operator": "Exists"}],
        topologySpreadConstraints=[spread, soft],
        affinity={
            "nodeAffinity": {required: {"nodeSelectorTerms": [term]}},
            "podAntiAffinity": {required: [anti]},
            "podAffinity": {required: [anti]},
        },
    )
    imported = read(subject)
    found = imported.pending.jobs[0].pod_sets[0]
    assert found.node_selector == {"pool": "gpu"}
    assert found.node_affinity[0].match_expressions[0].values == ("H100",)
    assert found.tolerations[0].operator == "Exists"
    assert found.pod_anti_affinity[0].namespaces == ("other",)
    constraint = found.topology_spread_constraints
    assert [item.max_skew for item in constraint] == [2]
    assert constraint[0].label_selector is not None
    assert constraint[0].label_selector.match_expressions[0].values == ("1",)
    assert found.pod_affinity[0].namespaces == ("other",)
    assert found.not_modelled == ()


def test_pods_on_nodes_that_the_input_lacks_are_named() -> None:
    imported = read(node("a"), pod("p", on="elsewhere"))
    assert imported.snapshot.jobs == ()
    assert "default/p on elsewhere" in noted(imported, "not in the input are left out")


def test_lists_of_any_kind_are_taken_apart() -> None:
    inner = {"apiVersion": "v1", "kind": "PodList", "items": [{"metadata": {"name": "p"}}]}
    objects = flatten({"apiVersion": "v1", "kind": "List", "items": [inner, node("a")]})
    assert [(item["apiVersion"], item["kind"]) for item in objects] == [
        ("v1", "Pod"),
        ("v1", "Node"),
    ]
    assert flatten(node("a")) == [node("a")]


def test_an_object_given_twice_counts_once_and_two_states_of_it_are_refused() -> None:
    assert len(read(node("a"), node("a")).snapshot.nodes) == 1
    with pytest.raises(BadDataError, match=r"items\[1\].metadata.name.*Node a differs"):
        read(node("a"), node("a", cpu="9"))


def test_every_wrong_field_is_named_by_file_and_path() -> None:
    bad = pod("p", requests={"cpu": "lots"})
    worse = pod("q", on="a", priority="high", tolerations=[{"key": "k", "effect": "Never"}])
    with pytest.raises(BadDataError) as caught:
        import_kubernetes([node("a"), bad, worse, "text"], file="dump.json")  # type: ignore[list-item]
    places = {(problem.file, problem.path) for problem in caught.value.problems}
    assert places == {
        ("dump.json", "items[1].spec.containers[0].resources.requests.cpu"),
        ("dump.json", "items[2].spec.priority"),
        ("dump.json", "items[2].spec.tolerations[0].effect"),
        ("dump.json", "items[3]"),
    }


def test_amounts_beyond_64_bits_are_refused_not_crashed_on() -> None:
    with pytest.raises(BadDataError):
        read(pod("p", containers=[{"resources": {"requests": {"memory": "7Ei"}}}] * 3))


def leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    children = value.items() if isinstance(value, dict) else enumerate(value)
    found = []
    for key, child in children:
        found.append((*path, key))
        if isinstance(child, dict | list):
            found += leaves(child, (*path, key))
    return found


def full() -> list[dict[str, Any]]:
    """One object of most kinds, each with most of the fields that are read."""
    selector = {"matchLabels": {"a": "b"}}
    term = {"topologyKey": "z", "labelSelector": selector}
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    machine = node("a")
    machine["spec"]["taints"] = [{"key": "k", "effect": "NoSchedule"}]
    machine["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
    budget = thing("policy/v1", "PodDisruptionBudget", "b", selector=selector, minAvailable=1)
    return [
        machine,
        budget,
        {**thing("scheduling.k8s.io/v1", "PriorityClass", "c", ""), "value": 1},
        thing("scheduling.x-k8s.io/v1alpha1", "PodGroup", "g", minMember=1),
        thing("kueue.x-k8s.io/v1beta2", "Topology", "t", "", levels=[{"nodeLabel": "x"}]),
        pod(
            "p",
            on="a",
            labels={"scheduling.x-k8s.io/pod-group": "g", "a": "b"},
            priority=1,
            schedulingGates=[{"name": "g"}],
            volumes=[{"name": "v", "emptyDir": {"medium": "Memory"}}],
            affinity={"podAntiAffinity": {required: [term]}},
            topologySpreadConstraints=[
                {**term, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
            ],
        ),
    ]


@pytest.mark.parametrize("wrong", [None, 7, -1, True, "", "word", [1], {"a": 1}, 2.5, 10**30])
def test_no_wrong_type_anywhere_ends_in_anything_but_one_clear_error(wrong: Any) -> None:
    objects = full()
    read(*objects)
    for path in leaves(objects):
        broken = copy.deepcopy(objects)
        place: Any = broken
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = wrong
        try:
            read(*broken)
        except BadDataError as error:
            assert all(problem.file == "dump.json" for problem in error.problems)  # noqa: PT017


def test_two_jobs_share_no_name_with_a_job_of_terminating_pods() -> None:
    label = {"scheduling.x-k8s.io/pod-group": "g"}
    gone = {"deletionTimestamp": "2026-09-01T00:00:00Z"}
    pods = [
        pod("old", on="a", owner="Job/g", labels=label, metadata=gone),
        pod("new", labels=label),
    ]
    imported = read(node("a"), *pods)
    # The pod that goes is no member any more, so its gang has to start whole again.
    assert [item.name for item in imported.snapshot.jobs] == ["g-terminating"]
    assert job(imported.pending.jobs, "g").pod_sets[0].count == 1


def test_nodes_and_pods_keep_who_they_are_and_their_versions() -> None:
    here = node("n1")
    here["metadata"] |= {"uid": "node-uid", "resourceVersion": "41"}
    found = read(here, pod("a", on="n1"))
    assert (found.snapshot.nodes[0].uid, found.snapshot.nodes[0].resource_version) == (
        "node-uid",
        "41",
    )
    (known,) = found.snapshot.jobs[0].pod_sets[0].assignments[0].pods
    assert (known.name, known.uid, known.resource_version) == ("a", "uid-a", "7")
