"""Which steps of a plan can still be taken, for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from kantopt.report.actions import kind_of
from kantopt.report.blocks import Block, Paragraph, Style, Table, in_lines
from kantopt.report.names import on_devices
from kantopt.report.verdict import spared_listing
from kantopt.schema.answers.actions import PlanAction, in_waves, source_of, target_of
from kantopt.schema.answers.plan import CutStep, Plan, Standing
from kantopt.schema.hints import plural

_STYLES: dict[str, Style] = {"cut": "bad", "done": "dim", "legal": ""}
_MOST = 30
"""Steps that a table shows, unless it is wide."""


def guarded_blocks(
    plan: Plan,
    done: Sequence[str],
    cut: Sequence[CutStep],
    spared: Sequence[Standing] = (),
    *,
    wide: bool = False,
) -> list[Block]:
    """Lay out a plan step by step: still legal, taken already, or cut and why.

    Of many steps the first are shown, those that are cut before others. ``spared`` are victims of
    those that are left who could have stayed.
    """
    why = {step.id: f"{step.rule}: {step.message}" for step in cut}
    rows: list[tuple[str, ...]] = []
    for wave, item in in_waves(plan):
        state = "cut" if item.id in why else "done" if item.id in done else "legal"
        step = step_text(item)
        name = f"{item.job}/{item.pod_set}"
        row = (str(wave), item.id, step, name, str(item.count), state)
        rows.append((*row, why.get(item.id, "-")))
    blocks: list[Block] = [_headline(len(rows), len(done), len(cut))]
    if not rows:
        return blocks
    first = sorted(range(len(rows)), key=lambda i: (rows[i][5] != "cut", i))
    shown = [rows[i] for i in sorted(first if wide else first[:_MOST])]
    table = Table(
        "STEPS of the plan, as they are today",
        ("WAVE", "ID", "STEP", "JOB/PODSET", "PODS", "TODAY", "WHY"),
        tuple(shown),
        frozenset({0, 4}),
        tuple(_STYLES[row[5]] for row in shown),
    )
    blocks.append(table)
    if left := Counter(row[5] for row in rows) - Counter(row[5] for row in shown):
        states = ", ".join(f"{number} {state}" for state, number in sorted(left.items()))
        blocks.append(Paragraph(f"and {left.total()} more: {states} (-o wide lists all)", "dim"))
    if spared:
        blocks.append(spared_listing(spared, wide=wide))
    return blocks


def cut_lines(cut: Sequence[CutStep]) -> str:
    """One line per step that is cut: ``ID RULE: cause``."""
    return in_lines(f"{step.id} {step.rule}: {step.message}" for step in cut)


def _headline(steps: int, done: int, cut: int) -> Paragraph:
    if not steps:
        return Paragraph("LEGAL: the plan has no steps.", "good")
    taken = f", {plural(done, 'step')} {'has' if done == 1 else 'have'} been taken" if done else ""
    left = steps - done - cut
    if cut:
        text = f"CUT: {left} of {plural(steps, 'step')} can still be taken{taken}, {cut} cannot."
        return Paragraph(text, "bad")
    if not left:
        return Paragraph(f"DONE: {plural(done, 'step')}, all taken already.", "good")
    all_of = "all steps" if left == steps else f"the other {plural(left, 'step')}"
    return Paragraph(f"LEGAL: {all_of} can still be taken{taken}.", "good")


def step_text(item: PlanAction) -> str:
    """Write what a step does: ``move gpu-1 -> gpu-2``."""
    source, target = on_devices(source_of(item)), on_devices(target_of(item))
    if not source:
        return f"bind to {target}"
    if not target:
        return f"evict from {source}"
    if kind_of(item) == "restart":
        return f"restart on {source}"
    return f"move {source} -> {target}"
