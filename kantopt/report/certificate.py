"""A certificate for people: legal or not, how good, by what proof, and what is better."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from kantopt.report.blocks import Block, Listing, Paragraph, Style, Table
from kantopt.report.brief import mistyped_blocks, warnings_blocks
from kantopt.report.names import cluster_at
from kantopt.report.not_modelled import left_words, proviso
from kantopt.report.size import Size, size_blocks
from kantopt.report.standing import standing_line
from kantopt.report.terminal import plan_blocks
from kantopt.report.units import tier_label, tier_number
from kantopt.schema.answers.actions import disturbed, left_waiting
from kantopt.schema.answers.certificate import Certificate, CertifiedTier, CounterExample
from kantopt.schema.answers.history import Fate, History
from kantopt.schema.hints import UNOFFERED, first_of, plural
from kantopt.schema.model import Rule

FEW = 3
"""Pods of a kind that are named, of those that have changed between two dumps."""


def certificate_blocks(
    certificate: Certificate,
    *,
    wide: bool = False,
    size: Size | None = None,
    notes: Collection[str] = (),
) -> list[Block]:
    """Lay out a certificate; ``wide`` adds all objectives and the counter-example with its actions.

    ``size`` as of :func:`kantopt.report.terminal.plan_blocks`.
    """
    mistyped = mistyped_blocks(certificate.assumed.notes)
    blocks: list[Block] = [_verdict(certificate), *mistyped, _subject(certificate)]
    blocks += size_blocks(size, wide=wide)
    if certificate.findings:
        blocks.append(Listing("FINDINGS", tuple(map(standing_line, certificate.findings)), "bad"))
    blocks += objectives_blocks(certificate, wide)
    blocks += _history(certificate, wide=wide)
    blocks.append(_assumed(certificate))
    blocks += warnings_blocks(certificate.warnings, notes, wide=wide)
    if wide and certificate.counter_example is not None:
        blocks.append(Listing("THE BETTER PLAN", ()))
        blocks += plan_blocks(certificate.counter_example.plan, wide=True)
    return blocks


def _assumed(certificate: Certificate) -> Listing:
    """Say what all of it takes for granted."""
    told = certificate.assumed
    off = [rule.value for rule in Rule if rule.value not in told.modelled]
    rules = "all rules of models/README.md" + (f" but {', '.join(off)}" if off else "")
    lines = [f"modelled: {rules}", *(f"left out: {text}" for text in told.left_out)]
    # What nobody offers stands with the verdict.
    lines += [f"read as: {text}" for text in told.notes if UNOFFERED not in text]
    if told.annotations:
        lines.append(f"taken from annotations: {', '.join(told.annotations)}")
    return Listing("ASSUMED", tuple(lines))


def certificate_line(certificate: Certificate) -> str:
    """Return one line for scripts: the verdict and, where it is open or beaten, the tier."""
    parts: list[str] = [certificate.verdict]
    if certificate.counter_example is not None:
        parts.append(certificate.counter_example.tier)
    elif certificate.verdict == "OPEN":
        parts += [tier.name for tier in certificate.tiers if tier.status != "OPTIMAL"][:1]
    return " ".join(parts) + "\n"


def _verdict(certificate: Certificate) -> Paragraph:
    tiers, better = certificate.tiers, certificate.counter_example
    left = left_words(certificate.plan)
    if certificate.verdict == "ILLEGAL":
        count = plural(len(certificate.findings), "finding")
        return Paragraph(f"ILLEGAL: {count}; how good it is was not looked at.", "bad")
    if better is not None:
        if better.tier == "required":
            return Paragraph(
                f"BETTER PLAN FOUND: it places more of the required jobs{left}.", "bad"
            )
        i = [tier.name for tier in tiers].index(better.tier)
        mine, other = (_number(tiers[i], value) for value in (tiers[i].value, better.values[i]))
        text = f"BETTER PLAN FOUND: {tier_label(better.tier)} is {mine} and can be {other}"
        return Paragraph(f"{text}{_above(i)}{_spared(certificate, better)}{left}.", "bad")
    if certificate.verdict == "OPTIMAL":
        begin = f"CERTIFIED OPTIMAL{proviso(certificate.plan)}"
        text = f"{begin}: no legal plan is better in any objective, in this order{left}."
        return Paragraph(text, "good")
    i = next((i for i, tier in enumerate(tiers) if tier.status != "OPTIMAL"), len(tiers))
    if i == len(tiers):
        text = f"OPEN: it misses what is required; no better plan was found{left}."
        return Paragraph(text, "warn")
    gap = "no bound is known"
    if tiers[i].bound is not None:
        value, bound = (_number(tiers[i], x) for x in (tiers[i].value, tiers[i].bound))
        gap = f"it is {value}, and no plan gets below {bound}"
    text = f"OPEN: no better plan was found, and {tier_label(tiers[i].name)} is not proved: {gap}"
    return Paragraph(f"{text}{_above(i)}{left}.", "warn")


def _spared(certificate: Certificate, better: CounterExample) -> str:
    """Name whom the better plan leaves in peace, and count whom it disturbs in their stead."""
    if not better.spared:
        return ""
    mine, other = certificate.plan, better.plan
    others = len(disturbed(other).keys() - disturbed(mine).keys())
    waiting = left_waiting(mine, other).total()
    instead = [f"{plural(others, 'other')} would go or move"] if others else []
    instead += [f"{plural(waiting, 'other')} would wait"] if waiting else []
    where = f", where {' and '.join(instead)} instead" if instead else ""
    return f"; could have been spared: {first_of(better.spared)}{where}"


def _above(i: int) -> str:
    if i == 0:
        return ""
    return ", all else above it equal" if i > 1 else ", the objective above it equal"


def _subject(certificate: Certificate) -> Paragraph:
    moment = certificate.plan.metadata.snapshot.captured_at
    where = cluster_at(certificate.metadata.name, moment, "the snapshot")
    model = certificate.model.metadata.name or "(unnamed)"
    judged = {
        "plan": "the plan given",
        "later snapshot": "what became of it in the later snapshot",
        "snapshot as it stands": "the snapshot as it stands",
    }[certificate.subject.judged]
    legal = ""
    if certificate.verdict != "ILLEGAL":
        steps = plural(certificate.steps, "step")
        legal = f", legal in each of its {steps}" if certificate.steps > 1 else ", legal"
    return Paragraph(f"{where}, model {model}; judged: {judged}{legal}.", "dim")


def objectives_blocks(certificate: Certificate, wide: bool) -> list[Block]:
    """Tiers in order; those that nothing can be said of but 0 only counted, unless wide."""
    tiers, better = certificate.tiers, certificate.counter_example
    if not tiers:
        return []
    unproved = frozenset(tier.name for tier in tiers if tier.status != "OPTIMAL")
    idle = _idle(certificate)
    if wide or len(idle) < _FEW:
        idle = frozenset()
    rows, styles = [], []
    for i, tier in enumerate(tiers):
        if tier.name in idle:
            continue
        numbers = [_number(tier, value) for value in (tier.value, tier.bound, tier.gap)]
        if better is not None:
            numbers.append(_number(tier, better.values[i]))
        bettered = better is not None and better.values[i] < tier.value
        rows.append((tier_label(tier.name), *numbers, _proof(tier, unproved, bettered)))
        beaten = better is not None and better.tier == tier.name
        style: Style = "bad" if beaten else "" if tier.status == "OPTIMAL" else "warn"
        styles.append(style)
    other = ("BETTER",) if better is not None else ()
    columns = ("OBJECTIVE", "VALUE", "BOUND", "GAP", *other, "PROOF")
    zero = "0, which is optimal by arithmetic (-o wide lists them)"
    if not rows:
        text = f"all {len(idle)} are {zero}"
        return [Listing(_TITLE, (text,)), Paragraph(_share(tiers), "dim")]
    blocks: list[Block] = [
        Table(
            _TITLE,
            columns,
            tuple(rows),
            frozenset(range(1, len(columns) - 1)),
            tuple(styles),
        )
    ]
    if idle:
        blocks.append(Paragraph(f"and {len(idle)} that are {zero}", "dim"))
    return [*blocks, Paragraph(_share(tiers), "dim")]


_TITLE = "OBJECTIVES, most important first"
_FEW = 4
"""Fewer idle tiers than this are not worth a line that says so."""


def _idle(certificate: Certificate) -> frozenset[str]:
    """Tiers that are 0, proved by arithmetic, and in which a better plan pays nothing."""
    better = certificate.counter_example
    return frozenset(
        tier.name
        for i, tier in enumerate(certificate.tiers)
        if tier.value == tier.bound == 0
        and (tier.status, tier.proved_by) == ("OPTIMAL", "arithmetic")
        and tier.second_opinion is None
        and not (better is not None and better.values[i])
    )


def _share(tiers: Sequence[CertifiedTier]) -> str:
    """How many tiers are proved, and by what."""
    proved: dict[str, int] = {}
    for tier in tiers:
        if tier.status == "OPTIMAL":
            proved[tier.proved_by] = proved.get(tier.proved_by, 0) + 1
    total = sum(proved.values())
    if not total:
        return f"none of {plural(len(tiers), 'objective')} is proved"
    how = ", ".join(f"{count} by {source}" for source, count in proved.items())
    checked = ""
    if proved.get("arithmetic"):
        checked = "; `kantopt verify --certificate` works the arithmetic out again"
    return f"{total} of {plural(len(tiers), 'objective')} proved: {how}{checked}"


def _proof(tier: CertifiedTier, unproved: frozenset[str], bettered: bool) -> str:
    if tier.status != "OPTIMAL":
        if tier.bound is None:
            return "unknown"
        return f"{'beaten' if bettered else 'open'}, bound by {tier.proved_by}"
    above = "" if not tier.given else ", given those above"
    if unproved.intersection(tier.given):
        above = ", given the open ones above"
    opinion = tier.second_opinion
    second = "" if opinion is None else f"; {opinion.solver} {opinion.outcome}"
    return f"OPTIMAL by {tier.proved_by}{above}{second}"


def _number(tier: CertifiedTier, value: int | None) -> str:
    return tier_number(tier.unit, tier.mix_weight, value)


def _history(certificate: Certificate, *, wide: bool) -> list[Block]:
    """Say what became of the first of two dumps; ``wide`` names every pod."""
    history = certificate.history
    if history is None:
        return []
    lines: list[str] = []
    kinds = list(dict.fromkeys(fate.became for fate in history.gone))
    for became in kinds:
        fates = [fate for fate in history.gone if fate.became == became]
        lines += _named(fates, len(fates) if wide else FEW)
    lines += _nodes("came", history.nodes_added) + _nodes("went", history.nodes_removed)
    lines += _unblamed("came since", history.waiting) + _unblamed("were held", history.freed)
    blocks: list[Block] = [Paragraph(_counts(history), "dim")]
    if lines:
        blocks.append(Listing("CHANGED SINCE, and not by the choice of a node", tuple(lines)))
    if certificate.apart:
        text = "DONE BY A SCHEDULER, which may; an executor of a plan may not"
        blocks.append(Listing(text, tuple(map(standing_line, certificate.apart)), "warn"))
    return blocks


def _unblamed(why: str, names: Sequence[str]) -> list[str]:
    """Say of pods that wait why nobody is blamed for that, if there are any."""
    if not names:
        return []
    pods, waits = plural(len(names), "pod"), "waits" if len(names) == 1 else "wait"
    why = "was held" if why == "were held" and len(names) == 1 else why
    return [f"{pods} {why} and {waits}: nobody is blamed for that ({first_of(names, FEW)})"]


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
    return [f"{plural(len(names), 'node')} {what}: {first_of(names, FEW)}"] if names else []
