"""Last touches to a plan, whatever has ended the search for it."""

from __future__ import annotations

from kantopt.clock import Deadline
from kantopt.planning.solving.options import Options
from kantopt.planning.solving.run import Run
from kantopt.planning.solving.together import search_together
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import tiers_of
from tests.verify.world import job, node, placed, pods, question


def late_run(*without: str) -> Run:
    """Begin with a plan that exchanges two pods for nothing, when there is no time to search."""
    jobs = [job(name, pods(cpu=4, on=[at])) for name, at in (("x", "a"), ("y", "b"))]
    jobs += [job("new", pods(cpu=4)), job("other", pods(cpu=3))]
    nodes = [node(name) for name in "abc"]
    instance = question(nodes, jobs, objectives=["unplaced", "evictions", "moves"])
    return begun(instance, placed(instance, x=["b"], y=["a"], new=["c"]), *without)


def begun(instance: Instance, start: Placement, *without: str) -> Run:
    """Begin with a plan when there is no time to search."""
    options = Options(engine="fast", without=without)
    tiers, deadline = tiers_of(instance), Deadline.within(60.0)
    run = Run(instance, tiers, options, deadline, lambda _: None, None, (start, "a test"))
    run.reserve.seconds = 60.0
    assert run.searching.over()
    return run


def test_moves_for_nothing_are_taken_back_when_the_time_to_search_is_up() -> None:
    run = late_run()
    search_together(run)
    assert run.incumbent.placement.podsets[:2] == run.instance.current.podsets[:2]
    assert run.incumbent.tally.uses["homecoming"].plans == 1


def test_they_stay_where_the_technique_is_left_out() -> None:
    run = late_run("homecoming")
    before = run.incumbent.placement
    search_together(run)
    assert run.incumbent.placement is before


def test_victims_who_could_be_spared_are_when_the_time_to_search_is_up() -> None:
    jobs = [job("x", pods(cpu=4, on=["a"])), job("new", pods(cpu=4), priority=9)]
    instance = question([node(n, cpu=4) for n in "ab"], jobs, objectives=["unplaced", "evictions"])
    run = begun(instance, placed(instance, x=[], new=["a"]))
    search_together(run)
    assert run.incumbent.placement.podsets[0] == instance.current.podsets[0]
    assert run.incumbent.tally.uses["sparing"].plans == 1
