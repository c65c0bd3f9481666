"""Victims of one plan beside those of greedy-with-reverse-trim, on full clusters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kantopt.clock import Deadline, elapsed
from kantopt.planning.plan import make_plan
from kantopt.planning.question import Question
from kantopt.planning.solving.options import Options
from kantopt.problem.instance import Instance
from kantopt.problem.tiers import tiers_of
from kantopt.report.blocks import Block, Paragraph, Table
from kantopt.schema.extends import load_model
from kantopt.schema.model import Metric, Model
from kantopt.search.construct import How, construct, missing_jobs
from kantopt.search.strategy import Strategy
from kantopt.verify.metrics import measure
from kantopt.verify.step import Step
from scripts.bench.crowded import JOB, KINDS, Crowd, Kind, crowded
from scripts.bench.row import cell

SUITE = "preemption"
NODES = (16, 32, 64)
LIMIT_SECONDS = 10.0

Victims = tuple[int, ...]
"""The model's own vector: cost by priority, the highest first, then pods, then lost GPU time."""


@dataclass(frozen=True, slots=True)
class Contest:
    """One cluster and whom each way would evict."""

    crowd: Crowd
    trimmed: Victims | None
    """Of greedy-with-reverse-trim; ``None``: it found no place."""
    trimmed_pods: int
    ours: Victims | None
    our_pods: int
    fewest: bool
    """No set of victims costs less, or as much and is smaller: proved."""
    least_lost: bool
    """And none of these loses less GPU time: proved."""
    seconds: float

    @property
    def verdict(self) -> str:
        """How our victims compare with the others: fewer, equal or worse."""
        if self.ours is None or self.trimmed is None:
            return "equal" if self.ours == self.trimmed else "fewer" if self.ours else "worse"
        if self.ours > self.trimmed:
            return "worse"
        more = self.crowd.kind == "alike" and self.our_pods > self.trimmed_pods
        return "worse" if more else "fewer" if self.ours < self.trimmed else "equal"


def preemption_model() -> Model:
    """Return the model of the contest: the shipped one, without moves, for the job alone."""
    model = load_model("preemption")
    limits = model.limits.model_copy(update={"moves": 0})
    return model.model_copy(update={"limits": limits, "required": (JOB,), "pending": (JOB,)})


def contest(crowd: Crowd, limit_seconds: float = LIMIT_SECONDS) -> Contest:
    """Ask both ways for room on one cluster; every plan is judged legal."""
    made = crowded(crowd)
    question = Question("crowded", made.snapshot, made.pending, None, None, ())
    model = preemption_model()
    instance = question.instance(model)
    tiers = [tier for tier in tiers_of(instance) if tier.metric in _HARM]
    greedy = construct(instance, Deadline(None), How(Strategy.REVERSE_TRIM))
    placed = not missing_jobs(instance, greedy)
    began = elapsed()
    result = make_plan(question, model, Options(), Deadline(began + limit_seconds))
    seconds = elapsed() - began
    rows = {row.name: row for row in result.plan.objectives}
    ours = None
    if result.plan.summary.placed_jobs:
        ours = tuple(rows[tier.name].value for tier in tiers)
    return Contest(
        crowd,
        measure(instance, greedy, tiers) if placed else None,
        _pods(instance, Step(instance, instance.current, greedy)),
        ours,
        result.plan.summary.evicted_pods,
        all(rows[t.name].status == "OPTIMAL" for t in tiers if t.metric is Metric.EVICTIONS),
        all(rows[tier.name].status == "OPTIMAL" for tier in tiers),
        seconds,
    )


_HARM = (Metric.EVICTIONS, Metric.LOST_GPU_SECONDS)


def _pods(instance: Instance, step: Step) -> int:
    return sum(step.evicted(podset.index) for podset in instance.podsets if podset.running)


def run_all(
    nodes: Sequence[int],
    seeds: int,
    limit_seconds: float,
    tell: Callable[[Contest], None],
) -> None:
    """Hold the contest on clusters of each size and kind."""
    for size in nodes:
        for kind in KINDS:
            for seed in range(seeds):
                tell(contest(Crowd(size, kind, seed), limit_seconds))


COLUMNS = (
    *("nodes", "pods", "seed", "verdict", "trimmed", "trimmed_pods"),
    *("ours", "our_pods", "fewest", "least_lost", "seconds"),
)


def to_cells(row: Contest) -> list[str]:
    """Write a row as the cells of a CSV line."""
    crowd = row.crowd
    return [
        *(str(crowd.nodes), crowd.kind, str(crowd.seed), row.verdict),
        *("-" if row.trimmed is None else " ".join(map(str, row.trimmed)), str(row.trimmed_pods)),
        *("-" if row.ours is None else " ".join(map(str, row.ours)), str(row.our_pods)),
        *(cell(row.fewest), cell(row.least_lost), cell(row.seconds)),
    ]


def contest_blocks(rows: Sequence[Contest]) -> list[Block]:
    """Lay out who has the fewer victims, by size and kind of cluster."""
    cells: dict[tuple[int, Kind], list[Contest]] = {}
    for row in rows:
        cells.setdefault((row.crowd.nodes, row.crowd.kind), []).append(row)
    lines = tuple(
        (str(nodes), kind, str(len(group)), *_counts(group))
        for (nodes, kind), group in cells.items()
    )
    worse = sum(row.verdict == "worse" for row in rows)
    fewer = sum(row.verdict == "fewer" for row in rows)
    text = (
        f"{len(rows)} clusters: the victims are fewer than those of reverse-trim, in the model's "
        f"order, on {fewer}, as many on {len(rows) - fewer - worse}, worse on {worse}."
    )
    columns = (
        *("NODES", "PODS", "RUNS", "FEWER", "EQUAL", "WORSE", "NONE BY TRIM"),
        *("EVICTED BY TRIM", "EVICTED", "FEWEST PROVED", "LEAST LOST PROVED", "SECONDS"),
    )
    return [
        Paragraph(text, "bad" if worse else "good"),
        Table("Victims for one job on a full cluster", columns, lines, frozenset(range(2, 12))),
    ]


def _counts(group: Sequence[Contest]) -> tuple[str, ...]:
    verdicts = [row.verdict for row in group]
    both = [row for row in group if row.trimmed is not None and row.ours is not None]
    return (
        *(str(verdicts.count(each)) for each in ("fewer", "equal", "worse")),
        str(sum(row.trimmed is None for row in group)),
        str(sum(row.trimmed_pods for row in both)),
        str(sum(row.our_pods for row in both)),
        str(sum(row.fewest for row in group)),
        str(sum(row.least_lost for row in group)),
        f"{sum(row.seconds for row in group) / len(group):.1f}",
    )
