"""An explanation on a screen: short, and nobody who is in the way is lost."""

from __future__ import annotations

import re
from typing import Any

from kantopt.report.blocks import Screen, render
from kantopt.report.explanation import explanation_blocks
from kantopt.report.guarded import step_text
from kantopt.schema.answers.explanation import (
    Conflict,
    ConflictItem,
    Explanation,
    Remedy,
    Steps,
    Verdict,
)
from kantopt.schema.answers.plan import Binding, Move, SnapshotRef, Wave
from kantopt.schema.base import API_VERSION


def told(*items: ConflictItem, **more: Any) -> Explanation:
    """Make an explanation with a conflict."""
    return Explanation(
        api_version=API_VERSION,
        kind="Explanation",
        snapshot=SnapshotRef(digest="sha256:0"),
        job="default/own",
        priority=0,
        pending_pods=1,
        running_pods=0,
        verdict=Verdict(status="NEVER", message="NEVER", proved=True),
        conflict=Conflict(
            question="on an empty cluster",
            rules=tuple(dict.fromkeys(item.rule for item in items)),
            items=items,
            minimal_rules=True,
            minimal_items=True,
            proved=True,
        ),
        complete=True,
        **more,
    )


def text_of(explanation: Explanation, *, wide: bool = False) -> list[str]:
    return render(explanation_blocks(explanation, wide=wide), Screen()).splitlines()


def lines(*items: ConflictItem, wide: bool = False) -> list[str]:
    """Lines of the table of a conflict."""
    text = text_of(told(*items), wide=wide)
    first = next(i for i, line in enumerate(text) if line.startswith("RULE"))
    return [line for line in text[first + 1 :] if not line.startswith("Proved")]


def short_of(first: int, last: int, gpus: int) -> ConflictItem:
    """Nodes by their numbers that would hold so many GPUs."""
    nodes = tuple(f"gpu-{i:02d}" for i in range(first, last + 1))
    what = f"{len(nodes)} nodes" if len(nodes) > 1 else f"node {nodes[0]}"
    text = f"{gpus} of 8 GPUs"
    return ConflictItem(rule="capacity", subject=what, message=text, nodes=nodes)


def test_lines_beyond_three_of_a_rule_are_one_that_names_all_their_nodes() -> None:
    parts = (short_of(1, 1, 9), short_of(2, 2, 10), short_of(3, 9, 11), short_of(10, 12, 12))
    gang = ConflictItem(rule="gang", subject="job default/own", message="at least 2 of 2 pods")
    assert [re.split("  +", line) for line in lines(*parts, gang)] == [
        ["capacity", "7 nodes: gpu-[03-09]", "11 of 8 GPUs"],
        ["capacity", "3 nodes: gpu-[10-12]", "12 of 8 GPUs"],
        ["capacity", "2 nodes: gpu-[01-02]", "2 lines more: -o wide"],
        ["gang", "job default/own", "at least 2 of 2 pods"],
    ]
    assert len(lines(*parts, gang, wide=True)) == 5
    assert len(lines(*parts[:3])) == 3


def test_what_names_no_nodes_and_no_jobs_keeps_its_subjects() -> None:
    limits = [
        ConflictItem(rule="limits", subject=name, message="at most 0")
        for name in ("evictions", "moves", "moves per job", "moves per node")
    ]
    assert re.split("  +", lines(*limits)[-1]) == [
        "limits",
        "moves per job, moves per node",
        "2 lines more: -o wide",
    ]


def test_names_that_fill_a_line_are_counted_unless_wide() -> None:
    odd = tuple(f"node-{i:04d}" for i in range(1, 80, 2))
    item = ConflictItem(rule="capacity", subject="40 nodes", message="9 of 8 GPUs", nodes=odd)
    (line,) = lines(item)
    assert "40 nodes: node-[0001,0003,0005,0007,0009,0011] and 34 more" in line
    (line,) = lines(item, wide=True)
    assert "0079" in line


def test_few_names_that_are_longer_than_a_line_lose_one_and_count_it() -> None:
    jobs = tuple(f"team/a-job-with-a-long-name-{letter}" for letter in "abcde")
    item = ConflictItem(rule="gang", subject="5 jobs", message="5 lines more", jobs=jobs)
    (line,) = lines(item)
    assert "name-d and 1 more" in line


def test_of_a_long_plan_the_job_itself_and_the_first_moves_are_shown() -> None:
    there: dict[str, Any] = {"pod_set": "main", "count": 1, "from_node": "a", "to_node": "b"}
    moves = tuple(
        Move(id=f"m{i}", job=f"default/r{i:02d}", mode="restart", **there) for i in range(30)
    )
    own = Binding(id="b1", job="default/own", pod_set="main", node="a", count=1)
    waves = (
        Wave(id=1, actions=tuple(m.id for m in moves)),
        Wave(id=2, after=(1,), actions=("b1",)),
    )
    plan = Steps(
        placed_pods=1, evicted_pods=0, moved_pods=30, assignments=(own,), moves=moves, waves=waves
    )
    edit = " ".join(f"remove=default/r{i:02d}" for i in range(30))
    remedy = Remedy(kind="end", message="wait", cost="time", edit=edit, plan=plan)
    explanation = told(plan=plan, remedies=(remedy,))
    short, wide = text_of(explanation), text_of(explanation, wide=True)
    assert sum(" move " in line and "->" in line for line in short) == 9
    assert any("bind" in line and "default/own/main" in line for line in short)
    assert "and 21 more: 21 move (21 pods) (-o wide lists all)" in short
    assert not any(edit in line for line in short)
    assert any(line.endswith("-o wide shows it") for line in short)
    assert sum(" move " in line and "->" in line for line in wide) == 30
    assert any(edit in line for line in wide)
    heads = [line for line in (*short, *wide) if line.startswith("DO THIS")]
    assert [line.split("  ")[-2].strip() for line in heads] == ["COST", "COST"]
    beside = text_of(explanation.model_copy(update={"others_pending": 1}))
    assert any("COST for it alone" in line for line in beside)


def test_who_comes_back_to_its_node_restarts() -> None:
    common: dict[str, Any] = {"pod_set": "main", "job": "default/unit", "mode": "restart"}
    moves = (
        Move(id="m0", from_node="a", to_node="c", count=2, **common),
        Move(id="m1", from_node="b", to_node="b", count=1, **common),
    )
    bind = Binding(id="b0", job="default/own", pod_set="main", count=1, node="a")
    waves = (Wave(id=1, actions=("m0", "m1")), Wave(id=2, after=(1,), actions=("b0",)))
    counts = {"placed_pods": 1, "evicted_pods": 0, "moved_pods": 3}
    plan = Steps(assignments=(bind,), moves=moves, waves=waves, **counts)
    rows = [line.split(None, 4) for line in text_of(told(plan=plan)) if line[:5].strip().isdigit()]
    assert ["1", "move", "default/unit/main", "2", "a -> c x2"] in rows
    assert ["1", "restart", "default/unit/main", "1", "b"] in rows
    assert [step_text(move) for move in moves] == ["move a -> c", "restart on b"]


def test_a_plan_for_one_job_is_not_taken_for_one_for_all_that_wait() -> None:
    move = Move(
        id="m1",
        job="default/a",
        pod_set="main",
        from_node="a",
        to_node="b",
        count=1,
        mode="restart",
    )
    waves = (Wave(id=1, after=(), actions=("m1",)),)
    plan = Steps(placed_pods=1, evicted_pods=0, moved_pods=1, moves=(move,), waves=waves)
    told_of = told(short_of(1, 2, 9), plan=plan, others_pending=3)
    said = (
        "This is for the job alone: 3 other jobs wait, and a plan for all (kantopt plan) may "
        "disturb more, or others."
    )
    assert said in text_of(told_of)
    assert said not in text_of(told_of.model_copy(update={"others_pending": 0}))
    alone = told_of.verdict.model_copy(update={"status": "FITS_ALONE"})
    assert said not in text_of(told_of.model_copy(update={"verdict": alone}))
    here = plan.model_copy(update={"moved_pods": 0, "moves": (), "waves": ()})
    assert said not in text_of(told_of.model_copy(update={"plan": here}))
