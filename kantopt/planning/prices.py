"""What room for one job costs in each domain of a level: a plan for each, and its proof."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from kantopt.clock import Deadline, elapsed
from kantopt.errors import UsageError
from kantopt.planning.document.identity import snapshot_ref
from kantopt.planning.document.tiers import rows_of
from kantopt.planning.document.write import steps_of
from kantopt.planning.question import Question
from kantopt.planning.queue_victims import beyond_notes
from kantopt.planning.solving.executable import executable
from kantopt.planning.solving.messages import search_task
from kantopt.planning.solving.options import Options
from kantopt.planning.solving.run import REMEMBERED, Run
from kantopt.planning.solving.solver_process import SolverProcess
from kantopt.planning.solving.together import until_last_word
from kantopt.planning.wanted import model_for
from kantopt.problem.actions import Wave
from kantopt.problem.chosen import running_only
from kantopt.problem.cluster import Domain
from kantopt.problem.instance import Instance
from kantopt.problem.not_modelled import left_lines
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import DISTURBING, Tier, tiers_of
from kantopt.schema.answers.prices import Price, PriceList, PriorityVictims
from kantopt.schema.base import API_VERSION, Metadata
from kantopt.schema.hints import first_of, one_of, perhaps
from kantopt.schema.model import Metric, Model
from kantopt.search.construct import How, construct
from kantopt.search.engine.incumbent import Incumbent
from kantopt.search.order.sequence import sequence
from kantopt.search.portfolio import run_portfolio
from kantopt.search.strategy import DEFAULT_PORTFOLIO
from kantopt.shares import PRICES_FIRST, WRITING_PRICES
from kantopt.verify.metrics.evictions import measure_evictions
from kantopt.verify.metrics.unplaced import required_never_placed
from kantopt.verify.replay import replay
from kantopt.verify.step import Step

_STRATEGIES = DEFAULT_PORTFOLIO[:2]

Tell = Callable[[str], None]
"""Told which part of the work begins."""


def price_list(
    question: Question,
    model: Model,
    job: str,
    place: str,
    options: Options,
    deadline: Deadline,
    tell: Tell = lambda _: None,
    solver: SolverProcess | None = None,
) -> PriceList:
    """Price the domains of a level: each by the best plan that places a job there, alone.

    Parameters
    ----------
    question
        The documents.
    model
        Rules and objectives; of two prices the one is lower that is less in the objectives' order.
    job
        NAMESPACE/NAME; no other pending job is looked at.
    place
        A level by name or node label, or ``LEVEL=DOMAIN`` for one domain alone.
    deadline
        When everything should be done: first a price for every domain, then the proofs, those of
        the cheapest first.
    solver
        A process that has loaded the solver meanwhile; without one it is started when needed.

    Raises
    ------
    UsageError
        If there is no such level or domain.
    """
    instance = question.instance(model_for(model, job))
    j = instance.job_index[job]
    level, domains = _domains(instance, place)
    tiers = _harm(tiers_of(instance))
    deadline.stop.begin()
    began = elapsed()
    rows = [_Row(domain, confined(instance, j, domain), tiers) for domain in domains]
    # To write a price down takes about as long as to begin with it, twice that at most.
    ending = deadline.less(WRITING_PRICES + 2 * (elapsed() - began))
    tell("pricing")
    _price(rows, options, ending)
    if options.engine != "fast":
        tell("proving")
        _prove(rows, options, ending, solver)
        _order(rows, options, ending)
    unsure = [*beyond_notes(question.snapshot, [job])]
    for row in rows:
        row.impossible = row.impossible and not unsure
    prices = [row.price(question, in_haste=ending.over()) for row in rows]
    order = sorted(range(len(rows)), key=lambda i: (*_rank(prices[i]), i))
    running = filter(None, map(running_only, question.jobs))
    warnings = [*question.notes, *left_lines(running, instance.model.assume)]
    if any(price.status in ("FEASIBLE", "OPEN") for price in prices) and ending.over():
        warnings.append("the time was up before all prices were proved")
    if any(price.status == "OPEN" for price in prices):
        warnings += unsure
    warnings += [warning for row in rows for warning in row.warnings]
    return PriceList(
        api_version=API_VERSION,
        kind="PriceList",
        metadata=Metadata(name=question.snapshot.metadata.name),
        snapshot=snapshot_ref(question),
        job=job,
        level=instance.topology.levels[level],
        model=model.metadata.name,
        prices=tuple(prices[i] for i in order),
        warnings=tuple(dict.fromkeys(warnings)),
    )


def _harm(tiers: tuple[Tier, ...]) -> tuple[Tier, ...]:
    """Return the tiers down to the last one of disruption: the rest is no part of the price."""
    last = max((i for i, tier in enumerate(tiers) if tier.metric in DISTURBING), default=None)
    return tiers if last is None else tiers[: last + 1]


def confined(instance: Instance, j: int, domain: Domain) -> Instance:
    """Return the question in which pending pods of a job may go to one domain only."""
    inside = frozenset(domain.nodes)
    podsets = tuple(
        replace(podset, allowed=podset.allowed & inside)
        if podset.job == j and not podset.running
        else podset
        for podset in instance.podsets
    )
    return replace(instance, podsets=podsets)


def _domains(instance: Instance, place: str) -> tuple[int, tuple[Domain, ...]]:
    topology = instance.topology
    name, given, wanted = place.partition("=")
    known = list(dict.fromkeys((*topology.levels, *topology.labels)))
    if name not in known:
        expected = (
            one_of(known)
            if known
            else "a topology level; the input has none (--topology LABEL makes one of a node label)"
        )
        raise UsageError(f"--clear: found {name}, expected {expected}{perhaps(name, known)}")
    level = topology.level(name)
    domains = topology.domains[level]
    if not given:
        return level, domains
    found = [domain for domain in domains if wanted in (str(domain), domain.path[-1])]
    found = [domain for domain in found if str(domain) == wanted] or found
    if len(found) != 1:
        listed = found or domains
        names = first_of(list(map(str, listed)), _LISTED)
        expected = f"one of {names}" if listed else "a domain; there is none"
        raise UsageError(f"--clear: found {place}, expected {expected}")
    return level, tuple(found)


_LISTED = 8
"""Domains that an error names."""


def _price(rows: list[_Row], options: Options, deadline: Deadline) -> None:
    """Find a plan for each domain fast: a first one of each, then better ones in some of the time.

    Of many domains of a large cluster each has less of it than any plan takes.
    """
    ending = deadline.share(PRICES_FIRST)
    strategies = options.strategies or _STRATEGIES
    rows = [row for row in rows if not row.impossible]
    for row in rows:
        if deadline.cuts():
            return
        placement = construct(
            row.incumbent.searched, deadline, How(strategies[0], seed=options.seed, relocate=True)
        )
        row.incumbent.offer(placement, strategies[0].value)
    for row, share in ending.dealt(rows):
        if ending.cuts():
            return
        run_portfolio(row.incumbent, share, strategies, seed=options.seed)


def _prove(
    rows: list[_Row],
    options: Options,
    deadline: Deadline,
    solver: SolverProcess | None,
) -> None:
    """Better and prove the prices, the cheapest first; the time left is shared out evenly.

    What is proved early leaves its time to those after it.
    """
    queue = []
    for row in rows:
        if deadline.over():
            return
        if not (row.impossible or row.incumbent.optimal):
            queue.append(row)
    queue.sort(key=lambda row: row.incumbent.best.key)
    if not queue:
        return
    until = until_last_word(deadline)
    with solver or SolverProcess() as process:
        for row, share in until.dealt(queue):
            if deadline.over():
                return
            part = 1 / len(queue)
            task = search_task(row.incumbent, options, share, options.workers, part=part)
            process.begin(task, row.incumbent)
            process.wait(deadline, "last word")  # what comes after it is about the next one
            row.impossible = process.infeasible and bool(row.incumbent.missing)
            row.warnings += [f"{row.domain}: {text}" for text in process.warnings]


def _order(rows: list[_Row], options: Options, deadline: Deadline) -> None:
    """Where the best plan of a domain has no order, find others, the cheapest domain first."""
    lacking = [row for row in rows if not (row.impossible or row.incumbent.missing)]
    if deadline.over():
        return
    lacking = [row for row in lacking if sequence(row.instance, row.incumbent.placement) is None]
    lacking.sort(key=lambda row: row.incumbent.best.key)
    for row, share in deadline.dealt(lacking):
        if deadline.over():
            return
        run = Run(row.instance, row.tiers, options, share)
        run.incumbent = row.incumbent
        row.ordered = executable(run)
        row.warnings += [f"{row.domain}: {text}" for text in run.warnings]


@dataclass
class _Row:
    """One domain, the question about it and what is known of that."""

    domain: Domain
    instance: Instance
    tiers: tuple[Tier, ...]
    warnings: list[str] = field(default_factory=list)
    impossible: bool = field(init=False)
    incumbent: Incumbent = field(init=False)
    ordered: tuple[Placement, tuple[Wave, ...]] | None = None
    """A plan with an order that was looked for because the best has none."""

    def __post_init__(self) -> None:
        self.impossible = required_never_placed(self.instance)
        self.incumbent = Incumbent(
            self.instance, self.tiers, self.instance.current, kept=REMEMBERED
        )

    def price(self, question: Question, *, in_haste: bool) -> Price:
        """Write down the best plan that has a legal order, once more replayed and judged."""
        domain = str(self.domain)
        if in_haste:
            self.incumbent.known.make_haste()
        if self.impossible:
            return Price(domain=domain, status="IMPOSSIBLE")
        for placement, waves in self._plans():
            if waves is None or self.incumbent.judged(placement).missing:
                continue
            violations, final = replay(self.instance, waves)
            if violations:  # an order is judged where it is made: this is for what is not
                self.warnings.append(f"{domain}: a plan was refused: {violations[0]}")
                continue
            return self._written(question, final, waves)
        return Price(domain=domain, status="OPEN")

    def _plans(self) -> Iterator[tuple[Placement, tuple[Wave, ...] | None]]:
        """Yield the plans for this domain, the best first, with their orders."""
        if self.ordered is not None:
            yield self.ordered
        for found in reversed(self.incumbent.history):
            yield found.placement, sequence(self.instance, found.placement)

    def _written(self, question: Question, final: Placement, waves: tuple[Wave, ...]) -> Price:
        instance = self.instance
        step = Step(instance, instance.current, final)
        rows = rows_of(instance, self.tiers, final, self.incumbent.known)
        steps = steps_of(question, instance, final, waves)
        victims = tuple(_victims(step))
        lost = [row.value for row in rows if row.metric == Metric.LOST_GPU_SECONDS]
        return Price(
            domain=str(self.domain),
            status="OPTIMAL" if all(row.status == "OPTIMAL" for row in rows) else "FEASIBLE",
            victims=victims,
            moved_pods=0 if steps is None else steps.moved_pods,
            cost=sum(each.cost for each in victims),
            gpu_milli=sum(each.gpu_milli for each in victims),
            lost_gpu_seconds=sum(lost) if lost else None,
            objectives=rows,
            steps=steps,
        )


def _victims(step: Step) -> list[PriorityVictims]:
    instance = step.instance
    found = []
    for priority in instance.priorities:
        jobs = [job for job in step.changed_jobs if job.priority == priority]
        lost = {
            job.index: [(s, step.evicted(s)) for s in job.podsets if instance.podsets[s].running]
            for job in jobs
        }
        pods = sum(k for each in lost.values() for _, k in each)
        if pods:
            found.append(
                PriorityVictims(
                    priority=priority,
                    jobs=sum(any(k for _, k in each) for each in lost.values()),
                    pods=pods,
                    cost=measure_evictions(Tier(Metric.EVICTIONS, "cost", priority), step),
                    gpu_milli=sum(
                        instance.podsets[s].gpu_milli * k for each in lost.values() for s, k in each
                    ),
                )
            )
    return found


def _rank(price: Price) -> tuple[int, tuple[int, ...]]:
    """Cheap before dear, what has a price before what has none."""
    order = {"OPTIMAL": 0, "FEASIBLE": 0, "OPEN": 1, "IMPOSSIBLE": 2}
    return order[price.status], tuple(tier.value for tier in price.objectives)
