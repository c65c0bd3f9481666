"""Queues with quota: Kueue's ClusterQueues, Volcano's and KAI's Queues."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from math import ceil
from typing import Any

from kantopt.formats.imported import quotas_of
from kantopt.formats.kubernetes.gangs import Dialect
from kantopt.formats.kubernetes.kai_gpus import gpus_held
from kantopt.formats.kubernetes.kueue.queues import KueueQueues
from kantopt.formats.kubernetes.objects import Objects
from kantopt.formats.kubernetes.queue_trees import Placed, upwards, with_parents
from kantopt.formats.kubernetes.runtime import queue_runtime
from kantopt.formats.notes import Notes
from kantopt.formats.view import View
from kantopt.schema.jobs import Job
from kantopt.schema.quantity import from_base
from kantopt.schema.snapshot import Queue, Victims

KAI_UNITS = {"cpu": ("cpu", 1), "memory": ("memory", 10**6), "gpu": ("nvidia.com/gpu", 1)}
"""Resource and base units per unit of KAI's: millicpu, MB of 10^6 bytes, whole GPUs.

GPUs by other names than this one, which KAI counts too, are those of :func:`gpus_held`.
"""

DEFAULTS = {Dialect.VOLCANO: "default", Dialect.KAI: "default-queue"}
"""Queues that jobs are in which name none."""

_MOST_WEIGHT = 10**6


class Queues:
    """Queues of the cluster and the way to them from what pods name."""

    def __init__(self, objects: Objects, kueue: KueueQueues) -> None:
        self._notes = notes = objects.notes
        self._local = kueue.local
        found: dict[str, Queue] = {}
        others = (
            queue
            for group, read in (("scheduling.volcano.sh", _volcano), ("scheduling.run.ai", _kai))
            for queue in with_parents(
                [read(view, notes) for view in objects.of(group, "Queue")], notes
            )
        )
        self.held = gpus_held(objects)
        """Whole GPUs that pods of KAI's queues hold by other names."""
        for queue in (*kueue.queues, *(_held(queue, self.held) for queue in others)):
            if found.setdefault(queue.name, queue) is not queue:
                notes.add("queues of a name that another queue has are left out", queue.name)
        self.queues = tuple(found.values())
        views = objects.named(Dialect.KAI, "Queue")
        self._specs = {name: view.at("spec") for name, view in views.items()}
        self._parents = {name: spec.text("parentQueue") for name, spec in self._specs.items()}
        self._names = set(found)
        self._defaults = {
            system: name
            for system, name in DEFAULTS.items()
            if name in objects.named(system, "Queue")
        }
        self.with_quota = frozenset(
            name
            for name, spec in self._specs.items()
            for key in KAI_UNITS
            if (number(spec.at("resources", key), "quota") or 0) >= 0
            and "quota" in spec.at("resources", key)
        )
        """Queues of KAI's that say what jobs which are not preemptible may have of a resource."""

    def protected(self, victims: Sequence[Victims], jobs: Sequence[Job]) -> Iterator[Queue]:
        """Yield the queues, KAI's with the time of grace from who may evict their jobs.

        That is another for jobs of their own (preempt) than of other queues (reclaim). Where both
        wait it is the shorter, or something would be called impossible that is not.
        """
        own = {job.full_name: job.queue_name for job in jobs if job.waiting}
        waits, asked = {*own.values()}, dict[str, set[str]]()
        for item in victims:
            for name in {*item.queues, *item.beyond} - {own[item.job]}:
                asked.setdefault(name, set()).add(own[item.job])
        for queue in self.queues:
            line = [*upwards(queue.name, self._parents)]
            times = [
                self._grace(self._apart(line, other), "reclaimMinRuntime")
                for other in asked.get(queue.name, ())
            ]
            if queue.name in waits or not times:
                times.append(self._grace(line, "preemptMinRuntime"))
            grace = min(times)
            if grace < max(times):
                text = "queues with several times before their jobs are evicted have the shortest"
                self._notes.add(text, queue.name)
            yield queue.model_copy(update={"min_runtime": f"{grace}s"}) if grace else queue

    def _grace(self, line: Iterable[str], key: str) -> int:
        """Return seconds that the first of a queue and those above it tells."""
        told = (queue_runtime(self._specs[name], key) for name in line)
        return next((seconds for seconds in told if seconds is not None), 0)

    def _apart(self, line: list[str], other: str) -> list[str]:
        """Return a line from the topmost queue on that is not above another queue as well."""
        above = {*upwards(other, self._parents)}
        own = sum(name not in above for name in line)
        return line[max(0, own - 1) :]

    def default_of(self, system: Dialect | None) -> str:
        """Return the queue of jobs that name none, by who schedules them, if the input has it."""
        return "" if system is None else self._defaults.get(system, "")

    def find(self, namespace: str, local: str, other: str) -> str:
        """Return the queue of a job that names a LocalQueue of Kueue's or another's queue."""
        led = self._local.get((namespace, local), "")
        name = led or local or other
        # A ClusterQueue may be called like a LocalQueue that is not there, and is none of its.
        known = name in self._names and (bool(led) or not local)
        if name and self._names and not known:
            text = "queues that jobs name and that are not in the input set no quota"
            self._notes.once(text, name)
            return ""
        return name


def _held(queue: Queue, gpus: Mapping[str, Fraction]) -> Queue:
    """Return a queue that knows what its pods hold of GPUs by other names."""
    if not (held := ceil(gpus.get(queue.name, 0))):
        return queue
    counted, _ = KAI_UNITS["gpu"]
    rows = tuple(
        row.model_copy(update={"held": held}) if row.name == counted else row
        for row in queue.resources
    )
    return queue.model_copy(update={"resources": rows})


def _volcano(view: View, notes: Notes) -> Placed:
    name, spec = view.at("metadata").name(), view.at("spec")
    if "deserved" in spec:
        notes.add("queues' deserved shares count for evictions only, limits kept", name)
    if view.at("status").text("state") in ("Closed", "Closing"):
        notes.add("queues that are stopped take jobs all the same here", name)
    weight = spec.integer("weight", least=1, most=_MOST_WEIGHT)
    queue = Queue(
        name=name or "?",
        weight=1 if weight is None else weight,
        resources=quotas_of(dict(sorted(spec.amounts("capability", up=False).items()))),
    )
    guarantee = spec.at("guarantee").amounts("resource", up=False)
    return Placed(queue, spec.text("parent"), guarantee)


def _kai(view: View, notes: Notes) -> Placed:
    name, spec = view.at("metadata").name(), view.at("spec")
    quotas, weight = dict[str, int](), None
    for key, (resource, scale) in sorted(KAI_UNITS.items()):
        limits = spec.at("resources", key)
        limit = number(limits, "limit")
        if limit is not None and limit >= 0:
            quotas[resource] = int(limit * scale)
        if (number(limits, "quota") or 0) > 0:
            notes.add("queues' deserved shares (quota) count for evictions only, limits kept", name)
        if key == "gpu":
            weight = number(limits, "overQuotaWeight")
    if weight is not None and not 0 <= weight <= _MOST_WEIGHT:
        spec.at("resources", "gpu").problem("overQuotaWeight", f"a number up to {_MOST_WEIGHT}")
        weight = None
    return Placed(
        Queue(
            name=name or "?",
            weight=1 if weight is None else from_base("cpu", int(weight * 1000)),
            resources=quotas_of(quotas),
        ),
        spec.text("parentQueue"),
    )


def number(view: View, key: str) -> Fraction | None:
    """Read a number that may be written as a float, exactly."""
    value: Any = view.raw.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > 10**12:
        view.problem(key, "a number, or -1 for no limit")
        return None
    return Fraction(str(value))
