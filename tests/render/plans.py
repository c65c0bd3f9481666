"""Plans for renderers: made by hand, and drawn at random with strings of any kind."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

from kantopt.schema.answers.plan import (
    Binding,
    Eviction,
    Move,
    Plan,
    PlanMetadata,
    SnapshotRef,
    Solver,
    Summary,
    Wave,
)
from kantopt.schema.base import API_VERSION, Toleration
from kantopt.schema.jobs import Assignment, Job, PodRef, PodSet
from kantopt.schema.model import Model

Action = Binding | Eviction | Move


def make_plan(
    jobs: Sequence[Job],
    waves: Sequence[Sequence[Action]],
    *,
    name: str = "sha256:0",
    captured_at: str | None = "2026-09-01T03:00:00Z",
) -> Plan:
    """A plan of these actions, each wave after the one before."""
    found = [item for wave in waves for item in wave]
    return Plan(
        api_version=API_VERSION,
        kind="Plan",
        metadata=PlanMetadata(
            plan_id=name,
            kantopt_version="0",
            snapshot=SnapshotRef(digest="sha256:1", captured_at=captured_at),
        ),
        summary=Summary(
            placed_jobs=0,
            placed_pods=0,
            unplaced_jobs=0,
            unplaced_pods=0,
            evicted_pods=0,
            moved_pods=0,
            changes=True,
        ),
        solver=Solver(
            engine="fast",
            strategy="best-fit",
            found_by="fast",
            status="FEASIBLE",
            seed=0,
            deterministic=False,
            reproducible=True,
        ),
        assignments=tuple(item for item in found if isinstance(item, Binding)),
        evictions=tuple(item for item in found if isinstance(item, Eviction)),
        moves=tuple(item for item in found if isinstance(item, Move)),
        waves=tuple(
            Wave(id=i, after=(i - 1,) if i > 1 else (), actions=tuple(item.id for item in wave))
            for i, wave in enumerate(waves, 1)
        ),
        model=Model(api_version=API_VERSION, kind="Model"),
        jobs=tuple(jobs),
    )


def evict(job: str, node: str, *pods: PodRef, count: int = 0, heir: str | None = None) -> Eviction:
    """An eviction of these pods, or of so many without a name."""
    return Eviction(
        id=f"e-{job}-{node}",
        job=job,
        pod_set="main",
        node=node,
        count=count or len(pods),
        pods=pods,
        priority=0,
        for_job=heir,
    )


def bind(job: str, node: str, *pods: PodRef, count: int = 0, pod_set: str = "main") -> Binding:
    """A binding of these pods, or of so many without a name."""
    return Binding(
        id=f"b-{job}-{pod_set}-{node}",
        job=job,
        pod_set=pod_set,
        node=node,
        count=count or len(pods),
        pods=pods,
    )


def move(job: str, source: str, target: str, *pods: PodRef, mode: str = "restart") -> Move:
    """A move of these pods."""
    return Move(
        id=f"m-{job}-{source}-{target}",
        job=job,
        pod_set="main",
        from_node=source,
        to_node=target,
        count=len(pods),
        pods=pods,
        mode=mode,  # type: ignore[arg-type]
    )


def draw_plan(rng: random.Random, text: Callable[[], str]) -> Plan:
    """Draw a plan whose strings are all drawn by ``text``; names of actions differ."""
    nodes = [text() for _ in range(rng.randint(1, 4))]
    jobs: list[Job] = []
    actions: list[Action] = []
    taken: set[str] = set()

    def fresh() -> str:
        name = text()
        while name in taken:
            name += "x"
        taken.add(name)
        return name

    for _ in range(rng.randint(1, 3)):
        job, own = _draw_job(rng, text, fresh, nodes)
        jobs.append(job)
        actions += own
    rng.shuffle(actions)
    cuts = sorted(rng.sample(range(len(actions) + 1), min(2, len(actions))))
    waves = [wave for wave in _cut(actions, cuts) if wave]
    return make_plan(
        jobs, waves, name=text(), captured_at=rng.choice((None, text(), "2026-09-01T03:00:00Z"))
    )


def _cut(actions: list[Action], cuts: list[int]) -> Iterator[list[Action]]:
    for start, end in zip([0, *cuts], [*cuts, len(actions)], strict=True):
        yield actions[start:end]


def _draw_job(
    rng: random.Random, text: Callable[[], str], fresh: Callable[[], str], nodes: list[str]
) -> tuple[Job, list[Action]]:
    namespace, name = text().replace("/", "|"), fresh()
    full = f"{namespace}/{name}"
    fate = rng.choice(("bind", "bind", "evict", "move"))
    named = rng.random() < 0.7
    actions: list[Action] = []
    sets: list[PodSet] = []
    labels = {text(): text()}
    for key in ("kueue.x-k8s.io/podset", "kueue.x-k8s.io/pod-group-name", "volcano.sh/job-name"):
        if rng.random() < 0.4:
            labels[key] = text()
    for role in dict.fromkeys(text() for _ in range(rng.randint(1, 2))):
        places: list[Assignment] = []
        waiting: list[PodRef] = []
        count = 0
        for node in rng.sample(nodes, rng.randint(1, len(nodes))):
            pods = tuple(_draw_pod(rng, text, fresh) for _ in range(rng.randint(1, 3)))
            told = pods if named else ()
            count += len(pods)
            about = {"id": fresh(), "job": full, "pod_set": role, "count": len(pods)}
            if fate == "bind":
                waiting += told
                actions.append(Binding(**about, node=node, pods=told))
            elif fate == "evict":
                heir = rng.choice((None, text()))
                actions.append(Eviction(**about, node=node, pods=told, priority=0, for_job=heir))
            else:
                mode = rng.choice(("restart", "restart", "live"))
                to = rng.choice(nodes)
                actions.append(
                    Move(**about, from_node=node, to_node=to, pods=told, mode=mode)  # type: ignore[arg-type]
                )
            if fate != "bind":
                places.append(Assignment(node=node, count=len(pods), pods=told))
        sets.append(
            PodSet(
                name=role,
                count=count,
                labels=labels,
                requests={"cpu": "500m", "nvidia.com/gpu": 1, text(): 1},
                node_selector={text(): text()} if rng.random() < 0.3 else {},
                tolerations=(Toleration(key=text(), value=text()),),
                assignments=tuple(places),
                pods=tuple(waiting),
            )
        )
    uid = rng.choice(("", text()))
    job = Job(name=name, namespace=namespace, uid=uid, queue_name=text(), pod_sets=tuple(sets))
    return job, actions


def _draw_pod(rng: random.Random, text: Callable[[], str], fresh: Callable[[], str]) -> PodRef:
    return PodRef(
        name=fresh(),
        uid=rng.choice(("", text())),
        resource_version=rng.choice(("", text())),
        scheduling_gates=tuple(text() for _ in range(rng.randint(0, 2))),
        grace_period_seconds=rng.choice((None, 30)),
    )
