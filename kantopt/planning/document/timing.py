"""How much memory moves, how long that takes, and when each wave can start."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta

from kantopt.clock import rfc3339
from kantopt.schema.answers.plan import Move, Plan, Timing, Wave
from kantopt.schema.base import LAST_YEAR
from kantopt.schema.windows import bytes_per_second, next_opening


def timed(plan: Plan, reference: str | None) -> Plan:
    """Return a plan that says how long it takes; all follows from its own figures.

    Parameters
    ----------
    plan
        The plan, with the memory of its moves.
    reference
        Moment (RFC 3339) from which it may start; without one, nothing is said of moments.

    Notes
    -----
    A wave takes as long as the node that sends or receives most in it; what waves side by side
    take from each other is not counted, nor how long pods take to stop and to start.
    """
    if not plan.waves:
        return plan.model_copy(update={"timing": None})
    clock = _Clock(plan, reference)
    waves = tuple(clock.timed(wave) for wave in plan.waves)
    ends = [moment for moment in clock.ends.values() if moment is not None]
    timing = Timing(
        reference=reference,
        memory_bytes=sum(wave.memory_bytes for wave in waves),
        duration_seconds=None if clock.speed is None else max(clock.chains.values()),
        earliest_end=rfc3339(max(ends)) if ends else None,
    )
    return plan.model_copy(update={"waves": waves, "timing": timing})


class _Clock:
    """Waves in the order of the list, each timed after those it waits for."""

    def __init__(self, plan: Plan, reference: str | None) -> None:
        self.moves = {move.id: move for move in plan.moves}
        self.disturbing = {item.id for item in plan.evictions} | self.moves.keys()
        self.windows = plan.model.schedule.windows
        self.speed = bytes_per_second(plan.model.schedule)
        self.reference = None if reference is None else _whole(datetime.fromisoformat(reference))
        self.ends: dict[int, datetime | None] = {}
        self.chains: dict[int, int] = {}
        """Seconds of copying up to the end of each wave."""

    def timed(self, wave: Wave) -> Wave:
        """Return a wave with its figures."""
        moves = [self.moves[a] for a in wave.actions if a in self.moves]
        seconds = None if self.speed is None else _seconds(moves, self.speed)
        start = self._start(wave)
        self.ends[wave.id] = None if start is None else _later(start, seconds or 0)
        before = max((self.chains[other] for other in wave.after), default=0)
        self.chains[wave.id] = before + (seconds or 0)
        return wave.model_copy(
            update={
                "memory_bytes": sum(move.memory_bytes for move in moves),
                "duration_seconds": seconds,
                "earliest_start": None if start is None else rfc3339(start),
            }
        )

    def _start(self, wave: Wave) -> datetime | None:
        if self.reference is None:
            return None
        ends = [self.ends[other] for other in wave.after]
        known = [end for end in ends if end is not None]
        if len(known) < len(ends):
            return None
        start = max([self.reference, *known])
        if self.windows and any(action in self.disturbing for action in wave.actions):
            return next_opening(self.windows, start)
        return start


def _later(moment: datetime, seconds: int) -> datetime | None:
    """Return a moment some seconds later; ``None`` beyond all that a calendar can name."""
    try:
        later = moment + timedelta(seconds=seconds)
    except OverflowError:
        return None
    return later if later.year <= LAST_YEAR else None


def _seconds(moves: list[Move], speed: int) -> int:
    """Seconds in which the busiest node has sent, or received, its part; rounded up."""
    sent: Counter[str] = Counter()
    received: Counter[str] = Counter()
    for move in moves:
        sent[move.from_node] += move.memory_bytes
        received[move.to_node] += move.memory_bytes
    most = max((*sent.values(), *received.values()), default=0)
    return -(-most // speed)


def _whole(moment: datetime) -> datetime:
    """Round a moment up to a whole second, so that nothing starts before it."""
    return (
        moment if not moment.microsecond else moment.replace(microsecond=0) + timedelta(seconds=1)
    )
