"""What a job asks of each node or task, and what it holds on each node that it runs on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kantopt.formats.slurm.cores import ALONE, Core
from kantopt.formats.slurm.records import MIB, Record, numbers
from kantopt.formats.slurm.tres import (
    Amounts,
    gres_of,
    nodes_counted,
    share,
    times,
    tres_of,
    types_of,
)
from kantopt.schema.gangs import GPU


@dataclass(frozen=True, slots=True)
class Shape:
    """Like pods: one for each node of a job, or for each task or GPU where it asks for no nodes."""

    count: int
    least: int
    """Nodes or tasks that it must get."""
    amounts: Amounts
    apart: bool
    """Each is on a node of its own."""


def is_exclusive(record: Record) -> bool:
    """Whether a job shares its nodes with no other, or only with those of its label or block."""
    return record.text("OverSubscribe").upper() in ("NO", "MCS", "TOPO")


def gpus_bring_memory(record: Record) -> bool:
    """Whether the memory that Slurm counts of a job that waits is what its GPUs bring along.

    A default for each GPU (DefMemPerGPU) stands beside what a job names (``--mem=0``) as well.
    """
    per_gpu = gres_of(record, "MemPerTres").get(GPU, 0)
    memory = tres_of(record, "ReqTRES", "TRES").get("memory")
    tasks, nodes = max(record.number("NumTasks"), 1), _nodes(record, 1)[2] or 1
    parts = (times(_each_node(record), nodes), times(gres_of(record, "TresPerTask"), tasks))
    gpus = sum(part.get(GPU, 0) for part in (*parts, gres_of(record, "TresPerJob")))
    return bool(per_gpu) and memory in (None, per_gpu * gpus * MIB)


def is_of_user(record: Record) -> bool:
    """Whether a job shares its nodes with its user's other jobs only."""
    return record.text("OverSubscribe").upper() == "USER"


def wanted(
    record: Record,
    *,
    whole: bool,
    together: bool = False,
    by_node: bool = False,
    offers: Sequence[Amounts] = (),
    core: Core = ALONE,
) -> Shape:
    """Return what a job that waits asks for.

    A job that says how many tasks it has and not on how many nodes they lie is split by tasks,
    which may share nodes; any other by nodes. GPUs of a job that names no number of nodes, and that
    no node holds alone, lie on the fewest nodes that hold them in equal parts, rounded up; where no
    number of nodes does, anywhere: it is split by GPUs. Tasks that share the memory of each node
    lie on the fewest nodes as well; where no number of nodes does, each has that to itself. On a
    range of nodes each has the share of the fewest of them that there are.

    Parameters
    ----------
    record
        The job.
    whole
        Whether it takes whole nodes.
    together
        Whether its tasks are on the fewest nodes: it takes all memory of these, or may not have
        a node for each task.
    by_node
        Whether it has so much memory on each of its nodes, however many tasks lie there.
    offers
        What each node of its partitions offers.
    core
        What each core of these nodes has.
    """
    tasks = max(record.number("NumTasks"), 1)
    total = tres_of(record, "ReqTRES", "TRES")
    low, high, counted = _nodes(record, tasks)
    required = len(set(record.hosts("ReqNodeList")))
    low = max(low, required, 1, counted if high is None else 0)
    # Without a number of nodes Slurm shows on how many the tasks would fit, and counts from one.
    free = high is None and (low == 1 or counted == 1)
    cpus = record.range("NumCPUs")[0] or total.get("cpu", 0) // 1000 or 1
    each_node = _each_node(record)
    total_gres = times(gres_of(record, "TresPerTask"), tasks) | gres_of(record, "TresPerJob")
    fewest = _fewest({"cpu": cpus * 1000} | total_gres, offers) if free else 0
    split = free and tasks > 1 and not (whole or together or required or each_node)
    if split and not _tasks_per_node(record) and _divides(gres_of(record, "TresPerJob"), tasks):
        each = max(record.number("CPUs/Task", 1), -(-cpus // tasks), 1)
        if not by_node:
            return _split(record, total, tasks, each, core)
        if not fewest:
            memory = share({k: n for k, n in total.items() if k == "memory"}, counted or 1)
            return _split(record, total | times(memory, tasks), tasks, each, core)
    if free and not _tasks_per_node(record):
        gpus = gres_of(record, "TresPerJob").get(GPU, 0)
        uneven = not fewest and 1 < gpus <= sum(offer.get(GPU, 0) for offer in offers)
        if uneven and not (whole or together or required or each_node):
            return _split(record, total, gpus, -(-cpus // gpus), core)
        low = max(fewest or low, required)
    most = max(low, high or low)

    def on(nodes: int) -> Amounts:
        return _share(record, nodes, tasks, cpus, each_node, offers, core)

    more = most > low and _hold(each_node, offers, low)  # else no number of nodes helps
    tries = range(low, min(most, len(offers)) + 1) if more else ()
    least = next((n for n in tries if _hold(on(n), offers, n)), low)
    return Shape(most, least, _present(on(least)), apart=most > 1)


def _share(
    record: Record,
    nodes: int,
    tasks: int,
    cpus: int,
    each_node: Amounts,
    offers: Sequence[Amounts],
    core: Core,
) -> Amounts:
    """Return what a job has on each of so many nodes."""
    total = tres_of(record, "ReqTRES", "TRES")
    counted = _nodes(record, tasks)[2]
    amounts = {name: n for name, n in share(total, nodes).items() if name != "cpu"}
    amounts |= share({k: n for k, n in total.items() if k == "memory"}, counted or nodes)
    amounts |= share(gres_of(record, "TresPerJob"), nodes)
    amounts |= times(gres_of(record, "TresPerTask"), -(-tasks // nodes))
    amounts |= each_node
    amounts["cpu"] = 1000 * max(-(-cpus // nodes), record.number("MinCPUsNode"))
    expected = amounts.get("memory")
    _take_along(record, amounts)
    asked = amounts["cpu"] // 1000
    given = core.cpus(record, asked, _tasks_per_node(record) or -(-tasks // nodes))
    amounts["cpu"] = 1000 * given
    if not record.text("MemPerTres") or amounts.get("memory") != expected:
        # Named for each GPU by a default, beside what the job names; else Slurm counts that.
        named = _memory(record, core.cpus_with_memory(record, asked, given))
        amounts |= named
        if expected and not named and expected in (offer.get("memory") for offer in offers):
            amounts["memory"] = expected  # all of a node's
    return amounts


def _nodes(record: Record, tasks: int) -> tuple[int, int | None, int]:
    """Return the least and the most nodes that a job wants, and for how many its TRES are.

    A number beside another one is what Slurm expects to give it, between the two.
    """
    low, high = record.range("NumNodes")
    counted = nodes_counted(record)
    if high is not None and counted:
        per_node = _tasks_per_node(record)
        low = min(low, max(counted, -(-tasks // per_node) if per_node else 1))
    return low, high, counted


def _fewest(total: Amounts, offers: Sequence[Amounts]) -> int:
    """Return the fewest nodes that hold an amount in equal parts; 0 if no number of them does."""
    for parts in range(1, len(offers) + 1):
        if _hold(share(total, parts), offers, parts):
            return parts
    return 0


def _hold(part: Amounts, offers: Sequence[Amounts], parts: int) -> bool:
    """Whether so many nodes have each room for such a part."""
    holding = (all(offer.get(name, 0) >= n for name, n in part.items()) for offer in offers)
    return sum(holding) >= parts


def _each_node(record: Record) -> Amounts:
    """Return the GRES that a job names for each node, or for each of so many sockets of it."""
    text = record.text("Socks/Node")
    sockets = int(text) if text.isdecimal() else 1
    return gres_of(record, "TresPerNode") | times(gres_of(record, "TresPerSocket"), sockets)


def _take_along(record: Record, amounts: Amounts) -> None:
    """Raise what a node or task must have to what its GPUs bring along; memory as it says."""
    gpus = amounts.get(GPU, 0)
    cpus = 1000 * gpus * gres_of(record, "CpusPerTres").get(GPU, 0)
    amounts["cpu"] = max(amounts["cpu"], cpus)
    memory = MIB * gpus * gres_of(record, "MemPerTres").get(GPU, 0)
    if memory:
        amounts["memory"] = memory


def _split(record: Record, total: Amounts, parts: int, cpus: int, core: Core) -> Shape:
    """Split a job into parts that may share nodes, tasks or GPUs, each with so many CPUs."""
    amounts = {name: amount for name, amount in share(total, parts).items() if name != "cpu"}
    amounts |= share(gres_of(record, "TresPerJob"), parts)
    amounts |= gres_of(record, "TresPerTask")
    amounts["cpu"] = 1000 * cpus
    _take_along(record, amounts)
    asked = amounts["cpu"] // 1000
    amounts["cpu"] = 1000 * core.cpus_of_task(record, asked)
    if record.text("MinMemoryCPU"):
        amounts |= _memory(record, asked)
    return Shape(parts, parts, _present(amounts), apart=False)


def held(
    record: Record, threads: Mapping[str, int], offered: Mapping[str, Amounts], *, whole: bool
) -> Iterator[tuple[str, Amounts]]:
    """Return what a job that runs holds on each of its nodes.

    Parameters
    ----------
    record
        The job.
    threads, offered
        Threads per core of each node, and what it offers.
    whole
        Whether it has whole nodes.
    """
    hosts = sorted(set(record.hosts("NodeList")))
    asked = wanted(record, whole=True)
    known = {}
    for part in record.parts:
        for host in part.hosts("Nodes"):
            known[host] = _detail(part, threads.get(host, 1))
    total = tres_of(record, "AllocTRES", "TRES", "ReqTRES")
    even = share(total, max(len(hosts), 1))
    for host in hosts:
        here = offered.get(host, {})
        if whole and here:
            yield host, here
            continue
        amounts = {**asked.amounts, **even}
        if host in known:
            amounts = {k: n for k, n in amounts.items() if k in ("cpu", "memory")} | known[host]
        if not types_of(asked.amounts) and len(types_of(here)) < 2:
            # Of one type only: that it has that type, which it did not ask for, binds it nowhere.
            amounts = {k: v for k, v in amounts.items() if k not in types_of(amounts)}
        yield host, _present(amounts)


def _detail(part: Record, threads: int) -> Amounts:
    amounts: Amounts = {}
    gres = gres_of(part, "GRES")
    cpus = part.number("CPUs") or part.number("Cores") * threads
    cpus = cpus or len(numbers(part.text("CPU_IDs")))
    if cpus:
        amounts["cpu"] = cpus * 1000
    memory = part.number("Mem")
    if memory:
        amounts["memory"] = memory * MIB
    return amounts | gres


def _memory(record: Record, cpus: int) -> Amounts:
    each = record.memory("MinMemoryCPU")
    if each:
        return {"memory": each * cpus}
    node = record.memory("MinMemoryNode")
    return {"memory": node} if node else {}


def _tasks_per_node(record: Record) -> int:
    text = record.text("NtasksPerN:B:S:C").split(":")[0]
    return int(text) if text.isdecimal() else record.number("NtasksPerNode")


def _divides(amounts: Amounts, parts: int) -> bool:
    return all(amount % parts == 0 for amount in amounts.values())


def _present(amounts: Amounts) -> Amounts:
    return {name: amount for name, amount in sorted(amounts.items()) if amount}
