"""Stranded GPUs of a mix of many shapes, counted all at once, beside one shape at a time."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from kantopt.problem.job import DeviceNeed
from kantopt.problem.mix import Shape
from kantopt.verify.metrics.stranded_gpus import _FEW, Stranding
from tests.verify.world import job, node, pods, question, values

GPU = "nvidia.com/gpu"


@st.composite
def shapes(draw: st.DrawFn, resources: tuple[str, ...]) -> Shape:
    asked = {name: draw(st.integers(0, 9)) for name in resources}
    requests = tuple(asked[name] for name in resources)
    needs = draw(
        st.lists(
            st.builds(
                lambda name, count, amount: DeviceNeed(
                    name, count, tuple(amount if r == GPU else 0 for r in resources)
                ),
                st.sampled_from(("fast", "slow", "gone")),
                st.integers(1, 3),
                st.integers(0, 4),
            ),
            max_size=2,
        )
    )
    return Shape(draw(st.integers(1, 5)), requests, tuple(needs), 0)


@settings(max_examples=60)
@given(st.data())
def test_many_shapes_strand_what_they_strand_one_by_one(data: st.DataObject) -> None:
    named = [
        {"class": name, "count": count, "capacity": {GPU: 4}}
        for name in ("fast", "slow")
        if (count := data.draw(st.integers(0, 2)))
    ]
    asked = question([node("a", cpu=9, gpu=0 if named else 8, devices=named)], [])
    (subject,), resources = asked.nodes, asked.resources
    few = data.draw(st.lists(shapes(resources), min_size=1, max_size=6))
    load = [data.draw(st.integers(0, 12)) for _ in resources]
    taken = [[data.draw(st.integers(0, 5)) for _ in resources] for _ in subject.devices]
    copies = _FEW // len(few) + 1
    one_by_one = Stranding(resources, few).on(subject, load, taken)
    all_at_once = Stranding(resources, [s for s in few for _ in range(copies)])
    assert all_at_once.on(subject, load, taken) == copies * one_by_one
    heavier = [replace(shape, weight=copies * shape.weight) for shape in few]
    assert Stranding(resources, heavier).on(subject, load, taken) == copies * one_by_one


def test_a_node_that_takes_no_more_pods_strands_its_gpus_whoever_says_what_the_mix_is() -> None:
    full = node("a", cpu=8, gpu=2, offers={"pods": 1})
    jobs = [job("j", pods(gpu=1, on=["a"]))]
    for mix in ({}, {"mix": [{"requests": {"cpu": 1, GPU: 1}}]}):
        objectives = [{"stranded_gpus": mix}]
        (value,) = values(question([full], jobs, objectives=objectives), j=["a"]).values()
        assert value == 1000
