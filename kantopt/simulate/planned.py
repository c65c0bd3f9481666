"""The planner over time: cycles that place what waits, rounds that tidy up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice

from kantopt.clock import Deadline
from kantopt.errors import UsageError
from kantopt.planning.defrag import Wish, asked, defragment
from kantopt.planning.plan import make_plan
from kantopt.planning.solving.options import Options
from kantopt.schema.duration import duration_seconds
from kantopt.schema.extends import load_model
from kantopt.schema.model import Limits, Model
from kantopt.schema.policy import Defragmentation, Planner
from kantopt.search.schedule import load
from kantopt.simulate.carried import Deeds, carry_out, deeds_of
from kantopt.simulate.events import Calendar, Event, Kind
from kantopt.simulate.floor import Floor
from kantopt.simulate.moment import Moments
from kantopt.simulate.world import SECOND

_DAY = 86_400 * SECOND


@dataclass(slots=True)
class Course:
    """Where cycles or rounds are."""

    last: int | None = None
    """When the last one began."""
    seen: tuple[int, int] | None = None
    """Cluster and queue as they were then."""
    due: bool = False
    """Whether the next one is in the calendar."""
    waves: list[Deeds] = field(default_factory=list)
    """What is planned and not carried out yet."""


class _Planning:
    """What cycles and rounds have in common: the planner, its model and options, and its limit."""

    def __init__(
        self,
        floor: Floor,
        calendar: Calendar,
        moments: Moments,
        how: Planner | Defragmentation,
        seed: int,
        where: str,
    ) -> None:
        self._floor, self._calendar, self._moments = floor, calendar, moments
        self.model = _model(how.model, where)
        self._options = Options(engine=how.engine, seed=seed)
        if how.engine != "fast":
            load()  # the solver, here, once: each plan forks a process that would load it anew
        self._limit = duration_seconds(how.time_limit) * SECOND
        self.course = Course()

    def _deadline(self) -> Deadline:
        """Return a deadline whose limit is counted in work alone, so that a plan is had again."""
        whole = max(self._limit, SECOND) / SECOND
        return Deadline(None, deterministic=True, stop=self._floor.stop, whole=whole)


class Cycles(_Planning):
    """Plans the first of the queue together, each period, if anything has changed."""

    def __init__(
        self, floor: Floor, calendar: Calendar, moments: Moments, planner: Planner, seed: int
    ) -> None:
        super().__init__(floor, calendar, moments, planner, seed, "placement.planner")
        self._most = planner.most
        self.evicts = self.model.limits.evictions != 0
        self._only_binds = not self.evicts and self.model.limits.moves == 0
        self._period = max(duration_seconds(planner.period) * SECOND, self._limit)

    def look(self) -> None:
        """Enter the next cycle if pods wait and something has changed since the last."""
        course, wanted = self.course, self._floor.waiting or self._floor.short
        if course.due or course.waves or not wanted or course.seen == self._now():
            return
        at = self._floor.now if course.last is None else course.last + self._period
        self._calendar.add(Event(max(at, self._floor.now), Kind.CYCLE, 0))
        course.due = True

    def _now(self) -> tuple[int, int]:
        return self._floor.cluster.version, self._floor.waiting.version

    def begin(self) -> bool | None:
        """Plan what waits now; return whether the plan is proved, ``None`` if there is none."""
        floor, course = self._floor, self.course
        course.due, course.last, course.seen = False, floor.now, self._now()
        first = list(islice(floor.waiting, self._most))
        if not (first or floor.short):
            return None
        if self._only_binds and not self._may_bind(first):
            return None
        question = self._moments.question(floor.now, first)
        model = self._moments.model(self.model, floor.world.model)
        result = make_plan(question, model, self._options, self._deadline())
        course.waves = deeds_of(floor.world, result)
        if course.waves:
            self._calendar.add(Event(floor.now + self._limit, Kind.PLANNED, 0))
        return result.plan.solver.status == "OPTIMAL"

    def _may_bind(self, first: Sequence[int]) -> bool:
        """Whether any pod may find a place: else the plan would be to do nothing."""
        lacks, short = self._floor.cluster.lacks, self._floor.short
        return any(map(lacks.room_for_more, short)) or not all(map(lacks.for_good, first))

    def carry_out(self) -> None:
        """Do all that was planned, wave by wave, at once."""
        waves, self.course.waves = self.course.waves, []
        for wave in waves:
            carry_out(self._floor, wave)


class Rounds(_Planning):
    """Moves running pods each period, within hours of the day, one wave after the other."""

    def __init__(
        self, floor: Floor, calendar: Calendar, moments: Moments, how: Defragmentation, seed: int
    ) -> None:
        super().__init__(floor, calendar, moments, how, seed, "defragmentation")
        self._moves = how.moves
        self._period = max(SECOND, duration_seconds(how.period) * SECOND)
        self._wave_time = duration_seconds(how.wave_time) * SECOND
        self._window = _window(how.window)

    def enter(self) -> None:
        """Enter the next round: a period after the last, within the hours."""
        at = self._period if self.course.last is None else self.course.last + self._period
        self._calendar.add(Event(_opening(at, self._window), Kind.ROUND, 0))

    def begin(self) -> bool | None:
        """Plan moves of what runs now; return whether that is proved, ``None`` if nothing is."""
        floor, course = self._floor, self.course
        course.last = floor.now
        self.enter()
        now = floor.cluster.version, 0
        if course.waves or course.seen == now:
            return None
        course.seen = now
        question = self._moments.question(floor.now, ())
        model = self._moments.model(self.model, floor.world.model)
        wanted = asked(question, Wish(model=model, limits=Limits(moves=self._moves)))
        result = defragment(question, wanted, self._options, self._deadline())
        course.waves = deeds_of(floor.world, result)
        self._enter_wave(floor.now + self._limit)
        return result.plan.solver.status == "OPTIMAL"

    def carry_out(self) -> None:
        """Make the moves of the next wave."""
        carry_out(self._floor, self.course.waves.pop(0))
        self._enter_wave(self._floor.now + self._wave_time)

    def _enter_wave(self, at: int) -> None:
        """Enter the next wave, if there is one; once its hours are over, the rest is left out."""
        course = self.course
        if course.waves and _opening(at, self._window) != at:
            course.waves, course.seen = [], None
        if course.waves:
            self._calendar.add(Event(at, Kind.WAVE, 0))


def _model(name: str, where: str) -> Model:
    """Load a model whose plans are carried out as soon as they are made.

    Raises
    ------
    UsageError
        If it has windows: nobody here waits for them.
    """
    model = load_model(name)
    if model.schedule.windows:
        raise UsageError(
            f"{where}.model: found {name} with schedule.windows, expected a model without: "
            "plans are carried out at once; the hours of a defragmentation are its window"
        )
    return model


def _window(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None

    def read(clock: str) -> int:
        hours, minutes = map(int, clock.split(":"))
        return (60 * hours + minutes) * 60 * SECOND % _DAY

    begin, _, end = text.partition("-")
    return read(begin), read(end)


def _opening(at: int, window: tuple[int, int] | None) -> int:
    """Return the first moment from one on that is within some hours of the day."""
    if window is None or window[0] == window[1]:
        return at
    begin, end = window
    hour = at % _DAY
    inside = begin <= hour < end if begin < end else hour >= begin or hour < end
    return at if inside else at + (begin - hour) % _DAY
