"""Behind whom a job waits: those who take what it lacks, and nobody else."""

from __future__ import annotations

from tests.explain.helpers import asked, explained
from tests.verify.world import GPU, Document, job, node, pods

NODES = [node(f"n{i}", cpu=32, gpu=8) for i in range(2)]


def behind(*jobs: Document, **more: object) -> tuple[str, ...]:
    told = explained(asked(NODES, jobs, **more)).verdict
    assert told.status == "FITS_ALONE"
    return told.behind


def test_who_takes_no_gpu_is_not_in_the_way_of_one() -> None:
    small = [job(f"cpu{i}", pods(cpu=2), priority=9) for i in range(3)]
    large = [job(f"gpu{i}", pods(gpu=8), priority=9) for i in range(2)]
    last = job("j", pods(gpu=8), priority=1)
    assert behind(*small, *large, last) == ("default/gpu0", "default/gpu1")


def test_quota_that_others_of_the_cohort_have_is_in_the_way() -> None:
    quota = {"name": GPU, "nominalQuota": 2}
    queues = [{"name": q, "cohort": "c", "resources": [quota]} for q in "ab"]
    jobs = [
        job("cpu", pods(), priority=9, queueName="a"),
        job("borrows", pods(gpu=4), priority=9, queueName="b"),
        job("outside", pods(gpu=2), priority=9),
        job("j", pods(gpu=1), priority=1, queueName="a"),
    ]
    assert behind(*jobs, queues=queues) == ("default/borrows",)


def test_who_keeps_others_away_is_in_their_way() -> None:
    apart = [{"topologyKey": "rack", "labelSelector": {"matchLabels": {"job": "a"}}}]
    nodes = [node(f"n{i}", gpu=8, rack=f"b/{i}") for i in range(2)]
    first = job("a", pods(count=2, gpu=1, podAntiAffinity=apart), priority=9)
    beside = job("b", pods(count=2, gpu=1), priority=9)
    waits = job("j", pods(gpu=1, podAntiAffinity=apart), priority=1)
    told = explained(asked(nodes, [first, beside, waits])).verdict
    assert (told.status, told.behind) == ("FITS_ALONE", ("default/a",))
