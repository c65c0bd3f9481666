"""Goals of free slots: they count slots, whatever comes to or leaves the nodes that count."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import pytest

from kantopt.clock import Deadline
from kantopt.planning.defrag import Wish, asked, defragment
from kantopt.planning.document.goals import impossible
from kantopt.planning.document.judge import judge_plan
from kantopt.planning.question import Question
from kantopt.planning.solving.options import Options
from kantopt.schema.answers.plan import Plan
from kantopt.schema.model import Limits
from tests.questions import question
from tests.verify.world import job, node, pods

SEEDS = 48
BLOCKS = 4


def tidied(documents: Question, *goals: str, **limits: int) -> Plan:
    """The plan of some goals, which the judge has to agree with."""
    wanted = asked(documents, Wish(goals=goals, limits=Limits.model_validate(limits)))
    plan = defragment(documents, wanted, Options(workers=1), Deadline.within(20)).plan
    assert not judge_plan(documents, plan, None, "the plan").findings
    return plan


def fixed(name: str, cpu: int, on: str) -> dict[str, Any]:
    return job(name, pods(cpu=cpu, on=[on]), movable=False)


def test_a_pod_that_comes_from_a_cordoned_node_makes_no_slot() -> None:
    nodes = [node("a", cpu=4), node("b", cpu=4), node("c", cpu=4, unschedulable=True)]
    running = [fixed("fa", 1, "a"), fixed("fb", 1, "b"), job("q", pods(cpu=3, on=["c"]))]
    plan = tidied(question(nodes, running, []), "fragment-rate=cpu:4:1")
    (row,) = plan.goals
    assert (row.before, row.after, row.goal, row.missed_by) == (0, 0, 1, 1)
    assert not plan.moves
    assert impossible(plan)


def test_no_slot_is_given_up_for_a_lower_rate() -> None:
    nodes = [node("b", cpu=7), node("x", cpu=4), node("c", cpu=5, unschedulable=True)]
    running = [fixed("fx", 3, "x"), job("q", pods(cpu=5, on=["c"]))]
    plan = tidied(question(nodes, running, []), "fragment-rate=cpu:4")
    assert (plan.goals[0].before, plan.goals[0].after) == (1, 1)
    assert not plan.moves


def test_pods_may_leave_the_nodes_that_count_for_a_slot() -> None:
    x, other = {"pool": "x"}, {"pool": "other"}
    nodes = [node("a", cpu=4, labels=x), node("d", cpu=4, labels=x), node("c", cpu=4, labels=other)]
    running = [job("ja", pods(cpu=3, on=["a"])), fixed("fd", 3, "d")]
    plan = tidied(question(nodes, running, []), "fragment-rate=cpu:4:1,selector=pool=x")
    assert plan.goals[0].missed_by == 0
    assert plan.summary.moved_pods == 1


def test_slots_wanted_are_as_many_after_pods_have_left_a_node_to_be_emptied() -> None:
    nodes = [node(name, cpu=8) for name in "abc"]
    running = [job("w", pods(count=2, minCount=0, on=["c", "c"]))]
    plan = tidied(question(nodes, running, []), "drain=c", "fragment-rate=cpu:8:1")
    assert (plan.goals[1].after, plan.goals[1].goal, plan.goals[1].missed_by) == (1, 1, 0)


@dataclass(frozen=True)
class Pod:
    size: int
    home: str | None
    movable: bool
    pool: str | None


@dataclass
class Drawn:
    """A tiny cluster of one resource, and what is wanted of it."""

    room: dict[str, int]
    pools: dict[str, str]
    cordoned: set[str]
    pods: list[Pod]
    size: int
    selector: str | None
    drain: str | None
    wanted: int | None
    moves: int | None

    def documents(self) -> Question:
        nodes = [
            node(n, cpu=cpu, labels={"pool": self.pools[n]}, unschedulable=n in self.cordoned)
            for n, cpu in self.room.items()
        ]
        jobs: tuple[list[Any], list[Any]] = [], []
        for i, pod in enumerate(self.pods):
            where = {} if pod.home is None else {"on": [pod.home]}
            near = {} if pod.pool is None else {"nodeSelector": {"pool": pod.pool}}
            name = f"j{i}" if pod.home else f"p{i}"
            entry = job(name, pods(cpu=pod.size, **where, **near), movable=pod.movable)
            jobs[pod.home is None].append(entry)
        return question(nodes, *jobs)

    def goals(self) -> Iterator[str]:
        if self.drain is not None:
            yield f"drain={self.drain}"
        if any(pod.home is None for pod in self.pods):
            yield "fit=p*"
        which = "" if self.selector is None else f",selector=pool={self.selector}"
        number = "" if self.wanted is None else f":{self.wanted}"
        yield f"fragment-rate=cpu:{self.size}{number}{which}"

    def values(self) -> Iterator[tuple[int, int, int, int]]:
        """Of each legal end: pods to be drained, pods not placed, slots missing, moves."""
        for ends in product(*map(self._ends, self.pods)):
            moved = [pod for pod, end in zip(self.pods, ends, strict=True) if end != pod.home]
            load = dict.fromkeys(self.room, 0)
            for pod, end in zip(self.pods, ends, strict=True):
                if end is not None:
                    load[end] += pod.size
            moves = sum(pod.home is not None for pod in moved)
            full = any(load[n] > cpu for n, cpu in self.room.items())
            if full or (self.moves is not None and moves > self.moves):
                continue
            slots = sum((cpu - load[n]) // self.size for n, cpu in self.room.items() if self._is(n))
            most = sum(cpu // self.size for n, cpu in self.room.items() if self._is(n))
            wanted = most if self.wanted is None else self.wanted
            yield ends.count(self.drain or ""), ends.count(None), max(0, wanted - slots), moves

    def _ends(self, pod: Pod) -> list[str | None]:
        if not pod.movable:
            return [pod.home]
        closed = self.cordoned | {self.drain}
        fit = [n for n in self.room if pod.pool in (None, self.pools[n]) and n not in closed]
        return list(dict.fromkeys((pod.home, *fit)))

    def _is(self, n: str) -> bool:
        """Whether a node counts."""
        open_ = n not in self.cordoned and n != self.drain
        return open_ and self.selector in (None, self.pools[n])


def drawn(seed: int) -> Drawn:
    rng = random.Random(f"slots {seed}")
    room = {n: rng.randint(4, 8) for n in "abcd"[: rng.choice((3, 4))]}
    free, pools = dict(room), {n: rng.choice("xy") for n in room}
    found: list[Pod] = []
    for _ in range(rng.randint(3, 5)):
        home, size = rng.choice(list(room)), rng.randint(1, 4)
        if size <= free[home]:
            free[home] -= size
            found.append(Pod(size, home, rng.random() < 0.8, rng.choice((None, pools[home]))))
    found += [Pod(rng.randint(1, 4), None, True, None)] * rng.choice((0, 0, 1))
    closed = {rng.choice(list(room))} if rng.random() < 0.6 else set()
    left = sorted(room.keys() - closed)
    return Drawn(
        room,
        pools,
        closed,
        found,
        size=rng.randint(2, 4),
        selector=rng.choice((None, None, pools[left[0]])),
        drain=rng.choice((None, None, left[-1])),
        wanted=rng.choice((None, 1, 2, 3)),
        moves=rng.choice((None, None, 1, 2)),
    )


@pytest.mark.parametrize("block", range(BLOCKS))
def test_slots_and_what_is_proved_of_them_are_those_that_trying_all_plans_finds(block: int) -> None:
    proved = 0
    for seed in range(block, SEEDS, BLOCKS):
        it = drawn(seed)
        limits = {} if it.moves is None else {"moves": it.moves}
        plan = tidied(it.documents(), *it.goals(), **limits)
        drained, unplaced, missing, moves = min(it.values())
        row = plan.goals[-1]
        beyond = row.beyond if it.wanted is not None else 0
        slots = next(tier for tier in plan.objectives if tier.metric == "fragment_rate")
        assert slots.bound is not None
        assert slots.bound + beyond <= missing, f"seed {seed}"
        if all(tier.status == "OPTIMAL" for tier in plan.objectives):
            proved += 1
            left = {goal.objective: goal.after for goal in plan.goals}
            assert left.get("undrained[above goal 0]", 0) == drained, f"seed {seed}"
            assert len(plan.unplaced) == unplaced, f"seed {seed}"
            assert slots.value + beyond == missing, f"seed {seed}"
            assert plan.summary.moved_pods == moves, f"seed {seed}"
            if it.wanted is not None:
                assert row.missed_by == missing, f"seed {seed}"
    assert proved >= 0.9 * SEEDS / BLOCKS
