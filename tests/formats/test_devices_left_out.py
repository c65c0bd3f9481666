"""Claims that are not read are left out with their pods; wrong types are reported."""

from __future__ import annotations

from typing import Any

import pytest

from kantopt.errors import BadDataError
from tests.formats.cluster_objects import Object, noted, read
from tests.formats.device_objects import (
    BASE,
    GPU,
    NODES,
    claim,
    device,
    device_class,
    exactly,
    left_out,
    offered,
    pair,
    places,
    resource_slice,
    user,
)

WHOLE = exactly(None, allocationMode="All")
SAME = {"matchAttribute": "gpu.x/model"}
OWN = ["device.attributes['gpu.x'].model == 'a'"]


def test_a_class_that_is_not_there_is_found_on_no_node() -> None:
    claims = pair("p", exactly(name="lost"), exactly(later="x"))
    assert places(*BASE, *claims) == {}
    assert not left_out(*BASE, *claims)


@pytest.mark.parametrize(
    ("cause", "claims"),
    [
        (
            "a constraint on allocationMode All",
            pair("p", WHOLE, constraints=[{"matchAttribute": "gpu.x/model"}]),
        ),
        ("adminAccess", pair("p", exactly(adminAccess=True))),
        (
            "firstAvailable of several devices",
            pair("p", {"firstAvailable": [exactly(1), exactly(2)]}),
        ),
        ("firstAvailable of several devices", pair("p", {"firstAvailable": [WHOLE]})),
        ("a field or a value", pair("p", {"firstAvailable": [exactly(1, name="lost")]})),
        (
            "a constraint on firstAvailable",
            pair("p", {"firstAvailable": [exactly(1, *OWN), exactly()]}, constraints=[SAME]),
        ),
        ("capacity", pair("p", exactly(capacity={"requests": {"size": "1"}}))),
        ("a field or a value", pair("p", exactly(later="x"))),
        ("a field or a value", pair("p", exactly(allocationMode="Some"))),
        ("constraints", pair("p", exactly(2), constraints=[{"distinctAttribute": "gpu.x/m"}])),
        ("a field", pair("p", exactly(2), constraints=[{**SAME, "requests": ["r1"]}])),
        ("more than 32 devices", pair("p", exactly(33))),
        (
            "a selector (gpu.x/lost is missing or not read)",
            pair("p", exactly(1, "device.attributes['gpu.x'].lost == 1")),
        ),
        ("a selector (+ 1 == 2 is not read)", pair("p", exactly(1, "1 + 1 == 2"))),
        ("a selector", pair("p", exactly(1, ""))),
        ("several pods", [user("p"), user("q", "p"), claim("p")]),
        ("several pods", [user("p"), user("q", "p", on="a"), claim("p")]),
        ("", [user("p", "p", "lost"), claim("p")]),
    ],
)
def test_what_is_not_read_is_left_out_with_its_cause_and_nothing_else(
    cause: str, claims: list[Object]
) -> None:
    objects = [*BASE, *claims, *pair("z")]
    assert "p" in left_out(*objects)
    assert "z" not in left_out(*objects)
    told = [line for line in read(*objects).notes if "not read, because of" in line]
    assert bool(told) == bool(cause)
    assert all(f"because of {cause}" in line for line in told)


@pytest.mark.parametrize("missing", ["DeviceClass", "ResourceSlice", "ResourceClaim"])
def test_nothing_is_read_without_slices_classes_or_claims(missing: str) -> None:
    objects = [item for item in [*BASE, *pair("p")] if item["kind"] != missing]
    assert left_out(*objects) == {"p"}
    assert noted(read(*objects), "kubectl get resourceclaims,resourceslices,deviceclasses")


@pytest.mark.parametrize(
    ("more", "spec"),
    [
        ({"consumesCounters": [{"counterSet": "c"}]}, {}),
        ({"allowMultipleAllocations": True}, {}),
        ({"bindsToNode": True}, {}),
        ({"bindingConditions": ["ready"]}, {}),
        ({"basic": {"consumesCounters": [{}]}}, {}),
        ({}, {"nodeName": None, "allNodes": True}),
        ({}, {"nodeName": None, "nodeSelector": {"nodeSelectorTerms": [{}]}}),
        ({"nodeName": "b"}, {"nodeName": None, "perDeviceNodeSelection": True}),
        ({}, {"nodeName": None}),
    ],
)
def test_requests_that_an_odd_device_suits_are_left_out(more: Object, spec: Object) -> None:
    pool = {"pool": {"name": "other"}}
    odd = resource_slice("b", {"name": "odd", **more}, **pool, **spec)
    named = "has(device.attributes['gpu.x'].model)"
    claims = [*pair("p"), *pair("q", exactly(1, named))]
    assert left_out(*BASE, odd, *claims) == {"p"}
    plain = resource_slice("b", {"name": "odd", **dict.fromkeys(more)}, **pool, allNodes=False)
    assert left_out(*BASE, plain, *claims) == set()


def test_devices_with_taints_are_given_to_those_only_that_may_tolerate_them() -> None:
    def offers(effect: str) -> list[Object]:
        sick = device("g0", taints=[{"key": "sick", "effect": effect}])
        return [*NODES, device_class(), resource_slice("a", sick)]

    tolerant = pair("q", exactly(tolerations=[{"operator": "Exists"}]))
    for effect in ("NoSchedule", "NoExecute"):
        assert places(*offers(effect), *pair("p")) == {}
        assert left_out(*offers(effect), *pair("p"), *tolerant) == {"q"}
    assert places(*offers("None"), *pair("p")) == {"p": "a"}


def test_of_a_pool_its_newest_slices_count() -> None:
    old, new = resource_slice("a", "g0", "g1", "g2"), resource_slice("a", "g0", generation=2)
    assert offered(read(*NODES, device_class(), old, new, *pair("p")))["a"] == {GPU: 1}
    pool = {"name": "both"}
    here = resource_slice("a", "g0", pool={**pool, "generation": 1})
    there = resource_slice("b", "g1", pool={**pool, "generation": 2})
    assert left_out(*NODES, device_class(), here, there, *pair("p")) == {"p"}


def test_a_pool_that_names_a_device_twice_tells_nothing() -> None:
    assert left_out(*BASE, resource_slice("a", "g0"), *pair("p")) == {"p"}


def test_selectors_that_would_take_too_long_are_not_asked() -> None:
    hard = " && ".join(["device.driver == 'gpu.x'"] * 300)
    offers = resource_slice("a", *(device(f"g{i}") for i in range(9000)))
    assert left_out(*NODES, device_class(), offers, *pair("p", exactly(1, hard)), *pair("q")) == {
        "p"
    }


DEVICE = "spec.devices.0"
REQUEST = "spec.devices.requests.0"
WRONG: list[tuple[str, str, Any]] = [
    ("slice", "spec", 7),
    ("slice", "spec.driver", {}),
    ("slice", "spec.nodeName", 5),
    ("slice", "spec.pool", []),
    ("slice", "spec.pool.generation", "one"),
    ("slice", "spec.devices", "x"),
    ("slice", DEVICE, "x"),
    ("slice", f"{DEVICE}.name", 5),
    ("slice", f"{DEVICE}.basic", 3),
    ("slice", f"{DEVICE}.taints", {"a": 1}),
    ("slice", f"{DEVICE}.taints", [{"effect": 1}]),
    ("slice", f"{DEVICE}.attributes", []),
    ("slice", f"{DEVICE}.attributes.model", "a"),
    ("slice", f"{DEVICE}.attributes.model", {"int": "a"}),
    ("slice", f"{DEVICE}.attributes.model", {"int": 2**63}),
    ("slice", f"{DEVICE}.attributes.model", {"bool": 1}),
    ("slice", f"{DEVICE}.capacity", 3),
    ("slice", f"{DEVICE}.capacity.size", []),
    ("slice", f"{DEVICE}.capacity.size", "lots"),
    ("slice", f"{DEVICE}.capacity.size", {}),
    ("slice", f"{DEVICE}.capacity.size", {"value": True}),
    ("slice", f"{DEVICE}.capacity.size", {"value": "-1"}),
    ("class", "spec", 7),
    ("class", "spec.selectors", "x"),
    ("class", "spec.selectors.0", "x"),
    ("class", "spec.selectors.0.cel", "x"),
    ("class", "spec.selectors.0.cel.expression", 5),
    ("claim", "spec", 7),
    ("claim", "spec.devices", []),
    ("claim", "spec.devices.requests", {}),
    ("claim", REQUEST, "x"),
    ("claim", f"{REQUEST}.exactly", []),
    ("claim", f"{REQUEST}.exactly.count", "2"),
    ("claim", f"{REQUEST}.exactly.count", 0),
    ("claim", f"{REQUEST}.exactly.deviceClassName", 5),
    ("claim", f"{REQUEST}.exactly.allocationMode", 5),
    ("claim", f"{REQUEST}.exactly.adminAccess", "no"),
    ("claim", f"{REQUEST}.exactly.selectors", 1),
    ("claim", "status", []),
    ("claim", "status.reservedFor", "x"),
    ("claim", "status.allocation", {"devices": 5}),
    ("claim", "status.allocation", {"devices": {"results": "x"}}),
    ("claim", "status.allocation", {"devices": {"results": [{"driver": 5}]}}),
    ("claim", "status.allocation", {"devices": {"results": [{"adminAccess": "x"}]}}),
]


@pytest.mark.parametrize(("kind", "path", "value"), WRONG, ids=str)
def test_what_has_the_wrong_type_is_reported_with_its_place(
    kind: str, path: str, value: Any
) -> None:
    objects = {"slice": resource_slice("a", "g0"), "class": device_class(), "claim": claim("p")}
    place: Any = objects[kind]
    *steps, last = (int(step) if step.isdigit() else step for step in path.split("."))
    for step in steps:
        place = place[step]
    place[last] = value
    with pytest.raises(BadDataError) as raised:
        read(*NODES, *objects.values(), user("p"), *pair("q"))
    assert raised.value.problems
    assert all(problem.path.startswith("items[") for problem in raised.value.problems)


def causes(*objects: Object) -> list[str]:
    """Why claims are not read."""
    told = [line for line in read(*objects).notes if "not read, because of" in line]
    return [line.split("because of ")[1].split(":")[0] for line in told]


@pytest.mark.parametrize(
    ("cause", "offers"),
    [
        (
            "allocationMode All where nodes have different numbers of devices",
            [resource_slice("a", "g0"), resource_slice("b", "g0", "g1")],
        ),
        (
            "allocationMode All where slices of a pool are missing",
            [
                resource_slice(
                    "a", "g0", driver="other", pool={"name": "x", "resourceSliceCount": 2}
                )
            ],
        ),
        (
            "allocationMode All of devices with taints",
            [resource_slice("a", device("g0", taints=[{"key": "k", "effect": "NoExecute"}]))],
        ),
        (
            "more than 32 devices",
            [resource_slice("a", *(f"g{i}" for i in range(33)))],
        ),
    ],
    ids=str,
)
def test_all_devices_of_a_node_are_not_read_where_that_is_no_number(
    cause: str, offers: list[Object]
) -> None:
    objects = [*NODES, device_class(), *offers, *pair("p", WHOLE)]
    assert left_out(*objects) == {"p"}
    assert causes(*objects) == [cause]


def test_devices_of_a_pool_of_which_slices_are_missing_are_not_read() -> None:
    pool = {"name": "pool-a", "generation": 1, "resourceSliceCount": 2}
    one, other = (resource_slice("a", name, pool=pool) for name in ("g0", "g1"))
    assert left_out(*NODES, device_class(), one, *pair("p")) == {"p"}
    assert places(*NODES, device_class(), one, other, *pair("p", exactly(2))) == {"p": "a"}


@pytest.mark.parametrize("attribute", ["model", "release"])
def test_a_value_that_tells_devices_of_a_node_apart_is_not_read(attribute: str) -> None:
    release = {"model": {"string": "a"}, "release": {"version": "1.0.0"}}
    models = [device("g0", model="a"), device("g1", model="b")]
    devices = models if attribute == "model" else [device("g0", attributes=release)]
    same = {"matchAttribute": f"gpu.x/{attribute}"}
    objects = [*NODES, device_class(), resource_slice("a", *devices)]
    objects += pair("p", exactly(2), constraints=[same])
    assert left_out(*objects) == {"p"}
    (cause,) = causes(*objects)
    assert cause == f"matchAttribute gpu.x/{attribute}, which tells devices of a node apart"
    # One device is like itself.
    assert places(*objects[:-2], *pair("p", exactly(), constraints=[same])) == {"p": "a"}
