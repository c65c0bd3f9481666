"""Host ports: read as the scheduler counts them, and two that exclude each other never together."""

from __future__ import annotations

from typing import Any

import pytest

from kantopt.clock import Deadline
from kantopt.planning.plan import make_plan
from kantopt.planning.question import question_of
from kantopt.planning.solving.options import Options
from kantopt.schema.extends import load_model
from kantopt.schema.raw import RawDocument
from tests.formats.cluster_objects import Object, node, pod, read

MIXED = load_model("mixed")
PORT = {"hostPort": 80, "containerPort": 80}


def _in_a_sidecar(port: Object) -> dict[str, Any]:
    return {"initContainers": [{"restartPolicy": "Always", "ports": [port]}]}


def _in_a_container(port: Object) -> dict[str, Any]:
    return {"containers": [{"ports": [port]}]}


def _ports(*objects: Object) -> list[tuple[int, str, str]]:
    found = read(*objects).pending.jobs[0].pod_sets[0].host_ports
    return [(port.host_port, port.protocol, port.host_ip) for port in found]


def test_host_ports_are_read_once_each_and_container_ports_are_not() -> None:
    ports = [
        {"hostPort": 443, "hostIP": "10.0.0.1", "protocol": "UDP"},
        PORT,
        {**PORT, "protocol": "TCP"},
        {"containerPort": 81},
        {"containerPort": 82, "hostPort": 0},
    ]

    subject = pod("p", containers=[{"ports": ports}, {"ports": [PORT]}])

    assert _ports(subject) == [(80, "TCP", ""), (443, "UDP", "10.0.0.1")]


def test_ports_of_sidecars_count_and_those_of_init_containers_do_not() -> None:
    assert _ports(pod("p", **_in_a_sidecar(PORT))) == [(80, "TCP", "")]
    assert _ports(pod("p", initContainers=[{"ports": [PORT]}])) == []


@pytest.mark.parametrize(
    ("versions", "count"),
    [(("v1.32.9",), 0), (("v1.32.9", "v1.33.5-gke.1"), 1), (("v1.34.1",), 1), (("",), 1)],
)
def test_ports_of_sidecars_count_from_the_version_on_that_counts_them(
    versions: tuple[str, ...], count: int
) -> None:
    nodes = [node(f"n{i}") for i in range(len(versions))]
    for item, version in zip(nodes, versions, strict=True):
        item["status"]["nodeInfo"] = {"kubeletVersion": version}

    assert len(_ports(*nodes, pod("p", **_in_a_sidecar(PORT)))) == count


def _bound(*objects: Object) -> dict[str, str]:
    """Plan for a dump: pods that are bound, with their nodes."""
    dump = {"apiVersion": "v1", "kind": "List", "items": list(objects)}
    question = question_of([RawDocument("dump.json", 0, dump)])
    plan = make_plan(question, MIXED, Options(), Deadline.within(20)).plan
    return {ref.name: item.node for item in plan.assignments for ref in item.pods}


@pytest.mark.parametrize("where", [_in_a_container, _in_a_sidecar])
def test_of_two_pods_with_one_host_port_a_node_takes_one(where: Any) -> None:
    two = [pod(name, requests={"cpu": "1"}, **where(PORT)) for name in ("p", "q")]

    assert list(_bound(node("a"), *two).values()) == ["a"]
    assert sorted(_bound(node("a"), node("b"), *two).values()) == ["a", "b"]
