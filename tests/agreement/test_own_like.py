"""R16 of pods that run and must be near their own like: judge, encoding and order agree."""

from __future__ import annotations

import random
from collections import Counter
from itertools import product

from kantopt.problem.cluster import Spot
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.schema.model import Rule
from kantopt.search.order.sequence import sequence
from kantopt.verify.rules import check
from tests.agreement.test_encoding import Encodings
from tests.verify.world import Document, job, node, pods, question

NODES = [node(name, cpu=64, rack=f"x/{name[0]}") for name in ("a1", "a2", "b1")]
QUESTIONS = 60
PLACEMENTS = 40
NAMES = [*(each["name"] for each in NODES), "lone"]


def drawn(rng: random.Random) -> Instance:
    """Two or three pod sets with one or two pods, most of them alike and near their like."""
    jobs = []
    for name in ("i", "j", "k")[: rng.randint(2, 3)]:
        term = {"topologyKey": "rack", "labelSelector": {"matchLabels": {"team": "x"}}}
        asks: Document = {"podAffinity": [term]} if rng.random() < 0.7 else {}
        like: Document = {"labels": {"team": "x"}} if rng.random() < 0.8 else {}
        count = rng.randint(1, 2) if name == "i" else 1
        on = [rng.choice(NAMES) for _ in range(count)] if rng.random() < 0.7 else []
        mode: Document = rng.choice(({}, {}, {"moveMode": "live"}, {"disruptionMode": "all"}))
        jobs.append(job(name, pods(count=count, minCount=0, on=on, **like, **asks), **mode))
    return question([*NODES, node("lone", cpu=64)], jobs, rules={"priority": "off"})


def placements(instance: Instance) -> list[Placement]:
    """Every way to put each pod somewhere, or nowhere."""
    owners = [s for s, podset in enumerate(instance.podsets) for _ in range(podset.count)]
    found: list[Placement] = []
    for nodes in product([None, *range(len(instance.nodes))], repeat=len(owners)):
        spots: list[Counter[Spot]] = [Counter() for _ in instance.podsets]
        for s, n in zip(owners, nodes, strict=True):
            if n is not None:
                spots[s][Spot(n)] += 1
        found.append(Placement(tuple(dict(sorted(each.items())) for each in spots)))
    return found


def test_judge_and_encoding_agree_and_what_they_admit_has_an_order() -> None:
    rng = random.Random(0)
    told: Counter[bool] = Counter()
    for trial in range(QUESTIONS):
        instance = drawn(rng)
        encodings = Encodings(instance)
        for placement in rng.choices(placements(instance), k=PLACEMENTS):
            legal = not check(instance, placement, [Rule.AFFINITY])
            assert encodings.admit(placement, Rule.AFFINITY) == legal, f"trial {trial}"
            if not check(instance, placement):
                assert sequence(instance, placement) is not None, f"trial {trial}"
            told[legal] += 1
    assert min(told[True], told[False]) > QUESTIONS * PLACEMENTS // 4
