"""Capacity, devices, eligibility: what a single node can say."""

from __future__ import annotations

import pytest

from kantopt.schema.model import Rule
from kantopt.search.reasons import first_reason
from kantopt.verify.rules import check
from tests.verify.world import Document, broken, job, node, pods, put, question, standing

SHARED_GPUS: Document = {"devices": [{"class": "gpu", "count": 2, "capacity": {"gpu": 1}}]}
IN_ZONE: Document = {"key": "zone", "operator": "In", "values": ["z"]}
ZONES: Document = {"devices": [{"class": "numa", "count": 2, "capacity": {"cpu": 4}}]}


def share(amount: str, count: int = 1) -> Document:
    return {"devices": [{"class": "gpu", "count": count, "requests": {"gpu": amount}}]}


# Capacity


def test_capacity_says_nothing_where_nothing_changes() -> None:
    assert broken(question([node("a")], [job("j")]), Rule.CAPACITY) == []


def test_capacity_lets_a_node_fill_up_to_the_last_core() -> None:
    instance = question([node("a", cpu=4)], [job("j", pods(count=2, cpu=2))])
    assert broken(instance, Rule.CAPACITY, j=["a", "a"]) == []


def test_capacity_refuses_one_core_more() -> None:
    instance = question([node("a", cpu=3)], [job("j", pods(count=2, cpu=2))])
    assert broken(instance, Rule.CAPACITY, j=["a", "a"]) == ["node a: 4 of 3 cpu"]


def test_capacity_counts_pods_only_where_the_node_limits_them() -> None:
    nodes = [node("limited", offers={"pods": 1}), node("free")]
    instance = question(nodes, [job("j", pods(count=2))])
    assert broken(instance, Rule.CAPACITY, j=["free"] * 2) == []
    assert broken(instance, Rule.CAPACITY, j=["limited"] * 2) == ["node limited: 2 of 1 pods"]


def test_capacity_takes_a_resource_that_a_node_does_not_list_as_not_offered() -> None:
    instance = question([node("a")], [job("j", pods(gpu=1))])
    assert broken(instance, Rule.CAPACITY, j=["a"]) == ["node a: 1 of 0 nvidia.com/gpu"]


def test_capacity_excuses_a_node_that_is_overcommitted_already() -> None:
    instance = question([node("a", cpu=1)], [job("r", pods(count=3, on=["a"] * 3))])
    assert standing(instance, Rule.CAPACITY) == ["node a: 3 of 1 cpu"]
    assert broken(instance, Rule.CAPACITY) == []
    assert broken(instance, Rule.CAPACITY, r=["a", "a"]) == []


def test_capacity_refuses_to_add_to_an_overcommitted_node() -> None:
    jobs = [job("r", pods(count=2, on=["a", "a"])), job("j")]
    instance = question([node("a", cpu=1)], jobs)
    assert broken(instance, Rule.CAPACITY, j=["a"]) == ["node a: 3 of 1 cpu"]
    # Also where as many leave as arrive: who arrives must find room.
    assert broken(instance, Rule.CAPACITY, r=["a"], j=["a"]) == ["node a: 2 of 1 cpu"]


def test_capacity_lets_pods_arrive_that_ask_for_nothing_that_is_overcommitted() -> None:
    jobs = [job("r", pods(gpu=2, on=["a"])), job("j", pods(cpu=1))]
    assert broken(question([node("a", gpu=1)], jobs), Rule.CAPACITY, j=["a"]) == []


# Devices


def test_devices_say_nothing_about_pods_that_ask_for_none() -> None:
    instance = question([node("a", **SHARED_GPUS)], [job("j")])
    assert broken(instance, Rule.DEVICES, j=["a"]) == []


def test_devices_can_be_shared_down_to_the_last_thousandth() -> None:
    instance = question([node("a", **SHARED_GPUS)], [job("j", pods(count=2, **share("500m")))])
    assert broken(instance, Rule.DEVICES, j=[("a", 0), ("a", 0)]) == []


def test_devices_cannot_be_shared_by_a_thousandth_more() -> None:
    roles = [pods("x", **share("500m")), pods("y", **share("501m"))]
    instance = question([node("a", **SHARED_GPUS)], [job("j", *roles)])
    where = {"j/x": [("a", 0)], "j/y": [("a", 0)]}
    assert len(check(instance, put(instance, where), [Rule.DEVICES])) == 1


def test_devices_add_up_no_free_shares_of_two_devices() -> None:
    jobs = [job("r", pods(count=2, on=[("a", 0), ("a", 1)], **share("600m")))]
    jobs.append(job("j", pods(**share("600m"))))
    instance = question([node("a", **SHARED_GPUS)], jobs)
    assert broken(instance, Rule.DEVICES, j=[("a", 1)]) == ["node a gpu 1: 1200m of 1 gpu"]


@pytest.mark.parametrize("spot", [("a",), ("a", 0), ("a", 0, 0), ("a", 0, 2), ("a", 0, 9)])
def test_devices_must_be_distinct_and_as_many_of_the_class_as_wanted(
    spot: tuple[str, int, int],
) -> None:
    classes = [*SHARED_GPUS["devices"], *ZONES["devices"]]
    instance = question([node("a", devices=classes)], [job("j", pods(**share("100m", 2)))])
    assert broken(instance, Rule.DEVICES, j=[("a", 0, 1)]) == []
    said = broken(instance, Rule.DEVICES, j=[spot])
    devices = list(spot[1:])
    assert said == [
        f"job default/j pod set main on node a: devices {devices} of {{'gpu': 2}} wanted"
    ]


def test_devices_let_a_pod_span_two_zones_with_room_in_each() -> None:
    both = [{"class": "numa", "count": 2, "requests": {"cpu": 3}}]
    one = [{"class": "numa", "requests": {"cpu": 2}}]
    jobs = [job("j", pods(cpu=0, devices=both)), job("r", pods(cpu=0, devices=one, on=[("a", 0)]))]
    instance = question([node("a", **ZONES), node("b", **ZONES)], jobs)
    assert broken(instance, Rule.DEVICES, j=[("b", 0, 1)]) == []
    assert broken(instance, Rule.DEVICES, j=[("a", 0, 1)]) == ["node a numa 0: 5 of 4 cpu"]


def test_devices_excuse_one_that_is_overfull_already_and_let_nobody_join() -> None:
    jobs = [job("r", pods(count=2, on=[("a", 0)] * 2, **share("600m")))]
    jobs.append(job("j", pods(**share("100m"))))
    instance = question([node("a", **SHARED_GPUS)], jobs)
    assert standing(instance, Rule.DEVICES) == ["node a gpu 0: 1200m of 1 gpu"]
    assert broken(instance, Rule.DEVICES, j=[("a", 1)]) == []
    assert broken(instance, Rule.DEVICES, j=[("a", 0)]) == ["node a gpu 0: 1300m of 1 gpu"]


# Eligibility


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ({"unschedulable": True}, "cordoned"),
        ({"ready": False}, "not ready"),
        ({"taints": [{"key": "t", "effect": "NoSchedule"}]}, "taint"),
        ({"taints": [{"key": "t", "effect": "NoExecute"}]}, "taint"),
    ],
)
def test_eligibility_names_why_a_node_takes_no_pods(bad: Document, reason: str) -> None:
    instance = question([node("a", **bad), node("b")], [job("j", pods(count=2))])
    assert broken(instance, Rule.ELIGIBILITY, j=["b", "b"]) == []
    assert broken(instance, Rule.ELIGIBILITY, j=["a", "b"]) == [
        f"job default/j pod set main: 1 of 0 pods allowed on node a ({reason})"
    ]


@pytest.mark.parametrize(
    "open_to_it",
    [
        {"unschedulable": True},
        {"ready": False},
        {"taints": [{"key": "t", "effect": "NoSchedule"}]},
    ],
)
@pytest.mark.parametrize(
    ("ask", "reason"),
    [
        ({"nodeSelector": {"disk": "ssd"}}, "node selector or affinity"),
        ({"volumeNodeAffinity": [[{"matchExpressions": [IN_ZONE]}]]}, "volumes"),
    ],
)
def test_eligibility_names_nothing_that_the_pods_tolerate(
    open_to_it: Document, ask: Document, reason: str
) -> None:
    tolerant = pods(tolerations=[{"operator": "Exists"}], **ask)
    instance = question([node("a", **open_to_it)], [job("j", tolerant)])
    told = f"1 of 0 pods allowed on node a ({reason})"
    assert broken(instance, Rule.ELIGIBILITY, j=["a"]) == [f"job default/j pod set main: {told}"]
    assert reason in first_reason(instance, instance.current, 0)[1]


def test_eligibility_heeds_selectors() -> None:
    nodes = [node("a", labels={"disk": "ssd"}), node("b")]
    instance = question(nodes, [job("j", pods(nodeSelector={"disk": "ssd"}))])
    assert broken(instance, Rule.ELIGIBILITY, j=["a"]) == []
    assert broken(instance, Rule.ELIGIBILITY, j=["b"]) == [
        "job default/j pod set main: 1 of 0 pods allowed on node b (node selector or affinity)"
    ]


def test_eligibility_lets_tolerated_and_soft_taints_pass() -> None:
    taints = [{"key": "t", "effect": "NoSchedule"}, {"key": "u", "effect": "PreferNoSchedule"}]
    tolerant = pods(tolerations=[{"key": "t", "operator": "Exists"}])
    instance = question([node("a", taints=taints)], [job("j", tolerant)])
    assert broken(instance, Rule.ELIGIBILITY, j=["a"]) == []


def test_eligibility_excuses_pods_that_run_on_a_node_cordoned_later() -> None:
    nodes = [node("a", unschedulable=True), node("b")]
    instance = question(nodes, [job("r", pods(count=2, on=["a", "b"]))])
    assert standing(instance, Rule.ELIGIBILITY) == []
    assert broken(instance, Rule.ELIGIBILITY) == []
    assert broken(instance, Rule.ELIGIBILITY, r=["b", "b"]) == []
    assert broken(instance, Rule.ELIGIBILITY, r=["a", "a"]) == [
        "job default/r pod set main: 1 of 0 pods allowed on node a (cordoned)"
    ]


@pytest.mark.parametrize(
    ("more", "selector"),
    [({"ready": False}, {}), ({}, {"disk": "ssd"}), ({"ready": False}, {"disk": "ssd"})],
)
def test_eligibility_of_pods_on_a_cordoned_node_that_is_wrong_otherwise(
    more: dict[str, bool], selector: dict[str, str]
) -> None:
    nodes = [node("a", unschedulable=True, **more)]
    instance = question(nodes, [job("r", pods(on=["a"], nodeSelector=selector))])
    assert len(standing(instance, Rule.ELIGIBILITY)) == 1


@pytest.mark.parametrize("ready", [True, False])
def test_eligibility_judges_who_runs_on_a_node_to_be_emptied_as_if_it_were_not(ready: bool) -> None:
    tolerant = pods(on=["a"], tolerations=[{"operator": "Exists"}])
    jobs = [job("agent", tolerant), job("r", pods(on=["a"]))]
    nodes = [node("a", ready=ready), node("b")]
    here = [standing(question(nodes, jobs, drain=drain), Rule.ELIGIBILITY) for drain in ([], ["a"])]
    unready = ["job default/r pod set main: 1 of 0 pods allowed on node a (not ready)"]
    assert here == ([[], []] if ready else [unready, unready])


def test_eligibility_lets_nobody_come_to_a_node_to_be_emptied_which_is_not_cordoned() -> None:
    instance = question([node("a"), node("b")], [job("j", pods())], drain=["a"])
    assert broken(instance, Rule.ELIGIBILITY, j=["a"]) == [
        "job default/j pod set main: 1 of 0 pods allowed on node a (to be emptied)"
    ]


# A zone of the model


ZONE: Document = {"nodes": "pool=inference", "jobs": ["web"]}
APART: Document = {"labels": {"pool": "inference"}}


def test_eligibility_refuses_a_node_that_is_set_apart_for_others() -> None:
    instance = question([node("z", **APART)], [job("j"), job("web")], zone=ZONE)
    refused = ["job default/j pod set main: 1 of 0 pods allowed on node z (set apart)"]
    assert broken(instance, Rule.ELIGIBILITY, j=["z"]) == refused
    assert broken(instance, Rule.ELIGIBILITY, web=["z"]) == []
    off = question([node("z", **APART)], [job("j")], zone=ZONE, rules={"eligibility": "off"})
    assert broken(off, Rule.ELIGIBILITY, j=["z"]) == []


def test_eligibility_lets_those_run_on_that_were_there_before_the_zone() -> None:
    jobs = [job("r", pods(on=["z"])), job("d", pods(on=["z"]), daemon=True)]
    instance = question([node("z", **APART), node("a")], jobs, zone=ZONE)
    assert standing(instance, Rule.ELIGIBILITY) == []
    assert broken(instance, Rule.ELIGIBILITY, r=["a"], d=["z"]) == []
