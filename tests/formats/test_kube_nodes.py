"""Nodes, resources and eligibility as kube-scheduler has them, case by case."""

from __future__ import annotations

from typing import Any

import pytest

from kantopt.formats.kubernetes.pod_requests import pod_requests
from kantopt.formats.view import View
from kantopt.problem.build import build_instance
from kantopt.problem.cluster import Spot
from kantopt.problem.instance import Instance
from kantopt.schema.extends import load_model
from kantopt.verify.rules import check
from tests.formats.cluster_objects import Object, node, pod, read

CORDON = "node.kubernetes.io/unschedulable"
NOT_READY = "node.kubernetes.io/not-ready"


def instance_of(*objects: Object) -> Instance:
    imported = read(*objects)
    return build_instance(imported.snapshot, imported.pending.jobs, load_model("mixed"))


def admits(instance: Instance, n: int = 0) -> bool:
    """Whether the one pending pod may go to a node."""
    (s,) = (podset.index for podset in instance.podsets if not podset.running)
    return not check(instance, instance.current.replace({s: {Spot(n): 1}}))


def taint(key: str, effect: str) -> Object:
    return {"key": key, "effect": effect}


def closed(*taints: Object, ready: bool = True, cordoned: bool = False) -> Object:
    made = node("n")
    made["spec"] = {"taints": list(taints), "unschedulable": cordoned}
    made["status"]["conditions"] = [{"type": "Ready", "status": "True" if ready else "False"}]
    return made


EVERYTHING: Object = {"operator": "Exists"}


@pytest.mark.parametrize(
    ("made", "tolerations", "admitted"),
    [
        (closed(cordoned=True), [], False),
        (closed(cordoned=True), [EVERYTHING], True),
        (closed(taint(CORDON, "NoSchedule"), cordoned=True), [EVERYTHING], True),
        (closed(cordoned=True), [{"key": CORDON, "operator": "Exists"}], True),
        (closed(ready=False), [], False),
        (closed(ready=False), [EVERYTHING], True),
        (closed(taint(NOT_READY, "NoExecute"), ready=False), [EVERYTHING], True),
        (closed(taint(NOT_READY, "NoSchedule")), [], False),
        # Tolerated for a time: whoever comes is evicted after it.
        (closed(taint("k", "NoExecute")), [{**EVERYTHING, "tolerationSeconds": 60}], False),
        (closed(taint("k", "NoExecute")), [EVERYTHING], True),
    ],
)
def test_what_closes_a_node_is_a_taint_and_may_be_tolerated(
    made: Object, tolerations: list[Object], admitted: bool
) -> None:
    assert admits(instance_of(made, pod("p", tolerations=tolerations))) is admitted


def affinity(*terms: Object) -> Object:
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    return {"nodeAffinity": {required: {"nodeSelectorTerms": list(terms)}}}


def above(limit: str) -> Object:
    return {"matchExpressions": [{"key": "gen", "operator": "Gt", "values": [limit]}]}


@pytest.mark.parametrize(
    ("label", "limit", "admitted"),
    [
        ("7", "3", True),
        ("007", "03", True),
        ("7", "+3", False),  # no value that a label could have
        ("7", "-3", False),
        ("1_0", "3", False),
        (" 7", "3", False),
        ("99999999999999999999", "3", False),
        ("9223372036854775807", "9223372036854775806", True),
        ("7", "5Gi", False),
    ],
)
def test_labels_are_compared_as_whole_numbers_of_64_bits(
    label: str, limit: str, admitted: bool
) -> None:
    subject = pod("p", affinity=affinity(above(limit)))
    assert admits(instance_of(node("n", {"gen": label}), subject)) is admitted


def asks(key: str, operator: str, *values: str) -> Object:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


LONG = "x" * 64
NO_TERMS = [
    above("5Gi"),
    above("+3"),
    asks("gen", "NotIn", "a/b"),
    asks("gen", "In", "1", "a b"),
    asks("gen", "In", "1", "-2"),
    asks("gen", "NotIn", LONG),
    asks("gen!", "DoesNotExist"),
    asks("a/b/gen", "DoesNotExist"),
    asks("Upper.example/gen", "DoesNotExist"),
    asks(LONG, "DoesNotExist"),
]


@pytest.mark.parametrize("term", NO_TERMS)
def test_a_term_with_what_no_label_could_be_matches_nothing_and_others_hold(term: Object) -> None:
    machine = node("n", {"gen": "1"})
    assert not admits(instance_of(machine, pod("p", affinity=affinity(term))))
    both = affinity(term, asks("gen", "Exists"))
    assert admits(instance_of(machine, pod("p", affinity=both)))


@pytest.mark.parametrize(
    "term",
    [
        asks("gen", "In", "1", ""),
        asks("gen", "NotIn", "A_b-c.9", "x" * 63),
        asks("a-1.example.com/B_2", "DoesNotExist"),
    ],
)
def test_a_term_with_what_labels_may_be_holds(term: Object) -> None:
    subject = pod("p", affinity=affinity(term))
    assert admits(instance_of(node("n", {"gen": "1"}), subject))


def called(operator: str, *names: str) -> Object:
    return {"matchFields": [{"key": "metadata.name", "operator": operator, "values": list(names)}]}


@pytest.mark.parametrize(
    ("term", "admitted"),
    [
        (called("In", "n"), True),
        (called("NotIn", "m"), True),
        (called("In", "n", "m"), False),
        (called("NotIn", "m", "o"), False),
        (called("Exists"), False),
        (called("DoesNotExist"), False),
    ],
)
def test_a_term_compares_the_name_of_a_node_with_one_name_or_matches_nothing(
    term: Object, admitted: bool
) -> None:
    subject = pod("p", affinity=affinity(term))
    assert admits(instance_of(node("n"), subject)) is admitted


def test_a_required_affinity_without_terms_matches_no_node() -> None:
    assert not admits(instance_of(node("n"), pod("p", affinity=affinity())))
    assert admits(instance_of(node("n"), pod("p", affinity={"nodeAffinity": {}})))


def test_a_node_selector_may_ask_for_anything_that_a_node_bears() -> None:
    subject = pod("p", nodeSelector={"gen": "-1"})
    assert admits(instance_of(node("n", {"gen": "-1"}), subject))


def test_a_node_without_hostname_label_has_none() -> None:
    subject = pod("p", nodeSelector={"kubernetes.io/hostname": "n"})
    assert not admits(instance_of(node("n"), subject))
    labelled = node("n", {"kubernetes.io/hostname": "n"})
    assert admits(instance_of(labelled, subject))


def test_nodes_that_a_killed_script_has_left_cordoned_are_told() -> None:
    left = closed(cordoned=True)
    left["metadata"]["annotations"] = {"kantopt/cordoned-by": "sha256:12"}
    others = read(closed(cordoned=True), pod("p")).notes
    (line,) = set(read(left, pod("p")).notes) - set(others)
    assert line.startswith("nodes that the script of a plan has cordoned")
    assert line.endswith("1 (n)")
    left["spec"]["unschedulable"] = False
    assert read(left, pod("p")).notes == others


def test_a_node_that_offers_no_pods_takes_none() -> None:
    bare = node("n")
    del bare["status"]["allocatable"]["pods"]
    assert not admits(instance_of(bare, pod("p")))


def box(name: str = "c", **requests: str) -> dict[str, Any]:
    return {"name": name, "resources": {"requests": requests}}


def requests_of(spec: Object, status: Object | None = None) -> dict[str, int]:
    made = None if status is None else View(status, "x", ("status",), [])
    return pod_requests(View(spec, "x", ("spec",), []), made)


def test_amounts_are_rounded_once_they_are_summed() -> None:
    assert requests_of({"containers": [box(cpu="400u"), box(cpu="400u")]})["cpu"] == 1
    assert requests_of({"containers": [box(cpu="600u"), box(cpu="600u")]})["cpu"] == 2
    offered = instance_of(node("n", memory="1000500m"), pod("p", requests={"memory": "1001"}))
    assert admits(offered)


def resized(reason: str = "", **held: str) -> Object:
    """Status of a container ``c`` that still holds something else than it asks for."""
    conditions = [{"type": "PodResizePending", "status": "True", "reason": reason}]
    return {
        "containerStatuses": [{"name": "c", "resources": {"requests": held}}],
        "conditions": conditions if reason else [],
    }


@pytest.mark.parametrize(
    ("wanted", "status", "counts"),
    [
        ("1", resized(cpu="6"), 6000),
        ("6", resized(cpu="1"), 6000),
        ("6", resized("Deferred", cpu="1"), 6000),
        ("6", resized("Infeasible", cpu="1"), 1000),
        ("1", {"containerStatuses": [{"name": "other", "resources": {}}]}, 1000),
        (
            "1",
            {
                "containerStatuses": [
                    {"name": "c", "resources": {}, "allocatedResources": {"cpu": 3}}
                ]
            },
            3000,
        ),
    ],
)
def test_a_resize_on_its_way_takes_the_most_that_is_wanted_allocated_or_in_force(
    wanted: str, status: Object, counts: int
) -> None:
    spec = {"containers": [box(cpu=wanted)]}
    assert requests_of(spec, status)["cpu"] == counts
    # A pod without a node has nothing but what it asks for.
    assert requests_of(spec)["cpu"] == int(wanted) * 1000


def test_a_sidecar_is_resized_like_a_container_and_an_init_container_is_not() -> None:
    always = {**box("s", cpu="1"), "restartPolicy": "Always"}
    held = {"name": "s", "resources": {"requests": {"cpu": "4"}}}
    status = {"initContainerStatuses": [held, {**held, "name": "i"}]}
    assert requests_of({"initContainers": [always]}, status)["cpu"] == 4000
    assert requests_of({"initContainers": [box("i", cpu="1")]}, status)["cpu"] == 1000


def test_room_that_is_still_allocated_is_not_given_away() -> None:
    runs = pod("r", on="n", containers=[box(cpu="1")])
    runs["status"] |= resized(cpu="6")
    assert not admits(instance_of(node("n"), runs, pod("p", owner="Job/p", requests={"cpu": "4"})))


@pytest.mark.parametrize(("held", "told"), [("6", True), ("1", False), ("1000m", False)])
def test_that_a_pod_counts_larger_than_it_will_be_is_told(held: str, told: bool) -> None:
    """Where it was moved it would come back with what it asks for."""
    runs = pod("r", on="n", containers=[box(cpu="1")])
    runs["status"] |= resized(cpu=held)
    notes = read(node("n"), runs).notes
    assert any("made smaller count as large as they still are" in line for line in notes) is told
