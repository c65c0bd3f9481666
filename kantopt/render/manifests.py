"""Steps of a plan as YAML documents, with comments that say what they do, and what they do not.

Nothing that stands in a name can become a comment's end, another document or a control character.
"""

from __future__ import annotations

import hashlib
import json
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from kantopt.errors import UsageError
from kantopt.render.shell import comment, one_line
from kantopt.render.steps import Kind, Step, check_not_in_vain
from kantopt.render.targets import Asked, Rendered
from kantopt.schema.answers.plan import Plan, Wave
from kantopt.schema.yaml.dump import yaml_text

_WIDTH = 96
_KINDS: tuple[Kind, ...] = ("evictions", "bindings", "moves")

WAVE = "kantopt/wave"
"""Label of what is made for a plan: the number of its wave."""
PLAN = "kantopt/plan"
"""Annotation of what is made for a plan: the plan's identity."""


def manifests(
    plan: Plan, steps: Iterable[Step], asked: Asked, target: str, header: Sequence[str]
) -> Rendered:
    """Write documents in the order of waves.

    Parameters
    ----------
    plan
        The plan.
    steps
        What becomes of its actions, in any order.
    asked
        Whether evictions in vain are wanted, and whether only one wave is.
    target
        Name of the target.
    header
        Paragraphs: how to apply the documents, what they enforce and what not.

    Raises
    ------
    UsageError
        If pods were evicted for others that the target cannot bind, or the wave does not exist.
    """
    steps = list(steps)
    check_not_in_vain(steps, asked, target)
    waves = [wave for wave in plan.waves if asked.wave in (None, wave.id)]
    if asked.wave is not None and not waves:
        known = ", ".join(str(wave.id) for wave in plan.waves) or "none"
        raise UsageError(f"--wave: found {asked.wave}, expected one of the plan's waves: {known}")
    shown = {wave.id for wave in waves}
    told = [step for step in steps if step.wave in shown]
    counts = _counts(told, target)
    lines = [
        comment(f"Plan {plan.metadata.plan_id}"),
        *_comment(counts),
        *(line for text in header for line in _comment(text)),
        *_comment(_order(plan, asked)),
    ]
    for wave in waves:
        lines += ["", *_comment(_wave(wave))]
        for step in steps:
            if step.wave == wave.id:
                lines += _step(step)
    left = any(not step.documents for step in told)
    return Rendered("\n".join(lines) + "\n", (counts,) if left else ())


def made(plan: Plan, name: str, wave: int, namespace: str | None = None) -> dict[str, Any]:
    """Return the metadata of an object that is made for a plan."""
    fields: dict[str, Any] = {"name": name}
    if namespace is not None:
        fields["namespace"] = namespace
    fields["labels"] = {WAVE: str(wave)}
    fields["annotations"] = {PLAN: plan.metadata.plan_id}
    return fields


def unique_name(plan: Plan, *parts: str) -> str:
    """Name an object by what it is for, in characters that names may have."""
    text = json.dumps([plan.metadata.plan_id, *parts])
    return f"kantopt-{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def _counts(steps: Sequence[Step], target: str) -> str:
    """Say how many pods of each kind the documents see to."""
    told = []
    for kind in _KINDS:
        of_kind = [step for step in steps if step.kind == kind]
        if of_kind:
            done = sum(step.pods for step in of_kind if step.documents)
            told.append(f"{done} of {sum(step.pods for step in of_kind)} {kind}")
    rest = sum(step.pods for step in steps if not step.documents)
    said = f"For {target}, counted in pods: {', '.join(told) or 'nothing to do'}."
    return said + (f" {rest} left to you, at the word Advice." if rest else "")


def _order(plan: Plan, asked: Asked) -> str:
    if asked.wave is not None:
        return f"Only wave {asked.wave} of {len(plan.waves)} is here."
    if not any(wave.after for wave in plan.waves):
        return "No wave waits for another."
    return (
        "Objects that are applied at once do not wait for each other. The plan is legal on the way "
        "only if a wave is applied when those that it names are done: evicted pods gone, others "
        "ready. --wave N writes one wave alone."
    )


def _wave(wave: Wave) -> str:
    after = ", ".join(str(before) for before in wave.after)
    return f"Wave {wave.id}" + (f", after {after}" if after else "")


def _step(step: Step) -> Iterator[str]:
    if step.advice:
        yield from _comment(step.advice if step.documents else f"Advice: {step.advice}")
    for document in step.documents:
        yield "---"
        yield yaml_text(dict(document), ascii_only=True).rstrip("\n")


def _comment(text: str) -> list[str]:
    lines = textwrap.wrap(one_line(text), _WIDTH, break_long_words=False, break_on_hyphens=False)
    return [f"# {line}" for line in lines]
