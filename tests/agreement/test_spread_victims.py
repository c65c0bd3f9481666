"""Evictions that spread asks for: judge, encoding, searches and bounds agree with brute force."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from typing import Any

from kantopt.clock import Deadline
from kantopt.problem.instance import Instance
from kantopt.problem.tiers import tiers_of
from kantopt.schema.model import Rule
from kantopt.search.construct import How, construct
from kantopt.search.strategy import Strategy
from kantopt.verify.metrics import bounds, measure
from kantopt.verify.rules import check
from tests.agreement.test_encoding import Encodings
from tests.campaign import some
from tests.honest_trials import OBJECTIVES
from tests.oracle import best
from tests.placements import random_placement
from tests.questions import model, question
from tests.solved import solved

SEEDS = some(range(240))
EVEN = {"maxSkew": 1, "topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "web"}}}


def spread_question(seed: int) -> Instance:
    """Two or three zones, of which one may take nobody; pods that count and may be evicted."""
    rng = random.Random(seed)
    zones = rng.choice([2, 2, 3])
    nodes: list[dict[str, Any]] = [
        {
            "name": f"n{i}",
            "labels": {"zone": f"z{i % zones}"},
            "allocatable": {"cpu": rng.choice([1, 2, 3, 4]), "pods": 9},
        }
        for i in range(zones + rng.randrange(2))
    ]
    if rng.random() < 0.8:
        nodes[-1]["taints"] = [{"key": "closed", "effect": "NoSchedule"}]
    left = [node["allocatable"]["cpu"] for node in nodes]
    running, waiting = list[dict[str, Any]](), list[dict[str, Any]]()
    for i in range(rng.randint(1, 3)):
        able = [n for n, room in enumerate(left) if room]
        if able:
            n = rng.choice(able)
            left[n] -= 1
            running.append(_job(rng, f"r{i}", rng.choice([0, 1, 5]), nodes[n]["name"]))
    for i in range(rng.randint(1, 2)):
        job = _job(rng, f"w{i}", rng.choice([1, 9, 9]))
        if rng.random() < 0.3:
            job["preemptionPolicy"] = "Never"
        waiting.append(job)
    asked = question(nodes, running, waiting)
    return asked.instance(model().model_copy(update={"objectives": OBJECTIVES}))


def _job(rng: random.Random, name: str, priority: int, on: str = "") -> dict[str, Any]:
    role: dict[str, Any] = {"name": "w", "count": 1, "requests": {"cpu": 1}}
    if rng.random() < 0.9:
        role["labels"] = {"app": "web"}
    if rng.random() < (0.3 if on else 0.95):
        role["topologySpreadConstraints"] = [EVEN]
    if on:
        role["assignments"] = [{"node": on, "count": 1}]
        role["movable"] = rng.random() < 0.5
    return {"name": name, "priority": priority, "podSets": [role]}


def closed_zone(**more: Any) -> Instance:
    """One zone takes nobody, in the other runs a pod: one more there, and it exceeds the first."""
    nodes: list[dict[str, Any]] = [
        {"name": name, "labels": {"zone": f"z{name}"}, "allocatable": {"cpu": 9, "pods": 9}}
        for name in "ab"
    ]
    nodes[1]["taints"] = [{"key": "closed", "effect": "NoSchedule"}]
    role = {"name": "w", "count": 1, "requests": {"cpu": 1}, "labels": {"app": "web"}}
    low = {**role, "assignments": [{"node": "a", "count": 1}]}
    waits = {**role, "topologySpreadConstraints": [EVEN]}
    asked = question(
        nodes,
        [{"name": "low", "priority": 0, "podSets": [low]}],
        [{"name": "high", "priority": 9, "podSets": [waits], **more}],
    )
    return asked.instance(model().model_copy(update={"objectives": OBJECTIVES}))


def test_a_pod_that_could_not_be_spread_beside_a_lesser_one_has_it_evicted() -> None:
    value, placement = best(closed_zone())
    assert value is not None
    assert value[-2:] == (1, 0)
    assert placement is not None
    assert [placement.placed(s) for s in range(2)] == [0, 1]


def test_one_that_may_evict_nobody_waits_until_it_can_be_spread() -> None:
    _, placement = best(closed_zone(preemptionPolicy="Never"))
    assert placement is not None
    assert [placement.placed(s) for s in range(2)] == [1, 0]


def test_encoding_and_judge_agree_where_spread_is_why_pods_are_evicted() -> None:
    found = Counter[bool]()
    for seed in SEEDS:
        instance, rng = spread_question(seed), random.Random(seed)
        encodings = Encodings(instance)
        for _ in range(24):
            placement = random_placement(rng, instance)
            broken = {Rule(violation.rule) for violation in check(instance, placement)}
            if not any(
                podset.running and placement.placed(podset.index) < podset.count
                for podset in instance.podsets
            ):
                continue
            found[Rule.PRIORITY in broken] += 1
            alone = encodings.admit(placement, Rule.PRIORITY)
            assert alone == (Rule.PRIORITY not in broken), f"seed {seed}: {broken}"
            assert encodings.admit(placement) == (not broken), f"seed {seed}: {broken}"
    assert min(found.values()) >= len(SEEDS) / 3


def test_brute_force_searches_and_bounds_agree_where_spread_is_why_pods_are_evicted() -> None:
    for_spread = 0
    for seed in SEEDS:
        instance = spread_question(seed)
        tiers = tiers_of(instance)
        expected, placement = best(instance)
        assert expected is not None
        assert placement is not None
        outcome = solved(instance, tiers)
        assert outcome.placement is not None
        assert measure(instance, outcome.placement, tiers) == expected, f"seed {seed}"
        assert outcome.bounds == expected, f"seed {seed}"
        without = instance.model.rules.model_copy(update={"spread": "off"})
        plain = replace(instance, model=instance.model.model_copy(update={"rules": without}))
        for_spread += Rule.PRIORITY in {Rule(v.rule) for v in check(plain, placement)}
        fast = construct(instance, Deadline(None), How(Strategy.BEST_FIT))
        assert not check(instance, fast), f"seed {seed}"
        for candidate in (instance.current, fast, outcome.placement):
            values, same = measure(instance, candidate, tiers), True
            for i, least in enumerate(bounds(instance, tiers, values)):
                assert not same or least <= expected[i], f"seed {seed}: {tiers[i].name}"
                same = same and values[i] == expected[i]
    assert for_spread >= len(SEEDS) / 20
