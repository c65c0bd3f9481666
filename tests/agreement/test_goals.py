"""Goals: with targets, values, bounds and optima are those that brute force finds."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from kantopt.budget import Budget
from kantopt.clock import Deadline
from kantopt.problem.build import build_instance
from kantopt.problem.derived.classes import merge_pods
from kantopt.problem.instance import Instance
from kantopt.problem.tiers import tiers_of
from kantopt.schema.jobs import JobList
from kantopt.schema.model import Metric, Model, Rule
from kantopt.schema.snapshot import ClusterSnapshot
from kantopt.search.engine.desk import Desk, Line
from kantopt.search.engine.known import Bound
from kantopt.search.schedule import search
from kantopt.verify.metrics import bounds, measure
from kantopt.verify.rules import check
from tests.agreement.test_encoding import Encodings
from tests.campaign import some
from tests.drafts import GPU
from tests.generate import random_documents, random_instance
from tests.oracle import Value, best
from tests.placements import random_placement
from tests.questions import document
from tests.solved import solved

LIMITED = (
    "evictions",
    "moves",
    "movesPerJob",
    "movesPerNamespace",
    "arrivalsPerNode",
    "departuresPerNode",
)
Limited = dict[str, int | None]
SEEDS = 120
BLOCKS = 8


def goals(rng: random.Random, instance: Instance) -> list[dict[str, Any]]:
    """One or two goals, with targets to be said: see :func:`aimed`."""
    of = {"of": rng.choice(("free", "capacity"))}
    kinds: list[tuple[str, dict[str, Any]]] = [
        ("nodes_in_use", {}),
        ("domains_in_use", {"level": "rack"}),
        ("fragment_rate", {"resource": "cpu", "size": rng.randint(2, 3), **of}),
    ]
    if any(node.gpu_milli for node in instance.nodes):
        shape = {"requests": {"cpu": 1, GPU: rng.randint(1, 2)}}
        kinds += [
            ("fragmented_nodes", {}),
            ("stranded_gpus", {"mix": [{"count": 2, **shape}]}),
            ("fragment_rate", {"resource": GPU, "size": 2, **of}),
        ]
    found = []
    for name, parameters in rng.sample(kinds, rng.choice((1, 1, 2))):
        which = {}
        if rng.random() < 0.25:
            which["selector"] = rng.choice(("topology/block", "kubernetes.io/hostname=n1"))
        if name in ("nodes_in_use", "domains_in_use") and rng.random() < 0.8:
            which["class"] = "cpu"
        found.append({name: {**parameters, **which, "target": 0}})
    return found


def aimed(rng: random.Random, asked: Model, snapshot: ClusterSnapshot, jobs: JobList) -> Model:
    """The model with the targets of its goals around what the cluster is measured at now."""
    instance = build_instance(snapshot, jobs.jobs, asked)
    tiers = tiers_of(instance)
    now = [
        value // (1000 * sum(shape.weight for shape in tier.mix) if tier.mix else 1)
        for tier, value in zip(tiers, measure(instance, instance.current, tiers), strict=True)
        if tier.target is not None
    ]
    data = asked.model_dump(by_alias=True, exclude_unset=True)
    for objective, value in zip(data["objectives"], now, strict=False):
        for parameters in objective.values():
            parameters["target"] = max(0, value - rng.choice((0, 1, 1, 1, 2)))
    return document(data, Model).model_copy(update={"rules": asked.rules})


def with_goals(seed: int, limited: Limited | None = None) -> Instance:
    """A random question that asks for goals first, then for few evictions and moves.

    ``limited`` says which limits it has, instead of those that are drawn with it.
    """
    rng = random.Random(seed)
    snapshot, pending, old = random_documents(seed)
    objectives = [*goals(rng, random_instance(seed)), "moves", {"evictions": {"by": "all"}}]
    limits: Limited = {}
    if rng.random() < 0.7:
        limits["evictions"] = 0
    for name in LIMITED[1:]:
        if rng.random() < 0.25:
            limits[name] = rng.choice((0, 1, 1, 2))
    if limited is not None:
        limits = limited
    data = {"kind": "Model", "objectives": objectives, "limits": limits}
    if rng.random() < 0.4:
        data["pending"] = rng.choice(([], ["*0"], ["default/p*"]))
    model: Model = document(data, Model).model_copy(update={"rules": old.rules})
    movable = rng.random() < 0.85
    running = []
    for job in snapshot.jobs:
        update: dict[str, Any] = {"namespace": rng.choice(("default", "default", "other"))}
        if movable:
            update["movable"] = True
        running.append(job.model_copy(update=update))
    nodes = snapshot.nodes
    if rng.random() < 0.25:  # one that nobody can use: cordoned, or not even ready
        n = rng.randrange(len(nodes))
        update = rng.choice(({"unschedulable": True}, {"ready": False}))
        dead = nodes[n].model_copy(update=update)
        nodes = (*nodes[:n], dead, *nodes[n + 1 :])
    snapshot = snapshot.model_copy(update={"jobs": tuple(running), "nodes": nodes})
    return build_instance(snapshot, pending.jobs, aimed(rng, model, snapshot, pending))


def with_jobs_to_place(seed: int) -> Instance:
    """A random question of which the first goal is to place all that wait."""
    rng = random.Random(seed)
    snapshot, pending, old = random_documents(seed)
    which = {"by": rng.choice(("priority", "all")), "unit": rng.choice(("job", "gpu", "pod"))}
    usual = {"unplaced": {**which, "unit": rng.choice(("job", "gpu", "pod"))}}
    objectives = [{"unplaced": {**which, "target": 0}}, *rng.sample([usual], rng.randint(0, 1))]
    data = {"kind": "Model", "objectives": [*objectives, "evictions", "moves"]}
    model: Model = document(data, Model).model_copy(update={"rules": old.rules})
    return build_instance(snapshot, pending.jobs, model)


@pytest.mark.parametrize("asked", [with_goals, with_jobs_to_place])
@pytest.mark.parametrize("block", some(range(BLOCKS)))
def test_all_that_search_proves_of_goals_holds(
    block: int, asked: Callable[[int], Instance]
) -> None:
    for seed in range(block, SEEDS, BLOCKS):
        instance = asked(seed)
        tiers = tiers_of(instance)
        value, _ = best(instance)
        if value is None:
            continue
        assert all(b <= v for b, v in zip(bounds(instance, tiers, value), value, strict=True))
        outcome = solved(instance, tiers)
        assert outcome.placement is not None
        assert measure(instance, outcome.placement, tiers) == value, f"seed {seed}"
        assert outcome.bounds == value, f"seed {seed}"
        _stages_agree(seed, instance, value)


def _stages_agree(seed: int, instance: Instance, value: Value) -> None:
    """No bound that any stage tells is above the optimum, and the stages find that."""
    merged = merge_pods(instance)
    tiers = merged.tiers(tiers_of(instance))
    told: list[Bound] = []
    line = Line(found=lambda _: None, bound=told.append, note=lambda _: None)
    start = merged.instance.current
    if check(merged.instance, start):
        return
    desk = Desk(merged.instance, tiers, start, (), Budget(Deadline.within(5.0), workers=1), line)
    search(desk)
    for bound in told:
        if all(v <= lock for v, lock in zip(value[: bound.tier], bound.locks, strict=False)):
            assert bound.bound <= value[bound.tier], f"seed {seed}: {bound}"
    placement = merged.expand(desk.incumbent.placement)
    assert measure(instance, placement, tiers_of(instance)) == value, f"seed {seed}"
    assert not check(instance, placement), f"seed {seed}"


def test_the_goals_are_worth_asking() -> None:
    reached = missed = moved = 0
    for seed in range(SEEDS):
        instance = with_goals(seed)
        value, _ = best(instance)
        if value is None:
            continue
        tiers = tiers_of(instance)
        now = measure(instance, instance.current, tiers)
        goal = [i for i, tier in enumerate(tiers) if tier.target is not None]
        reached += any(now[i] and not value[i] for i in goal)
        missed += any(value[i] for i in goal)
        pairs = zip(tiers, value, strict=True)
        moved += any(tier.metric is Metric.MOVES and moves for tier, moves in pairs)
    assert reached >= SEEDS / 10
    assert missed >= SEEDS / 10
    assert moved >= SEEDS / 12


def tight(rng: random.Random) -> Limited:
    """Each limit at 0 or 1, or none: random placements move few pods."""
    return {name: rng.choice((0, 0, 1, None)) for name in LIMITED}


def test_checker_and_encoding_agree_on_every_limit() -> None:
    broken: Counter[str] = Counter()
    for seed in range(SEEDS):
        rng = random.Random(seed)
        instance = with_goals(seed, tight(rng))
        encodings = Encodings(instance)
        for _ in range(4):
            placement = random_placement(rng, instance)
            faults = check(instance, placement, (Rule.LIMITS,))
            kinds = {re.sub(r"(job|namespace|node) \S+: ", r"\1 ", f.subject) for f in faults}
            broken.update(kinds)
            assert encodings.admit(placement, Rule.LIMITS) == (not faults), f"seed {seed}"
    assert broken.pop("job moves at once") >= 1  # few of these jobs restart as a whole
    kinds = {"moves", "evictions", "job moves", "namespace moves"}
    assert broken.keys() == kinds | {"node arrivals", "node departures"}
    assert min(broken.values()) >= 3, broken
