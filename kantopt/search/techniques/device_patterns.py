"""Where devices are shared and none is in use: the best filling of devices, put on nodes."""

from __future__ import annotations

from kantopt.search.engine.desk import Desk
from kantopt.search.filled.anew import filled
from kantopt.verify.metrics import measure
from kantopt.verify.rules import check


def fill(desk: Desk) -> None:
    """Better the first open tier by placing what waits anew; takes a second or two."""
    opened = [i for i, v in enumerate(desk.incumbent.values) if desk.incumbent.floor(i) < v]
    if desk.forbidden or not opened:
        return
    over = desk.budget.deadline.cuts
    for placement in filled(desk.instance, desk.tiers, desk.incumbent.values, opened[0], over):
        better = measure(desk.instance, placement, desk.tiers) < desk.incumbent.values
        if better and not check(desk.instance, placement):
            desk.found(placement)
        if desk.done():
            return
