"""No plan evicts whom Kueue evicts for none of those that wait, by what ClusterQueues say."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kantopt.clock import Deadline
from kantopt.planning.explain.run import explain
from kantopt.planning.explain.together import FITS
from kantopt.planning.plan import make_plan
from kantopt.planning.question import Import, Question, question_of
from kantopt.planning.solving.options import Options
from kantopt.schema.dump import dump_data
from kantopt.schema.extends import load_model
from kantopt.schema.model import Model
from kantopt.schema.raw import RawDocument
from tests.formats.cluster_objects import Object, node, pod, read, thing

KUEUE = "kueue.x-k8s.io/v1beta2"
GPU = "nvidia.com/gpu"
LOWER = "LowerPriority"
MIXED = load_model("mixed")


def queue(name: str, nominal: int, cohort: str = "all", **preemption: Any) -> list[Object]:
    """A ClusterQueue with a LocalQueue of its name."""
    quota = {"name": GPU, "nominalQuota": nominal}
    groups = [{"coveredResources": [GPU], "flavors": [{"name": "f", "resources": [quota]}]}]
    spec = {"cohortName": cohort, "resourceGroups": groups, "preemption": preemption}
    made = thing(KUEUE, "ClusterQueue", name, "", **spec)
    return [made, thing(KUEUE, "LocalQueue", name, clusterQueue=name)]


def runs(name: str, to: str, gpus: int, priority: int = 0, on: str = "a") -> Object:
    labels = {"kueue.x-k8s.io/queue-name": to} if to else {}
    asks = {GPU: str(gpus)}
    return pod(name, on=on, owner=f"Job/{name}", labels=labels, requests=asks, priority=priority)


def waits(name: str, to: str, gpus: int, priority: int = 9) -> Object:
    box = {"name": "c", "resources": {"requests": {GPU: str(gpus)}}}
    roles = [{"name": "main", "count": 1, "template": {"spec": {"containers": [box]}}}]
    return thing(KUEUE, "Workload", name, podSets=roles, queueName=to, priority=priority)


def asked(*items: Object | list[Object], jobs: Object | None = None) -> Question:
    found = [each for item in items for each in (item if isinstance(item, list) else [item])]
    dump = {"apiVersion": "v1", "kind": "List", "items": [node("a"), *found]}
    listed = [] if jobs is None else [RawDocument("jobs.yaml", 0, jobs)]
    return question_of([RawDocument("dump.json", 0, dump), *listed], Import())


def evicted(*items: Object | list[Object], jobs: Object | None = None) -> set[str]:
    """Names of the jobs that a plan evicts."""
    options = Options(engine="fast", workers=1)
    question = asked(*items, jobs=jobs)
    plan = make_plan(question, load_model("mixed"), options, Deadline.within(30)).plan
    return {item.job.removeprefix("default/") for item in plan.evictions}


def placed(model: Model, *items: Object | list[Object]) -> set[str]:
    """Names of the jobs that a plan places."""
    question, options = asked(*items), Options(engine="fast", workers=1)
    plan = make_plan(question, model, options, Deadline.within(30)).plan
    return {item.job.removeprefix("default/") for item in plan.assignments}


MINE, OTHER = runs("mine", "a", 4), runs("other", "b", 4)


@pytest.mark.parametrize(
    ("preemption", "expected"),
    [
        ({"withinClusterQueue": LOWER}, {"mine"}),
        ({"withinClusterQueue": "LowerOrNewerEqualPriority"}, {"mine"}),
        ({"reclaimWithinCohort": LOWER}, {"other"}),
        ({"reclaimWithinCohort": "Any"}, {"other"}),
        ({}, set()),
    ],
    ids=str,
)
def test_who_waits_evicts_jobs_of_its_own_queue_or_of_others_as_its_queue_says(
    preemption: dict[str, str], expected: set[str]
) -> None:
    queues = [*queue("a", 6, **preemption), *queue("b", 2)]
    assert evicted(queues, MINE, OTHER, waits("w", "a", 2)) == expected


def test_of_other_queues_only_those_go_that_have_borrowed_what_is_asked_for() -> None:
    preemption = {"reclaimWithinCohort": LOWER}
    queues = [*queue("a", 4, **preemption), *queue("b", 4), *queue("c", 0)]
    borrower = runs("third", "c", 4)
    assert evicted(queues, OTHER, borrower, waits("w", "a", 4)) == {"third"}
    apart = [*queue("a", 4, **preemption), *queue("b", 4), *queue("c", 0, "elsewhere")]
    assert evicted(apart, OTHER, borrower, waits("w", "a", 4)) == set()


def with_cores(made: list[Object], gpus: int, cores: int) -> list[Object]:
    """The same queue, that owns cores, too."""
    group = made[0]["spec"]["resourceGroups"][0]
    group["coveredResources"] = [GPU, "cpu"]
    group["flavors"][0]["resources"].append({"name": "cpu", "nominalQuota": cores})
    return made


def test_only_those_go_that_have_borrowed_of_what_there_is_too_little() -> None:
    """There are cores for all, of which one has borrowed, and no GPUs, of which another has."""
    mine = with_cores(queue("a", 4, reclaimWithinCohort=LOWER), 4, 6)
    queues = [*mine, *with_cores(queue("b", 2), 2, 0), *with_cores(queue("c", 0), 0, 2)]
    cores, gpus = runs("cores", "b", 2), runs("gpus", "c", 4, 5)
    for made, amount in ((cores, 1), (gpus, 1)):
        made["spec"]["containers"][0]["resources"]["requests"]["cpu"] = str(amount)
    wanted = waits("w", "a", 4)
    pods = wanted["spec"]["podSets"][0]["template"]["spec"]["containers"][0]
    pods["resources"]["requests"]["cpu"] = "1"
    told = read(node("a"), *queues, cores, gpus, wanted).snapshot.victims
    assert [{*item.queues} for item in told] == [{"c"}]


def test_who_lacks_a_place_and_no_quota_takes_back_from_who_has_borrowed() -> None:
    """There is quota enough for all; the node is full."""
    queues = [*queue("a", 4, reclaimWithinCohort="Any"), *queue("b", 4), *queue("c", 100)]
    assert evicted(*queues, runs("other", "b", 8), waits("w", "a", 4)) == {"other"}


def test_queues_whose_cohort_keeps_within_its_own_give_nothing_to_others_than_it() -> None:
    tree = [
        thing(KUEUE, "Cohort", "root", ""),
        *(thing(KUEUE, "Cohort", name, "", parentName="root") for name in ("one", "two")),
    ]
    reclaims = {"reclaimWithinCohort": LOWER}
    queues = [*queue("a", 4, "two", **reclaims), *queue("b", 0, "one"), *queue("c", 0, "two")]
    runners = [runs("within", "b", 4), runs("beyond", "c", 4, 5)]
    rich, poor = (queue("d", n, "one") for n in (4, 2))
    for other, expected in ((rich, {"c"}), (poor, {"b", "c"})):
        told = read(node("a"), *tree, *queues, *other, *runners, waits("w", "a", 4))
        assert [{*item.queues} for item in told.snapshot.victims] == [expected]


def test_that_flavors_are_not_told_apart_where_queues_take_back_is_noted() -> None:
    """Queue b uses less than it owns, but perhaps more of one flavor."""
    other = queue("b", 4)
    more = {"name": GPU, "nominalQuota": 4}
    other[0]["spec"]["resourceGroups"][0]["flavors"].append({"name": "g", "resources": [more]})
    mine = queue("a", 4, reclaimWithinCohort=LOWER)
    notes = str(asked(mine, other, OTHER, waits("w", "a", 4)).notes)
    assert "as if of one: of which they have too much is not known: 1 (b)" in notes


def test_who_asks_for_more_than_its_queue_owns_evicts_others_only_where_it_may_borrow_then() -> (
    None
):
    def found(priority: int = 0, **more: Any) -> set[str]:
        mine = queue("a", 1, reclaimWithinCohort=LOWER, **more)
        other = runs("other", "b", 8, priority)
        return evicted(mine, queue("b", 7), other, waits("w", "a", 2))

    assert found() == set()
    assert found(borrowWithinCohort={"policy": "Never"}) == set()
    assert found(borrowWithinCohort={"policy": LOWER}) == {"other"}
    below = {"policy": LOWER, "maxPriorityThreshold": 3}
    assert found(3, borrowWithinCohort=below) == {"other"}
    assert found(4, borrowWithinCohort=below) == set()


def test_pods_in_no_queue_and_pods_that_exist_are_for_kube_scheduler() -> None:
    preemption = {"withinClusterQueue": LOWER}
    queues = [*queue("a", 8, **preemption), *queue("b", 8)]
    service = runs("service", "", 8)
    assert evicted(queues, service, waits("w", "a", 4)) == {"service"}
    other = runs("other", "b", 8)
    assert evicted(queues, other, waits("w", "a", 4)) == set()
    assert evicted(queues, other, runs("x", "", 4, 9, on="")) == {"other"}


def test_who_stays_is_named() -> None:
    queues = [*queue("a", 4, withinClusterQueue=LOWER), *queue("b", 4, withinClusterQueue=LOWER)]
    notes = str(asked(queues, MINE, OTHER, waits("w", "a", 4)).notes)
    assert "for none of those that wait are not evicted: 1 (default/other)" in notes


def test_the_most_important_that_waits_has_its_victims_and_others_none_that_it_would_take() -> None:
    queues = [*queue("a", 4, withinClusterQueue=LOWER), *queue("b", 4, withinClusterQueue=LOWER)]
    items = [*queues, MINE, OTHER, waits("w", "a", 4), waits("v", "b", 4, 8)]
    assert evicted(*items) == {"mine"}
    notes = str(asked(*items).notes)
    assert "no plan evicts for both: 1 (default/v)" in notes
    assert "are not evicted: 1 (default/other)" in notes
    important = runs("other", "b", 4, 9)  # whom the first would not take in any case
    assert evicted(queues, MINE, important, waits("w", "a", 4), waits("v", "b", 4, 10)) == {"other"}
    less = runs("mine", "a", 4, 8)
    assert evicted(queues, less, OTHER, waits("w", "a", 4), waits("v", "b", 4, 8)) == {"mine"}


def test_pods_that_exist_have_their_victims_first() -> None:
    """kube-scheduler waits for nobody; what it may evict is no pretext to evict it for another."""
    queues = [*queue("a", 4, withinClusterQueue=LOWER), *queue("b", 4, withinClusterQueue=LOWER)]
    items = [queues, MINE, OTHER, waits("w", "a", 4, 9), runs("x", "", 4, 8, on="")]
    assert evicted(*items) in ({"mine"}, {"other"})
    assert "no plan evicts for both: 1 (default/w)" in str(asked(*items).notes)
    assert not placed(MIXED, *items) & {"w"}
    assert placed(MIXED.model_copy(update={"required": ("w",)}), *items) == {"w"}


def test_of_equals_those_come_first_who_have_victims() -> None:
    """Whoever may evict nobody there does not keep the others from it."""
    reclaims = {"withinClusterQueue": LOWER, "reclaimWithinCohort": "Any"}
    more = [*queue("a", 4, **reclaims), *queue("b", 2), *queue("c", 4, withinClusterQueue=LOWER)]
    items = [more, runs("other", "b", 8), waits("never", "c", 4), waits("w", "a", 4)]
    assert evicted(*items) == {"other"}
    assert "no plan evicts for both: 1 (default/never)" in str(asked(*items).notes)


@pytest.mark.parametrize("name", ["w", "v", "x"])
def test_what_has_a_place_alone_has_it_where_it_is_required(name: str) -> None:
    queues = [*queue("a", 4, withinClusterQueue=LOWER), *queue("b", 4, withinClusterQueue=LOWER)]
    pods = runs("x", "", 4, 7, on="")
    items = [queues, MINE, OTHER, waits("w", "a", 4, 9), waits("v", "b", 4, 8), pods]
    alone = MIXED.model_copy(update={"pending": (name,)})
    assert placed(alone, *items) == {name}
    options = Options(engine="fast", workers=1)
    plan = make_plan(asked(*items), alone, options, Deadline.within(30)).plan
    assert "for which nobody is evicted" not in str(plan.warnings)
    assert name in placed(MIXED.model_copy(update={"required": (name,)}), *items)


def test_a_job_alone_is_given_no_victims_for_others_that_wait() -> None:
    """Pods of a job that runs in part may evict; that is no reason to do so for another."""
    queues = [*queue("a", 4, withinClusterQueue=LOWER), *queue("b", 8)]
    owner = {"owner": "ReplicaSet/part", "priority": 9}
    partly = [pod("p0", on="a", requests={GPU: "4"}, **owner), pod("p1", requests={}, **owner)]
    question = asked(queues, OTHER, partly, waits("w", "a", 4))
    told = list(explain(question, MIXED, "w", Deadline.within(30)))[-1]
    assert told.verdict.status not in FITS


def test_jobs_of_other_documents_evict_by_priority() -> None:
    queues = [*queue("a", 4, withinClusterQueue=LOWER), *queue("b", 4)]
    roles = [{"name": "main", "count": 1, "requests": {GPU: 4}}]
    more = {"apiVersion": "kantopt/v1alpha1", "kind": "JobList"}
    listed = {**more, "jobs": [{"name": "x", "priority": 5, "podSets": roles}]}
    items = (queues, runs("other", "b", 8), waits("w", "a", 4))
    assert evicted(*items) == set()
    assert evicted(*items, jobs=listed) == {"other"}


def test_who_is_spared_follows_from_those_who_are_asked_about() -> None:
    queues = [*queue("a", 4, withinClusterQueue=LOWER), *queue("b", 4, withinClusterQueue=LOWER)]
    question = asked(queues, MINE, OTHER, waits("w", "a", 4), waits("v", "b", 4))

    def free(*names: str) -> set[str]:
        instance = question.instance(load_model("mixed").model_copy(update={"pending": names}))
        return {
            instance.job_of(item.index).name.removeprefix("default/")
            for item in instance.podsets
            if item.running and item.preemptible
        }

    assert free("w", "v") in ({"mine"}, {"other"})
    assert (free("w"), free("v")) == ({"mine"}, {"other"})
    kept = replace(question, pending=tuple(i for i in question.pending if i.name == "v"))
    assert kept.instance(load_model("mixed")).podsets[0].preemptible is False


def test_what_is_read_tells_the_queues_whose_jobs_may_go() -> None:
    queues = [*queue("a", 6, withinClusterQueue=LOWER, reclaimWithinCohort=LOWER), *queue("b", 2)]
    told = read(node("a"), *queues, MINE, OTHER, waits("w", "a", 2)).snapshot.victims
    assert {item.job: {*item.queues} for item in told} == {"default/w": {"a", "b"}}


def test_documents_of_a_dump_tell_whom_kueue_evicts_for_whom() -> None:
    queues = [*queue("a", 4, withinClusterQueue=LOWER), *queue("b", 4, withinClusterQueue=LOWER)]
    dump = asked(queues, MINE, OTHER, waits("w", "a", 4), waits("v", "b", 4, 8))
    snapshot = {**dump_data(dump.snapshot)}
    jobs = {"apiVersion": "kantopt/v1alpha1", "kind": "JobList"}
    listed = {**jobs, "jobs": [dump_data(item) for item in dump.pending]}
    files = [RawDocument("s", 0, snapshot), RawDocument("j", 0, listed)]
    native = question_of(files, Import())
    told, same = (question.instance(load_model("mixed")) for question in (dump, native))
    assert [item.preemptible for item in told.podsets if item.running] == [True, False]
    assert (told.jobs, told.podsets, told.queues) == (same.jobs, same.podsets, same.queues)
    for note in ("for which nobody is evicted", "are not evicted"):
        assert note in str(native.notes)


def test_a_job_whose_queue_preempts_nobody_is_not_said_to_have_a_policy_of_its_own() -> None:
    question = asked(queue("a", 8), runs("mine", "a", 8), waits("w", "a", 8))
    told = list(explain(question, load_model("mixed"), "w", Deadline.within(30)))[-1]
    assert told.conflict is not None
    said = {item.rule: item.message for item in told.conflict.items}
    assert said["priority"] == "1 running pod not evicted: Kueue preempts nobody for its queue"


def test_a_queue_that_preempts_nobody_is_noted_once_however_many_wait_there() -> None:
    notes = asked(queue("a", 8), *(waits(f"w{i}", "a", 1) for i in range(3))).notes
    said = "queues for which Kueue preempts nobody: who lacks quota there evicts nobody: 1 (a)"
    assert said in notes


def test_kueue_does_not_ask_the_policy_of_the_class_that_its_pods_will_have() -> None:
    """Users keep kube-scheduler from preempting for pods of Kueue's so."""
    never = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": 9}
    never |= {"metadata": {"name": "never"}, "preemptionPolicy": "Never"}
    wanted = waits("w", "a", 8)
    wanted["spec"]["podSets"][0]["template"]["spec"]["priorityClassName"] = "never"
    for preemption, gone in (({"withinClusterQueue": LOWER}, {"mine"}), ({}, set())):
        assert evicted(queue("a", 8, **preemption), never, runs("mine", "a", 8), wanted) == gone
