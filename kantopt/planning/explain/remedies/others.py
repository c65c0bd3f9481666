"""Remedies at the cost of what runs: moves and evictions, ends, a higher priority, limits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from kantopt.planning.document.write import steps_of
from kantopt.planning.explain.quoting import quoted
from kantopt.planning.explain.remedies.fewest import needed
from kantopt.planning.explain.remedies.workshop import Ranked, Workshop
from kantopt.planning.explain.trial import Trial
from kantopt.planning.explain.verdict import disturbance
from kantopt.planning.words import listed
from kantopt.problem.freedom import freedom_of
from kantopt.problem.job import PodSet
from kantopt.schema.answers.explanation import RemedyKind
from kantopt.schema.hints import plural
from kantopt.schema.jobs import Job
from kantopt.search.explain.counting import Gone, nobody
from kantopt.search.explain.enders import enders

MOST_ENDS = 3
"""Jobs of which the end alone is enough that are listed."""


def as_planned(w: Workshop) -> Iterator[Ranked]:
    """Moves and evictions that are allowed need no change: the plan is the remedy."""
    decision = w.ladder.decision
    if decision.placement is None:
        return
    evicted, moved = disturbance(w.asked, decision)
    trial = Trial((), w.question, w.asked, w.j, decision)
    kind: RemedyKind = "evict" if evicted else "move"
    plan = steps_of(w.question, w.asked, decision.placement, decision.waves)
    assert plan is not None
    parts = []
    if plan.evictions:
        names = sorted({item.job for item in plan.evictions})
        parts.append(f"evict {plural(evicted, 'pod')} of {listed(names)}")
    if plan.moves:
        names = sorted({item.job for item in plan.moves})
        parts.append(f"move {plural(moved, 'pod')} of {listed(names)}")
    yield from w.ranked(kind, ", ".join(parts), "", trial, smallest=decision.least)


def lift_limits(w: Workshop) -> Iterator[Ranked]:
    """Lift the model's limits as far as a plan needs it."""
    limits = w.asked.model.limits
    if limits.evictions is None and limits.moves is None:
        return
    pods = sum(podset.count for podset in w.asked.podsets if podset.running)
    lifted = tuple(
        f"limit={kind}:{pods}"
        for kind in ("evictions", "moves")
        if getattr(limits, kind) is not None
    )
    if w.ladder.beyond is None:
        trial = w.trials.disturbing(*lifted)
    else:
        trial = w.trials.given(w.ladder.beyond, *lifted)
    if trial.decision.placement is None:
        return
    evicted, moved = disturbance(trial.asked, trial.decision)
    need = {"evictions": evicted, "moves": moved}
    edits = tuple(
        f"limit={kind}:{need[kind]}"
        for kind in ("evictions", "moves")
        if (most := getattr(limits, kind)) is not None and need[kind] > most
    )
    text = "allow " + " and ".join(
        edit.removeprefix("limit=").replace(":", " up to ") for edit in edits
    )
    yield from w.either("lift-limits", text, "", edits)


def wait_for_ends(w: Workshop) -> Iterator[Ranked]:
    """Running jobs of which the end makes room: single ones, else a few together.

    Services are left out: nobody waits for them to end. So are owners of a reservation, which
    takes back what they leave.
    """
    fewest = 0
    for jobs in _ends(w, lambda jobs: _enough(w, jobs), nobody):
        fewest = len(jobs)
        trial = w.trials.now(*_removing(w, jobs))
        yield from _end(w, jobs, trial)
    if fewest != 1:
        w.ask_later(partial(_fewer_ends, w, fewest))


def _fewer_ends(w: Workshop, most: int) -> Iterator[Ranked]:
    """Running jobs, fewer of them, of which the end makes room if others are moved or evicted."""
    may = freedom_of(w.asked)

    def trial(jobs: Sequence[int]) -> Trial:
        return w.trials.disturbing(*_removing(w, jobs))

    def gone(podset: PodSet) -> bool:
        return may.gives_way(podset.index, w.j)

    for jobs in _ends(w, lambda jobs: w.helps(trial(jobs)), gone):
        if not most or len(jobs) < most:
            yield from _end(w, jobs, trial(jobs))


def _ends(
    w: Workshop, enough: Callable[[Sequence[int]], bool], gone: Gone
) -> Iterator[Sequence[int]]:
    """Single jobs of which the end is enough, else a few together, where some count as gone."""
    found = 0
    documents = w.question.documents(w.asked)
    lasting = frozenset(
        x for x, job in enumerate(documents) if _is_service(job) or _gives_back(job)
    )
    candidates = enders(w.asked, w.j, w.wanted, lasting, gone)
    for x in candidates.single:
        if w.deadline.over() or found == MOST_ENDS:
            return
        if enough((x,)):
            found += 1
            yield (x,)
    for group in candidates.groups:
        if w.deadline.over() or found:
            return
        if enough(group):
            yield sorted(needed(w, sorted(group, key=lambda x: (-_pods(w, x), x)), enough))
            return


def _is_service(job: Job) -> bool:
    """Whether the pods of a job are started anew whenever they end."""
    pods = (pod for podset in job.pod_sets for pod in podset.placed_refs)
    return job.daemon or any(pod.serves for pod in pods)


def _gives_back(job: Job) -> bool:
    """Whether what a job's pods leave goes to those that a reservation is for."""
    return job.reservation is None and any("reserved" in podset.stays for podset in job.pod_sets)


def _removing(w: Workshop, jobs: Sequence[int]) -> tuple[str, ...]:
    return tuple(f"remove={quoted(w.asked.jobs[x].name)}" for x in jobs)


def _enough(w: Workshop, jobs: Sequence[int]) -> bool:
    """Whether the job has a place once some others have ended."""
    if w.counting is not None:
        return w.counting.fits(gone=lambda podset: podset.job in jobs)
    return w.trials.now(*_removing(w, jobs)).decision.placement is not None


def _pods(w: Workshop, x: int) -> int:
    podsets = (w.asked.podsets[s] for s in w.asked.jobs[x].podsets)
    return sum(podset.count for podset in podsets if podset.running)


def _end(w: Workshop, jobs: Sequence[int], trial: Trial) -> Iterator[Ranked]:
    names = [w.asked.jobs[x].name for x in jobs]
    pods = sum(_pods(w, x) for x in jobs)
    text = f"wait for {listed(names)} to end"
    held = [w.question.documents(w.asked)[x].reservation is not None for x in jobs]
    parts = [plural(pods - sum(held), "pod")] * (pods > sum(held))
    parts += [plural(sum(held), "reservation")] * any(held)
    cost = f"time, or {' and '.join(parts)} deleted"
    yield from w.ranked("end", text, cost, trial, smallest=len(jobs) == 1, lost=pods)


def raise_priority(w: Workshop) -> Iterator[Ranked]:
    """Raise the job's priority above that of others, as little as helps."""
    if w.ladder.decision.placement is not None or w.ladder.verdict.status == "NEVER":
        return
    priorities = sorted(
        {
            w.asked.jobs[p.job].priority
            for p in w.asked.podsets
            if p.running and p.preemptible and p.job != w.j
        }
    )
    for priority in priorities:
        if w.deadline.over():
            return
        if priority < w.job.priority and w.job.may_preempt:
            continue
        value = max(priority + 1, w.job.priority)
        trial = w.trials.disturbing(f"priority={quoted(w.job.name)}:{value}")
        if trial.decision.placement is None:
            continue
        plan = steps_of(trial.question, trial.asked, trial.decision.placement, trial.decision.waves)
        victims = sorted({item.job for item in plan.evictions}) if plan else []
        raised = f"raise its priority from {w.job.priority} to {value}"
        lifted = "let it preempt: preemptionPolicy PreemptLowerPriority"
        if value == w.job.priority:
            text = lifted
        elif w.job.may_preempt:
            text = f"{raised}, to evict {listed(victims)}"
        else:
            text = f"{raised} and {lifted}, to evict {listed(victims)}"
        yield from w.ranked("raise-priority", text, "", trial)
        return
