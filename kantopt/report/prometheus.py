"""Gauges as Prometheus text, for the textfile collector of a node exporter."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

_NAME = re.compile(r"# (?:HELP|TYPE) (kantopt_[a-z_]+) |(kantopt_[a-z_]+)[{ ]")


@dataclass(frozen=True, slots=True)
class Sample:
    """One number of a gauge; labels in the order in which they are written."""

    value: int | float
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Gauge:
    """A named gauge in base units: seconds, bytes, ratios, GPUs, things counted."""

    name: str
    text: str
    """What it is, in a line."""
    samples: tuple[Sample, ...]


def gauge(name: str, text: str, value: float) -> Gauge:
    """Return a gauge of one number."""
    return Gauge(name, text, (Sample(value),))


def metrics_text(gauges: Sequence[Gauge]) -> str:
    """Write gauges in the classic text format; those without a sample are left out.

    There is no ``# EOF`` at the end: the textfile collector refuses files that have it.
    """
    return "".join(f"{line}\n" for each in gauges if each.samples for line in _lines(each))


def updated_text(old: str, gauges: Sequence[Gauge]) -> str:
    """Write some gauges anew and keep the others of ours as an older file has them."""
    new = {each.name for each in gauges}
    kept = []
    for line in old.splitlines():
        match = _NAME.match(line)
        if match is not None and (match[1] or match[2]) not in new:
            kept.append(f"{line}\n")
    return "".join(kept) + metrics_text(gauges)


def _lines(each: Gauge) -> Iterator[str]:
    yield f"# HELP {each.name} {_escaped(each.text)}"
    yield f"# TYPE {each.name} gauge"
    for sample in each.samples:
        labels = ",".join(
            f'{key}="{_escaped(value, quotes=True)}"' for key, value in sample.labels.items()
        )
        yield f"{each.name}{{{labels}}} {sample.value}" if labels else f"{each.name} {sample.value}"


def _escaped(text: str, *, quotes: bool = False) -> str:
    text = text.replace("\\", r"\\").replace("\n", r"\n")
    return text.replace('"', r"\"") if quotes else text
