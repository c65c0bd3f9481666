"""Gang, topology, slices, gang victims: what a job says about its own pods."""

from __future__ import annotations

from typing import Any

from kantopt.problem.instance import Instance
from kantopt.schema.model import Rule
from kantopt.verify.rules import check
from tests.verify.world import Document, broken, job, node, pods, put, question, standing

RACKS = [
    node("a1", rack="x/1"),
    node("a2", rack="x/1"),
    node("b1", rack="x/2"),
    node("c1", rack="y/1"),
    node("lone"),
]


def said(instance: Instance, rule: Rule, where: dict[str, Any]) -> list[str]:
    return [f"{v.subject}: {v.message}" for v in check(instance, put(instance, where), [rule])]


# Gang


def test_a_gang_may_stay_away() -> None:
    assert broken(question(RACKS, [job("j", pods(count=3))]), Rule.GANG) == []


def test_a_gang_may_start_with_all_its_pods_or_its_minimum() -> None:
    jobs = [job("all", pods(count=3)), job("some", pods(count=3, minCount=2))]
    instance = question(RACKS, jobs)
    assert broken(instance, Rule.GANG, all=["a1"] * 3, some=["a1"] * 2) == []


def test_a_gang_may_not_start_with_fewer() -> None:
    instance = question(RACKS, [job("j", pods(count=3, minCount=2))])
    assert broken(instance, Rule.GANG, j=["a1"]) == [
        "job default/j pod set main: 1 of at least 2 pods"
    ]


def test_pods_that_each_stand_for_themselves_start_in_any_number() -> None:
    instance = question(RACKS, [job("j", pods(count=3, minCount=0))])
    assert broken(instance, Rule.GANG, j=["a1"]) == []


def test_roles_of_a_gang_start_together() -> None:
    instance = question(RACKS, [job("j", pods("leader"), pods("worker", count=2))])
    assert said(instance, Rule.GANG, {"j/leader": ["a1"]}) == [
        "job default/j pod set worker: 0 of at least 2 pods"
    ]
    assert said(instance, Rule.GANG, {"j/leader": ["a1"], "j/worker": ["a1"] * 2}) == []


def test_a_minimum_over_all_roles_does_not_ask_which() -> None:
    instance = question(RACKS, [job("j", pods("x", count=2), pods("y", count=2), minCount=3)])
    assert said(instance, Rule.GANG, {"j/x": ["a1"] * 2, "j/y": ["a1"]}) == []
    assert said(instance, Rule.GANG, {"j/x": ["a1"] * 2}) == ["job default/j: 2 of at least 3 pods"]


def test_evicting_below_the_minimum_takes_the_whole_gang() -> None:
    instance = question(RACKS, [job("r", pods(count=3, minCount=2, on=["a1"] * 3))])
    assert broken(instance, Rule.GANG, r=["a1"] * 2) == []
    assert broken(instance, Rule.GANG, r=["a1"]) == [
        "job default/r pod set main: 1 of at least 2 pods"
    ]
    assert broken(instance, Rule.GANG, r=[]) == []


def test_a_gang_that_runs_below_its_minimum_is_left_alone_and_may_move() -> None:
    instance = question(RACKS, [job("r", pods(count=3, on=["a1"]))])
    assert standing(instance, Rule.GANG) == ["job default/r pod set main: 1 of at least 3 pods"]
    assert broken(instance, Rule.GANG) == []
    assert broken(instance, Rule.GANG, r=["a2"]) == []


def test_a_gang_below_its_minimum_grows_to_the_minimum_or_not_at_all() -> None:
    instance = question(RACKS, [job("r", pods(count=3, on=["a1"]))])
    assert said(instance, Rule.GANG, {"r+": ["a1"] * 2}) == []
    assert said(instance, Rule.GANG, {"r+": ["a1"]}) == [
        "job default/r pod set main: 2 of at least 3 pods"
    ]


def test_no_running_pod_is_evicted_to_bind_a_pending_one_of_its_role() -> None:
    instance = question(RACKS, [job("r", pods(count=2, minCount=0, on=["a1"]))])
    assert said(instance, Rule.GANG, {"r": [], "r+": ["a2"]}) == [
        "job default/r pod set main: 1 pods bound while others are evicted, 0 allowed"
    ]


# Topology


def asking(level: str, **more: Any) -> Document:
    return {"topologyRequest": {"required": level}, **more}


def test_a_job_without_wishes_may_lie_anywhere() -> None:
    instance = question(RACKS, [job("j", pods(count=3))])
    assert broken(instance, Rule.TOPOLOGY, j=["a1", "c1", "lone"]) == []


def test_pods_that_require_a_rack_share_one() -> None:
    instance = question(RACKS, [job("j", pods(count=2, **asking("rack")))])
    assert broken(instance, Rule.TOPOLOGY, j=["a1", "a2"]) == []
    assert broken(instance, Rule.TOPOLOGY, j=["a1", "b1"]) == [
        "job default/j pod set main: 2 of 1 rack domains"
    ]


def test_racks_of_one_name_in_two_blocks_are_two_racks() -> None:
    instance = question(RACKS, [job("j", pods(count=2, **asking("rack")))])
    assert broken(instance, Rule.TOPOLOGY, j=["a1", "c1"]) == [
        "job default/j pod set main: 2 of 1 rack domains"
    ]


def test_a_block_holds_all_its_racks() -> None:
    instance = question(RACKS, [job("j", pods(count=2, **asking("block")))])
    assert broken(instance, Rule.TOPOLOGY, j=["a1", "b1"]) == []
    assert broken(instance, Rule.TOPOLOGY, j=["a1", "c1"]) != []


def test_a_node_in_no_rack_is_no_place_for_pods_that_require_one() -> None:
    instance = question(RACKS, [job("j", pods(**asking("rack")))])
    assert broken(instance, Rule.TOPOLOGY, j=["lone"]) == [
        "job default/j pod set main: node lone is in no rack"
    ]


def test_a_request_of_the_job_binds_its_roles_together() -> None:
    instance = question(RACKS, [job("j", pods("x"), pods("y"), **asking("rack"))])
    assert said(instance, Rule.TOPOLOGY, {"j/x": ["a1"], "j/y": ["a2"]}) == []
    assert said(instance, Rule.TOPOLOGY, {"j/x": ["a1"], "j/y": ["b1"]}) == [
        "job default/j: 2 of 1 rack domains"
    ]


def test_requests_of_two_roles_do_not_bind_them_to_each_other() -> None:
    roles = (pods(name, **asking("rack")) for name in "xy")
    instance = question(RACKS, [job("j", *roles)])
    assert said(instance, Rule.TOPOLOGY, {"j/x": ["a1"], "j/y": ["b1"]}) == []


def test_running_pods_fix_the_rack_unless_all_move() -> None:
    roles = pods(count=2, minCount=1, on=["a1"], **asking("rack"))
    instance = question(RACKS, [job("r", roles)])
    assert said(instance, Rule.TOPOLOGY, {"r+": ["a2"]}) == []
    assert said(instance, Rule.TOPOLOGY, {"r+": ["b1"]}) == [
        "job default/r pod set main: 2 of 1 rack domains"
    ]
    assert said(instance, Rule.TOPOLOGY, {"r": ["b1"], "r+": ["b1"]}) == []


def test_a_job_that_lies_in_two_racks_already_may_not_enter_a_third() -> None:
    roles = pods(count=3, minCount=0, on=["a1", "b1"], **asking("rack"))
    instance = question(RACKS, [job("r", roles)])
    assert standing(instance, Rule.TOPOLOGY) == ["job default/r pod set main: 2 of 1 rack domains"]
    assert broken(instance, Rule.TOPOLOGY) == []
    assert said(instance, Rule.TOPOLOGY, {"r+": ["a2"]}) == []
    assert said(instance, Rule.TOPOLOGY, {"r+": ["c1"]}) == [
        "job default/r pod set main: 3 of 2 rack domains"
    ]


# Slices


def sliced(size: int, level: str = "rack") -> Document:
    request = {"podSetSliceRequiredTopology": level, "podSetSliceSize": size}
    return {"topologyRequest": request}


def test_slices_of_two_lie_in_pairs() -> None:
    instance = question(RACKS, [job("j", pods(count=4, **sliced(2)))])
    assert broken(instance, Rule.SLICES) == []
    assert broken(instance, Rule.SLICES, j=["a1", "a2", "b1", "b1"]) == []
    assert broken(instance, Rule.SLICES, j=["a1", "a1", "a2", "a2"]) == []


def test_a_slice_may_not_be_torn_apart() -> None:
    instance = question(RACKS, [job("j", pods(count=4, **sliced(2)))])
    assert broken(instance, Rule.SLICES, j=["a1", "a1", "a2", "b1"]) == [
        "job default/j pod set main: 3 pods in rack x/1, slices of 2",
        "job default/j pod set main: 1 pods in rack x/2, slices of 2",
    ]


def test_slices_of_two_fill_racks_of_six_to_two_with_twelve_pods() -> None:
    """Kueue's vector: slices of 2 on domains of 6, 5, 4, 3, 2; best fit takes 6, 4 and 2."""
    racks = [node(f"n{k}", cpu=k, rack=f"x/{k}") for k in (6, 5, 4, 3, 2)]
    instance = question(racks, [job("j", pods(count=12, **sliced(2)))])
    good = ["n6"] * 6 + ["n4"] * 4 + ["n2"] * 2
    assert broken(instance, Rule.SLICES, j=good) == []
    # Five pods on the domain of five are as many, and half a slice.
    torn = ["n6"] * 6 + ["n5"] * 5 + ["n3"]
    assert len(broken(instance, Rule.SLICES, j=torn)) == 2


def test_a_node_outside_all_racks_holds_no_slice() -> None:
    instance = question(RACKS, [job("j", pods(count=2, **sliced(2)))])
    assert broken(instance, Rule.SLICES, j=["lone"] * 2) == [
        "job default/j pod set main: node lone is in no rack"
    ]


def test_a_torn_slice_is_excused_where_nothing_changes_and_may_be_mended() -> None:
    roles = pods(count=4, minCount=0, on=["a1", "b1"], **sliced(2))
    instance = question(RACKS, [job("r", roles)])
    assert len(standing(instance, Rule.SLICES)) == 2
    assert broken(instance, Rule.SLICES) == []
    assert said(instance, Rule.SLICES, {"r+": ["a2", "b1"]}) == []
    assert said(instance, Rule.SLICES, {"r+": ["a1", "a2"]}) == [
        "job default/r pod set main: 3 pods in rack x/1, slices of 2"
    ]


# Gang victims


def test_single_victims_may_be_taken_one_by_one() -> None:
    roles = pods(count=2, minCount=0, on=["a1", "a2"])
    instance = question(RACKS, [job("r", roles)])
    assert broken(instance, Rule.GANG_VICTIMS, r=["a1"]) == []


def test_a_job_of_mode_all_goes_as_a_whole_or_stays() -> None:
    roles = [pods(name, count=2, minCount=0, on=["a1", "a2"]) for name in "xy"]
    instance = question(RACKS, [job("r", *roles, disruptionMode="all")])
    assert broken(instance, Rule.GANG_VICTIMS) == []
    assert said(instance, Rule.GANG_VICTIMS, {"r/x": [], "r/y": []}) == []
    assert said(instance, Rule.GANG_VICTIMS, {"r/x": ["a1"]}) == [
        "job default/r: 3 of 0 pods left after an eviction"
    ]


def test_moving_one_pod_of_mode_all_is_no_eviction() -> None:
    roles = pods(count=2, minCount=0, on=["a1", "a2"])
    instance = question(RACKS, [job("r", roles, disruptionMode="all")])
    assert broken(instance, Rule.GANG_VICTIMS, r=["a1", "b1"]) == []


def test_pods_of_mode_all_that_are_missing_already_are_no_eviction() -> None:
    roles = pods(count=3, minCount=0, on=["a1", "a2"])
    instance = question(RACKS, [job("r", roles, disruptionMode="all")])
    assert broken(instance, Rule.GANG_VICTIMS) == []
    assert said(instance, Rule.GANG_VICTIMS, {"r+": ["a1"]}) == []
    assert said(instance, Rule.GANG_VICTIMS, {"r": ["a1"]}) != []
