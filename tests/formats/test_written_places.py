"""Where pods may go, and whose they are, as objects of each system."""

from __future__ import annotations

from typing import Any

import pytest

from kantopt.formats.exports import EXPORTS, ExportName
from kantopt.formats.written.names import REFUSED
from kantopt.schema.base import Expression
from kantopt.schema.jobs import Assignment, Job, NodeSelectorTerm
from tests.formats.test_written import JOB, SYSTEMS, read, snapshot_of


def _field(operator: Any, *values: str) -> Expression:
    return Expression(key="metadata.name", operator=operator, values=values)


@pytest.mark.parametrize("system", SYSTEMS)
def test_nodes_of_several_names_are_written_one_name_at_a_time(system: ExportName) -> None:
    """Kubernetes compares a field with one value; a term with several it refuses."""
    zone = (Expression(key="zone", operator="Exists"),)
    names = (_field("In", "a", "b"), _field("NotIn", "c", "d"))
    term = NodeSelectorTerm(match_expressions=zone, match_fields=names)
    role = JOB.pod_sets[0].model_copy(update={"node_affinity": (term,)})
    base = snapshot_of(nodes=[{"name": "n", "allocatable": {"cpu": 4, "pods": 10}}])
    job = JOB.model_copy(update={"pod_sets": (role,)})
    _, pending = read(system, EXPORTS[system].write(base, [job])[0], [])
    found = pending.jobs[0].pod_sets[0].node_affinity
    never = (_field("NotIn", "c"), _field("NotIn", "d"))
    assert [item.match_expressions for item in found] == [zone, zone]
    assert [item.match_fields for item in found] == [
        (_field("In", "a"), *never),
        (_field("In", "b"), *never),
    ]


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("runs", [False, True])
def test_what_volumes_ask_of_nodes_comes_back(system: ExportName, *, runs: bool) -> None:
    zones = [Expression(key=key, operator="In", values=("z",)) for key in ("zone", "rack")]
    lists = tuple((NodeSelectorTerm(match_expressions=(zone,)),) for zone in zones)
    places = (Assignment(node="n", count=1),) if runs else ()
    role = JOB.pod_sets[0].model_copy(
        update={"volume_node_affinity": lists, "count": 1, "assignments": places}
    )
    base = snapshot_of(nodes=[{"name": "n", "allocatable": {"cpu": 4, "pods": 10}}])
    job = JOB.model_copy(update={"pod_sets": (role,)})
    base = base.model_copy(update={"jobs": (job,) if runs else ()})
    listed, notes = EXPORTS[system].write(base, [] if runs else [job])
    snapshot, pending = read(system, listed, [])
    (found,) = (*snapshot.jobs, *pending.jobs)
    assert found.pod_sets[0].volume_node_affinity == lists
    assert not [line for line in notes.lines() if "olume" in line]


def _kept(key: str, value: str, **names: str) -> Job:
    """A job of one pod that a volume keeps in a zone, or on a node."""
    field = "match_fields" if key == "metadata.name" else "match_expressions"
    item = Expression(key=key, operator="In", values=(value,))
    lists = ((NodeSelectorTerm.model_validate({field: (item,)}),),)
    named = {"name": names.pop("role", "main"), "volume_node_affinity": lists, "count": 1}
    role = JOB.pod_sets[0].model_copy(update=named)
    return JOB.model_copy(update={"pod_sets": (role,), **names})


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize(
    "jobs",
    [
        [{"namespace": "team", "name": "a-db"}, {"namespace": "team-a", "name": "db"}],
        [{"name": "a-b", "role": "c"}, {"name": "a", "role": "b-c"}],
        [{"namespace": "n" * 63, "name": "j" * 252 + end, "role": "r" * 63} for end in "ab"],
    ],
)
def test_names_made_up_for_pods_and_their_volumes_are_unique_and_not_too_long(
    system: ExportName, jobs: list[dict[str, str]]
) -> None:
    base = snapshot_of(nodes=[{"name": "n", "allocatable": {"cpu": 4, "pods": 10}}])
    pending = [_kept("zone", f"z{i}", **names) for i, names in enumerate(jobs)]
    found = read(system, EXPORTS[system].write(base, pending)[0], [])[1].jobs
    lists = {job.full_name: job.pod_sets[0].volume_node_affinity for job in pending}
    assert {job.full_name: job.pod_sets[0].volume_node_affinity for job in found} == lists


@pytest.mark.parametrize("system", SYSTEMS)
def test_what_volumes_ask_of_names_of_nodes_is_left_out_with_a_note(system: ExportName) -> None:
    """kube-scheduler compares a volume with labels only."""
    base = snapshot_of(nodes=[{"name": "n", "allocatable": {"cpu": 4, "pods": 10}}])
    listed, notes = EXPORTS[system].write(base, [_kept("metadata.name", "n")])
    (found,) = read(system, listed, [])[1].jobs
    assert found.pod_sets[0].volume_node_affinity == ()
    assert found.pod_sets[0].not_modelled == ()
    assert [line for line in notes.lines() if "volumeNodeAffinity: not told" in line]


@pytest.mark.parametrize("system", SYSTEMS)
def test_pods_that_tell_no_owner_have_work_to_lose_and_all_of_them_may_go(
    system: ExportName,
) -> None:
    there = (Assignment(node="n", count=2),)
    role = JOB.pod_sets[0].model_copy(update={"count": 2, "min_count": 0, "assignments": there})
    job = JOB.model_copy(update={"pod_sets": (role,)})
    base = snapshot_of(nodes=[{"name": "n", "allocatable": {"cpu": 64, "pods": 10}}])
    snapshot = base.model_copy(update={"jobs": (job,)})
    again, _ = read(system, EXPORTS[system].write(snapshot, ())[0], [])
    (found,) = again.jobs
    assert not found.serves(found.pod_sets[0])
    assert found.max_moves is None


@pytest.mark.parametrize("system", SYSTEMS)
def test_names_and_labels_that_no_api_server_takes_are_told(system: ExportName) -> None:
    role = JOB.pod_sets[0].model_copy(
        update={
            "labels": {"slurm/job-name": "it's mine", "ok/a_B.9": ""},
            "node_selector": {"pool": "x" * 64, "-key": "x"},
            "requests": {"gres/gpu:a100": 1, "pods": 1},
        }
    )
    job = JOB.model_copy(update={"name": "5_7", "namespace": "Team_A.x", "pod_sets": (role,)})
    base = snapshot_of(nodes=[{"name": name, "allocatable": {"pods": 1}} for name in ("N", "n.9")])
    _, notes = EXPORTS[system].write(base, [job])
    told = {name for text, _, names in notes.rows() if text == REFUSED for name in names}
    wrong = {"N", "Team_A.x", "it's mine", "x" * 64, "-key", "gres/gpu:a100"}
    assert {name for name in told if not name.startswith("5_7")} == wrong
    assert any(name.startswith("5_7") for name in told)
    _, notes = EXPORTS[system].write(base.model_copy(update={"nodes": base.nodes[1:]}), [JOB])
    assert REFUSED not in [text for text, _, _ in notes.rows()]
