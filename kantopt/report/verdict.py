"""What ``verify`` has found, for people."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kantopt.report.blocks import Block, Listing, Paragraph, Style, in_lines
from kantopt.report.brief import MOST
from kantopt.report.standing import (
    NOT_TODAY,
    by_rule,
    standing_blocks,
    standing_line,
    told_apart,
)
from kantopt.schema.answers.plan import Standing
from kantopt.schema.answers.reports import Verdict
from kantopt.schema.hints import plural


def verdict_blocks(verdict: Verdict, *, wide: bool = False) -> list[Block]:
    """Lay out a verdict: one line per finding, then what was wrong before; of many only some."""
    blocks: list[Block] = [_headline(verdict)]
    if verdict.findings:
        blocks.append(_listing("FINDINGS", verdict.findings, standing_line, "bad", wide=wide))
    if verdict.could_be_spared:
        blocks.append(spared_listing(verdict.could_be_spared, wide=wide))
    if verdict.pre_existing and verdict.judged == "snapshot":
        wrong, lasting = told_apart(verdict.pre_existing)
        for title, items in (("", wrong), (NOT_TODAY, lasting)):
            if items:
                blocks.append(_listing(title, items, standing_line, wide=wide))
    elif verdict.pre_existing:
        blocks += standing_blocks(verdict.pre_existing, wide=wide)
    if verdict.unchecked:
        blocks.append(Listing("CLAIMED BY SEARCH, not checked", verdict.unchecked, "warn"))
    if verdict.notes:
        blocks.append(Listing("NOTES", verdict.notes, "warn"))
    return blocks


def spared_listing(victims: Sequence[Standing], *, wide: bool) -> Listing:
    """List victims that could have stayed."""
    return _listing("EVICTED WITHOUT NEED, though legal", victims, _spared, "warn", wide=wide)


def _listing(
    title: str,
    items: Sequence[Standing],
    text: Callable[[Standing], str],
    style: Style = "",
    *,
    wide: bool,
) -> Listing:
    """List what was found, the first of it if it is much, and count the rest by rule."""
    shown = items if wide or len(items) <= MOST + 1 else items[:MOST]
    rest = items[len(shown) :]
    more = [f"and {len(rest)} more: {by_rule(rest)} (-o wide lists all)"] if rest else []
    return Listing(title, (*map(text, shown), *more), style)


def _spared(item: Standing) -> str:
    return f"{item.subject} {item.message}"


def finding_lines(verdict: Verdict) -> str:
    """One line per finding; of a snapshot alone, per violation that stands."""
    items = verdict.pre_existing if verdict.judged == "snapshot" else verdict.findings
    return in_lines(map(standing_line, items))


def _headline(verdict: Verdict) -> Paragraph:
    if verdict.findings:
        count = plural(len(verdict.findings), "finding")
        return Paragraph(f"NOT VALID: {count}.", "bad")
    if verdict.judged == "documents":
        return Paragraph("SOUND: the documents are well formed and agree.", "good")
    if verdict.judged == "plan":
        text = (
            "VALID: legal at every step; its figures, bounds by arithmetic, embedded jobs and "
            "reasons to evict hold."
        )
        return Paragraph(text, "good")
    if verdict.judged == "certificate":
        if verdict.certified == "ILLEGAL":
            text = (
                "VALID: it is the certificate of these documents; what it judges is ILLEGAL, with "
                "exactly the findings that it lists."
            )
            return Paragraph(text, "bad")
        legal = "its plan is legal at every step"
        if verdict.certified_as == "later snapshot":
            legal = "what came of the first snapshot is legal"
        text = (
            f"VALID: it is the certificate of these documents; {legal}, and "
            "all its figures and bounds by arithmetic hold."
        )
        return Paragraph(text, "good")
    wrong, lasting = told_apart(verdict.pre_existing)
    if wrong:
        count = plural(len(wrong), "violation")
        return Paragraph(f"SOUND, with {count} as it stands:", "warn")
    if lasting:
        return Paragraph("SOUND: nothing is wrong as it stands.", "good")
    return Paragraph("SOUND: no rule is broken as it stands.", "good")
