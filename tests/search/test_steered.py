"""Contents that only count room: plans near them, choices with a plan at hand."""

from __future__ import annotations

from typing import Any

from kantopt.clock import Deadline
from kantopt.cp.solver import Effort
from kantopt.problem.instance import Instance
from kantopt.problem.tiers import tiers_of
from kantopt.search.slots.generation import Generation
from kantopt.search.slots.steered import steered
from kantopt.search.techniques.content_columns import slots
from kantopt.verify.metrics import measure
from kantopt.verify.rules import check
from kantopt.verify.slots.program import program_of
from kantopt.verify.slots.rooms import rooms_of
from tests.search.helpers import Told, where
from tests.verify.world import HOST, job, node, placed, pods, question


def apart(**more: Any) -> dict[str, Any]:
    term = {"topologyKey": HOST, "labelSelector": {"matchLabels": {"app": "main"}}}
    return pods(podAntiAffinity=[term], labels={"app": "main"}, **more)


def replicas() -> Instance:
    """A replica and another pod leave ``a``; ``b`` has a replica of the same service, ``c`` not."""
    service = job("s", apart(count=2, cpu=2, on=["a", "b"], minCount=0))
    other = job("o", pods(cpu=2, on=["a"], labels={"app": "o"}))
    full = job("f", pods(cpu=3, on=["c"], labels={"app": "f"}))
    more = job("g", pods(cpu=2, on=["b"], labels={"app": "g"}))
    nodes = [node("a", labels={HOST: "a"}), node("b", 6, labels={HOST: "b"})]
    nodes.append(node("c", 5, labels={HOST: "c"}))
    return question(nodes, [service, other, full, more], objectives=["nodes_in_use", "moves"])


def test_pods_of_a_size_take_the_places_that_rules_admit_them_to() -> None:
    instance = replicas()
    wanted = placed(instance, s=["b", "b"], o=["c"])
    assert check(instance, wanted) != []
    found = steered(instance, wanted, lambda: False)
    assert check(instance, found) == []
    assert where(instance, found, "s") == {"b": 1, "c": 1}
    assert where(instance, found, "o") == {"b": 1}


def test_nodes_are_emptied_by_columns_though_replicas_keep_apart() -> None:
    told = Told(replicas())
    slots(told.desk, Deadline.within(20.0))
    assert told.desk.incumbent.values == (2, 2)
    assert told.desk.incumbent.optimal


def test_a_choice_is_no_worse_than_the_plan_at_hand() -> None:
    """Before any round: with contents as they are alone there would be nothing to choose."""
    instance = replicas()
    known = placed(instance, s=["b", "c"], o=["b"])
    program = program_of(instance, tiers_of(instance), (2, 2), 1)
    assert program is not None
    rooms = rooms_of(program)
    assert rooms is not None
    generation = Generation(program, rooms)
    assert generation.choose(Effort(5.0), instance.current) is None
    generation.learn(known)
    chosen = generation.choose(Effort(5.0), instance.current)
    assert chosen is not None
    assert measure(instance, chosen, tiers_of(instance)) == (2, 2)
