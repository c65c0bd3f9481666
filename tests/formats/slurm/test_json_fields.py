"""JSON tells what text does: no field of it is asked for that JSON is not read for."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

import kantopt.formats.slurm
from kantopt.formats.slurm.gather import Records
from kantopt.formats.slurm.records import Record
from kantopt.schema.files import parse_documents

FOLDER = Path(kantopt.formats.slurm.__file__).parent
NOT_IN_JSON = {
    **dict.fromkeys(("AggregatedBlock", "BlockSize", "BlockSizes"), "topology is printed as text"),
    **dict.fromkeys(("PreemptExemptTime", "PreemptType"), "so is the configuration"),
    **dict.fromkeys(("SelectType", "SelectTypeParameters"), "so is the configuration"),
    **dict.fromkeys(("GrpTRES", "Preempt"), "sacctmgr prints QOS as text"),
    "NtasksPerN:B:S:C": "tasks_per_node",
    "CPU_IDs": "an allocation has CPUs or Cores",
    "RunTime": "last_update tells the moment",
    "TRES": "ReqTRES and AllocTRES tell which",
    "UserId": "UserName",
}
ASKS = {name for name in vars(Record) if not name.startswith("_")}


def fields_asked_for() -> set[str]:
    """Names that something asks a record for."""
    return {
        argument.value
        for path in FOLDER.glob("*.py")
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr in ASKS
        for argument in call.args
        if isinstance(argument, ast.Constant)
        and isinstance(argument.value, str)
        and argument.value[:1].isupper()
    }


def test_each_field_that_is_asked_for_is_read_from_json_or_is_known_not_to_be() -> None:
    source = (FOLDER / "json_records.py").read_text(encoding="utf-8")
    read = {node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant)}
    asked = fields_asked_for()
    assert {"BootTime", "MinNodes", "NumNodes"} <= asked
    assert asked - read == {*NOT_IN_JSON}


def number(value: int) -> dict[str, Any]:
    return {"set": True, "infinite": False, "number": value}


JOB = {
    "job_id": 1,
    "admin_comment": "kantopt:abc:ReqNodeList=:1,1,4:7",
    "end_time": number(1788000060),
}
PARTITION = {
    "name": "gpu",
    "minimums": {"nodes": 2},
    "defaults": {
        "job": "DefCpuPerGPU=8,DefMemPerGPU=1000",
        "partition_memory_per_cpu": number(500),
    },
}
OLD = {"name": "old", "min nodes per job": 3, "flags": ["default", "exclusive_user"]}
NODE = {"name": "n1", "boot_time": number(1788000000), "reason": "disk", "reason_changed_at": 7}
GROUP = {
    "nodes": {"nodes": ["n2"]},
    "reason": {"description": "disk", "time": number(1788000000), "user": "root"},
}


@pytest.mark.parametrize(
    ("kind", "name", "fields"),
    [
        ("JobId", "1", {"AdminComment": JOB["admin_comment"], "EndTime": "1788000060"}),
        ("NodeName", "n1", {"BootTime": "1788000000", "Reason": "disk"}),
        ("NodeName", "n2", {"Reason": "disk", "ReasonTime": "1788000000"}),
        (
            "PartitionName",
            "gpu",
            {
                "MinNodes": "2",
                "JobDefaults": "DefCpuPerGPU=8,DefMemPerGPU=1000",
                "DefMemPerCPU": "500",
            },
        ),
        ("PartitionName", "old", {"MinNodes": "3", "Default": "YES", "ExclusiveUser": "YES"}),
    ],
)
def test_fields_of_json_are_named_as_in_text(kind: str, name: str, fields: dict[str, str]) -> None:
    data = {"jobs": [JOB], "nodes": [NODE], "sinfo": [GROUP], "partitions": [PARTITION, OLD]}
    problems: list[Any] = []
    records = Records(parse_documents(json.dumps(data | {"meta": {}}).encode(), "a"), problems)
    found = records.named(kind)[name].fields
    assert {key: found.get(key) for key in fields} == fields
    assert not problems
