"""Reservations of Slurm that are still to begin: of two dumps, and as a reason to wait."""

from __future__ import annotations

import pytest

from kantopt.planning.question import question_of
from tests.explain.helpers import explained
from tests.planning.test_slurm_dumps import START, certified, raws_of, runs, waits

SHORT = "TimeLimit=30:00"
LONG = "TimeLimit=10:00:00"
BUSY = "".join(runs(str(number), f"n{number}", more=LONG) for number in (3, 4))
VICTIM = runs("2", "n2", more=LONG)
AGAIN = (
    waits("2", at=150, more=LONG)
    .replace("Restarts=0", "Restarts=1")
    .replace("Resources", "BeginTime")
)


def reserved(nodes: str = "n1", start: int = 5000) -> str:
    span = f"StartTime={START + start} EndTime={START + 90_000}"
    return f"ReservationName=soon Nodes={nodes} {span} Users=root State=INACTIVE\n"


def high(text: str) -> str:
    return text.replace("Partition=main", "Partition=high")


def waiting(limit: str = LONG) -> str:
    return waits("9", more=limit)


def started(host: str, limit: str = LONG) -> str:
    return runs("9", host, at=100, more=limit)


OTHER = reserved().replace("=soon", "=other")


@pytest.mark.parametrize(
    ("before", "after", "limit", "verdict"),
    [
        (reserved(), reserved(), LONG, "OPTIMAL"),
        (OTHER, reserved("n3"), LONG, "OPTIMAL"),  # it is gone since
        (reserved("n3"), OTHER + reserved("n3"), LONG, "OPTIMAL"),  # it may have come before
        (reserved(start=3000), reserved(start=90_000), LONG, "OPTIMAL"),
        (reserved(), reserved(), SHORT, "BETTER"),
        ("", "", LONG, "BETTER"),
    ],
    ids=["both", "gone", "come", "put off", "short", "none"],
)
def test_who_outlasts_a_reservation_could_not_have_gone_to_its_nodes(
    before: str, after: str, limit: str, verdict: str
) -> None:
    first = (VICTIM + BUSY + high(waiting())).replace(LONG, limit)
    later = (AGAIN + BUSY + high(started("n2"))).replace(LONG, limit)
    assert certified(first + before, later + after).verdict == verdict


def test_a_limit_that_was_lowered_since_opens_no_node() -> None:
    first = VICTIM + BUSY + high(waiting())
    later = AGAIN + BUSY + high(started("n2", SHORT))
    assert certified(first + reserved(), later + reserved()).verdict == "OPTIMAL"


def test_who_started_where_a_reservation_was_to_begin_before_its_end_is_a_fault() -> None:
    faulty = certified(waiting() + reserved(), started("n1") + reserved())
    assert [finding.rule for finding in faulty.findings] == ["eligibility"]
    for first, later in (
        (waiting() + reserved("n2"), started("n1") + reserved()),  # it has come there since
        (waiting() + reserved(start=9000), started("n1") + reserved(start=7000)),
        (waiting(), started("n1") + reserved()),
        (waiting(SHORT) + reserved(), started("n1") + reserved()),  # it was prolonged
        (reserved(), started("n1") + reserved()),  # nobody knows its limit at first
        (waiting(SHORT) + reserved(), started("n1", SHORT) + reserved()),
    ):
        assert certified(first, later).findings == ()


def test_a_reservation_that_comes_again_is_no_fault_between() -> None:
    """Daily ones have the same name, and another day."""
    short = started("n1", SHORT)
    for start in (-900, 110):  # it held the node at first, or was to
        first = waiting(SHORT) + reserved(start=start).replace(
            str(START + 90_000), str(START + 120)
        )
        assert certified(first, short + reserved(start=start + 86_400)).findings == ()


def test_a_reservation_that_began_since_is_judged_by_when_the_job_started() -> None:
    for limit, faults in (("TimeLimit=00:20", 0), (LONG, 1)):
        dumps = waiting(limit) + reserved(start=180), started("n1", limit) + reserved(start=180)
        assert len(certified(*dumps).findings) == faults


def test_a_reservation_to_come_is_the_reason_to_wait_and_a_shorter_limit_the_remedy() -> None:
    busy = "".join(runs(str(number), f"n{number}") for number in (2, 3, 4))
    question = question_of(raws_of(busy + waiting() + reserved(), 100))
    told = explained(question, "ml/9")
    assert "reservation.slurm/soon: from 2026-08-29T12:03:20Z" in told.pod_sets[0].message
    texts = {remedy.message for remedy in told.remedies}
    assert not any("selector" in text for text in texts)
    assert any(
        "shorter limit" in text and "reservation.slurm/soon closes 1 node" in text for text in texts
    )
