"""A change tried out beside things as they are: verdict, plan and metrics without and with it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from kantopt.clock import Deadline
from kantopt.errors import UsageError
from kantopt.planning.document.write import steps_of
from kantopt.planning.explain.edits import edited
from kantopt.planning.explain.nodes import histogram
from kantopt.planning.explain.running import standing
from kantopt.planning.explain.spared import unproved
from kantopt.planning.explain.together import Together, beside_others
from kantopt.planning.explain.trial import alone
from kantopt.planning.explain.verdict import Ladder, climb
from kantopt.planning.question import Question
from kantopt.planning.words import amount_of, unit_of
from kantopt.problem.derived.focus import focused, pending_podsets, wanted_pods
from kantopt.problem.instance import Instance
from kantopt.problem.tiers import Tier, tiers_of
from kantopt.schema.answers.explanation import Difference, NodesOfPodSet, Steps, Verdict, WhatIf
from kantopt.schema.model import Model
from kantopt.search.explain.decide import Decision
from kantopt.search.explain.places import Survey
from kantopt.verify.metrics import measure


@dataclass(frozen=True, slots=True)
class Side:
    """Things as they are, or as they would be."""

    instance: Instance
    verdict: Verdict
    nodes: tuple[NodesOfPodSet, ...]
    decision: Decision
    plan: Steps | None

    def values(self) -> dict[str, tuple[Tier, int]]:
        """Objectives after the plan; without one, as things stand."""
        tiers = tiers_of(self.instance)
        placement = self.decision.placement if self.plan else self.instance.current
        assert placement is not None
        numbers = measure(self.instance, placement, tiers)
        return {tier.name: (tier, value) for tier, value in zip(tiers, numbers, strict=True)}


def side_of(
    question: Question, instance: Instance, ladder: Ladder, nodes: Sequence[NodesOfPodSet]
) -> Side:
    """Gather one side of a comparison."""
    plan = steps_of(question, instance, ladder.decision.placement, ladder.decision.waves)
    return Side(instance, ladder.verdict, tuple(nodes), ladder.decision, plan)


def what_if(
    question: Question,
    model: Model,
    name: str,
    edits: Sequence[str],
    before: Side,
    deadline: Deadline,
) -> WhatIf:
    """Try changes out and compare.

    Parameters
    ----------
    question
        The documents, with all jobs.
    before
        Things as they are.

    Raises
    ------
    UsageError
        If a change cannot be made, or takes the job itself away.
    BadDataError
        If the documents contradict each other with it.
    """
    whole, model = edited(question, model, edits)
    question = alone(whole, name)
    instance = question.instance(model.model_copy(update={"required": ()}))
    if name not in instance.job_index:
        raise UsageError(f"--what-if: found {' '.join(edits)}, expected changes that leave {name}")
    j = instance.job_index[name]
    asked = focused(instance, j)
    if pending_podsets(instance, j):
        *_, ladder = climb(asked, j, deadline)
        found = Together(whole, model, name, deadline).found
        verdict = unproved(ladder.verdict, question, name)
        ladder = replace(ladder, verdict=beside_others(verdict, found))
        survey = Survey(asked)
        wanted = wanted_pods(asked, j)
        nodes = [histogram(asked, survey.places(s, pods)) for s, pods in wanted.items()]
    else:
        verdict = standing(question.documents(instance)[j])
        ladder, nodes = Ladder(verdict, Decision(), None), []
    after = side_of(question, instance, ladder, nodes)
    rows = (*_facts(before, after), *_objectives(before, after))
    return WhatIf(edits=tuple(edits), verdict=after.verdict, plan=after.plan, differences=rows)


def _facts(before: Side, after: Side) -> Iterator[Difference]:
    if before.verdict.status != after.verdict.status:
        yield Difference(name="verdict", before=before.verdict.status, after=after.verdict.status)
    known = {item.pod_set: item for item in before.nodes}
    for item in after.nodes:
        old = known.get(item.pod_set)
        was = "-" if old is None else f"{old.available} of {old.nodes}"
        now = f"{item.available} of {item.nodes}"
        if was != now:
            yield Difference(name=f"nodes available to {item.pod_set}", before=was, after=now)
    for label, field in (
        ("pods placed", "placed_pods"),
        ("pods evicted", "evicted_pods"),
        ("pods moved", "moved_pods"),
    ):
        was = "-" if before.plan is None else str(getattr(before.plan, field))
        now = "-" if after.plan is None else str(getattr(after.plan, field))
        if was != now and {was, now} != {"-", "0"}:
            yield Difference(name=label, unit="pods", before=was, after=now)


def _objectives(before: Side, after: Side) -> Iterator[Difference]:
    """Objectives that differ once the plans are done; of jobs alone in their question."""
    old, new = before.values(), after.values()
    for name in dict.fromkeys((*old, *new)):
        was, now = old.get(name), new.get(name)
        tier = (now or was or (None,))[0]
        if tier is not None and (was is None or now is None or was[1] != now[1]):
            yield Difference(
                name=name,
                unit=unit_of(tier),
                before="-" if was is None else amount_of(tier, was[1]),
                after="-" if now is None else amount_of(tier, now[1]),
            )
