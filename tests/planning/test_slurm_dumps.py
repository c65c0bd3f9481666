"""What Slurm did between two dumps: by id and restarts, no false accusation, each fault found."""

from __future__ import annotations

import pytest

from kantopt.clock import Deadline
from kantopt.errors import BadDataError
from kantopt.planning.certificates.between import Between, became_of
from kantopt.planning.certificates.check import check_certificate
from kantopt.planning.certify import certify
from kantopt.planning.question import Import, question_of
from kantopt.planning.solving.options import Options
from kantopt.schema.answers.certificate import Certificate
from kantopt.schema.dump import dump_data
from kantopt.schema.extends import load_model
from kantopt.schema.files import parse_documents
from kantopt.schema.raw import RawDocument

START = 1_788_000_000
HEAD = (
    "PartitionName=main\n   PriorityTier=1 State=UP PreemptMode=REQUEUE Nodes=ALL\n\n"
    "PartitionName=high\n   PriorityTier=9 State=UP PreemptMode=REQUEUE Nodes=ALL\n\n"
    "SwitchName=s1 Nodes=n[1-2]\nSwitchName=s2 Nodes=n[3-4]\nSwitchName=top Switches=s[1-2]\n"
)


def nodes(**states: str) -> str:
    """Four nodes of 8 GPUs below two leaves."""
    return "".join(
        f"NodeName=n{k} CPUTot=8 RealMemory=1000 Gres=gpu:8 State={states.get(f'n{k}', 'IDLE')}\n"
        for k in range(1, 5)
    )


def config(seconds: int) -> str:
    return (
        f"Configuration data as of {START + seconds}\nClusterName = lab\n"
        "PreemptMode = REQUEUE\nPreemptType = preempt/partition_prio\n"
    )


def waits(number: str, count: int = 1, *, at: int = 0, more: str = "") -> str:
    return (
        f"JobId={number} Account=ml Partition=main Priority=5 Requeue=1 BatchFlag=1 "
        f"JobState=PENDING Reason=Resources Restarts=0 SubmitTime={START + at} NumNodes={count} "
        f"NumTasks={count} NumCPUs={count} TresPerNode=gres:gpu:8 {more}\n"
    )


def runs(number: str, hosts: str, count: int = 1, *, at: int = 0, more: str = "") -> str:
    return (
        waits(number, count, at=at).replace("PENDING Reason=Resources", "RUNNING Reason=None")[:-1]
        + f"StartTime={START + at + 50} NodeList={hosts} {more}\n"
    )


def was(text: str, state: str) -> str:
    """The same job, ended."""
    return text.replace("JobState=RUNNING Reason=None", f"JobState={state}")


def raws_of(
    text: str, seconds: int, states: dict[str, str] | None = None, by: str = "partition_prio"
) -> list[RawDocument]:
    set_up = config(seconds).replace("preempt/partition_prio", f"preempt/{by}")
    whole = nodes(**(states or {})) + HEAD + text + set_up
    return parse_documents(whole.encode(), f"dump-{seconds}.txt")


def certified(
    first: str,
    later: str,
    states: dict[str, str] | None = None,
    *,
    before_that: dict[str, str] | None = None,
    qos: str = "",
    by: str = "partition_prio",
) -> Certificate:
    """Certify what became of the first dump, and check the certificate."""
    before = raws_of(first + qos, 100, before_that, by)
    after = raws_of(later + qos, 200, states, by)
    model, question = load_model("mixed"), question_of(before)
    found = became_of(question, before, after, Import(), model)
    assert isinstance(found, Between)
    limit = Deadline.within(20)
    certificate = certify(question, model, Options(workers=1), limit, later=found)
    raw = RawDocument("certificate", 0, dump_data(certificate))
    assert check_certificate(certificate, raw, before, None, after).findings == ()
    return certificate


def became(certificate: Certificate) -> dict[str, str]:
    """What became of each pod."""
    assert certificate.history is not None
    return {fate.pod.removeprefix("ml/"): fate.became for fate in certificate.history.gone}


R = runs("1", "n1")
AGAIN = waits("1", at=150).replace("Restarts=0", "Restarts=1").replace("Resources", "BeginTime")


@pytest.mark.parametrize(
    ("first", "later", "told"),
    [
        (R, R, {}),
        (R, was(R, "COMPLETED"), {"1": "finished"}),
        (R, was(R, "FAILED"), {"1": "failed"}),
        (R, was(R, "TIMEOUT"), {"1": "failed"}),
        (R, was(R, "OUT_OF_MEMORY"), {"1": "failed"}),
        (R, was(R, "CANCELLED"), {"1": "cancelled"}),
        (R, was(R, "PREEMPTED"), {"1": "preempted"}),
        (R, was(R, "NODE_FAIL"), {"1": "node gone"}),
        (R, was(R, "COMPLETING"), {"1": "unknown"}),
        (R, "", {"1": "unknown"}),
        (R, runs("1", "n2", at=150), {"1": "unknown"}),  # the ids have begun anew
        (R, AGAIN, {"1": "requeued"}),
        (R, runs("1", "n2", at=150).replace("Restarts=0", "Restarts=1"), {"1": "requeued"}),
        (runs("1", "n[1-2]", 2), runs("1", "n1", 1), {"1:n2": "scaled down"}),
        (runs("7", "n1", more="ArrayJobId=5 ArrayTaskId=2"), "", {"5_2": "unknown"}),
        (
            runs("7", "n1", more="ArrayJobId=5 ArrayTaskId=2"),
            waits("5", at=150, more="ArrayJobId=5 ArrayTaskId=2,4").replace(
                "Restarts=0", "Restarts=1"
            ),
            {"5_2": "requeued"},
        ),
    ],
)
def test_what_became_of_a_job_is_told_by_its_try(
    first: str, later: str, told: dict[str, str]
) -> None:
    certificate = certified(first, later)
    assert became(certificate) == told
    assert certificate.verdict == "OPTIMAL", certificate.findings


def test_a_job_requeued_since_its_node_is_down_went_with_it() -> None:
    assert became(certified(R, AGAIN, {"n1": "DOWN*"})) == {"1": "node gone"}


def test_who_may_preempt_and_came_has_preempted_and_a_better_plan_spares_the_victim() -> None:
    urgent = runs("2", "n1", at=140).replace("Partition=main", "Partition=high")
    certificate = certified(R, AGAIN + urgent)
    assert became(certificate) == {"1": "preempted"}
    assert certificate.verdict == "BETTER"
    assert certificate.counter_example is not None
    assert certificate.counter_example.spared == ("ml/1",)
    # Nothing is preempted by who may not: then it was requeued by somebody.
    certificate = certified(R, AGAIN + runs("2", "n1", at=140))
    assert became(certificate) == {"1": "requeued"}
    assert certificate.verdict == "OPTIMAL"


HIGH = runs("2", "n1", at=140).replace("Partition=main", "Partition=high")


@pytest.mark.parametrize(
    ("again", "came", "booted"),
    [
        (AGAIN, HIGH.replace(f"SubmitTime={START + 140}", f"SubmitTime={START + 151}"), None),
        (AGAIN, HIGH.replace(f"StartTime={START + 190}", f"StartTime={START + 9000}"), None),
        (AGAIN.replace("Priority=5", "Priority=0"), HIGH, None),
        (AGAIN, HIGH, 160),
    ],
    ids=["came later", "started much later", "held by hand", "its node was started anew"],
)
def test_nobody_preempts_by_coming_to_a_node_that_others_took_a_job_from(
    again: str, came: str, booted: int | None
) -> None:
    boot = {} if booted is None else {"n1": f"IDLE BootTime={START + booted}"}
    certificate = certified(R, again + came, boot)
    assert became(certificate) == {"1": "requeued"}
    assert certificate.verdict == "OPTIMAL"


def test_a_job_preempted_long_before_another_came_was_not_preempted_for_it() -> None:
    gone = was(R, "PREEMPTED")[:-1] + f" EndTime={START + 130}\n"
    certificate = certified(R, gone + HIGH)
    assert became(certificate) == {"1": "preempted"}
    assert certificate.verdict == "OPTIMAL"


@pytest.mark.parametrize(("qos", "told"), [("c", "requeued"), ("high", "preempted")])
def test_by_qos_only_who_lists_it_has_preempted_another(qos: str, told: str) -> None:
    by_qos = "Name|Priority|Preempt|PreemptMode\nlow|0||requeue\nb|0||requeue\n"
    by_qos += "high|0|low|cluster\nc|0|b|cluster\n"
    low = " QOS=low\n"
    first, later = R[:-1] + low, AGAIN[:-1] + low + runs("2", "n1", at=140, more=f"QOS={qos}")
    certificate = certified(first, later, qos=by_qos, by="qos")
    assert became(certificate) == {"1": told}


def test_jobs_that_came_since_and_wait_blame_nobody() -> None:
    certificate = certified(R, R + waits("9", 4, at=150))
    assert certificate.history is not None
    assert certificate.history.waiting == ("ml/9",)
    assert certificate.verdict == "OPTIMAL"


def test_what_the_script_of_a_plan_holds_waits_in_either_dump() -> None:
    mark = "AdminComment=kantopt:12ab:ReqNodeList=:1,1:99"
    held = waits("9", more=f"ReqNodeList=n3 {mark}").replace(
        "Reason=Resources", "Reason=JobHeldAdmin"
    )
    held = held.replace("Priority=5", "Priority=0")
    full = "".join(runs(f"{k}", f"n{k}") for k in range(1, 5))
    # It came since, and waits for a node that would be free if job 1 were not there.
    found = certified(R, R + held.replace(f"SubmitTime={START}", f"SubmitTime={START + 150}"))
    assert found.history is not None
    assert found.history.waiting == ("ml/9",)
    assert found.verdict == "OPTIMAL"
    # It waited before, held, and waits still: there is room for it now that job 1 is gone.
    released = waits("9")
    later = full.replace(R, "")
    for first, then in ((held, held), (held, released), (released, held)):
        found = certified(full + first, later + then)
        assert (found.verdict, found.history and found.history.waiting) == ("BETTER", ())
    # Held by somebody else it does not wait: nobody is to give it nodes.
    other = held.replace(mark, "")
    found = certified(full + other, later + other)
    assert (found.verdict, found.history and found.history.waiting) == ("OPTIMAL", ())


def test_a_job_that_started_is_judged_by_the_nodes_that_it_has() -> None:
    gang = "Switches=1@00:01:00"
    first = runs("1", "n[1-2]", 2) + waits("2", 2, more=gang)
    certificate = certified(first, R + runs("2", "n[3-4]", 2, at=0, more=gang))
    assert (certificate.verdict, became(certificate)) == ("OPTIMAL", {"1:n2": "scaled down"})
    # Not below one switch, and it started when it had waited for 50 seconds of 60.
    certificate = certified(waits("2", 2, more=gang), runs("2", "n[2-3]", 2, more=gang))
    assert [finding.rule for finding in certificate.findings] == ["topology"]
    # It had waited for as long as it was to.
    gang = "Switches=1@00:00:40"
    certificate = certified(waits("2", 2, more=gang), runs("2", "n[2-3]", 2, more=gang))
    assert certificate.findings == ()


@pytest.mark.parametrize("more", ["ExcNodeList=n3", "Features=none"])
def test_a_job_where_it_may_not_be_is_a_fault(more: str) -> None:
    certificate = certified(waits("2", more=more), runs("2", "n3", more=more))
    assert [finding.rule for finding in certificate.findings] == ["eligibility"]


def test_a_job_on_a_node_that_was_down_all_along_is_a_fault() -> None:
    down = {"n1": "DOWN"}
    certificate = certified(waits("2"), runs("2", "n1"), down, before_that=down)
    assert [finding.rule for finding in certificate.findings] == ["eligibility"]
    assert certified(waits("2"), runs("2", "n1"), down).findings == ()


def test_two_jobs_on_the_same_gpus_are_a_fault_and_a_node_drained_since_is_none() -> None:
    certificate = certified(R + waits("2"), R + runs("2", "n1"))
    assert [finding.rule for finding in certificate.findings] == ["capacity"]
    certificate = certified(waits("2"), runs("2", "n1"), {"n1": "MIXED+DRAIN"})
    assert certificate.findings == ()


def test_required_nodes_uneven_shares_and_components_are_found_where_they_are() -> None:
    some = "ReqNodeList=n1"
    shares = (
        "\n     Nodes=n1 CPU_IDs=0 Mem=1 GRES=gpu:8\n     Nodes=n3 CPU_IDs=0-3 Mem=1 GRES=gpu:8"
    )
    first = waits("2", 2, more=some)
    first += waits("4", more="HetJobId=4 HetJobOffset=0")
    first += waits("5", more="HetJobId=4 HetJobOffset=1")
    later = runs("2", "n[1,3]", 2, more=some + shares)
    later += runs("4", "n2", more="HetJobId=4 HetJobOffset=0")
    later += runs("5", "n4", more="HetJobId=4 HetJobOffset=1")
    certificate = certified(first, later)
    assert certificate.findings == ()
    placed = {(item.job, item.node) for item in certificate.plan.assignments}
    assert placed == {("ml/2", "n1"), ("ml/2", "n3"), ("ml/4", "n2"), ("ml/4", "n4")}


def test_what_is_not_modelled_is_taken_for_given() -> None:
    licence = "Licenses=matlab:1"
    certificate = certified(waits("2", more=licence), runs("2", "n3", more=licence))
    assert certificate.verdict == "OPTIMAL"
    assert certificate.plan.assignments == ()


def test_a_quota_that_a_qos_had_all_along_is_kept() -> None:
    qos = "Name|Priority|GrpTRES\nteam|0|gres/gpu=8\n"
    first = waits("2", more="QOS=team") + runs("3", "n4", more="QOS=team")
    later = runs("2", "n1", more="QOS=team") + was(runs("3", "n4", more="QOS=team"), "COMPLETED")
    assert certified(first, later, qos=qos).findings == ()
    later = runs("2", "n1", more="QOS=team") + runs("3", "n4", more="QOS=team")
    assert [f.rule for f in certified(first, later, qos=qos).findings] == ["quota"]


def test_jobs_alone_do_for_a_later_dump() -> None:
    before = raws_of(R + waits("2"), 100)
    after = parse_documents((R + runs("2", "n2")).encode(), "jobs.txt")
    found = became_of(question_of(before), before, after, Import(), load_model("mixed"))
    assert isinstance(found, Between)
    assert (found.history.stayed, found.history.placed) == (1, 1)
    assert found.history.nodes_removed == ()


def test_a_later_dump_of_another_system_is_refused() -> None:
    before = raws_of(R, 100)
    after = [RawDocument("pods.json", 0, {"apiVersion": "v1", "kind": "Pod"})]
    with pytest.raises(BadDataError, match="found a dump of Kubernetes, expected a later dump of"):
        became_of(question_of(before), before, after, Import(), load_model("mixed"))


def test_a_certificate_about_slurm_names_what_a_dump_of_slurm_does_not_show() -> None:
    certificate = certified(waits("7"), runs("7", "n1"))
    (said,) = (text for text in certificate.assumed.left_out if "no dump shows" in text)
    assert "limits of accounts" in said
    assert "plugins, extenders" not in said


def test_dumps_of_slurm_given_the_wrong_way_round_are_refused() -> None:
    first, later = raws_of(waits("1"), 100), raws_of(runs("1", "n1"), 200)
    with pytest.raises(BadDataError, match="an earlier dump"):
        became_of(question_of(later), later, first, Import(), load_model("mixed"))
