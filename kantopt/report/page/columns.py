"""A picture of a cluster as columns of numbers, which is what the page's script reads."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Generic, TypeVar

from kantopt.report.blocks import escaped
from kantopt.report.picture import amount, resource_name
from kantopt.report.words import OURS, Words
from kantopt.schema.answers.picture import Bar, Fate, Picture
from kantopt.schema.quantity import is_bytes

_FATES: tuple[Fate, ...] = ("stays", "evicted", "moved", "bound")
_MANY = 500
"""Nodes that are drawn one by one; of more than that, so many together."""
_TOGETHER = 100
"""Nodes of a part of a domain that has more than ``_MANY`` and no finer level."""

T = TypeVar("T", bound=Hashable)


class _Numbered(Generic[T]):
    """Different things, each with the number by which it is named."""

    def __init__(self) -> None:
        self.numbers: dict[T, int] = {}

    def __call__(self, item: T) -> int:
        return self.numbers.setdefault(item, len(self.numbers))

    def __iter__(self) -> Any:
        return iter(self.numbers)


def picture_columns(picture: Picture, words: Words = OURS) -> dict[str, Any]:
    """Write a picture down for the script; what is the same of many is named once.

    Reasons and states of nodes are put into ``words``.

    Returns
    -------
    dict of str to Any
        ``resources`` (words and how numbers are written), ``accelerators`` (the first so many of
        them are) and ``many``; ``domains`` with parents before children; ``kinds``, ``marks``
        and ``offers`` of ``nodes``; ``jobs``, ``sets`` with what one pod ``takes``; ``stays``
        node by node (``nodes.stays`` says how many), and of those that do not last from the
        beginning to the end ``changes``: number, first wave, last wave or null, how they came
        and go; ``waves``, ``waiting``.
    """
    paths = _paths(picture.bars)
    domains: dict[tuple[str, ...], int] = {}
    for path in paths:
        for depth in range(1, len(path) + 1):
            domains.setdefault(path[:depth], len(domains))
    kinds, marks = _Numbered[str](), _Numbered[str]()
    offers, takes = _Numbered[tuple[int, ...]](), _Numbered[tuple[int, ...]]()
    jobs, sets = _Numbered[tuple[str, int]](), _Numbered[tuple[int, str, int]]()
    of_set: list[int] = []
    count: list[int] = []
    changes: list[tuple[int, int, int | None, int, int]] = []
    for bar in picture.bars:
        for stay in bar.stays:
            if stay.since or stay.until is not None:
                came, goes = _FATES.index(stay.came), _FATES.index(stay.goes)
                changes.append((len(count), stay.since, stay.until, came, goes))
            pods = stay.pods
            job = jobs((escaped(pods.job), pods.priority))
            of_set.append(sets((job, escaped(pods.pod_set), takes(pods.takes))))
            count.append(stay.count)
    waiting = [
        (
            jobs((escaped(item.job), item.priority)),
            item.pods,
            item.wanted,
            escaped(words.of(f"{item.rule}: {item.message}")),
        )
        for item in picture.waiting
    ]
    return {
        "many": _MANY,
        "planned": picture.planned,
        "resources": [_written(unit) for unit in picture.resources],
        "accelerators": picture.accelerators,
        "domains": {
            "name": [escaped(path[-1]) for path in domains],
            "parent": [domains.get(path[:-1], -1) for path in domains],
        },
        "nodes": {
            "name": [escaped(bar.name) for bar in picture.bars],
            "domain": [domains[path] for path in paths],
            "kind": [kinds(escaped(_kind(picture, bar))) for bar in picture.bars],
            "offers": [offers(bar.offers) for bar in picture.bars],
            "stays": [len(bar.stays) for bar in picture.bars],
        },
        "marked": [
            (n, [marks(escaped(words.of(mark))) for mark in bar.marks])
            for n, bar in enumerate(picture.bars)
            if bar.marks
        ],
        "kinds": list(kinds),
        "marks": list(marks),
        "offers": list(offers),
        "takes": list(takes),
        "jobs": {
            "name": [name for name, _ in jobs],
            "priority": [priority for _, priority in jobs],
        },
        "sets": {
            "job": [job for job, _, _ in sets],
            "name": [name for _, name, _ in sets],
            "takes": [taken for _, _, taken in sets],
        },
        "stays": {"set": of_set, "count": count},
        "changes": changes,
        "waves": [(step.id, step.after) for step in picture.steps],
        "waiting": waiting,
    }


def _paths(bars: Sequence[Bar]) -> list[tuple[str, ...]]:
    """Path of each node's domain; domains of many nodes are cut into parts, named by their ends."""
    members: dict[tuple[str, ...], list[int]] = {}
    for n, bar in enumerate(bars):
        members.setdefault(bar.domain, []).append(n)
    paths = [bar.domain for bar in bars]
    for domain, nodes in members.items():
        if len(nodes) <= _MANY:
            continue
        for begin in range(0, len(nodes), _TOGETHER):
            part = nodes[begin : begin + _TOGETHER]
            name = f"{bars[part[0]].name} to {bars[part[-1]].name}"
            for n in part:
                paths[n] = (*domain, name)
    return paths


def _kind(picture: Picture, bar: Bar) -> str:
    """Say what sort of node it is: what its labels call it, and which devices it has."""
    devices = [
        amount(offered, unit)
        for offered, unit in zip(
            bar.offers[: picture.accelerators],
            picture.resources[: picture.accelerators],
            strict=True,
        )
        if offered
    ]
    words = [bar.kind] if bar.kind else []
    if picture.accelerators:
        words += devices or ["no devices"]
    return ", ".join(words)


def _written(unit: str) -> tuple[str, str, str]:
    """Unit of a resource for many and for one, and how its numbers are written."""
    form = "bytes" if is_bytes(unit) else "whole"
    if unit in ("milli-GPU", "cpu", "gpu"):
        form = "thousandths"
    named = escaped(resource_name(unit)), escaped(resource_name(unit, "1"))
    return *(named if form != "bytes" else (escaped(unit),) * 2), form
