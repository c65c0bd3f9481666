"""Histories for tests: made by hand, or drawn at random so that their books balance."""

from __future__ import annotations

import random

from kantopt.simulate.history import History, JobRecord, Sample, Stay


def job(name: str = "default/a", **given: object) -> JobRecord:
    """A job of one pod with one GPU that comes at 0 and works for a minute."""
    fields: dict[str, object] = {
        "name": name,
        "user": "ann",
        "queue": "q",
        "priority": 0,
        "pods": 1,
        "gpus": 1000,
        "arrival": 0,
        "duration": 60_000,
        "estimate": 60_000,
    }
    return JobRecord(**{**fields, **given})  # type: ignore[arg-type]


def sample(at: int = 0, **given: int) -> Sample:
    """A moment of a cluster with two nodes of 8 GPUs that nobody wants, unless told otherwise."""
    fields = dict.fromkeys(Sample.__slots__, 0) | {
        "at": at,
        "capacity": 16_000,
        "healthy": 16_000,
        "nodes": 2,
        **given,
    }
    lost = ("lost_quota", "lost_topology", "lost_fragmentation", "lost_waiting")
    if "idle" not in given:
        fields["idle"] = fields["healthy"] - fields["reserved"] - sum(fields[k] for k in lost)
    return Sample(**fields)


def drawn(seed: int, policy: str = "fifo", trace: str = "t", jobs: int = 20) -> History:
    """A random history: jobs start when there are GPUs enough, some are evicted, some never run."""
    rng = random.Random(seed)
    capacity = 8000 * rng.randint(1, 6)
    history = History(policy, trace, capacity=capacity)
    events: set[int] = {0}
    horizon = rng.randint(50_000, 400_000)
    held: list[tuple[int, int, int]] = []
    for i in range(jobs):
        arrival = rng.randrange(horizon)
        gpus = 1000 * rng.choice((0, 1, 1, 2, 8, 16))
        duration = rng.randint(1, 100_000)
        record = job(
            f"default/j{i}",
            user=rng.choice("abc"),
            queue=rng.choice("xy"),
            gpus=gpus,
            pods=rng.randint(1, 4),
            arrival=arrival,
            duration=duration,
        )
        history.jobs.append(record)
        events.add(arrival)
        at = arrival + rng.choice((0, rng.randrange(horizon)))
        for _ in range(rng.randint(1, 3)):
            end = min(at + duration, horizon)
            taken = max(
                (sum(g for b, e, g in held if b <= t < e) for t in _moments(held, at, end)),
                default=0,
            )
            if at >= end or taken + gpus > capacity:
                break
            working = rng.randint(at, end) if record.started is not None else at
            held.append((at, end, gpus))
            last = rng.random() < 0.5
            reason = "horizon" if end == horizon else "finished" if last else "evicted"
            history.stays.append(Stay(i, at, working, end, gpus, reason))  # type: ignore[arg-type]
            record.started = at if record.started is None else record.started
            record.starts += 1
            record.least_nodes = record.least_groups = 1
            record.nodes, record.groups = rng.randint(1, 4), rng.randint(1, 2)
            events |= {at, working, end}
            if reason == "finished":
                record.ended = end
            if reason != "evicted":
                break
            record.evictions += 1
            at = end + rng.randrange(horizon)
    history.horizon = horizon
    history.samples = [_sample(history, at, rng) for at in sorted(events) if at < horizon]
    return history


def _moments(held: list[tuple[int, int, int]], begin: int, end: int) -> set[int]:
    return {begin} | {b for b, _, _ in held if begin <= b < end}


def _sample(history: History, at: int, rng: random.Random) -> Sample:
    there = [stay for stay in history.stays if stay.begin <= at < stay.end]
    reserved = sum(stay.gpus for stay in there)
    running = sum(stay.gpus for stay in there if stay.working <= at)
    healthy = history.capacity - rng.randrange(0, history.capacity - reserved + 1, 1000)
    left = healthy - reserved
    lost = {}
    for name in ("lost_quota", "lost_topology", "lost_fragmentation", "lost_waiting"):
        lost[name] = rng.randint(0, left)
        left -= lost[name]
    nodes = healthy // 8000
    return sample(
        at,
        capacity=history.capacity,
        healthy=healthy,
        reserved=reserved,
        running=running,
        nodes=nodes,
        fragmented=rng.randint(0, nodes),
        stranded=rng.randint(0, healthy - reserved),
        largest_gang=rng.randint(0, healthy - reserved),
        **lost,
    )
