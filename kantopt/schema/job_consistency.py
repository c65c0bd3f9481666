"""What the types of a job cannot say: names that must differ, agree or exist, and sums."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from kantopt.errors import Problem
from kantopt.schema.base import Expression
from kantopt.schema.hints import did_you_mean, one_of, path_text, plural, quote
from kantopt.schema.jobs import Job, PodSet, TopologyRequest
from kantopt.schema.quantity import parse_quantity, to_base, whole_number
from kantopt.schema.replicas import names_of
from kantopt.schema.snapshot import ClusterSnapshot


def check_jobs(jobs: Sequence[Job], snapshot: ClusterSnapshot | None, file: str) -> list[Problem]:
    """Find what is contradictory in jobs.

    Parameters
    ----------
    jobs
        The jobs of one document.
    snapshot
        Cluster whose nodes, queues, priority classes and levels they may name; ``None`` leaves
        these names unchecked.
    file
        Where the jobs stand, for the messages (``prod.yaml``).
    """
    known = _Known(snapshot)
    names = [(name, f"jobs[{i}].name") for i, job in enumerate(jobs) for name in names_of(job)]
    problems = list(repeats(names, file, "job"))
    for i, job in enumerate(jobs):
        problems += _check_job(job, known, file, f"jobs[{i}]")
    return problems


class _Known:
    """Names that jobs may refer to; ``None`` where any will do."""

    def __init__(self, snapshot: ClusterSnapshot | None) -> None:
        self.devices: dict[str, int] | None = None
        # Mappings keep their order and are quick to ask.
        self.queues: dict[str, None] | None = None
        self.classes: dict[str, None] | None = None
        self.levels: list[str] | None = None
        if snapshot is not None:
            self.devices = {
                node.name: sum(devices.count for devices in node.devices) for node in snapshot.nodes
            }
            # A cluster that lists no queues or classes does not say that there are none.
            self.queues = dict.fromkeys(queue.name for queue in snapshot.queues) or None
            self.classes = dict.fromkeys(item.name for item in snapshot.priority_classes) or None
            levels = snapshot.topology.levels
            self.levels = [name for level in levels for name in (level.name, level.node_label)]


def listed_at(names: Iterable[str], path: str, field: str = "") -> Iterator[tuple[str, str]]:
    """Yield the names that items of a list have, each with its place: ``path[0].name``."""
    return ((name, f"{path}[{i}]{field}") for i, name in enumerate(names))


def repeats(names: Iterable[tuple[str, str]], file: str, subject: str) -> Iterator[Problem]:
    """Report each name, given with its place, that stands more than once."""
    first: dict[str, str] = {}
    for name, path in names:
        if name in first:
            found = f"the {subject} {quote(name)} again"
            place = first[name].removesuffix(".name")
            yield Problem(file, path, found, f"it once, as in {place}")
        first.setdefault(name, path)


def is_known(name: str, known: Collection[str] | None) -> bool:
    """Whether something has a name, none is meant, or nobody knows."""
    return known is None or not name or name in known


def unknown(
    name: str, known: Collection[str] | None, file: str, path: str, subject: str
) -> Problem:
    """Report a name that nothing has; ask :func:`is_known` first."""
    names = list(known or ())
    hint = did_you_mean(name, names)
    expected = f"a {subject} of the snapshot"
    if not names:
        expected += ", which has none"
    elif not hint and len(names) <= 10:
        expected = f"a {subject}, {one_of(names)}"
    return Problem(file, path, f"the unknown {subject} {quote(name)}", expected, hint)


@lru_cache(maxsize=4096)
def _is_countable(resource: str, value: str | int, up: bool) -> bool:
    # Remembered, because a cluster writes the same few amounts thousands of times.
    try:
        to_base(resource, value, up=up)
    except ValueError:
        return False
    return True


def check_amount(
    resource: str, value: str | int, file: str, path: str, *, up: bool = True
) -> Iterator[Problem]:
    """Report an amount of whole things that is not whole, or one beyond 64 bits."""
    if not _is_countable(resource, value, up):
        whole = parse_quantity(value).denominator == 1
        expected = f"a whole number: {resource} cannot be divided"
        if whole:
            expected = "less than 2^63 thousandths"
        yield Problem(file, path, quote(value) if isinstance(value, str) else str(value), expected)


def check_amounts(
    amounts: Mapping[str, str | int], file: str, path: str, *, up: bool = True
) -> Iterator[Problem]:
    """Report amounts as :func:`check_amount` does, by resource."""
    for resource, value in amounts.items():
        if not _is_countable(resource, value, up):
            yield from check_amount(resource, value, file, path + _step(resource), up=up)


def _step(key: str) -> str:
    text = path_text([key])
    return text if text.startswith("[") else f".{text}"


def check_expressions(
    expressions: Sequence[Expression], file: str, path: str, name: str = "matchExpressions"
) -> Iterator[Problem]:
    """Report operators whose values do not suit them."""
    for i, item in enumerate(expressions):
        place, count = f"{path}.{name}[{i}].values", len(item.values)
        found = f"{plural(count, 'value')} for {item.operator}"
        if item.operator in ("In", "NotIn") and not count:
            yield Problem(file, place, found, "at least one")
        elif item.operator in ("Exists", "DoesNotExist") and count:
            yield Problem(file, place, found, "none")
        elif item.operator in ("Gt", "Lt"):
            if count != 1:
                yield Problem(file, place, found, "exactly one")
            elif whole_number(item.values[0]) is None:
                yield Problem(file, place, quote(item.values[0]), f"a number for {item.operator}")


def _check_job(job: Job, known: _Known, file: str, path: str) -> Iterator[Problem]:
    # Clusters have a hundred thousand jobs and rarely a problem: places are written out for those.
    if not is_known(job.queue_name, known.queues):
        yield unknown(job.queue_name, known.queues, file, f"{path}.queueName", "queue")
    if not is_known(job.priority_class_name, known.classes):
        place = f"{path}.priorityClassName"
        yield unknown(job.priority_class_name, known.classes, file, place, "priority class")
    wanted = sum(pods.count for pods in job.pod_sets)
    if job.min_count is not None and job.min_count > wanted:
        expected = f"at most {wanted}, the count of all its pod sets"
        yield Problem(file, f"{path}.minCount", str(job.min_count), expected)
    if job.topology_request is not None:
        place = f"{path}.topologyRequest"
        yield from _check_topology(job.topology_request, wanted, known, file, place)
    if job.replicas is not None:
        yield from _check_replica(job, file, path)
    if len(job.pod_sets) > 1:
        names = (pods.name for pods in job.pod_sets)
        yield from repeats(listed_at(names, f"{path}.podSets", ".name"), file, "pod set")
    for i, pods in enumerate(job.pod_sets):
        place = f"{path}.podSets[{i}]"
        yield from _check_pod_set(pods, known, file, place)
        yield from _check_assignments(pods, known, file, place)
        yield from _check_selectors(pods, file, place)


def _check_replica(job: Job, file: str, path: str) -> Iterator[Problem]:
    """Check that a job of replicas leaves nothing open that differs from one to the other."""
    whole = "none: with replicas each of them starts and goes whole"
    if job.min_count is not None:
        yield Problem(file, f"{path}.minCount", str(job.min_count), whole)
    for i, pods in enumerate(job.pod_sets):
        place = f"{path}.podSets[{i}]"
        if pods.min_count is not None and pods.min_count < pods.count:
            yield Problem(file, f"{place}.minCount", str(pods.min_count), whole)
        for name, named in (("assignments", pods.assignments), ("pods", pods.pods)):
            if named:
                expected = "none: with replicas, write each one that has pods as a job of its own"
                yield Problem(file, f"{place}.{name}", f"{len(named)} of them", expected)


def _check_topology(
    request: TopologyRequest, count: int, known: _Known, file: str, path: str
) -> Iterator[Problem]:
    slices = request.pod_set_slice_required_topology
    size = request.pod_set_slice_size
    for name, level in (
        ("required", request.required),
        ("preferred", request.preferred),
        ("podSetSliceRequiredTopology", slices),
    ):
        if level is not None and not (level and is_known(level, known.levels)):
            yield unknown(level, known.levels, file, f"{path}.{name}", "topology level")
    if slices is None and size is not None:
        place = f"{path}.podSetSliceRequiredTopology"
        yield Problem(file, place, "nothing", "a level, since podSetSliceSize is given")
    if slices is not None and size is None:
        place = f"{path}.podSetSliceSize"
        yield Problem(file, place, "nothing", "a size, since podSetSliceRequiredTopology is given")
    if slices is not None and size is not None and count % size:
        yield Problem(file, f"{path}.podSetSliceSize", str(size), f"a divisor of count {count}")


def _check_pod_set(pods: PodSet, known: _Known, file: str, path: str) -> Iterator[Problem]:
    if pods.min_count is not None and pods.min_count > pods.count:
        expected = f"at most count, {pods.count}"
        yield Problem(file, f"{path}.minCount", str(pods.min_count), expected)
    yield from check_amounts(pods.requests, file, f"{path}.requests")
    if pods.devices:
        classes = (request.device_class for request in pods.devices)
        named = listed_at(classes, f"{path}.devices", ".class")
        yield from repeats(named, file, "device class")
        for i, request in enumerate(pods.devices):
            yield from check_amounts(request.requests, file, f"{path}.devices[{i}].requests")
    if pods.topology_request is not None:
        place = f"{path}.topologyRequest"
        yield from _check_topology(pods.topology_request, pods.count, known, file, place)


def _check_assignments(pods: PodSet, known: _Known, file: str, path: str) -> Iterator[Problem]:
    running = pods.running
    pending = max(pods.waiting, 0)
    if running > pods.count:
        expected = f"at most count, {pods.count}"
        yield Problem(file, f"{path}.assignments", f"{running} pods in all", expected)
    if len(pods.pods) > pending:
        expected = f"at most {pending}, the pods of the count that do not run"
        yield Problem(file, f"{path}.pods", f"{len(pods.pods)} pending pods", expected)
    for i, item in enumerate(pods.assignments):
        if not is_known(item.node, known.devices):
            place = f"{path}.assignments[{i}].node"
            yield unknown(item.node, known.devices, file, place, "node")
        if len(item.pods) > item.count:
            place, expected = f"{path}.assignments[{i}].pods", f"at most count, {item.count}"
            yield Problem(file, place, f"{len(item.pods)} pods", expected)
        if not item.devices:
            continue
        place = f"{path}.assignments[{i}]"
        number = None if known.devices is None else known.devices.get(item.node)
        for k, device in enumerate(item.devices):
            if device in item.devices[:k]:
                found = f"device {device} again"
                yield Problem(file, f"{place}.devices[{k}]", found, "distinct devices")
            elif number is not None and device >= number:
                expected = f"an index from 0 to {number - 1}" if number else "none"
                expected += f": {item.node} has {plural(number, 'device')}"
                yield Problem(file, f"{place}.devices[{k}]", f"device {device}", expected)


def _check_selectors(pods: PodSet, file: str, path: str) -> Iterator[Problem]:
    for i, toleration in enumerate(pods.tolerations):
        place = f"{path}.tolerations[{i}]"
        if toleration.operator == "Exists" and toleration.value:
            found = f"{quote(toleration.value)} with operator Exists"
            yield Problem(file, f"{place}.value", found, "no value, or operator Equal")
        elif toleration.operator == "Equal" and not toleration.key:
            yield Problem(file, f"{place}.key", "no key", "a key, or operator Exists")
    terms = [(f"nodeAffinity[{i}]", term) for i, term in enumerate(pods.node_affinity)]
    for v, listed in enumerate(pods.volume_node_affinity):
        terms += [(f"volumeNodeAffinity[{v}][{i}]", term) for i, term in enumerate(listed)]
    for name, term in terms:
        place = f"{path}.{name}"
        yield from check_expressions(term.match_expressions, file, place)
        yield from check_expressions(term.match_fields, file, place, "matchFields")
        for k, item in enumerate(term.match_fields):
            if item.key != "metadata.name":
                key = f"{place}.matchFields[{k}].key"
                yield Problem(file, key, quote(item.key), "metadata.name, the only field")
    for i, anti in enumerate(pods.pod_anti_affinity):
        place = f"{path}.podAntiAffinity[{i}].labelSelector"
        yield from check_expressions(anti.label_selector.match_expressions, file, place)
    for i, near in enumerate(pods.pod_affinity):
        if near.label_selector is not None:
            place = f"{path}.podAffinity[{i}].labelSelector"
            yield from check_expressions(near.label_selector.match_expressions, file, place)
    for i, spread in enumerate(pods.topology_spread_constraints):
        if spread.label_selector is not None:
            place = f"{path}.topologySpreadConstraints[{i}].labelSelector"
            yield from check_expressions(spread.label_selector.match_expressions, file, place)
