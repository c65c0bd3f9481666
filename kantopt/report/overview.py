"""A plan of many actions at a glance: pods by priority, by namespace and by topology domain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping

from kantopt.report.blocks import Table
from kantopt.report.names import priority_words
from kantopt.schema.answers.actions import namespace_of, nodes_of
from kantopt.schema.answers.plan import Plan
from kantopt.schema.natural import natural

_KINDS = ("bound", "evicted", "moved", "pending")
_PRIORITIES, _NAMESPACES, _DOMAINS = 3, 3, 3
"""Rows of each kind that are shown."""
Pods = Counter[str]


def overview(plan: Plan, domains: Mapping[str, str], level: str) -> Iterator[Table]:
    """Count the pods that a plan binds, evicts, moves and leaves pending.

    Parameters
    ----------
    plan
        The plan.
    domains, level
        Domain of each node, and what such domains are called; none where that is not known.
    """
    ranks = priority_words(plan)
    numbers = {words: number for number, words in ranks.values()}
    by_priority: dict[str, Pods] = {}
    by_namespace: dict[str, Pods] = {}
    by_domain: dict[str, Pods] = {}
    for kind, job, node, pods in _counted(plan):
        by_priority.setdefault(ranks[job][1], Counter())[kind] += pods
        by_namespace.setdefault(namespace_of(job), Counter())[kind] += pods
        if node in domains:
            by_domain.setdefault(domains[node], Counter())[kind] += pods
    rows = [
        *_rows("", "priorities", by_priority, _PRIORITIES, numbers.__getitem__),
        *_rows("namespace ", "namespaces", by_namespace, _NAMESPACES, _most(by_namespace)),
        *_rows(f"{level} ", f"{level}s", by_domain, _DOMAINS, _most(by_domain)),
    ]
    heads = tuple(kind.upper() for kind in _KINDS)
    yield Table("PODS", ("OF", *heads), tuple(rows), frozenset(range(1, 5)))


def _counted(plan: Plan) -> Iterator[tuple[str, str, str, int]]:
    """Kind, job, node where it happens (pods that move leave it) and number of pods."""
    for kind, actions in (
        ("bound", plan.assignments),
        ("evicted", plan.evictions),
        ("moved", [move for move in plan.moves if not move.stopover]),
    ):
        for action in actions:
            yield kind, action.job, nodes_of(action)[0], action.count
    for left in plan.unplaced:
        yield "pending", left.job, "", left.pods


def _most(groups: Mapping[str, Pods]) -> Callable[[str], int]:
    return lambda name: -groups[name].total()


def _rows(
    what: str, several: str, groups: Mapping[str, Pods], most: int, key: Callable[[str], int]
) -> Iterable[tuple[str, ...]]:
    names = sorted(groups, key=lambda name: (key(name), natural(name)))
    shown, rest = names[:most], names[most:]
    if len(rest) == 1:
        shown, rest = names, []
    for name in shown:
        yield (f"{what}{name}", *_numbers(groups[name]))
    if rest:
        total = sum((groups[name] for name in rest), Counter[str]())
        yield (f"{len(rest)} more {several}", *_numbers(total))


def _numbers(pods: Pods) -> tuple[str, ...]:
    return tuple(str(pods[kind]) for kind in _KINDS)
