"""Numbers as an operator reads them."""

from __future__ import annotations


def thousandths(value: int) -> str:
    """Write thousandths as a decimal without trailing zeros: 12500 is ``12.5``."""
    text = f"{value / 1000:.3f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def percent(part: float, whole: float) -> str:
    """Write a share in percent with two decimals; of nothing it is a dash."""
    return f"{100 * part / whole:.2f}%" if whole else "-"


def duration(seconds: float) -> str:
    """Write seconds in the two largest units that matter: ``45s``, ``3h12m``, ``2d5h``."""
    left = round(seconds)
    parts = []
    for unit, size in (("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)):
        amount, left = divmod(left, size)
        if amount:
            parts.append(f"{amount}{unit}")
        elif parts:
            break
    return "".join(parts[:2]) or "0s"


def size_bytes(value: int) -> str:
    """Write bytes in the largest binary unit that leaves at least one: ``1.5Ti``."""
    for unit, size in (("Pi", 2**50), ("Ti", 2**40), ("Gi", 2**30), ("Mi", 2**20), ("Ki", 2**10)):
        if value >= size:
            return f"{value / size:.1f}".removesuffix(".0") + unit
    return f"{value}B"


def in_unit(value: int, unit: str) -> str:
    """Write a number of a unit of ours, without naming the unit.

    ``milli-GPU``, ``cpu``, ``gpu``, ``milliwatts`` and ``milli-nodes`` are thousandths,
    ``micro-units`` millionths (of a price), ``memory`` is in bytes, ``seconds`` become a duration.
    """
    if unit in ("milli-GPU", "cpu", "gpu", "milliwatts", "milli-nodes"):
        return thousandths(value)
    if unit == "micro-units":
        whole, micro = divmod(value, 10**6)
        return f"{whole}.{micro:06}".rstrip("0").rstrip(".")
    if unit == "seconds":
        return duration(value)
    if unit in ("memory", "ephemeral-storage", "storage") or unit.startswith("hugepages-"):
        return size_bytes(value)
    return str(value)


def unit_name(unit: str, number: str = "") -> str:
    """Name of a unit once its numbers are written naturally; singular behind the number 1."""
    named = _NAMED.get(unit, unit)
    return _SINGULAR.get(named, named) if number == "1" else named


_NAMED = {
    "milli-GPU": "GPUs",
    "seconds": "",
    "cpu": "cores",
    "gpu": "GPUs",
    "milliwatts": "W",
    "milli-nodes": "nodes",
    "micro-units": "",
}
_SINGULAR = {
    name: name.removesuffix("s")
    for name in ("GPUs", "cores", "nodes", "pods", "jobs", "slots", "domains", "groups")
}


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
