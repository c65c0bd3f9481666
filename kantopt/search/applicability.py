"""When techniques apply: conditions that say why one does not, in words that the plan shows.

What they ask is loaded when it is asked for: the schedule is read before anything heavy is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from kantopt.problem.tiers import OF_WHO_IS_PLACED, changes_tier

if TYPE_CHECKING:
    from kantopt.schema.model import Metric
    from kantopt.search.engine.desk import Desk

FEW_NODES, MOST_NODES = 64, 2_000
"""Nodes up to which counts of domains take tenths of a second, and beyond which a neighbourhood
takes longer to write down than they do."""

SO_FEW_NODES = 32
"""Nodes up to which columns of disruption, or the exact model of the whole, are soon done."""


def nothing_new(name: str) -> Callable[[Desk], str]:
    """Make a condition: the technique has not looked at the best plan yet."""
    return lambda desk: (
        "no better plan since" if desk.looked_at.get(name) == desk.incumbent.values else ""
    )


def disturbed(desk: Desk) -> str:
    """Say why nodes are not thinned out yet: who is disturbed decides which of them are alike."""
    from kantopt.search.techniques.symmetry import undisturbed

    waiting = sum(podset.count for podset in desk.instance.podsets if not podset.running)
    if 2 * waiting > len(desk.instance.nodes):
        return "more pods wait than half of the nodes"
    if undisturbed(desk) is None:
        return "pods may still be disturbed"
    return nothing_new("symmetry")(desk)


def devices_in_use(desk: Desk) -> str:
    """Say why devices are not filled by patterns: those suit empty ones that are asked for."""
    users = [podset for podset in desk.instance.podsets if podset.devices]
    if not users:
        return "no pod asks for devices"
    return "devices are in use" if any(podset.running for podset in users) else ""


def no_gangs(desk: Desk) -> str:
    """Say why domains are not counted: there would be nothing to count."""
    from kantopt.cp.relaxed.domains import worth_dividing

    worth = worth_dividing(desk.instance, desk.tiers)
    return "" if worth else "no gangs wait, or no domains for them, or no objective is about that"


def first_open(desk: Desk, metrics: Collection[Metric]) -> bool:
    """Whether the first tier that is not proved is of one of these metrics."""
    first = desk.incumbent.first_open
    return first is not None and first.metric in metrics


def after_domains(desk: Desk) -> str:
    """Say why a few nodes are not planned anew before domains are counted, where that comes too.

    Counts seldom come true where nodes are shared by all kinds of pods: there others come first.
    """
    if not FEW_NODES < len(desk.instance.nodes) <= MOST_NODES:
        return "too few nodes, or too many"
    if not first_open(desk, OF_WHO_IS_PLACED):
        return "it is proved who is placed"
    return "counts of domains come true" if desk.come_true else no_gangs(desk)


def nothing_between(desk: Desk) -> str:
    """Say why nobody looks first what comes of counts of domains: they come next anyway."""
    return no_glance(desk) and after_domains(desk)


def no_glance(desk: Desk) -> str:
    """Say why nobody looks first what one exact model of the whole question closes at once.

    Where no gangs wait it soon has its turn; where they do, counts of domains would come before it.
    """
    from kantopt.search.techniques.cp_sat import too_large_for_a_glance

    if too_large_for_a_glance(desk.instance, desk.budget.deadline.remaining()):
        return "too large for the time that there is"
    return no_gangs(desk)


def close_enough(desk: Desk) -> str:
    """Say why jobs are not drawn closer together."""
    from kantopt.search.techniques.squeaky_wheel import closeness_tiers

    best = desk.incumbent
    if all(best.values[i] <= best.floor(i) for i in closeness_tiers(desk.tiers)):
        return "nothing is known to be spread"
    return nothing_new("squeaky-wheel")(desk)


def near_enough(desk: Desk) -> str:
    """Say why nothing is brought nearer to the last plan."""
    i = changes_tier(desk.tiers)
    if i is None:
        return "there is no last plan, or its objective is not asked for"
    if desk.incumbent.values[i] <= desk.incumbent.floor(i):
        return "as near to the last plan as can be"
    return nothing_new("proximity")(desk)


def least_disruption(desk: Desk) -> str:
    """Say why there are no columns of disruption at all."""
    from kantopt.search.techniques.disruption_columns import disrupts

    return "" if disrupts(desk) else "disruption is proved"


def before_disruption(desk: Desk) -> str:
    """Say why columns of disruption have no turn before the whole question has one."""
    from kantopt.verify.disturbance import DISRUPTION

    return "" if first_open(desk, DISRUPTION) else "something else is open first"


def before_columns(desk: Desk) -> str:
    """Say why a few nodes are not planned anew before there are columns of disruption."""
    if len(desk.instance.nodes) <= SO_FEW_NODES:
        return "so few nodes that columns are quick"
    return before_disruption(desk)


def no_gangs_go(desk: Desk) -> str:
    """Say why victims are not chosen anew, all at once."""
    from kantopt.search.techniques.fix_and_optimize import gangs_stay

    return gangs_stay(desk) or nothing_new("fix-and-optimize")(desk)


def devices_settled(desk: Desk) -> str:
    """Say why no little-used devices are freed: nothing that wants any is open first."""
    from kantopt.search.freed import devices_wanted

    return "" if devices_wanted(desk.incumbent) else "no shared devices are wanted"


def no_goal_open(desk: Desk) -> str:
    """Say why nobody frees what a goal asks to be empty, and where there is room for that."""
    from kantopt.search.freed import aims

    first = desk.incumbent.first_open
    return "" if first is not None and aims(first) else "no goal that takes room is open first"
