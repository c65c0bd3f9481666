"""A trace drawn at random, of a given offered load on given GPUs."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from kantopt.errors import UsageError
from kantopt.schema.base import API_VERSION, Metadata
from kantopt.schema.gangs import gang_of, pods_of
from kantopt.schema.jobs import PodSet
from kantopt.schema.trace import Outage, Trace, TraceJob
from kantopt.simulate.workload.acme import Profile
from kantopt.simulate.workload.arrivals import Arrivals, draw_arrivals
from kantopt.simulate.workload.cluster import Gpus
from kantopt.simulate.workload.inference import draw_service, mean_work
from kantopt.simulate.workload.outages import draw_outages
from kantopt.simulate.workload.sizes import Sizes

MOST_JOBS = 1_000_000


@dataclass(frozen=True, slots=True)
class Load:
    """What is to be drawn: two of ``load``, ``seconds`` and ``jobs``; the third follows."""

    profile: Profile
    load: float | None = None
    """Offered load: GPUs x duration of all jobs / (GPUs x ``seconds``)."""
    seconds: int | None = None
    """Span in which jobs come."""
    jobs: int | None = None
    sizes: Sizes | None = None
    """GPUs of jobs, instead of the profile's."""
    inference: float = 0.0
    """Share of the GPU time that services are expected to have."""
    users: int = 0
    """Number of users, the k-th with a weight of 1/k (Zipf; ours); 0: unknown ones."""
    priorities: tuple[tuple[int, float], ...] = ()
    """Priorities with their weights; services have the highest."""
    estimate_factor: float = 0.0
    """The f of the f-model."""
    arrivals: Arrivals = "poisson"
    mtbf: float | None = None
    """Mean seconds that a node is up; ``None``: nodes do not fail."""
    mttr: float = 0.0


@dataclass(slots=True)
class _Drawn:
    """A job before it has a time."""

    service: bool
    pods: tuple[PodSet, ...]
    gpus: int
    seconds: float

    @property
    def work(self) -> float:
        return self.gpus * self.seconds


def draw_trace(asked: Load, gpus: Gpus, nodes: Sequence[str], name: str, seed: int) -> Trace:
    """Draw a trace; the same seed gives the same one.

    Sizes, arrivals, users and so on are drawn each from a stream of its own, so that one can be
    changed and the others stay. Where ``load`` and ``seconds`` are given, jobs are drawn until
    their work comes closest to what the two make of it, and all run times are scaled by one factor
    to meet it; rounding to seconds is all that is then between the load asked for and that of the
    trace.

    Parameters
    ----------
    asked
        What to draw.
    gpus
        GPUs for which it is drawn; jobs larger than all of them are not.
    nodes
        Names of the nodes, which may fail.
    name, seed
        Name of the trace, and what the random numbers begin with.

    Raises
    ------
    UsageError
        If all jobs would be larger than the cluster, or they were more than a million.
    """
    whole = asked.sizes or asked.profile.sizes()
    if min(whole.gpus) > gpus.total:
        found = f"{min(whole.gpus)} GPUs at least"
        raise UsageError(
            f"--size: found {found}, expected some of at most {gpus.total}, all there are"
        )
    sizes = whole.from_gpus(1, gpus.total)
    drawn, factor = _jobs(asked, sizes, gpus, seed)
    seconds = [max(1, round(job.seconds * factor)) for job in drawn]
    work = sum(job.gpus * length for job, length in zip(drawn, seconds, strict=True))
    span = asked.seconds
    if span is None:
        span = max(1, round(work / (asked.load or 1.0) / gpus.total))
    arrivals = draw_arrivals(len(drawn), span, asked.arrivals, _stream(seed, "arrivals"))
    outages: tuple[Outage, ...] = ()
    if asked.mtbf is not None:
        stream = _stream(seed, "outages")
        outages = draw_outages(nodes, span, asked.mtbf, asked.mttr, stream)
    return Trace(
        api_version=API_VERSION,
        kind="Trace",
        metadata=Metadata(name=name),
        notes=_notes(asked, gpus, seed, drawn, seconds, span, factor, outages),
        jobs=_named(asked, drawn, seconds, arrivals, seed),
        outages=outages,
    )


def _stream(seed: int, what: str) -> random.Random:
    return random.Random(f"{seed} {what}")


def _jobs(asked: Load, sizes: Sizes, gpus: Gpus, seed: int) -> tuple[list[_Drawn], float]:
    """Draw jobs until there are enough, and the factor by which they have to run longer."""
    rng = _stream(seed, "jobs")
    services = _share_of_services(asked, sizes, gpus)
    if asked.jobs is not None:
        return [_job(asked, sizes, services, gpus, rng) for _ in range(asked.jobs)], 1.0
    assert asked.load is not None
    assert asked.seconds is not None
    wanted = asked.load * gpus.total * asked.seconds
    found: list[_Drawn] = []
    work = 0.0
    while work < wanted:
        if len(found) == MOST_JOBS:
            expected = f"at most {MOST_JOBS:,}: give a shorter time, a lower load or --jobs"
            share = f"more than that for {work / wanted:.0%} of the load"
            raise UsageError(f"--load and --for: found {share}, expected {expected}")
        found.append(_job(asked, sizes, services, gpus, rng))
        work += found[-1].work
    if len(found) > 1 and work - wanted > found[-1].work / 2:
        work -= found.pop().work
    return found, wanted / work


def _share_of_services(asked: Load, sizes: Sizes, gpus: Gpus) -> float:
    """Of the jobs, so that of the GPU time it is what was asked for."""
    profile, all_weights = asked.profile, sum(sizes.weights)
    training = sum(
        weight / all_weights * size * profile.mean_of(size)
        for size, weight in zip(sizes.gpus, sizes.weights, strict=True)
    )
    wanted = asked.inference * training
    return wanted / (wanted + (1 - asked.inference) * mean_work(gpus.per_node, gpus.total))


def _job(asked: Load, sizes: Sizes, services: float, gpus: Gpus, rng: random.Random) -> _Drawn:
    if services and rng.random() < services:
        replicas, each, seconds = draw_service(gpus.per_node, gpus.total, rng)
        podset = pods_of("replica", replicas, each, gpus.resource, gpus.device_class)
        podset = podset.model_copy(update={"min_count": 1})
        return _Drawn(True, (podset,), replicas * each, seconds)
    size = sizes.draw(rng)
    pods = gang_of(size, gpus.per_node, gpus.resource, gpus.device_class)
    return _Drawn(False, pods, size, asked.profile.draw(size, rng))


def _named(
    asked: Load,
    drawn: Sequence[_Drawn],
    seconds: Sequence[int],
    arrivals: Sequence[int],
    seed: int,
) -> tuple[TraceJob, ...]:
    users, ranks, estimates = (_stream(seed, what) for what in ("users", "priorities", "estimates"))
    width, user_width = len(str(max(len(drawn) - 1, 0))), len(str(asked.users))
    weights = [1 / k for k in range(1, asked.users + 1)]
    values = [value for value, _ in asked.priorities]
    found = []
    for i, (job, length, arrival) in enumerate(zip(drawn, seconds, arrivals, strict=True)):
        user, priority, estimate = "", None, None
        if weights:
            user = f"user-{users.choices(range(1, asked.users + 1), weights)[0]:0{user_width}d}"
        if values:
            priority = ranks.choices(values, [weight for _, weight in asked.priorities])[0]
            priority = max(values) if job.service else priority
        if asked.estimate_factor:
            estimate = f"{_estimate(length, asked.estimate_factor, estimates)}s"
        found.append(
            TraceJob(
                name=f"{'serve' if job.service else 'train'}-{i:0{width}d}",
                namespace="inference" if job.service else "training",
                priority=priority,
                pod_sets=job.pods,
                arrival=f"{arrival}s",
                duration=f"{length}s",
                estimate=estimate,
                user=user,
                # A replica that is started elsewhere has nothing to do again.
                checkpoint_interval="1s" if job.service else None,
            )
        )
    return tuple(found)


def _notes(
    asked: Load,
    gpus: Gpus,
    seed: int,
    drawn: Sequence[_Drawn],
    seconds: Sequence[int],
    span: int,
    factor: float,
    outages: Sequence[Outage],
) -> tuple[str, ...]:
    works = [job.gpus * length for job, length in zip(drawn, seconds, strict=True)]
    total = sum(works)
    notes = [
        f"drawn with seed {seed}, not recorded: run times of {asked.profile.name} after AcmeTrace "
        f"(CC-BY-4.0), lognormal with a spread of {asked.profile.spread}",
        f"offered load {total / (gpus.total * span):.4f} = sum of GPUs x duration, {total} GPU s / "
        f"({gpus.total} GPUs x {span} s), {len(drawn)} jobs",
        f"arrivals: {asked.arrivals}; jobs that come late end after the span of {span} s",
    ]
    above = (asked.sizes or asked.profile.sizes()).share_above(gpus.total)
    left_out = f", without the {above:.2%} of more than {gpus.total} GPUs" if above else ""
    whose = f"GPUs per job of {asked.profile.name}" if asked.sizes is None else "as asked for"
    notes.append(f"sizes: {whose}{left_out}")
    if factor != 1.0:
        notes.append(f"run times are scaled by {factor:.4f} to meet the load asked for")
    if asked.inference:
        services = [work for job, work in zip(drawn, works, strict=True) if job.service]
        notes.append(
            f"services: {len(services)} jobs, {sum(services) / max(total, 1):.2%} of the GPU time; "
            "their sizes and times are ours; disturbed they lose the time of a restart, no work"
        )
    if asked.estimate_factor:
        notes.append(f"estimates: f-model with f = {asked.estimate_factor:g}")
    else:
        notes.append("estimates: exact")
    if asked.mtbf is not None:
        notes.append(
            f"outages: {len(outages)}, exponential with a mean of {asked.mtbf:g} s between repair "
            f"and failure and of {asked.mttr:g} s until repair"
        )
    return tuple(notes)


def _estimate(seconds: int, factor: float, rng: random.Random) -> int:
    """Draw what a user says how long a job runs, in whole seconds: the f-model.

    Mu'alem and Feitelson, *Utilization, Predictability, Workloads, and User Runtime Estimates in
    Scheduling the IBM SP2 with Backfilling*, IEEE Transactions on Parallel and Distributed Systems
    12(6), 2001: an estimate lies anywhere from the run time r to (f + 1) r; with f = 0 it is exact.
    """
    return ceil(seconds * (1 + factor * rng.random()))
