"""Amounts that are too large to be summed exactly: what the solver counts in has 64 bits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from math import gcd

from kantopt.errors import Problem
from kantopt.problem.amounts import offered_by
from kantopt.problem.cluster import Amounts, Node
from kantopt.problem.job import PodSet
from kantopt.problem.restricted import balanced
from kantopt.schema.model import Model

OVERFLOW = 2**62
"""Sums of amounts stay below this, so that no sum of the solver's can overflow."""


def overflows(
    nodes: Sequence[Node],
    podsets: Sequence[PodSet],
    resources: Sequence[str],
    model: Model,
    source: str,
) -> Iterator[Problem]:
    """Find sums that are too large, of what is offered and asked for and of what metrics count."""
    shares = {name for o in model.objectives or () if o.balance for name in balanced(o.balance)}
    demands = Counter[Amounts]()
    for podset in podsets:
        demands[podset.demand] += podset.count
    for r, (name, offered) in enumerate(zip(resources, offered_by(nodes, resources), strict=True)):
        asked = sum(count * each[r] for each, count in demands.items())
        if offered + asked >= OVERFLOW:
            found = f"{offered} offered and {asked} asked for, in base units"
            yield Problem(source, name, found, "amounts that sum to less than 2^62")
        elif name in shares:
            # Loads count a thousand times, each in the largest unit that divides them all.
            unit = gcd(*(p.requests[r] for p in podsets), *(n.capacity[r] or 0 for n in nodes)) or 1
            if 1000 * (offered + asked) // unit >= OVERFLOW:
                found = f"{offered} offered and {asked} asked for, in base units, {unit} at a time"
                expected = "amounts that sum to less than 2^62 thousandths, for objective balance"
                yield Problem(source, name, found, expected)
    prices = sum(node.price for node in nodes)
    if prices >= OVERFLOW:
        found = f"{prices} millionths"
        yield Problem(source, "price", found, "prices that sum to less than 2^62")
    gpus = sum(podset.count * podset.gpu_milli for podset in podsets)
    power = sum(1000 * node.idle_power + gpus * node.power_per_gpu for node in nodes)
    if power >= OVERFLOW:
        found = f"{power} milliwatts if all GPUs asked for were on each node"
        yield Problem(source, "powerPerGpu", found, "sums of less than 2^62")
