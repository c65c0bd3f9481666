"""What a witness proves: the bound that follows from the question and the numbers given."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from kantopt.problem.instance import Instance
from kantopt.problem.tiers import Tier
from kantopt.schema.answers.certificate import Witness
from kantopt.schema.hints import plural
from kantopt.verify.metrics import bound_of, words_of
from kantopt.verify.witness.changes import bound_by_changes
from kantopt.verify.witness.contents import bound_by_contents
from kantopt.verify.witness.groups import merged_of
from kantopt.verify.witness.prices import bound_by_prices
from kantopt.verify.witness.regions import View
from kantopt.verify.witness.rows import price_rows
from kantopt.verify.witness.shares import bound_by_shares

_BY_ROWS = {
    "contents": bound_by_contents,
    "changes": bound_by_changes,
    "shares": bound_by_shares,
}
"""Formulas that ask for nothing but multipliers."""


def proved_bound(
    witness: Witness,
    instance: Instance,
    tiers: Sequence[Tier],
    i: int,
    locks: Mapping[Tier, int],
    over: Callable[[], bool] = lambda: False,
) -> int:
    """Return the bound on tier ``i`` that a witness proves.

    Parameters
    ----------
    witness
        Formula and numbers.
    instance, tiers
        The question and its tiers.
    locks
        Values of tiers above: the bound is for plans that are no worse in them. Without any it
        is for all plans.
    over
        Whether to leave it: prices node by node can take a minute on thousands of pods.

    Raises
    ------
    ValueError
        If the witness names a row that its formula does not have, or the tier is none for it.
    OutOfTimeError
        If it was over first.
    """
    multipliers: dict[str, int] = {}
    for multiplier in witness.multipliers:
        if multiplier.row in multipliers:
            raise ValueError(f"{multiplier.row} is counted twice")
        multipliers[multiplier.row] = multiplier.value
    if witness.formula == "multipliers":
        rows = price_rows(instance, tiers, i, locks)
        if rows is None:
            raise ValueError(f"{tiers[i].name} is no sum over pods: rows say nothing of it")
        return bound_by_prices(rows, witness.denominator, multipliers, over)
    if bound_by := _BY_ROWS.get(witness.formula):
        return bound_by(instance, tiers, i, locks, witness.denominator, multipliers)
    if witness.formula == "domains":
        from kantopt.verify.witness.domains import bound_by_domains

        if witness.view is None:
            raise ValueError("no view says which domains are counted")
        view = View(witness.view.level, witness.view.resource, witness.view.step)
        return bound_by_domains(instance, tiers, i, locks, view, witness.denominator, multipliers)
    if witness.formula == "combinatorial on merged pods":
        merged = merged_of(instance)
        alike = dict(zip(tiers, merged.tiers(tiers), strict=True))
        tier = alike[tiers[i]]
        above = {alike[other]: value for other, value in locks.items()}
        return bound_of(tier, merged.instance, above)
    return bound_of(tiers[i], instance, locks)


def words_of_witness(witness: Witness, tier: Tier, bound: int) -> str:
    """Say in words how a bound follows from a witness."""
    if witness.formula.startswith("combinatorial"):
        if bound == 0:
            return "0, since no amount is less"
        alike = ", pods that nothing tells apart counted together" * (
            witness.formula != "combinatorial"
        )
        return f"{words_of(tier)} That is {bound}{alike}."
    rows = plural(len(witness.multipliers), "row")
    return (
        f"{rows} of {witness.formula}, counted as the multipliers say, add "
        f"up to no less than {bound}"
    )
