"""Host ports as amounts of a resource of every node."""

from __future__ import annotations

from typing import Any

import pytest

from kantopt.problem.build import build_instance
from kantopt.problem.cluster import Spot
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.schema.jobs import JobList
from kantopt.schema.model import Model
from kantopt.schema.raw import RawDocument
from kantopt.schema.snapshot import ClusterSnapshot
from kantopt.schema.validation import validate
from kantopt.verify.rules import check

HEAD = {"apiVersion": "kantopt/v1alpha1"}


def _job(name: str, *ports: dict[str, Any], **more: Any) -> dict[str, Any]:
    node = more.pop("node", None)
    podset = {"count": 1, "minCount": 0, "hostPorts": list(ports), **more.pop("podSet", {})}
    if node:
        podset["assignments"] = [{"node": node}]
    return {"name": name, "podSets": [podset], **more}


def _instance(running: list[dict[str, Any]], pending: list[dict[str, Any]]) -> Instance:
    nodes = [{"name": name, "allocatable": {"cpu": 8, "pods": 9}} for name in "ab"]
    snapshot = {**HEAD, "kind": "ClusterSnapshot", "nodes": nodes, "jobs": running}
    jobs = {**HEAD, "kind": "JobList", "jobs": pending}
    model = {**HEAD, "kind": "Model", "objectives": ["unplaced", "moves"]}
    return build_instance(
        validate(RawDocument("s", 0, snapshot), ClusterSnapshot),
        validate(RawDocument("j", 0, jobs), JobList).jobs,
        validate(RawDocument("m", 0, model), Model),
    )


def _together(*pods: dict[str, Any]) -> list[str]:
    """What is wrong with all of these pods on node a."""
    instance = _instance([], list(pods))
    placement = Placement(tuple({Spot(0): podset.count} for podset in instance.podsets))
    return [violation.message for violation in check(instance, placement)]


def _port(address: str = "", number: int = 80, protocol: str = "TCP") -> dict[str, Any]:
    return {"hostPort": number, "hostIP": address, "protocol": protocol}


@pytest.mark.parametrize(
    ("first", "second", "wrong"),
    [
        (_port(), _port(), ["2 of 1 host port TCP/80"]),
        (_port("0.0.0.0"), _port(), ["2 of 1 host port TCP/80"]),
        (_port(), _port("10.0.0.1"), ["2 of 1 host port TCP/80"]),
        (_port("10.0.0.1"), _port("10.0.0.1"), ["2 of 1 host port TCP/80 of 10.0.0.1"]),
        (_port("::"), _port("10.0.0.1"), []),
        (_port("10.0.0.1"), _port("10.0.0.2"), []),
        (_port(), _port(number=81), []),
        (_port(), _port(protocol="UDP"), []),
    ],
)
def test_two_pods_share_a_node_unless_a_port_is_taken_at_an_address_of_both(
    first: dict[str, Any], second: dict[str, Any], wrong: list[str]
) -> None:
    assert _together(_job("one", first), _job("two", second)) == wrong


def test_a_port_at_all_addresses_leaves_no_room_for_one_at_any_of_several() -> None:
    three = [_job(f"j{i}", _port(f"10.0.0.{i}")) for i in range(3)]

    assert _together(*three) == []
    assert _together(*three, _job("all", _port())) == ["6 of 3 host port TCP/80"]


def test_a_pod_does_not_stand_in_its_own_way() -> None:
    assert _together(_job("one", _port(), _port(), _port("10.0.0.1")), _job("two")) == []


def test_ports_that_nobody_who_could_arrive_asks_for_make_no_resource() -> None:
    agents = [_job(f"agent-{node}", _port(), node=node, daemon=True) for node in "ab"]

    assert _instance(agents, [_job("web")]).resources == ("cpu", "pods")
    assert _instance(agents, [_job("web", _port())]).resources == (
        "cpu",
        "pods",
        "host port TCP/80",
    )
    assert _instance([], [_job("web", _port())]).resources == ("cpu", "pods")


def test_resources_that_documents_name_are_told_from_ports() -> None:
    two = _instance([], [_job("web", _port(), podSet={"count": 2})])

    assert two.resources == ("cpu", "pods", "host port TCP/80")
    assert two.offered == ("cpu", "pods")
