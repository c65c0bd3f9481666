"""Remedies: what is one, and what is none."""

from __future__ import annotations

from typing import Any

import pytest

from kantopt.planning.beside import Beside, beside
from tests.explain.helpers import asked, explained
from tests.verify.world import Document, job, node, pods

POOL = {"pool": "x"}
GPU = "nvidia.com/gpu"
CLOSED = [
    *(node(f"n{i}", cpu=9, gpu=8, labels=POOL) for i in range(3)),
    node("shut", cpu=9, gpu=8, labels=POOL, unschedulable=True),
    node("other", cpu=9, gpu=3),
]


def _run(shut: int) -> list[Document]:
    """Three nodes in part in use, one closed, one that the selector leaves out."""
    runs = [job(f"r{i}", pods(gpu=4, on=[f"n{i}"])) for i in range(3)]
    held = job("held", pods(gpu=shut, on=["shut"]), movable=False)
    return [*runs, held, job("small", pods(gpu=3, on=["other"]))]


def test_a_change_with_which_as_much_moves_as_without_it_is_no_remedy() -> None:
    """The node that is cordoned is full, and so is the one that the selector leaves out."""
    wanted = job("j", pods(gpu=8, nodeSelector=POOL))
    told = explained(asked(CLOSED, [*_run(8), wanted]))
    assert told.verdict.message.startswith("FITS AFTER MOVING: its pod fits with 1 pod moved")
    assert {remedy.kind for remedy in told.remedies} == {"move", "add-nodes", "end"}


def test_a_change_that_spares_others_a_move_is_a_remedy() -> None:
    """Two pods need two moves, one of them where the cordoned node is open."""
    wanted = job("j", pods(count=2, gpu=8, minCount=2, nodeSelector=POOL))
    nodes = [*CLOSED, node("more", cpu=9, gpu=4)]
    told = explained(asked(nodes, [*_run(0), wanted]))
    assert told.verdict.message.startswith("FITS AFTER MOVING: its 2 pods fit with 2 pods moved")
    [opened] = [remedy for remedy in told.remedies if remedy.kind == "admit-nodes"]
    assert (opened.edit, opened.cost) == ("uncordon=shut", "1 pod moved")


def test_of_a_label_that_no_node_has_its_job_is_told_and_nobody_else() -> None:
    lost = job("lost", pods(gpu=1, nodeSelector={"pool": "X"}))
    odd = job("odd", pods(**{"requests": {"nvidia.com/gpus": 1}}))
    question = asked(CLOSED, [lost, odd, job("j", pods(gpu=1))])
    named = {
        name: [note for note in explained(question, name).notes if "which no node offers" in note]
        for name in ("lost", "odd", "j")
    }
    assert named == {
        "lost": [
            "default/lost asks for label pool=X, which no node offers (did you mean x?)",
        ],
        "odd": [
            "default/odd asks for nvidia.com/gpus, which no node offers "
            "(did you mean nvidia.com/gpu?)",
        ],
        "j": [],
    }
    [dropped] = [r for r in explained(question, "lost").remedies if r.kind == "admit-nodes"]
    assert dropped.message == "ask for no node selector or affinity (pool=X)"


def test_who_waits_for_reserved_room_waits_for_the_reservation_and_not_for_its_owners() -> None:
    """What an owner leaves goes back to it; it is no pod that could be deleted."""
    nodes = [node("n", cpu=9, gpu=8)]
    stays = {"preemptible": False, "movable": False}
    owner = job("owner", pods(gpu=4, on=["n"], stays=["reserved"]), **stays)
    room = job(
        "room", pods(gpu=4, on=["n"], stays=["reserved"]), **stays, reservation={"owners": []}
    )
    told = explained(asked(nodes, [owner, room, job("j", pods(gpu=4))]))
    ends = {remedy.message: remedy.cost for remedy in told.remedies if remedy.kind == "end"}
    assert ends == {"wait for default/room to end": "time, or 1 reservation deleted"}


def test_of_a_job_that_never_fits_only_what_remedies_change_is_planned_with_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    planned: list[int] = []

    def counted(*given: Any) -> Beside:
        planned.append(1)
        return beside(*given)

    monkeypatch.setattr("kantopt.planning.explain.together.beside", counted)
    waits = job("j", pods(nodeSelector={"kubernetes.io/hostname": "c"}))
    told = explained(asked([node("a"), node("b")], [waits, job("other")]), "default/j")
    assert told.verdict.status == "NEVER"
    assert len(planned) == sum(bool(remedy.edit) for remedy in told.remedies) > 0


@pytest.mark.parametrize(
    ("priority", "policy", "does"),
    [
        (5, "PreemptLowerPriority", "raise its priority from 5 to 11, to evict default/r"),
        (
            *(5, "Never"),
            "raise its priority from 5 to 11 and let it preempt: preemptionPolicy "
            "PreemptLowerPriority, to evict default/r",
        ),
        (20, "Never", "let it preempt: preemptionPolicy PreemptLowerPriority"),
    ],
)
def test_a_job_that_may_not_preempt_is_told_to_whatever_its_priority(
    priority: int, policy: str, does: str
) -> None:
    runs = job("r", pods(gpu=8, on=["n"]), priority=10)
    wanted = job("j", pods(gpu=8), priority=priority, preemptionPolicy=policy)
    told = explained(asked([node("n", cpu=9, gpu=8)], [runs, wanted]))
    assert [item.message for item in told.remedies if item.kind == "raise-priority"] == [does]


CORDONED = [
    node("open", cpu=9),
    *(node(f"shut{i}", cpu=9, gpu=8, unschedulable=True) for i in range(3)),
    node("bare", cpu=9, unschedulable=True),
]


def _opened(nodes: list[Document], wanted: Document) -> str:
    told = explained(asked(nodes, [wanted]))
    [opened] = [remedy for remedy in told.remedies if remedy.kind == "admit-nodes"]
    return opened.message


def test_a_node_that_no_pod_of_the_job_could_use_is_not_uncordoned() -> None:
    only = {"pool": "x"}
    gang = pods(count=2, gpu=8, minCount=2)
    assert _opened(CORDONED, job("j", gang)).count("shut") == 2
    labelled = [{**each, "labels": only} if each["name"] == "shut1" else each for each in CORDONED]
    one = job("j", pods(gpu=8, nodeSelector=only))
    assert _opened(labelled, one) == "uncordon shut1"


def test_a_list_of_nodes_to_be_uncordoned_that_may_be_too_long_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """There was no time to find the fewest."""
    for look in ("_fewest_uncordoned", "_fewer_uncordoned"):
        monkeypatch.setattr(f"kantopt.planning.explain.remedies.wishes.{look}", lambda *_: ())
    said = "uncordon shut0, shut1 and shut2; perhaps fewer of them do"
    assert _opened(CORDONED, job("j", pods(count=2, gpu=8, minCount=2))) == said


def quota_remedy(**own: Any) -> tuple[str, str]:
    """What to raise for a job of 8 GPUs, beside one of 8 that runs in its queue, below org."""
    pool = {"name": "org", "cohort": "org", "resources": [{"name": GPU, "nominalQuota": 8}]}
    row = {"name": GPU, "nominalQuota": 0, **own}
    queues = [pool, {"name": "b", "cohort": "org", "resources": [row]}]
    nodes = [node(name, cpu=9, gpu=8) for name in "xy"]
    runs = job("runs", pods(gpu=8, on=["x"]), queueName="b")
    question = asked(nodes, [runs, job("j", pods(gpu=8), queueName="b")], queues=queues)
    [found] = [item for item in explained(question).remedies if item.kind == "raise-quota"]
    return found.message, found.edit


def test_below_a_queue_that_is_full_it_is_that_one_whose_quota_is_raised() -> None:
    text = f"raise the quota of queue org: {GPU} from 8 to 16"
    assert quota_remedy() == (text, f"quota=org:{GPU}=16")


def test_a_queue_below_another_is_raised_from_what_it_may_use() -> None:
    text = f"raise the quota of queue b: {GPU} from 8 to 16, and the quota of queue org: "
    edit = f"quota=b:{GPU}=16 quota=org:{GPU}=16"
    assert quota_remedy(borrowingLimit=8) == (f"{text}{GPU} from 8 to 16", edit)


def test_what_is_guaranteed_below_counts_for_the_queue_above() -> None:
    text = f"raise the quota of queue org: {GPU} from 10 to 16"
    remedy = quota_remedy(nominalQuota=2, lendingLimit=0)
    assert remedy == (text, f"quota=org:{GPU}=16")


def test_what_is_held_by_other_names_is_raised_above() -> None:
    text = f"raise the quota of queue org: {GPU} from 8 to 17"
    assert quota_remedy(held=1) == (text, f"quota=org:{GPU}=17")


def test_in_a_cohort_without_a_queue_above_each_owns_its_own() -> None:
    rows = [{"name": GPU, "nominalQuota": 4}]
    queues = [{"name": name, "cohort": "all", "resources": rows} for name in "ab"]
    nodes = [node(name, cpu=9, gpu=8) for name in "xy"]
    jobs = [job("r", pods(gpu=8, on=["x"]), queueName="b"), job("j", pods(gpu=8), queueName="b")]
    remedies = explained(asked(nodes, jobs, queues=queues)).remedies
    assert f"quota=b:{GPU}=12" in {item.edit for item in remedies}


@pytest.mark.parametrize(
    ("lends", "raised"),
    [({}, 10), ({"lendingLimit": 0}, 10), ({"lendingLimit": 4}, 10)],
    ids=["all it owns", "nothing", "some"],
)
def test_no_more_quota_is_asked_for_than_is_missing(lends: dict[str, int], raised: int) -> None:
    """Queue b uses two that nobody owns: whatever a lends, it has to leave these unused."""
    row = {"name": GPU, "nominalQuota": 0}
    queues = [
        {"name": "a", "cohort": "all", "resources": [row | lends]},
        {"name": "b", "cohort": "all", "resources": [{"name": GPU, "nominalQuota": 6}]},
    ]
    nodes = [node(name, cpu=9, gpu=8) for name in "xy"]
    jobs = [job("r", pods(gpu=8, on=["x"]), queueName="b"), job("j", pods(gpu=8), queueName="a")]
    remedies = explained(asked(nodes, jobs, queues=queues)).remedies
    assert f"quota=a:{GPU}={raised}" in {item.edit for item in remedies}


def test_a_smaller_change_that_is_enough_with_evictions_is_told_with_its_cost() -> None:
    """A pod may be evicted, another may not: the change with nobody disturbed is not smallest."""
    nodes = [node(name, gpu=4) for name in ("n0", "n1", "n2")]
    low = job("low", pods(gpu=4, on=["n0"]), priority=10)
    high = job("high", pods(gpu=4, on=["n1"]), priority=90)
    wanted = job("j", pods(count=3, gpu=4, minCount=3), priority=50)
    told = explained(asked(nodes, [low, high, wanted]))
    costs = {item.edit: (item.cost, item.smallest) for item in told.remedies}
    assert costs == {
        "add-nodes=n2:2": ("2 nodes more", False),
        "add-nodes=n2:1": ("1 node more, 1 pod evicted", True),
        "set=default/j:main:minCount=1": ("2 pods fewer", False),
        "set=default/j:main:minCount=2": ("1 pod fewer, 1 pod evicted", True),
        "remove=default/low remove=default/high": ("time, or 2 pods deleted", False),
        "remove=default/high": ("time, or 1 pod deleted, 1 pod evicted", True),
        "priority=default/j:91": ("2 pods evicted", False),
    }


@pytest.mark.parametrize("priority", [10, 90])
def test_a_change_is_the_smallest_where_less_is_not_enough_with_evictions_either(
    priority: int,
) -> None:
    """Of a job that fits by evictions, less is enough that evicts fewer."""
    nodes = [node(name, gpu=4) for name in ("n0", "n1")]
    runs = [job(f"r{i}", pods(gpu=4, on=[f"n{i}"]), priority=priority) for i in range(2)]
    wanted = job("j", pods(count=2, gpu=4, minCount=2), priority=50)
    told = explained(asked(nodes, [*runs, wanted]))
    found = {item.edit: item.smallest for item in told.remedies if item.kind == "add-nodes"}
    fewer = {"add-nodes=n0:1": True} if priority < 50 else {}
    assert found == {"add-nodes=n0:2": not fewer, **fewer}


def test_fewer_nodes_are_uncordoned_where_somebody_makes_way() -> None:
    nodes = [node("n", gpu=8), *(node(f"shut{i}", gpu=8, unschedulable=True) for i in range(2))]
    runs = job("r", pods(gpu=8, on=["n"]), priority=10)
    wanted = job("j", pods(count=2, gpu=8, minCount=2), priority=50)
    told = explained(asked(nodes, [runs, wanted]))
    opened = {item.edit: item.cost for item in told.remedies if item.kind == "admit-nodes"}
    assert opened == {
        "uncordon=shut0 uncordon=shut1": "nothing is disturbed",
        "uncordon=shut1": "1 pod evicted",
    }
