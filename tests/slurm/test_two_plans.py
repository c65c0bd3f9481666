"""What a job asked for comes back: after a plan that ends early, and when it leaves again."""

from __future__ import annotations

import re
import signal
from pathlib import Path

import pytest

from kantopt.render.slurm import render
from kantopt.render.targets import Asked
from kantopt.schema.answers.plan import Plan
from kantopt.schema.jobs import Assignment, Job, PodSet
from tests.render.plans import bind, evict, make_plan
from tests.slurm.cluster import Slurm
from tests.slurm.story import follow, interrupt, submit


def job_of(slurm: Slurm, identity: str, count: int) -> Job:
    """A job as a plan would know it: by id and submission, and by the nodes it runs on."""
    since = slurm.run(
        "env", "SLURM_TIME_FORMAT=%s", "squeue", "-h", "--format=%V", f"--jobs={identity}"
    )
    places = tuple(Assignment(node=node, count=1) for node in slurm.hosts(identity))
    sets = (PodSet(count=len(places) or count, assignments=places),)
    return Job(name=identity, namespace="a", uid=f"{identity}@{since.strip()}", pod_sets=sets)


def script_of(slurm: Slurm, plan: Plan) -> Path:
    """Write the script of a plan."""
    path = slurm.folder / "made.sh"
    path.write_text(render(plan, Asked()).text)
    return path


def obey(slurm: Slurm, plan: Plan) -> str:
    """Follow a plan; return what the script says."""
    done = follow(slurm, script_of(slurm, plan))
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_how_many_nodes_a_job_wanted_comes_back_with_the_rest(slurm: Slurm) -> None:
    victim = submit(slurm, "victim", 8)
    slurm.await_state("RUNNING", victim)
    elastic = submit(slurm, "elastic", 2, "--nodes=2-4")
    leaving = [evict(f"a/{victim}", node, count=1) for node in slurm.hosts(victim)]
    coming = [bind(f"a/{elastic}", node, count=1) for node in ("n1", "n2", "n3")]
    jobs = [job_of(slurm, victim, 8), job_of(slurm, elastic, 4)]
    path = script_of(slurm, make_plan(jobs, [leaving, coming], captured_at=None))
    interrupt(slurm, path, f"job {victim} leaves", signal.SIGKILL)
    held = slurm.job(elastic)
    assert (held["NumNodes"], held["ReqNodeList"]) == ("3-3", "n[1-3]")
    # Else it may have started by the time that is looked: then it has as many nodes as it got.
    slurm.run("scontrol", "update", "PartitionName=main", "State=DOWN")
    assert follow(slurm, path, "--undo").returncode == 0
    freed = slurm.job(elastic)
    slurm.run("scontrol", "update", "PartitionName=main", "State=UP")
    assert (freed["NumNodes"], freed["ReqNodeList"]) == ("2-4", "(null)")


@pytest.mark.parametrize(
    ("options", "count"),
    [
        (("--nodes=2-4", "--ntasks-per-node=4"), 3),  # CPUs come with nodes
        (("--nodes=2-4", "--ntasks=4", "--cpus-per-task=40"), 3),  # Slurm expects to give four
        (("--ntasks=4", "--cpus-per-task=40"), 4),
        (("--ntasks=4",), 1),
    ],
)
def test_what_a_job_asked_for_is_not_what_slurm_expects_to_give_it(
    slurm: Slurm, options: tuple[str, ...], count: int
) -> None:
    victim = submit(slurm, "victim", 8)
    slurm.await_state("RUNNING", victim)
    waits = slurm.submit("waits", "--mem=1G", "--gpus-per-node=1", *options)
    before = sizes(slurm, waits)
    leaving = [evict(f"a/{victim}", node, count=1) for node in slurm.nodes]
    coming = [bind(f"a/{waits}", node, count=1) for node in slurm.nodes[:count]]
    jobs = [job_of(slurm, victim, 8), job_of(slurm, waits, count)]
    path = script_of(slurm, make_plan(jobs, [leaving, coming], captured_at=None))
    interrupt(slurm, path, f"job {victim} leaves", signal.SIGKILL)
    assert sizes(slurm, waits) != before
    slurm.run("scontrol", "update", "NodeName=ALL", "State=DRAIN", "Reason=disks")  # it waits on
    assert follow(slurm, path, "--undo").returncode == 0
    assert sizes(slurm, waits) == before


def test_what_slurm_says_of_a_job_that_does_not_start_is_told(slurm: Slurm) -> None:
    stays = submit(slurm, "stays", 8)
    slurm.await_state("RUNNING", stays)
    waits = submit(slurm, "waits", 1)
    slurm.wait(lambda: slurm.job(waits)["Reason"] == "Resources", lambda: slurm.run("squeue"))
    plan = make_plan(
        [job_of(slurm, waits, 1)], [[bind(f"a/{waits}", "n1", count=1)]], captured_at=None
    )
    done = follow(slurm, script_of(slurm, plan), "--wait", "5")
    assert done.returncode == 1
    assert re.search(rf"in vain for jobs {waits} \([A-Z]\w+[^)]*\) to run", done.stdout), (
        done.stdout
    )


def sizes(slurm: Slurm, identity: str) -> tuple[str, ...]:
    """CPUs, tasks, least and most nodes of a job: who names none has a node for each task."""
    job = slurm.job(identity)
    least = re.search(r"node=(\d+)", job["TRES"])
    most = job["NumNodes"].partition("-")[2] or job["NumTasks"]
    return (job["NumCPUs"], job["NumTasks"], least[1] if least else "", most)


def test_a_victim_that_a_plan_had_pinned_may_run_anywhere_again(slurm: Slurm) -> None:
    full = submit(slurm, "full", 8)
    slurm.await_state("RUNNING", full)
    elastic = submit(slurm, "elastic", 2, "--nodes=2-4", "--exclude=n8")
    assert slurm.job(elastic)["NumNodes"] == "2-4"
    leaving = [evict(f"a/{full}", node, count=1) for node in slurm.nodes]
    chosen = ("n2", "n5", "n7")
    coming = [bind(f"a/{elastic}", node, count=1) for node in chosen]
    jobs = [job_of(slurm, full, 8), job_of(slurm, elastic, 4)]
    said = obey(slurm, make_plan(jobs, [leaving, coming], captured_at=None))
    assert "nobody looks who started since" in said
    assert slurm.hosts(elastic) == list(chosen)
    pinned = slurm.job(elastic)
    assert (pinned["ReqNodeList"], pinned["ExcNodeList"]) == ("n[2,5,7]", "n8")
    assert pinned["NumNodes"] == "3"
    victims = [evict(f"a/{elastic}", node, count=1) for node in chosen]
    obey(slurm, make_plan([job_of(slurm, elastic, 3)], [victims]))
    freed = slurm.job(elastic)
    assert (freed["JobState"], freed["ReqNodeList"]) == ("PENDING", "(null)")
    assert freed["ExcNodeList"] == "n8"
    assert "kantopt" not in slurm.run("scontrol", "show", "job", elastic)


def test_tasks_of_a_job_that_share_one_node_start_there(slurm: Slurm) -> None:
    full = submit(slurm, "full", 8)
    slurm.await_state("RUNNING", full)
    tasks = slurm.submit("tasks", "--ntasks=4", "--gpus-per-task=2", "--mem-per-cpu=1G")
    slurm.wait(lambda: slurm.job(tasks)["Reason"] != "None", lambda: slurm.run("squeue"))
    before = slurm.job(tasks)
    leaving = [evict(f"a/{full}", node, count=1) for node in slurm.nodes]
    coming = [bind(f"a/{tasks}", "n6", count=4)]
    jobs = [job_of(slurm, full, 8), job_of(slurm, tasks, 4)]
    path = script_of(slurm, make_plan(jobs, [leaving, coming], captured_at=None))
    interrupt(slurm, path, f"job {full} leaves", signal.SIGKILL)
    assert slurm.job(tasks)["ReqNodeList"] == "n6"
    assert follow(slurm, path).returncode == 0
    runs = slurm.job(tasks)
    assert (slurm.hosts(tasks), runs["NumTasks"]) == (["n6"], "4")
    slurm.run("scontrol", "requeuehold", tasks)
    slurm.await_state("PENDING", tasks)
    victims = [evict(f"a/{tasks}", "n6", count=1)]
    obey(slurm, make_plan([job_of(slurm, tasks, 4)], [victims]))
    freed = slurm.job(tasks)
    for name in ("NumNodes", "NumTasks", "ReqNodeList", "MinMemoryCPU"):
        assert freed[name] == before[name]


def test_a_job_that_slurm_queues_again_may_run_anywhere_if_that_is_asked(slurm: Slurm) -> None:
    full = submit(slurm, "full", 8)
    slurm.await_state("RUNNING", full)
    job = submit(slurm, "job", 2, "--exclude=n8")
    leaving = [evict(f"a/{full}", node, count=1) for node in slurm.nodes]
    coming = [bind(f"a/{job}", node, count=1) for node in ("n2", "n5")]
    jobs = [job_of(slurm, full, 8), job_of(slurm, job, 2)]
    said = obey(slurm, make_plan(jobs, [leaving, coming]))
    assert (
        "If Slurm queues one again it waits for the same nodes: --undo lets it go anywhere." in said
    )
    path = slurm.folder / "made.sh"
    fails = ("scontrol", "update", "NodeName=n5", "State=DOWN", "Reason=disk")
    slurm.run(*fails)
    slurm.await_state("PENDING", job)
    assert slurm.job(job)["ReqNodeList"] == "n[2,5]"
    done = follow(slurm, path, "--undo")
    assert done.returncode == 0, done.stdout
    freed = slurm.job(job)
    assert (freed["ReqNodeList"], freed["ExcNodeList"]) == ("(null)", "n8")
    assert freed["NumNodes"] in ("2", "2-2")
    assert freed["Priority"] != "0"
    assert "kantopt" not in slurm.run("scontrol", "show", "job", job)
