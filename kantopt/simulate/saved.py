"""A simulation written down between two moments, and taken up again: plain data, no pickle.

Who goes on from what was saved comes to the same end: what is kept beside it (scores, rooms, what
is alike) follows from it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

from kantopt.simulate.carried import Deed
from kantopt.simulate.events import Event, Kind
from kantopt.simulate.history import History, JobRecord, PlanRecord, Sample, Stay
from kantopt.simulate.plain import Data, spot_data, spot_of
from kantopt.simulate.planned import Course
from kantopt.simulate.queueing import Remembers
from kantopt.simulate.simulator import Simulator
from kantopt.simulate.work import Work

_RECORDS: dict[str, Callable[..., object]] = {
    "jobs": JobRecord,
    "stays": Stay,
    "samples": Sample,
    "plans": PlanRecord,
}
"""Fields of a history that list records, and of which kind these are."""
_R = TypeVar("_R", JobRecord, PlanRecord, Sample, Stay, Work)


def form() -> list[list[str]]:
    """Return what records consist of: what was saved by a build that had others cannot be read."""
    kinds = (History, JobRecord, PlanRecord, Sample, Stay, Work, Deed, Course)
    return [[kind.__name__, *_names(kind)] for kind in kinds] + [[kind.name for kind in Kind]]


def _names(kind: type[Any]) -> list[str]:
    return [each.name for each in fields(kind)] if is_dataclass(kind) else list(kind._fields)


def saved(simulator: Simulator) -> Data:
    """Write a simulation down."""
    cluster, waiting = simulator.cluster, simulator.waiting
    return {
        "now": simulator.now,
        "events": sorted(simulator.calendar.events),
        "spots": {
            s: [[*spot_data(spot), pods] for spot, pods in sorted(spots.items())]
            for s, spots in enumerate(cluster.state.spots)
            if spots
        },
        "down": sorted(cluster.down),
        "in_vain": cluster.in_vain,
        "version": cluster.version,
        "waiting": list(waiting),
        "waiting_version": waiting.version,
        "work": {j: _row(work) for j, work in enumerate(simulator.work) if work != Work()},
        "running": list(simulator.running),
        "restarting": sorted(simulator.restarting),
        "short": list(simulator.short),
        "settled": simulator.settled,
        "sampled": simulator.sampled,
        "seen": simulator.judge.seen,
        "judged": simulator.judge.judged,
        "queueing": [part.memory() for part in _remembering(simulator)],
        "cycles": None if simulator.cycles is None else _course(simulator.cycles.course),
        "rounds": None if simulator.rounds is None else _course(simulator.rounds.course),
        "history": history_data(simulator.history),
    }


def take_up(simulator: Simulator, data: Data) -> None:
    """Bring a simulation that has not begun to where one of the same world was saved."""
    simulator.now = data["now"]
    simulator.calendar.events[:] = [Event(*event) for event in data["events"]]
    placed = {
        int(s): {spot_of(spot): pods for *spot, pods in spots} for s, spots in data["spots"].items()
    }
    placement = simulator.world.instance.nowhere.replace(placed)
    simulator.cluster.restore(placement, data["down"], data["in_vain"], data["version"])
    simulator.judge.restore(data["seen"], data["judged"])
    for j, row in data["work"].items():
        work = simulator.work[int(j)] = Work(*row)
        work.stays = [(begin, working, gpus) for begin, working, gpus in work.stays]
        work.spent = [(working, end, gpus) for working, end, gpus in work.spent]
    for j in range(len(simulator.work)):
        if str(j) not in data["work"]:
            simulator.work[j] = Work()
    simulator.running.clear()
    simulator.running.update(dict.fromkeys(data["running"]))
    for queueing, memory in zip(_remembering(simulator), data["queueing"], strict=True):
        queueing.remember(simulator, memory)  # before anybody waits: ranks are a part of it
    for j in data["waiting"]:
        simulator.waiting.add(j)
    simulator.waiting.version = data["waiting_version"]
    simulator.restarting.update(data["restarting"])
    simulator.short.clear()
    simulator.short.update(dict.fromkeys(data["short"]))
    simulator.settled = data["settled"]
    simulator.sampled = data["sampled"] and tuple(data["sampled"])
    for part, kept in ((simulator.cycles, data["cycles"]), (simulator.rounds, data["rounds"])):
        if part is not None:
            part.course = _course_of(kept)
    simulator.take_over(history_of(data["history"]))


def _remembering(simulator: Simulator) -> list[Remembers]:
    parts: tuple[object, ...] = (simulator.order, simulator.backfill)
    return [part for part in parts if isinstance(part, Remembers)]


def history_data(history: History) -> Data:
    """Write a history down; each record as a list, in the order of its fields."""
    data = {name: getattr(history, name) for name in _names(History)}
    return data | {name: [_row(each) for each in data[name]] for name in _RECORDS}


def history_of(data: Data) -> History:
    """Read a history that was written down."""
    records = {name: [kind(*row) for row in data[name]] for name, kind in _RECORDS.items()}
    return History(**(data | records))


def _row(record: _R) -> list[Any]:
    return [getattr(record, each.name) for each in fields(record)]


def _course(course: Course) -> Data:
    return {
        "last": course.last,
        "seen": course.seen,
        "due": course.due,
        "waves": [
            [
                [
                    *deed[:4],
                    deed.source and spot_data(deed.source),
                    deed.target and spot_data(deed.target),
                    deed.whose,
                ]
                for deed in wave
            ]
            for wave in course.waves
        ],
    }


def _course_of(data: Data) -> Course:
    def deed(kind: Any, j: int, s: int, pods: int, source: Any, target: Any, whose: Any) -> Deed:
        return Deed(kind, j, s, pods, source and spot_of(source), target and spot_of(target), whose)

    waves = [[deed(*each) for each in wave] for wave in data["waves"]]
    seen = data["seen"] and (data["seen"][0], data["seen"][1])
    return Course(data["last"], seen, data["due"], waves)
