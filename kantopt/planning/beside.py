"""Other jobs wait as well: is one placed in a plan for all of them, and who goes first?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kantopt.clock import Deadline
from kantopt.planning.document.tiers import rows_of
from kantopt.planning.first_come import first_come
from kantopt.planning.solving.answer import oldest_first
from kantopt.planning.solving.executable import executable
from kantopt.planning.solving.leftovers import with_leftovers
from kantopt.planning.solving.options import Options
from kantopt.planning.solving.run import Run
from kantopt.planning.solving.together import search_together
from kantopt.problem.cluster import Spot
from kantopt.problem.derived.aftermath import leftover_question
from kantopt.problem.derived.focus import focused, is_placed, pending_podsets, wanted_pods
from kantopt.problem.difference import apply
from kantopt.problem.instance import Instance
from kantopt.problem.job import Job, PodSet
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import tiers_of
from kantopt.schema.hints import plural
from kantopt.schema.model import Limits, Metric
from kantopt.search.cascade import evicts
from kantopt.search.construct import How, construct
from kantopt.search.explain.decide import is_small
from kantopt.search.state import State
from kantopt.search.strategy import Strategy
from kantopt.shares import PLAN_BESIDE
from kantopt.verify.metrics import measure
from kantopt.verify.rules import check


@dataclass(frozen=True, slots=True)
class Beside:
    """What becomes of a job in a plan for all that waits.

    Attributes
    ----------
    others
        Other jobs that wait; without any nothing was asked.
    placed
        Whether it is placed; ``None`` if that was not found out in the time.
    leftover
        Whether it fills room that victims of others leave over.
    ahead
        Names of the jobs that are placed before it where it is not, the most important first.
    quick
        Whether the plan is one of the fast path, of which a search may find a better one.
    pods
        Pods of the job that start where it is placed.
    """

    others: int
    placed: bool | None = None
    leftover: bool = False
    ahead: tuple[str, ...] = ()
    quick: bool = False
    pods: int = 0

    def note(self, name: str, limits: Limits, *, fits: bool) -> str:
        """Say what a plan for all does otherwise than one for the job alone; nothing if the same.

        Parameters
        ----------
        limits
            What the plan for all keeps.
        fits
            Whether the job can be placed alone.
        """
        together = f"planned together with {plural(self.others, 'other pending job')}"
        if self.others and self.placed and self.leftover:
            how = f"in room that is left over of their victims ({command(limits)})"
        elif self.others and self.placed and not fits:
            how = f"for what they change ({command(limits, name)})"
            return f"{together} it is placed, {how}"
        else:
            return ""
        return f"{together} it is placed {how}"

    def fewer(self, alone: int) -> str:
        """Say that fewer pods of a gang start than alone; nothing if not."""
        if not (self.placed and self.pods < alone):
            return ""
        together = f"planned together with {plural(self.others, 'other pending job')}"
        start = f"{self.pods} of these {alone} pods {'starts' if self.pods == 1 else 'start'}"
        return f"{together} {start}: those above minCount come after all other jobs (kantopt plan)"


def command(limits: Limits, required: str = "") -> str:
    """Return the command of a plan for all that waits, with its limits and a required job."""
    most = {
        "--max-moves": limits.moves,
        "--max-evictions": limits.evictions,
        "--max-moves-per-wave": limits.moves_per_wave,
    }
    asked = [f"--require {required}"] if required else []
    asked += [f"{option} {number}" for option, number in most.items() if number is not None]
    return " ".join(["kantopt plan", *asked])


def waiting_beside(instance: Instance, j: int) -> list[Job]:
    """Return the other jobs of which pods wait."""
    return [job for job in instance.jobs if job.index != j and pending_podsets(instance, job.index)]


def beside(instance: Instance, j: int, deadline: Deadline) -> Beside:
    """Ask a plan for all that waits about a job: of a small question one that is searched for.

    Of a large one a quick one, in which jobs of lower priority are left aside: they are placed
    after it. Where it stays pending, what is left over of the victims of others is filled as after
    any plan.
    """
    others = waiting_beside(instance, j)
    if not others or deadline.over():
        return Beside(len(others))
    small = is_small(instance)
    look = _planned if small else _built
    placement, final, settled = look(instance, j, deadline)
    asked = focused(instance, j)
    if is_placed(asked, j, final):
        leftover = not is_placed(asked, j, placement)
        pods = sum(final.placed(podset.index) for podset in pending_podsets(instance, j))
        return Beside(len(others), placed=True, leftover=leftover, pods=pods)
    if not settled:
        return Beside(len(others))
    ahead = _ahead(instance, j, others, final)
    return Beside(len(others), placed=False, ahead=ahead, quick=not small)


_Plan = tuple[Placement, Placement, bool]
"""Where a plan leads, without and with what fills left-over room; whether what it leaves pending is
taken for settled."""


def _planned(instance: Instance, _: int, deadline: Deadline) -> _Plan:
    """Plan as ``kantopt plan`` does; settled once it is proved that no more can be placed."""
    tiers = tiers_of(instance)
    run = Run(instance, tiers, Options(workers=1), deadline, part=PLAN_BESIDE)
    run.construct()
    search_together(run)
    placement, waves = executable(run)
    waves = with_leftovers(run, placement, waves)
    placement, waves = oldest_first(run, placement, waves)
    rows = rows_of(instance, tiers, placement, run.incumbent.known)
    last = max((i for i, tier in enumerate(tiers) if tier.metric is Metric.UNPLACED), default=-1)
    settled = all(row.status == "OPTIMAL" for row in rows[: last + 1])
    return placement, apply(instance.current, waves), settled


def _built(instance: Instance, j: int, deadline: Deadline) -> _Plan:
    """Place those who are no less important than a job, quickly."""
    own = instance.jobs[j].priority
    built = construct(instance, deadline, How(Strategy.BEST_FIT, least_priority=own))
    placement, _ = first_come(instance, built)
    if deadline.over() or is_placed(focused(instance, j), j, placement):
        return placement, placement, not deadline.over()
    return placement, _filled(instance, placement, own, deadline), not deadline.over()


def _filled(instance: Instance, placement: Placement, own: int, deadline: Deadline) -> Placement:
    """Fill what the victims of a placement leave over, as far as somebody is evicted."""
    if not (instance.strict and evicts(instance, placement)):
        return placement
    tiers = tiers_of(instance)
    if measure(instance, placement, tiers) >= measure(instance, instance.current, tiers):
        return placement  # nobody would be evicted
    question, pending_of = leftover_question(instance, placement)
    filled = construct(question, deadline, How(Strategy.BEST_FIT, least_priority=own))
    if check(question, filled):
        return placement
    changes: dict[int, Counter[Spot]] = {}
    for s, spot, pods in filled.items():
        if s in pending_of:
            known = placement.podsets[pending_of[s]]
            changes.setdefault(pending_of[s], Counter(known))[spot] += pods
    return placement.replace(changes)


def _ahead(instance: Instance, j: int, others: list[Job], final: Placement) -> tuple[str, ...]:
    """Name who of the others is placed, no less important if there are such, and in its way.

    In its way is who takes what it lacks; if nobody does, who takes nodes that it may use, or has
    its queue; if nobody does that, all are.
    """
    job = instance.jobs[j]
    usable = {n for podset in pending_podsets(instance, j) for n in podset.allowed}
    placed = {
        other.index: {
            spot.node
            for podset in pending_podsets(instance, other.index)
            for spot in final.podsets[podset.index]
        }
        for other in others
    }
    found = [other for other in others if placed[other.index]]
    first = [other for other in found if other.priority >= job.priority] or found
    near = _in_the_way(instance, j, first, final) or [
        other
        for other in first
        if placed[other.index] & usable or (job.queue is not None and other.queue == job.queue)
    ]
    by_priority = sorted(near or first, key=lambda other: (-other.priority, other.index))
    return tuple(other.name for other in by_priority)


_Guest = tuple[PodSet, int]
"""A pod set of another job, and its pods on a node that came with the plan."""


def _in_the_way(instance: Instance, j: int, others: Sequence[Job], final: Placement) -> list[Job]:
    """Return those of some jobs that take what a job lacks, in the order given.

    It may be room on a node that would hold more of its pods without them, devices of a class that
    it asks for, quota, or places near which its pods may not be. Empty where what it lacks is
    nothing of these, such as room in one domain.
    """
    state = State(instance, final)
    guests: dict[int, list[_Guest]] = {}
    for other in others:
        for podset in pending_podsets(instance, other.index):
            for spot, pods in final.podsets[podset.index].items():
                guests.setdefault(spot.node, []).append((podset, pods))
    found: set[int] = set()
    for podset in pending_podsets(instance, j):
        for n in podset.allowed & guests.keys():
            found.update(_taking(state, podset, n, guests[n]))
        near = _minded(instance, podset.index)
        found.update(t.job for here in guests.values() for t, _ in here if t.index in near)
    found.update(_charged(state, j, others, final))
    return [other for other in others if other.index in found]


def _taking(state: State, podset: PodSet, n: int, guests: Sequence[_Guest]) -> Iterator[int]:
    """Yield the jobs on a node that take what it lacks for all the pods that it could hold."""
    asks = state.shape[podset.index].asks
    free = {r: max(0, int(state.free[r, n])) // amount for r, amount in asks}
    without = {
        r: (int(state.free[r, n]) + sum(k * t.requests[r] for t, k in guests)) // amount
        for r, amount in asks
    }
    room = min(podset.count, *without.values())
    classes = {need.device_class for need in podset.devices}
    for guest, _ in guests:
        if any(guest.requests[r] and free[r] < room for r, _ in asks) or any(
            need.device_class in classes for need in guest.devices
        ):
            yield guest.job


def _minded(instance: Instance, s: int) -> set[int]:
    """Return the pod sets whose places close places to a pod set, by R8 or R9."""
    found: set[int] = set()
    for term in instance.anti_affinities:
        if term.owner == s:
            found.update(term.others)
        elif s in term.others:
            found.add(term.owner)
    for spread in instance.spreads:
        if spread.owner == s:
            found.update(spread.counted)
    return found


def _charged(state: State, j: int, others: Sequence[Job], final: Placement) -> Iterator[int]:
    """Yield the jobs of a queue, or of its cohort, that use quota which a job lacks."""
    instance, queue = state.instance, state.instance.jobs[j].queue
    if queue is None:
        return
    demand = [0] * len(instance.resources)
    for s, pods in wanted_pods(instance, j).items():
        for r, amount in enumerate(instance.podsets[s].demand):
            demand[r] += pods * amount
    lacking = [
        r
        for r, amount in enumerate(demand)
        if amount
        and not state.quotas.allows(queue, [amount * (r == k) for k in range(len(demand))])
    ]
    rivals = instance.rivals(queue)
    for other in others:
        if other.queue not in rivals:
            continue
        podsets = pending_podsets(instance, other.index)
        if any(
            podset.demand[r] and final.placed(podset.index) for podset in podsets for r in lacking
        ):
            yield other.index
