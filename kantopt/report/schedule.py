"""When each wave can start and how long it takes, for people."""

from __future__ import annotations

from collections.abc import Iterator

from kantopt.report.blocks import Table
from kantopt.report.units import duration, size_bytes
from kantopt.schema.plan import Plan


def schedule_blocks(plan: Plan) -> Iterator[Table]:
    """Lay out the times of waves, if the model says anything of bandwidth or windows."""
    timing, schedule = plan.timing, plan.model.schedule
    if timing is None or (schedule.bandwidth is None and not schedule.windows):
        return
    rows = [
        (
            str(wave.id),
            size_bytes(wave.memory_bytes) if wave.memory_bytes else "-",
            "-" if wave.duration_seconds is None else duration(wave.duration_seconds),
            wave.earliest_start or "-",
        )
        for wave in plan.waves
    ]
    title = "SCHEDULE"
    if timing.duration_seconds is not None:
        title += f", copying {duration(timing.duration_seconds)} along the longest chain"
    if timing.earliest_end is not None:
        title += f", all done by {timing.earliest_end} at the earliest"
    yield Table(title, ("WAVE", "MEMORY", "COPYING", "EARLIEST START"), tuple(rows), frozenset({0}))
