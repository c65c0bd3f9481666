"""Room that Koordinator's Reservations hold is for their owners and for nobody else."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kantopt.clock import Deadline
from kantopt.errors import BadDataError
from kantopt.formats.exports import EXPORTS
from kantopt.formats.imported import Imported
from kantopt.formats.kubernetes.koordinator.reservation_owners import OURS
from kantopt.planning.plan import make_plan
from kantopt.planning.question import Import, question_of
from kantopt.planning.solving.options import Options
from kantopt.render import koordinator
from kantopt.schema.extends import load_model
from kantopt.schema.raw import RawDocument
from kantopt.schema.yaml.text import parse_yaml
from tests.formats.cluster_objects import Object, job, node, noted, pod, read, thing

OWNERS = [{"labelSelector": {"matchLabels": {"app": "x"}}}]
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
AFFINITY = "scheduling.koordinator.sh/reservation-affinity"


def reservation(name: str = "r", cpu: str = "6", at: str = "a", **spec: Any) -> Object:
    made = thing("scheduling.koordinator.sh/v1alpha1", "Reservation", name, "")
    made["metadata"]["uid"] = f"uid-{name}"
    made["spec"] = {"template": {"spec": {}}, "owners": OWNERS, **spec}
    made["status"] = {"phase": "Available", "nodeName": at, "allocatable": {"cpu": cpu}}
    return made


def owner(name: str, cpu: str = "4", **more: Any) -> Object:
    return pod(name, owner=f"Job/{name}", labels={"app": "x"}, **{"requests": {"cpu": cpu}, **more})


def standing(imported: Imported) -> dict[str, tuple[str, int, bool]]:
    """Node, cores in thousandths and whether it is nominated of each job that has a place."""
    return {
        item.name: (role.assignments[0].node, cores(role.requests["cpu"]), role.nominated)
        for item in imported.snapshot.jobs
        for role in item.pod_sets
    }


def cores(amount: str | int) -> int:
    return int(amount.removesuffix("m")) if isinstance(amount, str) else 1000 * amount


def test_what_is_left_of_a_reservation_is_held_by_a_job_that_stays() -> None:
    item = reservation(allocateOnce=False)
    item["status"]["allocated"] = {"cpu": "2"}
    imported = read(node("a"), item)
    held = job(imported.snapshot.jobs, "r")
    assert standing(imported) == {"r": ("a", 4000, False)}
    assert (held.preemptible, held.movable) == (False, False)
    assert "(r)" in noted(imported, "only their owners get")


def test_without_a_status_of_amounts_the_template_tells_them() -> None:
    item = reservation()
    del item["status"]["allocatable"]
    box = {"name": "c", "resources": {"requests": {"cpu": "3"}}}
    item["spec"]["template"]["spec"]["containers"] = [box]
    assert standing(read(node("a"), item)) == {"r": ("a", 3000, False)}


def test_an_owner_that_waits_counts_as_placed_and_the_rest_stays_held() -> None:
    imported = read(node("a"), node("b"), reservation(allocateOnce=False), owner("p"))
    assert standing(imported) == {"p": ("a", 4000, True), "r": ("a", 2000, False)}
    assert not job(imported.snapshot.jobs, "p").preemptible
    assert imported.pending.jobs == ()


def test_a_reservation_for_one_owner_is_given_up_once_it_is_used() -> None:
    found = read(node("a"), reservation(), owner("p"), owner("q", priority=5))
    assert standing(found) == {"q": ("a", 4000, True)}
    assert [item.name for item in found.pending.jobs] == ["p"]


def test_all_owners_that_fit_share_one_that_may_be_used_again() -> None:
    items = [owner(name, "2") for name in ("p", "q", "s", "t")]
    found = read(node("a", cpu="6"), reservation(allocateOnce=False), *items)
    assert {name: at for name, (at, _, _) in standing(found).items()} == dict.fromkeys("pqs", "a")
    assert [item.name for item in found.pending.jobs] == ["t"]


def test_what_a_reservation_lacks_comes_from_its_node_unless_it_is_restricted() -> None:
    inside = read(node("a"), reservation(cpu="3"), owner("p"))
    assert standing(inside) == {"p": ("a", 4000, True)}
    strict = reservation(cpu="3", allocatePolicy="Restricted")
    assert standing(read(node("a"), strict, owner("p"))) == {"r": ("a", 3000, False)}
    full = pod("other", on="a", owner="Job/o", requests={"cpu": "5"})
    assert "p" not in standing(read(node("a"), full, reservation(cpu="3"), owner("p")))


ENTRIES: list[tuple[list[Any], bool]] = [
    ([{"object": {"namespace": "default", "name": "p"}}], True),
    ([{"object": {"uid": "uid-p"}}], True),
    ([{"object": {"name": "q"}}, {"object": {"name": "p"}}], True),
    ([{"object": {"name": "p", "namespace": "other"}}], False),
    ([{"controller": {"kind": "Job", "name": "p", "namespace": "default"}}], True),
    ([{"controller": {"kind": "ReplicaSet", "name": "p"}}], False),
    ([{"controller": {"uid": "Job/p"}}], True),
    ([{"labelSelector": {"matchExpressions": [{"key": "app", "operator": "Exists"}]}}], True),
    ([{"labelSelector": {"matchLabels": {"app": "y"}}}], False),
    ([{"object": {"name": "p"}, "labelSelector": {"matchLabels": {"app": "y"}}}], False),
    ([{}], True),
    ([], False),
]


@pytest.mark.parametrize(("owners", "is_one"), ENTRIES)
def test_owners_are_those_that_one_of_the_entries_describes(
    owners: list[Any], is_one: bool
) -> None:
    found = read(node("a"), reservation(owners=owners), owner("p"))
    assert ("p" in standing(found)) is is_one


@pytest.mark.parametrize("owners", [owners for owners, _ in ENTRIES])
@pytest.mark.parametrize(
    "more", [{}, {"allocateOnce": False, "allocatePolicy": "Restricted"}, {"unschedulable": True}]
)
def test_a_reservation_that_was_written_has_the_owners_it_had_and_no_others(
    owners: list[Any], more: Object
) -> None:
    imported = read(node("a"), reservation(owners=owners, **more))
    text, notes = EXPORTS["koordinator"].write(imported.snapshot, ())
    listed = parse_yaml(text, "list")[0]["items"]
    assert not [note for note in notes.lines() if "reservation" in note]
    # All that could come and is no owner waits after it as before.
    for more_pods in ([owner("p")], [owner("q")], [owner("p"), owner("q")], [owner("p", "9")]):
        before = read(node("a"), reservation(owners=owners, **more), *more_pods)
        after = read(*listed, *more_pods)
        assert standing(after) == standing(before)
        assert [item.name for item in after.pending.jobs] == [
            item.name for item in before.pending.jobs
        ]


def test_a_pod_without_a_controller_is_of_none() -> None:
    owners = [{"controller": {"namespace": "default"}}]
    bare = pod("p", owner="", requests={"cpu": "1"})
    assert standing(read(node("a"), reservation(owners=owners), bare)) == {"r": ("a", 6000, False)}


@pytest.mark.parametrize("phase", ["Pending", "", "Waiting", "Succeeded", "Failed"])
def test_a_reservation_that_is_not_available_holds_nothing_and_is_told(phase: str) -> None:
    item = reservation()
    item["status"]["phase"] = phase
    imported = read(node("a"), item, owner("p"))
    assert standing(imported) == {}
    assert "(r)" in noted(imported, "hold nothing")


@pytest.mark.parametrize(
    ("times", "over"),
    [
        ({"expires": "2026-01-01T01:00:00Z"}, True),
        ({"expires": "2026-01-01T03:00:00Z"}, False),
        ({"ttl": "1h"}, True),
        ({"ttl": "3h"}, False),
        ({"ttl": "0s"}, False),
        ({"ttl": "0"}, False),
        ({}, False),
    ],
)
def test_a_reservation_holds_nothing_once_its_time_is_over(times: Object, over: bool) -> None:
    item = reservation(**times)
    item["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
    late = pod("late", metadata={"creationTimestamp": "2026-01-01T02:00:00Z"})
    imported = read(node("a"), item, late)
    assert ("r" not in standing(imported)) is over
    assert any("time is over" in line for line in imported.notes) is over


def test_a_time_that_is_none_is_an_error() -> None:
    with pytest.raises(BadDataError, match=r"spec.expires.*a time"):
        read(node("a"), reservation(expires="2026-13-01T00:00:00Z"))
    with pytest.raises(BadDataError, match=r"spec.ttl.*a duration"):
        read(node("a"), reservation(ttl="long"))
    item = reservation()
    item["status"]["phase"] = "Maybe"
    with pytest.raises(BadDataError, match=r"status.phase"):
        read(node("a"), item)


def test_an_owner_goes_only_where_its_own_rules_let_it() -> None:
    tainted = node("a")
    tainted["spec"]["taints"] = [{"key": "k", "effect": "NoSchedule"}]
    assert "p" not in standing(read(tainted, reservation(), owner("p")))
    elsewhere = owner("p", nodeSelector={"pool": "y"})
    assert "p" not in standing(read(node("a", {"pool": "x"}), reservation(), elsewhere))
    term = {"topologyKey": "zone", "labelSelector": {}}
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    picky = owner("p", affinity={"podAntiAffinity": {required: [term]}})
    imported = read(node("a"), reservation(), picky)
    assert standing(imported) == {"r": ("a", 6000, False)}
    assert "(default/p)" in noted(imported, "more than room")


def test_closed_and_tainted_reservations_take_nobody_and_are_told() -> None:
    for more in ({"unschedulable": True}, {"taints": [{"key": "k", "effect": "NoSchedule"}]}):
        imported = read(node("a"), reservation(**more), owner("p"))
        assert standing(imported) == {"r": ("a", 6000, False)}
        assert "(r)" in noted(imported, "take no owner")


def test_who_asks_for_reservations_gets_one_of_these_or_is_left_out() -> None:
    def asking(wish: Any) -> Imported:
        text = wish if isinstance(wish, str) else json.dumps(wish)
        item = reservation()
        item["metadata"]["labels"] = {"for": "x"}
        return read(node("a"), node("b"), item, owner("p", annotations={AFFINITY: text}))

    def terms(*listed: Any) -> Object:
        return {REQUIRED: {"reservationSelectorTerms": list(listed)}}

    def labelled(value: str) -> Object:
        return {"matchExpressions": [{"key": "for", "operator": "In", "values": [value]}]}

    named = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["r"]}]}
    for wish in (
        {"name": "r"},
        {"reservationSelector": {"for": "x"}},
        terms(labelled("x")),
        terms(labelled("y"), named),
        terms({**labelled("x"), **named}),
        {"reservationSelector": {"for": "x"}, **terms(labelled("x"))},
    ):
        assert standing(asking(wish)) == {"p": ("a", 4000, True)}
    for wish in (
        {"name": "s"},
        {"reservationSelector": {"for": "y"}},
        "no json",
        {"terms": []},
        terms(),
        terms({}),
        terms(labelled("y")),
        terms({**labelled("y"), **named}),
        terms("x"),
        {REQUIRED: []},
        {"name": "s", **terms(labelled("x"))},
        "[" * 10**5,
    ):
        imported = asking(wish)
        assert standing(imported) == {"r": ("a", 6000, False)}
        assert imported.pending.jobs == ()
        assert "(default/p)" in noted(imported, "need a reservation")
    alone = read(node("a"), owner("p", annotations={AFFINITY: '{"name": "r"}'}))
    assert "(default/p)" in noted(alone, "need a reservation")


def test_who_was_promised_a_reservation_by_an_earlier_plan_waits_if_it_is_gone() -> None:
    assert OURS == koordinator._RESERVATION
    wish = json.dumps({"reservationSelector": {OURS: "r"}})
    waits = owner("p", annotations={AFFINITY: wish})
    assert [item.name for item in read(node("a"), waits).pending.jobs] == ["p"]
    # Others take it into theirs no more than before.
    assert standing(read(node("a"), reservation(), waits)) == {"r": ("a", 6000, False)}
    mine = reservation()
    mine["metadata"]["labels"] = {OURS: "r"}
    assert standing(read(node("a"), mine, waits)) == {"p": ("a", 4000, True)}


def test_who_runs_in_a_reservation_that_gets_its_room_back_stays() -> None:
    item = reservation(allocateOnce=False)
    item["status"] |= {
        "allocated": {"cpu": "4"},
        "currentOwners": [{"namespace": "default", "name": "p"}],
    }
    imported = read(node("a"), item, owner("p", on="a"))
    assert standing(imported) == {"p": ("a", 4000, False), "r": ("a", 2000, False)}
    assert not job(imported.snapshot.jobs, "p").movable
    assert "2 in reserved room" in noted(imported, "stay")


def test_what_cannot_be_said_of_reservations_is_told() -> None:
    items = [
        reservation("far", at="gone"),
        reservation("strange"),
        owner("p", annotations={}, metadata={}),
        pod(
            "free", owner="Job/f", labels={"scheduling.koordinator.sh/reservation-ignored": "true"}
        ),
    ]
    items[1]["status"]["allocatable"] = {"koordinator.sh/gpu-core": "100"}
    imported = read(node("a"), *items)
    assert "(far on gone)" in noted(imported, "not in the input are left out")
    assert "(strange)" in noted(imported, "do not offer")
    assert "(default/free)" in noted(imported, "reserved room of others")


def test_nobody_else_gets_the_room_in_a_plan() -> None:
    items = [
        node("a"),
        reservation(),
        pod("late", owner="Job/late", requests={"cpu": "4"}, priority=1000),
        pod("small", owner="Job/small", requests={"cpu": "2"}, priority=0),
    ]
    dump = {"apiVersion": "v1", "kind": "List", "items": items}
    question = question_of([RawDocument("dump.json", 0, dump)], Import())
    options = Options(engine="fast", workers=1)
    plan = make_plan(question, load_model("mixed"), options, Deadline.within(30)).plan
    assert [item.job for item in plan.assignments] == ["default/small"]
    assert plan.summary.evicted_pods == 0


def bind_request(pod_name: str, at: str, phase: str = "Pending") -> Object:
    made = thing("scheduling.run.ai/v1alpha2", "BindRequest", f"{pod_name}-bind")
    made["spec"] = {"podName": pod_name, "selectedNode": at}
    return {**made, "status": {"phase": phase}}


def test_a_pod_that_is_being_bound_stands_on_its_node() -> None:
    imported = read(node("a"), node("b"), owner("p"), bind_request("p", "b"))
    assert standing(imported) == {"p": ("b", 4000, False)}
    assert job(imported.snapshot.jobs, "p").pod_sets[0].health == "starting"


def test_a_request_to_bind_that_failed_decides_nothing() -> None:
    imported = read(node("a"), owner("p"), bind_request("p", "a", "Failed"))
    assert [item.name for item in imported.pending.jobs] == ["p"]
    imported = read(node("a"), owner("p"), bind_request("p", "gone"))
    assert "(default/p on gone)" in noted(imported, "nodes that are not in the input")


@pytest.mark.parametrize(("told", "preemptible"), [("false", False), ("true", True), ("", True)])
def test_pods_that_koordinator_never_preempts_are_neither_evicted_nor_moved(
    told: str, preemptible: bool
) -> None:
    labels = {"quota.scheduling.koordinator.sh/preemptible": told} if told else {}
    imported = read(node("a"), pod("p", on="a", labels=labels))
    (found,) = imported.snapshot.jobs
    assert (found.preemptible, found.movable) == (preemptible, preemptible)
    assert found.pod_sets[0].stays == (() if preemptible else ("lasting",))
    said = "1 pod stays: 1 not preemptible for their scheduler"
    assert (said in imported.notes) is not preemptible
