"""Tables of what was read from Slurm: its words, and names left as they are."""

from __future__ import annotations

import pytest

from kantopt.report.blocks import Listing, Paragraph, Table
from kantopt.report.words import blocks_in_words_of, in_words_of


@pytest.mark.parametrize(
    ("ours", "slurms"),
    [
        ("6 jobs (20 pods) stay pending.", "6 jobs (20 tasks) stay pending."),
        ("Place 1 pod of 1 job", "Place 1 task of 1 job"),
        ("PODS", "TASKS"),
        ("JOB/PODSET", "JOB/COMPONENT"),
        ("pod sets a, b fit each alone", "components a, b fit each alone"),
        ("unplaced[1005, CPU-only pods]", "unplaced[1005, CPU-only tasks]"),
        ("7 nvidia.com/gpu, 1 cordoned", "7 gres/gpu, 1 drained"),
        ("6 node selector or affinity", "6 partition, constraint or node list"),
        ("Pods wait", "Tasks wait"),
    ],
)
def test_words_of_kubernetes_are_said_as_slurm_says_them(ours: str, slurms: str) -> None:
    assert in_words_of("slurm", ours) == slurms
    assert in_words_of("kubernetes", ours) == in_words_of("", ours) == ours


@pytest.mark.parametrize(
    "name", ["team/pod", "pod/1", "pod-1", "gpu-pod", "pods.example", "podium", "example.com/pods"]
)
def test_names_in_which_such_a_word_stands_are_left_alone(name: str) -> None:
    assert in_words_of("slurm", f"node {name} would need 2 pods") == (
        f"node {name} would need 2 tasks"
    )


@pytest.mark.parametrize(
    "edit",
    ["uncordon=n7", "taint=n1", "job:nvidia.com/gpu=8", "request=nvidia.com/gpu:4", "pods=2"],
)
def test_what_somebody_is_to_type_is_left_alone(edit: str) -> None:
    assert in_words_of("slurm", f"try --what-if {edit}, then pods fit") == (
        f"try --what-if {edit}, then tasks fit"
    )


def test_all_texts_of_blocks_are_said_so() -> None:
    table = Table("PODS", ("PODS", "WHY"), (("1", "a pod"),), frozenset({0}), ("warn",))
    blocks = [Paragraph("2 pods", "good", 2), table, Listing("BY POD", ("pods wait",))]
    assert blocks_in_words_of("slurm", blocks) == [
        Paragraph("2 tasks", "good", 2),
        Table("TASKS", ("TASKS", "WHY"), (("1", "a task"),), frozenset({0}), ("warn",)),
        Listing("BY TASK", ("tasks wait",)),
    ]
