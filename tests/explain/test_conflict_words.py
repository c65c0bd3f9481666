"""What a line of a conflict says of nodes, and of quota."""

from __future__ import annotations

from kantopt.planning.explain.conflict import Wording
from kantopt.problem.derived.focus import wanted_pods
from kantopt.schema.model import Rule
from kantopt.search.explain.conflict import Found
from kantopt.search.explain.places import Survey
from kantopt.search.explain.shortage import Shortage
from tests.explain.helpers import asked as question_about
from tests.explain.helpers import explained
from tests.verify.world import GPU, job, node, pods, question

NEW = job("new", pods(cpu=4))


def test_of_nodes_that_admit_the_job_it_is_said_that_others_are_not_admitted() -> None:
    """A conflict that was not narrowed down has lines about nodes that only others may not use."""
    asked = question(
        [node("a", labels={"pool": "gpu"}), node("b", labels={"pool": "cpu"})],
        [
            job("r", pods(cpu=4, on=["b"], nodeSelector={"pool": "cpu"})),
            job("new", pods(cpu=8, nodeSelector={"pool": "gpu"})),
        ],
    )
    j = next(each.index for each in asked.jobs if each.name.endswith("new"))
    groups = tuple((Rule.ELIGIBILITY, ("node", n)) for n in (0, 1))
    found = Found((Rule.ELIGIBILITY,), groups, True, False, True)
    ((s, wanted),) = wanted_pods(asked, j).items()
    places = Survey(asked).places(s, wanted)
    words = Wording(asked, j, found, places, asked.model.limits, empty=False)
    said = {item.subject: item.message for item in words.document("as it stands").items}
    assert said == {
        "node a": "open to its pods, but closed to some that would move there to make room",
        "node b": "0 pods admitted: didn't match Pod's node affinity/selector",
    }


def test_of_a_gang_that_runs_with_its_minimum_it_is_not_said_that_all_start_or_none() -> None:
    """The rest of its pods is asked about; those that run stay, whatever becomes of it."""
    nodes = [node("a", cpu=4), node("b", cpu=4)]
    both = (pods(count=2, cpu=2, on=["a"]), pods("x", count=2, cpu=2, on=["b"]))
    others = job("o", pods(count=2, cpu=2, on=["a", "b"]), movable=False, preemptible=False)
    for gang, said in (
        (job("j", *both, minCount=2), "all its 4 pods, of which 2 run now"),
        (job("j", pods(count=3, cpu=4, minCount=3)), "at least 3 of 3 pods together, or none"),
    ):
        conflict = explained(question_about(nodes, [gang, others])).conflict
        assert conflict is not None
        assert {item.rule: item.message for item in conflict.items}["gang"] == said


def test_too_few_domains_are_why_a_pod_is_not_spread_further() -> None:
    """Two of three zones count, so each takes one pod, however even they are."""
    spread = {
        "topologyKey": "zone",
        "maxSkew": 1,
        "minDomains": 3,
        "labelSelector": {"matchLabels": {"app": "w"}},
    }
    alike = {"labels": {"app": "w"}, "topologySpreadConstraints": [spread]}
    nodes = [node(name, labels={"zone": name}) for name in ("a", "b")]
    jobs = [job("r", pods(count=2, on=["a", "b"], **alike)), job("j", pods(**alike))]
    conflict = explained(question_about(nodes, jobs)).conflict
    assert conflict is not None
    said = [item.message for item in conflict.items if item.rule == "spread"]
    assert "at most 1 in one zone, for only 2 of 3 (minDomains) count" in said


def test_of_a_claim_for_one_pod_the_whole_cluster_is_meant() -> None:
    claiming = pods(count=2, exclusiveClaims=["disk"])
    conflict = explained(question_about([node("a"), node("b")], [job("j", claiming)])).conflict
    assert conflict is not None
    assert [item.message for item in conflict.items if item.rule == "anti_affinity"] == [
        "at most 1 of its pods in the whole cluster, for a ReadWriteOncePod claim"
    ]


def test_of_pods_that_stay_it_is_said_why_and_what_lifts_that() -> None:
    """Nobody has said that they are not preemptible: their claims are not modelled."""
    kept = pods(cpu=3, on=["a"], movable=False, preemptible=False)
    for more, said in (
        ({"notModelled": ["claims"]}, ": with persistent volume claims (--assume claims)"),
        (
            {"stays": ["annotated", "static"]},
            ": annotated to stay (--disturb annotated) and static",
        ),
        ({}, ""),
    ):
        jobs = [job("r", {**kept, **more}), job("j", pods(cpu=3), priority=9)]
        conflict = explained(question_about([node("a", cpu=4)], jobs)).conflict
        assert conflict is not None
        pinned = {item.rule: item.message for item in conflict.items}["pinned"]
        assert pinned == f"not preemptible and not movable{said}"


def test_no_more_pods_are_spoken_of_than_the_job_has() -> None:
    """A node may be in a conflict since others that could make way have no room there."""
    asked = question([node("a", cpu=8), node("b", cpu=8)], [job("r", pods(cpu=8, on=["a"])), NEW])
    j = next(each.index for each in asked.jobs if each.name.endswith("new"))
    shortage = Shortage(asked, j, wanted_pods(asked, j), lambda podset: False)
    assert shortage.words(0) == "12 of 8 cpu with its pod"
    assert shortage.words(1) == "room for its pod only once others are gone"


def test_what_a_cohort_is_beyond_is_taken_off_what_a_queue_never_lends() -> None:
    keeps = {"name": GPU, "nominalQuota": 4, "lendingLimit": 0}
    queues = [
        {"name": "a", "cohort": "c", "resources": [{"name": GPU, "nominalQuota": 4}]},
        {"name": "b", "cohort": "c", "resources": [keeps]},
    ]
    runs = job("runs", pods(gpu=6, on=["n0"]), queueName="a")
    told = explained(
        question_about(
            [node("n0", gpu=16)], [runs, job("j", pods(gpu=4), queueName="b")], queues=queues
        )
    )
    assert (told.verdict.status, told.verdict.proved) == ("OVER_QUOTA", True)
    assert told.conflict is not None
    [line] = [item.message for item in told.conflict.items if item.rule == "quota"]
    assert line == f"10 of 8 {GPU}, 6 of them in use now; it is 2 beyond what it shares"
    assert f"quota=b:{GPU}=6" in {item.edit for item in told.remedies}
