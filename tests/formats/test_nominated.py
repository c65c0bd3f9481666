"""Room under pods that terminate belongs to the pod that kube-scheduler nominated."""

from __future__ import annotations

from typing import Any

import pytest

from kantopt.clock import Deadline
from kantopt.planning.explain.running import nominated_pods, standing
from kantopt.planning.plan import make_plan
from kantopt.planning.question import Import, question_of
from kantopt.planning.solving.options import Options
from kantopt.schema.extends import load_model
from kantopt.schema.raw import RawDocument
from kantopt.verify.rules import check_standing
from tests.formats.cluster_objects import Object, job, node, noted, pod, read, thing

GOING = {"deletionTimestamp": "2026-01-01T00:00:00Z"}


def waiting(name: str, at: str, cpu: str = "6", priority: int = 1000) -> Object:
    made = pod(name, owner=f"Job/{name}", requests={"cpu": cpu}, priority=priority)
    made["status"]["nominatedNodeName"] = at
    return made


def runs(name: str, on: str, cpu: str = "6", **more: Any) -> Object:
    return pod(name, on=on, owner=f"Job/{name}", requests={"cpu": cpu}, **more)


def with_port(made: Object) -> Object:
    made["spec"]["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 80}]
    return made


def tainted() -> Object:
    made = node("tainted")
    made["spec"]["taints"] = [{"key": "k", "effect": "NoSchedule"}]
    return made


def nominated(*objects: Object) -> dict[str, bool]:
    """Whether each pending job of the names ``p...`` counts as placed."""
    imported = read(node("a"), node("b"), tainted(), *objects)
    jobs = (*imported.snapshot.jobs, *imported.pending.jobs)
    return {
        item.name: bool(item.pod_sets[0].nominated and item.pod_sets[0].assignments)
        for item in jobs
        if item.name.startswith("p")
    }


def test_a_pod_counts_as_placed_where_its_victim_still_terminates() -> None:
    victim = runs("victim", "a", metadata=GOING)
    assert nominated(victim, waiting("p", "a")) == {"p": True}
    imported = read(node("a"), victim, waiting("p", "a"))
    assert job(imported.snapshot.jobs, "p").pod_sets[0].assignments[0].node == "a"


@pytest.mark.parametrize(
    "objects",
    [
        [runs("stays", "a"), waiting("p", "a")],
        [waiting("p", "gone")],
        [waiting("p", "a", cpu="9")],
        [waiting("p", "tainted")],
        [{**(made := waiting("p", "a")), "spec": {**made["spec"], "nodeSelector": {"x": "y"}}}],
        [with_port(runs("stays", "a", cpu="1")), with_port(waiting("p", "a"))],
    ],
)
def test_a_nomination_that_leads_nowhere_is_none(objects: list[Object]) -> None:
    assert nominated(*objects) == {"p": False}


def test_of_several_the_most_important_comes_first() -> None:
    both = waiting("p1", "a", priority=1), waiting("p2", "a", priority=2)
    assert nominated(*both) == {"p1": False, "p2": True}


def test_of_several_that_want_one_port_the_most_important_has_it() -> None:
    gone = with_port(runs("victim", "a", metadata=GOING))
    ports = [with_port(waiting(f"p{i}", "a", cpu="1", priority=i)) for i in (1, 2)]
    assert nominated(gone, *ports) == {"p1": False, "p2": True}


def test_nobody_is_evicted_a_second_time_and_the_room_is_not_given_away() -> None:
    items = [
        node("a"),
        node("b"),
        runs("victim", "a", metadata=GOING, priority=0),
        runs("other", "b", priority=0),
        waiting("p", "a"),
        pod("late", owner="Job/late", requests={"cpu": "2"}, priority=0),
        pod("more", owner="Job/more", requests={"cpu": "2"}, priority=0),
    ]
    dump = {"apiVersion": "v1", "kind": "List", "items": items}
    question = question_of([RawDocument("dump.json", 0, dump)], Import())
    options = Options(engine="fast", workers=1)
    plan = make_plan(question, load_model("mixed"), options, Deadline.within(30)).plan
    assert plan.summary.evicted_pods == 0
    assert [item.node for item in plan.assignments] == ["b"]


@pytest.mark.parametrize(("held", "wrong"), [("6", []), ("9", ["9 of 8 cpu"])])
def test_who_waits_for_room_overfills_no_node_before_it_is_there(
    held: str, wrong: list[str]
) -> None:
    items = [node("a"), runs("victim", "a", held, metadata=GOING), waiting("p", "a")]
    dump = {"apiVersion": "v1", "kind": "List", "items": items}
    instance = question_of([RawDocument("dump.json", 0, dump)], Import()).instance(
        load_model("mixed")
    )
    assert [item.message for item in check_standing(instance)] == wrong


@pytest.mark.parametrize("objects", [[], [runs("victim", "a", "1", metadata=GOING)]])
def test_pods_may_come_near_one_that_is_nominated(objects: list[Object]) -> None:
    """Once it has started kube-scheduler lets them; till then they wait for it."""
    near = {
        "topologyKey": "kubernetes.io/hostname",
        "labelSelector": {"matchLabels": {"app": "mid"}},
    }
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [near]}}
    mid = waiting("mid", "a")
    mid["metadata"]["labels"] = {"app": "mid"}
    other = pod("lo", owner="Job/lo", affinity=affinity)
    hosts = [node(name, {"kubernetes.io/hostname": name}) for name in ("a", "b")]
    dump = {"apiVersion": "v1", "kind": "List", "items": [*hosts, *objects, mid, other]}
    question = question_of([RawDocument("dump.json", 0, dump)], Import())
    options = Options(engine="fast", workers=1)
    plan = make_plan(question, load_model("mixed"), options, Deadline.within(30)).plan
    assert [(item.job, item.node) for item in plan.assignments] == [("default/lo", "a")]


def test_who_counts_as_placed_is_noted_and_not_said_to_run() -> None:
    imported = read(node("a"), runs("victim", "a", metadata=GOING), waiting("p", "a"))
    assert noted(imported, "are nominated").endswith(
        "count as placed there unless a cordon sends them away: 1 (default/p on a)"
    )
    document = job(imported.snapshot.jobs, "p")
    told = standing(document)
    assert (told.status, nominated_pods(document)) == ("NOMINATED", 1)
    assert told.message == (
        "NOMINATED: its pod has not started; its scheduler has nominated a node for it, and plans "
        "keep the room."
    )
    (main,) = document.pod_sets
    beside = main.model_copy(update={"name": "other", "count": 2, "nominated": False})
    both = document.model_copy(update={"pod_sets": (main, beside)})
    assert standing(both).message == (
        "RUNS: 2 of its 3 pods run, 1 is nominated to a node and not started."
    )


@pytest.mark.parametrize(("policy", "kept"), [("Never", False), ("PreemptLowerPriority", True)])
def test_room_is_not_kept_from_a_more_important_pod_that_may_evict_nobody(
    policy: str, kept: bool
) -> None:
    """kube-scheduler binds it there at once; one that preempts evicts whoever is nominated."""
    top = pod("top", owner="Job/top", requests={"cpu": "6"}, priority=2000, preemptionPolicy=policy)
    assert nominated(waiting("p", "a"), top)["p"] is kept
    lesser = pod("l", owner="Job/l", requests={"cpu": "6"}, priority=1, preemptionPolicy=policy)
    assert nominated(waiting("p", "a"), lesser)["p"]
    large = pod("x", owner="Job/x", requests={"cpu": "99"}, priority=2000, preemptionPolicy=policy)
    assert nominated(waiting("p", "a"), large)["p"]


EMPTY = [{"name": "v", "emptyDir": {}}]
ANNOTATED = {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}
GUARDED = {"labels": {"app": "p"}}
ZERO = {
    **thing("policy/v1", "PodDisruptionBudget", "b", selector={"matchLabels": {"app": "p"}}),
    "status": {"disruptionsAllowed": 0},
}


@pytest.mark.parametrize(
    ("fields", "beside"),
    [
        ({"owner": ""}, []),
        ({"volumes": EMPTY}, []),
        ({"namespace": "kube-system"}, []),
        ({"priority": 2_000_000_000}, []),
        ({"annotations": ANNOTATED}, []),
        ({"labels": {"quota.scheduling.koordinator.sh/preemptible": "false"}}, []),
        (GUARDED, [ZERO]),
    ],
)
def test_what_keeps_a_running_pod_keeps_no_room_from_the_more_important(
    fields: dict[str, Any], beside: list[Object]
) -> None:
    """Nothing is lost of a pod that has not started, and kube-scheduler goes by priority alone."""
    fields = {"owner": "Job/p", "requests": {"cpu": "6"}, "priority": 1, **fields}
    held = pod("p", **fields)
    held["status"]["nominatedNodeName"] = "a"
    for above, evicted in ((0, 0), (1, 1)):
        priority = fields["priority"] + above
        more = pod("more", owner="Job/more", requests={"cpu": "6"}, priority=priority)
        dump = {"apiVersion": "v1", "kind": "List", "items": [node("a"), held, more, *beside]}
        question = question_of([RawDocument("dump.json", 0, dump)], Import())
        options = Options(engine="fast", workers=1)
        plan = make_plan(question, load_model("mixed"), options, Deadline.within(30)).plan
        assert [item.for_good for item in plan.evictions] == [False] * evicted
        assert len(plan.assignments) == evicted
