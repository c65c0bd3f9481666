"""Jobs that leave it to Slurm on how many nodes they lie, within a range."""

from __future__ import annotations

import pytest

from tests.formats.slurm.test_asked import amounts, job_of

TASKS = "NumCPUs=128 NumTasks=8 CPUs/Task=16 MinMemoryCPU=2000M TRES=cpu=128,mem=250G,node=1"
GPUS = "NumCPUs=1 NumTasks=1 CPUs/Task=1 MinMemoryNode=10G TRES=cpu=1,mem=10G,node=1"


@pytest.mark.parametrize(
    ("options", "fields", "count", "least", "wants"),
    [
        (
            "--nodes=1-4 --ntasks=8 --cpus-per-task=16",
            f"NumNodes=1-4 {TASKS}",
            4,
            2,
            {"cpu": 64, "memory": "125Gi"},
        ),
        (
            "the same, when Slurm has looked at it once",
            f"NumNodes=4-4 {TASKS}",
            4,
            2,
            {"cpu": 64, "memory": "125Gi"},
        ),
        (
            "--nodes=1-2 --gpus=16",
            f"NumNodes=1-2 {GPUS} TresPerJob=gres:gpu:16",
            2,
            None,
            {"cpu": 1, "memory": "10Gi", "nvidia.com/gpu": 8},
        ),
        (
            "--nodes=2-4 --gpus=32",
            f"NumNodes=2-4 {GPUS} TresPerJob=gres:gpu:32",
            4,
            None,
            {"cpu": 1, "memory": "10Gi", "nvidia.com/gpu": 8},
        ),
        (
            "--nodes=1-2 --gpus=32, which no node has room for",
            f"NumNodes=1-2 {GPUS} TresPerJob=gres:gpu:32",
            2,
            1,
            {"cpu": 1, "memory": "10Gi", "nvidia.com/gpu": 32},
        ),
        (
            "--nodes=1-3 --ntasks=3, of which any node holds all",
            "NumNodes=1-3 NumCPUs=3 NumTasks=3 CPUs/Task=1 MinMemoryNode=1G "
            "TRES=cpu=3,mem=1G,node=1",
            3,
            1,
            {"cpu": 3, "memory": "1Gi"},
        ),
    ],
    ids=lambda value: value if isinstance(value, str) and value.startswith("--") else "",
)
def test_a_job_on_a_range_of_nodes_has_the_share_of_the_fewest_that_there_are(
    options: str, fields: str, count: int, least: int | None, wants: dict[str, str | int]
) -> None:
    (podset,) = job_of(fields).pod_sets
    assert (podset.count, podset.min_count) == (count, least), options
    assert {k: v for k, v in amounts(podset).items() if k != "gres/gpu:h100"} == wants
