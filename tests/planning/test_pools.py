"""Plans for pools that share nothing: searched apart, in processes that leave nothing behind."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from kantopt.budget import Budget
from kantopt.clock import Deadline
from kantopt.planning.document.actions import waves_of
from kantopt.planning.document.claims import false_claims
from kantopt.planning.document.figures import false_figures
from kantopt.planning.document.named import false_names
from kantopt.planning.plan import make_plan
from kantopt.planning.question import Question
from kantopt.planning.solving.messages import SearchTask
from kantopt.planning.solving.options import Options
from kantopt.planning.solving.solver_process import SolverProcess
from kantopt.problem.actions import without_leftovers
from kantopt.problem.tiers import tiers_of
from kantopt.schema.dump import dump_data
from kantopt.search.engine.incumbent import Incumbent
from kantopt.verify.replay import replay
from tests.pools import confine
from tests.questions import hard_question, model, question

PODS_FIRST = ({"unplaced": {"unit": "pod"}}, "evictions", "moves")


def pools(*questions: Question) -> Question:
    """Questions side by side, each on nodes of its own."""
    nodes: list[Any] = []
    running: list[Any] = []
    pending: list[Any] = []
    for p, asked in enumerate(questions):
        cluster = dump_data(asked.snapshot)
        jobs = {"jobs": [dump_data(job) for job in asked.pending]}
        confine(cluster, jobs, f"p{p}")
        nodes += cluster["nodes"]
        running += cluster["jobs"]
        pending += jobs["jobs"]
    return question(nodes, running, pending)


def test_a_plan_for_two_pools_is_proved_optimal_and_true_in_what_it_says() -> None:
    asked = pools(*(hard_question(seed, nodes=3, pods=3) for seed in (0, 1)))
    for rules in ({"priority": "strict"}, {"priority": "counts"}):
        wanted = model(*PODS_FIRST, rules=rules)
        result = make_plan(asked, wanted, Options(engine="exact", workers=2), Deadline.within(60.0))
        plan = result.plan
        assert plan.solver.status == "OPTIMAL"
        assert "cp-sat" in {tier.proved_by for tier in plan.objectives}
        assert false_claims(plan) == []
        waves, problems = waves_of(result.instance, plan, "plan")
        violations, final = replay(result.instance, waves)
        assert (problems, violations) == ([], [])
        asked_for = without_leftovers(final, waves)
        assert false_figures(asked, result.instance, plan, final, asked_for) == []
        assert false_names(asked, plan) == []


def children(pid: int) -> list[int]:
    """Processes that a process has started and not waited for."""
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_the_processes_of_the_parts_end_with_the_search() -> None:
    instance = pools(hard_question(0), hard_question(1)).instance(model(*PODS_FIRST))
    deadline = Deadline.within(60.0)
    task = SearchTask(instance, tiers_of(instance), instance.current, (), Budget(deadline))
    with SolverProcess() as process:
        process.begin(task, Incumbent(instance, task.tiers, task.start))
        assert process.pid is not None
        while not deadline.over() and len(children(process.pid)) < 2:
            process.message(0.05)
        started = children(process.pid)
    assert len(started) == 2
    while not deadline.over() and any(map(is_there, started)):
        time.sleep(0.05)
    assert not any(map(is_there, started))


def is_there(pid: int) -> bool:
    """Whether a process runs; one that has ended and that nobody waits for does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rsplit(")", 1)[1].split()[0] != "Z" and os.path.exists(f"/proc/{pid}")
