"""Parts of cards (HAMi and others) are not modelled, and nobody is at fault for them."""

from __future__ import annotations

import pytest

import kantopt
from kantopt.clock import Deadline
from kantopt.planning.plan import make_plan
from kantopt.planning.question import question_of
from kantopt.planning.solving.options import Options
from kantopt.schema.extends import load_model
from kantopt.schema.features import Feature
from kantopt.schema.raw import RawDocument
from tests.formats.cluster_objects import node, pod, read

MIXED = load_model("mixed")
HAMI = {"nvidia.com/gpu": "1", "nvidia.com/gpumem": "3000", "nvidia.com/gpucores": "30"}


def test_what_hami_counts_on_cards_is_left_out_and_not_asked_of_nodes() -> None:
    imported = read(node("a"), pod("w", requests=HAMI))
    (podset,) = imported.pending.jobs[0].pod_sets
    assert podset.not_modelled == ("gpu-shares",)
    assert dict(podset.requests) == {"nvidia.com/gpu": 1, "pods": 1}
    assert not [line for line in imported.notes if "which no node offers" in line]


def test_nodes_of_pods_with_parts_of_cards_are_not_wrong_before() -> None:
    imported = read(node("a"), pod("r", on="a", requests=HAMI))
    plan = kantopt.plan(imported.snapshot, imported.pending, time_limit=20)
    assert plan.pre_existing == ()


def test_assumed_they_are_planned_by_the_rest_of_what_they_ask_for() -> None:
    dump = {"apiVersion": "v1", "kind": "List", "items": [node("a"), pod("w", requests=HAMI)]}
    assumed: tuple[tuple[Feature, ...], ...] = ((), ("gpu-shares",))
    for placed, assume in enumerate(assumed):
        model = MIXED.model_copy(update={"assume": assume})
        question = question_of([RawDocument("dump.json", 0, dump)])
        plan = make_plan(question, model, Options(), Deadline.within(20)).plan
        assert plan.summary.placed_pods == placed


@pytest.mark.parametrize("name", ["aliyun.com/gpu-mem", "volcano.sh/vgpu-memory"])
def test_sums_that_nodes_offer_are_counted_but_do_not_say_what_fits(name: str) -> None:
    imported = read(node("a", **{name: "32"}), pod("w", requests={name: "12"}))
    (podset,) = imported.pending.jobs[0].pod_sets
    assert podset.not_modelled == ("gpu-shares",)
    assert podset.requests[name] == 12
