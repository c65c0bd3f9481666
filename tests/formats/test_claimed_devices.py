"""Pods that wait for devices go where drivers offer them, as kube-scheduler allocates them."""

from __future__ import annotations

import pytest

from kantopt.planning.question import question_of
from kantopt.schema.raw import RawDocument
from tests.formats.cluster_objects import Object, job, noted, pod, read
from tests.formats.device_objects import (
    BASE,
    FIVE,
    GPU,
    MIXED,
    NODES,
    PREFIX,
    asked,
    claim,
    device,
    device_class,
    exactly,
    given,
    left_out,
    offered,
    pair,
    places,
    resource_slice,
    user,
)


def test_as_many_pods_are_placed_as_there_are_devices() -> None:
    placed = places(*BASE, *FIVE)
    assert sorted(placed.values()) == ["a", "a", "b", "b"]


def test_a_class_is_a_resource_of_its_name() -> None:
    imported = read(*BASE, *FIVE)
    assert offered(imported) == {"a": {GPU: 2}, "b": {GPU: 2}}
    assert all(asked(imported, name) == {GPU: 1} for name in "pqstu")


def test_requests_and_claims_of_a_pod_are_added_up() -> None:
    two = [user("p", "x", "y"), claim("x", exactly(2), exactly()), claim("y")]
    assert asked(read(*BASE, *two), "p") == {GPU: 4}
    assert places(*BASE, *two) == {}
    assert places(*BASE, resource_slice("b", "g2", "g3", pool={"name": "more"}), *two) == {"p": "b"}


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2", "v1"])
def test_each_version_of_the_api_is_read(version: str) -> None:
    claimed = [user("p"), claim("p", exactly(2, "device.attributes['gpu.x'].model == 'a'"))]
    claimed[1] = claim("p", exactly(2), version=version)
    devices = [device("g0"), device("g1")]
    if version == "v1beta1":
        devices = [
            {"name": item.pop("name"), "basic": {**item, "capacity": {"size": "40Gi"}}}
            for item in devices
        ]
    assert places(*NODES, device_class(), resource_slice("b", *devices), *claimed) == {"p": "b"}


def test_selectors_decide_which_devices_suit() -> None:
    big = "device.capacity['gpu.x'].size.compareTo(quantity('80Gi')) >= 0"
    offers = [resource_slice("a", "g0"), resource_slice("b", device("g0", "80Gi"))]
    found = read(*NODES, device_class(), *offers, *pair("p", exactly(1, big)))
    assert places(*NODES, device_class(), *offers, *pair("p", exactly(1, big))) == {"p": "b"}
    assert not left_out(*NODES, device_class(), *offers, *pair("p", exactly(1, big)))
    (name,) = asked(found, "p")
    assert name.startswith(f"{GPU}#")
    assert noted(found, "pods that claim") == f"pods that claim {name}, where {big}: 1 (default/p)"


def test_a_selector_is_asked_only_of_devices_that_the_class_accepts() -> None:
    model = "device.attributes['gpu.x'].model == 'a'"
    other = resource_slice("b", {"name": "nic"}, driver="nic.x")
    assert places(*BASE[:4], other, *pair("p", exactly(2, model))) == {"p": "a"}


def test_a_pod_asks_for_a_wider_class_too_that_its_devices_count_for() -> None:
    mixed = [device_class(), device_class("big", "device.attributes['gpu.x'].model == 'big'")]
    offers = resource_slice("a", "g0", device("g1", model="big"))
    narrow, wide = pair("p", exactly(name="big")), pair("q")
    imported = read(*NODES, *mixed, offers, *narrow, *wide)
    assert asked(imported, "p") == {"big": 1, GPU: 1}
    assert asked(imported, "q") == {GPU: 1}
    assert offered(imported)["a"] == {"big": 1, GPU: 2}
    assert noted(imported, "to other claims first").endswith(": 2 (default/p, ...)")
    assert set(places(*NODES, *mixed, offers, *narrow, *wide)) == {"p", "q"}
    assert len(places(*NODES, *mixed, offers, *narrow, *pair("q", exactly(name="big")))) == 1


def test_classes_that_overlap_share_what_both_accept() -> None:
    mixed = [
        device_class("one", "device.attributes['gpu.x'].model in ['a', 'b']"),
        device_class("two", "device.attributes['gpu.x'].model in ['b', 'c']"),
    ]
    offers = resource_slice("a", *(device(f"g{model}", model=model) for model in "abc"))
    claims = [pair("p", exactly(2, name="one")), pair("q", exactly(name="two"))]
    base = [*NODES, *mixed, offers]
    assert len(places(*base, *claims[0], *claims[1])) == 2
    imported = read(*base, *claims[0], *claims[1])
    assert offered(imported)["a"] == {"one": 2, "two": 2, "one+two": 3}
    assert asked(imported, "p") == {"one": 2, "one+two": 2}
    assert asked(imported, "q") == {"two": 1, "one+two": 1}
    more = pair("q", exactly(2, name="two"))
    assert len(places(*base, *claims[0], *more)) == 1


def test_classes_of_the_same_devices_are_one_resource() -> None:
    both = [device_class("one"), device_class("two")]
    claims = [*pair("p", exactly(name="one")), *pair("q", exactly(name="two"))]
    imported = read(*NODES, *both, resource_slice("a", "g0"), *claims)
    assert offered(imported)["a"] == {"one|two": 1}
    assert len(places(*NODES, *both, resource_slice("a", "g0"), *claims)) == 1


def test_what_no_device_is_accepted_for_is_offered_by_no_node() -> None:
    none = [device_class("none", "false"), device_class("never", "false")]
    claims = [*pair("p", exactly(name="none")), *pair("q", exactly(name="never"))]
    imported = read(*BASE, *none, *claims)
    assert asked(imported, "p") == {"none": 1}
    assert asked(imported, "q") == {"never": 1}
    assert noted(imported, "none, which no node offers")
    assert places(*BASE, *none, *claims) == {}


def test_requests_of_too_many_kinds_that_share_devices_are_left_out() -> None:
    models = [[f"m{i}", f"m{(i + 1) % 12}"] for i in range(12)]
    classes = [
        device_class(f"c{i:02}", f"device.attributes['gpu.x'].model in {names}")
        for i, names in enumerate(models)
    ]
    offers = resource_slice("a", *(device(f"g{i}", model=f"m{i}") for i in range(12)), device("g"))
    waiting = [item for i in range(12) for item in pair(f"p{i}", exactly(name=f"c{i:02}"))]
    plain = device_class("plain", "device.attributes['gpu.x'].model == 'a'")
    more = pair("q", exactly(name="plain"))
    found = left_out(*NODES, *classes, plain, offers, *waiting, *more)
    assert found == {f"p{i}" for i in range(12)}


def test_devices_of_pods_that_run_are_theirs_until_they_are_gone() -> None:
    running = [user("r", on="a", priority=9), given(claim("r"), "a", "g1", by=("uid-r",))]
    imported = read(*BASE, *running, *FIVE)
    assert asked(imported, "r") == {GPU: 1}
    assert offered(imported)["a"] == {GPU: 2}
    assert sorted(places(*BASE, *running, *FIVE).values()) == ["a", "b", "b"]
    assert job(imported.snapshot.jobs, "r").pod_sets[0].not_modelled == ("resource-claims",)


def test_a_pod_that_has_ended_asks_for_nothing_and_its_claim_holds_its_device() -> None:
    ended = user("r", on="a", phase="Succeeded")
    held = [ended, given(claim("r"), "a", "g1", by=("uid-r",))]
    assert asked(read(*BASE, *held, *FIVE), "r") == {GPU: 1}
    assert not read(*BASE, ended, claim("r"), *FIVE).snapshot.jobs


@pytest.mark.parametrize(
    "held",
    [
        pytest.param([given(claim("r"), "a", "g1")], id="nobody uses it"),
        pytest.param([given(claim("r"), "a", "g1", by=("gone",))], id="user is not there"),
        pytest.param(
            [
                *(user(name, "r", on="a") for name in ("one", "other")),
                given(claim("r"), "a", "g1", by=("uid-one", "uid-other")),
            ],
            id="two share it",
        ),
        pytest.param([user("r"), given(claim("r"), "a", "g1", by=("uid-r",))], id="user waits"),
        pytest.param(
            [user("r", on="b"), given(claim("r"), "a", "g1", by=("uid-r",))],
            id="user runs elsewhere",
        ),
        pytest.param(
            [pod("r", on="a", owner=""), given(claim("r"), "a", "g1", by=("uid-r",))],
            id="user does not name it",
        ),
        pytest.param(
            [
                *(user(name, on="a") for name in ("one", "two")),
                given(claim("one"), "a", "g1", by=("uid-one",)),
                given(claim("two"), "a", "g1", by=("uid-two",)),
            ],
            id="two claims hold it",
        ),
    ],
)
def test_for_devices_that_are_held_otherwise_a_job_stands_that_stays(held: list[Object]) -> None:
    imported = read(*BASE, *held, *FIVE)
    assert offered(imported) == {"a": {GPU: 2}, "b": {GPU: 2}}
    holding = [item for item in imported.snapshot.jobs if asked(imported, item.name)]
    ((holder,),) = [item.pod_sets for item in holding]
    assert [place.node for place in holder.assignments] == ["a"]
    assert holder.stays == ("reserved",)
    assert asked(imported, holding[0].name) == {GPU: 1}
    assert noted(imported, "jobs of their names stay")
    assert holder.requests["pods"] == 0


def test_access_for_administration_takes_no_device() -> None:
    held = [user("r", on="a"), given(claim("r"), "a", "g1", by=("uid-r",), adminAccess=True)]
    imported = read(*BASE, *held, *FIVE)
    assert offered(imported)["a"] == {GPU: 2}
    assert not asked(imported, "r")


def test_claims_that_are_allocated_bind_and_others_of_the_pod_ask() -> None:
    two = [user("p", "x", "y"), given(claim("x"), "b", "g0"), claim("y")]
    assert places(*BASE, *two) == {"p": "b"}
    both = [user("p", "x", "y"), given(claim("x"), "b", "g0", "g1"), claim("y")]
    assert places(*BASE, *both) == {}
    assert not left_out(*BASE, *both)


def test_a_claim_that_was_generated_for_the_pod_is_read() -> None:
    made = pod("p", resourceClaims=[{"name": "gpu", "resourceClaimTemplateName": "one"}])
    made["status"]["resourceClaimStatuses"] = [{"name": "gpu", "resourceClaimName": "p-gpu"}]
    own = claim("p-gpu")
    own["metadata"]["ownerReferences"] = [{"kind": "Pod", "uid": "uid-p", "controller": True}]
    assert places(*BASE, made, own) == {"app": "a"}
    del own["metadata"]["ownerReferences"]
    assert places(*BASE, made, own) == {}


def test_a_pod_that_asks_for_a_class_as_for_an_extended_resource_is_left_alone() -> None:
    itself = pod("q", requests={PREFIX + GPU: "1"}, owner="StatefulSet/q")
    assert left_out(*BASE, itself, *pair("p")) == {"q"}
    assert left_out(*BASE, itself) == {"q"}


def test_dumps_in_which_nobody_waits_for_devices_are_as_before() -> None:
    running = [user("r", on="a"), given(claim("r"), "a", "g1", by=("uid-r",))]
    imported = read(*BASE, *running, pod("p"))
    assert not any(offered(imported).values())
    assert not asked(imported, "r")


def test_models_of_one_class_are_told_apart_however_many_they_are() -> None:
    models = [f"m{i}" for i in range(20)]
    offers = resource_slice("a", *(device(f"g{model}", model=model) for model in models))
    claims = [*pair("all", exactly(19))]
    for model in models:
        claims += pair(model, exactly(1, f"device.attributes['gpu.x'].model == '{model}'"))
    imported = read(*NODES, device_class(), offers, *claims)
    assert len(offered(imported)["a"]) == 21
    assert asked(imported, "m3")[GPU] == 1
    told = [line for line in imported.notes if line.startswith("pods that claim gpu.x#")]
    assert len(told) == 10
    assert noted(imported, "by still other selectors").endswith(": 10 (default/m10, ...)")


def test_devices_that_are_claimed_count_as_no_gpus_whatever_their_class_is_called() -> None:
    dump = [*NODES, device_class("gpu"), resource_slice("a", "g0"), *pair("p", exactly(name="gpu"))]
    assert asked(read(*dump), "p") == {"gpu": 1}
    items = {"apiVersion": "v1", "kind": "List", "items": dump}
    instance = question_of([RawDocument("dump.json", 0, items)]).instance(MIXED)
    assert [podset.gpu_milli for podset in instance.podsets] == [0]
    assert {item.gpu_milli for item in instance.nodes} == {8000}


WHOLE = exactly(None, allocationMode="All")


def test_who_wants_all_devices_of_a_node_has_them_for_itself() -> None:
    both = [*pair("p", WHOLE), *pair("q", WHOLE)]
    assert sorted(places(*BASE, *both).values()) == ["a", "b"]
    assert len(places(*BASE, *both, *pair("r", WHOLE))) == 2
    runs = [user("r", on="a"), given(claim("r"), "a", "g0", by=("uid-r",))]
    assert places(*BASE, *runs, *pair("p", WHOLE)) == {"p": "b"}
    held = given(claim("h"), "b", "g1")
    assert places(*BASE, *runs, held, *pair("p", WHOLE)) == {}
    assert not left_out(*BASE, *runs, held, *pair("p", WHOLE))
    assert places(*BASE, *pair("p", WHOLE, exactly())) == {}


def test_all_devices_of_no_sort_are_on_no_node() -> None:
    other = device_class("other", "device.driver == 'none'")
    lost = pair("p", exactly(None, name="other", allocationMode="All"))
    assert places(*BASE, other, *lost) == {}
    assert not left_out(*BASE, other, *lost)


def test_devices_of_one_value_are_taken_where_a_node_has_no_other() -> None:
    offers = [
        resource_slice("a", device("g0", model="x"), device("g1", model="x")),
        resource_slice("b", device("g0", model="y"), {"name": "g1", "attributes": {}}),
    ]
    same = [{"matchAttribute": "gpu.x/model"}]
    assert places(*NODES, device_class(), *offers, *pair("p", exactly(2), constraints=same)) == {
        "p": "a"
    }
    free = [*pair("p", exactly(2)), *pair("q", exactly(2))]
    assert sorted(places(*NODES, device_class(), *offers, *free).values()) == ["a", "b"]


def test_a_constraint_is_on_the_requests_that_it_names() -> None:
    offers = resource_slice("a", device("g0", model="x"), device("g1", model="x"), "g2")
    small = [*NODES, device_class(), device_class("x", "device.attributes['gpu.x'].model == 'x'")]
    two = (exactly(2, name="x"), exactly())
    for names, placed in ((["r0"], True), (["r0", "r1"], False), ([], False)):
        same = [{"matchAttribute": "gpu.x/model", "requests": names}]
        claims = pair("p", *two, constraints=same)
        assert (places(*small, offers, *claims) == {"p": "a"}) is placed
        assert (left_out(*small, offers, *claims) == {"p"}) is not placed


def test_of_several_alternatives_for_a_device_any_will_do() -> None:
    """kube-scheduler tries each on a node: the first with a device that is free is taken."""
    offers = [*NODES, device_class(), resource_slice("a", device("g0", "80Gi", "large"))]
    offers.append(resource_slice("b", device("g0", "40Gi", "small"), device("g1", model="other")))
    models = (f"device.attributes['gpu.x'].model == '{name}'" for name in ("large", "small"))
    either = {"firstAvailable": [exactly(1, text) for text in models]}
    claims = [item for name in ("p", "q", "r") for item in pair(name, either)]
    placed = places(*offers, *claims)
    assert sorted(placed.values()) == ["a", "b"]
    assert not left_out(*offers, *claims)
    told = noted(read(*offers, *claims), "pods that claim")
    assert "gpu.x: device.attributes['gpu.x'].model == 'large' or gpu.x: device" in told


def test_an_alternative_without_selectors_makes_a_request_for_its_class() -> None:
    either = {"firstAvailable": [exactly(1, "device.attributes['gpu.x'].model == 'a'"), exactly()]}
    imported = read(*BASE, *pair("p", either), *pair("q"))
    assert asked(imported, "p") == asked(imported, "q") == {GPU: 1}
