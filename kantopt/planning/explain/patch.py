"""A file of changes, merged into the documents by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from kantopt.errors import BadDataError, Problem
from kantopt.planning.question import Question
from kantopt.schema.base import API_VERSION
from kantopt.schema.consistency import check_documents
from kantopt.schema.dump import dump_data
from kantopt.schema.files import load_raw
from kantopt.schema.jobs import JobList
from kantopt.schema.raw import RawDocument
from kantopt.schema.replicas import replicated
from kantopt.schema.snapshot import ClusterSnapshot
from kantopt.schema.validation import validate

LISTS = ("nodes", "jobs", "queues", "podDisruptionBudgets", "priorityClasses")
"""What a patch may hold: lists of which each item is merged into the one of its name."""
_Item = dict[str, Any]


def patched(question: Question, path: str) -> Question:
    """Merge a file into the documents.

    Items of its lists are merged into those of the same name (and namespace): mappings field by
    field, lists of named things by name, everything else replaced; ``null`` takes a field away,
    ``{name: X, remove: true}`` the whole item. An item of an unknown name is added: a job to those
    that are pending if none of its pods runs.

    Raises
    ------
    MissingInputError, BadDataError
        If the file cannot be read, or what comes out is not sound.
    """
    snapshot = dump_data(question.snapshot)
    pending = [dump_data(job) for job in question.pending]
    for raw in load_raw([path]):
        for key, items in raw.data.items():
            if key in ("apiVersion", "kind", "metadata"):
                continue
            if key not in LISTS or not isinstance(items, list):
                expected = f"lists of {', '.join(LISTS)}"
                raise BadDataError([Problem(raw.label, key, "something else", expected)])
            for i, item in enumerate(items):
                if not isinstance(item, dict) or not isinstance(item.get("name"), str):
                    problem = Problem(raw.label, f"{key}[{i}]", "no name", "an item with a name")
                    raise BadDataError([problem])
                if key == "jobs":
                    _job(snapshot, pending, item)
                else:
                    snapshot[key] = _with(snapshot.get(key, ()), item)
    return _checked(question, snapshot, pending, path)


def _job(snapshot: _Item, pending: list[_Item], item: _Item) -> None:
    running = list(snapshot.get("jobs", ()))
    runs = any(
        place for podset in item.get("podSets", ()) for place in podset.get("assignments", ())
    )
    if runs or any(_key(job) == _key(item) for job in running):
        snapshot["jobs"] = _with(running, item)
    else:
        pending[:] = _with(pending, item)


def _checked(question: Question, snapshot: _Item, pending: Sequence[_Item], path: str) -> Question:
    jobs = {"apiVersion": API_VERSION, "kind": "JobList", "jobs": list(pending)}
    raws = [RawDocument(f"{path} (merged)", i, data) for i, data in enumerate((snapshot, jobs), 1)]
    first, second = validate(raws[0], ClusterSnapshot), validate(raws[1], JobList)
    problems = check_documents([(raws[0], first), (raws[1], second)])
    if problems:
        raise BadDataError(problems)
    first = first.model_copy(update={"jobs": replicated(first.jobs)})
    return replace(question, snapshot=first, pending=replicated(second.jobs))


def _key(item: _Item) -> tuple[str, str]:
    return item.get("namespace", "default"), item["name"]


def _with(items: Sequence[_Item], item: _Item) -> list[_Item]:
    """Return a list of named things with one of them merged, added or removed."""
    found = [i for i, other in enumerate(items) if _key(other) == _key(item)]
    if item.get("remove") is True:
        return [other for i, other in enumerate(items) if i not in found]
    if not found:
        return [*items, item]
    return [_merged(other, item) if i in found else other for i, other in enumerate(items)]


def _merged(old: Any, new: Any) -> Any:
    if isinstance(old, dict) and isinstance(new, dict):
        both = dict(old)
        for key, value in new.items():
            if value is None:
                both.pop(key, None)
            else:
                both[key] = _merged(both.get(key), value)
        return both
    if _named(old) and _named(new):
        for item in new:
            old = _with(old, item)
        return old
    return new


def _named(value: Any) -> bool:
    """Whether something is a list of named things."""
    return (
        isinstance(value, list | tuple)
        and bool(value)
        and all(isinstance(item, dict) and "name" in item for item in value)
    )
