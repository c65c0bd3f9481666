"""The same question again: told by a digest, and answered with the plan there is already."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kantopt.errors import BadDataError, Problem
from kantopt.planning.document.identity import identified, refs_of, snapshot_ref
from kantopt.planning.document.left import held_back
from kantopt.planning.document.timing import timed
from kantopt.planning.question import Question
from kantopt.planning.solving.cut_short import TOO_LATE
from kantopt.problem.ages import Ages
from kantopt.problem.tiers import Tier
from kantopt.schema.answers.plan import Binding, Eviction, Move, Plan
from kantopt.schema.answers.since import SinceLastPlan
from kantopt.schema.consistency import check_plan
from kantopt.schema.dump import canonical_digest, dump_data, text_digest
from kantopt.schema.files import parse_documents, read_text
from kantopt.schema.gpus import gpu_milli_asked
from kantopt.schema.jobs import PodRef
from kantopt.schema.model import Metric, Model
from kantopt.schema.validation import validate
from kantopt.search.engine.known import Bound
from kantopt.version import __version__

_VERSION = "resourceVersion"
"""Grows with every heartbeat and says nothing about what a plan depends on."""


def question_digest(question: Question, model: Model, options: Mapping[str, object]) -> str:
    """Name a question: cluster, pending jobs, model, options and the version of kantopt.

    When the snapshot was taken plays a role only in what the model makes of it: how long jobs have
    waited, which of them would lose work, who is safe for having just started. How much work they
    would lose is for :func:`still_best` to look at. Resource versions play no role. ``options`` are
    those that have a say in the plan.
    """
    snapshot = _without_versions(dump_data(question.snapshot))
    snapshot.pop("metadata", None)
    pending = [_without_versions(dump_data(job)) for job in question.pending]
    times = _times(question, model)
    return text_digest([__version__, snapshot, pending, times, dump_data(model), dict(options)])


def _times(question: Question, model: Model) -> list[object]:
    """What the model makes of the moment of the snapshot."""
    ages = Ages(question.snapshot, model)
    counts_waiting = Metric.WAITING.value in str(dump_data(model).get("objectives"))
    waited = [ages.waited(job) for job in question.jobs] if counts_waiting else []
    running = [(job, podset) for job in question.snapshot.jobs for podset in job.pod_sets]
    return [
        waited,
        [
            (ages.unsaved(job, podset) or 0) * gpu_milli_asked(podset) >= 1000
            for job, podset in running
        ],
        [ages.is_young(job, podset) for job, podset in running],
    ]


def still_best(plan: Plan, question: Question) -> bool:
    """Whether no other plan is better than this one, of the same digest.

    It must be proved: what is not, perhaps because a run was cut short, is searched for again. And
    with time all work that can be lost grows, that of some plans faster than that of others; but
    what loses nothing goes on losing nothing, and bounds go on being bounds. So a plan that loses
    work stands only at the moment it was made for.
    """
    if not is_settled(plan):
        return False
    lost = [row.value for row in plan.objectives if row.metric == Metric.LOST_GPU_SECONDS]
    same_moment = plan.metadata.snapshot.captured_at == question.snapshot.metadata.captured_at
    return same_moment or not any(lost)


def is_settled(plan: Plan) -> bool:
    """Whether there is nothing more to be found out about a plan, given again as it is.

    What it changed against the plan before it does not matter then: it changes nothing of itself.
    """
    plan = without_changes(plan)
    proved = all(tier.status == "OPTIMAL" for tier in plan.objectives)
    cascade = plan.cascade is None or plan.cascade.complete
    looked = all(left.message != TOO_LATE for left in plan.unplaced)
    return plan.solver.status in ("OPTIMAL", "INFEASIBLE") and proved and cascade and looked


def without_changes(plan: Plan) -> Plan:
    """Return a plan without what it says of the plan before it, as an objective last of all.

    Where nothing but that was open it is proved optimal. What a model requires may be open as well,
    and no objective tells.
    """
    rows = plan.objectives
    if plan.since_last_plan is not None:
        plan = identified(plan.model_copy(update={"since_last_plan": None}))
    if not rows or rows[-1].metric != Metric.CHANGES_TO_PLAN:
        return plan
    update: dict[str, object] = {
        "objectives": rows[:-1],
        "model": plan.model.model_copy(update={"last_plan": ()}),
    }
    open_rows = [row for row in rows if row.status != "OPTIMAL"]
    if plan.solver.status == "FEASIBLE" and open_rows == [rows[-1]] and not plan.model.required:
        update["solver"] = plan.solver.model_copy(update={"status": "OPTIMAL"})
    return identified(plan.model_copy(update=update))


def proved_bounds(plan: Plan, tiers: Sequence[Tier]) -> Iterator[Bound]:
    """Yield what a plan of the same question says is proved and arithmetic does not say again."""
    for i, (tier, row) in enumerate(zip(tiers, plan.objectives, strict=False)):
        if tier.name != row.name or tier.metric is Metric.CHANGES_TO_PLAN:
            return  # what changes is another amount for each plan before
        if row.bound is None or row.proved_by == "none" or row.proved_by == "arithmetic":
            continue
        yield Bound(i, row.bound, tuple(each.value for each in plan.objectives[:i]), row.proved_by)


def stamped(
    plan: Plan, question: str, searches: int = 1, since: SinceLastPlan | None = None
) -> Plan:
    """Return a plan that says which question it answers, and what came before it.

    Parameters
    ----------
    plan
        The plan.
    question
        Digest of the question; empty if the plan is no answer for the next run.
    searches
        How many runs have searched for it.
    since
        How it differs from the plan of the run before.
    """
    update = {"question_digest": question, "searches": searches}
    metadata = plan.metadata.model_copy(update=update)
    return identified(plan.model_copy(update={"metadata": metadata, "since_last_plan": since}))


def refreshed(plan: Plan, question: Question) -> Plan:
    """Return the plan for today's snapshot, which differs from its own in versions only.

    Steps stay as they are; pods, nodes and jobs are named in their present versions, and what is
    held back is counted anew. For the very same input it is the same plan to the byte.
    """
    plan = without_changes(plan)
    held = held_back(question, plan.model)
    if held != plan.held_back:
        plan = identified(plan.model_copy(update={"held_back": held}))
    if canonical_digest(question.snapshot) == plan.metadata.snapshot.digest:
        return plan
    pods = {
        (job.full_name, pod.name, pod.uid): pod
        for job in question.jobs
        for podset in job.pod_sets
        for pod in podset.refs
    }
    jobs = {(job.namespace, job.name): job for job in question.jobs}

    def named(item: Any) -> Any:
        today: tuple[PodRef, ...] = tuple(
            pods.get((item.job, pod.name, pod.uid), pod) for pod in item.pods
        )
        return item.model_copy(update={"pods": today})

    moves: tuple[Move, ...] = tuple(map(named, plan.moves))
    evictions: tuple[Eviction, ...] = tuple(map(named, plan.evictions))
    assignments: tuple[Binding, ...] = tuple(map(named, plan.assignments))
    nodes, budgets = refs_of(question.snapshot, assignments, evictions, moves)
    snapshot = snapshot_ref(question)
    today = plan.model_copy(
        update={
            "metadata": plan.metadata.model_copy(update={"snapshot": snapshot}),
            "assignments": assignments,
            "evictions": evictions,
            "moves": moves,
            "nodes": nodes,
            "budgets": budgets,
            "jobs": tuple(jobs.get((job.namespace, job.name), job) for job in plan.jobs),
        }
    )
    return identified(timed(today, snapshot.captured_at))


def _without_versions(data: Any) -> Any:
    """Copy plain data without resource versions, wherever they stand."""
    if isinstance(data, dict):
        return {name: _without_versions(x) for name, x in data.items() if name != _VERSION}
    return [_without_versions(item) for item in data] if isinstance(data, list) else data


@dataclass(frozen=True, slots=True)
class LastPlan:
    """The plan before, if there is one that can be used, and what to say if it cannot."""

    plan: Plan | None
    note: str = ""


def read_last_plan(path: str) -> LastPlan:
    """Read the plan of the run before.

    A file that is missing or empty holds none. A plan that cannot be used, of another version of
    kantopt perhaps or changed by hand, is only noted: the run to come replaces it.

    Raises
    ------
    BadDataError
        If the file holds something else: it was named by mistake and must not be replaced.
    MissingInputError
        If it may not be read.
    """
    if not os.path.isfile(path) or os.path.getsize(path) == 0:
        return LastPlan(None)
    try:
        raws = parse_documents(read_text(path), path)
    except BadDataError as error:
        found = error.problems[0].found
        raise BadDataError([Problem(path, "", found, "a plan, or no such file yet")]) from None
    kinds = [raw.data.get("kind") for raw in raws]
    if kinds != ["Plan"] or not str(raws[0].data.get("apiVersion")).startswith("kantopt/"):
        found = ", ".join(str(kind or "a document without a kind") for kind in kinds)
        found += "" if kinds != ["Plan"] else " of another apiVersion, or of none"
        raise BadDataError([Problem(path, "", found, "a plan, or no such file yet")])
    try:
        plan = validate(raws[0], Plan)
        problems = check_plan(plan, path)
    except BadDataError as error:
        problems = error.problems
    if problems:
        return LastPlan(None, f"the last plan cannot be used: {problems[0]}")
    if identified(plan).metadata.plan_id != plan.metadata.plan_id:
        return LastPlan(None, f"the last plan cannot be used: {path} was changed by hand")
    return LastPlan(plan)
