"""Where devices are shared and none is in use: the best filling of devices, put on nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from kantopt.clock import Deadline
from kantopt.cp.masters.fillings import fillings
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import Tier
from kantopt.search.engine.desk import Desk
from kantopt.search.filled.loads import Load, Waiting, loads, waiting
from kantopt.search.filled.placing import Placing, place_alone
from kantopt.search.state import State
from kantopt.verify.bounds.stock import Cut, Stock, cuts, stock_of
from kantopt.verify.metrics import measure
from kantopt.verify.rules import check
from kantopt.verify.witness.shares import counts_pods

WORK = 5.0
"""Deterministic time for choosing what devices hold."""


def fill(desk: Desk, deadline: Deadline) -> None:
    """Better the first open tier by placing what waits anew; takes a second or two."""
    opened = [i for i, v in enumerate(desk.incumbent.values) if desk.incumbent.floor(i) < v]
    if desk.forbidden or not opened:
        return
    for placement in filled(
        desk.instance, desk.tiers, desk.incumbent.values, opened[0], deadline.cuts
    ):
        better = measure(desk.instance, placement, desk.tiers) < desk.incumbent.values
        if better and not check(desk.instance, placement):
            desk.found(placement)
        if desk.done():
            return


def filled(
    instance: Instance,
    tiers: Sequence[Tier],
    values: Sequence[int],
    i: int,
    over: Callable[[], bool],
) -> Iterator[Placement]:
    """Place what waits anew, so that as much of tier ``i`` as possible has a share of a device.

    Serves questions in which pods that wait share devices of which none is in use yet.

    Parameters
    ----------
    tiers, values
        The tiers and their values in a legal plan; those above ``i`` are held.

    Yields
    ------
    Placement
        To be judged: nothing says that nodes have room for the best filling, or that all else that
        matters was looked at.
    """
    held = [k for k in range(i) if counts_pods(tiers[k])]
    asked = (*(tiers[k] for k in held), tiers[i])
    left = [tiers[k].most(values[k]) for k in held]
    weighs = _weighs(instance)
    for cut in cuts(instance) if counts_pods(tiers[i]) else ():
        stock = None if cut.device_class is None else stock_of(instance, asked, cut)
        pods = None if stock is None else waiting(instance, asked, cut, stock, weighs)
        found = None if stock is None or pods is None else fillings(stock, left, WORK, over)
        if stock is None or pods is None or found is None:
            continue
        made, out = loads(instance, stock, found, pods, weighs)
        for last in (False, True):
            if not over():
                yield _placed(instance, cut, stock, made, pods, out, last=last)


def _weighs(instance: Instance) -> list[float]:
    """How heavy a pod of each pod set is for its node: its share of all that is asked for."""
    table = np.array([podset.requests for podset in instance.podsets], dtype=np.float64)
    total = table.sum(axis=0)
    parts = np.divide(table, total, out=np.zeros_like(table), where=total > 0)
    return [float(part) for part in parts.max(axis=1, initial=0.0)]


def _placed(
    instance: Instance,
    cut: Cut,
    stock: Stock,
    made: Sequence[Load],
    pods: Waiting,
    out: Sequence[int],
    *,
    last: bool,
) -> Placement:
    """Place loads, and those that ask for no device before or after them."""
    state = State(instance)
    sizes = {room.size: k for k, (room, _) in enumerate(stock.rooms)}
    kinds: list[list[list[int]]] = [[[] for _ in instance.nodes] for _ in sizes]
    for node in instance.nodes:
        for d, device in enumerate(node.devices):
            kind = sizes.get(device.capacity[cut.resource] // stock.unit)
            if device.device_class == cut.device_class and kind is not None:
                kinds[kind][node.index].append(d)
    bare = []
    for s in pods.others:
        bare.append(Load(0, 0, np.zeros(len(instance.resources), dtype=np.int64)))
        bare[-1].take(instance.podsets[s])
    placing = Placing(state, kinds)
    rest = placing.place((*made, *bare), last=last)
    for s in (*(s for load in rest for s in load.podsets), *out):
        place_alone(state, s)
    return state.placement()
