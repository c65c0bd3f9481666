"""Documents become an instance: names are resolved, quantities are in base units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from kantopt.errors import BadDataError
from kantopt.problem import build_jobs
from kantopt.problem.amounts import amounts
from kantopt.problem.cluster import Amounts, Spot
from kantopt.schema.model import Rule
from kantopt.verify.rules import check
from tests.verify.world import GPU, Document, job, node, pods, question

# Nodes and resources


def test_quantities_are_in_base_units_in_the_order_of_the_names() -> None:
    machine = {"name": "a", "allocatable": {"memory": "1Gi", "cpu": "1500m", GPU: 2}}
    instance = question([machine], [job("j", pods(requests={"cpu": "0.1001", "memory": 5}))])
    assert instance.resources == ("cpu", "memory", GPU, "pods")
    assert instance.nodes[0].capacity == (1500, 2**30, 2, None)
    # What is finer than the unit is rounded up in a request.
    assert instance.podsets[0].requests == (101, 5, 0, 1)


def test_what_many_jobs_ask_alike_is_worked_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []

    def counted(resources: Sequence[str], values: Mapping[str, str | int], **how: bool) -> Amounts:
        asked.append(values)
        return amounts(resources, values, **how)

    monkeypatch.setattr(build_jobs, "amounts", counted)
    instance = question([node("a")], [job(f"j{i}", pods(cpu=1 + i % 3)) for i in range(30)])
    assert [podset.requests for podset in instance.podsets[:4]] == [
        (1000, 1),
        (2000, 1),
        (3000, 1),
        (1000, 1),
    ]
    assert len(asked) == 3


def test_every_pod_counts_as_one_and_nodes_without_a_number_take_any() -> None:
    nodes = [node("a", offers={"pods": 110}), node("b")]
    instance = question(nodes, [job("j")])
    where = instance.resources.index("pods")
    assert [item.capacity[where] for item in instance.nodes] == [110, None]


def test_devices_run_through_the_groups_in_order() -> None:
    groups = [
        {"class": "gpu", "count": 2, "capacity": {"gpu": 1}},
        {"class": "numa", "count": 2, "capacity": {"cpu": 8}},
    ]
    need = [{"class": "numa", "count": 2, "requests": {"cpu": 3}}]
    instance = question([node("a", devices=groups)], [job("j", pods(cpu=1, devices=need))])
    (machine,) = instance.nodes
    assert machine.devices_of("gpu") == (0, 1)
    assert machine.devices_of("numa") == (2, 3)
    assert machine.gpu_milli == 2000
    (podset,) = instance.podsets
    cpu = instance.resources.index("cpu")
    assert podset.requests[cpu] == 1000
    assert podset.demand[cpu] == 7000


def test_a_node_has_its_name_as_host_label_unless_it_says_otherwise() -> None:
    nodes = [node("a"), node("b", labels={"kubernetes.io/hostname": "b.example"})]
    instance = question(nodes, [])
    hosts = [instance.label_domain(n, "kubernetes.io/hostname") for n in (0, 1)]
    assert hosts == ["a", "b.example"]


def test_domains_are_paths_so_that_two_racks_may_have_one_name() -> None:
    nodes = [
        node("a", rack="x/rack-1"),
        node("b", rack="y/rack-1"),
        node("c", rack="x/rack-1"),
        node("d", rack="x"),
        node("e"),
        node("f", labels={"rack": "rack-1"}),
    ]
    topology = question(nodes, []).topology
    assert [str(domain) for domain in topology.domains[0]] == ["x", "y"]
    assert [str(domain) for domain in topology.domains[1]] == ["x/rack-1", "y/rack-1"]
    assert topology.domain_of[1] == (0, 1, 0, None, None, None)
    assert topology.domains[0][0].nodes == (0, 2, 3)


def test_at_a_level_of_single_nodes_each_is_a_domain_whatever_labels_it_lacks() -> None:
    nodes = [node("a", rack="x/r"), node("b", rack="x"), node("c", hostnameFromName=False)]
    levels = [{"name": n, "nodeLabel": n} for n in ("block", "rack")]
    levels.append({"name": "node", "nodeLabel": "metadata.name"})
    topology = question(nodes, [], topology={"levels": levels}).topology
    assert topology.domain_of[1] == (0, None, None)
    assert sorted(str(domain) for domain in topology.domains[2]) == ["c", "x/b", "x/r/a"]
    assert {domain.nodes for domain in topology.domains[2]} == {(0,), (1,), (2,)}


def test_domains_are_in_natural_order() -> None:
    nodes = [node(f"n{i}", rack=f"b{i}/r{i % 11}") for i in (10, 2, 1, 0, 21)]
    domains = question(nodes, []).topology.domains
    assert [str(domain) for domain in domains[0]] == ["b0", "b1", "b2", "b10", "b21"]
    assert [str(domain) for domain in domains[1]][-2:] == ["b10/r10", "b21/r10"]


def test_a_level_is_known_by_its_name_and_by_its_label() -> None:
    levels = [{"name": "rack", "nodeLabel": "example.com/rack"}]
    requests = [{"required": "rack"}, {"required": "example.com/rack"}]
    jobs = [job(f"j{i}", pods(topologyRequest=r)) for i, r in enumerate(requests)]
    instance = question([node("a")], jobs, topology={"levels": levels})
    assert [need.required for need in instance.topology_needs] == [0, 0]


# Jobs


CLASSES = [
    {"name": "high", "value": 1000},
    {"name": "polite", "value": 500, "preemptionPolicy": "Never"},
    {"name": "usual", "value": 7, "preemptionPolicy": "Never", "globalDefault": True},
]


@pytest.mark.parametrize(
    ("asked", "priority", "may_preempt"),
    [
        ({"priorityClassName": "high"}, 1000, True),
        ({"priorityClassName": "polite"}, 500, False),
        ({"priorityClassName": "polite", "preemptionPolicy": "PreemptLowerPriority"}, 500, True),
        ({"priorityClassName": "high", "preemptionPolicy": "Never"}, 1000, False),
        ({"priorityClassName": "high", "priority": 3}, 3, True),
        ({"priority": -5}, -5, False),
        ({}, 7, False),
    ],
)
def test_priority_comes_from_the_job_its_class_or_the_default_class(
    asked: Document, priority: int, may_preempt: bool
) -> None:
    instance = question([node("a")], [job("j", **asked)], priorityClasses=CLASSES)
    assert instance.jobs[0].priority == priority
    assert instance.jobs[0].may_preempt is may_preempt


def test_without_any_class_the_priority_is_0_and_jobs_may_preempt() -> None:
    (built,) = question([node("a")], [job("j")]).jobs
    assert (built.priority, built.may_preempt) == (0, True)


def test_a_role_that_runs_in_part_makes_two_pod_sets() -> None:
    instance = question([node("a"), node("b")], [job("r", pods(count=5, on=["a", "a", "b"]))])
    running, pending = instance.podsets
    assert (running.count, dict(running.current)) == (3, {Spot(0): 2, Spot(1): 1})
    assert (pending.count, dict(pending.current)) == (2, {})
    (role,) = instance.jobs[0].roles
    assert (role.running, role.pending, role.count) == (0, 1, 5)


def test_roles_that_run_or_wait_as_a_whole_make_one_pod_set_each() -> None:
    instance = question([node("a")], [job("r", pods("x", on=["a"]), pods("y"))])
    assert [(role.running, role.pending) for role in instance.jobs[0].roles] == [
        (0, None),
        (None, 1),
    ]


@pytest.mark.parametrize(
    ("of_job", "of_role", "expected"),
    [
        ({}, {}, (0, 3)),
        ({}, {"minCount": 2}, (0, 2)),
        ({}, {"minCount": 0}, (0, 0)),
        ({"minCount": 2}, {}, (2, 0)),
        ({"minCount": 2}, {"minCount": 1}, (2, 1)),
        ({"minCount": 0}, {}, (0, 0)),
    ],
)
def test_the_minimum_is_all_pods_unless_job_or_role_say_otherwise(
    of_job: Document, of_role: Document, expected: tuple[int, int]
) -> None:
    (built,) = question([node("a")], [job("j", pods(count=3, **of_role), **of_job)]).jobs
    assert (built.min_count, built.roles[0].min_count) == expected
    assert built.is_gang is (expected != (0, 0))


def test_a_role_may_override_what_the_job_says_of_eviction_and_moves() -> None:
    roles = [pods("x"), pods("y", preemptible=True, movable=True, disruptionCost=1)]
    jobs = [job("j", *roles, preemptible=False, movable=False, disruptionCost=9)]
    x, y = question([node("a")], jobs).podsets
    assert (x.preemptible, x.movable, x.disruption_cost) == (False, False, 9)
    assert (y.preemptible, y.movable, y.disruption_cost) == (True, True, 1)


def test_equal_spots_of_one_role_are_one_spot() -> None:
    role = pods(count=3)
    role["assignments"] = [
        {"node": "a", "count": 1, "devices": [1, 0]},
        {"node": "a", "count": 2, "devices": [0, 1]},
    ]
    instance = question([node("a")], [job("r", role)])
    assert dict(instance.podsets[0].current) == {Spot(0, (0, 1)): 3}


def test_jobs_have_waited_from_their_creation_to_the_snapshot() -> None:
    jobs = [
        job("j", creationTime="2026-01-01T00:59:30.250Z"),
        job("zoned", creationTime="2026-01-01T02:00:00+01:30"),
        job("later", creationTime="2026-01-02T00:00:00Z"),
        job("unknown"),
    ]
    built = question([node("a")], jobs).jobs
    assert [item.waited_seconds for item in built] == [29, 1800, 0, 0]


# Budgets


def allowed(running: int, wanted: int, **limit: Any) -> int:
    budget = {"name": "b", "selector": {"matchLabels": {"job": "r"}}, **limit}
    jobs = [job("r", pods(count=wanted, minCount=0, on=["a"] * running))]
    instance = question([node("a")], jobs, podDisruptionBudgets=[budget])
    return instance.budgets[0].allowed


@pytest.mark.parametrize(
    ("limit", "running", "wanted", "expected"),
    [
        ({"disruptionsAllowed": 3}, 5, 5, 3),
        ({"minAvailable": 3}, 5, 5, 2),
        ({"minAvailable": 9}, 5, 5, 0),
        ({"maxUnavailable": 2}, 5, 5, 2),
        # One of five is away already.
        ({"maxUnavailable": 2}, 4, 5, 1),
        ({"maxUnavailable": 0}, 5, 5, 0),
        # Half of five, rounded up, must stay: 3.
        ({"minAvailable": "50%"}, 5, 5, 2),
        # Half of five, rounded up, may be away: 3.
        ({"maxUnavailable": "50%"}, 5, 5, 3),
        ({"minAvailable": "100%"}, 5, 5, 0),
        ({"minAvailable": "0%"}, 5, 5, 5),
        # Percentages are of the pods wanted, not of those that run.
        ({"minAvailable": "50%"}, 4, 6, 1),
    ],
)
def test_budgets_allow_what_is_left(
    limit: Document, running: int, wanted: int, expected: int
) -> None:
    assert allowed(running, wanted, **limit) == expected


def test_a_budget_knows_the_running_pod_sets_that_it_selects() -> None:
    budgets = [
        {"name": "all", "selector": {}, "disruptionsAllowed": 1},
        {"name": "r", "selector": {"matchLabels": {"job": "r"}}, "disruptionsAllowed": 1},
        {"name": "far", "namespace": "far", "selector": {}, "disruptionsAllowed": 1},
    ]
    jobs = [job("r", pods(count=2, on=["a"])), job("s", pods(on=["a"])), job("j")]
    instance = question([node("a")], jobs, podDisruptionBudgets=budgets)
    assert [budget.podsets for budget in instance.budgets] == [(0, 2), (0,), ()]
    assert [podset.budgets for podset in instance.podsets] == [(0, 1), (), (0,), ()]


@pytest.mark.parametrize("how", [{"nominated": True}, {"terminating": True}])
@pytest.mark.parametrize("limit", [{"minAvailable": 1}, {"maxUnavailable": 1}])
def test_who_has_not_started_or_terminates_is_not_healthy_and_under_no_budget(
    how: Document, limit: Document
) -> None:
    other = pods("other", on=["a"], **how)
    jobs = [job("r", pods(on=["a"]), other)]
    budget = {"name": "b", "selector": {"matchLabels": {"job": "r"}}, **limit}
    (built,) = question([node("a")], jobs, podDisruptionBudgets=[budget]).budgets
    assert (built.allowed, built.podsets) == (0, (0,))


def test_terminating_pods_stay_whatever_else_is_told_of_them() -> None:
    going = pods(on=["a"], terminating=True, preemptible=True, movable=True)
    (built,) = question([node("a")], [job("r", going)]).podsets
    assert (built.preemptible, built.movable, built.stays) == (False, False, ("terminating",))


# What cannot be built


def problems_of(jobs: list[Document], **more: Any) -> list[str]:
    with pytest.raises(BadDataError) as caught:
        question([node("a", rack="x/1")], jobs, **more)
    return [f"{p.path}: found {p.found}, expected {p.expected}" for p in caught.value.problems]


def test_two_jobs_of_one_name_are_an_error() -> None:
    assert problems_of([job("j"), job("j")]) == [
        "jobs: found default/j 2 times, expected each job once"
    ]


def test_an_unknown_required_job_is_an_error_with_a_hint() -> None:
    with pytest.raises(BadDataError, match="did you mean trainer"):
        question([node("a")], [job("trainer")], required=["trainr"])


def test_a_required_name_must_say_which_of_two_namespaces() -> None:
    jobs = [job("j"), job("j", namespace="other")]
    assert problems_of(jobs, required=["j"]) == [
        "required: found j, expected NAMESPACE/NAME, since several namespaces have it"
    ]
    assert question([node("a")], jobs, required=["other/j"]).required == {1}


def test_objectives_may_name_only_levels_and_resources_that_there_are() -> None:
    objectives = [
        {"excess_groups": {"level": "rak"}},
        {"fragment_rate": {"resource": "cpus", "size": 1}},
    ]
    assert problems_of([job("j")], objectives=objectives) == [
        'objectives[0].excess_groups.level: found "rak", expected block or rack',
        'objectives[1].fragment_rate.resource: found "cpus", expected cpu',
    ]


def test_amounts_that_could_overflow_are_an_error() -> None:
    huge = job("j", pods(count=5, requests={"example.com/huge": 2**60}))
    assert problems_of([huge])[0].startswith("example.com/huge: found 0 offered and 576460")


def test_of_each_list_of_terms_for_volumes_one_must_match() -> None:
    def at(zone: str) -> dict[str, Any]:
        return {"matchExpressions": [{"key": "zone", "operator": "In", "values": [zone]}]}

    nodes = [node(name, labels={"zone": name}) for name in "abc"]
    both = {"count": 1, "volumeNodeAffinity": [[at("a"), at("b")], [at("b"), at("c")]]}
    none = {"count": 1, "volumeNodeAffinity": [[at("a")], [{}]]}
    instance = question(nodes, [job("b", both), job("n", none)])
    assert [sorted(podset.allowed) for podset in instance.podsets] == [[1], []]
    # Spread counts by the pod's own affinity alone.
    assert all(len(podset.spread_over) == 3 for podset in instance.podsets)
    (told,) = check(instance, instance.current.replace({0: {Spot(0): 1}}), (Rule.ELIGIBILITY,))
    assert "volumes" in told.message
