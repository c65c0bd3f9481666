"""What a plan has that the one before had not, and the other way round."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping

from kantopt.report.blocks import Block, Listing, Paragraph
from kantopt.report.guarded import step_text
from kantopt.schema.answers.actions import actions_of, namespace_of
from kantopt.schema.answers.plan import Plan
from kantopt.schema.answers.since import Changed, SinceLastPlan
from kantopt.schema.hints import plural

_Steps = dict[str, Counter[str]]
"""Steps in words, with the number of pods, by what they are about."""


def plan_difference(last: Plan, plan: Plan, taken: Collection[str] = ()) -> SinceLastPlan:
    """Compare a plan with the one before it.

    Steps are told apart by pod where its name is known, whatever its pod set is called by now, else
    by job, pod set and number. A pod, or a pod set without names, that both plans act on in
    different ways is ``changed``; so is a job that stays pending in both with other pods or for
    another reason. ``taken`` are the ids of steps of the one before that have been taken since.
    """
    called = {pod: subject for subject, pod, _, _ in _all_steps(plan) if pod}
    before, after = _steps(last, called, taken), _steps(plan, called)
    done = _steps(last, called) if taken else {}
    new, gone, changed = [], [], []
    for subject in dict.fromkeys([*after, *before]):
        was, now = before.get(subject, Counter()), after.get(subject, Counter())
        less, more = _words(was - now), _words(now - was)
        if less and more:
            changed.append(Changed(subject=subject, was=less, now=more))
        elif more:
            new.append(f"{subject}: {more}")
        elif less:
            gone.append(f"{subject}: {less}")
    return SinceLastPlan(
        last_plan=last.metadata.plan_id,
        last_captured_at=last.metadata.snapshot.captured_at,
        new=tuple(new),
        gone=tuple(gone),
        done=tuple(
            f"{subject}: {words}"
            for subject, steps in done.items()
            if (words := _words(steps - before.get(subject, Counter())))
        ),
        changed=tuple(changed),
    )


def difference_blocks(difference: SinceLastPlan) -> list[Block]:
    """Lay out a difference: a line for each thing that is not as before, then how many are not.

    The marks are those of tools that apply plans: ``+`` is new, ``-`` is gone, ``~`` has changed;
    and ``=`` is done.
    """
    moment = difference.last_captured_at
    since = f"SINCE THE LAST PLAN{f', made for {moment}' if moment else ''}"
    if difference.is_empty:
        return [Paragraph(f"{since}: nothing has changed.", "dim")]
    lines = [
        *(f"+ {line}" for line in difference.new),
        *(f"- {line}" for line in difference.gone),
        *(f"= {line}" for line in difference.done),
        *(f"~ {each.subject}: {each.was} => {each.now}" for each in difference.changed),
    ]
    return [Listing(since, tuple(lines)), Paragraph(f"{_counted(difference)}.")]


def unchanged_blocks(last: Plan) -> list[Block]:
    """Lay out that the question is the one of the run before, so that its plan still stands."""
    summary = last.summary
    parts = [
        f"{verb} {plural(pods, 'pod')}"
        for verb, pods in (
            ("place", summary.placed_pods),
            ("evict", summary.evicted_pods),
            ("move", summary.moved_pods),
        )
        if pods
    ]
    moment = last.metadata.snapshot.captured_at
    made = f", made for {moment}," if moment else ""
    text = f"NO CHANGE: the last plan{made} still stands: {', '.join(parts) or 'nothing to do'}."
    return [Paragraph(text, "title"), Paragraph(f"{last.solver.status}. {last.metadata.plan_id}")]


def difference_line(difference: SinceLastPlan) -> str:
    """Write a difference as one line of numbers."""
    return f"since the last plan: {_counted(difference)}"


def _counted(difference: SinceLastPlan) -> str:
    new, changed, gone = map(len, (difference.new, difference.changed, difference.gone))
    done = f", {len(difference.done)} done" if difference.done else ""
    return f"{new} to add, {changed} to change, {gone} to drop{done}"


_Pod = tuple[str, str]
"""Namespace and name."""


def _steps(plan: Plan, called: Mapping[_Pod, str], but: Collection[str] = ()) -> _Steps:
    """Collect the steps of a plan; ``called`` are the subjects of pods that have a name."""
    steps: _Steps = {}
    for subject, pod, step, pods in _all_steps(plan, but):
        known = called.get(pod, subject) if pod else subject
        steps.setdefault(known, Counter())[step] += pods
    return steps


def _all_steps(
    plan: Plan, but: Collection[str] = ()
) -> Iterator[tuple[str, _Pod | None, str, int]]:
    for item in actions_of(plan).values():
        if item.id in but:
            continue
        subject, step = f"{item.job}/{item.pod_set}", step_text(item)
        for pod in item.pods:
            yield f"{subject} {pod.name}", (namespace_of(item.job), pod.name), step, 1
        if item.count > len(item.pods):
            yield subject, None, step, item.count - len(item.pods)
    for left in plan.unplaced:
        text = f"{plural(left.pods, 'pod')} ({left.rule})"
        yield f"{left.job} pending", None, text, 1


def _words(steps: Counter[str]) -> str:
    return ", ".join(f"{step} x{pods}" if pods > 1 else step for step, pods in steps.items())
