"""Quantities as Kubernetes writes them, read exactly: integers in base units, never floats."""

from __future__ import annotations

import re
from collections.abc import Collection
from fractions import Fraction
from functools import lru_cache

_AMOUNT = (
    r"([0-9]+[.]?[0-9]*|[.][0-9]+)"
    r"(Ki|Mi|Gi|Ti|Pi|Ei|n|u|m|k|M|G|T|P|E|[eE][+-]?[0-9]{1,2})?$"
)
QUANTITY = f"^[+]?{_AMOUNT}"
"""Form of a quantity, as published: what a JSON Schema and Python read alike."""
_SIGNED = re.compile(f"[+-]?{_AMOUNT}")
_SCALE = {
    **{letter: Fraction(1, 1000**i) for i, letter in enumerate("mun", 1)},
    **{letter: Fraction(1000**i) for i, letter in enumerate("kMGTPE", 1)},
    **{f"{letter}i": Fraction(1024**i) for i, letter in enumerate("KMGTPE", 1)},
}
MAX_BASE = 2**63 - 1
"""Largest amount of one resource in base units, the limit of Kubernetes itself."""

MILLI_RESOURCES = frozenset({"cpu", "gpu"})
"""Resources counted in thousandths: a core, and the share of a GPU that a device offers."""


@lru_cache(maxsize=100_000, typed=True)
def parse_quantity(value: str | int) -> Fraction:
    """Read a quantity exactly.

    Raises
    ------
    ValueError
        If it is not a quantity, negative, or above 2**63 - 1.
    """
    if isinstance(value, int):
        amount = Fraction(value)
    else:
        match = _SIGNED.fullmatch(value)
        if match is None:
            raise ValueError("not a quantity")
        digits, suffix = match[1], match[2] or ""
        scale = _SCALE.get(suffix)
        if scale is None:
            scale = Fraction(10) ** int(suffix[1:]) if suffix else Fraction(1)
        amount = Fraction(digits) * scale
        if value.startswith("-"):
            raise ValueError("negative")
    if amount < 0:
        raise ValueError("negative")
    if amount > MAX_BASE:
        raise ValueError("larger than 2^63-1")
    return amount


_BYTES = re.compile(r"([0-9]+(?:[.][0-9]+)?) *([kmgtpe])(i?)b?(?:ytes?)?", re.ASCII | re.IGNORECASE)


def quantity_meant(text: str) -> str:
    """Ask whether a quantity was meant by text that is none, as ``512GB``; empty: nobody knows."""
    match = _BYTES.fullmatch(text.strip())
    if match is None:
        return ""
    number, letter, binary = match[1], match[2].upper(), f"{match[1]}{match[2].upper()}i"
    decimal = f"{number}{'k' if letter == 'K' else letter}"
    return f"did you mean {binary}?" if match[3] else f"did you mean {decimal} or {binary}?"


_INTEGER = re.compile(r"[+-]?[0-9]+", re.ASCII)


def whole_number(text: str) -> int | None:
    """Read a whole number as Kubernetes does to compare labels (``Gt``, ``Lt``): 64 bits, signed.

    ``None`` for anything else: no spaces, no underscores, no other digits than 0 to 9.
    """
    if not _INTEGER.fullmatch(text) or len(text.lstrip("+-").lstrip("0")) > 19:
        return None
    number = int(text)
    return number if -(2**63) <= number < 2**63 else None


def is_bytes(resource: str) -> bool:
    """Whether a resource is measured in bytes."""
    return resource in {"memory", "ephemeral-storage", "storage"} or resource.startswith(
        "hugepages-"
    )


CLAIMED = "deviceclass.resource.kubernetes.io/"
"""Begins the names of resources that stand for devices to be claimed."""
FREE = "free-volumes-"
"""Of those that stand for volumes to be bound, by class."""
CAPACITY = "storage-capacity-"
"""Of those that stand for room where volumes are made, in MiB, by class."""
DISKS = "inline-disk-"
"""Of those that stand for a disk that not all pods of a node can share."""
SHARED_VOLUME = "shared-volume-"
"""Of those that stand for a volume of several pods, on nodes that cannot attach it."""
_HUNDREDTHS = "koordinator.sh/gpu"


SLURM_NAMES = {"nvidia.com/gpu": "gres/gpu"}
"""What Slurm calls resources, and messages about its clusters."""


def resource_called(name: str, known: Collection[str]) -> str:
    """Return which of the resources known is meant by a name that somebody typed."""
    ours = next((own for own, called in SLURM_NAMES.items() if called == name), name)
    return ours if ours in known and name not in known else name


def gpu_milli(resource: str, amount: int) -> int:
    """Milli-GPU in an amount (base units) of a resource; 0 if it is not a GPU.

    Devices to be claimed are none, whatever their class is called: they may be of any sort, one
    may count for several resources, and where nobody waits for them they are not counted. Nor are
    Koordinator's hundredths, which its nodes offer beside the GPUs themselves.
    """
    if resource == "gpu":
        return amount
    counts = resource.endswith("/gpu") and resource != _HUNDREDTHS
    return amount * 1000 if counts and not resource.startswith(CLAIMED) else 0


def to_base(resource: str, value: str | int, *, up: bool = True) -> int:
    """Amount of a resource in its base unit: milli for cpu and gpu, bytes, else whole units.

    Parameters
    ----------
    resource
        Name of the resource; it decides the unit.
    value
        The quantity as written.
    up
        Round what is finer than the base unit up (a request) or down (a capacity).

    Raises
    ------
    ValueError
        If the resource comes in whole units only and the quantity is not whole.
    """
    amount = parse_quantity(value)
    if resource in MILLI_RESOURCES:
        amount *= 1000
    elif amount.denominator != 1 and not is_bytes(resource):
        raise ValueError("not a whole number")
    base = -(-amount.numerator // amount.denominator) if up else amount.__floor__()
    if base > MAX_BASE:
        raise ValueError("larger than 2^63-1 in base units")
    return base


def is_price(value: str | int) -> bool:
    """Whether a price comes in whole millionths that 62 bits hold."""
    micro = parse_quantity(value) * 10**6
    return micro.denominator == 1 and micro < 2**62


@lru_cache(maxsize=1024)
def micro_units(value: str | int) -> int:
    """Return a price in millionths, rounded down: exact if it :func:`is_price`."""
    return (parse_quantity(value) * 10**6).__floor__()


def from_base(resource: str, amount: int) -> str | int:
    """Write an amount in base units back as a quantity; exact inverse of :func:`to_base`.

    What is counted of some nodes only (``cpu [pool=a]``) has the unit of its resource.
    """
    resource = resource.partition(" [")[0]
    if resource not in MILLI_RESOURCES:
        if is_bytes(resource) and amount:
            for suffix in ("Ti", "Gi", "Mi", "Ki"):
                scale = int(_SCALE[suffix])
                if amount % scale == 0:
                    return f"{amount // scale}{suffix}"
        return amount
    whole, rest = divmod(amount, 1000)
    return f"{amount}m" if rest else whole


def decimal(resource: str, amount: int) -> str:
    """Write an amount for people: the same, but parts of whole cores behind a point."""
    if resource.partition(" [")[0] not in MILLI_RESOURCES:
        return str(from_base(resource, amount))
    whole, rest = divmod(amount, 1000)
    return f"{whole}.{rest:03d}".rstrip("0").rstrip(".")
