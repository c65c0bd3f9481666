"""Many names in few words, none of them left out."""

from __future__ import annotations

import re
from collections.abc import Iterable

from kantopt.schema.answers.actions import Place
from kantopt.schema.answers.plan import Plan

_NUMBERED = re.compile(r"^(.*?)(\d+)(\D*)$")


def joined(names: Iterable[str]) -> str:
    """List names, runs of numbers as one: ``gpu-[001-004], gpu-009``.

    Numbers of different lengths are kept apart, so that each name can be told exactly.
    """
    groups: dict[tuple[str, int, str], list[int]] = {}
    order: list[tuple[str, int, str] | str] = []
    for name in names:
        match = _NUMBERED.match(name)
        if match is None:
            order.append(name)
            continue
        key = (match[1], len(match[2]), match[3])
        if key not in groups:
            groups[key] = []
            order.append(key)
        groups[key].append(int(match[2]))
    return ", ".join(item if isinstance(item, str) else _runs(item, groups[item]) for item in order)


def _runs(key: tuple[str, int, str], numbers: list[int]) -> str:
    head, digits, tail = key
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    parts = [
        f"{first:0{digits}d}" if first == last else f"{first:0{digits}d}-{last:0{digits}d}"
        for first, last in runs
    ]
    if len(parts) == 1 and "-" not in parts[0]:
        return f"{head}{parts[0]}{tail}"
    return f"{head}[{','.join(parts)}]{tail}"


def cluster_at(name: str, captured_at: str | None, nobody: str = "the cluster") -> str:
    """Name a cluster, and the moment of its snapshot: ``prod at 2026-09-01T03:00:00Z``."""
    return (name or nobody) + (f" at {captured_at}" if captured_at else "")


def on_devices(place: Place | None) -> str:
    """Write a node and, behind a colon, devices on it: ``gpu-001:0,1``; nothing for no place."""
    if place is None:
        return ""
    node, devices = place
    return f"{node}:{','.join(map(str, devices))}" if devices else node


def places(counts: Iterable[tuple[str, int]]) -> str:
    """List places with the pods on each: ``2 each on gpu-[001-004], 1 on gpu-005``."""
    by_count: dict[int, list[str]] = {}
    for place, pods in counts:
        by_count.setdefault(pods, []).append(place)
    if len(by_count) == 1 and next(iter(by_count)) == 1:
        return joined(by_count[1])
    return ", ".join(
        f"{joined(names)} x{pods}" if len(names) == 1 else f"{joined(names)} x{pods} each"
        for pods, names in by_count.items()
    )


def priority_words(plan: Plan) -> dict[str, tuple[int, str]]:
    """Tell the priority of each job that a plan is about: a number to sort by, and words.

    A job may name a class only. Its number is known where the plan says it of any job of the class;
    else the class is named, behind the numbers.
    """
    said = {item.job: item.priority for item in plan.evictions}
    said |= {left.job: left.priority for left in plan.unplaced}
    jobs = {job.full_name: job for job in plan.jobs}
    classes = {jobs[name].priority_class_name: said[name] for name in said if name in jobs}
    acting = (*(item.job for item in plan.assignments), *(item.job for item in plan.moves))
    found = {}
    for name in (*said, *jobs, *acting):
        job = jobs.get(name)
        number, of_class = said.get(name), ""
        if number is None and job is not None:
            of_class = job.priority_class_name
            number = classes.get(of_class) if job.priority is None else job.priority
        if number is None and of_class:
            found[name] = (2**32, f"class {of_class}")
        else:
            found[name] = (-(number or 0), f"priority {number or 0}")
    return found
