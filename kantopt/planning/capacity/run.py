"""How many more of a job fit: as the cluster stands, after moves and after defragmentation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from kantopt.clock import Deadline, elapsed
from kantopt.planning.capacity.copies import MOST_PODS, Copies, most_copies
from kantopt.planning.capacity.levels import Levels, levels_of
from kantopt.planning.capacity.room import Found, Search, why_no_more
from kantopt.planning.document.identity import snapshot_ref
from kantopt.planning.explain.process import explain_apart
from kantopt.planning.question import Question
from kantopt.planning.solving.news import Tell
from kantopt.planning.solving.options import Options
from kantopt.problem.chosen import running_only
from kantopt.problem.not_modelled import left_lines
from kantopt.schema.answers.capacity import Capacity, CapacityPodSet, Room, Way, When
from kantopt.schema.answers.explanation import Verdict
from kantopt.schema.base import API_VERSION, Metadata
from kantopt.schema.hints import plural
from kantopt.schema.jobs import Job
from kantopt.schema.model import Model, Rule


def capacity(
    question: Question,
    model: Model,
    job: Job,
    moves: int | None,
    options: Options,
    deadline: Deadline,
    tell: Tell = lambda _: None,
) -> Capacity:
    """Count how many more copies of a job fit, by plans that are verified and bounds.

    Parameters
    ----------
    question
        The documents; pods of theirs that wait are left aside.
    model
        Rules and limits, with ``extends`` resolved; its objectives do not matter.
    job
        The job to copy.
    moves
        Most pods that may be moved in the second answer; ``None``: as many as it takes.
    options, deadline, tell
        As of :func:`kantopt.planning.plan.make_plan`.

    Raises
    ------
    BadDataError
        If the documents contradict each other.
    """
    # What is written down anyhow is worked out while nobody waits for it.
    snapshot, notes = snapshot_ref(question), tuple(_notes(question, model))
    began = elapsed()
    copies = Copies(question, model, job)
    search = Search(copies, most_copies(copies), options, tell)
    deadline.stop.begin()
    levels = levels_of(copies)
    spent = elapsed() - began
    now, some, every = search.rooms(levels.most_now, moves, deadline, spent)
    answers: tuple[tuple[When, int | None, Found], ...] = (
        ("now", 0, now),
        ("after moves", moves, some),
        ("after defragmentation", None, every),
    )
    rooms = []
    for answer in answers:
        # The first looks at the cluster with one copy more, which is built for it as for the bound.
        begun, late = elapsed(), _is_late(deadline, spent)
        rooms.append(_room(*answer, every, copies, reasons=not late))
        spent = spent if late else elapsed() - begun
    late = _is_late(deadline, spent)
    hopeless = not every.jobs and every.proved
    return Capacity(
        api_version=API_VERSION,
        kind="Capacity",
        metadata=Metadata(name=question.snapshot.metadata.name),
        snapshot=snapshot,
        job=job.full_name,
        pod_sets=tuple(
            CapacityPodSet(name=need.pod_set.name, pods=need.pods)
            for need in copies.needs
            if need.pods
        ),
        min_count=copies.over_all or None,
        model=model.metadata.name,
        rooms=tuple(rooms),
        largest_gang=levels.largest_gang,
        quota_pods=levels.quota_pods,
        levels=levels.rows,
        verdict=_verdict(copies, deadline) if hopeless and not late else None,
        warnings=tuple(
            dict.fromkeys(
                (*notes, *_warnings(search, levels, rooms), *_left_out(rooms, hopeless and late))
            )
        ),
    )


def _is_late(deadline: Deadline, seconds: float) -> bool:
    """Whether there is no time for what takes so many seconds; never where work is counted."""
    return deadline.remaining() <= seconds and not deadline.deterministic


def _room(
    when: When, moves: int | None, found: Found, every: Found, copies: Copies, *, reasons: bool
) -> Room:
    way = None
    if reasons:
        rule, message = why_no_more(found, copies)
        if moves and found.proved and found.jobs < every.jobs:
            rule = Rule.LIMITS.value
            message = f"moves: no plan moves at most {plural(moves, 'pod')} for one more; {message}"
        way = Way(rule=rule, message=message)
    return Room(
        when=when,
        max_moves=moves,
        jobs=found.jobs,
        bound=found.bound,
        status="OPTIMAL" if found.proved else "FEASIBLE",
        moves=found.moves,
        fewest_moves=found.fewest_moves,
        one_more=way,
    )


def _verdict(copies: Copies, deadline: Deadline) -> Verdict:
    """Say of a job that fits nowhere why, as ``explain`` does."""
    job = copies.one.model_copy(update={"name": copies.prefix})
    question = replace(copies.question, pending=(*copies.question.pending, job))
    limits = copies.model.limits.model_copy(update={"evictions": 0})
    model = copies.model.model_copy(update={"limits": limits, "pending": None})
    return explain_apart(question, model, job.full_name, deadline).verdict


def _notes(question: Question, model: Model) -> Iterator[str]:
    """Say what of the input is left out."""
    yield from question.notes
    running = filter(None, map(running_only, question.jobs))
    yield from left_lines(running, (*model.assume, *question.assume))
    aside = sum(bool(job.waiting) for job in question.jobs)
    if aside:
        jobs, they = ("job is", "it waits") if aside == 1 else ("jobs are", "they wait")
        yield f"{aside} pending {jobs} not counted: copies take room that {they} for"


def _left_out(rooms: Sequence[Room], verdict: bool) -> Iterator[str]:
    """Say which reasons nobody had the time to look for; ``verdict``: that of ``explain``, too."""
    whens = [room.when for room in rooms if room.one_more is None]
    if not (whens or verdict):
        return
    parts = [f"why not one more fits {', '.join(whens)}"] if whens else []
    parts += ["whether one ever does"] if verdict else []
    yield f"there was no time to look {', and '.join(parts)} (--time-limit)"


def _warnings(search: Search, levels: Levels, rooms: Sequence[Room]) -> Iterator[str]:
    """Say what was not asked or proved."""
    if any(need.pods * search.most >= MOST_PODS for need in search.copies.needs if need.pods):
        yield f"no more than {MOST_PODS} pods are asked about: there may be room for more"
    if levels.node_by_node:
        yield (
            "free slots by domain are those of each node by itself: rules between pods "
            "(affinity, anti-affinity, spread) may leave fewer"
        )
    if any(room.status == "FEASIBLE" for room in rooms) and search.cut:
        yield "the time was up before all of it was proved (--time-limit)"
    yield from search.warnings
