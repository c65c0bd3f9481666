"""What a certificate takes for granted: what is modelled, left out, taken at somebody's word."""

from __future__ import annotations

from collections.abc import Iterator

from kantopt.planning.question import Question
from kantopt.schema.answers.certificate import Assumed
from kantopt.schema.answers.history import History
from kantopt.schema.answers.plan import Plan
from kantopt.schema.features import WORDS
from kantopt.schema.hints import plural
from kantopt.schema.model import Model, Rule

LATER_RULES = (Rule.GANG, Rule.PRIORITY, Rule.PINNED, Rule.DISRUPTION, Rule.GANG_VICTIMS)
"""Rules for plans of ours, which a state that another scheduler has made cannot break."""


def assumed(question: Question, model: Model, plan: Plan, history: History | None) -> Assumed:
    """Say what a certificate of a plan, or of two dumps, takes for granted."""
    held = [rule.value for rule in Rule if getattr(model.rules, rule.value, "required") != "off"]
    return Assumed(
        modelled=tuple(held),
        left_out=(
            *_not_modelled(plan),
            *_left_aside(plan),
            *_not_in_a_dump(question),
            *(() if history is None else (*_between(history), *_unexplained(history, plan))),
            _TIME,
        ),
        notes=tuple(question.notes),
        annotations=question.annotated,
    )


_TIME = "how long jobs run, and what is asked for next"
_NOT_IN_A_DUMP = {
    "kubernetes": "the scheduler's configuration (profiles, disabled plugins, extenders), rules of "
    "other schedulers, admission",
    "slurm": "limits of accounts and users, time limits and what backfill keeps free by them, "
    "plugins that choose for their site",
}
"""What schedulers go by and no dump shows, by what it is a dump of."""


def _not_in_a_dump(question: Question) -> Iterator[str]:
    if question.read_as is not None and question.read_as.source in _NOT_IN_A_DUMP:
        yield f"what no dump shows: {_NOT_IN_A_DUMP[question.read_as.source]}"


def _not_modelled(plan: Plan) -> Iterator[str]:
    for row in plan.not_modelled:
        what = " and ".join(WORDS[feature] for feature in row.features)
        how = "planned as if they were not" if row.assumed else "neither placed nor disturbed"
        yield f"pods {what}: {row.pending} pending and {row.running} running, {how}"


def _left_aside(plan: Plan) -> Iterator[str]:
    if (aside := plan.left_aside) is not None:
        who = f"{aside.jobs} pending jobs ({aside.pods} pods) that are not asked about"
        yield f"{who}, though no less important than one that is"


def _unexplained(history: History, plan: Plan) -> Iterator[str]:
    judged = {pod.uid for item in plan.evictions for pod in item.pods}
    judged |= {pod.uid for move in plan.moves for pod in move.pods}
    pods = sum(
        fate.became == "preempted" and fate.uid not in judged and not fate.unduly
        for fate in history.gone
    )
    if pods:
        their = "its node" if pods == 1 else "their nodes"
        yield (
            f"for whom {plural(pods, 'pod')} had to go that {'was' if pods == 1 else 'were'} "
            f"preempted: no pod is seen that came to {their} and was the one, or that was decided "
            "before the first dump; nothing is judged of it"
        )


def _between(history: History) -> Iterator[str]:
    judged = {Rule.PRIORITY for fate in history.gone if fate.unduly}
    rules = ", ".join(rule.value for rule in LATER_RULES if rule not in judged)
    yield f"what another scheduler need not keep: {rules}; it is asked of better plans only"
    yield "wishes of pods (preferences): each scheduler weighs them in its own way"
    yield "what came and went between the dumps, and the order in which things happened"
    if history.gone:
        pods = plural(len(history.gone), "pod")
        yield (
            f"when the room of {pods} that did not run on came free: better plans have it from the "
            "beginning"
        )
    if added := len(history.nodes_added):
        nodes = plural(added, "node")
        it = "it" if added == 1 else "them"
        yield f"when {nodes} came: better plans have {it} from the beginning"
    unknown = sum(fate.became in ("unknown", "disrupted") for fate in history.gone)
    if unknown:
        yield f"who disrupted {plural(unknown, 'pod')}: nothing is judged of that"
