"""Trackable and generic resources (TRES, GRES) into amounts of our resources.

GPUs are ``nvidia.com/gpu`` whatever their type; a type is a resource beside it, ``gres/gpu:h100``,
so that who names a type takes both and who names none takes any: that is exact on nodes of several
types as well.
"""

from __future__ import annotations

import re

from kantopt.formats.slurm.records import Record, memory_of
from kantopt.schema.gangs import GPU

Amounts = dict[str, int]
"""Amounts by resource: CPUs in thousandths, memory in bytes, all else in units."""

_COUNT = re.compile(r"(\d{1,12})([KMG]?)", re.ASCII)
_OTHER = re.compile(r"cpu|mem|node|billing|energy|pages|vmem|(license|bb|fs|ic)/.*", re.ASCII)
"""What of a request is no GRES: other fields tell it."""
_UNITS = {"cpu": 1000, "memory": 2**20}
_SCALE = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3}


def resource(name: str, kind: str = "") -> str:
    """Return our resource for a GRES by its name and its type, if any."""
    if kind:
        return f"gres/{name}:{kind}"
    return GPU if name == "gpu" else f"gres/{name}"


def read_gres(text: str) -> Amounts | None:
    """Read ``gpu:h100:8(S:0-1),nic:2`` or the ``gres:`` and ``gres/`` forms of a request.

    From 23.11 on a request may name CPUs as well, ``cpu=8,gres/gpu=1``; these are left out.

    Returns
    -------
    Amounts or None
        By resource, typed ones twice; ``None`` if it cannot be read.
    """
    amounts: Amounts = {}
    bare = re.sub(r"\([^)]*\)", "", text)
    for item in filter(None, (part.strip() for part in bare.split(","))):
        parts = re.sub(r"^gres[:/]", "", item).replace("=", ":").split(":")
        match = _COUNT.fullmatch(parts[-1])
        if match and len(parts) > 1:
            count = int(match[1]) * _SCALE[match[2]]
            parts = parts[:-1]
        else:
            count = 1
        if not parts[0] or len(parts) > 3:
            return None
        if _OTHER.fullmatch(parts[0]):
            continue
        _add(amounts, parts[0], ":".join(p for p in parts[1:] if p != "no_consume"), count)
    return amounts


def read_tres(text: str) -> Amounts | None:
    """Read ``cpu=64,mem=400G,node=2,gres/gpu:h100=8``; ``None`` if it cannot be read."""
    amounts: Amounts = {}
    typed: Amounts = {}
    for item in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = item.partition("=")
        if not equals:
            return None
        if name == "mem":
            memory = memory_of(value)
            if memory is None:
                return None
            amounts["memory"] = memory
        elif name == "cpu" or name.startswith("gres/"):
            match = _COUNT.fullmatch(value)
            if match is None:
                return None
            count = int(match[1]) * _SCALE[match[2]]
            gres, _, kind = name.removeprefix("gres/").partition(":")
            if name == "cpu":
                amounts["cpu"] = count * 1000
            elif kind:
                _add(typed, gres, kind, count)
            else:
                amounts[resource(gres)] = count
    return {**typed, **amounts}


def gres_of(record: Record, key: str) -> Amounts:
    """Return what :func:`read_gres` reads in a field; what cannot be read is reported."""
    amounts = read_gres(record.text(key))
    if amounts is None:
        record.problem(key, "generic resources such as gpu:h100:8")
    return amounts or {}


def tres_of(record: Record, *keys: str) -> Amounts:
    """Return what :func:`read_tres` reads in the first of some fields that holds anything."""
    amounts = read_tres(record.text(*keys))
    if amounts is None:
        key = next(key for key in keys if record.text(key))
        record.problem(key, "trackable resources such as cpu=64,mem=400G,gres/gpu=8")
    return amounts or {}


def nodes_counted(record: Record) -> int:
    """Return for how many nodes Slurm counts what a job asks for; 0: it does not tell."""
    match = re.search(r"(?:^|,)node=(\d{1,9})(?:,|$)", record.text("ReqTRES", "TRES"))
    return int(match[1]) if match else 0


def _add(amounts: Amounts, name: str, kind: str, count: int) -> None:
    for key in {resource(name), resource(name, kind)}:
        amounts[key] = amounts.get(key, 0) + count


def times(amounts: Amounts, factor: int) -> Amounts:
    """Return so many times as much."""
    return {name: amount * factor for name, amount in amounts.items()}


def share(amounts: Amounts, parts: int) -> Amounts:
    """Return what each of so many equal parts has, rounded up to whole CPUs, MiB and units."""
    return {
        name: -(-amount // (parts * (unit := _UNITS.get(name, 1)))) * unit
        for name, amount in amounts.items()
    }


def types_of(amounts: Amounts, name: str = "gpu") -> list[str]:
    """Return the typed resources of a GRES among amounts."""
    return sorted(key for key in amounts if key.startswith(f"gres/{name}:"))
