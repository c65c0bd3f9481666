"""What Slurm prints with ``--json``, 22.05 to 25.11: records.

Numbers are plain or ``{set, infinite, number}``, flags a word, a list of words or a bitmap; times
are seconds since 1970.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kantopt.errors import Problem
from kantopt.formats.slurm.records import Record
from kantopt.schema.hints import shown

Names = Mapping[str, tuple[str, ...]]
_JOB: Names = {
    "JobId": ("job_id",),
    "JobName": ("name",),
    "UserName": ("user_name",),
    "Account": ("account",),
    "QOS": ("qos",),
    "Priority": ("priority",),
    "JobState": ("job_state",),
    "Reason": ("state_reason",),
    "Restarts": ("restart_cnt",),
    "Dependency": ("dependency",),
    "Partition": ("partition",),
    "ReqNodeList": ("required_nodes",),
    "ExcNodeList": ("excluded_nodes",),
    "NodeList": ("nodes",),
    "NumTasks": ("tasks",),
    "CPUs/Task": ("cpus_per_task",),
    "NtasksPerNode": ("tasks_per_node",),
    "TasksPerCore": ("tasks_per_core",),
    "ThreadsPerCore": ("threads_per_core",),
    "ReqTRES": ("tres_req_str",),
    "AllocTRES": ("tres_alloc_str",),
    "TresPerNode": ("tres_per_node",),
    "TresPerJob": ("tres_per_job",),
    "TresPerTask": ("tres_per_task",),
    "TresPerSocket": ("tres_per_socket",),
    "Socks/Node": ("sockets_per_node",),
    "CpusPerTres": ("cpus_per_tres",),
    "MemPerTres": ("memory_per_tres",),
    "MinCPUsNode": ("minimum_cpus_per_node",),
    "MinMemoryNode": ("memory_per_node",),
    "MinMemoryCPU": ("memory_per_cpu",),
    "Features": ("features",),
    "Prefer": ("prefer",),
    "Reservation": ("resv_name",),
    "Licenses": ("licenses",),
    "HetJobId": ("het_job_id",),
    "HetJobOffset": ("het_job_offset",),
    "SegmentSize": ("segment_size",),
    "OverSubscribe": ("shared",),
    "AdminComment": ("admin_comment",),
    "SwitchCount": ("required_switches", "minimum_switches"),
    "ClusterName": ("cluster",),
}
_JOB_TIMES = {
    "SubmitTime": "submit_time",
    "EligibleTime": "eligible_time",
    "StartTime": "start_time",
    "EndTime": "end_time",
    "LastSchedEval": "last_sched_evaluation",
}
_JOB_LIMITS = {"TimeLimit": "time_limit", "TimeMin": "time_minimum"}
"""In minutes."""
_NODE: Names = {
    "NodeName": ("name",),
    "CPUTot": ("cpus",),
    "CPUEfctv": ("effective_cpus",),
    "ThreadsPerCore": ("threads",),
    "Sockets": ("sockets",),
    "CoresPerSocket": ("cores",),
    "RealMemory": ("real_memory",),
    "MemSpecLimit": ("specialized_memory",),
    "AvailableFeatures": ("features",),
    "ActiveFeatures": ("active_features",),
    "Gres": ("gres",),
    "Partitions": ("partitions",),
    "ReservationName": ("reservation",),
    "Reason": ("reason",),
    "ReasonTime": ("reason_changed_at",),
    "BootTime": ("boot_time",),
}
_PARTITION: Names = {
    "PartitionName": ("name",),
    "MaxNodes": ("maximums.nodes", "maximum_nodes_per_job", "max_nodes_per_job"),
    "MinNodes": ("minimums.nodes", "min nodes per job"),
    "JobDefaults": ("defaults.job",),
    "DefMemPerCPU": ("defaults.partition_memory_per_cpu", "default_memory_per_cpu"),
    "DefMemPerNode": ("defaults.partition_memory_per_node", "default_memory_per_node"),
    "PriorityTier": ("priority.tier", "priority_tier"),
    "PreemptMode": ("preemption_mode",),
    "GraceTime": ("preemption_grace_time", "grace_time"),
    "MaxCPUsPerNode": (
        "maximums.cpus_per_node",
        "maximum_cpus_per_node",
        "max_cpus_per_node",
    ),
    "State": ("partition.state", "state"),
    "Nodes": ("nodes.configured", "nodes"),
    "QoS": ("qos.assigned", "qos"),
    "Topology": ("topology",),
}
"""From 23.02 on what belongs together lies together."""
_SINFO: Names = {
    "State": ("node.state",),
    "CPUTot": ("cpus.minimum",),
    "ThreadsPerCore": ("threads.minimum",),
    "RealMemory": ("memory.minimum",),
    "AvailableFeatures": ("features.total",),
    "ActiveFeatures": ("features.active",),
    "Gres": ("gres.total",),
    "Partitions": ("partition.name",),
    "ReservationName": ("reservation",),
    "Reason": ("reason.description",),
    "ReasonTime": ("reason.time",),
}
"""Of like nodes, of which the least of each amount is known."""
_RESERVATION: Names = {
    "ReservationName": ("name",),
    "Nodes": ("node_list",),
    "NodeCnt": ("node_count",),
    "CoreCnt": ("core_count",),
    "PartitionName": ("partition",),
    "Flags": ("flags",),
    "Users": ("users",),
    "Accounts": ("accounts",),
}
_FLAGS = {"Default": "default", "ExclusiveUser": "exclusive_user"}
"""Of partitions; 22.05 tells them."""
_ERROR: Names = {"text": ("description", "error")}
"""What is wrong; 22.05 knows no description."""
_FORCE = 0x8000
"""Bit of a partition's shares."""
_RESERVATION_TIMES = {"StartTime": "start_time", "EndTime": "end_time"}


def read_json(data: Mapping[str, Any], file: str, problems: list[Problem]) -> Iterator[Record]:
    """Read a document that a command of Slurm printed with ``--json``."""
    told = data.get("errors")
    for index, error in enumerate(told if isinstance(told, list) else ()):
        words = _named(error, _ERROR).get("text", "") if isinstance(error, dict) else _plain(error)
        expected = "what Slurm prints if nothing goes wrong"
        problems.append(Problem(file, f"errors[{index}]", shown(words), expected))
    moment = _plain(data.get("last_update"))
    if moment.isdecimal() and int(moment):
        yield Record("Moment", {"Moment": moment}, file, problems)
    for name, read in (
        ("jobs", _job),
        ("nodes", _node),
        ("sinfo", _sinfo),
        ("partitions", _partition),
        ("reservations", _reservation),
    ):
        items = data.get(name)
        for index, item in enumerate(items if isinstance(items, list) else ()):
            if isinstance(item, dict):
                yield from read(item, file, problems)
            else:
                place = f"{name}[{index}]"
                problems.append(Problem(file, place, shown(item), "a mapping"))


def _plain(value: Any) -> str:
    """Write a value as text: numbers of all shapes, lists joined by commas."""
    if isinstance(value, dict):
        if value.get("infinite"):
            return "UNLIMITED"
        return _plain(value.get("number")) if value.get("set") else ""
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, list):
        return ",".join(_plain(item) for item in value)
    return "" if value is None else str(value)


def _at(item: Mapping[str, Any], path: str) -> Any:
    """Return what stands at a path of keys; of mappings that are not there nothing."""
    value: Any = item
    for key in path.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _named(item: Mapping[str, Any], names: Names) -> dict[str, str]:
    fields = {}
    for key, places in names.items():
        value = next((text for place in places if (text := _plain(_at(item, place)))), "")
        if value:
            fields[key] = value
    return fields


def _times(item: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, str]:
    found = {key: _plain(item.get(name)) for key, name in names.items()}
    return {key: text for key, text in found.items() if text not in ("", "0")}


def _limits(item: Mapping[str, Any]) -> dict[str, str]:
    """Return limits of time in seconds, or that there is none: 22.05 says null there."""
    found = _times(item, _JOB_LIMITS)
    if item.get("time_limit", 0) is None:
        found["TimeLimit"] = "UNLIMITED"
    return {key: str(60 * int(text)) if text.isdecimal() else text for key, text in found.items()}


def _job(item: dict[str, Any], file: str, problems: list[Problem]) -> Iterator[Record]:
    fields = _named(item, _JOB) | _times(item, _JOB_TIMES)
    fields |= _limits(item)
    if all(item.get(name, 0) is None for name in ("memory_per_node", "memory_per_cpu")):
        fields["MinMemoryNode"] = "0"  # so 22.05 says that a job names none
    fields["Requeue"] = _plain(item.get("requeue", True))
    fields["BatchFlag"] = _plain(item.get("batch_flag", True))
    fields["Contiguous"] = _plain(item.get("contiguous"))
    most, cpus = _plain(item.get("max_nodes")), _plain(item.get("cpus"))
    nodes = _plain(item.get("node_count"))
    pending = "PENDING" in fields.get("JobState", "")
    fields["NumNodes"] = f"{nodes}-{most}" if pending and most not in ("", "0") else nodes
    fields["NumCPUs"] = cpus
    array, task = _plain(item.get("array_job_id")), _plain(item.get("array_task_id"))
    tasks = _plain(item.get("array_task_string"))
    if array not in ("", "0"):
        fields["ArrayJobId"], fields["ArrayTaskId"] = array, task or tasks
        fields["ArrayTaskThrottle"] = _plain(item.get("array_max_tasks"))
    if fields.get("HetJobId") == "0":
        del fields["HetJobId"]
    shared, exclusive = fields.get("OverSubscribe", "").upper(), _plain(item.get("exclusive"))
    if "NONE" in shared.split(",") or exclusive.upper() in ("1", "TRUE"):
        fields["OverSubscribe"] = "NO"
    switches = fields.pop("SwitchCount", "0")
    if switches != "0":
        wait = _plain(item.get("maximum_switch_wait_time"))
        fields["Switches"] = switches + (f"@{wait}" if wait else "")
    yield Record("JobId", fields, file, problems, tuple(shares_of(item)))


def _node(item: dict[str, Any], file: str, problems: list[Problem]) -> Iterator[Record]:
    fields = _named(item, _NODE)
    fields.setdefault("CPUEfctv", _cpus_in(_plain(item.get("tres"))))  # 22.05 tells them there
    states = [_plain(item.get("state")), _plain(item.get("state_flags"))]
    fields["State"] = ",".join(filter(None, states))
    if "Reason" in fields:
        fields["Reason"] = fields["Reason"].replace("\n", " ")
    yield Record("NodeName", fields, file, problems)


def _cpus_in(tres: str) -> str:
    return next((item[4:] for item in tres.split(",") if item.startswith("cpu=")), "")


def _sinfo(item: dict[str, Any], file: str, problems: list[Problem]) -> Iterator[Record]:
    """Read a group of like nodes, and its partition."""

    names, fields = _at(item, "nodes.nodes"), _named(item, _SINFO)
    for name in names if isinstance(names, list) else ():
        yield Record("NodeName", {"NodeName": _plain(name), **fields}, file, problems)
    group = item.get("partition")
    if isinstance(group, dict) and isinstance(group.get("nodes"), dict):
        yield from _partition(group, file, problems)


def _partition(item: dict[str, Any], file: str, problems: list[Problem]) -> Iterator[Record]:
    fields = _named(item, _PARTITION)
    fields["OverSubscribe"] = _oversubscribe(item)
    flags = _plain(item.get("flags")).lower().split(",")
    fields |= {key: "YES" for key, flag in _FLAGS.items() if flag in flags}
    yield Record("PartitionName", fields, file, problems)


def _oversubscribe(partition: Mapping[str, Any]) -> str:
    """Say as text does how jobs of a partition share CPUs.

    Up to 23.02 one number tells it, whose highest bit is FORCE; 0 jobs are EXCLUSIVE.
    """
    shares, jobs = _at(partition, "maximums.shares"), _at(partition, "maximums.oversubscribe.jobs")
    force = _plain(_at(partition, "maximums.oversubscribe.flags")).upper()
    if not isinstance(jobs, int) and isinstance(shares, int):
        jobs, force = shares & ~_FORCE, "FORCE" if shares & _FORCE else ""
    if jobs == 0:
        return "EXCLUSIVE"
    if not isinstance(jobs, int):
        return force
    return f"{force or 'YES'}:{jobs}" if force or jobs > 1 else ""


def _reservation(item: dict[str, Any], file: str, problems: list[Problem]) -> Iterator[Record]:
    fields = _named(item, _RESERVATION) | _times(item, _RESERVATION_TIMES)
    yield Record("ReservationName", fields, file, problems)


Share = dict[str, str]
"""Fields as in the details of ``scontrol -d show job``: Nodes, CPU_IDs, Mem, GRES."""


def shares_of(job: Mapping[str, Any]) -> Iterator[Share]:
    """Return a share for each node of an allocation; nothing where it is not told."""
    resources = job.get("job_resources")
    if not isinstance(resources, dict):
        return
    gres = job.get("gres_detail")
    details = gres if isinstance(gres, list) else []
    for index, node in enumerate(_nodes(resources)):
        name = node.get("nodename") or node.get("name")
        if not isinstance(name, str):
            continue
        share = {"Nodes": name, "GRES": str(details[index]) if index < len(details) else ""}
        cpus, memory = _at(node, "cpus.count"), _memory(node)
        if isinstance(cpus, int):
            share["CPUs"] = str(cpus)
        # Up to 23.02 it lists cores only: its node says how many threads each has.
        elif cores := sum(1 for _ in _cores(node)):
            share["Cores"] = str(cores)
        if memory is not None:
            share["Mem"] = str(memory)
        yield share


def _nodes(resources: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Find the nodes: a list or a mapping by number up to 23.02, an ``allocation`` later."""
    found: Any = resources.get("allocated_nodes")
    if found is None:
        found = _at(resources, "nodes.allocation")
    if isinstance(found, dict):
        found = list(found.values())
    yield from (item for item in found or () if isinstance(item, dict))


def _cores(node: Mapping[str, Any]) -> Iterator[Any]:
    sockets = node.get("sockets")
    for socket in sockets.values() if isinstance(sockets, dict) else ():
        cores = socket.get("cores") if isinstance(socket, dict) else None
        if isinstance(cores, dict):
            yield from cores


def _memory(node: Mapping[str, Any]) -> int | None:
    memory = node.get("memory")
    value = memory.get("allocated") if isinstance(memory, dict) else node.get("memory_allocated")
    return value if isinstance(value, int) and not isinstance(value, bool) else None
