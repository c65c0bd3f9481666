"""Jobs as ``scontrol -d show job`` prints them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime

from kantopt.formats.slurm import names
from kantopt.formats.slurm.export_nodes import gres_text, marks
from kantopt.formats.slurm.policy import STEP
from kantopt.formats.slurm.records import MIB
from kantopt.formats.slurm.tres import types_of
from kantopt.schema.hostlist import compress_hostlist
from kantopt.schema.jobs import Job, NodeSelectorTerm, PodSet
from kantopt.schema.quantity import to_base
from kantopt.schema.selection import selector_matches

_ID = re.compile(r"(\d{1,9})(?:_(\d{1,9})|\+(\d{1,9}))?", re.ASCII)


def is_id(name: str) -> bool:
    """Whether a job is called as Slurm calls them."""
    return _ID.fullmatch(name) is not None and "+" not in name


def job_text(job: Job, number: str, limit: str) -> str:
    """Write a job under an id, with a limit of time; pod sets with ids are its components."""
    parts: dict[str, list[PodSet]] = {}
    for podset in job.pod_sets:
        match = re.match(r"\d+\+(\d+)", podset.name)
        parts.setdefault(match[1] if match else "", []).append(podset)
    return "".join(_record(job, number, limit, *part) for part in parts.items())


def _record(job: Job, number: str, limit: str, offset: str, podsets: Sequence[PodSet]) -> str:
    first = podsets[0]
    running = any(podset.assignments for podset in podsets)
    labels = first.labels
    causes = {cause for podset in job.pod_sets for cause in podset.stays}
    state = "SUSPENDED" if "suspended" in causes else "RUNNING" if running else "PENDING"
    state = "COMPLETING" if first.terminating else state
    whole = not causes.isdisjoint({"several-nodes", "suspended"}) and "not-requeued" not in causes
    requeue = job.movable or whole or (running and job.preemptible)
    # Priorities of jobs that Slurm has not named are in no tiers; their order is kept.
    own = job.priority or 0
    rank = max(1, own % STEP if is_id(job.name) else own)
    match = _ID.fullmatch(number)
    base = match[1] if match else number
    head = f"JobId={base}"
    if match and match[2]:
        head += f" ArrayJobId={base} ArrayTaskId={match[2]}"
    elif offset:
        head += f" HetJobId={base} HetJobOffset={offset}"
    unnamed = "(null)" if is_id(job.name) else job.name
    lines = [
        f"{head} JobName={labels.get(names.JOB_NAME, unnamed)}",
        f"UserId={labels.get(names.USER, '(null)')}",
        f"Priority={rank} Nice=0 Account={job.namespace} QOS={labels.get(names.QOS, '(null)')}",
        f"JobState={state} Reason={'None' if running else 'Resources'} Dependency=(null)",
        f"Requeue={int(requeue)} Restarts=0 BatchFlag=1",
        f"SubmitTime={time_text(job.creation_time)} EligibleTime={time_text(job.creation_time)}",
        f"StartTime={time_text(job.start_time) if running else 'Unknown'} EndTime=Unknown",
        f"TimeLimit={limit or '(null)'}",
        f"Partition={labels.get(names.JOB_PARTITION, '') or 'all'}",
        *(_held(podsets) if running else _asked(podsets)),
        f"Features={_expression(first) or '(null)'}",
        f"OverSubscribe={_shared(first)} "
        f"Contiguous={int('constraints' in first.not_modelled)} "
        f"Licenses={'unknown:1' if 'licenses' in first.not_modelled else '(null)'}",
    ]
    preferred = [list(item.preference.match_expressions) for item in first.preferred_node_affinity]
    if preferred:
        wishes = [[e.key.removeprefix(names.FEATURE) for e in each] for each in preferred]
        lines.append(f"Prefer={_alternatives(wishes)}")
    lines += [f"Reservation={name}" for name in marks(first.node_selector, names.RESERVATION)]
    request = None if running else job.topology_request or first.topology_request
    if request is not None and request.pod_set_slice_size:
        lines.append(f"SegmentSize={request.pod_set_slice_size}")
    if request is not None and (request.required or request.preferred):
        lines.append("Switches=1@UNLIMITED" if request.required else "Switches=2")
    return "\n   ".join(lines) + "\n\n"


def _asked(podsets: Sequence[PodSet]) -> Iterator[str]:
    """Write what a job that waits asks for, and the nodes that it must have or not have."""
    first = podsets[0]
    count = sum(podset.count for podset in podsets)
    least = sum(p.count if p.min_count is None else p.min_count for p in podsets)
    amounts = _amounts(first)
    cpus = max(1, amounts.get("cpu", 0) // 1000)
    memory = amounts.get("memory", 0) // MIB
    yield _node_lists(podsets[:1])
    by_task = count > 1 and not any(
        selector_matches(term.label_selector, first.labels) for term in first.pod_anti_affinity
    )
    units = count if by_task else least
    span = "1" if by_task else f"{least}-{count}"
    tasks = count if by_task else 1
    yield f"NumNodes={span} NumCPUs={cpus * units} NumTasks={tasks} CPUs/Task={cpus}"
    if memory:
        yield f"TRES=cpu={cpus * units},mem={memory * units}M"
    if first.requests.get(names.ALL_MEMORY) == names.SHARES:
        yield f"MinCPUsNode={cpus} MinMemoryNode=0"
    elif not by_task:
        yield f"MinCPUsNode={cpus} MinMemoryNode={memory}M"
    gres = gres_text(amounts, "gres:")
    if gres:
        yield f"{'TresPerTask' if by_task else 'TresPerNode'}={gres}"


def _held(podsets: Sequence[PodSet]) -> Iterator[str]:
    """Write what a job that runs holds, node by node: of a node the sum, as Slurm tells it."""
    held: dict[str, dict[str, int]] = {}
    for podset in podsets:
        each = _amounts(podset)
        for place in podset.assignments:
            on = held.setdefault(place.node, {})
            for name, amount in each.items():
                on[name] = on.get(name, 0) + amount * place.count
    alike: dict[tuple[tuple[str, int], ...], list[str]] = {}
    for node, on in held.items():
        alike.setdefault(tuple(on.items()), []).append(node)
    yield _node_lists(podsets)
    yield f"NodeList={compress_hostlist(held)}"
    total = sum(_amounts(p).get("cpu", 0) // 1000 * p.count for p in podsets)
    tasks = sum(podset.running for podset in podsets)
    yield f"NumNodes={len(held)} NumCPUs={total} NumTasks={tasks}"
    for key, nodes in alike.items():
        amounts = dict(key)
        cpus = amounts.get("cpu", 0) // 1000
        yield (
            f"  Nodes={compress_hostlist(nodes)} CPU_IDs={f'0-{cpus - 1}' if cpus else ''} "
            f"Mem={amounts.get('memory', 0) // MIB} GRES={gres_text(amounts)}"
        )
    typed = next((amounts for key in alike if types_of(amounts := dict(key))), None)
    if typed is not None:
        yield f"TresPerNode={gres_text(typed, 'gres:')}"


def _node_lists(podsets: Sequence[PodSet]) -> str:
    """Write the nodes that any of some pod sets must have, and those that the first must not."""
    required = {name for podset in podsets for name in _listed(podset.node_affinity, "In")}
    excluded = _listed(podsets[0].node_affinity, "NotIn")
    return (
        f"ReqNodeList={compress_hostlist(required) or '(null)'} "
        f"ExcNodeList={compress_hostlist(excluded) or '(null)'}"
    )


def _amounts(podset: PodSet) -> dict[str, int]:
    return {k: to_base(k, v) for k, v in podset.requests.items() if not names.is_counted(k)}


def _shared(podset: PodSet) -> str:
    """Say with whom a job shares its nodes."""
    if podset.requests.get(names.WHOLE_NODE) == names.SHARES:
        return "NO"
    of_user = any(
        each.key == names.USER
        for term in podset.pod_anti_affinity
        for each in term.label_selector.match_expressions
    )
    return "USER" if of_user else "OK"


def _listed(terms: Sequence[NodeSelectorTerm], operator: str) -> list[str]:
    fields = terms[0].match_fields if terms else ()
    return [value for field in fields if field.operator == operator for value in field.values]


def _expression(podset: PodSet) -> str:
    own = marks(podset.node_selector, names.FEATURE)
    found: dict[tuple[str, ...], None] = {}
    for term in podset.node_affinity:
        keys = [e.key for e in term.match_expressions if e.key.startswith(names.FEATURE)]
        found[tuple(key.removeprefix(names.FEATURE) for key in keys)] = None
    alternatives = [list(each) for each in found if each]
    return "&".join(own) if own else _alternatives(alternatives)


def _alternatives(sets: Sequence[Sequence[str]]) -> str:
    if len(sets) == 1:
        return "&".join(sets[0])
    return "|".join(f"({'&'.join(each)})" for each in sets)


def time_text(moment: str | None) -> str:
    """Write a moment in seconds since 1970."""
    return "Unknown" if moment is None else str(int(datetime.fromisoformat(moment).timestamp()))
