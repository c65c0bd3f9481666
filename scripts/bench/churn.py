"""A night of plans that nobody follows: what of each plan is not what the one before said."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kantopt.planning.later.guard import guard
from kantopt.planning.question import Question, read_question
from kantopt.planning.repeated import read_last_plan
from kantopt.report.guarded import step_text
from kantopt.schema.answers.plan import Binding, Eviction, Move, Plan
from kantopt.schema.model import Metric
from scripts.bench.night import EVERY_MINUTES
from scripts.bench.night_cluster import NightCluster, arrivals, moment
from scripts.bench.process import environment

Steps = dict[tuple[str, str], str]
"""What a plan does with each pod, by job and name."""


@dataclass(frozen=True, slots=True)
class Told:
    """One plan beside the one before it, of runs that know it or not."""

    plan: Plan
    steps: int
    """Pods that it acts on."""
    standing: int
    """Pods for which a step of the plan before could still be taken."""
    differing: int
    """Pods, there at both snapshots, with which it does something else than that."""

    @property
    def values(self) -> dict[str, int]:
        """Values of the objectives, the most important first, without what was changed."""
        rows = self.plan.objectives
        return {row.name: row.value for row in rows if row.metric != Metric.CHANGES_TO_PLAN}


class Runs:
    """Runs one after the other, each on the next snapshot.

    Parameters
    ----------
    folder
        Where their files lie.
    command
        What follows ``kantopt``, without files.
    knows
        Whether each is given the plan of the one before.
    sources
        Folder of the package to run; ``None``: this one.
    """

    def __init__(
        self, folder: Path, command: Sequence[str], *, knows: bool, sources: Path | None = None
    ) -> None:
        folder.mkdir()
        self._plan, self._last = folder / "plan.json", folder / "last.json"
        self._command = [*command, "-O", str(self._plan), "-o", "json", "-q"]
        self._command += ["--last-plan", str(self._last)] if knows else []
        self._folder, self._sources = folder, sources
        self._before: tuple[Plan, frozenset[tuple[str, str]]] | None = None

    def next(self, snapshot: Path, now: str) -> Told:
        """Plan a snapshot and compare.

        Raises
        ------
        RuntimeError
            If the run failed.
        """
        code = subprocess.run(
            [sys.executable, "-m", "kantopt", *self._command, str(snapshot)],
            env={**environment(self._sources), "KANTOPT_NOW": now},
            cwd=self._folder,  # a checkout that lies there would be run instead
            stdin=subprocess.DEVNULL,
            check=False,
        ).returncode
        plan = read_last_plan(str(self._plan)).plan
        if code or plan is None:
            raise RuntimeError(f"{now}: exit code {code}")
        question = read_question([str(snapshot)])
        there, steps, standing, differing = pods_of(question), steps_of(plan), 0, 0
        if self._before is not None:
            last, known = self._before
            rest = steps_of(guard(question, last, "the plan before").plan)
            standing = len(rest)
            both = (known & there).intersection({*rest, *steps})
            differing = sum(rest.get(pod) != steps.get(pod) for pod in both)
        self._before = plan, there
        return Told(plan, len(steps), standing, differing)


def pods_of(question: Question) -> frozenset[tuple[str, str]]:
    """Pods of a snapshot, by job and name."""
    return frozenset(
        (job.full_name, pod.name)
        for job in question.jobs
        for podset in job.pod_sets
        for group in (podset.pods, *(place.pods for place in podset.assignments))
        for pod in group
    )


def steps_of(plan: Plan) -> Steps:
    """Return what a plan does with each pod, stop-overs included."""
    found: Steps = {}
    items: tuple[Binding | Eviction | Move, ...]
    items = (*plan.evictions, *plan.moves, *plan.assignments)
    for item in items:
        for pod in item.pods:
            key = item.job, pod.name
            found[key] = "; ".join(filter(None, (found.get(key), step_text(item))))
    return found


def run_churn(
    seed: int, nodes: int, snapshots: int, folder: Path, sides: Sequence[Runs]
) -> Iterator[tuple[str, tuple[Told, ...]]]:
    """Go through a night in which nobody follows a plan: all sides see the same snapshots."""
    cluster = NightCluster(nodes, arrivals(seed, nodes, snapshots * EVERY_MINUTES))
    for number in range(snapshots):
        minute = number * EVERY_MINUTES
        cluster.advance(minute)
        snapshot = folder / "cluster.json"
        snapshot.write_text(json.dumps(cluster.kubectl()), encoding="utf-8")
        yield moment(minute), tuple(side.next(snapshot, moment(minute)) for side in sides)
