"""Whole GPUs are those of a node, whether Koordinator's names ask for them or their maker's."""

from __future__ import annotations

from typing import Any

import pytest

from kantopt.clock import Deadline
from kantopt.formats.exports import EXPORTS
from kantopt.planning.plan import make_plan
from kantopt.planning.question import Import, question_of
from kantopt.planning.solving.options import Options
from kantopt.problem.build import build_instance
from kantopt.schema.extends import load_model
from kantopt.schema.raw import RawDocument
from kantopt.schema.yaml.text import parse_yaml
from tests.formats.cluster_objects import Object, job, node, noted, pod, read, thing

KOORD = "koordinator.sh/"
NVIDIA = "nvidia.com/gpu"
Amounts = dict[str, str]


def hundredths(gpus: int, **more: int) -> Amounts:
    """What Koordinator makes of ``gpu-core`` and ``gpu-memory-ratio`` of so many GPUs."""
    told = {"gpu-core": 100 * gpus, "gpu-memory-ratio": 100 * gpus, "gpu.shared": gpus, **more}
    return {f"{KOORD}{name}": str(n) for name, n in told.items()}


def offering(name: str, gpus: int = 8, maker: str = "", **labels: str) -> Object:
    """A node as Koordinator's manager writes it, with a device plugin's GPUs beside or without."""
    made = node(name, labels)
    offered = made["status"]["allocatable"]
    del offered[NVIDIA]
    offered |= hundredths(gpus, **{"gpu": 100 * gpus, "gpu.shared": 100 * gpus})
    offered |= {maker: str(gpus)} if maker else {}
    return made


def asking(name: str, on: str = "", **amounts: str) -> Object:
    return pod(name, on=on, owner=f"Job/{name}", requests=amounts)


def placed(*items: Object) -> dict[str, str]:
    """Node of each job that a plan binds."""
    dump = {"apiVersion": "v1", "kind": "List", "items": list(items)}
    question = question_of([RawDocument("dump.json", 0, dump)], Import())
    options = Options(engine="fast", workers=1)
    plan = make_plan(question, load_model("mixed"), options, Deadline.within(30)).plan
    return {item.job.removeprefix("default/"): item.node for item in plan.assignments}


@pytest.mark.parametrize("first", [hundredths(5), {NVIDIA: "5"}], ids=["hundredths", "maker"])
@pytest.mark.parametrize(
    "second", [hundredths(4), {f"{KOORD}gpu": "400"}, {NVIDIA: "4"}], ids=["parts", "gpu", "maker"]
)
def test_pods_that_ask_by_either_name_get_no_gpu_twice(first: Amounts, second: Amounts) -> None:
    full, roomy = offering("a", maker=NVIDIA), offering("b", maker=NVIDIA)
    runs = asking("runs", "a", **first)
    assert placed(full, runs, asking("p", **second)) == {}
    assert placed(full, roomy, runs, asking("p", **second)) == {"p": "b"}


def test_whole_gpus_of_which_koordinator_adds_the_number_are_no_parts() -> None:
    """Its webhook writes ``gpu.shared`` into pods that ask for hundredths alone."""
    roles = {
        name: job(read(offering("a"), asking(name, **amounts)).pending.jobs, name).pod_sets[0]
        for name, amounts in {
            "whole": hundredths(2),
            "two-halves": hundredths(1) | {f"{KOORD}gpu.shared": "2"},
            "more": hundredths(2) | {f"{KOORD}gpu-core": "100"},
        }.items()
    }
    told = {name: (r.not_modelled, r.requests.get(NVIDIA)) for name, r in roles.items()}
    left = (("gpu-shares",), None)
    assert told == {"whole": ((), 2), "two-halves": left, "more": left}


def test_a_part_of_each_of_two_gpus_takes_both_from_others() -> None:
    halves = asking("halves", "a", **hundredths(1, **{"gpu.shared": 2}))
    (holder,) = read(offering("a", 4, NVIDIA), halves).snapshot.jobs
    assert holder.pod_sets[0].requests[NVIDIA] == 2


@pytest.mark.parametrize("left", ["", "0"])
def test_gpus_that_a_node_offers_by_koordinators_names_alone_count(left: str) -> None:
    alone = offering("a")
    if left:
        alone["status"]["allocatable"][NVIDIA] = left
    imported = read(alone, asking("p", **hundredths(3)))
    instance = build_instance(imported.snapshot, imported.pending.jobs, load_model("mixed"))
    assert instance.nodes[0].gpu_milli == 8000
    assert [instance.podsets[s].gpu_milli for s in instance.jobs[-1].podsets] == [3000]


def test_who_asks_by_the_makers_name_has_no_place_where_only_koordinator_tells_gpus() -> None:
    alone, both, plain = offering("alone"), offering("both", 2, NVIDIA), node("plain")
    by_maker = asking("m", **{NVIDIA: "1"})
    assert placed(alone, by_maker) == {}
    assert placed(alone, both, by_maker) == {"m": "both"}
    assert placed(plain, asking("k", **hundredths(1))) == {}
    items = [asking("k", **hundredths(8)), asking("m", **{NVIDIA: "8"})]
    assert placed(alone, plain, *items) == {"k": "alone", "m": "plain"}
    term = {"matchExpressions": [{"key": "pool", "operator": "In", "values": ["x"]}]}
    terms = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    by_maker["spec"]["affinity"] = {"nodeAffinity": terms}
    assert placed(offering("alone", pool="x"), plain, by_maker) == {}


def test_gpus_of_another_maker_are_counted_by_its_name() -> None:
    amd = offering("a", maker="amd.com/gpu")
    role = job(read(amd, asking("p", **hundredths(2))).pending.jobs, "p").pod_sets[0]
    assert (role.requests["amd.com/gpu"], NVIDIA in role.requests) == (2, False)
    mixed = read(amd, offering("b", maker=NVIDIA), asking("p", **hundredths(2)))
    assert "GPUs of several makers" in noted(mixed, "(a, ...)")
    assert {*mixed.pending.jobs[0].pod_sets[0].requests} == {"pods", *hundredths(2)}


def test_reserved_gpus_are_nobody_elses_by_whatever_name() -> None:
    made = thing("scheduling.koordinator.sh/v1alpha1", "Reservation", "r", "")
    made["spec"] = {"template": {"spec": {}}, "owners": [], "allocateOnce": False}
    amounts: dict[str, Any] = {"allocatable": hundredths(6), "allocated": hundredths(2)}
    made["status"] = {"phase": "Available", "nodeName": "a", **amounts}
    items = [offering("a", maker=NVIDIA), made, asking("o", "a", **hundredths(2))]
    held = job(read(*items).snapshot.jobs, "r").pod_sets[0]
    assert held.requests[NVIDIA] == 4
    assert placed(*items, asking("m", **{NVIDIA: "3"})) == {}
    assert placed(*items, asking("m", **{NVIDIA: "2"})) == {"m": "a"}


@pytest.mark.parametrize("maker", ["", NVIDIA])
def test_what_was_read_is_written_by_the_names_it_had_and_read_again_as_the_same(
    maker: str,
) -> None:
    runs, waits = asking("k", "a", **hundredths(2)), asking("w", **{f"{KOORD}gpu": "300"})
    by_maker = asking("m", **{NVIDIA: "1"})
    items = [offering("a", maker=maker), node("plain"), runs, waits, by_maker]
    imported = read(*items)
    text, notes = EXPORTS["koordinator"].write(imported.snapshot, imported.pending.jobs)
    written = parse_yaml(text, "list.yaml")[0]["items"]
    again = read(*written)
    assert (again.snapshot.nodes, again.pending) == (imported.snapshot.nodes, imported.pending)
    assert again.snapshot.jobs[0].pod_sets[0].requests == (
        imported.snapshot.jobs[0].pod_sets[0].requests
    )
    asked = {
        item["metadata"]["name"]: {*item["spec"]["containers"][0]["resources"]["requests"]}
        for item in written
        if item["kind"] == "Pod"
    }
    assert asked == {"k": {*hundredths(2)}, "w": {f"{KOORD}gpu"}, "m": {NVIDIA}}
    offered = next(item for item in written if item["metadata"]["name"] == "a")
    assert (NVIDIA in offered["status"]["allocatable"]) is bool(maker)
    assert not [line for line in notes.lines() if "requests" in line or "allocatable" in line]
