"""R1 and R2 while waves run: do arriving pods find room although others have not left yet?"""

from __future__ import annotations

from collections.abc import Iterator

from kantopt.problem.actions import Action
from kantopt.problem.cluster import Spot
from kantopt.problem.instance import Instance
from kantopt.schema.model import Rule
from kantopt.verify.step import Violation, beyond, standing_loads
from kantopt.verify.waves.most import Share, Sum
from kantopt.verify.waves.order import Order

_Place = tuple[int, int | None, int]
"""Node, device (``None``: the node itself) and resource."""


def restarts(instance: Instance, action: Action) -> bool:
    """Whether pods are gone before they are back."""
    return action.kind == "move" and instance.job_of(action.podset).move_mode == "restart"


def judge_rooms(instance: Instance, order: Order) -> Iterator[Violation]:
    """No node and no device is ever overfull, with what leaves counted until its wave is done.

    Only pods that restart may take the room of others that restart in the same wave.
    """
    loads = standing_loads(instance)
    places = _places(instance, order)
    for n, d, r in sorted(places, key=lambda place: (place[0], place[1] is not None, place)):
        shares = places[n, d, r]
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
        total = Sum(order, {p: share for p, (share, _) in shares.items()}, base)
        if not total.can_exceed(limit):
            continue
        for p, (share, returning) in sorted(shares.items()):
            if share.start or returning:
                most = total.most_while(p, limit, _own(share, returning))
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


def _places(instance: Instance, order: Order) -> dict[_Place, dict[int, tuple[Share, int]]]:
    """By place and wave: what the wave adds there, and how much of that are restarts coming."""
    places: dict[_Place, dict[int, tuple[Share, int]]] = {}

    def note(place: _Place, p: int, share: Share, returning: int) -> None:
        at = places.setdefault(place, {})
        known, before = at.get(p, (Share(), 0))
        at[p] = known.plus(*share), before + returning

    for p, wave in enumerate(order.waves):
        for action in wave.actions:
            restarting = restarts(instance, action)
            for spot, sign in ((action.source, -1), (action.target, 1)):
                if spot is None:
                    continue
                for place, amount in _taken(instance, action.podset, spot):
                    change = sign * action.pods * amount
                    if restarting:
                        note(place, p, Share(back=change), max(0, change))
                    elif sign > 0:
                        note(place, p, Share(start=change), 0)
                    else:
                        note(place, p, Share(done=change), 0)
    return places


def _taken(instance: Instance, s: int, spot: Spot) -> Iterator[tuple[_Place, int]]:
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
