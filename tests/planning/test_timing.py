"""How long a plan takes and when its waves start: arithmetic on its own figures."""

from __future__ import annotations

from typing import Any

from kantopt.planning.document.claims import false_claims
from kantopt.planning.document.identity import identified
from kantopt.planning.document.timing import timed
from kantopt.schema.answers.plan import Plan
from kantopt.schema.base import API_VERSION
from kantopt.schema.raw import RawDocument
from kantopt.schema.validation import validate

GI = 2**30


def move(name: str, source: str, target: str, gigabytes: int) -> dict[str, Any]:
    mode = "live" if gigabytes else "restart"
    where = {"fromNode": source, "toNode": target, "count": 1, "mode": mode}
    return {"id": name, "job": "a/b", "podSet": "main", **where, "memoryBytes": gigabytes * GI}


def wave(number: int, *actions: str, after: tuple[int, ...] = ()) -> dict[str, Any]:
    return {"id": number, "after": list(after), "actions": list(actions)}


def plan_of(
    moves: list[dict[str, Any]], waves: list[dict[str, Any]], schedule: dict[str, Any], **more: Any
) -> Plan:
    model = {
        "apiVersion": API_VERSION,
        "kind": "Model",
        "objectives": ["moves"],
        "schedule": schedule,
    }
    numbers = ("placedJobs", "placedPods", "unplacedJobs", "unplacedPods", "evictedPods")
    summary = {**dict.fromkeys(numbers, 0), "movedPods": len(moves), "changes": True}
    solver = {"engine": "fast", "strategy": "", "foundBy": "none", "status": "UNKNOWN", "seed": 0}
    document = {
        "apiVersion": API_VERSION,
        "kind": "Plan",
        "metadata": {"planId": "", "kantoptVersion": "0", "snapshot": {"digest": "x"}},
        "summary": summary,
        "solver": {**solver, "deterministic": False, "reproducible": False},
        "moves": moves,
        "waves": waves,
        "model": model,
        **more,
    }
    return validate(RawDocument("plan", 0, document), Plan)


MOVES = [
    move("m1", "a", "b", 10),
    move("m2", "a", "c", 10),
    move("m3", "d", "e", 15),
    move("m4", "b", "d", 1),
    move("m5", "c", "a", 0),
]
WAVES = [wave(1, "m1", "m2", "m3"), wave(2, "m4", after=(1,)), wave(3, "m5", after=(1,))]


def test_memory_is_that_of_live_moves_and_a_wave_takes_as_long_as_its_busiest_node() -> None:
    """Node a sends 20 GiB at 3 GiB a second, which takes 6.67: whole seconds, rounded up."""
    plan = timed(plan_of(MOVES, WAVES, {"bandwidth": "3Gi"}), None)
    assert [wave.memory_bytes for wave in plan.waves] == [35 * GI, GI, 0]
    assert [wave.duration_seconds for wave in plan.waves] == [7, 1, 0]
    assert plan.timing is not None
    assert plan.timing.memory_bytes == 36 * GI
    assert plan.timing.duration_seconds == 8
    assert plan.timing.earliest_end is None
    assert all(wave.earliest_start is None for wave in plan.waves)


def test_without_a_bandwidth_only_memory_is_told() -> None:
    plan = timed(plan_of(MOVES, WAVES, {}), None)
    assert plan.timing is not None
    assert (plan.timing.memory_bytes, plan.timing.duration_seconds) == (36 * GI, None)


def test_a_wave_starts_when_those_before_are_done_and_a_window_is_open() -> None:
    """The second would start a second too late for the first window; the third binds nothing."""
    window = {"cron": "0 2 * * *", "duration": "20s"}
    schedule = {"bandwidth": "1Gi", "windows": [window]}
    plan = timed(plan_of(MOVES, WAVES, schedule), "2026-09-01T01:00:00.5Z")
    assert [wave.earliest_start for wave in plan.waves] == [
        "2026-09-01T02:00:00Z",
        "2026-09-02T02:00:00Z",
        "2026-09-02T02:00:00Z",
    ]
    assert plan.timing is not None
    assert plan.timing.earliest_end == "2026-09-02T02:00:01Z"
    assert plan.timing.duration_seconds == 21, "waiting is no copying"


def test_windows_are_for_waves_that_disturb_running_pods() -> None:
    binding = {"id": "b1", "job": "a/b", "podSet": "main", "node": "a", "count": 1}
    window = {"cron": "0 2 * * *", "duration": "1h"}
    plan = plan_of([], [wave(1, "b1")], {"windows": [window]}, assignments=[binding])
    assert timed(plan, "2026-09-01T01:00:00Z").waves[0].earliest_start == "2026-09-01T01:00:00Z"


def test_false_times_are_found() -> None:
    plan = timed(plan_of(MOVES, WAVES, {"bandwidth": "1Gi"}), "2026-09-01T01:00:00Z")

    def told(changed: Plan) -> list[str]:
        return [str(claim.subject) for claim in false_claims(identified(changed))]

    about = [subject for subject in told(plan) if "timing" in subject]
    assert about == []
    waves = (plan.waves[0].model_copy(update={"duration_seconds": 1}), *plan.waves[1:])
    assert "wave 1 timing durationSeconds" in told(plan.model_copy(update={"waves": waves}))
    assert plan.timing is not None
    timing = plan.timing.model_copy(update={"earliest_end": "2026-09-01T01:00:05Z"})
    assert "timing earliestEnd" in told(plan.model_copy(update={"timing": timing}))
