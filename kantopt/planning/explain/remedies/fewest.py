"""As few of a change as do: with nothing disturbed, and later with moves and evictions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, TypeVar

from kantopt.planning.explain.remedies.workshop import Ranked, Workshop
from kantopt.planning.explain.trial import Trial
from kantopt.schema.answers.explanation import RemedyKind

_T = TypeVar("_T")


class Change(NamedTuple):
    """A change of some number: edits, what to do and what it costs in words."""

    edits: tuple[str, ...]
    text: str
    cost: str


@dataclass(frozen=True, slots=True)
class Scale:
    """Changes by number, of which more are enough if fewer are.

    Attributes
    ----------
    change
        The change of a number.
    most, guess
        The largest number that is tried, and the first.
    """

    change: Callable[[int], Change]
    most: int
    guess: int


@dataclass(frozen=True, slots=True)
class _Found:
    """The smallest number that is enough, if one is, and whether the next smaller provably is not.

    If none is: whether the largest provably is not.
    """

    number: int | None
    trial: Trial | None
    proved: bool


def fewest(w: Workshop, kind: RemedyKind, scales: Sequence[Scale]) -> Iterator[Ranked]:
    """Find the smallest number of the first scale with one that is enough.

    That a smaller one is not even with moves and evictions is asked later, when all kinds are told.
    """
    for scale in scales:
        found = _smallest(w, scale, w.trials.now)
        if found.trial is not None:
            yield from _told(w, kind, scale, found, smallest=found.number == 1)
            w.ask_later(partial(_fewer, w, kind, scale, found))
            return
    w.ask_later(partial(_disturbing, w, kind, scales))


def _fewer(w: Workshop, kind: RemedyKind, scale: Scale, stands: _Found) -> Iterator[Ranked]:
    """Find a smaller number that is enough with moves and evictions, or prove that none is."""
    assert stands.number is not None
    most = stands.number - 1
    if not most:
        return
    found = _smallest(w, Scale(scale.change, most, most), w.trials.disturbing)
    if found.trial is not None:
        yield from _told(w, kind, scale, found, smallest=found.proved)
    elif found.proved:
        yield from _told(w, kind, scale, stands, smallest=True)


def _disturbing(w: Workshop, kind: RemedyKind, scales: Sequence[Scale]) -> Iterator[Ranked]:
    for scale in scales:
        found = _smallest(w, scale, w.trials.disturbing)
        if found.trial is not None:
            yield from _told(w, kind, scale, found, smallest=found.proved)
            return


def _told(
    w: Workshop, kind: RemedyKind, scale: Scale, found: _Found, *, smallest: bool
) -> Iterator[Ranked]:
    assert found.number is not None
    assert found.trial is not None
    _, text, cost = scale.change(found.number)
    yield from w.ranked(kind, text, cost, found.trial, smallest=smallest)


def _smallest(w: Workshop, scale: Scale, ask: Callable[..., Trial]) -> _Found:
    """Search by halves; the guess comes first, and the number before it."""
    low, high = 0, None
    tried: dict[int, Trial] = {}
    probe = min(max(1, scale.guess), scale.most)
    while not w.deadline.over():
        tried[probe] = ask(*scale.change(probe).edits)
        if w.helps(tried[probe]):
            high = probe
        else:
            low = probe
        if low + 1 == high or low == scale.most:
            return _Found(high, tried.get(high or 0), not low or w.refuted(tried[low]))
        if high is None:
            probe = min(scale.most, 2 * low if low > scale.guess else low + 1)
        else:
            probe = high - 1 if high == scale.guess else (low + high) // 2
    return _Found(high, tried.get(high or 0), proved=False)


def needed(w: Workshop, items: Sequence[_T], enough: Callable[[Sequence[_T]], bool]) -> list[_T]:
    """Leave out items one by one for as long as the others are enough and there is time."""
    kept = list(items)
    for item in items:
        rest = [other for other in kept if other != item]
        if w.deadline.over():
            break
        if rest and enough(rest):
            kept = rest
    return kept
