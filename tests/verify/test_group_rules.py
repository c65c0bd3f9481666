"""Quota, anti-affinity, spread: what jobs say about each other."""

from __future__ import annotations

from typing import Any

import pytest

from kantopt.errors import BadDataError
from kantopt.problem.instance import Instance
from kantopt.schema.model import Rule
from kantopt.verify.rules import check
from tests.verify.world import HOST, Document, broken, job, node, pods, put, question, standing

NODES = [node(name, cpu=64, rack=f"x/{name[0]}") for name in ("a1", "a2", "b1")]
LONE = node("lone", cpu=64)


def said(instance: Instance, rule: Rule, where: dict[str, Any]) -> list[str]:
    return [f"{v.subject}: {v.message}" for v in check(instance, put(instance, where), [rule])]


# Quota


def queue(name: str, nominal: int, cohort: str = "", **more: int) -> Document:
    quota = {"name": "cpu", "nominalQuota": nominal, **more}
    return {"name": name, "cohort": cohort, "resources": [quota]}


def users(**cpus: int) -> list[Document]:
    return [job(name, pods(cpu=cpu), queueName=f"q-{name}") for name, cpu in cpus.items()]


def test_a_job_in_no_queue_has_no_quota() -> None:
    instance = question(NODES, [job("j", pods(cpu=9))], queues=[queue("q-j", 1)])
    assert broken(instance, Rule.QUOTA, j=["a1"]) == []


def test_a_queue_may_use_its_quota_to_the_last_core() -> None:
    instance = question(NODES, users(j=4), queues=[queue("q-j", 4)])
    assert broken(instance, Rule.QUOTA, j=["a1"]) == []


def test_a_queue_may_not_use_more() -> None:
    instance = question(NODES, users(j=5), queues=[queue("q-j", 4)])
    assert broken(instance, Rule.QUOTA, j=["a1"]) == ["queue q-j: 5 of 4 cpu"]


def test_resources_that_a_queue_does_not_list_are_not_limited() -> None:
    jobs = [job("j", pods(cpu=1, gpu=8), queueName="q-j")]
    instance = question(NODES, jobs, queues=[queue("q-j", 1)])
    assert broken(instance, Rule.QUOTA, j=["a1"]) == []


def typed(nominal: int, nodes: str = "gpu=h100", cohort: str = "") -> Document:
    quota = {"name": "nvidia.com/gpu", "nominalQuota": nominal, "nodes": nodes}
    return {"name": f"q{cohort}", "cohort": cohort, "resources": [quota]}


H100, A100 = ({"nodeSelector": {"gpu": kind}} for kind in ("h100", "a100"))
TYPES = [node(kind, cpu=64, gpu=16, labels={"gpu": kind}) for kind in ("h100", "a100")]


def test_a_quota_of_one_gpu_type_counts_those_who_may_have_it() -> None:
    """Another type is free of charge; who takes any may take the one that is limited."""
    jobs = [
        job("h", pods(gpu=4, **H100), queueName="q"),
        job("a", pods(gpu=8, **A100), queueName="q"),
        job("any", pods(gpu=4), queueName="q"),
        job("cpu", pods(cpu=8), queueName="q"),
    ]
    instance = question(TYPES, jobs, queues=[typed(7)])
    assert broken(instance, Rule.QUOTA, h=["h100"], a=["a100"], cpu=["h100"]) == []
    over = ["queue q: 8 of 7 nvidia.com/gpu [gpu=h100]"]
    assert broken(instance, Rule.QUOTA, h=["h100"], any=["a100"]) == over
    enough = question(TYPES, jobs, queues=[typed(8)])
    assert broken(enough, Rule.QUOTA, h=["h100"], any=["a100"]) == []


def test_a_pod_that_runs_on_the_type_counts_for_it_whatever_it_asks_for_now() -> None:
    jobs = [
        job("r", pods(gpu=4, on=["h100"], **A100), queueName="q"),
        job("h", pods(gpu=4, **H100), queueName="q"),
    ]
    instance = question(TYPES, jobs, queues=[typed(7)])
    over = ["queue q: 8 of 7 nvidia.com/gpu [gpu=h100]"]
    assert broken(instance, Rule.QUOTA, h=["h100"]) == over


def test_both_quotas_hold_where_one_is_of_a_type() -> None:
    both = typed(4)
    both["resources"].append({"name": "nvidia.com/gpu", "nominalQuota": 6})
    jobs = [job(k, pods(gpu=3, **kind), queueName="q") for k, kind in (("h", H100), ("a", A100))]
    jobs.append(job("b", pods(gpu=1, **A100), queueName="q"))
    instance = question(TYPES, jobs, queues=[both])
    assert broken(instance, Rule.QUOTA, h=["h100"], a=["a100"]) == []
    over = ["queue q: 7 of 6 nvidia.com/gpu"]
    assert broken(instance, Rule.QUOTA, h=["h100"], a=["a100"], b=["a100"]) == over


def test_a_cohort_lends_what_it_has_of_a_type() -> None:
    lender = {**typed(4, cohort="c"), "name": "lender"}
    jobs = [job(k, pods(gpu=4, **H100), queueName="qc") for k in "jkl"]
    instance = question(TYPES, jobs, queues=[typed(4, cohort="c"), lender])
    assert broken(instance, Rule.QUOTA, j=["h100"], k=["h100"]) == []
    over = ["cohort c: 12 of 8 shared nvidia.com/gpu [gpu=h100]"]
    assert broken(instance, Rule.QUOTA, j=["h100"], k=["h100"], l=["h100"]) == over


def test_a_quota_of_nodes_that_are_not_there_is_refused() -> None:
    with pytest.raises(BadDataError) as error:
        question(TYPES, [job("j")], queues=[typed(4, "gpu=h200")])
    path = 'queues[0].resources[0].nodes: found "h200", expected a100 or h100'
    assert path in str(error.value)


def test_quota_counts_what_pods_take_of_devices() -> None:
    zones: Document = {"devices": [{"class": "numa", "count": 2, "capacity": {"cpu": 4}}]}
    need = [{"class": "numa", "count": 2, "requests": {"cpu": 2}}]
    jobs = [job("j", pods(cpu=1, devices=need), queueName="q-j")]
    instance = question([node("a", **zones)], jobs, queues=[queue("q-j", 4)])
    assert broken(instance, Rule.QUOTA, j=[("a", 0, 1)]) == ["queue q-j: 5 of 4 cpu"]


def test_a_queue_borrows_what_its_cohort_does_not_use() -> None:
    queues = [queue("q-j", 2, "c"), queue("q-k", 4, "c")]
    instance = question(NODES, users(j=6, k=1), queues=queues)
    assert broken(instance, Rule.QUOTA, j=["a1"]) == []
    assert broken(instance, Rule.QUOTA, j=["a1"], k=["a1"]) == ["cohort c: 7 of 6 shared cpu"]


def test_a_borrowing_limit_caps_what_a_queue_uses_beyond_its_own() -> None:
    queues = [queue("q-j", 2, "c", borrowingLimit=3), queue("q-k", 9, "c")]
    assert broken(question(NODES, users(j=5), queues=queues), Rule.QUOTA, j=["a1"]) == []
    assert broken(question(NODES, users(j=6), queues=queues), Rule.QUOTA, j=["a1"]) == [
        "queue q-j: 6 of 5 cpu"
    ]


def test_a_lending_limit_keeps_the_rest_for_the_queue_itself() -> None:
    """k lends 1 of its 4 cores: j has 2 + 1, and k always its own 3."""
    queues = [queue("q-j", 2, "c"), queue("q-k", 4, "c", lendingLimit=1)]
    instance = question(NODES, users(j=3, k=3), queues=queues)
    assert broken(instance, Rule.QUOTA, j=["a1"], k=["a1"]) == []
    instance = question(NODES, users(j=4), queues=queues)
    assert broken(instance, Rule.QUOTA, j=["a1"]) == ["cohort c: 4 of 3 shared cpu"]


def test_a_queue_over_its_quota_is_excused_and_may_not_grow() -> None:
    jobs = [job("r", pods(cpu=6, on=["a1"]), queueName="q"), job("j", queueName="q")]
    instance = question(NODES, jobs, queues=[queue("q", 4)])
    assert standing(instance, Rule.QUOTA) == ["queue q: 6 of 4 cpu"]
    assert broken(instance, Rule.QUOTA) == []
    assert broken(instance, Rule.QUOTA, j=["a1"]) == ["queue q: 7 of 4 cpu"]
    # One core in for six out: still no more than there was.
    assert broken(instance, Rule.QUOTA, r=[], j=["a1"]) == []


def test_a_cohort_over_its_quota_is_excused_and_may_not_grow() -> None:
    jobs = [job("r", pods(cpu=9, on=["a1"]), queueName="q-j"), *users(k=1)]
    queues = [queue("q-j", 2, "c"), queue("q-k", 4, "c")]
    instance = question(NODES, jobs, queues=queues)
    assert broken(instance, Rule.QUOTA) == []
    assert broken(instance, Rule.QUOTA, k=["a1"]) == ["cohort c: 10 of 6 shared cpu"]


# Anti-affinity


def away_from(name: str, key: str = HOST, **more: Any) -> Document:
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"job": name}}, **more}
    return {"podAntiAffinity": [term]}


def test_pods_without_a_wish_to_be_apart_may_meet() -> None:
    instance = question(NODES, [job("j", pods(count=2))])
    assert broken(instance, Rule.ANTI_AFFINITY, j=["a1", "a1"]) == []


def test_pods_that_keep_away_from_their_own_kind_lie_one_by_one() -> None:
    instance = question(NODES, [job("j", pods(count=2, **away_from("j")))])
    assert broken(instance, Rule.ANTI_AFFINITY, j=["a1", "a2"]) == []
    assert broken(instance, Rule.ANTI_AFFINITY, j=["a1", "a1"]) == [
        "job default/j pod set main: 2 of 1 pods it keeps away from in kubernetes.io/hostname a1"
    ]


def test_a_coarser_key_keeps_pods_further_apart() -> None:
    instance = question(NODES, [job("j", pods(count=2, **away_from("j", "rack")))])
    assert broken(instance, Rule.ANTI_AFFINITY, j=["a1", "b1"]) == []
    assert broken(instance, Rule.ANTI_AFFINITY, j=["a1", "a2"]) != []


def test_a_pod_may_not_come_to_one_that_it_keeps_away_from() -> None:
    jobs = [job("r", pods(on=["a1"])), job("j", pods(**away_from("r")))]
    instance = question(NODES, jobs)
    assert broken(instance, Rule.ANTI_AFFINITY, j=["a2"]) == []
    assert broken(instance, Rule.ANTI_AFFINITY, j=["a1"]) == [
        "job default/j pod set main: 1 of 0 pods it keeps away from in kubernetes.io/hostname a1"
    ]
    assert broken(instance, Rule.ANTI_AFFINITY, r=[], j=["a1"]) == []


def test_a_pod_may_not_come_to_one_that_keeps_away_from_it() -> None:
    jobs = [job("r", pods(on=["a1"], **away_from("j"))), job("j")]
    instance = question(NODES, jobs)
    assert broken(instance, Rule.ANTI_AFFINITY, j=["a2"]) == []
    assert len(broken(instance, Rule.ANTI_AFFINITY, j=["a1"])) == 1


def test_a_node_without_the_label_is_no_domain() -> None:
    instance = question([LONE], [job("j", pods(count=2, **away_from("j", "rack")))])
    assert broken(instance, Rule.ANTI_AFFINITY, j=["lone", "lone"]) == []


def test_pods_of_another_namespace_are_met_freely_unless_it_is_named() -> None:
    jobs = [
        job("r", pods(on=["a1"]), namespace="other"),
        job("j", pods(**away_from("r"))),
        job("k", pods(**away_from("r", namespaces=["other"]))),
    ]
    instance = question(NODES, jobs)
    assert broken(instance, Rule.ANTI_AFFINITY, j=["a1"]) == []
    assert len(broken(instance, Rule.ANTI_AFFINITY, k=["a1"])) == 1


def test_pods_that_are_together_already_may_stay_but_get_no_company() -> None:
    jobs = [job("r", pods(count=3, minCount=0, on=["a1", "a1"], **away_from("r")))]
    instance = question(NODES, jobs)
    assert len(standing(instance, Rule.ANTI_AFFINITY)) == 1
    assert broken(instance, Rule.ANTI_AFFINITY) == []
    assert broken(instance, Rule.ANTI_AFFINITY, r=["a1", "a2"]) == []
    assert said(instance, Rule.ANTI_AFFINITY, {"r+": ["a2"]}) == []
    assert said(instance, Rule.ANTI_AFFINITY, {"r+": ["a1"]}) != []


# Spread


def spread(key: str = HOST, skew: int = 1, **more: Any) -> Document:
    selector = {"matchLabels": {"job": "j"}}
    constraint = {"maxSkew": skew, "topologyKey": key, "labelSelector": selector, **more}
    return {"topologySpreadConstraints": [constraint]}


def test_pods_that_need_no_spread_may_pile_up() -> None:
    assert broken(question(NODES, [job("j", pods(count=2))]), Rule.SPREAD, j=["a1"] * 2) == []


def test_spread_allows_a_skew_of_max_skew() -> None:
    instance = question(NODES, [job("j", pods(count=4, minCount=0, **spread()))])
    assert broken(instance, Rule.SPREAD, j=["a1"]) == []
    assert broken(instance, Rule.SPREAD, j=["a1", "a1", "a2", "b1"]) == []


def test_spread_refuses_one_more() -> None:
    instance = question(NODES, [job("j", pods(count=4, minCount=0, **spread()))])
    assert broken(instance, Rule.SPREAD, j=["a1", "a1", "a2"]) == [
        "job default/j pod set main: skew 2 of 1 in kubernetes.io/hostname=a1"
    ]


def test_spread_counts_domains_of_the_key() -> None:
    instance = question(NODES, [job("j", pods(count=3, minCount=0, **spread("rack")))])
    assert broken(instance, Rule.SPREAD, j=["a1", "a2", "b1"]) == []
    assert broken(instance, Rule.SPREAD, j=["a1", "a2"]) != []


def test_spread_takes_an_empty_label_for_a_domain() -> None:
    empty = [node("a", labels={"rack": ""}), node("b", labels={"rack": "b"})]
    instance = question(empty, [job("j", pods(count=2, minCount=0, **spread("rack")))])
    assert broken(instance, Rule.SPREAD, j=["a"]) == []
    assert broken(instance, Rule.SPREAD, j=["a", "b"]) == []
    assert broken(instance, Rule.SPREAD, j=["a", "a"]) == [
        "job default/j pod set main: skew 2 of 1 in rack="
    ]


def test_spread_refuses_nodes_without_the_key() -> None:
    instance = question([*NODES, LONE], [job("j", pods(**spread("rack")))])
    assert broken(instance, Rule.SPREAD, j=["lone"]) == [
        "job default/j pod set main: a node without label rack"
    ]


def test_spread_looks_only_at_nodes_that_the_pods_select() -> None:
    nodes = [node("a", labels={"pool": "x"}), node("b", labels={"pool": "y"})]
    confined = pods(count=2, nodeSelector={"pool": "x"}, **spread())
    assert broken(question(nodes, [job("j", confined)]), Rule.SPREAD, j=["a", "a"]) == []


def test_spread_counts_no_pods_on_nodes_that_the_pods_do_not_select() -> None:
    """Two of its kind in rack 1 lie on a node that is none of its business."""
    nodes = [
        node("a", rack="x/1", labels={"pool": "x"}),
        node("b", rack="x/1"),
        node("c", rack="x/2", labels={"pool": "x"}),
    ]
    confined = pods(nodeSelector={"pool": "x"}, **spread("rack"))
    others = pods(count=2, on=["b", "b"], labels={"job": "j"})
    instance = question(nodes, [job("j", confined), job("r", others)])
    assert broken(instance, Rule.SPREAD, j=["a"]) == []


def test_spread_takes_a_cordoned_node_for_an_empty_domain() -> None:
    """Kubernetes ignores taints here unless told otherwise (nodeTaintsPolicy: Ignore)."""
    nodes = [node("a"), node("b", unschedulable=True)]
    instance = question(nodes, [job("j", pods(count=2, **spread()))])
    assert broken(instance, Rule.SPREAD, j=["a", "a"]) != []


def test_with_too_few_domains_the_emptiest_counts_as_none() -> None:
    instance = question([node("a")], [job("j", pods(count=2, minCount=0, **spread(minDomains=2)))])
    assert broken(instance, Rule.SPREAD, j=["a"]) == []
    assert broken(instance, Rule.SPREAD, j=["a", "a"]) == [
        "job default/j pod set main: skew 2 of 1 in kubernetes.io/hostname=a"
    ]


def test_a_skew_that_stands_is_excused_and_may_shrink_but_not_grow() -> None:
    roles = pods(count=4, minCount=0, on=["a1"] * 3, **spread())
    instance = question(NODES, [job("j", roles)])
    assert standing(instance, Rule.SPREAD) == [
        "job default/j pod set main: skew 3 of 1 in kubernetes.io/hostname=a1"
    ]
    assert broken(instance, Rule.SPREAD) == []
    assert said(instance, Rule.SPREAD, {"j+": ["a2"]}) == []
    assert said(instance, Rule.SPREAD, {"j+": ["a1"]}) == [
        "job default/j pod set main: skew 4 of 1 in kubernetes.io/hostname=a1"
    ]
