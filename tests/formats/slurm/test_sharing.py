"""With whom jobs of Slurm share their nodes."""

from __future__ import annotations

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
