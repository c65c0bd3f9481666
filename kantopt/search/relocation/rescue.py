"""Victims run elsewhere: in free room, or where others give way to them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager

import numpy as np

from kantopt.search.insertion.fill import fill
from kantopt.search.relocation.relocate import Relocation
from kantopt.search.state import State


def rescue(
    relocation: Relocation,
    evicted: Iterable[int],
    priority: int | None,
    kept: Callable[[int], AbstractContextManager[None]],
    push: Callable[[int], object],
) -> None:
    """Move pods of evicted pod sets, of a priority or higher, where there is room elsewhere.

    Parameters
    ----------
    evicted
        The pod sets.
    priority
        The least priority; ``None`` for all.
    kept
        Takes the room off the state, for a while, that a job may not have.
    push
        Makes room for a job that finds none, if it can.
    """
    state, movers, restarts = relocation.state, relocation.movers, relocation.restarts
    everywhere = np.ones(state.size, dtype=np.bool_)
    jobs = [state.instance.jobs[j] for j in {state.instance.podsets[s].job for s in evicted}]
    for job in sorted(jobs, key=lambda job: (-job.priority, job.index)):
        if relocation.over() or (priority is not None and job.priority < priority):
            return
        short = [s for s in job.podsets if _short(state, s)]
        if short and job.index in restarts.jobs:
            with kept(job.index):
                moved = restarts.move(job.index, everywhere)
            if not moved:
                push(job.index)
            continue
        if not short or not all(movers.movable[s] and movers.untied(s) for s in short):
            continue
        mark, runs = state.mark(), any(state.placed[s] for s in job.podsets)
        with kept(job.index):
            for s in short:
                fill(relocation.placer.scores, s, _short(state, s))
        whole = job.all_victims or (job.is_gang and not runs)
        if (whole and any(_short(state, s) for s in short)) or not state.pace.kept():
            state.undo(mark)
        if any(_short(state, s) for s in short):
            push(job.index)


def _short(state: State, s: int) -> int:
    podset = state.instance.podsets[s]
    return podset.count - state.placed[s] if podset.running else 0
