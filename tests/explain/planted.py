"""Clusters with a planted reason why a job has no place, and the rules that make it.

``python -m tests.explain.planted 240`` explains that many and checks every conflict and remedy.
"""

from __future__ import annotations

import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kantopt.clock import Deadline
from kantopt.cp.reach import reach
from kantopt.planning.document.actions import waves_of
from kantopt.planning.explain.edits import edited
from kantopt.planning.question import Question
from kantopt.problem.derived.focus import focused, is_placed
from kantopt.schema.answers.explanation import Explanation, Remedy, Steps
from kantopt.schema.answers.plan import Plan
from kantopt.schema.model import Model, Rule
from kantopt.verify.replay import replay
from kantopt.verify.rules import check
from tests.explain.helpers import asked, explained, model_of
from tests.verify.world import HOST, Document, job, node, pods

FOREVER = Deadline(None)


@dataclass(frozen=True, slots=True)
class Planted:
    """A question about job ``j``, the rules that leave it no place, and the verdict."""

    kind: str
    question: Question
    rules: frozenset[str]
    verdict: str


class Bed:
    """A small random cluster of whole racks to plant on."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.gpus = rng.choice((4, 8))
        self.racks = rng.randint(1, 3)
        self.per_rack = rng.randint(1, 3)
        self.size = self.racks * self.per_rack
        self.priority = rng.randint(1, 9)

    def nodes(self, **more: Any) -> list[Document]:
        return [
            node(f"n{i}", cpu=64, gpu=self.gpus, rack=f"b/{i // self.per_rack}", **more)
            for i in range(self.size)
        ]

    def fillers(self, gpu: int, **more: Any) -> list[Document]:
        """A running job of one pod on each node."""
        return [
            job(f"r{i}", pods(gpu=gpu, on=[f"n{i}"]), **{"priority": self.priority, **more})
            for i in range(self.size)
        ]

    def pending(self, *podsets: Document, **more: Any) -> Document:
        return job("j", *podsets, **{"priority": self.priority, **more})


def _too_large(bed: Bed) -> Planted:
    question = asked(bed.nodes(), [bed.pending(pods(gpu=bed.gpus + bed.rng.randint(1, 4)))])
    return Planted("too-large", question, frozenset(("capacity",)), "NEVER")


def _taint(bed: Bed) -> Planted:
    nodes = bed.nodes(taints=[{"key": "dedicated", "value": "x", "effect": "NoSchedule"}])
    nodes += [node(f"s{i}", cpu=64, gpu=1) for i in range(bed.rng.randint(1, 3))]
    question = asked(nodes, [bed.pending(pods(gpu=2))])
    return Planted("taint", question, frozenset(("capacity", "eligibility")), "NEVER")


def _selector(bed: Bed) -> Planted:
    own = bed.pending(pods(gpu=1, nodeSelector={"pool": "none"}))
    return Planted("selector", asked(bed.nodes(), [own]), frozenset(("eligibility",)), "NEVER")


def _cordoned(bed: Bed) -> Planted:
    question = asked(bed.nodes(unschedulable=True), [bed.pending(pods(gpu=1))])
    return Planted("cordoned", question, frozenset(("eligibility",)), "NEVER")


def _topology(bed: Bed) -> Planted:
    bed.racks, bed.size = 2, 2 * bed.per_rack
    count = bed.per_rack + bed.rng.randint(1, bed.per_rack)
    own = bed.pending(pods(count=count, gpu=bed.gpus, topologyRequest={"required": "rack"}))
    rules = frozenset(("capacity", "gang", "topology"))
    return Planted("topology", asked(bed.nodes(), [own]), rules, "NEVER")


def _quota(bed: Bed) -> Planted:
    queues = [{"name": "q", "resources": [{"name": "nvidia.com/gpu", "nominalQuota": 2}]}]
    own = bed.pending(pods(gpu=3), queueName="q")
    question = asked(bed.nodes(), [own], queues=queues)
    return Planted("quota", question, frozenset(("quota",)), "OVER_QUOTA")


def _used_quota(bed: Bed) -> Planted:
    """The quota is used by a job that may not be evicted for this one."""
    queues = [{"name": "q", "resources": [{"name": "nvidia.com/gpu", "nominalQuota": 3}]}]
    jobs = [
        job("r0", pods(gpu=2, on=["n0"]), queueName="q", priority=bed.priority),
        bed.pending(pods(gpu=2), queueName="q"),
    ]
    question = asked(bed.nodes(), jobs, queues=queues)
    return Planted("used-quota", question, frozenset(("quota", "priority")), "OVER_QUOTA")


def _gang(bed: Bed) -> Planted:
    """All but some nodes are held by pods that stay; the gang needs one node more than are free."""
    if bed.size < 2:
        bed.racks, bed.per_rack, bed.size = 2, 1, 2
    free = bed.rng.randint(1, bed.size - 1)
    stay = bed.fillers(bed.gpus, preemptible=False, movable=False)[free:]
    own = bed.pending(pods(count=free + 1, gpu=bed.gpus))
    rules = frozenset(("capacity", "gang", "pinned"))
    return Planted("gang", asked(bed.nodes(), [*stay, own]), rules, "WAITS")


def _apart(bed: Bed) -> Planted:
    """Services that stay on every node keep the job away."""
    term = {"topologyKey": HOST, "labelSelector": {"matchLabels": {"app": "web"}}}
    jobs = [
        job(
            f"r{i}",
            pods(on=[f"n{i}"], labels={"app": "web"}),
            priority=bed.priority,
            preemptible=False,
            movable=False,
        )
        for i in range(bed.size)
    ]
    own = bed.pending(pods(gpu=1, podAntiAffinity=[term]))
    rules = frozenset(("anti_affinity", "pinned"))
    return Planted("apart", asked(bed.nodes(), [*jobs, own]), rules, "WAITS")


def _each_other(bed: Bed) -> Planted:
    term = {"topologyKey": HOST, "labelSelector": {"matchLabels": {"job": "j"}}}
    own = bed.pending(pods(count=bed.size + 1, podAntiAffinity=[term]))
    rules = frozenset(("anti_affinity", "gang"))
    return Planted("each-other", asked(bed.nodes(), [own]), rules, "NEVER")


def _budget(bed: Bed) -> Planted:
    """Lesser pods that a budget protects."""
    fillers = bed.fillers(bed.gpus, priority=0)
    for item in fillers:
        item["podSets"][0]["labels"] = {"app": "guarded"}
    budget = {
        "name": "guard",
        "selector": {"matchLabels": {"app": "guarded"}},
        "disruptionsAllowed": 0,
    }
    question = asked(
        bed.nodes(), [*fillers, bed.pending(pods(gpu=1))], podDisruptionBudgets=[budget]
    )
    return Planted("budget", question, frozenset(("capacity", "disruption")), "WAITS")


def _pinned(bed: Bed) -> Planted:
    stay = bed.fillers(bed.gpus, priority=0, preemptible=False, movable=False)
    question = asked(bed.nodes(), [*stay, bed.pending(pods(gpu=1))])
    return Planted("pinned", question, frozenset(("capacity", "pinned")), "WAITS")


def _fragments(bed: Bed) -> Planted:
    """Room enough in sum, in pieces that no move brings together."""
    most = bed.gpus // 2 + 1
    question = asked(bed.nodes(), [*bed.fillers(most), bed.pending(pods(gpu=bed.gpus))])
    return Planted("fragments", question, frozenset(("capacity", "priority")), "WAITS")


def _equals(bed: Bed) -> Planted:
    question = asked(bed.nodes(), [*bed.fillers(bed.gpus), bed.pending(pods(gpu=1))])
    return Planted("equals", question, frozenset(("capacity", "priority")), "WAITS")


def _limits(bed: Bed) -> Planted:
    fillers = bed.fillers(bed.gpus, priority=0)
    model = {"limits": {"evictions": 0}}
    question = asked(bed.nodes(), [*fillers, bed.pending(pods(gpu=1))], model)
    return Planted("limits", question, frozenset(("capacity", "limits")), "OVER_LIMIT")


def _never_preempts(bed: Bed) -> Planted:
    fillers = bed.fillers(bed.gpus, priority=0)
    own = bed.pending(pods(gpu=1), preemptionPolicy="Never")
    question = asked(bed.nodes(), [*fillers, own])
    return Planted("never-preempts", question, frozenset(("capacity", "priority")), "WAITS")


def _whole_rack(bed: Bed) -> Planted:
    """One node of each rack is held; the gang needs a whole rack."""
    bed.per_rack = max(2, bed.per_rack)
    bed.size = bed.racks * bed.per_rack
    stay = bed.fillers(1, preemptible=False, movable=False)[:: bed.per_rack]
    own = bed.pending(pods(count=bed.per_rack, gpu=bed.gpus, topologyRequest={"required": "rack"}))
    rules = {"capacity", "gang", "pinned", "topology"}
    if bed.racks * (bed.per_rack - 1) < bed.per_rack:
        rules.discard("topology")  # then there are too few free nodes in all racks together
    return Planted("whole-rack", asked(bed.nodes(), [*stay, own]), frozenset(rules), "WAITS")


PLANTS: tuple[Callable[[Bed], Planted], ...] = (
    _too_large,
    _taint,
    _selector,
    _cordoned,
    _topology,
    _quota,
    _used_quota,
    _gang,
    _apart,
    _each_other,
    _budget,
    _pinned,
    _fragments,
    _equals,
    _limits,
    _never_preempts,
    _whole_rack,
)


def planted(seed: int) -> Planted:
    """Plant a conflict; kinds follow each other, the same seed plants the same."""
    return PLANTS[seed % len(PLANTS)](Bed(random.Random(seed)))


def wrong(plant: Planted, told: Explanation) -> list[str]:
    """List what is wrong with an explanation of a planted conflict."""
    found = []
    if told.verdict.status != plant.verdict:
        found.append(f"verdict {told.verdict.status}, planted {plant.verdict}")
    if not told.verdict.proved:
        found.append("the verdict is not proved")
    if told.conflict is None:
        return [*found, "no conflict"]
    rules = frozenset(told.conflict.rules)
    if rules != plant.rules:
        found.append(f"conflict {sorted(rules)}, planted {sorted(plant.rules)}")
    if not (told.conflict.minimal_rules and told.conflict.minimal_items and told.conflict.proved):
        found.append("the conflict is not said to be minimal")
    found += _not_minimal(plant.question, [Rule(name) for name in told.conflict.rules])
    for remedy in told.remedies:
        found += [f"remedy {remedy.message}: {item}" for item in fails(plant.question, remedy)]
    return found


def _not_minimal(question: Question, rules: list[Rule]) -> list[str]:
    """Solve with only these rules on, and without each of them; the judge checks what is found."""
    instance = question.instance(model_of(question))
    j = instance.job_index["default/j"]
    asked_now = focused(instance, j)
    if not reach(asked_now, j, rules, FOREVER).impossible:
        return ["the conflict does not prove itself"]
    found = []
    for rule in rules:
        rest = [other for other in rules if other is not rule]
        placement = reach(asked_now, j, rest, FOREVER).placement
        if placement is None or check(asked_now, placement, rest):
            found.append(f"{rule} is not needed")
    return found


def fails(question: Question, remedy: Remedy, name: str = "default/j") -> list[str]:
    """Make the change that a remedy asks for and follow its plan: what goes wrong?"""
    question, model = edited(question, model_of(question), remedy.edit.split())
    return follows(question, name, remedy.plan, model)


def follows(question: Question, name: str, steps: Steps, model: Model) -> list[str]:
    """Follow a plan step by step: what goes wrong?"""
    instance = question.instance(model)
    j = instance.job_index[name]
    plan = Plan.model_construct(
        assignments=steps.assignments,
        evictions=steps.evictions,
        moves=steps.moves,
        waves=steps.waves,
    )
    waves, problems = waves_of(instance, plan, "plan")
    violations, final = replay(instance, waves)
    found = [*map(str, problems)]
    found += [str(v) for v in violations if v.rule != Rule.REQUIRED]
    if not is_placed(focused(instance, j), j, final):
        found.append("the job is not placed")
    return found


def main(number: int) -> int:
    """Explain planted conflicts; print what was wrong and how long it took."""
    kinds: Counter[str] = Counter()
    faults = 0
    began = time.monotonic()
    longest = 0.0
    for seed in range(number):
        plant = planted(seed)
        start = time.monotonic()
        told = explained(plant.question)
        longest = max(longest, time.monotonic() - start)
        kinds.update(remedy.kind for remedy in told.remedies)
        for text in wrong(plant, told):
            faults += 1
            print(f"seed {seed} ({plant.kind}): {text}")
    remedies = ", ".join(f"{kind} {count}" for kind, count in kinds.most_common())
    print(
        f"{number} conflicts, {faults} faults, {sum(kinds.values())} remedies applied: {remedies}"
    )
    print(f"{time.monotonic() - began:.0f} s, the longest {longest:.1f} s")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
