"""What changed between two dumps, for people: counted by kind, the first of each named."""

from __future__ import annotations

from kantopt.report.blocks import Block, Listing, Paragraph
from kantopt.report.terminal import standing_line
from kantopt.report.units import plural
from kantopt.schema.certificate import Certificate
from kantopt.schema.history import Fate, History

FEW = 3
"""Pods of a kind that are named."""


def history_blocks(certificate: Certificate, *, wide: bool) -> list[Block]:
    """Say what became of the first dump; ``wide`` names every pod."""
    history = certificate.history
    if history is None:
        return []
    lines: list[str] = []
    kinds = list(dict.fromkeys(fate.became for fate in history.gone))
    for became in kinds:
        fates = [fate for fate in history.gone if fate.became == became]
        lines += _named(fates, len(fates) if wide else FEW)
    lines += _nodes("came", history.nodes_added) + _nodes("went", history.nodes_removed)
    if history.waiting:
        names = ", ".join(history.waiting[:FEW])
        more = ", ..." if len(history.waiting) > FEW else ""
        pods = plural(len(history.waiting), "pod")
        lines.append(f"{pods} came since and wait: nobody is blamed for that ({names}{more})")
    blocks: list[Block] = [Paragraph(_counts(history), "dim")]
    if lines:
        blocks.append(Listing("CHANGED SINCE, and not by the choice of a node", tuple(lines)))
    if certificate.apart:
        text = "DONE BY A SCHEDULER, which may; an executor of a plan may not"
        blocks.append(Listing(text, tuple(map(standing_line, certificate.apart)), "warn"))
    return blocks


def _counts(history: History) -> str:
    return (
        f"Since the first dump: {plural(history.stayed, 'pod')} stayed, {history.placed} that "
        f"waited and {history.arrived} that came have a node, {len(history.gone)} did not run on."
    )


def _named(fates: list[Fate], most: int) -> list[str]:
    named = [f"{f.pod} on {f.node}: {f.became} ({f.evidence})" for f in fates[:most]]
    left = len(fates) - most
    return [*named, f"and {left} more {fates[0].became}"] if left > 0 else named


def _nodes(what: str, names: tuple[str, ...]) -> list[str]:
    if not names:
        return []
    more = ", ..." if len(names) > FEW else ""
    return [f"{plural(len(names), 'node')} {what}: {', '.join(names[:FEW])}{more}"]
