"""R1 and R2 while waves run: do arriving pods find room although others have not left yet?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from kantopt.problem.actions import Action
from kantopt.problem.cluster import Spot
from kantopt.problem.difference import Change
from kantopt.problem.instance import Instance
from kantopt.schema.model import Rule
from kantopt.verify.step import Violation, beyond, standing_loads
from kantopt.verify.waves.most import Ledger, Share, Sum
from kantopt.verify.waves.order import Order

Place = tuple[int, int | None, int]
"""Node, device (``None``: the node itself) and resource."""


def restarts(instance: Instance, action: Action | Change) -> bool:
    """Whether pods are gone before they are back."""
    return action.kind == "move" and instance.job_of(action.podset).move_mode == "restart"


def judge_rooms(instance: Instance, order: Order) -> Iterator[Violation]:
    """No node and no device is ever overfull, with what leaves counted until its wave is done.

    Only pods that restart may take the room of others that restart in the same wave.
    """
    loads = standing_loads(instance)
    places, returning = _places(instance, order)
    for place in sorted(places, key=lambda place: (place[0], place[1] is not None, place)):
        n, d, r = place
        node = instance.nodes[n]
        limit: int | None
        if d is None:
            limit, base = node.capacity[r], loads.node[n][r]
            rule, subject = Rule.CAPACITY, f"node {node.name}"
        else:
            device = node.devices[d]
            limit, base = device.capacity[r], loads.device[n][d][r]
            rule, subject = Rule.DEVICES, f"node {node.name} {device.device_class} {d}"
        if limit is None:
            continue
        total = Sum(order, places[place], base)
        if not total.can_exceed(limit):
            continue
        for p, share in sorted(places[place].items()):
            if share.start or returning[place, p]:
                most = total.most_while(p, limit, _own(share, returning[place, p]))
                if most > limit:
                    yield Violation(
                        rule,
                        f"wave {order.waves[p].id}: {subject}",
                        beyond(most, limit, instance.resources[r]),
                    )


def _own(share: Share, returning: int) -> int:
    """What a wave adds once pods have arrived: before its restarts are back, or after."""
    if not returning:
        return share.start
    both = share.start + share.back
    return max(share.start, both) if share.start else both


def _places(instance: Instance, order: Order) -> tuple[Ledger[Place], Counter[tuple[Place, int]]]:
    """What each wave adds by place, and how much of that are restarts coming, by place and wave."""
    places, returning = Ledger[Place](), Counter[tuple[Place, int]]()
    for p, action in order.actions:
        restart = restarts(instance, action)
        for spot, pods in ((action.source, -action.pods), (action.target, action.pods)):
            for place, amount in () if spot is None else taken(instance, action.podset, spot):
                places.change(place, p, pods * amount, restart=restart)
                if restart and pods > 0:
                    returning[place, p] += pods * amount
    return places, returning


def taken(instance: Instance, s: int, spot: Spot) -> Iterator[tuple[Place, int]]:
    """What one pod takes of a spot's node and devices, as far as rules look at it."""
    if instance.on(Rule.CAPACITY):
        for r, amount in enumerate(instance.podsets[s].requests):
            if amount:
                yield (spot.node, None, r), amount
    if spot.devices and instance.on(Rule.DEVICES):
        for device, request in standing_loads(instance).device_requests(s, spot):
            for r, amount in enumerate(request):
                if amount:
                    yield (spot.node, device, r), amount
