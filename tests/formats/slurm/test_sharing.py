"""With whom jobs of Slurm share their nodes."""

from __future__ import annotations

import pytest

from kantopt.api import plan
from kantopt.formats.imported import Imported
from kantopt.formats.slurm.cluster import import_slurm
from kantopt.formats.slurm.export import export_slurm
from kantopt.planning.question import question_of
from kantopt.schema.files import parse_documents
from kantopt.verify.rules import check
from tests.questions import model

NODES = "".join(
    f"NodeName=n{i} CPUTot=8 RealMemory=8000 State=IDLE Partitions=main\n" for i in (1, 2)
)
ASKED = "Partition=main NumNodes=1 NumCPUs=2 NumTasks=1 CPUs/Task=2 MinMemoryNode=1G Requeue=0"


def waits(number: int, user: str, shared: str, account: str = "team") -> str:
    return (
        f"JobId={number} UserId={user}(1) Account={account} JobState=PENDING Reason=Resources "
        f"OverSubscribe={shared} {ASKED}\n"
    )


def runs(number: int, user: str, shared: str, node: str, account: str = "team") -> str:
    return (
        f"JobId={number} UserId={user}(1) Account={account} JobState=RUNNING NodeList={node} "
        f"OverSubscribe={shared} {ASKED}\n  Nodes={node} CPU_IDs=0-1 Mem=1024 GRES=\n"
    )


def imported(*jobs: str, partitions: str = "") -> Imported:
    text = partitions + NODES + "".join(jobs)
    return import_slurm(parse_documents(text.encode(), "dump.txt"))


def places(read: Imported) -> dict[str, str]:
    made = plan(read.snapshot, read.pending, engine="fast")
    return {each.job.rpartition("/")[2]: each.node for each in made.assignments}


def test_who_is_alone_with_jobs_of_its_user_shares_nodes_with_these() -> None:
    of_another = runs(2, "bob", "OK", "n2", account="lab")
    read = imported(runs(1, "eve", "USER", "n1"), of_another, waits(3, "eve", "USER"))
    assert places(read) == {"3": "n1"}
    there = [runs(k, "eve", "USER", "n1") for k in (1, 3)]
    raws = parse_documents((NODES + "".join(there)).encode(), "dump.txt")
    instance = question_of(raws).instance(model("moves"))
    assert not check(instance, instance.current)


def test_nobody_of_another_user_comes_to_who_is_alone_with_jobs_of_its_user() -> None:
    alone = [runs(k, "eve", "USER", f"n{k}") for k in (1, 2)]
    assert places(imported(*alone, waits(3, "bob", "OK", account="lab"))) == {}
    assert places(imported(*alone, waits(3, "eve", "OK"))).keys() == {"3"}


def test_a_partition_of_which_each_node_is_for_one_user_is_obeyed() -> None:
    parts = "PartitionName=main Nodes=n[1-2] State=UP ExclusiveUser={}\n"
    jobs = (runs(1, "eve", "OK", "n1"), runs(2, "bob", "OK", "n2", account="lab"))
    for flag, expected in (("YES", set[str]()), ("NO", {"3"})):
        read = imported(*jobs, waits(3, "ann", "OK"), partitions=parts.format(flag))
        assert places(read).keys() == expected
    read = imported(*jobs, waits(3, "bob", "OK", account="lab"), partitions=parts.format("YES"))
    assert places(read) == {"3": "n2"}


def test_jobs_that_share_with_their_user_alone_find_their_way_back() -> None:
    read = imported(runs(1, "eve", "USER", "n1"), waits(2, "eve", "USER"), waits(3, "bob", "NO"))
    text, _ = export_slurm(read.snapshot, read.pending.jobs)
    assert [
        line.split("OverSubscribe=")[1].split()[0]
        for line in text.splitlines()
        if "OverSubscribe=" in line and "Contiguous" in line
    ] == ["USER", "USER", "NO"]


def sharing(how: str) -> str:
    return f"PartitionName=main Nodes=n[1-2] State=UP OverSubscribe={how}\n"


@pytest.mark.parametrize(
    ("how", "asks", "out"),
    [
        ("FORCE:4", "OK", True),
        ("FORCE", "OK", True),
        ("FORCE:1", "OK", False),
        ("YES:4", "YES", True),
        ("YES:4", "OK", False),
        ("NO", "YES", False),
    ],
)
def test_jobs_that_may_share_cpus_are_not_planned(how: str, asks: str, out: bool) -> None:
    read = imported(waits(1, "eve", asks), partitions=sharing(how))
    assert bool(read.pending.jobs) is not out
    assert any("may share CPUs with others" in note for note in read.notes) is out
    assert sum(read.held_back.values()) == int(out)


def test_cpus_that_jobs_share_count_once_and_these_stay() -> None:
    both = [runs(k, "eve", "YES", "n1") for k in (1, 2)]
    other = runs(3, "eve", "YES", "n1").replace("CPU_IDs=0-1", "CPU_IDs=1-4")
    own = runs(4, "bob", "OK", "n1").replace("CPU_IDs=0-1", "CPU_IDs=5-6")
    read = imported(*both, other, own, partitions=sharing("YES:4"))
    jobs = {job.name: job for job in read.snapshot.jobs}
    cpus = {name: job.pod_sets[0].requests.get("cpu", 0) for name, job in jobs.items()}
    assert cpus == {"1": 2, "2": 0, "3": 3, "4": 2}
    assert "shared-cpus" in jobs["1"].pod_sets[0].stays
    assert "shared-cpus" not in jobs["4"].pod_sets[0].stays
    assert not jobs["1"].movable
    assert not jobs["1"].preemptible


@pytest.mark.parametrize("shared", ["OK", "NO"])
def test_a_suspended_job_keeps_its_memory_and_gres_and_leaves_its_cpus(shared: str) -> None:
    gpus = "NodeName=g1 CPUTot=8 RealMemory=8000 Gres=gpu:8 State=IDLE Partitions=main\n"
    asked = ASKED.replace("Requeue=0", "Requeue=1").replace("NumCPUs=2", "NumCPUs=8")
    paused = (
        f"JobId=1 UserId=eve(1) JobState=SUSPENDED NodeList=g1 OverSubscribe={shared} BatchFlag=1 "
        f"{asked}\n  Nodes=g1 CPU_IDs=0-7 Mem=1024 GRES=gpu:2(IDX:0-1)\n"
    )
    other = waits(2, "bob", "OK").replace("NumCPUs=2", "NumCPUs=8")
    read = import_slurm(parse_documents((gpus + paused + other).encode(), "dump.txt"))
    (job,) = read.snapshot.jobs
    assert dict(job.pod_sets[0].requests) == {"memory": "1Gi", "nvidia.com/gpu": 2}
    assert job.pod_sets[0].stays == ("suspended",)
    assert not job.movable
    assert places(read) == {"2": "g1"}
    again, _ = export_slurm(read.snapshot, read.pending.jobs)
    assert import_slurm(parse_documents(again.encode(), "again.txt")).snapshot == read.snapshot
    # Nobody gets a node of its own on which a job is suspended.
    whole = other.replace("OverSubscribe=OK", "OverSubscribe=NO")
    read = import_slurm(parse_documents((gpus + paused + whole).encode(), "dump.txt"))
    assert places(read) == {}


def component(number: int, offset: int, of: int = 4, state: str = "PENDING", node: str = "") -> str:
    text = waits(number, "eve", "OK").replace("PENDING", state)
    return text.replace("UserId", f"HetJobId={of} HetJobOffset={offset} NodeList={node} UserId")


def test_components_of_one_job_get_nodes_of_their_own() -> None:
    """Slurm takes the nodes of a component out of those of the next."""
    read = imported(component(4, 0), component(5, 1))
    made = plan(read.snapshot, read.pending)
    assert {each.node for each in made.assignments} == {"n1", "n2"}
    read = imported(component(4, 0), component(5, 1), component(6, 2))
    made = plan(read.snapshot, read.pending)
    assert (made.assignments, made.solver.status) == ((), "OPTIMAL")
    other = [component(number, offset, 6) for number, offset in ((6, 0), (7, 1))]
    read = imported(component(4, 0), component(5, 1), *other)
    assert len(plan(read.snapshot, read.pending).assignments) == 4


def test_tasks_of_one_component_may_share_a_node_that_no_other_component_is_on() -> None:
    tasks = (
        component(5, 1).replace("NumTasks=1", "NumTasks=3").replace("MinMemoryNode", "MinMemoryCPU")
    )
    read = imported(component(4, 0), tasks.replace("NumCPUs=2", "NumCPUs=6"))
    made = plan(read.snapshot, read.pending)
    places = {(each.pod_set, each.node): each.count for each in made.assignments}
    assert len({node for _, node in places}) == 2
    assert sorted(places.values()) == [1, 3]
    text, _ = export_slurm(read.snapshot, read.pending.jobs)
    again = import_slurm(parse_documents(text.encode(), "again.txt"))
    assert again.pending == read.pending


def test_components_that_share_a_node_already_are_left_there() -> None:
    there = [component(4 + k, k, state="RUNNING", node="n1") for k in (0, 1)]
    read = imported(*there, waits(6, "bob", "OK"))
    made = plan(read.snapshot, read.pending)
    assert (len(made.assignments), made.solver.status) == (1, "OPTIMAL")
