"""The planner's own search waits while the exact one asks for the processors."""

from __future__ import annotations

from kantopt.clock import Deadline, elapsed
from kantopt.planning.exact import Exact
from kantopt.planning.messages import Alone, Done, Message, SearchTask
from kantopt.planning.solver_process import SolverProcess
from kantopt.problem.tiers import tiers_of
from kantopt.search.engine.incumbent import Incumbent
from tests.verify.world import job, node, pods, question


class Scripted(SolverProcess):
    """A search that says one thing at once, the others only to who waits, then nothing."""

    def __init__(self, messages: list[Message]) -> None:
        self.left = messages
        self.first = True

    @property
    def pid(self) -> None:
        """There is no process."""

    def begin(self, task: SearchTask) -> None:
        """There is nothing to search."""

    def message(self, seconds: float) -> Message | None:
        if not self.left or not (self.first or seconds):
            return None
        self.first = False
        return self.left.pop(0)

    def close(self) -> None:
        """There is no process."""


def looked(messages: list[Message], seconds: float) -> tuple[int, bool]:
    """Messages left after one look, and whether the search goes on."""
    instance = question([node("a", gpu=1)], [job("x", pods(gpu=1))])
    tiers = tiers_of(instance)
    incumbent = Incumbent(instance, tiers, instance.current)
    deadline = Deadline(elapsed() + seconds)
    process = Scripted(messages)
    exact = Exact(incumbent, process)
    exact.begin(SearchTask(instance, tiers, instance.current, (), deadline, 0, 1, None))
    exact.look()
    return len(process.left), exact.open


def test_a_look_lasts_until_the_search_shares_again() -> None:
    assert looked([Alone(True), Alone(False), Done(infeasible=False)], 60.0) == (1, True)


def test_a_look_is_short_where_nobody_asks_to_be_alone() -> None:
    assert looked([Alone(False), Done(infeasible=False)], 60.0) == (1, True)


def test_a_look_does_not_outlast_the_time() -> None:
    assert looked([Alone(True)], 0.05) == (0, True)
