"""How many pods of a set fit beside each other: all ways to place them, tried by hand."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest

from kantopt.search.explain.places import Survey
from kantopt.search.fit_together import fit_together
from kantopt.search.reasons import first_reason
from kantopt.search.state import State
from tests.verify.world import HOST, job, node, pods, podset_of, question

LIKE = {"labelSelector": {"matchLabels": {"app": "w"}}}
FREE = list[tuple[str, int]]
"""Zone of each node, and how many pods it has room for."""


def _spread(counts: dict[str, int]) -> bool:
    return max(counts.values()) - min(counts.values()) <= 1


def _apart(counts: dict[str, int]) -> bool:
    return max(counts.values()) <= 1


def _near(counts: dict[str, int]) -> bool:
    return sum(pods > 0 for pods in counts.values()) <= 1


RULES = {
    "topologySpreadConstraints": (_spread, {**LIKE, "maxSkew": 1}),
    "podAntiAffinity": (_apart, LIKE),
    "podAffinity": (_near, LIKE),
}


def _most(free: FREE, rule: str, key: str) -> int:
    """All numbers of pods on each node."""
    holds, best = RULES[rule][0], 0
    for numbers in itertools.product(*(range(most + 1) for _, most in free)):
        counts: dict[str, int] = {}
        for n, (zone, _) in enumerate(free):
            domain = str(n) if key == HOST else zone
            counts[domain] = counts.get(domain, 0) + numbers[n]
        if holds(counts):
            best = max(best, sum(numbers))
    return best


def _asked(free: FREE, rule: str, key: str, count: int) -> Any:
    nodes = [
        node(f"n{n}", cpu=3, labels={HOST: f"n{n}", "zone": zone})
        for n, (zone, _) in enumerate(free)
    ]
    full = [
        job(f"r{n}", pods(cpu=3 - pods_free, on=[f"n{n}"]))
        for n, (_, pods_free) in enumerate(free)
        if pods_free < 3
    ]
    terms = {rule: [{**RULES[rule][1], "topologyKey": key}]}
    return question(nodes, [*full, job("j", pods(count=count, labels={"app": "w"}, **terms))])


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("key", [HOST, "zone"])
def test_as_many_are_counted_as_fit(rule: str, key: str) -> None:
    rng = random.Random(f"{rule} {key}")
    for _ in range(20):
        free = [(rng.choice(("1", "2", "3")), rng.randint(0, 3)) for _ in range(4)]
        instance = _asked(free, rule, key, 12)
        state, s = State(instance), podset_of(instance, "j")
        before = state.placement()
        assert fit_together(state, s, 12) == _most(free, rule, key), free
        assert state.placement() == before
        rule_named, words = first_reason(instance, instance.current, instance.podsets[s].job)
        fit = _most(free, rule, key)
        if fit and not words.startswith("never"):
            assert f"{fit} of 12 pods fit" in words, (free, rule_named, words)


def test_a_gang_that_spread_leaves_too_little_room_is_told_so() -> None:
    """No more than one each on a and b, as long as there is none on c, which is full."""
    instance = _asked([("1", 2), ("2", 2), ("3", 0)], "topologySpreadConstraints", HOST, 3)
    s = podset_of(instance, "j")
    assert first_reason(instance, instance.current, instance.podsets[s].job) == (
        "spread",
        "2 of 3 pods fit: topology spread lets no more onto 2 nodes with room, for example node "
        "n0; short of 1 pod",
    )
    places = Survey(instance).places(s, 3)
    assert (len(places.available), places.room) == (2, 2)


def test_nodes_that_take_one_more_are_not_closed() -> None:
    instance = _asked([("1", 3)], "podAntiAffinity", HOST, 3)
    s = podset_of(instance, "j")
    assert first_reason(instance, instance.current, instance.podsets[s].job) == (
        "anti_affinity",
        "1 of 3 pods fit: anti-affinity lets no more onto 1 node with room, for example node n0; "
        "short of 2 pods",
    )
