"""Documents as objects of each system: read again they are the same, and what is lost is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kantopt.formats.exports import EXPORTS, ExportName
from kantopt.formats.kubernetes.dump import import_kubernetes
from kantopt.formats.kubernetes.objects import flatten
from kantopt.formats.written.export import GIVEN_NAMES
from kantopt.formats.written.gangs import labels_of
from kantopt.formats.written.native import ANNOTATED, OWNERLESS
from kantopt.planning.convert import convert
from kantopt.schema.base import Toleration
from kantopt.schema.jobs import Job, JobList, PodRef, PodSet, TopologyRequest
from kantopt.schema.snapshot import ClusterSnapshot, Node, Taint
from kantopt.schema.yaml.text import parse_yaml
from tests.formats.test_system_fixtures import CASES, name_of

SYSTEMS: tuple[ExportName, ...] = ("kubernetes", "kueue", "volcano", "kai", "koordinator")
TELL_TOPOLOGY = ("kueue", "volcano", "kai")
LEVELS = [
    {"name": "block", "nodeLabel": "example.org/block"},
    {"name": "rack", "nodeLabel": "example.org/rack"},
]


FORM = {"levels are told by no object", GIVEN_NAMES, ANNOTATED, OWNERLESS}
"""What is told of the form, of which the documents know nothing."""
WORDS = ("required", "preferred")
ROLES = {"podSets", "podSets.name"}
"""Where roles have no names, those that are alike are one."""
NO_QUEUES = {"queueName", "queues.name", "queues.cohort", "queues.resources"}
NO_ROLES = {*ROLES, "podSets.minCount"}
ANY_WISH = {f"{where}topologyRequest.{wish}" for where in ("", "podSets.") for wish in WORDS}
MAY_LOSE: dict[ExportName, set[str]] = {
    # Only gangs have a PodGroup, and only that says how close pods must be.
    "kubernetes": {*NO_ROLES, *NO_QUEUES, *ANY_WISH},
    "koordinator": {*NO_ROLES, *NO_QUEUES, *ANY_WISH},
    # A Workload has no closeness of all roles, no minimum of 0 and, before there are pods, nobody
    # to be left alone; one of which pods run has been admitted, and the others hold their quota. It
    # is called by its Workload, which nobody knew before there was one.
    "kueue": {*ROLES, "minCount", "podSets.minCount", "podSets.preemptible", "quotaReserved"}
    | {"topologyRequest.required", "topologyRequest.preferred", "workload"},
    # Levels are HyperNodes, whose labels and names are others.
    "volcano": {*ROLES, *ANY_WISH, "nodes.labels", "topology.name", "topology.nodeLabel"}
    | {"queues.cohort", "queues.resources.borrowingLimit"},
    "kai": {*ROLES, "queues.cohort", "queues.resources.borrowingLimit"},
}
"""What the draws below have and a system does not say."""


def snapshot_of(**fields: Any) -> ClusterSnapshot:
    data = {"apiVersion": "kantopt/v1alpha1", "kind": "ClusterSnapshot", **fields}
    return ClusterSnapshot.model_validate_json(json.dumps(data))


def read(system: str, text: str, levels: list[str]) -> tuple[ClusterSnapshot, JobList]:
    chosen = () if system in TELL_TOPOLOGY else levels
    objects = flatten(parse_yaml(text, "list")[0])
    again = import_kubernetes(objects, file="list", gated=True, levels=chosen)
    return again.snapshot, again.pending


def came_back(system: ExportName, snapshot: ClusterSnapshot, jobs: tuple[Job, ...]) -> None:
    """What is written loses no more than it may; from then on nothing is lost."""
    text, notes = EXPORTS[system].write(snapshot, jobs)
    lost = {line.partition(":")[0] for line in notes.lines()} - FORM
    lost = {path.removeprefix("jobs.").removeprefix("pending.") for path in lost}
    # What may not be evicted is never moved either.
    assert lost <= {*MAY_LOSE[system], "podSets.movable"}
    first, pending = read(system, text, labels_of(snapshot))
    text, notes = EXPORTS[system].write(first, pending.jobs)
    assert read(system, text, labels_of(first)) == (first, pending)
    assert {line.partition(":")[0] for line in notes.lines()} <= FORM - {GIVEN_NAMES}


NAMES = st.sampled_from(["a", "b", "train", "web-1"])
WISHES = st.sampled_from(
    [None, {"required": "rack"}, {"preferred": "block"}, {"required": "block"}]
)


@st.composite
def roles(draw: st.DrawFn, name: str, nodes: list[str]) -> dict[str, Any]:
    count = draw(st.integers(1, 4))
    role: dict[str, Any] = {
        "name": name,
        "count": count,
        "requests": {"cpu": draw(st.sampled_from([1, "500m", 3])), "nvidia.com/gpu": 1},
        "labels": draw(st.sampled_from([{}, {"app": "web"}])),
    }
    least = draw(st.sampled_from([None, 0, 1, count]))
    if least is not None:
        role["minCount"] = least
    if draw(st.booleans()):
        role["tolerations"] = [{"key": "nvidia.com/gpu", "operator": "Exists"}]
    if draw(st.booleans()):
        role["nodeSelector"] = {"pool": "x"}
    if nodes and draw(st.booleans()):
        role["assignments"] = [{"node": draw(st.sampled_from(nodes)), "count": count}]
    return role


@st.composite
def jobs_of(draw: st.DrawFn, nodes: list[str]) -> list[dict[str, Any]]:
    made = []
    for name in draw(st.lists(NAMES, unique=True, max_size=3)):
        names = draw(st.sampled_from([["main"], ["leader", "worker"]]))
        job: dict[str, Any] = {
            "name": name,
            "namespace": draw(st.sampled_from(["team-a", "team-b"])),
            "podSets": [draw(roles(role, nodes)) for role in names],
            "preemptible": draw(st.booleans()),
        }
        for field, values in (
            ("priority", [5, 70]),
            ("priorityClassName", ["low"]),
            ("queueName", ["q"]),
            ("topologyRequest", [draw(WISHES)]),
            ("minRuntime", ["30m"]),
            ("disruptionCost", [4]),
        ):
            value = draw(st.sampled_from([None, *values]))
            if value is not None:
                job[field] = value
        made.append(job)
    return made


@st.composite
def clusters(draw: st.DrawFn) -> tuple[ClusterSnapshot, tuple[Job, ...]]:
    names = [f"n{i}" for i in range(draw(st.integers(1, 4)))]
    nodes = [
        {
            "name": name,
            "labels": {
                "example.org/block": draw(st.sampled_from("xy")),
                "example.org/rack": draw(st.sampled_from("12")),
            },
            "allocatable": {"cpu": 8, "memory": "32Gi", "nvidia.com/gpu": 8, "pods": 110},
            "unschedulable": draw(st.booleans()),
            "ready": draw(st.booleans()),
        }
        for name in names
    ]
    quota = {"name": "nvidia.com/gpu", "nominalQuota": draw(st.integers(0, 9))}
    if draw(st.booleans()):
        quota["borrowingLimit"] = 2
    queue = {"name": "q", "cohort": draw(st.sampled_from(["", "all"])), "resources": [quota]}
    running = [job for job in draw(jobs_of(names)) if _runs(job)]
    taken = {(job["namespace"], job["name"]) for job in running}
    waiting = [job for job in draw(jobs_of([])) if (job["namespace"], job["name"]) not in taken]
    snapshot = snapshot_of(
        topology={"levels": LEVELS},
        priorityClasses=[{"name": "low", "value": -3}],
        nodes=nodes,
        queues=[queue],
        jobs=running,
    )
    listed = snapshot_of(jobs=waiting)
    return snapshot, listed.jobs


def _runs(job: dict[str, Any]) -> bool:
    return any("assignments" in role for role in job["podSets"])


@pytest.mark.parametrize("system", SYSTEMS)
@settings(max_examples=25, suppress_health_check=list(HealthCheck))
@given(cluster=clusters())
def test_what_a_system_can_say_comes_back(
    system: ExportName, cluster: tuple[ClusterSnapshot, tuple[Job, ...]]
) -> None:
    came_back(system, *cluster)


OWN: dict[str, ExportName] = {"native": "kubernetes", "topograph": "kubernetes"}
RENAMED = {"nodes.labels", "topology.name", "topology.nodeLabel"}
CHANGED = {
    "kai/fractions": {"jobs.podSets.notModelled", "queues.resources.held"},
    "koordinator/reservation-owners": {"jobs.podSets.preemptible"},  # they have not started
    "kueue/admitted-with-topology": {"metadata.capturedAt"},
    "kueue/cohort-tree-of-flavors": {"pending.preemptionPolicy"},  # all get a topology
    "kueue/stopped-and-finished": {"metadata.capturedAt"},
    # Levels by labels of nodes become HyperNodes.
    **{f"volcano/{case}": RENAMED for case in ("job-without-pods", "queues", "running-gang")},
}
"""What of a fixture comes back different, all of it told; of others nothing does."""


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_of_what_a_system_shows_all_comes_back_or_is_told(case: Path) -> None:
    system = OWN.get(case.parent.name) or next(n for n in SYSTEMS if n == case.parent.name)
    imported = convert("kubernetes", [str(case)])
    _, notes = EXPORTS[system].write(imported.snapshot, imported.pending.jobs)
    lost = {line.partition(":")[0] for line in notes.lines()} - FORM
    assert lost == CHANGED.get(name_of(case), set())


NODE = Node(name="n", allocatable={"cpu": 4, "pods": 10}, hostname_from_name=False)
JOB = Job(name="j", pod_sets=(PodSet(count=2, min_count=0, requests={"cpu": 1, "pods": 1}),))


def told(system: ExportName, job: Job, **fields: Any) -> list[str]:
    """Fields that writing a job says it loses."""
    base = ClusterSnapshot(
        api_version="kantopt/v1alpha1", kind="ClusterSnapshot", nodes=(NODE,), **fields
    )
    found = [line.partition(":")[0] for line in EXPORTS[system].write(base, [job])[1].lines(3)]
    return [line for line in found if line not in FORM]


@pytest.mark.parametrize("system", SYSTEMS)
def test_of_what_is_plain_nothing_is_lost(system: ExportName) -> None:
    taint = Taint(key="k", value="v", effect="NoExecute")
    kept = JOB.pod_sets[0].model_copy(update={"tolerations": (Toleration(key="k", value="v"),)})
    base = ClusterSnapshot(
        api_version="kantopt/v1alpha1",
        kind="ClusterSnapshot",
        nodes=(NODE.model_copy(update={"taints": (taint,)}),),
    )
    job = JOB.model_copy(update={"pod_sets": (kept,)})
    assert EXPORTS[system].write(base, [job])[1].lines(3) == (f"{GIVEN_NAMES}: 2 (default/j, ...)",)


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize(
    ("field", "value"),
    [("move_mode", "live"), ("max_moves", 1), ("movable", False)],
)
def test_what_no_system_says_of_a_job_is_told(
    system: ExportName, field: str, value: object
) -> None:
    name = {"move_mode": "moveMode", "max_moves": "maxMoves", "movable": "podSets.movable"}[field]
    assert told(system, JOB.model_copy(update={field: value})) == [f"pending.{name}"]


@pytest.mark.parametrize("system", SYSTEMS)
def test_what_no_system_says_of_pods_is_told(system: ExportName) -> None:
    role = JOB.pod_sets[0].model_copy(update={"dirty_rate": "1Mi", "exclusive_claims": ("a/b",)})
    lost = told(system, JOB.model_copy(update={"pod_sets": (role,)}))
    assert lost == ["pending.podSets.dirtyRate", "pending.podSets.exclusiveClaims"]


@pytest.mark.parametrize(
    ("system", "lost"),
    [
        ("kubernetes", {"queues.name", "queues.weight", "queues.resources", "queues.cohort"}),
        ("koordinator", {"queues.name", "queues.weight", "queues.resources", "queues.cohort"}),
        ("volcano", {"queues.cohort"}),
        ("kai", {"queues.cohort"}),
        ("kueue", set()),
    ],
)
def test_what_of_queues_a_system_does_not_say_is_told(system: ExportName, lost: set[str]) -> None:
    rows = [{"name": "cpu", "nominalQuota": 3}]
    queue = snapshot_of(queues=[{"name": "q", "cohort": "c", "weight": 2, "resources": rows}])
    assert set(told(system, JOB, queues=queue.queues)) == lost


def test_quotas_of_nodes_come_back_where_they_are_told_apart() -> None:
    rows = [
        {"name": "cpu", "nominalQuota": 3, "nodes": "pool=a"},
        {"name": "memory", "nominalQuota": "8Gi"},
        {"name": "cpu", "nominalQuota": 5, "borrowingLimit": 1, "nodes": "pool=b"},
    ]
    queues = snapshot_of(queues=[{"name": "q", "cohort": "c", "resources": rows}]).queues
    assert told("kueue", JOB, queues=queues) == []
    # Which pool a job of the queue is for, its selector has to say.
    asks = JOB.model_copy(update={"queue_name": "q"})
    assert {*told("kueue", asks, queues=queues)} == {
        "queues.resources",
        "pending.podSets.nodeAffinity",
    }


@pytest.mark.parametrize(
    ("rows", "lost"),
    [
        ([{"name": "cpu", "nominalQuota": 3, "nodes": "pool=a"}], "queues.resources.nodes"),
        ([{"name": "cpu", "nominalQuota": 3, "nodes": "pool"}], "queues.resources"),
        (
            [
                {"name": "cpu", "nominalQuota": 3, "nodes": "pool=a"},
                {"name": "cpu", "nominalQuota": 3},
                {"name": "memory", "nominalQuota": 3},
            ],
            "queues.resources",
        ),
    ],
)
def test_quotas_of_some_nodes_only_are_told(rows: list[dict[str, Any]], lost: str) -> None:
    queue = snapshot_of(queues=[{"name": "q", "resources": rows}])
    assert told("kueue", JOB, queues=queue.queues) == [lost]


def test_the_closeness_of_all_roles_together_is_told_where_only_roles_have_one() -> None:
    roles_ = (PodSet(name="a", count=2), PodSet(name="b", count=2))
    job = Job(name="j", topology_request=TopologyRequest(required="rack"), pod_sets=roles_)
    topology = snapshot_of(topology={"levels": LEVELS}).topology
    assert "pending.topologyRequest.required" in told("kueue", job, topology=topology)
    assert "pending.topologyRequest.required" not in told("kai", job, topology=topology)


def test_kueue_keeps_a_leader_and_its_workers_together() -> None:
    roles_ = (PodSet(name="a", count=1), PodSet(name="b", count=2))
    job = Job(name="j", topology_request=TopologyRequest(required="rack"), pod_sets=roles_)
    topology = snapshot_of(topology={"levels": LEVELS}).topology
    assert told("kueue", job, topology=topology) == []


def test_what_comes_out_different_is_counted_with_the_first_names_and_in_full_one_by_one() -> None:
    jobs = [JOB.model_copy(update={"name": f"j{i}", "max_moves": 1}) for i in range(5)]
    base = snapshot_of()
    told = EXPORTS["kubernetes"].write(base, jobs)[1]
    lines, each = told.lines(3), told.each()
    names = "(default/j0, default/j1, default/j2, ...)"
    lost = "pending.maxMoves: not told, or not all of it"
    assert lines == (f"{GIVEN_NAMES}: 10 {names}", f"{lost}: 5 {names}")
    assert each == (
        *(f"{GIVEN_NAMES}: default/j{i}: 2" for i in range(5)),
        *(f"{lost}: default/j{i}" for i in range(5)),
    )


def test_pods_that_have_names_keep_them_and_nothing_is_said() -> None:
    refs = (PodRef(name="a"), PodRef(name="b"))
    role = JOB.pod_sets[0].model_copy(update={"pods": refs})
    base = snapshot_of(nodes=[{"name": "n", "allocatable": {"cpu": 4, "pods": 10}}])
    job = JOB.model_copy(update={"pod_sets": (role,)})
    assert EXPORTS["volcano"].write(base, [job])[1].lines(3) == ()


def test_gangs_of_koordinator_change_their_form_and_are_named() -> None:
    gang = JOB.pod_sets[0].model_copy(update={"min_count": None})
    job = JOB.model_copy(update={"pod_sets": (gang,)})
    base = snapshot_of(nodes=[{"name": "n", "allocatable": {"cpu": 4, "pods": 10}}])
    notes = (
        EXPORTS["koordinator"]
        .write(base, [job, JOB.model_copy(update={"name": "free"})])[1]
        .lines(3)
    )
    assert f"{ANNOTATED}: 1 (default/j)" in notes


def test_reserved_room_is_written_as_a_reservation_and_not_as_the_pod_that_holds_it() -> None:
    case = next(path for path in CASES if name_of(path) == "koordinator/reservation")
    imported = convert("kubernetes", [str(case)])
    text, notes = EXPORTS["koordinator"].write(imported.snapshot, imported.pending.jobs)
    (held,) = imported.snapshot.jobs
    objects = parse_yaml(text, "list")[0]["items"]
    assert not [item for item in objects if item["kind"] == "Pod"]
    (made,) = [item for item in objects if item["kind"] == "Reservation"]
    assert (made["metadata"]["name"], made["status"]["phase"]) == (held.name, "Available")
    assert made["status"]["nodeName"] == held.pod_sets[0].assignments[0].node
    again = import_kubernetes(objects, file="again", levels=labels_of(imported.snapshot))
    assert again.snapshot.jobs == imported.snapshot.jobs
    assert not [note for note in notes.lines() if OWNERLESS in note]
    nobodys = held.model_copy(update={"reservation": None})
    whole = imported.snapshot.model_copy(update={"jobs": (nobodys,)})
    notes = EXPORTS["koordinator"].write(whole, imported.pending.jobs)[1]
    assert f"{OWNERLESS}: 1 (default/{held.name})" in notes.lines()


def test_a_reservation_is_written_for_the_owners_that_it_had() -> None:
    case = next(path for path in CASES if name_of(path) == "koordinator/reservation-owners")
    imported = convert("kubernetes", [str(case)])
    text, notes = EXPORTS["koordinator"].write(imported.snapshot, imported.pending.jobs)
    specs = {
        item["metadata"]["name"]: item["spec"]
        for item in parse_yaml(text, "list")[0]["items"]
        if item["kind"] == "Reservation"
    }
    keeper = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "uid-train"}
    assert specs["shared"]["owners"] == [{"controller": {**keeper, "namespace": "team-a"}}]
    assert specs["shared"]["allocateOnce"] is False
    assert specs["kept"]["owners"] == [{"labelSelector": {"matchLabels": {"app": "nobody"}}}]
    assert specs["kept"]["allocateOnce"] is True
    assert specs["kept"]["expires"] == "2026-09-02T02:00:00Z"
    assert not [note for note in notes.lines() if "reservation" in note.lower()]


def test_a_job_that_holds_its_quota_is_a_workload_that_kueue_has_admitted() -> None:
    rows = [{"name": "cpu", "nominalQuota": 3}]
    base = snapshot_of(
        nodes=[{"name": "n", "allocatable": {"cpu": 4, "pods": 10}}],
        queues=[{"name": "q", "resources": rows}],
    )
    gang = JOB.pod_sets[0].model_copy(update={"min_count": 2})
    job = JOB.model_copy(update={"queue_name": "q", "pod_sets": (gang,), "quota_reserved": True})
    text, _ = EXPORTS["kueue"].write(base, [job])
    _, pending = read("kueue", text, [])
    assert [(waits.queue_name, waits.quota_reserved) for waits in pending.jobs] == [("q", True)]
