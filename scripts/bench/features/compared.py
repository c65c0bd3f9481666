"""What features cost: each run beside one of the same question without the feature."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from kantopt.report.blocks import Block, Paragraph, Table
from scripts.bench.features.suite import BASE, FEATURE, PLAIN, RUN
from scripts.bench.features.table import CONTROL, FEATURES
from scripts.bench.figures import grouped, share
from scripts.bench.row import Row

_WORST = 10
"""Features that the last line names at most."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two runs of one instance at the same limit, one of them with a feature more."""

    plain: Row
    featured: Row

    @property
    def feature(self) -> str:
        """Name of the feature."""
        return self.plain.parameters[FEATURE]

    @property
    def judged(self) -> bool:
        """Whether there is a plan without the feature, and it is harmless here."""
        if self.plain.verified != "yes":
            return False
        known = FEATURES.get(self.feature)
        if known is None or not known.if_all_placed:
            return True
        values = zip(self.plain.tiers, self.plain.values, strict=True)
        return not any(value for tier, value in values if tier.startswith("unplaced"))

    def common(self) -> list[tuple[str, int, int]]:
        """Tiers of both, in the order of the plain one, with the values of both."""
        theirs = dict(zip(self.featured.tiers, self.featured.values, strict=True))
        ours = zip(self.plain.tiers, self.plain.values, strict=True)
        return [(tier, value, theirs[tier]) for tier, value in ours if tier in theirs]

    def first_difference(self) -> tuple[str, int]:
        """Most important tier in which they differ and by how much; more is worse with the feature.

        ``no plan`` if there is none with it.
        """
        if self.featured.verified != "yes":
            return "no plan", 1
        differences = ((tier, theirs - ours) for tier, ours, theirs in self.common())
        return next(((tier, by) for tier, by in differences if by), ("", 0))

    @property
    def worse(self) -> bool:
        """Whether the plan is worse with the feature."""
        return self.first_difference()[1] > 0

    def contradiction(self) -> str:
        """What cannot be if the feature is harmless: the better plan beside the other's proof."""
        tier, by = self.first_difference()
        proved = self.featured if by > 0 else self.plain
        if not self.judged or not by or tier == "no plan" or proved.status != "OPTIMAL":
            return ""
        return (
            f"proved {'with' if by > 0 else 'without'} it, and {abs(by)} less of {tier} is possible"
        )


def pairs_of(rows: Sequence[Row]) -> list[Pair]:
    """Put rows of the same instance, feature, limit and engine together."""
    found = []
    for _, group in grouped(rows, _question):
        plain = [row for row in group if row.parameters[RUN] == PLAIN]
        featured = [row for row in group if row.parameters[RUN] != PLAIN]
        found += [Pair(*both) for both in zip(plain, featured, strict=False)]
    return found


def feature_blocks(rows: Sequence[Row]) -> list[Block]:
    """Lay out what each feature costs on the instances of each suite, and the worst ones."""
    pairs = [pair for pair in pairs_of(rows) if pair.judged]
    if not pairs:
        return [Paragraph("No pairs.")]
    return [cost_table(pairs), Paragraph(steadiness(pairs)), Paragraph(worst(pairs))]


def feature_faults(rows: Sequence[Row]) -> list[str]:
    """Pairs of which both cannot be right."""
    told = ((pair, pair.contradiction()) for pair in pairs_of(rows))
    return [f"{pair.featured.instance} {pair.featured.seed}: {what}" for pair, what in told if what]


def cost_table(pairs: Sequence[Pair]) -> Table:
    """Values, proofs and times with each feature, beside those without."""
    lines = []
    for setting, group in grouped(pairs, _setting):
        worse = Counter(pair.first_difference()[0] for pair in group if pair.worse)
        lines.append(
            (
                *setting,
                share(sum(not pair.worse for pair in group), len(group)),
                ", ".join(tier for tier, _ in worse.most_common()) or "-",
                _proofs(group),
                ratio([_proof_ratio(pair) for pair in group]),
                ratio(
                    [times(pair.plain.best_seconds, pair.featured.best_seconds) for pair in group]
                ),
                ratio(
                    [times(pair.plain.first_seconds, pair.featured.first_seconds) for pair in group]
                ),
            )
        )
    columns = (
        *("LIMIT", "ENGINE", "SUITE", "FEATURE", "AS GOOD", "FIRST WORSE IN"),
        *("PROVED", "PROOF", "BEST", "FIRST"),
    )
    title = (
        "With a feature that binds nobody, beside the same without it: pairs with values as good, "
        "proofs of those that are proved without it; medians of the time to proof (where there is "
        f"one without it), to the best and to the first plan over those without. {CONTROL}: two "
        "runs of the same question"
    )
    return Table(title, columns, tuple(lines), frozenset({4, 7, 8, 9}))


def steadiness(pairs: Sequence[Pair]) -> str:
    """Say how often plain runs are as good as the best of the same question: what chance does."""
    lines = []
    for base, group in grouped([pair.plain for pair in pairs], lambda row: row.parameters[BASE]):
        steady = 0
        for _, same in grouped(group, _plain_question):
            best = min(row.values for row in same)
            steady += sum(row.values == best for row in same)
        lines.append(f"{base} {share(steady, len(group))}")
    return f"Runs without a feature that are as good as the best of them: {', '.join(lines)}."


def worst(pairs: Sequence[Pair]) -> str:
    """Name the features that cost most: values first, then proofs, then time to proof."""
    costs = []
    for feature, group in grouped(pairs, lambda pair: pair.feature):
        lost = sum(pair.worse for pair in group)
        proofs = sum(_proof_ratio(pair) == math.inf for pair in group)
        if feature != CONTROL and (lost or proofs):
            words = f"{feature} (worse {lost}/{len(group)}, proofs lost {proofs})"
            costs.append((-lost / len(group), -proofs / len(group), words))
    if not costs:
        return "Worst features: none costs values or proofs."
    return f"Worst features: {', '.join(words for *_, words in sorted(costs)[:_WORST])}."


def ratio(values: Sequence[float | None]) -> str:
    """Write the median of what is known; ``never`` if it is infinite."""
    known = [value for value in values if value is not None]
    if not known:
        return "-"
    middle = median(known)
    return "never" if math.isinf(middle) else f"{middle:.2f}"


def _proofs(pairs: Sequence[Pair]) -> str:
    plain = [pair for pair in pairs if pair.plain.proof_seconds is not None]
    kept = sum(pair.featured.proof_seconds is not None for pair in plain)
    return f"{kept}/{len(plain)}"


def _proof_ratio(pair: Pair) -> float | None:
    return times(pair.plain.proof_seconds, pair.featured.proof_seconds)


def times(plain: float | None, featured: float | None) -> float | None:
    """How many times as long it takes with the feature; infinite if it never comes to it."""
    if not plain:
        return None
    return math.inf if featured is None else featured / plain


def _question(row: Row) -> tuple[str, int, str, float]:
    return row.instance.removesuffix(f"/{PLAIN}"), row.seed, row.engine, row.limit_seconds


def _plain_question(row: Row) -> tuple[str, int, str, float]:
    name = row.instance.removesuffix(f"/{row.parameters[FEATURE]}/{PLAIN}")
    return name, row.seed, row.engine, row.limit_seconds


def _setting(pair: Pair) -> tuple[str, str, str, str]:
    row = pair.plain
    return f"{row.limit_seconds:g}s", row.engine, row.parameters[BASE], pair.feature
