"""Goals that gain less per disturbed pod than they must: what is left, and what is said of it."""

from __future__ import annotations

import random
from collections.abc import Iterator
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

SEEDS = 40


def tidied(documents: Question, *goals: str, least: str, **limits: int) -> Plan:
    """The plan of some goals, which the judge has to agree with."""
    wish = Wish(goals=goals, limits=Limits.model_validate(limits), min_benefit=least)
    wanted = asked(documents, wish)
    plan = defragment(documents, wanted, Options(workers=1), Deadline.within(20)).plan
    assert not judge_plan(documents, plan, None, "the plan").findings
    return plan


def test_one_eviction_is_worth_a_job_where_two_are_not() -> None:
    nodes = [node("a"), node("b")]
    running = [job(name, pods(cpu=2, on=["a"]), priority=0) for name in ("small", "also-small")]
    running.append(job("big", pods(cpu=4, on=["b"]), priority=5))
    documents = question(nodes, running, [job("p", pods(cpu=4), priority=10)])
    plan = tidied(documents, "fit=p", least="1", evictions=2)
    assert [item.job for item in plan.evictions] == ["default/big"]
    assert not any(goal.missed_by for goal in plan.goals)


def test_evictions_and_moves_share_what_a_gain_is_worth() -> None:
    """To evict the least important takes two moves more, to evict another none."""
    nodes = [node("a"), node("b"), node("c")]
    running = [job(name, pods(on=["a"]), priority=20) for name in ("one", "other")]
    running += [
        job("low", pods(cpu=2, on=["a"]), priority=0),
        job("mid", pods(cpu=4, on=["b"]), priority=5),
        job("fixed", pods(cpu=2, on=["c"]), priority=20, movable=False),
    ]
    documents = question(nodes, running, [job("p", pods(cpu=4), priority=10)])
    for least, gone, moved in (("0.3", "low", 2), ("0.5", "mid", 0)):
        plan = tidied(documents, "fit=p", least=least, evictions=2)
        assert [item.job for item in plan.evictions] == [f"default/{gone}"]
        assert plan.summary.moved_pods == moved
        assert not any(goal.missed_by for goal in plan.goals)


def test_where_goals_gain_together_no_more_is_said_to_be_proved_than_is() -> None:
    """To move q makes a slot; but an empty node comes first, and that costs one."""
    nodes = [
        node("a", cpu=3, labels={"g": "x"}),
        node("b", cpu=5, labels={"g": "x"}),
        node("c", cpu=5),
        node("d", cpu=3),
    ]
    running = [job("p", pods(on=["a"], nodeSelector={"g": "x"})), job("q", pods(cpu=2, on=["c"]))]
    running += [job(f"f{n}", pods(on=[n]), movable=False) for n in "bcd"]
    documents = question(nodes, running, [])
    goals = ("empty-nodes=+1", "fragment-rate=cpu:4:+1")
    plan = tidied(documents, *goals, least="1")
    assert not plan.moves
    assert not impossible(plan)
    assert plan.solver.status == "FEASIBLE"


def drawn(seed: int) -> tuple[dict[str, int], list[tuple[int, str, bool]], str, str]:
    """Room by node, pods with their nodes and whether they move, a goal, and the least benefit."""
    rng = random.Random(f"benefit {seed}")
    room = {n: rng.randint(3, 8) for n in "abcd"[: rng.choice((3, 4))]}
    free, running = dict(room), []
    for _ in range(rng.randint(3, 6)):
        n, size = rng.choice(list(room)), rng.randint(1, 3)
        if size <= free[n]:
            free[n] -= size
            running.append((size, n, rng.random() < 0.9))
    kind = rng.choice(("empty-nodes{}", f"fragment-rate=cpu:{rng.randint(2, 4)}{{}}"))
    number = rng.choice(("", "+1", "+2"))
    sign = "=" if kind.startswith("empty") else ":"
    return room, running, kind.format(sign + number if number else ""), rng.choice("123") + "/2"


def ends_of(seed: int) -> Iterator[tuple[int, int]]:
    """Gain, as far as it is wanted, and moves of each legal end of a drawn cluster."""
    room, running, goal, _ = drawn(seed)
    most = int(goal.rpartition("+")[2]) if "+" in goal else None
    size = int(goal.split(":")[1]) if goal.startswith("fragment") else None

    def count(ends: tuple[str, ...]) -> int | None:
        left = dict(room)
        for (cpu, _, _), end in zip(running, ends, strict=True):
            left[end] -= cpu
        if min(left.values()) < 0:
            return None
        if size is None:
            return sum(left[n] == cpu for n, cpu in room.items())
        return sum(cpu // size for cpu in left.values())

    homes = tuple(home for _, home, _ in running)
    before = count(homes) or 0
    for ends in product(*(tuple(room) if moves else (home,) for _, home, moves in running)):
        after = count(ends)
        if after is not None:
            gain = after - before if most is None else min(after, before + most) - before
            yield gain, sum(end != home for end, home in zip(ends, homes, strict=True))


@pytest.mark.parametrize("block", range(2))
def test_the_largest_gain_that_is_worth_its_moves_is_left(block: int) -> None:
    held = proved = 0
    for seed in range(block, SEEDS, 2):
        room, running, goal, halves = drawn(seed)
        entries: list[Any] = [
            job(f"j{i}", pods(cpu=cpu, on=[home]), movable=moves)
            for i, (cpu, home, moves) in enumerate(running)
        ]
        nodes = [node(n, cpu=cpu) for n, cpu in room.items()]
        least = int(halves[0]) / 2
        plan = tidied(question(nodes, entries, []), goal, least=str(least))
        ends = list(ends_of(seed))
        worth = [(gain, -moves) for gain, moves in ends if not moves or gain >= least * moves]
        gain, moves = max(worth)
        held += max(ends)[0] > gain
        if plan.solver.status == "OPTIMAL":
            proved += 1
            (row,) = plan.goals
            told = row.gain if row.goal is None else min(row.after, row.goal) - row.before
            assert (told, -plan.summary.moved_pods) == (gain, moves), f"seed {seed}"
    assert proved >= 0.4 * SEEDS
    assert held >= 2
