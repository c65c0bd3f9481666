"""Ladder of questions about one job, the gentlest first, and the verdict they make."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from kantopt.clock import Deadline
from kantopt.planning.words import disturbed
from kantopt.problem.derived.focus import limited, pending_podsets, wanted_pods, with_model
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.schema.answers.explanation import Answer, Asked, Status, Verdict
from kantopt.schema.hints import plural
from kantopt.schema.model import Limits, Rule
from kantopt.schema.quantity import from_base
from kantopt.search.explain.decide import Decision, decide, on_empty, victims
from kantopt.search.reasons import NOT_EXAMINED, first_reason
from kantopt.verify.rules.quota import held_words, queue_limit
from kantopt.verify.step import Step


@dataclass(frozen=True, slots=True)
class Ladder:
    """What the questions came to.

    Attributes
    ----------
    verdict
        The verdict.
    decision
        The plan that places the job, if there is one.
    refused
        The most generous question that is proved to be answered with no: the one to explain.
    beyond
        Where the job would be without the quota or the limits that are in its way.
    """

    verdict: Verdict
    decision: Decision
    refused: Instance | None
    beyond: Placement | None = None


def climb(question: Instance, j: int, deadline: Deadline) -> Iterator[Ladder]:
    """Ask one question after the other until one is answered with yes; yield the state each time.

    The last one yielded is complete unless the time was up.
    """
    steps: tuple[tuple[Status, Instance], ...] = (
        ("FITS_NOW", limited(question, evictions=0, moves=0)),
        ("FITS_AFTER_MOVING", limited(question, evictions=0)),
        ("FITS_AFTER_PREEMPTING", question),
    )
    answers: list[Answer] = []
    refused: Instance | None = None
    last: Instance | None = None
    for i, (status, asked) in enumerate(steps):
        if last is not None and asked.model.limits == last.model.limits:
            continue  # the model allows no more than was asked about already
        decision = decide(asked, j, deadline)
        if refused is last is not None and _no_less(asked, j, decision):
            decision = replace(decision, least=True)
        answers.append(_answer(asked, j, decision))
        if decision.placement is not None:
            message = _fits(question, j, status, decision)
            proved = decision.least and all(answer.answer == "no" for answer in answers[:-1])
            yield Ladder(_verdict(status, message, proved, answers), decision, refused)
            return
        last = asked
        if decision.impossible:
            refused = asked
            text = _beyond(asked, [more for _, more in steps[i + 1 :]])
        else:
            text = _UNDECIDED
        yield Ladder(_verdict("OPEN", text, False, answers), Decision(), refused)
    yield _blocked(question, j, deadline, answers, refused)


_UNDECIDED = "OPEN: no plan was found in time, and no proof that there is none (--time-limit)."


def _beyond(asked: Instance, more: Sequence[Instance]) -> str:
    """Say what is not decided of a job that does not fit with what was asked so far."""
    limits = asked.model.limits
    rest = [question_name(each) for each in more if each.model.limits != limits]
    name = question_name(asked)
    head = f"OPEN: it does not fit {'' if name == 'as it stands' else 'even '}{name}"
    open_ = f"whether it fits {' or '.join(rest)}" if rest else "why"
    return f"{head}; {open_} was not decided in time (--time-limit)."


def _no_less(asked: Instance, j: int, decision: Decision) -> bool:
    """Whether a plan disturbs one pod where none is not enough, and no other one would be better.

    One that is evicted may be more important than others that could be, or cost more.
    """
    evicted, moved = disturbance(asked, decision)
    return evicted + moved == 1 and (moved == 1 or len(victims(asked, j)) == 1)


def _blocked(
    question: Instance,
    j: int,
    deadline: Deadline,
    answers: list[Answer],
    refused: Instance | None,
) -> Ladder:
    """Find out why a job has no place whatever the model allows to be done for it."""
    settled = all(answer.answer == "no" for answer in answers)
    job = question.jobs[j]
    none = pods_of(question, j, one="has no place", many="have no place together")
    pods = pods_of(question, j, one="would fit", many="would fit")
    empty = on_empty(question, j, deadline)
    if empty.impossible:
        answers.append(Answer(question="on an empty cluster", answer="no", message=none))
        # It may be that nothing but the balance of domains is missing, which pods of others make.
        beside = on_empty(question, j, deadline, spread=False)
        if beside.impossible:
            daemons = any(podset.daemon and podset.running for podset in question.podsets)
            rest = "nothing else runs but daemons" if daemons else "nothing else runs"
            closed = sum(not node.usable for node in question.nodes)
            text = f"NEVER on this hardware: {none} even if {rest}."
            if closed:
                beyond = f"{closed} of {plural(len(question.nodes), 'node')} cannot be used now"
                text = f"NEVER on the nodes that are open: {none} even if {rest}; {beyond}."
            if not question.nodes:
                text = "NEVER on this hardware: the snapshot has no nodes."
            return Ladder(_verdict("NEVER", text, True, answers), Decision(), refused)
        empty = beside
    else:
        answers.append(
            Answer(
                question="on an empty cluster",
                answer="yes" if empty.placement is not None else "open",
                message=f"{pods}{_company_aside(question, j)}{_quota_aside(question, j)}"
                if empty.placement is not None
                else "not decided",
            )
        )
    loose: tuple[tuple[Status, Instance, str], ...] = (
        (
            "OVER_QUOTA",
            _without_quota(question),
            f"within the quota of queue {_queue(question, j)}",
        ),
        (
            "OVER_LIMIT",
            with_model(question, limits=Limits()),
            "within the model's limits of evictions and moves",
        ),
    )
    for status, asked, words in loose:
        if asked.model == question.model or not job.podsets:
            continue
        decision = decide(asked, j, deadline, any_plan=True)
        if decision.placement is not None:
            name: Asked = "without quota" if status == "OVER_QUOTA" else "without limits"
            done = _done(question, decision)
            answers.append(Answer(question=name, answer="yes", message=f"{pods} {done}"))
            text = f"{status.replace('_', ' ')}: {none} {words}; but for that, {pods} {done}."
            verdict = _verdict(status, text, settled, answers)
            return Ladder(verdict, Decision(), refused, decision.placement)
    if not settled:
        return Ladder(_verdict("OPEN", _UNDECIDED, False, answers), Decision(), refused)
    text = (
        f"WAITS: {none} beside what runs now, and no move or eviction that is allowed makes room."
    )
    return Ladder(
        _verdict("WAITS", text, empty.placement is not None, answers), Decision(), refused
    )


def _queue(question: Instance, j: int) -> str:
    queue = question.jobs[j].queue
    return "" if queue is None else question.queues[queue].name


def _company_aside(question: Instance, j: int) -> str:
    """Say that the empty cluster was asked about as if those were there that pods must be near."""
    own = question.jobs[j].podsets
    lacking = any(near.owner in own and not near.founds for near in question.affinities)
    return " if those that it must be near were there" if lacking else ""


def _quota_aside(question: Instance, j: int) -> str:
    """Say that the empty cluster was asked about without quotas, and if the job is above its own.

    What an empty cluster lends a queue is its limit; more than that no end of others brings.
    """
    queue = question.jobs[j].queue
    if queue is None or not question.on(Rule.QUOTA) or not question.queues[queue].quotas:
        return ""
    owner = question.queues[queue]
    job = question.jobs[j]
    pods = dict.fromkeys(job.podsets, 0) | wanted_pods(question, j)
    for s in job.podsets:
        if question.podsets[s].running:
            pods[s] = question.podsets[s].count
    for quota in owner.quotas:
        limit = queue_limit(owner, quota)
        asks = sum(count * question.podsets[s].demand[quota.resource] for s, count in pods.items())
        if limit is not None and asks > limit:
            name = question.resources[quota.resource]
            amounts = f"{from_base(name, asks)} of {from_base(name, limit)} {name}"
            amounts += held_words(from_base(name, quota.held))
            return f", but never within the quota of queue {owner.name}: {amounts}"
    return ", its quota left aside"


def _without_quota(question: Instance) -> Instance:
    if not question.on(Rule.QUOTA) or question.jobs[next(iter(question.required))].queue is None:
        return question
    return with_model(question, rules=question.model.rules.model_copy(update={"quota": "off"}))


def _verdict(status: Status, message: str, proved: bool, answers: list[Answer]) -> Verdict:
    return Verdict(status=status, message=message, proved=proved, answers=tuple(answers))


def question_name(asked: Instance) -> Asked:
    """Name a question by what may be done."""
    limits = asked.model.limits
    if limits.evictions == 0:
        return "as it stands" if limits.moves == 0 else "after moves"
    return "after evictions"


def _answer(asked: Instance, j: int, decision: Decision) -> Answer:
    name = question_name(asked)
    if decision.placement is not None:
        text = f"{pods_of(asked, j, one='fits', many='fit')} {_done(asked, decision)}"
        return Answer(question=name, answer="yes", least=decision.least, message=text)
    if decision.impossible:
        none = pods_of(asked, j, one="has no place", many="have no place together")
        return Answer(question=name, answer="no", message=none)
    return Answer(question=name, answer="open", message="neither a plan nor a proof was found")


def pods_of(question: Instance, j: int, *, one: str = "", many: str = "") -> str:
    """Say which pods are asked about, with a verb in singular or plural: ``its pod has``."""
    wanted = sum(wanted_pods(question, j).values())
    total = sum(podset.count for podset in pending_podsets(question, j))
    if total == 1:
        return f"its pod {one}".rstrip()
    if wanted < total:
        verb = one if wanted == 1 else many
        return f"the {wanted} that it needs of its {total} pods {verb}".rstrip()
    return f"its {total} pods {many}".rstrip()


def disturbance(question: Instance, decision: Decision) -> tuple[int, int]:
    """Pods that a plan evicts and pods that it moves."""
    if decision.placement is None:
        return 0, 0
    step = Step(question, question.current, decision.placement)
    running = [s for s in step.changed if question.podsets[s].running]
    return sum(map(step.evicted, running)), sum(map(step.moved, running))


def _done(question: Instance, decision: Decision) -> str:
    parts = disturbed(*disturbance(question, decision))
    return "with " + " and ".join(parts) if parts else "as it stands"


def _fits(question: Instance, j: int, status: Status, decision: Decision) -> str:
    others = _others(question, j, decision)
    if status == "FITS_NOW":
        room = pods_of(question, j, one="has", many="have")
        return f"FITS NOW: {room} room as it stands.{others}"
    pods = pods_of(question, j, one="fits", many="fit")
    least = "no plan disturbs less" if decision.least else "whether less is enough is open"
    if not decision.weighed:
        least += "; several choices disturb equally few pods, and their cost was not compared"
    parts = disturbed(*disturbance(question, decision))
    return f"{status.replace('_', ' ')}: {pods} with {' and '.join(parts)}; {least}.{others}"


def _others(question: Instance, j: int, decision: Decision) -> str:
    """Say why pods of a gang above its minimum wait where the minimum has a place."""
    placement = decision.placement
    if placement is None:
        return ""
    pending = pending_podsets(question, j)
    rest = sum(podset.count - placement.placed(podset.index) for podset in pending)
    if not rest:
        return ""
    rule, reason = first_reason(question, placement, j)
    other = "other pod" if rest == 1 else f"other {rest} pods"
    if rule == NOT_EXAMINED:
        return f" Room beside it for the {other} was not looked for."
    who = f"The {other} {'waits' if rest == 1 else 'wait'}"
    return f" {who} ({rule}: {reason}): here nobody makes way above minCount; plan weighs that."
