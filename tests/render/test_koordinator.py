"""Plans as Koordinator takes them: migration jobs, and reservations for pods that wait."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from kantopt.errors import UsageError
from kantopt.render.koordinator import render
from kantopt.render.targets import Asked
from kantopt.schema.answers.plan import Plan
from kantopt.schema.base import Toleration
from kantopt.schema.jobs import DeviceRequest, Job, PodRef, PodSet
from tests.render.plans import bind, draw_plan, evict, make_plan, move
from tests.render.schemas import checked_documents, documents

POD = PodRef(name="x-0", uid="8c5c", grace_period_seconds=30)
OTHER = PodRef(name="x-1")
JOB = Job(
    name="x",
    namespace="team-b",
    pod_sets=(
        PodSet(
            count=2,
            requests={"cpu": "500m", "nvidia.com/gpu": 8, "pods": 1, "attachable-volumes-csi-a": 1},
            tolerations=(Toleration(key="nvidia.com/gpu", operator="Exists"),),
        ),
    ),
)


def made(plan: Plan, asked: Asked | None = None) -> list[dict[str, Any]]:
    return checked_documents(render(plan, asked or Asked()).text)


def place(template: dict[str, Any]) -> str:
    affinity = template["spec"]["affinity"]["nodeAffinity"]
    (term,) = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    (field,) = term["matchFields"]
    assert (field["key"], field["operator"]) == ("metadata.name", "In")
    (node,) = field["values"]
    return str(node)


def test_a_move_reserves_its_place_and_then_evicts_the_very_pod() -> None:
    (job,) = made(make_plan([JOB], [[move("team-b/x", "n1", "n2", POD)]]))
    spec = job["spec"]
    assert (job["kind"], spec["mode"]) == ("PodMigrationJob", "ReservationFirst")
    assert spec["podRef"] == {
        "apiVersion": "v1",
        "kind": "Pod",
        "namespace": "team-b",
        "name": "x-0",
        "uid": "8c5c",
    }
    assert spec["deleteOptions"] == {"gracePeriodSeconds": 30, "preconditions": {"uid": "8c5c"}}
    template = spec["reservationOptions"]["template"]["spec"]["template"]
    assert place(template) == "n2"
    (container,) = template["spec"]["containers"]
    assert container["resources"]["requests"] == {"cpu": "500m", "nvidia.com/gpu": "8"}
    assert template["spec"]["tolerations"] == [{"key": "nvidia.com/gpu", "operator": "Exists"}]


def test_an_eviction_is_a_migration_without_a_place() -> None:
    (job,) = made(make_plan([JOB], [[evict("team-b/x", "n1", OTHER)]]))
    assert job["spec"]["mode"] == "EvictDirectly"
    assert "uid" not in job["spec"]["podRef"]
    assert "deleteOptions" not in job["spec"]


def test_a_bound_pod_has_a_reservation_and_takes_no_other_place() -> None:
    reservation, pod = made(make_plan([JOB], [[bind("team-b/x", "n3", POD)]]))
    assert place(reservation["spec"]["template"]) == "n3"
    (owner,) = reservation["spec"]["owners"]
    assert (owner["object"]["name"], owner["object"]["uid"]) == ("x-0", "8c5c")
    told = pod["metadata"]["annotations"]["scheduling.koordinator.sh/reservation-affinity"]
    (selected,) = json.loads(told)["reservationSelector"].items()
    assert selected in reservation["metadata"]["labels"].items()
    assert (pod["metadata"]["name"], pod["metadata"]["uid"]) == ("x-0", "8c5c")


def test_a_bound_pod_keeps_its_gate_and_the_file_says_so() -> None:
    held = PodRef(name="x-0", uid="8c5c", scheduling_gates=("kantopt/hold",))
    text = render(make_plan([JOB], [[bind("team-b/x", "n3", held)]]), Asked()).text
    assert "# team-b/x-0 keeps its gates: kantopt/hold" in text
    told = " ".join(text.replace("#", "").split())
    assert "remove the gate within 10m, which nothing here does" in told
    assert (
        "keeps its gates"
        not in render(make_plan([JOB], [[bind("team-b/x", "n3", POD)]]), Asked()).text
    )


def test_migrations_of_waves_that_wait_are_paused() -> None:
    waves = [[evict("team-b/x", "n1", OTHER)], [move("team-b/x", "n2", "n1", POD)]]
    first, second = made(make_plan([JOB], waves))
    assert (first["spec"]["paused"], second["spec"]["paused"]) == (False, True)
    assert second["metadata"]["labels"]["kantopt/wave"] == "2"


def test_a_paused_migration_has_no_time_that_runs_out_before_its_turn() -> None:
    waves = [[evict("team-b/x", "n1", OTHER)], [move("team-b/x", "n2", "n1", POD)]]
    first, second = made(make_plan([JOB], waves))
    assert first["spec"]["ttl"] == "10m"
    assert "ttl" not in second["spec"]
    assert second["spec"]["reservationOptions"]["template"]["spec"]["ttl"] == "10m"


def test_a_wave_that_is_written_alone_is_not_paused() -> None:
    waves = [[evict("team-b/x", "n1", OTHER)], [move("team-b/x", "n2", "n1", POD)]]
    (only,) = made(make_plan([JOB], waves), Asked(wave=2))
    assert (only["spec"]["paused"], only["spec"]["ttl"]) == (False, "10m")


def test_what_koordinator_cannot_do_is_advice() -> None:
    devices = (DeviceRequest(device_class="gpu", requests={"gpu": "500m"}),)
    shared = JOB.model_copy(
        update={"pod_sets": (JOB.pod_sets[0].model_copy(update={"devices": devices}),)}
    )
    live = move("team-b/x", "n1", "n2", POD, mode="live")
    for plan, said in (
        (make_plan([JOB], [[live]]), "moves no pod live"),
        (make_plan([JOB], [[bind("team-b/x", "n1", count=2)]]), "the plan has no names"),
        (make_plan([shared], [[bind("team-b/x", "n1", POD)]]), "devices one by one"),
    ):
        text = render(plan, Asked()).text
        assert not documents(text)
        assert said in text


def test_a_pod_that_was_moved_has_another_name_when_it_goes_on() -> None:
    first = move("team-b/x", "n1", "n2", POD)
    onward = move("team-b/x", "n2", "n3", POD)
    text = render(make_plan([JOB], [[first], [onward]]), Asked()).text
    (job,) = documents(text)
    assert place(job["spec"]["reservationOptions"]["template"]["spec"]["template"]) == "n2"
    assert "1 of 2 moves. 1 left to you" in text


def test_a_pod_that_comes_back_to_its_node_is_reserved_no_second_room() -> None:
    moves = [move("team-b/x", "n1", "n1", POD), move("team-b/x", "n1", "n2", OTHER)]
    text = render(make_plan([JOB], [moves]), Asked()).text
    (job,) = documents(text)
    assert job["spec"]["podRef"]["name"] == OTHER.name
    assert "1 of 2 moves. 1 left to you" in text


def test_evictions_for_what_cannot_be_bound_are_refused_unless_wanted() -> None:
    waves = [[evict("team-b/y", "n1", OTHER, heir="team-b/x")], [bind("team-b/x", "n1", count=1)]]
    plan = make_plan([JOB], waves)
    with pytest.raises(UsageError, match="1 pod to evict"):
        render(plan, Asked())
    assert [item["kind"] for item in made(plan, Asked(evict_anyway=True))] == ["PodMigrationJob"]
    unlike = make_plan([JOB], [[evict("team-b/y", "n1", OTHER, heir="team-c/z")], waves[1]])
    assert len(made(unlike)) == 1


@pytest.mark.parametrize("seed", range(30))
def test_random_plans_fit_the_schemas_and_name_objects_once(seed: int) -> None:
    rng = random.Random(f"koordinator {seed}")
    plan = draw_plan(rng, lambda: f"{rng.choice('abc')}{rng.randint(0, 99)}")
    found = made(plan, Asked(evict_anyway=True))
    names = [(item["kind"], item["metadata"]["name"]) for item in found if item["kind"] != "Pod"]
    assert len(names) == len(set(names))
    evicted = {pod.name for item in plan.evictions for pod in item.pods}
    jobs = [item["spec"] for item in found if item["kind"] == "PodMigrationJob"]
    assert {each["podRef"]["name"] for each in jobs if each["mode"] == "EvictDirectly"} == evicted
