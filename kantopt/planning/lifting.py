"""What a command line lifts, by name: causes that keep pods, and what is not modelled."""

from __future__ import annotations

from collections.abc import Iterable

from kantopt.errors import UsageError
from kantopt.schema.features import FEATURES, Feature
from kantopt.schema.hints import one_of, perhaps, quote
from kantopt.schema.stays import LIFTABLE, Liftable


def causes(names: Iterable[str]) -> tuple[Liftable, ...]:
    """Tell the causes that are to keep nobody, by name."""
    named = tuple(names)
    for name in named:
        if name not in LIFTABLE:
            expected = f"{one_of(LIFTABLE)}{perhaps(name, LIFTABLE)}"
            raise UsageError(f"--disturb: found {quote(name)}, expected {expected}")
    return tuple(cause for cause in LIFTABLE if cause in named)


def features(names: Iterable[str]) -> tuple[Feature, ...]:
    """Tell the features that are to be assumed, by name."""
    known = {str(feature): feature for feature in FEATURES}
    for name in names:
        if name not in known:
            expected = f"{one_of(FEATURES)}{perhaps(name, FEATURES)}"
            raise UsageError(f"--assume: found {quote(name)}, expected {expected}")
    return tuple(known[name] for name in names)
