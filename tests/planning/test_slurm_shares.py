"""What Slurm started between two dumps on CPUs that others have as well: no accusation."""

from __future__ import annotations

import pytest

from tests.planning.test_slurm_dumps import became, certified, runs, waits

CPUS = {"NumCPUs=1": "NumCPUs=8", "TresPerNode=gres:gpu:8 ": ""}


def of_cpus(text: str, **more: str) -> str:
    """The same job for all CPUs of a node and none of its GPUs."""
    for old, new in (CPUS | more).items():
        text = text.replace(old, new)
    return text


def test_a_job_that_others_were_suspended_for_has_their_cpus() -> None:
    low, high = of_cpus(runs("1", "n1")), of_cpus(waits("2"), main="high")
    paused = low.replace("JobState=RUNNING", "JobState=SUSPENDED")
    started = of_cpus(runs("2", "n1"), main="high")
    certificate = certified(low + high, paused + started)
    assert certificate.verdict != "ILLEGAL"
    assert certificate.findings == ()
    assert became(certificate) == {}
    # Nor where it started and was suspended in its turn.
    third = of_cpus(runs("3", "n1", at=150), main="high")
    later = paused + started.replace("JobState=RUNNING", "JobState=SUSPENDED") + third
    assert certified(low + high, later).findings == ()


def test_a_job_that_got_a_whole_node_of_a_suspended_one_is_not_held_against_slurm() -> None:
    """Preemption gives it memory and GRES as well."""
    low = of_cpus(runs("1", "n1")).replace("Requeue=1", "OverSubscribe=NO Requeue=1")
    whole = "\n     Nodes=n1 CPU_IDs=0-7 Mem=1000 GRES=gpu:8(IDX:0-7)\n"
    paused = low.replace("JobState=RUNNING", "JobState=SUSPENDED")
    high = of_cpus(waits("2"), main="high").replace("Requeue=1", "OverSubscribe=NO Requeue=1")
    started = of_cpus(runs("2", "n1"), main="high").replace(
        "Requeue=1", "OverSubscribe=NO Requeue=1"
    )
    certificate = certified(low[:-1] + whole + high, paused[:-1] + whole + started[:-1] + whole)
    assert certificate.findings == ()


@pytest.mark.parametrize("how", ["YES:2", "FORCE:2"])
def test_jobs_that_share_cpus_are_not_held_against_slurm(how: str) -> None:
    part = f"PartitionName=shared\n   State=UP Nodes=ALL OverSubscribe={how}\n\n"
    one, other = (
        of_cpus(text, main="shared", Requeue="OverSubscribe=YES Requeue")
        for text in (runs("1", "n1"), waits("2"))
    )
    started = of_cpus(runs("2", "n1"), main="shared", Requeue="OverSubscribe=YES Requeue")
    assert certified(one + other + part, one + started + part).findings == ()


def test_a_job_on_cpus_of_its_own_that_others_have_is_still_a_fault() -> None:
    first, later = of_cpus(runs("1", "n1")), of_cpus(runs("2", "n1"))
    (finding,) = certified(first + of_cpus(waits("2")), first + later).findings
    assert finding.rule == "capacity"


@pytest.mark.parametrize(
    ("again", "legal"),
    [("fan again [root@1788000180]", True), ("fan [root@1788000010]", False)],
)
def test_a_node_that_was_open_between_two_drains_was_open_to_jobs(again: str, legal: bool) -> None:
    drained = {"n1": "IDLE+DRAIN Reason=fan [root@1788000010]"}
    later = {"n1": f"MIXED+DRAIN Reason={again}"}
    certificate = certified(waits("1"), runs("1", "n1", at=100), later, before_that=drained)
    assert (certificate.verdict != "ILLEGAL") is legal


def test_who_waited_already_and_was_held_has_not_come_since() -> None:
    array = waits("5", more="ArrayJobId=5 ArrayTaskId=3-5%1 ArrayTaskThrottle=1")
    held = array.replace("Reason=Resources", "Reason=JobArrayTaskLimit")
    full = "".join(runs(f"{k}", f"n{k}") for k in range(6, 10)).replace("n6", "n1")
    full = full.replace("n7", "n2").replace("n8", "n3").replace("n9", "n4")
    history = certified(full + held, full + array).history
    assert history is not None
    assert history.waiting == ()
    assert history.freed == ("ml/5_3", "ml/5_4", "ml/5_5")
    # Nor has who was put back into the queue: what became of it is told.
    again = waits("6", at=150).replace("Restarts=0", "Restarts=1")
    history = certified(full, again + full.replace(runs("6", "n1"), "")).history
    assert history is not None
    assert (history.waiting, history.freed) == ((), ())
    assert [fate.became for fate in history.gone] == ["requeued"]
