"""A plan laid out: its headline, numbers in natural units, who gives way, what is left."""

from __future__ import annotations

from typing import Any

import pytest

from kantopt.report.actions import action_lines
from kantopt.report.blocks import Screen, render
from kantopt.report.terminal import plan_blocks
from kantopt.schema.answers.plan import Plan
from kantopt.schema.raw import RawDocument
from kantopt.schema.validation import validate

TIER = {
    "name": "unplaced[priority=10, milli-GPU]",
    "metric": "unplaced",
    "unit": "milli-GPU",
    "before": 12500,
    "value": 500,
    "bound": 0,
    "status": "FEASIBLE",
    "provedBy": "arithmetic",
}
STRANDED = {
    "name": "stranded_gpus",
    "metric": "stranded_gpus",
    "unit": "milli-GPU x mix",
    "before": 6000,
    "value": 1,
    "bound": 1,
    "status": "OPTIMAL",
    "provedBy": "cp-sat",
}


def plan_of(**changes: Any) -> Plan:
    data: dict[str, Any] = {
        "apiVersion": "kantopt/v1alpha1",
        "kind": "Plan",
        "metadata": {
            "planId": "",
            "kantoptVersion": "0",
            "snapshot": {"digest": "", "name": "prod", "capturedAt": "2026-09-01T03:00:00Z"},
        },
        "summary": {
            "placedJobs": 0,
            "placedPods": 0,
            "unplacedJobs": 0,
            "unplacedPods": 0,
            "evictedPods": 0,
            "movedPods": 0,
            "changes": False,
        },
        "solver": {
            "engine": "auto",
            "strategy": "fgd",
            "foundBy": "fast",
            "status": "OPTIMAL",
            "seed": 0,
            "deterministic": False,
            "reproducible": True,
        },
        "model": {"apiVersion": "kantopt/v1alpha1", "kind": "Model"},
    }
    for name, value in changes.items():
        data[name] = {**data[name], **value} if isinstance(data.get(name), dict) else value
    return validate(RawDocument("plan", 0, data), Plan)


def shown(plan: Plan, **options: Any) -> str:
    return render(plan_blocks(plan, **options), Screen())


def test_the_headline_counts_everything() -> None:
    counts = {"placedJobs": 1, "placedPods": 2, "evictedPods": 1, "movedPods": 3}
    left = {"unplacedJobs": 2, "unplacedPods": 9}
    first = shown(plan_of(summary={**counts, **left})).splitlines()[0]
    assert first == (
        "Place 2 pods of 1 job, evict 1 pod, move 3 pods; 2 jobs (9 pods) stay pending."
    )


def test_a_goal_that_is_missed_stands_in_the_first_line() -> None:
    goal = {"objective": TIER["name"], "text": "t", "unit": "jobs", "moreIsBetter": False}
    numbers = {"before": 2, "after": 1, "goal": 0}
    missed, reached = ({**goal, **numbers, "missedBy": by} for by in (1, 0))
    first = shown(plan_of(objectives=[TIER], goals=[missed, reached])).splitlines()[0]
    assert first == "Nothing to do; 1 of 2 goals is missed."
    assert "missed" not in shown(plan_of(objectives=[TIER], goals=[reached])).splitlines()[0]
    # Of a priority that nobody has there is a goal, too, which the table does not list.
    idle = {**reached, "before": 0, "after": 0}
    first = shown(plan_of(objectives=[TIER], goals=[missed, idle])).splitlines()[0]
    assert first == "Nothing to do; the goal is missed."


def test_an_open_tier_is_named_with_its_gap_in_gpus() -> None:
    text = shown(plan_of(solver={"status": "FEASIBLE"}, objectives=[STRANDED, TIER]))
    assert (
        "FEASIBLE: unplaced[10, GPUs] is open: it is 0.5, and no plan gets below 0; "
        "the objective above it is proved." in text
    )
    row = next(line for line in text.splitlines() if line.startswith("unplaced[10, GPUs]"))
    assert row.split()[-4:] == ["12.5", "0.5", "0", "FEASIBLE"]


def test_a_tier_without_a_bound() -> None:
    plan = plan_of(solver={"status": "FEASIBLE"}, objectives=[TIER])
    row = plan.objectives[0].model_copy(update={"bound": None, "status": "UNKNOWN"})
    text = shown(plan.model_copy(update={"objectives": (row,)}))
    assert "is open: nothing is known of better ones" in text


def test_what_is_pending_is_listed_by_priority() -> None:
    left = [
        {"job": f"default/j{p}", "priority": p, "pods": 1, "wanted": 2, "rule": "r", "message": "m"}
        for p in (1, 100, 10)
    ]
    text = shown(plan_of(unplaced=left))
    assert [line.split()[0] for line in text.splitlines()[-3:]] == [
        "default/j100",
        "default/j10",
        "default/j1",
    ]


def test_where_all_objectives_are_zero_no_empty_table_is_shown() -> None:
    tiers = [{**TIER, "name": f"t{i}", "before": 0, "value": 0, "bound": 0} for i in range(5)]
    text = shown(plan_of(objectives=[{**tier, "status": "OPTIMAL"} for tier in tiers]))
    assert "  all 5 are 0 before and after, which is optimal (-o wide lists them)\n" in text
    assert "VALUE" not in text


def test_goals_of_priorities_that_have_nothing_to_place_are_left_out() -> None:
    names = [f"unplaced[priority={p}, jobs, above goal 0]" for p in (100, 10)]
    tiers = [{**TIER, "name": name, "unit": "jobs", "value": 0, "bound": 0} for name in names]
    goals = [
        {
            "objective": name,
            "text": f"jobs of {i}",
            "unit": "jobs",
            "moreIsBetter": False,
            "before": i,
            "after": 0,
            "goal": 0,
            "missedBy": 0,
        }
        for i, name in enumerate(names)
    ]
    text = shown(plan_of(objectives=tiers, goals=goals))
    assert "jobs of 1" in text
    assert "jobs of 0" not in text
    assert "jobs of 0" in shown(plan_of(objectives=tiers[:1], goals=goals[:1]))


def test_weighted_tiers_become_gpus() -> None:
    text = shown(plan_of(objectives=[{**STRANDED, "mixWeight": 4}]))
    row = next(line for line in text.splitlines() if line.startswith("stranded_gpus"))
    assert row.split()[1:4] == ["1.5", "<0.001", "<0.001"]


@pytest.mark.parametrize(
    ("status", "said"),
    [
        ("UNKNOWN", "UNKNOWN: the run ended"),
        ("INFEASIBLE", "INFEASIBLE: a required job"),
        ("OPTIMAL", "OPTIMAL: no plan is better"),
        ("FEASIBLE", "FEASIBLE: a legal plan, but it misses what is required"),
    ],
)
def test_the_second_line_says_how_good_it_is(status: str, said: str) -> None:
    assert shown(plan_of(solver={"status": status})).splitlines()[1].startswith(said)


def test_what_is_impossible_within_limits_is_said_so() -> None:
    infeasible = {"status": "INFEASIBLE"}
    model = {"kind": "Model", "apiVersion": "kantopt/v1alpha1", "limits": {"evictions": 0}}
    told = shown(plan_of(solver=infeasible, model=model)).splitlines()[1]
    assert told.startswith("INFEASIBLE: with at most 0 evictions a required job provably has no")


MOVE = {
    "id": "m1",
    "job": "a/j",
    "podSet": "main",
    "fromNode": "n1",
    "fromDevices": [0],
    "toNode": "n2",
    "toDevices": [1, 2],
    "count": 2,
    "mode": "live",
    "budgets": ["a/b"],
}


def test_moves_show_both_places_and_their_devices() -> None:
    plan = plan_of(moves=[MOVE], waves=[{"id": 1, "actions": ["m1"]}])
    assert "n1:0 -> n2:1,2 x2" in shown(plan)
    wide = next(line for line in shown(plan, wide=True).splitlines() if "m1" in line)
    assert "move (live)" in wide
    assert "a/b" in wide
    assert action_lines(plan) == "move a/j/main n1:0 n2:1,2 x2\n"


def test_waves_side_by_side_show_what_they_wait_for_and_stop_overs_what_they_are() -> None:
    moves = [
        {**MOVE, "stopover": True, "count": 1},
        {**MOVE, "id": "m2", "fromNode": "n2", "toNode": "n3", "count": 1},
        {**MOVE, "id": "m3", "fromNode": "n4", "toNode": "n5", "count": 1},
    ]
    waves = [
        {"id": 1, "actions": ["m1"]},
        {"id": 2, "actions": ["m3"]},
        {"id": 3, "after": [1, 2], "actions": ["m2"]},
    ]
    summary = {**plan_of().summary.model_dump(by_alias=True), "movedPods": 2, "stopovers": 1}
    text = shown(plan_of(moves=moves, waves=waves, summary=summary))
    assert "ove 2 pods with 1 stop-over" in text.splitlines()[0]
    assert "ACTIONS in 3 waves, at most 2 one after the other" in text
    lines = [line.split()[:4] for line in text.splitlines()]
    assert ["WAVE", "AFTER", "ACTION", "JOB/PODSET"] in lines
    assert ["1", "-", "stop-over", "a/j/main"] in lines
    assert ["3", "2", "waves", "move"] in lines
    apart = shown(plan_of(moves=moves[1:], waves=[{**waves[1]}, {"id": 3, "actions": ["m2"]}]))
    assert "ACTIONS in 2 waves, in any order" in apart
    row = [{"id": 1, "actions": ["m2"]}, {"id": 2, "after": [1], "actions": ["m3"]}]
    assert "AFTER" not in shown(plan_of(moves=moves[1:], waves=row))
    assert "2 waves, one after the other" in shown(plan_of(moves=moves[1:], waves=row))


def test_warnings_and_what_was_wrong_before() -> None:
    standing = [{"rule": "capacity", "subject": "node n1", "message": "9 of 8 gpu"}] * 2
    plan = plan_of(warnings=["the solver was killed"], preExisting=standing)
    assert "  the solver was killed\n" in shown(plan)
    assert shown(plan).count("  capacity: node n1: 9 of 8 gpu\n") == 2
    assert shown(plan, wide=True).count("9 of 8 gpu") == 2
    plan = plan_of(preExisting=standing * 2)
    assert "  capacity 4 (-o wide lists them): node n1\n" in shown(plan)


@pytest.mark.parametrize(
    ("nominated", "said"),
    [
        (True, "Of the evicted 2 do not run: they are nominated, and lose only the room"),
        (False, ""),
    ],
)
def test_of_victims_that_are_only_nominated_it_is_said_that_they_do_not_run(
    nominated: bool, said: str
) -> None:
    role = {"name": "main", "count": 2, "nominated": nominated}
    victim = {"name": "p", "namespace": "a", "podSets": [role]}
    gone = {"id": "e1", "job": "a/p", "podSet": "main", "priority": 1, "node": "n", "count": 2}
    told = shown(plan_of(jobs=[victim], evictions=[gone], waves=[{"id": 1, "actions": ["e1"]}]))
    assert ("Of the evicted" in told) is nominated
    assert said in told


def test_what_only_arrivals_are_asked_for_is_not_called_wrong_of_pods_that_run() -> None:
    """Taints and affinity are looked at while a pod is placed; a full node is too full anyway."""
    standing = [
        {"rule": "eligibility", "subject": "job a/b pod set main", "message": "on node n (taint)"},
        {"rule": "capacity", "subject": "node m", "message": "9 of 8 gpu"},
    ]
    told = shown(plan_of(preExisting=standing))
    wrong, _, today = told.partition(
        "\nWOULD NOT BE PLACED SO TODAY, which is no fault of what runs\n"
    )
    assert "WRONG BEFORE, and not made worse\n  capacity: node m" in wrong
    assert today.startswith("  eligibility: job a/b pod set main: on node n (taint)")
    assert "WRONG" not in shown(plan_of(preExisting=standing[:1]))


def test_who_is_evicted_is_said_to_wait_again() -> None:
    """Such pods were running, so that they are not among those that stay pending."""
    gone = [
        {
            "id": f"e{i}",
            "job": f"a/{name}",
            "podSet": "main",
            "priority": 0,
            "node": "n",
            "count": k,
        }
        for i, (name, k) in enumerate((("x", 1), ("x", 2), ("y", 1)))
    ]
    waits = {"job": "a/w", "priority": 5, "pods": 2, "wanted": 2, "rule": "r", "message": "m"}
    text = shown(plan_of(evictions=gone, unplaced=[waits]))
    assert text.index("PENDING") < text.index("4 evicted pods of 2 jobs wait again: a/x, a/y\n")
    assert "1 evicted pod waits again: a/x\n" in shown(plan_of(evictions=gone[:1]))
    assert "again" not in shown(plan_of(unplaced=[waits]))
    many = [{**waits, "job": f"a/w{i}", "priority": i} for i in range(30)]
    text = shown(plan_of(evictions=gone, unplaced=many))
    assert "more (40 pods): 20 for r; 4 evicted pods of 2 jobs wait again: a/x, a/y\n" in text


def test_tiers_that_nothing_is_to_be_done_for_are_only_counted() -> None:
    idle = {**STRANDED, "name": "moves", "before": 0, "value": 0, "bound": 0}
    plan = plan_of(objectives=[TIER, *[idle] * 5])
    text = shown(plan)
    assert "moves" not in text
    assert "and 5 that are 0 before and after, which is optimal (-o wide lists them)" in text
    assert shown(plan, wide=True).count("moves") == 5
    assert shown(plan_of(objectives=[TIER, *[idle] * 3])).count("moves") == 3


def test_a_proof_that_rests_on_an_open_tier_says_so() -> None:
    resting = {**STRANDED, "given": [TIER["name"]]}
    text = shown(plan_of(objectives=[TIER, resting]))
    assert "OPTIMAL by cp-sat, given the open ones above" in text
    proved = {**TIER, "value": 0, "status": "OPTIMAL"}
    assert "given" not in shown(plan_of(objectives=[proved, resting]))


def test_several_proved_objectives_above_an_open_one_are_counted() -> None:
    text = shown(plan_of(solver={"status": "FEASIBLE"}, objectives=[STRANDED] * 3 + [TIER]))
    assert "no plan gets below 0; the 3 objectives above it are proved.\n" in text


@pytest.mark.parametrize(
    "said",
    [
        "interrupted by SIGINT: this is the best plan so far",
        "the time limit ended the search",
    ],
)
def test_what_ended_the_search_stands_under_the_headline(said: str) -> None:
    text = shown(plan_of(objectives=[TIER], warnings=["something else", said]))
    assert text.index("WARNINGS") < text.index(said) < text.index("OBJECTIVES")
    assert text.count("something else") == text.count("WARNINGS") == 1


def test_other_warnings_stand_at_the_end() -> None:
    text = shown(plan_of(objectives=[TIER], warnings=["something else"]))
    assert text.index("OBJECTIVES") < text.index("something else")
