"""Why a job waits, in the words that an operator reads."""

from __future__ import annotations

from typing import Any

from kantopt.problem.instance import Instance
from kantopt.search.reasons import first_reason
from tests.search.helpers import built
from tests.verify.world import GPU, HOST, job, node, pods, podset_of, put, question


def why(instance: Instance, name: str = "j", **more: Any) -> tuple[str, str]:
    placement = built(instance, **more)
    found = podset_of(instance, name)
    return first_reason(instance, placement, instance.podsets[found].job)


def test_no_node_admits_the_pods() -> None:
    nodes = [
        node("a", taints=[{"key": "gpu", "effect": "NoSchedule"}], labels={"pool": "x"}),
        node("b", unschedulable=True, labels={"pool": "x"}),
        node("c", ready=False),
        node("d"),
        node("e"),
    ]
    spec = pods(nodeSelector={"pool": "x"})
    assert why(question(nodes, [job("j", spec)])) == (
        "eligibility",
        "0 of 5 nodes fit: 2 node selector or affinity, 1 cordoned, 1 not ready, 1 taint; "
        "for example node a (taint); short of 1 pod",
    )


def test_a_node_may_be_set_apart_for_others() -> None:
    nodes = [node("a", taints=[{"key": "gpu", "effect": "NoSchedule"}], labels={"pool": "x"})]
    instance = question(nodes, [job("j")], zone={"nodes": "pool=x", "jobs": ["web"]})
    assert why(instance) == (
        "eligibility",
        "0 of 1 nodes fit: 1 set apart; for example node a (set apart); short of 1 pod",
    )


def test_no_node_is_large_enough_even_empty() -> None:
    nodes = [node("a", cpu=8, gpu=4), node("b", cpu=8)]
    assert why(question(nodes, [job("j", pods(gpu=8))])) == (
        "capacity",
        f"never on this hardware: 0 of 2 nodes fit: 2 {GPU}; node a would need 8 of 4 {GPU}; "
        "short of 1 pod",
    )


def test_the_whole_cluster_is_too_small() -> None:
    rule, text = why(question([node("a", cpu=3)], [job("j", pods(count=4))]))
    assert rule == "capacity"
    assert text == (
        "never on this hardware: 3 of 4 pods fit; 1 of 1 nodes fit; node a would need 4 of 3 cpu; "
        "short of 1 pod"
    )


def test_the_room_that_there_is_now() -> None:
    """Twelve of sixteen: the words say what fits, what stands in the way, and how many lack."""
    nodes = [node(f"n{i}", cpu=64, gpu=8) for i in range(2)]
    jobs = [job("r", pods(count=4, gpu=1, on=["n0"] * 4)), job("j", pods(count=16, gpu=1))]
    assert why(question(nodes, jobs)) == (
        "capacity",
        f"12 of 16 pods fit; 2 of 2 nodes fit; node n0 would need 9 of 8 {GPU}; short of 4 pods",
    )


def test_of_a_host_port_no_amounts_are_told() -> None:
    """Addresses are counted as shares of it: 4 of 2 of a port would tell nobody anything."""

    def using(*addresses: str, **more: Any) -> dict[str, Any]:
        ports = [{"hostPort": 80, "hostIP": address} for address in addresses]
        return pods(hostPorts=ports, **more)

    running = [job(f"r{i}", using(f"10.0.0.{i}", on=["a"])) for i in range(2)]
    assert why(question([node("a")], [*running, job("j", using(""))])) == (
        "capacity",
        "0 of 1 nodes fit: 1 host port TCP/80; node a has host port TCP/80 once; short of 1 pod",
    )


def test_natural_units_are_printed() -> None:
    nodes = [{"name": "a", "allocatable": {"cpu": "1500m", "memory": "4Gi"}}]
    running = {"name": "main", "count": 1, "requests": {"memory": "3Gi"}}
    running["assignments"] = [{"node": "a"}]
    waiting = {"name": "main", "count": 1, "requests": {"cpu": "500m", "memory": "2Gi"}}
    assert why(question(nodes, [job("r", running), job("j", waiting)])) == (
        "capacity",
        "0 of 1 nodes fit: 1 memory; node a would need 5Gi of 4Gi memory; short of 1 pod",
    )


def test_devices_that_are_taken() -> None:
    devices = [{"class": "gpu", "count": 2, "capacity": {"gpu": 1}}]

    def share(milli: int, **more: Any) -> Any:
        asked = [{"class": "gpu", "requests": {"gpu": f"{milli}m"}}]
        return pods(cpu=0, devices=asked, **more)

    jobs = [job("r", share(600, count=2, on=[("a", 0), ("a", 1)])), job("j", share(500))]
    assert why(question([node("a", devices=devices)], jobs)) == (
        "devices",
        "0 of 1 nodes fit: 1 gpu devices; node a: 0 of 1 gpu devices with 500m gpu free; "
        "short of 1 pod",
    )


def test_a_quota_that_is_used_up() -> None:
    queues = [{"name": "q", "resources": [{"name": "cpu", "nominalQuota": 3}]}]
    jobs = [
        job("r", pods(count=2, on=["a", "a"]), queueName="q"),
        job("j", pods(count=2), queueName="q"),
    ]
    assert why(question([node("a", cpu=9)], jobs, queues=queues)) == (
        "quota",
        "queue q would need 4 of 3 cpu, 2 of them in use with this plan; 1 of 2 pods fit, "
        "short of 1",
    )


def test_of_a_cohort_only_what_it_has_no_more_of_is_named() -> None:
    def resources(gpus: int) -> list[dict[str, Any]]:
        return [
            {"name": "cpu", "nominalQuota": 50},
            {"name": GPU, "nominalQuota": gpus},
        ]

    queues = [{"name": n, "cohort": "c", "resources": resources(2)} for n in ("q", "other")]
    jobs = [
        job("r", pods(gpu=3, on=["a"]), queueName="other"),
        job("j", pods(gpu=2), queueName="q"),
    ]
    assert why(question([node("a", cpu=9, gpu=8)], jobs, queues=queues)) == (
        "quota",
        f"queue q: cohort c lends no more {GPU}; 0 of 1 pod fit, short of 1",
    )


def test_of_a_cohort_that_uses_more_than_it_has_it_is_said_how_much() -> None:
    keeps = {"name": GPU, "nominalQuota": 4, "lendingLimit": 0}
    queues = [
        {"name": "q", "cohort": "c", "resources": [keeps]},
        {"name": "other", "cohort": "c", "resources": [{"name": GPU, "nominalQuota": 4}]},
    ]
    runs = job("r", pods(gpu=6, on=["a"]), queueName="other")
    waits = job("j", pods(gpu=1, count=4), queueName="q")
    assert why(question([node("a", gpu=16)], [runs, waits], queues=queues)) == (
        "quota",
        f"queue q: cohort c lends no more {GPU} (2 more are in use than it has to lend); "
        "2 of 4 pods fit, short of 2",
    )


def test_no_single_domain_has_the_room() -> None:
    nodes = [node(f"n{i}", cpu=2, rack=f"b/{i // 2}") for i in range(4)]
    jobs = [
        job("r", pods(count=2, on=["n0", "n2"])),
        job("j", pods(count=4, topologyRequest={"required": "rack"})),
    ]
    assert why(question(nodes, jobs)) == (
        "topology",
        "no rack of 2 has room for 4 pods: the roomiest, b/0, takes 3; short of 1 pod",
    )
    too_large = [job("j", pods(count=6, topologyRequest={"required": "rack"}))]
    assert why(question(nodes, too_large)) == (
        "topology",
        "never on this hardware: the largest rack, b/0, holds 4 of 6 pods when empty; "
        "short of 2 pods",
    )


def test_what_no_domain_could_ever_hold_waits_for_no_quota() -> None:
    nodes = [node(f"n{i}", cpu=2, rack=f"b/{i // 2}") for i in range(4)]
    queues = [{"name": "q", "resources": [{"name": "cpu", "nominalQuota": 1}]}]
    waits = job("j", pods(count=6, topologyRequest={"required": "rack"}), queueName="q")
    assert why(question(nodes, [waits], queues=queues)) == (
        "topology",
        "never on this hardware: the largest rack, b/0, holds 4 of 6 pods when empty; "
        "short of 2 pods",
    )


def test_neighbours_that_keep_a_pod_away() -> None:
    apart = [{"topologyKey": HOST, "labelSelector": {"matchLabels": {"job": "r"}}}]
    jobs = [job("r", pods(on=["a"])), job("j", pods(podAntiAffinity=apart))]
    assert why(question([node("a")], jobs)) == (
        "anti_affinity",
        "0 of 1 pod fit: anti-affinity closes 1 of 1 nodes with room, for example node a; "
        "short of 1 pod",
    )


def test_a_job_that_fits_was_not_examined() -> None:
    instance = question([node("a")], [job("j")])
    assert first_reason(instance, instance.current, 0) == (
        "not examined",
        "1 of 1 pod would fit by themselves",
    )


def test_a_snapshot_without_nodes_takes_nothing() -> None:
    assert why(question([], [job("j", pods())])) == ("eligibility", "the snapshot has no nodes")
    assert why(question([], [job("j", pods(gpu=1, count=9))]))[1] == "the snapshot has no nodes"


def test_of_several_neighbours_each_closes_its_own_nodes() -> None:
    """A pod spread over zones, and kept apart from others by node: both close some nodes."""
    alike = {"labels": {"app": "w"}}
    even = {
        "topologyKey": "zone",
        "maxSkew": 1,
        "labelSelector": {"matchLabels": {"app": "w"}},
    }
    apart = [{"topologyKey": HOST, "labelSelector": {"matchLabels": {"job": "r"}}}]
    nodes = [
        node(name, cpu=cpu, labels={"zone": zone, HOST: name})
        for name, cpu, zone in (("a", 4, "1"), ("b", 4, "1"), ("c", 1, "2"), ("d", 4, "2"))
    ]
    jobs = [
        job("w", pods(on=["a"], **alike)),
        job("r", pods(on=["d"])),
        job("full", pods(on=["c"])),
        job("j", pods(podAntiAffinity=apart, topologySpreadConstraints=[even], **alike)),
    ]
    assert why(question(nodes, jobs)) == (
        "spread",
        "0 of 1 pod fit: topology spread and anti-affinity close 3 of 3 nodes with room, for "
        "example node a; short of 1 pod",
    )


def test_a_claim_that_only_one_pod_may_use_is_named() -> None:
    claiming = {"exclusiveClaims": ["disk"]}
    jobs = [job("r", pods(on=["a"], **claiming)), job("j", pods(**claiming))]
    assert why(question([node("a")], jobs)) == (
        "anti_affinity",
        "0 of 1 pod fit: a ReadWriteOncePod claim closes 1 of 1 nodes with room, for example node "
        "a; short of 1 pod",
    )


def test_members_that_have_a_place_are_not_said_to_run() -> None:
    """Of a job that is no gang one pod is placed, and the other must be where that is."""
    nodes = [node("a", cpu=4), node("b", cpu=2)]
    near = {"topologyRequest": {"required": "host"}}
    levels = [{"name": "host", "nodeLabel": HOST}]
    for on, who in (({}, "members that have a place by now"), ({"on": ["a"]}, "running members")):
        podsets = [pods(name="one", cpu=3, **on), pods(name="two", cpu=2)]
        instance = question(nodes, [job("j", *podsets, **near)], topology={"levels": levels})
        placement = put(instance, {} if on else {"j/one": ["a"]})
        rule, said = first_reason(instance, placement, 0)
        assert rule == "topology"
        assert said.startswith(f"{who} hold the job to host a, where 0 of 1 pod fit"), said
