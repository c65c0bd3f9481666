"""Amounts that pods ask for: units to count them in, and the most that a queue's could take."""

from __future__ import annotations

from math import gcd

from kantopt.problem.instance import Instance


def request_units(instance: Instance) -> tuple[int, ...]:
    """Largest amount of each resource that divides all requests: loads are counted in it.

    Small numbers keep sums far from overflow and make propagation cheap; nothing is rounded, for
    limits on whole multiples can be cut to whole multiples.
    """
    return tuple(
        gcd(
            *(podset.requests[r] for podset in instance.podsets),
            *(need.request[r] for podset in instance.podsets for need in podset.devices),
        )
        or 1
        for r in range(len(instance.resources))
    )


def most_used(instance: Instance, q: int, r: int) -> int:
    """Most of a resource that the pods of a queue could take."""
    return sum(
        podset.count * podset.demand[r]
        for podset in instance.podsets
        if instance.jobs[podset.job].queue == q
    )
