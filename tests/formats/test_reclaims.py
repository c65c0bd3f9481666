"""No plan evicts whom KAI or Volcano evicts for none of those that wait, by what Queues say."""

from __future__ import annotations

from typing import Any

import pytest

from kantopt.clock import Deadline
from kantopt.planning.plan import make_plan
from kantopt.planning.solving.options import Options
from kantopt.schema.snapshot import Victims
from tests.explain.helpers import explained
from tests.formats.cluster_objects import Object, node, noted, pod, read, thing
from tests.formats.test_kueue_preemption import GPU, MIXED, asked, evicted

KAI, VOLCANO = "kai-scheduler", "volcano"
SYSTEMS = [KAI, VOLCANO]


def queue(system: str, name: str, deserved: int | None, parent: str = "", **more: Any) -> Object:
    if system == KAI:
        free = {"quota": -1, "limit": -1}
        gpu = {"quota": -1 if deserved is None else deserved, "limit": -1}
        resources = {"cpu": free, "memory": free, "gpu": gpu}
        spec = {"resources": resources, "parentQueue": parent}
        return thing("scheduling.run.ai/v2", "Queue", name, "", **spec, **more)
    told = {} if deserved is None else {"deserved": {GPU: str(deserved)}}
    return thing("scheduling.volcano.sh/v1beta1", "Queue", name, "", parent=parent, **told, **more)


def of(
    system: str, name: str, to: str, gpus: int, priority: int, on: str = "", cpu: int = 0
) -> list[Object]:
    """A job of one pod."""
    key = "pod-group-name" if system == KAI else "scheduling.k8s.io/group-name"
    version = "scheduling.run.ai/v2alpha2" if system == KAI else "scheduling.volcano.sh/v1beta1"
    made = pod(
        name,
        on=on,
        owner=f"Job/{name}",
        annotations={key: f"g-{name}"},
        requests={k: str(n) for k, n in ((GPU, gpus), ("cpu", cpu)) if n},
        priority=priority,
        schedulerName=system,
    )
    return [thing(version, "PodGroup", f"g-{name}", minMember=1, queue=to), made]


def told(*items: Object | list[Object]) -> Victims:
    """What is said of the only job that waits."""
    found = [each for item in items for each in (item if isinstance(item, list) else [item])]
    (victims,) = read(node("a"), *found).snapshot.victims
    return victims


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize(
    ("theirs", "own", "goes", "unsure"),
    [
        (8, 0, False, False),  # within what it deserves
        (4, 8, True, False),
        (4, 0, False, True),  # both are beyond it: fair shares decide
    ],
)
def test_jobs_of_another_queue_go_as_far_as_it_has_more_than_it_deserves(
    system: str, theirs: int, own: int, goes: bool, unsure: bool
) -> None:
    queues = [queue(system, "a", theirs), queue(system, "b", own)]
    items = [*queues, *of(system, "r", "a", 8, 1, on="a"), *of(system, "w", "b", 8, 9)]
    assert evicted(*items) == ({"g-r"} if goes else set())
    assert set(told(*items).queues) == ({"a", "b"} if goes else {"b"})
    assert told(*items).beyond == (("a",) if unsure else ())


@pytest.mark.parametrize("system", SYSTEMS)
def test_of_a_queue_whose_name_others_bear_as_well_nobody_goes(system: str) -> None:
    """Pods of another scheduler may have a label, or a ClusterQueue, of the same name."""
    bears = {"kai.scheduler/queue": "a"}
    other = pod("o", on="a", labels=bears, requests={GPU: "4"}, priority=1)
    if system == VOLCANO:
        other = of(KAI, "o", "a", 4, 1, on="a")
    items = [queue(system, "a", 8), *of(system, "r", "a", 4, 1, on="a")]
    items += other if isinstance(other, list) else [other]
    waits = of(system, "w", "a", 8, 9)
    assert evicted(*items, *waits) == set()
    assert told(*items, *waits).beyond == ("a",)


@pytest.mark.parametrize("system", SYSTEMS)
def test_who_asks_for_more_than_a_queue_has_too_much_gets_nothing_of_it(system: str) -> None:
    """Both stop once the queue has what it deserves; how much goes no plan counts."""
    runs = [each for i in range(4) for each in of(system, f"r{i}", "a", 2, 1, on="a")]
    queues = [queue(system, "a", 6), queue(system, "b", 8)]
    for gpus, goes in ((2, True), (3, True), (4, False)):
        items = [*queues, *runs, *of(system, "w", "b", gpus, 9)]
        assert (set(told(*items).queues) == {"a", "b"}) == goes
        assert told(*items).beyond == (() if goes else ("a",))


@pytest.mark.parametrize("system", SYSTEMS)
def test_who_has_victims_in_its_own_queue_is_not_bound_by_what_that_has_left(system: str) -> None:
    """To push out jobs of its own queue changes nothing of what this has."""
    queues = [queue(system, "a", 5), queue(system, "b", 0)]
    run = [*of(system, "r1", "a", 2, 1, on="a"), *of(system, "r2", "a", 2, 1, on="a")]
    run += of(system, "o", "b", 4, 1, on="a")
    waiting = [*of(system, "w1", "a", 2, 9), *of(system, "w2", "a", 2, 9)]
    assert len(evicted(*queues, *run, *waiting)) == 2


@pytest.mark.parametrize("system", SYSTEMS)
def test_of_a_queue_in_which_only_others_run_nothing_is_said_to_go(system: str) -> None:
    other = of(KAI if system == VOLCANO else VOLCANO, "o", "a", 8, 1, on="a")
    assert told(queue(system, "a", 8), other, of(system, "w", "a", 8, 9)).beyond == ()


def test_a_job_of_no_least_takes_back_for_one_pod() -> None:
    waits = pod("w", requests={GPU: "4"}, priority=9, schedulerName=VOLCANO)
    waits["metadata"]["annotations"] = {"scheduling.volcano.sh/queue-name": "b"}
    items = [queue(VOLCANO, "a", 4), queue(VOLCANO, "b", 4), *of(VOLCANO, "r", "a", 8, 1, on="a")]
    assert set(told(*items, waits).queues) == {"a", "b"}


@pytest.mark.parametrize("system", SYSTEMS)
def test_jobs_of_the_own_queue_go_by_priority(system: str) -> None:
    items = [queue(system, "a", 8), *of(system, "r", "a", 8, 1, on="a")]
    assert evicted(*items, *of(system, "w", "a", 8, 9)) == {"g-r"}
    assert evicted(*items, *of(system, "w", "a", 8, 1)) == set()


@pytest.mark.parametrize("system", SYSTEMS)
def test_pods_of_other_schedulers_do_not_go(system: str) -> None:
    other = pod("web", on="a", owner="ReplicaSet/web", requests={GPU: "8"}, priority=0)
    waits = of(system, "w", "a", 8, 9)
    assert evicted(queue(system, "a", 8), other, *waits) == set()
    mine = of(system, "w", "a", 8, 0, on="a")
    alone = pod("p", owner="Job/p", requests={GPU: "8"}, priority=9)
    assert evicted(queue(system, "a", 8), *mine, alone) == {"g-w"}  # kube-scheduler asks nobody


@pytest.mark.parametrize("system", SYSTEMS)
def test_nobody_goes_for_a_job_whose_queue_is_not_there(system: str) -> None:
    queues = [queue(system, "a", 0)]
    other = pod("web", on="a", owner="ReplicaSet/web", requests={GPU: "4"}, priority=0)
    mine = of(system, "r", "a", 4, 1, on="a")
    assert evicted(*queues, other, *mine, *of(system, "w", "zz", 8, 9)) == set()
    alone = pod("w", owner="Job/w", requests={GPU: "8"}, priority=9, schedulerName=system)
    assert evicted(*queues, other, *mine, alone) == set()


def test_queues_that_volcano_takes_nothing_back_from_are_left_alone() -> None:
    queues = [queue(VOLCANO, "a", 0, reclaimable=False), queue(VOLCANO, "b", 8)]
    found = told(*queues, of(VOLCANO, "r", "a", 8, 1, on="a"), of(VOLCANO, "w", "b", 8, 9))
    assert (set(found.queues), found.beyond) == ({"b"}, ())


def test_what_volcano_guarantees_is_deserved_too() -> None:
    guarantee = {"resource": {GPU: "8"}}
    queues = [queue(VOLCANO, "a", 0, guarantee=guarantee), queue(VOLCANO, "b", 8)]
    found = told(*queues, of(VOLCANO, "r", "a", 8, 1, on="a"), of(VOLCANO, "w", "b", 8, 9))
    assert (set(found.queues), found.beyond) == ({"b"}, ())


def test_volcano_takes_nothing_below_what_it_guarantees() -> None:
    queues = [queue(VOLCANO, "a", 0, guarantee={"resource": {GPU: "6"}}), queue(VOLCANO, "b", 4)]
    run = [*of(VOLCANO, "r1", "a", 4, 1, on="a"), *of(VOLCANO, "r2", "a", 4, 1, on="a")]
    found = told(*queues, run, of(VOLCANO, "w", "b", 4, 9))
    assert (set(found.queues), found.beyond) == ({"b"}, ())


def test_volcano_stops_before_what_it_guarantees_is_gone() -> None:
    """After one of the two that run nothing more goes: it is not known which, and no plan does."""
    guarantee = {"resource": {GPU: "3"}}
    queues = [queue(VOLCANO, "a", 2, guarantee=guarantee), queue(VOLCANO, "b", 8)]
    run = [*of(VOLCANO, "r1", "a", 4, 1, on="a"), *of(VOLCANO, "r2", "a", 4, 1, on="a")]
    found = told(*queues, run, of(VOLCANO, "w", "b", 8, 9))
    assert (set(found.queues), found.beyond) == ({"b"}, ("a",))


def test_volcano_takes_pods_of_which_nothing_is_deserved() -> None:
    """Queue a deserves GPUs only, and has none of them."""
    queues = [queue(VOLCANO, "a", 4), queue(VOLCANO, "b", 4)]
    run = of(VOLCANO, "r", "a", 0, 1, on="a", cpu=8)
    assert evicted(*queues, *run, *of(VOLCANO, "w", "b", 4, 9, cpu=4)) == {"g-r"}


def test_of_queues_of_which_volcano_takes_some_jobs_it_may_take_any_and_no_plan_does() -> None:
    """The job of GPUs goes, and the one of cores, of which the queue deserves more, stays."""
    queues = [queue(VOLCANO, "a", 0), queue(VOLCANO, "b", 8)]
    queues[0]["spec"]["deserved"] = {GPU: "2", "cpu": "100"}
    run = [*of(VOLCANO, "g", "a", 4, 1, on="a"), *of(VOLCANO, "c", "a", 0, 1, on="a", cpu=4)]
    items = [*queues, *run, *of(VOLCANO, "w", "b", 4, 9, cpu=8)]
    assert evicted(*items) == set()
    assert (set(told(*items).queues), told(*items).beyond) == ({"b"}, ("a",))


def with_cpu(made: Object, quota: int) -> Object:
    made["spec"]["resources"]["cpu"] = {"quota": quota, "limit": -1}
    return made


def test_kai_takes_from_who_has_too_much_of_anything_for_who_keeps_within_everything() -> None:
    """Nobody asks for more than the GPUs that queue a has within its quota; its cores are not."""
    run = of(KAI, "r", "a", 8, 1, on="a", cpu=4)
    over, own = with_cpu(queue(KAI, "a", 8), 1000), queue(KAI, "b", 8)
    assert evicted(over, own, *run, *of(KAI, "w", "b", 8, 9)) == {"g-r"}
    full = [*of(KAI, "x", "b", 0, 99, on="a", cpu=2), *of(KAI, "w", "b", 8, 9)]
    found = told(over, with_cpu(own, 1000), run, full)
    assert (set(found.queues), found.beyond) == ({"b"}, ("a",))


@pytest.mark.parametrize(("whose", "goes"), [("a", True), ("b", False)])
def test_gpus_that_kai_counts_by_other_names_are_used_of_what_a_queue_deserves(
    whose: str, goes: bool
) -> None:
    """Held in queue a, it has too much; held in queue b, this has all of its own."""
    mig = of(KAI, "m", whose, 0, 99, on="a")
    mig[1]["spec"]["containers"][0]["resources"]["requests"] = {"nvidia.com/mig-4g.20gb": "1"}
    queues = [queue(KAI, "a", 4 if goes else 0), queue(KAI, "b", 4)]
    items = [*queues, *mig, *of(KAI, "r", "a", 4, 1, on="a"), *of(KAI, "w", "b", 4, 9)]
    assert ("a" in told(*items).queues) == goes


@pytest.mark.parametrize("system", SYSTEMS)
def test_jobs_of_a_queue_that_wait_take_back_no_more_than_it_deserves(system: str) -> None:
    run = [*of(system, "r1", "a", 4, 1, on="a"), *of(system, "r2", "a", 4, 1, on="a")]
    queues = [queue(system, "a", 0), queue(system, "b", 4)]
    two = [*of(system, "w1", "b", 4, 9), *of(system, "w2", "b", 4, 9)]
    assert len(evicted(*queues, *run, *two)) == 1
    queues[1] = queue(system, "b", 8)
    assert len(evicted(*queues, *run, *two)) == 2


@pytest.mark.parametrize(("system", "go"), [(KAI, 1), (VOLCANO, 2)])
def test_nor_do_jobs_of_queues_below_another_than_this_deserves_if_it_is_asked(
    system: str, go: int
) -> None:
    run = [*of(system, "r1", "a", 4, 1, on="a"), *of(system, "r2", "a", 4, 1, on="a")]
    tree = [queue(system, name, 4, "two") for name in ("b", "c")]
    tree += [queue(system, "one", 0), queue(system, "two", 4), queue(system, "a", 0, "one")]
    two = [*of(system, "w1", "b", 4, 9), *of(system, "w2", "c", 4, 9)]
    assert len(evicted(*tree, *run, *two)) == go


@pytest.mark.parametrize(
    ("system", "each", "warns"), [(KAI, 3, True), (VOLCANO, 3, True), (KAI, 4, False)]
)
def test_that_a_plan_takes_more_than_a_queue_has_beyond_its_own_is_warned_of(
    system: str, each: int, warns: bool
) -> None:
    """It may have 3 GPUs: of two jobs of 3 one is beyond that, of two of 4 both are."""
    run = [*of(system, "r1", "a", each, 1, on="a"), *of(system, "r2", "a", each, 1, on="a")]
    queues = [queue(system, "a", 3), queue(system, "b", 8)]
    waits = [*of(system, "w1", "b", 4, 9), *of(system, "w2", "b", 4, 9)]
    question = asked(*queues, *run, *waits)
    options = Options(engine="fast", workers=1)
    plan = make_plan(question, MIXED, options, Deadline.within(30)).plan
    text = "queue a has no more than it owns before all of default/g-r1 and default/g-r2 are gone"
    assert any(text in warning for warning in plan.warnings) == warns


OLD, NOW = "2026-01-01T00:00:00Z", "2026-01-01T00:10:00Z"


@pytest.mark.parametrize(
    ("said", "waits", "goes"),
    [
        ({"reclaimMinRuntime": "10h"}, "b", False),
        ({"preemptMinRuntime": "10h"}, "b", True),
        ({"reclaimMinRuntime": "10h"}, "a", True),
        ({"preemptMinRuntime": "10h"}, "a", False),
        ({"preemptMinRuntime": "10h", "reclaimMinRuntime": "10h"}, "b", False),
    ],
)
def test_kai_leaves_the_young_in_peace_for_another_time_from_other_queues_than_from_their_own(
    said: dict[str, str], waits: str, goes: bool
) -> None:
    queues = [queue(KAI, "a", 0), queue(KAI, "b", 8)]
    queues[0]["spec"] |= said
    run, wait = of(KAI, "r", "a", 8, 1, on="a"), of(KAI, "w", waits, 8, 9)
    run[1]["status"]["startTime"] = OLD
    for made, at in ((run[1], OLD), (wait[1], NOW)):
        made["metadata"]["creationTimestamp"] = at
    assert evicted(*queues, *run, *wait) == ({"g-r"} if goes else set())


@pytest.mark.parametrize(
    ("times", "grace"),
    [
        ({"t": "10m", "d": "1m", "y": "10m"}, "60s"),  # one step from t, above both, to who runs
        ({"t": "10m", "y": "5m"}, "600s"),
        ({"d": "10m"}, "600s"),
        ({"y": "10m"}, None),
    ],
)
def test_the_time_to_take_back_is_that_of_the_queue_below_what_is_above_both(
    times: dict[str, str], grace: str | None
) -> None:
    tree = [queue(KAI, "t", 8), *(queue(KAI, name, 0, "t") for name in "dx")]
    queues = {each["metadata"]["name"]: each for each in (*tree, queue(KAI, "y", 0, "d"))}
    for name, time in times.items():
        queues[name]["spec"]["reclaimMinRuntime"] = time
    queues["x"]["spec"]["resources"]["gpu"]["quota"] = 8
    jobs = [*of(KAI, "r", "y", 8, 1, on="a"), *of(KAI, "w", "x", 8, 9)]
    found = read(node("a"), *queues.values(), *jobs).snapshot.queues
    assert next(item.min_runtime for item in found if item.name == "y") == grace


def test_among_queues_below_the_same_one_the_own_time_counts() -> None:
    queues = [queue(KAI, "t", 8), queue(KAI, "x", 8, "t"), queue(KAI, "y", 0, "t")]
    queues[2]["spec"]["reclaimMinRuntime"] = "10m"
    jobs = [*of(KAI, "r", "y", 8, 1, on="a"), *of(KAI, "w", "x", 8, 9)]
    found = read(node("a"), *queues, *jobs).snapshot.queues
    assert next(item.min_runtime for item in found if item.name == "y") == "600s"


def test_where_both_may_evict_the_shorter_time_counts_which_is_noted() -> None:
    queues = [queue(KAI, "a", 0), queue(KAI, "b", 8)]
    queues[0]["spec"] |= {"preemptMinRuntime": "1h", "reclaimMinRuntime": "2h"}
    waiting = [*of(KAI, "w", "a", 8, 9), *of(KAI, "x", "b", 8, 9)]
    found = read(node("a"), *queues, *of(KAI, "r", "a", 8, 1, on="a"), *waiting)
    assert found.snapshot.queues[0].min_runtime == "3600s"
    assert noted(found, "have the shortest")


def test_where_nothing_says_what_queues_deserve_their_weights_may_decide() -> None:
    queues = [queue(VOLCANO, "a", None), queue(VOLCANO, "b", None)]
    found = told(*queues, of(VOLCANO, "r", "a", 8, 1, on="a"), of(VOLCANO, "w", "b", 8, 9))
    assert (set(found.queues), found.beyond) == ({"b"}, ("a",))


def test_a_quota_without_limit_is_never_gone_beyond() -> None:
    queues = [queue(KAI, "a", None), queue(KAI, "b", 8)]
    found = told(*queues, of(KAI, "r", "a", 8, 1, on="a"), of(KAI, "w", "b", 8, 9))
    assert (set(found.queues), found.beyond) == ({"b"}, ())


def below(system: str, one: int = 8, **more: Any) -> list[Object]:
    """Queue a, in which a job of 8 runs, and queue b, in which one of 4 waits, each in another."""
    return [
        queue(system, "one", one, **more),
        queue(system, "two", 8),
        queue(system, "a", 0, "one"),
        queue(system, "b", 4, "two"),
        *of(system, "r", "a", 8, 1, on="a"),
        *of(system, "w", "b", 4, 9),
    ]


def test_kai_weighs_queues_below_different_ones_by_these() -> None:
    """The department of who runs has no more than it deserves, whatever its queue has."""
    assert set(told(below(KAI)).queues) == {"b"}
    assert set(told(below(KAI, 4)).queues) == {"a", "b"}


def test_volcano_weighs_the_queues_of_jobs_and_none_above() -> None:
    assert set(told(below(VOLCANO)).queues) == {"a", "b"}
    within = [queue(VOLCANO, "c", 4, "one"), *of(VOLCANO, "s", "c", 4, 1, on="a")]
    assert set(told(below(VOLCANO, 4), within).queues) == {"a", "b"}


def test_volcano_asks_no_queue_above_whether_it_takes_back_from_one() -> None:
    assert set(told(below(VOLCANO, reclaimable=False)).queues) == {"a", "b"}
    items = below(VOLCANO, 4)
    items[2]["spec"]["reclaimable"] = False
    assert (set(told(items).queues), told(items).beyond) == ({"b"}, ())


@pytest.mark.parametrize("system", SYSTEMS)
def test_who_may_go_though_no_less_important_is_told_and_nothing_is_proved(system: str) -> None:
    queues = [queue(system, "a", 4), queue(system, "b", 8)]
    items = [*queues, *of(system, "r", "a", 8, 9, on="a"), *of(system, "w", "b", 8, 9)]
    assert told(*items).beyond == ("a",)
    verdict = explained(asked(*items), "g-w").verdict
    assert verdict.status == "WAITS"
    assert not verdict.proved
    assert "jobs of queue a may be evicted for it that no plan evicts" in verdict.message


def test_who_has_no_victims_keeps_nobody_from_having_some() -> None:
    """The most important waits in another queue, whose jobs go for nobody of it."""
    queues = [queue(KAI, "a", 8), queue(KAI, "b", 0)]
    items = [*queues, *of(KAI, "r", "a", 8, 1, on="a"), *of(KAI, "w", "b", 8, 50)]
    assert evicted(*items, *of(KAI, "x", "a", 8, 9)) == {"g-r"}
