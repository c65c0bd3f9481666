"""What another scheduler did between two dumps: no false accusation, and each real fault found."""

from __future__ import annotations

import pytest

from kantopt.clock import Deadline
from kantopt.errors import BadDataError
from kantopt.formats.kubernetes.history.resized import at_its_smallest
from kantopt.formats.view import view_of
from kantopt.planning.certificates.arrivals import judge_arrivals
from kantopt.planning.certificates.between import NO_NODES, Between, became_of
from kantopt.planning.certificates.check import check_certificate
from kantopt.planning.certify import certify
from kantopt.planning.question import Import, question_of
from kantopt.planning.solving.options import Options
from kantopt.report.certificate import certificate_blocks
from kantopt.schema.answers.certificate import Certificate
from kantopt.schema.dump import dump_data
from kantopt.schema.extends import load_model
from kantopt.schema.raw import RawDocument
from tests.formats.cluster_objects import Object, node, pod
from tests.planning.dump_changes import CHANGES
from tests.planning.dump_claims import CLAIMED
from tests.planning.dump_company import COMPANY
from tests.planning.dump_faults import FAULTS
from tests.planning.dump_histories import HISTORIES
from tests.planning.dump_owners import OWNERS
from tests.planning.dump_pairs import DumpPair, ended, event, n, p
from tests.planning.dump_passing import PASSING
from tests.planning.dump_preemptors import PREEMPTORS
from tests.planning.dump_rivals import RIVALS
from tests.planning.dump_statefulsets import STATEFULSETS
from tests.planning.dump_twists import TWISTS
from tests.planning.simulated import dumps, planted

SECONDS = 20.0
"""Most of them take a tenth of a second; a busy machine takes its time."""


def raws_of(objects: list[Object]) -> list[RawDocument]:
    """Objects as a file of them."""
    return [RawDocument("dump", 0, {"apiVersion": "v1", "kind": "List", "items": objects})]


def certified(case: DumpPair) -> Certificate:
    """Certify what became of the first dump, and check the certificate."""
    first, later = raws_of(list(case.first)), raws_of(list(case.later))
    model, question = load_model("mixed"), question_of(first)
    found = became_of(question, first, later, Import(), model)
    assert isinstance(found, Between)
    limit = Deadline.within(SECONDS)
    certificate = certify(question, model, Options(workers=1), limit, later=found)
    raw = RawDocument("certificate", 0, dump_data(certificate))
    checked = check_certificate(certificate, raw, first, None, later)
    assert checked.findings == ()
    return certificate


@pytest.mark.parametrize(
    "case",
    [
        *(*HISTORIES, *STATEFULSETS, *TWISTS, *CHANGES, *FAULTS, *CLAIMED),
        *(*COMPANY, *PASSING, *OWNERS, *PREEMPTORS, *RIVALS),
    ],
    ids=lambda case: case.name,
)
def test_what_happened_between_two_dumps_is_told_and_nobody_falsely_accused(
    case: DumpPair,
) -> None:
    certificate = certified(case)
    history = certificate.history
    assert history is not None
    became = {fate.pod.removeprefix("default/"): fate.became for fate in history.gone}
    assert became == dict(case.became)
    faults = tuple(finding.rule for finding in certificate.findings)
    assert (certificate.verdict, faults) == (case.verdict, case.faults), certificate.findings
    assert tuple(item.subject for item in certificate.apart) == case.apart
    assert (history.waiting, history.freed) == (case.waiting, case.freed)
    better = certificate.counter_example
    assert ("" if better is None else better.tier) == case.tier


def test_beside_who_could_be_spared_stands_who_would_go_instead() -> None:
    [case] = [case for case in HISTORIES if "could have been spared" in case.name]
    certificate = certified(case)
    better = certificate.counter_example
    assert better is not None
    assert better.spared == ("default/web-1",)
    first = certificate_blocks(certificate)[0]
    assert "could have been spared: default/web-1." in str(first)
    [gone] = certificate.plan.evictions
    other = gone.model_copy(update={"pods": (gone.pods[0].model_copy(update={"name": "web-7"}),)})
    plan = better.plan.model_copy(update={"evictions": (other,)})
    changed = certificate.model_copy(
        update={"counter_example": better.model_copy(update={"plan": plan})}
    )
    said = "spared: default/web-1, where 1 other would go or move instead."
    assert said in str(certificate_blocks(changed)[0])


@pytest.mark.parametrize(
    ("priority", "said"),
    [(2, "; could have been spared: default/v, where 1 other would wait instead."), (9, ".")],
)
def test_nobody_is_spared_at_the_price_of_who_is_as_important(priority: int, said: str) -> None:
    victim = p("v", "a", "4", priority=5)
    policy = {"preemptionPolicy": "Never"} if priority > 5 else {}
    other = p("n", "b", "4", owner="Job/n", priority=priority, **policy)
    later = [event("Preempted", victim), p("p", "a", "4", owner="Job/p", priority=9), other]
    certificate = certified(DumpPair("", [n("a"), n("b"), victim], [n("a"), n("b"), *later]))
    assert certificate.verdict == "BETTER"
    assert str(certificate_blocks(certificate)[0].text).endswith(said)


@pytest.mark.parametrize(("priority", "told"), [(1, True), (9, False)])
def test_that_nobody_is_seen_for_whom_a_pod_was_preempted_is_told(
    priority: int, told: bool
) -> None:
    victim = p("v", "a", "4", priority=5)
    later = [ended(victim, "Failed", why="PreemptionByScheduler"), p("w", "a", priority=priority)]
    case = DumpPair("", [n("a"), victim, p("w", priority=priority)], [n("a"), *later])
    left_out = certified(case).assumed.left_out
    assert any("1 pod had to go that was preempted" in line for line in left_out) is told


def test_who_runs_elsewhere_since_it_was_preempted_is_judged_as_a_move() -> None:
    victim = p("v-1", "a", "4", owner="ReplicaSet/v", priority=5)
    again = p("v-2", "b", "4", owner="ReplicaSet/v", priority=5)
    first = [n("a"), n("b"), n("c"), victim, p("w", "", "4", priority=9)]
    gone = ended(victim, "Failed", why="PreemptionByScheduler")
    later = [n("a"), n("b"), n("c"), gone, again, p("w", "a", "4", priority=9)]
    certificate = certified(DumpPair("", first, later))
    assert certificate.verdict == "BETTER"
    assert len(certificate.plan.moves) == 1
    assert not any("nothing is judged of it" in line for line in certificate.assumed.left_out)


def judged(first: list[Object], later: list[Object]) -> list[str]:
    """Rules that came to be broken between two dumps."""
    model, raws, after = load_model("mixed"), raws_of(first), raws_of(later)
    found = became_of(question_of(raws), raws, after, Import(), model)
    assert isinstance(found, Between)
    return [fault.rule for fault in judge_arrivals(found, model)[0]]


@pytest.mark.parametrize("seed", range(60))
def test_a_scheduler_that_does_nothing_wrong_is_accused_of_nothing(seed: int) -> None:
    first, later = dumps(seed)
    assert judged(first, later) == []


@pytest.mark.parametrize("seed", range(60))
def test_a_fault_among_much_that_changed_is_found(seed: int) -> None:
    first, later = dumps(seed)
    wrong, rule = planted(later, seed)
    assert rule in judged(first, wrong)


@pytest.mark.parametrize("seed", range(6))
def test_certificates_of_what_happened_hold_when_they_are_checked(seed: int) -> None:
    first, later = dumps(seed)
    certificate = certified(DumpPair(f"{seed}", first, later))
    assert certificate.verdict != "ILLEGAL"


def test_that_better_plans_have_new_nodes_from_the_beginning_is_assumed() -> None:
    """A victim that is spared by a node which came after it went was spared by nobody's fault."""
    (case,) = (case for case in HISTORIES if case.name.startswith("a node was added, a pending"))
    said = "when 1 node came: better plans have it from the beginning"
    assert said in certified(case).assumed.left_out


def test_a_pod_made_anew_under_its_name_is_the_one_that_its_owner_has_since() -> None:
    """Of a StatefulSet all pods are new; each stands for the one that was called so."""
    sets = [pod(f"db-{i}", on="a", owner="StatefulSet/db") for i in range(2)]
    later = [
        pod(f"db-{i}", on="a", owner="StatefulSet/db", metadata={"uid": f"new-{i}"})
        for i in range(2)
    ]
    first, after = raws_of([node("a"), *sets]), raws_of([node("a"), *later])
    found = became_of(question_of(first), first, after, Import(), load_model("mixed"))
    assert isinstance(found, Between)
    said = {fate.pod: fate.evidence for fate in found.history.gone}
    assert said == {f"default/db-{i}": f"gone; its owner has db-{i} since" for i in range(2)}


def test_no_pod_stands_for_two_that_are_gone() -> None:
    """Each is named once; of an owner that has made fewer, the rest have none yet."""
    names = ("web-a", "web-b", "web-c")
    old = [pod(name, on="a", owner="ReplicaSet/web") for name in names]
    new = [pod(name, on="a", owner="ReplicaSet/web") for name in ("web-x", "web-y")]
    first, after = raws_of([node("a"), *old]), raws_of([node("a"), *new])
    found = became_of(question_of(first), first, after, Import(), load_model("mixed"))
    assert isinstance(found, Between)
    assert [(fate.became, fate.evidence) for fate in found.history.gone] == [
        ("disrupted", "gone; its owner has web-x since"),
        ("disrupted", "gone; its owner has web-y since"),
        ("unknown", "gone; its owner has made fewer pods since than are gone"),
    ]


def test_a_name_that_is_there_again_stands_for_no_other_pod() -> None:
    old = [pod(f"db-{i}", on="a", owner="StatefulSet/db") for i in range(2)]
    anew = pod("db-1", on="a", owner="StatefulSet/db", metadata={"uid": "new"})
    first, after = raws_of([node("a"), *old]), raws_of([node("a"), anew])
    found = became_of(question_of(first), first, after, Import(), load_model("mixed"))
    assert isinstance(found, Between)
    said = {fate.pod: fate.became for fate in found.history.gone}
    assert said == {"default/db-0": "unknown", "default/db-1": "disrupted"}


@pytest.mark.parametrize(
    ("first", "later"),
    [
        (pod("x", on="a"), pod("x")),
        (
            pod("x", on="a", metadata={"resourceVersion": "8"}),
            pod("x", on="a", metadata={"resourceVersion": "7"}),
        ),
    ],
    ids=["a pod has no node any more", "versions have fallen"],
)
def test_dumps_given_the_wrong_way_round_are_refused(first: Object, later: Object) -> None:
    raws, after = raws_of([node("a"), first]), raws_of([node("a"), later])
    with pytest.raises(BadDataError, match="an earlier dump"):
        became_of(question_of(raws), raws, after, Import(), load_model("mixed"))


def test_a_node_made_anew_under_its_name_is_not_said_to_be_gone() -> None:
    old, new = ({**node("a"), "metadata": {"name": "a", "uid": uid}} for uid in ("old", "new"))
    first, after = raws_of([old, pod("x", on="a")]), raws_of([new])
    found = became_of(question_of(first), first, after, Import(), load_model("mixed"))
    assert isinstance(found, Between)
    assert [fate.evidence for fate in found.history.gone] == ["node a was made anew"]


def test_a_pod_whose_size_is_only_written_otherwise_was_not_resized() -> None:
    held = {"name": "c", "allocatedResources": {"cpu": "1000m"}}
    status = {"phase": "Running", "containerStatuses": [held]}
    asked = pod("x", on="a", requests={"cpu": "1", "nvidia.com/gpu": "1"})
    same = view_of({**asked, "status": status})
    assert at_its_smallest(same, same) is same


def test_that_the_later_dump_has_no_nodes_is_assumed() -> None:
    first = [n("a"), p("x", "a")]
    assert NO_NODES in certified(DumpPair("", first, first[1:])).assumed.notes
    assert NO_NODES not in certified(DumpPair("", first, first)).assumed.notes
