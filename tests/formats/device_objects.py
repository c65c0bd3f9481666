"""Small clusters with devices to claim, and what is planned in them."""

from __future__ import annotations

from itertools import count
from typing import Any

from kantopt.clock import Deadline
from kantopt.formats.imported import Imported
from kantopt.planning.plan import make_plan
from kantopt.planning.question import question_of
from kantopt.planning.solving.options import Options
from kantopt.schema.extends import load_model
from kantopt.schema.raw import RawDocument
from tests.formats.cluster_objects import Object, job, node, pod, read

MIXED = load_model("mixed")
GPU = "gpu.x"
PREFIX = "deviceclass.resource.kubernetes.io/"
NUMBERS = count()


def dra(kind: str, name: str, spec: Object, version: str = "v1", **more: Any) -> Object:
    return {
        "apiVersion": f"resource.k8s.io/{version}",
        "kind": kind,
        "metadata": {"name": name},
        "spec": spec,
        **more,
    }


def device_class(name: str = GPU, *expressions: str) -> Object:
    cel = [{"cel": {"expression": text}} for text in expressions or (f"device.driver == '{GPU}'",)]
    return dra("DeviceClass", name, {"selectors": cel})


def device(name: str, size: str = "40Gi", model: str = "a", **more: Any) -> Object:
    attributes = {"model": {"string": model}}
    return {"name": name, "attributes": attributes, "capacity": {"size": {"value": size}}, **more}


def resource_slice(on: str, *devices: str | Object, generation: int = 1, **spec: Any) -> Object:
    made = [device(item) if isinstance(item, str) else item for item in devices]
    pool = {"name": f"pool-{on}", "generation": generation, "resourceSliceCount": 1}
    base = {"driver": GPU, "nodeName": on, "pool": pool, "devices": made}
    return dra("ResourceSlice", f"slice-{next(NUMBERS)}", {**base, **spec})


def exactly(number: int | None = None, *where: str, name: str = GPU, **more: Any) -> Object:
    request: Object = {"deviceClassName": name, "allocationMode": "ExactCount", **more}
    if number is not None:
        request["count"] = number
    if where:
        request["selectors"] = [{"cel": {"expression": text}} for text in where]
    return request


def claim(name: str, *requests: Object, version: str = "v1", **devices: Any) -> Object:
    flat = version == "v1beta1"
    asked = [
        {"name": f"r{i}", **(item if flat or "firstAvailable" in item else {"exactly": item})}
        for i, item in enumerate(requests or [exactly()])
    ]
    made = dra("ResourceClaim", name, {"devices": {"requests": asked, **devices}}, version)
    made["metadata"]["namespace"] = "default"
    return {**made, "status": {}}


def given(claim: Object, on: str, *devices: str, by: tuple[str, ...] = (), **more: Any) -> Object:
    results = [
        {"request": "r0", "driver": GPU, "pool": f"pool-{on}", "device": name, **more}
        for name in devices
    ]
    field = {"key": "metadata.name", "operator": "In", "values": [on]}
    where = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    users = [{"resource": "pods", "name": uid, "uid": uid} for uid in by]
    allocation = {"devices": {"results": results}, "nodeSelector": where}
    return {**claim, "status": {"allocation": allocation, "reservedFor": users}}


def user(name: str, *claims: str, **more: Any) -> Object:
    asked = [{"name": item, "resourceClaimName": item} for item in claims or (name,)]
    return pod(name, resourceClaims=asked, owner=f"StatefulSet/{name}", **more)


def pair(name: str, *requests: Object, **more: Any) -> list[Object]:
    """A pod that waits, and its claim."""
    return [user(name), claim(name, *requests, **more)]


def places(*objects: Object) -> dict[str, str]:
    """Where a plan places the pods of a dump that wait."""
    dump = {"apiVersion": "v1", "kind": "List", "items": list(objects)}
    question = question_of([RawDocument("dump.json", 0, dump)])
    plan = make_plan(question, MIXED, Options(), Deadline.within(20)).plan
    return {item.job.removeprefix("default/"): item.node for item in plan.assignments}


def left_out(*objects: Object) -> set[str]:
    jobs = read(*objects).pending.jobs
    return {item.name for item in jobs if item.pod_sets[0].not_modelled == ("resource-claims",)}


def asked(imported: Imported, name: str) -> dict[str, Any]:
    everyone = (*imported.pending.jobs, *imported.snapshot.jobs)
    requests = job(everyone, name).pod_sets[0].requests
    return {key.removeprefix(PREFIX): n for key, n in requests.items() if key.startswith(PREFIX)}


def offered(imported: Imported) -> dict[str, dict[str, Any]]:
    return {
        item.name: {
            key.removeprefix(PREFIX): n
            for key, n in item.allocatable.items()
            if key.startswith(PREFIX)
        }
        for item in imported.snapshot.nodes
    }


NODES = [node("a"), node("b")]
BASE = [*NODES, device_class(), resource_slice("a", "g0", "g1"), resource_slice("b", "g0", "g1")]
FIVE = [item for name in "pqstu" for item in pair(name)]
