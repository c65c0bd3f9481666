"""All commands, asked as the command line asks them; each answer as a plan and claims."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from kantopt.clock import Deadline
from kantopt.planning.certify import certify
from kantopt.planning.defrag import Wish, asked, defragment
from kantopt.planning.explain.run import explain
from kantopt.planning.explain.trial import alone
from kantopt.planning.plan import Result, make_plan
from kantopt.planning.prices import confined, price_list
from kantopt.planning.question import Question
from kantopt.planning.solving.options import Engine, Options
from kantopt.planning.wanted import model_for, model_pending
from kantopt.problem.derived.focus import focused, limited
from kantopt.problem.instance import Instance
from kantopt.schema.answers.certificate import Certificate
from kantopt.schema.answers.explanation import Explanation, Steps
from kantopt.schema.answers.plan import Plan
from kantopt.schema.extends import load_model
from kantopt.schema.model import Model
from kantopt.search.explain.decide import disturbing
from kantopt.verify.metrics import measure
from tests.one_truth.claims import Bounds, Claim, Found, Least, NoPlan

SECONDS = 60.0
"""Limit of a run; far more than these questions take, so that it decides nothing."""


@dataclass(frozen=True, slots=True)
class Said:
    """What a command said to one question: a plan for it, claims about all plans for it."""

    by: str
    asked: Instance
    plan: Plan | None
    claims: tuple[Claim, ...]
    impossible: bool = False
    """A required job provably has no place."""

    @property
    def found(self) -> Found | None:
        """The plan, for whoever claims that there is none like it."""
        return None if self.plan is None else Found(self.by, self.plan)


def deadline(*, deterministic: bool = False) -> Deadline:
    """Return when a run has to end."""
    return Deadline.within(SECONDS, deterministic=deterministic)


def plan(question: Question, engine: Engine) -> Said:
    """``kantopt plan``."""
    return _planned(question, explaining(question), engine, "plan")


def repeatable(question: Question) -> Plan:
    """``kantopt plan --deterministic``."""
    limit = deadline(deterministic=True)
    return make_plan(question, explaining(question), Options(), limit).plan


def plan_for(question: Question, name: str, engine: Engine) -> Said:
    """``kantopt plan --for JOB``."""
    model = model_for(question.model or load_model("preemption"), name)
    together = explaining(question)
    return _planned(question, model, engine, f"plan --for {name}", together=together)


def plan_pending(question: Question, name: str, engine: Engine) -> Said:
    """``kantopt plan --pending JOB``."""
    model = model_pending(question, explaining(question).model_copy(update=_NONE), (name,))
    return _planned(question, model, engine, f"plan --pending {name}")


_NONE: dict[str, object] = {"required": (), "pending": None}


def cleared(question: Question, name: str, engine: Engine, level: str) -> Iterator[Said]:
    """``kantopt plan --for JOB --clear LEVEL``: what is said of each domain."""
    model = model_for(question.model or load_model("preemption"), name)
    prices = price_list(question, model, name, level, Options(engine=engine), deadline())
    instance = question.instance(model)
    job = instance.job_index[name]
    for domain in instance.topology.domains[instance.topology.level(level)]:
        price = next(price for price in prices.prices if price.domain == str(domain))
        by = f"plan --for {name} --clear {level}={domain} ({engine})"
        asked = confined(instance, job, domain)
        claims: tuple[Claim, ...] = ()
        if price.status == "IMPOSSIBLE":
            claims = (NoPlan(by, asked),)
        elif price.objectives:
            claims = (Bounds(by, asked, price.objectives),)
        steps = None if price.steps is None else as_plan(price.steps)
        yield Said(by, asked, steps, claims, price.status == "IMPOSSIBLE")


def plan_requiring(question: Question, name: str, engine: Engine) -> Said:
    """``kantopt plan --require JOB``."""
    return _planned(question, explaining(question), engine, f"plan --require {name}", (name,))


def _planned(
    question: Question,
    model: Model,
    engine: Engine,
    by: str,
    require: tuple[str, ...] = (),
    together: Model | None = None,
) -> Said:
    options = Options(engine=engine, require=require)
    result = make_plan(question, model, options, deadline(), together=together)
    return _said(f"{by} ({engine})", result)


def fit(question: Question, name: str, engine: Engine) -> Said:
    """``kantopt defrag --goal fit=JOB``."""
    wanted = asked(question, Wish((f"fit={name}",)))
    result = defragment(question, wanted, Options(engine=engine), deadline())
    return _said(f"defrag --goal fit={name} ({engine})", result)


def certified(question: Question, judged: Plan) -> Certificate:
    """``kantopt certify --plan``, under the model that the plan was made for."""
    return certify(replace(question, plan=judged), judged.model, Options(), deadline())


def explained(question: Question, name: str) -> Explanation:
    """``kantopt explain JOB``."""
    return list(explain(question, explaining(question), name, deadline()))[-1]


def explaining(question: Question) -> Model:
    """Return the model that an explanation goes by."""
    return question.model or load_model("mixed")


def answers(question: Question, told: Explanation) -> Iterator[Said]:
    """Each question about the cluster as it is that an explanation answers, and its answer."""
    whole = widest(question, told.job)
    steps = {
        "as it stands": limited(whole, evictions=0, moves=0),
        "after moves": limited(whole, evictions=0),
        "after evictions": whole,
    }
    for answer in told.verdict.answers:
        if answer.question not in steps:
            continue
        by = f"explain {told.job} {answer.question}"
        question_asked = steps[answer.question]
        found = None if told.plan is None or answer.answer != "yes" else as_plan(told.plan)
        claims: tuple[Claim, ...] = ()
        if answer.answer == "no":
            claims = (NoPlan(by, question_asked),)
        elif answer.least and found is not None:
            claims = (Least(by, question_asked, disturbance(question_asked, Found(by, found))),)
        yield Said(by, question_asked, found, claims, answer.answer == "no")


def widest(question: Question, name: str) -> Instance:
    """Return the widest of these questions: all that the model lets be done for a job."""
    instance = alone(question, name).instance(
        explaining(question).model_copy(update={"required": ()})
    )
    return focused(instance, instance.job_index[name])


def disturbance(instance: Instance, found: Found) -> tuple[int, ...]:
    """Return the values of the objectives about who is disturbed that a plan reaches."""
    placement = found.placement(instance)
    assert placement is not None, found.by
    tiers = disturbing(instance)
    return measure(instance, placement, tiers)


def as_plan(steps: Steps) -> Plan:
    """Return steps in the form of a plan."""
    return Plan.model_construct(
        assignments=steps.assignments,
        evictions=steps.evictions,
        moves=steps.moves,
        waves=steps.waves,
    )


def _said(by: str, result: Result) -> Said:
    bounded = result.instance
    claims: tuple[Claim, ...] = ()
    if result.infeasible:
        claims = (NoPlan(by, bounded),)
        bounded = replace(bounded, required=frozenset())
    claims = (*claims, Bounds(by, bounded, result.plan.objectives))
    return Said(by, result.instance, result.plan, claims, result.infeasible)
