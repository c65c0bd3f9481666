"""GPUs that Koordinator gives out in parts."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kantopt.formats.imported import Imported
from kantopt.problem.build import build_instance
from kantopt.schema.extends import load_model
from tests.formats.cluster_objects import Object, job, node, pod, read

GPU = "koordinator.sh/"


def shared(gpus: int) -> Object:
    amounts = {f"{GPU}gpu-core": str(100 * gpus), f"{GPU}gpu-memory-ratio": str(100 * gpus)}
    return node("a", **amounts, **{"nvidia.com/gpu": str(gpus)})


def asking(name: str, core: int, on: str = "", minor: int | None = None) -> Object:
    amounts: dict[str, Any] = {f"{GPU}gpu-core": str(core), f"{GPU}gpu-memory-ratio": str(core)}
    given = json.dumps({"gpu": [{"minor": minor, "resources": amounts}]})
    told = {} if minor is None else {"scheduling.koordinator.sh/device-allocated": given}
    return pod(name, on=on, owner=f"Job/{name}", requests=amounts, annotations=told)


def free(imported: Imported, resource: str) -> int:
    """What the one node has that no pod holds."""
    (only,) = imported.snapshot.nodes
    held = sum(int(each.pod_sets[0].requests.get(resource, 0)) for each in imported.snapshot.jobs)
    return int(only.allocatable[resource]) - held


@pytest.mark.parametrize(
    ("minors", "whole"), [((0, 1), 0), ((1, 1), 1), ((None, None), 0), ((None, 0), 0)]
)
def test_free_parts_of_several_gpus_are_no_free_gpu(
    minors: tuple[int | None, int | None], whole: int
) -> None:
    pods = [asking(f"half-{i}", 50, "a", minor) for i, minor in enumerate(minors)]
    imported = read(shared(2), *pods)
    assert free(imported, f"{GPU}gpu-core") == 100 * whole
    assert free(imported, "nvidia.com/gpu") == whole
    assert f"GPUs of which pods have parts are not offered to others: {2 - whole}" in str(
        imported.notes
    )


def test_pods_that_ask_for_part_of_a_gpu_are_left_alone_and_those_that_ask_for_whole_ones_not() -> (
    None
):
    pods = [asking("part", 50), asking("whole", 200), asking("ran", 150, "a", 0)]
    memory = pod("memory", owner="Job/m", requests={f"{GPU}gpu-memory": "10Gi"})
    imported = read(shared(4), *pods, memory)
    jobs = [*imported.pending.jobs, *imported.snapshot.jobs]
    left = {each.name: each.pod_sets[0].not_modelled for each in jobs}
    assert left == {
        "part": ("gpu-shares",),
        "whole": (),
        "ran": ("gpu-shares",),
        "m": ("gpu-shares",),
    }
    assert job(imported.pending.jobs, "whole").pod_sets[0].requests[f"{GPU}gpu-core"] == 200


def test_hundredths_of_gpus_are_no_gpus_beside_those_that_they_are_of() -> None:
    amounts = {f"{GPU}{name}": "800" for name in ("gpu", "gpu-core", "gpu-memory-ratio")}
    imported = read(node("a", **amounts), pod("whole", requests={f"{GPU}gpu": "100"}))
    instance = build_instance(imported.snapshot, imported.pending.jobs, load_model("mixed"))
    assert instance.nodes[0].gpu_milli == 8000


@pytest.mark.parametrize("text", ["{", "[]", '{"gpu": 3}', '{"gpu": [7]}'])
def test_a_pod_that_does_not_say_which_gpus_it_has_shares_them_with_nobody(text: str) -> None:
    half = asking("half", 150, "a")
    half["metadata"]["annotations"] = {"scheduling.koordinator.sh/device-allocated": text}
    assert free(read(shared(4), half), "nvidia.com/gpu") == 2


def test_pods_hold_no_more_gpus_than_their_node_has() -> None:
    halves = [asking(f"half-{i}", 50, "a") for i in range(3)]
    whole = pod("whole", on="a", owner="Job/w", requests={"nvidia.com/gpu": "1"})
    assert free(read(shared(2), *halves, whole), "nvidia.com/gpu") == 0


def test_of_pods_that_share_a_gpu_each_stays_and_is_no_other_gpu_s_holder() -> None:
    pods = [asking("one", 30, "a", 0), asking("other", 50, "a", 0), asking("alone", 20, "a", 1)]
    jobs = read(shared(3), *pods).snapshot.jobs
    stays = {each.name: each.pod_sets[0].stays for each in jobs}
    assert stays == {"one": ("reserved",), "other": ("reserved",), "alone": ()}
    held = {each.name: each.pod_sets[0].requests.get("nvidia.com/gpu", 0) for each in jobs}
    assert held == {"one": 1, "other": 0, "alone": 1}
