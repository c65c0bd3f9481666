"""Which pages there are: a cluster, a plan for it, any other answer; with map or drawings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kantopt.report.blocks import Block, Listing, Paragraph, Table
from kantopt.report.layouts import blocks_of
from kantopt.report.names import cluster_at
from kantopt.report.page import page
from kantopt.report.simulation_pictures import simulation_pictures
from kantopt.report.terminal import pending_table, plan_sections
from kantopt.report.words import OURS, Words
from kantopt.schema.answers.certificate import Certificate
from kantopt.schema.answers.picture import Picture
from kantopt.schema.answers.plan import Plan
from kantopt.schema.answers.simulation import Simulation
from kantopt.schema.base import Part
from kantopt.schema.hints import plural


def answer_page(
    document: Part,
    picture: Picture | None = None,
    *,
    seek: str = "",
    notes: Sequence[str] = (),
    further: Sequence[Block] = (),
    words: Words = OURS,
    **about: Any,
) -> str:
    """Write an answer of a kind that ``LAYOUTS`` has as a page.

    Parameters
    ----------
    document
        The answer.
    picture
        The cluster that it is of: the map, below what the answer is worth. With a certificate
        that has a better plan, that plan.
    seek
        Name of the job that is looked for when the page opens.
    notes
        What was noted when the cluster was read.
    further
        Blocks that the caller has to add.
    words
        What the page is put into.
    about
        What the layout takes beside the document; for plans, domains and level alone.
    """
    if isinstance(document, Plan):
        return _page(
            "plan", picture, *plan_sections(document, **about), notes, further, words=words
        )
    blocks = blocks_of(document, wide=True, **about)
    drawings: Sequence[str] = ()
    if isinstance(document, Simulation):
        drawings = tuple(simulation_pictures(document).values())
    better = isinstance(document, Certificate) and document.counter_example is not None
    return blocks_page(
        type(document).__name__.lower(),
        blocks,
        picture,
        notes=notes,
        further=further,
        drawings=drawings,
        of="the better plan" if better else "",
        words=words,
        seek=seek,
    )


def blocks_page(
    what: str, blocks: Sequence[Block], picture: Picture | None = None, **about: Any
) -> str:
    """Write blocks as a page, the map behind what the answer is worth.

    Parameters
    ----------
    what
        What the blocks are, in a word.
    blocks, picture
        The answer, and the cluster that it is of.
    about
        As of :func:`answer_page`.
    """
    cut = _behind_the_first_table(blocks)
    return _page(what, picture, blocks[:cut], blocks[cut:], **about)


def cluster_page(picture: Picture, notes: Sequence[str] = (), *, words: Words = OURS) -> str:
    """Write the page of a cluster as it stands: what is on it, and who waits why."""
    pending = list(pending_table(picture.waiting, None))
    return _page("the cluster", picture, _as_it_stands(picture), pending, notes, words=words)


def _page(
    what: str,
    picture: Picture | None,
    lead: Sequence[Block],
    rest: Sequence[Block],
    notes: Sequence[str] = (),
    further: Sequence[Block] = (),
    drawings: Sequence[str] = (),
    of: str = "",
    seek: str = "",
    words: Words = OURS,
) -> str:
    fault: tuple[Block, ...] = ()
    name = ""
    if picture is not None:
        name = f"{picture.name or 'the cluster'}: "
        if picture.fault:
            fault = (Paragraph(f"NOT LEGAL here: {picture.fault}", "bad"),)
    said = {text for block in rest if isinstance(block, Listing) for text in block.lines}
    left = tuple(text for text in notes if text not in said)
    noted = [Listing("NOTES of what was read", left, "warn")] if left else []
    return page(
        f"{name}{what}",
        [*fault, *lead],
        [*rest, *further, *noted],
        picture=picture,
        drawings=drawings,
        of=of,
        seek=seek,
        words=words,
    )


def _behind_the_first_table(blocks: Sequence[Block]) -> int:
    """Index of the first block that is not what the answer is worth: verdict, numbers, a remark."""
    first = next((i for i, block in enumerate(blocks) if isinstance(block, Table)), -1)
    cut = first + 1
    while cut < len(blocks) and isinstance(blocks[cut], Paragraph):
        cut += 1
    return cut


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
    return [
        Paragraph(f"{text}.", "title"),
        Paragraph(f"{cluster_at(picture.name, picture.captured_at)}, as it stands.", "dim"),
    ]
