"""Answers fit a screen whatever they are about, and say what each action is for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kantopt.report.actions import where
from kantopt.report.blocks import Screen, Table, render
from kantopt.report.explanation import _conflict
from kantopt.report.size import Size
from kantopt.report.terminal import plan_blocks
from kantopt.report.verdict import verdict_blocks
from kantopt.schema.answers.explanation import Conflict, ConflictItem
from kantopt.schema.answers.plan import Move, Plan, Standing
from kantopt.schema.answers.reports import Verdict
from kantopt.schema.base import API_VERSION
from tests.report.test_terminal import STRANDED, TIER, plan_of

LINES = 60


def shown(plan: Plan, **options: Any) -> list[str]:
    return render(plan_blocks(plan, **options), Screen()).splitlines()


def on_terminal(plan: Plan, **options: Any) -> list[str]:
    """As a terminal has it on which no line is wrapped."""
    return [
        line.rstrip() for line in render(plan_blocks(plan, **options), Screen(1000)).splitlines()
    ]


def job(name: str, priority: int) -> dict[str, Any]:
    namespace, _, short = name.partition("/")
    podset = {"count": 1, "requests": {"cpu": 1, "nvidia.com/gpu": 1}}
    return {"name": short, "namespace": namespace, "priority": priority, "podSets": [podset]}


def large() -> dict[str, Any]:
    """A plan of 1,200 actions on jobs of 9 priorities in 40 namespaces, and 900 jobs that wait."""
    evictions, moves, assignments, jobs = [], [], [], []
    for i in range(400):
        names = [f"team-{i % 40}/{kind}-{i}" for kind in ("victim", "guest", "new")]
        jobs += [job(name, 10 * (i % 9)) for name in names]
        node, other = f"gpu-{i:04d}", f"gpu-{i + 400:04d}"
        victim = {"job": names[0], "podSet": "main", "node": node, "count": 1}
        evictions.append({**victim, "id": f"e{i}", "priority": 10 * (i % 9), "for": names[2]})
        guest = {"job": names[1], "podSet": "main", "fromNode": node, "toNode": other}
        moves.append({**guest, "id": f"m{i}", "count": 1, "mode": "restart"})
        assignments.append(
            {"id": f"b{i}", "job": names[2], "podSet": "main", "node": node, "count": 1}
        )
    ids = [item["id"] for item in evictions + moves]
    waves: list[dict[str, Any]] = [{"id": i, "actions": [id_]} for i, id_ in enumerate(ids, 1)]
    last = [f"b{i}" for i in range(400)]
    waves.append({"id": 801, "after": list(range(1, 801)), "actions": last})
    unplaced = [
        {
            "job": f"team-{i % 40}/wait-{i}",
            "priority": i % 9,
            "pods": 2,
            "wanted": 2,
            "rule": "capacity" if i % 2 else "topology",
            "message": f"nothing for {i % 300}",
        }
        for i in range(900)
    ]
    counts = {"placedJobs": 400, "placedPods": 400, "evictedPods": 400, "movedPods": 400}
    tiers = [{**TIER, "name": f"unplaced[{i}]"} for i in range(40)]
    return {
        "summary": {**counts, "unplacedJobs": 900, "unplacedPods": 1800, "changes": True},
        "solver": {"status": "FEASIBLE"},
        "objectives": tiers,
        "assignments": assignments,
        "evictions": evictions,
        "moves": moves,
        "waves": waves,
        "unplaced": unplaced,
        "jobs": jobs,
        "warnings": [f"note {i}: of reading" for i in range(11)],
        "preExisting": [{"rule": "capacity", "subject": "node n1", "message": "9 of 8"}] * 30,
    }


def test_a_plan_whose_rows_take_two_lines_each_fits_a_screen_with_fewer_of_them() -> None:
    data = large()
    for item in [*data["assignments"], *data["evictions"], *data["moves"]]:
        for key in ("node", "fromNode", "toNode"):
            if key in item:
                item[key] = f"{item[key]}-{'x' * 22}"
    for item in data["unplaced"]:
        item["message"] = "what is in the way takes many words, " * 2
    lines = render(plan_blocks(plan_of(**data)), Screen(width=100)).splitlines()
    assert len(lines) <= LINES
    assert any(": the 5 that matter most of 1200" in line for line in lines)


def test_a_plan_of_any_size_fits_a_screen() -> None:
    plan = plan_of(**large())
    domains = {f"gpu-{i:04d}": f"r{i // 16}" for i in range(800)}
    size = Size(nodes=800, jobs=2100, running_pods=1000, pending_pods=2200)
    options = {"size": size, "domains": domains, "level": "rack", "notes": plan.warnings}
    lines = on_terminal(plan, **options)
    assert len(lines) <= LINES
    assert max(map(len, lines)) <= 160
    title = "ACTIONS in 801 waves of up to 400, at most 2 one after the other"
    assert f"{title}: the 9 that matter most of 1200" in lines
    assert any(line.startswith("priority 80 ") for line in lines)
    assert any(line.endswith(" more namespaces") or " more namespaces " in line for line in lines)
    assert any(line.startswith("rack r") for line in lines)
    assert (
        "and 1191 more: 400 bind (400 pods), 391 evict (391 pods), 400 move (400 pods)"
        in "".join(line for line in lines if line.startswith("and 1191"))
    )
    wide = shown(plan, wide=True, **options)
    assert sum(1 for line in wide if " m399 " in line) == 1
    assert sum(1 for line in wide if "wait-" in line) == 900


def test_rows_that_wrap_on_a_terminal_count_twice() -> None:
    plan = large()
    plan |= {key: [] for key in ("evictions", "assignments", "unplaced", "warnings", "preExisting")}
    plan |= {"moves": plan["moves"][:28], "objectives": [{**STRANDED, "before": 9}] * 3}
    plan["waves"] = [{"id": 1, "actions": [item["id"] for item in plan["moves"]]}]
    blocks = plan_blocks(plan_of(**plan))
    assert len(render(blocks, Screen(width=100)).splitlines()) <= LINES


def test_waves_that_are_waited_for_are_counted() -> None:
    plan = plan_of(**large())
    assert not any(",2,3," in line or "1,2" in line for line in shown(plan))


def test_the_verdict_stands_last_as_well_as_first_where_it_would_scroll_away() -> None:
    lines = shown(plan_of(**large()))
    assert lines[1].startswith("FEASIBLE: ")
    assert lines[-1] == lines[1]
    short = shown(plan_of(objectives=[TIER]))
    assert sum(line.startswith("OPTIMAL: ") for line in short) == 1


@pytest.mark.parametrize(
    ("running", "said"),
    [
        (1000, "Disturbs 800 of 1000 running pods (80.00%): --max-moves and --max-evictions"),
        (100_000, "FEASIBLE: "),
    ],
)
def test_a_plan_that_disturbs_much_says_so_wherever_it_is_shown(running: int, said: str) -> None:
    plan = plan_of(**large())
    ref = plan.metadata.snapshot.model_copy(update={"running_pods": running})
    metadata = plan.metadata.model_copy(update={"snapshot": ref})
    assert shown(plan.model_copy(update={"metadata": metadata}))[1].startswith(said)


def test_all_actions_and_victims_are_shown_as_long_as_a_tall_terminal_has_room() -> None:
    plan = large()
    for kind in ("evictions", "moves", "assignments"):
        plan[kind] = plan[kind][:6]
    ids = [item["id"] for item in (*plan["evictions"], *plan["moves"])]
    plan["waves"] = [
        {"id": 1, "actions": ids},
        {"id": 2, "after": [1], "actions": [f"b{i}" for i in range(6)]},
    ]
    plan |= {"objectives": [], "unplaced": [], "warnings": [], "preExisting": []}
    lines = shown(plan_of(**plan))
    assert sum(line.split()[1:2] in (["evict"], ["move"], ["bind"]) for line in lines) == 18
    assert "EVICTED" in lines
    assert len(lines) <= 48


def test_a_move_says_whose_room_it_makes() -> None:
    moves = [
        {"job": "a/guest", "podSet": "main", "fromNode": "n1", "toNode": "n2", "id": "m1"},
        {"job": "a/far", "podSet": "main", "fromNode": "n2", "toNode": "n3", "id": "m2"},
        {"job": "a/idle", "podSet": "main", "fromNode": "n8", "toNode": "n9", "id": "m3"},
    ]
    moves = [{**move, "count": 1, "mode": "restart"} for move in moves]
    bind = {"id": "b1", "job": "a/new", "podSet": "main", "node": "n1", "count": 1}
    waves = [
        {"id": 1, "actions": ["m2", "m3"]},
        {"id": 2, "after": [1], "actions": ["m1"]},
        {"id": 3, "after": [2], "actions": ["b1"]},
    ]
    crossed = {**TIER, "name": "domains_crossed", "metric": "domains_crossed", "unit": "domains"}
    plan = plan_of(moves=moves, assignments=[bind], waves=waves, objectives=[crossed])
    ends = {line.split()[2]: line.split()[-1] for line in shown(plan) if "a/" in line}
    assert ends == {
        "a/guest/main": "a/new",
        "a/far/main": "a/new",
        "a/idle/main": "domains_crossed",
        "a/new/main": "-",
    }


def test_notes_on_what_was_read_are_one_line_unless_all_is_asked_for() -> None:
    notes = [
        "5 pods stay: 4 of daemons",
        "pods whose priority class prodd is not in the input count as 0: 2 (team/llm-0, ...)",
        f"memory: 64 of {'long-' * 9}name is 64 without a unit for bytes, perhaps 64Gi is meant",
        "x",
    ]
    plan = plan_of(warnings=[*notes, "the solver was killed"])
    lines = on_terminal(plan, notes=notes)
    assert "  the solver was killed" in lines
    said = (
        "  4 notes on what was read (all with -o wide): 5 pods stay: 4 of daemons; "
        "pods whose priority class prodd is not in the input count as 0: 2; "
        f"memory: 64 of {'long-' * 9}name is 64 ...; and 1 more"
    )
    assert said in lines
    assert f"  4 notes on what was read: {'; '.join(notes)}" in shown(plan, notes=notes)
    assert all(f"  {note}" in shown(plan, notes=notes, wide=True) for note in notes)


def test_what_lifts_a_cause_is_not_cut_in_two() -> None:
    notes = [
        "of 1 job no more pods may move than backoffLimit allows (--disturb backoff-limit) "
        + "x" * 9
    ]
    notes += [
        "1 pod stays: 1 not moved one by one, as their group or job ends (--disturb group)",
        "y",
    ]
    said = (
        "  3 notes on what was read (all with -o wide): of 1 job no more pods may move than "
        "backoffLimit allows (--disturb backoff-limit) ...; "
        "1 pod stays: 1 not moved one by one, as their group or job ends ...; y"
    )
    assert said in on_terminal(plan_of(warnings=notes), notes=notes)


def test_jobs_that_wait_for_the_same_reason_are_one_row_where_there_are_many() -> None:
    left = [
        {"job": f"a/j{i}", "priority": 5, "pods": 2, "wanted": 4, "rule": "r", "message": "m"}
        for i in range(30)
    ]
    lines = shown(plan_of(unplaced=left))
    assert "a/j0 and 29 more         5  60 of 120  r: m" in lines


def waiting(number: int) -> list[dict[str, Any]]:
    """Jobs that wait for the same reason, each short of another number of pods."""
    return [
        {
            "job": f"a/j{i}",
            "priority": 5,
            "pods": i + 1,
            "wanted": i + 1,
            "rule": "capacity",
            "message": f"0 of 9 nodes fit: 9 cpu; short of {i + 1} pods",
        }
        for i in range(number)
    ]


def test_what_many_jobs_are_short_of_does_not_part_them() -> None:
    lines = shown(plan_of(unplaced=waiting(20)))
    assert "a/j0 and 19 more         5  210 of 210  capacity: 0 of 9 nodes fit: 9 cpu" in lines


def test_a_reason_is_not_written_out_twice_in_a_row() -> None:
    lines = shown(plan_of(unplaced=waiting(3)))
    assert [line.partition("of ")[2][3:] for line in lines if line.startswith("a/j")] == [
        "capacity: 0 of 9 nodes fit: 9 cpu; short of 1 pods",
        "as above; short of 2 pods",
        "as above; short of 3 pods",
    ]
    wide = shown(plan_of(unplaced=waiting(3)), wide=True)
    assert sum("0 of 9 nodes fit" in line for line in wide) == 3


def judged(what: str, **more: Any) -> Verdict:
    return Verdict(api_version=API_VERSION, kind="Verdict", judged=what, **more)  # type: ignore[arg-type]


def test_a_verdict_on_a_cluster_with_much_that_is_wrong_fits_a_screen() -> None:
    wrong = tuple(
        Standing(rule=rule, subject=f"node n{i}", message="9 of 8")
        for rule in ("capacity", "eligibility")
        for i in range(50)
    )
    same = {"findings": wrong, "could_be_spared": wrong, "pre_existing": wrong}
    for verdict in (judged("plan", **same), judged("snapshot", pre_existing=wrong)):
        lines = render(verdict_blocks(verdict), Screen()).splitlines()
        assert len(lines) <= LINES
        together = "  and 90 more: capacity 40, eligibility 50 (-o wide lists all)"
        apart = "  and 40 more: eligibility 40 (-o wide lists all)"
        assert (together if verdict.findings else apart) in lines
        wide = render(verdict_blocks(verdict, wide=True), Screen()).splitlines()
        assert len(wide) > 100
    counted = render(verdict_blocks(judged("plan", pre_existing=wrong)), Screen())
    for rule in ("capacity", "eligibility"):
        said = f"  {rule} 50 (-o wide lists them): node n0, node n1, node n2 and 47 more"
        assert said in counted


def test_a_snapshot_is_sound_though_pods_run_where_they_would_not_be_placed_today() -> None:
    tainted = Standing(rule="eligibility", subject="job a/b pod set main", message="(taint)")
    full = Standing(rule="capacity", subject="node n", message="9 of 8 gpu")
    told = render(verdict_blocks(judged("snapshot", pre_existing=(tainted,))), Screen())
    assert told.startswith("SOUND: nothing is wrong as it stands.")
    assert "which is no fault of what runs\n  eligibility: job a/b pod set main: (taint)" in told
    told = render(verdict_blocks(judged("snapshot", pre_existing=(tainted, full))), Screen())
    assert told.startswith("SOUND, with 1 violation as it stands:")


@pytest.mark.parametrize(("jobs", "rows"), [(11, 11), (12, 10)])
def test_a_rest_of_one_is_shown_too(jobs: int, rows: int) -> None:
    left = [
        {"job": f"a/j{i}", "priority": i, "pods": 1, "wanted": 1, "rule": "r", "message": f"{i}"}
        for i in range(jobs)
    ]
    lines = shown(plan_of(unplaced=left))
    assert sum(line.startswith("a/j") for line in lines) in (rows, 5)


def test_jobs_that_name_a_class_count_with_the_number_that_is_known_of_it() -> None:
    data = large()
    for each in data["jobs"]:
        each["priorityClassName"] = f"class-{each.pop('priority')}"
    lines = shown(plan_of(**data))
    # Victims say their number; guests and new jobs are of the same classes.
    assert not any(line.startswith("class ") for line in lines)
    assert any(line.startswith("priority 80 ") for line in lines)
    waves = [{**wave, "after": []} for wave in data["waves"][400:]]
    nobody = plan_of(**{**data, "evictions": [], "unplaced": [], "waves": waves})
    assert any(line.startswith("class class-") for line in shown(nobody))


def test_moves_to_one_node_name_it_once() -> None:
    def moved(source: str, target: str, count: int = 1) -> Move:
        return Move(
            id=f"{source}-{target}",
            job="default/service",
            pod_set="main",
            from_node=source,
            to_node=target,
            count=count,
            mode="restart",
        )

    there = [moved(f"node-{n:02}", "node-25") for n in range(24)]
    assert where("move", there) == "node-[00-23] -> node-25"
    twice = [moved("a", "c", 2), moved("b", "c", 2), moved("d", "e")]
    assert where("move", twice) == "a, b -> c x2 each, d -> e"
    apart = [moved(f"node-{n:02}", f"node-{n + 30}") for n in range(9)]
    assert where("move", apart).endswith("node-05 -> node-35 and 3 more")
    assert where("move", apart, "few") == "node-00 -> node-30 and 8 more"
    assert "more" not in where("move", apart, "all")


def test_a_title_wraps_where_the_screen_ends() -> None:
    table = Table(" ".join(["as many words as there are"] * 6), ("A",), (("b",),))
    assert all(len(line) <= 60 for line in render([table], Screen(60)).splitlines())


def test_the_script_that_measures_answers_prints_what_holds() -> None:
    script = Path(__file__).resolve().parents[2] / "scripts" / "measure_answers.py"
    asked = [sys.executable, str(script), "--nodes", "30", "--time-limit", "3s"]
    asked += [word for name in ("explain", "verify", "show") for word in ("--only", name)]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    head, *rows = done.stdout.splitlines()
    assert head.split()[:4] == ["nodes", "command", "code", "lines"]
    assert [row.split()[1] for row in rows] == ["explain", "verify", "show"]
    for row in rows:
        lines, terminal = int(row.split()[3]), int(row.split()[4])
        assert 0 < lines <= LINES
        assert 0 < terminal <= 100


@pytest.mark.parametrize(("needed", "lines"), [(True, 9), (False, 6)])
def test_a_conflict_has_fewer_lines_where_it_is_not_known_which_rules_it_takes(
    needed: bool, lines: int
) -> None:
    rules = ("capacity", "gang", "priority")
    items = tuple(
        ConflictItem(rule=rule, subject=f"node n{i}", message="full", nodes=(f"n{i}",))
        for rule in rules
        for i in range(5)
    )
    conflict = Conflict(
        question="as it stands",
        rules=rules,
        items=items,
        minimal_rules=needed,
        minimal_items=False,
        proved=True,
    )
    (table,) = (block for block in _conflict(conflict, wide=False) if isinstance(block, Table))
    assert len(table.rows) == lines
    (table,) = (block for block in _conflict(conflict, wide=True) if isinstance(block, Table))
    assert len(table.rows) == len(items)
