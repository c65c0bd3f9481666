"""What is not as rules have it before anything is done: what is wrong, and what only arrivals ask.

kube-scheduler and its like look at taints, selectors, affinity and spread while they place a pod.
One that runs where it would no longer be placed is no fault, so it is told apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from kantopt.report.blocks import Block, Listing, Table
from kantopt.schema.answers.plan import Standing
from kantopt.schema.hints import listed
from kantopt.schema.rule_kinds import About, rules_about

_OF_PLACING = rules_about(About.NODES, About.DOMAINS, About.NEIGHBOURS)
"""Rules that say where a pod may be placed, and nothing of one that runs."""

NOT_TODAY = "WOULD NOT BE PLACED SO TODAY, which is no fault of what runs"
_MOST = 3
"""Of more than so many the number is said."""


def standing_blocks(items: Sequence[Standing], *, wide: bool) -> Iterator[Block]:
    """Say what was wrong before, and what would not be placed so today: all if wide or little."""
    wrong, lasting = told_apart(items)
    yield from _blocks("WRONG BEFORE, and not made worse", wrong, wide=wide)
    yield from _blocks(NOT_TODAY, lasting, wide=wide)


def told_apart(items: Iterable[Standing]) -> tuple[list[Standing], list[Standing]]:
    """Return what is wrong, and what is against rules of arrivals only."""
    found: tuple[list[Standing], list[Standing]] = ([], [])
    for item in items:
        found[item.rule in _OF_PLACING].append(item)
    return found


def _blocks(title: str, items: Sequence[Standing], *, wide: bool) -> Iterator[Block]:
    if not items:
        return
    if not wide:
        subjects = listed(list(dict.fromkeys(item.subject for item in items)), _MOST)
        counted = f"{by_rule(items)} (-o wide lists them): {subjects}"
        few = len(items) <= _MOST
        yield Listing(title, tuple(map(standing_line, items)) if few else (counted,))
        return
    rows = tuple((item.rule, item.subject, item.message) for item in items)
    yield Table(title, ("RULE", "SUBJECT", "AMOUNT"), rows)


def standing_line(item: Standing) -> str:
    """Write a violation as ``rule: subject: amount of limit``."""
    return f"{item.rule}: {item.subject}: {item.message}"


def by_rule(items: Iterable[Standing]) -> str:
    """Count violations by rule."""
    counts = Counter(item.rule for item in items)
    return ", ".join(f"{rule} {count}" for rule, count in sorted(counts.items()))
