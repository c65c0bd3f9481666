"""What moves are for: who takes the room, or what gains that is worth a move."""

from __future__ import annotations

from typing import Any

import pytest

from kantopt.report.purposes import purposes
from kantopt.schema.answers.plan import Plan
from tests.report.test_terminal import plan_of


def tier(metric: str, before: int, value: int) -> dict[str, Any]:
    figures = {"before": before, "value": value, "bound": value}
    proof = {"status": "OPTIMAL", "provedBy": "cp-sat"}
    return {"name": metric, "metric": metric, "unit": "", **proof, **figures}


MOVES, STRANDED = tier("moves", 0, 2), tier("stranded_gpus", 9, 1)


def move(identity: str, source: str, target: str) -> dict[str, Any]:
    where = {"fromNode": source, "toNode": target, "mode": "restart"}
    return {"id": identity, "job": "shop/web", "podSet": "w", "count": 1, **where}


def bind(identity: str, job: str, node: str) -> dict[str, Any]:
    return {"id": identity, "job": job, "podSet": "w", "count": 1, "node": node}


def wave(number: int, *actions: str, after: tuple[int, ...] = ()) -> dict[str, Any]:
    return {"id": number, "actions": actions, "after": after}


def in_sequence(objectives: list[dict[str, Any]], *bound: dict[str, Any]) -> Plan:
    """Two moves one after the other, as a budget has it, then bindings."""
    return plan_of(
        objectives=objectives,
        moves=[move("m1", "n01", "n11"), move("m2", "n02", "n12")],
        assignments=bound,
        waves=[
            wave(1, "m1"),
            wave(2, "m2", after=(1,)),
            wave(3, *(each["id"] for each in bound), after=(2,)),
        ],
    )


def test_the_first_of_two_moves_in_sequence_is_for_whom_waits_for_it_by_way_of_the_second() -> None:
    both = (bind("b1", "ml/big", "n01"), bind("b2", "ml/big", "n02"))
    found = purposes(in_sequence([MOVES, STRANDED], *both))
    assert (found["m1"], found["m2"]) == ("ml/big", "ml/big")


def test_a_move_is_for_no_objective_that_ranks_below_moves() -> None:
    other = bind("b2", "ml/big", "n02")
    assert purposes(in_sequence([MOVES, STRANDED], other))["m1"] == "-"
    assert purposes(in_sequence([STRANDED, MOVES], other))["m1"] == "stranded_gpus"


@pytest.mark.parametrize(("mode", "purpose"), [("all", "ml/big"), ("single", "-")])
def test_who_goes_because_its_job_restarts_as_a_whole_goes_for_what_the_others_go_for(
    mode: str, purpose: str
) -> None:
    podset = {"name": "w", "count": 2, "requests": {"cpu": 1}}
    web = {"name": "web", "namespace": "shop", "disruptionMode": mode, "podSets": [podset]}
    plan = plan_of(
        objectives=[MOVES],
        jobs=[web],
        moves=[move("m1", "n01", "n11"), move("m2", "n02", "n12")],
        assignments=[bind("b1", "ml/big", "n02")],
        waves=[wave(1, "m1", "m2"), wave(2, "b1", after=(1,))],
    )
    assert purposes(plan)["m1"] == purpose
    assert purposes(plan)["m2"] == "ml/big"
