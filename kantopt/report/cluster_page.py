"""A cluster, and a plan for it if there is one, as a page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kantopt.report.blocks import Block, Listing, Paragraph
from kantopt.report.page import page
from kantopt.report.terminal import pending_table, plan_sections
from kantopt.report.units import plural
from kantopt.schema.picture import Picture
from kantopt.schema.plan import Plan


def cluster_page(
    picture: Picture, plan: Plan | None, notes: Sequence[str] = (), **about: Any
) -> str:
    """Write the page: what the plan is worth, the map, what it does and who waits.

    Parameters
    ----------
    picture
        The cluster before and after the plan.
    plan
        The plan; none: the cluster as it stands.
    notes
        What the reader should know of how the cluster was read.
    about
        Domains of the nodes and their level, as :func:`kantopt.report.terminal.plan_sections`.
    """
    name = picture.name or "the cluster"
    lead: list[Block] = []
    rest: list[Block] = []
    if picture.fault:
        lead.append(Paragraph(f"NOT LEGAL here: {picture.fault}", "bad"))
    if plan is None:
        lead += _as_it_stands(picture)
        rest += pending_table(picture.waiting, None)
    else:
        worth, done = plan_sections(plan, **about)
        lead += worth
        rest += done
    if notes:
        rest.append(Listing("NOTES of what was read", tuple(notes), "warn"))
    return page(f"{name}: {'the cluster' if plan is None else 'plan'}", lead, rest, picture=picture)


def _as_it_stands(picture: Picture) -> list[Block]:
    pods = sum(item.pods for item in picture.waiting)
    closed = sum(bool(bar.marks) for bar in picture.bars)
    text = f"{plural(len(picture.bars), 'node')}; "
    if picture.waiting:
        verb = "waits" if len(picture.waiting) == 1 else "wait"
        text += f"{plural(len(picture.waiting), 'job')} {verb} with {plural(pods, 'pod')}"
    else:
        text += "nothing waits"
    if closed:
        text += f"; {plural(closed, 'node')} closed to pods"
    moment = f" at {picture.captured_at}" if picture.captured_at else ""
    return [
        Paragraph(f"{text}.", "title"),
        Paragraph(f"{picture.name or 'the cluster'}{moment}, as it stands.", "dim"),
    ]
