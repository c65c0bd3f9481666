"""Resource claims that are allocated tie the pods that wait for them to where the devices are."""

from __future__ import annotations

from typing import Any

import pytest

from kantopt.clock import Deadline
from kantopt.planning.plan import make_plan
from kantopt.planning.question import question_of
from kantopt.planning.solving.options import Options
from kantopt.schema.extends import load_model
from kantopt.schema.raw import RawDocument
from tests.formats.cluster_objects import Object, job, node, pod, read, thing
from tests.formats.device_objects import GPU, PREFIX, device_class, resource_slice

MIXED = load_model("mixed")
RACK = "example.org/rack"
OWNER = [{"kind": "Pod", "name": "p", "uid": "uid-p", "controller": True}]
NODES = [node("a", {RACK: "r1"}), node("b", {RACK: "r2"}), node("c")]


def _claim(name: str = "gpu", allocation: Object | None = None, **metadata: Any) -> Object:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "default", **metadata},
        "spec": {},
        "status": {} if allocation is None else {"allocation": allocation},
    }


def _on(*names: str) -> Object:
    field = {"key": "metadata.name", "operator": "In", "values": list(names)}
    return {"nodeSelector": {"nodeSelectorTerms": [{"matchFields": [field]}]}}


def _in(*racks: str) -> Object:
    label = {"key": RACK, "operator": "In", "values": list(racks)}
    return {"nodeSelector": {"nodeSelectorTerms": [{"matchExpressions": [label]}]}}


def _reserved(claim: Object, *uids: str) -> Object:
    users = [{"resource": "pods", "name": uid, "uid": uid} for uid in uids]
    return {**claim, "status": {**claim["status"], "reservedFor": users}}


def _named(*names: str, **more: Any) -> Object:
    claims = [{"name": f"c-{name}", "resourceClaimName": name} for name in names]
    return pod("p", resourceClaims=claims, **more)


def _templated(generated: str | None = "p-gpu", *, told: bool = True) -> Object:
    made = pod("p", resourceClaims=[{"name": "gpu", "resourceClaimTemplateName": "one"}])
    if told:
        made["status"]["resourceClaimStatuses"] = [{"name": "gpu", "resourceClaimName": generated}]
    return made


def _open(*objects: Object) -> str:
    """Nodes that a dump's one pending pod may go to."""
    dump = {"apiVersion": "v1", "kind": "List", "items": [*NODES, *objects]}
    instance = question_of([RawDocument("dump.json", 0, dump)]).instance(MIXED)
    if not instance.podsets:
        return "left out"
    return " ".join(sorted(instance.nodes[n].name for n in instance.podsets[-1].allowed))


FULL = [f"u{i}" for i in range(256)]


@pytest.mark.parametrize(
    ("objects", "nodes"),
    [
        ([_named("gpu"), _claim("gpu", _on("b"))], "b"),
        ([_named("gpu"), _claim("gpu", _in("r1"))], "a"),
        ([_named("gpu"), _claim("gpu", {})], "a b c"),
        ([_named("gpu"), _claim("gpu", {"nodeSelector": {"nodeSelectorTerms": []}})], ""),
        ([_named("x", "y"), _claim("x", _in("r1", "r2")), _claim("y", _on("b"))], "b"),
        ([_named("gpu"), _claim("gpu", _on("a", "b"))], ""),  # a field has one value
        ([_named("gpu")], "left out"),
        ([_named("gpu"), _claim("gpu")], "left out"),
        ([_named("x", "y"), _claim("x", _on("a")), _claim("y")], "left out"),
        ([_named("gpu"), _claim("gpu", _on("b"), deletionTimestamp="now")], ""),
        ([_named("gpu"), _reserved(_claim("gpu", _on("b")), *FULL)], ""),
        ([_named("gpu"), _reserved(_claim("gpu", _on("b")), *FULL[1:], "uid-p")], "b"),
        ([_named("gpu"), _claim("gpu", _on("b"), namespace="other")], "left out"),
        ([_templated(), _claim("p-gpu", _on("c"), ownerReferences=OWNER)], "c"),
        ([_templated(), _claim("p-gpu", _on("c"))], ""),
        ([_templated(), _claim("p-gpu", _on("c"), ownerReferences=[{"uid": "uid-q"}])], ""),
        (
            [
                _templated(),
                _claim("p-gpu", _on("c"), ownerReferences=[{"kind": "Pod", "uid": "uid-p"}]),
            ],
            "",
        ),
        ([_templated(told=False), _claim("p-gpu", _on("c"), ownerReferences=OWNER)], "left out"),
        ([_templated(None)], "a b c"),
    ],
)
def test_a_pod_may_go_where_its_claims_are_allocated(objects: list[Object], nodes: str) -> None:
    assert _open(*objects) == nodes


def test_a_claim_is_shared_by_256_pods_at_most() -> None:
    claim = _reserved(_claim("gpu", _on("b")), *FULL[:255])
    claims = [{"name": "c", "resourceClaimName": "gpu"}]
    two = [pod(name, resourceClaims=claims, owner=f"ReplicaSet/{name}") for name in ("p", "q")]

    jobs = read(*NODES, claim, *two).pending.jobs
    assert job(jobs, "p").pod_sets[0].not_modelled == ()
    assert job(jobs, "q").pod_sets[0].not_modelled == ("resource-claims",)


def test_a_pod_that_runs_with_a_claim_is_neither_moved_nor_evicted() -> None:
    held = _named("gpu", on="a", requests={"cpu": "8"}, priority=0)
    eager = pod("q", requests={"cpu": "8"}, nodeSelector={RACK: "r1"}, priority=9)

    def disturbed(*objects: Object) -> int:
        dump = {"apiVersion": "v1", "kind": "List", "items": [*NODES, eager, *objects]}
        question = question_of([RawDocument("dump.json", 0, dump)])
        plan = make_plan(question, MIXED, Options(), Deadline.within(20)).plan
        return len(plan.moves) + len(plan.evictions)

    assert disturbed(held, _claim("gpu", _on("a"))) == 0
    assert disturbed(pod("p", on="a", requests={"cpu": "8"}, priority=0)) > 0


def test_devices_claimed_for_an_extended_resource_are_left_alone() -> None:
    """No node offers the resource, and yet pods that ask for it have a place."""
    device_class = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": "gpu"},
        "spec": {"extendedResourceName": "example.org/gpu"},
    }
    asks = {"cpu": "1", "example.org/gpu": "1"}
    waits, runs = pod("w", requests=asks), pod("r", on="a", owner="Job/r", requests=asks)
    imported = read(*NODES, device_class, waits, runs)
    for found in (imported.pending.jobs[0], imported.snapshot.jobs[0]):
        (only,) = found.pod_sets
        assert only.not_modelled == ("resource-claims",)
        assert only.requests == {"cpu": 1, "pods": 1}
    plain = read(*NODES, waits)
    assert plain.pending.jobs[0].pod_sets[0].not_modelled == ()


def test_what_a_node_offers_itself_is_no_device_of_a_class_unless_a_pod_says_so() -> None:
    device_class = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": "gpu"},
        "spec": {"extendedResourceName": "nvidia.com/gpu"},
    }
    plain, claims = (
        pod(name, on="a", owner=f"Job/{name}", requests={"nvidia.com/gpu": "1"})
        for name in ("plain", "claims")
    )
    claims["status"]["extendedResourceClaimStatus"] = {
        "resourceClaimName": "claims-x",
        "requestMappings": [{"resourceName": "nvidia.com/gpu", "requestName": "r"}],
    }
    jobs = read(*NODES, device_class, plain, claims).snapshot.jobs
    assert job(jobs, "plain").pod_sets[0].not_modelled == ()
    assert job(jobs, "claims").pod_sets[0].not_modelled == ("resource-claims",)


def _gpus(resource: str = "") -> list[Object]:
    """A class for all devices, and a node that has two of them and offers none itself."""
    named = {"extendedResourceName": resource} if resource else {}
    made = device_class()
    without = node("d", **{"nvidia.com/gpu": "0"})
    return [without, {**made, "spec": {**made["spec"], **named}}, resource_slice("d", "g0", "g1")]


@pytest.mark.parametrize("classes", [True, False])
def test_devices_asked_for_by_the_name_of_their_class_are_left_alone(classes: bool) -> None:
    """By this name kube-scheduler claims devices of any class for who asks for it."""
    asks = {"cpu": "1", f"{PREFIX}{GPU}": "2"}
    workload = thing("kueue.x-k8s.io/v1beta2", "Workload", "later", queueName="q")
    template = {"spec": pod("t", requests=asks)["spec"]}
    workload["spec"]["podSets"] = [{"name": "main", "count": 1, "template": template}]
    waits = pod("w", owner="Job/w", requests=asks)
    imported = read(*_gpus()[: 3 if classes else 1], waits, workload)
    for name in ("w", "later"):
        (only,) = job(imported.pending.jobs, name).pod_sets
        assert only.not_modelled == ("resource-claims",)
        assert only.requests == {"cpu": 1, "pods": 1}
    unknown = pod("w", requests={f"{PREFIX}none": "2"})
    assert read(*_gpus(), unknown).pending.jobs[0].pod_sets[0].not_modelled == ()


def test_what_some_nodes_offer_and_others_have_devices_for_is_not_modelled() -> None:
    """Who waits for it keeps what he asks for, and is planned with it if that is assumed."""
    asks = {"nvidia.com/gpu": "4"}
    runs = {n: pod(f"on-{n}", on=n, owner=f"Job/on-{n}", requests=asks) for n in ("a", "d")}
    objects = [NODES[0], pod("w", requests=asks), *runs.values()]
    imported = read(*objects, *_gpus("nvidia.com/gpu"))
    (waits,) = imported.pending.jobs[0].pod_sets
    assert waits.not_modelled == ("resource-claims",)
    assert waits.requests["nvidia.com/gpu"] == 4
    jobs = imported.snapshot.jobs
    assert job(jobs, "on-a").pod_sets[0].not_modelled == ()
    assert job(jobs, "on-d").pod_sets[0].not_modelled == ("resource-claims",)
    assert "nvidia.com/gpu" not in job(jobs, "on-d").pod_sets[0].requests


def test_a_class_of_which_no_node_has_devices_leaves_nobody_alone() -> None:
    """Nodes without GPUs, or with devices of other sorts, are none where a pod could have some."""
    nics = resource_slice("d", {"name": "nic"}, driver="nic.x")
    waits = pod("w", requests={"nvidia.com/gpu": "4"})
    imported = read(NODES[0], *_gpus("nvidia.com/gpu")[:2], nics, waits)
    assert imported.pending.jobs[0].pod_sets[0].not_modelled == ()
