"""Short words for tests of the fast path: build, run, and say where pods are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kantopt.budget import Budget
from kantopt.clock import Deadline
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import Tier, tiers_of
from kantopt.schema.model import Rule
from kantopt.search.construct import How, construct
from kantopt.search.engine.desk import Desk, Line
from kantopt.search.engine.incumbent import Incumbent
from kantopt.search.strategy import Strategy
from kantopt.verify.rules import check
from tests.verify.world import podset_of

FOREVER = Deadline(None)


class Told:
    """A desk, and what it says of the techniques that ran, from a placement or the snapshot's."""

    def __init__(
        self,
        instance: Instance,
        *without: str,
        start: Placement | None = None,
        seconds: float = 20.0,
    ) -> None:
        self.begun: list[str] = []
        self.left_out: dict[str, str] = {}
        self.notes: list[str] = []
        self.news: list[Placement] = []
        line = Line(
            found=lambda _: None,
            bound=lambda _: None,
            note=self.notes.append,
            news=lambda: self.news.pop() if self.news else None,
            begun=lambda technique: self.begun.append(technique.name),
            left_out=lambda technique, why: self.left_out.update({technique.name: why}),
        )
        budget = Budget(Deadline.within(seconds), workers=1)
        start = start or instance.current
        self.desk = Desk(instance, tiers_of(instance), start, (), budget, line, without)


class Witness(Incumbent):
    """An incumbent that insists on what it is offered being legal."""

    def offer(self, placement: Placement, *args: Any, **more: Any) -> bool:
        assert check(self.instance, placement) == []
        return super().offer(placement, *args, **more)


def where(instance: Instance, placement: Placement, name: str) -> dict[str, int]:
    """Pods of a pod set by node; see ``podset_of`` for names."""
    found: dict[str, int] = {}
    for spot, pods in placement.podsets[podset_of(instance, name)].items():
        node = instance.nodes[spot.node].name
        found[node] = found.get(node, 0) + pods
    return dict(sorted(found.items()))


def built(instance: Instance, strategy: Strategy = Strategy.BEST_FIT, **more: Any) -> Placement:
    """Construct, and insist that the judge finds nothing wrong but missing required jobs."""
    placement = construct(instance, FOREVER, How(strategy, **more))
    assert [v for v in check(instance, placement) if v.rule != Rule.REQUIRED] == []
    return placement


def searching(search: Callable[..., None]) -> Callable[..., Placement]:
    """Return a local search as a function of where it begins: it gets an incumbent of its own."""

    def run(
        instance: Instance,
        start: Placement,
        tiers: Sequence[Tier],
        deadline: Deadline,
        seed: int = 0,
        found: Callable[[Placement], None] = lambda _: None,
        enough: Callable[[tuple[int, ...]], bool] = lambda _: False,
        **more: Any,
    ) -> Placement:
        best = Incumbent(instance, tiers, start, found=found, enough=enough)
        search(best, deadline, seed, **more)
        return best.placement

    return run
