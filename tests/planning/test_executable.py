"""Of what was found the best that has an order: whole where there is time, or an earlier one."""

from __future__ import annotations

from kantopt.clock import Deadline
from kantopt.planning.solving.executable import NO_ORDER, executable
from kantopt.planning.solving.options import Options
from kantopt.planning.solving.run import Run
from kantopt.problem.cluster import Spot
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import tiers_of
from kantopt.verify.rules import check
from tests.planning.test_plan import PODS_FIRST, job, node, planned, soon
from tests.questions import model, question


def test_a_swap_of_live_moves_has_no_order_and_is_left() -> None:
    """Only by swapping could the pending pod be placed, and both places are taken meanwhile."""
    x, y = job("x", 2, "a", moveMode="live"), job("y", 3, "b", moveMode="live")
    wants = job("z", 1)
    wants["podSets"][0]["nodeSelector"] = {"kubernetes.io/hostname": "b"}
    asked = question([node("a", 3), node("b", 3)], [x, y], [wants])
    result = planned(asked, model(*PODS_FIRST))
    assert result.plan.summary.moved_pods == 0
    assert result.plan.summary.placed_pods == 0
    assert result.plan.solver.status == "FEASIBLE"
    assert NO_ORDER in result.plan.warnings


def test_when_the_time_is_up_what_has_an_order_is_kept_of_a_placement() -> None:
    """A circle that would take a stop-over is left undone, the bind beside it is not."""
    x, y = (job(name, 2, on, moveMode="live") for name, on in (("x", "a"), ("y", "b")))
    nodes = [node("a", 2), node("b", 2), node("c", 2), node("d", 1)]
    asked = question(nodes, [x, y], [job("z", 1)])
    wanted = model(*PODS_FIRST)
    instance = asked.instance(wanted)
    swapped = Placement(({Spot(1): 1}, {Spot(0): 1}, {Spot(3): 1}))

    def ordered(seconds: float) -> tuple[Placement, int]:
        late = Deadline.within(seconds)
        run = Run(instance, tiers_of(instance), Options(engine="fast"), late, lambda _: None, None)
        run.incumbent.offer(swapped, "nobody")
        placement, waves = executable(run)
        return placement, sum(len(wave.actions) for wave in waves)

    assert ordered(20.0) == (swapped, 4)
    assert ordered(-1.0) == (instance.current.replace({2: {Spot(3): 1}}), 1)


def test_when_the_time_is_up_an_earlier_plan_with_an_order_is_kept_whole() -> None:
    """What can be done of a later one, which has none, leaves out who needs the circle's room."""
    x, y = job("x", 2, "a", moveMode="live"), job("y", 3, "b", moveMode="live")
    asked = question(
        [node("a", 3), node("b", 3), node("c", 1)],
        [x, y],
        [job("big", 1, priority=9), job("small", 1)],
    )
    instance = asked.instance(model(*PODS_FIRST))
    earlier = instance.current.replace({2: {Spot(2): 1}})
    swapped = {0: {Spot(1): 1}, 1: {Spot(0): 1}, 2: {Spot(1): 1}, 3: {Spot(2): 1}}
    late = Deadline.within(-1.0)
    run = Run(instance, tiers_of(instance), Options(engine="fast"), late, lambda _: None, None)
    assert run.incumbent.offer(earlier, "nobody")
    assert run.incumbent.offer(instance.current.replace(swapped), "nobody")
    placement, waves = executable(run)
    assert (placement, len(waves)) == (earlier, 1)
    assert NO_ORDER in run.warnings


def test_moves_left_over_by_a_circle_without_an_order_go_where_they_gain_as_much() -> None:
    """Two VMs can only swap by way of a third node, for which there is no move; one goes there."""
    x, y = job("x", 3, "a", moveMode="live"), job("y", 2, "b", moveMode="live")
    asked = question([node("a", 4), node("b", 3), node("c", 3)], [x, y], [])
    wanted = model({"fragment_rate": {"resource": "cpu", "size": 2}}, "moves", limits={"moves": 2})
    instance = asked.instance(wanted)
    swapped = Placement(({Spot(1): 1}, {Spot(0): 1}))
    assert check(instance, swapped) == []
    run = Run(instance, tiers_of(instance), Options(engine="fast"), soon(), lambda _: None, None)
    run.incumbent.offer(swapped, "nobody")
    placement, waves = executable(run)
    assert placement.podsets == ({Spot(2): 1}, {Spot(1): 1})
    assert [len(wave.actions) for wave in waves] == [1]
    assert run.warnings == []
