"""Objectives and their numbers, as tables write them."""

from __future__ import annotations

from kantopt.report.units import in_unit, thousandths


def tier_label(name: str) -> str:
    """Name of a tier, shorter: what is in brackets says by itself what it is."""
    name = name.removesuffix("[above goal 0]")  # all that there is, as without a goal
    return name.replace("milli-GPU", "GPUs").replace("priority=", "")


def tier_number(unit: str, mix_weight: int, value: int | None) -> str:
    """Write a number of a tier; those of a job mix (``mix_weight``) in GPUs."""
    if value is None:
        return "-"
    if mix_weight:
        scale = 1000 * mix_weight
        # The nearest thousandth; a value that is not zero never looks like zero.
        milli = (2000 * value + scale) // (2 * scale)
        return thousandths(milli) if milli or not value else "<0.001"
    return in_unit(value, unit)
