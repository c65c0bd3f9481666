"""Tiny random questions in which every rule bites and every metric counts.

An instance is a handful of *plants* on two to four nodes, plus noise. Each plant is one or two
jobs with an attractive placement for which the nodes have just the room, and which one rule alone
forbids (or, for the harmless plants, which a good plan finds). ``python -m tests.generate
--statistics 500`` prints how often each rule and each metric matters.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import prod
from typing import Any

from kantopt.errors import BadDataError
from kantopt.problem.build import build_instance
from kantopt.problem.instance import Instance
from kantopt.problem.tiers import tiers_of
from kantopt.schema.consistency import check_documents
from kantopt.schema.jobs import JobList
from kantopt.schema.model import Limits, Metric, Model, Rule
from kantopt.schema.raw import RawDocument
from kantopt.schema.snapshot import ClusterSnapshot
from kantopt.schema.validation import validate
from tests.drafts import GPU, HIGH, LOW, MIDDLE, Document, Draft
from tests.drawn_apart import ask_more, with_last_plan
from tests.oracle import ONE_JOB_RULES, Value, Ways, best, job_options, ways_of
from tests.plants import PLANTS
from tests.wishes import wish

MOST_PLACEMENTS = 200_000
MOST_JOBS = 6

WEIGHTS = {
    Rule.CAPACITY: 0.1,
    Rule.ELIGIBILITY: 0.2,
    Rule.PINNED: 0.1,
    Rule.GANG: 0.6,
    Rule.DEVICES: 1.2,
    Rule.QUOTA: 1.5,
    Rule.SPREAD: 1.6,
    Rule.ANTI_AFFINITY: 1.6,
    Rule.DISRUPTION: 2.2,
    Rule.REQUIRED: 1.7,
    Rule.AFFINITY: 1.9,
    Rule.LIMITS: 1.9,
    Rule.GANG_VICTIMS: 3.0,
    Rule.PRIORITY: 3.4,
    Rule.TOPOLOGY: 2.8,
    Rule.SLICES: 2.4,
    "eviction": 1.3,
    "move": 0.5,
    "crossing": 1.0,
    "crumbs": 0.3,
}
"""How often to plant; those that bite by chance, or nearly always, are planted less."""

OBJECTIVES: tuple[tuple[list[Any], str], ...] = (
    (
        [
            "unplaced",
            {"unplaced": {"unit": "job"}},
            "evictions",
            "moves",
            "domains_crossed",
            "stranded_gpus",
        ],
        "crossing",
    ),
    (
        [
            {"each_priority": [{"unplaced": {"unit": "pod"}}, "disruption_cost"]},
            "waiting",
            "excess_nodes",
            "excess_groups",
        ],
        "crossing",
    ),
    (
        [
            {"unplaced": {"unit": "pod"}},
            "evictions",
            "lost_gpu_seconds",
            "moves",
            {"nodes_in_use": {"class": "cpu"}},
            "fragmented_nodes",
        ],
        "move",
    ),
    (
        ["unplaced", "disruption_cost", "allocation", {"fragment_rate": {"size": "2"}}],
        "crumbs",
    ),
    (
        [
            {"unplaced": {"by": "all", "unit": "pod"}},
            "waiting",
            "evictions",
            {"evictions": {"by": "all", "unit": "pod"}},
            "preferences",
            "excess_nodes",
            "allocation",
        ],
        "eviction",
    ),
    (
        [
            {"unplaced": {"unit": "job"}},
            {"unplaced": {"unit": "pod"}},
            {"moves": {"by": "priority"}},
            {"excess_groups": {"level": "rack"}},
            {"fragment_rate": {"resource": GPU, "size": 2}},
            {"stranded_gpus": {"mix": [{"count": 2, "requests": {"cpu": 2, GPU: 1}}]}},
        ],
        "crumbs",
    ),
    (
        [
            {"each_priority": ["unplaced", "evictions", "lost_gpu_seconds", "moves"]},
            "domains_crossed",
            "excess_groups",
            {"stranded_gpus": {"mix": [{"requests": {"cpu": 1, GPU: 2}}]}},
        ],
        "crossing",
    ),
    (
        [
            "unplaced",
            "fragmented_nodes",
            {"evictions": {"unit": "pod"}},
            {"lost_gpu_seconds": {"by": "priority"}},
            "moves",
            {"domains_in_use": {"level": "rack", "selector": "topology/rack"}},
            "preferences",
        ],
        "move",
    ),
    (
        [
            {"unplaced": {"unit": "pod"}},
            "undrained",
            "nodes_in_use",
            {"disruption_cost": {"by": "priority"}},
        ],
        "eviction",
    ),
    (
        ["displaced", {"unplaced": {"unit": "pod"}}, "evictions", "moves"],
        "eviction",
    ),
)


def _nodes(rng: random.Random) -> list[Document]:
    count = rng.choice((2, 3, 3, 4, 4))
    racks = {2: ("ab",), 3: ("aab", "abb"), 4: ("aabb",)}[count]
    same_name = rng.random() < 0.3
    nodes = []
    for n, rack in enumerate(rng.choice(racks)):
        block = rack if same_name else "x"
        labels = {"topology/block": block, "rack": rack}
        if rng.random() < 0.9:
            labels["topology/rack"] = "1" if same_name else rack
        else:
            del labels["rack"]
        nodes.append({"name": f"n{n}", "labels": labels})
    return nodes


def _noise(d: Draft) -> None:
    """Changes that no plant counts on."""
    for job in (*d.running, *d.pending):
        if d.chance(5):
            job["moveMode"] = "live"
        if d.chance(5):
            job["priority"] = d.rng.choice((HIGH, MIDDLE, LOW))
    for room in d.room:
        if d.chance(15):
            room[d.rng.choice(("cpu", GPU))] += 1
        if d.chance(8):
            room["cpu"] = max(0, room["cpu"] - 2)
    if d.limited:
        d.limits[d.limited] -= 1
    if d.jobs < 4 and d.chance(50):
        nodes = d.pick()
        if nodes:
            d.wait(nodes, d.ask(), confined=d.chance(50), room=d.chance(50))


def _draft(rng: random.Random, favourite: str) -> Draft:
    nodes = _nodes(rng)
    d = Draft(rng, nodes, [Counter() for _ in nodes])
    names = sorted(PLANTS, key=lambda name: rng.random() ** (1 / WEIGHTS.get(name, 1.0)))
    names.reverse()
    if rng.random() < 0.6:
        names.insert(0, favourite)
    for name in names[: rng.randint(4, 6)]:
        if d.jobs <= MOST_JOBS - 2:
            PLANTS[name](d)
    _noise(d)
    return d


def _start(d: Draft) -> None:
    """Say since when jobs run, what of that they have saved, and whether pods move one by one.

    Draws nothing from the draft.
    """
    for i, job in enumerate(d.running):
        minute = sum(map(ord, str(job["podSets"]))) * (i + 1) % 60
        job["startTime"] = f"2026-01-01T00:{minute:02}:00Z"
        if minute % 3 == 0:
            job["lastCheckpointTime"] = "2026-01-01T00:59:30Z"
        if minute % 5 == 0:
            job["podSets"][0]["startTime"] = "2026-01-01T00:59:00Z"
        if minute % 7 == 0:
            job["minRuntime"] = "40m"
        if minute % 4 == 0:
            job["maxMovesAtOnce"] = 1


def _document(d: Draft, objectives: list[Any]) -> tuple[Document, Document, Document]:
    for node, room in zip(d.nodes, d.room, strict=True):
        node["labels"].pop("rack", None)
        offered = {name: max(0, k) for name, k in sorted(room.items()) if name != "pods"}
        if d.chance(30):
            offered["pods"] = max(1, room["pods"])
        node["allocatable"] = offered
    _start(d)
    if "preferences" in objectives:
        wish(d)
    head = {"apiVersion": "kantopt/v1alpha1"}
    levels = [{"name": name, "nodeLabel": f"topology/{name}"} for name in ("block", "rack")]
    snapshot = {
        **head,
        "kind": "ClusterSnapshot",
        "metadata": {"capturedAt": "2026-01-01T01:00:00Z"},
        "topology": {"levels": levels},
        "nodes": d.nodes,
        "jobs": d.running,
        "queues": d.queues,
        "podDisruptionBudgets": d.budgets,
    }
    jobs = {**head, "kind": "JobList", "jobs": d.pending}
    mode = "counts" if d.chance(20) else "strict"
    limits = {d.limited: max(0, d.limits[d.limited])} if d.limited else {}
    model = {
        **head,
        "kind": "Model",
        "rules": {"priority": mode},
        "objectives": objectives,
        "limits": limits,
        "required": d.required,
        "drain": [d.nodes[0]["name"]] if "undrained" in objectives else [],
    }
    return snapshot, jobs, model


def random_documents(seed: int) -> tuple[ClusterSnapshot, JobList, Model]:
    """Documents of a tiny question; the same for the same seed."""
    rng = random.Random(seed)
    while True:
        objectives, favourite = rng.choice(OBJECTIVES)
        parts = _document(_draft(rng, favourite), objectives)
        ask_more(seed, parts)
        raw = [RawDocument(f"seed {seed}", i, data) for i, data in enumerate(parts)]
        documents = (
            validate(raw[0], ClusterSnapshot),
            validate(raw[1], JobList),
            validate(raw[2], Model),
        )
        problems = check_documents(list(zip(raw, documents, strict=True)))
        if problems:
            raise BadDataError(problems)
        asked = ("cpu", GPU) if GPU in str(objectives) else ("cpu",)
        if not all(
            any(node.allocatable.get(name) for node in documents[0].nodes) for name in asked
        ):
            continue  # a metric of GPUs needs a cluster that has some
        instance = build_instance(documents[0], documents[1].jobs, documents[2])
        if prod(len(job_options(instance, job)) for job in instance.jobs) <= MOST_PLACEMENTS:
            return documents


@lru_cache(500)
def random_instance(seed: int) -> Instance:
    """Tiny question with every rule on; the same for the same seed, for all tests."""
    snapshot, jobs, model = random_documents(seed)
    return build_instance(snapshot, jobs.jobs, with_last_plan(seed, snapshot, jobs, model))


def rules_off(seed: int) -> tuple[Rule, ...]:
    """Up to three rules to be switched off; the same for the same seed."""
    rng = random.Random(f"rules off {seed}")
    return tuple(rng.sample(list(Rule), rng.choice((1, 1, 2, 2, 3))))


def without(instance: Instance, *rules: Rule) -> Instance:
    """Return the question with some rules switched off."""
    for rule in rules:
        instance = _without(instance, rule)
    return instance


def _without(instance: Instance, rule: Rule) -> Instance:
    model = instance.model
    if rule is Rule.LIMITS:
        jobs = tuple(replace(job, most_moves=job.max_moves) for job in instance.jobs)
        return replace(instance, jobs=jobs, model=model.model_copy(update={"limits": Limits()}))
    if rule is Rule.REQUIRED:
        return replace(instance, required=frozenset())
    switched = model.rules.model_copy(update={rule.value: "off"})
    return replace(instance, model=model.model_copy(update={"rules": switched}))


def rules_that_matter(instance: Instance, value: Value | None, ways: Ways) -> list[Rule]:
    """Rules that change the optimum when switched off alone; ``value`` is the optimum."""

    def matters(rule: Rule) -> bool:
        asked = without(instance, rule)
        if (asked.model, asked.required) == (instance.model, instance.required):
            return False  # there is nothing of it to switch off
        alike = rule not in ONE_JOB_RULES and tiers_of(asked) == tiers_of(instance)
        return best(asked, value, ways if alike else None)[0] is not None

    return list(filter(matters, Rule))


@dataclass
class Statistics:
    """How often rules matter and metrics are more than 0, over some seeds."""

    instances: int = 0
    infeasible: int = 0
    changed: Counter[Rule] = field(default_factory=Counter)
    present: Counter[Metric] = field(default_factory=Counter)
    nonzero: Counter[Metric] = field(default_factory=Counter)

    def add(self, instance: Instance) -> None:
        ways = ways_of(instance)
        value, _ = best(instance, ways=ways)
        self.instances += 1
        self.infeasible += value is None
        self.changed.update(rules_that_matter(instance, value, ways))
        if value is not None:
            tiers = tiers_of(instance)
            self.present.update({tier.metric for tier in tiers})
            self.nonzero.update({t.metric for t, v in zip(tiers, value, strict=True) if v > 0})

    def rule_percent(self, rule: Rule) -> float:
        return 100 * self.changed[rule] / self.instances

    def metric_percent(self, metric: Metric) -> float:
        return 100 * self.nonzero[metric] / max(1, self.present[metric])

    def table(self) -> str:
        lines = [f"{self.instances} instances, {self.infeasible} infeasible", ""]
        lines += [f"{rule:<18}{self.rule_percent(rule):6.1f} % changed" for rule in Rule]
        lines.append("")
        lines += [
            f"{metric:<18}{self.metric_percent(metric):6.1f} % nonzero of {self.present[metric]}"
            for metric in Metric
        ]
        return "\n".join(lines)


def statistics(seeds: range) -> Statistics:
    """Count over some seeds."""
    found = Statistics()
    for seed in seeds:
        found.add(random_instance(seed))
    return found


if __name__ == "__main__":
    print(statistics(range(int(sys.argv[sys.argv.index("--statistics") + 1]))).table())
