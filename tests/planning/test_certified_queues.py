"""Better plans than what schedulers did evict nobody whom their queues keep."""

from __future__ import annotations

import pytest

from kantopt.clock import Deadline
from kantopt.planning.certificates.between import Between, became_of
from kantopt.planning.certificates.check import check_certificate
from kantopt.planning.certify import certify
from kantopt.planning.question import Import, question_of
from kantopt.planning.solving.options import Options
from kantopt.schema.answers.certificate import Certificate
from kantopt.schema.dump import dump_data
from kantopt.schema.raw import RawDocument
from tests.formats.cluster_objects import Object, node
from tests.formats.test_kueue_preemption import MINE, MIXED, OTHER, waits
from tests.formats.test_reclaims import SYSTEMS, of, queue
from tests.planning.dump_pairs import ended
from tests.planning.test_dump_pairs import raws_of
from tests.planning.test_turns import own, plain


def certified(first: list[Object], later: list[Object]) -> Certificate:
    """Certify what became of a dump, and check the certificate."""
    raws, after = raws_of([node("a"), *first]), raws_of([node("a"), *later])
    question, options = question_of(raws), Options(workers=1)
    found = became_of(question, raws, after, Import(), MIXED)
    assert isinstance(found, Between)
    done = certify(question, MIXED, options, Deadline.within(20), later=found)
    raw = RawDocument("certificate", 0, dump_data(done))
    assert check_certificate(done, raw, raws, None, after).findings == ()
    return done


def evicted(certificate: Certificate) -> set[str]:
    """Names of the jobs that the better plan evicts."""
    better = certificate.counter_example
    return set() if better is None else {item.job for item in better.plan.evictions}


def test_that_kueue_spared_whom_the_queue_keeps_is_no_fault() -> None:
    kept = [*own("a", 4), *own("b", 8), OTHER, {**OTHER, **named("more")}, waits("w", "a", 4)]
    assert certified(kept, kept).verdict == "OPTIMAL"
    with_mine = [*own("a", 4), *own("b", 4), MINE, OTHER, waits("w", "a", 4)]
    found = certified(with_mine, with_mine)
    assert (found.verdict, evicted(found)) == ("BETTER", {"default/mine"})


def named(name: str) -> Object:
    """Metadata of another job of queue b."""
    owner = {"kind": "Job", "name": name, "uid": f"Job/{name}", "controller": True}
    changed = {"name": name, "uid": f"uid-{name}", "ownerReferences": [owner]}
    return {"metadata": {**OTHER["metadata"], **changed}}


@pytest.mark.parametrize("system", SYSTEMS)
def test_whom_a_scheduler_evicted_all_the_same_is_judged_by_priorities(system: str) -> None:
    queues = [queue(system, "a", 4), queue(system, "b", 8)]
    gone, stays = (of(system, name, "b", 4, n, on="a") for name, n in (("r", 1), ("s", 0)))
    first = [*queues, *gone, *stays, *of(system, "w", "a", 4, 9)]
    preempted = ended(gone[1], "Failed", "PreemptionByScheduler")
    later = [*queues, gone[0], preempted, *stays, *of(system, "w", "a", 4, 9, on="a")]
    found = certified(first, later)
    assert (found.verdict, found.findings) == ("OPTIMAL", ())
    assert found.plan.summary.evicted_pods == 1
    unchanged = certified(first, first)
    assert (unchanged.verdict, evicted(unchanged)) == ("OPTIMAL", set())


def test_pods_for_kube_scheduler_go_by_priorities_as_before() -> None:
    first = [*own("a", 4), *own("b", 4), MINE, OTHER, plain("p", 4)]
    found = certified(first, first)
    assert found.verdict == "BETTER"
    assert len(evicted(found)) == 1
