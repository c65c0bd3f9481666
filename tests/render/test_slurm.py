"""Plans as scripts for Slurm: what it is held to, what is left to the reader, in which steps."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from kantopt.errors import UsageError
from kantopt.render.slurm import render
from kantopt.render.targets import Asked
from kantopt.schema.answers.plan import Binding, Plan
from kantopt.schema.jobs import Assignment, Job, PodRef, PodSet
from tests.render.plans import bind, evict, make_plan, move


def job(name: str, count: int = 1, nodes: Sequence[str] = (), *, uid: str = "@1700000000") -> Job:
    """A job that runs on these nodes, one pod on each, or waits."""
    places = tuple(Assignment(node=node, count=1) for node in nodes)
    sets = (PodSet(count=len(nodes) or count, assignments=places),)
    return Job(name=name, namespace="a", uid=f"{name}{uid}" if uid else "", pod_sets=sets)


def binds(name: str, *nodes: str) -> list[Binding]:
    return [bind(f"a/{name}", node, count=1) for node in nodes]


def told(plan: Plan, asked: Asked | None = None) -> list[str]:
    """Return the lines that the script is told."""
    text = render(plan, asked or Asked()).text
    match = re.search(r"^plan='?(.*?)'?\n\n", text, re.S | re.M)
    assert match is not None
    return match[1].splitlines()


def test_victims_leave_before_others_start_and_lists_are_short() -> None:
    jobs = [job("7", nodes=["n1", "n2"]), job("8_3", 3)]
    victims = [evict("a/7", node, count=1, heir="a/8_3") for node in ("n1", "n2")]
    plan = make_plan(jobs, [victims, binds("8_3", "n1", "n2", "n10")])
    assert told(plan) == ["1 evict 7 1700000000 2 n[1-2]", "2 start 8_3 1700000000 3 n[1-2,10]"]


def test_waves_that_do_not_wait_for_each_other_are_one_step() -> None:
    jobs = [job(name) for name in ("1", "2", "3")]
    plan = make_plan(jobs, [binds("1", "a"), binds("2", "b"), binds("3", "c")])
    first, second, third = plan.waves
    waves = (first, second.model_copy(update={"after": ()}), third)
    assert [line.split()[0] for line in told(plan.model_copy(update={"waves": waves}))] == [
        "1",
        "1",
        "2",
    ]


def test_who_moves_leaves_and_comes_back() -> None:
    moved = move("a/5", "n1", "n4", PodRef(name="5"))
    plan = make_plan([job("5", nodes=["n1"])], [[moved]])
    assert told(plan) == ["1 leave 5 1700000000 1 n1", "1 return 5 1700000000 1 n4"]


def test_all_tasks_of_a_job_may_share_one_node() -> None:
    plan = make_plan([job("5", 4)], [[bind("a/5", "n1", count=4)]])
    assert told(plan) == ["1 start 5 1700000000 1 n1"]


@pytest.mark.parametrize(
    ("plan", "why"),
    [
        (make_plan([job("5", uid="")], [binds("5", "n1")]), "does not know its id"),
        (make_plan([job("x;y")], [binds("x;y", "n1")]), "does not know its id"),
        (
            make_plan([job("5", 3)], [[bind("a/5", "n1", count=2), bind("a/5", "n2", count=1)]]),
            "two of its tasks share a node, and it has others",
        ),
        (
            make_plan([job("5", nodes=["n1", "n2"])], [[evict("a/5", "n1", count=1)]]),
            "it leaves as a whole, 2 tasks",
        ),
        (
            make_plan(
                [job("5", nodes=["n1"])],
                [[move("a/5", "n1", "n2", PodRef(name="5"), mode="live")]],
            ),
            "Slurm moves nobody live",
        ),
    ],
)
def test_what_slurm_cannot_be_held_to_is_advice(plan: Plan, why: str) -> None:
    assert told(plan) == []
    text = render(plan, Asked()).text
    assert "nothing to do; 1 more left to you" in text
    (line,) = (line for line in text.splitlines() if line.startswith("# Left to you: "))
    assert why in line


def test_what_waits_for_advice_is_advice_and_nobody_leaves_in_vain() -> None:
    jobs = [job("1", nodes=["n1", "n2"]), job("2"), job("3", nodes=["n3"]), job("4", 3)]
    plan = make_plan(jobs, [[evict("a/1", "n1", count=1)], binds("2", "n1")])
    assert told(plan) == []
    assert "it waits for a/1, which is left to you" in render(plan, Asked()).text
    victim = evict("a/3", "n3", count=1, heir="a/4")
    shared = [bind("a/4", "n3", count=2), bind("a/4", "n4", count=1)]
    plan = make_plan(jobs, [[victim], shared])
    with pytest.raises(UsageError, match="1 pod to evict for jobs that it cannot bind"):
        told(plan)
    assert told(plan, Asked(evict_anyway=True)) == ["1 evict 3 1700000000 1 n3"]


def test_the_script_knows_whose_limits_a_plan_has_counted() -> None:
    jobs = [job("1").model_copy(update={"queue_name": "own"}), job("2")]
    text = render(make_plan(jobs, [binds("1", "n1"), binds("2", "n2")]), Asked()).text
    assert "\nlimited=1\n" in text


def test_the_script_is_sound_for_a_posix_shell(tmp_path: Path) -> None:
    path = tmp_path / "plan.sh"
    path.write_text(render(make_plan([job("1")], [binds("1", "n1")]), Asked()).text)
    for shell in ("sh", "dash", "bash --posix", "busybox sh"):
        words = shell.split()
        if shutil.which(words[0]):
            subprocess.run([*words, "-n", str(path)], check=True)
    used = subprocess.run(["sh", str(path), "--bad"], capture_output=True, text=True)
    assert used.returncode == 2
    assert used.stderr.startswith("found '--bad', expected one of the options below\nusage: ")
    if shutil.which("shellcheck") is None:
        pytest.skip("shellcheck is not installed: the script was not looked through")
    done = subprocess.run(["shellcheck", "-s", "sh", str(path)], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")
